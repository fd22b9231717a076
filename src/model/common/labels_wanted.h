/* Whether a target column is to be read as labels or as numbers, and what is odd about it. */
#ifndef LTH_LABELS_WANTED_H
#define LTH_LABELS_WANTED_H

#include "model/common/labels.h"

/* As `task` says, or because some cell is no number. Numbers with a comma are an LTH_EFORMAT unless
 * `task` says what they are: several labels, or one number of another country. */
lth_status lth__labels_wanted(const lth_table *table, const char *column, lth_task task, bool *out,
                              lth_error *err);

/* The failure for a cell of a target that would be a number with a comma. */
lth_status lth__fail_comma(const lth_table *table, size_t row, size_t column, lth_error *err);

bool lth__is_blank(const char *text, size_t length);

/* Warn of labels that look like numbers, or of which most occur once; true if there was a reason.
 */
bool lth__labels_warn(const lth_ctx *ctx, const char *column, const lth__labels *labels);
/* Warn of a kernel that is told what it is to predict. */
void lth__targets_warn(const lth_ctx *ctx, const lth_kernel *kernel, const char *const *targets,
                       size_t count);

#endif
