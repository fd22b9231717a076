/* f of each row from all the others, where inducing rows stand for all. A row's site acts on what
 * the inducing rows say of it, a_n . u with the variance q_n; without the site (l, D) that has
 *
 *     variance q' = q / (1 - D q)      mean - q' (l - D mean)
 *
 * and f_n the variance d_n + q'. Latent functions are independent, and lose their sites together.
 */
#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "engine/blas.h"
#include "model/gp/gp_sharpness.h"
#include "model/posterior/inducing.h"

enum { ROWS = 128 };

typedef struct leaving {
    const lth_gp *gp;
    const lth__inducing_state *s;
    const lth__blas *blas;
    const lth__slice *slice;
    double *room;            /* [row][m]                                                  */
    double *mean, *variance; /* [latent][row] of all, of which each rank knows its own     */
} leaving;

static lth_status leave_piece(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker, (void)err;
    const leaving *x = user;
    size_t m = x->s->m, at = index * ROWS, latents = x->s->latents, n = x->gp->rows;
    size_t rows = x->slice->rows - at < ROWS ? x->slice->rows - at : ROWS;
    const double *A = x->slice->A + at * m;
    double *U = x->room + at * m, mean[ROWS];
    for (size_t i = 0; i < latents; i++) {
        const double *l = x->s->sites + 2 * i * n, *D = l + n;
        memcpy(U, A, rows * m * sizeof *U);
        x->blas->solve_right(rows, m, x->s->LB + i * m * m, m, U, m);
        x->blas->gemm_nn(rows, 1, m, 1, A, m, x->s->b + i, latents, 0, mean, 1);
        for (size_t r = 0; r < rows; r++) {
            size_t row = x->slice->first + at + r;
            double q = 0;
            for (size_t k = 0; k < m; k++) q += U[r * m + k] * U[r * m + k];
            double left = q / fmax(1 - D[row] * q, 1e-12);
            x->mean[i * n + row] = mean[r] - left * (l[row] - D[row] * mean[r]);
            x->variance[i * n + row] = x->slice->d[at + r] + left;
        }
    }
    return LTH_OK;
}

static lth_status leave_slice(void *user, const lth__slice *slice, double *total, lth_error *err) {
    (void)total;
    leaving *x = user;
    x->slice = slice;
    return lth__parallel_for(x->gp->kernel->ctx, NULL, (slice->rows + ROWS - 1) / ROWS, NULL,
                             leave_piece, x, err);
}

/* From [latent][row] to [row][latent], and to matrices where they are coupled. */
static void turn(const lth_gp *gp, const leaving *x, double *mean, double *spread) {
    size_t n = gp->rows, latents = gp->latents, spreads = lth__gp_spreads(gp);
    memset(spread, 0, n * spreads * sizeof *spread);
    for (size_t i = 0; i < latents; i++) {
        size_t own = gp->likelihood->coupled ? i * (latents + 1) : i;
        for (size_t r = 0; r < n; r++) {
            mean[r * latents + i] = x->mean[i * n + r];
            spread[r * spreads + own] = x->variance[i * n + r];
        }
    }
}

static lth_status sharpen(lth_gp *gp, leaving *x, double *mean, double *spread, lth_error *err) {
    double none = 0;
    LTH_TRY(lth__blas_get(&x->blas, err));
    LTH_TRY(lth__inducing_pass(gp, false, leave_slice, x, &none, 1, err));
    for (size_t i = 0; i < gp->latents; i++) {
        LTH_TRY(lth__inducing_join(gp, x->mean + i * gp->rows, err));
        LTH_TRY(lth__inducing_join(gp, x->variance + i * gp->rows, err));
    }
    turn(gp, x, mean, spread);
    return lth__gp_learn_sharpness(gp, mean, spread, err);
}

lth_status lth__inducing_sharpen(lth_gp *gp, lth_error *err) {
    lth__inducing_state *s = gp->solution;
    size_t cells = gp->rows * gp->latents, spreads = gp->rows * lth__gp_spreads(gp);
    size_t most = lth__inducing_rows(s->m), slice = most < gp->rows ? most : gp->rows;
    size_t room = 3 * cells + spreads + slice * s->m;
    double *all = lth__calloc(room, sizeof *all);
    if (!all) return lth__fail_memory(err, room * sizeof *all);
    leaving x = {.gp = gp, .s = s, .mean = all, .variance = all + cells};
    x.room = all + 3 * cells + spreads;
    lth_status status = sharpen(gp, &x, all + 2 * cells, all + 3 * cells, err);
    lth__free(all);
    return status;
}
