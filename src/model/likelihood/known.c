#include "model/likelihood/known.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "data/table.h"

double **lth__known_at(lth__known *k, size_t i, const char **name) {
    static const char *const names[] = {"known.ratio", "known.added", "known.weight",
                                        "known.offset"};
    double **const all[] = {&k->ratio, &k->added, &k->weight, &k->offset};
    if (i >= sizeof all / sizeof *all) return NULL;
    if (name) *name = names[i];
    return all[i];
}

void lth__known_free(lth__known *known) {
    double **array;
    for (size_t i = 0; (array = lth__known_at(known, i, NULL)); i++) lth__free(*array);
    *known = (lth__known){0};
}

/* ---- From a table ---- */

static lth_status read_positive(const lth_table *table, const char *name, const char *what,
                                double **out, lth_error *err) {
    size_t rows = lth_table_rows(table), column = 0;
    LTH_TRY(lth__table_column_at(table, name, &column, err));
    double *x = lth__alloc(rows, sizeof *x);
    lth_status status = x ? LTH_OK : lth__fail_memory(err, rows * sizeof *x);
    for (size_t i = 0; i < rows && status == LTH_OK; i++) {
        status = lth__table_number(table, i, column, &x[i], err);
        const char *wrong = status != LTH_OK              ? NULL
                            : !(x[i] > 0)                 ? "it must be above 0"
                            : x[i] > LTH__MOST_NUMBER     ? "that is too large"
                            : x[i] < 1 / LTH__MOST_NUMBER ? "that is too small"
                                                          : NULL;
        if (wrong)
            status =
                lth__fail_at(err, LTH_EFORMAT, lth_table_file(table, i), lth_table_line(table, i),
                             0, "%s is %g in column \"%s\": %s", what, x[i], name, wrong);
    }
    if (status == LTH_OK)
        *out = x;
    else
        lth__free(x);
    return status;
}

const char *lth__known_noise(const char *noise_by, bool *repeats) {
    *repeats = noise_by && strncmp(noise_by, "1/", 2) == 0;
    return *repeats ? noise_by + 2 : noise_by;
}

static bool is_wanted(const lth_table *table, const char *name, bool need) {
    return name && (need || lth_table_find(table, name) != LTH_NONE);
}

static lth_status read(const lth_table *table, const lth__known_columns *from, bool need,
                       lth__known *k, lth_error *err) {
    bool repeats;
    size_t rows = lth_table_rows(table);
    const char *noise = lth__known_noise(from->noise_by, &repeats);
    if (is_wanted(table, noise, need))
        LTH_TRY(read_positive(table, noise, repeats ? "the number of repeats" : "the noise",
                              repeats ? &k->ratio : &k->added, err));
    for (size_t i = 0; k->ratio && i < rows; i++) k->ratio[i] = 1 / k->ratio[i];
    if (is_wanted(table, from->weights, need))
        LTH_TRY(read_positive(table, from->weights, "the weight", &k->weight, err));
    if (!from->exposure) return LTH_OK;
    LTH_TRY(read_positive(table, from->exposure, "the exposure", &k->offset, err));
    for (size_t i = 0; i < rows; i++) k->offset[i] = log(k->offset[i]);
    return LTH_OK;
}

lth_status lth__known_read(const lth_table *table, const lth__known_columns *from, bool need,
                           lth__known *out, lth_error *err) {
    lth__known known = {0};
    lth_status status = read(table, from, need, &known, err);
    if (status == LTH_OK)
        *out = known;
    else
        lth__known_free(&known);
    return status;
}

lth_status lth__known_pick(const lth__known *from, const size_t *row, size_t count, lth__known *out,
                           lth_error *err) {
    lth__known known = {0};
    double **to;
    for (size_t k = 0; (to = lth__known_at(&known, k, NULL)); k++) {
        const double *all = *lth__known_at((lth__known *)from, k, NULL);
        if (!all) continue;
        double *some = *to = lth__alloc(count, sizeof *some);
        if (!some) {
            lth__known_free(&known);
            return lth__fail_memory(err, count * sizeof *some);
        }
        for (size_t i = 0; i < count; i++) some[i] = all[row ? row[i] : i];
    }
    *out = known;
    return LTH_OK;
}
