/* Similarities of words by their vectors: values, words without a vector, tables and tiles. */
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
#include "kernel/word/similarity.h"

/* Seven words: right, up, slope, its double, left, the zero vector, and one without a vector; the
 * vocabulary has grown by an eighth since the vectors were read. */
enum { RIGHT, UP, SLOPE, DOUBLE, LEFT, ZERO, UNKNOWN, LATER, SYMBOLS };
static float values[] = {1, 0, 0, 2, 1, 1, 2, 2, -3, 0, 0, 0};
static int32_t row_of[] = {0, 1, 2, 3, 4, 5, -1};
static const lth__vectors vectors = {
    .dimension = 2, .count = 6, .values = values, .row_of = row_of, .symbols = 7};

static lth_ctx *open_context(lth_precision precision) {
    lth_ctx_options options;
    lth_ctx_options_init(&options);
    options.precision = precision;
    options.threads = 2;
    lth_ctx *ctx = NULL;
    assert_int_equal(lth_ctx_create(&options, &ctx, NULL), LTH_OK);
    return ctx;
}

static lth__similarity *create(lth_ctx *ctx, const lth__vectors *v, size_t symbols, lth__sim sim,
                               lth__oov oov) {
    lth__similarity *s = NULL;
    lth__similarity_def def = {.sim = sim, .oov = oov, .vectors = v, .symbols = symbols};
    assert_int_equal(lth__similarity_create(ctx, &def, &s, NULL), LTH_OK);
    assert_int_equal(lth__similarity_set(ctx, s, 1, 0, NULL, NULL), LTH_OK);
    assert_int_equal(s->symbols, symbols);
    assert_non_null(s->table[LTH__SIM_VALUE]);
    return s;
}

static double at(const lth__similarity *s, size_t a, size_t b) {
    size_t i = a * (s->symbols + 1) + b;
    return s->precision == LTH_F32 ? (double)((float *)s->table[LTH__SIM_VALUE])[i]
                                   : ((double *)s->table[LTH__SIM_VALUE])[i];
}

static void check_values(lth__sim sim, const double (*wanted)[SYMBOLS]) {
    for (int precision = 0; precision < 2; precision++) {
        for (int oov = LTH__OOV_EXACT; oov <= LTH__OOV_ZERO; oov++) {
            lth_ctx *ctx = open_context((lth_precision)precision);
            lth__similarity *s = create(ctx, &vectors, SYMBOLS, sim, (lth__oov)oov);
            for (size_t a = 0; a <= SYMBOLS; a++) {
                for (size_t b = 0; b <= SYMBOLS; b++) {
                    /* The last row and column are for padding. */
                    double x = a < SYMBOLS && b < SYMBOLS ? wanted[a][b] : 0;
                    if (isnan(x)) x = oov == LTH__OOV_EXACT; /* itself, without a vector */
                    double tolerance = precision == LTH_F32 ? 1e-7 : 1e-15;
                    assert_true(fabs(at(s, a, b) - x) <= tolerance);
                    assert_true(at(s, a, b) == at(s, b, a));
                    if (a == b && (x == 0 || x == 1)) assert_true(at(s, a, b) == x);
                }
            }
            lth__similarity_free(s);
            lth_ctx_free(ctx);
        }
    }
}

static void test_dot(void **state) {
    (void)state;
    /* A zero vector is a vector: it matches nothing, not even itself. */
    static const double wanted[SYMBOLS][SYMBOLS] = {
        {1, 0, 1, 2, -3, 0, 0, 0},  {0, 4, 2, 4, 0, 0, 0, 0},    {1, 2, 2, 4, -3, 0, 0, 0},
        {2, 4, 4, 8, -6, 0, 0, 0},  {-3, 0, -3, -6, 9, 0, 0, 0}, {0, 0, 0, 0, 0, 0, 0, 0},
        {0, 0, 0, 0, 0, 0, NAN, 0}, {0, 0, 0, 0, 0, 0, 0, NAN}};
    check_values(LTH__SIM_DOT, wanted);
}

