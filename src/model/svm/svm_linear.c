/* One problem of two classes, or of numbers, solved for weights of features: dual coordinate
 * descent (Hsieh, Chang, Lin, Keerthi & Sundararajan 2008; Ho & Lin 2012).
 *
 *     minimise over beta   |w|^2 / 2 - sum_i y_i beta_i + epsilon sum_i |beta_i|
 *     where                w = sum_i beta_i x_i
 *     labels, y = +1, -1   0 <= y_i beta_i <= C_i,  epsilon = 0
 *     numbers              -C <= beta_i <= C
 *
 * Every x_i has one more feature, which is 1: its weight is the offset, which counts in |w|^2 like
 * the others. With the features of a basis the offset is free, as LIBSVM's is: it moves on by what
 * sum_i beta_i pulls at it until that sum is 0 (the method of multipliers), and the one more
 * feature is as long as the others together are on average. One beta_i at a time is moved to where
 * the sum is least, which costs the features of its row; a pass takes all rows in random order.
 * Rows that are likely to stay at a bound are left out until the others are done (shrinking).
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
 * for labels, where this is 1, and for numbers; and ten times as far with the features of a basis,
 * which are themselves less exact than that. */
static const double tolerance[] = {1e-3, 1e-4};
/* It gives up after both: small problems may take many passes. */
enum { MOST_PASSES = 1000, MOST_STEPS = 20000000 };
enum { ROWS_BETWEEN = 1024 }; /* asking whether to go on */

typedef struct descent {
    const lth__svm_problem *problem;
    const lth__svm_features *x;
    double C[2], epsilon; /* C of y > 0, and of the others */
    bool regression;
    double unit; /* the square of the feature that all rows have */
    bool free_offset;
    double *w, offset, *beta, *curvature; /* weights; by row of the problem: beta, |x|^2 + unit */
    size_t *active, active_count;
    lth__random random;
} descent;

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

/* Take all active rows once; `worst` is the largest slope that was met. Rows at a bound whose slack
 * is over `last`, that of the pass before, are active no more. */
static lth_status pass(descent *d, double last, double *worst) {
    const lth__svm_problem *p = d->problem;
    *worst = 0;
    for (size_t s = 0; s < d->active_count; s++) {
        if (s % ROWS_BETWEEN == 0) LTH_TRY(lth__parallel_ask(p->gram->ctx));
        size_t other = s + (size_t)lth__random_below(&d->random, d->active_count - s);
        size_t i = d->active[other];
        d->active[other] = d->active[s];
        d->active[s] = i;
        double C = d->C[!(p->y[i] > 0)], beta = d->beta[i];
        double lo = d->regression || p->y[i] < 0 ? -C : 0;
        double hi = d->regression || p->y[i] > 0 ? C : 0;
        double slope = lth__svm_features_dot(d->x, p->row[i], d->w) + d->offset - p->y[i];
        double slack = slack_of(d, slope, beta, lo, hi);
        if (slack > last) {
            d->active[s--] = d->active[--d->active_count];
            d->active[d->active_count] = i;
            continue;
        }
        if (slack >= 0) continue;
        *worst = fmax(*worst, -slack);
        double new = best_beta(d, d->curvature[i] * beta - slope, d->curvature[i], lo, hi);
        if (new == beta) continue;
        d->beta[i] = new;
        d->offset += d->unit * (new - beta);
        lth__svm_features_add(d->x, p->row[i], new - beta, d->w);
    }
    return LTH_OK;
}

/* How far an offset that is free moves on. */
static double release_offset(descent *d) {
    double sum = 0;
    for (size_t i = 0; d->free_offset && i < d->problem->count; i++) sum += d->beta[i];
    d->offset += d->unit * sum;
    return fabs(d->unit * sum);
}

/* `finished`: it came as close as it should. */
static lth_status descend(descent *d, bool *finished) {
    const lth__svm_problem *p = d->problem;
    double largest = 0, last = INFINITY;
    for (size_t i = 0; i < p->count; i++) largest = fmax(largest, fabs(p->y[i]));
    const double enough = (d->x->basis ? 10 : 1) * tolerance[d->regression] * largest;
    size_t steps = 0;
    for (size_t passes = 0; passes < MOST_PASSES || steps < MOST_STEPS; passes++) {
        steps += d->active_count;
        bool all = d->active_count == p->count;
        double worst;
        LTH_TRY(pass(d, last, &worst));
        bool close = worst <= enough;
        *finished = close && all && release_offset(d) <= enough;
        if (*finished) break;
        last = close ? INFINITY : worst;
        if (close) d->active_count = p->count;
    }
    return LTH_OK;
}

