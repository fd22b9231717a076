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
        void *blocks[] = {t->class_name, t->y,           t->value,   t->truth,   t->predicted,
                          t->decision,   t->probability, t->seconds, t->metrics, t->labels,
                          t->each,       t->confusion,   t->sd,      t->evidence};
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
    t->seconds = lth__calloc(v->folds, sizeof *t->seconds);
    t->evidence = lth__alloc(v->folds, sizeof *t->evidence);
    t->metrics = lth__calloc(v->folds + 1, sizeof *t->metrics);
    t->labels = lth__calloc(v->folds + 1, sizeof *t->labels);
    bool ok = t->seconds && t->evidence && t->metrics && t->labels;
    for (size_t f = 0; ok && f < v->folds; f++) t->evidence[f] = NAN;
    ok = ok && (y ? copy_numbers(t, y) : copy_labels(t, labels));
    return ok ? LTH_OK : lth__fail_memory(err, 0);
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
    LTH_TRY(lth__cluster_join(c, LTH_OK, t->value, t->value ? t->rows : 0, err));
    LTH_TRY(lth__cluster_join(c, LTH_OK, t->sd, t->sd ? t->rows : 0, err));
    LTH_TRY(lth__cluster_join(c, LTH_OK, t->decision, t->decision ? t->rows : 0, err));
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

/* ---- Judging ---- */

/* The rows of a fold (LTH_NONE = all), copied together. */
typedef struct part {
    size_t count;
    double *y, *value, *sd, *probability;
    bool *truth, *predicted;
} part;

static void copy_part(const lth__validated *t, const size_t *fold, size_t wanted, part *p) {
    size_t n = t->class_count;
    p->count = 0;
    for (size_t i = 0; i < t->rows; i++) {
        if (wanted != LTH_NONE && fold[i] != wanted) continue;
        if (t->has_labels) {
            memcpy(p->truth + p->count * n, t->truth + i * n, n * sizeof *p->truth);
            memcpy(p->predicted + p->count * n, t->predicted + i * n, n * sizeof *p->truth);
            if (t->decision) p->value[p->count] = t->decision[i];
            if (t->probability)
                memcpy(p->probability + p->count * n, t->probability + i * n,
                       n * sizeof *p->probability);
        } else {
            p->y[p->count] = t->y[i];
            p->value[p->count] = t->value[i];
            if (t->sd) p->sd[p->count] = t->sd[i];
        }
        p->count++;
    }
}

static lth_status judge_part(lth__validated *t, const part *p, size_t at, bool all,
                             lth_error *err) {
    if (!t->has_labels) {
        t->metrics[at] = lth__metrics_of(p->y, p->value, t->sd ? p->sd : NULL, p->count);
        return LTH_OK;
    }
    size_t n = t->class_count;
    lth_label_metrics *m = &t->labels[at];
    *m = lth__label_metrics_of(p->truth, p->predicted, p->count, n);
    for (size_t c = 0; all && c < n; c++)
        t->each[c] = lth__class_metrics_of(p->truth, p->predicted, p->count, n, c);
    if (t->probability)
        m->log_loss = lth__log_loss(p->truth, p->probability, p->count, n, t->multi);
    if (!t->decision) return LTH_OK;
    bool *positive = lth__alloc(p->count, sizeof *positive);
    if (!positive) return lth__fail_memory(err, p->count);
    for (size_t i = 0; i < p->count; i++) positive[i] = p->truth[i * n];
    lth_status status = lth__auc(positive, p->value, p->count, &m->auc, err);
    lth__free(positive);
    return status;
}

static size_t class_of(const bool *has, size_t classes) {
    size_t c = 0;
    while (c < classes && !has[c]) c++;
    return c;
}

static void fill_confusion(lth__validated *t) {
    size_t n = t->class_count;
    for (size_t i = 0; t->confusion && i < t->rows; i++) {
        size_t truth = class_of(t->truth + i * n, n), found = class_of(t->predicted + i * n, n);
        if (truth < n && found < n) t->confusion[truth * n + found]++;
    }
}

static lth_status judge_target(const lth_validation *v, lth__validated *t, const size_t *fold,
                               lth_error *err) {
    size_t cells = t->rows * (t->class_count + 1);
    part p = {.y = lth__alloc(t->rows, sizeof *p.y),
              .value = lth__alloc(t->rows, sizeof *p.value),
              .sd = lth__alloc(t->sd ? t->rows : 0, sizeof *p.sd),
              .probability = lth__alloc(t->probability ? cells : 0, sizeof *p.probability),
              .truth = lth__alloc(cells, sizeof *p.truth),
              .predicted = lth__alloc(cells, sizeof *p.predicted)};
    bool room = p.y && p.value && p.sd && p.probability && p.truth && p.predicted;
    lth_status status = room ? LTH_OK : lth__fail_memory(err, 0);
    for (size_t f = 0; f <= v->folds && status == LTH_OK; f++) {
        copy_part(t, fold, f < v->folds ? f : LTH_NONE, &p);
        status = judge_part(t, &p, f, f == v->folds, err);
    }
    fill_confusion(t);
    lth__free(p.y);
    lth__free(p.value);
    lth__free(p.sd);
    lth__free(p.probability);
    lth__free(p.truth);
    lth__free(p.predicted);
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