static void test_cosine(void **state) {
    (void)state;
    const double h = sqrt(0.5);
    const double wanted[SYMBOLS][SYMBOLS] = {
        {1, 0, h, h, -1, 0, 0, 0},  {0, 1, h, h, 0, 0, 0, 0},    {h, h, 1, 1, -h, 0, 0, 0},
        {h, h, 1, 1, -h, 0, 0, 0},  {-1, 0, -h, -h, 1, 0, 0, 0}, {0, 0, 0, 0, 0, NAN, 0, 0},
        {0, 0, 0, 0, 0, 0, NAN, 0}, {0, 0, 0, 0, 0, 0, 0, NAN}};
    check_values(LTH__SIM_COSINE, wanted);
}

static void test_arccos(void **state) {
    (void)state;
    for (int oov = LTH__OOV_EXACT; oov <= LTH__OOV_ZERO; oov++) {
        lth_ctx *ctx = open_context(LTH_F64);
        lth__similarity *s = create(ctx, &vectors, SYMBOLS, LTH__SIM_ARCCOS, (lth__oov)oov);
        const double tolerance = 1e-15, own = oov == LTH__OOV_EXACT;
        assert_true(fabs(at(s, RIGHT, UP) - 0.5) <= tolerance);
        assert_true(fabs(at(s, RIGHT, SLOPE) - 0.75) <= tolerance);
        assert_true(fabs(at(s, LEFT, SLOPE) - 0.25) <= tolerance);
        assert_true(fabs(at(s, RIGHT, LEFT)) <= tolerance);
        /* Of two words with one direction the angle is only known to the root of the rounding. */
        assert_true(fabs(at(s, SLOPE, DOUBLE) - 1) <= 1e-7);
        for (size_t a = RIGHT; a < ZERO; a++) assert_true(at(s, a, a) == 1);
        for (size_t a = ZERO; a < SYMBOLS; a++) {
            for (size_t b = 0; b < SYMBOLS; b++) assert_true(at(s, a, b) == (a == b ? own : 0));
        }
        lth__similarity_free(s);
        lth_ctx_free(ctx);
    }
}

/* More words than one matrix product takes, with vectors whose lengths round badly. */
static void test_large_vocabulary(void **state) {
    (void)state;
    enum { WORDS = 600, DIMENSION = 7 };
    lth__random random;
    lth__random_seed(&random, 1);
    lth__vectors v = {.dimension = DIMENSION, .count = WORDS, .symbols = WORDS};
    v.values = calloc(WORDS * DIMENSION, sizeof *v.values);
    v.row_of = calloc(WORDS, sizeof *v.row_of);
    assert_true(v.values && v.row_of);
    for (size_t i = 0; i < WORDS * DIMENSION; i++)
        v.values[i] = (float)(lth__random_uniform(&random) - 0.3);
    for (size_t i = 0; i < WORDS; i++) v.row_of[i] = i % 11 == 0 ? -1 : (int32_t)(WORDS - 1 - i);
    for (lth__sim sim = LTH__SIM_DOT; sim <= LTH__SIM_ARCCOS; sim++) {
        lth_ctx *ctx = open_context(LTH_F64);
        lth__similarity *s = create(ctx, &v, WORDS, sim, LTH__OOV_EXACT);
        for (size_t i = 0; i < WORDS; i++) {
            if (sim != LTH__SIM_DOT || i % 11 == 0) assert_true(at(s, i, i) == 1);
            size_t j = i * 7 % WORDS;
            double dot = 0;
            const float *x = v.values + (WORDS - 1 - i) * DIMENSION;
            const float *y = v.values + (WORDS - 1 - j) * DIMENSION;
            for (size_t d = 0; d < DIMENSION; d++) dot += (double)x[d] * (double)y[d];
            bool known = i % 11 != 0 && j % 11 != 0;
            if (sim == LTH__SIM_DOT && known) assert_true(fabs(at(s, i, j) - dot) < 1e-14);
            if (i != j && !known) assert_true(at(s, i, j) == 0);
            if (sim != LTH__SIM_DOT) assert_true(fabs(at(s, i, j)) <= 1);
        }
        lth__similarity_free(s);
        lth_ctx_free(ctx);
    }
    free(v.values);
    free(v.row_of);
}

