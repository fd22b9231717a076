/* Sparse feature maps against naive counting: strings compared one by one. */
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
#include "kernel/core/gram.h"

/* ---- By definition -------------------------------------------------------------------------- */

/* Tuples of units of one text; units are single letters, with or without spaces between. */
typedef struct bag {
    char gram[400][8];
    double count[400];
    size_t size;
} bag;

typedef enum weighting { COUNT, PRESENCE, LOG } weighting;

typedef struct map {
    size_t from, to;
    weighting weighting;
    bool idf;
    double min_count;
    bool intersect;
} map;

static void add_gram(bag *b, const char *gram, double count) {
    for (size_t i = 0; i < b->size; i++) {
        if (strcmp(b->gram[i], gram) != 0) continue;
        b->count[i] += count;
        return;
    }
    assert_true(b->size < 400);
    strcpy(b->gram[b->size], gram);
    b->count[b->size++] = count;
}

static double count_of(const bag *b, const char *gram) {
    for (size_t i = 0; i < b->size; i++) {
        if (strcmp(b->gram[i], gram) == 0) return b->count[i];
    }
    return 0;
}

static void count_text(const char *text, const map *m, bag *out) {
    char unit[200];
    size_t length = 0;
    for (; *text; text++) {
        if (*text != ' ') unit[length++] = *text;
    }
    out->size = 0;
    for (size_t k = 0; k < length; k++) {
        for (size_t n = m->from; n <= m->to && k + n <= length; n++) {
            char gram[8] = {0};
            memcpy(gram, unit + k, n);
            add_gram(out, gram, 1);
        }
    }
}

/* Occurrences and rows of every gram of the training texts. */
typedef struct corpus {
    bag seen, rows_with;
    double rows;
} corpus;

static void learn(char **texts, size_t count, const map *m, corpus *out) {
    bag b;
    *out = (corpus){.rows = (double)count};
    for (size_t i = 0; i < count; i++) {
        count_text(texts[i], m, &b);
        for (size_t g = 0; g < b.size; g++) {
            add_gram(&out->seen, b.gram[g], b.count[g]);
            add_gram(&out->rows_with, b.gram[g], 1);
        }
    }
}

static double weight_of(const corpus *c, const map *m, const char *gram, double count) {
    if (count == 0 || fmax(count_of(&c->seen, gram), 1) < m->min_count) return 0;
    double weight = m->weighting == COUNT ? count : m->weighting == LOG ? 1 + log(count) : 1;
    if (m->idf) weight *= log((1 + c->rows) / (1 + count_of(&c->rows_with, gram))) + 1;
    return weight;
}

static double *naive(const corpus *c, const map *m, char **rows, size_t n, char **cols, size_t k) {
    double *K = calloc(n * k, sizeof *K);
    bag *a = malloc(sizeof *a), *b = malloc(sizeof *b);
    assert_true(K && a && b);
    for (size_t i = 0; i < n; i++) {
        count_text(rows[i], m, a);
        for (size_t j = 0; j < k; j++) {
            count_text(cols[j], m, b);
            for (size_t g = 0; g < a->size; g++) {
                double x = weight_of(c, m, a->gram[g], a->count[g]);
                double y = weight_of(c, m, a->gram[g], count_of(b, a->gram[g]));
                K[i * k + j] += m->intersect ? fmin(x, y) : x * y;
            }
        }
    }
    free(a);
    free(b);
    return K;
}

/* ---- Every argument ------------------------------------------------------------------------- */

