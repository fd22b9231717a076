/* The folds of a cross-validation: a seeded shuffle, or the values of a column. */
#ifndef CLI_FOLDS_H
#define CLI_FOLDS_H

#include "session.h"

typedef struct folds {
    size_t count;
    size_t *of_row; /* 0 .. count-1 */
    char **names;   /* "1", "2", ..., or the column's values */
} folds;

/* By --folds or --fold-by; free in any case. */
int make_folds(session *s, const lth_table *table, folds *out);
void free_folds(folds *f);

#endif
