/* A Gaussian process before it learns: its options, targets, mean and likelihood. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "data/table.h"
#include "model/common/labels_wanted.h"
#include "model/gp/gp_classes.h"
#include "model/posterior/outputs.h"

void lth_gp_options_init(lth_gp_options *options) {
    *options = (lth_gp_options){.size = sizeof *options,
                                .max_iter = 200,
                                .restarts = 4,
                                .learn = true,
                                .calibrate = true,
                                .lower = NAN,
                                .upper = NAN};
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
    return (lth__source_files){.vectors = {options->vectors, options->word_vectors},
                               .gram = options->gram};
}

/* ---- Targets ---- */

/* Mean and standard deviation of a target, of rows that count so often (NULL = once each); a
 * constant one keeps the scale 1. */
static void measure_target(const lth_gp *gp, const double *y, const double *weight, size_t rows,
                           bool unscaled, lth__target *target) {
    double mean = lth__mean_constant.fit(y, weight, rows), square = 0;
    double total = lth__mean_count(weight, rows);
    target->shift = gp->mean->fit ? gp->mean->fit(y, weight, rows) : 0;
    for (size_t i = 0; i < rows; i++) {
        double d = y[i] - target->shift;
        square += (weight ? weight[i] : 1) * d * d / total;
    }
    double rounding = (double)rows * DBL_EPSILON; /* of the mean */
    bool constant = square <= (1e-24 + rounding * rounding) * mean * mean;
    target->scale = constant || unscaled ? 1 : sqrt(square);
    target->constant = constant;
}

/* A warp that begins somewhere counts from there. */
static void measure_origin(const lth_gp *gp, const double *y, lth__target *target) {
    double least = 0;
    for (size_t i = 0; i < gp->rows; i++) least = fmin(least, y[i]);
    if (gp->warp && gp->warp->from_origin) target->shift = least;
}

/* Where f is in units of its own: what the targets are on the whole is taken out of it. */
static void measure_link(const lth_gp *gp, const double *y, lth__target *target) {
    const lth__likelihood *l = gp->likelihood;
    lth__terms terms = {.lower = -INFINITY, .upper = INFINITY, .grades = gp->grade_count};
    double exposure = 0;
    target->constant = true;
    for (size_t i = 0; i < gp->rows; i++) {
        exposure += gp->known.offset ? exp(gp->known.offset[i]) : 1;
        target->constant = target->constant && y[i] == y[0];
    }
    target->link = l->link ? l->link(&terms, y, gp->rows, exposure) : 0;
}

static void write_targets(lth_gp *gp, const double *y, size_t t) {
    const lth__target *target = &gp->targets[t];
    double *to = (gp->unwarped ? gp->unwarped : gp->y) + t * gp->rows;
    for (size_t i = 0; i < gp->rows; i++)
        to[i] = gp->grades ? (double)lth__grade_find(gp->grades, gp->grade_count, y[i])
                           : (y[i] - target->shift) / target->scale;
}

/* The numbers that are known; returns how many. */
static size_t gather(const double *y, size_t rows, double *to) {
    size_t count = 0;
    for (size_t i = 0; i < rows; i++) {
        if (!isnan(y[i])) to[count++] = y[i];
    }
    return count;
}

static lth_status measure_known(lth_gp *gp, const double *y, const lth_gp_options *options,
                                lth__target *target, lth_error *err) {
    double *known = lth__alloc(gp->rows, sizeof *known);
    if (!known) return lth__fail_memory(err, gp->rows * sizeof *known);
    size_t count = gather(y, gp->rows, known);
    if (count > 0) measure_target(gp, known, NULL, count, options->unscaled, target);
    lth__free(known);
    gp->how.known_cells += (double)count / (double)gp->rows;
    if (count > 0) return LTH_OK;
    return lth__fail(err, LTH_EFORMAT, "the target \"%s\" has no number in any row", target->name);
}

/* gp->y is room until it is known. */
static void find_pile(lth_gp *gp, const double *y) {
    if (!gp->warp) return;
    memcpy(gp->y, y, gp->rows * sizeof *y);
    if (!lth__warp_has_pile(gp->y, gp->rows) || gp->piled) return;
    gp->piled = true;
    lth__log(&gp->ctx, LTH_LOG_WARNING,
             "many rows have the same target: the warp is kept gentle, since a steep one would "
             "make a spike of that value");
}

