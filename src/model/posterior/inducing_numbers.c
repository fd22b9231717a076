/* Inducing rows for Gaussian noise. With D = 1/noise (Titsias) or 1/(noise + d_n) (FITC), for t
 * targets
 *
 *     evidence = -1/2 (N t log 2 pi + t sum_n log(noise + d_n) + t log |B| + sum D y^2 - b . A D y)
 *
 * which for D = 1/noise is a lower bound of the evidence, tighter than that of Titsias 2009, which
 * has d_n/noise instead of log(1 + d_n/noise) (Titsias 2025; Bui, Ashman and Turner 2025); the
 * posterior is the same. FITC's is no bound, but the evidence of a model where what the rows
 * leave of a variance is noise: matrices that are nearly diagonal want that.
 */
#include <math.h>
#include <string.h>

#include "model/posterior/inducing.h"

static bool is_fitc(const lth_gp *gp) {
    return gp->how.bound == LTH_BOUND_FITC;
}

static double precision(const lth_gp *gp, double d) {
    return 1 / (is_fitc(gp) ? gp->own[0] + d : gp->own[0]);
}

/* After the sums S and R. */
enum { LOGS, SQUARE, LEFT, MORE };

typedef struct numbers {
    lth_gp *gp;
    size_t m, t;
    double *w, *V, *room; /* [row], [row][t]: D and D y; [row][m] */
    double *total;        /* S, R and more                        */
} numbers;

static size_t count_sums(const numbers *x) {
    return x->m * x->m + x->m * x->t;
}

static lth_status take(void *user, const lth__slice *s, double *total, lth_error *err) {
    const numbers *x = user;
    const lth_gp *gp = x->gp;
    size_t t = x->t;
    lth__inducing_sum sum = {
        .m = x->m, .t = t, .S = total, .R = total + x->m * x->m, .room = x->room};
    double *more = total + count_sums(x);
    for (size_t r = 0; r < s->rows; r++) {
        double D = precision(gp, s->d[r]);
        x->w[r] = D;
        more[LOGS] += log(gp->own[0] + s->d[r]);
        more[LEFT] += s->d[r] / gp->own[0];
        for (size_t k = 0; k < t; k++) {
            double y = gp->y[k * gp->rows + s->first + r];
            x->V[r * t + k] = D * y;
            more[SQUARE] += D * y * y;
        }
    }
    return lth__inducing_add(gp, &sum, s, is_fitc(gp) ? x->w : NULL, x->V, err);
}

static lth_status make_room(numbers *x, lth_error *err) {
    const lth_gp *gp = x->gp;
    size_t rows = lth__inducing_rows(x->m);
    if (rows > gp->rows) rows = gp->rows;
    x->total = lth__alloc(count_sums(x) + MORE, sizeof *x->total);
    x->room = lth__alloc(is_fitc(gp) ? rows * x->m : 0, sizeof *x->room);
    x->w = lth__alloc(rows, sizeof *x->w);
    x->V = lth__alloc(rows * x->t, sizeof *x->V);
    bool ok = x->total && x->room && x->w && x->V;
    return ok ? LTH_OK : lth__fail_memory(err, rows * x->m * sizeof(double));
}

static lth_status evaluate(numbers *x, bool again, double *evidence, lth_error *err) {
    lth_gp *gp = x->gp;
    lth__inducing_state *s = gp->solution;
    double n = (double)gp->rows, t = (double)gp->latents, log_determinant, fit = 0;
    LTH_TRY(make_room(x, err));
    size_t sums = count_sums(x);
    const double *S = x->total, *R = S + x->m * x->m, *more = S + sums;
    LTH_TRY(lth__inducing_pass(gp, again, take, x, x->total, sums + MORE, err));
    LTH_TRY(lth__inducing_solve(gp, 0, is_fitc(gp) ? 1 : 1 / gp->own[0], S, R, 0, gp->latents,
                                &log_determinant, err));
    for (size_t i = 0; i < x->m * x->t; i++) fit += s->b[i] * R[i];
    *evidence =
        -0.5 * (n * t * log(2 * M_PI) + t * (more[LOGS] + log_determinant) + more[SQUARE] - fit);
    s->left_to_noise = more[LEFT] / n;
    return LTH_OK;
}

lth_status lth__inducing_numbers(lth_gp *gp, bool again, double *evidence, lth_error *err) {
    const lth__inducing_state *s = gp->solution;
    numbers x = {.gp = gp, .m = s->m, .t = gp->latents};
    lth_status status = evaluate(&x, again, evidence, err);
    void *blocks[] = {x.total, x.room, x.w, x.V};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) lth__free(blocks[i]);
    return status;
}

/* With e_n = 1/(noise + d_n): the derivative by the noise is sum_n (|g_n|^2 - t e_n + t D^2 q_n)/2,
 * p = t D, and h = t e (Titsias) or minus what that sum has of row n, twice (FITC, where the noise
 * of the row is d_n too). */
void lth__inducing_number_weights(const lth_gp *gp, const lth__slice *s, size_t first, size_t t,
                                  double *mean, const double *q, double *p, double *h,
                                  double *own) {
    for (size_t r = 0; r < s->rows; r++) {
        double D = precision(gp, s->d[r]), e = 1 / (gp->own[0] + s->d[r]), square = 0;
        for (size_t k = 0; k < t; k++) {
            double y = gp->y[(first + k) * gp->rows + s->first + r], *g = &mean[r * t + k];
            *g = D * (y - *g);
            square += *g * *g;
            for (size_t j = 0; gp->warp && j < lth__warp_params(gp->warp); j++)
                own[1 + j] -= *g * lth__gp_warp_by(gp, j, first + k)[s->first + r];
        }
        double by_noise = square - (double)t * (e - D * D * q[r]);
        own[0] += by_noise / 2;
        p[r] = (double)t * D;
        h[r] = is_fitc(gp) ? -by_noise : (double)t * e;
    }
}
