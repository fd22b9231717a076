/* Encoded rows: what kernels compare. */
#ifndef LTH_ENCODE_H
#define LTH_ENCODE_H

#include "base/context.h"
#include "data/forest.h"
#include "data/symbols.h"
#include "data/vectors.h"
#include "kernel/core/kernel.h"
#include "kernel/string/similarity.h"
#include "kernel/tree/tree_index.h"

/* The sequences of one field: item i is symbols[start[i]] .. symbols[start[i + 1] - 1]. Of a tree
 * they are the subtrees at its nodes, in post-order. */
typedef struct lth__sequences {
    lth__symbol *symbols;
    size_t *start; /* count + 1 entries */
    size_t count, longest;
    /* A field of number columns has these instead: count x width. */
    double *numbers;
    size_t width;
} lth__sequences;

static inline const lth__symbol *lth__sequence_symbols(const lth__sequences *s, size_t i) {
    return s->symbols + s->start[i];
}

static inline size_t lth__sequence_length(const lth__sequences *s, size_t i) {
    return s->start ? s->start[i + 1] - s->start[i] : 0;
}

/* Sparse features: item i has those from start[i] to start[i + 1] - 1, by ascending number. */
typedef struct lth__features {
    size_t *start; /* count + 1 entries */
    uint32_t *feature;
    double *weight;
} lth__features;

struct lth_items {
    struct lth_encoder *encoder;
    bool borrowed; /* the arrays of its fields and features belong to other items */
    size_t count;
    lth__sequences *fields;  /* as many as the kernel has fields */
    lth__features *features; /* by node; empty for those that are no sparse feature maps */
};

/* A vocabulary with its vectors. Similarities of symbols are kept from one evaluation to the next.
 */
typedef struct lth__lexicon {
    lth__symbols *symbols;
    lth__vectors vectors;
    bool has_vectors;
    bool contextual; /* the column has vectors instead of texts: each unit is a symbol of its own,
                        whose name is its number, and whose vector is in the row of that number */
    size_t centre_rows; /* vectors that the centre of sim=exp is the mean of: those of the first
                           reading */
    double *frequency;  /* of the symbols of the first table encoded, relative */
    size_t frequencies;
    lth__similarity *similarities; /* list; see lth__lexicon_similarity() */
    /* Of a field of trees, whose symbols are labels and words: */
    lth__forest *forest;
    lth__tree_index *index;
    lth__tree_index *first_index; /* of the first table; often the same */
    size_t known_subtrees;        /* that the first table encoded has */
} lth__lexicon;

/* The features of a node, and what the first table that was encoded says of them. */
typedef struct lth__feature_space {
    lth__symbols *grams; /* a feature is a tuple of symbols; NULL = it is a symbol */
    size_t rows, known;  /* of that table: its rows, and features 0 .. known-1      */
    size_t *seen;        /* how often each feature occurs there                    */
    size_t *rows_with;   /* in how many rows                                       */
    /* What else a family keeps for tables to come, and how to free it. */
    void *own;
    void (*free_own)(void *own);
    /* Bytes that the rows alone do not give again: they are stored with a model. */
    uint8_t *kept;
    size_t kept_size;
    bool restored; /* they come from a model, not from the first table */
} lth__feature_space;

struct lth_encoder {
    lth_ctx *ctx;
    const lth_kernel *kernel;
    lth__lexicon *lexicons;     /* by field                          */
    lth__feature_space *spaces; /* by node                           */
    bool has_encoded;           /* the first table has been encoded  */
};

/* How the symbols of a node match. */
typedef struct lth__matching {
    lth__sim sim;
    lth__oov oov;
    bool learns_temperature, uses_rarity;
    double temperature, rarity; /* at present */
} lth__matching;

/* The similarities of the symbols of a node's field, made when they are first asked for. */
lth_status lth__lexicon_similarity(const lth__node *node, const lth__eval *eval, lth__matching how,
                                   const lth__similarity **out, lth_error *err);

/* Read vectors for the words that have none yet; the others keep theirs. */
lth_status lth__encoder_add_vectors(lth_encoder *encoder, const char *path, lth_error *err);

/* Back to what the encoder knew after the first table, so that a model does not grow with all that
 * it predicts. Items of other tables are to be freed before. */
void lth__encoder_rewind(lth_encoder *encoder);

/* Append the units of a column of vectors, which `out` is then made of, to a lexicon. */
lth_status lth__vectors_column_encode(const lth__field_def *def, const lth_table *table,
                                      size_t column, lth__lexicon *lexicon, lth__sequences *out,
                                      lth_error *err);

/* For whoever makes items from stored fields: items whose fields are still empty, and, once these
 * are there, the features of nodes that have any. The first items of an encoder decide how features
 * are weighed. */
lth_status lth__items_create(lth_encoder *encoder, size_t count, lth_items **out, lth_error *err);
lth_status lth__items_features(lth_items *items, lth_error *err);

/* Items first .. first+count-1 as items of their own, which borrow the others' arrays. */
lth_status lth__items_slice(const lth_items *items, size_t first, size_t count, lth_items **out,
                            lth_error *err);
/* The items item[0 .. count-1], copied. */
lth_status lth__items_pick(const lth_items *items, const size_t *item, size_t count,
                           lth_items **out, lth_error *err);

#endif
