/* The encoder: table columns become sequences of symbols, once. */
#include "kernel/core/encode.h"

#include <string.h>

#include "base/parallel.h"
#include "data/table.h"
#include "kernel/core/field.h"
#include "kernel/core/lookup.h"
#include "kernel/core/store.h"

/* ---- Encoders ---- */

static void close_lexicons(lth_encoder *e) {
    for (size_t f = 0; e->lexicons && f < e->kernel->field_count; f++) {
        lth__lexicon *l = &e->lexicons[f];
        if (l->own) e->kernel->fields[f].type->close(l);
        if (!l->lent) lth__symbols_free(l->symbols);
        lth__free(l->own);
        *l = (lth__lexicon){0};
    }
}

static bool open_lexicon(lth_encoder *e, size_t field) {
    lth__lexicon *l = &e->lexicons[field];
    l->def = &e->kernel->fields[field];
    if (l->own || !l->def->type->open) return true;
    l->base = e->base ? &e->base->lexicons[field] : NULL;
    l->known = l->base ? l->base->known : 0;
    l->symbols = lth__symbols_extend(l->base ? l->base->symbols : NULL);
    return l->symbols && l->def->type->open(l);
}

/* Those that are not open: all, or after a first table that could not be encoded. */
static lth_status open_lexicons(lth_encoder *e, lth_error *err) {
    bool ok = true;
    for (size_t f = 0; ok && f < e->kernel->field_count; f++) ok = open_lexicon(e, f);
    if (ok) return LTH_OK;
    close_lexicons(e);
    return lth__fail_memory(err, 0);
}

static lth_status check_resolved(const lth_kernel *kernel, lth_error *err) {
    const lth__node *open = lth__kernel_open_node(kernel);
    if (!open) return LTH_OK;
    return lth__fail(err, LTH_EARG,
                     "%s=all of %s is open until the data are known: call "
                     "lth_kernel_resolve() with a table first",
                     open->open, open->path);
}

static bool extend_spaces(lth_encoder *e) {
    for (size_t n = 0; n < e->kernel->node_count; n++) {
        lth__feature_space *space = &e->spaces[n];
        *space = e->base->spaces[n];
        if (!space->grams) continue;
        space->grams = lth__symbols_extend(space->grams);
        if (!space->grams) return false;
    }
    return true;
}

/* What stands in `from`, with its lexicons and spaces. */
static lth_status create(lth_encoder from, lth_encoder **out, lth_error *err) {
    lth_encoder *e = lth__alloc(1, sizeof *e);
    if (!e) return lth__fail_memory(err, sizeof *e);
    *e = from;
    e->lexicons = lth__calloc(e->kernel->field_count, sizeof *e->lexicons);
    e->spaces = lth__calloc(e->kernel->node_count, sizeof *e->spaces);
    bool looks = !e->base && lth_kernel_needs_vectors(e->kernel);
    e->lookup = looks ? lth__lookup_create() : NULL;
    bool ok = e->lexicons && e->spaces && (!looks || e->lookup) && (!e->base || extend_spaces(e));
    lth_status status = ok ? open_lexicons(e, err) : lth__fail_memory(err, 0);
    if (status == LTH_OK)
        *out = e;
    else
        lth_encoder_free(e);
    return status;
}

lth_status lth_encoder_create(lth_ctx *ctx, const lth_kernel *kernel, lth_encoder **out,
                              lth_error *err) {
    LTH_TRY(check_resolved(kernel, err));
    return create((lth_encoder){.ctx = ctx, .kernel = kernel}, out, err);
}

lth_status lth__encoder_extend(const lth_encoder *base, lth_encoder **out, lth_error *err) {
    const lth_kernel *kernel = base->kernel;
    LTH_TRY(create((lth_encoder){.own_ctx = *kernel->ctx,
                                 .base = base,
                                 .kernel = kernel,
                                 .has_encoded = base->has_encoded},
                   out, err));
    (*out)->ctx = &(*out)->own_ctx;
    return LTH_OK;
}

static bool lend_lexicon(const lth__lexicon *from, lth__lexicon *to) {
    *to = *from;
    to->lent = true;
    to->own = NULL;
    return !from->own || from->def->type->lend(from, to);
}

