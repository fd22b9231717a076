/* The best normal distribution for one latent function: f ~ N(0, K), seen through a likelihood
 * p(y_i | f_i) that is not Gaussian, is given q = N(m, (K^-1 + D)^-1) with one site (l_i, D_i) for
 * each row, by the bound
 *
 *     evidence >= sum_i E_q log p(y_i | f_i) - (a^T m + log |B| - sum_i (1 - (B^-1)_ii)) / 2
 *     B = I + D^1/2 K D^1/2,   a = l - D m,   m = K a
 *
 * Sites are moved to where their own expectations ask for: g = dE/dm, D' = -2 dE/dv,
 * (l, D) <- (g + D' m, D') (Khan and Lin 2017; Adam et al. 2021). At the fixed point a = g and the
 * bound is stationary in l and D. That is so as long as no D' is negative, which no likelihood that
 * is log-concave in f, or that brings its own `expect`, makes it; others are held at 0, and the
 * gradient is then near but not the same.
 */
#ifndef LTH_SITES_H
#define LTH_SITES_H

#include "model/common/matrix.h"
#include "model/gp/likelihood.h"

/* One problem, in the caller's arrays of n numbers. */
typedef struct lth__sites {
    lth__seen seen;
    double tolerance; /* of the gap between a site and where it is to go, in units of its row's f */
    double *l, *D;    /* where the search begins (0 is always right); then the sites */
    double *a, *f;    /* f: the mean m                                               */
    double *variance; /* of f                                                        */
    double *root_d;   /* D^1/2                                                       */
    lth__matrix *L;   /* Cholesky factor of B; B^-1 once there are weights           */
    double evidence;
    size_t steps; /* factors it took */
} lth__sites;

/* Find the sites. LTH_ENUMERIC, without a message, when K has no use (not finite). */
lth_status lth__sites_find(lth__sites *s, const lth__matrix *K, lth_error *err);

/* As lth__laplace_weights(). */
lth_status lth__sites_weights(const lth__sites *s, const lth__matrix *K, lth__matrix *M,
                              double *by_params, lth_error *err);

/* The variances of f where each row has a site of precision D: (1 - (B^-1)_ii) / D_i, and where D
 * is too small for that K_ii - |L^-1 D^1/2 K_i|^2. L: the factor of B, or B^-1 itself (`inverted`);
 * `inverse`: the diagonal of B^-1. */
lth_status lth__site_variances(const lth__matrix *K, const lth__matrix *L, bool inverted,
                               const double *root_d, const double *inverse, double *variance,
                               lth_error *err);

#endif
