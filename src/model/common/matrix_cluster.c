/* Matrices that are dealt out to the ranks of a cluster, in tiles. What is done cell by cell is
 * done by each rank to its own; sums are made of numbers that were joined, in the order of tiles.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "model/common/cluster_tiles.h"
#include "model/common/matrix.h"

static lth_status reserve(lth__matrix *A, lth_error *err) {
    if (!A->tiles) LTH_TRY(lth__tiles_new(A->ctx, A->n, &A->tiles, err));
    lth__tiles_changed(A->tiles);
    A->cells = A->tiles->cells;
    return LTH_OK;
}

static void release(lth__matrix *A) {
    lth__tiles_free(A->tiles);
    A->tiles = NULL;
}

/* ---- The way home: tile by tile to rank 0 ---- */

static void place(const lth__packed *out, size_t row, size_t rows, size_t col, size_t cols,
                  const double *cells, size_t ld) {
    for (size_t r = 0; r < rows; r++) {
        size_t i = row + r, count = i - col + 1 < cols ? i - col + 1 : cols;
        memcpy(out->cells + lth__packed_row(out, i) + col, cells + r * ld, count * sizeof *cells);
    }
}

static lth_status fetch_tile(const lth__tiles *T, size_t i, size_t j, const lth__packed *out,
                             double *room, lth_error *err) {
    size_t owner = i % T->rows * T->columns + j % T->columns;
    size_t bytes = lth__tiles_area(T) * sizeof *room;
    const lth__cluster *c = T->cluster;
    bool home = !c || c->at.rank == 0;
    double *cells = lth__tiles_mine(T, i, j) ? lth__tiles_cells(T, i, j) : room;
    if (!home) return owner == c->at.rank ? c->table->send(0, cells, bytes, err) : LTH_OK;
    if (owner != 0) LTH_TRY(c->table->receive((unsigned)owner, room, bytes, err));
    place(out, i * T->side, lth__tiles_extent(T, i), j * T->side, lth__tiles_extent(T, j), cells,
          T->side);
    return LTH_OK;
}

static lth_status fetch(const lth__matrix *A, const lth__packed *out, lth_error *err) {
    const lth__tiles *T = A->tiles;
    double *room = lth__alloc(lth__tiles_area(T), sizeof *room);
    lth_status status = room ? LTH_OK : lth__fail_memory(err, lth__tiles_area(T) * sizeof *room);
    status = lth__tiles_meet(T, status, err);
    for (size_t i = 0; i < T->count && status == LTH_OK; i++)
        for (size_t j = 0; j <= i && status == LTH_OK; j++)
            status = fetch_tile(T, i, j, out, room, err);
    lth__free(room);
    return status;
}

/* ---- Row by row: threads share the tiles ---- */

typedef struct row_job row_job;
struct row_job {
    const lth__tiles *T;
    /* What is done with the cells of a row of a tile: those of row i and the columns j .. end - 1
     * of the matrix, none above the diagonal; and what it adds to the tile's sum. */
    double (*visit)(const row_job *job, size_t i, size_t j, size_t end, double *row,
                    const double *other);
    const lth__tiles *X; /* another matrix, or NULL */
    double by, plus;
    size_t m;
    const double *v, *u, *g;
    double *sums; /* of each tile of the matrix, row by row; or NULL */
};

static lth_status visit_tile(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker, (void)err;
    const row_job *job = user;
    lth__own_tile t = lth__tiles_at(job->T, index);
    double sum = 0;
    for (size_t r = 0; r < t.rows; r++) {
        size_t i = t.row + r, end = i + 1 < t.col + t.cols ? i + 1 : t.col + t.cols;
        double *row = t.cells + r * t.ld;
        const double *other = job->X ? job->X->cells + (row - job->T->cells) : NULL;
        sum += job->visit(job, i, t.col, end, row, other);
    }
    size_t i = t.row / job->T->side, j = t.col / job->T->side;
    if (job->sums) job->sums[i * (i + 1) / 2 + j] = sum;
    return LTH_OK;
}

static void read_rows(const lth__matrix *A, row_job job) {
    job.T = A->tiles;
    lth__tiles_for(job.T, lth__tiles_own(job.T), visit_tile, &job);
}

