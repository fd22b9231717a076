/* approx_ssk against its definition: the string kernel of each text with each n-gram. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fixture.h"
#include "kernel/core/encode.h"

enum { MOST_GRAMS = 3000, LONGEST = 12 };

/* n-grams of texts in the order of their first occurrence, and how often each occurs. */
typedef struct grams {
    char text[MOST_GRAMS][LONGEST];
    size_t seen[MOST_GRAMS], count;
} grams;

static void count_grams(char **texts, size_t count, size_t n, grams *out) {
    out->count = 0;
    for (size_t t = 0; t < count; t++) {
        for (size_t k = 0; k + n <= strlen(texts[t]); k++) {
            size_t g = 0;
            while (g < out->count && memcmp(out->text[g], texts[t] + k, n) != 0) g++;
            if (g == out->count) {
                assert_true(g < MOST_GRAMS);
                memset(out->text[g], 0, LONGEST);
                memcpy(out->text[g], texts[t] + k, n);
                out->seen[out->count++] = 0;
            }
            out->seen[g]++;
        }
    }
}

/* The `features` most frequent (sign 1) or rarest (sign -1) come first; earlier ones before equal
 * later ones. */
static void order_grams(grams *g, size_t features, int sign) {
    for (size_t i = 0; i < features && i < g->count; i++) {
        size_t best = i;
        for (size_t k = i + 1; k < g->count; k++) {
            bool better = sign > 0 ? g->seen[k] > g->seen[best] : g->seen[k] < g->seen[best];
            if (better) best = k;
        }
        char text[LONGEST];
        size_t seen = g->seen[best];
        memcpy(text, g->text[best], LONGEST);
        memmove(g->text[i + 1], g->text[i], (best - i) * LONGEST);
        memmove(g->seen + i + 1, g->seen + i, (best - i) * sizeof *g->seen);
        memcpy(g->text[i], text, LONGEST);
        g->seen[i] = seen;
    }
    if (g->count > features) g->count = features;
}

/* K_n(text, gram) by the string kernel itself, one order alone. */
static double *string_kernels(char **texts, size_t count, const grams *g, size_t n, double gap,
                              double match) {
    char kernel[256], weights[64] = "";
    for (size_t i = 1; i < n; i++) strcat(weights, "0,");
    snprintf(kernel, sizeof kernel,
             "ssk(text, units=chars, order=%zu, gap=%.17g, match=%.17g, weights=[%s1])", n, gap,
             match, weights);
    const char *gram[MOST_GRAMS];
    for (size_t i = 0; i < g->count; i++) gram[i] = g->text[i];
    fixture f = fixture_open(kernel, NULL);
    const lth_items *rows = fixture_encode(&f, (const char *const *)texts, count);
    double *K = fixture_gram(&f, rows, fixture_encode(&f, gram, g->count));
    fixture_close(&f);
    return K;
}

static double *by_definition(char **rows, size_t n, char **cols, size_t m, const grams *g,
                             size_t order, double gap, double match) {
    double *a = string_kernels(rows, n, g, order, gap, match);
    double *b = string_kernels(cols, m, g, order, gap, match);
    double *K = calloc(n * m, sizeof *K);
    assert_non_null(K);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < m; j++) {
            for (size_t s = 0; s < g->count; s++)
                K[i * m + j] += a[i * g->count + s] * b[j * g->count + s];
        }
    }
    free(a);
    free(b);
    return K;
}

/* What gaps below 1e-100, which are taken for 0, leave out. */
static const double negligible = 1e-150;

