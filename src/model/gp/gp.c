/* Gaussian processes: fitting, reporting. */
#include "model/gp/gp.h"

#include <math.h>
#include <string.h>

#include "data/table.h"
#include "model/common/metrics.h"
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
static void measure_target(const double *y, size_t rows, const lth_gp_options *options,
                           lth__target *target) {
    double mean = 0, square = 0;
    for (size_t i = 0; i < rows; i++) mean += y[i] / (double)rows;
    target->shift = options->zero_mean ? 0 : mean;
    for (size_t i = 0; i < rows; i++) {
        double d = y[i] - target->shift;
        square += d * d / (double)rows;
    }
    bool constant = square <= 1e-24 * mean * mean;
    target->scale = constant || options->unscaled ? 1 : sqrt(square);
    target->constant = constant;
}

/* `y` NULL: labels, which have no scale. */
static lth_status take_targets(lth_gp *gp, const double *y, const char *const *names,
                               const lth_gp_options *options, lth_error *err) {
    size_t n = gp->rows, t = gp->target_count;
    gp->targets = lth__calloc(t, sizeof *gp->targets);
    if (y) gp->y = lth__alloc(n * t, sizeof *gp->y);
    if (!gp->targets || (y && !gp->y)) return lth__fail_memory(err, n * t * sizeof *gp->y);
    for (size_t k = 0; k < t; k++) {
        lth__target *target = &gp->targets[k];
        target->name = lth__strndup(names[k], strlen(names[k]));
        if (!target->name) return lth__fail_memory(err, 0);
        target->scale = 1;
        if (!y) continue;
        measure_target(y + k * n, n, options, target);
        for (size_t i = 0; i < n; i++)
            gp->y[i * t + k] = (y[k * n + i] - target->shift) / target->scale;
    }
    return LTH_OK;
}

/* ---- Fitting ---- */

static lth_status check_memory(const lth_gp *gp, lth_error *err) {
    size_t n = gp->rows;
    if (n > (size_t)1 << 20)
        return lth__fail(err, LTH_EARG, "%zu rows are too many for an exact Gaussian process", n);
    size_t matrices = gp->classes ? gp->classes->problem_count + 3 : 2;
    return lth__memory_check(matrices * n * n * sizeof(double),
                             "an exact Gaussian process on that many rows",
                             "use fewer rows (--where), or a machine with more memory", err);
}

static lth_status allocate(lth_gp *gp, lth_error *err) {
    size_t n = gp->rows, params = gp->kernel->param_count + 1;
    gp->start = lth__alloc(params, sizeof *gp->start);
    gp->held = lth__calloc(params, sizeof *gp->held);
    gp->at_bound = lth__calloc(params, sizeof *gp->at_bound);
    if (!gp->start || !gp->held || !gp->at_bound) return lth__fail_memory(err, 0);
    if (gp->classes) return lth__classes_begin(gp->classes, err);
    gp->L = lth__alloc(n * n, sizeof *gp->L);
    gp->alpha = lth__alloc(n * gp->target_count, sizeof *gp->alpha);
    return gp->L && gp->alpha ? LTH_OK : lth__fail_memory(err, n * n * sizeof *gp->L);
}

static bool nothing_to_learn(const lth_gp *gp) {
    for (size_t t = 0; t < gp->target_count; t++) {
        if (!gp->targets[t].constant) return false;
    }
    return true;
}

static void set_starts(lth_gp *gp, const lth_gp_options *options) {
    size_t params = gp->kernel->param_count;
    double scale = gp->targets[0].scale;
    gp->noise = options->noise > 0 ? options->noise / (scale * scale) : 0.5;
    if (gp->y && options->noise <= 0 && options->unscaled) {
        double square = 0;
        for (size_t i = 0; i < gp->rows * gp->target_count; i++) square += gp->y[i] * gp->y[i];
        gp->noise = 0.5 * square / (double)(gp->rows * gp->target_count);
        if (gp->noise <= 0) gp->noise = 0.5;
    }
    for (size_t p = 0; p < params; p++) {
        gp->start[p] = gp->kernel->params[p].value;
        gp->held[p] = gp->kernel->params[p].held;
    }
    gp->start[params] = gp->noise;
    gp->held[params] = options->noise_held;
}

/* Factor and weights at the present values, on the lowest rung of the jitter ladder that bears
 * them. */
static lth_status settle(lth_gp *gp, lth__gram *gram, double *evidence, lth_error *err) {
    for (;;) {
        lth_status status = lth__gp_evidence(gp, gram, NULL, evidence, NULL, err);
        if (status != LTH_ENUMERIC) return status;
        if (gp->jitter > 1e-4) break;
        gp->jitter = gp->jitter == 0 ? 1e-10 : gp->jitter * 10;
    }
    return lth__fail(err, LTH_ENUMERIC,
                     "the kernel matrix is not positive definite, even with jitter: check the word "
                     "vectors and numbers, or use more noise");
}

