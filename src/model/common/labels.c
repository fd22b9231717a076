/* A target column of labels: its classes, and the classes of each row. */
#include "model/common/labels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/number_form.h"
#include "data/symbols.h"
#include "data/table.h"
#include "model/common/labels_wanted.h"

void lth__labels_free(lth__labels *labels) {
    for (size_t c = 0; labels->name && c < labels->class_count; c++) lth__free(labels->name[c]);
    lth__free(labels->name);
    lth__free(labels->count);
    lth__free(labels->start);
    lth__free(labels->of);
    *labels = (lth__labels){0};
}

/* ---- Reading ---- */

typedef struct reader {
    const lth_table *table;
    size_t column;
    lth__symbols *symbols; /* classes by first appearance */
    size_t *of;            /* such numbers                */
    size_t used, capacity;
    lth__labels *out;
    lth_error *err;
} reader;

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static void trim(const char **text, size_t *length) {
    while (*length > 0 && is_blank(**text)) ++*text, --*length;
    while (*length > 0 && is_blank((*text)[*length - 1])) --*length;
}

static lth_status fail_row(const reader *r, size_t row, const char *what) {
    return lth__fail_at(r->err, LTH_EFORMAT, lth_table_file(r->table, row),
                        lth_table_line(r->table, row), 0, "%s in column \"%s\"", what,
                        lth_table_column_name(r->table, r->column));
}

/* A label that is given twice counts once. */
static lth_status add_label(reader *r, size_t row, const char *text, size_t length) {
    lth__symbol symbol = lth__symbols_intern(r->symbols, text, length);
    if (symbol == LTH__NO_SYMBOL ||
        !lth__reserve((void **)&r->of, &r->capacity, r->used + 1, sizeof *r->of))
        return lth__fail_memory(r->err, 0);
    for (size_t k = r->out->start[row]; k < r->used; k++) {
        if (r->of[k] == symbol) return LTH_OK;
    }
    r->of[r->used++] = symbol;
    return LTH_OK;
}

static lth_status read_cell(reader *r, size_t row) {
    size_t length;
    const char *cell = lth_table_cell(r->table, row, r->column, &length);
    trim(&cell, &length);
    r->out->start[row] = r->used;
    if (length == 0 && !r->out->multi) return fail_row(r, row, "this row has no label");
    const char *end = cell + length;
    while (length > 0) {
        const char *comma = memchr(cell, ',', (size_t)(end - cell)), *text = cell;
        size_t size = (size_t)((comma ? comma : end) - cell);
        trim(&text, &size);
        if (size == 0) return fail_row(r, row, "there is a comma without a label");
        LTH_TRY(add_label(r, row, text, size));
        if (!comma) break;
        cell = comma + 1;
    }
    return LTH_OK;
}

static bool some_cell_has_a_comma(const reader *r) {
    for (size_t i = 0; i < lth_table_rows(r->table); i++) {
        size_t length;
        const char *cell = lth_table_cell(r->table, i, r->column, &length);
        if (memchr(cell, ',', length)) return true;
    }
    return false;
}

typedef struct entry {
    const char *name;
    size_t symbol;
} entry;

static int by_bytes(const void *a, const void *b) {
    return strcmp(((const entry *)a)->name, ((const entry *)b)->name);
}

static int by_number(const void *a, const void *b) {
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return x < y ? -1 : x > y;
}

/* Classes get their final numbers. `rank` is room for a number for each. */
static lth_status sort_classes(reader *r, entry *order, size_t *rank) {
    lth__labels *out = r->out;
    for (size_t c = 0; c < out->class_count; c++) {
        size_t length;
        order[c] = (entry){lth__symbols_text(r->symbols, (lth__symbol)c, &length), c};
    }
    qsort(order, out->class_count, sizeof *order, by_bytes);
    for (size_t c = 0; c < out->class_count; c++) {
        rank[order[c].symbol] = c;
        out->name[c] = lth__strndup(order[c].name, strlen(order[c].name));
        if (!out->name[c]) return lth__fail_memory(r->err, 0);
    }
    for (size_t k = 0; k < r->used; k++) {
        r->of[k] = rank[r->of[k]];
        out->count[r->of[k]]++;
    }
    for (size_t i = 0; i < out->rows; i++) {
        size_t first = out->start[i], count = out->start[i + 1] - first;
        if (count > 1) qsort(r->of + first, count, sizeof *r->of, by_number);
    }
    return LTH_OK;
}

