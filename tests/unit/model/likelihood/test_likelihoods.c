/* Likelihoods of numbers, counts, shares and grades: derivatives against differences, sums and
 * integrals over y, draws against the distribution function, and targets that cannot be. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/likelihood/likelihood.h"

typedef struct example {
    const lth__likelihood *l;
    lth__terms terms;
    double y[6];
    size_t ys;
} example;

#define NO_BOUNDS .lower = -INFINITY, .upper = INFINITY
#define THETA(...)                                                                                 \
    .theta = (const double[]) {                                                                    \
        __VA_ARGS__                                                                                \
    }

static const example examples[] = {
    {&lth__gaussian, {THETA(0.7), NO_BOUNDS}, {0.4, -2}, 2},
    {&lth__censored, {THETA(0.7), -1, 1.5, 0}, {0.4, -1, 1.5}, 3},
    {&lth__censored, {THETA(0.2), -INFINITY, 1, 0}, {0.4, 1}, 2},
    {&lth__student, {THETA(0.7, 4), NO_BOUNDS}, {0.4, -9, 30}, 3},
    {&lth__student, {THETA(0.1, 2.05), NO_BOUNDS}, {0.1, 5}, 2},
    {&lth__student, {THETA(1.3, 200), NO_BOUNDS}, {0.1, 5}, 2},
    {&lth__ordinal, {.theta = NULL, NO_BOUNDS, 2}, {0, 1}, 2},
    {&lth__ordinal, {THETA(0.6, 1e-2, 2), NO_BOUNDS, 5}, {0, 1, 2, 3, 4}, 5},
    {&lth__poisson, {.theta = NULL, NO_BOUNDS}, {0, 1, 15, 16, 60}, 5},
    {&lth__negbinomial, {THETA(0.5), NO_BOUNDS}, {0, 1, 5, 63, 64, 200}, 6},
    {&lth__negbinomial, {THETA(1e-4), NO_BOUNDS}, {0, 20, 80}, 3},
    {&lth__negbinomial, {THETA(40), NO_BOUNDS}, {0, 1, 90}, 3},
    {&lth__beta, {THETA(10), NO_BOUNDS}, {0.001, 0.3, 0.9}, 3},
    {&lth__beta, {THETA(0.1), NO_BOUNDS}, {0.001, 0.5}, 2},
    {&lth__beta, {THETA(1e5), NO_BOUNDS}, {0.3, 0.301}, 2},
};
enum { EXAMPLES = sizeof examples / sizeof *examples };

static const double places[] = {-3.1, -1, 0.2, 1.3, 4};
enum { PLACES = sizeof places / sizeof *places };

static size_t params_of(const example *e) {
    lth__own_param list[LTH__MOST_OWN];
    return lth__likelihood_list(e->l, e->terms.grades, list);
}

static void near(const example *e, double got, double want, double tolerance, double floor) {
    if (!(fabs(got - want) <= tolerance * (floor + fabs(want))))
        fail_msg("%s, theta %g: %.12g is not %.12g", e->l->name,
                 e->terms.theta ? e->terms.theta[0] : 0, got, want);
}

/* Four values around a point: the error is of fourth order. */
static double slope(double far_down, double down, double up, double far_up, double h) {
    return (8 * (up - down) - (far_up - far_down)) / (12 * h);
}

static void by_f(void **state) {
    (void)state;
    for (const example *e = examples; e < examples + EXAMPLES; e++) {
        /* of what is very steep, nearer */
        double h = 4e-3 * fmin(1, e->l->width ? 4 * e->l->width(&e->terms, 4) : 1);
        for (size_t i = 0; i < e->ys * PLACES; i++) {
            double y = e->y[i % e->ys], f = places[i / e->ys];
            lth__log_p p = e->l->at(&e->terms, y, f), s[4];
            for (int k = 0; k < 4; k++)
                s[k] = e->l->at(&e->terms, y, f + h * (const double[]){-2, -1, 1, 2}[k]);
            double floor = 1e-2 * (1 + fabs(p.d1));
            near(e, p.d1, slope(s[0].value, s[1].value, s[2].value, s[3].value, h), 1e-6, floor);
            near(e, p.d2, slope(s[0].d1, s[1].d1, s[2].d1, s[3].d1, h), 1e-6, floor);
            near(e, p.d3, slope(s[0].d2, s[1].d2, s[2].d2, s[3].d2, h), 1e-6, floor);
        }
    }
}

