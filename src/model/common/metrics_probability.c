/* How good the probabilities and decision values of labels are, and whether they hit grades. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "model/common/metrics.h"

/* ---- Probabilities ---- */

/* Mean of -log P(the true labels of a row); of several each stands for itself, and so does its
 * absence. */
static double log_loss(const lth__labelled *p) {
    double sum = 0;
    for (size_t i = 0; i < p->count * p->classes; i++) {
        if (!p->truth[i] && !p->multi) continue; /* these say nothing that the true one does not */
        double chance = p->truth[i] ? p->probability[i] : 1 - p->probability[i];
        sum -= log(fmax(chance, 1e-15));
    }
    return p->count > 0 ? sum / (double)p->count : NAN;
}

static double brier_score(const lth__labelled *p) {
    double sum = 0;
    for (size_t i = 0; i < p->count * p->classes; i++) {
        double off = p->probability[i] - (p->truth[i] ? 1 : 0);
        sum += off * off;
    }
    return p->count > 0 ? sum / (double)(p->multi ? p->count * p->classes : p->count) : NAN;
}

/* Decisions, by how sure they were: as many should be right. */
typedef struct confidence {
    double sure, right;
} confidence;

/* Expected calibration error: how far apart these two are in each of ten bins, by its size. With
 * one label a row the class that was taken is a decision; with several every yes and no. */
static double calibration_error(const lth__labelled *p) {
    enum { BINS = 10 };
    confidence bin[BINS] = {{0}};
    size_t decisions = 0;
    double sum = 0;
    for (size_t i = 0; i < p->count * p->classes; i++) {
        if (!p->predicted[i] && !p->multi) continue;
        double sure = p->predicted[i] ? p->probability[i] : 1 - p->probability[i];
        if (!(sure >= 0 && sure <= 1)) return NAN;
        confidence *own = &bin[sure < 1 ? (size_t)(sure * BINS) : BINS - 1];
        own->sure += sure;
        own->right += p->predicted[i] == p->truth[i];
        decisions++;
    }
    for (size_t b = 0; b < BINS; b++) sum += fabs(bin[b].sure - bin[b].right);
    return decisions > 0 ? sum / (double)decisions : NAN;
}

/* ---- Decision values ---- */

typedef struct scored {
    double score;
    bool positive;
} scored;

static int by_score(const void *a, const void *b) {
    double x = ((const scored *)a)->score, y = ((const scored *)b)->score;
    return x < y ? -1 : x > y;
}

static lth_status sort_scores(const bool *positive, const double *score, size_t count, scored **out,
                              lth_error *err) {
    scored *row = lth__alloc(count, sizeof *row);
    if (!row) return lth__fail_memory(err, count * sizeof *row);
    for (size_t i = 0; i < count; i++) row[i] = (scored){score[i], positive[i]};
    qsort(row, count, sizeof *row, by_score);
    *out = row;
    return LTH_OK;
}

lth_status lth__auc(const bool *positive, const double *score, size_t count, double *out,
                    lth_error *err) {
    scored *row = NULL;
    LTH_TRY(sort_scores(positive, score, count, &row, err));
    double won = 0, positives = 0, negatives = 0;
    for (size_t i = 0; i < count;) {
        double here[2] = {0}; /* negatives and positives of equal score */
        size_t end = i;
        for (; end < count && row[end].score == row[i].score; end++) here[row[end].positive]++;
        won += here[1] * (negatives + here[0] / 2);
        negatives += here[0];
        positives += here[1];
        if (end == i) end++; /* not a number */
        i = end;
    }
    lth__free(row);
    *out = positives > 0 && negatives > 0 ? won / (positives * negatives) : NAN;
    return LTH_OK;
}

lth_status lth__average_precision(const bool *positive, const double *score, size_t count,
                                  double *out, lth_error *err) {
    scored *row = NULL;
    LTH_TRY(sort_scores(positive, score, count, &row, err));
    double sum = 0, positives = 0, here = 0;
    for (size_t i = count; i-- > 0;) { /* the highest first */
        here += row[i].positive;
        if (i > 0 && row[i - 1].score == row[i].score) continue;
        positives += here;
        sum += here * positives / (double)(count - i);
        here = 0;
    }
    lth__free(row);
    *out = positives > 0 ? sum / positives : NAN;
    return LTH_OK;
}

