/* The numbers of the largest and the smallest of many weights, `most` of each, heaviest first. */
#ifndef LTH_HEAVIEST_H
#define LTH_HEAVIEST_H

#include <math.h>

#include "base/memory.h"

typedef struct lth__heavy {
    double weight;
    size_t id;
} lth__heavy;

typedef struct lth__heaviest {
    size_t most;
    size_t count[2];
    lth__heavy *at[2]; /* above 0, below 0 */
} lth__heaviest;

static inline void lth__heaviest_free(lth__heaviest *h) {
    lth__free(h->at[0]);
    lth__free(h->at[1]);
}

static inline lth_status lth__heaviest_create(size_t most, lth__heaviest *out, lth_error *err) {
    *out = (lth__heaviest){.most = most};
    for (int side = 0; side < 2; side++) {
        out->at[side] = lth__alloc(most + 1, sizeof *out->at[side]);
        if (!out->at[side]) return lth__fail_memory(err, most * sizeof *out->at[side]);
    }
    return LTH_OK;
}

/* Above this a weight of that side would be taken in. */
static inline double lth__heaviest_least(const lth__heaviest *h, int side) {
    if (h->most == 0) return HUGE_VAL;
    return h->count[side] < h->most ? 0 : fabs(h->at[side][h->most - 1].weight);
}

/* Of equal ones those that came first stay. */
static inline void lth__heaviest_add(lth__heaviest *h, double weight, size_t id) {
    int side = weight < 0;
    if (!(fabs(weight) > lth__heaviest_least(h, side))) return;
    lth__heavy *list = h->at[side];
    size_t i = h->count[side] < h->most ? h->count[side]++ : h->most - 1;
    for (; i > 0 && fabs(list[i - 1].weight) < fabs(weight); i--) list[i] = list[i - 1];
    list[i] = (lth__heavy){weight, id};
}

#endif