static void by_param(const example *e, size_t j, double y, double f, const lth__log_p *got) {
    double theta[LTH__MOST_OWN], h = 2e-3 * e->terms.theta[j];
    lth__log_p s[4];
    lth__terms t = e->terms;
    t.theta = theta;
    memcpy(theta, e->terms.theta, params_of(e) * sizeof *theta);
    for (int k = 0; k < 4; k++) {
        theta[j] = e->terms.theta[j] + h * (const double[]){-2, -1, 1, 2}[k];
        s[k] = e->l->at(&t, y, f);
    }
    double floor = (1e-2 + 1e-6 * fabs(s[0].value)) / e->terms.theta[j];
    near(e, got->value, slope(s[0].value, s[1].value, s[2].value, s[3].value, h), 1e-6, floor);
    near(e, got->d1, slope(s[0].d1, s[1].d1, s[2].d1, s[3].d1, h), 1e-6, floor);
    near(e, got->d2, slope(s[0].d2, s[1].d2, s[2].d2, s[3].d2, h), 1e-6, floor);
}

static void by_params(void **state) {
    (void)state;
    lth__log_p got[LTH__MOST_OWN];
    for (const example *e = examples; e < examples + EXAMPLES; e++) {
        size_t params = params_of(e);
        for (size_t i = 0; params > 0 && i < e->ys * PLACES; i++) {
            double y = e->y[i % e->ys], f = places[i / e->ys];
            e->l->by_params(&e->terms, y, f, got);
            for (size_t j = 0; j < params; j++) by_param(e, j, y, f, &got[j]);
        }
    }
}

/* ---- Over all y ---- */

typedef struct sums {
    double all, mean, square;
} sums;

static void add(sums *s, double y, double p) {
    s->all += p;
    s->mean += p * y;
    s->square += p * y * y;
}

static double p_of(const example *e, double y, double f) {
    return exp(e->l->at(&e->terms, y, f).value);
}

/* Whole numbers, and the distribution function on the way. */
static sums over_counts(const example *e, double f) {
    sums s = {0};
    for (double y = 0; y < 200000 && (s.all < 0.5 || p_of(e, y, f) * y * y > 1e-15); y++) {
        if (e->terms.grades > 0 && y == (double)e->terms.grades) break;
        add(&s, y, p_of(e, y, f));
        if (y < 50) near(e, e->l->cdf(&e->terms, y, f), s.all, 1e-10, 1);
    }
    return s;
}

/* y = f + sinh x, so that heavy tails come to an end. */
static sums over_numbers(const example *e, double f) {
    const double step = 1e-3;
    sums s = {0};
    for (double x = -60; x <= 60; x += step) {
        double y = f + sinh(x);
        if (y > e->terms.lower && y < e->terms.upper) add(&s, y, p_of(e, y, f) * step * cosh(x));
    }
    if (isfinite(e->terms.lower)) add(&s, e->terms.lower, p_of(e, e->terms.lower, f));
    if (isfinite(e->terms.upper)) add(&s, e->terms.upper, p_of(e, e->terms.upper, f));
    return s;
}

/* As far as y can be told from 0 and 1; the shares beyond are at the ends. */
static sums over_shares(const example *e, double f) {
    const double step = 1e-4, end = 30;
    double first = 1 / (1 + exp(end)), below = e->l->cdf(&e->terms, first, f);
    double above = 1 - e->l->cdf(&e->terms, 1 - first, f);
    sums s = {0};
    for (double x = -end + step / 2; x < end; x += step) {
        double y = 1 / (1 + exp(-x)), rest = 1 / (1 + exp(x));
        add(&s, y, p_of(e, y, f) * step * y * rest);
    }
    add(&s, 0, below);
    add(&s, 1, above);
    return s;
}

static bool has_counts(const example *e) {
    return e->l->of == LTH__OF_COUNTS || e->l->of == LTH__OF_GRADES;
}

static void over_all(void **state) {
    (void)state;
    for (const example *e = examples; e < examples + EXAMPLES; e++) {
        for (size_t i = 1; i < PLACES; i++) {
            double f = places[i], mean, variance;
            sums s = has_counts(e)                ? over_counts(e, f)
                     : e->l->of == LTH__OF_SHARES ? over_shares(e, f)
                                                  : over_numbers(e, f);
            bool cut = isfinite(e->terms.lower) || isfinite(e->terms.upper);
            double tolerance = cut ? 2e-3 : e->l->of == LTH__OF_SHARES ? 1e-5 : 1e-8;
            e->l->moments(&e->terms, f, &mean, &variance);
            near(e, s.all, 1, tolerance, 0);
            near(e, s.mean, mean, tolerance, 1);
            if (e->l == &lth__student && e->terms.theta[1] < 3) continue; /* hardly an end */
            near(e, s.square - s.mean * s.mean, variance, fmax(tolerance, 1e-7), mean * mean);
        }
    }
}

