/* The posterior for Gaussian noise, exact:
 *
 *     G = K + (noise + jitter) I = L L^T,  alpha = G^-1 y
 *     log evidence = sum over targets of -(y^T alpha)/2 - (log |G|)/2 - (N/2) log 2 pi
 *     its gradient = sum_ij W_ij dG_ij,  W = sum over targets of (alpha alpha^T - G^-1)/2
 *
 * Predictions are K* alpha with variance k** - |L^-1 k*|^2, and the prediction of row i from all
 * the others is known without another fit:
 *
 *     mean = y_i - alpha_i / (G^-1)_ii      variance = 1 / (G^-1)_ii
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/blas.h"
#include "model/gp/gp.h"
#include "model/posterior/joint.h"

typedef struct exact {
    double *alpha; /* rows x latents                                                         */
    double *L;     /* packed, once settled                                                   */
    lth__matrix G; /* while it learns, in one place: G, its factor, its inverse, the weights */
} exact;

static void release(void *solution) {
    exact *e = solution;
    if (!e) return;
    lth__matrix_free(&e->G);
    lth__free(e->alpha);
    lth__free(e->L);
    lth__free(e);
}

static lth_status open(lth_gp *gp, lth_error *err) {
    exact *e = gp->solution = lth__calloc(1, sizeof *e);
    if (!e) return lth__fail_memory(err, sizeof *e);
    e->alpha = lth__alloc(gp->rows * gp->latents, sizeof *e->alpha);
    return e->alpha ? LTH_OK : lth__fail_memory(err, gp->rows * gp->latents * sizeof *e->alpha);
}

static size_t bytes(const lth_gp *gp) {
    return lth__gp_matrix_bytes(gp);
}

/* One factor for all latent functions. */
static size_t settled_bytes(const lth_gp *gp) {
    return lth__packed_bytes(gp->rows, sizeof(double));
}

/* ---- Evidence ---- */

static lth_status solve(const lth_gp *gp, exact *e, double *fit, lth_error *err) {
    size_t n = gp->rows, t = gp->latents;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < t; k++) e->alpha[i * t + k] = gp->y[k * n + i];
    }
    LTH_TRY(e->G.table->solve(&e->G, t, e->alpha, err));
    *fit = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < t; k++) *fit += gp->y[k * n + i] * e->alpha[i * t + k];
    }
    return LTH_OK;
}

static lth_status differentiate(const lth_gp *gp, exact *e, lth__gram *gram, double *gradient,
                                lth_error *err) {
    double *by_noise = &gradient[gp->kernel->param_count];
    LTH_TRY(e->G.table->invert(&e->G, err));
    LTH_TRY(e->G.table->weigh(&e->G, gp->latents, e->alpha, err));
    LTH_TRY(lth__matrix_trace(&e->G, by_noise, err));
    lth__gp_warp_pull(gp, e->alpha, gp->latents, gradient);
    return lth__gp_pull(gp, gram, &e->G, NULL, gradient, err);
}

static lth_status evidence(lth_gp *gp, lth__gram *gram, double *out, double *gradient,
                           lth_error *err) {
    exact *e = gp->solution;
    size_t n = gp->rows, t = gp->latents;
    double log_determinant, fit;
    if (!e->G.table) e->G = lth__matrix_shared_beside(&gp->ctx, gram, n);
    LTH_TRY(lth__matrix_gram(&e->G, gram, err));
    LTH_TRY(lth__gp_prior_matrix(gp, gp->own[0], &e->G, err));
    LTH_TRY(e->G.table->factor(&e->G, &log_determinant, err));
    LTH_TRY(solve(gp, e, &fit, err));
    *out = -0.5 * fit - 0.5 * (double)t * log_determinant - 0.5 * (double)(n * t) * log(2 * M_PI);
    return gradient ? differentiate(gp, e, gram, gradient, err) : LTH_OK;
}

/* ---- Leave-one-out ---- */

static lth_status report_left_out(lth_gp *gp, lth_error *err) {
    const exact *e = gp->solution;
    size_t n = gp->rows;
    double *inverse = lth__alloc(3 * n, sizeof *inverse), *mean = inverse + n, *variance = mean + n;
    if (!inverse) return lth__fail_memory(err, 3 * n * sizeof *inverse);
    lth_status status = e->G.table->inverse_diagonal(&e->G, inverse, err);
    if (status == LTH_OK) {
        lth__gp_leave_out(gp, e->alpha, inverse, 0, mean, variance);
        status = lth__gp_report_left_out(gp, mean, variance, err);
    }
    lth__free(inverse);
    return status;
}

