/* Mixtures of predictive distributions:
 *
 *     mean = sum_i w_i m_i     variance = sum_i w_i (v_i + (m_i - mean)^2)
 *     density = sum_i w_i p_i(y)     F(y) = sum_i w_i F_i(y)
 *
 * A quantile is between the least and the greatest of the parts', and found there by halving.
 */
#include "model/likelihood/mixture.h"

#include <math.h>

/* ---- Moments ---- */

void lth__mixture_mix(size_t count, const double *weight, const double *mean,
                      const double *variance, size_t stride, double *out_mean,
                      double *out_variance) {
    double centre = 0, spread = 0;
    for (size_t i = 0; i < count; i++) centre += weight[i] * mean[i * stride];
    for (size_t i = 0; i < count; i++) {
        double d = mean[i * stride] - centre;
        spread += weight[i] * ((variance ? variance[i * stride] : 0) + d * d);
    }
    *out_mean = centre;
    *out_variance = spread;
}

void lth__mixture_moments(const lth__mixture *m, double *mean, double *sd) {
    double sum = 0, square = 0, of_part, sd_of_part;
    if (m->count == 1) {
        lth__predictive_moments(m->part, mean, sd);
        return;
    }
    /* Around the first, so that little is lost where the parts are far from 0. */
    double first;
    lth__predictive_moments(&m->part[0], &first, &sd_of_part);
    for (size_t i = 0; i < m->count; i++) {
        lth__predictive_moments(&m->part[i], &of_part, &sd_of_part);
        double d = of_part - first;
        sum += m->weight[i] * d;
        square += m->weight[i] * (sd_of_part * sd_of_part + d * d);
    }
    *mean = first + sum;
    *sd = sqrt(fmax(square - sum * sum, 0));
}

/* ---- Densities and shares ---- */

double lth__mixture_log_p(const lth__mixture *m, double y) {
    double most = -INFINITY, sum = 0;
    if (m->count == 1) return lth__predictive_log_p(m->part, y);
    for (size_t i = 0; i < m->count; i++) most = fmax(most, lth__predictive_log_p(&m->part[i], y));
    if (!isfinite(most)) return most;
    for (size_t i = 0; i < m->count; i++)
        sum += m->weight[i] * exp(lth__predictive_log_p(&m->part[i], y) - most);
    return most + log(sum);
}

double lth__mixture_cdf(const lth__mixture *m, double y) {
    double sum = 0;
    if (m->count == 1) return lth__predictive_cdf(m->part, y);
    for (size_t i = 0; i < m->count; i++) sum += m->weight[i] * lth__predictive_cdf(&m->part[i], y);
    return sum;
}

void lth__mixture_grades(const lth__mixture *m, double *probability) {
    double of_part[LTH__MOST_GRADES];
    size_t grades = m->part->terms.grades;
    if (m->count == 1) {
        lth__predictive_grades(m->part, probability);
        return;
    }
    for (size_t k = 0; k < grades; k++) probability[k] = 0;
    for (size_t i = 0; i < m->count; i++) {
        lth__predictive_grades(&m->part[i], of_part);
        for (size_t k = 0; k < grades; k++) probability[k] += m->weight[i] * of_part[k];
    }
}

/* ---- Quantiles ---- */

static bool are_counts(const lth__mixture *m) {
    return m->part->likelihood->of == LTH__OF_COUNTS;
}

/* P(Y <= y) of what has a probability of its own. */
static double share_up_to(const lth__mixture *m, double y) {
    return lth__mixture_cdf(m, y) + exp(lth__mixture_log_p(m, y)) / 2;
}

static double grade_quantile(const lth__mixture *m, double share) {
    double probability[LTH__MOST_GRADES], sum = 0;
    size_t k = 0, last = m->part->terms.grades - 1;
    lth__mixture_grades(m, probability);
    for (; k < last; k++) {
        sum += probability[k];
        if (sum >= share) break;
    }
    return m->part->grades[k];
}

static void span_quantiles(const lth__mixture *m, double share, double *lo, double *hi) {
    *lo = INFINITY;
    *hi = -INFINITY;
    for (size_t i = 0; i < m->count; i++) {
        double q = lth__predictive_quantile(&m->part[i], share);
        *lo = fmin(*lo, q);
        *hi = fmax(*hi, q);
    }
}

