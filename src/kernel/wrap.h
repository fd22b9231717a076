/* Kernels made from another kernel's values: k_ab, and the self-similarities k_aa and k_bb.
 *
 * A wrapper is a function of these three and of its own parameters, given with its derivatives; all
 * the rest is the same for all wrappers. In the feature space of the inner kernel, k_ab is the
 * inner product and d^2 = k_aa + k_bb - 2 k_ab the squared distance.
 */
#ifndef LTH_WRAP_H
#define LTH_WRAP_H

#include "kernel/kernel.h"

enum { LTH__WRAP_PARAMS = 3 };

/* Value and derivatives at one pair. */
typedef struct lth__wrapped {
    double value;
    double dk, da, db;               /* by k_ab, k_aa, k_bb     */
    double dtheta[LTH__WRAP_PARAMS]; /* by its own parameters   */
} lth__wrapped;

typedef struct lth__wrapper {
    size_t params;
    /* At (k_ab, k_aa, k_bb). `linear` says that dk does not depend on k_ab. */
    lth__wrapped (*at)(const double *theta, double k, double a, double b);
    bool linear;
    /* At an item with itself, as a function of a = k_aa alone: `da` is the whole derivative. */
    lth__wrapped (*self)(const double *theta, double a);
} lth__wrapper;

/* Which wrapper a node's arguments ask for, and which of the node's parameters are its own: row[i]
 * from the node's first, or LTH_NONE for one that is 1. */
typedef struct lth__wrap_config {
    const lth__wrapper *wrapper;
    size_t row[LTH__WRAP_PARAMS];
    bool ard; /* its number columns have length scales of their own */
} lth__wrap_config;

/* The inner kernel's self-similarities of the evaluation's rows. */
const double *lth__wrap_selves(const void *state, size_t *count);

lth_status lth__wrap_prepare(const lth__node *node, lth__eval *eval, void **state, lth_error *err);
void lth__wrap_release(void *state);
lth_status lth__wrap_diagonal(const lth__node *node, const lth__eval *eval, const lth_items *items,
                              double *a, double *slope, lth_error *err);
lth_status lth__wrap_tile(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                          double *K, lth_error *err);
lth_status lth__wrap_pull(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                          const double *W, double *K, const lth__sink *sink, lth_error *err);

lth_status lth__wrap_guess(const lth__node *node, const lth__eval *eval, double scale,
                           double *value, lth_error *err);

#define LTH__WRAP_FUNCTIONS                                                                        \
    .prepare = lth__wrap_prepare, .release = lth__wrap_release, .diagonal = lth__wrap_diagonal,    \
    .tile = lth__wrap_tile, .pull = lth__wrap_pull, .guess = lth__wrap_guess

#endif
