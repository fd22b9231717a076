/* Tables from memory: columns of texts, numbers and vectors, what kernels and models make of them,
 * and what they refuse. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/table.h"
#include "fixture.h"
#include "gp_support.h"
#include "kernel/core/encode.h"

static lth_ctx *ctx;

static int open_context(void **state) {
    (void)state;
    ctx = support_context(2);
    return 0;
}

static int close_context(void **state) {
    (void)state;
    lth_ctx_free(ctx);
    return 0;
}

static lth_table *make(const lth_column *columns, size_t count, size_t rows) {
    lth_error err = {0};
    lth_table *table = NULL;
    support_ok(lth_table_from_columns(ctx, columns, sizeof *columns, count, rows, &table, &err),
               &err);
    return table;
}

static void check_error(const lth_error *err, lth_status status, size_t line, const char *message) {
    assert_string_equal(err->message, message);
    assert_int_equal(err->status, status);
    assert_int_equal(err->line, line);
    assert_string_equal(err->file, "");
}

/* ---- Storage ---- */

static void check_cell(const lth_table *t, size_t row, size_t column, const char *text) {
    size_t length = 99;
    const char *cell = lth_table_cell(t, row, column, &length);
    assert_non_null(cell);
    assert_int_equal(length, strlen(text));
    assert_memory_equal(cell, text, length);
}

static void test_columns_of_every_kind(void **state) {
    (void)state;
    const char *a[] = {"one", "", "three"}, *b[] = {"uno...", "dos!", "tres?"};
    const size_t length[] = {3, 3, 4};
    const double numbers[] = {1, -1, 2, -2, 3, -3};
    const float x[] = {1, 2, 3, 4}, *vectors[] = {x, NULL, x + 2};
    const size_t units[] = {2, 0, 1};
    lth_column columns[] = {
        {.name = "n", .numbers = numbers + 1, .stride = 2},
        {.name = "a", .text = a},
        {.name = "v", .vectors = vectors, .units = units, .dimension = 2},
        {.name = "b", .text = b, .length = length},
        {.name = "m", .numbers = numbers},
    };
    lth_table *t = make(columns, 5, 3);
    assert_int_equal(lth_table_rows(t), 3);
    assert_int_equal(lth_table_columns(t), 5);
    assert_int_equal(lth_table_find(t, "b"), 3);
    assert_string_equal(lth_table_column_name(t, 2), "v");
    assert_string_equal(lth_table_name(t), "");
    check_cell(t, 0, 1, "one");
    check_cell(t, 1, 1, "");
    check_cell(t, 2, 3, "tres");
    check_cell(t, 1, 3, "dos");
    size_t nothing = 99;
    assert_null(lth_table_cell(t, 0, 0, &nothing));
    assert_int_equal(nothing, 0);
    assert_null(lth_table_cell(t, 0, 2, NULL));
    assert_int_equal(lth_table_line(t, 2), 3);
    assert_int_equal(lth_table_number(t, 2), 3);
    double value = 0;
    assert_int_equal(lth__table_number(t, 2, 0, &value, NULL), LTH_OK);
    assert_true(value == -3);
    assert_int_equal(lth__table_number(t, 2, 4, &value, NULL), LTH_OK);
    assert_true(value == 2);
    lth_table_free(t);
}

static void test_tables_without_rows_or_texts(void **state) {
    (void)state;
    const double none[1] = {0};
    lth_table *t = make(&(lth_column){.name = "n", .numbers = none}, 1, 0);
    assert_int_equal(lth_table_rows(t), 0);
    lth_table_free(t);

    double *many = calloc(100000, sizeof *many);
    many[99999] = INFINITY;
    t = make(&(lth_column){.name = "n", .numbers = many}, 1, 100000);
    assert_int_equal(lth_table_line(t, 99999), 100000);
    lth_error err = {0};
    double value;
    assert_int_equal(lth__table_number(t, 99999, 0, &value, &err), LTH_EFORMAT);
    check_error(&err, LTH_EFORMAT, 100000, "inf in column \"n\" is not a finite number");
    assert_int_equal(lth__table_number(t, 100000, 0, &value, &err), LTH_EARG);
    lth_table_free(t);
    free(many);
}

