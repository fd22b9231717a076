/* Classes that share a row: two of them against the logistic likelihood, whose problem that is; the
 * mode, the gradient against central differences, covariances against dense algebra, probabilities
 * against sums and draws. */
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
#include "model/posterior/softmax.h"

enum { N = 70, MOST = 4 }; /* more rows than a block */
static lth_ctx *ctx;

typedef struct problem {
    double x[N], y[MOST * N], weight[N], K[N * N];
    double a[MOST * N], f[MOST * N], root_p[MOST * N];
    double packed_K[N * N], packed_M[N * N], packed[MOST + 1][N * N]; /* more than enough */
    lth__matrix on_K, on_M, F[MOST], S;
    lth__softmax l;
} problem;

static double kernel(double v, double length, double distance) {
    return v * exp(-0.5 * distance * distance / (length * length)) + 0.3;
}

static void fill_kernel(problem *p, double v, double length) {
    lth__packed K = lth__matrix_packed(&p->on_K);
    for (size_t i = 0; i < N; i++) {
        for (size_t j = 0; j < N; j++) p->K[i * N + j] = kernel(v, length, p->x[i] - p->x[j]);
        memcpy(p->packed_K + lth__packed_row(&K, i), p->K + i * N, (i + 1) * sizeof *p->K);
    }
}

/* Classes that change with x, a few of them wrong. */
static problem *pose(size_t classes, bool weighted, double v, double length) {
    problem *p = calloc(1, sizeof *p);
    assert_non_null(p);
    lth__random random;
    lth__random_seed(&random, 5);
    for (size_t i = 0; i < N; i++) {
        p->x[i] = 6 * lth__random_uniform(&random);
        bool wrong = lth__random_uniform(&random) < 0.1;
        size_t class = (size_t)(p->x[i] / 6 * 2 * (double)classes + wrong) % classes;
        for (size_t c = 0; c < classes; c++) p->y[c * N + i] = c == class ? 1 : -1;
        p->weight[i] = 0.25 + 2 * lth__random_uniform(&random);
    }
    p->on_K = lth__matrix_on_host(ctx, N, p->packed_K);
    p->on_M = lth__matrix_on_host(ctx, N, p->packed_M);
    p->S = lth__matrix_on_host(ctx, N, p->packed[MOST]);
    for (size_t c = 0; c < classes; c++) p->F[c] = lth__matrix_on_host(ctx, N, p->packed[c]);
    fill_kernel(p, v, length);
    p->l = (lth__softmax){.classes = classes,
                          .y = p->y,
                          .weight = weighted ? p->weight : NULL,
                          .a = p->a,
                          .f = p->f,
                          .root_p = p->root_p,
                          .F = p->F,
                          .S = &p->S};
    return p;
}

static double evidence_at(problem *p, double v, double length) {
    fill_kernel(p, v, length);
    assert_int_equal(lth__softmax_mode(&p->l, &p->on_K, NULL), LTH_OK);
    return p->l.evidence;
}

/* M by a dense matrix. */
static void weigh(problem *p, double *M) {
    memset(p->packed_M, 0, sizeof p->packed_M);
    assert_int_equal(lth__softmax_weights(&p->l, &p->on_K, &p->on_M, NULL), LTH_OK);
    lth__packed at = lth__matrix_packed(&p->on_M);
    for (size_t i = 0; i < N; i++) {
        for (size_t j = 0; j <= i; j++)
            M[i * N + j] = M[j * N + i] = at.cells[lth__packed_row(&at, i) + j];
    }
}

/* f_2 - f_1 is a latent function of covariances 2 K, seen by the logistic function: Laplace's
 * approximation does not depend on how f is written down, nor does its gradient. */
