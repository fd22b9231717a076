/* Whether a target column is to be read as labels or as numbers, and what is odd about it. */
#include "model/common/labels_wanted.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "base/text.h"
#include "data/number_form.h"
#include "data/table.h"
#include "kernel/core/kernel.h"

bool lth__is_blank(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++) {
        if (text[i] != ' ') return false;
    }
    return true;
}

/* ---- Labels or numbers ---- */

/* The cells of a column that are not empty, by what they look like. */
typedef struct tally {
    size_t count[LTH__FORM_LIST + 1];
    size_t first_comma; /* row */
    lth__number_form first;
    bool any;
} tally;

/* `whole` false: of a column that begins with a number no more than that is asked. */
static tally look_at_cells(const lth_table *table, size_t column, bool whole) {
    tally t = {.first_comma = LTH_NONE};
    for (size_t i = 0; i < lth_table_rows(table); i++) {
        size_t length;
        const char *cell = lth_table_cell(table, i, column, &length);
        if (lth__is_blank(cell, length)) continue;
        lth__number_form form = lth__number_form_of(cell, length);
        if (!t.any) t.first = form;
        t.any = true;
        t.count[form]++;
        if (form == LTH__FORM_COMMA && t.first_comma == LTH_NONE) t.first_comma = i;
        if (!whole && t.first == LTH__FORM_NUMBER) break;
    }
    return t;
}

lth_status lth__fail_comma(const lth_table *table, size_t row, size_t column, lth_error *err) {
    size_t length;
    const char *cell = lth_table_cell(table, row, column, &length);
    return lth__fail_at(err, LTH_EFORMAT, lth_table_file(table, row), lth_table_line(table, row), 0,
                        "\"%.*s\" in column \"%s\" is not a number: %s; if these are labels, say "
                        "so by --task classification",
                        length < 48 ? (int)length : 48, cell, lth_table_column_name(table, column),
                        LTH__NO_COMMAS);
}

/* Where a comma may be in a number, or between two labels, somebody has to say which. A list such
 * as "1,2,3" shows that it is between labels, and so does a column of mostly words. */
static lth_status check_commas(const lth_table *table, size_t column, const tally *t,
                               lth_error *err) {
    size_t numbers = t->count[LTH__FORM_NUMBER] + t->count[LTH__FORM_COMMA];
    if (t->first_comma == LTH_NONE || t->count[LTH__FORM_LIST] > 0 ||
        numbers < t->count[LTH__FORM_TEXT])
        return LTH_OK;
    return lth__fail_comma(table, t->first_comma, column, err);
}

/* The column, and whether its kind and `task` already say if it has labels, or its cells must. A
 * column of numbers never has. */
static lth_status decide(const lth_table *table, const char *name, lth_task task, size_t *column,
                         bool *decided, bool *labels, lth_error *err) {
    LTH_TRY(lth__table_column_at(table, name, column, err));
    lth__column_kind kind = lth__table_kind(table, *column);
    *labels = task == LTH_TASK_CLASSIFICATION;
    *decided = task != LTH_TASK_AUTO || kind == LTH__COLUMN_NUMBERS;
    if (kind == LTH__COLUMN_VECTORS)
        return lth__table_want(table, *column, LTH__COLUMN_TEXT, "a target is wanted", err);
    return *labels ? lth__table_want(table, *column, LTH__COLUMN_TEXT, "labels are wanted", err)
                   : LTH_OK;
}

/* `first`: the first cell decides, else every one. */
static lth_status find_labels(const lth_table *table, const char *name, lth_task task, bool first,
                              bool *out, lth_error *err) {
    size_t column;
    bool decided, labels = false;
    LTH_TRY(decide(table, name, task, &column, &decided, &labels, err));
    if (!decided) {
        tally t = look_at_cells(table, column, !first);
        labels =
            first
                ? t.any && t.first != LTH__FORM_NUMBER
                : t.count[LTH__FORM_TEXT] + t.count[LTH__FORM_LIST] + t.count[LTH__FORM_COMMA] > 0;
        LTH_TRY(check_commas(table, column, &t, err));
    }
    *out = labels;
    return LTH_OK;
}