static void test_definition(void **state) {
    (void)state;
    static const struct {
        size_t n, features;
        int sign;
        double gap, match;
        size_t longest;
    } cases[] = {
        {3, 3000, 1, 0.5, 1, 20},    {1, 4, 1, 0.5, 1, 20},     {2, 10, 1, 0.9, 0.7, 20},
        {3, 17, 1, 0.1, 1, 30},      {4, 40, 1, 0.5, 0.5, 30},  {3, 25, -1, 0.5, 1, 20},
        {5, 60, -1, 1, 1, 25},       {3, 30, 1, 0, 1, 30},      {2, 20, -1, 0, 2, 20},
        {3, 12, 1, 1e-3, 1, 300},    {6, 300, 1, 0.3, 1.1, 40}, {3, 30, 1, 0.5, 1, 900},
        {2, 3000, 1, 1e-160, 1, 40}, {4, 50, 1, 0.01, 1, 200},
    };
    enum { TRAIN = 12, OTHER = 8 };
    grams *g = malloc(sizeof *g);
    assert_non_null(g);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        lth__random random;
        lth__random_seed(&random, k + 1);
        char **train = fixture_texts(&random, TRAIN, cases[k].longest, 4, false);
        char **other = fixture_texts(&random, OTHER, cases[k].longest, 6, false);
        train[2][0] = 0;
        count_grams(train, TRAIN, cases[k].n, g);
        order_grams(g, cases[k].features, cases[k].sign);
        double gap = cases[k].gap, match = cases[k].match;
        char kernel[256];
        snprintf(kernel, sizeof kernel,
                 "approx_ssk(text, n=%zu, features=%zu, choose=%s, gap=%.17g, match=%.17g)",
                 cases[k].n, cases[k].features, cases[k].sign > 0 ? "frequent" : "rare", gap,
                 match);
        fixture f = fixture_open(kernel, NULL);
        const lth_items *rows = fixture_encode(&f, (const char *const *)train, TRAIN);
        const lth_items *cols = fixture_encode(&f, (const char *const *)other, OTHER);
        double *K = fixture_gram(&f, rows, NULL), *cross = fixture_gram(&f, rows, cols);
        double *wanted = by_definition(train, TRAIN, train, TRAIN, g, cases[k].n, gap, match);
        double *wanted_cross = by_definition(train, TRAIN, other, OTHER, g, cases[k].n, gap, match);
        fixture_check_near(K, wanted, TRAIN * TRAIN, 1e-11, negligible);
        fixture_check_near(cross, wanted_cross, TRAIN * OTHER, 1e-11, negligible);
        assert_true(K[2 * TRAIN + 2] == 0);
        double *matrices[] = {K, cross, wanted, wanted_cross};
        for (size_t i = 0; i < 4; i++) free(matrices[i]);
        fixture_close(&f);
        fixture_free_texts(train, TRAIN);
        fixture_free_texts(other, OTHER);
    }
    free(g);
}

static double *gram_of(const char *kernel, char **texts, size_t count) {
    fixture f = fixture_open(kernel, NULL);
    double *K = fixture_gram(&f, fixture_encode(&f, (const char *const *)texts, count), NULL);
    fixture_close(&f);
    return K;
}

static double alignment(const char *a, const char *b, char **texts, size_t count) {
    double *A = gram_of(a, texts, count), *B = gram_of(b, texts, count), x;
    assert_int_equal(lth_gram_align(A, B, count, false, &x, NULL), LTH_OK);
    free(A);
    free(B);
    return x;
}

/* With every n-gram present it is the contiguous kernel where nothing may be skipped, and the
 * string kernel where every sequence of n symbols occurs somewhere without a gap. */
static void test_all_grams(void **state) {
    (void)state;
    enum { TEXTS = 30 };
    lth__random random;
    lth__random_seed(&random, 8);
    char **texts = fixture_texts(&random, TEXTS, 60, 3, false);
    const char *const all = "approx_ssk(text, n=3, gap=0, match=0.8)";
    assert_true(fabs(alignment(all, "ngrams(text, n=3)", texts, TEXTS) - 1) < 1e-14);
    assert_true(
        fabs(alignment("approx_ssk(text, n=3, gap=0.5)",
                       "ssk(text, units=chars, order=3, gap=0.5, weights=[0,0,1])", texts, TEXTS) -
             1) < 1e-13);
    /* Fewer features are less alike, rare ones least. */
    const char *const exact = "normalize(ssk(text, units=chars, order=3, weights=[0,0,1]))";
    double most = alignment("normalize(approx_ssk(text, features=15))", exact, texts, TEXTS);
    double few = alignment("normalize(approx_ssk(text, features=2))", exact, texts, TEXTS);
    assert_true(most < 1 - 1e-4 && most > 0.9 && few < most);
    fixture_free_texts(texts, TEXTS);
}

