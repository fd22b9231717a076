#include "model/posterior/site_model.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "data/table.h"
#include "engine/blas.h"
#include "model/gp/gp_sharpness.h"
#include "model/posterior/joint.h"
#include "model/posterior/noise.h"
#include "model/posterior/site_factor.h"

typedef lth__site_model solution;

static void free_matrices(solution *s) {
    for (size_t i = 0; s->F && i < s->latents; i++) lth__matrix_free(&s->F[i]);
    lth__free(s->F);
    s->F = NULL;
    lth__matrix_free(&s->K);
    lth__matrix_free(&s->M);
    lth__matrix_free(&s->B);
    s->K = s->M = s->B = (lth__matrix){0};
}

static void free_factors(solution *s) {
    for (size_t i = 0; s->L && i < s->latents; i++) lth__free(s->L[i]);
    for (size_t i = 0; s->Q && i < s->latents; i++) lth__free(s->Q[i]);
    lth__free(s->L);
    lth__free(s->Q);
    lth__free(s->negative);
    lth__free(s->sum);
    s->L = s->Q = NULL;
    s->sum = NULL;
    s->negative = NULL;
}

void lth__site_model_free(void *p) {
    solution *s = p;
    if (!s) return;
    free_matrices(s);
    free_factors(s);
    pthread_mutex_destroy(&s->lock);
    lth__free(s->a);
    lth__free(s->f);
    lth__free(s->root_w);
    lth__free(s->without);
    lth__free(s->sites);
    lth__noise_free(s->noise);
    lth__free(s);
}

static solution *create(size_t latents) {
    solution *s = lth__calloc(1, sizeof *s);
    if (!s) return NULL;
    s->latents = latents;
    pthread_mutex_init(&s->lock, NULL);
    return s;
}

lth_status lth__site_model_open(lth_gp *gp, lth_error *err) {
    size_t cells = gp->latents * gp->rows;
    solution *s = gp->solution = create(gp->latents);
    if (!s) return lth__fail_memory(err, sizeof *s);
    s->a = lth__calloc(cells, sizeof *s->a);
    s->f = lth__calloc(cells, sizeof *s->f);
    s->root_w = lth__calloc(cells, sizeof *s->root_w);
    return s->a && s->f && s->root_w ? LTH_OK : lth__fail_memory(err, 3 * cells * sizeof *s->a);
}

/* Three while it learns, and one more for each latent function where they are coupled; then the
 * covariances and a factor for each latent function. */
static size_t bytes_of(const lth_gp *gp, size_t each) {
    size_t count = gp->latents > 2 ? gp->latents + 1 : 3;
    if (gp->likelihood->coupled) count = gp->latents + 3;
    return each > SIZE_MAX / count ? SIZE_MAX : count * each;
}

size_t lth__site_model_bytes(const lth_gp *gp) {
    return bytes_of(gp, lth__gp_matrix_bytes(gp));
}

double *lth__site_model_carried(const lth_gp *gp, size_t *count) {
    const solution *s = gp->solution;
    *count = gp->latents * gp->rows;
    return s->a;
}

/* ---- Evidence ---- */

lth_status lth__site_model_begin(const lth_gp *gp, lth__gram *gram, bool learns, lth_error *err) {
    solution *s = gp->solution;
    lth_ctx *ctx = (lth_ctx *)&gp->ctx;
    if (!s->K.table) s->K = s->M = s->B = lth__matrix_shared_beside(ctx, gram, gp->rows);
    LTH_TRY(lth__matrix_gram(&s->K, gram, err));
    LTH_TRY(lth__gp_prior_matrix(gp, 0, &s->K, err));
    if (!learns) return LTH_OK;
    LTH_TRY(s->M.table->reserve(&s->M, err));
    return s->M.table->fill(&s->M, 0, err);
}