static void refuse(const lth_column *columns, size_t count, size_t rows, lth_status status,
                   size_t line, const char *message) {
    lth_error err = {0};
    lth_table *table = NULL;
    assert_int_equal(
        lth_table_from_columns(ctx, columns, sizeof *columns, count, rows, &table, &err), status);
    check_error(&err, status, line, message);
    assert_null(table);
    assert_int_equal(
        lth_table_from_columns(ctx, columns, sizeof *columns, count, rows, &table, NULL), status);
}

static void test_columns_that_are_refused(void **state) {
    (void)state;
    const char *text[] = {"a", NULL}, *bad[] = {"a", "ab\xff"};
    const double n[] = {1, 2};
    const float x[] = {1, 2}, *vectors[] = {x, NULL};
    const size_t units[] = {1, 1};
    refuse(NULL, 1, 0, LTH_EARG, 0, "a table needs a column and a place to go");
    refuse(&(lth_column){.name = "a"}, 0, 0, LTH_EARG, 0,
           "a table needs a column and a place to go");
    refuse((lth_column[]){{.name = "a", .numbers = n}, {.numbers = n}}, 2, 2, LTH_EARG, 0,
           "column 2 has no name");
    refuse(&(lth_column){.name = "", .numbers = n}, 1, 2, LTH_EARG, 0, "column 1 has no name");
    refuse(&(lth_column){.name = "\xff", .numbers = n}, 1, 2, LTH_EFORMAT, 0,
           "the name of column 1 is not valid UTF-8");
    refuse((lth_column[]){{.name = "a", .numbers = n}, {.name = "a", .text = text}}, 2, 1, LTH_EARG,
           0, "two columns are called \"a\"");
    refuse(&(lth_column){.name = "a"}, 1, 2, LTH_EARG, 0,
           "column \"a\" must have one of text, numbers and vectors, but has none");
    refuse(&(lth_column){.name = "a", .text = text, .numbers = n}, 1, 1, LTH_EARG, 0,
           "column \"a\" must have one of text, numbers and vectors, not several");
    refuse(&(lth_column){.name = "a", .text = text}, 1, 2, LTH_EARG, 2,
           "the text in column \"a\" is NULL");
    refuse(&(lth_column){.name = "a", .text = bad}, 1, 2, LTH_EFORMAT, 2,
           "byte 0xFF is not valid UTF-8 (in column \"a\")");
    refuse(&(lth_column){.name = "a", .vectors = vectors, .units = units}, 1, 1, LTH_EARG, 0,
           "column \"a\" has vectors of dimension 0");
    refuse(&(lth_column){.name = "a", .vectors = vectors, .dimension = 1}, 1, 1, LTH_EARG, 0,
           "column \"a\" has vectors, but not how many");
    refuse(&(lth_column){.name = "a", .vectors = vectors, .units = units, .dimension = 2}, 1, 2,
           LTH_EARG, 2, "the vectors of 1 units in column \"a\" are NULL");
    const lth_column good = {.name = "a", .numbers = n};
    assert_int_equal(lth_table_from_columns(ctx, &good, sizeof good, 1, 1, NULL, NULL), LTH_EARG);
}

/* ---- What kernels and models refuse ---- */

static void refuse_encoding(const char *kernel, const lth_table *table, lth_status status,
                            size_t line, const char *message) {
    fixture f = fixture_open(kernel, NULL);
    lth_error err = {0};
    lth_items *items = NULL;
    assert_int_equal(lth_encode(f.encoder, table, &items, &err), status);
    check_error(&err, status, line, message);
    assert_null(items);
    fixture_close(&f);
}

