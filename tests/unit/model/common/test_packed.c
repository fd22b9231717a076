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
#include "engine/blas.h"
#include "failing_allocator.h"
#include "model/common/linalg.h"
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
static lth__packed pack_in(lth__packed p, const double *A, lth_precision precision) {
    size_t n = p.n, count = lth__packed_row(&p, n - 1) + n;
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

static lth__packed pack(size_t n, const double *A, lth_precision precision) {
    return pack_in(lth__packed_layout(n), A, precision);
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

/* Some m of them, of both ends and twice the same. */
static void check_columns(const lth__matrix *a, const double *A, size_t m, double *Y) {
    size_t n = a->n, at[16];
    for (size_t j = 0; j < m; j++) at[j] = j % 3 == 0 ? 0 : n - 1 - (j * n / 20) % n;
    assert_int_equal(a->table->columns(a, m, at, Y, NULL), LTH_OK);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < m; j++) assert_true(Y[i * m + j] == A[i * n + at[j]]);
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
    assert_int_equal(on_host.table->multiply_roughly(&on_host, m, X, Y, NULL), LTH_OK);
    check_near(Y, wanted, n * m, 1e-6 * (double)n);
    check_columns(&on_host, A, m, Y);
    for (size_t i = 0; i < n * n; i++) A[i] *= A[i];
    if (on_host.table->multiply_squares) {
        multiply_plainly(n, A, m, X, wanted);
        assert_int_equal(on_host.table->multiply_squares(&on_host, m, X, Y, NULL), LTH_OK);
        check_near(Y, wanted, n * m, 1e-13 * (double)n);
    }
    assert_int_equal(on_host.table->multiply_squares != NULL, precision == LTH_F64);
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
    check_product(ctx, 2100, 1, LTH_F32);
    lth_ctx_free(ctx);
}

static void check_threads(size_t m) {
    size_t n = 9 * H + 3;
    lth__random random;
    lth__random_seed(&random, 3);
    double *A = random_symmetric(&random, n), *X = random_numbers(&random, n * m);
    double *first = room(3 * n * m), *Y = room(3 * n * m);
    for (int precision = LTH_F64; precision <= LTH_F32; precision++) {
        lth__packed p = pack(n, A, (lth_precision)precision);
        for (unsigned threads = 1; threads <= 5; threads++) {
            lth_ctx *ctx = context(threads);
            lth__matrix a = lth__matrix_store(ctx, n, (lth_precision)precision);
            a.cells = p.cells;
            a.singles = p.singles;
            double *to = threads == 1 ? first : Y;
            assert_int_equal(a.table->multiply(&a, m, X, to, NULL), LTH_OK);
            assert_int_equal(a.table->multiply_roughly(&a, m, X, to + n * m, NULL), LTH_OK);
            double *squares = to + 2 * n * m;
            memset(squares, 0, n * m * sizeof *squares);
            if (a.table->multiply_squares)
                assert_int_equal(a.table->multiply_squares(&a, m, X, squares, NULL), LTH_OK);
            if (threads > 1) assert_memory_equal(first, Y, 3 * n * m * sizeof *Y);
            lth_ctx_free(ctx);
        }
        unpack_free(&p);
    }
    double *all[] = {A, X, Y, first};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

static void test_products_of_any_threads(void **state) {
    (void)state;
    check_threads(1);
    check_threads(3);
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
    assert_int_equal(lth__matrix_trace(&a, &trace, NULL), LTH_OK);
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

/* ---- Factor and inverse ---- */

/* B B^T / n + I / 2: well conditioned. */
static double *random_definite(lth__random *random, size_t n) {
    double *B = random_numbers(random, n * n), *A = room(n * n);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++) {
            double sum = i == j ? 0.5 : 0;
            for (size_t k = 0; k < n; k++) sum += B[i * n + k] * B[j * n + k] / (double)n;
            A[i * n + j] = A[j * n + i] = sum;
        }
    }
    free(B);
    return A;
}

/* The lower factor by its definition. */
static double *naive_factor(size_t n, const double *A) {
    double *L = room(n * n);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++) {
            double sum = A[i * n + j];
            for (size_t k = 0; k < j; k++) sum -= L[i * n + k] * L[j * n + k];
            L[i * n + j] = i == j ? sqrt(sum) : sum / L[j * n + j];
        }
    }
    return L;
}

