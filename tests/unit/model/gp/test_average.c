/* Intervals of parameters, and predictions averaged over draws of them, against sums over a grid of
 * the two parameters of a small model. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "gp_support.h"
#include "hostile.h"
#include "model/gp/gp_average.h"
#include "model/gp/gp_uncertain.h"
#include "model/likelihood/mixture.h"
#include "scratch.h"

enum { ROWS = 16, NEW = 9, GRID = 41 };

static lth_ctx *ctx;
static lth_table *rows, *new_rows;
static const char kernel[] = "rbf(f1, variance=1!)";

/* A wave with noise. */
static lth_table *make_rows(size_t count, double from, double to, uint64_t seed) {
    char text[8192] = "f1\ty\tlabel\n";
    lth__random random;
    lth__random_seed(&random, seed);
    for (size_t i = 0; i < count; i++) {
        double x = from + (to - from) * ((double)i + 0.5) / (double)count;
        double y = sin(2 * x) + 0.2 * lth__random_normal(&random);
        size_t length = strlen(text);
        snprintf(text + length, sizeof text - length, "%.6f\t%.6f\t%s\n", x, y,
                 y > 0 ? "up" : "down");
    }
    return support_table(ctx, text);
}

static int open_tables(void **state) {
    ctx = support_context(1);
    rows = make_rows(ROWS, 0, 5, 7);
    new_rows = make_rows(NEW, -0.5, 6, 5);
    return scratch_open(state);
}

static int close_tables(void **state) {
    lth_table_free(rows);
    lth_table_free(new_rows);
    lth_ctx_free(ctx);
    return scratch_close(state);
}

static const char *const priors[] = {"noise=0.1,0.6", "rbf.lengthscale=0.7,0.5"};

static lth_gp_options asks(bool intervals, size_t average) {
    lth_gp_options options;
    lth_gp_options_init(&options);
    options.restarts = 0;
    options.intervals = intervals;
    options.average = average;
    options.unscaled = true;
    options.prior = priors;
    options.prior_count = 2;
    return options;
}

static lth_gp *fit(const char *expression, const lth_gp_options *options) {
    lth_gp *gp = NULL;
    lth_error err = {0};
    const char *target = "y";
    support_ok(lth_gp_fit(ctx, expression, rows, &target, 1, options, &gp, &err), &err);
    return gp;
}

static lth_gp_param param_of(const lth_gp *gp, const char *path) {
    return *lth_gp_param_at(gp, support_param(gp, path));
}

static lth_gp *fit_labels(const lth_gp_options *options) {
    lth_gp_options by = *options;
    by.unscaled = false;
    by.prior_count = 0;
    return support_classifier(ctx, "rbf(f1)", rows, "label", &by);
}

static double reach_of(const lth_gp_param *p) {
    return log(p->high / p->low) / 2 / 1.959963984540054;
}

/* ---- The truth, over a grid ---- */

typedef struct truth {
    double mean[2], sd[2];         /* of the logarithms of lengthscale and noise */
    double y_mean[NEW], y_sd[NEW]; /* of what is expected of the new rows        */
} truth;

/* The evidence at these values; what they expect of the new rows, means then deviations. */
static double ask(double lengthscale, double noise, double *expected) {
    char text[128];
    lth_gp_options options = support_fixed();
    options.noise = noise;
    options.unscaled = true;
    snprintf(text, sizeof text, "rbf(f1, variance=1!, lengthscale=%.17g)", lengthscale);
    lth_gp *gp = fit(text, &options);
    double *p = support_predict(gp, new_rows, false), evidence = lth_gp_reported(gp)->evidence;
    memcpy(expected, p, 2 * NEW * sizeof *p);
    free(p);
    lth_gp_free(gp);
    return evidence;
}

static double log_prior(const double at[2]) {
    double a = (at[0] - log(0.7)) / 0.5, b = (at[1] - log(0.1)) / 0.6;
    return -(a * a + b * b) / 2;
}

