#include "kernel/feature/task_field.h"

#include <stdlib.h>
#include <string.h>

#include "data/table.h"

/* ---- Cells ---- */

/* A column of tasks that is being read. */
typedef struct reader {
    const lth_table *table;
    size_t column;
    const char *name;    /* of the column             */
    lth__symbols *tasks; /* those known until now */
    lth_error *err;
} reader;

static lth_status open_reader(reader *r, const lth__field_def *def, const lth_table *table,
                              lth_error *err) {
    *r = (reader){.table = table, .name = def->column, .err = err};
    LTH_TRY(lth__table_column_at(table, def->column, &r->column, err));
    LTH_TRY(lth__table_want(table, r->column, LTH__COLUMN_TEXT, "the kernel reads tasks", err));
    r->tasks = lth__symbols_create();
    return r->tasks ? LTH_OK : lth__fail_memory(err, 0);
}

static lth_status take_cell(const reader *r, size_t row, const char **text, size_t *length) {
    *text = lth_table_cell(r->table, row, r->column, length);
    if (*length > 0) return LTH_OK;
    return lth__fail_at(r->err, LTH_EFORMAT, lth_table_file(r->table, row),
                        lth_table_line(r->table, row), 0,
                        "this row has no task: its cell of column \"%s\" is empty", r->name);
}

/* ---- The tasks of a table ---- */

enum { MOST_TASKS = 1000 }; /* more look like a wrong column */

static lth_status collect(const reader *r) {
    if (lth_table_rows(r->table) == 0)
        return lth__fail_at(r->err, LTH_EFORMAT, lth_table_name(r->table), 0, 0,
                            "the table has no rows, so column \"%s\" names no tasks", r->name);
    for (size_t i = 0; i < lth_table_rows(r->table); i++) {
        const char *text;
        size_t length;
        LTH_TRY(take_cell(r, i, &text, &length));
        if (lth__symbols_intern(r->tasks, text, length) == LTH__NO_SYMBOL)
            return lth__fail_memory(r->err, length);
        if (lth__symbols_count(r->tasks) <= MOST_TASKS) continue;
        return lth__fail_at(r->err, LTH_EFORMAT, lth_table_file(r->table, i),
                            lth_table_line(r->table, i), 0,
                            "column \"%s\" has over %d different values: too many to be tasks",
                            r->name, (int)MOST_TASKS);
    }
    return LTH_OK;
}

typedef struct named {
    const char *text;
    lth__symbol task;
} named;

static int by_name(const void *a, const void *b) {
    return strcmp(((const named *)a)->text, ((const named *)b)->text);
}

static lth_status list_sorted(const reader *r, lth__pool *pool, lth__value *out) {
    size_t count = lth__symbols_count(r->tasks), length;
    named sorted[MOST_TASKS];
    lth__symbol order[MOST_TASKS];
    for (size_t i = 0; i < count; i++)
        sorted[i] = (named){lth__symbols_text(r->tasks, (lth__symbol)i, &length), (lth__symbol)i};
    qsort(sorted, count, sizeof *sorted, by_name);
    for (size_t i = 0; i < count; i++) order[i] = sorted[i].task;
    return lth__names_value(pool, r->tasks, order, count, out, r->err);
}

lth_status lth__tasks_resolve(const lth__node *node, const lth__field_def *field,
                              const lth_table *table, lth__pool *pool, lth__value *out,
                              lth_error *err) {
    (void)node;
    reader r;
    lth_status status = open_reader(&r, field, table, err);
    if (status == LTH_OK) status = collect(&r);
    if (status == LTH_OK) status = list_sorted(&r, pool, out);
    lth__symbols_free(r.tasks);
    return status;
}

/* ---- Encoding ---- */

static lth_status fail_unknown(const reader *r, size_t row, lth__names known, const char *text,
                               size_t length) {
    enum { LISTED = 8, LONGEST = 40 };
    lth__string list = {0};
    for (size_t i = 0; i < known.count && i < LISTED; i++)
        lth__string_format(&list, "%s%s", i > 0 ? ", " : "", known.name[i]);
    if (known.count > LISTED) lth__string_format(&list, ", ... (%zu in all)", known.count);
    lth_status status = lth__fail_at(
        r->err, LTH_EFORMAT, lth_table_file(r->table, row), lth_table_line(r->table, row), 0,
        "unknown task \"%.*s\"; the model knows %s", length > LONGEST ? LONGEST : (int)length, text,
        list.failed || !list.bytes ? "others" : list.bytes);
    lth__string_free(&list);
    return status;
}

