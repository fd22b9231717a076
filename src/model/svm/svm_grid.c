/* What is to be learned, and the settings to try. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "model/common/labels_wanted.h"
#include "model/svm/svm.h"

/* ---- Options ---- */

void lth_svm_options_init(lth_svm_options *options) {
    static const double C = 1, epsilon = 0.1, nu = 0.5;
    *options = (lth_svm_options){.size = sizeof *options,
                                 .one_vs_rest = true,
                                 .C = &C,
                                 .C_count = 1,
                                 .epsilon = &epsilon,
                                 .epsilon_count = 1,
                                 .nu = &nu,
                                 .nu_count = 1,
                                 .inner_folds = 3};
}

static lth_status check_list(const char *name, const double *at, size_t count, double least,
                             double most, const char *wanted, lth_error *err) {
    if (count == 0) return lth__fail(err, LTH_EARG, "%s has no value", name);
    for (size_t i = 0; i < count; i++) {
        if (at[i] > least && at[i] <= most) continue;
        return lth__fail(err, LTH_EARG, "%s is %s, not %g", name, wanted, at[i]);
    }
    return LTH_OK;
}

lth__source_files lth__svm_files(const lth_svm_options *options) {
    return (lth__source_files){.vectors = {options->vectors, options->word_vectors},
                               .gram = options->gram};
}

lth_status lth__svm_options_complete(const lth_svm_options *given, lth_svm_options *out,
                                     lth_error *err) {
    lth_svm_options_init(out);
    if (given) {
        lth__copy_struct(out, sizeof *out, given, given->size);
        out->size = sizeof *out;
    }
    const double large = 1e300;
    LTH_TRY(check_list("C", out->C, out->C_count, 0, large, "a number above 0", err));
    LTH_TRY(check_list("epsilon", out->epsilon, out->epsilon_count, -5e-324, large,
                       "0 or a number above it", err));
    LTH_TRY(check_list("nu", out->nu, out->nu_count, 0, 1, "above 0 and at most 1", err));
    if (out->inner_folds < 2) return lth__fail(err, LTH_EARG, "inner folds are 2 at least");
    if (out->class_weights && out->nu_svm)
        return lth__fail(err, LTH_EARG, "class weights are factors of C, which nu-SVC has not");
    if (out->gram && out->set_count > 0)
        return lth__fail(err, LTH_EARG, "a Gram matrix on disk is of one kernel, without a grid");
    if (out->gram && out->solver == LTH_SVM_LINEAR)
        return lth__fail(err, LTH_EARG, "the linear solver needs no Gram matrix");
    return LTH_OK;
}

/* ---- Targets ---- */

void lth__svm_target_free(lth__svm_target *t) {
    lth__free(t->y);
    lth__free(t->weight);
    lth__labels_free(&t->labels);
    *t = (lth__svm_target){0};
}

static const char *class_name_at(const void *labels, size_t i) {
    const lth__labels *l = labels;
    return i < l->class_count ? l->name[i] : NULL;
}

static lth_status unknown_class(const lth__labels *labels, const char *name, lth_error *err) {
    const char *near = lth_nearest(name, class_name_at, labels);
    return lth__fail(err, LTH_EARG,
                     near ? "class weights: there is no class \"%s\"; did you mean \"%s\"?"
                          : "class weights: there is no class \"%s\"",
                     name, near);
}

/* "NAME=W"; a name may have "=" in it. */
static lth_status take_weight(lth__svm_target *t, char *text, lth_error *err) {
    char *equals = strrchr(text, '=');
    double weight;
    if (!equals || !lth__parse_double(equals + 1, strlen(equals + 1), &weight) || !(weight > 0) ||
        !isfinite(weight))
        return lth__fail(err, LTH_EARG,
                         "class weights are \"balanced\" or NAME=W,..., with W "
                         "above 0, not \"%s\"",
                         text);
    *equals = 0;
    size_t class = lth__labels_find(&t->labels, text, strlen(text));
    if (class == LTH_NONE) return unknown_class(&t->labels, text, err);
    t->weight[class] = weight;
    return LTH_OK;
}

static lth_status read_weights(lth__svm_target *t, const char *text, lth_error *err) {
    t->balanced = text && strcmp(text, "balanced") == 0;
    if (!text || t->balanced) return LTH_OK;
    t->weight = lth__alloc(t->labels.class_count, sizeof *t->weight);
    char *copy = lth__strndup(text, strlen(text));
    lth_status status = t->weight && copy ? LTH_OK : lth__fail_memory(err, 0);
    for (size_t c = 0; status == LTH_OK && c < t->labels.class_count; c++) t->weight[c] = 1;
    for (char *next = copy; next && status == LTH_OK;) {
        char *end = next + strcspn(next, ","), *item = next;
        next = *end ? end + 1 : NULL;
        *end = 0;
        status = take_weight(t, item, err);
    }
    lth__free(copy);
    return status;
}

