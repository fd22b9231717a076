/* Encoded rows as text again: tokens with blanks between them, trees in brackets, numbers. */
#include "model/explain/explain_text.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/core/field.h"

/* The first field that reads the column. */
static size_t find_field(const lth_kernel *kernel, size_t column) {
    const char *name = lth_kernel_column(kernel, column);
    size_t f = 0;
    while (name && strcmp(kernel->fields[f].column, name) != 0) f++;
    return name ? f : LTH_NONE;
}

/* ---- Where the text stays until the thread's next call: a model has no room for it ---- */

static pthread_key_t room_key;
static bool has_key;

static void free_room(void *room) {
    lth__string_free(room);
    lth__free(room);
}

static void make_key(void) {
    has_key = pthread_key_create(&room_key, free_room) == 0;
}

/* NULL = out of memory. */
static lth__string *find_room(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_key);
    lth__string *room = has_key ? pthread_getspecific(room_key) : NULL;
    if (room || !has_key) return room;
    room = lth__calloc(1, sizeof *room);
    if (!room || pthread_setspecific(room_key, room) == 0) return room;
    lth__free(room);
    errno = ENOMEM;
    return NULL;
}

/* The same, empty. */
static lth__string *clear_room(void) {
    lth__string *room = find_room();
    if (!room) return NULL;
    room->length = 0;
    room->failed = false;
    lth__string_append(room, "", 0);
    return room;
}

static const char *finish(const lth__string *room) {
    if (room->failed) errno = ENOMEM;
    return room->failed ? NULL : room->bytes;
}

/* ---- A column ---- */

static void write_field(const lth_items *items, size_t row, size_t field, lth__string *out) {
    items->encoder->kernel->fields[field].type->write(&items->encoder->lexicons[field],
                                                      &items->fields[field], row, out);
}

const char *lth__row_text(const lth_items *items, size_t row, size_t column) {
    size_t field = items ? find_field(items->encoder->kernel, column) : LTH_NONE;
    if (field == LTH_NONE || row >= items->count) return NULL;
    lth__string *room = clear_room();
    if (!room) return NULL;
    write_field(items, row, field, room);
    return finish(room);
}

/* ---- All columns ---- */

static bool holds_numbers(const lth_kernel *kernel, size_t column) {
    return lth_kernel_column_kind(kernel, column) == LTH_COLUMN_NUMBERS;
}

static size_t count_columns(const lth_kernel *kernel, bool numbers) {
    size_t count = 0;
    for (size_t c = 0; lth_kernel_column(kernel, c); c++)
        count += holds_numbers(kernel, c) == numbers;
    return count;
}

/* Numbers with blanks between them, to four digits. */
static void round_numbers(const char *text, lth__string *out) {
    for (const char *at = text; *at;) {
        char *end;
        double value = strtod(at, &end);
        if (at > text) lth__string_append(out, " ", 1);
        if (end == at) { /* none after all, such as "... (70 numbers)" */
            lth__string_append(out, at, strlen(at));
            return;
        }
        lth__string_format(out, "%.4g", value);
        at = end + strspn(end, " ");
    }
}

static void write_numbers(const lth_items *items, size_t row, size_t field, lth__string *out) {
    lth__string exact = {0};
    lth__string_append(&exact, "", 0);
    write_field(items, row, field, &exact);
    if (exact.failed)
        out->failed = true;
    else
        round_numbers(exact.bytes, out);
    lth__string_free(&exact);
}

/* A text that is alone needs no name; numbers do, beside anything else. */
static void write_columns(const lth_items *items, size_t row, bool numbers, lth__string *out) {
    const lth_kernel *kernel = items->encoder->kernel;
    size_t same = count_columns(kernel, numbers), others = count_columns(kernel, !numbers),
           done = 0;
    bool named = same > 1 || (numbers && others > 0);
    for (size_t c = 0; lth_kernel_column(kernel, c); c++) {
        if (holds_numbers(kernel, c) != numbers) continue;
        bool first = done++ == 0;
        if (!first || (numbers && others > 0))
            lth__string_format(out, "%s", numbers && !first ? ", " : " | ");
        if (named) lth__string_format(out, numbers ? "%s " : "%s: ", lth_kernel_column(kernel, c));
        (numbers ? write_numbers : write_field)(items, row, find_field(kernel, c), out);
    }
}

const char *lth__row_line(const lth_items *items, size_t row) {
    if (!items || row >= items->count) return NULL;
    lth__string *room = clear_room();
    if (!room) return NULL;
    write_columns(items, row, false, room);
    write_columns(items, row, true, room);
    return finish(room);
}
