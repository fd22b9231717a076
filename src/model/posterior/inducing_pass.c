/* Passes over all rows in slices: a_n of each, and sums over them. How rows are cut depends on M
 * alone, and a sum's cells are shared among threads, not its rows: any number gives the same bits.
 */
#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "engine/cluster_sum.h"
#include "model/common/linalg.h"
#include "model/posterior/inducing.h"

/* ---- Slices ---- */

size_t lth__inducing_rows(size_t m) {
    enum { CELLS = 1 << 23, LEAST = 512, MOST = 8192 };
    size_t rows = CELLS / m;
    return rows < LEAST ? LEAST : rows > MOST ? MOST : rows;
}

/* A quarter of what is free may go to what is needed again; going without is no error. */
static void reserve_kept(const lth_gp *gp, lth__inducing_state *s) {
    bool small = gp->how.store == LTH_F32;
    size_t cells = gp->rows * s->m, size = small ? sizeof *s->small : sizeof *s->A;
    size_t ranks = gp->ctx.cluster ? gp->ctx.cluster->at.size : 1; /* that fill a part each */
    if (s->A || s->small || cells / ranks > lth__memory_available() / 4 / size) return;
    if (small)
        s->small = lth__alloc(cells, size);
    else
        s->A = lth__alloc(cells, size);
}

static lth_status compute(const lth__inducing_state *s, const lth_items *items, size_t first,
                          double *A, lth_error *err) {
    size_t rows = items->count;
    double *d = s->d + first, *self = s->self + first;
    LTH_TRY(lth__basis_covariances(s->basis, items, A, self, err));
    LTH_TRY(lth__basis_whiten(s->basis, lth__items_ctx(items), rows, A, d, err));
    for (size_t r = 0; r < rows; r++) d[r] = self[r] > d[r] ? self[r] - d[r] : 0;
    return LTH_OK;
}

/* A of a slice: computed, or as it was kept; where half of it is kept, that is what counts. */
static lth_status find(const lth__inducing_state *s, const lth_items *items, size_t first,
                       double *room, const double **out, lth_error *err) {
    size_t cells = items->count * s->m;
    double *A = s->A ? s->A + first * s->m : room;
    float *small = s->small ? s->small + first * s->m : NULL;
    *out = A;
    if (!s->is_kept || (!s->A && !small)) LTH_TRY(compute(s, items, first, A, err));
    for (size_t i = 0; small && !s->is_kept && i < cells; i++) small[i] = (float)A[i];
    for (size_t i = 0; small && i < cells; i++) A[i] = small[i];
    return LTH_OK;
}

typedef struct walk {
    lth_gp *gp;
    lth__slice_fn *take;
    void *user;
    double *room;
    size_t most, slices; /* rows of a slice; how many there are */
} walk;

/* Ranks want enough slices to share. */
static size_t rows_for_ranks(size_t rows, size_t most) {
    enum { LEAST = 512 };
    size_t wanted = (rows / LTH__MOST_LEAVES + LEAST - 1) / LEAST * LEAST;
    if (wanted < LEAST) wanted = LEAST;
    return wanted < most ? wanted : most;
}

static walk walk_of(lth_gp *gp) {
    const lth__inducing_state *s = gp->solution;
    size_t most = lth__inducing_rows(s->m);
    if (gp->ctx.cluster) most = rows_for_ranks(gp->rows, most);
    return (walk){.gp = gp, .most = most, .slices = (gp->rows + most - 1) / most};
}

static lth_status take_slice(const walk *w, size_t index, double *total, lth_error *err) {
    lth_gp *gp = w->gp;
    lth__inducing_state *s = gp->solution;
    lth_items *items = NULL;
    size_t first = index * w->most, left = gp->rows - first, rows = left < w->most ? left : w->most;
    LTH_TRY(lth__items_slice(gp->items, first, rows, &items, err));
    lth__slice slice = {
        .first = first, .rows = rows, .items = items, .d = s->d + first, .self = s->self + first};
    lth_status status = find(s, items, first, w->room, &slice.A, err);
    if (status == LTH_OK) status = w->take(w->user, &slice, total, err);
    lth_items_free(items);
    LTH_TRY(status);
    return lth__tell(&gp->ctx, "all rows", (double)(first + rows), (double)gp->rows, err);
}

