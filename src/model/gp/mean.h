/* The mean of the prior: what f is expected to be before any row is seen. */
#ifndef LTH_MEAN_H
#define LTH_MEAN_H

#include <stddef.h>

typedef struct lth__mean {
    const char *name;
    /* The constant that is taken from the targets, of rows that count so often (NULL = once each);
     * NULL = 0. */
    double (*fit)(const double *y, const double *weight, size_t rows);
    /* Of a constant that is not known: it adds so much to every covariance of f. */
    double variance;
} lth__mean;

/* How many rows these are, counted so. */
double lth__mean_count(const double *weight, size_t rows);

extern const lth__mean lth__mean_zero, lth__mean_constant, lth__mean_unknown;

#endif
