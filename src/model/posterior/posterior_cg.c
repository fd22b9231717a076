/* The posterior for Gaussian noise by conjugate gradients over one stored matrix: exact up to a
 * tolerance, for rows whose matrix fits in memory but whose factor would take too long.
 *
 *     G = K + (noise + jitter) I,   alpha = G^-1 y      to a relative residual (krylov.h)
 *     log |G|                                           estimated by probes
 *     k*^T G^-1 k*,  the diagonal of G^-1               partly known, the rest by the same probes
 *
 * (quadratic.h). Means are K* alpha, as exact as alpha. Variances k** - k*^T G^-1 k* are estimates,
 * never above what the known part leaves; so are the evidence and the figures of leave-one-out,
 * whose (G^-1)_ii is between 1 / G_ii and 1 / noise.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "engine/blas.h"
#include "engine/cluster.h"
#include "model/common/quadratic.h"
#include "model/gp/gp.h"
#include "model/posterior/joint.h"

enum { LEAST_RANK = 32, RANK = 300, MOST_RANK = 1000, MOST_STEPS = 1000, MOST_PROBE_STEPS = 100 };
static const double PROBE_TOLERANCE = 1e-2; /* far below what so few probes can tell */

typedef struct cg {
    double *alpha;   /* rows x latents        */
    double *inverse; /* the diagonal of G^-1  */
    lth__quadratic *quadratic;
    lth__matrix G; /* until it settles */
} cg;

static void release(void *solution) {
    cg *c = solution;
    if (!c) return;
    lth__matrix_free(&c->G);
    lth__quadratic_free(c->quadratic);
    lth__free(c->alpha);
    lth__free(c->inverse);
    lth__free(c);
}

static cg *create(size_t rows, size_t latents) {
    cg *c = lth__calloc(1, sizeof *c);
    if (!c) return NULL;
    c->alpha = lth__alloc(rows * latents, sizeof *c->alpha);
    c->inverse = lth__alloc(rows, sizeof *c->inverse);
    if (c->alpha && c->inverse) return c;
    release(c);
    return NULL;
}

static lth_status open(lth_gp *gp, lth_error *err) {
    if (gp->classes)
        return lth__fail(err, LTH_EARG, "cg is for numbers; labels take exact or inducing");
    gp->solution = create(gp->rows, gp->latents);
    return gp->solution ? LTH_OK : lth__fail_memory(err, gp->rows * gp->latents * sizeof(double));
}

/* A higher rank takes fewer steps and leaves less to chance. Of few rows it is a quarter of them,
 * then an eighth; of many what takes a gigabyte. */
static size_t rank_for(size_t n) {
    enum { MOST_CELLS = 1 << 26 };
    size_t rank = n / 4;
    if (rank > RANK) rank = n / 8 > RANK ? n / 8 : RANK;
    if (rank > MOST_RANK) rank = MOST_RANK;
    if (rank > MOST_CELLS / n) rank = MOST_CELLS / n;
    return rank < LEAST_RANK ? LEAST_RANK : rank;
}

/* The matrix, and beside it the preconditioner, what is kept for variances, and a batch of probes:
 * room for their products with the matrix, for conjugate gradients, and some twenty of the vectors
 * in single precision that these leave behind. */
static size_t bytes(const lth_gp *gp) {
    enum { BY_PROBE = 34 };
    size_t n = gp->rows, matrix = gp->how.on_disk ? 0 : lth__matrix_store_bytes(n, gp->how.store);
    if (gp->ctx.cluster) matrix /= gp->ctx.cluster->at.size;
    size_t beside =
        (2 * rank_for(n) + gp->how.probes + BY_PROBE * LTH__PROBE_BATCH + 8 * gp->latents) *
        sizeof(double);
    return matrix > SIZE_MAX / 2 || n > SIZE_MAX / 2 / beside ? SIZE_MAX : matrix + n * beside;
}

/* Span and probes with their images, and a few vectors. */
static size_t settled_bytes(const lth_gp *gp) {
    size_t n = gp->rows;
    size_t by_row =
        2 * (rank_for(n) + gp->how.probes) * sizeof(float) + (gp->latents + 2) * sizeof(double);
    return n > SIZE_MAX / by_row ? SIZE_MAX : n * by_row;
}

/* ---- Evidence ---- */