lth_status lth__encoder_lend(const lth_encoder *of, const lth_kernel *kernel, lth_encoder **out,
                             lth_error *err) {
    lth_encoder *e = lth__alloc(1, sizeof *e);
    if (!e) return lth__fail_memory(err, sizeof *e);
    *e = *of;
    e->lent = true;
    e->kernel = kernel;
    e->lexicons = lth__calloc(kernel->field_count, sizeof *e->lexicons);
    e->spaces = lth__alloc(kernel->node_count, sizeof *e->spaces);
    bool ok = e->lexicons && e->spaces;
    if (ok) memcpy(e->spaces, of->spaces, kernel->node_count * sizeof *e->spaces);
    for (size_t f = 0; ok && f < kernel->field_count; f++)
        ok = lend_lexicon(&of->lexicons[f], &e->lexicons[f]);
    if (ok) {
        *out = e;
        return LTH_OK;
    }
    lth_encoder_free(e);
    return lth__fail_memory(err, 0);
}

static void free_space(lth__feature_space *space) {
    lth__free(space->seen);
    lth__free(space->rows_with);
    lth__free(space->kept);
    if (space->own) space->free_own(space->own);
}

void lth_encoder_free(lth_encoder *e) {
    if (!e) return;
    close_lexicons(e);
    for (size_t n = 0; !e->lent && e->spaces && n < e->kernel->node_count; n++) {
        lth__symbols_free(e->spaces[n].grams);
        if (!e->base) free_space(&e->spaces[n]);
    }
    if (!e->lent) lth__lookup_free(e->lookup);
    lth__free(e->lexicons);
    lth__free(e->spaces);
    lth__free(e);
}

/* ---- Vectors of words ---- */

/* Where the first table's vectors are from. */
static lth_status remember(lth_encoder *e, lth__vector_source from, size_t words, size_t dimension,
                           lth_error *err) {
    if (!e->lookup || words == 0) return LTH_OK;
    const char *slash = from.path ? strrchr(from.path, '/') : NULL;
    const char *name = slash ? slash + 1 : from.path ? from.path : "";
    return lth__lookup_set_origin(e->lookup, name, words, dimension, err);
}

lth_status lth__encoder_read(lth_encoder *e, lth__vector_source from, lth_error *err) {
    size_t words = 0, dimension = 0;
    LTH_TRY(open_lexicons(e, err));
    for (size_t f = 0; f < e->kernel->field_count; f++) {
        const lth__field_type *type = e->kernel->fields[f].type;
        if (!type->read_vectors) continue;
        LTH_TRY(type->read_vectors(&e->lexicons[f], e->ctx, from, &words, &dimension, err));
    }
    return remember(e, from, words, dimension, err);
}

lth_status lth_encoder_read_vectors(lth_encoder *e, const char *path, lth_error *err) {
    return lth__encoder_read(e, (lth__vector_source){.path = path}, err);
}

lth_status lth_encoder_use_vectors(lth_encoder *e, const lth_word_vectors *vectors,
                                   lth_error *err) {
    return lth__encoder_read(e, (lth__vector_source){.table = vectors}, err);
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
    lth__items_unstore(items);
    lth__free(items);
    return lth__fail_memory(err, 0);
}

/* What is odd is told `ctx`, which may be NULL. */
static lth_status make_features(lth_items *items, const lth_ctx *ctx, lth_error *err) {
    lth_encoder *e = items->encoder;
    for (size_t f = 0; f < e->kernel->field_count; f++) {
        lth__lexicon *l = &e->lexicons[f];
        const lth__field_type *type = l->def->type;
        if (type->finish) LTH_TRY(type->finish(l, &items->fields[f], !e->has_encoded, ctx, err));
        if (!e->has_encoded && l->symbols) l->known = lth__symbols_count(l->symbols);
    }
    for (size_t n = 0; n < e->kernel->node_count; n++) {
        const lth__node *node = e->kernel->nodes[n];
        if (node->family->encode) LTH_TRY(node->family->encode(node, items, err));
    }
    e->has_encoded = true;
    return LTH_OK;
}

lth_status lth__items_features(lth_items *items, lth_error *err) {
    return make_features(items, items->encoder->ctx, err);
}

