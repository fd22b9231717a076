/* Draws from the prior, and a model that finds the kernel they came from. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "base/text.h"
#include "gp_support.h"
#include "model/gp/gp.h"

static lth_ctx *ctx;

static int open_context(void **state) {
    (void)state;
    ctx = support_context(1);
    return 0;
}

static int close_context(void **state) {
    (void)state;
    lth_ctx_free(ctx);
    return 0;
}

static void recovery(void **state) {
    (void)state;
    enum { N = 150, DRAWS = 2 };
    lth_error err = {0};
    lth__string lines = {0};
    double x[N], y[DRAWS * N];
    lth__string_format(&lines, "a\n");
    lth__random random;
    lth__random_seed(&random, 11);
    for (size_t i = 0; i < N; i++) {
        x[i] = 60 * lth__random_uniform(&random);
        lth__string_format(&lines, "%.17g\n", x[i]);
    }
    lth_table *table = support_table(ctx, lines.bytes);
    lth_kernel *kernel = NULL;
    lth_encoder *encoder = NULL;
    lth_items *items = NULL;
    support_ok(lth_kernel_parse(ctx, "rbf(a, variance=4, lengthscale=1.5)", &kernel, &err), &err);
    support_ok(lth_encoder_create(ctx, kernel, &encoder, &err), &err);
    support_ok(lth_encode(encoder, table, &items, &err), &err);
    support_ok(lth_gp_sample(kernel, items, 0.5, DRAWS, y, &err), &err);
    lth_items_free(items);
    lth_encoder_free(encoder);
    lth_kernel_free(kernel);
    lth_table_free(table);
    assert_true(y[0] != y[N] && y[1] != y[N + 1]);
    for (size_t d = 0; d < DRAWS; d++) {
        lines.length = 0;
        lth__string_format(&lines, "a\ty\n");
        for (size_t i = 0; i < N; i++)
            lth__string_format(&lines, "%.17g\t%.17g\n", x[i], y[d * N + i]);
        table = support_table(ctx, lines.bytes);
        lth_gp_options options;
        lth_gp_options_init(&options);
        options.restarts = 1;
        options.max_iter = 60;
        lth_gp *gp = support_fit(ctx, "rbf(a)", table, 1, &options);
        assert_true(
            fabs(lth_gp_param_at(gp, support_param(gp, "rbf.lengthscale"))->value / 1.5 - 1) < 0.3);
        assert_true(fabs(lth_gp_param_at(gp, LTH_NONE)->value / 0.5 - 1) < 0.3);
        double scale = gp->targets[0].scale;
        assert_true(fabs(log(lth_gp_param_at(gp, support_param(gp, "rbf.variance"))->value * scale *
                             scale / 4)) < log(2));
        assert_true(lth_gp_reported(gp)->loo->coverage > 0.88);
        lth_gp_free(gp);
        lth_table_free(table);
    }
    lth__string_free(&lines);
}

static void samples(void **state) {
    (void)state;
    enum { N = 5, DRAWS = 4000 };
    lth_error err = {0};
    /* Rows 1 and 2 are the same: without noise, so are their labels. */
    lth_table *table = support_table(ctx, "a\n0\n0\n1\n2\n50\n");
    lth_kernel *kernel = NULL;
    lth_encoder *encoder = NULL;
    lth_items *items = NULL;
    double *y = calloc(N * DRAWS, sizeof *y), *again = calloc(N * DRAWS, sizeof *again), K[N * N];
    support_ok(lth_kernel_parse(ctx, "rbf(a, variance=2)", &kernel, &err), &err);
    support_ok(lth_encoder_create(ctx, kernel, &encoder, &err), &err);
    support_ok(lth_encode(encoder, table, &items, &err), &err);
    support_ok(lth_gram(kernel, items, NULL, K, N, &err), &err);
    support_ok(lth_gp_sample(kernel, items, 0, DRAWS, y, &err), &err);
    support_ok(lth_gp_sample(kernel, items, 0, DRAWS, again, &err), &err);
    assert_memory_equal(y, again, N * DRAWS * sizeof *y);
    for (size_t d = 0; d < DRAWS; d++) support_near(y[d * N], y[d * N + 1], 1e-3);
    /* Their covariance is the Gram matrix, within four deviations of 2 sqrt(2 / 4000). */
    for (size_t i = 0; i < N; i++) {
        for (size_t j = 0; j < N; j++) {
            double sum = 0;
            for (size_t d = 0; d < DRAWS; d++) sum += y[d * N + i] * y[d * N + j] / DRAWS;
            assert_true(fabs(sum - K[i * N + j]) < 0.18);
        }
    }
    support_ok(lth_gp_sample(kernel, items, 3, DRAWS, y, &err), &err);
    double variance = 0;
    for (size_t d = 0; d < DRAWS; d++) variance += y[d * N + 4] * y[d * N + 4] / DRAWS;
    assert_true(fabs(variance - 5) < 0.45);
    free(y);
    free(again);
    lth_items_free(items);
    lth_encoder_free(encoder);
    lth_kernel_free(kernel);
    lth_table_free(table);
}

