/* Inducing rows for likelihoods that are not Gaussian: of each latent function f the best normal
 * distribution of the inducing rows' f, by the bound
 *
 *     evidence >= sum_n E log p(y_n | f_n) - (tr B^-1 + |b|^2 - M + log |B|)/2
 *     f_n has the mean a_n . b and the variance d_n + q_n,   q_n = a_n^T B^-1 a_n
 *
 * It has one site for each row, l and D, which are moved to where their own expectations ask for:
 * natural gradients with step `rho` (Khan and Lin 2017; Adam et al. 2021)
 *
 *     g = dE/dmean,  D' = -2 dE/dvariance:   (l, D) <- (1 - rho) (l, D) + rho (g + D' mean, D')
 *
 * One pass over the rows judges the sites it began with and sums up the next. tr B^-1 = M - sum D
 * q. Some D may be negative (site_factor.h), as long as B is positive definite.
 */
#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "engine/blas.h"
#include "engine/cluster.h"
#include "model/posterior/inducing.h"
#include "model/posterior/sites.h"

enum { ROWS = 128, MOST_STEPS = 60 };
static const double close_enough = 1e-7;

typedef struct sites {
    lth_gp *gp;
    lth__inducing_state *s;
    const lth__blas *blas;
    lth__seen seen;
    size_t latent;
    double *next, *now, *before; /* [l, D][n]; `next` is the state's own */
    double rho;
    double *room;  /* [row][m]                                            */
    double *total; /* S and R of the next sites, then EXPECTED and so on  */
    const lth__slice *slice;
    double *piece; /* [piece][OF_PIECE] */
    double gap;
    double off; /* of the slopes, in units of f     */
    bool held;  /* sites are held above 0 (sites.h) */
} sites;

enum { EXPECTED, EXPLAINED, LEFT, MORE, GAP = MORE, OFF, OF_PIECE };

static size_t count_sums(const sites *x) {
    return x->s->m * x->s->m + x->s->m;
}

/* ---- One pass ---- */

/* Of row r, with q = a^T B^-1 a and this mean. */
static void move_site(const sites *x, size_t row, double mean, double q, double d, double *sums) {
    const lth_gp *gp = x->gp;
    size_t n = gp->rows;
    double *l = &x->next[row], *D = &x->next[n + row];
    lth__expected e = lth__seen_expect(&x->seen, row, mean, d + q);
    double to_D = -2 * e.by_variance, off = fabs(e.by_mean - (*l - *D * mean)) * sqrt(d + q);
    if (x->held) to_D = lth__site_hold(&x->seen, row, mean, e.by_mean, to_D);
    double to_l = e.by_mean + to_D * mean, gap = fmax(fabs(to_l - *l), fabs(to_D - *D));
    sums[EXPECTED] += e.value;
    sums[EXPLAINED] += *D * q;
    sums[LEFT] += *D * d;
    if (!(gap <= sums[GAP])) sums[GAP] = gap;
    if (!(off <= sums[OFF])) sums[OFF] = off;
    x->now[row] = *l;
    x->now[n + row] = *D;
    *l += x->rho * (to_l - *l);
    *D += x->rho * (to_D - *D);
}

static lth_status move_piece(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker, (void)err;
    const sites *x = user;
    size_t m = x->s->m, at = index * ROWS, latents = x->s->latents;
    size_t rows = x->slice->rows - at < ROWS ? x->slice->rows - at : ROWS;
    const double *A = x->slice->A + at * m, *b = x->s->b + x->latent;
    double *U = x->room + at * m, mean[ROWS], *sums = x->piece + index * OF_PIECE;
    memcpy(U, A, rows * m * sizeof *U);
    memset(sums, 0, OF_PIECE * sizeof *sums);
    x->blas->solve_right(rows, m, x->s->LB + x->latent * m * m, m, U, m);
    x->blas->gemm_nn(rows, 1, m, 1, A, m, b, latents, 0, mean, 1);
    for (size_t r = 0; r < rows; r++) {
        double q = 0;
        for (size_t k = 0; k < m; k++) q += U[r * m + k] * U[r * m + k];
        move_site(x, x->slice->first + at + r, mean[r], q, x->slice->d[at + r], sums);
    }
    return LTH_OK;
}

