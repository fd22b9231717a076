#include "model/gp/laplace.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

/* ---- The two ways from f to a probability ---- */

/* log p(y | f) and its first three derivatives by f. */
typedef struct likelihood {
    double log_p, d1, d2, d3;
} likelihood;

static likelihood logit(double y, double f) {
    double z = y * f, small = exp(-fabs(z)); /* no overflow on either side */
    double p = (f >= 0 ? 1 : exp(f)) / (1 + exp(-fabs(f))), w = p * (1 - p);
    if (w < small / 4 / (1 + small))
        w = small / ((1 + small) * (1 + small)); /* 1 - p has rounded to 0 */
    return (likelihood){.log_p = (z < 0 ? z : 0) - log1p(small),
                        .d1 = y * (z >= 0 ? small / (1 + small) : 1 / (1 + small)),
                        .d2 = -w,
                        .d3 = -w * (1 - 2 * p)};
}

/* log of the normal distribution function, also far to the left where it is 0 as a number. */
static double log_phi(double z) {
    if (z > -6) return log(0.5 * erfc(-z / M_SQRT2));
    double x = 1 / (z * z);
    double series = 1 - x * (1 - 3 * x * (1 - 5 * x * (1 - 7 * x * (1 - 9 * x))));
    return -0.5 * z * z - log(-z) - 0.5 * log(2 * M_PI) + log(series);
}

static likelihood probit(double y, double f) {
    double z = y * f, log_p = log_phi(z);
    double r = exp(-0.5 * z * z - 0.5 * log(2 * M_PI) - log_p); /* density over distribution */
    return (likelihood){
        .log_p = log_p, .d1 = y * r, .d2 = -r * (z + r), .d3 = y * r * ((z + r) * (z + 2 * r) - 1)};
}

static likelihood at(lth__link link, double y, double f) {
    return link == LTH__LOGIT ? logit(y, f) : probit(y, f);
}

/* The mean of the logistic function under a normal distribution, by the trapezoidal rule, whose
 * error falls exponentially with the step for integrands as smooth as these: over the normal
 * density where that is the narrower of the two, otherwise over the logistic one. */
static double mean_logit(double mean, double sd) {
    double sum = 0;
    if (sd <= 1) {
        const double step = 0.25;
        for (double z = -9; z <= 9; z += step)
            sum += step * exp(-0.5 * z * z) / (1 + exp(-(mean + sd * z)));
        return sum / sqrt(2 * M_PI);
    }
    const double step = 0.5;
    for (double t = -40; t <= 40; t += step) {
        double e = exp(-fabs(t)), density = e / ((1 + e) * (1 + e));
        sum += step * density * 0.5 * erfc((t - mean) / sd / M_SQRT2);
    }
    return sum;
}

double lth__laplace_probability(lth__link link, double mean, double variance) {
    double v = variance > 0 ? variance : 0;
    if (link == LTH__PROBIT) return 0.5 * erfc(-mean / sqrt(1 + v) / M_SQRT2);
    double p = mean_logit(mean, sqrt(v));
    return p > 1 ? 1 : p;
}

/* ---- The mode, by Newton's method ---- */

typedef struct newton {
    lth__laplace *l;
    const lth__blas *blas;
    const double *K;
    double *b, *step, *next; /* n each */
} newton;

static void multiply(const lth__blas *blas, size_t n, const double *A, const double *x,
                     double *out) {
    blas->gemm_nn(n, 1, n, 1, A, n, x, 1, 0, out, 1);
}

/* What Newton maximises: log p(y | f) - a^T f / 2, for f = K a. */
static double height(const lth__laplace *l) {
    double sum = 0;
    for (size_t i = 0; i < l->n; i++)
        sum += at(l->link, l->y[i], l->f[i]).log_p - 0.5 * l->a[i] * l->f[i];
    return sum;
}

lth_status lth__laplace_factor(lth_ctx *ctx, const lth__laplace *l, const double *K,
                               lth_error *err) {
    size_t n = l->n;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) l->L[i * n + j] = l->root_w[i] * K[i * n + j] * l->root_w[j];
        l->L[i * n + i] += 1;
    }
    return lth__cholesky(ctx, n, l->L, err);
}

/* W^1/2 at f, and the Cholesky factor of B. */
static lth_status factor(lth_ctx *ctx, const newton *s, lth_error *err) {
    lth__laplace *l = s->l;
    for (size_t i = 0; i < l->n; i++) l->root_w[i] = sqrt(-at(l->link, l->y[i], l->f[i]).d2);
    return lth__laplace_factor(ctx, l, s->K, err);
}

/* a of the full step: b - W^1/2 B^-1 W^1/2 K b with b = W f + d log p / df. */
static lth_status full_step(lth_ctx *ctx, const newton *s, lth_error *err) {
    lth__laplace *l = s->l;
    for (size_t i = 0; i < l->n; i++) {
        likelihood x = at(l->link, l->y[i], l->f[i]);
        s->b[i] = -x.d2 * l->f[i] + x.d1;
    }
    multiply(s->blas, l->n, s->K, s->b, s->next);
    for (size_t i = 0; i < l->n; i++) s->next[i] *= l->root_w[i];
    LTH_TRY(lth__cholesky_solve(ctx, l->n, l->L, 1, s->next, err));
    for (size_t i = 0; i < l->n; i++) s->step[i] = s->b[i] - l->root_w[i] * s->next[i] - l->a[i];
    return LTH_OK;
}