static void test_kinds_that_do_not_fit(void **state) {
    (void)state;
    const char *text[] = {"a", "b"};
    const double n[] = {1, NAN};
    const float x[] = {1, 2, INFINITY, 4}, *vectors[] = {x, x + 2};
    const size_t units[] = {1, 1};
    lth_column columns[] = {{.name = "t", .text = text},
                            {.name = "n", .numbers = n},
                            {.name = "v", .vectors = vectors, .units = units, .dimension = 2}};
    lth_table *t = make(columns, 3, 2);
    refuse_encoding("ssk(n)", t, LTH_EARG, 0,
                    "column \"n\" holds numbers, where the kernel reads text");
    refuse_encoding("mean(n)", t, LTH_EARG, 0,
                    "column \"n\" holds numbers, where the kernel reads text");
    refuse_encoding("sstk(n)", t, LTH_EARG, 0,
                    "column \"n\" holds numbers, where the kernel reads trees");
    refuse_encoding("sstk(v)", t, LTH_EARG, 0,
                    "column \"v\" holds vectors, where the kernel reads trees");
    refuse_encoding("rbf(v)", t, LTH_EARG, 0,
                    "column \"v\" holds vectors, where numbers are wanted");
    refuse_encoding("rbf(n)", t, LTH_EFORMAT, 2, "NaN in column \"n\" is not a finite number");
    refuse_encoding("rbf(t)", t, LTH_EFORMAT, 1, "\"a\" in column \"t\" is not a number");
    refuse_encoding("ssk(x)", t, LTH_EFORMAT, 0, "no column \"x\"");
    static const char *const exact[] = {
        "ssk(v)",          "bow(v)", "ngrams(v)", "approx_ssk(v)", "ssk(v, sim=cosine) + ssk(v)",
        "mean(v) + bow(v)"};
    for (size_t i = 0; i < sizeof exact / sizeof *exact; i++)
        refuse_encoding(exact[i], t, LTH_EARG, 0,
                        "column \"v\" holds vectors: use sim=cosine, dot, arccos or exp");
    refuse_encoding("ssk(v, sim=dot)", t, LTH_EFORMAT, 2,
                    "the vector of unit 1 in column \"v\" is not finite");
    lth_table_free(t);
}

static void refuse_fit(const lth_table *table, const char *kernel, const char *target,
                       lth_task task, lth_status status, size_t line, const char *message) {
    lth_gp_options gp_options = support_fixed();
    lth_svm_options svm_options;
    lth_svm_options_init(&svm_options);
    gp_options.task = svm_options.task = task;
    lth_error err = {0};
    lth_gp *gp = NULL;
    lth_svm *svm = NULL;
    assert_int_equal(lth_gp_fit(ctx, kernel, table, &target, 1, &gp_options, &gp, &err), status);
    check_error(&err, status, line, message);
    assert_int_equal(lth_svm_fit(ctx, kernel, table, target, &svm_options, &svm, &err), status);
    check_error(&err, status, line, message);
}

static void test_targets(void **state) {
    (void)state;
    const char *text[] = {"a", "b"}, *label[] = {"1", "2"};
    const double n[] = {1, 2}, bad[] = {1, -INFINITY};
    const float x[] = {1, 2}, *vectors[] = {x, x + 1};
    const size_t units[] = {1, 1};
    lth_column columns[] = {{.name = "t", .text = text},
                            {.name = "n", .numbers = n},
                            {.name = "bad", .numbers = bad},
                            {.name = "l", .text = label},
                            {.name = "v", .vectors = vectors, .units = units, .dimension = 1}};
    lth_table *t = make(columns, 5, 2);
    bool labels = true;
    assert_int_equal(lth_gp_has_labels(t, "n", LTH_TASK_AUTO, &labels, NULL), LTH_OK);
    assert_false(labels);
    assert_int_equal(lth_gp_has_labels(t, "t", LTH_TASK_AUTO, &labels, NULL), LTH_OK);
    assert_true(labels);
    assert_int_equal(lth_gp_has_labels(t, "l", LTH_TASK_AUTO, &labels, NULL), LTH_OK);
    assert_false(labels);
    refuse_fit(t, "ssk(t)", "n", LTH_TASK_CLASSIFICATION, LTH_EARG, 0,
               "column \"n\" holds numbers, where labels are wanted");
    refuse_fit(t, "ssk(t)", "v", LTH_TASK_AUTO, LTH_EARG, 0,
               "column \"v\" holds vectors, where a target is wanted");
    refuse_fit(t, "ssk(t)", "v", LTH_TASK_REGRESSION, LTH_EARG, 0,
               "column \"v\" holds vectors, where a target is wanted");
    refuse_fit(t, "ssk(t)", "bad", LTH_TASK_AUTO, LTH_EFORMAT, 2,
               "-inf in column \"bad\" is not a finite number");
    refuse_fit(t, "ssk(t)", "x", LTH_TASK_AUTO, LTH_EFORMAT, 0, "no column \"x\"");
    lth_table_free(t);
}

