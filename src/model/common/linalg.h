/* Linear algebra on N x N matrices, in blocks that threads share: the same bits for any number of
 * them. Matrices are row major, n x n; factors are lower triangular. */
#ifndef LTH_LINALG_H
#define LTH_LINALG_H

#include "base/context.h"
#include "base/status.h"
#include "engine/blas.h"

/* The lower triangle of A becomes its Cholesky factor (what is above the diagonal is left as it is,
 * but for the diagonal blocks). LTH_ENUMERIC, without a message, if A is not positive definite. */
lth_status lth__cholesky(lth_ctx *ctx, size_t n, double *A, lth_error *err);

/* B (n x m, row major) = (L L^T)^-1 B. */
lth_status lth__cholesky_solve(lth_ctx *ctx, size_t n, const double *L, size_t m, double *B,
                               lth_error *err);

/* X (n x n, both triangles) = (L L^T)^-1. */
lth_status lth__cholesky_inverse(lth_ctx *ctx, size_t n, const double *L, double *X,
                                 lth_error *err);

/* log |L L^T| */
double lth__cholesky_log_determinant(size_t n, const double *L);

#endif
