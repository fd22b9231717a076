/* How good predictions are: likelihood, errors, correlation, and how honest the intervals are. */
#include "model/common/metrics.h"

#include <math.h>

#include "base/memory.h"

static const double half_log_two_pi = 0.91893853320467274178;
static const double half_width_95 = 1.959964; /* standard deviations either side of the mean */

/* From the first value on, so that the mean of equal values is exactly that value. */
static double average(const double *x, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) sum += x[i] - x[0];
    return x[0] + sum / (double)count;
}

/* Errors and correlation, which need no standard deviations. */
static void judge_means(const double *y, const double *mean, lth_metrics *m) {
    double n = (double)m->count, absolute = 0, squared = 0;
    double y_center = average(y, m->count), mean_center = average(mean, m->count);
    double yy = 0, mm = 0, ym = 0;
    for (size_t i = 0; i < m->count; i++) {
        double error = y[i] - mean[i], dy = y[i] - y_center, dm = mean[i] - mean_center;
        absolute += fabs(error);
        squared += error * error;
        yy += dy * dy;
        mm += dm * dm;
        ym += dy * dm;
    }
    m->mae = absolute / n;
    m->rmse = sqrt(squared / n);
    m->r = yy == 0 || mm == 0 ? 0 : ym / (sqrt(yy) * sqrt(mm));
    if (m->r > 1) m->r = 1;
    if (m->r < -1) m->r = -1;
    m->r2 = yy == 0 ? 0 : 1 - squared / yy;
}

static void judge_deviations(const double *y, const double *mean, const double *sd,
                             lth_metrics *m) {
    double loss = 0;
    size_t covered = 0;
    for (size_t i = 0; i < m->count; i++) {
        double error = y[i] - mean[i], z = error / sd[i];
        loss += half_log_two_pi + log(sd[i]) + z * z / 2;
        if (fabs(error) <= half_width_95 * sd[i]) covered++;
    }
    m->nlpd = loss / (double)m->count;
    m->coverage = (double)covered / (double)m->count;
}

lth_metrics lth__metrics_of(const double *y, const double *mean, const double *sd, size_t count) {
    lth_metrics m = {count, NAN, NAN, NAN, NAN, NAN, NAN};
    if (count == 0) return m;
    judge_means(y, mean, &m);
    if (sd != NULL) judge_deviations(y, mean, sd, &m);
    return m;
}

void lth_metrics_of(const double *y, const double *mean, const double *sd, size_t count,
                    lth_metrics *out, size_t size) {
    lth_metrics m = lth__metrics_of(y, mean, sd, count);
    lth__copy_struct(out, size, &m, sizeof m);
}