static lth_status leave_one_out(lth_gp *gp, double *inverse, lth_error *err) {
    size_t n = gp->rows;
    LTH_TRY(lth__cholesky_inverse(&gp->ctx, n, gp->L, inverse, err));
    double *y = lth__alloc(3 * n, sizeof *y), *mean = y + n, *sd = mean + n;
    if (!y) return lth__fail_memory(err, 3 * n * sizeof *y);
    lth__gp_leave_one_out(gp, inverse, 0, y, mean, sd);
    gp->loo = lth__metrics_of(y, mean, sd, n);
    gp->report.loo = &gp->loo;
    lth__free(y);
    return LTH_OK;
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

static lth_status finish(lth_gp *gp, lth__gram *gram, double *inverse, lth_error *err) {
    double evidence;
    LTH_TRY(settle(gp, gram, &evidence, err));
    if (!gp->classes) LTH_TRY(leave_one_out(gp, inverse, err));
    LTH_TRY(report_orders(gp, err));
    for (size_t t = 0; t < gp->target_count; t++)
        evidence -= (double)gp->rows * log(gp->targets[t].scale);
    gp->report.rows = gp->rows;
    gp->report.evidence = evidence;
    gp->report.jitter = gp->jitter;
    if (gp->classes) return LTH_OK;
    gp->report.noise = gp->noise * gp->targets[0].scale * gp->targets[0].scale;
    return LTH_OK;
}

static lth_status fit(lth_gp *gp, const lth_gp_options *options, lth_error *err) {
    lth__gram *gram = NULL;
    double *inverse = lth__alloc(gp->rows * gp->rows, sizeof *inverse);
    lth_status status = inverse ? LTH_OK : lth__fail_memory(err, 0);
    bool learn = options->learn && !nothing_to_learn(gp);
    if (options->learn && !learn) {
        lth__log(&gp->ctx, LTH_LOG_WARNING, "the target is constant: there is nothing to learn");
        gp->report.converged = true;
    }
    double scale = options->unscaled ? gp->noise : 0.5; /* as much signal as noise */
    if (status == LTH_OK) status = lth__gp_hold(gp, options, err);
    if (status == LTH_OK && gp->classes) {
        lth__gp_classes_start(gp);
        scale = 5 / gp->noise;
    }
    if (status == LTH_OK && learn) {
        status = lth__kernel_guess(gp->kernel, gp->items, gp->held, scale, err);
    }
    if (status == LTH_OK) {
        for (size_t p = 0; p < gp->kernel->param_count; p++)
            gp->start[p] = gp->kernel->params[p].value;
        status = lth__gram_create(gp->kernel, gp->items, &gram, err);
    }
    if (status == LTH_OK && learn) status = lth__gp_search(gp, gram, inverse, options, err);
    if (status == LTH_OK) status = finish(gp, gram, inverse, err);
    lth__gram_free(gram);
    lth__free(inverse);
    return status;
}

/* `classes` become the model's, or are freed. */
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
    if (status == LTH_OK) status = check_memory(gp, err);
    if (status == LTH_OK) status = allocate(gp, err);
    if (status == LTH_OK) status = take_targets(gp, y, names, options, err);
    if (status == LTH_OK) {
        set_starts(gp, options);
        status = fit(gp, options, err);
    }
    if (gp->classes) lth__classes_end(gp->classes);
    if (status == LTH_OK)
        *out = gp;
    else
        lth_gp_free(gp);
    return status;
}

lth_status lth__gp_fit_items(lth_ctx *ctx, lth_kernel *kernel, lth_encoder *encoder,
                             lth_items *items, const double *y, const char *const *names,
                             size_t targets, const lth_gp_options *options, lth_gp **out,
                             lth_error *err) {
    lth_gp model = {
        .ctx = *ctx, .kernel = kernel, .encoder = encoder, .items = items, .target_count = targets};
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
                    .classes = classes};
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
    if (!options->vectors || !lth_kernel_needs_vectors(s->kernel)) return LTH_OK;
    return lth_encoder_read_vectors(s->encoder, options->vectors, err);
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
    lth_status status =
        lth__classes_create(&labels, NULL, labels.rows, options->likelihood, &classes, err);
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

void lth_gp_free(lth_gp *gp) {
    if (!gp) return;
    if (!gp->borrowed) {
        lth_items_free(gp->items);
        lth_encoder_free(gp->encoder);
        lth_kernel_free(gp->kernel);
    }
    for (size_t t = 0; gp->targets && t < gp->target_count; t++) lth__free(gp->targets[t].name);
    lth__free(gp->vectors);
    lth__free(gp->targets);
    lth__free(gp->y);
    lth__free(gp->L);
    lth__free(gp->alpha);
    lth__free(gp->start);
    lth__free(gp->held);
    lth__free(gp->at_bound);
    lth__free(gp->steps);
    lth__free(gp->learned);
    lth__free(gp->symbols);
    lth__classes_free(gp->classes);
    lth__string_free(&gp->row_text);
    lth__free(gp);
}

/* ---- Looking at it ---- */

const lth_kernel *lth_gp_kernel(const lth_gp *gp) {
    return gp->kernel;
}

size_t lth_gp_targets(const lth_gp *gp) {
    return gp->target_count;
}

const char *lth_gp_target(const lth_gp *gp, size_t i) {
    return i < gp->target_count ? gp->targets[i].name : NULL;
}

const lth_gp_report *lth_gp_reported(const lth_gp *gp) {
    return &gp->report;
}