/* ---- Draws of a likelihood, where f is its mean but for next to nothing ---- */

typedef struct prior {
    lth_table *table;
    lth_kernel *kernel;
    lth_encoder *encoder;
    lth_items *items;
} prior;

static prior open_prior(void) {
    prior p = {.table = support_table(ctx, "a\n1\n")};
    lth_error err = {0};
    support_ok(lth_kernel_parse(ctx, "rbf(a, variance=1e-12)", &p.kernel, &err), &err);
    support_ok(lth_encoder_create(ctx, p.kernel, &p.encoder, &err), &err);
    support_ok(lth_encode(p.encoder, p.table, &p.items, &err), &err);
    return p;
}

static void close_prior(prior *p) {
    lth_items_free(p->items);
    lth_encoder_free(p->encoder);
    lth_kernel_free(p->kernel);
    lth_table_free(p->table);
}

static double normal_cdf(double x) {
    return erfc(-x / sqrt(2)) / 2;
}

static double logistic(double x) {
    return 1 / (1 + exp(-x));
}

static void moments_of_likelihoods(void **state) {
    (void)state;
    enum { DRAWS = 20000 };
    double p = normal_cdf(0.8), q = logistic(0.8), mu = logistic(0.8);
    const struct {
        lth_likelihood likelihood;
        const char *set[3];
        double mean, variance;
    } cases[] = {
        {LTH_GAUSSIAN, {"noise=0.3", "mean=0.8"}, 0.8, 0.3},
        {LTH_STUDENT, {"noise=0.3", "dof=6", "mean=0.8"}, 0.8, 0.3 * 6 / 4},
        {LTH_PROBIT, {"mean=0.8"}, 2 * p - 1, 4 * p * (1 - p)},
        {LTH_LOGIT, {"mean=0.8"}, 2 * q - 1, 4 * q * (1 - q)},
        {LTH_POISSON, {"mean=0.8"}, exp(0.8), exp(0.8)},
        {LTH_NEGBINOMIAL, {"dispersion=0.5", "mean=0.8"}, exp(0.8), exp(0.8) + 0.5 * exp(1.6)},
        {LTH_BETA, {"precision=7", "mean=0.8"}, mu, mu * (1 - mu) / 8},
    };
    prior one = open_prior();
    double *y = malloc(DRAWS * sizeof *y);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        lth_error err = {0};
        lth_gp_sample_options options;
        lth_gp_sample_options_init(&options);
        options.likelihood = cases[k].likelihood;
        options.set = cases[k].set;
        while (options.set_count < 3 && cases[k].set[options.set_count]) options.set_count++;
        support_ok(lth_gp_sample_as(one.kernel, one.items, &options, DRAWS, y, &err), &err);
        double mean = 0, variance = 0;
        for (size_t d = 0; d < DRAWS; d++) mean += y[d] / DRAWS;
        for (size_t d = 0; d < DRAWS; d++) variance += (y[d] - mean) * (y[d] - mean) / DRAWS;
        if (fabs(mean - cases[k].mean) > 5 * sqrt(cases[k].variance / DRAWS) ||
            fabs(variance / cases[k].variance - 1) > 0.1)
            fail_msg("%zu: %g, %g are not %g, %g", k, mean, variance, cases[k].mean,
                     cases[k].variance);
    }
    free(y);
    close_prior(&one);
}

