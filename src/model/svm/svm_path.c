/* The four kinds of support vector machines as quadratic problems of the solver (svm_smo.h), in
 * which beta_i is alpha_i with the sign of its row's target:
 *
 *     C-SVC     p = -y   one group      0 <= y beta <= C of its side, sum beta = 0
 *     eps-SVR   p = -y   one group      |beta| <= C, sum beta = 0, and epsilon |beta|
 *     nu-SVC    p = 0    y > 0, y < 0   0 <= y beta <= 1; both sums are nu n / 2 in size
 *     nu-SVR    p = -y   up, down       0 <= beta <= C, -C <= beta <= 0; both are C nu n / 2
 *
 * f = sum_i beta_i k_i - rho, with rho where F is level: F = K beta + p is rho at rows between
 * their bounds. With two groups there are two levels; rho is in their middle, and of nu-SVC half of
 * their distance is the margin, which beta and rho are divided by. All is in units of the matrix,
 * whose values were divided by `scale`, so C was multiplied by it.
 *
 * Of settings that differ in C alone each begins where the last one ended.
 */
#include <math.h>
#include <string.h>

#include "model/svm/svm.h"
#include "model/svm/svm_smo.h"

static const double tolerance = 1e-3; /* of F: of y at the margin, or of numbers of size 1 */
static const double largest_C = 1e100;

typedef struct path {
    const lth__svm_problem *problem;
    const lth__svm_setting *setting; /* at hand */
    lth__smo_whole whole;
    double *room;
    bool begun;
} path;

static lth_status open_path(path *t, const lth__svm_problem *p, const lth__svm_setting *s,
                            lth_error *err) {
    size_t n = p->count, groups = s->nu_svm ? 2 : 1;
    const lth__svm_gram *g = p->gram;
    *t = (path){.problem = p, .room = lth__calloc((3 * groups + 1) * n, sizeof *t->room)};
    if (!t->room) return lth__fail_memory(err, (3 * groups + 1) * n * sizeof *t->room);
    t->whole = (lth__smo_whole){.engine = g->ctx->engine,
                                .ctx = g->ctx,
                                .K = g->cells,
                                .all = g->rows,
                                .ld = g->rows,
                                .count = n,
                                .groups = groups,
                                .row = p->row,
                                .beta = t->room,
                                .lo = t->room + groups * n,
                                .hi = t->room + 2 * groups * n,
                                .F = t->room + 3 * groups * n};
    return LTH_OK;
}

static double linear_term(const path *t, size_t i) {
    return t->setting->nu_svm && !t->setting->regression ? 0 : -t->problem->y[i];
}

static double C_of(const path *t, const lth__svm_setting *s) {
    return fmin(s->C * t->problem->gram->scale, largest_C);
}

double lth__svm_bound(const lth__svm_problem *p, const lth__svm_setting *s, bool positive) {
    double C = fmin(s->C * p->gram->scale, largest_C);
    return s->regression ? C : fmin(C * p->weight[!positive], largest_C);
}

/* Numbers that are small want a smaller tolerance, and large ones cannot have this one. */
double lth__svm_tolerance(const lth__svm_problem *p, const lth__svm_setting *s) {
    if (!s->regression) return tolerance;
    double least = INFINITY, most = -INFINITY;
    for (size_t i = 0; i < p->count; i++) {
        least = fmin(least, p->y[i]);
        most = fmax(most, p->y[i]);
    }
    double spread = most - least;
    return spread > 0 ? fmax(tolerance * fmin(spread, 1), 1e-6 * spread) : tolerance;
}

static void set_bounds(path *t) {
    const lth__svm_problem *p = t->problem;
    const lth__svm_setting *s = t->setting;
    double *lo = t->whole.lo, *hi = t->whole.hi;
    size_t n = p->count;
    for (size_t i = 0; i < n; i++) {
        bool positive = p->y[i] > 0;
        double C = s->nu_svm && !s->regression ? 1 : lth__svm_bound(p, s, positive);
        hi[i] = s->regression || positive ? C : 0;
        lo[i] = s->nu_svm || (!s->regression && positive) ? 0 : -C;
        if (!s->nu_svm) continue;
        hi[n + i] = 0;
        lo[n + i] = s->regression || !positive ? -C : 0;
    }
}

/* A nu that the classes of a part of the rows do not allow is lowered to what they do; one that all
 * the rows do not allow was refused before. */
static double feasible_nu(const path *t) {
    const lth__svm_problem *p = t->problem;
    if (t->setting->regression) return t->setting->nu;
    double positive = 0;
    for (size_t i = 0; i < p->count; i++) positive += p->y[i] > 0;
    return fmin(t->setting->nu, 2 * fmin(positive, (double)p->count - positive) / (double)p->count);
}

