/* What a cross-validation found, for any kind of model. */
#include "model/common/validation.h"

#include <math.h>
#include <string.h>

#include "model/common/metrics.h"

lth_status lth__validation_create(size_t targets, size_t folds, lth_validation **out,
                                  lth_error *err) {
    lth_validation *v = lth__calloc(1, sizeof *v);
    if (!v) return lth__fail_memory(err, sizeof *v);
    v->folds = folds;
    v->targets = lth__calloc(targets, sizeof *v->targets);
    if (!v->targets) {
        lth__free(v);
        return lth__fail_memory(err, 0);
    }
    *out = v;
    return LTH_OK;
}

void lth_validation_free(lth_validation *v) {
    for (size_t i = 0; v && i < v->target_count; i++) {
        lth__validated *t = &v->targets[i];
        for (size_t c = 0; t->class_name && c < t->class_count; c++) lth__free(t->class_name[c]);
        void *blocks[] = {t->class_name, t->y,           t->value,   t->truth,    t->predicted,
                          t->decision,   t->probability, t->seconds, t->metrics,  t->labels,
                          t->each,       t->confusion,   t->sd,      t->evidence, t->log_density,
                          t->cdf,        t->crps,        t->lower,   t->median,   t->upper,
                          t->missing};
        for (size_t k = 0; k < sizeof blocks / sizeof *blocks; k++) lth__free(blocks[k]);
    }
    if (v) lth__free(v->targets);
    lth__free(v);
}

/* ---- Targets ---- */

static bool copy_numbers(lth__validated *t, const double *y) {
    t->y = lth__alloc(t->rows, sizeof *t->y);
    t->value = lth__calloc(t->rows, sizeof *t->value);
    if (!t->y || !t->value) return false;
    memcpy(t->y, y, t->rows * sizeof *y);
    return true;
}

static bool copy_labels(lth__validated *t, const lth__labels *labels) {
    size_t n = labels->class_count;
    t->has_labels = true;
    t->multi = labels->multi;
    t->class_count = n;
    t->class_name = lth__calloc(n, sizeof *t->class_name);
    t->truth = lth__calloc(t->rows * n, sizeof *t->truth);
    t->predicted = lth__calloc(t->rows * n, sizeof *t->predicted);
    t->each = lth__calloc(n, sizeof *t->each);
    if (n == 2 && !t->multi) t->decision = lth__calloc(t->rows, sizeof *t->decision);
    if (!t->multi) t->confusion = lth__calloc(n * n, sizeof *t->confusion);
    bool ok = t->class_name && t->truth && t->predicted && t->each;
    ok = ok && (t->decision || n != 2 || t->multi) && (t->confusion || t->multi);
    for (size_t c = 0; ok && c < n; c++)
        ok = (t->class_name[c] = lth__strndup(labels->name[c], strlen(labels->name[c]))) != NULL;
    for (size_t i = 0; ok && i < t->rows; i++) {
        for (size_t k = labels->start[i]; k < labels->start[i + 1]; k++)
            t->truth[i * n + labels->of[k]] = true;
    }
    return ok;
}

lth_status lth__validation_add(lth_validation *v, const double *y, const lth__labels *labels,
                               size_t rows, lth_error *err) {
    lth__validated *t = &v->targets[v->target_count++];
    t->rows = rows;
    t->missing = lth__calloc(v->folds, sizeof *t->missing);
    t->seconds = lth__calloc(v->folds, sizeof *t->seconds);
    t->evidence = lth__alloc(v->folds, sizeof *t->evidence);
    t->metrics = lth__calloc(v->folds + 1, sizeof *t->metrics);
    t->labels = lth__calloc(v->folds + 1, sizeof *t->labels);
    bool ok = t->missing && t->seconds && t->evidence && t->metrics && t->labels;
    for (size_t f = 0; ok && f < v->folds; f++) t->evidence[f] = NAN;
    ok = ok && (y ? copy_numbers(t, y) : copy_labels(t, labels));
    return ok ? LTH_OK : lth__fail_memory(err, 0);
}

