/* A basis against dense algebra: Nystrom's identity, equal and empty rows, any number of threads,
 * and every allocation failing in turn. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/blas.h"
#include "failing_allocator.h"
#include "fixture.h"
#include "model/common/basis.h"
#include "model/common/linalg.h"

static const char kernel[] = "normalize(ssk(text, order=3, units=chars))";

static lth__basis *choose(const fixture *f, const lth_items *items, lth__basis_options options) {
    lth_error err = {0};
    lth__basis *b = NULL;
    lth_status status = lth__basis_choose(f->kernel, items, &options, &b, &err);
    if (status != LTH_OK) fail_msg("%s", err.message);
    return b;
}

static double *features(const lth__basis *b, const lth_items *rows, double *self) {
    lth_error err = {0};
    double *phi = malloc((rows->count * b->count + 1) * sizeof *phi);
    lth_status status = lth__basis_features(b, rows, phi, self, &err);
    if (status != LTH_OK) fail_msg("%s", err.message);
    return phi;
}

static double dot(const double *a, const double *b, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* phi phi^T = C_nm (C_mm + jitter)^-1 C_mn, by solving with the dense matrix. */
static void check_nystrom(const fixture *f, const lth_items *items, const lth__basis *b,
                          double tolerance) {
    size_t n = items->count, m = b->count;
    double *K = fixture_gram(f, items, NULL), *L = malloc(m * m * sizeof *L);
    double *self = malloc(n * sizeof *self), *phi = features(b, items, self);
    double *X = malloc(m * n * sizeof *X);
    for (size_t i = 0; i < n * n; i++) K[i] = b->scale * K[i] + b->shift;
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < m; j++)
            L[i * m + j] = K[b->row[i] * n + b->row[j]] + (i == j ? b->jitter : 0);
        memcpy(X + i * n, K + b->row[i] * n, n * sizeof *X);
    }
    assert_int_equal(lth__cholesky(f->ctx, m, L, NULL), LTH_OK);
    assert_int_equal(lth__cholesky_solve(f->ctx, m, L, n, X, NULL), LTH_OK);
    for (size_t i = 0; i < n; i++) {
        assert_true(fabs(self[i] - K[i * n + i]) <= 1e-12 * (1 + self[i]));
        for (size_t j = 0; j < n; j++) {
            double wanted = 0, got = dot(phi + i * m, phi + j * m, m);
            for (size_t k = 0; k < m; k++) wanted += K[i * n + b->row[k]] * X[k * n + j];
            if (!(fabs(got - wanted) <= tolerance)) fail_msg("%g is not %g", got, wanted);
        }
    }
    free(K);
    free(L);
    free(self);
    free(phi);
    free(X);
}

/* The row numbers are those of the items; no row comes twice. */
static void check_rows(const lth__basis *b, size_t rows) {
    for (size_t i = 0; i < b->count; i++) {
        assert_true(b->row[i] < rows);
        for (size_t j = 0; j < i; j++) assert_true(b->row[i] != b->row[j]);
    }
    assert_int_equal(b->items->count, b->count);
}

static void test_nystrom(void **state) {
    (void)state;
    enum { ROWS = 150 };
    lth__random random;
    lth__random_seed(&random, 3);
    char **texts = fixture_texts(&random, ROWS, 12, 5, false);
    fixture f = fixture_open(kernel, NULL);
    const lth_items *items = fixture_encode(&f, (const char *const *)texts, ROWS);
    double before = INFINITY;
    for (size_t count = 1; count <= 121; count += 40) {
        lth__basis *b = choose(&f, items, (lth__basis_options){.count = count, .seed = 1});
        check_rows(b, ROWS);
        assert_int_equal(b->count, count);
        assert_true(b->left < before && b->left >= 0 && b->left < b->trace);
        check_nystrom(&f, items, b, 1e-9);
        before = b->left;
        lth__basis_free(b);
    }
    lth__basis *b =
        choose(&f, items, (lth__basis_options){.count = 30, .scale = 2.5, .shift = 10, .seed = 1});
    check_nystrom(&f, items, b, 1e-9);
    lth__basis_free(b);
    fixture_close(&f);
    fixture_free_texts(texts, ROWS);
}

