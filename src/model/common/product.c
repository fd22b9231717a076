/* Each cell is read once and used twice, for its own place and for the one across the diagonal:
 * a tile T of rows I and columns J adds T X_J to Y_I and T^T X_I to Y_J. The second lies anywhere
 * in Y, so the panels are dealt out to a few strands, each with a sum of its own; these are added
 * in order. How many there are depends on the sizes alone. */
#include "model/common/product.h"

#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "engine/blas.h"
#include "engine/engine.h"

enum { MOST_STRANDS = 16, TILE_BYTES = 1 << 18, ROWS = 256, WIDTH = 1024 };

typedef struct product product;

/* Arithmetic in one precision: what a panel adds to the sum of its strand (n x m), with room for a
 * tile or a square. */
typedef struct arithmetic {
    size_t real; /* bytes of a number */
    void (*add_panel)(const product *p, size_t panel, void *sum, void *room);
} arithmetic;

struct product {
    lth_ctx *ctx;
    const lth__blas *blas;
    const lth__packed *A;
    const arithmetic *by;
    size_t m, strands, tile_cols;
    const double *X;
    float *rough_X; /* the same, in single precision */
    double *Y;
    void *sums; /* [strand][n x m] */
};

/* ---- In double precision ---- */

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

static void add_panel(const product *p, size_t panel, void *to, void *room) {
    size_t first = panel << p->A->shift, rows = lth__packed_rows(p->A, panel), m = p->m, ld;
    double *sum = to;
    for (size_t left = 0; left < first; left += p->tile_cols) {
        size_t cols = left + p->tile_cols < first ? p->tile_cols : first - left;
        const double *T = tile_at(p, panel, left, cols, room, &ld);
        p->blas->gemm_nn(rows, m, cols, 1, T, ld, p->X + left * m, m, 1, sum + first * m, m);
        p->blas->gemm_tn(cols, m, rows, 1, T, ld, p->X + first * m, m, 1, sum + left * m, m);
    }
    mirror_square(p, panel, first, room);
    p->blas->gemm_nn(rows, m, rows, 1, room, rows, p->X + first * m, m, 1, sum + first * m, m);
}

static const arithmetic in_double = {.real = sizeof(double), .add_panel = add_panel};

/* One vector and cells in single precision: the time is that of reading the cells. */
static void add_panel_to_vector(const product *p, size_t panel, void *to, void *room) {
    const lth__lanes *lanes = p->ctx->engine->lanes[LTH_F64];
    size_t first = panel << p->A->shift, rows = lth__packed_rows(p->A, panel);
    const float *cells = p->A->singles + lth__packed_panel(p->A, panel);
    double *sum = to;
    for (size_t left = 0; left < first; left += WIDTH) {
        size_t cols = left + WIDTH < first ? WIDTH : first - left;
        lanes->add_symmetric(rows, cols, cells + left, lth__packed_stride(p->A, panel),
                             p->X + first, p->X + left, sum + first, sum + left);
    }
    mirror_square(p, panel, first, room);
    p->blas->gemm_nn(rows, 1, rows, 1, room, rows, p->X + first, 1, 1, sum + first, 1);
}

static const arithmetic of_vector = {.real = sizeof(double), .add_panel = add_panel_to_vector};

/* ---- In single precision ---- */

static const float *rough_tile_at(const product *p, size_t panel, size_t first, size_t cols,
                                  float *room, size_t *ld) {
    const lth__packed *A = p->A;
    size_t stride = lth__packed_stride(A, panel), at = lth__packed_panel(A, panel) + first;
    *ld = stride;
    if (A->singles) return A->singles + at;
    *ld = cols;
    for (size_t r = 0; r < lth__packed_rows(A, panel); r++) {
        const double *from = A->cells + at + r * stride;
        for (size_t c = 0; c < cols; c++) room[r * cols + c] = (float)from[c];
    }
    return room;
}

static void mirror_rough_square(const product *p, size_t panel, size_t first, float *room) {
    size_t rows = lth__packed_rows(p->A, panel), ld;
    const float *lower = rough_tile_at(p, panel, first, rows, room, &ld);
    for (size_t r = 0; r < rows; r++) {
        for (size_t c = 0; c <= r; c++) room[r * rows + c] = room[c * rows + r] = lower[r * ld + c];
    }
}

static void add_panel_roughly(const product *p, size_t panel, void *to, void *room) {
    size_t first = panel << p->A->shift, rows = lth__packed_rows(p->A, panel), m = p->m, ld;
    const float *X = p->rough_X;
    float *sum = to;
    for (size_t left = 0; left < first; left += p->tile_cols) {
        size_t cols = left + p->tile_cols < first ? p->tile_cols : first - left;
        const float *T = rough_tile_at(p, panel, left, cols, room, &ld);
        p->blas->gemm_nn_single(rows, m, cols, 1, T, ld, X + left * m, m, 1, sum + first * m, m);
        p->blas->gemm_tn_single(cols, m, rows, 1, T, ld, X + first * m, m, 1, sum + left * m, m);
    }
    mirror_rough_square(p, panel, first, room);
    p->blas->gemm_nn_single(rows, m, rows, 1, room, rows, X + first * m, m, 1, sum + first * m, m);
}

