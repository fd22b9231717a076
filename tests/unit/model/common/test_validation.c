/* A cross-validation whose models predict distributions of their own. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "failing_allocator.h"
#include "gp_support.h"
#include "model/common/validation.h"

enum { ROWS = 4, FOLDS = 2 };
static const double y[ROWS] = {1, 2, 3, 4}, value[ROWS] = {1, 2, 3, 5};
static const size_t fold[ROWS] = {0, 1, 0, 1};

static lth_status validate(bool distribution, lth_validation **out, lth_error *err) {
    lth_validation *v;
    LTH_TRY(lth__validation_create(1, FOLDS, &v, err));
    lth_status status = lth__validation_add(v, y, NULL, ROWS, err);
    if (status == LTH_OK && distribution) status = lth__validation_distribution(v, 0, err);
    lth__validated *t = &v->targets[0];
    for (size_t i = 0; status == LTH_OK && i < ROWS; i++) {
        t->value[i] = value[i];
        if (!distribution) continue;
        t->log_density[i] = -(double)i;
        t->crps[i] = 10 * (double)i;
        t->cdf[i] = i == 3 ? 1 : 0.5;
        t->lower[i] = y[i] - 1;
        t->upper[i] = i == 3 ? y[i] - 0.5 : y[i];
    }
    if (status == LTH_OK) status = lth__validation_judge(v, fold, err);
    if (status == LTH_OK)
        *out = v;
    else
        lth_validation_free(v);
    return status;
}

static void by_distribution(void **state) {
    (void)state;
    lth_error err = {0};
    lth_validation *v = NULL;
    support_ok(validate(true, &v, &err), &err);
    const lth_metrics *first = lth_validation_metrics(v, 0, 0);
    const lth_metrics *second = lth_validation_metrics(v, 0, 1);
    const lth_metrics *all = lth_validation_metrics(v, 0, LTH_NONE);
    assert_true(first->nlpd == 1 && second->nlpd == 2 && all->nlpd == 1.5);
    assert_true(first->crps == 10 && second->crps == 20 && all->crps == 15);
    assert_true(first->coverage == 1 && second->coverage == 0.5 && all->coverage == 0.75);
    support_near(first->calibration, 0.5, 1e-15); /* all of them in the middle */
    support_near(all->calibration,
                 (0.7 + 0.65 + 0.6 + 0.55 + 0.5 + 0.45 + 0.4 + 0.35 + 0.3 + 0.25 + 0.2 + 0.15 +
                  0.1 + 0.05 + 0 + 0.05 + 0.1 + 0.15 + 0.2) /
                     19,
                 1e-15);
    assert_true(all->spearman == 1 && all->mae == 0.25);
    lth_validation_free(v);
}

static void without_any(void **state) {
    (void)state;
    lth_error err = {0};
    lth_validation *v = NULL;
    support_ok(validate(false, &v, &err), &err);
    const lth_metrics *all = lth_validation_metrics(v, 0, LTH_NONE);
    assert_true(isnan(all->nlpd) && isnan(all->crps) && isnan(all->coverage));
    assert_true(isnan(all->calibration) && all->kendall == 1 && all->recall == 1);
    lth_validation_free(v);
}

/* One fold has whole numbers, all rows have not. */
static void no_grades_by_chance(void **state) {
    (void)state;
    lth_error err = {0};
    lth_validation *v = NULL;
    support_ok(validate(false, &v, &err), &err);
    for (size_t f = 0; f < FOLDS; f++) assert_true(isfinite(lth_validation_metrics(v, 0, f)->qwk));
    v->targets[0].y[1] = 2.5;
    support_ok(lth__validation_judge(v, fold, &err), &err);
    for (size_t f = 0; f < FOLDS; f++) assert_true(isnan(lth_validation_metrics(v, 0, f)->qwk));
    lth_validation_free(v);
}

static lth_status try_it(void *user, lth_error *err) {
    (void)user;
    lth_validation *v = NULL;
    lth_status status = validate(true, &v, err);
    lth_validation_free(v);
    return status;
}

static void without_memory(void **state) {
    (void)state;
    fail_each(try_it, NULL, false, 20);
}

