/* What a subset tree kernel owes to each node of a row: the fragments below it that a column has,
 * too, sum over the column's nodes t of Delta(s,t).
 *
 * Nodes with equal subtrees have equal shares, so Delta is worked out for the different subtrees of
 * the row and of each column; their numbers ascend from children to parents.
 */
#include <stdlib.h>

#include "kernel/tree/tree_match.h"

typedef struct bag {
    const uint32_t *subtree; /* ascending */
    const double *times;
    size_t count;
} bag;

static bag bag_of(const lth__tree_side *side, size_t item) {
    const lth__features *f = side->bags;
    return (bag){f->feature + f->start[item], f->weight + f->start[item],
                 f->start[item + 1] - f->start[item]};
}

static int by_number(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static size_t place_in(const bag *b, uint32_t subtree) {
    const uint32_t *at = bsearch(&subtree, b->subtree, b->count, sizeof *at, by_number);
    return at ? (size_t)(at - b->subtree) : LTH_NONE;
}

typedef struct room {
    double *delta; /* [subtree of the row][subtree of the column] */
    size_t capacity;
} room;

static double delta_of(const lth__tree_plan *plan, const bag *a, const bag *b, const double *delta,
                       size_t i, size_t j) {
    const lth__forest *f = plan->forest;
    const lth__subtree *s = lth__forest_subtree(f, a->subtree[i]),
                       *t = lth__forest_subtree(f, b->subtree[j]);
    if (s->production != t->production) return 0;
    double product = plan->decay[s->production], alpha = plan->alpha[s->production];
    const uint32_t *of_s = lth__forest_children(f, a->subtree[i]);
    const uint32_t *of_t = lth__forest_children(f, b->subtree[j]);
    for (uint32_t m = 0; m < s->children; m++) {
        if (lth__forest_is_leaf(f, of_s[m])) continue;
        double below = 0;
        if (lth__forest_subtree(f, of_s[m])->production ==
            lth__forest_subtree(f, of_t[m])->production)
            below = delta[place_in(a, of_s[m]) * b->count + place_in(b, of_t[m])];
        product *= alpha + below;
    }
    return product;
}

/* by_subtree[i] += weight times what the i-th subtree of the row has in common with the column. */
static lth_status compare(const lth__tree_plan *plan, const bag *a, const bag *b, double weight,
                          room *r, double *by_subtree, lth_error *err) {
    if (!lth__reserve((void **)&r->delta, &r->capacity, a->count * b->count, sizeof *r->delta))
        return lth__fail_memory(err, a->count * b->count * sizeof *r->delta);
    for (size_t i = 0; i < a->count; i++) {
        double sum = 0;
        for (size_t j = 0; j < b->count; j++) {
            double delta = delta_of(plan, a, b, r->delta, i, j);
            r->delta[i * b->count + j] = delta;
            sum += delta * b->times[j];
        }
        by_subtree[i] += weight * sum;
    }
    return LTH_OK;
}

lth_status lth__tree_attribute(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                               const double *W, double *share, lth_error *err) {
    const lth__tree_plan *plan = eval->state[node->index];
    bag a = bag_of(&plan->rows, tile->row[0]);
    room r = {0};
    double *by_subtree = lth__calloc(a.count, sizeof *by_subtree);
    lth_status status = by_subtree ? LTH_OK : lth__fail_memory(err, a.count * sizeof *by_subtree);
    for (size_t c = 0; c < tile->cols && status == LTH_OK; c++) {
        bag b = bag_of(&plan->cols, tile->col[c]);
        if (W[c] != 0 && a.count > 0 && b.count > 0)
            status = compare(plan, &a, &b, W[c], &r, by_subtree, err);
    }
    const lth__symbol *nodes = lth__sequence_symbols(plan->rows.nodes, tile->row[0]);
    for (size_t i = 0; i < lth__sequence_length(plan->rows.nodes, tile->row[0]); i++) {
        size_t at = status == LTH_OK && a.count > 0 ? place_in(&a, nodes[i]) : LTH_NONE;
        if (at != LTH_NONE) share[i] += by_subtree[at];
    }
    lth__free(r.delta);
    lth__free(by_subtree);
    return status;
}
