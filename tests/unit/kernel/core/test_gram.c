/* Gram matrices: known values, the reference, and what must not change them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "fixture.h"
#include "kernel/word/words.h"
#include "reference.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const char *const cat_and_car[] = {"cat", "car"};

/* Vectors for the words a, b, c, ..., of which g and later have none. */
static const char vectors[] = "a 1 0 0.5\nb 0.9 0.3 -0.2\nc -1 0.5 0\nd 0 2 1\ne 0.1 0.1 0.1\n"
                              "f -0.3 -2 0.7\n";

/* ---- Known values --------------------------------------------------------------------------- */

static void test_cat_and_car(void **state) {
    (void)state;
    for (double l = 0.125; l <= 1; l *= 2) {
        char text[128];
        snprintf(text, sizeof text,
                 "ssk(text, units=chars, order=2, gap=$l=%g, match=$l, weights=[0,1])", l);
        fixture f = fixture_open(text, NULL);
        const lth_items *rows = fixture_encode(&f, cat_and_car, 2);
        double *K = fixture_gram(&f, rows, NULL), self = 2 * pow(l, 4) + pow(l, 6);
        const double wanted[] = {self, pow(l, 4), pow(l, 4), self};
        fixture_check_near(K, wanted, 4, 1e-15, 0);
        free(K);
        fixture_close(&f);

        snprintf(text, sizeof text,
                 "normalize(ssk(text, units=chars, order=2, gap=%g, match=%g, weights=[0,1]))", l,
                 l);
        f = fixture_open(text, NULL);
        K = fixture_gram(&f, fixture_encode(&f, cat_and_car, 2), NULL);
        double off = 1 / (2 + l * l);
        fixture_check_near(K, (const double[]){1, off, off, 1}, 4, 1e-15, 0);
        assert_true(K[0] == 1 && K[3] == 1);
        free(K);
        fixture_close(&f);
    }
}

static void test_abcab_and_bcaac(void **state) {
    (void)state;
    const char *const texts[] = {"abcab", "bcaac"};
    fixture f = fixture_open("ssk(text, units=chars, order=3, gap=0.5)", NULL);
    const lth_items *rows = fixture_encode(&f, texts, 2);
    double *K = fixture_orders(&f, rows, NULL), *sum = fixture_gram(&f, rows, NULL);
    assert_true(K[1] == 8 && K[5] == 4 && K[9] == 1.5);
    assert_true(K[2] == 8 && K[6] == 4 && K[10] == 1.5);
    assert_true(sum[1] == 13.5 && sum[2] == 13.5);
    free(K);
    free(sum);
    fixture_close(&f);
}

/* ---- Against the reference ------------------------------------------------------------------ */

/* Units of one letter each, spaces apart or not. */
static size_t letters(const char *text, uint32_t *out) {
    size_t count = 0;
    for (; *text; text++) {
        if (*text != ' ') out[count++] = (uint32_t)*text;
    }
    return count;
}

static double dot_product(const float *a, const float *b) {
    double sum = 0;
    for (int d = 0; d < 3; d++) sum += (double)a[d] * (double)b[d];
    return sum;
}

/* The similarity of two letters by their vectors. */
static double similarity(float (*v)[3], size_t known, const char *sim, uint32_t a, uint32_t b) {
    size_t i = a - 'a', j = b - 'a';
    if (strcmp(sim, "exact") == 0 || i >= known || j >= known) return a == b;
    double dot = dot_product(v[i], v[j]);
    double ii = dot_product(v[i], v[i]), jj = dot_product(v[j], v[j]);
    if (strcmp(sim, "dot") == 0) return dot;
    double cosine = a == b ? 1 : dot / sqrt(ii * jj);
    return strcmp(sim, "cosine") == 0 ? cosine : 1 - acos(cosine) / M_PI;
}

/* The numbers of `vectors`. */
static size_t read_numbers(float (*v)[3]) {
    size_t count = 0;
    int used;
    for (const char *at = vectors;
         sscanf(at, "%*s %f %f %f\n%n", &v[count][0], &v[count][1], &v[count][2], &used) == 3;
         at += used)
        count++;
    return count;
}