/* ---- The solution ---- */

/* The square of the feature that all rows have. */
static double choose_unit(const descent *d, const lth__svm_setting *s) {
    const lth__svm_problem *p = d->problem;
    double sum = 0;
    if (s->origin) return 0;
    if (!d->free_offset) return 1;
    for (size_t i = 0; i < p->count; i++) sum += lth__svm_features_square(d->x, p->row[i]);
    return sum > 0 ? sum / (double)p->count : 1;
}

static lth_status prepare(descent *d, const lth__svm_setting *s, lth_error *err) {
    const lth__svm_problem *p = d->problem;
    size_t n = p->count;
    for (size_t side = 0; side < 2; side++)
        d->C[side] = s->C * (s->regression ? 1 : p->weight[side]);
    d->regression = s->regression;
    d->epsilon = s->regression ? s->epsilon : 0;
    d->free_offset = d->x->basis && !s->origin;
    d->unit = choose_unit(d, s);
    d->w = lth__calloc(d->x->width, sizeof *d->w);
    d->beta = lth__calloc(n, sizeof *d->beta);
    d->curvature = lth__alloc(n, sizeof *d->curvature);
    d->active = lth__alloc(n, sizeof *d->active);
    if (!d->w || !d->beta || !d->curvature || !d->active)
        return lth__fail_memory(err, d->x->width * sizeof *d->w);
    for (size_t i = 0; i < n; i++) {
        d->curvature[i] = d->unit + lth__svm_features_square(d->x, p->row[i]);
        d->active[i] = i;
    }
    d->active_count = n;
    lth__random_seed(&d->random, p->gram->ctx->options.seed);
    return LTH_OK;
}

/* The rows whose beta is not 0. */
static lth_status take_rows(const descent *d, lth__svm_solution *out, lth_error *err) {
    const lth__svm_problem *p = d->problem;
    size_t count = 0;
    for (size_t i = 0; i < p->count; i++) count += d->beta[i] != 0;
    LTH_TRY(lth__svm_solution_create(count, out, err));
    for (size_t i = 0, at = 0; i < p->count; i++) {
        if (d->beta[i] == 0) continue;
        out->row[at] = p->row[i];
        out->coef[at++] = d->beta[i];
    }
    return LTH_OK;
}

static lth_status take_basis(const descent *d, lth__svm_solution *out, lth_error *err) {
    const lth__basis *basis = d->x->basis;
    LTH_TRY(lth__svm_solution_create(basis->count, out, err));
    memcpy(out->row, basis->row, basis->count * sizeof *out->row);
    return lth__svm_dense_unfold(d->x, d->w, out->coef, err);
}

static lth_status take_weights(const descent *d, lth__svm_solution *out, lth_error *err) {
    size_t count = 0;
    for (size_t i = 0; i < d->x->width; i++) count += d->w[i] != 0;
    out->feature = lth__alloc(count, sizeof *out->feature);
    out->weight = lth__alloc(count, sizeof *out->weight);
    if (!out->feature || !out->weight) return lth__fail_memory(err, count * sizeof *out->weight);
    for (size_t i = 0; i < d->x->width; i++) {
        if (d->w[i] == 0) continue;
        out->feature[out->weight_count] = (uint32_t)i;
        out->weight[out->weight_count++] = d->w[i];
    }
    return LTH_OK;
}

static lth_status take_solution(const descent *d, lth__svm_solution *out, lth_error *err) {
    lth__svm_solution s = {0};
    lth_status status = (d->x->basis ? take_basis : take_rows)(d, &s, err);
    if (status == LTH_OK) status = take_weights(d, &s, err);
    s.rho = -d->offset;
    if (status == LTH_OK)
        *out = s;
    else
        lth__svm_solution_free(&s);
    return status;
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
    for (size_t i = 0; i < count; i++)
        out[i * stride] = lth__svm_features_dot(f, rows[i], w) - s->rho;
    lth__free(w);
    return LTH_OK;
}
