/* Predictions of a Gaussian process, a slice of the rows at a time, and draws from its prior. */
#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "engine/cluster.h"
#include "model/common/linalg.h"
#include "model/gp/gp_classes.h"

enum { SLICE = 512, PIECE = 32 };

/* ---- What is left of a variance ---- */

typedef struct variance_job {
    const lth__blas *blas;
    size_t n, rows, stride;
    lth__packed L;
    const double *self;
    double *V, *variance;
} variance_job;

static lth_status variance_piece(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker, (void)err;
    const variance_job *j = user;
    size_t n = j->n, first = index * PIECE;
    size_t last = first + PIECE < j->rows ? first + PIECE : j->rows;
    lth__packed_solve_right(j->blas, &j->L, last - first, j->V + first * n);
    for (size_t r = first; r < last; r++) {
        double explained = 0;
        for (size_t i = 0; i < n; i++) explained += j->V[r * n + i] * j->V[r * n + i];
        double rest = j->self[r] - explained;
        j->variance[r * j->stride] = rest > 0 ? rest : 0;
    }
    return LTH_OK;
}

lth_status lth__gp_variances(lth_ctx *ctx, size_t n, const double *L, size_t rows, double *V,
                             const double *self, double *variance, size_t stride, lth_error *err) {
    variance_job j = {.n = n,
                      .rows = rows,
                      .stride = stride,
                      .L = lth__packed_layout(n),
                      .self = self,
                      .V = V,
                      .variance = variance};
    j.L.cells = (double *)L;
    LTH_TRY(lth__blas_get(&j.blas, err));
    return lth__parallel_for(ctx, NULL, (rows + PIECE - 1) / PIECE, NULL, variance_piece, &j, err);
}

/* ---- Slices of the rows ---- */

/* Mean and variance of the latent functions, [row][latent], of rows first .. first + rows - 1. */
typedef void take_fn(void *user, size_t first, size_t rows, const double *mean,
                     const double *variance);

typedef struct slice_room {
    double *K, *self, *mean, *variance;
} slice_room;

static lth_status predict_slice(const lth_gp *gp, const lth_items *items, const slice_room *s,
                                lth_error *err) {
    size_t rows = items->count;
    double *self = s->variance ? s->self : NULL;
    LTH_TRY(lth__gram_against(gp->prepared, items, s->K, gp->rows, self, err));
    lth__gp_prior(gp, s->K, rows * gp->rows);
    if (self) lth__gp_prior(gp, self, rows);
    return gp->posterior->predict(gp, lth__items_ctx(items), rows, s->K, s->self, s->mean,
                                  s->variance, err);
}

static bool is_own(const lth_gp *gp, const lth_items *items, size_t slice) {
    const lth__cluster *c = lth__items_ctx(items)->cluster;
    return gp->at_first_rank ? lth__cluster_reads(c) : lth__cluster_owns(c, slice);
}

/* Those of this rank. */
static lth_status predict_slices(const lth_gp *gp, const lth_items *items, bool variances,
                                 take_fn *take, void *user, lth_error *err) {
    size_t most = items->count < SLICE ? items->count : SLICE;
    slice_room s = {.K = lth__alloc(most * gp->rows, sizeof *s.K),
                    .self = lth__alloc(most, sizeof *s.self),
                    .mean = lth__alloc(most * gp->latents, sizeof *s.mean)};
    if (variances) s.variance = lth__alloc(most * gp->latents, sizeof *s.variance);
    lth_status status = LTH_OK;
    if (!s.K || !s.self || !s.mean || (variances && !s.variance))
        status = lth__fail_memory(err, most * gp->rows * sizeof *s.K);
    if (status == LTH_OK && gp->posterior->ready) status = gp->posterior->ready(gp, err);
    for (size_t first = 0; first < items->count && status == LTH_OK; first += SLICE) {
        lth_items *slice = NULL;
        size_t rows = items->count - first < SLICE ? items->count - first : SLICE;
        if (!is_own(gp, items, first / SLICE)) continue;
        status = lth__items_slice(items, first, rows, &slice, err);
        if (status == LTH_OK) status = predict_slice(gp, slice, &s, err);
        if (status == LTH_OK) take(user, first, rows, s.mean, s.variance);
        lth_items_free(slice);
    }
    lth__free(s.K);
    lth__free(s.self);
    lth__free(s.mean);
    lth__free(s.variance);
    return status;
}

/* ---- Numbers ---- */

typedef struct numbers {
    const lth_gp *gp;
    bool latent;
    size_t count;
    double *mean, *sd; /* [target][row] */
} numbers;

static void take_numbers(void *user, size_t first, size_t rows, const double *mean,
                         const double *variance) {
    const numbers *to = user;
    const lth_gp *gp = to->gp;
    for (size_t t = 0; t < gp->target_count; t++) {
        const lth__target *target = &gp->targets[t];
        for (size_t r = 0; r < rows; r++) {
            double m = mean[r * gp->latents + t], v = variance ? variance[r * gp->latents + t] : 0;
            size_t at = t * to->count + first + r;
            if (!to->latent) gp->likelihood->moments(gp->own, &m, &v);
            to->mean[at] = target->shift + target->scale * m;
            if (to->sd) to->sd[at] = target->scale * sqrt(v);
        }
    }
}

