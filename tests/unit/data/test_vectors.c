/* Word vectors: the layouts, what is kept, what is warned about, and what is refused, and where. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <zlib.h>

#include "data/vectors.h"

/* A file, a vocabulary, and what reading the file gave. */
typedef struct fixture {
    char path[64];
    lth_ctx ctx;
    char log[4096];
    lth__symbols *vocabulary;
    lth__vectors v;
    lth_error err;
} fixture;

static const char *const words[] = {"the", "cat", "dog", "3", ". . .", "b\u00E9b\u00E9"};
enum { THE, CAT, DOG, THREE, DOTS, BABY, WORDS };

static void collect_log(void *user, lth_log_level level, const char *text) {
    fixture *f = user;
    assert_int_equal(level, LTH_LOG_WARNING);
    assert_true(strlen(f->log) + strlen(text) + 2 < sizeof f->log);
    strcat(f->log, text);
    strcat(f->log, "\n");
}

static int set_up(void **state) {
    fixture *f = calloc(1, sizeof *f);
    if (!f) return -1;
    strcpy(f->path, "test_vectors.XXXXXX");
    int fd = mkstemp(f->path);
    if (fd < 0) return -1;
    close(fd);
    f->ctx.options.log = collect_log;
    f->ctx.options.user = f;
    f->vocabulary = lth__symbols_create();
    for (size_t i = 0; i < WORDS; i++)
        lth__symbols_intern(f->vocabulary, words[i], strlen(words[i]));
    *state = f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    unlink(f->path);
    lth__vectors_free(&f->v);
    lth__symbols_free(f->vocabulary);
    free(f);
    return 0;
}