/* Any words in any order, into a wider matrix: the numbers of the table. */
static void test_tiles(void **state) {
    (void)state;
    enum { ROWS = 300, COLS = 270, LD = COLS + 5 };
    uint32_t a[ROWS], b[COLS];
    for (size_t i = 0; i < ROWS; i++) a[i] = (uint32_t)(i * 5 % SYMBOLS);
    for (size_t i = 0; i < COLS; i++) b[i] = (uint32_t)(i * 3 % SYMBOLS);
    for (int precision = 0; precision < 2; precision++) {
        for (lth__sim sim = LTH__SIM_DOT; sim <= LTH__SIM_ARCCOS; sim++) {
            lth_ctx *ctx = open_context((lth_precision)precision);
            lth__similarity *s = create(ctx, &vectors, SYMBOLS, sim, LTH__OOV_EXACT);
            void *out = calloc(ROWS * LD, sizeof(double));
            assert_non_null(out);
            assert_int_equal(
                lth__similarity_tile(s, LTH__SIM_VALUE, a, ROWS, b, COLS, out, LD, NULL), LTH_OK);
            for (size_t i = 0; i < ROWS * LD; i++) {
                double got = precision == LTH_F32 ? (double)((float *)out)[i] : ((double *)out)[i];
                double wanted = i % LD < COLS ? at(s, a[i / LD], b[i % LD]) : 0;
                /* One direction, two lengths: see test_arccos. */
                assert_true(fabs(got - wanted) <= (sim == LTH__SIM_ARCCOS ? 1e-7 : 1e-14));
            }
            assert_int_equal(lth__similarity_tile(s, LTH__SIM_VALUE, a, 0, b, COLS, out, LD, NULL),
                             LTH_OK);
            assert_int_equal(lth__similarity_tile(s, LTH__SIM_VALUE, a, ROWS, b, 0, out, LD, NULL),
                             LTH_OK);
            free(out);
            lth__similarity_free(s);
            lth_ctx_free(ctx);
        }
    }
}

static void test_no_words(void **state) {
    (void)state;
    const lth__vectors none = {0};
    lth_ctx *ctx = open_context(LTH_F64);
    lth__similarity *s = create(ctx, &none, 0, LTH__SIM_COSINE, LTH__OOV_EXACT);
    assert_true(at(s, 0, 0) == 0);
    lth__similarity_free(s);
    s = create(ctx, &none, 2, LTH__SIM_COSINE, LTH__OOV_EXACT);
    assert_true(at(s, 0, 0) == 1 && at(s, 0, 1) == 0 && at(s, 1, 1) == 1 && at(s, 2, 2) == 0);
    lth__similarity_free(s);
    lth__similarity_free(NULL);
    lth_ctx_free(ctx);
}

/* ---- A relevance for each dimension ---- */

static lth__similarity *create_weighed(lth_ctx *ctx, lth__sim sim) {
    static const double frequency[SYMBOLS] = {0.3, 0.1, 0.1, 0.2, 0.1, 0.1, 0.05, 0.05};
    lth__similarity *s = NULL;
    lth__similarity_def def = {.sim = sim,
                               .vectors = &vectors,
                               .symbols = SYMBOLS,
                               .frequency = frequency,
                               .frequencies = SYMBOLS,
                               .centre_rows = vectors.count,
                               .learns_temperature = sim == LTH__SIM_EXP,
                               .uses_rarity = true,
                               .weighs_dimensions = true};
    assert_int_equal(lth__similarity_create(ctx, &def, &s, NULL), LTH_OK);
    return s;
}

static const lth__sim weighed[] = {LTH__SIM_DOT, LTH__SIM_COSINE, LTH__SIM_EXP};

/* As if the vectors had been multiplied by the roots; and again after other weights. */
static void test_relevance(void **state) {
    (void)state;
    const double relevance[] = {0.25, 4}, others[] = {0.3, 0.9};
    float multiplied[sizeof values / sizeof *values];
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        multiplied[i] = values[i] * (i % 2 == 0 ? 0.5F : 2.0F);
    lth__vectors v = vectors;
    v.values = multiplied;
    for (size_t k = 0; k < sizeof weighed / sizeof *weighed; k++) {
        lth_ctx *ctx = open_context(LTH_F64);
        lth__similarity *s = create_weighed(ctx, weighed[k]), *wanted = NULL;
        lth__similarity_def def = {
            .sim = weighed[k], .vectors = &v, .symbols = SYMBOLS, .centre_rows = v.count};
        assert_int_equal(lth__similarity_create(ctx, &def, &wanted, NULL), LTH_OK);
        assert_int_equal(lth__similarity_set(ctx, wanted, 0.8, 0, NULL, NULL), LTH_OK);
        /* So rare that all words weigh 1, up to rounding. */
        for (int round = 0; round < 2; round++) {
            assert_int_equal(lth__similarity_set(ctx, s, 0.8, 1e20, relevance, NULL), LTH_OK);
            for (size_t a = 0; a < SYMBOLS; a++) {
                for (size_t b = 0; b < SYMBOLS; b++)
                    assert_true(fabs(at(s, a, b) - at(wanted, a, b)) <= 1e-14);
            }
            assert_true(lth__similarity_is_at(s, 0.8, 1e20, relevance));
            assert_false(lth__similarity_is_at(s, 0.8, 1e20, others));
            assert_int_equal(lth__similarity_set(ctx, s, 0.8, 1e20, others, NULL), LTH_OK);
            assert_true(fabs(at(s, RIGHT, SLOPE) - at(wanted, RIGHT, SLOPE)) > 1e-3);
        }
        lth__similarity_free(s);
        lth__similarity_free(wanted);
        lth_ctx_free(ctx);
    }
}