static lth_status take_numbers(lth_gp *gp, const double *y, const lth_gp_options *options,
                               lth_error *err) {
    size_t n = gp->rows, cells = n * gp->latents;
    size_t warp = gp->warp ? lth__warp_params(gp->warp) : 0;
    gp->y = lth__calloc(cells, sizeof *gp->y);
    if (warp) gp->unwarped = lth__alloc(cells, sizeof *gp->unwarped);
    if (warp) gp->warp_by = lth__alloc(warp * cells, sizeof *gp->warp_by);
    if (!gp->y || (warp && (!gp->unwarped || !gp->warp_by)))
        return lth__fail_memory(err, (2 + warp) * cells * sizeof *gp->y);
    for (size_t t = 0; t < gp->latents; t++) {
        lth__target *target = &gp->targets[t];
        if (gp->how.coregion > 0) {
            LTH_TRY(measure_known(gp, y + t * n, options, target, err));
        } else if (gp->likelihood->of == LTH__OF_NUMBERS) {
            measure_target(gp, y + t * n, gp->known.weight, n, options->unscaled, target);
            measure_origin(gp, y + t * n, target);
        }
        write_targets(gp, y + t * n, t);
        find_pile(gp, y + t * n);
        if (gp->likelihood->of != LTH__OF_NUMBERS) measure_link(gp, gp->y + t * n, target);
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
                         .bound = options->bound,
                         .coregion = options->coregion};
}

/* Texts of its own. */
static lth_status name_columns(lth_gp *gp, const lth_gp_options *options, lth_error *err) {
    const char *const names[] = {options->noise_by, options->weights, options->exposure};
    char **const to[] = {&gp->noise_by, &gp->weights, &gp->exposure};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!names[i]) continue;
        *to[i] = lth__strndup(names[i], strlen(names[i]));
        if (!*to[i]) return lth__fail_memory(err, 0);
    }
    return LTH_OK;
}

/* The grades there are: those given, or those that occur. */
static lth_status take_grades(lth_gp *gp, const lth__gp_numbers *numbers, lth_error *err) {
    if (gp->likelihood->of != LTH__OF_GRADES) return LTH_OK;
    gp->grades = lth__alloc(LTH__MOST_GRADES, sizeof *gp->grades);
    if (!gp->grades) return lth__fail_memory(err, LTH__MOST_GRADES * sizeof *gp->grades);
    const double *from = numbers->grades ? numbers->grades : numbers->y;
    size_t count = numbers->grades ? numbers->grade_count : gp->rows * gp->target_count;
    return lth__grades_list(from, count, gp->grades, &gp->grade_count, err);
}

/* `numbers` NULL: labels, whose classes become the model's or are freed. */
static lth_status begin(lth_gp model, const lth__gp_numbers *numbers, const lth__known *known,
                        const char *const *names, const lth_gp_options *options, lth_gp **out,
                        lth_error *err) {
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
    gp->lower = gp->upper = NAN;
    if (gp->likelihood == &lth__censored) {
        gp->lower = options->lower;
        gp->upper = options->upper;
    }
    gp->point = options->point;
    gp->calibrates = options->calibrate;
    if (gp->how.inducing == 0) gp->how.inducing = lth__gp_default_inducing(gp);
    lth_status status = LTH_OK;
    if (gp->rows == 0) status = lth__fail(err, LTH_EFORMAT, "there are no rows to learn from");
    if (status == LTH_OK) status = name_targets(gp, names, err);
    if (status == LTH_OK) status = name_columns(gp, options, err);
    if (status == LTH_OK && known) status = lth__known_pick(known, NULL, gp->rows, &gp->known, err);
    if (status == LTH_OK && numbers) status = take_grades(gp, numbers, err);
    if (status == LTH_OK && numbers) status = take_numbers(gp, numbers->y, options, err);
    if (status == LTH_OK && !numbers) take_labels(gp);
    if (status == LTH_OK) lth__gp_list_own(gp);
    if (status == LTH_OK)
        *out = gp;
    else
        lth_gp_free(gp);
    return status;
}

