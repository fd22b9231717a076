/* Sums, products and numbers on a device. */
#ifndef LTH_COMBINE_H
#define LTH_COMBINE_H

#include "kernel/core/kernel.h"

#define LTH__DEVICE_FUNCTIONS(name)                                                                \
    lth_status lth__##name##_device_tile(const lth__node *node, lth__device_eval *e,               \
                                         const struct lth__panel *panel, double *K,                \
                                         lth_error *err);                                          \
    lth_status lth__##name##_device_pull(const lth__node *node, lth__device_eval *e,               \
                                         const struct lth__panel *panel, double *W, double *K,     \
                                         double *grad, lth_error *err);

LTH__DEVICE_FUNCTIONS(number)
LTH__DEVICE_FUNCTIONS(sum)
LTH__DEVICE_FUNCTIONS(product)

#endif
