/* How good predictions are. */
#ifndef LTH_METRICS_H
#define LTH_METRICS_H

#include "base/status.h"

/* ---- Numbers ---- */

/* What was predicted for rows beside the truth. What is NULL is not known. */
typedef struct lth__predicted {
    size_t count;
    const double *y, *point; /* the truth; the number that is given out: a mean or a median */
    const double *sd;        /* of y; NULL = none                                            */
    /* Of y under its predictive distribution; NULL = of a normal one with this mean and sd. */
    const double *log_density, *cdf, *crps;
    const double *lower, *upper; /* the 95% interval; NULL = likewise */
} lth__predicted;

lth_status lth__metrics_judge(const lth__predicted *p, lth_metrics *out, lth_error *err);
/* The same where nothing may fail: without memory, what needs sorted rows is NaN. */
lth_metrics lth__metrics_of(const lth__predicted *p);

/* Of the above: what the order of the rows says, and the kappa of grades. Stays as it is where a
 * number is NaN. */
lth_status lth__metrics_rank(const lth__predicted *p, lth_metrics *m, lth_error *err);

/* Cohen's kappa of two raters with squared distances as weights; NaN where both know one grade
 * alone. */
double lth__quadratic_kappa(const double *a, const double *b, size_t count);

/* ---- Labels ---- */

/* The same for labels, by [row * classes + class]. What is NULL is not known. */
typedef struct lth__labelled {
    size_t count, classes;
    bool multi; /* several labels a row */
    const bool *truth, *predicted;
    const double *probability;
    const double *decision; /* two classes: for class 0, by row; NULL = its probability */
    const double *score;    /* instead of it: for class 1 */
    const char *const *name;
} lth__labelled;

lth_status lth__label_metrics_judge(const lth__labelled *p, lth_label_metrics *out, lth_error *err);

/* lth_label_metrics_of() and lth_class_metrics_of(), for structs of our own size. */
lth_label_metrics lth__label_metrics_of(const bool *truth, const bool *predicted, size_t count,
                                        size_t classes);
lth_class_metrics lth__class_metrics_of(const bool *truth, const bool *predicted, size_t count,
                                        size_t classes, size_t class);

/* Area under the ROC curve: how often a positive row scores higher than a negative one, ties half.
 * NaN without both. */
lth_status lth__auc(const bool *positive, const double *score, size_t count, double *out,
                    lth_error *err);
/* Average precision: the mean, over positive rows, of the share of positives among all rows that
 * score as high. NaN without positives. */
lth_status lth__average_precision(const bool *positive, const double *score, size_t count,
                                  double *out, lth_error *err);

#endif
