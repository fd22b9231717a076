/* A model looked at afterwards: leave-one-out predictions, and the steps of its search. */
#include <math.h>

#include "model/common/metrics.h"
#include "model/gp/gp.h"

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
    const lth__target *of = &gp->targets[target];
    double y = gp->y[target * gp->rows + row];
    if (gp->grades) return gp->grades[(size_t)y];
    if (gp->warp)
        y = lth__warp_inverse(gp->warp, gp->own + gp->likelihood_params,
                              of->centre + of->spread * y);
    return of->shift + of->scale * y;
}

typedef struct left_out {
    double *y, *point, *sd, *log_density, *cdf, *crps, *lower, *upper;
} left_out;
enum { LEFT_OUT = 8 };

static left_out left_out_in(double *room, size_t n) {
    return (left_out){room,         room + n,     room + 2 * n, room + 3 * n,
                      room + 4 * n, room + 5 * n, room + 6 * n, room + 7 * n};
}

/* What is expected of each row from all the others, whose f has this mean and variance. */
static void judge_left_out(const lth_gp *gp, size_t target, const double *mean,
                           const double *variance, const left_out *to) {
    double room[LTH__MOST_OWN], of_mean;
    for (size_t i = 0; i < gp->rows; i++) {
        lth__predictive p =
            lth__gp_predictive(gp, target, mean[i], variance[i], &gp->known, i, room);
        double y = to->y[i] = lth__gp_truth(gp, target, i);
        lth__predictive_moments(&p, &of_mean, &to->sd[i]);
        to->point[i] = gp->point == LTH_POINT_MEDIAN ? lth__predictive_quantile(&p, 0.5) : of_mean;
        if (lth__gp_is_normal(gp)) continue;
        to->log_density[i] = lth__predictive_log_p(&p, y);
        to->cdf[i] = lth__predictive_cdf(&p, y);
        to->crps[i] = lth__predictive_crps(&p, y);
        to->lower[i] = lth__predictive_quantile(&p, 0.025);
        to->upper[i] = lth__predictive_quantile(&p, 0.975);
    }
}

/* Rows without the target have nothing to be judged by; returns how many are left. */
static size_t keep_known(const lth_gp *gp, double *room, size_t n) {
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        if (isnan(gp->y[i])) continue;
        for (size_t k = 0; k < LEFT_OUT; k++) room[k * n + count] = room[k * n + i];
        count++;
    }
    return count;
}

lth_status lth__gp_report_left_out(lth_gp *gp, const double *mean, const double *variance,
                                   lth_error *err) {
    size_t n = gp->rows;
    double *room = lth__alloc(LEFT_OUT * n, sizeof *room);
    if (!room) return lth__fail_memory(err, LEFT_OUT * n * sizeof *room);
    left_out to = left_out_in(room, n);
    judge_left_out(gp, 0, mean, variance, &to);
    lth__predicted p = {
        .count = keep_known(gp, room, n), .y = to.y, .point = to.point, .sd = to.sd};
    if (!lth__gp_is_normal(gp)) {
        p.log_density = to.log_density;
        p.cdf = to.cdf;
        p.crps = to.crps;
        p.lower = to.lower;
        p.upper = to.upper;
    }
    lth_status status = lth__metrics_judge(&p, &gp->loo, err);
    if (status == LTH_OK) gp->report.loo = &gp->loo;
    lth__free(room);
    return status;
}

lth_status lth_gp_leave_one_out(const lth_gp *gp, size_t target, double *y, double *mean,
                                double *sd, lth_error *err) {
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
    LTH_TRY(gp->posterior->leave_one_out(gp, target, mean, sd, err));
    double room[LTH__MOST_OWN];
    for (size_t i = 0; i < gp->rows; i++) {
        lth__predictive p = lth__gp_predictive(gp, target, mean[i], sd[i], &gp->known, i, room);
        y[i] = lth__gp_truth(gp, target, i);
        lth__predictive_moments(&p, &mean[i], &sd[i]);
        if (gp->point == LTH_POINT_MEDIAN) mean[i] = lth__predictive_quantile(&p, 0.5);
        if (isnan(y[i])) mean[i] = sd[i] = NAN; /* there was nothing to leave out */
    }
    return LTH_OK;
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
