/* Folds for cross-validation. */
#include "model/common/folds.h"

#include "base/memory.h"
#include "base/random.h"
#include "model/common/labels_wanted.h"

/* Fold numbers in runs, the first `rows % folds` runs one longer. */
static void fill_runs(size_t rows, size_t folds, size_t *fold) {
    size_t row = 0;
    for (size_t f = 0; f < folds && row < rows; f++) {
        size_t end = row + rows / folds + (f < rows % folds);
        while (row < end) fold[row++] = f;
    }
}

/* Shuffling the fold numbers over the rows is as good as cutting shuffled rows into runs, and
 * needs no memory, so that it cannot fail. */
void lth_folds_shuffled(uint64_t seed, size_t rows, size_t folds, size_t *fold) {
    lth__random random;
    lth__random_seed(&random, seed);
    fill_runs(rows, folds > 0 ? folds : 1, fold);
    for (size_t left = rows; left > 1; left--) { /* Fisher and Yates */
        size_t other = (size_t)lth__random_below(&random, left), last = fold[left - 1];
        fold[left - 1] = fold[other];
        fold[other] = last;
    }
}

/* Rows in shuffled order, then class by class, are dealt out like cards. */
static void deal(uint64_t seed, const size_t *class, size_t rows, size_t folds, size_t *order,
                 size_t *next, size_t *fold) {
    lth__random random;
    lth__random_seed(&random, seed);
    for (size_t i = 0; i < rows; i++) order[i] = i;
    for (size_t left = rows; left > 1; left--) {
        size_t other = (size_t)lth__random_below(&random, left), last = order[left - 1];
        order[left - 1] = order[other];
        order[other] = last;
    }
    for (size_t k = 0; k < rows; k++) fold[order[k]] = next[class[order[k]]]++ % folds;
}

lth_status lth__folds_by_class(uint64_t seed, const size_t *class, size_t classes, size_t rows,
                               size_t folds, size_t *fold, lth_error *err) {
    if (!class) {
        lth_folds_shuffled(seed, rows, folds, fold);
        return LTH_OK;
    }
    size_t *order = lth__alloc(rows, sizeof *order);
    size_t *next = lth__calloc(classes + 1, sizeof *next); /* place of a class's next row */
    lth_status status = order && next ? LTH_OK : lth__fail_memory(err, rows * sizeof *order);
    if (status == LTH_OK) {
        for (size_t i = 0; i < rows; i++) next[class[i] + 1]++;
        for (size_t c = 0; c < classes; c++) next[c + 1] += next[c];
        deal(seed, class, rows, folds > 0 ? folds : 1, order, next, fold);
    }
    lth__free(order);
    lth__free(next);
    return status;
}

lth_status lth_folds_stratified(uint64_t seed, const lth_table *table, const char *target,
                                lth_task task, size_t folds, size_t *fold, lth_error *err) {
    bool wanted;
    lth__labels labels = {0};
    LTH_TRY(lth__labels_wanted(table, target, task, &wanted, err));
    if (wanted) LTH_TRY(lth__labels_read(table, target, &labels, err));
    bool single = wanted && !labels.multi;
    lth_status status = lth__folds_by_class(seed, single ? labels.of : NULL, labels.class_count,
                                            lth_table_rows(table), folds, fold, err);
    lth__labels_free(&labels);
    return status;
}
