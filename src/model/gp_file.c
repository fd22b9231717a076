/* A Gaussian process in one file, and back. See docs/format.md.
 *
 * Texts: model, kernel (the expression with its values), targets (a JSON list). Arrays: weights and
 * factor, target scaling, numbers of the report, and for each field f its vocabulary, vectors and
 * sequences as field.f.*. What is read is checked before it is used: a file can be hostile.
 */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "data/table.h"
#include "model/gp.h"
#include "model/tensors.h"

/* The report as an array of numbers, in this order. */
enum { REPORT_NUMBERS = 18, NO_VECTOR = -1 };

static void report_to_numbers(const lth_gp *gp, double *x) {
    const lth_gp_report *r = &gp->report;
    const lth_metrics *m = &r->loo;
    double all[REPORT_NUMBERS] = {(double)r->rows,
                                  (double)r->iterations,
                                  (double)r->evaluations,
                                  (double)r->starts,
                                  r->evidence,
                                  r->noise,
                                  r->jitter,
                                  r->seconds,
                                  r->converged,
                                  r->interrupted,
                                  (double)r->orders,
                                  (double)m->count,
                                  m->nlpd,
                                  m->mae,
                                  m->rmse,
                                  m->r,
                                  m->r2,
                                  m->coverage};
    memcpy(x, all, sizeof all);
}

/* false if a count is none. */
static bool numbers_to_report(const double *x, lth_gp_report *r) {
    static const size_t counts[] = {0, 1, 2, 3, 10, 11};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        if (!(x[counts[i]] >= 0 && x[counts[i]] <= 1e15)) return false;
    }
    *r = (lth_gp_report){.rows = (size_t)x[0],
                         .iterations = (size_t)x[1],
                         .evaluations = (size_t)x[2],
                         .starts = (size_t)x[3],
                         .evidence = x[4],
                         .noise = x[5],
                         .jitter = x[6],
                         .seconds = x[7],
                         .converged = x[8] != 0,
                         .interrupted = x[9] != 0,
                         .orders = (size_t)x[10],
                         .loo = {.count = (size_t)x[11],
                                 .nlpd = x[12],
                                 .mae = x[13],
                                 .rmse = x[14],
                                 .r = x[15],
                                 .r2 = x[16],
                                 .coverage = x[17]}};
    return r->orders <= sizeof r->nu / sizeof *r->nu;
}

/* ---- Saving ---- */

/* What is written but not part of the model as it stands; freed after the write. */
typedef struct extras {
    void **block;
    size_t count, capacity;
} extras;

static void *keep(extras *e, void *block) {
    if (block && lth__reserve((void **)&e->block, &e->capacity, e->count + 1, sizeof *e->block)) {
        e->block[e->count++] = block;
        return block;
    }
    lth__free(block);
    return NULL;
}

typedef struct saver {
    lth__tensors_writer *writer;
    extras extras;
    bool ok;
} saver;

static void put(saver *s, const char *name, lth__dtype dtype, size_t rows, size_t cols,
                const void *data) {
    lth__tensor t = {.name = name, .dtype = dtype, .rank = 1, .shape = {rows}, .data = data};
    if (cols > 0) {
        t.rank = 2;
        t.shape[1] = cols;
    }
    s->ok = s->ok && data && lth__tensors_put(s->writer, &t);
}

static void put_field(saver *s, size_t field, const char *part, lth__dtype dtype, size_t rows,
                      size_t cols, const void *data) {
    char name[64];
    snprintf(name, sizeof name, "field.%zu.%s", field, part);
    put(s, name, dtype, rows, cols, data);
}

/* All texts of the vocabulary in one block, and where each ends. Words that came later, with rows
 * to predict, are not part of the model. */
static void save_vocabulary(saver *s, size_t field, const lth__lexicon *lexicon) {
    const lth__symbols *symbols = lexicon->symbols;
    size_t count = lexicon->frequencies, bytes = 0, length;
    for (size_t i = 0; i < count; i++) {
        lth__symbols_text(symbols, (lth__symbol)i, &length);
        bytes += length;
    }
    char *texts = keep(&s->extras, lth__alloc(bytes + 1, 1));
    uint64_t *ends = keep(&s->extras, lth__alloc(count + 1, sizeof *ends));
    s->ok = s->ok && texts && ends;
    for (size_t i = 0, at = 0; s->ok && i < count; i++) {
        const char *text = lth__symbols_text(symbols, (lth__symbol)i, &length);
        memcpy(texts + at, text, length);
        ends[i] = at += length;
    }
    put_field(s, field, "texts", LTH__U8, bytes, 0, texts);
    put_field(s, field, "text_ends", LTH__U64, count, 0, ends);
}

