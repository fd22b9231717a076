/* The posterior for likelihoods that are not Gaussian, by Laplace's approximation (laplace.h), for
 * each latent function by itself. */
#include <math.h>
#include <string.h>

#include "model/posterior/laplace.h"
#include "model/posterior/site_model.h"

/* The search for the mode begins where it ended last, if that was anywhere. */
static void forget_unless_finite(double *a, size_t n) {
    bool finite = true;
    for (size_t i = 0; i < n; i++) finite &= isfinite(a[i]) != 0;
    if (!finite) memset(a, 0, n * sizeof *a);
}

static lth_status of_latent(const lth_gp *gp, size_t latent, double *out, double *by_params,
                            lth_error *err) {
    lth__site_model *s = gp->solution;
    size_t n = gp->rows;
    lth__laplace l = {.seen = lth__gp_seen(gp, latent),
                      .a = s->a + latent * n,
                      .f = s->f + latent * n,
                      .root_w = s->root_w + latent * n,
                      .L = &s->B};
    forget_unless_finite(l.a, n);
    lth_status status = lth__laplace_mode(&l, &s->K, err);
    if (status == LTH_OK && by_params)
        status = lth__laplace_weights(&l, &s->K, &s->M, by_params, err);
    *out = l.evidence;
    lth__site_factor_free(&l.factor);
    return status;
}

static lth_status evidence(lth_gp *gp, lth__gram *gram, double *out, double *gradient,
                           lth_error *err) {
    return lth__site_model_evidence(gp, gram, of_latent, out, gradient, err);
}

const lth__posterior lth__laplace_posterior = {LTH__SITE_MODEL, .name = "laplace",
                                               .open = lth__site_model_open, .evidence = evidence,
                                               .carried = lth__site_model_carried};
