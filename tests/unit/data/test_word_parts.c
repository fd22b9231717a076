/* Vectors of words that have none, from their parts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "data/vectors.h"
#include "fixture.h"
#include "gp_support.h"

static const char lines[] = "ex 1 0 0\n"
                            "wife 0 1 0\n"
                            "world 4 2 -2\n"
                            "s 0 0 8\n"
                            "good 3 -1 5\n"
                            "well-known 7 7 7\n"
                            "well 1 2 3\n"
                            "known -1 -2 3\n"
                            "unused 9 9 9\n";

/* The vectors of a vocabulary, made from these words in order. */
static lth__vectors read_words(const char *const *words, size_t count) {
    lth_error err = {0};
    lth__vectors v = {0};
    lth_ctx *ctx = support_context(1);
    lth__symbols *vocabulary = lth__symbols_create();
    assert_non_null(vocabulary);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(lth__symbols_intern(vocabulary, words[i], strlen(words[i])), i);
    char *path = support_file(lines, strlen(lines));
    support_ok(
        lth__vectors_read_parts(ctx, (lth__vector_source){.path = path}, vocabulary, &v, &err),
        &err);
    support_remove(path);
    assert_int_equal(lth__symbols_count(vocabulary), count); /* parts are not words */
    assert_int_equal(v.symbols, count);
    assert_int_equal(v.dimension, 3);
    lth__symbols_free(vocabulary);
    lth_ctx_free(ctx);
    return v;
}

static void check_vector(const lth__vectors *v, size_t word, float a, float b, float c) {
    assert_in_range(v->row_of[word], 0, v->count - 1);
    const float *x = v->values + (size_t)v->row_of[word] * 3;
    if (x[0] != a || x[1] != b || x[2] != c)
        fail_msg("word %zu has %g %g %g", word, (double)x[0], (double)x[1], (double)x[2]);
}

static void hyphens_and_apostrophes(void **state) {
    (void)state;
    const char *const words[] = {"ex-wife", "world's", "world\u2019s", "ex\u2010wife", "ex-wife's"};
    lth__vectors v = read_words(words, 5);
    check_vector(&v, 0, 0.5F, 0.5F, 0);
    check_vector(&v, 1, 2, 1, 3);
    check_vector(&v, 2, 2, 1, 3);
    check_vector(&v, 3, 0.5F, 0.5F, 0);
    check_vector(&v, 4, 1 / 3.0F, 1 / 3.0F, 8 / 3.0F);
    lth__vectors_free(&v);
}

static void at_the_ends(void **state) {
    (void)state;
    const char *const words[] = {"-good", "good-", "--good--", "'good'", "\u2019good\u2019",
                                 "-",     "''-",   "ex--wife"};
    lth__vectors v = read_words(words, 8);
    for (size_t i = 0; i < 5; i++) check_vector(&v, i, 3, -1, 5);
    assert_int_equal(v.row_of[5], -1);
    assert_int_equal(v.row_of[6], -1);
    check_vector(&v, 7, 0.5F, 0.5F, 0);
    lth__vectors_free(&v);
}

static void own_vector_first(void **state) {
    (void)state;
    const char *const words[] = {"good", "well-known", "well", "known-well"};
    lth__vectors v = read_words(words, 4);
    check_vector(&v, 0, 3, -1, 5);
    check_vector(&v, 1, 7, 7, 7);
    check_vector(&v, 2, 1, 2, 3);
    check_vector(&v, 3, 0, 0, 3);
    lth__vectors_free(&v);
}

static void unknown_parts(void **state) {
    (void)state;
    const char *const words[] = {"zig-zag", "zig", "ex-zag", "wi-fe", "exwife", "good-good-ex"};
    lth__vectors v = read_words(words, 6);
    assert_int_equal(v.row_of[0], -1);
    assert_int_equal(v.row_of[1], -1);
    check_vector(&v, 2, 1, 0, 0); /* the known part alone */
    assert_int_equal(v.row_of[3], -1);
    assert_int_equal(v.row_of[4], -1);
    check_vector(&v, 5, 7 / 3.0F, -2 / 3.0F, 10 / 3.0F); /* a part counts as often as it occurs */
    lth__vectors_free(&v);
}

