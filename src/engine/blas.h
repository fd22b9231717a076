/* OpenBLAS, loaded when it is first needed: programs that need none start in no time, and the
 * library can be told which CPU it runs on (releases older than a CPU take it for a very old one
 * and run at a fraction of its speed). */
#ifndef LTH_BLAS_H
#define LTH_BLAS_H

#include "base/status.h"

typedef struct lth__blas {
    const char *library; /* file name                   */
    const char *core;    /* kernels OpenBLAS chose      */

    /* C = alpha A B^T + beta C, row major: A is m x k, B is n x k. On the calling thread alone. */
    void (*gemm_nt)(size_t m, size_t n, size_t k, double alpha, const double *A, size_t lda,
                    const double *B, size_t ldb, double beta, double *C, size_t ldc);
} lth__blas;

/* The table, the same for all callers and never freed. LTH_EUNSUPPORTED when there is no OpenBLAS.
 */
lth_status lth__blas_get(const lth__blas **out, lth_error *err);

#endif
