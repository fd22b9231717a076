/* The posterior by conjugate gradients against the exact one, on odd data, in files, and with each
 * allocation failing in turn. */
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
#include "model/common/quadratic.h"
#include "model/gp/gp.h"

static lth_ctx *ctx;
static char folder[] = "test_cg.XXXXXX";
static size_t warnings;

static void count_warnings(void *user, lth_log_level level, const char *text) {
    (void)user, (void)text;
    warnings += level == LTH_LOG_WARNING;
}

static lth_ctx *context(unsigned threads) {
    lth_ctx_options options;
    lth_ctx *out = NULL;
    lth_ctx_options_init(&options);
    options.threads = threads;
    options.log = count_warnings;
    assert_int_equal(lth_ctx_create(&options, &out, NULL), LTH_OK);
    return out;
}

static int open_folder(void **state) {
    (void)state;
    if (!mkdtemp(folder) || chdir(folder) != 0) return -1;
    ctx = context(1);
    return 0;
}

static int close_folder(void **state) {
    (void)state;
    lth_ctx_free(ctx);
    return chdir("..") == 0 && rmdir(folder) == 0 ? 0 : -1; /* nothing was left behind */
}

static lth_gp_options by(lth_posterior posterior) {
    lth_gp_options options = support_fixed();
    options.posterior = posterior;
    return options;
}

static const char kernel[] = "normalize(ssk(text, order=2)) + rbf(f1..f2, ard=yes)";

/* ---- Against the exact posterior ---- */

/* Root mean square of a / b - 1. */
static double spread(const double *a, const double *b, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) sum += (a[i] / b[i] - 1) * (a[i] / b[i] - 1) / (double)count;
    return sqrt(sum);
}

static double *left_out_sd(const lth_gp *gp) {
    size_t n = gp->rows;
    double *y = calloc(3 * n, sizeof *y);
    lth_error err = {0};
    assert_non_null(y);
    support_ok(lth_gp_leave_one_out(gp, 1, y, y + n, y + 2 * n, &err), &err);
    return y;
}

/* Up to 32 rows the preconditioner is the matrix itself, and nothing is estimated. */
static void as_exact(void **state) {
    (void)state;
    static const size_t sizes[] = {20, 260};
    lth_table *other = support_rows(ctx, 1000, 50);
    for (size_t s = 0; s < 2; s++) {
        bool small = s == 0;
        size_t n = sizes[s];
        lth_table *table = support_rows(ctx, 0, n);
        lth_gp_options exact = by(LTH_POSTERIOR_EXACT), cg = by(LTH_POSTERIOR_CG);
        lth_gp *a = support_fit(ctx, kernel, table, 2, &cg);
        lth_gp *b = support_fit(ctx, kernel, table, 2, &exact);
        const lth_gp_report *r = lth_gp_reported(a), *e = lth_gp_reported(b);
        assert_int_equal(r->posterior, LTH_POSTERIOR_CG);
        assert_true(r->cg_residual <= 1e-8 && r->cg_steps > 0 && r->cg_steps < (small ? 3 : 40));
        double *p = support_predict(a, other, true), *q = support_predict(b, other, true);
        for (size_t i = 0; i < 100; i++) support_near(p[i], q[i], 1e-7);
        assert_true(spread(p + 100, q + 100, 100) < (small ? 1e-6 : 0.02));
        assert_true(fabs(r->evidence - e->evidence) < (small ? 1e-6 : 3));
        assert_true(r->noise == e->noise && r->loo->count == e->loo->count);
        support_near(r->loo->rmse, e->loo->rmse, small ? 1e-6 : 0.02);
        support_near(r->loo->nlpd, e->loo->nlpd, small ? 1e-6 : 0.02);
        double *sd = left_out_sd(a), *known = left_out_sd(b);
        assert_true(spread(sd + 2 * n, known + 2 * n, n) < (small ? 1e-6 : 0.05));
        free(sd);
        free(known);
        free(p);
        free(q);
        lth_gp_free(a);
        lth_gp_free(b);
        lth_table_free(table);
    }
    lth_table_free(other);
}

/* More probes tell more; single precision costs little. */
static void options_count(void **state) {
    (void)state;
    lth_table *table = support_rows(ctx, 0, 260), *other = support_rows(ctx, 1000, 50);
    lth_gp_options exact = by(LTH_POSTERIOR_EXACT), cg = by(LTH_POSTERIOR_CG);
    lth_gp *gp = support_fit(ctx, kernel, table, 1, &exact);
    double *q = support_predict(gp, other, true), off[2];
    lth_gp_free(gp);
    for (size_t i = 0; i < 2; i++) {
        cg.probes = i == 0 ? 8 : 300;
        cg.store = i == 0 ? LTH_F64 : LTH_F32;
        gp = support_fit(ctx, kernel, table, 1, &cg);
        double *p = support_predict(gp, other, true);
        for (size_t k = 0; k < 50; k++) support_near(p[k], q[k], i == 0 ? 1e-7 : 1e-5);
        off[i] = spread(p + 50, q + 50, 50);
        free(p);
        lth_gp_free(gp);
    }
    assert_true(off[1] < off[0] / 2);
    cg.tolerance = 0.1;
    gp = support_fit(ctx, kernel, table, 1, &cg);
    assert_true(lth_gp_reported(gp)->cg_residual <= 0.1 && lth_gp_reported(gp)->cg_steps < 10);
    lth_gp_free(gp);
    free(q);
    lth_table_free(table);
    lth_table_free(other);
}

