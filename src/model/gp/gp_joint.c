/* The joint posterior of rows: means, and covariances among them.
 *
 * Averaged over models m of weight w it is the law of total covariance:
 *
 *     mean = sum_m w_m mean_m
 *     C    = sum_m w_m (C_m + (mean_m - mean) (mean_m - mean)^T)
 */
#include <stdint.h>
#include <string.h>

#include "engine/cluster.h"
#include "model/gp/gp_average.h"

/* Of one call. */
typedef struct joint {
    const lth_items *items;
    size_t rows, latents;
    double *mean;       /* [model][latent][row]                           */
    double *covariance; /* [latent][row][row]: the caller's; NULL = not wanted */
    double *of_model;   /* likewise, of one of several models               */
} joint;

static size_t cells_of(const joint *j) {
    return j->latents * j->rows * j->rows;
}

static lth_ctx *ctx_of(const joint *j) {
    return lth__items_ctx(j->items);
}

/* ---- One model ---- */

/* The prior of the rows, for each latent function. All ranks compute it together. */
static lth_status fill_prior(const lth_gp *gp, const joint *j, double *C, lth_error *err) {
    size_t cells = j->rows * j->rows;
    const lth__eval *kept; /* what the model's encoder keeps is complete before others look */
    LTH_TRY(lth__cluster_agree(ctx_of(j)->cluster,
                               lth__prepared_need(gp->prepared, ctx_of(j), &kept, err), err));
    LTH_TRY(lth_gram(gp->kernel, j->items, NULL, C, j->rows, err));
    lth__gp_prior(gp, C, cells);
    for (size_t i = 1; i < j->latents; i++) memcpy(C + i * cells, C, cells * sizeof *C);
    return LTH_OK;
}

static void set_diagonals(const joint *j, const double *self, double *C) {
    for (size_t at = 0; at < j->latents * j->rows; at++)
        C[at * j->rows + at % j->rows] = self[at % j->rows];
}

/* `room`: for means, by [row][latent], then for the variances of the prior. */
static lth_status condition(const lth_gp *gp, const joint *j, double *K, double *room, double *mean,
                            double *C, lth_error *err) {
    size_t rows = j->rows, latents = j->latents;
    double *self = room + rows * latents;
    LTH_TRY(lth__gram_against(gp->prepared, j->items, K, gp->rows, C ? self : NULL, err));
    lth__gp_prior(gp, K, rows * gp->rows);
    LTH_TRY(gp->posterior->predict(gp, ctx_of(j), rows, K, self, room, NULL, err));
    for (size_t i = 0; i < rows * latents; i++) mean[i % latents * rows + i / latents] = room[i];
    if (!C) return LTH_OK;
    lth__gp_prior(gp, self, rows);
    set_diagonals(j, self, C);
    return gp->posterior->join(gp, ctx_of(j), rows, K, C, err);
}

/* Its mean and, unless NULL, covariances. One rank conditions them. */
static lth_status solve_model(const lth_gp *gp, const joint *j, double *mean, double *C,
                              lth_error *err) {
    size_t rows = j->rows;
    if (C) LTH_TRY(fill_prior(gp, j, C, err));
    if (!lth__cluster_reads(ctx_of(j)->cluster)) return LTH_OK;
    double *K = lth__alloc(rows * gp->rows, sizeof *K);
    double *room = lth__alloc(rows * (j->latents + 1), sizeof *room);
    lth_status status = K && room ? condition(gp, j, K, room, mean, C, err)
                                  : lth__fail_memory(err, rows * gp->rows * sizeof *K);
    lth__free(K);
    lth__free(room);
    return status;
}

/* ---- All of them ---- */

static void add(double *to, double by, const double *from, size_t count) {
    for (size_t i = 0; i < count; i++) to[i] += by * from[i];
}

/* What the means of models differ by, once all are known: they become their mean, in the place of
 * the first. */
static void add_spread(const joint *j, const lth__averaged *by) {
    size_t rows = j->rows, count = j->latents * rows;
    for (size_t at = 0; at < count; at++) {
        double mean = 0;
        for (size_t m = 0; m < by->count; m++) mean += by->weight[m] * j->mean[m * count + at];
        for (size_t m = 0; m < by->count; m++) j->mean[m * count + at] -= mean;
        j->mean[by->count * count + at] = mean;
    }
    for (size_t m = 0; j->covariance && m < by->count; m++) {
        const double *d = j->mean + m * count;
        for (size_t at = 0; at < count; at++) {
            size_t first = at / rows * rows; /* of its latent function */
            add(j->covariance + at * rows, by->weight[m] * d[at], d + first, at - first + 1);
        }
    }
    memcpy(j->mean, j->mean + by->count * count, count * sizeof *j->mean);
}

