/* Inside a kernel: nodes, parameters, and the contract that every family fulfils.
 *
 * A kernel is a tree of nodes. Each node belongs to a family: one constant table of functions. To
 * fill a Gram matrix, each node is prepared once for the parameters and items at hand (its state),
 * then asked for tiles of values, and for the pull-back of weights over a tile:
 *
 *     tile:  K_ij                                for the rows and columns of the tile
 *     pull:  sink += W_ij dK_ij / dtheta_p       for its own parameters and those below it
 *
 * Sums, products and wrappers are families too: they re-weight W by the chain rule and pass it on.
 */
#ifndef LTH_KERNEL_H
#define LTH_KERNEL_H

#include "base/context.h"
#include "base/memory.h"
#include "data/symbols.h"
#include "data/variant.h"
#include "kernel/core/expression.h"

typedef struct lth__family lth__family;
typedef struct lth__eval lth__eval;
typedef struct lth__field_type lth__field_type;
typedef struct lth__device_eval lth__device_eval;
struct lth__panel;
struct lth__features;
struct lth__pattern;

/* ---- Parameters: one row for each scalar, in the order of every gradient ---- */

/* What lth_param does not tell. */
typedef struct lth__param_origin {
    bool given;     /* written in the expression, so printed always */
    bool tag_given; /* some place gave the tag its value            */
    bool linear;    /* learned as it is, not by its logarithm: 0 may be the best value */
    bool bounded;   /* the expression has bounds for it, within those of the family    */
    double initial; /* default of the family                        */
} lth__param_origin;

/* ---- Nodes ---- */

typedef struct lth__node {
    const lth__family *family;
    const lth__expr *expr;
    const char *path_name;         /* "ssk"; NULL for sums and products                       */
    const char *path;              /* the same with its number: "ssk2"                        */
    size_t index;                  /* of this node's state in lth__eval                       */
    const struct lth__node *outer; /* the one it is an input of, or NULL              */
    struct lth__node **inputs;
    size_t input_count;
    size_t first_param, param_count, params_end; /* its own; end of those below it too */
    size_t field;                                /* encoded column it reads, or LTH_NONE */
    void *config;                                /* structural arguments, by the family */
    const char *open; /* an argument that the data decide, as in symbols=all; NULL = none: see
                         lth_kernel_resolve() */
} lth__node;

/* Names that a list in the expression gives, in the kernel's pool. */
typedef struct lth__names {
    const char *const *name;
    size_t count;
} lth__names;

/* A column that some node reads, and how it is to be encoded; nodes that agree share one field. */
typedef struct lth__field_def {
    const char *column;          /* or a range, first..last                          */
    const lth__field_type *type; /* text, numbers, trees or tasks: see field.h  */
    int units;                   /* of text: lth__units                                  */
    int format;                  /* of trees: lth__tree_format                           */
    unsigned strip;              /* of trees: what is left out of labels and trees       */
    bool lower;                  /* lower-case it; of trees the leaves                   */
    bool vectors;                /* needs word vectors                                   */
    bool vectors_inside;         /* of trees: of the labels of inner nodes, too          */
    bool exact;                  /* some node asks whether units are the same            */
    bool parts;                  /* a word without a vector has the mean of its parts'   */
    lth__wild_type wild;         /* of text: cells are mutations of it                   */
    lth__names tasks;            /* of tasks: all that a cell may hold                   */
} lth__field_def;

struct lth_kernel {
    lth_ctx *ctx;
    lth__pool pool; /* of all that follows */
    const lth__expr *expr;
    lth__node *root;
    lth__node *noise; /* the root of another: the kernel of the noise's logarithm, or NULL */
    lth__node **nodes;
    size_t node_count, node_capacity;
    lth_param *params;
    lth__param_origin *origins; /* of each parameter */
    size_t param_count, param_capacity, origin_capacity;
    lth__field_def *fields;
    size_t field_count, field_capacity;
    bool sealed; /* its expression names no files: it is a model's, which has all in it */
};

/* An expression that came from a model: whoever wrote it does not choose what is read here. */
lth_status lth__kernel_parse_sealed(lth_ctx *ctx, const char *expression, lth_kernel **out,
                                    lth_error *err);
/* Whether the kernel may read the file that an argument names. */
lth_status lth__kernel_check_file(const lth_kernel *kernel, const lth__value *file, lth_error *err);

/* ---- Reading a node's arguments (used by families in configure) ---- */

