/* Laplace's approximation: stationary mode, evidence against quadrature for one row, gradient
 * against central differences, probabilities against sums. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "model/posterior/laplace.h"

enum { N = 70 };
static const lth__likelihood *const links[] = {&lth__logit, &lth__probit};
static lth_ctx *ctx;

typedef struct problem {
    double x[N], y[N], K[N * N], a[N], f[N], root_w[N], M[N * N];
    double packed_K[N * N], packed_L[N * N], packed_M[N * N]; /* more than enough */
    lth__laplace l;
    lth__matrix on_K, on_L, on_M;
} problem;

static double kernel(double v, double length, double distance) {
    return v * exp(-0.5 * distance * distance / (length * length)) + 0.3;
}

static void fill_kernel(problem *p, double v, double length) {
    for (size_t i = 0; i < N; i++) {
        for (size_t j = 0; j < N; j++) p->K[i * N + j] = kernel(v, length, p->x[i] - p->x[j]);
    }
    lth__packed K = lth__matrix_packed(&p->on_K);
    for (size_t i = 0; i < N; i++)
        memcpy(p->packed_K + lth__packed_row(&K, i), p->K + i * N, (i + 1) * sizeof *p->K);
}

static lth_status weigh(problem *p) {
    lth_status status = lth__laplace_weights(&p->l, &p->on_K, &p->on_M, NULL, NULL);
    lth__packed M = lth__matrix_packed(&p->on_M);
    for (size_t i = 0; i < N; i++) {
        for (size_t j = 0; j <= i; j++)
            p->M[i * N + j] = p->M[j * N + i] = M.cells[lth__packed_row(&M, i) + j];
    }
    return status;
}

/* Labels that change with x, a few of them wrong; two rows are equal but for the label. */
static problem *pose(const lth__likelihood *link, double v, double length) {
    problem *p = calloc(1, sizeof *p);
    assert_non_null(p);
    lth__random random;
    lth__random_seed(&random, 5);
    for (size_t i = 0; i < N; i++) {
        p->x[i] = 6 * lth__random_uniform(&random);
        p->y[i] = (sin(p->x[i]) > 0) == (lth__random_uniform(&random) < 0.9) ? 1 : -1;
    }
    p->x[1] = p->x[0];
    p->y[0] = 1, p->y[1] = -1;
    p->on_K = lth__matrix_on_host(ctx, N, p->packed_K);
    p->on_L = lth__matrix_on_host(ctx, N, p->packed_L);
    p->on_M = lth__matrix_on_host(ctx, N, p->packed_M);
    fill_kernel(p, v, length);
    p->l = (lth__laplace){.seen = {.likelihood = link, .y = p->y},
                          .a = p->a,
                          .f = p->f,
                          .root_w = p->root_w,
                          .L = &p->on_L};
    return p;
}

static double evidence_at(problem *p, double v, double length) {
    fill_kernel(p, v, length);
    assert_int_equal(lth__laplace_mode(&p->l, &p->on_K, NULL), LTH_OK);
    return p->l.evidence;
}

static double log_p(const lth__likelihood *link, double y, double f) {
    return link == &lth__logit ? -log1p(exp(-y * f)) : log(0.5 * erfc(-y * f / sqrt(2)));
}

/* At the mode, a = K^-1 f is the slope of the likelihood. */
static void mode_is_stationary(void **state) {
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        problem *p = pose(links[k], 2.5, 0.8);
        evidence_at(p, 2.5, 0.8);
        for (size_t i = 0; i < N; i++) {
            double f = 0, h = 1e-5;
            for (size_t j = 0; j < N; j++) f += p->K[i * N + j] * p->a[j];
            assert_true(fabs(f - p->f[i]) < 1e-9);
            double slope =
                (log_p(links[k], p->y[i], f + h) - log_p(links[k], p->y[i], f - h)) / (2 * h);
            assert_true(fabs(slope - p->a[i]) < 1e-7);
        }
        free(p);
    }
}

