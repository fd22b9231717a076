/* The posterior of several targets that learn from each other, exact, in either of its forms. The
 * prediction of a cell from all the others is known without another fit:
 *
 *     mean = y_c - alpha_c / (G^-1)_cc      variance = 1 / (G^-1)_cc
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "engine/blas.h"
#include "engine/eigen.h"
#include "model/posterior/outputs.h"

/* ---- Values of B ---- */

size_t lth__outputs_groups(const lth__outputs *o) {
    return o->rank < o->targets ? o->rank + 1 : o->targets;
}

size_t lth__outputs_group_end(const lth__outputs *o, size_t group) {
    return group < o->rank ? group + 1 : o->targets;
}

/* By the eigenvalues of w w^T, of which `rank` are not 0: the rest is then `own`, to the bit. */
lth_status lth__outputs_decompose(const lth_gp *gp, lth__outputs *o, lth_error *err) {
    size_t count = o->targets;
    double own = gp->own[gp->likelihood_params + count * o->rank];
    double *A = lth__alloc(count * count, sizeof *A);
    if (!A) return lth__fail_memory(err, count * count * sizeof *A);
    lth__outputs_matrix(gp, o->B);
    memcpy(A, o->B, count * count * sizeof *A);
    for (size_t t = 0; t < count; t++) A[t * count + t] -= own;
    lth__eigen(count, A, o->l, o->U);
    lth__free(A);
    for (size_t e = 0; e < count; e++) o->l[e] = own + (e < o->rank ? fmax(o->l[e], 0) : 0);
    return LTH_OK;
}

void lth__outputs_weigh(lth__outputs *o) {
    size_t count = o->targets;
    for (size_t i = 0; i < o->rows; i++) {
        for (size_t t = 0; t < count; t++) {
            double sum = 0;
            for (size_t u = 0; u < count; u++) sum += o->alpha[i * count + u] * o->B[u * count + t];
            o->weights[i * count + t] = sum;
        }
    }
}

/* ---- The solution ---- */

static const lth__outputs_form *form_of(const lth__outputs *o) {
    return o->row ? &lth__outputs_cells : &lth__outputs_whole;
}

static void release(void *solution) {
    lth__outputs *o = solution;
    if (!o) return;
    lth__matrix_free(&o->K);
    lth__matrix_free(&o->G);
    lth__matrix_free(&o->W);
    for (size_t g = 0; g <= LTH__MOST_RANK; g++) lth__free(o->L[g]);
    void *blocks[] = {o->B, o->U, o->l, o->row, o->target, o->alpha, o->weights};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) lth__free(blocks[i]);
    lth__free(o);
}

static lth_status list_cells(const lth_gp *gp, lth__outputs *o, lth_error *err) {
    size_t n = o->rows, count = o->targets;
    for (size_t i = 0; i < n * count; i++) o->cells += isnan(gp->y[i]) ? 0 : 1;
    if (o->cells == n * count) return LTH_OK;
    o->row = lth__alloc(o->cells + 1, sizeof *o->row);
    o->target = lth__alloc(o->cells + 1, sizeof *o->target);
    if (!o->row || !o->target) return lth__fail_memory(err, o->cells * sizeof *o->row);
    for (size_t i = 0, c = 0; i < n * count; i++) {
        if (isnan(gp->y[i % count * n + i / count])) continue;
        o->row[c] = i / count;
        o->target[c++] = i % count;
    }
    return LTH_OK;
}

static lth_status open(lth_gp *gp, lth_error *err) {
    size_t n = gp->rows, count = gp->target_count;
    lth__outputs *o = gp->solution = lth__calloc(1, sizeof *o);
    if (!o) return lth__fail_memory(err, sizeof *o);
    o->rows = n;
    o->targets = count;
    o->rank = gp->how.coregion;
    o->B = lth__alloc(count * count, sizeof *o->B);
    o->U = lth__alloc(count * count, sizeof *o->U);
    o->l = lth__alloc(count, sizeof *o->l);
    o->alpha = lth__calloc(n * count, sizeof *o->alpha);
    o->weights = lth__calloc(n * count, sizeof *o->weights);
    if (!o->B || !o->U || !o->l || !o->alpha || !o->weights)
        return lth__fail_memory(err, 2 * n * count * sizeof *o->alpha);
    return list_cells(gp, o, err);
}

