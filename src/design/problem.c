/* What is asked of which models, and what they expect of rows.
 *
 * With series f_i, signs s_i and weights w_i a sum has the mean sum_i s_i w_i m_i and the
 * covariances sum_i w_i^2 C_i: targets count as independent, given the rows.
 */
#include "design/problem.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "model/gp/gp_classes.h"
#include "model/likelihood/likelihood.h"

/* ---- Options ---- */

enum { SHORTLIST = 2048, DRAWS = 512 };

void lth_propose_options_init(lth_propose_options *options) {
    *options = (lth_propose_options){.size = sizeof *options,
                                     .count = 1,
                                     .beta = 2,
                                     .best = NAN,
                                     .feasible_least = NAN,
                                     .feasible_most = NAN,
                                     .distance = 1,
                                     .shortlist = SHORTLIST,
                                     .draws = DRAWS};
}

static lth_propose_options complete(const lth_propose_options *given) {
    lth_propose_options o, all;
    lth_propose_options_init(&o);
    all = o;
    if (given) lth__copy_struct(&o, sizeof o, given, given->size);
    o.size = sizeof o;
    if (o.beta == 0) o.beta = all.beta;
    if (o.distance == 0) o.distance = all.distance;
    if (o.shortlist == 0) o.shortlist = all.shortlist;
    if (o.draws == 0) o.draws = all.draws;
    return o;
}

static lth_status check(const lth__problem *p, lth_error *err) {
    const lth_propose_options *o = &p->options;
    if (!(o->beta >= 0 && isfinite(o->beta)))
        return lth__fail(err, LTH_EARG, "beta is %g, but it is a number of at least 0", o->beta);
    if (isinf(o->best)) return lth__fail(err, LTH_EARG, "the best so far is not finite");
    if (!p->objectives.summed && !isnan(o->best))
        return lth__fail(err, LTH_EARG, "several objectives have no single best value");
    const lth_model *first = p->models[0];
    if (o->distance > 1 && !lth__rows_are_texts(lth_model_kernel(first)))
        return lth__fail(err, LTH_EARG,
                         "a distance in letters is for texts, and the kernel reads none");
    return LTH_OK;
}

lth_status lth__problem_open(lth_model *const *models, size_t count,
                             const lth_propose_options *options, lth__problem *out,
                             lth_error *err) {
    *out = (lth__problem){.models = models, .model_count = count, .options = complete(options)};
    if (count == 0) return lth__fail(err, LTH_EARG, "there is no model to ask");
    LTH_TRY(lth__objectives_find(models, count, &out->options, &out->objectives, err));
    LTH_TRY(lth__objectives_settle(&out->objectives, models, &out->options, err));
    out->acquisition = lth__acquisition_at(out->options.acquisition);
    return check(out, err);
}

void lth__problem_close(lth__problem *p) {
    lth__objectives_free(&p->objectives);
}

lth_ctx *lth__problem_ctx(const lth__candidates *c) {
    return lth__items_ctx(c->items[0]);
}

/* ---- Functions and series ---- */

static const lth_gp *gp_at(const lth__problem *p, size_t model) {
    return lth_model_gp(p->models[model]);
}

/* The classifier that is learned; NULL = numbers are optimised. */
static const lth_gp *learned(const lth__problem *p) {
    return p->objectives.labels ? gp_at(p, p->objectives.list[0].model) : NULL;
}

size_t lth__problem_functions(const lth__problem *p) {
    const lth_gp *gp = learned(p);
    return gp ? gp->latents : lth__objectives_functions(&p->objectives);
}

size_t lth__problem_series(const lth__problem *p) {
    const lth_gp *gp = learned(p);
    return gp ? gp->latents : p->objectives.count;
}

size_t lth__problem_spreads(const lth__problem *p) {
    const lth_gp *gp = learned(p);
    return gp ? lth__gp_spreads(gp) : p->objectives.count;
}

