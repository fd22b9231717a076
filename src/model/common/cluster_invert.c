/* The inverse of L L^T in the place of L, in one sweep. With M = L^-1, step k makes row k of M and
 * then adds what it means for all others:
 *
 *     M_kk = L_kk^-1,  M_kj = M_kk X_kj                        for j < k
 *     X_mj -= L_mk M_kj,  X_mk = -L_mk M_kk                    below: what M_mj = M_mm X_mj needs
 *     X_mj += M_km^T M_kj, X_kj = M_kk^T M_kj, X_kk = M_kk^T M_kk   above and here: M^T M so far
 *
 * where X_kj is what the tile (k, j) has; at first L. All tiles take part in each step. The next
 * row is brought up to date before the others, and is on its way while these follow. */
#include <string.h>

#include "base/memory.h"
#include "model/common/cluster_tiles.h"

typedef struct inverting {
    lth__tiles *X;
    const lth__blas *blas;
    size_t k;        /* the row that is added                                             */
    size_t made;     /* the row that is made                                              */
    bool next_alone; /* whether row k + 1 is updated, or all others are                   */
    double *square, *next_square; /* M_kk, of that row and of the next                    */
    lth__strips row;              /* of M: for own columns, and turned for own rows up to k;
                                     there, column k of L below                           */
    lth__sending sending;
} inverting;

static lth_status reserve(inverting *v, lth_error *err) {
    LTH_TRY(lth__blas_get(&v->blas, err));
    size_t area = lth__tiles_area(v->X);
    v->square = lth__alloc(area, sizeof *v->square);
    v->next_square = lth__alloc(area, sizeof *v->square);
    if (!v->square || !v->next_square) return lth__fail_memory(err, area * sizeof *v->square);
    return lth__strips_new(v->X, LTH__GRID_COLUMN, &v->row, err);
}

static void release(inverting *v) {
    lth__strips_free(&v->row);
    lth__free(v->next_square);
    lth__free(v->square);
}

/* ---- A row of M ---- */

static void invert_square(inverting *v) {
    const lth__tiles *T = v->X;
    size_t n = lth__tiles_extent(T, v->made), side = T->side;
    double *M = v->next_square;
    memset(M, 0, lth__tiles_area(T) * sizeof *M);
    for (size_t r = 0; r < n; r++) M[r * side + r] = 1;
    v->blas->solve(n, n, lth__tiles_cells(T, v->made, v->made), side, M, side);
}

static lth_status multiply_tile(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker, (void)err;
    const inverting *v = user;
    const lth__tiles *T = v->X;
    size_t j = index * T->columns + T->column, n = lth__tiles_extent(T, v->made), side = T->side;
    if (j < v->made)
        v->blas->gemm_nn(n, side, n, 1, v->next_square, side, lth__tiles_cells(T, v->made, j), side,
                         0, lth__strip_at(&v->row.next, j), side);
    return LTH_OK;
}

/* By the ranks that have it, and off to the others of their columns. */
static lth_status begin_row(inverting *v, lth_error *err) {
    const lth__tiles *T = v->X;
    size_t k = v->made, root_row = k % T->rows, root_column = k % T->columns;
    size_t bytes = lth__tiles_area(T) * sizeof *v->square;
    if (lth__tiles_mine(T, k, k)) invert_square(v);
    if (lth__tiles_in_row(T, k)) {
        LTH_TRY(lth__tiles_send(T, LTH__GRID_ROW, root_column, v->next_square, bytes, err));
        lth__tiles_for(T, lth__tiles_own_columns(T), multiply_tile, v);
    }
    return lth__strip_begin(T, &v->row.next, 0, k, root_row, &v->sending, err);
}

/* It arrives, and with it column k of L. */
static lth_status finish_row(inverting *v, lth_error *err) {
    const lth__tiles *T = v->X;
    size_t k = v->made, bytes = lth__tiles_area(T) * sizeof *v->square;
    LTH_TRY(lth__strip_wait(T, &v->sending, err));
    lth__strips_advance(&v->row);
    double *done = v->square;
    v->square = v->next_square;
    v->next_square = done;
    v->k = k;
    LTH_TRY(lth__strips_turn(T, &v->row, 0, k, err));
    if (lth__tiles_in_column(T, k)) {
        LTH_TRY(lth__tiles_send(T, LTH__GRID_COLUMN, k % T->rows, v->square, bytes, err));
        for (size_t m = k + 1; m < T->count; m++)
            if (lth__tiles_in_row(T, m))
                memcpy(lth__strip_at(&v->row.turned, m), lth__tiles_cells(T, m, k), bytes);
    }
    return lth__strip_send(T, &v->row.turned, k + 1, T->count, k % T->columns, err);
}

/* ---- What it means for all tiles ---- */

static void update_tile(void *user, size_t m, size_t j) {
    const inverting *v = user;
    const lth__tiles *T = v->X;
    const lth__blas *blas = v->blas;
    size_t k = v->k, side = T->side, n = lth__tiles_extent(T, k);
    if (j > m || j > k || (m == k + 1) != v->next_alone) return;
    size_t rows = lth__tiles_extent(T, m), cols = lth__tiles_extent(T, j);
    double *X = lth__tiles_cells(T, m, j);
    const double *right = j < k ? lth__strip_at(&v->row.now, j) : v->square;
    const double *left = m == k ? v->square : lth__strip_at(&v->row.turned, m);
    if (m > k)
        blas->gemm_nn(rows, cols, n, -1, left, side, right, side, j < k, X, side);
    else
        blas->gemm_tn(rows, cols, n, 1, left, side, right, side, m < k, X, side);
}

static void update(inverting *v, bool next_alone) {
    v->next_alone = next_alone;
    lth__tiles_visit(v->X, update_tile, v);
}

static lth_status invert(inverting *v, lth_error *err) {
    const lth__tiles *T = v->X;
    double count = (double)T->count, tile = 2 * (double)T->side * (double)lth__tiles_area(T);
    double done = 0;
    v->made = 0;
    LTH_TRY(begin_row(v, err));
    for (size_t k = 0; k < T->count; k++) {
        LTH_TRY(finish_row(v, err));
        double above = (double)k * (double)k / 2, below = (double)k * (count - (double)k);
        LTH_TRY(lth__tiles_pause(T, &done, (above + below) * tile, LTH_OK, err));
        if (k + 1 < T->count) {
            update(v, true);
            v->made = k + 1;
            LTH_TRY(begin_row(v, err));
        }
        update(v, false);
    }
    return LTH_OK;
}

lth_status lth__tiles_invert(lth__tiles *L, lth_error *err) {
    inverting v = {.X = L};
    lth_status status = lth__tiles_enter(L, reserve(&v, err), err);
    if (status == LTH_OK) status = invert(&v, err);
    release(&v);
    lth__tiles_changed(L);
    return status;
}
