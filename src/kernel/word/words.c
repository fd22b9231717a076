/* Words: their vectors read and stored, and their similarities, kept from one evaluation to the
 * next. */
#include "kernel/word/words.h"

#include <math.h>
#include <string.h>

enum { NO_VECTOR = -1 };

static void free_similarities(lth__words *w) {
    while (w->similarities) {
        lth__similarity *s = w->similarities;
        w->similarities = s->next;
        lth__similarity_free(s);
    }
}

void lth__words_open(lth__words *w, const lth__lexicon *l) {
    if (!l->base) return;
    const lth__words *base = w->base = lth__words_of(l->base);
    w->has_vectors = base->has_vectors;
    w->contextual = base->contextual;
    w->tables = base->tables;
    w->centre_rows = base->centre_rows;
    w->vectors.dimension = base->vectors.dimension;
    w->vectors.first = w->vectors.symbols = lth__symbols_count(l->base->symbols);
}

void lth__words_close(lth__words *w) {
    free_similarities(w);
    if (!w->lender) lth__vectors_free(&w->vectors);
    lth__free(w->frequency);
}

bool lth__words_lend(const lth__words *from, size_t symbols, lth__words *to) {
    *to = *from;
    to->lender = from;
    to->similarities = NULL;
    if (!from->frequency) return true;
    to->frequency = lth__alloc(symbols, sizeof *to->frequency);
    if (to->frequency) memcpy(to->frequency, from->frequency, symbols * sizeof *to->frequency);
    return to->frequency != NULL;
}

double *lth__words_frequency(lth__words *w, size_t symbols) {
    free_similarities(w); /* they have copies of them */
    lth__free(w->frequency);
    w->frequency = lth__calloc(symbols, sizeof *w->frequency);
    return w->frequency;
}

/* ---- Vectors ---- */

static lth_status check_dimension(const lth__words *w, const lth__vectors *more, const char *path,
                                  lth_error *err) {
    size_t dimension = w->base ? w->base->vectors.dimension : 0;
    if (dimension == 0 || more->count == 0 || more->dimension == dimension) return LTH_OK;
    return lth__fail_at(err, LTH_EFORMAT, path, 0, 0,
                        "vectors of %zu numbers, where the model has vectors of %zu",
                        more->dimension, dimension);
}

lth_status lth__words_read_vectors(lth__lexicon *l, const lth_ctx *ctx, lth__vector_source from,
                                   size_t *words, size_t *dimension, lth_error *err) {
    lth__words *w = lth__words_of(l);
    bool complete = l->base && lth__symbols_count(l->symbols) == lth__symbols_first(l->symbols);
    if (!l->def->vectors || w->contextual || complete) return LTH_OK;
    lth__vectors v;
    LTH_TRY((l->def->parts ? lth__vectors_read_parts : lth__vectors_read)(ctx, from, l->symbols, &v,
                                                                          err));
    lth_status status = check_dimension(w, &v, from.path, err);
    if (status != LTH_OK) {
        lth__vectors_free(&v);
        return status;
    }
    if (w->base && v.count == 0) v.dimension = w->base->vectors.dimension;
    free_similarities(w);
    lth__vectors_free(&w->vectors);
    w->vectors = v;
    w->has_vectors = true;
    if (!w->base) w->centre_rows = v.count;
    *words = v.offered;
    *dimension = v.dimension;
    return LTH_OK;
}

const float *lth__words_vector(const lth__words *w, lth__symbol word) {
    bool own = !w->base || word >= w->vectors.first;
    return lth__vectors_at(own ? &w->vectors : &w->base->vectors, word);
}

/* ---- In a file ---- */

static const uint8_t is_contextual = 1;

void lth__words_save(const lth__lexicon *l, const lth__field_saver *to) {
    const lth__words *w = lth__words_of(l);
    const lth__vectors *v = &w->vectors;
    if (!w->has_vectors || (to->without_vectors && !w->contextual)) return;
    uint32_t *row = to->keep(to->user, lth__alloc(v->symbols + 1, sizeof *row));
    for (size_t i = 0; row && i < v->symbols; i++) row[i] = (uint32_t)v->row_of[i];
    to->put(to->user, "vector_rows", LTH__U32, v->symbols, 0, row);
    const float none = 0;
    to->put(to->user, "vectors", LTH__F32, v->count, v->dimension > 0 ? v->dimension : 1,
            v->count > 0 ? v->values : &none);
    if (w->contextual) to->put(to->user, "contextual", LTH__U8, 1, 0, &is_contextual);
}

