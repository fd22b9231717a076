/* Fields of numbers, and the moments of those that are read scaled. */
#ifndef LTH_NUMBER_FIELD_H
#define LTH_NUMBER_FIELD_H

#include "kernel/core/field.h"

/* Mean and standard deviation of each column over the rows that were encoded first. A column that
 * does not vary has the deviation 0. */
typedef struct lth__moments {
    size_t width;
    double *mean, *sd;
    bool given; /* they were read, and stay as they are */
} lth__moments;

/* NULL where the field has its numbers as they are. */
static inline const lth__moments *lth__moments_of(const lth__lexicon *l) {
    return l->own;
}

/* How many deviations x is above the mean; 0 in a column that does not vary. */
static inline double lth__moments_scale(const lth__moments *m, size_t column, double x) {
    return m->sd[column] > 0 ? (x - m->mean[column]) / m->sd[column] : 0;
}

#endif