static lth_status check_classes(lth_ctx *ctx, const lth_table *table, const lth__svm_target *t,
                                lth_error *err) {
    const lth__labels *l = &t->labels;
    if (l->class_count < 2 && !l->multi)
        return lth__fail_at(err, LTH_EFORMAT, lth_table_name(table), 0, 0,
                            l->class_count == 0
                                ? "there are no labels in column \"%s\""
                                : "all rows have the same label in column \"%s\": there is "
                                  "nothing to tell apart",
                            t->name);
    bool odd = lth__labels_warn(ctx, t->name, l); /* which says it of all labels at once */
    for (size_t c = 0; c < l->class_count; c++) {
        if (l->count[c] == 1 && !odd)
            lth__log(ctx, LTH_LOG_WARNING, "only one row has the label \"%s\"", l->name[c]);
        if (l->count[c] == l->rows)
            lth__log(ctx, LTH_LOG_WARNING, "all rows have the label \"%s\"", l->name[c]);
    }
    return LTH_OK;
}

static lth_status read_labels(lth_ctx *ctx, const lth_table *table, const lth_svm_options *options,
                              lth__svm_target *t, lth_error *err) {
    LTH_TRY(lth__labels_read(table, t->name, &t->labels, err));
    LTH_TRY(check_classes(ctx, table, t, err));
    return read_weights(t, options->class_weights, err);
}

static lth_status read_numbers(lth_ctx *ctx, const lth_table *table, const lth_svm_options *options,
                               lth__svm_target *t, lth_error *err) {
    LTH_TRY(lth__read_targets(table, &t->name, 1, false, &t->y, err));
    size_t rows = lth_table_rows(table), kinds = 0;
    double seen[3] = {0};
    for (size_t i = 0; i < rows && kinds < 3; i++) {
        size_t k = 0;
        while (k < kinds && seen[k] != t->y[i]) k++;
        if (k == kinds) seen[kinds++] = t->y[i];
    }
    if (kinds == 2 && options->task == LTH_TASK_AUTO)
        lth__log(ctx, LTH_LOG_WARNING,
                 "\"%s\" has two values, %g and %g, which are taken as numbers; --task "
                 "classification takes them as labels",
                 t->name, seen[0], seen[1]);
    if (options->probability)
        return lth__fail(err, LTH_EARG, "probabilities are for labels, but \"%s\" has numbers",
                         t->name);
    if (options->class_weights)
        return lth__fail(err, LTH_EARG, "class weights are for labels, but \"%s\" has numbers",
                         t->name);
    return LTH_OK;
}

lth_status lth__svm_warn(lth_ctx *ctx, const char *expression, const char *const *targets,
                         size_t count, lth_error *err) {
    lth_kernel *kernel = NULL;
    LTH_TRY(lth_kernel_parse(ctx, expression, &kernel, err));
    lth__targets_warn(ctx, kernel, targets, count);
    lth_kernel_free(kernel);
    return LTH_OK;
}

lth_status lth__svm_target_read(lth_ctx *ctx, const lth_table *table, const char *name,
                                const lth_svm_options *options, lth__svm_target *out,
                                lth_error *err) {
    lth__svm_target t = {
        .name = name, .one_vs_rest = options->one_vs_rest, .probability = options->probability};
    bool labels;
    if (lth_table_rows(table) == 0)
        return lth__fail(err, LTH_EFORMAT, "there are no rows to learn from");
    LTH_TRY(lth__labels_wanted(table, name, options->task, &labels, err));
    lth_status status = labels ? read_labels(ctx, table, options, &t, err)
                               : read_numbers(ctx, table, options, &t, err);
    if (status == LTH_OK)
        *out = t;
    else
        lth__svm_target_free(&t);
    return status;
}

/* ---- Settings ---- */

lth_status lth__svm_settings_make(const lth_svm_options *o, const lth__svm_target *target,
                                  lth__svm_settings *out, lth_error *err) {
    bool regression = target->y != NULL;
    if (o->solver == LTH_SVM_ORIGIN && (regression || o->nu_svm))
        return lth__fail(err, LTH_EARG, "the solver without a threshold is for labels, with C");
    bool uses_C = regression || !o->nu_svm, uses_epsilon = regression && !o->nu_svm;
    size_t Cs = uses_C ? o->C_count : 1, epsilons = uses_epsilon ? o->epsilon_count : 1;
    size_t nus = o->nu_svm ? o->nu_count : 1;
    lth__svm_settings s = {.at = lth__alloc(Cs * epsilons * nus, sizeof *s.at)};
    if (!s.at) return lth__fail_memory(err, 0);
    for (size_t c = 0; c < Cs; c++) {
        for (size_t e = 0; e < epsilons; e++) {
            for (size_t n = 0; n < nus; n++)
                s.at[s.count++] = (lth__svm_setting){.regression = regression,
                                                     .nu_svm = o->nu_svm,
                                                     .origin = o->solver == LTH_SVM_ORIGIN,
                                                     .C = uses_C ? o->C[c] : NAN,
                                                     .epsilon = uses_epsilon ? o->epsilon[e] : NAN,
                                                     .nu = o->nu_svm ? o->nu[n] : NAN};
        }
    }
    *out = s;
    return LTH_OK;
}
