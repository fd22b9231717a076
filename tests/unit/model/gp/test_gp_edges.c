/* Gaussian process regression on small and odd data, and what it refuses. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "gp_support.h"
#include "model/gp/gp.h"

/* ---- Means and scales ---- */

static void zero_mean(void **state) {
    (void)state;
    lth_ctx *ctx = support_context(1);
    lth_table *table = support_table(ctx, "f1\ty\n0\t5\n1\t6\n2\t7\n"),
              *far = support_table(ctx, "f1\n1000\n");
    for (int zero = 0; zero < 2; zero++) {
        lth_gp_options options = support_fixed();
        options.zero_mean = zero;
        lth_gp *gp = support_fit(ctx, "rbf(f1)", table, 1, &options);
        double *p = support_predict(gp, far, true);
        support_near(p[0], zero ? 0 : 6, 1e-14);
        /* One scaled unit is the deviation from what was taken out. */
        support_near(p[1], sqrt(zero ? (25 + 36 + 49) / 3.0 : 2 / 3.0), 1e-14);
        free(p);
        lth_gp_free(gp);
    }
    lth_table_free(table);
    lth_table_free(far);
    lth_ctx_free(ctx);
}

static void unscaled(void **state) {
    (void)state;
    lth_ctx *ctx = support_context(1);
    lth_table *table = support_table(ctx, "f1\ty\n0\t50\n1\t60\n2\t70\n"),
              *far = support_table(ctx, "f1\n1000\n");
    lth_gp_options options = support_fixed();
    options.unscaled = true;
    lth_gp *gp = support_fit(ctx, "rbf(f1, variance=9)", table, 1, &options);
    double *p = support_predict(gp, far, true);
    support_near(p[0], 60, 1e-14);
    support_near(p[1], 3, 1e-14);
    free(p);
    support_near(lth_gp_param_at(gp, LTH_NONE)->value, 100 / 3.0, 1e-14); /* half of the variance */
    lth_gp_free(gp);
    options.noise = 4;
    gp = support_fit(ctx, "rbf(f1, variance=9)", table, 1, &options);
    p = support_predict(gp, far, false);
    support_near(p[1], sqrt(13), 1e-14);
    free(p);
    lth_gp_free(gp);
    lth_table_free(table);
    lth_table_free(far);
    lth_ctx_free(ctx);
}

/* ---- Small and odd data ---------------------------------------------------------------------- */

static size_t warnings;

static void count_warnings(void *user, lth_log_level level, const char *text) {
    (void)user;
    (void)text;
    warnings += level == LTH_LOG_WARNING;
}

static void check_finite(lth_gp *gp, const lth_table *table) {
    size_t count = 2 * lth_table_rows(table) * lth_gp_targets(gp);
    double *p = support_predict(gp, table, false);
    for (size_t i = 0; i < count; i++) assert_true(isfinite(p[i]));
    free(p);
    lth_gp_report r = *lth_gp_reported(gp);
    assert_true(isfinite(r.evidence) && isfinite(r.noise) && isfinite(r.loo->nlpd));
}

static void equal_rows(void **state) {
    (void)state;
    lth_ctx *ctx = support_context(1);
    lth_table *table = support_table(ctx, "text\tf1\ty\na b\t1\t0\na b\t1\t2\na b\t1\t1\nc\t5\t8\n"
                                          "c\t5\t10\n\t9\t4\n\t9\t6\n");
    const char *const list[] = {"rbf(f1)", "ssk(text, order=3)", "normalize(ssk(text, order=2))",
                                "linear(f1)", "linear(bow(text))"};
    for (size_t k = 0; k < 5; k++) {
        lth_gp *gp = support_fit(ctx, list[k], table, 1, NULL);
        check_finite(gp, table);
        double *p = support_predict(gp, table, false);
        assert_true(p[0] == p[1] && p[3] == p[4] && p[5] == p[6]);
        if (k < 2) assert_true(p[0] > 0 && p[0] < 4 && p[3] > 6 && p[3] < 10);
        free(p);
        lth_gp_free(gp);
    }
    lth_table_free(table);
    lth_ctx_free(ctx);
}

