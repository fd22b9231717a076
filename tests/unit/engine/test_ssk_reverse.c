/* The reverse pass: d/dS of a weighted sum of orders. A position pair occurs at most once in a
 * match, so the kernel is linear in each S[j,k], and the derivative is the difference of its values
 * at 1 and at 0. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/random.h"
#include "engine/engine.h"
#include "reference.h"

enum { MOST_ORDERS = 20 };

/* One pair of strings for each lane, with the same lengths; numbers that a float holds. */
typedef struct problem {
    lth__match match;
    size_t p, q, order;
    double gap;
    double *S[LTH__MAX_LANES];
    uint32_t *s[LTH__MAX_LANES], *t[LTH__MAX_LANES]; /* EXACT */
    double weight[MOST_ORDERS * LTH__MAX_LANES];     /* [order][lane] */
} problem;

static void pose(problem *x, uint64_t seed) {
    lth__random random;
    lth__random_seed(&random, seed);
    for (size_t n = 0; n < LTH__MAX_LANES; n++) {
        for (size_t i = 0; i < x->order; i++)
            x->weight[i * LTH__MAX_LANES + n] = (float)(2 * lth__random_uniform(&random) - 1);
        if (x->match == LTH__MATCH_EXACT) {
            x->s[n] = calloc(x->p, sizeof **x->s);
            x->t[n] = calloc(x->q, sizeof **x->t);
            assert_true(x->s[n] && x->t[n]);
            for (size_t j = 0; j < x->p; j++) x->s[n][j] = (uint32_t)lth__random_below(&random, 3);
            for (size_t k = 0; k < x->q; k++) x->t[n][k] = (uint32_t)lth__random_below(&random, 3);
            x->S[n] = reference_equality(x->s[n], x->p, x->t[n], x->q);
        } else {
            x->S[n] = calloc(x->p * x->q, sizeof **x->S);
            assert_non_null(x->S[n]);
            for (size_t c = 0; c < x->p * x->q; c++)
                x->S[n][c] = (float)(2 * lth__random_uniform(&random) - 1);
        }
    }
}

static void discard(problem *x) {
    for (size_t n = 0; n < LTH__MAX_LANES; n++) {
        free(x->S[n]);
        free(x->s[n]);
        free(x->t[n]);
    }
}

/* ---- Running it ----------------------------------------------------------------------------- */

/* What the reverse pass gave: d/dS at [(j * q + k) * lanes + lane], padded rows left out. */
typedef struct result {
    const problem *x;
    size_t lanes, next; /* rows still to come: they come last first */
    double *gradient;
} result;

static void emit(void *user, size_t j, const double *row) {
    result *r = user;
    size_t width = r->x->q * r->lanes;
    assert_int_equal(j + 1, r->next);
    r->next = j;
    if (j < r->x->p) memcpy(r->gradient + j * width, row, width * sizeof *row);
}

/* All matrices in one table, each lane with offsets of its own, and a 0 for padding at the end. */
static void *table_of(const problem *x, size_t lanes, size_t real_size) {
    size_t cells = x->p * x->q;
    char *table = lth__calloc(lanes * cells + x->q, real_size);
    assert_non_null(table);
    for (size_t n = 0; n < lanes; n++) {
        for (size_t c = 0; c < cells; c++) {
            if (real_size == sizeof(float))
                ((float *)table)[n * cells + c] = (float)x->S[n][c];
            else
                ((double *)table)[n * cells + c] = x->S[n][c];
        }
    }
    return table;
}

static void interleave(const problem *x, size_t lanes, size_t rows, uint32_t *s, uint32_t *t) {
    bool exact = x->match == LTH__MATCH_EXACT;
    for (size_t n = 0; n < lanes; n++) {
        for (size_t j = 0; j < rows; j++) {
            size_t offset = j < x->p ? n * x->p * x->q + j * x->q : lanes * x->p * x->q;
            uint32_t symbol = j < x->p && exact ? x->s[n][j] : LTH__PAD_S;
            s[j * lanes + n] = exact ? symbol : (uint32_t)offset;
        }
        for (size_t k = 0; k < x->q; k++) t[k * lanes + n] = exact ? x->t[n][k] : (uint32_t)k;
    }
}

