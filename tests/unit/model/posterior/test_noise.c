/* Models whose noise is a function: the bound against an integral and a search of its own, its
 * gradient, what is predicted, files, threads, failing memory. */
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
#include "model/posterior/noise.h"

enum { ROWS = 40 };

static const char composed[] =
    "0.9 * rbf(x, lengthscale=0.8) + 0.2 * normalize(ssk(text, order=2)) | 0.7 * rbf(x, "
    "lengthscale=1.5)";
static lth_ctx *ctx;
static char folder[] = "test_noise.XXXXXX";

static int open_folder(void **state) {
    (void)state;
    if (!mkdtemp(folder) || chdir(folder) != 0) return -1;
    ctx = support_context(2);
    return 0;
}

static int close_folder(void **state) {
    (void)state;
    lth_ctx_free(ctx);
    return chdir("..") == 0 && rmdir(folder) == 0 ? 0 : -1; /* nothing was left behind */
}

/* Noise that grows with x. */
static lth_table *make_table(lth_ctx *of, size_t rows) {
    char lines[ROWS * 80 + 80], *at = lines;
    at += sprintf(at, "x\ttext\treps\tweight\ty\n");
    for (size_t i = 0; i < rows; i++) {
        double x = -2 + 4 * (double)(i * 17 % rows) / (double)rows;
        double noise = 1.7 * ((double)(i * i * 7919 % 101) / 50 - 1);
        double y = sin(2 * x) + exp(0.8 * x - 1) * noise;
        at += sprintf(at, "%.6g\t%s is%s\t%zu\t%.3g\t%.6g\n", x, i % 2 ? "so" : "no",
                      i % 3 ? " it" : "", 1 + i % 3, 0.5 + 0.1 * (double)(i % 9), y);
    }
    return support_table(of, lines);
}

static lth_gp *fit_as(lth_ctx *of, const char *kernel, const lth_table *table,
                      const lth_gp_options *options) {
    lth_error err = {0};
    lth_gp *gp = NULL;
    const char *target = "y";
    support_ok(lth_gp_fit(of, kernel, table, &target, 1, options, &gp, &err), &err);
    return gp;
}

static lth_gp *fit(const lth_table *table, const lth_gp_options *options) {
    return fit_as(ctx, composed, table, options);
}

/* ---- The bound ---- */

static double rbf(double variance, double length, double a, double b) {
    return variance * exp(-(a - b) * (a - b) / (2 * length * length));
}

/* log N(y; 0, K) of two rows. */
static double log_normal(const double y[2], double a, double b, double c) {
    double det = a * c - b * b;
    return -0.5 * (log(4 * M_PI * M_PI * det) +
                   (c * y[0] * y[0] - 2 * b * y[0] * y[1] + a * y[1] * y[1]) / det);
}

/* Of two rows, the truth: the integral over g of N(y; 0, K + noise e^g) N(g; 0, G), by a sum over a
 * grid. */
static double integrate(const double x[2], const double y[2], double noise) {
    enum { STEPS = 400 };
    double sum = 0, width = 16.0 / STEPS;
    double k = rbf(0.9, 0.8, x[0], x[1]), g = rbf(0.7, 1.5, x[0], x[1]);
    for (int i = 0; i < STEPS; i++) {
        for (int j = 0; j < STEPS; j++) {
            double at[2] = {-8 + (i + 0.5) * width, -8 + (j + 0.5) * width};
            double prior = log_normal(at, 0.7, g, 0.7);
            double seen = log_normal(y, 0.9 + noise * exp(at[0]), k, 0.9 + noise * exp(at[1]));
            sum += exp(prior + seen) * width * width;
        }
    }
    return log(sum);
}

