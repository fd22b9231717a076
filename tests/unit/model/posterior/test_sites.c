/* Sites over all rows: the bound against sums over f, its best point, its gradient against central
 * differences, Gaussian noise in closed form; and Laplace's gradient by a likelihood's parameters.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "gp_support.h"
#include "model/common/linalg.h"
#include "model/posterior/laplace.h"
#include "model/posterior/site_newton.h"
#include "model/posterior/sites.h"

enum { N = 24, V = 0, LENGTH, PRIOR_PARAMS, MOST_PARAMS = PRIOR_PARAMS + 2 };

static lth_ctx *ctx;

/* ---- Student's likelihood, by the bound E log(1 + x) <= log(1 + E x) ---- */

static lth__log_p student_at(const lth__terms *t, double y, double f) {
    double s2 = t->theta[0], nu = t->theta[1], r = y - f, q = nu * s2 + r * r;
    return (lth__log_p){.value = lgamma((nu + 1) / 2) - lgamma(nu / 2) - 0.5 * log(M_PI * nu * s2) -
                                 (nu + 1) / 2 * log(q / (nu * s2)),
                        .d1 = (nu + 1) * r / q,
                        .d2 = (nu + 1) * (r * r - nu * s2) / (q * q),
                        .d3 = 2 * (nu + 1) * r * (r * r - 3 * nu * s2) / (q * q * q)};
}

static lth__expected bounded_expect(const lth__terms *t, double y, double mean, double variance) {
    double s2 = t->theta[0], nu = t->theta[1], r = y - mean;
    double q = nu * s2 + r * r + variance;
    double norm = student_at(t, y, y).value; /* at r = 0 */
    return (lth__expected){.value = norm - (nu + 1) / 2 * log(q / (nu * s2)),
                           .by_mean = (nu + 1) * r / q,
                           .by_variance = -(nu + 1) / 2 / q};
}

static void bounded_params(const lth__terms *t, double y, double mean, double variance,
                           double *by_params) {
    for (size_t k = 0; k < 2; k++) {
        double theta[2] = {t->theta[0], t->theta[1]}, h = 1e-4 * theta[k];
        lth__terms moved = {.theta = theta};
        double f[4];
        const double steps[] = {-2, -1, 1, 2};
        for (size_t i = 0; i < 4; i++) {
            theta[k] = t->theta[k] + steps[i] * h;
            f[i] = bounded_expect(&moved, y, mean, variance).value;
        }
        by_params[k] += (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * h);
    }
}

/* By a bound of its own; and as it is, by quadrature: outliers have negative sites. */
static const lth__likelihood bounded = {.name = "bounded",
                                        .has_noise = true,
                                        .at = student_at,
                                        .expect = bounded_expect,
                                        .expect_params = bounded_params};

static void student_params(const lth__terms *t, double y, double f, lth__log_p *out) {
    for (size_t k = 0; k < 2; k++) {
        double theta[2] = {t->theta[0], t->theta[1]}, h = 1e-3 * theta[k];
        lth__terms moved = {.theta = theta};
        const double steps[] = {-2, -1, 1, 2}, weights[] = {1, -8, 8, -1};
        out[k] = (lth__log_p){0};
        for (size_t i = 0; i < 4; i++) {
            theta[k] = t->theta[k] + steps[i] * h;
            lth__log_p p = student_at(&moved, y, f);
            out[k].value += weights[i] * p.value / (12 * h);
            out[k].d1 += weights[i] * p.d1 / (12 * h);
            out[k].d2 += weights[i] * p.d2 / (12 * h);
        }
    }
}

static const lth__likelihood student = {
    .name = "student", .has_noise = true, .at = student_at, .by_params = student_params};

/* ---- Problems ---- */

typedef struct kind {
    const lth__likelihood *likelihood;
    bool labels, known;
    size_t params;
    double theta[2];
} kind;

