/* Matrices in host memory, and what does not depend on the place. */
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "model/common/linalg.h"
#include "model/common/matrix.h"

static lth_status reserve(lth__matrix *A, lth_error *err) {
    if (!A->cells) A->cells = lth__alloc(A->n * A->n, sizeof *A->cells);
    return A->cells ? LTH_OK : lth__fail_memory(err, A->n * A->n * sizeof *A->cells);
}

static void release(lth__matrix *A) {
    lth__free(A->cells);
}

static lth_status fetch(const lth__matrix *A, double *out, lth_error *err) {
    (void)err;
    memcpy(out, A->cells, A->n * A->n * sizeof *out);
    return LTH_OK;
}

/* ---- Elementwise ---- */

static lth_status fill(lth__matrix *A, double value, lth_error *err) {
    (void)err;
    for (size_t i = 0; i < A->n * A->n; i++) A->cells[i] = value;
    return LTH_OK;
}

static lth_status affine(lth__matrix *A, double by, double plus, lth_error *err) {
    (void)err;
    for (size_t i = 0; i < A->n * A->n; i++) A->cells[i] = by * A->cells[i] + plus;
    return LTH_OK;
}

static lth_status add_diagonal(lth__matrix *A, double value, lth_error *err) {
    (void)err;
    for (size_t i = 0; i < A->n; i++) A->cells[i * A->n + i] += value;
    return LTH_OK;
}

static lth_status scale(lth__matrix *A, const double *w, lth_error *err) {
    (void)err;
    size_t n = A->n;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) A->cells[i * n + j] *= w[i] * w[j];
    }
    return LTH_OK;
}

static lth_status sandwich(const lth__matrix *A, const double *w, lth__matrix *out,
                           lth_error *err) {
    size_t n = A->n;
    LTH_TRY(reserve(out, err));
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) out->cells[i * n + j] = w[i] * A->cells[i * n + j] * w[j];
        out->cells[i * n + i] += 1;
    }
    return LTH_OK;
}

/* ---- Sums ---- */

static lth_status trace(const lth__matrix *A, double *out, lth_error *err) {
    (void)err;
    double sum = 0;
    for (size_t i = 0; i < A->n; i++) sum += A->cells[i * A->n + i];
    *out = sum;
    return LTH_OK;
}

static lth_status diagonal(const lth__matrix *A, double *out, lth_error *err) {
    (void)err;
    for (size_t i = 0; i < A->n; i++) out[i] = A->cells[i * A->n + i];
    return LTH_OK;
}

static lth_status multiply(const lth__matrix *A, size_t m, const double *X, double *Y,
                           lth_error *err) {
    const lth__blas *blas;
    LTH_TRY(lth__blas_get(&blas, err));
    blas->gemm_nn(A->n, m, A->n, 1, A->cells, A->n, X, m, 0, Y, m);
    return LTH_OK;
}

static lth_status inner(const lth__matrix *A, const lth__matrix *B, double minus, double *out,
                        lth_error *err) {
    (void)err;
    double sum = 0;
    for (size_t i = 0; i < A->n * A->n; i++) sum += A->cells[i] * (B->cells[i] - minus);
    *out = sum;
    return LTH_OK;
}

/* ---- Linear algebra ---- */

static lth_status factor(lth__matrix *A, double *log_determinant, lth_error *err) {
    LTH_TRY(lth__cholesky(A->ctx, A->n, A->cells, err));
    *log_determinant = lth__cholesky_log_determinant(A->n, A->cells);
    return LTH_OK;
}

static lth_status solve(const lth__matrix *L, size_t m, double *B, lth_error *err) {
    return lth__cholesky_solve(L->ctx, L->n, L->cells, m, B, err);
}

static lth_status invert(const lth__matrix *L, lth__matrix *X, lth_error *err) {
    LTH_TRY(reserve(X, err));
    return lth__cholesky_inverse(L->ctx, L->n, L->cells, X->cells, err);
}

/* ---- Weights of pull-backs ---- */

enum { ROWS = 64 };

typedef struct weigh_job {
    const double *A;
    size_t n, m;
    double *X;
} weigh_job;