static lth_status load_vectors(const lth__lexicon *l, const lth__field_loader *from) {
    lth__words *w = lth__words_of(l);
    const lth__tensor *rows, *values;
    LTH_TRY(from->get(from->user, "vector_rows", LTH__U32, 1, LTH_NONE, 0, &rows));
    LTH_TRY(from->get(from->user, "vectors", LTH__F32, 2, LTH_NONE, LTH_NONE, &values));
    bool good = rows->shape[0] <= lth__symbols_count(l->symbols) && values->shape[1] > 0;
    if (!good) return from->damaged(from->user, "its word vectors");
    lth__vectors v = {
        .dimension = values->shape[1], .count = values->shape[0], .symbols = rows->shape[0]};
    v.values = lth__alloc(v.count * v.dimension, sizeof *v.values);
    v.row_of = lth__alloc(v.symbols, sizeof *v.row_of);
    w->vectors = v;
    if (!v.values || !v.row_of) return lth__fail_memory(from->err, 0);
    memcpy(v.values, values->data, v.count * v.dimension * sizeof *v.values);
    const uint32_t *row = rows->data;
    for (size_t i = 0; good && i < v.symbols; i++) {
        good = row[i] == (uint32_t)NO_VECTOR || row[i] < v.count;
        v.row_of[i] = (int32_t)row[i];
    }
    if (!good) return from->damaged(from->user, "its word vectors");
    w->has_vectors = true;
    w->centre_rows = v.count;
    return LTH_OK;
}

lth_status lth__words_load(lth__lexicon *l, const lth__field_loader *from) {
    const lth__tensor *t;
    bool elsewhere = from->without_vectors && !from->has(from->user, "contextual");
    if (l->def->vectors && !elsewhere) LTH_TRY(load_vectors(l, from));
    if (!from->has(from->user, "contextual")) return LTH_OK;
    LTH_TRY(from->get(from->user, "contextual", LTH__U8, 1, 1, 0, &t));
    lth__words_of(l)->contextual = true;
    return *(const uint8_t *)t->data == is_contextual
               ? LTH_OK
               : from->damaged(from->user, "its column of vectors");
}

/* ---- Similarities ---- */

static lth__similarity *find_similarity(const lth__node *node, const lth__eval *eval,
                                        const lth__words *w, size_t symbols) {
    for (lth__similarity *s = w->similarities; s; s = s->next) {
        if (s->owner == node->index && s->symbols == symbols &&
            s->precision == eval->ctx->options.precision)
            return s;
    }
    return NULL;
}

static double count_pairs(const lth__sequences *rows, const lth__sequences *cols,
                          bool only_diagonal) {
    double units = (double)(rows->start[rows->count] - rows->start[0]), squares = 0;
    for (size_t i = 0; only_diagonal && i < rows->count; i++) {
        double length = (double)lth__sequence_length(rows, i);
        squares += length * length;
    }
    return only_diagonal ? squares : units * (double)(cols->start[cols->count] - cols->start[0]);
}

/* A table of all symbols is worth its price when the evaluation looks at about as many pairs of
 * units as it has entries. A symmetric one is often the first of many with the same symbols; a few
 * rows to predict are not. */
static bool table_pays(const lth__node *node, const lth__eval *eval, size_t symbols) {
    double pairs = count_pairs(&eval->rows->fields[node->field], &eval->cols->fields[node->field],
                               eval->only_diagonal);
    bool one_of_many = eval->rows == eval->cols && !eval->only_diagonal;
    return (double)symbols * (double)symbols <= (one_of_many ? 4 : 1) * pairs;
}

/* The symbols by the shortest sequence that has them, shortest first. Of a symmetric matrix long
 * rows meet shorter columns, whose symbols are then at the beginning of a table in this order. */
static uint32_t *order_symbols(const lth__sequences *x, size_t symbols) {
    uint32_t *order = lth__alloc(symbols, sizeof *order);
    bool *seen = lth__calloc(symbols, sizeof *seen);
    size_t count = 0, next;
    for (size_t length = 1; order && seen && length <= x->longest; length = next) {
        next = SIZE_MAX;
        for (size_t i = x->count; i-- > 0;) {
            size_t own = lth__sequence_length(x, i);
            const uint32_t *unit = lth__sequence_symbols(x, i);
            if (own > length && own < next) next = own;
            for (size_t k = 0; own == length && k < own; k++) {
                if (!seen[unit[k]]) order[count++] = unit[k];
                seen[unit[k]] = true;
            }
        }
    }
    for (size_t i = 0; order && seen && i < symbols; i++) {
        if (!seen[i]) order[count++] = (uint32_t)i;
    }
    lth__free(seen);
    if (count == symbols) return order;
    lth__free(order);
    return NULL;
}

