/* The rows of a campaign: texts that the models read, targets, and what was expected of them. */
#include "design/campaign_rows.h"

#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "data/table.h"

/* ---- Cells ---- */

lth_status lth__campaign_columns(const lth_design *d, const lth_table *table, size_t **out,
                                 lth_error *err) {
    size_t *columns = lth__alloc(d->column_count, sizeof *columns);
    if (!columns) return lth__fail_memory(err, 0);
    lth_status status = LTH_OK;
    for (size_t j = 0; j < d->column_count && status == LTH_OK; j++) {
        status = lth__table_column_at(table, d->columns[j], &columns[j], err);
        if (status == LTH_OK && lth__table_kind(table, columns[j]) == LTH__COLUMN_VECTORS)
            status = lth__fail(err, LTH_EUNSUPPORTED,
                               "a campaign keeps texts and numbers, but "
                               "column \"%.80s\" has vectors",
                               d->columns[j]);
    }
    if (status == LTH_OK)
        *out = columns;
    else
        lth__free(columns);
    return status;
}

const char *lth__campaign_cell_text(const lth_table *table, size_t row, size_t column,
                                    char number[32], size_t *length) {
    const char *text = lth_table_cell(table, row, column, length);
    if (text) return text;
    const lth__table_column *stored = &table->stored[column];
    lth__print_double(stored->numbers[row * stored->stride], number);
    *length = strlen(number);
    return number;
}

/* Numbers are the same however they are written. */
static void append_key(const lth_design *d, size_t column, const char *text, size_t length,
                       lth__string *out) {
    double value;
    char number[32];
    if (d->numeric[column] && lth__parse_double(text, length, &value)) {
        lth__print_double(value, number);
        text = number;
        length = strlen(number);
    }
    lth__string_format(out, "%zu:", length);
    lth__string_append(out, text, length);
}

void lth__campaign_key(const lth_design *d, const lth_table *table, size_t row,
                       const size_t *columns, lth__string *out) {
    char number[32];
    size_t length;
    out->length = 0;
    for (size_t j = 0; j < d->column_count; j++) {
        const char *text = lth__campaign_cell_text(table, row, columns[j], number, &length);
        append_key(d, j, text, length, out);
    }
}

void lth__campaign_row_key(const lth_design *d, const lth__campaign_row *row, lth__string *out) {
    out->length = 0;
    for (size_t j = 0; j < d->column_count; j++)
        append_key(d, j, row->cells[j].text, row->cells[j].length, out);
}

lth__symbols *lth__campaign_keys(const lth_design *d) {
    lth__symbols *keys = lth__symbols_create();
    lth__string key = {0};
    bool good = keys != NULL;
    for (size_t i = 0; i < d->rows.count && good; i++) {
        lth__campaign_row_key(d, &d->rows.list[i], &key);
        good = !key.failed && lth__symbols_intern(keys, key.bytes, key.length) != LTH__NO_SYMBOL;
    }
    lth__string_free(&key);
    if (!good) {
        lth__symbols_free(keys);
        return NULL;
    }
    return keys;
}

/* ---- Versions ---- */

lth_status lth__campaign_branch(const lth_design *d, lth__campaign_rows *out, lth_error *err) {
    lth__campaign_rows rows = {.count = d->rows.count, .capacity = d->rows.count};
    rows.list = lth__alloc(rows.count, sizeof *rows.list);
    if (!rows.list) return lth__fail_memory(err, rows.count * sizeof *rows.list);
    if (rows.count > 0) memcpy(rows.list, d->rows.list, rows.count * sizeof *rows.list);
    *out = rows;
    return LTH_OK;
}

void lth__campaign_drop(lth__campaign_rows *rows) {
    lth__free(rows->list);
    lth_table_free(rows->table);
    *rows = (lth__campaign_rows){0};
}

lth_status lth__campaign_push(lth__campaign_rows *rows, lth__campaign_row row, lth_error *err) {
    if (!lth__reserve((void **)&rows->list, &rows->capacity, rows->count + 1, sizeof *rows->list))
        return lth__fail_memory(err, 0);
    rows->list[rows->count++] = row;
    return LTH_OK;
}

