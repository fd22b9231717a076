/* Inside of the posterior by inducing rows: M training rows stand for all N.
 *
 *     C_mm + jitter I = L L^T,   a_n = L^-1 c_m(x_n),   d_n = c(x_n, x_n) - |a_n|^2 >= 0
 *     B = I + sum_n D_n a_n a_n^T = L_B L_B^T,   b = B^-1 sum_n l_n a_n,   beta = L^-T b
 *     f at x:  mean = c_m(x) . beta,   variance = c(x, x) - |L^-1 c_m|^2 + |L_B^-1 L^-1 c_m|^2
 *
 * where each row has a precision D_n and l_n = D_n times what was seen. Gaussian noise: D = 1/noise
 * (Titsias) or 1/(noise + d_n) (FITC), seen is y_n. Others have sites, found step by step
 * (inducing_sites.c, inducing_softmax.c). Rows come in slices and the N x M matrix of a_n is never
 * held, unless there is room for it and it is needed more than once.
 *
 * The gradient of each evidence is the pull-back of
 *
 *     W_nm    = L^-T x_n,   x_n = sum_t b_t g_nt - p_n B^-1 a_n + h_n a_n
 *     W_mm    = -1/2 L^-T (sum_t b_t b_t^T + t (B^-1 - I) + sum_n h_n a_n a_n^T) L^-1
 *     w_diag  = -h/2
 *
 * with three numbers for each row: its slope g, p and h. t latent functions share a B where noise
 * is Gaussian; otherwise each has its own, and the weights are added.
 */
#ifndef LTH_INDUCING_H
#define LTH_INDUCING_H

#include "model/common/basis.h"
#include "model/gp/gp.h"

typedef struct lth__inducing_state {
    /* The posterior: */
    size_t m, latents, factors; /* factors: how many B there are */
    double *L, *LB;             /* m x m; [factor] m x m         */
    double *b, *beta;           /* [m][latent]                   */

    /* While it learns: */
    lth__basis *basis;
    double *chosen_at;    /* the parameters at which the basis was chosen */
    double jitter, unit;  /* the basis' own, absolute; the mean variance at that time */
    double *d, *self;     /* [n]: left of the rows' variances; these */
    double *A;            /* n x m, or NULL: there is no room for it */
    float *small;         /* the same in half of it, or NULL         */
    bool is_kept;         /* A (or small), d and self are those of the present parameters */
    double *sites;        /* [latent][l, D][n], of likelihoods that are not Gaussian */
    double left_to_noise; /* mean of d_n D_n with D as in Titsias' posterior, or of the sites */
} lth__inducing_state;

/* One without rows yet, or NULL. */
lth__inducing_state *lth__inducing_create(const lth_gp *gp);
/* beta = L^-T b. */
lth_status lth__inducing_weigh(lth__inducing_state *s, const double *L, lth_error *err);
/* Whether it can be on the diagonal of a factor of B, which is I and more. */
bool lth__inducing_is_pivot(double x);
extern const lth__draw_keeper lth__inducing_draws;

/* ---- Passes over all rows (inducing_pass.c) ---- */

typedef struct lth__slice {
    size_t first, rows;
    const lth_items *items;
    const double *A;        /* [row][m] */
    const double *d, *self; /* [row]    */
} lth__slice;

/* Adds to `total` what the slice has to add. */
typedef lth_status lth__slice_fn(void *user, const lth__slice *slice, double *total,
                                 lth_error *err);

/* Rows of a slice, by M alone. */
size_t lth__inducing_rows(size_t m);
/* total[0 .. count) = the sum over all slices, each of which is handed to `take`: in order, or each
 * rank's own, in order. `again`: others will follow at the same parameters. */
lth_status lth__inducing_pass(lth_gp *gp, bool again, lth__slice_fn *take, void *user,
                              double *total, size_t count, lth_error *err);
/* Numbers of rows, of which each rank knows those of its own slices: all get all. */
lth_status lth__inducing_join(const lth_gp *gp, double *of_rows, lth_error *err);

/* S (m x m, its lower triangle) += sum_n w_n a_n a_n^T (w NULL = 1), and R (m x t) += sum_n a_n
 * V_n^T with V by [row][t]. `room`: rows x m numbers, not needed without w. */
typedef struct lth__inducing_sum {
    size_t m, t;
    double *S, *R, *room;
} lth__inducing_sum;
lth_status lth__inducing_add(const lth_gp *gp, const lth__inducing_sum *sum, const lth__slice *s,
                             const double *w, const double *V, lth_error *err);

/* LB of factor i from S, which becomes it: B = I + by S, and b of `t` latent functions from `first`
 * on: b = B^-1 R. LTH_ENUMERIC if B is not finite. */
lth_status lth__inducing_solve(const lth_gp *gp, size_t i, double by, const double *S,
                               const double *R, size_t first, size_t t, double *log_determinant,
                               lth_error *err);

/* ---- Evidences ---- */

lth_status lth__inducing_numbers(lth_gp *gp, bool again, double *evidence, lth_error *err);
lth_status lth__inducing_sites(lth_gp *gp, double *evidence, lth_error *err);
lth_status lth__inducing_softmax(lth_gp *gp, double *evidence, lth_error *err);

/* How sharp labels are (gp_sharpness.h), from f of each row given all others
 * (inducing_left_out.c). */
lth_status lth__inducing_sharpen(lth_gp *gp, lth_error *err);

/* ---- The gradient (inducing_pull.c) ---- */

/* What a kind of evidence says of the rows of a slice: from mean and q = a^T B^-1 a by [row][t] and
 * [row] of the latent functions from `first` on, the slopes g in place of the means, and p and h;
 * own[] += its derivatives by the likelihood's parameters. */
typedef void lth__row_weights_fn(const lth_gp *gp, const lth__slice *s, size_t first, size_t t,
                                 double *mean, const double *q, double *p, double *h, double *own);
lth__row_weights_fn lth__inducing_number_weights, lth__inducing_site_weights,
    lth__inducing_softmax_weights;

lth_status lth__inducing_pull(lth_gp *gp, double *gradient, lth_error *err);

#endif
