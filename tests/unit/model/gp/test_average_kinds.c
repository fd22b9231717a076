/* Averages over draws with every posterior: those that do not have a factor of all rows come to the
 * same as those that do. */
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
#include "model/gp/gp_average.h"
#include "model/gp/gp_uncertain.h"
#include "scratch.h"

enum { ROWS = 24, NEW = 7, DRAWS = 6 };

static lth_ctx *ctx;
static lth_table *rows, *new_rows;
static const char kernel[] = "rbf(f1, variance=1!)";

/* Two waves with noise; of the second every third number is missing. */
static lth_table *make_rows(size_t count, double from, double to, uint64_t seed) {
    char text[8192] = "f1\ty\tz\tw\tlabel\n", second[32];
    lth__random random;
    lth__random_seed(&random, seed);
    for (size_t i = 0; i < count; i++) {
        double x = from + (to - from) * ((double)i + 0.5) / (double)count;
        double y = sin(2 * x) + 0.2 * lth__random_normal(&random);
        double z = cos(x) - 0.7 * y + 0.2 * lth__random_normal(&random);
        size_t length = strlen(text);
        snprintf(second, sizeof second, "%.6f", z);
        snprintf(text + length, sizeof text - length, "%.6f\t%.6f\t%s\t%.6f\t%s\n", x, y,
                 i % 3 == 0 ? "" : second, 3 + y * y + x, y > 0 ? "up" : "down");
    }
    return support_table(ctx, text);
}

static int open_tables(void **state) {
    ctx = support_context(1);
    rows = make_rows(ROWS, 0, 5, 7);
    new_rows = make_rows(NEW, -0.5, 6, 5);
    return scratch_open(state);
}

static int close_tables(void **state) {
    lth_table_free(rows);
    lth_table_free(new_rows);
    lth_ctx_free(ctx);
    return scratch_close(state);
}

static lth_gp_options asks(size_t average) {
    lth_gp_options options;
    lth_gp_options_init(&options);
    options.restarts = 0;
    options.average = average;
    return options;
}

static lth_gp *fit_targets(const lth_gp_options *options, size_t count) {
    lth_gp *gp = NULL;
    lth_error err = {0};
    const char *targets[] = {"y", options->coregion ? "z" : "w"}; /* w has no gaps */
    support_ok(lth_gp_fit(ctx, kernel, rows, targets, count, options, &gp, &err), &err);
    return gp;
}

static lth_gp *fit(const lth_gp_options *options) {
    return fit_targets(options, options->coregion ? 2 : 1);
}

/* ---- The same as by a factor of all rows ---- */

static void near_each_other(lth_gp *a, lth_gp *b, double tolerance) {
    double *p = support_predict(a, new_rows, false), *q = support_predict(b, new_rows, false);
    for (size_t k = 0; k < 2 * a->target_count * NEW; k++) support_near(p[k], q[k], tolerance);
    free(p);
    free(q);
    lth_gp_free(a);
    lth_gp_free(b);
}

/* All rows stand for all. */
static void inducing_rows(void **state) {
    (void)state;
    const lth_likelihood likelihoods[] = {LTH_GAUSSIAN, LTH_STUDENT, LTH_WARPED};
    for (size_t i = 0; i < 6; i++) {
        lth_gp_options options = asks(DRAWS);
        size_t targets = 1 + i % 2;
        options.likelihood = likelihoods[i / 2];
        lth_gp *whole = fit_targets(&options, targets);
        options.posterior = LTH_POSTERIOR_INDUCING;
        options.inducing = ROWS;
        lth_gp *few = fit_targets(&options, targets);
        assert_int_equal(lth_gp_reported(few)->draws, DRAWS);
        near_each_other(whole, few, 1e-5);
    }
}

static void conjugate_gradients(void **state) {
    (void)state;
    lth_gp_options options = asks(DRAWS);
    lth_gp *whole = fit(&options);
    options.posterior = LTH_POSTERIOR_CG;
    lth_gp *steps = fit(&options);
    assert_int_equal(lth_gp_reported(steps)->draws, DRAWS);
    near_each_other(whole, steps, 1e-5);
}

