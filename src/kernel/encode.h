/* Encoded rows: what kernels compare. */
#ifndef LTH_ENCODE_H
#define LTH_ENCODE_H

#include "base/context.h"
#include "data/symbols.h"
#include "data/vectors.h"
#include "kernel/kernel.h"
#include "kernel/similarity.h"

/* The sequences of one field: item i is symbols[start[i]] .. symbols[start[i + 1] - 1]. */
typedef struct lth__sequences {
    lth__symbol *symbols;
    size_t *start; /* count + 1 entries */
    size_t count, longest;
} lth__sequences;

static inline size_t lth__sequence_length(const lth__sequences *s, size_t i) {
    return s->start[i + 1] - s->start[i];
}

struct lth_items {
    struct lth_encoder *encoder;
    size_t count;
    lth__sequences *fields; /* as many as the kernel has fields */
};

/* A vocabulary with its vectors. Similarities of symbols are kept from one evaluation to the next.
 */
typedef struct lth__lexicon {
    lth__symbols *symbols;
    lth__vectors vectors;
    bool has_vectors;
    lth__similarity *similarities; /* list; see lth__lexicon_similarity() */
} lth__lexicon;

struct lth_encoder {
    lth_ctx *ctx;
    const lth_kernel *kernel;
    lth__lexicon *lexicons; /* by field */
};

#endif
