/* The evidence at values of the parameters that the caller gives, of a model that has learned. It
 * is that of a copy, so that the model stays as it is, and other threads may predict from it. */
#include <math.h>
#include <string.h>

#include "model/gp/gp_average.h"
#include "model/posterior/noise.h"

/* ---- Values ---- */

static lth_status check_value(const lth_gp *gp, size_t i, double value, lth_error *err) {
    size_t kernel = gp->kernel->param_count;
    const char *path = lth__gp_path(gp, i);
    double lo = -INFINITY, hi = INFINITY;
    if (i < kernel) {
        lo = gp->kernel->params[i].argument->lo;
        hi = gp->kernel->params[i].argument->hi;
    }
    if (!isfinite(value) || value < lo || value > hi)
        return lth__fail(err, LTH_EARG, "%s is %g, but must lie in [%g, %g]", path, value, lo, hi);
    if (i >= kernel && !gp->own_list[i - kernel].linear && value <= 0)
        return lth__fail(err, LTH_EARG, "%s is %g, but must be above 0", path, value);
    return LTH_OK;
}

/* Those of a tag are one parameter. */
static lth_status check_tags(const lth_gp *gp, const double *value, lth_error *err) {
    const lth_param *p = gp->kernel->params;
    for (size_t i = 0; i < gp->kernel->param_count; i++) {
        for (size_t k = 0; p[i].tag && k < i; k++) {
            if (p[k].tag && strcmp(p[k].tag, p[i].tag) == 0 && value[k] != value[i])
                return lth__fail(err, LTH_EARG, "%s and %s share $%s, but are %g and %g", p[k].path,
                                 p[i].path, p[i].tag, value[k], value[i]);
        }
    }
    return LTH_OK;
}

/* In the units of the model. */
static lth_status read_values(const lth_gp *gp, const double *value, double *own, lth_error *err) {
    if (value) LTH_TRY(check_tags(gp, value, err));
    for (size_t i = 0; i < lth__gp_param_count(gp); i++) {
        if (value) LTH_TRY(check_value(gp, i, value[i], err));
        own[i] = value ? value[i] / lth__gp_unit(gp, i) : *lth__gp_value((lth_gp *)gp, i);
    }
    return LTH_OK;
}

/* ---- The evidence ---- */

static lth_status check_model(const lth_gp *gp, size_t count, lth_error *err) {
    size_t params = lth__gp_param_count(gp);
    if (count != params)
        return lth__fail(err, LTH_EARG, "%zu values, where the model has %zu parameters", count,
                         params);
    if (gp->posterior->draws || gp->rows != gp->report.rows)
        return lth__fail(err, LTH_EUNSUPPORTED,
                         "the model keeps %zu of its %zu rows: its evidence at other values is not "
                         "known",
                         gp->rows, gp->report.rows);
    return LTH_OK;
}

/* With as little more jitter as it takes. */
static lth_status find_evidence(lth_gp *copy, lth__gram *gram, double *evidence, double *gradient,
                                lth_error *err) {
    for (;;) {
        lth_status status = lth__gp_evidence(copy, gram, evidence, gradient, err);
        if (status != LTH_ENUMERIC || copy->jitter > 1e-4) return status;
        copy->jitter = copy->jitter == 0 ? 1e-10 : copy->jitter * 10;
    }
}

/* Conjugate gradients know no gradient: the evidence is then that of the exact posterior. */
static lth_status evaluate(lth_gp *copy, double *evidence, double *gradient, lth_error *err) {
    lth__gram *gram = NULL;
    if (copy->posterior == &lth__cg) copy->posterior = lth__gp_posterior(copy, LTH_POSTERIOR_EXACT);
    LTH_TRY(lth__memory_check(copy->posterior->bytes(copy), "the evidence of all rows",
                              "use a machine with more memory", err));
    LTH_TRY(copy->posterior->open(copy, err));
    LTH_TRY(lth__gram_create(copy->kernel, copy->items, NULL, &gram, err));
    lth__gram_keep_nothing(gram);
    lth_status status = find_evidence(copy, gram, evidence, gradient, err);
    copy->posterior->free(copy->solution); /* its matrices may lie beside the Gram matrix */
    copy->solution = NULL;
    lth__gram_free(gram);
    return status;
}

static lth_status evaluate_at(const lth_gp *gp, const double *own, double *evidence,
                              double *gradient, lth_error *err) {
    lth_ctx ctx = gp->ctx;
    const lth__eval *kept;
    lth_gp *copy = NULL;
    /* What the model's encoder keeps is complete before others look at it. */
    LTH_TRY(lth__prepared_need(gp->prepared, &ctx, &kept, err));
    const lth_gp *noise = lth__gp_noise_model(gp);
    if (noise) LTH_TRY(lth__prepared_need(noise->prepared, &ctx, &kept, err));
    LTH_TRY(lth__gp_copy_at(gp, own, &copy, err));
    lth_status status = evaluate(copy, evidence, gradient, err);
    if (status == LTH_OK) *evidence += lth__gp_jacobian(copy);
    lth__gp_copy_free(copy);
    return status;
}

lth_status lth_gp_evidence(const lth_gp *gp, const double *value, size_t count, double *evidence,
                           double *gradient, lth_error *err) {
    LTH_TRY(check_model(gp, count, err));
    double *own = lth__alloc(2 * count, sizeof *own), found = 0;
    if (!own) return lth__fail_memory(err, 2 * count * sizeof *own);
    lth_status status = read_values(gp, value, own, err);
    double *slope = gradient ? own + count : NULL;
    if (status == LTH_OK) status = evaluate_at(gp, own, &found, slope, err);
    if (status == LTH_OK) *evidence = found;
    for (size_t i = 0; status == LTH_OK && gradient && i < count; i++)
        gradient[i] = slope[i] / lth__gp_unit(gp, i);
    lth__free(own);
    return status;
}
