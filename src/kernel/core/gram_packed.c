/* Tiles of a symmetric matrix to and from its lower triangle (engine/packed.h): each pair has one
 * place there, so there is nothing to mirror. */
#include <math.h>

#include "kernel/core/work.h"

/* Columns of a tile that are visited together: where items are in order they are rows of the
 * triangle, and as many cells of the tile lie on a cache line. */
enum { TOGETHER = 8 };

/* What is done with the pair at `cell` of the tile, which is at `at` in the triangle. */
typedef void visit_fn(const lth__packed *a, size_t at, bool diagonal, double *cell);

static inline void put_double(const lth__packed *a, size_t at, bool diagonal, double *cell) {
    (void)diagonal;
    a->cells[at] = *cell;
}

static inline void put_single(const lth__packed *a, size_t at, bool diagonal, double *cell) {
    (void)diagonal;
    a->singles[at] = (float)*cell;
}

/* A pair carries the weights of both its places. */
static inline void get_double(const lth__packed *a, size_t at, bool diagonal, double *cell) {
    *cell = diagonal ? a->cells[at] : 2 * a->cells[at];
}

/* Every pair that is used, once; inlined with its visitor. */
static inline void visit(const lth__packed *a, const lth__tile_place *place, const lth__tile *tile,
                         double *cells, visit_fn *what) {
    for (size_t left = 0; left < tile->cols; left += TOGETHER) {
        size_t end = left + TOGETHER < tile->cols ? left + TOGETHER : tile->cols;
        size_t row_of_col[TOGETHER];
        for (size_t c = left; c < end; c++) row_of_col[c - left] = lth__packed_row(a, tile->col[c]);
        for (size_t r = 0; r < tile->rows; r++) {
            size_t i = tile->row[r], row = lth__packed_row(a, i), first = place->row + r;
            for (size_t c = first < place->col + left ? left : first - place->col; c < end; c++) {
                size_t j = tile->col[c];
                what(a, i > j ? row + j : row_of_col[c - left] + i, i == j,
                     &cells[r * tile->cols + c]);
            }
        }
    }
}

/* What is finite in double precision need not be in single. */
static lth_status check_singles(const lth__tile *tile, const double *K, lth_error *err) {
    for (size_t i = 0; i < tile->rows * tile->cols; i++) {
        if (isfinite((float)K[i])) continue;
        return lth__fail(err, LTH_ENUMERIC,
                         "the kernel of rows %u and %u is too large for single precision",
                         tile->row[i / tile->cols] + 1, tile->col[i % tile->cols] + 1);
    }
    return LTH_OK;
}

lth_status lth__packed_scatter(const lth__packed *a, const lth__tile_place *place,
                               const lth__tile *tile, double *from, lth_error *err) {
    if (!a->singles) {
        visit(a, place, tile, from, put_double);
        return LTH_OK;
    }
    LTH_TRY(check_singles(tile, from, err));
    visit(a, place, tile, from, put_single);
    return LTH_OK;
}

void lth__packed_gather(const lth__packed *a, const lth__tile_place *place, const lth__tile *tile,
                        double *out) {
    for (size_t i = 0; i < tile->rows * tile->cols; i++) out[i] = 0;
    visit(a, place, tile, out, get_double);
}
