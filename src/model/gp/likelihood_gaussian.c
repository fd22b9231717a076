/* Numbers with Gaussian noise: y ~ N(f, noise). */
#include <math.h>

#include "model/gp/likelihood.h"

static lth__log_p at(const double *theta, double y, double f) {
    double noise = theta[0], d = y - f;
    return (lth__log_p){
        .value = -0.5 * (d * d / noise + log(2 * M_PI * noise)), .d1 = d / noise, .d2 = -1 / noise};
}

static void moments(const double *theta, double *mean, double *variance) {
    (void)mean;
    *variance += theta[0];
}

static double draw(const double *theta, double f, lth__random *random) {
    return f + sqrt(theta[0]) * lth__random_normal(random);
}

const lth__likelihood lth__gaussian = {.name = "gaussian",
                                       .params = {{"noise", 1e-6, 10}},
                                       .at = at,
                                       .moments = moments,
                                       .draw = draw};
