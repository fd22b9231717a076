/* Columns of labels, folds that share out their classes, and the figures of predicted labels. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "gp_support.h"
#include "model/common/folds.h"
#include "model/common/labels_wanted.h"
#include "model/common/metrics.h"

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

/* ---- Reading --------------------------------------------------------------------------------- */

static void test_single(void **state) {
    (void)state;
    lth_error err = {0};
    lth_table *table = support_table(ctx, "t\tc\na\tpear\nb\t apple \nc\tpear\nd\tPear\n");
    lth__labels l;
    support_ok(lth__labels_read(table, "c", &l, &err), &err);
    assert_int_equal(l.rows, 4);
    assert_int_equal(l.class_count, 3);
    assert_false(l.multi);
    assert_string_equal(l.name[0], "Pear"); /* by bytes */
    assert_string_equal(l.name[1], "apple");
    assert_string_equal(l.name[2], "pear");
    assert_int_equal(l.count[0], 1);
    assert_int_equal(l.count[2], 2);
    const size_t expected[] = {2, 1, 2, 0};
    for (size_t i = 0; i < 4; i++) assert_int_equal(l.of[l.start[i]], expected[i]);
    assert_int_equal(lth__labels_find(&l, "pear", 4), 2);
    assert_int_equal(lth__labels_find(&l, "pea", 3), LTH_NONE);
    lth__labels_free(&l);
    lth_table_free(table);
}

static void test_multi(void **state) {
    (void)state;
    lth_error err = {0};
    lth_table *table = support_table(ctx, "t\tc\na\tx\nb\tz, x ,z\nc\t\nd\ty\n");
    lth__labels l;
    support_ok(lth__labels_read(table, "c", &l, &err), &err);
    assert_true(l.multi);
    assert_int_equal(l.class_count, 3);
    const size_t starts[] = {0, 1, 3, 3, 4}, of[] = {0, 0, 2, 1};
    assert_memory_equal(l.start, starts, sizeof starts);
    assert_memory_equal(l.of, of, sizeof of);
    assert_true(lth__labels_has(&l, 1, 2));
    assert_false(lth__labels_has(&l, 2, 0));
    assert_int_equal(l.count[0], 2);
    assert_int_equal(l.count[2], 1); /* given twice, counted once */
    lth__labels_free(&l);
    lth_table_free(table);
}

static void check_error(const char *lines, const char *column, size_t line, const char *message) {
    lth_error err = {0};
    lth_table *table = support_table(ctx, lines);
    lth__labels l;
    assert_int_equal(lth__labels_read(table, column, &l, &err), LTH_EFORMAT);
    assert_int_equal(err.line, line);
    assert_int_equal(err.column, 0);
    assert_string_equal(err.file, lth_table_name(table));
    assert_string_equal(err.message, message);
    lth_table_free(table);
}

static void test_errors(void **state) {
    (void)state;
    check_error("t\tc\na\tx\nb\t\n", "c", 3, "this row has no label in column \"c\"");
    check_error("t\tc\na\tx\nb\t  \n", "c", 3, "this row has no label in column \"c\"");
    check_error("t\tc\na\tx,,y\n", "c", 2, "there is a comma without a label in column \"c\"");
    check_error("t\tc\na\tx\nb\ty,\n", "c", 3, "there is a comma without a label in column \"c\"");
    check_error("t\tc\na\tx\n", "d", 1, "no column \"d\"");
}

static void test_wanted(void **state) {
    (void)state;
    lth_error err = {0};
    lth_table *table = support_table(ctx, "n\tc\tm\n1\tx\t1\n-2.5\t3\tnan\n");
    bool labels;
    support_ok(lth__labels_wanted(table, "n", LTH_TASK_AUTO, &labels, &err), &err);
    assert_false(labels);
    support_ok(lth__labels_wanted(table, "n", LTH_TASK_CLASSIFICATION, &labels, &err), &err);
    assert_true(labels);
    support_ok(lth__labels_wanted(table, "c", LTH_TASK_AUTO, &labels, &err), &err);
    assert_true(labels);
    support_ok(lth__labels_wanted(table, "c", LTH_TASK_REGRESSION, &labels, &err), &err);
    assert_false(labels);
    support_ok(lth__labels_wanted(table, "m", LTH_TASK_AUTO, &labels, &err), &err);
    assert_false(labels); /* and reading the numbers says which is none */
    lth_table_free(table);
}

/* A comma may be inside of a number or between labels. */
static void check_commas(const char *lines, lth_status expected, size_t line) {
    lth_table *table = support_table(ctx, lines);
    bool labels = false;
    for (size_t gp = 0; gp < 2; gp++) {
        lth_error err = {0};
        lth_status status =
            (gp ? lth_gp_has_labels : lth__labels_wanted)(table, "y", LTH_TASK_AUTO, &labels, &err);
        assert_int_equal(status, expected);
        assert_int_equal(err.line, line);
        if (status == LTH_OK) assert_true(labels);
        if (status != LTH_OK) assert_non_null(strstr(err.message, "--task classification"));
        support_ok(lth_gp_has_labels(table, "y", LTH_TASK_CLASSIFICATION, &labels, &err), &err);
        assert_true(labels);
    }
    lth_table_free(table);
}

