/* Values of k^T G^-1 k, for rows of a matrix and for unit vectors; see quadratic.h. */
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "engine/blas.h"
#include "model/common/blocks.h"
#include "model/common/quadratic.h"

enum { PIECE = 32, PANEL = 512 };

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

static void widen(const float *from, size_t count, double *to) {
    for (size_t i = 0; i < count; i++) to[i] = from[i];
}

typedef struct values {
    const lth__blas *blas;
    const lth__quadratic *q;
    size_t rows;
    double *K, *out;
    double *FU, *FW, *FF; /* for unit vectors: F^T U, F^T W and F^T Lambda^-1 F */
} values;

/* Of some rows at a time: K M, c, and room for as many; the products of the rest with the probes;
 * the rest by Lambda^-1, and the part that is known. */
typedef struct room {
    double *H, *c, *T, *u, *w, *panel;
    double by_lambda[PIECE], known[PIECE];
} room;

static lth_status open_room(const lth__quadratic *q, room *r, lth_error *err) {
    size_t widest = q->rank > q->probes ? q->rank : q->probes;
    size_t cells = PIECE * (3 * q->rank + 2 * q->probes) + PANEL * widest;
    *r = (room){.H = lth__alloc(cells, sizeof *r->H)};
    if (!r->H) return lth__fail_memory(err, cells * sizeof *r->H);
    r->c = r->H + PIECE * q->rank;
    r->T = r->c + PIECE * q->rank;
    r->u = r->T + PIECE * q->rank;
    r->w = r->u + PIECE * q->probes;
    r->panel = r->w + PIECE * q->probes;
    return LTH_OK;
}

/* c and the part that is known, from H = K M. */
static void project(const values *v, size_t rows, room *r) {
    const lth__quadratic *q = v->q;
    size_t rank = q->rank;
    memset(r->known, 0, sizeof r->known);
    if (rank == 0) return;
    v->blas->gemm_nn(rows, rank, rank, 1, r->H, rank, q->E, rank, 0, r->c, rank);
    v->blas->gemm_nn(rows, rank, rank, 1, r->c, rank, q->C, rank, 0, r->T, rank);
    for (size_t i = 0; i < rows; i++) {
        for (size_t k = 0; k < rank; k++)
            r->known[i] += r->c[i * rank + k] * (2 * r->H[i * rank + k] - r->T[i * rank + k]);
    }
}

/* Neither part is negative. */
static void estimate(const values *v, size_t rows, room *r, double *out) {
    size_t probes = v->q->probes;
    for (size_t i = 0; i < rows; i++) {
        double *u = r->u + i * probes, *w = r->w + i * probes;
        for (size_t p = 0; p < probes; p++) {
            u[p] *= u[p];
            w[p] *= w[p];
        }
        double rest = lth__controlled_mean(probes, u, w, r->by_lambda[i], NULL);
        out[i] = r->known[i] + (rest > 0 ? rest : 0);
    }
}

/* H += K M for one panel of the columns of K; K -= c F^T, and what the probes make of that. */
static void add_span(const values *v, size_t rows, const double *K, size_t first, size_t size,
                     room *r) {
    size_t n = v->q->n, rank = v->q->rank;
    widen(v->q->M + first * rank, size * rank, r->panel);
    v->blas->gemm_nn(rows, rank, size, 1, K + first, n, r->panel, rank, first > 0, r->H, rank);
}

static void take_span(const values *v, size_t rows, double *K, size_t first, size_t size, room *r) {
    size_t n = v->q->n, rank = v->q->rank;
    widen(v->q->F + first * rank, size * rank, r->panel);
    v->blas->gemm_nt(rows, size, rank, -1, r->c, rank, r->panel, rank, 1, K + first, n);
}

static void add_probes(const values *v, size_t rows, const double *K, size_t first, size_t size,
                       room *r) {
    const lth__quadratic *q = v->q;
    size_t n = q->n, s = q->probes;
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = first; j < first + size; j++)
            r->by_lambda[i] += K[i * n + j] * K[i * n + j] / q->lambda[j];
    }
    widen(q->U + first * s, size * s, r->panel);
    v->blas->gemm_nn(rows, s, size, 1, K + first, n, r->panel, s, first > 0, r->u, s);
    widen(q->W + first * s, size * s, r->panel);
    v->blas->gemm_nn(rows, s, size, 1, K + first, n, r->panel, s, first > 0, r->w, s);
}

static lth_status value_piece(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker;
    const values *v = user;
    size_t n = v->q->n, at = index * PIECE, rows = smaller(PIECE, v->rows - at);
    double *K = v->K + at * n;
    room r;
    LTH_TRY(open_room(v->q, &r, err));
    for (size_t first = 0; first < n && v->q->rank > 0; first += PANEL)
        add_span(v, rows, K, first, smaller(PANEL, n - first), &r);
    project(v, rows, &r);
    for (size_t first = 0; first < n; first += PANEL) {
        size_t size = smaller(PANEL, n - first);
        if (v->q->rank > 0) take_span(v, rows, K, first, size, &r);
        add_probes(v, rows, K, first, size, &r);
    }
    estimate(v, rows, &r, v->out + at);
    lth__free(r.H);
    return LTH_OK;
}

lth_status lth__quadratic_of(const lth__quadratic *q, lth_ctx *ctx, size_t rows, double *K,
                             double *out, lth_error *err) {
    values v = {.q = q, .rows = rows, .K = K, .out = out};
    LTH_TRY(lth__blas_get(&v.blas, err));
    return lth__parallel_for(ctx, NULL, (rows + PIECE - 1) / PIECE, NULL, value_piece, &v, err);
}

