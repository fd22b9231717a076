/* What is asked of which models, and what they expect of rows. */
#ifndef LTH_PROBLEM_H
#define LTH_PROBLEM_H

#include "design/acquisition.h"
#include "design/candidates.h"
#include "design/objectives.h"

typedef struct lth__problem {
    lth_model *const *models;
    size_t model_count;
    lth_propose_options options; /* complete, and without AUTO */
    const lth__acquisition *acquisition;
    lth__objectives objectives;
} lth__problem;

/* To be closed also when this fails. */
lth_status lth__problem_open(lth_model *const *models, size_t count,
                             const lth_propose_options *options, lth__problem *out, lth_error *err);
void lth__problem_close(lth__problem *p);

/* What rows are compared by: functions of which more is better. One where objectives are one or
 * summed, otherwise one for each; of labels, the latent functions of the classifier. Each is a sum
 * of series (latent functions) of the models, by factors. */
size_t lth__problem_functions(const lth__problem *p);
size_t lth__problem_series(const lth__problem *p);
/* Variances of them: of a classifier with coupled latent functions, all their covariances. */
size_t lth__problem_spreads(const lth__problem *p);

/* Series of rows: means by [series][row], variances by [spread][row]. `table` is what the items are
 * from, which an SVM needs. */
lth_status lth__problem_predict(const lth__problem *p, lth_items *const *items,
                                const lth_table *table, double *mean, double *variance,
                                lth_error *err);
/* From the series of a row (the first at mean[0], the next `stride` later) to its functions, with
 * as many variances as there are spreads where labels are learned; NULL = means alone. */
void lth__problem_combine(const lth__problem *p, const double *mean, const double *variance,
                          size_t stride, double *to_mean, double *to_variance);

/* Functions of rows together: mean[function][row], covariance[function][row][row]. */
lth_status lth__problem_join(const lth__problem *p, lth_items *const *items, double *mean,
                             double *covariance, lth_error *err);
/* The variance of what is seen of a function where that is `mean`. */
double lth__problem_noise(const lth__problem *p, size_t function, double mean);

/* What loops over rows report to. */
lth_ctx *lth__problem_ctx(const lth__candidates *c);

#endif
