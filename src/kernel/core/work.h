/* One matrix in the making. */
#ifndef LTH_WORK_H
#define LTH_WORK_H

#include "engine/packed.h"
#include "kernel/core/parts.h"
#include "kernel/core/tiles.h"

typedef struct lth__work {
    lth__eval eval;
    lth__tiling tiling;
    const lth__eval *kept;  /* of the columns with themselves, or NULL                     */
    const size_t *own;      /* the tiles to compute, by number; NULL = all                 */
    double *given;          /* where values are copied for other ranks, or NULL             */
    const size_t *given_at; /* of each tile, its place there                               */
    bool shared;            /* each rank of the cluster computes some, and gets all        */
    const lth__side *order; /* of the columns: as they are, and by size; NULL = find it     */

    /* What is wanted: one of K, orders, grad, each. A symmetric K or W may be a packed triangle. */
    double *K;
    const lth__packed *packed_K, *packed_W;
    size_t ld;
    double *orders;
    const double *W;
    bool W_is_symmetric; /* then only one side of it is read */
    double *partial;     /* [tile][parameter] */
    double *each;
} lth__work;

/* What is wanted is set, all else is 0; to be closed also when this fails. */
lth_status lth__work_open(lth__work *w, const lth_kernel *kernel, const lth_items *rows,
                          const lth_items *cols, bool gradients, lth_error *err);
lth_status lth__work_matrix(lth__work *w, lth_error *err);
void lth__work_close(lth__work *w);

/* Fill the side of a symmetric matrix, or of several, that was not computed. */
lth_status lth__work_mirror(const lth__work *w, double *K, size_t ld, size_t planes,
                            lth_error *err);

/* A tile's values to their places in a packed triangle, and the weights of its pairs from there. */
lth_status lth__packed_scatter(const lth__packed *a, const lth__tile_place *place,
                               const lth__tile *tile, double *from, lth_error *err);
void lth__packed_gather(const lth__packed *a, const lth__tile_place *place, const lth__tile *tile,
                        double *out);

/* The parts that were asked for last, and what is kept of their tiles. */
typedef struct lth__kept_parts {
    lth__parts of; /* its evaluation is NULL before the first */
    lth__gram_part *list;
    lth__part_count *before; /* each part */
    size_t count;
    lth__memo *memo; /* by node; NULL = nothing is kept, and there is no list */
} lth__kept_parts;

struct lth__gram {
    lth__work w;
    bool is_tiled, keeps_nothing, is_read; /* read: values come from the store of the items */
    lth__memo *memo;                       /* by node */
    lth__kept_parts parts;
};

/* States for the present values of the parameters. */
lth_status lth__gram_prepare(struct lth__gram *g, lth_error *err);
void lth__gram_forget_parts(struct lth__gram *g);

/* Whether nodes want to keep anything; room for that of some tiles, by node, or NULL where there is
 * no memory; the same if that is in half of what is free beside a matrix; nothing is there any
 * more. */
bool lth__memo_wanted(const lth__eval *eval);
lth__memo *lth__memo_make(const lth__eval *eval, size_t tiles, size_t pairs);
lth__memo *lth__memo_make_beside(const lth__eval *eval, size_t tiles, size_t pairs, size_t matrix);
void lth__memo_clear(const lth_kernel *kernel, lth__memo *memo);
void lth__memo_free(const lth_kernel *kernel, lth__memo *memo);

/* Whether all derivatives are finite: LTH_ENUMERIC. */
lth_status lth__gradient_check(const lth_kernel *kernel, const double *grad, lth_error *err);
/* Whether these items can be compared: LTH_EARG. */
lth_status lth__items_check(const lth_kernel *kernel, const lth_items *rows, const lth_items *cols,
                            lth_error *err);
/* Whether all values of a tile are finite: LTH_ENUMERIC. */
lth_status lth__tile_check(const lth__tile *tile, const double *K, lth_error *err);

#endif
