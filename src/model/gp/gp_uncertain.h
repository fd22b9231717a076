/* How well a search determines what it found: the curvature of its objective around the end, a
 * normal distribution of the transformed parameters by it, intervals of the parameters; and draws
 * from that distribution, over which predictions are averaged.
 *
 *     objective(x) = -(log evidence + log priors),   H = its second derivatives at the end
 *     x ~ N(end, H^-1),   draws weighed by exp(-objective(x)) / N(x; end, H^-1)
 *
 * The prior of a transformed parameter is flat within its bounds, where the caller gives none.
 */
#ifndef LTH_GP_UNCERTAIN_H
#define LTH_GP_UNCERTAIN_H

#include <pthread.h>

#include "model/gp/gp_variables.h"

/* Of a parameter, natural units. */
typedef struct lth__interval {
    double low, high;  /* 95%; NaN = not known: it is held, or at a bound */
    bool undetermined; /* the rows hardly say anything about it           */
} lth__interval;

/* x = end + root z with z ~ N(0, I), for the variables that are free; others stay at their bound.
 */
typedef struct lth__normal {
    const double *end;
    size_t count; /* of the free ones */
    size_t *variable;
    double *root; /* count x count: [variable][direction] */
    bool *still;  /* of each direction: it has no root    */
    double *sd;
    bool *undetermined;
} lth__normal;

/* After a search that ended at x: options->intervals, options->average. *stopped: the caller wants
 * no more; then nothing is known. The model's parameters are those of x again, and what its
 * posterior carries is as it was. */
lth_status lth__gp_uncertain(const lth__variables *v, lth__gram *gram, const double *x,
                             bool *stopped, lth_error *err);

/* Second derivatives by the free variables, count x count, symmetric. */
lth_status lth__gp_curvature(const lth__variables *v, lth__gram *gram, const lth__normal *n,
                             double *H, bool *stopped, lth_error *err);

/* Whether to go on, by options->step. */
bool lth__gp_goes_on(const lth__variables *v, size_t evaluations);

/* ---- Draws (gp_draws.c) ---- */

struct lth__draws {
    size_t count, params;
    double *value;    /* [draw][parameter]: of the kernel, then the model's own */
    double *weight;   /* which sum to 1                                          */
    double effective; /* as many equal ones                                      */
    double *kept;     /* [draw][numbers]: of rows that are not kept, or NULL      */
    size_t numbers;
    pthread_mutex_t lock;     /* of what follows                                         */
    struct lth__drawn *drawn; /* models of these, when they are first needed (gp_average.c) */
};

lth_status lth__draws_create(size_t count, size_t params, struct lth__draws **out, lth_error *err);
void lth__draws_free(struct lth__draws *d);
/* options->average of them. */
lth_status lth__gp_draw(const lth__variables *v, lth__gram *gram, const lth__normal *n,
                        bool *stopped, lth_error *err);
/* From logarithms of weights, -INFINITY = none, to weights that sum to 1. Where few of them have
 * nearly all, they are made more alike until there are effectively a quarter of the count; false:
 * all are -INFINITY. */
bool lth__weights_settle(size_t count, double *weight, double *effective);

#endif
