/* Tables of labelled trees: the sentiment treebank's lines, KLP, SVM-light-TK; their columns,
 * slices and errors with exact places. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/context.h"
#include "data/table.h"
#include "failing_allocator.h"
#include "luthier.h"

static lth_ctx ctx;
static char path[64];

static void write_file(const char *extension, const char *text) {
    snprintf(path, sizeof path, "test_table_trees_%d%s", (int)getpid(), extension);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
    assert_int_equal(fclose(f), 0);
}

/* The table as it would be written: the names of the columns, then rows, cells apart by " / ". */
static void print_table(const lth_table *t, char *out, size_t size) {
    size_t used = 0, columns = lth_table_columns(t);
    for (size_t j = 0; j < columns; j++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", j > 0 ? " / " : "",
                                 lth_table_column_name(t, j));
    for (size_t i = 0; i < lth_table_rows(t); i++) {
        for (size_t j = 0; j < columns; j++) {
            size_t length;
            const char *cell = lth_table_cell(t, i, j, &length);
            used += (size_t)snprintf(out + used, size - used, "%s%.*s", j > 0 ? " / " : "\n",
                                     (int)length, cell);
        }
    }
}

static void reads(const char *extension, const char *text, const char *wanted) {
    char found[2048] = "";
    lth_table *table = NULL;
    lth_error err = {0};
    write_file(extension, text);
    lth_status status = lth_table_read(&ctx, path, NULL, &table, &err);
    if (status != LTH_OK) print_error("%zu:%zu: %s\n", err.line, err.column, err.message);
    assert_int_equal(status, LTH_OK);
    print_table(table, found, sizeof found);
    assert_string_equal(found, wanted);
    lth_table_free(table);
    unlink(path);
}

static void fails(const char *extension, const char *text, size_t line, size_t column,
                  const char *message) {
    lth_error err = {0};
    lth_table *table = (lth_table *)&err;
    write_file(extension, text);
    assert_int_equal(lth_table_read(&ctx, path, NULL, &table, &err), LTH_EFORMAT);
    assert_ptr_equal(table, &err); /* out-pointers are written only on success */
    assert_string_equal(err.message, message);
    assert_string_equal(err.file, path);
    assert_int_equal(err.line, line);
    assert_int_equal(err.column, column);
    unlink(path);
}

/* ---- Lines of trees ------------------------------------------------------------------------- */

#define SST "label / text / tree\n"

static void sentiment(void **state) {
    (void)state;
    const char *two = "(3 (2 It) (4 (3 works) (2 .)))\n\n (0 (1 No) (2 one))\r\n";
    const char *wanted = SST "3 / It works . / (X (X It) (X (X works) (X .)))\n"
                             "0 / No one / (X (X No) (X one))";
    reads(".sst", two, wanted);
    reads(".txt", two, wanted); /* by what is in it */
    reads("", two, wanted);
    reads(".sst", "(3 word)", SST "3 / word / (X word)");
    /* Numbers that are words stay, and so do escapes, which are undone in the text. */
    reads(".sst", "(1 (2 1) (2 (3 \\)) (-2.5 10)))",
          SST "1 / 1 ) 10 / (X (X 1) (X (X \\)) (X 10)))");
    reads(".sst", "( 1  ( 2 a )(3 b) )", SST "1 / a b / (X  (X a )(X b) )");
}

static void labels_in_general(void **state) {
    (void)state;
    /* The root only names the tree inside of it, or is one of its nodes. */
    reads(".sst", "(pos (S (NP it) (VP works)))\n(neg (S (INF no)))",
          SST "pos / it works / (S (NP it) (VP works))\nneg / no / (S (INF no))");
    reads(".sst", "(pos (A a) (B b))", SST "pos / a b / (X (A a) (B b))");
    reads(".sst", "(4 (2 (2 a) (2 b)))", SST "4 / a b / (X (X a) (X b))");
    reads(".sst", "(4 (a))", SST "4 / a / (X (a))");
    reads(".sst", "( (4 (2 a) (2 b)))", SST "4 / a b / (X (X a) (X b))");
}

