/* The folds of a cross-validation: a seeded shuffle, or the values of a column. */
#include "commands/cv_folds.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_FOLDS = 10 };

void free_folds(folds *f) {
    for (size_t i = 0; i < f->count && f->names; ++i) free(f->names[i]);
    free(f->names);
    free(f->of_row);
    *f = (folds){0};
}

static int bad_table(session *s, const lth_table *table, size_t row, const char *what) {
    lth_error err = {.status = LTH_EFORMAT};
    snprintf(err.file, sizeof err.file, "%s",
             row == LTH_NONE ? lth_table_name(table) : lth_table_file(table, row));
    if (row != LTH_NONE) err.line = lth_table_line(table, row);
    snprintf(err.message, sizeof err.message, "%s", what);
    return session_fail(s, &err);
}

/* ---- --folds ---- */

static int shuffle(session *s, const lth_table *table, folds *f) {
    const options *o = s->options;
    size_t rows = lth_table_rows(table);
    size_t count = o->folds == NOT_GIVEN ? DEFAULT_FOLDS : (size_t)o->folds;
    if (rows < 2) return bad_table(s, table, LTH_NONE, "one row cannot be split into folds");
    if (count > rows)
        return usage_error(o->command, "%zu folds for %zu rows; give --folds %zu or less", count,
                           rows, rows);
    f->names = calloc(count, sizeof *f->names);
    if (!f->names) return out_of_memory();
    f->count = count;
    for (size_t k = 0; k < count; ++k) {
        char name[24];
        snprintf(name, sizeof name, "%zu", k + 1);
        if (!(f->names[k] = strdup(name))) return out_of_memory();
    }
    lth_folds_shuffled(o->seed, rows, count, f->of_row);
    return EXIT_DONE;
}

/* ---- --fold-by ---- */

static size_t find_fold(const folds *f, const char *cell, size_t length) {
    for (size_t k = 0; k < f->count; ++k)
        if (strlen(f->names[k]) == length && memcmp(f->names[k], cell, length) == 0) return k;
    return LTH_NONE;
}

static int collect(session *s, const lth_table *table, size_t column, folds *f) {
    size_t rows = lth_table_rows(table);
    f->names = calloc(rows, sizeof *f->names);
    if (!f->names) return out_of_memory();
    for (size_t i = 0; i < rows; ++i) {
        size_t length;
        const char *cell = lth_table_cell(table, i, column, &length);
        if (length == 0) return bad_table(s, table, i, "this row has no fold; --fold-by needs one");
        f->of_row[i] = find_fold(f, cell, length);
        if (f->of_row[i] != LTH_NONE) continue;
        char *name = calloc(length + 1, 1);
        if (!name) return out_of_memory();
        memcpy(name, cell, length);
        f->of_row[i] = f->count;
        f->names[f->count++] = name;
    }
    return EXIT_DONE;
}

static bool parse_number(const char *text, double *out) {
    char *end;
    *out = strtod(text, &end);
    return end != text && !*end && isfinite(*out);
}

typedef struct entry {
    double number;
    size_t fold;
} entry;

static int compare_entries(const void *a, const void *b) {
    const entry *x = a, *y = b;
    if (x->number != y->number) return x->number < y->number ? -1 : 1;
    return x->fold < y->fold ? -1 : 1;
}

/* When all names are numbers, theirs is the order. */
static int sort_by_number(folds *f, size_t rows) {
    int code = EXIT_DONE;
    entry *order = calloc(f->count, sizeof *order);
    char **names = calloc(f->count, sizeof *names);
    size_t *place = calloc(f->count, sizeof *place);
    bool numbers = order && names && place;
    if (!numbers) code = out_of_memory();
    for (size_t k = 0; k < f->count && numbers; ++k) {
        numbers = parse_number(f->names[k], &order[k].number);
        order[k].fold = k;
    }
    if (numbers) {
        qsort(order, f->count, sizeof *order, compare_entries);
        for (size_t k = 0; k < f->count; ++k) {
            names[k] = f->names[order[k].fold];
            place[order[k].fold] = k;
        }
        memcpy(f->names, names, f->count * sizeof *names);
        for (size_t i = 0; i < rows; ++i) f->of_row[i] = place[f->of_row[i]];
    }
    free(order);
    free(names);
    free(place);
    return code;
}

static int fold_by_column(session *s, const lth_table *table, folds *f) {
    const char *name = s->options->fold_by;
    size_t column = lth_table_find(table, name);
    if (column == LTH_NONE)
        return usage_error(s->options->command, "--fold-by wants one column, not \"%s\"", name);
    int code = collect(s, table, column, f);
    if (code) return code;
    if (f->count < 2) {
        char what[160];
        snprintf(what, sizeof what, "--fold-by %.64s: all rows are in one fold; two are needed",
                 name);
        return bad_table(s, table, LTH_NONE, what);
    }
    return sort_by_number(f, lth_table_rows(table));
}

int make_folds(session *s, const lth_table *table, folds *out) {
    *out = (folds){0};
    out->of_row = calloc(lth_table_rows(table), sizeof *out->of_row);
    if (!out->of_row) return out_of_memory();
    return s->options->fold_by ? fold_by_column(s, table, out) : shuffle(s, table, out);
}