static const struct {
    const char *kernel;
    map map;
    bool spaced;
} cases[] = {
    {"linear(bow(text))", {1, 1, COUNT, false, 1, false}, true},
    {"linear(bow(text, units=tokens, weighting=count))", {1, 1, COUNT, false, 1, false}, true},
    {"bow(text, weighting=presence)", {1, 1, PRESENCE, false, 1, false}, true},
    {"bow(text, weighting=log, min_count=3)", {1, 1, LOG, false, 3, false}, true},
    {"bow(text, units=chars, min_count=40)", {1, 1, COUNT, false, 40, false}, false},
    {"linear(tfidf(text))", {1, 1, COUNT, true, 1, false}, true},
    {"tfidf(text, weighting=presence, min_count=2)", {1, 1, PRESENCE, true, 2, false}, true},
    {"tfidf(text, units=bytes, weighting=log)", {1, 1, LOG, true, 1, false}, false},
    {"linear(ngrams(text))", {3, 3, COUNT, false, 1, false}, false},
    {"linear(ngrams(text, n=3, units=chars))", {3, 3, COUNT, false, 1, false}, false},
    {"ngrams(text, n=1)", {1, 1, COUNT, false, 1, false}, false},
    {"ngrams(text, n=2, units=words)", {2, 2, COUNT, false, 1, false}, true},
    {"ngrams(text, n=[1,4])", {1, 4, COUNT, false, 1, false}, false},
    {"ngrams(text, n=[2,2], weighting=log)", {2, 2, LOG, false, 1, false}, false},
    {"ngrams(text, n=[2,4], units=tokens, weighting=presence)",
     {2, 4, PRESENCE, false, 1, false},
     true},
    {"ngrams(text, n=[1,3], min_count=5, units=bytes)", {1, 3, COUNT, false, 5, false}, false},
    {"ngrams(text, n=[1,2], idf=yes, weighting=log)", {1, 2, LOG, true, 1, false}, false},
    {"ngrams(text, n=2, idf=no)", {2, 2, COUNT, false, 1, false}, false},
    {"intersection(ngrams(text, n=[1,3]))", {1, 3, COUNT, false, 1, true}, false},
    {"intersection(bow(text, weighting=presence))", {1, 1, PRESENCE, false, 1, true}, true},
    {"linear(intersection(tfidf(text, min_count=2)))", {1, 1, COUNT, true, 2, true}, true},
    {"intersection(ngrams(text, n=2, weighting=log, idf=yes))", {2, 2, LOG, true, 1, true}, false},
};
enum { CASES = sizeof cases / sizeof *cases, TRAIN = 40, OTHER = 25 };

static void check_case(size_t k) {
    lth__random random;
    lth__random_seed(&random, k + 1);
    /* Few letters, so that grams meet; the second table has some that the first does not. */
    char **train = fixture_texts(&random, TRAIN, 14, 6, cases[k].spaced);
    char **other = fixture_texts(&random, OTHER, 14, 9, cases[k].spaced);
    train[0][0] = other[1][0] = 0;
    const map *m = &cases[k].map;
    corpus *c = malloc(sizeof *c);
    assert_non_null(c);
    learn(train, TRAIN, m, c);
    fixture f = fixture_open(cases[k].kernel, NULL);
    const lth_items *rows = fixture_encode(&f, (const char *const *)train, TRAIN);
    double *before = fixture_gram(&f, rows, NULL);
    const lth_items *cols = fixture_encode(&f, (const char *const *)other, OTHER);
    double *K = fixture_gram(&f, rows, NULL), *cross = fixture_gram(&f, rows, cols);
    double *others = fixture_gram(&f, cols, NULL);
    double *wanted = naive(c, m, train, TRAIN, train, TRAIN);
    double *wanted_cross = naive(c, m, train, TRAIN, other, OTHER);
    double *wanted_others = naive(c, m, other, OTHER, other, OTHER), diagonal[TRAIN];
    fixture_check_near(K, wanted, TRAIN * TRAIN, 1e-13, 0);
    fixture_check_near(cross, wanted_cross, TRAIN * OTHER, 1e-13, 0);
    fixture_check_near(others, wanted_others, OTHER * OTHER, 1e-13, 0);
    assert_memory_equal(before, K, TRAIN * TRAIN * sizeof *K); /* later tables change nothing */
    assert_int_equal(lth_gram_diagonal(f.kernel, rows, diagonal, NULL), LTH_OK);
    double largest = 0;
    for (size_t i = 0; i < TRAIN; i++) {
        fixture_check_near(&diagonal[i], &K[i * TRAIN + i], 1, 1e-15, 0);
        largest = fmax(largest, diagonal[i]);
    }
    assert_true(largest > 0 && diagonal[0] == 0);
    double *matrices[] = {before, K, cross, others, wanted, wanted_cross, wanted_others};
    for (size_t i = 0; i < sizeof matrices / sizeof *matrices; i++) free(matrices[i]);
    free(c);
    fixture_close(&f);
    fixture_free_texts(train, TRAIN);
    fixture_free_texts(other, OTHER);
}

