/* Predictions of a Gaussian process, a slice of the rows at a time. */
#include <math.h>
#include <string.h>

#include "engine/cluster.h"
#include "model/gp/gp_average.h"
#include "model/gp/gp_sharpness.h"
#include "model/likelihood/mixture.h"
#include "model/posterior/noise.h"
#include "model/posterior/outputs.h"
#include "model/posterior/softmax.h"

enum { SLICE = 512 };

/* ---- Slices of the rows ---- */

/* Mean and variance of the latent functions, [model][row][latent], of rows first .. first + rows -
 * 1; variance may be NULL. Where they are coupled, covariances [model][row][latent][latent]. */
typedef void take_fn(void *user, size_t first, size_t rows, const double *mean,
                     const double *variance);

typedef struct slice_room {
    double *K, *self, *mean, *variance;
} slice_room;

/* Means and variances of a row: where noise is a function, its logarithm comes after all rows' f.
 */
static size_t means_of(const lth_gp *gp) {
    return gp->latents + (lth__gp_noise_model(gp) != NULL);
}

static size_t spread_of(const lth_gp *gp) {
    return gp->likelihood->coupled ? gp->latents * gp->latents : means_of(gp);
}

/* What rows are to the training rows. */
static lth_status compare(const lth_gp *gp, const lth_items *items, const slice_room *s,
                          lth_error *err) {
    double *self = s->variance ? s->self : NULL;
    LTH_TRY(lth__gram_against(gp->prepared, items, s->K, gp->rows, self, err));
    lth__gp_prior(gp, s->K, items->count * gp->rows);
    if (self) lth__gp_prior(gp, self, items->count);
    return LTH_OK;
}

static lth_status predict_noise(const lth_gp *gp, const lth_items *items, const slice_room *s,
                                double *mean, double *variance, lth_error *err) {
    LTH_TRY(compare(gp, items, s, err));
    return gp->posterior->predict(gp, lth__items_ctx(items), items->count, s->K, s->self, mean,
                                  variance, err);
}

/* Coupled latent functions that are independent of each other: variances become the diagonals of
 * matrices, from the last on. */
static lth_status predict_apart(const lth_gp *gp, lth_ctx *ctx, size_t rows, const slice_room *s,
                                double *mean, double *variance, lth_error *err) {
    size_t n = gp->latents;
    LTH_TRY(gp->posterior->predict(gp, ctx, rows, s->K, s->self, mean, variance, err));
    for (size_t cell = variance ? rows * n : 0; cell-- > 0;) {
        double own = variance[cell];
        memset(variance + cell * n, 0, n * sizeof *variance);
        variance[cell * n + cell % n] = own;
    }
    return LTH_OK;
}

/* `given` of all items of the call, of which these are those from `first` on. */
static lth_status predict_slice(const lth_gp *gp, const lth_items *items, size_t first,
                                const double *given, size_t all, const slice_room *s, size_t model,
                                lth_error *err) {
    const lth_gp *noise = s->variance ? lth__gp_noise_model(gp) : NULL;
    size_t rows = items->count;
    LTH_TRY(compare(gp, items, s, err));
    lth_ctx *ctx = lth__items_ctx(items);
    double *mean = s->mean + model * rows * means_of(gp);
    double *variance = s->variance ? s->variance + model * rows * spread_of(gp) : NULL;
    if (given)
        return lth__outputs_predict_given(gp, ctx, rows, s->K, s->variance ? s->self : NULL,
                                          given + first, all, mean, variance, err);
    if (gp->likelihood->coupled && gp->posterior->covary)
        return gp->posterior->covary(gp, ctx, rows, s->K, s->self, mean, variance, err);
    if (gp->likelihood->coupled) return predict_apart(gp, ctx, rows, s, mean, variance, err);
    LTH_TRY(gp->posterior->predict(gp, ctx, rows, s->K, s->self, mean, variance, err));
    return noise ? predict_noise(noise, items, s, mean + rows, variance + rows, err) : LTH_OK;
}

