/* Inducing rows: the figures that say how well they stand for all, of several latent functions, by
 * dense algebra. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "gp_support.h"
#include "model/gp/gp_classes.h"
#include "model/posterior/inducing.h"

enum { ROWS = 40, FEW = 6 };
static const char of_labels[] = "normalize(ssk(text, order=2, gap=0.6)) + 0.4 * rbf(x)";
static const char of_numbers[] = "normalize(ssk(text, order=2, gap=0.6)) * 0.7 + rbf(f1)";
static lth_ctx *ctx;

static int open_context(void **state) {
    (void)state;
    ctx = support_context(2);
    return 0;
}

static int close_context(void **state) {
    (void)state;
    lth_ctx_free(ctx);
    return 0;
}

static void by_few_rows(lth_gp_options *options) {
    options->posterior = LTH_POSTERIOR_INDUCING;
    options->inducing = FEW;
}

/* The evidence by inducing rows, of a model that still has all rows. */
static lth__inducing_state *solve(lth_gp *gp) {
    lth_error err = {0};
    double evidence;
    gp->posterior->free(gp->solution);
    gp->solution = NULL;
    gp->posterior = &lth__inducing;
    gp->how.inducing = FEW;
    support_ok(gp->posterior->open(gp, &err), &err);
    support_ok(lth__gp_evidence(gp, NULL, &evidence, NULL, &err), &err);
    return gp->solution;
}

/* What the inducing rows leave of each row's variance; returns the sum of these variances. */
static double left_of_rows(const lth_gp *gp, const lth__inducing_state *s, double *left) {
    lth_error err = {0};
    double *phi = malloc(gp->rows * s->m * sizeof *phi), all = 0;
    assert_non_null(phi);
    support_ok(lth__basis_features(s->basis, gp->items, phi, left, &err), &err);
    for (size_t i = 0; i < gp->rows; i++) {
        all += left[i];
        for (size_t k = 0; k < s->m; k++) left[i] -= phi[i * s->m + k] * phi[i * s->m + k];
    }
    free(phi);
    return all;
}

static void numbers(void **state) {
    (void)state;
    lth_table *table = support_rows(ctx, 0, ROWS);
    for (size_t targets = 1; targets <= 3; targets++) {
        lth_gp_options options = support_fixed();
        lth_gp *gp = support_fit(ctx, of_numbers, table, targets, &options);
        by_few_rows(&options);
        lth_gp *few = support_fit(ctx, of_numbers, table, targets, &options);
        double trace_left = lth_gp_reported(few)->trace_left, left[ROWS], sum = 0;
        double to_noise = lth_gp_reported(few)->left_to_noise;
        lth_gp_free(few);
        const lth__inducing_state *s = solve(gp);
        double all = left_of_rows(gp, s, left), unit = 0;
        for (size_t i = 0; i < ROWS; i++) sum += left[i];
        assert_true(sum > 0.01 * all);
        support_near(trace_left, sum / all, 1e-9);
        support_near(to_noise, sum / ROWS / gp->own[0], 1e-9);
        support_near(s->left_to_noise, to_noise, 1e-9);
        /* A unit of jitter is the mean variance of the inducing rows. */
        double *self = malloc(FEW * sizeof *self);
        lth_error err = {0};
        support_ok(lth_gram_diagonal(gp->kernel, s->basis->items, self, &err), &err);
        for (size_t i = 0; i < s->m; i++)
            unit += (lth__gp_scale(gp) * self[i] + gp->mean->variance) / (double)s->m;
        support_near(s->unit, unit, 1e-6);
        free(self);
        lth_gp_free(gp);
    }
    lth_table_free(table);
}

static void classes(void **state) {
    (void)state;
    static const struct {
        const char *target;
        lth_likelihood likelihood;
        size_t latents;
    } cases[] = {{"two", LTH_LOGIT, 1},
                 {"two", LTH_PROBIT, 1},
                 {"three", LTH_LOGIT, 3},
                 {"several", LTH_LOGIT, 2},
                 {"three", LTH_SOFTMAX, 3}};
    lth_table *table = support_labels(ctx, ROWS);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        lth_gp_options options = support_fixed();
        options.likelihood = cases[k].likelihood;
        lth_gp *gp = support_classifier(ctx, of_labels, table, cases[k].target, &options);
        by_few_rows(&options);
        lth_gp *few = support_classifier(ctx, of_labels, table, cases[k].target, &options);
        double to_noise = lth_gp_reported(few)->left_to_noise;
        lth_gp_free(few);
        size_t n = gp->rows;
        double left[ROWS], sum = 0;
        assert_int_equal(gp->latents, cases[k].latents);
        const lth__inducing_state *s = solve(gp);
        left_of_rows(gp, s, left);
        for (size_t t = 0; t < gp->latents; t++) {
            for (size_t i = 0; i < n; i++) sum += s->sites[(2 * t + 1) * n + i] * left[i];
        }
        sum /= (double)(n * gp->latents);
        assert_true(sum > 1e-3);
        support_near(s->left_to_noise, sum, 1e-4 * sum);
        support_near(to_noise, sum, 1e-3 * sum);
        lth_gp_free(gp);
    }
    lth_table_free(table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers),
        cmocka_unit_test(classes),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
