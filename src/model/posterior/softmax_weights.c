/* The gradient of the evidence of classes that share a row.
 *
 * The evidence depends on K directly, and through the mode: d log q = sum_ij M_ij dK_ij with
 *
 *     M = sum_c (a_c a_c^T - R_cc + u_c g_c^T + g_c u_c^T) / 2,   g = d log p / df,
 *     u = (I - R K) s,   s = -d (log |I + K W| / 2) / df
 *     s_ic = -w_i p_ic (t_ic - sum_k p_ik t_ik) / 2,   t_i = diag(C_i) - 2 C_i p_i
 *
 * where C_i are the covariances of the classes' f at row i.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "model/posterior/softmax.h"

typedef struct weighing {
    lth__softmax *l;
    const lth__matrix *K;
    lth__matrix *M;
    size_t n, cells;
    double *s, *u, *Ks, *g;         /* by [class][row]                    */
    double *room, *self;            /* 2 n, n                             */
    double *X, *Y, *Z, *covariance; /* n x block each; [row][class][class] */
} weighing;

static double root_weight(const lth__softmax *l, size_t i) {
    return l->weight ? sqrt(l->weight[i]) : 1;
}

/* ---- Through the mode ---- */

static void find_slope_of_row(const weighing *w, size_t i, const double *C) {
    const lth__softmax *l = w->l;
    double root = root_weight(l, i), mean = 0, *s = w->s + i;
    for (size_t c = 0; c < l->classes; c++) {
        double t = C[c * l->classes + c], p = l->root_p[c * w->n + i];
        for (size_t k = 0; k < l->classes; k++) {
            double other = l->root_p[k * w->n + i];
            t -= 2 * C[c * l->classes + k] * other * other;
        }
        s[c * w->n] = t;
        mean += p * p * t;
    }
    for (size_t c = 0; c < l->classes; c++) {
        double p = l->root_p[c * w->n + i];
        s[c * w->n] = -0.5 * root * root * p * p * (s[c * w->n] - mean);
    }
}

static lth_status find_slopes(const weighing *w, size_t m, const size_t *row, lth_error *err) {
    LTH_TRY(lth__matrix_columns(w->K, m, row, w->Z, w->X, err));
    for (size_t i = 0; i < w->n; i++) {
        for (size_t j = 0; j < m; j++) w->X[i * m + j] *= root_weight(w->l, i);
    }
    LTH_TRY(lth__softmax_spread(w->l, m, w->X, w->self + row[0], w->covariance, err));
    size_t square = w->l->classes * w->l->classes;
    for (size_t j = 0; j < m; j++) find_slope_of_row(w, row[j], w->covariance + j * square);
    return LTH_OK;
}

/* u, and g. */
static lth_status follow_mode(const weighing *w, lth_error *err) {
    const lth__softmax *l = w->l;
    for (size_t at = 0; at < w->cells; at += w->n)
        LTH_TRY(w->K->table->multiply(w->K, 1, w->s + at, w->Ks + at, err));
    LTH_TRY(lth__softmax_apply(l, w->Ks, w->room, w->u, err));
    for (size_t i = 0; i < w->cells; i++) {
        double weight = root_weight(l, i % w->n), p = l->root_p[i] * l->root_p[i];
        w->u[i] = w->s[i] - w->u[i];
        w->g[i] = weight * weight * ((l->y[i] > 0) - p);
    }
    return LTH_OK;
}

/* ---- Directly ---- */

/* M += by A A^T / 2, for a sign `by`; *sign is that which M has meanwhile. */
static lth_status add_square(lth__matrix *M, size_t m, const double *A, double by, double *sign,
                             lth_error *err) {
    LTH_TRY(M->table->affine(M, -2 * *sign * by / (double)m, 0, err));
    *sign = by;
    return M->table->weigh(M, m, A, err);
}

/* What makes the columns of X and Y equally long, when X is multiplied with it and Y divided. */
static void balance(const weighing *w, size_t m, double *b) {
    double x[LTH__SOFTMAX_BLOCK] = {0}, y[LTH__SOFTMAX_BLOCK] = {0};
    for (size_t i = 0; i < w->n; i++) {
        for (size_t j = 0; j < m; j++) {
            x[j] += w->X[i * m + j] * w->X[i * m + j];
            y[j] += w->Y[i * m + j] * w->Y[i * m + j];
        }
    }
    for (size_t j = 0; j < m; j++) b[j] = x[j] > 0 && y[j] > 0 ? sqrt(sqrt(y[j] / x[j])) : 1;
}