static lth_status solve_models(const joint *j, const lth__averaged *by, lth_error *err) {
    size_t count = j->latents * j->rows;
    for (size_t m = 0; m < by->count; m++) {
        double *C = by->count > 1 ? j->of_model : j->covariance;
        LTH_TRY(solve_model(lth__averaged_at(by, m), j, j->mean + m * count, C, err));
        if (by->count > 1 && j->covariance) add(j->covariance, by->weight[m], C, cells_of(j));
    }
    if (by->count > 1) add_spread(j, by);
    return LTH_OK;
}

/* In the units of latent_mean; and both triangles. */
static void take(const lth_gp *gp, const joint *j, double *mean) {
    size_t rows = j->rows;
    bool own = gp->classes || lth__gp_has_own_units(gp);
    for (size_t t = 0; t < j->latents; t++) {
        const lth__target *of = gp->classes ? NULL : &gp->targets[t];
        double shift = !of ? 0 : own ? of->link : of->shift, scale = own ? 1 : of->scale;
        double *C = j->covariance ? j->covariance + t * rows * rows : NULL;
        for (size_t i = 0; i < rows; i++)
            mean[t * rows + i] = shift + scale * j->mean[t * rows + i];
        for (size_t i = 0; C && i < rows; i++) {
            for (size_t k = 0; k <= i; k++) C[i * rows + k] *= scale * scale;
            for (size_t k = 0; k < i; k++) C[k * rows + i] = C[i * rows + k];
        }
    }
}

/* ---- Room ---- */

static lth_status check_memory(const lth_gp *gp, const joint *j, size_t models, lth_error *err) {
    double square = models > 1 ? (double)cells_of(j) : 0;
    double cells = (double)j->rows * (4 * (double)gp->rows + (double)((models + 3) * j->latents));
    double bytes = (square + cells) * sizeof(double);
    return lth__memory_check(bytes < 1e18 ? (size_t)bytes : SIZE_MAX,
                             "the joint posterior of that many rows", "ask for fewer at once", err);
}

static lth_status open_room(const lth_gp *gp, joint *j, size_t models, lth_error *err) {
    size_t means = (models > 1 ? models + 1 : 1) * j->latents * j->rows;
    LTH_TRY(check_memory(gp, j, models, err));
    j->mean = lth__calloc(means, sizeof *j->mean);
    if (!j->mean) return lth__fail_memory(err, means * sizeof *j->mean);
    if (models == 1 || !j->covariance) return LTH_OK;
    j->of_model = lth__alloc(cells_of(j), sizeof *j->of_model);
    return j->of_model ? LTH_OK : lth__fail_memory(err, cells_of(j) * sizeof *j->of_model);
}

static lth_status find_models(const lth_gp *gp, lth__averaged *by, lth_error *err) {
    LTH_TRY(lth__gp_averaged(gp, by, err));
    return gp->posterior->ready && by->itself ? gp->posterior->ready(gp, err) : LTH_OK;
}

static lth_status run(const lth_gp *gp, joint *j, double *mean, lth_error *err) {
    lth__averaged by;
    lth__cluster *c = ctx_of(j)->cluster;
    LTH_TRY(lth__cluster_agree(c, find_models(gp, &by, err), err));
    lth_status status = lth__cluster_agree(c, open_room(gp, j, by.count, err), err);
    if (status == LTH_OK && j->covariance)
        memset(j->covariance, 0, cells_of(j) * sizeof *j->covariance);
    if (status == LTH_OK) status = solve_models(j, &by, err);
    if (status == LTH_OK) take(gp, j, mean);
    lth__free(j->mean);
    lth__free(j->of_model);
    return status;
}

lth_status lth__gp_joint_items(const lth_gp *gp, const lth_items *items, double *mean,
                               double *covariance, lth_error *err) {
    joint j = {
        .items = items, .rows = items->count, .latents = gp->latents, .covariance = covariance};
    lth__cluster *c = lth__items_ctx(items)->cluster;
    if (covariance && !gp->posterior->join)
        return lth__fail(err, LTH_EUNSUPPORTED,
                         "the posterior %s knows no covariances of rows; fit with the posterior "
                         "exact or inducing",
                         gp->posterior->name);
    if (items->count == 0) return LTH_OK;
    lth_status status = run(gp, &j, mean, err);
    status = lth__cluster_share(c, status, 0, mean, j.latents * j.rows * sizeof *mean, err);
    if (!covariance) return status;
    return lth__cluster_share(c, status, 0, covariance, cells_of(&j) * sizeof *covariance, err);
}

size_t lth_gp_latents(const lth_gp *gp) {
    return gp->latents;
}

lth_status lth_gp_predict_joint(const lth_gp *gp, const lth_table *table, double *mean,
                                double *covariance, lth_error *err) {
    lth__reading r;
    LTH_TRY(lth__reading_open(gp->encoder, table, &r, err));
    lth_status status = lth__gp_joint_items(gp, r.items, mean, covariance, err);
    lth__reading_close(&r);
    return status;
}
