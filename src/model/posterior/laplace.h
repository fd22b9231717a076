/* Laplace's approximation for one latent function: the posterior of f ~ N(0, K), seen through a
 * likelihood p(y_i | f_i) that is not Gaussian, is taken to be Gaussian around its mode.
 *
 *     log q(y) = -(a^T f)/2 + sum_i log p(y_i | f_i) - (log |B|)/2
 *     f = K a the mode,  W = -d^2 log p / df^2,  |B| = |I + K W|
 *
 * (Rasmussen and Williams, Gaussian Processes for Machine Learning, chapter 3 and section 5.5.)
 */
#ifndef LTH_LAPLACE_H
#define LTH_LAPLACE_H

#include "model/likelihood/likelihood.h"
#include "model/posterior/site_factor.h"

/* One problem, in the caller's arrays of n numbers. */
typedef struct lth__laplace {
    lth__seen seen;
    double *a; /* where the search begins (0 is always right); then at the mode, a = d log p / df */
    double *f; /* the mode                    */
    double *root_w;          /* W^1/2, with the sign of W   */
    lth__matrix *L;          /* room for the factor         */
    lth__site_factor factor; /* of K and W; the caller frees it */
    double evidence;
} lth__laplace;

/* Find the mode. LTH_ENUMERIC, without a message, when K has no use (not finite). */
lth_status lth__laplace_mode(lth__laplace *l, const lth__matrix *K, lth_error *err);

/* Add to M (symmetric) the weights whose pull-back is the gradient of the evidence: d log q =
 * sum_ij M_ij dK_ij; and to by_params the gradient by the parameters of the likelihood. The factor
 * is used up. */
lth_status lth__laplace_weights(lth__laplace *l, const lth__matrix *K, lth__matrix *M,
                                double *by_params, lth_error *err);

#endif
