/* Encoded rows as text again: tokens with blanks between them, trees in brackets, numbers. */
#include "model/explain/explain_text.h"

#include <pthread.h>
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
    return NULL;
}

const char *lth__row_text(const lth_items *items, size_t row, size_t column) {
    const lth_kernel *kernel = items ? items->encoder->kernel : NULL;
    size_t field = kernel ? find_field(kernel, column) : LTH_NONE;
    if (field == LTH_NONE || row >= items->count) return NULL;
    lth__string *room = find_room();
    if (!room) return NULL;
    room->length = 0;
    room->failed = false;
    lth__string_append(room, "", 0);
    kernel->fields[field].type->write(&items->encoder->lexicons[field], &items->fields[field], row,
                                      room);
    return room->failed ? NULL : room->bytes;
}