/* A density is the slope of the distribution function. */
static void slopes_of_shares(void **state) {
    (void)state;
    for (const example *e = examples; e < examples + EXAMPLES; e++) {
        if (has_counts(e)) continue;
        for (size_t i = 0; i < e->ys * PLACES; i++) {
            double y = e->y[i % e->ys], f = places[i / e->ys], c[4];
            if (y <= e->terms.lower || y >= e->terms.upper) continue;
            double h = 1e-3 * (e->l->of == LTH__OF_SHARES ? y * (1 - y) * 0.1 : 1);
            for (int k = 0; k < 4; k++)
                c[k] = e->l->cdf(&e->terms, y + h * (const double[]){-2, -1, 1, 2}[k], f);
            near(e, p_of(e, y, f), slope(c[0], c[1], c[2], c[3], h), 1e-6, 1e-6 / h);
        }
    }
}

/* By f it falls as log_fall says. */
static void falls(void **state) {
    (void)state;
    for (const example *e = examples; e < examples + EXAMPLES; e++) {
        for (size_t i = 0; e->l->log_fall && i < e->ys * PLACES; i++) {
            double y = e->y[i % e->ys], f = places[i / e->ys], c[4], h = 1e-3;
            for (int k = 0; k < 4; k++)
                c[k] = e->l->cdf(&e->terms, y, f + h * (const double[]){-2, -1, 1, 2}[k]);
            near(e, exp(e->l->log_fall(&e->terms, y, f)), -slope(c[0], c[1], c[2], c[3], h), 1e-6,
                 1e-3);
        }
    }
}

static void draws(void **state) {
    (void)state;
    enum { DRAWS = 20000 };
    lth__random random;
    lth__random_seed(&random, 5);
    for (const example *e = examples; e < examples + EXAMPLES; e++) {
        double f = 0.8, at[3] = {0}, mean, variance;
        e->l->moments(&e->terms, f, &mean, &variance);
        double s = fmin(sqrt(variance), 3);
        double bound[3] = {mean - 0.7 * s, mean, mean + 0.7 * s};
        for (size_t i = 0; i < DRAWS; i++) {
            double y = e->l->draw(&e->terms, f, &random);
            assert_true(!e->l->refuse || !e->l->refuse(&e->terms, y));
            for (size_t k = 0; k < 3; k++) at[k] += y <= bound[k];
        }
        for (size_t k = 0; k < 3; k++) {
            double b = has_counts(e) ? floor(bound[k]) : bound[k];
            double share = b < 0 && has_counts(e) ? 0 : e->l->cdf(&e->terms, b, f);
            if (fabs(at[k] / DRAWS - share) > 4 * sqrt(share * (1 - share) / DRAWS) + 1e-9)
                fail_msg("%s: %g of the draws are below %g, not %g", e->l->name, at[k] / DRAWS, b,
                         share);
        }
    }
}

/* ---- Far away ---- */

static void far_away(void **state) {
    (void)state;
    static const double far[] = {-1e6, -750, -40, 40, 750, 1e6};
    lth__log_p by[LTH__MOST_OWN];
    for (const example *e = examples; e < examples + EXAMPLES; e++) {
        for (size_t i = 0; i < 6 * e->ys; i++) {
            double y = e->y[i / 6], f = far[i % 6], mean, variance;
            lth__log_p p = e->l->at(&e->terms, y, f);
            assert_false(isnan(p.value) || isnan(p.d1) || isnan(p.d2) || isnan(p.d3));
            assert_true(p.value < 1000);
            if (e->l->by_params) e->l->by_params(&e->terms, y, f, by);
            for (size_t j = 0; j < params_of(e); j++)
                assert_false(isnan(by[j].value) || isnan(by[j].d1) || isnan(by[j].d2));
            e->l->moments(&e->terms, f, &mean, &variance);
            double share = e->l->cdf(&e->terms, y, f);
            assert_false(isnan(mean) || isnan(variance));
            assert_true(share >= 0 && share <= 1);
        }
    }
}

/* Grades with f far from their cuts, where the first one has -z^2/2 - log(z sqrt(2 pi)) and so
 * has any other, but for the next cut. */
