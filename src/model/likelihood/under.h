/* What a likelihood says of y where f is normal, with this mean and variance: by its closed forms,
 * otherwise by integrals over f. All in the units of y inside. */
#ifndef LTH_UNDER_H
#define LTH_UNDER_H

#include "model/likelihood/likelihood.h"

typedef struct lth__under {
    const lth__likelihood *likelihood;
    const lth__terms *terms;
    double mean, variance;
} lth__under;

void lth__under_moments(const lth__under *u, double *mean, double *variance);
double lth__under_log_p(const lth__under *u, double y);
/* P(Y <= y); of counts also for y in between, as a smooth function. */
double lth__under_cdf(const lth__under *u, double y);
/* y below which this share is; of counts and grades the least y with at least that share. */
double lth__under_quantile(const lth__under *u, double share);
/* Of numbers, counts and shares. */
double lth__under_crps(const lth__under *u, double y);

#endif
