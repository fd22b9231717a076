/* Grades 0 to K - 1: f with normal noise of variance 1, cut into pieces,
 *
 *     P(y = k | f) = Phi(c[k+1] - f) - Phi(c[k] - f)
 *     c[0] = -inf,  c[1] = 0,  c[k+1] = c[k] + gap[k],  c[K] = inf
 */
#include <math.h>

#include "model/common/special.h"
#include "model/likelihood/likelihood.h"

/* c[k]. */
static double cut(const lth__terms *t, size_t k) {
    double sum = 0;
    if (k == 0) return -INFINITY;
    if (k >= t->grades) return INFINITY;
    for (size_t j = 0; j + 1 < k; j++) sum += t->theta[j];
    return sum;
}

static size_t grade(const lth__terms *t, double y) {
    double last = (double)t->grades - 1;
    return y > 0 ? (size_t)(y < last ? y : last) : 0;
}

/* Of the normal distribution between a and b: the logarithm of its share, and its densities at a
 * and b over that share. */
typedef struct piece {
    double log_share, at_a, at_b;
} piece;

static double density(double z) {
    return exp(-0.5 * z * z) / sqrt(2 * M_PI);
}

/* Of a piece on the left of 0, or around it. On the left all is taken relative to the density at b,
 * which may be 0 as a number. */
static piece left_piece(double a, double b) {
    if (b > 0) {
        double share = 0.5 * (erf(b / M_SQRT2) - erf(a / M_SQRT2));
        return (piece){log(share), density(a) / share, density(b) / share};
    }
    double fall = isinf(a) ? 0 : exp(0.5 * (b - a) * (b + a));
    double share = 1 / lth__phi_ratio(b) - (fall > 0 ? fall / lth__phi_ratio(a) : 0);
    return (piece){log(share) - 0.5 * b * b - 0.5 * log(2 * M_PI), fall / share, 1 / share};
}

static piece piece_between(double a, double b) {
    if (a + b <= 0) return left_piece(a, b);
    piece mirrored = left_piece(-b, -a);
    return (piece){mirrored.log_share, mirrored.at_b, mirrored.at_a};
}

/* Rounding aside, d2 is between -1 and 0. */
static double clamp_curvature(double d2) {
    return d2 > 0 ? 0 : d2 < -1 ? -1 : d2;
}

/* What an end of the piece adds to the n-th derivative. */
static double end_of(double density, double z, double d1, double d2) {
    return density > 0 ? density * ((z - d1) * (z - d1) - 1 - d2) : 0;
}

static lth__log_p at(const lth__terms *t, double y, double f) {
    size_t k = grade(t, y);
    double a = cut(t, k) - f, b = cut(t, k + 1) - f;
    piece p = piece_between(a, b);
    double d1 = p.at_a - p.at_b;
    double d2 = (p.at_a > 0 ? p.at_a * (a - d1) : 0) - (p.at_b > 0 ? p.at_b * (b - d1) : 0);
    d2 = clamp_curvature(d2);
    return (lth__log_p){.value = p.log_share,
                        .d1 = d1,
                        .d2 = d2,
                        .d3 = end_of(p.at_a, a, d1, d2) - end_of(p.at_b, b, d1, d2)};
}

/* A gap below the grade moves both of its cuts, as f would in the other direction; the gap of the
 * grade itself moves its upper cut. */
static void by_params(const lth__terms *t, double y, double f, lth__log_p *out) {
    size_t k = grade(t, y), gaps = t->grades - 2;
    lth__log_p p = at(t, y, f);
    for (size_t j = 0; j < gaps; j++)
        out[j] =
            j + 1 < k ? (lth__log_p){.value = -p.d1, .d1 = -p.d2, .d2 = -p.d3} : (lth__log_p){0};
    if (k == 0 || k > gaps) return;
    double b = cut(t, k + 1) - f, r = piece_between(cut(t, k) - f, b).at_b;
    out[k - 1] =
        (lth__log_p){.value = r, .d1 = r > 0 ? r * (b - p.d1) : 0, .d2 = end_of(r, b, p.d1, p.d2)};
}

static double draw(const lth__terms *t, double f, lth__random *random) {
    double z = f + lth__random_normal(random);
    size_t k = 0;
    while (k + 1 < t->grades && z > cut(t, k + 1)) k++;
    return (double)k;
}

/* ---- Where f is normal: so are f and noise together ---- */

static double cdf_under(const lth__terms *t, double y, double mean, double variance) {
    if (y < 0) return 0;
    return lth__phi((cut(t, grade(t, y) + 1) - mean) / sqrt(1 + variance));
}

static double log_p_under(const lth__terms *t, double y, double mean, double variance) {
    size_t k = grade(t, y);
    double s = sqrt(1 + variance);
    return piece_between((cut(t, k) - mean) / s, (cut(t, k + 1) - mean) / s).log_share;
}

static void moments_under(const lth__terms *t, double *mean, double *variance) {
    double first = 0, second = 0;
    for (size_t k = 1; k < t->grades; k++) {
        double p = exp(log_p_under(t, (double)k, *mean, *variance));
        first += p * (double)k;
        second += p * (double)(k * k);
    }
    *mean = first;
    *variance = fmax(second - first * first, 0);
}

static void moments(const lth__terms *t, double f, double *mean, double *variance) {
    *mean = f;
    *variance = 0;
    moments_under(t, mean, variance);
}

static double cdf(const lth__terms *t, double y, double f) {
    return cdf_under(t, y, f, 0);
}

/* ---- Before learning ---- */

/* c[k] as the grades' shares have it, where f and noise together have a variance of 2 and any mean;
 * a grade that does not occur is counted as half a row. */
static double empirical_cut(const lth__terms *t, const double *y, size_t rows, size_t k) {
    double below = 0.5 * (double)k, all = (double)rows + 0.5 * (double)t->grades;
    for (size_t i = 0; i < rows; i++) below += grade(t, y[i]) < k;
    return M_SQRT2 * lth__phi_inverse(below / all);
}

static double link(const lth__terms *t, const double *y, size_t rows, double exposure) {
    (void)exposure;
    return -empirical_cut(t, y, rows, 1); /* c[1] is 0 */
}

static void start(const lth__terms *t, const double *y, size_t rows, double *theta) {
    double before = empirical_cut(t, y, rows, 1);
    for (size_t k = 2; k < t->grades; k++) {
        double here = empirical_cut(t, y, rows, k);
        theta[k - 2] = fmax(here - before, 1e-3);
        before = here;
    }
}

const lth__likelihood lth__ordinal = {
    .name = "ordinal",
    .help = "grades, with learned cut points between them",
    .of = LTH__OF_GRADES,
    .own_units = true,
    .params = {{.path = "gap", .lo = 1e-4, .hi = 50, .start = 1, .by_grade = true}},
    .at = at,
    .by_params = by_params,
    .draw = draw,
    .moments = moments,
    .cdf = cdf,
    .moments_under = moments_under,
    .log_p_under = log_p_under,
    .cdf_under = cdf_under,
    .link = link,
    .start = start};
