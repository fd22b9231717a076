/* Folds that give every class its share. */
#ifndef LTH_FOLDS_H
#define LTH_FOLDS_H

#include "base/status.h"

/* fold[i] in 0 .. folds-1 for `rows` rows by a seeded shuffle within each class, whose numbers are
 * below `classes`. Sizes are as equal as can be, within each class and over all. `class` NULL = no
 * classes: lth_folds_shuffled(). */
lth_status lth__folds_by_class(uint64_t seed, const size_t *class, size_t classes, size_t rows,
                               size_t folds, size_t *fold, lth_error *err);

#endif