static void save_vectors(saver *s, size_t field, const lth__vectors *v) {
    uint32_t *row = keep(&s->extras, lth__alloc(v->symbols + 1, sizeof *row));
    s->ok = s->ok && row;
    for (size_t i = 0; s->ok && i < v->symbols; i++) row[i] = (uint32_t)v->row_of[i];
    put_field(s, field, "vector_rows", LTH__U32, v->symbols, 0, row);
    const float none = 0;
    put_field(s, field, "vectors", LTH__F32, v->count, v->dimension > 0 ? v->dimension : 1,
              v->count > 0 ? v->values : &none);
}

static void save_sequences(saver *s, size_t field, const lth__sequences *q) {
    uint64_t *start = keep(&s->extras, lth__alloc(q->count + 1, sizeof *start));
    s->ok = s->ok && start;
    for (size_t i = 0; s->ok && i <= q->count; i++) start[i] = q->start[i] - q->start[0];
    put_field(s, field, "starts", LTH__U64, q->count + 1, 0, start);
    size_t units = q->start[q->count] - q->start[0];
    const lth__symbol none = 0;
    put_field(s, field, "symbols", LTH__U32, units, 0,
              units > 0 ? q->symbols + q->start[0] : &none);
}

/* The subtrees of the training trees: labels, and children one list after another. */
static void save_forest(saver *s, size_t field, const lth__lexicon *lexicon) {
    const lth__forest *f = lexicon->forest;
    size_t count = lexicon->known_subtrees;
    uint32_t *labels = keep(&s->extras, lth__alloc(count + 1, sizeof *labels));
    uint64_t *ends = keep(&s->extras, lth__alloc(count + 1, sizeof *ends));
    s->ok = s->ok && labels && ends;
    size_t children = 0;
    for (size_t u = 0; s->ok && u < count; u++) {
        labels[u] = f->subtrees[u].label;
        ends[u] = children += f->subtrees[u].children;
    }
    put_field(s, field, "tree_labels", LTH__U32, count, 0, labels);
    put_field(s, field, "tree_child_ends", LTH__U64, count, 0, ends);
    const uint32_t none = 0;
    put_field(s, field, "tree_children", LTH__U32, children, 0, children > 0 ? f->children : &none);
}

static void save_fields(saver *s, const lth_gp *gp) {
    for (size_t f = 0; f < gp->kernel->field_count; f++) {
        const lth__sequences *q = &gp->items->fields[f];
        const lth__lexicon *l = &gp->encoder->lexicons[f];
        if (q->numbers) {
            put_field(s, f, "numbers", LTH__F64, q->count, q->width, q->numbers);
            continue;
        }
        save_vocabulary(s, f, l);
        if (l->forest) save_forest(s, f, l);
        save_sequences(s, f, q);
        if (l->has_vectors) save_vectors(s, f, &l->vectors);
    }
}

static char *print_targets(const lth_gp *gp) {
    json_t *list = json_array();
    for (size_t t = 0; t < gp->target_count; t++)
        json_array_append_new(list, json_string(gp->targets[t].name));
    char *text = list ? json_dumps(list, JSON_COMPACT) : NULL;
    json_decref(list);
    return text;
}

static void save_texts(saver *s, const lth_gp *gp) {
    size_t length = lth_kernel_print(gp->kernel, NULL, 0);
    char *expression = keep(&s->extras, lth__alloc(length + 1, 1));
    char *targets = print_targets(gp);
    s->ok = s->ok && expression && targets;
    if (s->ok) {
        lth_kernel_print(gp->kernel, expression, length + 1);
        s->ok = lth__tensors_put_text(s->writer, "model", "gp") &&
                lth__tensors_put_text(s->writer, "kernel", expression) &&
                lth__tensors_put_text(s->writer, "targets", targets) &&
                lth__tensors_put_text(s->writer, "made_by", "luthier");
    }
    free(targets);
}

