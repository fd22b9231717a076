/* Targets, before a model is made of them: whether they are labels or numbers, whether the options
 * go with them, and whether the likelihood can have made them. */
#include <math.h>
#include <stdlib.h>

#include "data/table.h"
#include "model/gp/gp_classes.h"
#include "model/posterior/outputs.h"

/* ---- What goes together ---- */

static lth_status check_labels(const char *target, size_t count, const lth__likelihood *l,
                               const lth_gp_options *options, lth_error *err) {
    const char *for_numbers = options->zero_mean                          ? "a mean of zero"
                              : options->unscaled                         ? "unscaled"
                              : options->noise > 0 || options->noise_held ? "noise"
                              : options->noise_by                         ? "noise-by"
                              : options->exposure                         ? "exposure"
                              : options->point                            ? "point"
                                                                          : NULL;
    if (for_numbers)
        return lth__fail(err, LTH_EARG, "%s is for numbers, but \"%s\" has labels", for_numbers,
                         target);
    if (l->of != LTH__OF_LABELS)
        return lth__fail(err, LTH_EARG, "the likelihood %s is for numbers, but \"%s\" has labels",
                         l->name, target);
    if (count > 1)
        return lth__fail(err, LTH_EARG,
                         "\"%s\" has labels: a model learns one column of labels; fit a model for "
                         "each",
                         target);
    return LTH_OK;
}

lth_status lth__gp_check_shape(const lth__likelihood *l, const char *warp, double lower,
                               double upper, lth_error *err) {
    bool bounds = (!isnan(lower) || !isnan(upper)) && !(lower == 0 && upper == 0);
    if (warp && l != &lth__warped)
        return lth__fail(err, LTH_EARG, "warp goes with the likelihood warped");
    if (warp && !lth__warp_find(warp))
        return lth__fail(err, LTH_EARG, "there is no warp \"%s\"", warp);
    if (l != &lth__censored && bounds)
        return lth__fail(err, LTH_EARG, "lower and upper go with the likelihood censored");
    if (l == &lth__censored && !bounds)
        return lth__fail(err, LTH_EARG, "the likelihood censored wants a bound: lower, or upper");
    if (bounds && lower >= upper)
        return lth__fail(err, LTH_EARG, "lower is %g, which is not below upper, %g", lower, upper);
    return LTH_OK;
}

static lth_status check_numbers(const char *target, const lth__likelihood *l,
                                const lth_gp_options *o, lth_error *err) {
    if (l->of == LTH__OF_LABELS)
        return lth__fail(err, LTH_EARG, "the likelihood %s is for labels, but \"%s\" has numbers",
                         l->name, target);
    LTH_TRY(lth__gp_check_shape(l, o->warp, o->lower, o->upper, err));
    if (o->exposure && l->of != LTH__OF_COUNTS)
        return lth__fail(err, LTH_EARG,
                         "an exposure goes with counts: the likelihood poisson or negbinomial");
    if (!l->has_noise && (o->noise_by || o->noise > 0 || o->noise_held))
        return lth__fail(err, LTH_EARG, "the likelihood %s has no noise of its own", l->name);
    if (l == &lth__warped && (o->noise_by || o->weights))
        return lth__fail(err, LTH_EARG, "%s does not go with a warp: noise is normal after it",
                         o->noise_by ? "noise-by" : "weights");
    if (l->of != LTH__OF_NUMBERS && (o->zero_mean || o->unscaled))
        return lth__fail(err, LTH_EARG, "%s does not go with the likelihood %s",
                         o->zero_mean ? "a mean of zero" : "unscaled", l->name);
    return LTH_OK;
}

lth_status lth__gp_check(const char *const *targets, size_t count, bool labels,
                         const lth_gp_options *options, lth_error *err) {
    const lth__likelihood *l = lth__likelihood_of(options->likelihood, labels);
    if (!l) return lth__fail(err, LTH_EARG, "there is no such likelihood");
    LTH_TRY(lth__outputs_check(targets, count, labels, options, err));
    return labels ? check_labels(targets[0], count, l, options, err)
                  : check_numbers(targets[0], l, options, err);
}

