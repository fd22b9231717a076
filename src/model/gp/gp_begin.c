/* A Gaussian process before it learns: its options, targets, mean and likelihood. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "data/table.h"
#include "model/gp/gp_classes.h"

void lth_gp_options_init(lth_gp_options *options) {
    *options =
        (lth_gp_options){.size = sizeof *options, .max_iter = 200, .restarts = 4, .learn = true};
}

lth_gp_options lth__gp_options_complete(const lth_gp_options *given) {
    lth_gp_options options;
    lth_gp_options_init(&options);
    if (given) {
        lth__copy_struct(&options, sizeof options, given, given->size);
        options.size = sizeof options;
    }
    return options;
}

lth__source_files lth__gp_files(const lth_gp_options *options) {
    return (lth__source_files){.vectors = options->vectors, .gram = options->gram};
}

/* ---- Targets ---- */

/* Mean and standard deviation of a target; a constant one keeps the scale 1. */
static void measure_target(const lth_gp *gp, const double *y, bool unscaled, lth__target *target) {
    size_t rows = gp->rows;
    double mean = lth__mean_constant.fit(y, rows), square = 0;
    target->shift = gp->mean->fit ? gp->mean->fit(y, rows) : 0;
    for (size_t i = 0; i < rows; i++) {
        double d = y[i] - target->shift;
        square += d * d / (double)rows;
    }
    double rounding = (double)rows * DBL_EPSILON; /* of the mean */
    bool constant = square <= (1e-24 + rounding * rounding) * mean * mean;
    target->scale = constant || unscaled ? 1 : sqrt(square);
    target->constant = constant;
}

static lth_status take_numbers(lth_gp *gp, const double *y, const lth_gp_options *options,
                               lth_error *err) {
    size_t n = gp->rows;
    gp->y = lth__alloc(n * gp->latents, sizeof *gp->y);
    if (!gp->y) return lth__fail_memory(err, n * gp->latents * sizeof *gp->y);
    for (size_t t = 0; t < gp->latents; t++) {
        lth__target *target = &gp->targets[t];
        measure_target(gp, y + t * n, options->unscaled, target);
        for (size_t i = 0; i < n; i++)
            gp->y[t * n + i] = (y[t * n + i] - target->shift) / target->scale;
    }
    return LTH_OK;
}

static void take_labels(lth_gp *gp) {
    gp->y = gp->classes->y;
    gp->classes->y = NULL;
}

static lth_status name_targets(lth_gp *gp, const char *const *names, lth_error *err) {
    gp->targets = lth__calloc(gp->target_count, sizeof *gp->targets);
    if (!gp->targets) return lth__fail_memory(err, gp->target_count * sizeof *gp->targets);
    for (size_t t = 0; t < gp->target_count; t++) {
        gp->targets[t].scale = 1;
        gp->targets[t].name = lth__strndup(names[t], strlen(names[t]));
        if (!gp->targets[t].name) return lth__fail_memory(err, 0);
    }
    return LTH_OK;
}

/* ---- The model ---- */

static lth__gp_how ask(const lth_gp_options *options) {
    return (lth__gp_how){.inducing = options->inducing,
                         .probes = options->probes ? options->probes : 128,
                         .tolerance = options->tolerance > 0 ? options->tolerance : 1e-8,
                         .store = options->store,
                         .on_disk = options->on_disk,
                         .bound = options->bound};
}

/* `y` NULL: labels, whose classes become the model's or are freed. */
static lth_status begin(lth_gp model, const double *y, const char *const *names,
                        const lth_gp_options *options, lth_gp **out, lth_error *err) {
    lth_gp *gp = lth__calloc(1, sizeof *gp);
    if (!gp) {
        lth__classes_free(model.classes);
        return lth__fail_memory(err, sizeof *gp);
    }
    *gp = model;
    gp->base.kind = LTH__MODEL_GP;
    gp->borrowed = true;
    gp->rows = gp->items->count;
    gp->ctx.quiet = true;
    gp->kernel->ctx = &gp->ctx;
    gp->how = ask(options);
    if (gp->how.inducing == 0) gp->how.inducing = lth__gp_default_inducing(gp);
    lth_status status = LTH_OK;
    if (gp->rows == 0) status = lth__fail(err, LTH_EFORMAT, "there are no rows to learn from");
    if (status == LTH_OK) status = name_targets(gp, names, err);
    if (status == LTH_OK && y) status = take_numbers(gp, y, options, err);
    if (status == LTH_OK && !y) take_labels(gp);
    if (status == LTH_OK)
        *out = gp;
    else
        lth_gp_free(gp);
    return status;
}

