/* The posterior for likelihoods that are not Gaussian, by Laplace's approximation (laplace.h), for
 * each latent function by itself. At a new row
 *
 *     mean of f = K* a      variance = k** - |L^-1 W^1/2 k*|^2
 */
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "model/gp/gp.h"
#include "model/gp/laplace.h"

typedef struct solution {
    double *a, *f, *root_w; /* [latent][row]                                                */
    double **L; /* by latent, packed, once settled; of a model from a file when first asked */
    pthread_mutex_t lock; /* of L                                                           */
    lth__matrix K, M, B;  /* while it learns: covariances, weights; one latent's B          */
    size_t latents;
} solution;

static void free_matrices(solution *s) {
    lth__matrix_free(&s->K);
    lth__matrix_free(&s->M);
    lth__matrix_free(&s->B);
    s->K = s->M = s->B = (lth__matrix){0};
}

static void free_factors(solution *s) {
    for (size_t i = 0; s->L && i < s->latents; i++) lth__free(s->L[i]);
    lth__free(s->L);
    s->L = NULL;
}

static void release(void *p) {
    solution *s = p;
    if (!s) return;
    free_matrices(s);
    free_factors(s);
    pthread_mutex_destroy(&s->lock);
    lth__free(s->a);
    lth__free(s->f);
    lth__free(s->root_w);
    lth__free(s);
}

static solution *create(size_t latents) {
    solution *s = lth__calloc(1, sizeof *s);
    if (!s) return NULL;
    s->latents = latents;
    pthread_mutex_init(&s->lock, NULL);
    return s;
}

static lth_status open(lth_gp *gp, lth_error *err) {
    size_t cells = gp->latents * gp->rows;
    solution *s = gp->solution = create(gp->latents);
    if (!s) return lth__fail_memory(err, sizeof *s);
    s->a = lth__calloc(cells, sizeof *s->a);
    s->f = lth__calloc(cells, sizeof *s->f);
    s->root_w = lth__calloc(cells, sizeof *s->root_w);
    return s->a && s->f && s->root_w ? LTH_OK : lth__fail_memory(err, 3 * cells * sizeof *s->a);
}

/* Three while it learns; then the covariances and a factor for each latent function. */
static size_t bytes_of(const lth_gp *gp, size_t each) {
    size_t count = gp->latents > 2 ? gp->latents + 1 : 3;
    return each > SIZE_MAX / count ? SIZE_MAX : count * each;
}

static size_t bytes(const lth_gp *gp) {
    return bytes_of(gp, lth__gp_matrix_bytes(gp));
}

/* ---- Evidence ---- */

/* The search for the mode begins where it ended last, if that was anywhere. */
static void forget_unless_finite(double *a, size_t n) {
    bool finite = true;
    for (size_t i = 0; i < n; i++) finite &= isfinite(a[i]) != 0;
    if (!finite) memset(a, 0, n * sizeof *a);
}

static double *carried(const lth_gp *gp, size_t *count) {
    const solution *s = gp->solution;
    *count = gp->latents * gp->rows;
    return s->a;
}

static lth_status evidence(lth_gp *gp, lth__gram *gram, double *out, double *gradient,
                           lth_error *err) {
    solution *s = gp->solution;
    size_t n = gp->rows;
    double sum = 0;
    if (!s->K.table) s->K = s->M = s->B = lth__matrix_shared_beside(&gp->ctx, gram, n);
    LTH_TRY(lth__matrix_gram(&s->K, gram, err));
    LTH_TRY(lth__gp_prior_matrix(gp, 0, &s->K, err));
    if (gradient) {
        LTH_TRY(s->M.table->reserve(&s->M, err));
        LTH_TRY(s->M.table->fill(&s->M, 0, err));
    }
    for (size_t i = 0; i < gp->latents; i++) {
        lth__laplace l = {.seen = lth__gp_seen(gp, i),
                          .a = s->a + i * n,
                          .f = s->f + i * n,
                          .root_w = s->root_w + i * n,
                          .L = &s->B};
        forget_unless_finite(l.a, n);
        LTH_TRY(lth__laplace_mode(&l, &s->K, err));
        double *by_params = gradient + gp->kernel->param_count;
        if (gradient) LTH_TRY(lth__laplace_weights(&l, &s->K, &s->M, by_params, err));
        sum += l.evidence;
    }
    *out = sum;
    return gradient ? lth__gp_pull(gp, gram, &s->M, &s->K, gradient, err) : LTH_OK;
}

/* ---- Factors ---- */

/* Of B, from the covariances and W. */
static lth_status factor(const lth_gp *gp, const lth__matrix *K, size_t i, double **out,
                         lth_error *err) {
    const solution *s = gp->solution;
    lth__matrix B = *K;
    double log_determinant;
    B.cells = NULL;
    lth_status status = K->table->sandwich(K, s->root_w + i * gp->rows, &B, err);
    if (status == LTH_OK) status = B.table->factor(&B, &log_determinant, err);
    if (status == LTH_ENUMERIC)
        status = lth__fail(err, status, "the kernel matrix is not positive definite");
    if (status == LTH_OK) status = lth__matrix_take(&B, out, err);
    lth__matrix_free(&B);
    return status;
}

