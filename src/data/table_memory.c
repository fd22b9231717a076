/* Tables made from memory: texts are packed as those of files are, numbers and vectors stay where
 * the caller has them. */
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "data/table.h"

/* ---- Columns ---- */

static lth_status check_vectors(const lth_column *c, size_t rows, lth_error *err) {
    if (c->dimension == 0)
        return lth__fail(err, LTH_EARG, "column \"%s\" has vectors of dimension 0", c->name);
    if (!c->units && rows > 0)
        return lth__fail(err, LTH_EARG, "column \"%s\" has vectors, but not how many", c->name);
    for (size_t i = 0; i < rows; i++) {
        if (c->vectors[i] || c->units[i] == 0) continue;
        return lth__fail_at(err, LTH_EARG, NULL, i + 1, 0,
                            "the vectors of %zu units in column \"%s\" are NULL", c->units[i],
                            c->name);
    }
    return LTH_OK;
}

static lth_status check_column(const lth_column *c, size_t number, size_t rows, lth_error *err) {
    if (!c->name || !*c->name) return lth__fail(err, LTH_EARG, "column %zu has no name", number);
    size_t length = strlen(c->name);
    int kinds = (c->text != NULL) + (c->numbers != NULL) + (c->vectors != NULL);
    if (lth__utf8_check(c->name, length) < length)
        return lth__fail(err, LTH_EFORMAT, "the name of column %zu is not valid UTF-8", number);
    if (kinds != 1)
        return lth__fail(err, LTH_EARG,
                         "column \"%s\" must have one of text, numbers and vectors, %s", c->name,
                         kinds == 0 ? "but has none" : "not several");
    return c->vectors ? check_vectors(c, rows, err) : LTH_OK;
}

static lth_status add_column(lth_table *table, const lth_column *c, lth_error *err) {
    size_t before = lth_table_columns(table);
    lth__symbol column = lth__symbols_intern(table->columns, c->name, strlen(c->name));
    if (column == LTH__NO_SYMBOL) return lth__fail_memory(err, 0);
    if (column != before) return lth__fail(err, LTH_EARG, "two columns are called \"%s\"", c->name);
    table->stored[column] = (lth__table_column){.numbers = c->numbers,
                                                .stride = c->stride > 0 ? c->stride : 1,
                                                .vectors = c->vectors,
                                                .units = c->units,
                                                .dimension = c->dimension,
                                                .cell = table->cells};
    table->cells += c->text != NULL;
    return LTH_OK;
}

/* ---- Rows ---- */

static lth_status check_text(const lth_column *c, size_t row, const lth__field *field,
                             lth_error *err) {
    size_t bad = lth__utf8_check(field->text, field->length);
    if (bad == field->length) return LTH_OK;
    lth_status status = lth__fail_bad_byte(NULL, row + 1, field->text, bad, err);
    if (!err) return status;
    lth_error inner = *err;
    return lth__fail_at(err, status, NULL, inner.line, inner.column, "%.200s (in column \"%s\")",
                        inner.message, c->name);
}

static lth_status append_row(lth_table *table, const lth_column *columns, size_t row,
                             lth__field *fields, lth_error *err) {
    size_t used = 0;
    for (const lth_column *c = columns; used < table->cells; c++) {
        if (!c->text) continue;
        if (!c->text[row])
            return lth__fail_at(err, LTH_EARG, NULL, row + 1, 0,
                                "the text in column \"%s\" is NULL", c->name);
        fields[used] = (lth__field){.text = c->text[row],
                                    .length = c->length ? c->length[row] : strlen(c->text[row])};
        LTH_TRY(check_text(c, row, &fields[used++], err));
    }
    return lth__table_append(table, row + 1, fields, NULL, err);
}

static lth_status fill(lth_table *table, const lth_column *columns, size_t count, size_t rows,
                       lth_error *err) {
    table->stored = lth__alloc(count, sizeof *table->stored);
    if (!table->stored) return lth__fail_memory(err, count * sizeof *table->stored);
    for (size_t j = 0; j < count; j++) LTH_TRY(add_column(table, &columns[j], err));
    lth__field *fields = lth__alloc(table->cells, sizeof *fields);
    if (!fields) return lth__fail_memory(err, table->cells * sizeof *fields);
    lth_status status = LTH_OK;
    for (size_t i = 0; i < rows && status == LTH_OK; i++)
        status = append_row(table, columns, i, fields, err);
    lth__free(fields);
    lth__table_trim(table);
    return status;
}

static lth_status make_table(const lth_column *columns, size_t count, size_t rows, lth_table **out,
                             lth_error *err) {
    for (size_t j = 0; j < count; j++) LTH_TRY(check_column(&columns[j], j + 1, rows, err));
    lth_table *table;
    LTH_TRY(lth__table_create("", &table, err));
    lth_status status = fill(table, columns, count, rows, err);
    if (status != LTH_OK) {
        lth_table_free(table);
        return status;
    }
    *out = table;
    return LTH_OK;
}

lth_status lth_table_from_columns(lth_ctx *ctx, const lth_column *columns, size_t size,
                                  size_t count, size_t rows, lth_table **out, lth_error *err) {
    (void)ctx;
    if (!columns || count == 0 || !out)
        return lth__fail(err, LTH_EARG, "a table needs a column and a place to go");
    lth_column *known = lth__calloc(count, sizeof *known);
    if (!known) return lth__fail_memory(err, count * sizeof *known);
    for (size_t j = 0; j < count; j++)
        lth__copy_struct(&known[j], sizeof *known, (const char *)columns + j * size, size);
    lth_status status = make_table(known, count, rows, out, err);
    lth__free(known);
    return status;
}

lth_status lth_table_from_texts(lth_ctx *ctx, const char *column, const char *const *text,
                                const size_t *length, size_t count, lth_table **out,
                                lth_error *err) {
    static const char *const none[1];
    if (!text && count == 0) text = none;
    lth_column only = {.name = column, .text = text, .length = length};
    return lth_table_from_columns(ctx, &only, sizeof only, 1, count, out, err);
}
