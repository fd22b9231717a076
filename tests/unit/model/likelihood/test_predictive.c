/* What is expected of y: against fine sums over f, against each other, and against worked-out
 * values, in the target's units. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "model/common/special.h"
#include "model/likelihood/predictive.h"

#define NO_BOUNDS .lower = -INFINITY, .upper = INFINITY
#define THETA(...)                                                                                 \
    .theta = (const double[]) {                                                                    \
        __VA_ARGS__                                                                                \
    }

static const lth__target plain = {.scale = 1, .spread = 1}, scaled = {.shift = 10, .scale = 4};

static void near(const char *what, double got, double want, double tolerance) {
    if (!(fabs(got - want) <= tolerance * fabs(want) + 1e-13))
        fail_msg("%s is %.14g, not %.14g", what, got, want);
}

typedef struct moments {
    double mean, sd;
} moments;

static moments moments_of(const lth__predictive *p) {
    moments m;
    lth__predictive_moments(p, &m.mean, &m.sd);
    return m;
}

/* ---- By sums over f ---- */

/* E over f, in the units inside. */
typedef struct brute {
    double p, cdf, mean, square;
} brute;

static brute brute_of(const lth__predictive *p, double y, double step) {
    const lth__likelihood *l = p->likelihood;
    double sd = sqrt(p->variance), weight = 0;
    brute b = {0};
    for (double z = -11; z <= 11; z += step) {
        double w = exp(-0.5 * z * z), f = p->mean + sd * z, m, v;
        l->moments(&p->terms, f, &m, &v);
        weight += w;
        b.p += w * exp(l->at(&p->terms, y, f).value);
        b.cdf += w * l->cdf(&p->terms, y, f);
        b.mean += w * m;
        b.square += w * (m * m + v);
    }
    b.p /= weight, b.cdf /= weight, b.mean /= weight, b.square /= weight;
    return b;
}

typedef struct example {
    lth__predictive p;
    double y[4], step; /* of the sum */
} example;

#define P(of, m, v, ...)                                                                           \
    { .likelihood = &(of), .terms = {__VA_ARGS__}, .target = &plain, .mean = m, .variance = v }
#define NONE .theta = NULL, NO_BOUNDS

static const example examples[] = {
    {P(lth__gaussian, 0.4, 0.3, THETA(0.2), NO_BOUNDS), {0, 0.3, 1, -2}, 4e-3},
    {P(lth__censored, 0.4, 0.3, THETA(0.2), 0, 1, 0), {0, 0.3, 1, 0.9}, 4e-3},
    {P(lth__student, 0.4, 0.3, THETA(0.2, 4), NO_BOUNDS), {0, 0.3, 1, 40}, 4e-3},
    {P(lth__student, 0.4, 3, THETA(0.02, 2.05), NO_BOUNDS), {0, 0.3, 9, 1000}, 5e-4},
    {P(lth__student, 0.4, 1e-3, THETA(0.7, 200), NO_BOUNDS), {0, 0.3, 1, 7}, 4e-3},
    {P(lth__ordinal, 0.4, 0.3, THETA(0.5, 1.5), NO_BOUNDS, 4), {0, 1, 2, 3}, 4e-3},
    {P(lth__ordinal, 5, 9, THETA(0.5, 1.5), NO_BOUNDS, 4), {0, 1, 2, 3}, 4e-3},
    {P(lth__poisson, 2.3, 1, NONE), {0, 1, 10, 200}, 4e-3},
    {P(lth__poisson, 2.3, 0.01, NONE), {0, 1, 10, 30}, 4e-3},
    {P(lth__poisson, 2.3, 1e-9, NONE), {0, 1, 10, 30}, 1e-2},
    {P(lth__poisson, -3, 4, NONE), {0, 1, 2, 40}, 4e-3},
    {P(lth__poisson, 0, 100, NONE), {0, 1, 500, 3000}, 5e-4},
    {P(lth__poisson, 11.5, 0.04, NONE), {70000, 100000, 110000, 180000}, 4e-3},
    {P(lth__poisson, 11.5, 1e-7, NONE), {98000, 98700, 98715, 99500}, 4e-3},
    {P(lth__negbinomial, 2.3, 1, THETA(0.5), NO_BOUNDS), {0, 1, 10, 200}, 4e-3},
    {P(lth__negbinomial, 2.3, 0.1, THETA(40), NO_BOUNDS), {0, 1, 10, 200}, 4e-3},
    {P(lth__negbinomial, 5, 0.1, THETA(1e-4), NO_BOUNDS), {50, 100, 148, 300}, 4e-3},
    {P(lth__negbinomial, 11.5, 0.04, THETA(0.01), NO_BOUNDS), {70000, 1e5, 110000, 2e5}, 4e-3},
    {P(lth__beta, 0.4, 0.3, THETA(10), NO_BOUNDS), {0.001, 0.5, 0.7, 0.99}, 1e-2},
    {P(lth__beta, -2, 2, THETA(300), NO_BOUNDS), {0.001, 0.1, 0.3, 0.9}, 1e-2},
    {P(lth__beta, 1, 0.5, THETA(0.1), NO_BOUNDS), {0.001, 0.1, 0.5, 0.99}, 1e-2},
    {P(lth__beta, 0, 1, THETA(1e5), NO_BOUNDS), {0.1, 0.4, 0.5, 0.8}, 2e-3},
    {P(lth__beta, 0, 1e-8, THETA(1e5), NO_BOUNDS), {0.495, 0.499, 0.5, 0.503}, 1e-2},
};
enum { EXAMPLES = sizeof examples / sizeof *examples };

