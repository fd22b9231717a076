/* Quadratic problems of the reference device: pair by pair, of all the one that violates the
 * conditions of a minimum most, by loops over everything. */
#include <math.h>
#include <stdlib.h>

#include "reference_device.h"

enum { MOST_STEPS = 1000000 };

typedef struct problem {
    const lth__device_smo *job;
    lth__device_smo_problem *o;
    const uint32_t *row;
    size_t n;
    double *F;
} problem;

static double K_of(const problem *p, size_t i, size_t j) {
    return (double)p->job->K[p->row[i] * p->job->ld + p->row[j]];
}

static int side_of(const problem *p, size_t i) {
    return !(p->job->y[p->o->target * p->job->rows + p->row[i]] > 0);
}

/* The slope of a beta upwards or downwards, infinite where it cannot go; and how far it can. */
static double slope_of(const problem *p, size_t group, size_t i, bool up, double *room) {
    double beta = p->o->beta[group * p->n + i], epsilon = p->o->epsilon;
    double lo = p->o->lo[group][side_of(p, i)], hi = p->o->hi[group][side_of(p, i)];
    if (up ? beta >= hi : beta <= lo) return up ? INFINITY : -INFINITY;
    bool kink = epsilon > 0 && (up ? beta < 0 && hi > 0 : beta > 0 && lo < 0);
    *room = kink ? fabs(beta) : up ? hi - beta : beta - lo;
    return p->F[i] + (up ? (beta < 0 ? -epsilon : epsilon) : (beta > 0 ? epsilon : -epsilon));
}

typedef struct pair {
    size_t group, up, down;
    double violation, room;
} pair;

static pair worst_pair(const problem *p, double *level) {
    pair worst = {.violation = -INFINITY};
    for (size_t g = 0; g < p->o->groups; g++) {
        pair x = {.group = g};
        double least = INFINITY, most = -INFINITY, room, up_room = 0, down_room = 0;
        for (size_t i = 0; i < p->n; i++) {
            double up = slope_of(p, g, i, true, &room);
            if (up < least) least = up, x.up = i, up_room = room;
            double down = slope_of(p, g, i, false, &room);
            if (down > most) most = down, x.down = i, down_room = room;
        }
        x.violation = most - least;
        x.room = fmin(up_room, down_room);
        level[g] = isinf(least) ? most : isinf(most) ? least : (least + most) / 2;
        if (x.violation > worst.violation) worst = x;
    }
    return worst;
}

static void begin(const problem *p) {
    for (size_t k = 0; k < p->n * p->o->groups; k++) p->o->beta[k] = p->o->from ? p->o->from[k] : 0;
    for (size_t i = 0; i < p->n; i++) {
        p->F[i] = -p->o->linear * p->job->y[p->o->target * p->job->rows + p->row[i]];
        for (size_t k = 0; k < p->n * p->o->groups; k++)
            p->F[i] += p->o->beta[k] * K_of(p, i, k % p->n);
    }
}

static void step(const problem *p, const pair *x) {
    double curvature =
        K_of(p, x->up, x->up) + K_of(p, x->down, x->down) - 2 * K_of(p, x->up, x->down);
    double by = fmin(x->violation / fmax(curvature, 1e-12), x->room), room;
    double *up = &p->o->beta[x->group * p->n + x->up],
           *down = &p->o->beta[x->group * p->n + x->down];
    slope_of(p, x->group, x->up, true, &room);
    double hi = p->o->hi[x->group][side_of(p, x->up)], lo = p->o->lo[x->group][side_of(p, x->down)];
    *up = by == room ? (room == -*up ? 0 : hi) : *up + by;
    slope_of(p, x->group, x->down, false, &room);
    *down = by == room ? (room == *down ? 0 : lo) : *down - by;
    for (size_t i = 0; i < p->n; i++) p->F[i] += by * (K_of(p, i, x->up) - K_of(p, i, x->down));
}

static lth_status descend(const problem *p, lth_error *err) {
    lth__device_smo_problem *o = p->o;
    begin(p);
    o->unfinished = true;
    for (o->steps = 0; o->steps < MOST_STEPS; o->steps++) {
        if (o->steps % 1000 == 0 && p->job->goes_on && !p->job->goes_on(p->job->user))
            return lth__ref_fail(err, LTH_ECANCELED, "canceled");
        pair worst = worst_pair(p, o->level);
        double unit = o->relative ? fmax(fabs(o->level[0] - o->level[1]) / 2, 1e-6) : 1;
        o->unfinished = worst.violation > o->tolerance * unit;
        if (!o->unfinished) return LTH_OK;
        step(p, &worst);
    }
    return LTH_OK;
}

lth_status lth__ref_smo(lth__device *d, const lth__device_smo *job, lth_error *err) {
    LTH__REF_DO(d);
    lth_status status = LTH_OK;
    lth__panel whole = {.rows = job->rows, .cols = job->rows / 2}; /* numbers are half as wide */
    if (job->ld % 2 == 0)
        lth__ref_check_panel(d, (const double *)(const void *)job->K, job->ld / 2, &whole,
                             "K of smo");
    for (size_t i = 0; status == LTH_OK && i < job->problems; i++) {
        lth__device_smo_problem *o = &job->problem[i];
        size_t n = job->set_count[o->set];
        void *F;
        status = lth__ref_get(d, n * sizeof(double), &F, err);
        if (status != LTH_OK) break;
        problem p = {job, o, job->set[o->set], n, F};
        status = descend(&p, err);
        lth__ref_drop(d, F);
    }
    return status;
}