lth_status lth__site_model_evidence(lth_gp *gp, lth__gram *gram, lth__site_evidence_fn *one,
                                    double *out, double *gradient, lth_error *err) {
    solution *s = gp->solution;
    double *by_params = gradient ? gradient + gp->kernel->param_count : NULL, sum = 0, part = 0;
    LTH_TRY(lth__site_model_begin(gp, gram, gradient != NULL, err));
    for (size_t i = 0; i < (gp->likelihood->coupled ? 1 : gp->latents); i++) {
        LTH_TRY(one(gp, i, &part, by_params, err));
        sum += part;
    }
    *out = sum;
    return gradient ? lth__gp_pull(gp, gram, &s->M, &s->K, gradient, err) : LTH_OK;
}

/* ---- Factors ---- */

/* f = K a, and what its variance is without the row's own site. */
static lth_status measure(const lth_gp *gp, const lth__matrix *K, const lth__site_factor *by,
                          size_t i, lth_error *err) {
    const solution *s = gp->solution;
    size_t n = gp->rows, at = i * n;
    double *left = lth__alloc(n, sizeof *left), *variance = s->without + at;
    lth_status status = left ? LTH_OK : lth__fail_memory(err, n * sizeof *left);
    if (status == LTH_OK) status = K->table->multiply(K, 1, s->a + at, s->f + at, err);
    if (status == LTH_OK)
        status = lth__site_factor_variances(by, K, s->root_w + at, variance, left, err);
    for (size_t r = 0; r < n && status == LTH_OK; r++) variance[r] /= left[r];
    lth__free(left);
    return status;
}

/* Of latent function i, from the covariances and W. Where ranks hold the matrix together, each
 * makes factors of its own when it needs them. */
static lth_status factor(const lth_gp *gp, const lth__matrix *K, size_t i, lth_error *err) {
    const solution *s = gp->solution;
    lth__matrix B = *K;
    lth__site_factor by = {.L = &B};
    B.cells = NULL; /* its own, where K is */
    B.tiles = NULL;
    lth_status status = lth__site_factor_make(&by, K, s->root_w + i * gp->rows, err);
    if (status == LTH_ENUMERIC)
        status = lth__fail(err, status, "the kernel matrix is not positive definite");
    if (status == LTH_OK && s->without) status = measure(gp, K, &by, i, err);
    if (status == LTH_OK && !K->tiles) {
        s->negative[i] = by.count;
        s->Q[i] = by.Q;
        by.Q = NULL;
        status = lth__matrix_take(&B, &s->L[i], err);
    }
    lth__site_factor_free(&by);
    lth__matrix_free(&B);
    return status;
}

static lth_status factor_each(const lth_gp *gp, const lth__matrix *K, lth_error *err) {
    solution *s = gp->solution;
    size_t cells = gp->latents * gp->rows;
    s->L = lth__calloc(gp->latents, sizeof *s->L);
    s->Q = lth__calloc(gp->latents, sizeof *s->Q);
    s->negative = lth__calloc(gp->latents, sizeof *s->negative);
    if (!gp->classes && !s->without) s->without = lth__calloc(cells, sizeof *s->without);
    bool ok = s->L && s->Q && s->negative && (gp->classes || s->without);
    lth_status status = ok ? LTH_OK : lth__fail_memory(err, cells * sizeof *s->without);
    if (status == LTH_OK && gp->likelihood->coupled) status = lth__softmax_keep(gp, K, err);
    for (size_t i = 0; i < gp->latents && status == LTH_OK && !gp->likelihood->coupled; i++)
        status = factor(gp, K, i, err);
    if (status != LTH_OK || K->tiles) free_factors(s);
    return status;
}

/* ---- Leave-one-out ---- */

static void leave_out(const lth_gp *gp, size_t i, double *mean, double *variance) {
    const solution *s = gp->solution;
    for (size_t r = 0; r < gp->rows; r++) {
        size_t at = i * gp->rows + r;
        mean[r] = s->f[at] - s->a[at] * s->without[at];
        variance[r] = s->without[at];
    }
}

static lth_status report_left_out(lth_gp *gp, lth_error *err) {
    double *mean = lth__alloc(2 * gp->rows, sizeof *mean), *variance = mean + gp->rows;
    if (!mean) return lth__fail_memory(err, 2 * gp->rows * sizeof *mean);
    leave_out(gp, 0, mean, variance);
    lth_status status = lth__gp_report_left_out(gp, mean, variance, err);
    lth__free(mean);
    return status;
}

