/* Predictions of a Gaussian process, a slice of the rows at a time, and draws from its prior. */
#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "engine/cluster.h"
#include "model/common/linalg.h"
#include "model/gp/gp_classes.h"
#include "model/gp/softmax.h"

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

/* Mean and variance of the latent functions, [row][latent], of rows first .. first + rows - 1;
 * where they are coupled, their covariances [row][latent][latent]. */
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
    const lth__posterior *p = gp->posterior;
    return (gp->likelihood->coupled ? p->predict_coupled : p->predict)(
        gp, lth__items_ctx(items), rows, s->K, s->self, s->mean, s->variance, err);
}

static bool is_own(const lth_gp *gp, const lth_items *items, size_t slice) {
    const lth__cluster *c = lth__items_ctx(items)->cluster;
    return gp->at_first_rank ? lth__cluster_reads(c) : lth__cluster_owns(c, slice);
}

/* Those of this rank. */
static lth_status predict_slices(const lth_gp *gp, const lth_items *items, bool variances,
                                 take_fn *take, void *user, lth_error *err) {
    size_t most = items->count < SLICE ? items->count : SLICE;
    size_t spread = gp->latents * (gp->likelihood->coupled ? gp->latents : 1); /* of a row */
    slice_room s = {.K = lth__alloc(most * gp->rows, sizeof *s.K),
                    .self = lth__alloc(most, sizeof *s.self),
                    .mean = lth__alloc(most * gp->latents, sizeof *s.mean)};
    if (variances) s.variance = lth__alloc(most * spread, sizeof *s.variance);
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

lth__predictive lth__gp_predictive(const lth_gp *gp, size_t target, double mean, double variance,
                                   const lth__known *known, size_t row, double *room) {
    const lth__target *of = &gp->targets[target];
    lth__predictive p = {.likelihood = gp->likelihood,
                         .terms = lth__gp_terms(gp, target),
                         .target = of,
                         .warp = gp->warp,
                         .phi = gp->own + gp->likelihood_params,
                         .grades = gp->grades,
                         .mean = mean + of->link,
                         .variance = variance};
    if (known && known->offset) p.mean += known->offset[row];
    if (!gp->likelihood->has_noise || !known || (!known->ratio && !known->added)) return p;
    memcpy(room, gp->own, gp->likelihood_params * sizeof *room);
    if (known->ratio) room[0] *= known->ratio[row];
    if (known->added) room[0] += known->added[row] / (of->scale * of->scale);
    p.terms.theta = room;
    return p;
}

typedef struct numbers {
    const lth_gp *gp;
    const lth__known *known;
    const lth_gp_prediction *to;
    size_t count;
} numbers;

/* Of f where it is in units of its own, otherwise of y without noise. */
static void take_latent(const numbers *n, size_t target, size_t at, double mean, double variance) {
    const lth__target *of = &n->gp->targets[target];
    const lth_gp_prediction *to = n->to;
    bool own = n->gp->warp || n->gp->likelihood->own_units;
    if (to->latent_mean) to->latent_mean[at] = own ? mean + of->link : of->shift + of->scale * mean;
    if (to->latent_sd) to->latent_sd[at] = (own ? 1 : of->scale) * sqrt(variance);
}

static void take_distribution(const numbers *n, const lth__predictive *p, size_t at) {
    const lth_gp_prediction *to = n->to;
    double mean = NAN, sd = NAN, level = to->level > 0 ? to->level : 0.95;
    bool median_counts = to->point && n->gp->point == LTH_POINT_MEDIAN;
    if (to->mean || to->sd || (to->point && !median_counts)) lth__predictive_moments(p, &mean, &sd);
    double median = to->median || median_counts ? lth__predictive_quantile(p, 0.5) : NAN;
    if (to->mean) to->mean[at] = mean;
    if (to->sd) to->sd[at] = sd;
    if (to->median) to->median[at] = median;
    if (to->point) to->point[at] = median_counts ? median : mean;
    if (to->lower) to->lower[at] = lth__predictive_quantile(p, (1 - level) / 2);
    if (to->upper) to->upper[at] = lth__predictive_quantile(p, (1 + level) / 2);
    if (!to->y) return;
    if (to->log_density) to->log_density[at] = lth__predictive_log_p(p, to->y[at]);
    if (to->cdf) to->cdf[at] = lth__predictive_cdf(p, to->y[at]);
    if (to->crps) to->crps[at] = lth__predictive_crps(p, to->y[at]);
}

static void take_numbers(void *user, size_t first, size_t rows, const double *mean,
                         const double *variance) {
    const numbers *n = user;
    const lth_gp *gp = n->gp;
    double room[LTH__MOST_OWN];
    for (size_t t = 0; t < gp->target_count; t++) {
        for (size_t r = 0; r < rows; r++) {
            double m = mean[r * gp->latents + t], v = variance ? variance[r * gp->latents + t] : 0;
            size_t at = t * n->count + first + r;
            take_latent(n, t, at, m, v);
            lth__predictive p = lth__gp_predictive(gp, t, m, v, n->known, first + r, room);
            take_distribution(n, &p, at);
            if (n->to->probability)
                lth__predictive_grades(&p, n->to->probability + (first + r) * gp->grade_count);
        }
    }
}

/* Whether a mean of f is enough: noise of a mean of zero leaves the mean of y as it is. */
static bool needs_variance(const lth_gp *gp, const lth_gp_prediction *to) {
    bool plain = !gp->warp && gp->likelihood->moments_under && !gp->likelihood->own_units &&
                 gp->likelihood != &lth__censored;
    bool mean_alone = !to->sd && !to->latent_sd && !to->median && !to->lower && !to->upper &&
                      !to->y && !to->probability && gp->point == LTH_POINT_MEAN;
    return !(plain && mean_alone);
}

enum { ARRAYS = 12 };

/* The arrays that are wanted. */
static size_t list_arrays(const lth_gp_prediction *to, double *out[ARRAYS]) {
    double *const all[] = {to->point,       to->mean,  to->median,      to->sd,
                           to->lower,       to->upper, to->latent_mean, to->latent_sd,
                           to->log_density, to->cdf,   to->crps};
    size_t count = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (all[i]) out[count++] = all[i];
    }
    return count;
}

