/* Any bytes, read as a table; on success every cell is looked at. The first byte says in which
 * format, which columns and rows are kept, and whether it is read in slices. */
#include <stdlib.h>

#include "data/table.h"
#include "harness.h"

enum { FORMATS = LTH_TABLE_SVMLIGHT + 1, SLICE = 3 };

static volatile size_t sink;

static void walk(const lth_table *table) {
    size_t columns = lth_table_columns(table), sum = 0;
    for (size_t j = 0; j < columns; j++) sum += (unsigned char)*lth_table_column_name(table, j);
    for (size_t i = 0; i < lth_table_rows(table); i++) {
        sum += lth_table_line(table, i);
        for (size_t j = 0; j < columns; j++) {
            size_t length;
            double number;
            const char *cell = lth_table_cell(table, i, j, &length);
            for (size_t k = 0; k < length; k++) sum += (unsigned char)cell[k];
            sum += lth__table_number(table, i, j, &number, NULL) == LTH_OK;
        }
    }
    sink = sum;
}

static void check_error(const lth_error *err) {
    if (!err->message[0] || (err->status != LTH_EFORMAT && err->status != LTH_EARG)) abort();
}

static size_t read_whole(const lth_table_options *options) {
    lth_table *table;
    lth_error err = {0};
    if (lth_table_read(harness_ctx(), "table", options, &table, &err) != LTH_OK) {
        check_error(&err);
        return LTH_NONE;
    }
    size_t rows = lth_table_rows(table);
    walk(table);
    lth_table_free(table);
    return rows;
}

/* As many rows as the whole table has, or none where that is refused. */
static size_t read_slices(const lth_table_options *options) {
    lth_table_stream *stream;
    lth_table *slice = NULL;
    lth_error err = {0};
    if (lth_table_stream_open(harness_ctx(), "table", options, &stream, &err) != LTH_OK)
        return LTH_NONE;
    lth_status status;
    size_t rows = 0;
    while ((status = lth_table_stream_next(stream, SLICE, &slice, &err)) == LTH_OK && slice) {
        rows += lth_table_rows(slice);
        walk(slice);
        lth_table_free(slice);
        slice = NULL;
    }
    lth_table_stream_close(stream);
    return status == LTH_OK ? rows : LTH_NONE;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const columns[] = {"text", "f1..f3"}, *const where[] = {"split=train,dev"};
    if (size == 0) return 0;
    lth_table_options o;
    lth_table_options_init(&o);
    o.format = (lth_table_format)(data[0] % FORMATS);
    unsigned way = data[0] / FORMATS;
    if (way & 1) {
        o.columns = columns;
        o.column_count = 2;
    }
    if (way & 2) {
        o.where = where;
        o.where_count = 1;
    }
    if (way & 4) o.file_column = "file";
    harness_put("table", data + 1, size - 1);
    size_t rows = read_whole(&o);
    if ((way & 8) && read_slices(&o) != rows) abort();
    return 0;
}
