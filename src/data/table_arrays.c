/* Arrays beside a table. They are read in step with it, row by row: a slice of a table takes the
 * memory of its own rows alone, and rows that are left out leave out theirs. */
#include "data/table_arrays.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

enum { MOST_COLUMNS = 1000000 };

/* ---- One array ------------------------------------------------------------------------------ */

static lth_status fail_array(const lth__array *a, lth_error *err, const char *what) {
    char shape[64];
    const size_t *n = a->npy.shape;
    if (a->npy.rank == 1) snprintf(shape, sizeof shape, "%zu", n[0]);
    if (a->npy.rank == 2) snprintf(shape, sizeof shape, "%zu x %zu", n[0], n[1]);
    if (a->npy.rank == 3) snprintf(shape, sizeof shape, "%zu x %zu x %zu", n[0], n[1], n[2]);
    return lth__fail_at(err, LTH_EFORMAT, a->path, 0, 0, "the array \"%.*s\" of shape %s %s",
                        a->name_length > 64 ? 64 : (int)a->name_length, a->name, shape, what);
}

static lth_status take_name(const char *given, lth__array *a, lth_error *err) {
    const char *equals = given ? strchr(given, '=') : NULL;
    if (!equals || equals == given || !equals[1])
        return lth__fail(err, LTH_EARG, "array \"%.64s\" is not of the form NAME=FILE",
                         given ? given : "");
    a->name = given;
    a->name_length = (size_t)(equals - given);
    a->path = equals + 1;
    if (strcmp(a->path, "-") == 0)
        return lth__fail(err, LTH_EARG, "an array cannot come from standard input");
    if (lth__utf8_check(a->name, a->name_length) < a->name_length)
        return lth__fail(err, LTH_EFORMAT, "the name of an array is not valid UTF-8");
    return LTH_OK;
}

lth_status lth__array_open(const lth__relay *relay, const char *given, lth__array *a,
                           lth_error *err) {
    *a = (lth__array){0};
    LTH_TRY(take_name(given, a, err));
    LTH_TRY(lth__npy_open(relay, a->path, &a->npy, err));
    a->numbered = a->npy.rank > 1;
    a->columns = a->npy.shape[1];
    if (a->npy.rank > 2) return fail_array(a, err, "has too many dimensions: one or two are read");
    if (a->columns == 0) return fail_array(a, err, "has no columns");
    if (a->columns > MOST_COLUMNS) return fail_array(a, err, "has more than 1000000 columns");
    return LTH_OK;
}

void lth__array_close(lth__array *a) {
    lth__npy_close(&a->npy);
}

void lth__array_column(const lth__array *a, size_t i, lth__string *out) {
    lth__string_append(out, a->name, a->name_length);
    bool apart = isdigit((unsigned char)a->name[a->name_length - 1]);
    if (a->numbered) lth__string_format(out, "%s%zu", apart ? "_" : "", i + 1);
}

void lth__array_range(const lth__array *a, lth__string *out) {
    lth__array_column(a, 0, out);
    if (a->columns == 1) return;
    lth__string_append(out, "..", 2);
    lth__array_column(a, a->columns - 1, out);
}

/* ---- All of them ---------------------------------------------------------------------------- */

static bool have_one_name(const lth__array *a, const lth__array *b) {
    return a->name_length == b->name_length && memcmp(a->name, b->name, a->name_length) == 0;
}

lth_status lth__arrays_open(const lth__relay *relay, const lth_table_options *options,
                            lth__arrays *arrays, lth_error *err) {
    size_t count = options->array_count;
    if (count == 0) return LTH_OK;
    if (!options->arrays) return lth__fail(err, LTH_EARG, "arrays is NULL");
    arrays->at = lth__calloc(count, sizeof *arrays->at);
    if (!arrays->at) return lth__fail_memory(err, count * sizeof *arrays->at);
    arrays->count = count;
    for (size_t i = 0; i < count; i++) {
        lth__array *a = &arrays->at[i];
        LTH_TRY(lth__array_open(relay, options->arrays[i], a, err));
        for (size_t k = 0; k < i; k++)
            if (have_one_name(&arrays->at[k], a))
                return fail_array(a, err, "has the name of another one");
        arrays->columns += a->columns;
    }
    return LTH_OK;
}

void lth__arrays_close(lth__arrays *arrays) {
    for (size_t i = 0; i < arrays->count; i++) lth__array_close(&arrays->at[i]);
    lth__free(arrays->at);
    *arrays = (lth__arrays){0};
}

/* ---- Columns -------------------------------------------------------------------------------- */

static lth_status fail_taken(const lth__array *a, const char *column, const char *file,
                             lth_error *err) {
    char what[200];
    snprintf(what, sizeof what, "would give a column \"%.48s\", which %.64s has already", column,
             file);
    return fail_array(a, err, what);
}

static lth_status name_columns(const lth__array *a, lth__symbols *names, const char *file,
                               lth_error *err) {
    lth__string name = {0};
    lth_status status = LTH_OK;
    for (size_t i = 0; i < a->columns && status == LTH_OK; i++) {
        size_t before = lth__symbols_count(names);
        name.length = 0;
        lth__array_column(a, i, &name);
        lth__symbol column =
            name.failed ? LTH__NO_SYMBOL : lth__symbols_intern(names, name.bytes, name.length);
        if (column == LTH__NO_SYMBOL)
            status = lth__fail_memory(err, 0);
        else if (column != before)
            status = fail_taken(a, name.bytes, file, err);
    }
    lth__string_free(&name);
    return status;
}

