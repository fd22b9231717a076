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

/* place[i] counts the places of feature i; then each unit of a place gets its part. */
static void visit_places(const lth__node *node, const lth_items *items, size_t item,
                         const double *share, double *places, double *unit) {
    const lth__sparse_config *c = node->config;
    const lth__features *f = &items->features[node->index];
    const lth__sequences *texts = &items->fields[node->field];
    const lth__symbols *grams = items->encoder->spaces[node->index].grams;
    const lth__symbol *text = lth__sequence_symbols(texts, item);
    size_t length = lth__sequence_length(texts, item);
    for (size_t n = c->from; n <= c->to && n <= length; n++) {
        for (size_t k = 0; k + n <= length; k++) {
            lth__symbol feature = text[k];
            if (grams)
                feature = lth__symbols_find(grams, (const char *)(text + k), n * sizeof *text);
            size_t at = find_feature(f, item, feature);
            if (at == LTH_NONE) continue;
            if (!unit) places[at]++;
            for (size_t u = 0; unit && u < n; u++)
                unit[k + u] += share[at] / (places[at] * (double)n);
        }
    }
}

lth_status lth__sparse_features_to_units(const lth__node *node, const lth_items *items, size_t item,
                                         const double *share, double *unit, lth_error *err) {
    size_t features = lth__node_parts(node, items, item);
    double *places = lth__calloc(features, sizeof *places);
    if (!places) return lth__fail_memory(err, features * sizeof *places);
    visit_places(node, items, item, share, places, NULL);
    visit_places(node, items, item, share, places, unit);
    lth__free(places);
    return LTH_OK;
}
