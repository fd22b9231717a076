/* Numbers with normal noise of which the lower and upper ones are seen as a bound alone: a score of
 * 0 may stand for anything below it.
 *
 *     p(y | f) = N(y; f, noise) between the bounds
 *     P(y = lower | f) = Phi((lower - f) / s),   P(y = upper | f) = Phi((f - upper) / s)
 */
#include <math.h>

#include "model/common/special.h"
#include "model/likelihood/likelihood.h"

/* -1 for what is seen as the lower bound, 1 for the upper one, 0 between. */
static double side(const lth__terms *t, double y) {
    return y <= t->lower ? -1 : y >= t->upper ? 1 : 0;
}

static double bound_of(const lth__terms *t, double side) {
    return side < 0 ? t->lower : t->upper;
}

static lth__log_p at(const lth__terms *t, double y, double f) {
    double noise = t->theta[0], of = side(t, y);
    if (of == 0) return lth__gaussian.at(t, y, f);
    double s = sqrt(noise), z = of * (f - bound_of(t, of)) / s, r = lth__phi_ratio(z);
    return (lth__log_p){.value = lth__log_phi(z),
                        .d1 = of * r / s,
                        .d2 = -r * (z + r) / noise,
                        .d3 = of * r * ((z + r) * (z + 2 * r) - 1) / (noise * s)};
}

/* dz / dnoise = -z / (2 noise). */
static void by_params(const lth__terms *t, double y, double f, lth__log_p *out) {
    double noise = t->theta[0], of = side(t, y);
    if (of == 0) {
        lth__gaussian.by_params(t, y, f, out);
        return;
    }
    double s = sqrt(noise), z = of * (f - bound_of(t, of)) / s, r = lth__phi_ratio(z);
    double r1 = -r * (z + r), r2 = r * ((z + r) * (z + 2 * r) - 1);
    out[0] = (lth__log_p){.value = -r * z / (2 * noise),
                          .d1 = -of * (r1 * z + r) / (2 * noise * s),
                          .d2 = -(r2 * z / 2 + r1) / (noise * noise)};
}

/* Of a normal distribution with these moments, seen between the bounds. */
static void censor(const lth__terms *t, double *mean, double *variance) {
    double s = sqrt(*variance), a = (t->lower - *mean) / s, b = (t->upper - *mean) / s;
    double below = lth__phi(a), above = lth__phi(-b), inside = fmax(1 - below - above, 0);
    double pa = isfinite(a) ? exp(-0.5 * a * a) / sqrt(2 * M_PI) : 0;
    double pb = isfinite(b) ? exp(-0.5 * b * b) / sqrt(2 * M_PI) : 0;
    /* of z between a and b, then of y */
    double z1 = pa - pb, z2 = inside + (isfinite(a) ? a * pa : 0) - (isfinite(b) ? b * pb : 0);
    double first = *mean * inside + s * z1;
    double second = *mean * *mean * inside + 2 * *mean * s * z1 + s * s * z2;
    if (isfinite(a)) {
        first += below * t->lower;
        second += below * t->lower * t->lower;
    }
    if (isfinite(b)) {
        first += above * t->upper;
        second += above * t->upper * t->upper;
    }
    *mean = first;
    *variance = fmax(second - first * first, 0);
}

static void moments(const lth__terms *t, double f, double *mean, double *variance) {
    *mean = f;
    *variance = t->theta[0];
    censor(t, mean, variance);
}

static void moments_under(const lth__terms *t, double *mean, double *variance) {
    *variance += t->theta[0];
    censor(t, mean, variance);
}

static double log_p_under(const lth__terms *t, double y, double mean, double variance) {
    double of = side(t, y), s = sqrt(variance + t->theta[0]);
    if (of == 0) return lth__gaussian.log_p_under(t, y, mean, variance);
    return lth__log_phi(of * (mean - bound_of(t, of)) / s);
}

static double cdf_under(const lth__terms *t, double y, double mean, double variance) {
    if (y < t->lower) return 0;
    if (y >= t->upper) return 1;
    return lth__gaussian.cdf_under(t, y, mean, variance);
}

static double within(const lth__terms *t, double y) {
    return y < t->lower ? t->lower : y > t->upper ? t->upper : y;
}

static double quantile_under(const lth__terms *t, double share, double mean, double variance) {
    return within(t, lth__gaussian.quantile_under(t, share, mean, variance));
}

/* As without bounds, but for what is beyond them. */
static double crps_under(const lth__terms *t, double y, double mean, double variance) {
    double s = sqrt(variance + t->theta[0]), z = (within(t, y) - mean) / s;
    double beyond =
        lth__phi_squared((t->lower - mean) / s) + lth__phi_squared((mean - t->upper) / s);
    return s * fmax(lth__phi_squared(z) + lth__phi_squared(-z) - beyond, 0);
}

static double cdf(const lth__terms *t, double y, double f) {
    return cdf_under(t, y, f, 0);
}

static double width(const lth__terms *t, double f) {
    (void)f;
    return sqrt(t->theta[0]);
}

static double draw(const lth__terms *t, double f, lth__random *random) {
    return within(t, lth__gaussian.draw(t, f, random));
}

const lth__likelihood lth__censored = {
    .name = "censored",
    .help = "numbers with normal noise between bounds; what is beyond is seen as the bound",
    .has_noise = true,
    .params = {{.path = "noise", .lo = 1e-6, .hi = 10, .start = 0.5, .variance = true}},
    .at = at,
    .by_params = by_params,
    .draw = draw,
    .moments = moments,
    .cdf = cdf,
    .width = width,
    .moments_under = moments_under,
    .log_p_under = log_p_under,
    .cdf_under = cdf_under,
    .quantile_under = quantile_under,
    .crps_under = crps_under};
