/* Word vectors in memory: all words of a file or of a caller, in full or in a byte a number. */
#ifndef LTH_WORD_VECTORS_H
#define LTH_WORD_VECTORS_H

#include <stdatomic.h>

#include "data/vectors.h"

/* Whoever keeps one has a reference. It does not change once it is made. */
struct lth_word_vectors {
    atomic_uint references;
    lth__symbols *words;
    size_t count, dimension;
    float *values; /* count x dimension, or NULL: then the number is scale (byte - 128) */
    uint8_t *bytes;
    float *scales; /* of each word */
};

const lth_word_vectors *lth__word_vectors_keep(const lth_word_vectors *v);

/* The same in a byte a number: the largest number of a vector is 127 steps of its own. */
lth_status lth__word_vectors_pack(const lth_word_vectors *from, lth_word_vectors **out,
                                  lth_error *err);
/* From such bytes; words, bytes and scales become its own, or are freed. */
lth_status lth__word_vectors_of_bytes(lth__symbols *words, size_t dimension, uint8_t *bytes,
                                      float *scales, lth_word_vectors **out, lth_error *err);

/* For lth__vectors_read_words(): `v` has symbols, first and row_of, and becomes *out or is freed.
 */
lth_status lth__word_vectors_take(const lth_ctx *ctx, const lth_word_vectors *from,
                                  const lth__symbols *vocabulary, bool warns, lth__vectors *v,
                                  lth__vectors *out, lth_error *err);

#endif