static void test_numbers_are_as_their_texts(void **state) {
    (void)state;
    const double n[] = {0.5, -2, 3.25, 1, 7, 0};
    const char *f1[] = {"0.5", "3.25", "7"}, *f2[] = {"-2", "1", "0"};
    lth_table *tables[] = {
        make((lth_column[]){{.name = "f1", .numbers = n, .stride = 2},
                            {.name = "f2", .numbers = n + 1, .stride = 2}},
             2, 3),
        make((lth_column[]){{.name = "f1", .text = f1}, {.name = "f2", .text = f2}}, 2, 3)};
    fixture f = fixture_open("rbf(f1..f2)", NULL);
    lth_error err = {0};
    double *K[2];
    for (size_t i = 0; i < 2; i++) {
        support_ok(lth_encode(f.encoder, tables[i], &f.items[f.item_count++], &err), &err);
        K[i] = fixture_gram(&f, f.items[i], NULL);
        lth_table_free(tables[i]);
    }
    assert_memory_equal(K[0], K[1], 9 * sizeof **K);
    free(K[0]);
    free(K[1]);
    fixture_close(&f);
}

/* ---- Vectors ---- */

enum { ROWS = 24, MOST = 5, DIMENSION = 3 };

/* Rows of units, no two of which are alike: as vectors, and as words with these vectors. */
typedef struct contexts {
    float values[ROWS * MOST * DIMENSION];
    const float *vectors[ROWS];
    size_t units[ROWS];
    char words[ROWS][MOST * 8 + 1], lines[ROWS * MOST * 64];
    const char *text[ROWS];
    double y[ROWS];
    const char *label[ROWS];
} contexts;

static contexts *make_contexts(uint64_t seed, char prefix) {
    contexts *c = calloc(1, sizeof *c);
    assert_non_null(c);
    lth__random random;
    lth__random_seed(&random, seed);
    float *at = c->values;
    size_t used = 0, unit = 0;
    for (size_t i = 0; i < ROWS; i++) {
        c->units[i] = i == 3 ? 0 : 1 + (size_t)lth__random_below(&random, MOST);
        c->vectors[i] = c->units[i] > 0 ? at : NULL;
        size_t length = 0;
        double sum = 0;
        for (size_t u = 0; u < c->units[i]; u++, unit++) {
            for (size_t d = 0; d < DIMENSION; d++)
                at[d] = (float)(lth__random_below(&random, 2001)) / 1000 - 1 + (d == 0);
            sum += (double)at[0] * (double)at[1];
            length += (size_t)snprintf(c->words[i] + length, 9, "%s%c%04zu", u > 0 ? " " : "",
                                       prefix, unit);
            used += (size_t)snprintf(c->lines + used, 64, "%c%04zu %.9g %.9g %.9g\n", prefix, unit,
                                     (double)at[0], (double)at[1], (double)at[2]);
            at += DIMENSION;
        }
        c->text[i] = c->words[i];
        c->y[i] = sum + 0.1 * (double)(i % 3);
        c->label[i] = sum > 0.2 ? "high" : "low";
    }
    return c;
}

static lth_table *table_of(const contexts *c, bool vectors, size_t rows) {
    lth_column x = vectors ? (lth_column){.name = "text",
                                          .vectors = c->vectors,
                                          .units = c->units,
                                          .dimension = DIMENSION}
                           : (lth_column){.name = "text", .text = c->text};
    return make((lth_column[]){x, {.name = "y", .numbers = c->y}, {.name = "l", .text = c->label}},
                3, rows);
}

static const lth_items *encode(fixture *f, const contexts *c, bool vectors) {
    lth_error err = {0};
    lth_table *table = table_of(c, vectors, ROWS);
    support_ok(lth_encode(f->encoder, table, &f->items[f->item_count++], &err), &err);
    lth_table_free(table);
    return f->items[f->item_count - 1];
}

