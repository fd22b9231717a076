/* What is to be optimised or learned: latent functions of the models, and which way is better. */
#ifndef LTH_OBJECTIVES_H
#define LTH_OBJECTIVES_H

#include "luthier.h"

typedef struct lth__objective {
    char *name;
    size_t model, function; /* a latent function of a Gaussian process; of an SVM, a number, or of
                               labels a class                                                */
    double turn; /* -1 for the first of two classes, of which the model has the second's */
    bool minimize;
    double weight; /* 1 where none is given */
} lth__objective;

typedef struct lth__objectives {
    lth__objective *list;
    size_t count;
    bool labels; /* those of one classifier are to be learned: all of its latent functions count */
    bool summed; /* by their weights into one */
} lth__objectives;

/* From options->objectives, weights and minimize. To be freed also when this fails. */
lth_status lth__objectives_find(lth_model *const *models, size_t count,
                                const lth_propose_options *options, lth__objectives *out,
                                lth_error *err);
void lth__objectives_free(lth__objectives *o);

/* The acquisition and the batch that are meant by the options: never AUTO. LTH_EARG where they do
 * not go with the objectives. */
lth_status lth__objectives_settle(const lth__objectives *o, lth_model *const *models,
                                  lth_propose_options *options, lth_error *err);

/* The factor by which more is better. */
static inline double lth__objective_sign(const lth__objective *o) {
    return o->minimize ? -o->turn : o->turn;
}

/* Functions that are looked at: one that is the sum of all, or all. */
static inline size_t lth__objectives_functions(const lth__objectives *o) {
    return o->summed ? 1 : o->count;
}

#endif
