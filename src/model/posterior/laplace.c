#include "model/posterior/laplace.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

static lth__log_p at(const lth__laplace *l, size_t i) {
    return lth__seen_at(&l->seen, i, l->f[i]);
}

/* ---- The mode, by Newton's method ---- */

typedef struct newton {
    lth__laplace *l;
    const lth__matrix *K;
    size_t n;
    double *b, *step, *next, *from_f; /* n each */
} newton;

static lth_status multiply(const newton *s, const double *x, double *out, lth_error *err) {
    return s->K->table->multiply(s->K, 1, x, out, err);
}

/* What Newton maximises: log p(y | f) - a^T f / 2, for f = K a. */
static double height(const newton *s) {
    const lth__laplace *l = s->l;
    double sum = 0;
    for (size_t i = 0; i < s->n; i++) sum += at(l, i).value - 0.5 * l->a[i] * l->f[i];
    return sum;
}

/* W^1/2 at f, and the factor with it. Where that is no distribution, W is held above 0: so is the
 * way to the mode, where it is one. */
static lth_status factor(newton *s, lth_error *err) {
    lth__laplace *l = s->l;
    for (size_t i = 0; i < s->n; i++) l->root_w[i] = lth__site_root(-at(l, i).d2);
    lth_status status = lth__site_factor_make(&l->factor, s->K, l->root_w, err);
    if (status != LTH_ENUMERIC) return status;
    for (size_t i = 0; i < s->n; i++) l->root_w[i] = fmax(l->root_w[i], 0);
    return lth__site_factor_make(&l->factor, s->K, l->root_w, err);
}

/* a of the full step: b - R K b with b = W f + d log p / df. */
static lth_status full_step(const newton *s, lth_error *err) {
    lth__laplace *l = s->l;
    for (size_t i = 0; i < s->n; i++)
        s->b[i] = lth__site_precision(l->root_w[i]) * l->f[i] + at(l, i).d1;
    LTH_TRY(multiply(s, s->b, s->next, err));
    LTH_TRY(lth__site_factor_apply(&l->factor, l->root_w, s->next, s->step, err));
    for (size_t i = 0; i < s->n; i++) s->step[i] = s->b[i] - s->step[i] - l->a[i];
    return LTH_OK;
}

/* a and f at so much of the step, from `b` and `from_f`: f is K a, but for rounding. */
static void go_along(const newton *s, double part) {
    lth__laplace *l = s->l;
    for (size_t i = 0; i < s->n; i++) {
        l->a[i] = s->b[i] + part * s->step[i];
        l->f[i] = s->from_f[i] + part * s->next[i];
    }
}

/* Go as much of the step as goes up; *gain says by how much, 0 when nothing does. K step, by which
 * shorter steps are tried, is known from the whole one. */
static lth_status climb(const newton *s, double from, double *gain, lth_error *err) {
    lth__laplace *l = s->l;
    double least = -1e-12 * fabs(from);
    memcpy(s->b, l->a, s->n * sizeof *s->b);
    memcpy(s->from_f, l->f, s->n * sizeof *s->from_f);
    for (size_t i = 0; i < s->n; i++) l->a[i] = s->b[i] + s->step[i];
    LTH_TRY(multiply(s, l->a, l->f, err));
    *gain = height(s) - from;
    if (*gain >= least) return LTH_OK;
    for (size_t i = 0; i < s->n; i++) s->next[i] = l->f[i] - s->from_f[i];
    for (double part = 0.5; part > 1e-6; part /= 2) {
        go_along(s, part);
        if (!(height(s) - from >= least)) continue;
        LTH_TRY(multiply(s, l->a, l->f, err));
        *gain = height(s) - from;
        return LTH_OK;
    }
    memcpy(l->a, s->b, s->n * sizeof *s->b);
    memcpy(l->f, s->from_f, s->n * sizeof *s->from_f);
    *gain = 0;
    return LTH_OK;
}

