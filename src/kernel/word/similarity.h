/* Similarities between the symbols of a vocabulary: by their word vectors, by how rare they are, or
 * as letters of a matrix.
 *
 *     dot       x_a . x_b
 *     cosine    of the angle
 *     arccos    1 - angle / pi
 *     exp       exp((cosine - 1) / temperature), of vectors centred over the vocabulary
 *     matrix    exp(-exponent D(a,b)), with D how far two letters are from each other
 *
 * Each dimension may have a weight, its relevance: x becomes sqrt(relevance) x before all else, of
 * exp after the centring.
 *
 * A symbol without a vector matches itself, or nothing (oov). With rarity r a symbol of relative
 * frequency p weighs r / (r + p), and a similarity is multiplied by both weights.
 */
#ifndef LTH_SIMILARITY_H
#define LTH_SIMILARITY_H

#include "base/context.h"
#include "data/vectors.h"

typedef enum lth__sim {
    LTH__SIM_EXACT,
    LTH__SIM_DOT,
    LTH__SIM_COSINE,
    LTH__SIM_ARCCOS,
    LTH__SIM_EXP,
    LTH__SIM_MATRIX
} lth__sim;

/* The symbols of a vocabulary as letters: the same or not (distance 0 or 1), or by a matrix. */
typedef struct lth__letter_distances {
    const uint32_t *number; /* of each symbol in the matrix; LTH__NO_LETTER_NUMBER = it is none */
    const double *distance; /* [letter][letter], rows `stride` apart; NULL = the same or not    */
    size_t stride;
} lth__letter_distances;

#define LTH__NO_LETTER_NUMBER UINT32_MAX

/* What a symbol without a vector matches: itself, nothing, or as the mean of its parts (which is
 * settled when vectors are read; what then remains matches itself). */
typedef enum lth__oov { LTH__OOV_EXACT, LTH__OOV_ZERO, LTH__OOV_PARTS } lth__oov;

/* The similarities themselves, their derivatives, or what they are made of and no parameter changes
 * (but relevance): D with S = D w_a w_b, or exp(-decay D) w_a w_b where sim is exp or matrix. */
typedef enum lth__sim_part {
    LTH__SIM_VALUE,
    LTH__SIM_BY_TEMPERATURE,
    LTH__SIM_BY_RARITY,
    LTH__SIM_BASIS,
    LTH__SIM_PARTS
} lth__sim_part;

/* Tables to keep: of values with their derivatives, of D, or both. */
enum { LTH__KEEPS_VALUES = 1, LTH__KEEPS_BASIS = 2 };

typedef struct lth__similarity {
    size_t owner; /* number of the node it belongs to */
    lth__sim sim;
    lth__oov oov;
    lth_precision precision;
    size_t symbols; /* vocabulary it was made for                              */
    const struct lth__similarity *base; /* what is known of symbols before `first`, or NULL   */
    size_t first;                  /* of the symbols that the arrays below have, but tables   */
    size_t dimension;              /* of the vectors                                          */
    double *vectors;               /* symbols x dimension; of unit length unless sim is dot   */
    double *relevance;             /* at which the vectors are; NULL = dimensions have no weights */
    double *plain, *scale;         /* the vectors before they were weighed, and what then made them
                                      of unit length; with relevance                          */
    bool *known;                   /* whether the symbol has a vector, or is a letter         */
    lth__letter_distances letters; /* of sim=matrix; of which `letter` are the numbers here   */
    uint32_t *letter;
    double *frequency;             /* relative, of each symbol                                */
    double temperature, rarity;    /* at which the tables are; rarity 0 = all weigh 1. Of a matrix,
                                      temperature is its exponent                             */
    double *weight, *weight_slope; /* of each symbol: w, and its derivative over w            */
    unsigned keeps;                /* LTH__KEEPS_...                                          */
    uint32_t *slot, *symbol_at;    /* where each symbol is in the tables, and the inverse     */
    bool wanted[LTH__SIM_PARTS];   /* of the values                                           */
    bool by_tile;                  /* no tables: too few pairs ask for them                   */
    double *dots;                  /* inner products, or how far letters are from each other, when
                                      the tables change with parameters                       */
    void *table[LTH__SIM_PARTS];   /* (symbols + 1)^2 reals, the last row and column similar to
                                      nothing; NULL where that is too large to keep           */
    struct lth__similarity *next;
} lth__similarity;