static bool has_counts(const lth__predictive *p) {
    return p->likelihood->of == LTH__OF_COUNTS || p->likelihood->of == LTH__OF_GRADES;
}

static lth__predictive with_grades(const example *e) {
    static const double names[] = {0, 1, 2, 3};
    lth__predictive p = e->p;
    if (p.likelihood->of == LTH__OF_GRADES) p.grades = names;
    return p;
}

static void against_sums(void **state) {
    (void)state;
    for (const example *e = examples; e < examples + EXAMPLES; e++) {
        lth__predictive p = with_grades(e);
        for (size_t i = 0; i < 4; i++) {
            double y = e->y[i];
            brute b = brute_of(&p, y, e->step);
            bool mass = has_counts(&p) || y <= p.terms.lower || y >= p.terms.upper;
            near(p.likelihood->name, exp(lth__predictive_log_p(&p, y)), b.p, 1e-8);
            double got = lth__predictive_cdf(&p, y), want = b.cdf - (mass ? b.p / 2 : 0);
            if (fabs(got - want) > 2e-9)
                fail_msg("%s, mean %g, variance %g: the share below %g is %.12g, not %.12g",
                         p.likelihood->name, p.mean, p.variance, y, got, want);
            if (i > 0) continue;
            if (p.variance > 50) continue; /* beyond the sum's end */
            moments m = moments_of(&p);
            near(p.likelihood->name, m.mean, b.mean, 1e-8);
            near(p.likelihood->name, m.sd, sqrt(b.square - b.mean * b.mean), 1e-6);
        }
    }
}

/* A share that is hardly told from 0 or 1. */
static bool is_end(const lth__predictive *p, double y) {
    return p->likelihood->of == LTH__OF_SHARES && (y < 1e-30 || 1 - y < 1e-14);
}

/* A quantile has its share below it; of counts the one before has not. */
static void quantiles(void **state) {
    (void)state;
    static const double shares[] = {1e-4, 0.025, 0.3, 0.5, 0.8, 0.975, 0.9999};
    for (const example *e = examples; e < examples + EXAMPLES; e++) {
        lth__predictive p = with_grades(e);
        double before = -INFINITY;
        for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
            double y = lth__predictive_quantile(&p, shares[i]);
            double half = exp(lth__predictive_log_p(&p, y)) / 2;
            double mid = lth__predictive_cdf(&p, y);
            if (!(y >= before - 1e-12 * fabs(before)))
                fail_msg("%s, mean %g, variance %g: quantiles %.17g and %.17g", p.likelihood->name,
                         p.mean, p.variance, before, y);
            before = y;
            if (y > 1e12) continue; /* no last digit */
            if (has_counts(&p)) {
                assert_true(y == floor(y) && y >= 0);
                if (!(mid + half >= shares[i] - 1e-9 && mid - half < shares[i] + 1e-9))
                    fail_msg(
                        "%s, mean %g, variance %g: up to %g there is %.10g, below %.10g, not %g",
                        p.likelihood->name, p.mean, p.variance, y, mid + half, mid - half,
                        shares[i]);
            } else if (y > p.terms.lower && y < p.terms.upper && !is_end(&p, y)) {
                if (fabs(mid - shares[i]) > 1e-7)
                    fail_msg("%s: %.10g is below %g, not %g", p.likelihood->name, mid, y,
                             shares[i]);
            }
        }
    }
}