static void save_numbers(saver *s, const lth_gp *gp) {
    size_t n = gp->rows, t = gp->target_count, params = gp->kernel->param_count + 1;
    double *report = keep(&s->extras, lth__alloc(REPORT_NUMBERS, sizeof *report));
    double *scaling = keep(&s->extras, lth__alloc(2 * t, sizeof *scaling));
    double *noise = keep(&s->extras, lth__alloc(2, sizeof *noise));
    uint8_t *flags = keep(&s->extras, lth__alloc(2 * params, 1));
    s->ok = s->ok && report && scaling && noise && flags;
    if (!s->ok) return;
    report_to_numbers(gp, report);
    for (size_t k = 0; k < t; k++) {
        scaling[2 * k] = gp->targets[k].shift;
        scaling[2 * k + 1] = gp->targets[k].scale;
    }
    noise[0] = gp->noise;
    noise[1] = gp->jitter;
    for (size_t p = 0; p < params; p++) {
        flags[2 * p] = gp->held[p];
        flags[2 * p + 1] = gp->at_bound[p];
    }
    put(s, "report", LTH__F64, REPORT_NUMBERS, 0, report);
    put(s, "nu", LTH__F64, 64, 0, gp->report.nu);
    put(s, "order_share", LTH__F64, 64, 0, gp->report.order_share);
    put(s, "scaling", LTH__F64, t, 2, scaling);
    put(s, "noise", LTH__F64, 2, 0, noise);
    put(s, "start", LTH__F64, params, 0, gp->start);
    put(s, "flags", LTH__U8, params, 2, flags);
    put(s, "y", LTH__F64, n, t, gp->y);
    put(s, "alpha", LTH__F64, n, t, gp->alpha);
    put(s, "factor", LTH__F64, n, n, gp->L);
}

lth_status lth_gp_save(const lth_gp *gp, const char *path, lth_error *err) {
    saver s = {.writer = lth__tensors_writer_create()};
    s.ok = s.writer != NULL;
    if (s.ok) save_texts(&s, gp);
    if (s.ok) save_numbers(&s, gp);
    if (s.ok) save_fields(&s, gp);
    lth_status status = s.ok ? lth__tensors_write(s.writer, path, err) : lth__fail_memory(err, 0);
    for (size_t i = 0; i < s.extras.count; i++) lth__free(s.extras.block[i]);
    lth__free(s.extras.block);
    lth__tensors_writer_free(s.writer);
    return status;
}

/* ---- Loading ---- */

typedef struct loader {
    const char *path;
    lth__tensors *file;
    lth_gp *gp;
    lth_error *err;
} loader;

static lth_status damaged(const loader *l, const char *what) {
    return lth__fail_at(l->err, LTH_EFORMAT, l->path, 0, 0, "the model is damaged: %s", what);
}

static lth_status get(const loader *l, const char *name, lth__dtype dtype, size_t rank, size_t rows,
                      size_t cols, const lth__tensor **out) {
    LTH_TRY(lth__tensors_get(l->file, name, dtype, rank, out, l->err));
    bool fits = (rows == LTH_NONE || (*out)->shape[0] == rows) &&
                (rank < 2 || cols == LTH_NONE || (*out)->shape[1] == cols);
    return fits ? LTH_OK : damaged(l, name);
}

static lth_status get_field(const loader *l, size_t field, const char *part, lth__dtype dtype,
                            size_t rank, size_t rows, size_t cols, const lth__tensor **out) {
    char name[64];
    snprintf(name, sizeof name, "field.%zu.%s", field, part);
    return get(l, name, dtype, rank, rows, cols, out);
}

/* A copy of an array's numbers, all of which must be finite. */
static lth_status copy_numbers(const loader *l, const lth__tensor *t, double **out) {
    size_t count = t->shape[0] * (t->rank > 1 ? t->shape[1] : 1);
    const double *from = t->data;
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(from[i])) return damaged(l, t->name);
    }
    *out = lth__alloc(count, sizeof **out);
    if (!*out) return lth__fail_memory(l->err, count * sizeof **out);
    memcpy(*out, from, count * sizeof **out);
    return LTH_OK;
}

