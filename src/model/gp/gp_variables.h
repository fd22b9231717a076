/* What a search moves: parameters of a model, transformed. One between 0 and 1 is moved by its
 * logit, most others by their logarithm, and one that may be best at 0 as it is; tied parameters
 * are one variable, and those that are held none. */
#ifndef LTH_GP_VARIABLES_H
#define LTH_GP_VARIABLES_H

#include "model/gp/gp.h"

typedef struct lth__variable {
    size_t param; /* the first of its tag; those of the kernel, then the model's own */
    enum { LTH__BY_LOGARITHM, LTH__BY_LOGIT, LTH__AS_IT_IS } scale;
    double least, most;          /* values it may have                                   */
    double lo, hi;               /* of the transformed variable                          */
    bool bounded;                /* the expression has bounds for it                     */
    double prior_mean, prior_sd; /* of the logarithm; sd 0 = none                        */
} lth__variable;

typedef struct lth__variables {
    lth_gp *gp;
    const lth_gp_options *options;
    lth__variable *list;
    size_t count;
    double *gradient; /* of the evidence by every parameter, natural units */
    double *slope;    /* of the penalties, likewise                        */
    double *lo, *hi;  /* of each variable                                  */
} lth__variables;

/* To be freed also when this fails. */
lth_status lth__variables_list(lth_gp *gp, const lth_gp_options *options, lth__variables *out,
                               lth_error *err);
void lth__variables_free(lth__variables *s);

/* The parameter at x, natural units. */
double lth__variable_value(const lth__variable *v, double x);
/* Whether variable i moves this parameter; whether x is at one of its bounds. */
bool lth__variables_moves(const lth__variables *s, size_t i, size_t param);
bool lth__variables_at_bound(const lth__variables *s, size_t i, double x);

/* From the model's parameters to a point, and back. */
void lth__variables_read(const lth__variables *s, double *x);
void lth__variables_write(const lth__variables *s, const double *x);

/* Minus the evidence of the scaled targets and the logarithms of the priors; unless g is NULL also
 * the gradient. INFINITY where there is no evidence. The model's parameters are those of x then. */
lth_status lth__variables_objective(const lth__variables *s, lth__gram *gram, const double *x,
                                    double *f, double *g, lth_error *err);

#endif
