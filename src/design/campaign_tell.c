/* Telling a campaign what was measured: all rows of a table are looked at before one is taken. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "data/table.h"
#include "design/campaign_rows.h"

/* Results on their way into a new version of the rows. */
typedef struct telling {
    lth_design *design;
    const lth_table *results;
    size_t *columns, *targets; /* of the results */
    bool labels;
    lth__campaign_rows rows; /* the new version */
    lth__symbols *keys;      /* of the rows that are there */
    size_t *pending;         /* by key: a row that is waiting, or LTH_NONE */
    size_t *key_of;          /* by row */
    lth__symbols *values;    /* keys with targets, of rows measured before */
    size_t *value_round;     /* by these: when */
    size_t round;            /* this one */
    bool told;               /* something was */
    lth__string key;
    lth_error *err;
} telling;

/* ---- What is there ---- */

/* Numbers are the same however they are written; labels are texts. */
static void append_value(telling *t, const char *text, size_t length) {
    double value;
    char number[32];
    if (!t->labels && lth__parse_double(text, length, &value)) {
        lth__print_double(value, number);
        text = number;
        length = strlen(number);
    }
    lth__string_format(&t->key, "=%zu:", length);
    lth__string_append(&t->key, text, length);
}

static lth_status intern_key(telling *t, lth__symbols *in, size_t *out) {
    lth__symbol s =
        t->key.failed ? LTH__NO_SYMBOL : lth__symbols_intern(in, t->key.bytes, t->key.length);
    *out = s;
    return s == LTH__NO_SYMBOL ? lth__fail_memory(t->err, 0) : LTH_OK;
}

static lth_status note_row(telling *t, size_t i) {
    const lth_design *d = t->design;
    const lth__campaign_row *row = &d->rows.list[i];
    size_t value;
    lth__campaign_row_key(d, row, &t->key);
    LTH_TRY(intern_key(t, t->keys, &t->key_of[i]));
    if (row->round == 0) {
        if (t->pending[t->key_of[i]] == LTH_NONE) t->pending[t->key_of[i]] = i;
        return LTH_OK;
    }
    for (size_t j = 0; j < d->target_count; j++)
        append_value(t, row->cells[d->column_count + j].text,
                     row->cells[d->column_count + j].length);
    LTH_TRY(intern_key(t, t->values, &value));
    if (t->value_round[value] == 0) t->value_round[value] = row->round;
    return LTH_OK;
}

static lth_status note_rows(telling *t) {
    size_t count = t->design->rows.count;
    t->keys = lth__symbols_create();
    t->values = lth__symbols_create();
    t->pending = lth__alloc(count, sizeof *t->pending);
    t->key_of = lth__alloc(count, sizeof *t->key_of);
    t->value_round = lth__calloc(count, sizeof *t->value_round);
    if (!t->keys || !t->values || !t->pending || !t->key_of || !t->value_round)
        return lth__fail_memory(t->err, 3 * count * sizeof *t->pending);
    for (size_t i = 0; i < count; i++) t->pending[i] = LTH_NONE;
    for (size_t i = 0; i < count; i++) LTH_TRY(note_row(t, i));
    return LTH_OK;
}

/* ---- What came ---- */

static const char *trim(const char *text, size_t *length) {
    while (*length > 0 && isspace((unsigned char)text[*length - 1])) --*length;
    while (*length > 0 && isspace((unsigned char)*text)) {
        text++;
        --*length;
    }
    return text;
}

static const char *target_text(const telling *t, size_t row, size_t target, char number[32],
                               size_t *length) {
    const char *text = lth__campaign_cell_text(t->results, row, t->targets[target], number, length);
    return trim(text, length);
}

static bool finds_labels(const telling *t) {
    const lth_design *d = t->design;
    if (d->gp.task == LTH_TASK_AUTO && d->gp.likelihood == LTH_LOGIT && d->report.measured == 0) {
        for (size_t i = 0; i < lth_table_rows(t->results); i++) {
            char number[32];
            size_t length;
            double value;
            const char *text = target_text(t, i, 0, number, &length);
            if (length > 0) return !lth__parse_double(text, length, &value);
        }
    }
    return lth__campaign_has_labels(d, &d->rows);
}