static void bound_of_two_rows(void **state) {
    (void)state;
    const double x[2] = {0.3, 1.1}, y[2] = {1.4, -0.2};
    lth_table *table = support_table(ctx, "x\ty\n0.3\t1.4\n1.1\t-0.2\n");
    lth_gp_options options = support_fixed();
    options.zero_mean = options.unscaled = true;
    options.noise = 0.3;
    lth_gp *gp = fit_as(
        ctx,
        "0.9 * rbf(x, variance=1!, lengthscale=0.8) | 0.7 * rbf(x, variance=1!, lengthscale=1.5)",
        table, &options);
    double found = lth_gp_reported(gp)->evidence, truth = integrate(x, y, 0.3);
    assert_true(found < truth);
    support_near(found, -3.3884403490160313, 1e-9); /* as BFGS finds it over all q(f) q(g) */
    lth_gp_free(gp);
    lth_table_free(table);
}

/* A noise that does not vary is one noise for all. */
static void no_noise_at_all(void **state) {
    (void)state;
    lth_table *table = make_table(ctx, ROWS);
    lth_gp_options options = support_fixed();
    lth_gp *noisy = fit_as(ctx, "rbf(x) | 0.000000001! * rbf(x)", table, &options);
    lth_gp *plain = fit_as(ctx, "rbf(x)", table, &options);
    support_near(lth_gp_reported(noisy)->evidence, lth_gp_reported(plain)->evidence, 1e-6);
    double *a = support_predict(noisy, table, true), *b = support_predict(plain, table, true);
    for (size_t i = 0; i < 2 * ROWS; i++) support_near(a[i], b[i], 1e-6);
    support_near(lth_gp_reported(noisy)->loo->nlpd, lth_gp_reported(plain)->loo->nlpd, 1e-6);
    free(a);
    free(b);
    lth_gp_free(noisy);
    lth_gp_free(plain);
    lth_table_free(table);
}

/* Rows that agree that the noise is another do not go too far together. */
static void noise_far_off(void **state) {
    (void)state;
    lth_table *table = make_table(ctx, ROWS);
    double evidence[3];
    for (size_t i = 0; i < 3; i++) {
        lth_gp_options options = support_fixed();
        options.noise = i == 0 ? 1e-4 : i == 1 ? 0.1 : 100;
        lth_gp *gp = fit(table, &options);
        evidence[i] = lth_gp_reported(gp)->evidence;
        lth_gp_free(gp);
    }
    for (size_t i = 0; i < 3; i += 2) {
        assert_true(evidence[i] < evidence[1]);
        assert_true(evidence[i] > evidence[1] - 100); /* a prior, not an overflow, says no */
    }
    lth_table_free(table);
}

/* ---- The gradient ---- */

static void reopen(lth_gp *gp) {
    lth_error err = {0};
    gp->posterior->free(gp->solution);
    gp->solution = NULL;
    support_ok(gp->posterior->open(gp, &err), &err);
    ((lth__site_model *)lth__gp_noise_model(gp)->solution)->lack = 0;
}

static double evidence_at(lth_gp *gp, lth__gram *gram, double *gradient) {
    lth_error err = {0};
    double evidence;
    support_ok(lth__gp_evidence(gp, gram, &evidence, gradient, &err), &err);
    return evidence;
}

static void check_gradient(lth_gp *gp) {
    enum { MOST = 32 };
    double gradient[MOST], other[MOST];
    lth__gram *gram;
    assert_true(lth__gp_param_count(gp) < MOST);
    reopen(gp);
    support_ok(lth__gram_create(gp->kernel, gp->items, NULL, &gram, NULL), NULL);
    evidence_at(gp, gram, gradient);
    for (size_t p = 0; p < lth__gp_param_count(gp); p++) {
        double *value = lth__gp_value(gp, p), at = *value, h = 1e-3 * at, f[4];
        const double steps[] = {-2, -1, 1, 2};
        for (size_t i = 0; i < 4; i++) {
            *value = at + steps[i] * h;
            f[i] = evidence_at(gp, gram, other);
        }
        *value = at;
        support_near(gradient[p], (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * h), 1e-6);
        assert_true(fabs(gradient[p]) > 1e-6); /* or nothing was tested */
    }
    gp->posterior->free(gp->solution); /* its matrices may lie beside the Gram matrix */
    gp->solution = NULL;
    lth__gram_free(gram);
}

