/* The posterior by inducing rows (inducing.h): M training rows, chosen by randomly pivoted Cholesky
 * at the present parameters, stand for all N.
 *
 * While parameters are learned the rows stay those of the first evaluation: another choice would be
 * another function. An evaluation without a gradient is the end of a search, or there was none: it
 * chooses anew where the parameters have moved since. The model keeps the M rows alone.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/parallel.h"
#include "engine/blas.h"
#include "model/gp/gp_sharpness.h"
#include "model/posterior/inducing.h"
#include "model/posterior/joint.h"

typedef lth__inducing_state state;

static void forget_rows(state *s) {
    lth__basis_free(s->basis);
    void **blocks[] = {(void **)&s->chosen_at, (void **)&s->d,     (void **)&s->self,
                       (void **)&s->A,         (void **)&s->small, (void **)&s->sites};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        lth__free(*blocks[i]);
        *blocks[i] = NULL;
    }
    s->basis = NULL;
}

static void release(void *solution) {
    state *s = solution;
    if (!s) return;
    forget_rows(s);
    lth__free(s->L);
    lth__free(s->LB);
    lth__free(s->b);
    lth__free(s->beta);
    lth__free(s);
}

static bool has_noise(const lth_gp *gp) {
    return lth__gp_is_gaussian(gp);
}

state *lth__inducing_create(const lth_gp *gp) {
    state *s = lth__calloc(1, sizeof *s);
    if (!s) return NULL;
    s->latents = gp->latents;
    s->factors = has_noise(gp) ? 1 : gp->latents;
    return s;
}

static lth_status open(lth_gp *gp, lth_error *err) {
    size_t n = gp->rows, sites = has_noise(gp) ? 0 : 2 * n * gp->latents;
    state *s = gp->solution = lth__inducing_create(gp);
    if (!s) return lth__fail_memory(err, sizeof *s);
    s->chosen_at = lth__alloc(lth__gp_param_count(gp), sizeof *s->chosen_at);
    s->d = lth__alloc(n, sizeof *s->d);
    s->self = lth__alloc(n, sizeof *s->self);
    s->sites = lth__calloc(sites, sizeof *s->sites);
    if (s->chosen_at && s->d && s->self && s->sites) return LTH_OK;
    return lth__fail_memory(err, (2 * n + sites) * sizeof *s->d);
}

/* Of the choice among candidates, and then of M x M and of slices; none of N x N. */
static size_t bytes(const lth_gp *gp) {
    double n = (double)gp->rows, m = fmin((double)gp->how.inducing, n);
    double choice = m * (double)lth__basis_candidates(gp->rows, gp->how.inducing);
    double slices = 2 * m * fmin(n, (double)lth__inducing_rows(gp->how.inducing));
    double factors =
        (double)gp->latents * (gp->likelihood->coupled ? 2 : 1); /* and sums for them */
    double cells = fmax(choice, slices + (6 + factors) * m * m);
    return cells < 1e17 ? (size_t)cells * sizeof(double) : SIZE_MAX;
}

/* Factors of C_mm and of each B. */
static size_t settled_bytes(const lth_gp *gp) {
    size_t n = gp->rows, m = gp->how.inducing > 0 && gp->how.inducing < n ? gp->how.inducing : n;
    double cells = (double)m * (double)m * (1 + (double)(has_noise(gp) ? 1 : gp->latents));
    return cells < 1e17 ? (size_t)cells * sizeof(double) : SIZE_MAX;
}

/* ---- The basis ---- */

static bool has_moved(lth_gp *gp) {
    const state *s = gp->solution;
    for (size_t p = 0; p < lth__gp_param_count(gp); p++) {
        if (*lth__gp_value(gp, p) != s->chosen_at[p]) return true;
    }
    return false;
}

static lth_status make_room(state *s, lth_error *err) {
    size_t m = s->m, cells = s->factors * m * m;
    lth__free(s->LB);
    lth__free(s->b);
    lth__free(s->A);
    lth__free(s->small);
    s->A = NULL;
    s->small = NULL;
    s->LB = lth__alloc(cells, sizeof *s->LB);
    s->b = lth__alloc(m * s->latents, sizeof *s->b);
    return s->LB && s->b ? LTH_OK : lth__fail_memory(err, cells * sizeof *s->LB);
}

