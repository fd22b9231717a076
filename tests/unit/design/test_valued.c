/* What rows are worth: labels, several objectives, feasibility and cost, against formulas over what
 * models predict. */
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
#include "design/acquisition.h"
#include "design/label_value.h"
#include "design/scorer.h"
#include "design_support.h"
#include "gp_support.h"
#include "model/common/special.h"

enum { MEASURED = 30, POOL = 80 };

static lth_ctx *ctx;
static lth_table *measured, *pool;

static int open_all(void **state) {
    (void)state;
    ctx = support_context(2);
    measured = design_rows(ctx, 0, MEASURED);
    pool = design_rows(ctx, MEASURED, POOL);
    return 0;
}

static int close_all(void **state) {
    (void)state;
    lth_table_free(measured);
    lth_table_free(pool);
    lth_ctx_free(ctx);
    return 0;
}

static lth_model *fit(const char *target, lth_likelihood likelihood) {
    return design_fit(ctx, measured, &target, 1, likelihood);
}

static void score(lth_model *const *models, size_t count, const lth_propose_options *o,
                  double *value) {
    lth_error err = {0};
    lth__scorer *s = NULL;
    support_ok(lth__scorer_create(models, count, o, &s, &err), &err);
    support_ok(lth__scorer_rows(s, pool, value, &err), &err);
    lth__scorer_free(s);
}

/* ---- Labels ---- */

static double entropy_of(const double *p, size_t classes) {
    double sum = 0;
    for (size_t c = 0; c < classes; c++) sum -= p[c] > 0 ? p[c] * log(p[c]) : 0;
    return sum;
}

static double margin_of(const double *p, size_t classes) {
    double first = 0, second = 0;
    for (size_t c = 0; c < classes; c++) {
        if (p[c] > first)
            second = first, first = p[c];
        else if (p[c] > second)
            second = p[c];
    }
    return 1 - (first - second);
}

/* As probabilities say; of softmax, where other points are looked at, nearly. */
static void probabilities(void **state) {
    (void)state;
    static const struct {
        const char *target;
        lth_likelihood likelihood;
        double tolerance;
    } kinds[] = {{"label", LTH_LOGIT, 1e-9},
                 {"label", LTH_PROBIT, 1e-9},
                 {"three", LTH_LOGIT, 1e-9},
                 {"three", LTH_SOFTMAX, 0.02}};
    for (size_t k = 0; k < 4; k++) {
        lth_model *model = fit(kinds[k].target, kinds[k].likelihood);
        size_t classes = lth_model_classes(model);
        double *p = support_classify(lth_model_gp(model), pool), value[POOL];
        lth_propose_options o = design_options(1);
        o.acquisition = LTH_ACQUIRE_ENTROPY;
        score(&model, 1, &o, value);
        for (size_t i = 0; i < POOL; i++) {
            if (!isinf(value[i]))
                support_near(value[i], entropy_of(p + i * classes, classes), kinds[k].tolerance);
        }
        o.acquisition = LTH_ACQUIRE_MARGIN;
        score(&model, 1, &o, value);
        for (size_t i = 0; i < POOL; i++) {
            if (!isinf(value[i]))
                support_near(value[i], margin_of(p + i * classes, classes), kinds[k].tolerance);
        }
        free(p);
        lth_model_free(model);
    }
}

/* Several labels a row: the sum over labels. */
static void several_labels(void **state) {
    (void)state;
    lth_model *model = fit("several", LTH_LOGIT);
    double *p = support_classify(lth_model_gp(model), pool), value[POOL];
    lth_propose_options o = design_options(1);
    o.acquisition = LTH_ACQUIRE_ENTROPY;
    score(&model, 1, &o, value);
    for (size_t i = 0; i < POOL; i++) {
        double a[] = {p[2 * i], 1 - p[2 * i]}, b[] = {p[2 * i + 1], 1 - p[2 * i + 1]};
        if (!isinf(value[i])) support_near(value[i], entropy_of(a, 2) + entropy_of(b, 2), 1e-9);
    }
    free(p);
    lth_model_free(model);
}

