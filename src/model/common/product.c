/* Each cell is read once and used twice, for its own place and for the one across the diagonal:
 * a tile T of rows I and columns J adds T X_J to Y_I and T^T X_I to Y_J. The second lies anywhere
 * in Y, so the panels are dealt out to a few strands, each with a sum of its own; these are added
 * along a tree. How many there are depends on the sizes alone. Ranks have strands of their own, and
 * of the matrix only their panels. */
#include "model/common/product.h"

#include <assert.h>
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "engine/blas.h"
#include "engine/cluster_sum.h"
#include "engine/engine.h"

enum { MOST_STRANDS = 16, TILE_BYTES = 1 << 18, ROWS = 256, WIDTH = 1024, SOME = 64 };
static_assert((int)MOST_STRANDS <= (int)LTH__MOST_LEAVES, "a strand is a leaf of a sum");

typedef struct product product;

/* Arithmetic in one precision: what a panel adds to the sum of its strand (n x m), with room for a
 * tile or a square. */
typedef struct arithmetic {
    size_t real; /* bytes of a number */
    void (*add_panel)(const product *p, size_t panel, void *sum, void *room);
} arithmetic;

struct product {
    lth_ctx *ctx;
    lth__cluster *c; /* that the matrix is dealt out to, or NULL */
    const lth__blas *blas;
    const lth__packed *A;
    const arithmetic *by;
    size_t m, strands, tile_cols;
    size_t first, own; /* this rank's strands */
    const double *X;
    float *rough_X; /* the same, in single precision */
    double *Y;
    void *sums; /* [own strand][n x m] */
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

/* By the panels alone, so that a panel belongs to one rank whatever it is multiplied with. */
static size_t count_strands(const lth__packed *A) {
    size_t most = (lth__packed_panels(A) + 1) / 2, count = 1;
    while (2 * count <= most && 2 * count <= MOST_STRANDS) count *= 2;
    return count;
}

/* To and fro, so that each strand gets as many long panels as short ones. */
static size_t strand_of(const lth__packed *A, size_t panel) {
    size_t strands = count_strands(A), at = panel % (2 * strands);
    return at < strands ? at : 2 * strands - 1 - at;
}

bool lth__packed_owns(const lth__cluster *c, const lth__packed *A, size_t panel) {
    return !c || lth__tree_owner(c, count_strands(A), strand_of(A, panel)) == c->at.rank;
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
        if (strand_of(p->A, panel) != p->first + index) continue;
        p->by->add_panel(p, panel, sum, room);
        status = lth__parallel_ask(p->ctx);
    }
    lth__free(room);
    return status;
}

/* Some numbers of a strand's sum. */
static void copy_sum(const product *p, size_t strand, size_t first, size_t count, double *out) {
    size_t at = strand * p->A->n * p->m + first;
    const double *sums = p->sums;
    const float *rough = p->sums;
    for (size_t i = 0; i < count; i++) out[i] = p->rough_X ? (double)rough[at + i] : sums[at + i];
}

/* ---- By one process ---- */

static void add_some(const product *p, size_t first, size_t count) {
    double sum[MOST_STRANDS][SOME];
    for (size_t s = 0; s < p->strands; s++) copy_sum(p, s, first, count, sum[s]);
    for (size_t step = 1; step < p->strands; step *= 2) {
        for (size_t s = 0; s < p->strands; s += 2 * step) {
            for (size_t i = 0; i < count; i++) sum[s][i] += sum[s + step][i];
        }
    }
    memcpy(p->Y + first, sum[0], count * sizeof *p->Y);
}

static lth_status add_sums(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker, (void)err;
    const product *p = user;
    size_t cells = p->A->n * p->m, first = index * ROWS * p->m, last = first + ROWS * p->m;
    if (last > cells) last = cells;
    for (size_t i = first; i < last; i += SOME) add_some(p, i, last - i < SOME ? last - i : SOME);
    return LTH_OK;
}

static lth_status add_all(product *p, lth_error *err) {
    LTH_TRY(lth__parallel_for(p->ctx, NULL, p->strands, NULL, add_strand, p, err));
    return lth__parallel_for(p->ctx, NULL, (p->A->n + ROWS - 1) / ROWS, NULL, add_sums, p, err);
}

