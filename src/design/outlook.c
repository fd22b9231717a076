/* All that is expected of the rows of a table, each by itself. Feasibility is a classifier's
 * probability of the class, or of numbers P(least <= y <= most). */
#include "design/outlook.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "data/table.h"

/* ---- Feasibility ---- */

static const char *class_at(const void *user, size_t i) {
    return lth_model_class(user, i);
}

static lth_status find_class(const lth_model *model, const char *name, size_t *out,
                             lth_error *err) {
    size_t classes = lth_model_classes(model);
    *out = classes - 1;
    if (!name) return LTH_OK;
    for (size_t i = 0; i < classes; i++) {
        *out = i;
        if (strcmp(lth_model_class(model, i), name) == 0) return LTH_OK;
    }
    const char *near = lth_nearest(name, class_at, model);
    return lth__fail(err, LTH_EARG,
                     near ? "the model of what is feasible has no class \"%s\"; did you mean "
                            "\"%s\"?"
                          : "the model of what is feasible has no class \"%s\"",
                     name, near);
}

static lth_status classify(const lth_model *model, const lth_table *table, double *probability,
                           lth_error *err) {
    const lth_gp *gp = lth_model_gp((lth_model *)model);
    const lth_svm *svm = lth_model_svm((lth_model *)model);
    if (gp) return lth_gp_classify(gp, table, probability, err);
    if (!lth_svm_reported(svm)->probability)
        return lth__fail(err, LTH_EARG,
                         "the model of what is feasible is a support vector machine without "
                         "probabilities: train it with them, or fit a Gaussian process");
    return lth_svm_predict(svm, table, &(lth_svm_prediction){.probability = probability},
                           sizeof(lth_svm_prediction), err);
}

static lth_status feasible_class(const lth_propose_options *o, const lth_table *table, double *out,
                                 lth_error *err) {
    size_t rows = lth_table_rows(table), classes = lth_model_classes(o->feasible), which;
    LTH_TRY(find_class(o->feasible, o->feasible_class, &which, err));
    double *all = lth__alloc(rows * classes, sizeof *all);
    if (!all) return lth__fail_memory(err, rows * classes * sizeof *all);
    lth_status status = classify(o->feasible, table, all, err);
    for (size_t i = 0; i < rows && status == LTH_OK; i++) out[i] = all[i * classes + which];
    lth__free(all);
    return status;
}

/* Whether y has probabilities, not a density: then P(Y < y) is told with half of P(Y = y). */
static bool is_discrete(const lth_gp *gp) {
    lth_likelihood of = lth_gp_likelihood(gp);
    return of == LTH_POISSON || of == LTH_NEGBINOMIAL || of == LTH_ORDINAL;
}

/* The number of those there are that is next to a bound, above it or below; NaN = there is none. */
static double nearest_number(const lth_gp *gp, double bound, bool above) {
    const double *grades = NULL;
    size_t count = lth_gp_grades(gp, &grades);
    double whole = above ? ceil(bound) : floor(bound), found = NAN;
    if (count == 0) return whole >= 0 ? whole : above ? 0 : NAN;
    for (size_t i = 0; i < count; i++) {
        bool fits = above ? grades[i] >= bound : grades[i] <= bound;
        if (fits && (isnan(found) || !above)) found = grades[i];
    }
    return found;
}

/* Adds P(y <= most) to each row, or takes P(y < least) away. */
static lth_status add_share(const lth_gp *gp, const lth_table *table, double bound, bool least,
                            double *room, double *out, lth_error *err) {
    size_t rows = lth_table_rows(table), cells = rows * lth_gp_targets(gp);
    double *y = room, *below = y + cells, *mass = below + cells, sign = least ? -1 : 1;
    bool discrete = is_discrete(gp);
    if (isnan(bound)) return LTH_OK;
    if (discrete) bound = nearest_number(gp, bound, least);
    for (size_t i = 0; i < rows && isnan(bound) && least; i++) out[i] = 0; /* all is below */
    if (isnan(bound)) return LTH_OK;
    for (size_t i = 0; i < cells; i++) y[i] = bound;
    lth_gp_prediction to = {.y = y, .cdf = below, .log_density = discrete ? mass : NULL};
    LTH_TRY(lth_gp_predict_all(gp, table, &to, sizeof to, err));
    for (size_t i = 0; i < rows; i++) {
        double half = discrete ? exp(mass[i]) / 2 : 0;
        out[i] = fmin(fmax(out[i] + sign * (below[i] + sign * half), 0), 1);
    }
    return LTH_OK;
}

static lth_status feasible_numbers(const lth_propose_options *o, const lth_table *table,
                                   double *out, lth_error *err) {
    const lth_gp *gp = lth_model_gp((lth_model *)o->feasible);
    size_t rows = lth_table_rows(table);
    if (!gp || (isnan(o->feasible_least) && isnan(o->feasible_most)))
        return lth__fail(err, LTH_EARG,
                         gp ? "the model of what is feasible is of numbers: say from where to "
                              "where they may be"
                            : "the model of what is feasible is a support vector machine of "
                              "numbers, which has no probabilities: fit a Gaussian process");
    double *room = lth__alloc(3 * rows * lth_gp_targets(gp), sizeof *room);
    if (!room) return lth__fail_memory(err, 3 * rows * sizeof *room);
    for (size_t i = 0; i < rows; i++) out[i] = isnan(o->feasible_most) ? 1 : 0;
    lth_status status = add_share(gp, table, o->feasible_most, false, room, out, err);
    if (status == LTH_OK) status = add_share(gp, table, o->feasible_least, true, room, out, err);
    lth__free(room);
    return status;
}

