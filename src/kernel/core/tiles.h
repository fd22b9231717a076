/* Tiling a matrix: rows x columns that one job computes, shared among threads.
 *
 * Items are taken by descending size where a kernel wants strings of similar length to meet. Of a
 * symmetric matrix only the pairs on one side are computed: a row of tiles meets the columns
 * from its own first item on. The tiling depends on the data alone, never on the number of
 * threads.
 */
#ifndef LTH_TILES_H
#define LTH_TILES_H

#include "kernel/core/encode.h"

/* Items of one side in the order of the work: largest first, or as they are. */
typedef struct lth__side {
    size_t count;
    uint32_t *item;
    double *size; /* at least 1, by position in `item` */
} lth__side;

typedef struct lth__tile_place {
    size_t row, rows, col, cols; /* positions on the two sides */
    size_t first_pair;           /* pairs in the tiles before */
    double cost;
} lth__tile_place;

typedef struct lth__tiling {
    bool symmetric, borrowed; /* borrowed: the columns' order */
    lth__side rows, cols;     /* the same pointers when symmetric */
    lth__tile_place *tiles;   /* dearest first                    */
    size_t tile_count, tile_capacity;
} lth__tiling;

/* `tiling` is zero before, and is to be freed also when this fails. `order` is that of the columns,
 * which is borrowed; NULL = find it. */
lth_status lth__tiling_make(const lth_items *rows, const lth_items *cols, bool by_size,
                            const lth__side *order, lth__tiling *tiling, lth_error *err);
void lth__tiling_free(lth__tiling *tiling);

lth_status lth__side_make(const lth_items *items, bool by_size, lth__side *out, lth_error *err);
void lth__side_free(lth__side *side);

#endif
