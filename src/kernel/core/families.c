/* Every kernel family there is. A new one is one file and one row here. */
#include <string.h>

#include "kernel/core/kernel.h"

#define FAMILIES(X)                                                                                \
    X(ssk)                                                                                         \
    X(sites)                                                                                       \
    X(la)                                                                                          \
    X(wd)                                                                                          \
    X(oligo)                                                                                       \
    X(gkm)                                                                                         \
    X(mismatch)                                                                                    \
    X(sstk)                                                                                        \
    X(stk)                                                                                         \
    X(ptk)                                                                                         \
    X(normalize)                                                                                   \
    X(tanimoto)                                                                                    \
    X(linear)                                                                                      \
    X(rbf)                                                                                         \
    X(matern32)                                                                                    \
    X(matern52)                                                                                    \
    X(rq)                                                                                          \
    X(arccos)                                                                                      \
    X(scale)                                                                                       \
    X(mean)                                                                                        \
    X(bow)                                                                                         \
    X(tfidf)                                                                                       \
    X(ngrams)                                                                                      \
    X(gappy)                                                                                       \
    X(intersection)                                                                                \
    X(approx_ssk)                                                                                  \
    X(semantic)                                                                                    \
    X(coregion)                                                                                    \
    X(precomputed)

#define DECLARE(name) extern const lth__family lth__family_##name;
FAMILIES(DECLARE)

#define ROW(name) &lth__family_##name,
static const lth__family *const families[] = {FAMILIES(ROW)};
enum { COUNT = sizeof families / sizeof *families };

const lth__family *lth__family_find(const char *name) {
    for (size_t i = 0; i < COUNT; i++) {
        if (strcmp(families[i]->manual.name, name) == 0) return families[i];
    }
    return NULL;
}

const lth_family *lth_family_at(size_t i) {
    return i < COUNT ? &families[i]->manual : NULL;
}

const lth_argument *lth_family_argument(const lth_family *family, size_t i) {
    const lth_argument *a = family->arguments;
    while (a && a->name && i > 0) a++, i--;
    return a && a->name ? a : NULL;
}
