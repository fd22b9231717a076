/* Tables read a slice at a time: the rows, lines and numbers of the whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/context.h"
#include "failing_allocator.h"
#include "luthier.h"

static lth_ctx ctx;
static char path[64];

static void write_file(const char *extension, const char *text) {
    snprintf(path, sizeof path, "test_table_stream_%d%s", (int)getpid(), extension);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
    assert_int_equal(fclose(f), 0);
}

static lth_table_stream *open_ok(const lth_table_options *options) {
    lth_table_stream *s = NULL;
    lth_error err = {0};
    assert_int_equal(lth_table_stream_open(&ctx, path, options, &s, &err), LTH_OK);
    return s;
}

static void check_row(const lth_table *whole, size_t at, const lth_table *slice, size_t row) {
    assert_int_equal(lth_table_line(slice, row), lth_table_line(whole, at));
    assert_int_equal(lth_table_number(slice, row), lth_table_number(whole, at));
    for (size_t c = 0; c < lth_table_columns(whole); c++) {
        size_t a, b;
        const char *x = lth_table_cell(whole, at, c, &a), *y = lth_table_cell(slice, row, c, &b);
        assert_int_equal(a, b);
        assert_memory_equal(x, y, a);
    }
}

static void check_slices(const lth_table *whole, const lth_table_options *options, size_t most) {
    lth_error err = {0};
    lth_table_stream *s = open_ok(options);
    size_t at = 0;
    for (;;) {
        lth_table *slice = NULL;
        assert_int_equal(lth_table_stream_next(s, most, &slice, &err), LTH_OK);
        if (!slice) break;
        size_t rows = lth_table_rows(slice);
        assert_true(rows > 0 && rows <= most);
        assert_string_equal(lth_table_name(slice), path);
        assert_int_equal(lth_table_columns(slice), lth_table_columns(whole));
        for (size_t c = 0; c < lth_table_columns(whole); c++)
            assert_string_equal(lth_table_column_name(slice, c), lth_table_column_name(whole, c));
        for (size_t r = 0; r < rows; r++) check_row(whole, at++, slice, r);
        lth_table_free(slice);
    }
    assert_int_equal(at, lth_table_rows(whole));
    lth_table *none = (lth_table *)&ctx;
    assert_int_equal(lth_table_stream_next(s, most, &none, &err), LTH_OK);
    assert_null(none); /* and there is no more */
    lth_table_stream_close(s);
}

static void check_file(const char *extension, const char *text, const char *where,
                       const char *column) {
    lth_table_options options;
    lth_table_options_init(&options);
    if (where) options.where = &where, options.where_count = 1;
    if (column) options.columns = &column, options.column_count = 1;
    write_file(extension, text);
    lth_table *whole = NULL;
    lth_error err = {0};
    assert_int_equal(lth_table_read(&ctx, path, &options, &whole, &err), LTH_OK);
    assert_true(lth_table_rows(whole) > 0);
    for (size_t most = 1; most <= lth_table_rows(whole) + 1; most++)
        check_slices(whole, &options, most);
    lth_table_free(whole);
    unlink(path);
}

static void formats(void **state) {
    (void)state;
    check_file(".tsv", "a\tb\n1\tx\n2\ty\n3\tx\n4\ty\n5\tx\n", NULL, NULL);
    check_file(".tsv", "a\tb\n1\tx\n2\ty\n\n", NULL, "b"); /* a blank last line */
    check_file(".tsv", "a\tb\n1\tx\n2\ty\n3\tx\n4\ty\n5\tx\n", "b=x", "a");
    check_file(".tsv", "a\n1\n2", NULL, NULL); /* no last newline */
    check_file(".csv", "a,b\n\"1\n1\",x\n\n2,y\n\"3\n\n\",x\n4,x\n\n", "b=x", NULL);
    check_file(".jsonl", "{\"a\":1}\n\n{\"a\":\"two\"}\n{\"a\":[3,4]}\n", NULL, NULL);
    check_file(".conllu",
               "# id = 1\n1\ta\t_\tX\t_\t_\t0\troot\t_\t_\n\n\n# id = 2\n"
               "1\tb\t_\tX\t_\t_\t0\troot\t_\t_\n2\tc\t_\tX\t_\t_\t1\tdep\t_\t_\n\n"
               "# id = 3\n1\td\t_\tX\t_\t_\t0\troot\t_\t_\n",
               NULL, NULL);
}

