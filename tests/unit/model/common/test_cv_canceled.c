/* A cross-validation that is canceled: the folds that are finished, where they are asked for. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "gp_support.h"

enum { ROWS = 30, FOLDS = 5 };

/* Cancels when it is told for the n-th time that a fold of a target is done, or of machines, which
 * are trained side by side, that a fold of all targets is. */
static int cancel(void *user, const char *what, double done, double total) {
    size_t *left = user;
    (void)done, (void)total;
    return strcmp(what, "cross-validation") == 0 && --*left == 0;
}

static lth_ctx *context(size_t *patience) {
    lth_error err = {0};
    lth_ctx *ctx = NULL;
    lth_ctx_options options;
    lth_ctx_options_init(&options);
    options.threads = 1;
    options.progress = cancel;
    options.user = patience;
    support_ok(lth_ctx_create(&options, &ctx, &err), &err);
    return ctx;
}

static lth_table *table_of(lth_ctx *ctx) {
    lth_error err = {0};
    static double x[ROWS], y[ROWS], z[ROWS];
    static const char *k[ROWS];
    for (size_t i = 0; i < ROWS; i++) {
        x[i] = (double)(i % 11);
        y[i] = sin(x[i]) + 0.01 * (double)i;
        z[i] = cos(x[i]);
        k[i] = i % 11 < 5 ? "low" : "high";
    }
    const lth_column columns[] = {{.name = "x", .numbers = x},
                                  {.name = "y", .numbers = y},
                                  {.name = "z", .numbers = z},
                                  {.name = "k", .text = k}};
    lth_table *table = NULL;
    support_ok(lth_table_from_columns(ctx, columns, sizeof *columns, 4, ROWS, &table, &err), &err);
    return table;
}

/* Folds one after the other: the scale is learned from the rows of each. */
static lth_status validate(bool svm, const char *const *targets, size_t count, size_t patience,
                           bool partial, lth_validation **out) {
    lth_ctx *ctx = context(&patience);
    lth_table *table = table_of(ctx);
    size_t fold[ROWS];
    for (size_t i = 0; i < ROWS; i++) fold[i] = i % FOLDS;
    lth_gp_options gp = support_fixed();
    lth_svm_options machine;
    lth_svm_options_init(&machine);
    gp.partial = machine.partial = partial;
    lth_status status =
        svm ? lth_svm_cv(ctx, "rbf(scale(x))", table, targets, count, fold, FOLDS, &machine, out,
                         NULL)
            : lth_gp_cv(ctx, "rbf(scale(x))", table, targets, count, fold, FOLDS, &gp, out, NULL);
    lth_table_free(table);
    lth_ctx_free(ctx);
    return status;
}

static double error_of(const lth_validation *v, size_t target, size_t fold) {
    return lth_validation_has_labels(v, target)
               ? lth_validation_label_metrics(v, target, fold)->accuracy
               : lth_validation_metrics(v, target, fold)->mae;
}

static size_t rows_of(const lth_validation *v, size_t target) {
    return lth_validation_has_labels(v, target)
               ? lth_validation_label_metrics(v, target, LTH_NONE)->count
               : lth_validation_metrics(v, target, LTH_NONE)->count;
}

static void check(bool svm, const char *const *targets, size_t count) {
    lth_validation *whole = NULL, *part = NULL;
    enum { FINISHED = 3 };
    assert_int_equal(validate(svm, targets, count, LTH_NONE, true, &whole), LTH_OK);
    assert_int_equal(validate(svm, targets, count, FINISHED, false, &part), LTH_ECANCELED);
    assert_null(part);
    assert_int_equal(validate(svm, targets, count, FINISHED, true, &part), LTH_OK);
    size_t finished = 0;
    for (size_t t = 0; t < count; t++) {
        size_t of_target = 0;
        assert_true(lth_validation_done(whole, t, LTH_NONE));
        assert_false(lth_validation_done(part, t, LTH_NONE));
        assert_false(lth_validation_done(whole, t, FOLDS) || lth_validation_done(whole, count, 0));
        for (size_t f = 0; f < FOLDS; f++) {
            assert_true(lth_validation_done(whole, t, f));
            if (!lth_validation_done(part, t, f)) continue;
            assert_true(error_of(part, t, f) == error_of(whole, t, f));
            of_target++;
        }
        assert_int_equal(rows_of(part, t), of_target * ROWS / FOLDS);
        finished += of_target;
    }
    assert_int_equal(finished, svm ? FINISHED * count : FINISHED);
    size_t seen = 0;
    for (size_t c = 0; c < 4; c++) seen += lth_validation_confusion(part, 0, c / 2, c % 2);
    assert_int_equal(seen, lth_validation_has_labels(part, 0) ? rows_of(part, 0) : 0);
    lth_validation_free(whole);
    lth_validation_free(part);
}

static void test_numbers(void **state) {
    (void)state;
    check(false, (const char *[]){"y"}, 1);
    check(false, (const char *[]){"y", "z"}, 2);
}

static void test_labels(void **state) {
    (void)state;
    check(false, (const char *[]){"k"}, 1);
}

static void test_svm(void **state) {
    (void)state;
    check(true, (const char *[]){"y"}, 1);
    check(true, (const char *[]){"k"}, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_labels),
        cmocka_unit_test(test_svm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
