/* Minimising a smooth function within bounds: L-BFGS-B 3.0, loaded when it is first needed. */
#ifndef LTH_MINIMISE_H
#define LTH_MINIMISE_H

#include "base/status.h"

/* f and its gradient at x. A point where the function cannot be computed is *f = INFINITY with
 * LTH_OK. */
typedef lth_status lth__function(void *user, const double *x, double *f, double *g, lth_error *err);
/* Told of each new iterate; non-zero stops, which is no failure. */
typedef int lth__iterate(void *user, size_t iteration, double f, double gradient);

typedef struct lth__minimum {
    double f;
    double gradient; /* largest component of the projected gradient */
    size_t iterations, evaluations;
    bool converged, stopped;
} lth__minimum;

typedef struct lth__minimise_options {
    size_t max_iter;
    double gradient_tolerance; /* on the projected gradient          */
    double decrease_tolerance; /* relative decrease of f             */
} lth__minimise_options;

/* x is the start, then the best point. */
lth_status lth__minimise(size_t n, double *x, const double *lo, const double *hi,
                         const lth__minimise_options *options, lth__function *function,
                         lth__iterate *iterate, void *user, lth__minimum *out, lth_error *err);

#endif