/* What the manual of a family says of an argument, or NULL. */
const lth_argument *lth__manual_argument(const lth__family *family, const char *name);
/* The given argument of that name, or NULL. */
const lth__argument *lth__node_argument(const lth__node *node, const char *name);
/* Index of the given word in "a|b|c" as the family's manual lists it, `standard` if not given. */
lth_status lth__node_choice(const lth__node *node, const char *name, int standard, int *out,
                            lth_error *err);
lth_status lth__node_integer(const lth__node *node, const char *name, long lo, long hi,
                             long standard, long *out, lth_error *err);

/* A number above 0 that is never learned: printed with "!" whether it was written so or not. */
lth_status lth__node_constant(const lth__node *node, const char *name, double standard, double *out,
                              lth_error *err);

/* The syntax trees with what holds for all of them; `noise` may point to NULL. */
lth_status lth__expr_fill(const lth_ctx *ctx, const lth_kernel_settings *settings, lth__pool *pool,
                          const lth__expr **kernel, const lth__expr **noise, lth_error *err);

/* As if the expression gave the argument this value, in the place of what it gives. */
lth_status lth__node_rewrite(lth_kernel *kernel, lth__node *node, const char *name,
                             lth__value value, lth_error *err);

/* Declare the parameter called `name` in the manual, with its default and bounds; a list when
 * `count` is not 0, else a scalar. `held` is its state when the expression does not give it. The
 * number of the first row is node->first_param for the first declared, and so on. */
lth_status lth__node_param(lth_kernel *kernel, lth__node *node, const char *name, size_t count,
                           double initial, bool held, lth_error *err);

/* The same for a parameter that `source`, the node around this one, has in its manual and
 * arguments. */
lth_status lth__node_param_of(lth_kernel *kernel, lth__node *node, const lth__node *source,
                              const char *name, size_t count, double initial, lth_error *err);

/* Declare a parameter with a value for each of `names` beside the shared one: rows "decay",
 * "decay[NP]", ... A single number in the expression is the start of all of them, a list has the
 * shared one first. */
lth_status lth__node_param_named(lth_kernel *kernel, lth__node *node, const char *name,
                                 const char *const *names, size_t count, double initial, bool held,
                                 lth_error *err);

/* Declare a parameter with a row for each key, "w[joy,1]", and the start of each. A single number
 * in the expression is the start of all of them. */
lth_status lth__node_param_keyed(lth_kernel *kernel, lth__node *node, const char *name,
                                 lth__names keys, const double *initial, lth_error *err);

/* The one parameter of a bare number, whose row is the node's own path. */
lth_status lth__node_param_number(lth_kernel *kernel, lth__node *node, const char *name,
                                  const lth__value *value, lth_error *err);

/* The words of a list; what is no word gets the message `wish`, and `what` one is that is given
 * twice. And words as such a list. */
lth_status lth__names_read(lth_kernel *kernel, const lth__value *v, const char *what,
                           const char *wish, lth__names *out, lth_error *err);
lth_status lth__names_value(lth__pool *pool, const lth__symbols *texts, const lth__symbol *order,
                            size_t count, lth__value *out, lth_error *err);
/* The first node with an argument that is open, or NULL. */
const lth__node *lth__kernel_open_node(const lth_kernel *kernel);

/* The field for a column with this encoding, made if it is new. */
lth_status lth__kernel_field(lth_kernel *kernel, const lth__field_def *def, size_t *out,
                             lth_error *err);

/* ---- The contract of a family ---- */

/* Rows and columns of a tile, as numbers of items. */
typedef struct lth__tile {
    const uint32_t *row, *col;
    size_t rows, cols;
    size_t index,
        first_pair; /* its number, and the pairs of the tiles before it: its place in a memo */
} lth__tile;

/* What a node keeps of its tiles from one evaluation to the next, when there is memory for it. */
typedef struct lth__memo {
    double *planes; /* of a tile: planes + first_pair * plane_count, [plane][pair]              */
    size_t plane_count;
    double *key; /* [tile][LTH__MEMO_KEYS]: what the planes were made for; NaN = nothing yet */
    void **kept; /* [tile], in a form of the family's own; NULL = nothing yet, or no place for it */
    size_t tiles;
    _Atomic size_t room; /* bytes that may still be kept in such forms */
} lth__memo;

enum { LTH__MEMO_KEYS = 5 };

/* What is soon computed again is kept of so many rows at most: beyond, a model spends its time on
 * the matrix as a whole, and a plane takes as much memory as that. */