/* Of either kind of model. */
static void folds_that_cannot_be(void **state) {
    (void)state;
    static const struct {
        size_t fold[ROWS];
        const char *why;
    } cases[] = {{{0, 0, 2, 2}, "fold 2 is empty, or holds all rows"},
                 {{2, 2, 2, 2}, "fold 1 is empty, or holds all rows"},
                 {{0, 0, 0, 0}, "fold 1 is empty, or holds all rows"},
                 {{0, 1, 2, 3}, "row 4 is in fold 4 of 3"}};
    const char *target = "y";
    lth_ctx *ctx = support_context(1);
    lth_table *table = support_table(ctx, "text\ty\na\t1\nb\t2\na b\t3\nb c\t2\n");
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        const size_t *of = cases[i / 2].fold;
        lth_error err = {0};
        lth_validation *v = NULL;
        assert_int_equal(
            i % 2 ? lth_svm_cv(ctx, "bow(text)", table, &target, 1, of, 3, NULL, &v, &err)
                  : lth_gp_cv(ctx, "bow(text)", table, &target, 1, of, 3, NULL, &v, &err),
            LTH_EARG);
        assert_string_equal(err.message, cases[i / 2].why);
        assert_null(v);
    }
    lth_table_free(table);
    lth_ctx_free(ctx);
}

/* A grade that only the rows of one fold have: its model knows of it all the same. */
static void grades_of_one_fold(void **state) {
    (void)state;
    enum { MANY = 12 };
    const char *target = "y";
    size_t in[MANY];
    lth_error err = {0};
    lth_validation *v = NULL;
    lth_ctx *ctx = support_context(1);
    lth_table *table = support_table(ctx, "a\ty\n1\t2\n2\t0\n3\t1\n4\t0\n5\t1\n6\t0\n7\t1\n"
                                          "8\t0\n9\t1\n10\t0\n11\t1\n12\t0\n");
    lth_gp_options options = support_fixed();
    options.likelihood = LTH_ORDINAL;
    for (size_t i = 0; i < MANY; i++) in[i] = i / 3 % 2;
    support_ok(lth_gp_cv(ctx, "rbf(a)", table, &target, 1, in, 2, &options, &v, &err), &err);
    assert_true(isfinite(lth_validation_metrics(v, 0, LTH_NONE)->nlpd));
    for (size_t i = 0; i < MANY; i++)
        assert_true(lth_validation_value(v, 0, i) > 0 && lth_validation_value(v, 0, i) < 2);
    lth_validation_free(v);
    lth_table_free(table);
    lth_ctx_free(ctx);
}

/* Of several targets each is judged by its own numbers. */
static void each_target_by_itself(void **state) {
    (void)state;
    const char *targets[] = {"y", "z", "w"};
    size_t in[20];
    lth_error err = {0};
    lth_validation *all = NULL;
    lth_ctx *ctx = support_context(1);
    lth_table *table = support_rows(ctx, 0, 20);
    lth_gp_options options = support_fixed();
    lth_folds_shuffled(1, 20, 4, in);
    support_ok(lth_gp_cv(ctx, "rbf(f1..f2)", table, targets, 3, in, 4, &options, &all, &err), &err);
    for (size_t t = 0; t < 3; t++) {
        lth_validation *one = NULL;
        support_ok(
            lth_gp_cv(ctx, "rbf(f1..f2)", table, &targets[t], 1, in, 4, &options, &one, &err),
            &err);
        const lth_metrics *a = lth_validation_metrics(all, t, LTH_NONE);
        const lth_metrics *b = lth_validation_metrics(one, 0, LTH_NONE);
        support_near(a->rmse, b->rmse, 1e-9);
        support_near(a->nlpd, b->nlpd, 1e-9);
        support_near(a->coverage, b->coverage, 1e-9);
        lth_validation_free(one);
    }
    lth_validation_free(all);
    lth_table_free(table);
    lth_ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_distribution),      cmocka_unit_test(without_any),
        cmocka_unit_test(no_grades_by_chance),  cmocka_unit_test(without_memory),
        cmocka_unit_test(folds_that_cannot_be), cmocka_unit_test(each_target_by_itself),
        cmocka_unit_test(grades_of_one_fold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