static lth_status encode_rows(const reader *r, lth__names known, lth__sequences *out) {
    for (size_t i = 0; i < known.count; i++) {
        if (lth__symbols_intern(r->tasks, known.name[i], strlen(known.name[i])) == LTH__NO_SYMBOL)
            return lth__fail_memory(r->err, 0);
    }
    for (size_t i = 0; i < out->count; i++) {
        const char *text;
        size_t length;
        LTH_TRY(take_cell(r, i, &text, &length));
        out->symbols[i] = lth__symbols_find(r->tasks, text, length);
        if (out->symbols[i] == LTH__NO_SYMBOL) return fail_unknown(r, i, known, text, length);
        out->start[i + 1] = i + 1;
    }
    return LTH_OK;
}

static lth_status encode(lth__lexicon *l, const lth_table *table, bool first, lth__sequences *out,
                         lth_error *err) {
    (void)first;
    size_t rows = lth_table_rows(table);
    *out = (lth__sequences){.count = rows,
                            .longest = 1,
                            .start = lth__calloc(rows + 1, sizeof *out->start),
                            .symbols = lth__alloc(rows, sizeof *out->symbols)};
    if (!out->start || !out->symbols) return lth__fail_memory(err, rows * sizeof *out->start);
    reader r;
    lth_status status = open_reader(&r, l->def, table, err);
    if (status == LTH_OK) status = encode_rows(&r, l->def->tasks, out);
    lth__symbols_free(r.tasks);
    return status;
}

/* ---- In a file: the names are part of the expression ---- */

static void save(const lth__lexicon *l, const lth__sequences *s, const lth__field_saver *to) {
    (void)l;
    size_t first = s->start[0];
    const lth__symbol none = 0;
    to->put(to->user, "tasks", LTH__U32, s->count, 0, s->count > 0 ? s->symbols + first : &none);
}

static lth_status load(lth__lexicon *l, const lth__field_loader *from, lth__sequences *out) {
    const lth__tensor *t;
    LTH_TRY(from->get(from->user, "tasks", LTH__U32, 1, from->rows, 0, &t));
    *out = (lth__sequences){.count = from->rows,
                            .longest = 1,
                            .start = lth__alloc(from->rows + 1, sizeof *out->start),
                            .symbols = lth__alloc(from->rows, sizeof *out->symbols)};
    if (!out->start || !out->symbols)
        return lth__fail_memory(from->err, from->rows * sizeof *out->start);
    memcpy(out->symbols, t->data, from->rows * sizeof *out->symbols);
    for (size_t i = 0; i <= from->rows; i++) out->start[i] = i;
    for (size_t i = 0; i < from->rows; i++) {
        if (out->symbols[i] >= l->def->tasks.count) return from->damaged(from->user, t->name);
    }
    return LTH_OK;
}

/* ---- Parts, and as text again ---- */

static const char *name_of(const lth__lexicon *l, const lth__sequences *s, size_t item) {
    return l->def->tasks.name[lth__task_of(s, item)];
}

static lth_status parts(const lth__lexicon *l, const lth__sequences *s, const lth_table *table,
                        lth__part_fn *take, void *user, lth_error *err) {
    (void)table;
    const char *text = name_of(l, s, 0);
    size_t length = strlen(text);
    lth__part part = {.text = text, .size = length, .length = length, .seen = true};
    return take(user, &part, err);
}

static void write(const lth__lexicon *l, const lth__sequences *s, size_t item, lth__string *out) {
    lth__string_format(out, "%s", name_of(l, s, item));
}

const lth__field_type lth__field_task = {
    .kind = LTH_COLUMN_TEXT,
    .encode = encode,
    .pick = lth__sequences_pick,
    .save = save,
    .load = load,
    .part_count = lth__sequence_length,
    .parts = parts,
    .write = write,
};