enum { LTH__MEMO_ROWS = 4096 };

/* Where derivatives go: summed over all pairs of the tile, or one matrix for each parameter. */
typedef struct lth__sink {
    double *sum;  /* [parameters], or NULL                              */
    double *each; /* [parameters][tile rows * tile cols], or NULL        */
    size_t pairs; /* tile rows * tile cols                              */
} lth__sink;

static inline void lth__sink_add(const lth__sink *sink, size_t param, size_t pair, double x) {
    if (sink->each)
        sink->each[param * sink->pairs + pair] += x;
    else
        sink->sum[param] += x;
}

/* One evaluation: parameters and items are fixed, states are prepared. */
struct lth__eval {
    lth_ctx *ctx;
    const lth_kernel *kernel;
    const lth_items *rows, *cols; /* the same for a symmetric matrix */
    bool gradients;               /* states must be ready for pull   */
    bool only_diagonal;           /* nothing else is asked for        */
    bool keeps;                   /* others will borrow from its states: see lth__kept_state() */
    bool by_size;                 /* set by a state that wants items of similar size side by side */
    bool quiet;                   /* no warnings: the same evaluation was made before */
    lth__memo *memo;              /* by node index; NULL = nothing is kept */
    const lth__eval *kept;    /* of the columns with themselves, or NULL: see lth__kept_state() */
    lth__device_eval *device; /* NULL = the CPU computes */
    void **state;             /* by node index                   */
};

/* A fragment in brackets, its weight, how many columns have it, and the one of them that weighs
 * most. */
typedef lth_status lth__fragment_fn(void *user, const char *text, size_t length, double weight,
                                    size_t columns, size_t example, lth_error *err);

enum {
    LTH__TAKES_COLUMN = 1, /* its input is one column                */
    LTH__TAKES_KERNEL = 2, /* its input is one kernel                */
    LTH__TAKES_RANGE = 4,  /* its column may be a range first..last  */
};

/* How the values of a node come about, where others may make use of it: an SVM that needs no Gram
 * matrix, the size of a kernel. */
typedef enum lth__rule {
    LTH__RULE_OWN,       /* in no way of these                                   */
    LTH__RULE_NUMBER,    /* its one parameter                                    */
    LTH__RULE_SUM,       /* the sum of its inputs                                */
    LTH__RULE_PRODUCT,   /* their product                                        */
    LTH__RULE_SCALE,     /* its first parameter times its input                  */
    LTH__RULE_NORMALIZE, /* its input divided by the lengths of the two items    */
    LTH__RULE_FEATURES,  /* the inner product of items->features[node->index], once they are asked
                            for where the family has `features`                  */
    LTH__RULE_COLUMNS    /* that of its number columns                           */
} lth__rule;

struct lth__family {
    lth_family manual;
    unsigned traits;
    lth__rule rule;

    /* Required for called families: read structural arguments, declare parameters and fields. */
    lth_status (*configure)(lth_kernel *kernel, lth__node *node, lth_error *err);

    /* For families that leave an argument open (node->open): its value by a table. */
    lth_status (*resolve)(const lth__node *node, const lth__field_def *field,
                          const lth_table *table, lth__pool *pool, lth__value *out, lth_error *err);

    /* Optional, feature maps: items->features[node->index] from the items' field, when these are
     * encoded. What it leaves there on failure is freed with the items. */
    lth_status (*encode)(const lth__node *node, lth_items *items, lth_error *err);
    /* Optional for these: whether the weights of features, or which there are, depend on the first
     * items. */
    bool (*learns)(const lth__node *node);
    /* Optional, families that compare items without features: these for whoever asks for them
     * (lth__items_ask_features), at the present values of the parameters. */
    lth_status (*features)(const lth__node *node, const lth_items *items, struct lth__features *out,
                           lth_error *err);

    /* Optional: make the state for one evaluation, and free it. On failure nothing is left behind.
     */
    lth_status (*prepare)(const lth__node *node, lth__eval *eval, void **state, lth_error *err);
    void (*release)(void *state);

    /* Optional for leaves: a[i] = k(i, i); with `slope` not NULL also slope[p * count + i] = da_i /
     * dtheta_p for its parameters and those below it. `items` is eval->rows or eval->cols. */
    lth_status (*diagonal)(const lth__node *node, const lth__eval *eval, const lth_items *items,
                           double *a, double *slope, lth_error *err);

