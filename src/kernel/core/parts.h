/* Parts of a matrix, each computed by itself: with the bits of lth_gram(), whatever else is
 * computed.
 *
 * All are of one evaluation. Of a symmetric matrix a pair is computed in the same direction as
 * there: its row is the item that comes first in the order of the work. So some tiles of a part
 * have their rows from its rows, and others from its columns. How a part is cut depends on the
 * items alone.
 */
#ifndef LTH_PARTS_H
#define LTH_PARTS_H

#include "kernel/core/tiles.h"

/* A rectangle, at rows row .. row + rows - 1 and columns col .. col + cols - 1. Of a symmetric
 * matrix it is below the diagonal (row >= col + cols) or a square on it (row == col, rows == cols),
 * of which the lower triangle alone is written and read. */
typedef struct lth__gram_part {
    size_t row, rows, col, cols;
    double *cells;
    size_t ld; /* from a row of cells to the next */
} lth__gram_part;

/* All items of one side, in the order of the work. */
typedef struct lth__order {
    lth__side side;
    uint32_t *place; /* of each item in it */
} lth__order;

/* The matrix that they are parts of. */
typedef struct lth__parts {
    const lth__eval *eval; /* borrowed; prepared */
    lth__order rows, cols; /* the same pointers when symmetric */
    bool symmetric;
} lth__parts;

/* To be closed also when this fails. */
lth_status lth__parts_open(const lth__eval *eval, lth__parts *out, lth_error *err);
void lth__parts_close(lth__parts *p);

/* Tiles and pairs: of a part, or of those before it in a memo. */
typedef struct lth__part_count {
    size_t tiles, pairs;
} lth__part_count;

/* What a part is cut into. */
lth_status lth__part_count_tiles(const lth__parts *p, const lth__gram_part *part,
                                 lth__part_count *out, lth_error *err);
/* How long a part takes, next to others. */
double lth__part_cost(const lth__parts *p, const lth__gram_part *part);

/* The values of a part. `before` counts the tiles before it in the evaluation's memo. */
lth_status lth__part_values(const lth__parts *p, const lth__gram_part *part, lth__part_count before,
                            lth_error *err);
/* sum[parameter] = the pull-back of the weights in a part of a symmetric matrix; a pair below the
 * diagonal counts twice. The same bits with a memo and without. */
lth_status lth__part_pull(const lth__parts *p, const lth__gram_part *part, lth__part_count before,
                          double *sum, lth_error *err);

#endif
