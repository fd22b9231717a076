/* Probabilities of classes that share a row, P(c | f) = exp(f_c) / sum_k exp(f_k). */
#ifndef LTH_SOFTMAX_POINTS_H
#define LTH_SOFTMAX_POINTS_H

#include "base/status.h"

/* The logarithm of the sum of exp(f_c) over classes; f and the probabilities p (NULL = none;
 * may be f) have this stride. */
double lth__softmax_at(size_t classes, size_t stride, const double *f, double *p);

/* Where f are normal and independent, a bound of the expected log sum_c exp(f_c) from above, which
 * is close. Its derivatives are a_c by the mean and a_c (1 - a_c) / 2 by the variance of f_c;
 * `room` has 2 numbers for each class. */
double lth__softmax_expect(size_t classes, const double *mean, const double *variance, double *a,
                           double *room);

/* Probabilities where f is normal, by the mean over points that are the same for all rows. */
typedef struct lth__softmax_points {
    size_t classes;
    double *at;   /* [point][class]: standard normal, with their opposites not listed */
    double *room; /* two matrices and vectors of the classes                          */
} lth__softmax_points;

lth_status lth__softmax_points_make(size_t classes, lth__softmax_points *out, lth_error *err);
void lth__softmax_points_free(lth__softmax_points *p);
void lth__softmax_probability(const lth__softmax_points *p, const double *mean,
                              const double *covariance, double *out);

#endif
