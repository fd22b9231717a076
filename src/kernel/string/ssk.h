/* Inside the string kernel: what its functions for CPUs and for devices share. */
#ifndef LTH_SSK_H
#define LTH_SSK_H

#include "kernel/string/ssk_groups.h"
#include "kernel/string/substitution.h"

typedef struct lth__ssk_config {
    size_t order;
    lth__sim sim;
    lth__oov oov;
    size_t temperature, rarity, relevance; /* parameters, from the node's first; 0 = none. Of
                                              sim=matrix, temperature is the exponent */
    lth__substitution *matrix;             /* of sim=matrix; NULL = identity */
    size_t dimensions;                     /* with a relevance each, all or 0 */
    double shrink;
} lth__ssk_config;

/* Parameters, in the order of their declaration; then the optional ones. */
enum { LTH__SSK_GAP, LTH__SSK_MATCH, LTH__SSK_WEIGHTS };

typedef struct lth__ssk_state {
    lth__ssk_plan plan;
    lth__ssk_postings postings;         /* of the rows, for those who borrow from this state */
    lth__ssk_groups groups;             /* likewise                                   */
    double match_power[LTH__MAX_ORDER]; /* match^(2i)                                 */
    double nu[LTH__MAX_ORDER];          /* weights_i match^(2i)                       */
    double dnu[LTH__MAX_ORDER];         /* its derivative by match                    */
    double *relevance;                  /* of each dimension, or NULL                 */
} lth__ssk_state;

/* Its manual and what becomes of it (ssk_arguments.c). */
extern const lth_argument lth__ssk_arguments[];
lth_status lth__ssk_configure(lth_kernel *kernel, lth__node *node, lth_error *err);
double lth__ssk_penalty(const lth__node *node, const lth_kernel *kernel, double *gradient);

/* Derivatives that go with the values, and their parameters. */
typedef struct lth__ssk_direction {
    lth__along along;
    size_t param; /* from the node's first */
} lth__ssk_direction;

size_t lth__ssk_directions(const lth__ssk_config *c, lth__ssk_direction out[LTH__ALONG]);

/* Derivatives by all parameters of the similarities, where dimensions have relevances
 * (ssk_relevance.c). */
lth_status lth__ssk_pull_relevance(const lth__node *node, const lth__eval *eval,
                                   const lth__tile *tile, const double *W, const lth__sink *sink,
                                   lth_error *err);
lth_status lth__ssk_diagonal_relevance(const lth__node *node, const lth__eval *eval,
                                       const lth_items *items, double *slope, lth_error *err);

/* The letters of sim=matrix, where *number is the caller's to free; a unit of these rows that is
 * none is LTH_EFORMAT (ssk_letters.c). */
lth_status lth__ssk_letters(const lth__node *node, const lth__eval *eval, uint32_t **number,
                            lth__letter_distances *out, lth_error *err);

/* For explanations (ssk_attribute.c). */
lth_status lth__ssk_tile_degrees(const lth__node *node, const lth__eval *eval,
                                 const lth__tile *tile, double *K, lth_error *err);
void lth__ssk_subsequence_weights(const lth__node *node, const lth__eval *eval, double *gap,
                                  double *nu);
lth_status lth__ssk_patterns(const lth__node *node, const lth__eval *eval,
                             const lth__pattern *pattern, size_t count, double *K, bool *able,
                             lth_error *err);
lth_status lth__ssk_attribute(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                              const double *W, double *share, lth_error *err);

/* On a device (ssk_device.c). */
bool lth__ssk_device_able(const lth__node *node, const lth__eval *eval);
lth_status lth__ssk_device_tile(const lth__node *node, lth__device_eval *e,
                                const struct lth__panel *panel, double *K, lth_error *err);
lth_status lth__ssk_device_pull(const lth__node *node, lth__device_eval *e,
                                const struct lth__panel *panel, double *W, double *K, double *grad,
                                lth_error *err);
lth_status lth__ssk_device_orders(const lth__node *node, lth__device_eval *e,
                                  const struct lth__panel *panel, double *K, lth_error *err);
lth_status lth__ssk_device_diagonal(const lth__node *node, const lth__eval *eval,
                                    const lth_items *items, double *a, double *slope,
                                    lth_error *err);

#endif