lth_status lth__gp_predict_items(const lth_gp *gp, const lth_items *items, bool latent,
                                 double *mean, double *sd, lth_error *err) {
    numbers to = {.gp = gp, .latent = latent, .count = items->count, .mean = mean, .sd = sd};
    size_t cells = gp->target_count * items->count;
    lth__cluster *c = lth__items_ctx(items)->cluster;
    memset(mean, 0, cells * sizeof *mean);
    if (sd) memset(sd, 0, cells * sizeof *sd);
    lth_status status = predict_slices(gp, items, sd != NULL, take_numbers, &to, err);
    LTH_TRY(lth__cluster_join(c, status, mean, cells, err));
    return lth__cluster_join(c, LTH_OK, sd, sd ? cells : 0, err);
}

/* ---- Labels ---- */

typedef struct labels {
    const lth_gp *gp;
    double *probability; /* [row][class] */
} labels;

static void take_labels(void *user, size_t first, size_t rows, const double *mean,
                        const double *variance) {
    const labels *to = user;
    const lth_gp *gp = to->gp;
    size_t classes = gp->classes->class_count;
    for (size_t r = 0; r < rows; r++) {
        double *out = to->probability + (first + r) * classes;
        for (size_t i = 0; i < gp->latents; i++) /* no more than classes */
            out[i] = gp->likelihood->probability(gp->own, mean[r * gp->latents + i],
                                                 variance[r * gp->latents + i]);
        lth__classes_share(gp->classes, out);
    }
}

lth_status lth__gp_classify_items(const lth_gp *gp, const lth_items *items, double *probability,
                                  lth_error *err) {
    labels to = {.gp = gp, .probability = probability};
    size_t cells = items->count * gp->classes->class_count;
    memset(probability, 0, cells * sizeof *probability);
    lth_status status = predict_slices(gp, items, true, take_labels, &to, err);
    return lth__cluster_join(lth__items_ctx(items)->cluster, status, probability, cells, err);
}

/* ---- Tables ---- */

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

lth_status lth_gp_classify(const lth_gp *gp, const lth_table *table, double *probability,
                           lth_error *err) {
    if (!gp->classes) return lth__fail(err, LTH_EARG, "the model is for numbers, not for labels");
    lth__reading r;
    LTH_TRY(lth__reading_open(gp->encoder, table, gp->vectors, &r, err));
    lth_status status = lth__gp_classify_items(gp, r.items, probability, err);
    lth__reading_close(&r);
    return status;
}

/* ---- Draws from the prior ---- */

/* The Cholesky factor of the Gram matrix with this jitter, relative to its mean diagonal, if it has
 * one. */
static lth_status factor_with(lth__gram *gram, double jitter, lth__matrix *L, bool *definite,
                              lth_error *err) {
    double trace, log_determinant;
    LTH_TRY(lth__matrix_gram(L, gram, err));
    LTH_TRY(lth__matrix_trace(L, &trace, err));
    LTH_TRY(L->table->add_diagonal(L, jitter * trace / (double)L->n, err));
    lth_status status = L->table->factor(L, &log_determinant, err);
    *definite = status == LTH_OK;
    return status == LTH_ENUMERIC ? LTH_OK : status;
}

/* A Gram matrix with equal rows is singular: the smallest jitter that bears the factor. */
static lth_status factor_prior(lth__gram *gram, lth__matrix *L, lth_error *err) {
    bool definite = false;
    for (double jitter = 0; !definite && jitter < 1e-3; jitter = jitter == 0 ? 1e-12 : jitter * 10)
        LTH_TRY(factor_with(gram, jitter, L, &definite, err));
    if (definite) return LTH_OK;
    return lth__fail(err, LTH_ENUMERIC,
                     "the kernel matrix is not positive definite, even with jitter");
}

static void draw(const lth__packed *L, double noise, lth__random *random, double *z, double *y) {
    for (size_t i = 0; i < L->n; i += 2) lth__random_normals(random, z + i);
    for (size_t i = 0; i < L->n; i++) {
        const double *row = L->cells + lth__packed_row(L, i);
        double f = 0;
        for (size_t j = 0; j <= i; j++) f += row[j] * z[j];
        y[i] = lth__gaussian.draw(&noise, f, random);
    }
}

/* The factor of the prior of f, packed. */
static lth_status make_prior(const lth_kernel *kernel, const lth_items *items, double **out,
                             lth_error *err) {
    lth__gram *gram;
    LTH_TRY(lth__gram_create(kernel, items, NULL, &gram, err));
    lth__gram_keep_nothing(gram);
    lth__matrix L = lth__matrix_beside(kernel->ctx, gram, items->count);
    lth_status status = factor_prior(gram, &L, err);
    if (status == LTH_OK) status = lth__matrix_take(&L, out, err);
    lth__matrix_free(&L);
    lth__gram_free(gram);
    return status;
}

lth_status lth_gp_sample(const lth_kernel *kernel, const lth_items *items, double noise,
                         size_t draws, double *y, lth_error *err) {
    lth__packed L = lth__packed_layout(items->count);
    LTH_TRY(lth__memory_check(lth__packed_bytes(L.n, sizeof *L.cells), "the Gram matrix",
                              "use fewer rows", err));
    double *z = lth__alloc(L.n + 1, sizeof *z);
    lth_status status = z ? LTH_OK : lth__fail_memory(err, L.n * sizeof *z);
    if (status == LTH_OK) status = make_prior(kernel, items, &L.cells, err);
    lth__random random;
    lth__random_seed(&random, kernel->ctx->options.seed);
    for (size_t d = 0; d < draws && status == LTH_OK; d++) draw(&L, noise, &random, z, y + d * L.n);
    lth__free(L.cells);
    lth__free(z);
    return status;
}