/* What a label says of f, by many draws of f. */
static double drawn_bald(const lth_gp *gp, size_t classes, const double *mean,
                         const double *variance) {
    enum { DRAWS = 40000 };
    lth__random random;
    lth__random_seed(&random, 17);
    double expected[3] = {0}, within = 0;
    for (int d = 0; d < DRAWS; d++) {
        double p[3], sum = 0;
        bool softmax = lth_gp_likelihood(gp) == LTH_SOFTMAX;
        for (size_t i = 0; i < lth_gp_latents(gp); i++) {
            double f = mean[i] + sqrt(variance[i]) * lth__random_normal(&random);
            p[i] = softmax ? exp(f) : 1 / (1 + exp(-f));
            sum += p[i];
        }
        if (lth_gp_latents(gp) == 1)
            p[1] = 1 - p[0];
        else
            for (size_t i = 0; i < classes; i++) p[i] /= sum;
        for (size_t c = 0; c < classes; c++) expected[c] += p[c] / DRAWS;
        within += entropy_of(p, classes) / DRAWS;
    }
    return entropy_of(expected, classes) - within;
}

static void bald(void **state) {
    (void)state;
    static const struct {
        const char *target;
        lth_likelihood likelihood;
        double tolerance;
    } kinds[] = {
        {"label", LTH_LOGIT, 4e-3}, {"three", LTH_LOGIT, 4e-2}, {"three", LTH_SOFTMAX, 4e-2}};
    for (size_t k = 0; k < 3; k++) {
        lth_model *model = fit(kinds[k].target, kinds[k].likelihood);
        const lth_gp *gp = lth_model_gp(model);
        lth_error err = {0};
        lth__label_rule rule;
        support_ok(lth__label_rule_make(gp, LTH_ACQUIRE_BALD, &rule, &err), &err);
        size_t latents = lth_gp_latents(gp), step = rule.points && k == 2 ? latents + 1 : 1;
        for (double scale = 0.2; scale < 5; scale *= 2) {
            double mean[] = {0.5 * scale, -0.3, 0.1}, variance[] = {scale, 0.5 * scale, 1};
            double spread[9] = {0}, room[32];
            for (size_t i = 0; i < latents; i++) spread[i * step] = variance[i];
            double truth = drawn_bald(gp, lth_model_classes(model), mean, variance);
            support_near(lth__label_value(&rule, mean, spread, 1, room), truth, kinds[k].tolerance);
        }
        double none[9] = {0}, room[32], at[] = {0.4, 1, -1};
        assert_true(lth__label_room(&rule) <= 32);
        support_near(lth__label_value(&rule, at, none, 1, room), 0, 1e-12);
        lth__label_rule_free(&rule);
        lth_model_free(model);
    }
}

/* A batch of labels, with the likeliest class of each; then the class as a number. */
static void labels_proposed(void **state) {
    (void)state;
    lth_model *model = fit("three", LTH_SOFTMAX);
    double *p = support_classify(lth_model_gp(model), pool);
    lth_propose_options o = design_options(8);
    lth_proposals *all = design_propose(&model, 1, pool, &o);
    assert_int_equal(lth_proposals_acquisition(all), LTH_ACQUIRE_BALD);
    assert_int_equal(lth_proposals_batch(all), LTH_BATCH_BELIEVER);
    for (size_t i = 0; i < 8; i++) {
        const lth_proposal *one = lth_proposal_at(all, i);
        size_t best = 0;
        for (size_t c = 1; c < 3; c++) {
            if (p[one->row * 3 + c] > p[one->row * 3 + best]) best = c;
        }
        support_near(one->mean, p[one->row * 3 + best], 1e-9);
        assert_true(isnan(one->sd));
        assert_string_equal(one->label, lth_model_class(model, best));
    }
    lth_proposals_free(all);
    o.objectives = (const char *[]){"high"};
    o.objective_count = 1;
    all = design_propose(&model, 1, pool, &o);
    assert_int_equal(lth_proposals_acquisition(all), LTH_ACQUIRE_LOGEI);
    assert_null(lth_proposal_at(all, 0)->label);
    lth_proposals_free(all);
    lth_model_free(model);
    free(p);
    /* The first of two classes is the second turned round. */
    model = fit("label", LTH_LOGIT);
    o.objectives = (const char *[]){"bad"};
    all = design_propose(&model, 1, pool, &o);
    o.objectives = (const char *[]){"good=min"};
    lth_proposals *same = design_propose(&model, 1, pool, &o);
    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(lth_proposal_at(all, i)->row, lth_proposal_at(same, i)->row);
        support_near(lth_proposal_at(all, i)->mean, -lth_proposal_at(same, i)->mean, 1e-12);
    }
    lth_proposals_free(all);
    lth_proposals_free(same);
    lth_model_free(model);
}