/* A table of tabs whose header begins with a bracket stays one. */
static void tables_stay_tables(void **state) {
    (void)state;
    reads(".txt", "(a\tb\n1\t2\n", "(a / b\n1 / 2");
    reads(".txt", "(3)\tb\n1\t2\n", "(3) / b\n1 / 2");
    reads(".tsv", "(", "(");
}

static void bad_sentiment(void **state) {
    (void)state;
    fails(".sst", "(3 a)\n(3 (2 It) (4 works)\n", 2, 1, "this bracket is never closed");
    fails(".sst", "(3 a)\n(3 (2 It)) (4 works)\n", 2, 12,
          "a second tree begins here; a cell holds one");
    fails(".sst", "It works", 1, 1, "a tree begins with (");
    fails(".sst", "(3 a)\n(3 a) b", 2, 7, "text after the tree");
    fails(".sst", " (3 (2 a) ())", 1, 11, "an empty bracket");
    fails(".sst", "((3 a) (2 b))", 1, 1, "the root has no label");
    fails(".sst", "(3 a)\n (3)", 2, 2, "a label without a tree");
    fails(".sst", "\n", 1, 1, "the file is empty; a tree on each line is needed");
}

/* ---- KLP ------------------------------------------------------------------------------------ */

static void klp(void **state) {
    (void)state;
    reads(".klp",
          "DESC\t|BS:quest| How |ES| |BV:bow| how:1.0 |EV| |BT:grct| (a(b)) |ET|\n\n"
          "NUM |BT:grct| (c) |ET| |BT:new| (d) |ET| |BV:bow||EV||BS:quest|a | b |ET||ES| \n",
          "label / quest / bow / grct\nDESC / How / how:1.0 / (a(b))\nNUM / a | b |ET| /  / (c)");
    /* Several labels, labels with numbers, dense vectors, and parts without names. */
    reads(".klp", "a b height:10 c\t|BDV:v| 1, 2;3 |EDV| |BT|x|ET| |BT|y|ET| |BSQ:s| q |ESQ|",
          "height / label / v1 / v2 / v3 / tree / tree2 / s\n10 / a,b,c / 1 / 2 / 3 / x / y / q");
    reads(".klp", "1:x :2 |BDV|7 8|EDV|", "label / vector1 / vector2\n1:x,:2 / 7 / 8");
    reads(".klp", "|BS:t|only text|ES|", "t\nonly text");
}

static void bad_klp(void **state) {
    (void)state;
    fails(".klp", "a |BT:t| (x) |ET|\nb |BT:t| (x)\n", 2, 3,
          "this part is never closed by its |E...|");
    fails(".klp", "a\n", 1, 1, "no part such as |BT:NAME| ... |ET|");
    fails(".klp", "a |BT:t| (x) |ET| \303\244 |BT:u| (x) |ET|", 1, 19,
          "text between parts, which begin with |BT:NAME|");
    fails(".klp", "a |BT:t| (x) |ET|\na |BT:u| (x) |ET|", 2, 1,
          "no \"t\" on this line; the first line has one");
    fails(".klp", "a |BT:t| (x) |ET|\n|BT:t| (x) |ET|", 2, 1,
          "no \"label\" on this line; the first line has one");
    fails(".klp", "a |BT:t|x|ET|\na |BT:t|x|ET| |BT:t|y|ET|", 2, 21, "a second \"t\" on one line");
    fails(".klp", "a |BT:t|x|ET| |BT:t|y|ET|", 1, 21, "two columns have the name \"t\"");
    fails(".klp", "a |BT:label|x|ET|", 1, 13, "two columns have the name \"label\"");
    fails(".klp", "a |BG| x |EG|", 1, 3, "a part of this type needs a name, |BTYPE:NAME|");
    fails(".klp", "a |<| |BT:t|x|ET| |,| |BT:t|y|ET| |>|", 1, 3,
          "pairs of examples, |<| ... |,| ... |>|, are not read");
    fails(".klp", "", 1, 1, "the file is empty; a line with a label and a tree is needed");
}

