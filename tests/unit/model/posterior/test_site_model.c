/* Models whose rows have sites, by Laplace's approximation and by the bound: against the exact
 * posterior and against inducing rows, their gradients, leave-one-out, files, threads. */
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
#include "model/posterior/inducing.h"
#include "model/posterior/site_factor.h"
#include "model/posterior/site_model.h"

enum { ROWS = 30 };

static const char composed[] = "0.8 * rbf(x) + 0.3 * normalize(ssk(text, order=2, gap=0.6))";
static lth_ctx *ctx;
static char folder[] = "test_site_model.XXXXXX";

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

/* Numbers y with outliers, what is known of rows, and a label. */
static lth_table *make_table(lth_ctx *of) {
    char lines[ROWS * 120 + 120], *at = lines;
    at += sprintf(at, "x\ttext\tone\treps\tweight\ty\tlabel\tcount\tgrade\tshare\n");
    for (size_t i = 0; i < ROWS; i++) {
        double x = -3 + 6 * (double)(i * 17 % ROWS) / ROWS;
        double y = sin(2 * x) + 0.2 * cos(7.0 * (double)i) + (i % 8 == 5 ? 2.5 : 0);
        at += sprintf(at, "%.6g\t%s is%s\t1\t%zu\t%.3g\t%.6g\t%s\t%.0f\t%.0f\t%.4g\n", x,
                      i % 2 ? "so" : "no", i % 3 ? " it" : "", 1 + i % 3,
                      0.5 + 0.1 * (double)(i % 9), y, y > 0 ? "up" : "down",
                      floor(2 * exp(0.6 * y)), fmin(fmax(round(2 + y), 0), 4), 1 / (1 + exp(-y)));
    }
    return support_table(of, lines);
}

static lth_gp_options with(lth_likelihood likelihood, lth_posterior posterior) {
    lth_gp_options options = support_fixed();
    options.likelihood = likelihood;
    options.posterior = posterior;
    if (likelihood == LTH_CENSORED) options.lower = -0.7, options.upper = 0.9;
    return options;
}

static lth_gp *fit(const lth_table *table, const char *target, const lth_gp_options *options) {
    lth_error err = {0};
    lth_gp *gp = NULL;
    support_ok(lth_gp_fit(ctx, composed, table, &target, 1, options, &gp, &err), &err);
    return gp;
}

/* y, means and deviations of leave-one-out, then predictions of the same table. */
typedef struct told {
    double left_out[3 * ROWS], *predicted;
} told;

static told tell(lth_gp *gp, const lth_table *table) {
    told t;
    lth_error err = {0};
    support_ok(
        lth_gp_leave_one_out(gp, 0, t.left_out, t.left_out + ROWS, t.left_out + 2 * ROWS, &err),
        &err);
    t.predicted = support_predict(gp, table, true);
    return t;
}

static void check_same(lth_gp *a, lth_gp *b, const lth_table *table, double tolerance) {
    told x = tell(a, table), y = tell(b, table);
    support_near(lth_gp_reported(a)->evidence, lth_gp_reported(b)->evidence, tolerance);
    for (size_t i = 0; i < 3 * ROWS; i++) support_near(x.left_out[i], y.left_out[i], tolerance);
    for (size_t i = 0; i < 2 * ROWS; i++) support_near(x.predicted[i], y.predicted[i], tolerance);
    const lth_metrics *m = lth_gp_reported(a)->loo, *o = lth_gp_reported(b)->loo;
    assert_non_null(m);
    assert_non_null(o);
    support_near(m->rmse, o->rmse, tolerance);
    support_near(m->nlpd, o->nlpd, tolerance);
    free(x.predicted);
    free(y.predicted);
}

/* ---- Normal noise ---- */

