#include "model/common/special.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

static const double log_root_two_pi = 0.91893853320467274178;

/* ---- The normal distribution ---- */

double lth__phi(double z) {
    return 0.5 * erfc(-z / M_SQRT2);
}

/* Below this erfc is 0 or near it, and a few terms of its series are exact. */
static const double far_left = -35;

/* Phi(z) = density(z) / -z * series. */
static double series_left(double z) {
    double x = 1 / (z * z);
    return 1 - x * (1 - 3 * x * (1 - 5 * x * (1 - 7 * x * (1 - 9 * x))));
}

double lth__log_phi(double z) {
    if (z > far_left) return log(0.5 * erfc(-z / M_SQRT2));
    return -0.5 * z * z - log(-z) - log_root_two_pi + log(series_left(z));
}

double lth__phi_ratio(double z) {
    if (z > far_left) return exp(-0.5 * z * z - log_root_two_pi) / lth__phi(z);
    return -z / series_left(z);
}

/* The lower half, by Newton's method on log phi, which is concave: from the left it comes near at
 * twice the digits a step. */
static double lower_half(double share) {
    double goal = log(share), z = -sqrt(fmax(-2 * (goal + M_LN2), 0));
    for (int i = 0; i < 60; i++) {
        double step = (lth__log_phi(z) - goal) / lth__phi_ratio(z);
        z -= step;
        if (fabs(step) < 1e-14 * (1 + fabs(z))) break;
    }
    return z;
}

double lth__phi_inverse(double share) {
    if (!(share > 0)) return -INFINITY;
    if (!(share < 1)) return INFINITY;
    return share <= 0.5 ? lower_half(share) : -lower_half(1 - share);
}

double lth__phi_squared(double z) {
    if (z < -30) return 0;
    double p = lth__phi(z), density = exp(-0.5 * z * z - log_root_two_pi);
    return z * p * p + 2 * p * density - lth__phi(M_SQRT2 * z) / sqrt(M_PI);
}

/* ---- The gamma function ---- */

/* From here on its asymptotic series have all digits. */
enum { LARGE = 16 };

double lth__stirling_rest(double x) {
    double s = 1 / (x * x);
    return (1. / 12 - s * (1. / 360 - s * (1. / 1260 -
                                           s * (1. / 1680 - s * (1. / 1188 - s * 691 / 360360))))) /
           x;
}

double lth__log_gamma(double x) {
    double product = 1;
    while (x < LARGE) product *= x++;
    return (x - 0.5) * log(x) - x + log_root_two_pi + lth__stirling_rest(x) - log(product);
}

double lth__digamma(double x) {
    double sum = 0;
    for (; x < LARGE; x++) sum -= 1 / x;
    double s = 1 / (x * x);
    return sum + log(x) - 0.5 / x -
           s * (1. / 12 - s * (1. / 120 - s * (1. / 252 - s * (1. / 240 - s * (1. / 132)))));
}

double lth__trigamma(double x) {
    double sum = 0;
    for (; x < LARGE; x++) sum += 1 / (x * x);
    double s = 1 / (x * x);
    return sum + 0.5 * s +
           (1 +
            s * (1. / 6 -
                 s * (1. / 30 - s * (1. / 42 - s * (1. / 30 - s * (5. / 66 - s * 691 / 2730)))))) /
               x;
}

double lth__tetragamma(double x) {
    double sum = 0;
    for (; x < LARGE; x++) sum -= 2 / (x * x * x);
    double s = 1 / (x * x);
    return sum - s / x -
           s * (1 +
                s * (0.5 - s * (1. / 6 - s * (1. / 6 - s * (0.3 - s * (5. / 6 - s * 691 / 210))))));
}

/* ---- The gamma distribution ---- */

static double log_power(double shape, double x) {
    return shape * log(x) - x - lth__log_gamma(shape);
}

/* x^shape e^-x / gamma(shape) * (1 / shape + x / (shape (shape + 1)) + ...). */
static double below_by_series(double shape, double x) {
    double term = 1 / shape, sum = term;
    for (double a = shape + 1; term > sum * DBL_EPSILON / 4; a++) {
        term *= x / a;
        sum += term;
    }
    return sum * exp(log_power(shape, x));
}

