/* Tables: the three formats, their errors with exact places, columns, filters. */
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

#include "base/context.h"
#include "data/table.h"
#include "luthier.h"

static lth_ctx ctx;
static char path[64];

/* ---- Helpers -------------------------------------------------------------------------------- */

static void write_file(const char *extension, const void *bytes, size_t size) {
    snprintf(path, sizeof path, "test_table_%d%s", (int)getpid(), extension);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

static void write_gz(const char *extension, const void *bytes, size_t size) {
    snprintf(path, sizeof path, "test_table_%d%s", (int)getpid(), extension);
    gzFile f = gzopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(gzwrite(f, bytes, (unsigned)size), size);
    assert_int_equal(gzclose(f), Z_OK);
}

static lth_table *read_ok(const lth_table_options *options) {
    lth_error err = {0};
    lth_table *table = NULL;
    lth_status status = lth_table_read(&ctx, path, options, &table, &err);
    if (status != LTH_OK) print_error("%zu:%zu: %s\n", err.line, err.column, err.message);
    assert_int_equal(status, LTH_OK);
    unlink(path);
    return table;
}

static lth_table *table_of_bytes(const char *extension, const void *bytes, size_t size) {
    write_file(extension, bytes, size);
    return read_ok(NULL);
}

static lth_table *table_of(const char *extension, const char *text) {
    return table_of_bytes(extension, text, strlen(text));
}

static lth_error error_with(const char *extension, const void *bytes, size_t size,
                            const lth_table_options *options, lth_status wanted) {
    lth_error err = {0};
    lth_table *table = (lth_table *)&err;
    write_file(extension, bytes, size);
    assert_int_equal(lth_table_read(&ctx, path, options, &table, &err), wanted);
    assert_int_equal(err.status, wanted);
    assert_ptr_equal(table, &err); /* out-pointers are written only on success */
    if (wanted == LTH_EFORMAT) assert_string_equal(err.file, path);
    unlink(path);
    return err;
}

static void fails_bytes(const char *extension, const void *bytes, size_t size, size_t line,
                        size_t column, const char *message) {
    lth_error err = error_with(extension, bytes, size, NULL, LTH_EFORMAT);
    assert_string_equal(err.message, message);
    assert_int_equal(err.line, line);
    assert_int_equal(err.column, column);
}

static void fails(const char *extension, const char *text, size_t line, size_t column,
                  const char *message) {
    fails_bytes(extension, text, strlen(text), line, column, message);
}

static void check_cell(const lth_table *table, size_t row, size_t column, const char *wanted) {
    size_t length;
    const char *cell = lth_table_cell(table, row, column, &length);
    assert_non_null(cell);
    assert_int_equal(length, strlen(wanted));
    assert_memory_equal(cell, wanted, length);
}

static void check_size(const lth_table *table, size_t rows, size_t columns) {
    assert_int_equal(lth_table_rows(table), rows);
    assert_int_equal(lth_table_columns(table), columns);
}

static lth_table_options with_columns(const char *const *columns, size_t count) {
    lth_table_options o;
    lth_table_options_init(&o);
    o.columns = columns;
    o.column_count = count;
    return o;
}

static lth_table_options with_where(const char *const *where, size_t count) {
    lth_table_options o;
    lth_table_options_init(&o);
    o.where = where;
    o.where_count = count;
    return o;
}

/* ---- TSV ------------------------------------------------------------------------------------ */

static void tsv_is_read(void **state) {
    (void)state;
    lth_table *t = table_of(".tsv", "text\tscore\nthe \"cat\"\t1\n\t\nd\xC3\xA9j\xC3\xA0 vu\t-2.5");
    check_size(t, 3, 2);
    assert_string_equal(lth_table_column_name(t, 0), "text");
    assert_string_equal(lth_table_column_name(t, 1), "score");
    assert_null(lth_table_column_name(t, 2));
    assert_int_equal(lth_table_find(t, "score"), 1);
    assert_int_equal(lth_table_find(t, "scor"), LTH_NONE);
    check_cell(t, 0, 0, "the \"cat\"");
    check_cell(t, 0, 1, "1");
    check_cell(t, 1, 0, "");
    check_cell(t, 1, 1, "");
    check_cell(t, 2, 0, "d\xC3\xA9j\xC3\xA0 vu");
    check_cell(t, 2, 1, "-2.5");
    assert_int_equal(lth_table_line(t, 0), 2);
    assert_int_equal(lth_table_line(t, 2), 4);
    assert_string_equal(lth_table_name(t), path);
    assert_null(lth_table_cell(t, 3, 0, NULL));
    assert_null(lth_table_cell(t, 0, 2, NULL));
    lth_table_free(t);
}

static void small_files(void **state) {
    (void)state;
    static const char *const header_only[] = {"a\tb", "a\tb\n", "a\tb\r\n", "a\tb\n\n"};
    for (size_t i = 0; i < sizeof header_only / sizeof *header_only; i++) {
        lth_table *t = table_of(".tsv", header_only[i]);
        check_size(t, 0, 2);
        lth_table_free(t);
    }
    lth_table *t = table_of(".csv", "a,b\n");
    check_size(t, 0, 2);
    lth_table_free(t);
    t = table_of(".tsv", "a\nx");
    check_size(t, 1, 1);
    check_cell(t, 0, 0, "x");
    lth_table_free(t);
}

static void mark_and_carriage_returns_are_dropped(void **state) {
    (void)state;
    static const char *const text[][2] = {
        {".tsv", "\xEF\xBB\xBF"
                 "a\tb\r\n1\t2\r\n3\t4\r\n"},
        {".csv", "\xEF\xBB\xBF"
                 "a,b\r\n1,2\r\n\"3\",4\r\n\r\n"},
        {".jsonl", "\xEF\xBB\xBF{\"a\":1,\"b\":2}\r\n{\"b\":\"4\",\"a\":\"3\"}\r\n"},
    };
    for (size_t i = 0; i < 3; i++) {
        lth_table *t = table_of(text[i][0], text[i][1]);
        check_size(t, 2, 2);
        assert_string_equal(lth_table_column_name(t, 0), "a");
        check_cell(t, 0, 0, "1");
        check_cell(t, 0, 1, "2");
        check_cell(t, 1, 0, "3");
        check_cell(t, 1, 1, "4");
        lth_table_free(t);
    }
}

static void blank_lines(void **state) {
    (void)state;
    lth_table *t = table_of(".tsv", "a\nx\n\ny\n\n"); /* one column: a blank line is a cell */
    check_size(t, 3, 1);
    check_cell(t, 1, 0, "");
    check_cell(t, 2, 0, "y");
    lth_table_free(t);
    fails(".tsv", "a\tb\n1\t2\n\n3\t4\n", 3, 1, "1 field where the header has 2");
    t = table_of(".csv", "\na,b\n\n1,2\n\n\n3,4\n\n");
    check_size(t, 2, 2);
    assert_int_equal(lth_table_line(t, 0), 4);
    assert_int_equal(lth_table_line(t, 1), 7);
    lth_table_free(t);
    t = table_of(".jsonl", "\n{\"a\":1}\n  \t\n{\"a\":2}\n\n");
    check_size(t, 2, 1);
    assert_int_equal(lth_table_line(t, 0), 2);
    assert_int_equal(lth_table_line(t, 1), 4);
    lth_table_free(t);
}

static void headers_are_checked(void **state) {
    (void)state;
    const char *empty = "the file is empty; a header line is needed";
    fails(".tsv", "", 1, 1, empty);
    fails(".tsv", "\n", 1, 1, empty);
    fails(".tsv", "\xEF\xBB\xBF", 1, 1, empty);
    fails(".csv", "", 1, 1, empty);
    fails(".csv", "\n\r\n\n", 1, 1, empty);
    fails(".jsonl", "\n \n", 1, 1, "the file is empty; a JSON object on each line is needed");
    fails(".tsv", "\xC3\xA9\tb\t\xC3\xA9\n", 1, 5, "two columns have the name \"\xC3\xA9\"");
    fails(".csv", "a,\"a\"\n", 1, 3, "two columns have the name \"a\"");
    fails(".tsv", "a\t\tb\n", 1, 3, "column 2 of the header has no name");
    fails(".tsv", "\na\n", 1, 1, "column 1 of the header has no name");
    fails(".csv", "a,\n", 1, 3, "column 2 of the header has no name");
    fails(".jsonl", "{}\n", 1, 1, "the first object has no keys; they name the columns");
}

static void field_counts_are_checked(void **state) {
    (void)state;
    fails(".tsv", "a\tb\tc\td\nw\tx\ty\tz\n\xC3\xA9\tx\ty\n", 3, 6,
          "3 fields where the header has 4");
    fails(".tsv", "a\tb\n1\t2\n\xC3\xA9t\t2\t3\t4\t5\n", 3, 6, "5 fields where the header has 2");
    fails(".csv", "a,b\n\"1\n2\"\n", 3, 3, "1 field where the header has 2");
    fails(".csv", "a,b\n\"1\n2\",x,\"y\",z\n", 3, 6, "4 fields where the header has 2");
}

static void bad_bytes_have_a_place(void **state) {
    (void)state;
    static const char *const rows[] = {".tsv", ".csv", ".jsonl"};
    for (size_t i = 0; i < 3; i++) {
        fails(rows[i], "\xC3\xA9\xFF\n", 1, 2, "byte 0xFF is not valid UTF-8");
        fails_bytes(rows[i], "a\0b\n", 4, 1, 2, "byte 0x00 (NUL) is not text");
    }
    fails(".tsv", "a\tb\n1\t2\n\xC3\xA9\t\xC0\x80\n", 3, 3, "byte 0xC0 is not valid UTF-8");
    fails(".csv", "a,b\n\"1\n\xE2\x82\",2\n", 3, 1, "byte 0xE2 is not valid UTF-8");
    fails(".jsonl", "{\"a\":1}\n{\"a\":\"\xED\xA0\x80\"}\n", 2, 7, "byte 0xED is not valid UTF-8");
    fails_bytes(".tsv", "a\nxy\0z\n", 7, 2, 3, "byte 0x00 (NUL) is not text");
}

/* ---- CSV ------------------------------------------------------------------------------------ */

static void csv_is_read(void **state) {
    (void)state;
    lth_table *t = table_of(".csv", "\"a\",\"b \"\"c\"\"\",d\n"
                                    "1,\"x,y\",\n"
                                    "\"\",\"two\n\nlines, \"\"quoted\"\"\r\nend\",\"\"\"\"\n"
                                    "in\"side,\ttab,last");
    check_size(t, 3, 3);
    assert_string_equal(lth_table_column_name(t, 1), "b \"c\"");
    check_cell(t, 0, 0, "1");
    check_cell(t, 0, 1, "x,y");
    check_cell(t, 0, 2, "");
    check_cell(t, 1, 0, "");
    check_cell(t, 1, 1, "two\n\nlines, \"quoted\"\nend");
    check_cell(t, 1, 2, "\"");
    check_cell(t, 2, 0, "in\"side");
    check_cell(t, 2, 1, "\ttab");
    check_cell(t, 2, 2, "last");
    assert_int_equal(lth_table_line(t, 0), 2);
    assert_int_equal(lth_table_line(t, 1), 3);
    assert_int_equal(lth_table_line(t, 2), 7);
    lth_table_free(t);
    t = table_of(".csv", "a\n\"\"\nx\n"); /* the way to write an empty cell in one column */
    check_size(t, 2, 1);
    check_cell(t, 0, 0, "");
    lth_table_free(t);
}

static void csv_quotes_are_checked(void **state) {
    (void)state;
    fails(".csv", "a,b\n1,2\n\xC3\xA9,\"open\n\nmore\n", 3, 3, "this quote is never closed");
    fails(".csv", "\"a", 1, 1, "this quote is never closed");
    const char *after = "text after a closing quote; a quote inside quotes is written twice";
    fails(".csv", "a,b\n\"\xC3\xA9\"x,2\n", 2, 4, after);
    fails(".csv", "a,b\n1,\"x\ny\" \n", 3, 3, after);
}

/* ---- JSONL ---------------------------------------------------------------------------------- */

static void jsonl_is_read(void **state) {
    (void)state;
    lth_table *t = table_of(
        ".ndjson", "{\"text\": \"a\\tb\\n\\u00e9\", \"n\": 0.1, \"extra\": true}\n"
                   "{\"n\": -12, \"text\": [\"the\", \"cat\", 3, 1e300, false], \"extra\": "
                   "null, \"new\": {}}\n"
                   "{\"n\": 9223372036854775807, \"extra\": [], \"text\": \"\"}");
    check_size(t, 3, 3);
    assert_string_equal(lth_table_column_name(t, 2), "extra");
    check_cell(t, 0, 0, "a\tb\n\xC3\xA9");
    check_cell(t, 0, 1, "0.1");
    check_cell(t, 0, 2, "true");
    check_cell(t, 1, 0, "the cat 3 1e+300 false");
    check_cell(t, 1, 1, "-12");
    check_cell(t, 1, 2, "");
    check_cell(t, 2, 1, "9223372036854775807");
    check_cell(t, 2, 0, "");
    check_cell(t, 2, 2, "");
    lth_table_free(t);
}

static void jsonl_errors(void **state) {
    (void)state;
    fails(".jsonl", "{\"a\":1}\n{\"b\":2}\n", 2, 1, "no key \"a\"");
    fails(".jsonl", "{\"a\":1}\n\n[1]\n", 3, 1, "the line is not a JSON object");
    fails(".jsonl", "3\n", 1, 1, "the line is not a JSON object");
    fails(".jsonl", "{\"a\":{}}\n", 1, 1,
          "the value of \"a\" is an object; a text, a number or a list of these is needed");
    fails(".jsonl", "{\"a\":[[]]}\n", 1, 1,
          "the value of \"a\" is a list of other things; a text, a number or a list of these is "
          "needed");
    fails(".jsonl", "{\"a\":\"\\u0000\"}\n", 1, 13, "JSON: \\u0000 is not text");
    fails(".jsonl", "{\"a\":1}\n{\"a\":1,\"a\":2}\n", 2, 10,
          "JSON: duplicate object key near '\"a\"'");
    fails(".jsonl", "{\"\xC3\xA9\":1}\n{\"\xC3\xA9\":x}\n", 2, 6, "JSON: invalid token near 'x'");
    fails(".jsonl", "{\"a\":1} 2\n", 1, 9, "JSON: end of file expected near '2'");
}

static void deep_json_is_refused(void **state) {
    (void)state;
    enum { DEPTH = 200000 };
    char *text = malloc(DEPTH + 5);
    memcpy(text, "{\"a\":", 5);
    memset(text + 5, '[', DEPTH);
    lth_error err = error_with(".jsonl", text, DEPTH + 5, NULL, LTH_EFORMAT);
    assert_int_equal(err.line, 1);
    assert_non_null(strstr(err.message, "depth"));
    free(text);
}

/* ---- Columns and filters -------------------------------------------------------------------- */

static void wanted_columns_are_kept(void **state) {
    (void)state;
    static const char *const wanted[] = {"f9..f11", "text", "f10", "x..y", "g01..g02"};
    lth_table_options o = with_columns(wanted, 5);
    const char *text = "text\tid\tf11\tf10\tf9\tf1\tx..y\tg02\tg01\nT\tI\t11\t10\t9\t1\tXY\t2\t1\n";
    write_file(".tsv", text, strlen(text));
    lth_table *t = read_ok(&o);
    static const char *const names[] = {"f9", "f10", "f11", "text", "x..y", "g01", "g02"};
    static const char *const cells[] = {"9", "10", "11", "T", "XY", "1", "2"};
    check_size(t, 1, 7);
    for (size_t i = 0; i < 7; i++) {
        assert_string_equal(lth_table_column_name(t, i), names[i]);
        check_cell(t, 0, i, cells[i]);
    }
    assert_int_equal(lth_table_find(t, "id"), LTH_NONE);

    size_t *found = NULL, count = 0, capacity = 0;
    lth_error err;
    assert_int_equal(
        lth__columns_find(t->columns, "f9..f11", t->name, 1, &found, &count, &capacity, &err), 0);
    assert_int_equal(count, 3);
    assert_int_equal(found[2], 2);
    lth__free(found);
    lth_table_free(t);
}

static void only_needed_keys_are_looked_at(void **state) {
    (void)state;
    static const char *const wanted[] = {"b"};
    lth_table_options o = with_columns(wanted, 1);
    const char *text = "{\"a\":{},\"b\":1}\n{\"b\":2}\n";
    write_file(".jsonl", text, strlen(text));
    lth_table *t = read_ok(&o);
    check_size(t, 2, 1);
    check_cell(t, 0, 0, "1");
    check_cell(t, 1, 0, "2");
    lth_table_free(t);
}

static lth_error column_error(const char *column, const char *text, lth_status status) {
    lth_table_options o = with_columns(&column, 1);
    return error_with(".tsv", text, strlen(text), &o, status);
}

static void missing_columns_are_named(void **state) {
    (void)state;
    lth_error err = column_error("txt", "id\ttext\tscore\n", LTH_EFORMAT);
    assert_string_equal(
        err.message, "no column \"txt\"; did you mean \"text\"? The columns are: id, text, score");
    assert_int_equal(err.line, 1);
    assert_int_equal(err.column, 1);
    err = column_error("zzzzzz", "id\ttext\n", LTH_EFORMAT);
    assert_string_equal(err.message, "no column \"zzzzzz\"; the columns are: id, text");
    err = column_error("f1..f4", "f1\tf2\tf4\n", LTH_EFORMAT);
    assert_non_null(strstr(err.message, "no column \"f3\";"));
    err = column_error("f1..g4", "f1\tf2\tf4\n", LTH_EFORMAT);
    assert_non_null(strstr(err.message, "no column \"f1..g4\";"));
    err = column_error("f4..f1", "f1\tf2\tf4\n", LTH_EARG);
    assert_string_equal(err.message, "the range \"f4..f1\" runs backwards");
}

static void long_lists_of_columns_are_cut(void **state) {
    (void)state;
    char text[4096];
    size_t used = 0;
    for (int i = 0; i < 300; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "col%d\t", i);
    text[used - 1] = '\n';
    const char *missing = "nothing like it";
    lth_table_options o = with_columns(&missing, 1);
    lth_error err = error_with(".tsv", text, used, &o, LTH_EFORMAT);
    size_t length = strlen(err.message);
    assert_true(length < 300);
    assert_string_equal(err.message + length - 5, ", ...");
}

static void where_filters_rows(void **state) {
    (void)state;
    static const char *const where[] = {"split=train,dev", "lang=en"};
    static const char *const wanted[] = {"text"};
    const char *text =
        "text,split,lang\na,train,en\nb,test,en\n\"c\n\",dev,en\nd,dev,de\ne,train,en\n"
        "f,,en\ng,trai,en\nh,trains,en\n";
    lth_table_options o = with_where(where, 2);
    o.columns = wanted;
    o.column_count = 1;
    write_file(".csv", text, strlen(text));
    lth_table *t = read_ok(&o);
    check_size(t, 3, 1);
    check_cell(t, 0, 0, "a");
    check_cell(t, 1, 0, "c\n");
    check_cell(t, 2, 0, "e");
    assert_int_equal(lth_table_line(t, 0), 2);
    assert_int_equal(lth_table_line(t, 1), 4);
    assert_int_equal(lth_table_line(t, 2), 7);
    lth_table_free(t);

    static const char *const empty[] = {"split="}, *const none[] = {"lang=fr"};
    o = with_where(empty, 1);
    write_file(".csv", text, strlen(text));
    t = read_ok(&o);
    check_size(t, 1, 3);
    check_cell(t, 0, 0, "f");
    lth_table_free(t);
    o = with_where(none, 1);
    write_file(".csv", text, strlen(text));
    t = read_ok(&o);
    check_size(t, 0, 3);
    lth_table_free(t);
}

static void bad_arguments_are_refused(void **state) {
    (void)state;
    static const char *const bad[] = {"split", "", "=x", NULL};
    for (size_t i = 0; i < 4; i++) {
        lth_table_options o = with_where(&bad[i], 1);
        error_with(".tsv", "split\n", 6, &o, LTH_EARG);
    }
    const char *missing = "splt=x";
    lth_table_options o = with_where(&missing, 1);
    lth_error err = error_with(".tsv", "split\n", 6, &o, LTH_EFORMAT);
    assert_string_equal(err.message,
                        "no column \"splt\"; did you mean \"split\"? The columns are: split");
    lth_table_options_init(&o);
    o.size = 0;
    error_with(".tsv", "a\n", 2, &o, LTH_EARG);
    lth_table_options_init(&o);
    o.format = (lth_table_format)99;
    error_with(".tsv", "a\n", 2, &o, LTH_EARG);
    lth_table *t;
    assert_int_equal(lth_table_read(&ctx, "no/such/file.tsv", NULL, &t, NULL), LTH_EIO);
}

/* ---- Formats by name, gzip ------------------------------------------------------------------ */

static void format_follows_the_extension(void **state) {
    (void)state;
    static const char *const tsv[] = {".tsv", ".tab", ".txt", ".dat", "", ".csv.old"};
    static const char *const csv[] = {".csv", ".CSV"}, *const json[] = {".jsonl", ".ndjson"};
    for (size_t i = 0; i < 6; i++) {
        lth_table *t = table_of(tsv[i], "a,b\tc\n");
        check_size(t, 0, 2);
        lth_table_free(t);
    }
    for (size_t i = 0; i < 2; i++) {
        lth_table *t = table_of(csv[i], "a,b,c\td\n");
        check_size(t, 0, 3);
        lth_table_free(t);
        t = table_of(json[i], "{\"a\":1}");
        check_size(t, 1, 1);
        lth_table_free(t);
    }
    lth_table_options o;
    lth_table_options_init(&o);
    o.format = LTH_TABLE_CSV;
    write_file(".jsonl", "a,b\n", 4);
    lth_table *t = read_ok(&o);
    check_size(t, 0, 2);
    lth_table_free(t);
}

static void gzip_is_read(void **state) {
    (void)state;
    static const char *const file[][2] = {{".tsv.gz", "a\tb\n1\t2\n"},
                                          {".csv.gz", "a,b\n1,\"2\"\n"},
                                          {".jsonl.gz", "{\"a\":1,\"b\":\"2\"}\n"}};
    for (size_t i = 0; i < 3; i++) {
        write_gz(file[i][0], file[i][1], strlen(file[i][1]));
        lth_table *t = read_ok(NULL);
        check_size(t, 1, 2);
        check_cell(t, 0, 0, "1");
        check_cell(t, 0, 1, "2");
        lth_table_free(t);
    }
}

/* ---- Long rows --------------------------------------------------------------------------------
 */

static void long_rows_are_read(void **state) {
    (void)state;
    enum { SIZE = 3000000 };
    char *text = malloc(SIZE + 64);
    static const char *const extension[] = {".tsv", ".csv"};
    for (size_t n = 0; n < 2; n++) {
        int used = sprintf(text, "a%cb\nx%c", n ? ',' : '\t', n ? ',' : '\t');
        for (size_t i = 0; i < SIZE; i++) text[(size_t)used + i] = (char)('a' + i % 26);
        memcpy(text + used + SIZE, n ? "\ny,z\n" : "\ny\tz\n", 5);
        lth_table *t = table_of_bytes(extension[n], text, (size_t)used + SIZE + 5);
        check_size(t, 2, 2);
        size_t length;
        const char *cell = lth_table_cell(t, 0, 1, &length);
        assert_int_equal(length, SIZE);
        assert_memory_equal(cell, text + used, SIZE);
        check_cell(t, 1, 0, "y");
        check_cell(t, 1, 1, "z");
        lth_table_free(t);
    }
    free(text);
}

static void bad_byte_far_in_a_long_row(void **state) {
    (void)state;
    char *text = malloc(200010);
    memcpy(text, "a\n", 2);
    for (size_t i = 0; i < 100000; i++) memcpy(text + 2 + 2 * i, "\xC3\xA9", 2);
    text[200002] = '\x80';
    text[200003] = '\n';
    fails_bytes(".tsv", text, 200004, 2, 100001, "byte 0x80 is not valid UTF-8");
    free(text);
}

/* ---- Numbers ------------------------------------------------------------------- */

static void numbers_are_checked(void **state) {
    (void)state;
    lth_table *t =
        table_of(".tsv", "id\tscore\n1\t-2.5e3\n2\tabc\n3\t\n4\tnan\n5\tinf\n6\t1e999\n");
    lth_error err;
    double value = 0;
    assert_int_equal(lth__table_number(t, 0, 1, &value, &err), LTH_OK);
    assert_true(value == -2500);
    for (size_t row = 1; row < 6; row++) {
        assert_int_equal(lth__table_number(t, row, 1, &value, &err), LTH_EFORMAT);
        assert_int_equal(err.line, row + 2);
        assert_string_equal(err.file, path);
        if (row == 1)
            assert_string_equal(err.message, "\"abc\" in column \"score\" is not a number");
        if (row == 2) assert_string_equal(err.message, "\"\" in column \"score\" is not a number");
    }
    assert_true(value == -2500);
    assert_int_equal(lth__table_number(t, 6, 1, &value, &err), LTH_EARG);
    lth_table_free(t);

    /* cut between characters */
    t = table_of(".tsv", "y\naaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\xC3\xA9zz\n");
    assert_int_equal(lth__table_number(t, 0, 0, &value, &err), LTH_EFORMAT);
    assert_string_equal(err.message, "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...\" in "
                                     "column \"y\" is not a number");
    lth_table_free(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tsv_is_read),
        cmocka_unit_test(small_files),
        cmocka_unit_test(mark_and_carriage_returns_are_dropped),
        cmocka_unit_test(blank_lines),
        cmocka_unit_test(headers_are_checked),
        cmocka_unit_test(field_counts_are_checked),
        cmocka_unit_test(bad_bytes_have_a_place),
        cmocka_unit_test(csv_is_read),
        cmocka_unit_test(csv_quotes_are_checked),
        cmocka_unit_test(jsonl_is_read),
        cmocka_unit_test(jsonl_errors),
        cmocka_unit_test(deep_json_is_refused),
        cmocka_unit_test(wanted_columns_are_kept),
        cmocka_unit_test(only_needed_keys_are_looked_at),
        cmocka_unit_test(missing_columns_are_named),
        cmocka_unit_test(long_lists_of_columns_are_cut),
        cmocka_unit_test(where_filters_rows),
        cmocka_unit_test(bad_arguments_are_refused),
        cmocka_unit_test(format_follows_the_extension),
        cmocka_unit_test(gzip_is_read),
        cmocka_unit_test(long_rows_are_read),
        cmocka_unit_test(bad_byte_far_in_a_long_row),
        cmocka_unit_test(numbers_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