static truth over_grid(const lth_gp *gp) {
    const lth_gp_param *length = lth_gp_param_at(gp, support_param(gp, "rbf.lengthscale"));
    const lth_gp_param *noise = lth_gp_param_at(gp, LTH_NONE);
    double best = lth_gp_reported(gp)->evidence, sum = 0, at[2], expected[2 * NEW];
    double first[2] = {0}, square[2] = {0}, y1[NEW] = {0}, y2[NEW] = {0};
    for (size_t i = 0; i < GRID * GRID; i++) {
        at[0] = log(length->value) - 2 + 4 * (double)(i / GRID) / (GRID - 1);
        at[1] = log(noise->value) - 2.5 + 5 * (double)(i % GRID) / (GRID - 1);
        double w = exp(ask(exp(at[0]), exp(at[1]), expected) - best + log_prior(at));
        sum += w;
        for (size_t k = 0; k < 2; k++) {
            first[k] += w * at[k];
            square[k] += w * at[k] * at[k];
        }
        for (size_t k = 0; k < NEW; k++) {
            double m = expected[k], v = expected[NEW + k] * expected[NEW + k];
            y1[k] += w * m;
            y2[k] += w * (v + m * m);
        }
    }
    truth t;
    for (size_t k = 0; k < 2; k++) {
        t.mean[k] = first[k] / sum;
        t.sd[k] = sqrt(square[k] / sum - t.mean[k] * t.mean[k]);
    }
    for (size_t k = 0; k < NEW; k++) {
        t.y_mean[k] = y1[k] / sum;
        t.y_sd[k] = sqrt(y2[k] / sum - t.y_mean[k] * t.y_mean[k]);
    }
    return t;
}

/* How far means and deviations are from the truth, on the whole. */
static void distance(const truth *t, const double *p, double *of_means, double *of_sds) {
    *of_means = *of_sds = 0;
    for (size_t k = 0; k < NEW; k++) {
        *of_means += fabs(p[k] - t->y_mean[k]);
        *of_sds += fabs(p[NEW + k] - t->y_sd[k]);
    }
}

static void agrees_with_a_grid(void **state) {
    (void)state;
    lth_gp_options options = asks(true, 0);
    lth_gp *point = fit(kernel, &options);
    truth t = over_grid(point);
    lth_gp_param of[2] = {param_of(point, "rbf.lengthscale"), *lth_gp_param_at(point, LTH_NONE)};
    for (size_t k = 0; k < 2; k++) {
        assert_false(of[k].undetermined);
        assert_true(fabs(log(of[k].low * of[k].high) / 2 - t.mean[k]) < 0.35 * t.sd[k]);
        assert_true(fabs(reach_of(&of[k]) / t.sd[k] - 1) < 0.2);
    }
    double *p = support_predict(point, new_rows, false), of_means, of_sds, means, sds;
    distance(&t, p, &of_means, &of_sds);
    free(p);
    for (size_t count = 8; count <= 64; count *= 8) {
        options = asks(false, count);
        lth_gp *gp = fit(kernel, &options);
        p = support_predict(gp, new_rows, false);
        distance(&t, p, &means, &sds);
        assert_true(means < 0.5 * of_means && sds < 0.5 * of_sds);
        assert_true(count < 64 || (means < 0.1 * of_means && sds < 0.1 * of_sds));
        const lth_gp_report *r = lth_gp_reported(gp);
        assert_int_equal(r->draws, count);
        assert_true(r->effective_draws > 0.8 * (double)count && r->effective_draws < count);
        free(p);
        lth_gp_free(gp);
    }
    lth_gp_free(point);
}

/* ---- The curvature ---- */

static double log_posterior(double length, double noise) {
    double at[2] = {length, noise}, unused[2 * NEW];
    return ask(exp(length), exp(noise), unused) + log_prior(at);
}

static void second_differences(void **state) {
    (void)state;
    lth_gp_options options = asks(true, 0);
    lth_gp *gp = fit(kernel, &options);
    lth_gp_param length = param_of(gp, "rbf.lengthscale"), noise = *lth_gp_param_at(gp, LTH_NONE);
    double a = log(length.value), b = log(noise.value), h = 0.01, f = log_posterior(a, b);
    double aa = (log_posterior(a + h, b) - 2 * f + log_posterior(a - h, b)) / (h * h);
    double bb = (log_posterior(a, b + h) - 2 * f + log_posterior(a, b - h)) / (h * h);
    double ab = (log_posterior(a + h, b + h) - log_posterior(a + h, b - h) -
                 log_posterior(a - h, b + h) + log_posterior(a - h, b - h)) /
                (4 * h * h);
    double determinant = aa * bb - ab * ab;
    support_near(reach_of(&length), sqrt(-bb / determinant), 1e-3);
    support_near(reach_of(&noise), sqrt(-aa / determinant), 1e-3);
    support_near(log(length.low * length.high) / 2, a, 1e-12);
    lth_gp_free(gp);
}