/* `left` is what the features of all rows leave, where all rows are candidates. */
static void test_left(void **state) {
    (void)state;
    static const char *const texts[] = {"abc", "abd", "bcd", "cab", "dda", "abcabc", "bb", "acdc"};
    enum { ROWS = sizeof texts / sizeof *texts };
    fixture f = fixture_open(kernel, NULL);
    const lth_items *items = fixture_encode(&f, texts, ROWS);
    lth__basis *b = choose(&f, items, (lth__basis_options){.count = 5, .seed = 7});
    double self[ROWS], left = 0, *phi = features(b, items, self);
    for (size_t i = 0; i < ROWS; i++)
        left += self[i] - dot(phi + i * b->count, phi + i * b->count, b->count);
    assert_true(fabs(left - b->left) < 1e-12);
    assert_true(fabs(b->trace - ROWS) < 1e-12);
    free(phi);
    lth__basis_free(b);

    /* So they do where there are many of them, in blocks of which the last one is not full. */
    enum { MANY = 601 };
    char *numbers[MANY];
    for (size_t i = 0; i < MANY; i++) {
        numbers[i] = calloc(1, 12);
        for (size_t digit = i + 1, k = 0; digit > 0; digit /= 6)
            numbers[i][k++] = "abcdef"[digit % 6];
    }
    const lth_items *many = fixture_encode(&f, (const char *const *)numbers, MANY);
    for (size_t count = 40; count <= 130; count += 90) {
        lth__basis *of_many =
            choose(&f, many, (lth__basis_options){.count = count, .scale = 1.5, .seed = 3});
        double *selves = malloc(MANY * sizeof *selves), *all = features(of_many, many, selves);
        left = 0;
        for (size_t i = 0; i < MANY; i++)
            left += selves[i] - dot(all + i * count, all + i * count, count);
        assert_int_equal(of_many->count, count);
        assert_true(left > 1 && fabs(left - of_many->left) < 1e-9 * MANY);
        assert_true(fabs(of_many->trace - 1.5 * MANY) < 1e-9);
        free(selves);
        free(all);
        lth__basis_free(of_many);
    }
    for (size_t i = 0; i < MANY; i++) free(numbers[i]);

    /* More than there are: all rows, and the kernel is exact. */
    b = choose(&f, items, (lth__basis_options){.count = 100, .seed = 7});
    assert_int_equal(b->count, ROWS);
    check_rows(b, ROWS);
    double *K = fixture_gram(&f, items, NULL);
    phi = features(b, items, NULL);
    for (size_t i = 0; i < ROWS; i++) {
        for (size_t j = 0; j < ROWS; j++) {
            double got = dot(phi + i * ROWS, phi + j * ROWS, ROWS);
            assert_true(fabs(got - K[i * ROWS + j]) < 1e-13);
        }
    }
    free(K);
    free(phi);
    assert_true(b->jitter == 0);
    lth__basis_free(b);

    /* No row has as much as is enough: there is a basis all the same. */
    b = choose(&f, items, (lth__basis_options){.count = 100, .enough = 2, .seed = 7});
    assert_int_equal(b->count, 1);
    lth__basis_free(b);
    fixture_close(&f);
}

static void test_equal_and_empty_rows(void **state) {
    (void)state;
    static const char *const texts[] = {"", "ab", "ab", "", "ba", "ab", "ba", "", "abab"};
    enum { ROWS = sizeof texts / sizeof *texts };
    fixture f = fixture_open(kernel, NULL);
    const lth_items *items = fixture_encode(&f, texts, ROWS);
    for (uint64_t seed = 0; seed < 10; seed++) {
        lth__basis *b = choose(&f, items, (lth__basis_options){.count = 9, .seed = seed});
        assert_int_equal(b->count, 3);
        for (size_t i = 0; i < 3; i++)
            assert_true(b->row[i] == 1 || b->row[i] == 4 || b->row[i] == 8);
        check_nystrom(&f, items, b, 1e-12);
        lth__basis_free(b);
    }
    /* With a mean that is not known an empty row has a variance. */
    lth__basis *b = choose(&f, items, (lth__basis_options){.count = 9, .shift = 10, .seed = 1});
    assert_int_equal(b->count, 4);
    check_nystrom(&f, items, b, 1e-12);
    lth__basis_free(b);
    fixture_close(&f);
}