static lth_status factor_each(const lth_gp *gp, const lth__matrix *K, lth_error *err) {
    solution *s = gp->solution;
    s->L = lth__calloc(gp->latents, sizeof *s->L);
    lth_status status = s->L ? LTH_OK : lth__fail_memory(err, gp->latents * sizeof *s->L);
    for (size_t i = 0; i < gp->latents && status == LTH_OK; i++)
        status = factor(gp, K, i, &s->L[i], err);
    if (status != LTH_OK) free_factors(s);
    return status;
}

/* While it learned, one latent function's factor made way for the next one's. */
static lth_status settle(lth_gp *gp, lth_error *err) {
    solution *s = gp->solution;
    free_factors(s);
    lth__matrix_free(&s->M);
    lth__matrix_free(&s->B);
    /* Where ranks hold the matrix together, factors are made when they are needed. */
    lth_status status = s->K.tiles ? LTH_OK : factor_each(gp, &s->K, err);
    free_matrices(s);
    return status;
}

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
    LTH_TRY(lth__memory_check(bytes_of(gp, whole), "a classifier of that many rows",
                              "use a machine with more memory", err));
    LTH_TRY(lth__encoder_extend(gp->encoder, &extension, err));
    lth_items rows = *gp->items;
    rows.encoder = extension;
    lth_status status = factor_rows(gp, &rows, err);
    lth_encoder_free(extension);
    return status;
}

/* Made once, by whichever thread comes first: a model that is only looked at needs none. */
static lth_status need_factors(const lth_gp *gp, lth_error *err) {
    solution *s = gp->solution;
    lth_status status = LTH_OK;
    pthread_mutex_lock(&s->lock);
    if (!s->L) status = make_factors(gp, err);
    pthread_mutex_unlock(&s->lock);
    return status;
}

/* ---- Predictions ---- */

static lth_status predict_latent(const lth_gp *gp, lth_ctx *ctx, size_t i, size_t rows,
                                 const double *K, const double *self, double *V, double *mean,
                                 double *variance, lth_error *err) {
    const solution *s = gp->solution;
    size_t n = gp->rows;
    const double *a = s->a + i * n, *root_w = s->root_w + i * n;
    for (size_t r = 0; r < rows; r++) {
        double sum = 0;
        for (size_t k = 0; k < n; k++) {
            V[r * n + k] = root_w[k] * K[r * n + k];
            sum += K[r * n + k] * a[k];
        }
        mean[r * gp->latents + i] = sum;
    }
    if (!variance) return LTH_OK;
    return lth__gp_variances(ctx, n, s->L[i], rows, V, self, variance + i, gp->latents, err);
}

static lth_status predict(const lth_gp *gp, lth_ctx *ctx, size_t rows, double *K,
                          const double *self, double *mean, double *variance, lth_error *err) {
    double *V = lth__alloc(rows * gp->rows, sizeof *V);
    if (!V) return lth__fail_memory(err, rows * gp->rows * sizeof *V);
    lth_status status = LTH_OK;
    for (size_t i = 0; i < gp->latents && status == LTH_OK; i++)
        status = predict_latent(gp, ctx, i, rows, K, self, V, mean, variance, err);
    lth__free(V);
    return status;
}

static void weigh(const lth_gp *gp, size_t i, double *w) {
    const solution *s = gp->solution;
    memcpy(w, s->a + i * gp->rows, gp->rows * sizeof *w);
}

/* ---- In a file ---- */

static void save(const lth_gp *gp, lth__saver *s) {
    const solution *of = gp->solution;
    lth__saver_put(s, "y", LTH__F64, gp->latents, gp->rows, gp->y);
    lth__saver_put(s, "alpha", LTH__F64, gp->latents, gp->rows, of->a);
    lth__saver_put(s, "root_w", LTH__F64, gp->latents, gp->rows, of->root_w);
}

/* Numbers of each latent function and row, within what Laplace's approximation can come to. */
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

static lth_status load(lth_gp *gp, const lth__loader *l) {
    const lth__tensor *t;
    LTH_TRY(lth__loader_get(l, "y", LTH__F64, 2, gp->latents, LTH_NONE, &t));
    gp->rows = t->shape[1];
    if (gp->rows == 0) return lth__loader_damaged(l, "its training rows");
    double most = gp->classes ? 1 : 1e15;
    LTH_TRY(load_array(gp, l, "y", -most, most, &gp->y));
    if (gp->grades && !lth__gp_are_grades(gp)) return lth__loader_damaged(l, "y");
    solution *s = gp->solution = create(gp->latents);
    if (!s) return lth__fail_memory(l->err, sizeof *s);
    s->f = lth__calloc(gp->latents * gp->rows, sizeof *s->f);
    if (!s->f) return lth__fail_memory(l->err, 0);
    LTH_TRY(
        load_array(gp, l, "alpha", gp->classes ? -1e6 : -1e15, gp->classes ? 1e6 : 1e15, &s->a));
    return load_array(gp, l, "root_w", 0, gp->classes && !gp->weights ? 1.001 : 1e9, &s->root_w);
}

const lth__posterior lth__laplace_posterior = {.name = "laplace",
                                               .approximate = true,
                                               .open = open,
                                               .free = release,
                                               .bytes = bytes,
                                               .evidence = evidence,
                                               .carried = carried,
                                               .settle = settle,
                                               .ready = need_factors,
                                               .predict = predict,
                                               .weigh = weigh,
                                               .save = save,
                                               .load = load};
