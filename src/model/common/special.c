#include "model/common/special.h"

#include <math.h>

static const double log_root_two_pi = 0.91893853320467274178;

double lth__phi(double z) {
    return 0.5 * erfc(-z / M_SQRT2);
}

double lth__log_phi(double z) {
    if (z > -6) return log(0.5 * erfc(-z / M_SQRT2));
    double x = 1 / (z * z);
    double series = 1 - x * (1 - 3 * x * (1 - 5 * x * (1 - 7 * x * (1 - 9 * x))));
    return -0.5 * z * z - log(-z) - 0.5 * log(2 * M_PI) + log(series);
}

double lth__phi_ratio(double z) {
    return exp(-0.5 * z * z - log_root_two_pi - lth__log_phi(z));
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
