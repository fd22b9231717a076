/* What it is worth to know the label of a row. */
#ifndef LTH_LABEL_VALUE_H
#define LTH_LABEL_VALUE_H

#include "model/gp/gp.h"

typedef struct lth__label_rule {
    const lth_gp *gp;
    lth_acquisition which;
    size_t latents, classes;
    double *points; /* [point][latent]: where several latent functions are looked at together */
} lth__label_rule;

lth_status lth__label_rule_make(const lth_gp *gp, lth_acquisition which, lth__label_rule *out,
                                lth_error *err);
void lth__label_rule_free(lth__label_rule *rule);

/* Where latent function i has mean[i * stride] and variance likewise, or where they are coupled,
 * with latent function j the covariance variance[(i * latents + j) * stride]; `room` has so many
 * numbers. */
size_t lth__label_room(const lth__label_rule *rule);
double lth__label_value(const lth__label_rule *rule, const double *mean, const double *variance,
                        size_t stride, double *room);

#endif
