/* Odd tables of every format: what is read of them, what is refused with which words and where, and
 * reading where memory fails. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "failing_allocator.h"
#include "gp_support.h"
#include "scratch.h"

static lth_ctx *ctx;

static int open_all(void **state) {
    ctx = support_context(1);
    return scratch_open(state);
}

static int close_all(void **state) {
    lth_ctx_free(ctx);
    return scratch_close(state);
}

static void write_bytes(const char *bytes, size_t size) {
    FILE *f = fopen("t", "wb");
    assert_non_null(f);
    assert_true(fwrite(bytes, 1, size, f) == size);
    fclose(f);
}

typedef struct use {
    lth_table_format format;
    const char *column; /* NULL = all */
} use;

static lth_status read_it(const use *u, lth_table **out, lth_error *err) {
    lth_table_options o;
    lth_table_options_init(&o);
    o.format = u->format;
    if (u->column) {
        o.columns = &u->column;
        o.column_count = 1;
    }
    *err = (lth_error){0};
    return lth_table_read(ctx, "t", &o, out, err);
}

/* Each case: a text, the cell of row 0 in a column. */
static void reads(lth_table_format format, const char *text, const char *column,
                  const char *expected) {
    lth_table *table = NULL;
    lth_error err;
    size_t length;
    write_bytes(text, strlen(text));
    if (read_it(&(use){format, column}, &table, &err) != LTH_OK)
        fail_msg("%s: %s", text, err.message);
    const char *cell = lth_table_cell(table, 0, lth_table_find(table, column), &length);
    if (length != strlen(expected) || memcmp(cell, expected, length) != 0)
        fail_msg("\"%.*s\" is not \"%s\"", (int)length, cell, expected);
    lth_table_free(table);
    unlink("t");
}

static void refuses_bytes(lth_table_format format, const char *bytes, size_t size,
                          const char *column, size_t line, const char *message) {
    lth_table *table = NULL;
    lth_error err;
    write_bytes(bytes, size);
    assert_int_equal(read_it(&(use){format, column}, &table, &err), LTH_EFORMAT);
    assert_null(table);
    if (err.line != line || !strstr(err.message, message))
        fail_msg("line %zu: %s\n, not line %zu: %s", err.line, err.message, line, message);
    unlink("t");
}

static void refuses(lth_table_format format, const char *text, const char *column, size_t line,
                    const char *message) {
    refuses_bytes(format, text, strlen(text), column, line, message);
}

/* ---- FASTA ---- */

static void test_fasta(void **state) {
    (void)state;
    const lth_table_format f = LTH_TABLE_FASTA;
    reads(f, "\n;old\n>a \t b\v\f x=1  y=2 \nAC\n; a comment\nGT\n\n", "sequence", "ACGT");
    reads(f, ">a \t b\v\f x=1  y=2 \t\nAC\n", "description", "b\v\f x=1  y=2");
    reads(f, ">a x=1 y=2\nAC\n", "y", "2");
    reads(f, ">a id=7 sequence=GG descriptive=3 x=1 =5\nAC\n", "id", "a");
    reads(f, ">a x=1\nAC\n>b x=3 x=4 z=4 id=9\nAC\n", "x", "1");
    refuses(f, ">a x=1 x=2\nAC\n", NULL, 1, "two columns have the name \"x\"");
    reads(f, ">\nAC\n", "id", "");
    reads(f, "> \nAC\n", "description", "");
    refuses(f, ">a\n>b\nAC\n", NULL, 1, "the record \"a\" has no sequence");
    refuses(f, ">a", NULL, 1, "the record \"a\" has no sequence");
    refuses(f, ">a x=1\nAC\n>b\nAC\n", "x", 3, "the record \"b\" has no word x=...");
    refuses(f, "ACGT\n", NULL, 1, "a FASTA record begins with \">\": this line belongs to none");
    char text[128], message[128];
    memset(text, 'n', sizeof text);
    text[0] = '>';
    strcpy(text + 90, "\n>b\nA\n");
    snprintf(message, sizeof message, "the record \"%.64s\" has no sequence", text + 1);
    refuses(f, text, NULL, 1, message);
    snprintf(text, sizeof text, ">a x=1\nAC\n>%070d\nAC\n", 7);
    snprintf(message, sizeof message, "the record \"%064d\" has no word x=...", 0);
    refuses(f, text, "x", 3, message);
}