lth_status lth__gp_begin_numbers(const lth__source *s, lth_items *items, const double *y,
                                 const char *const *names, size_t targets,
                                 const lth_gp_options *options, lth_gp **out, lth_error *err) {
    lth_gp model = {.ctx = *s->ctx,
                    .kernel = s->kernel,
                    .encoder = s->encoder,
                    .items = items,
                    .target_count = targets,
                    .latents = targets,
                    .mean = options->zero_mean ? &lth__mean_zero : &lth__mean_constant,
                    .likelihood = &lth__gaussian};
    return begin(model, y, names, options, out, err);
}

lth_status lth__gp_begin_classes(const lth__source *s, lth_items *items, lth__classes *classes,
                                 const char *name, const lth_gp_options *options, lth_gp **out,
                                 lth_error *err) {
    lth_gp model = {.ctx = *s->ctx,
                    .kernel = s->kernel,
                    .encoder = s->encoder,
                    .items = items,
                    .target_count = 1,
                    .latents = lth__classes_latents(classes),
                    .classes = classes,
                    .mean = &lth__mean_unknown,
                    .likelihood = options->likelihood == LTH_PROBIT ? &lth__probit : &lth__logit};
    return begin(model, NULL, &name, options, out, err);
}

/* ---- From a table ---- */

static lth_status begin_numbers(const lth__source *s, const lth_table *table,
                                const char *const *targets, size_t count,
                                const lth_gp_options *options, lth_gp **out, lth_error *err) {
    double *y = NULL;
    LTH_TRY(lth__read_targets(table, targets, count, &y, err));
    lth_status status = lth__gp_begin_numbers(s, s->items, y, targets, count, options, out, err);
    lth__free(y);
    return status;
}

static lth_status begin_labels(const lth__source *s, const lth_table *table, const char *target,
                               const lth_gp_options *options, lth_gp **out, lth_error *err) {
    lth__labels labels;
    lth__classes *classes = NULL;
    LTH_TRY(lth__labels_read(table, target, &labels, err));
    lth_status status = lth__classes_create(&labels, NULL, labels.rows, &classes, err);
    lth__labels_free(&labels);
    LTH_TRY(status);
    if (classes->rows > 0 && lth__classes_all_alike(classes)) {
        lth__classes_free(classes);
        return lth__fail_at(err, LTH_EFORMAT, lth_table_name(table), 0, 0,
                            "all rows have the same label in column \"%s\": there is nothing to "
                            "tell apart",
                            target);
    }
    return lth__gp_begin_classes(s, s->items, classes, target, options, out, err);
}

lth_status lth__gp_check_labels(const char *const *targets, size_t count,
                                const lth_gp_options *options, lth_error *err) {
    const char *for_numbers = options->zero_mean                          ? "a mean of zero"
                              : options->unscaled                         ? "unscaled"
                              : options->noise > 0 || options->noise_held ? "noise"
                                                                          : NULL;
    if (for_numbers)
        return lth__fail(err, LTH_EARG, "%s is for numbers, but \"%s\" has labels", for_numbers,
                         targets[0]);
    if (count > 1)
        return lth__fail(err, LTH_EARG,
                         "\"%s\" has labels: a model learns one column of labels; fit a model for "
                         "each",
                         targets[0]);
    return LTH_OK;
}

lth_status lth__gp_begin(const lth__source *s, const lth_table *table, const char *const *targets,
                         size_t count, const lth_gp_options *options, lth_gp **out,
                         lth_error *err) {
    bool labels = false;
    LTH_TRY(lth_gp_has_labels(table, targets[0], options->task, &labels, err));
    if (!labels) return begin_numbers(s, table, targets, count, options, out, err);
    LTH_TRY(lth__gp_check_labels(targets, count, options, err));
    return begin_labels(s, table, targets[0], options, out, err);
}
