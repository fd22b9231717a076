/* The partial tree kernel on a device: trees go there as lists of nodes, once, and so does the
 * table of similarities, in double precision. */
#include "kernel/tree/ptk_device.h"

#include "kernel/tree/tree_field.h"

/* Similarities must be in a table. */
bool lth__ptk_device_able(const lth__ptk_terms *terms) {
    return !terms->similarity || terms->similarity->table[LTH__SIM_VALUE];
}

/* ---- Trees ---- */

static void fill_nodes(const lth__ptk_terms *terms, const lth__forest *forest,
                       const lth__sequences *trees, uint32_t *label, uint32_t *key,
                       uint32_t *children) {
    for (size_t k = trees->start[0]; k < trees->start[trees->count]; k++) {
        const lth__subtree *s = lth__forest_subtree(forest, trees->symbols[k]);
        size_t node = k - trees->start[0];
        bool soft = terms->soft_all || (terms->soft_leaves && s->children == 0);
        label[node] = s->label;
        key[node] = soft ? LTH__DEVICE_SOFT : s->label;
        children[node] = s->children;
    }
}

/* `block` is to be freed. */
static lth_status list_nodes(const lth__node *node, const lth_items *items,
                             const lth__ptk_terms *terms, lth__device_nodes *out, uint32_t **block,
                             lth_error *err) {
    const lth__sequences *trees = &items->fields[node->field];
    const lth__forest *forest = lth__trees_of(items->encoder, node->field)->forest;
    size_t nodes = trees->start[trees->count] - trees->start[0];
    *block = lth__alloc(3 * nodes, sizeof **block);
    if (!*block) return lth__fail_memory(err, 3 * nodes * sizeof **block);
    fill_nodes(terms, forest, trees, *block, *block + nodes, *block + 2 * nodes);
    *out = (lth__device_nodes){.count = trees->count,
                               .start = trees->start,
                               .label = *block,
                               .key = *block + nodes,
                               .children = *block + 2 * nodes};
    return LTH_OK;
}

static lth_status find_trees(const lth__node *node, lth__device_eval *e,
                             const lth__ptk_terms *terms, const lth__device_ordered **out,
                             lth_error *err) {
    lth__device_ordered **kept = &e->nodes[node->index].ordered;
    lth__device_nodes rows, cols;
    uint32_t *row_block = NULL, *col_block = NULL;
    *out = *kept;
    if (*kept) return LTH_OK;
    bool same = e->eval->rows == e->eval->cols;
    lth_status status = list_nodes(node, e->eval->rows, terms, &rows, &row_block, err);
    if (status == LTH_OK && !same)
        status = list_nodes(node, e->eval->cols, terms, &cols, &col_block, err);
    if (status == LTH_OK) status = e->t->ordered(e->d, &rows, same ? &rows : &cols, kept, err);
    lth__free(row_block);
    lth__free(col_block);
    *out = *kept;
    return status;
}

/* ---- Similarities, which no parameter changes ---- */

static lth_status upload_table(lth__device_eval *e, const lth__similarity *s, double *table,
                               lth_error *err) {
    size_t count = (s->symbols + 1) * (s->symbols + 1);
    const void *values = s->table[LTH__SIM_VALUE];
    if (s->precision == LTH_F64)
        return e->t->upload(e->d, table, values, count * sizeof *table, err);
    double *singles; /* room enough */
    LTH_TRY(lth__device_matrix(e, count / 2 + 1, &singles, err));
    lth_status status = e->t->upload(e->d, singles, values, count * sizeof(float), err);
    if (status == LTH_OK)
        status = e->t->widen(e->d, table, (const float *)(void *)singles, count, err);
    lth__device_drop(e, singles);
    return status;
}

static lth_status find_table(const lth__node *node, lth__device_eval *e, const lth__similarity *s,
                             const double **out, lth_error *err) {
    lth__device_part *part = &e->nodes[node->index];
    *out = part->table[0];
    if (part->has_tables) return LTH_OK;
    double *table;
    LTH_TRY(lth__device_matrix(e, (s->symbols + 1) * (s->symbols + 1), &table, err));
    part->table[0] = table;
    LTH_TRY(upload_table(e, s, table, err));
    part->has_tables = true;
    *out = table;
    return LTH_OK;
}

/* ---- Panels ---- */

lth_status lth__ptk_device(const lth__node *node, lth__device_eval *e, const lth__ptk_terms *terms,
                           const lth__panel *panel, const double *W, double *K, double *gradient,
                           lth_error *err) {
    double sums[LTH__PTK_PARAMS];
    lth__device_ptk job = {.panel = *panel,
                           .theta = {[LTH__PTK_DECAY] = terms->decay, [LTH__PTK_GAP] = terms->gap},
                           .K = K,
                           .ld = panel->cols,
                           .W = W,
                           .sums = sums};
    LTH_TRY(find_trees(node, e, terms, &job.trees, err));
    if (terms->similarity) {
        job.stride = terms->similarity->symbols + 1;
        LTH_TRY(find_table(node, e, terms->similarity, &job.table, err));
    }
    LTH_TRY(e->t->ptk(e->d, &job, err));
    for (size_t p = 0; W && p < LTH__PTK_PARAMS; p++) gradient[p] += sums[p];
    return LTH_OK;
}
