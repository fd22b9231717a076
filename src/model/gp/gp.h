/* Inside a Gaussian process: the model, its evidence, and the search for the best parameters. */
#ifndef LTH_GP_H
#define LTH_GP_H

#include "base/text.h"
#include "kernel/core/encode.h"
#include "kernel/core/gram.h"
#include "model/common/any_model.h"
#include "model/common/linalg.h"

/* Targets are centred and scaled inside: y_scaled = (y - shift) / scale. The kernel's parameters
 * and `noise` belong to the scaled targets. */
typedef struct lth__target {
    char *name;
    double shift, scale;
    bool constant;
} lth__target;

struct lth_gp {
    lth_model base;
    lth_ctx ctx; /* the caller's, but quiet */
    lth_kernel *kernel;
    lth_encoder *encoder;
    lth_items *items; /* training rows */
    bool borrowed;    /* kernel, encoder and items belong to someone else */
    char *vectors;    /* file for words that training did not have, or NULL */

    size_t rows, target_count;
    lth__target *targets;
    double *y; /* scaled, rows x targets */

    struct lth__classes
        *classes; /* of a classifier, which has neither y nor L and alpha; or NULL */

    double noise; /* variance, scaled; of a classifier the scale of its kernel */
    double jitter;
    double *L;     /* factor of K + noise + jitter   */
    double *alpha; /* (L L^T)^-1 y, rows x targets  */

    /* How it came about. */
    double *start;  /* of each parameter, then of the noise */
    bool *held;     /* likewise                              */
    bool *at_bound; /* likewise                             */
    lth_gp_report report;
    lth_metrics loo;       /* the report's; none for labels     */
    lth_gp_param *learned; /* of each parameter, then of its own */
    lth_gp_symbol *symbols;
    size_t symbol_count;
    lth__string row_text; /* of lth_gp_row_text() */
    lth_gp_step *steps;   /* of the search, all starts; thinned when there are many */
    size_t step_count, steps_seen, step_every;
};

/* ---- Evidence ---- */

/* Log evidence of the scaled targets at the kernel's values and gp->noise; with `gradient` not NULL
 * also its derivative by each parameter, natural units, the noise last. Leaves the factor and the
 * weights in gp->L and gp->alpha. LTH_ENUMERIC when the matrix is not positive definite at
 * gp->jitter. `inverse` is room for a rows x rows matrix: on return the inverse is there, unless
 * gradient is NULL. */
lth_status lth__gp_evidence(lth_gp *gp, lth__gram *gram, double *inverse, double *evidence,
                            double *gradient, lth_error *err);

/* The path of the parameter that is the model's own: "noise" or "scale". */
const char *lth__gp_own_path(const lth_gp *gp);

/* ---- Search ---- */

/* Hold the parameters that options->fix names. */
lth_status lth__gp_hold(lth_gp *gp, const lth_gp_options *options, lth_error *err);

/* Find the best parameters from `options`; gp->report tells how it went. */
lth_status lth__gp_search(lth_gp *gp, lth__gram *gram, double *inverse,
                          const lth_gp_options *options, lth_error *err);

/* ---- Looked at afterwards ---- */

/* Of each row from all the others, in the target's units; `inverse` is (L L^T)^-1. */
void lth__gp_leave_one_out(const lth_gp *gp, const double *inverse, size_t target, double *y,
                           double *mean, double *sd);

/* Fill in `learned` and `symbols`, which only models that the caller gets need. */
lth_status lth__gp_list(lth_gp *gp, lth_error *err);

/* Steps that a model keeps; room for them all, and one more of them. */
enum { LTH__MOST_STEPS = 2000 };
lth_status lth__gp_steps_begin(lth_gp *gp, lth_error *err);
void lth__gp_steps_add(lth_gp *gp, const lth_gp_step *step);

/* ---- Making one from items that are already encoded, as cross-validation does ---- */

/* y by [target][row], in its own units. On success the model borrows kernel, encoder and items. */
lth_status lth__gp_fit_items(lth_ctx *ctx, lth_kernel *kernel, lth_encoder *encoder,
                             lth_items *items, const double *y, const char *const *names,
                             size_t targets, const lth_gp_options *options, lth_gp **out,
                             lth_error *err);
/* The same for the classes of one target column, which become the model's, or are freed. */
lth_status lth__gp_fit_classes(lth_ctx *ctx, lth_kernel *kernel, lth_encoder *encoder,
                               lth_items *items, struct lth__classes *classes, const char *name,
                               const lth_gp_options *options, lth_gp **out, lth_error *err);
/* Mean and sd (may be NULL) of every item, by [target][item]. */
lth_status lth__gp_predict_items(lth_gp *gp, const lth_items *items, bool latent, double *mean,
                                 double *sd, lth_error *err);

/* Options with their defaults for whatever the caller's struct does not have. */
lth_gp_options lth__gp_options_complete(const lth_gp_options *given);

/* What does not go with labels. */
lth_status lth__gp_check_labels(const char *const *targets, size_t count,
                                const lth_gp_options *options, lth_error *err);

#endif
