/* Several targets of rows that have them all. With B = U diag(l) U^T and Z = Y U the targets fall
 * apart, into as many problems of the size of K as there are:
 *
 *     G_e = I + (l_e / s) K,  A_e = G_e^-1 Z_e,  s the noise
 *     log evidence = sum_e -(Z_e^T A_e / s + log |G_e|)/2 - (N T / 2) log(2 pi s)
 *
 *     by K     sum_e (l_e / s) (A_e A_e^T / s - G_e^-1)/2
 *     by B     U M U^T,  M_ef = (A_e^T (Z_f - A_f) / (s l_f) - [e = f] (N - tr G_e^-1) / l_e)/2
 *     by s     sum_e (|A_e|^2 / s^2 - tr G_e^-1 / s)/2
 *
 * Equal l share a factor: with one `own` for all targets there are rank + 1 at most.
 */
#include <math.h>
#include <string.h>

#include "model/posterior/joint.h"
#include "model/posterior/outputs.h"

static size_t factors(const lth__outputs *o) {
    return lth__outputs_groups(o);
}

static size_t factor_rows(const lth__outputs *o) {
    return o->rows;
}

/* K, G and W; or K and a factor for each group. */
static size_t bytes(const lth_gp *gp) {
    size_t each = lth__gp_matrix_bytes(gp), groups = gp->how.coregion + 1;
    size_t count = groups + 1 > 3 ? groups + 1 : 3;
    return each > SIZE_MAX / count ? SIZE_MAX : count * each;
}

/* The factor of a group's G, in o->G. */
static lth_status factor(const lth_gp *gp, lth__outputs *o, size_t group, double *room,
                         double *log_determinant, lth_error *err) {
    double root = sqrt(o->l[group] / gp->own[0]);
    for (size_t i = 0; i < o->rows; i++) room[i] = root;
    LTH_TRY(o->K.table->sandwich(&o->K, room, &o->G, err));
    return o->G.table->factor(&o->G, log_determinant, err);
}

/* ---- Evidence ---- */

typedef struct sums {
    double *Z, *A, *some; /* [row][target], in the coordinates of U; columns of a group */
    double *zero;         /* [row]                                                      */
    double *trace;        /* of G^-1, by group                                          */
    double *M, *by_B;     /* [target][target]                                           */
    double fit, log_determinant;
} sums;

static void turn_targets(const lth_gp *gp, const lth__outputs *o, double *Z) {
    size_t n = o->rows, count = o->targets;
    memset(Z, 0, n * count * sizeof *Z);
    for (size_t i = 0; i < n; i++) {
        for (size_t t = 0; t < count; t++) {
            for (size_t e = 0; e < count; e++)
                Z[i * count + e] += gp->y[t * n + i] * o->U[t * count + e];
        }
    }
}

/* What a group adds to the weights of K. */
static lth_status add_weights(const lth_gp *gp, lth__outputs *o, const sums *s, size_t group,
                              size_t width, lth_error *err) {
    const lth__matrix_table *table = o->G.table;
    double root = 1 / sqrt(gp->own[0]), by = -2 * o->l[group] / gp->own[0];
    LTH_TRY(table->invert(&o->G, err));
    LTH_TRY(lth__matrix_trace(&o->G, &s->trace[group], err));
    for (size_t i = 0; i < o->rows * width; i++) s->some[i] *= root;
    LTH_TRY(table->weigh(&o->G, width, s->some, err));
    LTH_TRY(table->affine(&o->G, by, 0, err)); /* add_weights() takes -1/2 of it */
    return table->add_weights(&o->W, &o->G, s->zero, s->zero, s->zero, err);
}

