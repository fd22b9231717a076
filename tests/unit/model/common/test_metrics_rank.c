/* Metrics of orders, distributions and grades: by hand, and against their definitions pair by pair.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "failing_allocator.h"
#include "gp_support.h"
#include "model/common/metrics.h"

enum { MOST = 97 };

static lth_metrics metrics_of(const double *y, const double *point, const double *sd,
                              size_t count) {
    lth_metrics m;
    lth_metrics_of(y, point, sd, count, &m, sizeof m);
    return m;
}

/* ---- Definitions ---- */

static double rank_by_pairs(const double *x, size_t n, size_t i) {
    double below = 0, equal = 0;
    for (size_t j = 0; j < n; j++) below += x[j] < x[i], equal += x[j] == x[i];
    return below + (equal + 1) / 2;
}

static double spearman_by_pairs(const double *y, const double *p, size_t n) {
    double a[MOST], b[MOST];
    for (size_t i = 0; i < n; i++) a[i] = rank_by_pairs(y, n, i), b[i] = rank_by_pairs(p, n, i);
    return metrics_of(a, b, NULL, n).r;
}

static double sign(double x) {
    return (x > 0) - (x < 0);
}

static double kendall_by_pairs(const double *y, const double *p, size_t n) {
    double both = 0, yy = 0, pp = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < i; j++) {
            double a = sign(y[i] - y[j]), b = sign(p[i] - p[j]);
            both += a * b;
            yy += a * a;
            pp += b * b;
        }
    }
    return yy == 0 || pp == 0 ? 0 : both / sqrt(yy * pp);
}

/* Of what row i has on average over all orders of its equals: worth[0], worth[1], ... by place. */
static double expected_worth(const double *p, size_t n, size_t i, const double *worth) {
    size_t above = 0, equal = 0;
    for (size_t j = 0; j < n; j++) above += p[j] > p[i], equal += p[j] == p[i];
    double sum = 0;
    for (size_t k = above; k < above + equal; k++) sum += worth[k];
    return sum / (double)equal;
}

static void top_by_pairs(const double *y, const double *p, size_t n, double *ndcg, double *recall) {
    size_t top = n < 10 ? 1 : n / 10;
    double worth[MOST] = {0}, place[MOST] = {0}, least = y[0], found = 0, ideal = 0, hits = 0;
    for (size_t k = 0; k < top; k++) worth[k] = log(2) / log((double)k + 2), place[k] = 1;
    for (size_t i = 1; i < n; i++) least = fmin(least, y[i]);
    for (size_t i = 0; i < n; i++) {
        size_t above = 0;
        for (size_t j = 0; j < n; j++) above += y[j] > y[i];
        found += (y[i] - least) * expected_worth(p, n, i, worth);
        ideal += (y[i] - least) * expected_worth(y, n, i, worth);
        if (above < top) hits += expected_worth(p, n, i, place);
    }
    *ndcg = found / ideal;
    *recall = hits / (double)top;
}

/* Counts of both raters' grades, and the squares of their distances. */
static double kappa_by_counts(const double *a, const double *b, size_t n) {
    enum { GRADES = 32 };
    double seen = 0, expected = 0, of_a[GRADES] = {0}, of_b[GRADES] = {0};
    for (size_t i = 0; i < n; i++) {
        seen += (a[i] - b[i]) * (a[i] - b[i]);
        of_a[(int)a[i] + GRADES / 2]++;
        of_b[(int)b[i] + GRADES / 2]++;
    }
    for (int g = 0; g < GRADES; g++)
        for (int h = 0; h < GRADES; h++) expected += (g - h) * (g - h) * of_a[g] * of_b[h];
    return 1 - seen / (expected / (double)n);
}

/* The integral of (Phi - step)^2 on one side of the step, by the midpoint rule. */
static double crps_beside(double from, double to, double mean, double sd, double step) {
    enum { STEPS = 100000 };
    double width = (to - from) / STEPS, sum = 0;
    for (int i = 0; i < STEPS; i++) {
        double x = from + (i + 0.5) * width, off = 0.5 * erfc((mean - x) / sd / sqrt(2)) - step;
        sum += off * off * width;
    }
    return sum;
}