static lth_status weigh_rows(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker, (void)err;
    const weigh_job *j = user;
    size_t n = j->n, m = j->m, first = index * ROWS, last = first + ROWS < n ? first + ROWS : n;
    for (size_t r = first; r < last; r++) {
        double *row = j->X + r * n;
        for (size_t c = 0; c < n; c++) {
            double outer = 0;
            for (size_t k = 0; k < m; k++) outer += j->A[r * m + k] * j->A[c * m + k];
            row[c] = 0.5 * (outer - (double)m * row[c]);
        }
    }
    return LTH_OK;
}

static lth_status weigh(lth__matrix *X, size_t m, const double *A, lth_error *err) {
    weigh_job j = {.A = A, .n = X->n, .m = m, .X = X->cells};
    return lth__parallel_for(X->ctx, NULL, (X->n + ROWS - 1) / ROWS, NULL, weigh_rows, &j, err);
}

static lth_status add_weights(lth__matrix *M, const lth__matrix *X, const double *a,
                              const double *u, const double *g, lth_error *err) {
    (void)err;
    size_t n = M->n;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++)
            M->cells[i * n + j] +=
                0.5 * (a[i] * a[j] - X->cells[i * n + j] + u[i] * g[j] + g[i] * u[j]);
    }
    return LTH_OK;
}

static const lth__matrix_table on_host = {.reserve = reserve,
                                          .release = release,
                                          .fetch = fetch,
                                          .fill = fill,
                                          .affine = affine,
                                          .add_diagonal = add_diagonal,
                                          .scale = scale,
                                          .sandwich = sandwich,
                                          .trace = trace,
                                          .diagonal = diagonal,
                                          .multiply = multiply,
                                          .inner = inner,
                                          .factor = factor,
                                          .solve = solve,
                                          .invert = invert,
                                          .weigh = weigh,
                                          .add_weights = add_weights};

/* ---- Anywhere ---- */

lth__matrix lth__matrix_beside(lth_ctx *ctx, const lth__gram *gram, size_t n) {
    lth__device_eval *device = lth__gram_device(gram);
    return (lth__matrix){
        .table = device ? &lth__matrix_on_device : &on_host, .ctx = ctx, .device = device, .n = n};
}

lth__matrix lth__matrix_on_host(lth_ctx *ctx, size_t n, double *cells) {
    return (lth__matrix){
        .table = &on_host, .ctx = ctx, .n = n, .cells = cells, .borrowed = cells != NULL};
}

lth__matrix lth__matrix_store(lth_ctx *ctx, size_t n, lth_precision precision) {
    return (lth__matrix){
        .table = precision == LTH_F32 ? &lth__matrix_in_single : &on_host, .ctx = ctx, .n = n};
}

size_t lth__matrix_store_bytes(size_t n, lth_precision precision) {
    return lth__packed_bytes(n, precision == LTH_F32 ? sizeof(float) : sizeof(double));
}

lth__packed lth__matrix_packed(const lth__matrix *A) {
    lth__packed p = lth__packed_layout(A->n);
    p.cells = A->cells;
    p.singles = A->singles;
    return p;
}

void lth__matrix_free(lth__matrix *A) {
    if ((A->cells || A->singles) && !A->borrowed) A->table->release(A);
    A->cells = NULL;
    A->singles = NULL;
}

void lth__matrix_rest(lth__matrix *A) {
    if (A->device) lth__matrix_free(A);
}

lth_status lth__matrix_gram(lth__matrix *A, lth__gram *gram, lth_error *err) {
    LTH_TRY(A->table->reserve(A, err));
    lth__packed packed = lth__matrix_packed(A);
    if (A->singles) return lth__gram_values_packed(gram, &packed, err);
    return lth__gram_values(gram, A->cells, A->n, err);
}

lth_status lth__matrix_pull(lth__matrix *W, lth__gram *gram, double *gradient, lth_error *err) {
    return lth__gram_pull(gram, W->cells, W->n, gradient, err);
}

lth_status lth__matrix_take(lth__matrix *A, double **out, lth_error *err) {
    if (!A->device) {
        *out = A->cells;
        A->cells = NULL;
        return LTH_OK;
    }
    double *cells = lth__alloc(A->n * A->n, sizeof *cells);
    if (!cells) return lth__fail_memory(err, A->n * A->n * sizeof *cells);
    lth_status status = A->table->fetch(A, cells, err);
    if (status != LTH_OK) {
        lth__free(cells);
        return status;
    }
    lth__matrix_free(A);
    *out = cells;
    return LTH_OK;
}
