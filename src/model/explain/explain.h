/* Why a model predicts what it does for a row x.
 *
 *     f(x) = bias + sum_a w_a k(x, a)
 *
 * k is an expression over leaves l, kernels that compare items by their parts. Each leaf is a sum
 * of degrees, k_l = sum_p P_lp, where degree p has what p matches make together. On the path from
 * t = 0 to 1 all that x shares with the rows a grows: k_l(t) = sum_p t^p P_lp; what k needs of x
 * alone, k(x, x), stays. So
 *
 *     f(1) - f(0) = sum over l, p, a of omega_lpa P_lpa
 *     omega_lpa = w_a integral of (dk/dk_l)(t) p t^(p - 1) dt
 *
 * and each P_lpa is told apart by the parts of x (lth__family.attribute). Where k is linear in its
 * leaves omega is w_a dk/dk_l, without an integral.
 */
#ifndef LTH_EXPLAIN_H
#define LTH_EXPLAIN_H

#include "base/text.h"
#include "engine/engine.h"
#include "kernel/core/encode.h"
#include "kernel/core/gram.h"

/* A model as explanations see it. */
typedef struct lth__explained {
    const lth_kernel *kernel;
    const lth_encoder *encoder;
    const lth_items *cols;   /* the rows a                             */
    lth__prepared *prepared; /* these                                  */
    double *w, bias;         /* w is to be freed                       */
} lth__explained;

/* ---- What comes out (explain.c) ---- */

struct lth_reasons {
    lth__pool pool; /* of the texts */
    lth_reasons_summary summary;
    lth_reasons_part *parts;
    lth_reasons_pattern *patterns;
    lth_reasons_row *rows;
    size_t part_capacity, pattern_capacity, row_capacity;
};

/* NULL = out of memory. */
lth_reasons *lth__reasons_create(void);

/* A table of one row, with its line; freed with lth_table_free(). */
lth_status lth__table_pick(const lth_table *table, size_t row, lth_table **out, lth_error *err);

/* ---- The path (explain_path.c) ---- */

typedef struct lth__leaf {
    const lth__node *node;
    size_t degrees;
    double *value; /* P:     [degree][a] */
    double *omega; /*        [degree][a] */
} lth__leaf;

typedef struct lth__path {
    const lth__explained *model;
    lth__eval eval;
    lth__leaf *leaves;
    size_t leaf_count;
    bool linear;
    uint32_t *col;  /* 0, 1, ...                                     */
    double *K;      /* k(x, a), once the row's values are there      */
    double f0, f1;  /* likewise                                      */
    double **input; /* by node: values of its inputs, [input][a]     */
    double **slope; /* by node: its derivative by them, likewise     */
} lth__path;

/* Everything is ready for the rows of `rows`. To be closed also when this fails. */
lth_status lth__path_open(const lth__explained *model, const lth_items *rows, lth__path *p,
                          lth_error *err);
void lth__path_close(lth__path *p);

/* Omega for row r; with `values` also what the leaves and k are there, which a linear expression
 * does not need. */
lth_status lth__path_weigh(lth__path *p, size_t r, bool values, lth_error *err);

/* share[part of row r] = what f owes to the parts that a leaf compares. */
lth_status lth__path_attribute(const lth__path *p, const lth__leaf *leaf, size_t r, double *share,
                               lth_error *err);

/* The same for a leaf that cannot tell; the leaf has its values (explain_left_out.c). */
lth_status lth__path_leave_out(const lth__path *p, const lth__leaf *leaf, size_t r, double *share,
                               lth_error *err);

/* ---- Parts (explain_parts.c) ---- */

/* The shares of a leaf's parts in the one row of `items`. */
typedef struct lth__shares {
    const lth__node *node;
    double *share;
    bool of_features; /* of the node itself, whatever it compares items by */
} lth__shares;

/* The parts of the row of a table that was encoded into `items`, with the sum of their shares. */
lth_status lth__reasons_parts(lth_reasons *reasons, const lth_table *table, const lth_items *items,
                              const lth__shares *shares, size_t count, lth_error *err);