static void check_against_reference(const char *sim, bool words, size_t order, double gap,
                                    double match, size_t symbols, lth_dropping dropping) {
    enum { ROWS = 23, LONGEST = 30 };
    lth__random random;
    lth__random_seed(&random, order);
    char **texts = fixture_texts(&random, ROWS, LONGEST, symbols, words), kernel[160];
    snprintf(kernel, sizeof kernel, "ssk(text, units=%s, order=%zu, gap=%g, match=%g, sim=%s)",
             words ? "words" : "chars", order, gap, match, sim);
    lth_ctx_options options;
    lth_ctx_options_init(&options);
    options.dropping = dropping;
    fixture f = fixture_open(kernel, &options);
    const lth_items *rows = fixture_encode(&f, (const char *const *)texts, ROWS);
    if (strcmp(sim, "exact") != 0) fixture_vectors(&f, vectors);
    double *K = fixture_orders(&f, rows, NULL);
    float v[8][3];
    size_t known = read_numbers(v);
    for (size_t i = 0; i < ROWS; i++) {
        for (size_t j = 0; j < ROWS; j++) {
            uint32_t s[LONGEST], t[LONGEST];
            size_t p = letters(texts[i], s), q = letters(texts[j], t);
            double S[LONGEST * LONGEST], k[20], scale[20];
            for (size_t c = 0; c < p * q; c++) S[c] = similarity(v, known, sim, s[c / q], t[c % q]);
            reference_pair pair = {.p = p, .q = q, .S = S, .gap = gap, .match = match};
            reference_ssk(&pair, order, k, NULL);
            reference_scale(&pair, order, scale, NULL);
            for (size_t o = 0; o < order; o++) {
                double got = K[(o * ROWS + i) * ROWS + j];
                assert_true(fabs(got - k[o]) <= 1e-12 * scale[o]);
            }
        }
    }
    free(K);
    fixture_close(&f);
    fixture_free_texts(texts, ROWS);
}

static void test_against_reference(void **state) {
    (void)state;
    check_against_reference("exact", false, 5, 0.5, 1, 4, LTH_DROP_OFF);
    check_against_reference("exact", true, 3, 0.9, 0.7, 20, LTH_DROP_ON);
    check_against_reference("exact", true, 6, 0.3, 2, 26, LTH_DROP_AUTO);
    check_against_reference("exact", false, 12, 0, 1, 2, LTH_DROP_ON);
    check_against_reference("exact", false, 9, 1, 1, 3, LTH_DROP_ON);
    check_against_reference("dot", true, 4, 0.5, 1, 8, LTH_DROP_AUTO);
    check_against_reference("cosine", true, 5, 0.8, 0.5, 8, LTH_DROP_ON);
    check_against_reference("arccos", true, 2, 1, 1, 6, LTH_DROP_OFF);
}

/* ---- What must not change the values -------------------------------------------------------- */

static const char *const kernels[] = {
    "ssk(text, order=4)",
    "ssk(text, units=chars, order=3, gap=0.8, weights=[0.1,1,2])",
    "ssk(text, order=3, sim=cosine)",
    "ssk(text, order=3, sim=arccos)",
    "ssk(text, order=3, sim=dot)",
    "ssk(text, order=3, sim=exp, rarity=0.1)",
    "normalize(ssk(text, order=3))",
    "normalize(ssk(text, order=3, sim=dot))",
    "2 * ssk(text, order=2) + 0.5",
    "ssk(text, order=2) * ssk(text, units=chars, order=2)",
    "normalize(ssk(text, order=2) * 3 + ssk(text, sim=cosine)) * 2 + normalize(ssk(text))",
};

/* A kernel over random texts with a context of one's own. */
static double *compute(const char *kernel, const lth_ctx_options *options, char **texts,
                       size_t count, bool rectangular) {
    fixture f = fixture_open(kernel, options);
    const lth_items *rows = fixture_encode(&f, (const char *const *)texts, count), *cols = NULL;
    if (rectangular) cols = fixture_encode(&f, (const char *const *)texts, count);
    if (lth_kernel_needs_vectors(f.kernel)) fixture_vectors(&f, vectors);
    double *K = fixture_gram(&f, rows, cols);
    fixture_close(&f);
    return K;
}

