/* Number columns read by mean 0 and deviation 1: values by hand, in new tables and in files; what
 * is told and what is refused. Derivatives are in test_wrappers.c. */
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

#include "failing_allocator.h"
#include "gp_support.h"
#include "hostile.h"

enum { ROWS = 4, NEW = 2 };
static const char lines[] = "f1\tf2\tf3\ty\n1\t10\t7\t1\n2\t-10\t7\t2\n3\t10\t7\t4\n4\t50\t7\t3\n";
static const char fresh[] = "y\tf3\tf2\tf1\n0\t9\t15\t2.5\n0\t7\t-25\t100\n";
static const double f1[] = {1, 2, 3, 4, 2.5, 100}, f2[] = {10, -10, 10, 50, 15, -25};

static char folder[] = "test_scale.XXXXXX";
static lth_ctx *ctx;
static char told[1000];
static size_t warnings;

static void take_log(void *user, lth_log_level level, const char *text) {
    (void)user;
    if (level != LTH_LOG_WARNING) return;
    warnings++;
    snprintf(told, sizeof told, "%s", text);
}

/* Population moments of the first four. */
static double scaled(const double *x, size_t i) {
    double mean = (x[0] + x[1] + x[2] + x[3]) / 4, square = 0;
    for (size_t k = 0; k < ROWS; k++) square += (x[k] - mean) * (x[k] - mean) / 4;
    return (x[i] - mean) / sqrt(square);
}

static void test_values(void **state) {
    (void)state;
    lth_error err = {0};
    lth_kernel *kernel = NULL;
    lth_encoder *encoder = NULL;
    lth_items *items = NULL, *others = NULL;
    lth_table *table = support_table(ctx, lines), *more = support_table(ctx, fresh);
    double K[ROWS][ROWS], C[NEW][ROWS], self[NEW];
    support_ok(lth_kernel_parse(ctx, "scale(f1..f3)", &kernel, &err), &err);
    support_ok(lth_encoder_create(ctx, kernel, &encoder, &err), &err);
    warnings = 0;
    support_ok(lth_encode(encoder, table, &items, &err), &err);
    assert_int_equal(warnings, 1); /* f3 */
    assert_non_null(strstr(told, "column \"f3\" does not vary"));
    support_ok(lth_encode(encoder, more, &others, &err), &err);
    support_ok(lth_gram(kernel, items, NULL, K[0], ROWS, &err), &err);
    support_ok(lth_gram(kernel, others, items, C[0], ROWS, &err), &err);
    support_ok(lth_gram_diagonal(kernel, others, self, &err), &err);
    assert_int_equal(warnings, 1);
    for (size_t j = 0; j < ROWS; j++) {
        for (size_t i = 0; i < ROWS; i++)
            support_near(K[i][j], scaled(f1, i) * scaled(f1, j) + scaled(f2, i) * scaled(f2, j),
                         1e-14);
        for (size_t i = 0; i < NEW; i++)
            support_near(
                C[i][j],
                scaled(f1, ROWS + i) * scaled(f1, j) + scaled(f2, ROWS + i) * scaled(f2, j), 1e-14);
    }
    for (size_t i = 0; i < NEW; i++)
        support_near(self[i], pow(scaled(f1, ROWS + i), 2) + pow(scaled(f2, ROWS + i), 2), 1e-14);
    lth_items_free(items), lth_items_free(others);
    lth_encoder_free(encoder);
    lth_kernel_free(kernel);
    lth_table_free(table), lth_table_free(more);
}

/* By any other unit of a column, and from any other zero, the model is the same. */
static void test_units_do_not_matter(void **state) {
    (void)state;
    double *means[2];
    lth_gp_options options;
    lth_gp_options_init(&options);
    options.restarts = 0;
    for (size_t k = 0; k < 2; k++) {
        char text[2000];
        int used = snprintf(text, sizeof text, "a\ty\n");
        for (size_t i = 0; i < 20; i++) {
            double x = sin((double)(3 * i));
            used += snprintf(text + used, sizeof text - (size_t)used, "%.17g\t%.17g\n",
                             k ? 1e4 * x - 3e3 : x, x * x + 0.1 * cos((double)i));
        }
        lth_table *table = support_table(ctx, text);
        lth_gp *gp = support_fit(ctx, "rbf(scale(a))", table, 1, &options);
        means[k] = support_predict(gp, table, false);
        lth_gp_free(gp);
        lth_table_free(table);
    }
    for (size_t i = 0; i < 40; i++) support_near(means[1][i], means[0][i], 1e-6);
    free(means[0]), free(means[1]);
}