lth_status lth__gp_noise_at(const lth_gp *gp, const lth_items *item, lth__at_row *out,
                            lth_error *err) {
    const lth_gp *noise = lth__gp_noise_model(gp);
    if (!noise) return LTH_OK;
    slice_room s = {.K = lth__alloc(gp->rows, sizeof *s.K),
                    .self = &(double){0},
                    .mean = &out->noise_mean,
                    .variance = &out->noise_variance};
    lth_status status = s.K ? LTH_OK : lth__fail_memory(err, gp->rows * sizeof *s.K);
    if (status == LTH_OK) status = gp->posterior->ready(gp, err);
    if (status == LTH_OK) status = predict_noise(noise, item, &s, s.mean, s.variance, err);
    lth__free(s.K);
    return status;
}

lth_status lth__gp_prepare(lth_gp *gp, lth_error *err) {
    lth_gp *noise = lth__gp_noise_model(gp);
    lth__noise_follow(gp);
    if (noise) LTH_TRY(lth__prepared_create(noise->kernel, gp->items, &noise->prepared, err));
    return lth__prepared_create(gp->kernel, gp->items, &gp->prepared, err);
}

static bool is_own(const lth_gp *gp, const lth_items *items, size_t slice) {
    const lth__cluster *c = lth__items_ctx(items)->cluster;
    return gp->at_first_rank ? lth__cluster_reads(c) : lth__cluster_owns(c, slice);
}

/* What the models need that a file does not hold. */
static lth_status make_ready(const lth__averaged *by, lth_error *err) {
    const lth_gp *first = lth__averaged_at(by, 0);
    return first->posterior->ready && by->itself ? first->posterior->ready(first, err) : LTH_OK;
}

/* Those of this rank; `given` by [target][item], or NULL. */
static lth_status predict_slices(const lth__averaged *by, const lth_items *items, bool variances,
                                 const double *given, take_fn *take, void *user, lth_error *err) {
    const lth_gp *gp = lth__averaged_at(by, 0); /* of all of them the same rows and latents */
    size_t most = items->count < SLICE ? items->count : SLICE, of_f = most * means_of(gp);
    slice_room s = {.K = lth__alloc(most * gp->rows, sizeof *s.K),
                    .self = lth__alloc(most, sizeof *s.self),
                    .mean = lth__alloc(by->count * of_f, sizeof *s.mean)};
    if (variances) s.variance = lth__alloc(by->count * most * spread_of(gp), sizeof *s.variance);
    lth_status status = LTH_OK;
    if (!s.K || !s.self || !s.mean || (variances && !s.variance))
        status = lth__fail_memory(err, most * gp->rows * sizeof *s.K);
    if (status == LTH_OK) status = make_ready(by, err);
    for (size_t first = 0; first < items->count && status == LTH_OK; first += SLICE) {
        lth_items *slice = NULL;
        size_t rows = items->count - first < SLICE ? items->count - first : SLICE;
        if (!is_own(gp, items, first / SLICE)) continue;
        status = lth__items_slice(items, first, rows, &slice, err);
        for (size_t m = 0; m < by->count && status == LTH_OK; m++)
            status = predict_slice(lth__averaged_at(by, m), slice, first, given, items->count, &s,
                                   m, err);
        if (status == LTH_OK) take(user, first, rows, s.mean, s.variance);
        lth_items_free(slice);
    }
    lth__free(s.K);
    lth__free(s.self);
    lth__free(s.mean);
    lth__free(s.variance);
    return status;
}

/* All ranks have them, or none goes on. */
static lth_status find_models(const lth_gp *gp, const lth_items *items, lth__averaged *by,
                              lth_error *err) {
    lth_status status = lth__gp_averaged(gp, by, err);
    return gp->draws ? lth__cluster_agree(lth__items_ctx(items)->cluster, status, err) : status;
}

/* ---- Numbers ---- */

lth__predictive lth__gp_predictive(const lth_gp *gp, size_t target, double mean, double variance,
                                   const lth__known *known, size_t row, double *room) {
    lth__seen seen = lth__gp_seen_with(gp, target, known ? known : &(lth__known){0});
    return (lth__predictive){.likelihood = gp->likelihood,
                             .terms = lth__seen_terms(&seen, row, room),
                             .target = &gp->targets[target],
                             .warp = gp->warp,
                             .phi = gp->own + gp->likelihood_params,
                             .grades = gp->grades,
                             .mean = lth__seen_place(&seen, row, mean),
                             .variance = variance};
}

/* What is expected of a row: the parts of a mixture, one for each model, or where its noise is a
 * function one for each of several values of that. */