/* No pivot of K + tolerance I is negative. */
static bool is_positive(const double *K, size_t n) {
    double *L = calloc(n * n, sizeof *L), largest = 0;
    assert_non_null(L);
    bool positive = true;
    for (size_t i = 0; i < n; i++) largest = fmax(largest, K[i * n + i]);
    for (size_t j = 0; j < n && positive; j++) {
        for (size_t i = j; i < n; i++) {
            double sum = K[i * n + j] + (i == j ? 1e-11 * largest : 0);
            for (size_t k = 0; k < j; k++) sum -= L[i * n + k] * L[j * n + k];
            if (i == j) positive &= sum > 0;
            L[i * n + j] = i == j ? sqrt(sum) : sum / L[j * n + j];
        }
    }
    free(L);
    return positive;
}

/* Symmetric, positive semi-definite, finite; the same however it is tiled, and on every machine. */
static void test_invariances(void **state) {
    (void)state;
    enum { N = 40 };
    lth__random random;
    lth__random_seed(&random, 3);
    char **texts = fixture_texts(&random, N, 25, 9, true), *shuffled[N];
    size_t place[N];
    for (size_t i = 0; i < N; i++) place[i] = i * 13 % N;
    for (size_t i = 0; i < N; i++) shuffled[i] = texts[place[i]];
    for (size_t k = 0; k < COUNT(kernels); k++) {
        lth_ctx_options options;
        lth_ctx_options_init(&options);
        double *K = compute(kernels[k], &options, texts, N, false), *other;
        for (size_t i = 0; i < N * N; i++) {
            assert_true(isfinite(K[i]));
            assert_true(K[i] == K[i % N * N + i / N]);
        }
        assert_true(is_positive(K, N));

        other = compute(kernels[k], &options, texts, N, true);
        fixture_check_near(other, K, N * N, 1e-12, 1e-12);
        free(other);

        other = compute(kernels[k], &options, shuffled, N, false);
        for (size_t i = 0; i < N * N; i++)
            fixture_check_near(&other[i], &K[place[i / N] * N + place[i % N]], 1, 1e-12, 1e-12);
        free(other);

        for (unsigned threads = 2; threads <= 3; threads++) {
            options.threads = threads;
            other = compute(kernels[k], &options, texts, N, false);
            assert_memory_equal(other, K, N * N * sizeof *K);
            free(other);
        }
        for (int dropping = LTH_DROP_ON; dropping <= LTH_DROP_OFF; dropping++) {
            options.dropping = (lth_dropping)dropping;
            other = compute(kernels[k], &options, texts, N, false);
            fixture_check_near(other, K, N * N, 1e-12, 1e-12);
            free(other);
        }
        for (size_t i = 0; lth_isa_available(i); i++) {
            options.isa = lth_isa_available(i);
            options.precision = LTH_F64;
            other = compute(kernels[k], &options, texts, N, false);
            fixture_check_near(other, K, N * N, 1e-12, 1e-12);
            free(other);
            options.precision = LTH_F32;
            other = compute(kernels[k], &options, texts, N, false);
            for (size_t c = 0; c < N * N; c++) {
                double scale = sqrt(K[c / N * (N + 1)] * K[c % N * (N + 1)]);
                assert_true(fabs(other[c] - K[c]) <= 1e-4 * scale);
            }
            free(other);
        }
        free(K);
    }
    fixture_free_texts(texts, N);
}

/* Enough rows for tiles of several, which cross the diagonal. */
static void test_many_rows(void **state) {
    (void)state;
    enum { N = 300 };
    lth__random random;
    lth__random_seed(&random, 4);
    char **texts = fixture_texts(&random, N, 8, 5, false);
    const char *kernel = "normalize(ssk(text, units=chars, order=3))";
    lth_ctx_options options;
    lth_ctx_options_init(&options);
    double *one = compute(kernel, &options, texts, N, false);
    options.threads = 3;
    double *three = compute(kernel, &options, texts, N, false);
    double *whole = compute(kernel, &options, texts, N, true);
    assert_memory_equal(one, three, N * N * sizeof *one);
    fixture_check_near(whole, one, N * N, 1e-12, 1e-14);
    for (size_t i = 0; i < N; i++) assert_true(one[i * N + i] == (*texts[i] ? 1 : 0));
    free(one);
    free(three);
    free(whole);
    fixture_free_texts(texts, N);
}

