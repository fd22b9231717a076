/* How sharp the probabilities of labels are: rows left out by closed forms against rows that really
 * are, what makes a model sharper and what does not, and that nothing else changes. */
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
#include "base/text.h"
#include "gp_support.h"
#include "model/gp/gp_sharpness.h"

static lth_ctx *ctx;
static char folder[] = "test_sharpness.XXXXXX";

static int open_folder(void **state) {
    (void)state;
    if (!mkdtemp(folder) || chdir(folder) != 0) return -1;
    ctx = support_context(1);
    return 0;
}

static int close_folder(void **state) {
    (void)state;
    lth_ctx_free(ctx);
    return chdir("..") == 0 && rmdir(folder) == 0 ? 0 : -1;
}

/* ---- Rows that are left out ------------------------------------------------------------------ */

enum { ROWS = 30, MOST = 3 };

/* Rows of numbers x and labels k: "a", "b" and, of three classes, "c"; or both of two labels. */
typedef struct rows {
    double x[ROWS], z[ROWS];
    const char *k[ROWS];
} rows;

static rows make_rows(size_t classes, bool several, double overlap) {
    static const char *const names[] = {"a", "b", "c"}, *const both[] = {"a", "a,b", "b"};
    lth__random random;
    rows r;
    lth__random_seed(&random, 7);
    for (size_t i = 0; i < ROWS; i++) {
        size_t class = i % classes;
        r.x[i] = 2 * (double)class + overlap * (lth__random_uniform(&random) - 0.5);
        r.z[i] = lth__random_uniform(&random);
        r.k[i] = several ? both[class] : names[class];
    }
    return r;
}

/* All rows, or all but one, or one alone. */
static lth_table *table_of(const rows *r, size_t without, size_t only) {
    lth__string text = {0};
    lth__string_format(&text, "x\tz\tk\n");
    for (size_t i = 0; i < ROWS; i++) {
        if (i == without || (only != LTH_NONE && i != only)) continue;
        lth__string_format(&text, "%.17g\t%.17g\t%s\n", r->x[i], r->z[i], r->k[i]);
    }
    lth_table *table = support_table(ctx, text.bytes);
    lth__string_free(&text);
    return table;
}

static const char kernel[] = "3 * rbf(x, variance=1!) + rbf(z, variance=1!)";

static lth_gp *fit(const rows *r, size_t without, const lth_gp_options *options) {
    lth_table *table = table_of(r, without, LTH_NONE);
    lth_gp *gp = support_classifier(ctx, kernel, table, "k", options);
    lth_table_free(table);
    return gp;
}

/* -log P of the labels of a row. */
static double loss_of(const lth_gp *gp, const rows *r, size_t row) {
    lth_error err = {0};
    double p[MOST], sum = 0;
    lth_table *one = table_of(r, LTH_NONE, row);
    size_t classes = lth_gp_classes(gp);
    support_ok(lth_gp_classify(gp, one, p, &err), &err);
    lth_table_free(one);
    for (size_t c = 0; c < classes; c++) {
        bool has = strstr(r->k[row], lth_gp_class(gp, c)->name) != NULL;
        if (!lth_gp_is_multi_label(gp)) sum -= has ? log(p[c]) : 0;
        if (lth_gp_is_multi_label(gp)) sum -= log(has ? p[c] : 1 - p[c]);
    }
    return sum;
}

static void check_left_out(size_t classes, bool several, lth_gp_options options, double tolerance) {
    rows r = make_rows(classes, several, 4);
    options.learn = false;
    lth_gp *all = fit(&r, LTH_NONE, &options);
    double found = lth_gp_reported(all)->left_out_loss_plain, sum = 0, inside = 0;
    options.calibrate = false;
    for (size_t i = 0; i < ROWS; i++) {
        lth_gp *others = fit(&r, i, &options);
        assert_true(lth_gp_reported(others)->sharpness == 0);
        sum += loss_of(others, &r, i) / ROWS;
        lth_gp_free(others);
    }
    lth_gp *plain = fit(&r, LTH_NONE, &options);
    for (size_t i = 0; i < ROWS; i++) inside += loss_of(plain, &r, i) / ROWS;
    print_message("%zu classes: %.6f, really left out %.6f, not left out %.6f\n", classes, found,
                  sum, inside);
    assert_true(fabs(found - sum) < tolerance * sum);
    assert_true(inside < 0.9 * sum); /* or nothing was tested */
    lth_gp_free(plain);
    lth_gp_free(all);
}

/* Within this share of the loss: the mode moves when a row goes, and so do all W. */
static void left_out(void **state) {
    (void)state;
    const double tolerance = 0.01;
    lth_gp_options options;
    lth_gp_options_init(&options);
    for (int link = LTH_LOGIT; link <= LTH_PROBIT; link++) {
        options.likelihood = (lth_likelihood)link;
        check_left_out(2, false, options, tolerance);
        check_left_out(3, false, options, tolerance);
        check_left_out(3, true, options, tolerance);
    }
    options.likelihood = LTH_SOFTMAX;
    check_left_out(2, false, options, tolerance);
    check_left_out(3, false, options, tolerance);
    options.likelihood = LTH_LOGIT;
    options.posterior = LTH_POSTERIOR_SITES;
    check_left_out(3, false, options, tolerance);
    options.posterior = LTH_POSTERIOR_INDUCING;
    options.inducing = ROWS;
    check_left_out(3, false, options, tolerance);
    /* Classes are taken to be independent, and a row's sites to go without the others' giving way:
     * on the safe side. */
    options.likelihood = LTH_SOFTMAX;
    check_left_out(3, false, options, 0.08);
}

