/* Shares between 0 and 1, from the beta distribution with the mean mu = 1 / (1 + exp(-f)):
 *
 *     p(y | f) = y^(a-1) (1 - y)^(b-1) / B(a, b),   a = mu precision,  b = (1 - mu) precision
 *
 * The larger the precision, the nearer is y to its mean: the variance is mu (1 - mu) / (1 +
 * precision).
 */
#include <float.h>
#include <math.h>

#include "model/common/draws.h"
#include "model/common/special.h"
#include "model/likelihood/likelihood.h"

/* mu and 1 - mu, w = dmu/df, and both shapes. Beyond the bounds of f their powers would overflow,
 * and nothing changes any more. */
typedef struct shapes {
    double mu, nu, w, a, b;
} shapes;

static shapes shapes_at(const lth__terms *t, double f) {
    const double most = 80;
    f = f > most ? most : f < -most ? -most : f;
    shapes s = {.mu = 1 / (1 + exp(-f)), .nu = 1 / (1 + exp(f))};
    s.w = s.mu * s.nu;
    s.a = s.mu * t->theta[0];
    s.b = s.nu * t->theta[0];
    return s;
}

static double logit(double y) {
    return log(y) - log1p(-y);
}

/* By mu first, then by f. */
static lth__log_p at(const lth__terms *t, double y, double f) {
    double phi = t->theta[0];
    shapes s = shapes_at(t, f);
    double l1 = phi * (lth__digamma(s.b) - lth__digamma(s.a) + logit(y)) * s.w;
    double l2 = -phi * phi * (lth__trigamma(s.a) + lth__trigamma(s.b)) * s.w * s.w;
    double l3 = phi * phi * phi * (lth__tetragamma(s.b) - lth__tetragamma(s.a)) * s.w * s.w * s.w;
    double turn = s.nu - s.mu;
    return (lth__log_p){.value = lth__log_gamma(phi) - lth__log_gamma(s.a) - lth__log_gamma(s.b) +
                                 (s.a - 1) * log(y) + (s.b - 1) * log1p(-y),
                        .d1 = l1,
                        .d2 = l2 + l1 * turn,
                        .d3 = l3 + 3 * l2 * turn + l1 * (1 - 6 * s.w)};
}

static void by_params(const lth__terms *t, double y, double f, lth__log_p *out) {
    double phi = t->theta[0];
    shapes s = shapes_at(t, f);
    double psi_a = lth__digamma(s.a), psi_b = lth__digamma(s.b);
    double tri_a = lth__trigamma(s.a), tri_b = lth__trigamma(s.b);
    double l1 = (psi_b - psi_a + logit(y) + s.b * tri_b - s.a * tri_a) * s.w;
    double l2 = -phi *
                (2 * (tri_a + tri_b) + s.a * lth__tetragamma(s.a) + s.b * lth__tetragamma(s.b)) *
                s.w * s.w;
    out[0] = (lth__log_p){.value = lth__digamma(phi) - s.mu * psi_a - s.nu * psi_b + s.mu * log(y) +
                                   s.nu * log1p(-y),
                          .d1 = l1,
                          .d2 = l2 + l1 * (s.nu - s.mu)};
}

/* A gamma draw as a share of two; never 0 or 1, whatever rounding says. */
static double draw(const lth__terms *t, double f, lth__random *random) {
    shapes s = shapes_at(t, f);
    double log_a = lth__draw_log_gamma(random, s.a), log_b = lth__draw_log_gamma(random, s.b);
    double y = 1 / (1 + exp(log_b - log_a));
    return fmin(fmax(y, DBL_MIN), 1 - DBL_EPSILON / 2);
}

static void moments(const lth__terms *t, double f, double *mean, double *variance) {
    shapes s = shapes_at(t, f);
    *mean = s.mu;
    *variance = s.w / (1 + t->theta[0]);
}

static double cdf(const lth__terms *t, double y, double f) {
    shapes s = shapes_at(t, f);
    return lth__beta_below(s.a, s.b, y, 1 - y);
}

static double width(const lth__terms *t, double f) {
    return 1 / sqrt(1 + t->theta[0] * shapes_at(t, f).w);
}

static double link(const lth__terms *t, const double *y, size_t rows, double exposure) {
    (void)t, (void)exposure;
    double mean = 0;
    for (size_t i = 0; i < rows; i++) mean += y[i] / (double)rows;
    return logit(fmin(fmax(mean, 1e-6), 1 - 1e-6));
}

static const char *refuse(const lth__terms *t, double y) {
    (void)t;
    if (y > 0 && y < 1) return NULL;
    return y == 0 || y == 1
               ? "is not inside of 0 to 1: bring shares a little nearer to the middle, as by "
                 "(y (N - 1) + 0.5) / N for N rows, or take the likelihood censored"
               : "is not a share: shares are between 0 and 1";
}

const lth__likelihood lth__beta = {
    .name = "beta",
    .help = "shares between 0 and 1",
    .of = LTH__OF_SHARES,
    .own_units = true,
    .params = {{.path = "precision", .lo = 0.1, .hi = 1e5, .start = 10}},
    .at = at,
    .by_params = by_params,
    .draw = draw,
    .moments = moments,
    .cdf = cdf,
    .width = width,
    .link = link,
    .refuse = refuse};
