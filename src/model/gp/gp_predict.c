/* Predictions of a Gaussian process, a block of rows at a time, and draws from its prior.
 *
 *     mean = K* alpha        variance = k** - |L^-1 k*|^2 (+ noise)
 */
#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "base/random.h"
#include "model/gp/gp.h"

enum { BLOCK = 512, PIECE = 32 };

typedef struct block {
    const lth_gp *gp;
    const lth__blas *blas;
    size_t rows;
    double *K, *self; /* rows x training rows; k(x,x) */
} block;

/* K* becomes (L^-1 K*^T)^T for a few rows, and their variance what is left of k(x,x). */
static lth_status explain_rows(void *user, size_t index, unsigned worker) {
    (void)worker;
    const block *b = user;
    size_t n = b->gp->rows, first = index * PIECE;
    size_t rows = b->rows - first < PIECE ? b->rows - first : PIECE;
    double *K = b->K + first * n;
    b->blas->solve_right(rows, n, b->gp->L, n, K, n);
    for (size_t r = 0; r < rows; r++) {
        double explained = 0;
        for (size_t i = 0; i < n; i++) explained += K[r * n + i] * K[r * n + i];
        double rest = b->self[first + r] - explained;
        b->self[first + r] = rest > 0 ? rest : 0;
    }
    return LTH_OK;
}

static void write_means(const block *b, const double *means, size_t first, size_t count,
                        double *mean) {
    size_t targets = b->gp->target_count;
    for (size_t t = 0; t < targets; t++) {
        const lth__target *target = &b->gp->targets[t];
        for (size_t r = 0; r < b->rows; r++)
            mean[t * count + first + r] = target->shift + target->scale * means[r * targets + t];
    }
}

static void write_deviations(const block *b, bool latent, size_t first, size_t count, double *sd) {
    for (size_t t = 0; t < b->gp->target_count; t++) {
        for (size_t r = 0; r < b->rows; r++) {
            double variance = b->self[r] + (latent ? 0 : b->gp->noise);
            sd[t * count + first + r] = b->gp->targets[t].scale * sqrt(variance);
        }
    }
}

static lth_status predict_block(block *b, const lth_items *items, double *means, bool latent,
                                size_t first, size_t count, double *mean, double *sd,
                                lth_error *err) {
    const lth_gp *gp = b->gp;
    size_t n = gp->rows, targets = gp->target_count;
    LTH_TRY(lth__gram_against(gp->prepared, items, b->K, n, sd ? b->self : NULL, err));
    b->blas->gemm_nn(b->rows, targets, n, 1, b->K, n, gp->alpha, targets, 0, means, targets);
    write_means(b, means, first, count, mean);
    if (!sd) return LTH_OK;
    size_t pieces = (b->rows + PIECE - 1) / PIECE;
    LTH_TRY(lth__parallel_for(lth__items_ctx(items), NULL, pieces, NULL, explain_rows, b, err));
    write_deviations(b, latent, first, count, sd);
    return LTH_OK;
}

lth_status lth__gp_predict_items(const lth_gp *gp, const lth_items *items, bool latent,
                                 double *mean, double *sd, lth_error *err) {
    block b = {.gp = gp};
    LTH_TRY(lth__blas_get(&b.blas, err));
    b.K = lth__alloc(BLOCK * gp->rows, sizeof *b.K);
    b.self = lth__alloc(BLOCK, sizeof *b.self);
    double *means = lth__alloc(BLOCK * gp->target_count, sizeof *means);
    lth_status status = LTH_OK;
    if (!b.K || !b.self || !means) status = lth__fail_memory(err, BLOCK * gp->rows * sizeof *b.K);
    for (size_t first = 0; first < items->count && status == LTH_OK; first += BLOCK) {
        lth_items *slice = NULL;
        b.rows = items->count - first < BLOCK ? items->count - first : BLOCK;
        status = lth__items_slice(items, first, b.rows, &slice, err);
        if (status == LTH_OK) {
            status = predict_block(&b, slice, means, latent, first, items->count, mean, sd, err);
            lth_items_free(slice);
        }
    }
    lth__free(b.K);
    lth__free(b.self);
    lth__free(means);
    return status;
}

