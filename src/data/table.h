/* Tables inside the library: packed rows of text cells.
 *
 * Rows lie one after another in chunks, each as
 *     [varint: lines since the row before] ([varint: length] [bytes]) for each kept column
 * A row never crosses chunks. A sparse index says where every few rows begin; the rows between are
 * skipped over. So a table takes about the bytes of its cells, and no block is ever doubled. */
#ifndef LTH_TABLE_H
#define LTH_TABLE_H

#include "base/status.h"
#include "base/text.h"
#include "data/symbols.h"

typedef struct lth__table_chunk {
    char *bytes;
    size_t used, capacity;
} lth__table_chunk;

/* A column of a table from memory. Numbers and vectors are the caller's, as in lth_column. */
typedef struct lth__table_column {
    const double *numbers;
    size_t stride;
    const float *const *vectors;
    const size_t *units;
    size_t dimension;
    size_t cell; /* of texts: which cell of a packed row */
} lth__table_column;

typedef enum lth__column_kind {
    LTH__COLUMN_TEXT,
    LTH__COLUMN_NUMBERS,
    LTH__COLUMN_VECTORS
} lth__column_kind;

/* Where row i * stride begins. Offsets fit: only a row alone in its chunk may pass 1 MiB. */
typedef struct lth__table_mark {
    uint32_t chunk, offset;
    size_t line;
} lth__table_mark;

/* Of a table of several files: where the rows of one begin. Lines count on from file to file. */
typedef struct lth__table_file {
    char *name;
    size_t row, line; /* the first row, and the lines before the file */
} lth__table_file;

struct lth_table {
    char *name;            /* for messages; "" when it came from memory   */
    lth__symbols *columns; /* names of the kept columns, in order         */
    size_t rows;
    size_t stride;    /* rows from one mark to the next              */
    size_t last_line; /* of the row appended last                    */
    lth__table_chunk *chunks;
    size_t chunk_count, chunk_capacity;
    lth__table_mark *marks;
    size_t mark_count, mark_capacity;
    lth__table_column
        *stored;     /* by column; NULL = every column is of texts, and a cell of each row */
    size_t cells;    /* texts of a row, where there are such columns */
    size_t *numbers; /* of the rows in the file, from 1; NULL = all were kept */
    size_t number_capacity;
    size_t before;          /* rows of the file before the first, where all were kept */
    lth__table_file *files; /* from the second on */
    size_t file_count, file_capacity;
    double *values; /* of arrays beside the table: where its stored numbers are */
    size_t value_capacity;
};

/* One cell before it is packed, and the place in the file where it began. */
typedef struct lth__field {
    const char *text;
    size_t length;
    size_t line, column;
} lth__field;

/* An empty table without columns; they are added to table->columns before the first row. */
lth_status lth__table_create(const char *name, lth_table **out, lth_error *err);
/* Append a row that began on `line` (never less than that of the row before); its j-th cell is
 * fields[pick[j]], or fields[j] when pick is NULL. Columns without texts have no cell. */
lth_status lth__table_append(lth_table *table, size_t line, const lth__field *fields,
                             const size_t *pick, lth_error *err);
/* Rows from here on are of another file, and their lines begin again. */
lth_status lth__table_begin_file(lth_table *table, const char *name, lth_error *err);
/* Give back the unused end of the last chunk. */
void lth__table_trim(lth_table *table);

/* The columns of `names` that `column` means: one name, or a range "f1..f17" of names that share a
 * prefix. Their numbers are appended to *out (grown with lth__reserve). A missing one is an
 * LTH_EFORMAT at the given place that names it. */
lth_status lth__columns_find(const lth__symbols *names, const char *column, const char *file,
                             size_t line, size_t **out, size_t *count, size_t *capacity,
                             lth_error *err);

/* How many columns a range "f1..f17" names; 1 for what is no range. */
size_t lth__columns_count(const char *column);
/* The name of the i-th of them. */
void lth__columns_name(const char *column, size_t i, lth__string *out);

lth__column_kind lth__table_kind(const lth_table *table, size_t column);
/* Fails unless the column is of that kind; `wish` ends the message: "the kernel reads text". */
lth_status lth__table_want(const lth_table *table, size_t column, lth__column_kind kind,
                           const char *wish, lth_error *err);
/* The column of that name, or the failure for one that is not there. */
lth_status lth__table_column_at(const lth_table *table, const char *name, size_t *out,
                                lth_error *err);
/* The line that names the columns: 0 for a table from memory, which has none. */
size_t lth__table_header_line(const lth_table *table);

/* The failure for text[bad], the first byte that lth__utf8_check() refused. */
lth_status lth__fail_bad_byte(const char *file, size_t line, const char *text, size_t bad,
                              lth_error *err);

/* Numbers up to this may be squared, and the squares added; their inverses too. */
#define LTH__MOST_NUMBER 1e140

/* A cell as a finite number; the error has the file and line of the row, which of a table from
 * memory is its number from 1. */
lth_status lth__table_number(const lth_table *table, size_t row, size_t column, double *out,
                             lth_error *err);

#endif