/* ---- What it comes to ------------------------------------------------------------------------ */

static lth_gp *fit_by(const rows *r, lth_likelihood likelihood, bool calibrate) {
    lth_gp_options options;
    lth_gp_options_init(&options);
    options.restarts = 0;
    options.likelihood = likelihood;
    options.calibrate = calibrate;
    return fit(r, LTH_NONE, &options);
}

/* Probabilities with it are the power of those without. */
static void check_powers(const lth_gp *gp, const lth_gp *plain, const rows *r) {
    lth_error err = {0};
    lth_table *table = table_of(r, LTH_NONE, LTH_NONE);
    size_t classes = lth_gp_classes(gp);
    double p[ROWS * MOST], q[ROWS * MOST], power = lth_gp_reported(gp)->sharpness;
    support_ok(lth_gp_classify(gp, table, p, &err), &err);
    support_ok(lth_gp_classify(plain, table, q, &err), &err);
    for (size_t i = 0; i < ROWS; i++) {
        double sum = 0;
        for (size_t c = 0; c < classes; c++) sum += pow(q[i * classes + c], power);
        for (size_t c = 0; c < classes; c++) {
            double a = q[i * classes + c], all = sum;
            if (lth_gp_is_multi_label(gp)) all = pow(a, power) + pow(1 - a, power);
            support_near(p[i * classes + c], pow(a, power) / all, 1e-12);
        }
    }
    lth_table_free(table);
}

/* Classes that are apart make it sharper. */
static void told_apart(void **state) {
    (void)state;
    for (size_t classes = 2; classes <= 3; classes++) {
        rows r = make_rows(classes, false, 1);
        for (int link = 0; link < 3; link++) {
            const lth_likelihood by[] = {LTH_LOGIT, LTH_PROBIT, LTH_SOFTMAX};
            lth_gp *gp = fit_by(&r, by[link], true), *plain = fit_by(&r, by[link], false);
            const lth_gp_report *report = lth_gp_reported(gp);
            print_message("sharpness %g, %g to %g\n", report->sharpness,
                          report->left_out_loss_plain, report->left_out_loss);
            assert_true(report->sharpness > 1.5);
            assert_true(report->left_out_loss < 0.7 * report->left_out_loss_plain);
            check_powers(gp, plain, &r);
            lth_gp_free(gp);
            lth_gp_free(plain);
        }
    }
    rows r = make_rows(3, true, 1);
    lth_gp *gp = fit_by(&r, LTH_LOGIT, true), *plain = fit_by(&r, LTH_LOGIT, false);
    assert_true(lth_gp_reported(gp)->sharpness > 1.2);
    check_powers(gp, plain, &r);
    lth_gp_free(gp);
    lth_gp_free(plain);
}

/* Labels that have nothing to do with the rows do not. */
static void nothing_to_tell(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        rows r = make_rows(2, false, 1);
        lth__random random;
        lth__random_seed(&random, seed);
        for (size_t i = 0; i < ROWS; i++) r.k[i] = lth__random_uniform(&random) < 0.5 ? "a" : "b";
        lth_gp *gp = fit_by(&r, LTH_LOGIT, true);
        print_message("sharpness %g\n", lth_gp_reported(gp)->sharpness);
        assert_true(lth_gp_reported(gp)->sharpness > 0 && lth_gp_reported(gp)->sharpness <= 1);
        lth_gp_free(gp);
    }
}

/* A file has it; one without predicts as it did. */
static void in_a_file(void **state) {
    (void)state;
    lth_error err = {0};
    rows r = make_rows(3, false, 1);
    lth_table *table = table_of(&r, LTH_NONE, LTH_NONE);
    double p[ROWS * MOST], q[ROWS * MOST];
    for (int calibrate = 0; calibrate < 2; calibrate++) {
        lth_gp *gp = fit_by(&r, LTH_LOGIT, calibrate), *again = NULL;
        support_ok(lth_gp_save(gp, "m", &err), &err);
        support_ok(lth_gp_load(ctx, "m", &again, &err), &err);
        const lth_gp_report *a = lth_gp_reported(gp), *b = lth_gp_reported(again);
        assert_true((a->sharpness > 0) == calibrate);
        assert_true(a->sharpness == b->sharpness && a->left_out_loss == b->left_out_loss);
        assert_true(a->left_out_loss_plain == b->left_out_loss_plain);
        support_ok(lth_gp_classify(gp, table, p, &err), &err);
        support_ok(lth_gp_classify(again, table, q, &err), &err);
        for (size_t i = 0; i < ROWS * 3; i++) support_near(p[i], q[i], 1e-12);
        lth_gp_free(gp);
        lth_gp_free(again);
    }
    unlink("m");
    lth_table_free(table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(left_out),
        cmocka_unit_test(told_apart),
        cmocka_unit_test(nothing_to_tell),
        cmocka_unit_test(in_a_file),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
