/* Tables of rows that could be measured, as models read them. */
#ifndef LTH_CANDIDATES_H
#define LTH_CANDIDATES_H

#include "base/text.h"
#include "kernel/core/encode.h"

/* Rows and pending rows, as items of each model; both of one encoder, so that they can be compared.
 */
typedef struct lth__candidates {
    size_t model_count, count, pending_count;
    lth_encoder **encoder;
    lth_items **items, **pending;
    lth_items *others; /* see lth__candidates_add(); NULL = none */
} lth__candidates;

/* `pending` NULL = none. To be closed also when this fails. */
lth_status lth__candidates_open(lth_model *const *models, size_t count, const lth_table *rows,
                                const lth_table *pending, lth__candidates *out, lth_error *err);
/* Rows of another table, as the first model reads them, to be compared with these. */
lth_status lth__candidates_add(lth__candidates *c, const lth_table *others, lth_error *err);
void lth__candidates_close(lth__candidates *c);

/* The training rows that a model keeps; NULL = none. */
const lth_items *lth__model_items(const lth_model *model);

/* All that is read of a row, as bytes: the same for the same row, whatever the table. It takes the
 * place of what is in `out`, whose `failed` is out of memory. */
void lth__row_key(const lth_items *items, size_t row, lth__string *out);

/* Whether some column has texts; then how many edits of their units lead from one row to another,
 * which may be of the training rows, or `most` + 1 when there are more than that. LTH_NONE when
 * memory is out. */
bool lth__rows_are_texts(const lth_kernel *kernel);
size_t lth__row_distance(const lth_items *a, size_t i, const lth_items *b, size_t j, size_t most);

#endif
