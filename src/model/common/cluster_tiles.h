/* The lower triangle of a symmetric matrix in square tiles that are dealt out to the ranks of a
 * cluster (engine/cluster.h); without one, a rank that is alone has them all.
 *
 *     0 1 0 1      Tile (i, j), i >= j, belongs to row i % rows and column j % columns of the grid
 *     2 3 2 3      of ranks (here the first rows and columns of a 2 x 2 one, by rank).
 *     0 1 0 1
 *     2 3 2 3      Row major, each `side` x `side`; those at the end of the matrix use less of it.
 *
 * The side depends on the size of the matrix alone. Every number is computed by one rank, by the
 * same calls of BLAS whoever it is, and sums are made in the order of tiles, or exactly: any number
 * of ranks and threads gives the same bits. Above the diagonal, tiles of it have what was left
 * there; in a factor that is 0.
 *
 * All ranks call the same functions in the same order. What can fail on one of them is done first;
 * then they agree (lth__tiles_meet), and go on or leave together.
 */
#ifndef LTH_CLUSTER_TILES_H
#define LTH_CLUSTER_TILES_H

#include "base/context.h"
#include "base/parallel.h"
#include "engine/blas.h"
#include "engine/cluster.h"

typedef struct lth__tiles {
    lth_ctx *ctx;
    lth__cluster *cluster;               /* NULL = alone                                      */
    unsigned rows, columns, row, column; /* of the grid, and this rank in it                  */
    size_t n, side, count;               /* `count` tiles along each edge                     */
    size_t *before;                      /* own tiles to the left of each own column          */
    double *cells;                       /* of own tiles, column by column                    */
    double largest;                      /* absolute value of all ranks', or less than 0 when
                                            it is not known; see cluster_product.c            */
} lth__tiles;

/* Where a tile of this rank lies. */
typedef struct lth__own_tile {
    size_t row, rows, col, cols; /* of the matrix */
    double *cells;
    size_t ld;
} lth__own_tile;

size_t lth__tiles_side(size_t n);
/* All 0. Ranks agree on it. */
lth_status lth__tiles_new(lth_ctx *ctx, size_t n, lth__tiles **out, lth_error *err);
void lth__tiles_free(lth__tiles *T);

/* This rank's tiles, in the order of columns: 0 .. lth__tiles_own() - 1. Whoever writes to them
 * says so by lth__tiles_changed(). */
size_t lth__tiles_own(const lth__tiles *T);
lth__own_tile lth__tiles_at(const lth__tiles *T, size_t index);
void lth__tiles_changed(lth__tiles *T);

/* ---- Inside of the algorithms ---- */

static inline size_t lth__tiles_extent(const lth__tiles *T, size_t i) {
    size_t left = T->n - i * T->side;
    return left < T->side ? left : T->side;
}

static inline bool lth__tiles_in_row(const lth__tiles *T, size_t i) {
    return i % T->rows == T->row;
}

static inline bool lth__tiles_in_column(const lth__tiles *T, size_t j) {
    return j % T->columns == T->column;
}

static inline bool lth__tiles_mine(const lth__tiles *T, size_t i, size_t j) {
    return lth__tiles_in_row(T, i) && lth__tiles_in_column(T, j);
}

static inline size_t lth__tiles_area(const lth__tiles *T) {
    return T->side * T->side;
}

/* The cells of a tile of this rank. */
double *lth__tiles_cells(const lth__tiles *T, size_t i, size_t j);
/* Own rows (columns) are row + a rows (column + b columns) for a (b) below these. */
size_t lth__tiles_own_rows(const lth__tiles *T);
size_t lth__tiles_own_columns(const lth__tiles *T);

/* Jobs that cannot fail, by this rank's threads. Nobody is asked whether to go on: one rank alone
 * could not leave. */
void lth__tiles_for(const lth__tiles *T, size_t count, lth__job_fn *job, void *user);
/* visit(user, i, j) for all of this rank's i and j, also above the diagonal. */
typedef void lth__tiles_visit_fn(void *user, size_t i, size_t j);
void lth__tiles_visit(const lth__tiles *T, lth__tiles_visit_fn *visit, void *user);

