/* Arrays beside tables: one row of numbers for each row, over files, filters and slices. */
#include <math.h>
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
#include "data/table.h"
#include "failing_allocator.h"
#include "gp_support.h"
#include "luthier.h"

static lth_ctx ctx;

enum { ROWS = 5, WIDTH = 3 };
static const char *const paths[] = {"arrays_a.tsv", "arrays_b.csv"};
static const char *const files[] = {"arrays_wide.npy", "arrays_flat.npy", "arrays_bad.npy"};
static const char *const both[] = {"e=arrays_wide.npy", "x2=arrays_flat.npy"};
static const char *const wanted[] = {"e1..e3", "id", "x2"};
static double wide[ROWS * WIDTH], flat[ROWS];

static void write_file(const char *path, const char *text) {
    support_write(path, text, strlen(text));
}

static void write_array(const char *path, const double *data, size_t rows, size_t columns) {
    const size_t shape[] = {rows, columns, 1};
    assert_int_equal(lth_npy_write(path, data, shape, columns == 1 ? 1 : 2, NULL), LTH_OK);
}

static int make_files(void **state) {
    (void)state;
    for (size_t i = 0; i < ROWS * WIDTH; i++) wide[i] = (double)i / 7;
    for (size_t i = 0; i < ROWS; i++) flat[i] = -(double)i;
    write_file(paths[0], "id\tkind\n1\ta\n2\tb\n");
    write_file(paths[1], "kind,more,id\nb,,3\na,,4\nb,,5\n");
    write_array(files[0], wide, ROWS, WIDTH);
    write_array(files[1], flat, ROWS, 1);
    return 0;
}

static int remove_files(void **state) {
    (void)state;
    for (size_t i = 0; i < 2; i++) unlink(paths[i]);
    for (size_t i = 0; i < 3; i++) unlink(files[i]);
    return 0;
}

static lth_table_options with_arrays(void) {
    lth_table_options o;
    lth_table_options_init(&o);
    o.columns = wanted;
    o.column_count = 3;
    o.more = paths + 1;
    o.more_count = 1;
    o.arrays = both;
    o.array_count = 2;
    return o;
}

/* A row of a table is the i-th of all. */
static void check_row(const lth_table *t, size_t row, size_t i) {
    size_t length;
    const char *id = lth_table_cell(t, row, lth_table_find(t, "id"), &length);
    double number;
    assert_int_equal(length, 1);
    assert_int_equal(*id, '1' + (int)i);
    assert_int_equal(lth_table_number(t, row), i + 1);
    for (size_t k = 0; k < WIDTH; k++) {
        const char name[] = {'e', (char)('1' + k), 0};
        size_t column = lth_table_find(t, name);
        assert_int_equal(lth__table_number(t, row, column, &number, NULL), LTH_OK);
        assert_true(number == wide[i * WIDTH + k]);
        assert_null(lth_table_cell(t, row, column, &length));
    }
    assert_int_equal(lth__table_number(t, row, lth_table_find(t, "x2"), &number, NULL), LTH_OK);
    assert_true(number == flat[i]);
}

static void rows_have_their_numbers(void **state) {
    (void)state;
    lth_table_options o = with_arrays();
    lth_table *t = NULL;
    lth_error err = {0};
    assert_int_equal(lth_table_read(&ctx, paths[0], &o, &t, &err), LTH_OK);
    assert_int_equal(lth_table_rows(t), ROWS);
    assert_int_equal(lth_table_columns(t), 1 + WIDTH + 1);
    for (size_t i = 0; i < ROWS; i++) check_row(t, i, i);
    lth_table_free(t);
    o.columns = NULL;
    o.more_count = 0;
    write_array(files[2], wide, 2, WIDTH);
    static const char *const first[] = {"e9=arrays_bad.npy"};
    o.arrays = first;
    o.array_count = 1;
    assert_int_equal(lth_table_read(&ctx, paths[0], &o, &t, &err), LTH_OK);
    assert_int_equal(lth_table_columns(t), 2 + WIDTH);
    assert_string_equal(lth_table_column_name(t, 4), "e9_3");
    lth_table_free(t);
}

static void slices_are_the_whole(void **state) {
    (void)state;
    lth_table_options o = with_arrays();
    for (size_t most = 1; most <= ROWS + 1; most++) {
        lth_table_stream *s = NULL;
        lth_error err = {0};
        size_t at = 0;
        assert_int_equal(lth_table_stream_open(&ctx, paths[0], &o, &s, &err), LTH_OK);
        for (;;) {
            lth_table *slice = NULL;
            assert_int_equal(lth_table_stream_next(s, most, &slice, &err), LTH_OK);
            if (!slice) break;
            for (size_t i = 0; i < lth_table_rows(slice); i++) check_row(slice, i, at++);
            lth_table_free(slice);
        }
        assert_int_equal(at, ROWS);
        lth_table_stream_close(s);
    }
}

