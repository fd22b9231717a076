/* The partial tree kernel on a device. */
#ifndef LTH_PTK_DEVICE_H
#define LTH_PTK_DEVICE_H

#include "kernel/device/device_eval.h"
#include "kernel/word/similarity.h"

/* What ptk.c knows of an evaluation. */
typedef struct lth__ptk_terms {
    bool soft_leaves, soft_all; /* which nodes match by similarity */
    double decay, gap;
    const lth__similarity *similarity; /* NULL = none */
} lth__ptk_terms;

bool lth__ptk_device_able(const lth__ptk_terms *terms);

/* K of a panel (NULL = not wanted), and with W its pull-back: adds to gradient[0], by decay, and
 * gradient[1], by gap. */
lth_status lth__ptk_device(const lth__node *node, lth__device_eval *e, const lth__ptk_terms *terms,
                           const lth__panel *panel, const double *W, double *K, double *gradient,
                           lth_error *err);

#endif