static void combine_means(const lth__problem *p, const double *mean, size_t stride, double *to) {
    const lth__objectives *o = &p->objectives;
    if (!o->labels && o->summed) *to = 0;
    for (size_t i = 0; i < lth__problem_series(p); i++) {
        double sign = o->labels ? 1 : lth__objective_sign(&o->list[i]);
        if (!o->labels && o->summed)
            *to += sign * o->list[i].weight * mean[i * stride];
        else
            to[i] = sign * mean[i * stride];
    }
}

void lth__problem_combine(const lth__problem *p, const double *mean, const double *variance,
                          size_t stride, double *to_mean, double *to_variance) {
    const lth__objectives *o = &p->objectives;
    bool summed = !o->labels && o->summed;
    combine_means(p, mean, stride, to_mean);
    if (variance && summed) *to_variance = 0;
    for (size_t i = 0; variance && i < lth__problem_spreads(p); i++) {
        if (summed)
            *to_variance += o->list[i].weight * o->list[i].weight * variance[i * stride];
        else
            to_variance[i] = variance[i * stride];
    }
}

/* ---- Rows by themselves ---- */

static lth_status predict_svm(const lth_svm *svm, const lth__objective *o, const lth_table *table,
                              double *mean, lth_error *err) {
    size_t rows = lth_table_rows(table), classes = lth_svm_reported(svm)->classes;
    size_t width = classes > 2 || lth_svm_reported(svm)->multi_label ? classes : 1;
    if (classes == 0)
        return lth_svm_predict(svm, table, &(lth_svm_prediction){.value = mean},
                               sizeof(lth_svm_prediction), err);
    double *score = lth__alloc(rows * width, sizeof *score);
    if (!score) return lth__fail_memory(err, rows * width * sizeof *score);
    lth_status status = lth_svm_predict(svm, table, &(lth_svm_prediction){.score = score},
                                        sizeof(lth_svm_prediction), err);
    for (size_t i = 0; i < rows && status == LTH_OK; i++)
        mean[i] =
            width == 1 ? (o->function == 0 ? -score[i] : score[i]) : score[i * width + o->function];
    lth__free(score);
    return status;
}

/* All series of one Gaussian process at once. */
static lth_status predict_gp(const lth__problem *p, size_t model, const lth_items *items,
                             double *mean, double *variance, lth_error *err) {
    const lth_gp *gp = gp_at(p, model);
    size_t rows = items->count, cells = gp->latents * rows, spreads = lth__gp_spreads(gp);
    size_t step = spreads > gp->latents ? gp->latents + 1 : 1, most = cells + spreads * rows;
    if (p->objectives.labels) return lth__gp_latent_items(gp, items, mean, variance, err);
    double *all = lth__alloc(most, sizeof *all);
    if (!all) return lth__fail_memory(err, most * sizeof *all);
    lth_status status = lth__gp_latent_items(gp, items, all, all + cells, err);
    for (size_t i = 0; i < p->objectives.count && status == LTH_OK; i++) {
        const lth__objective *o = &p->objectives.list[i];
        if (o->model != model || rows == 0) continue;
        memcpy(mean + i * rows, all + o->function * rows, rows * sizeof *mean);
        memcpy(variance + i * rows, all + cells + o->function * step * rows,
               rows * sizeof *variance);
    }
    lth__free(all);
    return status;
}

static bool is_asked(const lth__problem *p, size_t model) {
    for (size_t i = 0; i < p->objectives.count; i++) {
        if (p->objectives.list[i].model == model) return true;
    }
    return false;
}

lth_status lth__problem_predict(const lth__problem *p, lth_items *const *items,
                                const lth_table *table, double *mean, double *variance,
                                lth_error *err) {
    for (size_t m = 0; m < p->model_count; m++) {
        if (gp_at(p, m) && is_asked(p, m)) LTH_TRY(predict_gp(p, m, items[m], mean, variance, err));
    }
    for (size_t i = 0; i < p->objectives.count; i++) {
        const lth__objective *o = &p->objectives.list[i];
        const lth_svm *svm = lth_model_svm(p->models[o->model]);
        size_t rows = items[o->model]->count;
        if (!svm) continue;
        memset(variance + i * rows, 0, rows * sizeof *variance);
        LTH_TRY(predict_svm(svm, o, table, mean + i * rows, err));
    }
    return LTH_OK;
}

