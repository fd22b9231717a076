/* Predictions averaged over draws of the parameters (gp_uncertain.h). Each draw is a model of its
 * own, of the same rows: it borrows all but the values of its parameters, its targets where a warp
 * makes them, and its solution. These are made when they are first needed, and are in no file;
 * where the model keeps few of its rows (lth__draw_keeper), what the others say is noted by the
 * fit.
 */
#ifndef LTH_GP_AVERAGE_H
#define LTH_GP_AVERAGE_H

#include "model/gp/gp.h"

struct lth__drawn;
enum { LTH__MOST_DRAWS = 1000 };

/* Models that predict together, with weights that sum to 1. */
typedef struct lth__averaged {
    size_t count;
    lth_gp *const *model; /* NULL = one alone: */
    const lth_gp *itself;
    const double *weight;
} lth__averaged;

/* What options->average does not go with, and whether there is memory for so many solutions. */
lth_status lth__gp_check_average(const lth_gp *gp, const lth_gp_options *options, lth_error *err);

/* For a posterior that is about to keep fewer rows: what each draw leaves of all of them. The
 * model's parameters are its own again, its solution is that of a draw. */
lth_status lth__gp_keep_draws(lth_gp *gp, lth__gram *gram, lth_error *err);

/* Those of its draws, or without draws the model itself. By all ranks; from any thread. `gp` is to
 * outlive what comes out. */
lth_status lth__gp_averaged(const lth_gp *gp, lth__averaged *out, lth_error *err);
const lth_gp *lth__averaged_at(const lth__averaged *a, size_t i);
void lth__drawn_free(struct lth__drawn *d);

/* A copy of a model of the same rows, at these values of all its parameters, without a solution. It
 * borrows the rest from the model. */
lth_status lth__gp_copy_at(const lth_gp *gp, const double *value, lth_gp **out, lth_error *err);
void lth__gp_copy_free(lth_gp *copy);

/* The draws in the report. */
void lth__gp_uncertain_report(lth_gp *gp);

/* Intervals and draws in a file. */
void lth__gp_uncertain_save(const lth_gp *gp, lth__saver *s);
lth_status lth__gp_uncertain_load(lth_gp *gp, const lth__loader *l);

#endif