static lth_status change_rows(lth__matrix *A, row_job job) {
    read_rows(A, job);
    lth__tiles_changed(A->tiles);
    return LTH_OK;
}

/* ---- Elementwise ---- */

static double affine_row(const row_job *job, size_t i, size_t j, size_t end, double *row,
                         const double *other) {
    (void)i, (void)other;
    for (size_t c = 0; c < end - j; c++) row[c] = job->by * row[c] + job->plus;
    return 0;
}

static lth_status affine(lth__matrix *A, double by, double plus, lth_error *err) {
    (void)err;
    return change_rows(A, (row_job){.visit = affine_row, .by = by, .plus = plus});
}

static double fill_row(const row_job *job, size_t i, size_t j, size_t end, double *row,
                       const double *other) {
    (void)i, (void)other;
    for (size_t c = 0; c < end - j; c++) row[c] = job->plus;
    return 0;
}

static lth_status fill(lth__matrix *A, double value, lth_error *err) {
    (void)err;
    return change_rows(A, (row_job){.visit = fill_row, .plus = value});
}

/* Row i of a tile that has a cell of the diagonal has it last. */
static double add_diagonal_row(const row_job *job, size_t i, size_t j, size_t end, double *row,
                               const double *other) {
    (void)other;
    if (end == i + 1) row[i - j] += job->plus;
    return 0;
}

static lth_status add_diagonal(lth__matrix *A, double value, lth_error *err) {
    (void)err;
    return change_rows(A, (row_job){.visit = add_diagonal_row, .plus = value});
}

static double scale_row(const row_job *job, size_t i, size_t j, size_t end, double *row,
                        const double *other) {
    (void)other;
    for (size_t c = j; c < end; c++) row[c - j] *= job->v[i] * job->v[c];
    return 0;
}

static lth_status scale(lth__matrix *A, const double *w, lth_error *err) {
    (void)err;
    return change_rows(A, (row_job){.visit = scale_row, .v = w});
}

static double sandwich_row(const row_job *job, size_t i, size_t j, size_t end, double *row,
                           const double *other) {
    for (size_t c = j; c < end; c++) row[c - j] = job->v[i] * other[c - j] * job->v[c];
    if (end == i + 1) row[i - j] += 1;
    return 0;
}

static lth_status sandwich(const lth__matrix *A, const double *w, lth__matrix *out,
                           lth_error *err) {
    LTH_TRY(reserve(out, err));
    return change_rows(out, (row_job){.visit = sandwich_row, .X = A->tiles, .v = w});
}

/* ---- Sums and products ---- */

static lth_status diagonal(const lth__matrix *A, double *out, lth_error *err) {
    const lth__tiles *T = A->tiles;
    LTH_TRY(lth__tiles_meet(T, LTH_OK, err)); /* somebody may have left */
    memset(out, 0, A->n * sizeof *out);
    for (size_t i = 0; i < A->n; i++) {
        size_t k = i / T->side, r = i % T->side;
        if (lth__tiles_mine(T, k, k)) out[i] = lth__tiles_cells(T, k, k)[r * T->side + r];
    }
    return lth__tiles_join(T, out, A->n, err);
}

static lth_status multiply(const lth__matrix *A, size_t m, const double *X, double *Y,
                           lth_error *err) {
    return lth__tiles_multiply(A->tiles, m, X, Y, err);
}

/* Cell (i, at) of a symmetric matrix, which is some rank's below the diagonal. */
static lth_status columns(const lth__matrix *A, size_t m, const size_t *at, double *Y,
                          lth_error *err) {
    const lth__tiles *T = A->tiles;
    LTH_TRY(lth__tiles_meet(T, LTH_OK, err));
    memset(Y, 0, A->n * m * sizeof *Y);
    for (size_t k = 0; k < m; k++) {
        for (size_t i = 0; i < A->n; i++) {
            size_t row = i > at[k] ? i : at[k], col = i > at[k] ? at[k] : i;
            if (lth__tiles_mine(T, row / T->side, col / T->side))
                Y[i * m + k] = lth__tiles_cells(
                    T, row / T->side, col / T->side)[row % T->side * T->side + col % T->side];
        }
    }
    return lth__tiles_join(T, Y, A->n * m, err);
}

