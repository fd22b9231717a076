/* Inducing rows for classes that share a row, P(c | f) = exp(f_c) / sum_k exp(f_k): of each class'
 * f the best normal distribution of the inducing rows' f, independent of the others, by the bound
 *
 *     evidence >= sum_n E log p(y_n | f_n) - sum_c (tr B_c^-1 + |b_c|^2 - M + log |B_c|)/2
 *     E log p(y | f) >= m_y - the bound of softmax_points.h,   with f_c as in inducing_sites.c
 *
 * Each row has a site for each class, l_c and D_c = a_c (1 - a_c), where a are the bound's
 * derivatives by the means; g_c = [y = c] - a_c. All classes move at once. Taken alone, each would
 * go up to twice as far as it should, since the others give way: steps of 2/3 are off by a third
 * either way. D of a row that is far from its neighbours may fall steeply with the variance, which
 * D itself makes: then its steps are shorter. What all classes have in common of b changes no
 * probability, and is taken out: the best has none, and steps would find that slowly.
 */
#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "engine/blas.h"
#include "engine/cluster.h"
#include "model/likelihood/softmax_points.h"
#include "model/posterior/inducing.h"

enum { ROWS = 128, MOST_STEPS = 100 };
static const double close_enough = 1e-7, whole_step = 2.0 / 3;

typedef struct classes {
    lth_gp *gp;
    lth__inducing_state *s;
    const lth__blas *blas;
    size_t m, n, count;
    double *next, *now, *before; /* [class][l, D][n]; `next` is the state's own */
    double rho;
    double *room;  /* [row][m]                                        */
    double *mean;  /* [row][class], and beyond these the variances     */
    double *spare; /* [piece][3 x class]                               */
    double *total; /* [class] S and R of the next sites, then EXPECTED and so on */
    const lth__slice *slice;
    double *piece; /* [piece][OF_PIECE] */
    double gap;
} classes;

enum { EXPECTED, EXPLAINED, LEFT, MORE, GAP = MORE, OF_PIECE };

static size_t count_sums(const classes *x) {
    return x->m * x->m + x->m; /* of a class */
}

static const double *more_of(const classes *x) {
    return x->total + x->count * count_sums(x);
}

/* l or D of a class. */
static double *site(const classes *x, double *sites, size_t class, size_t which) {
    return sites + (2 * class + which) * x->n;
}

/* ---- One pass ---- */

/* By how much a step of D takes itself back, since it changes the variance v, which is `self`
 * without any sites: -d a(1 - a)/dv dv/dD. Rows that pull together do so less; a third of it was
 * enough, where a tenth was too little and all of it slow. */
static double recoil(double a, double v, double self) {
    double by_variance = (1 - 2 * a) * (1 - 2 * a) / (1 + 2 * v * a * (1 - a));
    return v < self ? by_variance * v * (1 - v / self) / 3 : 0;
}

/* Of a row: mean and q by class, of which q becomes the variance. */
static void move_row(const classes *x, size_t row, double d, double self, const double *mean,
                     double *q, double *spare, double *sums) {
    const lth_gp *gp = x->gp;
    double weight = gp->known.weight ? gp->known.weight[row] : 1, *a = spare;
    for (size_t c = 0; c < x->count; c++) {
        double D = site(x, x->next, c, 1)[row];
        sums[EXPLAINED] += D * q[c];
        sums[LEFT] += D * d;
        q[c] += d;
    }
    sums[EXPECTED] -= weight * lth__softmax_expect(x->count, mean, q, a, spare + x->count);
    for (size_t c = 0; c < x->count; c++) {
        bool has = gp->y[c * x->n + row] > 0;
        double *l = &site(x, x->next, c, 0)[row], *D = &site(x, x->next, c, 1)[row];
        double g = weight * (has - a[c]), to_D = weight * a[c] * (1 - a[c]);
        double gap = fmax(fabs(g + to_D * mean[c] - *l), fabs(to_D - *D));
        to_D = *D + (to_D - *D) / (1 + recoil(a[c], q[c], self));
        if (has) sums[EXPECTED] += weight * mean[c];
        if (!(gap <= sums[GAP])) sums[GAP] = gap;
        site(x, x->now, c, 0)[row] = *l;
        site(x, x->now, c, 1)[row] = *D;
        *l += x->rho * (g + to_D * mean[c] - *l);
        *D += x->rho * (to_D - *D);
    }
}

