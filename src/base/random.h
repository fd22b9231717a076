/* Random numbers that are the same everywhere: splitmix64 seeding xoshiro256**. */
#ifndef LTH_RANDOM_H
#define LTH_RANDOM_H

#include <stdint.h>

typedef struct lth__random {
    uint64_t state[4];
} lth__random;

void lth__random_seed(lth__random *r, uint64_t seed);
uint64_t lth__random_next(lth__random *r);
double lth__random_uniform(lth__random *r); /* [0, 1) */
/* Two independent numbers of the normal distribution; and the first of two. */
void lth__random_normals(lth__random *r, double out[2]);
double lth__random_normal(lth__random *r);
uint64_t lth__random_below(lth__random *r, uint64_t bound);

#endif
