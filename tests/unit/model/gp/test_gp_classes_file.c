/* Classifiers in files, damaged ones, and each allocation failing in turn. */
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
#include "model/gp/gp_classes.h"

/* ---- Context ----------------------------------------------------------------------- */

static lth_ctx *ctx;
static char folder[] = "test_gp_classes_file.XXXXXX";

static int open_folder(void **state) {
    (void)state;
    if (!mkdtemp(folder) || chdir(folder) != 0) return -1;
    ctx = support_context(1);
    return 0;
}

static int close_folder(void **state) {
    (void)state;
    lth_ctx_free(ctx);
    return chdir("..") == 0 && rmdir(folder) == 0 ? 0 : -1; /* nothing was left behind */
}

/* ---- Files ----------------------------------------------------------------------------------- */

static void save_model(const char *target, lth_likelihood likelihood) {
    lth_error err = {0};
    lth_table *table = support_labels(ctx, 9);
    lth_gp_options options = support_fixed();
    options.likelihood = likelihood;
    lth_gp *gp =
        support_classifier(ctx, "normalize(ssk(text, order=2)) + rbf(x)", table, target, &options);
    support_ok(lth_gp_save(gp, "m", &err), &err);
    lth_gp_free(gp);
    lth_table_free(table);
}

static void save_and_load(void **state) {
    (void)state;
    const char *const targets[] = {"two", "three", "several", "two", "three"};
    lth_error err = {0};
    lth_table *table = support_labels(ctx, 20);
    for (size_t t = 0; t < 5; t++) {
        lth_gp_options options;
        lth_gp_options_init(&options);
        options.likelihood = t > 2 ? LTH_SOFTMAX : t == 1 ? LTH_PROBIT : LTH_LOGIT;
        options.restarts = 0;
        lth_gp *gp =
            support_classifier(ctx, "normalize(ssk(text, order=2))", table, targets[t], &options);
        lth_gp *loaded = NULL;
        support_ok(lth_gp_save(gp, "m", &err), &err);
        support_ok(lth_gp_load(ctx, "m", &loaded, &err), &err);
        size_t classes = lth_gp_classes(gp);
        assert_int_equal(lth_gp_classes(loaded), classes);
        assert_int_equal(lth_gp_is_multi_label(loaded), t == 2);
        assert_int_equal(lth_gp_likelihood(loaded), options.likelihood);
        assert_string_equal(lth_gp_target(loaded, 0), targets[t]);
        for (size_t c = 0; c < classes; c++) {
            assert_string_equal(lth_gp_class(loaded, c)->name, lth_gp_class(gp, c)->name);
            assert_int_equal(lth_gp_class(loaded, c)->rows, lth_gp_class(gp, c)->rows);
        }
        lth_gp_param a = *lth_gp_param_at(gp, LTH_NONE), b = *lth_gp_param_at(loaded, LTH_NONE);
        assert_true(a.value == b.value && a.start == b.start && a.held == b.held);
        double *p = support_classify(gp, table), *q = support_classify(loaded, table);
        for (size_t i = 0; i < 20 * classes; i++) support_near(p[i], q[i], 1e-12);
        free(p);
        free(q);
        lth_gp_free(gp);
        lth_gp_free(loaded);
    }
    unlink("m");
    lth_table_free(table);
}

static void truncated(void **state) {
    (void)state;
    save_model("three", LTH_LOGIT);
    support_bytes b = support_slurp("m");
    for (size_t size = 0; size < b.size; size += size < 64 || size + 64 > b.size ? 1 : 23) {
        char *path = support_file(b.data, size);
        hostile_file(ctx, path, hostile_gp);
        support_remove(path);
    }
    free(b.data);
    unlink("m");
}