static lth_status move_piece(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker, (void)err;
    const classes *x = user;
    size_t m = x->m, at = index * ROWS, count = x->count;
    size_t rows = x->slice->rows - at < ROWS ? x->slice->rows - at : ROWS;
    const double *A = x->slice->A + at * m;
    double *U = x->room + at * m, *mean = x->mean + 2 * at * count, *q = mean + rows * count;
    double *sums = x->piece + index * OF_PIECE;
    memset(sums, 0, OF_PIECE * sizeof *sums);
    x->blas->gemm_nn(rows, count, m, 1, A, m, x->s->b, count, 0, mean, count);
    for (size_t c = 0; c < count; c++) {
        memcpy(U, A, rows * m * sizeof *U);
        x->blas->solve_right(rows, m, x->s->LB + c * m * m, m, U, m);
        for (size_t r = 0; r < rows; r++) {
            q[r * count + c] = 0;
            for (size_t k = 0; k < m; k++) q[r * count + c] += U[r * m + k] * U[r * m + k];
        }
    }
    for (size_t r = 0; r < rows; r++)
        move_row(x, x->slice->first + at + r, x->slice->d[at + r], x->slice->self[at + r],
                 mean + r * count, q + r * count, x->spare + index * 3 * count, sums);
    return LTH_OK;
}

/* Sums of the sites as they are in `next`. */
static lth_status sum_up(void *user, const lth__slice *slice, double *total, lth_error *err) {
    const classes *x = user;
    size_t m = x->m;
    for (size_t c = 0; c < x->count; c++) {
        double *S = total + c * count_sums(x);
        lth__inducing_sum sum = {.m = m, .t = 1, .S = S, .R = S + m * m, .room = x->room};
        LTH_TRY(lth__inducing_add(x->gp, &sum, slice, site(x, x->next, c, 1) + slice->first,
                                  site(x, x->next, c, 0) + slice->first, err));
    }
    return LTH_OK;
}

static lth_status judge_and_move(void *user, const lth__slice *slice, double *total,
                                 lth_error *err) {
    classes *x = user;
    double *more = total + x->count * count_sums(x);
    size_t pieces = (slice->rows + ROWS - 1) / ROWS;
    x->slice = slice;
    LTH_TRY(lth__parallel_for(x->gp->kernel->ctx, NULL, pieces, NULL, move_piece, x, err));
    for (size_t i = 0; i < pieces; i++) {
        const double *sums = x->piece + i * OF_PIECE;
        for (size_t k = 0; k < MORE; k++) more[k] += sums[k];
        if (!(sums[GAP] <= x->gap)) x->gap = sums[GAP];
    }
    return sum_up(x, slice, total, err);
}

static lth_status pass(classes *x, lth__slice_fn *take, lth_error *err) {
    x->gap = 0;
    LTH_TRY(
        lth__inducing_pass(x->gp, true, take, x, x->total, x->count * count_sums(x) + MORE, err));
    return lth__cluster_largest(x->gp->ctx.cluster, &x->gap, err);
}

/* ---- Steps ---- */

/* b and the factors of all classes, from the sums; log |B| of all. */
static lth_status solve(const classes *x, double *log_determinants, lth_error *err) {
    double one, *b = x->s->b;
    *log_determinants = 0;
    for (size_t c = 0; c < x->count; c++) {
        const double *S = x->total + c * count_sums(x);
        LTH_TRY(lth__inducing_solve(x->gp, c, 1, S, S + x->m * x->m, c, 1, &one, err));
        *log_determinants += one;
    }
    for (size_t k = 0; k < x->m; k++) {
        double mean = 0;
        for (size_t c = 0; c < x->count; c++) mean += b[k * x->count + c] / (double)x->count;
        for (size_t c = 0; c < x->count; c++) b[k * x->count + c] -= mean;
    }
    return LTH_OK;
}

static double penalty(const classes *x, double log_determinants) {
    double square = 0;
    for (size_t i = 0; i < x->m * x->count; i++) square += x->s->b[i] * x->s->b[i];
    return 0.5 * (square - more_of(x)[EXPLAINED] + log_determinants);
}

/* The step to `far` was too long: half of the way, and shorter ones for a while. */
static lth_status step_back(classes *x, const double *far, lth_error *err) {
    for (size_t i = 0; i < 2 * x->n * x->count; i++) x->next[i] = (x->before[i] + far[i]) / 2;
    x->rho /= 2;
    return pass(x, sum_up, err);
}

