/* Words with their vectors and similarities: what fields keep whose symbols may match softly. */
#ifndef LTH_WORDS_H
#define LTH_WORDS_H

#include "kernel/core/field.h"
#include "kernel/word/similarity.h"

/* What a lexicon of words keeps, or what it keeps begins with. Similarities are kept from one
 * evaluation to the next. */
typedef struct lth__words {
    const struct lth__words *base;   /* of an extension, which has vectors of new words alone */
    const struct lth__words *lender; /* whose vectors these are, and whose similarities serve where
                                        they are at the same values; NULL = its own */
    lth__vectors vectors;
    bool has_vectors;
    bool contextual; /* the column has vectors instead of texts: each unit is a symbol of its own,
                        whose name is its number, and whose vector is in the row of that number */
    bool tables;     /* of similarities always pay: how many are asked for is not known */
    size_t centre_rows; /* vectors that the centre of sim=exp is the mean of: those of the first
                           reading */
    double *frequency;  /* of the symbols that the first table has, relative; or NULL */
    lth__similarity *similarities; /* list; see lth__words_similarity() */
} lth__words;

static inline lth__words *lth__words_of(const lth__lexicon *l) {
    return l->own;
}

/* `w` is zero, and will be what `l` keeps. */
void lth__words_open(lth__words *w, const lth__lexicon *l);
void lth__words_close(lth__words *w);
/* Frequencies are copied; false = out of memory. */
bool lth__words_lend(const lth__words *from, size_t symbols, lth__words *to);
/* Frequencies for all `symbols`, which are 0; what was made of others goes. NULL = out of memory.
 */
double *lth__words_frequency(lth__words *w, size_t symbols);

/* NULL = it has none. */
const float *lth__words_vector(const lth__words *w, lth__symbol word);

/* For lth__field_type. */
lth_status lth__words_read_vectors(lth__lexicon *l, const lth_ctx *ctx, lth__vector_source from,
                                   size_t *words, size_t *dimension, lth_error *err);
void lth__words_save(const lth__lexicon *l, const lth__field_saver *to);
lth_status lth__words_load(lth__lexicon *l, const lth__field_loader *from);

/* How the symbols of a node match. */
typedef struct lth__matching {
    lth__sim sim;
    lth__oov oov;
    bool learns_temperature, uses_rarity;
    double temperature, rarity;    /* at present */
    const double *relevance;       /* of each dimension of the vectors; NULL = none is weighed */
    size_t dimensions;             /* that it has */
    lth__letter_distances letters; /* of sim=matrix; then temperature is its exponent */
    unsigned keeps;                /* tables that will be read: LTH__KEEPS_... */
} lth__matching;

/* The similarities of the symbols of a node's field, made when they are first asked for. */
lth_status lth__words_similarity(const lth__node *node, const lth__eval *eval,
                                 lth__matching matching, const lth__similarity **out,
                                 lth_error *err);

#endif
