/* Why a model predicts what it does: what all kinds of models have in common. */
#include "model/explain/explain.h"

#include <math.h>
#include <string.h>

#include "data/table.h"

void lth_explain_options_init(lth_explain_options *options) {
    *options = (lth_explain_options){.size = sizeof *options, .patterns = 10, .rows = 5};
}

lth_explain_options lth__explain_options_complete(const lth_explain_options *given) {
    lth_explain_options options;
    lth_explain_options_init(&options);
    if (given) {
        lth__copy_struct(&options, sizeof options, given, given->size);
        options.size = sizeof options;
    }
    return options;
}

/* ---- Reasons ---- */

lth_reasons *lth__reasons_create(void) {
    lth_reasons *r = lth__calloc(1, sizeof *r);
    if (!r) return NULL;
    r->summary = (lth_reasons_summary){.mean = NAN,
                                       .baseline = NAN,
                                       .missed = NAN,
                                       .sd = NAN,
                                       .distance = NAN,
                                       .noise = NAN,
                                       .prior = NAN,
                                       .probability = NAN,
                                       .trend = NAN,
                                       .predicted = NAN,
                                       .least = NAN,
                                       .most = NAN,
                                       .unit = ""};
    return r;
}

void lth_reasons_free(lth_reasons *r) {
    if (!r) return;
    lth__pool_free(&r->pool);
    lth__free(r->parts);
    lth__free(r->patterns);
    lth__free(r->rows);
    lth__free(r);
}

const lth_reasons_summary *lth_reasons_summarise(const lth_reasons *r) {
    return &r->summary;
}

const lth_reasons_part *lth_reasons_part_at(const lth_reasons *r, size_t i) {
    return i < r->summary.parts ? &r->parts[i] : NULL;
}

const lth_reasons_pattern *lth_reasons_pattern_at(const lth_reasons *r, size_t i) {
    return i < r->summary.patterns ? &r->patterns[i] : NULL;
}

const lth_reasons_row *lth_reasons_row_at(const lth_reasons *r, size_t i) {
    return i < r->summary.rows ? &r->rows[i] : NULL;
}

/* ---- The row ---- */

/* Numbers and vectors of a table from memory stay where they are. */
static bool borrow_columns(const lth_table *table, size_t row, lth_table *to) {
    size_t columns = lth_table_columns(table);
    if (!table->stored) return true;
    to->stored = lth__alloc(columns, sizeof *to->stored);
    if (!to->stored) return false;
    to->cells = table->cells;
    for (size_t c = 0; c < columns; c++) {
        lth__table_column *own = &to->stored[c];
        *own = table->stored[c];
        if (own->numbers) own->numbers += row * own->stride;
        if (own->vectors) own->vectors += row, own->units += row;
    }
    return true;
}

static lth_status copy_row(const lth_table *table, size_t row, lth_table *to, lth_error *err) {
    size_t columns = lth_table_columns(table), used = 0;
    lth__field *fields = lth__calloc(columns + 1, sizeof *fields);
    if (!fields) return lth__fail_memory(err, columns * sizeof *fields);
    bool ok = borrow_columns(table, row, to);
    for (size_t c = 0; c < columns && ok; c++) {
        const char *name = lth_table_column_name(table, c);
        ok = lth__symbols_intern(to->columns, name, strlen(name)) != LTH__NO_SYMBOL;
        if (lth__table_kind(table, c) != LTH__COLUMN_TEXT) continue;
        fields[used].text = lth_table_cell(table, row, c, &fields[used].length);
        ++used;
    }
    lth_status status = ok ? lth__table_append(to, lth_table_line(table, row), fields, NULL, err)
                           : lth__fail_memory(err, 0);
    lth__free(fields);
    return status;
}

lth_status lth__table_pick(const lth_table *table, size_t row, lth_table **out, lth_error *err) {
    lth_table *one = NULL;
    if (row >= lth_table_rows(table))
        return lth__fail(err, LTH_EARG, "the table has no row %zu", row + 1);
    LTH_TRY(lth__table_create(lth_table_file(table, row), &one, err));
    lth_status status = copy_row(table, row, one, err);
    if (status == LTH_OK)
        *out = one;
    else
        lth_table_free(one);
    return status;
}

/* ---- One row ---- */

static void free_shares(lth__shares *shares, size_t count) {
    for (size_t l = 0; shares && l < count; l++) lth__free(shares[l].share);
    lth__free(shares);
}

static lth_status find_shares(const lth__explaining *x, lth__shares *shares, lth_error *err) {
    for (size_t l = 0; l < x->path.leaf_count; l++) {
        const lth__leaf *leaf = &x->path.leaves[l];
        size_t parts = lth__node_parts(leaf->node, x->row.items, 0);
        shares[l].node = leaf->node;
        shares[l].share = lth__alloc(parts, sizeof *shares[l].share);
        if (!shares[l].share) return lth__fail_memory(err, parts * sizeof *shares[l].share);
        LTH_TRY(lth__path_attribute(&x->path, leaf, 0, shares[l].share, err));
    }
    return LTH_OK;
}