/* Also when what is left out is not finite. */
static void rows_are_filtered(void **state) {
    (void)state;
    static const char *const where[] = {"kind=b"};
    const char *const bad[] = {"e=arrays_bad.npy", both[1]};
    lth_table_options o = with_arrays();
    lth_table *t = NULL;
    lth_error err = {0};
    double values[ROWS * WIDTH];
    memcpy(values, wide, sizeof values);
    values[0] = (double)NAN;
    write_array(files[2], values, ROWS, WIDTH);
    o.arrays = bad;
    o.where = where;
    o.where_count = 1;
    assert_int_equal(lth_table_read(&ctx, paths[0], &o, &t, &err), LTH_OK);
    assert_int_equal(lth_table_rows(t), 3);
    for (size_t i = 0; i < 3; i++) check_row(t, i, (size_t[]){1, 2, 4}[i]);
    lth_table_free(t);
}

static void refuse(const lth_table_options *o, const char *file, const char *message) {
    lth_table *t = NULL;
    lth_error err = {0};
    assert_int_not_equal(lth_table_read(&ctx, paths[0], o, &t, &err), LTH_OK);
    assert_null(t);
    assert_string_equal(err.file, file);
    assert_non_null(strstr(err.message, message));
}

static void refuse_array(const double *data, size_t rows, size_t columns, const char *message) {
    static const char *const arrays[] = {"e=arrays_bad.npy"};
    lth_table_options o = with_arrays();
    o.arrays = arrays;
    o.array_count = 1;
    o.column_count = 2;
    write_array(files[2], data, rows, columns);
    refuse(&o, files[2], message);
}

static void wrong_arrays(void **state) {
    (void)state;
    double values[(ROWS + 1) * WIDTH] = {0};
    refuse_array(values, ROWS + 1, WIDTH,
                 "\"e\" of shape 6 x 3 has more rows than the table, "
                 "which has 5");
    refuse_array(values, ROWS - 1, WIDTH, "of shape 4 x 3 has fewer rows than the table");
    refuse_array(values, 0, WIDTH, "of shape 0 x 3 has fewer rows");
    refuse_array(values, ROWS, 0, "of shape 5 x 0 has no columns");
    refuse_array(values, ROWS, 2, "of shape 5 x 2 has 2 columns where 3 are needed: e1..e3");
    double more[ROWS * 4] = {0};
    refuse_array(more, ROWS, 4, "of shape 5 x 4 has 4 columns where 3 are needed");
    values[2 * WIDTH + 1] = -(double)INFINITY;
    refuse_array(values, ROWS, WIDTH, "of shape 5 x 3 has -inf in row 3, column 2");
    const size_t cube[] = {ROWS, WIDTH, 1};
    static const char *const arrays[] = {"e=arrays_bad.npy"};
    assert_int_equal(lth_npy_write(files[2], wide, cube, 3, NULL), LTH_OK);
    lth_table_options o = with_arrays();
    o.arrays = arrays;
    o.array_count = 1;
    refuse(&o, files[2], "of shape 5 x 3 x 1 has too many dimensions");
}

static void wrong_names(void **state) {
    (void)state;
    const char *arrays[] = {both[0], both[1], both[0]};
    lth_table_options o = with_arrays();
    o.arrays = arrays;
    o.array_count = 3;
    refuse(&o, files[0], "\"e\" of shape 5 x 3 has the name of another one");
    o.array_count = 1;
    refuse(&o, paths[0], "no column \"x2\"");
    arrays[0] = "kind=arrays_wide.npy";
    refuse(&o, files[0], "would give a column \"kind\", which arrays_a.tsv has already");
    arrays[0] = "more=arrays_flat.npy";
    static const char *const columns[] = {"id", "more"};
    o.columns = columns;
    o.column_count = 2;
    refuse(&o, files[1], "would give a column \"more\", which arrays_b.csv has already");
    static const char *const where[] = {"e1=2"};
    o = with_arrays();
    o.where = where;
    o.where_count = 1;
    refuse(&o, "", "asks for a column of an array");
    o = with_arrays();
    o.array_count = 0;
    refuse(&o, paths[0], "no column \"e1\"; an array \"e\" of 3 columns would have it; the col");
    o = with_arrays();
    o.column_count = 2;
    refuse(&o, files[1], "\"x2\" of shape 5 is read by nothing");
    static const char *const malformed[] = {"e", "=f", "e=", "e=-", NULL};
    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++) {
        o.arrays = malformed + i;
        o.array_count = 1;
        refuse(&o, "", "arra");
    }
}

static lth_status read_all(void *options, lth_error *err) {
    lth_table_stream *s = NULL;
    lth_status status = lth_table_stream_open(&ctx, paths[0], options, &s, err);
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
    lth_table_options o = with_arrays();
    fail_each(read_all, &o, false, 30);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_have_their_numbers),
        cmocka_unit_test(slices_are_the_whole),
        cmocka_unit_test(rows_are_filtered),
        cmocka_unit_test(wrong_arrays),
        cmocka_unit_test(wrong_names),
        cmocka_unit_test(each_allocation_fails),
    };
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
