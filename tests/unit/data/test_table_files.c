/* Tables of several files: their rows one after the other, each with its file, line and number. */
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
#include "gp_support.h"
#include "luthier.h"

static lth_ctx ctx;

enum { FILES = 4 };
static const char *const names[FILES] = {"files_a.tsv", "files_b.csv", "files_c.jsonl",
                                         "files_d.fa"};
static const char *const texts[FILES] = {
    "id\tsequence\n1\tx\n2\ty\n",
    "sequence,id,more\n\"z\nz\",3,\n\n",
    "{\"id\": 4, \"sequence\": \"u\"}\n{\"id\": 5, \"sequence\": \"v\"}\n",
    ">6 file=q\nAC\nGT\n>7\nA\n",
};
static const char *const wanted[] = {"sequence", "id", "from"};

static void write_file(const char *path, const char *text) {
    support_write(path, text, strlen(text));
}

static lth_table_options all_files(void) {
    lth_table_options o;
    lth_table_options_init(&o);
    o.columns = wanted;
    o.column_count = 3;
    o.more = names + 1;
    o.more_count = FILES - 1;
    o.file_column = "from";
    return o;
}

static int make_files(void **state) {
    (void)state;
    for (size_t i = 0; i < FILES; i++) write_file(names[i], texts[i]);
    return 0;
}

static int remove_files(void **state) {
    (void)state;
    for (size_t i = 0; i < FILES; i++) unlink(names[i]);
    return 0;
}

static void check_cell(const lth_table *t, size_t row, size_t column, const char *text) {
    size_t length;
    const char *cell = lth_table_cell(t, row, column, &length);
    assert_int_equal(length, strlen(text));
    assert_memory_equal(cell, text, length);
}

static const struct {
    const char *file, *name, *id, *sequence;
    size_t line;
} rows[] = {
    {"files_a.tsv", "files_a", "1", "x", 2},    {"files_a.tsv", "files_a", "2", "y", 3},
    {"files_b.csv", "files_b", "3", "z\nz", 2}, {"files_c.jsonl", "files_c", "4", "u", 1},
    {"files_c.jsonl", "files_c", "5", "v", 2},  {"files_d.fa", "files_d", "6", "ACGT", 1},
    {"files_d.fa", "files_d", "7", "A", 4},
};
enum { ROWS = sizeof rows / sizeof *rows };

static void check_row(const lth_table *t, size_t row, size_t i) {
    assert_string_equal(lth_table_file(t, row), rows[i].file);
    assert_int_equal(lth_table_line(t, row), rows[i].line);
    assert_int_equal(lth_table_number(t, row), i + 1);
    check_cell(t, row, 0, rows[i].sequence);
    check_cell(t, row, 1, rows[i].id);
    check_cell(t, row, 2, rows[i].name);
}

static void rows_follow_each_other(void **state) {
    (void)state;
    lth_table_options o = all_files();
    lth_table *t = NULL;
    lth_error err = {0};
    assert_int_equal(lth_table_read(&ctx, names[0], &o, &t, &err), LTH_OK);
    assert_int_equal(lth_table_rows(t), ROWS);
    assert_string_equal(lth_table_name(t), names[0]);
    for (size_t i = 0; i < ROWS; i++) check_row(t, i, i);
    lth_table_free(t);
}

static void slices_are_the_whole(void **state) {
    (void)state;
    lth_table_options o = all_files();
    for (size_t most = 1; most <= ROWS + 1; most++) {
        lth_table_stream *s = NULL;
        lth_error err = {0};
        size_t at = 0;
        assert_int_equal(lth_table_stream_open(&ctx, names[0], &o, &s, &err), LTH_OK);
        for (;;) {
            lth_table *slice = NULL;
            assert_int_equal(lth_table_stream_next(s, most, &slice, &err), LTH_OK);
            if (!slice) break;
            size_t count = lth_table_rows(slice);
            assert_int_equal(count, most < ROWS - at ? most : ROWS - at);
            for (size_t i = 0; i < count; i++) check_row(slice, i, at++);
            lth_table_free(slice);
        }
        assert_int_equal(at, ROWS);
        lth_table_stream_close(s);
    }
}

