/* Fitting a Gaussian process: from a table, or from items that are already encoded. */
#include <math.h>
#include <string.h>

#include "data/table.h"
#include "kernel/core/store.h"
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
    bool constant = square <= 1e-24 * mean * mean;
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

/* ---- Starts ---- */

static lth_status make_room(lth_gp *gp, lth_error *err) {
    size_t n = gp->rows, params = lth__gp_param_count(gp);
    if (n > (size_t)1 << 20)
        return lth__fail(err, LTH_EARG, "%zu rows are too many for an exact Gaussian process", n);
    LTH_TRY(lth__memory_check(gp->posterior->matrices(gp) * n * n * sizeof(double),
                              "an exact Gaussian process on that many rows",
                              "use fewer rows (--where), or a machine with more memory", err));
    gp->start = lth__alloc(params, sizeof *gp->start);
    gp->held = lth__calloc(params, sizeof *gp->held);
    gp->at_bound = lth__calloc(params, sizeof *gp->at_bound);
    if (!gp->start || !gp->held || !gp->at_bound) return lth__fail_memory(err, 0);
    return gp->posterior->open(gp, err);
}

/* Half of the targets' variance, unless the caller knows better. */
static double start_of_noise(const lth_gp *gp, const lth_gp_options *options) {
    size_t count = gp->rows * gp->latents;
    double square = 0, scale = gp->targets[0].scale;
    if (options->noise > 0) return options->noise / (scale * scale);
    if (!options->unscaled) return 0.5;
    for (size_t i = 0; i < gp->rows; i++) {
        for (size_t t = 0; t < gp->latents; t++) {
            double y = gp->y[t * gp->rows + i];
            square += y * y;
        }
    }
    return square > 0 ? 0.5 * square / (double)count : 0.5;
}

/* Values before learning, and what is held; the kernel's own are guessed later. */
static lth_status set_starts(lth_gp *gp, const lth_gp_options *options, lth_error *err) {
    size_t params = gp->kernel->param_count;
    /* A matrix on disk is that of these values. */
    for (size_t p = 0; p < params; p++)
        gp->held[p] = gp->kernel->params[p].held || gp->items->stored;
    gp->held[params] = options->noise_held;
    LTH_TRY(lth__gp_hold(gp, options, err));
    if (gp->likelihood->own_units) {
        bool has_size =
            lth__kernel_has_size(gp->kernel, gp->held); /* a factor would say the same */
        gp->own[0] = has_size ? 1 : 5;
        gp->held[params] |= has_size;
    } else {
        gp->own[0] = start_of_noise(gp, options);
    }
    for (size_t i = 0; i < lth__gp_own_count(gp); i++) gp->start[params + i] = gp->own[i];
    return LTH_OK;
}

/* k(x,x) to begin with: as much signal as noise, or what makes a label rather sure. */
static double starting_variance(const lth_gp *gp, const lth_gp_options *options) {
    if (gp->likelihood->own_units) return 5 / lth__gp_scale(gp);
    return options->unscaled ? gp->own[0] : 0.5;
}

/* ---- Fitting ---- */

static bool nothing_to_learn(const lth_gp *gp) {
    for (size_t t = 0; t < gp->target_count; t++) {
        if (!gp->targets[t].constant) return false;
    }
    return true;
}

/* The solution at the present values, on the lowest rung of the jitter ladder that bears it. */
static lth_status solve(lth_gp *gp, lth__gram *gram, double *evidence, lth_error *err) {
    for (;;) {
        lth_status status = lth__gp_evidence(gp, gram, evidence, NULL, err);
        if (status != LTH_ENUMERIC) return status;
        if (gp->jitter > 1e-4) break;
        gp->jitter = gp->jitter == 0 ? 1e-10 : gp->jitter * 10;
    }
    return lth__fail(err, LTH_ENUMERIC,
                     "the kernel matrix is not positive definite, even with jitter: check the word "
                     "vectors and numbers, or use more noise");
}

