/* Kernels over words that two texts have in common, and over where they stand: `wd` and `oligo`.
 *
 *     k(x,y) = sum over words of d units at place p in x and at place q in y of weight(d, |p - q|)
 *
 * Each is linear in counts of such words that no parameter changes, one for each length or one for
 * each distance: k = sum_c weight_c count_c. So all counts of a pair are kept while it learns.
 */
#ifndef LTH_POSITIONAL_H
#define LTH_POSITIONAL_H

#include "kernel/core/encode.h"
#include "kernel/string/text_field.h"

/* The config of such a node. A word at distance t counts reach + 1 - t times where there is a count
 * for each length, else once: counts are whole numbers, the same for (x,y) and (y,x). */
typedef struct lth__positional {
    size_t shortest, longest; /* words that are compared, in units          */
    size_t reach;             /* how far apart they may be; LTH_NONE = any  */
    bool by_distance;         /* a count for each distance, not each length */
} lth__positional;

/* The weight of each count, and its derivatives: slope[p * counts + c], 0 until it is written. */
typedef void lth__positional_weigh_fn(const lth__node *node, const lth__eval *eval, size_t counts,
                                      double *weight, double *slope);

/* The arguments `units`, `lower`, `wild_type` and `first`. */
lth_status lth__positional_field(lth_kernel *kernel, lth__node *node, lth_error *err);

lth_status lth__positional_prepare(const lth__node *node, const lth__eval *eval,
                                   lth__positional_weigh_fn *weigh, void **out, lth_error *err);
void lth__positional_release(void *state);

lth_status lth__positional_diagonal(const lth__node *node, const lth__eval *eval,
                                    const lth_items *items, double *a, double *slope,
                                    lth_error *err);
lth_status lth__positional_tile(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                                double *K, lth_error *err);
lth_status lth__positional_pull(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                                const double *W, double *K, const lth__sink *sink, lth_error *err);
size_t lth__positional_memo_planes(const lth__node *node, const lth__eval *eval);
lth_status lth__positional_attribute(const lth__node *node, const lth__eval *eval,
                                     const lth__tile *tile, const double *W, double *share,
                                     lth_error *err);

#define LTH__POSITIONAL_ARGUMENTS                                                                  \
    {.name = "units",                                                                              \
     .help = "what a text is cut into: chars (code points), bytes, words, tokens",                 \
     .initial = "chars",                                                                           \
     .choices = "words|tokens|chars|bytes"},                                                       \
    {                                                                                              \
        .name = "lower", .help = "lower-case the text first; yes for words and tokens",            \
        .initial = "no", .choices = "no|yes"                                                       \
    }

#define LTH__POSITIONAL_FUNCTIONS                                                                  \
    .release = lth__positional_release, .diagonal = lth__positional_diagonal,                      \
    .tile = lth__positional_tile, .pull = lth__positional_pull,                                    \
    .memo_planes = lth__positional_memo_planes, .attribute = lth__positional_attribute

#endif
