#include "model/common/linalg.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"

enum { BLOCK = 64 };

/* A block of the diagonal is inverted once; all that is to be solved with it is then multiplied,
 * and nearly all of the work is products of matrices, which BLAS does best. */
typedef double block[BLOCK * BLOCK];

static size_t clip(size_t value, size_t limit) {
    return value < limit ? value : limit;
}

static size_t blocks_from(size_t n, size_t first) {
    return (n - first + BLOCK - 1) / BLOCK;
}

/* X (n x n, BLOCK apart) = L^-1 of one block. */
static void invert_block(const lth__blas *blas, size_t n, const double *L, size_t ld, double *X) {
    for (size_t r = 0; r < n; r++) {
        memset(X + r * BLOCK, 0, n * sizeof *X);
        X[r * BLOCK + r] = 1;
    }
    blas->solve(n, n, L, ld, X, BLOCK);
}

/* ---- Cholesky: blocks of columns from left to right, each in blocks of rows ---- */

typedef struct factoring {
    const lth__blas *blas;
    size_t n, first, size; /* matrix; the block of columns at hand */
    double *A;
    double *inverse[2]; /* of the diagonal block of these columns, and of the next */
    bool definite;
} factoring;

/* Rows row .. row+rows-1 of the columns from `first` on, less what the columns to the left explain.
 */
static void update(const factoring *f, size_t row, size_t rows, size_t first, size_t size) {
    if (first == 0) return;
    f->blas->gemm_nt(rows, size, first, -1, f->A + row * f->n, f->n, f->A + first * f->n, f->n, 1,
                     f->A + row * f->n + first, f->n);
}

/* A diagonal block, once the rows to its left are there. */
static void factor_diagonal(factoring *f, size_t first, double *inverse) {
    size_t size = clip(f->n - first, BLOCK), last = first + size - 1;
    double *A = f->A + first * f->n + first;
    update(f, first, size, first, size);
    /* Not every LAPACK notices a NaN; it reaches all pivots from its own on. */
    f->definite = f->blas->cholesky(size, A, f->n) && !isnan(f->A[last * f->n + last]);
    if (f->definite) invert_block(f->blas, size, A, f->n, inverse);
}

/* A block of rows below the diagonal block. The first of them completes the rows that the next
 * diagonal block depends on, so it does that as well, while the others are at work. */
static lth_status factor_rows(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker, (void)err;
    factoring *f = user;
    size_t row = f->first + f->size + index * BLOCK, rows = clip(f->n - row, BLOCK);
    double *A = f->A + row * f->n + f->first;
    block copy;
    update(f, row, rows, f->first, f->size);
    for (size_t r = 0; r < rows; r++)
        memcpy(copy + r * BLOCK, A + r * f->n, f->size * sizeof *copy);
    f->blas->gemm_nt(rows, f->size, f->size, 1, copy, BLOCK, f->inverse[0], BLOCK, 0, A, f->n);
    if (index == 0) factor_diagonal(f, row, f->inverse[1]);
    return LTH_OK;
}

lth_status lth__cholesky(lth_ctx *ctx, size_t n, double *A, lth_error *err) {
    if (n == 0) return LTH_OK;
    factoring f = {.n = n, .A = A};
    LTH_TRY(lth__blas_get(&f.blas, err));
    double *room = lth__alloc(2, sizeof(block));
    if (!room) return lth__fail_memory(err, 2 * sizeof(block));
    f.inverse[0] = room;
    f.inverse[1] = room + BLOCK * BLOCK;
    factor_diagonal(&f, 0, f.inverse[0]);
    lth_status status = LTH_OK;
    for (f.first = 0; f.first + BLOCK < n && f.definite && status == LTH_OK; f.first += BLOCK) {
        f.size = BLOCK;
        status = lth__parallel_for(ctx, NULL, blocks_from(n, f.first + BLOCK), NULL, factor_rows,
                                   &f, err);
        double *done = f.inverse[0];
        f.inverse[0] = f.inverse[1];
        f.inverse[1] = done;
    }
    lth__free(room);
    return status == LTH_OK && !f.definite ? LTH_ENUMERIC : status;
}

double lth__cholesky_log_determinant(size_t n, const double *L) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += log(L[i * n + i]);
    return 2 * sum;
}