typedef struct parts {
    lth__predictive *part;
    double *weight;
    double *room; /* for the parameters of each */
    size_t count;
} parts;

/* Points for the logarithm of the noise: those of a rule for normal distributions that weigh
 * anything. What is left out is less than what the sum of their weights may lack. */
enum { MOST_POINTS = LTH__NODES };
static const double least_weight = 1e-12;

static lth_status make_parts(size_t most, parts *p, lth_error *err) {
    *p = (parts){.part = lth__alloc(most, sizeof *p->part),
                 .weight = lth__alloc(most, sizeof *p->weight),
                 .room = lth__alloc(most * LTH__MOST_OWN, sizeof *p->room)};
    if (p->part && p->weight && p->room) return LTH_OK;
    return lth__fail_memory(err, most * LTH__MOST_OWN * sizeof *p->room);
}

static void free_parts(parts *p) {
    lth__free(p->part);
    lth__free(p->weight);
    lth__free(p->room);
}

static lth__predictive *add_part(parts *to, const lth_gp *gp, size_t target, lth__at_row f,
                                 const lth__known *known, size_t row, double weight) {
    lth__predictive *p = &to->part[to->count];
    double *room = to->room + to->count * LTH__MOST_OWN;
    to->weight[to->count++] = weight;
    *p = lth__gp_predictive(gp, target, f.mean, f.variance, known, row, room);
    return p;
}

static void add_parts(parts *to, const lth_gp *gp, size_t target, lth__at_row f,
                      const lth__known *known, size_t row, double weight) {
    if (!lth__gp_noise_model(gp)) {
        (void)add_part(to, gp, target, f, known, row, weight);
        return;
    }
    const lth__quadrature *rule = lth__quadrature_shared();
    double sd = sqrt(f.noise_variance);
    for (size_t k = 0; k < LTH__NODES; k++) {
        double *own = to->room + to->count * LTH__MOST_OWN;
        if (rule->weight[k] < least_weight) continue;
        lth__predictive *p = add_part(to, gp, target, f, known, row, weight * rule->weight[k]);
        own[0] = p->terms.theta[0] * exp(f.noise_mean + sd * rule->node[k]);
        p->terms.theta = own;
    }
}

static lth__mixture mixture_of(const parts *p) {
    return (lth__mixture){.count = p->count, .weight = p->weight, .part = p->part};
}

typedef struct numbers {
    const lth_gp *gp;
    const lth__known *known;
    const lth_gp_prediction *to;
    size_t count;
    const lth__averaged *by;
    parts parts; /* room */
} numbers;

/* Of f where it is in units of its own, otherwise of y without noise. */
static void take_latent(const lth_gp *gp, const lth_gp_prediction *to, size_t target, size_t at,
                        double mean, double variance) {
    const lth__target *of = &gp->targets[target];
    bool own = lth__gp_has_own_units(gp);
    if (to->latent_mean) to->latent_mean[at] = own ? mean + of->link : of->shift + of->scale * mean;
    if (to->latent_sd) to->latent_sd[at] = (own ? 1 : of->scale) * sqrt(variance);
}

static void take_distribution(const lth_gp *gp, const lth__mixture *p, const lth_gp_prediction *to,
                              size_t at) {
    double mean = NAN, sd = NAN, level = to->level > 0 ? to->level : 0.95;
    bool median_counts = to->point && gp->point == LTH_POINT_MEDIAN;
    if (to->mean || to->sd || (to->point && !median_counts)) lth__mixture_moments(p, &mean, &sd);
    double median = to->median || median_counts ? lth__mixture_quantile(p, 0.5) : NAN;
    if (to->mean) to->mean[at] = mean;
    if (to->sd) to->sd[at] = sd;
    if (to->median) to->median[at] = median;
    if (to->point) to->point[at] = median_counts ? median : mean;
    if (to->lower) to->lower[at] = lth__mixture_quantile(p, (1 - level) / 2);
    if (to->upper) to->upper[at] = lth__mixture_quantile(p, (1 + level) / 2);
    if (!to->y) return;
    if (to->log_density) to->log_density[at] = lth__mixture_log_p(p, to->y[at]);
    if (to->cdf) to->cdf[at] = lth__mixture_cdf(p, to->y[at]);
    if (to->crps) to->crps[at] = lth__mixture_crps(p, to->y[at]);
}