/* ---- Parameters that are not free, or not determined ---- */

static lth_gp_options plain(bool intervals, size_t average) {
    lth_gp_options options = asks(intervals, average);
    options.prior_count = 0;
    return options;
}

static void held_and_tied(void **state) {
    (void)state;
    lth_gp_options options = plain(true, 4);
    lth_gp *gp = fit("rbf(f1, variance=1!, lengthscale=$l) + rbf(f1, lengthscale=$l)", &options);
    lth_gp_param a = param_of(gp, "rbf.lengthscale"), b = param_of(gp, "rbf2.lengthscale");
    lth_gp_param held = param_of(gp, "rbf.variance");
    assert_true(isnan(held.low) && isnan(held.high) && !held.undetermined);
    assert_true(a.low < a.value && a.value < a.high && a.low == b.low && a.high == b.high);
    const struct lth__draws *d = gp->draws;
    size_t first = support_param(gp, "rbf.lengthscale"),
           second = support_param(gp, "rbf2.lengthscale");
    for (size_t i = 0; i < d->count; i++) {
        const double *x = d->value + i * d->params;
        assert_true(x[first] == x[second] && x[first] != a.value);
        assert_true(x[support_param(gp, "rbf.variance")] == 1);
    }
    lth_gp_free(gp);
}

static void at_a_bound(void **state) {
    (void)state;
    lth_gp_options options = plain(true, 4);
    lth_table *before = rows;
    rows = support_table(ctx, "f1\ty\n0\t0\n1\t1\n2\t4\n3\t9\n4\t16\n5\t25\n6\t36\n");
    lth_gp *gp = fit("rbf(f1)", &options); /* without noise */
    bool found = false;
    for (size_t p = 0; lth_gp_param_at(gp, p); p++) {
        const lth_gp_param *of = lth_gp_param_at(gp, p);
        if (!of->at_bound) continue;
        found = true;
        assert_true(isnan(of->low) && isnan(of->high));
        for (size_t i = 0; i < gp->draws->count; i++)
            assert_true(gp->draws->value[i * gp->draws->params + p] == *lth__gp_value(gp, p));
    }
    assert_true(found);
    lth_gp_free(gp);
    lth_table_free(rows);
    rows = before;
}

/* A factor before a variance: only their product is determined. */
static void not_determined(void **state) {
    (void)state;
    lth_gp_options options = plain(true, 0);
    lth_gp *gp = fit("2 * rbf(f1)", &options);
    assert_true(param_of(gp, "rbf.variance").undetermined);
    assert_false(param_of(gp, "rbf.lengthscale").undetermined);
    assert_true(reach_of(&(lth_gp_param){.low = param_of(gp, "rbf.variance").low,
                                         .high = param_of(gp, "rbf.variance").high}) < 3.1);
    lth_gp_free(gp);
}

/* ---- What is averaged ---- */

static void mean_of_models(void **state) {
    (void)state;
    lth_gp_options options = asks(false, 6);
    lth_gp *gp = fit(kernel, &options);
    lth__averaged by;
    lth_error err = {0};
    double *p = support_predict(gp, new_rows, false), mean[NEW] = {0}, square[NEW] = {0};
    support_ok(lth__gp_averaged(gp, &by, &err), &err);
    assert_int_equal(by.count, 6);
    for (size_t i = 0; i < by.count; i++) {
        double *of = support_predict((lth_gp *)lth__averaged_at(&by, i), new_rows, false);
        for (size_t k = 0; k < NEW; k++) {
            mean[k] += by.weight[i] * of[k];
            square[k] += by.weight[i] * (of[NEW + k] * of[NEW + k] + of[k] * of[k]);
        }
        free(of);
    }
    for (size_t k = 0; k < NEW; k++) {
        support_near(p[k], mean[k], 1e-13);
        support_near(p[NEW + k], sqrt(square[k] - mean[k] * mean[k]), 1e-10);
    }
    free(p);
    lth_gp_free(gp);
}

