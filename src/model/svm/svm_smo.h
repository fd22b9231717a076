/* Support vector machines of all kinds as one quadratic problem over a Gram matrix. */
#ifndef LTH_SVM_SMO_H
#define LTH_SVM_SMO_H

#include "base/status.h"
#include "engine/engine.h"
#include "engine/smo.h"

/* Rows row[0 .. count-1] of a symmetric matrix of which `all` numbers lie together. Betas of group
 * g and their bounds are beta[g * count + i]. F[i] = sum_j K_ij beta_j + p_i, of all groups. */
typedef struct lth__smo_whole {
    const lth__engine *engine;
    lth_ctx *ctx; /* asked whether to go on */
    const float *K;
    size_t all, ld, count, groups;
    const size_t *row;
    double *beta, *lo, *hi, *F;
    double epsilon, tolerance;
    bool relative;   /* the tolerance is in units of the distance of the groups' levels */
    bool unfinished; /* it gave up */
    size_t steps, rounds;
} lth__smo_whole;

/* From betas within their bounds, and F of these, to those where the sum is least. */
lth_status lth__smo_descend(lth__smo_whole *w, lth_error *err);
/* What F is at the rows of a group that are between their bounds (or in the middle of where it may
 * be): F + up for those that go up. */
double lth__smo_level(const lth__smo_whole *w, size_t group);

#endif
