/* Noise that is a function: y ~ N(f, noise e^g), where g, the logarithm of what the noise of a row
 * is times, is a Gaussian process by itself with a kernel of its own (after "|" in the expression).
 *
 * f and g have the best normal distributions q(f) q(g), each with a site for each row (sites.h):
 *
 *     evidence >= sum_i E log p(y_i | f_i, g_i) - KL(q(f)) - KL(q(g))
 *     E log p = -(log(2 pi noise) + m_g + s e^(v_g/2 - m_g) / noise) / 2,   s = (y - m_f)^2 + v_f
 *
 * Given q(g), f is seen with normal noise of the variance noise e^(m_g - v_g/2), in closed form;
 * given q(f), g is seen through s (likelihood_spread.c). So the sites of g are searched for, and
 * for each of their values f is what it then is (Lazaro-Gredilla and Titsias 2011).
 */
#ifndef LTH_NOISE_H
#define LTH_NOISE_H

#include "model/gp/gp.h"
#include "model/posterior/site_model.h"

typedef struct lth__noise {
    lth_gp of; /* a model of g: that of f with a kernel, targets and a solution of its own */
    lth_kernel kernel; /* its kernel                                                              */
    lth__gram *gram;   /* while it learns                                                         */
    double *ratio;     /* by row: what noise is times, as f sees it                               */
} lth__noise;

void lth__noise_free(lth__noise *n);

/* The model of g, or NULL. */
lth_gp *lth__gp_noise_model(const lth_gp *gp);
/* What it has in common with the model of f, which may have changed. */
void lth__noise_follow(const lth_gp *gp);

#endif
