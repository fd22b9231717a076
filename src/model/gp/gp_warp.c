/* A model with a warp: its targets at the present parameters of the warp, and their derivatives. */
#include <math.h>

#include "model/gp/gp.h"

static const double *params_of(const lth_gp *gp) {
    return gp->own + gp->likelihood_params;
}

typedef struct sums {
    double g, square, jacobian;
    double g_by[LTH__WARP_PARAMS], square_by[LTH__WARP_PARAMS], jacobian_by[LTH__WARP_PARAMS];
} sums;

double *lth__gp_warp_by(const lth_gp *gp, size_t param, size_t latent) {
    return gp->warp_by + (param * gp->latents + latent) * gp->rows;
}

/* g of each row, and the means that centre it. */
static void take_values(lth_gp *gp, size_t t, size_t params, sums *s) {
    size_t n = gp->rows;
    double *y = gp->y + t * n, by[2 * LTH__WARP_PARAMS] = {0}, log_slope;
    for (size_t i = 0; i < n; i++) {
        gp->warp->at(params_of(gp), gp->unwarped[t * n + i], &y[i], &log_slope, by);
        s->g += y[i] / (double)n;
        s->jacobian += log_slope;
        for (size_t j = 0; j < params; j++) {
            lth__gp_warp_by(gp, j, t)[i] = by[j];
            s->g_by[j] += by[j] / (double)n;
            s->jacobian_by[j] += by[LTH__WARP_PARAMS + j];
        }
    }
}

/* z = (g - centre) / spread and dz = (dg - d centre - z d spread) / spread. */
static void centre_values(lth_gp *gp, size_t t, size_t params, sums *s) {
    size_t n = gp->rows;
    double *y = gp->y + t * n;
    for (size_t i = 0; i < n; i++) {
        double d = y[i] - s->g;
        s->square += d * d / (double)n;
        for (size_t j = 0; j < params; j++)
            s->square_by[j] += d * lth__gp_warp_by(gp, j, t)[i] / (double)n;
    }
    double spread = sqrt(s->square);
    if (!(spread > 0)) spread = 1;
    gp->targets[t].centre = s->g;
    gp->targets[t].spread = spread;
    for (size_t j = 0; j < params; j++) s->square_by[j] /= spread; /* d spread */
    for (size_t i = 0; i < n; i++) {
        y[i] = (y[i] - s->g) / spread;
        for (size_t j = 0; j < params; j++) {
            double *by = &lth__gp_warp_by(gp, j, t)[i];
            *by = (*by - s->g_by[j] - y[i] * s->square_by[j]) / spread;
        }
    }
    gp->warp_jacobian += s->jacobian - (double)n * log(spread);
    for (size_t j = 0; j < params; j++)
        gp->warp_jacobian_by[j] += s->jacobian_by[j] - (double)n * s->square_by[j] / spread;
}

void lth__gp_warp(lth_gp *gp) {
    if (!gp->warp) return;
    size_t params = lth__warp_params(gp->warp);
    gp->warp_jacobian = 0;
    for (size_t j = 0; j < params; j++) gp->warp_jacobian_by[j] = 0;
    for (size_t t = 0; t < gp->latents; t++) {
        sums s = {0};
        take_values(gp, t, params, &s);
        centre_values(gp, t, params, &s);
    }
}

void lth__gp_warp_pull(const lth_gp *gp, const double *slope, size_t stride, double *gradient) {
    if (!gp->warp) return;
    double *to = gradient + gp->kernel->param_count + gp->likelihood_params;
    for (size_t j = 0; j < lth__warp_params(gp->warp); j++) {
        for (size_t t = 0; t < gp->latents; t++) {
            const double *by = lth__gp_warp_by(gp, j, t);
            for (size_t i = 0; i < gp->rows; i++) to[j] -= slope[i * stride + t] * by[i];
        }
    }
}

double lth_gp_warped(const lth_gp *gp, size_t target, double y) {
    if (!gp->warp || target >= gp->target_count) return y;
    const lth__target *of = &gp->targets[target];
    double g, log_slope;
    gp->warp->at(params_of(gp), (y - of->shift) / of->scale, &g, &log_slope, NULL);
    return (g - of->centre) / of->spread;
}

const char *lth_gp_warp(const lth_gp *gp) {
    return gp->warp ? gp->warp->name : NULL;
}

const char *lth_warp_name(size_t i, const char **help) {
    const lth__warp *w = lth__warp_at(i);
    if (w && help) *help = w->help;
    return w ? w->name : NULL;
}
