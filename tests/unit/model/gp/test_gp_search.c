/* Learning: what is held stays, what is tied stays tied, and the best point is found again. */
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
#include "model/gp/gp.h"

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

static lth_gp_options quick(void) {
    lth_gp_options options;
    lth_gp_options_init(&options);
    options.restarts = 0;
    options.max_iter = 30;
    return options;
}

static double value_of(const lth_gp *gp, const char *path) {
    return lth_kernel_param(lth_gp_kernel(gp), support_param(gp, path))->value;
}

static lth_gp_param param_of(const lth_gp *gp, const char *path) {
    return *lth_gp_param_at(gp, support_param(gp, path));
}

static double noise_of(const lth_gp *gp) {
    return lth_gp_param_at(gp, LTH_NONE)->value;
}

static double evidence_of(const lth_gp *gp) {
    return lth_gp_reported(gp)->evidence;
}

/* ---- What stays as it is --------------------------------------------------------------------- */

static void not_learned(void **state) {
    (void)state;
    lth_gp_options options = support_fixed();
    options.noise = 0.125;
    lth_gp *gp =
        support_fit(ctx, "rbf(f1, lengthscale=0.3) + ssk(text, order=2)", rows, 1, &options);
    assert_true(value_of(gp, "rbf.lengthscale") == 0.3);
    assert_true(value_of(gp, "rbf.variance") == 1);
    assert_true(value_of(gp, "ssk.gap") == 0.5);
    assert_true(value_of(gp, "ssk.weights[2]") == 1);
    support_near(noise_of(gp), 0.125, 1e-15);
    for (size_t i = 0; i < lth_kernel_params(lth_gp_kernel(gp)); i++)
        assert_true(lth_gp_param_at(gp, i)->start == lth_gp_param_at(gp, i)->value);
    lth_gp_report r = *lth_gp_reported(gp);
    assert_true(r.iterations == 0 && r.evaluations == 0 && r.starts == 0);
    assert_false(r.converged || r.interrupted);
    lth_gp_free(gp);
}

static void no_iterations(void **state) {
    (void)state;
    lth_gp_options options = quick();
    options.max_iter = 0;
    lth_gp *gp = support_fit(ctx, "rbf(f1, lengthscale=0.3)", rows, 1, &options);
    assert_true(value_of(gp, "rbf.lengthscale") == 0.3);
    assert_int_equal(lth_gp_reported(gp)->evaluations, 0);
    lth_gp_free(gp);
}

static const char mixed[] =
    "ssk(text, order=3, gap=0.3, weights=[1,0.5,2]) + rbf(f1, lengthscale=0.4)";

static lth_gp *fit_fixed(const char *kernel, const char *const *fix, size_t count) {
    lth_gp_options options = quick();
    options.fix = fix;
    options.fix_count = count;
    options.noise = 0.1;
    return support_fit(ctx, kernel, rows, 1, &options);
}

static void fix_one(void **state) {
    (void)state;
    const char *const fix[] = {"ssk.gap", "ssk.weights[2]"};
    lth_gp *gp = fit_fixed(mixed, fix, 2);
    assert_true(value_of(gp, "ssk.gap") == 0.3 && value_of(gp, "ssk.weights[2]") == 0.5);
    assert_true(param_of(gp, "ssk.gap").held && param_of(gp, "ssk.weights[2]").held);
    assert_true(value_of(gp, "ssk.weights[1]") != 1 && value_of(gp, "ssk.weights[3]") != 2);
    assert_true(value_of(gp, "rbf.lengthscale") != 0.4);
    assert_true(fabs(noise_of(gp) - 0.1) > 1e-6);
    assert_true(param_of(gp, "rbf.lengthscale").start == 0.4);
    assert_false(param_of(gp, "rbf.lengthscale").held || param_of(gp, "ssk.weights[1]").held);
    lth_gp_free(gp);
}

static void fix_a_group(void **state) {
    (void)state;
    const char *const fix[] = {"ssk.weights"};
    lth_gp *gp = fit_fixed(mixed, fix, 1);
    assert_true(value_of(gp, "ssk.weights[1]") == 1 && value_of(gp, "ssk.weights[2]") == 0.5 &&
                value_of(gp, "ssk.weights[3]") == 2);
    assert_true(param_of(gp, "ssk.weights[3]").held && value_of(gp, "ssk.gap") != 0.3);
    lth_gp_free(gp);
}

