/* Several targets of rows that do not have them all: the exact posterior with a row of G for each
 * cell that is known, in the order of the rows. The kernel still compares each pair of rows once:
 *
 *     G_cd = B_tu K_ij + [c = d] noise      c = (i, t), d = (j, u)
 *     W = (alpha alpha^T - G^-1)/2          by K_ij: sum_tu B_tu W_cd,  by B_tu: sum_ij K_ij W_cd
 */
#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "model/common/linalg.h"
#include "model/posterior/joint.h"
#include "model/posterior/outputs.h"

static size_t factors(const lth__outputs *o) {
    (void)o;
    return 1;
}

static size_t factor_rows(const lth__outputs *o) {
    return o->cells;
}

/* K and W of the rows, and G of the cells. */
static size_t bytes(const lth_gp *gp) {
    double cells = gp->how.known_cells * (double)gp->rows;
    size_t rows = lth__packed_bytes(gp->rows, sizeof(double));
    size_t all = lth__packed_bytes((size_t)cells + 1, sizeof(double));
    return all == SIZE_MAX || rows > (SIZE_MAX - all) / 2 ? SIZE_MAX : all + 2 * rows;
}

/* ---- K and W lie in host memory, also where a device computes: in parts ---- */

/* The rectangle and the triangle of each panel; returns how many. */
static size_t list_parts(const lth__packed *A, lth__gram_part *out) {
    size_t count = 0;
    for (size_t p = 0; p < lth__packed_panels(A); p++) {
        size_t first = p << A->shift, rows = lth__packed_rows(A, p), ld = lth__packed_stride(A, p);
        double *cells = A->cells + lth__packed_panel(A, p);
        if (first > 0) out[count++] = (lth__gram_part){first, rows, 0, first, cells, ld};
        out[count++] = (lth__gram_part){first, rows, first, rows, cells + first, ld};
    }
    return count;
}

static lth_status fill_by_device(lth__matrix *K, lth__gram *gram, lth_error *err) {
    LTH_TRY(K->table->reserve(K, err));
    lth__packed packed = lth__matrix_packed(K);
    lth__gram_part *parts = lth__alloc(2 * lth__packed_panels(&packed), sizeof *parts);
    if (!parts) return lth__fail_memory(err, 0);
    lth_status status = lth__gram_values_parts(gram, parts, list_parts(&packed, parts), err);
    lth__free(parts);
    return status;
}

static lth_status pull_by_device(const lth_gp *gp, lth__gram *gram, const lth__matrix *W,
                                 double *gradient, lth_error *err) {
    lth__packed packed = lth__matrix_packed(W);
    size_t most = 2 * lth__packed_panels(&packed), params = gp->kernel->param_count;
    lth__gram_part *parts = lth__alloc(most, sizeof *parts);
    double *partial = lth__alloc(most * params, sizeof *partial);
    lth_status status = LTH_OK;
    if (!parts || !partial) status = lth__fail_memory(err, most * params * sizeof *partial);
    size_t count = status == LTH_OK ? list_parts(&packed, parts) : 0;
    if (status == LTH_OK) status = lth__gram_pull_parts(gram, parts, count, partial, err);
    memset(gradient, 0, params * sizeof *gradient);
    for (size_t i = 0; i < count * params && status == LTH_OK; i++)
        gradient[i % params] += partial[i];
    lth__free(parts);
    lth__free(partial);
    return status;
}

static lth_status fill(lth__matrix *K, lth__gram *gram, lth_error *err) {
    return lth__gram_device(gram) ? fill_by_device(K, gram, err) : lth__matrix_gram(K, gram, err);
}

static lth_status pull(const lth_gp *gp, lth__gram *gram, lth__matrix *W, double *gradient,
                       lth_error *err) {
    return lth__gram_device(gram) ? pull_by_device(gp, gram, W, gradient, err)
                                  : lth__gp_pull(gp, gram, W, NULL, gradient, err);
}

/* ---- Between rows and cells: threads share the panels of the cells, or the rows ---- */

