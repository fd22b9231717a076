#include "model/common/linalg.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"

/* A block is a square of a panel's height. A block of the diagonal is inverted once; all that is to
 * be solved with it is then multiplied, and nearly all of the work is products of matrices, which
 * BLAS does best. */

/* From column `col` of a panel on. */
static double *part(const lth__packed *A, size_t panel, size_t col) {
    return A->cells + lth__packed_panel(A, panel) + col;
}

static size_t first_row(const lth__packed *A, size_t panel) {
    return panel << A->shift;
}

static double *square(const lth__packed *A, size_t panel) {
    return part(A, panel, first_row(A, panel));
}

static double *make_blocks(const lth__packed *A, size_t count, lth_error *err) {
    double *blocks = lth__alloc(count << A->shift, lth__packed_height(A) * sizeof *blocks);
    if (!blocks) lth__fail_memory(err, (count << (2 * A->shift)) * sizeof *blocks);
    return blocks;
}

/* X (a block) = the inverse of L's square in a panel. */
static void invert_square(const lth__blas *blas, const lth__packed *L, size_t panel, double *X) {
    size_t n = lth__packed_rows(L, panel), height = lth__packed_height(L);
    for (size_t r = 0; r < n; r++) {
        memset(X + r * height, 0, n * sizeof *X);
        X[r * height + r] = 1;
    }
    blas->solve(n, n, square(L, panel), lth__packed_stride(L, panel), X, height);
}

static void copy_rows(size_t rows, size_t cols, const double *from, size_t from_ld, double *to,
                      size_t to_ld) {
    for (size_t r = 0; r < rows; r++) memcpy(to + r * to_ld, from + r * from_ld, cols * sizeof *to);
}

/* ---- Cholesky: blocks of columns from left to right, each in blocks of rows ---- */

typedef struct factoring {
    const lth__blas *blas;
    const lth__packed *A;
    size_t panel;       /* whose block of columns is at hand */
    double *inverse[2]; /* of the square of these columns, and of the next */
    bool definite;
} factoring;

/* The rows of a panel in the block of columns of another, less what the columns to the left
 * explain. */
static void update(const factoring *f, size_t panel, size_t column) {
    const lth__packed *A = f->A;
    size_t first = first_row(A, column), ld = lth__packed_stride(A, panel);
    if (first == 0) return;
    f->blas->gemm_nt(lth__packed_rows(A, panel), lth__packed_rows(A, column), first, -1,
                     part(A, panel, 0), ld, part(A, column, 0), lth__packed_stride(A, column), 1,
                     part(A, panel, first), ld);
}

/* A square of the diagonal, once the rows to its left are there. */
static void factor_square(factoring *f, size_t panel, double *inverse) {
    size_t size = lth__packed_rows(f->A, panel), ld = lth__packed_stride(f->A, panel);
    double *A = square(f->A, panel);
    update(f, panel, panel);
    /* Not every LAPACK notices a NaN; it reaches all pivots from its own on. */
    f->definite = f->blas->cholesky(size, A, ld) && !isnan(A[(size - 1) * ld + size - 1]);
    for (size_t r = 0; r < size; r++) memset(A + r * ld + r + 1, 0, (size - 1 - r) * sizeof *A);
    if (f->definite) invert_square(f->blas, f->A, panel, inverse);
}

/* A panel below the square. The first of them completes the rows that the next square depends on,
 * so it does that as well, while the others are at work. */
static lth_status factor_panel(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker;
    factoring *f = user;
    size_t panel = f->panel + 1 + index, rows = lth__packed_rows(f->A, panel);
    size_t height = lth__packed_height(f->A), ld = lth__packed_stride(f->A, panel);
    double *A = part(f->A, panel, first_row(f->A, f->panel)), *copy = make_blocks(f->A, 1, err);
    if (!copy) return LTH_ENOMEM;
    update(f, panel, f->panel);
    copy_rows(rows, height, A, ld, copy, height);
    f->blas->gemm_nt(rows, height, height, 1, copy, height, f->inverse[0], height, 0, A, ld);
    lth__free(copy);
    if (index == 0) factor_square(f, panel, f->inverse[1]);
    return LTH_OK;
}