    /* K[r * cols + c]; called from many threads at once. */
    lth_status (*tile)(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                       double *K, lth_error *err);

    /* Optional where nothing is learned: the pull-back; with K not NULL also the values, where they
     * come for free. */
    lth_status (*pull)(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                       const double *W, double *K, const lth__sink *sink, lth_error *err);

    /* Optional, string kernels: number of orders, all orders of a tile, unweighted:
     * K[(o * rows + r) * cols + c], and the cells of a pass over all pairs. */
    size_t (*orders)(const lth__node *node);
    lth_status (*tile_orders)(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                              double *K, lth_error *err);
    /* nu_i = weights_i match^(2i), and the share of each order in the mean of k(x,x). */
    lth_status (*order_shares)(const lth__node *node, const lth__eval *eval, double *nu,
                               double *share, lth_error *err);
    double (*cell_orders)(const lth__node *node, const lth_items *rows, const lth_items *cols);

    /* Optional: a start for its parameters that the expression does not give, so that k(x,x) is
     * about `scale`: value[i] for its i-th. The nodes below it have theirs. */
    lth_status (*guess)(const lth__node *node, const lth__eval *eval, double scale, double *value,
                        lth_error *err);

    /* Optional: a prior of its own. Returns the penalty at the present values, and adds its
     * derivatives to gradient[parameter], natural units. */
    double (*penalty)(const lth__node *node, const lth_kernel *kernel, double *gradient);

    /* Optional, tree kernels: its i-th symbol with parameters of its own, counted in `items`; false
     * past the last. */
    bool (*symbol)(const lth__node *node, const lth_kernel *kernel, const lth_items *items,
                   size_t i, lth_gp_symbol *out);

    /* Optional: the same on a device, for a panel of the matrix in its memory (device_eval.h);
     * `device_able` NULL = always. */
    bool (*device_able)(const lth__node *node, const lth__eval *eval);
    lth_status (*device_tile)(const lth__node *node, lth__device_eval *e,
                              const struct lth__panel *panel, double *K, lth_error *err);
    lth_status (*device_pull)(const lth__node *node, lth__device_eval *e,
                              const struct lth__panel *panel, double *W, double *K, double *grad,
                              lth_error *err);
    lth_status (*device_orders)(const lth__node *node, lth__device_eval *e,
                                const struct lth__panel *panel, double *K, lth_error *err);

    /* Optional: numbers for each pair worth keeping between evaluations; 0 = none. */
    size_t (*memo_planes)(const lth__node *node, const lth__eval *eval);
    /* Optional: gives back what a tile keeps in a form of its own, of LTH__MEMO_ROWS rows at most.
     */
    void (*memo_drop)(void *kept);

    /* ---- Explanations: see model/explain.h ---- */

    /* A node made of others: its values from theirs, input[m * pairs + pair], and unless NULL its
     * slope by each of them likewise. No item of the tile meets itself. */
    void (*combine)(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                    const double *input, double *value, double *slope);
    /* Whether these values are linear in those of the inputs that vary. */
    bool (*is_linear)(const lth__node *node, const bool *varies);

    /* A node that compares items by their parts. Its value is a sum over degrees, where degree p
     * has what p matches make together: K[((p - 1) * rows + r) * cols + c]. Without these two there
     * is one degree, the value itself. */
    size_t (*degrees)(const lth__node *node);
    lth_status (*tile_degrees)(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                               double *K, lth_error *err);
    /* Optional for leaves, whose texts are then told apart by leaving out one unit after another:
     * share[part] += sum over p, c of W[(p - 1) * cols + c] times what degree p of K_c owes to that
     * part of the tile's one row: a unit of the text, a node of the tree in post-order, a number,
     * or, for lth__node_map(), one of its features. */
    lth_status (*attribute)(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                            const double *W, double *share, lth_error *err);

    /* Where degree p counts common subsequences of p units: what one is worth, nu[p - 1], and the
     * factor for each unit that is skipped inside of it, on either side. */
    void (*subsequence_weights)(const lth__node *node, const lth__eval *eval, double *gap,
                                double *nu);

    /* Optional for these: K[c * count + i] = degree n of pattern i, of n units, with column c. They
     * are sorted. *able = false where this has to be asked of tile_degrees(). */
    lth_status (*patterns)(const lth__node *node, const lth__eval *eval,
                           const struct lth__pattern *pattern, size_t count, double *K, bool *able,
                           lth_error *err);