lth_status lth__validation_distribution(lth_validation *v, size_t target, lth_error *err) {
    lth__validated *t = &v->targets[target];
    double **all[] = {&t->log_density, &t->cdf, &t->crps, &t->lower, &t->median, &t->upper};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        if (!*all[k]) *all[k] = lth__calloc(t->rows, sizeof **all[k]);
        if (!*all[k]) return lth__fail_memory(err, t->rows * sizeof **all[k]);
    }
    return LTH_OK;
}

/* ---- Folds of several ranks ---- */

/* What is not this rank's own is 0 until then; only the evidence starts as NaN. */
static lth_status join_target(lth__cluster *c, lth__validated *t, size_t folds, lth_error *err) {
    for (size_t f = 0; f < folds; f++) {
        if (!lth__cluster_owns(c, f)) t->evidence[f] = t->seconds[f] = 0;
    }
    size_t cells = t->rows * t->class_count;
    LTH_TRY(lth__cluster_join(c, LTH_OK, t->evidence, folds, err));
    LTH_TRY(lth__cluster_join(c, LTH_OK, t->seconds, folds, err));
    double *by_row[] = {t->value, t->sd,     t->log_density, t->cdf,     t->crps,
                        t->lower, t->median, t->upper,       t->decision};
    for (size_t k = 0; k < sizeof by_row / sizeof *by_row; k++)
        LTH_TRY(lth__cluster_join(c, LTH_OK, by_row[k], by_row[k] ? t->rows : 0, err));
    LTH_TRY(lth__cluster_join(c, LTH_OK, t->probability, t->probability ? cells : 0, err));
    return lth__cluster_join_bytes(c, LTH_OK, t->predicted, cells * sizeof *t->predicted, err);
}

lth_status lth__validation_join(lth__cluster *c, lth_status status, lth_validation *v,
                                lth_error *err) {
    LTH_TRY(lth__cluster_agree(c, status, err));
    for (size_t t = 0; c && t < v->target_count; t++)
        LTH_TRY(join_target(c, &v->targets[t], v->folds, err));
    return LTH_OK;
}

/* ---- Canceled ---- */

void lth__validation_miss(lth_validation *v, size_t target, size_t fold) {
    v->targets[target].missing[fold] = true;
    v->targets[target].seconds[fold] = 0;
}

bool lth__validation_has_any(const lth_validation *v) {
    for (size_t i = 0; i < v->target_count * v->folds; i++) {
        if (!v->targets[i / v->folds].missing[i % v->folds]) return true;
    }
    return false;
}

/* ---- Judging ---- */

/* The rows of a fold (LTH_NONE = all), copied together. */
enum { BY_ROW = 9 }; /* y, value, sd, log_density, cdf, crps, lower, upper, decision */
typedef struct part {
    size_t count;
    double *by_row[BY_ROW], *probability;
    bool *truth, *predicted;
} part;

static void list_numbers(const lth__validated *t, const double *of[BY_ROW]) {
    const double *all[BY_ROW] = {t->y,    t->value, t->sd,    t->log_density, t->cdf,
                                 t->crps, t->lower, t->upper, t->decision};
    memcpy(of, all, sizeof all);
}

static void part_close(part *p) {
    for (size_t k = 0; k < BY_ROW; k++) lth__free(p->by_row[k]);
    lth__free(p->probability);
    lth__free(p->truth);
    lth__free(p->predicted);
}

/* Room for all rows, of what the target has. */
static bool part_open(part *p, const lth__validated *t) {
    const double *of[BY_ROW];
    size_t cells = t->rows * t->class_count;
    bool ok = true;
    list_numbers(t, of);
    *p = (part){.truth = lth__alloc(cells, sizeof *p->truth),
                .predicted = lth__alloc(cells, sizeof *p->predicted)};
    for (size_t k = 0; k < BY_ROW; k++) {
        if (of[k]) ok = ok && (p->by_row[k] = lth__alloc(t->rows, sizeof(double)));
    }
    if (t->probability) ok = ok && (p->probability = lth__alloc(cells, sizeof *p->probability));
    return ok && p->truth && p->predicted;
}