/* `only` not 0: weight 1 on that order, else those of the problem. */
static double *reverse(const problem *x, const lth__lanes *lanes, size_t only) {
    size_t rows = (x->p + LTH__ROW_STEP - 1) / LTH__ROW_STEP * LTH__ROW_STEP, count = lanes->lanes;
    double weight[MOST_ORDERS * LTH__MAX_LANES];
    for (size_t i = 0; i < x->order; i++) {
        for (size_t n = 0; n < count; n++) {
            double given = x->weight[i * LTH__MAX_LANES + n];
            weight[i * count + n] = only == 0 ? given : only == i + 1;
        }
    }
    uint32_t *s = lth__alloc(rows * count, sizeof *s), *t = lth__alloc(x->q * count, sizeof *t);
    void *table = x->match == LTH__MATCH_EXACT ? NULL : table_of(x, count, lanes->real_size);
    lth__ssk_job job = {.order = x->order,
                        .gap = x->gap,
                        .rows = rows,
                        .cols = x->q,
                        .s = s,
                        .t = t,
                        .match = x->match,
                        .table = table};
    size_t bytes = lanes->ssk_reverse_scratch(&job);
    job.scratch = lth__alloc(bytes, 1);
    result r = {x, count, rows, calloc(x->p * x->q * count + 1, sizeof *r.gradient)};
    assert_true(s && t && job.scratch && r.gradient);
    memset(job.scratch, 0xff, bytes);
    interleave(x, count, rows, s, t);
    lanes->ssk_reverse(&job, weight, emit, &r);
    assert_int_equal(r.next, 0);
    lth__free(s);
    lth__free(t);
    lth__free(table);
    lth__free(job.scratch);
    return r.gradient;
}

/* ---- What it must be ------------------------------------------------------------------------ */

/* The weighted sum of orders with S[cell] = `at`; and the size of its terms. */
static double value_with(const problem *x, size_t n, size_t cell, double at, double *scale) {
    double k[MOST_ORDERS], sizes[MOST_ORDERS], sum = 0, before = x->S[n][cell];
    reference_pair pair = {.p = x->p, .q = x->q, .S = x->S[n], .gap = x->gap, .match = 1};
    x->S[n][cell] = at;
    reference_ssk(&pair, x->order, k, NULL);
    reference_scale(&pair, x->order, sizes, NULL);
    x->S[n][cell] = before;
    *scale = 0;
    for (size_t i = 0; i < x->order; i++) {
        double weight = x->weight[i * LTH__MAX_LANES + n];
        sum += weight * k[i];
        *scale += fabs(weight) * sizes[i];
    }
    return sum;
}

static void check_cell(const problem *x, const lth__lanes *lanes, const double *gradient, size_t n,
                       size_t cell) {
    double scale, unused, tolerance = lanes->real_size == sizeof(float) ? 1e-4 : 1e-12;
    double wanted = value_with(x, n, cell, 1, &scale) - value_with(x, n, cell, 0, &unused);
    double got = gradient[cell * lanes->lanes + n];
    if (fabs(got - wanted) <= tolerance * scale) return;
    print_error("lane %zu, cell %zu: %.17g is not %.17g\n", n, cell, got, wanted);
    fail();
}

/* k_i is homogeneous of degree i: sum S dk_i/dS = i k_i. */
static void check_euler(const problem *x, const lth__lanes *lanes, double tolerance) {
    for (size_t i = 1; i <= x->order; i++) {
        double *gradient = reverse(x, lanes, i);
        for (size_t n = 0; n < lanes->lanes; n++) {
            double k[MOST_ORDERS], scale[MOST_ORDERS], sum = 0;
            reference_pair pair = {.p = x->p, .q = x->q, .S = x->S[n], .gap = x->gap, .match = 1};
            reference_ssk(&pair, x->order, k, NULL);
            reference_scale(&pair, x->order, scale, NULL);
            for (size_t c = 0; c < x->p * x->q; c++)
                sum += x->S[n][c] * gradient[c * lanes->lanes + n];
            assert_true(fabs(sum - (double)i * k[i - 1]) <=
                        tolerance * (double)i * scale[i - 1] + 1e-300);
        }
        free(gradient);
    }
}