/* Counts so large that they are exp(f) but for a bit of noise. */
static void huge_counts(void **state) {
    (void)state;
    lth__predictive p = P(lth__poisson, 40, 0.01, NONE);
    for (double score = -2; score <= 2; score++) {
        double y = floor(exp(40 + 0.1 * score));
        near("log p", lth__predictive_log_p(&p, y),
             -0.5 * (score * score + log(2 * M_PI * 0.01)) - log(y), 1e-7);
        near("share", lth__predictive_cdf(&p, y), lth__phi(score), 1e-6);
        near("quantile", lth__predictive_quantile(&p, lth__phi(score)), y, 1e-6);
    }
}

/* ---- The continuous ranked probability score ---- */

static double cdf_at(const lth__predictive *p, double y) {
    double sum = 0, weight = 0;
    for (double z = -9; z <= 9; z += 0.05) {
        double w = exp(-0.5 * z * z);
        weight += w;
        sum += w * p->likelihood->cdf(&p->terms, y, p->mean + sqrt(p->variance) * z);
    }
    return sum / weight;
}

typedef struct scored {
    lth__predictive p;
    double y[3], from, to, step;
} scored;

static const scored scores[] = {
    {P(lth__gaussian, 0.4, 0.3, THETA(0.2), NO_BOUNDS), {0, 0.4, 3}, -5, 6, 1e-3},
    {P(lth__censored, 0.4, 0.3, THETA(0.2), 0, 1, 0), {0, 0.4, 1}, 0, 1, 1e-3},
    {P(lth__censored, -2, 0.3, THETA(0.2), 0, INFINITY, 0), {0, 0.4, 1}, 0, 4, 1e-3},
    {P(lth__student, 0.4, 0.3, THETA(0.2, 4), NO_BOUNDS), {0, 0.4, 3}, -20, 20, 0.04},
    {P(lth__student, 0.4, 0.3, THETA(2, 200), NO_BOUNDS), {0, 0.4, 3}, -12, 12, 0.05},
    {P(lth__poisson, 2.3, 0.25, NONE), {0, 10, 60}, 0, 400, 1},
    {P(lth__poisson, -2, 0.5, NONE), {0, 1, 5}, 0, 60, 1},
    {P(lth__poisson, 4, 1e-4, NONE), {20, 55, 90}, 0, 200, 1},
    {P(lth__poisson, 3.2, 0.01, NONE), {10, 25, 60}, 0, 200, 1},
    {P(lth__poisson, 6, 0.1, NONE), {100, 400, 900}, 0, 2500, 1},
    {P(lth__negbinomial, 2.3, 0.25, THETA(0.5), NO_BOUNDS), {0, 10, 60}, 0, 1000, 1},
    {P(lth__negbinomial, 3, 0.04, THETA(0.02), NO_BOUNDS), {5, 20, 60}, 0, 200, 1},
    {P(lth__beta, 0.4, 0.3, THETA(10), NO_BOUNDS), {0.2, 0.6, 0.99}, 0, 1, 2e-3},
    {P(lth__beta, -2, 0.01, THETA(100), NO_BOUNDS), {0.05, 0.12, 0.5}, 0, 1, 2e-3},
    {P(lth__beta, 1, 0.5, THETA(0.5), NO_BOUNDS), {0.05, 0.5, 0.999}, 0, 1, 1e-3},
};

/* The integral of (F - 1{y <= x})^2, over counts or in so many steps, of three y at once. */
static void brute_crps(const scored *s, double *sum) {
    bool counts = has_counts(&s->p);
    for (double x = s->from; x < s->to; x += s->step) {
        double at = counts ? x : x + s->step / 2, F = cdf_at(&s->p, at);
        for (size_t i = 0; i < 3; i++) {
            double d = at >= s->y[i] ? 1 - F : F;
            sum[i] += d * d * s->step;
        }
    }
}

static void crps(void **state) {
    (void)state;
    for (const scored *s = scores; s < scores + sizeof scores / sizeof *scores; s++) {
        double want[3] = {0};
        brute_crps(s, want);
        for (size_t i = 0; i < 3; i++)
            near(s->p.likelihood->name, lth__predictive_crps(&s->p, s->y[i]), want[i], 1e-3);
    }
}