/* G, and what it has on its diagonal beside the kernel's values. */
static lth_status make_matrix(lth_gp *gp, lth__gram *gram, double *noise, lth_error *err) {
    cg *c = gp->solution;
    double trace, n = (double)gp->rows;
    if (!c->G.table)
        c->G = gp->how.on_disk ? lth__matrix_stored(&gp->ctx, gp->items)
                               : lth__matrix_store_beside(&gp->ctx, gram, gp->rows, gp->how.store);
    gp->ctx.quiet = false; /* the longest part, as a rule: it is shown */
    lth_status status = lth__matrix_gram(&c->G, gram, err);
    gp->ctx.quiet = true;
    LTH_TRY(status);
    LTH_TRY(lth__matrix_trace(&c->G, &trace, err));
    *noise = gp->own[0] + gp->jitter * trace / n;
    if (lth__matrix_is_single(&c->G) && *noise < 1e-3 * trace / n)
        lth__log(&gp->ctx, LTH_LOG_WARNING,
                 "the noise is %.1e of the mean k(x,x), too little for a matrix in single "
                 "precision: ask for f64",
                 *noise * n / trace);
    return lth__gp_prior_matrix(gp, gp->own[0], &c->G, err);
}

static lth_status multiply(const void *of, size_t m, const double *X, double *Y, lth_error *err) {
    const lth__matrix *G = of;
    return G->table->multiply(G, m, X, Y, err);
}

static lth_status multiply_roughly(const void *of, size_t m, const double *X, double *Y,
                                   lth_error *err) {
    const lth__matrix *G = of;
    return G->table->multiply_roughly(G, m, X, Y, err);
}

static lth_status precondition(const void *of, size_t m, const double *X, double *Y,
                               lth_error *err) {
    return lth__preconditioner_solve(of, m, X, Y, err);
}

/* A mean that is off by a percent would pass for a good one; less is told. */
static lth_status judge(lth_gp *gp, const lth__krylov_report *r, lth_error *err) {
    gp->report.cg_steps = r->steps;
    gp->report.cg_residual = r->residual;
    if (r->residual <= gp->how.tolerance) return LTH_OK;
    if (!(r->residual < 1e-3))
        return lth__fail(err, LTH_EUNSUPPORTED,
                         "conjugate gradients do not converge: after %zu steps the residual is "
                         "%.1e; use more noise, or the exact posterior",
                         r->steps, r->residual);
    lth__log(&gp->ctx, LTH_LOG_WARNING,
             "conjugate gradients ended after %zu steps with a residual of %.1e, above the "
             "tolerance of %.1e",
             r->steps, r->residual, gp->how.tolerance);
    return LTH_OK;
}

static lth_status solve(lth_gp *gp, const lth__krylov *k, double *fit, lth_error *err) {
    cg *c = gp->solution;
    size_t n = gp->rows, t = gp->latents;
    lth__krylov_report report;
    double *y = lth__alloc(n * t, sizeof *y);
    if (!y) return lth__fail_memory(err, n * t * sizeof *y);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < t; j++) y[i * t + j] = gp->y[j * n + i];
    }
    lth_status status = lth__krylov_solve(k, t, y, c->alpha, &report, err);
    *fit = 0;
    for (size_t i = 0; i < n * t; i++) *fit += y[i] * c->alpha[i];
    lth__free(y);
    return status == LTH_OK ? judge(gp, &report, err) : status;
}

static lth_status estimate(lth_gp *gp, const lth__preconditioner *P, lth__random *random,
                           double *out, lth_error *err) {
    cg *c = gp->solution;
    size_t n = gp->rows, t = gp->latents;
    lth__log_determinant determinant;
    double fit = 0;
    lth__krylov k = {.ctx = &gp->ctx,
                     .n = n,
                     .multiply = multiply,
                     .matrix = &c->G,
                     .precondition = precondition,
                     .preconditioner = P,
                     .tolerance = gp->how.tolerance,
                     .most = MOST_STEPS};
    LTH_TRY(solve(gp, &k, &fit, err));
    lth__quadratic_free(c->quadratic);
    c->quadratic = NULL;
    k.multiply = multiply_roughly;
    k.tolerance = fmax(k.tolerance, PROBE_TOLERANCE);
    k.most = MOST_PROBE_STEPS;
    LTH_TRY(lth__quadratic_create(&k, &c->G, P, gp->how.probes, random, &c->quadratic, &determinant,
                                  err));
    *out = -0.5 * fit - 0.5 * (double)t * determinant.value - 0.5 * (double)(n * t) * log(2 * M_PI);
    gp->report.evidence_error = 0.5 * (double)t * determinant.error;
    return LTH_OK;
}

