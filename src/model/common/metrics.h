/* How good predictions are. */
#ifndef LTH_METRICS_H
#define LTH_METRICS_H

#include "base/status.h"

/* lth_metrics_of(), lth_label_metrics_of() and lth_class_metrics_of(), for structs of our own size.
 */
lth_metrics lth__metrics_of(const double *y, const double *mean, const double *sd, size_t count);
lth_label_metrics lth__label_metrics_of(const bool *truth, const bool *predicted, size_t count,
                                        size_t classes);
lth_class_metrics lth__class_metrics_of(const bool *truth, const bool *predicted, size_t count,
                                        size_t classes, size_t class);

/* Area under the ROC curve: how often a positive row scores higher than a negative one, ties half.
 * NaN without both. */
lth_status lth__auc(const bool *positive, const double *score, size_t count, double *out,
                    lth_error *err);

/* Mean of -log P(the true labels of a row); `multi`: each label stands for itself, and so does its
 * absence. */
double lth__log_loss(const bool *truth, const double *probability, size_t count, size_t classes,
                     bool multi);

#endif