static size_t bytes(const lth_gp *gp) {
    bool whole = gp->how.known_cells == (double)gp->latents;
    return (whole ? &lth__outputs_whole : &lth__outputs_cells)->bytes(gp);
}

static size_t settled_bytes(const lth_gp *gp) {
    bool whole = gp->how.known_cells == (double)gp->latents;
    double rows = (whole ? 1 : gp->how.known_cells) * (double)gp->rows;
    size_t each = lth__packed_bytes((size_t)rows + 1, sizeof(double));
    size_t count = whole ? gp->how.coregion + 1 : 1;
    return each > SIZE_MAX / count ? SIZE_MAX : count * each;
}

static lth_status evidence(lth_gp *gp, lth__gram *gram, double *out, double *gradient,
                           lth_error *err) {
    return form_of(gp->solution)->evidence(gp, gram, out, gradient, err);
}

static lth_status settle(lth_gp *gp, lth_error *err) {
    lth__outputs *o = gp->solution;
    size_t n = o->rows;
    double *inverse = lth__alloc(3 * n, sizeof *inverse), *mean = inverse + n, *variance = mean + n;
    if (!inverse) return lth__fail_memory(err, 3 * n * sizeof *inverse);
    lth_status status = form_of(o)->settle(gp, inverse, err);
    if (status == LTH_OK) {
        lth__gp_leave_out(gp, o->alpha, inverse, 0, mean, variance);
        status = lth__gp_report_left_out(gp, mean, variance, err);
    }
    lth__free(inverse);
    lth__matrix_free(&o->K);
    lth__matrix_free(&o->G);
    lth__matrix_free(&o->W);
    o->K = o->G = o->W = (lth__matrix){0};
    lth__outputs_weigh(o);
    gp->report.noise = lth__gp_noise(gp);
    return status;
}

/* ---- Predictions ---- */

static lth_status covary(const lth_gp *gp, lth_ctx *ctx, size_t rows, const double *K,
                         const double *self, double *mean, double *covariance, lth_error *err) {
    const lth__outputs *o = gp->solution;
    const lth__blas *blas;
    LTH_TRY(lth__blas_get(&blas, err));
    blas->gemm_nn(rows, o->targets, o->rows, 1, K, o->rows, o->weights, o->targets, 0, mean,
                  o->targets);
    return covariance ? form_of(o)->covary(gp, ctx, rows, K, self, covariance, err) : LTH_OK;
}

static lth_status predict(const lth_gp *gp, lth_ctx *ctx, size_t rows, double *K,
                          const double *self, double *mean, double *variance, lth_error *err) {
    size_t count = gp->target_count, cells = count * count;
    if (!variance) return covary(gp, ctx, rows, K, self, mean, NULL, err);
    double *covariance = lth__alloc(rows * cells, sizeof *covariance);
    if (!covariance) return lth__fail_memory(err, rows * cells * sizeof *covariance);
    lth_status status = covary(gp, ctx, rows, K, self, mean, covariance, err);
    for (size_t i = 0; i < rows * count && status == LTH_OK; i++)
        variance[i] = covariance[i / count * cells + i % count * (count + 1)];
    lth__free(covariance);
    return status;
}

static lth_status join(const lth_gp *gp, lth_ctx *ctx, size_t rows, double *K, double *C,
                       lth_error *err) {
    return form_of(gp->solution)->join(gp, ctx, rows, K, C, err);
}

static void weigh(const lth_gp *gp, size_t i, double *w) {
    const lth__outputs *o = gp->solution;
    for (size_t r = 0; r < o->rows; r++) w[r] = o->weights[r * o->targets + i];
}

static lth_status leave_one_out(const lth_gp *gp, size_t target, double *mean, double *variance,
                                lth_error *err) {
    const lth__outputs *o = gp->solution;
    if (!o->L[0]) return lth__fail(err, LTH_EUNSUPPORTED, "the first rank has the model's factor");
    double *inverse = lth__alloc(o->rows, sizeof *inverse);
    if (!inverse) return lth__fail_memory(err, o->rows * sizeof *inverse);
    lth_status status = form_of(o)->inverse_diagonal(gp, target, inverse, err);
    for (size_t i = 0; i < o->rows && status == LTH_OK; i++) {
        if (!(inverse[i] > 0 && isfinite(inverse[i])))
            status = lth__fail(err, LTH_ENUMERIC, "the model's matrix has no inverse");
    }
    if (status == LTH_OK) lth__gp_leave_out(gp, o->alpha, inverse, target, mean, variance);
    lth__free(inverse);
    return status;
}