static lth_status choose(lth_gp *gp, lth_error *err) {
    state *s = gp->solution;
    lth__basis_options options = {.count = gp->how.inducing,
                                  .scale = lth__gp_scale(gp),
                                  .shift = gp->mean->variance,
                                  .seed = gp->ctx.options.seed};
    lth__basis_free(s->basis);
    s->basis = NULL;
    LTH_TRY(lth__basis_choose(gp->kernel, gp->items, &options, &s->basis, err));
    s->m = s->basis->count;
    s->jitter = s->basis->jitter;
    s->unit = 0;
    for (size_t i = 0; i < s->m; i++) {
        for (size_t k = 0; k <= i; k++)
            s->unit += s->basis->L[i * s->m + k] * s->basis->L[i * s->m + k] / (double)s->m;
    }
    for (size_t p = 0; p < lth__gp_param_count(gp); p++) s->chosen_at[p] = *lth__gp_value(gp, p);
    return make_room(s, err);
}

/* The basis at the present parameters. Its jitter is an absolute number while they are learned, and
 * so has no derivative. */
static lth_status ready(lth_gp *gp, bool at_the_end, lth_error *err) {
    state *s = gp->solution;
    s->is_kept = false;
    bool is_last = at_the_end && !gp->at_a_draw;
    if (!s->basis || (is_last && has_moved(gp))) LTH_TRY(choose(gp, err));
    return lth__basis_renew(s->basis, lth__gp_scale(gp), gp->mean->variance,
                            s->jitter + gp->jitter * s->unit, err);
}

static lth_status evidence(lth_gp *gp, lth__gram *gram, double *out, double *gradient,
                           lth_error *err) {
    (void)gram; /* of all pairs, which are too many */
    LTH_TRY(ready(gp, !gradient, err));
    LTH_TRY(has_noise(gp)             ? lth__inducing_numbers(gp, gradient != NULL, out, err)
            : gp->likelihood->coupled ? lth__inducing_softmax(gp, out, err)
                                      : lth__inducing_sites(gp, out, err));
    return gradient ? lth__inducing_pull(gp, gradient, err) : LTH_OK;
}

/* Sites begin where they ended last. */
static double *carried(const lth_gp *gp, size_t *count) {
    const state *s = gp->solution;
    *count = has_noise(gp) ? 0 : 2 * gp->rows * gp->latents;
    return s->sites;
}

/* ---- The end ---- */

static void report(lth_gp *gp) {
    const state *s = gp->solution;
    double left = 0, all = 0;
    for (size_t i = 0; i < gp->rows; i++) {
        left += s->d[i];
        all += s->self[i];
    }
    gp->report.posterior = LTH_POSTERIOR_INDUCING;
    gp->report.inducing = s->m;
    gp->report.trace_left = all > 0 ? left / all : 0;
    gp->report.left_to_noise = s->left_to_noise;
    if (has_noise(gp)) gp->report.noise = lth__gp_noise(gp);
    if (s->left_to_noise > 1)
        lth__log(&gp->ctx, LTH_LOG_WARNING,
                 "this kernel does not compress: %zu rows leave %.0f%% of the variance of the "
                 "others, %.3g times the noise; more inducing rows, or the posterior cg or exact, "
                 "will predict better",
                 s->m, 100 * gp->report.trace_left, s->left_to_noise);
}

lth_status lth__inducing_weigh(state *s, const double *L, lth_error *err) {
    size_t m = s->m, cells = m * s->latents;
    const lth__blas *blas;
    LTH_TRY(lth__blas_get(&blas, err));
    s->beta = lth__alloc(cells, sizeof *s->beta);
    if (!s->beta) return lth__fail_memory(err, cells * sizeof *s->beta);
    memcpy(s->beta, s->b, cells * sizeof *s->beta);
    blas->solve_transposed(m, s->latents, L, m, s->beta, s->latents);
    return LTH_OK;
}

static lth_status pick_targets(const lth_gp *gp, double **out, lth_error *err) {
    const state *s = gp->solution;
    double *y = lth__alloc(s->m * gp->latents, sizeof *y);
    if (!y) return lth__fail_memory(err, s->m * gp->latents * sizeof *y);
    for (size_t t = 0; t < gp->latents; t++) {
        for (size_t i = 0; i < s->m; i++) y[t * s->m + i] = gp->y[t * gp->rows + s->basis->row[i]];
    }
    *out = y;
    return LTH_OK;
}