/* It has no gradient: parameters are learned from fewer rows. */
static lth_status evidence(lth_gp *gp, lth__gram *gram, double *out, double *gradient,
                           lth_error *err) {
    cg *c = gp->solution;
    lth__preconditioner *P;
    lth__random random;
    double noise;
    if (gradient)
        return lth__fail(err, LTH_EUNSUPPORTED,
                         "cg does not learn: let an exact posterior of fewer rows do it");
    LTH_TRY(make_matrix(gp, gram, &noise, err));
    lth__random_seed(&random, gp->ctx.options.seed);
    LTH_TRY(lth__preconditioner_create(&c->G, noise, rank_for(gp->rows), &random, &P, err));
    lth_status status = estimate(gp, P, &random, out, err);
    lth__preconditioner_free(P);
    return status;
}

/* ---- Leave-one-out ---- */

static lth_status estimate_inverse(lth_gp *gp, lth_error *err) {
    cg *c = gp->solution;
    size_t n = gp->rows;
    double *diagonal = lth__alloc(n, sizeof *diagonal);
    if (!diagonal) return lth__fail_memory(err, n * sizeof *diagonal);
    lth_status status = c->G.table->diagonal(&c->G, diagonal, err);
    if (status == LTH_OK) status = lth__quadratic_diagonal(c->quadratic, &gp->ctx, c->inverse, err);
    for (size_t i = 0; i < n && status == LTH_OK; i++) {
        if (gp->own[0] > 0) c->inverse[i] = fmin(c->inverse[i], 1 / gp->own[0]);
        c->inverse[i] = fmax(c->inverse[i], 1 / diagonal[i]);
    }
    lth__free(diagonal);
    return status;
}

static lth_status leave_one_out(const lth_gp *gp, size_t target, double *mean, double *variance,
                                lth_error *err) {
    (void)err;
    const cg *c = gp->solution;
    lth__gp_leave_out(gp, c->alpha, c->inverse, target, mean, variance);
    return LTH_OK;
}

static lth_status report_left_out(lth_gp *gp, lth_error *err) {
    size_t n = gp->rows;
    const cg *c = gp->solution;
    double *room = lth__alloc(2 * n, sizeof *room);
    if (!room) return lth__fail_memory(err, 2 * n * sizeof *room);
    lth__gp_leave_out(gp, c->alpha, c->inverse, 0, room, room + n);
    lth_status status = lth__gp_report_left_out(gp, room, room + n, err);
    lth__free(room);
    return status;
}

static lth_status settle(lth_gp *gp, lth_error *err) {
    cg *c = gp->solution;
    LTH_TRY(estimate_inverse(gp, err));
    lth__matrix_free(&c->G);
    c->G = (lth__matrix){0};
    gp->report.noise = lth__gp_noise(gp);
    return report_left_out(gp, err);
}

/* ---- Predictions ---- */

static lth_status predict(const lth_gp *gp, lth_ctx *ctx, size_t rows, double *K,
                          const double *self, double *mean, double *variance, lth_error *err) {
    const cg *c = gp->solution;
    const lth__blas *blas;
    size_t n = gp->rows, t = gp->latents;
    LTH_TRY(lth__blas_get(&blas, err));
    blas->gemm_nn(rows, t, n, 1, K, n, c->alpha, t, 0, mean, t);
    if (!variance) return LTH_OK;
    double *explained = lth__alloc(rows, sizeof *explained);
    if (!explained) return lth__fail_memory(err, rows * sizeof *explained);
    lth_status status = lth__quadratic_of(c->quadratic, ctx, rows, K, explained, err);
    for (size_t r = 0; r < rows && status == LTH_OK; r++) {
        double rest = self[r] - explained[r];
        for (size_t k = 0; k < t; k++) variance[r * t + k] = rest > 0 ? rest : 0;
    }
    lth__free(explained);
    return status;
}

/* Of pairs of rows the part that is known tells how they go together, and the variances, which are
 * at most what it leaves, how far: so it stays a matrix of covariances. */
static void scale(size_t rows, const double *variance, double *by, double *C) {
    for (size_t i = 0; i < rows; i++) {
        double left = C[i * rows + i];
        by[i] = left > 0 ? sqrt(fmin(variance[i] / left, 1)) : 0;
    }
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < i; j++) C[i * rows + j] *= by[i] * by[j];
        C[i * rows + i] = variance[i];
    }
}