static lth_status take_all(const walk *w, double *total, size_t count, lth_error *err) {
    memset(total, 0, count * sizeof *total);
    for (size_t i = 0; i < w->slices; i++) LTH_TRY(take_slice(w, i, total, err));
    return LTH_OK;
}

/* ---- Among ranks: neighbouring slices are a leaf of a sum ---- */

static bool is_own(const lth__cluster *c, const walk *w, size_t slice) {
    size_t leaves = lth__tree_leaves(w->slices), leaf = lth__tree_leaf_of(w->slices, slice);
    return lth__tree_owner(c, leaves, leaf) == c->at.rank;
}

static lth_status take_own(const walk *w, lth__tree *tree, lth_error *err) {
    double *total = NULL;
    size_t leaf, before = LTH_NONE;
    for (size_t i = 0; i < w->slices; i++) {
        if (!is_own(tree->c, w, i)) continue;
        leaf = lth__tree_leaf_of(w->slices, i);
        if (leaf != before) LTH_TRY(lth__tree_leaf(tree, &total, err));
        before = leaf;
        LTH_TRY(take_slice(w, i, total, err));
    }
    return LTH_OK;
}

static lth_status share(const walk *w, lth__cluster *c, double *total, size_t count,
                        lth_error *err) {
    lth__tree tree;
    lth__tree_open(&tree, c, lth__tree_leaves(w->slices), count);
    lth_status status = take_own(w, &tree, err);
    status = lth__tree_sum(&tree, status, total, err);
    lth__tree_close(&tree);
    return status;
}

lth_status lth__inducing_join(const lth_gp *gp, double *of_rows, lth_error *err) {
    walk w = walk_of((lth_gp *)gp);
    lth__cluster *c = gp->ctx.cluster;
    for (size_t i = 0; c && i < w.slices; i++) {
        size_t first = i * w.most, left = gp->rows - first, rows = left < w.most ? left : w.most;
        if (!is_own(c, &w, i)) memset(of_rows + first, 0, rows * sizeof *of_rows);
    }
    return lth__cluster_join(c, LTH_OK, of_rows, gp->rows, err);
}

static lth_status join_variances(const lth_gp *gp, lth_error *err) {
    const lth__inducing_state *s = gp->solution;
    LTH_TRY(lth__inducing_join(gp, s->d, err));
    return lth__inducing_join(gp, s->self, err);
}

lth_status lth__inducing_pass(lth_gp *gp, bool again, lth__slice_fn *take, void *user,
                              double *total, size_t count, lth_error *err) {
    lth__inducing_state *s = gp->solution;
    lth__cluster *c = gp->ctx.cluster;
    walk w = walk_of(gp);
    size_t cells = (w.most < gp->rows ? w.most : gp->rows) * s->m;
    w.take = take;
    w.user = user;
    if (again && !s->is_kept) reserve_kept(gp, s);
    if (!s->A) w.room = lth__alloc(cells, sizeof *w.room);
    lth_status status = s->A || w.room ? LTH_OK : lth__fail_memory(err, cells * sizeof *w.room);
    status = lth__cluster_agree(c, status, err);
    if (status == LTH_OK)
        status = c ? share(&w, c, total, count, err) : take_all(&w, total, count, err);
    lth__free(w.room);
    if (status == LTH_OK && c && !s->is_kept) status = join_variances(gp, err);
    if (status == LTH_OK) s->is_kept = true;
    return status;
}

/* ---- Sums ---- */

enum { BLOCK = 128, ROWS = 128 };