/* One repeat of each row is the same noise for all: what is exact elsewhere. */
static void exact_noise(void **state) {
    (void)state;
    lth_table *table = make_table(ctx);
    lth_gp_options options = with(LTH_GAUSSIAN, LTH_POSTERIOR_AUTO);
    lth_gp *exact = fit(table, "y", &options), *last = NULL;
    for (int which = LTH_POSTERIOR_LAPLACE; which <= LTH_POSTERIOR_SITES; which++) {
        options.posterior = (lth_posterior)which;
        options.noise_by = "1/one";
        lth_gp *gp = fit(table, "y", &options);
        check_same(gp, exact, table, 1e-9);
        lth_gp_free(gp);
        options.noise_by = "1/reps";
        gp = fit(table, "y", &options);
        if (last) check_same(gp, last, table, 1e-9);
        if (last) lth_gp_free(last);
        last = gp;
    }
    lth_gp_free(last);
    lth_gp_free(exact);
    lth_table_free(table);
}

static void refused(void **state) {
    (void)state;
    lth_table *table = make_table(ctx);
    const char *target = "y";
    for (int which = LTH_POSTERIOR_LAPLACE; which <= LTH_POSTERIOR_SITES; which++) {
        lth_error err = {0};
        lth_gp *gp = NULL;
        lth_gp_options options = with(LTH_GAUSSIAN, (lth_posterior)which);
        assert_int_equal(lth_gp_fit(ctx, composed, table, &target, 1, &options, &gp, &err),
                         LTH_EARG);
        assert_non_null(strstr(err.message, "exact already"));
        assert_null(gp);
    }
    lth_table_free(table);
}

/* ---- Gradients ---- */

/* Heavy tails, which have no likelihood of their own here. */
static lth__log_p tails_at(const lth__terms *t, double y, double f) {
    double a = 3 * t->theta[0], r = y - f, q = a + r * r;
    return (lth__log_p){.value = -0.5 * log(a) - 2 * log(q / a),
                        .d1 = 4 * r / q,
                        .d2 = 4 * (r * r - a) / (q * q),
                        .d3 = 8 * r * (r * r - 3 * a) / (q * q * q)};
}

static void tails_params(const lth__terms *t, double y, double f, lth__log_p *out) {
    double a = 3 * t->theta[0], r = y - f, q = a + r * r;
    out[0] = (lth__log_p){.value = 3 * (-0.5 / a + 2 / a - 2 / q),
                          .d1 = -12 * r / (q * q),
                          .d2 = -12 / (q * q) - 24 * (r * r - a) / (q * q * q)};
}

static const lth__likelihood tails = {
    .name = "tails", .has_noise = true, .at = tails_at, .by_params = tails_params};

/* The same model with another posterior, not yet settled. */
static void change_posterior(lth_gp *gp, const lth__posterior *to) {
    lth_error err = {0};
    gp->posterior->free(gp->solution);
    gp->solution = NULL;
    gp->posterior = to;
    gp->how.inducing = to == &lth__inducing ? 9 : 0;
    support_ok(to->open(gp, &err), &err);
    if (to != &lth__inducing && to != &lth__exact) ((lth__site_model *)gp->solution)->lack = 0;
}

static double evidence_at(lth_gp *gp, lth__gram *gram, double *gradient) {
    lth_error err = {0};
    double evidence;
    support_ok(lth__gp_evidence(gp, gram, &evidence, gradient, &err), &err);
    return evidence;
}

static void check_gradient(lth_gp *gp, double tolerance) {
    size_t params = lth__gp_param_count(gp);
    enum { MOST = 32 };
    double gradient[MOST], other[MOST];
    lth__gram *gram;
    assert_true(params < MOST);
    support_ok(lth__gram_create(gp->kernel, gp->items, NULL, &gram, NULL), NULL);
    evidence_at(gp, gram, gradient);
    for (size_t p = 0; p < params; p++) {
        double *value = lth__gp_value(gp, p), at = *value, h = 1e-3 * at, f[4];
        const double steps[] = {-2, -1, 1, 2};
        for (size_t i = 0; i < 4; i++) {
            *value = at + steps[i] * h;
            f[i] = evidence_at(gp, gram, other);
        }
        *value = at;
        support_near(gradient[p], (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * h), tolerance);
        assert_true(fabs(gradient[p]) > 1e-6); /* or nothing was tested */
    }
    gp->posterior->free(gp->solution); /* its matrices may lie beside the Gram matrix */
    gp->solution = NULL;
    lth__gram_free(gram);
}