/* Go as much of the step as goes up; returns by how much, 0 when nothing does. */
static double climb(const newton *s, double from) {
    lth__laplace *l = s->l;
    memcpy(s->b, l->a, l->n * sizeof *s->b);
    for (double part = 1; part > 1e-6; part /= 2) {
        for (size_t i = 0; i < l->n; i++) l->a[i] = s->b[i] + part * s->step[i];
        multiply(s->blas, l->n, s->K, l->a, l->f);
        double gain = height(l) - from;
        if (gain >= -1e-12 * fabs(from)) return gain;
    }
    memcpy(l->a, s->b, l->n * sizeof *s->b);
    multiply(s->blas, l->n, s->K, l->a, l->f);
    return 0;
}

static lth_status search(lth_ctx *ctx, newton *s, lth_error *err) {
    enum { MOST_STEPS = 100 };
    lth__laplace *l = s->l;
    multiply(s->blas, l->n, s->K, l->a, l->f);
    double now = height(l);
    if (!(now > -1e6 * (double)l->n)) { /* a start from elsewhere that does not suit, or NaN */
        memset(l->a, 0, l->n * sizeof *l->a);
        memset(l->f, 0, l->n * sizeof *l->f);
        now = height(l);
    }
    /* The digits of f double with each step, and |B| wants them all: two more steps after the
     * height has no more to gain that shows. */
    for (int i = 0, flat = 0; i < MOST_STEPS && flat < 3; i++) {
        LTH_TRY(factor(ctx, s, err));
        LTH_TRY(full_step(ctx, s, err));
        double gain = climb(s, now);
        now += gain;
        if (!isfinite(now)) return LTH_ENUMERIC;
        if (gain <= 1e-9 * (1 + fabs(now))) flat++;
    }
    LTH_TRY(factor(ctx, s, err));
    l->evidence = now - 0.5 * lth__cholesky_log_determinant(l->n, l->L);
    return isfinite(l->evidence) ? LTH_OK : LTH_ENUMERIC;
}

lth_status lth__laplace_mode(lth_ctx *ctx, lth__laplace *l, const double *K, lth_error *err) {
    newton s = {.l = l, .K = K, .b = lth__alloc(3 * l->n, sizeof *s.b)};
    if (!s.b) return lth__fail_memory(err, 3 * l->n * sizeof *s.b);
    s.step = s.b + l->n;
    s.next = s.step + l->n;
    lth_status status = lth__blas_get(&s.blas, err);
    if (status == LTH_OK) status = search(ctx, &s, err);
    lth__free(s.b);
    return status;
}

/* ---- The gradient ---- */

/* The evidence depends on K directly, and through the mode: with R = W^1/2 B^-1 W^1/2,
 *
 *     M = (a a^T - R)/2 + (u g^T + g u^T)/2,   g = d log p / df,   u = (I - R K) s,
 *     s_i = (posterior variance of f_i) / 2 * d^3 log p / df^3
 *
 * and the variance is (1 - B^-1_ii) / W_i. */
static lth_status add_weights(lth_ctx *ctx, const lth__laplace *l, const double *K, double *X,
                              double *M, double *room, lth_error *err) {
    size_t n = l->n;
    double *g = room, *s = g + n, *Ks = s + n, *u = Ks + n;
    const lth__blas *blas;
    LTH_TRY(lth__blas_get(&blas, err));
    LTH_TRY(lth__cholesky_inverse(ctx, n, l->L, X, err));
    for (size_t i = 0; i < n; i++) {
        likelihood x = at(l->link, l->y[i], l->f[i]);
        double w = -x.d2, variance = w > 1e-9 ? (1 - X[i * n + i]) / w : K[i * n + i];
        g[i] = x.d1;
        s[i] = 0.5 * variance * x.d3;
    }
    multiply(blas, n, K, s, Ks);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) X[i * n + j] *= l->root_w[i] * l->root_w[j];
    }
    multiply(blas, n, X, Ks, u);
    for (size_t i = 0; i < n; i++) u[i] = s[i] - u[i];
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++)
            M[i * n + j] += 0.5 * (l->a[i] * l->a[j] - X[i * n + j] + u[i] * g[j] + g[i] * u[j]);
    }
    return LTH_OK;
}

lth_status lth__laplace_weights(lth_ctx *ctx, const lth__laplace *l, const double *K, double *X,
                                double *M, lth_error *err) {
    double *room = lth__alloc(4 * l->n, sizeof *room);
    if (!room) return lth__fail_memory(err, 4 * l->n * sizeof *room);
    lth_status status = add_weights(ctx, l, K, X, M, room, err);
    lth__free(room);
    return status;
}
