/* The linear part of a Gaussian process: what it says of number columns, each by itself. */
#ifndef LTH_GP_TREND_H
#define LTH_GP_TREND_H

#include "model/gp/gp.h"

/* The latent function of a target or class, and what it is multiplied by to be in its units. */
size_t lth__gp_latent_of(const lth_gp *gp, size_t target, double *unit);

/* What the linear part adds to latent function i at each item; NaN where the kernel has none. */
lth_status lth__gp_trend_at(const lth_gp *gp, size_t i, const lth_items *items, double *out,
                            lth_error *err);

#endif
