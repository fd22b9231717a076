/* From covariances of the prior to those of a posterior, of rows among each other:
 *
 *     C = K** - V V^T + U U^T
 *
 * with features V of what training rows explain, and U of what they leave open again. C is rows x
 * rows, and its lower triangle alone counts.
 */
#ifndef LTH_JOINT_H
#define LTH_JOINT_H

#include "base/context.h"
#include "base/status.h"

/* V [row][n] becomes V L^-T; L is packed. */
lth_status lth__joint_whiten(lth_ctx *ctx, size_t n, const double *L, size_t rows, double *V,
                             lth_error *err);
/* C += by A B^T, with a product that is symmetric; A and B are rows x n. */
lth_status lth__joint_add(lth_ctx *ctx, size_t rows, size_t n, double by, const double *A,
                          const double *B, double *C, lth_error *err);
/* Variances that rounding made negative are 0. */
void lth__joint_hold(size_t rows, double *C);

#endif