static void fix_the_noise(void **state) {
    (void)state;
    const char *const fix[] = {"noise"};
    lth_gp *gp = fit_fixed(mixed, fix, 1);
    support_near(noise_of(gp), 0.1, 1e-14);
    assert_true(lth_gp_param_at(gp, LTH_NONE)->held && value_of(gp, "ssk.gap") != 0.3);
    lth_gp_free(gp);

    lth_gp_options options = quick();
    options.noise = 0.1;
    options.noise_held = true;
    gp = support_fit(ctx, mixed, rows, 1, &options);
    support_near(noise_of(gp), 0.1, 1e-14);
    assert_true(lth_gp_param_at(gp, LTH_NONE)->held);
    lth_gp_free(gp);
}

static void fix_everything(void **state) {
    (void)state;
    const char *const fix[] = {"rbf.variance", "rbf.lengthscale", "noise"};
    lth_gp *gp = fit_fixed("rbf(f1, variance=1.5, lengthscale=0.4)", fix, 3);
    assert_true(value_of(gp, "rbf.lengthscale") == 0.4 && value_of(gp, "rbf.variance") == 1.5);
    assert_int_equal(lth_gp_reported(gp)->evaluations, 0);
    lth_gp_free(gp);
}

/* A value that is not given is not made up either when it is fixed. */
static void fix_a_default(void **state) {
    (void)state;
    const char *const fix[] = {"rbf.lengthscale"};
    lth_gp *gp = fit_fixed("rbf(f2)", fix, 1);
    assert_true(value_of(gp, "rbf.lengthscale") == 1);
    assert_true(value_of(gp, "rbf.variance") != 1);
    lth_gp_free(gp);
}

static void held_and_tied(void **state) {
    (void)state;
    lth_gp_options options = quick();
    lth_gp *gp = support_fit(ctx,
                             "rbf(f1, lengthscale=0.25!) + rbf(f2, variance=$v=0.7) * "
                             "matern32(f1, variance=$v, lengthscale=$v)",
                             rows, 1, &options);
    assert_true(value_of(gp, "rbf.lengthscale") == 0.25 && param_of(gp, "rbf.lengthscale").held);
    double shared = value_of(gp, "rbf2.variance");
    assert_true(fabs(shared - 0.7) > 1e-6);
    assert_true(value_of(gp, "matern32.variance") == shared);
    assert_true(value_of(gp, "matern32.lengthscale") == shared);
    assert_string_equal(param_of(gp, "matern32.variance").tag, "v");
    assert_false(param_of(gp, "matern32.variance").held);
    /* The best point of the three together: moving them all makes it worse. */
    double best = evidence_of(gp), noise = noise_of(gp);
    char kernel[512];
    for (int k = -1; k <= 1; k += 2) {
        double moved = shared * (1 + 0.02 * k);
        snprintf(kernel, sizeof kernel,
                 "rbf(f1, lengthscale=0.25, variance=%.17g) + rbf(f2, variance=%.17g, "
                 "lengthscale=%.17g) * matern32(f1, variance=%.17g, lengthscale=%.17g)",
                 value_of(gp, "rbf.variance"), moved, value_of(gp, "rbf2.lengthscale"), moved,
                 moved);
        lth_gp_options fixed = support_fixed();
        fixed.noise = noise;
        lth_gp *other = support_fit(ctx, kernel, rows, 1, &fixed);
        assert_true(evidence_of(other) < best);
        lth_gp_free(other);
    }
    lth_gp_free(gp);
}

static void held_tie(void **state) {
    (void)state;
    lth_gp_options options = quick();
    lth_gp *gp = support_fit(ctx, "rbf(f1, lengthscale=$l=0.25!) + matern32(f2, lengthscale=$l)",
                             rows, 1, &options);
    assert_true(value_of(gp, "rbf.lengthscale") == 0.25);
    assert_true(value_of(gp, "matern32.lengthscale") == 0.25);
    lth_gp_free(gp);
}

/* Whichever member of a tie is fixed, all are. */
static void fix_a_member(void **state) {
    (void)state;
    const char *const members[] = {"rbf.lengthscale", "matern32.lengthscale"};
    for (size_t k = 0; k < 2; k++) {
        lth_gp *gp = fit_fixed("rbf(f1, lengthscale=$l=0.25) + matern32(f2, lengthscale=$l)",
                               &members[k], 1);
        for (size_t m = 0; m < 2; m++) {
            assert_true(value_of(gp, members[m]) == 0.25);
            assert_true(param_of(gp, members[m]).held);
        }
        lth_gp_free(gp);
    }
}

