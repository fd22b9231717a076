/* Inside a Gaussian process: a kernel, a mean, a likelihood and a posterior; its evidence, and the
 * search for the best parameters.
 *
 * Each latent function f has the prior N(mean, scale k + variance of the mean). Numbers have one
 * for each target; two classes one (the second class against the first), more classes one for each
 * against the rest, several labels a row one for each label. All of them share the kernel.
 */
#ifndef LTH_GP_H
#define LTH_GP_H

#include "base/text.h"
#include "kernel/core/encode.h"
#include "kernel/core/gram.h"
#include "model/common/any_model.h"
#include "model/common/source.h"
#include "model/gp/mean.h"
#include "model/likelihood/known.h"
#include "model/likelihood/predictive.h"
#include "model/posterior/posterior.h"

struct lth__classes;
struct lth__interval;
struct lth__draws;
typedef struct lth__journal lth__journal; /* gp_journal.h */

/* What the caller asked of a posterior; 0 is never left. */
typedef struct lth__gp_how {
    size_t inducing, probes;
    double tolerance;
    lth_precision store;
    bool on_disk;
    lth_bound bound;
    size_t coregion;    /* rank of what targets have in common; 0 = each is by itself */
    double known_cells; /* targets that a row has, on average                        */
} lth__gp_how;

struct lth_gp {
    lth_model base;
    lth_ctx ctx; /* the caller's, but quiet */
    lth_kernel *kernel;
    lth_encoder *encoder;
    lth_items *items;        /* training rows that predictions are compared with */
    lth__prepared *prepared; /* of these, for predictions */
    bool borrowed;           /* kernel, encoder and items belong to someone else */
    bool keeps_few;          /* items are few of the rows it learned from, and its own */
    lth_items *all;          /* those rows, where the kernel needs them all; else NULL */
    size_t *kept;            /* then of each item its number among them               */

    size_t rows, latents, target_count; /* rows: of items and y */
    double *y;        /* [latent][row]: as the likelihood sees them; NaN = not known (outputs.h) */
    double *unwarped; /* likewise, before the warp; NULL = there is none */
    double *warp_by;  /* [param][latent][row]: dy by the warp's parameters */
    double warp_jacobian, warp_jacobian_by[LTH__WARP_PARAMS]; /* of all rows */
    lth__known known;
    char *noise_by, *weights, *exposure; /* the columns it is from */
    lth__target *targets;
    double *grades; /* what they are called, ascending; NULL = there are none */
    size_t grade_count;
    double lower, upper;          /* of what is censored, in the target's units */
    lth_point point;              /* the number that is given out               */
    struct lth__classes *classes; /* of labels; NULL = numbers */

    const lth__mean *mean;
    const lth__likelihood *likelihood;
    const lth__warp *warp; /* NULL = none */
    bool piled;            /* targets pile up at a value, so that it is kept gentle */
    /* Parameters beside the kernel's: the likelihood's, the warp's or those of outputs.h, then
     * `scale`. */
    double own[LTH__MOST_OWN];
    lth__own_param own_list[LTH__MOST_OWN];
    size_t likelihood_params, own_count;
    double jitter;
    const lth__posterior *posterior;
    lth__gp_how how;
    bool at_first_rank;    /* of a cluster: the others cannot predict from it */
    bool only_predicts;    /* for others: it needs no report of its own */
    bool calibrates;       /* of labels: how sharp they are is learned (gp_sharpness.h) */
    bool at_a_draw;        /* its parameters are a draw's: what was chosen by others stays */
    void *solution;        /* of the posterior */
    lth__journal *journal; /* while it learns, or NULL */

    /* How it came about. */
    double *start;                   /* of each parameter, the kernel's first */
    bool *held;                      /* likewise                              */
    bool *at_bound;                  /* likewise                             */
    struct lth__interval *intervals; /* likewise; NULL = not known */
    struct lth__draws *draws;        /* of the parameters; NULL = there are none */
    lth_gp_report report;
    lth_metrics loo;       /* the report's; none for labels     */
    lth_gp_param *learned; /* of each parameter, then of its own */
    lth_gp_symbol *symbols;
    size_t symbol_count;
    lth_gp_step *steps; /* of the search, all starts; thinned when there are many */
    size_t step_count, steps_seen, step_every;
};

/* ---- Parameters beside the kernel's ---- */

