/* Metrics against values worked out by hand, their limits, and shuffled folds. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "luthier.h"

static void near(double got, double wanted) {
    if (!(fabs(got - wanted) <= 1e-14 * (1 + fabs(wanted))))
        fail_msg("%.17g, not %.17g", got, wanted);
}

/* ---- Metrics --------------------------------------------------------------------------------- */

/* Errors 1, 0, -1, 2; y -3 -1 1 3 about 4; means -3.5 -0.5 2.5 1.5 about 3.5. */
static const double y[] = {1, 3, 5, 7};
static const double mean[] = {0, 3, 6, 5};
static const double sd[] = {1, 0.5, 0.5, 2};

static lth_metrics metrics_of(const double *truth, const double *found, const double *by,
                              size_t count) {
    lth_metrics m;
    lth_metrics_of(truth, found, by, count, &m, sizeof m);
    return m;
}

static void worked_out_by_hand(void **state) {
    (void)state;
    lth_metrics m = metrics_of(y, mean, sd, 4);
    assert_int_equal(m.count, 4);
    near(m.mae, 1);
    near(m.rmse, sqrt(1.5));
    near(m.r2, 1 - 6.0 / 20);
    /* Products of the centred 10.5 + 0.5 + 2.5 + 4.5; squares of the means sum to 21. */
    near(m.r, 18 / sqrt(20.0 * 21));
    /* Logarithms of the deviations sum to -log 2; half squares of 1, 0, 2, 1 to 3. */
    near(m.nlpd, 0.5 * log(2 * acos(-1.0)) + (3 - log(2.0)) / 4);
    near(m.coverage, 0.75); /* the third is two deviations away */
}

static void one_row(void **state) {
    (void)state;
    const double deviation = 2;
    lth_metrics m = metrics_of(y, mean, &deviation, 1);
    assert_int_equal(m.count, 1);
    near(m.mae, 1);
    near(m.rmse, 1);
    near(m.nlpd, 0.5 * log(2 * acos(-1.0) * 4) + 1.0 / 8);
    assert_true(m.r == 0 && m.r2 == 0 && m.coverage == 1);
}

/* What is as sure as can be, and right, is covered. */
static void at_the_edge(void **state) {
    (void)state;
    static const double sure[] = {0, 0, 0, 0};
    assert_true(metrics_of(y, y, sure, 4).coverage == 1);
    assert_true(metrics_of(y, mean, sure, 4).coverage == 0.25); /* the second is right */
}

static void no_deviations(void **state) {
    (void)state;
    lth_metrics m = metrics_of(y, mean, NULL, 4);
    assert_true(isnan(m.nlpd) && isnan(m.coverage));
    near(m.mae, 1);
    near(m.rmse, sqrt(1.5));
    near(m.r, 18 / sqrt(20.0 * 21));
    near(m.r2, 0.7);
}

static void no_rows(void **state) {
    (void)state;
    lth_metrics m = metrics_of(NULL, NULL, NULL, 0);
    assert_int_equal(m.count, 0);
    assert_true(isnan(m.nlpd) && isnan(m.mae) && isnan(m.rmse));
    assert_true(isnan(m.r) && isnan(m.r2) && isnan(m.coverage));
}

static void perfect_predictions(void **state) {
    (void)state;
    const double opposite[] = {-0.1, -0.3, -0.5, -0.7};
    lth_metrics m = metrics_of(y, y, sd, 4);
    assert_true(m.mae == 0 && m.rmse == 0 && m.r2 == 1 && m.coverage == 1);
    near(m.r, 1);
    m = metrics_of(y, opposite, sd, 4);
    near(m.r, -1);
    assert_true(m.r >= -1);
}

