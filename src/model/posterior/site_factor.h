/* The normal distribution N(., S), S^-1 = K^-1 + D, of rows with a site of precision D_i each.
 *
 * Some D_i may be negative: where log p is convex in f, as far from an outlier under heavy tails.
 * D+ are the others, with B = I + D+^1/2 K D+^1/2 = L L^T; the c rows N of negative D, with E their
 * columns of the identity and e = -D_N, are added by
 *
 *     R+ = D+^1/2 B^-1 D+^1/2,   S+ = K - K R+ K,   C = I - e^1/2 (S+)_NN e^1/2 = L_C L_C^T
 *     R = K^-1 - K^-1 S K^-1 = R+ - Q Q^T,   Q = (I - R+ K) E e^1/2 L_C^-T
 *     S = S+ + K Q Q^T K,   |I + K D| = |B| |C|
 *
 * D is given as its root, with its sign: D = root |root|.
 */
#ifndef LTH_SITE_FACTOR_H
#define LTH_SITE_FACTOR_H

#include "model/common/matrix.h"

typedef struct lth__site_factor {
    lth__matrix *L;         /* the caller's: the factor of B, or R itself              */
    bool inverted;          /* it is R                                                 */
    size_t count;           /* of negative sites                                       */
    size_t *row;            /* these                                                   */
    double *Q, *own;        /* n x count; the variances (S+)_NN                        */
    double log_determinant; /* of I + K D                                           */
} lth__site_factor;

/* D of a root, and back. */
double lth__site_precision(double root);
double lth__site_root(double precision);

/* Of K and D, into s->L; whatever s had is freed. LTH_ENUMERIC, without a message, when K^-1 + D is
 * not positive definite. */
lth_status lth__site_factor_make(lth__site_factor *s, const lth__matrix *K, const double *root,
                                 lth_error *err);
void lth__site_factor_free(lth__site_factor *s);

/* out = R x, of the factor. */
lth_status lth__site_factor_apply(const lth__site_factor *s, const double *root, const double *x,
                                  double *out, lth_error *err);
/* The diagonal of S and, `left`, that of I - D S; also where D is 0, or so small that the second
 * has no digits left. */
lth_status lth__site_factor_variances(const lth__site_factor *s, const lth__matrix *K,
                                      const double *root, double *variance, double *left,
                                      lth_error *err);
/* R in the place of the factor. */
lth_status lth__site_factor_invert(lth__site_factor *s, const double *root, lth_error *err);

#endif