/* Where a symbol is kept, and its place there. */
static inline const lth__similarity *lth__similarity_place(const lth__similarity *s,
                                                           uint32_t *symbol) {
    if (*symbol < s->first) return s->base;
    *symbol -= (uint32_t)s->first;
    return s;
}

/* What a similarity is made from; vectors may be empty for exact matching. */
typedef struct lth__similarity_def {
    size_t owner;
    lth__sim sim;
    lth__oov oov;
    const lth__vectors *vectors, *base_vectors; /* those of a base, or NULL */
    size_t centre_rows; /* of them, from the first of the base, to centre by */
    lth__letter_distances letters;
    size_t symbols;
    const double *frequency; /* of the first `frequencies` symbols; the rest have 0 */
    size_t frequencies;
    bool learns_temperature, uses_rarity;
    bool weighs_dimensions; /* then derivatives come from lth__similarity_pull(), not from tables */
    bool by_tile;
    unsigned keeps;
    const uint32_t *symbol_at;   /* the order in a table of D alone; NULL = as they are numbered */
    const lth__similarity *base; /* to stand on, by tile; or NULL */
} lth__similarity_def;

/* Everything but the tables, which lth__similarity_set() makes if they fit. */
lth_status lth__similarity_create(lth_ctx *ctx, const lth__similarity_def *def,
                                  lth__similarity **out, lth_error *err);
void lth__similarity_free(lth__similarity *s);

/* Bring the tables to these values of the parameters; `relevance` is read if dimensions are
 * weighed.
 */
lth_status lth__similarity_set(lth_ctx *ctx, lth__similarity *s, double temperature, double rarity,
                               const double *relevance, lth_error *err);
/* Whether it is at these values. */
bool lth__similarity_is_at(const lth__similarity *s, double temperature, double rarity,
                           const double *relevance);

/* One part for symbols a[0..a_count) with b[0..b_count), as reals of the similarity's precision,
 * out[i * ld + j]. For vocabularies too large for a table. */
lth_status lth__similarity_tile(const lth__similarity *s, lth__sim_part part, const uint32_t *a,
                                size_t a_count, const uint32_t *b, size_t b_count, void *out,
                                size_t ld, lth_error *err);

/* Keep more tables from now on. */
void lth__similarity_keep(lth__similarity *s, unsigned keeps);

/* Whether S = exp(-decay D) w_a w_b, and with which decay; its derivative by the temperature. */
bool lth__similarity_decays(const lth__similarity *s, double *decay, double *slope);
/* D of what is similar to nothing. */
double lth__similarity_nothing(const lth__similarity *s);
/* w of a symbol, and dlog w / drarity; 1 and 0 where symbols are not weighed. */
double lth__similarity_weight(const lth__similarity *s, uint32_t symbol, double *slope);

/* Sums of derivatives by the parameters. */
typedef struct lth__similarity_slopes {
    double temperature, rarity;
    double *relevance; /* [dimension] */
} lth__similarity_slopes;

/* The pull-back: with weight G[i * ld + j] on the similarity S[i * ld + j] of a[i] and b[j], which
 * lth__similarity_tile() gives, adds sum_ij G_ij dS_ij for every parameter. Dimensions are weighed.
 */
lth_status lth__similarity_pull(const lth__similarity *s, const uint32_t *a, size_t a_count,
                                const uint32_t *b, size_t b_count, const void *S, const double *G,
                                size_t ld, lth__similarity_slopes *out, lth_error *err);

#endif