lth_status lth__packed_factor(lth_ctx *ctx, const lth__packed *A, lth_error *err) {
    if (A->n == 0) return LTH_OK;
    factoring f = {.A = A};
    LTH_TRY(lth__blas_get(&f.blas, err));
    double *room = make_blocks(A, 2, err);
    if (!room) return LTH_ENOMEM;
    f.inverse[0] = room;
    f.inverse[1] = room + ((size_t)1 << (2 * A->shift));
    factor_square(&f, 0, f.inverse[0]);
    lth_status status = LTH_OK;
    size_t panels = lth__packed_panels(A);
    for (f.panel = 0; f.panel + 1 < panels && f.definite && status == LTH_OK; f.panel++) {
        status = lth__parallel_for(ctx, NULL, panels - f.panel - 1, NULL, factor_panel, &f, err);
        double *done = f.inverse[0];
        f.inverse[0] = f.inverse[1];
        f.inverse[1] = done;
    }
    lth__free(room);
    return status == LTH_OK && !f.definite ? LTH_ENUMERIC : status;
}

double lth__packed_log_determinant(const lth__packed *L) {
    double sum = 0;
    for (size_t i = 0; i < L->n; i++) sum += log(L->cells[lth__packed_row(L, i) + i]);
    return 2 * sum;
}

/* ---- Solving ---- */

lth_status lth__packed_solve(const lth__packed *L, size_t m, double *B, lth_error *err) {
    const lth__blas *blas;
    LTH_TRY(lth__blas_get(&blas, err));
    if (m == 0) return LTH_OK; /* BLAS would complain, on standard error */
    for (size_t p = 0; p < lth__packed_panels(L); p++) {
        size_t first = first_row(L, p), rows = lth__packed_rows(L, p);
        size_t ld = lth__packed_stride(L, p);
        double *at = B + first * m;
        if (first > 0) blas->gemm_nn(rows, m, first, -1, part(L, p, 0), ld, B, m, 1, at, m);
        blas->solve(rows, m, square(L, p), ld, at, m);
    }
    for (size_t p = lth__packed_panels(L); p-- > 0;) {
        size_t first = first_row(L, p), rows = lth__packed_rows(L, p);
        size_t ld = lth__packed_stride(L, p);
        double *at = B + first * m;
        blas->solve_transposed(rows, m, square(L, p), ld, at, m);
        if (first > 0) blas->gemm_tn(first, m, rows, -1, part(L, p, 0), ld, at, m, 1, B, m);
    }
    return LTH_OK;
}

void lth__packed_solve_right(const lth__blas *blas, const lth__packed *L, size_t m, double *B) {
    size_t n = L->n;
    for (size_t p = 0; p < lth__packed_panels(L); p++) {
        size_t first = first_row(L, p), rows = lth__packed_rows(L, p);
        size_t ld = lth__packed_stride(L, p);
        if (first > 0) blas->gemm_nt(m, rows, first, -1, B, n, part(L, p, 0), ld, 1, B + first, n);
        blas->solve_right(m, rows, square(L, p), ld, B + first, n);
    }
}

/* ---- Inverse in place: M = L^-1 from the last block of columns to the first, then M^T M from the
 *      first panels to the last ---- */

/* Panels of M^T M that are made at once: where there are few, one would not do for many threads. */
static size_t panels_together(const lth__packed *L) {
    enum { FEW = 32, ROWS = 256 };
    size_t panels = lth__packed_panels(L), count = ROWS >> L->shift;
    return panels >= FEW ? 1 : panels < count ? panels : count;
}

typedef struct inverting {
    const lth__blas *blas;
    const lth__packed *L;
    size_t panel, count; /* whose columns, or rows, are at hand                              */
    double *room;        /* n x height: the block of columns as it was, each row in its place;
                            or the blocks of M^T M, [panel][column]                         */
    double *inverse;     /* a block: of L's square                                          */
} inverting;

/* Panels from the last, which has most to do. */
static size_t panel_of(const inverting *j, size_t index) {
    return lth__packed_panels(j->L) - 1 - index;
}

static lth_status copy_column(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker, (void)err;
    const inverting *j = user;
    const lth__packed *L = j->L;
    size_t panel = panel_of(j, index), height = lth__packed_height(L);
    copy_rows(lth__packed_rows(L, panel), height, part(L, panel, first_row(L, j->panel)),
              lth__packed_stride(L, panel), j->room + first_row(L, panel) * height, height);
    return LTH_OK;
}