/* ---- How sharp labels are ---- */

/* Room for v', or of coupled latents for f of each row from all the others: [row][latent] means,
 * then [row][latent][latent] covariances. */
static lth_status make_room_without(const lth_gp *gp, lth_error *err) {
    solution *s = gp->solution;
    size_t cells = gp->rows * gp->latents;
    if (gp->likelihood->coupled) cells += gp->rows * lth__gp_spreads(gp);
    s->without = lth__calloc(cells, sizeof *s->without);
    return s->without ? LTH_OK : lth__fail_memory(err, cells * sizeof *s->without);
}

/* By [row][latent]. */
static lth_status sharpen_apart(lth_gp *gp, lth_error *err) {
    size_t n = gp->rows, cells = n * gp->latents;
    double *mean = lth__alloc(2 * (cells + n), sizeof *mean), *variance = mean + cells;
    double *of = variance + cells; /* one latent function, [mean, variance][row] */
    if (!mean) return lth__fail_memory(err, 2 * (cells + n) * sizeof *mean);
    for (size_t i = 0; i < gp->latents; i++) {
        leave_out(gp, i, of, of + n);
        for (size_t r = 0; r < n; r++) {
            mean[r * gp->latents + i] = of[r];
            variance[r * gp->latents + i] = of[n + r];
        }
    }
    lth_status status = lth__gp_learn_sharpness(gp, mean, variance, err);
    lth__free(mean);
    return status;
}

static lth_status learn_sharpness(lth_gp *gp, lth_error *err) {
    solution *s = gp->solution;
    size_t cells = gp->rows * gp->latents;
    lth_status status = gp->likelihood->coupled
                            ? lth__gp_learn_sharpness(gp, s->without, s->without + cells, err)
                            : sharpen_apart(gp, err);
    lth__free(s->without);
    s->without = NULL;
    return status;
}

/* While it learned, one latent function's factor made way for the next one's. */
lth_status lth__site_model_settle(lth_gp *gp, lth_error *err) {
    solution *s = gp->solution;
    free_factors(s);
    lth__matrix_free(&s->M);
    lth__matrix_free(&s->B);
    for (size_t i = 0; s->F && i < s->latents; i++) lth__matrix_free(&s->F[i]);
    bool sharpens = lth__gp_learns_sharpness(gp);
    bool later = s->K.tiles && gp->classes && !sharpens; /* nothing is to be measured */
    lth_status status = sharpens ? make_room_without(gp, err) : LTH_OK;
    if (status == LTH_OK && !later) status = factor_each(gp, &s->K, err);
    free_matrices(s);
    lth__free(s->sites);
    s->sites = NULL;
    gp->report.noise = lth__gp_noise(gp);
    if (status == LTH_OK && sharpens) status = learn_sharpness(gp, err);
    bool reports = !gp->classes && !gp->only_predicts;
    return status == LTH_OK && reports ? report_left_out(gp, err) : status;
}

/* ---- Factors of a model from a file ---- */

static lth_status factor_rows(const lth_gp *gp, const lth_items *rows, lth_error *err) {
    lth_ctx ctx = gp->ctx;
    lth__gram *gram;
    LTH_TRY(lth__gram_create(gp->kernel, rows, NULL, &gram, err));
    lth__gram_keep_nothing(gram);
    lth__matrix K = lth__matrix_beside(&ctx, gram, gp->rows);
    lth_status status = lth__matrix_gram(&K, gram, err);
    if (status == LTH_OK) status = lth__gp_prior_matrix(gp, 0, &K, err);
    if (status == LTH_OK) status = factor_each(gp, &K, err);
    lth__matrix_free(&K);
    lth__gram_free(gram);
    return status;
}

