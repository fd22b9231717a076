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
    double *a, *f, *root_w;  /* [latent][row]                                                  */
    double **L;              /* by latent, once settled; of a model from a file when first asked */
    pthread_mutex_t lock;    /* of L                                                           */
    lth__matrix K, M, X, *B; /* while it learns: covariances, weights, room; by latent B       */
    size_t latents;
} solution;

static void free_matrices(solution *s) {
    lth__matrix_free(&s->K);
    lth__matrix_free(&s->M);
    lth__matrix_free(&s->X);
    for (size_t i = 0; s->B && i < s->latents; i++) lth__matrix_free(&s->B[i]);
    lth__free(s->B);
    s->B = NULL;
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

static size_t matrices(const lth_gp *gp) {
    return gp->latents + 3;
}

/* ---- Evidence ---- */

static lth_status make_matrices(lth_gp *gp, lth__gram *gram, lth_error *err) {
    solution *s = gp->solution;
    if (s->B) return LTH_OK;
    s->B = lth__calloc(gp->latents, sizeof *s->B);
    if (!s->B) return lth__fail_memory(err, gp->latents * sizeof *s->B);
    s->K = s->M = s->X = lth__matrix_beside(&gp->ctx, gram, gp->rows);
    for (size_t i = 0; i < gp->latents; i++) s->B[i] = s->K;
    return LTH_OK;
}

/* The search for the mode begins where it ended last, if that was anywhere. */
static void forget_unless_finite(double *a, size_t n) {
    bool finite = true;
    for (size_t i = 0; i < n; i++) finite &= isfinite(a[i]) != 0;
    if (!finite) memset(a, 0, n * sizeof *a);
}

/* The likelihoods have no parameters that are learned here. */
static lth_status evidence(lth_gp *gp, lth__gram *gram, double *out, double *gradient,
                           lth_error *err) {
    LTH_TRY(make_matrices(gp, gram, err));
    solution *s = gp->solution;
    size_t n = gp->rows;
    double sum = 0;
    LTH_TRY(lth__matrix_gram(&s->K, gram, err));
    LTH_TRY(lth__gp_prior_matrix(gp, 0, &s->K, err));
    if (gradient) {
        LTH_TRY(s->M.table->reserve(&s->M, err));
        LTH_TRY(s->M.table->fill(&s->M, 0, err));
    }
    for (size_t i = 0; i < gp->latents; i++) {
        lth__laplace l = {.likelihood = gp->likelihood,
                          .theta = gp->own,
                          .y = gp->y + i * n,
                          .a = s->a + i * n,
                          .f = s->f + i * n,
                          .root_w = s->root_w + i * n,
                          .L = &s->B[i]};
        forget_unless_finite(l.a, n);
        LTH_TRY(lth__laplace_mode(&l, &s->K, err));
        if (gradient) LTH_TRY(lth__laplace_weights(&l, &s->K, &s->X, &s->M, err));
        sum += l.evidence;
    }
    *out = sum;
    return gradient ? lth__gp_pull(gp, gram, &s->M, &s->K, gradient, err) : LTH_OK;
}

static lth_status settle(lth_gp *gp, lth_error *err) {
    solution *s = gp->solution;
    free_factors(s);
    s->L = lth__calloc(gp->latents, sizeof *s->L);
    lth_status status = s->L ? LTH_OK : lth__fail_memory(err, gp->latents * sizeof *s->L);
    for (size_t i = 0; i < gp->latents && status == LTH_OK; i++)
        status = lth__matrix_take(&s->B[i], &s->L[i], err);
    free_matrices(s);
    return status;
}

/* ---- The factors of a model from a file ---- */

static lth_status factor(const lth_gp *gp, const lth__matrix *K, size_t i, double **out,
                         lth_error *err) {
    const solution *s = gp->solution;
    lth__matrix B = lth__matrix_on_host(K->ctx, gp->rows, NULL);
    double log_determinant;
    lth_status status = K->table->sandwich(K, s->root_w + i * gp->rows, &B, err);
    if (status == LTH_OK) status = B.table->factor(&B, &log_determinant, err);
    if (status == LTH_ENUMERIC)
        status = lth__fail(err, status, "the kernel matrix is not positive definite");
    if (status == LTH_OK) return lth__matrix_take(&B, out, err);
    lth__matrix_free(&B);
    return status;
}

/* The training rows with the context of a call: other threads read the model's at the same time. */
static lth_status gram_of_rows(const lth_gp *gp, double *K, lth_error *err) {
    lth_encoder *extension;
    LTH_TRY(lth__encoder_extend(gp->encoder, &extension, err));
    lth_items rows = *gp->items;
    rows.encoder = extension;
    lth_status status = lth_gram(gp->kernel, &rows, NULL, K, gp->rows, err);
    lth_encoder_free(extension);
    return status;
}

static lth_status factor_all(const lth_gp *gp, double **L, lth_error *err) {
    size_t n = gp->rows;
    lth_ctx ctx = gp->ctx;
    lth__matrix K = lth__matrix_on_host(&ctx, n, NULL);
    LTH_TRY(lth__memory_check((gp->latents + 1) * n * n * sizeof(double),
                              "a classifier of that many rows", "use a machine with more memory",
                              err));
    lth_status status = K.table->reserve(&K, err);
    if (status == LTH_OK) status = gram_of_rows(gp, K.cells, err);
    if (status == LTH_OK) status = lth__gp_prior_matrix(gp, 0, &K, err);
    for (size_t i = 0; i < gp->latents && status == LTH_OK; i++)
        status = factor(gp, &K, i, &L[i], err);
    lth__matrix_free(&K);
    return status;
}

/* Made once, by whichever thread comes first: a model that is only looked at needs none. */
static lth_status need_factors(const lth_gp *gp, lth_error *err) {
    solution *s = gp->solution;
    lth_status status = LTH_OK;
    pthread_mutex_lock(&s->lock);
    if (!s->L) {
        s->L = lth__calloc(gp->latents, sizeof *s->L);
        status = s->L ? factor_all(gp, s->L, err) : lth__fail_memory(err, 0);
        if (status != LTH_OK) free_factors(s);
    }
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
    LTH_TRY(need_factors(gp, err));
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
    if (gp->rows == 0 || gp->rows > (size_t)1 << 20)
        return lth__loader_damaged(l, "its training rows");
    LTH_TRY(load_array(gp, l, "y", -1, 1, &gp->y));
    solution *s = gp->solution = create(gp->latents);
    if (!s) return lth__fail_memory(l->err, sizeof *s);
    s->f = lth__calloc(gp->latents * gp->rows, sizeof *s->f);
    if (!s->f) return lth__fail_memory(l->err, 0);
    LTH_TRY(load_array(gp, l, "alpha", -1e6, 1e6, &s->a));
    return load_array(gp, l, "root_w", 0, 1.001, &s->root_w);
}

const lth__posterior lth__laplace_posterior = {.name = "laplace",
                                               .approximate = true,
                                               .open = open,
                                               .free = release,
                                               .matrices = matrices,
                                               .evidence = evidence,
                                               .settle = settle,
                                               .predict = predict,
                                               .weigh = weigh,
                                               .save = save,
                                               .load = load};
