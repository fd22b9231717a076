/* Inducing rows for classes that share a row: what is expected of softmax against sums over a grid,
 * the bound against dense algebra and against the evidence itself, its gradient, predictions,
 * weights, files, threads, memory. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/random.h"
#include "failing_allocator.h"
#include "gp_support.h"
#include "hostile.h"
#include "model/likelihood/softmax_points.h"
#include "model/posterior/inducing.h"

enum { MOST_CLASSES = 4 };
static lth_ctx *ctx;
static char folder[] = "test_inducing_softmax.XXXXXX";

static int open_folder(void **state) {
    (void)state;
    if (!mkdtemp(folder) || chdir(folder) != 0) return -1;
    ctx = support_context(2);
    return 0;
}

static int close_folder(void **state) {
    (void)state;
    lth_ctx_free(ctx);
    return chdir("..") == 0 && rmdir(folder) == 0 ? 0 : -1; /* nothing was left behind */
}

/* ---- What is expected ---- */

static double log_sum(size_t n, const double *f) {
    return lth__softmax_at(n, 1, f, NULL);
}

/* By a product of rules. */
static double expected_log_sum(size_t n, const double *mean, const double *variance) {
    lth__quadrature rule = *lth__quadrature_shared();
    size_t cells = 1;
    double sum = 0, f[MOST_CLASSES];
    for (size_t c = 0; c < n; c++) cells *= LTH__NODES;
    for (size_t i = 0; i < cells; i++) {
        double w = 1;
        for (size_t c = 0, at = i; c < n; c++, at /= LTH__NODES) {
            w *= rule.weight[at % LTH__NODES];
            f[c] = mean[c] + sqrt(variance[c]) * rule.node[at % LTH__NODES];
        }
        sum += w * log_sum(n, f);
    }
    return sum;
}

static double bound_of(size_t n, const double *mean, const double *variance, double *a) {
    double room[2 * MOST_CLASSES];
    return lth__softmax_expect(n, mean, variance, a, room);
}

static void expectations(void **state) {
    (void)state;
    lth__random random;
    lth__random_seed(&random, 3);
    for (size_t trial = 0; trial < 60; trial++) {
        size_t n = 2 + trial % 2;
        double mean[3], variance[3], a[3], other[3], sum = 0, most = 0, h = 1e-5;
        for (size_t c = 0; c < n; c++) {
            mean[c] = 2 * lth__random_normal(&random);
            variance[c] = exp(1.2 * lth__random_normal(&random));
            most = fmax(most, variance[c]);
        }
        double bound = bound_of(n, mean, variance, a);
        double truth = expected_log_sum(n, mean, variance);
        assert_true(bound > truth - 1e-4 && bound < truth + 0.06 * most);
        for (size_t c = 0; c < n; c++) {
            double at = mean[c], of = variance[c], up, down;
            sum += a[c];
            mean[c] = at + h;
            up = bound_of(n, mean, variance, other);
            mean[c] = at - h;
            down = bound_of(n, mean, variance, other);
            mean[c] = at;
            support_near(a[c], (up - down) / (2 * h), 1e-8);
            variance[c] = of + h;
            up = bound_of(n, mean, variance, other);
            variance[c] = of - h;
            down = bound_of(n, mean, variance, other);
            variance[c] = of;
            support_near(a[c] * (1 - a[c]) / 2, (up - down) / (2 * h), 1e-8);
        }
        support_near(sum, 1, 1e-12);
    }
}

/* Where steps could go astray: means far apart, and variances from none to huge. */
static void expectations_at_the_edge(void **state) {
    (void)state;
    const double means[] = {-300, -3, 0, 3, 300}, variances[] = {0, 1e-8, 1, 50, 1e4};
    for (size_t i = 0; i < 5 * 5 * 5 * 5; i++) {
        double mean[] = {means[i % 5], means[i / 5 % 5], 0.5}, a[3], x[3], at, most = 0;
        double variance[] = {variances[i / 25 % 5], variances[i / 125], 2};
        at = bound_of(3, mean, variance, a);
        assert_true(isfinite(at) && at >= log_sum(3, mean) - 1e-9);
        for (size_t c = 0; c < 3; c++) x[c] = mean[c] + (1 - 2 * a[c]) * variance[c] / 2;
        lth__softmax_at(3, 1, x, x);
        for (size_t c = 0; c < 3; c++) most = fmax(most, fabs(x[c] - a[c]));
        assert_true(most < 1e-9);
    }
}

