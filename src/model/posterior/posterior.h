/* A posterior: what the rows say about the latent functions of a model, and how it is computed. One
 * file for each. Covariances are those of the prior, scale k + mean variance (lth__gp_prior_*).
 */
#ifndef LTH_POSTERIOR_H
#define LTH_POSTERIOR_H

#include "model/common/matrix.h"
#include "model/common/model_file.h"

/* What a draw of the parameters leaves of rows that are not kept, as numbers (gp_average.h). */
typedef struct lth__draw_keeper {
    size_t (*count)(const lth_gp *gp); /* of one draw */
    /* After the evidence at the draw's parameters, before anything settles. */
    void (*keep)(const lth_gp *gp, double *out);
    /* Whether numbers from a file can be such. */
    bool (*is_possible)(const lth_gp *gp, const double *kept);
    /* The solution of a model with these parameters, of the rows that are kept. */
    lth_status (*take)(lth_gp *draw, const double *kept, lth_error *err);
} lth__draw_keeper;

typedef struct lth__posterior {
    const char *name;
    bool approximate; /* the last digits of its evidence are not worth an evaluation */

    /* Room for the solution of gp->rows and gp->latents. */
    lth_status (*open)(lth_gp *gp, lth_error *err);
    void (*free)(void *solution);
    /* Bytes that its matrices will need at once, of this rank alone, by rows, latents, how and the
     * number of ranks; SIZE_MAX when they cannot be counted. */
    size_t (*bytes)(const lth_gp *gp);
    /* Optional: bytes that are left once it has settled, likewise; NULL = a factor of all rows for
     * each latent function. */
    size_t (*settled_bytes)(const lth_gp *gp);

    /* At the present parameters: the evidence, and unless `gradient` is NULL its derivative by each
     * of them (lth__gp_pull() is most of it). LTH_ENUMERIC when there is none at gp->jitter. */
    lth_status (*evidence)(lth_gp *gp, lth__gram *gram, double *evidence, double *gradient,
                           lth_error *err);
    /* Optional: numbers beside the parameters that one evidence leaves and the next begins with. */
    double *(*carried)(const lth_gp *gp, size_t *count);
    /* After the last evidence: keep what predictions need, free the rest; fill in the report. A
     * posterior that keeps other rows than it was given makes gp->rows, gp->items and gp->y those.
     */
    lth_status (*settle)(lth_gp *gp, lth_error *err);

    /* Optional: make what predictions need and a file does not hold. By all ranks, before any of
     * them predicts. */
    lth_status (*ready)(const lth_gp *gp, lth_error *err);
    /* Rows with these covariances K [row][row that is kept] and variances: mean[row * latents + i]
     * and, unless NULL, variance likewise, for which K is overwritten. From many threads at once.
     */
    lth_status (*predict)(const lth_gp *gp, lth_ctx *ctx, size_t rows, double *K,
                          const double *self, double *mean, double *variance, lth_error *err);
    /* Optional: mean likewise, and the covariances [row][latent][latent], of what is not
     * independent in the latent functions. K stays as it is. */
    lth_status (*covary)(const lth_gp *gp, lth_ctx *ctx, size_t rows, const double *K,
                         const double *self, double *mean, double *covariance, lth_error *err);
    /* Optional: C [latent][row][row] are the covariances k** of the prior, of which the lower
     * triangles count, and become those of the posterior. K as in predict(). */
    lth_status (*join)(const lth_gp *gp, lth_ctx *ctx, size_t rows, double *K, double *C,
                       lth_error *err);
    /* w[a]: the mean of latent function i at x is sum_a w_a covariance(x, a). */
    void (*weigh)(const lth_gp *gp, size_t i, double *w);
    /* f of each row from all the others; NULL = not known. */
    lth_status (*leave_one_out)(const lth_gp *gp, size_t target, double *mean, double *variance,
                                lth_error *err);

    void (*save)(const lth_gp *gp, lth__saver *s);
    /* Sets gp->rows and gp->y too. */
    lth_status (*load)(lth_gp *gp, const lth__loader *l);
    /* Optional: after that, once the parameters are known. */
    lth_status (*restore)(lth_gp *gp, lth_error *err);
    const lth__draw_keeper *draws; /* NULL = it keeps all rows */
} lth__posterior;

extern const lth__posterior lth__exact, lth__laplace_posterior, lth__sites_posterior,
    lth__softmax_posterior, lth__noisy, lth__cg, lth__inducing, lth__coregional;

/* A packed factor of n rows in a file, as NAME.packed and NAME.height. */
void lth__factor_save(lth__saver *s, const char *name, size_t n, const double *L);
lth_status lth__factor_load(const lth__loader *l, const char *name, size_t n, double **out);

#endif