/* List them, once likelihood, warp and grades are known. */
void lth__gp_list_own(lth_gp *gp);
/* Of the kernel, then those. */
size_t lth__gp_param_count(const lth_gp *gp);
const char *lth__gp_path(const lth_gp *gp, size_t param);
double *lth__gp_value(lth_gp *gp, size_t param);
/* What it is multiplied by for the caller: variances are in the (first) target's units squared. */
double lth__gp_unit(const lth_gp *gp, size_t param);

/* ---- What is seen ---- */

/* Whether noise is normal and of one variance, so that the posterior is known in closed form. */
bool lth__gp_is_gaussian(const lth_gp *gp);
/* Whether what is predicted is normal, so that mean and sd say it all. */
bool lth__gp_is_normal(const lth_gp *gp);
/* Whether f is in units of its own, not in those of the targets. */
bool lth__gp_has_own_units(const lth_gp *gp);
lth__terms lth__gp_terms(const lth_gp *gp, size_t target);
/* The rows of a latent function. */
lth__seen lth__gp_seen(const lth_gp *gp, size_t latent);
/* The same with what is known of other rows, whose y is not. */
lth__seen lth__gp_seen_with(const lth_gp *gp, size_t latent, const lth__known *known);
/* The variance of the noise, in units of the first target squared; after a warp in those of that; 0
 * = there is none. */
double lth__gp_noise(const lth_gp *gp);
/* From the evidence of what is seen inside to that of the targets in their own units. */
double lth__gp_jacobian(const lth_gp *gp);

/* y at the present parameters of the warp. */
void lth__gp_warp(lth_gp *gp);
/* dy by one of them, by row. */
double *lth__gp_warp_by(const lth_gp *gp, size_t param, size_t latent);
/* Adds to the gradient by them, for d evidence / dy_i = -slope[i * stride + latent]. */
void lth__gp_warp_pull(const lth_gp *gp, const double *slope, size_t stride, double *gradient);

/* ---- The prior ---- */

/* The factor of the kernel: 1 where f is in the targets' units. */
double lth__gp_scale(const lth_gp *gp);
/* From kernel values to covariances of f. */
void lth__gp_prior(const lth_gp *gp, double *K, size_t count);
/* The same for the Gram matrix of the training rows, with jitter, and `noise` on the diagonal. */
lth_status lth__gp_prior_matrix(const lth_gp *gp, double noise, lth__matrix *K, lth_error *err);

/* ---- Evidence ---- */

/* Log evidence of the scaled targets at the present parameters; with `gradient` not NULL also its
 * derivative by each of them, natural units. LTH_ENUMERIC when there is none at gp->jitter. */
lth_status lth__gp_evidence(lth_gp *gp, lth__gram *gram, double *evidence, double *gradient,
                            lth_error *err);

/* The same without a gradient, with as little more jitter as it takes. */
lth_status lth__gp_solve(lth_gp *gp, lth__gram *gram, double *evidence, lth_error *err);

/* The gradient by the kernel's parameters, and by `scale` where there is one: the pull-back of the
 * symmetric weights W of the prior's covariances, which are `prior` (NULL without scale). W may be
 * overwritten. */
lth_status lth__gp_pull(const lth_gp *gp, lth__gram *gram, lth__matrix *W, const lth__matrix *prior,
                        double *gradient, lth_error *err);

/* ---- Leave-one-out ---- */

/* f of each row from all the others, by alpha = G^-1 y [row][latent] and the diagonal of G^-1,
 * where noise is normal. */
void lth__gp_leave_out(const lth_gp *gp, const double *alpha, const double *inverse, size_t target,
                       double *mean, double *variance);
/* From such f of the first target to the report's figures. */
lth_status lth__gp_report_left_out(lth_gp *gp, const double *mean, const double *variance,
                                   lth_error *err);
/* A target of a training row in its own units. */
double lth__gp_truth(const lth_gp *gp, size_t target, size_t row);

/* ---- Search ---- */

/* Hold the parameters that options->fix names. */
lth_status lth__gp_hold(lth_gp *gp, const lth_gp_options *options, lth_error *err);

/* Find the best parameters from `options`; gp->report tells how it went. */
lth_status lth__gp_search(lth_gp *gp, lth__gram *gram, const lth_gp_options *options,
                          lth_error *err);

