/* Matrices in host memory, packed, and what does not depend on the place. */
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "engine/blas.h"
#include "engine/cluster.h"
#include "kernel/core/store.h"
#include "model/common/linalg.h"
#include "model/common/matrix.h"
#include "model/common/product.h"

static lth_status reserve(lth__matrix *A, lth_error *err) {
    if (!A->cells) A->cells = lth__alloc(lth__packed_count(A->n), sizeof *A->cells);
    return A->cells ? LTH_OK : lth__fail_memory(err, lth__packed_bytes(A->n, sizeof *A->cells));
}

static void release(lth__matrix *A) {
    lth__free(A->cells);
}

static lth_status fetch(const lth__matrix *A, const lth__packed *out, lth_error *err) {
    (void)err;
    memcpy(out->cells, A->cells, lth__packed_count(A->n) * sizeof *A->cells);
    return LTH_OK;
}

/* ---- Row by row: threads share the panels ---- */

typedef struct row_job row_job;
struct row_job {
    lth__packed A;
    /* What is done with the cells 0 .. i of row i, and what it adds to the panel's sum. */
    double (*visit)(const row_job *j, size_t i, double *row);
    double by, plus;
    size_t m;
    const double *X, *v, *u, *g; /* cells of another matrix; vectors */
    double *sums;                /* of each panel, or NULL */
};

static lth_status visit_panel(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker, (void)err;
    const row_job *j = user;
    size_t first = index << j->A.shift, last = first + lth__packed_rows(&j->A, index);
    double sum = 0;
    for (size_t i = first; i < last; i++)
        sum += j->visit(j, i, j->A.cells + lth__packed_row(&j->A, i));
    if (j->sums) j->sums[index] = sum;
    return LTH_OK;
}

static lth_status visit_rows(const lth__matrix *A, row_job j, lth_error *err) {
    j.A = lth__matrix_packed(A);
    return lth__parallel_for(A->ctx, NULL, lth__packed_panels(&j.A), NULL, visit_panel, &j, err);
}

/* ---- Elementwise ---- */

static double fill_row(const row_job *j, size_t i, double *row) {
    for (size_t c = 0; c <= i; c++) row[c] = j->plus;
    return 0;
}

static lth_status fill(lth__matrix *A, double value, lth_error *err) {
    return visit_rows(A, (row_job){.visit = fill_row, .plus = value}, err);
}

static double affine_row(const row_job *j, size_t i, double *row) {
    for (size_t c = 0; c <= i; c++) row[c] = j->by * row[c] + j->plus;
    return 0;
}

static lth_status affine(lth__matrix *A, double by, double plus, lth_error *err) {
    return visit_rows(A, (row_job){.visit = affine_row, .by = by, .plus = plus}, err);
}

static lth_status add_diagonal(lth__matrix *A, double value, lth_error *err) {
    (void)err;
    lth__packed p = lth__matrix_packed(A);
    for (size_t i = 0; i < A->n; i++) p.cells[lth__packed_row(&p, i) + i] += value;
    return LTH_OK;
}

static double scale_row(const row_job *j, size_t i, double *row) {
    for (size_t c = 0; c <= i; c++) row[c] *= j->v[i] * j->v[c];
    return 0;
}

static lth_status scale(lth__matrix *A, const double *w, lth_error *err) {
    return visit_rows(A, (row_job){.visit = scale_row, .v = w}, err);
}

static double sandwich_row(const row_job *j, size_t i, double *row) {
    const double *from = j->X + lth__packed_row(&j->A, i);
    for (size_t c = 0; c <= i; c++) row[c] = j->v[i] * from[c] * j->v[c];
    row[i] += 1;
    return 0;
}

static lth_status sandwich(const lth__matrix *A, const double *w, lth__matrix *out,
                           lth_error *err) {
    LTH_TRY(reserve(out, err));
    return visit_rows(out, (row_job){.visit = sandwich_row, .X = A->cells, .v = w}, err);
}

/* ---- Sums ---- */

static lth_status diagonal(const lth__matrix *A, double *out, lth_error *err) {
    (void)err;
    lth__packed p = lth__matrix_packed(A);
    for (size_t i = 0; i < A->n; i++) out[i] = p.cells[lth__packed_row(&p, i) + i];
    return LTH_OK;
}

/* Below the diagonal each cell counts twice. */
static double inner_row(const row_job *j, size_t i, double *row) {
    const double *other = j->X + lth__packed_row(&j->A, i);
    double sum = 0;
    for (size_t c = 0; c < i; c++) sum += row[c] * (other[c] - j->plus);
    return 2 * sum + row[i] * (other[i] - j->plus);
}