static lth_status solve_group(const lth_gp *gp, lth__outputs *o, sums *s, size_t group,
                              bool gradient, lth_error *err) {
    size_t n = o->rows, count = o->targets, end = lth__outputs_group_end(o, group);
    size_t width = end - group;
    double log_determinant;
    LTH_TRY(factor(gp, o, group, s->some, &log_determinant, err));
    for (size_t i = 0; i < n; i++)
        memcpy(s->some + i * width, s->Z + i * count + group, width * sizeof *s->some);
    LTH_TRY(o->G.table->solve(&o->G, width, s->some, err));
    for (size_t i = 0; i < n; i++) {
        memcpy(s->A + i * count + group, s->some + i * width, width * sizeof *s->some);
        for (size_t e = group; e < end; e++) s->fit += s->Z[i * count + e] * s->A[i * count + e];
    }
    s->log_determinant += (double)width * log_determinant;
    return gradient ? add_weights(gp, o, s, group, width, err) : LTH_OK;
}

/* alpha = A U^T / s */
static void take_alpha(const lth_gp *gp, lth__outputs *o, const double *A) {
    size_t count = o->targets;
    for (size_t i = 0; i < o->rows; i++) {
        for (size_t t = 0; t < count; t++) {
            double sum = 0;
            for (size_t e = 0; e < count; e++) sum += A[i * count + e] * o->U[t * count + e];
            o->alpha[i * count + t] = sum / gp->own[0];
        }
    }
}

static size_t group_of(const lth__outputs *o, size_t e) {
    size_t last = lth__outputs_groups(o) - 1;
    return e < last ? e : last;
}

static void differentiate_B(const lth_gp *gp, const lth__outputs *o, const sums *s) {
    size_t n = o->rows, count = o->targets, cells = count * count;
    double noise = gp->own[0];
    memset(s->M, 0, cells * sizeof *s->M);
    for (size_t i = 0; i < n; i++) {
        const double *A = s->A + i * count, *Z = s->Z + i * count;
        for (size_t e = 0; e < count; e++) {
            for (size_t f = 0; f < count; f++)
                s->M[e * count + f] += A[e] * (Z[f] - A[f]) / (2 * noise * o->l[f]);
        }
    }
    for (size_t e = 0; e < count; e++)
        s->M[e * count + e] -= ((double)n - s->trace[group_of(o, e)]) / (2 * o->l[e]);
    memset(s->by_B, 0, cells * sizeof *s->by_B);
    for (size_t i = 0; i < cells * cells; i++) {
        size_t t = i / (cells * count), u = i / cells % count, e = i / count % count, f = i % count;
        double both = (s->M[e * count + f] + s->M[f * count + e]) / 2;
        s->by_B[t * count + u] += o->U[t * count + e] * both * o->U[u * count + f];
    }
}

static double by_noise(const lth_gp *gp, const lth__outputs *o, const sums *s) {
    double sum = 0, noise = gp->own[0];
    for (size_t i = 0; i < o->rows * o->targets; i++) sum += s->A[i] * s->A[i] / (noise * noise);
    for (size_t e = 0; e < o->targets; e++) sum -= s->trace[group_of(o, e)] / noise;
    return sum / 2;
}

static lth_status solve_all(lth_gp *gp, lth__outputs *o, lth__gram *gram, sums *s, double *evidence,
                            double *gradient, lth_error *err) {
    double cells = (double)(o->rows * o->targets), noise = gp->own[0];
    LTH_TRY(lth__matrix_gram(&o->K, gram, err));
    LTH_TRY(lth__gp_prior_matrix(gp, 0, &o->K, err));
    if (gradient) {
        LTH_TRY(o->W.table->reserve(&o->W, err));
        LTH_TRY(o->W.table->fill(&o->W, 0, err));
    }
    turn_targets(gp, o, s->Z);
    for (size_t g = 0; g < lth__outputs_groups(o); g++)
        LTH_TRY(solve_group(gp, o, s, g, gradient != NULL, err));
    take_alpha(gp, o, s->A);
    *evidence = -0.5 * (s->fit / noise + s->log_determinant + cells * log(2 * M_PI * noise));
    if (!gradient) return LTH_OK;
    differentiate_B(gp, o, s);
    lth__outputs_pull(gp, s->by_B, gradient);
    gradient[gp->kernel->param_count] += by_noise(gp, o, s);
    return lth__gp_pull(gp, gram, &o->W, NULL, gradient, err);
}

