/* The encoder: table columns become sequences of symbols, once. */
#include "kernel/core/encode.h"

#include <string.h>

#include "base/parallel.h"
#include "data/table.h"
#include "data/units.h"
#include "kernel/tree/tree_field.h"

/* ---- Encoders ---- */

/* All, or but those of a vocabulary of that size. */
static void free_similarities(lth__lexicon *l, size_t but) {
    lth__similarity **link = &l->similarities;
    while (*link) {
        lth__similarity *s = *link;
        if (s->symbols == but) {
            link = &s->next;
            continue;
        }
        *link = s->next;
        lth__similarity_free(s);
    }
}

static void free_vectors(lth__lexicon *l) {
    free_similarities(l, SIZE_MAX);
    lth__vectors_free(&l->vectors);
}

static void free_lexicon(lth__lexicon *l) {
    free_vectors(l);
    lth__symbols_free(l->symbols);
    lth__free(l->frequency);
    lth__forest_free(l->forest);
    if (l->first_index != l->index) lth__tree_index_free(l->first_index);
    lth__tree_index_free(l->index);
}

static bool create_lexicon(lth_column_kind kind, lth__lexicon *l) {
    l->symbols = lth__symbols_create();
    if (kind == LTH_COLUMN_TREE) l->forest = lth__forest_create();
    return l->symbols && (kind != LTH_COLUMN_TREE || l->forest);
}

static lth_status check_resolved(const lth_kernel *kernel, lth_error *err) {
    for (size_t n = 0; n < kernel->node_count; n++) {
        if (!kernel->nodes[n]->unresolved) continue;
        return lth__fail(err, LTH_EARG,
                         "symbols=all of %s is open until the data are known: call "
                         "lth_kernel_resolve() with a table first",
                         kernel->nodes[n]->path);
    }
    return LTH_OK;
}

lth_status lth_encoder_create(lth_ctx *ctx, const lth_kernel *kernel, lth_encoder **out,
                              lth_error *err) {
    LTH_TRY(check_resolved(kernel, err));
    lth_encoder *e = lth__calloc(1, sizeof *e);
    if (!e) return lth__fail_memory(err, sizeof *e);
    *e = (lth_encoder){.ctx = ctx, .kernel = kernel};
    e->lexicons = lth__calloc(kernel->field_count, sizeof *e->lexicons);
    e->spaces = lth__calloc(kernel->node_count, sizeof *e->spaces);
    bool ok = e->lexicons && e->spaces;
    for (size_t f = 0; ok && f < kernel->field_count; f++)
        ok = create_lexicon(kernel->fields[f].kind, &e->lexicons[f]);
    if (!ok) {
        lth_encoder_free(e);
        return lth__fail_memory(err, 0);
    }
    *out = e;
    return LTH_OK;
}

void lth_encoder_free(lth_encoder *e) {
    if (!e) return;
    for (size_t f = 0; e->lexicons && f < e->kernel->field_count; f++)
        free_lexicon(&e->lexicons[f]);
    for (size_t n = 0; e->spaces && n < e->kernel->node_count; n++) {
        lth__symbols_free(e->spaces[n].grams);
        lth__free(e->spaces[n].seen);
        lth__free(e->spaces[n].rows_with);
        lth__free(e->spaces[n].kept);
        if (e->spaces[n].own) e->spaces[n].free_own(e->spaces[n].own);
    }
    lth__free(e->lexicons);
    lth__free(e->spaces);
    lth__free(e);
}

static lth_status read_vectors(const lth_encoder *e, size_t field, const char *path,
                               lth__vectors *out, lth_error *err) {
    const lth__symbols *symbols = e->lexicons[field].symbols;
    if (e->kernel->fields[field].parts)
        return lth__vectors_read_parts(e->ctx, path, symbols, out, err);
    return lth__vectors_read(e->ctx, path, symbols, out, err);
}

static void replace_vectors(lth__lexicon *l, lth__vectors vectors) {
    free_vectors(l);
    l->vectors = vectors;
    l->has_vectors = true;
}