/* What a draw has learned is what a fit at its values has. */
static void draws_are_models(void **state) {
    (void)state;
    lth_gp_options options = asks(false, 4);
    lth_gp *gp = fit(kernel, &options);
    size_t length = support_param(gp, "rbf.lengthscale");
    lth__averaged by;
    lth_error err = {0};
    support_ok(lth__gp_averaged(gp, &by, &err), &err);
    for (size_t i = 0; i < by.count; i++) {
        const lth_gp *model = lth__averaged_at(&by, i);
        double expected[2 * NEW], *of = support_predict((lth_gp *)model, new_rows, false);
        ask(model->kernel->params[length].value, model->own[0], expected);
        for (size_t k = 0; k < 2 * NEW; k++) support_near(of[k], expected[k], 1e-10);
        free(of);
    }
    lth_gp_free(gp);
}

static void labels(void **state) {
    (void)state;
    lth_gp_options options = asks(false, 6);
    lth_gp *gp = fit_labels(&options), *point;
    options.average = 0;
    point = fit_labels(&options);
    lth__averaged by;
    lth_error err = {0};
    double *p = support_classify(gp, new_rows), *of_point = support_classify(point, new_rows);
    double sum[2 * NEW] = {0}, apart = 0;
    support_ok(lth__gp_averaged(gp, &by, &err), &err);
    for (size_t i = 0; i < by.count; i++) {
        double *of = support_classify((lth_gp *)lth__averaged_at(&by, i), new_rows);
        for (size_t k = 0; k < 2 * NEW; k++) sum[k] += by.weight[i] * of[k];
        free(of);
    }
    for (size_t k = 0; k < 2 * NEW; k++) {
        support_near(p[k], sum[k], 1e-13);
        apart += fabs(p[k] - of_point[k]);
    }
    for (size_t k = 0; k < NEW; k++) support_near(p[2 * k] + p[2 * k + 1], 1, 1e-12);
    assert_true(apart > 0.01);
    free(p);
    free(of_point);
    lth_gp_free(gp);
    lth_gp_free(point);
}

/* The quantiles of a mixture are where its share says; its score that of a sum over a grid. */
static void distribution(void **state) {
    (void)state;
    lth_gp_options options = asks(false, 6);
    lth_gp *gp = fit(kernel, &options);
    double mean[NEW], sd[NEW], lower[NEW], upper[NEW], cdf[NEW], density[NEW], crps[NEW];
    lth_error err = {0};
    lth_gp_prediction to = {.mean = mean, .sd = sd, .lower = lower, .upper = upper};
    support_ok(lth_gp_predict_all(gp, new_rows, &to, sizeof to, &err), &err);
    to = (lth_gp_prediction){.y = upper, .cdf = cdf, .log_density = density, .crps = crps};
    support_ok(lth_gp_predict_all(gp, new_rows, &to, sizeof to, &err), &err);
    enum { STEPS = 2000 };
    double at[NEW], share[NEW], sum[NEW] = {0};
    for (size_t i = 0; i < STEPS; i++) {
        for (size_t k = 0; k < NEW; k++)
            at[k] = mean[k] + 8 * sd[k] * (2 * ((double)i + 0.5) / STEPS - 1);
        lth_gp_prediction one = {.y = at, .cdf = share};
        support_ok(lth_gp_predict_all(gp, new_rows, &one, sizeof one, &err), &err);
        for (size_t k = 0; k < NEW; k++) {
            double d = at[k] < upper[k] ? share[k] : 1 - share[k];
            sum[k] += d * d * 16 * sd[k] / STEPS;
        }
    }
    for (size_t k = 0; k < NEW; k++) {
        support_near(cdf[k], 0.975, 1e-12);
        assert_true(lower[k] < mean[k] && mean[k] < upper[k] && isfinite(density[k]));
        support_near(crps[k], sum[k], 5e-3);
    }
    lth_gp_free(gp);
}

/* ---- What stays the same ---- */

static void same_bits(const double *a, const double *b, size_t count) {
    assert_memory_equal(a, b, count * sizeof *a);
}