static void gradients(void **state) {
    (void)state;
    static const struct {
        const char *target, *noise_by, *weights;
        lth_likelihood likelihood;
        bool has_tails;
    } cases[] = {
        {"label", NULL, NULL, LTH_LOGIT, false},      {"label", NULL, "weight", LTH_PROBIT, false},
        {"y", "reps", "weight", LTH_GAUSSIAN, false}, {"y", "1/reps", NULL, LTH_CENSORED, false},
        {"y", NULL, "weight", LTH_CENSORED, false},   {"y", NULL, NULL, LTH_CENSORED, true},
        {"y", "1/reps", "weight", LTH_CENSORED, true}};
    static const lth__posterior *const posteriors[] = {&lth__laplace_posterior,
                                                       &lth__sites_posterior, &lth__inducing};
    lth_table *table = make_table(ctx);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        lth_gp_options options = with(cases[c].likelihood, LTH_POSTERIOR_AUTO);
        options.noise_by = cases[c].noise_by;
        options.weights = cases[c].weights;
        if (cases[c].target[0] == 'y') options.noise = 0.2;
        lth_gp *gp = fit(table, cases[c].target, &options);
        if (cases[c].has_tails) gp->likelihood = &tails;
        for (size_t p = 0; p < 3; p++) {
            change_posterior(gp, posteriors[p]);
            check_gradient(gp, 1e-6);
            support_ok(gp->posterior->open(gp, NULL), NULL);
        }
        lth_gp_free(gp);
    }
    lth_table_free(table);
}

/* Each likelihood as it is, by every posterior that it has. */
static void gradients_of_each(void **state) {
    (void)state;
    static const struct {
        const char *target, *exposure;
        lth_likelihood likelihood;
    } cases[] = {{"y", NULL, LTH_STUDENT},
                 {"grade", NULL, LTH_ORDINAL},
                 {"count", "reps", LTH_POISSON},
                 {"count", "reps", LTH_NEGBINOMIAL},
                 {"share", NULL, LTH_BETA}};
    static const lth__posterior *const posteriors[] = {&lth__laplace_posterior,
                                                       &lth__sites_posterior, &lth__inducing};
    lth_table *table = make_table(ctx);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        lth_gp_options options = with(cases[c].likelihood, LTH_POSTERIOR_AUTO);
        options.exposure = cases[c].exposure;
        lth_gp *gp = fit(table, cases[c].target, &options);
        for (size_t p = 0; p < 3; p++) {
            change_posterior(gp, posteriors[p]);
            check_gradient(gp, 1e-6);
            support_ok(gp->posterior->open(gp, NULL), NULL);
        }
        lth_gp_free(gp);
    }
    lth_table_free(table);
}

/* Through the warped targets, which are centred and scaled anew for every value. */
static void gradients_of_warps(void **state) {
    (void)state;
    static const lth__posterior *const posteriors[] = {&lth__exact, &lth__inducing, &lth__inducing};
    static const lth_bound bounds[] = {LTH_BOUND_NONE, LTH_BOUND_TITSIAS, LTH_BOUND_FITC};
    lth_table *table = make_table(ctx);
    const char *name;
    for (size_t w = 0; (name = lth_warp_name(w, NULL)); w++) {
        lth_gp_options options = with(LTH_WARPED, LTH_POSTERIOR_AUTO);
        options.warp = name;
        lth_gp *gp = fit(table, "y", &options);
        for (size_t j = 0; j < lth__warp_params(gp->warp); j++) {
            double *phi = &gp->own[gp->likelihood_params + j];
            if (*phi == 0) *phi = 0.3; /* differences are relative */
        }
        for (size_t p = 0; p < 3; p++) {
            gp->how.bound = bounds[p];
            change_posterior(gp, posteriors[p]);
            check_gradient(gp, 1e-6);
            support_ok(gp->posterior->open(gp, NULL), NULL);
        }
        lth_gp_free(gp);
    }
    lth_table_free(table);
}

/* ---- Heavy tails ---- */

