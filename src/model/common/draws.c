#include "model/common/draws.h"

#include <math.h>

#include "model/common/special.h"

static double positive(lth__random *random) {
    return 1 - lth__random_uniform(random);
}

/* Marsaglia and Tsang (2000): the cube of a normal draw, rejected now and then. Below 1 the shape
 * is one more, and a uniform number to the power of 1 / shape makes up for it. */
double lth__draw_log_gamma(lth__random *random, double shape) {
    double more = shape < 1 ? log(positive(random)) / shape : 0;
    double d = (shape < 1 ? shape + 1 : shape) - 1. / 3, c = 1 / sqrt(9 * d);
    for (;;) {
        double z = lth__random_normal(random), root = 1 + c * z;
        if (root <= 0) continue;
        double v = root * root * root;
        if (log(positive(random)) < 0.5 * z * z + d * (1 - v + log(v))) return log(d * v) + more;
    }
}

/* Steps of a process of rate 1 within `mean`. */
static double count_steps(lth__random *random, double mean) {
    double count = 0, rest = exp(-mean);
    for (double product = positive(random); product > rest; product *= positive(random)) count++;
    return count;
}

/* Hörmann (1993), transformed rejection: a ratio of uniform numbers under a hat that fits all
 * means. */
static double reject_from_hat(lth__random *random, double mean) {
    double b = 0.931 + 2.53 * sqrt(mean), a = -0.059 + 0.02483 * b;
    double factor = 1.1239 + 1.1328 / (b - 3.4), log_mean = log(mean);
    for (;;) {
        double u = lth__random_uniform(random) - 0.5, v = positive(random), us = 0.5 - fabs(u);
        if (us <= 0) continue;
        double k = floor((2 * a / us + b) * u + mean + 0.43);
        if (k < 0 || (us < 0.013 && v > us)) continue;
        double under = k * log_mean - mean - lth__log_gamma(k + 1);
        if (log(v * factor / (a / (us * us) + b)) <= under) return k;
    }
}

double lth__draw_poisson(lth__random *random, double mean) {
    if (!(mean > 0)) return 0;
    if (mean > 1e15) return mean;
    return mean < 10 ? count_steps(random, mean) : reject_from_hat(random, mean);
}
