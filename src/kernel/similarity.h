/* Similarities between the symbols of a vocabulary by their word vectors. */
#ifndef LTH_SIMILARITY_H
#define LTH_SIMILARITY_H

#include "base/context.h"
#include "data/vectors.h"

typedef enum lth__sim { LTH__SIM_EXACT, LTH__SIM_DOT, LTH__SIM_COSINE, LTH__SIM_ARCCOS } lth__sim;
/* What a symbol without a vector matches: itself, or nothing. */
typedef enum lth__oov { LTH__OOV_EXACT, LTH__OOV_ZERO } lth__oov;

typedef struct lth__similarity {
    lth__sim sim;
    lth__oov oov;
    lth_precision precision;
    size_t symbols;   /* vocabulary it was made for                                     */
    size_t dimension; /* of the vectors                                                 */
    double *vectors;  /* symbols x dimension; scaled to unit length unless sim is dot;
                         zero for a symbol without one                                  */
    bool *known;      /* whether the symbol has a vector                                */
    void *table;      /* (symbols + 1) x (symbols + 1) reals, the last row and column 0
                         for padding; NULL where that is too large to keep              */
    struct lth__similarity *next;
} lth__similarity;

/* Made from a vocabulary's vectors; the whole table too if it fits. */
lth_status lth__similarity_create(lth_ctx *ctx, const lth__vectors *vectors, size_t symbols,
                                  lth__sim sim, lth__oov oov, lth__similarity **out,
                                  lth_error *err);
void lth__similarity_free(lth__similarity *s);

/* The similarities of symbols a[0..a_count) with b[0..b_count), as reals of the similarity's
 * precision, out[i * ld + j]. For vocabularies too large for a table. */
lth_status lth__similarity_block(const lth__similarity *s, const uint32_t *a, size_t a_count,
                                 const uint32_t *b, size_t b_count, void *out, size_t ld,
                                 lth_error *err);

#endif
