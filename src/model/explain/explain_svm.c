/* Reasons of support vector machines: the decision value of one problem, by its support rows, or
 * by its weights of features.
 */
#include <math.h>
#include <string.h>

#include "model/explain/explain.h"
#include "model/explain/explain_text.h"
#include "model/svm/svm.h"

static lth_status check_problem(const lth_svm *svm, size_t problem, lth_error *err) {
    size_t problems = svm->machine.part_count;
    if (problem < problems) return LTH_OK;
    return lth__fail(err, LTH_EARG, "the model has %zu problems, and none with the number %zu",
                     problems, problem);
}

/* ---- With support rows ---- */

static lth_status open_model(const lth_svm *svm, size_t problem, lth__explained *out,
                             lth_error *err) {
    const lth__svm_solution *s = &svm->machine.parts[problem].solution;
    *out = (lth__explained){.kernel = svm->kernel,
                            .encoder = svm->encoder,
                            .prepared = svm->prepared,
                            .cols = svm->support,
                            .w = lth__calloc(svm->report.support, sizeof *out->w),
                            .bias = -s->rho};
    if (!out->w) return lth__fail_memory(err, svm->report.support * sizeof *out->w);
    for (size_t i = 0; i < s->count; i++) out->w[s->row[i]] += s->coef[i];
    return LTH_OK;
}

/* The side that a support row is on. */
static void describe_rows(const lth_svm *svm, size_t problem, const double *w, lth_reasons *out) {
    const lth__svm_part *part = &svm->machine.parts[problem];
    for (size_t i = 0; !svm->report.regression && i < out->summary.rows; i++) {
        size_t class = w[out->rows[i].row] > 0 ? part->positive : part->negative;
        const char *name = class == LTH_NONE ? "other" : svm->class_name[class];
        out->rows[i].label = lth__pool_strndup(&out->pool, name, strlen(name));
    }
}

/* ---- With weights of features ---- */

/* A map of the kernel with its features' weights in problem: w[f * maps + map]. */
typedef struct weighed {
    lth__svm_features features;
    double *w;
} weighed;

static void free_weighed(weighed *x) {
    lth__svm_features_free(&x->features);
    lth__free(x->w);
}

static lth_status open_weighed(const lth_svm *svm, size_t problem, lth_items *items, weighed *x,
                               lth_error *err) {
    const lth__svm_solution *s = &svm->machine.parts[problem].solution;
    LTH_TRY(lth__svm_features_make(svm->kernel, items, &x->features, err));
    x->w = lth__calloc(x->features.width, sizeof *x->w);
    if (!x->w) return lth__fail_memory(err, x->features.width * sizeof *x->w);
    for (size_t i = 0; i < s->weight_count && s->feature[i] < x->features.width; i++)
        x->w[s->feature[i]] = s->weight[i];
    return LTH_OK;
}

static const lth__node *node_of(const lth_svm *svm, const lth_items *items,
                                const lth__svm_map *map) {
    return svm->kernel->nodes[map->features - items->features];
}

/* The shares of the features of the one item. */
static lth_status find_shares(const lth_svm *svm, const lth_items *items, const weighed *x,
                              lth__shares *shares, lth_error *err) {
    for (size_t m = 0; m < x->features.map_count; m++) {
        const lth__svm_map *map = &x->features.maps[m];
        const lth__features *f = map->features;
        size_t count = f->start[1] - f->start[0];
        shares[m].node = node_of(svm, items, map);
        shares[m].of_features = true;
        shares[m].share = lth__alloc(count, sizeof *shares[m].share);
        if (!shares[m].share) return lth__fail_memory(err, count * sizeof *shares[m].share);
        for (size_t i = 0; i < count; i++) {
            size_t feature = f->feature[f->start[0] + i];
            shares[m].share[i] = map->scale[0] * f->weight[f->start[0] + i] *
                                 x->w[feature * x->features.map_count + m];
        }
    }
    return LTH_OK;
}

