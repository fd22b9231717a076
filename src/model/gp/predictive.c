#include "model/gp/predictive.h"

#include <math.h>

/* ---- Between the target's units and those inside ---- */

static double to_inside(const lth__predictive *p, double y, double *log_slope) {
    const lth__target *t = p->target;
    double x = (y - t->shift) / t->scale, g = x;
    *log_slope = -log(t->scale);
    if (p->grades) {
        size_t k = 0;
        while (k < p->terms.grades && p->grades[k] != y) k++;
        *log_slope = 0;
        return (double)k;
    }
    if (p->warp) {
        double of_warp;
        p->warp->at(p->phi, x, &g, &of_warp, NULL);
        *log_slope += of_warp - log(t->spread);
        g = (g - t->centre) / t->spread;
    }
    return g;
}

static double to_units(const lth__predictive *p, double inside) {
    const lth__target *t = p->target;
    if (p->grades) return p->grades[(size_t)inside];
    if (p->warp) inside = lth__warp_inverse(p->warp, p->phi, t->centre + t->spread * inside);
    return t->shift + t->scale * inside;
}

/* ---- Moments ---- */

void lth__predictive_moments(const lth__predictive *p, double *mean, double *sd) {
    double m = p->mean, v = p->variance;
    p->likelihood->moments_under(&p->terms, &m, &v);
    *mean = to_units(p, m);
    *sd = p->target->scale * sqrt(v);
}

double lth__predictive_log_p(const lth__predictive *p, double y) {
    double log_slope, inside = to_inside(p, y, &log_slope);
    return p->likelihood->log_p_under(&p->terms, inside, p->mean, p->variance) + log_slope;
}

double lth__predictive_cdf(const lth__predictive *p, double y) {
    double log_slope, inside = to_inside(p, y, &log_slope);
    return p->likelihood->cdf_under(&p->terms, inside, p->mean, p->variance);
}

double lth__predictive_quantile(const lth__predictive *p, double share) {
    (void)share;
    return to_units(p, p->mean);
}

double lth__predictive_crps(const lth__predictive *p, double y) {
    (void)p, (void)y;
    return NAN;
}

void lth__predictive_grades(const lth__predictive *p, double *probability) {
    (void)p, (void)probability;
}
