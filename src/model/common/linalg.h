/* Linear algebra on symmetric matrices, in blocks that threads share: the same bits for any number
 * of them. Only the lower triangle is used, packed or as part of a whole matrix (engine/packed.h);
 * factors are lower triangular, and 0 above the diagonal inside of their panels. */
#ifndef LTH_LINALG_H
#define LTH_LINALG_H

#include "base/context.h"
#include "base/status.h"
#include "engine/blas.h"
#include "engine/packed.h"

/* A becomes its Cholesky factor, in place. LTH_ENUMERIC, without a message, if A is not positive
 * definite. */
lth_status lth__packed_factor(lth_ctx *ctx, const lth__packed *A, lth_error *err);

/* log |L L^T| */
double lth__packed_log_determinant(const lth__packed *L);

/* B (n x m, row major) = (L L^T)^-1 B. */
lth_status lth__packed_solve(const lth__packed *L, size_t m, double *B, lth_error *err);

/* B (m x n, row major) = B L^-T, on the calling thread. */
void lth__packed_solve_right(const lth__blas *blas, const lth__packed *L, size_t m, double *B);

/* L becomes (L L^T)^-1, in place. */
lth_status lth__packed_invert(lth_ctx *ctx, const lth__packed *L, lth_error *err);

/* out[i] = (L L^T)^-1_ii, and L stays as it is. */
lth_status lth__packed_inverse_diagonal(lth_ctx *ctx, const lth__packed *L, double *out,
                                        lth_error *err);

/* ---- The same for whole matrices, n x n, row major ---- */

/* The lower triangle of A becomes its Cholesky factor (what is above the diagonal is left as it is,
 * but for the diagonal blocks). */
lth_status lth__cholesky(lth_ctx *ctx, size_t n, double *A, lth_error *err);
lth_status lth__cholesky_solve(lth_ctx *ctx, size_t n, const double *L, size_t m, double *B,
                               lth_error *err);
/* X (both triangles) = (L L^T)^-1. */
lth_status lth__cholesky_inverse(lth_ctx *ctx, size_t n, const double *L, double *X,
                                 lth_error *err);
double lth__cholesky_log_determinant(size_t n, const double *L);

#endif