static double crps_by_sums(double y, double mean, double sd) {
    double from = fmin(y, mean) - 12 * sd, to = fmax(y, mean) + 12 * sd;
    return crps_beside(from, y, mean, sd, 0) + crps_beside(y, to, mean, sd, 1);
}

static double calibration_by_levels(const double *y, const double *p, const double *sd, size_t n) {
    double sum = 0;
    for (int level = 5; level < 100; level += 5) {
        double inside = 0;
        for (size_t i = 0; i < n; i++)
            inside += erf(fabs(y[i] - p[i]) / sd[i] / sqrt(2)) <= level / 100.0;
        sum += fabs(inside / (double)n - level / 100.0);
    }
    return sum / 19;
}

/* ---- Against them ---- */

static uint64_t state_of_dice = 1;

static double dice(double sides) {
    state_of_dice = state_of_dice * 6364136223846793005u + 1442695040888963407u;
    return floor((double)(state_of_dice >> 33) / 2147483648.0 * sides);
}

/* Few sides make many ties, of one side or of both. */
static void as_they_are_defined(void **state) {
    (void)state;
    static const double sides[] = {2, 3, 7, 20, 1e6};
    for (size_t trial = 0; trial < 400; trial++) {
        size_t n = 2 + (size_t)dice(MOST - 1);
        double y[MOST], p[MOST], sd[MOST], of_y = sides[(size_t)dice(5)], ndcg, recall;
        double of_p = sides[(size_t)dice(5)], pull = dice(3);
        for (size_t i = 0; i < n; i++) {
            y[i] = dice(of_y) - floor(of_y / 2);
            p[i] = floor(pull * y[i] / 2) + dice(of_p) + (dice(2) > 0 ? 0.5 : 0);
            sd[i] = 0.1 + dice(100) / 10;
        }
        lth_metrics m = metrics_of(y, p, sd, n);
        support_near(m.spearman, spearman_by_pairs(y, p, n), 1e-12);
        support_near(m.kendall, kendall_by_pairs(y, p, n), 1e-12);
        top_by_pairs(y, p, n, &ndcg, &recall);
        if (isnan(ndcg)) {
            assert_true(isnan(m.ndcg) && isnan(m.recall));
        } else {
            support_near(m.ndcg, ndcg, 1e-12);
            support_near(m.recall, recall, 1e-12);
        }
        support_near(m.calibration, calibration_by_levels(y, p, sd, n), 1e-12);
    }
}

static void kappa_of_grades(void **state) {
    (void)state;
    for (size_t trial = 0; trial < 100; trial++) {
        size_t n = 2 + (size_t)dice(MOST - 1);
        double y[MOST], p[MOST], rounded[MOST];
        for (size_t i = 0; i < n; i++) { /* every second grade; -6 and 6 do occur */
            y[i] = i < 2 ? (i ? 6 : -6) : 2 * dice(7) - 6;
            p[i] = y[i] + dice(9) - 4 + 0.25;
        }
        bool seen[13] = {0};
        for (size_t i = 0; i < n; i++) seen[(int)y[i] + 6] = true;
        for (size_t i = 0; i < n; i++) {
            rounded[i] = -6;
            for (int g = -6; g <= 6; g++)
                if (seen[g + 6] && fabs(g - p[i]) <= fabs(rounded[i] - p[i])) rounded[i] = g;
        }
        support_near(metrics_of(y, p, NULL, n).qwk, kappa_by_counts(y, rounded, n), 1e-12);
    }
}

static void scores_of_normal_distributions(void **state) {
    (void)state;
    const double y[] = {0, 1, -2, 7.5}, mean[] = {0, 0.5, 1, -3}, sd[] = {1, 0.3, 2, 4};
    double sum = 0;
    for (size_t i = 0; i < 4; i++) {
        double wanted = crps_by_sums(y[i], mean[i], sd[i]);
        support_near(metrics_of(y + i, mean + i, sd + i, 1).crps, wanted, 1e-7);
        sum += wanted;
    }
    support_near(metrics_of(y, mean, sd, 4).crps, sum / 4, 1e-7);
    support_near(metrics_of(y, mean, sd, 1).crps, (sqrt(2) - 1) / sqrt(acos(-1.0)), 1e-14);
}

