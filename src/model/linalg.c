#include "model/linalg.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"

enum { BLOCK = 96 };

typedef struct job {
    const lth__blas *blas;
    size_t n, first, size; /* matrix; the panel at hand */
    double *A;
    const double *L;
    double *X;
} job;

static size_t clip(size_t value, size_t limit) {
    return value < limit ? value : limit;
}

/* ---- Cholesky: for each panel of columns, rows of blocks below it ---- */

/* The row block `index` below the panel's top: take out what the columns to the left explain. */
static lth_status update_rows(void *user, size_t index, unsigned worker) {
    (void)worker;
    const job *j = user;
    size_t row = j->first + index * BLOCK, rows = clip(j->n - row, BLOCK);
    j->blas->gemm_nt(rows, j->size, j->first, -1, j->A + row * j->n, j->n, j->A + j->first * j->n,
                     j->n, 1, j->A + row * j->n + j->first, j->n);
    return LTH_OK;
}

static lth_status divide_rows(void *user, size_t index, unsigned worker) {
    (void)worker;
    const job *j = user;
    size_t row = j->first + j->size + index * BLOCK, rows = clip(j->n - row, BLOCK);
    j->blas->solve_right(rows, j->size, j->A + j->first * j->n + j->first, j->n,
                         j->A + row * j->n + j->first, j->n);
    return LTH_OK;
}

static size_t blocks_from(size_t n, size_t first) {
    return (n - first + BLOCK - 1) / BLOCK;
}

lth_status lth__cholesky(lth_ctx *ctx, size_t n, double *A, lth_error *err) {
    job j = {.n = n, .A = A};
    LTH_TRY(lth__blas_get(&j.blas, err));
    for (j.first = 0; j.first < n; j.first += BLOCK) {
        j.size = clip(n - j.first, BLOCK);
        if (j.first > 0)
            LTH_TRY(
                lth__parallel_for(ctx, NULL, blocks_from(n, j.first), NULL, update_rows, &j, err));
        if (!j.blas->cholesky(j.size, A + j.first * n + j.first, n)) return LTH_ENUMERIC;
        /* Not every LAPACK notices a NaN; it reaches all pivots from its own on. */
        size_t last = j.first + j.size - 1;
        if (isnan(A[last * n + last])) return LTH_ENUMERIC;
        if (j.first + j.size < n)
            LTH_TRY(lth__parallel_for(ctx, NULL, blocks_from(n, j.first + j.size), NULL,
                                      divide_rows, &j, err));
    }
    return LTH_OK;
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

/* ---- Inverse: each block of columns by itself, from the diagonal down ---- */

static lth_status invert_columns(void *user, size_t index, unsigned worker) {
    (void)worker;
    const job *j = user;
    size_t first = index * BLOCK, cols = clip(j->n - first, BLOCK), rows = j->n - first;
    double *X = j->X + first * j->n + first;
    const double *L = j->L + first * j->n + first;
    for (size_t r = 0; r < rows; r++) {
        memset(X + r * j->n, 0, cols * sizeof *X);
        if (r < cols) X[r * j->n + r] = 1;
    }
    j->blas->solve(rows, cols, L, j->n, X, j->n);
    j->blas->solve_transposed(rows, cols, L, j->n, X, j->n);
    return LTH_OK;
}

/* The columns of block `index` above the diagonal, from the rows below it. */
static lth_status mirror_columns(void *user, size_t index, unsigned worker) {
    (void)worker;
    const job *j = user;
    size_t first = index * BLOCK, last = clip(first + BLOCK, j->n);
    for (size_t r = 0; r < last; r++) {
        size_t from = r + 1 > first ? r + 1 : first;
        for (size_t c = from; c < last; c++) j->X[r * j->n + c] = j->X[c * j->n + r];
    }
    return LTH_OK;
}

lth_status lth__cholesky_inverse(lth_ctx *ctx, size_t n, const double *L, double *X,
                                 lth_error *err) {
    job j = {.n = n, .L = L, .X = X};
    LTH_TRY(lth__blas_get(&j.blas, err));
    LTH_TRY(lth__parallel_for(ctx, NULL, blocks_from(n, 0), NULL, invert_columns, &j, err));
    return lth__parallel_for(ctx, NULL, blocks_from(n, 0), NULL, mirror_columns, &j, err);
}