lth_status lth__gp_takes_labels(const lth_table *table, const char *const *targets, size_t count,
                                const lth_gp_options *options, bool *out, lth_error *err) {
    const lth__likelihood *l = lth__likelihood_of(options->likelihood, false);
    lth_task task = options->task;
    /* A likelihood of numbers that is not the default says what the targets are. */
    if (task == LTH_TASK_AUTO && options->likelihood != LTH_LOGIT && l && l->of != LTH__OF_LABELS)
        task = LTH_TASK_REGRESSION;
    LTH_TRY(lth_gp_has_labels(table, targets[0], task, out, err));
    return lth__gp_check(targets, count, *out, options, err);
}

/* ---- What a likelihood can have made ---- */

static lth_status refuse(const lth_table *table, const char *target, size_t row, double y,
                         const char *why, lth_error *err) {
    return lth__fail_at(err, LTH_EFORMAT, lth_table_file(table, row), lth_table_line(table, row), 0,
                        "%g in column \"%s\" %s", y, target, why);
}

/* All that is above or below the bounds, and so nothing that tells the size of the noise. */
static lth_status check_censored(const lth_table *table, const char *target, const double *y,
                                 size_t rows, const lth_gp_options *o, lth_error *err) {
    for (size_t i = 0; i < rows; i++) {
        if (!(y[i] <= o->lower) && !(y[i] >= o->upper)) return LTH_OK;
    }
    return lth__fail_at(err, LTH_EFORMAT, lth_table_name(table), 0, 0,
                        "every number in column \"%s\" is at or beyond a bound: there is nothing "
                        "to learn from",
                        target);
}

static lth_status check_target(const lth_table *table, const char *target, const double *y,
                               const lth_gp_options *o, lth_error *err) {
    const lth__likelihood *l = lth__likelihood_of(o->likelihood, false);
    lth__terms terms = {.lower = -INFINITY, .upper = INFINITY};
    size_t rows = lth_table_rows(table);
    for (size_t i = 0; l->refuse && i < rows; i++) {
        const char *why = l->refuse(&terms, y[i]);
        if (why) return refuse(table, target, i, y[i], why, err);
    }
    return l == &lth__censored && rows > 0 ? check_censored(table, target, y, rows, o, err)
                                           : LTH_OK;
}

lth_status lth__gp_read_numbers(const lth_table *table, const char *const *targets, size_t count,
                                const lth_gp_options *options, double **out, lth_error *err) {
    double *y = NULL;
    LTH_TRY(lth__read_targets(table, targets, count, options->coregion > 0, &y, err));
    size_t rows = lth_table_rows(table);
    lth_status status = LTH_OK;
    for (size_t t = 0; t < count && status == LTH_OK; t++)
        status = check_target(table, targets[t], y + t * rows, options, err);
    if (status == LTH_OK)
        *out = y;
    else
        lth__free(y);
    return status;
}

/* ---- Grades ---- */

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

lth_status lth__grades_list(const double *y, size_t count, double *out, size_t *found,
                            lth_error *err) {
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        if (n > 0 && bsearch(&y[i], out, n, sizeof *out, compare)) continue;
        if (n == LTH__MOST_GRADES)
            return lth__fail(err, LTH_EFORMAT,
                             "there are more than %d different numbers, too many for grades; take "
                             "another likelihood",
                             LTH__MOST_GRADES);
        out[n++] = y[i];
        qsort(out, n, sizeof *out, compare);
    }
    if (n < 2)
        return lth__fail(err, LTH_EFORMAT,
                         "all rows have the same grade: there is nothing to tell apart");
    *found = n;
    return LTH_OK;
}

bool lth__gp_are_grades(const lth_gp *gp) {
    for (size_t i = 0; i < gp->latents * gp->rows; i++) {
        double y = gp->y[i];
        if (!(y >= 0 && y < (double)gp->grade_count) || y != floor(y)) return false;
    }
    return true;
}

size_t lth_gp_grades(const lth_gp *gp, const double **out) {
    if (out) *out = gp->grades;
    return gp->grade_count;
}

lth_point lth_gp_point(const lth_gp *gp) {
    return gp->point;
}

const char *lth_gp_noise_by(const lth_gp *gp) {
    bool repeats;
    return lth__known_noise(gp->noise_by, &repeats);
}

const char *lth_gp_exposure(const lth_gp *gp) {
    return gp->exposure;
}