static lth_status load_vocabulary(const loader *l, size_t field, lth__symbols *symbols) {
    const lth__tensor *texts, *ends;
    LTH_TRY(get_field(l, field, "texts", LTH__U8, 1, LTH_NONE, 0, &texts));
    LTH_TRY(get_field(l, field, "text_ends", LTH__U64, 1, LTH_NONE, 0, &ends));
    const uint64_t *end = ends->data;
    uint64_t at = 0;
    for (size_t i = 0; i < ends->shape[0]; i++) {
        if (end[i] < at || end[i] > texts->shape[0]) return damaged(l, "its vocabulary");
        const char *text = (const char *)texts->data + at;
        lth__symbol symbol = lth__symbols_intern(symbols, text, (size_t)(end[i] - at));
        if (symbol == LTH__NO_SYMBOL) return lth__fail_memory(l->err, 0);
        if (symbol != i) return damaged(l, "its vocabulary has a word twice");
        at = end[i];
    }
    return LTH_OK;
}

static lth_status load_vectors(const loader *l, size_t field, lth__lexicon *lexicon) {
    const lth__tensor *rows, *values;
    size_t symbols = lth__symbols_count(lexicon->symbols);
    LTH_TRY(get_field(l, field, "vector_rows", LTH__U32, 1, LTH_NONE, 0, &rows));
    LTH_TRY(get_field(l, field, "vectors", LTH__F32, 2, LTH_NONE, LTH_NONE, &values));
    if (rows->shape[0] > symbols || values->shape[1] == 0) return damaged(l, "its word vectors");
    lth__vectors v = {
        .dimension = values->shape[1], .count = values->shape[0], .symbols = rows->shape[0]};
    v.values = lth__alloc(v.count * v.dimension, sizeof *v.values);
    v.row_of = lth__alloc(v.symbols, sizeof *v.row_of);
    lexicon->vectors = v;
    if (!v.values || !v.row_of) return lth__fail_memory(l->err, 0);
    memcpy(v.values, values->data, v.count * v.dimension * sizeof *v.values);
    for (size_t i = 0; i < v.count * v.dimension; i++) {
        if (!isfinite(v.values[i])) return damaged(l, "its word vectors");
    }
    const uint32_t *row = rows->data;
    for (size_t i = 0; i < v.symbols; i++) {
        if (row[i] != (uint32_t)NO_VECTOR && row[i] >= v.count)
            return damaged(l, "its word vectors");
        v.row_of[i] = (int32_t)row[i];
    }
    lexicon->has_vectors = true;
    lexicon->centre_rows = v.count;
    return LTH_OK;
}

static lth_status load_sequences(const loader *l, size_t field, size_t vocabulary,
                                 lth__sequences *q) {
    const lth__tensor *starts, *symbols;
    size_t rows = l->gp->rows;
    LTH_TRY(get_field(l, field, "starts", LTH__U64, 1, rows + 1, 0, &starts));
    LTH_TRY(get_field(l, field, "symbols", LTH__U32, 1, LTH_NONE, 0, &symbols));
    size_t units = symbols->shape[0];
    q->count = rows;
    q->start = lth__alloc(rows + 1, sizeof *q->start);
    q->symbols = lth__alloc(units, sizeof *q->symbols);
    if (!q->start || !q->symbols) return lth__fail_memory(l->err, 0);
    memcpy(q->symbols, symbols->data, units * sizeof *q->symbols);
    for (size_t i = 0; i < units; i++) {
        if (q->symbols[i] >= vocabulary) return damaged(l, "its training rows");
    }
    const uint64_t *start = starts->data;
    for (size_t i = 0; i <= rows; i++) {
        bool ordered = i == 0 ? start[i] == 0 : start[i] >= start[i - 1];
        if (!ordered || start[i] > units) return damaged(l, "its training rows");
        q->start[i] = (size_t)start[i];
        if (i > 0 && q->start[i] - q->start[i - 1] > q->longest)
            q->longest = q->start[i] - q->start[i - 1];
    }
    return start[rows] == units ? LTH_OK : damaged(l, "its training rows");
}