static lth_status read_bytes(fixture *f, const void *bytes, size_t length) {
    FILE *file = fopen(f->path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    fclose(file);
    lth__vectors_free(&f->v);
    f->log[0] = '\0';
    return lth__vectors_read(&f->ctx, (lth__vector_source){.path = f->path}, f->vocabulary, &f->v,
                             &f->err);
}

static lth_status read_string(fixture *f, const char *text) {
    return read_bytes(f, text, strlen(text));
}

static void check_row(const fixture *f, size_t symbol, const char *values) {
    char *end;
    assert_true(f->v.row_of[symbol] >= 0);
    const float *row = f->v.values + (size_t)f->v.row_of[symbol] * f->v.dimension;
    for (size_t i = 0; i < f->v.dimension; i++, values = end)
        assert_true(row[i] == strtof(values, &end));
}

static void check_shape(const fixture *f, size_t count, size_t dimension) {
    assert_int_equal(f->v.count, count);
    assert_int_equal(f->v.dimension, dimension);
    assert_int_equal(f->v.symbols, WORDS);
    size_t rows = 0;
    for (size_t i = 0; i < WORDS; i++) {
        assert_in_range(f->v.row_of[i] + 1, 0, count);
        rows += f->v.row_of[i] >= 0;
    }
    assert_int_equal(rows, count);
}

static void check_log(const fixture *f, const char *line) {
    char expected[256];
    snprintf(expected, sizeof expected, "%s%s\n", f->path, line);
    assert_string_equal(f->log, expected);
}

static void check_failure(fixture *f, const void *bytes, size_t length, size_t line, size_t column,
                          const char *message) {
    memset(&f->err, 0, sizeof f->err);
    assert_int_equal(read_bytes(f, bytes, length), LTH_EFORMAT);
    assert_int_equal(f->err.status, LTH_EFORMAT);
    assert_string_equal(f->err.message, message);
    assert_string_equal(f->err.file, f->path);
    assert_int_equal(f->err.line, line);
    assert_int_equal(f->err.column, column);
    assert_null(f->v.row_of); /* nothing is handed out */
}

static void check_text_failure(fixture *f, const char *text, size_t line, size_t column,
                               const char *message) {
    check_failure(f, text, strlen(text), line, column, message);
}

#define CHECK_BINARY_FAILURE(f, bytes, line, column, message)                                      \
    check_failure(f, bytes, sizeof bytes - 1, line, column, message)

/* Little-endian floats. */
#define ONE "\0\0\x80\x3f"
#define MINUS_TWO "\0\0\0\xc0"
#define HALF "\0\0\0\x3f"
#define INFINITE "\0\0\x80\x7f"

static void glove(void **state) {
    fixture *f = *state;
    assert_int_equal(read_string(f, "of 9 9 9\ndog 1 -2.5 3e-2\nthe 0.1 .5 -0\n"), LTH_OK);
    check_shape(f, 2, 3);
    check_row(f, DOG, "1 -2.5 3e-2");
    check_row(f, THE, "0.1 0.5 0");
    assert_int_equal(f->v.row_of[DOG], 0);
    assert_int_equal(f->v.row_of[THE], 1);
    assert_int_equal(f->v.row_of[CAT], -1);
    assert_string_equal(f->log, "");
}

static void blanks_and_line_ends(void **state) {
    fixture *f = *state;
    assert_int_equal(
        read_string(f, "the\t1\t2\r\ncat  3   4 \t \r\n\n \r\n 5 6\nb\u00E9b\u00E9 7 8"), LTH_OK);
    check_shape(f, 3, 2);
    check_row(f, THE, "1 2");
    check_row(f, CAT, "3 4");
    check_row(f, BABY, "7 8");
    assert_string_equal(f->log, "");
}

static void words_with_blanks(void **state) {
    fixture *f = *state;
    assert_int_equal(read_string(f, "a 1 2\n. . . 3 4\nthe at the 5 6\nthe 7 8\n"), LTH_OK);
    check_shape(f, 2, 2);
    check_row(f, DOTS, "3 4");
    check_row(f, THE, "7 8");
    assert_string_equal(f->log, "");
}

static void text_with_header(void **state) {
    fixture *f = *state;
    assert_int_equal(read_string(f, "3 2\n</s> 0 0\ncat 1 2\nthe 3 4 \n"), LTH_OK);
    check_shape(f, 2, 2);
    check_row(f, CAT, "1 2");
    check_row(f, THE, "3 4");
    assert_string_equal(f->log, "");

    assert_int_equal(read_string(f, "4 2\ncat 1 2\n"), LTH_OK);
    check_log(f, ": the header says 4 words, the file has 1");
}

/* After two whole numbers, one number a line: a header only if it says dimension 1. */
static void dimension_one(void **state) {
    fixture *f = *state;
    assert_int_equal(read_string(f, "3 7\ncat 8\n"), LTH_OK);
    check_shape(f, 2, 1);
    check_row(f, THREE, "7");
    check_row(f, CAT, "8");
    assert_string_equal(f->log, "");

    assert_int_equal(read_string(f, "3 1\n3 5\ncat 8\ndog 9\n"), LTH_OK);
    check_shape(f, 3, 1);
    check_row(f, THREE, "5");
    assert_string_equal(f->log, "");
}

static void binary(void **state) {
    fixture *f = *state;
    static const char plain[] = "3 2\nof " ONE ONE "cat " ONE MINUS_TWO "the " HALF ONE;
    static const char newlines[] = "3 2\nof " ONE ONE "\ncat " ONE MINUS_TWO "\nthe " HALF ONE "\n";
    const char *const bytes[] = {plain, newlines};
    const size_t lengths[] = {sizeof plain - 1, sizeof newlines - 1};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(read_bytes(f, bytes[i], lengths[i]), LTH_OK);
        check_shape(f, 2, 2);
        check_row(f, CAT, "1 -2");
        check_row(f, THE, "0.5 1");
        assert_string_equal(f->log, "");
    }
    assert_int_equal(read_bytes(f, "1 1\ncat " ONE "dog", 15), LTH_OK);
    check_shape(f, 1, 1);
    check_log(f, ": what follows word 1, the last by the header, is ignored");
}