/* ---- The bound of few rows ---- */

enum { FEW = 4 };
static const char few_kernel[] = "rbf(x, variance=1!, lengthscale=0.9)";
static const double few_x[FEW] = {0, 0.7, 1.1, 2.5};

/* Of the classes 1, 2, ... of these rows. */
static lth_table *few_rows(const size_t *class) {
    char lines[256] = "x\tclass\n";
    for (size_t i = 0; i < FEW; i++)
        sprintf(lines + strlen(lines), "%g\tc%zu\n", few_x[i], class[i]);
    return support_table(ctx, lines);
}

static lth_gp_options by_inducing(size_t rows) {
    lth_gp_options options = support_fixed();
    options.likelihood = LTH_SOFTMAX;
    options.posterior = LTH_POSTERIOR_INDUCING;
    options.inducing = rows;
    return options;
}

/* A model of all rows that has not settled. */
static lth_gp *unsettled(const char *kernel, const lth_table *table, const char *target,
                         const char *weights, size_t inducing) {
    lth_gp_options options = support_fixed();
    lth_error err = {0};
    options.likelihood = LTH_SOFTMAX;
    options.weights = weights;
    lth_gp *gp = support_classifier(ctx, kernel, table, target, &options);
    gp->posterior->free(gp->solution);
    gp->solution = NULL;
    gp->posterior = &lth__inducing;
    gp->how.inducing = inducing;
    support_ok(lth__inducing.open(gp, &err), &err);
    return gp;
}

static double evidence_at(lth_gp *gp, double *gradient) {
    lth_error err = {0};
    double evidence;
    support_ok(lth__gp_evidence(gp, NULL, &evidence, gradient, &err), &err);
    return evidence;
}

/* A dense matrix of few rows becomes its inverse; returns its log determinant. */
static double invert(size_t n, double *A) {
    double log_determinant = 0;
    for (size_t k = 0; k < n; k++) {
        double pivot = A[k * n + k];
        log_determinant += log(pivot);
        A[k * n + k] = 1;
        for (size_t j = 0; j < n; j++) A[k * n + j] /= pivot;
        for (size_t i = 0; i < n; i++) {
            double by = A[i * n + k];
            if (i == k) continue;
            A[i * n + k] = 0;
            for (size_t j = 0; j < n; j++) A[i * n + j] -= by * A[k * n + j];
        }
    }
    return log_determinant;
}

static void fill_covariances(const lth_gp *gp, double *K) {
    for (size_t i = 0; i < FEW * FEW; i++) {
        double d = (few_x[i / FEW] - few_x[i % FEW]) / 0.9;
        K[i] = lth__gp_scale(gp) * exp(-0.5 * d * d) + gp->mean->variance;
    }
}