static void files_are_filtered(void **state) {
    (void)state;
    lth_table_options o = all_files();
    const char *where = "from=files_b,files_d";
    o.where = &where;
    o.where_count = 1;
    lth_table *t = NULL;
    assert_int_equal(lth_table_read(&ctx, names[0], &o, &t, NULL), LTH_OK);
    assert_int_equal(lth_table_rows(t), 3);
    for (size_t i = 0; i < 3; i++) check_row(t, i, (size_t[]){2, 5, 6}[i]);
    lth_table_free(t);
}

static lth_error refused(const char *first, const lth_table_options *o, lth_status status) {
    lth_table *t = NULL;
    lth_error err = {0};
    assert_int_equal(lth_table_read(&ctx, first, o, &t, &err), status);
    assert_null(t);
    return err;
}

static void mistakes(void **state) {
    (void)state;
    lth_table_options o = all_files();
    o.columns = NULL; /* all of the first, and no others */
    lth_error err = refused(names[0], &o, LTH_EFORMAT);
    assert_string_equal(err.file, "files_b.csv");
    assert_string_equal(err.message,
                        "the column \"more\" is not in the first table: all have the same");
    err = refused(names[1], &o, LTH_EARG); /* which is among the others too */
    assert_string_equal(err.message, "rows get the names of their files, but files_b.csv and "
                                     "files_b.csv are both \"files_b\"");
    o = all_files();
    o.file_column = "id";
    err = refused(names[0], &o, LTH_EFORMAT);
    assert_string_equal(err.file, "files_a.tsv");
    o = all_files();
    o.file_column = "";
    refused(names[0], &o, LTH_EARG);
    o = all_files();
    o.more = NULL;
    refused(names[0], &o, LTH_EARG);
    const char *missing = "files_none.tsv", *streams = "-";
    o = all_files();
    o.more = &missing;
    o.more_count = 1;
    refused(names[0], &o, LTH_EIO);
    o.more = &streams;
    o.file_column = NULL;
    err = refused("-", &o, LTH_EARG);
    assert_string_equal(err.message, "standard input can be read only once");
}

/* A word or comment of that name is not the column. */
static void names_do_not_collide(void **state) {
    (void)state;
    lth_table_options o = all_files();
    static const char *const columns[] = {"sequence", "file"};
    write_file("files_e.fa", ">6\nAC\n>7 file=q\nA\n");
    o.columns = columns;
    o.column_count = 2;
    o.file_column = "file";
    o.more_count = 0;
    lth_table *t = NULL;
    assert_int_equal(lth_table_read(&ctx, "files_e.fa", &o, &t, NULL), LTH_OK);
    check_cell(t, 1, 1, "files_e");
    lth_table_free(t);
    unlink("files_e.fa");
}

static lth_status read_all(void *options, lth_error *err) {
    lth_table_stream *s = NULL;
    lth_status status = lth_table_stream_open(&ctx, names[0], options, &s, err);
    while (status == LTH_OK) {
        lth_table *slice = NULL;
        status = lth_table_stream_next(s, 2, &slice, err);
        if (!slice) break;
        lth_table_free(slice);
    }
    lth_table_stream_close(s);
    return status;
}

static void each_allocation_fails(void **state) {
    (void)state;
    lth_table_options o = all_files();
    o.more_count = 1; /* JSON is read by a library with memory of its own */
    fail_each(read_all, &o, false, 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_follow_each_other), cmocka_unit_test(slices_are_the_whole),
        cmocka_unit_test(files_are_filtered),     cmocka_unit_test(mistakes),
        cmocka_unit_test(names_do_not_collide),   cmocka_unit_test(each_allocation_fails),
    };
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