static lth_status settle(lth_gp *gp, lth_error *err) {
    state *s = gp->solution;
    double *y = NULL;
    LTH_TRY(lth__inducing_weigh(s, s->basis->L, err));
    if (lth__gp_learns_sharpness(gp)) LTH_TRY(lth__inducing_sharpen(gp, err));
    LTH_TRY(pick_targets(gp, &y, err));
    report(gp);
    lth__free(gp->y);
    gp->y = y;
    gp->rows = s->m;
    lth__gp_keep(gp, s->basis->items, s->basis->row);
    s->L = s->basis->L;
    s->basis->items = NULL;
    s->basis->row = NULL;
    s->basis->L = NULL;
    forget_rows(s);
    return LTH_OK;
}

/* ---- Predictions ---- */

enum { PIECE = 32 };

typedef struct predicting {
    const state *s;
    const lth__blas *blas;
    size_t rows;
    double *V, *room; /* room: [worker or piece][PIECE][m] */
    const double *self;
    double *variance;
} predicting;

static double square(const double *v, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += v[i] * v[i];
    return sum;
}

static lth_status vary_piece(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker, (void)err;
    const predicting *j = user;
    const state *s = j->s;
    size_t m = s->m, first = index * PIECE, t = s->latents / s->factors;
    size_t rows = j->rows - first < PIECE ? j->rows - first : PIECE;
    double *V = j->V + first * m, *U = j->room + first * m, left[PIECE];
    j->blas->solve_right(rows, m, s->L, m, V, m);
    for (size_t r = 0; r < rows; r++) left[r] = fmax(j->self[first + r] - square(V + r * m, m), 0);
    for (size_t f = 0; f < s->factors; f++) {
        memcpy(U, V, rows * m * sizeof *U);
        j->blas->solve_right(rows, m, s->LB + f * m * m, m, U, m);
        for (size_t r = 0; r < rows; r++) {
            double variance = left[r] + square(U + r * m, m);
            for (size_t k = f * t; k < (f + 1) * t; k++)
                j->variance[(first + r) * s->latents + k] = variance;
        }
    }
    return LTH_OK;
}

static lth_status predict(const lth_gp *gp, lth_ctx *ctx, size_t rows, double *K,
                          const double *self, double *mean, double *variance, lth_error *err) {
    const state *s = gp->solution;
    predicting j = {.s = s, .rows = rows, .V = K, .self = self, .variance = variance};
    LTH_TRY(lth__blas_get(&j.blas, err));
    j.blas->gemm_nn(rows, s->latents, s->m, 1, K, s->m, s->beta, s->latents, 0, mean, s->latents);
    if (!variance) return LTH_OK;
    j.room = lth__alloc(rows * s->m, sizeof *j.room);
    if (!j.room) return lth__fail_memory(err, rows * s->m * sizeof *j.room);
    lth_status status =
        lth__parallel_for(ctx, NULL, (rows + PIECE - 1) / PIECE, NULL, vary_piece, &j, err);
    lth__free(j.room);
    return status;
}

typedef struct solving {
    const lth__blas *blas;
    size_t m, rows;
    const double *L;
    double *V;
} solving;

static lth_status solve_piece(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker, (void)err;
    const solving *j = user;
    size_t first = index * PIECE, left = j->rows - first;
    j->blas->solve_right(left < PIECE ? left : PIECE, j->m, j->L, j->m, j->V + first * j->m, j->m);
    return LTH_OK;
}

/* V becomes V L^-T. */
static lth_status whiten(lth_ctx *ctx, size_t m, const double *L, size_t rows, double *V,
                         lth_error *err) {
    solving j = {.m = m, .rows = rows, .L = L, .V = V};
    LTH_TRY(lth__blas_get(&j.blas, err));
    return lth__parallel_for(ctx, NULL, (rows + PIECE - 1) / PIECE, NULL, solve_piece, &j, err);
}

/* What the rows that are kept leave of the prior is the same for all latent functions; what they
 * are unsure of is a factor's own. */
static lth_status join_factors(const state *s, lth_ctx *ctx, size_t rows, double *V, double *U,
                               double *C, lth_error *err) {
    size_t m = s->m, square = rows * rows, t = s->latents / s->factors;
    LTH_TRY(whiten(ctx, m, s->L, rows, V, err));
    LTH_TRY(lth__joint_add(ctx, rows, m, -1, V, V, C, err));
    lth__joint_hold(rows, C);
    for (size_t i = 1; i < s->latents; i++) memcpy(C + i * square, C, square * sizeof *C);
    for (size_t i = 0; i < s->latents; i++) {
        if (i % t == 0) {
            memcpy(U, V, rows * m * sizeof *U);
            LTH_TRY(whiten(ctx, m, s->LB + i / t * m * m, rows, U, err));
        }
        LTH_TRY(lth__joint_add(ctx, rows, m, 1, U, U, C + i * square, err));
    }
    return LTH_OK;
}