static void test_commas(void **state) {
    (void)state;
    check_commas("t\ty\na\t7,5\nb\t3,2\n", LTH_EFORMAT, 2);
    check_commas("t\ty\na\t\nb\t3,2\nc\t4\n", LTH_EFORMAT, 3);
    check_commas("t\ty\na\tn/a\nb\t1.234,5\n", LTH_EFORMAT, 3);
    check_commas("t\ty\na\t1,2\nb\t1,2,3\nc\t3\n", LTH_OK, 0); /* such a list is of labels */
    check_commas("t\ty\na\t1, 2\nb\t1,2\n", LTH_OK, 0);
    check_commas("t\ty\na\tx\nb\ty\nc\t1,2\n", LTH_OK, 0); /* mostly words */
    check_commas("t\ty\na\tx,y\nb\tz\n", LTH_OK, 0);

    lth_error err = {0};
    double *y = NULL;
    const char *name = "y";
    lth_table *table = support_table(ctx, "t\ty\na\t7\nb\t3,2\n");
    assert_int_equal(lth__read_targets(table, &name, 1, false, &y, &err), LTH_EFORMAT);
    assert_int_equal(err.line, 3);
    assert_string_equal(
        err.message, "\"3,2\" in column \"y\" is not a number: write a decimal point, and nothing "
                     "between thousands; if these are labels, say so by --task classification");
    lth_table_free(table);
}

/* ---- What is odd ------------------------------------------------------------------------------
 */

static bool is_odd(const char *lines) {
    lth_error err = {0};
    lth_table *table = support_table(ctx, lines);
    lth__labels l;
    support_ok(lth__labels_read(table, "y", &l, &err), &err);
    bool odd = lth__labels_warn(ctx, "y", &l);
    lth__labels_free(&l);
    lth_table_free(table);
    return odd;
}

static void test_odd(void **state) {
    (void)state;
    assert_false(is_odd("t\ty\na\t0\nb\t1\nc\t1\n"));
    assert_false(is_odd("t\ty\na\tx\nb\ty\n"));
    assert_true(is_odd("t\ty\na\tx\nb\ty\nc\tz\n"));   /* each its own */
    assert_true(is_odd("t\ty\na\t0.5\nb\t1\nc\t1\n")); /* measured     */
    assert_true(is_odd("t\ty\na\t0.5\nb\t1\nc\tn/a\nd\t1\n"));
    assert_false(is_odd("t\ty\na\t0.5\nb\tx\nc\tx\nd\tx\n"));
}

/* Whole numbers are measured when there are more than 20 of them, for less than four rows each. */
static bool whole_numbers_are_odd(size_t classes, size_t rows, size_t others) {
    lth__string lines = {0};
    lth__string_format(&lines, "t\ty\n");
    for (size_t i = 0; i < rows; i++) lth__string_format(&lines, "a\t%zu\n", i % classes);
    for (size_t i = 0; i < others; i++) lth__string_format(&lines, "a\tx\n");
    bool odd = is_odd(lines.bytes);
    lth__string_free(&lines);
    return odd;
}

static void test_many_numbers(void **state) {
    (void)state;
    assert_true(whole_numbers_are_odd(21, 83, 0));
    assert_false(whole_numbers_are_odd(21, 84, 0));
    assert_false(whole_numbers_are_odd(20, 50, 0));
    assert_true(whole_numbers_are_odd(25, 51, 48)); /* most rows have one */
    assert_false(whole_numbers_are_odd(25, 50, 50));
}

/* ---- Folds ----------------------------------------------------------------------------------- */

static void test_folds(void **state) {
    (void)state;
    enum { ROWS = 47, FOLDS = 5 };
    lth_error err = {0};
    size_t class[ROWS], fold[ROWS], again[ROWS], other[ROWS];
    for (size_t i = 0; i < ROWS; i++) class[i] = i < 30 ? 0 : i < 42 ? 1 : 2;
    support_ok(lth__folds_by_class(1, class, 3, ROWS, FOLDS, fold, &err), &err);
    support_ok(lth__folds_by_class(1, class, 3, ROWS, FOLDS, again, &err), &err);
    support_ok(lth__folds_by_class(2, class, 3, ROWS, FOLDS, other, &err), &err);
    assert_memory_equal(fold, again, sizeof fold);
    assert_memory_not_equal(fold, other, sizeof fold);
    for (size_t f = 0; f < FOLDS; f++) {
        size_t count[3] = {0};
        for (size_t i = 0; i < ROWS; i++) count[class[i]] += fold[i] == f;
        assert_int_equal(count[0], 6);
        assert_in_range(count[1], 2, 3);
        assert_int_equal(count[2], 1);
        assert_in_range(count[0] + count[1] + count[2], 9, 10);
    }
}