static lth_status settle(classes *x, double *bound, lth_error *err) {
    double log_determinants, best = -INFINITY;
    for (size_t step = 0; step < MOST_STEPS; step++) {
        LTH_TRY(solve(x, &log_determinants, err));
        LTH_TRY(pass(x, judge_and_move, err));
        double found = more_of(x)[EXPECTED] - penalty(x, log_determinants);
        if (!isfinite(found)) return LTH_ENUMERIC;
        if (found < best - 1e-9 * (1 + fabs(best)) && x->rho > 0.05) {
            LTH_TRY(step_back(x, x->now, err));
            continue;
        }
        best = *bound = found;
        if (x->gap < close_enough) break;
        x->rho = fmin(whole_step, 1.5 * x->rho);
        double *old = x->before;
        x->before = x->now;
        x->now = old;
    }
    return LTH_OK;
}

/* Where they ended last, if that was anywhere. */
static lth_status begin(classes *x, lth_error *err) {
    bool finite = true, any = false;
    for (size_t i = 0; i < 2 * x->n * x->count; i++) {
        finite &= isfinite(x->next[i]) != 0;
        any |= x->next[i] != 0;
    }
    if (!finite) memset(x->next, 0, 2 * x->n * x->count * sizeof *x->next);
    return finite && any ? pass(x, sum_up, err) : LTH_OK; /* sums are 0 */
}

/* ---- All of it ---- */

static lth_status make_room(classes *x, lth_error *err) {
    size_t rows = lth__inducing_rows(x->m), sites = 2 * x->n * x->count;
    if (rows > x->n) rows = x->n;
    size_t pieces = (rows + ROWS - 1) / ROWS;
    x->total = lth__calloc(x->count * count_sums(x) + MORE, sizeof *x->total);
    x->room = lth__alloc(rows * x->m, sizeof *x->room);
    x->mean = lth__alloc(2 * rows * x->count, sizeof *x->mean);
    x->spare = lth__alloc(pieces * 3 * x->count, sizeof *x->spare);
    x->now = lth__alloc(sites, sizeof *x->now);
    x->before = lth__alloc(sites, sizeof *x->before);
    x->piece = lth__alloc(pieces * OF_PIECE, sizeof *x->piece);
    bool ok = x->total && x->room && x->mean && x->spare && x->now && x->before && x->piece;
    return ok ? LTH_OK : lth__fail_memory(err, rows * x->m * sizeof(double));
}

/* While they move, a rank needs its own alone. */
static lth_status join_sites(const classes *x, lth_error *err) {
    for (size_t i = 0; i < 2 * x->count; i++)
        LTH_TRY(lth__inducing_join(x->gp, x->next + i * x->n, err));
    return LTH_OK;
}

lth_status lth__inducing_softmax(lth_gp *gp, double *evidence, lth_error *err) {
    lth__inducing_state *s = gp->solution;
    classes x = {.gp = gp,
                 .s = s,
                 .m = s->m,
                 .n = gp->rows,
                 .count = gp->latents,
                 .next = s->sites,
                 .rho = whole_step};
    lth_status status = lth__blas_get(&x.blas, err);
    if (status == LTH_OK) status = make_room(&x, err);
    if (status == LTH_OK) status = begin(&x, err);
    if (status == LTH_OK) status = settle(&x, evidence, err);
    if (status == LTH_OK) status = join_sites(&x, err);
    if (status == LTH_OK) s->left_to_noise = more_of(&x)[LEFT] / (double)(x.n * x.count);
    void *blocks[] = {x.total, x.room, x.mean, x.spare, x.now, x.before, x.piece};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) lth__free(blocks[i]);
    return status;
}

/* Sites are where they are asked to be: p = h = D and g = l - D mean. */
void lth__inducing_softmax_weights(const lth_gp *gp, const lth__slice *s, size_t first, size_t t,
                                   double *mean, const double *q, double *p, double *h,
                                   double *own) {
    (void)t, (void)q, (void)own; /* each class has a factor of its own; softmax has no parameters */
    const lth__inducing_state *state = gp->solution;
    const double *l = state->sites + 2 * first * gp->rows + s->first, *D = l + gp->rows;
    for (size_t r = 0; r < s->rows; r++) {
        mean[r] = l[r] - D[r] * mean[r];
        p[r] = h[r] = D[r];
    }
}
