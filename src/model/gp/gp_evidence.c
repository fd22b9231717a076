/* The evidence of a Gaussian process and its gradient.
 *
 *     G = K + (noise + jitter) I = L L^T,  alpha = G^-1 y
 *     log evidence = sum over targets of -(y^T alpha)/2 - (log |G|)/2 - (N/2) log 2 pi
 *     its gradient = sum_ij W_ij dG_ij,  W = sum over targets of (alpha alpha^T - G^-1)/2
 */
#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "kernel/device/device_eval.h"
#include "model/gp/gp_classes.h"

static void add_to_diagonal(double *G, size_t n, double noise, double jitter) {
    double mean = 0;
    for (size_t i = 0; i < n; i++) mean += G[i * n + i] / (double)n;
    for (size_t i = 0; i < n; i++) G[i * n + i] += noise + jitter * mean;
}

typedef struct weigh_job {
    const lth_gp *gp;
    double *X;
} weigh_job;

enum { ROWS = 64 };

/* X = (alpha alpha^T - targets X) / 2 for a few rows. */
static lth_status weigh_rows(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker, (void)err;
    const weigh_job *j = user;
    size_t n = j->gp->rows, t = j->gp->target_count, first = index * ROWS;
    size_t last = first + ROWS < n ? first + ROWS : n;
    const double *alpha = j->gp->alpha;
    for (size_t r = first; r < last; r++) {
        double *row = j->X + r * n;
        for (size_t c = 0; c < n; c++) {
            double outer = 0;
            for (size_t k = 0; k < t; k++) outer += alpha[r * t + k] * alpha[c * t + k];
            row[c] = 0.5 * (outer - (double)t * row[c]);
        }
    }
    return LTH_OK;
}

static lth_status pull_gradient(lth_gp *gp, lth__gram *gram, double *X, double *gradient,
                                lth_error *err) {
    size_t n = gp->rows;
    weigh_job j = {.gp = gp, .X = X};
    LTH_TRY(lth__parallel_for(&gp->ctx, NULL, (n + ROWS - 1) / ROWS, NULL, weigh_rows, &j, err));
    LTH_TRY(lth__gram_pull(gram, X, n, gradient, err));
    double trace = 0;
    for (size_t i = 0; i < n; i++) trace += X[i * n + i];
    gradient[gp->kernel->param_count] = trace;
    return LTH_OK;
}

/* ---- On a device: only parameters, targets and sums are carried to it and back ---- */

typedef struct room {
    lth__device_eval *e;
    double *G, *X, *alpha;
} room;

static void free_room(room *r) {
    lth__device_drop(r->e, r->G);
    lth__device_drop(r->e, r->X);
    lth__device_drop(r->e, r->alpha);
}

static lth_status factor_there(lth_gp *gp, lth__gram *gram, room *r, double *evidence,
                               lth_error *err) {
    const lth__device_table *on = r->e->t;
    lth__device *d = r->e->d;
    size_t n = gp->rows, t = gp->target_count;
    double trace = 0, log_determinant, fit = 0;
    LTH_TRY(lth__gram_values_there(gram, r->G, err));
    LTH_TRY(on->trace(d, n, r->G, &trace, err));
    LTH_TRY(on->add_diagonal(d, n, r->G, gp->noise + gp->jitter * trace / (double)n, err));
    LTH_TRY(on->cholesky(d, n, r->G, &log_determinant, err));
    LTH_TRY(on->upload(d, r->alpha, gp->y, n * t * sizeof *gp->y, err));
    LTH_TRY(on->solve(d, n, t, r->G, r->alpha, err));
    LTH_TRY(on->download(d, gp->alpha, r->alpha, n * t * sizeof *gp->y, err));
    for (size_t i = 0; i < n * t; i++) fit += gp->y[i] * gp->alpha[i];
    *evidence =
        -0.5 * fit - 0.5 * (double)t * log_determinant - 0.5 * (double)(n * t) * log(2 * M_PI);
    return LTH_OK;
}

static lth_status pull_there(lth_gp *gp, lth__gram *gram, room *r, double *gradient,
                             lth_error *err) {
    const lth__device_table *on = r->e->t;
    size_t n = gp->rows;
    LTH_TRY(lth__device_matrix(r->e, n * n, &r->X, err));
    LTH_TRY(on->inverse(r->e->d, n, r->G, r->X, err));
    lth__device_drop(r->e, r->G);
    r->G = NULL;
    LTH_TRY(on->weigh(r->e->d, n, gp->target_count, r->alpha, r->X, err));
    LTH_TRY(on->trace(r->e->d, n, r->X, &gradient[gp->kernel->param_count], err));
    return lth__gram_pull_there(gram, r->X, gradient, err);
}

/* Without a gradient it is the factor that is wanted. */
static lth_status evidence_there(lth_gp *gp, lth__gram *gram, double *evidence, double *gradient,
                                 lth_error *err) {
    size_t n = gp->rows;
    room r = {.e = lth__gram_device(gram)};
    lth_status status = lth__device_matrix(r.e, n * n, &r.G, err);
    if (status == LTH_OK) status = lth__device_matrix(r.e, n * gp->target_count, &r.alpha, err);
    if (status == LTH_OK) status = factor_there(gp, gram, &r, evidence, err);
    if (status == LTH_OK && gradient)
        status = pull_there(gp, gram, &r, gradient, err);
    else if (status == LTH_OK)
        status = r.e->t->download(r.e->d, gp->L, r.G, n * n * sizeof *gp->L, err);
    free_room(&r);
    return status;
}

lth_status lth__gp_evidence(lth_gp *gp, lth__gram *gram, double *inverse, double *evidence,
                            double *gradient, lth_error *err) {
    size_t n = gp->rows, t = gp->target_count;
    if (gp->classes) return lth__gp_classes_evidence(gp, gram, inverse, evidence, gradient, err);
    if (lth__gram_device(gram)) return evidence_there(gp, gram, evidence, gradient, err);
    LTH_TRY(lth__gram_values(gram, gp->L, n, err));
    add_to_diagonal(gp->L, n, gp->noise, gp->jitter);
    LTH_TRY(lth__cholesky(&gp->ctx, n, gp->L, err));
    memcpy(gp->alpha, gp->y, n * t * sizeof *gp->alpha);
    LTH_TRY(lth__cholesky_solve(&gp->ctx, n, gp->L, t, gp->alpha, err));
    double fit = 0;
    for (size_t i = 0; i < n * t; i++) fit += gp->y[i] * gp->alpha[i];
    *evidence = -0.5 * fit - 0.5 * (double)t * lth__cholesky_log_determinant(n, gp->L) -
                0.5 * (double)(n * t) * log(2 * M_PI);
    if (!gradient) return LTH_OK;
    LTH_TRY(lth__cholesky_inverse(&gp->ctx, n, gp->L, inverse, err));
    return pull_gradient(gp, gram, inverse, gradient, err);
}
