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
        cmocka_unit_test(samples_fail),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
