/* Conjugate gradients with a preconditioner, for several right-hand sides at once, and functions of
 * a matrix by what they leave behind.
 *
 * G and P = C C^T are symmetric and positive definite, n x n; of C nothing needs to be known. The
 * steps of conjugate gradients on G x = b are those of Lanczos on H = C^-1 G C^-T from z = C^-1 b:
 * their coefficients are its tridiagonal matrix T, and their preconditioned residuals C^-T times
 * its basis V, up to signs and lengths. So
 *
 *     C^-T H^-1/2 z  ~  |z| C^-T V T^-1/2 e_1        z^T log(H) z  ~  |z|^2 e_1^T log(T) e_1
 *
 * where for b drawn from N(0, P), z is from N(0, I) and the first from N(0, G^-1).
 *
 * Vectors are the columns of row-major matrices. Any number of threads gives the same bits.
 */
#ifndef LTH_KRYLOV_H
#define LTH_KRYLOV_H

#include "base/context.h"
#include "base/status.h"

/* Y (n x m) = A X for what `of` is. */
typedef lth_status lth__apply_fn(const void *of, size_t m, const double *X, double *Y,
                                 lth_error *err);

typedef struct lth__krylov {
    lth_ctx *ctx;
    size_t n;
    lth__apply_fn *multiply; /* by G */
    const void *matrix;
    lth__apply_fn *precondition; /* P^-1 times; NULL: P = I */
    const void *preconditioner;
    double tolerance; /* of |b - G x| / |b|, for each column */
    size_t most;      /* steps */
} lth__krylov;

typedef struct lth__krylov_report {
    size_t steps;
    double residual; /* |b - G x| / |b| as it is in the end, the largest */
} lth__krylov_report;

/* X = G^-1 B, both n x m. Reaching `most` steps is LTH_OK: the report tells. LTH_ENUMERIC when G is
 * not positive definite. */
lth_status lth__krylov_solve(const lth__krylov *k, size_t m, const double *B, double *X,
                             lth__krylov_report *report, lth_error *err);

/* U = C^-T H^-1/2 C^-1 B, and for each column, with z = C^-1 b: z^T log(H) z, and z^T (H - I) z.
 * The bases are kept in single precision while this runs: steps x n x m numbers. */
lth_status lth__krylov_root(const lth__krylov *k, size_t m, const double *B, float *U,
                            double *logarithm, double *linear, lth_error *err);

/* The eigenvalues of a symmetric tridiagonal n x n matrix: `diagonal` becomes these, `off` (n - 1
 * numbers and room for one) is overwritten, and Q (n x n, row major) becomes the eigenvectors, one
 * a column. false if they are not found. */
bool lth__tridiagonal(size_t n, double *diagonal, double *off, double *Q);

#endif
