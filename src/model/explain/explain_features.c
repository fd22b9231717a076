/* Patterns that are features: of sparse feature maps; and fragments of trees. */
#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "kernel/string/text_field.h"
#include "kernel/tree/heaviest.h"
#include "model/explain/explain.h"

enum { MOST_UNITS = 32 };

/* Where several leaves know the same pattern, each of them must list it. */
static size_t more_than(size_t count, size_t leaves) {
    return leaves > 1 ? 2 * count + 10 : count;
}

/* ---- Features ---- */

size_t lth__feature_count(const lth__features *f, size_t rows) {
    size_t count = 0;
    for (size_t i = 0; i < rows; i++) {
        if (f->start[i] == f->start[i + 1]) continue;
        size_t last = f->feature[f->start[i + 1] - 1]; /* in ascending order */
        if (last >= count) count = last + 1;
    }
    return count;
}

void lth__feature_least(const lth__features *f, size_t rows, double *least, size_t features) {
    memset(least, 0, features * sizeof *least);
    for (size_t i = f->start[0]; i < f->start[rows]; i++) {
        double *at = &least[f->feature[i]];
        if (*at == 0 || f->weight[i] < *at) *at = f->weight[i];
    }
}

/* How many rows have a feature, and the one of them that weighs most. */
static size_t count_rows(const lth__features *f, size_t rows, const double *W, uint32_t feature,
                         size_t *example) {
    size_t count = 0;
    double most = -1;
    for (size_t a = 0; a < rows; a++) {
        for (size_t i = f->start[a]; i < f->start[a + 1] && f->feature[i] <= feature; i++) {
            double size = W ? fabs(W[a] * f->weight[i]) : 0;
            if (f->feature[i] != feature) continue;
            count++;
            if (size > most) most = size, *example = a;
        }
    }
    return count;
}

static lth_status write_feature(const lth__node *map, const lth_encoder *encoder, uint32_t feature,
                                lth__string *out, lth_error *err) {
    uint32_t unit[MOST_UNITS];
    if (map->family->feature_text) {
        LTH_TRY(map->family->feature_text(map, encoder, feature, out, err));
    } else {
        size_t count = map->family->feature_units(map, encoder, feature, unit, MOST_UNITS);
        lth__units_write(&encoder->lexicons[map->field], unit, NULL, count, out);
    }
    return out->failed ? lth__fail_memory(err, 0) : LTH_OK;
}

static lth_status tell_feature(lth_reasons *r, const lth__node *map, const lth_encoder *encoder,
                               uint32_t feature, double weight, const lth_items *cols,
                               const double *W, lth_error *err) {
    size_t rows = 0, example = LTH_NONE;
    if (cols && cols->features[map->index].start)
        rows = count_rows(&cols->features[map->index], cols->count, W, feature, &example);
    lth__string text = {0};
    lth_status status = write_feature(map, encoder, feature, &text, err);
    if (status == LTH_OK)
        status = lth__reasons_add_pattern(r, encoder->kernel->fields[map->field].column, text.bytes,
                                          text.length, weight, rows, example, err);
    lth__string_free(&text);
    return status;
}

static lth_status tell_heaviest(lth_reasons *r, const lth__node *map, const lth_encoder *encoder,
                                const lth__heaviest *best, const lth_items *cols, const double *W,
                                lth_error *err) {
    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; i < best->count[side]; i++) {
            const lth__heavy *h = &best->at[side][i];
            LTH_TRY(tell_feature(r, map, encoder, (uint32_t)h->id, h->weight, cols, W, err));
        }
    }
    return LTH_OK;
}

lth_status lth__feature_row_patterns(lth_reasons *r, const lth__node *map, const lth_items *items,
                                     const double *share, const lth_items *cols, const double *W,
                                     size_t count, lth_error *err) {
    const lth__features *f = &items->features[map->index];
    lth__heaviest best;
    lth_status status = lth__heaviest_create(count, &best, err);
    for (size_t i = f->start[0]; status == LTH_OK && i < f->start[1]; i++)
        lth__heaviest_add(&best, share[i - f->start[0]], f->feature[i]);
    if (status == LTH_OK) status = tell_heaviest(r, map, items->encoder, &best, cols, W, err);
    lth__heaviest_free(&best);
    return status;
}