/* The bound of q_c = N(V_c l_c, V_c = (K^-1 + D_c)^-1), with [class][l, D][row]. */
static double dense_bound(const lth_gp *gp, const double *sites) {
    size_t n = FEW, classes = gp->latents;
    double K[FEW * FEW], P[FEW * FEW], V[FEW * FEW], sum = 0;
    double mean[FEW][MOST_CLASSES], variance[FEW][MOST_CLASSES], a[MOST_CLASSES], common;
    fill_covariances(gp, K);
    memcpy(P, K, sizeof P);
    double log_K = invert(n, P);
    for (size_t c = 0; c < classes; c++) {
        const double *l = sites + 2 * c * n, *D = l + n;
        memcpy(V, P, sizeof V);
        for (size_t i = 0; i < n; i++) V[i * n + i] += D[i];
        sum -= 0.5 * (log_K + invert(n, V) - (double)n); /* the other way round: log |V^-1| */
        for (size_t i = 0; i < n; i++) {
            mean[i][c] = 0;
            variance[i][c] = V[i * n + i];
            for (size_t j = 0; j < n; j++) {
                mean[i][c] += V[i * n + j] * l[j];
                sum -= 0.5 * P[i * n + j] * V[i * n + j];
            }
        }
    }
    for (size_t i = 0; i < n; i++) {
        common = 0;
        for (size_t c = 0; c < classes; c++) common += mean[i][c] / (double)classes;
        for (size_t c = 0; c < classes; c++) mean[i][c] -= common;
    }
    for (size_t i = 0; i < n; i++) {
        sum -= bound_of(classes, mean[i], variance[i], a);
        for (size_t c = 0; c < classes; c++) {
            if (gp->y[c * n + i] > 0) sum += mean[i][c];
            for (size_t j = 0; j < n; j++) sum -= 0.5 * mean[i][c] * P[i * n + j] * mean[j][c];
        }
    }
    return sum;
}

/* The evidence of two classes: f_1 - f_2 has covariances 2 K, and the logistic function sees it. */
static double true_evidence(const lth_gp *gp) {
    lth__quadrature rule = *lth__quadrature_shared();
    double K[FEW * FEW], L[FEW * FEW] = {0}, sum = 0;
    fill_covariances(gp, K);
    for (size_t i = 0; i < FEW; i++) { /* its factor */
        for (size_t j = 0; j <= i; j++) {
            double x = 2 * K[i * FEW + j];
            for (size_t k = 0; k < j; k++) x -= L[i * FEW + k] * L[j * FEW + k];
            L[i * FEW + j] = i == j ? sqrt(x) : x / L[j * FEW + j];
        }
    }
    size_t cells = 1;
    for (size_t i = 0; i < FEW; i++) cells *= LTH__NODES;
    for (size_t cell = 0; cell < cells; cell++) {
        double w = 1, z[FEW];
        for (size_t i = 0, at = cell; i < FEW; i++, at /= LTH__NODES) {
            double f = 0, sign = gp->y[i] > 0 ? 1 : -1;
            z[i] = rule.node[at % LTH__NODES];
            for (size_t j = 0; j <= i; j++) f += L[i * FEW + j] * z[j];
            w *= rule.weight[at % LTH__NODES] / (1 + exp(-sign * f));
        }
        sum += w;
    }
    return log(sum);
}

static void bound_of_few_rows(void **state) {
    (void)state;
    const size_t labels[][FEW] = {{1, 1, 2, 2}, {1, 2, 1, 2}, {1, 2, 3, 3}, {3, 1, 4, 2}};
    lth__random random;
    lth__random_seed(&random, 9);
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
        lth_table *table = few_rows(labels[i]);
        lth_gp *gp = unsettled(few_kernel, table, "class", NULL, FEW);
        double gradient[8], other[2 * MOST_CLASSES * FEW], found = evidence_at(gp, gradient);
        const lth__inducing_state *s = gp->solution;
        support_near(found, dense_bound(gp, s->sites), 1e-8);
        /* No other sites are better. */
        for (size_t trial = 0; trial < 50; trial++) {
            for (size_t k = 0; k < 2 * gp->latents * FEW; k++)
                other[k] = s->sites[k] * (1 + 0.05 * lth__random_normal(&random));
            assert_true(dense_bound(gp, other) < found + 1e-9);
        }
        double truth = gp->latents == 2 ? true_evidence(gp) : 0;
        assert_true(found < truth && (gp->latents > 2 || found > truth - 1.5));
        lth_gp_free(gp);
        lth_table_free(table);
    }
}

/* ---- The gradient ---- */