static void test_random_choice(void **state) {
    (void)state;
    enum { TEXTS = 6 };
    lth__random random;
    lth__random_seed(&random, 3);
    char **texts = fixture_texts(&random, TEXTS, 50, 5, false);
    double *one = gram_of("approx_ssk(text, features=9, choose=random)", texts, TEXTS);
    double *same = gram_of("approx_ssk(text, features=9, choose=random, seed=1)", texts, TEXTS);
    double *other = gram_of("approx_ssk(text, features=9, choose=random, seed=2)", texts, TEXTS);
    double *all = gram_of("approx_ssk(text, choose=random)", texts, TEXTS);
    double *frequent = gram_of("approx_ssk(text)", texts, TEXTS);
    assert_memory_equal(one, same, TEXTS * TEXTS * sizeof *one);
    assert_memory_not_equal(one, other, TEXTS * TEXTS * sizeof *one);
    fixture_check_near(all, frequent, TEXTS * TEXTS, 1e-13, 0);
    double *matrices[] = {one, same, other, all, frequent};
    for (size_t i = 0; i < 5; i++) free(matrices[i]);
    fixture_free_texts(texts, TEXTS);
}

/* Words, symbols that the first table lacks, threads, later tables. */
static void test_words_and_threads(void **state) {
    (void)state;
    const char *const train[] = {"a b c a b", "b c c", "a a b c"}, *const other[] = {"a z b y c"};
    double *first = NULL;
    for (unsigned threads = 1; threads <= 3; threads++) {
        lth_ctx_options options;
        lth_ctx_options_init(&options);
        options.threads = threads;
        fixture f =
            fixture_open("approx_ssk(text, n=2, units=words, features=1, gap=0.5)", &options);
        const lth_items *rows = fixture_encode(&f, train, 3);
        /* "b c" is in all three, "a b" three times too, but later texts do not count: "a b" is
         * first. */
        double *K = fixture_gram(&f, rows, fixture_encode(&f, other, 1));
        fixture_check_near(K, (double[]){(1 + 1 + 0.125) * 0.5, 0, (1 + 0.5) * 0.5}, 3, 1e-14, 0);
        if (first) assert_memory_equal(first, K, 3 * sizeof *K);
        if (first)
            free(K);
        else
            first = K;
        fixture_close(&f);
    }
    free(first);
}

static void test_no_rows(void **state) {
    (void)state;
    const char *const texts[] = {"abcd", "ab"};
    fixture f = fixture_open("normalize(approx_ssk(text)) + approx_ssk(text, n=2)", NULL);
    const lth_items *none = fixture_encode(&f, texts, 0), *some = fixture_encode(&f, texts, 2);
    double *K = fixture_gram(&f, some, NULL);
    fixture_check_near(K, (double[4]){0}, 4, 0, 0); /* the first table has no n-grams */
    free(K);
    free(fixture_gram(&f, none, some));
    fixture_close(&f);
}

static void test_mistakes(void **state) {
    (void)state;
    static const struct {
        const char *kernel;
        size_t column;
        const char *message;
    } mistakes[] = {
        {"approx_ssk(text, n=0)", 20, "n of approx_ssk is a whole number from 1 to 32"},
        {"approx_ssk(text, features=0)", 27, "features of approx_ssk is a whole number from 1 to"},
        {"approx_ssk(text, choose=best)", 25,
         "choose of approx_ssk is one of frequent|rare|random"},
        {"approx_ssk(text, gap=1.5)", 22, "gap of approx_ssk is a number from 0 to 1; it is not"},
        {"approx_ssk(text, gap=$l)", 22, "gap of approx_ssk is a number from 0 to 1; it is not"},
        {"approx_ssk(text, match=-1)", 24, "match of approx_ssk is a number from 0 to 1000; it"},
        {"approx_ssk(text, order=3)", 18, "approx_ssk has no argument \"order\""},
    };
    lth_ctx *ctx = NULL;
    assert_int_equal(lth_ctx_create(NULL, &ctx, NULL), LTH_OK);
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        lth_kernel *kernel = NULL;
        lth_error err = {0};
        assert_int_equal(lth_kernel_parse(ctx, mistakes[i].kernel, &kernel, &err), LTH_EFORMAT);
        assert_int_equal(err.column, mistakes[i].column);
        assert_memory_equal(err.message, mistakes[i].message, strlen(mistakes[i].message));
    }
    lth_ctx_free(ctx);
    fixture f = fixture_open("approx_ssk(text, n=4, gap=0.25!, features=7)", NULL);
    char text[128];
    lth_kernel_print(f.kernel, text, sizeof text);
    assert_string_equal(text, "approx_ssk(text, n=4, features=7, gap=0.25)");
    assert_int_equal(lth_kernel_params(f.kernel), 0);
    fixture_close(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_definition),    cmocka_unit_test(test_all_grams),
        cmocka_unit_test(test_random_choice), cmocka_unit_test(test_words_and_threads),
        cmocka_unit_test(test_no_rows),       cmocka_unit_test(test_mistakes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