/* ---- Odd data ---- */

static void odd_rows(void **state) {
    (void)state;
    static const struct {
        const char *lines;
        size_t rows;
    } tables[] = {
        {"text\tf1\ty\na b\t1\t5\n", 1},
        {"text\tf1\ty\na b\t1\t5\nc\t2\t7\n", 2},
        {"text\tf1\ty\na b\t1\t0\na b\t1\t2\na b\t1\t1\nc\t5\t8\nc\t5\t9\n\t9\t4\n\t9\t6\n", 7},
        {"text\tf1\ty\na b\t1\t3\nb\t2\t3\n\t3\t3\n", 3},
        {"text\tf1\ty\n\t0\t1\n\t0\t2\n\t0\t5\n", 3}, /* nothing is like anything */
    };
    static const char *const kernels[] = {"ssk(text, order=2)", "linear(f1)", "rbf(f1)"};
    lth_gp_options exact = by(LTH_POSTERIOR_EXACT), cg = by(LTH_POSTERIOR_CG);
    cg.probes = 1;
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++) {
        lth_table *table = support_table(ctx, tables[t].lines);
        for (size_t k = 0; k < 3; k++) {
            lth_gp *a = support_fit(ctx, kernels[k], table, 1, &cg);
            lth_gp *b = support_fit(ctx, kernels[k], table, 1, &exact);
            double *p = support_predict(a, table, true), *q = support_predict(b, table, true);
            for (size_t i = 0; i < 2 * tables[t].rows; i++) support_near(p[i], q[i], 1e-6);
            support_near(lth_gp_reported(a)->evidence, lth_gp_reported(b)->evidence, 1e-6);
            free(p);
            free(q);
            lth_gp_free(a);
            lth_gp_free(b);
        }
        lth_table_free(table);
    }
}

static void little_noise(void **state) {
    (void)state;
    lth_table *table = support_rows(ctx, 0, 60);
    lth_gp_options cg = by(LTH_POSTERIOR_CG);
    cg.noise = 1e-5;
    for (int single = 0; single < 2; single++) {
        warnings = 0;
        cg.store = single ? LTH_F32 : LTH_F64;
        lth_gp *gp = support_fit(ctx, "rbf(f1)", table, 1, &cg);
        assert_int_equal(warnings, single);
        lth_gp_free(gp);
    }
    lth_table_free(table);
}

/* What was not reached is told. */
static void out_of_reach(void **state) {
    (void)state;
    lth_table *table = support_rows(ctx, 0, 60);
    lth_gp_options cg = by(LTH_POSTERIOR_CG);
    cg.tolerance = 1e-18;
    warnings = 0;
    lth_gp *gp = support_fit(ctx, kernel, table, 1, &cg);
    double residual = lth_gp_reported(gp)->cg_residual;
    assert_int_equal(warnings, 1);
    assert_true(residual > 1e-18 && residual < 1e-12);
    lth_gp_free(gp);
    lth_table_free(table);
}

/* It neither learns nor takes labels. */
static void refused(void **state) {
    (void)state;
    lth_error err = {0};
    lth_gp *gp = NULL;
    lth_table *labels = support_labels(ctx, 12), *table = support_rows(ctx, 0, 12);
    lth_gp_options cg = by(LTH_POSTERIOR_CG);
    const char *target = "two";
    assert_int_equal(lth_gp_fit(ctx, "rbf(x)", labels, &target, 1, &cg, &gp, &err), LTH_EARG);
    assert_null(gp);
    gp = support_fit(ctx, "rbf(f1)", table, 1, &cg);
    double evidence, gradient[8];
    assert_int_equal(gp->posterior->evidence(gp, NULL, &evidence, gradient, &err),
                     LTH_EUNSUPPORTED);
    lth_gp_free(gp);
    lth_table_free(labels);
    lth_table_free(table);
}

/* ---- Threads ---- */

static void same_bits(void **state) {
    (void)state;
    lth_gp_options cg = by(LTH_POSTERIOR_CG);
    double *p[2], evidence[2];
    for (unsigned t = 0; t < 2; t++) {
        lth_ctx *of = context(t == 0 ? 1 : 4);
        lth_table *table = support_rows(of, 0, 300), *other = support_rows(of, 1000, 70);
        lth_gp *gp = support_fit(of, kernel, table, 1, &cg);
        p[t] = support_predict(gp, other, false);
        evidence[t] = lth_gp_reported(gp)->evidence;
        lth_gp_free(gp);
        lth_table_free(table);
        lth_table_free(other);
        lth_ctx_free(of);
    }
    assert_memory_equal(p[0], p[1], 140 * sizeof *p[0]);
    assert_true(evidence[0] == evidence[1]);
    free(p[0]);
    free(p[1]);
}

