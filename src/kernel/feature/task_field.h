/* Columns that name the task of each row: a cell is one of a few names, all of which are known. */
#ifndef LTH_TASK_FIELD_H
#define LTH_TASK_FIELD_H

#include "kernel/core/field.h"

extern const lth__field_type lth__field_task;

/* The task of an item, as its place among those of the field. */
static inline size_t lth__task_of(const lth__sequences *s, size_t item) {
    return *lth__sequence_symbols(s, item);
}

/* All that the column of a table has, sorted. */
lth_status lth__tasks_resolve(const lth__node *node, const lth__field_def *field,
                              const lth_table *table, lth__pool *pool, lth__value *out,
                              lth_error *err);

#endif
