/* Seconds on a clock that never goes back. */
#ifndef LTH_CLOCK_H
#define LTH_CLOCK_H

#include <time.h>

static inline double lth__seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#endif