/* gap ends at 1, a length scale does not: together they end at 1, on either side of the tie. */
static void tied_bounds(void **state) {
    (void)state;
    lth_table *smooth =
        support_table(ctx, "text\tf1\ty\na b\t0\t0\nb c\t1\t1\na c\t2\t2\nb a\t3\t3\n"
                           "c a\t4\t4\nc c\t5\t5\na a\t6\t6\nb b\t7\t7\n");
    const char *const list[] = {"rbf(f1, lengthscale=$l=0.9) + ssk(text, order=2, gap=$l)",
                                "ssk(text, order=2, gap=$l) + rbf(f1, lengthscale=$l=0.9)"};
    for (size_t k = 0; k < 2; k++) {
        lth_gp_options options = quick();
        lth_gp *gp = support_fit(ctx, list[k], smooth, 1, &options);
        assert_true(value_of(gp, "ssk.gap") > 0.9 && value_of(gp, "ssk.gap") <= 1);
        assert_true(value_of(gp, "ssk.gap") == value_of(gp, "rbf.lengthscale"));
        lth_gp_free(gp);
    }
    lth_table_free(smooth);
}

/* ---- Mistakes -------------------------------------------------------------------------------- */

static void check_refused(const char *fix, const char *prior, const char *message) {
    lth_error err = {0};
    lth_gp *gp = NULL;
    lth_gp_options options = quick();
    options.fix = &fix;
    options.fix_count = fix != NULL;
    options.prior = &prior;
    options.prior_count = prior != NULL;
    const char *name = "y";
    assert_int_equal(lth_gp_fit(ctx, mixed, rows, &name, 1, &options, &gp, &err), LTH_EARG);
    assert_string_equal(err.message, message);
    assert_null(gp);
}

static void unknown_paths(void **state) {
    (void)state;
    check_refused("ssk.gpa", NULL,
                  "fix: there is no parameter \"ssk.gpa\"; did you mean \"ssk.gap\"?");
    check_refused("nose", NULL, "fix: there is no parameter \"nose\"; did you mean \"noise\"?");
    check_refused("rbf.lengthscales", NULL,
                  "fix: there is no parameter \"rbf.lengthscales\"; did you mean "
                  "\"rbf.lengthscale\"?");
    check_refused("ssk.weights[4]", NULL,
                  "fix: there is no parameter \"ssk.weights[4]\"; did you mean "
                  "\"ssk.weights[1]\"?");
    check_refused("quite.something.else", NULL,
                  "fix: there is no parameter \"quite.something.else\"");
    check_refused(NULL, "rbf.lenghtscale=1,1",
                  "prior: there is no parameter \"rbf.lenghtscale\"; did you mean "
                  "\"rbf.lengthscale\"?");
    check_refused("", NULL, "fix: there is no parameter \"\"");
}

static void malformed_priors(void **state) {
    (void)state;
    const char *const bad[] = {"ssk.gap",       "ssk.gap=1",     "ssk.gap=1,",    "ssk.gap=,1",
                               "ssk.gap=0,1",   "ssk.gap=1,0",   "ssk.gap=1,x",   "ssk.gap=-1,1",
                               "ssk.gap=1,nan", "ssk.gap=nan,1", "ssk.gap=1,inf", "ssk.gap=inf,1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char message[128];
        snprintf(message, sizeof message, "prior \"%s\" is not PATH=MEDIAN,SD, both positive",
                 bad[i]);
        check_refused(NULL, bad[i], message);
    }
}

/* ---- Priors ---------------------------------------------------------------------------------- */

static lth_gp *fit_prior(const char *kernel, const char *prior) {
    lth_gp_options options = quick();
    options.prior = &prior;
    options.prior_count = prior != NULL;
    return support_fit(ctx, kernel, rows, 1, &options);
}