static void binary_failures(void **state) {
    fixture *f = *state;
    CHECK_BINARY_FAILURE(f, "3 2\ncat " ONE ONE "dog " ONE, 0, 0,
                         "the file ends inside a vector after 1 word");
    CHECK_BINARY_FAILURE(f, "3 2\ncat " ONE ONE "of " ONE ONE, 0, 0, "the file ends after 2 words");
    CHECK_BINARY_FAILURE(f, "3 2\ncat " ONE ONE "do", 0, 0,
                         "the file ends inside a word after 1 word");
    CHECK_BINARY_FAILURE(f, "1 2\ncat " ONE INFINITE, 0, 0,
                         "a vector that is not finite after 0 words");
    CHECK_BINARY_FAILURE(f, "1 0\ncat \0\0\0\0 \1 \2", 1, 3,
                         "the header's dimension is not between 1 and 100000");
    char endless[8192] = "1 1\n\1";
    memset(endless + 5, 'x', sizeof endless - 5);
    check_failure(f, endless, sizeof endless, 0, 0, "a word without end after 0 words");
}

static void hostile_headers(void **state) {
    fixture *f = *state;
    check_text_failure(f, "3 0\ncat 1 2\n", 1, 3,
                       "the header's dimension is not between 1 and 100000");
    check_text_failure(f, "3  100001\ncat 1 2\n", 1, 4,
                       "the header's dimension is not between 1 and 100000");
    check_text_failure(f, "0 2\ncat 1 2\n", 1, 1,
                       "the header's number of words is not between 1 and 2147483647");
    check_text_failure(f, "99999999999999999999999 2\ncat 1 2\n", 1, 1,
                       "the header's number of words is not between 1 and 2147483647");
}

static void empty_files(void **state) {
    fixture *f = *state;
    check_text_failure(f, "", 0, 0, "the file is empty: word vectors were expected");
    check_text_failure(f, "\n \n", 0, 0, "the file is empty: word vectors were expected");
    check_text_failure(f, "the\nthe 1 2\n", 1, 0,
                       "0 numbers follow the first word, where vectors have 1 to 100000");
}

static void wrong_lengths(void **state) {
    fixture *f = *state;
    check_text_failure(f, "the 1 2\ncat 1 2 3\n", 2, 0, "3 numbers where earlier lines have 2");
    check_text_failure(f, "the 1 2\ncat 1\n", 2, 0, "1 number where earlier lines have 2");
    check_text_failure(f, "the 1 2\nunwanted 1 2\nunwanted 1 2 3\n", 3, 0,
                       "3 numbers where earlier lines have 2");
    check_text_failure(f, "the 1 2\n 1 2 3\n", 2, 0, "3 numbers where earlier lines have 2");
    check_text_failure(f, "2 3\nof 1 2 3\ncat 1 2\n", 3, 0, "2 numbers where the header says 3");
    check_text_failure(f, "2 3\ncat 1 2 3 4\n", 2, 0, "4 numbers where the header says 3");
}

/* Long lines, on which fields are counted in blocks. */
static void long_lines(void **state) {
    fixture *f = *state;
    enum { DIMENSION = 1000 };
    static char text[3 * 20 * DIMENSION];
    size_t used = 0, i;
    used += (size_t)sprintf(text + used, "unwanted");
    for (i = 0; i < DIMENSION; i++)
        used += (size_t)sprintf(text + used, "%*s%zu", 1 + (int)(i % 3), "", i);
    used += (size_t)sprintf(text + used, "\ncat");
    for (i = 0; i < DIMENSION; i++) used += (size_t)sprintf(text + used, "\t%zu.5", i);
    assert_int_equal(read_string(f, text), LTH_OK);
    check_shape(f, 1, DIMENSION);
    for (i = 0; i < DIMENSION; i++) assert_true(f->v.values[i] == (float)i + 0.5f);
    strcpy(text + used, " 7\n");
    check_text_failure(f, text, 2, 0, "1001 numbers where earlier lines have 1000");
}

