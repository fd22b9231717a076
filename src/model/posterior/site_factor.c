#include "model/posterior/site_factor.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "engine/blas.h"
#include "model/common/linalg.h"

double lth__site_precision(double root) {
    return root * fabs(root);
}

double lth__site_root(double precision) {
    return copysign(sqrt(fabs(precision)), precision);
}

void lth__site_factor_free(lth__site_factor *s) {
    lth__free(s->row);
    lth__free(s->Q);
    lth__free(s->own);
    *s = (lth__site_factor){.L = s->L};
}

/* ---- Columns of some rows ---- */

/* out = R+ X for X of n x m. */
static lth_status apply_positive(const lth__matrix *L, const double *root, size_t m,
                                 const double *X, double *out, lth_error *err) {
    for (size_t i = 0; i < L->n; i++) {
        for (size_t c = 0; c < m; c++) out[i * m + c] = fmax(root[i], 0) * X[i * m + c];
    }
    LTH_TRY(L->table->solve(L, m, out, err));
    for (size_t i = 0; i < L->n; i++) {
        for (size_t c = 0; c < m; c++) out[i * m + c] *= fmax(root[i], 0);
    }
    return LTH_OK;
}

/* ---- Negative sites ---- */

static lth_status list_negative(lth__site_factor *s, size_t n, const double *root, lth_error *err) {
    for (size_t i = 0; i < n; i++) s->count += root[i] < 0;
    if (s->count == 0) return LTH_OK;
    s->row = lth__alloc(s->count, sizeof *s->row);
    s->own = lth__alloc(s->count, sizeof *s->own);
    s->Q = lth__alloc(n * s->count, sizeof *s->Q);
    if (!s->row || !s->own || !s->Q) return lth__fail_memory(err, n * s->count * sizeof *s->Q);
    for (size_t i = 0, c = 0; i < n; i++) {
        if (root[i] < 0) s->row[c++] = i;
    }
    return LTH_OK;
}

/* C = I - e^1/2 (S+)_NN e^1/2 from X, the columns of K, and Q = R+ X; own = (S+)_NN. */
static void fill_small(lth__site_factor *s, const lth__blas *blas, size_t n, const double *root,
                       const double *X, double *C) {
    size_t m = s->count;
    for (size_t i = 0; i < m; i++) memcpy(C + i * m, X + s->row[i] * m, m * sizeof *C);
    blas->gemm_tn(m, m, n, -1, X, m, s->Q, m, 1, C, m);
    for (size_t i = 0; i < m; i++) {
        s->own[i] = C[i * m + i];
        for (size_t j = 0; j < m; j++)
            C[i * m + j] = (i == j) - root[s->row[i]] * root[s->row[j]] * C[i * m + j];
    }
}

/* Q = (E - Q) e^1/2 L_C^-T. */
static void finish_negative(lth__site_factor *s, const lth__blas *blas, size_t n,
                            const double *root, const double *C) {
    size_t m = s->count;
    for (size_t i = 0; i < n; i++) {
        for (size_t c = 0; c < m; c++)
            s->Q[i * m + c] = ((s->row[c] == i) - s->Q[i * m + c]) * -root[s->row[c]];
    }
    blas->solve_right(n, m, C, m, s->Q, m);
}

static lth_status add_negative(lth__site_factor *s, const lth__matrix *K, const double *root,
                               double *X, double *C, lth_error *err) {
    const lth__blas *blas;
    size_t m = s->count;
    LTH_TRY(lth__blas_get(&blas, err));
    LTH_TRY(lth__matrix_columns(K, m, s->row, s->Q, X, err));
    LTH_TRY(apply_positive(s->L, root, m, X, s->Q, err));
    fill_small(s, blas, K->n, root, X, C);
    LTH_TRY(lth__cholesky(K->ctx, m, C, err));
    s->log_determinant += lth__cholesky_log_determinant(m, C);
    finish_negative(s, blas, K->n, root, C);
    return LTH_OK;
}

/* ---- The factor ---- */

