/* What is expected of y at a row, where f there has a normal distribution: moments, quantiles,
 * density, in the target's own units. Where a likelihood has no closed forms, f is integrated out.
 */
#ifndef LTH_PREDICTIVE_H
#define LTH_PREDICTIVE_H

#include "model/likelihood/warp.h"

/* How a target is seen inside: y_scaled = (y - shift) / scale, or that warped. Parameters belong to
 * the scaled targets; labels, counts, shares are as they are. */
typedef struct lth__target {
    char *name;
    double shift, scale;
    bool constant;
    double link;           /* taken out of f            */
    double centre, spread; /* of the warp, where one is */
} lth__target;

typedef struct lth__predictive {
    const lth__likelihood *likelihood;
    lth__terms terms; /* with the noise of this row */
    const lth__target *target;
    const lth__warp *warp; /* NULL = none               */
    const double *phi;     /* its parameters            */
    const double *grades;  /* what they are called, ascending; of grades */
    double mean, variance; /* of f, all that is added to it included     */
} lth__predictive;

/* The number of a grade; `count` = it is none. */
size_t lth__grade_find(const double *grades, size_t count, double y);
/* From y as the likelihood sees it to the target's units. */
double lth__predictive_units(const lth__predictive *p, double inside);

void lth__predictive_moments(const lth__predictive *p, double *mean, double *sd);
/* y below which this share is; of counts and grades the least y with at least that share. */
double lth__predictive_quantile(const lth__predictive *p, double share);
/* Of y: log of its density or probability; the share below it, of what has a probability of its own
 * with half of that; and the continuous ranked probability score. */
double lth__predictive_log_p(const lth__predictive *p, double y);
double lth__predictive_cdf(const lth__predictive *p, double y);
double lth__predictive_crps(const lth__predictive *p, double y);
/* Of each grade. */
void lth__predictive_grades(const lth__predictive *p, double *probability);

#endif
