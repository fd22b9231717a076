/* Word vectors for the words of a vocabulary. */
#ifndef LTH_VECTORS_H
#define LTH_VECTORS_H

#include "base/context.h"
#include "data/symbols.h"

typedef struct lth__vectors {
    size_t dimension;
    size_t count;    /* vectors kept                                                       */
    float *values;   /* count x dimension                                                  */
    int32_t *row_of; /* symbol -> row of `values`, or -1; as many as the vocabulary had    */
    size_t symbols;
} lth__vectors;

/* Read the vectors of the words in `vocabulary` from a GloVe, word2vec (text or binary) or fastText
 * file, gzipped or not, recognised by content. A word given twice keeps its first vector, with a
 * warning; a vector of another length or a non-number is an error with the line. */
lth_status lth__vectors_read(const lth_ctx *ctx, const char *path, const lth__symbols *vocabulary,
                             lth__vectors *out, lth_error *err);
/* The same, and a word without a vector gets the mean of those of its parts between hyphens and
 * apostrophes. */
lth_status lth__vectors_read_parts(const lth_ctx *ctx, const char *path,
                                   const lth__symbols *vocabulary, lth__vectors *out,
                                   lth_error *err);
void lth__vectors_free(lth__vectors *v);

#endif