static void constant_target(void **state) {
    (void)state;
    lth_ctx_options options;
    lth_ctx_options_init(&options);
    options.log = count_warnings;
    lth_ctx *ctx = NULL;
    assert_int_equal(lth_ctx_create(&options, &ctx, NULL), LTH_OK);
    const char *const lines[] = {"f1\ty\n0\t0.1\n1\t0.1\n2\t0.1\n", "f1\ty\n0\t0\n1\t0\n2\t0\n",
                                 "f1\ty\n0\t-1e9\n1\t-1e9\n2\t-1e9\n"};
    const double value[] = {0.1, 0, -1e9};
    for (size_t k = 0; k < 3; k++) {
        warnings = 0;
        lth_table *table = support_table(ctx, lines[k]);
        lth_gp *gp = support_fit(ctx, "rbf(f1)", table, 1, NULL);
        assert_int_equal(warnings, 1);
        double *p = support_predict(gp, table, false);
        for (size_t i = 0; i < 3; i++) support_near(p[i], value[k], 1e-15);
        check_finite(gp, table);
        assert_int_equal(lth_gp_reported(gp)->iterations, 0);
        free(p);
        lth_gp_free(gp);
        lth_table_free(table);
    }
    lth_ctx_free(ctx);
}

/* A constant target beside one that is not: the kernel is learned from both. */
static void constant_beside_another(void **state) {
    (void)state;
    lth_ctx *ctx = support_context(1);
    lth_table *table = support_table(ctx, "f1\ty\tz\n0\t1\t0\n1\t1\t1\n2\t1\t4\n3\t1\t9\n");
    lth_gp *gp = support_fit(ctx, "rbf(f1)", table, 2, NULL);
    check_finite(gp, table);
    double *p = support_predict(gp, table, false);
    for (size_t i = 0; i < 4; i++) support_near(p[i], 1, 1e-12);
    free(p);
    lth_gp_free(gp);
    lth_table_free(table);
    lth_ctx_free(ctx);
}

static void few_rows(void **state) {
    (void)state;
    lth_ctx *ctx = support_context(1);
    const char *const lines[] = {"text\tf1\ty\na b\t1\t5\n", "text\tf1\ty\na b\t1\t5\nb\t2\t9\n"};
    const char *const list[] = {"rbf(f1)", "ssk(text)", "normalize(ssk(text)) + linear(f1)",
                                "rbf(tfidf(text))"};
    lth_table *far = support_table(ctx, "text\tf1\nzzz\t999\n");
    for (size_t rows = 1; rows <= 2; rows++) {
        lth_table *table = support_table(ctx, lines[rows - 1]);
        for (size_t k = 0; k < 4; k++) {
            lth_gp *gp = support_fit(ctx, list[k], table, 1, NULL);
            assert_int_equal(lth_gp_reported(gp)->rows, rows);
            check_finite(gp, table);
            check_finite(gp, far);
            double *p = support_predict(gp, far, false);
            if (k < 2) support_near(p[0], rows == 1 ? 5 : 7, 1e-12);
            free(p);
            lth_gp_free(gp);
        }
        lth_table_free(table);
    }
    lth_error err = {0};
    lth_gp *gp = NULL;
    const char *name = "y";
    lth_table *none = support_table(ctx, "text\tf1\ty\n");
    assert_int_equal(lth_gp_fit(ctx, "rbf(f1)", none, &name, 1, NULL, &gp, &err), LTH_EFORMAT);
    assert_string_equal(err.message, "there are no rows to learn from");
    assert_null(gp);
    lth_table_free(none);
    lth_table_free(far);
    lth_ctx_free(ctx);
}

