/* Fields of numbers: one column, or a range of them. */
#include <math.h>
#include <string.h>

#include "data/table.h"
#include "kernel/core/field.h"

static lth_status encode(lth__lexicon *l, const lth_table *table, bool first, lth__sequences *out,
                         lth_error *err) {
    (void)first;
    size_t rows = lth_table_rows(table), capacity = 0;
    size_t *columns = NULL;
    *out = (lth__sequences){.count = rows};
    lth_status status =
        lth__columns_find(table->columns, l->def->column, lth_table_name(table),
                          lth__table_header_line(table), &columns, &out->width, &capacity, err);
    if (status == LTH_OK) {
        out->numbers = lth__alloc(rows * out->width, sizeof *out->numbers);
        if (!out->numbers) status = lth__fail_memory(err, rows * out->width * sizeof(double));
    }
    for (size_t i = 0; i < rows && status == LTH_OK; i++) {
        for (size_t c = 0; c < out->width && status == LTH_OK; c++)
            status =
                lth__table_number(table, i, columns[c], &out->numbers[i * out->width + c], err);
    }
    lth__free(columns);
    return status;
}

static lth_status pick(const lth__sequences *from, const size_t *item, size_t count,
                       lth__sequences *to, lth_error *err) {
    *to = (lth__sequences){.count = count, .width = from->width};
    to->numbers = lth__alloc(count * from->width, sizeof *to->numbers);
    if (!to->numbers) return lth__fail_memory(err, count * from->width * sizeof *to->numbers);
    for (size_t i = 0; i < count; i++) {
        memcpy(to->numbers + i * from->width, from->numbers + item[i] * from->width,
               from->width * sizeof *to->numbers);
    }
    return LTH_OK;
}

/* ---- In a file ---- */

static void save(const lth__lexicon *l, const lth__sequences *s, const lth__field_saver *to) {
    (void)l;
    to->put(to->user, "numbers", LTH__F64, s->count, s->width, s->numbers);
}

/* Whether the kernel's number columns can be this many. */
static bool fits_columns(const lth_kernel *kernel, size_t field, size_t width) {
    if (width != 1 && width != lth__columns_count(kernel->fields[field].column)) return false;
    for (size_t n = 0; n < kernel->node_count; n++) {
        const lth__node *node = kernel->nodes[n];
        bool scales =
            node->family == &lth__family_columns && node->field == field && node->param_count > 0;
        if (scales && node->param_count != width) return false;
    }
    return true;
}

static lth_status load(lth__lexicon *l, const lth__field_loader *from, lth__sequences *out) {
    (void)l;
    const lth__tensor *t;
    LTH_TRY(from->get(from->user, "numbers", LTH__F64, 2, from->rows, LTH_NONE, &t));
    if (!fits_columns(from->kernel, from->field, t->shape[1]))
        return from->damaged(from->user, "its number columns");
    *out = (lth__sequences){.count = from->rows, .width = t->shape[1]};
    size_t cells = out->count * out->width;
    out->numbers = lth__alloc(cells, sizeof *out->numbers);
    if (!out->numbers) return lth__fail_memory(from->err, cells * sizeof *out->numbers);
    memcpy(out->numbers, t->data, cells * sizeof *out->numbers);
    for (size_t i = 0; i < cells; i++) {
        if (!isfinite(out->numbers[i])) return from->damaged(from->user, t->name);
    }
    return LTH_OK;
}

/* ---- Parts, and as text again ---- */

static size_t part_count(const lth__sequences *s, size_t item) {
    (void)item;
    return s->width;
}

static lth_status parts(const lth__lexicon *l, const lth__sequences *s, const lth_table *table,
                        lth__part_fn *take, void *user, lth_error *err) {
    size_t *columns = NULL, width = 0, capacity = 0;
    lth_status status = lth__columns_find(table->columns, l->def->column, lth_table_name(table), 1,
                                          &columns, &width, &capacity, err);
    for (size_t k = 0; k < s->width && status == LTH_OK; k++) {
        const char *name = lth_table_column_name(table, columns[k]);
        lth__part part = {.at = k,
                          .text = name,
                          .size = strlen(name),
                          .first = LTH_NONE,
                          .seen = true,
                          .is_column = true};
        status = take(user, &part, err);
    }
    lth__free(columns);
    return status;
}

static void write(const lth__lexicon *l, const lth__sequences *s, size_t item, lth__string *out) {
    (void)l;
    for (size_t c = 0; c < s->width; c++) {
        char number[32];
        lth__print_double(s->numbers[item * s->width + c], number);
        lth__string_format(out, "%s%s", c > 0 ? " " : "", number);
    }
}

const lth__field_type lth__field_numbers = {
    .kind = LTH_COLUMN_NUMBERS,
    .encode = encode,
    .pick = pick,
    .save = save,
    .load = load,
    .part_count = part_count,
    .parts = parts,
    .write = write,
};
