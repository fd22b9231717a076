/* Reasons of Gaussian processes: f = sum_a alpha_a k(x, a) in the target's units, or where these
 * are others, as of counts, in its own; or the latent function of a class.
 */
#include <math.h>
#include <string.h>

#include "model/explain/explain.h"
#include "model/explain/explain_text.h"
#include "model/gp/gp_classes.h"
#include "model/gp/gp_trend.h"
#include "model/posterior/outputs.h"

/* ---- The model ---- */

/* What was taken out of f. */
static double origin_of(const lth_gp *gp, size_t target) {
    if (gp->classes) return 0;
    return lth__gp_has_own_units(gp) ? gp->targets[target].link : gp->targets[target].shift;
}

/* f = sum_a w_a (scale k(x, a) + variance of the mean) */
static void weigh(const lth_gp *gp, size_t target, lth__explained *out) {
    double unit, sum = 0;
    gp->posterior->weigh(gp, lth__gp_latent_of(gp, target, &unit), out->w);
    for (size_t i = 0; i < gp->rows; i++) {
        sum += unit * out->w[i];
        out->w[i] = unit * lth__gp_scale(gp) * out->w[i];
    }
    out->bias = gp->mean->variance * sum + origin_of(gp, target);
}

static lth_status open_model(const lth_gp *gp, size_t target, lth__explained *out, lth_error *err) {
    size_t targets = gp->classes ? gp->classes->class_count : gp->target_count;
    if (target >= targets)
        return lth__fail(err, LTH_EARG, "the model has %zu %s, and none with the number %zu",
                         targets, gp->classes ? "classes" : "targets", target);
    *out = (lth__explained){.kernel = gp->kernel,
                            .encoder = gp->encoder,
                            .prepared = gp->prepared,
                            .cols = gp->items,
                            .w = lth__alloc(gp->rows, sizeof *out->w)};
    if (!out->w) return lth__fail_memory(err, gp->rows * sizeof *out->w);
    weigh(gp, target, out);
    return LTH_OK;
}

/* ---- How sure it is ---- */

/* The variance of the latent function before the training rows are known; its mean and variance
 * afterwards. */
static lth_status vary(const lth_gp *gp, size_t latent, const lth__explaining *x, double *prior,
                       double *mean, double *variance, lth_error *err) {
    size_t n = gp->rows, count = gp->latents;
    if (gp->posterior->ready) LTH_TRY(gp->posterior->ready(gp, err));
    double *k = lth__alloc(n + 2 * count, sizeof *k), *means = k + n, *variances = means + count;
    if (!k) return lth__fail_memory(err, (n + 2 * count) * sizeof *k);
    memcpy(k, x->path.K, n * sizeof *k);
    *prior = x->self;
    lth__gp_prior(gp, k, n);
    lth__gp_prior(gp, prior, 1);
    lth_status status = gp->posterior->predict(gp, lth__items_ctx(x->row.items), 1, k, prior, means,
                                               variances, err);
    if (status == LTH_OK) {
        *mean = means[latent];
        *variance = variances[latent];
    }
    lth__free(k);
    return status;
}

/* By the best parameters, whose reasons are told, also where predictions are averages. */
static lth_status classify(const lth_gp *gp, size_t target, const lth__explaining *x, double *out,
                           lth_error *err) {
    lth_gp alone = *gp;
    size_t classes = gp->classes->class_count;
    double *p = lth__alloc(classes, sizeof *p);
    if (!p) return lth__fail_memory(err, classes * sizeof *p);
    alone.draws = NULL;
    lth_status status = lth__gp_classify_items(&alone, x->row.items, p, err);
    if (status == LTH_OK) *out = p[target];
    lth__free(p);
    return status;
}

/* The variance of the noise where f is in the units of y; what is censored has that of before. */
static double noise_of(const lth_gp *gp, size_t target, lth__at_row f) {
    lth__terms terms = lth__gp_terms(gp, target);
    double scale = gp->targets[target].scale, mean, variance = gp->own[0];
    if (gp->likelihood != &lth__censored) gp->likelihood->moments(&terms, 0, &mean, &variance);
    return variance * exp(f.noise_mean + 0.5 * f.noise_variance) * scale * scale;
}

/* What is expected of y, with what is known of its row; without its exposure, for one of 1. */
static lth_status expect(const lth_gp *gp, size_t target, lth__at_row f, const lth__explaining *x,
                         double *predicted, lth_error *err) {
    lth__known known = {0};
    lth__known_columns columns = {.noise_by = gp->noise_by};
    if (gp->exposure && lth_table_find(x->table, gp->exposure) != LTH_NONE)
        columns.exposure = gp->exposure;
    LTH_TRY(lth__known_read(x->table, &columns, false, &known, err));
    lth__gp_expect(gp, target, f, &known, 0, &(lth_gp_prediction){.point = predicted}, 0);
    lth__known_free(&known);
    return lth__gp_check_finite(predicted, 1, err);
}

