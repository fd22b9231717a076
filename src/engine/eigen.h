/* Eigenvalues of small symmetric matrices. */
#ifndef LTH_EIGEN_H
#define LTH_EIGEN_H

#include <stddef.h>

/* A (n x n, whole) = U diag(value) U^T, values from the largest down, vectors in the columns of U,
 * by Jacobi's rotations. A is overwritten. */
void lth__eigen(size_t n, double *A, double *value, double *U);
/* The same in the order in which they are found. */
void lth__eigen_unordered(size_t n, double *A, double *value, double *U);

#endif
