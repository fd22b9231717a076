#include "model/posterior/softmax.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

static double weight_of(const lth__softmax *l, size_t i) {
    return l->weight ? l->weight[i] : 1;
}

/* ---- Factors ---- */

/* F of a class, and what it adds to log |I + K W|. */
static lth_status factor_class(const lth__softmax *l, const lth__matrix *K, size_t c, double *root,
                               double *log_determinant, lth_error *err) {
    lth__matrix *F = &l->F[c];
    const double *r = l->root_p + c * K->n;
    double of_class;
    for (size_t i = 0; i < K->n; i++) root[i] = r[i] * sqrt(weight_of(l, i));
    LTH_TRY(K->table->sandwich(K, root, F, err));
    LTH_TRY(F->table->factor(F, &of_class, err));
    *log_determinant += of_class;
    LTH_TRY(F->table->invert(F, err));
    return F->table->scale(F, r, err);
}

/* S is summed up by what adds weights: S <- S - F / 2, with nothing else in them. */
static lth_status factor(lth__softmax *l, const lth__matrix *K, double *room, double *sum,
                         lth_error *err) {
    lth__matrix *S = l->S;
    double *none = room + K->n, of_sum;
    memset(none, 0, K->n * sizeof *none);
    LTH_TRY(S->table->reserve(S, err));
    LTH_TRY(S->table->fill(S, 0, err));
    for (size_t c = 0; c < l->classes; c++) {
        LTH_TRY(factor_class(l, K, c, room, sum, err));
        LTH_TRY(S->table->add_weights(S, &l->F[c], none, none, none, err));
    }
    LTH_TRY(S->table->affine(S, -2, 0, err));
    LTH_TRY(S->table->factor(S, &of_sum, err));
    *sum += of_sum;
    l->inverted = false;
    return isfinite(*sum) ? LTH_OK : LTH_ENUMERIC;
}

lth_status lth__softmax_factor(lth__softmax *l, const lth__matrix *K, double *log_determinant,
                               lth_error *err) {
    double *room = lth__alloc(2 * K->n, sizeof *room), sum = 0;
    if (!room) return lth__fail_memory(err, 2 * K->n * sizeof *room);
    lth_status status = factor(l, K, room, &sum, err);
    lth__free(room);
    if (status == LTH_OK) *log_determinant = sum;
    return status;
}

lth_status lth__softmax_apply(const lth__softmax *l, const double *x, double *room, double *out,
                              lth_error *err) {
    const lth__matrix *S = l->S;
    size_t n = S->n;
    double *sum = room, *other = room + n;
    memset(sum, 0, n * sizeof *sum);
    for (size_t c = 0; c < l->classes; c++) {
        const lth__matrix *F = &l->F[c];
        for (size_t i = 0; i < n; i++) other[i] = sqrt(weight_of(l, i)) * x[c * n + i];
        LTH_TRY(F->table->multiply(F, 1, other, out + c * n, err));
        for (size_t i = 0; i < n; i++) sum[i] += out[c * n + i];
    }
    if (l->inverted) {
        memcpy(other, sum, n * sizeof *other);
        LTH_TRY(S->table->multiply(S, 1, other, sum, err));
    } else {
        LTH_TRY(S->table->solve(S, 1, sum, err));
    }
    for (size_t c = 0; c < l->classes; c++) {
        LTH_TRY(l->F[c].table->multiply(&l->F[c], 1, sum, other, err));
        for (size_t i = 0; i < n; i++)
            out[c * n + i] = sqrt(weight_of(l, i)) * (out[c * n + i] - other[i]);
    }
    return LTH_OK;
}

/* ---- The mode, by Newton's method ---- */

typedef struct newton {
    lth__softmax *l;
    const lth__matrix *K;
    size_t n, cells;
    double *slope, *Ks, *step, *before; /* cells each; `before` twice, a and f */
    double *room;                       /* 2 n */
} newton;

