/* What types of fields have in common: symbols and sequences, picked, written and read. */
#include "kernel/core/field.h"

#include <string.h>

lth_status lth__sequences_pick(const lth__sequences *from, const size_t *item, size_t count,
                               lth__sequences *to, lth_error *err) {
    size_t units = 0;
    *to = (lth__sequences){.count = count, .longest = from->longest};
    for (size_t i = 0; i < count; i++) units += lth__sequence_length(from, item[i]);
    to->start = lth__alloc(count + 1, sizeof *to->start);
    to->symbols = lth__alloc(units, sizeof *to->symbols);
    if (!to->start || !to->symbols) return lth__fail_memory(err, units * sizeof *to->symbols);
    to->start[0] = 0;
    for (size_t i = 0; i < count; i++) {
        size_t length = lth__sequence_length(from, item[i]);
        if (length > 0) {
            memcpy(to->symbols + to->start[i], from->symbols + from->start[item[i]],
                   length * sizeof *to->symbols);
        }
        to->start[i + 1] = to->start[i] + length;
    }
    return LTH_OK;
}

/* ---- Saving ---- */

/* Words that came later are not part of a model. */
void lth__symbols_save(const lth__lexicon *l, const lth__field_saver *to) {
    lth__symbols_put(l->symbols, l->known, to);
}

/* All texts in one block, and where each ends. */
void lth__symbols_put(const lth__symbols *symbols, size_t count, const lth__field_saver *to) {
    size_t bytes = 0, length;
    for (size_t i = 0; i < count; i++) {
        lth__symbols_text(symbols, (lth__symbol)i, &length);
        bytes += length;
    }
    char *texts = to->keep(to->user, lth__alloc(bytes + 1, 1));
    uint64_t *ends = to->keep(to->user, lth__alloc(count + 1, sizeof *ends));
    for (size_t i = 0, at = 0; texts && ends && i < count; i++) {
        const char *text = lth__symbols_text(symbols, (lth__symbol)i, &length);
        memcpy(texts + at, text, length);
        ends[i] = at += length;
    }
    to->put(to->user, "texts", LTH__U8, bytes, 0, texts);
    to->put(to->user, "text_ends", LTH__U64, count, 0, ends);
}

void lth__sequences_save(const lth__sequences *s, const lth__field_saver *to) {
    uint64_t *start = to->keep(to->user, lth__alloc(s->count + 1, sizeof *start));
    for (size_t i = 0; start && i <= s->count; i++) start[i] = s->start[i] - s->start[0];
    to->put(to->user, "starts", LTH__U64, s->count + 1, 0, start);
    size_t units = s->start[s->count] - s->start[0];
    const lth__symbol none = 0;
    to->put(to->user, "symbols", LTH__U32, units, 0, units > 0 ? s->symbols + s->start[0] : &none);
}

/* ---- Loading ---- */

lth_status lth__symbols_load(lth__lexicon *l, const lth__field_loader *from) {
    return lth__symbols_get(l->symbols, from);
}

lth_status lth__symbols_get(lth__symbols *symbols, const lth__field_loader *from) {
    const lth__tensor *texts, *ends;
    LTH_TRY(from->get(from->user, "texts", LTH__U8, 1, LTH_NONE, 0, &texts));
    LTH_TRY(from->get(from->user, "text_ends", LTH__U64, 1, LTH_NONE, 0, &ends));
    const uint64_t *end = ends->data;
    uint64_t at = 0;
    for (size_t i = 0; i < ends->shape[0]; i++) {
        if (end[i] < at || end[i] > texts->shape[0])
            return from->damaged(from->user, "its vocabulary");
        const char *text = (const char *)texts->data + at;
        lth__symbol symbol = lth__symbols_intern(symbols, text, (size_t)(end[i] - at));
        if (symbol == LTH__NO_SYMBOL) return lth__fail_memory(from->err, 0);
        if (symbol != i) return from->damaged(from->user, "its vocabulary has a word twice");
        at = end[i];
    }
    return LTH_OK;
}

static bool find_starts(const uint64_t *start, size_t units, lth__sequences *s) {
    for (size_t i = 0; i <= s->count; i++) {
        bool ordered = i == 0 ? start[i] == 0 : start[i] >= start[i - 1];
        if (!ordered || start[i] > units) return false;
        s->start[i] = (size_t)start[i];
        if (i > 0 && s->start[i] - s->start[i - 1] > s->longest)
            s->longest = s->start[i] - s->start[i - 1];
    }
    return start[s->count] == units;
}

lth_status lth__sequences_load(const lth__field_loader *from, size_t vocabulary,
                               lth__sequences *out) {
    const lth__tensor *starts, *symbols;
    LTH_TRY(from->get(from->user, "starts", LTH__U64, 1, from->rows + 1, 0, &starts));
    LTH_TRY(from->get(from->user, "symbols", LTH__U32, 1, LTH_NONE, 0, &symbols));
    size_t units = symbols->shape[0];
    *out = (lth__sequences){.count = from->rows,
                            .start = lth__alloc(from->rows + 1, sizeof *out->start),
                            .symbols = lth__alloc(units, sizeof *out->symbols)};
    if (!out->start || !out->symbols) return lth__fail_memory(from->err, 0);
    memcpy(out->symbols, symbols->data, units * sizeof *out->symbols);
    bool good = find_starts(starts->data, units, out);
    for (size_t i = 0; good && i < units; i++) good = out->symbols[i] < vocabulary;
    return good ? LTH_OK : from->damaged(from->user, "its training rows");
}