static void far_grades(void **state) {
    (void)state;
    const lth__terms t = {THETA(0.6, 1e-4, 2), NO_BOUNDS, 5};
    lth__log_p p = lth__ordinal.at(&t, 0, 40);
    assert_true(fabs(p.value + 804.60844201375379) < 1e-9);
    assert_true(fabs(p.d1 + 40.024968847207264) < 1e-9);
    p = lth__ordinal.at(&t, 4, 2.6001 - 40);
    assert_true(fabs(p.value + 804.60844201375379) < 1e-9);
    assert_true(fabs(p.d1 - 40.024968847207264) < 1e-9);
    /* Between cuts that are 1e-4 apart there is a density times 1e-4. */
    p = lth__ordinal.at(&t, 2, 40.60005);
    assert_true(fabs(p.value - (log(1e-4) - 800 - 0.5 * log(2 * M_PI))) < 1e-5);
    assert_true(fabs(p.d1 + 40) < 1e-5);
}

static void large_counts(void **state) {
    (void)state;
    const lth__terms t = {.theta = NULL, NO_BOUNDS};
    double f = log(1e5) + 0.001;
    lth__log_p p = lth__poisson.at(&t, 1e5, f);
    double direct = 1e5 * f - exp(f) - lgamma(1e5 + 1);
    assert_true(fabs(p.value - direct) < 1e-8);
    assert_true(fabs(lth__poisson.at(&t, 15, 2).value - (30 - exp(2) - lgamma(16))) < 1e-12);
    assert_true(fabs(lth__poisson.at(&t, 16, 2).value - (32 - exp(2) - lgamma(17))) < 1e-12);
    /* With little dispersion the other likelihood is near. */
    const lth__terms nearly = {THETA(1e-9), NO_BOUNDS};
    assert_true(fabs(lth__negbinomial.at(&nearly, 20, 3).value - lth__poisson.at(&t, 20, 3).value) <
                1e-6);
}

/* ---- Before learning ---- */

static void refuses(void **state) {
    (void)state;
    const lth__terms t = {.theta = NULL, NO_BOUNDS};
    static const double no_counts[] = {-1, 0.5, NAN};
    for (size_t i = 0; i < 3; i++) {
        assert_non_null(lth__poisson.refuse(&t, no_counts[i]));
        assert_non_null(lth__negbinomial.refuse(&t, no_counts[i]));
    }
    assert_null(lth__poisson.refuse(&t, 0));
    assert_null(lth__negbinomial.refuse(&t, 1e5));
    static const double no_shares[] = {0, 1, -0.1, 1.1, NAN};
    for (size_t i = 0; i < 5; i++) assert_non_null(lth__beta.refuse(&t, no_shares[i]));
    assert_non_null(strstr(lth__beta.refuse(&t, 0), "censored"));
    assert_null(lth__beta.refuse(&t, 0.5));
}

static void links(void **state) {
    (void)state;
    lth__terms t = {.theta = NULL, NO_BOUNDS};
    const double counts[] = {2, 0, 4}, none[] = {0, 0, 0}, shares[] = {0.2, 0.4, 0.6};
    assert_true(fabs(lth__poisson.link(&t, counts, 3, 3) - log(2)) < 1e-15);
    assert_true(fabs(lth__negbinomial.link(&t, counts, 3, 12) - log(0.5)) < 1e-15);
    assert_true(isfinite(lth__poisson.link(&t, none, 3, 3)));
    assert_true(fabs(lth__beta.link(&t, shares, 3, 3) - log(0.4 / 0.6)) < 1e-12);
}

/* Cuts are where the shares of the grades say, so that f with a variance of 1 expects them. */
static void starts_of_grades(void **state) {
    (void)state;
    enum { ROWS = 1000, GRADES = 5 };
    static const size_t upto[GRADES] = {50, 350, 350, 900, 1000};
    double y[ROWS], theta[GRADES - 2];
    for (size_t i = 0, k = 0; i < ROWS; i++) {
        while (i >= upto[k]) k++;
        y[i] = (double)k;
    }
    lth__terms t = {.theta = theta, NO_BOUNDS, GRADES};
    double f = lth__ordinal.link(&t, y, ROWS, ROWS);
    lth__ordinal.start(&t, y, ROWS, theta);
    for (size_t k = 0; k < GRADES; k++) {
        double share = lth__ordinal.cdf_under(&t, (double)k, f, 1);
        assert_true(fabs(share - (double)upto[k] / ROWS) < 3e-3);
    }
    for (size_t j = 0; j + 2 < GRADES; j++) assert_true(theta[j] >= 1e-4 && theta[j] <= 50);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_f),         cmocka_unit_test(by_params),
        cmocka_unit_test(over_all),     cmocka_unit_test(slopes_of_shares),
        cmocka_unit_test(falls),        cmocka_unit_test(draws),
        cmocka_unit_test(far_away),     cmocka_unit_test(far_grades),
        cmocka_unit_test(large_counts), cmocka_unit_test(refuses),
        cmocka_unit_test(links),        cmocka_unit_test(starts_of_grades)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