/* ---- The part that is known, of pairs of rows: K M C^-1 M^T K^T ---- */

typedef struct features {
    values v;
    const double *K, *L; /* C = L L^T */
    double *V;
} features;

static lth_status feature_piece(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker;
    const features *f = user;
    const lth__quadratic *q = f->v.q;
    size_t at = index * PIECE, rows = smaller(PIECE, f->v.rows - at);
    room r = {.panel = lth__alloc(PANEL * q->rank, sizeof *r.panel), .H = f->V + at * q->rank};
    if (!r.panel) return lth__fail_memory(err, PANEL * q->rank * sizeof *r.panel);
    for (size_t first = 0; first < q->n; first += PANEL)
        add_span(&f->v, rows, f->K + at * q->n, first, smaller(PANEL, q->n - first), &r);
    f->v.blas->solve_right(rows, q->rank, f->L, q->rank, r.H, q->rank);
    lth__free(r.panel);
    return LTH_OK;
}

lth_status lth__quadratic_features(const lth__quadratic *q, lth_ctx *ctx, size_t rows,
                                   const double *K, double *V, lth_error *err) {
    features f = {.v = {.q = q, .rows = rows}, .K = K, .V = V};
    size_t cells = q->rank * q->rank;
    if (q->rank == 0) return LTH_OK;
    LTH_TRY(lth__blas_get(&f.v.blas, err));
    double *L = lth__alloc(cells, sizeof *L);
    if (!L) return lth__fail_memory(err, cells * sizeof *L);
    f.L = L;
    lth_status status = lth__quadratic_factor(q, ctx, L, err);
    if (status == LTH_OK)
        status =
            lth__parallel_for(ctx, NULL, (rows + PIECE - 1) / PIECE, NULL, feature_piece, &f, err);
    lth__free(L);
    return status;
}

/* ---- Unit vectors: the rest need not be written down ---- */

static lth_status unit_piece(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker;
    const values *v = user;
    const lth__quadratic *q = v->q;
    size_t rank = q->rank, s = q->probes, at = index * PIECE, rows = smaller(PIECE, q->n - at);
    room r;
    LTH_TRY(open_room(q, &r, err));
    widen(q->M + at * rank, rows * rank, r.H);
    widen(q->U + at * s, rows * s, r.u);
    widen(q->W + at * s, rows * s, r.w);
    project(v, rows, &r);
    for (size_t i = 0; i < rows; i++) r.by_lambda[i] = 1 / q->lambda[at + i];
    if (rank > 0) {
        v->blas->gemm_nn(rows, s, rank, -1, r.c, rank, v->FU, s, 1, r.u, s);
        v->blas->gemm_nn(rows, s, rank, -1, r.c, rank, v->FW, s, 1, r.w, s);
        v->blas->gemm_nn(rows, rank, rank, 1, r.c, rank, v->FF, rank, 0, r.T, rank);
    }
    for (size_t i = 0; i < rows; i++) {
        const float *F = q->F + (at + i) * rank;
        for (size_t k = 0; k < rank; k++)
            r.by_lambda[i] +=
                r.c[i * rank + k] * (r.T[i * rank + k] - 2 * (double)F[k] / q->lambda[at + i]);
    }
    estimate(v, rows, &r, v->out + at);
    lth__free(r.H);
    return LTH_OK;
}

/* F^T times U, W and Lambda^-1 F, by panels of rows. */
static void multiply_by_span(const values *v, double *panel) {
    const lth__quadratic *q = v->q;
    size_t rank = q->rank, s = q->probes;
    double *other = panel + PANEL * rank;
    for (size_t first = 0; first < q->n; first += PANEL) {
        size_t size = smaller(PANEL, q->n - first);
        double plus = first > 0;
        widen(q->F + first * rank, size * rank, panel);
        widen(q->U + first * s, size * s, other);
        v->blas->gemm_tn(rank, s, size, 1, panel, rank, other, s, plus, v->FU, s);
        widen(q->W + first * s, size * s, other);
        v->blas->gemm_tn(rank, s, size, 1, panel, rank, other, s, plus, v->FW, s);
        for (size_t i = 0; i < size * rank; i++) other[i] = panel[i] / q->lambda[first + i / rank];
        v->blas->gemm_tn(rank, rank, size, 1, panel, rank, other, rank, plus, v->FF, rank);
    }
}

lth_status lth__quadratic_diagonal(const lth__quadratic *q, lth_ctx *ctx, double *out,
                                   lth_error *err) {
    values v = {.q = q, .rows = q->n, .out = out};
    size_t rank = q->rank, s = q->probes, widest = rank > s ? rank : s;
    size_t cells = rank * (rank + 2 * s) + PANEL * (rank + widest);
    LTH_TRY(lth__blas_get(&v.blas, err));
    v.FU = lth__alloc(cells, sizeof *v.FU);
    if (!v.FU) return lth__fail_memory(err, cells * sizeof *v.FU);
    v.FW = v.FU + rank * s;
    v.FF = v.FW + rank * s;
    if (rank > 0) multiply_by_span(&v, v.FF + rank * rank);
    double operations = (double)q->n * (double)rank * (double)(rank + s);
    lth_status status = lth__blocks_run(ctx, unit_piece, &v, out, PIECE, q->n, operations, err);
    lth__free(v.FU);
    return status;
}