/* ---- Files ---- */

static void check_file(lth_gp *gp, const lth_table *table) {
    lth_error err = {0};
    lth_gp *loaded = NULL;
    support_ok(lth_gp_save(gp, "m", &err), &err);
    support_ok(lth_gp_load(ctx, "m", &loaded, &err), &err);
    support_ok(lth_gp_save(loaded, "again", &err), &err);
    support_bytes a = support_slurp("m"), b = support_slurp("again");
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.data, b.data, a.size);
    const lth_gp_report *r = lth_gp_reported(gp), *s = lth_gp_reported(loaded);
    assert_true(s->posterior == LTH_POSTERIOR_CG && r->evidence == s->evidence);
    assert_true(r->cg_steps == s->cg_steps && r->cg_residual == s->cg_residual);
    assert_true(r->evidence_error > 0 && r->evidence_error == s->evidence_error);
    assert_true(r->loo->nlpd == s->loo->nlpd);
    double *p = support_predict(gp, table, false), *q = support_predict(loaded, table, false);
    assert_memory_equal(p, q, 2 * lth_table_rows(table) * lth_gp_targets(gp) * sizeof *p);
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
    lth_gp_options cg = by(LTH_POSTERIOR_CG);
    lth_table *table = support_rows(ctx, 0, 100),
              *empty = support_table(ctx, "f1\ty\n0\t1\n0\t3\n");
    for (size_t targets = 1; targets <= 2; targets++) {
        lth_gp *gp = support_fit(ctx, kernel, table, targets, &cg);
        check_file(gp, table);
        lth_gp_free(gp);
    }
    lth_gp *gp = support_fit(ctx, "linear(f1)", empty, 1, &cg); /* of rank 0 */
    check_file(gp, empty);
    lth_gp_free(gp);
    lth_table_free(table);
    lth_table_free(empty);
}

static void hostile(void **state) {
    (void)state;
    lth_error err = {0};
    lth_table *table = support_rows(ctx, 0, 12);
    lth_gp_options cg = by(LTH_POSTERIOR_CG);
    lth_gp *gp = support_fit(ctx, "rbf(f1)", table, 1, &cg);
    support_ok(lth_gp_save(gp, "m", &err), &err);
    const hostile_change changes[] = {
        {"posterior", .text = "exact"},  {"posterior", .text = "laplace"},
        {"cg.sizes", .count = 13},       {"cg.sizes", .count = UINT64_MAX / 2 + 1},
        {"cg.sizes", .count = 3},        {"cg.inverse", .number = 0},
        {"cg.inverse", .number = NAN},   {"cg.lambda", .number = 0},
        {"cg.lambda", .number = -1},     {"cg.lambda", .number = INFINITY},
        {"cg.probes", .number = NAN},    {"cg.controls", .number = INFINITY},
        {"cg.span", .number = NAN},      {"cg.span_image", .number = NAN},
        {"cg.span_gram", .number = NAN}, {"cg.span_gram", .number = -1e9},
        {"alpha", .number = NAN},        {"y", .number = NAN},
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        hostile_refused(ctx, "m", &changes[i], hostile_gp);
    static const char *const older[] = {"report.more", "report.left_out",
                                        NULL}; /* files have none */
    hostile_arrays(ctx, "m", older, NULL, hostile_gp);
    lth_gp_free(gp);
    lth_table_free(table);
    unlink("m");
}

/* ---- Memory ---- */

static lth_status use_all(void *table, lth_error *err) {
    lth_gp_options cg = by(LTH_POSTERIOR_CG);
    lth_gp *gp = NULL, *loaded = NULL;
    const char *target = "y";
    double p[40], sd[40];
    cg.learn = true;
    cg.restarts = 0;
    cg.max_iter = 1;
    cg.store = LTH_F32;
    lth_status status = lth_gp_fit(ctx, "rbf(f1)", table, &target, 1, &cg, &gp, err);
    if (status == LTH_OK) status = lth_gp_save(gp, "m", err);
    if (status == LTH_OK) status = lth_gp_load(ctx, "m", &loaded, err);
    if (status == LTH_OK) status = lth_gp_predict(loaded, table, false, p, sd, err);
    lth_gp_free(gp);
    lth_gp_free(loaded);
    unlink("m");
    return status;
}

static void each_allocation_fails(void **state) {
    (void)state;
    lth_table *table = support_rows(ctx, 0, 40);
    fail_each(use_all, table, false, 100);
    lth_table_free(table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_exact),     cmocka_unit_test(options_count),
        cmocka_unit_test(odd_rows),     cmocka_unit_test(little_noise),
        cmocka_unit_test(out_of_reach), cmocka_unit_test(refused),
        cmocka_unit_test(same_bits),    cmocka_unit_test(there_and_back),
        cmocka_unit_test(hostile),      cmocka_unit_test(each_allocation_fails),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
