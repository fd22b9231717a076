/* Eigenvalues of a small matrix, weights of draws, and draws without memory. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/random.h"
#include "engine/eigen.h"
#include "failing_allocator.h"
#include "gp_support.h"
#include "model/gp/gp_average.h"
#include "model/gp/gp_uncertain.h"

static void eigenvalues(void **state) {
    (void)state;
    enum { N = 7 };
    double H[N * N], copy[N * N], V[N * N], value[N];
    lth__random random;
    lth__random_seed(&random, 1);
    for (size_t i = 0; i < N; i++) {
        for (size_t k = 0; k <= i; k++) H[i * N + k] = H[k * N + i] = lth__random_normal(&random);
    }
    memcpy(copy, H, sizeof H);
    lth__eigen_unordered(N, copy, value, V);
    for (size_t i = 0; i < N; i++) {
        for (size_t k = 0; k < N; k++) {
            double sum = 0, unit = 0;
            for (size_t d = 0; d < N; d++) {
                sum += V[i * N + d] * value[d] * V[k * N + d];
                unit += V[d * N + i] * V[d * N + k];
            }
            support_near(sum, H[i * N + k], 1e-12);
            support_near(unit, i == k, 1e-12);
        }
    }
}

static void weights(void **state) {
    (void)state;
    double even[4] = {-700, -700, -700, -INFINITY}, effective;
    assert_true(lth__weights_settle(4, even, &effective));
    support_near(effective, 3, 1e-12);
    assert_true(even[3] == 0 && fabs(even[0] - 1.0 / 3) < 1e-12);
    /* One that has it all shares with the others, in their order. */
    double one[8] = {-100, -50, -60, -70, -80, -90, -95, -99};
    assert_true(lth__weights_settle(8, one, &effective));
    support_near(effective, 2, 1e-6);
    assert_true(one[1] > one[2] && one[2] > one[3] && one[0] > 0);
    double none[2] = {-INFINITY, -INFINITY};
    assert_false(lth__weights_settle(2, none, &effective));
}

/* ---- Kernels ---- */

/* A draw predicts as a fit does that begins with its values and learns nothing. */
static void check_draw(lth_ctx *ctx, const lth_table *table, const lth_gp *draw) {
    char text[1024];
    lth_gp_options fixed = support_fixed();
    fixed.unscaled = true;
    fixed.noise = draw->own[0];
    assert_true(lth_kernel_print(draw->kernel, text, sizeof text) < sizeof text);
    lth_gp *gp = support_fit(ctx, text, table, 1, &fixed);
    double *a = support_predict((lth_gp *)draw, table, false),
           *b = support_predict(gp, table, false);
    for (size_t i = 0; i < 2 * lth_table_rows(table); i++) support_near(a[i], b[i], 1e-9);
    free(a);
    free(b);
    lth_gp_free(gp);
}

static void every_kernel(void **state) {
    (void)state;
    const char *const kernels[] = {"ssk(text, order=2)",
                                   "2 * normalize(ssk(text, order=3)) + rbf(f1..f2, ard=yes)",
                                   "rbf(ssk(text, order=2, rarity=0.5)) * 0.5",
                                   "normalize(ngrams(text, n=[2,3])) + linear(f1)",
                                   "tfidf(text) * rbf(f2)",
                                   "arccos(f1..f2) + rq(f1) * matern52(f2)"};
    lth_ctx *ctx = support_context(1);
    lth_table *table = support_rows(ctx, 0, 20);
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
        lth_gp_options options;
        lth_error err = {0};
        lth__averaged by;
        lth_gp_options_init(&options);
        options.restarts = 0;
        options.max_iter = 5;
        options.average = 2;
        options.unscaled = true;
        lth_gp *gp = support_fit(ctx, kernels[k], table, 1, &options);
        support_ok(lth__gp_averaged(gp, &by, &err), &err);
        assert_int_equal(by.count, 2);
        assert_true(lth__averaged_at(&by, 0)->own[0] != lth__averaged_at(&by, 1)->own[0]);
        /* And one after the other, whatever they keep. */
        for (size_t i = 0; i < 2 * by.count; i++)
            check_draw(ctx, table, lth__averaged_at(&by, i % by.count));
        lth_gp_free(gp);
    }
    lth_table_free(table);
    lth_ctx_free(ctx);
}

/* ---- Without memory ---- */

typedef struct use {
    lth_ctx *ctx;
    const lth_table *table;
    const char *target;
} use;

static lth_status use_all(void *user, lth_error *err) {
    const use *u = user;
    lth_gp *gp = NULL, *loaded = NULL;
    lth_gp_options options;
    double p[40], sd[40];
    lth_gp_options_init(&options);
    options.restarts = 0;
    options.max_iter = 1;
    options.average = 3;
    bool labels = strcmp(u->target, "two") == 0;
    lth_status status = lth_gp_fit(u->ctx, "rbf(x)", u->table, &u->target, 1, &options, &gp, err);
    if (status == LTH_OK) status = lth_gp_save(gp, "test_draws.model", err);
    if (status == LTH_OK) status = lth_gp_load(u->ctx, "test_draws.model", &loaded, err);
    if (status == LTH_OK && labels) status = lth_gp_classify(loaded, u->table, p, err);
    if (status == LTH_OK && !labels) status = lth_gp_predict(loaded, u->table, false, p, sd, err);
    lth_gp_free(gp);
    lth_gp_free(loaded);
    unlink("test_draws.model");
    return status;
}

static void each_allocation_fails(void **state) {
    (void)state;
    lth_ctx *ctx = support_context(1);
    lth_table *labels = support_labels(ctx, 12);
    lth_table *numbers = support_table(ctx, "x\ty\n1\t1\n2\t3\n3\t2\n4\t5\n5\t4\n6\t6\n");
    fail_each(use_all, &(use){ctx, numbers, "y"}, true, 50);
    fail_each(use_all, &(use){ctx, labels, "two"}, true, 50);
    lth_table_free(labels);
    lth_table_free(numbers);
    lth_ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eigenvalues),
        cmocka_unit_test(weights),
        cmocka_unit_test(every_kernel),
        cmocka_unit_test(each_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
