/* Fields of numbers: one column, or a range of them, as they are or scaled. Items hold numbers as
 * they are; the moments of a scaled field are part of its lexicon. */
#include "kernel/feature/number_field.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/context.h"
#include "data/table.h"

/* Kernels multiply numbers: what is too small for that counts as 0, so that no row is alike to
 * another and not to itself. */
static lth_status read_number(const lth_table *table, size_t row, size_t column, double *out,
                              lth_error *err) {
    double x;
    LTH_TRY(lth__table_number(table, row, column, &x, err));
    if (fabs(x) > LTH__MOST_NUMBER)
        return lth__fail_at(err, LTH_EFORMAT, lth_table_file(table, row),
                            lth_table_line(table, row), 0,
                            "%g in column \"%s\" is too large to be squared; divide the column by "
                            "a power of ten",
                            x, lth_table_column_name(table, column));
    *out = fabs(x) < 1 / LTH__MOST_NUMBER ? 0 : x;
    return LTH_OK;
}

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
            status = read_number(table, i, columns[c], &out->numbers[i * out->width + c], err);
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
        bool scales = node->family->rule == LTH__RULE_COLUMNS && node->field == field &&
                      node->param_count > 0;
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

/* Of more numbers than this, people are told so many. */
enum { MOST_WRITTEN = 64 };

static void write(const lth__lexicon *l, const lth__sequences *s, size_t item, lth__string *out) {
    (void)l;
    size_t most = s->width < MOST_WRITTEN ? s->width : MOST_WRITTEN;
    for (size_t c = 0; c < most; c++) {
        char number[32];
        lth__print_double(s->numbers[item * s->width + c], number);
        lth__string_format(out, "%s%s", c > 0 ? " " : "", number);
    }
    if (most < s->width) lth__string_format(out, " ... (%zu numbers)", s->width);
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

/* ---- Scaled ---- */

/* An extension has the moments of its base. */
static bool open(lth__lexicon *l) {
    lth__moments *m = l->own = lth__calloc(1, sizeof *m);
    if (m && l->base) *m = *lth__moments_of(l->base);
    return m != NULL;
}

static void close(lth__lexicon *l) {
    lth__moments *m = l->own;
    if (l->base) return;
    lth__free(m->mean);
    lth__free(m->sd);
}

static bool lend(const lth__lexicon *from, lth__lexicon *to) {
    const lth__moments *lender = from->own;
    lth__moments *m = to->own = lth__alloc(1, sizeof *m);
    if (!m) return false;
    *m = *lender;
    m->mean = lth__alloc(m->width, sizeof *m->mean);
    m->sd = lth__alloc(m->width, sizeof *m->sd);
    if (!m->mean || !m->sd) return false;
    if (m->width > 0) memcpy(m->mean, lender->mean, m->width * sizeof *m->mean);
    if (m->width > 0) memcpy(m->sd, lender->sd, m->width * sizeof *m->sd);
    return true;
}

static bool make_room(lth__moments *m, size_t width) {
    lth__free(m->mean); /* of other rows */
    lth__free(m->sd);
    m->mean = lth__calloc(width, sizeof *m->mean);
    m->sd = lth__calloc(width, sizeof *m->sd);
    m->width = width;
    return m->mean && m->sd;
}

static void measure(lth__moments *m, const lth__sequences *s, size_t column) {
    const double *x = s->numbers + column;
    double n = (double)s->count, mean = 0, square = 0;
    for (size_t i = 0; i < s->count; i++) mean += x[i * s->width] / n;
    for (size_t i = 0; i < s->count; i++) {
        double d = x[i * s->width] - mean;
        square += d * d / n;
    }
    double rounding = n * DBL_EPSILON; /* of the mean */
    bool varies = square > rounding * rounding * mean * mean;
    m->mean[column] = mean;
    m->sd[column] = varies ? sqrt(square) : 0;
}

static lth_status warn(const lth__lexicon *l, size_t column, const lth_ctx *ctx, lth_error *err) {
    lth__string name = {0};
    lth_status status = LTH_OK;
    lth__columns_name(l->def->column, column, &name);
    if (name.failed)
        status = lth__fail_memory(err, 0);
    else
        lth__log(ctx, LTH_LOG_WARNING,
                 "column \"%s\" does not vary among the training rows: scaled, it is 0",
                 name.bytes);
    lth__string_free(&name);
    return status;
}

static lth_status finish(lth__lexicon *l, const lth__sequences *s, bool first, const lth_ctx *ctx,
                         lth_error *err) {
    lth__moments *m = l->own;
    if (!first || m->given) return LTH_OK;
    if (!make_room(m, s->width)) return lth__fail_memory(err, 2 * s->width * sizeof *m->mean);
    for (size_t c = 0; c < s->width && s->count > 0; c++) {
        measure(m, s, c);
        if (!(m->sd[c] > 0)) LTH_TRY(warn(l, c, ctx, err));
    }
    return LTH_OK;
}

static void save_scaled(const lth__lexicon *l, const lth__sequences *s,
                        const lth__field_saver *to) {
    const lth__moments *m = lth__moments_of(l);
    save(l, s, to);
    to->put(to->user, "means", LTH__F64, m->width, 0, m->mean);
    to->put(to->user, "deviations", LTH__F64, m->width, 0, m->sd);
}

static lth_status load_scaled(lth__lexicon *l, const lth__field_loader *from, lth__sequences *out) {
    lth__moments *m = l->own;
    const lth__tensor *mean, *sd;
    LTH_TRY(load(l, from, out));
    LTH_TRY(from->get(from->user, "means", LTH__F64, 1, out->width, 0, &mean));
    LTH_TRY(from->get(from->user, "deviations", LTH__F64, 1, out->width, 0, &sd));
    if (!make_room(m, out->width)) return lth__fail_memory(from->err, 0);
    memcpy(m->mean, mean->data, m->width * sizeof *m->mean);
    memcpy(m->sd, sd->data, m->width * sizeof *m->sd);
    m->given = true;
    for (size_t c = 0; c < m->width; c++) {
        if (!(m->sd[c] >= 0)) return from->damaged(from->user, sd->name);
    }
    return LTH_OK;
}

const lth__field_type lth__field_scaled = {
    .kind = LTH_COLUMN_NUMBERS,
    .learns = true,
    .open = open,
    .close = close,
    .lend = lend,
    .encode = encode,
    .finish = finish,
    .pick = pick,
    .save = save_scaled,
    .load = load_scaled,
    .part_count = part_count,
    .parts = parts,
    .write = write,
};
