/* The posterior for classes that share a row, by Laplace's approximation for all of their latent
 * functions at once (softmax.h). In a site model root_w are the roots of probabilities, L the
 * matrices F, and `sum` is S^-1. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "model/posterior/joint.h"
#include "model/posterior/site_model.h"
#include "model/posterior/softmax.h"

/* Matrices without memory, where K is. */
static lth_status make_blank(const lth__matrix *K, size_t count, lth__matrix **out,
                             lth_error *err) {
    lth__matrix *F = lth__calloc(count, sizeof *F);
    if (!F) return lth__fail_memory(err, count * sizeof *F);
    for (size_t i = 0; i < count; i++) {
        F[i] = *K;
        F[i].cells = NULL;
        F[i].tiles = NULL;
    }
    *out = F;
    return LTH_OK;
}

static lth__softmax problem_of(const lth_gp *gp, lth__matrix *F, lth__matrix *S) {
    const lth__site_model *s = gp->solution;
    return (lth__softmax){.classes = gp->latents,
                          .y = gp->y,
                          .weight = gp->known.weight,
                          .a = s->a,
                          .f = s->f,
                          .root_p = s->root_w,
                          .F = F,
                          .S = S};
}

/* ---- Evidence ---- */

static lth_status of_all(const lth_gp *gp, size_t latent, double *out, double *by_params,
                         lth_error *err) {
    (void)latent;
    lth__site_model *s = gp->solution;
    if (!s->F) LTH_TRY(make_blank(&s->K, gp->latents, &s->F, err));
    lth__softmax l = problem_of(gp, s->F, &s->B);
    LTH_TRY(lth__softmax_mode(&l, &s->K, err));
    *out = l.evidence;
    return by_params ? lth__softmax_weights(&l, &s->K, &s->M, err) : LTH_OK;
}

static lth_status evidence(lth_gp *gp, lth__gram *gram, double *out, double *gradient,
                           lth_error *err) {
    return lth__site_model_evidence(gp, gram, of_all, out, gradient, err);
}

/* ---- Factors ---- */

static lth_status take_factors(lth__site_model *s, lth__matrix *F, lth__matrix *S, lth_error *err) {
    for (size_t c = 0; c < s->latents; c++) LTH_TRY(lth__matrix_take(&F[c], &s->L[c], err));
    return lth__matrix_take(S, &s->sum, err);
}

lth_status lth__softmax_keep(const lth_gp *gp, const lth__matrix *K, lth_error *err) {
    const lth__site_model *s = gp->solution;
    lth__matrix *all = NULL;
    double log_determinant;
    LTH_TRY(make_blank(K, gp->latents + 1, &all, err));
    lth__matrix *S = &all[gp->latents];
    lth__softmax l = problem_of(gp, all, S);
    lth_status status = lth__softmax_factor(&l, K, &log_determinant, err);
    if (status == LTH_ENUMERIC)
        status = lth__fail(err, status, "the kernel matrix is not positive definite");
    if (status == LTH_OK) status = S->table->invert(S, err);
    if (status == LTH_OK && s->without) {
        l.inverted = true;
        status = lth__softmax_leave_out(&l, K, s->without, s->without + gp->latents * K->n, err);
    }
    if (status == LTH_OK && !K->tiles) status = take_factors(gp->solution, all, S, err);
    for (size_t i = 0; i <= gp->latents; i++) lth__matrix_free(&all[i]);
    lth__free(all);
    return status;
}

/* ---- Predictions ---- */

static void find_means(const lth_gp *gp, size_t rows, const double *K, double *mean) {
    const lth__site_model *s = gp->solution;
    size_t n = gp->rows;
    for (size_t at = 0; at < rows * gp->latents; at++) {
        const double *k = K + at / gp->latents * n, *a = s->a + at % gp->latents * n;
        mean[at] = 0;
        for (size_t i = 0; i < n; i++) mean[at] += k[i] * a[i];
    }
}

/* Rows of K as columns, times the roots of weights. */
static void turn(const lth_gp *gp, size_t rows, const double *K, double *X) {
    for (size_t i = 0; i < gp->rows; i++) {
        double root = gp->known.weight ? sqrt(gp->known.weight[i]) : 1;
        for (size_t r = 0; r < rows; r++) X[i * rows + r] = root * K[r * gp->rows + i];
    }
}

static lth_status find_covariances(const lth_gp *gp, const lth__softmax *l, size_t rows,
                                   const double *K, const double *self, double *X,
                                   double *covariance, lth_error *err) {
    size_t square = gp->latents * gp->latents;
    for (size_t first = 0; first < rows; first += LTH__SOFTMAX_BLOCK) {
        size_t left = rows - first, m = left < LTH__SOFTMAX_BLOCK ? left : LTH__SOFTMAX_BLOCK;
        turn(gp, m, K + first * gp->rows, X);
        LTH_TRY(lth__softmax_spread(l, m, X, self + first, covariance + first * square, err));
    }
    return LTH_OK;
}

