/* What an inner product of sparse features, or an intersection of them, owes to each feature of a
 * row; and where in its text a feature stands.
 *
 *     inner product  w_xf sum_c W_c w_cf        intersection  sum_c W_c min(w_xf, w_cf)
 */
#include <stdlib.h>
#include <string.h>

#include "kernel/feature/sparse.h"

const lth__node *lth__node_map(const lth__node *node) {
    if (!node->family->attribute) return NULL;
    if (node->family->features) return NULL; /* they are not there unless someone asks */
    if (node->family->features_to_units) return node;
    bool over_map = node->input_count == 1 && node->inputs[0]->family->features_to_units;
    return over_map ? node->inputs[0] : NULL;
}

size_t lth__node_parts(const lth__node *node, const lth_items *items, size_t item) {
    const lth__node *map = lth__node_map(node);
    if (map) {
        const lth__features *f = &items->features[map->index];
        return f->start[item + 1] - f->start[item];
    }
    const lth__field_type *type = items->encoder->kernel->fields[node->field].type;
    return type->part_count(&items->fields[node->field], item);
}

/* Features of both are in ascending order. */
static void meet(const lth__features *rows, size_t row, const lth__features *cols, size_t col,
                 double weight, bool smaller, double *share) {
    size_t i = rows->start[row], j = cols->start[col];
    while (i < rows->start[row + 1] && j < cols->start[col + 1]) {
        uint32_t a = rows->feature[i], b = cols->feature[j];
        if (a == b) {
            double x = rows->weight[i], y = cols->weight[j];
            share[i - rows->start[row]] += weight * (smaller ? (x < y ? x : y) : x * y);
        }
        i += a <= b;
        j += b <= a;
    }
}

static void attribute(const lth__node *map, const lth__eval *eval, const lth__tile *tile,
                      const double *W, bool smaller, double *share) {
    for (size_t c = 0; c < tile->cols; c++) {
        if (W[c] != 0)
            meet(&eval->rows->features[map->index], tile->row[0], &eval->cols->features[map->index],
                 tile->col[c], W[c], smaller, share);
    }
}

lth_status lth__sparse_attribute(const lth__node *node, const lth__eval *eval,
                                 const lth__tile *tile, const double *W, double *share,
                                 lth_error *err) {
    (void)err;
    attribute(node, eval, tile, W, false, share);
    return LTH_OK;
}

lth_status lth__intersection_attribute(const lth__node *node, const lth__eval *eval,
                                       const lth__tile *tile, const double *W, double *share,
                                       lth_error *err) {
    (void)err;
    attribute(node->inputs[0], eval, tile, W, true, share);
    return LTH_OK;
}

/* ---- Where features stand ---- */

size_t lth__sparse_feature_units(const lth__node *node, const lth_encoder *encoder,
                                 uint32_t feature, uint32_t *unit, size_t most) {
    const lth__symbols *grams = encoder->spaces[node->index].grams;
    size_t bytes;
    if (!grams) {
        if (most > 0) unit[0] = feature;
        return most > 0;
    }
    const char *text = lth__symbols_text(grams, feature, &bytes);
    if (bytes / sizeof *unit > most) return 0;
    memcpy(unit, text, bytes);
    return bytes / sizeof *unit;
}

/* The number of a feature among those of the item, or LTH_NONE. */
static size_t find_feature(const lth__features *f, size_t item, lth__symbol feature) {
    size_t low = f->start[item], high = f->start[item + 1];
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (f->feature[middle] < feature)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < f->start[item + 1] && f->feature[low] == feature;
    return found ? low - f->start[item] : LTH_NONE;
}

/* The places of a text's tuples are counted; then each unit of a place gets its part. */
typedef struct visit {
    const lth__features *features;
    const lth__symbols *grams;
    size_t item, size; /* size: of a tuple */
    const double *share;
    double *places; /* of each feature */
    double *unit;   /* NULL = count    */
} visit;

static lth_status visit_tuple(void *user, const lth__symbol *tuple, const size_t *place,
                              lth_error *err) {
    (void)err;
    const visit *v = user;
    lth__symbol feature = *tuple;
    if (v->grams)
        feature = lth__symbols_find(v->grams, (const char *)tuple, v->size * sizeof *tuple);
    size_t at = find_feature(v->features, v->item, feature);
    if (at == LTH_NONE) return LTH_OK;
    if (!v->unit) v->places[at]++;
    for (size_t u = 0; v->unit && u < v->size; u++)
        v->unit[place[u]] += v->share[at] / (v->places[at] * (double)v->size);
    return LTH_OK;
}

static void visit_neighbours(visit *v, const lth__symbol *text, size_t length) {
    size_t place[LTH__SPARSE_MOST];
    for (size_t k = 0; k + v->size <= length; k++) {
        for (size_t u = 0; u < v->size; u++) place[u] = k + u;
        visit_tuple(v, text + k, place, NULL);
    }
}

static lth_status visit_all(const lth__sparse_config *c, visit *v, const lth__symbol *text,
                            size_t length, lth_error *err) {
    v->size = c->to;
    if (c->window > 0) return lth__gappy_tuples(c, text, length, visit_tuple, v, err);
    for (v->size = c->from; v->size <= c->to; v->size++) visit_neighbours(v, text, length);
    return LTH_OK;
}

lth_status lth__sparse_features_to_units(const lth__node *node, const lth_items *items, size_t item,
                                         const double *share, double *unit, lth_error *err) {
    const lth__sequences *texts = &items->fields[node->field];
    const lth__symbol *text = lth__sequence_symbols(texts, item);
    size_t features = lth__node_parts(node, items, item),
           length = lth__sequence_length(texts, item);
    visit v = {.features = &items->features[node->index],
               .grams = items->encoder->spaces[node->index].grams,
               .item = item,
               .share = share,
               .places = lth__calloc(features, sizeof *v.places)};
    if (!v.places) return lth__fail_memory(err, features * sizeof *v.places);
    lth_status status = visit_all(node->config, &v, text, length, err);
    v.unit = unit;
    if (status == LTH_OK) status = visit_all(node->config, &v, text, length, err);
    lth__free(v.places);
    return status;
}