static void two_classes_are_logit(void **state) {
    (void)state;
    for (int weighted = 0; weighted < 2; weighted++) {
        problem *p = pose(2, weighted, 1.7, 0.8), *q = pose(2, weighted, 1.7, 0.8);
        double *M = calloc(N * N, sizeof *M);
        double both = evidence_at(p, 1.7, 0.8);
        for (size_t i = 0; i < N * N; i++) q->packed_K[i] *= 2;
        lth__laplace l = {.seen = {.likelihood = &lth__logit,
                                   .y = q->y + N,
                                   .weight = weighted ? q->weight : NULL},
                          .a = q->a,
                          .f = q->f,
                          .root_w = q->root_p,
                          .L = &q->S};
        assert_int_equal(lth__laplace_mode(&l, &q->on_K, NULL), LTH_OK);
        assert_true(fabs(both - l.evidence) < 1e-10 * fabs(both));
        for (size_t i = 0; i < N; i++) assert_true(fabs(p->f[N + i] - p->f[i] - q->f[i]) < 1e-9);
        assert_int_equal(lth__laplace_weights(&l, &q->on_K, &q->on_M, NULL, NULL), LTH_OK);
        weigh(p, M);
        lth__packed at = lth__matrix_packed(&q->on_M);
        for (size_t i = 0; i < N; i++) {
            for (size_t j = 0; j <= i; j++)
                assert_true(fabs(M[i * N + j] - 2 * at.cells[lth__packed_row(&at, i) + j]) < 1e-9);
        }
        lth__site_factor_free(&l.factor);
        free(M);
        free(p);
        free(q);
    }
}

/* At the mode, a = K^-1 f is the slope of log p, and neither prefers a class on the whole. */
static void mode_is_stationary(void **state) {
    (void)state;
    for (size_t classes = 2; classes <= MOST; classes++) {
        problem *p = pose(classes, classes == 3, 2.5, 0.8);
        evidence_at(p, 2.5, 0.8);
        for (size_t i = 0; i < N; i++) {
            double sum = 0, all = 0, of_a = 0;
            for (size_t c = 0; c < classes; c++) sum += exp(p->f[c * N + i]);
            for (size_t c = 0; c < classes; c++) {
                double f = 0, w = p->l.weight ? p->weight[i] : 1;
                for (size_t j = 0; j < N; j++) f += p->K[i * N + j] * p->a[c * N + j];
                assert_true(fabs(f - p->f[c * N + i]) < 1e-9);
                double slope = w * ((p->y[c * N + i] > 0) - exp(f) / sum);
                assert_true(fabs(slope - p->a[c * N + i]) < 1e-9);
                all += f;
                of_a += p->a[c * N + i];
            }
            assert_true(fabs(all) < 1e-9 && fabs(of_a) < 1e-9);
        }
        free(p);
    }
}

static void gradient_is_right(void **state) {
    (void)state;
    double *M = calloc(N * N, sizeof *M);
    for (size_t classes = 2; classes <= MOST; classes++) {
        for (int weighted = 0; weighted < 2; weighted++) {
            double v = 2.5, length = 0.8, h = 1e-4, by_v = 0, by_length = 0;
            problem *p = pose(classes, weighted, v, length);
            evidence_at(p, v, length);
            weigh(p, M);
            for (size_t i = 0; i < N * N; i++) {
                double d = p->x[i / N] - p->x[i % N], shape = (p->K[i] - 0.3) / v;
                by_v += M[i] * shape;
                by_length += M[i] * v * shape * d * d / (length * length * length);
            }
            double dv = (evidence_at(p, v + h, length) - evidence_at(p, v - h, length)) / (2 * h);
            double dl = (evidence_at(p, v, length + h) - evidence_at(p, v, length - h)) / (2 * h);
            assert_true(fabs(dv - by_v) < 1e-6 * (1 + fabs(dv)));
            assert_true(fabs(dl - by_length) < 1e-5 * (1 + fabs(dl)));
            assert_true(fabs(dv) > 1e-3 && fabs(dl) > 1e-3);
            free(p);
        }
    }
    free(M);
}

/* With a narrow prior the approximation is near the integral, here of four dimensions: two rows of
 * two classes, by a sum over a grid of their factor's coordinates. */
