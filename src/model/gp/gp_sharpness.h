/* How sharp the probabilities of a classifier are.
 *
 * A normal distribution of f around the mode is wide where classes are far apart, and the mean of a
 * link over it near 1/2: labels are right and probabilities timid. One number c, learned after the
 * fit, mends that. Probabilities become
 *
 *     p_k' = p_k^c / sum_j p_j^c       of labels that stand for themselves, p^c / (p^c + (1 - p)^c)
 *
 * which leaves the most probable class, what is above 1/2 and the order of rows as they are. With
 * the probabilities p_ik of the training rows, each from all the others, c is where
 *
 *     sum_i w_i sum_k t_ik log p_ik' - 2 |log c|
 *
 * is largest. t is 1 - 1 / (n + 2) for the class that the row has, and the rest for the others
 * (Platt 1999): n rows that are all told apart do not make a model sure of everything. The second
 * term is a prior: c stays at 1 until the rows say otherwise. Where inducing rows stand for all, a
 * row that is left out is foretold too carefully: there c is not below 1.
 */
#ifndef LTH_GP_SHARPNESS_H
#define LTH_GP_SHARPNESS_H

#include "model/gp/gp_classes.h"
#include "model/likelihood/softmax_points.h"

/* Whether a model that settles is to learn it. */
bool lth__gp_learns_sharpness(const lth_gp *gp);

/* Learn it from f of each row given all others: mean [row][latent] and variance likewise, or where
 * latent functions are coupled covariances [row][latent][latent]. */
lth_status lth__gp_learn_sharpness(lth_gp *gp, const double *mean, const double *spread,
                                   lth_error *err);

/* Probabilities of the classes at a row with such f, as the posterior has them; `points` where
 * latent functions are coupled. */
void lth__gp_probability(const lth_gp *gp, const lth__softmax_points *points, const double *mean,
                         const double *spread, double *out);
/* In place, as sharp as the model has learned. */
void lth__gp_sharpen(const lth_gp *gp, double *probability);

/* In a file. */
void lth__gp_sharpness_save(const lth_gp *gp, lth__saver *s);
lth_status lth__gp_sharpness_load(lth_gp *gp, const lth__loader *l);

#endif
