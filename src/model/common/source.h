/* The rows of a table as a kernel sees them: what every model is made of. */
#ifndef LTH_SOURCE_H
#define LTH_SOURCE_H

#include "kernel/core/encode.h"

typedef struct lth__source {
    lth_ctx *ctx;
    lth_kernel *kernel;
    lth_encoder *encoder;
    lth_items *items;
} lth__source;

/* Parse, resolve, encode; vectors where the kernel needs them and `vectors` names a file. To be
 * closed also when this fails. */
lth_status lth__source_open(lth__source *s, lth_ctx *ctx, const char *expression,
                            const lth_table *table, const char *vectors, lth_error *err);
void lth__source_close(lth__source *s);

#endif