static void near_the_integral(void **state) {
    (void)state;
    enum { GRID = 25 };
    double K[3] = {0.1, 0.06, 0.1}, y[4] = {1, -1, -1, 1}, a[4] = {0}, f[4], root[4], room[3][4];
    double cells[4];
    lth__matrix on_K = lth__matrix_on_host(ctx, 2, cells), S = lth__matrix_on_host(ctx, 2, room[2]);
    lth__matrix F[2] = {lth__matrix_on_host(ctx, 2, room[0]), lth__matrix_on_host(ctx, 2, room[1])};
    lth__packed at = lth__matrix_packed(&on_K);
    cells[lth__packed_row(&at, 0)] = K[0];
    cells[lth__packed_row(&at, 1)] = K[1];
    cells[lth__packed_row(&at, 1) + 1] = K[2];
    lth__softmax l = {.classes = 2, .y = y, .a = a, .f = f, .root_p = root, .F = F, .S = &S};
    assert_int_equal(lth__softmax_mode(&l, &on_K, NULL), LTH_OK);
    double L00 = sqrt(K[0]), L10 = K[1] / L00, L11 = sqrt(K[2] - L10 * L10), sum = 0, all = 0;
    double z[GRID], w[GRID];
    for (size_t i = 0; i < GRID; i++) {
        z[i] = -6 + 12 * (double)i / (GRID - 1);
        w[i] = exp(-0.5 * z[i] * z[i]);
    }
    for (size_t i = 0; i < (size_t)GRID * GRID * GRID * GRID; i++) {
        size_t k[4] = {i % GRID, i / GRID % GRID, i / GRID / GRID % GRID, i / GRID / GRID / GRID};
        double weight = w[k[0]] * w[k[1]] * w[k[2]] * w[k[3]];
        double first = L00 * (z[k[0]] - z[k[2]]);
        double second = L10 * (z[k[0]] - z[k[2]]) + L11 * (z[k[1]] - z[k[3]]);
        sum += weight / ((1 + exp(-first)) * (1 + exp(second)));
        all += weight;
    }
    assert_true(fabs(l.evidence - log(sum / all)) < 2e-3);
    assert_true(fabs(l.evidence - 2 * log(0.5)) > 2e-2); /* what it would be without rows */
}

/* Far from the labels' side every number stays finite; and no covariances, no mode. */
static void extremes(void **state) {
    (void)state;
    double *M = calloc(N * N, sizeof *M);
    problem *p = pose(3, false, 1e5, 0.01);
    assert_true(isfinite(evidence_at(p, 1e5, 0.01)));
    weigh(p, M);
    for (size_t i = 0; i < N * N; i++) assert_true(isfinite(M[i]));
    for (size_t i = 0; i < 3 * N; i++) p->a[i] = i % 2 ? NAN : 1e300; /* a start that is none */
    assert_true(isfinite(evidence_at(p, 2, 0.5)));
    p->packed_K[lth__packed_row(&(lth__packed){.n = N, .shift = 6}, 5)] = NAN;
    assert_int_equal(lth__softmax_mode(&p->l, &p->on_K, NULL), LTH_ENUMERIC);
    free(p);
    free(M);
}

/* ---- Covariances ---- */

/* x = A^-1 x of a dense matrix, by Gauss. */
static void solve_dense(size_t n, double *A, double *x) {
    for (size_t k = 0; k < n; k++) {
        for (size_t i = 0; i < n; i++) {
            double by = A[i * n + k] / A[k * n + k];
            if (i == k) continue;
            for (size_t j = k; j < n; j++) A[i * n + j] -= by * A[k * n + j];
            x[i] -= by * x[k];
        }
    }
    for (size_t i = 0; i < n; i++) x[i] /= A[i * n + i];
}

/* C = K - K (I + W K)^-1 W K of all classes and rows, at two training rows. */
static void covariances_are_right(void **state) {
    (void)state;
    enum { C = 3, ALL = C * N };
    problem *p = pose(C, true, 2.5, 0.8);
    evidence_at(p, 2.5, 0.8);
    assert_int_equal(p->S.table->invert(&p->S, NULL), LTH_OK);
    double *X = calloc(N * 2, sizeof *X), *A = calloc(ALL * ALL, sizeof *A), x[ALL];
    double self[2], got[2 * C * C];
    const size_t row[2] = {4, 63};
    for (size_t j = 0; j < 2; j++) {
        self[j] = p->K[row[j] * N + row[j]];
        for (size_t i = 0; i < N; i++) X[i * 2 + j] = sqrt(p->weight[i]) * p->K[i * N + row[j]];
    }
    assert_int_equal(lth__softmax_spread(&p->l, 2, X, self, got, NULL), LTH_OK);
    for (size_t at = 0; at < 2 * C; at++) {
        size_t j = at / C, c = at % C;
        for (size_t i = 0; i < ALL; i++) { /* I + W K, and W K e */
            size_t of = i / N, r = i % N;
            double pi = p->root_p[i] * p->root_p[i];
            x[i] = 0;
            for (size_t d = 0; d < C; d++) {
                double pd = p->root_p[d * N + r] * p->root_p[d * N + r];
                double W = p->weight[r] * (of == d ? pi - pi * pd : -pi * pd);
                for (size_t k = 0; k < N; k++)
                    A[i * ALL + d * N + k] = W * p->K[r * N + k] + (i == d * N + k);
                if (d == c) x[i] += W * p->K[r * N + row[j]];
            }
        }
        solve_dense(ALL, A, x);
        for (size_t d = 0; d < C; d++) {
            double want = d == c ? self[j] : 0;
            for (size_t k = 0; k < N; k++) want -= p->K[row[j] * N + k] * x[d * N + k];
            assert_true(fabs(got[(j * C + c) * C + d] - want) < 1e-9);
        }
    }
    free(X);
    free(A);
    free(p);
}

