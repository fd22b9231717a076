/* The posterior for likelihoods that are not Gaussian, by the best normal distribution of all rows'
 * f (sites.h), for each latent function by itself. */
#include <string.h>

#include "model/posterior/site_model.h"
#include "model/posterior/sites.h"

/* Of what sites may be left with (sites.h): at the end, and what the bound may lack for each row
 * while parameters are learned, so that its gradient is good for the search. */
static const double tolerance = 1e-8, lack_of_row = 1e-10;

/* Sites begin where they were found last. */
static double *carried(const lth_gp *gp, size_t *count) {
    const lth__site_model *s = gp->solution;
    *count = 2 * gp->latents * gp->rows;
    return s->sites;
}

static lth_status open(lth_gp *gp, lth_error *err) {
    LTH_TRY(lth__site_model_open(gp, err));
    lth__site_model *s = gp->solution;
    size_t count = 2 * gp->latents * gp->rows;
    s->lack = lack_of_row * (double)gp->rows;
    s->sites = lth__calloc(count, sizeof *s->sites);
    return s->sites ? LTH_OK : lth__fail_memory(err, count * sizeof *s->sites);
}

lth__sites lth__sites_of(const lth_gp *gp, size_t latent, double *variance, bool learns) {
    lth__site_model *s = gp->solution;
    size_t n = gp->rows;
    return (lth__sites){.seen = lth__gp_seen(gp, latent),
                        .tolerance = tolerance,
                        .lack = learns ? s->lack : 0,
                        .l = s->sites + 2 * latent * n,
                        .D = s->sites + (2 * latent + 1) * n,
                        .a = s->a + latent * n,
                        .f = s->f + latent * n,
                        .variance = variance,
                        .root_d = s->root_w + latent * n,
                        .L = &s->B};
}

static bool are_any(const double *sites, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (sites[i] != 0) return true;
    }
    return false;
}

static lth_status of_latent(const lth_gp *gp, size_t latent, double *out, double *by_params,
                            lth_error *err) {
    lth__site_model *s = gp->solution;
    size_t n = gp->rows;
    double *variance = lth__alloc(3 * n, sizeof *variance), *before = variance + n;
    if (!variance) return lth__fail_memory(err, 3 * n * sizeof *variance);
    lth__sites x = lth__sites_of(gp, latent, variance, by_params != NULL);
    memcpy(before, x.l, 2 * n * sizeof *before);
    lth_status status = lth__sites_find(&x, &s->K, err);
    /* These parameters are no good, and those to come are nearer to those before. */
    if (by_params && (status != LTH_OK || !x.found) && are_any(before, 2 * n))
        memcpy(x.l, before, 2 * n * sizeof *before);
    *out = x.evidence;
    if (status == LTH_OK && by_params)
        status = lth__sites_weights(&x, &s->K, &s->M, by_params, err);
    lth__site_factor_free(&x.factor);
    lth__free(variance);
    return status;
}

static lth_status evidence(lth_gp *gp, lth__gram *gram, double *out, double *gradient,
                           lth_error *err) {
    return lth__site_model_evidence(gp, gram, of_latent, out, gradient, err);
}

const lth__posterior lth__sites_posterior = {LTH__SITE_MODEL, .name = "sites", .open = open,
                                             .evidence = evidence, .carried = carried};
