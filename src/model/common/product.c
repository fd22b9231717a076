/* Each cell is read once and used twice, for its own place and for the one across the diagonal:
 * a tile T of rows I and columns J adds T X_J to Y_I and T^T X_I to Y_J. The second lies anywhere
 * in Y, so the panels are dealt out to a few strands, each with a sum of its own; these are added
 * along a tree. Threads share the columns of a strand too, in a few lanes: what lanes add to Y_J
 * lies apart, for Y_I each has a sum of its own. How many there are of both depends on the sizes
 * alone. Ranks have strands of their own, and of the matrix only their panels. */
#include "model/common/product.h"

#include <assert.h>
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "engine/blas.h"
#include "engine/cluster_sum.h"
#include "engine/engine.h"

enum { MOST_STRANDS = 16, MANY = 32768, TILE_BYTES = 1 << 18, ROWS = 256, WIDTH = 1024, SOME = 64 };
static_assert((int)MOST_STRANDS <= (int)LTH__MOST_LEAVES, "a strand is a leaf of a sum");

typedef struct product product;

/* Some columns of a panel: those from `from` to `to` that are left of its square, and the square if
 * `to` lies behind it. */
typedef struct strip {
    size_t panel, from, to;
    void *rows, *cols; /* sums (n x m) of Y_I and of Y_J */
    void *room;        /* for a tile or a square        */
} strip;

/* Arithmetic in one precision. */
typedef struct arithmetic {
    size_t real; /* bytes of a number */
    void (*add_strip)(const product *p, const strip *s);
    void (*add)(void *sum, const void *addend, size_t count);
} arithmetic;

struct product {
    lth_ctx *ctx;
    lth__cluster *c; /* that the matrix is dealt out to, or NULL */
    const lth__blas *blas;
    const lth__packed *A;
    const arithmetic *by;
    size_t m, strands, tile_cols;
    size_t lanes, lane; /* how many, and columns of each */
    size_t first, own;  /* this rank's strands */
    bool squared;       /* the cells are      */
    const double *X;
    float *rough_X; /* the same, in single precision */
    double *Y;
    void *sums; /* [own strand][n x m] */
    void *rows; /* [lane][n x m]: sums of Y_I, by row, which has one strand */
};

/* ---- In double precision ---- */

