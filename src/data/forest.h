/* All complete subtrees of the trees read so far, each kept once.
 *
 * Subtrees are numbered 0, 1, 2, ... in order of first appearance, children before their parents;
 * two nodes with the same number have the same words, labels and shape below them. So a tree is the
 * list of the numbers of its nodes, in post-order, and its root comes last.
 */
#ifndef LTH_FOREST_H
#define LTH_FOREST_H

#include "data/tree.h"

#define LTH__NO_SUBTREE UINT32_MAX

typedef struct lth__subtree {
    lth__symbol label;
    uint32_t production;
    uint32_t children; /* 0: a leaf                                     */
    size_t first;      /* its children are children[first], ...         */
} lth__subtree;

/* A label with the labels of its children, and which of these are leaves. A leaf has a production
 * too, without children. */
typedef struct lth__production {
    lth__symbol label;
    uint32_t children, inner; /* how many; how many are no leaves */
    uint32_t example;         /* the first subtree that has it    */
} lth__production;

/* Open addressing; an empty slot is LTH__NO_SUBTREE. */
typedef struct lth__forest_table {
    uint32_t *slots;
    size_t slot_count; /* a power of two */
} lth__forest_table;

typedef struct lth__forest {
    const struct lth__forest *base; /* or NULL: what it has comes first, under the same numbers */
    size_t first, first_production; /* how many subtrees and productions it has                 */
    /* Of the others; `count` and `production_count` are with those of the base. */
    lth__subtree *subtrees;
    size_t count, capacity;
    uint32_t *children; /* numbers of subtrees, below that of their parent */
    size_t child_count, child_capacity;
    lth__production *productions;
    size_t production_count, production_capacity;
    lth__forest_table by_content, by_production;
    uint32_t *stack; /* of lth__forest_add() */
    size_t stack_capacity;
} lth__forest;

lth__forest *lth__forest_create(void); /* NULL = out of memory */
/* One that has all of `base` and goes on from there. `base` is not changed by it, nor may it change
 * while this one lives; it extends none itself. */
lth__forest *lth__forest_extend(const lth__forest *base);
void lth__forest_free(lth__forest *f);

static inline const lth__subtree *lth__forest_subtree(const lth__forest *f, size_t subtree) {
    return subtree < f->first ? &f->base->subtrees[subtree] : &f->subtrees[subtree - f->first];
}

static inline const lth__production *lth__forest_production(const lth__forest *f, size_t p) {
    return p < f->first_production ? &f->base->productions[p]
                                   : &f->productions[p - f->first_production];
}

static inline const uint32_t *lth__forest_children(const lth__forest *f, size_t subtree) {
    const lth__forest *where = subtree < f->first ? f->base : f;
    return where->children + lth__forest_subtree(f, subtree)->first;
}

static inline bool lth__forest_is_leaf(const lth__forest *f, uint32_t subtree) {
    return lth__forest_subtree(f, subtree)->children == 0;
}

static inline size_t lth__forest_child_count(const lth__forest *f) {
    return f->child_count + (f->base ? f->base->child_count : 0);
}

/* The number of the subtree with this label above these ones, which is added when it is new;
 * LTH__NO_SUBTREE = out of memory. `children` must not point into the forest. */
uint32_t lth__forest_intern(lth__forest *f, lth__symbol label, const uint32_t *children,
                            size_t count);

/* The numbers of all nodes of a tree, in post-order, to out[0 .. tree->count - 1]. */
lth_status lth__forest_add(lth__forest *f, const lth__tree *tree, uint32_t *out, lth_error *err);

/* Whether these numbers are one whole tree in post-order; none at all are one, too. */
lth_status lth__forest_check(lth__forest *f, const uint32_t *nodes, size_t count, bool *is_tree,
                             lth_error *err);

#endif