/* ---- Several objectives ---- */

static void weights(void **state) {
    (void)state;
    const char *targets[] = {"y", "z"}, *objectives[] = {"z=min", "y"};
    lth_model *model = design_fit(ctx, measured, targets, 2, LTH_GAUSSIAN);
    double *at = support_predict(lth_model_gp(model), pool, true), value[POOL];
    double *of = support_predict(lth_model_gp(model), measured, true), best = -INFINITY;
    const double w[] = {3, 0.5};
    lth_propose_options o = design_options(5);
    o.objectives = objectives;
    o.objective_count = 2;
    o.weights = w;
    o.acquisition = LTH_ACQUIRE_EI;
    for (size_t i = 0; i < MEASURED; i++) best = fmax(best, 0.5 * of[i] - 3 * of[MEASURED + i]);
    score(&model, 1, &o, value);
    for (size_t i = 0; i < POOL; i++) {
        double sd = hypot(0.5 * at[2 * POOL + i], 3 * at[3 * POOL + i]);
        double mean = 0.5 * at[i] - 3 * at[POOL + i];
        if (!isinf(value[i]))
            support_near(value[i], lth__expected_improvement(mean, sd, best), 1e-9);
    }
    lth_proposals *p = design_propose(&model, 1, pool, &o);
    size_t row = lth_proposal_at(p, 0)->row;
    support_near(lth_proposals_mean(p, 0, 0), at[POOL + row], 1e-9);
    support_near(lth_proposals_mean(p, 0, 1), at[row], 1e-9);
    support_near(lth_proposals_sd(p, 0, 0), at[3 * POOL + row], 1e-9);
    lth_proposals_free(p);
    /* The same of two models. */
    lth_model *two[] = {fit("y", LTH_GAUSSIAN), fit("z", LTH_GAUSSIAN)};
    double again[POOL];
    score(two, 2, &o, again);
    for (size_t i = 0; i < POOL; i++) {
        if (!isinf(value[i])) support_near(again[i], value[i], 1e-9);
    }
    lth_model_free(two[0]);
    lth_model_free(two[1]);
    free(at);
    free(of);
    lth_model_free(model);
}

/* What two functions add to the hypervolume, by draws. */
static double drawn_gain(const double *front, const double *reference, const double *mean,
                         const double *sd) {
    enum { DRAWS = 4000, STEPS = 40 };
    lth__random random;
    lth__random_seed(&random, 23);
    double sum = 0;
    for (int d = 0; d < DRAWS; d++) {
        double y[2] = {mean[0] + sd[0] * lth__random_normal(&random),
                       mean[1] + sd[1] * lth__random_normal(&random)};
        /* Along the first function: how far the second reaches above the front. */
        double from = reference[0], to = y[0], step = (to - from) / STEPS;
        for (int k = 0; k < STEPS && to > from; k++) {
            double x = from + (k + 0.5) * step, height = reference[1];
            for (size_t i = 0; i < MEASURED; i++) {
                if (front[i] >= x) height = fmax(height, front[MEASURED + i]);
            }
            sum += step * fmax(y[1] - height, 0) / DRAWS;
        }
    }
    return sum;
}