/* ---- By hand ---- */

static void five_rows(void **state) {
    (void)state;
    /* Predictions rank 1 2 3.5 3.5 5. Of 10 pairs one is tied, one is wrong: (2, 1). */
    const double y[] = {2, 1, 3, 4, 5}, point[] = {10, 20, 30, 30, 40};
    lth_metrics m = metrics_of(y, point, NULL, 5);
    support_near(m.spearman, 8.5 / sqrt(10 * 9.5), 1e-14);
    support_near(m.kendall, (8 - 1) / sqrt(10 * 9), 1e-14);
    assert_true(m.ndcg == 1 && m.recall == 1); /* the best row is the first one */
    /* 10 .. 40 are all nearest to grade 5: nothing is told apart. */
    support_near(m.qwk, 0, 1e-14);
    assert_true(isnan(m.crps) && isnan(m.calibration));
}

static void twenty_rows(void **state) {
    (void)state;
    double y[20], point[20];
    for (size_t i = 0; i < 20; i++) y[i] = (double)i - 7, point[i] = (double)i;
    point[19] = 17; /* the best three by prediction: 18, and then 17 and 19 for one place */
    lth_metrics m = metrics_of(y, point, NULL, 20);
    support_near(m.ndcg, (18 + 18 / log2(3)) / (19 + 18 / log2(3)), 1e-14);
    support_near(m.recall, 0.75, 1e-14);
}

static void one_row(void **state) {
    (void)state;
    const double y = 3, point = 4, sd = 1;
    lth_metrics m = metrics_of(&y, &point, &sd, 1);
    assert_true(m.spearman == 0 && m.kendall == 0 && isnan(m.ndcg) && isnan(m.recall));
    assert_true(isnan(m.qwk)); /* one grade alone */
    /* Of the levels from .70 on the interval has y (erf(1 / sqrt 2) = .683), below it does not. */
    double sum = 0;
    for (int level = 5; level < 100; level += 5) sum += level < 70 ? level : 100 - level;
    support_near(m.calibration, sum / 1900, 1e-14);
}

static void constant_sides(void **state) {
    (void)state;
    const double rising[] = {1, 2, 3, 4}, same[] = {2, 2, 2, 2};
    lth_metrics m = metrics_of(rising, same, NULL, 4);
    assert_true(m.spearman == 0 && m.kendall == 0 && m.qwk == 0);
    support_near(m.ndcg, 1.5 / 3, 1e-14); /* what any order has on average */
    support_near(m.recall, 0.25, 1e-14);
    m = metrics_of(same, rising, NULL, 4);
    assert_true(m.spearman == 0 && m.kendall == 0 && isnan(m.ndcg) && isnan(m.recall));
    m = metrics_of(rising, rising, NULL, 4);
    assert_true(m.spearman == 1 && m.kendall == 1 && m.ndcg == 1 && m.recall == 1 && m.qwk == 1);
    const double falling[] = {-1, -2, -3, -4};
    m = metrics_of(rising, falling, NULL, 4);
    assert_true(m.spearman == -1 && m.kendall == -1 && m.ndcg == 0 && m.recall == 0);
}

/* Where many rows are equally good, each of them will do. */
static void perfect_with_ties(void **state) {
    (void)state;
    double y[40];
    for (size_t i = 0; i < 40; i++) y[i] = i % 2 ? 5 : 1;
    lth_metrics m = metrics_of(y, y, NULL, 40);
    assert_true(m.recall == 1 && m.spearman == 1 && m.kendall == 1);
    support_near(m.ndcg, 1, 1e-15);
}

static void grades_or_not(void **state) {
    (void)state;
    double y[101], half[] = {1, 2, 2.5}, huge[] = {1, 2, INFINITY};
    for (size_t i = 0; i < 101; i++) y[i] = (double)i;
    assert_true(metrics_of(y, y, NULL, 100).qwk == 1);
    assert_true(isnan(metrics_of(y, y, NULL, 101).qwk));
    assert_true(isnan(metrics_of(half, half, NULL, 3).qwk));
    assert_true(isnan(metrics_of(huge, huge, NULL, 3).qwk));
}