static lth_status evidence(lth_gp *gp, lth__gram *gram, double *out, double *gradient,
                           lth_error *err) {
    lth__outputs *o = gp->solution;
    size_t n = o->rows, count = o->targets, cells = n * count;
    if (!o->K.table) {
        o->K = lth__matrix_shared_beside(&gp->ctx, gram, n);
        o->G = lth__matrix_shared_beside(&gp->ctx, gram, n);
        o->W = lth__matrix_shared_beside(&gp->ctx, gram, n);
    }
    LTH_TRY(lth__outputs_decompose(gp, o, err));
    size_t size = 3 * cells + n + count + 2 * count * count;
    double *room = lth__calloc(size, sizeof *room);
    if (!room) return lth__fail_memory(err, size * sizeof *room);
    sums s = {.Z = room, .A = room + cells, .some = room + 2 * cells, .zero = room + 3 * cells};
    s.trace = s.zero + n;
    s.M = s.trace + count;
    s.by_B = s.M + count * count;
    lth_status status = solve_all(gp, o, gram, &s, out, gradient, err);
    lth__free(room);
    return status;
}

/* ---- Afterwards ---- */

/* How much of a group two targets have in common. */
static double share_of(const lth__outputs *o, size_t group, size_t t, size_t u) {
    double sum = 0;
    for (size_t e = group; e < lth__outputs_group_end(o, group); e++)
        sum += o->U[t * o->targets + e] * o->U[u * o->targets + e];
    return sum;
}

static lth_status settle_group(lth_gp *gp, size_t group, double *room, double *inverse,
                               lth_error *err) {
    lth__outputs *o = gp->solution;
    double log_determinant, share = share_of(o, group, 0, 0) / gp->own[0];
    LTH_TRY(factor(gp, o, group, room, &log_determinant, err));
    LTH_TRY(o->G.table->inverse_diagonal(&o->G, room, err));
    for (size_t i = 0; i < o->rows; i++) inverse[i] += share * room[i];
    lth__free(o->L[group]);
    o->L[group] = NULL;
    return lth__matrix_take(&o->G, &o->L[group], err);
}

static lth_status settle(lth_gp *gp, double *inverse, lth_error *err) {
    lth__outputs *o = gp->solution;
    double *room = lth__alloc(o->rows, sizeof *room);
    if (!room) return lth__fail_memory(err, o->rows * sizeof *room);
    lth_status status = LTH_OK;
    gp->at_first_rank = o->G.tiles != NULL;
    lth__matrix_free(&o->W);
    memset(inverse, 0, o->rows * sizeof *inverse);
    for (size_t g = 0; g < lth__outputs_groups(o) && status == LTH_OK; g++)
        status = settle_group(gp, g, room, inverse, err);
    lth__free(room);
    return status;
}

static lth_status inverse_diagonal(const lth_gp *gp, size_t target, double *out, lth_error *err) {
    const lth__outputs *o = gp->solution;
    lth_ctx ctx = gp->ctx;
    size_t n = o->rows;
    double *one = lth__alloc(n, sizeof *one);
    if (!one) return lth__fail_memory(err, n * sizeof *one);
    lth_status status = LTH_OK;
    memset(out, 0, n * sizeof *out);
    for (size_t g = 0; g < lth__outputs_groups(o) && status == LTH_OK; g++) {
        double share = share_of(o, g, target, target) / gp->own[0];
        lth__matrix L = lth__matrix_on_host(&ctx, n, o->L[g]);
        status = L.table->inverse_diagonal(&L, one, err);
        for (size_t i = 0; i < n && status == LTH_OK; i++) out[i] += share * one[i];
    }
    lth__free(one);
    return status;
}

/* In the coordinates of U the targets are independent, of these variances:
 * l k** - l^2 k*^T (l K + s I)^-1 k* */