static void hypervolume(void **state) {
    (void)state;
    const char *targets[] = {"y", "z"};
    lth_model *model = design_fit(ctx, measured, targets, 2, LTH_GAUSSIAN);
    double *at = support_predict(lth_model_gp(model), pool, true), value[POOL];
    double *of = support_predict(lth_model_gp(model), measured, true);
    double reference[] = {INFINITY, INFINITY}, most = 0;
    for (size_t i = 0; i < 2 * MEASURED; i++)
        reference[i / MEASURED] = fmin(reference[i / MEASURED], of[i]);
    lth_propose_options o = design_options(10);
    o.acquisition = LTH_ACQUIRE_EI;
    score(&model, 1, &o, value);
    for (size_t i = 0; i < POOL; i += 4) {
        double mean[] = {at[i], at[POOL + i]}, sd[] = {at[2 * POOL + i], at[3 * POOL + i]};
        if (isinf(value[i])) continue;
        support_near(value[i], drawn_gain(of, reference, mean, sd), 0.05);
        most = fmax(most, value[i]);
    }
    assert_true(most > 0.1);
    static const struct {
        lth_acquisition acquisition;
        lth_batch batch;
    } ways[] = {{LTH_ACQUIRE_AUTO, LTH_BATCH_AUTO}, {LTH_ACQUIRE_TS, LTH_BATCH_AUTO},
                {LTH_ACQUIRE_UCB, LTH_BATCH_AUTO},  {LTH_ACQUIRE_GREEDY, LTH_BATCH_AUTO},
                {LTH_ACQUIRE_PI, LTH_BATCH_AUTO},   {LTH_ACQUIRE_EI, LTH_BATCH_THOMPSON}};
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        o.acquisition = ways[w].acquisition;
        o.batch = ways[w].batch;
        lth_proposals *p = design_propose(&model, 1, pool, &o);
        assert_int_equal(lth_proposals_count(p), 10);
        /* Less is left to gain with each; of probabilities that need not be. */
        bool falls = lth_proposals_batch(p) == LTH_BATCH_BELIEVER &&
                     lth_proposals_acquisition(p) != LTH_ACQUIRE_PI;
        for (size_t i = 1; i < 10 && falls; i++)
            assert_true(lth_proposal_at(p, i)->acquisition <=
                        lth_proposal_at(p, i - 1)->acquisition + 1e-9);
        lth_proposals_free(p);
    }
    lth_error err = {0};
    lth_proposals *none = NULL;
    o.acquisition = LTH_ACQUIRE_EI;
    o.batch = LTH_BATCH_JOINT;
    assert_int_equal(lth_propose(&model, 1, pool, &o, &none, &err), LTH_EARG);
    o.acquisition = LTH_ACQUIRE_VARIANCE;
    o.batch = LTH_BATCH_AUTO;
    assert_int_equal(lth_propose(&model, 1, pool, &o, &none, &err), LTH_EARG);
    assert_non_null(strstr(err.message, "needs their weights"));
    free(at);
    free(of);
    lth_model_free(model);
}

/* ---- Feasibility and cost ---- */

static void feasible(void **state) {
    (void)state;
    lth_model *model = fit("y", LTH_GAUSSIAN), *labels = fit("three", LTH_LOGIT);
    lth_model *numbers = fit("z", LTH_GAUSSIAN);
    double plain[POOL], value[POOL], *p = support_classify(lth_model_gp(labels), pool);
    lth_propose_options o = design_options(6), by_class = o, by_number = o;
    score(&model, 1, &o, plain);
    by_class.feasible = labels;
    by_class.feasible_class = "low";
    by_class.cost = "cost";
    score(&model, 1, &by_class, value);
    for (size_t i = 0; i < POOL; i++) {
        double cost = (double)(1 + (i + MEASURED) % 3);
        if (!isinf(plain[i])) /* "high", "low", "mid" */
            support_near(value[i], plain[i] + log(p[3 * i + 1]) - log(cost), 1e-9);
    }
    double *z = support_predict(lth_model_gp(numbers), pool, false);
    by_number.feasible = numbers;
    by_number.feasible_least = 0.2;
    by_number.feasible_most = 0.9;
    by_number.acquisition = LTH_ACQUIRE_EI;
    score(&model, 1, &by_number, value);
    for (size_t i = 0; i < POOL; i++) {
        double low = (0.2 - z[i]) / z[POOL + i], high = (0.9 - z[i]) / z[POOL + i];
        if (!isinf(plain[i]))
            support_near(value[i], exp(plain[i]) * (lth__phi(high) - lth__phi(low)), 1e-9);
    }
    for (lth_batch batch = LTH_BATCH_JOINT; batch <= LTH_BATCH_TOP; batch++) {
        by_number.batch = batch;
        lth_proposals *all = design_propose(&model, 1, pool, &by_number);
        for (size_t i = 0; i < 6; i++) {
            const lth_proposal *one = lth_proposal_at(all, i);
            double low = (0.2 - z[one->row]) / z[POOL + one->row];
            double high = (0.9 - z[one->row]) / z[POOL + one->row];
            support_near(one->feasible, lth__phi(high) - lth__phi(low), 1e-9);
        }
        lth_proposals_free(all);
    }
    free(p);
    free(z);
    lth_model_free(model);
    lth_model_free(labels);
    lth_model_free(numbers);
}