static const char *const kernels[] = {
    "ssk(text, order=3, sim=cosine)",
    "ssk(text, order=2, sim=dot)",
    "ssk(text, order=3, sim=arccos, oov=parts)",
    "ssk(text, order=2, sim=exp, temperature=0.4)",
    "ssk(text, order=2, sim=exp, rarity=0.01)",
    "normalize(ssk(text, order=2, sim=exp)) + rbf(mean(text))",
    "mean(text)",
};
enum { KERNELS = sizeof kernels / sizeof *kernels };

static lth_ctx_options with_precision(lth_precision precision) {
    lth_ctx_options o;
    lth_ctx_options_init(&o);
    o.precision = precision;
    o.threads = 2;
    return o;
}

static double *both_grams(const fixture *f, const lth_items *a, const lth_items *b, size_t params) {
    double *K = malloc((2 + params) * ROWS * ROWS * sizeof *K);
    double *part[] = {fixture_gram(f, a, NULL), fixture_gram(f, b, a),
                      fixture_gradients(f, a, NULL)};
    memcpy(K, part[0], ROWS * ROWS * sizeof *K);
    memcpy(K + ROWS * ROWS, part[1], ROWS * ROWS * sizeof *K);
    memcpy(K + 2 * ROWS * ROWS, part[2], params * ROWS * ROWS * sizeof *K);
    for (size_t i = 0; i < 3; i++) free(part[i]);
    return K;
}

/* The second table is compared with the first tile by tile, the first with itself by a table. */
static void test_vectors_are_as_words_that_have_them(void **state) {
    (void)state;
    contexts *a = make_contexts(1, 'a'), *b = make_contexts(2, 'b');
    char *lines = malloc(strlen(a->lines) + strlen(b->lines) + 1);
    strcat(strcpy(lines, a->lines), b->lines);
    for (size_t k = 0; k < 2 * KERNELS; k++) {
        lth_ctx_options o = with_precision(k % 2 ? LTH_F32 : LTH_F64);
        fixture words = fixture_open(kernels[k / 2], &o),
                vectors = fixture_open(kernels[k / 2], &o);
        assert_true(lth_kernel_needs_vectors(vectors.kernel));
        const lth_items *w1 = encode(&words, a, false);
        fixture_vectors(&words, lines); /* the centre of sim=exp is that of the first table */
        lth_error err = {0};
        lth_encoder *first = words.encoder;
        support_ok(lth__encoder_extend(first, &words.encoder, &err), &err);
        const lth_items *w2 = encode(&words, b, false);
        char *path = support_file(lines, strlen(lines));
        support_ok(lth_encoder_read_vectors(words.encoder, path, &err), &err);
        support_remove(path);
        const lth_items *v1 = encode(&vectors, a, true), *v2 = encode(&vectors, b, true);
        size_t params = lth_kernel_params(words.kernel);
        double *K = both_grams(&words, w1, w2, params), *V = both_grams(&vectors, v1, v2, params);
        double tolerance = k % 2 ? 1e-4 : 1e-10;
        fixture_check_near(V, K, (2 + params) * ROWS * ROWS, tolerance, tolerance);
        free(K);
        free(V);
        lth_items_free(words.items[--words.item_count]);
        lth_encoder_free(words.encoder);
        words.encoder = first;
        fixture_close(&words);
        fixture_close(&vectors);
    }
    free(lines);
    free(a);
    free(b);
}

/* By tiles first; then a table is worth while, and the values stay as they are. */
static void test_both_ways_to_similarities_agree(void **state) {
    (void)state;
    contexts *a = make_contexts(3, 'a'), *b = make_contexts(4, 'b');
    for (size_t k = 0; k < 2 * KERNELS; k++) {
        lth_ctx_options o = with_precision(k % 2 ? LTH_F32 : LTH_F64);
        fixture one = fixture_open(kernels[k / 2], &o), other = fixture_open(kernels[k / 2], &o);
        const lth_items *a1 = encode(&one, a, true), *b1 = encode(&one, b, true);
        double *by_tile = fixture_gram(&one, a1, b1), *own = fixture_gram(&one, b1, NULL);
        const lth_items *b2 = encode(&other, b, true);
        double *by_table = fixture_gram(&other, b2, NULL);
        double *again = fixture_gram(&one, a1, b1);
        fixture_check_near(by_tile, again, ROWS * ROWS, k % 2 ? 1e-5 : 1e-13, 1e-13);
        bool centred = strstr(kernels[k / 2], "exp") || strstr(kernels[k / 2], "rarity");
        if (!centred) fixture_check_near(own, by_table, ROWS * ROWS, k % 2 ? 1e-5 : 1e-12, 1e-13);
        free(by_tile);
        free(own);
        free(by_table);
        free(again);
        fixture_close(&one);
        fixture_close(&other);
    }
    free(a);
    free(b);
}

