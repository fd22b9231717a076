/* One problem of two classes, or of numbers, solved for weights of features: dual coordinate
 * descent (Hsieh, Chang, Lin, Keerthi & Sundararajan 2008; Ho & Lin 2012).
 *
 *     minimise over beta   |w|^2 / 2 - sum_i y_i beta_i + epsilon sum_i |beta_i|
 *     where                w = sum_i beta_i x_i
 *     labels, y = +1, -1   0 <= y_i beta_i <= C_i,  epsilon = 0
 *     numbers              -C <= beta_i <= C
 *
 * Every x_i has one more feature, which is 1: its weight is the offset, which counts in |w|^2 like
 * the others. One beta_i at a time is moved to where the sum is least, which costs the features of
 * its row; a pass takes all rows in random order. Rows that are likely to stay at a bound are left
 * out until the others are done (shrinking).
 *
 * The order is drawn from a generator of the problem's own, so that the result is the same for any
 * number of threads.
 */
#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "base/random.h"
#include "model/svm/svm.h"

/* How far a beta may be from its best place, by the slope there, in units of the largest target:
 * for labels, where this is 1, and for numbers. */
static const double tolerance[] = {1e-3, 1e-4};
/* It gives up after both: small problems may take many passes. */
enum { MOST_PASSES = 1000, MOST_STEPS = 20000000 };

typedef struct descent {
    const lth__svm_problem *problem;
    const lth__svm_features *x;
    double C[2], epsilon; /* C of y > 0, and of the others */
    bool regression;
    double *w, offset, *beta, *curvature; /* weights; by row of the problem: beta, |x|^2 + 1 */
    size_t *active, active_count;
    lth__random random;
} descent;

/* ---- Rows ---- */

static double dot(const lth__svm_features *x, size_t row, const double *w) {
    double total = 0;
    for (size_t m = 0; m < x->map_count; m++) {
        const lth__features *f = x->maps[m].features;
        const double *weight = f->weight, *at = w + m;
        size_t i = f->start[row], end = f->start[row + 1], stride = x->map_count;
        double sum[4] = {0}; /* an addition need not wait for the one before it */
        for (; i + 4 <= end; i += 4) {
            for (size_t k = 0; k < 4; k++) sum[k] += weight[i + k] * at[f->feature[i + k] * stride];
        }
        for (; i < end; i++) sum[0] += weight[i] * at[f->feature[i] * stride];
        total += x->maps[m].scale[row] * (sum[0] + sum[1] + (sum[2] + sum[3]));
    }
    return total;
}

static void add_row(const lth__svm_features *x, size_t row, double factor, double *w) {
    for (size_t m = 0; m < x->map_count; m++) {
        const lth__features *f = x->maps[m].features;
        double scale = factor * x->maps[m].scale[row];
        for (size_t i = f->start[row]; i < f->start[row + 1]; i++)
            w[f->feature[i] * x->map_count + m] += scale * f->weight[i];
    }
}

/* ---- Descent ---- */

/* How far the sum is from falling when beta moves up or down: below 0 it can fall. */
static double slack_of(const descent *d, double slope, double beta, double lo, double hi) {
    double up = beta < hi ? slope + (beta >= 0 ? d->epsilon : -d->epsilon) : INFINITY;
    double down = beta > lo ? -slope - (beta > 0 ? d->epsilon : -d->epsilon) : INFINITY;
    return fmin(up, down);
}

/* The least of curvature t^2 / 2 - pull t + epsilon |t| between the bounds. */
static double best_beta(const descent *d, double pull, double curvature, double lo, double hi) {
    double size = fmax(fabs(pull) - d->epsilon, 0) / curvature;
    return fmin(fmax(copysign(size, pull), lo), hi);
}

/* Take all active rows once; returns the largest slope that was met. Rows at a bound whose slack is
 * over `last`, that of the pass before, are active no more. */
static double pass(descent *d, double last) {
    const lth__svm_problem *p = d->problem;
    double worst = 0;
    for (size_t s = 0; s < d->active_count; s++) {
        size_t other = s + (size_t)lth__random_below(&d->random, d->active_count - s);
        size_t i = d->active[other];
        d->active[other] = d->active[s];
        d->active[s] = i;
        double C = d->C[!(p->y[i] > 0)], beta = d->beta[i];
        double lo = d->regression || p->y[i] < 0 ? -C : 0;
        double hi = d->regression || p->y[i] > 0 ? C : 0;
        double slope = dot(d->x, p->row[i], d->w) + d->offset - p->y[i];
        double slack = slack_of(d, slope, beta, lo, hi);
        if (slack > last) {
            d->active[s--] = d->active[--d->active_count];
            d->active[d->active_count] = i;
            continue;
        }
        if (slack >= 0) continue;
        worst = fmax(worst, -slack);
        double new = best_beta(d, d->curvature[i] * beta - slope, d->curvature[i], lo, hi);
        if (new == beta) continue;
        d->beta[i] = new;
        d->offset += new - beta;
        add_row(d->x, p->row[i], new - beta, d->w);
    }
    return worst;
}

