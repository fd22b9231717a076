/* The parts of a row with their weights: tokens, nodes of trees, numbers. Leaves that read the same
 * column in the same way have their parts in common.
 */
#include <string.h>

#include "data/table.h"
#include "data/tree.h"
#include "data/units.h"
#include "model/explain/explain.h"

/* Parts of one field, which are `count` from the first on. */
typedef struct group {
    const lth__field_def *def;
    size_t first, count;
} group;

typedef struct builder {
    lth_reasons *reasons;
    const lth_table *table;
    const lth_items *items;
    group *groups;
    size_t group_count;
    lth_error *err;
} builder;

static lth_reasons_part *add_parts(builder *b, size_t count) {
    lth_reasons *r = b->reasons;
    size_t used = r->summary.parts;
    if (!lth__reserve((void **)&r->parts, &r->part_capacity, used + count + 1, sizeof *r->parts))
        return NULL;
    r->summary.parts += count;
    return r->parts + used;
}

static const char *keep_text(builder *b, const char *text, size_t length) {
    return lth__pool_strndup(&b->reasons->pool, text, length);
}

/* ---- Texts ---- */

/* A byte of a character of several bytes is no text. */
static const char *unit_text(builder *b, const char *text, size_t length, int units) {
    unsigned char byte = length == 1 ? (unsigned char)*text : 0;
    if (units != LTH__BYTES || byte < 0x80) return keep_text(b, text, length);
    static const char digits[] = "0123456789abcdef";
    const char escaped[] = {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
    return keep_text(b, escaped, sizeof escaped);
}

static lth_status list_units(builder *b, const group *g, size_t field, const char *column) {
    const lth__sequences *s = &b->items->fields[field];
    const lth__lexicon *l = &b->items->encoder->lexicons[field];
    size_t length, count;
    const char *cell =
        lth_table_cell(b->table, 0, lth_table_find(b->table, g->def->column), &length);
    lth__place *places = NULL;
    LTH_TRY(lth__units_places(cell, length, (lth__units)g->def->units, &places, &count, b->err));
    lth_reasons_part *part = add_parts(b, g->count);
    bool ok = part != NULL, placed = count == g->count;
    for (size_t k = 0; ok && k < g->count; k++) {
        lth__symbol symbol = lth__sequence_symbols(s, 0)[k];
        size_t size;
        const char *text = lth__symbols_text(l->symbols, symbol, &size);
        if (placed) text = cell + places[k].first, size = places[k].length;
        part[k] = (lth_reasons_part){.column = column,
                                     .text = unit_text(b, text, size, g->def->units),
                                     .first = placed ? places[k].first : LTH_NONE,
                                     .length = placed ? places[k].length : 0,
                                     .seen = symbol < l->frequencies};
        ok = part[k].text != NULL;
    }
    lth__free(places);
    return ok ? LTH_OK : lth__fail_memory(b->err, g->count * sizeof *part);
}

/* ---- Numbers ---- */

static lth_status list_numbers(builder *b, const group *g) {
    size_t *columns = NULL, width = 0, capacity = 0;
    LTH_TRY(lth__columns_find(b->table->columns, g->def->column, lth_table_name(b->table), 1,
                              &columns, &width, &capacity, b->err));
    lth_reasons_part *part = add_parts(b, g->count);
    bool ok = part != NULL;
    for (size_t k = 0; ok && k < g->count; k++) {
        const char *name = lth_table_column_name(b->table, columns[k]);
        const char *text = keep_text(b, name, strlen(name));
        part[k] = (lth_reasons_part){.column = text, .text = text, .first = LTH_NONE, .seen = true};
        ok = text != NULL;
    }
    lth__free(columns);
    return ok ? LTH_OK : lth__fail_memory(b->err, g->count * sizeof *part);
}

/* ---- Trees ---- */

/* Nodes come in post-order; order[i] is the place of node i when parents come before their
 * children, and depth[i] how far it is from the root. */
static void order_nodes(const lth__tree *tree, size_t *size, size_t *order, size_t *depth) {
    for (size_t i = 0; i < tree->count; i++) {
        size[i] = 1;
        for (uint32_t k = 0; k < tree->nodes[i].children; k++) size[i] += size[i - size[i]];
    }
    if (tree->count > 0) order[tree->count - 1] = depth[tree->count - 1] = 0;
    for (size_t i = tree->count; i-- > 0;) {
        size_t end = order[i] + size[i], child = i - 1;
        for (uint32_t k = 0; k < tree->nodes[i].children; k++, child -= size[child]) {
            end -= size[child];
            order[child] = end;
            depth[child] = depth[i] + 1;
        }
    }
}

static bool fill_nodes(builder *b, const lth__tree *tree, const lth__symbols *labels, size_t field,
                       const char *column, const size_t *order, const size_t *depth,
                       lth_reasons_part *part) {
    const lth__lexicon *l = &b->items->encoder->lexicons[field];
    const lth__symbol *subtree = lth__sequence_symbols(&b->items->fields[field], 0);
    for (size_t i = 0; i < tree->count; i++) {
        const lth__tree_node *node = &tree->nodes[i];
        size_t length;
        const char *text = lth__symbols_text(labels, node->label, &length);
        uint32_t production = l->forest->subtrees[subtree[i]].production;
        part[order[i]] = (lth_reasons_part){.column = column,
                                            .text = keep_text(b, text, length),
                                            .first = node->length > 0 ? node->first : LTH_NONE,
                                            .length = node->length,
                                            .depth = depth[i],
                                            .seen = l->forest->productions[production].example <
                                                    l->known_subtrees};
        if (!part[order[i]].text) return false;
    }
    return true;
}

/* The cell is read again, as it is: the items have no places, and their leaves may be lower-cased.
 * On success *out has a place for each node, in post-order; freed with lth__free(). */
static lth_status read_nodes(builder *b, const lth__field_def *def, size_t field,
                             const char *column, size_t **out) {
    size_t length;
    const char *cell = lth_table_cell(b->table, 0, lth_table_find(b->table, def->column), &length);
    lth__symbols *labels = lth__symbols_create();
    lth__tree tree = {0};
    size_t *order = NULL;
    lth_status status = labels ? lth__tree_read(cell, length, (lth__tree_format)def->format,
                                                def->strip, labels, &tree, b->err)
                               : lth__fail_memory(b->err, 0);
    if (status == LTH_OK) {
        order = lth__alloc(3 * tree.count, sizeof *order);
        if (order) order_nodes(&tree, order + tree.count, order, order + 2 * tree.count);
        lth_reasons_part *part = NULL;
        if (order && column) part = add_parts(b, tree.count);
        bool ok = order && (!column || part);
        if (part)
            ok = fill_nodes(b, &tree, labels, field, column, order, order + 2 * tree.count, part);
        if (!ok) status = lth__fail_memory(b->err, 3 * tree.count * sizeof *order);
    }
    lth__symbols_free(labels);
    lth__tree_free(&tree);
    if (status == LTH_OK)
        *out = order;
    else
        lth__free(order);
    return status;
}

/* ---- Groups ---- */

static bool has_same_parts(const lth__field_def *a, const lth__field_def *b) {
    return a->kind == b->kind && strcmp(a->column, b->column) == 0 && a->units == b->units &&
           a->format == b->format && a->strip == b->strip;
}

static lth_status find_group(builder *b, size_t field, const group **out) {
    const lth__field_def *def = &b->items->encoder->kernel->fields[field];
    for (size_t i = 0; i < b->group_count; i++) {
        *out = &b->groups[i];
        if (has_same_parts(b->groups[i].def, def)) return LTH_OK;
    }
    const lth__sequences *s = &b->items->fields[field];
    group *g = &b->groups[b->group_count];
    *g = (group){.def = def,
                 .first = b->reasons->summary.parts,
                 .count = s->numbers ? s->width : lth__sequence_length(s, 0)};
    const char *column = keep_text(b, def->column, strlen(def->column));
    if (!column) return lth__fail_memory(b->err, 0);
    size_t *order = NULL;
    switch (def->kind) {
    case LTH_COLUMN_TEXT: LTH_TRY(list_units(b, g, field, column)); break;
    case LTH_COLUMN_NUMBERS: LTH_TRY(list_numbers(b, g)); break;
    case LTH_COLUMN_TREE:
        LTH_TRY(read_nodes(b, def, field, column, &order));
        lth__free(order);
        break;
    }
    b->group_count++;
    *out = g;
    return LTH_OK;
}

static lth_status add_shares(builder *b, size_t field, const double *share) {
    const group *g = NULL;
    LTH_TRY(find_group(b, field, &g));
    lth_reasons_part *part = b->reasons->parts + g->first;
    if (g->def->kind != LTH_COLUMN_TREE) {
        for (size_t k = 0; k < g->count; k++) part[k].weight += share[k];
        return LTH_OK;
    }
    size_t *order = NULL;
    LTH_TRY(read_nodes(b, g->def, field, NULL, &order));
    for (size_t k = 0; k < g->count; k++) part[order[k]].weight += share[k];
    lth__free(order);
    return LTH_OK;
}

/* Features hand their shares to the units of the text first. */
static lth_status add_leaf(builder *b, const lth__shares *leaf) {
    const lth__node *map = lth__node_map(leaf->node);
    if (!map) return add_shares(b, leaf->node->field, leaf->share);
    size_t units = lth__sequence_length(&b->items->fields[map->field], 0);
    double *unit = lth__calloc(units, sizeof *unit);
    if (!unit) return lth__fail_memory(b->err, units * sizeof *unit);
    lth_status status = map->family->spread(map, b->items, 0, leaf->share, unit, b->err);
    if (status == LTH_OK) status = add_shares(b, map->field, unit);
    lth__free(unit);
    return status;
}

/* Number columns that several ranges have in common. */
static void join_numbers(lth_reasons *r) {
    size_t used = 0;
    for (size_t i = 0; i < r->summary.parts; i++) {
        lth_reasons_part *p = &r->parts[i];
        size_t same = used;
        bool number = p->first == LTH_NONE && p->column == p->text;
        for (size_t k = 0; number && k < used && same == used; k++) {
            const lth_reasons_part *q = &r->parts[k];
            if (q->column == q->text && strcmp(q->text, p->text) == 0) same = k;
        }
        if (same < used)
            r->parts[same].weight += p->weight;
        else
            r->parts[used++] = *p;
    }
    r->summary.parts = used;
}

lth_status lth__reasons_parts(lth_reasons *reasons, const lth_table *table, const lth_items *items,
                              const lth__shares *shares, size_t count, lth_error *err) {
    builder b = {.reasons = reasons, .table = table, .items = items, .err = err};
    b.groups = lth__calloc(count + 1, sizeof *b.groups);
    lth_status status = b.groups ? LTH_OK : lth__fail_memory(err, count * sizeof *b.groups);
    for (size_t i = 0; i < count && status == LTH_OK; i++) status = add_leaf(&b, &shares[i]);
    if (status == LTH_OK) join_numbers(reasons);
    lth__free(b.groups);
    return status;
}