static void names_of_likelihoods(void **state) {
    (void)state;
    static const struct {
        lth_likelihood likelihood;
        const char *set, *why;
    } cases[] = {
        {LTH_GAUSSIAN, "dof=3", "there is no \"dof\" to set here; there is noise, mean"},
        {LTH_STUDENT, "do=3", "there is no \"do\" to set here; there is noise, dof, mean"},
        {LTH_STUDENT, "dofs=3", "there is no \"dofs\" to set here; there is noise, dof, mean"},
        {LTH_STUDENT, "dof=-3", "\"dof\" is -3, which is not above 0"},
        {LTH_STUDENT, "dof=3,4", "\"dof\" wants one number"},
        {LTH_POISSON, "mean=x", "\"mean\" wants numbers, not \"x\""},
    };
    prior one = open_prior();
    double y;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        lth_error err = {0};
        lth_gp_sample_options options;
        lth_gp_sample_options_init(&options);
        options.likelihood = cases[k].likelihood;
        options.set = &cases[k].set;
        options.set_count = 1;
        assert_int_equal(lth_gp_sample_as(one.kernel, one.items, &options, 1, &y, &err), LTH_EARG);
        assert_string_equal(err.message, cases[k].why);
    }
    close_prior(&one);
}

/* Equal rows come out alike: their matrix is singular, and the jitter that mends it as small as it
 * can be, however many they are. */
static void equal_rows(void **state) {
    (void)state;
    enum { MANY = 300 };
    lth_error err = {0};
    lth__string lines = {0};
    lth__string_format(&lines, "a\n");
    for (size_t i = 0; i < MANY; i++) lth__string_format(&lines, "%d\n", i % 2 ? 1 : 40);
    lth_table *table = support_table(ctx, lines.bytes);
    lth_kernel *kernel = NULL;
    lth_encoder *encoder = NULL;
    lth_items *items = NULL;
    double y[MANY];
    support_ok(lth_kernel_parse(ctx, "rbf(a, variance=4)", &kernel, &err), &err);
    support_ok(lth_encoder_create(ctx, kernel, &encoder, &err), &err);
    support_ok(lth_encode(encoder, table, &items, &err), &err);
    support_ok(lth_gp_sample(kernel, items, 0, 1, y, &err), &err);
    assert_true(fabs(y[0] - y[1]) > 0.01);
    for (size_t i = 2; i < MANY; i++) assert_true(fabs(y[i] - y[i % 2]) < 1e-4);
    lth_items_free(items);
    lth_encoder_free(encoder);
    lth_kernel_free(kernel);
    lth_table_free(table);
    lth__string_free(&lines);
}

/* A kernel whose values overflow has no draws, and leaves nothing behind. */
static void samples_fail(void **state) {
    (void)state;
    lth_error err = {0};
    lth_table *table = support_table(ctx, "a\n1e120\n2e120\n");
    lth_kernel *kernel = NULL;
    lth_encoder *encoder = NULL;
    lth_items *items = NULL;
    double y[2];
    support_ok(lth_kernel_parse(ctx, "linear(a) * linear(a)", &kernel, &err), &err);
    support_ok(lth_encoder_create(ctx, kernel, &encoder, &err), &err);
    support_ok(lth_encode(encoder, table, &items, &err), &err);
    assert_int_equal(lth_gp_sample(kernel, items, 0, 1, y, &err), LTH_ENUMERIC);
    assert_true(strlen(err.message) > 0);
    lth_items_free(items);
    lth_encoder_free(encoder);
    lth_kernel_free(kernel);
    lth_table_free(table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recovery),
        cmocka_unit_test(samples),
        cmocka_unit_test(moments_of_likelihoods),
        cmocka_unit_test(names_of_likelihoods),
        cmocka_unit_test(samples_fail),
        cmocka_unit_test(equal_rows),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
