/* Each cell is read once and used twice, for its own place and for the one across the diagonal:
 * a tile T of rows I and columns J adds T X_J to Y_I and T^T X_I to Y_J. The second lies anywhere
 * in Y, so the panels are dealt out to a few strands, each with a sum of its own; these are added
 * in order. How many there are depends on the sizes alone. */
#include "model/common/product.h"

#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "engine/blas.h"

enum { MOST_STRANDS = 16, TILE = 1 << 15, ROWS = 256 };

typedef struct product {
    lth_ctx *ctx;
    const lth__blas *blas;
    const lth__packed *A;
    size_t m, strands, tile_cols;
    const double *X;
    double *Y, *sums; /* [strand][n x m] */
} product;

/* Little memory beside that of the matrix; enough for the panels of a small one. */
static size_t count_strands(const lth__packed *A, size_t m) {
    size_t by_memory = A->n / (16 * m), by_panels = (lth__packed_panels(A) + 1) / 2;
    size_t count = by_memory < 4 ? 4 : by_memory > MOST_STRANDS ? MOST_STRANDS : by_memory;
    return count < by_panels ? count : by_panels;
}

/* To and fro, so that each strand gets as many long panels as short ones. */
static size_t strand_of(const product *p, size_t panel) {
    size_t at = panel % (2 * p->strands);
    return at < p->strands ? at : 2 * p->strands - 1 - at;
}

/* The cells of a panel from column `first` on as doubles: as they are, or in `room`. */
static const double *tile_at(const product *p, size_t panel, size_t first, size_t cols,
                             double *room, size_t *ld) {
    const lth__packed *A = p->A;
    size_t stride = lth__packed_stride(A, panel), at = lth__packed_panel(A, panel) + first;
    *ld = stride;
    if (!A->singles) return A->cells + at;
    *ld = cols;
    for (size_t r = 0; r < lth__packed_rows(A, panel); r++) {
        const float *from = A->singles + at + r * stride;
        for (size_t c = 0; c < cols; c++) room[r * cols + c] = from[c];
    }
    return room;
}

/* The square at the end of a panel, with both triangles. */
static void mirror_square(const product *p, size_t panel, size_t first, double *room) {
    size_t rows = lth__packed_rows(p->A, panel), ld;
    const double *lower = tile_at(p, panel, first, rows, room, &ld);
    for (size_t r = 0; r < rows; r++) {
        for (size_t c = 0; c <= r; c++) room[r * rows + c] = room[c * rows + r] = lower[r * ld + c];
    }
}

static void add_panel(const product *p, size_t panel, double *sum, double *room) {
    size_t first = panel << p->A->shift, rows = lth__packed_rows(p->A, panel), m = p->m, ld;
    for (size_t left = 0; left < first; left += p->tile_cols) {
        size_t cols = left + p->tile_cols < first ? p->tile_cols : first - left;
        const double *T = tile_at(p, panel, left, cols, room, &ld);
        p->blas->gemm_nn(rows, m, cols, 1, T, ld, p->X + left * m, m, 1, sum + first * m, m);
        p->blas->gemm_tn(cols, m, rows, 1, T, ld, p->X + first * m, m, 1, sum + left * m, m);
    }
    mirror_square(p, panel, first, room);
    p->blas->gemm_nn(rows, m, rows, 1, room, rows, p->X + first * m, m, 1, sum + first * m, m);
}

static lth_status add_strand(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker;
    const product *p = user;
    size_t height = lth__packed_height(p->A), cells = height * p->tile_cols;
    double *sum = p->sums + index * p->A->n * p->m;
    if (cells < height * height) cells = height * height;
    double *room = lth__alloc(cells, sizeof *room);
    if (!room) return lth__fail_memory(err, cells * sizeof *room);
    memset(sum, 0, p->A->n * p->m * sizeof *sum);
    lth_status status = LTH_OK;
    for (size_t panel = 0; panel < lth__packed_panels(p->A) && status == LTH_OK; panel++) {
        if (strand_of(p, panel) != index) continue;
        add_panel(p, panel, sum, room);
        status = lth__parallel_ask(p->ctx);
    }
    lth__free(room);
    return status;
}

static lth_status add_sums(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker, (void)err;
    const product *p = user;
    size_t cells = p->A->n * p->m, first = index * ROWS * p->m, last = first + ROWS * p->m;
    if (last > cells) last = cells;
    for (size_t i = first; i < last; i++) p->Y[i] = p->sums[i];
    for (size_t s = 1; s < p->strands; s++) {
        for (size_t i = first; i < last; i++) p->Y[i] += p->sums[s * cells + i];
    }
    return LTH_OK;
}

lth_status lth__packed_multiply(lth_ctx *ctx, const lth__packed *A, size_t m, const double *X,
                                double *Y, lth_error *err) {
    if (A->n == 0 || m == 0) return LTH_OK;
    product p = {.ctx = ctx, .A = A, .m = m, .X = X, .Y = Y, .tile_cols = TILE >> A->shift};
    LTH_TRY(lth__blas_get(&p.blas, err));
    p.strands = count_strands(A, m);
    p.sums = lth__alloc(p.strands * A->n * m, sizeof *p.sums);
    if (!p.sums) return lth__fail_memory(err, p.strands * A->n * m * sizeof *p.sums);
    lth_status status = lth__parallel_for(ctx, NULL, p.strands, NULL, add_strand, &p, err);
    if (status == LTH_OK)
        status = lth__parallel_for(ctx, NULL, (A->n + ROWS - 1) / ROWS, NULL, add_sums, &p, err);
    lth__free(p.sums);
    return status;
}