/* ---- In a file ---- */

static void name_factor(size_t i, char out[16]) {
    snprintf(out, 16, "factor%zu", i % 100);
}

static void save(const lth_gp *gp, lth__saver *s) {
    const lth__outputs *o = gp->solution;
    size_t n = o->rows, count = o->targets;
    double *y = lth__saver_keep(s, lth__alloc(n * count, sizeof *y));
    uint8_t *known = lth__saver_keep(s, lth__alloc(n * count, 1));
    s->ok = s->ok && y && known;
    for (size_t i = 0; s->ok && i < n * count; i++) {
        double cell = gp->y[i % count * n + i / count];
        known[i] = (uint8_t)(isnan(cell) ? 0 : 1);
        y[i] = known[i] ? cell : 0;
    }
    if (!s->ok) return;
    lth__saver_put(s, "y", LTH__F64, n, count, y);
    lth__saver_put(s, "known", LTH__U8, n, count, known);
    lth__saver_put(s, "alpha", LTH__F64, n, count, o->alpha);
    for (size_t i = 0; i < form_of(o)->factors(o) && s->ok; i++) {
        char name[16];
        name_factor(i, name);
        lth__factor_save(s, name, form_of(o)->factor_rows(o), o->L[i]);
    }
}

static lth_status load_targets(lth_gp *gp, const lth__loader *l) {
    const lth__tensor *y, *known;
    size_t count = gp->target_count;
    LTH_TRY(lth__loader_get(l, "y", LTH__F64, 2, LTH_NONE, count, &y));
    size_t n = gp->rows = y->shape[0];
    if (n == 0) return lth__loader_damaged(l, "it has no training rows");
    LTH_TRY(lth__loader_get(l, "known", LTH__U8, 2, n, count, &known));
    LTH_TRY(lth__loader_copy(l, y, &gp->y));
    for (size_t i = 0; i < n * count; i++) {
        bool is_known = ((const uint8_t *)known->data)[i] != 0;
        gp->y[i % count * n + i / count] = is_known ? ((const double *)y->data)[i] : NAN;
    }
    return LTH_OK;
}

static lth_status load(lth_gp *gp, const lth__loader *l) {
    const lth__tensor *t;
    gp->latents = gp->target_count;
    LTH_TRY(load_targets(gp, l));
    LTH_TRY(open(gp, l->err));
    lth__outputs *o = gp->solution;
    if (o->cells == 0) return lth__loader_damaged(l, "known");
    gp->how.known_cells = (double)o->cells / (double)o->rows;
    LTH_TRY(lth__loader_get(l, "alpha", LTH__F64, 2, o->rows, o->targets, &t));
    lth__free(o->alpha);
    o->alpha = NULL;
    LTH_TRY(lth__loader_copy(l, t, &o->alpha));
    for (size_t i = 0; i < form_of(o)->factors(o); i++) {
        char name[16];
        name_factor(i, name);
        LTH_TRY(lth__factor_load(l, name, form_of(o)->factor_rows(o), &o->L[i]));
    }
    return LTH_OK;
}

/* B is of parameters that are read later. */
static lth_status restore(lth_gp *gp, lth_error *err) {
    LTH_TRY(lth__outputs_decompose(gp, gp->solution, err));
    lth__outputs_weigh(gp->solution);
    return LTH_OK;
}

const lth__posterior lth__coregional = {.name = "coregion",
                                        .open = open,
                                        .free = release,
                                        .bytes = bytes,
                                        .settled_bytes = settled_bytes,
                                        .evidence = evidence,
                                        .settle = settle,
                                        .predict = predict,
                                        .covary = covary,
                                        .join = join,
                                        .weigh = weigh,
                                        .leave_one_out = leave_one_out,
                                        .save = save,
                                        .load = load,
                                        .restore = restore};
