/* Special functions that the C library does not have, or not for many threads at once. */
#ifndef LTH_SPECIAL_H
#define LTH_SPECIAL_H

#include <stddef.h>

/* The normal distribution function, its logarithm (also far to the left, where it is 0 as a
 * number), and density over distribution function, the derivative of that logarithm. */
double lth__phi(double z);
double lth__log_phi(double z);
double lth__phi_ratio(double z);
/* z below which this share of the normal distribution is. */
double lth__phi_inverse(double share);
/* The integral of phi^2 from minus infinity to z. */
double lth__phi_squared(double z);

/* Of x > 0: log of the gamma function, and its first three derivatives. */
double lth__log_gamma(double x);
double lth__digamma(double x);
double lth__trigamma(double x);
double lth__tetragamma(double x);
/* log gamma(x) - (x - 1/2) log x + x - log(2 pi) / 2, of x from 16 on: what is left of large
 * numbers that would cancel. */
double lth__stirling_rest(double x);

/* Shares of the gamma distribution with this shape and scale 1, below and above x >= 0. */
double lth__gamma_below(double shape, double x);
double lth__gamma_above(double shape, double x);
/* The share of the beta distribution below x; rest = 1 - x, which may be known better than x. */
double lth__beta_below(double a, double b, double x, double rest);

/* The integral of a smooth function by Gauss and Legendre's rule with 8 nodes in each of so many
 * panels. */
typedef double lth__integrand(void *user, double x);
double lth__integrate(lth__integrand *f, void *user, double from, double to, size_t panels);

#endif