/* For a posterior that keeps few rows: `items`, rows `kept` of the present ones, become the
 * model's. Both are its own from now on; gp->rows and gp->y are left to the caller. */
void lth__gp_keep(lth_gp *gp, lth_items *items, size_t *kept);

/* Fill in `learned` and `symbols`, which only models that the caller gets need. */
lth_status lth__gp_list(lth_gp *gp, lth_error *err);

/* Steps that a model keeps; room for them all, and one more of them. */
enum { LTH__MOST_STEPS = 2000 };
lth_status lth__gp_steps_begin(lth_gp *gp, lth_error *err);
void lth__gp_steps_add(lth_gp *gp, const lth_gp_step *step);

/* ---- Making one ---- */

/* Targets of numbers in their own units, by [target][row], with what is known of the rows, and the
 * grades there are: ascending, NULL = those that occur. All of it is copied. */
typedef struct lth__gp_numbers {
    const double *y;
    const lth__known *known;
    const double *grades;
    size_t grade_count;
} lth__gp_numbers;

/* A model that has not learned yet: of the items of `s`, or of some of them, as cross-validation
 * does. It borrows kernel, encoder and items. */
lth_status lth__gp_begin_numbers(const lth__source *s, lth_items *items,
                                 const lth__gp_numbers *numbers, const char *const *names,
                                 size_t targets, const lth_gp_options *options, lth_gp **out,
                                 lth_error *err);
/* The same for the classes of one target column and their y by [latent][row]; `classes` become the
 * model's, or are freed. */
lth_status lth__gp_begin_classes(const lth__source *s, lth_items *items,
                                 struct lth__classes *classes, const lth__known *known,
                                 const char *name, const lth_gp_options *options, lth_gp **out,
                                 lth_error *err);
/* Of the target columns of a table, whatever they hold. Rows without any may leave `s`. */
lth_status lth__gp_begin(lth__source *s, const lth_table *table, const char *const *targets,
                         size_t count, const lth_gp_options *options, lth_gp **out, lth_error *err);

/* Learn its parameters, and condition it on all rows. */
lth_status lth__gp_learn(lth_gp *gp, const lth_gp_options *options, lth_error *err);

/* How that will be done; LTH_EARG for what does not go together. */
lth_status lth__gp_plan(const lth_gp *gp, const lth_gp_options *options, lth_gp_plan *plan,
                        lth_error *err);
/* Whether there is memory for it; a warning tells what was decided without being asked for. */
lth_status lth__gp_plan_check(const lth_gp *gp, const lth_gp_options *options,
                              const lth_gp_plan *plan, bool learns, lth_error *err);
/* Bytes of a matrix of its rows: of this rank, where it is dealt out. */
size_t lth__gp_matrix_bytes(const lth_gp *gp);
/* Rows that stand for all where the caller names no number, by the number of rows. */
size_t lth__gp_default_inducing(const lth_gp *gp);
/* Whether the posterior of all rows is what parameters are learned by. */
bool lth__gp_learns_at_once(const lth_gp_plan *plan);
const lth__posterior *lth__gp_posterior(const lth_gp *gp, lth_posterior which);
/* That of the model, as its report tells it. */
lth_posterior lth__gp_posterior_number(const lth_gp *gp);

/* Learn from `count` rows, drawn so that the distribution of the targets is kept: `learn` is given
 * the model of these, and what it finds becomes that of the whole. */
typedef lth_status lth__gp_learn_fn(lth_gp *part, const lth_gp_options *options, lth_error *err);
lth_status lth__gp_learn_part(lth_gp *gp, size_t count, lth__gp_learn_fn *learn,
                              const lth_gp_options *options, lth_error *err);
lth_status lth__gp_draw_rows(const lth_gp *gp, size_t count, size_t *out, lth_error *err);

/* Options with their defaults for whatever the caller's struct does not have. */
lth_gp_options lth__gp_options_complete(const lth_gp_options *given);
lth__source_files lth__gp_files(const lth_gp_options *options);

/* ---- Targets (gp_targets.c) ---- */

/* Whether targets are labels, and what does not go with them. */
lth_status lth__gp_check(const char *const *targets, size_t count, bool labels,
                         const lth_gp_options *options, lth_error *err);
/* Whether warp (NULL = none is named) and bounds go with the likelihood. */
lth_status lth__gp_check_shape(const lth__likelihood *l, const char *warp, double lower,
                               double upper, lth_error *err);
