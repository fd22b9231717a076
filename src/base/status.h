/* Failing: every fallible function ends with `return lth__fail(err, ...)`. */
#ifndef LTH_STATUS_H
#define LTH_STATUS_H

#include "luthier.h"

/* Fill `err` (may be NULL) and return `status`. File, line and column are left empty. */
lth_status lth__fail(lth_error *err, lth_status status, const char *format, ...) LTH_PRINTF(3, 4);

/* The same with a place: `file` may be NULL, `line` and `column` 0. */
lth_status lth__fail_at(lth_error *err, lth_status status, const char *file, size_t line,
                        size_t column, const char *format, ...) LTH_PRINTF(6, 7);

/* Out of memory, with how much was wanted: `bytes`, or the block that was refused if that is more.
 */
lth_status lth__fail_memory(lth_error *err, size_t bytes);

#define LTH_TRY(call)                                                                              \
    do {                                                                                           \
        lth_status lth_try_ = (call);                                                              \
        if (lth_try_ != LTH_OK) return lth_try_;                                                   \
    } while (0)

#endif