/* ---- Rows together ---- */

static void add(double *to, double factor, const double *from, size_t count) {
    for (size_t i = 0; i < count; i++) to[i] += factor * from[i];
}

/* What a model's latent functions add to the functions of the problem. */
static void add_model(const lth__problem *p, size_t model, size_t rows, const double *mean,
                      const double *covariance, double *to_mean, double *to_covariance) {
    const lth__objectives *o = &p->objectives;
    size_t square = rows * rows;
    for (size_t i = 0; i < lth__problem_series(p); i++) {
        const lth__objective *one = o->labels ? NULL : &o->list[i];
        size_t from = one ? one->function : i, to = one && o->summed ? 0 : i;
        double weight = one && o->summed ? one->weight : 1;
        double sign = one ? lth__objective_sign(one) : 1;
        if (one && one->model != model) continue;
        add(to_mean + to * rows, sign * weight, mean + from * rows, rows);
        add(to_covariance + to * square, weight * weight, covariance + from * square, square);
    }
}

lth_status lth__problem_join(const lth__problem *p, lth_items *const *items, double *mean,
                             double *covariance, lth_error *err) {
    size_t rows = items[0]->count, functions = lth__problem_functions(p);
    memset(mean, 0, functions * rows * sizeof *mean);
    memset(covariance, 0, functions * rows * rows * sizeof *covariance);
    for (size_t m = 0; m < p->model_count; m++) {
        if (!is_asked(p, m)) continue;
        size_t latents = gp_at(p, m)->latents, cells = latents * rows * (rows + 1);
        double *all = lth__alloc(cells, sizeof *all);
        if (!all) return lth__fail_memory(err, cells * sizeof *all);
        double *C = all + latents * rows;
        lth_status status = lth__gp_joint_items(gp_at(p, m), items[m], all, C, err);
        if (status == LTH_OK) add_model(p, m, rows, all, C, mean, covariance);
        lth__free(all);
        LTH_TRY(status);
    }
    return LTH_OK;
}

/* ---- Noise ---- */

/* Where y is not f and noise: that of the normal distribution that says as much of f as y does, if
 * y is what is expected of it. */
static double noise_of_site(const lth_gp *gp, size_t latent, double f) {
    const lth__likelihood *l = gp->likelihood;
    lth__terms terms = lth__gp_terms(gp, gp->classes ? 0 : latent);
    double y = 1, spread;
    if (l->coupled) return 4; /* at most 1 / (p (1 - p)) */
    if (!gp->classes) l->moments(&terms, f, &y, &spread);
    double curvature = -l->at(&terms, l->of == LTH__OF_GRADES ? round(y) : y, f).d2;
    return curvature > 1e-12 ? 1 / curvature : 1e12;
}

static double noise_of_series(const lth_gp *gp, size_t latent, double mean) {
    if (gp->classes || lth__gp_has_own_units(gp)) return noise_of_site(gp, latent, mean);
    double first = gp->targets[0].scale, own = gp->targets[latent].scale;
    double ratio = first > 0 ? own / first : 1;
    return lth__gp_noise(gp) * ratio * ratio;
}

double lth__problem_noise(const lth__problem *p, size_t function, double mean) {
    const lth__objectives *o = &p->objectives;
    if (o->labels) return noise_of_series(learned(p), function, mean);
    if (!o->summed || o->count == 1) {
        const lth__objective *one = &o->list[function];
        double weight = o->summed ? one->weight : 1;
        return weight * weight *
               noise_of_series(gp_at(p, one->model), one->function,
                               lth__objective_sign(one) * mean / weight);
    }
    double sum = 0;
    for (size_t i = 0; i < o->count; i++) {
        const lth__objective *one = &o->list[i];
        sum += one->weight * one->weight * noise_of_series(gp_at(p, one->model), one->function, 0);
    }
    return sum;
}
