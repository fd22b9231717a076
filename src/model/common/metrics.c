/* How good predicted numbers are: errors, correlation, and how honest their distributions are.
 *
 * With z = (y - mean) / sd, the density phi and the distribution function Phi of a standard normal,
 *
 *     -log density = log sqrt(2 pi) + log sd + z^2 / 2
 *     CRPS         = integral of (Phi((x - mean) / sd) - [x >= y])^2 dx
 *                  = sd (z (2 Phi(z) - 1) + 2 phi(z) - 1 / sqrt(pi))
 *
 * unless the caller has those of another distribution.
 */
#include "model/common/metrics.h"

#include <math.h>

#include "base/memory.h"

static const double half_log_two_pi = 0.91893853320467274178;
static const double root_half = 0.70710678118654752440;
static const double inverse_root_pi = 0.56418958354775628695;
static const double half_width_95 = 1.959964; /* standard deviations either side of the mean */

/* From the first value on, so that the mean of equal values is exactly that value. */
static double average(const double *x, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) sum += x[i] - x[0];
    return x[0] + sum / (double)count;
}

/* Errors and correlation, which need no standard deviations. */
static void judge_points(const double *y, const double *point, lth_metrics *m) {
    double n = (double)m->count, absolute = 0, squared = 0;
    double y_center = average(y, m->count), point_center = average(point, m->count);
    double yy = 0, pp = 0, yp = 0;
    for (size_t i = 0; i < m->count; i++) {
        double error = y[i] - point[i], dy = y[i] - y_center, dp = point[i] - point_center;
        absolute += fabs(error);
        squared += error * error;
        yy += dy * dy;
        pp += dp * dp;
        yp += dy * dp;
    }
    m->mae = absolute / n;
    m->rmse = sqrt(squared / n);
    m->r = yy == 0 || pp == 0 ? 0 : yp / (sqrt(yy) * sqrt(pp));
    if (m->r > 1) m->r = 1;
    if (m->r < -1) m->r = -1;
    m->r2 = yy == 0 ? 0 : 1 - squared / yy;
}

/* With E the mean over all pairs of a rating of one and one of the other,
 * kappa = 1 - mean (a - b)^2 / E (a - b)^2, and E is a matter of means and variances. */
double lth__quadratic_kappa(const double *a, const double *b, size_t count) {
    if (count == 0) return NAN;
    double a_center = average(a, count), b_center = average(b, count);
    double apart = a_center - b_center, seen = 0, expected = 0;
    for (size_t i = 0; i < count; i++) {
        double da = a[i] - a_center, db = b[i] - b_center;
        seen += (a[i] - b[i]) * (a[i] - b[i]);
        expected += da * da + db * db + apart * apart;
    }
    return expected == 0 ? NAN : 1 - seen / expected;
}

/* ---- Distributions ---- */

static double log_density_at(const lth__predicted *p, size_t i) {
    if (p->log_density) return p->log_density[i];
    double z = (p->y[i] - p->point[i]) / p->sd[i];
    return -(half_log_two_pi + log(p->sd[i]) + z * z / 2);
}

/* z; 0 in the middle of a distribution that is in one place. */
static double deviations_off(double error, double sd) {
    return error == 0 && sd == 0 ? 0 : error / sd;
}

static double cdf_at(const lth__predicted *p, size_t i) {
    if (p->cdf) return p->cdf[i];
    return erfc(-deviations_off(p->y[i] - p->point[i], p->sd[i]) * root_half) / 2;
}

static double crps_at(const lth__predicted *p, size_t i) {
    if (p->crps) return p->crps[i];
    double error = p->y[i] - p->point[i], z = deviations_off(error, p->sd[i]);
    double density = exp(-half_log_two_pi - z * z / 2);
    return error * erf(z * root_half) + p->sd[i] * (2 * density - inverse_root_pi);
}

static bool is_covered(const lth__predicted *p, size_t i) {
    if (p->lower && p->upper) return p->lower[i] <= p->y[i] && p->y[i] <= p->upper[i];
    return fabs(p->y[i] - p->point[i]) <= half_width_95 * p->sd[i];
}

/* Of the central intervals that are asked for; the last one holds everything. */
enum { LEVELS = 20 };

static double level_of(size_t i) {
    return (double)i / LEVELS;
}

/* A central interval should hold as many rows as its level says: the mean distance of the two. */
static double calibration_error(const lth__predicted *p) {
    size_t needs[LEVELS + 1] = {0};
    for (size_t i = 0; i < p->count; i++) {
        double width = fabs(2 * cdf_at(p, i) - 1); /* level of the interval that just reaches y */
        if (isnan(width)) return NAN;
        size_t level = 1;
        while (level < LEVELS && width > level_of(level)) level++;
        needs[level]++;
    }
    double sum = 0;
    for (size_t level = 1, inside = 0; level < LEVELS; level++) {
        inside += needs[level];
        sum += fabs((double)inside / (double)p->count - level_of(level));
    }
    return sum / (LEVELS - 1);
}

static void judge_distributions(const lth__predicted *p, lth_metrics *m) {
    double n = (double)p->count, loss = 0, crps = 0;
    size_t covered = 0;
    bool normal = p->sd != NULL, densities = normal || p->log_density, scores = normal || p->crps;
    bool intervals = normal || (p->lower && p->upper);
    for (size_t i = 0; i < p->count; i++) {
        if (densities) loss -= log_density_at(p, i);
        if (scores) crps += crps_at(p, i);
        if (intervals) covered += is_covered(p, i);
    }
    if (densities) m->nlpd = loss / n;
    if (scores) m->crps = crps / n;
    if (intervals) m->coverage = (double)covered / n;
    if (normal || p->cdf) m->calibration = calibration_error(p);
}

/* ---- All of them ---- */

static lth_metrics judge_rows(const lth__predicted *p) {
    lth_metrics m = {p->count, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    if (p->count == 0) return m;
    judge_points(p->y, p->point, &m);
    judge_distributions(p, &m);
    return m;
}

lth_status lth__metrics_judge(const lth__predicted *p, lth_metrics *out, lth_error *err) {
    lth_metrics m = judge_rows(p);
    LTH_TRY(lth__metrics_rank(p, &m, err));
    *out = m;
    return LTH_OK;
}

lth_metrics lth__metrics_of(const lth__predicted *p) {
    lth_metrics m = judge_rows(p);
    (void)lth__metrics_rank(p, &m, NULL);
    return m;
}

void lth_metrics_of(const double *y, const double *mean, const double *sd, size_t count,
                    lth_metrics *out, size_t size) {
    lth_metrics m =
        lth__metrics_of(&(lth__predicted){.count = count, .y = y, .point = mean, .sd = sd});
    lth__copy_struct(out, size, &m, sizeof m);
}

lth_status lth_metrics_with(const lth_gp_prediction *given, size_t from_size, size_t count,
                            lth_metrics *out, size_t size, lth_error *err) {
    lth_gp_prediction from = {0};
    lth_metrics m;
    lth__copy_struct(&from, sizeof from, given, from_size);
    LTH_TRY(lth__metrics_judge(&(lth__predicted){.count = count,
                                                 .y = from.y,
                                                 .point = from.point,
                                                 .sd = from.sd,
                                                 .log_density = from.log_density,
                                                 .cdf = from.cdf,
                                                 .crps = from.crps,
                                                 .lower = from.lower,
                                                 .upper = from.upper},
                               &m, err));
    lth__copy_struct(out, size, &m, sizeof m);
    return LTH_OK;
}
