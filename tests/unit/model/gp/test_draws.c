/* Eigenvalues of a small matrix, weights of draws, and draws without memory. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/random.h"
#include "failing_allocator.h"
#include "gp_support.h"
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
    lth__symmetric_eigen(N, copy, V, value);
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
    if (status == LTH_OK) status = lth_gp_save(gp, "averaged", err);
    if (status == LTH_OK) status = lth_gp_load(u->ctx, "averaged", &loaded, err);
    if (status == LTH_OK && labels) status = lth_gp_classify(loaded, u->table, p, err);
    if (status == LTH_OK && !labels) status = lth_gp_predict(loaded, u->table, false, p, sd, err);
    lth_gp_free(gp);
    lth_gp_free(loaded);
    unlink("averaged");
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
        cmocka_unit_test(each_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
