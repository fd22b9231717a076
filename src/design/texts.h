/* A growing list of texts, and a set of them by their hashes. */
#ifndef LTH_TEXTS_H
#define LTH_TEXTS_H

#include "base/text.h"

/* Texts one after the other, each with a NUL behind it. */
typedef struct lth__texts {
    lth__string bytes;
    size_t *offsets; /* count + 1 of them, once there is a text */
    size_t count, capacity;
} lth__texts;

lth_status lth__texts_add(lth__texts *t, const char *text, size_t length, lth_error *err);
const char *lth__texts_at(const lth__texts *t, size_t i, size_t *length);
void lth__texts_clear(lth__texts *t);
void lth__texts_free(lth__texts *t);
/* A table of one column: the texts pick[0..count), or the first `count` when pick is NULL. */
lth_status lth__texts_table(const lth__texts *t, lth_ctx *ctx, const char *column,
                            const size_t *pick, size_t count, lth_table **out, lth_error *err);

typedef struct lth__text_set {
    uint64_t *slots; /* 0 = free */
    size_t count, capacity;
} lth__text_set;

/* Adds one; *fresh tells whether it was not there. false = out of memory. */
bool lth__text_set_add(lth__text_set *seen, uint64_t hash, bool *fresh);
void lth__text_set_free(lth__text_set *seen);

#endif
