/* Small quadratic problems with a sum to be kept, as support vector machines have them, all of
 * whose numbers are at hand; and sums of rows of a matrix. Compiled once for each instruction set.
 *
 *     minimise over beta   beta^T K beta / 2 + p^T beta + epsilon sum |beta|
 *     where                lo <= beta <= hi,   sum beta unchanged
 *
 * A row may have one beta or two, in groups, each of which keeps its sum; what K sees is both
 * together. `F` is K beta + p. A beta that can go up does so at the slope F + up, one that can go
 * down at F + down; where it cannot these are +infinity and -infinity.
 */
#ifndef LTH_SMO_H
#define LTH_SMO_H

#include <stdbool.h>
#include <stddef.h>

enum {
    LTH__SMO_STEP = 16, /* rows of a problem are a multiple of it */
    LTH__SMO_GROUPS = 2,
};
/* The least curvature along a pair; K is about 1 in size. */
#define LTH__SMO_FLAT 1e-12

typedef struct lth__smo_group {
    double *beta, *lo, *hi, *up, *down;
} lth__smo_group;

typedef struct lth__smo {
    size_t rows, groups;
    const float *K;         /* rows x rows           */
    const double *diagonal; /* of K                  */
    double *F;
    lth__smo_group group[LTH__SMO_GROUPS];
    double epsilon;
    double tolerance;  /* the largest slope along a pair that may be left */
    size_t most_steps; /* it gives up after so many                       */
} lth__smo;

/* One pair after the other, by the second-order choice of Fan, Chen and Lin (2005), to the
 * tolerance. Returns the number of steps. */
typedef size_t lth__smo_solve(lth__smo *s);

/* sum[j] += sum_i weight[i] row[i][j], for j < count. */
typedef void lth__add_rows(const float *const *row, const double *weight, size_t rows, size_t count,
                           double *sum);

/* The slopes of one beta. */
static inline void lth__smo_slopes(const lth__smo_group *g, size_t i, double epsilon) {
    double beta = g->beta[i];
    g->up[i] = beta < g->hi[i] ? (beta < 0 ? -epsilon : epsilon) : __builtin_inf();
    g->down[i] = beta > g->lo[i] ? (beta > 0 ? epsilon : -epsilon) : -__builtin_inf();
}

#endif
