/* What is seen of the logarithm g of a noise by how far rows are from their f: with s = (y - f)^2,
 * expected over f, and the noise theta e^g,
 *
 *     log p(s | g) = -(log(2 pi theta) + g + s e^-g / theta) / 2
 *
 * It is no likelihood that a caller can name: see noise.h.
 */
#include <math.h>

#include "model/likelihood/likelihood.h"

/* How many times as much as expected. */
static double excess_of(const lth__terms *t, double s, double g) {
    return s * exp(-g) / t->theta[0];
}

static lth__log_p at(const lth__terms *t, double s, double g) {
    double q = excess_of(t, s, g);
    return (lth__log_p){.value = -0.5 * (log(2 * M_PI * t->theta[0]) + g + q),
                        .d1 = 0.5 * (q - 1),
                        .d2 = -0.5 * q,
                        .d3 = 0.5 * q};
}

static void by_params(const lth__terms *t, double s, double g, lth__log_p *out) {
    double q = excess_of(t, s, g), noise = t->theta[0];
    out[0] =
        (lth__log_p){.value = 0.5 * (q - 1) / noise, .d1 = -0.5 * q / noise, .d2 = 0.5 * q / noise};
}

static lth__expected expect(const lth__terms *t, double s, double mean, double variance) {
    lth__log_p p = at(t, s, mean - 0.5 * variance);
    return (lth__expected){
        .value = p.value - 0.25 * variance, .by_mean = p.d1, .by_variance = 0.5 * p.d2};
}

static void expect_params(const lth__terms *t, double s, double mean, double variance,
                          double *sum) {
    lth__log_p by;
    by_params(t, s, mean - 0.5 * variance, &by);
    sum[0] += by.value;
}

const lth__likelihood lth__spread = {
    .name = "spread",
    .help = "the noise of rows, by how far they are from what is expected",
    .of = LTH__OF_SPREADS,
    .params = {{.path = "noise", .lo = 1e-6, .hi = 10, .start = 0.5, .variance = true}},
    .at = at,
    .by_params = by_params,
    .expect = expect,
    .expect_params = expect_params};