lth_status lth_encoder_read_vectors(lth_encoder *e, const char *path, lth_error *err) {
    for (size_t f = 0; f < e->kernel->field_count; f++) {
        if (!e->kernel->fields[f].vectors || e->lexicons[f].contextual) continue;
        lth__vectors vectors;
        LTH_TRY(read_vectors(e, f, path, &vectors, err));
        replace_vectors(&e->lexicons[f], vectors);
        e->lexicons[f].centre_rows = vectors.count;
    }
    return LTH_OK;
}

/* Vectors of `old` first, as they are, then those of `more` for the symbols that had none. */
static lth_status join_vectors(const lth__vectors *old, const lth__vectors *more, const char *path,
                               lth__vectors *out, lth_error *err) {
    size_t d = old->dimension;
    if (old->count > 0 && more->count > 0 && more->dimension != d) {
        return lth__fail_at(err, LTH_EFORMAT, path, 0, 0,
                            "vectors of %zu numbers, where the model has vectors of %zu",
                            more->dimension, d);
    }
    if (old->count == 0) d = more->dimension;
    *out = (lth__vectors){.dimension = d, .count = old->count, .symbols = more->symbols};
    out->values = lth__alloc((old->count + more->count) * d, sizeof *out->values);
    out->row_of = lth__alloc(more->symbols, sizeof *out->row_of);
    if (!out->values || !out->row_of) {
        lth__vectors_free(out);
        return lth__fail_memory(err, 0);
    }
    if (old->count > 0) memcpy(out->values, old->values, old->count * d * sizeof *out->values);
    for (size_t i = 0; i < more->symbols; i++) {
        int32_t row = i < old->symbols ? old->row_of[i] : -1;
        if (row < 0 && more->row_of[i] >= 0) {
            memcpy(out->values + out->count * d, more->values + (size_t)more->row_of[i] * d,
                   d * sizeof *out->values);
            row = (int32_t)out->count++;
        }
        out->row_of[i] = row;
    }
    return LTH_OK;
}

lth_status lth__encoder_add_vectors(lth_encoder *e, const char *path, lth_error *err) {
    for (size_t f = 0; f < e->kernel->field_count; f++) {
        lth__lexicon *l = &e->lexicons[f];
        bool complete = l->vectors.symbols == lth__symbols_count(l->symbols);
        if (!e->kernel->fields[f].vectors || complete) continue;
        lth__vectors more, joined;
        LTH_TRY(read_vectors(e, f, path, &more, err));
        lth_status status = join_vectors(&l->vectors, &more, path, &joined, err);
        lth__vectors_free(&more);
        LTH_TRY(status);
        replace_vectors(l, joined);
    }
    return LTH_OK;
}

/* ---- Going back ---- */

static void rewind_vectors(lth__vectors *v, size_t symbols) {
    if (v->symbols <= symbols) return;
    int32_t last = -1;
    for (size_t i = 0; i < symbols; i++) {
        if (v->row_of[i] > last) last = v->row_of[i];
    }
    v->symbols = symbols;
    v->count = (size_t)(last + 1);
    float *values = lth__realloc(v->values, v->count * v->dimension, sizeof *values);
    if (values) v->values = values;
    int32_t *row_of = lth__realloc(v->row_of, symbols, sizeof *row_of);
    if (row_of) v->row_of = row_of;
}

static void rewind_trees(lth__lexicon *l, size_t subtrees) {
    lth__tree_index *first = subtrees > 0 ? l->first_index : NULL;
    if (l->index != l->first_index) lth__tree_index_free(l->index);
    if (!first) lth__tree_index_free(l->first_index);
    l->index = l->first_index = first;
    lth__forest_truncate(l->forest, subtrees);
}

/* Similarities of units that will not be seen again are of no use to a prediction. */
static void rewind_lexicon(lth__lexicon *l, bool has_encoded) {
    size_t known = has_encoded ? l->frequencies : 0;
    free_similarities(l, l->contextual ? SIZE_MAX : known);
    rewind_vectors(&l->vectors, known);
    lth__symbols_truncate(l->symbols, known);
    if (l->forest) rewind_trees(l, has_encoded ? l->known_subtrees : 0);
    if (!has_encoded && l->contextual) l->has_vectors = false;
}

