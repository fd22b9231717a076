/* Products of a matrix in host memory, packed in either precision, with vectors; and its columns.
 */
#ifndef LTH_PRODUCT_H
#define LTH_PRODUCT_H

#include "engine/cluster.h"
#include "model/common/matrix.h"

/* Y (n x m) = A X, in double precision also where A is single. Any number of threads gives the same
 * bits. */
lth_status lth__packed_multiply(const lth__matrix *A, size_t m, const double *X, double *Y,
                                lth_error *err);
/* The same of the squares of A's cells. */
lth_status lth__packed_multiply_squares(const lth__matrix *A, size_t m, const double *X, double *Y,
                                        lth_error *err);
/* The first in single precision, which is faster: for what tolerates errors of some 1e-6. */
lth_status lth__packed_multiply_roughly(const lth__matrix *A, size_t m, const double *X, double *Y,
                                        lth_error *err);
/* Y (n x m) = the columns `at` of A. */
lth_status lth__packed_columns(const lth__matrix *A, size_t m, const size_t *at, double *Y,
                               lth_error *err);

/* Whether a panel of a matrix that is dealt out to ranks is this rank's; NULL = there is one. */
bool lth__packed_owns(const lth__cluster *c, const lth__packed *A, size_t panel);

#endif