/* Of a model from a file: with the context of a call, since other threads read the model's. */
static lth_status make_factors(const lth_gp *gp, lth_error *err) {
    lth_encoder *extension;
    size_t whole = lth__packed_bytes(gp->rows, sizeof(double)); /* in every rank */
    LTH_TRY(lth__memory_check(bytes_of(gp, whole), "a model of that many rows",
                              "use a machine with more memory", err));
    LTH_TRY(lth__encoder_extend(gp->encoder, &extension, err));
    lth_items rows = *gp->items;
    rows.encoder = extension;
    lth_status status = factor_rows(gp, &rows, err);
    lth_encoder_free(extension);
    return status;
}

/* Made once, by whichever thread comes first: a model that is only looked at needs none. */
lth_status lth__site_model_ready(const lth_gp *gp, lth_error *err) {
    solution *s = gp->solution;
    lth_status status = LTH_OK;
    pthread_mutex_lock(&s->lock);
    if (!s->L) status = make_factors(gp, err);
    pthread_mutex_unlock(&s->lock);
    return status;
}

lth_status lth__site_model_leave_one_out(const lth_gp *gp, size_t target, double *mean,
                                         double *variance, lth_error *err) {
    LTH_TRY(lth__site_model_ready(gp, err));
    leave_out(gp, target, mean, variance);
    return LTH_OK;
}

/* ---- Predictions ---- */

/* variance += |Q^T k|^2. */
static lth_status add_negative(const lth_gp *gp, size_t i, size_t rows, const double *K,
                               double *variance, lth_error *err) {
    const solution *s = gp->solution;
    const lth__blas *blas;
    size_t m = s->negative[i];
    if (m == 0) return LTH_OK;
    LTH_TRY(lth__blas_get(&blas, err));
    double *V = lth__alloc(rows * m, sizeof *V);
    if (!V) return lth__fail_memory(err, rows * m * sizeof *V);
    blas->gemm_nn(rows, m, gp->rows, 1, K, gp->rows, s->Q[i], m, 0, V, m);
    for (size_t r = 0; r < rows; r++) {
        for (size_t c = 0; c < m; c++) variance[r * gp->latents] += V[r * m + c] * V[r * m + c];
    }
    lth__free(V);
    return LTH_OK;
}

static lth_status predict_latent(const lth_gp *gp, lth_ctx *ctx, size_t i, size_t rows,
                                 const double *K, const double *self, double *V, double *mean,
                                 double *variance, lth_error *err) {
    const solution *s = gp->solution;
    size_t n = gp->rows;
    const double *a = s->a + i * n, *root_w = s->root_w + i * n;
    for (size_t r = 0; r < rows; r++) {
        double sum = 0;
        for (size_t k = 0; k < n; k++) {
            V[r * n + k] = fmax(root_w[k], 0) * K[r * n + k];
            sum += K[r * n + k] * a[k];
        }
        mean[r * gp->latents + i] = sum;
    }
    if (!variance) return LTH_OK;
    LTH_TRY(lth__gp_variances(ctx, n, s->L[i], rows, V, self, variance + i, gp->latents, err));
    return add_negative(gp, i, rows, K, variance + i, err);
}

lth_status lth__site_model_predict(const lth_gp *gp, lth_ctx *ctx, size_t rows, double *K,
                                   const double *self, double *mean, double *variance,
                                   lth_error *err) {
    double *V = lth__alloc(rows * gp->rows, sizeof *V);
    if (!V) return lth__fail_memory(err, rows * gp->rows * sizeof *V);
    lth_status status = LTH_OK;
    for (size_t i = 0; i < gp->latents && status == LTH_OK; i++)
        status = predict_latent(gp, ctx, i, rows, K, self, V, mean, variance, err);
    lth__free(V);
    return status;
}

/* C += K Q Q^T K^T, of sites that take precision away. */
static lth_status join_negative(const lth_gp *gp, lth_ctx *ctx, size_t i, size_t rows,
                                const double *K, double *U, double *C, lth_error *err) {
    const solution *s = gp->solution;
    const lth__blas *blas;
    size_t m = s->negative[i]; /* no more than rows that are kept */
    if (m == 0) return LTH_OK;
    LTH_TRY(lth__blas_get(&blas, err));
    blas->gemm_nn(rows, m, gp->rows, 1, K, gp->rows, s->Q[i], m, 0, U, m);
    return lth__joint_add(ctx, rows, m, 1, U, U, C, err);
}