static void test_later_tables_must_agree(void **state) {
    (void)state;
    contexts *c = make_contexts(5, 'a');
    fixture f = fixture_open("ssk(text, sim=cosine)", NULL);
    lth_table *text = table_of(c, false, ROWS);
    lth_column narrow = {.name = "text", .vectors = c->vectors, .units = c->units, .dimension = 2};
    lth_table *other = make(&narrow, 1, ROWS);
    lth_items *items = NULL;
    lth_error err = {0};
    /* A first table that fails decides nothing. */
    c->values[4] = NAN;
    lth_table *bad = table_of(c, true, ROWS);
    assert_int_equal(lth_encode(f.encoder, bad, &items, &err), LTH_EFORMAT);
    assert_int_equal(err.line, 1 + (c->units[0] < 2));
    c->values[4] = 1;
    encode(&f, c, true);
    assert_int_equal(lth_encode(f.encoder, text, &items, &err), LTH_EARG);
    check_error(&err, LTH_EARG, 0, "column \"text\" holds text, where the first table has vectors");
    assert_int_equal(lth_encode(f.encoder, other, &items, &err), LTH_EARG);
    check_error(&err, LTH_EARG, 0,
                "column \"text\" holds vectors of 2 numbers, where the first table has 3");
    fixture_close(&f);

    f = fixture_open("ssk(text, sim=cosine)", NULL);
    encode(&f, c, false);
    assert_int_equal(lth_encode(f.encoder, bad, &items, &err), LTH_EARG);
    check_error(&err, LTH_EARG, 0, "column \"text\" holds vectors, where the first table has text");
    fixture_close(&f);
    lth_table_free(text);
    lth_table_free(other);
    lth_table_free(bad);
    free(c);
}

/* ---- Models ---- */

static const char model_kernel[] = "normalize(ssk(text, order=2, sim=exp)) + rbf(mean(text))";

static void test_gaussian_process(void **state) {
    (void)state;
    contexts *a = make_contexts(6, 'a'), *b = make_contexts(7, 'b');
    lth_table *train = table_of(a, true, ROWS), *test = table_of(b, true, ROWS);
    lth_table *texts = table_of(b, false, ROWS);
    lth_gp_options options = support_fixed();
    options.learn = true;
    options.max_iter = 3;
    options.restarts = 0;
    lth_gp *gp = support_fit(ctx, model_kernel, train, 1, &options), *loaded = NULL;
    double *first = support_predict(gp, test, false), *second = support_predict(gp, test, false);
    assert_memory_equal(first, second, 2 * ROWS * sizeof *first);
    /* One by one as all at once. */
    for (size_t i = 0; i < ROWS; i++) {
        lth_column row = {.name = "text",
                          .vectors = b->vectors + i,
                          .units = b->units + i,
                          .dimension = DIMENSION};
        lth_table *one = make(&row, 1, 1);
        double *alone = support_predict(gp, one, false);
        support_near(alone[0], first[i], 1e-12);
        support_near(alone[1], first[ROWS + i], 1e-12);
        free(alone);
        lth_table_free(one);
    }
    char *path = support_file("", 0);
    lth_error err = {0};
    support_ok(lth_gp_save(gp, path, &err), &err);
    support_ok(lth_gp_load(ctx, path, &loaded, &err), &err);
    double *third = support_predict(loaded, test, false);
    for (size_t i = 0; i < 2 * ROWS; i++) support_near(third[i], first[i], 1e-12);
    lth_gp *models[] = {gp, loaded};
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(lth_gp_predict(models[i], texts, false, second, NULL, &err), LTH_EARG);
        check_error(&err, LTH_EARG, 0,
                    "column \"text\" holds text, where the first table has vectors");
    }
    free(first);
    free(second);
    free(third);
    lth_gp_free(gp);
    lth_gp_free(loaded);

    /* The other way round. */
    char *vectors = support_file(a->lines, strlen(a->lines));
    options.vectors = vectors;
    options.learn = false;
    lth_table *words = table_of(a, false, ROWS);
    gp = support_fit(ctx, model_kernel, words, 1, &options);
    support_ok(lth_gp_save(gp, path, &err), &err);
    support_ok(lth_gp_load(ctx, path, &loaded, &err), &err);
    double mean[ROWS];
    models[0] = gp, models[1] = loaded;
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(lth_gp_predict(models[i], test, false, mean, NULL, &err), LTH_EARG);
        check_error(&err, LTH_EARG, 0,
                    "column \"text\" holds vectors, where the first table has text");
        lth_gp_free(models[i]);
    }
    support_remove(vectors);
    support_remove(path);
    lth_table_free(words);
    lth_table_free(texts);
    lth_table_free(train);
    lth_table_free(test);
    free(a);
    free(b);
}

