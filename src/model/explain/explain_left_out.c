/* What f owes to the parts of a row by a leaf that does not say (no lth__family.attribute). With
 *
 *     f(x) = sum_a omega_a k(x, a)        lost_j = f(x) - f(x without its unit j)
 *
 * unit j has lost_j, and an even part of what this leaves open, so that all units together have
 * f(x). Where nothing can be left out (nodes of trees, numbers, features) all is shared evenly.
 */
#include <string.h>

#include "kernel/core/field.h"
#include "model/explain/explain.h"

enum { BATCH = 64 }; /* shortened texts at a time */

/* Texts first .. first+count-1 of those that lack one unit each. */
static lth_status shorten(const lth__path *p, const lth__node *node, size_t r, size_t first,
                          size_t count, lth_items **out, lth_error *err) {
    const lth__sequences *from = &p->eval.rows->fields[node->field];
    const lth__symbol *unit = lth__sequence_symbols(from, r);
    size_t rest = lth__sequence_length(from, r) - 1;
    lth_items *items = NULL;
    LTH_TRY(lth__items_create(p->eval.rows->encoder, count, &items, err));
    lth__sequences *s = &items->fields[node->field];
    *s = (lth__sequences){.count = count, .longest = rest};
    s->start = lth__alloc(count + 1, sizeof *s->start);
    s->symbols = lth__alloc(count * rest, sizeof *s->symbols);
    if (!s->start || !s->symbols) {
        lth_items_free(items);
        return lth__fail_memory(err, count * rest * sizeof *s->symbols);
    }
    for (size_t i = 0; i <= count; i++) s->start[i] = i * rest;
    for (size_t i = 0; i < count && rest > 0; i++) {
        lth__symbol *to = s->symbols + i * rest;
        memcpy(to, unit, (first + i) * sizeof *to);
        memcpy(to + first + i, unit + first + i + 1, (rest - first - i) * sizeof *to);
    }
    *out = items;
    return LTH_OK;
}

/* f[j] of the text without its unit j. */
static lth_status leave_each_out(const lth__path *p, const lth__leaf *leaf, size_t r, size_t units,
                                 double *f, lth_error *err) {
    for (size_t first = 0; first < units; first += BATCH) {
        size_t count = units - first < BATCH ? units - first : BATCH;
        lth_items *items = NULL;
        LTH_TRY(shorten(p, leaf->node, r, first, count, &items, err));
        lth_status status = lth__score_candidates(p, leaf, items, NULL, f + first, err);
        lth_items_free(items);
        LTH_TRY(status);
    }
    return LTH_OK;
}

lth_status lth__path_leave_out(const lth__path *p, const lth__leaf *leaf, size_t r, double *share,
                               lth_error *err) {
    const lth__node *node = leaf->node;
    size_t parts = lth__node_parts(node, p->eval.rows, r);
    bool can = p->model->kernel->fields[node->field].type->kind == LTH_COLUMN_TEXT &&
               !node->family->encode;
    double whole = 0, open;
    for (size_t i = 0; i < leaf->degrees * p->model->cols->count; i++)
        whole += leaf->omega[i] * leaf->value[i];
    if (can) LTH_TRY(leave_each_out(p, leaf, r, parts, share, err));
    open = whole;
    for (size_t j = 0; j < parts; j++) {
        share[j] = can ? whole - share[j] : 0;
        open -= share[j];
    }
    for (size_t j = 0; j < parts; j++) share[j] += open / (double)parts;
    return LTH_OK;
}
