/* What is expected of y at a row where several models are asked, each with its weight: the mixture
 * of what they expect (predictive.h). */
#ifndef LTH_MIXTURE_H
#define LTH_MIXTURE_H

#include "model/likelihood/predictive.h"

typedef struct lth__mixture {
    size_t count;
    const double *weight; /* which sum to 1 */
    const lth__predictive *part;
} lth__mixture;

/* As those of lth__predictive. */
void lth__mixture_moments(const lth__mixture *m, double *mean, double *sd);
double lth__mixture_quantile(const lth__mixture *m, double share);
double lth__mixture_log_p(const lth__mixture *m, double y);
double lth__mixture_cdf(const lth__mixture *m, double y);
double lth__mixture_crps(const lth__mixture *m, double y);
void lth__mixture_grades(const lth__mixture *m, double *probability);

/* Mean and variance of a mixture of parts with these. */
void lth__mixture_mix(size_t count, const double *weight, const double *mean,
                      const double *variance, size_t stride, double *out_mean,
                      double *out_variance);

#endif