static lth_status inner(const lth__matrix *A, const lth__matrix *B, double minus, double *out,
                        lth_error *err) {
    lth__packed p = lth__matrix_packed(A);
    size_t panels = lth__packed_panels(&p);
    double *sums = lth__alloc(panels, sizeof *sums), sum = 0;
    if (!sums) return lth__fail_memory(err, panels * sizeof *sums);
    lth_status status = visit_rows(
        A, (row_job){.visit = inner_row, .X = B->cells, .plus = minus, .sums = sums}, err);
    for (size_t i = 0; i < panels && status == LTH_OK; i++) sum += sums[i];
    lth__free(sums);
    if (status == LTH_OK) *out = sum;
    return status;
}

/* ---- Linear algebra ---- */

static lth_status factor(lth__matrix *A, double *log_determinant, lth_error *err) {
    lth__packed p = lth__matrix_packed(A);
    LTH_TRY(lth__packed_factor(A->ctx, &p, err));
    *log_determinant = lth__packed_log_determinant(&p);
    return LTH_OK;
}

static lth_status solve(const lth__matrix *L, size_t m, double *B, lth_error *err) {
    lth__packed p = lth__matrix_packed(L);
    return lth__packed_solve(&p, m, B, err);
}

static lth_status inverse_diagonal(const lth__matrix *L, double *out, lth_error *err) {
    lth__packed p = lth__matrix_packed(L);
    return lth__packed_inverse_diagonal(L->ctx, &p, out, err);
}

static lth_status invert(lth__matrix *L, lth_error *err) {
    lth__packed p = lth__matrix_packed(L);
    return lth__packed_invert(L->ctx, &p, err);
}

/* ---- Weights of pull-backs ---- */

static double weigh_row(const row_job *j, size_t i, double *row) {
    size_t m = j->m;
    for (size_t c = 0; c <= i; c++) row[c] *= -0.5 * (double)m;
    for (size_t k = 0; k < m; k++) {
        double half = 0.5 * j->v[i * m + k];
        for (size_t c = 0; c <= i; c++) row[c] += half * j->v[c * m + k];
    }
    return 0;
}

/* Where there are many columns, by products: of a panel and all that is to its left. */
typedef struct weigh_job {
    const lth__blas *blas;
    lth__packed X;
    size_t m;
    const double *A;
} weigh_job;

static lth_status weigh_panel(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker, (void)err;
    const weigh_job *j = user;
    size_t first = index << j->X.shift, m = j->m;
    j->blas->gemm_nt(lth__packed_rows(&j->X, index), lth__packed_cols(&j->X, index), m, 0.5,
                     j->A + first * m, m, j->A, m, -0.5 * (double)m,
                     j->X.cells + lth__packed_panel(&j->X, index),
                     lth__packed_stride(&j->X, index));
    return LTH_OK;
}

static lth_status weigh_many(lth__matrix *X, size_t m, const double *A, lth_error *err) {
    weigh_job j = {.X = lth__matrix_packed(X), .m = m, .A = A};
    LTH_TRY(lth__blas_get(&j.blas, err));
    return lth__parallel_for(X->ctx, NULL, lth__packed_panels(&j.X), NULL, weigh_panel, &j, err);
}

static lth_status weigh(lth__matrix *X, size_t m, const double *A, lth_error *err) {
    enum { MANY = 16 };
    if (m >= MANY) return weigh_many(X, m, A, err);
    return visit_rows(X, (row_job){.visit = weigh_row, .m = m, .v = A}, err);
}

static double add_weights_row(const row_job *j, size_t i, double *row) {
    const double *x = j->X + lth__packed_row(&j->A, i), *a = j->v, *u = j->u, *g = j->g;
    for (size_t c = 0; c <= i; c++)
        row[c] += 0.5 * (a[i] * a[c] - x[c] + u[i] * g[c] + g[i] * u[c]);
    return 0;
}

static lth_status add_weights(lth__matrix *M, const lth__matrix *X, const double *a,
                              const double *u, const double *g, lth_error *err) {
    return visit_rows(M, (row_job){.visit = add_weights_row, .X = X->cells, .v = a, .u = u, .g = g},
                      err);
}

static const lth__matrix_table on_host = {.reserve = reserve,
                                          .release = release,
                                          .fetch = fetch,
                                          .fill = fill,
                                          .affine = affine,
                                          .add_diagonal = add_diagonal,
                                          .scale = scale,
                                          .sandwich = sandwich,
                                          .diagonal = diagonal,
                                          .multiply = lth__packed_multiply,
                                          .multiply_squares = lth__packed_multiply_squares,
                                          .multiply_roughly = lth__packed_multiply_roughly,
                                          .columns = lth__packed_columns,
                                          .inner = inner,
                                          .factor = factor,
                                          .solve = solve,
                                          .inverse_diagonal = inverse_diagonal,
                                          .invert = invert,
                                          .weigh = weigh,
                                          .add_weights = add_weights};

/* ---- Anywhere ---- */

lth_status lth__matrix_columns(const lth__matrix *A, size_t m, const size_t *at, double *room,
                               double *Y, lth_error *err) {
    if (A->table->columns) return A->table->columns(A, m, at, Y, err);
    memset(room, 0, A->n * m * sizeof *room);
    for (size_t c = 0; c < m; c++) room[at[c] * m + c] = 1;
    return A->table->multiply(A, m, room, Y, err);
}

