/* The Gram matrix of the same items for many values of the parameters, as learning needs it: the
 * cut into tiles is kept, and what does not depend on the parameters that changed. */
#ifndef LTH_GRAM_H
#define LTH_GRAM_H

#include "engine/packed.h"
#include "kernel/core/kernel.h"
#include "kernel/core/parts.h"

typedef struct lth__gram lth__gram;

/* Rows against `cols`, NULL = against themselves. All are borrowed; the kernel's values may change
 * between calls. */
lth_status lth__gram_create(const lth_kernel *kernel, const lth_items *rows, const lth_items *cols,
                            lth__gram **out, lth_error *err);
void lth__gram_free(lth__gram *g);
/* For one evaluation: nothing is kept for the next. */
void lth__gram_keep_nothing(lth__gram *g);

/* The device that computes it, or NULL. Then the matrices below lie in its memory, packed as
 * kernel/device/device_packed.h says. */
lth__device_eval *lth__gram_device(const lth__gram *g);

/* Like lth_gram() and lth_gram_pull(). W is symmetric where the matrix is, and may be overwritten.
 * The pull-back is at the values of the last lth__gram_values(). */
lth_status lth__gram_values(lth__gram *g, double *K, size_t ld, lth_error *err);
lth_status lth__gram_pull(lth__gram *g, double *W, size_t ld, double *grad, lth_error *err);
/* The values in single precision, where a device computes them. */
lth_status lth__gram_values_single(lth__gram *g, float *K, lth_error *err);
/* The same for the rows against themselves, with the lower triangle packed in host memory (of a
 * Gram matrix that no device computes); K also in single precision. */
lth_status lth__gram_values_packed(lth__gram *g, const lth__packed *K, lth_error *err);
lth_status lth__gram_pull_packed(lth__gram *g, const lth__packed *W, double *grad, lth_error *err);

/* The same for parts of the lower triangle of the rows against themselves. What comes out for a
 * part depends neither on the others nor on the number of threads; values have the bits of
 * lth__gram_values_packed(), but for the last digit where BLAS multiplies. partial[i * parameters +
 * p] is what part i of the symmetric weights adds to the derivative by p. A device computes one
 * part after the other into host memory, and pulls back at the present values of the parameters. */
lth_status lth__gram_values_parts(lth__gram *g, const lth__gram_part *parts, size_t count,
                                  lth_error *err);
lth_status lth__gram_pull_parts(lth__gram *g, const lth__gram_part *parts, size_t count,
                                double *partial, lth_error *err);

/* Whether all derivatives are finite: LTH_ENUMERIC. */
lth_status lth__gradient_check(const lth_kernel *kernel, const double *grad, lth_error *err);
const lth_kernel *lth__gram_kernel(const lth__gram *g);

/* What depends on the columns alone, made once for many matrices: the states of an evaluation of
 * the columns with themselves, and the columns in the order of the work. Whoever needs it first
 * makes it, since a model that is only looked at needs none; until then the kernel's values must
 * not change. Any number of threads may use it. */
typedef struct lth__prepared lth__prepared;
lth_status lth__prepared_create(const lth_kernel *kernel, const lth_items *cols,
                                lth__prepared **out, lth_error *err);
void lth__prepared_free(lth__prepared *p);
/* For evaluations with these columns: see lth__eval. `ctx` is that of the call. */
lth_status lth__prepared_need(lth__prepared *p, lth_ctx *ctx, const lth__eval **out,
                              lth_error *err);

/* lth_gram() of rows against these columns; and, unless NULL, lth_gram_diagonal() of the rows. */
lth_status lth__gram_against(lth__prepared *p, const lth_items *rows, double *K, size_t ld,
                             double *self, lth_error *err);

/* Give the parameters that the expression does not give, and that are not held, a start that suits
 * the items, so that k(x,x) is about `scale`. */
lth_status lth__kernel_guess(lth_kernel *kernel, const lth_items *items, const bool *held,
                             double scale, lth_error *err);

/* States of every node for an evaluation; for those who need more than a matrix. */
lth_status lth__eval_prepare(lth__eval *eval, lth_error *err);
void lth__eval_release(lth__eval *eval);

#endif