static const kind kinds[] = {
    {&lth__logit, true, false, 0, {0}},      {&lth__probit, true, true, 0, {0}},
    {&lth__gaussian, false, true, 1, {0.3}}, {&lth__censored, false, false, 1, {0.3}},
    {&lth__censored, false, true, 1, {0.2}}, {&student, false, false, 2, {0.1, 4}},
    {&student, false, true, 2, {0.2, 2.5}}};
enum { KINDS = sizeof kinds / sizeof *kinds };

typedef struct problem {
    size_t n;
    double x[N], y[N], weight[N], ratio[N], added[N], offset[N];
    double at[MOST_PARAMS]; /* of the prior, then the likelihood */
    double K[N * N], M[N * N];
    double l[N], D[N], a[N], f[N], variance[N], root[N];
    double packed_K[N * N], packed_L[N * N], packed_M[N * N]; /* more than enough */
    lth__matrix on_K, on_L, on_M;
    lth__seen seen;
    lth__sites s;
    lth__laplace laplace;
} problem;

static void fill_kernel(problem *p) {
    lth__packed K = lth__matrix_packed(&p->on_K);
    for (size_t i = 0; i < p->n; i++) {
        for (size_t j = 0; j < p->n; j++) {
            double d = (p->x[i] - p->x[j]) / p->at[LENGTH];
            p->K[i * p->n + j] = p->at[V] * exp(-0.5 * d * d) + 0.3;
        }
        memcpy(p->packed_K + lth__packed_row(&K, i), p->K + i * p->n, (i + 1) * sizeof *p->K);
    }
}

static problem *pose(const kind *k, size_t n) {
    problem *p = calloc(1, sizeof *p);
    assert_non_null(p);
    lth__random random;
    lth__random_seed(&random, 7);
    p->n = n;
    for (size_t i = 0; i < n; i++) {
        double wild = i % 7 == 3 ? 3 : 0;
        p->x[i] = 6 * lth__random_uniform(&random);
        p->y[i] = sin(p->x[i]) + 0.3 * lth__random_normal(&random) + wild;
        if (k->likelihood == &lth__censored) p->y[i] = fmax(fmin(p->y[i], 0.7), -0.5);
        if (k->labels) p->y[i] = p->y[i] > 0 ? 1 : -1;
        p->weight[i] = 0.5 + lth__random_uniform(&random);
        p->ratio[i] = 0.5 + lth__random_uniform(&random);
        p->added[i] = lth__random_uniform(&random);
        p->offset[i] = 0.2 * lth__random_normal(&random);
    }
    p->at[V] = 1.7;
    p->at[LENGTH] = 0.8;
    memcpy(p->at + PRIOR_PARAMS, k->theta, sizeof k->theta);
    p->on_K = lth__matrix_on_host(ctx, n, p->packed_K);
    p->on_L = lth__matrix_on_host(ctx, n, p->packed_L);
    p->on_M = lth__matrix_on_host(ctx, n, p->packed_M);
    p->seen = (lth__seen){.likelihood = k->likelihood,
                          .terms = {.theta = p->at + PRIOR_PARAMS, .lower = -0.5, .upper = 0.7},
                          .params = k->params,
                          .y = p->y};
    if (k->known) {
        p->seen.weight = p->weight;
        p->seen.ratio = p->ratio;
        p->seen.added = p->added;
        p->seen.added_unit = 0.1;
        p->seen.offset = p->offset;
        p->seen.link = 0.05;
    }
    p->s = (lth__sites){.seen = p->seen,
                        .tolerance = 1e-10,
                        .l = p->l,
                        .D = p->D,
                        .a = p->a,
                        .f = p->f,
                        .variance = p->variance,
                        .root_d = p->root,
                        .L = &p->on_L};
    p->laplace =
        (lth__laplace){.seen = p->seen, .a = p->a, .f = p->f, .root_w = p->root, .L = &p->on_L};
    fill_kernel(p);
    return p;
}

static void drop(problem *p) {
    lth__site_factor_free(&p->s.factor);
    lth__site_factor_free(&p->laplace.factor);
    free(p);
}

