/* The best normal distribution for one latent function: f ~ N(0, K), seen through a likelihood
 * p(y_i | f_i) that is not Gaussian, is given q = N(m, (K^-1 + D)^-1) with one site (l_i, D_i) for
 * each row, by the bound
 *
 *     evidence >= sum_i E_q log p(y_i | f_i) - (a^T m + log |I + K D| - sum_i D_i v_i) / 2
 *     a = l - D m,   m = K a,   v the variances of f
 *
 * Sites are moved to where their own expectations ask for: g = dE/dm, D' = -2 dE/dv,
 * (l, D) <- (g + D' m, D') (Khan and Lin 2017; Adam et al. 2021). At the fixed point a = g, and the
 * bound is stationary in l and D; some D may be negative (site_factor.h).
 */
#ifndef LTH_SITES_H
#define LTH_SITES_H

#include "model/likelihood/likelihood.h"
#include "model/posterior/site_factor.h"

/* One problem, in the caller's arrays of n numbers. */
typedef struct lth__sites {
    lth__seen seen;
    /* It ends when no site has farther to go than this, in units of its row's f; or when the bound
     * lacks no more than this, as its last gain tells. What its gradient lacks is about three times
     * the root of that. */
    double tolerance, lack;
    double *l, *D;           /* where the search begins (0 is always right); then the sites */
    double *a, *f;           /* f: the mean m                                               */
    double *variance;        /* of f                                                        */
    double *root_d;          /* D^1/2, with the sign of D                                   */
    lth__matrix *L;          /* room for the factor                                         */
    lth__site_factor factor; /* of K and D; the caller frees it                      */
    double evidence;
    size_t steps; /* factors it took                                                        */
    bool found;   /* false = so many did not do: while it learns, at parameters that are no good */
    /* Optional: what is seen depends on f itself. Called before E log p is taken at f and its
     * variance; adds to the evidence what that leaves out. */
    lth_status (*look)(void *user, double *evidence, lth_error *err);
    void *user;
} lth__sites;

/* Far from where sites are to go (g and a differ by more than this, in units of f) none may become
 * negative: the way there may lead over some that are no distribution. Of numbers log p is then
 * taken to be as steep as the line from here to its top, at y. D of a row where E log p has the
 * slope g, so held.
 */
extern const double lth__site_far;
double lth__site_hold(const lth__seen *seen, size_t row, double mean, double g, double D);

/* Find the sites. LTH_ENUMERIC, without a message, when K has no use (not finite). */
lth_status lth__sites_find(lth__sites *s, const lth__matrix *K, lth_error *err);

/* As lth__laplace_weights(). */
lth_status lth__sites_weights(lth__sites *s, const lth__matrix *K, lth__matrix *M,
                              double *by_params, lth_error *err);

#endif