static lth_status vary_group(const lth_gp *gp, lth_ctx *ctx, size_t group, size_t rows,
                             const double *K, const double *self, double *room, double *variance,
                             lth_error *err) {
    const lth__outputs *o = gp->solution;
    size_t n = o->rows;
    double l = o->l[group], by = l / sqrt(gp->own[0]), *V = room, *own = room + rows * n;
    for (size_t i = 0; i < rows * n; i++) V[i] = by * K[i];
    for (size_t r = 0; r < rows; r++) own[r] = l * self[r];
    return lth__gp_variances(ctx, n, o->L[group], rows, V, own, variance, 1, err);
}

static lth_status covary(const lth_gp *gp, lth_ctx *ctx, size_t rows, const double *K,
                         const double *self, double *covariance, lth_error *err) {
    const lth__outputs *o = gp->solution;
    size_t count = o->targets, cells = count * count, size = rows * (o->rows + 2);
    double *room = lth__alloc(size, sizeof *room), *variance = room + rows * (o->rows + 1);
    if (!room) return lth__fail_memory(err, size * sizeof *room);
    lth_status status = LTH_OK;
    memset(covariance, 0, rows * cells * sizeof *covariance);
    for (size_t g = 0; g < lth__outputs_groups(o) && status == LTH_OK; g++) {
        status = vary_group(gp, ctx, g, rows, K, self, room, variance, err);
        for (size_t c = 0; c < cells && status == LTH_OK; c++) {
            double share = share_of(o, g, c / count, c % count);
            for (size_t r = 0; r < rows; r++) covariance[r * cells + c] += share * variance[r];
        }
    }
    lth__free(room);
    return status;
}

/* D = l k** - l^2 k*^T (l K + s I)^-1 k*, as above, of rows among each other. */
static lth_status join_group(const lth_gp *gp, lth_ctx *ctx, size_t group, size_t rows,
                             const double *K, const double *prior, double *V, double *D,
                             lth_error *err) {
    const lth__outputs *o = gp->solution;
    size_t n = o->rows;
    double l = o->l[group], by = l / sqrt(gp->own[0]);
    for (size_t i = 0; i < rows * n; i++) V[i] = by * K[i];
    for (size_t i = 0; i < rows * rows; i++) D[i] = l * prior[i];
    LTH_TRY(lth__joint_whiten(ctx, n, o->L[group], rows, V, err));
    LTH_TRY(lth__joint_add(ctx, rows, n, -1, V, V, D, err));
    lth__joint_hold(rows, D);
    return LTH_OK;
}

static lth_status join(const lth_gp *gp, lth_ctx *ctx, size_t rows, const double *K, double *C,
                       lth_error *err) {
    const lth__outputs *o = gp->solution;
    size_t square = rows * rows, size = rows * o->rows + 2 * square;
    double *V = lth__alloc(size, sizeof *V), *prior = V + rows * o->rows, *D = prior + square;
    if (!V) return lth__fail_memory(err, size * sizeof *V);
    lth_status status = LTH_OK;
    memcpy(prior, C, square * sizeof *prior);
    memset(C, 0, o->targets * square * sizeof *C);
    for (size_t g = 0; g < lth__outputs_groups(o) && status == LTH_OK; g++) {
        status = join_group(gp, ctx, g, rows, K, prior, V, D, err);
        for (size_t t = 0; t < o->targets && status == LTH_OK; t++) {
            double share = share_of(o, g, t, t);
            for (size_t i = 0; i < square; i++) C[t * square + i] += share * D[i];
        }
    }
    lth__free(V);
    return status;
}

const lth__outputs_form lth__outputs_whole = {.bytes = bytes,
                                              .evidence = evidence,
                                              .settle = settle,
                                              .inverse_diagonal = inverse_diagonal,
                                              .covary = covary,
                                              .join = join,
                                              .factors = factors,
                                              .factor_rows = factor_rows};