/* The targets of a row of the results; how many are there. */
static lth_status read_targets(telling *t, size_t row, lth__campaign_cell *out, size_t *known) {
    lth_design *d = t->design;
    *known = 0;
    for (size_t j = 0; j < d->target_count; j++) {
        char number[32];
        size_t length;
        double value;
        const char *text = target_text(t, row, j, number, &length);
        out[j] = (lth__campaign_cell){"", 0};
        if (length == 0) continue;
        bool finite = lth__parse_double(text, length, &value) && isfinite(value);
        if (!t->labels && !finite)
            return lth__fail_at(t->err, LTH_EFORMAT, lth_table_file(t->results, row),
                                lth_table_line(t->results, row), 0,
                                "\"%.*s\" in column \"%.80s\" is not a number; leave it empty if "
                                "it is not measured yet",
                                (int)(length < 48 ? length : 48), text, d->targets[j]);
        LTH_TRY(lth__campaign_keep(d, text, length, &out[j], t->err));
        ++*known;
    }
    return LTH_OK;
}

static bool is_complete(const telling *t, const lth__campaign_cell *targets) {
    size_t known = 0;
    for (size_t j = 0; j < t->design->target_count; j++) known += targets[j].length > 0;
    return t->design->gp.coregion > 0 ? known > 0 : known == t->design->target_count;
}

/* The next row that waits for the same. */
static size_t next_pending(const telling *t, size_t key, size_t after) {
    if (lth__symbols_seen(t->keys, (lth__symbol)key) < 2) return LTH_NONE;
    for (size_t i = after + 1; i < t->design->rows.count; i++)
        if (t->key_of[i] == key && t->rows.list[i].round == 0) return i;
    return LTH_NONE;
}

static lth_status fill_pending(telling *t, size_t key, const lth__campaign_cell *targets) {
    lth_design *d = t->design;
    size_t i = t->pending[key];
    lth__campaign_row *row = &t->rows.list[i];
    lth__campaign_cell *cells = lth__campaign_cells(d, t->err);
    if (!cells) return LTH_ENOMEM;
    memcpy(cells, row->cells, (d->column_count + d->target_count) * sizeof *cells);
    for (size_t j = 0; j < d->target_count; j++)
        if (targets[j].length > 0) cells[d->column_count + j] = targets[j];
    row->cells = cells;
    t->told = true;
    if (!is_complete(t, cells + d->column_count)) return LTH_OK;
    row->round = t->round;
    t->pending[key] = next_pending(t, key, i);
    return LTH_OK;
}

/* The same result again, most likely the same file. */
static lth_status refuse_repeat(telling *t, size_t row, const lth__campaign_cell *targets) {
    const lth_design *d = t->design;
    if (d->repeats == LTH__REPEATS_AS_SET ? d->propose.repeats : d->repeats == LTH__REPEATS_YES)
        return LTH_OK;
    for (size_t j = 0; j < d->target_count; j++)
        append_value(t, targets[j].text, targets[j].length);
    if (t->key.failed) return lth__fail_memory(t->err, 0);
    lth__symbol same = lth__symbols_find(t->values, t->key.bytes, t->key.length);
    if (same == LTH__NO_SYMBOL) return LTH_OK;
    return lth__fail_at(t->err, LTH_EFORMAT, lth_table_file(t->results, row),
                        lth_table_line(t->results, row), 0,
                        "this row is measured already, with the same value %.40s (round %zu); "
                        "allow repeats (design tell --repeats) to count it again",
                        targets[0].text, t->value_round[same]);
}

