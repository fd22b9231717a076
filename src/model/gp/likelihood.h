/* A likelihood: what is seen of a latent function f, p(y | f). One file for each, one row in the
 * list of likelihood.c.
 */
#ifndef LTH_LIKELIHOOD_H
#define LTH_LIKELIHOOD_H

#include "base/random.h"
#include "luthier.h"

enum { LTH__MOST_OWN = 4 };

/* A parameter of a model beside those of its kernel, always learned by its logarithm. Bounds are
 * for targets of variance 1, or of labels. */
typedef struct lth__own_param {
    const char *path;
    double lo, hi;
} lth__own_param;

/* log p(y | f) and its first three derivatives by f. */
typedef struct lth__log_p {
    double value, d1, d2, d3;
} lth__log_p;

typedef struct lth__likelihood {
    const char *name;
    lth__own_param
        params[LTH__MOST_OWN]; /* theta, in this order; the first without a path ends it */
    bool of_labels;            /* y is -1 or 1; otherwise it is a number */
    bool own_units;            /* f is not in those of y: the kernel needs a factor, `scale` */

    lth__log_p (*at)(const double *theta, double y, double f);
    /* Of y, where f has this mean and variance: of numbers its own mean and variance in their
     * place, of labels P(y = 1). */
    void (*moments)(const double *theta, double *mean, double *variance);
    double (*probability)(const double *theta, double mean, double variance);
    double (*draw)(const double *theta, double f, lth__random *random);
} lth__likelihood;

extern const lth__likelihood lth__gaussian, lth__logit, lth__probit;

/* The likelihood of that name, or NULL. */
const lth__likelihood *lth__likelihood_find(const char *name);

/* ---- Expectations, from `at` alone: every likelihood has them ---- */

/* Gauss and Hermite's rule for the standard normal distribution. */
enum { LTH__NODES = 32 };
typedef struct lth__quadrature {
    double node[LTH__NODES], weight[LTH__NODES];
} lth__quadrature;
void lth__quadrature_make(lth__quadrature *q);

/* E log p(y | f) by this rule, where f has this mean and variance, and its derivatives by both: of
 * the rule itself, so that they agree with the value whatever the rule's error. */
typedef struct lth__expected {
    double value, by_mean, by_variance;
} lth__expected;
lth__expected lth__likelihood_expect(const lth__likelihood *l, const double *theta,
                                     const lth__quadrature *q, double y, double mean,
                                     double variance);

#endif