/* ---- CoNLL-U ---- */

#define WORD "1\tIt\tit\tPRON\t_\t_\t0\troot\t_\t_\n"

static void test_conllu(void **state) {
    (void)state;
    const lth_table_format f = LTH_TABLE_CONLLU;
    reads(f, "# \t key \t = \t value \t \n" WORD, "key", "value");
    reads(f, "# key=value\n" WORD "\n#key=1\n#\n# new=3\n" WORD, "key", "value");
    refuses(f, "# key=1\n" WORD "\n# key=1\n# key=2\n" WORD, NULL, 5,
            "a second \"key\" in one sentence");
    refuses(f, "# key=1\n# key=2\n" WORD, NULL, 2, "two columns have the name \"key\"");
    reads(f, "# key =\n" WORD, "key", "");
    reads(f, "# a word = 1\n# =5\n# none\n#\n# key = 7\n" WORD "\n# key = 8\n# new = 1\n" WORD,
          "key", "7");
    refuses(f, "# key = 1\n" WORD "\n" WORD, "key", 4, "key");
    refuses(f, WORD, "key", 1, "no column \"key\"");
}

/* ---- What files are not ---- */

static void test_hints(void **state) {
    (void)state;
    const lth_table_format f = LTH_TABLE_AUTO;
    static const char *const wide = "this file is in UTF-16, not UTF-8";
    refuses_bytes(f, "\xFF\xFEt\0", 4, NULL, 1, wide);
    refuses_bytes(f, "\xFE\xFF\0t", 4, NULL, 1, wide);
    refuses_bytes(f, "t\0e\0x\0", 6, NULL, 1, wide);
    refuses_bytes(f, "\0t\0e\0x", 6, NULL, 1, wide);
    refuses(f, "[ \t\n{\"a\": 1}]", NULL, 1, "this file is a JSON array");
    refuses(f, "[[1]]", NULL, 1, "this file is a JSON array");
    refuses(f, "{\"a\": 1}\n", NULL, 1,
            "this file is JSON: --format jsonl reads one object a line");
    refuses(f, "a\tb\r1\t2\r", NULL, 1, "this file is one line: its lines end with a carriage");
    reads(f, "[a]\tb\n1\t2\n", "b", "2");
    reads(f, "{a}\n1\n", "{a}", "1");
    reads(f, "[\n1\n", "[", "1");
    refuses(f, " \"a\" ; 'b'\n1;2\n", "b", 1, "the cells are apart by \";\"");
    refuses(f, "ab|cd\n1|2\n", "cd", 1, "the cells are apart by \"|\"");
    refuses(f, "ab,cd\n1,2\n", "cd", 1, "--format csv reads them");
    refuses(LTH_TABLE_CSV, "ab\tcd\n1\t2\n", "ab", 1, "--format tsv reads them");
    refuses(f, "ab;cd\n1;2\n", "ce", 1, "no column \"ce\"");
    refuses(f, "1.5\tcd\n1\t2\n", "text", 1, "the first line looks like a row");
    refuses(f, "a b c d e\tcd\n1\t2\n", "text", 1, "the first line looks like a row");
    char line[128];
    snprintf(line, sizeof line, "%090d\tb\n1\t2\n", 0);
    line[0] = 'x';
    refuses(f, line, "text", 1, "the first line looks like a row");
}

/* ---- Ranges of columns ---- */