/* Of the second class, which counts as the positive one. */
static lth_status judge_decisions(const lth__labelled *p, lth_label_metrics *m, lth_error *err) {
    bool *positive = lth__alloc(p->count, sizeof *positive);
    double *score = lth__alloc(p->count, sizeof *score);
    lth_status status = LTH_OK;
    if (!positive || !score) status = lth__fail_memory(err, p->count * sizeof *score);
    for (size_t i = 0; i < p->count && status == LTH_OK; i++) {
        positive[i] = p->truth[2 * i + 1];
        score[i] = p->score ? p->score[i] : -(p->decision ? p->decision[i] : p->probability[2 * i]);
    }
    if (status == LTH_OK) status = lth__auc(positive, score, p->count, &m->auc, err);
    if (status == LTH_OK)
        status = lth__average_precision(positive, score, p->count, &m->auprc, err);
    lth__free(positive);
    lth__free(score);
    return status;
}

/* ---- Grades ---- */

/* Whether all classes are called by whole numbers, and which these are. */
static bool read_grades(const lth__labelled *p, double *grade) {
    for (size_t c = 0; c < p->classes; c++) {
        double *g = &grade[c];
        if (!lth__parse_double(p->name[c], strlen(p->name[c]), g)) return false;
        if (!isfinite(*g) || *g != floor(*g)) return false;
    }
    return true;
}

/* The last one, in case there are several. */
static double grade_of(const bool *has, const double *grade, size_t classes) {
    double found = NAN;
    for (size_t c = 0; c < classes; c++) {
        if (has[c]) found = grade[c];
    }
    return found;
}

static lth_status judge_grades(const lth__labelled *p, lth_label_metrics *m, lth_error *err) {
    size_t n = p->count, k = p->classes;
    double *grade = lth__alloc(k, sizeof *grade), *rated = lth__alloc(2 * n, sizeof *rated);
    bool room = grade && rated;
    if (room && read_grades(p, grade)) {
        for (size_t i = 0; i < n; i++) {
            rated[i] = grade_of(p->truth + i * k, grade, k);
            rated[n + i] = grade_of(p->predicted + i * k, grade, k);
        }
        m->qwk = lth__quadratic_kappa(rated, rated + n, n);
    }
    lth__free(grade);
    lth__free(rated);
    return room ? LTH_OK : lth__fail_memory(err, (k + 2 * n) * sizeof(double));
}

/* ---- All of them ---- */

lth_status lth__label_metrics_judge(const lth__labelled *p, lth_label_metrics *out,
                                    lth_error *err) {
    lth_label_metrics m = lth__label_metrics_of(p->truth, p->predicted, p->count, p->classes);
    if (p->probability) {
        m.log_loss = log_loss(p);
        m.brier = brier_score(p);
        m.calibration = calibration_error(p);
    }
    bool two = p->classes == 2 && !p->multi;
    if (two && (p->score || p->decision || p->probability)) LTH_TRY(judge_decisions(p, &m, err));
    if (p->name && !p->multi) LTH_TRY(judge_grades(p, &m, err));
    *out = m;
    return LTH_OK;
}

static lth_status judge_into(const lth__labelled *p, lth_label_metrics *out, size_t size,
                             lth_error *err) {
    lth_label_metrics m;
    LTH_TRY(lth__label_metrics_judge(p, &m, err));
    lth__copy_struct(out, size, &m, sizeof m);
    return LTH_OK;
}

lth_status lth_label_metrics_with(const bool *truth, const bool *predicted,
                                  const double *probability, const char *const *names, size_t count,
                                  size_t classes, bool multi, lth_label_metrics *out, size_t size,
                                  lth_error *err) {
    lth__labelled p = {.count = count,
                       .classes = classes,
                       .multi = multi,
                       .truth = truth,
                       .predicted = predicted,
                       .probability = probability,
                       .name = names};
    return judge_into(&p, out, size, err);
}

lth_status lth_label_metrics_scored(const bool *truth, const bool *predicted, const double *score,
                                    const char *const *names, size_t count, size_t classes,
                                    bool multi, lth_label_metrics *out, size_t size,
                                    lth_error *err) {
    lth__labelled p = {.count = count,
                       .classes = classes,
                       .multi = multi,
                       .truth = truth,
                       .predicted = predicted,
                       .score = score,
                       .name = names};
    return judge_into(&p, out, size, err);
}