lth__campaign_cell *lth__campaign_cells(lth_design *d, lth_error *err) {
    size_t count = d->column_count + d->target_count;
    lth__campaign_cell *cells = lth__pool_alloc(&d->texts, count * sizeof *cells);
    if (!cells) {
        lth__fail_memory(err, count * sizeof *cells);
        return NULL;
    }
    for (size_t j = 0; j < count; j++) cells[j] = (lth__campaign_cell){"", 0};
    return cells;
}

lth_status lth__campaign_keep(lth_design *d, const char *text, size_t length,
                              lth__campaign_cell *out, lth_error *err) {
    char *copy = lth__pool_strndup(&d->texts, text, length);
    if (!copy) return lth__fail_memory(err, length);
    *out = (lth__campaign_cell){copy, length};
    return LTH_OK;
}

/* What a file of one line a row cannot hold. */
static bool breaks_line(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (text[i] == '\t' || text[i] == '\n' || text[i] == '\r') return true;
    return false;
}

lth_status lth__campaign_append(lth_design *d, lth__campaign_rows *rows, const lth_table *table,
                                size_t row, const size_t *columns, lth__campaign_row with,
                                lth_error *err) {
    lth__campaign_cell *cells = lth__campaign_cells(d, err);
    if (!cells) return LTH_ENOMEM;
    char number[32];
    for (size_t j = 0; j < d->column_count; j++) {
        size_t length;
        const char *text = lth__campaign_cell_text(table, row, columns[j], number, &length);
        if (d->folder && breaks_line(text, length))
            return lth__fail_at(err, LTH_EUNSUPPORTED, lth_table_file(table, row),
                                lth_table_line(table, row), 0,
                                "a campaign on disk cannot keep the tab or line break in column "
                                "\"%.80s\"",
                                d->columns[j]);
        LTH_TRY(lth__campaign_keep(d, text, length, &cells[j], err));
    }
    with.cells = cells;
    return lth__campaign_push(rows, with, err);
}

/* ---- What they come to ---- */

/* Whether low values of the first target are looked for. */
static bool minimizes(const lth_design *d) {
    const lth_propose_options *o = &d->propose;
    size_t length = strlen(d->targets[0]);
    for (size_t i = 0; i < o->objective_count; i++) {
        const char *text = o->objectives[i];
        if (strncmp(text, d->targets[0], length) != 0 || text[length] != '=') continue;
        return strcmp(text + length, "=min") == 0;
    }
    return o->minimize;
}

double lth__campaign_target(const lth_design *d, const lth__campaign_row *row, size_t target) {
    const lth__campaign_cell *cell = &row->cells[d->column_count + target];
    double value;
    return lth__parse_double(cell->text, cell->length, &value) ? value : NAN;
}

static lth_design_report sum_up(const lth_design *d, const lth__campaign_rows *rows) {
    lth_design_report r = {.best = NAN, .best_row = LTH_NONE, .seconds = d->report.seconds};
    bool low = minimizes(d), labels = lth__campaign_has_labels(d, rows);
    for (size_t i = 0; i < rows->count; i++) {
        const lth__campaign_row *row = &rows->list[i];
        r.measured += row->round > 0;
        r.pending += row->round == 0;
        if (row->round > r.rounds) r.rounds = row->round;
        double y = row->round > 0 && !labels ? lth__campaign_target(d, row, 0) : NAN;
        bool better = isnan(r.best) ? !isnan(y) : low ? y < r.best : y > r.best;
        if (!better) continue;
        r.best = y;
        r.best_row = i;
    }
    return r;
}

void lth__campaign_replace(lth_design *d, lth__campaign_rows *rows) {
    lth__campaign_drop(&d->rows);
    d->rows = *rows;
    *rows = (lth__campaign_rows){0};
    d->report = sum_up(d, &d->rows);
}

bool lth__campaign_has_labels(const lth_design *d, const lth__campaign_rows *rows) {
    lth_likelihood l = d->gp.likelihood;
    if (d->gp.task != LTH_TASK_AUTO) return d->gp.task == LTH_TASK_CLASSIFICATION;
    if (l != LTH_LOGIT) return l == LTH_PROBIT || l == LTH_SOFTMAX;
    for (size_t i = 0; i < rows->count; i++) {
        for (size_t t = 0; t < d->target_count; t++) {
            const lth__campaign_cell *cell = &rows->list[i].cells[d->column_count + t];
            double value;
            if (cell->length > 0) return !lth__parse_double(cell->text, cell->length, &value);
        }
    }
    return false;
}

