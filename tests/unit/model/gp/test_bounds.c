/* Bounds in an expression: the search keeps to them, from any start, and the model tells them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "gp_support.h"

static lth_ctx *ctx;
static lth_table *rows;

static int open_table(void **state) {
    (void)state;
    ctx = support_context(1);
    rows = support_rows(ctx, 0, 40);
    return 0;
}

static int close_table(void **state) {
    (void)state;
    lth_table_free(rows);
    lth_ctx_free(ctx);
    return 0;
}

static lth_gp *learn(const char *kernel, size_t restarts) {
    lth_gp_options options;
    lth_gp_options_init(&options);
    options.restarts = restarts;
    options.max_iter = 40;
    return support_fit(ctx, kernel, rows, 1, &options);
}

static lth_gp_param param_of(const lth_gp *gp, const char *path) {
    return *lth_gp_param_at(gp, support_param(gp, path));
}

static void check_within(const lth_gp *gp, const char *path, double lo, double hi) {
    lth_gp_param p = param_of(gp, path);
    const lth_param *k = lth_kernel_param(lth_gp_kernel(gp), support_param(gp, path));
    assert_true(k->lo == lo && k->hi == hi);
    if (!(p.value >= lo && p.value <= hi)) fail_msg("%s is %g", path, p.value);
}

/* Far from where it would go: at the nearer bound, which is told. */
static void at_the_bound(void **state) {
    (void)state;
    lth_gp *free_one = learn("rbf(f1) + ssk(text, order=2)", 0);
    double length = param_of(free_one, "rbf.lengthscale").value,
           gap = param_of(free_one, "ssk.gap").value;
    char kernel[200];
    snprintf(kernel, sizeof kernel, "rbf(f1, lengthscale=%.17g..%.17g) + ssk(text, order=2)",
             3 * length, 30 * length);
    lth_gp *gp = learn(kernel, 0);
    lth_gp_param p = param_of(gp, "rbf.lengthscale");
    support_near(p.start, sqrt(90) * length, 1e-12);
    assert_true(p.value == 3 * length && p.at_bound);
    assert_true(lth_gp_reported(gp)->evidence < lth_gp_reported(free_one)->evidence);
    lth_gp_free(gp);
    double lo = gap > 0.5 ? 0.125 : 0.75; /* on the other side */
    snprintf(kernel, sizeof kernel, "rbf(f1) + ssk(text, order=2, gap=%g..%g)", lo, lo + 0.125);
    gp = learn(kernel, 0);
    p = param_of(gp, "ssk.gap");
    support_near(p.start, lo + 0.0625, 1e-12);
    check_within(gp, "ssk.gap", lo, lo + 0.125);
    lth_gp_free(gp);
    lth_gp_free(free_one);
}

/* Bounds with the best value inside change nothing but where it starts. */
static void around_the_best(void **state) {
    (void)state;
    lth_gp *free_one = learn("rbf(f1)", 0), *gp = learn("rbf(f1, lengthscale=0.4 in 1e-2..1e2)", 0);
    lth_gp_param p = param_of(gp, "rbf.lengthscale");
    assert_true(p.start == 0.4 && !p.at_bound);
    support_near(p.value, param_of(free_one, "rbf.lengthscale").value, 1e-3);
    lth_gp_free(gp);
    lth_gp_free(free_one);
}

static void from_any_start(void **state) {
    (void)state;
    lth_gp *gp = learn("1.5..2.5 * rbf(f1, variance=1!, lengthscale=0.05..0.06) + "
                       "ssk(text, order=2, gap=$g=0.999..0.9995, match=$g, weights=0..0.5)",
                       4);
    check_within(gp, "variance", 1.5, 2.5);
    check_within(gp, "rbf.lengthscale", 0.05, 0.06);
    check_within(gp, "ssk.gap", 0.999, 0.9995);
    check_within(gp, "ssk.match", 0.999, 0.9995);
    check_within(gp, "ssk.weights[2]", 0, 0.5);
    assert_true(param_of(gp, "ssk.gap").value == param_of(gp, "ssk.match").value);
    /* The text of the kernel has them, and a model from a file. */
    char text[600], again[600];
    lth_error err = {0};
    lth_kernel_print(lth_gp_kernel(gp), text, sizeof text);
    assert_non_null(strstr(text, " in 1.5..2.5 * rbf(f1, variance=1!, lengthscale="));
    assert_non_null(strstr(text, " in 0.999..0.9995, match=$g"));
    support_ok(lth_gp_save(gp, "bounds.model", &err), &err);
    lth_gp *loaded = NULL;
    support_ok(lth_gp_load(ctx, "bounds.model", &loaded, &err), &err);
    remove("bounds.model");
    lth_kernel_print(lth_gp_kernel(loaded), again, sizeof again);
    assert_string_equal(text, again);
    lth_gp_free(loaded);
    lth_gp_free(gp);
}

/* A value that is set later keeps to them too; what --fix holds stays where it starts. */
static void set_and_held(void **state) {
    (void)state;
    lth_kernel *kernel = NULL;
    lth_error err = {0};
    support_ok(lth_kernel_parse(ctx, "ssk(text, gap=0.2..0.4)", &kernel, &err), &err);
    assert_int_equal(lth_kernel_set_path(kernel, "ssk.gap", 0.5, &err), LTH_EARG);
    assert_string_equal(err.message, "ssk.gap is 0.5, but must lie in [0.2, 0.4]");
    support_ok(lth_kernel_set_path(kernel, "ssk.gap", 0.4, &err), &err);
    lth_kernel_free(kernel);
    const char *fix = "ssk.gap";
    lth_gp_options options;
    lth_gp_options_init(&options);
    options.restarts = 0;
    options.max_iter = 5;
    options.fix = &fix;
    options.fix_count = 1;
    lth_gp *gp = support_fit(ctx, "ssk(text, order=2, gap=0.25 in 0.2..0.4)", rows, 1, &options);
    assert_true(param_of(gp, "ssk.gap").value == 0.25 && param_of(gp, "ssk.gap").held);
    lth_gp_free(gp);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(at_the_bound),
        cmocka_unit_test(around_the_best),
        cmocka_unit_test(from_any_start),
        cmocka_unit_test(set_and_held),
    };
    return cmocka_run_group_tests(tests, open_table, close_table);
}
