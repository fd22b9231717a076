/* Sums, products and symmetric matrices of the reference device, by their definitions. */
#include <math.h>
#include <string.h>

#include "reference_device.h"

/* ---- Numbers one by one ---- */

static lth_status fill(lth__device *d, double *Y, size_t count, double value, lth_error *err) {
    LTH__REF_DO(d);
    lth__ref_check_numbers(d, Y, count, "what is filled");
    for (size_t i = 0; i < count; i++) Y[i] = value;
    return LTH_OK;
}

static void check_two(const lth__device *d, const double *Y, const double *X, size_t count) {
    lth__ref_check_numbers(d, Y, count, "Y");
    lth__ref_check_numbers(d, X, count, "X");
}

static lth_status copy(lth__device *d, double *Y, const double *X, size_t count, lth_error *err) {
    LTH__REF_DO(d);
    check_two(d, Y, X, count);
    for (size_t i = 0; i < count; i++) Y[i] = X[i];
    return LTH_OK;
}

static lth_status add(lth__device *d, double *Y, const double *X, size_t count, lth_error *err) {
    LTH__REF_DO(d);
    check_two(d, Y, X, count);
    for (size_t i = 0; i < count; i++) Y[i] += X[i];
    return LTH_OK;
}

static lth_status multiply(lth__device *d, double *Y, const double *X, size_t count,
                           lth_error *err) {
    LTH__REF_DO(d);
    check_two(d, Y, X, count);
    for (size_t i = 0; i < count; i++) Y[i] *= X[i];
    return LTH_OK;
}

static lth_status scale(lth__device *d, double *Y, size_t count, double by, lth_error *err) {
    LTH__REF_DO(d);
    lth__ref_check_numbers(d, Y, count, "what is scaled");
    for (size_t i = 0; i < count; i++) Y[i] *= by;
    return LTH_OK;
}

static lth_status narrow(lth__device *d, float *Y, const double *X, size_t count, lth_error *err) {
    LTH__REF_DO(d);
    lth__ref_check(d, Y, count * sizeof *Y, "what is narrowed to");
    lth__ref_check_numbers(d, X, count, "what is narrowed");
    for (size_t i = 0; i < count; i++) Y[i] = (float)X[i];
    return LTH_OK;
}

static lth_status widen(lth__device *d, double *Y, const float *X, size_t count, lth_error *err) {
    LTH__REF_DO(d);
    lth__ref_check_numbers(d, Y, count, "what is widened to");
    lth__ref_check(d, X, count * sizeof *X, "what is widened");
    for (size_t i = 0; i < count; i++) Y[i] = X[i];
    return LTH_OK;
}

static lth_status dot(lth__device *d, const double *X, const double *Y, size_t count, double *out,
                      lth_error *err) {
    LTH__REF_DO(d);
    check_two(d, Y, X, count);
    *out = 0;
    for (size_t i = 0; i < count; i++) *out += X[i] * (Y ? Y[i] : 1);
    return LTH_OK;
}

static lth_status find_infinite(lth__device *d, const double *X, size_t count, size_t *out,
                                lth_error *err) {
    LTH__REF_DO(d);
    lth__ref_check_numbers(d, X, count, "what is searched");
    *out = 0;
    while (*out < count && isfinite(X[*out])) (*out)++;
    return LTH_OK;
}

/* ---- Parts of matrices ---- */

static void check_part(const lth__device *d, const double *X, size_t ld, size_t rows, size_t cols,
                       const char *what) {
    lth__panel p = {.rows = rows, .cols = cols};
    lth__ref_check_panel(d, X, ld, &p, what);
}

static void check_op(const lth__device *d, const double *X, size_t ld, size_t rows, size_t cols,
                     bool transposed, const char *what) {
    check_part(d, X, ld, transposed ? cols : rows, transposed ? rows : cols, what);
}

static double at(const double *X, size_t ld, bool transposed, size_t r, size_t c) {
    return transposed ? X[c * ld + r] : X[r * ld + c];
}

static lth_status gemm(lth__device *d, bool A_transposed, bool B_transposed, size_t m, size_t n,
                       size_t k, double alpha, const double *A, size_t lda, const double *B,
                       size_t ldb, double beta, double *C, size_t ldc, lth_error *err) {
    LTH__REF_DO(d);
    check_op(d, A, lda, m, k, A_transposed, "A of a product");
    check_op(d, B, ldb, k, n, B_transposed, "B of a product");
    check_part(d, C, ldc, m, n, "C of a product");
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < n; j++) {
            double sum = 0, *cell = &C[i * ldc + j];
            for (size_t l = 0; l < k; l++)
                sum += at(A, lda, A_transposed, i, l) * at(B, ldb, B_transposed, l, j);
            *cell = alpha * sum + (beta == 0 ? 0 : beta * *cell);
        }
    }
    return LTH_OK;
}

