/* Matrices in the memory of a device. Only vectors and sums are carried to it and back. */
#include "base/memory.h"
#include "kernel/device/device_eval.h"
#include "model/common/matrix.h"

/* Short names for what every function below needs. */
#define ON(A) ((A)->device->t)
#define AT(A) ((A)->device->d)

static lth_status reserve(lth__matrix *A, lth_error *err) {
    return A->cells ? LTH_OK : lth__device_matrix(A->device, A->n * A->n, &A->cells, err);
}

static void release(lth__matrix *A) {
    lth__device_drop(A->device, A->cells);
}

/* Panel by panel: whole, it would not always fit into host memory. */
static lth_status fetch(const lth__matrix *A, const lth__packed *out, lth_error *err) {
    for (size_t p = 0; p < lth__packed_panels(out); p++) {
        size_t cols = lth__packed_cols(out, p);
        LTH_TRY(ON(A)->download_panel(AT(A), out->cells + lth__packed_panel(out, p), cols,
                                      A->cells + (p << out->shift) * A->n, A->n,
                                      lth__packed_rows(out, p), cols, err));
    }
    return LTH_OK;
}

/* ---- Vectors on the device for the time of an operation ---- */

/* n x m numbers, from host memory unless `from` is NULL. */
static lth_status carry(const lth__matrix *A, size_t m, const double *from, double **out,
                        lth_error *err) {
    LTH_TRY(lth__device_matrix(A->device, A->n * m, out, err));
    if (!from) return LTH_OK;
    lth_status status = ON(A)->upload(AT(A), *out, from, A->n * m * sizeof *from, err);
    if (status != LTH_OK) lth__device_drop(A->device, *out);
    return status;
}

static lth_status carry_back(const lth__matrix *A, size_t m, const double *on_device, double *out,
                             lth_error *err) {
    return ON(A)->download(AT(A), out, on_device, A->n * m * sizeof *out, err);
}

/* out = w v^T summed over the columns of two n x m arrays. */
static lth_status outer(const lth__matrix *A, size_t m, const double *w, const double *v,
                        double *out, lth_error *err) {
    double *device_w, *device_v;
    LTH_TRY(carry(A, m, w, &device_w, err));
    lth_status status = carry(A, m, v, &device_v, err);
    if (status == LTH_OK) {
        status = ON(A)->gemm_nt(AT(A), A->n, A->n, m, device_w, device_v, out, err);
        lth__device_drop(A->device, device_v);
    }
    lth__device_drop(A->device, device_w);
    return status;
}

/* ---- Elementwise ---- */

static size_t count_of(const lth__matrix *A) {
    return A->n * A->n;
}

static lth_status fill(lth__matrix *A, double value, lth_error *err) {
    return ON(A)->fill(AT(A), A->cells, count_of(A), value, err);
}

static lth_status affine(lth__matrix *A, double by, double plus, lth_error *err) {
    lth__matrix constant = *A;
    constant.cells = NULL;
    LTH_TRY(ON(A)->scale(AT(A), A->cells, count_of(A), by, err));
    if (plus == 0) return LTH_OK;
    LTH_TRY(reserve(&constant, err));
    lth_status status = fill(&constant, plus, err);
    if (status == LTH_OK) status = ON(A)->add(AT(A), A->cells, constant.cells, count_of(A), err);
    release(&constant);
    return status;
}

static lth_status add_diagonal(lth__matrix *A, double value, lth_error *err) {
    return ON(A)->add_diagonal(AT(A), A->n, A->cells, value, err);
}

static lth_status scale(lth__matrix *A, const double *w, lth_error *err) {
    lth__matrix by = *A;
    by.cells = NULL;
    LTH_TRY(reserve(&by, err));
    lth_status status = outer(A, 1, w, w, by.cells, err);
    if (status == LTH_OK) status = ON(A)->multiply(AT(A), A->cells, by.cells, count_of(A), err);
    release(&by);
    return status;
}

static lth_status sandwich(const lth__matrix *A, const double *w, lth__matrix *out,
                           lth_error *err) {
    LTH_TRY(reserve(out, err));
    LTH_TRY(outer(A, 1, w, w, out->cells, err));
    LTH_TRY(ON(A)->multiply(AT(A), out->cells, A->cells, count_of(A), err));
    return add_diagonal(out, 1, err);
}

/* ---- Sums ---- */

static lth_status trace(const lth__matrix *A, double *out, lth_error *err) {
    return ON(A)->trace(AT(A), A->n, A->cells, out, err);
}

/* Every n + 1 cells one: as a panel of single numbers. */
static lth_status diagonal(const lth__matrix *A, double *out, lth_error *err) {
    return ON(A)->download_panel(AT(A), out, 1, A->cells, A->n + 1, A->n, 1, err);
}

