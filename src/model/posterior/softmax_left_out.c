/* Coupled classes at a training row, from all the others. With the covariances S_i of the row's f,
 * its W_i and a_i = d log p / df at the mode, what is left without the row's own site is
 *
 *     covariance V = (I - S_i W_i)^-1 S_i      mean f_i - V a_i
 *
 * S_i comes as at a new row (lth__softmax_spread): columns of K are K times those of the identity.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "model/posterior/softmax.h"

/* A (n x n) X = B (n x n), into B, by elimination. false = A has no inverse. */
static bool solve(size_t n, double *A, double *B) {
    for (size_t k = 0; k < n; k++) {
        size_t top = k;
        for (size_t i = k + 1; i < n; i++)
            top = fabs(A[i * n + k]) > fabs(A[top * n + k]) ? i : top;
        if (!(fabs(A[top * n + k]) > 0)) return false;
        for (size_t c = 0; c < n && top != k; c++) {
            double a = A[k * n + c], b = B[k * n + c];
            A[k * n + c] = A[top * n + c], B[k * n + c] = B[top * n + c];
            A[top * n + c] = a, B[top * n + c] = b;
        }
        for (size_t i = 0; i < n; i++) {
            double by = A[i * n + k] / A[k * n + k];
            if (i == k) continue;
            for (size_t c = k; c < n; c++) A[i * n + c] -= by * A[k * n + c];
            for (size_t c = 0; c < n; c++) B[i * n + c] -= by * B[k * n + c];
        }
    }
    for (size_t i = 0; i < n * n; i++) B[i] /= A[i / n * (n + 1)];
    return true;
}

static double weight_of(const lth__softmax *l, size_t row) {
    return l->weight ? l->weight[row] : 1;
}

/* V in the place of S; `room` has 2 n^2. Where there is no V the row keeps its site. */
static void leave_out_row(const lth__softmax *l, size_t rows, size_t row, double *mean, double *S,
                          double *room) {
    size_t n = l->classes;
    double *A = room, *V = room + n * n;
    memcpy(V, S, n * n * sizeof *V);
    for (size_t c = 0; c < n; c++) {
        double by_p = 0; /* of S W = w (S diag(p) - (S p) p^T) */
        for (size_t k = 0; k < n; k++) {
            double r = l->root_p[k * rows + row];
            by_p += S[c * n + k] * r * r;
        }
        for (size_t k = 0; k < n; k++) {
            double r = l->root_p[k * rows + row];
            A[c * n + k] = (c == k) - weight_of(l, row) * r * r * (S[c * n + k] - by_p);
        }
        mean[c] = l->f[c * rows + row];
    }
    if (!solve(n, A, V)) return;
    for (size_t c = 0; c < n; c++) {
        for (size_t k = 0; k < n; k++) {
            S[c * n + k] = 0.5 * (V[c * n + k] + V[k * n + c]);
            mean[c] -= S[c * n + k] * l->a[k * rows + row];
        }
    }
}

/* Rows from `first` on: their columns of K, times the roots of weights, are X; `room` is as large.
 */
static lth_status spread(const lth__softmax *l, const lth__matrix *K, size_t first, size_t m,
                         double *X, double *room, double *self, double *covariance,
                         lth_error *err) {
    size_t n = K->n;
    memset(room, 0, n * m * sizeof *room);
    for (size_t j = 0; j < m; j++) room[(first + j) * m + j] = 1;
    LTH_TRY(K->table->multiply(K, m, room, X, err));
    for (size_t j = 0; j < m; j++) self[j] = X[(first + j) * m + j];
    for (size_t at = 0; at < n * m; at++) X[at] *= sqrt(weight_of(l, at / m));
    return lth__softmax_spread(l, m, X, self, covariance, err);
}

lth_status lth__softmax_leave_out(const lth__softmax *l, const lth__matrix *K, double *mean,
                                  double *covariance, lth_error *err) {
    size_t n = K->n, classes = l->classes, square = classes * classes;
    size_t block = n < LTH__SOFTMAX_BLOCK ? n : LTH__SOFTMAX_BLOCK;
    size_t cells = 2 * n * block + block + 2 * square;
    double *X = lth__alloc(cells, sizeof *X), *room = X + n * block, *self = room + n * block;
    if (!X) return lth__fail_memory(err, cells * sizeof *X);
    lth_status status = LTH_OK;
    for (size_t first = 0; first < n && status == LTH_OK; first += block) {
        size_t m = n - first < block ? n - first : block;
        status = spread(l, K, first, m, X, room, self, covariance + first * square, err);
        for (size_t i = first; i < first + m && status == LTH_OK; i++)
            leave_out_row(l, n, i, mean + i * classes, covariance + i * square, self + block);
    }
    lth__free(X);
    return status;
}
