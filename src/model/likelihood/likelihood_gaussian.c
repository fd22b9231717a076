/* Numbers with Gaussian noise: y ~ N(f, noise). What is warped is so after the warp (warp.h). */
#include <math.h>

#include "model/common/special.h"
#include "model/likelihood/likelihood.h"

static lth__log_p at(const lth__terms *t, double y, double f) {
    double noise = t->theta[0], d = y - f;
    return (lth__log_p){
        .value = -0.5 * (d * d / noise + log(2 * M_PI * noise)), .d1 = d / noise, .d2 = -1 / noise};
}

static void by_params(const lth__terms *t, double y, double f, lth__log_p *out) {
    double noise = t->theta[0], d = y - f, square = noise * noise;
    out[0] = (lth__log_p){
        .value = 0.5 * (d * d / square - 1 / noise), .d1 = -d / square, .d2 = 1 / square};
}

static lth__expected expect(const lth__terms *t, double y, double mean, double variance) {
    lth__log_p p = at(t, y, mean);
    return (lth__expected){
        .value = p.value + 0.5 * variance * p.d2, .by_mean = p.d1, .by_variance = 0.5 * p.d2};
}

static void expect_params(const lth__terms *t, double y, double mean, double variance,
                          double *sum) {
    lth__log_p by;
    by_params(t, y, mean, &by);
    sum[0] += by.value + 0.5 * variance * by.d2;
}

#define QUADRATIC .quadratic = true, .expect = expect, .expect_params = expect_params

static void moments(const lth__terms *t, double f, double *mean, double *variance) {
    *mean = f;
    *variance = t->theta[0];
}

static double cdf(const lth__terms *t, double y, double f) {
    return 0.5 * erfc((f - y) / sqrt(2 * t->theta[0]));
}

static double width(const lth__terms *t, double f) {
    (void)f;
    return sqrt(t->theta[0]);
}

static void moments_under(const lth__terms *t, double *mean, double *variance) {
    (void)mean;
    *variance += t->theta[0];
}

static double log_p_under(const lth__terms *t, double y, double mean, double variance) {
    double d = y - mean, sum = variance + t->theta[0];
    return -0.5 * (d * d / sum + log(2 * M_PI * sum));
}

static double cdf_under(const lth__terms *t, double y, double mean, double variance) {
    return 0.5 * erfc((mean - y) / sqrt(2 * (variance + t->theta[0])));
}

static double quantile_under(const lth__terms *t, double share, double mean, double variance) {
    return mean + sqrt(variance + t->theta[0]) * lth__phi_inverse(share);
}

/* The integrals of F^2 below y and of (1 - F)^2 above. */
static double crps_under(const lth__terms *t, double y, double mean, double variance) {
    double s = sqrt(variance + t->theta[0]), z = (y - mean) / s;
    return s * (lth__phi_squared(z) + lth__phi_squared(-z));
}

static double draw(const lth__terms *t, double f, lth__random *random) {
    return f + sqrt(t->theta[0]) * lth__random_normal(random);
}

#define WITH_NOISE                                                                                 \
    .has_noise = true,                                                                             \
    .params = {{.path = "noise", .lo = 1e-6, .hi = 10, .start = 0.5, .variance = true}}, .at = at, \
    .by_params = by_params, .draw = draw, .moments = moments, .cdf = cdf, .width = width,          \
    .moments_under = moments_under, .log_p_under = log_p_under, .cdf_under = cdf_under,            \
    .quantile_under = quantile_under, .crps_under = crps_under

const lth__likelihood lth__gaussian = {
    .name = "gaussian", .help = "numbers with normal noise", WITH_NOISE, QUADRATIC};
const lth__likelihood lth__warped = {.name = "warped",
                                     .help = "numbers with normal noise after a learned warp",
                                     WITH_NOISE,
                                     QUADRATIC};