static void copy_part(const lth__validated *t, const size_t *fold, size_t wanted, part *p) {
    const double *of[BY_ROW];
    size_t n = t->class_count;
    list_numbers(t, of);
    p->count = 0;
    for (size_t i = 0; i < t->rows; i++) {
        if ((wanted != LTH_NONE && fold[i] != wanted) || t->missing[fold[i]]) continue;
        if (t->y && isnan(t->y[i])) continue; /* the row does not have this target */
        size_t to = p->count++;
        for (size_t k = 0; k < BY_ROW; k++) {
            if (of[k]) p->by_row[k][to] = of[k][i];
        }
        if (!t->has_labels) continue;
        memcpy(p->truth + to * n, t->truth + i * n, n * sizeof *p->truth);
        memcpy(p->predicted + to * n, t->predicted + i * n, n * sizeof *p->predicted);
        if (t->probability)
            memcpy(p->probability + to * n, t->probability + i * n, n * sizeof *p->probability);
    }
}

static lth_status judge_numbers(const part *p, lth_metrics *out, lth_error *err) {
    double *const *x = p->by_row;
    return lth__metrics_judge(&(lth__predicted){.count = p->count,
                                                .y = x[0],
                                                .point = x[1],
                                                .sd = x[2],
                                                .log_density = x[3],
                                                .cdf = x[4],
                                                .crps = x[5],
                                                .lower = x[6],
                                                .upper = x[7]},
                              out, err);
}

static lth_status judge_labels(const lth__validated *t, const part *p, lth_label_metrics *out,
                               lth_error *err) {
    return lth__label_metrics_judge(&(lth__labelled){.count = p->count,
                                                     .classes = t->class_count,
                                                     .multi = t->multi,
                                                     .truth = p->truth,
                                                     .predicted = p->predicted,
                                                     .probability = p->probability,
                                                     .decision = p->by_row[8],
                                                     .name = (const char *const *)t->class_name},
                                    out, err);
}

static size_t class_of(const bool *has, size_t classes) {
    size_t c = 0;
    while (c < classes && !has[c]) c++;
    return c;
}

static void fill_confusion(lth__validated *t, const part *all) {
    size_t n = t->class_count;
    for (size_t i = 0; t->confusion && i < all->count; i++) {
        size_t truth = class_of(all->truth + i * n, n), found = class_of(all->predicted + i * n, n);
        if (truth < n && found < n) t->confusion[truth * n + found]++;
    }
}

/* By chance the rows of a fold may all have whole numbers. */
static void agree_on_grades(lth__validated *t, size_t folds) {
    for (size_t f = 0; isnan(t->metrics[folds].qwk) && f < folds; f++) t->metrics[f].qwk = NAN;
}

static lth_status judge_target(const lth_validation *v, lth__validated *t, const size_t *fold,
                               lth_error *err) {
    part p;
    lth_status status = part_open(&p, t) ? LTH_OK : lth__fail_memory(err, 0);
    for (size_t f = 0; f <= v->folds && status == LTH_OK; f++) {
        if (f < v->folds && t->missing[f]) continue;
        copy_part(t, fold, f < v->folds ? f : LTH_NONE, &p);
        status = t->has_labels ? judge_labels(t, &p, &t->labels[f], err)
                               : judge_numbers(&p, &t->metrics[f], err);
    }
    agree_on_grades(t, v->folds);
    for (size_t c = 0; c < t->class_count && status == LTH_OK; c++) /* of all rows, the last part */
        t->each[c] = lth__class_metrics_of(p.truth, p.predicted, p.count, t->class_count, c);
    if (status == LTH_OK) fill_confusion(t, &p);
    part_close(&p);
    return status;
}

lth_status lth__validation_judge(lth_validation *v, const size_t *fold, lth_error *err) {
    for (size_t i = 0; i < v->target_count; i++)
        LTH_TRY(judge_target(v, &v->targets[i], fold, err));
    return LTH_OK;
}

/* ---- Looking at it ---- */

/* A target, and one that has classes; NULL where there is none. */
static const lth__validated *target_at(const lth_validation *v, size_t target) {
    return target < v->target_count ? &v->targets[target] : NULL;
}

static const lth__validated *labels_at(const lth_validation *v, size_t target) {
    const lth__validated *t = target_at(v, target);
    return t && t->has_labels ? t : NULL;
}