static void more_parameters_than_rows(void **state) {
    (void)state;
    lth_ctx *ctx = support_context(1);
    lth_table *table = support_table(ctx, "text\ty\na b c a\t1\nb c d e f\t2\nc c b a d\t4\n");
    lth_gp *gp = support_fit(ctx, "ssk(text, order=20)", table, 1, NULL);
    assert_int_equal(lth_kernel_params(lth_gp_kernel(gp)), 22);
    check_finite(gp, table);
    lth_gp_report r = *lth_gp_reported(gp);
    assert_int_equal(r.orders, 20);
    double sum = 0;
    for (size_t i = 0; i < 20; i++) sum += r.order_share[i];
    support_near(sum, 1, 1e-10);
    for (size_t i = 5; i < 20; i++) assert_true(r.order_share[i] == 0); /* no text is as long */
    lth_gp_free(gp);
    lth_table_free(table);
    lth_ctx_free(ctx);
}

static void unseen_and_empty(void **state) {
    (void)state;
    lth_ctx *ctx = support_context(1);
    lth_table *table = support_table(ctx, "text\ty\na b\t1\nb c\t3\na c d\t8\n"),
              *test = support_table(ctx, "text\tk\nzig zag\t1\n\t2\na zig\t3\n \t4\n");
    lth_gp_options options = support_fixed();
    options.noise = 0.5;
    lth_gp *gp = support_fit(ctx, "ssk(text, order=1)", table, 1, &options);
    double *p = support_predict(gp, test, true), *q = support_predict(gp, test, false);
    double scale = gp->targets[0].scale;
    support_near(p[0], 4, 1e-14); /* like nothing that was seen */
    support_near(p[4], scale * sqrt(2), 1e-14);
    support_near(p[1], 4, 1e-14); /* k(x,x) = 0 */
    assert_true(p[5] == 0 && p[7] == 0);
    support_near(q[5], sqrt(0.5), 1e-14);
    assert_true(fabs(p[2] - 4) > 1e-3); /* a is known */
    /* Unseen words stay what they are: the next table gives the same. */
    double *again = support_predict(gp, test, true);
    assert_memory_equal(again, p, 8 * sizeof *p);
    free(p);
    free(q);
    free(again);
    lth_gp_free(gp);
    gp = support_fit(ctx, "normalize(ssk(text, order=2)) + rbf(tfidf(text))", table, 1, NULL);
    check_finite(gp, test);
    lth_gp_free(gp);
    lth_table_free(table);
    lth_table_free(test);
    lth_ctx_free(ctx);
}

/* ---- What is refused ------------------------------------------------------------------------- */

static void check_refused(const char *lines, const char *const *names, size_t count,
                          lth_status status, size_t line, const char *message) {
    lth_error err = {0};
    lth_ctx *ctx = support_context(1);
    lth_table *table = support_table(ctx, lines);
    lth_gp *gp = NULL;
    assert_int_equal(lth_gp_fit(ctx, "rbf(f1)", table, names, count, NULL, &gp, &err), status);
    assert_int_equal(err.line, line);
    assert_string_equal(err.message, message);
    assert_null(gp);
    lth_table_free(table);
    lth_ctx_free(ctx);
}

static void bad_targets(void **state) {
    (void)state;
    const char *const y = "y", *const z = "z";
    check_refused("f1\ty\n1\t2\n2\tnan\n", &y, 1, LTH_EFORMAT, 3,
                  "\"nan\" in column \"y\" is not a number");
    check_refused("f1\ty\n1\tinf\n2\t1\n", &y, 1, LTH_EFORMAT, 2,
                  "\"inf\" in column \"y\" is not a number");
    check_refused("f1\ty\n1\t-1e999\n2\t1\n", &y, 1, LTH_EFORMAT, 2,
                  "\"-1e999\" in column \"y\" is not a number");
    check_refused("f1\ty\n1\t1\n2\t3\n2\t\n", &y, 1, LTH_EFORMAT, 4,
                  "\"\" in column \"y\" is not a number");
    check_refused("f1\ty\n1\t2\n", &z, 1, LTH_EFORMAT, 1, "no column \"z\"");
    check_refused("f1\ty\n1\t2\n", NULL, 0, LTH_EARG, 0, "no target column is named");
    check_refused("f1\ty\nx\t2\n", &y, 1, LTH_EFORMAT, 2, "\"x\" in column \"f1\" is not a number");
    check_refused("f2\ty\n1\t2\n", &y, 1, LTH_EFORMAT, 1,
                  "no column \"f1\"; did you mean \"f2\"? The columns are: f2, y");
}

