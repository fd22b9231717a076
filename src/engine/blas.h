/* OpenBLAS, loaded when it is first needed: programs that need none start in no time, and the
 * library can be told which CPU it runs on (releases older than a CPU take it for a very old one
 * and run at a fraction of its speed). */
#ifndef LTH_BLAS_H
#define LTH_BLAS_H

#include "base/status.h"

typedef struct lth__blas {
    const char *library; /* file name                   */
    const char *core;    /* kernels OpenBLAS chose      */

    /* Row major, on the calling thread alone. */

    /* C = alpha A B^T + beta C: A is m x k, B is n x k. */
    void (*gemm_nt)(size_t m, size_t n, size_t k, double alpha, const double *A, size_t lda,
                    const double *B, size_t ldb, double beta, double *C, size_t ldc);
    /* C = alpha A B + beta C: A is m x k, B is k x n. */
    void (*gemm_nn)(size_t m, size_t n, size_t k, double alpha, const double *A, size_t lda,
                    const double *B, size_t ldb, double beta, double *C, size_t ldc);
    /* C = alpha A^T B + beta C: A is k x m, B is k x n. */
    void (*gemm_tn)(size_t m, size_t n, size_t k, double alpha, const double *A, size_t lda,
                    const double *B, size_t ldb, double beta, double *C, size_t ldc);
    /* The last two in single precision. */
    void (*gemm_nn_single)(size_t m, size_t n, size_t k, float alpha, const float *A, size_t lda,
                           const float *B, size_t ldb, float beta, float *C, size_t ldc);
    void (*gemm_tn_single)(size_t m, size_t n, size_t k, float alpha, const float *A, size_t lda,
                           const float *B, size_t ldb, float beta, float *C, size_t ldc);
    /* L is lower triangular, n x n. B (n x m) = L^-1 B, and B = L^-T B. */
    void (*solve)(size_t n, size_t m, const double *L, size_t ldl, double *B, size_t ldb);
    void (*solve_transposed)(size_t n, size_t m, const double *L, size_t ldl, double *B,
                             size_t ldb);
    /* B (m x n) = B L^-T, and B = B L^-1. */
    void (*solve_right)(size_t m, size_t n, const double *L, size_t ldl, double *B, size_t ldb);
    void (*solve_right_transposed)(size_t m, size_t n, const double *L, size_t ldl, double *B,
                                   size_t ldb);
    /* The lower triangle of A becomes its Cholesky factor; false if A is not positive definite. */
    bool (*cholesky)(size_t n, double *A, size_t lda);
} lth__blas;

/* So many threads may call at once, if not more were expected before. */
void lth__blas_expect(unsigned threads);

/* The table, the same for all callers and never freed. LTH_EUNSUPPORTED when there is no OpenBLAS,
 * LTH_ENOMEM when a limit of addresses is too low for it. */
lth_status lth__blas_get(const lth__blas **out, lth_error *err);

#endif