/* Predictions of the rows themselves, and of each from all the others, fit together; outliers have
 * negative sites. */
static void tails_settle(void **state) {
    (void)state;
    lth_table *table = make_table(ctx);
    lth_gp_options options = with(LTH_CENSORED, LTH_POSTERIOR_AUTO);
    lth_gp *gp = fit(table, "y", &options);
    for (int by_sites = 0; by_sites < 2; by_sites++) {
        lth__gram *gram;
        double mean[ROWS], variance[ROWS];
        gp->likelihood = &tails;
        gp->own[0] = 0.1;
        change_posterior(gp, by_sites ? &lth__sites_posterior : &lth__laplace_posterior);
        support_ok(lth__gram_create(gp->kernel, gp->items, NULL, &gram, NULL), NULL);
        evidence_at(gp, gram, NULL);
        gp->likelihood = &lth__gaussian; /* which has moments: `tails` has none to report */
        support_ok(gp->posterior->settle(gp, NULL), NULL);
        lth__gram_free(gram);
        support_ok(gp->posterior->leave_one_out(gp, 0, mean, variance, NULL), NULL);
        const lth__site_model *s = gp->solution;
        assert_true(s->negative[0] > 0);
        double *predicted = support_predict(gp, table, true);
        for (size_t i = 0; i < ROWS; i++) {
            double W = s->root_w[i] * fabs(s->root_w[i]), scale = gp->targets[0].scale;
            double v = variance[i] / (1 + W * variance[i]);
            support_near(predicted[i],
                         gp->targets[0].shift + scale * (mean[i] + s->a[i] * variance[i]), 1e-9);
            support_near(predicted[ROWS + i], scale * sqrt(v), 1e-9);
        }
        free(predicted);
    }
    lth_gp_free(gp);
    lth_table_free(table);
}

/* ---- Against inducing rows ---- */

static void all_rows_inducing(void **state) {
    (void)state;
    lth_table *table = make_table(ctx);
    for (int labels = 0; labels < 2; labels++) {
        lth_gp_options options = with(labels ? LTH_LOGIT : LTH_CENSORED, LTH_POSTERIOR_SITES);
        lth_gp *gp = fit(table, labels ? "label" : "y", &options);
        assert_int_equal(lth_gp_reported(gp)->posterior, LTH_POSTERIOR_SITES);
        options.posterior = LTH_POSTERIOR_INDUCING;
        options.inducing = ROWS;
        lth_gp *other = fit(table, labels ? "label" : "y", &options);
        support_near(lth_gp_reported(gp)->evidence, lth_gp_reported(other)->evidence, 1e-6);
        lth_gp_free(other);
        lth_gp_free(gp);
    }
    lth_table_free(table);
}

/* ---- Files ---- */

static void there_and_back(void **state) {
    (void)state;
    lth_table *table = make_table(ctx);
    for (int which = LTH_POSTERIOR_LAPLACE; which <= LTH_POSTERIOR_SITES; which++) {
        lth_error err = {0};
        lth_gp_options options = with(LTH_CENSORED, (lth_posterior)which);
        lth_gp *gp = fit(table, "y", &options), *back = NULL;
        support_ok(lth_gp_save(gp, "model", &err), &err);
        support_ok(lth_gp_load(ctx, "model", &back, &err), &err);
        assert_int_equal(lth_gp_reported(back)->posterior, lth_gp_reported(gp)->posterior);
        check_same(back, gp, table, 1e-13);
        lth_gp_free(back);
        lth_gp_free(gp);
        unlink("model");
    }
    lth_table_free(table);
}

/* ---- Learning ---- */