/* ---- Tests ---------------------------------------------------------------------------------- */

/* Every cell of every lane, and Euler's identity, on every instruction set. */
static void check_everywhere(problem x, uint64_t seed) {
    pose(&x, seed);
    for (size_t i = 0; lth_isa_available(i); i++) {
        for (int precision = 0; precision < 2; precision++) {
            const lth__lanes *lanes = lth__engine_find(lth_isa_available(i))->lanes[precision];
            double *gradient = reverse(&x, lanes, 0);
            for (size_t n = 0; n < lanes->lanes; n++) {
                for (size_t c = 0; c < x.p * x.q; c++) check_cell(&x, lanes, gradient, n, c);
            }
            free(gradient);
            check_euler(&x, lanes, precision == LTH_F32 ? 1e-4 : 1e-10);
        }
    }
    discard(&x);
}

static void test_every_cell(void **state) {
    (void)state;
    static const size_t orders[] = {1, 2, 3, 5, 9};
    static const double gaps[] = {0, 0.5, 1};
    uint64_t seed = 1;
    for (size_t o = 0; o < sizeof orders / sizeof *orders; o++) {
        for (size_t g = 0; g < sizeof gaps / sizeof *gaps; g++) {
            problem x = {.p = 6 + o, .q = 8 - o, .order = orders[o], .gap = gaps[g]};
            x.match = LTH__MATCH_TABLE;
            check_everywhere(x, seed++);
            x.match = LTH__MATCH_EXACT;
            check_everywhere(x, seed++);
        }
    }
    check_everywhere((problem){.p = 1, .q = 1, .order = 4, .gap = 0.5, .match = LTH__MATCH_TABLE},
                     seed);
}

/* More rows than a band stores. Cells at its edges, and Euler's identity for the rest. */
static void test_many_rows(void **state) {
    (void)state;
    problem x = {.p = 897, .q = 61, .order = 5, .gap = 0.75, .match = LTH__MATCH_TABLE};
    pose(&x, 5);
    for (size_t i = 0; lth_isa_available(i); i++) {
        const lth__lanes *lanes = lth__engine_find(lth_isa_available(i))->lanes[LTH_F64];
        double *gradient = reverse(&x, lanes, 0);
        size_t height = (1 << 20) / (4 * x.q * lanes->lanes * sizeof(double) + 1);
        assert_true(height < 300);
        const size_t rows[] = {0, 1, height - 1, height, height + 1, 2 * height, x.p - 1};
        for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
            check_cell(&x, lanes, gradient, 0, rows[r] * x.q);
            check_cell(&x, lanes, gradient, lanes->lanes - 1, rows[r] * x.q + x.q - 1);
        }
        free(gradient);
    }
    check_euler(&x, lth__engine_find("portable")->lanes[LTH_F64], 1e-10);
    discard(&x);
}

/* Rows so wide that a band of the usual size is less than the square root of their number. */
static void test_wide_rows(void **state) {
    (void)state;
    problem x = {.p = 90, .q = 1700, .order = 9, .gap = 0.5, .match = LTH__MATCH_EXACT};
    pose(&x, 6);
    for (size_t i = 0; lth_isa_available(i); i++) {
        const lth__lanes *lanes = lth__engine_find(lth_isa_available(i))->lanes[LTH_F64];
        double *gradient = reverse(&x, lanes, 0);
        const size_t rows[] = {0, 9, 10, 88, 89};
        for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
            check_cell(&x, lanes, gradient, 1, rows[r] * x.q + 7 * r);
        free(gradient);
    }
    discard(&x);
}

static void test_no_rows(void **state) {
    (void)state;
    for (size_t i = 0; lth_isa_available(i); i++) {
        problem x = {.q = 3, .order = 3, .gap = 0.5, .match = LTH__MATCH_EXACT};
        pose(&x, 1);
        free(reverse(&x, lth__engine_find(lth_isa_available(i))->lanes[LTH_F64], 0));
        discard(&x);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_cell),
        cmocka_unit_test(test_many_rows),
        cmocka_unit_test(test_wide_rows),
        cmocka_unit_test(test_no_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