/* Both learn by Laplace's approximation, which is near what the inducing rows then do. */
static void labels_of_inducing_rows(void **state) {
    (void)state;
    lth_gp_options options = asks(DRAWS);
    lth_gp *whole = support_classifier(ctx, kernel, rows, "label", &options);
    options.posterior = LTH_POSTERIOR_INDUCING;
    options.inducing = ROWS;
    lth_gp *few = support_classifier(ctx, kernel, rows, "label", &options);
    const struct lth__draws *a = whole->draws, *b = few->draws;
    assert_memory_equal(a->value, b->value, DRAWS * a->params * sizeof *a->value);
    double *p = support_classify(whole, new_rows), *q = support_classify(few, new_rows);
    for (size_t k = 0; k < 2 * NEW; k++) support_near(p[k], q[k], 0.05);
    free(p);
    free(q);
    lth_gp_free(whole);
    lth_gp_free(few);
}

/* Draws of a bound are of one basis: the evidence of each is that of the best point's rows. */
static void bounds_of_few_rows(void **state) {
    (void)state;
    const lth_bound bounds[] = {LTH_BOUND_TITSIAS, LTH_BOUND_FITC};
    for (size_t i = 0; i < 2; i++) {
        lth_gp_options options = asks(0);
        options.posterior = LTH_POSTERIOR_INDUCING;
        options.inducing = 8;
        options.bound = bounds[i];
        lth_gp *point = fit(&options);
        options.average = 16;
        lth_gp *gp = fit(&options);
        assert_true(lth_gp_reported(gp)->evidence == lth_gp_reported(point)->evidence);
        assert_true(lth_gp_reported(gp)->effective_draws > 8);
        double *p = support_predict(point, new_rows, false),
               *q = support_predict(gp, new_rows, false), apart = 0;
        for (size_t k = 0; k < NEW; k++) {
            apart += fabs(p[k] - q[k]);
            assert_true(fabs(p[k] - q[k]) < 0.2 && q[NEW + k] > 0.8 * p[NEW + k]);
        }
        assert_true(apart > 1e-4);
        free(p);
        free(q);
        lth_gp_free(point);
        lth_gp_free(gp);
    }
}

/* ---- Targets that learn from each other ---- */

/* A draw predicts as a model of its values. */
static void check_draw(const lth_gp *draw, const lth_gp *gp) {
    double *a = support_predict((lth_gp *)draw, new_rows, false);
    lth_gp_options options = asks(0);
    options.coregion = gp->how.coregion;
    options.learn = false;
    lth_gp *by = fit(&options);
    lth__gram *gram = NULL;
    lth_error err = {0};
    double evidence;
    for (size_t p = 0; p < lth__gp_param_count(by); p++)
        *lth__gp_value(by, p) = *lth__gp_value((lth_gp *)draw, p);
    by->posterior->free(by->solution);
    by->solution = NULL;
    support_ok(by->posterior->open(by, &err), &err);
    support_ok(lth__gram_create(by->kernel, by->items, NULL, &gram, &err), &err);
    support_ok(lth__gp_solve(by, gram, &evidence, &err), &err);
    support_ok(by->posterior->settle(by, &err), &err);
    lth__gram_free(gram);
    double *b = support_predict(by, new_rows, false);
    for (size_t k = 0; k < 4 * NEW; k++) support_near(a[k], b[k], 1e-9);
    free(a);
    free(b);
    lth_gp_free(by);
}

static void coregional(void **state) {
    (void)state;
    for (size_t rank = 1; rank <= 2; rank++) {
        lth_gp_options options = asks(DRAWS);
        options.coregion = rank;
        lth_gp *gp = fit(&options);
        lth__averaged by;
        lth_error err = {0};
        double *p = support_predict(gp, new_rows, false), mean[2 * NEW] = {0};
        support_ok(lth__gp_averaged(gp, &by, &err), &err);
        assert_int_equal(by.count, DRAWS);
        for (size_t i = 0; i < by.count; i++) {
            const lth_gp *draw = lth__averaged_at(&by, i);
            double *of = support_predict((lth_gp *)draw, new_rows, false);
            for (size_t k = 0; k < 2 * NEW; k++) mean[k] += by.weight[i] * of[k];
            free(of);
            check_draw(draw, gp);
        }
        for (size_t k = 0; k < 2 * NEW; k++) support_near(p[k], mean[k], 1e-12);
        free(p);
        lth_gp_free(gp);
    }
}

