/* Likelihoods: derivatives against differences, predictions against sums over f, draws against
 * probabilities. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "model/gp/likelihood.h"

static const lth__likelihood *const all[] = {&lth__gaussian, &lth__logit, &lth__probit};
static const double theta[LTH__MOST_OWN] = {0.7};
static const lth__terms terms = {.theta = theta};

static void near(double got, double want, double tolerance) {
    if (fabs(got - want) <= tolerance * (1 + fabs(want))) return;
    print_error("%.17g is not %.17g\n", got, want);
    fail();
}

static void derivatives(void **state) {
    (void)state;
    const double h = 1e-4;
    for (size_t k = 0; k < 3; k++) {
        for (double f = -5.9; f < 5.9; f += 0.9) {
            double y = all[k]->of == LTH__OF_LABELS ? (f < -2 || f > 4 ? 1 : -1) : 0.4;
            lth__log_p at = all[k]->at(&terms, y, f);
            lth__log_p up = all[k]->at(&terms, y, f + h), down = all[k]->at(&terms, y, f - h);
            near(at.d1, (up.value - down.value) / (2 * h), 1e-6);
            near(at.d2, (up.d1 - down.d1) / (2 * h), 1e-6);
            near(at.d3, (up.d2 - down.d2) / (2 * h), 1e-6);
        }
    }
}

/* Of both labels together, and over all numbers, probabilities are 1. */
static void sums_to_one(void **state) {
    (void)state;
    for (double f = -5; f <= 5; f += 1.25) {
        for (size_t k = 1; k < 3; k++)
            near(exp(all[k]->at(&terms, 1, f).value) + exp(all[k]->at(&terms, -1, f).value), 1,
                 1e-14);
        double sum = 0;
        for (double y = f - 12; y < f + 12; y += 1e-3)
            sum += 1e-3 * exp(lth__gaussian.at(&terms, y, f).value);
        near(sum, 1, 1e-9);
    }
}

static void predictions(void **state) {
    (void)state;
    double mean = 2, variance = 0.5;
    lth__gaussian.moments_under(&terms, &mean, &variance);
    assert_true(mean == 2 && variance == 0.5 + theta[0]);
    for (size_t k = 1; k < 3; k++) {
        double sum = 0, weight = 0;
        for (double z = -9; z <= 9; z += 1e-3) {
            double w = exp(-0.5 * z * z);
            sum += w * exp(all[k]->at(&terms, 1, 0.6 + 1.5 * z).value);
            weight += w;
        }
        near(all[k]->probability(&terms, 0.6, 2.25), sum / weight, 1e-6);
    }
}

static void draws(void **state) {
    (void)state;
    enum { DRAWS = 40000 };
    lth__random random;
    lth__random_seed(&random, 1);
    for (size_t k = 0; k < 3; k++) {
        double f = 0.8, sum = 0, square = 0;
        for (size_t i = 0; i < DRAWS; i++) {
            double y = all[k]->draw(&terms, f, &random);
            sum += y / DRAWS;
            square += y * y / DRAWS;
        }
        double mean = f, variance = 0;
        if (all[k]->of == LTH__OF_LABELS)
            mean = 2 * all[k]->probability(&terms, f, 0) - 1, variance = 1 - mean * mean;
        else
            all[k]->moments_under(&terms, &mean, &variance);
        assert_true(fabs(sum - mean) < 5 * sqrt(variance / DRAWS));
        assert_true(fabs(square - sum * sum - variance) < 0.03);
    }
}

static void by_name(void **state) {
    (void)state;
    for (size_t k = 0; k < 3; k++) assert_ptr_equal(lth__likelihood_find(all[k]->name), all[k]);
    assert_null(lth__likelihood_find("logi"));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(derivatives), cmocka_unit_test(sums_to_one),
                                       cmocka_unit_test(predictions), cmocka_unit_test(draws),
                                       cmocka_unit_test(by_name)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