/* A truth far away is so far from the median, and half a mean difference less. */
static void crps_far_away(void **state) {
    (void)state;
    for (const example *e = examples; e < examples + EXAMPLES; e++) {
        lth__predictive p = with_grades(e);
        if (p.variance > 3 || p.likelihood->of == LTH__OF_GRADES ||
            p.likelihood->of == LTH__OF_SHARES || isfinite(p.terms.lower))
            continue;
        moments m = moments_of(&p);
        if (p.likelihood == &lth__student) m.sd = fmin(m.sd, 10);
        double far = floor(m.mean + 1e4 * (m.sd + 1)), score = lth__predictive_crps(&p, far);
        near(p.likelihood->name, score, far - m.mean, 1e-3);
    }
}

static void extremes(void **state) {
    (void)state;
    for (const example *e = examples; e < examples + EXAMPLES; e++) {
        for (int k = 0; k < 6; k++) {
            lth__predictive p = with_grades(e);
            p.mean = (const double[]){-40, 40, -200, 200}[k % 4];
            p.variance = k < 4 ? 0.5 : 0;
            moments m = moments_of(&p);
            double y = has_counts(&p) ? 3 : 0.5;
            assert_true(isfinite(m.mean) && m.sd >= 0);
            assert_true(!isnan(lth__predictive_quantile(&p, 0.1)));
            assert_true(!isnan(lth__predictive_log_p(&p, y)));
            double share = lth__predictive_cdf(&p, y);
            assert_true(share >= 0 && share <= 1);
            if (!(p.mean > 30 && p.likelihood->of == LTH__OF_COUNTS))
                assert_true(lth__predictive_crps(&p, y) >= 0);
        }
    }
}

/* ---- Units ---- */

static void in_units(void **state) {
    (void)state;
    lth__predictive p = P(lth__gaussian, 0.5, 0.3, THETA(0.7), NO_BOUNDS);
    p.target = &scaled;
    moments m = moments_of(&p);
    near("mean", m.mean, 12, 1e-15);
    near("sd", m.sd, 4, 1e-15);
    near("quantile", lth__predictive_quantile(&p, 0.975), 12 + 4 * 1.9599639845400542, 1e-12);
    near("log p", lth__predictive_log_p(&p, 16), -0.5 * (1 + log(2 * M_PI * 16)), 1e-14);
    near("cdf", lth__predictive_cdf(&p, 16), lth__phi(1), 1e-14);
    /* Of the standard normal distribution at 0: (sqrt(2) - 1) / sqrt(pi). */
    near("crps", lth__predictive_crps(&p, 12), 4 * (M_SQRT2 - 1) / sqrt(M_PI), 1e-14);
}

/* 0 to 20 as numbers inside from -2.5 to 2.5: bounds have probabilities, not densities. */
static void at_bounds(void **state) {
    (void)state;
    lth__predictive p = P(lth__censored, -2, 0.3, THETA(0.7), -2.5, 2.5, 0);
    p.target = &scaled;
    near("lower", exp(lth__predictive_log_p(&p, 0)), lth__phi(-0.5), 1e-13);
    near("beyond", exp(lth__predictive_log_p(&p, -3)), lth__phi(-0.5), 1e-13);
    near("share of lower", lth__predictive_cdf(&p, 0), lth__phi(-0.5) / 2, 1e-13);
    near("share of upper", lth__predictive_cdf(&p, 20), 1 - lth__phi(-4.5) / 2, 1e-13);
    near("between", exp(lth__predictive_log_p(&p, 2)), 1 / (4 * sqrt(2 * M_PI)), 1e-13);
    assert_true(fabs(lth__predictive_quantile(&p, 0.1)) < 1e-12);
    near("median", lth__predictive_quantile(&p, 0.5), 2, 1e-12);
}

/* Grades have the names of the table, not of the same distance. */
static void named_grades(void **state) {
    (void)state;
    static const double names[] = {-1, 0, 2, 10};
    lth__predictive p = P(lth__ordinal, 0.8, 0.44, THETA(0.5, 1.5), NO_BOUNDS, 4);
    double share[4], upto[4] = {0}, mean = 0, square = 0, s = 1.2, sum = 0;
    static const double cut[] = {0, 0.5, 2, INFINITY};
    p.grades = names;
    lth__predictive_grades(&p, share);
    for (size_t k = 0; k < 4; k++) {
        upto[k] = lth__phi((cut[k] - 0.8) / s);
        near("grade", share[k], upto[k] - (k ? upto[k - 1] : 0), 1e-12);
        near("log p", exp(lth__predictive_log_p(&p, names[k])), share[k], 1e-13);
        near("cdf", lth__predictive_cdf(&p, names[k]), upto[k] - share[k] / 2, 1e-12);
        near("quantile", lth__predictive_quantile(&p, upto[k] - 1e-6), names[k], 0);
        mean += share[k] * names[k];
        square += share[k] * names[k] * names[k];
        sum += share[k];
    }
    near("sum", sum, 1, 1e-14);
    moments m = moments_of(&p);
    near("mean", m.mean, mean, 1e-13);
    near("sd", m.sd, sqrt(square - mean * mean), 1e-12);
    double want =
        upto[0] * upto[0] + (1 - upto[1]) * (1 - upto[1]) * 2 + (1 - upto[2]) * (1 - upto[2]) * 8;
    near("crps", lth__predictive_crps(&p, 0), want, 1e-12);
}