/* Z = v (X b + by Y / b) / 2: X Y^T + Y X^T is a difference of two squares, of which little is lost
 * where columns are equally long. */
static void mix(const weighing *w, size_t m, const double *b, double by) {
    for (size_t i = 0; i < w->n; i++) {
        double root = root_weight(w->l, i);
        for (size_t j = 0; j < m; j++)
            w->Z[i * m + j] = 0.5 * root * (w->X[i * m + j] * b[j] + by * w->Y[i * m + j] / b[j]);
    }
}

/* M += v F S^-1 F v / 2 of each class, as far as these rows are in the middle of the product. */
static lth_status add_products(const weighing *w, size_t m, const size_t *row, double *sign,
                               lth_error *err) {
    double b[LTH__SOFTMAX_BLOCK];
    for (size_t c = 0; c < w->l->classes; c++) {
        const lth__matrix *F = &w->l->F[c];
        LTH_TRY(lth__matrix_columns(w->l->S, m, row, w->Z, w->X, err));
        LTH_TRY(F->table->multiply(F, m, w->X, w->Y, err));
        LTH_TRY(lth__matrix_columns(F, m, row, w->Z, w->X, err));
        balance(w, m, b);
        mix(w, m, b, 1);
        LTH_TRY(add_square(w->M, m, w->Z, 1, sign, err));
        mix(w, m, b, -1);
        LTH_TRY(add_square(w->M, m, w->Z, -1, sign, err));
    }
    return LTH_OK;
}

/* ---- All of it ---- */

static lth_status add_classes(const weighing *w, lth_error *err) {
    for (size_t i = 0; i < w->n; i++) w->room[i] = root_weight(w->l, i);
    for (size_t c = 0; c < w->l->classes; c++) {
        lth__matrix *F = &w->l->F[c];
        size_t at = c * w->n;
        if (w->l->weight) LTH_TRY(F->table->scale(F, w->room, err));
        LTH_TRY(w->M->table->add_weights(w->M, F, w->l->a + at, w->u + at, w->g + at, err));
    }
    return LTH_OK;
}

static lth_status weigh(const weighing *w, lth_error *err) {
    size_t row[LTH__SOFTMAX_BLOCK];
    double sign = 1;
    LTH_TRY(w->l->S->table->invert(w->l->S, err));
    w->l->inverted = true;
    LTH_TRY(w->K->table->diagonal(w->K, w->self, err));
    for (size_t first = 0; first < w->n; first += LTH__SOFTMAX_BLOCK) {
        size_t left = w->n - first, m = left < LTH__SOFTMAX_BLOCK ? left : LTH__SOFTMAX_BLOCK;
        for (size_t j = 0; j < m; j++) row[j] = first + j;
        LTH_TRY(find_slopes(w, m, row, err));
        LTH_TRY(add_products(w, m, row, &sign, err));
    }
    if (sign < 0) LTH_TRY(w->M->table->affine(w->M, -1, 0, err));
    LTH_TRY(follow_mode(w, err));
    return add_classes(w, err);
}

lth_status lth__softmax_weights(lth__softmax *l, const lth__matrix *K, lth__matrix *M,
                                lth_error *err) {
    size_t n = K->n, cells = n * l->classes, block = n * LTH__SOFTMAX_BLOCK;
    size_t count = 4 * cells + 3 * n + 3 * block + LTH__SOFTMAX_BLOCK * l->classes * l->classes;
    double *all = lth__alloc(count, sizeof *all);
    if (!all) return lth__fail_memory(err, count * sizeof *all);
    weighing w = {.l = l, .K = K, .M = M, .n = n, .cells = cells, .s = all};
    w.u = w.s + cells;
    w.Ks = w.u + cells;
    w.g = w.Ks + cells;
    w.room = w.g + cells;
    w.self = w.room + 2 * n;
    w.X = w.self + n;
    w.Y = w.X + block;
    w.Z = w.Y + block;
    w.covariance = w.Z + block;
    lth_status status = weigh(&w, err);
    lth__free(all);
    return status;
}