/* L X = B, for B of n x m. */
static void naive_forward(size_t n, const double *L, size_t m, double *B) {
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < m; k++) {
            for (size_t j = 0; j < i; j++) B[i * m + k] -= L[i * n + j] * B[j * m + k];
            B[i * m + k] /= L[i * n + i];
        }
    }
}

/* (L L^T)^-1 = M^T M. */
static double *naive_inverse(size_t n, const double *L) {
    double *M = room(n * n), *X = room(n * n);
    for (size_t i = 0; i < n; i++) M[i * n + i] = 1;
    naive_forward(n, L, n, M);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            for (size_t k = i > j ? i : j; k < n; k++) X[i * n + j] += M[k * n + i] * M[k * n + j];
        }
    }
    free(M);
    return X;
}

static void check_lower(const lth__packed *p, const double *wanted, double tolerance) {
    for (size_t i = 0; i < p->n; i++)
        check_near(p->cells + lth__packed_row(p, i), wanted + i * p->n, i + 1, tolerance);
}

static void check_solves(const lth__packed *p, const double *inverse, const double *L,
                         lth__random *random) {
    size_t n = p->n;
    const lth__blas *blas;
    assert_int_equal(lth__blas_get(&blas, NULL), LTH_OK);
    for (size_t m = 1; m <= RIGHT; m += RIGHT - 1) {
        double *B = random_numbers(random, n * m), *wanted = room(n * m), *V = room(n * m);
        multiply_plainly(n, inverse, m, B, wanted);
        for (size_t i = 0; i < n * m; i++) V[i % m * n + i / m] = B[i]; /* its transpose */
        naive_forward(n, L, m, B);
        lth__packed_solve_right(blas, p, m, V);
        for (size_t i = 0; i < n * m; i++) check_near(&V[i % m * n + i / m], &B[i], 1, 1e-12);
        for (size_t i = 0; i < n * m; i++) { /* L (L^-1 B) is B again */
            V[i] = 0;
            for (size_t j = 0; j <= i / m; j++) V[i] += L[i / m * n + j] * B[j * m + i % m];
        }
        assert_int_equal(lth__packed_solve(p, m, V, NULL), LTH_OK);
        check_near(V, wanted, n * m, 1e-11);
        free(B);
        free(V);
        free(wanted);
    }
}