static void priors_pull(void **state) {
    (void)state;
    lth_gp *free_gp = fit_prior("rbf(f1)", NULL);
    double learned = value_of(free_gp, "rbf.lengthscale"), last = learned;
    const char *const priors[] = {"rbf.lengthscale=50,1", "rbf.lengthscale=50,0.3",
                                  "rbf.lengthscale=50,0.001"};
    for (size_t k = 0; k < 3; k++) { /* the tighter, the nearer to 50 */
        lth_gp *gp = fit_prior("rbf(f1)", priors[k]);
        assert_true(value_of(gp, "rbf.lengthscale") > last - 0.5);
        assert_true(evidence_of(gp) < evidence_of(free_gp));
        last = value_of(gp, "rbf.lengthscale");
        lth_gp_free(gp);
    }
    support_near(last, 50, 0.02);
    /* One that asks for what is so anyway changes nothing. */
    char prior[64];
    snprintf(prior, sizeof prior, "rbf.lengthscale=%.17g,1", learned);
    lth_gp *gp = fit_prior("rbf(f1)", prior);
    support_near(value_of(gp, "rbf.lengthscale"), learned, 0.02);
    lth_gp_free(gp);
    lth_gp_free(free_gp);
}

static void prior_of_noise_and_groups(void **state) {
    (void)state;
    lth_gp *gp = fit_prior("rbf(f1)", "noise=2,0.0001");
    /* The noise of the scaled target. */
    support_near(gp->own[0], 2, 1e-3);
    lth_gp_free(gp);
    gp = fit_prior("ssk(text, order=3)", "ssk.weights=0.5,0.0001");
    for (size_t i = 0; i < 3; i++) {
        char path[32];
        snprintf(path, sizeof path, "ssk.weights[%zu]", i + 1);
        support_near(value_of(gp, path), 0.5, 1e-3);
    }
    lth_gp_free(gp);
    gp = fit_prior("ssk(text, order=2)", "ssk.gap=0.8,0.0001"); /* searched by its logit */
    support_near(value_of(gp, "ssk.gap"), 0.8, 1e-3);
    lth_gp_free(gp);
}

/* A prior may name any member of a tie, and does nothing to what is held. */
static void prior_of_a_member(void **state) {
    (void)state;
    lth_gp *gp = fit_prior("rbf(f1, lengthscale=$l) + matern32(f2, lengthscale=$l)",
                           "matern32.lengthscale=20,0.0001");
    support_near(value_of(gp, "rbf.lengthscale"), 20, 1e-2);
    lth_gp_free(gp);
    gp = fit_prior("rbf(f1, lengthscale=0.5!)", "rbf.lengthscale=20,0.0001");
    assert_true(value_of(gp, "rbf.lengthscale") == 0.5);
    lth_gp_free(gp);
}

/* ---- The search ------------------------------------------------------------------------------ */

/* Evidence of a kernel at its values as given. */
static double evidence_at(const char *kernel, double noise) {
    lth_gp_options options = support_fixed();
    options.noise = noise;
    lth_gp *gp = support_fit(ctx, kernel, rows, 1, &options);
    double evidence = evidence_of(gp);
    lth_gp_free(gp);
    return evidence;
}

static void never_worse_than_the_start(void **state) {
    (void)state;
    const char *const list[] = {
        "rbf(f1, variance=1, lengthscale=0.01)", "rbf(f1, variance=1e-6, lengthscale=100)",
        "matern52(f1..f2, variance=30, lengthscale=1)",
        "ssk(text, order=2, gap=0.01, weights=[3,0.001])",
        "normalize(ssk(text, order=2, gap=0.9, weights=1)) * rbf(f1, variance=1, lengthscale=1)"};
    const size_t iterations[] = {1, 2, 30};
    for (size_t k = 0; k < sizeof list / sizeof *list; k++) {
        double before = evidence_at(list[k], 0.3), last = before;
        for (size_t m = 0; m < 3; m++) {
            lth_gp_options options = quick();
            options.noise = 0.3;
            options.max_iter = iterations[m];
            lth_gp *gp = support_fit(ctx, list[k], rows, 1, &options);
            assert_true(evidence_of(gp) >= last - 1e-9);
            assert_true(lth_gp_reported(gp)->iterations <= iterations[m]);
            last = evidence_of(gp);
            lth_gp_free(gp);
        }
        assert_true(last > before + 0.5);
    }
}

static void one_iteration(void **state) {
    (void)state;
    lth_gp_options options = quick();
    options.max_iter = 1;
    options.restarts = 2;
    lth_gp *gp = support_fit(ctx, "rbf(f1)", rows, 1, &options);
    lth_gp_report r = *lth_gp_reported(gp);
    assert_int_equal(r.starts, 3);
    assert_int_equal(r.iterations, 3); /* one from each */
    assert_false(r.converged || r.interrupted);
    lth_gp_free(gp);
}