static lth_status find_feasible(const lth_propose_options *o, const lth_table *table,
                                lth__outlook *to, lth_error *err) {
    if (!o->feasible) return LTH_OK;
    to->feasible = lth__alloc(to->rows, sizeof *to->feasible);
    if (!to->feasible) return lth__fail_memory(err, to->rows * sizeof *to->feasible);
    return lth_model_classes(o->feasible) > 0 ? feasible_class(o, table, to->feasible, err)
                                              : feasible_numbers(o, table, to->feasible, err);
}

/* ---- Cost ---- */

static lth_status find_cost(const lth_propose_options *o, const lth_table *table, lth__outlook *to,
                            lth_error *err) {
    size_t column;
    if (!o->cost) return LTH_OK;
    LTH_TRY(lth__table_column_at(table, o->cost, &column, err));
    to->cost = lth__alloc(to->rows, sizeof *to->cost);
    if (!to->cost) return lth__fail_memory(err, to->rows * sizeof *to->cost);
    for (size_t i = 0; i < to->rows; i++) {
        LTH_TRY(lth__table_number(table, i, column, &to->cost[i], err));
        if (!(to->cost[i] > 0))
            return lth__fail_at(err, LTH_EFORMAT, lth_table_file(table, i),
                                lth_table_line(table, i), 0, "a cost is above 0, and this is %g",
                                to->cost[i]);
    }
    return LTH_OK;
}

/* ---- Rows that are known ---- */

/* Whether all models have the row. */
static bool has_row(const lth__row_set *set, const lth__candidates *rows, size_t row,
                    lth__string *key) {
    for (size_t m = 0; m < set->model_count; m++) {
        if (!set->of_model[m]) return false;
        lth__row_key(rows->items[m], row, key);
        if (key->failed ||
            lth__symbols_find(set->of_model[m], key->bytes, key->length) == LTH__NO_SYMBOL)
            return false;
    }
    return set->model_count > 0;
}

/* ---- Values ---- */

enum { CHUNK = 1024 };

typedef struct value_job {
    const lth__scorer *s;
    const lth__candidates *rows;
    lth__outlook *to;
} value_job;

/* `room`: for the functions' means and variances, then for the value. */
static void value_rows(const value_job *j, size_t first, size_t last, lth__string *key,
                       double *room) {
    const lth__scorer *s = j->s;
    lth__outlook *to = j->to;
    size_t functions = s->valuer.functions;
    double *mean = room, *variance = mean + functions;
    double *rest = variance + lth__problem_spreads(&s->problem);
    for (size_t i = first; i < last; i++) {
        bool known = !s->problem.options.repeats && (has_row(&s->measured, j->rows, i, key) ||
                                                     has_row(&s->others, j->rows, i, key) ||
                                                     has_row(&s->pending, j->rows, i, key));
        lth__problem_combine(&s->problem, to->mean + i, to->variance + i, to->rows, mean, variance);
        double value = lth__row_value(&s->valuer, mean, variance, 1, lth__outlook_feasible(to, i),
                                      lth__outlook_cost(to, i), rest);
        to->value[i] = known || isnan(value) ? -INFINITY : value;
    }
}

static size_t row_room(const lth__scorer *s) {
    return s->valuer.functions + lth__problem_spreads(&s->problem) + lth__valuer_room(&s->valuer);
}

static lth_status value_chunk(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker;
    const value_job *j = user;
    size_t first = index * CHUNK, need = row_room(j->s);
    size_t last = first + CHUNK < j->to->rows ? first + CHUNK : j->to->rows;
    double *room = lth__alloc(need, sizeof *room);
    lth__string key = {0};
    if (!room) return lth__fail_memory(err, need * sizeof *room);
    value_rows(j, first, last, &key, room);
    bool failed = key.failed;
    lth__string_free(&key);
    lth__free(room);
    return failed ? lth__fail_memory(err, 0) : LTH_OK;
}

lth_status lth__outlook_make(const lth__scorer *s, const lth_table *table,
                             const lth__candidates *rows, lth__outlook *out, lth_error *err) {
    size_t series = lth__problem_series(&s->problem), n = rows->count;
    size_t spreads = lth__problem_spreads(&s->problem);
    *out = (lth__outlook){.rows = n,
                          .mean = lth__alloc(series * n, sizeof *out->mean),
                          .variance = lth__alloc(spreads * n, sizeof *out->variance),
                          .value = lth__alloc(n, sizeof *out->value)};
    if (!out->mean || !out->variance || !out->value)
        return lth__fail_memory(err, (series + spreads + 1) * n * sizeof *out->mean);
    LTH_TRY(find_cost(&s->problem.options, table, out, err));
    LTH_TRY(lth__problem_predict(&s->problem, rows->items, table, out->mean, out->variance, err));
    LTH_TRY(find_feasible(&s->problem.options, table, out, err));
    value_job j = {.s = s, .rows = rows, .to = out};
    return lth__parallel_for(lth__problem_ctx(rows), NULL, (n + CHUNK - 1) / CHUNK, NULL,
                             value_chunk, &j, err);
}

void lth__outlook_free(lth__outlook *o) {
    lth__free(o->mean);
    lth__free(o->variance);
    lth__free(o->feasible);
    lth__free(o->cost);
    lth__free(o->value);
    *o = (lth__outlook){0};
}
