/* A target column of labels: its classes, and the classes of each row. */
#ifndef LTH_LABELS_H
#define LTH_LABELS_H

#include "base/memory.h"

typedef struct lth__labels {
    size_t rows, class_count;
    bool multi;    /* some cell has a comma: a row may have none, one or several classes */
    char **name;   /* of each class, sorted by their bytes                               */
    size_t *count; /* rows that have it                                                  */
    size_t
        *start; /* rows + 1 entries: row i has the classes of[start[i]] .. of[start[i + 1] - 1] */
    size_t *of; /* ascending within a row                                             */
} lth__labels;

/* White space around a label does not count. Where no cell has a comma, an empty cell is an error
 * with file and line. */
lth_status lth__labels_read(const lth_table *table, const char *column, lth__labels *out,
                            lth_error *err);
void lth__labels_free(lth__labels *labels);

bool lth__labels_has(const lth__labels *labels, size_t row, size_t class);

/* The class of that name, or LTH_NONE. */
size_t lth__labels_find(const lth__labels *labels, const char *name, size_t length);

/* The numbers of a table's columns, by [target][row]; freed with lth__free(). Where there may be
 * gaps, an empty cell is NaN. */
lth_status lth__read_targets(const lth_table *table, const char *const *names, size_t count,
                             bool gaps, double **out, lth_error *err);

#endif