static lth_status join_known(const lth_gp *gp, lth_ctx *ctx, size_t rows, double *K, double *room,
                             double *C, lth_error *err) {
    const lth__quadratic *q = ((const cg *)gp->solution)->quadratic;
    double *variance = room, *by = variance + rows, *V = by + rows;
    LTH_TRY(lth__quadratic_features(q, ctx, rows, K, V, err));
    LTH_TRY(lth__quadratic_of(q, ctx, rows, K, variance, err));
    for (size_t i = 0; i < rows; i++) variance[i] = fmax(C[i * rows + i] - variance[i], 0);
    if (q->rank > 0) LTH_TRY(lth__joint_add(ctx, rows, q->rank, -1, V, V, C, err));
    scale(rows, variance, by, C);
    for (size_t k = 1; k < gp->latents; k++)
        memcpy(C + k * rows * rows, C, rows * rows * sizeof *C);
    return LTH_OK;
}

static lth_status join(const lth_gp *gp, lth_ctx *ctx, size_t rows, double *K, double *C,
                       lth_error *err) {
    size_t cells = rows * (((const cg *)gp->solution)->quadratic->rank + 2);
    double *room = lth__alloc(cells, sizeof *room);
    if (!room) return lth__fail_memory(err, cells * sizeof *room);
    lth_status status = join_known(gp, ctx, rows, K, room, C, err);
    lth__free(room);
    return status;
}

static void weigh(const lth_gp *gp, size_t i, double *w) {
    const cg *c = gp->solution;
    for (size_t r = 0; r < gp->rows; r++) w[r] = c->alpha[r * gp->latents + i];
}

/* ---- In a file ---- */

enum { TOLERANCE, STORE, HOW };

/* Draws are solved like the model, when they are first needed. */
static void save_how(const lth_gp *gp, lth__saver *s) {
    if (!gp->draws) return;
    double *how = lth__saver_keep(s, lth__alloc(HOW, sizeof *how));
    s->ok = s->ok && how;
    if (!s->ok) return;
    how[TOLERANCE] = gp->how.tolerance;
    how[STORE] = gp->how.store;
    lth__saver_put(s, "cg.how", LTH__F64, HOW, 0, how);
}

static lth_status load_how(lth_gp *gp, const lth__loader *l) {
    const lth__tensor *t;
    const cg *c = gp->solution;
    if (!lth__tensors_find(l->file, "draws")) return LTH_OK;
    LTH_TRY(lth__loader_get(l, "cg.how", LTH__F64, 1, HOW, 0, &t));
    const double *how = t->data;
    bool good = how[TOLERANCE] > 0 && how[TOLERANCE] < 1;
    if (!good || (how[STORE] != LTH_F64 && how[STORE] != LTH_F32))
        return lth__loader_damaged(l, "cg.how");
    gp->how.tolerance = how[TOLERANCE];
    gp->how.store = (lth_precision)how[STORE];
    gp->how.probes = c->quadratic->probes;
    return LTH_OK;
}

/* A span of nothing has no arrays. */
static void save(const lth_gp *gp, lth__saver *s) {
    const cg *c = gp->solution;
    const lth__quadratic *q = c->quadratic;
    size_t n = gp->rows;
    uint64_t *sizes = lth__saver_keep(s, lth__alloc(2, sizeof *sizes));
    s->ok = s->ok && sizes;
    if (!s->ok) return;
    sizes[0] = q->rank;
    sizes[1] = q->probes;
    lth__saver_put(s, "y", LTH__F64, gp->latents, n, gp->y);
    lth__saver_put(s, "alpha", LTH__F64, n, gp->latents, c->alpha);
    lth__saver_put(s, "cg.sizes", LTH__U64, 2, 0, sizes);
    lth__saver_put(s, "cg.inverse", LTH__F64, n, 0, c->inverse);
    lth__saver_put(s, "cg.lambda", LTH__F64, n, 0, q->lambda);
    lth__saver_put(s, "cg.probes", LTH__F32, n, q->probes, q->U);
    lth__saver_put(s, "cg.controls", LTH__F32, n, q->probes, q->W);
    save_how(gp, s);
    if (q->rank == 0 || !s->ok) return;
    lth__saver_put(s, "cg.span", LTH__F32, n, q->rank, q->M);
    lth__saver_put(s, "cg.span_image", LTH__F32, n, q->rank, q->F);
    lth__saver_put(s, "cg.span_gram", LTH__F64, q->rank, q->rank, q->C);
}

