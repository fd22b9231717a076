/* Any bytes, read as each of the table formats; on success every cell is looked at. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/context.h"
#include "data/table.h"

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

static void read_as(const char *path, const lth_table_options *options) {
    static lth_ctx ctx;
    lth_table *table;
    lth_error err;
    if (lth_table_read(&ctx, path, options, &table, &err) != LTH_OK) return;
    walk(table);
    lth_table_free(table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const columns[] = {"text", "f1..f3"}, *const where[] = {"split=train,dev"};
    int fd = memfd_create("table", 0);
    if (fd < 0) return 0;
    if (write(fd, data, size) == (ssize_t)size) {
        char path[64];
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        for (int format = LTH_TABLE_TSV; format <= LTH_TABLE_SVMLIGHT; format++) {
            lth_table_options o;
            lth_table_options_init(&o);
            o.format = (lth_table_format)format;
            read_as(path, &o);
            o.columns = columns;
            o.column_count = 2;
            o.where = where;
            o.where_count = 1;
            read_as(path, &o);
        }
    }
    close(fd);
    return 0;
}