typedef struct spread_job {
    const lth__outputs *o;
    lth__packed K, W, G;
    const size_t *first; /* cell of each row, and the end */
    double noise;
    double *by_B; /* [row][target][target] */
} spread_job;

static double cell_of(const lth__packed *A, size_t i, size_t j) {
    return A->cells[lth__packed_row(A, i) + j];
}

static lth_status spread_panel(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker, (void)err;
    const spread_job *j = user;
    const lth__outputs *o = j->o;
    size_t begin = index << j->G.shift, end = begin + lth__packed_rows(&j->G, index);
    for (size_t c = begin; c < end; c++) {
        const double *K = j->K.cells + lth__packed_row(&j->K, o->row[c]);
        const double *B = o->B + o->target[c] * o->targets;
        double *G = j->G.cells + lth__packed_row(&j->G, c);
        for (size_t d = 0; d <= c; d++) G[d] = B[o->target[d]] * K[o->row[d]];
        G[c] += j->noise;
    }
    return LTH_OK;
}

/* What the cells of two rows owe to K_ij and, with it, to B. Below the diagonal of G a cell stands
 * for two; where both rows are one, so does K_ii. */
static double collect_pair(const spread_job *j, size_t i, size_t k, double *by_B) {
    const lth__outputs *o = j->o;
    double sum = 0, K = cell_of(&j->K, i, k);
    for (size_t c = j->first[i]; c < j->first[i + 1]; c++) {
        const double *W = j->G.cells + lth__packed_row(&j->G, c);
        size_t t = o->target[c], end = i == k ? c + 1 : j->first[k + 1];
        for (size_t d = j->first[k]; d < end; d++) {
            size_t u = o->target[d];
            double twice = i == k && c != d ? 2 : 1;
            sum += twice * o->B[t * o->targets + u] * W[d];
            by_B[t * o->targets + u] += (c == d ? 1 : 2) * W[d] * K;
        }
    }
    return sum;
}

static lth_status collect_row(void *user, size_t i, unsigned worker, lth_error *err) {
    (void)worker, (void)err;
    const spread_job *j = user;
    double *W = j->W.cells + lth__packed_row(&j->W, i);
    double *by_B = j->by_B + i * j->o->targets * j->o->targets;
    for (size_t k = 0; k <= i; k++) W[k] = collect_pair(j, i, k, by_B);
    return LTH_OK;
}

/* ---- Evidence ---- */

static void find_first(const lth__outputs *o, size_t *first) {
    size_t c = 0;
    for (size_t i = 0; i < o->rows; i++) {
        first[i] = c;
        while (c < o->cells && o->row[c] == i) c++;
    }
    first[o->rows] = c;
}

static lth_status solve(const lth_gp *gp, lth__outputs *o, double *alpha, double *fit,
                        lth_error *err) {
    size_t n = o->rows, count = o->targets;
    for (size_t c = 0; c < o->cells; c++) alpha[c] = gp->y[o->target[c] * n + o->row[c]];
    LTH_TRY(o->G.table->solve(&o->G, 1, alpha, err));
    memset(o->alpha, 0, n * count * sizeof *o->alpha);
    *fit = 0;
    for (size_t c = 0; c < o->cells; c++) {
        *fit += gp->y[o->target[c] * n + o->row[c]] * alpha[c];
        o->alpha[o->row[c] * count + o->target[c]] = alpha[c];
    }
    return LTH_OK;
}

/* In both orders, each half. */
static void pull_B(const lth_gp *gp, const lth__outputs *o, const double *by_row, double *gradient,
                   double *by_B) {
    size_t count = o->targets, cells = count * count;
    memset(by_B, 0, cells * sizeof *by_B);
    for (size_t i = 0; i < o->rows; i++) {
        for (size_t c = 0; c < cells; c++) {
            by_B[c] += by_row[i * cells + c] / 2;
            by_B[c % count * count + c / count] += by_row[i * cells + c] / 2;
        }
    }
    lth__outputs_pull(gp, by_B, gradient);
}