static lth_status load_singles(const lth__loader *l, const char *name, size_t rows, size_t cols,
                               float *to) {
    const lth__tensor *t;
    LTH_TRY(lth__loader_get(l, name, LTH__F32, 2, rows, cols, &t));
    memcpy(to, t->data, rows * cols * sizeof *to);
    return LTH_OK;
}

/* Numbers of at least `least`. */
static lth_status load_doubles(const lth__loader *l, const char *name, size_t rank, size_t rows,
                               size_t cols, double least, double *to) {
    const lth__tensor *t;
    LTH_TRY(lth__loader_get(l, name, LTH__F64, rank, rows, cols, &t));
    size_t count = rows * (rank > 1 ? cols : 1);
    memcpy(to, t->data, count * sizeof *to);
    for (size_t i = 0; i < count; i++) {
        if (to[i] < least) return lth__loader_damaged(l, name);
    }
    return LTH_OK;
}

static lth_status load_span(const lth__loader *l, lth__quadratic *q) {
    if (q->rank == 0) return LTH_OK;
    LTH_TRY(load_singles(l, "cg.span", q->n, q->rank, q->M));
    LTH_TRY(load_singles(l, "cg.span_image", q->n, q->rank, q->F));
    return load_doubles(l, "cg.span_gram", 2, q->rank, q->rank, -INFINITY, q->C);
}

/* The arrays are looked for before there is room for their copies: the file says how large. */
static lth_status load_quadratic(lth_gp *gp, const lth__loader *l) {
    cg *c = gp->solution;
    const lth__tensor *t;
    size_t n = gp->rows;
    LTH_TRY(lth__loader_get(l, "cg.sizes", LTH__U64, 1, 2, 0, &t));
    uint64_t rank = ((const uint64_t *)t->data)[0], probes = ((const uint64_t *)t->data)[1];
    if (rank > n || probes == 0 || probes == LTH_NONE) return lth__loader_damaged(l, "cg.sizes");
    if (rank > 0) LTH_TRY(lth__loader_get(l, "cg.span", LTH__F32, 2, n, rank, &t));
    LTH_TRY(lth__loader_get(l, "cg.probes", LTH__F32, 2, n, probes, &t));
    LTH_TRY(lth__quadratic_reserve(n, rank, probes, &c->quadratic, l->err));
    lth__quadratic *q = c->quadratic;
    LTH_TRY(load_doubles(l, "cg.lambda", 1, n, 0, 1e-300, q->lambda));
    LTH_TRY(load_span(l, q));
    LTH_TRY(load_singles(l, "cg.probes", n, probes, q->U));
    LTH_TRY(load_singles(l, "cg.controls", n, probes, q->W));
    lth_status status = lth__quadratic_invert(q, &gp->ctx, l->err);
    return status == LTH_ENUMERIC ? lth__loader_damaged(l, "cg.span_gram") : status;
}

static lth_status load(lth_gp *gp, const lth__loader *l) {
    const lth__tensor *y;
    gp->latents = gp->target_count;
    LTH_TRY(lth__loader_get(l, "y", LTH__F64, 2, gp->latents, LTH_NONE, &y));
    gp->rows = y->shape[1];
    if (gp->rows == 0) return lth__loader_damaged(l, "it has no training rows");
    LTH_TRY(lth__loader_copy(l, y, &gp->y));
    cg *c = gp->solution = create(gp->rows, gp->latents);
    if (!c) return lth__fail_memory(l->err, gp->rows * gp->latents * sizeof(double));
    LTH_TRY(load_doubles(l, "alpha", 2, gp->rows, gp->latents, -INFINITY, c->alpha));
    LTH_TRY(load_doubles(l, "cg.inverse", 1, gp->rows, 0, 1e-300, c->inverse));
    LTH_TRY(load_quadratic(gp, l));
    return load_how(gp, l);
}

const lth__posterior lth__cg = {.name = "cg",
                                .approximate = true,
                                .open = open,
                                .free = release,
                                .bytes = bytes,
                                .settled_bytes = settled_bytes,
                                .evidence = evidence,
                                .settle = settle,
                                .predict = predict,
                                .join = join,
                                .weigh = weigh,
                                .leave_one_out = leave_one_out,
                                .save = save,
                                .load = load};