static void check_file(const char *kernel, lth_posterior posterior) {
    lth_error err = {0};
    lth_table *table = support_table(ctx, lines), *more = support_table(ctx, fresh);
    lth_gp_options options = support_fixed();
    options.posterior = posterior;
    options.inducing = 2;
    lth_gp *gp = support_fit(ctx, kernel, table, 1, &options), *back = NULL;
    support_ok(lth_gp_save(gp, "model", &err), &err);
    support_ok(lth_gp_load(ctx, "model", &back, &err), &err);
    double *before = support_predict(gp, more, false), *after = support_predict(back, more, false);
    for (size_t i = 0; i < 2 * NEW; i++) assert_true(before[i] == after[i]);
    free(before), free(after);
    lth_gp_free(gp), lth_gp_free(back);
    lth_table_free(table), lth_table_free(more);
}

static void test_files(void **state) {
    (void)state;
    check_file("rbf(scale(f1..f2), ard=yes) + linear(f1)", LTH_POSTERIOR_EXACT);
    check_file("rbf(scale(f1..f2))",
               LTH_POSTERIOR_INDUCING); /* keeps two rows, not their moments */
    check_file("linear(scale(f1..f2))", LTH_POSTERIOR_EXACT);
    const hostile_change changes[] = {
        {.name = "field.0.means", .number = NAN},
        {.name = "field.0.means", .drop = true},
        {.name = "field.0.deviations", .number = -1},
        {.name = "field.0.means", .shorter = true},
        {.name = "field.0.deviations", .number = INFINITY, .at = 1},
        {.name = "field.0.deviations", .longer = true},
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        hostile_refused(ctx, "model", &changes[i], hostile_gp);
    unlink("hostile");
    unlink("model");
}

static void check_refused(const char *kernel, const char *text, size_t line, size_t column,
                          const char *message) {
    lth_error err = {0};
    lth_gp *gp = NULL;
    lth_gp_options options = support_fixed();
    const char *target = "y";
    lth_table *table = support_table(ctx, text);
    assert_int_equal(lth_gp_fit(ctx, kernel, table, &target, 1, &options, &gp, &err), LTH_EFORMAT);
    if (!strstr(err.message, message)) fail_msg("%s: %s", kernel, err.message);
    assert_int_equal(err.line, line);
    assert_int_equal(err.column, column);
    assert_null(gp);
    lth_table_free(table);
}

static void test_refused(void **state) {
    (void)state;
    check_refused("rbf(scale(f1..f2))", "f1\tf2\ty\n1\t2\t3\n1\t\t3\n", 3, 0, "is not a number");
    check_refused("rbf(scale(f1))", "f1\ty\n1\t2\nnan\t3\n", 3, 0, "\"nan\" in column \"f1\"");
    check_refused("rbf(scale(f9))", lines, 1, 1, "no column \"f9\"");
    check_refused("rbf(scale(f1..f4))", lines, 1, 1, "no column \"f4\"");
    check_refused("rbf(scale(f1))", "f1\ty\n1e300\t2\n-1e300\t3\n", 2, 0,
                  "1e+300 in column \"f1\" is too large");
    check_refused("ssk(scale(f1))", lines, 0, 5, "ssk works on a column");
    check_refused("scale(scale(f1))", lines, 0, 7, "scale works on a column");
    check_refused("scale(f1, ard=yes)", lines, 0, 11, "scale has no argument \"ard\"");
    check_refused("rbf(scale(f1) + scale(f2), ard=yes)", lines, 0, 5, "ard=yes needs");
    check_refused("rbf(scale(a..b), ard=yes)", lines, 0, 11, "not a range of numbered columns");
}

static lth_status use(void *user, lth_error *err) {
    const char *target = "y";
    const size_t fold[] = {0, 1, 0, 1};
    lth_gp *gp = NULL;
    lth_validation *v = NULL;
    lth_gp_options options = support_fixed();
    const char *kernel = "rbf(scale(f1..f2)) + linear(tfidf(text))";
    lth_status status = lth_gp_fit(ctx, kernel, user, &target, 1, &options, &gp, err);
    lth_gp_free(gp);
    if (status == LTH_OK)
        status = lth_gp_cv(ctx, kernel, user, &target, 1, fold, 2, &options, &v, err);
    lth_validation_free(v);
    return status;
}

static void test_memory(void **state) {
    (void)state;
    lth_table *table =
        support_table(ctx, "f1\tf2\ttext\ty\n1\t2\ta b\t3\n4\t1\tb\t5\n2\t2\tc\t1\n0\t1\ta\t2\n");
    fail_each(use, table, true, 50);
    lth_table_free(table);
}

static int open_all(void **state) {
    (void)state;
    if (!mkdtemp(folder) || chdir(folder) != 0) return -1;
    lth_ctx_options options;
    lth_ctx_options_init(&options);
    options.threads = 1;
    options.log = take_log;
    lth_error err = {0};
    return lth_ctx_create(&options, &ctx, &err) == LTH_OK ? 0 : -1;
}

static int close_all(void **state) {
    (void)state;
    lth_ctx_free(ctx);
    return chdir("..") == 0 && rmdir(folder) == 0 ? 0 : -1;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values), cmocka_unit_test(test_units_do_not_matter),
        cmocka_unit_test(test_files),  cmocka_unit_test(test_refused),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
