/* The diagonal of (L L^T)^-1: the sums of squares of the columns of M = L^-1, some columns of tiles
 * at a time. These are dealt out as L is, and are made row by row, as the identity solved with L:
 *
 *     M_kj = L_kk^-1 X_kj, then X_ij -= L_ik M_kj for i > k, where X is the identity at first. */
#include <string.h>

#include "base/memory.h"
#include "model/common/cluster_tiles.h"

typedef struct measuring {
    const lth__tiles *L;
    const lth__blas *blas;
    size_t first, end, k; /* columns of tiles, and the row that is made                  */
    size_t width;         /* own columns of them at most                                 */
    double *X;            /* [own row][own column of these]                              */
    lth__strip left;      /* column k of L for own rows                                  */
    lth__strip row;       /* row k of M for own columns                                  */
    double *parts;        /* [k][column]: the squares of tile (k, column)                */
} measuring;

/* So many that the tiles of L are sent a few times only, and that memory hardly grows. */
static size_t columns_together(const lth__tiles *L) {
    enum { ROUNDS = 24 };
    size_t each = (L->count + ROUNDS * L->columns - 1) / (ROUNDS * L->columns);
    return each * L->columns;
}

static lth_status reserve(measuring *j, lth_error *err) {
    const lth__tiles *L = j->L;
    size_t columns = columns_together(L), rows = lth__tiles_own_rows(L);
    j->width = columns / L->columns + 1;
    LTH_TRY(lth__blas_get(&j->blas, err));
    j->X = lth__calloc(rows * j->width, lth__tiles_area(L) * sizeof *j->X);
    if (!j->X) return lth__fail_memory(err, rows * j->width * lth__tiles_area(L) * sizeof *j->X);
    size_t parts = L->count * columns * L->side;
    j->parts = lth__alloc(parts, sizeof *j->parts);
    if (!j->parts) return lth__fail_memory(err, parts * sizeof *j->parts);
    LTH_TRY(lth__strip_new(L, LTH__GRID_ROW, &j->left, err));
    return lth__strip_new(L, LTH__GRID_COLUMN, &j->row, err);
}

static void release(measuring *j) {
    lth__strip_free(&j->row);
    lth__strip_free(&j->left);
    lth__free(j->parts);
    lth__free(j->X);
}

static double *cells_of(const measuring *j, size_t i, size_t column) {
    const lth__tiles *L = j->L;
    size_t b = column / L->columns - j->first / L->columns;
    return j->X + (i / L->rows * j->width + b) * lth__tiles_area(L);
}

static double *part_of(const measuring *j, size_t k, size_t column) {
    return j->parts + ((k - j->first) * (j->end - j->first) + column - j->first) * j->L->side;
}

static void make_tile(const measuring *j, size_t column) {
    const lth__tiles *L = j->L;
    size_t side = L->side, rows = lth__tiles_extent(L, j->k), cols = lth__tiles_extent(L, column);
    double *M = lth__strip_at(&j->row, column), *sum = part_of(j, j->k, column);
    if (column == j->k) {
        memset(M, 0, lth__tiles_area(L) * sizeof *M);
        for (size_t r = 0; r < rows; r++) M[r * side + r] = 1;
    } else {
        memcpy(M, cells_of(j, j->k, column), lth__tiles_area(L) * sizeof *M);
    }
    j->blas->solve(rows, cols, lth__strip_at(&j->left, j->k), side, M, side);
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < cols; c++) sum[c] += M[r * side + c] * M[r * side + c];
}

static lth_status make_job(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker, (void)err;
    const measuring *j = user;
    size_t column = j->first + index;
    if (column <= j->k && lth__tiles_in_column(j->L, column)) make_tile(j, column);
    return LTH_OK;
}

static lth_status update_job(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker, (void)err;
    const measuring *j = user;
    const lth__tiles *L = j->L;
    size_t columns = j->end - j->first, column = j->first + index % columns, side = L->side;
    size_t i = index / columns * L->rows + L->row, n = lth__tiles_extent(L, j->k);
    if (i <= j->k || column > j->k || !lth__tiles_in_column(L, column)) return LTH_OK;
    j->blas->gemm_nn(lth__tiles_extent(L, i), lth__tiles_extent(L, column), n, -1,
                     lth__strip_at(&j->left, i), side, lth__strip_at(&j->row, column), side,
                     column < j->k, cells_of(j, i, column), side);
    return LTH_OK;
}

static lth_status step(measuring *j, lth_error *err) {
    const lth__tiles *L = j->L;
    size_t k = j->k, columns = j->end - j->first, last = k < j->end ? k + 1 : j->end;
    for (size_t i = k; i < L->count; i++)
        if (lth__tiles_mine(L, i, k))
            memcpy(lth__strip_at(&j->left, i), lth__tiles_cells(L, i, k),
                   lth__tiles_area(L) * sizeof *j->X);
    LTH_TRY(lth__strip_send(L, &j->left, k, L->count, k % L->columns, err));
    if (lth__tiles_in_row(L, k)) lth__tiles_for(L, columns, make_job, j);
    LTH_TRY(lth__strip_send(L, &j->row, j->first, last, k % L->rows, err));
    lth__tiles_for(L, columns * lth__tiles_own_rows(L), update_job, j);
    return LTH_OK;
}

/* The columns first .. end - 1. */
static lth_status measure(measuring *j, double *done, double *out, lth_error *err) {
    const lth__tiles *L = j->L;
    size_t cols = (j->end - j->first) * L->side, down = L->count - j->first;
    double tile = 2 * (double)L->side * (double)lth__tiles_area(L);
    memset(j->parts, 0, down * cols * sizeof *j->parts);
    for (j->k = j->first; j->k < L->count; j->k++) {
        double tiles = (double)(L->count - j->k) * (double)(j->end - j->first);
        LTH_TRY(step(j, err));
        LTH_TRY(lth__tiles_pause(L, done, tiles * tile, LTH_OK, err));
    }
    LTH_TRY(lth__tiles_join(L, j->parts, down * cols, err));
    size_t from = j->first * L->side;
    for (size_t c = 0; c < cols && from + c < L->n; c++) {
        double sum = 0;
        for (size_t k = 0; k < down; k++) sum += j->parts[k * cols + c];
        out[from + c] = sum;
    }
    return LTH_OK;
}

lth_status lth__tiles_inverse_diagonal(const lth__tiles *L, double *out, lth_error *err) {
    measuring j = {.L = L};
    double done = 0;
    lth_status status = lth__tiles_enter(L, reserve(&j, err), err);
    while (status == LTH_OK && j.first < L->count) {
        size_t end = j.first + columns_together(L);
        j.end = end < L->count ? end : L->count;
        status = measure(&j, &done, out, err);
        j.first = j.end;
    }
    release(&j);
    return status;
}
