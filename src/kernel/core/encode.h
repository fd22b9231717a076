/* Encoded rows: what kernels compare. */
#ifndef LTH_ENCODE_H
#define LTH_ENCODE_H

#include "base/context.h"
#include "data/symbols.h"
#include "data/vectors.h"
#include "kernel/core/kernel.h"

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

/* Cells of the tables of all pairs: each once, where both are the same sequences. */
static inline double lth__sequences_cells(const lth__sequences *s, const lth__sequences *t) {
    double cells =
        (double)(s->start[s->count] - s->start[0]) * (double)(t->start[t->count] - t->start[0]);
    if (s != t) return cells;
    for (size_t i = 0; i < s->count; i++) {
        double length = (double)lth__sequence_length(s, i);
        cells += length * length;
    }
    return cells / 2;
}

/* Sparse features: item i has those from start[i] to start[i + 1] - 1, by ascending number. */
typedef struct lth__features {
    size_t *start; /* count + 1 entries */
    uint32_t *feature;
    double *weight;
    bool made; /* these items asked for them: theirs even where they borrow all else */
} lth__features;

struct lth_items {
    struct lth_encoder *encoder;
    bool borrowed; /* the arrays of its fields and features belong to other items */
    bool quiet;    /* no warnings: they are part of items that were evaluated before */
    bool of_base;  /* its encoder extends the one they were made by, and adds nothing   */
    size_t count;
    lth__sequences *fields;   /* as many as the kernel has fields */
    lth__features *features;  /* by node; empty for those that are no sparse feature maps */
    struct lth_store *stored; /* where their Gram matrix is read from, or NULL */
    size_t *stored_row;       /* which of its rows they are; NULL = all        */
};

/* What an encoder knows of a field. */
typedef struct lth__lexicon {
    const lth__field_def *def;
    const struct lth__lexicon *base; /* of an encoder that extends another */
    lth__symbols *symbols;           /* NULL for fields that have none         */
    size_t known;                    /* symbols of the first table encoded     */
    void *own;                       /* what the field's type keeps            */
    const lth_ctx *ctx;              /* asked whether to go on while rows are encoded */
    bool
        lent; /* symbols, and most of what `own` has, are those of another; see lth__encoder_lend */
} lth__lexicon;

/* The features of a node, and what the first table that was encoded says of them. That of an
 * extension has grams of its own, and borrows all the rest. */
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

typedef struct lth__lookup lth__lookup; /* lookup.h */

/* An encoder, or one that extends another: what a call reads goes into an encoder of its own, on
 * top of the model's, whose numbers stay as they are. So a model does not change, and many threads
 * may use it. */
struct lth_encoder {
    lth_ctx *ctx;
    lth_ctx own_ctx;                /* of an extension: a copy for the call */
    const struct lth_encoder *base; /* or NULL */
    bool lent;                      /* its spaces, and what lexicons say, are another's */
    const lth_kernel *kernel;
    lth__lexicon *lexicons;     /* by field                          */
    lth__feature_space *spaces; /* by node                           */
    bool has_encoded;           /* the first table has been encoded  */
    lth__lookup *lookup;        /* where vectors of new words are; NULL = none are needed, or this
                                   is an extension */
};

/* The vectors of all words encoded so far that this encoder adds to its base. */
lth_status lth__encoder_read(lth_encoder *encoder, lth__vector_source from, lth_error *err);

/* One that goes on where `base` stands, and that is freed before it. Its items may be compared with
 * those of `base`. */
lth_status lth__encoder_extend(const lth_encoder *base, lth_encoder **out, lth_error *err);

/* One that stands for `of` in a fit beside others, whose kernel has values of its own: the same
 * numbers and vectors, and a copy of what was learned from rows. While it is there `of` encodes
 * nothing new, but may learn from other rows; what it has made of its vectors is used here too, and
 * stays as it is where kernels learn nothing from rows. */
lth_status lth__encoder_lend(const lth_encoder *of, const lth_kernel *kernel, lth_encoder **out,
                             lth_error *err);

/* What an evaluation of these items and others reports to. */
static inline lth_ctx *lth__items_ctx(const lth_items *items) {
    const lth_encoder *e = items->encoder;
    return e->base ? e->ctx : e->kernel->ctx;
}

/* An extension with the items of a table, and what vectors its words have. On failure nothing is
 * left; otherwise lth__reading_close(). */
typedef struct lth__reading {
    lth_encoder *encoder;
    lth_items *items;
} lth__reading;
lth_status lth__reading_open(const lth_encoder *base, const lth_table *table, lth__reading *out,
                             lth_error *err);
void lth__reading_close(lth__reading *r);

/* For whoever makes items from stored fields: items whose fields are still empty, and, once these
 * are there, the features of nodes that have any. The first items of an encoder decide how features
 * are weighed. */
lth_status lth__items_create(lth_encoder *encoder, size_t count, lth_items **out, lth_error *err);
lth_status lth__items_features(lth_items *items, lth_error *err);

/* The features of families that make them when they are asked for (lth__family.features); and
 * without them again. */
lth_status lth__items_ask_features(lth_items *items, lth_error *err);
void lth__items_drop_features(lth_items *items);

/* What an encoder has learned from all its first items (how frequent features and words are, the
 * moments of columns), it learns again from item[0 .. count-1] of them alone, and these first items
 * are made anew by it; their vocabulary stays. So cross-validation keeps what it judges by out of
 * what it learns. Nothing is done where values come from a store. */
lth_status lth__items_learn(lth_items *items, const size_t *item, size_t count, lth_error *err);

/* Items first .. first+count-1 as items of their own, which borrow the others' arrays. */
lth_status lth__items_slice(const lth_items *items, size_t first, size_t count, lth_items **out,
                            lth_error *err);
/* The items item[0 .. count-1], copied. They may be made those of an encoder that extends theirs.
 */
lth_status lth__items_pick(const lth_items *items, const size_t *item, size_t count,
                           lth_items **out, lth_error *err);
/* The items of `a`, then those of `b`, of the same encoder, copied. */
lth_status lth__items_join(const lth_items *a, const lth_items *b, lth_items **out, lth_error *err);

#endif
