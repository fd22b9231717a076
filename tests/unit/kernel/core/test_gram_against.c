/* Rows of an encoder that extends another, against the items of that one: the bits that both would
 * have had in one encoder, with and without what is kept of the columns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gp_support.h"
#include "kernel/core/encode.h"
#include "kernel/core/gram.h"

enum { ROWS = 30, NEW = 7 };

static const char *const kernels[] = {"ssk(text, order=3)",
                                      "normalize(ssk(text, order=2, units=chars))",
                                      "rbf(ssk(text)) * linear(f1..f2) + 0.5 * bow(text)",
                                      "normalize(rbf(f1..f2, ard=yes))",
                                      "matern52(normalize(tfidf(text)))",
                                      "normalize(ngrams(text, n=[1,3]))",
                                      "intersection(ngrams(text, n=2))",
                                      "normalize(approx_ssk(text))",
                                      "normalize(sstk(tree))",
                                      "ptk(tree)",
                                      "rbf(ssk(text, order=2, rarity=0.1))"};

static lth_table *read_rows(lth_ctx *ctx, size_t first, size_t count) {
    lth_table *rows = support_rows(ctx, first, count), *out = NULL;
    const char *text[ROWS], *trees[ROWS];
    char tree[ROWS][120];
    double f[2][ROWS];
    size_t length[ROWS];
    size_t column = lth_table_find(rows, "text");
    for (size_t i = 0; i < count; i++) {
        size_t at = first + i;
        text[i] = lth_table_cell(rows, i, column, &length[i]);
        snprintf(tree[i], sizeof tree[i], "(S (A a%zu) (B (C b) (D%zu c)) (A a%zu))", at % 5,
                 at % 9, at % 2);
        trees[i] = tree[i];
        f[0][i] = (double)(at % 7);
        f[1][i] = (double)at / 10;
    }
    lth_column columns[] = {{.name = "text", .text = text, .length = length},
                            {.name = "tree", .text = trees},
                            {.name = "f1", .numbers = f[0]},
                            {.name = "f2", .numbers = f[1]}};
    lth_error err = {0};
    static double kept[2][2][ROWS]; /* the table does not copy numbers */
    for (size_t c = 0; c < 2; c++) {
        memcpy(kept[first > 0][c], f[c], sizeof f[c]);
        columns[2 + c].numbers = kept[first > 0][c];
    }
    support_ok(lth_table_from_columns(ctx, columns, sizeof *columns, 4, count, &out, &err), &err);
    lth_table_free(rows);
    return out;
}

static void check_kernel(lth_ctx *ctx, const char *expression) {
    lth_error err = {0};
    lth_kernel *kernel = NULL;
    lth_encoder *encoder = NULL, *extension = NULL;
    lth_items *cols = NULL, *rows = NULL, *same = NULL;
    lth__prepared *prepared = NULL;
    lth_table *first = read_rows(ctx, 0, ROWS), *new = read_rows(ctx, ROWS, NEW);
    support_ok(lth_kernel_parse(ctx, expression, &kernel, &err), &err);
    support_ok(lth_encoder_create(ctx, kernel, &encoder, &err), &err);
    support_ok(lth_encode(encoder, first, &cols, &err), &err);
    support_ok(lth__encoder_extend(encoder, &extension, &err), &err);
    support_ok(lth_encode(extension, new, &rows, &err), &err);
    support_ok(lth__prepared_create(kernel, cols, &prepared, &err), &err);
    double kept[NEW * ROWS], K[NEW * ROWS], wanted[NEW * ROWS], self[NEW], diagonal[NEW];
    support_ok(lth__gram_against(prepared, rows, kept, ROWS, self, &err), &err);
    support_ok(lth_gram(kernel, rows, cols, K, ROWS, &err), &err);
    support_ok(lth_encode(encoder, new, &same, &err), &err);
    support_ok(lth_gram(kernel, same, cols, wanted, ROWS, &err), &err);
    support_ok(lth_gram_diagonal(kernel, same, diagonal, &err), &err);
    assert_memory_equal(K, wanted, sizeof wanted);
    assert_memory_equal(kept, wanted, sizeof wanted);
    assert_memory_equal(self, diagonal, sizeof diagonal);
    lth__prepared_free(prepared);
    lth_items_free(rows);
    lth_items_free(same);
    lth_items_free(cols);
    lth_encoder_free(extension);
    lth_encoder_free(encoder);
    lth_kernel_free(kernel);
    lth_table_free(first);
    lth_table_free(new);
}

static void test_same_bits(void **state) {
    (void)state;
    for (unsigned threads = 1; threads <= 3; threads += 2) {
        lth_ctx *ctx = support_context(threads);
        for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) check_kernel(ctx, kernels[k]);
        lth_ctx_free(ctx);
    }
}

/* ---- Columns that lie in lanes ---- */

enum { MANY = 2300, TEXTS = 3 }; /* more than a tile has */

/* Texts whose lengths differ by column, and a few that are too long for a group of others. */
static lth_table *make_texts(lth_ctx *ctx, size_t first, size_t count) {
    enum { LONGEST = 700 };
    static char bytes[2][MANY][LONGEST + 1];
    static const char *text[2][MANY];
    for (size_t i = 0; i < count; i++) {
        for (size_t c = 0; c < 2; c++) {
            size_t at = first + i,
                   length = at % 97 == c ? LONGEST - at % 9 : (at * (7 + 4 * c)) % 23;
            for (size_t k = 0; k < length; k++)
                bytes[c][i][k] = "abcde"[(at * 31 + k * k + k / 3) % 5];
            bytes[c][i][length] = 0;
            text[c][i] = bytes[c][i];
        }
    }
    lth_column columns[] = {{.name = "a", .text = text[0]}, {.name = "b", .text = text[1]}};
    lth_error err = {0};
    lth_table *out = NULL;
    support_ok(lth_table_from_columns(ctx, columns, sizeof *columns, 2, count, &out, &err), &err);
    return out;
}

