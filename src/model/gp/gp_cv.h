/* Cross-validation: what all folds have in common, and one fit of it. */
#ifndef LTH_GP_CV_H
#define LTH_GP_CV_H

#include <pthread.h>

#include "model/common/labels_wanted.h"
#include "model/common/validation.h"
#include "model/gp/gp.h"

/* Read by many fits at a time. */
typedef struct lth__gp_cv {
    lth__source source; /* the kernel at the values before any fit */
    double *y;          /* [target][row]; NULL for labels */
    lth__known known;
    double *grades; /* of all rows */
    size_t grade_count;
    lth__labels *labels;
    size_t rows, folds, targets;
    const char *const *names;
    const size_t *fold;
    const lth_gp_options *options;
    bool learns; /* the encoder learns anew from each fold's rows; not while others use it */
    lth_validation *validation; /* of each fit its own rows and figures are written */

    pthread_mutex_t lock; /* of the encoder, where it learns, and of options->step */
    size_t learned;       /* the fold that it learned from; LTH_NONE = none        */
} lth__gp_cv;

/* Learn from all rows but those of the fold and judge by these: one target, or, where targets learn
 * from each other, all of them. */
lth_status lth__gp_cv_fit(lth__gp_cv *c, size_t target, size_t fold, lth_ctx *ctx, lth_error *err);
/* Rows that this learns from first, then those to judge; returns how many the first are. */
size_t lth__gp_cv_split(const lth__gp_cv *c, size_t fold, size_t *row, size_t *used);

#endif