static const arithmetic in_single = {.real = sizeof(float), .add_panel = add_panel_roughly};

/* ---- Strands ---- */

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

static lth_status add_strand(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker;
    const product *p = user;
    size_t height = lth__packed_height(p->A), cells = height * p->tile_cols;
    size_t bytes = p->A->n * p->m * p->by->real;
    void *sum = (char *)p->sums + index * bytes;
    if (cells < height * height) cells = height * height;
    void *room = lth__alloc(cells, p->by->real);
    if (!room) return lth__fail_memory(err, cells * p->by->real);
    memset(sum, 0, bytes);
    lth_status status = LTH_OK;
    for (size_t panel = 0; panel < lth__packed_panels(p->A) && status == LTH_OK; panel++) {
        if (strand_of(p, panel) != index) continue;
        p->by->add_panel(p, panel, sum, room);
        status = lth__parallel_ask(p->ctx);
    }
    lth__free(room);
    return status;
}

static lth_status add_sums(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker, (void)err;
    const product *p = user;
    size_t cells = p->A->n * p->m, first = index * ROWS * p->m, last = first + ROWS * p->m;
    const double *sums = p->sums;
    const float *rough = p->sums;
    if (last > cells) last = cells;
    memset(p->Y + first, 0, (last - first) * sizeof *p->Y);
    for (size_t s = 0; s < p->strands; s++) {
        if (p->rough_X)
            for (size_t i = first; i < last; i++) p->Y[i] += rough[s * cells + i];
        else
            for (size_t i = first; i < last; i++) p->Y[i] += sums[s * cells + i];
    }
    return LTH_OK;
}

static lth_status run(product *p, lth_error *err) {
    const lth__packed *A = p->A;
    LTH_TRY(lth__blas_get(&p->blas, err));
    p->strands = count_strands(A, p->m);
    p->tile_cols = (TILE_BYTES / p->by->real) >> A->shift;
    p->sums = lth__alloc(p->strands * A->n * p->m, p->by->real);
    if (!p->sums) return lth__fail_memory(err, p->strands * A->n * p->m * p->by->real);
    lth_status status = lth__parallel_for(p->ctx, NULL, p->strands, NULL, add_strand, p, err);
    if (status == LTH_OK)
        status = lth__parallel_for(p->ctx, NULL, (A->n + ROWS - 1) / ROWS, NULL, add_sums, p, err);
    lth__free(p->sums);
    return status;
}

lth_status lth__packed_multiply(const lth__matrix *of, size_t m, const double *X, double *Y,
                                lth_error *err) {
    lth__packed A = lth__matrix_packed(of);
    const arithmetic *by = m == 1 && A.singles ? &of_vector : &in_double;
    product p = {.ctx = of->ctx, .A = &A, .by = by, .m = m, .X = X, .Y = Y};
    return A.n == 0 || m == 0 ? LTH_OK : run(&p, err);
}

lth_status lth__packed_multiply_roughly(const lth__matrix *of, size_t m, const double *X, double *Y,
                                        lth_error *err) {
    if (of->n == 0 || m < 2) return lth__packed_multiply(of, m, X, Y, err);
    lth__packed A = lth__matrix_packed(of);
    product p = {.ctx = of->ctx, .A = &A, .by = &in_single, .m = m, .X = X, .Y = Y};
    p.rough_X = lth__alloc(A.n * m, sizeof *p.rough_X);
    if (!p.rough_X) return lth__fail_memory(err, A.n * m * sizeof *p.rough_X);
    for (size_t i = 0; i < A.n * m; i++) p.rough_X[i] = (float)X[i];
    lth_status status = run(&p, err);
    lth__free(p.rough_X);
    return status;
}

/* ---- Columns ---- */

typedef struct columns {
    const lth__packed *A;
    size_t m;
    const size_t *at;
    double *Y;
} columns;

static double cell_at(const lth__packed *A, size_t i, size_t j) {
    size_t at = i < j ? lth__packed_row(A, j) + i : lth__packed_row(A, i) + j;
    return A->singles ? (double)A->singles[at] : A->cells[at];
}

static lth_status copy_rows(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker, (void)err;
    const columns *c = user;
    size_t first = index * ROWS, last = first + ROWS < c->A->n ? first + ROWS : c->A->n;
    for (size_t i = first; i < last; i++) {
        for (size_t j = 0; j < c->m; j++) c->Y[i * c->m + j] = cell_at(c->A, i, c->at[j]);
    }
    return LTH_OK;
}

lth_status lth__packed_columns(const lth__matrix *of, size_t m, const size_t *at, double *Y,
                               lth_error *err) {
    lth__packed A = lth__matrix_packed(of);
    columns c = {.A = &A, .m = m, .at = at, .Y = Y};
    return lth__parallel_for(of->ctx, NULL, (A.n + ROWS - 1) / ROWS, NULL, copy_rows, &c, err);
}
