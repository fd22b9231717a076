/* The subtrees of a forest by production: what the comparison of many trees walks through. Made
 * when trees are encoded, so that an evaluation only has to pick out what its items have. */
#ifndef LTH_TREE_INDEX_H
#define LTH_TREE_INDEX_H

#include "data/forest.h"

/* A subtree and one of its children that is no leaf. */
typedef struct lth__tree_link {
    uint32_t subtree, child;
} lth__tree_link;

/* Of all subtrees, or of those that a forest has on top of its base, whose index is `base`. */
typedef struct lth__tree_index {
    const struct lth__tree_index *base;
    size_t subtrees;      /* that the forest had when this was made                         */
    size_t productions;   /* likewise                                                       */
    uint32_t *member;     /* subtrees, production by production, ascending                  */
    size_t *member_start; /* by production, and one more                                    */
    /* For each production and each m: the m-th inner child of every member, children of the same
     * production together, and then by ascending subtree. */
    lth__tree_link *link;
    size_t *link_start; /* by production: those of m are at link_start + m * members */
} lth__tree_index;

lth_status lth__tree_index_create(const lth__forest *forest, const lth__tree_index *base,
                                  lth__tree_index **out, lth_error *err);
void lth__tree_index_free(lth__tree_index *index);

/* Members of a production that are not in the base. */
static inline size_t lth__tree_index_own(const lth__tree_index *x, uint32_t production) {
    if (production >= x->productions) return 0;
    return x->member_start[production + 1] - x->member_start[production];
}

static inline size_t lth__tree_index_members(const lth__tree_index *x, uint32_t production) {
    return lth__tree_index_own(x, production) +
           (x->base ? lth__tree_index_own(x->base, production) : 0);
}

static inline uint32_t lth__tree_index_member(const lth__tree_index *x, uint32_t production,
                                              size_t i) {
    size_t before = x->base ? lth__tree_index_own(x->base, production) : 0;
    if (i < before) return x->base->member[x->base->member_start[production] + i];
    return x->member[x->member_start[production] + i - before];
}

#endif
