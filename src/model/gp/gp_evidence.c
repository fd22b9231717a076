/* Parameters, prior and evidence, whatever the posterior. */
#include <math.h>
#include <string.h>

#include "model/posterior/outputs.h"

/* ---- Parameters ---- */

static const lth__own_param scale_param = {.path = "scale", .lo = 1e-3, .hi = 1e4};

void lth__gp_list_own(lth_gp *gp) {
    lth__own_param *list = gp->own_list;
    size_t count = lth__likelihood_list(gp->likelihood, gp->grade_count, list);
    size_t warp = gp->warp ? lth__warp_params(gp->warp) : 0;
    gp->likelihood_params = count;
    if (gp->warp) lth__warp_list(gp->warp, gp->piled, list + count);
    count += warp;
    count += lth__outputs_list(gp, list + count);
    if (gp->likelihood->own_units) list[count++] = scale_param;
    gp->own_count = count;
}

size_t lth__gp_param_count(const lth_gp *gp) {
    return gp->kernel->param_count + gp->own_count;
}

const char *lth__gp_path(const lth_gp *gp, size_t param) {
    size_t kernel = gp->kernel->param_count;
    return param < kernel ? gp->kernel->params[param].path : gp->own_list[param - kernel].path;
}

double *lth__gp_value(lth_gp *gp, size_t param) {
    size_t kernel = gp->kernel->param_count;
    return param < kernel ? &gp->kernel->params[param].value : &gp->own[param - kernel];
}

/* ---- What is seen ---- */

bool lth__gp_is_gaussian(const lth_gp *gp) {
    bool normal = gp->likelihood == &lth__gaussian || gp->likelihood == &lth__warped;
    return normal && !gp->noise_by && !gp->weights && !gp->kernel->noise;
}

bool lth__gp_is_normal(const lth_gp *gp) {
    return gp->likelihood == &lth__gaussian && !gp->kernel->noise;
}

bool lth__gp_has_own_units(const lth_gp *gp) {
    return gp->warp || gp->likelihood->own_units;
}

/* A bound in the units of y inside. */
static double bound_inside(const lth__target *target, double bound) {
    return (bound - target->shift) / target->scale;
}

lth__terms lth__gp_terms(const lth_gp *gp, size_t target) {
    const lth__target *of = &gp->targets[target < gp->target_count ? target : 0];
    return (lth__terms){.theta = gp->own,
                        .lower = isnan(gp->lower) ? -INFINITY : bound_inside(of, gp->lower),
                        .upper = isnan(gp->upper) ? INFINITY : bound_inside(of, gp->upper),
                        .grades = gp->grade_count};
}

lth__seen lth__gp_seen_with(const lth_gp *gp, size_t latent, const lth__known *known) {
    const lth__target *of = &gp->targets[gp->classes ? 0 : latent];
    return (lth__seen){.likelihood = gp->likelihood,
                       .terms = lth__gp_terms(gp, latent),
                       .params = gp->likelihood_params,
                       .link = of->link,
                       .y = gp->y + latent * gp->rows,
                       .offset = known->offset,
                       .ratio = known->ratio,
                       .added = known->added,
                       .added_unit = 1 / (of->scale * of->scale),
                       .weight = known->weight};
}

lth__seen lth__gp_seen(const lth_gp *gp, size_t latent) {
    return lth__gp_seen_with(gp, latent, &gp->known);
}

double lth__gp_noise(const lth_gp *gp) {
    double scale = gp->warp ? 1 : gp->targets[0].scale;
    return gp->likelihood->has_noise ? gp->own[0] * scale * scale : 0;
}

/* What has a density, not a probability. */
static bool has_density(const lth__terms *t, double y) {
    return y > t->lower && y < t->upper;
}

double lth__gp_jacobian(const lth_gp *gp) {
    double sum = 0;
    for (size_t t = 0; t < gp->target_count && !gp->classes; t++) {
        lth__terms terms = lth__gp_terms(gp, t);
        double rows = 0;
        for (size_t i = 0; i < gp->rows; i++) {
            if (gp->warp || has_density(&terms, gp->y[t * gp->rows + i]))
                rows += gp->known.weight ? gp->known.weight[i] : 1;
        }
        sum -= rows * log(gp->targets[t].scale);
    }
    return sum;
}

/* ---- The prior ---- */

double lth__gp_scale(const lth_gp *gp) {
    return gp->likelihood->own_units ? gp->own[gp->own_count - 1] : 1;
}

static bool is_plain(const lth_gp *gp) {
    return !gp->likelihood->own_units && gp->mean->variance == 0;
}

void lth__gp_prior(const lth_gp *gp, double *K, size_t count) {
    double scale = lth__gp_scale(gp), variance = gp->mean->variance;
    if (is_plain(gp)) return;
    for (size_t i = 0; i < count; i++) K[i] = scale * K[i] + variance;
}

/* Jitter is relative to the mean of the diagonal. */
lth_status lth__gp_prior_matrix(const lth_gp *gp, double noise, lth__matrix *K, lth_error *err) {
    double scale = lth__gp_scale(gp), trace = 0;
    if (gp->jitter > 0) LTH_TRY(lth__matrix_trace(K, &trace, err));
    if (!is_plain(gp)) LTH_TRY(K->table->affine(K, scale, gp->mean->variance, err));
    return K->table->add_diagonal(K, noise + gp->jitter * scale * trace / (double)K->n, err);
}

/* ---- Evidence ---- */

/* What is scale k in the prior, jitter included, is also its derivative by the logarithm of scale.
 */
lth_status lth__gp_pull(const lth_gp *gp, lth__gram *gram, lth__matrix *W, const lth__matrix *prior,
                        double *gradient, lth_error *err) {
    size_t params = gp->kernel->param_count;
    double scale = lth__gp_scale(gp);
    if (gp->likelihood->own_units) {
        double *by_scale = &gradient[params + gp->own_count - 1];
        LTH_TRY(W->table->inner(W, prior, gp->mean->variance, by_scale, err));
        *by_scale /= scale;
    }
    LTH_TRY(lth__matrix_pull(W, gram, gradient, err));
    for (size_t p = 0; p < params; p++) gradient[p] *= scale;
    return LTH_OK;
}

lth_status lth__gp_evidence(lth_gp *gp, lth__gram *gram, double *evidence, double *gradient,
                            lth_error *err) {
    double *by_own = gradient ? gradient + gp->kernel->param_count : NULL;
    if (by_own) memset(by_own, 0, gp->own_count * sizeof *by_own);
    lth__gp_warp(gp);
    LTH_TRY(gp->posterior->evidence(gp, gram, evidence, gradient, err));
    if (!gp->warp) return LTH_OK;
    *evidence += gp->warp_jacobian;
    for (size_t j = 0; by_own && j < lth__warp_params(gp->warp); j++)
        by_own[gp->likelihood_params + j] += gp->warp_jacobian_by[j];
    return LTH_OK;
}
