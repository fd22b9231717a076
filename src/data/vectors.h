/* Word vectors for the words of a vocabulary. */
#ifndef LTH_VECTORS_H
#define LTH_VECTORS_H

#include "base/context.h"
#include "data/symbols.h"

typedef struct lth__vectors {
    size_t dimension;
    size_t count;    /* vectors kept                                                       */
    float *values;   /* count x dimension                                                  */
    int32_t *row_of; /* symbol - first -> row of `values`, or -1                           */
    size_t symbols;  /* that the vocabulary had; those before `first` are its base's       */
    size_t first;
    size_t offered; /* words of the file, with all that nobody asked for                  */
} lth__vectors;

/* Where vectors are looked for: a file, or a table in memory. Neither = nowhere. */
typedef struct lth__vector_source {
    const char *path;
    const lth_word_vectors *table;
} lth__vector_source;

/* NULL = it has none. */
static inline const float *lth__vectors_at(const lth__vectors *v, lth__symbol symbol) {
    bool here = symbol >= v->first && symbol < v->symbols;
    int32_t row = here ? v->row_of[symbol - v->first] : -1;
    return row < 0 ? NULL : v->values + (size_t)row * v->dimension;
}

/* Read the vectors of the words in `vocabulary` from a table, or from a GloVe, word2vec (text or
 * binary) or fastText file, gzipped or not, recognised by content. A word given twice keeps its
 * first vector, with a warning; a vector of another length or a non-number is an error with the
 * line. Of a vocabulary that extends another only the words that it adds are looked for. */
lth_status lth__vectors_read(const lth_ctx *ctx, lth__vector_source from,
                             const lth__symbols *vocabulary, lth__vectors *out, lth_error *err);
/* The same, and a word without a vector gets the mean of those of its parts between hyphens and
 * apostrophes. */
lth_status lth__vectors_read_parts(const lth_ctx *ctx, lth__vector_source from,
                                   const lth__symbols *vocabulary, lth__vectors *out,
                                   lth_error *err);
void lth__vectors_free(lth__vectors *v);

/* For the second: the first, and whether it is news when no word has a vector. */
lth_status lth__vectors_read_words(const lth_ctx *ctx, lth__vector_source from,
                                   const lth__symbols *vocabulary, bool warns, lth__vectors *out,
                                   lth_error *err);

/* Every word of a file: `words` is empty, and its i-th has row i of `out`, which has no `row_of`.
 */
lth_status lth__vectors_read_all(const lth_ctx *ctx, const char *path, lth__symbols *words,
                                 lth__vectors *out, lth_error *err);

enum { LTH__MAX_DIMENSION = 100000 }; /* more is a damaged header */

#endif
