/* Texts compared by sparse features: the inner product, and the intersection kernel
 *
 *     k_ab = sum_f w_af w_bf        feature maps
 *     k_ab = sum_f min(w_af, w_bf)  intersection (Ionescu, Popescu & Cahill 2014); w >= 0
 *
 * A tile costs its non-zeros and the features that its pairs share.
 */
#include <string.h>

#include "kernel/feature/sparse.h"

/* ---- The features of a tile's rows: for each feature, which rows have it ---- */

typedef struct slot {
    uint32_t feature, count; /* count 0 = empty */
    size_t first;            /* of its entries  */
} slot;

typedef struct entry {
    size_t row;
    double weight;
} entry;

typedef struct table {
    slot *slots; /* open addressing; at most half are used */
    unsigned shift;
    entry *entries;
} table;

static slot *find_slot(const table *t, uint32_t feature) {
    uint32_t mask = (uint32_t)(UINT64_C(0xffffffff) >> t->shift);
    uint32_t i = (uint32_t)((feature * UINT64_C(2654435769) & 0xffffffff) >> t->shift);
    while (t->slots[i].count > 0 && t->slots[i].feature != feature) i = (i + 1) & mask;
    return &t->slots[i];
}

/* Count, give each feature its place, and fill the places from their ends. */
static void fill_table(table *t, const lth__features *f, const lth__tile *tile) {
    for (size_t r = 0; r < tile->rows; r++) {
        for (size_t i = f->start[tile->row[r]]; i < f->start[tile->row[r] + 1]; i++) {
            slot *s = find_slot(t, f->feature[i]);
            s->feature = f->feature[i];
            s->count++;
        }
    }
    for (size_t i = 0, used = 0; i < (size_t)1 << (32 - t->shift); i++) {
        used += t->slots[i].count;
        t->slots[i].first = used;
    }
    for (size_t r = 0; r < tile->rows; r++) {
        for (size_t i = f->start[tile->row[r]]; i < f->start[tile->row[r] + 1]; i++)
            t->entries[--find_slot(t, f->feature[i])->first] = (entry){r, f->weight[i]};
    }
}

static lth_status make_table(const lth__features *f, const lth__tile *tile, table *out,
                             lth_error *err) {
    size_t used = 0;
    for (size_t r = 0; r < tile->rows; r++)
        used += f->start[tile->row[r] + 1] - f->start[tile->row[r]];
    unsigned shift = 31;
    while (shift > 0 && (size_t)1 << (32 - shift) < 2 * used) shift--;
    size_t slots = (size_t)1 << (32 - shift);
    table t = {.slots = lth__calloc(slots, sizeof *t.slots),
               .shift = shift,
               .entries = lth__alloc(used, sizeof *t.entries)};
    if (!t.slots || !t.entries) {
        lth__free(t.slots);
        lth__free(t.entries);
        return lth__fail_memory(err, slots * sizeof *t.slots + used * sizeof *t.entries);
    }
    fill_table(&t, f, tile);
    *out = t;
    return LTH_OK;
}

/* ---- Columns of a tile with all its rows; features in ascending order, as on the diagonal ---- */

static void multiply_column(const table *t, const lth__features *f, size_t item, double *sum) {
    for (size_t i = f->start[item]; i < f->start[item + 1]; i++) {
        const slot *s = find_slot(t, f->feature[i]);
        for (const entry *e = t->entries + s->first, *end = e + s->count; e < end; e++)
            sum[e->row] += e->weight * f->weight[i];
    }
}

static void intersect_column(const table *t, const lth__features *f, size_t item, double *sum) {
    for (size_t i = f->start[item]; i < f->start[item + 1]; i++) {
        const slot *s = find_slot(t, f->feature[i]);
        double weight = f->weight[i];
        for (const entry *e = t->entries + s->first, *end = e + s->count; e < end; e++)
            sum[e->row] += e->weight < weight ? e->weight : weight;
    }
}