static bool same_cell(const lth__campaign_cell *a, const lth__campaign_cell *b, bool labels) {
    double x, y;
    if (!labels && lth__parse_double(a->text, a->length, &x) &&
        lth__parse_double(b->text, b->length, &y))
        return x == y;
    return a->length == b->length && memcmp(a->text, b->text, a->length) == 0;
}

bool lth__campaign_can_learn(const lth_design *d) {
    bool labels = lth__campaign_has_labels(d, &d->rows);
    const lth__campaign_row *first = NULL;
    for (size_t i = 0; i < d->rows.count; i++) {
        const lth__campaign_row *row = &d->rows.list[i];
        if (row->round == 0) continue;
        if (!first) first = row;
        for (size_t t = d->column_count; t < d->column_count + d->target_count; t++)
            if (!same_cell(&first->cells[t], &row->cells[t], labels)) return true;
    }
    return false;
}

uint64_t lth__campaign_fingerprint(const lth_design *d) {
    uint64_t hash = lth__hash(0, d->expression, strlen(d->expression));
    size_t cells = d->column_count + d->target_count;
    for (size_t i = 0; i < d->rows.count; i++) {
        const lth__campaign_row *row = &d->rows.list[i];
        for (size_t j = 0; row->round > 0 && j < cells; j++)
            hash = lth__hash(hash, row->cells[j].text, row->cells[j].length);
    }
    return hash | 1;
}

/* ---- Tables ---- */

static const char *const notes[] = {"round", "asked", "mean", "sd", "acquisition"};
enum { NOTES = sizeof notes / sizeof *notes };

bool lth__campaign_is_note(const char *column) {
    for (size_t i = 0; i < NOTES; i++)
        if (strcmp(notes[i], column) == 0) return true;
    return false;
}

static lth_status name_column(lth_table *table, const char *name, lth_error *err) {
    lth__symbol s = lth__symbols_intern(table->columns, name, strlen(name));
    return s == LTH__NO_SYMBOL ? lth__fail_memory(err, 0) : LTH_OK;
}

static lth_status name_columns(const lth_design *d, lth_table *table, bool targets, bool all,
                               lth_error *err) {
    for (size_t j = 0; j < d->column_count; j++) LTH_TRY(name_column(table, d->columns[j], err));
    for (size_t t = 0; targets && t < d->target_count; t++)
        LTH_TRY(name_column(table, d->targets[t], err));
    for (size_t i = 0; all && i < NOTES; i++) LTH_TRY(name_column(table, notes[i], err));
    return LTH_OK;
}

/* Empty where there is none. */
static lth__field number_field(double value, bool known, char text[32]) {
    text[0] = 0;
    if (known && !isnan(value)) lth__print_double(value, text);
    return (lth__field){.text = text, .length = strlen(text)};
}

static lth_status append_row(const lth_design *d, lth_table *table, const lth__campaign_row *row,
                             lth__field *fields, bool targets, bool all, lth_error *err) {
    size_t count = d->column_count + (targets ? d->target_count : 0);
    char text[NOTES][32];
    for (size_t j = 0; j < count; j++)
        fields[j] = (lth__field){.text = row->cells[j].text, .length = row->cells[j].length};
    if (all) {
        fields[count++] = number_field((double)row->round, row->round > 0, text[0]);
        fields[count++] = number_field((double)row->asked, row->asked > 0, text[1]);
        fields[count++] = number_field(row->mean, true, text[2]);
        fields[count++] = number_field(row->sd, true, text[3]);
        fields[count++] = number_field(row->acquisition, true, text[4]);
    }
    return lth__table_append(table, table->rows + 1, fields, NULL, err);
}

typedef enum choice { ALL, MEASURED, PENDING } choice;

static lth_status make_table(const lth_design *d, const lth__campaign_rows *rows, choice which,
                             lth_table **out, lth_error *err) {
    bool targets = which != PENDING, all = which == ALL;
    lth_table *table = NULL;
    lth__field *fields = lth__alloc(d->column_count + d->target_count + NOTES, sizeof *fields);
    if (!fields) return lth__fail_memory(err, 0);
    lth_status status = lth__table_create("", &table, err);
    if (status == LTH_OK) status = name_columns(d, table, targets, all, err);
    for (size_t i = 0; i < rows->count && status == LTH_OK; i++) {
        bool measured = rows->list[i].round > 0;
        if (all || measured == (which == MEASURED))
            status = append_row(d, table, &rows->list[i], fields, targets, all, err);
    }
    lth__free(fields);
    if (status == LTH_OK)
        *out = table;
    else
        lth_table_free(table);
    return status;
}

