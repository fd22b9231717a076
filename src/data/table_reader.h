/* What the readers of the formats share: checked lines, fields, the header, the filter. */
#ifndef LTH_TABLE_READER_H
#define LTH_TABLE_READER_H

#include "base/file.h"
#include "base/text.h"
#include "data/table.h"
#include "data/table_arrays.h"

typedef struct lth__filter {
    size_t column;        /* of the header                                        */
    lth__symbols *values; /* the cell must be one */
} lth__filter;

typedef struct lth__reader {
    lth__input *in;
    const lth_table_options *options;
    lth_table *table;      /* of the rows in hand; NULL before the header           */
    size_t most;           /* rows that it may have                                 */
    size_t bytes;          /* of its cells                                          */
    lth__symbols *header;  /* column names in file order, and that of the file's name */
    size_t own;            /* of these, those that the file has                     */
    lth__arrays arrays;    /* whose columns are the last of the header              */
    const char *file_name; /* of the file in hand, not NUL-terminated; borrowed     */
    size_t file_name_length;
    bool has_header, ended;
    size_t record; /* bytes of the lines of the record in hand */
    size_t rows;   /* read so far, kept or not                              */
    bool *needed;  /* for each header column: is it kept or filtered by?    */
    size_t *kept;  /* header column of each kept one                        */
    size_t kept_count;
    lth__symbols *columns; /* their names, which are the first file's               */
    lth__filter *filters;  /* options->where_count                                  */
    lth__field *fields; /* of the record in hand; no more than one past the header's are stored */
    size_t field_count, field_capacity;
    lth__string text; /* texts of the fields, for formats that rewrite them    */
} lth__reader;

/* Whether there is to be no other row in the table at hand: asked before each record. */
bool lth__reader_full(const lth__reader *r);

/* The next line, known to be UTF-8 without NUL, less a byte-order mark at the start and '\r' at the
 * end; NULL at the end of the input. Lines of one record have options->max_row bytes at most. */
lth_status lth__reader_line(lth__reader *r, const char **line, size_t *length, lth_error *err);

/* The failure for a column that is not there. */
lth_status lth__fail_no_column(const lth__symbols *names, const char *column, const char *file,
                               size_t line, lth_error *err);
/* Add one to a growing list of columns. */
lth_status lth__columns_push(size_t value, size_t **array, size_t *count, size_t *capacity,
                             lth_error *err);

/* Start a record: no fields, no texts. */
void lth__reader_clear(lth__reader *r);
/* Add a field that began at a place. `text` NULL: the last `length` bytes of r->text. */
lth_status lth__reader_add(lth__reader *r, const char *text, size_t length, size_t line,
                           size_t column, lth_error *err);

/* Take the record as the header: find the wanted columns and those of the filter. */
lth_status lth__reader_header(lth__reader *r, lth_error *err);
/* Take the record, which began on `line`, as a row: keep it if it matches. A field too few is
 * reported at (end_line, end_column). */
lth_status lth__reader_row(lth__reader *r, size_t line, size_t end_line, size_t end_column,
                           lth_error *err);
/* The header first, then rows. */
lth_status lth__reader_record(lth__reader *r, size_t line, size_t end_line, size_t end_column,
                              lth_error *err);

/* Records until the table is full or the input ends; the next call goes on after them. */
lth_status lth__read_tsv(lth__reader *r, lth_error *err);
lth_status lth__read_csv(lth__reader *r, lth_error *err);
lth_status lth__read_jsonl(lth__reader *r, lth_error *err);
lth_status lth__read_conllu(lth__reader *r, lth_error *err);
lth_status lth__read_fasta(lth__reader *r, lth_error *err);
lth_status lth__read_sst(lth__reader *r, lth_error *err);
lth_status lth__read_klp(lth__reader *r, lth_error *err);
lth_status lth__read_svmlight(lth__reader *r, lth_error *err);

#endif
