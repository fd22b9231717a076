/* A device that computes in a memory of its own, such as a GPU: what its plug-in must bring.
 *
 * The plug-in is a library that is loaded when a device is asked for; it exports one function,
 * lth__device_table_get(), and includes nothing of luthier but this file and the forms of wrappers.
 * Matrices on a device are row-major doubles; `ld` is the distance of their rows. A GPU may be
 * opened several times: what is done through one handle is done in order, from one thread at a
 * time, and beside what is done through the others. Every function fills `err` when it fails, and
 * leaves nothing behind.
 */
#ifndef LTH_DEVICE_H
#define LTH_DEVICE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "luthier.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    LTH__DEVICE_VERSION = 6,
    LTH__DEVICE_ORDERS = 16,  /* longest subsequence that a device compares */
    LTH__DEVICE_LETTERS = 64, /* of sequences that are aligned */
    LTH__DEVICE_THETA = 3,
    LTH__DEVICE_GPUS = 16,   /* of one context            */
    LTH__DEVICE_HANDLES = 2, /* opened on each of them    */
};

/* An open device, and sequences, trees, ordered trees and sparse features in its memory. */
typedef struct lth__device lth__device;
typedef struct lth__device_strings lth__device_strings;
typedef struct lth__device_trees lth__device_trees;
typedef struct lth__device_features lth__device_features;
typedef struct lth__device_ordered lth__device_ordered;

/* A panel of a matrix: rows first_row .. first_row + rows - 1 of one collection with columns of
 * another. */
typedef struct lth__panel {
    size_t first_row, rows, first_col, cols;
    bool same;      /* rows and columns are of the same collection */
    bool symmetric; /* and begin at the same item: values and weights with rows and columns
                       exchanged are equal. Of such a pair one side is computed, and stored on both
                       where it lies in the panel; those further right stand for themselves. */
} lth__panel;

/* String kernels of all pairs of a panel. What is NULL is not wanted. */
typedef struct lth__device_ssk {
    const lth__device_strings *rows, *cols;
    lth__panel panel;
    bool only_diagonal; /* items with themselves instead: results by item, as if `cols` were 1 */
    unsigned order;
    double gap;
    lth_precision precision;
    /* Similarities of symbols a and b: table[a * stride + b], on the device, in that precision;
     * NULL = 1 where they are equal. `slope`: their derivative along which tangents go; NULL =
     * along gap. */
    const void *table, *slope;
    size_t stride;
    double nu[LTH__DEVICE_ORDERS]; /* weight of each order */

    double *K; /* sum_i nu_i k_i, on the device */
    size_t ld;
    double *planes;   /* k_i: [order][row][col], on the device                          */
    double *tangents; /* of the diagonal only, its derivatives: [order][item], on the device */
    /* The pull-back of weights W (on the device, as K): sum over pairs of W k_i for each order, and
     * of W sum_i nu_i dk_i. On the host. */
    const double *W;
    double *value_sums, *tangent_sum;
} lth__device_ssk;

/* Parameters of local alignments, and what is known of a sequence with itself: log Z, and its
 * derivatives by the first three. */
enum { LTH__ALIGN_BETA, LTH__ALIGN_OPEN, LTH__ALIGN_EXTEND, LTH__ALIGN_POWER, LTH__ALIGN_PARAMS };
typedef struct lth__device_self {
    double log_sum, slope[LTH__ALIGN_POWER];
} lth__device_self;

/* Local alignments of all pairs of a panel, with Z of kernel/string/local_alignment.h:
 *
 *     k(x,y) = (Z(x,y) / sqrt(Z(x,x) Z(y,y)))^power
 *
 * which is 0 where one is empty, and 1 where they are the same, to the bit. Letters are numbers
 * below LTH__DEVICE_LETTERS. What is NULL is not wanted. */
typedef struct lth__device_la {
    const lth__device_strings *rows, *cols;
    lth__panel panel;
    double theta[LTH__ALIGN_PARAMS];
    const double *score; /* of letters a and b: score[a * LTH__DEVICE_LETTERS + b], on the host */
    const lth__device_self *row_self, *col_self; /* by item, on the host */
    double *K;                                   /* on the device */
    size_t ld;
    /* The pull-back of weights W (on the device, as K): derivatives by each parameter, on the host.
     */
    const double *W;
    double *sums;
} lth__device_la;