/* What a first table that cannot be encoded has taught is forgotten. */
static void forget(lth_encoder *e) {
    close_lexicons(e);
    for (size_t n = 0; n < e->kernel->node_count; n++) {
        lth__symbols_free(e->spaces[n].grams);
        e->spaces[n].grams = NULL;
    }
    e->has_encoded = false;
}

static lth_status encode_field(lth_encoder *e, size_t field, const lth_table *table,
                               lth__sequences *out, lth_error *err) {
    lth__lexicon *l = &e->lexicons[field];
    l->ctx = e->ctx;
    LTH_TRY(l->def->type->encode(l, table, !e->has_encoded, out, err));
    return lth__parallel_ask(e->ctx);
}

typedef struct encoding {
    const lth_table *table;
    lth_items *items;
} encoding;

static lth_status encode_all(void *user, lth_error *err) {
    encoding *all = user;
    lth_encoder *e = all->items->encoder;
    for (size_t f = 0; f < e->kernel->field_count; f++)
        LTH_TRY(encode_field(e, f, all->table, &all->items->fields[f], err));
    return lth__items_features(all->items, err);
}

lth_status lth_encode(lth_encoder *e, const lth_table *table, lth_items **out, lth_error *err) {
    if (lth_table_rows(table) >= UINT32_MAX)
        return lth__fail(err, LTH_EARG, "the table has too many rows: %zu", lth_table_rows(table));
    LTH_TRY(open_lexicons(e, err));
    encoding all = {.table = table};
    bool first = !e->has_encoded;
    lth_status status = lth__items_create(e, lth_table_rows(table), &all.items, err);
    if (status == LTH_OK) status = lth__listening(e->ctx, encode_all, &all, err);
    if (status == LTH_OK) {
        *out = all.items;
        return LTH_OK;
    }
    lth_items_free(all.items);
    if (first) forget(e);
    return status;
}

lth_status lth__reading_open(const lth_encoder *base, const lth_table *table, lth__reading *out,
                             lth_error *err) {
    lth__reading r = {0};
    lth_status status = lth__encoder_extend(base, &r.encoder, err);
    if (status == LTH_OK) status = lth_encode(r.encoder, table, &r.items, err);
    if (status == LTH_OK) status = lth__encoder_look_up(r.encoder, r.items, NULL, err);
    if (status == LTH_OK)
        *out = r;
    else
        lth__reading_close(&r);
    return status;
}

void lth__reading_close(lth__reading *r) {
    lth_items_free(r->items);
    lth_encoder_free(r->encoder);
}

/* All, or those alone that were asked for. */
static void free_features(lth_items *items, bool all) {
    for (size_t n = 0; n < items->encoder->kernel->node_count; n++) {
        lth__features *f = &items->features[n];
        if (!all && !f->made) continue;
        lth__free(f->start);
        lth__free(f->feature);
        lth__free(f->weight);
        *f = (lth__features){0};
    }
}

void lth_items_free(lth_items *items) {
    if (!items) return;
    bool owns = !items->borrowed;
    for (size_t f = 0; owns && f < items->encoder->kernel->field_count; f++) {
        lth__free(items->fields[f].symbols);
        lth__free(items->fields[f].start);
        lth__free(items->fields[f].numbers);
    }
    free_features(items, owns);
    lth__free(items->fields);
    lth__free(items->features);
    lth__items_unstore(items);
    lth__free(items);
}

lth_status lth__items_ask_features(lth_items *items, lth_error *err) {
    const lth_kernel *kernel = items->encoder->kernel;
    for (size_t n = 0; n < kernel->node_count; n++) {
        lth__features *f = &items->features[n];
        if (!kernel->nodes[n]->family->features || f->start) continue;
        LTH_TRY(kernel->nodes[n]->family->features(kernel->nodes[n], items, f, err));
        f->made = true;
    }
    return LTH_OK;
}

