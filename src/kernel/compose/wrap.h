/* Kernels made from another kernel's values: k_ab, and the self-similarities k_aa and k_bb.
 *
 * A wrapper is a function of these three and of its own parameters, given with its derivatives; all
 * the rest is the same for all wrappers. In the feature space of the inner kernel, k_ab is the
 * inner product and d^2 = k_aa + k_bb - 2 k_ab the squared distance.
 */
#ifndef LTH_WRAP_H
#define LTH_WRAP_H

#include "kernel/compose/forms.h"
#include "kernel/core/kernel.h"

/* What the pairs of one row give in sum: to its self-similarity, and to the wrapper's parameters.
 */
typedef struct lth__wrap_sums {
    double a, theta[LTH__WRAP_PARAMS];
} lth__wrap_sums;

/* One row of a tile: k_aa, and the columns' k_bb and k_ab. */
typedef struct lth__wrap_row {
    const double *theta, *b;
    double a, *k; /* `k` becomes the wrapper's values             */
    double *aid;  /* of every pair, kept for the pull-back; or NULL */
    size_t count;
} lth__wrap_row;

typedef struct lth__wrapper {
    lth__form form;
    size_t params;
    bool linear; /* dk does not depend on k_ab */
    bool has_aid;
    /* At (k_ab, k_aa, k_bb), once or for a row. */
    lth__wrapped (*at)(const double *theta, double k, double a, double b);
    void (*values)(const lth__wrap_row *row);
    /* The pull-back of weights w: to_k = w dk, to_b += w db. */
    void (*pull)(const lth__wrap_row *row, const double *w, double *to_k, double *to_b,
                 lth__wrap_sums *sums);
    /* At an item with itself, as a function of a = k_aa alone: `da` is the whole derivative. */
    lth__wrapped (*self)(const double *theta, double a);
} lth__wrapper;

/* Defines the wrapper `name` from three functions of forms.h, which the compiler can put into its
 * loops:
 *
 *     double       aid_of(theta, k, a, b)        the part that takes long, computed once for value
 *                                                and pull-back; lth__no_aid where there is none
 *     lth__wrapped at(theta, k, a, b, aid)
 *     lth__wrapped self(theta, a)
 */
#define LTH__WRAPPER(name, form_, params_, linear_, has_aid_, aid_of, at_, self_)                  \
    static lth__wrapped name##_at(const double *theta, double k, double a, double b) {             \
        return at_(theta, k, a, b, aid_of(theta, k, a, b));                                        \
    }                                                                                              \
    static void name##_values(const lth__wrap_row *x) {                                            \
        for (size_t c = 0; c < x->count; c++) {                                                    \
            double aid_ = aid_of(x->theta, x->k[c], x->a, x->b[c]);                                \
            if (x->aid) x->aid[c] = aid_;                                                          \
            x->k[c] = at_(x->theta, x->k[c], x->a, x->b[c], aid_).value;                           \
        }                                                                                          \
    }                                                                                              \
    static void name##_pull(const lth__wrap_row *x, const double *w, double *to_k, double *to_b,   \
                            lth__wrap_sums *sums) {                                                \
        for (size_t c = 0; c < x->count; c++) {                                                    \
            double aid_ = x->aid ? x->aid[c] : aid_of(x->theta, x->k[c], x->a, x->b[c]);           \
            lth__wrapped y = at_(x->theta, x->k[c], x->a, x->b[c], aid_);                          \
            to_k[c] = w[c] * y.dk;                                                                 \
            to_b[c] += w[c] * y.db;                                                                \
            sums->a += w[c] * y.da;                                                                \
            for (int p = 0; p < params_; p++) sums->theta[p] += w[c] * y.dtheta[p];                \
            x->k[c] = y.value;                                                                     \
        }                                                                                          \
    }                                                                                              \
    static const lth__wrapper name = {.form = form_,                                               \
                                      .params = params_,                                           \
                                      .linear = linear_,                                           \
                                      .has_aid = has_aid_,                                         \
                                      .at = name##_at,                                             \
                                      .values = name##_values,                                     \
                                      .pull = name##_pull,                                         \
                                      .self = self_}

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

lth_status lth__wrap_device_tile(const lth__node *node, lth__device_eval *e,
                                 const struct lth__panel *panel, double *K, lth_error *err);
lth_status lth__wrap_device_pull(const lth__node *node, lth__device_eval *e,
                                 const struct lth__panel *panel, double *W, double *K, double *grad,
                                 lth_error *err);

size_t lth__wrap_memo_planes(const lth__node *node, const lth__eval *eval);

void lth__wrap_combine(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                       const double *input, double *value, double *slope);
bool lth__wrap_is_linear(const lth__node *node, const bool *varies);

lth_status lth__wrap_guess(const lth__node *node, const lth__eval *eval, double scale,
                           double *value, lth_error *err);

#define LTH__WRAP_FUNCTIONS                                                                        \
    .prepare = lth__wrap_prepare, .release = lth__wrap_release, .diagonal = lth__wrap_diagonal,    \
    .tile = lth__wrap_tile, .pull = lth__wrap_pull, .memo_planes = lth__wrap_memo_planes,          \
    .guess = lth__wrap_guess, .combine = lth__wrap_combine, .is_linear = lth__wrap_is_linear,      \
    .device_tile = lth__wrap_device_tile, .device_pull = lth__wrap_device_pull

#endif
