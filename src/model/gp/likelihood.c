/* The list of likelihoods. */
#include "model/gp/likelihood.h"

#include <string.h>

static const lth__likelihood *const likelihoods[] = {&lth__gaussian, &lth__logit, &lth__probit};

const lth__likelihood *lth__likelihood_find(const char *name) {
    for (size_t i = 0; i < sizeof likelihoods / sizeof *likelihoods; i++) {
        if (strcmp(likelihoods[i]->name, name) == 0) return likelihoods[i];
    }
    return NULL;
}