/* What items have, each as often as `weight` says: item i has feature[start[i]] ..
 * feature[start[i + 1] - 1]. Of trees these are their complete subtrees, which are numbered with
 * children before parents. */
typedef struct lth__device_bags {
    size_t count;
    const size_t *start;
    const uint32_t *feature;
    const double *weight;
} lth__device_bags;

typedef struct lth__device_forest {
    size_t subtrees, productions;
    const uint32_t *production; /* of each subtree                                             */
    const size_t *first_child;  /* subtrees + 1: its children that are no leaves, in order, are
                                   child[first_child[s]] .. child[first_child[s + 1] - 1]      */
    const uint32_t *child;
    lth__device_bags rows, cols;
} lth__device_forest;

/* Subset tree kernels of all pairs of a panel. What is NULL is not wanted. */
typedef struct lth__device_sstk {
    const lth__device_trees *trees;
    const double *decay, *alpha; /* by production, on the host */
    const uint32_t *owner;       /* likewise: whose these are  */
    size_t owners;
    lth__panel panel;
    double *K; /* on the device */
    size_t ld;
    /* The pull-back of weights W (on the device): derivatives by each owner's decay and alpha, on
     * the host. */
    const double *W;
    double *decay_sums, *alpha_sums;
} lth__device_sstk;

/* Inner products of sparse features for all pairs of a panel, or sums of the smaller weights.
 * Terms are added by ascending feature, so that all values are the same to the bit wherever they
 * are computed. */
typedef struct lth__device_sparse {
    const lth__device_features *features;
    lth__panel panel;
    bool smaller;
    double *K; /* on the device */
    size_t ld;
} lth__device_sparse;

/* Trees node by node, in post-order: tree i has the nodes start[i] .. start[i + 1] - 1. Two nodes
 * match when they have the same key; LTH__DEVICE_SOFT = by the similarity of their labels. */
#define LTH__DEVICE_SOFT UINT32_MAX
typedef struct lth__device_nodes {
    size_t count; /* of trees */
    const size_t *start;
    const uint32_t *label, *key, *children; /* by node; children: how many */
} lth__device_nodes;

/* Partial tree kernels (kernel/tree/ptk.c) of all pairs of a panel. What is NULL is not wanted. */
enum { LTH__PTK_DECAY, LTH__PTK_GAP, LTH__PTK_PARAMS };
typedef struct lth__device_ptk {
    const lth__device_ordered *trees;
    lth__panel panel;
    double theta[LTH__PTK_PARAMS];
    const double *table; /* similarities of labels a and b: table[a * stride + b], on the device */
    size_t stride;
    double *K; /* on the device */
    size_t ld;
    /* The pull-back of weights W (on the device): derivatives by each parameter, on the host. */
    const double *W;
    double *sums;
} lth__device_ptk;

/* A wrapper over a matrix of inner values: its number (kernel/compose/forms.h), its parameters, the
 * self-similarities of rows and columns (on the host). */
typedef struct lth__device_wrapper {
    int form;
    double theta[LTH__DEVICE_THETA];
    const double *a, *b;
    lth__panel panel;
} lth__device_wrapper;

/* Quadratic problems of engine/smo.h, any number of them, each of some rows of one matrix K. All
 * but K is on the host. */
enum { LTH__SMO_SIDES = 2, LTH__SMO_DEVICE_GROUPS = 2 };
typedef struct lth__device_smo_problem {
    size_t set, target, groups; /* its rows; their y */
    double linear;              /* p = -linear y     */
    /* By group and side: y > 0, and the others. */
    double lo[LTH__SMO_DEVICE_GROUPS][LTH__SMO_SIDES], hi[LTH__SMO_DEVICE_GROUPS][LTH__SMO_SIDES];
    double epsilon, tolerance;
    bool relative;      /* the tolerance is in units of half the distance of the groups' levels */
    const double *from; /* betas to begin with; NULL = 0                                        */
    double *beta;       /* [group][row of the set]: the solution                                */
    double level[LTH__SMO_DEVICE_GROUPS]; /* F at rows between their bounds */
    size_t steps;
    bool unfinished; /* it gave up */
} lth__device_smo_problem;