static void test_folds_of_table(void **state) {
    (void)state;
    lth_error err = {0};
    lth_table *table = support_table(ctx, "n\tc\tm\n1\ta\tx\n2\tb\tx,y\n3\ta\t\n4\tb\ty\n");
    size_t fold[4], plain[4];
    support_ok(lth_folds_stratified(3, table, "c", LTH_TASK_AUTO, 2, fold, &err), &err);
    assert_true(fold[0] != fold[2] && fold[1] != fold[3]);
    lth_folds_shuffled(3, 4, 2, plain);
    support_ok(lth_folds_stratified(3, table, "n", LTH_TASK_AUTO, 2, fold, &err), &err);
    assert_memory_equal(fold, plain, sizeof plain);
    support_ok(lth_folds_stratified(3, table, "m", LTH_TASK_AUTO, 2, fold, &err), &err);
    assert_memory_equal(fold, plain, sizeof plain);
    lth_table_free(table);
}

/* ---- Figures --------------------------------------------------------------------------------- */

static void test_metrics(void **state) {
    (void)state;
    enum { ROWS = 6, CLASSES = 4 };
    const size_t y[ROWS] = {0, 0, 0, 1, 1, 2}, found[ROWS] = {0, 0, 1, 1, 0, 1};
    bool truth[ROWS * CLASSES] = {0}, predicted[ROWS * CLASSES] = {0};
    for (size_t i = 0; i < ROWS; i++) {
        truth[i * CLASSES + y[i]] = true;
        predicted[i * CLASSES + found[i]] = true;
    }
    lth_class_metrics each[CLASSES];
    lth_label_metrics m;
    lth_label_metrics_of(truth, predicted, ROWS, CLASSES, &m, sizeof m);
    for (size_t c = 0; c < CLASSES; c++)
        lth_class_metrics_of(truth, predicted, ROWS, CLASSES, c, &each[c], sizeof *each);
    assert_int_equal(m.count, 6);
    support_near(m.accuracy, 0.5, 1e-15);
    support_near(m.micro_f1, 0.5, 1e-15);
    support_near(each[0].precision, 2 / 3.0, 1e-15);
    support_near(each[0].recall, 2 / 3.0, 1e-15);
    support_near(each[1].precision, 1 / 3.0, 1e-15);
    support_near(each[1].recall, 1 / 2.0, 1e-15);
    support_near(each[1].f1, 0.4, 1e-15);
    assert_true(each[2].precision == 0 && each[2].recall == 0 && each[2].f1 == 0);
    assert_int_equal(each[2].support, 1);
    support_near(m.macro_f1, (2 / 3.0 + 0.4 + 0) / 3, 1e-15); /* the fourth never occurs */
    assert_true(isnan(m.auc));
}

static void test_metrics_of_several_labels(void **state) {
    (void)state;
    const bool truth[] = {1, 1, 0, 1, 0, 0}, predicted[] = {1, 0, 0, 1, 1, 0};
    lth_label_metrics m;
    lth_label_metrics_of(truth, predicted, 3, 2, &m, sizeof m);
    support_near(m.accuracy, 1 / 3.0, 1e-15); /* rows that are right in full */
    support_near(m.micro_precision, 2 / 3.0, 1e-15);
    support_near(m.micro_recall, 2 / 3.0, 1e-15);
    /* Class 0: one hit, two found, one there; class 1: one hit, one found, two there. */
    support_near(m.macro_f1, 2 / 3.0, 1e-15);
    support_near(m.macro_precision, 0.75, 1e-15);
}

static void test_auc(void **state) {
    (void)state;
    lth_error err = {0};
    const bool positive[] = {1, 0, 1, 0, 1};
    const double score[] = {3, 1, 1, 2, 0.5};
    double auc;
    /* Of six pairs: 3 beats both, 1 ties with one, 0.5 beats none. */
    support_ok(lth__auc(positive, score, 5, &auc, &err), &err);
    support_near(auc, 2.5 / 6, 1e-15);
    support_ok(lth__auc(positive, score, 1, &auc, &err), &err);
    assert_true(isnan(auc));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_single),
        cmocka_unit_test(test_multi),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_wanted),
        cmocka_unit_test(test_commas),
        cmocka_unit_test(test_odd),
        cmocka_unit_test(test_many_numbers),
        cmocka_unit_test(test_folds),
        cmocka_unit_test(test_folds_of_table),
        cmocka_unit_test(test_metrics),
        cmocka_unit_test(test_metrics_of_several_labels),
        cmocka_unit_test(test_auc),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