static void gradient_is_right(void **state) {
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        problem *p = pose(links[k], 2.5, 0.8);
        double v = 2.5, length = 0.8, h = 1e-4, by_v = 0, by_length = 0;
        evidence_at(p, v, length);
        assert_int_equal(weigh(p), LTH_OK);
        for (size_t i = 0; i < N; i++) {
            for (size_t j = 0; j < N; j++) {
                double d = p->x[i] - p->x[j], shape = (p->K[i * N + j] - 0.3) / v;
                assert_true(fabs(p->M[i * N + j] - p->M[j * N + i]) < 1e-12);
                by_v += p->M[i * N + j] * shape;
                by_length += p->M[i * N + j] * v * shape * d * d / (length * length * length);
            }
        }
        double dv = (evidence_at(p, v + h, length) - evidence_at(p, v - h, length)) / (2 * h);
        double dl = (evidence_at(p, v, length + h) - evidence_at(p, v, length - h)) / (2 * h);
        assert_true(fabs(dv - by_v) < 1e-6 * (1 + fabs(dv)));
        assert_true(fabs(dl - by_length) < 1e-5 * (1 + fabs(dl)));
        assert_true(fabs(dv) > 1e-3 && fabs(dl) > 1e-3);
        free(p);
    }
}

/* One row: the approximation is near the integral when the prior is narrow. */
static void one_row(void **state) {
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        double K = 0.04, y = -1, a = 0, f, root_w, L;
        lth__matrix on_K = lth__matrix_on_host(ctx, 1, &K), on_L = lth__matrix_on_host(ctx, 1, &L);
        lth__laplace l = {.seen = {.likelihood = links[k], .y = &y},
                          .a = &a,
                          .f = &f,
                          .root_w = &root_w,
                          .L = &on_L};
        assert_int_equal(lth__laplace_mode(&l, &on_K, NULL), LTH_OK);
        assert_true(fabs(l.evidence - log(0.5)) < 1e-4);
    }
}

/* Far from the labels' side every number stays finite. */
static void extremes(void **state) {
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        problem *p = pose(links[k], 1e5, 0.01);
        assert_true(isfinite(evidence_at(p, 1e5, 0.01)));
        assert_int_equal(weigh(p), LTH_OK);
        for (size_t i = 0; i < N * N; i++) assert_true(isfinite(p->M[i]));
        p->packed_K[lth__packed_row(&(lth__packed){.n = N, .shift = 6}, 5)] = NAN;
        assert_int_equal(lth__laplace_mode(&p->l, &p->on_K, NULL), LTH_ENUMERIC);
        free(p);
    }
}

static void probabilities(void **state) {
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        for (double mean = -9; mean < 9.5; mean += 3) {
            for (double variance = 0; variance < 50; variance += 7) {
                double sum = 0, weight = 0;
                for (double z = -9; z <= 9; z += 1e-3) {
                    double w = exp(-0.5 * z * z);
                    sum += w * exp(log_p(links[k], 1, mean + z * sqrt(variance)));
                    weight += w;
                }
                double p = links[k]->probability(NULL, mean, variance);
                assert_true(fabs(p - sum / weight) < 1e-6);
                assert_true(p >= 0 && p <= 1);
            }
        }
        assert_true(links[k]->probability(NULL, 0, 4) == 0.5 ||
                    fabs(links[k]->probability(NULL, 0, 4) - 0.5) < 1e-12);
    }
}

int main(void) {
    lth_ctx_options options;
    lth_ctx_options_init(&options);
    options.threads = 2;
    if (lth_ctx_create(&options, &ctx, NULL) != LTH_OK) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mode_is_stationary), cmocka_unit_test(gradient_is_right),
        cmocka_unit_test(one_row), cmocka_unit_test(extremes), cmocka_unit_test(probabilities)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    lth_ctx_free(ctx);
    return failed;
}
