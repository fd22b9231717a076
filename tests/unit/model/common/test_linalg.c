/* Linear algebra against plain loops, around the size of its blocks. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "model/common/linalg.h"

static const size_t sizes[] = {1, 5, 64, 65, 128, 250};
enum { SIZES = sizeof sizes / sizeof *sizes, RIGHT = 3 };

static double *room(size_t count) {
    double *x = calloc(count, sizeof *x);
    assert_non_null(x);
    return x;
}

static double *random_matrix(lth__random *random, size_t count) {
    double *x = room(count);
    for (size_t i = 0; i < count; i++) x[i] = 2 * lth__random_uniform(random) - 1;
    return x;
}

/* B B^T / n + I / 2: well conditioned. */
static double *random_definite(lth__random *random, size_t n) {
    double *B = random_matrix(random, n * n), *A = room(n * n);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            for (size_t k = 0; k < n; k++) A[i * n + j] += B[i * n + k] * B[j * n + k] / (double)n;
            if (i == j) A[i * n + j] += 0.5;
        }
    }
    free(B);
    return A;
}

/* Gauss-Jordan without pivoting; returns the log-determinant. */
static double naive_inverse(size_t n, const double *A, double *X) {
    double *M = room(n * n), log_determinant = 0;
    memcpy(M, A, n * n * sizeof *M);
    memset(X, 0, n * n * sizeof *X);
    for (size_t i = 0; i < n; i++) X[i * n + i] = 1;
    for (size_t p = 0; p < n; p++) {
        double pivot = M[p * n + p];
        log_determinant += log(pivot);
        for (size_t j = 0; j < n; j++) {
            M[p * n + j] /= pivot;
            X[p * n + j] /= pivot;
        }
        for (size_t i = 0; i < n; i++) {
            double factor = i == p ? 0 : M[i * n + p];
            for (size_t j = 0; j < n; j++) {
                M[i * n + j] -= factor * M[p * n + j];
                X[i * n + j] -= factor * X[p * n + j];
            }
        }
    }
    free(M);
    return log_determinant;
}

static void check_near(const double *a, const double *b, size_t count, double tolerance) {
    for (size_t i = 0; i < count; i++) {
        if (fabs(a[i] - b[i]) <= tolerance) continue;
        print_error("at %zu: %.17g is not %.17g\n", i, a[i], b[i]);
        fail();
    }
}

static lth_ctx *context(unsigned threads) {
    lth_ctx_options options;
    lth_ctx_options_init(&options);
    options.threads = threads;
    lth_ctx *ctx = NULL;
    assert_int_equal(lth_ctx_create(&options, &ctx, NULL), LTH_OK);
    return ctx;
}

/* L L^T = A, by the lower triangle of L alone. */
static void check_factor(size_t n, const double *A, const double *L) {
    for (size_t i = 0; i < n; i++) {
        assert_true(L[i * n + i] > 0);
        for (size_t j = 0; j <= i; j++) {
            double sum = 0;
            for (size_t k = 0; k <= j; k++) sum += L[i * n + k] * L[j * n + k];
            check_near(&sum, &A[i * n + j], 1, 1e-13);
        }
    }
}

static void check_size(lth_ctx *ctx, size_t n) {
    lth__random random;
    lth__random_seed(&random, n);
    double *A = random_definite(&random, n), *B = random_matrix(&random, n * RIGHT);
    double *L = room(n * n), *X = room(n * n), *wanted = room(n * n), *solved = room(n * RIGHT);
    double log_determinant = naive_inverse(n, A, wanted);

    memcpy(L, A, n * n * sizeof *L);
    for (size_t i = 0; i < n; i++) { /* only the lower triangle is read */
        for (size_t j = i + 1; j < n; j++) L[i * n + j] = NAN;
    }
    assert_int_equal(lth__cholesky(ctx, n, L, NULL), LTH_OK);
    check_factor(n, A, L);
    double got = lth__cholesky_log_determinant(n, L);
    check_near(&got, &log_determinant, 1, 1e-12 * (double)n);

    for (size_t i = 0; i < n * n; i++) X[i] = NAN;
    assert_int_equal(lth__cholesky_inverse(ctx, n, L, X, NULL), LTH_OK);
    check_near(X, wanted, n * n, 1e-12);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < i; j++) assert_true(X[i * n + j] == X[j * n + i]);
    }

    for (size_t i = 0; i < n; i++) {
        for (size_t r = 0; r < RIGHT; r++) {
            for (size_t k = 0; k < n; k++)
                solved[i * RIGHT + r] += wanted[i * n + k] * B[k * RIGHT + r];
        }
    }
    assert_int_equal(lth__cholesky_solve(ctx, n, L, RIGHT, B, NULL), LTH_OK);
    check_near(B, solved, n * RIGHT, 1e-12);
    double *matrices[] = {A, B, L, X, wanted, solved};
    for (size_t i = 0; i < sizeof matrices / sizeof *matrices; i++) free(matrices[i]);
}