    /* Sparse feature maps: hand what was found for the features of an item on to the units of its
     * text, unit[k] += ...; and the units that a feature is made of, `most` at most, whose number
     * comes back. */
    lth_status (*features_to_units)(const lth__node *node, const lth_items *items, size_t item,
                                    const double *share, double *unit, lth_error *err);
    size_t (*feature_units)(const lth__node *node, const struct lth_encoder *encoder,
                            uint32_t feature, uint32_t *unit, size_t most);
    /* In its place where a feature is more than units side by side: as text. */
    lth_status (*feature_text)(const lth__node *node, const struct lth_encoder *encoder,
                               uint32_t feature, lth__string *out, lth_error *err);

    /* Tree kernels: tells `take` of the fragments f with the largest and the smallest weight,
     * `count` of each: what one f in a row adds to sum_c W_c K_c, or, with `of_row`, what all of
     * them in the evaluation's one row add. */
    lth_status (*fragments)(const lth__node *node, const lth__eval *eval, const double *W,
                            bool of_row, size_t count, lth__fragment_fn *take, void *user,
                            lth_error *err);
};

/* The same nodes with values of its own, for as long as those of `kernel` last; NULL = out of
 * memory. */
lth_kernel *lth__kernel_copy(const lth_kernel *kernel);
void lth__kernel_copy_free(lth_kernel *copy);
/* The kernel of the noise as a kernel by itself, with the same nodes and parameters: for as long as
 * those of `kernel` last. */
lth_kernel lth__kernel_of_noise(const lth_kernel *kernel);
/* Whether a node is below the root, and not that of the noise. */
bool lth__kernel_has(const lth_kernel *kernel, const lth__node *node);

/* The sparse feature map whose features are the parts that the node compares, or NULL. */
const lth__node *lth__node_map(const lth__node *node);
/* How many parts an item has for the node. */
size_t lth__node_parts(const lth__node *node, const lth_items *items, size_t item);

/* Where a tile keeps something in a form of its own, or NULL; and whether there is memory for so
 * many bytes of it. */
void **lth__memo_slot(const lth__node *node, const lth__eval *eval, const lth__tile *tile);
bool lth__memo_fits(const lth__node *node, const lth__eval *eval, size_t bytes);

/* The values of a tile of a node that learns nothing: computed by `fill` once, and kept where there
 * is a memo for it. */
typedef lth_status lth__fill_fn(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                                double *K, lth_error *err);
lth_status lth__memo_constant(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                              lth__fill_fn *fill, double *K, lth_error *err);

/* Whether the kernel can be any number of times as large by parameters of its own: a factor in
 * front of it would say the same again. */
bool lth__kernel_has_size(const lth_kernel *kernel, const bool *held);
/* Whether what it compares items by is made anew from the rows that were encoded first. */
bool lth__kernel_needs_all_rows(const lth_kernel *kernel);
/* Whether its values depend on these rows, other than by their order. */
bool lth__kernel_learns_from_rows(const lth_kernel *kernel);

/* The family of that name, or NULL; and those that are not called by name. */
const lth__family *lth__family_find(const char *name);
extern const lth__family lth__family_sum, lth__family_product, lth__family_number;
extern const lth__family lth__family_columns;

/* A node for number columns given to a wrapper, as in rbf(f1..f17): configured like a called
 * family. */
lth_status lth__columns_configure(lth_kernel *kernel, lth__node *node, lth_error *err);

/* Current value of the node's i-th parameter. */
static inline double lth__node_value(const lth__node *node, const lth__eval *eval, size_t i) {
    return eval->kernel->params[node->first_param + i].value;
}

/* A state of the node at the same values, whose rows are the evaluation's columns, or NULL: what it
 * has of them may be borrowed. It serves many evaluations at a time, and outlives them. */
static inline const void *lth__kept_state(const lth__node *node, const lth__eval *eval) {
    return eval->kept ? eval->kept->state[node->index] : NULL;
}

static inline lth_status lth__node_tile(const lth__node *node, const lth__eval *eval,
                                        const lth__tile *tile, double *K, lth_error *err) {
    return node->family->tile(node, eval, tile, K, err);
}

/* By the family, or in its place (defaults.c). */
lth_status lth__node_pull(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                          const double *W, double *K, const lth__sink *sink, lth_error *err);
lth_status lth__node_diagonal(const lth__node *node, const lth__eval *eval, const lth_items *items,
                              double *a, double *slope, lth_error *err);

#endif
