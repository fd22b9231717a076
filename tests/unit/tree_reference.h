/* Tree kernels as their definition reads: every fragment of either tree is written out, and equal
 * ones are counted. For small trees. */
#ifndef LTH_TEST_TREE_REFERENCE_H
#define LTH_TEST_TREE_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/random.h"

/* Labels are the letters A, B, ... and the words a, b, ...: the parameters of label 'A' + i. */
enum { REFERENCE_LABELS = 4 };
typedef struct reference_weights {
    double decay[REFERENCE_LABELS], alpha[REFERENCE_LABELS];
    bool leaves; /* equal leaves count `shared` */
    double shared;
} reference_weights;

/* A random tree in brackets, freed with free(). */
char *reference_tree(lth__random *random, size_t depth);

/* k(s,t) of two trees in brackets, as reference_tree() writes them. */
double reference_sstk(const char *s, const char *t, const reference_weights *w);

#endif
