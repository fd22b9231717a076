/* Folds for cross-validation. */
#include "base/random.h"
#include "luthier.h"

/* Fold numbers in blocks, the first `rows % folds` blocks one longer. */
static void fill_blocks(size_t rows, size_t folds, size_t *fold) {
    size_t row = 0;
    for (size_t f = 0; f < folds && row < rows; f++) {
        size_t end = row + rows / folds + (f < rows % folds);
        while (row < end) fold[row++] = f;
    }
}

/* Shuffling the fold numbers over the rows is as good as cutting shuffled rows into blocks, and
 * needs no memory, so that it cannot fail. */
void lth_folds_shuffled(uint64_t seed, size_t rows, size_t folds, size_t *fold) {
    lth__random random;
    lth__random_seed(&random, seed);
    fill_blocks(rows, folds > 0 ? folds : 1, fold);
    for (size_t left = rows; left > 1; left--) { /* Fisher and Yates */
        size_t other = (size_t)lth__random_below(&random, left), last = fold[left - 1];
        fold[left - 1] = fold[other];
        fold[other] = last;
    }
}