void lth__encoder_rewind(lth_encoder *e) {
    for (size_t f = 0; f < e->kernel->field_count; f++)
        rewind_lexicon(&e->lexicons[f], e->has_encoded);
    for (size_t n = 0; n < e->kernel->node_count; n++) {
        lth__feature_space *space = &e->spaces[n];
        if (space->grams) lth__symbols_truncate(space->grams, e->has_encoded ? space->known : 0);
    }
}

/* ---- Items ---- */

lth_status lth__items_create(lth_encoder *e, size_t count, lth_items **out, lth_error *err) {
    lth_items *items = lth__calloc(1, sizeof *items);
    if (!items) return lth__fail_memory(err, sizeof *items);
    *items = (lth_items){.encoder = e, .count = count};
    items->fields = lth__calloc(e->kernel->field_count, sizeof *items->fields);
    items->features = lth__calloc(e->kernel->node_count, sizeof *items->features);
    if (items->fields && items->features) {
        *out = items;
        return LTH_OK;
    }
    lth__free(items->fields);
    lth__free(items->features);
    lth__free(items);
    return lth__fail_memory(err, 0);
}

static lth_status encode_numbers(const lth__field_def *def, const lth_table *table,
                                 lth__sequences *out, lth_error *err) {
    size_t rows = lth_table_rows(table), capacity = 0;
    size_t *columns = NULL;
    *out = (lth__sequences){.count = rows};
    lth_status status =
        lth__columns_find(table->columns, def->column, lth_table_name(table),
                          lth__table_header_line(table), &columns, &out->width, &capacity, err);
    if (status == LTH_OK) {
        out->numbers = lth__alloc(rows * out->width, sizeof *out->numbers);
        if (!out->numbers) status = lth__fail_memory(err, rows * out->width * sizeof(double));
    }
    for (size_t i = 0; i < rows && status == LTH_OK; i++) {
        for (size_t c = 0; c < out->width && status == LTH_OK; c++)
            status =
                lth__table_number(table, i, columns[c], &out->numbers[i * out->width + c], err);
    }
    lth__free(columns);
    return status;
}

static lth_status encode_text(const lth__field_def *def, const lth_table *table, size_t column,
                              lth__symbols *symbols, lth__sequences *out, lth_error *err) {
    size_t capacity = 0, used = 0, rows = lth_table_rows(table);
    *out = (lth__sequences){.count = rows, .start = lth__alloc(rows + 1, sizeof *out->start)};
    if (!out->start) return lth__fail_memory(err, (rows + 1) * sizeof *out->start);
    out->start[0] = 0;
    for (size_t i = 0; i < rows; i++) {
        size_t length;
        const char *text = lth_table_cell(table, i, column, &length);
        LTH_TRY(lth__units_split(text, length, (lth__units)def->units, def->lower, symbols,
                                 &out->symbols, &used, &capacity, err));
        out->start[i + 1] = used;
        size_t units = lth__sequence_length(out, i);
        if (units > out->longest) out->longest = units;
        if (units > UINT32_MAX / 2) {
            return lth__fail_at(err, LTH_EFORMAT, lth_table_name(table), lth_table_line(table, i),
                                0, "this text is too long: %zu units", units);
        }
    }
    void *fitted = lth__realloc(out->symbols, used, sizeof *out->symbols);
    if (fitted) out->symbols = fitted;
    return LTH_OK;
}

/* All tables of an encoder have texts in a column, or all have vectors. */
static lth_status check_kind(const lth__lexicon *l, const lth_table *table, size_t column,
                             bool vectors, lth_error *err) {
    if (l->contextual == vectors) return LTH_OK;
    return lth__table_want(table, column, vectors ? LTH__COLUMN_TEXT : LTH__COLUMN_VECTORS,
                           vectors ? "the first table has text" : "the first table has vectors",
                           err);
}

static lth_status encode_field(const lth_encoder *e, size_t field, const lth_table *table,
                               lth__sequences *out, lth_error *err) {
    const lth__field_def *def = &e->kernel->fields[field];
    lth__lexicon *l = &e->lexicons[field];
    if (def->kind == LTH_COLUMN_NUMBERS) return encode_numbers(def, table, out, err);
    size_t column;
    LTH_TRY(lth__table_column_at(table, def->column, &column, err));
    if (def->kind == LTH_COLUMN_TREE)
        return lth__tree_field_encode(def, table, column, l->symbols, l->forest, out, err);
    bool vectors = lth__table_kind(table, column) == LTH__COLUMN_VECTORS;
    if (e->has_encoded) LTH_TRY(check_kind(l, table, column, vectors, err));
    l->contextual = vectors;
    if (vectors) return lth__vectors_column_encode(def, table, column, l, out, err);
    LTH_TRY(lth__table_want(table, column, LTH__COLUMN_TEXT, "the kernel reads text", err));
    return encode_text(def, table, column, l->symbols, out, err);
}

