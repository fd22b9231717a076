/* Packed matrices against plain loops over whole ones, around the height of a panel. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "model/common/matrix.h"

enum { H = 64, RIGHT = 5 };
static const size_t sizes[] = {1, 2, H - 1, H, H + 1, 2 * H, 3 * H + 5};
enum { SIZES = sizeof sizes / sizeof *sizes };

static double *room(size_t count) {
    double *x = calloc(count + 1, sizeof *x);
    assert_non_null(x);
    return x;
}

static double *random_numbers(lth__random *random, size_t count) {
    double *x = room(count);
    for (size_t i = 0; i < count; i++) x[i] = 2 * lth__random_uniform(random) - 1;
    return x;
}

static double *random_symmetric(lth__random *random, size_t n) {
    double *A = random_numbers(random, n * n);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < i; j++) A[j * n + i] = A[i * n + j];
    }
    return A;
}

static lth_ctx *context(unsigned threads) {
    lth_ctx_options options;
    lth_ctx_options_init(&options);
    options.threads = threads;
    lth_ctx *ctx = NULL;
    assert_int_equal(lth_ctx_create(&options, &ctx, NULL), LTH_OK);
    return ctx;
}

/* What is above the diagonal must not be read. */
static lth__packed pack(size_t n, const double *A, lth_precision precision) {
    lth__packed p = lth__packed_layout(n);
    size_t count = lth__packed_count(n);
    if (precision == LTH_F32) {
        p.singles = malloc((count + 1) * sizeof *p.singles);
        for (size_t i = 0; i < count; i++) p.singles[i] = NAN;
    } else {
        p.cells = room(count);
        for (size_t i = 0; i < count; i++) p.cells[i] = NAN;
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++) {
            size_t at = lth__packed_row(&p, i) + j;
            assert_true(at < count);
            if (p.singles)
                p.singles[at] = (float)A[i * n + j];
            else
                p.cells[at] = A[i * n + j];
        }
    }
    return p;
}

static void unpack_free(lth__packed *p) {
    free(p->cells);
    free(p->singles);
}

static void check_near(const double *a, const double *b, size_t count, double tolerance) {
    for (size_t i = 0; i < count; i++) {
        if (fabs(a[i] - b[i]) <= tolerance) continue;
        print_error("at %zu: %.17g is not %.17g\n", i, a[i], b[i]);
        fail();
    }
}

/* ---- Layout ---- */

/* Every cell of the triangle has one place, none is beyond the end, and panels follow each other.
 */
static void test_layout(void **state) {
    (void)state;
    assert_int_equal(lth__packed_count(0), 0);
    assert_int_equal(lth__packed_bytes((size_t)1 << 40, 8), SIZE_MAX);
    assert_int_equal(lth__packed_bytes(UINT32_MAX, 8), SIZE_MAX);
    for (size_t s = 0; s < SIZES; s++) {
        size_t n = sizes[s], count = lth__packed_count(n), end = 0;
        lth__packed p = lth__packed_layout(n);
        char *used = calloc(count, 1);
        for (size_t i = 0; i < n; i++) {
            for (size_t j = 0; j <= i; j++) {
                size_t at = lth__packed_row(&p, i) + j;
                assert_true(at < count && !used[at]);
                used[at] = 1;
            }
        }
        for (size_t panel = 0; panel < lth__packed_panels(&p); panel++) {
            assert_int_equal(lth__packed_panel(&p, panel), end);
            end += lth__packed_rows(&p, panel) * lth__packed_cols(&p, panel);
        }
        assert_int_equal(end, count);
        assert_int_equal(lth__packed_bytes(n, 4), 4 * count);
        free(used);
    }
}

/* ---- Products ---- */

static void multiply_plainly(size_t n, const double *A, size_t m, const double *X, double *Y) {
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < m; k++) {
            Y[i * m + k] = 0;
            for (size_t j = 0; j < n; j++) Y[i * m + k] += A[i * n + j] * X[j * m + k];
        }
    }
}