/* Subtrees must come after their children, have labels that there are, and be all different. */
static lth_status load_forest(const loader *l, size_t field, size_t vocabulary, lth__forest *f) {
    const lth__tensor *labels, *ends, *children;
    LTH_TRY(get_field(l, field, "tree_labels", LTH__U32, 1, LTH_NONE, 0, &labels));
    LTH_TRY(get_field(l, field, "tree_child_ends", LTH__U64, 1, labels->shape[0], 0, &ends));
    LTH_TRY(get_field(l, field, "tree_children", LTH__U32, 1, LTH_NONE, 0, &children));
    const uint32_t *label = labels->data, *child = children->data;
    const uint64_t *end = ends->data;
    uint64_t at = 0;
    for (size_t u = 0; u < labels->shape[0]; u++) {
        if (label[u] >= vocabulary || end[u] < at || end[u] > children->shape[0])
            return damaged(l, "its trees");
        for (uint64_t k = at; k < end[u]; k++) {
            if (child[k] >= u) return damaged(l, "a tree that is part of itself");
        }
        uint32_t subtree = lth__forest_intern(f, label[u], child + at, (size_t)(end[u] - at));
        if (subtree == LTH__NO_SUBTREE) return lth__fail_memory(l->err, 0);
        if (subtree != u) return damaged(l, "it has a tree twice");
        at = end[u];
    }
    return at == children->shape[0] ? LTH_OK : damaged(l, "its trees");
}