/* By [class][row]. */
static lth_status multiply(const newton *s, const double *x, double *out, lth_error *err) {
    for (size_t c = 0; c < s->l->classes; c++)
        LTH_TRY(s->K->table->multiply(s->K, 1, x + c * s->n, out + c * s->n, err));
    return LTH_OK;
}

/* d log p / df, and the probabilities' roots. */
static void find_slope(const newton *s) {
    const lth__softmax *l = s->l;
    size_t n = s->n;
    for (size_t i = 0; i < n; i++) {
        lth__softmax_at(l->classes, n, l->f + i, l->root_p + i);
        for (size_t at = i; at < s->cells; at += n) {
            s->slope[at] = weight_of(l, i) * ((l->y[at] > 0) - l->root_p[at]);
            l->root_p[at] = sqrt(l->root_p[at]);
        }
    }
}

/* What Newton maximises: log p(y | f) - a^T f / 2, for f = K a. */
static double height(const newton *s) {
    const lth__softmax *l = s->l;
    double sum = 0;
    for (size_t i = 0; i < s->n; i++) {
        double all = lth__softmax_at(l->classes, s->n, l->f + i, NULL);
        for (size_t at = i; at < s->cells; at += s->n) {
            sum -= 0.5 * l->a[at] * l->f[at];
            if (l->y[at] > 0) sum += weight_of(l, i) * (l->f[at] - all);
        }
    }
    return sum;
}

/* (I - R K) (slope - a): nothing at the mode, whatever the errors of R. */
static lth_status find_step(const newton *s, lth_error *err) {
    for (size_t i = 0; i < s->cells; i++) s->slope[i] -= s->l->a[i];
    LTH_TRY(multiply(s, s->slope, s->Ks, err));
    LTH_TRY(lth__softmax_apply(s->l, s->Ks, s->room, s->step, err));
    for (size_t i = 0; i < s->cells; i++) s->step[i] = s->slope[i] - s->step[i];
    return LTH_OK;
}

/* How far f has gone, beside its size. */
static double moved(const newton *s) {
    double most = 0, size = 1;
    for (size_t i = 0; i < s->cells; i++) {
        most = fmax(most, fabs(s->l->f[i] - s->before[s->cells + i]));
        size = fmax(size, fabs(s->l->f[i]));
    }
    return most / size;
}

/* a and f at so much of the step, from `before`: f is K a, but for rounding. */
static void go_along(const newton *s, double part) {
    for (size_t i = 0; i < s->cells; i++) {
        s->l->a[i] = s->before[i] + part * s->step[i];
        s->l->f[i] = s->before[s->cells + i] + part * s->Ks[i];
    }
}

/* Go as much of the step as goes up; *now becomes what is reached. K step, by which shorter steps
 * are tried, is known from the whole one. */
static lth_status climb(const newton *s, double *now, lth_error *err) {
    const lth__softmax *l = s->l;
    double *a = s->before, *f = a + s->cells, least = *now - 1e-12 * fabs(*now);
    memcpy(a, l->a, s->cells * sizeof *a);
    memcpy(f, l->f, s->cells * sizeof *f);
    for (size_t i = 0; i < s->cells; i++) l->a[i] = a[i] + s->step[i];
    LTH_TRY(multiply(s, l->a, l->f, err));
    double reached = height(s);
    for (size_t i = 0; i < s->cells; i++) s->Ks[i] = l->f[i] - f[i];
    for (double part = 0.5; !(reached >= least) && part > 1e-6; part /= 2) {
        go_along(s, part);
        reached = height(s);
        if (reached >= least) LTH_TRY(multiply(s, l->a, l->f, err));
    }
    if (reached >= least) {
        *now = height(s);
        return LTH_OK;
    }
    memcpy(l->a, a, s->cells * sizeof *a);
    memcpy(l->f, f, s->cells * sizeof *f);
    return LTH_OK;
}

