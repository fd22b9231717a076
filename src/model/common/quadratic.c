#include "model/common/quadratic.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "model/common/linalg.h"

enum { BATCH = LTH__PROBE_BATCH, COLS = 32 };

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

/* ---- Memory ---- */

void lth__quadratic_free(lth__quadratic *q) {
    if (!q) return;
    void *blocks[] = {q->M, q->F, q->U, q->W, q->lambda, q->C, q->E};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) lth__free(blocks[i]);
    lth__free(q);
}

lth_status lth__quadratic_reserve(size_t n, size_t rank, size_t probes, lth__quadratic **out,
                                  lth_error *err) {
    lth__quadratic *q = lth__calloc(1, sizeof *q);
    if (!q) return lth__fail_memory(err, sizeof *q);
    *q = (lth__quadratic){.n = n,
                          .rank = rank,
                          .probes = probes,
                          .M = lth__alloc(n * rank, sizeof *q->M),
                          .F = lth__alloc(n * rank, sizeof *q->F),
                          .U = lth__alloc(n * probes, sizeof *q->U),
                          .W = lth__alloc(n * probes, sizeof *q->W),
                          .lambda = lth__alloc(n, sizeof *q->lambda),
                          .C = lth__alloc(rank * rank, sizeof *q->C),
                          .E = lth__alloc(rank * rank, sizeof *q->E)};
    if (q->M && q->F && q->U && q->W && q->lambda && q->C && q->E) {
        *out = q;
        return LTH_OK;
    }
    lth__quadratic_free(q);
    return lth__fail_memory(err, 2 * n * (rank + probes) * sizeof *q->M);
}

/* ---- The span ---- */

/* Any c will do in the formula above; the best one is C^-1 M^T k but for directions in which there
 * is next to nothing. */
lth_status lth__quadratic_factor(const lth__quadratic *q, lth_ctx *ctx, double *L, lth_error *err) {
    size_t rank = q->rank;
    double trace = 0, ridge = 1e-11;
    for (size_t i = 0; i < rank; i++) trace += q->C[i * rank + i] / (double)rank;
    lth_status status;
    do {
        memcpy(L, q->C, rank * rank * sizeof *L);
        for (size_t i = 0; i < rank; i++) L[i * rank + i] += ridge * trace;
        status = lth__cholesky(ctx, rank, L, err);
        ridge *= 100;
    } while (status == LTH_ENUMERIC && ridge < 1e-3);
    return status;
}

lth_status lth__quadratic_invert(lth__quadratic *q, lth_ctx *ctx, lth_error *err) {
    size_t rank = q->rank;
    double *L = lth__alloc(rank * rank, sizeof *L);
    if (!L) return lth__fail_memory(err, rank * rank * sizeof *L);
    lth_status status = lth__quadratic_factor(q, ctx, L, err);
    if (status == LTH_OK) status = lth__cholesky_inverse(ctx, rank, L, q->E, err);
    lth__free(L);
    return status;
}

/* Columns first .. first + cols - 1 of F and C. M is rounded before it is multiplied, since F has
 * to be that of the M that is kept. */
static lth_status multiply_span(lth__quadratic *q, const lth__blas *blas, const lth__matrix *G,
                                const double *M, size_t first, size_t cols, double *X, double *Y,
                                lth_error *err) {
    size_t n = q->n, rank = q->rank;
    for (size_t i = 0; i < n; i++) memcpy(X + i * cols, M + i * rank + first, cols * sizeof *X);
    if (G->singles) /* which are no better themselves */
        LTH_TRY(G->table->multiply_roughly(G, cols, X, Y, err));
    else
        LTH_TRY(G->table->multiply(G, cols, X, Y, err));
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < cols; j++) q->F[i * rank + first + j] = (float)Y[i * cols + j];
    }
    blas->gemm_tn(rank, cols, n, 1, M, rank, Y, cols, 0, q->C + first, rank);
    return LTH_OK;
}

static void mirror(double *C, size_t n) {
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < i; j++)
            C[i * n + j] = C[j * n + i] = (C[i * n + j] + C[j * n + i]) / 2;
    }
}

static lth_status make_span(lth__quadratic *q, const lth__matrix *G, const lth__preconditioner *P,
                            lth_error *err) {
    const lth__blas *blas;
    size_t n = q->n, rank = q->rank, cells = n * rank + 2 * n * COLS;
    LTH_TRY(lth__blas_get(&blas, err));
    double *M = lth__alloc(cells, sizeof *M), *X = M + n * rank, *Y = X + n * COLS;
    if (!M) return lth__fail_memory(err, cells * sizeof *M);
    lth_status status = lth__preconditioner_span(P, M, err);
    for (size_t i = 0; i < n * rank && status == LTH_OK; i++) M[i] = q->M[i] = (float)M[i];
    for (size_t first = 0; first < rank && status == LTH_OK; first += COLS)
        status = multiply_span(q, blas, G, M, first, smaller(COLS, rank - first), X, Y, err);
    lth__free(M);
    mirror(q->C, rank);
    return status == LTH_OK ? lth__quadratic_invert(q, G->ctx, err) : status;
}