/* Two columns of weights can be turned into each other, and their size is the kernel's as well:
 * draws that went straight along such directions would weigh next to nothing. */
static void turned_weights(void **state) {
    (void)state;
    lth_gp_options options = asks(32);
    options.coregion = 2;
    lth_gp *gp = NULL;
    lth_error err = {0};
    const char *targets[] = {"y", "z"};
    lth_table *more = make_rows(60, 0, 10, 7);
    support_ok(lth_gp_fit(ctx, "rbf(f1)", more, targets, 2, &options, &gp, &err), &err);
    print_message("%g\n", lth_gp_reported(gp)->effective_draws);
    assert_true(lth_gp_reported(gp)->effective_draws > 10);
    lth_table_free(more);
    lth_gp_free(gp);
}

/* ---- In a file, with any number of threads ---- */

static void kinds(size_t kind, lth_gp_options *options) {
    if (kind == 0) options->posterior = LTH_POSTERIOR_CG;
    if (kind == 1 || kind == 2) {
        options->posterior = LTH_POSTERIOR_INDUCING;
        options->inducing = 8;
        if (kind == 2) options->likelihood = LTH_WARPED;
    }
    if (kind == 3) options->coregion = 2;
}

enum { KINDS = 4 };

static void from_a_file(void **state) {
    (void)state;
    for (size_t kind = 0; kind < KINDS; kind++) {
        lth_gp_options options = asks(DRAWS);
        kinds(kind, &options);
        lth_gp *gp = fit(&options), *again = NULL;
        lth_error err = {0};
        char *path = support_file("", 0);
        size_t numbers = (kind == 3 ? 4 : 2) * NEW;
        double *a = support_predict(gp, new_rows, false);
        support_ok(lth_gp_save(gp, path, &err), &err);
        support_ok(lth_gp_load(ctx, path, &again, &err), &err);
        double *b = support_predict(again, new_rows, false);
        assert_memory_equal(a, b, numbers * sizeof *a);
        assert_int_equal(lth_gp_reported(again)->draws, DRAWS);
        free(a);
        free(b);
        support_remove(path);
        lth_gp_free(gp);
        lth_gp_free(again);
    }
}

static void any_number_of_threads(void **state) {
    (void)state;
    lth_ctx *one = ctx, *three = support_context(3);
    lth_table *of_one = rows;
    for (size_t kind = 0; kind < KINDS; kind++) {
        lth_gp_options options = asks(DRAWS);
        kinds(kind, &options);
        lth_gp *a = fit(&options);
        ctx = three;
        rows = make_rows(ROWS, 0, 5, 7);
        lth_gp *b = fit(&options);
        double *p = support_predict(a, new_rows, false), *q = support_predict(b, new_rows, false);
        assert_memory_equal(p, q, 2 * NEW * sizeof *p);
        free(p);
        free(q);
        lth_gp_free(a);
        lth_gp_free(b);
        lth_table_free(rows);
        rows = of_one;
        ctx = one;
    }
    lth_ctx_free(three);
}

/* The point itself is the same, to the last bit. */
static void the_best_point_stays(void **state) {
    (void)state;
    for (size_t kind = 0; kind <= KINDS; kind++) {
        lth_gp_options options = asks(DRAWS);
        kinds(kind, &options);
        if (kind == KINDS) {
            kinds(1, &options);
            options.likelihood = LTH_STUDENT;
        }
        lth_gp *a = fit(&options);
        options.average = 0;
        lth_gp *b = fit(&options);
        lth__draws_free(a->draws);
        a->draws = NULL;
        assert_true(lth_gp_reported(a)->evidence == lth_gp_reported(b)->evidence);
        double *p = support_predict(a, new_rows, false), *q = support_predict(b, new_rows, false);
        assert_memory_equal(p, q, 2 * NEW * sizeof *p);
        free(p);
        free(q);
        lth_gp_free(a);
        lth_gp_free(b);
    }
}