/* Where a fold's figures are; past them for none. */
static size_t place_of(const lth_validation *v, size_t fold) {
    return fold == LTH_NONE ? v->folds : fold < v->folds ? fold : LTH_NONE;
}

bool lth_validation_has_labels(const lth_validation *v, size_t target) {
    return labels_at(v, target) != NULL;
}

bool lth_validation_done(const lth_validation *v, size_t target, size_t fold) {
    const lth__validated *t = target_at(v, target);
    bool done = t && (fold == LTH_NONE || fold < v->folds);
    for (size_t f = 0; done && f < v->folds; f++) {
        if (f == fold || fold == LTH_NONE) done = !t->missing[f];
    }
    return done;
}

const lth_metrics *lth_validation_metrics(const lth_validation *v, size_t target, size_t fold) {
    const lth__validated *t = target_at(v, target);
    size_t at = place_of(v, fold);
    return t && !t->has_labels && at != LTH_NONE ? &t->metrics[at] : NULL;
}

const lth_label_metrics *lth_validation_label_metrics(const lth_validation *v, size_t target,
                                                      size_t fold) {
    const lth__validated *t = labels_at(v, target);
    size_t at = place_of(v, fold);
    return t && at != LTH_NONE ? &t->labels[at] : NULL;
}

double lth_validation_seconds(const lth_validation *v, size_t target, size_t fold) {
    const lth__validated *t = target_at(v, target);
    double sum = 0;
    for (size_t f = 0; t && f < v->folds; f++) {
        if (f == fold || fold == LTH_NONE) sum += t->seconds[f];
    }
    return sum;
}

double lth_validation_evidence(const lth_validation *v, size_t target, size_t fold) {
    const lth__validated *t = target_at(v, target);
    return t && fold < v->folds ? t->evidence[fold] : NAN;
}

size_t lth_validation_classes(const lth_validation *v, size_t target) {
    const lth__validated *t = labels_at(v, target);
    return t ? t->class_count : 0;
}

const char *lth_validation_class(const lth_validation *v, size_t target, size_t i) {
    return i < lth_validation_classes(v, target) ? v->targets[target].class_name[i] : NULL;
}

const lth_class_metrics *lth_validation_class_metrics(const lth_validation *v, size_t target,
                                                      size_t i) {
    return i < lth_validation_classes(v, target) ? &v->targets[target].each[i] : NULL;
}

bool lth_validation_has_confusion(const lth_validation *v, size_t target) {
    const lth__validated *t = labels_at(v, target);
    return t && t->confusion;
}

size_t lth_validation_confusion(const lth_validation *v, size_t target, size_t truth,
                                size_t predicted) {
    size_t n = lth_validation_classes(v, target);
    if (truth >= n || predicted >= n || !lth_validation_has_confusion(v, target)) return 0;
    return v->targets[target].confusion[truth * n + predicted];
}

double lth_validation_value(const lth_validation *v, size_t target, size_t row) {
    const lth__validated *t = target_at(v, target);
    return t && t->value && row < t->rows ? t->value[row] : NAN;
}

double lth_validation_sd(const lth_validation *v, size_t target, size_t row) {
    const lth__validated *t = target_at(v, target);
    return t && t->sd && row < t->rows ? t->sd[row] : NAN;
}

double lth_validation_quantile(const lth_validation *v, size_t target, size_t row, double share) {
    const lth__validated *t = target_at(v, target);
    if (!t || row >= t->rows) return NAN;
    const double *of = share == 0.025   ? t->lower
                       : share == 0.5   ? t->median
                       : share == 0.975 ? t->upper
                                        : NULL;
    return of ? of[row] : NAN;
}

/* Whether a table of rows and classes says so. */
static bool has_class(const lth__validated *t, const bool *has, size_t row, size_t i) {
    return row < t->rows && i < t->class_count && has[row * t->class_count + i];
}

bool lth_validation_predicted(const lth_validation *v, size_t target, size_t row, size_t i) {
    const lth__validated *t = labels_at(v, target);
    return t && has_class(t, t->predicted, row, i);
}

bool lth_validation_true(const lth_validation *v, size_t target, size_t row, size_t i) {
    const lth__validated *t = labels_at(v, target);
    return t && has_class(t, t->truth, row, i);
}