lth_status lth__gp_takes_labels(const lth_table *table, const char *const *targets, size_t count,
                                const lth_gp_options *options, bool *out, lth_error *err);
/* Numbers by [target][row] that the likelihood can have made; freed with lth__free(). */
lth_status lth__gp_read_numbers(const lth_table *table, const char *const *targets, size_t count,
                                const lth_gp_options *options, double **out, lth_error *err);
/* The different ones among numbers, ascending; `out` has room for LTH__MOST_GRADES. */
lth_status lth__grades_list(const double *y, size_t count, double *out, size_t *found,
                            lth_error *err);
/* Whether y are all numbers of grades. */
bool lth__gp_are_grades(const lth_gp *gp);
lth__known_columns lth__gp_known_columns(const lth_gp_options *options);
/* The expression with what options->mean and options->noise_kernel add to it, freed with
 * lth__free(); options->zero_mean is set where that says so. */
lth_status lth__gp_expression(lth_ctx *ctx, const char *kernel, lth_gp_options *options, char **out,
                              lth_error *err);

/* What is known of its rows, into a file. */
void lth__gp_save_known(const lth_gp *gp, lth__saver *s);

/* ---- Predictions ---- */

/* For predictions: its rows as columns that stay the same. */
lth_status lth__gp_prepare(lth_gp *gp, lth_error *err);

/* What is asked of every item, by [target][item]; `known` of the items, or NULL; likewise `given`,
 * targets in their own units by [target][item], NaN = not known (outputs.h). */
lth_status lth__gp_predict_items(const lth_gp *gp, const lth_items *items, const lth__known *known,
                                 const double *given, const lth_gp_prediction *to, lth_error *err);
/* What is expected of a target where f has this mean and variance; `row` of `known`. */
lth__predictive lth__gp_predictive(const lth_gp *gp, size_t target, double mean, double variance,
                                   const lth__known *known, size_t row, double *room);
/* A latent function at a row, and where noise is a function (noise.h) its logarithm. */
typedef struct lth__at_row {
    double mean, variance;
    double noise_mean, noise_variance;
} lth__at_row;
/* What is expected there, all that is asked for, to the place `at` of each array. */
void lth__gp_expect(const lth_gp *gp, size_t target, lth__at_row f, const lth__known *known,
                    size_t row, const lth_gp_prediction *to, size_t at);
/* What is not finite is no prediction. */
lth_status lth__gp_check_finite(const double *values, size_t count, lth_error *err);
/* Of an item, if there is one, what the logarithm of its noise is. */
lth_status lth__gp_noise_at(const lth_gp *gp, const lth_items *item, lth__at_row *out,
                            lth_error *err);
/* Probabilities of every item, by [item * classes + class]. */
lth_status lth__gp_classify_items(const lth_gp *gp, const lth_items *items, double *probability,
                                  lth_error *err);

/* Means and variances of the latent functions by [latent][item], in the units of latent_mean. Where
 * they are coupled, covariances by [latent][latent][item]. */
size_t lth__gp_spreads(const lth_gp *gp);
lth_status lth__gp_latent_items(const lth_gp *gp, const lth_items *items, double *mean,
                                double *variance, lth_error *err);
/* The joint posterior of items (gp_joint.c): mean[latent * items + i] and, unless NULL,
 * covariance[(latent * items + i) * items + j], in the units of latent_mean. By all ranks. */
lth_status lth__gp_joint_items(const lth_gp *gp, const lth_items *items, double *mean,
                               double *covariance, lth_error *err);

/* Of the same items, whose means these are and of which `known` (or NULL) is known: the variance of
 * the noise with which one more number, seen there, would tell f, by [latent * items + i] in its
 * units squared (gp_noise.c). At the model's own parameters, also where it has draws. */
lth_status lth__gp_noise_items(const lth_gp *gp, const lth_items *items, const lth__known *known,
                               const double *mean, double *variance, lth_error *err);

/* What is left of the variances of rows when others are known: V [row][n] becomes V L^-T, and
 * variance[row * stride] = self[row] - |V_row|^2, at least 0. L is packed. */
lth_status lth__gp_variances(lth_ctx *ctx, size_t n, const double *L, size_t rows, double *V,
                             const double *self, double *variance, size_t stride, lth_error *err);

#endif
