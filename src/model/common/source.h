/* The rows of a table as a kernel sees them, and where its values come from: what every model is
 * made of. */
#ifndef LTH_SOURCE_H
#define LTH_SOURCE_H

#include "kernel/core/encode.h"

typedef struct lth__source {
    lth_ctx *ctx;
    lth_kernel *kernel;
    lth_encoder *encoder;
    lth_items *items;
} lth__source;

/* What is read beside the table; each may be NULL. */
typedef struct lth__source_files {
    lth__vector_source vectors; /* where the kernel needs them           */
    const char *gram;           /* a store of the values, that are computed else */
} lth__source_files;

/* Parse, resolve, encode, read. To be closed also when this fails. */
lth_status lth__source_open(lth__source *s, lth_ctx *ctx, const char *expression,
                            const lth_table *table, lth__source_files files, lth_error *err);
/* The same of a kernel that is resolved: encode, read. */
lth_status lth__source_fill(lth__source *s, const lth_table *table, lth__source_files files,
                            lth_error *err);
void lth__source_close(lth__source *s);

/* Kernel, encoder, `items` and `all` (may be NULL) are a model's from now on. It does not need the
 * store, nor the items of `s` unless they are one of these. */
void lth__source_give(lth__source *s, lth_items *items, lth_items *all);

#endif
