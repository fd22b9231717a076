/* The posterior by inducing rows: against the exact one, its gradients against central differences,
 * any number of threads, ugly rows. */
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

#include "gp_support.h"
#include "model/gp/gp_classes.h"
#include "model/posterior/inducing.h"

static const char composed[] =
    "normalize(ssk(text, order=2, gap=0.6)) * 0.7 + rbf(f1..f2, ard=yes)";
static const char of_labels[] = "normalize(ssk(text, order=2, gap=0.6)) + 0.4 * rbf(x)";

static lth_ctx *ctx;
static char folder[] = "test_inducing.XXXXXX";

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

static lth_gp_options inducing(size_t rows, lth_bound bound) {
    lth_gp_options options = support_fixed();
    options.posterior = LTH_POSTERIOR_INDUCING;
    options.inducing = rows;
    options.bound = bound;
    return options;
}

/* ---- All rows as inducing rows are exact ---- */

static void all_rows(void **state) {
    (void)state;
    lth_table *table = support_rows(ctx, 0, 40), *others = support_rows(ctx, 40, 30);
    for (size_t targets = 1; targets <= 3; targets += 2) {
        for (int bound = LTH_BOUND_NONE; bound <= LTH_BOUND_TITSIAS; bound++) {
            lth_gp_options exact = support_fixed(), few = inducing(1000, (lth_bound)bound);
            exact.noise = few.noise = 0.05;
            lth_gp *a = support_fit(ctx, composed, table, targets, &exact);
            lth_gp *b = support_fit(ctx, composed, table, targets, &few);
            const lth_gp_report *r = lth_gp_reported(b);
            support_near(r->evidence, lth_gp_reported(a)->evidence, 1e-8);
            assert_true(r->rows == 40 && r->inducing == 40 && r->jitter == 0 && !r->loo);
            assert_true(r->posterior == LTH_POSTERIOR_INDUCING);
            assert_true(r->trace_left >= 0 && r->trace_left < 1e-10 && r->left_to_noise < 1e-8);
            assert_true(r->noise == lth_gp_reported(a)->noise);
            double *p = support_predict(a, others, false), *q = support_predict(b, others, false);
            for (size_t i = 0; i < 2 * 30 * targets; i++) support_near(q[i], p[i], 1e-8);
            free(p);
            free(q);
            lth_gp_free(a);
            lth_gp_free(b);
        }
    }
    lth_table_free(table);
    lth_table_free(others);
}

/* ---- Gradients ---- */

/* The same model with another posterior, not yet settled. */
static void change_posterior(lth_gp *gp, size_t rows, lth_bound bound) {
    lth_error err = {0};
    gp->posterior->free(gp->solution);
    gp->solution = NULL;
    gp->posterior = &lth__inducing;
    gp->how.inducing = rows;
    gp->how.bound = bound;
    support_ok(gp->posterior->open(gp, &err), &err);
}

/* With a gradient: the inducing rows stay. */
static double evidence_at(lth_gp *gp, double *gradient) {
    lth_error err = {0};
    double evidence;
    support_ok(lth__gp_evidence(gp, NULL, &evidence, gradient, &err), &err);
    return evidence;
}

static void check_gradient(lth_gp *gp, double tolerance) {
    size_t params = lth__gp_param_count(gp);
    double gradient[16], other[16];
    assert_true(params < 16);
    evidence_at(gp, gradient);
    for (size_t p = 0; p < params; p++) {
        double *value = lth__gp_value(gp, p), at = *value, h = 1e-3 * at, f[4];
        const double steps[] = {-2, -1, 1, 2};
        for (size_t i = 0; i < 4; i++) {
            *value = at + steps[i] * h;
            f[i] = evidence_at(gp, other);
        }
        *value = at;
        support_near(gradient[p], (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * h), tolerance);
        assert_true(fabs(gradient[p]) > 1e-6); /* or nothing was tested */
    }
}

static void gradients(void **state) {
    (void)state;
    lth_table *table = support_rows(ctx, 0, 29);
    lth_gp_options options = support_fixed();
    options.noise = 0.2;
    for (size_t targets = 1; targets <= 2; targets++) {
        lth_gp *gp = support_fit(ctx, composed, table, targets, &options);
        change_posterior(gp, 8, LTH_BOUND_FITC);
        check_gradient(gp, 1e-6);
        change_posterior(gp, 8, LTH_BOUND_TITSIAS);
        check_gradient(gp, 1e-6);
        lth_gp_free(gp);
    }
    lth_table_free(table);
}