lth_status lth__labels_wanted(const lth_table *table, const char *name, lth_task task, bool *out,
                              lth_error *err) {
    return find_labels(table, name, task, false, out, err);
}

lth_status lth_gp_has_labels(const lth_table *table, const char *target, lth_task task, bool *out,
                             lth_error *err) {
    return find_labels(table, target, task, true, out, err);
}

/* ---- What is odd ---- */

/* Classes whose name is a number, those that are no whole one, and the rows that have one. */
typedef struct number_classes {
    size_t classes, fractions, rows;
} number_classes;

static number_classes count_numbers(const lth__labels *l) {
    number_classes n = {0};
    for (size_t c = 0; c < l->class_count; c++) {
        double value;
        if (!lth__parse_double(l->name[c], strlen(l->name[c]), &value)) continue;
        n.classes++;
        n.fractions += isfinite(value) && value != floor(value);
        n.rows += l->count[c];
    }
    return n;
}

/* Grades and codes are few whole numbers; measurements are not. */
static bool look_measured(const lth__labels *l, const number_classes *n) {
    bool many = n->classes > 20 && 4 * n->classes > l->rows;
    return 2 * n->rows > l->rows && (n->fractions > 0 || many);
}

static bool occur_once(const lth__labels *l) {
    bool most = l->rows >= 10 && 2 * l->class_count > l->rows;
    return !l->multi && ((l->class_count == l->rows && l->rows > 2) || most);
}

static void warn_of_numbers(const lth_ctx *ctx, const char *column, const lth__labels *l,
                            const number_classes *n) {
    char but[96] = "";
    for (size_t c = 0; c < l->class_count && n->classes < l->class_count && !*but; c++) {
        double value;
        if (!lth__parse_double(l->name[c], strlen(l->name[c]), &value))
            snprintf(but, sizeof but, " (\"%.48s\" does not)", l->name[c]);
    }
    lth__log(ctx, LTH_LOG_WARNING,
             "%zu of %zu labels in column \"%s\" read as numbers%s, but are learned as classes; "
             "--task regression learns numbers",
             n->classes, l->class_count, column, but);
}

bool lth__labels_warn(const lth_ctx *ctx, const char *column, const lth__labels *labels) {
    number_classes numbers = count_numbers(labels);
    if (look_measured(labels, &numbers)) {
        warn_of_numbers(ctx, column, labels, &numbers);
        return true;
    }
    if (!occur_once(labels)) return false;
    lth__log(ctx, LTH_LOG_WARNING,
             "%zu rows have %zu different labels in column \"%s\": there is little to learn from "
             "labels that occur once",
             labels->rows, labels->class_count, column);
    return true;
}

static bool reads(const char *columns, const char *target) {
    lth__string name = {0};
    bool found = false;
    for (size_t i = 0; i < lth__columns_count(columns) && !found; i++) {
        name.length = 0;
        lth__columns_name(columns, i, &name);
        found = !name.failed && strcmp(name.bytes, target) == 0;
    }
    lth__string_free(&name);
    return found;
}

void lth__targets_warn(const lth_ctx *ctx, const lth_kernel *kernel, const char *const *targets,
                       size_t count) {
    for (size_t t = 0; t < count; t++) {
        const char *columns;
        for (size_t i = 0; (columns = lth_kernel_column(kernel, i)) != NULL; i++) {
            if (!reads(columns, targets[t])) continue;
            lth__log(ctx, LTH_LOG_WARNING,
                     "the kernel reads column \"%s\", which is the target: it is told what it is "
                     "to predict",
                     targets[t]);
            break;
        }
    }
}
