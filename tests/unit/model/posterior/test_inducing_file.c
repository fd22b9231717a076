/* Models by inducing rows in files, damaged ones, and each allocation failing in turn. */
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

static lth_ctx *ctx;
static char folder[] = "test_inducing_file.XXXXXX";

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

static lth_gp_options inducing(size_t rows) {
    lth_gp_options options = support_fixed();
    options.posterior = LTH_POSTERIOR_INDUCING;
    options.inducing = rows;
    return options;
}

/* ---- There and back ---- */

static void check_same_report(const lth_gp *a, const lth_gp *b) {
    const lth_gp_report *r = lth_gp_reported(a), *s = lth_gp_reported(b);
    assert_true(r->rows == s->rows && r->evidence == s->evidence && r->noise == s->noise);
    assert_true(r->posterior == s->posterior && r->inducing == s->inducing && !s->loo);
    assert_true(r->trace_left == s->trace_left && r->left_to_noise == s->left_to_noise);
}

/* The same bits, and the same file again. */
static void check_file(lth_gp *gp, const lth_table *table) {
    lth_error err = {0};
    lth_gp *loaded = NULL;
    bool labels = lth_gp_classes(gp) > 0;
    support_ok(lth_gp_save(gp, "m", &err), &err);
    support_ok(lth_gp_load(ctx, "m", &loaded, &err), &err);
    support_ok(lth_gp_save(loaded, "again", &err), &err);
    support_bytes a = support_slurp("m"), b = support_slurp("again");
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.data, b.data, a.size);
    check_same_report(gp, loaded);
    double *p = labels ? support_classify(gp, table) : support_predict(gp, table, false);
    double *q = labels ? support_classify(loaded, table) : support_predict(loaded, table, false);
    size_t cells = lth_table_rows(table) * (labels ? lth_gp_classes(gp) : 2 * lth_gp_targets(gp));
    assert_memory_equal(p, q, cells * sizeof *p);
    for (size_t c = 0; c < lth_gp_classes(gp); c++)
        assert_int_equal(lth_gp_class(gp, c)->rows, lth_gp_class(loaded, c)->rows);
    free(p);
    free(q);
    free(a.data);
    free(b.data);
    lth_gp_free(loaded);
    unlink("m");
    unlink("again");
}

static void there_and_back(void **state) {
    (void)state;
    static const char *const kernels[] = {
        "normalize(ssk(text, order=2)) + rbf(f1..f2, ard=yes)",
        "tfidf(text)", /* weighs by all rows */
        "ssk(text, order=2, rarity=0.5)",
    };
    static const char *const columns[] = {"two", "three", "several"};
    lth_table *table = support_rows(ctx, 0, 40), *labels = support_labels(ctx, 40);
    lth_gp_options options = inducing(9);
    for (size_t k = 0; k < 3; k++) {
        for (size_t targets = 1; targets <= 2; targets++) {
            lth_gp *gp = support_fit(ctx, kernels[k], table, targets, &options);
            assert_int_equal(gp->rows, 9);
            assert_true((gp->all != NULL) == (k > 0));
            check_file(gp, table);
            lth_gp_free(gp);
        }
    }
    for (size_t c = 0; c < 3; c++) {
        lth_gp *gp = support_classifier(ctx, c == 1 ? "tfidf(text) + rbf(x)" : "rbf(x)", labels,
                                        columns[c], &options);
        check_file(gp, labels);
        lth_gp_free(gp);
    }
    lth_table_free(table);
    lth_table_free(labels);
}

/* ---- Damage ---- */

