/* Sums, products and symmetric matrices of the reference device, by their definitions. */
#include <math.h>
#include <string.h>

#include "reference_device.h"

/* ---- Numbers one by one ---- */

static lth_status fill(lth__device *d, double *Y, size_t count, double value, lth_error *err) {
    (void)err;
    LTH__REF_USE(d);
    lth__ref_check_numbers(d, Y, count, "what is filled");
    for (size_t i = 0; i < count; i++) Y[i] = value;
    return LTH_OK;
}

static void check_two(const lth__device *d, const double *Y, const double *X, size_t count) {
    lth__ref_check_numbers(d, Y, count, "Y");
    lth__ref_check_numbers(d, X, count, "X");
}

static lth_status copy(lth__device *d, double *Y, const double *X, size_t count, lth_error *err) {
    (void)err;
    LTH__REF_USE(d);
    check_two(d, Y, X, count);
    for (size_t i = 0; i < count; i++) Y[i] = X[i];
    return LTH_OK;
}

static lth_status add(lth__device *d, double *Y, const double *X, size_t count, lth_error *err) {
    (void)err;
    LTH__REF_USE(d);
    check_two(d, Y, X, count);
    for (size_t i = 0; i < count; i++) Y[i] += X[i];
    return LTH_OK;
}

static lth_status multiply(lth__device *d, double *Y, const double *X, size_t count,
                           lth_error *err) {
    (void)err;
    LTH__REF_USE(d);
    check_two(d, Y, X, count);
    for (size_t i = 0; i < count; i++) Y[i] *= X[i];
    return LTH_OK;
}

static lth_status scale(lth__device *d, double *Y, size_t count, double by, lth_error *err) {
    (void)err;
    LTH__REF_USE(d);
    lth__ref_check_numbers(d, Y, count, "what is scaled");
    for (size_t i = 0; i < count; i++) Y[i] *= by;
    return LTH_OK;
}

static lth_status dot(lth__device *d, const double *X, const double *Y, size_t count, double *out,
                      lth_error *err) {
    (void)err;
    LTH__REF_USE(d);
    check_two(d, Y, X, count);
    *out = 0;
    for (size_t i = 0; i < count; i++) *out += X[i] * (Y ? Y[i] : 1);
    return LTH_OK;
}

static lth_status find_infinite(lth__device *d, const double *X, size_t count, size_t *out,
                                lth_error *err) {
    (void)err;
    LTH__REF_USE(d);
    lth__ref_check_numbers(d, X, count, "what is searched");
    *out = 0;
    while (*out < count && isfinite(X[*out])) (*out)++;
    return LTH_OK;
}

/* ---- Products ---- */

/* B(l, j) is B[l * down + j * right]. */
static lth_status gemm(lth__device *d, size_t m, size_t n, size_t k, const double *A,
                       const double *B, size_t down, size_t right, double *C) {
    LTH__REF_USE(d);
    lth__ref_check_numbers(d, A, m * k, "A of a product");
    lth__ref_check_numbers(d, B, k * n, "B of a product");
    lth__ref_check_numbers(d, C, m * n, "C of a product");
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < n; j++) {
            double sum = 0;
            for (size_t l = 0; l < k; l++) sum += A[i * k + l] * B[l * down + j * right];
            C[i * n + j] = sum;
        }
    }
    return LTH_OK;
}

static lth_status gemm_nt(lth__device *d, size_t m, size_t n, size_t k, const double *A,
                          const double *B, double *C, lth_error *err) {
    (void)err;
    return gemm(d, m, n, k, A, B, 1, k, C);
}

static lth_status gemm_nn(lth__device *d, size_t m, size_t n, size_t k, const double *A,
                          const double *B, double *C, lth_error *err) {
    (void)err;
    return gemm(d, m, n, k, A, B, n, 1, C);
}

/* ---- Symmetric matrices ---- */

static lth_status add_diagonal(lth__device *d, size_t n, double *G, double value, lth_error *err) {
    (void)err;
    LTH__REF_USE(d);
    lth__ref_check_numbers(d, G, n * n, "G");
    for (size_t i = 0; i < n; i++) G[i * n + i] += value;
    return LTH_OK;
}