/* A start where the search may not go, at the edge of what a kernel may have: the values are
 * allowed ones after all, so that the model's expression can be read again. */
static void values_stay_in_bounds(void **state) {
    (void)state;
    char *vectors = support_vectors();
    const char *const list[] = {"ssk(text, order=1, sim=exp, temperature=100)",
                                "ssk(text, order=1, sim=exp, temperature=0.01)",
                                "ssk(text, order=1, rarity=1e-7)",
                                "ssk(text, order=1, rarity=1000)",
                                "rq(f1, alpha=1e4)",
                                "rq(f1, alpha=1e-3, lengthscale=1e-6)",
                                "rbf(f1, lengthscale=1e6)",
                                "ssk(text, order=2, gap=1)",
                                "ssk(text, order=2, gap=0)",
                                "ssk(text, order=2, weights=[0,1e9])"};
    for (size_t k = 0; k < sizeof list / sizeof *list; k++) {
        for (size_t most = 1; most <= 20; most += 19) {
            lth_gp_options options = quick();
            options.vectors = vectors;
            options.max_iter = most;
            lth_gp *gp = support_fit(ctx, list[k], rows, 1, &options);
            for (size_t i = 0; i < lth_kernel_params(lth_gp_kernel(gp)); i++) {
                lth_param p = *lth_kernel_param(lth_gp_kernel(gp), i);
                if (!(p.value >= p.lo && p.value <= p.hi))
                    fail_msg("%s: %s is %.17g", list[k], p.path, p.value);
            }
            lth_gp_free(gp);
        }
    }
    support_remove(vectors);
}

/* A smooth function without noise: the search ends at the least noise there is. */
static void at_bounds(void **state) {
    (void)state;
    lth_table *table =
        support_table(ctx, "f1\ty\n0\t0\n1\t1\n2\t2\n3\t3\n4\t4\n5\t5\n6\t6\n7\t7\n");
    lth_gp_options options = quick();
    options.max_iter = 200;
    lth_gp *gp = support_fit(ctx, "rbf(f1)", table, 1, &options);
    assert_true(lth_gp_param_at(gp, LTH_NONE)->at_bound);
    support_near(gp->own[0], 1e-6, 1e-12);
    assert_false(param_of(gp, "rbf.variance").at_bound);
    lth_gp_free(gp);
    lth_table_free(table);
}

/* Targets that keep their own scale: the noise found is that of the scaled ones, in their units. */
static void unscaled_noise(void **state) {
    (void)state;
    const char *const w = "w"; /* in the thousands */
    lth_error err = {0};
    lth_gp *scaled = NULL, *plain = NULL;
    lth_gp_options options = quick();
    options.max_iter = 200;
    support_ok(lth_gp_fit(ctx, "rbf(f1)", rows, &w, 1, &options, &scaled, &err), &err);
    options.unscaled = true;
    support_ok(lth_gp_fit(ctx, "rbf(f1)", rows, &w, 1, &options, &plain, &err), &err);
    support_near(evidence_of(plain), evidence_of(scaled), 1e-4);
    support_near(noise_of(plain) / noise_of(scaled), 1, 1e-2);
    lth_gp_free(scaled);
    lth_gp_free(plain);
}

/* ---- Steps ----------------------------------------------------------------------------------- */

typedef struct listener {
    size_t steps, stop_at, starts_seen, last_start;
    double best;
    bool fell;
} listener;

static int listen(void *user, const lth_gp_step *step) {
    listener *l = user;
    l->steps++;
    if (l->steps == 1 || step->start != l->last_start) {
        l->starts_seen++;
        l->last_start = step->start;
        l->best = -INFINITY;
    }
    if (step->evidence < l->best - 1e-9) l->fell = true;
    l->best = step->evidence;
    assert_true(isfinite(step->evidence) && step->gradient >= 0 && step->seconds >= 0);
    assert_true(step->iteration >= 1 && step->evaluations >= l->steps);
    return l->stop_at > 0 && l->steps >= l->stop_at;
}