void lth__gp_expect(const lth_gp *gp, size_t target, lth__at_row f, const lth__known *known,
                    size_t row, const lth_gp_prediction *to, size_t at) {
    lth__predictive part[MOST_POINTS];
    double weight[MOST_POINTS], room[MOST_POINTS * LTH__MOST_OWN];
    parts all = {.part = part, .weight = weight, .room = room};
    add_parts(&all, gp, target, f, known, row, 1);
    lth__mixture p = mixture_of(&all);
    take_latent(gp, to, target, at, f.mean, f.variance);
    take_distribution(gp, &p, to, at);
    if (to->probability) lth__mixture_grades(&p, to->probability + row * gp->grade_count);
}

/* Of one model. */
static lth__at_row at_row(const lth_gp *gp, const double *mean, const double *variance, size_t rows,
                          size_t row, size_t target) {
    size_t cell = row * gp->latents + target, of_noise = rows * gp->latents + row;
    lth__at_row f = {.mean = mean[cell], .variance = variance ? variance[cell] : 0};
    if (variance && lth__gp_noise_model(gp)) {
        f.noise_mean = mean[of_noise];
        f.noise_variance = variance[of_noise];
    }
    return f;
}

static void take_numbers(void *user, size_t first, size_t rows, const double *mean,
                         const double *variance) {
    numbers *n = user;
    const lth_gp *gp = n->gp;
    const lth__averaged *by = n->by;
    size_t stride = rows * means_of(lth__averaged_at(by, 0));
    for (size_t t = 0; t < gp->target_count; t++) {
        for (size_t r = 0; r < rows; r++) {
            size_t cell = r * gp->latents + t, at = t * n->count + first + r;
            const double *v = variance ? variance + cell : NULL;
            double of_f, variance_of_f;
            lth__mixture_mix(by->count, by->weight, mean + cell, v, stride, &of_f, &variance_of_f);
            take_latent(gp, n->to, t, at, of_f, variance_of_f);
            n->parts.count = 0;
            for (size_t m = 0; m < by->count; m++) {
                lth__at_row f = at_row(lth__averaged_at(by, m), mean + m * stride,
                                       variance ? variance + m * stride : NULL, rows, r, t);
                add_parts(&n->parts, lth__averaged_at(by, m), t, f, n->known, first + r,
                          by->weight[m]);
            }
            lth__mixture p = mixture_of(&n->parts);
            take_distribution(gp, &p, n->to, at);
            if (n->to->probability)
                lth__mixture_grades(&p, n->to->probability + (first + r) * gp->grade_count);
        }
    }
}

/* Whether a mean of f is enough: noise of a mean of zero leaves the mean of y as it is. */
static bool needs_variance(const lth_gp *gp, const lth_gp_prediction *to) {
    bool plain = !lth__gp_has_own_units(gp) && gp->likelihood != &lth__censored;
    bool mean_alone = !to->sd && !to->latent_sd && !to->median && !to->lower && !to->upper &&
                      !to->y && !to->probability && gp->point == LTH_POINT_MEAN;
    return !(plain && mean_alone);
}

/* What is not finite is no prediction. */
lth_status lth__gp_check_finite(const double *values, size_t count, lth_error *err) {
    for (size_t i = 0; values && i < count; i++) {
        if (!isfinite(values[i]))
            return lth__fail(err, LTH_ENUMERIC,
                             "what the model expects of a row is not a finite number: check the "
                             "numbers in the table");
    }
    return LTH_OK;
}

