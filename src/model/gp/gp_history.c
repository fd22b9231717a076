/* A model looked at afterwards: leave-one-out predictions, and the steps of its search.
 *
 * With G = K + noise, the prediction of row i from all the others is known without another fit:
 *
 *     mean = y_i - alpha_i / (G^-1)_ii      variance = 1 / (G^-1)_ii
 */
#include <math.h>

#include "model/gp/gp.h"

/* ---- Leave-one-out ---- */

void lth__gp_leave_one_out(const lth_gp *gp, const double *inverse, size_t target, double *y,
                           double *mean, double *sd) {
    size_t n = gp->rows, t = gp->target_count;
    const lth__target *of = &gp->targets[target];
    for (size_t i = 0; i < n; i++) {
        double variance = 1 / inverse[i * n + i];
        y[i] = of->shift + of->scale * gp->y[i * t + target];
        mean[i] = y[i] - of->scale * gp->alpha[i * t + target] * variance;
        sd[i] = of->scale * sqrt(variance);
    }
}

/* A factor from a file may be anything, but for its positive diagonal. */
static bool has_variances(size_t n, const double *inverse) {
    for (size_t i = 0; i < n; i++) {
        if (!(inverse[i * n + i] > 0 && isfinite(inverse[i * n + i]))) return false;
    }
    return true;
}

lth_status lth_gp_leave_one_out(const lth_gp *gp, size_t target, double *y, double *mean,
                                double *sd, lth_error *err) {
    size_t n = gp->rows;
    if (gp->classes)
        return lth__fail(err, LTH_EARG,
                         "the model is for labels, which have no leave-one-out predictions");
    if (target >= gp->target_count)
        return lth__fail(err, LTH_EARG, "there is no target %zu: the model has %zu", target,
                         gp->target_count);
    LTH_TRY(lth__memory_check(n * n * sizeof(double), "leaving out one row after the other",
                              "use a machine with more memory", err));
    double *inverse = lth__alloc(n * n, sizeof *inverse);
    if (!inverse) return lth__fail_memory(err, n * n * sizeof *inverse);
    lth_ctx ctx = gp->ctx; /* of this call */
    lth_status status = lth__cholesky_inverse(&ctx, n, gp->L, inverse, err);
    if (status == LTH_OK && !has_variances(n, inverse))
        status = lth__fail(err, LTH_ENUMERIC, "the model's matrix has no inverse");
    if (status == LTH_OK) lth__gp_leave_one_out(gp, inverse, target, y, mean, sd);
    lth__free(inverse);
    return status;
}

/* ---- Steps ---- */

lth_status lth__gp_steps_begin(lth_gp *gp, lth_error *err) {
    gp->steps = lth__alloc(LTH__MOST_STEPS, sizeof *gp->steps);
    if (!gp->steps) return lth__fail_memory(err, LTH__MOST_STEPS * sizeof *gp->steps);
    gp->step_every = 1;
    return LTH_OK;
}

/* Every second one goes, for good: the next ones come half as often. */
static void thin_steps(lth_gp *gp) {
    size_t kept = 0;
    for (size_t i = 0; i < gp->step_count; i += 2) gp->steps[kept++] = gp->steps[i];
    gp->step_count = kept;
    gp->step_every *= 2;
}

void lth__gp_steps_add(lth_gp *gp, const lth_gp_step *step) {
    if (!isfinite(step->evidence) || !isfinite(step->gradient)) return;
    size_t seen = gp->steps_seen++;
    /* The last step is always there: one that falls between those to keep is replaced by the next.
     */
    bool replaces = seen > 0 && (seen - 1) % gp->step_every != 0;
    if (replaces) gp->step_count--;
    if (gp->step_count == LTH__MOST_STEPS) thin_steps(gp);
    gp->steps[gp->step_count++] = *step;
}

lth_gp_step lth_gp_step_at(const lth_gp *gp, size_t i) {
    return i < gp->step_count ? gp->steps[i] : (lth_gp_step){.iteration = LTH_NONE};
}
