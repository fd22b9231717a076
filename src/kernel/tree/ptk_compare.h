/* The partial tree kernel at fixed parameters, over a tile of trees at once: see ptk.c for the
 * formula, ptk_meeting.h for who meets whom, ptk_sweep.c for the sums. */
#ifndef LTH_PTK_COMPARE_H
#define LTH_PTK_COMPARE_H

#include "kernel/core/encode.h"
#include "kernel/tree/tree_field.h"
#include "kernel/tree/tree_room.h"

enum { LTH__PTK_POWERS = 512 };

typedef struct lth__ptk_plan {
    lth_ctx *ctx;
    const lth__forest *forest;
    size_t labels; /* how many there are */
    const lth__sequences *rows, *cols;
    const lth__similarity *similarity; /* NULL = labels must be equal */
    bool soft_all;                     /* otherwise only leaves match by similarity */
    double decay, gap;
    double power[LTH__PTK_POWERS], slope[LTH__PTK_POWERS]; /* gap^e, e gap^(e - 1) */
    lth__tree_rooms *rooms;
} lth__ptk_plan;

/* What is wanted of a tile, [row][column]; NULL = not this. */
typedef struct lth__ptk_wanted {
    double *K;
    double *by_decay, *by_gap; /* both or none */
    /* Of a tile of one row: share[i] += sum over the columns c of W_c times what K_c owes to the
     * i-th node. */
    const double *W;
    double *share;
} lth__ptk_wanted;

lth_status lth__ptk_compare(const lth__ptk_plan *plan, const lth__tile *tile,
                            lth__ptk_wanted wanted, lth_error *err);

/* ---- Keys: two nodes can match when theirs are equal ---- */

/* All nodes that match by similarity have the same. */
static inline bool lth__ptk_is_soft(const lth__ptk_plan *plan, const lth__subtree *s) {
    return plan->similarity && (plan->soft_all || s->children == 0);
}

static inline size_t lth__ptk_key(const lth__ptk_plan *plan, uint32_t subtree) {
    const lth__subtree *s = lth__forest_subtree(plan->forest, subtree);
    return lth__ptk_is_soft(plan, s) ? plan->labels : s->label;
}

#endif