static double bound_of(problem *p) {
    fill_kernel(p);
    assert_int_equal(lth__sites_find(&p->s, &p->on_K, NULL), LTH_OK);
    return p->s.evidence;
}

static double laplace_of(problem *p) {
    fill_kernel(p);
    assert_int_equal(lth__laplace_mode(&p->laplace, &p->on_K, NULL), LTH_OK);
    return p->laplace.evidence;
}

/* ---- The bound ---- */

/* Two rows: the evidence is a sum over a grid of f = L z. */
static void bound_is_below(void **state) {
    (void)state;
    for (size_t k = 0; k < KINDS; k++) {
        problem *p = pose(&kinds[k], 2);
        double bound = bound_of(p), sum = 0, step = 0.02;
        double a = sqrt(p->K[0]), b = p->K[2] / a, c = sqrt(p->K[3] - b * b);
        for (double z = -8; z < 8; z += step) {
            double first = lth__seen_at(&p->seen, 0, a * z).value;
            for (double w = -8; w < 8; w += step)
                sum += exp(first + lth__seen_at(&p->seen, 1, b * z + c * w).value -
                           0.5 * (z * z + w * w));
        }
        double evidence = log(sum * step * step / (2 * M_PI)), most = 0.1;
        if (kinds[k].likelihood == &bounded) most = 0.5; /* a bound of the bound */
        assert_true(bound <= evidence + 1e-6);
        assert_true(bound > evidence - most);
        if (kinds[k].likelihood == &lth__gaussian) support_near(bound, evidence, 1e-6);
        drop(p);
    }
}

/* No other sites near have a higher bound. */
static void sites_are_best(void **state) {
    (void)state;
    for (size_t k = 0; k < KINDS; k++) {
        problem *p = pose(&kinds[k], N);
        double best = bound_of(p), l[N], D[N];
        memcpy(l, p->l, sizeof l);
        memcpy(D, p->D, sizeof D);
        if (kinds[k].likelihood == &lth__gaussian) {
            assert_int_equal(p->s.steps, 1);
            drop(p);
            continue;
        }
        p->s.tolerance = INFINITY; /* judge what is there */
        for (size_t i = 0; i < N; i++) {
            for (int way = -1; way <= 1; way += 2) {
                memcpy(p->l, l, sizeof l);
                memcpy(p->D, D, sizeof D);
                p->l[i] += 1e-2 * way;
                assert_true(bound_of(p) < best);
                memcpy(p->l, l, sizeof l);
                p->D[i] *= 1 + 1e-2 * way;
                assert_true(bound_of(p) < best + 1e-12);
            }
        }
        drop(p);
    }
}

/* From anywhere to the same place, and at once from there. */
static void starts(void **state) {
    (void)state;
    for (size_t k = 0; k < KINDS; k++) {
        problem *p = pose(&kinds[k], N);
        double best = bound_of(p);
        support_near(bound_of(p), best, 1e-12);
        assert_int_equal(p->s.steps, 1);
        for (size_t i = 0; i < N; i++) p->l[i] = 5 * sin((double)i), p->D[i] = (double)(i % 4);
        support_near(bound_of(p), best, 1e-9);
        p->D[3] = NAN;
        support_near(bound_of(p), best, 1e-9);
        p->packed_K[lth__packed_row(&(lth__packed){.n = N, .shift = 6}, 5)] = NAN;
        assert_int_equal(lth__sites_find(&p->s, &p->on_K, NULL), LTH_ENUMERIC);
        drop(p);
    }
}

/* ---- Gradients ---- */

/* By every parameter, from the weights of K in M. */
static void gather(problem *p, const double *by_params, double *gradient) {
    lth__packed M = lth__matrix_packed(&p->on_M);
    gradient[V] = gradient[LENGTH] = 0;
    for (size_t i = 0; i < p->n; i++) {
        for (size_t j = 0; j <= i; j++) {
            double w = M.cells[lth__packed_row(&M, i) + j] * (i == j ? 1 : 2);
            double d = p->x[i] - p->x[j], length = p->at[LENGTH];
            double shape = exp(-0.5 * d * d / (length * length));
            gradient[V] += w * shape;
            gradient[LENGTH] += w * p->at[V] * shape * d * d / (length * length * length);
        }
    }
    memcpy(gradient + PRIOR_PARAMS, by_params, 2 * sizeof *gradient);
}