/* With jitter, which is an absolute number. */
static void gradient_with_jitter(void **state) {
    (void)state;
    lth_table *table = support_rows(ctx, 0, 29);
    lth_gp_options options = support_fixed();
    lth_gp *gp = support_fit(ctx, composed, table, 1, &options);
    change_posterior(gp, 8, LTH_BOUND_FITC);
    gp->jitter = 1e-2;
    check_gradient(gp, 1e-6);
    lth_gp_free(gp);
    lth_table_free(table);
}

static void gradients_of_sites(void **state) {
    (void)state;
    static const char *const targets[] = {"two", "three"};
    lth_table *table = support_labels(ctx, 31);
    for (int likelihood = LTH_LOGIT; likelihood <= LTH_PROBIT; likelihood++) {
        for (size_t t = 0; t < 2; t++) {
            lth_gp_options options = support_fixed();
            options.likelihood = (lth_likelihood)likelihood;
            lth_gp *gp = support_classifier(ctx, of_labels, table, targets[t], &options);
            gp->own[0] = 2.5;
            change_posterior(gp, 7, LTH_BOUND_NONE);
            check_gradient(gp, 1e-6);
            if (t == 0) gp->jitter = 1e-2;
            check_gradient(gp, 1e-6);
            lth_gp_free(gp);
        }
    }
    lth_table_free(table);
}

/* Many slices: a table of numbers. */
static lth_table *long_table(lth_ctx *of, size_t rows) {
    double *x = malloc(2 * rows * sizeof *x);
    assert_non_null(x);
    lth__random random;
    lth__random_seed(&random, 11);
    for (size_t i = 0; i < rows; i++) {
        x[2 * i] = 6 * lth__random_uniform(&random) - 3;
        x[2 * i + 1] = sin(2 * x[2 * i]) + 0.3 * lth__random_normal(&random);
    }
    lth__string text = {0};
    lth__string_format(&text, "f1\ty\n");
    for (size_t i = 0; i < rows; i++)
        lth__string_format(&text, "%.9g\t%.9g\n", x[2 * i], x[2 * i + 1]);
    lth_table *table = support_table(of, text.bytes);
    lth__string_free(&text);
    free(x);
    return table;
}

static void slices(void **state) {
    (void)state;
    enum { ROWS = 9000 };
    assert_true(lth__inducing_rows(6) < ROWS);
    lth_table *table = long_table(ctx, ROWS);
    lth_gp_options options = inducing(40, LTH_BOUND_NONE);
    options.noise = 0.09;
    lth_gp *gp = support_fit(ctx, "rbf(f1)", table, 1, &options);
    /* 40 rows are enough for one smooth curve: its bound is the evidence. */
    assert_true(lth_gp_reported(gp)->left_to_noise < 1e-3);
    lth_gp_param noise = *lth_gp_param_at(gp, LTH_NONE);
    assert_true(noise.value == 0.09);
    double *p = support_predict(gp, table, true);
    double worst = 0;
    for (size_t i = 0; i < ROWS; i++) worst = fmax(worst, p[ROWS + i]);
    assert_true(worst < 0.1);
    free(p);
    lth_gp_free(gp);

    /* The model as it was before it settled: with all rows. */
    for (int bound = LTH_BOUND_FITC; bound <= LTH_BOUND_TITSIAS; bound++) {
        lth_error err = {0};
        gp = support_fit(ctx, "0.8 * rbf(f1)", table, 1, &options);
        lth_items_free(gp->items);
        support_ok(lth_encode(gp->encoder, table, &gp->items, &err), &err);
        gp->rows = ROWS;
        lth__free(gp->y);
        gp->y = lth__alloc(ROWS, sizeof *gp->y);
        for (size_t i = 0; i < ROWS; i++) gp->y[i] = sin(0.1 * (double)i);
        change_posterior(gp, 6, (lth_bound)bound);
        check_gradient(gp, 1e-6);
        lth_gp_free(gp);
    }
    lth_table_free(table);
}

/* ---- Sites ---- */