/* Sums of the sites as they are in `next`. */
static lth_status sum_up(void *user, const lth__slice *slice, double *total, lth_error *err) {
    const sites *x = user;
    size_t m = x->s->m;
    lth__inducing_sum sum = {.m = m, .t = 1, .S = total, .R = total + m * m, .room = x->room};
    return lth__inducing_add(x->gp, &sum, slice, x->next + x->gp->rows + slice->first,
                             x->next + slice->first, err);
}

static lth_status judge_and_move(void *user, const lth__slice *slice, double *total,
                                 lth_error *err) {
    sites *x = user;
    double *more = total + count_sums(x);
    size_t pieces = (slice->rows + ROWS - 1) / ROWS;
    x->slice = slice;
    LTH_TRY(lth__parallel_for(x->gp->kernel->ctx, NULL, pieces, NULL, move_piece, x, err));
    for (size_t i = 0; i < pieces; i++) {
        const double *sums = x->piece + i * OF_PIECE;
        for (size_t k = 0; k < MORE; k++) more[k] += sums[k];
        if (!(sums[GAP] <= x->gap)) x->gap = sums[GAP];
        if (!(sums[OFF] <= x->off)) x->off = sums[OFF];
    }
    return sum_up(x, slice, total, err);
}

static lth_status pass(sites *x, lth__slice_fn *take, lth_error *err) {
    x->gap = x->off = 0;
    LTH_TRY(lth__inducing_pass(x->gp, true, take, x, x->total, count_sums(x) + MORE, err));
    LTH_TRY(lth__cluster_largest(x->gp->ctx.cluster, &x->off, err));
    return lth__cluster_largest(x->gp->ctx.cluster, &x->gap, err);
}

static const double *more_of(const sites *x) {
    return x->total + count_sums(x);
}

/* ---- Steps ---- */

static double penalty(const sites *x, double log_determinant) {
    double square = 0;
    for (size_t k = 0; k < x->s->m; k++) {
        double b = x->s->b[k * x->s->latents + x->latent];
        square += b * b;
    }
    return 0.5 * (square - more_of(x)[EXPLAINED] + log_determinant);
}

/* The step to `far` was too long: half of the way, and shorter ones from now on. */
static lth_status step_back(sites *x, const double *far, lth_error *err) {
    for (size_t i = 0; i < 2 * x->gp->rows; i++) x->next[i] = (x->before[i] + far[i]) / 2;
    x->rho /= 2;
    return pass(x, sum_up, err);
}

static lth_status settle_sites(sites *x, double *bound, lth_error *err) {
    double log_determinant, best = -INFINITY;
    for (size_t step = 0; step < MOST_STEPS; step++) {
        lth_status status =
            lth__inducing_solve(x->gp, x->latent, 1, x->total, x->total + x->s->m * x->s->m,
                                x->latent, 1, &log_determinant, err);
        if (status == LTH_ENUMERIC && isfinite(best) && x->rho > 0.001) { /* no distribution */
            LTH_TRY(step_back(x, x->next, err));
            continue;
        }
        LTH_TRY(status);
        LTH_TRY(pass(x, judge_and_move, err));
        double found = more_of(x)[EXPECTED] - penalty(x, log_determinant);
        if (!isfinite(found)) return LTH_ENUMERIC;
        if (found < best - 1e-9 * (1 + fabs(best)) && x->rho > 0.05) {
            LTH_TRY(step_back(x, x->now, err));
            continue;
        }
        best = *bound = found;
        if (x->gap < close_enough && !x->held) break;
        x->held = x->off > lth__site_far;
        double *old = x->before;
        x->before = x->now;
        x->now = old;
    }
    return LTH_OK;
}