lth_status lth_gp_use_vectors(lth_gp *gp, const char *path, lth_error *err) {
    char *copy = path ? lth__strndup(path, strlen(path)) : NULL;
    if (path && !copy) return lth__fail_memory(err, 0);
    lth__free(gp->vectors);
    gp->vectors = copy;
    return LTH_OK;
}

lth_status lth_gp_predict(const lth_gp *gp, const lth_table *table, bool latent, double *mean,
                          double *sd, lth_error *err) {
    if (gp->classes) return lth__fail(err, LTH_EARG, "the model is for labels, not for numbers");
    lth__reading r;
    LTH_TRY(lth__reading_open(gp->encoder, table, gp->vectors, &r, err));
    lth_status status = lth__gp_predict_items(gp, r.items, latent, mean, sd, err);
    lth__reading_close(&r);
    return status;
}

/* ---- Draws from the prior ---- */

/* Two independent normal numbers (Box and Muller). */
static void normal_pair(lth__random *random, double out[2]) {
    double u = 1 - lth__random_uniform(random), angle = 2 * M_PI * lth__random_uniform(random);
    double radius = sqrt(-2 * log(u));
    out[0] = radius * cos(angle);
    out[1] = radius * sin(angle);
}

/* The Cholesky factor of the Gram matrix with this jitter, relative to its mean diagonal, if it has
 * one. */
static lth_status factor_with(const lth_kernel *kernel, const lth_items *items, double jitter,
                              double *L, bool *definite, lth_error *err) {
    size_t n = items->count;
    double mean = 0;
    LTH_TRY(lth_gram(kernel, items, NULL, L, n, err));
    for (size_t i = 0; i < n; i++) mean += L[i * n + i] / (double)n;
    for (size_t i = 0; i < n; i++) L[i * n + i] += jitter * mean;
    lth_status status = lth__cholesky(kernel->ctx, n, L, err);
    *definite = status == LTH_OK;
    return status == LTH_ENUMERIC ? LTH_OK : status;
}

lth_status lth_gp_sample(const lth_kernel *kernel, const lth_items *items, double noise,
                         size_t draws, double *y, lth_error *err) {
    size_t n = items->count;
    lth_ctx *ctx = kernel->ctx;
    LTH_TRY(lth__memory_check(n * n * sizeof(double), "the Gram matrix", "use fewer rows", err));
    double *L = lth__alloc(n * n, sizeof *L), *z = lth__alloc(n + 1, sizeof *z);
    lth_status status = L && z ? LTH_OK : lth__fail_memory(err, n * n * sizeof *L);
    bool definite = false;
    /* A Gram matrix with equal rows is singular: the smallest jitter that bears the factor. */
    for (double jitter = 0; status == LTH_OK && !definite && jitter < 1e-3;
         jitter = jitter == 0 ? 1e-12 : jitter * 10)
        status = factor_with(kernel, items, jitter, L, &definite, err);
    if (status == LTH_OK && !definite) {
        status = lth__fail(err, LTH_ENUMERIC,
                           "the kernel matrix is not positive definite, even with jitter");
    }
    lth__random random;
    lth__random_seed(&random, ctx->options.seed);
    for (size_t d = 0; d < draws && status == LTH_OK; d++) {
        double pair[2];
        for (size_t i = 0; i < n; i += 2) {
            normal_pair(&random, pair);
            z[i] = pair[0];
            z[i + 1] = pair[1];
        }
        for (size_t i = 0; i < n; i++) {
            double sum = 0;
            for (size_t j = 0; j <= i; j++) sum += L[i * n + j] * z[j];
            normal_pair(&random, pair);
            y[d * n + i] = sum + sqrt(noise) * pair[0];
        }
    }
    lth__free(L);
    lth__free(z);
    return status;
}