/* Below the diagonal each cell counts twice. */
static double inner_row(const row_job *job, size_t i, size_t j, size_t end, double *row,
                        const double *other) {
    size_t count = end - j, twice = end == i + 1 ? count - 1 : count;
    double sum = 0;
    for (size_t c = 0; c < twice; c++) sum += row[c] * (other[c] - job->plus);
    sum *= 2;
    return twice < count ? sum + row[twice] * (other[twice] - job->plus) : sum;
}

static lth_status inner(const lth__matrix *A, const lth__matrix *B, double minus, double *out,
                        lth_error *err) {
    const lth__tiles *T = A->tiles;
    size_t tiles = T->count * (T->count + 1) / 2;
    double *sums = lth__calloc(tiles, sizeof *sums), sum = 0;
    lth_status status = sums ? LTH_OK : lth__fail_memory(err, tiles * sizeof *sums);
    status = lth__tiles_meet(T, status, err);
    if (status == LTH_OK) {
        read_rows(A, (row_job){.visit = inner_row, .X = B->tiles, .plus = minus, .sums = sums});
        status = lth__tiles_join(T, sums, tiles, err);
    }
    for (size_t t = 0; t < tiles && status == LTH_OK; t++) sum += sums[t];
    lth__free(sums);
    if (status == LTH_OK) *out = sum;
    return status;
}

/* ---- Linear algebra ---- */

static lth_status sum_of_logs(const lth__matrix *L, double *pivots, double *out, lth_error *err) {
    double sum = 0;
    LTH_TRY(diagonal(L, pivots, err));
    for (size_t i = 0; i < L->n; i++) sum += log(pivots[i]);
    *out = 2 * sum;
    return LTH_OK;
}

static lth_status factor(lth__matrix *A, double *log_determinant, lth_error *err) {
    lth__tiles *T = A->tiles;
    double *pivots = lth__alloc(A->n, sizeof *pivots);
    lth_status status = pivots ? LTH_OK : lth__fail_memory(err, A->n * sizeof *pivots);
    status = lth__tiles_meet(T, status, err);
    if (status == LTH_OK)
        status = A->by_scalapack ? lth__tiles_factor_there(T, err) : lth__tiles_factor(T, err);
    if (status == LTH_OK) status = sum_of_logs(A, pivots, log_determinant, err);
    lth__free(pivots);
    return status;
}

static lth_status solve(const lth__matrix *L, size_t m, double *B, lth_error *err) {
    return lth__tiles_solve(L->tiles, m, B, err);
}

static lth_status inverse_diagonal(const lth__matrix *L, double *out, lth_error *err) {
    return lth__tiles_inverse_diagonal(L->tiles, out, err);
}

static lth_status invert(lth__matrix *L, lth_error *err) {
    return L->by_scalapack ? lth__tiles_invert_there(L->tiles, err)
                           : lth__tiles_invert(L->tiles, err);
}

/* ---- Weights of pull-backs ---- */

static double weigh_row(const row_job *job, size_t i, size_t j, size_t end, double *row,
                        const double *other) {
    (void)other;
    size_t m = job->m;
    for (size_t c = 0; c < end - j; c++) row[c] *= -0.5 * (double)m;
    for (size_t k = 0; k < m; k++) {
        double half = 0.5 * job->v[i * m + k];
        for (size_t c = j; c < end; c++) row[c - j] += half * job->v[c * m + k];
    }
    return 0;
}

static lth_status weigh(lth__matrix *X, size_t m, const double *A, lth_error *err) {
    (void)err;
    return change_rows(X, (row_job){.visit = weigh_row, .m = m, .v = A});
}

static double add_weights_row(const row_job *job, size_t i, size_t j, size_t end, double *row,
                              const double *other) {
    const double *a = job->v, *u = job->u, *g = job->g;
    for (size_t c = j; c < end; c++)
        row[c - j] += 0.5 * (a[i] * a[c] - other[c - j] + u[i] * g[c] + g[i] * u[c]);
    return 0;
}

static lth_status add_weights(lth__matrix *M, const lth__matrix *X, const double *a,
                              const double *u, const double *g, lth_error *err) {
    (void)err;
    return change_rows(M,
                       (row_job){.visit = add_weights_row, .X = X->tiles, .v = a, .u = u, .g = g});
}

