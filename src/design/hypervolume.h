/* What is not outdone yet: the region above a reference point in which no point of a front is at
 * least as good by all functions, cut into boxes. What a new point adds to the hypervolume is what
 * it covers of them. */
#ifndef LTH_HYPERVOLUME_H
#define LTH_HYPERVOLUME_H

#include <stdint.h>

#include "base/status.h"

/* By function, the levels at which boxes begin and end: the reference, then the front's, ascending,
 * and one more, which stands for no end. */
typedef struct lth__boxes {
    size_t functions, levels, count;
    double *level;    /* [function][levels]: the last is INFINITY; missing ones too */
    uint32_t *corner; /* [box][function][2]: the levels between which it lies */
    size_t capacity;
} lth__boxes;

/* `points` by [point][function], of which more is better. To be freed also when this fails. */
lth_status lth__boxes_make(const double *points, size_t count, size_t functions,
                           const double *reference, lth__boxes *out, lth_error *err);
void lth__boxes_free(lth__boxes *b);

/* The sum over boxes of the products over functions of part[low] - part[high], for parts by
 * [function][level]. Where part is what a number has above a level, that is what it covers; where
 * it is the expected value of that, so is the sum, if functions are independent. */
double lth__boxes_sum(const lth__boxes *b, const double *part);
/* The logarithm of that, from the logarithms of parts. */
double lth__boxes_log_sum(const lth__boxes *b, const double *log_part);

#endif
