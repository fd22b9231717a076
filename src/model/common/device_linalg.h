/* Linear algebra on symmetric matrices that lie packed on a device (kernel/device/device_packed.h),
 * in their place. Between panels the caller is asked whether to go on. */
#ifndef LTH_DEVICE_LINALG_H
#define LTH_DEVICE_LINALG_H

#include "kernel/device/device_packed.h"

/* A becomes its factor U; LTH_ENUMERIC when it is not positive definite. */
lth_status lth__device_factor(lth__device_eval *e, size_t n, double *A, lth_error *err);
/* The factor becomes (U^T U)^-1. */
lth_status lth__device_invert(lth__device_eval *e, size_t n, double *U, lth_error *err);
/* out[i] (on the device) = (U^T U)^-1_ii, and U stays as it is. */
lth_status lth__device_inverse_diagonal(lth__device_eval *e, size_t n, const double *U, double *out,
                                        lth_error *err);
/* B (n x m, on the device) = (U^T U)^-1 B, and Y = A X for such X and Y. */
lth_status lth__device_solve(lth__device_eval *e, size_t n, const double *U, size_t m, double *B,
                             lth_error *err);
lth_status lth__device_multiply(lth__device_eval *e, size_t n, const double *A, size_t m,
                                const double *X, double *Y, lth_error *err);
/* What one panel with these cells adds to Y. */
lth_status lth__device_multiply_panel(lth__device_eval *e, const lth__device_rows *p,
                                      const double *cells, size_t m, const double *X, double *Y,
                                      lth_error *err);

#endif