static void hostile(void **state) {
    (void)state;
    const hostile_change changes[] = {
        {"likelihood", .text = "probably"},
        {"likelihood", .no_text = true},
        {"multi", .text = "maybe"},
        {"multi", .no_text = true},
        {"classes", .text = "[\"low\",\"mid\"]"},         /* one problem, not three */
        {"classes", .text = "[\"low\",\"low\",\"top\"]"}, /* twice                  */
        {"classes", .text = "[\"top\",\"mid\",\"low\"]"}, /* out of order           */
        {"classes", .text = "[\"a\",\"b\",\"c\",\"d\"]"},
        {"classes", .text = "[]"},
        {"classes", .text = "[\"low\"]"},
        {"classes", .text = "{"},
        {"classes", .no_text = true}, /* then it is for numbers, and lacks a factor */
        {"targets", .text = "[\"three\",\"two\"]"},
        {"y", .at = 0, .number = 0},
        {"y", .at = 0, .number = NAN},
        {"y", .at = 3, .number = 2},
        {"alpha", .at = 1, .number = INFINITY},
        {"alpha", .at = 1, .number = 1e300},
        {"root_w", .at = 1, .number = -0.1},
        {"root_w", .at = 1, .number = 1e9},
        {"noise", .at = 0, .number = 0},
        {"noise", .at = 0, .number = -1},
        {"noise", .at = 0, .number = INFINITY},
        {"noise", .at = 1, .number = -1},
        {"scaling", .at = 1, .number = 0},
        {"report", .at = 0, .number = -1},
        {"sharpness", .at = 0, .number = 0},
        {"sharpness", .at = 0, .number = NAN},
        {"sharpness", .at = 0, .number = 1e9},
        {"sharpness", .at = 1, .number = -1},
        {"sharpness", .at = 2, .number = INFINITY},
    };
    save_model("three", LTH_LOGIT);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        hostile_refused(ctx, "m", &changes[i], hostile_gp);
    /* A row of two classes at once, or of none: y of the first row for the second class. */
    lth_error err = {0};
    lth_gp *gp = NULL;
    support_ok(lth_gp_load(ctx, "m", &gp, &err), &err);
    hostile_refused(ctx, "m", &(hostile_change){.name = "y", .at = 9, .number = -gp->y[9]},
                    hostile_gp);
    lth_gp_free(gp);
    static const char *const older[] = {"report.more", "sharpness", NULL}; /* files have none */
    hostile_arrays(ctx, "m", older, NULL, hostile_gp);
    unlink("m");
}

/* Classes that share a row: rows of one label, and the posterior of all rows. */
static void hostile_softmax(void **state) {
    (void)state;
    const hostile_change changes[] = {
        {"likelihood", .text = "gaussian"},
        {"posterior", .text = "sites"},
        {"posterior", .text = "inducing"},
        {"posterior", .text = "exact"},
        {"multi", .text = "yes"},
        {"classes", .text = "[\"low\",\"mid\"]"},
        {"y", .at = 0, .number = 0},
        {"alpha", .at = 1, .number = 1e300},
        {"root_w", .at = 1, .number = -0.1},
        {"root_w", .at = 1, .number = 1.1},
    };
    save_model("three", LTH_SOFTMAX);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        hostile_refused(ctx, "m", &changes[i], hostile_gp);
    unlink("hostile");
    unlink("m");
}

/* ---- Memory ---------------------------------------------------------------------------------- */

typedef struct use {
    const lth_table *table;
    const char *target;
    lth_likelihood likelihood;
} use;

/* Fit, save, load, classify, cross-validate. */
static lth_status use_all(void *user, lth_error *err) {
    const use *u = user;
    const size_t fold[6] = {0, 1, 0, 1, 0, 1};
    const char *kernel = "normalize(ssk(text, order=2))";
    lth_gp_options options;
    lth_gp_options_init(&options);
    options.restarts = 0;
    options.max_iter = 2;
    options.likelihood = u->likelihood;
    lth_gp *gp = NULL, *loaded = NULL;
    lth_validation *v = NULL;
    double p[18];
    lth_status status = lth_gp_fit(ctx, kernel, u->table, &u->target, 1, &options, &gp, err);
    if (status == LTH_OK) status = lth_gp_save(gp, "m", err);
    if (status == LTH_OK) status = lth_gp_load(ctx, "m", &loaded, err);
    if (status == LTH_OK) status = lth_gp_classify(loaded, u->table, p, err);
    options.learn = false;
    if (status == LTH_OK)
        status = lth_gp_cv(ctx, kernel, u->table, &u->target, 1, fold, 2, &options, &v, err);
    lth_gp_free(gp);
    lth_gp_free(loaded);
    lth_validation_free(v);
    unlink("m");
    return status;
}

static void each_allocation_fails(void **state) {
    (void)state;
    lth_table *table = support_table(ctx, "text\tk\tseveral\na b\tx\tp,q\nb c\ty\tq\na c d\tz\t\n"
                                          "a b d\tx\tp\nc c b\ty\tq\nd\tz\tp\n");
    fail_each(use_all, &(use){table, "k", LTH_LOGIT}, true, 100);
    fail_each(use_all, &(use){table, "several", LTH_LOGIT}, true, 100);
    fail_each(use_all, &(use){table, "k", LTH_SOFTMAX}, true, 100);
    lth_table_free(table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(save_and_load),
        cmocka_unit_test(truncated),
        cmocka_unit_test(hostile),
        cmocka_unit_test(hostile_softmax),
        cmocka_unit_test(each_allocation_fails),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