static lth_status settle(lth_gp *gp, lth_error *err) {
    exact *e = gp->solution;
    if (!gp->only_predicts) LTH_TRY(report_left_out(gp, err));
    lth__free(e->L);
    e->L = NULL;
    gp->at_first_rank = e->G.tiles != NULL;
    LTH_TRY(lth__matrix_take(&e->G, &e->L, err));
    e->G = (lth__matrix){0};
    gp->report.noise = lth__gp_noise(gp);
    return LTH_OK;
}

/* A factor from a file may be anything, but for its positive diagonal. */
static bool are_variances(const double *inverse, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (!(inverse[i] > 0 && isfinite(inverse[i]))) return false;
    }
    return true;
}

static lth_status leave_one_out(const lth_gp *gp, size_t target, double *mean, double *variance,
                                lth_error *err) {
    const exact *e = gp->solution;
    lth_ctx ctx = gp->ctx;
    size_t n = gp->rows;
    if (!e->L) return lth__fail(err, LTH_EUNSUPPORTED, "the first rank has the model's factor");
    lth__matrix L = lth__matrix_on_host(&ctx, n, e->L);
    double *inverse = lth__alloc(n, sizeof *inverse);
    lth_status status = inverse ? LTH_OK : lth__fail_memory(err, n * sizeof *inverse);
    if (status == LTH_OK) status = L.table->inverse_diagonal(&L, inverse, err);
    if (status == LTH_OK && !are_variances(inverse, n))
        status = lth__fail(err, LTH_ENUMERIC, "the model's matrix has no inverse");
    if (status == LTH_OK) lth__gp_leave_out(gp, e->alpha, inverse, target, mean, variance);
    lth__free(inverse);
    return status;
}

/* ---- Predictions ---- */

static lth_status predict(const lth_gp *gp, lth_ctx *ctx, size_t rows, double *K,
                          const double *self, double *mean, double *variance, lth_error *err) {
    const exact *e = gp->solution;
    const lth__blas *blas;
    size_t n = gp->rows, t = gp->latents;
    LTH_TRY(lth__blas_get(&blas, err));
    blas->gemm_nn(rows, t, n, 1, K, n, e->alpha, t, 0, mean, t);
    if (!variance) return LTH_OK;
    LTH_TRY(lth__gp_variances(ctx, n, e->L, rows, K, self, variance, t, err));
    for (size_t r = 0; r < rows; r++) {
        for (size_t k = 1; k < t; k++) variance[r * t + k] = variance[r * t];
    }
    return LTH_OK;
}

/* Of all latent functions the same. */
static lth_status join(const lth_gp *gp, lth_ctx *ctx, size_t rows, double *K, double *C,
                       lth_error *err) {
    const exact *e = gp->solution;
    LTH_TRY(lth__joint_whiten(ctx, gp->rows, e->L, rows, K, err));
    LTH_TRY(lth__joint_add(ctx, rows, gp->rows, -1, K, K, C, err));
    lth__joint_hold(rows, C);
    for (size_t i = 1; i < gp->latents; i++)
        memcpy(C + i * rows * rows, C, rows * rows * sizeof *C);
    return LTH_OK;
}

static void weigh(const lth_gp *gp, size_t i, double *w) {
    const exact *e = gp->solution;
    for (size_t r = 0; r < gp->rows; r++) w[r] = e->alpha[r * gp->latents + i];
}

/* ---- In a file ---- */

/* From one layout of rows x cols numbers to the other. */
static void transpose(const double *from, size_t rows, size_t cols, double *to) {
    for (size_t r = 0; r < rows; r++) {
        for (size_t c = 0; c < cols; c++) to[c * rows + r] = from[r * cols + c];
    }
}

enum { NAME = 32 };

static void name_part(const char *name, const char *part, char out[NAME]) {
    snprintf(out, NAME, "%.16s.%.8s", name, part);
}

static bool is_factor_row(const double *row, size_t i) {
    bool good = row[i] > 0;
    for (size_t j = 0; j <= i; j++) good = good && isfinite(row[j]);
    return good;
}