/* By the features of node number `map`. */
static lth_status compare(size_t map, const lth__eval *eval, const lth__tile *tile, bool intersect,
                          double *K, lth_error *err) {
    const lth__features *cols = &eval->cols->features[map];
    table t = {0};
    LTH_TRY(make_table(&eval->rows->features[map], tile, &t, err));
    double *sum = lth__alloc(tile->rows, sizeof *sum);
    for (size_t c = 0; sum && c < tile->cols; c++) {
        memset(sum, 0, tile->rows * sizeof *sum);
        if (intersect)
            intersect_column(&t, cols, tile->col[c], sum);
        else
            multiply_column(&t, cols, tile->col[c], sum);
        for (size_t r = 0; r < tile->rows; r++) K[r * tile->cols + c] = sum[r];
    }
    bool ok = sum != NULL;
    lth__free(sum);
    lth__free(t.slots);
    lth__free(t.entries);
    return ok ? LTH_OK : lth__fail_memory(err, tile->rows * sizeof *sum);
}

/* ---- Feature maps: inner products ---- */

lth_status lth__sparse_diagonal(const lth__node *node, const lth__eval *eval,
                                const lth_items *items, double *a, double *slope, lth_error *err) {
    (void)eval, (void)slope, (void)err;
    const lth__features *f = &items->features[node->index];
    for (size_t n = 0; n < items->count; n++) {
        a[n] = 0;
        for (size_t i = f->start[n]; i < f->start[n + 1]; i++) a[n] += f->weight[i] * f->weight[i];
    }
    return LTH_OK;
}

/* Nothing here is learned: what was computed once is right for ever. */
size_t lth__sparse_memo_planes(const lth__node *node, const lth__eval *eval) {
    (void)node, (void)eval;
    return 1;
}

static lth_status multiply(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                           double *K, lth_error *err) {
    return compare(node->index, eval, tile, false, K, err);
}

lth_status lth__sparse_tile(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                            double *K, lth_error *err) {
    return lth__memo_constant(node, eval, tile, multiply, K, err);
}

/* ---- intersection ---- */

static lth_status configure_intersection(lth_kernel *kernel, lth__node *node, lth_error *err) {
    (void)kernel;
    const lth__expr *map = node->expr->inputs[0];
    const lth__family *family = map->kind == LTH__EXPR_CALL ? lth__family_find(map->name) : NULL;
    /* A name that is no family's is reported when the input is built. */
    if (family ? family->encode != NULL : map->kind == LTH__EXPR_CALL) return LTH_OK;
    return lth__fail_at(err, LTH_EFORMAT, NULL, 0, map->column,
                        "intersection works on a sparse feature map (bow, tfidf, ngrams, "
                        "approx_ssk, semantic) and nothing else");
}

static lth_status diagonal(const lth__node *node, const lth__eval *eval, const lth_items *items,
                           double *a, double *slope, lth_error *err) {
    (void)eval, (void)slope, (void)err;
    const lth__features *f = &items->features[node->inputs[0]->index];
    for (size_t n = 0; n < items->count; n++) {
        a[n] = 0;
        for (size_t i = f->start[n]; i < f->start[n + 1]; i++) a[n] += f->weight[i];
    }
    return LTH_OK;
}

static lth_status intersect(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                            double *K, lth_error *err) {
    return compare(node->inputs[0]->index, eval, tile, true, K, err);
}

static lth_status tile_values(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                              double *K, lth_error *err) {
    return lth__memo_constant(node, eval, tile, intersect, K, err);
}

const lth__family lth__family_intersection = {
    .manual = {.name = "intersection",
               .help = "how much two texts have in common: the sum over all features of the "
                       "smaller of their two weights",
               .usage = "intersection(MAP), as in normalize(intersection(ngrams(text, n=[5,8])))"},
    .traits = LTH__TAKES_KERNEL,
    .configure = configure_intersection,
    .diagonal = diagonal,
    .tile = tile_values,
    .memo_planes = lth__sparse_memo_planes,
    .attribute = lth__intersection_attribute,
    .device_tile = lth__intersection_device_tile,
    .device_pull = lth__intersection_device_pull,
};
