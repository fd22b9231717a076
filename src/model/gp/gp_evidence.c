/* Parameters, prior and evidence, whatever the posterior. */
#include <string.h>

#include "model/gp/gp.h"

/* ---- Parameters ---- */

static const lth__own_param scale_param = {"scale", 1e-3, 1e4};

static size_t likelihood_params(const lth_gp *gp) {
    size_t count = 0;
    while (count < LTH__MOST_OWN && gp->likelihood->params[count].path) count++;
    return count;
}

size_t lth__gp_own_count(const lth_gp *gp) {
    return likelihood_params(gp) + gp->likelihood->own_units;
}

const lth__own_param *lth__gp_own(const lth_gp *gp, size_t i) {
    return i < likelihood_params(gp) ? &gp->likelihood->params[i] : &scale_param;
}

size_t lth__gp_param_count(const lth_gp *gp) {
    return gp->kernel->param_count + lth__gp_own_count(gp);
}

const char *lth__gp_path(const lth_gp *gp, size_t param) {
    size_t kernel = gp->kernel->param_count;
    return param < kernel ? gp->kernel->params[param].path : lth__gp_own(gp, param - kernel)->path;
}

double *lth__gp_value(lth_gp *gp, size_t param) {
    size_t kernel = gp->kernel->param_count;
    return param < kernel ? &gp->kernel->params[param].value : &gp->own[param - kernel];
}

/* ---- The prior ---- */

double lth__gp_scale(const lth_gp *gp) {
    return gp->likelihood->own_units ? gp->own[likelihood_params(gp)] : 1;
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
        double *by_scale = &gradient[params + likelihood_params(gp)];
        LTH_TRY(W->table->inner(W, prior, gp->mean->variance, by_scale, err));
        *by_scale /= scale;
    }
    LTH_TRY(lth__matrix_pull(W, gram, gradient, err));
    for (size_t p = 0; p < params; p++) gradient[p] *= scale;
    return LTH_OK;
}

lth_status lth__gp_evidence(lth_gp *gp, lth__gram *gram, double *evidence, double *gradient,
                            lth_error *err) {
    return gp->posterior->evidence(gp, gram, evidence, gradient, err);
}