lth_status lth__feature_patterns(lth_reasons *r, const lth__node *map, const lth_encoder *encoder,
                                 const double *weight, size_t features, const lth_items *cols,
                                 const double *W, size_t count, lth_error *err) {
    lth__heaviest best;
    lth_status status = lth__heaviest_create(count, &best, err);
    for (size_t i = 0; status == LTH_OK && i < features; i++)
        lth__heaviest_add(&best, weight[i], i);
    if (status == LTH_OK) status = tell_heaviest(r, map, encoder, &best, cols, W, err);
    lth__heaviest_free(&best);
    return status;
}

/* ---- All features of a model ---- */

/* Items with one feature each, as little of it as a row may have. */
static lth_status make_single(const lth__path *p, const lth__node *map, size_t features,
                              lth_items **out, lth_error *err) {
    const lth_items *cols = p->model->cols;
    lth_items *items = NULL;
    LTH_TRY(lth__items_create(p->eval.rows->encoder, features, &items, err));
    lth__features *f = &items->features[map->index];
    f->start = lth__alloc(features + 1, sizeof *f->start);
    f->feature = lth__alloc(features, sizeof *f->feature);
    f->weight = lth__alloc(features, sizeof *f->weight);
    if (!f->start || !f->feature || !f->weight) {
        lth_items_free(items);
        return lth__fail_memory(err, features * sizeof *f->weight);
    }
    lth__feature_least(&cols->features[map->index], cols->count, f->weight, features);
    for (size_t i = 0; i <= features; i++) f->start[i] = i;
    for (size_t i = 0; i < features; i++) f->feature[i] = (uint32_t)i;
    *out = items;
    return LTH_OK;
}

static lth_status model_features(lth_reasons *r, const lth__path *p, const lth__leaf *leaf,
                                 const lth__node *map, size_t count, lth_error *err) {
    const lth_items *cols = p->model->cols;
    size_t features = lth__feature_count(&cols->features[map->index], cols->count);
    lth_items *single = NULL;
    double *weight = lth__calloc(features, sizeof *weight);
    lth_status status = weight ? LTH_OK : lth__fail_memory(err, features * sizeof *weight);
    if (status == LTH_OK) status = make_single(p, map, features, &single, err);
    if (status == LTH_OK) status = lth__score_candidates(p, leaf, single, NULL, weight, err);
    if (status == LTH_OK)
        status = lth__feature_patterns(r, map, p->eval.rows->encoder, weight, features, cols,
                                       leaf->omega, count, err);
    lth_items_free(single);
    lth__free(weight);
    return status;
}

/* ---- Fragments ---- */

typedef struct fragments {
    lth_reasons *reasons;
    const char *column;
} fragments;

static lth_status take_fragment(void *user, const char *text, size_t length, double weight,
                                size_t columns, size_t example, lth_error *err) {
    const fragments *f = user;
    return lth__reasons_add_pattern(f->reasons, f->column, text, length, weight, columns, example,
                                    err);
}

static lth_status list_fragments(lth_reasons *r, const lth__path *p, const lth__leaf *leaf,
                                 bool of_row, size_t count, lth_error *err) {
    const lth__node *node = leaf->node;
    fragments f = {r, p->model->kernel->fields[node->field].column};
    return node->family->fragments(node, &p->eval, leaf->omega, of_row, count, take_fragment, &f,
                                   err);
}

/* ---- By what a leaf has ---- */

lth_status lth__reasons_row_patterns(lth_reasons *r, const lth__path *p, const lth__leaf *leaf,
                                     const double *share, size_t count, lth_error *err) {
    const lth__node *map = lth__node_map(leaf->node);
    count = more_than(count, p->leaf_count);
    if (map)
        return lth__feature_row_patterns(r, map, p->eval.rows, share, p->model->cols, leaf->omega,
                                         count, err);
    if (leaf->node->family->subsequence_weights)
        return lth__sequence_row_patterns(r, p, leaf, count, err);
    if (leaf->node->family->fragments) return list_fragments(r, p, leaf, true, count, err);
    return LTH_OK;
}

lth_status lth__reasons_model_patterns(lth_reasons *r, const lth__path *p, const lth__leaf *leaf,
                                       size_t count, lth_error *err) {
    const lth__node *map = lth__node_map(leaf->node);
    count = more_than(count, p->leaf_count);
    if (map) return model_features(r, p, leaf, map, count, err);
    if (leaf->node->family->subsequence_weights)
        return lth__sequence_model_patterns(r, p, leaf, count, err);
    if (leaf->node->family->fragments) return list_fragments(r, p, leaf, false, count, err);
    return LTH_OK;
}
