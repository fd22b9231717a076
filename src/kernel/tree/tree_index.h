/* The subtrees of a forest by production: what the comparison of many trees walks through. Made
 * when trees are encoded, so that an evaluation only has to pick out what its items have. */
#ifndef LTH_TREE_INDEX_H
#define LTH_TREE_INDEX_H

#include "data/forest.h"

/* A subtree and one of its children that is no leaf. */
typedef struct lth__tree_link {
    uint32_t subtree, child;
} lth__tree_link;

typedef struct lth__tree_index {
    size_t subtrees;      /* that the forest had when this was made                         */
    uint32_t *member;     /* subtrees, production by production, ascending                  */
    size_t *member_start; /* by production, and one more                                    */
    /* For each production and each m: the m-th inner child of every member, children of the same
     * production together, and then by ascending subtree. */
    lth__tree_link *link;
    size_t *link_start; /* by production: those of m are at link_start + m * members */
} lth__tree_index;

lth_status lth__tree_index_create(const lth__forest *forest, lth__tree_index **out, lth_error *err);
void lth__tree_index_free(lth__tree_index *index);

static inline size_t lth__tree_index_members(const lth__tree_index *x, uint32_t production) {
    return x->member_start[production + 1] - x->member_start[production];
}

#endif