/* With Gaussian noise a site is what was seen: their bound for all rows is the exact evidence. */
static void sites_of_gaussian_noise(void **state) {
    (void)state;
    enum { ROWS = 25 };
    lth_error err = {0};
    lth_table *table = support_rows(ctx, 0, ROWS);
    lth_gp_options options = support_fixed();
    lth_gp *gp = support_fit(ctx, composed, table, 1, &options);
    double exact = lth_gp_reported(gp)->evidence + ROWS * log(gp->targets[0].scale), bound;
    change_posterior(gp, 1000, LTH_BOUND_NONE);
    support_ok(lth__gp_evidence(gp, NULL, &bound, NULL, &err), &err);
    support_near(bound, exact, 1e-8);
    lth__inducing_state *s = gp->solution;
    lth__free(s->sites);
    s->sites = lth__calloc(2 * ROWS, sizeof *s->sites);
    support_ok(lth__inducing_sites(gp, &bound, &err), &err);
    support_near(bound, exact, 1e-8);
    for (size_t i = 0; i < ROWS; i++) {
        support_near(s->sites[ROWS + i], 1 / gp->own[0], 1e-9);
        support_near(s->sites[i], gp->y[i] / gp->own[0], 1e-9);
    }
    lth_gp_free(gp);
    lth_table_free(table);
}

/* The expectations that sites ask for, against sums over f. */
static void expectations(void **state) {
    (void)state;
    const lth__likelihood *const all[] = {&lth__logit, &lth__probit, &lth__gaussian};
    const double theta[LTH__MOST_OWN] = {0.3}, y = -1;
    const lth__terms terms = {.theta = theta};
    lth__quadrature q = *lth__quadrature_shared();
    double sum = 0, square = 0, fourth = 0;
    for (size_t i = 0; i < LTH__NODES; i++) {
        double x = q.node[i] * q.node[i];
        assert_true(q.weight[i] > 0 && (i == 0 || q.node[i] > q.node[i - 1]));
        sum += q.weight[i];
        square += q.weight[i] * x;
        fourth += q.weight[i] * x * x;
    }
    support_near(sum, 1, 1e-14);
    support_near(square, 1, 1e-13);
    support_near(fourth, 3, 1e-12);
    for (size_t l = 0; l < 3; l++) {
        double mean = 0.4, variance = 1.7, step = 1e-3, value = 0, h = 1e-5;
        lth__seen seen = {.likelihood = all[l], .terms = terms, .y = &y};
        for (double z = -10; z <= 10; z += step) {
            double f = mean + sqrt(variance) * z;
            value += step * exp(-z * z / 2) / sqrt(2 * M_PI) * all[l]->at(&terms, y, f).value;
        }
        lth__expected e = lth__seen_expect(&seen, 0, mean, variance);
        support_near(e.value, value, 1e-6);
        double up = lth__seen_expect(&seen, 0, mean + h, variance).value;
        double down = lth__seen_expect(&seen, 0, mean - h, variance).value;
        support_near(e.by_mean, (up - down) / (2 * h), 1e-8);
        up = lth__seen_expect(&seen, 0, mean, variance + h).value;
        down = lth__seen_expect(&seen, 0, mean, variance - h).value;
        support_near(e.by_variance, (up - down) / (2 * h), 1e-8);
        e = lth__seen_expect(&seen, 0, mean, 0);
        lth__log_p at = all[l]->at(&terms, y, mean);
        support_near(e.value, at.value, 1e-13);
        support_near(e.by_mean, at.d1, 1e-13);
        support_near(e.by_variance, at.d2 / 2, 1e-13);
    }
}

/* Few rows say about what all say by Laplace's approximation. */
static void labels(void **state) {
    (void)state;
    static const char *const targets[] = {"two", "three", "several"};
    lth_table *table = support_labels(ctx, 60);
    for (size_t t = 0; t < 3; t++) {
        lth_gp_options options = support_fixed(), few = inducing(25, LTH_BOUND_NONE);
        lth_gp *a = support_classifier(ctx, of_labels, table, targets[t], &options);
        lth_gp *b = support_classifier(ctx, of_labels, table, targets[t], &few);
        assert_true(b->rows == 25 && lth_gp_reported(b)->rows == 60);
        double *p = support_classify(a, table), *q = support_classify(b, table);
        for (size_t i = 0; i < 60 * lth_gp_classes(a); i++) assert_true(fabs(p[i] - q[i]) < 0.12);
        for (size_t c = 0; c < lth_gp_classes(a); c++)
            assert_int_equal(lth_gp_class(a, c)->rows, lth_gp_class(b, c)->rows);
        free(p);
        free(q);
        lth_gp_free(a);
        lth_gp_free(b);
    }
    lth_table_free(table);
}

/* ---- Learning ---- */