static void gradients(void **state) {
    (void)state;
    lth_table *table = make_table(ctx, ROWS);
    for (int what = 0; what < 4; what++) {
        lth_gp_options options = support_fixed();
        if (what == 1) options.noise_by = "1/reps";
        if (what == 2) options.weights = "weight";
        if (what == 3) options.likelihood = LTH_WARPED, options.warp = "sinh";
        lth_gp *gp = fit(table, &options);
        check_gradient(gp);
        lth_gp_free(gp);
    }
    lth_table_free(table);
}

/* ---- What comes of it ---- */

/* Rows are known better where noise is small, and what is left of them is as expected. */
static void follows_the_noise(void **state) {
    (void)state;
    lth_table *table = make_table(ctx, ROWS);
    lth_gp_options options;
    lth_gp_options_init(&options);
    options.restarts = 0;
    options.noise_kernel = "rbf(x)";
    lth_gp *noisy = fit_as(ctx, "rbf(x)", table, &options);
    options.noise_kernel = NULL;
    lth_gp *plain = fit_as(ctx, "rbf(x)", table, &options);
    lth_table *asked = support_table(ctx, "x\ty\n-1.8\t0\n1.8\t0\n");
    double *p = support_predict(noisy, asked, false);
    assert_true(lth_gp_reported(noisy)->evidence > lth_gp_reported(plain)->evidence + 5);
    assert_true(lth_gp_reported(noisy)->loo->nlpd < lth_gp_reported(plain)->loo->nlpd - 0.1);
    assert_true(p[3] > 3 * p[2]); /* deviations */
    free(p);
    lth_table_free(asked);
    lth_gp_free(noisy);
    lth_gp_free(plain);
    lth_table_free(table);
}

/* The same bits from a file, and from any number of threads. */
static void same_again(void **state) {
    (void)state;
    lth_error err = {0};
    lth_gp *loaded = NULL;
    lth_gp_options options = support_fixed();
    options.noise_by = "1/reps";
    lth_table *table = make_table(ctx, ROWS);
    lth_gp *gp = fit(table, &options);
    support_ok(lth_gp_save(gp, "m", &err), &err);
    support_ok(lth_gp_load(ctx, "m", &loaded, &err), &err);
    unlink("m");
    double *a = support_predict(gp, table, true), *b = support_predict(loaded, table, true);
    assert_memory_equal(a, b, 2 * ROWS * sizeof *a);
    double left[6 * ROWS];
    for (size_t i = 0; i < 2; i++) {
        double *to = left + i * 3 * ROWS;
        support_ok(lth_gp_leave_one_out(i ? loaded : gp, 0, to, to + ROWS, to + 2 * ROWS, &err),
                   &err);
    }
    assert_memory_equal(left, left + 3 * ROWS, 3 * ROWS * sizeof *left);
    lth_ctx *one = support_context(1);
    lth_table *same = make_table(one, ROWS);
    lth_gp *alone = fit_as(one, composed, same, &options);
    double *c = support_predict(alone, same, true);
    assert_memory_equal(a, c, 2 * ROWS * sizeof *a);
    lth_gp_free(alone);
    lth_table_free(same);
    lth_ctx_free(one);
    free(a);
    free(b);
    free(c);
    lth_gp_free(loaded);
    lth_gp_free(gp);
    lth_table_free(table);
}

/* ---- Mistakes ---- */

