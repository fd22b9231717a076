/* Draws from distributions beyond the uniform and the normal one, by exact methods. */
#ifndef LTH_DRAWS_H
#define LTH_DRAWS_H

#include "base/random.h"

/* The logarithm of a draw from the gamma distribution with this shape and scale 1: of small shapes
 * the draw itself may be 0 as a number. */
double lth__draw_log_gamma(lth__random *random, double shape);
/* A count with this mean; beyond 1e15, where counts have no last digit, the mean. */
double lth__draw_poisson(lth__random *random, double mean);

#endif