static lth_status differentiate(lth_gp *gp, lth__outputs *o, lth__gram *gram, spread_job *job,
                                const double *alpha, double *gradient, lth_error *err) {
    size_t count = o->targets, cells = count * count;
    double *by_noise = &gradient[gp->kernel->param_count];
    LTH_TRY(o->G.table->invert(&o->G, err));
    LTH_TRY(o->G.table->weigh(&o->G, 1, alpha, err));
    LTH_TRY(lth__matrix_trace(&o->G, by_noise, err));
    LTH_TRY(o->W.table->reserve(&o->W, err));
    job->W = lth__matrix_packed(&o->W);
    job->by_B = lth__calloc((o->rows + 1) * cells, sizeof *job->by_B);
    if (!job->by_B) return lth__fail_memory(err, (o->rows + 1) * cells * sizeof *job->by_B);
    lth_status status = lth__parallel_for(&gp->ctx, NULL, o->rows, NULL, collect_row, job, err);
    if (status == LTH_OK) pull_B(gp, o, job->by_B, gradient, job->by_B + o->rows * cells);
    lth__free(job->by_B);
    return status == LTH_OK ? pull(gp, gram, &o->W, gradient, err) : status;
}

static lth_status solve_all(lth_gp *gp, lth__outputs *o, lth__gram *gram, const size_t *first,
                            double *alpha, double *evidence, double *gradient, lth_error *err) {
    double fit, log_determinant;
    spread_job job = {.o = o, .first = first, .noise = gp->own[0]};
    LTH_TRY(fill(&o->K, gram, err));
    LTH_TRY(lth__gp_prior_matrix(gp, 0, &o->K, err));
    LTH_TRY(o->G.table->reserve(&o->G, err));
    job.K = lth__matrix_packed(&o->K);
    job.G = lth__matrix_packed(&o->G);
    LTH_TRY(lth__parallel_for(&gp->ctx, NULL, lth__packed_panels(&job.G), NULL, spread_panel, &job,
                              err));
    LTH_TRY(o->G.table->factor(&o->G, &log_determinant, err));
    LTH_TRY(solve(gp, o, alpha, &fit, err));
    *evidence = -0.5 * (fit + log_determinant + (double)o->cells * log(2 * M_PI));
    return gradient ? differentiate(gp, o, gram, &job, alpha, gradient, err) : LTH_OK;
}

static lth_status evidence(lth_gp *gp, lth__gram *gram, double *out, double *gradient,
                           lth_error *err) {
    lth__outputs *o = gp->solution;
    if (!o->K.table) {
        o->K = lth__matrix_on_host(&gp->ctx, o->rows, NULL);
        o->W = lth__matrix_on_host(&gp->ctx, o->rows, NULL);
        o->G = lth__matrix_on_host(&gp->ctx, o->cells, NULL);
    }
    LTH_TRY(lth__outputs_decompose(gp, o, err));
    size_t *first = lth__alloc(o->rows + 1, sizeof *first);
    double *alpha = lth__alloc(o->cells, sizeof *alpha);
    lth_status status = LTH_OK;
    if (!first || !alpha) status = lth__fail_memory(err, o->cells * sizeof *alpha);
    if (status == LTH_OK) find_first(o, first);
    if (status == LTH_OK) status = solve_all(gp, o, gram, first, alpha, out, gradient, err);
    lth__free(first);
    lth__free(alpha);
    return status;
}

/* ---- Afterwards ---- */

static lth_status diagonal_by(const lth__outputs *o, const lth__matrix *L, size_t target,
                              double *out, lth_error *err) {
    double *all = lth__alloc(o->cells, sizeof *all);
    if (!all) return lth__fail_memory(err, o->cells * sizeof *all);
    lth_status status = L->table->inverse_diagonal(L, all, err);
    for (size_t i = 0; i < o->rows; i++) out[i] = 1;
    for (size_t c = 0; c < o->cells && status == LTH_OK; c++) {
        if (o->target[c] == target) out[o->row[c]] = all[c];
    }
    lth__free(all);
    return status;
}