/* Each row must be one whole tree. */
static lth_status load_trees(const loader *l, size_t field, lth__lexicon *lexicon,
                             lth__sequences *q) {
    lth__forest *f = lexicon->forest;
    LTH_TRY(load_forest(l, field, lth__symbols_count(lexicon->symbols), f));
    LTH_TRY(load_sequences(l, field, f->count, q));
    for (size_t i = 0; i < q->count; i++) {
        bool is_tree;
        LTH_TRY(lth__forest_check(f, lth__sequence_symbols(q, i), lth__sequence_length(q, i),
                                  &is_tree, l->err));
        if (!is_tree) return damaged(l, "its training trees");
    }
    return LTH_OK;
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

static lth_status load_fields(const loader *l) {
    lth_gp *gp = l->gp;
    for (size_t f = 0; f < gp->kernel->field_count; f++) {
        lth__sequences *q = &gp->items->fields[f];
        lth__lexicon *lexicon = &gp->encoder->lexicons[f];
        if (gp->kernel->fields[f].kind == LTH__FIELD_NUMBERS) {
            const lth__tensor *t;
            LTH_TRY(get_field(l, f, "numbers", LTH__F64, 2, gp->rows, LTH_NONE, &t));
            if (!fits_columns(gp->kernel, f, t->shape[1])) return damaged(l, "its number columns");
            q->count = gp->rows;
            q->width = t->shape[1];
            LTH_TRY(copy_numbers(l, t, &q->numbers));
            continue;
        }
        LTH_TRY(load_vocabulary(l, f, lexicon->symbols));
        if (lexicon->forest) {
            LTH_TRY(load_trees(l, f, lexicon, q));
            continue;
        }
        LTH_TRY(load_sequences(l, f, lth__symbols_count(lexicon->symbols), q));
        if (gp->kernel->fields[f].vectors) LTH_TRY(load_vectors(l, f, lexicon));
    }
    return LTH_OK;
}

static lth_status load_targets(const loader *l) {
    lth_gp *gp = l->gp;
    const char *text = lth__tensors_text(l->file, "targets");
    json_t *list = text ? json_loads(text, 0, NULL) : NULL;
    lth_status status = json_is_array(list) && json_array_size(list) > 0
                            ? LTH_OK
                            : damaged(l, "it names no targets");
    if (status == LTH_OK) {
        gp->target_count = json_array_size(list);
        gp->targets = lth__calloc(gp->target_count, sizeof *gp->targets);
        if (!gp->targets) status = lth__fail_memory(l->err, 0);
    }
    for (size_t t = 0; status == LTH_OK && t < gp->target_count; t++) {
        const char *name = json_string_value(json_array_get(list, t));
        if (!name)
            status = damaged(l, "the name of a target");
        else if (!(gp->targets[t].name = lth__strndup(name, strlen(name))))
            status = lth__fail_memory(l->err, 0);
    }
    json_decref(list);
    return status;
}

static lth_status load_numbers(const loader *l) {
    lth_gp *gp = l->gp;
    const lth__tensor *t;
    size_t params = gp->kernel->param_count + 1;
    LTH_TRY(get(l, "y", LTH__F64, 2, LTH_NONE, gp->target_count, &t));
    gp->rows = t->shape[0];
    if (gp->rows == 0) return damaged(l, "it has no training rows");
    LTH_TRY(copy_numbers(l, t, &gp->y));
    LTH_TRY(get(l, "alpha", LTH__F64, 2, gp->rows, gp->target_count, &t));
    LTH_TRY(copy_numbers(l, t, &gp->alpha));
    LTH_TRY(get(l, "factor", LTH__F64, 2, gp->rows, gp->rows, &t));
    LTH_TRY(copy_numbers(l, t, &gp->L));
    LTH_TRY(get(l, "start", LTH__F64, 1, params, 0, &t));
    LTH_TRY(copy_numbers(l, t, &gp->start));
    LTH_TRY(get(l, "scaling", LTH__F64, 2, gp->target_count, 2, &t));
    for (size_t k = 0; k < gp->target_count; k++) {
        gp->targets[k].shift = ((const double *)t->data)[2 * k];
        gp->targets[k].scale = ((const double *)t->data)[2 * k + 1];
        if (!isfinite(gp->targets[k].shift) || !isfinite(gp->targets[k].scale) ||
            !(gp->targets[k].scale > 0))
            return damaged(l, "scaling");
    }
    LTH_TRY(get(l, "noise", LTH__F64, 1, 2, 0, &t));
    gp->noise = ((const double *)t->data)[0];
    gp->jitter = ((const double *)t->data)[1];
    if (!(gp->noise >= 0) || !isfinite(gp->noise) || !isfinite(gp->jitter))
        return damaged(l, "noise");
    for (size_t i = 0; i < gp->rows; i++) {
        if (!(gp->L[i * gp->rows + i] > 0)) return damaged(l, "factor");
    }
    return LTH_OK;
}

static lth_status load_report(const loader *l) {
    lth_gp *gp = l->gp;
    const lth__tensor *t;
    size_t params = gp->kernel->param_count + 1;
    LTH_TRY(get(l, "report", LTH__F64, 1, REPORT_NUMBERS, 0, &t));
    if (!numbers_to_report(t->data, &gp->report)) return damaged(l, "report");
    LTH_TRY(get(l, "nu", LTH__F64, 1, 64, 0, &t));
    memcpy(gp->report.nu, t->data, sizeof gp->report.nu);
    LTH_TRY(get(l, "order_share", LTH__F64, 1, 64, 0, &t));
    memcpy(gp->report.order_share, t->data, sizeof gp->report.order_share);
    LTH_TRY(get(l, "flags", LTH__U8, 2, params, 2, &t));
    gp->held = lth__calloc(params, sizeof *gp->held);
    gp->at_bound = lth__calloc(params, sizeof *gp->at_bound);
    if (!gp->held || !gp->at_bound) return lth__fail_memory(l->err, 0);
    for (size_t p = 0; p < params; p++) {
        gp->held[p] = ((const uint8_t *)t->data)[2 * p] != 0;
        gp->at_bound[p] = ((const uint8_t *)t->data)[2 * p + 1] != 0;
    }
    return LTH_OK;
}

static lth_status load_all(loader *l) {
    lth_gp *gp = l->gp;
    const char *model = lth__tensors_text(l->file, "model");
    const char *expression = lth__tensors_text(l->file, "kernel");
    if (!model || strcmp(model, "gp") != 0 || !expression)
        return damaged(l, "it is not a Gaussian process");
    LTH_TRY(lth_kernel_parse(&gp->ctx, expression, &gp->kernel, l->err));
    if (lth_encoder_create(&gp->ctx, gp->kernel, &gp->encoder, l->err) == LTH_EARG)
        return damaged(l, "its kernel has symbols=all");
    if (!gp->encoder) return LTH_ENOMEM;
    LTH_TRY(load_targets(l));
    LTH_TRY(load_numbers(l));
    LTH_TRY(load_report(l));
    LTH_TRY(lth__items_create(gp->encoder, gp->rows, &gp->items, l->err));
    LTH_TRY(load_fields(l));
    return lth__items_features(gp->items, l->err);
}

lth_status lth_gp_load(lth_ctx *ctx, const char *path, lth_gp **out, lth_error *err) {
    loader l = {.path = path, .err = err};
    LTH_TRY(lth__tensors_read(path, &l.file, err));
    l.gp = lth__calloc(1, sizeof *l.gp);
    lth_status status = l.gp ? LTH_OK : lth__fail_memory(err, sizeof *l.gp);
    if (status == LTH_OK) {
        l.gp->ctx = *ctx;
        l.gp->ctx.options.progress = NULL;
        status = load_all(&l);
    }
    lth__tensors_free(l.file);
    if (status == LTH_OK)
        *out = l.gp;
    else
        lth_gp_free(l.gp);
    return status;
}
