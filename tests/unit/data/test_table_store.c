/* Tables in memory: packed rows of every shape, and tables made from texts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/context.h"
#include "data/table.h"
#include "luthier.h"

static lth_ctx ctx;

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

static size_t cell_length(size_t row, size_t column) {
    return row % 97 == 5 && column == 0 ? 100000 + row : (row * 31 + column * 7) % 300;
}

static char cell_byte(size_t row, size_t column, size_t i) {
    return (char)('a' + (row * 5 + column * 3 + i) % 26);
}

/* Many chunks, rows of all lengths, and every cell in any order. */
static void check_packing(size_t rows, size_t columns) {
    lth_table *t;
    lth_error err;
    assert_int_equal(lth__table_create("packed", &t, &err), LTH_OK);
    lth__field *fields = calloc(columns + 1, sizeof *fields);
    for (size_t j = 0; j < columns; j++) {
        char name[32];
        int length = snprintf(name, sizeof name, "c%zu", j);
        assert_int_equal(lth__symbols_intern(t->columns, name, (size_t)length), j);
    }
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < columns; j++) {
            char *text = malloc(cell_length(i, j) + 1);
            for (size_t k = 0; k < cell_length(i, j); k++) text[k] = cell_byte(i, j, k);
            fields[j] = (lth__field){.text = text, .length = cell_length(i, j)};
        }
        assert_int_equal(lth__table_append(t, i * i + 2, fields, NULL, &err), LTH_OK);
        for (size_t j = 0; j < columns; j++) free((char *)(uintptr_t)fields[j].text);
    }
    lth__table_trim(t);
    check_size(t, rows, columns);
    for (size_t n = 0; n < rows; n++) {
        size_t i = n * 7919 % rows;
        assert_int_equal(lth_table_line(t, i), i * i + 2);
        for (size_t j = 0; j < columns; j++) {
            size_t length, wrong = 0;
            const char *cell = lth_table_cell(t, i, j, &length);
            assert_int_equal(length, cell_length(i, j));
            for (size_t k = 0; k < length; k++) wrong += cell[k] != cell_byte(i, j, k);
            assert_int_equal(wrong, 0);
        }
    }
    free(fields);
    lth_table_free(t);
}

static void packing_keeps_every_cell(void **state) {
    (void)state;
    check_packing(20011, 1);
    check_packing(5003, 3);
    check_packing(211, 40);
    check_packing(100, 0);
}

static void packing_takes_little_more_than_the_cells(void **state) {
    (void)state;
    lth_table *t;
    lth_error err;
    enum { ROWS = 3000, BYTES = 700000 };
    char *text = calloc(BYTES, 1);
    assert_int_equal(lth__table_create("", &t, &err), LTH_OK);
    assert_int_equal(lth__symbols_intern(t->columns, "c", 1), 0);
    size_t total = 0, held = 0;
    for (size_t i = 0; i < ROWS; i++) {
        size_t length = i % 100 ? 100 : BYTES; /* long rows would leave 1 MiB chunks half empty */
        total += length;
        lth__field field = {.text = text, .length = length};
        assert_int_equal(lth__table_append(t, i + 2, &field, NULL, &err), LTH_OK);
    }
    lth__table_trim(t);
    for (size_t i = 0; i < t->chunk_count; i++) held += t->chunks[i].capacity;
    held += t->mark_count * sizeof *t->marks;
    assert_true(held >= total && held < total + total / 10);
    free(text);
    lth_table_free(t);
}

static void texts_become_a_table(void **state) {
    (void)state;
    static const char *const text[] = {"one", "", "thr\xC3\xA9\xC3\xA9"};
    static const size_t length[] = {2, 0, 5};
    lth_table *t;
    lth_error err;
    assert_int_equal(lth_table_from_texts(&ctx, "text", text, NULL, 3, &t, &err), LTH_OK);
    check_size(t, 3, 1);
    assert_string_equal(lth_table_column_name(t, 0), "text");
    assert_string_equal(lth_table_name(t), "");
    check_cell(t, 2, 0, text[2]);
    assert_int_equal(lth_table_line(t, 2), 3);
    lth_table_free(t);
    assert_int_equal(lth_table_from_texts(&ctx, "text", text, length, 3, &t, &err), LTH_OK);
    check_cell(t, 0, 0, "on");
    check_cell(t, 2, 0, "thr\xC3\xA9");
    lth_table_free(t);
    assert_int_equal(lth_table_from_texts(&ctx, "text", NULL, NULL, 0, &t, &err), LTH_OK);
    check_size(t, 0, 1);
    lth_table_free(t);

    static const char *const bad[] = {"fine", "\xC3\xA9\xC3"};
    assert_int_equal(lth_table_from_texts(&ctx, "text", bad, NULL, 2, &t, &err), LTH_EFORMAT);
    assert_int_equal(err.line, 2);
    assert_int_equal(err.column, 2);
    assert_string_equal(err.file, "");
    static const char *const null[] = {NULL};
    assert_int_equal(lth_table_from_texts(&ctx, "text", null, NULL, 1, &t, NULL), LTH_EARG);
    assert_int_equal(lth_table_from_texts(&ctx, "", text, NULL, 3, &t, NULL), LTH_EARG);
    lth_table_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packing_keeps_every_cell),
        cmocka_unit_test(packing_takes_little_more_than_the_cells),
        cmocka_unit_test(texts_become_a_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