static void test_against_plain_loops(void **state) {
    (void)state;
    lth_ctx *ctx = context(2);
    for (size_t i = 0; i < SIZES; i++) check_size(ctx, sizes[i]);
    lth_ctx_free(ctx);
}

static void test_nothing(void **state) {
    (void)state;
    lth_ctx *ctx = context(1);
    double none = 7;
    assert_int_equal(lth__cholesky(ctx, 0, &none, NULL), LTH_OK);
    assert_int_equal(lth__cholesky_solve(ctx, 0, &none, 0, &none, NULL), LTH_OK);
    assert_int_equal(lth__cholesky_inverse(ctx, 0, &none, &none, NULL), LTH_OK);
    assert_true(lth__cholesky_log_determinant(0, &none) == 0 && none == 7);
    lth_ctx_free(ctx);
}

/* One direction of negative (or no) length, in the first, a middle or the last block. */
static void test_not_positive_definite(void **state) {
    (void)state;
    lth_ctx *ctx = context(2);
    for (size_t s = 0; s < SIZES; s++) {
        size_t n = sizes[s], places[] = {0, n / 2, n - 1};
        for (size_t p = 0; p < 3; p++) {
            for (int negative = 0; negative < 2; negative++) {
                lth__random random;
                lth__random_seed(&random, n);
                double *A = random_definite(&random, n);
                A[places[p] * n + places[p]] = negative ? -1e-3 : 0;
                assert_int_equal(lth__cholesky(ctx, n, A, NULL), LTH_ENUMERIC);
                free(A);
            }
        }
    }
    for (size_t s = 0; s < SIZES; s++) {
        size_t n = sizes[s];
        lth__random random;
        lth__random_seed(&random, n);
        double *A = random_definite(&random, n);
        A[n / 2 * n] = NAN;
        assert_int_equal(lth__cholesky(ctx, n, A, NULL), LTH_ENUMERIC);
        free(A);
    }
    lth_ctx_free(ctx);
}

static void test_same_bits_for_any_threads(void **state) {
    (void)state;
    for (size_t s = 0; s < SIZES; s++) {
        size_t n = sizes[s];
        double *first_L = room(n * n), *first_X = room(n * n), *first_B = room(n * RIGHT);
        for (unsigned threads = 1; threads <= 3; threads++) {
            lth_ctx *ctx = context(threads);
            lth__random random;
            lth__random_seed(&random, n);
            double *L = random_definite(&random, n), *B = random_matrix(&random, n * RIGHT);
            double *X = room(n * n);
            assert_int_equal(lth__cholesky(ctx, n, L, NULL), LTH_OK);
            assert_int_equal(lth__cholesky_inverse(ctx, n, L, X, NULL), LTH_OK);
            assert_int_equal(lth__cholesky_solve(ctx, n, L, RIGHT, B, NULL), LTH_OK);
            if (threads == 1) {
                memcpy(first_L, L, n * n * sizeof *L);
                memcpy(first_X, X, n * n * sizeof *X);
                memcpy(first_B, B, n * RIGHT * sizeof *B);
            }
            assert_memory_equal(first_L, L, n * n * sizeof *L);
            assert_memory_equal(first_X, X, n * n * sizeof *X);
            assert_memory_equal(first_B, B, n * RIGHT * sizeof *B);
            free(L);
            free(B);
            free(X);
            lth_ctx_free(ctx);
        }
        free(first_L);
        free(first_X);
        free(first_B);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_plain_loops),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_not_positive_definite),
        cmocka_unit_test(test_same_bits_for_any_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