typedef struct adding {
    const lth__inducing_sum *sum;
    const lth__slice *s;
    const lth__blas *blas;
    const double *w, *V;
} adding;

static lth_status weigh_rows(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker, (void)err;
    const adding *j = user;
    size_t m = j->sum->m, first = index * ROWS;
    size_t last = first + ROWS < j->s->rows ? first + ROWS : j->s->rows;
    for (size_t r = first; r < last; r++) {
        for (size_t k = 0; k < m; k++) j->sum->room[r * m + k] = j->w[r] * j->s->A[r * m + k];
    }
    return LTH_OK;
}

/* Block `index` of the lower triangle of S, or past these a block of R. */
static lth_status add_block(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker, (void)err;
    const adding *j = user;
    size_t m = j->sum->m, t = j->sum->t, rows = j->s->rows, blocks = (m + BLOCK - 1) / BLOCK;
    size_t row = 0;
    while (row < blocks && index > row) index -= ++row; /* row i has i + 1 blocks */
    size_t i = (row < blocks ? row : index) * BLOCK, height = m - i < BLOCK ? m - i : BLOCK;
    if (row == blocks) {
        j->blas->gemm_tn(height, t, rows, 1, j->s->A + i, m, j->V, t, 1, j->sum->R + i * t, t);
        return LTH_OK;
    }
    size_t k = index * BLOCK, width = m - k < BLOCK ? m - k : BLOCK;
    const double *weighted = j->w ? j->sum->room : j->s->A;
    j->blas->gemm_tn(height, width, rows, 1, j->s->A + i, m, weighted + k, m, 1,
                     j->sum->S + i * m + k, m);
    return LTH_OK;
}

lth_status lth__inducing_add(const lth_gp *gp, const lth__inducing_sum *sum, const lth__slice *s,
                             const double *w, const double *V, lth_error *err) {
    lth_ctx *ctx = gp->kernel->ctx;
    size_t blocks = (sum->m + BLOCK - 1) / BLOCK, jobs = blocks * (blocks + 1) / 2;
    adding j = {.sum = sum, .s = s, .w = w, .V = V};
    LTH_TRY(lth__blas_get(&j.blas, err));
    if (w)
        LTH_TRY(
            lth__parallel_for(ctx, NULL, (s->rows + ROWS - 1) / ROWS, NULL, weigh_rows, &j, err));
    return lth__parallel_for(ctx, NULL, jobs + (V ? blocks : 0), NULL, add_block, &j, err);
}

/* ---- B ---- */

lth_status lth__inducing_solve(const lth_gp *gp, size_t i, double by, const double *S,
                               const double *R, size_t first, size_t t, double *log_determinant,
                               lth_error *err) {
    lth__inducing_state *s = gp->solution;
    size_t m = s->m;
    double *B = s->LB + i * m * m, *b = lth__alloc(m * t, sizeof *b);
    if (!b) return lth__fail_memory(err, m * t * sizeof *b);
    for (size_t r = 0; r < m; r++) {
        for (size_t c = 0; c < m; c++) B[r * m + c] = c <= r ? by * S[r * m + c] : 0;
        B[r * m + r] += 1;
    }
    memcpy(b, R, m * t * sizeof *b);
    lth_status status = lth__cholesky(gp->kernel->ctx, m, B, err);
    if (status == LTH_OK) status = lth__cholesky_solve(gp->kernel->ctx, m, B, t, b, err);
    for (size_t r = 0; r < m; r++) { /* diagonal blocks may have something above the diagonal */
        memset(B + r * m + r + 1, 0, (m - r - 1) * sizeof *B);
        for (size_t k = 0; k < t; k++) s->b[r * s->latents + first + k] = b[r * t + k];
    }
    lth__free(b);
    LTH_TRY(status);
    *log_determinant = lth__cholesky_log_determinant(m, B);
    return isfinite(*log_determinant) ? LTH_OK : LTH_ENUMERIC;
}