/* A density may be none: the truth need not be what the model holds possible. */
static lth_status check_numbers(const lth_gp_prediction *to, size_t count, lth_error *err) {
    const double *const all[] = {to->point, to->mean,  to->median,      to->sd,
                                 to->lower, to->upper, to->latent_mean, to->latent_sd};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        LTH_TRY(lth__gp_check_finite(all[i], count, err));
    return LTH_OK;
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
                                 const double *given, const lth_gp_prediction *to, lth_error *err) {
    lth__averaged by;
    LTH_TRY(find_models(gp, items, &by, err));
    numbers n = {.gp = gp, .known = known, .to = to, .count = items->count, .by = &by};
    size_t points = lth__gp_noise_model(lth__averaged_at(&by, 0)) ? MOST_POINTS : 1;
    size_t cells = gp->target_count * items->count, grades = items->count * gp->grade_count;
    lth__cluster *c = lth__items_ctx(items)->cluster;
    double *arrays[ARRAYS];
    size_t count = list_arrays(to, arrays);
    for (size_t i = 0; i < count; i++) memset(arrays[i], 0, cells * sizeof **arrays);
    if (to->probability) memset(to->probability, 0, grades * sizeof *to->probability);
    bool variances = given || needs_variance(gp, to);
    lth_status status = make_parts(by.count * points, &n.parts, err);
    if (status == LTH_OK)
        status = predict_slices(&by, items, variances, given, take_numbers, &n, err);
    free_parts(&n.parts);
    status = lth__cluster_agree(c, status, err);
    for (size_t i = 0; i < count && status == LTH_OK; i++)
        status = lth__cluster_join(c, LTH_OK, arrays[i], cells, err);
    if (status == LTH_OK && to->probability)
        status = lth__cluster_join(c, LTH_OK, to->probability, grades, err);
    return status == LTH_OK ? check_numbers(to, cells, err) : status;
}

/* ---- Labels ---- */

typedef struct labels {
    const lth_gp *gp;
    const lth__averaged *by;
    lth__softmax_points points; /* of classes that are coupled */
    double *probability;        /* [row][class], 0 at first */
    double *of_model;           /* room for one row         */
} labels;

static void take_labels(void *user, size_t first, size_t rows, const double *mean,
                        const double *variance) {
    const labels *to = user;
    size_t classes = to->gp->classes->class_count;
    for (size_t r = 0; r < rows; r++) {
        double *out = to->probability + (first + r) * classes;
        for (size_t m = 0; m < to->by->count; m++) {
            size_t row = m * rows + r;
            lth__gp_probability(lth__averaged_at(to->by, m), &to->points,
                                mean + row * to->gp->latents, variance + row * spread_of(to->gp),
                                to->of_model);
            for (size_t k = 0; k < classes; k++) out[k] += to->by->weight[m] * to->of_model[k];
        }
        lth__gp_sharpen(to->gp, out);
    }
}

lth_status lth__gp_classify_items(const lth_gp *gp, const lth_items *items, double *probability,
                                  lth_error *err) {
    size_t classes = gp->classes->class_count, cells = items->count * classes;
    lth__averaged by;
    LTH_TRY(find_models(gp, items, &by, err));
    labels to = {.gp = gp,
                 .by = &by,
                 .probability = probability,
                 .of_model = lth__alloc(classes, sizeof *to.of_model)};
    memset(probability, 0, cells * sizeof *probability);
    lth_status status = to.of_model ? LTH_OK : lth__fail_memory(err, 0);
    if (status == LTH_OK && gp->likelihood->coupled)
        status = lth__softmax_points_make(gp->latents, &to.points, err);
    if (status == LTH_OK) status = predict_slices(&by, items, true, NULL, take_labels, &to, err);
    lth__softmax_points_free(&to.points);
    lth__free(to.of_model);
    LTH_TRY(lth__cluster_join(lth__items_ctx(items)->cluster, status, probability, cells, err));
    return lth__gp_check_finite(probability, cells, err);
}

/* ---- Latent functions ---- */

typedef struct latents {
    const lth_gp *gp;
    const lth__averaged *by;
    double *mean, *variance; /* [latent][item] */
    size_t count;
} latents;

size_t lth__gp_spreads(const lth_gp *gp) {
    return gp->likelihood->coupled ? gp->latents * gp->latents : gp->latents;
}

/* Of all models, the mean of a number that lies `stride` apart. */
static double mix(const lth__averaged *by, const double *of, size_t stride) {
    double sum = 0;
    for (size_t k = 0; k < by->count; k++) sum += by->weight[k] * of[k * stride];
    return sum;
}

/* What the means of models add to a covariance by being different. */
static double mix_means(const lth__averaged *by, const double *a, const double *b, size_t stride) {
    double sum = 0, a_mean = mix(by, a, stride), b_mean = mix(by, b, stride);
    for (size_t k = 0; k < by->count; k++)
        sum += by->weight[k] * (a[k * stride] - a_mean) * (b[k * stride] - b_mean);
    return sum;
}

