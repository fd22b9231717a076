/* Classes that share a row, each with a latent function of its own, f_c ~ N(0, K):
 *
 *     P(c | f) = exp(f_c) / sum_k exp(f_k)
 *
 * by Laplace's approximation. With p the probabilities at the mode f_c = K a_c, w_i the weight of
 * row i, v = w^1/2 and r_c = p_c^1/2, diagonal,
 *
 *     log q(y) = sum_i w_i log p_i(y_i) - (sum_c a_c^T f_c + log |I + K W|) / 2
 *     W_i = w_i (diag(p_i) - p_i p_i^T)
 *     B_c = I + v r_c K r_c v,   F_c = r_c B_c^-1 r_c,   S = sum_c F_c
 *     |I + K W| = |S| prod_c |B_c|
 *     R = (K + W^-1)^-1,   R_cd = v ([c = d] F_c - F_c S^-1 F_d) v
 *
 * (Rasmussen and Williams, Gaussian Processes for Machine Learning, sections 3.5 and 5.5). The mode
 * has sum_c a_c = 0, and so sum_c f_c = 0: no class is preferred by where f is counted from.
 */
#ifndef LTH_SOFTMAX_H
#define LTH_SOFTMAX_H

#include "model/common/matrix.h"
#include "model/likelihood/softmax_points.h"

/* One problem, in the caller's arrays by [class][row]. */
typedef struct lth__softmax {
    size_t classes;
    const double *y;      /* above 0 for the class that the row has                    */
    const double *weight; /* by row; NULL = 1                                          */
    double *a;            /* where the search begins (0 is always right); then the mode's */
    double *f;            /* the mode                                                  */
    double *root_p;       /* r                                                         */
    lth__matrix *F;       /* room for these, one for each class                        */
    lth__matrix *S;       /* room for its factor                                       */
    bool inverted;        /* it is S^-1                                                */
    double evidence;
} lth__softmax;

/* Rows of the blocks that products are made in. */
enum { LTH__SOFTMAX_BLOCK = 64 };

/* F and the factor of S, from root_p; and log |I + K W|. LTH_ENUMERIC, without a message, when
 * there is none. */
lth_status lth__softmax_factor(lth__softmax *l, const lth__matrix *K, double *log_determinant,
                               lth_error *err);
/* out = R x, both by [class][row]; `room` has 2 n. */
lth_status lth__softmax_apply(const lth__softmax *l, const double *x, double *room, double *out,
                              lth_error *err);
/* Find the mode, and factor there. LTH_ENUMERIC, without a message, when K has no use. */
lth_status lth__softmax_mode(lth__softmax *l, const lth__matrix *K, lth_error *err);
/* Add to M (symmetric) the weights whose pull-back is the gradient of the evidence. F and S are
 * used up. */
lth_status lth__softmax_weights(lth__softmax *l, const lth__matrix *K, lth__matrix *M,
                                lth_error *err);

/* The covariances of the classes' f at m rows, [row][class][class]: `X` (n x m) are v times the
 * covariances of these rows with the others, `self` their variances, S is inverted. */
lth_status lth__softmax_spread(const lth__softmax *l, size_t m, const double *X, const double *self,
                               double *covariance, lth_error *err);

/* f of each row from all the others (softmax_left_out.c), S is inverted: mean [row][class] and
 * covariance [row][class][class]. */
lth_status lth__softmax_leave_out(const lth__softmax *l, const lth__matrix *K, double *mean,
                                  double *covariance, lth_error *err);

#endif