/* nu_i and the share of each order in the mean of k(x,x), for the first string kernel. */
static lth_status report_orders(lth_gp *gp, lth_error *err) {
    const lth__node *node = NULL;
    for (size_t n = 0; n < gp->kernel->node_count && !node; n++) {
        if (gp->kernel->nodes[n]->family->order_shares) node = gp->kernel->nodes[n];
    }
    if (!node) return LTH_OK;
    lth__eval eval = {.ctx = &gp->ctx,
                      .kernel = gp->kernel,
                      .rows = gp->items,
                      .cols = gp->items,
                      .gradients = true,
                      .quiet = true};
    lth_status status = lth__eval_prepare(&eval, err);
    if (status == LTH_OK) {
        gp->report.orders = node->family->orders(node);
        status =
            node->family->order_shares(node, &eval, gp->report.nu, gp->report.order_share, err);
    }
    lth__eval_release(&eval);
    return status;
}

static lth_status finish(lth_gp *gp, lth__gram *gram, lth_error *err) {
    double evidence;
    LTH_TRY(solve(gp, gram, &evidence, err));
    for (size_t t = 0; t < gp->target_count; t++)
        evidence -= (double)gp->rows * log(gp->targets[t].scale);
    gp->report.rows = gp->rows;
    gp->report.evidence = evidence;
    gp->report.jitter = gp->jitter;
    LTH_TRY(gp->posterior->settle(gp, err));
    return report_orders(gp, err);
}

static lth_status learn(lth_gp *gp, const lth_gp_options *options, lth_error *err) {
    lth__gram *gram = NULL;
    bool learns = options->learn && !nothing_to_learn(gp);
    if (options->learn && !learns) {
        lth__log(&gp->ctx, LTH_LOG_WARNING, "the target is constant: there is nothing to learn");
        gp->report.converged = true;
    }
    LTH_TRY(set_starts(gp, options, err));
    if (learns) {
        double variance = starting_variance(gp, options);
        LTH_TRY(lth__kernel_guess(gp->kernel, gp->items, gp->held, variance, err));
    }
    for (size_t p = 0; p < gp->kernel->param_count; p++) gp->start[p] = gp->kernel->params[p].value;
    LTH_TRY(lth__gram_create(gp->kernel, gp->items, NULL, &gram, err));
    lth_status status = learns ? lth__gp_search(gp, gram, options, err) : LTH_OK;
    if (status == LTH_OK) status = finish(gp, gram, err);
    if (status != LTH_OK) { /* its matrices may lie beside the Gram matrix */
        gp->posterior->free(gp->solution);
        gp->solution = NULL;
    }
    lth__gram_free(gram);
    return status;
}

/* `y` NULL: labels, whose classes become the model's or are freed. */
static lth_status fit_items(lth_gp model, const double *y, const char *const *names,
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
    lth_status status = LTH_OK;
    if (gp->rows == 0) status = lth__fail(err, LTH_EFORMAT, "there are no rows to learn from");
    if (status == LTH_OK) status = make_room(gp, err);
    if (status == LTH_OK) status = name_targets(gp, names, err);
    if (status == LTH_OK && y) status = take_numbers(gp, y, options, err);
    if (status == LTH_OK && !y) take_labels(gp);
    if (status == LTH_OK) status = learn(gp, options, err);
    if (status == LTH_OK) status = lth__prepared_create(gp->kernel, gp->items, &gp->prepared, err);
    if (status == LTH_OK)
        *out = gp;
    else
        lth_gp_free(gp);
    return status;
}

static const lth__posterior *choose_posterior(const lth_gp_options *options, bool labels) {
    (void)options;
    return labels ? &lth__laplace_posterior : &lth__exact;
}

static lth__gp_how ask(const lth_gp_options *options) {
    return (lth__gp_how){.inducing = options->inducing ? options->inducing : 1000,
                         .probes = options->probes ? options->probes : 64,
                         .tolerance = options->tolerance > 0 ? options->tolerance : 1e-8,
                         .store = options->store,
                         .bound = options->bound};
}