static void test_naive_counting(void **state) {
    (void)state;
    for (size_t k = 0; k < CASES; k++) check_case(k);
}

/* ---- Known values --------------------------------------------------------------------------- */

static void check_values(const char *kernel, const char *const *texts, size_t count,
                         const double *wanted) {
    fixture f = fixture_open(kernel, NULL);
    double *K = fixture_gram(&f, fixture_encode(&f, texts, count), NULL);
    fixture_check_near(K, wanted, count * count, 1e-15, 0);
    free(K);
    fixture_close(&f);
}

static void test_units(void **state) {
    (void)state;
    const char *const texts[] = {"Hello, hello", "hello Hello ,"};
    check_values("bow(text)", texts, 2, (double[]){2, 2, 2, 5}); /* "hello," is a word */
    check_values("bow(text, lower=no)", texts, 2, (double[]){2, 1, 1, 3});
    check_values("bow(text, units=tokens)", texts, 2, (double[]){5, 5, 5, 5});
    check_values("bow(text, units=tokens, lower=no)", texts, 2, (double[]){3, 3, 3, 3});
    const char *const accents[] = {"\xC3\xA4\xC3\xB6\xC3\xA4", "\xC3\xB6\xC3\xA4"};
    check_values("ngrams(text, n=2)", accents, 2, (double[]){2, 1, 1, 1});
    check_values("ngrams(text, n=2, units=bytes)", accents, 2, (double[]){7, 4, 4, 3});
    check_values("bow(text, units=chars)", accents, 2, (double[]){5, 3, 3, 2});
    const char *const cases_[] = {"aA", "aa"};
    check_values("ngrams(text, n=1)", cases_, 2, (double[]){2, 2, 2, 4});
    check_values("ngrams(text, n=1, lower=yes)", cases_, 2, (double[]){4, 4, 4, 4});
    check_values("ngrams(text, n=32)", cases_, 2, (double[]){0, 0, 0, 0});
}

static void test_weights(void **state) {
    (void)state;
    const char *const texts[] = {"a a a b", "a c"};
    double l = 1 + log(3), rare = log(3.0 / 2) + 1;
    check_values("bow(text)", texts, 2, (double[]){10, 3, 3, 2});
    check_values("bow(text, weighting=log)", texts, 2, (double[]){l * l + 1, l, l, 2});
    check_values("bow(text, weighting=presence)", texts, 2, (double[]){2, 1, 1, 2});
    check_values("bow(text, min_count=2)", texts, 2, (double[]){9, 3, 3, 1});
    check_values("bow(text, min_count=5)", texts, 2, (double[]){0, 0, 0, 0});
    check_values("tfidf(text)", texts, 2, (double[]){9 + rare * rare, 3, 3, 1 + rare * rare});
}

static void test_intersection(void **state) {
    (void)state;
    const char *const texts[] = {"a a a b", "a a c", ""};
    check_values("intersection(bow(text))", texts, 3, (double[]){4, 2, 0, 2, 3, 0, 0, 0, 0});
    double n = 2 / sqrt(12);
    check_values("normalize(intersection(bow(text)))", texts, 3,
                 (double[]){1, n, 0, n, 1, 0, 0, 0, 0});
    check_values(
        "intersection(bow(text)) * bow(text) + intersection(ngrams(text, units=words, n=2))", texts,
        3, (double[]){40 + 3, 12 + 1, 0, 12 + 1, 15 + 2, 0, 0, 0, 0});
}

/* A word that the first table lacks has df 0, and is left out from min_count=2 on. */
static void test_unseen(void **state) {
    (void)state;
    const char *const train[] = {"a b", "a"}, *const other[] = {"z a"};
    for (int min_count = 1; min_count <= 2; min_count++) {
        char kernel[64];
        snprintf(kernel, sizeof kernel, "tfidf(text, min_count=%d)", min_count);
        fixture f = fixture_open(kernel, NULL);
        fixture_encode(&f, train, 2);
        double *K = fixture_gram(&f, fixture_encode(&f, other, 1), NULL), idf = log(3) + 1;
        double wanted = 1 + (min_count == 1 ? idf * idf : 0);
        fixture_check_near(K, &wanted, 1, 1e-15, 0);
        free(K);
        fixture_close(&f);
    }
}

/* ---- Many tiles, threads, parts of items ---------------------------------------------------- */