/* M_ij = -(sum over k of M_ik L_kj) L_jj^-1, where M_ik is already there for all k > j. */
static lth_status invert_panel(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker;
    const inverting *j = user;
    const lth__packed *L = j->L;
    size_t panel = panel_of(j, index), rows = lth__packed_rows(L, panel);
    size_t height = lth__packed_height(L), ld = lth__packed_stride(L, panel);
    size_t first = first_row(L, j->panel), next = first + height;
    double *sum = make_blocks(L, 1, err);
    if (!sum) return LTH_ENOMEM;
    j->blas->gemm_nn(rows, height, lth__packed_cols(L, panel) - next, 1, part(L, panel, next), ld,
                     j->room + next * height, height, 0, sum, height);
    j->blas->gemm_nn(rows, height, height, -1, sum, height, j->inverse, height, 0,
                     part(L, panel, first), ld);
    lth__free(sum);
    return LTH_OK;
}

static lth_status invert_column(lth_ctx *ctx, inverting *j, lth_error *err) {
    const lth__packed *L = j->L;
    size_t below = lth__packed_panels(L) - 1 - j->panel, rows = lth__packed_rows(L, j->panel);
    invert_square(j->blas, L, j->panel, j->inverse);
    LTH_TRY(lth__parallel_for(ctx, NULL, below, NULL, copy_column, j, err));
    LTH_TRY(lth__parallel_for(ctx, NULL, below, NULL, invert_panel, j, err));
    copy_rows(rows, rows, j->inverse, lth__packed_height(L), square(L, j->panel),
              lth__packed_stride(L, j->panel));
    return LTH_OK;
}

static double *block_of(const inverting *j, size_t panel, size_t column) {
    size_t index = (panel - j->panel) * lth__packed_panels(j->L) + column;
    return j->room + (index << (2 * j->L->shift));
}

/* The jobs of some panels: all blocks of the first, then of the second, and so on. */
static void find_block(const inverting *j, size_t index, size_t *panel, size_t *column) {
    *panel = j->panel;
    while (index > *panel) index -= ++*panel;
    *column = index;
}

/* X_ij = sum over k >= i of M_ki^T M_kj. All of M is still there. */
static lth_status multiply_block(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker, (void)err;
    const inverting *j = user;
    const lth__packed *M = j->L;
    size_t panel, column, height = lth__packed_height(M);
    find_block(j, index, &panel, &column);
    for (size_t k = panel; k < lth__packed_panels(M); k++) {
        size_t ld = lth__packed_stride(M, k);
        j->blas->gemm_tn(lth__packed_rows(M, panel), lth__packed_rows(M, column),
                         lth__packed_rows(M, k), 1, part(M, k, first_row(M, panel)), ld,
                         part(M, k, first_row(M, column)), ld, k > panel,
                         block_of(j, panel, column), height);
    }
    return LTH_OK;
}

static lth_status place_block(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker, (void)err;
    const inverting *j = user;
    size_t panel, column;
    find_block(j, index, &panel, &column);
    copy_rows(lth__packed_rows(j->L, panel), lth__packed_rows(j->L, column),
              block_of(j, panel, column), lth__packed_height(j->L),
              part(j->L, panel, first_row(j->L, column)), lth__packed_stride(j->L, panel));
    return LTH_OK;
}

static lth_status multiply_panels(lth_ctx *ctx, inverting *j, lth_error *err) {
    size_t blocks = j->count * (j->panel + 1) + j->count * (j->count - 1) / 2;
    LTH_TRY(lth__parallel_for(ctx, NULL, blocks, NULL, multiply_block, j, err));
    return lth__parallel_for(ctx, NULL, blocks, NULL, place_block, j, err);
}

lth_status lth__packed_invert(lth_ctx *ctx, const lth__packed *L, lth_error *err) {
    inverting j = {.L = L};
    size_t panels = lth__packed_panels(L), most = panels_together(L);
    LTH_TRY(lth__blas_get(&j.blas, err));
    j.room = make_blocks(L, most * panels + 1, err);
    if (!j.room) return LTH_ENOMEM;
    j.inverse = j.room + ((most * panels) << (2 * L->shift));
    lth_status status = LTH_OK;
    for (j.panel = panels; j.panel-- > 0 && status == LTH_OK;) status = invert_column(ctx, &j, err);
    for (j.panel = 0; j.panel < panels && status == LTH_OK; j.panel += most) {
        j.count = panels - j.panel < most ? panels - j.panel : most;
        status = multiply_panels(ctx, &j, err);
    }
    lth__free(j.room);
    return status;
}

