/* Counts with the mean exp(f), and as much variance: p(y | f) = exp(y f - exp(f)) / y!. */
#include <math.h>

#include "model/common/draws.h"
#include "model/common/special.h"
#include "model/likelihood/likelihood.h"

static double mean_at(double f) {
    return exp(fmin(f, 690));
}

/* Of large counts relative to f = log y, where the large numbers have cancelled. */
static double log_p(double y, double f) {
    enum { LARGE = 16 };
    if (y < LARGE) return y * f - mean_at(f) - lth__log_gamma(y + 1);
    double u = fmin(f, 690) - log(y);
    return y * (u - expm1(u)) - 0.5 * log(2 * M_PI * y) - lth__stirling_rest(y);
}

static lth__log_p at(const lth__terms *t, double y, double f) {
    (void)t;
    double mu = mean_at(f);
    return (lth__log_p){.value = log_p(y, f), .d1 = y - mu, .d2 = -mu, .d3 = -mu};
}

static double draw(const lth__terms *t, double f, lth__random *random) {
    (void)t;
    return lth__draw_poisson(random, mean_at(f));
}

static void moments(const lth__terms *t, double f, double *mean, double *variance) {
    (void)t;
    *mean = *variance = mean_at(f);
}

static double cdf(const lth__terms *t, double y, double f) {
    (void)t;
    return y > -1 ? lth__gamma_above(y + 1, mean_at(f)) : 0;
}

static double width(const lth__terms *t, double f) {
    (void)t;
    return 1 / sqrt(1 + mean_at(f));
}

static double log_fall(const lth__terms *t, double y, double f) {
    (void)t;
    return log_p(y, f) + f;
}

/* exp(f) is log-normal. */
static void moments_under(const lth__terms *t, double *mean, double *variance) {
    (void)t;
    double mu = exp(*mean + *variance / 2);
    *variance = mu + mu * mu * expm1(*variance);
    *mean = mu;
}

/* Where all counts are 0, as if there were half a one. */
double lth__counts_link(const lth__terms *t, const double *y, size_t rows, double exposure) {
    (void)t;
    double sum = 0;
    for (size_t i = 0; i < rows; i++) sum += y[i];
    return log((sum > 0 ? sum : 0.5) / exposure);
}

const char *lth__counts_refuse(const lth__terms *t, double y) {
    (void)t;
    return y >= 0 && y == floor(y) ? NULL : "is not a count: counts are whole numbers from 0 on";
}

const lth__likelihood lth__poisson = {.name = "poisson",
                                      .help = "counts with as much variance as their mean",
                                      .of = LTH__OF_COUNTS,
                                      .own_units = true,
                                      .at = at,
                                      .draw = draw,
                                      .moments = moments,
                                      .cdf = cdf,
                                      .width = width,
                                      .log_fall = log_fall,
                                      .moments_under = moments_under,
                                      .link = lth__counts_link,
                                      .refuse = lth__counts_refuse};
