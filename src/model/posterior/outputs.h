/* Targets that learn from each other: the intrinsic model of coregionalisation (Bonilla, Chai &
 * Williams 2008). Of target t and u
 *
 *     cov(f_t(x), f_u(x')) = B_tu k(x, x'),     B = w w^T + own I
 *
 * with `rank` numbers w for each target, and one variance `own` that each has by itself. These are
 * parameters of the model beside its kernel's. The kernel sees each row once, whatever is known of
 * it: a number that is missing is NaN in gp->y.
 */
#ifndef LTH_OUTPUTS_H
#define LTH_OUTPUTS_H

#include "model/gp/gp.h"

enum { LTH__MOST_RANK = 8 };

/* What does not go together with options->coregion. */
lth_status lth__outputs_check(const char *const *targets, size_t count, bool labels,
                              const lth_gp_options *options, lth_error *err);

/* w and own; returns how many. gp->targets must have their names. */
size_t lth__outputs_list(const lth_gp *gp, lth__own_param *out);
/* Where these start, so that B_tt is `size`. */
void lth__outputs_start(lth_gp *gp, double size);
/* B_tt at the present parameters, 1 where targets are by themselves; and B, [target][target]. */
double lth__outputs_size(const lth_gp *gp, size_t target);
void lth__outputs_matrix(const lth_gp *gp, double *B);
/* From the derivative by B, symmetric, to those by w and own. */
void lth__outputs_pull(const lth_gp *gp, const double *by_B, double *gradient);

/* The rank in a file, where there is one; what is read is checked against targets and likelihood.
 */
void lth__outputs_save_rank(lth__saver *s, const lth_gp *gp);
lth_status lth__outputs_load_rank(lth_gp *gp, const lth__loader *l);

/* Whether a row has any number at all; y by [target][row]. */
bool lth__outputs_has_any(const double *y, size_t rows, size_t targets, size_t row);
/* Rows of `s` that have none go, from `y` too; a warning tells. */
lth_status lth__outputs_drop_empty(lth__source *s, double *y, size_t targets, lth_error *err);

/* ---- Predictions of some targets, given others of the same row (outputs_given.c) ---- */

/* By [target][row], NaN = not known; freed with lth__free(). */
lth_status lth__outputs_read_given(const lth_gp *gp, const lth_table *table,
                                   const char *const *names, size_t count, double **out,
                                   lth_error *err);
/* Like predict() of a posterior; given[target * stride + row]. */
lth_status lth__outputs_predict_given(const lth_gp *gp, lth_ctx *ctx, size_t rows, const double *K,
                                      const double *self, const double *given, size_t stride,
                                      double *mean, double *variance, lth_error *err);

/* ---- What the posterior found (posterior_outputs.c) ---- */

typedef struct lth__outputs {
    size_t rows, targets, rank;
    /* B = U diag(l) U^T: `rank` values, and then `own` again and again. */
    double *B, *U, *l;
    size_t cells, *row, *target;   /* those that are known, by row; NULL = all of them */
    double *alpha;                 /* [row][target]: G^-1 y, 0 where nothing is known  */
    double *weights;               /* alpha B, of the means                            */
    double *L[LTH__MOST_RANK + 1]; /* once settled: a factor for each different l, or one */
    lth__matrix K, G, W;           /* while it learns                                     */
} lth__outputs;

/* Each of two forms, and what they have in common:
 *
 *     G = B (x) K + noise I     alpha = G^-1 y     mean = K* alpha B
 *
 * Where all is known (outputs_whole.c), in the coordinates of U there is a problem of the size of K
 * for each different l. Otherwise (outputs_cells.c) G has a row for each cell that is known.
 */
typedef struct lth__outputs_form {
    size_t (*bytes)(const lth_gp *gp);
    lth_status (*evidence)(lth_gp *gp, lth__gram *gram, double *evidence, double *gradient,
                           lth_error *err);
    /* The factors that predictions need, and the diagonal of G^-1 of the first target's cells. */
    lth_status (*settle)(lth_gp *gp, double *inverse, lth_error *err);
    /* That diagonal, by row, of any target; where its cell is not known anything. */
    lth_status (*inverse_diagonal)(const lth_gp *gp, size_t target, double *out, lth_error *err);
    /* Covariances of the targets at rows, [row][target][target]. */
    lth_status (*covary)(const lth_gp *gp, lth_ctx *ctx, size_t rows, const double *K,
                         const double *self, double *covariance, lth_error *err);
    /* As that of a posterior. */
    lth_status (*join)(const lth_gp *gp, lth_ctx *ctx, size_t rows, const double *K, double *C,
                       lth_error *err);
    size_t (*factors)(const lth__outputs *o);     /* how many L */
    size_t (*factor_rows)(const lth__outputs *o); /* and of which size */
} lth__outputs_form;

extern const lth__outputs_form lth__outputs_whole, lth__outputs_cells;

/* Different values l: those with a number below `rank` have one vector, the last the rest. */
size_t lth__outputs_groups(const lth__outputs *o);
size_t lth__outputs_group_end(const lth__outputs *o, size_t group);
/* B, U and l at the present parameters. */
lth_status lth__outputs_decompose(const lth_gp *gp, lth__outputs *o, lth_error *err);
/* `weights`, from `alpha`. */
void lth__outputs_weigh(lth__outputs *o);

#endif
