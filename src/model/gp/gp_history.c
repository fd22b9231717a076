/* A model looked at afterwards: leave-one-out predictions, and the steps of its search. */
#include <math.h>

#include "model/common/metrics.h"
#include "model/gp/gp.h"

void lth__gp_leave_out(const lth_gp *gp, const double *alpha, const double *inverse, size_t target,
                       double *y, double *mean, double *sd) {
    const lth__target *of = &gp->targets[target];
    for (size_t i = 0; i < gp->rows; i++) {
        double variance = 1 / inverse[i];
        y[i] = of->shift + of->scale * gp->y[target * gp->rows + i];
        mean[i] = y[i] - of->scale * alpha[i * gp->latents + target] * variance;
        sd[i] = of->scale * sqrt(variance);
    }
}

lth_status lth__gp_report_left_out(lth_gp *gp, const double *alpha, const double *inverse,
                                   lth_error *err) {
    size_t n = gp->rows;
    double *y = lth__alloc(3 * n, sizeof *y), *mean = y + n, *sd = mean + n;
    if (!y) return lth__fail_memory(err, 3 * n * sizeof *y);
    lth__gp_leave_out(gp, alpha, inverse, 0, y, mean, sd);
    lth_status status = lth__metrics_judge(
        &(lth__predicted){.count = n, .y = y, .point = mean, .sd = sd}, &gp->loo, err);
    if (status == LTH_OK) gp->report.loo = &gp->loo;
    lth__free(y);
    return status;
}

lth_status lth_gp_leave_one_out(const lth_gp *gp, size_t target, double *y, double *mean,
                                double *sd, lth_error *err) {
    if (!gp->posterior->leave_one_out)
        return lth__fail(err, LTH_EARG,
                         gp->classes
                             ? "the model is for labels, which have no leave-one-out predictions"
                             : "a model with inducing rows has no leave-one-out predictions");
    if (target >= gp->target_count)
        return lth__fail(err, LTH_EARG, "there is no target %zu: the model has %zu", target,
                         gp->target_count);
    LTH_TRY(lth__memory_check(gp->rows * gp->rows * sizeof(double),
                              "leaving out one row after the other",
                              "use a machine with more memory", err));
    return gp->posterior->leave_one_out(gp, target, y, mean, sd, err);
}

/* ---- Steps ---- */

lth_status lth__gp_steps_begin(lth_gp *gp, lth_error *err) {
    if (gp->steps) return LTH_OK; /* another search goes on */
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

const lth_gp_step *lth_gp_step_at(const lth_gp *gp, size_t i) {
    return i < gp->step_count ? &gp->steps[i] : NULL;
}
