/* Vectors for words that have none: the mean of their parts, as in "ex-wife" or "world's". */
#include <string.h>

#include "data/vectors.h"

/* The length of a hyphen or apostrophe at the start of a text, 0 if there is none. */
static size_t separator(const char *text, size_t length) {
    if (length > 0 && (*text == '-' || *text == '\'')) return 1;
    if (length >= 3 &&
        (memcmp(text, "\xE2\x80\x99", 3) == 0 || memcmp(text, "\xE2\x80\x90", 3) == 0))
        return 3;
    return 0;
}

/* The next part from *at on; false when there are no more. */
static bool next_part(const char *text, size_t length, size_t *at, const char **part,
                      size_t *part_length) {
    while (*at < length) {
        size_t skip = separator(text + *at, length - *at);
        if (skip == 0) break;
        *at += skip;
    }
    size_t first = *at;
    while (*at < length && separator(text + *at, length - *at) == 0) (*at)++;
    *part = text + first;
    *part_length = *at - first;
    return *part_length > 0;
}

/* The words that the vocabulary adds, from 0 on, and after them their parts. */
static lth__symbols *with_parts(const lth__symbols *vocabulary) {
    lth__symbols *all = lth__symbols_create();
    size_t first = lth__symbols_first(vocabulary), count = lth__symbols_count(vocabulary);
    size_t length, part_length;
    bool ok = all != NULL;
    for (size_t i = first; ok && i < count; i++) {
        const char *text = lth__symbols_text(vocabulary, (lth__symbol)i, &length);
        ok = lth__symbols_intern(all, text, length) != LTH__NO_SYMBOL;
    }
    for (size_t i = first; ok && i < count; i++) {
        const char *text = lth__symbols_text(vocabulary, (lth__symbol)i, &length), *part;
        for (size_t at = 0; ok && next_part(text, length, &at, &part, &part_length);) {
            if (part_length < length)
                ok = lth__symbols_intern(all, part, part_length) != LTH__NO_SYMBOL;
        }
    }
    if (ok) return all;
    lth__symbols_free(all);
    return NULL;
}

/* The mean of the parts that have a vector; false if none has. */
static bool mean_of_parts(const lth__symbols *all, const lth__vectors *v, const char *text,
                          size_t length, float *out) {
    const char *part;
    size_t part_length, known = 0;
    memset(out, 0, v->dimension * sizeof *out);
    for (size_t at = 0; next_part(text, length, &at, &part, &part_length);) {
        lth__symbol symbol = lth__symbols_find(all, part, part_length);
        const float *vector = symbol == LTH__NO_SYMBOL ? NULL : lth__vectors_at(v, symbol);
        if (!vector) continue;
        for (size_t d = 0; d < v->dimension; d++) out[d] += vector[d];
        known++;
    }
    for (size_t d = 0; known > 0 && d < v->dimension; d++) out[d] /= (float)known;
    return known > 0;
}

/* Give the words without a vector that of their parts; `v` is of all, and becomes of `vocabulary`.
 */
static lth_status fill_from_parts(const lth__symbols *vocabulary, const lth__symbols *all,
                                  lth__vectors *v, lth_error *err) {
    size_t first = lth__symbols_first(vocabulary), capacity = v->count * v->dimension;
    size_t words = lth__symbols_count(vocabulary) - first;
    for (size_t i = 0; i < words; i++) {
        if (v->row_of[i] >= 0) continue;
        size_t length, used = v->count * v->dimension;
        const char *text = lth__symbols_text(vocabulary, (lth__symbol)(first + i), &length);
        if (!lth__reserve((void **)&v->values, &capacity, used + v->dimension, sizeof *v->values))
            return lth__fail_memory(err, used * sizeof *v->values);
        if (mean_of_parts(all, v, text, length, v->values + used))
            v->row_of[i] = (int32_t)v->count++;
    }
    v->first = first;
    v->symbols = first + words;
    return LTH_OK;
}

lth_status lth__vectors_read_parts(const lth_ctx *ctx, lth__vector_source from,
                                   const lth__symbols *vocabulary, lth__vectors *out,
                                   lth_error *err) {
    lth__symbols *all = with_parts(vocabulary);
    if (!all) return lth__fail_memory(err, 0);
    lth__vectors v;
    bool warns = lth__symbols_first(vocabulary) == 0;
    lth_status status = lth__vectors_read_words(ctx, from, all, warns, &v, err);
    if (status == LTH_OK) {
        status = fill_from_parts(vocabulary, all, &v, err);
        if (status == LTH_OK)
            *out = v;
        else
            lth__vectors_free(&v);
    }
    lth__symbols_free(all);
    return status;
}