/* ---- Probes ---- */

typedef struct drawing {
    const lth__krylov *k;
    const lth__preconditioner *P;
    lth__random *random;
    double *B;                  /* n x BATCH */
    float *U, *W;               /* likewise  */
    double *logarithm, *linear; /* of each probe: z^T log(H) z and z^T (H - I) z */
} drawing;

static lth_status draw_batch(lth__quadratic *q, const drawing *d, size_t first, size_t count,
                             lth_error *err) {
    LTH_TRY(lth__preconditioner_draw(d->P, count, d->random, d->B, d->W, err));
    LTH_TRY(
        lth__krylov_root(d->k, count, d->B, d->U, d->logarithm + first, d->linear + first, err));
    for (size_t i = 0; i < q->n; i++) {
        memcpy(q->U + i * q->probes + first, d->U + i * count, count * sizeof *q->U);
        memcpy(q->W + i * q->probes + first, d->W + i * count, count * sizeof *q->W);
    }
    return LTH_OK;
}

static double mean_of(const double *x, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += x[i];
    return sum / (double)n;
}

double lth__controlled_mean(size_t n, const double *y, const double *x, double known,
                            double *error) {
    enum { ENOUGH = 8 }; /* to see a slope */
    double my = mean_of(y, n), mx = mean_of(x, n), xx = 0, xy = 0, yy = 0;
    for (size_t i = 0; i < n; i++) {
        xx += (x[i] - mx) * (x[i] - mx);
        xy += (x[i] - mx) * (y[i] - my);
        yy += (y[i] - my) * (y[i] - my);
    }
    double slope = n >= ENOUGH && xx > 0 ? xy / xx : 1, m = (double)n;
    double rest = yy - 2 * slope * xy + slope * slope * xx;
    if (error) *error = n > 1 && rest > 0 ? sqrt(rest / (m * (m - 1))) : 0;
    return my - slope * (mx - known);
}

/* trace(P^-1 G) - n, in which the diagonals of P and G are alike. */
static lth_status trace_of_ratio(const lth__quadratic *q, const lth__matrix *G,
                                 const lth__preconditioner *P, double *out, lth_error *err) {
    double *diagonal = lth__alloc(q->n, sizeof *diagonal), sum = 0;
    if (!diagonal) return lth__fail_memory(err, q->n * sizeof *diagonal);
    lth_status status = G->table->diagonal(G, diagonal, err);
    for (size_t i = 0; i < q->n; i++) sum += diagonal[i] / q->lambda[i] - 1;
    for (size_t i = 0; i < q->rank * q->rank; i++) sum -= q->C[i] * P->B[i];
    lth__free(diagonal);
    *out = sum;
    return status;
}

static lth_status draw_probes(lth__quadratic *q, const drawing *d, const lth__matrix *G,
                              lth__log_determinant *log_determinant, lth_error *err) {
    double known = 0;
    for (size_t first = 0; first < q->probes; first += BATCH)
        LTH_TRY(draw_batch(q, d, first, smaller(BATCH, q->probes - first), err));
    LTH_TRY(trace_of_ratio(q, G, d->P, &known, err));
    log_determinant->value = d->P->log_determinant;
    log_determinant->value +=
        lth__controlled_mean(q->probes, d->logarithm, d->linear, known, &log_determinant->error);
    return LTH_OK;
}

static lth_status make_probes(lth__quadratic *q, const lth__krylov *k, const lth__matrix *G,
                              const lth__preconditioner *P, lth__random *random,
                              lth__log_determinant *log_determinant, lth_error *err) {
    size_t batch = smaller(BATCH, q->probes);
    drawing d = {.k = k,
                 .P = P,
                 .random = random,
                 .B = lth__alloc(q->n * batch, sizeof *d.B),
                 .U = lth__alloc(2 * q->n * batch, sizeof *d.U),
                 .logarithm = lth__alloc(2 * q->probes, sizeof *d.logarithm)};
    bool room = d.B && d.U && d.logarithm;
    d.W = d.U + q->n * batch;
    d.linear = d.logarithm + q->probes;
    lth_status status = room ? draw_probes(q, &d, G, log_determinant, err)
                             : lth__fail_memory(err, 2 * q->n * batch * sizeof *d.B);
    lth__free(d.B);
    lth__free(d.U);
    lth__free(d.logarithm);
    return status;
}

lth_status lth__quadratic_create(const lth__krylov *k, const lth__matrix *G,
                                 const lth__preconditioner *P, size_t probes, lth__random *random,
                                 lth__quadratic **out, lth__log_determinant *log_determinant,
                                 lth_error *err) {
    lth__quadratic *q;
    LTH_TRY(lth__quadratic_reserve(P->n, P->rank, probes, &q, err));
    for (size_t i = 0; i < P->n; i++) q->lambda[i] = P->root[i] * P->root[i];
    lth_status status = make_span(q, G, P, err);
    if (status == LTH_OK) status = make_probes(q, k, G, P, random, log_determinant, err);
    if (status == LTH_OK)
        *out = q;
    else
        lth__quadratic_free(q);
    return status;
}