/* ---- SVM-light-TK --------------------------------------------------------------------------- */

static void svmlight(void **state) {
    (void)state;
    reads(".svmlight", "# made by hand\n1 |BT| (a b) |ET|\n-1 |BT||ET| # nothing\n",
          "label / tree\n1 / (a b)\n-1 / ");
    reads(".svmlight", "+1\t|BT| (# a) |BT| (b) |ET| 1:0.5 7:1 |BV| 2:1 |EV| # why\n",
          "label / tree / tree2 / features / features2\n+1 / (# a) / (b) / 1:0.5 7:1 / 2:1");
    reads(".svmlight", "1 |BT| a |ET| |BV| |EV|\n0 |BT| b |ET| |BV| 1:2\n",
          "label / tree / features\n1 / a / \n0 / b / 1:2");
    reads(".svmlight", "1 1:2 3:4\n", "label / features\n1 / 1:2 3:4");
    reads(".svmlight", "|BT| a |ET|", "tree\na");
}

static void bad_svmlight(void **state) {
    (void)state;
    fails(".svmlight", "1 |BT| (a) |ET|\n1 |BT| (b)", 2, 3, "this |BT| is never closed by |ET|");
    fails(".svmlight", "1 |BT| (a) |BV| 1:2 |EV|", 1, 3, "this |BT| is never closed by |ET|");
    fails(".svmlight", "1 (a) |ET|", 1, 7, "an |ET| without its |BT|");
    fails(".svmlight", "1 |BT| (a) |ET| 1:1\n1 |BT| (a) |ET|", 2, 1,
          "no \"features\" on this line; the first line has one");
    fails(".svmlight", "# nothing\n", 1, 1,
          "the file is empty; a line with a label and a tree is needed");
}

/* ---- All of them ---------------------------------------------------------------------------- */

static const char *const SAMPLES[][2] = {
    {".sst", "(3 (2 It) (4 works))\n\n(0 (1 No) (2 one))\n(pos (S (A a) (B b)))\n"},
    {".klp", "a |BT:t| (x) |ET|\nb c |BT:t| (y) |ET| |BDV|1 2|EDV|\n\nx:1 d |BT:t||ET|\n"},
    {".svmlight", "1 |BT| (x) |ET|\n#\n0 |BT| (y) |BT| z |ET| 1:2\n1 |BT||ET|\n"}};
enum { SAMPLE_COUNT = sizeof SAMPLES / sizeof *SAMPLES };

static lth_status read_slices(void *wanted_rows, lth_error *err) {
    lth_table_stream *s = NULL;
    lth_table *slice = NULL;
    size_t rows = 0;
    lth_status status = lth_table_stream_open(&ctx, path, NULL, &s, err);
    while (status == LTH_OK) {
        slice = NULL;
        status = lth_table_stream_next(s, 1, &slice, err);
        if (!slice) break;
        rows += lth_table_rows(slice);
        lth_table_free(slice);
    }
    lth_table_stream_close(s);
    if (status == LTH_OK) assert_int_equal(rows, *(const size_t *)wanted_rows);
    return status;
}

static void slices_and_faults(void **state) {
    (void)state;
    size_t rows = 3;
    for (size_t i = 0; i < SAMPLE_COUNT; i++) {
        lth_error err = {0};
        write_file(SAMPLES[i][0], SAMPLES[i][1]);
        assert_int_equal(read_slices(&rows, &err), LTH_OK);
        fail_each(read_slices, &rows, false, 10);
        unlink(path);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sentiment),
        cmocka_unit_test(labels_in_general),
        cmocka_unit_test(tables_stay_tables),
        cmocka_unit_test(bad_sentiment),
        cmocka_unit_test(klp),
        cmocka_unit_test(bad_klp),
        cmocka_unit_test(svmlight),
        cmocka_unit_test(bad_svmlight),
        cmocka_unit_test(slices_and_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