static void check_factor(lth_ctx *ctx, lth__packed layout) {
    size_t n = layout.n;
    lth__random random;
    lth__random_seed(&random, n);
    double *A = random_definite(&random, n), *L = naive_factor(n, A), *X = naive_inverse(n, L);
    double *diagonal = room(n), log_determinant = 0;
    lth__packed p = pack_in(layout, A, LTH_F64);
    assert_int_equal(lth__packed_factor(ctx, &p, NULL), LTH_OK);
    check_lower(&p, L, 1e-13);
    for (size_t i = 0; i < n; i++) { /* 0 above the diagonal, inside of the panel */
        log_determinant += 2 * log(L[i * n + i]);
        for (size_t j = i + 1; j < lth__packed_cols(&p, i >> p.shift); j++)
            assert_true(p.cells[lth__packed_row(&p, i) + j] == 0);
    }
    double got = lth__packed_log_determinant(&p);
    check_near(&got, &log_determinant, 1, 1e-12 * (double)n);
    check_solves(&p, X, L, &random);
    assert_int_equal(lth__packed_inverse_diagonal(ctx, &p, diagonal, NULL), LTH_OK);
    for (size_t i = 0; i < n; i++) check_near(&diagonal[i], &X[i * n + i], 1, 1e-12);
    assert_int_equal(lth__packed_invert(ctx, &p, NULL), LTH_OK);
    check_lower(&p, X, 1e-12);
    unpack_free(&p);
    double *all[] = {A, L, X, diagonal};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

static void test_factor(void **state) {
    (void)state;
    lth_ctx *ctx = context(2);
    for (size_t s = 0; s < SIZES; s++) check_factor(ctx, lth__packed_layout(sizes[s]));
    check_factor(ctx, lth__packed_layout(5 * H + 1)); /* more than are inverted at once */
    check_factor(ctx, (lth__packed){.n = 5 * H + 1, .shift = 7}); /* as large matrices are */
    check_factor(ctx, (lth__packed){.n = 4 * H + 3, .shift = 8});
    lth_ctx_free(ctx);
}

static void test_nothing(void **state) {
    (void)state;
    lth_ctx *ctx = context(1);
    double none = 7;
    lth__packed p = lth__packed_layout(0);
    p.cells = &none;
    assert_int_equal(lth__packed_factor(ctx, &p, NULL), LTH_OK);
    assert_int_equal(lth__packed_solve(&p, 1, &none, NULL), LTH_OK);
    assert_int_equal(lth__packed_invert(ctx, &p, NULL), LTH_OK);
    assert_int_equal(lth__packed_inverse_diagonal(ctx, &p, &none, NULL), LTH_OK);
    assert_true(lth__packed_log_determinant(&p) == 0 && none == 7);
    lth_ctx_free(ctx);
}

/* One direction without length, of negative length, or not a number: in the first, a middle and the
 * last panel. */
static void test_not_positive_definite(void **state) {
    (void)state;
    static const double bad[] = {0, -1e-3, NAN};
    lth_ctx *ctx = context(2);
    for (size_t s = 0; s < SIZES; s++) {
        size_t n = sizes[s], places[] = {0, n / 2, n - 1};
        lth__random random;
        lth__random_seed(&random, n);
        double *A = random_definite(&random, n);
        for (size_t i = 0; i < 9; i++) {
            lth__packed p = pack(n, A, LTH_F64);
            size_t place = places[i / 3];
            p.cells[lth__packed_row(&p, place) + place] = bad[i % 3];
            assert_int_equal(lth__packed_factor(ctx, &p, NULL), LTH_ENUMERIC);
            unpack_free(&p);
        }
        free(A);
    }
    lth_ctx_free(ctx);
}

/* Factor, diagonal and inverse one after the other. */
static lth_status run_all(lth_ctx *ctx, const lth__packed *p, double *diagonal, lth_error *err) {
    LTH_TRY(lth__packed_factor(ctx, p, err));
    LTH_TRY(lth__packed_inverse_diagonal(ctx, p, diagonal, err));
    return lth__packed_invert(ctx, p, err);
}

static void test_same_bits_for_any_threads(void **state) {
    (void)state;
    size_t n = 6 * H + 5, count = lth__packed_count(n);
    lth__random random;
    lth__random_seed(&random, 7);
    double *A = random_definite(&random, n), *first = room(count), *diagonals = room(2 * n);
    for (unsigned threads = 1; threads <= 5; threads++) {
        lth_ctx *ctx = context(threads);
        lth__packed p = pack(n, A, LTH_F64);
        assert_int_equal(run_all(ctx, &p, diagonals + (threads > 1) * n, NULL), LTH_OK);
        if (threads == 1) memcpy(first, p.cells, count * sizeof *first);
        for (size_t i = 0; i < n; i++) {
            size_t row = lth__packed_row(&p, i);
            assert_memory_equal(first + row, p.cells + row, (i + 1) * sizeof *first);
        }
        if (threads > 1) assert_memory_equal(diagonals, diagonals + n, n * sizeof *diagonals);
        unpack_free(&p);
        lth_ctx_free(ctx);
    }
    free(A);
    free(first);
    free(diagonals);
}

static void test_allocations_may_fail(void **state) {
    (void)state;
    size_t n = 2 * H + 1, k = 0;
    lth_ctx *ctx = context(1);
    lth__random random;
    lth__random_seed(&random, 8);
    double *A = random_definite(&random, n), *x = random_numbers(&random, n), *y = room(n);
    const lth__blas *blas; /* is loaded once */
    assert_int_equal(lth__blas_get(&blas, NULL), LTH_OK);
    lth_status status = LTH_ENOMEM;
    for (k = 1; status != LTH_OK; k++) {
        lth__packed p = pack(n, A, LTH_F64);
        lth_error err = {0};
        calls = 0;
        fail_at = k;
        status = run_all(ctx, &p, y, &err);
        fail_at = 0;
        assert_true(status == LTH_OK || (status == LTH_ENOMEM && err.message[0]));
        unpack_free(&p);
    }
    assert_true(k > 8);
    status = LTH_ENOMEM;
    for (k = 1; status != LTH_OK; k++) {
        lth__matrix a = lth__matrix_store(ctx, n, k % 2 ? LTH_F32 : LTH_F64);
        calls = 0;
        fail_at = k;
        status = a.table->reserve(&a, NULL);
        if (status == LTH_OK) status = a.table->affine(&a, 0, 1, NULL);
        if (status == LTH_OK) status = a.table->multiply(&a, 1, x, y, NULL);
        fail_at = 0;
        assert_true(status == LTH_OK || status == LTH_ENOMEM);
        lth__matrix_free(&a);
    }
    assert_true(k > 3);
    free(A);
    free(x);
    free(y);
    lth_ctx_free(ctx);
}

/* ---- The other words of the table ---- */

static void test_elementwise(void **state) {
    (void)state;
    size_t n = 2 * H + 7, m = 3;
    lth_ctx *ctx = context(3);
    lth__random random;
    lth__random_seed(&random, 9);
    double *A = random_symmetric(&random, n), *B = random_symmetric(&random, n);
    double *V = random_numbers(&random, n * m), *w = V, *u = V + n, *g = V + 2 * n, is, should = 0;
    lth__packed pa = pack(n, A, LTH_F64), pb = pack(n, B, LTH_F64);
    lth__matrix a = lth__matrix_on_host(ctx, n, pa.cells),
                b = lth__matrix_on_host(ctx, n, pb.cells);
    lth__matrix c = lth__matrix_on_host(ctx, n, NULL);
#define EACH(target, i, j, expression)                                                             \
    for (size_t i = 0; i < n; i++)                                                                 \
        for (size_t j = 0; j < n; j++) target[i * n + j] = (expression)
    assert_int_equal(a.table->inner(&a, &b, 0.25, &is, NULL), LTH_OK);
    for (size_t i = 0; i < n * n; i++) should += A[i] * (B[i] - 0.25);
    check_near(&is, &should, 1, 1e-10);
    assert_int_equal(a.table->affine(&a, 2, 0.5, NULL), LTH_OK);
    EACH(A, i, j, 2 * A[i * n + j] + 0.5);
    assert_int_equal(a.table->add_diagonal(&a, 3, NULL), LTH_OK);
    EACH(A, i, j, A[i * n + j] + (i == j ? 3 : 0));
    assert_int_equal(a.table->scale(&a, w, NULL), LTH_OK);
    EACH(A, i, j, A[i * n + j] * w[i] * w[j]);
    assert_int_equal(a.table->add_weights(&a, &b, w, u, g, NULL), LTH_OK);
    EACH(A, i, j, A[i * n + j] + 0.5 * (w[i] * w[j] - B[i * n + j] + u[i] * g[j] + g[i] * u[j]));
    assert_int_equal(a.table->weigh(&a, m, V, NULL), LTH_OK);
    EACH(A, i, j,
         0.5 * (V[i * m] * V[j * m] + V[i * m + 1] * V[j * m + 1] + V[i * m + 2] * V[j * m + 2] -
                3 * A[i * n + j]));
    check_lower(&pa, A, 1e-12);
    assert_int_equal(a.table->sandwich(&a, u, &c, NULL), LTH_OK);
    EACH(B, i, j, u[i] * A[i * n + j] * u[j] + (i == j ? 1 : 0));
    lth__packed pc = lth__matrix_packed(&c);
    check_lower(&pc, B, 1e-12);
    assert_int_equal(c.table->fill(&c, 4, NULL), LTH_OK);
    EACH(B, i, j, 4);
    check_lower(&pc, B, 0);
#undef EACH
    lth__matrix_free(&c);
    unpack_free(&pa);
    unpack_free(&pb);
    free(A);
    free(B);
    free(V);
    lth_ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layout),
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_products_of_any_threads),
        cmocka_unit_test(test_single),
        cmocka_unit_test(test_factor),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_not_positive_definite),
        cmocka_unit_test(test_same_bits_for_any_threads),
        cmocka_unit_test(test_allocations_may_fail),
        cmocka_unit_test(test_elementwise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