lth_status lth__gp_fit_items(lth_ctx *ctx, lth_kernel *kernel, lth_encoder *encoder,
                             lth_items *items, const double *y, const char *const *names,
                             size_t targets, const lth_gp_options *options, lth_gp **out,
                             lth_error *err) {
    lth_gp model = {.ctx = *ctx,
                    .kernel = kernel,
                    .encoder = encoder,
                    .items = items,
                    .target_count = targets,
                    .latents = targets,
                    .mean = options->zero_mean ? &lth__mean_zero : &lth__mean_constant,
                    .likelihood = &lth__gaussian,
                    .posterior = choose_posterior(options, false),
                    .how = ask(options)};
    return fit_items(model, y, names, options, out, err);
}

lth_status lth__gp_fit_classes(lth_ctx *ctx, lth_kernel *kernel, lth_encoder *encoder,
                               lth_items *items, lth__classes *classes, const char *name,
                               const lth_gp_options *options, lth_gp **out, lth_error *err) {
    lth_gp model = {.ctx = *ctx,
                    .kernel = kernel,
                    .encoder = encoder,
                    .items = items,
                    .target_count = 1,
                    .latents = lth__classes_latents(classes),
                    .classes = classes,
                    .mean = &lth__mean_unknown,
                    .likelihood = options->likelihood == LTH_PROBIT ? &lth__probit : &lth__logit,
                    .posterior = choose_posterior(options, true),
                    .how = ask(options)};
    return fit_items(model, NULL, &name, options, out, err);
}

/* ---- From a table ---- */

/* What lth_gp_fit() makes its model of. */
typedef struct source {
    lth_ctx *ctx;
    lth_kernel *kernel;
    lth_encoder *encoder;
    lth_items *items;
} source;

static lth_status encode_source(source *s, const char *expression, const lth_table *table,
                                const lth_gp_options *options, lth_error *err) {
    LTH_TRY(lth_kernel_parse(s->ctx, expression, &s->kernel, err));
    LTH_TRY(lth_kernel_resolve(&s->kernel, table, err));
    LTH_TRY(lth_encoder_create(s->ctx, s->kernel, &s->encoder, err));
    LTH_TRY(lth_encode(s->encoder, table, &s->items, err));
    if (options->vectors && lth_kernel_needs_vectors(s->kernel))
        LTH_TRY(lth_encoder_read_vectors(s->encoder, options->vectors, err));
    return options->gram ? lth_items_use_store(s->items, options->gram, err) : LTH_OK;
}

static lth_status fit_numbers(const source *s, const lth_table *table, const char *const *targets,
                              size_t count, const lth_gp_options *options, lth_gp **out,
                              lth_error *err) {
    double *y = NULL;
    LTH_TRY(lth__read_targets(table, targets, count, &y, err));
    lth_status status = lth__gp_fit_items(s->ctx, s->kernel, s->encoder, s->items, y, targets,
                                          count, options, out, err);
    lth__free(y);
    return status;
}

static lth_status fit_labels(const source *s, const lth_table *table, const char *target,
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
    return lth__gp_fit_classes(s->ctx, s->kernel, s->encoder, s->items, classes, target, options,
                               out, err);
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

lth_status lth_gp_fit(lth_ctx *ctx, const char *expression, const lth_table *table,
                      const char *const *targets, size_t target_count, const lth_gp_options *given,
                      lth_gp **out, lth_error *err) {
    lth_gp_options options = lth__gp_options_complete(given);
    source s = {.ctx = ctx};
    lth_gp *gp = NULL;
    bool labels = false;
    if (target_count == 0) return lth__fail(err, LTH_EARG, "no target column is named");
    lth_status status = encode_source(&s, expression, table, &options, err);
    if (status == LTH_OK) status = lth_gp_has_labels(table, targets[0], options.task, &labels, err);
    if (status == LTH_OK && labels)
        status = lth__gp_check_labels(targets, target_count, &options, err);
    if (status == LTH_OK)
        status = labels ? fit_labels(&s, table, targets[0], &options, &gp, err)
                        : fit_numbers(&s, table, targets, target_count, &options, &gp, err);
    if (status == LTH_OK) {
        gp->borrowed = false;
        lth__items_unstore(gp->items);
        status = lth__gp_list(gp, err);
        if (status == LTH_OK)
            *out = gp;
        else
            lth_gp_free(gp);
        return status;
    }
    lth_items_free(s.items);
    lth_encoder_free(s.encoder);
    lth_kernel_free(s.kernel);
    return status;
}
