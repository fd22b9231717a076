/* xoshiro256** (Blackman and Vigna 2018), seeded by splitmix64 so that near seeds share nothing. */
#include "base/random.h"

#include <math.h>

static uint64_t splitmix(uint64_t *state) {
    uint64_t z = (*state += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

static uint64_t rotate(uint64_t x, int bits) {
    return (x << bits) | (x >> (64 - bits));
}

void lth__random_seed(lth__random *r, uint64_t seed) {
    for (int i = 0; i < 4; i++) r->state[i] = splitmix(&seed);
}

uint64_t lth__random_next(lth__random *r) {
    uint64_t *s = r->state;
    uint64_t result = rotate(s[1] * 5, 7) * 9;
    uint64_t shifted = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = rotate(s[3], 45);
    return result;
}

double lth__random_uniform(lth__random *r) {
    return (double)(lth__random_next(r) >> 11) * 0x1p-53;
}

uint64_t lth__random_below(lth__random *r, uint64_t bound) {
    if (bound < 2) return 0;
    /* The lowest 2^64 mod bound values are refused, so that every remainder is equally likely. */
    uint64_t refused = (0 - bound) % bound, x;
    do x = lth__random_next(r);
    while (x < refused);
    return x % bound;
}

/* Box and Muller. */
void lth__random_normals(lth__random *r, double out[2]) {
    double u = 1 - lth__random_uniform(r), angle = 2 * M_PI * lth__random_uniform(r);
    double radius = sqrt(-2 * log(u));
    out[0] = radius * cos(angle);
    out[1] = radius * sin(angle);
}

double lth__random_normal(lth__random *r) {
    double pair[2];
    lth__random_normals(r, pair);
    return pair[0];
}
