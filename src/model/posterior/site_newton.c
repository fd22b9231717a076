#include "model/posterior/site_newton.h"

#include <math.h>
#include <string.h>

enum { MOST = 12, VECTORS = MOST + 1 }; /* of [dm, dv] */

size_t lth__site_newton_room(size_t n) {
    return (2 * VECTORS + 4) * n;
}

static double *vector_at(const lth__site_newton *x, size_t i) {
    return x->room + 2 * i * x->R->n;
}

/* ---- Products with S and S o S ---- */

static const double least = 1e-6; /* of D v: S o S has four digits then */

/* 1 / D, or 0 where D is as good as that. */
static double inverse_of(const lth__site_newton *x, size_t i) {
    return fabs(x->D[i]) * x->variance[i] > least ? 1 / x->D[i] : 0;
}

/* out = [S u, -(S o S) w] of both in `in`, which may be the same. */
static lth_status carry_over(const lth__site_newton *x, const double *in, double *out,
                             lth_error *err) {
    size_t n = x->R->n;
    double *t = x->room + 2 * VECTORS * n, *w = t + n, *Rt = w + n, *Rw = Rt + n;
    for (size_t i = 0; i < n; i++) {
        double inverse = inverse_of(x, i);
        t[i] = inverse * in[i];
        w[i] = inverse * inverse * in[n + i];
    }
    LTH_TRY(x->R->table->multiply(x->R, 1, t, Rt, err));
    LTH_TRY(x->R->table->multiply_squares(x->R, 1, w, Rw, err));
    for (size_t i = 0; i < n; i++) {
        double inverse = inverse_of(x, i), v = x->variance[i], beside = inverse - v;
        bool none = inverse == 0;
        out[i] = (none ? v : inverse) * in[i] - inverse * Rt[i];
        out[n + i] =
            -inverse * inverse * Rw[i] - (v * v - (none ? 0 : beside * beside)) * in[n + i];
    }
    return LTH_OK;
}

/* In units of f. */
static double inner(const lth__site_newton *x, const double *a, const double *b) {
    size_t n = x->R->n;
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        double v = x->variance[i];
        if (v > 0) sum += a[i] * b[i] / v + a[n + i] * b[n + i] / (v * v);
    }
    return sum;
}

static void add(size_t n, double by, const double *a, double *to) {
    for (size_t i = 0; i < 2 * n; i++) to[i] += by * a[i];
}

/* out = what is left of `in` = [dm, dv] when what it turns is carried over. */
static lth_status apply(const lth__site_newton *x, const double *in, double *out, lth_error *err) {
    size_t n = x->R->n;
    for (size_t i = 0; i < n; i++) {
        double dm = in[i], dv = in[n + i];
        out[i] = x->g_by_m[i] * dm + x->g_by_v[i] * dv;
        out[n + i] = x->d_by_m[i] * dm + x->d_by_v[i] * dv;
    }
    LTH_TRY(carry_over(x, out, out, err));
    for (size_t i = 0; i < 2 * n; i++) out[i] = in[i] - out[i];
    return LTH_OK;
}

lth_status lth__site_newton_measure(lth__site_newton *x, lth_error *err) {
    size_t n = x->R->n;
    double *first = vector_at(x, 0);
    memcpy(first, x->short_of_g, n * sizeof *first);
    memcpy(first + n, x->short_of_d, n * sizeof *first);
    LTH_TRY(carry_over(x, first, first, err));
    memcpy(x->dm, first, n * sizeof *first);
    memcpy(x->dv, first + n, n * sizeof *first);
    x->lack = 0;
    for (size_t i = 0; i < n; i++)
        x->lack += x->short_of_g[i] * x->dm[i] / 2 - x->short_of_d[i] * x->dv[i] / 4;
    return LTH_OK;
}

/* ---- GMRES ---- */

/* Columns of H, which rotations make upper triangular, and the right-hand side with them. */
typedef struct least_squares {
    double H[MOST][MOST + 1], c[MOST], s[MOST], rest[MOST + 1];
} least_squares;

static void turn_column(least_squares *q, size_t k) {
    double *h = q->H[k];
    for (size_t i = 0; i < k; i++) {
        double a = h[i], b = h[i + 1];
        h[i] = q->c[i] * a + q->s[i] * b;
        h[i + 1] = q->c[i] * b - q->s[i] * a;
    }
    double length = hypot(h[k], h[k + 1]);
    q->c[k] = length > 0 ? h[k] / length : 1;
    q->s[k] = length > 0 ? h[k + 1] / length : 0;
    h[k] = length;
    q->rest[k + 1] = -q->s[k] * q->rest[k];
    q->rest[k] *= q->c[k];
}

static void take_sum(const lth__site_newton *x, least_squares *q, size_t count) {
    size_t n = x->R->n;
    memset(x->dm, 0, n * sizeof *x->dm);
    memset(x->dv, 0, n * sizeof *x->dv);
    for (size_t k = count; k-- > 0;) {
        for (size_t j = k + 1; j < count; j++) q->rest[k] -= q->H[j][k] * q->rest[j];
        q->rest[k] = q->H[k][k] > 0 ? q->rest[k] / q->H[k][k] : 0;
        const double *v = vector_at(x, k);
        for (size_t i = 0; i < n; i++) {
            x->dm[i] += q->rest[k] * v[i];
            x->dv[i] += q->rest[k] * v[n + i];
        }
    }
}

/* The next vector of the basis, whose length is the last cell of column k; it stays as long. */
static lth_status extend(const lth__site_newton *x, least_squares *q, size_t k, lth_error *err) {
    double *next = vector_at(x, k + 1);
    LTH_TRY(apply(x, vector_at(x, k), next, err));
    for (size_t i = 0; i <= k; i++) {
        q->H[k][i] = inner(x, next, vector_at(x, i));
        add(x->R->n, -q->H[k][i], vector_at(x, i), next);
    }
    q->H[k][k + 1] = sqrt(inner(x, next, next));
    return LTH_OK;
}

static void shorten(const lth__site_newton *x, double *v, double length) {
    for (size_t i = 0; i < 2 * x->R->n; i++) v[i] /= length;
}

lth_status lth__site_newton_solve(lth__site_newton *x, double share, lth_error *err) {
    least_squares q = {0};
    double length = sqrt(inner(x, vector_at(x, 0), vector_at(x, 0)));
    if (!(length > 0)) return LTH_OK;
    shorten(x, vector_at(x, 0), length);
    q.rest[0] = length;
    size_t count = 0;
    while (count < MOST && fabs(q.rest[count]) > share * length) {
        LTH_TRY(extend(x, &q, count, err));
        double rest = q.H[count][count + 1];
        turn_column(&q, count);
        count++;
        if (!(rest > 0)) break;
        shorten(x, vector_at(x, count), rest);
    }
    take_sum(x, &q, count);
    return LTH_OK;
}