static void no_words(void **state) {
    (void)state;
    const char *const words[] = {"zig-zag", "zig"};
    lth__vectors v = read_words(words, 2);
    assert_int_equal(v.row_of[0], -1);
    assert_int_equal(v.row_of[1], -1);
    lth__vectors_free(&v);
    v = read_words(words, 0);
    lth__vectors_free(&v);
}

/* Many words, so that the array of vectors grows: the rows that are there stay as they are. */
static void many_words(void **state) {
    (void)state;
    enum { WORDS = 300 };
    char *words[WORDS];
    for (size_t i = 0; i < WORDS; i++) {
        words[i] = calloc(1, WORDS + 16);
        assert_non_null(words[i]);
        strcpy(words[i], i % 2 ? "ex" : "good");
        memset(words[i] + strlen(words[i]), '-', i + 1);
    }
    lth__vectors v = read_words((const char *const *)words, WORDS);
    for (size_t i = 0; i < WORDS; i++) {
        check_vector(&v, i, i % 2 ? 1 : 3, i % 2 ? 0 : -1, i % 2 ? 0 : 5);
        free(words[i]);
    }
    lth__vectors_free(&v);
}

static void bad_file(void **state) {
    (void)state;
    lth_error err = {0};
    lth__vectors v = {.count = 77};
    lth_ctx *ctx = support_context(1);
    lth__symbols *vocabulary = lth__symbols_create();
    assert_true(lth__symbols_intern(vocabulary, "ex-wife", 7) == 0);
    char *path = support_file("ex 1 0\nwife 0 1\ngood 2\n", 23);
    assert_int_equal(
        lth__vectors_read_parts(ctx, (lth__vector_source){.path = path}, vocabulary, &v, &err),
        LTH_EFORMAT);
    assert_int_equal(err.line, 3);
    assert_int_equal(v.count, 77); /* not written */
    support_remove(path);
    lth__symbols_free(vocabulary);
    lth_ctx_free(ctx);
}

/* ---- In a kernel ---- */

/* sim=dot of "ex-wife" with "ex", "wife" and "zig-zag". */
static void check_kernel(const char *kernel, double with_ex, double with_wife, double zig) {
    const char *const texts[] = {"ex-wife", "ex", "wife", "zig-zag"};
    fixture f = fixture_open(kernel, NULL);
    const lth_items *items = fixture_encode(&f, texts, 4);
    fixture_vectors(&f, "ex 2 0\nwife 0 6\n");
    double *K = fixture_gram(&f, items, NULL);
    double wanted[] = {with_ex, with_wife, zig}, got[] = {K[1], K[2], K[15]};
    fixture_check_near(got, wanted, 3, 0, 1e-14);
    free(K);
    fixture_close(&f);
}

static void in_a_kernel(void **state) {
    (void)state;
    check_kernel("ssk(text, order=1, sim=dot, oov=parts)", 2, 18, 1);
    check_kernel("ssk(text, order=1, sim=dot, oov=exact)", 0, 0, 1);
    check_kernel("ssk(text, order=1, sim=dot, oov=zero)", 0, 0, 0);
}

/* Two kernels on one column that disagree about parts. */
static void side_by_side(void **state) {
    (void)state;
    check_kernel("ssk(text, order=1, sim=dot, oov=parts) + ssk(text, order=1, sim=dot, oov=zero)",
                 2, 18, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hyphens_and_apostrophes),
        cmocka_unit_test(at_the_ends),
        cmocka_unit_test(own_vector_first),
        cmocka_unit_test(unknown_parts),
        cmocka_unit_test(no_words),
        cmocka_unit_test(many_words),
        cmocka_unit_test(bad_file),
        cmocka_unit_test(in_a_kernel),
        cmocka_unit_test(side_by_side),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
