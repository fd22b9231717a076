/* Figures that need memory. */
#ifndef LTH_METRICS_H
#define LTH_METRICS_H

#include "base/status.h"

/* Area under the ROC curve: how often a positive row scores higher than a negative one, ties half.
 * NaN without both. */
lth_status lth__auc(const bool *positive, const double *score, size_t count, double *out,
                    lth_error *err);

#endif