/* The first rows of each group are as large as they may be until the sum is reached. */
static void begin_sums(path *t) {
    lth__smo_whole *w = &t->whole;
    for (size_t g = 0; t->setting->nu_svm && g < 2; g++) {
        double unit = t->setting->regression ? C_of(t, t->setting) : 1;
        double left = feasible_nu(t) * (double)w->count / 2; /* in units of the bound */
        for (size_t i = g * w->count; i < (g + 1) * w->count; i++) {
            double most = g == 0 ? w->hi[i] : -w->lo[i], share = fmin(most / unit, left);
            w->beta[i] =
                share == most / unit ? (g == 0 ? most : -most) : (g == 0 ? share : -share) * unit;
            left -= share;
        }
    }
}

static lth_status begin_F(path *t, lth_error *err) {
    lth__smo_whole *w = &t->whole;
    for (size_t i = 0; i < w->count; i++) w->F[i] = linear_term(t, i);
    if (!t->setting->nu_svm) return LTH_OK;
    double *sum = lth__calloc(w->all, sizeof *sum);
    if (!sum) return lth__fail_memory(err, w->all * sizeof *sum);
    for (size_t i = 0; i < w->count; i++) {
        double beta = w->beta[i] + w->beta[w->count + i];
        const float *row = w->K + w->row[i] * w->ld;
        if (beta != 0) w->engine->add_rows(&row, &beta, 1, w->all, sum);
    }
    for (size_t i = 0; i < w->count; i++) w->F[i] += sum[w->row[i]];
    lth__free(sum);
    return LTH_OK;
}

/* The sums of nu-SVR are in proportion to C. */
static void grow(path *t, double by) {
    lth__smo_whole *w = &t->whole;
    for (size_t i = 0; i < 2 * w->count; i++) {
        double *bound = w->beta[i] > 0 ? &w->hi[i] : &w->lo[i];
        w->beta[i] = w->beta[i] * by;
        if (fabs(w->beta[i]) > fabs(*bound) * (1 - 1e-12))
            w->beta[i] = w->beta[i] != 0 ? *bound : 0;
    }
    for (size_t i = 0; i < w->count; i++)
        w->F[i] = by * (w->F[i] - linear_term(t, i)) + linear_term(t, i);
}

static lth_status go_to(path *t, const lth__svm_setting *s, lth_error *err) {
    lth__smo_whole *w = &t->whole;
    const lth__svm_setting *last = t->setting;
    t->setting = s;
    w->epsilon = s->regression && !s->nu_svm ? s->epsilon : 0;
    w->tolerance = lth__svm_tolerance(t->problem, s);
    w->relative = s->nu_svm && !s->regression;
    w->unfinished = false;
    set_bounds(t);
    if (!t->begun) {
        begin_sums(t);
        LTH_TRY(begin_F(t, err));
    } else if (s->nu_svm) {
        grow(t, C_of(t, s) / C_of(t, last));
    }
    t->begun = true;
    return lth__smo_descend(w, err);
}

static lth_status take_solution(const path *t, lth__svm_solution *out, lth_error *err) {
    const lth__smo_whole *w = &t->whole;
    const lth__svm_problem *p = t->problem;
    double level = lth__smo_level(w, 0), margin = 1;
    if (w->groups > 1) {
        double other = lth__smo_level(w, 1);
        if (!t->setting->regression) margin = (level - other) / 2;
        level = level / 2 + other / 2;
    }
    size_t count = 0, n = p->count;
    for (size_t i = 0; i < n; i++) count += w->beta[i] + (w->groups > 1 ? w->beta[n + i] : 0) != 0;
    LTH_TRY(lth__svm_solution_create(count, out, err));
    out->rho = level / margin;
    out->unfinished = w->unfinished;
    for (size_t i = 0, at = 0; i < n; i++) {
        double beta = w->beta[i] + (w->groups > 1 ? w->beta[n + i] : 0);
        if (beta == 0) continue;
        out->row[at] = p->row[i];
        out->coef[at++] = beta / margin / p->gram->scale;
    }
    return LTH_OK;
}

lth_status lth__svm_path_solve(const lth__svm_problem *p, const lth__svm_setting *settings,
                               size_t count, lth__svm_solution *out, lth_error *err) {
    path t;
    size_t done = 0;
    lth_status status = open_path(&t, p, settings, err);
    for (; status == LTH_OK && done < count; done += status == LTH_OK) {
        status = go_to(&t, &settings[done], err);
        if (status == LTH_OK) status = take_solution(&t, &out[done], err);
    }
    if (status != LTH_OK) {
        while (done > 0) lth__svm_solution_free(&out[--done]);
    }
    lth__free(t.room);
    return status;
}