static void check_gradient(problem *p, double (*evidence)(problem *), const double *gradient) {
    for (size_t k = 0; k < PRIOR_PARAMS + p->seen.params; k++) {
        double at = p->at[k], h = 1e-3 * at, f[4];
        const double steps[] = {-2, -1, 1, 2};
        for (size_t i = 0; i < 4; i++) {
            p->at[k] = at + steps[i] * h;
            f[i] = evidence(p);
        }
        p->at[k] = at;
        support_near(gradient[k], (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * h), 1e-6);
        assert_true(fabs(gradient[k]) > 1e-3); /* or nothing was tested */
    }
}

static void gradients(void **state) {
    (void)state;
    for (size_t k = 0; k < KINDS; k++) {
        problem *p = pose(&kinds[k], N);
        double gradient[MOST_PARAMS], by_params[2] = {0};
        bound_of(p);
        assert_int_equal(p->s.factor.count > 0, kinds[k].likelihood == &student);
        assert_int_equal(lth__sites_weights(&p->s, &p->on_K, &p->on_M, by_params, NULL), LTH_OK);
        gather(p, by_params, gradient);
        check_gradient(p, bound_of, gradient);
        drop(p);
    }
}

static void gradients_of_laplace(void **state) {
    (void)state;
    for (size_t k = 0; k < KINDS; k++) {
        if (kinds[k].likelihood == &bounded) continue; /* it has no mode of its own */
        problem *p = pose(&kinds[k], N);
        double gradient[MOST_PARAMS], by_params[2] = {0};
        laplace_of(p);
        assert_int_equal(p->laplace.factor.count > 0, kinds[k].likelihood == &student);
        assert_int_equal(lth__laplace_weights(&p->laplace, &p->on_K, &p->on_M, by_params, NULL),
                         LTH_OK);
        gather(p, by_params, gradient);
        check_gradient(p, laplace_of, gradient);
        drop(p);
    }
}

/* ---- Gaussian noise ---- */

/* G = K + noise; both posteriors are the exact one, by the formulas of that. */
static void gaussian_is_exact(void **state) {
    (void)state;
    problem *p = pose(&kinds[2], N);
    double G[N * N], alpha[N], V_[N * N], log_determinant = 0, fit = 0, count = 0;
    p->seen.weight = p->s.seen.weight = p->laplace.seen.weight = NULL;
    p->seen.offset = p->s.seen.offset = p->laplace.seen.offset = NULL;
    p->s.seen.link = p->laplace.seen.link = 0;
    double bound = bound_of(p), mean[N], variance[N];
    memcpy(mean, p->f, sizeof mean);
    memcpy(variance, p->variance, sizeof variance);
    memset(p->a, 0, sizeof p->a);
    double laplace = laplace_of(p);
    memcpy(G, p->K, sizeof G);
    memcpy(alpha, p->y, sizeof alpha);
    memcpy(V_, p->K, sizeof V_);
    for (size_t i = 0; i < N; i++) G[i * N + i] += 0.3 * p->ratio[i] + 0.1 * p->added[i];
    assert_int_equal(lth__cholesky(ctx, N, G, NULL), LTH_OK);
    log_determinant = lth__cholesky_log_determinant(N, G);
    assert_int_equal(lth__cholesky_solve(ctx, N, G, 1, alpha, NULL), LTH_OK);
    assert_int_equal(lth__cholesky_solve(ctx, N, G, N, V_, NULL), LTH_OK);
    for (size_t i = 0; i < N; i++) fit += p->y[i] * alpha[i], count++;
    double exact = -0.5 * (fit + log_determinant + count * log(2 * M_PI));
    support_near(bound, exact, 1e-9);
    support_near(laplace, exact, 1e-9);
    for (size_t i = 0; i < N; i++) {
        double m = 0, v = p->K[i * N + i];
        for (size_t j = 0; j < N; j++) {
            m += p->K[i * N + j] * alpha[j];
            v -= p->K[i * N + j] * V_[j * N + i];
        }
        support_near(mean[i], m, 1e-9);
        support_near(p->f[i], m, 1e-9);
        support_near(variance[i], v, 1e-9);
    }
    drop(p);
}