static lth_status add_row(telling *t, size_t row, const lth__campaign_cell *targets) {
    lth_design *d = t->design;
    LTH_TRY(refuse_repeat(t, row, targets));
    for (size_t j = 0; j < d->target_count; j++) {
        if (targets[j].length > 0 || is_complete(t, targets)) continue;
        return lth__fail_at(
            t->err, LTH_EFORMAT, lth_table_file(t->results, row), lth_table_line(t->results, row),
            0, "column \"%.80s\" is empty, of a row that was not asked for", d->targets[j]);
    }
    lth__campaign_row with = {.round = t->round, .mean = NAN, .sd = NAN, .acquisition = NAN};
    LTH_TRY(lth__campaign_append(d, &t->rows, t->results, row, t->columns, with, t->err));
    lth__campaign_cell *cells = (lth__campaign_cell *)t->rows.list[t->rows.count - 1].cells;
    memcpy(cells + d->column_count, targets, d->target_count * sizeof *cells);
    t->told = true;
    return LTH_OK;
}

static lth_status take_result(telling *t, size_t row, lth__campaign_cell *targets) {
    size_t known;
    LTH_TRY(read_targets(t, row, targets, &known));
    if (known == 0) return LTH_OK;
    lth__campaign_key(t->design, t->results, row, t->columns, &t->key);
    if (t->key.failed) return lth__fail_memory(t->err, 0);
    lth__symbol key = lth__symbols_find(t->keys, t->key.bytes, t->key.length);
    if (key != LTH__NO_SYMBOL && t->pending[key] != LTH_NONE) return fill_pending(t, key, targets);
    return add_row(t, row, targets);
}

/* Whether the models can read these texts at all. */
static lth_status check_encoding(const telling *t) {
    lth_design *d = t->design;
    lth_kernel *kernel = NULL;
    lth_encoder *encoder = NULL;
    lth_items *items = NULL;
    lth_status status = lth_kernel_parse(d->ctx, d->expression, &kernel, t->err);
    if (status == LTH_OK) status = lth_kernel_resolve(&kernel, t->results, t->err);
    if (status == LTH_OK) status = lth_encoder_create(d->ctx, kernel, &encoder, t->err);
    if (status == LTH_OK) status = lth_encode(encoder, t->results, &items, t->err);
    lth_items_free(items);
    lth_encoder_free(encoder);
    lth_kernel_free(kernel);
    return status;
}

static lth_status find_columns(telling *t) {
    const lth_design *d = t->design;
    LTH_TRY(lth__campaign_columns(d, t->results, &t->columns, t->err));
    t->targets = lth__alloc(d->target_count, sizeof *t->targets);
    if (!t->targets) return lth__fail_memory(t->err, 0);
    for (size_t j = 0; j < d->target_count; j++) {
        LTH_TRY(lth__table_column_at(t->results, d->targets[j], &t->targets[j], t->err));
        if (lth__table_kind(t->results, t->targets[j]) == LTH__COLUMN_VECTORS)
            return lth__fail(t->err, LTH_EARG, "the target \"%.80s\" has vectors", d->targets[j]);
    }
    return LTH_OK;
}

static lth_status take_results(telling *t) {
    lth_design *d = t->design;
    lth__campaign_cell *targets = lth__alloc(d->target_count, sizeof *targets);
    if (!targets) return lth__fail_memory(t->err, 0);
    lth_status status = LTH_OK;
    for (size_t i = 0; i < lth_table_rows(t->results) && status == LTH_OK; i++)
        status = take_result(t, i, targets);
    lth__free(targets);
    return status;
}

/* An error in a row of the campaign is one of the results, where they have that row. */
static void place_error(telling *t) {
    lth__string key = {0};
    size_t row = t->err->line - 1;
    if (row >= t->rows.count) return;
    lth__campaign_row_key(t->design, &t->rows.list[row], &key);
    for (size_t i = 0; i < lth_table_rows(t->results) && !key.failed; i++) {
        lth__campaign_key(t->design, t->results, i, t->columns, &t->key);
        if (t->key.failed || t->key.length != key.length ||
            memcmp(t->key.bytes, key.bytes, key.length) != 0)
            continue;
        snprintf(t->err->file, sizeof t->err->file, "%s", lth_table_file(t->results, i));
        t->err->line = lth_table_line(t->results, i);
        break;
    }
    lth__string_free(&key);
}

