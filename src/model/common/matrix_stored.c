/* Matrices that stay on disk, in the store of some items: what conjugate gradients need, for rows
 * whose matrix does not fit into memory. The store is read for every product and never written, so
 * what is done to the cells is kept beside them:
 *
 *     A = by K + plus + lift I
 *
 * The items may be some of the store's, in any order: A is then S K S^T with S that picks them, and
 * a product scatters its vectors, multiplies all of K and gathers. */
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "engine/blas.h"
#include "kernel/core/store.h"
#include "model/common/matrix.h"

enum { MOST_STRANDS = 16 };

static lth_status reserve(lth__matrix *A, lth_error *err) {
    (void)err;
    A->by = 1;
    A->plus = A->lift = 0;
    return LTH_OK;
}

static void release(lth__matrix *A) {
    (void)A;
}

static lth_status affine(lth__matrix *A, double by, double plus, lth_error *err) {
    (void)err;
    A->by *= by;
    A->plus = by * A->plus + plus;
    A->lift *= by;
    return LTH_OK;
}

static lth_status add_diagonal(lth__matrix *A, double value, lth_error *err) {
    (void)err;
    A->lift += value;
    return LTH_OK;
}

/* ---- Products ---- */

/* Vectors are as long as the tiles together, which go beyond the last row. Rows of tiles are dealt
 * out to strands, each with a sum of its own, as product.c does with panels. */
typedef struct product {
    const lth__matrix *A;
    const lth__blas *blas;
    const lth_store *store;
    size_t side, down, m, strands;
    double *X;
    double *sums; /* [strand][down * side x m] */
} product;

static lth_status add_row_of_tiles(const product *p, size_t i, double *sum, double *tile,
                                   lth_error *err) {
    size_t side = p->side, m = p->m, block = side * m;
    for (size_t j = 0; j <= i; j++) {
        LTH_TRY(lth__store_tile(p->store, i, j, tile, err));
        p->blas->gemm_nn(side, m, side, 1, tile, side, p->X + j * block, m, 1, sum + i * block, m);
        if (j < i)
            p->blas->gemm_tn(side, m, side, 1, tile, side, p->X + i * block, m, 1, sum + j * block,
                             m);
        LTH_TRY(lth__parallel_ask(p->A->ctx));
    }
    return LTH_OK;
}

/* To and fro, so that each strand gets as many long rows as short ones. */
static lth_status add_strand(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker;
    const product *p = user;
    size_t cells = p->down * p->side * p->m, turn = 2 * p->strands;
    double *sum = p->sums + index * cells;
    double *tile = lth__alloc(p->side * p->side, sizeof *tile);
    if (!tile) return lth__fail_memory(err, p->side * p->side * sizeof *tile);
    memset(sum, 0, cells * sizeof *sum);
    lth_status status = LTH_OK;
    for (size_t i = 0; i < p->down && status == LTH_OK; i++) {
        size_t at = i % turn;
        if ((at < p->strands ? at : turn - 1 - at) == index)
            status = add_row_of_tiles(p, i, sum, tile, err);
    }
    lth__free(tile);
    return status;
}

static void scatter(const product *p, const double *X) {
    const lth_items *items = p->A->items;
    memset(p->X, 0, p->down * p->side * p->m * sizeof *p->X);
    for (size_t i = 0; i < p->A->n; i++) {
        double *row = p->X + lth__items_stored_row(items, i) * p->m;
        for (size_t k = 0; k < p->m; k++) row[k] += X[i * p->m + k];
    }
}

static void gather(const product *p, const double *X, double *Y) {
    const lth__matrix *A = p->A;
    size_t m = p->m, cells = p->down * p->side * m;
    for (size_t k = 0; k < m; k++) {
        double total = 0;
        for (size_t i = 0; i < A->n; i++) total += X[i * m + k];
        for (size_t i = 0; i < A->n; i++) {
            const double *part = p->sums + lth__items_stored_row(A->items, i) * m + k;
            double sum = 0;
            for (size_t s = 0; s < p->strands; s++) sum += part[s * cells];
            Y[i * m + k] = A->by * sum + A->plus * total + A->lift * X[i * m + k];
        }
    }
}

static lth_status multiply(const lth__matrix *A, size_t m, const double *X, double *Y,
                           lth_error *err) {
    const lth_store *store = A->items->stored;
    product p = {.A = A, .store = store, .side = store->info.tile_rows, .m = m};
    p.down = lth__zarr_down(lth__zarr_shape_of(store->zarr));
    p.strands = p.down < 2 * MOST_STRANDS ? (p.down + 1) / 2 : MOST_STRANDS;
    LTH_TRY(lth__blas_get(&p.blas, err));
    size_t cells = p.down * p.side * m;
    p.X = lth__alloc(cells * (1 + p.strands), sizeof *p.X);
    if (!p.X) return lth__fail_memory(err, cells * (1 + p.strands) * sizeof *p.X);
    p.sums = p.X + cells;
    scatter(&p, X);
    lth_status status = lth__parallel_for(A->ctx, NULL, p.strands, NULL, add_strand, &p, err);
    if (status == LTH_OK) gather(&p, X, Y);
    lth__free(p.X);
    return status;
}

/* ---- Diagonals ---- */

static lth_status diagonal(const lth__matrix *A, double *out, lth_error *err) {
    const lth_store *store = A->items->stored;
    size_t side = store->info.tile_rows, down = lth__zarr_down(lth__zarr_shape_of(store->zarr));
    double *all = lth__alloc(down * side + side * side, sizeof *all), *tile = all + down * side;
    if (!all) return lth__fail_memory(err, (down * side + side * side) * sizeof *all);
    lth_status status = LTH_OK;
    for (size_t i = 0; i < down && status == LTH_OK; i++) {
        status = lth__store_tile(store, i, i, tile, err);
        for (size_t r = 0; r < side && status == LTH_OK; r++)
            all[i * side + r] = tile[r * side + r];
    }
    for (size_t i = 0; i < A->n && status == LTH_OK; i++)
        out[i] = A->by * all[lth__items_stored_row(A->items, i)] + A->plus + A->lift;
    lth__free(all);
    return status;
}

static const lth__matrix_table on_disk = {.reserve = reserve,
                                          .release = release,
                                          .affine = affine,
                                          .add_diagonal = add_diagonal,
                                          .diagonal = diagonal,
                                          .multiply = multiply,
                                          .multiply_roughly = multiply};

lth__matrix lth__matrix_stored(lth_ctx *ctx, const lth_items *items) {
    return (lth__matrix){.table = &on_disk, .ctx = ctx, .n = items->count, .items = items};
}