static void duplicate_columns(void **state) {
    (void)state;
    lth_error err = {0};
    lth_ctx *ctx = support_context(1);
    lth_table *table = NULL;
    char *path = support_file("f1\ty\ty\n1\t2\t3\n", 14);
    assert_int_equal(lth_table_read(ctx, path, NULL, &table, &err), LTH_EFORMAT);
    assert_int_equal(err.line, 1);
    assert_string_equal(err.message, "two columns have the name \"y\"");
    support_remove(path);
    /* A target named twice is learned twice, alike. */
    table = support_table(ctx, "f1\ty\n1\t2\n2\t5\n3\t1\n");
    const char *const names[] = {"y", "y"};
    lth_gp *gp = NULL;
    support_ok(lth_gp_fit(ctx, "rbf(f1)", table, names, 2, NULL, &gp, &err), &err);
    double *p = support_predict(gp, table, false);
    assert_memory_equal(p, p + 3, 3 * sizeof *p);
    free(p);
    lth_gp_free(gp);
    lth_table_free(table);
    lth_ctx_free(ctx);
}

static void vectors_missing(void **state) {
    (void)state;
    lth_error err = {0};
    lth_ctx *ctx = support_context(1);
    lth_table *table = support_rows(ctx, 0, 5);
    lth_gp *gp = NULL;
    const char *name = "y";
    const char *const list[] = {"ssk(text, sim=dot)", "rbf(mean(text))"};
    for (size_t k = 0; k < 2; k++) {
        assert_int_equal(lth_gp_fit(ctx, list[k], table, &name, 1, NULL, &gp, &err), LTH_EARG);
        assert_non_null(strstr(err.message, "vectors"));
    }
    lth_gp_options options = support_fixed();
    options.vectors = "no/such/file";
    assert_int_equal(lth_gp_fit(ctx, list[0], table, &name, 1, &options, &gp, &err), LTH_EIO);
    assert_string_equal(err.file, "no/such/file");
    assert_null(gp);
    lth_table_free(table);
    lth_ctx_free(ctx);
}

/* A column may be called like a range: the model then has one number where it had two. */
static void other_columns(void **state) {
    (void)state;
    lth_error err = {0};
    lth_ctx *ctx = support_context(1);
    lth_table *two = support_table(ctx, "f1\tf2\ty\n1\t2\t3\n2\t1\t4\n"),
              *one = support_table(ctx, "f1..f2\ty\n1\t3\n2\t4\n");
    lth_table *const tables[] = {two, one};
    for (size_t k = 0; k < 2; k++) {
        lth_gp_options options = support_fixed();
        lth_gp *gp = support_fit(ctx, "rbf(f1..f2)", tables[k], 1, &options);
        double mean[2];
        assert_int_equal(lth_gp_predict(gp, tables[1 - k], false, mean, NULL, &err), LTH_EARG);
        assert_non_null(strstr(err.message, "columns"));
        lth_gp_free(gp);
    }
    lth_table_free(two);
    lth_table_free(one);
    lth_ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zero_mean),
        cmocka_unit_test(unscaled),
        cmocka_unit_test(equal_rows),
        cmocka_unit_test(constant_target),
        cmocka_unit_test(constant_beside_another),
        cmocka_unit_test(few_rows),
        cmocka_unit_test(more_parameters_than_rows),
        cmocka_unit_test(unseen_and_empty),
        cmocka_unit_test(bad_targets),
        cmocka_unit_test(duplicate_columns),
        cmocka_unit_test(vectors_missing),
        cmocka_unit_test(other_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
