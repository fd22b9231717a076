/* The classes of a Gaussian process classifier, and what its latent functions say about them. */
#ifndef LTH_GP_CLASSES_H
#define LTH_GP_CLASSES_H

#include "model/common/labels.h"
#include "model/gp/gp.h"

typedef struct lth__classes {
    size_t class_count, rows;
    char **name;
    lth_class_rows *list; /* names, and the training rows that have them */
    bool multi;           /* several labels a row       */
    bool coupled;         /* every class has a latent function, also of two */
    double *y;            /* -1 or 1 by [latent][row], until a model takes it */
} lth__classes;

/* The classes that occur in the rows row[0 .. count-1] of the labels; `row` NULL = in all. */
lth_status lth__classes_create(const lth__labels *labels, const size_t *row, size_t count,
                               lth__classes **out, lth_error *err);
void lth__classes_free(lth__classes *c);

/* Give every class a latent function of its own; LTH_EARG where rows have several labels. */
lth_status lth__classes_couple(lth__classes *c, lth_error *err);

/* Latent functions: two classes share one, which is above 0 for the second, unless coupled. */
size_t lth__classes_latents(const lth__classes *c);
/* That of a class, and the sign it has there. */
size_t lth__classes_latent_of(const lth__classes *c, size_t class, double *sign);

/* Count the rows of each class from y of so many rows; false if that is not -1 and 1, or a row that
 * has one label does not. */
bool lth__classes_count(lth__classes *c, const double *y, size_t rows);
/* Nothing to tell apart: every row has every class. */
bool lth__classes_all_alike(const lth__classes *c);

/* From P(y = 1) of each latent function to the probability of each class, in place. */
void lth__classes_share(const lth__classes *c, double *probability);
/* The labels that a row's probabilities stand for. */
void lth__classes_decide(const lth__classes *c, const double *probability, bool *has);

#endif
