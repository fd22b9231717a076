#include "design/texts.h"

#include "base/memory.h"

/* ---- The list ---- */

lth_status lth__texts_add(lth__texts *t, const char *text, size_t length, lth_error *err) {
    if (!lth__reserve((void **)&t->offsets, &t->capacity, t->count + 2, sizeof *t->offsets))
        return lth__fail_memory(err, 0);
    t->offsets[t->count] = t->bytes.length;
    lth__string_append(&t->bytes, text, length);
    lth__string_append(&t->bytes, "", 1);
    if (t->bytes.failed) return lth__fail_memory(err, length);
    t->offsets[++t->count] = t->bytes.length;
    return LTH_OK;
}

const char *lth__texts_at(const lth__texts *t, size_t i, size_t *length) {
    if (length) *length = t->offsets[i + 1] - t->offsets[i] - 1;
    return t->bytes.bytes + t->offsets[i];
}

void lth__texts_clear(lth__texts *t) {
    t->count = t->bytes.length = 0;
}

void lth__texts_free(lth__texts *t) {
    lth__string_free(&t->bytes);
    lth__free(t->offsets);
    *t = (lth__texts){0};
}

lth_status lth__texts_table(const lth__texts *t, lth_ctx *ctx, const char *column,
                            const size_t *pick, size_t count, lth_table **out, lth_error *err) {
    const char **text = lth__alloc(count, sizeof *text);
    size_t *length = lth__alloc(count, sizeof *length);
    lth_status status = text && length ? LTH_OK : lth__fail_memory(err, count * sizeof *text);
    for (size_t i = 0; status == LTH_OK && i < count; i++)
        text[i] = lth__texts_at(t, pick ? pick[i] : i, &length[i]);
    if (status == LTH_OK) status = lth_table_from_texts(ctx, column, text, length, count, out, err);
    lth__free(text);
    lth__free(length);
    return status;
}

/* ---- The set: open addressing, at most half full ---- */

static void put(uint64_t *slots, size_t capacity, uint64_t hash) {
    size_t at = hash & (capacity - 1);
    while (slots[at] != 0 && slots[at] != hash) at = (at + 1) & (capacity - 1);
    slots[at] = hash;
}

static bool grow(lth__text_set *seen) {
    size_t capacity = seen->capacity > 0 ? 2 * seen->capacity : 1024;
    uint64_t *slots = lth__calloc(capacity, sizeof *slots);
    if (!slots) return false;
    for (size_t i = 0; i < seen->capacity; i++)
        if (seen->slots[i] != 0) put(slots, capacity, seen->slots[i]);
    lth__free(seen->slots);
    seen->slots = slots;
    seen->capacity = capacity;
    return true;
}

bool lth__text_set_add(lth__text_set *seen, uint64_t hash, bool *fresh) {
    hash += hash == 0;
    if (2 * seen->count >= seen->capacity && !grow(seen)) return false;
    size_t at = hash & (seen->capacity - 1);
    while (seen->slots[at] != 0 && seen->slots[at] != hash) at = (at + 1) & (seen->capacity - 1);
    *fresh = seen->slots[at] == 0;
    seen->count += *fresh;
    seen->slots[at] = hash;
    return true;
}

void lth__text_set_free(lth__text_set *seen) {
    lth__free(seen->slots);
    *seen = (lth__text_set){0};
}