static lth_status create(const lth__node *node, const lth__eval *eval, const lth__lexicon *l,
                         lth__matching matching, bool by_tile, const lth__similarity *base,
                         lth__similarity **out, lth_error *err) {
    lth__words *w = lth__words_of(l);
    lth__similarity_def def = {.owner = node->index,
                               .sim = matching.sim,
                               .oov = matching.oov,
                               .vectors = &w->vectors,
                               .base_vectors = w->base ? &w->base->vectors : NULL,
                               .centre_rows = w->centre_rows,
                               .letters = matching.letters,
                               .symbols = lth__symbols_count(l->symbols),
                               .frequency = w->base ? w->base->frequency : w->frequency,
                               .frequencies = l->known,
                               .learns_temperature = matching.learns_temperature,
                               .uses_rarity = matching.uses_rarity,
                               .weighs_dimensions = matching.relevance != NULL,
                               .by_tile = by_tile,
                               .keeps = matching.keeps,
                               .base = base};
    uint32_t *order = NULL;
    if (matching.keeps == LTH__KEEPS_BASIS && eval->rows == eval->cols)
        def.symbol_at = order = order_symbols(&eval->rows->fields[node->field], def.symbols);
    lth_status status = lth__similarity_create(eval->ctx, &def, out, err);
    lth__free(order);
    if (status != LTH_OK) return status;
    (*out)->next = w->similarities;
    w->similarities = *out;
    return LTH_OK;
}

/* What the base, or the lender, has for these values, or NULL. */
static const lth__similarity *find_base(const lth__node *node, const lth__eval *eval,
                                        const lth__lexicon *l, lth__matching matching) {
    const lth__lexicon *of = l->base ? l->base : l;
    const lth__words *w = l->base ? lth__words_of(l->base) : lth__words_of(l)->lender;
    const lth__similarity *s =
        w ? find_similarity(node, eval, w, lth__symbols_count(of->symbols)) : NULL;
    bool same =
        s && lth__similarity_is_at(s, matching.temperature, matching.rarity, matching.relevance);
    return same ? s : NULL;
}

static lth_status check_dimensions(const lth__words *w, const lth__matching *matching,
                                   lth_error *err) {
    size_t dimension = w->vectors.dimension;
    if (!matching->relevance || dimension == matching->dimensions) return LTH_OK;
    return lth__fail(err, LTH_EARG, "ard=%zu weighs vectors of %zu numbers, but these have %zu",
                     matching->dimensions, matching->dimensions, dimension);
}

lth_status lth__words_similarity(const lth__node *node, const lth__eval *eval,
                                 lth__matching matching, const lth__similarity **out,
                                 lth_error *err) {
    const lth__lexicon *l = &eval->rows->encoder->lexicons[node->field];
    const lth__words *w = lth__words_of(l);
    bool vectors = matching.sim != LTH__SIM_EXACT && matching.sim != LTH__SIM_MATRIX;
    if (vectors && !w->has_vectors)
        return lth__fail(err, LTH_EARG, "this kernel matches words by vectors, but none were read");
    LTH_TRY(check_dimensions(w, &matching, err));
    size_t symbols = lth__symbols_count(l->symbols);
    bool by_tile = (l->base || !w->tables) && !table_pays(node, eval, symbols);
    const lth__similarity *base = find_base(node, eval, l, matching);
    bool has_tables = base && !base->by_tile && !(matching.keeps & ~base->keeps);
    if (base && base->symbols == symbols && (by_tile || has_tables)) {
        *out = base;
        return LTH_OK;
    }
    lth__similarity *s = find_similarity(node, eval, w, symbols);
    if (!s) {
        LTH_TRY(create(node, eval, l, matching, by_tile, by_tile ? base : NULL, &s, err));
    } else if (s->by_tile && !s->base && !by_tile) {
        s->by_tile = false;
        s->temperature = NAN; /* so that the tables are made */
    }
    lth__similarity_keep(s, matching.keeps);
    LTH_TRY(lth__similarity_set(eval->ctx, s, matching.temperature, matching.rarity,
                                matching.relevance, err));
    *out = s;
    return LTH_OK;
}
