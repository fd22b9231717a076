/* Expectations of a log likelihood under a normal distribution, by Gauss and Hermite's rule. */
#include <math.h>

#include "model/gp/likelihood.h"

/* Hermite's polynomial of degree LTH__NODES, orthonormal under the normal density, at x; and the
 * one before it. */
static double hermite(double x, double *before) {
    double last = 0, h = 1;
    for (int k = 0; k < LTH__NODES; k++) {
        double next = (x * h - sqrt(k) * last) / sqrt(k + 1);
        last = h;
        h = next;
    }
    *before = last;
    return h;
}

/* Its root between two places where it has different signs. */
static double root(double lo, double hi) {
    double before;
    bool rises = hermite(hi, &before) > 0;
    for (int i = 0; i < 60; i++) {
        double middle = (lo + hi) / 2;
        if ((hermite(middle, &before) > 0) == rises)
            hi = middle;
        else
            lo = middle;
    }
    return (lo + hi) / 2;
}

/* Roots lie symmetrically, at least 0.38 apart, and below 2 sqrt(n). */
void lth__quadrature_make(lth__quadrature *q) {
    const double step = 0.1;
    double before, sum = 0;
    size_t found = 0, half = LTH__NODES / 2;
    for (double x = 0; found < half && x < 2 * sqrt(LTH__NODES); x += step) {
        if ((hermite(x, &before) > 0) == (hermite(x + step, &before) > 0)) continue;
        double node = root(x, x + step);
        (void)hermite(node, &before);
        double weight = 1 / (LTH__NODES * before * before);
        q->node[half + found] = node;
        q->node[half - 1 - found] = -node;
        q->weight[half + found] = q->weight[half - 1 - found] = weight;
        sum += 2 * weight;
        found++;
    }
    for (size_t i = 0; i < LTH__NODES; i++) q->weight[i] /= sum;
}

lth__expected lth__likelihood_expect(const lth__likelihood *l, const double *theta,
                                     const lth__quadrature *q, double y, double mean,
                                     double variance) {
    double sd = sqrt(variance > 0 ? variance : 0), slope = 0, curvature = 0;
    lth__expected e = {0};
    for (size_t i = 0; i < LTH__NODES; i++) {
        double w = q->weight[i];
        lth__log_p p = l->at(theta, y, mean + sd * q->node[i]);
        e.value += w * p.value;
        e.by_mean += w * p.d1;
        slope += w * p.d1 * q->node[i];
        curvature += w * p.d2;
    }
    /* Where the first is a quotient of two small numbers, the rule is exact and they are the same.
     */
    e.by_variance = sd > 1e-4 ? slope / (2 * sd) : curvature / 2;
    return e;
}