enum { PULL_ROWS = 300, PULL_COLS = 270 };

static double weighted_sum(lth_ctx *ctx, lth__similarity *s, const double *theta, const uint32_t *a,
                           const uint32_t *b, const double *G) {
    double sum = 0;
    assert_int_equal(lth__similarity_set(ctx, s, theta[0], theta[1], theta + 2, NULL), LTH_OK);
    for (size_t i = 0; i < PULL_ROWS * PULL_COLS; i++)
        sum += G[i] * at(s, a[i / PULL_COLS], b[i % PULL_COLS]);
    return sum;
}

/* More words than one square, against differences of sum G S. */
static void test_relevance_pull(void **state) {
    (void)state;
    uint32_t a[PULL_ROWS], b[PULL_COLS];
    for (size_t i = 0; i < PULL_ROWS; i++) a[i] = (uint32_t)(i * 5 % SYMBOLS);
    for (size_t i = 0; i < PULL_COLS; i++) b[i] = (uint32_t)(i * 3 % SYMBOLS);
    lth__random random;
    lth__random_seed(&random, 4);
    double *G = calloc(PULL_ROWS * PULL_COLS, sizeof *G);
    double *S = calloc(PULL_ROWS * PULL_COLS, sizeof *S);
    assert_true(G && S);
    for (size_t i = 0; i < PULL_ROWS * PULL_COLS; i++) G[i] = lth__random_uniform(&random) - 0.4;
    for (size_t k = 0; k < sizeof weighed / sizeof *weighed; k++) {
        double theta[] = {0.7, 0.2, 0.5, 1.6}, relevance[2] = {0};
        lth__similarity_slopes got = {.relevance = relevance};
        lth_ctx *ctx = open_context(LTH_F64);
        lth__similarity *s = create_weighed(ctx, weighed[k]);
        weighted_sum(ctx, s, theta, a, b, G);
        assert_int_equal(
            lth__similarity_tile(s, LTH__SIM_VALUE, a, PULL_ROWS, b, PULL_COLS, S, PULL_COLS, NULL),
            LTH_OK);
        assert_int_equal(
            lth__similarity_pull(s, a, PULL_ROWS, b, PULL_COLS, S, G, PULL_COLS, &got, NULL),
            LTH_OK);
        const double slope[] = {got.temperature, got.rarity, relevance[0], relevance[1]};
        for (size_t p = 0; p < 4; p++) {
            double h = 1e-5, kept = theta[p], sum[2];
            for (int side = 0; side < 2; side++) {
                theta[p] = kept + (side == 0 ? h : -h);
                sum[side] = weighted_sum(ctx, s, theta, a, b, G);
            }
            theta[p] = kept;
            double wanted = (sum[0] - sum[1]) / (2 * h);
            assert_true(fabs(slope[p] - wanted) <= 1e-7 * fabs(wanted) + 1e-6);
        }
        lth__similarity_free(s);
        lth_ctx_free(ctx);
    }
    free(G);
    free(S);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dot),       cmocka_unit_test(test_cosine),
        cmocka_unit_test(test_arccos),    cmocka_unit_test(test_large_vocabulary),
        cmocka_unit_test(test_tiles),     cmocka_unit_test(test_no_words),
        cmocka_unit_test(test_relevance), cmocka_unit_test(test_relevance_pull),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