static void bad_numbers(void **state) {
    fixture *f = *state;
    check_text_failure(f, "the 1 2\ncat 1 x2\n", 2, 7, "'x2' is not a number");
    check_text_failure(f, "the 1 2\ncat 1,5 2\n", 2, 5, "'1,5' is not a number");
    check_text_failure(f, "the 1 2\ncat nan 2\n", 2, 5, "'nan' is not a finite number");
    check_text_failure(f, "the 1 2\ncat 1 -inf\n", 2, 7, "'-inf' is not a finite number");
    check_text_failure(f, "the 1 2\ncat 1 1e39\n", 2, 7, "'1e39' is not a finite number");
    check_text_failure(f, "the 1 2\nb\u00E9b\u00E9 1 x\n", 2, 8, "'x' is not a number");
    check_text_failure(f, "the 1 2\ncat 1 \xff\n", 2, 7, "this is not a number");
    check_text_failure(f, "1 2\ncat 1 oops\n", 2, 7, "'oops' is not a number");
    /* Nobody asked for this word: its numbers are not looked at. */
    assert_int_equal(read_string(f, "the 1 2\nof nan x\n"), LTH_OK);
    check_shape(f, 1, 2);
}

static void repeated_words(void **state) {
    fixture *f = *state;
    assert_int_equal(read_string(f, "cat 1 2\nof 0 0\nof 0 0\ncat 3 4\n"), LTH_OK);
    check_shape(f, 1, 2);
    check_row(f, CAT, "1 2");
    check_log(f, ":4: 'cat' has a vector already; the first one is kept");

    assert_int_equal(read_string(f, "cat 1\ncat 2\ncat 3\ncat 4\ncat 5\ncat 6\ncat 7\ncat 8\n"),
                     LTH_OK);
    check_shape(f, 1, 1);
    check_row(f, CAT, "1");
    assert_non_null(strstr(f->log, ":6: 'cat' has"));
    assert_null(strstr(f->log, ":7: 'cat' has"));
    assert_non_null(strstr(f->log, ": 7 words in all came again; the first vectors are kept\n"));

    assert_int_equal(read_bytes(f, "2 1\ncat " ONE "cat " HALF, 20), LTH_OK);
    check_row(f, CAT, "1");
    check_log(f, ": word 2: 'cat' has a vector already; the first one is kept");
}

static void no_word_found(void **state) {
    fixture *f = *state;
    assert_int_equal(read_string(f, "of 1 2\n\xff\xfe 3 4\n"), LTH_OK);
    check_shape(f, 0, 2);
    check_log(f, ": no word of the data has a vector in this file");
}

static void gzipped(void **state) {
    fixture *f = *state;
    gzFile file = gzopen(f->path, "wb");
    assert_non_null(file);
    assert_int_equal(gzwrite(file, "2 2\ncat 1 2\nthe 3 4\n", 20), 20);
    gzclose(file);
    assert_int_equal(lth__vectors_read(&f->ctx, (lth__vector_source){.path = f->path},
                                       f->vocabulary, &f->v, &f->err),
                     LTH_OK);
    check_shape(f, 2, 2);
    check_row(f, THE, "3 4");
}

static void missing_file(void **state) {
    fixture *f = *state;
    assert_int_equal(lth__vectors_read(&f->ctx, (lth__vector_source){.path = "no/such/file.txt"},
                                       f->vocabulary, &f->v, &f->err),
                     LTH_EIO);
    assert_null(f->v.row_of);
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(glove),
        CASE(blanks_and_line_ends),
        CASE(words_with_blanks),
        CASE(text_with_header),
        CASE(dimension_one),
        CASE(binary),
        CASE(binary_failures),
        CASE(hostile_headers),
        CASE(empty_files),
        CASE(wrong_lengths),
        CASE(long_lines),
        CASE(bad_numbers),
        CASE(repeated_words),
        CASE(no_word_found),
        CASE(gzipped),
        CASE(missing_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
