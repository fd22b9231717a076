/* What a cross-validation found. */
#ifndef LTH_VALIDATION_H
#define LTH_VALIDATION_H

#include "engine/cluster.h"
#include "model/common/labels.h"

/* One target. What was predicted is filled in by row, then judged. */
typedef struct lth__validated {
    bool has_labels, multi;
    size_t rows, class_count;
    char **class_name;
    double *y;     /* numbers: the truth                                           */
    double *value; /* and what was predicted                                       */
    double *sd;    /* with these deviations; NULL = there are none                 */
    /* Of y under what was predicted, and its 95% interval; NULL = as of a normal distribution. */
    double *log_density, *cdf, *crps, *lower, *median, *upper;
    bool *truth; /* labels, both by [row * classes + class]                      */
    bool *predicted;
    double *decision;          /* two classes: for class 0, by row; NULL otherwise             */
    double *probability;       /* by [row * classes + class]; NULL = there are none            */
    bool *missing;             /* by fold: canceled before it was finished                     */
    double *seconds;           /* by fold                                                      */
    double *evidence;          /* likewise, of the rows learned from; NaN = there is none      */
    lth_metrics *metrics;      /* by fold, then of all rows                           */
    lth_label_metrics *labels; /* likewise                                            */
    lth_class_metrics *each;   /* by class, of all rows                               */
    size_t *confusion;         /* one label a row: [truth * classes + predicted]      */
} lth__validated;

struct lth_validation {
    size_t target_count, folds;
    lth__validated *targets;
};

/* Without targets; these are added one by one. */
lth_status lth__validation_create(size_t targets, size_t folds, lth_validation **out,
                                  lth_error *err);
/* A target of numbers (`y`), or of labels (`y` NULL); both are copied. */
lth_status lth__validation_add(lth_validation *v, const double *y, const lth__labels *labels,
                               size_t rows, lth_error *err);
/* Room for log_density, cdf, crps, lower, median and upper of such a target of numbers. */
lth_status lth__validation_distribution(lth_validation *v, size_t target, lth_error *err);
/* Where ranks had folds of their own, by lth__cluster_owner(): what each found, to all. */
lth_status lth__validation_join(lth__cluster *c, lth_status status, lth_validation *v,
                                lth_error *err);
/* Of a cross-validation that was canceled. */
void lth__validation_miss(lth_validation *v, size_t target, size_t fold);
bool lth__validation_has_any(const lth_validation *v);
/* All figures, once everything has been predicted. */
lth_status lth__validation_judge(lth_validation *v, const size_t *fold, lth_error *err);

#endif