lth__matrix lth__matrix_beside(lth_ctx *ctx, const lth__gram *gram, size_t n) {
    lth__device_eval *device = lth__gram_device(gram);
    return (lth__matrix){
        .table = device ? &lth__matrix_on_device : &on_host, .ctx = ctx, .device = device, .n = n};
}

lth__matrix lth__matrix_shared_beside(lth_ctx *ctx, const lth__gram *gram, size_t n) {
    bool dealt = ctx->cluster && lth__cluster_deals(n);
    return dealt ? lth__matrix_dealt(ctx, n) : lth__matrix_beside(ctx, gram, n);
}

lth__matrix lth__matrix_on_host(lth_ctx *ctx, size_t n, double *cells) {
    return (lth__matrix){
        .table = &on_host, .ctx = ctx, .n = n, .cells = cells, .borrowed = cells != NULL};
}

lth__matrix lth__matrix_store(lth_ctx *ctx, size_t n, lth_precision precision) {
    return (lth__matrix){
        .table = precision == LTH_F32 ? &lth__matrix_in_single : &on_host, .ctx = ctx, .n = n};
}

lth__matrix lth__matrix_store_beside(lth_ctx *ctx, const lth__gram *gram, size_t n,
                                     lth_precision precision) {
    lth__matrix A = lth__matrix_beside(ctx, gram, n);
    if (ctx->cluster) return lth__matrix_in_strands(ctx, n, precision);
    if (!A.device) return lth__matrix_store(ctx, n, precision);
    if (precision == LTH_F32) A.table = &lth__matrix_on_device_in_single;
    return A;
}

size_t lth__matrix_store_bytes(size_t n, lth_precision precision) {
    return lth__packed_bytes(n, precision == LTH_F32 ? sizeof(float) : sizeof(double));
}

lth__packed lth__matrix_packed(const lth__matrix *A) {
    lth__packed p = lth__packed_layout(A->n);
    p.cells = A->cells;
    p.singles = A->singles;
    return p;
}

bool lth__matrix_is_single(const lth__matrix *A) {
    return A->singles || (A->items && A->items->stored->info.values == LTH_F32);
}

void lth__matrix_free(lth__matrix *A) {
    if ((A->cells || A->singles) && !A->borrowed) A->table->release(A);
    A->cells = NULL;
    A->singles = NULL;
}

lth_status lth__matrix_gram(lth__matrix *A, lth__gram *gram, lth_error *err) {
    LTH_TRY(A->table->reserve(A, err));
    if (A->items) return LTH_OK; /* it is there */
    if (A->in_strands) return lth__matrix_strands_gram(A, gram, err);
    if (A->tiles) return lth__matrix_dealt_gram(A, gram, err);
    lth__packed packed = lth__matrix_packed(A);
    if (A->device && A->singles) return lth__gram_values_single(gram, A->singles, err);
    return A->device ? lth__gram_values(gram, A->cells, A->n, err)
                     : lth__gram_values_packed(gram, &packed, err);
}

lth_status lth__matrix_pull(lth__matrix *W, lth__gram *gram, double *gradient, lth_error *err) {
    lth__packed packed = lth__matrix_packed(W);
    if (W->tiles) return lth__matrix_dealt_pull(W, gram, gradient, err);
    return W->device ? lth__gram_pull(gram, W->cells, W->n, gradient, err)
                     : lth__gram_pull_packed(gram, &packed, gradient, err);
}

lth_status lth__matrix_trace(const lth__matrix *A, double *out, lth_error *err) {
    double *cells = lth__alloc(A->n, sizeof *cells), sum = 0;
    if (!cells) return lth__fail_memory(err, A->n * sizeof *cells);
    lth_status status = A->table->diagonal(A, cells, err);
    for (size_t i = 0; i < A->n && status == LTH_OK; i++) sum += cells[i];
    if (status == LTH_OK) *out = sum;
    lth__free(cells);
    return status;
}

lth_status lth__matrix_take(lth__matrix *A, double **out, lth_error *err) {
    if (!A->device && !A->tiles) {
        *out = A->cells;
        A->cells = NULL;
        return LTH_OK;
    }
    lth__packed cells = lth__packed_layout(A->n);
    lth__cluster *cluster = A->tiles ? A->ctx->cluster : NULL;
    lth_status status = LTH_OK;
    if (!cluster || cluster->at.rank == 0) {
        cells.cells = lth__alloc(lth__packed_count(A->n), sizeof *cells.cells);
        if (!cells.cells)
            status = lth__fail_memory(err, lth__packed_bytes(A->n, sizeof *cells.cells));
    }
    if (cluster) status = lth__cluster_agree(cluster, status, err);
    if (status == LTH_OK) status = A->table->fetch(A, &cells, err);
    if (status != LTH_OK) {
        lth__free(cells.cells);
        return status;
    }
    lth__matrix_free(A);
    *out = cells.cells;
    return LTH_OK;
}