static void check_many(lth_ctx *ctx, const char *expression, size_t count) {
    lth_error err = {0};
    lth_kernel *kernel = NULL;
    lth_encoder *encoder = NULL;
    lth_items *cols = NULL, *rows = NULL;
    lth__prepared *prepared = NULL;
    lth_table *first = make_texts(ctx, 0, count), *new = make_texts(ctx, count, TEXTS);
    support_ok(lth_kernel_parse(ctx, expression, &kernel, &err), &err);
    support_ok(lth_encoder_create(ctx, kernel, &encoder, &err), &err);
    support_ok(lth_encode(encoder, first, &cols, &err), &err);
    support_ok(lth_encode(encoder, new, &rows, &err), &err);
    support_ok(lth__prepared_create(kernel, cols, &prepared, &err), &err);
    static double kept[TEXTS * MANY], wanted[TEXTS * MANY];
    support_ok(lth__gram_against(prepared, rows, kept, count, NULL, &err), &err);
    support_ok(lth_gram(kernel, rows, cols, wanted, count, &err), &err);
    assert_memory_equal(kept, wanted, TEXTS * count * sizeof *wanted);
    lth__prepared_free(prepared);
    lth_items_free(rows);
    lth_items_free(cols);
    lth_encoder_free(encoder);
    lth_kernel_free(kernel);
    lth_table_free(first);
    lth_table_free(new);
}

/* Tiles of neighbours, which begin and end inside of a group; of all columns in the order of
 * another text; and of some of them in that order. */
static void test_lanes(void **state) {
    (void)state;
    lth_ctx *ctx = support_context(2);
    check_many(ctx, "ssk(a, units=chars, order=3)", MANY);
    check_many(ctx, "ssk(a, units=chars, order=3)", 1);
    check_many(ctx, "ssk(a, units=chars, order=2) + ssk(b, units=chars, order=3)", MANY);
    check_many(ctx, "ssk(a, units=chars, order=2) + ssk(b, units=chars, order=3)", 300);
    lth_ctx_free(ctx);
}

/* Items of encoders that have nothing to do with one another are refused as before. */
static void test_strangers(void **state) {
    (void)state;
    lth_ctx *ctx = support_context(1);
    lth_error err = {0};
    lth_kernel *kernel = NULL;
    lth_encoder *one = NULL, *other = NULL, *extension = NULL;
    lth_items *a = NULL, *b = NULL;
    lth_table *table = read_rows(ctx, 0, ROWS);
    double K[ROWS * ROWS];
    support_ok(lth_kernel_parse(ctx, "ssk(text)", &kernel, &err), &err);
    support_ok(lth_encoder_create(ctx, kernel, &one, &err), &err);
    support_ok(lth_encoder_create(ctx, kernel, &other, &err), &err);
    support_ok(lth_encode(one, table, &a, &err), &err);
    support_ok(lth__encoder_extend(other, &extension, &err), &err);
    support_ok(lth_encode(extension, table, &b, &err), &err);
    assert_int_equal(lth_gram(kernel, b, a, K, ROWS, &err), LTH_EARG);
    lth_items_free(a);
    lth_items_free(b);
    lth_encoder_free(extension);
    lth_encoder_free(other);
    lth_encoder_free(one);
    lth_kernel_free(kernel);
    lth_table_free(table);
    lth_ctx_free(ctx);
}

/* Nothing is computed before it is needed; what cannot be made is an error then, each time. */
static void test_lazy(void **state) {
    (void)state;
    lth_ctx *ctx = support_context(1);
    lth_error err = {0};
    lth_kernel *kernel = NULL;
    lth_encoder *encoder = NULL, *extension = NULL;
    lth_items *cols = NULL, *rows = NULL;
    lth__prepared *prepared = NULL;
    lth_table *table = read_rows(ctx, 0, ROWS);
    double K[ROWS * ROWS];
    char expression[1024] = "normalize(ssk(text)";
    for (int i = 0; i < 30; i++) strcat(expression, " * 1e12"); /* more than a double holds */
    strcat(expression, ")");
    support_ok(lth_kernel_parse(ctx, expression, &kernel, &err), &err);
    support_ok(lth_encoder_create(ctx, kernel, &encoder, &err), &err);
    support_ok(lth_encode(encoder, table, &cols, &err), &err);
    support_ok(lth__encoder_extend(encoder, &extension, &err), &err);
    support_ok(lth_encode(extension, table, &rows, &err), &err);
    support_ok(lth__prepared_create(kernel, cols, &prepared, &err), &err);
    for (int time = 0; time < 2; time++) {
        err = (lth_error){0};
        assert_int_equal(lth__gram_against(prepared, rows, K, ROWS, NULL, &err), LTH_ENUMERIC);
        assert_true(strlen(err.message) > 0);
    }
    lth__prepared_free(prepared);
    lth_items_free(rows);
    lth_items_free(cols);
    lth_encoder_free(extension);
    lth_encoder_free(encoder);
    lth_kernel_free(kernel);
    lth_table_free(table);
    lth_ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_same_bits),
                                       cmocka_unit_test(test_lanes), cmocka_unit_test(test_lazy),
                                       cmocka_unit_test(test_strangers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