static void what_is_not_a_number(void **state) {
    (void)state;
    const double y[] = {1, 2, 3}, point[] = {1, NAN, 3}, sd[] = {1, NAN, 1}, zero[] = {0, 0, 0};
    lth_metrics m = metrics_of(y, point, NULL, 3);
    assert_true(isnan(m.spearman) && isnan(m.kendall) && isnan(m.ndcg) && isnan(m.recall));
    assert_true(isnan(m.qwk));
    m = metrics_of(y, y, sd, 3);
    assert_true(m.spearman == 1 && isnan(m.crps) && isnan(m.calibration));
    const double off[] = {1, 4, 3};
    m = metrics_of(y, off, zero, 3); /* all of it in one place: the absolute error */
    support_near(m.crps, 2 / 3.0, 1e-15);
    assert_true(isfinite(m.calibration));
    m = metrics_of(NULL, NULL, NULL, 0);
    assert_true(isnan(m.spearman) && isnan(m.kendall) && isnan(m.ndcg) && isnan(m.recall));
    assert_true(isnan(m.qwk) && isnan(m.crps) && isnan(m.calibration));
}

/* ---- Other distributions ---- */

static void given_distributions(void **state) {
    (void)state;
    const double y[] = {1, 2, 3, 4}, log_density[] = {-1, -2, -3, -4}, crps[] = {1, 1, 2, 2};
    const double cdf[] = {0.5, 0.01, 0.99, 0.75}, lower[] = {0, 3, 3, 3}, upper[] = {2, 4, 3, 3.5};
    const double sd[] = {1, 1, 1, 1};
    lth__predicted p = {.count = 4, .y = y, .point = y, .log_density = log_density};
    lth_metrics m = lth__metrics_of(&p);
    assert_true(m.nlpd == 2.5 && isnan(m.crps) && isnan(m.coverage) && isnan(m.calibration));
    p.crps = crps, p.lower = lower;
    m = lth__metrics_of(&p);
    assert_true(m.crps == 1.5 && isnan(m.coverage)); /* without the other end */
    p.upper = upper, p.cdf = cdf;
    m = lth__metrics_of(&p);
    assert_true(m.coverage == 0.5);
    /* Central intervals that reach y have the levels 0, .98, .98, .5. */
    double sum = 0;
    for (int level = 5; level < 100; level += 5) sum += abs((level < 50 ? 25 : 50) - level);
    support_near(m.calibration, sum / 1900, 1e-14);
    p.sd = sd; /* does not matter any more */
    lth_metrics again = lth__metrics_of(&p);
    assert_true(again.nlpd == m.nlpd && again.crps == m.crps && again.coverage == m.coverage &&
                again.calibration == m.calibration);
    p.cdf = NULL; /* but here: each y is in the middle */
    m = lth__metrics_of(&p);
    support_near(m.calibration, 0.5, 1e-14);
}

/* ---- No memory ---- */

static lth_status judge(void *user, lth_error *err) {
    lth_metrics m = {.count = 77};
    lth_status status = lth__metrics_judge(user, &m, err);
    assert_true(status == LTH_OK ? m.kendall == 1 : m.count == 77);
    return status;
}

static void without_memory(void **state) {
    (void)state;
    const double y[] = {1, 2, 3}, sd[] = {1, 1, 1};
    lth__predicted p = {.count = 3, .y = y, .point = y, .sd = sd};
    fail_each(judge, &p, false, 2);
    calls = 0;
    fail_at = 1;
    lth_metrics m = metrics_of(y, y, sd, 3);
    fail_at = 0;
    assert_true(m.count == 3 && m.mae == 0 && m.coverage == 1 && isfinite(m.crps));
    assert_true(isnan(m.spearman) && isnan(m.kendall) && isnan(m.ndcg) && isnan(m.recall));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_they_are_defined),
        cmocka_unit_test(kappa_of_grades),
        cmocka_unit_test(scores_of_normal_distributions),
        cmocka_unit_test(five_rows),
        cmocka_unit_test(twenty_rows),
        cmocka_unit_test(one_row),
        cmocka_unit_test(constant_sides),
        cmocka_unit_test(perfect_with_ties),
        cmocka_unit_test(grades_or_not),
        cmocka_unit_test(what_is_not_a_number),
        cmocka_unit_test(given_distributions),
        cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