/* Everybody hears the first failure of all. */
lth_status lth__tiles_meet(const lth__tiles *T, lth_status status, lth_error *err);
/* The same where something long begins: the caller is asked whether to go on. */
lth_status lth__tiles_enter(const lth__tiles *T, lth_status status, lth_error *err);
/* The same between its steps, when it is time to: *done are the operations since the last time, the
 * same number on all ranks, which `more` (of all ranks together) are added to. */
lth_status lth__tiles_pause(const lth__tiles *T, double *done, double more, lth_status status,
                            lth_error *err);

/* The bytes of a member of a row or column of the grid to the others. */
lth_status lth__tiles_send(const lth__tiles *T, lth__group group, size_t root, void *bytes,
                           size_t size, lth_error *err);
/* Numbers of which all ranks but one have 0, after they have met. */
lth_status lth__tiles_join(const lth__tiles *T, double *numbers, size_t count, lth_error *err);

/* A strip has a tile for each row (or column) that this rank has tiles in: those of one column
 * of the matrix, say, of which other ranks have some. They are grouped by the rank of this row (or
 * column) of the grid that has the tile of the diagonal there: what it hands on lies together. */
typedef struct lth__strip {
    double *cells;
    size_t *first; /* tile of each group                                        */
    size_t groups; /* ranks in the row (or column) of the grid                  */
    size_t step;   /* from a tile of a group to the next: as many rows          */
    size_t area;   /* of a tile                                                 */
    size_t tiles;
    lth__group across; /* the ranks that hand them on: LTH__GRID_ROW or LTH__GRID_COLUMN */
} lth__strip;

/* For own rows (LTH__GRID_ROW), or for own columns. */
lth_status lth__strip_new(const lth__tiles *T, lth__group across, lth__strip *out, lth_error *err);
void lth__strip_free(lth__strip *s);

static inline double *lth__strip_at(const lth__strip *s, size_t i) {
    return s->cells + (s->first[i % s->groups] + i / s->step) * s->area;
}

/* Tiles from .. to - 1 from one rank to the others of its row (column); `begin` does not wait. */
typedef struct lth__sending {
    lth__transfer *transfers[64];
    size_t count;
} lth__sending;
lth_status lth__strip_begin(const lth__tiles *T, const lth__strip *s, size_t from, size_t to,
                            size_t root, lth__sending *out, lth_error *err);
lth_status lth__strip_wait(const lth__tiles *T, lth__sending *s, lth_error *err);
lth_status lth__strip_send(const lth__tiles *T, const lth__strip *s, size_t from, size_t to,
                           size_t root, lth_error *err);

/* The strips of a step: `next` is on its way while `now` is used, as it is and turned from rows to
 * columns or back. */
typedef struct lth__strips {
    lth__strip now, next, turned;
} lth__strips;

lth_status lth__strips_new(const lth__tiles *T, lth__group across, lth__strips *out,
                           lth_error *err);
void lth__strips_free(lth__strips *s);
/* What was next is now. */
void lth__strips_advance(lth__strips *s);
/* Tiles from .. to - 1 of `now` into `turned`: each from the rank on the diagonal. */
lth_status lth__strips_turn(const lth__tiles *T, const lth__strips *s, size_t from, size_t to,
                            lth_error *err);

/* ---- The algorithms ---- */

/* As in matrix.h. */
lth_status lth__tiles_factor(lth__tiles *A, lth_error *err);
lth_status lth__tiles_invert(lth__tiles *L, lth_error *err);
lth_status lth__tiles_solve(const lth__tiles *L, size_t m, double *B, lth_error *err);
lth_status lth__tiles_inverse_diagonal(const lth__tiles *L, double *out, lth_error *err);
lth_status lth__tiles_multiply(lth__tiles *A, size_t m, const double *X, double *Y, lth_error *err);
/* The first two by ScaLAPACK. */
lth_status lth__tiles_factor_there(lth__tiles *A, lth_error *err);
lth_status lth__tiles_invert_there(lth__tiles *L, lth_error *err);

#endif