static lth_status combine(lth__device *d, size_t rows, size_t cols, bool transposed, double a,
                          const double *X, size_t ldx, double b, double *Y, size_t ldy,
                          lth_error *err) {
    LTH__REF_DO(d);
    check_op(d, X, ldx, rows, cols, transposed, "X of a sum");
    check_part(d, Y, ldy, rows, cols, "Y of a sum");
    if (X == Y && (transposed || ldx != ldy)) lth__ref_abort("X of a sum is Y, but moved");
    for (size_t r = 0; r < rows; r++) {
        for (size_t c = 0; c < cols; c++) {
            double *cell = &Y[r * ldy + c];
            *cell = a * at(X, ldx, transposed, r, c) + (b == 0 ? 0 : b * *cell);
        }
    }
    return LTH_OK;
}

static lth_status scale_sides(lth__device *d, size_t rows, size_t cols, double *X, size_t ld,
                              const double *row, const double *col, lth_error *err) {
    LTH__REF_DO(d);
    check_part(d, X, ld, rows, cols, "what is scaled");
    lth__ref_check_numbers(d, row, rows, "factors of rows");
    lth__ref_check_numbers(d, col, cols, "factors of columns");
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < cols; c++) X[r * ld + c] *= row[r] * col[c];
    return LTH_OK;
}

static lth_status add_diagonal(lth__device *d, size_t n, double *G, size_t ld, double value,
                               lth_error *err) {
    LTH__REF_DO(d);
    check_part(d, G, ld, n, n, "G");
    for (size_t i = 0; i < n; i++) G[i * ld + i] += value;
    return LTH_OK;
}

/* ---- Symmetric matrices of a panel's rows ---- */

/* What is left of G(i, j) without the part that the rows before i explain. */
static double rest_of(const double *G, size_t ld, size_t i, size_t j) {
    double sum = G[i * ld + j];
    for (size_t k = 0; k < i; k++) sum -= G[k * ld + i] * G[k * ld + j];
    return sum;
}

static lth_status cholesky(lth__device *d, size_t n, double *G, size_t ld, lth_error *err) {
    LTH__REF_DO(d);
    check_part(d, G, ld, n, n, "G");
    for (size_t i = 0; i < n; i++) {
        double square = rest_of(G, ld, i, i);
        if (!(square > 0 && isfinite(square)))
            return lth__ref_fail(err, LTH_ENUMERIC, "the matrix is not positive definite");
        G[i * ld + i] = sqrt(square);
        for (size_t j = i + 1; j < n; j++) {
            G[i * ld + j] = rest_of(G, ld, i, j) / G[i * ld + i];
            G[j * ld + i] = 0;
        }
    }
    return LTH_OK;
}

/* Column c of B: U^T x = b from the top, or U x = b from the bottom. */
static void solve_column(bool transposed, size_t n, const double *U, size_t ldu, double *B,
                         size_t ldb, size_t c) {
    for (size_t step = 0; step < n; step++) {
        size_t i = transposed ? step : n - 1 - step, first = transposed ? 0 : i + 1;
        size_t end = transposed ? i : n;
        for (size_t k = first; k < end; k++)
            B[i * ldb + c] -= at(U, ldu, transposed, i, k) * B[k * ldb + c];
        B[i * ldb + c] /= U[i * ldu + i];
    }
}

static lth_status solve(lth__device *d, bool transposed, size_t n, size_t m, const double *U,
                        size_t ldu, double *B, size_t ldb, lth_error *err) {
    LTH__REF_DO(d);
    check_part(d, U, ldu, n, n, "U");
    check_part(d, B, ldb, n, m, "B");
    for (size_t c = 0; c < m; c++) solve_column(transposed, n, U, ldu, B, ldb, c);
    return LTH_OK;
}

void lth__ref_set_matrices(lth__device_table *t) {
    t->fill = fill;
    t->copy = copy;
    t->add = add;
    t->multiply = multiply;
    t->scale = scale;
    t->narrow = narrow;
    t->widen = widen;
    t->dot = dot;
    t->find_infinite = find_infinite;
    t->gemm = gemm;
    t->combine = combine;
    t->scale_sides = scale_sides;
    t->add_diagonal = add_diagonal;
    t->cholesky = cholesky;
    t->solve = solve;
}