lth_status lth__cholesky_solve(lth_ctx *ctx, size_t n, const double *L, size_t m, double *B,
                               lth_error *err) {
    (void)ctx;
    const lth__blas *blas;
    LTH_TRY(lth__blas_get(&blas, err));
    if (n == 0 || m == 0) return LTH_OK; /* BLAS would complain, on standard error */
    blas->solve(n, m, L, n, B, m);
    blas->solve_transposed(n, m, L, n, B, m);
    return LTH_OK;
}

/* ---- Inverse: M = L^-1 by columns, then M^T M ---- */

typedef struct inverting {
    const lth__blas *blas;
    size_t n;
    const double *L;
    double *X; /* M on and below the diagonal blocks, the product above them */
    double
        *diagonal; /* BLOCK columns: inverses of L's diagonal blocks, later those of the product */
} inverting;

static lth_status invert_diagonal(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker, (void)err;
    const inverting *j = user;
    size_t first = index * BLOCK, size = clip(j->n - first, BLOCK);
    invert_block(j->blas, size, j->L + first * j->n + first, j->n, j->diagonal + first * BLOCK);
    return LTH_OK;
}

/* One block of columns of M from the diagonal down: M_ij = -L_ii^-1 sum_k L_ik M_kj. */
static lth_status invert_columns(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker, (void)err;
    const inverting *j = user;
    size_t n = j->n, first = index * BLOCK, cols = clip(n - first, BLOCK);
    block sum;
    for (size_t r = 0; r < cols; r++) {
        memcpy(j->X + (first + r) * n + first, j->diagonal + (first + r) * BLOCK,
               cols * sizeof *sum);
    }
    for (size_t row = first + cols; row < n; row += BLOCK) {
        size_t rows = clip(n - row, BLOCK);
        j->blas->gemm_nn(rows, cols, row - first, 1, j->L + row * n + first, n,
                         j->X + first * n + first, n, 0, sum, BLOCK);
        j->blas->gemm_nn(rows, cols, rows, -1, j->diagonal + row * BLOCK, BLOCK, sum, BLOCK, 0,
                         j->X + row * n + first, n);
    }
    return LTH_OK;
}

/* One block of columns of M^T M above its diagonal block, and that block by itself: M is still
 * there. */
static lth_status multiply_columns(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker, (void)err;
    const inverting *j = user;
    size_t n = j->n, first = index * BLOCK, cols = clip(n - first, BLOCK), below = n - first;
    const double *M = j->X + first * n;
    if (first > 0) j->blas->gemm_tn(first, cols, below, 1, M, n, M + first, n, 0, j->X + first, n);
    j->blas->gemm_tn(cols, cols, below, 1, M + first, n, M + first, n, 0,
                     j->diagonal + first * BLOCK, BLOCK);
    return LTH_OK;
}

/* The rows of a block from its diagonal block and from the columns above that. */
static lth_status mirror_rows(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker, (void)err;
    const inverting *j = user;
    size_t n = j->n, first = index * BLOCK, rows = clip(n - first, BLOCK);
    for (size_t r = first; r < first + rows; r++) {
        for (size_t c = 0; c < rows; c++)
            j->X[r * n + first + c] = j->diagonal[(r > first + c ? r : first + c) * BLOCK +
                                                  (r > first + c ? c : r - first)];
    }
    enum { LINE = 8 }; /* columns that are read together, a cache line */
    for (size_t c = 0; c < first; c += LINE) {
        for (size_t r = first; r < first + rows; r++) {
            for (size_t k = c; k < c + LINE; k++) j->X[r * n + k] = j->X[k * n + r];
        }
    }
    return LTH_OK;
}

lth_status lth__cholesky_inverse(lth_ctx *ctx, size_t n, const double *L, double *X,
                                 lth_error *err) {
    inverting j = {.n = n, .L = L, .X = X};
    LTH_TRY(lth__blas_get(&j.blas, err));
    size_t blocks = blocks_from(n, 0);
    j.diagonal = lth__alloc(n * BLOCK, sizeof *j.diagonal);
    if (!j.diagonal) return lth__fail_memory(err, n * BLOCK * sizeof *j.diagonal);
    lth__job_fn *const steps[] = {invert_diagonal, invert_columns, multiply_columns, mirror_rows};
    lth_status status = LTH_OK;
    for (size_t s = 0; s < sizeof steps / sizeof *steps && status == LTH_OK; s++)
        status = lth__parallel_for(ctx, NULL, blocks, NULL, steps[s], &j, err);
    lth__free(j.diagonal);
    return status;
}