static void the_best_point_stays(void **state) {
    (void)state;
    lth_gp_options with = asks(false, 6), without = asks(false, 0);
    lth_gp *a = fit(kernel, &with), *b = fit(kernel, &without);
    lth_gp *c = fit_labels(&with), *d = fit_labels(&without);
    assert_true(lth_gp_reported(a)->evidence == lth_gp_reported(b)->evidence);
    assert_true(lth_gp_reported(c)->evidence == lth_gp_reported(d)->evidence);
    for (size_t i = 0; lth_gp_param_at(a, i); i++)
        assert_true(lth_gp_param_at(a, i)->value == lth_gp_param_at(b, i)->value);
    assert_true(isnan(lth_gp_param_at(b, LTH_NONE)->low) && lth_gp_reported(b)->draws == 0);
    lth_gp *all[] = {a, b, c, d};
    for (size_t i = 0; i < 4; i++) lth_gp_free(all[i]);
}

static void any_number_of_threads(void **state) {
    (void)state;
    lth_gp_options options = asks(false, 6);
    lth_ctx *before = ctx;
    double *p[2];
    for (size_t i = 0; i < 2; i++) {
        ctx = support_context(i == 0 ? 1 : 3);
        lth_table *table = rows;
        rows = make_rows(ROWS, 0, 5, 7);
        lth_gp *gp = fit(kernel, &options);
        p[i] = support_predict(gp, new_rows, false);
        lth_gp_free(gp);
        lth_table_free(rows);
        rows = table;
        lth_ctx_free(ctx);
    }
    ctx = before;
    same_bits(p[0], p[1], 2 * NEW);
    free(p[0]);
    free(p[1]);
}

static void from_a_file(void **state) {
    (void)state;
    lth_gp_options options = asks(false, 6);
    for (size_t of_labels = 0; of_labels < 2; of_labels++) {
        lth_gp *gp = of_labels ? fit_labels(&options) : fit(kernel, &options), *again = NULL;
        lth_error err = {0};
        char *path = support_file("", 0);
        double *a =
            of_labels ? support_classify(gp, new_rows) : support_predict(gp, new_rows, false);
        support_ok(lth_gp_save(gp, path, &err), &err);
        support_ok(lth_gp_load(ctx, path, &again, &err), &err);
        double *b =
            of_labels ? support_classify(again, new_rows) : support_predict(again, new_rows, false);
        same_bits(a, b, 2 * NEW);
        assert_int_equal(lth_gp_reported(again)->draws, 6);
        support_near(lth_gp_reported(again)->effective_draws, lth_gp_reported(gp)->effective_draws,
                     1e-12);
        for (size_t i = 0; lth_gp_param_at(gp, i); i++) {
            const lth_gp_param *x = lth_gp_param_at(gp, i), *y = lth_gp_param_at(again, i);
            assert_true((isnan(x->low) && isnan(y->low)) || x->low == y->low);
            assert_true((isnan(x->high) && isnan(y->high)) || x->high == y->high);
        }
        lth_gp_free(gp);
        lth_gp_free(again);
        free(a);
        free(b);
        support_remove(path);
    }
}