/* P(Y = y) of each row, of counts and grades. */
static void add_mass(const lth_model *model, double y, double *sum) {
    lth_error err = {0};
    double at[POOL], log_p[POOL];
    for (size_t i = 0; i < POOL; i++) at[i] = y;
    lth_gp_prediction to = {.y = at, .log_density = log_p};
    support_ok(lth_gp_predict_all(lth_model_gp((lth_model *)model), pool, &to, sizeof to, &err),
               &err);
    for (size_t i = 0; i < POOL; i++) sum[i] += exp(log_p[i]);
}

/* Bounds belong to what is feasible: numbers there have a probability of their own. */
static void feasible_counts(void **state) {
    (void)state;
    static const lth_likelihood kinds[] = {LTH_POISSON, LTH_NEGBINOMIAL, LTH_ORDINAL};
    lth_model *model = fit("y", LTH_GAUSSIAN);
    for (size_t k = 0; k < 3; k++) {
        lth_model *counts = fit("count", kinds[k]);
        double one_or_two[POOL] = {0}, value[POOL], plain[POOL], all[POOL];
        lth_propose_options o = design_options(1);
        o.acquisition = LTH_ACQUIRE_EI;
        score(&model, 1, &o, plain);
        o.feasible = counts;
        o.feasible_least = 1;
        o.feasible_most = 2.5;
        score(&model, 1, &o, value);
        o.feasible_least = 0;
        o.feasible_most = NAN;
        score(&model, 1, &o, all);
        add_mass(counts, 1, one_or_two);
        add_mass(counts, 2, one_or_two);
        for (size_t i = 0; i < POOL; i++) {
            if (isinf(plain[i])) continue;
            support_near(value[i], plain[i] * one_or_two[i], 1e-8);
            support_near(all[i], plain[i], 1e-8);
        }
        o.feasible_least = NAN;
        o.feasible_most = -1;
        score(&model, 1, &o, value);
        for (size_t i = 0; i < POOL; i++) assert_true(isinf(plain[i]) || value[i] == 0);
        lth_model_free(counts);
    }
    lth_model_free(model);
}

/* Other likelihoods, with f in units of their own, in every batch. */
static void other_likelihoods(void **state) {
    (void)state;
    static const lth_likelihood kinds[] = {LTH_STUDENT, LTH_WARPED};
    for (size_t k = 0; k < 2; k++) {
        lth_error err = {0};
        lth_gp *gp = NULL;
        lth_gp_options options = support_fixed();
        const char *target = "y";
        options.likelihood = kinds[k];
        options.warp = kinds[k] == LTH_WARPED ? "sinh" : NULL;
        lth_status status =
            lth_gp_fit(ctx, design_kernel, measured, &target, 1, &options, &gp, &err);
        support_ok(status, &err);
        lth_model *model = lth_gp_model(gp);
        for (lth_batch batch = LTH_BATCH_JOINT; batch <= LTH_BATCH_TOP; batch++) {
            lth_propose_options o = design_options(5);
            o.batch = batch;
            lth_proposals *p = design_propose(&model, 1, pool, &o);
            assert_int_equal(lth_proposals_count(p), 5);
            assert_true(isfinite(lth_proposal_at(p, 4)->acquisition));
            lth_proposals_free(p);
        }
        lth_model_free(model);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(probabilities),
        cmocka_unit_test(several_labels),
        cmocka_unit_test(bald),
        cmocka_unit_test(labels_proposed),
        cmocka_unit_test(weights),
        cmocka_unit_test(hypervolume),
        cmocka_unit_test(feasible),
        cmocka_unit_test(other_likelihoods),
        cmocka_unit_test(feasible_counts),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
