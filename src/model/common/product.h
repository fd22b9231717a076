/* Products of a packed symmetric matrix with vectors. */
#ifndef LTH_PRODUCT_H
#define LTH_PRODUCT_H

#include "base/context.h"
#include "base/status.h"
#include "engine/packed.h"

/* Y (n x m) = A X, in double precision also where A is single. Any number of threads gives the same
 * bits. */
lth_status lth__packed_multiply(lth_ctx *ctx, const lth__packed *A, size_t m, const double *X,
                                double *Y, lth_error *err);

#endif