/* S = (K^-1 + D)^-1 as (I + K D)^-1 K, by Gauss' elimination. */
static void invert_plainly(const double *K, const double *D, double *S, double *log_determinant) {
    double A[N * N];
    *log_determinant = 0;
    for (size_t i = 0; i < N; i++) {
        for (size_t j = 0; j < N; j++) A[i * N + j] = (i == j) + K[i * N + j] * D[j];
    }
    memcpy(S, K, N * N * sizeof *S);
    for (size_t i = 0; i < N; i++) {
        double pivot = A[i * N + i];
        *log_determinant += log(pivot);
        for (size_t j = 0; j < N; j++) A[i * N + j] /= pivot, S[i * N + j] /= pivot;
        for (size_t r = 0; r < N; r++) {
            double by = A[r * N + i];
            for (size_t j = 0; j < N && r != i; j++) {
                A[r * N + j] -= by * A[i * N + j];
                S[r * N + j] -= by * S[i * N + j];
            }
        }
    }
}

/* Precisions of all kinds: none, hardly any, large, negative. */
static void factors(void **state) {
    (void)state;
    problem *p = pose(&kinds[0], N);
    double root[N], D[N], S[N * N], variance[N], left[N], x[N], Rx[N], log_determinant;
    lth__site_factor by = {.L = &p->on_L};
    for (size_t i = 0; i < N; i++) {
        const double of[] = {0, 1e-6, 2e-4, 1.5, -0.3, 1.2};
        root[i] = of[i % 6];
        D[i] = lth__site_precision(root[i]);
        support_near(lth__site_root(D[i]), root[i], 1e-15);
        x[i] = cos((double)i);
    }
    invert_plainly(p->K, D, S, &log_determinant);
    assert_int_equal(lth__site_factor_make(&by, &p->on_K, root, NULL), LTH_OK);
    assert_int_equal(by.count, 4);
    support_near(by.log_determinant, log_determinant, 1e-12);
    assert_int_equal(lth__site_factor_apply(&by, root, x, Rx, NULL), LTH_OK);
    for (int inverted = 0; inverted < 2; inverted++) {
        assert_int_equal(lth__site_factor_variances(&by, &p->on_K, root, variance, left, NULL),
                         LTH_OK);
        for (size_t i = 0; i < N; i++) {
            support_near(variance[i], S[i * N + i], 1e-7);
            support_near(left[i], 1 - D[i] * S[i * N + i], 1e-9);
        }
        if (!inverted) assert_int_equal(lth__site_factor_invert(&by, root, NULL), LTH_OK);
    }
    lth__packed R = lth__matrix_packed(&p->on_L);
    for (size_t i = 0; i < N; i++) {
        double sum = 0;
        for (size_t j = 0; j < N; j++) {
            double r = (i == j ? D[i] : 0) - D[i] * S[i * N + j] * D[j];
            size_t row = i > j ? i : j, col = i > j ? j : i;
            support_near(R.cells[lth__packed_row(&R, row) + col], r, 1e-9);
            sum += r * x[j];
        }
        support_near(Rx[i], sum, 1e-9);
    }
    for (size_t i = 0; i < N; i++) root[i] = -2;
    assert_int_equal(lth__site_factor_make(&by, &p->on_K, root, NULL), LTH_ENUMERIC);
    lth__site_factor_free(&by);
    drop(p);
}

