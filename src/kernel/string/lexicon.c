/* Similarities of a node's symbols, kept in the encoder from one evaluation to the next. */
#include <math.h>

#include "kernel/core/encode.h"

static lth__similarity *kept_similarity(const lth__node *node, const lth__eval *eval,
                                        const lth__lexicon *l) {
    for (lth__similarity *s = l->similarities; s; s = s->next) {
        if (s->owner == node->index && s->symbols == lth__symbols_count(l->symbols) &&
            s->precision == eval->ctx->options.precision)
            return s;
    }
    return NULL;
}

static double count_pairs(const lth__sequences *rows, const lth__sequences *cols, bool selves) {
    double units = (double)(rows->start[rows->count] - rows->start[0]), squares = 0;
    for (size_t i = 0; selves && i < rows->count; i++) {
        double length = (double)lth__sequence_length(rows, i);
        squares += length * length;
    }
    return selves ? squares : units * (double)(cols->start[cols->count] - cols->start[0]);
}

/* A table of all symbols is worth its price when the evaluation looks at about as many pairs of
 * units as it has entries. A symmetric one is often the first of many with the same symbols; a few
 * rows to predict are not. */
static bool table_pays(const lth__node *node, const lth__eval *eval, size_t symbols) {
    double pairs = count_pairs(&eval->rows->fields[node->field], &eval->cols->fields[node->field],
                               eval->selves);
    bool one_of_many = eval->rows == eval->cols && !eval->selves;
    return (double)symbols * (double)symbols <= (one_of_many ? 4 : 1) * pairs;
}

/* Trees are compared by their subtrees: how many pairs of labels that takes is not known. */
static bool goes_by_tile(const lth__node *node, const lth__eval *eval, const lth__lexicon *l) {
    return !l->forest && !table_pays(node, eval, lth__symbols_count(l->symbols));
}

lth_status lth__lexicon_similarity(const lth__node *node, const lth__eval *eval, lth__matching how,
                                   const lth__similarity **out, lth_error *err) {
    lth__lexicon *l = &eval->rows->encoder->lexicons[node->field];
    if (how.sim != LTH__SIM_EXACT && !l->has_vectors)
        return lth__fail(err, LTH_EARG, "this kernel matches words by vectors, but none were read");
    lth__similarity *s = kept_similarity(node, eval, l);
    if (!s) {
        lth__similarity_def def = {.owner = node->index,
                                   .sim = how.sim,
                                   .oov = how.oov,
                                   .vectors = &l->vectors,
                                   .centre_rows = l->centre_rows,
                                   .symbols = lth__symbols_count(l->symbols),
                                   .frequency = l->frequency,
                                   .frequencies = l->frequencies,
                                   .learns_temperature = how.learns_temperature,
                                   .uses_rarity = how.uses_rarity,
                                   .by_tile = goes_by_tile(node, eval, l)};
        LTH_TRY(lth__similarity_create(eval->ctx, &def, &s, err));
        s->next = l->similarities;
        l->similarities = s;
    } else if (s->by_tile && !goes_by_tile(node, eval, l)) {
        s->by_tile = false;
        s->temperature = NAN; /* so that the tables are made */
    }
    LTH_TRY(lth__similarity_set(eval->ctx, s, how.temperature, how.rarity, err));
    *out = s;
    return LTH_OK;
}
