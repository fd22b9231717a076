/* Sparse feature maps: what the families that make them share. */
#ifndef LTH_SPARSE_H
#define LTH_SPARSE_H

#include "kernel/core/field.h"

enum { LTH__SPARSE_MOST = 32 }; /* units of a tuple */

/* How units and tuples of units are counted and weighed; a node's config begins with it. */
typedef struct lth__sparse_config {
    size_t from, to; /* units in a tuple                                                       */
    size_t window;   /* units that a tuple is taken from, with gaps; 0 = they are neighbours   */
    bool folds;      /* characters are lower-cased unless the expression says otherwise        */
    int weighting;
    bool idf;
    size_t min_count;
} lth__sparse_config;

/* Read units, lower, min_count and weighting, and declare the field; `c` is the node's config. */
lth_status lth__sparse_configure(lth_kernel *kernel, lth__node *node, lth__sparse_config *c,
                                 int standard_units, lth_error *err);
/* The features of the items, and with the first ones, what they say of all features. */
lth_status lth__sparse_encode(const lth__node *node, lth_items *items, lth_error *err);
/* Every different tuple of `size` units, in their order and with gaps, of every window of a text:
 * unit[place[0]], unit[place[1]], ...; stops when `take` fails (gappy.c). */
typedef lth_status lth__gappy_take(void *user, const lth__symbol *tuple, const size_t *place,
                                   lth_error *err);
lth_status lth__gappy_tuples(const lth__sparse_config *c, const lth__symbol *unit, size_t length,
                             lth__gappy_take *take, void *user, lth_error *err);

/* Whether weights depend on the first items: by idf or min_count. */
bool lth__sparse_learns(const lth__node *node);
/* Whether min_count leaves it out. */
bool lth__sparse_is_rare(const lth__sparse_config *c, const lth__feature_space *space,
                         uint32_t feature);

/* The weight of a feature that a text has `count` times; 0 for a rare one. */
double lth__sparse_weigh(const lth__sparse_config *c, const lth__feature_space *space,
                         uint32_t feature, double count);

/* The inner product of items->features[node->index]. */
lth_status lth__sparse_diagonal(const lth__node *node, const lth__eval *eval,
                                const lth_items *items, double *a, double *slope, lth_error *err);
lth_status lth__sparse_tile(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                            double *K, lth_error *err);
size_t lth__sparse_memo_planes(const lth__node *node, const lth__eval *eval);

/* The same on a device (sparse_device.c). Nothing is learned, so a pull-back has only values. */
lth_status lth__sparse_device_tile(const lth__node *node, lth__device_eval *e,
                                   const struct lth__panel *panel, double *K, lth_error *err);
lth_status lth__sparse_device_pull(const lth__node *node, lth__device_eval *e,
                                   const struct lth__panel *panel, double *W, double *K,
                                   double *grad, lth_error *err);
lth_status lth__intersection_device_tile(const lth__node *node, lth__device_eval *e,
                                         const struct lth__panel *panel, double *K, lth_error *err);
lth_status lth__intersection_device_pull(const lth__node *node, lth__device_eval *e,
                                         const struct lth__panel *panel, double *W, double *K,
                                         double *grad, lth_error *err);

/* share[i] of the i-th feature of the tile's row (sparse_attribute.c). */
lth_status lth__sparse_attribute(const lth__node *node, const lth__eval *eval,
                                 const lth__tile *tile, const double *W, double *share,
                                 lth_error *err);
/* The same for sum_f min(w_af, w_bf). */
lth_status lth__intersection_attribute(const lth__node *node, const lth__eval *eval,
                                       const lth__tile *tile, const double *W, double *share,
                                       lth_error *err);
/* Evenly to the units of every place where a text has the feature. */
lth_status lth__sparse_features_to_units(const lth__node *node, const lth_items *items, size_t item,
                                         const double *share, double *unit, lth_error *err);
size_t lth__sparse_feature_units(const lth__node *node, const lth_encoder *encoder,
                                 uint32_t feature, uint32_t *unit, size_t most);

#define LTH__SPARSE_FUNCTIONS                                                                      \
    .rule = LTH__RULE_FEATURES, .diagonal = lth__sparse_diagonal, .tile = lth__sparse_tile,        \
    .memo_planes = lth__sparse_memo_planes, .attribute = lth__sparse_attribute,                    \
    .device_tile = lth__sparse_device_tile, .device_pull = lth__sparse_device_pull

/* ---- Arguments in manuals ---- */

#define LTH__UNITS_ARGUMENT(initial_)                                                              \
    {                                                                                              \
        .name = "units",                                                                           \
        .help = "what a text is cut into: words at white space, tokens with punctuation apart, "   \
                "chars (code points), bytes",                                                      \
        .initial = initial_, .choices = "words|tokens|chars|bytes"                                 \
    }
#define LTH__LOWER_ARGUMENT(initial_)                                                              \
    {                                                                                              \
        .name = "lower",                                                                           \
        .help = "lower-case the text first; yes for words and tokens, no for chars and bytes "     \
                "unless given",                                                                    \
        .initial = initial_, .choices = "no|yes"                                                   \
    }
#define LTH__MIN_COUNT_ARGUMENT                                                                    \
    {                                                                                              \
        .name = "min_count", .help = "what the first table has fewer times is left out",           \
        .initial = "1", .choices = "1..1000000000"                                                 \
    }
#define LTH__WEIGHTING_ARGUMENT                                                                    \
    {                                                                                              \
        .name = "weighting", .help = "by how often a text has it: count, 1, or 1 + ln count",      \
        .initial = "count", .choices = "count|presence|log"                                        \
    }

#endif