static void take_latents(void *user, size_t first, size_t rows, const double *mean,
                         const double *variance) {
    const latents *to = user;
    const lth_gp *gp = to->gp;
    size_t n = gp->latents, stride = rows * means_of(gp), spreads = lth__gp_spreads(gp);
    for (size_t i = 0; i < rows; i++) {
        const double *of_row = mean + i * n;
        for (size_t l = 0; l < n; l++)
            to->mean[l * to->count + first + i] = mix(to->by, of_row + l, stride);
        for (size_t v = 0; v < spreads; v++) {
            size_t a = gp->likelihood->coupled ? v / n : v, b = v % n;
            double *out = &to->variance[v * to->count + first + i];
            *out = mix(to->by, variance + i * spreads + v, rows * spread_of(gp));
            if (to->by->count > 1) *out += mix_means(to->by, of_row + a, of_row + b, stride);
        }
    }
}

/* In the units of latent_mean. */
static void put_units(const latents *to) {
    const lth_gp *gp = to->gp;
    bool own = lth__gp_has_own_units(gp);
    for (size_t i = 0; !gp->classes && i < gp->latents * to->count; i++) {
        const lth__target *of = &gp->targets[i / to->count];
        to->mean[i] = own ? to->mean[i] + of->link : of->shift + of->scale * to->mean[i];
        if (!own) to->variance[i] *= of->scale * of->scale;
    }
}

lth_status lth__gp_latent_items(const lth_gp *gp, const lth_items *items, double *mean,
                                double *variance, lth_error *err) {
    size_t cells = items->count * gp->latents, spreads = items->count * lth__gp_spreads(gp);
    lth__cluster *c = lth__items_ctx(items)->cluster;
    lth__averaged by;
    LTH_TRY(find_models(gp, items, &by, err));
    latents to = {.gp = gp, .by = &by, .mean = mean, .variance = variance, .count = items->count};
    memset(mean, 0, cells * sizeof *mean);
    memset(variance, 0, spreads * sizeof *variance);
    lth_status status = predict_slices(&by, items, true, NULL, take_latents, &to, err);
    status = lth__cluster_agree(c, status, err);
    if (status == LTH_OK) status = lth__cluster_join(c, LTH_OK, mean, cells, err);
    if (status == LTH_OK) status = lth__cluster_join(c, LTH_OK, variance, spreads, err);
    if (status == LTH_OK) put_units(&to);
    return status;
}

/* ---- Tables ---- */

/* A truth that can be none: a grade that training did not have. */
static lth_status check_truth(const lth_gp *gp, const lth_gp_prediction *to, const lth_table *table,
                              lth_error *err) {
    size_t rows = lth_table_rows(table);
    for (size_t i = 0; gp->grades && to->y && i < rows * gp->target_count; i++) {
        if (lth__grade_find(gp->grades, gp->grade_count, to->y[i]) == gp->grade_count)
            return lth__fail_at(err, LTH_EFORMAT, lth_table_file(table, i % rows),
                                lth_table_line(table, i % rows), 0,
                                "the grade %g is none of those that the model knows, %g to %g",
                                to->y[i], gp->grades[0], gp->grades[gp->grade_count - 1]);
    }
    return LTH_OK;
}

static lth_status read_and_predict(const lth_gp *gp, const lth_table *table,
                                   const lth_gp_prediction *to, lth__known *known, lth_error *err) {
    lth__known_columns columns = {.noise_by = gp->noise_by, .exposure = gp->exposure};
    LTH_TRY(check_truth(gp, to, table, err));
    LTH_TRY(lth__known_read(table, &columns, false, known, err));
    lth__reading r;
    LTH_TRY(lth__reading_open(gp->encoder, table, &r, err));
    double *given = NULL;
    lth_status status = LTH_OK;
    if (to->given_count > 0)
        status = lth__outputs_read_given(gp, table, to->given, to->given_count, &given, err);
    if (status == LTH_OK) status = lth__gp_predict_items(gp, r.items, known, given, to, err);
    lth__free(given);
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
    LTH_TRY(lth__reading_open(gp->encoder, table, &r, err));
    lth_status status = lth__gp_classify_items(gp, r.items, probability, err);
    lth__reading_close(&r);
    return status;
}