static lth_status join(const lth_gp *gp, lth_ctx *ctx, size_t rows, double *K, double *C,
                       lth_error *err) {
    const state *s = gp->solution;
    double *U = lth__alloc(rows * s->m, sizeof *U);
    if (!U) return lth__fail_memory(err, rows * s->m * sizeof *U);
    lth_status status = join_factors(s, ctx, rows, K, U, C, err);
    lth__free(U);
    return status;
}

static void weigh(const lth_gp *gp, size_t i, double *w) {
    const state *s = gp->solution;
    for (size_t r = 0; r < s->m; r++) w[r] = s->beta[r * s->latents + i];
}

/* ---- In a file ---- */

static void save(const lth_gp *gp, lth__saver *saver) {
    const state *s = gp->solution;
    lth__saver_put(saver, "y", LTH__F64, gp->latents, s->m, gp->y);
    lth__saver_put(saver, "inducing.beta", LTH__F64, s->m, s->latents, s->beta);
    lth__saver_put(saver, "inducing.factor", LTH__F64, s->m, s->m, s->L);
    lth__saver_put(saver, "inducing.factor_b", LTH__F64, s->factors * s->m, s->m, s->LB);
}

bool lth__inducing_is_pivot(double x) {
    return x >= 1 - 1e-9;
}

static bool is_positive(double x) {
    return x > 0;
}

/* Lower triangular, and with a diagonal that can be. */
static bool are_factors(const double *L, size_t count, size_t m, bool (*is_pivot)(double)) {
    for (size_t r = 0; r < count * m; r++) {
        const double *row = L + r * m;
        size_t i = r % m;
        if (!is_pivot(row[i])) return false;
        for (size_t c = i + 1; c < m; c++) {
            if (row[c] != 0) return false;
        }
    }
    return true;
}

static lth_status load_factors(state *s, const lth__loader *l) {
    const lth__tensor *t;
    LTH_TRY(lth__loader_get(l, "inducing.factor", LTH__F64, 2, s->m, s->m, &t));
    LTH_TRY(lth__loader_copy(l, t, &s->L));
    if (!are_factors(s->L, 1, s->m, is_positive)) return lth__loader_damaged(l, "inducing.factor");
    LTH_TRY(lth__loader_get(l, "inducing.factor_b", LTH__F64, 2, s->factors * s->m, s->m, &t));
    LTH_TRY(lth__loader_copy(l, t, &s->LB));
    bool good = are_factors(s->LB, s->factors, s->m, lth__inducing_is_pivot);
    return good ? LTH_OK : lth__loader_damaged(l, "inducing.factor_b");
}

static lth_status load(lth_gp *gp, const lth__loader *l) {
    const lth__tensor *t;
    if (!gp->classes) gp->latents = gp->target_count;
    LTH_TRY(lth__loader_get(l, "y", LTH__F64, 2, gp->latents, LTH_NONE, &t));
    if (t->shape[1] == 0) return lth__loader_damaged(l, "it has no training rows");
    gp->rows = t->shape[1];
    LTH_TRY(lth__loader_copy(l, t, &gp->y));
    state *s = gp->solution = lth__inducing_create(gp);
    if (!s) return lth__fail_memory(l->err, sizeof *s);
    s->m = gp->rows;
    gp->keeps_few = true;
    LTH_TRY(lth__loader_get(l, "inducing.beta", LTH__F64, 2, s->m, s->latents, &t));
    LTH_TRY(lth__loader_copy(l, t, &s->beta));
    return load_factors(s, l);
}

const lth__posterior lth__inducing = {.name = "inducing",
                                      .approximate = true,
                                      .open = open,
                                      .free = release,
                                      .bytes = bytes,
                                      .settled_bytes = settled_bytes,
                                      .evidence = evidence,
                                      .carried = carried,
                                      .settle = settle,
                                      .predict = predict,
                                      .join = join,
                                      .weigh = weigh,
                                      .save = save,
                                      .load = load,
                                      .draws = &lth__inducing_draws};
