/* Counts with the mean mu = exp(f) and the variance mu + dispersion mu^2: the negative binomial
 * distribution. With x = dispersion mu and r = 1 / dispersion,
 *
 *     log p(y | f) = sum_{i<y} log(1 + i dispersion) - log y! + y f - (y + r) log(1 + x)
 */
#include <math.h>

#include "model/common/draws.h"
#include "model/common/special.h"
#include "model/likelihood/likelihood.h"

/* mu, and with q = x / (1 + x), p = 1 - q: what stays finite where mu does not. */
typedef struct rates {
    double mu, x, p, q;
} rates;

static rates rates_at(const lth__terms *t, double f) {
    rates r = {.mu = exp(fmin(f, 690))};
    r.x = t->theta[0] * r.mu;
    r.p = 1 / (1 + r.x);
    r.q = r.x * r.p;
    return r;
}

/* Sums over i < y are short, or differences of gamma functions; so are those of y in between. */
enum { SHORT = 64 };

static bool is_short(double y) {
    return y < SHORT && y == floor(y);
}

static double log_rising(double y, double dispersion) {
    double product = 1, r = 1 / dispersion; /* at most e^561 within the bounds */
    if (!is_short(y)) return lth__log_gamma(y + r) - lth__log_gamma(r) + y * log(dispersion);
    for (double i = 1; i < y; i++) product *= 1 + i * dispersion;
    return log(product);
}

static double log_rising_by(double y, double dispersion) {
    double sum = 0, r = 1 / dispersion;
    if (!is_short(y)) return r * (y - r * (lth__digamma(y + r) - lth__digamma(r)));
    for (double i = 1; i < y; i++) sum += i / (1 + i * dispersion);
    return sum;
}

static double log_p(const lth__terms *t, double y, double f) {
    double dispersion = t->theta[0], log_more = log1p(dispersion * exp(fmin(f, 690)));
    double power = y > 0 ? y * (fmin(f, 690) - log_more) : 0;
    return log_rising(y, dispersion) - lth__log_gamma(y + 1) + power - log_more / dispersion;
}

static lth__log_p at(const lth__terms *t, double y, double f) {
    rates r = rates_at(t, f);
    double bend = (y + 1 / t->theta[0]) * r.q * r.p;
    return (lth__log_p){.value = log_p(t, y, f),
                        .d1 = y * r.p - r.q / t->theta[0],
                        .d2 = -bend,
                        .d3 = -bend * (r.p - r.q)};
}

static void by_params(const lth__terms *t, double y, double f, lth__log_p *out) {
    double dispersion = t->theta[0];
    rates r = rates_at(t, f);
    double w = r.q / dispersion; /* mu / (1 + x) */
    double more = (log1p(r.x) - r.q) / (dispersion * dispersion);
    out[0] = (lth__log_p){.value = log_rising_by(y, dispersion) + more - y * w,
                          .d1 = -w * (y * r.p - w),
                          .d2 = -w * r.p * (y * (r.p - r.q) - 2 * w)};
}

/* A Poisson count whose mean is from a gamma distribution. */
static double draw(const lth__terms *t, double f, lth__random *random) {
    double log_gamma = lth__draw_log_gamma(random, 1 / t->theta[0]);
    return lth__draw_poisson(random, exp(fmin(f + log(t->theta[0]) + log_gamma, 690)));
}

static void moments(const lth__terms *t, double f, double *mean, double *variance) {
    rates r = rates_at(t, f);
    *mean = r.mu;
    *variance = r.mu * (1 + r.x);
}

static double cdf(const lth__terms *t, double y, double f) {
    rates r = rates_at(t, f);
    return y > -1 ? lth__beta_below(1 / t->theta[0], y + 1, r.p, r.q) : 0;
}

static double width(const lth__terms *t, double f) {
    return 1 / sqrt(1 + rates_at(t, f).q / t->theta[0]);
}

/* P(Y <= y | f) is a share of the beta distribution below p. */
static double log_fall(const lth__terms *t, double y, double f) {
    double r = 1 / t->theta[0], at = fmin(f, 690), log_p = -log1p(t->theta[0] * exp(at));
    return (y + 1) * (at + log(t->theta[0]) + log_p) + r * log_p + lth__log_gamma(r + y + 1) -
           lth__log_gamma(r) - lth__log_gamma(y + 1);
}

/* exp(f) is log-normal. */
static void moments_under(const lth__terms *t, double *mean, double *variance) {
    double mu = exp(*mean + *variance / 2), square = mu * mu * exp(*variance);
    *variance = mu + mu * mu * expm1(*variance) + t->theta[0] * square;
    *mean = mu;
}

const lth__likelihood lth__negbinomial = {
    .name = "negbinomial",
    .help = "counts with more variance than their mean",
    .of = LTH__OF_COUNTS,
    .own_units = true,
    .params = {{.path = "dispersion", .lo = 1e-4, .hi = 100, .start = 0.5}},
    .at = at,
    .by_params = by_params,
    .draw = draw,
    .moments = moments,
    .cdf = cdf,
    .width = width,
    .log_fall = log_fall,
    .moments_under = moments_under,
    .link = lth__counts_link,
    .refuse = lth__counts_refuse};
