/* Likelihoods of labels, rows with what is known of them, and the list: derivatives against
 * differences, predictions against sums over f, draws against probabilities. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/likelihood/likelihood.h"

static const lth__likelihood *const all[] = {&lth__gaussian, &lth__logit, &lth__probit};
static const double theta[] = {0.7};
static const lth__terms terms = {.theta = theta, .lower = -INFINITY, .upper = INFINITY};

static void near(double got, double want, double tolerance) {
    if (!(fabs(got - want) <= tolerance * (1 + fabs(want))))
        fail_msg("%.17g is not %.17g", got, want);
}

static void derivatives(void **state) {
    (void)state;
    const double h = 1e-4;
    for (size_t k = 0; k < 3; k++) {
        for (double f = -8.6; f < 8.6; f += 0.9) {
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

/* ---- The list ---- */

static void by_name(void **state) {
    (void)state;
    for (size_t k = 0; k < 3; k++) assert_ptr_equal(lth__likelihood_find(all[k]->name), all[k]);
    assert_null(lth__likelihood_find("logi"));
    for (int k = LTH_LOGIT; k <= LTH_BETA; k++) {
        const lth__likelihood *l = lth__likelihood_of((lth_likelihood)k, true);
        assert_non_null(l);
        assert_ptr_equal(lth__likelihood_find(l->name), l);
        assert_int_equal(lth__likelihood_number(l), k);
        assert_string_equal(lth_likelihood_name((lth_likelihood)k), l->name);
    }
    assert_ptr_equal(lth__likelihood_of(LTH_LOGIT, false), &lth__gaussian);
    assert_null(lth_likelihood_name((lth_likelihood)1000));
}

static void params_by_grade(void **state) {
    (void)state;
    lth__own_param list[LTH__MOST_OWN];
    assert_int_equal(lth__likelihood_list(&lth__ordinal, 2, list), 0);
    assert_int_equal(lth__likelihood_list(&lth__ordinal, 5, list), 3);
    assert_string_equal(list[0].path, "gap[1]");
    assert_string_equal(list[2].path, "gap[3]");
    assert_int_equal(lth__likelihood_list(&lth__ordinal, LTH__MOST_GRADES, list), 98);
    assert_int_equal(lth__likelihood_list(&lth__student, 0, list), 2);
    assert_string_equal(list[1].path, "dof");
    assert_int_equal(lth__likelihood_list(&lth__poisson, 0, list), 0);
}

/* ---- Rows ---- */

static const double y[] = {3, 0.5}, offset[] = {0.2, -1}, ratio[] = {2, 0.25}, added[] = {0.3, 0},
                    weight[] = {0.5, 3};

/* Noise theta[0] * ratio + added * unit, log p so often as the weight says, at f + link + offset.
 */
static void rows_are_seen(void **state) {
    (void)state;
    const double numbers[] = {0.7, 5};
    lth__seen s = {.likelihood = &lth__student,
                   .terms = {.theta = numbers, .lower = -INFINITY, .upper = INFINITY},
                   .params = 2,
                   .link = 0.4,
                   .y = y,
                   .offset = offset,
                   .ratio = ratio,
                   .added = added,
                   .added_unit = 0.1,
                   .weight = weight};
    for (size_t row = 0; row < 2; row++) {
        double own[] = {0.7 * ratio[row] + 0.1 * added[row], 5}, f = 0.9;
        lth__terms direct = {.theta = own, .lower = -INFINITY, .upper = INFINITY};
        lth__log_p got = lth__seen_at(&s, row, f);
        lth__log_p want = lth__student.at(&direct, y[row], f + 0.4 + offset[row]);
        near(got.value, weight[row] * want.value, 1e-14);
        near(got.d1, weight[row] * want.d1, 1e-14);
        near(got.d2, weight[row] * want.d2, 1e-14);
        near(got.d3, weight[row] * want.d3, 1e-14);
        s.weight = NULL;
        near(lth__seen_at(&s, row, f).value, want.value, 1e-14);
        s.weight = weight;
    }
}

static void check_params(lth__seen *s, double *by, size_t row, double f) {
    lth__log_p got[LTH__MOST_OWN];
    lth__seen_by_params(s, row, f, got);
    for (size_t j = 0; j < s->params; j++) {
        double at = by[j], h = 1e-5 * at;
        by[j] = at + h;
        lth__log_p up = lth__seen_at(s, row, f);
        by[j] = at - h;
        lth__log_p down = lth__seen_at(s, row, f);
        by[j] = at;
        near(got[j].value, (up.value - down.value) / (2 * h), 1e-6);
        near(got[j].d1, (up.d1 - down.d1) / (2 * h), 1e-6);
        near(got[j].d2, (up.d2 - down.d2) / (2 * h), 1e-6);
    }
}

