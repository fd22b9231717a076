/* Encoded rows as text again: tokens with blanks between them, trees in brackets, numbers. */
#include "model/explain/explain_text.h"

#include <string.h>

#include "kernel/core/field.h"

/* The first field that reads the column. */
static size_t find_field(const lth_kernel *kernel, size_t column) {
    const char *name = lth_kernel_column(kernel, column);
    size_t f = 0;
    while (name && strcmp(kernel->fields[f].column, name) != 0) f++;
    return name ? f : LTH_NONE;
}

const char *lth__row_text(const lth_items *items, size_t row, size_t column, lth__string *room) {
    const lth_kernel *kernel = items ? items->encoder->kernel : NULL;
    size_t field = kernel ? find_field(kernel, column) : LTH_NONE;
    if (field == LTH_NONE || row >= items->count) return NULL;
    room->length = 0;
    room->failed = false;
    lth__string_append(room, "", 0);
    kernel->fields[field].type->write(&items->encoder->lexicons[field], &items->fields[field], row,
                                      room);
    return room->failed ? NULL : room->bytes;
}
