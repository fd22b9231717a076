/* What the sweep over a tile has at hand: see ptk_sweep.c. */
#ifndef LTH_PTK_SWEEP_H
#define LTH_PTK_SWEEP_H

#include "kernel/tree/ptk_meeting.h"

/* A value with its derivatives. In memory it is one real, or three. */
typedef struct lth__ptk_number {
    double value, by_decay, by_gap;
} lth__ptk_number;

/* A row of E: at[column of the band] in reals, or 0 but for one column, or for none. */
typedef struct lth__ptk_ref {
    double *at;
    lth__ptk_number one;
    uint32_t only, slot, band; /* the column, its place; or LTH__PTK_NONE */
    bool soft;
} lth__ptk_ref;

/* Similarities of some nodes of the tree at hand to all columns of the soft band. */
typedef struct lth__ptk_sigmas {
    const lth__symbol *tree;
    size_t from, to; /* nodes of the tree; the soft ones among them are there */
    double *values;  /* [soft node][column]                                    */
    lth__symbol *labels;
} lth__ptk_sigmas;

typedef struct lth__ptk_sweep {
    lth__ptk_meeting meeting;
    lth__ptk_number base; /* c */
    lth__ptk_ref *stack, *top, *kept;
    size_t kept_count, kept_reals, kept_used;
    double *kept_rows, *slots;
    uint32_t *free_slots;
    size_t slot_count, free_count;
    double *sums;                   /* v */
    uint32_t *touched, *touched_by; /* groups, then bands, of which the sums are not all 0 */
    size_t touched_count;
    double *counts;        /* by tree of the columns: pairs of nodes of one key */
    uint32_t *band_counts; /* by band: nodes of the tree at hand                */
    double *weights;       /* for a share: by column, then by band              */
    lth__ptk_number *along;
    lth__ptk_sigmas sigmas;
    size_t work;
    lth_status status; /* of asking whether to go on */
} lth__ptk_sweep;

/* The similarities of the i-th node of a tree, which is soft, to the columns of its band; nodes are
 * asked for in ascending order (ptk_sigmas.c). */
lth_status lth__ptk_sigma(lth__ptk_sweep *x, const lth__symbol *tree, size_t nodes, size_t i,
                          const double **out, lth_error *err);

#endif