/* `finished`: it came as close as it should. */
static lth_status descend(descent *d, bool *finished) {
    const lth__svm_problem *p = d->problem;
    double largest = 0, last = INFINITY;
    for (size_t i = 0; i < p->count; i++) largest = fmax(largest, fabs(p->y[i]));
    size_t steps = 0;
    for (size_t passes = 0; passes < MOST_PASSES || steps < MOST_STEPS; passes++) {
        steps += d->active_count;
        bool all = d->active_count == p->count;
        double worst = pass(d, last);
        bool close = worst <= tolerance[d->regression] * largest;
        *finished = close && all;
        if (*finished) break;
        last = close ? INFINITY : worst;
        if (close) d->active_count = p->count;
        LTH_TRY(lth__parallel_ask(p->gram->ctx));
    }
    return LTH_OK;
}

/* ---- The solution ---- */

static lth_status prepare(descent *d, const lth__svm_setting *s, lth_error *err) {
    const lth__svm_problem *p = d->problem;
    size_t n = p->count;
    for (size_t side = 0; side < 2; side++)
        d->C[side] = s->C * (s->regression ? 1 : p->weight[side]);
    d->regression = s->regression;
    d->epsilon = s->regression ? s->epsilon : 0;
    d->w = lth__calloc(d->x->width, sizeof *d->w);
    d->beta = lth__calloc(n, sizeof *d->beta);
    d->curvature = lth__alloc(n, sizeof *d->curvature);
    d->active = lth__alloc(n, sizeof *d->active);
    if (!d->w || !d->beta || !d->curvature || !d->active)
        return lth__fail_memory(err, d->x->width * sizeof *d->w);
    for (size_t i = 0; i < n; i++) {
        d->curvature[i] = 1 + lth__svm_features_square(d->x, p->row[i]);
        d->active[i] = i;
    }
    d->active_count = n;
    lth__random_seed(&d->random, p->gram->ctx->options.seed);
    return LTH_OK;
}

static lth_status take_solution(const descent *d, lth__svm_solution *out, lth_error *err) {
    const lth__svm_problem *p = d->problem;
    lth__svm_solution s = {.rho = -d->offset};
    for (size_t i = 0; i < p->count; i++) s.count += d->beta[i] != 0;
    for (size_t i = 0; i < d->x->width; i++) s.weight_count += d->w[i] != 0;
    s.row = lth__alloc(s.count, sizeof *s.row);
    s.coef = lth__alloc(s.count, sizeof *s.coef);
    s.feature = lth__alloc(s.weight_count, sizeof *s.feature);
    s.weight = lth__alloc(s.weight_count, sizeof *s.weight);
    if (!s.row || !s.coef || !s.feature || !s.weight) {
        lth__svm_solution_free(&s);
        return lth__fail_memory(err, 0);
    }
    for (size_t i = 0, at = 0; i < p->count; i++) {
        if (d->beta[i] == 0) continue;
        s.row[at] = p->row[i];
        s.coef[at++] = d->beta[i];
    }
    for (size_t i = 0, at = 0; i < d->x->width; i++) {
        if (d->w[i] == 0) continue;
        s.feature[at] = (uint32_t)i;
        s.weight[at++] = d->w[i];
    }
    *out = s;
    return LTH_OK;
}

lth_status lth__svm_linear_solve(const lth__svm_problem *problem, const lth__svm_setting *setting,
                                 lth__svm_solution *out, lth_error *err) {
    descent d = {.problem = problem, .x = &problem->gram->features};
    lth_status status = prepare(&d, setting, err);
    bool finished = false;
    if (status == LTH_OK) status = descend(&d, &finished);
    if (status == LTH_OK) status = take_solution(&d, out, err);
    if (status == LTH_OK) out->unfinished = !finished;
    lth__free(d.w);
    lth__free(d.beta);
    lth__free(d.curvature);
    lth__free(d.active);
    return status;
}

/* ---- Decision values ---- */

/* A feature that none of the rows has does not matter. */
lth_status lth__svm_linear_decide(const lth__svm_solution *s, const lth__svm_features *f,
                                  const size_t *rows, size_t count, double *out, size_t stride) {
    double *w = lth__calloc(f->width, sizeof *w);
    if (!w) return LTH_ENOMEM;
    for (size_t i = 0; i < s->weight_count && s->feature[i] < f->width; i++)
        w[s->feature[i]] = s->weight[i];
    for (size_t i = 0; i < count; i++) out[i * stride] = dot(f, rows[i], w) - s->rho;
    lth__free(w);
    return LTH_OK;
}
