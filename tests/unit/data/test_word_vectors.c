/* Word vectors in memory: made from arrays and from files, packed, and looked up. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "data/word_vectors.h"
#include "failing_allocator.h"
#include "gp_support.h"

static const char *const words[] = {"red", "blue", "red", "a cat", ""};
static const float numbers[] = {1, -2, 0.5f, 0, 9, 9, 1e-30f, 1e30f, 3, 4};
enum { COUNT = 5, DIMENSION = 2 };

typedef struct log {
    size_t lines;
    char last[200];
} log_lines;

static void collect(void *user, lth_log_level level, const char *text) {
    log_lines *l = user;
    assert_int_equal(level, LTH_LOG_WARNING);
    l->lines++;
    snprintf(l->last, sizeof l->last, "%s", text);
}

static lth_word_vectors *make(lth_ctx *ctx) {
    lth_word_vectors *v = NULL;
    lth_error err = {0};
    support_ok(lth_word_vectors_create(ctx, words, NULL, COUNT, DIMENSION, numbers, &v, &err),
               &err);
    return v;
}

/* The vector of a word by way of a vocabulary that has it, or NULL. */
static const float *look_up(const lth_word_vectors *v, const char *word, lth__vectors *found) {
    lth__symbols *vocabulary = lth__symbols_create();
    lth_error err = {0};
    lth__symbols_intern(vocabulary, "nothing", 7);
    lth__symbol symbol = lth__symbols_intern(vocabulary, word, strlen(word));
    support_ok(lth__vectors_read(NULL, (lth__vector_source){.table = v}, vocabulary, found, &err),
               &err);
    assert_int_equal(found->offered, v->count);
    lth__symbols_free(vocabulary);
    return lth__vectors_at(found, symbol);
}

static void check_vector(const lth_word_vectors *v, const char *word, float first, float second) {
    lth__vectors found;
    const float *row = look_up(v, word, &found);
    assert_non_null(row);
    assert_true(row[0] == first && row[1] == second);
    lth__vectors_free(&found);
}

static void from_arrays(void **state) {
    (void)state;
    log_lines told = {0};
    lth_ctx ctx = {.options = {.log = collect, .user = &told}};
    lth_word_vectors *v = make(&ctx);
    assert_int_equal(told.lines, 1);
    assert_string_equal(told.last,
                        "1 word has more than one vector, as 'red' does; the first one is kept");
    assert_int_equal(v->count, 4);
    check_vector(v, "red", 1, -2);
    check_vector(v, "a cat", 1e-30f, 1e30f);
    check_vector(v, "", 3, 4);
    lth__vectors found;
    assert_null(look_up(v, "cat", &found));
    lth__vectors_free(&found);
    lth__word_vectors_keep(v); /* whoever keeps it may free it last */
    lth_word_vectors_free(v);
    check_vector(v, "blue", 0.5f, 0);
    lth_word_vectors_free(v);
    lth_word_vectors_free(NULL);
}

static void lengths_count(void **state) {
    (void)state;
    const char *const text[] = {"redblue", "a\0b"};
    const size_t length[] = {3, 3};
    lth_word_vectors *v = NULL;
    lth_error err = {0};
    support_ok(lth_word_vectors_create(NULL, text, length, 2, 1, numbers, &v, &err), &err);
    size_t size;
    assert_memory_equal(lth__symbols_text(v->words, 0, &size), "red", 4);
    assert_memory_equal(lth__symbols_text(v->words, 1, &size), "a\0b", 4);
    assert_int_equal(size, 3);
    lth_word_vectors_free(v);
}

