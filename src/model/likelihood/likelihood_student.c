/* Numbers with noise that has heavy tails, Student's t with `dof` degrees of freedom and the square
 * scale `noise`:
 *
 *     log p(y | f) = c - (dof + 1)/2 log(1 + d^2 / (dof noise)),   d = y - f
 *
 * It is a mixture of normal distributions, N(f, noise / lambda) with lambda from a gamma
 * distribution of mean 1. Where f is normal too, sums over lambda replace integrals over f: in
 * u = log lambda the weights are smooth, and the trapezoidal rule has as many digits as one likes.
 */
#include <math.h>

#include "model/common/draws.h"
#include "model/common/special.h"
#include "model/likelihood/likelihood.h"

static lth__log_p at(const lth__terms *t, double y, double f) {
    double noise = t->theta[0], dof = t->theta[1], d = y - f, a = dof * noise, q = a + d * d;
    double constant = lth__log_gamma((dof + 1) / 2) - lth__log_gamma(dof / 2) - 0.5 * log(M_PI * a);
    double d1 = (dof + 1) * d / q;
    return (lth__log_p){.value = constant - (dof + 1) / 2 * log1p(d * d / a),
                        .d1 = d1,
                        .d2 = (dof + 1) * (d * d - a) / q / q,
                        .d3 = -2 * d1 * (3 * a - d * d) / q / q};
}

static void by_params(const lth__terms *t, double y, double f, lth__log_p *out) {
    double noise = t->theta[0], dof = t->theta[1], d = y - f, a = dof * noise, q = a + d * d;
    double share = d * d / q, d1 = (dof + 1) * d / q,
           bend = (dof + 1) * (3 * d * d - a) / q / q / q;
    out[0] = (lth__log_p){
        .value = ((dof + 1) * share - 1) / (2 * noise), .d1 = -d1 * dof / q, .d2 = -dof * bend};
    double by_constant = lth__digamma((dof + 1) / 2) - lth__digamma(dof / 2) - 1 / dof;
    out[1] = (lth__log_p){.value = 0.5 * (by_constant - log1p(d * d / a) + (dof + 1) / dof * share),
                          .d1 = d / q - d1 * noise / q,
                          .d2 = (d * d - a) / q / q - noise * bend};
}

static double draw(const lth__terms *t, double f, lth__random *random) {
    double dof = t->theta[1], z = lth__random_normal(random);
    double log_lambda = lth__draw_log_gamma(random, dof / 2) - log(dof / 2);
    return f + z * sqrt(t->theta[0]) * exp(-0.5 * log_lambda);
}

static void moments_under(const lth__terms *t, double *mean, double *variance) {
    double noise = t->theta[0], dof = t->theta[1];
    (void)mean;
    *variance += dof > 2 ? noise * dof / (dof - 2) : INFINITY;
}

static void moments(const lth__terms *t, double f, double *mean, double *variance) {
    *mean = f;
    *variance = 0;
    moments_under(t, mean, variance);
}

static double cdf(const lth__terms *t, double y, double f) {
    double dof = t->theta[1], a = dof * t->theta[0], d = y - f, q = a + d * d;
    double beyond = 0.5 * lth__beta_below(dof / 2, 0.5, a / q, d * d / q);
    return d > 0 ? 1 - beyond : beyond;
}

static double width(const lth__terms *t, double f) {
    (void)f;
    return sqrt(t->theta[0]);
}

/* ---- The mixture ---- */

/* Nodes u = log lambda, from the left end on, and their weights. */
typedef struct mixture {
    double half_dof, log_factor; /* of the gamma distribution   */
    double step, from, to;
} mixture;

/* Weights fall as lambda^(dof/2) to the left; one more power of `reach` is added for what grows
 * with the variance noise / lambda. */
static mixture mixture_of(const lth__terms *t, double step, double reach) {
    double half = t->theta[1] / 2, sd = fmin(1, 1 / sqrt(half));
    return (mixture){.half_dof = half,
                     .log_factor = half * log(half) - lth__log_gamma(half) + log(step * sd),
                     .step = step * sd,
                     .from = -reach - 40 / half - 9 * sd,
                     .to = log1p(9 * sd + 40 / half)};
}

static double weight_at(const mixture *m, double u) {
    return exp(m->log_factor + m->half_dof * (u - exp(u)));
}

static const double fine = 0.3, coarse = 0.6;

static double log_p_under(const lth__terms *t, double y, double mean, double variance) {
    double noise = t->theta[0], d = (y - mean) * (y - mean), highest = -INFINITY, sum = 0;
    mixture m = mixture_of(t, fine, fmax(log(d / noise), 0));
    for (double u = m.from; u < m.to; u += m.step) {
        double of = variance + noise * exp(-u);
        double log_term = m.log_factor + m.half_dof * (u - exp(u)) - 0.5 * (d / of + log(of));
        if (log_term > highest) {
            sum *= exp(highest - log_term);
            highest = log_term;
        }
        sum += exp(log_term - highest);
    }
    return highest + log(sum) - 0.5 * log(2 * M_PI);
}

static double cdf_under(const lth__terms *t, double y, double mean, double variance) {
    mixture m = mixture_of(t, fine, 0);
    double sum = 0;
    for (double u = m.from; u < m.to; u += m.step)
        sum += weight_at(&m, u) * lth__phi((y - mean) / sqrt(variance + t->theta[0] * exp(-u)));
    return fmin(sum, 1);
}

/* E|Y - y| of a normal distribution whose mean is at this distance from y. */
static double mean_distance(double d, double variance) {
    double sd = sqrt(variance), z = d / sd;
    return d * erf(z / M_SQRT2) + sd * sqrt(2 / M_PI) * exp(-0.5 * z * z);
}

/* E|Y - y| - E|Y - Y'|/2, and the difference of two draws is a mixture as well. */
static double crps_under(const lth__terms *t, double y, double mean, double variance) {
    enum { MOST = 512 };
    double weight[MOST], of[MOST], sum = 0, spread = 0;
    size_t n = 0;
    mixture m = mixture_of(t, coarse, 0);
    for (double u = m.from; u < m.to && n < MOST; u += m.step, n++) {
        weight[n] = weight_at(&m, u);
        of[n] = variance + t->theta[0] * exp(-u);
        sum += weight[n] * mean_distance(y - mean, of[n]);
    }
    for (size_t i = 0; i < n; i++) {
        double row = 0.5 * weight[i] * sqrt(2 * of[i]);
        for (size_t j = 0; j < i; j++) row += weight[j] * sqrt(of[i] + of[j]);
        spread += 2 * weight[i] * row;
    }
    return sum - spread / sqrt(2 * M_PI);
}

const lth__likelihood lth__student = {
    .name = "student",
    .help = "numbers with noise that has heavy tails",
    .has_noise = true,
    .by_sites = true,
    .params = {{.path = "noise", .lo = 1e-6, .hi = 10, .start = 0.5, .variance = true},
               {.path = "dof", .lo = 2.05, .hi = 200, .start = 4}},
    .at = at,
    .by_params = by_params,
    .draw = draw,
    .moments = moments,
    .cdf = cdf,
    .width = width,
    .moments_under = moments_under,
    .log_p_under = log_p_under,
    .cdf_under = cdf_under,
    .crps_under = crps_under};