static void learns(void **state) {
    (void)state;
    lth_table *table = support_rows(ctx, 0, 60), *others = support_rows(ctx, 60, 40);
    for (int bound = LTH_BOUND_FITC; bound <= LTH_BOUND_TITSIAS; bound++) {
        lth_gp_options options = inducing(15, (lth_bound)bound), fixed = options;
        options.learn = true;
        options.restarts = 1;
        options.max_iter = 15;
        lth_gp *a = support_fit(ctx, "rbf(f1..f2, ard=yes)", table, 1, &fixed);
        lth_gp *b = support_fit(ctx, "rbf(f1..f2, ard=yes)", table, 1, &options);
        assert_true(lth_gp_reported(b)->evidence > lth_gp_reported(a)->evidence + 5);
        lth_gp_free(a);
        lth_gp_free(b);
    }
    lth_table_free(table);
    lth_table_free(others);
}

/* Killed at some point, and begun again: the same bits. */
static void journal(void **state) {
    (void)state;
    for (int labels = 0; labels < 2; labels++) {
        lth_table *table = labels ? support_labels(ctx, 40) : support_rows(ctx, 0, 40);
        lth_gp_options options = inducing(12, labels ? LTH_BOUND_TITSIAS : LTH_BOUND_FITC);
        options.learn = true;
        options.restarts = 1;
        options.max_iter = 4;
        double evidence = 0;
        for (int round = 0; round < 3; round++) {
            options.journal = round > 0 ? "journal" : NULL;
            lth_gp *gp = labels ? support_classifier(ctx, of_labels, table, "two", &options)
                                : support_fit(ctx, composed, table, 1, &options);
            if (round == 0) evidence = lth_gp_reported(gp)->evidence;
            assert_true(lth_gp_reported(gp)->evidence == evidence);
            assert_true(lth_gp_reported(gp)->evaluations > 4);
            lth_gp_free(gp);
            if (round != 1) continue;
            support_bytes b = support_slurp("journal");
            assert_int_equal(truncate("journal", (off_t)(b.size / 2)), 0);
            free(b.data);
        }
        assert_int_equal(unlink("journal"), 0);
        lth_table_free(table);
    }
}

/* ---- Threads ---- */

static void threads(void **state) {
    (void)state;
    enum { ROWS = 140, FEW = 130 }; /* more than a job takes of either */
    double *first[2] = {NULL, NULL}, evidence[2] = {0, 0};
    for (unsigned n = 1; n <= 3; n += 2) {
        lth_ctx *own = support_context(n);
        lth_table *tables[] = {support_rows(own, 0, ROWS), support_labels(own, ROWS)};
        for (size_t k = 0; k < 2; k++) {
            lth_gp_options options = inducing(FEW, k ? LTH_BOUND_TITSIAS : LTH_BOUND_FITC);
            options.learn = true;
            options.restarts = 0;
            options.max_iter = 2;
            lth_gp *gp = k ? support_classifier(own, of_labels, tables[k], "three", &options)
                           : support_fit(own, composed, tables[k], 2, &options);
            double *p = k ? support_classify(gp, tables[k]) : support_predict(gp, tables[k], true);
            size_t cells = k ? ROWS * 3 : ROWS * 4;
            if (k == 0) assert_int_equal(gp->rows, FEW); /* labels need fewer */
            if (n == 1) {
                first[k] = p;
                evidence[k] = lth_gp_reported(gp)->evidence;
            } else {
                assert_memory_equal(p, first[k], cells * sizeof *p);
                assert_true(lth_gp_reported(gp)->evidence == evidence[k]);
                free(p);
            }
            lth_gp_free(gp);
            lth_table_free(tables[k]);
        }
        lth_ctx_free(own);
    }
    free(first[0]);
    free(first[1]);
}

/* ---- Ugly rows ---- */

static lth_gp *fit_lines(const char *kernel, const char *lines, const lth_gp_options *options) {
    lth_table *table = support_table(ctx, lines);
    lth_gp *gp = support_fit(ctx, kernel, table, 1, options);
    double *p = support_predict(gp, table, false);
    for (size_t i = 0; i < 2 * lth_table_rows(table); i++) assert_true(isfinite(p[i]));
    assert_true(isfinite(lth_gp_reported(gp)->evidence));
    free(p);
    lth_table_free(table);
    return gp;
}

