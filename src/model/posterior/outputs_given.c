/* Predictions of some targets of a row, given numbers of others: the covariances of its targets are
 * known, and each number that is seen with noise makes all of them surer.
 */
#include <math.h>
#include <string.h>

#include "data/table.h"
#include "model/common/labels.h"
#include "model/posterior/outputs.h"

static size_t target_of(const lth_gp *gp, const char *name) {
    size_t t = 0;
    while (t < gp->target_count && strcmp(gp->targets[t].name, name) != 0) t++;
    return t;
}

static lth_status check(const lth_gp *gp, const char *const *names, size_t count, lth_error *err) {
    if (!gp->posterior->covary)
        return lth__fail(err, LTH_EARG,
                         "given is for targets that learn from each other: a model "
                         "that was fitted with coregion");
    for (size_t i = 0; i < count; i++) {
        if (target_of(gp, names[i]) == gp->target_count)
            return lth__fail(err, LTH_EARG, "given: the model has no target \"%s\"", names[i]);
    }
    return LTH_OK;
}

lth_status lth__outputs_read_given(const lth_gp *gp, const lth_table *table,
                                   const char *const *names, size_t count, double **out,
                                   lth_error *err) {
    double *columns = NULL;
    size_t rows = lth_table_rows(table), cells = gp->target_count * rows;
    LTH_TRY(check(gp, names, count, err));
    LTH_TRY(lth__read_targets(table, names, count, true, &columns, err));
    double *all = lth__alloc(cells, sizeof *all);
    for (size_t i = 0; all && i < cells; i++) all[i] = NAN;
    for (size_t i = 0; all && i < count * rows; i++)
        all[target_of(gp, names[i / rows]) * rows + i % rows] = columns[i];
    lth__free(columns);
    if (!all) return lth__fail_memory(err, cells * sizeof *all);
    *out = all;
    return LTH_OK;
}

/* One number y of target s: f = f + gain (y - f_s), C = C - gain C_s. */
static void see(const lth_gp *gp, size_t s, double y, double *mean, double *C) {
    size_t count = gp->target_count;
    double of_y = C[s * count + s] + gp->own[0], surprise = y - mean[s];
    for (size_t t = 0; t < count; t++) mean[t] += C[t * count + s] / of_y * surprise;
    for (size_t t = 0; t < count; t++) {
        double gain = t == s ? 0 : C[t * count + s] / of_y; /* row s is needed until the end */
        for (size_t u = 0; u < count; u++) C[t * count + u] -= gain * C[s * count + u];
    }
    double left = gp->own[0] / of_y;
    for (size_t u = 0; u < count; u++) C[s * count + u] *= left;
}

lth_status lth__outputs_predict_given(const lth_gp *gp, lth_ctx *ctx, size_t rows, const double *K,
                                      const double *self, const double *given, size_t stride,
                                      double *mean, double *variance, lth_error *err) {
    size_t count = gp->target_count, cells = count * count;
    double *covariance = lth__alloc(rows * cells, sizeof *covariance);
    if (!covariance) return lth__fail_memory(err, rows * cells * sizeof *covariance);
    lth_status status = gp->posterior->covary(gp, ctx, rows, K, self, mean, covariance, err);
    for (size_t r = 0; r < rows && status == LTH_OK; r++) {
        double *C = covariance + r * cells;
        for (size_t t = 0; t < count; t++) {
            double y = (given[t * stride + r] - gp->targets[t].shift) / gp->targets[t].scale;
            if (!isnan(y)) see(gp, t, y, mean + r * count, C);
        }
        for (size_t t = 0; t < count; t++) variance[r * count + t] = fmax(C[t * (count + 1)], 0);
    }
    lth__free(covariance);
    return status;
}