/* With any number of threads; from a part of the rows too. */
static void learns(void **state) {
    (void)state;
    double evidence[2];
    lth_ctx *keep = ctx;
    for (unsigned threads = 1; threads <= 3; threads += 2) {
        ctx = support_context(threads);
        lth_table *table = make_table(ctx);
        lth_gp_options options = with(LTH_CENSORED, LTH_POSTERIOR_SITES);
        double before = 0;
        for (int learn = 0; learn < 3; learn++) {
            options.learn = learn > 0;
            options.restarts = 1;
            options.max_iter = 20;
            options.learn_rows = learn == 2 ? 20 : 0;
            lth_gp *gp = fit(table, "y", &options);
            double found = lth_gp_reported(gp)->evidence;
            if (learn == 0) before = found;
            if (learn == 1) {
                assert_true(found > before + 1);
                evidence[threads / 2] = found;
            }
            if (learn == 2) assert_int_equal(lth_gp_reported(gp)->learned_rows, 20);
            lth_gp_free(gp);
        }
        lth_table_free(table);
        lth_ctx_free(ctx);
    }
    ctx = keep;
    assert_true(evidence[0] == evidence[1]);
}

/* ---- Memory ---- */

typedef struct use {
    const lth_table *table;
    lth_posterior posterior;
} use;

/* Fit, save, load, predict. */
static lth_status use_all(void *user, lth_error *err) {
    const use *u = user;
    const char *target = "y";
    lth_gp_options options = with(LTH_CENSORED, u->posterior);
    options.learn = true;
    options.restarts = 0;
    options.max_iter = 1;
    lth_gp *gp = NULL, *loaded = NULL;
    double y[ROWS], mean[ROWS], sd[ROWS];
    lth_status status = lth_gp_fit(ctx, "rbf(x)", u->table, &target, 1, &options, &gp, err);
    if (status == LTH_OK) status = lth_gp_save(gp, "m", err);
    if (status == LTH_OK) status = lth_gp_load(ctx, "m", &loaded, err);
    if (status == LTH_OK) status = lth_gp_leave_one_out(loaded, 0, y, mean, sd, err);
    if (status == LTH_OK) status = lth_gp_predict(loaded, u->table, false, mean, sd, err);
    lth_gp_free(gp);
    lth_gp_free(loaded);
    unlink("m");
    return status;
}

/* Sites of all signs. */
static lth_status use_factor(void *user, lth_error *err) {
    enum { N = 4 };
    (void)user;
    const double root[N] = {1, 0, -0.3, 2}, x[N] = {1, 2, 3, 4};
    double K[N * 64] = {0}, out[N], variance[N], left[N];
    lth__matrix on_K = lth__matrix_on_host(ctx, N, K), L = lth__matrix_on_host(ctx, N, NULL);
    lth__packed p = lth__matrix_packed(&on_K);
    for (size_t i = 0; i < N; i++) K[lth__packed_row(&p, i) + i] = 1;
    lth__site_factor s = {.L = &L};
    lth_status status = lth__site_factor_make(&s, &on_K, root, err);
    if (status == LTH_OK) status = lth__site_factor_apply(&s, root, x, out, err);
    for (int inverted = 0; inverted < 2 && status == LTH_OK; inverted++) {
        status = lth__site_factor_variances(&s, &on_K, root, variance, left, err);
        for (size_t i = 0; i < N && status == LTH_OK; i++)
            support_near(variance[i], 1 / (1 + lth__site_precision(root[i])), 1e-12);
        if (status == LTH_OK && !inverted) status = lth__site_factor_invert(&s, root, err);
    }
    lth__site_factor_free(&s);
    lth__matrix_free(&L);
    if (status == LTH_ENUMERIC) err->status = status; /* its callers find the words */
    return status;
}

static void each_allocation_fails(void **state) {
    (void)state;
    lth_table *table = make_table(ctx);
    for (int which = LTH_POSTERIOR_LAPLACE; which <= LTH_POSTERIOR_SITES; which++)
        fail_each(use_all, &(use){table, (lth_posterior)which}, true, 50);
    fail_each(use_factor, NULL, false, 5);
    lth_table_free(table);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(exact_noise),
                                       cmocka_unit_test(refused),
                                       cmocka_unit_test(gradients),
                                       cmocka_unit_test(gradients_of_each),
                                       cmocka_unit_test(gradients_of_warps),
                                       cmocka_unit_test(tails_settle),
                                       cmocka_unit_test(all_rows_inducing),
                                       cmocka_unit_test(there_and_back),
                                       cmocka_unit_test(learns),
                                       cmocka_unit_test(each_allocation_fails)};
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
