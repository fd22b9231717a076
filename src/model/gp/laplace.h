/* Laplace's approximation for two classes: the posterior of a latent function f ~ N(0, K), seen
 * through labels y = -1 or 1, is taken to be Gaussian around its mode.
 *
 *     log q(y) = -(a^T f)/2 + sum_i log p(y_i | f_i) - (log |B|)/2
 *     f = K a the mode,  W = -d^2 log p / df^2,  B = I + W^1/2 K W^1/2
 *
 * (Rasmussen and Williams, Gaussian Processes for Machine Learning, chapter 3 and section 5.5.)
 */
#ifndef LTH_LAPLACE_H
#define LTH_LAPLACE_H

#include "model/common/linalg.h"

typedef enum lth__link { LTH__LOGIT, LTH__PROBIT } lth__link;

/* One problem, in the caller's arrays: n numbers, and n x n for L. */
typedef struct lth__laplace {
    size_t n;
    lth__link link;
    const double *y;
    double *a; /* where the search begins (0 is always right); then at the mode, a = d log p / df */
    double *f; /* the mode                    */
    double *root_w; /* W^1/2                       */
    double *L;      /* Cholesky factor of B        */
    double evidence;
} lth__laplace;

/* Find the mode. LTH_ENUMERIC, without a message, when K has no use (not finite). */
lth_status lth__laplace_mode(lth_ctx *ctx, lth__laplace *l, const double *K, lth_error *err);

/* The factor L of B from root_w, which the mode leaves there already. */
lth_status lth__laplace_factor(lth_ctx *ctx, const lth__laplace *l, const double *K,
                               lth_error *err);

/* Add to M (n x n, symmetric) the weights whose pull-back is the gradient of the evidence: d log q
 * = sum_ij M_ij dK_ij. X is room for n x n. */
lth_status lth__laplace_weights(lth_ctx *ctx, const lth__laplace *l, const double *K, double *X,
                                double *M, lth_error *err);

/* P(y = 1) where f has this mean and variance. */
double lth__laplace_probability(lth__link link, double mean, double variance);

#endif
