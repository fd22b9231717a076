/* Kernels made from another kernel's values: k_ab, and the self-similarities k_aa and k_bb.
 *
 * A wrapper is a function of these three and of its own parameters, given with its derivatives; all
 * the rest is the same for all wrappers. In the feature space of the inner kernel, k_ab is the
 * inner product and d^2 = k_aa + k_bb - 2 k_ab the squared distance.
 */
#ifndef LTH_WRAPPER_H
#define LTH_WRAPPER_H

#include "kernel/compose/forms.h"
#include "kernel/core/kernel.h"

/* What the pairs of one row give in sum: to its self-similarity, and to the wrapper's parameters.
 */
typedef struct lth__wrapper_sums {
    double a, theta[LTH__WRAPPER_PARAMS];
} lth__wrapper_sums;

/* One row of a tile: k_aa, and the columns' k_bb and k_ab. */
typedef struct lth__wrapper_row {
    const double *theta, *b;
    double a, *k; /* `k` becomes the wrapper's values             */
    double *aid;  /* of every pair, kept for the pull-back; or NULL */
    size_t count;
} lth__wrapper_row;

typedef struct lth__wrapper {
    lth__form form; /* its formula on devices; LTH__FORM_NONE: its values come from the CPU */
    bool linear;    /* dk does not depend on k_ab */
    bool has_aid;
    /* At (k_ab, k_aa, k_bb), once or for a row. */
    lth__wrapper_value (*at)(const double *theta, double k, double a, double b);
    void (*values)(const lth__wrapper_row *row);
    /* to_k = w dk, of one that is linear: k is not read. */
    void (*weigh)(const lth__wrapper_row *row, const double *w, double *to_k);
    /* The pull-back of weights w: to_k = w dk, to_b += w db. */
    void (*pull)(const lth__wrapper_row *row, const double *w, double *to_k, double *to_b,
                 lth__wrapper_sums *sums);
    /* At an item with itself, as a function of a = k_aa alone: `da` is the whole derivative. */
    lth__wrapper_value (*self)(const double *theta, double a);
} lth__wrapper;

/* Defines the wrapper `name` from two functions, which the compiler can put into its loops, and
 * what else there is to say of it, as in .form = LTH__FORM_NONE or .linear = true:
 *
 *     lth__wrapper_value at(theta, k, a, b)
 *     lth__wrapper_value self(theta, a)
 */
#define LTH__WRAPPER(name, at_, self_, ...)                                                        \
    static lth__wrapper_value name##_with(const double *theta, double k, double a, double b,       \
                                          double aid) {                                            \
        (void)aid;                                                                                 \
        return at_(theta, k, a, b);                                                                \
    }                                                                                              \
    LTH__WRAPPER_LOOPS(name, lth__no_aid, name##_with)                                             \
    static const lth__wrapper name = {LTH__WRAPPER_FIELDS(name, self_), __VA_ARGS__}

/* The same with a part that takes long, computed once for value and pull-back:
 *
 *     double             aid_of(theta, k, a, b)
 *     lth__wrapper_value at(theta, k, a, b, aid)
 */
#define LTH__WRAPPER_WITH_AID(name, aid_of, at_, self_, ...)                                       \
    LTH__WRAPPER_LOOPS(name, aid_of, at_)                                                          \
    static const lth__wrapper name = {LTH__WRAPPER_FIELDS(name, self_), .has_aid = true,           \
                                      __VA_ARGS__}

#define LTH__WRAPPER_FIELDS(name, self_)                                                           \
    .at = name##_at, .values = name##_values, .weigh = name##_weigh, .pull = name##_pull,          \
    .self = self_

#define LTH__WRAPPER_LOOPS(name, aid_of, at_)                                                      \
    static lth__wrapper_value name##_at(const double *theta, double k, double a, double b) {       \
        return at_(theta, k, a, b, aid_of(theta, k, a, b));                                        \
    }                                                                                              \
    static void name##_values(const lth__wrapper_row *x) {                                         \
        for (size_t c = 0; c < x->count; c++) {                                                    \
            double aid_ = aid_of(x->theta, x->k[c], x->a, x->b[c]);                                \
            if (x->aid) x->aid[c] = aid_;                                                          \
            x->k[c] = at_(x->theta, x->k[c], x->a, x->b[c], aid_).value;                           \
        }                                                                                          \
    }                                                                                              \
    static void name##_weigh(const lth__wrapper_row *x, const double *w, double *to_k) {           \
        const double *theta_ = x->theta, *b_ = x->b, a_ = x->a;                                    \
        for (size_t c = 0; c < x->count; c++)                                                      \
            to_k[c] = w[c] * at_(theta_, 0, a_, b_[c], aid_of(theta_, 0, a_, b_[c])).dk;           \
    }                                                                                              \
    static void name##_pull(const lth__wrapper_row *x, const double *w, double *to_k,              \
                            double *to_b, lth__wrapper_sums *sums) {                               \
        for (size_t c = 0; c < x->count; c++) {                                                    \
            double aid_ = x->aid ? x->aid[c] : aid_of(x->theta, x->k[c], x->a, x->b[c]);           \
            lth__wrapper_value y = at_(x->theta, x->k[c], x->a, x->b[c], aid_);                    \
            to_k[c] = w[c] * y.dk;                                                                 \
            to_b[c] += w[c] * y.db;                                                                \
            sums->a += w[c] * y.da;                                                                \
            for (int p = 0; p < LTH__WRAPPER_PARAMS; p++) sums->theta[p] += w[c] * y.dtheta[p];    \
            x->k[c] = y.value;                                                                     \
        }                                                                                          \
    }

