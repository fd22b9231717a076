/* Arrays beside a table: .npy files with one row for each of its rows, whose columns are columns of
 * numbers. "esm=vectors.npy" of n x 3 gives esm1, esm2 and esm3, one of n numbers gives esm. */
#ifndef LTH_TABLE_ARRAYS_H
#define LTH_TABLE_ARRAYS_H

#include "base/text.h"
#include "data/npy.h"
#include "data/table.h"

typedef struct lth__array {
    const char *name, *path; /* of "NAME=FILE"; borrowed, the name is not NUL-terminated */
    size_t name_length;
    lth__npy npy;
    size_t columns;
    bool numbered; /* NAME1, NAME2, ...; NAME_1, NAME_2, ... when the name ends with a digit */
} lth__array;

/* Close it also when this fails. */
lth_status lth__array_open(const lth__relay *relay, const char *given, lth__array *a,
                           lth_error *err);
void lth__array_close(lth__array *a);
/* The name of its i-th column. */
void lth__array_column(const lth__array *a, size_t i, lth__string *out);
/* The range of all its columns, or the one. */
void lth__array_range(const lth__array *a, lth__string *out);

/* Those of a reader, in the order in which they are given. */
typedef struct lth__arrays {
    lth__array *at;
    size_t count;
    size_t columns; /* of all                                        */
    size_t first;   /* the first of their columns in the header      */
    size_t rows;    /* read so far                                   */
} lth__arrays;

lth_status lth__arrays_open(const lth__relay *relay, const lth_table_options *options,
                            lth__arrays *arrays, lth_error *err);
void lth__arrays_close(lth__arrays *arrays);
/* Add the names of all columns to those of a file's header, none of which they may be. */
lth_status lth__arrays_name(lth__arrays *arrays, lth__symbols *header, const char *file,
                            lth_error *err);
/* Whether the range of columns goes past the end of an array. */
lth_status lth__arrays_check_range(const lth__arrays *arrays, const char *column, lth_error *err);
/* Arrays are read as a whole: needed[] says which columns of the header are. */
lth_status lth__arrays_check_needed(const lth__arrays *arrays, const bool *needed, lth_error *err);
/* A table that has its texts' columns gets those of the arrays. */
lth_status lth__arrays_begin(const lth__arrays *arrays, lth_table *table, lth_error *err);
/* The numbers of the next row, behind those of the table's rows, where the next row's are then. */
lth_status lth__arrays_row(lth__arrays *arrays, lth_table *table, lth_error *err);
/* Whether the numbers that were read last are finite. */
lth_status lth__arrays_check_row(const lth__arrays *arrays, const lth_table *table, lth_error *err);
/* The table is complete: its columns know where their numbers are. */
void lth__arrays_settle(const lth__arrays *arrays, lth_table *table);
/* After the last row of the last file. */
lth_status lth__arrays_end(lth__arrays *arrays, lth_error *err);

#endif
