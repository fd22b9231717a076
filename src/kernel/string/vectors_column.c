/* Columns of vectors: each unit becomes a symbol of its own, with its vector beside it. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "data/table.h"
#include "kernel/string/text_field.h"

static lth_status check_use(const lth__field_def *def, const lth__table_column *c,
                            const lth__words *w, lth_error *err) {
    if (def->exact)
        return lth__fail(err, LTH_EARG,
                         "column \"%s\" holds vectors: use sim=cosine, dot, arccos or exp",
                         def->column);
    if (w->has_vectors && w->vectors.dimension != c->dimension)
        return lth__fail(
            err, LTH_EARG,
            "column \"%s\" holds vectors of %zu numbers, where the first table has %zu",
            def->column, c->dimension, w->vectors.dimension);
    return LTH_OK;
}

static lth_status check_numbers(const lth__field_def *def, const lth__table_column *c, size_t row,
                                lth_error *err) {
    for (size_t i = 0; i < c->units[row] * c->dimension; i++) {
        if (isfinite(c->vectors[row][i])) continue;
        return lth__fail_at(err, LTH_EFORMAT, NULL, row + 1, 0,
                            "the vector of unit %zu in column \"%s\" is not finite",
                            i / c->dimension + 1, def->column);
    }
    return LTH_OK;
}

/* Where the units of each row begin. */
static lth_status count_units(const lth__field_def *def, const lth__table_column *c, size_t known,
                              lth__sequences *out, lth_error *err) {
    out->start[0] = 0;
    for (size_t i = 0; i < out->count; i++) {
        if (c->units[i] > INT32_MAX - known - out->start[i])
            return lth__fail_at(err, LTH_EARG, NULL, i + 1, 0, "column \"%s\" has too many units",
                                def->column);
        LTH_TRY(check_numbers(def, c, i, err));
        out->start[i + 1] = out->start[i] + c->units[i];
        if (c->units[i] > out->longest) out->longest = c->units[i];
    }
    return LTH_OK;
}

static bool grow_vectors(lth__vectors *v, size_t units, size_t dimension) {
    size_t count = v->count + units;
    if (count > SIZE_MAX / dimension) return false;
    float *values = lth__realloc(v->values, count * dimension, sizeof *values);
    if (values) v->values = values;
    int32_t *row_of = lth__realloc(v->row_of, count, sizeof *row_of);
    if (row_of) v->row_of = row_of;
    return values && row_of;
}

/* The symbols before `until` that are still missing. */
static lth_status name_symbols(lth__symbols *symbols, size_t until, lth_error *err) {
    for (size_t i = lth__symbols_count(symbols); i < until; i++) {
        char name[24];
        int length = snprintf(name, sizeof name, "%zu", i);
        if (lth__symbols_intern(symbols, name, (size_t)length) != i)
            return lth__fail_memory(err, 0);
    }
    return LTH_OK;
}

static void append_vectors(const lth__table_column *c, lth__vectors *v, lth__sequences *out) {
    for (size_t i = 0; i < out->count; i++) {
        for (size_t u = 0; u < c->units[i]; u++) {
            out->symbols[out->start[i] + u] = (lth__symbol)v->symbols;
            v->row_of[v->symbols++ - v->first] = (int32_t)v->count;
            memcpy(v->values + v->count++ * c->dimension, c->vectors[i] + u * c->dimension,
                   c->dimension * sizeof *v->values);
        }
    }
}

lth_status lth__vectors_column_encode(const lth__lexicon *l, const lth_table *table, size_t column,
                                      lth__sequences *out, lth_error *err) {
    const lth__table_column *c = &table->stored[column];
    lth__words *w = lth__words_of(l);
    size_t rows = lth_table_rows(table), known = w->vectors.symbols;
    LTH_TRY(check_use(l->def, c, w, err));
    *out = (lth__sequences){.count = rows, .start = lth__alloc(rows + 1, sizeof *out->start)};
    if (!out->start) return lth__fail_memory(err, (rows + 1) * sizeof *out->start);
    LTH_TRY(count_units(l->def, c, known, out, err));
    size_t units = out->start[rows];
    out->symbols = lth__alloc(units, sizeof *out->symbols);
    if (!out->symbols || !grow_vectors(&w->vectors, units, c->dimension))
        return lth__fail_memory(err, units * c->dimension * sizeof(float));
    LTH_TRY(name_symbols(l->symbols, known + units, err));
    w->vectors.dimension = c->dimension;
    append_vectors(c, &w->vectors, out);
    if (!w->has_vectors) w->centre_rows = w->vectors.count;
    w->has_vectors = true;
    return LTH_OK;
}

bool lth__vectors_column_check(const lth__lexicon *l) {
    const lth__vectors *v = &lth__words_of(l)->vectors;
    size_t symbols = lth__symbols_count(l->symbols);
    if (!l->def->vectors || l->def->exact || v->symbols != symbols || v->count != symbols)
        return false;
    for (size_t i = 0; i < symbols; i++) {
        char name[24];
        snprintf(name, sizeof name, "%zu", i);
        const char *text = lth__symbols_text(l->symbols, (lth__symbol)i, NULL);
        if (v->row_of[i] != (int32_t)i || strcmp(text, name) != 0) return false;
    }
    return true;
}
