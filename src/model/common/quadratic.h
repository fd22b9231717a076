/* k^T G^-1 k for any number of vectors k, once G itself is gone, by a subspace and by probes.
 *
 * With M (n x rank) the span of a preconditioner P of G (precondition.h), F = G M and C = M^T G M,
 * for every k and c = C^-1 M^T k
 *
 *     k^T G^-1 k  =  2 c^T M^T k - c^T C c  +  r^T G^-1 r,      r = k - F c
 *
 * The first part is known: what all rows say by way of the span, and never more than the whole. The
 * rest is estimated. For u from N(0, G^-1) it is the mean of (r^T u)^2. The same draws w from
 * N(0, Lambda^-1), of which u is what solving with G instead of P makes, tell how far such a mean
 * is off: that of (r^T w)^2 is known to be r^T Lambda^-1 r. So
 *
 *     r^T G^-1 r  ~  mean (r^T u)^2 - b (mean (r^T w)^2 - r^T Lambda^-1 r)
 *
 * with b from the regression of the one on the other. The better P is, the less is left to chance;
 * at P = G nothing is.
 */
#ifndef LTH_QUADRATIC_H
#define LTH_QUADRATIC_H

#include "model/common/krylov.h"
#include "model/common/precondition.h"

/* Probes that are drawn at once. */
enum { LTH__PROBE_BATCH = 32 };

typedef struct lth__quadratic {
    size_t n, rank, probes;
    float *M, *F;   /* n x rank              */
    float *U, *W;   /* n x probes            */
    double *lambda; /* n                     */
    double *C, *E;  /* rank x rank: E = C^-1 */
} lth__quadratic;

/* log |G|, by the same probes, and the standard error of that. */
typedef struct lth__log_determinant {
    double value, error;
} lth__log_determinant;

/* `k` has G and P for conjugate gradients, whose tolerance is that of the probes. */
lth_status lth__quadratic_create(const lth__krylov *k, const lth__matrix *G,
                                 const lth__preconditioner *P, size_t probes, lth__random *random,
                                 lth__quadratic **out, lth__log_determinant *log_determinant,
                                 lth_error *err);
/* One with room for everything, for a file to fill: then C needs to be inverted. LTH_ENUMERIC when
 * that cannot be. */
lth_status lth__quadratic_reserve(size_t n, size_t rank, size_t probes, lth__quadratic **out,
                                  lth_error *err);
lth_status lth__quadratic_invert(lth__quadratic *q, lth_ctx *ctx, lth_error *err);
/* L (rank x rank): the factor of C, with as little more on its diagonal as it takes. */
lth_status lth__quadratic_factor(const lth__quadratic *q, lth_ctx *ctx, double *L, lth_error *err);
void lth__quadratic_free(lth__quadratic *q);

/* Of the rows of K (rows x n), which are overwritten. All threads work. */
lth_status lth__quadratic_of(const lth__quadratic *q, lth_ctx *ctx, size_t rows, double *K,
                             double *out, lth_error *err);
/* V [row][rank] of the same rows, which stay as they are: V V^T is the part that is known. */
lth_status lth__quadratic_features(const lth__quadratic *q, lth_ctx *ctx, size_t rows,
                                   const double *K, double *V, lth_error *err);
/* The diagonal of G^-1. */
lth_status lth__quadratic_diagonal(const lth__quadratic *q, lth_ctx *ctx, double *out,
                                   lth_error *err);

/* The mean of n numbers y, each drawn with an x whose expectation is `known`; unless NULL its
 * standard error. */
double lth__controlled_mean(size_t n, const double *y, const double *x, double known,
                            double *error);

#endif
