/* Labels by the normal distribution function: P(y | f) = Phi(y f). */
#include <math.h>

#include "model/common/special.h"
#include "model/likelihood/likelihood.h"

static lth__log_p at(const lth__terms *t, double y, double f) {
    (void)t;
    double z = y * f, log_p = lth__log_phi(z);
    double r = exp(-0.5 * z * z - 0.5 * log(2 * M_PI) - log_p); /* density over distribution */
    return (lth__log_p){
        .value = log_p, .d1 = y * r, .d2 = -r * (z + r), .d3 = y * r * ((z + r) * (z + 2 * r) - 1)};
}

static double probability(const lth__terms *t, double mean, double variance) {
    (void)t;
    return 0.5 * erfc(-mean / sqrt(1 + (variance > 0 ? variance : 0)) / M_SQRT2);
}

static double draw(const lth__terms *t, double f, lth__random *random) {
    return lth__random_uniform(random) < probability(t, f, 0) ? 1 : -1;
}

const lth__likelihood lth__probit = {.name = "probit",
                                     .help = "labels, by the normal distribution function",
                                     .of = LTH__OF_LABELS,
                                     .own_units = true,
                                     .at = at,
                                     .probability = probability,
                                     .draw = draw};
