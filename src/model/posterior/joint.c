#include "model/posterior/joint.h"

#include "base/parallel.h"
#include "model/common/linalg.h"

enum { PIECE = 32, TILE = 128 };

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

/* ---- Features ---- */

typedef struct whitening {
    const lth__blas *blas;
    lth__packed L;
    size_t rows;
    double *V;
} whitening;

static lth_status whiten_piece(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker, (void)err;
    const whitening *w = user;
    size_t first = index * PIECE;
    lth__packed_solve_right(w->blas, &w->L, smaller(PIECE, w->rows - first), w->V + first * w->L.n);
    return LTH_OK;
}

lth_status lth__joint_whiten(lth_ctx *ctx, size_t n, const double *L, size_t rows, double *V,
                             lth_error *err) {
    whitening w = {.L = lth__packed_layout(n), .rows = rows, .V = V};
    w.L.cells = (double *)L;
    LTH_TRY(lth__blas_get(&w.blas, err));
    return lth__parallel_for(ctx, NULL, (rows + PIECE - 1) / PIECE, NULL, whiten_piece, &w, err);
}

/* ---- Their products, in tiles of the lower triangle ---- */

typedef struct adding {
    const lth__blas *blas;
    size_t rows, n;
    double by;
    const double *A, *B;
    double *C;
} adding;

static lth_status add_tile(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker, (void)err;
    const adding *a = user;
    size_t down = 0, across = index;
    while (across > down) across -= ++down;
    size_t r = down * TILE, c = across * TILE;
    a->blas->gemm_nt(smaller(TILE, a->rows - r), smaller(TILE, a->rows - c), a->n, a->by,
                     a->A + r * a->n, a->n, a->B + c * a->n, a->n, 1, a->C + r * a->rows + c,
                     a->rows);
    return LTH_OK;
}

lth_status lth__joint_add(lth_ctx *ctx, size_t rows, size_t n, double by, const double *A,
                          const double *B, double *C, lth_error *err) {
    adding a = {.rows = rows, .n = n, .by = by, .A = A, .B = B, .C = C};
    size_t down = (rows + TILE - 1) / TILE;
    LTH_TRY(lth__blas_get(&a.blas, err));
    return lth__parallel_for(ctx, NULL, down * (down + 1) / 2, NULL, add_tile, &a, err);
}

void lth__joint_hold(size_t rows, double *C) {
    for (size_t i = 0; i < rows; i++) {
        double *own = &C[i * rows + i];
        if (!(*own > 0)) *own = 0;
    }
}