static lth_status factor_positive(lth__site_factor *s, const lth__matrix *K, const double *root,
                                  lth_error *err) {
    double *positive = lth__alloc(K->n, sizeof *positive);
    if (!positive) return lth__fail_memory(err, K->n * sizeof *positive);
    for (size_t i = 0; i < K->n; i++) positive[i] = fmax(root[i], 0);
    lth_status status = K->table->sandwich(K, positive, s->L, err);
    lth__free(positive);
    return status == LTH_OK ? s->L->table->factor(s->L, &s->log_determinant, err) : status;
}

lth_status lth__site_factor_make(lth__site_factor *s, const lth__matrix *K, const double *root,
                                 lth_error *err) {
    lth__site_factor_free(s);
    LTH_TRY(factor_positive(s, K, root, err));
    LTH_TRY(list_negative(s, K->n, root, err));
    if (s->count == 0) return LTH_OK;
    size_t cells = (K->n + s->count) * s->count;
    double *X = lth__alloc(cells, sizeof *X);
    if (!X) return lth__fail_memory(err, cells * sizeof *X);
    lth_status status = add_negative(s, K, root, X, X + K->n * s->count, err);
    lth__free(X);
    return status;
}

lth_status lth__site_factor_apply(const lth__site_factor *s, const double *root, const double *x,
                                  double *out, lth_error *err) {
    size_t n = s->L->n, m = s->count;
    LTH_TRY(apply_positive(s->L, root, 1, x, out, err));
    if (m == 0) return LTH_OK;
    double *sum = lth__calloc(m, sizeof *sum);
    if (!sum) return lth__fail_memory(err, m * sizeof *sum);
    for (size_t i = 0; i < n; i++) {
        for (size_t c = 0; c < m; c++) sum[c] += s->Q[i * m + c] * x[i];
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t c = 0; c < m; c++) out[i] -= s->Q[i * m + c] * sum[c];
    }
    lth__free(sum);
    return LTH_OK;
}

/* ---- Variances ---- */

enum { COLUMNS = 64 };

/* Of some rows by their columns of K, room for twice as many: (S+)_ii, or S_ii where R is there. */
static lth_status vary_columns(const lth__site_factor *s, const lth__matrix *K, const double *root,
                               size_t count, const size_t *row, double *room, double *variance,
                               lth_error *err) {
    size_t n = K->n;
    double *X = room, *RX = room + n * count;
    LTH_TRY(lth__matrix_columns(K, count, row, RX, X, err));
    LTH_TRY(s->inverted ? s->L->table->multiply(s->L, count, X, RX, err)
                        : apply_positive(s->L, root, count, X, RX, err));
    for (size_t c = 0; c < count; c++) variance[row[c]] = X[row[c] * count + c];
    for (size_t i = 0; i < n; i++) {
        for (size_t c = 0; c < count; c++) variance[row[c]] -= X[i * count + c] * RX[i * count + c];
    }
    return LTH_OK;
}

/* Those of small D, which are in row[0 .. count). */
static lth_status vary_small(const lth__site_factor *s, const lth__matrix *K, const double *root,
                             size_t count, const size_t *row, double *variance, lth_error *err) {
    size_t most = count < COLUMNS ? count : COLUMNS;
    if (count == 0) return LTH_OK;
    double *room = lth__alloc(2 * K->n * most, sizeof *room);
    lth_status status = room ? LTH_OK : lth__fail_memory(err, 2 * K->n * most * sizeof *room);
    for (size_t at = 0; at < count && status == LTH_OK; at += most) {
        size_t some = count - at < most ? count - at : most;
        status = vary_columns(s, K, root, some, row + at, room, variance, err);
    }
    lth__free(room);
    return status;
}

static const double least = 1e-8; /* of D K_ii: 1 - D S has half of its digits then */