static lth_status multiply(const lth__matrix *A, size_t m, const double *X, double *Y,
                           lth_error *err) {
    double *device_x, *device_y;
    LTH_TRY(carry(A, m, X, &device_x, err));
    lth_status status = carry(A, m, NULL, &device_y, err);
    if (status == LTH_OK) {
        status = ON(A)->gemm_nn(AT(A), A->n, m, A->n, A->cells, device_x, device_y, err);
        if (status == LTH_OK) status = carry_back(A, m, device_y, Y, err);
        lth__device_drop(A->device, device_y);
    }
    lth__device_drop(A->device, device_x);
    return status;
}

static lth_status inner(const lth__matrix *A, const lth__matrix *B, double minus, double *out,
                        lth_error *err) {
    double product, sum = 0;
    LTH_TRY(ON(A)->dot(AT(A), A->cells, B->cells, count_of(A), &product, err));
    if (minus != 0) LTH_TRY(ON(A)->dot(AT(A), A->cells, NULL, count_of(A), &sum, err));
    *out = product - minus * sum;
    return LTH_OK;
}

/* ---- Linear algebra ---- */

static lth_status factor(lth__matrix *A, double *log_determinant, lth_error *err) {
    return ON(A)->cholesky(AT(A), A->n, A->cells, log_determinant, err);
}

static lth_status solve(const lth__matrix *L, size_t m, double *B, lth_error *err) {
    double *on_device;
    LTH_TRY(carry(L, m, B, &on_device, err));
    lth_status status = ON(L)->solve(AT(L), L->n, m, L->cells, on_device, err);
    if (status == LTH_OK) status = carry_back(L, m, on_device, B, err);
    lth__device_drop(L->device, on_device);
    return status;
}

static lth_status invert(lth__matrix *L, lth_error *err) {
    lth__matrix X = *L;
    X.cells = NULL;
    LTH_TRY(reserve(&X, err));
    lth_status status = ON(L)->inverse(AT(L), L->n, L->cells, X.cells, err);
    if (status == LTH_OK) {
        release(L);
        *L = X;
    } else {
        release(&X);
    }
    return status;
}

static lth_status inverse_diagonal(const lth__matrix *L, double *out, lth_error *err) {
    lth__matrix X = *L;
    X.cells = NULL;
    LTH_TRY(reserve(&X, err));
    lth_status status = ON(L)->inverse(AT(L), L->n, L->cells, X.cells, err);
    if (status == LTH_OK) status = diagonal(&X, out, err);
    release(&X);
    return status;
}

/* ---- Weights of pull-backs ---- */

static lth_status weigh(lth__matrix *X, size_t m, const double *A, lth_error *err) {
    double *on_device;
    LTH_TRY(carry(X, m, A, &on_device, err));
    lth_status status = ON(X)->weigh(AT(X), X->n, m, on_device, X->cells, err);
    lth__device_drop(X->device, on_device);
    return status;
}

/* As one product: (a u g) (a g u)^T. */
static lth_status add_products(lth__matrix *M, const lth__matrix *X, const double *left,
                               const double *right, lth__matrix *sum, lth_error *err) {
    LTH_TRY(reserve(sum, err));
    LTH_TRY(ON(M)->copy(AT(M), sum->cells, X->cells, count_of(M), err));
    LTH_TRY(ON(M)->scale(AT(M), sum->cells, count_of(M), -0.5, err));
    LTH_TRY(ON(M)->add(AT(M), M->cells, sum->cells, count_of(M), err));
    LTH_TRY(outer(M, 3, left, right, sum->cells, err));
    LTH_TRY(ON(M)->scale(AT(M), sum->cells, count_of(M), 0.5, err));
    return ON(M)->add(AT(M), M->cells, sum->cells, count_of(M), err);
}

static lth_status add_weights(lth__matrix *M, const lth__matrix *X, const double *a,
                              const double *u, const double *g, lth_error *err) {
    double *left = lth__alloc(6 * M->n, sizeof *left), *right = left + 3 * M->n;
    if (!left) return lth__fail_memory(err, 6 * M->n * sizeof *left);
    for (size_t i = 0; i < M->n; i++) {
        left[3 * i] = right[3 * i] = a[i];
        left[3 * i + 1] = right[3 * i + 2] = u[i];
        left[3 * i + 2] = right[3 * i + 1] = g[i];
    }
    lth__matrix sum = *M;
    sum.cells = NULL;
    lth_status status = add_products(M, X, left, right, &sum, err);
    if (sum.cells) release(&sum);
    lth__free(left);
    return status;
}

const lth__matrix_table lth__matrix_on_device = {.reserve = reserve,
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
                                                 .inverse_diagonal = inverse_diagonal,
                                                 .invert = invert,
                                                 .weigh = weigh,
                                                 .add_weights = add_weights};