/* How frequent each symbol is among these items; of trees only how many there are. */
static lth_status count_symbols(const lth__sequences *s, lth__lexicon *l, lth_error *err) {
    size_t symbols = lth__symbols_count(l->symbols), units = s->start[s->count];
    if (l->forest) {
        l->frequencies = symbols;
        l->known_subtrees = l->forest->count;
        l->first_index = l->index;
        return LTH_OK;
    }
    lth__free(l->frequency); /* of a table that could not be encoded */
    l->frequency = lth__calloc(symbols, sizeof *l->frequency);
    if (!l->frequency) return lth__fail_memory(err, symbols * sizeof *l->frequency);
    l->frequencies = symbols;
    for (size_t k = 0; k < units; k++) l->frequency[s->symbols[k]] += 1 / (double)units;
    return LTH_OK;
}

/* The index of a forest that has grown is made anew. */
static lth_status index_trees(lth__lexicon *l, lth_error *err) {
    if (!l->forest || (l->index && l->index->subtrees == l->forest->count)) return LTH_OK;
    lth__tree_index *index = NULL;
    LTH_TRY(lth__tree_index_create(l->forest, &index, err));
    if (l->index != l->first_index) lth__tree_index_free(l->index);
    l->index = index;
    return LTH_OK;
}

lth_status lth__items_features(lth_items *items, lth_error *err) {
    const lth_kernel *kernel = items->encoder->kernel;
    for (size_t f = 0; f < kernel->field_count; f++)
        LTH_TRY(index_trees(&items->encoder->lexicons[f], err));
    for (size_t f = 0; !items->encoder->has_encoded && f < kernel->field_count; f++) {
        if (kernel->fields[f].kind != LTH_COLUMN_NUMBERS)
            LTH_TRY(count_symbols(&items->fields[f], &items->encoder->lexicons[f], err));
    }
    for (size_t n = 0; n < kernel->node_count; n++) {
        const lth__node *node = kernel->nodes[n];
        if (node->family->encode) LTH_TRY(node->family->encode(node, items, err));
    }
    items->encoder->has_encoded = true;
    return LTH_OK;
}

lth_status lth_encode(lth_encoder *e, const lth_table *table, lth_items **out, lth_error *err) {
    if (lth_table_rows(table) >= UINT32_MAX)
        return lth__fail(err, LTH_EARG, "the table has too many rows: %zu", lth_table_rows(table));
    lth_items *items = NULL;
    lth_status status = lth__items_create(e, lth_table_rows(table), &items, err);
    for (size_t f = 0; f < e->kernel->field_count && status == LTH_OK; f++)
        status = encode_field(e, f, table, &items->fields[f], err);
    if (status == LTH_OK) status = lth__items_features(items, err);
    if (status == LTH_OK) {
        *out = items;
        return LTH_OK;
    }
    lth_items_free(items);
    if (!e->has_encoded) lth__encoder_rewind(e);
    return status;
}

void lth_items_free(lth_items *items) {
    if (!items) return;
    bool owns = !items->borrowed;
    for (size_t f = 0; owns && f < items->encoder->kernel->field_count; f++) {
        lth__free(items->fields[f].symbols);
        lth__free(items->fields[f].start);
        lth__free(items->fields[f].numbers);
    }
    for (size_t n = 0; owns && n < items->encoder->kernel->node_count; n++) {
        lth__free(items->features[n].start);
        lth__free(items->features[n].feature);
        lth__free(items->features[n].weight);
    }
    lth__free(items->fields);
    lth__free(items->features);
    lth__free(items);
}

size_t lth_items_count(const lth_items *items) {
    return items->count;
}

/* ---- Items made from items ---- */