/* ---- By several ranks ---- */

static lth_status hand_on_sums(const product *p, lth__tree *tree, lth_error *err) {
    for (size_t s = 0; s < p->own; s++) {
        double *leaf;
        LTH_TRY(lth__tree_leaf(tree, &leaf, err));
        copy_sum(p, s, 0, tree->count, leaf);
    }
    return LTH_OK;
}

static lth_status add_own(product *p, lth_error *err) {
    lth__tree tree;
    lth__tree_open(&tree, p->c, p->strands, p->A->n * p->m);
    lth_status status = lth__parallel_for(p->ctx, NULL, p->own, NULL, add_strand, p, err);
    if (status == LTH_OK) status = hand_on_sums(p, &tree, err);
    status = lth__tree_sum(&tree, status, p->Y, err);
    lth__tree_close(&tree);
    return status;
}

/* ---- All ---- */

static void find_own(product *p) {
    lth__tree tree;
    lth__tree_open(&tree, p->c, p->strands, 0);
    p->first = tree.next;
    p->own = tree.end - tree.next;
}

static lth_status run(product *p, lth_error *err) {
    const lth__packed *A = p->A;
    LTH_TRY(lth__blas_get(&p->blas, err));
    p->strands = count_strands(A);
    find_own(p);
    p->tile_cols = (TILE_BYTES / p->by->real) >> A->shift;
    p->sums = lth__alloc(p->own * A->n * p->m, p->by->real);
    if (!p->sums) return lth__fail_memory(err, p->own * A->n * p->m * p->by->real);
    lth_status status = (p->c ? add_own : add_all)(p, err);
    lth__free(p->sums);
    return status;
}

static lth__cluster *ranks_of(const lth__matrix *A) {
    return A->in_strands ? A->ctx->cluster : NULL;
}

lth_status lth__packed_multiply(const lth__matrix *of, size_t m, const double *X, double *Y,
                                lth_error *err) {
    lth__packed A = lth__matrix_packed(of);
    const arithmetic *by = m == 1 && A.singles ? &of_vector : &in_double;
    product p = {.ctx = of->ctx, .c = ranks_of(of), .A = &A, .by = by, .m = m, .X = X, .Y = Y};
    return A.n == 0 || m == 0 ? LTH_OK : run(&p, err);
}

lth_status lth__packed_multiply_roughly(const lth__matrix *of, size_t m, const double *X, double *Y,
                                        lth_error *err) {
    if (of->n == 0 || m < 2) return lth__packed_multiply(of, m, X, Y, err);
    lth__packed A = lth__matrix_packed(of);
    product p = {
        .ctx = of->ctx, .c = ranks_of(of), .A = &A, .by = &in_single, .m = m, .X = X, .Y = Y};
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
    const lth__cluster *c;
    size_t m;
    const size_t *at;
    double *Y;
} columns;

/* Of a panel that another rank has: 0. */
static double cell_at(const columns *c, size_t i, size_t j) {
    const lth__packed *A = c->A;
    size_t row = i < j ? j : i, at = lth__packed_row(A, row) + (i < j ? i : j);
    if (c->c && !lth__packed_owns(c->c, A, row >> A->shift)) return 0;
    return A->singles ? (double)A->singles[at] : A->cells[at];
}

static lth_status copy_rows(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker, (void)err;
    const columns *c = user;
    size_t first = index * ROWS, last = first + ROWS < c->A->n ? first + ROWS : c->A->n;
    for (size_t i = first; i < last; i++) {
        for (size_t j = 0; j < c->m; j++) c->Y[i * c->m + j] = cell_at(c, i, c->at[j]);
    }
    return LTH_OK;
}

lth_status lth__packed_columns(const lth__matrix *of, size_t m, const size_t *at, double *Y,
                               lth_error *err) {
    lth__packed A = lth__matrix_packed(of);
    columns c = {.A = &A, .c = ranks_of(of), .m = m, .at = at, .Y = Y};
    lth_status status =
        lth__parallel_for(of->ctx, NULL, (A.n + ROWS - 1) / ROWS, NULL, copy_rows, &c, err);
    return lth__cluster_join(ranks_of(of), status, Y, A.n * m, err);
}
