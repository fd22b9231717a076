/* The value of a row, from means and variances of the functions there. */
#ifndef LTH_VALUER_H
#define LTH_VALUER_H

#include "design/hypervolume.h"
#include "design/label_value.h"
#include "design/problem.h"

typedef struct lth__valuer {
    const lth__problem *problem;
    size_t functions;
    double best, base;    /* of one function: what is to be improved on; what levels count from */
    lth__label_rule rule; /* of labels */
    /* Of several functions: what is known already, and what that leaves open. */
    double *points, *reference; /* [point][function] */
    size_t point_count, point_capacity;
    lth__boxes boxes;
} lth__valuer;

/* `means` of the training rows (or some) by [function][row]. To be freed also when this fails. */
lth_status lth__valuer_make(const lth__problem *p, const double *means, size_t rows,
                            lth__valuer *out, lth_error *err);
/* A copy that can go its own way. */
lth_status lth__valuer_copy(const lth__valuer *from, lth__valuer *out, lth_error *err);
void lth__valuer_free(lth__valuer *v);

/* A row with these means (of the first function mean[0], of the next mean[stride]) is as good as
 * known. */
lth_status lth__valuer_believe(lth__valuer *v, const double *mean, size_t stride, lth_error *err);

/* Numbers that a value takes room for. */
size_t lth__valuer_room(const lth__valuer *v);
/* Means and variances as above; with what feasibility and cost make of it. */
double lth__row_value(const lth__valuer *v, const double *mean, const double *variance,
                      size_t stride, double feasible, double cost, double *room);
/* The same of functions that are known to be so: of a draw. */
double lth__drawn_value(const lth__valuer *v, const double *f, size_t stride, double feasible,
                        double cost, double *room);

#endif