typedef struct lth__device_smo {
    const float *K; /* rows x rows, on the device */
    size_t rows, ld;
    const uint32_t *const *set; /* ascending rows of each set */
    const size_t *set_count;
    size_t sets;
    const double *y; /* [target][row of K] */
    size_t targets;
    lth__device_smo_problem *problem; /* dearest first */
    size_t problems;
    /* Asked several times a second whether to go on; NULL = yes. */
    bool (*goes_on)(void *user);
    void *user;
} lth__device_smo;

typedef struct lth__device_table {
    int version;
    const char *name; /* "cuda" */
    /* Rows of the panels in which a large symmetric matrix is kept, as the device likes them (see
     * kernel/device/device_packed.h); the variable LTH_PANEL_ROWS asks for others, in tests. */
    size_t panel_rows;

    lth_status (*open)(int index, lth__device **out, lth_error *err);
    void (*close)(lth__device *d);
    /* What it is called, and its memory in bytes. */
    void (*describe)(lth__device *d, char *text, size_t capacity, size_t *free_bytes,
                     size_t *total_bytes);

    lth_status (*alloc)(lth__device *d, size_t bytes, void **out, lth_error *err);
    void (*release)(lth__device *d, void *memory);
    lth_status (*upload)(lth__device *d, void *to, const void *from, size_t bytes, lth_error *err);
    lth_status (*download)(lth__device *d, void *to, const void *from, size_t bytes,
                           lth_error *err);
    /* The same for `rows` rows of `cols` numbers, into the caller's matrix; other handles go on
     * computing meanwhile. */
    lth_status (*download_panel)(lth__device *d, double *to, size_t to_ld, const double *from,
                                 size_t from_ld, size_t rows, size_t cols, lth_error *err);
    /* Waits for all that has been begun. */
    lth_status (*finish)(lth__device *d, lth_error *err);

    /* Sequences: symbols[start[i]] .. symbols[start[i + 1] - 1]. */
    lth_status (*strings)(lth__device *d, const uint32_t *symbols, const size_t *start,
                          size_t count, lth__device_strings **out, lth_error *err);
    void (*strings_free)(lth__device *d, lth__device_strings *s);
    lth_status (*ssk)(lth__device *d, const lth__device_ssk *job, lth_error *err);
    /* NULL = the CPU aligns. */
    lth_status (*la)(lth__device *d, const lth__device_la *job, lth_error *err);

    lth_status (*trees)(lth__device *d, const lth__device_forest *forest, lth__device_trees **out,
                        lth_error *err);
    void (*trees_free)(lth__device *d, lth__device_trees *t);
    lth_status (*sstk)(lth__device *d, const lth__device_sstk *job, lth_error *err);

    /* K becomes the wrapper's values. */
    lth_status (*wrap)(lth__device *d, const lth__device_wrapper *w, double *K, size_t ld,
                       lth_error *err);
    /* From inner values K and weights W: K becomes the wrapper's values, W the weights of the inner
     * ones; row[r] and col[c] the weights of the self-similarities, and theta[p] the derivatives by
     * its parameters (on the host). */
    lth_status (*wrap_pull)(lth__device *d, const lth__device_wrapper *w, double *K, double *W,
                            size_t ld, double *row, double *col, double *theta, lth_error *err);

    /* Y = value, Y = X, Y += X, Y *= X, and sum X Y. */
    lth_status (*fill)(lth__device *d, double *Y, size_t count, double value, lth_error *err);
    lth_status (*copy)(lth__device *d, double *Y, const double *X, size_t count, lth_error *err);
    lth_status (*add)(lth__device *d, double *Y, const double *X, size_t count, lth_error *err);
    lth_status (*multiply)(lth__device *d, double *Y, const double *X, size_t count,
                           lth_error *err);
    lth_status (*scale)(lth__device *d, double *Y, size_t count, double by, lth_error *err);
    /* Y = X in single precision, and back. */
    lth_status (*narrow)(lth__device *d, float *Y, const double *X, size_t count, lth_error *err);
    lth_status (*widen)(lth__device *d, double *Y, const float *X, size_t count, lth_error *err);
    /* `Y` NULL = ones. */
    lth_status (*dot)(lth__device *d, const double *X, const double *Y, size_t count, double *out,
                      lth_error *err);
    /* The first number that is not finite, or `count`. */
    lth_status (*find_infinite)(lth__device *d, const double *X, size_t count, size_t *out,
                                lth_error *err);

    /* Parts of matrices. C = alpha op(A) op(B) + beta C for C of m x n and k sums, where op
     * transposes or does nothing; Y = a op(X) + b Y for Y of rows x cols, which may be X when it is
     * not transposed; X_rc *= row[r] col[c], with row and col on the device; G += value on the
     * diagonal of n x n. What has the factor 0 is not read. */
    lth_status (*gemm)(lth__device *d, bool A_transposed, bool B_transposed, size_t m, size_t n,
                       size_t k, double alpha, const double *A, size_t lda, const double *B,
                       size_t ldb, double beta, double *C, size_t ldc, lth_error *err);
    lth_status (*combine)(lth__device *d, size_t rows, size_t cols, bool transposed, double a,
                          const double *X, size_t ldx, double b, double *Y, size_t ldy,
                          lth_error *err);
    lth_status (*scale_sides)(lth__device *d, size_t rows, size_t cols, double *X, size_t ld,
                              const double *row, const double *col, lth_error *err);
    lth_status (*add_diagonal)(lth__device *d, size_t n, double *G, size_t ld, double value,
                               lth_error *err);

    /* Of at most `panel_rows` rows. The factor U of a symmetric G = U^T U in its place, upper
     * triangle, zeros below; LTH_ENUMERIC when G is not positive definite. And B = U^-1 B, or
     * B = U^-T B, for n x m. */
    lth_status (*cholesky)(lth__device *d, size_t n, double *G, size_t ld, lth_error *err);
    lth_status (*solve)(lth__device *d, bool transposed, size_t n, size_t m, const double *U,
                        size_t ldu, double *B, size_t ldb, lth_error *err);

    /* Sparse features, by ascending number within each item; `cols` may be `rows`. */
    lth_status (*features)(lth__device *d, const lth__device_bags *rows,
                           const lth__device_bags *cols, lth__device_features **out,
                           lth_error *err);
    void (*features_free)(lth__device *d, lth__device_features *f);
    lth_status (*sparse)(lth__device *d, const lth__device_sparse *job, lth_error *err);

    /* Trees by their nodes; `cols` may be `rows`. */
    lth_status (*ordered)(lth__device *d, const lth__device_nodes *rows,
                          const lth__device_nodes *cols, lth__device_ordered **out, lth_error *err);
    void (*ordered_free)(lth__device *d, lth__device_ordered *t);
    lth_status (*ptk)(lth__device *d, const lth__device_ptk *job, lth_error *err);

    /* LTH_ECANCELED when it is not to go on. NULL = the CPU solves them. */
    lth_status (*smo)(lth__device *d, const lth__device_smo *job, lth_error *err);
} lth__device_table;