/* Whether all rows go together, as sequences of one length must where sites are compared. */
static lth_status check_together(telling *t) {
    lth_design *d = t->design;
    lth_kernel *kernel = NULL;
    lth_status status = lth_kernel_parse(d->ctx, d->expression, &kernel, t->err);
    if (status == LTH_OK) status = lth_kernel_resolve(&kernel, t->rows.table, t->err);
    if (status == LTH_EFORMAT && t->err && t->err->line > 0) place_error(t);
    lth_kernel_free(kernel);
    return status;
}

static lth_status end_telling(telling *t, lth_status status) {
    if (status == LTH_OK && t->told) {
        status = lth__campaign_seal(t->design, &t->rows, t->err);
        if (status == LTH_OK && t->rows.count > 0) status = check_together(t);
        if (status == LTH_OK) status = lth__campaign_save_rows(t->design, &t->rows, t->err);
        if (status == LTH_OK) lth__campaign_replace(t->design, &t->rows);
    }
    lth__campaign_drop(&t->rows);
    lth__symbols_free(t->keys);
    lth__symbols_free(t->values);
    lth__free(t->pending);
    lth__free(t->key_of);
    lth__free(t->value_round);
    lth__free(t->columns);
    lth__free(t->targets);
    lth__string_free(&t->key);
    return status;
}

static lth_status tell(lth_design *d, const lth_table *results, lth_error *err) {
    telling t = {.design = d, .results = results, .round = d->report.rounds + 1, .err = err};
    lth_status status = find_columns(&t);
    if (status == LTH_OK) status = check_encoding(&t);
    if (status == LTH_OK) t.labels = finds_labels(&t);
    if (status == LTH_OK) status = note_rows(&t);
    if (status == LTH_OK) status = lth__campaign_branch(d, &t.rows, err);
    if (status == LTH_OK) status = take_results(&t);
    return end_telling(&t, status);
}

lth_status lth_design_tell(lth_design *design, const lth_table *results, lth_error *err) {
    int lock;
    LTH_TRY(lth__campaign_lock(design, &lock, err));
    lth_status status = tell(design, results, err);
    lth__campaign_unlock(lock);
    return status;
}

/* ---- Forgetting ---- */

static lth_status mark_forgotten(telling *t, size_t row, bool *gone) {
    lth__campaign_key(t->design, t->results, row, t->columns, &t->key);
    if (t->key.failed) return lth__fail_memory(t->err, 0);
    lth__symbol key = lth__symbols_find(t->keys, t->key.bytes, t->key.length);
    size_t i = key == LTH__NO_SYMBOL ? LTH_NONE : t->pending[key];
    if (i == LTH_NONE)
        return lth__fail_at(t->err, LTH_EFORMAT, lth_table_file(t->results, row),
                            lth_table_line(t->results, row), 0, "this row is not pending%s",
                            key == LTH__NO_SYMBOL ? "" : ": it is measured already");
    gone[i] = true;
    t->pending[key] = next_pending(t, key, i);
    t->told = true;
    return LTH_OK;
}

static lth_status forget(lth_design *d, const lth_table *rows, lth_error *err) {
    telling t = {.design = d, .results = rows, .err = err};
    bool *gone = lth__calloc(d->rows.count, sizeof *gone);
    lth_status status = gone ? LTH_OK : lth__fail_memory(err, d->rows.count);
    if (status == LTH_OK) status = lth__campaign_columns(d, rows, &t.columns, err);
    if (status == LTH_OK) status = note_rows(&t);
    if (status == LTH_OK) status = lth__campaign_branch(d, &t.rows, err);
    for (size_t i = 0; i < lth_table_rows(rows) && status == LTH_OK; i++)
        status = mark_forgotten(&t, i, gone);
    if (status == LTH_OK) {
        size_t kept = 0;
        for (size_t i = 0; i < t.rows.count; i++)
            if (!gone[i]) t.rows.list[kept++] = t.rows.list[i];
        t.rows.count = kept;
    }
    lth__free(gone);
    return end_telling(&t, status);
}

lth_status lth_design_forget(lth_design *design, const lth_table *rows, lth_error *err) {
    int lock;
    LTH_TRY(lth__campaign_lock(design, &lock, err));
    lth_status status = forget(design, rows, err);
    lth__campaign_unlock(lock);
    return status;
}