lth_status lth__campaign_seal(const lth_design *d, lth__campaign_rows *rows, lth_error *err) {
    return make_table(d, rows, ALL, &rows->table, err);
}

lth_status lth__campaign_measured(const lth_design *d, lth_table **out, lth_error *err) {
    return make_table(d, &d->rows, MEASURED, out, err);
}

lth_status lth__campaign_pending(const lth_design *d, const lth__campaign_rows *rows,
                                 lth_table **out, lth_error *err) {
    return make_table(d, rows, PENDING, out, err);
}

/* ---- From a table of all ---- */

static lth_status fail_damaged(const lth_table *table, size_t row, const char *column,
                               lth_error *err) {
    return lth__fail_at(err, LTH_EFORMAT, lth_table_file(table, row), lth_table_line(table, row), 0,
                        "this file is damaged: \"%.40s\" is wrong; take it from a backup, or begin "
                        "a new campaign and tell it what was measured",
                        column);
}

static bool read_number(const lth_table *table, size_t row, size_t column, double *out) {
    size_t length;
    const char *text = lth_table_cell(table, row, column, &length);
    *out = NAN;
    return length == 0 || (lth__parse_double(text, length, out) && !isnan(*out));
}

static bool read_count(const lth_table *table, size_t row, size_t column, size_t *out) {
    double value;
    bool good = read_number(table, row, column, &value);
    if (isnan(value)) value = 0;
    *out = value >= 0 && value < 1e15 ? (size_t)value : 0;
    return good && (double)*out == value;
}

static lth_status take_row(lth_design *d, const lth_table *table, size_t row, const size_t *columns,
                           lth__campaign_rows *rows, lth_error *err) {
    lth__campaign_row taken = {0};
    size_t cells = d->column_count + d->target_count;
    const size_t *at = columns + cells;
    lth__campaign_cell *kept = lth__campaign_cells(d, err);
    if (!kept) return LTH_ENOMEM;
    size_t known = 0;
    for (size_t j = 0; j < cells; j++) {
        size_t length;
        const char *text = lth_table_cell(table, row, columns[j], &length);
        LTH_TRY(lth__campaign_keep(d, text, length, &kept[j], err));
        known += j >= d->column_count && length > 0;
    }
    taken.cells = kept;
    const char *wrong = !read_count(table, row, at[0], &taken.round)          ? notes[0]
                        : !read_count(table, row, at[1], &taken.asked)        ? notes[1]
                        : !read_number(table, row, at[2], &taken.mean)        ? notes[2]
                        : !read_number(table, row, at[3], &taken.sd)          ? notes[3]
                        : !read_number(table, row, at[4], &taken.acquisition) ? notes[4]
                        : taken.round > 0 && known == 0                       ? d->targets[0]
                                                                              : NULL;
    if (wrong) return fail_damaged(table, row, wrong, err);
    return lth__campaign_push(rows, taken, err);
}

lth_status lth__campaign_take(lth_design *d, const lth_table *table, lth__campaign_rows *out,
                              lth_error *err) {
    lth__campaign_rows rows = {0};
    size_t cells = d->column_count + d->target_count;
    size_t *columns = lth__alloc(cells + NOTES, sizeof *columns);
    if (!columns) return lth__fail_memory(err, 0);
    lth_status status = LTH_OK;
    for (size_t j = 0; j < cells + NOTES && status == LTH_OK; j++) {
        const char *name = j < d->column_count ? d->columns[j]
                           : j < cells         ? d->targets[j - d->column_count]
                                               : notes[j - cells];
        status = lth__table_column_at(table, name, &columns[j], err);
    }
    for (size_t i = 0; i < lth_table_rows(table) && status == LTH_OK; i++)
        status = take_row(d, table, i, columns, &rows, err);
    lth__free(columns);
    if (status == LTH_OK) status = lth__campaign_seal(d, &rows, err);
    if (status == LTH_OK)
        *out = rows;
    else
        lth__campaign_drop(&rows);
    return status;
}