/* By R: (D - R)_ii = D^2 S_ii. */
static lth_status vary_inverted(const lth__site_factor *s, const lth__matrix *K, const double *root,
                                size_t *row, double *variance, double *left, lth_error *err) {
    size_t count = 0;
    LTH_TRY(K->table->diagonal(K, variance, err));
    LTH_TRY(s->L->table->diagonal(s->L, left, err));
    for (size_t i = 0; i < K->n; i++) {
        double D = lth__site_precision(root[i]);
        bool small = !(fabs(D) * variance[i] > least);
        left[i] = small ? 1 : left[i] / D;
        if (small)
            row[count++] = i;
        else
            variance[i] = (1 - left[i]) / D;
    }
    return vary_small(s, K, root, count, row, variance, err);
}

/* (S+)_ii, and 1 - D+ of it: (B^-1)_ii. */
static lth_status vary_positive(const lth__site_factor *s, const lth__matrix *K, const double *root,
                                size_t *row, double *variance, double *left, lth_error *err) {
    size_t count = 0;
    LTH_TRY(K->table->diagonal(K, variance, err));
    LTH_TRY(s->L->table->inverse_diagonal(s->L, left, err));
    for (size_t i = 0; i < K->n; i++) {
        double D = lth__site_precision(root[i]);
        if (D * variance[i] > least)
            variance[i] = (1 - left[i]) / D;
        else if (D >= 0)
            row[count++] = i;
    }
    for (size_t c = 0; c < s->count; c++) variance[s->row[c]] = s->own[c];
    return vary_small(s, K, root, count, row, variance, err);
}

/* What negative sites add. */
static lth_status vary_negative(const lth__site_factor *s, const lth__matrix *K, const double *root,
                                double *variance, double *left, lth_error *err) {
    size_t n = K->n, m = s->count;
    double *KQ = lth__alloc(n * m, sizeof *KQ);
    if (!KQ) return lth__fail_memory(err, n * m * sizeof *KQ);
    lth_status status = K->table->multiply(K, m, s->Q, KQ, err);
    for (size_t i = 0; i < n && status == LTH_OK; i++) {
        double sum = 0, D = lth__site_precision(root[i]);
        for (size_t c = 0; c < m; c++) sum += KQ[i * m + c] * KQ[i * m + c];
        variance[i] += sum;
        left[i] = D < 0 ? 1 - D * variance[i] : left[i] - D * sum;
    }
    lth__free(KQ);
    return status;
}

lth_status lth__site_factor_variances(const lth__site_factor *s, const lth__matrix *K,
                                      const double *root, double *variance, double *left,
                                      lth_error *err) {
    size_t *row = lth__alloc(K->n, sizeof *row);
    if (!row) return lth__fail_memory(err, K->n * sizeof *row);
    lth_status status = s->inverted ? vary_inverted(s, K, root, row, variance, left, err)
                                    : vary_positive(s, K, root, row, variance, left, err);
    if (status == LTH_OK && s->count > 0 && !s->inverted)
        status = vary_negative(s, K, root, variance, left, err);
    for (size_t i = 0; i < K->n && status == LTH_OK; i++) variance[i] = fmax(variance[i], 0);
    lth__free(row);
    return status;
}

/* ---- The inverse ---- */

lth_status lth__site_factor_invert(lth__site_factor *s, const double *root, lth_error *err) {
    lth__matrix *X = s->L;
    size_t n = X->n, m = s->count;
    double *room = lth__alloc(n * (m + 1), sizeof *room), scale = sqrt((double)m);
    lth_status status = room ? LTH_OK : lth__fail_memory(err, n * (m + 1) * sizeof *room);
    for (size_t i = 0; i < n && status == LTH_OK; i++) room[i] = fmax(root[i], 0);
    if (status == LTH_OK) status = X->table->invert(X, err);
    if (status == LTH_OK) status = X->table->scale(X, room, err);
    if (m > 0) { /* (m Q Q^T - m X) / 2, which is -m R / 2 */
        for (size_t i = 0; i < n * m && status == LTH_OK; i++) room[i] = scale * s->Q[i];
        if (status == LTH_OK) status = X->table->weigh(X, m, room, err);
        if (status == LTH_OK) status = X->table->affine(X, -2 / (double)m, 0, err);
    }
    s->inverted = status == LTH_OK;
    lth__free(room);
    return status;
}