lth_status lth__gp_predict_items(const lth_gp *gp, const lth_items *items, const lth__known *known,
                                 const lth_gp_prediction *to, lth_error *err) {
    numbers n = {.gp = gp, .known = known, .to = to, .count = items->count};
    size_t cells = gp->target_count * items->count, grades = items->count * gp->grade_count;
    lth__cluster *c = lth__items_ctx(items)->cluster;
    double *arrays[ARRAYS];
    size_t count = list_arrays(to, arrays);
    for (size_t i = 0; i < count; i++) memset(arrays[i], 0, cells * sizeof **arrays);
    if (to->probability) memset(to->probability, 0, grades * sizeof *to->probability);
    lth_status status = predict_slices(gp, items, needs_variance(gp, to), take_numbers, &n, err);
    status = lth__cluster_agree(c, status, err);
    for (size_t i = 0; i < count && status == LTH_OK; i++)
        status = lth__cluster_join(c, LTH_OK, arrays[i], cells, err);
    if (status == LTH_OK && to->probability)
        status = lth__cluster_join(c, LTH_OK, to->probability, grades, err);
    return status;
}

/* ---- Labels ---- */

typedef struct labels {
    const lth_gp *gp;
    lth__softmax_points points;
    double *probability; /* [row][class] */
} labels;