static lth_status judge(const lth_gp *gp, size_t target, const lth__explaining *x,
                        lth_reasons_summary *s, lth_error *err) {
    double unit, prior, mean = 0, variance = 0;
    size_t latent = lth__gp_latent_of(gp, target, &unit);
    LTH_TRY(vary(gp, latent, x, &prior, &mean, &variance, err));
    LTH_TRY(lth__gp_trend_at(gp, latent, x->row.items, &s->trend, err));
    s->trend *= unit;
    s->prior = fabs(unit) * sqrt(prior * (gp->classes ? 1 : lth__outputs_size(gp, target)));
    s->distance = fabs(unit) * sqrt(variance);
    if (gp->classes) return classify(gp, target, x, &s->probability, err);
    lth__at_row f = {.mean = mean, .variance = variance};
    LTH_TRY(lth__gp_noise_at(gp, x->row.items, &f, err));
    LTH_TRY(expect(gp, target, f, x, &s->predicted, err));
    if (lth__gp_has_own_units(gp)) {
        s->unit = "latent";
        return LTH_OK;
    }
    double noise = noise_of(gp, target, f);
    s->noise = sqrt(noise);
    s->sd = sqrt(unit * unit * variance + noise);
    return LTH_OK;
}

/* ---- What the rows were ---- */

static lth_status name_labels(const lth_gp *gp, lth_reasons_row *row, lth_reasons *out,
                              lth_error *err) {
    const lth__classes *c = gp->classes;
    lth__string text = {0};
    for (size_t k = 0; k < c->class_count; k++) {
        double sign;
        size_t latent = lth__classes_latent_of(c, k, &sign);
        if (sign * gp->y[latent * gp->rows + row->row] > 0)
            lth__string_format(&text, "%s%s", text.length > 0 ? "," : "", c->name[k]);
    }
    if (!text.failed)
        row->label = lth__pool_strndup(&out->pool, text.bytes ? text.bytes : "", text.length);
    lth__string_free(&text);
    return row->label ? LTH_OK : lth__fail_memory(err, 0);
}

static lth_status describe_rows(const lth_gp *gp, size_t target, lth_reasons *out, lth_error *err) {
    for (size_t i = 0; i < out->summary.rows; i++) {
        lth_reasons_row *row = &out->rows[i];
        if (gp->classes) {
            LTH_TRY(name_labels(gp, row, out, err));
            continue;
        }
        row->y = lth__gp_truth(gp, target, row->row);
    }
    return LTH_OK;
}

/* The least and the largest target: what a prediction is seen against. */
static void find_range(const lth_gp *gp, size_t target, lth_reasons_summary *s) {
    for (size_t i = 0; i < gp->rows && !gp->classes; i++) {
        double y = lth__gp_truth(gp, target, i);
        s->least = fmin(s->least, y);
        s->most = fmax(s->most, y);
    }
}

/* ---- The public face ---- */

lth_status lth_gp_explain(const lth_gp *gp, const lth_table *table, size_t row,
                          const lth_explain_options *given, lth_reasons **out, lth_error *err) {
    lth_explain_options options = lth__explain_options_complete(given);
    lth__explained model = {0};
    lth__explaining x = {0};
    LTH_TRY(open_model(gp, options.target, &model, err));
    lth_reasons *reasons = lth__reasons_create();
    lth_status status = reasons ? LTH_OK : lth__fail_memory(err, sizeof *reasons);
    if (status == LTH_OK) status = lth__explain(&model, table, row, &options, &x, reasons, err);
    if (status == LTH_OK) status = judge(gp, options.target, &x, &reasons->summary, err);
    if (status == LTH_OK) status = describe_rows(gp, options.target, reasons, err);
    if (status == LTH_OK) find_range(gp, options.target, &reasons->summary);
    lth__explaining_close(&x);
    lth__free(model.w);
    if (status == LTH_OK)
        *out = reasons;
    else
        lth_reasons_free(reasons);
    return status;
}

lth_status lth_gp_patterns(const lth_gp *gp, size_t target, size_t count, lth_reasons **out,
                           lth_error *err) {
    lth__explained model = {0};
    LTH_TRY(open_model(gp, target, &model, err));
    lth_reasons *reasons = lth__reasons_create();
    lth_status status = reasons ? lth__explain_patterns(&model, count, reasons, err)
                                : lth__fail_memory(err, sizeof *reasons);
    lth__free(model.w);
    if (status == LTH_OK)
        *out = reasons;
    else
        lth_reasons_free(reasons);
    return status;
}

const char *lth_gp_row_line(const lth_gp *gp, size_t row) {
    return lth__row_line(gp->items, row);
}

const char *lth_gp_row_text(const lth_gp *gp, size_t row, size_t column) {
    return lth__row_text(gp->items, row, column);
}