static lth_status covary(const lth_gp *gp, lth_ctx *ctx, size_t rows, const double *K,
                         const double *self, double *mean, double *covariance, lth_error *err) {
    const lth__site_model *s = gp->solution;
    find_means(gp, rows, K, mean);
    if (!covariance) return LTH_OK;
    lth__matrix *F = lth__calloc(gp->latents, sizeof *F);
    lth__matrix S = lth__matrix_on_host(ctx, gp->rows, s->sum);
    size_t block = rows < LTH__SOFTMAX_BLOCK ? rows : LTH__SOFTMAX_BLOCK;
    double *X = lth__alloc(gp->rows * block, sizeof *X);
    lth_status status = F && X ? LTH_OK : lth__fail_memory(err, gp->rows * block * sizeof *X);
    for (size_t c = 0; c < gp->latents && status == LTH_OK; c++)
        F[c] = lth__matrix_on_host(ctx, gp->rows, s->L[c]);
    lth__softmax l = problem_of(gp, F, &S);
    if (status == LTH_OK) status = find_covariances(gp, &l, rows, K, self, X, covariance, err);
    lth__free(F);
    lth__free(X);
    return status;
}

/* Of each class by itself. */
static lth_status predict(const lth_gp *gp, lth_ctx *ctx, size_t rows, double *K,
                          const double *self, double *mean, double *variance, lth_error *err) {
    size_t n = gp->latents, cells = rows * n * n;
    double *C = variance ? lth__alloc(cells, sizeof *C) : NULL;
    if (variance && !C) return lth__fail_memory(err, cells * sizeof *C);
    lth_status status = covary(gp, ctx, rows, K, self, mean, C, err);
    for (size_t at = 0; variance && status == LTH_OK && at < rows * n; at++)
        variance[at] = fmax(C[at * n + at % n], 0);
    lth__free(C);
    return status;
}

/* Columns as rows. */
static void turn_back(size_t n, size_t rows, const double *X, double *to) {
    for (size_t r = 0; r < rows; r++) {
        for (size_t i = 0; i < n; i++) to[r * n + i] = X[i * rows + r];
    }
}

/* Of a class, by row: Y = F v k* and Z = S^-1 Y. `room` is for two blocks. */
static lth_status multiply_rows(const lth_gp *gp, const lth__matrix *F, const lth__matrix *S,
                                size_t rows, const double *K, double *room, double *Y, double *Z,
                                lth_error *err) {
    size_t n = gp->rows;
    double *X = room, *product = room + n * LTH__SOFTMAX_BLOCK;
    for (size_t first = 0; first < rows; first += LTH__SOFTMAX_BLOCK) {
        size_t left = rows - first, m = left < LTH__SOFTMAX_BLOCK ? left : LTH__SOFTMAX_BLOCK;
        turn(gp, m, K + first * n, X);
        LTH_TRY(F->table->multiply(F, m, X, product, err));
        turn_back(n, m, product, Y + first * n);
        LTH_TRY(S->table->multiply(S, m, product, X, err));
        turn_back(n, m, X, Z + first * n);
    }
    return LTH_OK;
}

/* C = k** - k*^T v F v k* + k*^T v F S^-1 F v k*, of each class by itself. */
static lth_status join_classes(const lth_gp *gp, lth_ctx *ctx, size_t rows, double *K, double *room,
                               double *C, lth_error *err) {
    const lth__site_model *s = gp->solution;
    size_t n = gp->rows;
    double *Y = room + 2 * n * LTH__SOFTMAX_BLOCK, *Z = Y + rows * n, *X = Z + rows * n;
    lth__matrix S = lth__matrix_on_host(ctx, n, s->sum);
    for (size_t at = 0; at < rows * n; at++)
        X[at] = (gp->known.weight ? sqrt(gp->known.weight[at % n]) : 1) * K[at];
    for (size_t c = 0; c < gp->latents; c++) {
        lth__matrix F = lth__matrix_on_host(ctx, n, s->L[c]);
        double *of = C + c * rows * rows;
        LTH_TRY(multiply_rows(gp, &F, &S, rows, K, room, Y, Z, err));
        LTH_TRY(lth__joint_add(ctx, rows, n, -1, X, Y, of, err));
        LTH_TRY(lth__joint_add(ctx, rows, n, 1, Y, Z, of, err));
        lth__joint_hold(rows, of);
    }
    return LTH_OK;
}

static lth_status join(const lth_gp *gp, lth_ctx *ctx, size_t rows, double *K, double *C,
                       lth_error *err) {
    size_t cells = gp->rows * (3 * rows + 2 * LTH__SOFTMAX_BLOCK);
    double *room = lth__alloc(cells, sizeof *room);
    if (!room) return lth__fail_memory(err, cells * sizeof *room);
    lth_status status = join_classes(gp, ctx, rows, K, room, C, err);
    lth__free(room);
    return status;
}

/* F of each class, and S^-1. */
static size_t settled_bytes(const lth_gp *gp) {
    size_t each = lth__packed_bytes(gp->rows, sizeof(double)), count = gp->latents + 1;
    return each > SIZE_MAX / count ? SIZE_MAX : count * each;
}

const lth__posterior lth__softmax_posterior = {.name = "laplace",
                                               .approximate = true,
                                               .open = lth__site_model_open,
                                               .free = lth__site_model_free,
                                               .bytes = lth__site_model_bytes,
                                               .settled_bytes = settled_bytes,
                                               .evidence = evidence,
                                               .carried = lth__site_model_carried,
                                               .settle = lth__site_model_settle,
                                               .ready = lth__site_model_ready,
                                               .predict = predict,
                                               .join = join,
                                               .covary = covary,
                                               .weigh = lth__site_model_weigh,
                                               .save = lth__site_model_save,
                                               .load = lth__site_model_load};