/* Rows of one direction: whatever is left is rounding, and is not drawn from. */
static void test_used_up(void **state) {
    (void)state;
    static const char *const texts[] = {"a", "a a", "a a a", "a a a a", "a a a a a"};
    fixture f = fixture_open("bow(text)", NULL);
    const lth_items *items = fixture_encode(&f, texts, 5);
    lth__basis *b = choose(&f, items, (lth__basis_options){.count = 5, .seed = 1});
    assert_int_equal(b->count, 1);
    check_nystrom(&f, items, b, 1e-12);
    lth__basis_free(b);
    fixture_close(&f);
}

/* How often something with this share of the chances came, of so many times. */
static void check_share(size_t came, size_t times, double share) {
    double n = (double)times, off = (double)came - n * share;
    if (fabs(off) > 5 * sqrt(n * share * (1 - share)))
        fail_msg("%zu of %zu times, not %g", came, times, share);
}

/* Rows are drawn by what is left of them after those before. Here K is 9 6 0, 6 5 0, 0 0 1 and an
 * empty row: after the first row 1 is left of the second, after the second 9 - 36/5 of the first.
 */
static void test_shares(void **state) {
    (void)state;
    enum { TIMES = 4000 };
    static const char *const texts[] = {"", "a a a", "a a b", "c"};
    fixture f = fixture_open("bow(text)", NULL);
    const lth_items *items = fixture_encode(&f, texts, 4);
    size_t first[4] = {0}, missing[4] = {0};
    for (uint64_t seed = 0; seed < TIMES; seed++) {
        lth__basis *b = choose(&f, items, (lth__basis_options){.count = 1, .seed = seed});
        first[b->row[0]]++;
        lth__basis_free(b);
        b = choose(&f, items, (lth__basis_options){.count = 2, .seed = seed});
        assert_int_equal(b->count, 2);
        missing[6 - b->row[0] - b->row[1]]++;
        lth__basis_free(b);
    }
    assert_int_equal(first[0], 0);
    check_share(first[1], TIMES, 9. / 15);
    check_share(first[2], TIMES, 5. / 15);
    check_share(first[3], TIMES, 1. / 15);
    check_share(missing[3], TIMES, 9. / 15 * 1 / 2 + 5. / 15 * 1.8 / 2.8);
    check_share(missing[2], TIMES, 9. / 15 * 1 / 2 + 1. / 15 * 9 / 14);
    check_share(missing[1], TIMES, 5. / 15 * 1 / 2.8 + 1. / 15 * 5 / 14);
    fixture_close(&f);
}

static void test_no_variance(void **state) {
    (void)state;
    static const char *const texts[] = {"", "", ""};
    fixture f = fixture_open(kernel, NULL);
    const lth_items *items = fixture_encode(&f, texts, 3);
    lth__basis *b = choose(&f, items, (lth__basis_options){.count = 2, .seed = 1});
    assert_int_equal(b->count, 1);
    assert_true(b->jitter > 0 && b->L[0] > 0 && b->trace == 0 && b->left == 0);
    double self[3], *phi = features(b, items, self);
    for (size_t i = 0; i < 3; i++) assert_true(phi[i] == 0 && self[i] == 0);
    free(phi);
    lth__basis_free(b);

    b = NULL;
    lth_error err = {0};
    lth_items *none = NULL;
    assert_int_equal(lth__items_slice(items, 0, 0, &none, &err), LTH_OK);
    lth__basis_options options = {.count = 2};
    assert_int_equal(lth__basis_choose(f.kernel, none, &options, &b, &err), LTH_EARG);
    assert_null(b);
    lth_items_free(none);
    fixture_close(&f);
}

/* Other values of the parameters: the same rows, another factor. */
static void test_renew(void **state) {
    (void)state;
    static const char *const texts[] = {"abc", "abd", "bcd", "cab", "dda", "abcabc", "bb", "acdc"};
    fixture f = fixture_open("ssk(text, order=3, units=chars, gap=0.9)", NULL);
    const lth_items *items = fixture_encode(&f, texts, 8);
    lth__basis *b = choose(&f, items, (lth__basis_options){.count = 5, .seed = 7});
    double first = b->L[0];
    assert_int_equal(lth_kernel_set(f.kernel, 0, 0.4, NULL), LTH_OK);
    assert_int_equal(lth__basis_renew(b, 2, 0.5, 1e-6, NULL), LTH_OK);
    assert_true(b->L[0] != first && b->jitter == 1e-6);
    check_nystrom(&f, items, b, 1e-9);
    lth__basis_free(b);
    fixture_close(&f);
}