static void ugly_rows(void **state) {
    (void)state;
    static const struct {
        const char *kernel, *lines;
        size_t rows; /* that stand for all */
    } cases[] = {
        {"normalize(ssk(text, order=2))", "text\ty\na b\t1\n", 1},
        {"normalize(ssk(text, order=2))", "text\ty\na b\t1\na b\t2\na b\t3\nc\t4\n", 2},
        {"normalize(ssk(text, order=2))", "text\ty\na b\t1\n\t2\n\t2.5\nc a\t4\n", 2},
        {"normalize(ssk(text, order=2))", "text\ty\n\t1\n\t2\n\t2.5\n\t4\n", 1},
        {"normalize(ssk(text, order=2))", "text\ty\na b\t3\nb\t3\nb a\t3\nc\t3\n", 4},
        {"bow(text)", "text\ty\na\t1\na a\t2\na a a\t3\na a a a\t4\n", 1},
        {"1e-30 * bow(text)", "text\ty\na\t1\nb\t2\nc\t3\n", 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int learn = 0; learn < 2; learn++) {
            for (int bound = LTH_BOUND_NONE; bound <= LTH_BOUND_TITSIAS; bound++) {
                lth_gp_options options = inducing(10, (lth_bound)bound);
                options.learn = learn;
                options.restarts = 0;
                options.max_iter = 5;
                options.noise_held = learn;
                lth_gp *gp = fit_lines(cases[i].kernel, cases[i].lines, &options);
                if (!learn) assert_int_equal(gp->rows, cases[i].rows);
                lth_gp_free(gp);
            }
        }
    }
}

/* ---- What else a model is asked for ---- */

static void uses(void **state) {
    (void)state;
    lth_error err = {0};
    lth_table *table = support_rows(ctx, 0, 40);
    lth_gp_options options = inducing(12, LTH_BOUND_NONE);
    lth_gp *gp = support_fit(ctx, composed, table, 1, &options);
    double y[40], mean[40], sd[40];
    assert_int_equal(lth_gp_leave_one_out(gp, 0, y, mean, sd, &err), LTH_EARG);
    assert_non_null(strstr(err.message, "inducing rows"));

    /* Reasons add up to the prediction, and name rows that are kept. */
    lth_reasons *reasons = NULL;
    support_ok(lth_gp_explain(gp, table, 3, NULL, &reasons, &err), &err);
    double *p = support_predict(gp, table, false);
    const lth_reasons_summary *s = lth_reasons_summarise(reasons);
    support_near(s->mean, p[3], 1e-9);
    support_near(s->sd, p[40 + 3], 1e-9);
    free(p);
    lth_reasons_free(reasons);
    lth_gp_free(gp);

    const size_t fold[40] = {0, 1, 0, 1, 0, 1, 0, 1};
    const char *target = "y";
    lth_validation *v = NULL;
    support_ok(lth_gp_cv(ctx, composed, table, &target, 1, fold, 2, &options, &v, &err), &err);
    lth_validation_free(v);
    lth_table_free(table);
}

static int warnings;
static void count_warnings(void *user, lth_log_level level, const char *message) {
    (void)user;
    warnings += level == LTH_LOG_WARNING && strstr(message, "does not compress");
}

static void warns(void **state) {
    (void)state;
    lth_ctx_options options;
    lth_ctx_options_init(&options);
    options.log = count_warnings;
    lth_error err = {0};
    lth_ctx *own = NULL;
    support_ok(lth_ctx_create(&options, &own, &err), &err);
    lth_table *table = support_rows(own, 0, 60);
    lth_gp_options few = inducing(5, LTH_BOUND_NONE);
    few.noise = 0.01;
    lth_gp *gp = support_fit(own, "normalize(ssk(text))", table, 1, &few);
    assert_int_equal(warnings, 1);
    assert_true(lth_gp_reported(gp)->left_to_noise > 1 && lth_gp_reported(gp)->trace_left > 0.1);
    lth_gp_free(gp);
    lth_table_free(table);
    lth_ctx_free(own);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_rows),
        cmocka_unit_test(gradients),
        cmocka_unit_test(gradient_with_jitter),
        cmocka_unit_test(gradients_of_sites),
        cmocka_unit_test(slices),
        cmocka_unit_test(sites_of_gaussian_noise),
        cmocka_unit_test(expectations),
        cmocka_unit_test(labels),
        cmocka_unit_test(learns),
        cmocka_unit_test(journal),
        cmocka_unit_test(threads),
        cmocka_unit_test(ugly_rows),
        cmocka_unit_test(uses),
        cmocka_unit_test(warns),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