static lth_status search(const newton *s, lth_error *err) {
    enum { MOST_STEPS = 100 };
    lth__softmax *l = s->l;
    double log_determinant;
    LTH_TRY(multiply(s, l->a, l->f, err));
    double now = height(s);
    if (!(now > -1e6 * (double)s->n)) { /* a start from elsewhere that does not suit, or NaN */
        memset(l->a, 0, s->cells * sizeof *l->a);
        memset(l->f, 0, s->cells * sizeof *l->f);
        now = height(s);
    }
    /* The digits of f double with each step: after one of 1e-6 all are there. */
    for (int i = 0, flat = 0; i < MOST_STEPS && flat < 3; i++) {
        double from = now;
        find_slope(s);
        LTH_TRY(lth__softmax_factor(l, s->K, &log_determinant, err));
        LTH_TRY(find_step(s, err));
        LTH_TRY(climb(s, &now, err));
        if (!isfinite(now)) return LTH_ENUMERIC;
        if (moved(s) <= 1e-6) break;
        if (now - from <= 1e-9 * (1 + fabs(now))) flat++;
    }
    find_slope(s);
    LTH_TRY(lth__softmax_factor(l, s->K, &log_determinant, err));
    l->evidence = now - 0.5 * log_determinant;
    return isfinite(l->evidence) ? LTH_OK : LTH_ENUMERIC;
}

lth_status lth__softmax_mode(lth__softmax *l, const lth__matrix *K, lth_error *err) {
    size_t n = K->n, cells = n * l->classes;
    newton s = {.l = l, .K = K, .n = n, .cells = cells};
    double *room = s.room = lth__alloc(2 * n + 5 * cells, sizeof *room);
    if (!room) return lth__fail_memory(err, (2 * n + 5 * cells) * sizeof *room);
    s.slope = room + 2 * n;
    s.Ks = s.slope + cells;
    s.step = s.Ks + cells;
    s.before = s.step + cells;
    lth_status status = search(&s, err);
    lth__free(room);
    return status;
}

/* ---- Covariances of classes ---- */

/* out[j * stride] += by sum_i X_ij Y_ij. */
static void add_inner(size_t n, size_t m, const double *X, const double *Y, double by, double *out,
                      size_t stride) {
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < m; j++) out[j * stride] += by * X[i * m + j] * Y[i * m + j];
    }
}

lth_status lth__softmax_spread(const lth__softmax *l, size_t m, const double *X, const double *self,
                               double *covariance, lth_error *err) {
    size_t n = l->S->n, classes = l->classes, square = classes * classes;
    double *Y = lth__alloc((classes + 1) * n * m, sizeof *Y), *Z = Y + classes * n * m;
    if (!Y) return lth__fail_memory(err, (classes + 1) * n * m * sizeof *Y);
    lth_status status = LTH_OK;
    memset(covariance, 0, m * square * sizeof *covariance);
    for (size_t c = 0; c < classes && status == LTH_OK; c++) {
        double *of = Y + c * n * m, *own = covariance + c * classes + c;
        status = l->F[c].table->multiply(&l->F[c], m, X, of, err);
        if (status == LTH_OK) status = l->S->table->multiply(l->S, m, of, Z, err);
        if (status != LTH_OK) break;
        for (size_t j = 0; j < m; j++) own[j * square] += self[j];
        add_inner(n, m, X, of, -1, own, square);
        for (size_t d = 0; d <= c; d++) /* the lower triangle */
            add_inner(n, m, Y + d * n * m, Z, 1, covariance + c * classes + d, square);
    }
    for (size_t at = 0; at < m * square; at += square) {
        for (size_t c = 0; c < square; c++) {
            size_t row = c / classes, col = c % classes;
            if (col > row) covariance[at + c] = covariance[at + col * classes + row];
        }
    }
    lth__free(Y);
    return status;
}
