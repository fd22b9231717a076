/* What posteriors over all rows have in common that are normal with one site for each row, whatever
 * put it there (posterior_laplace.c, posterior_sites.c): f ~ N(f, (K^-1 + W)^-1), f = K a. At a new
 * row
 *
 *     mean of f = K* a      variance = k** - k*^T R k*
 *
 * with R from the factors of site_factor.h; and at a row from all the others, of which it had the
 * mean f and the variance v:
 *
 *     mean of f = f - a v'  variance v' = v / (1 - W v)
 */
#ifndef LTH_SITE_MODEL_H
#define LTH_SITE_MODEL_H

#include <pthread.h>

#include "model/gp/gp.h"
#include "model/posterior/sites.h"

typedef struct lth__site_model {
    size_t latents;
    double *a, *f, *root_w; /* [latent][row]; the root with the sign of W                   */
    double *without;        /* likewise: v', of numbers, made with the factors; of labels while
                               it settles, and where latents are coupled all of f so        */
    double *sites;          /* [latent][l, W][row], while it learns, where they are carried */
    double lack;            /* what their bound may lack then                               */
    lth__matrix K, M, B;    /* then: covariances, weights; one latent's B                   */
    lth__matrix *F;         /* then, of coupled latents, one for each (softmax.h); B is S   */
    /* By latent; of a model from a file when first asked: */
    double **L;               /* packed                   */
    double **Q;               /* [row][negative], or NULL */
    size_t *negative;         /* of its sites             */
    double *sum;              /* of coupled latents: S^-1 */
    pthread_mutex_t lock;     /* of these                 */
    struct lth__noise *noise; /* where that is a function (noise.h) */
} lth__site_model;

lth_status lth__site_model_open(lth_gp *gp, lth_error *err);
void lth__site_model_free(void *solution);
size_t lth__site_model_bytes(const lth_gp *gp);
/* The search for a mode begins where it ended last. */
double *lth__site_model_carried(const lth_gp *gp, size_t *count);
/* Of coupled latents, from root_w: L and `sum`, unless ranks hold K together. */
lth_status lth__softmax_keep(const lth_gp *gp, const lth__matrix *K, lth_error *err);

/* Covariances at the present parameters, and weights of 0 where it learns. */
lth_status lth__site_model_begin(const lth_gp *gp, lth__gram *gram, bool learns, lth_error *err);
/* The sites of a latent function, where the last search left them; `variance` is room for all rows.
 */
lth__sites lth__sites_of(const lth_gp *gp, size_t latent, double *variance, bool learns);

/* One latent function's part of the evidence, or that of all where they are coupled; unless
 * `by_params` is NULL its weights are added to M, and its derivatives by the likelihood's
 * parameters to these. */
typedef lth_status lth__site_evidence_fn(const lth_gp *gp, size_t latent, double *evidence,
                                         double *by_params, lth_error *err);
lth_status lth__site_model_evidence(lth_gp *gp, lth__gram *gram, lth__site_evidence_fn *one,
                                    double *evidence, double *gradient, lth_error *err);

lth_status lth__site_model_settle(lth_gp *gp, lth_error *err);
lth_status lth__site_model_ready(const lth_gp *gp, lth_error *err);
lth_status lth__site_model_predict(const lth_gp *gp, lth_ctx *ctx, size_t rows, double *K,
                                   const double *self, double *mean, double *variance,
                                   lth_error *err);
lth_status lth__site_model_join(const lth_gp *gp, lth_ctx *ctx, size_t rows, double *K, double *C,
                                lth_error *err);
void lth__site_model_weigh(const lth_gp *gp, size_t i, double *w);
lth_status lth__site_model_leave_one_out(const lth_gp *gp, size_t target, double *mean,
                                         double *variance, lth_error *err);
void lth__site_model_save(const lth_gp *gp, lth__saver *s);
lth_status lth__site_model_load(lth_gp *gp, const lth__loader *l);
/* Of a model that has its rows: its solution, from arrays of these names. */
lth_status lth__site_model_load_sites(lth_gp *gp, const lth__loader *l, const char *alpha,
                                      const char *root_w);

/* A row of the table of posteriors, but for its name, `open`, `evidence` and `carried`. */
#define LTH__SITE_MODEL                                                                            \
    .approximate = true, .free = lth__site_model_free, .bytes = lth__site_model_bytes,             \
    .settle = lth__site_model_settle, .ready = lth__site_model_ready,                              \
    .predict = lth__site_model_predict, .join = lth__site_model_join,                              \
    .weigh = lth__site_model_weigh, .leave_one_out = lth__site_model_leave_one_out,                \
    .save = lth__site_model_save, .load = lth__site_model_load

#endif
