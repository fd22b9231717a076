/* A posterior: what the rows say about the latent functions of a model, and how it is computed. One
 * file for each. Covariances are those of the prior, scale k + mean variance (lth__gp_prior_*).
 */
#ifndef LTH_POSTERIOR_H
#define LTH_POSTERIOR_H

#include "model/common/matrix.h"
#include "model/common/model_file.h"

/* Weights of the evidence's gradient: d evidence = sum_ij square_ij dk_ij
 *     + sum_ij rectangle_ij dk(row i, other j) + sum_i diagonal_i dk_ii.
 * What is NULL is 0. All belong to the posterior. */
typedef struct lth__weights {
    lth__matrix *square;
    const lth__matrix *prior; /* covariances of the training rows, where `scale` is learned */
    const lth_items *others;
    const double *rectangle, *diagonal;
} lth__weights;

typedef struct lth__posterior {
    const char *name;
    bool approximate; /* the last digits of its evidence are not worth an evaluation */

    /* Room for the solution of gp->rows and gp->latents, and the matrices that learning will need.
     */
    lth_status (*open)(lth_gp *gp, lth_error *err);
    void (*free)(void *solution);
    size_t (*matrices)(const lth_gp *gp);

    /* At the present parameters: the evidence, and unless `weights` is NULL these, and own[i], its
     * derivative by the likelihood's parameters. LTH_ENUMERIC when there is none at gp->jitter. */
    lth_status (*evidence)(lth_gp *gp, lth__gram *gram, double *evidence, lth__weights *weights,
                           double *own, lth_error *err);
    /* After the last evidence: keep what predictions need, free the rest; fill in the report. */
    lth_status (*settle)(lth_gp *gp, lth_error *err);

    /* Rows with these covariances K [row][training row], which are overwritten, and variances:
     * mean[row * latents + i] and, unless NULL, variance likewise. From many threads at once. */
    lth_status (*predict)(const lth_gp *gp, lth_ctx *ctx, size_t rows, double *K,
                          const double *self, double *mean, double *variance, lth_error *err);
    /* w[a]: the mean of latent function i at x is sum_a w_a covariance(x, a). */
    void (*weigh)(const lth_gp *gp, size_t i, double *w);
    /* Of each row from all the others, in the target's units; NULL = not known. */
    lth_status (*leave_one_out)(const lth_gp *gp, size_t target, double *y, double *mean,
                                double *sd, lth_error *err);

    void (*save)(const lth_gp *gp, lth__saver *s);
    /* Sets gp->rows and gp->y too. */
    lth_status (*load)(lth_gp *gp, const lth__loader *l);
} lth__posterior;

extern const lth__posterior lth__exact, lth__laplace_posterior;

#endif