/* Sums of 0.1 are not exact: a mean taken plainly would make noise of it, and r of that. */
static void constant_sides(void **state) {
    (void)state;
    double constant[7], other[7];
    for (size_t i = 0; i < 7; i++) {
        constant[i] = 0.1;
        other[i] = (double)i;
    }
    lth_metrics m = metrics_of(constant, other, NULL, 7);
    assert_true(m.r == 0 && m.r2 == 0);
    m = metrics_of(other, constant, NULL, 7);
    assert_true(m.r == 0);
    near(m.r2, 1 - (91 - 2 * 0.1 * 21 + 7 * 0.01) / 28);
    m = metrics_of(constant, constant, NULL, 7);
    assert_true(m.r == 0 && m.r2 == 0 && m.rmse == 0);
}

static void edge_of_the_interval(void **state) {
    (void)state;
    const double deviation = 1, zero = 0;
    double inside = 1.95996, outside = -1.95997;
    assert_true(metrics_of(&inside, &zero, &deviation, 1).coverage == 1);
    assert_true(metrics_of(&outside, &zero, &deviation, 1).coverage == 0);
}

/* ---- Folds ----------------------------------------------------------------------------------- */

static void sizes_differ_by_one(void **state) {
    (void)state;
    size_t fold[40];
    for (size_t rows = 0; rows <= 40; rows++)
        for (size_t folds = 1; folds <= 45; folds++) {
            size_t size[45] = {0};
            lth_folds_shuffled(3, rows, folds, fold);
            for (size_t i = 0; i < rows; i++) {
                assert_true(fold[i] < folds);
                size[fold[i]]++;
            }
            for (size_t f = 0; f < folds; f++)
                assert_int_equal(size[f], rows / folds + (f < rows % folds));
        }
}

static void same_seed_same_folds(void **state) {
    (void)state;
    size_t a[100], b[100], c[100], differ = 0, in_order = 0;
    lth_folds_shuffled(1, 100, 10, a);
    lth_folds_shuffled(1, 100, 10, b);
    lth_folds_shuffled(2, 100, 10, c);
    assert_memory_equal(a, b, sizeof a);
    for (size_t i = 0; i < 100; i++) {
        differ += a[i] != c[i];
        in_order += a[i] == i / 10;
    }
    assert_true(differ > 50 && in_order < 50);
}

/* The same on every machine, so that published folds can be had again. */
static void known_folds(void **state) {
    (void)state;
    const size_t wanted[] = {0, 2, 0, 2, 0, 1, 1};
    size_t fold[7];
    lth_folds_shuffled(1, 7, 3, fold);
    assert_memory_equal(fold, wanted, sizeof wanted);
}

/* Each row is in the first of three folds of six rows in a third of all shuffles: 1000 of 3000,
 * with a deviation of 26. */
static void folds_are_even(void **state) {
    (void)state;
    size_t count[6] = {0}, fold[6];
    for (uint64_t seed = 0; seed < 3000; seed++) {
        lth_folds_shuffled(seed, 6, 3, fold);
        for (size_t i = 0; i < 6; i++) count[i] += fold[i] == 0;
    }
    for (size_t i = 0; i < 6; i++) assert_in_range(count[i], 880, 1120);
}

static void no_folds_are_one(void **state) {
    (void)state;
    size_t fold[] = {9, 9, 9};
    lth_folds_shuffled(1, 2, 0, fold);
    assert_true(fold[0] == 0 && fold[1] == 0 && fold[2] == 9);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worked_out_by_hand),
        cmocka_unit_test(one_row),
        cmocka_unit_test(at_the_edge),
        cmocka_unit_test(no_deviations),
        cmocka_unit_test(no_rows),
        cmocka_unit_test(perfect_predictions),
        cmocka_unit_test(constant_sides),
        cmocka_unit_test(edge_of_the_interval),
        cmocka_unit_test(sizes_differ_by_one),
        cmocka_unit_test(same_seed_same_folds),
        cmocka_unit_test(known_folds),
        cmocka_unit_test(folds_are_even),
        cmocka_unit_test(no_folds_are_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
