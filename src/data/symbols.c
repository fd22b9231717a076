/* The vocabulary: a hash table with open addressing over texts that live in a pool. Texts of one
 * byte, the common case of units=chars and units=bytes, are found in a table of their own. */
#include "data/symbols.h"

#include <string.h>

#include "base/hash.h"

typedef struct entry {
    const char *text;
    size_t length;
    uint64_t seen;
} entry;

/* `check` repeats the high half of the hash, so that most unequal texts are never compared. */
typedef struct slot {
    uint32_t check;
    lth__symbol symbol; /* LTH__NO_SYMBOL = empty */
} slot;

struct lth__symbols {
    const lth__symbols *base; /* or NULL                      */
    size_t first;             /* how many symbols are its     */
    lth__pool pool;
    entry *entries; /* of the others */
    size_t count, capacity;
    slot *slots;
    size_t slot_count; /* a power of two              */
    size_t slots_used; /* at most half of slot_count  */
    lth__symbol single[256];
};

enum { FIRST_SLOTS = 64 };

static slot *alloc_slots(size_t count) {
    slot *slots = lth__alloc(count, sizeof *slots);
    if (slots) memset(slots, 0xff, count * sizeof *slots);
    return slots;
}

lth__symbols *lth__symbols_create(void) {
    return lth__symbols_extend(NULL);
}

lth__symbols *lth__symbols_extend(const lth__symbols *base) {
    lth__symbols *s = lth__calloc(1, sizeof *s);
    if (!s) return NULL;
    s->base = base;
    s->first = base ? lth__symbols_count(base) : 0;
    memset(s->single, 0xff, sizeof s->single);
    s->slots = alloc_slots(FIRST_SLOTS);
    s->slot_count = FIRST_SLOTS;
    if (s->slots) return s;
    lth__symbols_free(s);
    return NULL;
}

void lth__symbols_free(lth__symbols *s) {
    if (!s) return;
    lth__pool_free(&s->pool);
    lth__free(s->entries);
    lth__free(s->slots);
    lth__free(s);
}

static const entry *entry_at(const lth__symbols *s, lth__symbol i) {
    return i < s->first ? &s->base->entries[i] : &s->entries[i - s->first];
}

/* The slot that holds the text, or the empty one where it belongs. */
static slot *probe(const lth__symbols *s, uint64_t hash, const char *text, size_t length) {
    size_t mask = s->slot_count - 1;
    for (size_t i = hash & mask;; i = (i + 1) & mask) {
        slot *at = &s->slots[i];
        if (at->symbol == LTH__NO_SYMBOL) return at;
        if (at->check != (uint32_t)(hash >> 32)) continue;
        const entry *e = entry_at(s, at->symbol);
        if (e->length == length && memcmp(e->text, text, length) == 0) return at;
    }
}

static bool grow_slots(lth__symbols *s) {
    size_t count = 2 * s->slot_count, mask = count - 1;
    slot *slots = alloc_slots(count);
    if (!slots) return false;
    for (size_t old = 0; old < s->slot_count; old++) {
        lth__symbol symbol = s->slots[old].symbol;
        if (symbol == LTH__NO_SYMBOL) continue;
        const entry *e = entry_at(s, symbol);
        size_t i = lth__hash(0, e->text, e->length) & mask;
        while (slots[i].symbol != LTH__NO_SYMBOL) i = (i + 1) & mask;
        slots[i] = s->slots[old];
    }
    lth__free(s->slots);
    s->slots = slots;
    s->slot_count = count;
    return true;
}

static lth__symbol add_entry(lth__symbols *s, const char *text, size_t length) {
    size_t symbol = s->first + s->count;
    if (symbol >= LTH__NO_SYMBOL) return LTH__NO_SYMBOL;
    if (!lth__reserve((void **)&s->entries, &s->capacity, s->count + 1, sizeof *s->entries))
        return LTH__NO_SYMBOL;
    const char *copy = lth__pool_strndup(&s->pool, text, length);
    if (!copy) return LTH__NO_SYMBOL;
    s->entries[s->count++] = (entry){.text = copy, .length = length, .seen = 0};
    return (lth__symbol)symbol;
}

static lth__symbol intern_single(lth__symbols *s, const char *text) {
    lth__symbol *symbol = &s->single[(unsigned char)*text];
    if (*symbol == LTH__NO_SYMBOL) *symbol = add_entry(s, text, 1);
    return *symbol;
}

static lth__symbol intern_hashed(lth__symbols *s, uint64_t hash, const char *text, size_t length) {
    slot *at = probe(s, hash, text, length);
    if (at->symbol != LTH__NO_SYMBOL) return at->symbol;
    if (2 * (s->slots_used + 1) > s->slot_count) {
        if (!grow_slots(s)) return LTH__NO_SYMBOL;
        at = probe(s, hash, text, length);
    }
    lth__symbol symbol = add_entry(s, text, length);
    if (symbol == LTH__NO_SYMBOL) return symbol;
    *at = (slot){.check = (uint32_t)(hash >> 32), .symbol = symbol};
    s->slots_used++;
    return symbol;
}

static lth__symbol find(const lth__symbols *s, uint64_t hash, const char *text, size_t length) {
    if (length == 1) return s->single[(unsigned char)*text];
    return probe(s, hash, text, length)->symbol;
}

lth__symbol lth__symbols_intern(lth__symbols *s, const char *text, size_t length) {
    uint64_t hash = length == 1 ? 0 : lth__hash(0, text, length);
    lth__symbol symbol = s->base ? find(s->base, hash, text, length) : LTH__NO_SYMBOL;
    if (symbol != LTH__NO_SYMBOL) return symbol;
    symbol = length == 1 ? intern_single(s, text) : intern_hashed(s, hash, text, length);
    if (symbol != LTH__NO_SYMBOL) s->entries[symbol - s->first].seen++;
    return symbol;
}

lth__symbol lth__symbols_find(const lth__symbols *s, const char *text, size_t length) {
    uint64_t hash = length == 1 ? 0 : lth__hash(0, text, length);
    lth__symbol symbol = s->base ? find(s->base, hash, text, length) : LTH__NO_SYMBOL;
    return symbol == LTH__NO_SYMBOL ? find(s, hash, text, length) : symbol;
}

size_t lth__symbols_count(const lth__symbols *s) {
    return s->first + s->count;
}

size_t lth__symbols_first(const lth__symbols *s) {
    return s->first;
}

const char *lth__symbols_text(const lth__symbols *s, lth__symbol i, size_t *length) {
    const entry *e = entry_at(s, i);
    if (length) *length = e->length;
    return e->text;
}

uint64_t lth__symbols_seen(const lth__symbols *s, lth__symbol i) {
    return entry_at(s, i)->seen;
}