/* The one symbol that a plug-in exports, lth__device_table_get. */
typedef const lth__device_table *lth__device_table_fn(void);

/* ---- For the library ---- */

/* The GPUs of a context, each opened twice: while the results of one handle are carried to the
 * host, the other computes. First come the first handles of all of them. */
typedef struct lth__gpu {
    const lth__device_table *table;
    lth__device *handle[LTH__DEVICE_GPUS * LTH__DEVICE_HANDLES];
    size_t gpus;  /* 0 = the CPU does everything */
    bool decides; /* device=auto: small work stays on the CPU */
    char name[128];
    pthread_mutex_t lock; /* where there are GPUs: see lth__device_enter() */
} lth__gpu;

/* "cpu" or NULL, "cuda", "cuda:N", "cuda:N,M,...", or "auto", which is "cpu" where there is no GPU.
 */
lth_status lth__device_open(const char *name, lth__gpu *out, lth_error *err);
void lth__device_close(lth__gpu *gpu);

/* Models that threads share have the GPUs of their context: one thread at a time, which may enter
 * several times. */
void lth__device_enter(lth__gpu *gpu);
void lth__device_leave(lth__gpu *gpu);

/* Whether work of this size goes to the device. */
bool lth__device_pays(const lth__gpu *gpu, double cell_orders, double pairs);

#ifdef __cplusplus
}
#endif
#endif
