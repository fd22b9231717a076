/* Gauss and Hermite's rule, by which expectations under a normal distribution are taken. */
#include <math.h>
#include <pthread.h>

#include "model/likelihood/likelihood.h"

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

static lth__quadrature shared;

/* Roots lie symmetrically, at least 0.38 apart, and below 2 sqrt(n). */
static void make(void) {
    lth__quadrature *q = &shared;
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

const lth__quadrature *lth__quadrature_shared(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make);
    return &shared;
}