lth_status lth__arrays_name(lth__arrays *arrays, lth__symbols *header, const char *file,
                            lth_error *err) {
    arrays->first = lth__symbols_count(header);
    for (size_t i = 0; i < arrays->count; i++) {
        const lth__array *a = &arrays->at[i];
        lth__symbol own = lth__symbols_find(header, a->name, a->name_length);
        if (own != LTH__NO_SYMBOL && own < arrays->first) {
            char name[49];
            snprintf(name, sizeof name, "%.*s", a->name_length > 48 ? 48 : (int)a->name_length,
                     a->name);
            return fail_taken(a, name, file, err);
        }
        LTH_TRY(name_columns(a, header, file, err));
    }
    return LTH_OK;
}

/* Whether the columns of a range are NAME1, NAME2, ... */
static bool is_of_array(const lth__array *a, const char *column) {
    lth__string first = {0};
    lth__array_column(a, 0, &first);
    const char *dots = strstr(column, "..");
    bool is = a->numbered && !first.failed && dots && (size_t)(dots - column) == first.length &&
              memcmp(column, first.bytes, first.length) == 0;
    lth__string_free(&first);
    return is;
}

lth_status lth__arrays_check_range(const lth__arrays *arrays, const char *column, lth_error *err) {
    for (size_t i = 0; i < arrays->count; i++) {
        const lth__array *a = &arrays->at[i];
        if (!is_of_array(a, column) || lth__columns_count(column) <= a->columns) continue;
        char what[120];
        snprintf(what, sizeof what, "has %zu columns where %zu are needed: %.64s", a->columns,
                 lth__columns_count(column), column);
        return fail_array(a, err, what);
    }
    return LTH_OK;
}

lth_status lth__arrays_check_needed(const lth__arrays *arrays, const bool *needed, lth_error *err) {
    const bool *at = needed + arrays->first;
    for (size_t i = 0; i < arrays->count; i++) {
        const lth__array *a = &arrays->at[i];
        size_t used = 0;
        for (size_t k = 0; k < a->columns; k++) used += at[k];
        at += a->columns;
        if (used == a->columns) continue;
        char what[96];
        if (used == 0)
            snprintf(what, sizeof what, "is read by nothing");
        else
            snprintf(what, sizeof what, "has %zu columns where %zu are needed", a->columns, used);
        return fail_array(a, err, what);
    }
    return LTH_OK;
}

/* ---- Rows ----------------------------------------------------------------------------------- */

static lth_status make_room(const lth__arrays *arrays, lth_table *table, lth_error *err) {
    size_t need;
    if (__builtin_mul_overflow(table->rows + 1, arrays->columns, &need) ||
        !lth__reserve((void **)&table->values, &table->value_capacity, need, sizeof *table->values))
        return lth__fail_memory(err, 0);
    return LTH_OK;
}

lth_status lth__arrays_begin(const lth__arrays *arrays, lth_table *table, lth_error *err) {
    if (arrays->count == 0) return LTH_OK;
    size_t texts = lth_table_columns(table), all = texts + arrays->columns;
    for (size_t i = 0; i < arrays->count; i++)
        LTH_TRY(name_columns(&arrays->at[i], table->columns, table->name, err));
    table->stored = lth__calloc(all, sizeof *table->stored);
    if (!table->stored) return lth__fail_memory(err, all * sizeof *table->stored);
    for (size_t i = 0; i < texts; i++) table->stored[i].cell = i;
    table->cells = texts;
    return make_room(arrays, table, err);
}

lth_status lth__arrays_row(lth__arrays *arrays, lth_table *table, lth_error *err) {
    if (arrays->count == 0) return LTH_OK;
    LTH_TRY(make_room(arrays, table, err));
    double *out = table->values + table->rows * arrays->columns;
    for (size_t i = 0; i < arrays->count; i++) {
        lth__array *a = &arrays->at[i];
        if (arrays->rows == a->npy.shape[0])
            return fail_array(a, err, "has fewer rows than the table");
        LTH_TRY(lth__npy_next(&a->npy, out, a->columns, err));
        out += a->columns;
    }
    arrays->rows++;
    return LTH_OK;
}

static lth_status fail_number(const lth__array *a, double value, size_t row, size_t column,
                              lth_error *err) {
    char what[120];
    snprintf(what, sizeof what, "has %s in row %zu, column %zu, which is not a finite number",
             isnan(value) ? "NaN"
             : value > 0  ? "inf"
                          : "-inf",
             row, column);
    return fail_array(a, err, what);
}

lth_status lth__arrays_check_row(const lth__arrays *arrays, const lth_table *table,
                                 lth_error *err) {
    if (arrays->count == 0) return LTH_OK;
    const double *at = table->values + table->rows * arrays->columns;
    for (size_t i = 0; i < arrays->count; i++) {
        const lth__array *a = &arrays->at[i];
        for (size_t k = 0; k < a->columns; k++)
            if (!isfinite(at[k])) return fail_number(a, at[k], arrays->rows, k + 1, err);
        at += a->columns;
    }
    return LTH_OK;
}

void lth__arrays_settle(const lth__arrays *arrays, lth_table *table) {
    for (size_t i = 0; i < arrays->columns; i++)
        table->stored[table->cells + i] =
            (lth__table_column){.numbers = table->values + i, .stride = arrays->columns};
}

lth_status lth__arrays_end(lth__arrays *arrays, lth_error *err) {
    for (size_t i = 0; i < arrays->count; i++) {
        lth__array *a = &arrays->at[i];
        char what[64];
        snprintf(what, sizeof what, "has more rows than the table, which has %zu", arrays->rows);
        if (arrays->rows < a->npy.shape[0]) return fail_array(a, err, what);
        LTH_TRY(lth__npy_end(&a->npy, err));
    }
    return LTH_OK;
}
