/* Special functions that the C library does not have. */
#ifndef LTH_SPECIAL_H
#define LTH_SPECIAL_H

/* The normal distribution function, its logarithm (also far to the left, where it is 0 as a
 * number), and density over distribution function, the derivative of that logarithm. */
double lth__phi(double z);
double lth__log_phi(double z);
double lth__phi_ratio(double z);
/* z below which this share of the normal distribution is. */
double lth__phi_inverse(double share);

#endif
