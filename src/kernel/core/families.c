/* Every kernel family there is. A new one is one file and one row here. */
#include <string.h>

#include "kernel/core/kernel.h"

extern const lth__family lth__family_ssk, lth__family_normalize, lth__family_tanimoto,
    lth__family_linear, lth__family_rbf, lth__family_matern32, lth__family_matern52, lth__family_rq,
    lth__family_arccos, lth__family_mean, lth__family_bow, lth__family_tfidf, lth__family_ngrams,
    lth__family_intersection, lth__family_approx_ssk, lth__family_semantic, lth__family_sstk,
    lth__family_stk, lth__family_ptk;

static const lth__family *const families[] = {
    &lth__family_ssk,          &lth__family_sstk,       &lth__family_stk,      &lth__family_ptk,
    &lth__family_normalize,    &lth__family_tanimoto,   &lth__family_linear,   &lth__family_rbf,
    &lth__family_matern32,     &lth__family_matern52,   &lth__family_rq,       &lth__family_arccos,
    &lth__family_mean,         &lth__family_bow,        &lth__family_tfidf,    &lth__family_ngrams,
    &lth__family_intersection, &lth__family_approx_ssk, &lth__family_semantic,
};
enum { FAMILIES = sizeof families / sizeof *families };

const lth__family *lth__family_find(const char *name) {
    for (size_t i = 0; i < FAMILIES; i++) {
        if (strcmp(families[i]->manual.name, name) == 0) return families[i];
    }
    return NULL;
}

const lth_family *lth_family_at(size_t i) {
    return i < FAMILIES ? &families[i]->manual : NULL;
}

const lth_argument *lth_family_argument(const lth_family *family, size_t i) {
    const lth_argument *a = family->arguments;
    while (a && a->name && i > 0) a++, i--;
    return a && a->name ? a : NULL;
}