/* A value may be the least that there is, in a file too. */
static void at_the_least(void **state) {
    (void)state;
    const char *target = "y";
    lth_gp_options options = asks(4);
    lth_error err = {0};
    lth_gp *gp = NULL, *again = NULL;
    support_ok(lth_gp_fit(ctx, "rbf(f1) + 0! * rbf(f1, lengthscale=2!)", rows, &target, 1, &options,
                          &gp, &err),
               &err);
    char *path = support_file("", 0);
    support_ok(lth_gp_save(gp, path, &err), &err);
    support_ok(lth_gp_load(ctx, path, &again, &err), &err);
    assert_int_equal(lth_gp_reported(again)->draws, 4);
    support_remove(path);
    lth_gp_free(gp);
    lth_gp_free(again);
}

static void damaged_files(void **state) {
    (void)state;
    lth_gp_options options = asks(4);
    kinds(1, &options);
    lth_gp *gp = fit(&options);
    lth_error err = {0};
    char *path = support_file("", 0);
    support_ok(lth_gp_save(gp, path, &err), &err);
    size_t pivot = 1 + 8, each = pivot + 36; /* after the jitter and b; numbers of a draw */
    const hostile_change few[] = {{.name = "draws.kept", .drop = true},
                                  {.name = "draws.kept", .shorter = true},
                                  {.name = "draws.kept", .at = 0, .number = -1},
                                  {.name = "draws.kept", .at = 1, .number = NAN},
                                  {.name = "draws.kept", .at = pivot, .number = 0.5},
                                  {.name = "draws.kept", .at = pivot + 2, .number = 0.5},
                                  {.name = "draws.kept", .at = each, .number = -1},
                                  {.name = "draws.kept", .at = 3 * each + pivot, .number = 0.5},
                                  {.name = "draws.kept", .at = pivot + 35, .number = 0.5}};
    for (size_t i = 0; i < sizeof few / sizeof *few; i++)
        hostile_refused(ctx, path, &few[i], hostile_gp);
    lth_gp_free(gp);
    options = asks(4);
    kinds(0, &options);
    gp = fit(&options);
    support_ok(lth_gp_save(gp, path, &err), &err);
    const hostile_change steps[] = {{.name = "cg.how", .drop = true},
                                    {.name = "cg.how", .at = 0, .number = 0},
                                    {.name = "cg.how", .at = 1, .number = 0.5}};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        hostile_refused(ctx, path, &steps[i], hostile_gp);
    remove("hostile");
    lth_gp_free(gp);
    support_remove(path);
}

/* ---- Without memory ---- */

static lth_status use_all(void *user, lth_error *err) {
    lth_gp *gp = NULL, *loaded = NULL;
    lth_gp_options options = asks(3);
    double p[4 * NEW], sd[4 * NEW];
    const char *targets[] = {"y", "z"};
    size_t kind = *(const size_t *)user;
    kinds(kind, &options);
    options.max_iter = 1;
    lth_status status =
        lth_gp_fit(ctx, kernel, rows, targets, kind == 3 ? 2 : 1, &options, &gp, err);
    if (status == LTH_OK) status = lth_gp_save(gp, "test_average_kinds.model", err);
    if (status == LTH_OK) status = lth_gp_load(ctx, "test_average_kinds.model", &loaded, err);
    if (status == LTH_OK) status = lth_gp_predict(loaded, new_rows, false, p, sd, err);
    lth_gp_free(gp);
    lth_gp_free(loaded);
    unlink("test_average_kinds.model");
    return status;
}

static void each_allocation_fails(void **state) {
    (void)state;
    for (size_t kind = 0; kind < KINDS; kind++) fail_each(use_all, &kind, true, 50);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inducing_rows),
        cmocka_unit_test(conjugate_gradients),
        cmocka_unit_test(labels_of_inducing_rows),
        cmocka_unit_test(bounds_of_few_rows),
        cmocka_unit_test(coregional),
        cmocka_unit_test(turned_weights),
        cmocka_unit_test(from_a_file),
        cmocka_unit_test(any_number_of_threads),
        cmocka_unit_test(the_best_point_stays),
        cmocka_unit_test(at_the_least),
        cmocka_unit_test(damaged_files),
        cmocka_unit_test(each_allocation_fails),
    };
    return cmocka_run_group_tests(tests, open_tables, close_tables);
}