static lth_status trace(lth__device *d, size_t n, const double *G, double *out, lth_error *err) {
    (void)err;
    LTH__REF_USE(d);
    lth__ref_check_numbers(d, G, n * n, "G");
    *out = 0;
    for (size_t i = 0; i < n; i++) *out += G[i * n + i];
    return LTH_OK;
}

/* What is left of G(i, j) without the part that the columns before j explain. */
static double rest_of(size_t n, const double *G, size_t i, size_t j) {
    double sum = G[i * n + j];
    for (size_t k = 0; k < j; k++) sum -= G[i * n + k] * G[j * n + k];
    return sum;
}

static lth_status cholesky(lth__device *d, size_t n, double *G, double *log_determinant,
                           lth_error *err) {
    LTH__REF_USE(d);
    lth__ref_check_numbers(d, G, n * n, "G");
    double sum = 0;
    for (size_t j = 0; j < n; j++) {
        double square = rest_of(n, G, j, j);
        if (!(square > 0 && isfinite(square)))
            return lth__ref_fail(err, LTH_ENUMERIC, "the matrix is not positive definite");
        G[j * n + j] = sqrt(square);
        sum += log(square);
        for (size_t i = j + 1; i < n; i++) {
            G[i * n + j] = rest_of(n, G, i, j) / G[j * n + j];
            G[j * n + i] = 0;
        }
    }
    *log_determinant = sum;
    return LTH_OK;
}

/* L x = b, then L^T x = b, in place for column c of B. */
static void solve_column(size_t n, size_t m, const double *L, double *B, size_t c) {
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < i; k++) B[i * m + c] -= L[i * n + k] * B[k * m + c];
        B[i * m + c] /= L[i * n + i];
    }
    for (size_t i = n; i-- > 0;) {
        for (size_t k = i + 1; k < n; k++) B[i * m + c] -= L[k * n + i] * B[k * m + c];
        B[i * m + c] /= L[i * n + i];
    }
}

static lth_status solve(lth__device *d, size_t n, size_t m, const double *L, double *B,
                        lth_error *err) {
    (void)err;
    LTH__REF_USE(d);
    lth__ref_check_numbers(d, L, n * n, "L");
    lth__ref_check_numbers(d, B, n * m, "B");
    for (size_t c = 0; c < m; c++) solve_column(n, m, L, B, c);
    return LTH_OK;
}

static lth_status inverse(lth__device *d, size_t n, const double *L, double *out, lth_error *err) {
    (void)err;
    LTH__REF_USE(d);
    lth__ref_check_numbers(d, L, n * n, "L");
    lth__ref_check_numbers(d, out, n * n, "the inverse");
    for (size_t i = 0; i < n * n; i++) out[i] = i % (n + 1) == 0;
    for (size_t c = 0; c < n; c++) solve_column(n, n, L, out, c);
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++) out[i * n + j] = out[j * n + i];
    return LTH_OK;
}

static lth_status weigh(lth__device *d, size_t n, size_t m, const double *A, double *X,
                        lth_error *err) {
    (void)err;
    LTH__REF_USE(d);
    lth__ref_check_numbers(d, A, n * m, "A");
    lth__ref_check_numbers(d, X, n * n, "X");
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            double sum = 0;
            for (size_t k = 0; k < m; k++) sum += A[i * m + k] * A[j * m + k];
            X[i * n + j] = (sum - (double)m * X[i * n + j]) / 2;
        }
    }
    return LTH_OK;
}

void lth__ref_set_matrices(lth__device_table *t) {
    t->fill = fill;
    t->copy = copy;
    t->add = add;
    t->multiply = multiply;
    t->scale = scale;
    t->dot = dot;
    t->find_infinite = find_infinite;
    t->gemm_nt = gemm_nt;
    t->gemm_nn = gemm_nn;
    t->add_diagonal = add_diagonal;
    t->trace = trace;
    t->cholesky = cholesky;
    t->solve = solve;
    t->inverse = inverse;
    t->weigh = weigh;
}
