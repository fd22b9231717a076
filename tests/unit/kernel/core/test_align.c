/* Kernel alignment against its definition. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fixture.h"

static double alignment(const double *A, const double *B, size_t n, bool center) {
    double x = -2;
    lth_error err = {0};
    assert_int_equal(lth_gram_align(A, B, n, center, &x, &err), LTH_OK);
    return x;
}

static void test_known_values(void **state) {
    (void)state;
    const double A[] = {1, 2, 2, 4}, B[] = {2, 4, 4, 8}, C[] = {1, 0, 0, 1}, D[] = {2, -1, -1, 0.5};
    assert_true(fabs(alignment(A, B, 2, false) - 1) < 1e-15);
    assert_true(fabs(alignment(A, C, 2, false) - 5 / sqrt(25 * 2.0)) < 1e-15);
    assert_true(fabs(alignment(A, D, 2, false) - 0) < 1e-15);
    /* Centred, a 2 x 2 matrix is a multiple of [1 -1; -1 1]. */
    assert_true(fabs(alignment(A, C, 2, true) - 1) < 1e-14);
    assert_true(fabs(alignment(A, D, 2, true) - 1) < 1e-14);
}

/* H K H, with H = I - 1/n. */
static double *centred(const double *K, size_t n) {
    double *H = calloc(n * n, sizeof *H), *L = calloc(n * n, sizeof *L);
    double *R = calloc(n * n, sizeof *R);
    assert_true(H && L && R);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) H[i * n + j] = (i == j) - 1 / (double)n;
    }
    for (size_t i = 0; i < n * n * n; i++)
        L[i / n / n * n + i % n] += H[i / n / n * n + i / n % n] * K[i / n % n * n + i % n];
    for (size_t i = 0; i < n * n * n; i++)
        R[i / n / n * n + i % n] += L[i / n / n * n + i / n % n] * H[i / n % n * n + i % n];
    free(H);
    free(L);
    return R;
}

static double product(const double *A, const double *B, size_t cells) {
    double sum = 0;
    for (size_t i = 0; i < cells; i++) sum += A[i] * B[i];
    return sum;
}

static void test_definition(void **state) {
    (void)state;
    enum { N = 17 };
    double A[N * N], B[N * N];
    lth__random random;
    lth__random_seed(&random, 5);
    for (size_t i = 0; i < N * N; i++) { /* columns need not be rows */
        A[i] = lth__random_uniform(&random) + 0.3;
        B[i] = lth__random_uniform(&random) - 0.4;
    }
    double *a = centred(A, N), *b = centred(B, N);
    double raw = product(A, B, N * N) / sqrt(product(A, A, N * N) * product(B, B, N * N));
    double middle = product(a, b, N * N) / sqrt(product(a, a, N * N) * product(b, b, N * N));
    assert_true(fabs(alignment(A, B, N, false) - raw) < 1e-14);
    assert_true(fabs(alignment(A, B, N, true) - middle) < 1e-13);
    assert_true(fabs(raw - middle) > 1e-3);
    free(a);
    free(b);
}

static void check_failure(const double *A, const double *B, size_t n, bool center,
                          const char *message) {
    lth_error err = {0};
    double x = -2;
    assert_int_equal(lth_gram_align(A, B, n, center, &x, &err), LTH_ENUMERIC);
    assert_string_equal(err.message, message);
    assert_true(x == -2);
}

static void test_no_alignment(void **state) {
    (void)state;
    const double A[] = {1, 2, 2, 4}, zero[4] = {0}, same[] = {0.1, 0.1, 0.1, 0.1},
                 large[] = {1e200, 0, 0, 1e200};
    check_failure(zero, A, 2, false, "the first matrix is zero: it has no alignment");
    check_failure(A, zero, 2, false, "the second matrix is zero: it has no alignment");
    check_failure(A, same, 2, true, "the second matrix is constant: it has no alignment");
    check_failure(same, A, 2, true, "the first matrix is constant: it has no alignment");
    check_failure(large, A, 2, false, "the products of the matrices are too large");
    check_failure(A, A, 0, false, "the first matrix is zero: it has no alignment");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_values),
        cmocka_unit_test(test_definition),
        cmocka_unit_test(test_no_alignment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