static lth_status explain_shares(const lth_svm *svm, const lth_table *table, const lth_items *items,
                                 const lth_explain_options *options, const weighed *x,
                                 lth__shares *shares, lth_reasons *out, lth_error *err) {
    size_t maps = x->features.map_count;
    LTH_TRY(find_shares(svm, items, x, shares, err));
    LTH_TRY(lth__reasons_parts(out, table, items, shares, maps, err));
    for (size_t m = 0; options->patterns > 0 && m < maps; m++)
        LTH_TRY(lth__feature_row_patterns(out, shares[m].node, items, shares[m].share, svm->items,
                                          NULL, 2 * options->patterns, err));
    lth__reasons_choose_patterns(out, options->patterns, false);
    lth_reasons_summary *s = &out->summary;
    double sum = 0, weights = 0;
    for (size_t m = 0; m < maps; m++) {
        const lth__features *f = x->features.maps[m].features;
        for (size_t i = 0; i < f->start[1] - f->start[0]; i++) sum += shares[m].share[i];
    }
    for (size_t i = 0; i < s->parts; i++) weights += out->parts[i].weight;
    s->baseline = -svm->machine.parts[options->target].solution.rho;
    s->mean = s->baseline + sum;
    s->missed = sum - weights;
    s->exact = true;
    return LTH_OK;
}

static lth_status explain_by_weights(const lth_svm *svm, const lth_table *table,
                                     const lth_explain_options *options, lth_items *items,
                                     lth_reasons *out, lth_error *err) {
    weighed x = {0};
    lth_status status = open_weighed(svm, options->target, items, &x, err);
    size_t maps = x.features.map_count;
    lth__shares *shares = lth__calloc(maps + 1, sizeof *shares);
    if (status == LTH_OK && !shares) status = lth__fail_memory(err, maps * sizeof *shares);
    if (status == LTH_OK) status = explain_shares(svm, table, items, options, &x, shares, out, err);
    for (size_t m = 0; shares && m < maps; m++) lth__free(shares[m].share);
    lth__free(shares);
    free_weighed(&x);
    return status;
}

static lth_status explain_linear(const lth_svm *svm, const lth_table *table, size_t row,
                                 const lth_explain_options *options, lth_reasons *out,
                                 lth_error *err) {
    lth_table *one = NULL;
    lth__reading r = {0};
    LTH_TRY(lth__table_pick(table, row, &one, err));
    lth_status status = lth__reading_open(svm->encoder, one, &r, err);
    if (status == LTH_OK) status = explain_by_weights(svm, one, options, r.items, out, err);
    lth__reading_close(&r);
    lth_table_free(one);
    return status;
}

/* ---- Patterns of weights ---- */

/* The mean of what the rows' features are multiplied by; 1 when no rows are kept. */
static double mean_scale(const lth__svm_map *map, size_t rows) {
    double sum = 0;
    for (size_t i = 0; i < rows; i++) sum += map->scale[i] / (double)rows;
    return rows > 0 ? sum : 1;
}

static lth_status map_patterns(const lth_svm *svm, const weighed *x, size_t m,
                               const lth_items *items, size_t count, lth_reasons *out,
                               lth_error *err) {
    const lth__svm_map *map = &x->features.maps[m];
    const lth__node *node = node_of(svm, items, map);
    size_t maps = x->features.map_count, features = x->features.width / maps;
    double scale = mean_scale(map, items == svm->items ? items->count : 0);
    double *weight = lth__alloc(features, sizeof *weight);
    if (!weight) return lth__fail_memory(err, features * sizeof *weight);
    lth__feature_least(map->features, items->count, weight, features);
    for (size_t f = 0; f < features; f++) weight[f] *= scale * x->w[f * maps + m];
    lth_status status =
        lth__feature_patterns(out, node, svm->encoder, weight, features, items, NULL, count, err);
    lth__free(weight);
    return status;
}