static void test_same_for_any_threads(void **state) {
    (void)state;
    enum { ROWS = 700, COUNT = 230 };
    lth__random random;
    lth__random_seed(&random, 5);
    char **texts = fixture_texts(&random, ROWS, 9, 4, false);
    lth__basis *first = NULL;
    double *phi = NULL;
    fixture f[3];
    for (unsigned t = 0; t < 3; t++) {
        lth_ctx_options options;
        lth_ctx_options_init(&options);
        options.threads = t + 1;
        f[t] = fixture_open(kernel, &options);
        const lth_items *items = fixture_encode(&f[t], (const char *const *)texts, ROWS);
        lth__basis *b = choose(&f[t], items, (lth__basis_options){.count = COUNT, .seed = 9});
        double *own = features(b, items, NULL);
        if (first) {
            assert_int_equal(b->count, first->count);
            assert_memory_equal(b->row, first->row, b->count * sizeof *b->row);
            assert_memory_equal(b->L, first->L, b->count * b->count * sizeof *b->L);
            assert_memory_equal(own, phi, ROWS * b->count * sizeof *own);
            assert_true(b->left == first->left);
            lth__basis_free(b);
            free(own);
        } else {
            first = b;
            phi = own;
        }
    }
    lth__basis_free(first);
    free(phi);
    for (unsigned t = 0; t < 3; t++) fixture_close(&f[t]);
    fixture_free_texts(texts, ROWS);
}

static void test_allocations(void **state) {
    (void)state;
    static const char *const texts[] = {"ab", "ba", "abab", "bb", "ab"};
    fixture f = fixture_open(kernel, NULL);
    const lth_items *items = fixture_encode(&f, texts, 5);
    lth__basis_options options = {.count = 4, .seed = 1};
    const lth__blas *blas; /* is loaded once */
    assert_int_equal(lth__blas_get(&blas, NULL), LTH_OK);
    size_t n = 1;
    for (;; n++) {
        lth__basis *b = NULL;
        lth_error err = {0};
        double phi[5 * 4], self[5];
        calls = 0;
        fail_at = n;
        lth_status status = lth__basis_choose(f.kernel, items, &options, &b, &err);
        if (status != LTH_OK) assert_null(b);
        if (status == LTH_OK) status = lth__basis_features(b, items, phi, self, &err);
        bool came_to_it = calls >= n;
        fail_at = 0;
        lth__basis_free(b);
        if (!came_to_it) {
            assert_int_equal(status, LTH_OK);
            break;
        }
        assert_int_equal(status, LTH_ENOMEM);
    }
    assert_true(n > 20);
    fixture_close(&f);
}

static void chooses_from_as_many_as_memory_bears(void **state) {
    (void)state;
    static const struct {
        size_t rows, count, candidates;
    } cases[] = {{30, 10, 30},
                 {50000, 1, 50000},
                 {1000000, 1000, 50000},
                 {1000000, 2000, 50000},
                 {1000000, 4000, 25000},
                 {20000, 4000, 20000},
                 {1000000, 5000, 20000},
                 {1000000, 10000, 40000},
                 {1000000, 1000000, 50000},
                 {7, SIZE_MAX, 7},
                 {7, 0, 7}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(lth__basis_candidates(cases[i].rows, cases[i].count), cases[i].candidates);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chooses_from_as_many_as_memory_bears),
        cmocka_unit_test(test_nystrom),
        cmocka_unit_test(test_left),
        cmocka_unit_test(test_equal_and_empty_rows),
        cmocka_unit_test(test_used_up),
        cmocka_unit_test(test_shares),
        cmocka_unit_test(test_no_variance),
        cmocka_unit_test(test_renew),
        cmocka_unit_test(test_same_for_any_threads),
        cmocka_unit_test(test_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
