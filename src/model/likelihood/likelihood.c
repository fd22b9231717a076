/* The list of likelihoods. */
#include "model/likelihood/likelihood.h"

#include <stdio.h>
#include <string.h>

/* By lth_likelihood. */
static const lth__likelihood *const likelihoods[] = {
    [LTH_LOGIT] = &lth__logit,
    [LTH_PROBIT] = &lth__probit,
    [LTH_GAUSSIAN] = &lth__gaussian,
    [LTH_STUDENT] = &lth__student,
    [LTH_WARPED] = &lth__warped,
    [LTH_CENSORED] = &lth__censored,
    [LTH_ORDINAL] = &lth__ordinal,
    [LTH_POISSON] = &lth__poisson,
    [LTH_NEGBINOMIAL] = &lth__negbinomial,
    [LTH_BETA] = &lth__beta,
    [LTH_SOFTMAX] = &lth__softmax_likelihood,
};
enum { COUNT = sizeof likelihoods / sizeof *likelihoods };

const lth__likelihood *lth__likelihood_find(const char *name) {
    for (size_t i = 0; i < COUNT; i++) {
        if (likelihoods[i] && strcmp(likelihoods[i]->name, name) == 0) return likelihoods[i];
    }
    return NULL;
}

/* Where nothing is said it is LTH_LOGIT, of numbers too. */
const lth__likelihood *lth__likelihood_of(lth_likelihood which, bool labels) {
    if (which == LTH_LOGIT && !labels) return &lth__gaussian;
    return (size_t)which < COUNT ? likelihoods[which] : NULL;
}

lth_likelihood lth__likelihood_number(const lth__likelihood *l) {
    size_t i = 0;
    while (i + 1 < COUNT && likelihoods[i] != l) i++;
    return (lth_likelihood)i;
}

size_t lth__likelihood_list(const lth__likelihood *l, size_t grades, lth__own_param *out) {
    size_t count = 0;
    for (size_t i = 0; i < LTH__LIKELIHOOD_PARAMS && l->params[i].path[0]; i++) {
        const lth__own_param *p = &l->params[i];
        size_t times = !p->by_grade ? 1 : grades > 2 ? grades - 2 : 0;
        for (size_t k = 0; k < times && count < LTH__MOST_OWN; k++) {
            out[count] = *p;
            if (p->by_grade)
                snprintf(out[count].path, sizeof out->path, "%.8s[%zu]", p->path, (k + 1) % 1000);
            count++;
        }
    }
    return count;
}

const char *lth_likelihood_name(lth_likelihood which) {
    return (size_t)which < COUNT && likelihoods[which] ? likelihoods[which]->name : NULL;
}