static lth_status settle(lth_gp *gp, double *inverse, lth_error *err) {
    lth__outputs *o = gp->solution;
    LTH_TRY(diagonal_by(o, &o->G, 0, inverse, err));
    lth__free(o->L[0]);
    o->L[0] = NULL;
    return lth__matrix_take(&o->G, &o->L[0], err);
}

static lth_status inverse_diagonal(const lth_gp *gp, size_t target, double *out, lth_error *err) {
    const lth__outputs *o = gp->solution;
    lth_ctx ctx = gp->ctx;
    lth__matrix L = lth__matrix_on_host(&ctx, o->cells, o->L[0]);
    return diagonal_by(o, &L, target, out, err);
}

typedef struct covary_job {
    const lth__outputs *o;
    const lth__blas *blas;
    const double *K, *self;
    double *covariance, *room; /* of each worker: [target][cell] */
} covary_job;

/* B k** - V V^T, V = B k* L^-T */
static lth_status covary_row(void *user, size_t r, unsigned worker, lth_error *err) {
    (void)err;
    const covary_job *j = user;
    const lth__outputs *o = j->o;
    size_t count = o->targets, cells = o->cells;
    const double *K = j->K + r * o->rows;
    double *V = j->room + worker * count * cells, *out = j->covariance + r * count * count;
    lth__packed L = lth__packed_layout(cells);
    L.cells = o->L[0];
    for (size_t t = 0; t < count; t++) {
        for (size_t c = 0; c < cells; c++)
            V[t * cells + c] = o->B[t * count + o->target[c]] * K[o->row[c]];
    }
    lth__packed_solve_right(j->blas, &L, count, V);
    for (size_t c = 0; c < count * count; c++) {
        const double *a = V + c / count * cells, *b = V + c % count * cells;
        double explained = 0;
        for (size_t i = 0; i < cells; i++) explained += a[i] * b[i];
        out[c] = o->B[c] * j->self[r] - explained;
        if (c / count == c % count && !(out[c] > 0)) out[c] = 0;
    }
    return LTH_OK;
}

static lth_status covary(const lth_gp *gp, lth_ctx *ctx, size_t rows, const double *K,
                         const double *self, double *covariance, lth_error *err) {
    const lth__outputs *o = gp->solution;
    size_t size = o->targets * o->cells * ctx->options.threads;
    covary_job j = {.o = o, .K = K, .self = self, .covariance = covariance};
    LTH_TRY(lth__blas_get(&j.blas, err));
    j.room = lth__alloc(size, sizeof *j.room);
    if (!j.room) return lth__fail_memory(err, size * sizeof *j.room);
    lth_status status = lth__parallel_for(ctx, NULL, rows, NULL, covary_row, &j, err);
    lth__free(j.room);
    return status;
}

/* The same of rows among each other, of each target by itself. */
static lth_status join(const lth_gp *gp, lth_ctx *ctx, size_t rows, const double *K, double *C,
                       lth_error *err) {
    const lth__outputs *o = gp->solution;
    size_t count = o->targets, cells = o->cells, square = rows * rows;
    double *V = lth__alloc(rows * cells, sizeof *V);
    if (!V) return lth__fail_memory(err, rows * cells * sizeof *V);
    lth_status status = LTH_OK;
    for (size_t t = 0; t < count && status == LTH_OK; t++) {
        double *of = C + t * square;
        for (size_t i = 0; i < rows * cells; i++) {
            size_t c = i % cells;
            V[i] = o->B[t * count + o->target[c]] * K[i / cells * o->rows + o->row[c]];
        }
        for (size_t i = 0; i < square; i++) of[i] *= o->B[t * count + t];
        status = lth__joint_whiten(ctx, cells, o->L[0], rows, V, err);
        if (status == LTH_OK) status = lth__joint_add(ctx, rows, cells, -1, V, V, of, err);
        lth__joint_hold(rows, of);
    }
    lth__free(V);
    return status;
}

const lth__outputs_form lth__outputs_cells = {.bytes = bytes,
                                              .evidence = evidence,
                                              .settle = settle,
                                              .inverse_diagonal = inverse_diagonal,
                                              .covary = covary,
                                              .join = join,
                                              .factors = factors,
                                              .factor_rows = factor_rows};