static void interrupted(void **state) {
    (void)state;
    const size_t stops[] = {1, 3, 14};
    for (size_t k = 0; k < 3; k++) {
        listener l = {.stop_at = stops[k]};
        lth_gp_options options = quick();
        options.restarts = 2;
        options.max_iter = 100;
        options.step = listen;
        options.user = &l;
        lth_gp *gp =
            support_fit(ctx, "rbf(f1) + matern32(f2) + ssk(text, order=2)", rows, 1, &options);
        assert_int_equal(l.steps, stops[k]);
        lth_gp_report r = *lth_gp_reported(gp);
        assert_true(r.interrupted && !r.converged);
        assert_int_equal(r.iterations, stops[k]);
        double *p = support_predict(gp, rows, false);
        for (size_t i = 0; i < 80; i++) assert_true(isfinite(p[i]));
        free(p);
        lth_gp_free(gp);
    }
}

static void every_step_is_told(void **state) {
    (void)state;
    listener l = {0};
    lth_gp_options options = quick();
    options.restarts = 0;
    options.max_iter = 100;
    options.step = listen;
    options.user = &l;
    lth_gp *gp = support_fit(ctx, "rbf(f1)", rows, 1, &options);
    lth_gp_report r = *lth_gp_reported(gp);
    assert_int_equal(l.steps, r.iterations);
    assert_int_equal(l.starts_seen, 1);
    assert_false(l.fell || r.interrupted);
    assert_true(r.converged);
    support_near(l.best, r.evidence, 1e-10); /* in the target's units */
    lth_gp_free(gp);
}

static void restarts(void **state) {
    (void)state;
    const char kernel[] = "rbf(f1) + matern32(f2) + ssk(text, order=2)";
    lth_gp_options options = quick();
    lth_gp *alone = support_fit(ctx, kernel, rows, 1, &options);
    options.restarts = 3;
    double *first = NULL, evidence = 0;
    for (uint64_t seed = 5; seed <= 6; seed++) {
        for (int round = 0; round < 2; round++) {
            lth_ctx *seeded = NULL;
            lth_ctx_options ctx_options;
            lth_ctx_options_init(&ctx_options);
            ctx_options.seed = seed;
            assert_int_equal(lth_ctx_create(&ctx_options, &seeded, NULL), LTH_OK);
            lth_gp *gp = support_fit(seeded, kernel, rows, 1, &options);
            lth_gp_report r = *lth_gp_reported(gp);
            assert_int_equal(r.starts, 4);
            double *p = support_predict(gp, rows, false);
            if (round == 1) {
                assert_memory_equal(p, first, 80 * sizeof *p);
                assert_true(r.evidence == evidence);
                free(first);
                free(p);
            } else {
                first = p;
                evidence = r.evidence;
            }
            lth_gp_free(gp);
            lth_ctx_free(seeded);
        }
    }
    lth_gp_free(alone);
}

/* A start in a hole: beside it, others find the way. */
static void restarts_help(void **state) {
    (void)state;
    const char bad[] = "rbf(f1, variance=1, lengthscale=0.0005)"; /* flat: all rows are strangers */
    lth_gp_options options = quick();
    options.noise = 1e-4;
    lth_gp *alone = support_fit(ctx, bad, rows, 1, &options);
    options.restarts = 8;
    lth_gp *more = support_fit(ctx, bad, rows, 1, &options);
    assert_true(evidence_of(more) >= evidence_of(alone) - 1e-6);
    assert_int_equal(lth_gp_reported(more)->starts, 9);
    lth_gp_free(alone);
    lth_gp_free(more);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(not_learned),
        cmocka_unit_test(no_iterations),
        cmocka_unit_test(fix_one),
        cmocka_unit_test(fix_a_group),
        cmocka_unit_test(fix_the_noise),
        cmocka_unit_test(fix_everything),
        cmocka_unit_test(fix_a_default),
        cmocka_unit_test(held_and_tied),
        cmocka_unit_test(held_tie),
        cmocka_unit_test(fix_a_member),
        cmocka_unit_test(tied_bounds),
        cmocka_unit_test(unknown_paths),
        cmocka_unit_test(malformed_priors),
        cmocka_unit_test(priors_pull),
        cmocka_unit_test(prior_of_noise_and_groups),
        cmocka_unit_test(prior_of_a_member),
        cmocka_unit_test(never_worse_than_the_start),
        cmocka_unit_test(one_iteration),
        cmocka_unit_test(values_stay_in_bounds),
        cmocka_unit_test(at_bounds),
        cmocka_unit_test(unscaled_noise),
        cmocka_unit_test(interrupted),
        cmocka_unit_test(every_step_is_told),
        cmocka_unit_test(restarts),
        cmocka_unit_test(restarts_help),
    };
    return cmocka_run_group_tests(tests, open_table, close_table);
}