lth_status lth__items_slice(const lth_items *items, size_t first, size_t count, lth_items **out,
                            lth_error *err) {
    LTH_TRY(lth__items_create(items->encoder, count, out, err));
    (*out)->borrowed = true;
    for (size_t f = 0; f < items->encoder->kernel->field_count; f++) {
        lth__sequences s = items->fields[f];
        s.count = count;
        if (s.start) s.start += first;
        if (s.numbers) s.numbers += first * s.width;
        (*out)->fields[f] = s;
    }
    for (size_t n = 0; n < items->encoder->kernel->node_count; n++) {
        lth__features f = items->features[n];
        if (f.start) f.start += first;
        (*out)->features[n] = f;
    }
    return LTH_OK;
}

static lth_status pick_sequences(const lth__sequences *from, const size_t *item, size_t count,
                                 lth__sequences *to, lth_error *err) {
    size_t units = 0;
    *to = (lth__sequences){.count = count, .longest = from->longest};
    for (size_t i = 0; i < count; i++) units += lth__sequence_length(from, item[i]);
    to->start = lth__alloc(count + 1, sizeof *to->start);
    to->symbols = lth__alloc(units, sizeof *to->symbols);
    if (!to->start || !to->symbols) return lth__fail_memory(err, units * sizeof *to->symbols);
    to->start[0] = 0;
    for (size_t i = 0; i < count; i++) {
        size_t length = lth__sequence_length(from, item[i]);
        if (length > 0) {
            memcpy(to->symbols + to->start[i], from->symbols + from->start[item[i]],
                   length * sizeof *to->symbols);
        }
        to->start[i + 1] = to->start[i] + length;
    }
    return LTH_OK;
}

static lth_status pick_numbers(const lth__sequences *from, const size_t *item, size_t count,
                               lth__sequences *to, lth_error *err) {
    *to = (lth__sequences){.count = count, .width = from->width};
    to->numbers = lth__alloc(count * from->width, sizeof *to->numbers);
    if (!to->numbers) return lth__fail_memory(err, count * from->width * sizeof *to->numbers);
    for (size_t i = 0; i < count; i++) {
        memcpy(to->numbers + i * from->width, from->numbers + item[i] * from->width,
               from->width * sizeof *to->numbers);
    }
    return LTH_OK;
}

static lth_status pick_features(const lth__features *from, const size_t *item, size_t count,
                                lth__features *to, lth_error *err) {
    size_t used = 0;
    for (size_t i = 0; i < count; i++) used += from->start[item[i] + 1] - from->start[item[i]];
    to->start = lth__alloc(count + 1, sizeof *to->start);
    to->feature = lth__alloc(used, sizeof *to->feature);
    to->weight = lth__alloc(used, sizeof *to->weight);
    if (!to->start || !to->feature || !to->weight)
        return lth__fail_memory(err, used * sizeof *to->weight);
    to->start[0] = 0;
    for (size_t i = 0; i < count; i++) {
        size_t first = from->start[item[i]], length = from->start[item[i] + 1] - first;
        to->start[i + 1] = to->start[i] + length;
        if (length == 0) continue;
        memcpy(to->feature + to->start[i], from->feature + first, length * sizeof *to->feature);
        memcpy(to->weight + to->start[i], from->weight + first, length * sizeof *to->weight);
    }
    return LTH_OK;
}

lth_status lth__items_pick(const lth_items *items, const size_t *item, size_t count,
                           lth_items **out, lth_error *err) {
    lth_items *picked = NULL;
    LTH_TRY(lth__items_create(items->encoder, count, &picked, err));
    lth_status status = LTH_OK;
    for (size_t f = 0; f < items->encoder->kernel->field_count && status == LTH_OK; f++) {
        const lth__sequences *from = &items->fields[f];
        if (from->numbers)
            status = pick_numbers(from, item, count, &picked->fields[f], err);
        else
            status = pick_sequences(from, item, count, &picked->fields[f], err);
    }
    for (size_t n = 0; n < items->encoder->kernel->node_count && status == LTH_OK; n++) {
        if (items->features[n].start)
            status = pick_features(&items->features[n], item, count, &picked->features[n], err);
    }
    if (status == LTH_OK)
        *out = picked;
    else
        lth_items_free(picked);
    return status;
}