/* A vocabulary too large for one table: the similarities of each tile are computed for it. */
static void test_without_a_table(void **state) {
    (void)state;
    enum { N = 25 };
    static const char *const soft[] = {"ssk(text, order=3, sim=dot)", "ssk(text, sim=cosine)",
                                       "normalize(ssk(text, order=3, sim=arccos, oov=zero))",
                                       "ssk(text, sim=exp, rarity=0.01)"};
    lth__random random;
    lth__random_seed(&random, 5);
    char **texts = fixture_texts(&random, N, 20, 9, true);
    for (size_t k = 0; k < 2 * COUNT(soft); k++) {
        lth_ctx_options options;
        lth_ctx_options_init(&options);
        options.precision = k < COUNT(soft) ? LTH_F64 : LTH_F32;
        double tolerance = k < COUNT(soft) ? 1e-12 : 1e-4;
        fixture f = fixture_open(soft[k % COUNT(soft)], &options);
        const lth_items *rows = fixture_encode(&f, (const char *const *)texts, N);
        const lth_items *cols = fixture_encode(&f, (const char *const *)texts + 5, N - 5);
        fixture_vectors(&f, vectors);
        double *K = fixture_gram(&f, rows, NULL), *part = fixture_gram(&f, rows, cols);
        lth__similarity *s = lth__words_of(&f.encoder->lexicons[0])->similarities;
        assert_true(s && (s->table[LTH__SIM_VALUE] || s->table[LTH__SIM_BASIS]) && !s->next);
        for (int part_of = 0; part_of < LTH__SIM_PARTS; part_of++) {
            lth__free(s->table[part_of]);
            s->table[part_of] = NULL;
        }
        double *K2 = fixture_gram(&f, rows, NULL), *part2 = fixture_gram(&f, rows, cols);
        assert_ptr_equal(lth__words_of(&f.encoder->lexicons[0])->similarities, s);
        assert_true(!s->table[LTH__SIM_VALUE] && !s->table[LTH__SIM_BASIS]);
        fixture_check_near(K2, K, N * N, tolerance, tolerance);
        fixture_check_near(part2, part, N * (N - 5), tolerance, tolerance);
        free(K);
        free(K2);
        free(part);
        free(part2);
        fixture_close(&f);
    }
    fixture_free_texts(texts, N);
}

/* ---- Shapes --------------------------------------------------------------------------------- */

static void test_empty_texts(void **state) {
    (void)state;
    const char *const texts[] = {"", "a b", "", "b"};
    for (size_t k = 0; k < COUNT(kernels); k++) {
        fixture f = fixture_open(kernels[k], NULL);
        const lth_items *rows = fixture_encode(&f, texts, 4);
        const lth_items *none = fixture_encode(&f, texts, 0);
        const lth_items *one = fixture_encode(&f, texts + 1, 1);
        const lth_items *empty = fixture_encode(&f, texts, 1);
        if (lth_kernel_needs_vectors(f.kernel)) fixture_vectors(&f, vectors);
        double *K = fixture_gram(&f, rows, NULL), *single = fixture_gram(&f, one, NULL);
        double constant = k == 8 ? 0.5 : 0;
        for (size_t i = 0; i < 4; i++) {
            assert_true(K[i] == constant && K[i * 4] == constant);
            assert_true(K[8 + i] == constant && K[i * 4 + 2] == constant);
        }
        assert_true(K[5] > 0 && K[15] > 0);
        fixture_check_near(single, &K[5], 1, 1e-14, 0);
        free(K);
        free(single);
        K = fixture_gram(&f, empty, NULL);
        assert_true(K[0] == constant);
        free(K);
        free(fixture_gram(&f, none, NULL));
        free(fixture_gram(&f, none, rows));
        free(fixture_gram(&f, rows, none));
        fixture_close(&f);
    }
}

