/* How surely one more number, seen at a row, would tell f there: as if f was seen with normal noise
 * of this variance. Whoever asks what a measurement will change needs it before it is made.
 *
 *     normal noise, also censored, warped or with heavy tails:   that variance or square scale
 *     noise e^g that is a function:                              its mean
 *     others, with E y and var y at f:                           var y / (dE y / df)^2
 *     classes together, with p at f:                             1 / (p (1 - p))
 */
#include <math.h>

#include "model/gp/gp_classes.h"
#include "model/posterior/noise.h"

static const double most = 1e12; /* where it says nothing */

static double noise_of_information(double information) {
    return information > 1 / most ? 1 / information : most;
}

/* Of y at f, which has everything added to it. */
static void expect(const lth_gp *gp, const lth__terms *t, double f, double *mean,
                   double *variance) {
    if (!gp->classes) {
        gp->likelihood->moments(t, f, mean, variance);
        return;
    }
    *mean = gp->likelihood->probability(t, f, 0);
    *variance = *mean * (1 - *mean);
}

static double by_moments(const lth_gp *gp, const lth__terms *t, double f) {
    static const double step = 1e-4;
    double above, below, mean, variance;
    expect(gp, t, f + step, &above, &variance);
    expect(gp, t, f - step, &below, &variance);
    expect(gp, t, f, &mean, &variance);
    double slope = (above - below) / (2 * step);
    return variance > 0 ? noise_of_information(slope * slope / variance) : most;
}

/* p (1 - p) of a class among all of a row, whose f are `stride` apart. */
static double together(size_t classes, const double *f, size_t stride, size_t of) {
    double others = 0;
    for (size_t c = 0; c < classes; c++) {
        if (c != of) others += exp(f[c * stride] - f[of * stride]);
    }
    double p = 1 / (1 + others);
    return noise_of_information(p * (1 - p));
}

static double at_row(const lth_gp *gp, const lth__known *known, size_t latent, size_t row,
                     double f) {
    double room[LTH__MOST_OWN];
    lth__seen seen = lth__gp_seen_with(gp, gp->classes ? 0 : latent, known);
    lth__terms t = lth__seen_terms(&seen, row, room);
    double scale = lth__gp_has_own_units(gp) ? 1 : gp->targets[latent].scale;
    if (gp->likelihood->has_noise) return t.theta[0] * scale * scale;
    return by_moments(gp, &t, gp->classes ? f : lth__seen_place(&seen, row, f - seen.link));
}

/* By row, what noise is times where it is a function. */
static lth_status spread(const lth_gp *gp, const lth_items *items, double *out, lth_error *err) {
    const lth_gp *g = lth__gp_noise_model(gp);
    size_t rows = items->count;
    double *K = lth__alloc(rows * (g->rows + 2), sizeof *K), *self = K + rows * g->rows,
           *variance = self + rows;
    if (!K) return lth__fail_memory(err, rows * (g->rows + 2) * sizeof *K);
    lth_status status = gp->posterior->ready(gp, err);
    if (status == LTH_OK) status = lth__gram_against(g->prepared, items, K, g->rows, self, err);
    if (status == LTH_OK) {
        lth__gp_prior(g, K, rows * g->rows);
        lth__gp_prior(g, self, rows);
        status = g->posterior->predict(g, lth__items_ctx(items), rows, K, self, out, variance, err);
    }
    for (size_t i = 0; i < rows && status == LTH_OK; i++) out[i] = exp(out[i] + variance[i] / 2);
    lth__free(K);
    return status;
}

lth_status lth__gp_noise_items(const lth_gp *gp, const lth_items *items, const lth__known *known,
                               const double *mean, double *variance, lth_error *err) {
    static const lth__known nothing = {0};
    size_t rows = items->count;
    for (size_t at = 0; at < gp->latents * rows; at++)
        variance[at] = gp->likelihood->coupled
                           ? together(gp->latents, mean + at % rows, rows, at / rows)
                           : at_row(gp, known ? known : &nothing, at / rows, at % rows, mean[at]);
    if (!lth__gp_noise_model(gp)) return LTH_OK;
    double *times = lth__alloc(rows, sizeof *times);
    if (!times) return lth__fail_memory(err, rows * sizeof *times);
    lth_status status = spread(gp, items, times, err);
    for (size_t i = 0; i < rows && status == LTH_OK; i++) variance[i] *= times[i];
    lth__free(times);
    return status;
}
