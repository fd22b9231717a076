/* Labels by the logistic function: P(y | f) = 1 / (1 + exp(-y f)). */
#include <math.h>

#include "model/likelihood/likelihood.h"

static lth__log_p at(const lth__terms *t, double y, double f) {
    (void)t;
    double z = y * f, small = exp(-fabs(z)); /* no overflow on either side */
    double p = (f >= 0 ? 1 : exp(f)) / (1 + exp(-fabs(f))), w = p * (1 - p);
    if (w < small / 4 / (1 + small))
        w = small / ((1 + small) * (1 + small)); /* 1 - p has rounded to 0 */
    return (lth__log_p){.value = (z < 0 ? z : 0) - log1p(small),
                        .d1 = y * (z >= 0 ? small / (1 + small) : 1 / (1 + small)),
                        .d2 = -w,
                        .d3 = -w * (1 - 2 * p)};
}

/* The mean of the logistic function under a normal distribution, by the trapezoidal rule, whose
 * error falls exponentially with the step for integrands as smooth as these: over the normal
 * density where that is the narrower of the two, otherwise over the logistic one. */
static double mean_logistic(double mean, double sd) {
    double sum = 0;
    if (sd <= 1) {
        const double step = 0.25;
        for (double z = -9; z <= 9; z += step)
            sum += step * exp(-0.5 * z * z) / (1 + exp(-(mean + sd * z)));
        return sum / sqrt(2 * M_PI);
    }
    const double step = 0.5;
    for (double t = -40; t <= 40; t += step) {
        double e = exp(-fabs(t)), density = e / ((1 + e) * (1 + e));
        sum += step * density * 0.5 * erfc((t - mean) / sd / M_SQRT2);
    }
    return sum;
}

static double probability(const lth__terms *t, double mean, double variance) {
    (void)t;
    double p = mean_logistic(mean, sqrt(variance > 0 ? variance : 0));
    return p > 1 ? 1 : p;
}

static double draw(const lth__terms *t, double f, lth__random *random) {
    return lth__random_uniform(random) < probability(t, f, 0) ? 1 : -1;
}

const lth__likelihood lth__logit = {.name = "logit",
                                    .help = "labels, by the logistic function",
                                    .of = LTH__OF_LABELS,
                                    .own_units = true,
                                    .at = at,
                                    .probability = probability,
                                    .draw = draw};
