/* Similarities of a node's symbols, kept in the encoder from one evaluation to the next. */
#include "kernel/encode.h"

static lth__similarity *kept_similarity(const lth__node *node, const lth__eval *eval,
                                        const lth__lexicon *l) {
    for (lth__similarity *s = l->similarities; s; s = s->next) {
        if (s->owner == node->index && s->symbols == lth__symbols_count(l->symbols) &&
            s->precision == eval->ctx->options.precision)
            return s;
    }
    return NULL;
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
                                   .uses_rarity = how.uses_rarity};
        LTH_TRY(lth__similarity_create(eval->ctx, &def, &s, err));
        s->next = l->similarities;
        l->similarities = s;
    }
    LTH_TRY(lth__similarity_set(eval->ctx, s, how.temperature, how.rarity, err));
    *out = s;
    return LTH_OK;
}