/* What is lighter than this part of the heaviest is no reason: a weight is a sum over thousands of
 * rows, each rounded to 2e-16 of its size, and that is what this much of the largest may be. */
static const double lth__rounding = 1e-12;

/* ---- Patterns (explain_patterns.c, explain_features.c, explain_list.c) ---- */

/* Collected first, then sorted; equal texts of a column are one. */
lth_status lth__reasons_add_pattern(lth_reasons *reasons, const char *column, const char *text,
                                    size_t length, double weight, size_t rows, size_t example,
                                    lth_error *err);
/* The `count` heaviest; with `both`, that many of each sign, in falling order of weight. */
void lth__reasons_choose_patterns(lth_reasons *reasons, size_t count, bool both);

/* weight[i] = sum_c sum_p omega_p(c) K_p(candidate i, c) over the leaf's degrees, or with `degree`
 * over degree[i] alone. */
lth_status lth__score_candidates(const lth__path *p, const lth__leaf *leaf,
                                 const lth_items *candidates, const size_t *degree, double *weight,
                                 lth_error *err);

/* The same of patterns, that is of degree[i] units each (explain_scores.c). */
lth_status lth__score_patterns(const lth__path *p, const lth__leaf *leaf,
                               const lth_items *candidates, const size_t *degree, double *weight,
                               lth_error *err);

/* The patterns of the path's row; `share` is that of the leaf's parts. */
lth_status lth__reasons_row_patterns(lth_reasons *reasons, const lth__path *p,
                                     const lth__leaf *leaf, const double *share, size_t count,
                                     lth_error *err);
/* Those of a model, by omega as it is in the path. */
lth_status lth__reasons_model_patterns(lth_reasons *reasons, const lth__path *p,
                                       const lth__leaf *leaf, size_t count, lth_error *err);

/* The same for sequences of units. */
lth_status lth__sequence_row_patterns(lth_reasons *reasons, const lth__path *p,
                                      const lth__leaf *leaf, size_t count, lth_error *err);
lth_status lth__sequence_model_patterns(lth_reasons *reasons, const lth__path *p,
                                        const lth__leaf *leaf, size_t count, lth_error *err);

/* The features of a map: those of the one item with their shares. `cols` NULL = no rows are known,
 * and W NULL = all of them weigh the same. */
lth_status lth__feature_row_patterns(lth_reasons *reasons, const lth__node *map,
                                     const lth_items *items, const double *share,
                                     const lth_items *cols, const double *W, size_t count,
                                     lth_error *err);
/* All features, weight[f] each. */
lth_status lth__feature_patterns(lth_reasons *reasons, const lth__node *map,
                                 const lth_encoder *encoder, const double *weight, size_t features,
                                 const lth_items *cols, const double *W, size_t count,
                                 lth_error *err);
/* The least weight that each feature has in a row; 0 where none has it. */
void lth__feature_least(const lth__features *f, size_t rows, double *least, size_t features);
size_t lth__feature_count(const lth__features *f, size_t rows);

/* ---- Rows (explain_rows.c) ---- */

/* The rows a that add most, and then the nearest ones. y and label are left open. */
lth_status lth__reasons_rows(lth_reasons *reasons, const lth__path *p, double self, size_t heaviest,
                             size_t nearest, lth_error *err);

/* ---- All of it (explain.c) ---- */

typedef struct lth__explaining {
    lth__reading row;
    lth_table *table;
    lth__path path;
    double self; /* k(x, x) */
} lth__explaining;

/* Parts, patterns and rows of one row; the summary's mean, baseline, missed and exact. */
lth_status lth__explain(const lth__explained *model, const lth_table *table, size_t row,
                        const lth_explain_options *options, lth__explaining *x, lth_reasons *out,
                        lth_error *err);
void lth__explaining_close(lth__explaining *x);
/* Means of omega over some of the rows, then the patterns. */
lth_status lth__explain_patterns(const lth__explained *model, size_t count, lth_reasons *out,
                                 lth_error *err);

lth_explain_options lth__explain_options_complete(const lth_explain_options *given);

#endif