/* ---- Probabilities ---- */

static void probabilities(void **state) {
    (void)state;
    lth__random random;
    lth__random_seed(&random, 9);
    double worst = 0;
    for (size_t n = 2; n <= 6; n += 2) {
        lth__softmax_points points;
        assert_int_equal(lth__softmax_points_make(n, &points, NULL), LTH_OK);
        for (int trial = 0; trial < 6; trial++) {
            double mean[6], L[36] = {0}, C[36] = {0}, p[6], draws[6] = {0}, f[6], z[6], sum = 0;
            enum { DRAWS = 400000 };
            for (size_t i = 0; i < n; i++) {
                mean[i] = 2 * lth__random_normal(&random);
                for (size_t j = 0; j <= i; j++)
                    L[i * n + j] = (1 + trial % 3) * 0.6 * lth__random_normal(&random);
            }
            for (size_t i = 0; i < n * n; i++) {
                for (size_t k = 0; k < n; k++) C[i] += L[i / n * n + k] * L[i % n * n + k];
            }
            lth__softmax_probability(&points, mean, C, p);
            for (size_t d = 0; d < DRAWS; d++) {
                for (size_t i = 0; i < n; i++) z[i] = lth__random_normal(&random);
                for (size_t i = 0; i < n; i++) {
                    f[i] = mean[i];
                    for (size_t j = 0; j <= i; j++) f[i] += L[i * n + j] * z[j];
                }
                double all = lth__softmax_at(n, 1, f, NULL);
                for (size_t i = 0; i < n; i++) draws[i] += exp(f[i] - all) / DRAWS;
            }
            for (size_t i = 0; i < n; i++) {
                worst = fmax(worst, fabs(p[i] - draws[i]));
                assert_true(p[i] > 0 && p[i] < 1);
                sum += p[i];
            }
            assert_true(fabs(sum - 1) < 1e-12);
        }
        lth__softmax_points_free(&points);
    }
    assert_true(worst < 3e-3);
}

/* Two classes are the logistic function of a difference; without variance it is just that. */
static void probabilities_of_two(void **state) {
    (void)state;
    lth__softmax_points points;
    assert_int_equal(lth__softmax_points_make(2, &points, NULL), LTH_OK);
    for (double mean = -3; mean <= 3; mean += 1.5) {
        for (double variance = 0; variance < 9; variance += 4) {
            double p[2], C[4] = {variance, variance / 3, variance / 3, variance / 2};
            lth__softmax_probability(&points, (double[]){0, mean}, C, p);
            double of_difference = variance * (1.5 - 2 / 3.0);
            double want = lth__logit.probability(NULL, mean, of_difference);
            assert_true(fabs(p[1] - want) < (variance > 0 ? 1e-3 : 1e-12));
        }
    }
    lth__softmax_points_free(&points);
}

int main(void) {
    lth_ctx_options options;
    lth_ctx_options_init(&options);
    options.threads = 2;
    if (lth_ctx_create(&options, &ctx, NULL) != LTH_OK) return 1;
    const struct CMUnitTest tests[] = {cmocka_unit_test(two_classes_are_logit),
                                       cmocka_unit_test(mode_is_stationary),
                                       cmocka_unit_test(gradient_is_right),
                                       cmocka_unit_test(near_the_integral),
                                       cmocka_unit_test(extremes),
                                       cmocka_unit_test(covariances_are_right),
                                       cmocka_unit_test(probabilities),
                                       cmocka_unit_test(probabilities_of_two)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    lth_ctx_free(ctx);
    return failed;
}