static lth_status join_latent(const lth_gp *gp, lth_ctx *ctx, size_t i, size_t rows,
                              const double *K, double *V, double *C, lth_error *err) {
    const solution *s = gp->solution;
    size_t n = gp->rows;
    const double *root_w = s->root_w + i * n;
    for (size_t at = 0; at < rows * n; at++) V[at] = fmax(root_w[at % n], 0) * K[at];
    LTH_TRY(lth__joint_whiten(ctx, n, s->L[i], rows, V, err));
    LTH_TRY(lth__joint_add(ctx, rows, n, -1, V, V, C, err));
    lth__joint_hold(rows, C);
    return join_negative(gp, ctx, i, rows, K, V, C, err);
}

lth_status lth__site_model_join(const lth_gp *gp, lth_ctx *ctx, size_t rows, double *K, double *C,
                                lth_error *err) {
    double *V = lth__alloc(rows * gp->rows, sizeof *V);
    if (!V) return lth__fail_memory(err, rows * gp->rows * sizeof *V);
    lth_status status = LTH_OK;
    for (size_t i = 0; i < gp->latents && status == LTH_OK; i++)
        status = join_latent(gp, ctx, i, rows, K, V, C + i * rows * rows, err);
    lth__free(V);
    return status;
}

void lth__site_model_weigh(const lth_gp *gp, size_t i, double *w) {
    const solution *s = gp->solution;
    memcpy(w, s->a + i * gp->rows, gp->rows * sizeof *w);
}

/* ---- In a file ---- */

void lth__site_model_save(const lth_gp *gp, lth__saver *s) {
    const solution *of = gp->solution;
    lth__saver_put(s, "y", LTH__F64, gp->latents, gp->rows, gp->y);
    lth__saver_put(s, "alpha", LTH__F64, gp->latents, gp->rows, of->a);
    lth__saver_put(s, "root_w", LTH__F64, gp->latents, gp->rows, of->root_w);
}

/* Numbers of each latent function and row, up to `most`: what sites of labels come to that count
 * once. Others may be in any units. */
static lth_status load_array(const lth_gp *gp, const lth__loader *l, const char *name, double least,
                             double most, double **out) {
    const lth__tensor *t;
    LTH_TRY(lth__loader_get(l, name, LTH__F64, 2, gp->latents, gp->rows, &t));
    LTH_TRY(lth__loader_copy(l, t, out));
    for (size_t i = 0; i < gp->latents * gp->rows; i++) {
        if ((*out)[i] < least || (*out)[i] > most) return lth__loader_damaged(l, name);
    }
    return LTH_OK;
}

lth_status lth__site_model_load(lth_gp *gp, const lth__loader *l) {
    const lth__tensor *t;
    LTH_TRY(lth__loader_get(l, "y", LTH__F64, 2, gp->latents, LTH_NONE, &t));
    gp->rows = t->shape[1];
    if (gp->rows == 0) return lth__loader_damaged(l, "its training rows");
    double most = gp->classes ? 1 : LTH__MOST_NUMBER;
    LTH_TRY(load_array(gp, l, "y", -most, most, &gp->y));
    if (gp->grades && !lth__gp_are_grades(gp)) return lth__loader_damaged(l, "y");
    return lth__site_model_load_sites(gp, l, "alpha", "root_w");
}

lth_status lth__site_model_load_sites(lth_gp *gp, const lth__loader *l, const char *alpha,
                                      const char *root_w) {
    bool labels = gp->classes && !gp->weights;
    double most = labels ? 1e6 : DBL_MAX, root = labels ? 1.001 : DBL_MAX;
    solution *s = gp->solution = create(gp->latents);
    if (!s) return lth__fail_memory(l->err, sizeof *s);
    s->f = lth__calloc(gp->latents * gp->rows, sizeof *s->f);
    if (!s->f) return lth__fail_memory(l->err, 0);
    LTH_TRY(load_array(gp, l, alpha, -most, most, &s->a));
    return load_array(gp, l, root_w, gp->classes ? 0 : -root, root, &s->root_w);
}