static lth_status read_all(reader *r) {
    lth__labels *out = r->out;
    out->rows = lth_table_rows(r->table);
    out->multi = some_cell_has_a_comma(r);
    out->start = lth__alloc(out->rows + 1, sizeof *out->start);
    if (!out->start) return lth__fail_memory(r->err, 0);
    for (size_t i = 0; i < out->rows; i++) LTH_TRY(read_cell(r, i));
    out->start[out->rows] = r->used;

    size_t classes = lth__symbols_count(r->symbols);
    out->name = lth__calloc(classes + 1, sizeof *out->name);
    out->count = lth__calloc(classes + 1, sizeof *out->count);
    out->class_count = classes;
    entry *order = lth__alloc(classes, sizeof *order);
    size_t *rank = lth__alloc(classes, sizeof *rank);
    lth_status status = LTH_OK;
    if (!out->name || !out->count || !order || !rank)
        status = lth__fail_memory(r->err, 0);
    else
        status = sort_classes(r, order, rank);
    lth__free(order);
    lth__free(rank);
    return status;
}

lth_status lth__labels_read(const lth_table *table, const char *column, lth__labels *out,
                            lth_error *err) {
    lth__labels labels = {0};
    reader r = {.table = table, .out = &labels, .err = err};
    LTH_TRY(lth__table_column_at(table, column, &r.column, err));
    LTH_TRY(lth__table_want(table, r.column, LTH__COLUMN_TEXT, "labels are wanted", err));
    r.symbols = lth__symbols_create();
    lth_status status = r.symbols ? read_all(&r) : lth__fail_memory(err, 0);
    lth__symbols_free(r.symbols);
    labels.of = r.of;
    if (status == LTH_OK)
        *out = labels;
    else
        lth__labels_free(&labels);
    return status;
}

/* ---- Looking at them ---- */

bool lth__labels_has(const lth__labels *labels, size_t row, size_t class) {
    for (size_t k = labels->start[row]; k < labels->start[row + 1]; k++) {
        if (labels->of[k] == class) return true;
    }
    return false;
}

size_t lth__labels_find(const lth__labels *labels, const char *name, size_t length) {
    for (size_t c = 0; c < labels->class_count; c++) {
        if (strlen(labels->name[c]) == length && memcmp(labels->name[c], name, length) == 0)
            return c;
    }
    return LTH_NONE;
}

/* ---- Numbers ---- */

static lth_status read_number(const lth_table *table, size_t row, size_t column, bool gaps,
                              double *out, lth_error *err) {
    size_t length;
    const char *cell = lth_table_cell(table, row, column, &length);
    bool empty = cell && lth__is_blank(cell, length); /* numbers of the caller's have no text */
    if (cell && lth__number_form_of(cell, length) == LTH__FORM_COMMA)
        return lth__fail_comma(table, row, column, err);
    if (!gaps || !empty) return lth__table_number(table, row, column, out, err);
    *out = NAN;
    return LTH_OK;
}

/* Models scale targets by their variance, which has to be a number. */
static lth_status check_range(const lth_table *table, const char *name, const double *y,
                              lth_error *err) {
    size_t largest = LTH_NONE;
    for (size_t i = 0; i < lth_table_rows(table); i++) {
        if (!isnan(y[i]) && (largest == LTH_NONE || fabs(y[i]) > fabs(y[largest]))) largest = i;
    }
    double most = largest == LTH_NONE ? 0 : fabs(y[largest]);
    if (most <= LTH__MOST_NUMBER && (most == 0 || most >= 1 / LTH__MOST_NUMBER)) return LTH_OK;
    bool large = most > 1;
    return lth__fail_at(err, LTH_EFORMAT, lth_table_file(table, largest),
                        lth_table_line(table, largest), 0,
                        "%g, the largest in column \"%s\", is too %s to be squared; %s all of them "
                        "by a power of ten",
                        y[largest], name, large ? "large" : "small", large ? "divide" : "multiply");
}

lth_status lth__read_targets(const lth_table *table, const char *const *names, size_t count,
                             bool gaps, double **out, lth_error *err) {
    size_t rows = lth_table_rows(table);
    double *y = lth__alloc(rows * count, sizeof *y);
    if (!y) return lth__fail_memory(err, rows * count * sizeof *y);
    lth_status status = LTH_OK;
    for (size_t t = 0; t < count && status == LTH_OK; t++) {
        size_t column = 0;
        status = lth__table_column_at(table, names[t], &column, err);
        for (size_t i = 0; i < rows && status == LTH_OK; i++)
            status = read_number(table, i, column, gaps, &y[t * rows + i], err);
        if (status == LTH_OK) status = check_range(table, names[t], y + t * rows, err);
    }
    if (status == LTH_OK)
        *out = y;
    else
        lth__free(y);
    return status;
}
