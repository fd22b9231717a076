/* The evidence at given values: that of the fit at its own, and a gradient by differences. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gp_support.h"

enum { MOST = 16 };

static lth_ctx *ctx;

static int open_ctx(void **state) {
    (void)state;
    ctx = support_context(2);
    return 0;
}

static int close_ctx(void **state) {
    (void)state;
    lth_ctx_free(ctx);
    return 0;
}

static size_t read_values(const lth_gp *gp, double *value) {
    size_t count = 0;
    for (const lth_gp_param *p; (p = lth_gp_param_at(gp, count)) != NULL; count++)
        value[count] = p->value;
    assert_true(count <= MOST);
    return count;
}

static double evidence_at(const lth_gp *gp, const double *value, size_t count, double *gradient) {
    double evidence = NAN;
    lth_error err = {0};
    support_ok(lth_gp_evidence(gp, value, count, &evidence, gradient, &err), &err);
    return evidence;
}

/* Central differences around values that are not those of the model. */
static void check_gradient(const lth_gp *gp, double tolerance) {
    double value[MOST], gradient[MOST];
    size_t count = read_values(gp, value);
    for (size_t i = 0; i < count; i++) value[i] *= 1.1 - 0.02 * (double)i;
    double at = evidence_at(gp, value, count, gradient);
    assert_true(isfinite(at));
    for (size_t i = 0; i < count; i++) {
        if (lth_gp_param_at(gp, i)->tag) continue; /* which moves another */
        double kept = value[i], step = 1e-5 * fmax(fabs(kept), 0.1);
        value[i] = kept + step;
        double above = evidence_at(gp, value, count, NULL);
        value[i] = kept - step;
        double below = evidence_at(gp, value, count, NULL);
        value[i] = kept;
        support_near(gradient[i], (above - below) / (2 * step), tolerance);
    }
}

static void check_model(lth_gp *gp, double tolerance) {
    double value[MOST], gradient[MOST];
    size_t count = read_values(gp, value);
    double own = lth_gp_reported(gp)->evidence;
    support_near(evidence_at(gp, value, count, NULL), own, 1e-8);
    support_near(evidence_at(gp, NULL, count, gradient), own, 1e-8);
    check_gradient(gp, tolerance);
    double again[MOST]; /* the model is as it was */
    read_values(gp, again);
    assert_memory_equal(value, again, count * sizeof *value);
    support_near(evidence_at(gp, NULL, count, NULL), own, 1e-8);
    lth_gp_free(gp);
}

static lth_gp *fit(const char *kernel, size_t targets, const lth_gp_options *options) {
    lth_table *table = support_rows(ctx, 0, 40);
    lth_gp *gp = support_fit(ctx, kernel, table, targets, options);
    lth_table_free(table);
    return gp;
}

static void test_numbers(void **state) {
    (void)state;
    lth_gp_options options = support_fixed();
    check_model(
        fit("2 * normalize(ssk(text, order=2, gap=0.3)) + rbf(f1, lengthscale=0.7)", 1, &options),
        1e-6);
    check_model(fit("ssk(text, order=2)", 2, &options), 1e-6);
    options.learn = true;
    options.restarts = 0;
    check_model(fit("rbf(f1) + linear(f2)", 1, &options), 1e-6);
}

static void test_other_likelihoods(void **state) {
    (void)state;
    lth_gp_options options = support_fixed();
    options.likelihood = LTH_STUDENT;
    check_model(fit("rbf(f1) + ssk(text, order=1)", 1, &options), 1e-4);
    options.likelihood = LTH_WARPED;
    options.warp = "sinh";
    check_model(fit("rbf(f1)", 1, &options), 1e-5);
    lth_table *table = support_labels(ctx, 30);
    options = support_fixed();
    check_model(support_classifier(ctx, "rbf(x) + ssk(text, order=1)", table, "two", &options),
                1e-5);
    check_model(support_classifier(ctx, "2 * rbf(x)", table, "three", &options), 1e-5);
    lth_table_free(table);
}

/* Word similarities depend on a parameter, and are kept: the model's stay its own. */
static void test_vectors_and_file(void **state) {
    (void)state;
    char *vectors = support_vectors();
    lth_table *table = support_rows(ctx, 0, 30), *more = support_rows(ctx, 40, 5);
    lth_gp_options options = support_fixed();
    lth_error err = {0};
    options.vectors = vectors;
    lth_gp *gp =
        support_fit(ctx, "ssk(text, order=2, sim=exp, temperature=0.3)", table, 1, &options);
    double *before = support_predict(gp, more, false);
    check_gradient(gp, 1e-6);
    double *after = support_predict(gp, more, false);
    assert_memory_equal(before, after, 10 * sizeof *before);
    support_ok(lth_gp_save(gp, "evidence.model", &err), &err);
    lth_gp *loaded = NULL;
    support_ok(lth_gp_load(ctx, "evidence.model", &loaded, &err), &err);
    remove("evidence.model");
    check_model(loaded, 1e-6);
    free(before);
    free(after);
    lth_gp_free(gp);
    lth_table_free(table);
    lth_table_free(more);
    support_remove(vectors);
}

static void expect_failure(const lth_gp *gp, const double *value, size_t count, lth_status status,
                           const char *message) {
    lth_error err = {0};
    double evidence = 7;
    assert_int_equal(lth_gp_evidence(gp, value, count, &evidence, NULL, &err), status);
    assert_true(evidence == 7);
    if (!strstr(err.message, message)) fail_msg("%s", err.message);
}

static void test_refusals(void **state) {
    (void)state;
    lth_gp_options options = support_fixed();
    double value[MOST];
    lth_gp *gp = fit("ssk(text, order=1, gap=$g=0.5) + ssk(text, order=2, gap=$g)", 1, &options);
    size_t count = read_values(gp, value), gap = support_param(gp, "ssk2.gap");
    expect_failure(gp, value, count - 1, LTH_EARG, "values, where the model has");
    value[gap] = 0.4;
    expect_failure(gp, value, count, LTH_EARG, "share $g, but are 0.5 and 0.4");
    value[gap] = value[support_param(gp, "ssk.gap")] = 1.5;
    expect_failure(gp, value, count, LTH_EARG, "ssk.gap is 1.5, but must lie in [0, 1]");
    value[gap] = value[support_param(gp, "ssk.gap")] = 0.5;
    value[count - 1] = 0;
    expect_failure(gp, value, count, LTH_EARG, "noise is 0, but must be above 0");
    value[count - 1] = NAN;
    expect_failure(gp, value, count, LTH_EARG, "noise is nan");
    lth_gp_free(gp);
    options.posterior = LTH_POSTERIOR_INDUCING;
    options.inducing = 5;
    gp = fit("rbf(f1)", 1, &options);
    count = read_values(gp, value);
    expect_failure(gp, value, count, LTH_EUNSUPPORTED, "the model keeps 5 of its 40 rows");
    lth_gp_free(gp);
    options.posterior = LTH_POSTERIOR_CG; /* its rows are all there */
    gp = fit("rbf(f1)", 1, &options);
    check_gradient(gp, 1e-6);
    lth_gp_free(gp);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_other_likelihoods),
        cmocka_unit_test(test_vectors_and_file),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, open_ctx, close_ctx);
}
