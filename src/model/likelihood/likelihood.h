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

/* E log p(y | f) where f is normal, and its derivatives by the mean and variance of f; the second
 * ones are NaN where the likelihood does not say. */
typedef struct lth__expected {
    double value, by_mean, by_variance;
    double by_mean_2, by_both, by_variance_2;
} lth__expected;

/* What targets are. Numbers are centred and scaled, and f is in their units; labels are -1 and 1;
 * counts and shares are as they are; grades are numbered from 0. */
typedef enum lth__of {
    LTH__OF_NUMBERS,
    LTH__OF_LABELS,
    LTH__OF_COUNTS,
    LTH__OF_SHARES,
    LTH__OF_GRADES,
    LTH__OF_SPREADS /* squares of what is left of numbers (noise.h) */
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
    bool quadratic; /* log p is, in f: the posterior is normal                             */
    bool coupled;   /* of all latent functions of a row at once (softmax.h): none of what
                     * follows is there, and it has no parameters                          */
    lth__own_param params[LTH__LIKELIHOOD_PARAMS]; /* theta, in this order */

    lth__log_p (*at)(const lth__terms *t, double y, double f);
    /* Of each parameter j: out[j] = the derivatives of value, d1 and d2 by it. NULL = none. */
    void (*by_params)(const lth__terms *t, double y, double f, lth__log_p *out);
    double (*draw)(const lth__terms *t, double f, lth__random *random);
    /* Optional: E log p(y | f) where f has this mean and variance, or a bound below it, and its
     * derivatives; and those by the parameters, added to `by_params`. For what is not log-concave:
     * so that it falls with the variance. NULL = by quadrature. */
    lth__expected (*expect)(const lth__terms *t, double y, double mean, double variance);
    void (*expect_params)(const lth__terms *t, double y, double mean, double variance,
                          double *by_params);

    /* Of numbers, counts, shares and grades: mean and variance of y given f; P(Y <= y | f), which
     * falls with f; how much f may change before these do (NULL = 1); and log -dP(Y <= y | f) / df,
     * a density of f (NULL = not known). */
    void (*moments)(const lth__terms *t, double f, double *mean, double *variance);
    double (*cdf)(const lth__terms *t, double y, double f);
    double (*width)(const lth__terms *t, double f);
    double (*log_fall)(const lth__terms *t, double y, double f);
    /* The same where f has this mean and variance, y below which this share is, and the continuous
     * ranked probability score, if there are closed forms; NULL = by quadrature (under.h). */
    void (*moments_under)(const lth__terms *t, double *mean, double *variance);
    double (*log_p_under)(const lth__terms *t, double y, double mean, double variance);
    double (*cdf_under)(const lth__terms *t, double y, double mean, double variance);
    double (*quantile_under)(const lth__terms *t, double share, double mean, double variance);
    double (*crps_under)(const lth__terms *t, double y, double mean, double variance);
    /* Of labels: P(y = 1), likewise. */
    double (*probability)(const lth__terms *t, double mean, double variance);

    /* Before learning: f at which y is as these rows are on the whole (NULL = 0), which is taken
     * out of f; `exposure` is that of all rows, so many where none is known. And starts of the
     * parameters that depend on the targets (NULL = as in `params`). */
    double (*link)(const lth__terms *t, const double *y, size_t rows, double exposure);
    void (*start)(const lth__terms *t, const double *y, size_t rows, double *theta);
    /* Why y cannot be; NULL = it can. */
    const char *(*refuse)(const lth__terms *t, double y);
} lth__likelihood;

extern const lth__likelihood lth__gaussian, lth__logit, lth__probit, lth__student, lth__warped,
    lth__censored, lth__ordinal, lth__poisson, lth__negbinomial, lth__beta, lth__softmax_likelihood,
    lth__spread;

/* What all likelihoods of counts have in common. */
double lth__counts_link(const lth__terms *t, const double *y, size_t rows, double exposure);
const char *lth__counts_refuse(const lth__terms *t, double y);

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

/* Of a row: the terms with its noise, for which `room` has LTH__MOST_OWN; and f with all that is
 * added to it. */
lth__terms lth__seen_terms(const lth__seen *s, size_t row, double *room);
double lth__seen_place(const lth__seen *s, size_t row, double f);
/* Of a row: log p, and its derivatives by the parameters. */
lth__log_p lth__seen_at(const lth__seen *s, size_t row, double f);
void lth__seen_by_params(const lth__seen *s, size_t row, double f, lth__log_p *out);

/* Gauss and Hermite's rule for the standard normal distribution: one for all, made when it is first
 * asked for. */
enum { LTH__NODES = 32 };
typedef struct lth__quadrature {
    double node[LTH__NODES], weight[LTH__NODES];
} lth__quadrature;
const lth__quadrature *lth__quadrature_shared(void);

/* E log p(y | f) by this rule, where f has this mean and variance, and its derivatives by both: of
 * the rule itself, so that they agree with the value whatever the rule's error; or as the
 * likelihood itself says. And what is added to `by_params`: those by the parameters. */
lth__expected lth__seen_expect(const lth__seen *s, size_t row, double mean, double variance);
void lth__seen_expect_params(const lth__seen *s, size_t row, double mean, double variance,
                             double *by_params);

#endif
