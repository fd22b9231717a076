/* What the parts of la share: the family, and its way to a device. */
#ifndef LTH_LA_H
#define LTH_LA_H

#include "kernel/core/encode.h"
#include "kernel/string/local_alignment.h"

/* One side of an evaluation: sequences by the numbers of their letters, each with its own sum. */
typedef struct lth__la_side {
    const lth__sequences *of;
    const uint32_t *letter; /* of item i from of->start[i] - of->start[0] on */
    const lth__alignments *self;
} lth__la_side;

/* A state that is prepared. */
typedef struct lth__la_view {
    const lth__scoring *scoring;
    double power;
    lth__la_side side[2]; /* rows, columns */
} lth__la_view;

lth__la_view lth__la_look(const void *state);

/* ---- On a device ---- */

bool lth__la_device_able(const lth__node *node, const lth__eval *eval);
lth_status lth__la_device_tile(const lth__node *node, lth__device_eval *e,
                               const struct lth__panel *panel, double *K, lth_error *err);
lth_status lth__la_device_pull(const lth__node *node, lth__device_eval *e,
                               const struct lth__panel *panel, double *W, double *K, double *grad,
                               lth_error *err);

/* Three sums to a cell. */
double lth__la_cell_orders(const lth__node *node, const lth_items *rows, const lth_items *cols);

#endif
