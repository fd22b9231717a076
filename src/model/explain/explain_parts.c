/* The parts of a row with their weights: tokens, nodes of trees, numbers. Leaves that read the same
 * column in the same way have their parts in common.
 */
#include <string.h>

#include "kernel/core/field.h"
#include "model/explain/explain.h"

/* Parts of one field, which are `count` from the first on. */
typedef struct group {
    const lth__field_def *def;
    const char *column;
    size_t first, count;
} group;

typedef struct builder {
    lth_reasons *reasons;
    const lth_table *table;
    const lth_items *items;
    group *groups;
    size_t group_count;
    size_t *at; /* by part: its place among those of its leaves */
    size_t at_capacity;
    lth_error *err;
} builder;

static const char *keep_text(builder *b, const char *text, size_t length) {
    return lth__pool_strndup(&b->reasons->pool, text, length);
}

static lth_status add_part(void *user, const lth__part *part, lth_error *err) {
    builder *b = user;
    lth_reasons *r = b->reasons;
    size_t used = r->summary.parts;
    if (!lth__reserve((void **)&r->parts, &r->part_capacity, used + 1, sizeof *r->parts) ||
        !lth__reserve((void **)&b->at, &b->at_capacity, used + 1, sizeof *b->at))
        return lth__fail_memory(err, (used + 1) * sizeof *r->parts);
    const char *text = keep_text(b, part->text, part->size);
    if (!text) return lth__fail_memory(err, part->size);
    r->parts[used] =
        (lth_reasons_part){.column = part->is_column ? text : b->groups[b->group_count].column,
                           .text = text,
                           .first = part->first,
                           .length = part->length,
                           .depth = part->depth,
                           .seen = part->seen};
    b->at[used] = part->at;
    r->summary.parts++;
    return LTH_OK;
}

/* ---- Groups ---- */

static bool has_same_parts(const lth__field_def *a, const lth__field_def *b) {
    return a->type == b->type && strcmp(a->column, b->column) == 0 && a->units == b->units &&
           a->format == b->format && a->strip == b->strip;
}

static lth_status find_group(builder *b, size_t field, const group **out) {
    const lth__field_def *def = &b->items->encoder->kernel->fields[field];
    for (size_t i = 0; i < b->group_count; i++) {
        *out = &b->groups[i];
        if (has_same_parts(b->groups[i].def, def)) return LTH_OK;
    }
    group *g = &b->groups[b->group_count];
    *g = (group){.def = def,
                 .first = b->reasons->summary.parts,
                 .column = keep_text(b, def->column, strlen(def->column))};
    if (!g->column) return lth__fail_memory(b->err, 0);
    LTH_TRY(def->type->parts(&b->items->encoder->lexicons[field], &b->items->fields[field],
                             b->table, add_part, b, b->err));
    g->count = b->reasons->summary.parts - g->first;
    b->group_count++;
    *out = g;
    return LTH_OK;
}

static lth_status add_shares(builder *b, size_t field, const double *share) {
    const group *g = NULL;
    LTH_TRY(find_group(b, field, &g));
    for (size_t k = g->first; k < g->first + g->count; k++)
        b->reasons->parts[k].weight += share[b->at[k]];
    return LTH_OK;
}

/* Features hand their shares to the units of the text first. */
static lth_status add_leaf(builder *b, const lth__shares *leaf) {
    const lth__node *map = leaf->of_features ? leaf->node : lth__node_map(leaf->node);
    if (!map) return add_shares(b, leaf->node->field, leaf->share);
    size_t units = lth__sequence_length(&b->items->fields[map->field], 0);
    double *unit = lth__calloc(units, sizeof *unit);
    if (!unit) return lth__fail_memory(b->err, units * sizeof *unit);
    lth_status status = map->family->features_to_units(map, b->items, 0, leaf->share, unit, b->err);
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
    lth__free(b.at);
    return status;
}