/* Legendre's continued fraction, by Lentz's method. */
static double above_by_fraction(double shape, double x) {
    const double tiny = 1e-300;
    double b = x + 1 - shape, c = 1 / tiny, d = 1 / b, h = d;
    for (int i = 1; i < 10000; i++) {
        double a = -i * (i - shape), change;
        b += 2;
        d = a * d + b;
        d = 1 / (fabs(d) < tiny ? tiny : d);
        c = b + a / c;
        c = fabs(c) < tiny ? tiny : c;
        change = c * d;
        h *= change;
        if (fabs(change - 1) < DBL_EPSILON) break;
    }
    return h * exp(log_power(shape, x));
}

/* The density of u = log(x / shape), which is nearly normal for large shapes. */
static double log_scale_density(void *user, double u) {
    double shape = *(const double *)user;
    return sqrt(shape / (2 * M_PI)) * exp(shape * (u - expm1(u)) - lth__stirling_rest(shape));
}

/* The smaller of the two shares, with a sign that says which one: series and fraction of large
 * shapes have as many terms as the root of the shape. */
static double share_of_large(double shape, double x, bool *below) {
    double u = log(x / shape), reach = 11 / sqrt(shape);
    *below = u < 0;
    if (!(fabs(u) < 40 / sqrt(shape))) return 0;
    return u < 0 ? lth__integrate(log_scale_density, &shape, u - reach, u, 6)
                 : lth__integrate(log_scale_density, &shape, u, u + reach, 6);
}

/* The share on one side, computed where it is the smaller one. */
static double gamma_share(double shape, double x, bool want_below) {
    enum { MANY = 200 };
    if (!(x > 0)) return want_below ? 0 : 1;
    if (isinf(x)) return want_below ? 1 : 0;
    bool below = x < shape + 1;
    double share = shape >= MANY ? share_of_large(shape, x, &below)
                   : below       ? below_by_series(shape, x)
                                 : above_by_fraction(shape, x);
    share = fmin(share, 1);
    return below == want_below ? share : 1 - share;
}

double lth__gamma_below(double shape, double x) {
    return gamma_share(shape, x, true);
}

double lth__gamma_above(double shape, double x) {
    return gamma_share(shape, x, false);
}

/* ---- The beta distribution ---- */

/* Its continued fraction, by Lentz's method: as many terms as the root of a + b. */
static double beta_fraction(double a, double b, double x) {
    const double tiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1), h;
    d = 1 / (fabs(d) < tiny ? tiny : d);
    h = d;
    for (int m = 1; m < 10000; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        const double terms[2] = {even, odd};
        double change = 1;
        for (int k = 0; k < 2; k++) {
            d = 1 + terms[k] * d;
            d = 1 / (fabs(d) < tiny ? tiny : d);
            c = 1 + terms[k] / c;
            c = fabs(c) < tiny ? tiny : c;
            change = c * d;
            h *= change;
        }
        if (fabs(change - 1) < DBL_EPSILON) break;
    }
    return h;
}

double lth__beta_below(double a, double b, double x, double rest) {
    if (!(x > 0)) return 0;
    if (!(rest > 0)) return 1;
    double front = exp(a * log(x) + b * log(rest) + lth__log_gamma(a + b) - lth__log_gamma(a) -
                       lth__log_gamma(b));
    if (x < (a + 1) / (a + b + 2)) return fmin(front * beta_fraction(a, b, x) / a, 1);
    return 1 - fmin(front * beta_fraction(b, a, rest) / b, 1);
}

/* ---- Integrals ---- */

double lth__integrate(lth__integrand *f, void *user, double from, double to, size_t panels) {
    enum { PAIRS = 4 };
    static const double node[PAIRS] = {0.18343464249564980, 0.52553240991632899,
                                       0.79666647741362674, 0.96028985649753623};
    static const double weight[PAIRS] = {0.36268378337836198, 0.31370664587788729,
                                         0.22238103445337447, 0.10122853629037626};
    double half = (to - from) / (2 * (double)panels), sum = 0;
    for (size_t i = 0; i < panels; i++) {
        double middle = from + half * (double)(2 * i + 1);
        for (size_t k = 0; k < PAIRS; k++)
            sum +=
                weight[k] * (f(user, middle - half * node[k]) + f(user, middle + half * node[k]));
    }
    return sum * half;
}
