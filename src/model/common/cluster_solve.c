/* Solving with a factor of tiles.
 *
 * Few columns: L stays where it is. In step k, the ranks of its column multiply their tiles with
 * the solution's part k, and what comes out goes to the others of their rows, who all take it off:
 * so the sums are made in the order of k, whatever the grid. On the way back rows and columns
 * change places. */
#include <string.h>

#include "base/memory.h"
#include "model/common/cluster_tiles.h"

typedef struct solving {
    const lth__tiles *L;
    const lth__blas *blas;
    size_t m, k;
    double *x;      /* n x m: own rows (on the way back, columns) are up to date         */
    double *part;   /* what step k explains of them, those of one rank side by side      */
    double *answer; /* n x m: solved parts, each on one rank                             */
} solving;

static double *rows_of(const solving *s, double *x, size_t i) {
    return x + i * s->L->side * s->m;
}

static size_t bytes_of(const solving *s, size_t i) {
    return lth__tiles_extent(s->L, i) * s->m * sizeof *s->x;
}

/* ---- L y = b ---- */

/* Own rows lie side by side in `part`. */
static double *part_of_row(const solving *s, size_t i) {
    return rows_of(s, s->part, i / s->L->rows);
}

static lth_status explain_row(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker, (void)err;
    const solving *s = user;
    const lth__tiles *L = s->L;
    size_t i = index * L->rows + L->row, m = s->m;
    if (i > s->k)
        s->blas->gemm_nn(lth__tiles_extent(L, i), m, L->side, 1, lth__tiles_cells(L, i, s->k),
                         L->side, rows_of(s, s->x, s->k), m, 0, part_of_row(s, i), m);
    return LTH_OK;
}

static void take_off(double *x, const double *part, size_t count) {
    for (size_t r = 0; r < count; r++) x[r] -= part[r];
}

/* Own rows below k. */
static lth_status spread_down(const solving *s, lth_error *err) {
    const lth__tiles *L = s->L;
    size_t first = s->k + 1;
    while (first < L->count && !lth__tiles_in_row(L, first)) first++;
    if (first >= L->count) return LTH_OK;
    size_t last = first + (L->count - 1 - first) / L->rows * L->rows;
    size_t bytes = (last - first) / L->rows * L->side * s->m * sizeof *s->part + bytes_of(s, last);
    LTH_TRY(
        lth__tiles_send(L, LTH__GRID_ROW, s->k % L->columns, part_of_row(s, first), bytes, err));
    for (size_t i = first; i < L->count; i += L->rows)
        take_off(rows_of(s, s->x, i), part_of_row(s, i), lth__tiles_extent(L, i) * s->m);
    return LTH_OK;
}

static lth_status step_down(solving *s, lth_error *err) {
    const lth__tiles *L = s->L;
    size_t k = s->k;
    double *x = rows_of(s, s->x, k);
    if (lth__tiles_mine(L, k, k))
        s->blas->solve(lth__tiles_extent(L, k), s->m, lth__tiles_cells(L, k, k), L->side, x, s->m);
    if (lth__tiles_in_column(L, k)) {
        LTH_TRY(lth__tiles_send(L, LTH__GRID_COLUMN, k % L->rows, x, bytes_of(s, k), err));
        lth__tiles_for(L, lth__tiles_own_rows(L), explain_row, s);
    }
    return spread_down(s, err);
}

/* ---- L^T x = y ---- */

static double *part_of_column(const solving *s, size_t j) {
    return rows_of(s, s->part, j / s->L->columns);
}

static lth_status explain_column(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker, (void)err;
    const solving *s = user;
    const lth__tiles *L = s->L;
    size_t j = index * L->columns + L->column, m = s->m;
    if (j < s->k)
        s->blas->gemm_tn(L->side, m, lth__tiles_extent(L, s->k), 1, lth__tiles_cells(L, s->k, j),
                         L->side, rows_of(s, s->x, s->k), m, 0, part_of_column(s, j), m);
    return LTH_OK;
}

/* Own columns before k. */
static lth_status spread_up(const solving *s, lth_error *err) {
    const lth__tiles *L = s->L;
    if (s->k <= L->column) return LTH_OK;
    size_t count = (s->k - 1 - L->column) / L->columns + 1;
    LTH_TRY(lth__tiles_send(L, LTH__GRID_COLUMN, s->k % L->rows, s->part,
                            count * L->side * s->m * sizeof *s->part, err));
    for (size_t j = L->column; j < s->k; j += L->columns)
        take_off(rows_of(s, s->x, j), part_of_column(s, j), L->side * s->m);
    return LTH_OK;
}

static lth_status step_up(solving *s, lth_error *err) {
    const lth__tiles *L = s->L;
    size_t k = s->k;
    double *x = rows_of(s, s->x, k);
    if (lth__tiles_mine(L, k, k)) {
        s->blas->solve_transposed(lth__tiles_extent(L, k), s->m, lth__tiles_cells(L, k, k), L->side,
                                  x, s->m);
        memcpy(rows_of(s, s->answer, k), x, bytes_of(s, k));
    }
    if (lth__tiles_in_row(L, k)) {
        LTH_TRY(lth__tiles_send(L, LTH__GRID_ROW, k % L->columns, x, bytes_of(s, k), err));
        lth__tiles_for(L, lth__tiles_own_columns(L), explain_column, s);
    }
    return spread_up(s, err);
}

static lth_status solve(solving *s, lth_error *err) {
    const lth__tiles *L = s->L;
    double done = 0, tile = 2 * (double)lth__tiles_area(L) * (double)s->m;
    for (s->k = 0; s->k < L->count; s->k++) {
        LTH_TRY(step_down(s, err));
        LTH_TRY(lth__tiles_pause(L, &done, tile * (double)(L->count - s->k), LTH_OK, err));
    }
    for (s->k = L->count; s->k-- > 0;) {
        LTH_TRY(step_up(s, err));
        LTH_TRY(lth__tiles_pause(L, &done, tile * (double)s->k, LTH_OK, err));
    }
    return lth__tiles_join(L, s->answer, L->n * s->m, err);
}

static lth_status reserve(solving *s, lth_error *err) {
    size_t cells = s->L->count * s->L->side * s->m;
    LTH_TRY(lth__blas_get(&s->blas, err));
    s->x = lth__calloc(cells, 3 * sizeof *s->x);
    if (!s->x) return lth__fail_memory(err, cells * 3 * sizeof *s->x);
    s->part = s->x + cells;
    s->answer = s->part + cells;
    return LTH_OK;
}

lth_status lth__tiles_solve(const lth__tiles *L, size_t m, double *B, lth_error *err) {
    if (m == 0 || L->n == 0) return LTH_OK;
    solving s = {.L = L, .m = m};
    size_t bytes = L->n * m * sizeof *B;
    lth_status status = lth__tiles_enter(L, reserve(&s, err), err);
    if (status == LTH_OK) {
        memcpy(s.x, B, bytes);
        status = solve(&s, err);
        if (status == LTH_OK) memcpy(B, s.answer, bytes);
    }
    lth__free(s.x);
    return status;
}
