/* Encoded rows as text again. */
#ifndef LTH_EXPLAIN_TEXT_H
#define LTH_EXPLAIN_TEXT_H

#include "kernel/core/encode.h"

/* A row's column, by lth_kernel_column(), until the thread's next call; NULL past the last of
 * either, or when there is no memory. */
const char *lth__row_text(const lth_items *items, size_t row, size_t column);
/* All its columns on one line, likewise: texts and trees, then numbers, rounded to four digits. */
const char *lth__row_line(const lth_items *items, size_t row);

#endif
