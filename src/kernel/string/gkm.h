/* Inside of gkm: windows of two sequences compared place by place, and counted by how many units
 * they have equal. Whoever values pairs of windows by that alone can use it. */
#ifndef LTH_GKM_H
#define LTH_GKM_H

#include "base/text.h"
#include "engine/engine.h"
#include "kernel/core/encode.h"

typedef struct lth__gkm_config {
    size_t width;       /* l                                    */
    size_t least, most; /* k                                    */
    bool dna, both;     /* the alphabet; both strands           */
    double half;        /* of weights by distance; 0 = all 1    */
    /* C(e, k) by [k][e]; and where there is one k, and bytes hold all of them, by e. */
    double choose[LTH__MOST_WIDTH + 1][LTH__MOST_WIDTH + 1];
    bool in_bytes;
    uint8_t worth[LTH__WORTHS];
} lth__gkm_config;

/* Weights of windows are whole numbers, so that sums are exact and do not depend on an order. */
enum { LTH__GKM_ONE = 4096 };

/* ---- Sequences (gkm_letters.c) ---- */

/* Letters, or where there are more of them than a byte can tell apart, symbols. */
typedef struct lth__gkm_sequence {
    const uint8_t *letter;
    const lth__symbol *symbol;
    size_t length;
} lth__gkm_sequence;

typedef struct lth__gkm_letters {
    const lth__sequences *from;
    uint8_t *letter; /* of all items, each between paddings; NULL = symbols are compared */
} lth__gkm_letters;

typedef struct lth__gkm_sides {
    lth__gkm_letters rows, cols;
    size_t longest;   /* of both                                                      */
    uint64_t *weight; /* by twice the distance from the middle; NULL = none are given */
} lth__gkm_sides;

/* Of the field of a node, whose config begins with that of gkm. */
lth_status lth__gkm_sides_make(const lth__node *node, const lth__eval *eval, lth__gkm_sides *out,
                               lth_error *err);
void lth__gkm_sides_free(lth__gkm_sides *sides);
lth__gkm_sequence lth__gkm_sequence_at(const lth__gkm_letters *letters, size_t item);

static inline bool lth__gkm_equal(const lth__gkm_sequence *x, size_t i, const lth__gkm_sequence *y,
                                  size_t j) {
    if (!x->letter) return x->symbol[i] == y->symbol[j];
    return x->letter[i] == y->letter[j] && x->letter[i] != LTH__NO_LETTER;
}

/* ---- Counting (gkm_count.c) ---- */

/* Told of the windows at i and j with `same` equal units, c->least at the least. */
typedef void lth__gkm_window_fn(void *user, size_t i, size_t j, size_t same);
void lth__gkm_walk(const lth__gkm_config *c, const lth_ctx *ctx, const lth__gkm_sequence *x,
                   const lth__gkm_sequence *y, lth__gkm_window_fn *take, void *user);

/* One row, ready to be compared with columns: itself and its other strand. */
typedef struct lth__gkm_bench {
    const lth__gkm_config *c;
    const lth_ctx *ctx;
    const lth__engine *engine;
    const uint64_t *weight; /* of windows, as the sides have them         */
    double once;            /* what a count of 1 is in units of the kernel */
    uint8_t *block;         /* of all that follows                        */
    uint8_t *strand[2], *scratch;
    lth__gkm_sequence row;
} lth__gkm_bench;

/* How often the window at i of a sequence of that length counts. */
static inline uint64_t lth__gkm_window_weight(const lth__gkm_bench *b, size_t length, size_t i) {
    size_t at = 2 * i + b->c->width;
    return !b->weight ? 1 : b->weight[at > length ? at - length : length - at];
}

/* How often the windows at i of the row and at j of a column of that length count. */
static inline uint64_t lth__gkm_pair_weight(const lth__gkm_bench *b, size_t i, size_t length,
                                            size_t j) {
    return lth__gkm_window_weight(b, b->row.length, i) * lth__gkm_window_weight(b, length, j);
}

lth_status lth__gkm_bench_open(const lth__gkm_config *c, const lth__gkm_sides *sides,
                               const lth_ctx *ctx, lth__gkm_bench *out, lth_error *err);
void lth__gkm_bench_close(lth__gkm_bench *b);
void lth__gkm_bench_row(lth__gkm_bench *b, lth__gkm_sequence row);
/* n[e - least] += pairs of windows of the row and a column with e equal units, on all strands, by
 * their weights where they have any. */
void lth__gkm_count(const lth__gkm_bench *b, lth__gkm_sequence col, uint64_t *n);
/* S_k of the row and a column: to[(k - least) * step]. */
void lth__gkm_compare(const lth__gkm_bench *b, lth__gkm_sequence col, double *to, size_t step);

/* ---- Gapped k-mers as features (gkm_features.c): as lth__family has it ---- */

lth_status lth__gkm_features(const lth__node *node, const lth_items *items, lth__features *out,
                             lth_error *err);
lth_status lth__gkm_features_to_units(const lth__node *node, const lth_items *items, size_t item,
                                      const double *share, double *unit, lth_error *err);
lth_status lth__gkm_feature_text(const lth__node *node, const lth_encoder *encoder,
                                 uint32_t feature, lth__string *out, lth_error *err);

#endif