/* ---- Warps ---- */

static const lth__target warped = {.shift = -1, .scale = 5, .centre = 0.6, .spread = 0.8};

typedef struct warp_example {
    const char *name;
    double phi[LTH__WARP_PARAMS], mean, variance, noise;
} warp_example;

static const warp_example warps[] = {
    {"log", {0.5}, 0.3, 0.4, 0.5},
    {"log", {0.01}, 1, 2, 2},
    {"log", {1}, -1.2, 0.3, 0.3},
    {"boxcox", {0.3, 0.4}, 0.3, 0.4, 0.5},
    {"sinh", {0.7, 0.5}, 0.3, 0.4, 0.5},
    {"tanh", {5, 3, -2, 0.01, 0.1, 0.5, 4, 0.3, 4}, -0.3, 0.4, 0.5},
};

static lth__predictive predictive_of(const warp_example *e) {
    return (lth__predictive){.likelihood = &lth__warped,
                             .terms = {.theta = &e->noise, NO_BOUNDS},
                             .target = &warped,
                             .warp = lth__warp_find(e->name),
                             .phi = e->phi,
                             .mean = e->mean,
                             .variance = e->variance};
}

/* y at so many standard deviations. */
static double y_at(const warp_example *e, double score) {
    double inside = e->mean + score * sqrt(e->variance + e->noise);
    return -1 + 5 * lth__warp_inverse(lth__warp_find(e->name), e->phi, 0.6 + 0.8 * inside);
}

static double warped_by_sums(const warp_example *e, double y, moments *m) {
    const double step = 1e-3;
    double square = 0, score = 0;
    *m = (moments){0};
    for (double z = -12; z < 16; z += step) {
        double at = y_at(e, z), w = exp(-0.5 * z * z) * step / sqrt(2 * M_PI);
        m->mean += w * at;
        square += w * at * at;
        double middle = y_at(e, z + step / 2), F = lth__phi(z + step / 2);
        double d = middle < y ? F : 1 - F;
        score += d * d * (y_at(e, z + step) - at);
    }
    m->sd = sqrt(square - m->mean * m->mean);
    return score;
}

static void warps_by_sums(void **state) {
    (void)state;
    for (const warp_example *e = warps; e < warps + sizeof warps / sizeof *warps; e++) {
        lth__predictive p = predictive_of(e);
        for (int i = 0; i < 4; i++) {
            double score = (const double[]){-2.5, -0.3, 1.1, 2.7}[i], y = y_at(e, score), h = 1e-5;
            moments want, got = moments_of(&p);
            double by_sum = warped_by_sums(e, y, &want);
            near("mean", got.mean, want.mean, 1e-7);
            near("sd", got.sd, want.sd, 1e-6);
            near("crps", lth__predictive_crps(&p, y), by_sum, 1e-3);
            near("cdf", lth__predictive_cdf(&p, y), lth__phi(score), 1e-9);
            near("quantile", lth__predictive_quantile(&p, lth__phi(score)), y, 1e-7);
            double slope =
                (lth__predictive_cdf(&p, y + h) - lth__predictive_cdf(&p, y - h)) / (2 * h);
            near("log p", exp(lth__predictive_log_p(&p, y)), slope, 1e-5);
        }
        double far = y_at(e, 12), at_nine = y_at(e, 9);
        assert_true(lth__predictive_crps(&p, far) >
                    lth__predictive_crps(&p, at_nine) + 0.9 * (far - at_nine));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(against_sums), cmocka_unit_test(quantiles),
        cmocka_unit_test(crps),         cmocka_unit_test(crps_far_away),
        cmocka_unit_test(extremes),     cmocka_unit_test(in_units),
        cmocka_unit_test(huge_counts),  cmocka_unit_test(at_bounds),
        cmocka_unit_test(named_grades), cmocka_unit_test(warps_by_sums)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