/* What is above the diagonal means nothing, and may be anything. */
void lth__factor_save(lth__saver *s, const char *name, size_t n, const double *L) {
    char key[NAME];
    uint32_t *height = lth__saver_keep(s, lth__alloc(1, sizeof *height));
    s->ok = s->ok && height;
    if (!s->ok) return;
    lth__packed layout = lth__packed_layout(n);
    *height = (uint32_t)lth__packed_height(&layout);
    name_part(name, "height", key);
    lth__saver_put(s, key, LTH__U32, 1, 0, height);
    name_part(name, "packed", key);
    lth__saver_put_gaps(s, key, lth__packed_count(n), 0, L);
    for (size_t i = 0; s->ok && i < n; i++)
        if (!is_factor_row(L + lth__packed_row(&layout, i), i)) lth__saver_damage(s, key);
}

static void save(const lth_gp *gp, lth__saver *s) {
    const exact *e = gp->solution;
    size_t n = gp->rows, t = gp->latents;
    double *y = lth__saver_keep(s, lth__alloc(n * t, sizeof *y));
    s->ok = s->ok && y;
    if (!s->ok) return;
    transpose(gp->y, t, n, y);
    lth__saver_put(s, "y", LTH__F64, n, t, y);
    lth__saver_put(s, "alpha", LTH__F64, n, t, e->alpha);
    lth__factor_save(s, "factor", n, e->L);
}

/* Row i of the file's factor, which is packed in panels of some height, or whole. */
static lth_status find_factor(const lth__loader *l, const char *name, size_t n, lth__packed *out) {
    const lth__tensor *t, *height;
    char packed[NAME], key[NAME];
    name_part(name, "packed", packed);
    name_part(name, "height", key);
    *out = (lth__packed){.n = n, .ld = n};
    if (lth__tensors_find(l->file, packed)) {
        LTH_TRY(lth__loader_get(l, key, LTH__U32, 1, 1, 0, &height));
        uint32_t rows = *(const uint32_t *)height->data;
        if (rows == 0 || (rows & (rows - 1)) != 0) return lth__loader_damaged(l, key);
        *out = (lth__packed){.n = n, .shift = (unsigned)__builtin_ctz(rows)};
        LTH_TRY(lth__loader_get_gaps(l, packed, 1, lth__packed_row(out, n - 1) + n, 0, &t));
    } else { /* as 0.1.0 wrote it */
        LTH_TRY(lth__loader_get_gaps(l, name, 2, n, n, &t));
    }
    out->cells = (double *)t->data;
    return LTH_OK;
}

lth_status lth__factor_load(const lth__loader *l, const char *name, size_t n, double **out) {
    lth__packed from, to = lth__packed_layout(n);
    LTH_TRY(find_factor(l, name, n, &from));
    to.cells = *out = lth__calloc(lth__packed_count(to.n), sizeof *to.cells);
    if (!to.cells) return lth__fail_memory(l->err, lth__packed_bytes(to.n, sizeof *to.cells));
    for (size_t i = 0; i < to.n; i++) {
        const double *row = from.cells + lth__packed_row(&from, i);
        if (!is_factor_row(row, i)) return lth__loader_damaged(l, name);
        memcpy(to.cells + lth__packed_row(&to, i), row, (i + 1) * sizeof *row);
    }
    return LTH_OK;
}

static lth_status load(lth_gp *gp, const lth__loader *l) {
    const lth__tensor *y, *t;
    gp->latents = gp->target_count;
    LTH_TRY(lth__loader_get(l, "y", LTH__F64, 2, LTH_NONE, gp->latents, &y));
    gp->rows = y->shape[0];
    if (gp->rows == 0) return lth__loader_damaged(l, "it has no training rows");
    LTH_TRY(lth__loader_copy(l, y, &gp->y));
    transpose(y->data, gp->rows, gp->latents, gp->y);
    exact *e = gp->solution = lth__calloc(1, sizeof *e);
    if (!e) return lth__fail_memory(l->err, sizeof *e);
    LTH_TRY(lth__loader_get(l, "alpha", LTH__F64, 2, gp->rows, gp->latents, &t));
    LTH_TRY(lth__loader_copy(l, t, &e->alpha));
    return lth__factor_load(l, "factor", gp->rows, &e->L);
}

const lth__posterior lth__exact = {.name = "exact",
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