static void rows_by_params(void **state) {
    (void)state;
    const lth__likelihood *const of[] = {&lth__gaussian, &lth__censored, &lth__student};
    for (size_t k = 0; k < 12; k++) {
        double numbers[] = {0.7, 5};
        lth__seen s = {.likelihood = of[k % 3],
                       .terms = {.theta = numbers, .lower = -1, .upper = 2.5},
                       .params = of[k % 3] == &lth__student ? 2 : 1,
                       .y = y,
                       .offset = offset,
                       .added_unit = 0.1,
                       .weight = weight};
        if (k / 3 & 1) s.ratio = ratio;
        if (k / 3 & 2) s.added = added;
        for (size_t row = 0; row < 2; row++) check_params(&s, numbers, row, 0.9);
    }
}

/* A likelihood without noise leaves ratio and added alone. */
static void rows_without_noise(void **state) {
    (void)state;
    double dispersion[] = {0.5};
    const double counts[] = {3, 0};
    lth__seen s = {.likelihood = &lth__negbinomial,
                   .terms = {.theta = dispersion, .lower = -INFINITY, .upper = INFINITY},
                   .params = 1,
                   .y = counts,
                   .offset = offset,
                   .ratio = ratio,
                   .added = added,
                   .added_unit = 1,
                   .weight = weight};
    for (size_t row = 0; row < 2; row++) {
        lth__log_p want = lth__negbinomial.at(&s.terms, counts[row], 0.3 + offset[row]);
        near(lth__seen_at(&s, row, 0.3).value, weight[row] * want.value, 1e-14);
        s.ratio = NULL;
        check_params(&s, dispersion, row, 0.3);
        s.ratio = ratio;
    }
}

/* ---- Expectations ---- */

static void expectations(void **state) {
    (void)state;
    const lth__likelihood *const of[] = {&lth__student, &lth__ordinal, &lth__negbinomial};
    const double targets[] = {2}, h = 1e-5;
    for (size_t k = 0; k < 3; k++) {
        double numbers[] = {0.7, 5};
        lth__seen s = {.likelihood = of[k],
                       .terms = {numbers, -INFINITY, INFINITY, 4},
                       .params = of[k] == &lth__negbinomial ? 1 : 2,
                       .y = targets};
        double mean = 0.6, variance = 0.3, sum = 0, by[2] = {0};
        for (double z = -9; z <= 9; z += 1e-3)
            sum += 1e-3 * exp(-0.5 * z * z) / sqrt(2 * M_PI) *
                   lth__seen_at(&s, 0, mean + sqrt(variance) * z).value;
        lth__expected e = lth__seen_expect(&s, 0, mean, variance);
        near(e.value, sum, 1e-6);
        near(e.by_mean,
             (lth__seen_expect(&s, 0, mean + h, variance).value -
              lth__seen_expect(&s, 0, mean - h, variance).value) /
                 (2 * h),
             1e-7);
        near(e.by_variance,
             (lth__seen_expect(&s, 0, mean, variance + h).value -
              lth__seen_expect(&s, 0, mean, variance - h).value) /
                 (2 * h),
             1e-7);
        lth__expected right = lth__seen_expect(&s, 0, mean + h, variance);
        lth__expected left = lth__seen_expect(&s, 0, mean - h, variance);
        lth__expected wide = lth__seen_expect(&s, 0, mean, variance + h);
        lth__expected narrow = lth__seen_expect(&s, 0, mean, variance - h);
        near(e.by_mean_2, (right.by_mean - left.by_mean) / (2 * h), 1e-7);
        near(e.by_both, (wide.by_mean - narrow.by_mean) / (2 * h), 1e-7);
        near(e.by_both, (right.by_variance - left.by_variance) / (2 * h), 1e-7);
        near(e.by_variance_2, (wide.by_variance - narrow.by_variance) / (2 * h), 1e-7);
        lth__seen_expect_params(&s, 0, mean, variance, by);
        for (size_t j = 0; j < s.params; j++) {
            numbers[j] += h;
            double up = lth__seen_expect(&s, 0, mean, variance).value;
            numbers[j] -= 2 * h;
            double down = lth__seen_expect(&s, 0, mean, variance).value;
            numbers[j] += h;
            near(by[j], (up - down) / (2 * h), 1e-7);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(derivatives),
                                       cmocka_unit_test(sums_to_one),
                                       cmocka_unit_test(predictions),
                                       cmocka_unit_test(draws),
                                       cmocka_unit_test(by_name),
                                       cmocka_unit_test(params_by_grade),
                                       cmocka_unit_test(rows_are_seen),
                                       cmocka_unit_test(rows_by_params),
                                       cmocka_unit_test(rows_without_noise),
                                       cmocka_unit_test(expectations)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