/* A mean that is taken out of numbers; in units of its own f has one that is not known. */
static const lth__mean *mean_of(const lth__likelihood *l, const lth_gp_options *options) {
    if (l->own_units) return &lth__mean_unknown;
    return options->zero_mean ? &lth__mean_zero : &lth__mean_constant;
}

lth_status lth__gp_begin_numbers(const lth__source *s, lth_items *items,
                                 const lth__gp_numbers *numbers, const char *const *names,
                                 size_t targets, const lth_gp_options *options, lth_gp **out,
                                 lth_error *err) {
    const lth__likelihood *likelihood = lth__likelihood_of(options->likelihood, false);
    lth_gp model = {.ctx = *s->ctx,
                    .kernel = s->kernel,
                    .encoder = s->encoder,
                    .items = items,
                    .target_count = targets,
                    .latents = targets,
                    .mean = mean_of(likelihood, options),
                    .likelihood = likelihood};
    if (likelihood == &lth__warped)
        model.warp = lth__warp_find(options->warp ? options->warp : "log");
    return begin(model, numbers, numbers->known, names, options, out, err);
}

lth_status lth__gp_begin_classes(const lth__source *s, lth_items *items, lth__classes *classes,
                                 const lth__known *known, const char *name,
                                 const lth_gp_options *options, lth_gp **out, lth_error *err) {
    const lth__likelihood *likelihood = lth__likelihood_of(options->likelihood, true);
    lth_status status = likelihood->coupled ? lth__classes_couple(classes, err) : LTH_OK;
    if (status != LTH_OK) {
        lth__classes_free(classes);
        return status;
    }
    lth_gp model = {.ctx = *s->ctx,
                    .kernel = s->kernel,
                    .encoder = s->encoder,
                    .items = items,
                    .target_count = 1,
                    .latents = lth__classes_latents(classes),
                    .classes = classes,
                    .mean = &lth__mean_unknown,
                    .likelihood = likelihood};
    return begin(model, NULL, known, &name, options, out, err);
}

/* ---- From a table ---- */

lth__known_columns lth__gp_known_columns(const lth_gp_options *options) {
    return (lth__known_columns){
        .noise_by = options->noise_by, .weights = options->weights, .exposure = options->exposure};
}

static lth_status begin_numbers(lth__source *s, const lth_table *table, const char *const *targets,
                                size_t count, const lth__known *known,
                                const lth_gp_options *options, lth_gp **out, lth_error *err) {
    double *y = NULL;
    LTH_TRY(lth__gp_read_numbers(table, targets, count, options, &y, err));
    lth__gp_numbers numbers = {.y = y, .known = known};
    lth_status status = LTH_OK;
    if (options->coregion > 0) status = lth__outputs_drop_empty(s, y, count, err);
    if (status == LTH_OK)
        status = lth__gp_begin_numbers(s, s->items, &numbers, targets, count, options, out, err);
    lth__free(y);
    return status;
}

static lth_status begin_labels(const lth__source *s, const lth_table *table, const char *target,
                               const lth__known *known, const lth_gp_options *options, lth_gp **out,
                               lth_error *err) {
    lth__labels labels;
    lth__classes *classes = NULL;
    LTH_TRY(lth__labels_read(table, target, &labels, err));
    lth__labels_warn(s->ctx, target, &labels);
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
    return lth__gp_begin_classes(s, s->items, classes, known, target, options, out, err);
}

lth_status lth__gp_begin(lth__source *s, const lth_table *table, const char *const *targets,
                         size_t count, const lth_gp_options *options, lth_gp **out,
                         lth_error *err) {
    bool labels = false;
    lth__known known = {0};
    lth__known_columns columns = lth__gp_known_columns(options);
    LTH_TRY(lth__gp_takes_labels(table, targets, count, options, &labels, err));
    lth__targets_warn(s->ctx, s->kernel, targets, count);
    LTH_TRY(lth__known_read(table, &columns, true, &known, err));
    lth_status status = labels ? begin_labels(s, table, targets[0], &known, options, out, err)
                               : begin_numbers(s, table, targets, count, &known, options, out, err);
    lth__known_free(&known);
    return status;
}