static void test_very_different_lengths(void **state) {
    (void)state;
    enum { LONG = 5000 };
    char *text = calloc(LONG + 1, 1);
    lth__random random;
    lth__random_seed(&random, 6);
    double counts[26] = {0}, squares = 0;
    for (size_t i = 0; i < LONG; i++) {
        size_t letter = lth__random_below(&random, 26);
        text[i] = (char)('a' + (int)letter);
        counts[letter]++;
    }
    for (size_t i = 0; i < 26; i++) squares += counts[i] * counts[i];
    const char *const texts[] = {"q", text, "", "quartz", text + LONG - 3};
    fixture f = fixture_open("ssk(text, units=chars, order=3, gap=0.5)", NULL);
    const lth_items *rows = fixture_encode(&f, texts, 5);
    double *K = fixture_orders(&f, rows, NULL);
    assert_true(K[1] == counts['q' - 'a'] && K[25 + 1] == 0);
    assert_true(K[5 + 1] == squares);
    uint32_t s[8], *t = calloc(LONG, sizeof *t);
    size_t p = letters("quartz", s), q = letters(text, t);
    double *S = reference_equality(s, p, t, q), k[3];
    reference_pair pair = {.p = p, .q = q, .S = S, .gap = 0.5, .match = 1};
    reference_ssk(&pair, 3, k, NULL);
    for (size_t o = 0; o < 3; o++) fixture_check_near(&K[o * 25 + 3 * 5 + 1], &k[o], 1, 1e-12, 0);
    free(K);
    free(S);
    free(t);
    free(text);
    fixture_close(&f);
}

/* Pairs that are both long fill the lanes by themselves. */
static void check_long_pairs(const char *sim) {
    enum { P = 2003, Q = 2050, ORDER = 3 };
    char kernel[80], *texts[2];
    snprintf(kernel, sizeof kernel, "ssk(text, order=%d, gap=0.9, sim=%s)", ORDER, sim);
    lth__random random;
    lth__random_seed(&random, 8);
    uint32_t *unit[2];
    const size_t length[2] = {P, Q};
    for (size_t i = 0; i < 2; i++) {
        texts[i] = calloc(2 * length[i] + 1, 1);
        unit[i] = calloc(length[i], sizeof *unit[i]);
        assert_true(texts[i] && unit[i]);
        for (size_t k = 0; k < length[i]; k++) {
            unit[i][k] = 'a' + (uint32_t)lth__random_below(&random, 8);
            texts[i][2 * k] = (char)unit[i][k];
            texts[i][2 * k + 1] = ' ';
        }
    }
    fixture f = fixture_open(kernel, NULL);
    const lth_items *rows = fixture_encode(&f, (const char *const *)texts, 2);
    if (strcmp(sim, "exact") != 0) fixture_vectors(&f, vectors);
    double *K = fixture_orders(&f, rows, NULL), *G = fixture_gradients(&f, rows, NULL);
    float v[8][3];
    size_t known = read_numbers(v);
    double *S = calloc(P * Q, sizeof *S), k[ORDER], slope[ORDER], scale[ORDER], sizes[ORDER];
    assert_non_null(S);
    for (size_t c = 0; c < P * Q; c++)
        S[c] = similarity(v, known, sim, unit[0][c / Q], unit[1][c % Q]);
    reference_pair pair = {.p = P, .q = Q, .S = S, .gap = 0.9, .match = 1};
    reference_ssk(&pair, ORDER, k, slope);
    reference_scale(&pair, ORDER, scale, sizes);
    double by_gap = 0, by_gap_size = 0;
    for (size_t o = 0; o < ORDER; o++) {
        assert_true(fabs(K[o * 4 + 1] - k[o]) <= 1e-12 * scale[o]);
        by_gap += slope[o];
        by_gap_size += sizes[o];
    }
    assert_true(fabs(G[1] - by_gap) <= 1e-12 * by_gap_size);
    double diagonal[2], *sum = fixture_gram(&f, rows, NULL);
    assert_int_equal(lth_gram_diagonal(f.kernel, rows, diagonal, NULL), LTH_OK);
    assert_true(diagonal[0] == sum[0] && diagonal[1] == sum[3]);
    for (size_t i = 0; i < 2; i++) {
        free(texts[i]);
        free(unit[i]);
    }
    free(S);
    free(K);
    free(G);
    free(sum);
    fixture_close(&f);
}

static void test_long_pairs(void **state) {
    (void)state;
#if defined(__SANITIZE_THREAD__)
    skip(); /* one thread computes a pair, and takes long */
#endif
    check_long_pairs("exact");
    check_long_pairs("dot");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cat_and_car),       cmocka_unit_test(test_abcab_and_bcaac),
        cmocka_unit_test(test_against_reference), cmocka_unit_test(test_invariances),
        cmocka_unit_test(test_many_rows),         cmocka_unit_test(test_without_a_table),
        cmocka_unit_test(test_empty_texts),       cmocka_unit_test(test_very_different_lengths),
        cmocka_unit_test(test_long_pairs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