/* The least count between these with at least that share. */
static double count_quantile(const lth__mixture *m, double share, double lo, double hi) {
    while (lo < hi) {
        double middle = floor(lo + (hi - lo) / 2);
        if (share_up_to(m, middle) >= share)
            hi = middle;
        else
            lo = middle + 1;
    }
    return hi;
}

double lth__mixture_quantile(const lth__mixture *m, double share) {
    double lo, hi;
    if (m->count == 1) return lth__predictive_quantile(m->part, share);
    if (m->part->grades) return grade_quantile(m, share);
    span_quantiles(m, share, &lo, &hi);
    if (are_counts(m)) return count_quantile(m, share, lo, hi);
    for (;;) {
        double middle = lo + (hi - lo) / 2;
        if (!(middle > lo && middle < hi)) return middle;
        if (lth__mixture_cdf(m, middle) < share)
            lo = middle;
        else
            hi = middle;
    }
}

/* ---- Continuous ranked probability score: the integral of (F - [y is below])^2 ---- */

static double square_at(const lth__mixture *m, double y, double at) {
    double F = are_counts(m) ? share_up_to(m, floor(at)) : lth__mixture_cdf(m, at);
    double d = at < y ? F : 1 - F;
    return d * d;
}

/* Gauss and Legendre's rule. */
static double over_panel(const lth__mixture *m, double y, double from, double to) {
    static const double node[] = {0, 0.5384693101056831, 0.9061798459386640};
    static const double weight[] = {0.5688888888888889, 0.4786286704993665, 0.2369268850561891};
    double centre = (from + to) / 2, half = (to - from) / 2;
    double sum = weight[0] * square_at(m, y, centre);
    for (size_t i = 1; i < sizeof node / sizeof *node; i++)
        sum += weight[i] * (square_at(m, y, centre - half * node[i]) +
                            square_at(m, y, centre + half * node[i]));
    return half * sum;
}

static double mean_quantile(const lth__mixture *m, double share) {
    double sum = 0;
    for (size_t i = 0; i < m->count; i++)
        sum += m->weight[i] * lth__predictive_quantile(&m->part[i], share);
    return sum;
}

/* In panels between quantiles, the one with y in two; beyond the last F is 0 or 1. */
static double continuous_crps(const lth__mixture *m, double y) {
    static const double share[] = {1e-6, 1e-4, 1e-3, 0.01, 0.03, 0.1,   0.2,    0.35,    0.5,
                                   0.65, 0.8,  0.9,  0.97, 0.99, 0.999, 0.9999, 1 - 1e-6};
    double from = mean_quantile(m, share[0]), sum = fmax(from - y, 0);
    for (size_t i = 1; i < sizeof share / sizeof *share; i++) {
        double to = mean_quantile(m, share[i]);
        if (y > from && y < to)
            sum += over_panel(m, y, from, y) + over_panel(m, y, y, to);
        else if (to > from)
            sum += over_panel(m, y, from, to);
        from = to;
    }
    return sum + fmax(y - from, 0);
}

static double grade_crps(const lth__mixture *m, double y) {
    double probability[LTH__MOST_GRADES], F = 0, sum = 0;
    const double *grade = m->part->grades;
    lth__mixture_grades(m, probability);
    for (size_t k = 0; k + 1 < m->part->terms.grades; k++) {
        F += probability[k];
        double d = grade[k] < y ? F : 1 - F;
        sum += d * d * (grade[k + 1] - grade[k]);
    }
    return sum;
}

/* Few counts are added up one by one. */
static double count_crps(const lth__mixture *m, double y) {
    enum { MOST = 4096 };
    double lo, hi, unused, sum = 0;
    span_quantiles(m, 1e-6, &lo, &unused);
    span_quantiles(m, 1 - 1e-6, &unused, &hi);
    lo = fmin(lo, y);
    hi = fmax(hi, y);
    if (hi - lo > MOST) return continuous_crps(m, y);
    for (double k = lo; k < hi; k++) sum += square_at(m, y, k);
    return sum;
}

double lth__mixture_crps(const lth__mixture *m, double y) {
    if (m->count == 1) return lth__predictive_crps(m->part, y);
    if (m->part->grades) return grade_crps(m, y);
    return are_counts(m) ? count_crps(m, y) : continuous_crps(m, y);
}