static lth_status search(newton *s, lth_error *err) {
    enum { MOST_STEPS = 100 };
    lth__laplace *l = s->l;
    LTH_TRY(multiply(s, l->a, l->f, err));
    double now = height(s), gain;
    if (!(now > -1e6 * (double)s->n)) { /* a start from elsewhere that does not suit, or NaN */
        memset(l->a, 0, s->n * sizeof *l->a);
        memset(l->f, 0, s->n * sizeof *l->f);
        now = height(s);
    }
    /* The digits of f double with each step, and |B| wants them all: two more steps after the
     * height has no more to gain that shows. */
    for (int i = 0, flat = 0; i < MOST_STEPS && flat < 3; i++) {
        LTH_TRY(factor(s, err));
        LTH_TRY(full_step(s, err));
        LTH_TRY(climb(s, now, &gain, err));
        now += gain;
        if (!isfinite(now)) return LTH_ENUMERIC;
        if (l->seen.likelihood->quadratic) break; /* W is the same everywhere */
        if (gain <= 1e-9 * (1 + fabs(now))) flat++;
    }
    if (!l->seen.likelihood->quadratic) LTH_TRY(factor(s, err));
    l->evidence = now - 0.5 * l->factor.log_determinant;
    return isfinite(l->evidence) ? LTH_OK : LTH_ENUMERIC;
}

lth_status lth__laplace_mode(lth__laplace *l, const lth__matrix *K, lth_error *err) {
    newton s = {.l = l, .K = K, .n = K->n, .b = lth__alloc(4 * K->n, sizeof *s.b)};
    if (!s.b) return lth__fail_memory(err, 4 * K->n * sizeof *s.b);
    s.step = s.b + s.n;
    s.next = s.step + s.n;
    s.from_f = s.next + s.n;
    l->factor.L = l->L;
    lth_status status = search(&s, err);
    lth__free(s.b);
    return status;
}

/* ---- The gradient ---- */

/* The evidence depends on K directly, and through the mode: with R = (K + W^-1)^-1,
 *
 *     M = (a a^T - R)/2 + (u g^T + g u^T)/2,   g = d log p / df,   u = (I - R K) s,
 *     s_i = (posterior variance of f_i) / 2 * d^3 log p / df^3 */

/* Whether W is 0 where it would be negative. */
static bool is_held(const lth__laplace *l, size_t i) {
    return l->root_w[i] == 0 && at(l, i).d2 > 0;
}

/* By a parameter of the likelihood: directly, through W, and through the mode, which moves by
 * (K^-1 + W)^-1 times the derivative of d log p / df. */
static void add_params(const lth__laplace *l, const double *variance, const double *Ku, size_t n,
                       double *by_params) {
    lth__log_p by[LTH__MOST_OWN];
    for (size_t i = 0; i < n; i++) {
        double of_w = is_held(l, i) ? 0 : 0.5 * variance[i];
        lth__seen_by_params(&l->seen, i, l->f[i], by);
        for (size_t k = 0; k < l->seen.params; k++)
            by_params[k] += by[k].value + of_w * by[k].d2 + Ku[i] * by[k].d1;
    }
}

static lth_status add_weights(lth__laplace *l, const lth__matrix *K, lth__matrix *M,
                              double *by_params, double *room, lth_error *err) {
    size_t n = K->n;
    lth__matrix *X = l->L;
    double *g = room, *s = g + n, *Ks = s + n, *u = Ks + n, *variance = u + n;
    LTH_TRY(lth__site_factor_invert(&l->factor, l->root_w, err)); /* X = R */
    LTH_TRY(lth__site_factor_variances(&l->factor, K, l->root_w, variance, u, err));
    for (size_t i = 0; i < n; i++) {
        lth__log_p x = at(l, i);
        g[i] = x.d1;
        s[i] = is_held(l, i) ? 0 : 0.5 * variance[i] * x.d3;
    }
    LTH_TRY(K->table->multiply(K, 1, s, Ks, err));
    LTH_TRY(X->table->multiply(X, 1, Ks, u, err));
    for (size_t i = 0; i < n; i++) u[i] = s[i] - u[i];
    if (l->seen.params > 0) {
        LTH_TRY(K->table->multiply(K, 1, u, Ks, err));
        add_params(l, variance, Ks, n, by_params);
    }
    return M->table->add_weights(M, X, l->a, u, g, err);
}

lth_status lth__laplace_weights(lth__laplace *l, const lth__matrix *K, lth__matrix *M,
                                double *by_params, lth_error *err) {
    double *room = lth__alloc(5 * K->n, sizeof *room);
    if (!room) return lth__fail_memory(err, 5 * K->n * sizeof *room);
    lth_status status = add_weights(l, K, M, by_params, room, err);
    lth__free(room);
    return status;
}