/* Where the rows are not kept a feature that a row has once weighs 1: one row with all of them. */
static lth_status all_features(const lth_svm *svm, size_t problem, lth_items **out,
                               lth_error *err) {
    const lth__svm_solution *s = &svm->machine.parts[problem].solution;
    size_t width = s->weight_count > 0 ? (size_t)s->feature[s->weight_count - 1] + 1 : 0;
    lth_items *items = NULL;
    LTH_TRY(lth__items_create(svm->encoder, 1, &items, err));
    for (size_t n = 0; n < svm->kernel->node_count; n++) {
        if (!svm->kernel->nodes[n]->family->features_to_units) continue;
        lth__features *f = &items->features[n];
        f->start = lth__calloc(2, sizeof *f->start);
        f->feature = lth__alloc(width, sizeof *f->feature);
        f->weight = lth__alloc(width, sizeof *f->weight);
        if (!f->start || !f->feature || !f->weight) {
            lth_items_free(items);
            return lth__fail_memory(err, width * sizeof *f->weight);
        }
        f->start[1] = width;
        for (size_t i = 0; i < width; i++) f->feature[i] = (uint32_t)i, f->weight[i] = 1;
    }
    *out = items;
    return LTH_OK;
}

static lth_status linear_patterns(const lth_svm *svm, size_t problem, size_t count,
                                  lth_reasons *out, lth_error *err) {
    weighed x = {0};
    lth_items *made = NULL;
    bool there = svm->items && !lth__svm_asks_features(svm->kernel);
    if (!there) LTH_TRY(all_features(svm, problem, &made, err));
    lth_items *items = there ? svm->items : made;
    lth_status status = open_weighed(svm, problem, items, &x, err);
    for (size_t m = 0; m < x.features.map_count && status == LTH_OK; m++)
        status = map_patterns(svm, &x, m, items, 2 * count, out, err);
    for (size_t i = 0; made && i < out->summary.patterns; i++) {
        out->patterns[i].rows = 0;
        out->patterns[i].example = LTH_NONE;
    }
    if (status == LTH_OK) lth__reasons_choose_patterns(out, count, true);
    free_weighed(&x);
    lth_items_free(made);
    return status;
}

/* ---- The public face ---- */

static lth_status explain_kernel(const lth_svm *svm, const lth_table *table, size_t row,
                                 const lth_explain_options *options, lth_reasons *out,
                                 lth_error *err) {
    lth__explained model = {0};
    lth__explaining x = {0};
    LTH_TRY(open_model(svm, options->target, &model, err));
    lth_status status = lth__explain(&model, table, row, options, &x, out, err);
    if (status == LTH_OK) describe_rows(svm, options->target, model.w, out);
    lth__explaining_close(&x);
    lth__free(model.w);
    return status;
}

lth_status lth_svm_explain(const lth_svm *svm, const lth_table *table, size_t row,
                           const lth_explain_options *given, lth_reasons **out, lth_error *err) {
    lth_explain_options options = lth__explain_options_complete(given);
    LTH_TRY(check_problem(svm, options.target, err));
    lth_reasons *reasons = lth__reasons_create();
    if (!reasons) return lth__fail_memory(err, sizeof *reasons);
    lth_status status = svm->report.linear
                            ? explain_linear(svm, table, row, &options, reasons, err)
                            : explain_kernel(svm, table, row, &options, reasons, err);
    if (status != LTH_OK) {
        lth_reasons_free(reasons);
        return status;
    }
    if (svm->report.probability)
        reasons->summary.probability =
            lth__sigmoid_at(svm->machine.parts[options.target].sigmoid, reasons->summary.mean);
    *out = reasons;
    return LTH_OK;
}

lth_status lth_svm_patterns(const lth_svm *svm, size_t problem, size_t count, lth_reasons **out,
                            lth_error *err) {
    LTH_TRY(check_problem(svm, problem, err));
    lth_reasons *reasons = lth__reasons_create();
    if (!reasons) return lth__fail_memory(err, sizeof *reasons);
    lth__explained model = {0};
    lth_status status = LTH_OK;
    if (svm->report.linear) {
        status = linear_patterns(svm, problem, count, reasons, err);
    } else {
        status = open_model(svm, problem, &model, err);
        if (status == LTH_OK) status = lth__explain_patterns(&model, count, reasons, err);
        lth__free(model.w);
    }
    if (status == LTH_OK)
        *out = reasons;
    else
        lth_reasons_free(reasons);
    return status;
}

const char *lth_svm_row_line(const lth_svm *svm, size_t row) {
    return lth__row_line(svm->support, row);
}

const char *lth_svm_row_text(const lth_svm *svm, size_t row, size_t column) {
    return lth__row_text(svm->support, row, column);
}
