/* What is believed of some rows together: the joint posterior of the functions there, and what
 * becomes of it when rows are taken to come out as expected. */
#ifndef LTH_BELIEF_H
#define LTH_BELIEF_H

#include "base/random.h"
#include "design/problem.h"

typedef struct lth__belief {
    const lth__problem *problem;
    lth_ctx *ctx;
    size_t functions, rows;
    double *mean;       /* [function][row] */
    double *variance;   /* [function][row]: after all that was learned */
    double *covariance; /* [function][row][row]: before these steps: */
    double *steps;      /* [step][function][row] */
    size_t step_count, step_capacity;
} lth__belief;

/* Of candidates row[0 .. count-1], which come first, after what is pending was believed. To be
 * freed also when this fails. */
lth_status lth__belief_open(const lth__problem *p, const lth__candidates *c, const size_t *row,
                            size_t count, lth__belief *out, lth_error *err);
void lth__belief_free(lth__belief *b);

/* A row comes out as expected: means stay, variances fall. */
lth_status lth__belief_learn(lth__belief *b, size_t row, lth_error *err);

/* Functions drawn at all rows, by [function][draw][row], the first of `count` rows alone. The same
 * for any number of threads. */
lth_status lth__belief_draw(lth__belief *b, uint64_t seed, size_t draws, size_t count, double *out,
                            lth_error *err);

#endif
