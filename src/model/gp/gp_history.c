/* A model looked at afterwards: leave-one-out predictions, and the steps of its search. */
#include <math.h>

#include "model/common/metrics.h"
#include "model/posterior/noise.h"

void lth__gp_leave_out(const lth_gp *gp, const double *alpha, const double *inverse, size_t target,
                       double *mean, double *variance) {
    const double *y = gp->y + target * gp->rows;
    for (size_t i = 0; i < gp->rows; i++) {
        double all = 1 / inverse[i];
        mean[i] = y[i] - alpha[i * gp->latents + target] * all;
        variance[i] = fmax(all - gp->own[0], 0);
    }
}

double lth__gp_truth(const lth_gp *gp, size_t target, size_t row) {
    lth__predictive p = lth__gp_predictive(gp, target, 0, 0, NULL, row, NULL);
    return lth__predictive_units(&p, gp->y[target * gp->rows + row]);
}

/* What is expected of each row from all the others, whose f has this mean and variance. The places
 * of these arrays may be those of the result. */
static lth_status judge_left_out(const lth_gp *gp, size_t target, const double *mean,
                                 const double *variance, double *y, const lth_gp_prediction *to,
                                 lth_error *err) {
    const lth_gp *noise = lth__gp_noise_model(gp);
    size_t n = noise ? gp->rows : 0;
    double *of_noise = lth__calloc(2 * n + 1, sizeof *of_noise);
    lth_status status = of_noise ? LTH_OK : lth__fail_memory(err, 2 * n * sizeof *of_noise);
    if (status == LTH_OK && noise)
        status = noise->posterior->leave_one_out(noise, 0, of_noise, of_noise + n, err);
    for (size_t i = 0; i < gp->rows && status == LTH_OK; i++) {
        lth__at_row f = {.mean = mean[i], .variance = variance[i]};
        if (noise) f.noise_mean = of_noise[i], f.noise_variance = of_noise[n + i];
        y[i] = lth__gp_truth(gp, target, i);
        lth__gp_expect(gp, target, f, &gp->known, i, to, i);
    }
    lth__free(of_noise);
    return status;
}

enum { LEFT_OUT = 8 };

/* Of what is normal, sd says it all. */
static lth_gp_prediction left_out_in(const lth_gp *gp, double *room) {
    size_t n = gp->rows;
    lth_gp_prediction to = {.y = room, .point = room + n, .sd = room + 2 * n};
    if (lth__gp_is_normal(gp)) return to;
    to.log_density = room + 3 * n;
    to.cdf = room + 4 * n;
    to.crps = room + 5 * n;
    to.lower = room + 6 * n;
    to.upper = room + 7 * n;
    return to;
}

/* Rows without the target have nothing to be judged by; returns how many are left. */
static size_t keep_known(const lth_gp *gp, double *room, size_t n) {
    size_t count = 0, arrays = lth__gp_is_normal(gp) ? 3 : LEFT_OUT;
    for (size_t i = 0; i < n; i++) {
        if (isnan(gp->y[i])) continue;
        for (size_t k = 0; k < arrays; k++) room[k * n + count] = room[k * n + i];
        count++;
    }
    return count;
}

lth_status lth__gp_report_left_out(lth_gp *gp, const double *mean, const double *variance,
                                   lth_error *err) {
    size_t n = gp->rows;
    double *room = lth__alloc(LEFT_OUT * n, sizeof *room);
    if (!room) return lth__fail_memory(err, LEFT_OUT * n * sizeof *room);
    lth_gp_prediction to = left_out_in(gp, room);
    lth_status status = judge_left_out(gp, 0, mean, variance, room, &to, err);
    size_t count = status == LTH_OK ? keep_known(gp, room, n) : 0;
    if (status == LTH_OK)
        status = lth_metrics_with(&to, sizeof to, count, &gp->loo, sizeof gp->loo, err);
    if (status == LTH_OK) gp->report.loo = &gp->loo;
    lth__free(room);
    return status;
}

/* Mean and variance of f at each row from all the others. */
static lth_status leave_out(const lth_gp *gp, size_t target, double *mean, double *variance,
                            lth_error *err) {
    if (!gp->posterior->leave_one_out || gp->classes)
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
    return gp->posterior->leave_one_out(gp, target, mean, variance, err);
}

lth_status lth_gp_leave_one_out(const lth_gp *gp, size_t target, double *y, double *mean,
                                double *sd, lth_error *err) {
    LTH_TRY(leave_out(gp, target, mean, sd, err));
    lth_gp_prediction to = {.point = mean, .sd = sd};
    LTH_TRY(judge_left_out(gp, target, mean, sd, y, &to, err));
    for (size_t i = 0; i < gp->rows; i++) {
        if (isnan(y[i])) mean[i] = sd[i] = NAN; /* there was nothing to leave out */
    }
    return LTH_OK;
}

lth_status lth_gp_left_out(const lth_gp *gp, size_t target, double *y,
                           const lth_gp_prediction *given, size_t size, lth_error *err) {
    lth_gp_prediction to = {0};
    lth__copy_struct(&to, sizeof to, given, size);
    to.y = y;
    double *mean = lth__alloc(2 * gp->rows, sizeof *mean), *variance = mean + gp->rows;
    if (!mean) return lth__fail_memory(err, 2 * gp->rows * sizeof *mean);
    lth_status status = leave_out(gp, target, mean, variance, err);
    if (status == LTH_OK) status = judge_left_out(gp, target, mean, variance, y, &to, err);
    lth__free(mean);
    return status;
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
