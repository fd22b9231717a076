/* What is known of each row beside its target: the columns that --noise-by, --weights and
 * --exposure name. Arrays by row; NULL = nothing is.
 */
#ifndef LTH_KNOWN_H
#define LTH_KNOWN_H

#include "base/status.h"

typedef struct lth__known {
    double *ratio;  /* of the learned noise, 1 / (number of repeats)        */
    double *added;  /* variance beside the learned noise, in target units^2 */
    double *weight; /* so often the row counts                              */
    double *offset; /* logarithm of the exposure                            */
} lth__known;

/* The i-th of them and what it is called in files, or NULL past the last. */
double **lth__known_at(lth__known *known, size_t i, const char **name);

/* The columns, as the caller names them; NULL = none. `noise_by` is "COL", a variance, or "1/COL",
 * a number of repeats. */
typedef struct lth__known_columns {
    const char *noise_by, *weights, *exposure;
} lth__known_columns;

/* Of a table. What is not a positive number is an error with file and line. `need` = all columns
 * must be there; otherwise noise and weights that are not are left NULL. */
lth_status lth__known_read(const lth_table *table, const lth__known_columns *from, bool need,
                           lth__known *out, lth_error *err);
/* The column of `noise_by`, and whether it has repeats. */
const char *lth__known_noise(const char *noise_by, bool *repeats);
/* Of these rows. */
lth_status lth__known_pick(const lth__known *from, const size_t *row, size_t count, lth__known *out,
                           lth_error *err);
void lth__known_free(lth__known *known);

#endif