/* The cells of a panel from column `first` on as doubles: as they are, or in `room`. */
static const double *tile_at(const product *p, size_t panel, size_t first, size_t cols,
                             double *room, size_t *ld) {
    const lth__packed *A = p->A;
    size_t stride = lth__packed_stride(A, panel), at = lth__packed_panel(A, panel) + first;
    *ld = stride;
    if (!A->singles && !p->squared) return A->cells + at;
    *ld = cols;
    for (size_t r = 0; r < lth__packed_rows(A, panel); r++) {
        size_t from = at + r * stride;
        double *to = room + r * cols;
        if (A->singles) {
            for (size_t c = 0; c < cols; c++) to[c] = A->singles[from + c];
        } else {
            for (size_t c = 0; c < cols; c++) to[c] = A->cells[from + c] * A->cells[from + c];
        }
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

static size_t end_left(const strip *s, size_t first) {
    return s->to < first ? s->to : first;
}

static void add_strip(const product *p, const strip *s) {
    size_t panel = s->panel, first = panel << p->A->shift, m = p->m, ld;
    size_t rows = lth__packed_rows(p->A, panel), end = end_left(s, first);
    double *to = (double *)s->rows + first * m, *room = s->room;
    for (size_t left = s->from; left < end; left += p->tile_cols) {
        size_t cols = left + p->tile_cols < end ? p->tile_cols : end - left;
        const double *T = tile_at(p, panel, left, cols, room, &ld);
        p->blas->gemm_nn(rows, m, cols, 1, T, ld, p->X + left * m, m, 1, to, m);
        p->blas->gemm_tn(cols, m, rows, 1, T, ld, p->X + first * m, m, 1,
                         (double *)s->cols + left * m, m);
    }
    if (s->to <= first) return;
    mirror_square(p, panel, first, room);
    p->blas->gemm_nn(rows, m, rows, 1, room, rows, p->X + first * m, m, 1, to, m);
}

static void add_doubles(void *sum, const void *addend, size_t count) {
    for (size_t i = 0; i < count; i++) ((double *)sum)[i] += ((const double *)addend)[i];
}

static const arithmetic in_double = {
    .real = sizeof(double), .add_strip = add_strip, .add = add_doubles};

/* One vector and cells in single precision: the time is that of reading the cells. */
static void add_strip_to_vector(const product *p, const strip *s) {
    const lth__lanes *lanes = p->ctx->engine->lanes[LTH_F64];
    size_t panel = s->panel, first = panel << p->A->shift, end = end_left(s, first);
    size_t rows = lth__packed_rows(p->A, panel);
    const float *cells = p->A->singles + lth__packed_panel(p->A, panel);
    double *to = (double *)s->rows + first;
    for (size_t left = s->from; left < end; left += WIDTH) {
        size_t cols = left + WIDTH < end ? WIDTH : end - left;
        lanes->add_symmetric(rows, cols, cells + left, lth__packed_stride(p->A, panel),
                             p->X + first, p->X + left, to, (double *)s->cols + left);
    }
    if (s->to <= first) return;
    mirror_square(p, panel, first, s->room);
    p->blas->gemm_nn(rows, 1, rows, 1, s->room, rows, p->X + first, 1, 1, to, 1);
}

static const arithmetic of_vector = {
    .real = sizeof(double), .add_strip = add_strip_to_vector, .add = add_doubles};

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

static void add_strip_roughly(const product *p, const strip *s) {
    size_t panel = s->panel, first = panel << p->A->shift, m = p->m, ld;
    size_t rows = lth__packed_rows(p->A, panel), end = end_left(s, first);
    const float *X = p->rough_X;
    float *to = (float *)s->rows + first * m, *room = s->room;
    for (size_t left = s->from; left < end; left += p->tile_cols) {
        size_t cols = left + p->tile_cols < end ? p->tile_cols : end - left;
        const float *T = rough_tile_at(p, panel, left, cols, room, &ld);
        p->blas->gemm_nn_single(rows, m, cols, 1, T, ld, X + left * m, m, 1, to, m);
        p->blas->gemm_tn_single(cols, m, rows, 1, T, ld, X + first * m, m, 1,
                                (float *)s->cols + left * m, m);
    }
    if (s->to <= first) return;
    mirror_rough_square(p, panel, first, room);
    p->blas->gemm_nn_single(rows, m, rows, 1, room, rows, X + first * m, m, 1, to, m);
}

static void add_singles(void *sum, const void *addend, size_t count) {
    for (size_t i = 0; i < count; i++) ((float *)sum)[i] += ((const float *)addend)[i];
}

static const arithmetic in_single = {
    .real = sizeof(float), .add_strip = add_strip_roughly, .add = add_singles};

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

/* Number `row` of one of the sums. */
static void *sum_at(const product *p, void *sums, size_t which, size_t row) {
    return (char *)sums + (which * p->A->n + row) * p->m * p->by->real;
}

/* Cells of the largest tile or square: few where the matrix is small. */
static size_t most_cells(const product *p) {
    size_t n = p->A->n, rows = lth__packed_height(p->A), cols = p->tile_cols;
    if (rows > n) rows = n;
    if (cols > n) cols = n;
    return rows * (cols > rows ? cols : rows);
}

/* The columns of a lane, of all panels of a strand: the first lanes, which have most, come first.
 */
static lth_status add_lane(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker;
    const product *p = user;
    size_t lane = index / p->own, own = index % p->own, cells = most_cells(p);
    if (lane * p->lane >= p->A->n) return LTH_OK;
    strip s = {.from = lane * p->lane,
               .to = (lane + 1) * p->lane,
               .rows = sum_at(p, p->rows, lane, 0),
               .cols = sum_at(p, p->sums, own, 0),
               .room = lth__alloc(cells, p->by->real)};
    if (!s.room) return lth__fail_memory(err, cells * p->by->real);
    lth_status status = LTH_OK;
    for (s.panel = s.from >> p->A->shift; s.panel < lth__packed_panels(p->A) && status == LTH_OK;
         s.panel++) {
        if (strand_of(p->A, s.panel) != p->first + own) continue;
        p->by->add_strip(p, &s);
        status = lth__parallel_ask(p->ctx);
    }
    lth__free(s.room);
    return status;
}

/* What the lanes have of a panel's rows, to the sum of its strand. */
static lth_status fold_panel(void *user, size_t panel, unsigned worker, lth_error *err) {
    (void)worker, (void)err;
    const product *p = user;
    size_t first = panel << p->A->shift, count = lth__packed_rows(p->A, panel) * p->m;
    size_t strand = strand_of(p->A, panel);
    if (strand < p->first || strand >= p->first + p->own) return LTH_OK;
    for (size_t lane = 0; lane * p->lane <= first; lane++)
        p->by->add(sum_at(p, p->sums, strand - p->first, first), sum_at(p, p->rows, lane, first),
                   count);
    return LTH_OK;
}

static lth_status add_strands(product *p, lth_error *err) {
    LTH_TRY(lth__parallel_for(p->ctx, NULL, p->lanes * p->own, NULL, add_lane, p, err));
    return lth__parallel_for(p->ctx, NULL, lth__packed_panels(p->A), NULL, fold_panel, p, err);
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
    LTH_TRY(add_strands(p, err));
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
    lth_status status = add_strands(p, err);
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

/* Sums that nobody writes to take no memory. */
static lth_status make_room(product *p, lth_error *err) {
    size_t cells = p->A->n * p->m, height = lth__packed_height(p->A);
    p->lanes = p->A->n < MANY ? 4 : 16;
    p->lane = (p->A->n / p->lanes / height + 1) * height;
    p->sums = lth__calloc(p->own * cells, p->by->real);
    p->rows = lth__calloc(p->lanes * cells, p->by->real);
    return p->sums && p->rows ? LTH_OK
                              : lth__fail_memory(err, (p->own + p->lanes) * cells * p->by->real);
}

static lth_status run(product *p, lth_error *err) {
    LTH_TRY(lth__blas_get(&p->blas, err));
    p->strands = count_strands(p->A);
    find_own(p);
    p->tile_cols = (TILE_BYTES / p->by->real) >> p->A->shift;
    lth_status status = make_room(p, err);
    if (status == LTH_OK) status = (p->c ? add_own : add_all)(p, err);
    lth__free(p->sums);
    lth__free(p->rows);
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

lth_status lth__packed_multiply_squares(const lth__matrix *of, size_t m, const double *X, double *Y,
                                        lth_error *err) {
    lth__packed A = lth__matrix_packed(of);
    product p = {.ctx = of->ctx, .A = &A, .by = &in_double, .m = m, .X = X, .Y = Y};
    p.squared = true;
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
    const bool *own; /* whether a panel is this rank's; NULL = all are */
    size_t m;
    const size_t *at;
    double *Y;
} columns;

/* Of a panel that another rank has: 0. */
static double cell_at(const columns *c, size_t i, size_t j) {
    const lth__packed *A = c->A;
    size_t row = i < j ? j : i, at = lth__packed_row(A, row) + (i < j ? i : j);
    if (c->own && !c->own[row >> A->shift]) return 0;
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
    lth__cluster *ranks = ranks_of(of);
    size_t panels = lth__packed_panels(&A);
    bool *own = ranks ? lth__alloc(panels, sizeof *own) : NULL;
    columns c = {.A = &A, .own = own, .m = m, .at = at, .Y = Y};
    lth_status status = own || !ranks ? LTH_OK : lth__fail_memory(err, panels * sizeof *own);
    for (size_t p = 0; own && p < panels; p++) own[p] = lth__packed_owns(ranks, &A, p);
    if (status == LTH_OK)
        status =
            lth__parallel_for(of->ctx, NULL, (A.n + ROWS - 1) / ROWS, NULL, copy_rows, &c, err);
    lth__free(own);
    return lth__cluster_join(ranks, status, Y, A.n * m, err);
}