/* Where they ended last, if that was anywhere. */
static lth_status begin(sites *x, lth_error *err) {
    bool finite = true, any = false;
    for (size_t i = 0; i < 2 * x->gp->rows; i++) {
        finite &= isfinite(x->next[i]) != 0;
        any |= x->next[i] != 0;
    }
    if (!finite) memset(x->next, 0, 2 * x->gp->rows * sizeof *x->next);
    x->held = !(finite && any);
    return x->held ? LTH_OK : pass(x, sum_up, err); /* sums are 0 */
}

static lth_status make_room(sites *x, lth_error *err) {
    size_t m = x->s->m, n = x->gp->rows, rows = lth__inducing_rows(m);
    if (rows > n) rows = n;
    x->total = lth__calloc(count_sums(x) + MORE, sizeof *x->total);
    x->room = lth__alloc(rows * m, sizeof *x->room);
    x->now = lth__alloc(2 * n, sizeof *x->now);
    x->before = lth__alloc(2 * n, sizeof *x->before);
    x->piece = lth__alloc((rows + ROWS - 1) / ROWS * OF_PIECE, sizeof *x->piece);
    bool ok = x->total && x->room && x->now && x->before && x->piece;
    return ok ? LTH_OK : lth__fail_memory(err, rows * m * sizeof(double));
}

/* ---- All latent functions ---- */

/* While they move, a rank needs its own alone. */
static lth_status join_sites(const sites *x, lth_error *err) {
    LTH_TRY(lth__inducing_join(x->gp, x->next, err));
    return lth__inducing_join(x->gp, x->next + x->gp->rows, err);
}

static lth_status solve_latent(lth_gp *gp, size_t latent, double *bound, lth_error *err) {
    lth__inducing_state *s = gp->solution;
    sites x = {.gp = gp, .s = s, .latent = latent, .rho = 1};
    x.seen = lth__gp_seen(gp, latent);
    x.next = s->sites + latent * 2 * gp->rows;
    lth_status status = lth__blas_get(&x.blas, err);
    if (status == LTH_OK) status = make_room(&x, err);
    if (status == LTH_OK) status = begin(&x, err);
    if (status == LTH_OK) status = settle_sites(&x, bound, err);
    if (status == LTH_OK) status = join_sites(&x, err);
    if (status == LTH_OK) s->left_to_noise += more_of(&x)[LEFT] / (double)(gp->rows * gp->latents);
    void *blocks[] = {x.total, x.room, x.now, x.before, x.piece};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) lth__free(blocks[i]);
    return status;
}

lth_status lth__inducing_sites(lth_gp *gp, double *evidence, lth_error *err) {
    lth__inducing_state *s = gp->solution;
    double sum = 0, bound = 0;
    s->left_to_noise = 0;
    for (size_t i = 0; i < gp->latents; i++) {
        LTH_TRY(solve_latent(gp, i, &bound, err));
        sum += bound;
    }
    *evidence = sum;
    return LTH_OK;
}

/* p = h = D, and E log p has its own derivatives by the likelihood's parameters. */
void lth__inducing_site_weights(const lth_gp *gp, const lth__slice *s, size_t first, size_t t,
                                double *mean, const double *q, double *p, double *h, double *own) {
    (void)t; /* each latent function has a factor of its own */
    lth__seen seen = lth__gp_seen(gp, first);
    for (size_t r = 0; r < s->rows; r++) {
        double variance = s->d[r] + (q[r] > 0 ? q[r] : 0);
        lth__expected e = lth__seen_expect(&seen, s->first + r, mean[r], variance);
        lth__seen_expect_params(&seen, s->first + r, mean[r], variance, own);
        mean[r] = e.by_mean;
        p[r] = h[r] = -2 * e.by_variance;
    }
}