/* A classifier of three classes that needs all 15 rows and keeps five. */
static void hostile(void **state) {
    (void)state;
    lth_error err = {0};
    lth_table *table = support_labels(ctx, 15);
    lth_gp_options options = inducing(5);
    lth_gp *gp =
        support_classifier(ctx, "ssk(text, order=2, rarity=0.5)", table, "three", &options);
    size_t m = gp->rows;
    assert_true(m > 1 && gp->all);
    support_ok(lth_gp_save(gp, "m", &err), &err);
    const hostile_change changes[] = {
        {"posterior", .text = "laplace"},
        {"posterior", .text = "exact"},
        {"posterior", .text = "sloth"},
        {"inducing.beta", .at = 1, .number = NAN},
        {"inducing.beta", .shorter = true},
        {"inducing.factor", .at = 0, .number = 0},
        {"inducing.factor", .at = 0, .number = -1},
        {"inducing.factor", .at = 1, .number = 0.5}, /* above the diagonal */
        {"inducing.factor", .at = m, .number = INFINITY},
        {"inducing.factor", .shorter = true},
        {"inducing.factor_b", .at = 0, .number = 0.5}, /* B is at least I */
        {"inducing.factor_b", .at = 1, .number = 0.5},
        {"inducing.factor_b", .at = m * m, .number = NAN},
        {"inducing.factor_b", .shorter = true},
        {"kept_rows", .at = 1, .count = 15},
        {"kept_rows", .at = 1, .count = 1000000000000000000},
        {"kept_rows", .shorter = true},
        {"class_rows", .at = 0, .number = -1},
        {"class_rows", .at = 0, .number = NAN},
        {"class_rows", .shorter = true},
        {"report", .at = 0, .number = 14},
        {"report", .at = 0, .number = 1e14},
        {"report.more", .at = 0, .number = 16}, /* more than all */
        {"report.more", .at = 2, .number = -1},
        {"report.more", .at = 3, .number = NAN},
        {"report.more", .shorter = true},
        {"y", .at = 0, .number = 3},
        {"y", .at = 0, .number = NAN},
        {"noise", .at = 0, .number = 0},
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        hostile_refused(ctx, "m", &changes[i], hostile_gp);
    static const char *const older[] = {"report.more", "class_rows", "sharpness",
                                        NULL}; /* files have none */
    hostile_arrays(ctx, "m", older, NULL, hostile_gp);
    lth_gp_free(gp);
    lth_table_free(table);
    unlink("m");
}

/* ---- Memory ---- */

typedef struct use {
    const lth_table *table;
    const char *kernel, *target;
    bool labels;
} use;

/* Fit, save, load, predict; numbers are learned, and cross-validated. */
static lth_status use_all(void *user, lth_error *err) {
    const use *u = user;
    const size_t fold[6] = {0, 1, 0, 1, 0, 1};
    lth_gp_options options = inducing(3);
    options.learn = !u->labels;
    options.restarts = 0;
    options.max_iter = 1;
    options.bound = u->labels ? LTH_BOUND_TITSIAS : LTH_BOUND_FITC;
    lth_gp *gp = NULL, *loaded = NULL;
    lth_validation *v = NULL;
    double p[18], sd[18];
    lth_status status = lth_gp_fit(ctx, u->kernel, u->table, &u->target, 1, &options, &gp, err);
    if (status == LTH_OK) status = lth_gp_save(gp, "m", err);
    if (status == LTH_OK) status = lth_gp_load(ctx, "m", &loaded, err);
    if (status == LTH_OK)
        status = u->labels ? lth_gp_classify(loaded, u->table, p, err)
                           : lth_gp_predict(loaded, u->table, false, p, sd, err);
    options.learn = false;
    if (status == LTH_OK && !u->labels)
        status = lth_gp_cv(ctx, u->kernel, u->table, &u->target, 1, fold, 2, &options, &v, err);
    lth_gp_free(gp);
    lth_gp_free(loaded);
    lth_validation_free(v);
    unlink("m");
    return status;
}

static void each_allocation_fails(void **state) {
    (void)state;
    lth_table *table = support_table(ctx, "text\tk\ty\na b\tx\t1\nb c\ty\t2\na c d\tx\t3\n"
                                          "a b d\tx\t0\nc c b\ty\t5\nd\ty\t4\n");
    fail_each(use_all, &(use){table, "ssk(text, order=2, rarity=0.5)", "y", false}, true, 50);
    fail_each(use_all, &(use){table, "normalize(ssk(text, order=2))", "k", true}, true, 50);
    lth_table_free(table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_and_back),
        cmocka_unit_test(hostile),
        cmocka_unit_test(each_allocation_fails),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
