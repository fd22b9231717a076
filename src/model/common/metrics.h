/* Figures beside those that can be asked for one by one. */
#ifndef LTH_METRICS_H
#define LTH_METRICS_H

#include "base/status.h"

/* Area under the ROC curve: how often a positive row scores higher than a negative one, ties half.
 * NaN without both. */
lth_status lth__auc(const bool *positive, const double *score, size_t count, double *out,
                    lth_error *err);

/* Mean of -log P(the true labels of a row); `multi`: each label stands for itself, and so does its
 * absence. */
double lth__log_loss(const bool *truth, const double *probability, size_t count, size_t classes,
                     bool multi);

#endif