/* Which wrapper a node's arguments ask for, and where its parameters theta are among those of the
 * node: row[i] from the node's first, or LTH_NONE for one that is 1. */
typedef struct lth__wrapper_config {
    const lth__wrapper *wrapper;
    size_t params, row[LTH__WRAPPER_PARAMS];
    bool ard; /* its number columns have length scales of their own */
} lth__wrapper_config;

/* For a family's `configure`: theta are the learned arguments of its manual, in that order, and
 * start as is written there. With an argument `ard` that is yes, length scales are those of the
 * columns. */
lth_status lth__wrapper_configure(lth_kernel *kernel, lth__node *node, const lth__wrapper *wrapper,
                                  lth_error *err);

/* The inner kernel's self-similarities of the evaluation's rows. */
const double *lth__wrapper_self_similarities(const void *state, size_t *count);

lth_status lth__wrapper_prepare(const lth__node *node, lth__eval *eval, void **state,
                                lth_error *err);
void lth__wrapper_release(void *state);
lth_status lth__wrapper_diagonal(const lth__node *node, const lth__eval *eval,
                                 const lth_items *items, double *a, double *slope, lth_error *err);
lth_status lth__wrapper_tile(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                             double *K, lth_error *err);
lth_status lth__wrapper_pull(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                             const double *W, double *K, const lth__sink *sink, lth_error *err);

lth_status lth__wrapper_device_tile(const lth__node *node, lth__device_eval *e,
                                    const struct lth__panel *panel, double *K, lth_error *err);
lth_status lth__wrapper_device_pull(const lth__node *node, lth__device_eval *e,
                                    const struct lth__panel *panel, double *W, double *K,
                                    double *grad, lth_error *err);

/* Where there is a formula. */
bool lth__wrapper_device_able(const lth__node *node, const lth__eval *eval);

size_t lth__wrapper_memo_planes(const lth__node *node, const lth__eval *eval);

void lth__wrapper_combine(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                          const double *input, double *value, double *slope);
bool lth__wrapper_is_linear(const lth__node *node, const bool *varies);

lth_status lth__wrapper_guess(const lth__node *node, const lth__eval *eval, double scale,
                              double *value, lth_error *err);

/* The slots of a family that is a wrapper; and all but `prepare`, for one that has its own. */
#define LTH__WRAPPER_FUNCTIONS .prepare = lth__wrapper_prepare, LTH__WRAPPER_OTHER_FUNCTIONS
#define LTH__WRAPPER_OTHER_FUNCTIONS                                                               \
    .release = lth__wrapper_release, .diagonal = lth__wrapper_diagonal, .tile = lth__wrapper_tile, \
    .pull = lth__wrapper_pull, .memo_planes = lth__wrapper_memo_planes,                            \
    .guess = lth__wrapper_guess, .combine = lth__wrapper_combine,                                  \
    .is_linear = lth__wrapper_is_linear, .device_able = lth__wrapper_device_able,                  \
    .device_tile = lth__wrapper_device_tile, .device_pull = lth__wrapper_device_pull

#endif
