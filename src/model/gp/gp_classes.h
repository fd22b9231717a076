/* Gaussian process classification: a model whose target is a column of labels.
 *
 * Two classes are one problem (the second class against the first), more are one problem for each
 * class against the rest, several labels a row one for each label. All of them share the kernel.
 * The latent function of a problem has the prior
 *
 *     f ~ N(0, scale K + 10 + jitter)
 *
 * in which the constant stands for an offset that is not known beforehand: classes need not be of
 * the same size. `scale` (gp->noise) is learned where the kernel has no size of its own to learn.
 */
#ifndef LTH_GP_CLASSES_H
#define LTH_GP_CLASSES_H

#include "model/common/labels.h"
#include "model/gp/gp.h"
#include "model/gp/laplace.h"

typedef struct lth__classes {
    size_t class_count;
    char **name;
    size_t *count; /* training rows that have it */
    bool multi;    /* several labels a row       */
    lth__link link;

    size_t rows, problem_count;
    double *y, *a, *f, *root_w; /* [problem][row]; see lth__laplace             */
    double *L;                  /* [problem][row][row]                          */
    double *K, *M;              /* rows x rows, while it learns; NULL otherwise */
} lth__classes;

/* The classes that occur in the rows row[0 .. count-1] of the labels; `row` NULL = in all. */
lth_status lth__classes_create(const lth__labels *labels, const size_t *row, size_t count,
                               lth_likelihood likelihood, lth__classes **out, lth_error *err);
void lth__classes_free(lth__classes *c);

size_t lth__classes_problems(size_t classes, bool multi);
/* From y, which must be -1 and 1; false if a row that has one label does not. */
bool lth__classes_count(lth__classes *c);

/* Nothing to tell apart: every row has every class. */
bool lth__classes_all_alike(const lth__classes *c);

/* What needs a matrix for each problem, and the room to learn in. */
lth_status lth__classes_begin(lth__classes *c, lth_error *err);
void lth__classes_end(lth__classes *c);

/* Value and state of `scale` before learning; what is to be held must be known. */
void lth__gp_classes_start(lth_gp *gp);
/* lth__gp_evidence() for labels; X is room for rows x rows. */
lth_status lth__gp_classes_evidence(lth_gp *gp, lth__gram *gram, double *X, double *evidence,
                                    double *gradient, lth_error *err);
/* The factors of a model that comes from a file. */
lth_status lth__gp_classes_factor(lth_gp *gp, lth_error *err);
/* From kernel values to those of the latent function, without jitter. */
void lth__gp_classes_latent(const lth_gp *gp, double *K, size_t count);

/* Probabilities of every item, by [item * classes + class]. */
lth_status lth__gp_classify_items(const lth_gp *gp, const lth_items *items, double *probability,
                                  lth_error *err);
/* The labels that a row's probabilities stand for. */
void lth__classes_decide(const lth__classes *c, const double *probability, bool *has);

#endif