void lth__items_drop_features(lth_items *items) {
    free_features(items, false);
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
        f.made = false;
        (*out)->features[n] = f;
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
        const lth__field_type *type = items->encoder->kernel->fields[f].type;
        status = type->pick(&items->fields[f], item, count, &picked->fields[f], err);
    }
    for (size_t n = 0; n < items->encoder->kernel->node_count && status == LTH_OK; n++) {
        if (items->features[n].start)
            status = pick_features(&items->features[n], item, count, &picked->features[n], err);
    }
    if (status == LTH_OK) status = lth__items_pick_stored(items, item, count, picked, err);
    if (status == LTH_OK)
        *out = picked;
    else
        lth_items_free(picked);
    return status;
}

/* Where one of two lists begins and ends, after what is there already. */
static size_t *join_starts(const size_t *a, size_t a_count, const size_t *b, size_t b_count) {
    size_t *start = lth__alloc(a_count + b_count + 1, sizeof *start);
    if (!start) return NULL;
    size_t used = a[a_count] - a[0];
    for (size_t i = 0; i <= a_count; i++) start[i] = a[i] - a[0];
    for (size_t i = 1; i <= b_count; i++) start[a_count + i] = used + b[i] - b[0];
    return start;
}

static void *join_arrays(const void *a, size_t a_count, const void *b, size_t b_count,
                         size_t size) {
    char *both = lth__alloc(a_count + b_count, size);
    if (both && a_count > 0) memcpy(both, a, a_count * size);
    if (both && b_count > 0) memcpy(both + a_count * size, b, b_count * size);
    return both;
}

static bool join_sequences(const lth__sequences *a, const lth__sequences *b, lth__sequences *to) {
    size_t n = a->count, m = b->count;
    *to = (lth__sequences){.count = n + m,
                           .longest = a->longest > b->longest ? a->longest : b->longest,
                           .width = a->width};
    if (a->numbers) {
        to->numbers =
            join_arrays(a->numbers, n * a->width, b->numbers, m * b->width, sizeof *to->numbers);
        return to->numbers != NULL;
    }
    to->start = join_starts(a->start, n, b->start, m);
    to->symbols =
        join_arrays(a->symbols + a->start[0], a->start[n] - a->start[0], b->symbols + b->start[0],
                    b->start[m] - b->start[0], sizeof *to->symbols);
    return to->start && to->symbols;
}

static bool join_features(const lth__features *a, size_t n, const lth__features *b, size_t m,
                          lth__features *to) {
    size_t used = a->start[n] - a->start[0], more = b->start[m] - b->start[0];
    to->start = join_starts(a->start, n, b->start, m);
    to->feature = join_arrays(a->feature + a->start[0], used, b->feature + b->start[0], more,
                              sizeof *to->feature);
    to->weight = join_arrays(a->weight + a->start[0], used, b->weight + b->start[0], more,
                             sizeof *to->weight);
    return to->start && to->feature && to->weight;
}

lth_status lth__items_join(const lth_items *a, const lth_items *b, lth_items **out,
                           lth_error *err) {
    lth_items *both = NULL;
    LTH_TRY(lth__items_create(a->encoder, a->count + b->count, &both, err));
    bool ok = true;
    for (size_t f = 0; f < a->encoder->kernel->field_count && ok; f++)
        ok = join_sequences(&a->fields[f], &b->fields[f], &both->fields[f]);
    for (size_t n = 0; n < a->encoder->kernel->node_count && ok; n++) {
        if (a->features[n].start && b->features[n].start)
            ok = join_features(&a->features[n], a->count, &b->features[n], b->count,
                               &both->features[n]);
    }
    if (ok) {
        *out = both;
        return LTH_OK;
    }
    lth_items_free(both);
    return lth__fail_memory(err, 0);
}

/* ---- Learning from some of the first items ---- */

lth_status lth__items_learn(lth_items *items, const size_t *item, size_t count, lth_error *err) {
    lth_encoder *e = items->encoder;
    lth_items *some = NULL;
    if (items->stored || !lth__kernel_learns_from_rows(e->kernel)) return LTH_OK;
    LTH_TRY(lth__items_pick(items, item, count, &some, err));
    free_features(some, true);
    e->has_encoded = false;
    lth_status status = make_features(some, NULL, err);
    e->has_encoded = true;
    lth_items_free(some);
    LTH_TRY(status);
    free_features(items, true);
    return make_features(items, NULL, err);
}