static void damaged_files(void **state) {
    (void)state;
    lth_gp_options options = asks(false, 4);
    lth_gp *gp = fit(kernel, &options);
    lth_error err = {0};
    char *path = support_file("", 0);
    support_ok(lth_gp_save(gp, path, &err), &err);
    size_t length = support_param(gp, "rbf.lengthscale");
    const hostile_change changes[] = {
        {.name = "draws", .at = length, .number = -1},
        {.name = "draws", .at = length, .number = NAN},
        {.name = "draws", .shorter = true},
        {.name = "draws.weight", .at = 1, .number = 0.9},
        {.name = "draws.weight", .at = 1, .number = -0.1},
        {.name = "draws.weight", .drop = true},
        {.name = "intervals", .at = 3 * length, .number = 1e9},
        {.name = "intervals", .at = 3 * length, .number = NAN},
        {.name = "intervals", .shorter = true},
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        hostile_refused(ctx, path, &changes[i], hostile_gp);
    remove("hostile");
    lth_gp_free(gp);
    support_remove(path);
}

/* ---- What cannot be ---- */

enum { MOST_TOLD = 1000 };
static size_t steps, last_step, told[MOST_TOLD];

static int stop(void *user, const lth_gp_step *step) {
    (void)user;
    assert_true(steps < MOST_TOLD);
    told[steps] = step->evaluations;
    return ++steps >= last_step;
}

static void interrupted(void **state) {
    (void)state;
    lth_gp_options options = asks(false, 4);
    options.step = stop;
    steps = 0;
    last_step = SIZE_MAX;
    lth_gp_free(fit(kernel, &options));
    size_t all = steps;
    assert_true(all > 4 + 2); /* the draws, and the variables */
    /* Two evaluations for each variable, one for each draw. */
    for (size_t i = all - 6; i < all; i++)
        assert_int_equal(told[i] - told[i - 1], i < all - 4 ? 2 : 1);
    for (last_step = 1; last_step <= all; last_step++) {
        steps = 0;
        lth_gp *gp = fit(kernel, &options);
        assert_true(lth_gp_reported(gp)->interrupted);
        assert_int_equal(lth_gp_reported(gp)->draws, 0);
        double *p = support_predict(gp, new_rows, false);
        assert_true(isfinite(p[0]));
        free(p);
        lth_gp_free(gp);
    }
}

static void constant_target(void **state) {
    (void)state;
    lth_table *table = support_table(ctx, "f1\ty\n1\t2\n2\t2\n3\t2\n"), *before = rows;
    lth_gp_options options = plain(true, 4);
    rows = table;
    lth_gp *gp = fit("rbf(f1)", &options);
    rows = before;
    assert_int_equal(lth_gp_reported(gp)->draws, 0);
    assert_true(isnan(lth_gp_param_at(gp, LTH_NONE)->low));
    double *p = support_predict(gp, table, false);
    support_near(p[0], 2, 1e-12);
    free(p);
    lth_gp_free(gp);
    lth_table_free(table);
}

static void refused(const lth_gp_options *options, const char *why) {
    lth_gp *gp = NULL;
    lth_error err = {0};
    const char *target = "y";
    assert_int_equal(lth_gp_fit(ctx, kernel, rows, &target, 1, options, &gp, &err), LTH_EARG);
    assert_null(gp);
    assert_non_null(strstr(err.message, why));
}

static void does_not_go_together(void **state) {
    (void)state;
    lth_gp_options options = asks(false, 1);
    refused(&options, "2 to 1000");
    options.average = 1001;
    refused(&options, "2 to 1000");
    options.average = 4;
    options.learn = false;
    refused(&options, "nothing is learned");
}

/* A warp has parameters too, and moves the targets. */
static void with_a_warp(void **state) {
    (void)state;
    lth_gp_options options = plain(false, 6);
    options.unscaled = false;
    options.likelihood = LTH_WARPED;
    const char *help;
    for (size_t i = 0; lth_warp_name(i, &help); i++) options.warp = lth_warp_name(i, &help);
    lth_gp *gp = fit(kernel, &options), *again = NULL;
    lth_error err = {0};
    double *p = support_predict(gp, new_rows, false);
    for (size_t k = 0; k < 2 * NEW; k++) assert_true(isfinite(p[k]));
    char *path = support_file("", 0);
    support_ok(lth_gp_save(gp, path, &err), &err);
    support_ok(lth_gp_load(ctx, path, &again, &err), &err);
    double *q = support_predict(again, new_rows, false);
    same_bits(p, q, 2 * NEW);
    free(p);
    free(q);
    support_remove(path);
    lth_gp_free(gp);
    lth_gp_free(again);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_a_grid),    cmocka_unit_test(second_differences),
        cmocka_unit_test(held_and_tied),         cmocka_unit_test(at_a_bound),
        cmocka_unit_test(not_determined),        cmocka_unit_test(mean_of_models),
        cmocka_unit_test(draws_are_models),      cmocka_unit_test(labels),
        cmocka_unit_test(distribution),          cmocka_unit_test(the_best_point_stays),
        cmocka_unit_test(any_number_of_threads), cmocka_unit_test(from_a_file),
        cmocka_unit_test(damaged_files),         cmocka_unit_test(interrupted),
        cmocka_unit_test(constant_target),       cmocka_unit_test(does_not_go_together),
        cmocka_unit_test(with_a_warp),
    };
    return cmocka_run_group_tests(tests, open_tables, close_tables);
}