static void test_many_rows(void **state) {
    (void)state;
    enum { MANY = 1100 };
    lth__random random;
    lth__random_seed(&random, 3);
    char **texts = fixture_texts(&random, MANY, 20, 26, true);
    double *first = NULL;
    for (unsigned threads = 1; threads <= 3; threads++) {
        lth_ctx_options options;
        lth_ctx_options_init(&options);
        options.threads = threads;
        fixture f = fixture_open("ngrams(text, n=[1,2], units=words)", &options);
        double *K = fixture_gram(&f, fixture_encode(&f, (const char *const *)texts, MANY), NULL);
        if (first) assert_memory_equal(first, K, MANY * MANY * sizeof *K);
        fixture_close(&f);
        if (first)
            free(K);
        else
            first = K;
    }
    static const size_t sample[] = {0, 1, 95, 96, 500, 1023, 1024, 1099};
    enum { SAMPLE = sizeof sample / sizeof *sample };
    char *few[SAMPLE];
    for (size_t i = 0; i < SAMPLE; i++) few[i] = texts[sample[i]];
    const map m = {1, 2, COUNT, false, 1, false};
    corpus none = {.rows = 0};
    double *wanted = naive(&none, &m, few, SAMPLE, few, SAMPLE);
    for (size_t i = 0; i < SAMPLE; i++) {
        for (size_t j = 0; j < SAMPLE; j++)
            assert_true(first[sample[i] * MANY + sample[j]] == wanted[i * SAMPLE + j]);
    }
    free(wanted);
    free(first);
    fixture_free_texts(texts, MANY);
}

static void test_parts_of_items(void **state) {
    (void)state;
    const char *const texts[] = {"a b", "", "b b c", "a c c", "b"};
    fixture f = fixture_open("linear(tfidf(text)) + ngrams(text, n=[1,2])", NULL);
    const lth_items *items = fixture_encode(&f, texts, 5);
    double *K = fixture_gram(&f, items, NULL);
    lth_items *slice = NULL, *picked = NULL;
    const size_t pick[] = {4, 1, 2};
    assert_int_equal(lth__items_slice(items, 1, 3, &slice, NULL), LTH_OK);
    assert_int_equal(lth__items_pick(items, pick, 3, &picked, NULL), LTH_OK);
    double part[9];
    assert_int_equal(lth_gram(f.kernel, slice, picked, part, 3, NULL), LTH_OK);
    for (size_t i = 0; i < 3; i++) {
        for (size_t j = 0; j < 3; j++)
            assert_true(fabs(part[i * 3 + j] - K[(i + 1) * 5 + pick[j]]) < 1e-14);
    }
    lth_items_free(slice);
    lth_items_free(picked);
    free(K);
    fixture_close(&f);
}

static void test_no_rows(void **state) {
    (void)state;
    const char *const texts[] = {"a b", ""};
    fixture f = fixture_open("rbf(tfidf(text)) + linear(ngrams(text, n=2))", NULL);
    const lth_items *none = fixture_encode(&f, texts, 0), *some = fixture_encode(&f, texts, 2);
    free(fixture_gram(&f, none, NULL));
    free(fixture_gram(&f, none, some));
    double *K = fixture_gram(&f, some, NULL);
    assert_true(K[0] == 1 + 2 && K[1] < 1 && K[3] == 1);
    free(K);
    fixture_close(&f);
}

/* What a table that fails leaves behind is not taken for the first one. */
static void test_first_table_fails(void **state) {
    (void)state;
    const char *const texts[] = {"a", "a b"};
    fixture f = fixture_open("tfidf(text)", NULL);
    lth_table *bad = NULL;
    lth_items *items = NULL;
    assert_int_equal(lth_table_from_texts(f.ctx, "other", texts, NULL, 2, &bad, NULL), LTH_OK);
    assert_int_equal(lth_encode(f.encoder, bad, &items, NULL), LTH_EFORMAT);
    assert_null(items);
    lth_table_free(bad);
    double *K = fixture_gram(&f, fixture_encode(&f, texts, 2), NULL), idf = log(1.5) + 1;
    fixture_check_near(K, (double[]){1, 1, 1, 1 + idf * idf}, 4, 1e-15, 0);
    free(K);
    fixture_close(&f);
}

/* ---- Expressions ---------------------------------------------------------------------------- */