static void test_ranges(void **state) {
    (void)state;
    const lth_table_format f = LTH_TABLE_TSV;
    refuses(f, "text\n1\n", "x1..x3", 1, "an array \"x\" of 3 columns would have it");
    refuses(f, "text\n1\n", "x1_1..x1_3", 1, "an array \"x1\" of 3 columns would have it");
    refuses(f, "text\n1\n", "x2..x3", 1, "no column \"x2\"");
    refuses(f, "text\n1\n", "1..3", 1, "no column \"1\"");
    refuses(f, "text\n1\n", "_1.._3", 1, "an array \"_\" of 3 columns would have it");
    refuses(f, "x1\tx2\n1\t2\n", "x1..x3", 1, "no column \"x3\"");
    reads(f, "a..b\n1\n", "a..b", "1"); /* names that look like it */
    reads(f, "x1..y3\n1\n", "x1..y3", "1");
    reads(f, "x1..x\n1\n", "x1..x", "1");
    reads(f, "x1..x1234567890\n1\n", "x1..x1234567890", "1");
    refuses(f, "text\n1\n", "texts", 1, "did you mean \"text\"?");
}

/* ---- What is not given ---- */

static void expect_argument(const lth_table_options *o, const char *message) {
    lth_table *table = NULL;
    lth_error err = {0};
    assert_int_equal(lth_table_read(NULL, "t", o, &table, &err), LTH_EARG);
    assert_non_null(strstr(err.message, message));
    assert_null(table);
}

static void test_arguments(void **state) {
    (void)state;
    static const char *const none[] = {NULL};
    lth_table_options usual, o;
    lth_table_stream *stream = NULL;
    lth_table_options_init(&usual);
    o = usual, o.columns = none, o.column_count = 1;
    expect_argument(&o, "column 1 is NULL");
    o = usual, o.more_count = 1;
    expect_argument(&o, "table 2 is NULL");
    o.more = none;
    expect_argument(&o, "table 2 is NULL");
    o = usual, o.where_count = 1;
    expect_argument(&o, "where is NULL");
    o.where = none;
    expect_argument(&o, "where \"\" is not of the form");
    o = usual, o.size = 0;
    expect_argument(&o, "lth_table_options_init()");
    o.size = sizeof o + 1;
    expect_argument(&o, "lth_table_options_init()");
    assert_int_equal(lth_table_read(NULL, "t", NULL, NULL, NULL), LTH_EARG);
    assert_int_equal(lth_table_stream_open(NULL, NULL, NULL, &stream, NULL), LTH_EARG);
    assert_int_equal(lth_table_stream_open(NULL, "t", NULL, NULL, NULL), LTH_EARG);
    assert_null(stream);
}

/* ---- Memory ---- */

typedef struct from {
    use use;
    const char *text;
} from;

static lth_status read_and_free(void *user, lth_error *err) {
    const from *f = user;
    lth_table *table = NULL;
    lth_status status = read_it(&f->use, &table, err);
    lth_table_free(table);
    return status;
}

static void test_each_place_fails(void **state) {
    (void)state;
    const from tables[] = {
        {{LTH_TABLE_TSV, NULL}, "a\tb\n1\t2\n3\t4\n"},
        {{LTH_TABLE_CSV, NULL}, "a,b\n\"1\"\"\",2\n3,\"4\n5\"\n"},
        {{LTH_TABLE_JSONL, NULL}, "{\"a\": [1, \"x\"], \"b\": null}\n{\"a\": true, \"b\": 2.5}\n"},
        {{LTH_TABLE_FASTA, NULL}, ">a x=1 y=2\nAC\nGT\n>b x=3 y=1\nAC\n"},
        {{LTH_TABLE_CONLLU, NULL}, "# key = 1\n" WORD "\n# key = 2\n" WORD},
        {{LTH_TABLE_SST, NULL}, "(3 (2 It) (4 works))\n(1 (0 No) (1 way))\n"},
        {{LTH_TABLE_KLP, NULL},
         "x|BT:a| (a b) |ET||BV:v| 1:2 |EV|\ny|BT:a| (a c) |ET||BV:v| 2:1 |EV|\n"},
        {{LTH_TABLE_SVMLIGHT, NULL},
         "1 |BT| (a b) |ET| 7:1 8:0.5 |EV|\n-1 |BT| (a c) |ET| 7:2 |EV|\n"},
    };
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        write_bytes(tables[i].text, strlen(tables[i].text));
        from f = tables[i];
        fail_each(read_and_free, &f, false, 5);
    }
    unlink("t");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fasta),     cmocka_unit_test(test_conllu),
        cmocka_unit_test(test_hints),     cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_arguments), cmocka_unit_test(test_each_place_fails),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