static void summarise(const lth__path *p, lth_reasons *r) {
    lth_reasons_summary *s = &r->summary;
    double sum = 0;
    for (size_t i = 0; i < s->parts; i++) sum += r->parts[i].weight;
    s->mean = p->f1;
    s->baseline = p->f0;
    s->missed = s->mean - s->baseline - sum;
    s->exact = p->linear;
}

static lth_status explain_row(const lth__explaining *x, const lth_explain_options *options,
                              lth__shares *shares, lth_reasons *out, lth_error *err) {
    const lth__path *p = &x->path;
    LTH_TRY(find_shares(x, shares, err));
    LTH_TRY(lth__reasons_parts(out, x->table, x->row.items, shares, p->leaf_count, err));
    summarise(p, out);
    for (size_t l = 0; options->patterns > 0 && l < p->leaf_count; l++)
        LTH_TRY(lth__reasons_row_patterns(out, p, &p->leaves[l], shares[l].share, options->patterns,
                                          err));
    lth__reasons_choose_patterns(out, options->patterns, false);
    return lth__reasons_rows(out, p, x->self, options->rows, options->nearest, err);
}

lth_status lth__explain(const lth__explained *model, const lth_table *table, size_t row,
                        const lth_explain_options *options, lth__explaining *x, lth_reasons *out,
                        lth_error *err) {
    LTH_TRY(lth__table_pick(table, row, &x->table, err));
    LTH_TRY(lth__reading_open(model->encoder, x->table, &x->row, err));
    LTH_TRY(lth__path_open(model, x->row.items, &x->path, err));
    const lth__node *root = model->kernel->root;
    LTH_TRY(lth__node_diagonal(root, &x->path.eval, x->row.items, &x->self, NULL, err));
    LTH_TRY(lth__path_weigh(&x->path, 0, true, err));
    lth__shares *shares = lth__calloc(x->path.leaf_count + 1, sizeof *shares);
    if (!shares) return lth__fail_memory(err, 0);
    lth_status status = explain_row(x, options, shares, out, err);
    free_shares(shares, x->path.leaf_count);
    return status;
}

void lth__explaining_close(lth__explaining *x) {
    lth__path_close(&x->path);
    lth__reading_close(&x->row);
    lth_table_free(x->table);
}

/* ---- A model ---- */

enum { SAMPLE = 256 }; /* rows over which omega is averaged */

/* Rows spread over all of them. */
static lth_status take_sample(const lth_items *cols, lth_encoder *encoder, lth_items **out,
                              lth_error *err) {
    size_t count = cols->count < SAMPLE ? cols->count : SAMPLE, item[SAMPLE];
    for (size_t i = 0; i < count; i++) item[i] = i * cols->count / count;
    LTH_TRY(lth__items_pick(cols, item, count, out, err));
    (*out)->encoder = encoder;
    return LTH_OK;
}

static void add_omega(const lth__path *p, double **mean, double factor) {
    for (size_t l = 0; l < p->leaf_count; l++) {
        const lth__leaf *leaf = &p->leaves[l];
        for (size_t i = 0; i < leaf->degrees * p->model->cols->count; i++)
            mean[l][i] += factor * leaf->omega[i];
    }
}

static lth_status average(lth__path *p, size_t rows, double **mean, lth_error *err) {
    for (size_t l = 0; l < p->leaf_count; l++) {
        size_t size = p->leaves[l].degrees * p->model->cols->count;
        mean[l] = lth__calloc(size, sizeof *mean[l]);
        if (!mean[l]) return lth__fail_memory(err, size * sizeof *mean[l]);
    }
    for (size_t r = 0; r < rows; r++) {
        LTH_TRY(lth__path_weigh(p, r, false, err));
        add_omega(p, mean, 1 / (double)rows);
    }
    for (size_t l = 0; l < p->leaf_count; l++) {
        size_t size = p->leaves[l].degrees * p->model->cols->count;
        memcpy(p->leaves[l].omega, mean[l], size * sizeof *mean[l]);
    }
    return LTH_OK;
}

static lth_status average_path(lth__path *p, size_t rows, lth_error *err) {
    double **mean = lth__calloc(p->leaf_count + 1, sizeof *mean);
    if (!mean) return lth__fail_memory(err, 0);
    lth_status status = average(p, rows, mean, err);
    for (size_t l = 0; l < p->leaf_count; l++) lth__free(mean[l]);
    lth__free(mean);
    return status;
}

lth_status lth__explain_patterns(const lth__explained *model, size_t count, lth_reasons *out,
                                 lth_error *err) {
    lth_encoder *encoder = NULL;
    lth_items *sample = NULL;
    lth__path path = {0};
    LTH_TRY(lth__encoder_extend(model->encoder, &encoder, err));
    lth_status status = take_sample(model->cols, encoder, &sample, err);
    if (status == LTH_OK) status = lth__path_open(model, sample, &path, err);
    if (status == LTH_OK) status = average_path(&path, sample->count, err);
    for (size_t l = 0; l < path.leaf_count && status == LTH_OK; l++)
        status = lth__reasons_model_patterns(out, &path, &path.leaves[l], count, err);
    if (status == LTH_OK) lth__reasons_choose_patterns(out, count, true);
    lth__path_close(&path);
    lth_items_free(sample);
    lth_encoder_free(encoder);
    return status;
}
