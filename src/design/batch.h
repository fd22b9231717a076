/* A batch: rows that are picked one after the other. */
#ifndef LTH_BATCH_H
#define LTH_BATCH_H

#include "design/outlook.h"

typedef struct lth__pick {
    size_t row;
    double value;
} lth__pick;

/* At most options.count rows; `out` has room for them. */
lth_status lth__batch_pick(const lth__scorer *s, const lth__candidates *rows,
                           const lth__outlook *outlook, lth__pick *out, size_t *count,
                           lth_error *err);

#endif