static void refusals(void **state) {
    (void)state;
    static const float infinite[] = {1, INFINITY, 1, 1};
    static const char *const missing[] = {"a", NULL};
    struct {
        const char *const *word;
        size_t count, dimension;
        const float *values;
        lth_status status;
        const char *message;
    } cases[] = {
        {words, 0, 2, numbers, LTH_EARG, "0 word vectors, where there can be 1 to 2147483646"},
        {words, 2, 0, numbers, LTH_EARG, "word vectors of 0 numbers, where they have 1 to 100000"},
        {words, 1, 100001, numbers, LTH_EARG,
         "word vectors of 100001 numbers, where they have 1 to 100000"},
        {NULL, 1, 1, numbers, LTH_EARG, "words or values are NULL"},
        {words, 1, 1, NULL, LTH_EARG, "words or values are NULL"},
        {missing, 2, 1, numbers, LTH_EARG, "word 2 is NULL"},
        {words, 2, 2, infinite, LTH_EFORMAT, "number 2 of the vector of 'red' is not finite"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lth_word_vectors *v = NULL;
        lth_error err = {0};
        assert_int_equal(lth_word_vectors_create(NULL, cases[i].word, NULL, cases[i].count,
                                                 cases[i].dimension, cases[i].values, &v, &err),
                         cases[i].status);
        assert_string_equal(err.message, cases[i].message);
        assert_null(v);
    }
}

static void from_a_file(void **state) {
    (void)state;
    static const char text[] = "red 1 -2\nblue 0.5 0\nred 9 9\n. . 3 4\n";
    char *path = support_file(text, sizeof text - 1);
    lth_ctx *ctx = support_context(1);
    lth_word_vectors *v = NULL;
    lth_error err = {0};
    support_ok(lth_word_vectors_read(ctx, path, &v, &err), &err);
    assert_int_equal(v->count, 3);
    check_vector(v, "red", 1, -2);
    check_vector(v, ". .", 3, 4);
    lth_word_vectors_free(v);
    assert_int_equal(lth_word_vectors_read(ctx, "no/such/file", &v, &err), LTH_EIO);
    support_remove(path);
    path = support_file("red 1 2\nblue 3\n", 15);
    assert_int_equal(lth_word_vectors_read(ctx, path, &v, &err), LTH_EFORMAT);
    assert_int_equal(err.line, 2);
    support_remove(path);
    lth_ctx_free(ctx);
}

/* In a byte a number: no further than half a step, of which the largest number has 127. */
static void packed(void **state) {
    (void)state;
    enum { WORDS = 50, NUMBERS = 20 };
    float values[WORDS * NUMBERS];
    char text[WORDS][8];
    const char *word[WORDS];
    lth__random random;
    lth_error err = {0};
    lth_word_vectors *v = NULL, *p = NULL;
    lth__random_seed(&random, 5);
    for (size_t i = 0; i < WORDS * NUMBERS; i++)
        values[i] = i < NUMBERS ? 0 : (float)(lth__random_uniform(&random) - 0.3);
    for (size_t i = 0; i < WORDS; i++) {
        snprintf(text[i], sizeof text[i], "w%zu", i);
        word[i] = text[i];
    }
    support_ok(lth_word_vectors_create(NULL, word, NULL, WORDS, NUMBERS, values, &v, &err), &err);
    support_ok(lth__word_vectors_pack(v, &p, &err), &err);
    for (size_t i = 0; i < WORDS; i++) {
        lth__vectors found;
        const float *row = look_up(p, word[i], &found), *own = values + i * NUMBERS;
        float most = 0;
        for (size_t d = 0; d < NUMBERS; d++) most = fmaxf(most, fabsf(own[d]));
        for (size_t d = 0; d < NUMBERS; d++)
            assert_true(fabsf(row[d] - own[d]) <= 0.51f * most / 127);
        lth__vectors_free(&found);
    }
    lth_word_vectors_free(v);
    lth_word_vectors_free(p);
}

static lth_status use_all(void *user, lth_error *err) {
    lth_word_vectors *v = NULL, *p = NULL;
    lth__vectors found = {0};
    const lth__symbols *vocabulary = user;
    lth_status status =
        lth_word_vectors_create(NULL, words, NULL, COUNT, DIMENSION, numbers, &v, err);
    if (status == LTH_OK) status = lth__word_vectors_pack(v, &p, err);
    if (status == LTH_OK)
        status = lth__vectors_read(NULL, (lth__vector_source){.table = p}, vocabulary, &found, err);
    lth__vectors_free(&found);
    lth_word_vectors_free(v);
    lth_word_vectors_free(p);
    return status;
}

static void without_memory(void **state) {
    (void)state;
    lth__symbols *vocabulary = lth__symbols_create();
    lth__symbols_intern(vocabulary, "red", 3);
    fail_each(use_all, vocabulary, false, 8);
    lth__symbols_free(vocabulary);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(from_arrays), cmocka_unit_test(lengths_count),
        cmocka_unit_test(refusals),    cmocka_unit_test(from_a_file),
        cmocka_unit_test(packed),      cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