static void take_labels(void *user, size_t first, size_t rows, const double *mean,
                        const double *variance) {
    const labels *to = user;
    const lth_gp *gp = to->gp;
    size_t classes = gp->classes->class_count;
    lth__terms terms = lth__gp_terms(gp, 0);
    for (size_t r = 0; r < rows; r++) {
        double *out = to->probability + (first + r) * classes;
        for (size_t i = 0; i < gp->latents; i++) /* no more than classes */
            out[i] = gp->likelihood->probability(&terms, mean[r * gp->latents + i],
                                                 variance[r * gp->latents + i]);
        lth__classes_share(gp->classes, out);
    }
}

static void take_coupled(void *user, size_t first, size_t rows, const double *mean,
                         const double *covariance) {
    const labels *to = user;
    size_t n = to->gp->latents;
    for (size_t r = 0; r < rows; r++)
        lth__softmax_probability(&to->points, mean + r * n, covariance + r * n * n,
                                 to->probability + (first + r) * n);
}

lth_status lth__gp_classify_items(const lth_gp *gp, const lth_items *items, double *probability,
                                  lth_error *err) {
    labels to = {.gp = gp, .probability = probability};
    size_t cells = items->count * gp->classes->class_count;
    bool coupled = gp->likelihood->coupled;
    memset(probability, 0, cells * sizeof *probability);
    lth_status status = coupled ? lth__softmax_points_make(gp->latents, &to.points, err) : LTH_OK;
    if (status == LTH_OK)
        status = predict_slices(gp, items, true, coupled ? take_coupled : take_labels, &to, err);
    lth__softmax_points_free(&to.points);
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

/* A truth that can be none: a grade that training did not have. */
static lth_status check_truth(const lth_gp *gp, const lth_gp_prediction *to, const lth_table *table,
                              lth_error *err) {
    size_t rows = lth_table_rows(table);
    for (size_t i = 0; gp->grades && to->y && i < rows * gp->target_count; i++) {
        size_t k = 0;
        while (k < gp->grade_count && gp->grades[k] != to->y[i]) k++;
        if (k == gp->grade_count)
            return lth__fail_at(err, LTH_EFORMAT, lth_table_name(table),
                                lth_table_line(table, i % rows), 0,
                                "the grade %g is none of those that the model knows, %g to %g",
                                to->y[i], gp->grades[0], gp->grades[k - 1]);
    }
    return LTH_OK;
}

static lth_status read_and_predict(const lth_gp *gp, const lth_table *table,
                                   const lth_gp_prediction *to, lth__known *known, lth_error *err) {
    lth__known_columns columns = {.noise_by = gp->noise_by, .exposure = gp->exposure};
    LTH_TRY(check_truth(gp, to, table, err));
    LTH_TRY(lth__known_read(table, &columns, false, known, err));
    lth__reading r;
    LTH_TRY(lth__reading_open(gp->encoder, table, gp->vectors, &r, err));
    lth_status status = lth__gp_predict_items(gp, r.items, known, to, err);
    lth__reading_close(&r);
    return status;
}

lth_status lth_gp_predict_all(const lth_gp *gp, const lth_table *table,
                              const lth_gp_prediction *given, size_t size, lth_error *err) {
    lth_gp_prediction to = {0};
    lth__known known = {0};
    lth__copy_struct(&to, sizeof to, given, size);
    if (gp->classes) return lth__fail(err, LTH_EARG, "the model is for labels, not for numbers");
    lth_status status = read_and_predict(gp, table, &to, &known, err);
    lth__known_free(&known);
    return status;
}

lth_status lth_gp_predict(const lth_gp *gp, const lth_table *table, bool latent, double *mean,
                          double *sd, lth_error *err) {
    lth_gp_prediction to = {0};
    *(latent ? &to.latent_mean : &to.mean) = mean;
    *(latent ? &to.latent_sd : &to.sd) = sd;
    return lth_gp_predict_all(gp, table, &to, sizeof to, err);
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
        y[i] = lth__gaussian.draw(&(lth__terms){.theta = &noise}, f, random);
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