static void check_gradient(lth_gp *gp, double tolerance) {
    enum { MOST = 16 };
    size_t params = lth__gp_param_count(gp);
    double gradient[MOST], other[MOST];
    assert_true(params < MOST);
    evidence_at(gp, gradient);
    for (size_t p = 0; p < params; p++) {
        double *value = lth__gp_value(gp, p), at = *value, h = 1e-3 * at, f[4];
        const double steps[] = {-2, -1, 1, 2};
        for (size_t i = 0; i < 4; i++) {
            *value = at + steps[i] * h;
            f[i] = evidence_at(gp, other);
        }
        *value = at;
        support_near(gradient[p], (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * h), tolerance);
        assert_true(fabs(gradient[p]) > 1e-4); /* or nothing was tested */
    }
}

static lth_table *make_table(lth_ctx *of, size_t rows) {
    char *lines = malloc(rows * 80 + 80), *at = lines;
    at += sprintf(at, "x\ttext\tclass\tweight\n");
    for (size_t i = 0; i < rows; i++) {
        double x = -3 + 6 * (double)(i * 17 % rows) / (double)rows;
        size_t class = (size_t)(3 * (1 + sin(2 * x)) / 2 + (i % 7 == 2)) % 3;
        at += sprintf(at, "%.6g\t%s is%s\t%c\t%.3g\n", x, i % 2 ? "so" : "no", i % 3 ? " it" : "",
                      (char)('a' + class), 0.5 + 0.1 * (double)(i % 9));
    }
    lth_table *table = support_table(of, lines);
    free(lines);
    return table;
}

static const char composed[] = "0.8 * rbf(x) + 0.3 * normalize(ssk(text, order=2, gap=0.6))";

static void gradients(void **state) {
    (void)state;
    lth_table *table = make_table(ctx, 30);
    for (size_t i = 0; i < 4; i++) {
        lth_gp *gp = unsettled(composed, table, "class", i % 2 ? "weight" : NULL, i < 2 ? 9 : 30);
        *lth__gp_value(gp, lth__gp_param_count(gp) - 1) = 3; /* scale */
        check_gradient(gp, 1e-5);
        lth_gp_free(gp);
    }
    lth_table_free(table);
}

/* ---- Models ---- */

/* Near Laplace's approximation of all rows. */
static void predictions(void **state) {
    (void)state;
    lth_table *table = make_table(ctx, 60), *new_rows = make_table(ctx, 23);
    lth_gp_options options = by_inducing(60);
    lth_gp *few = support_classifier(ctx, "4 * rbf(x)", table, "class", &options);
    options.posterior = LTH_POSTERIOR_EXACT;
    lth_gp *whole = support_classifier(ctx, "4 * rbf(x)", table, "class", &options);
    double *p = support_classify(few, new_rows), *q = support_classify(whole, new_rows), apart = 0;
    for (size_t r = 0; r < 23; r++) {
        support_near(p[3 * r] + p[3 * r + 1] + p[3 * r + 2], 1, 1e-12);
        for (size_t c = 0; c < 3; c++) {
            assert_true(fabs(p[3 * r + c] - q[3 * r + c]) < 0.09);
            apart += fabs(p[3 * r + c] - q[3 * r + c]);
        }
    }
    assert_true(apart < 0.03 * 69);
    assert_int_equal(lth_gp_reported(few)->posterior, LTH_POSTERIOR_INDUCING);
    free(p);
    free(q);
    lth_gp_free(few);
    lth_gp_free(whole);
    lth_table_free(table);
    lth_table_free(new_rows);
}

/* A weight is so many rows. */
static void weights(void **state) {
    (void)state;
    char once[] = "x\tclass\tw\n0\ta\t1\n1\tb\t2\n2\tc\t3\n3\ta\t1\n";
    char often[] = "x\tclass\tw\n0\ta\t1\n1\tb\t1\n1\tb\t1\n2\tc\t1\n2\tc\t1\n2\tc\t1\n3\ta\t1\n";
    lth_table *a = support_table(ctx, once), *b = support_table(ctx, often);
    lth_gp *one = unsettled("rbf(x)", a, "class", "w", 4),
           *other = unsettled("rbf(x)", b, "class", NULL, 7);
    double gradient[8];
    support_near(evidence_at(one, gradient), evidence_at(other, gradient), 1e-6);
    lth_gp_free(one);
    lth_gp_free(other);
    lth_table_free(a);
    lth_table_free(b);
}

