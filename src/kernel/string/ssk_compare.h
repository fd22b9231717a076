/* Comparing many pairs of sequences: which pairs share a vector, how symbols are matched, and
 * whether positions that cannot match are dropped. */
#ifndef LTH_SSK_COMPARE_H
#define LTH_SSK_COMPARE_H

#include "engine/engine.h"
#include "kernel/word/words.h"

/* Derivatives that go with the values: by gap, and by parameters of the similarities. */
typedef enum lth__along {
    LTH__ALONG_GAP,
    LTH__ALONG_TEMPERATURE,
    LTH__ALONG_RARITY,
    LTH__ALONG
} lth__along;

/* Where each symbol stands in some columns: entries start[symbol] .. start[symbol + 1] - 1. */
typedef struct lth__ssk_postings {
    size_t symbols;
    uint32_t *start; /* symbols + 1 */
    uint32_t *column, *position;
} lth__ssk_postings;

/* Columns in groups of lanes: see ssk_groups.h. */
typedef struct lth__ssk_groups lth__ssk_groups;

typedef struct lth__ssk_plan {
    const lth_ctx *ctx;
    const lth__lanes *lanes;
    size_t order;
    double gap;
    size_t vocabulary;
    const lth__similarity *similarity; /* NULL = exact matching               */
    const lth__sequences *rows, *cols;
    const double *nu; /* of the orders, for slopes            */
    bool slopes;      /* go with the values; by gap always, and */
    bool by[LTH__ALONG];
    bool brief; /* short strings match softly in a pass of their own (ssk_brief.h) */
    bool dropping;
    double *power, *power_slope; /* gap^d and its derivative for all distances; when dropping */
    const lth__ssk_postings *postings; /* of all columns as they are, or NULL */
    const lth__ssk_groups *groups;     /* of all columns, without derivatives, or NULL */
} lth__ssk_plan;

/* Whether slopes are wanted by more than the gap. */
static inline bool lth__ssk_along_similarities(const lth__ssk_plan *plan) {
    return plan->slopes && (plan->by[LTH__ALONG_TEMPERATURE] || plan->by[LTH__ALONG_RARITY]);
}

/* For loops over one pair, which may take long. */
bool lth__ssk_canceled(const void *ctx);

/* Receives the results of `count` pairs: value[i * stride + n] is k_(i+1) of pair[n], for match =
 * 1; slope[d * stride + n] the derivative of sum_i nu_i k_i by lth__along d, or NULL. Stride 0: all
 * the pairs have the same results, value[i] and slope[d]. */
typedef void lth__ssk_take(void *user, const size_t *pair, size_t count, size_t stride,
                           const double *value, const double *slope);

static inline double lth__ssk_weigh(const double *nu, size_t order, const double *x,
                                    size_t stride) {
    double sum = 0;
    for (size_t i = 0; i < order; i++) sum += nu[i] * x[i * stride];
    return sum;
}

/* All pairs of a tile (pair = r * cols + c). Pairs with no match at all are left out: they are 0.
 */
lth_status lth__ssk_compare_tile(const lth__ssk_plan *plan, const lth__tile *tile,
                                 lth__ssk_take *take, void *user, lth_error *err);

/* Items first .. last-1 of `sequences` with themselves (pair = item). */
lth_status lth__ssk_self_similarities(const lth__ssk_plan *plan, const lth__sequences *sequences,
                                      size_t first, size_t last, lth__ssk_take *take, void *user,
                                      lth_error *err);

/* The same with positions dropped, one pair at a time (ssk_dropping.c). */
lth_status lth__ssk_compare_dropping(const lth__ssk_plan *plan, const lth__tile *tile,
                                     lth__ssk_take *take, void *user, lth_error *err);
/* The postings of all sequences; freed also when this fails. */
lth_status lth__ssk_postings_make(const lth__sequences *sequences, size_t symbols,
                                  lth__ssk_postings *out, lth_error *err);
void lth__ssk_postings_free(lth__ssk_postings *p);
/* Whether dropping pays on these data, judged by a sample. */
lth_status lth__ssk_dropping_pays(const lth__ssk_plan *plan, bool *out, lth_error *err);

/* Cells of all pairs, times the orders. */
double lth__ssk_cell_orders(const lth__node *node, const lth_items *rows, const lth_items *cols);

#endif