const lth__matrix_table lth__matrix_in_cluster = {.reserve = reserve,
                                                  .release = release,
                                                  .fetch = fetch,
                                                  .fill = fill,
                                                  .affine = affine,
                                                  .add_diagonal = add_diagonal,
                                                  .scale = scale,
                                                  .sandwich = sandwich,
                                                  .diagonal = diagonal,
                                                  .multiply = multiply,
                                                  .multiply_roughly = multiply,
                                                  .columns = columns,
                                                  .inner = inner,
                                                  .factor = factor,
                                                  .solve = solve,
                                                  .inverse_diagonal = inverse_diagonal,
                                                  .invert = invert,
                                                  .weigh = weigh,
                                                  .add_weights = add_weights};

lth__matrix lth__matrix_dealt(lth_ctx *ctx, size_t n) {
    return (lth__matrix){.table = &lth__matrix_in_cluster,
                         .ctx = ctx,
                         .n = n,
                         .by_scalapack = ctx->cluster && ctx->cluster->by_scalapack};
}

/* ---- The Gram matrix ---- */

static lth_status list_parts(const lth__tiles *T, lth__gram_part **out, lth_error *err) {
    size_t own = lth__tiles_own(T);
    *out = lth__alloc(own, sizeof **out);
    if (!*out) return lth__fail_memory(err, own * sizeof **out);
    for (size_t i = 0; i < own; i++) {
        lth__own_tile t = lth__tiles_at(T, i);
        (*out)[i] = (lth__gram_part){.row = t.row,
                                     .rows = t.rows,
                                     .col = t.col,
                                     .cols = t.cols,
                                     .cells = t.cells,
                                     .ld = t.ld};
    }
    return LTH_OK;
}

lth_status lth__matrix_dealt_gram(lth__matrix *A, lth__gram *gram, lth_error *err) {
    lth__gram_part *parts = NULL;
    lth_status status = list_parts(A->tiles, &parts, err);
    if (status == LTH_OK)
        status = lth__gram_values_parts(gram, parts, lth__tiles_own(A->tiles), err);
    lth__free(parts);
    lth__tiles_changed(A->tiles);
    return lth__tiles_meet(A->tiles, status, err);
}

/* What each tile adds, by its number in the triangle: this rank's, in places that others leave 0.
 */
static lth_status pull_own(const lth__tiles *T, lth__gram *gram, size_t params, double *partial,
                           lth_error *err) {
    size_t own = lth__tiles_own(T);
    lth__gram_part *parts = NULL;
    double *sums = lth__alloc(own * params, sizeof *sums);
    lth_status status = sums ? LTH_OK : lth__fail_memory(err, own * params * sizeof *sums);
    if (status == LTH_OK) status = list_parts(T, &parts, err);
    if (status == LTH_OK) status = lth__gram_pull_parts(gram, parts, own, sums, err);
    for (size_t t = 0; t < own && status == LTH_OK; t++) {
        size_t i = parts[t].row / T->side, j = parts[t].col / T->side;
        memcpy(partial + (i * (i + 1) / 2 + j) * params, sums + t * params, params * sizeof *sums);
    }
    lth__free(parts);
    lth__free(sums);
    return status;
}

lth_status lth__matrix_dealt_pull(lth__matrix *W, lth__gram *gram, double *gradient,
                                  lth_error *err) {
    const lth__tiles *T = W->tiles;
    size_t params = lth__gram_kernel(gram)->param_count, tiles = T->count * (T->count + 1) / 2;
    double *partial = lth__calloc(tiles * params + 1, sizeof *partial);
    lth_status status = partial ? LTH_OK : lth__fail_memory(err, tiles * params * sizeof *partial);
    if (status == LTH_OK) status = pull_own(T, gram, params, partial, err);
    status = lth__tiles_meet(T, status, err);
    if (status == LTH_OK) status = lth__tiles_join(T, partial, tiles * params, err);
    memset(gradient, 0, params * sizeof *gradient);
    for (size_t t = 0; t < tiles && status == LTH_OK; t++) {
        for (size_t p = 0; p < params; p++) gradient[p] += partial[t * params + p];
    }
    lth__free(partial);
    return status == LTH_OK ? lth__gradient_check(lth__gram_kernel(gram), gradient, err) : status;
}