/* Newton's step solves what it says, by S as it is; but for where D is as good as 0. */
static void newton(void **state) {
    (void)state;
    problem *p = pose(&kinds[0], N);
    double D[N], root[N], S[N * N], slopes[6][N], dm[N], dv[N], variance[N], left[N], lack = 0;
    double *room = calloc(lth__site_newton_room(N), sizeof *room), log_determinant;
    lth__site_factor by = {.L = &p->on_L};
    for (size_t i = 0; i < N; i++) {
        D[i] = i == 5 ? 1e-9 : i % 6 == 4 ? -0.05 : 0.3 + 0.1 * (double)(i % 7);
        root[i] = lth__site_root(D[i]);
        for (size_t k = 0; k < 6; k++) slopes[k][i] = 0.2 * sin((double)(7 * i + 3 * k + 1));
    }
    invert_plainly(p->K, D, S, &log_determinant);
    for (size_t i = 0; i < N; i++) S[5 * N + i] = S[i * N + 5] = i == 5 ? S[5 * N + 5] : 0;
    assert_int_equal(lth__site_factor_make(&by, &p->on_K, root, NULL), LTH_OK);
    assert_int_equal(lth__site_factor_invert(&by, root, NULL), LTH_OK);
    assert_int_equal(lth__site_factor_variances(&by, &p->on_K, root, variance, left, NULL), LTH_OK);
    lth__site_newton t = {.R = &p->on_L,
                          .D = D,
                          .variance = variance,
                          .short_of_g = slopes[0],
                          .short_of_d = slopes[1],
                          .g_by_m = slopes[2],
                          .g_by_v = slopes[3],
                          .d_by_m = slopes[4],
                          .d_by_v = slopes[5],
                          .dm = dm,
                          .dv = dv,
                          .room = room};
    assert_int_equal(lth__site_newton_measure(&t, NULL), LTH_OK);
    assert_int_equal(lth__site_newton_solve(&t, 1e-12, NULL), LTH_OK);
    for (size_t i = 0; i < N; i++) {
        double to_m = 0, to_v = 0;
        for (size_t j = 0; j < N; j++) {
            double cell = S[i * N + j];
            to_m += cell * (slopes[0][j] + slopes[2][j] * dm[j] + slopes[3][j] * dv[j]);
            to_v -= cell * cell * (slopes[1][j] + slopes[4][j] * dm[j] + slopes[5][j] * dv[j]);
            lack += slopes[0][i] * cell * slopes[0][j] / 2;
            lack += slopes[1][i] * cell * cell * slopes[1][j] / 4;
        }
        support_near(dm[i], to_m, 1e-5);
        support_near(dv[i], to_v, 1e-5);
    }
    support_near(t.lack, lack, 1e-9);
    lth__site_factor_free(&by);
    free(room);
    drop(p);
}

/* Near the sites that are sought, two steps are enough, and what is lacking is known. */
static void few_steps(void **state) {
    (void)state;
    for (size_t k = 0; k < KINDS; k++) {
        problem *p = pose(&kinds[k], N);
        bound_of(p);
        p->at[V] *= 1.02;
        p->s.lack = 1e-6;
        double roughly = bound_of(p);
        assert_in_range(p->s.steps, 1, kinds[k].likelihood == &student ? 3 : 2);
        assert_true(p->s.found);
        p->s.lack = 0;
        support_near(roughly, bound_of(p), 1e-6);
        drop(p);
    }
}

int main(void) {
    ctx = support_context(2);
    const struct CMUnitTest tests[] = {cmocka_unit_test(bound_is_below),
                                       cmocka_unit_test(sites_are_best),
                                       cmocka_unit_test(starts),
                                       cmocka_unit_test(gradients),
                                       cmocka_unit_test(factors),
                                       cmocka_unit_test(gradients_of_laplace),
                                       cmocka_unit_test(gaussian_is_exact),
                                       cmocka_unit_test(newton),
                                       cmocka_unit_test(few_steps)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    lth_ctx_free(ctx);
    return failed;
}
