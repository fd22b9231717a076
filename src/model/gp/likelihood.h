/* A likelihood: what is seen of a latent function f, p(y | f). One file for each, one row in the
 * list of likelihood.c. Its functions know y and f alone; what else is known of a row (its weight,
 * its exposure, the size of its noise) is put to them by lth__seen.
 */
#ifndef LTH_LIKELIHOOD_H
#define LTH_LIKELIHOOD_H

#include "base/random.h"
#include "luthier.h"

enum { LTH__MOST_OWN = 128, LTH__MOST_GRADES = 100, LTH__LIKELIHOOD_PARAMS = 4 };

/* A parameter of a model beside those of its kernel. */
typedef struct lth__own_param {
    char path[64]; /* "" = there is none */
    double lo, hi, start;
    bool linear;   /* learned as it is, and may be negative; others by their logarithm     */
    bool variance; /* in units of y^2: the bounds are for targets of variance 1             */
    bool by_grade; /* one for each grade but two, "gap[1]" and so on                        */
} lth__own_param;

/* log p(y | f) and its first three derivatives by f. */
typedef struct lth__log_p {
    double value, d1, d2, d3;
} lth__log_p;

/* What targets are. Numbers are centred and scaled, and f is in their units; labels are -1 and 1;
 * counts and shares are as they are; grades are numbered from 0. */
typedef enum lth__of {
    LTH__OF_NUMBERS,
    LTH__OF_LABELS,
    LTH__OF_COUNTS,
    LTH__OF_SHARES,
    LTH__OF_GRADES
} lth__of;

/* What a likelihood is given beside y and f. */
typedef struct lth__terms {
    const double *theta; /* its parameters                                                   */
    double lower, upper; /* of censored numbers, in the units of y; -INFINITY, INFINITY = none */
    size_t grades;
} lth__terms;

typedef struct lth__likelihood {
    const char *name, *help;
    lth__of of;
    bool own_units; /* f is not in those of y: the kernel needs a factor, `scale`          */
    bool has_noise; /* theta[0] is the variance of noise, or its square scale              */
    bool by_sites;  /* where there is a choice: Laplace's approximation is poor            */
    lth__own_param params[LTH__LIKELIHOOD_PARAMS]; /* theta, in this order */

    lth__log_p (*at)(const lth__terms *t, double y, double f);
    /* Of each parameter j: out[j] = the derivatives of value, d1 and d2 by it. NULL = none. */
    void (*by_params)(const lth__terms *t, double y, double f, lth__log_p *out);
    double (*draw)(const lth__terms *t, double f, lth__random *random);

    /* Of numbers, counts, shares and grades: mean and variance of y given f; P(Y <= y | f); and how
     * much f may change before these do (NULL = 1). */
    void (*moments)(const lth__terms *t, double f, double *mean, double *variance);
    double (*cdf)(const lth__terms *t, double y, double f);
    double (*width)(const lth__terms *t, double f);
    /* The same where f has this mean and variance, if there are closed forms; NULL = by quadrature
     * (predictive.h). */
    void (*moments_under)(const lth__terms *t, double *mean, double *variance);
    double (*log_p_under)(const lth__terms *t, double y, double mean, double variance);
    double (*cdf_under)(const lth__terms *t, double y, double mean, double variance);
    /* Of labels: P(y = 1), likewise. */
    double (*probability)(const lth__terms *t, double mean, double variance);

    /* Before learning: f at which y has this mean (NULL = 0), which is taken out of f; and starts
     * of the parameters that depend on the targets (NULL = as in `params`). */
    double (*link)(double mean);
    void (*start)(const lth__terms *t, const double *y, size_t rows, double *theta);
    /* Why y cannot be; NULL = it can. */
    const char *(*refuse)(const lth__terms *t, double y);
} lth__likelihood;

extern const lth__likelihood lth__gaussian, lth__logit, lth__probit, lth__student, lth__warped,
    lth__censored, lth__ordinal, lth__poisson, lth__negbinomial, lth__beta;

/* The likelihood of that name or number, or NULL. */
const lth__likelihood *lth__likelihood_find(const char *name);
const lth__likelihood *lth__likelihood_of(lth_likelihood which, bool labels);
lth_likelihood lth__likelihood_number(const lth__likelihood *l);
/* Its parameters, and how many they are for so many grades. */
size_t lth__likelihood_list(const lth__likelihood *l, size_t grades, lth__own_param *out);

/* ---- Rows, with what is known of them ---- */

typedef struct lth__seen {
    const lth__likelihood *likelihood;
    lth__terms terms;
    size_t params;               /* of the likelihood */
    double link;                 /* what was taken out of f           */
    const double *y;             /* by row, as all of the others, which may be NULL:         */
    const double *offset;        /* added to f: the logarithm of an exposure     */
    const double *ratio, *added; /* noise: theta[0] * ratio + added * added_unit */
    double added_unit;
    const double *weight; /* so often the row counts                      */
} lth__seen;

/* Of a row: log p, and its derivatives by the parameters. */
lth__log_p lth__seen_at(const lth__seen *s, size_t row, double f);
void lth__seen_by_params(const lth__seen *s, size_t row, double f, lth__log_p *out);

/* Gauss and Hermite's rule for the standard normal distribution. */
enum { LTH__NODES = 32 };
typedef struct lth__quadrature {
    double node[LTH__NODES], weight[LTH__NODES];
} lth__quadrature;
void lth__quadrature_make(lth__quadrature *q);

/* E log p(y | f) by this rule, where f has this mean and variance, and its derivatives by both: of
 * the rule itself, so that they agree with the value whatever the rule's error. And what is added
 * to `by_params`: those by the parameters. */
typedef struct lth__expected {
    double value, by_mean, by_variance;
} lth__expected;
lth__expected lth__seen_expect(const lth__seen *s, const lth__quadrature *q, size_t row,
                               double mean, double variance);
void lth__seen_expect_params(const lth__seen *s, const lth__quadrature *q, size_t row, double mean,
                             double variance, double *by_params);

#endif