static void test_mistakes(void **state) {
    (void)state;
    static const struct {
        const char *kernel;
        size_t column;
        const char *message;
    } mistakes[] = {
        {"ngrams(text, n=0)", 16, "n of ngrams is a whole number from 1 to 32, or a range such"},
        {"ngrams(text, n=33)", 16, "n of ngrams is"},
        {"ngrams(text, n=2.5)", 16, "n of ngrams is"},
        {"ngrams(text, n=$a=2)", 16, "n of ngrams is"},
        {"ngrams(text, n=two)", 16, "n of ngrams is"},
        {"ngrams(text, n=[2])", 16, "n of ngrams is"},
        {"ngrams(text, n=[1,2,3])", 16, "n of ngrams is"},
        {"ngrams(text, n=[4,2])", 16, "n of ngrams is"},
        {"ngrams(text, n=[0,2])", 16, "n of ngrams is"},
        {"ngrams(text, n=[1,33])", 16, "n of ngrams is"},
        {"ngrams(text, n=[a,2])", 16, "n of ngrams is"},
        {"bow(text, n=2)", 11, "bow has no argument \"n\""},
        {"bow(text, min_count=0)", 21, "min_count of bow is a whole number from 1 to 1000000000"},
        {"tfidf(text, weighting=idf)", 23, "weighting of tfidf is one of count|presence|log"},
        {"tfidf(text, units=letters)", 19, "units of tfidf is one of words|tokens|chars|bytes"},
        {"bow(f1..f3)", 5, "bow works on one column, not on a range"},
        {"bow(bow(text))", 5, "bow works on a column, not on a kernel"},
        {"bow(text, idf=yes)", 11, "bow has no argument \"idf\""},
        {"ngrams(text, idf=1)", 18, "idf of ngrams is one of no|yes"},
        {"intersection(text)", 14, "intersection works on a kernel, not on a column"},
        {"intersection(ssk(text))", 14, "intersection works on a sparse feature map (bow, tfidf"},
        {"intersection(linear(bow(text)))", 14, "intersection works on a sparse feature map"},
        {"intersection(mean(text))", 14, "intersection works on a sparse feature map"},
        {"intersection(2 * bow(text))", 14, "intersection works on a sparse feature map"},
        {"intersection(bag(text))", 14, "unknown kernel \"bag\""},
        {"intersection(bow(text), n=2)", 25, "intersection has no argument \"n\""},
    };
    lth_ctx *ctx = NULL;
    assert_int_equal(lth_ctx_create(NULL, &ctx, NULL), LTH_OK);
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        lth_kernel *kernel = NULL;
        lth_error err = {0};
        assert_int_equal(lth_kernel_parse(ctx, mistakes[i].kernel, &kernel, &err), LTH_EFORMAT);
        assert_null(kernel);
        assert_int_equal(err.column, mistakes[i].column);
        assert_memory_equal(err.message, mistakes[i].message, strlen(mistakes[i].message));
    }
    lth_ctx_free(ctx);
}

static void test_printing(void **state) {
    (void)state;
    static const char *const kernels[] = {
        "linear(bow(text))",
        "bow(text, units=tokens, lower=no, min_count=2, weighting=log)",
        "rbf(tfidf(text), lengthscale=2)",
        "linear(ngrams(text, n=[2,4], units=words))",
        "ngrams(text, n=3)",
        "normalize(intersection(ngrams(text, n=[5,8], idf=yes)))",
    };
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        char text[128];
        fixture f = fixture_open(kernels[i], NULL);
        lth_kernel_print(f.kernel, text, sizeof text);
        assert_string_equal(text, kernels[i]);
        assert_false(lth_kernel_needs_vectors(f.kernel));
        fixture_close(&f);
    }
    fixture f = fixture_open("bow(text)", NULL);
    assert_int_equal(lth_kernel_params(f.kernel), 0);
    fixture_close(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_naive_counting),
        cmocka_unit_test(test_units),
        cmocka_unit_test(test_weights),
        cmocka_unit_test(test_intersection),
        cmocka_unit_test(test_unseen),
        cmocka_unit_test(test_many_rows),
        cmocka_unit_test(test_parts_of_items),
        cmocka_unit_test(test_no_rows),
        cmocka_unit_test(test_first_table_fails),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_printing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