/* Rows of more than 16 MiB end a slice, at a multiple of 512 rows. */
static void long_rows(void **state) {
    (void)state;
    enum { ROWS = 1200, LENGTH = 40000 };
    char *text = malloc(ROWS * (LENGTH + 1) + 3);
    assert_non_null(text);
    char *at = stpcpy(text, "a\n");
    for (size_t i = 0; i < ROWS; i++) {
        memset(at, 'x', LENGTH);
        at[LENGTH] = '\n';
        at += LENGTH + 1;
    }
    *at = 0;
    write_file(".tsv", text);
    free(text);
    static const size_t wanted[] = {512, 512, ROWS - 1024};
    lth_table_stream *s = open_ok(NULL);
    lth_error err = {0};
    for (size_t i = 0; i < 3; i++) {
        lth_table *slice = NULL;
        assert_int_equal(lth_table_stream_next(s, 100000, &slice, &err), LTH_OK);
        assert_int_equal(lth_table_rows(slice), wanted[i]);
        lth_table_free(slice);
    }
    lth_table_stream_close(s);
    unlink(path);
}

static void mistakes(void **state) {
    (void)state;
    lth_error err = {0};
    lth_table *slice = NULL;
    lth_table_stream *s = NULL;
    assert_int_equal(lth_table_stream_open(&ctx, "missing.tsv", NULL, &s, &err), LTH_EIO);
    assert_int_equal(lth_table_stream_open(&ctx, NULL, NULL, &s, &err), LTH_EARG);
    assert_null(s);
    write_file(".tsv", "a\tb\n1\tx\n2\n3\ty\n");
    s = open_ok(NULL);
    assert_int_equal(lth_table_stream_next(s, 0, &slice, &err), LTH_EARG);
    assert_int_equal(lth_table_stream_next(s, 1, &slice, &err), LTH_OK);
    assert_int_equal(lth_table_rows(slice), 1);
    lth_table_free(slice);
    slice = NULL;
    assert_int_equal(lth_table_stream_next(s, 1, &slice, &err), LTH_EFORMAT);
    assert_null(slice);
    assert_int_equal(err.line, 3);
    assert_string_equal(err.file, path);
    lth_table_stream_close(s);
    write_file(".tsv", "");
    s = open_ok(NULL);
    assert_int_equal(lth_table_stream_next(s, 1, &slice, &err), LTH_EFORMAT);
    lth_table_stream_close(s);
    write_file(".tsv", "a\tb\n");
    s = open_ok(NULL);
    assert_int_equal(lth_table_stream_next(s, 1, &slice, &err), LTH_OK);
    assert_null(slice);
    lth_table_stream_close(s);
    lth_table_stream_close(NULL);
    unlink(path);
}

static lth_status read_all(void *options, lth_error *err) {
    lth_table_stream *s = NULL;
    lth_table *slice = NULL;
    lth_status status = lth_table_stream_open(&ctx, path, options, &s, err);
    while (status == LTH_OK) {
        slice = NULL;
        status = lth_table_stream_next(s, 2, &slice, err);
        if (!slice) break;
        lth_table_free(slice);
    }
    assert_null(slice);
    lth_table_stream_close(s);
    return status;
}

static void each_allocation_fails(void **state) {
    (void)state;
    lth_table_options options;
    lth_table_options_init(&options);
    const char *where = "b=x,y";
    options.where = &where;
    options.where_count = 1;
    write_file(".csv", "a,b\n1,x\n\"2\n2\",y\n3,x\n4,z\n5,x\n");
    fail_each(read_all, &options, false, 10);
    unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats),
        cmocka_unit_test(long_rows),
        cmocka_unit_test(mistakes),
        cmocka_unit_test(each_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