static void check_product(lth_ctx *ctx, size_t n, size_t m, lth_precision precision) {
    lth__random random;
    lth__random_seed(&random, n + m);
    double *A = random_symmetric(&random, n), *X = random_numbers(&random, n * m);
    double *Y = room(n * m), *wanted = room(n * m);
    for (size_t i = 0; precision == LTH_F32 && i < n * n; i++) A[i] = (float)A[i];
    lth__packed p = pack(n, A, precision);
    lth__matrix on_host = lth__matrix_store(ctx, n, precision);
    on_host.cells = p.cells;
    on_host.singles = p.singles;
    on_host.borrowed = true;
    multiply_plainly(n, A, m, X, wanted);
    assert_int_equal(on_host.table->multiply(&on_host, m, X, Y, NULL), LTH_OK);
    check_near(Y, wanted, n * m, 1e-13 * (double)n);
    lth__matrix_free(&on_host);
    unpack_free(&p);
    double *all[] = {A, X, Y, wanted};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

/* Sums are in double precision, whatever the cells are. */
static void test_products(void **state) {
    (void)state;
    lth_ctx *ctx = context(2);
    for (size_t s = 0; s < SIZES; s++) {
        for (size_t m = 1; m <= 9; m += 4) {
            check_product(ctx, sizes[s], m, LTH_F64);
            check_product(ctx, sizes[s], m, LTH_F32);
        }
    }
    check_product(ctx, 2100, 2, LTH_F32); /* panels of another height */
    lth_ctx_free(ctx);
}

static void test_products_of_any_threads(void **state) {
    (void)state;
    size_t n = 9 * H + 3, m = 3;
    lth__random random;
    lth__random_seed(&random, 3);
    double *A = random_symmetric(&random, n), *X = random_numbers(&random, n * m);
    double *first = room(n * m), *Y = room(n * m);
    for (int precision = LTH_F64; precision <= LTH_F32; precision++) {
        lth__packed p = pack(n, A, (lth_precision)precision);
        for (unsigned threads = 1; threads <= 5; threads++) {
            lth_ctx *ctx = context(threads);
            lth__matrix a = lth__matrix_store(ctx, n, (lth_precision)precision);
            a.cells = p.cells;
            a.singles = p.singles;
            assert_int_equal(a.table->multiply(&a, m, X, threads == 1 ? first : Y, NULL), LTH_OK);
            if (threads > 1) assert_memory_equal(first, Y, n * m * sizeof *Y);
            lth_ctx_free(ctx);
        }
        unpack_free(&p);
    }
    double *all[] = {A, X, Y, first};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

/* ---- Single precision ---- */

static void test_single(void **state) {
    (void)state;
    size_t n = 2 * H + 3;
    lth_ctx *ctx = context(2);
    lth__random random;
    lth__random_seed(&random, 5);
    double *A = random_symmetric(&random, n), *got = room(n), trace = 0, wanted = 0;
    lth__packed p = pack(n, A, LTH_F32);
    lth__matrix a = lth__matrix_store(ctx, n, LTH_F32);
    assert_int_equal(a.table->reserve(&a, NULL), LTH_OK);
    memcpy(a.singles, p.singles, lth__packed_count(n) * sizeof *p.singles);
    assert_int_equal(a.table->affine(&a, 2, 0.5, NULL), LTH_OK);
    assert_int_equal(a.table->add_diagonal(&a, 3, NULL), LTH_OK);
    assert_int_equal(a.table->diagonal(&a, got, NULL), LTH_OK);
    assert_int_equal(a.table->trace(&a, &trace, NULL), LTH_OK);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++) {
            double is = a.singles[lth__packed_row(&p, i) + j];
            double should = 2 * A[i * n + j] + 0.5 + (i == j ? 3 : 0);
            check_near(&is, &should, 1, 1e-6);
            if (i == j) check_near(&got[i], &should, 1, 1e-6);
            if (i == j) wanted += should;
        }
    }
    check_near(&trace, &wanted, 1, 1e-4);
    lth__matrix_free(&a);
    assert_null(a.singles);
    unpack_free(&p);
    free(A);
    free(got);
    lth_ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layout),
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_products_of_any_threads),
        cmocka_unit_test(test_single),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
