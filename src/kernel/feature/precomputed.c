/* precomputed(k1..kN1): values of the caller's own, k(i, j) = number j of row i.
 *
 * Each row has its values with the N training rows, in their order, and then with itself: N + 1
 * numbers. Beside these an item keeps which training row it is, so that any choice of them (folds,
 * support rows) can be compared. Nothing is learned; `2 * precomputed(...)` has a variance.
 */
#include <math.h>
#include <string.h>

#include "data/table.h"
#include "kernel/core/field.h"

/* An item: N values, k(i, i), its number among the training rows or -1. */
static double index_of(const lth__sequences *s, size_t item) {
    return s->numbers[(item + 1) * s->width - 1];
}

static const double *values_of(const lth__sequences *s, size_t item) {
    return s->numbers + item * s->width;
}

/* ---- The field ---- */

static lth_status fail_row(const lth_table *table, size_t row, const char *what, double a, double b,
                           lth_error *err) {
    return lth__fail_at(err, LTH_EFORMAT, lth_table_file(table, row), lth_table_line(table, row), 0,
                        "the matrix is not symmetric: %s %.10g and %.10g", what, a, b);
}

static bool differ(double a, double b) {
    return fabs(a - b) > 1e-8 * (fabs(a) + fabs(b));
}

/* The training rows' values make a matrix of N x N, and their own stand on its diagonal. */
static lth_status check_matrix(const lth_table *table, const lth__sequences *s, lth_error *err) {
    size_t n = s->count;
    if (s->width != n + 1)
        return lth__fail_at(err, LTH_EFORMAT, lth_table_name(table), 0, 0,
                            "precomputed wants %zu numbers in each of %zu rows (with each row, and "
                            "with itself), not %zu",
                            n + 1, n, s->width);
    for (size_t i = 0; i < n; i++) {
        const double *k = values_of(s, i);
        if (differ(k[i], k[n]))
            return fail_row(table, i, "with itself the row has", k[i], k[n], err);
        for (size_t j = 0; j < i; j++) {
            double other = values_of(s, j)[i];
            if (differ(k[j], other)) return fail_row(table, i, "a pair has", k[j], other, err);
        }
    }
    return LTH_OK;
}

static lth_status number_items(lth__sequences *s, bool first, lth_error *err) {
    size_t width = s->width + 1;
    double *numbers = lth__alloc(s->count * width, sizeof *numbers);
    if (!numbers) return lth__fail_memory(err, s->count * width * sizeof *numbers);
    for (size_t i = 0; i < s->count; i++) {
        memcpy(numbers + i * width, values_of(s, i), s->width * sizeof *numbers);
        numbers[(i + 1) * width - 1] = first ? (double)i : -1;
    }
    lth__free(s->numbers);
    s->numbers = numbers;
    s->width = width;
    return LTH_OK;
}

static lth_status encode(lth__lexicon *l, const lth_table *table, bool first, lth__sequences *out,
                         lth_error *err) {
    LTH_TRY(lth__field_numbers.encode(l, table, first, out, err));
    if (first) LTH_TRY(check_matrix(table, out, err));
    return number_items(out, first, err);
}

static lth_status pick(const lth__sequences *from, const size_t *item, size_t count,
                       lth__sequences *to, lth_error *err) {
    return lth__field_numbers.pick(from, item, count, to, err);
}

static void save(const lth__lexicon *l, const lth__sequences *s, const lth__field_saver *to) {
    (void)l;
    to->put(to->user, "values", LTH__F64, s->count, s->width, s->numbers);
}

static lth_status load(lth__lexicon *l, const lth__field_loader *from, lth__sequences *out) {
    const lth__tensor *t;
    size_t width = lth__columns_count(l->def->column) + 1;
    LTH_TRY(from->get(from->user, "values", LTH__F64, 2, from->rows, width, &t));
    *out = (lth__sequences){.count = from->rows, .width = width};
    out->numbers = lth__alloc(out->count * width, sizeof *out->numbers);
    if (!out->numbers) return lth__fail_memory(from->err, out->count * width * sizeof(double));
    memcpy(out->numbers, t->data, out->count * width * sizeof *out->numbers);
    for (size_t i = 0; i < out->count * width; i++) {
        double x = out->numbers[i];
        bool is_index = i % width == width - 1, good = isfinite(x);
        if (is_index) good = x >= 0 && x < (double)(width - 2) && x == floor(x);
        if (!good) return from->damaged(from->user, t->name);
    }
    return LTH_OK;
}

/* Its values have no parts: reasons are training rows. */
static size_t part_count(const lth__sequences *s, size_t item) {
    (void)s, (void)item;
    return 0;
}

static lth_status parts(const lth__lexicon *l, const lth__sequences *s, const lth_table *table,
                        lth__part_fn *take, void *user, lth_error *err) {
    (void)l, (void)s, (void)table, (void)take, (void)user, (void)err;
    return LTH_OK;
}

static void write(const lth__lexicon *l, const lth__sequences *s, size_t item, lth__string *out) {
    (void)l;
    lth__string_format(out, "row %.0f", index_of(s, item) + 1);
}

static const lth__field_type field_type = {.kind = LTH_COLUMN_NUMBERS,
                                           .encode = encode,
                                           .pick = pick,
                                           .save = save,
                                           .load = load,
                                           .part_count = part_count,
                                           .parts = parts,
                                           .write = write};

/* ---- The kernel ---- */

static lth_status configure(lth_kernel *kernel, lth__node *node, lth_error *err) {
    lth__field_def field = {.column = node->expr->inputs[0]->name, .type = &field_type};
    return lth__kernel_field(kernel, &field, &node->field, err);
}

static lth_status diagonal(const lth__node *node, const lth__eval *eval, const lth_items *items,
                           double *a, double *slope, lth_error *err) {
    (void)eval, (void)slope, (void)err;
    const lth__sequences *s = &items->fields[node->field];
    for (size_t i = 0; i < s->count; i++) a[i] = values_of(s, i)[s->width - 2];
    return LTH_OK;
}

static lth_status tile(const lth__node *node, const lth__eval *eval, const lth__tile *tile,
                       double *K, lth_error *err) {
    const lth__sequences *s = &eval->rows->fields[node->field],
                         *t = &eval->cols->fields[node->field];
    for (size_t c = 0; c < tile->cols; c++) {
        double index = index_of(t, tile->col[c]);
        if (index < 0)
            return lth__fail(err, LTH_EARG,
                             "precomputed knows rows with training rows, not new rows among "
                             "themselves");
        for (size_t r = 0; r < tile->rows; r++)
            K[r * tile->cols + c] = values_of(s, tile->row[r])[(size_t)index];
    }
    return LTH_OK;
}

static const lth_argument arguments[] = {{0}};

const lth__family lth__family_precomputed = {
    .manual = {.name = "precomputed",
               .help =
                   "a Gram matrix of one's own: each row has its values with the training rows, "
                   "in their order, and then with itself",
               .usage = "precomputed(FIRST..LAST), as in 1 * precomputed(k1..k101) for 100 rows",
               .arguments = arguments,
               .kind = LTH_FAMILY_GIVEN},
    .traits = LTH__TAKES_COLUMN | LTH__TAKES_RANGE,
    .configure = configure,
    .diagonal = diagonal,
    .tile = tile,
};
