/* The subset tree kernel at fixed parameters, over tiles of trees and over single pairs.
 *
 *     k(a,b) = sum over subtrees i of a, j of b, of F_ai Delta_ij F_bj
 *     Delta_ij = decay prod_m (alpha + Delta(i_m, j_m))   when i and j have the same production
 *
 * F_ai says how often tree a has subtree i; m runs over the children that are no leaves; decay and
 * alpha belong to the label of i.
 */
#ifndef LTH_TREE_MATCH_H
#define LTH_TREE_MATCH_H

#include "kernel/core/encode.h"
#include "kernel/tree/tree_index.h"
#include "kernel/tree/tree_room.h"

/* The trees of one side: the subtrees of each with their counts, and its nodes in post-order. */
typedef struct lth__tree_side {
    const lth__features *bags;
    const lth__sequences *nodes;
} lth__tree_side;

typedef struct lth__tree_plan {
    lth_ctx *ctx;
    const lth__forest *forest;
    const lth__tree_index *index;
    lth__tree_side rows, cols;
    bool leaves; /* leaves are compared, too: the bags have them */
    /* By production: decay and alpha, and whose they are (0 = shared, s + 1 = of symbol s). */
    double *decay, *alpha;
    uint32_t *owner;
    lth__tree_rooms *rooms;
} lth__tree_plan;

/* Derivatives by each owner's decay and alpha, added to; `alpha` may be NULL. */
typedef struct lth__tree_gradient {
    double *decay, *alpha;
} lth__tree_gradient;

/* K of a tile (NULL = not wanted), and with W also its pull-back. The node's state is the plan. */
lth_status lth__tree_match(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                           const double *W, double *K, lth__tree_gradient gradient, lth_error *err);

/* ---- On a device (tree_device.c) ---- */

bool lth__tree_device_able(const lth__node *node, const lth__eval *eval);
lth_status lth__tree_device_tile(const lth__node *node, lth__device_eval *e,
                                 const struct lth__panel *panel, double *K, lth_error *err);
lth_status lth__tree_device_pull(const lth__node *node, lth__device_eval *e,
                                 const struct lth__panel *panel, double *W, double *K,
                                 size_t owners, lth__tree_gradient gradient, lth_error *err);

/* ---- For explanations ---- */

/* What the kernel owes to the fragments below each node (tree_attribute.c). */
lth_status lth__tree_attribute(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                               const double *W, double *share, lth_error *err);
/* The fragments that weigh most (tree_heaviest.c). */
lth_status lth__tree_heaviest(const lth__node *node, const lth__eval *eval, const double *W,
                              bool of_row, size_t count, lth__fragment_fn *take, void *user,
                              lth_error *err);

/* ---- One pair at a time, in little memory: see tree_fragments.c ---- */

/* A tree with what the comparison needs; made once for many pairs. */
typedef struct lth__tree_view lth__tree_view;
lth_status lth__tree_view_create(const lth__tree_plan *plan, const lth__symbol *nodes, size_t count,
                                 lth__tree_view **out, lth_error *err);
void lth__tree_view_free(lth__tree_view *view);

/* Room that is reused from pair to pair; zero at first. */
typedef struct lth__fragment_room {
    struct lth__fragment_pair *pairs;
    size_t capacity;
    double *times;
    size_t times_capacity;
} lth__fragment_room;
void lth__fragment_room_free(lth__fragment_room *room);

/* k(a,b), and weight times its derivatives unless gradient.decay is NULL. */
lth_status lth__tree_fragments(const lth__tree_plan *plan, const lth__tree_view *a,
                               const lth__tree_view *b, double weight, lth__fragment_room *room,
                               double *value, lth__tree_gradient gradient, lth_error *err);

#endif
