/* The index is made by counting: subtrees by their production; then all links by the production of
 * the child, and in this order to the lists where they belong. */
#include "kernel/tree/tree_index.h"

typedef struct edge {
    uint32_t subtree, place, child; /* the child is the place-th inner one */
} edge;

/* count[i + 1] entries of each kind become where they start. */
static void sum_up(size_t *start, size_t kinds) {
    for (size_t i = 0; i < kinds; i++) start[i + 1] += start[i];
}

static void list_members(const lth__forest *f, lth__tree_index *x, size_t *next) {
    size_t kinds = f->production_count;
    for (size_t u = f->first; u < f->count; u++)
        x->member_start[lth__forest_subtree(f, u)->production + 1]++;
    sum_up(x->member_start, kinds);
    for (size_t p = 0; p < kinds; p++) next[p] = x->member_start[p];
    for (size_t u = f->first; u < f->count; u++)
        x->member[next[lth__forest_subtree(f, u)->production]++] = (uint32_t)u;
}

static size_t count_edges(const lth__forest *f) {
    size_t edges = 0;
    for (size_t u = f->first; u < f->count; u++)
        edges += lth__forest_production(f, lth__forest_subtree(f, u)->production)->inner;
    return edges;
}

/* All edges, by the production of the child, then by subtree. */
static void sort_edges(const lth__forest *f, edge *edges, size_t *next) {
    for (size_t p = 0; p <= f->production_count; p++) next[p] = 0;
    for (size_t i = 0; i < f->child_count; i++) { /* those of the subtrees at hand */
        const lth__subtree *child = lth__forest_subtree(f, f->children[i]);
        if (child->children > 0) next[child->production + 1]++;
    }
    sum_up(next, f->production_count);
    for (size_t u = f->first; u < f->count; u++) {
        const uint32_t *children = lth__forest_children(f, (uint32_t)u);
        for (uint32_t i = 0, place = 0; i < lth__forest_subtree(f, u)->children; i++) {
            const lth__subtree *child = lth__forest_subtree(f, children[i]);
            if (child->children == 0) continue;
            edges[next[child->production]++] = (edge){(uint32_t)u, place++, children[i]};
        }
    }
}

/* Each edge goes to the list of its production and place, behind those that came before. */
static void list_links(const lth__forest *f, lth__tree_index *x, const edge *edges, size_t count,
                       size_t *places, size_t *filled) {
    size_t links = 0, lists = 0;
    for (uint32_t p = 0; p < f->production_count; p++) {
        x->link_start[p] = links;
        places[p] = lists;
        links += lth__forest_production(f, p)->inner * lth__tree_index_own(x, p);
        lists += lth__forest_production(f, p)->inner;
    }
    for (size_t e = 0; e < count; e++) {
        uint32_t p = lth__forest_subtree(f, edges[e].subtree)->production;
        size_t list = x->link_start[p] + edges[e].place * lth__tree_index_own(x, p);
        x->link[list + filled[places[p] + edges[e].place]++] =
            (lth__tree_link){edges[e].subtree, edges[e].child};
    }
}

static size_t count_lists(const lth__forest *f) {
    size_t lists = 0;
    for (size_t p = 0; p < f->production_count; p++) lists += lth__forest_production(f, p)->inner;
    return lists;
}

lth_status lth__tree_index_create(const lth__forest *f, const lth__tree_index *base,
                                  lth__tree_index **out, lth_error *err) {
    size_t kinds = f->production_count, edge_count = count_edges(f);
    lth__tree_index *x = lth__calloc(1, sizeof *x);
    if (!x) return lth__fail_memory(err, sizeof *x);
    x->base = base;
    x->subtrees = f->count;
    x->productions = kinds;
    x->member = lth__alloc(f->count - f->first, sizeof *x->member);
    x->member_start = lth__calloc(kinds + 1, sizeof *x->member_start);
    x->link = lth__alloc(edge_count, sizeof *x->link);
    x->link_start = lth__alloc(kinds, sizeof *x->link_start);
    edge *edges = lth__alloc(edge_count, sizeof *edges);
    size_t *next = lth__alloc(kinds + 1, sizeof *next);
    size_t *filled = lth__calloc(count_lists(f), sizeof *filled);
    bool ok = x->member && x->member_start && x->link && x->link_start && edges && next && filled;
    if (ok) {
        list_members(f, x, next);
        sort_edges(f, edges, next);
        list_links(f, x, edges, edge_count, next, filled);
        *out = x;
    } else {
        lth__tree_index_free(x);
    }
    lth__free(edges);
    lth__free(next);
    lth__free(filled);
    return ok ? LTH_OK : lth__fail_memory(err, edge_count * sizeof *edges);
}

void lth__tree_index_free(lth__tree_index *x) {
    if (!x) return;
    lth__free(x->member);
    lth__free(x->member_start);
    lth__free(x->link);
    lth__free(x->link_start);
    lth__free(x);
}