static void test_support_vector_machine(void **state) {
    (void)state;
    contexts *a = make_contexts(8, 'a'), *b = make_contexts(9, 'b');
    lth_table *train = table_of(a, true, ROWS), *test = table_of(b, true, ROWS);
    lth_svm *svm = NULL, *loaded = NULL;
    lth_error err = {0};
    support_ok(lth_svm_fit(ctx, model_kernel, train, "l", NULL, &svm, &err), &err);
    double value[2][ROWS];
    char *path = support_file("", 0);
    support_ok(lth_svm_save(svm, path, &err), &err);
    support_ok(lth_svm_load(ctx, path, &loaded, &err), &err);
    support_ok(lth_svm_predict(svm, test, &(lth_svm_prediction){.decision = value[0]},
                               sizeof(lth_svm_prediction), &err),
               &err);
    support_ok(lth_svm_predict(loaded, test, &(lth_svm_prediction){.decision = value[1]},
                               sizeof(lth_svm_prediction), &err),
               &err);
    for (size_t i = 0; i < ROWS; i++) support_near(value[1][i], value[0][i], 1e-12);
    assert_true(value[0][0] != value[0][1]);
    lth_table *texts = table_of(b, false, ROWS);
    assert_int_equal(lth_svm_predict(loaded, texts, &(lth_svm_prediction){.decision = value[1]},
                                     sizeof(lth_svm_prediction), &err),
                     LTH_EARG);
    check_error(&err, LTH_EARG, 0, "column \"text\" holds text, where the first table has vectors");
    lth_svm_free(svm);
    lth_svm_free(loaded);
    support_remove(path);
    lth_table_free(texts);
    lth_table_free(train);
    lth_table_free(test);
    free(a);
    free(b);
}

static void test_cross_validation(void **state) {
    (void)state;
    contexts *a = make_contexts(10, 'a');
    lth_table *table = table_of(a, true, ROWS);
    size_t fold[ROWS];
    lth_folds_shuffled(1, ROWS, 3, fold);
    lth_validation *found;
    lth_gp_options options = support_fixed();
    lth_error err = {0};
    const char *target = "y";
    support_ok(lth_gp_cv(ctx, model_kernel, table, &target, 1, fold, 3, &options, &found, &err),
               &err);
    const lth_metrics *pooled = lth_validation_metrics(found, 0, LTH_NONE);
    assert_int_equal(pooled->count, ROWS);
    assert_true(isfinite(pooled->rmse));
    lth_validation_free(found);
    lth_table_free(table);
    free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_columns_of_every_kind),
        cmocka_unit_test(test_tables_without_rows_or_texts),
        cmocka_unit_test(test_columns_that_are_refused),
        cmocka_unit_test(test_kinds_that_do_not_fit),
        cmocka_unit_test(test_targets),
        cmocka_unit_test(test_numbers_are_as_their_texts),
        cmocka_unit_test(test_vectors_are_as_words_that_have_them),
        cmocka_unit_test(test_both_ways_to_similarities_agree),
        cmocka_unit_test(test_later_tables_must_agree),
        cmocka_unit_test(test_gaussian_process),
        cmocka_unit_test(test_support_vector_machine),
        cmocka_unit_test(test_cross_validation),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