static void refused(void **state) {
    (void)state;
    lth_table *table = make_table(ctx, ROWS);
    static const struct {
        const char *kernel, *noise, *noise_by, *message;
        lth_likelihood likelihood;
        lth_posterior posterior;
    } all[] = {
        {"rbf(x)", "rbf(x)", NULL, "another likelihood", LTH_STUDENT, LTH_POSTERIOR_AUTO},
        {"rbf(x)", "rbf(x)", NULL, "cg and inducing", LTH_GAUSSIAN, LTH_POSTERIOR_CG},
        {"rbf(x)", "rbf(x)", NULL, "cg and inducing", LTH_GAUSSIAN, LTH_POSTERIOR_INDUCING},
        {"rbf(x)", "rbf(x)", NULL, "Laplace", LTH_GAUSSIAN, LTH_POSTERIOR_LAPLACE},
        {"rbf(x)", "rbf(x)", "weight", "known variances", LTH_GAUSSIAN, LTH_POSTERIOR_AUTO},
        {"rbf(x) | rbf(x)", "rbf(x)", NULL, "already there", LTH_GAUSSIAN, LTH_POSTERIOR_AUTO},
        {"rbf(x)", "rbf(x) | rbf(x)", NULL, "already there", LTH_GAUSSIAN, LTH_POSTERIOR_AUTO},
        {"rbf(x) | rbf(x) | rbf(x)", NULL, NULL, "the end", LTH_GAUSSIAN, LTH_POSTERIOR_AUTO},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        lth_error err = {0};
        lth_gp *gp = NULL;
        const char *target = "y";
        lth_gp_options options = support_fixed();
        options.noise_kernel = all[i].noise;
        options.noise_by = all[i].noise_by;
        options.likelihood = all[i].likelihood;
        options.posterior = all[i].posterior;
        assert_int_not_equal(lth_gp_fit(ctx, all[i].kernel, table, &target, 1, &options, &gp, &err),
                             LTH_OK);
        if (!strstr(err.message, all[i].message)) fail_msg("%zu: %s", i, err.message);
        assert_null(gp);
    }
    lth_table_free(table);
}

static void machines_refuse(void **state) {
    (void)state;
    lth_error err = {0};
    lth_svm *svm = NULL;
    const char *target = "y";
    lth_table *table = make_table(ctx, ROWS);
    assert_int_equal(lth_svm_fit(ctx, "rbf(x) | rbf(x)", table, target, NULL, &svm, &err),
                     LTH_EARG);
    assert_non_null(strstr(err.message, "Gaussian processes"));
    lth_table_free(table);
}

/* ---- Memory ---- */

/* Fit, save, load, predict. */
static lth_status use_all(void *user, lth_error *err) {
    const lth_table *table = user;
    const char *target = "y";
    lth_gp_options options = support_fixed();
    options.learn = true;
    options.restarts = 0;
    options.max_iter = 1;
    options.noise_kernel = "rbf(x)";
    options.noise_by = "1/reps";
    lth_gp *gp = NULL, *loaded = NULL;
    double y[ROWS], mean[ROWS], sd[ROWS];
    lth_status status = lth_gp_fit(ctx, "rbf(x)", table, &target, 1, &options, &gp, err);
    if (status == LTH_OK) status = lth_gp_save(gp, "m", err);
    if (status == LTH_OK) status = lth_gp_load(ctx, "m", &loaded, err);
    if (status == LTH_OK) status = lth_gp_leave_one_out(loaded, 0, y, mean, sd, err);
    if (status == LTH_OK) status = lth_gp_predict(loaded, table, false, mean, sd, err);
    lth_gp_free(gp);
    lth_gp_free(loaded);
    unlink("m");
    return status;
}

static void each_allocation_fails(void **state) {
    (void)state;
    lth_table *table = make_table(ctx, 12);
    fail_each(use_all, table, true, 50);
    lth_table_free(table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bound_of_two_rows),
        cmocka_unit_test(no_noise_at_all),
        cmocka_unit_test(noise_far_off),
        cmocka_unit_test(gradients),
        cmocka_unit_test(follows_the_noise),
        cmocka_unit_test(same_again),
        cmocka_unit_test(refused),
        cmocka_unit_test(machines_refuse),
        cmocka_unit_test(each_allocation_fails),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