static lth_gp_options learning(void) {
    lth_gp_options options;
    lth_gp_options_init(&options);
    options.restarts = 0;
    options.max_iter = 4;
    options.likelihood = LTH_SOFTMAX;
    options.posterior = LTH_POSTERIOR_INDUCING;
    options.inducing = 8;
    options.learn_rows = 40;
    options.bound = LTH_BOUND_TITSIAS;
    return options;
}

static void learns_by_the_bound(void **state) {
    (void)state;
    lth_table *table = make_table(ctx, 60);
    lth_gp_options options = learning();
    options.bound = LTH_BOUND_NONE;
    lth_gp *before = support_classifier(ctx, "rbf(x)", table, "class", &options);
    options.bound = LTH_BOUND_TITSIAS;
    options.max_iter = 50;
    lth_gp *after = support_classifier(ctx, "rbf(x)", table, "class", &options);
    assert_true(lth_gp_reported(after)->evidence > lth_gp_reported(before)->evidence + 0.1);
    lth_gp_free(before);
    lth_gp_free(after);
    lth_table_free(table);
}

/* Of either number of threads, and after a file. */
static void same_bits(void **state) {
    (void)state;
    lth_ctx *many = support_context(3);
    lth_table *table = make_table(ctx, 300), *same = make_table(many, 300);
    lth_gp_options options = learning();
    lth_error err = {0};
    options.average = 3;
    lth_gp *a = support_classifier(ctx, "rbf(x)", table, "class", &options), *again = NULL;
    lth_gp *b = support_classifier(many, "rbf(x)", same, "class", &options);
    char *path = support_file("", 0);
    support_ok(lth_gp_save(a, path, &err), &err);
    support_ok(lth_gp_load(ctx, path, &again, &err), &err);
    double *p = support_classify(a, table), *q = support_classify(b, table),
           *r = support_classify(again, table);
    assert_memory_equal(p, q, 900 * sizeof *p);
    assert_memory_equal(p, r, 900 * sizeof *p);
    const hostile_change changes[] = {{.name = "inducing.factor_b", .drop = true},
                                      {.name = "inducing.factor_b", .shorter = true},
                                      {.name = "inducing.beta", .shorter = true},
                                      {.name = "posterior", .text = "sites"}};
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        hostile_refused(ctx, path, &changes[i], hostile_gp);
    remove("hostile");
    free(p);
    free(q);
    free(r);
    support_remove(path);
    lth_gp_free(a);
    lth_gp_free(b);
    lth_gp_free(again);
    lth_table_free(table);
    lth_table_free(same);
    lth_ctx_free(many);
}

static lth_status use_all(void *user, lth_error *err) {
    const lth_table *table = user;
    lth_gp *gp = NULL;
    lth_gp_options options = learning();
    const char *target = "class";
    double p[60];
    options.max_iter = 1;
    lth_status status = lth_gp_fit(ctx, "rbf(x)", table, &target, 1, &options, &gp, err);
    if (status == LTH_OK) status = lth_gp_classify(gp, table, p, err);
    lth_gp_free(gp);
    return status;
}

static void each_allocation_fails(void **state) {
    (void)state;
    lth_table *table = make_table(ctx, 20);
    fail_each(use_all, table, true, 50);
    lth_table_free(table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expectations),          cmocka_unit_test(expectations_at_the_edge),
        cmocka_unit_test(bound_of_few_rows),     cmocka_unit_test(gradients),
        cmocka_unit_test(predictions),           cmocka_unit_test(weights),
        cmocka_unit_test(learns_by_the_bound),   cmocka_unit_test(same_bits),
        cmocka_unit_test(each_allocation_fails),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
