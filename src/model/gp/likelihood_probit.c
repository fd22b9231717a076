/* Labels by the normal distribution function: P(y | f) = Phi(y f). */
#include <math.h>

#include "model/gp/likelihood.h"

/* log Phi, also far to the left where Phi is 0 as a number. */
static double log_phi(double z) {
    if (z > -6) return log(0.5 * erfc(-z / M_SQRT2));
    double x = 1 / (z * z);
    double series = 1 - x * (1 - 3 * x * (1 - 5 * x * (1 - 7 * x * (1 - 9 * x))));
    return -0.5 * z * z - log(-z) - 0.5 * log(2 * M_PI) + log(series);
}

static lth__log_p at(const double *theta, double y, double f) {
    (void)theta;
    double z = y * f, log_p = log_phi(z);
    double r = exp(-0.5 * z * z - 0.5 * log(2 * M_PI) - log_p); /* density over distribution */
    return (lth__log_p){
        .value = log_p, .d1 = y * r, .d2 = -r * (z + r), .d3 = y * r * ((z + r) * (z + 2 * r) - 1)};
}

static double probability(const double *theta, double mean, double variance) {
    (void)theta;
    return 0.5 * erfc(-mean / sqrt(1 + (variance > 0 ? variance : 0)) / M_SQRT2);
}

static double draw(const double *theta, double f, lth__random *random) {
    return lth__random_uniform(random) < probability(theta, f, 0) ? 1 : -1;
}

const lth__likelihood lth__probit = {.name = "probit",
                                     .of_labels = true,
                                     .own_units = true,
                                     .at = at,
                                     .probability = probability,
                                     .draw = draw};
