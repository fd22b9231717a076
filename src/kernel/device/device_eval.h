/* An evaluation on a device: the tree of nodes as operations on whole matrices in its memory.
 *
 * A matrix is computed in panels of rows (device_panels.c); usually there is one. Families that
 * bring device_tile and device_pull compute there; the tiles of others come from the CPU and are
 * carried over, so that every expression can be evaluated.
 */
#ifndef LTH_DEVICE_EVAL_H
#define LTH_DEVICE_EVAL_H

#include "engine/device.h"
#include "kernel/core/encode.h"

/* Something of a node or field that is kept on the device from one evaluation to the next. */
typedef struct lth__device_part {
    lth__device_strings *strings[2]; /* of a field: rows, columns                     */
    void *table[3];                  /* of a node: similarities and their derivatives */
    double key[2];                   /* parameters that the tables were made for      */
    bool has_tables;
    lth__device_trees *trees; /* of a node, as are */
    lth__device_ordered *ordered;
    lth__device_features *features; /* these */
} lth__device_part;

struct lth__device_eval {
    const lth__device_table *t;
    lth__device *d;
    const lth__eval *eval; /* states are prepared */
    lth__device_part *fields, *nodes;
    size_t field_count, node_count;
    lth__device_eval *next; /* the same through the context's next handle, or NULL */
    struct lth__gpu *held;  /* of the first of them: others wait until it is freed */
};

/* The device evaluation of a context with a device where that pays; *out NULL = the CPU does it. */
lth_status lth__device_eval_create(const lth__eval *eval, lth__device_eval **out, lth_error *err);
void lth__device_eval_free(lth__device_eval *e);

/* Cell-orders of the whole matrix; whether a node is computed on the device itself. */
double lth__device_work(const lth__eval *eval);
bool lth__device_is_able(const lth__node *node, const lth__device_eval *e);

/* A matrix on the device; freed with lth__device_drop(). */
lth_status lth__device_matrix(lth__device_eval *e, size_t count, double **out, lth_error *err);
void lth__device_drop(lth__device_eval *e, double *matrix);

/* K = values of a panel, without gaps between rows; and the pull-back of W, which it may overwrite:
 * adds to grad[parameter], on the host; with K not NULL also the values. */
lth_status lth__device_tile(const lth__node *node, lth__device_eval *e, const lth__panel *panel,
                            double *K, lth_error *err);
lth_status lth__device_pull(const lth__node *node, lth__device_eval *e, const lth__panel *panel,
                            double *W, double *K, double *grad, lth_error *err);

/* Into or from the caller's matrices. `W` is symmetric where rows and columns are the same. */
lth_status lth__device_gram(lth__device_eval *e, double *K, size_t ld, lth_error *err);
lth_status lth__device_gram_orders(lth__device_eval *e, double *K, lth_error *err);
lth_status lth__device_gram_pull(lth__device_eval *e, const double *W, size_t ld, double *grad,
                                 lth_error *err);

/* A symmetric matrix that stays on the device (device_packed.h), and the pull-back of symmetric
 * weights there, which are overwritten. */
lth_status lth__device_packed_values(lth__device_eval *e, double *K, lth_error *err);
/* The same values in single precision. */
lth_status lth__device_packed_singles(lth__device_eval *e, float *K, lth_error *err);
lth_status lth__device_packed_pull(lth__device_eval *e, double *W, double *grad, lth_error *err);

/* The sequences of a field on the device: side 0 = rows, 1 = columns. */
lth_status lth__device_sequences(lth__device_eval *e, size_t field, int side,
                                 const lth__device_strings **out, lth_error *err);

#endif