/* ---- The diagonal of the inverse: the squares of M's columns ---- */

typedef struct measuring {
    const lth__blas *blas;
    const lth__packed *L;
    double *inverse; /* of each square, a block for each panel */
    double *out;
} measuring;

static lth_status measure_square(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker, (void)err;
    const measuring *j = user;
    invert_square(j->blas, j->L, index, j->inverse + (index << (2 * j->L->shift)));
    return LTH_OK;
}

/* One block of columns of M from the diagonal down: M_ij = -L_ii^-1 sum over k < i of L_ik M_kj.
 * The last block of `M` is room for the sum. */
static void fill_column(const measuring *j, size_t column, double *M) {
    const lth__packed *L = j->L;
    size_t height = lth__packed_height(L), cells = height * height, first = first_row(L, column);
    size_t cols = lth__packed_rows(L, column), panels = lth__packed_panels(L);
    double *sum = M + (panels - column) * cells;
    copy_rows(cols, cols, j->inverse + column * cells, height, M, height);
    for (size_t i = column + 1; i < panels; i++) {
        size_t rows = lth__packed_rows(L, i);
        j->blas->gemm_nn(rows, cols, first_row(L, i) - first, 1, part(L, i, first),
                         lth__packed_stride(L, i), M, height, 0, sum, height);
        j->blas->gemm_nn(rows, cols, rows, -1, j->inverse + i * cells, height, sum, height, 0,
                         M + (i - column) * cells, height);
    }
}

static lth_status measure_column(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker;
    const measuring *j = user;
    const lth__packed *L = j->L;
    size_t height = lth__packed_height(L), first = first_row(L, index);
    size_t cols = lth__packed_rows(L, index);
    double *M = make_blocks(L, lth__packed_panels(L) - index + 1, err), *out = j->out + first;
    if (!M) return LTH_ENOMEM;
    fill_column(j, index, M);
    memset(out, 0, cols * sizeof *out);
    for (size_t r = 0; r < L->n - first; r++) {
        for (size_t c = 0; c < cols; c++) out[c] += M[r * height + c] * M[r * height + c];
    }
    lth__free(M);
    return LTH_OK;
}

lth_status lth__packed_inverse_diagonal(lth_ctx *ctx, const lth__packed *L, double *out,
                                        lth_error *err) {
    measuring j = {.L = L, .out = out};
    size_t panels = lth__packed_panels(L);
    LTH_TRY(lth__blas_get(&j.blas, err));
    j.inverse = make_blocks(L, panels, err);
    if (!j.inverse) return LTH_ENOMEM;
    lth_status status = lth__parallel_for(ctx, NULL, panels, NULL, measure_square, &j, err);
    if (status == LTH_OK)
        status = lth__parallel_for(ctx, NULL, panels, NULL, measure_column, &j, err);
    lth__free(j.inverse);
    return status;
}

/* ---- Whole matrices ---- */

static lth__packed lower_half(size_t n, double *A) {
    lth__packed p = lth__packed_layout(n);
    p.ld = n;
    p.cells = A;
    return p;
}

lth_status lth__cholesky(lth_ctx *ctx, size_t n, double *A, lth_error *err) {
    lth__packed p = lower_half(n, A);
    return lth__packed_factor(ctx, &p, err);
}

double lth__cholesky_log_determinant(size_t n, const double *L) {
    lth__packed p = lower_half(n, (double *)L);
    return lth__packed_log_determinant(&p);
}

lth_status lth__cholesky_solve(lth_ctx *ctx, size_t n, const double *L, size_t m, double *B,
                               lth_error *err) {
    (void)ctx;
    lth__packed p = lower_half(n, (double *)L);
    return lth__packed_solve(&p, m, B, err);
}

lth_status lth__cholesky_inverse(lth_ctx *ctx, size_t n, const double *L, double *X,
                                 lth_error *err) {
    lth__packed p = lower_half(n, X);
    for (size_t i = 0; i < n; i++) {
        memcpy(X + i * n, L + i * n, (i + 1) * sizeof *X);
        memset(X + i * n + i + 1, 0, (n - 1 - i) * sizeof *X);
    }
    LTH_TRY(lth__packed_invert(ctx, &p, err));
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < i; j++) X[j * n + i] = X[i * n + j];
    }
    return LTH_OK;
}
