/* Cholesky of tiles, column by column: L_kk, then L_ik = A_ik L_kk^-T, then A_ij -= L_ik L_jk^T for
 * all k < j <= i. The next column is brought up to date before the others, and is on its way while
 * these follow. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "model/common/cluster_tiles.h"

typedef struct factoring {
    lth__tiles *A;
    const lth__blas *blas;
    size_t k;           /* the column that is made                                  */
    size_t from, to;    /* columns that are updated                                 */
    double *square;     /* L_kk                                                     */
    lth__strips column; /* of L: for own rows, and turned                           */
    lth__sending sending;
    bool definite; /* as far as this rank knows */
} factoring;

static lth_status reserve(factoring *f, lth_error *err) {
    LTH_TRY(lth__blas_get(&f->blas, err));
    size_t area = lth__tiles_area(f->A);
    f->square = lth__alloc(area, sizeof *f->square);
    if (!f->square) return lth__fail_memory(err, area * sizeof *f->square);
    return lth__strips_new(f->A, LTH__GRID_ROW, &f->column, err);
}

static void release(factoring *f) {
    lth__strips_free(&f->column);
    lth__free(f->square);
}

/* ---- A column of L ---- */

static void factor_square(factoring *f) {
    const lth__tiles *T = f->A;
    size_t size = lth__tiles_extent(T, f->k), ld = T->side;
    double *A = lth__tiles_cells(T, f->k, f->k);
    /* Not every LAPACK notices a NaN; it reaches all pivots from its own on. */
    if (!f->blas->cholesky(size, A, ld) || isnan(A[(size - 1) * ld + size - 1]))
        f->definite = false;
    for (size_t r = 0; r < size; r++) memset(A + r * ld + r + 1, 0, (size - 1 - r) * sizeof *A);
    memcpy(f->square, A, lth__tiles_area(T) * sizeof *A);
}

static lth_status solve_tile(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker, (void)err;
    const factoring *f = user;
    const lth__tiles *T = f->A;
    size_t i = index * T->rows + T->row;
    if (i <= f->k) return LTH_OK;
    double *A = lth__tiles_cells(T, i, f->k);
    f->blas->solve_right(lth__tiles_extent(T, i), T->side, f->square, T->side, A, T->side);
    memcpy(lth__strip_at(&f->column.next, i), A, lth__tiles_area(T) * sizeof *A);
    return LTH_OK;
}

/* By the ranks that have it, and off to the others of their rows. */
static lth_status begin_column(factoring *f, lth_error *err) {
    const lth__tiles *T = f->A;
    size_t k = f->k;
    if (lth__tiles_in_column(T, k)) {
        if (lth__tiles_mine(T, k, k)) factor_square(f);
        LTH_TRY(lth__tiles_send(T, LTH__GRID_COLUMN, k % T->rows, f->square,
                                lth__tiles_area(T) * sizeof *f->square, err));
        lth__tiles_for(T, lth__tiles_own_rows(T), solve_tile, f);
    }
    return lth__strip_begin(T, &f->column.next, k + 1, T->count, k % T->columns, &f->sending, err);
}

static lth_status finish_column(factoring *f, lth_error *err) {
    LTH_TRY(lth__strip_wait(f->A, &f->sending, err));
    lth__strips_advance(&f->column);
    return lth__strips_turn(f->A, &f->column, f->k + 1, f->A->count, err);
}

/* ---- What it explains of the columns to its right ---- */

static void update_tile(void *user, size_t i, size_t j) {
    const factoring *f = user;
    const lth__tiles *T = f->A;
    if (j < f->from || j >= f->to || i < j) return;
    f->blas->gemm_nt(lth__tiles_extent(T, i), lth__tiles_extent(T, j), T->side, -1,
                     lth__strip_at(&f->column.now, i), T->side, lth__strip_at(&f->column.turned, j),
                     T->side, 1, lth__tiles_cells(T, i, j), T->side);
}

static void update(factoring *f, size_t from, size_t to) {
    f->from = from;
    f->to = to;
    lth__tiles_visit(f->A, update_tile, f);
}

/* Whether all is well, as far as this rank knows. */
static lth_status state(const factoring *f) {
    return f->definite ? LTH_OK : LTH_ENUMERIC;
}

static lth_status factor(factoring *f, lth_error *err) {
    const lth__tiles *T = f->A;
    double done = 0, tile = 2 * (double)T->side * (double)lth__tiles_area(T);
    f->k = 0;
    LTH_TRY(begin_column(f, err));
    while (f->k + 1 < T->count) {
        double left = (double)(T->count - f->k);
        LTH_TRY(finish_column(f, err));
        LTH_TRY(lth__tiles_pause(T, &done, left * left / 2 * tile, state(f), err));
        f->k++;
        update(f, f->k, f->k + 1);
        LTH_TRY(begin_column(f, err));
        update(f, f->k + 1, T->count);
    }
    LTH_TRY(lth__strip_wait(T, &f->sending, err));
    return lth__tiles_meet(T, state(f), err);
}

lth_status lth__tiles_factor(lth__tiles *A, lth_error *err) {
    factoring f = {.A = A, .definite = true};
    lth_status status = lth__tiles_enter(A, reserve(&f, err), err);
    if (status == LTH_OK && A->n > 0) status = factor(&f, err);
    release(&f);
    lth__tiles_changed(A);
    return status;
}
