/* What model files of every kind share: the kernel, its fields, and the tools for other arrays. See
 * docs/format.md. */
#include "model/common/model_file.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/table.h"

enum { NO_VECTOR = -1 };

typedef lth__extras extras;
typedef lth__saver saver;
typedef lth__loader loader;

/* ---- Saving ---- */

static void *keep(extras *e, void *block) {
    if (block && lth__reserve((void **)&e->block, &e->capacity, e->count + 1, sizeof *e->block)) {
        e->block[e->count++] = block;
        return block;
    }
    lth__free(block);
    return NULL;
}

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

static const uint8_t is_contextual = 1;

static void save_fields(saver *s, const lth_encoder *encoder, const lth_items *items) {
    for (size_t f = 0; f < encoder->kernel->field_count; f++) {
        const lth__sequences *q = &items->fields[f];
        const lth__lexicon *l = &encoder->lexicons[f];
        if (q->numbers) {
            put_field(s, f, "numbers", LTH__F64, q->count, q->width, q->numbers);
            continue;
        }
        save_vocabulary(s, f, l);
        if (l->forest) save_forest(s, f, l);
        save_sequences(s, f, q);
        if (l->has_vectors) save_vectors(s, f, &l->vectors);
        if (l->contextual) put_field(s, f, "contextual", LTH__U8, 1, 0, &is_contextual);
    }
}

/* What a feature map cannot make again from the rows. */
static void save_kept(saver *s, const lth_encoder *encoder) {
    for (size_t n = 0; n < encoder->kernel->node_count; n++) {
        const lth__feature_space *space = &encoder->spaces[n];
        char name[64];
        snprintf(name, sizeof name, "node.%zu.kept", n);
        if (space->kept) put(s, name, LTH__U8, space->kept_size, 0, space->kept);
    }
}

lth__saver lth__saver_open(void) {
    lth__saver s = {.writer = lth__tensors_writer_create()};
    s.ok = s.writer != NULL;
    return s;
}

static lth_status write_model(lth__tensors_writer *w, const lth__model_to *to, lth_error *err) {
    return to->path ? lth__tensors_write(w, to->path, err)
                    : lth__tensors_write_to(w, to->write, to->user, err);
}

lth_status lth__saver_close(lth__saver *s, const lth__model_to *to, lth_error *err) {
    lth_status status = s->ok ? write_model(s->writer, to, err) : lth__fail_memory(err, 0);
    for (size_t i = 0; i < s->extras.count; i++) lth__free(s->extras.block[i]);
    lth__free(s->extras.block);
    lth__tensors_writer_free(s->writer);
    return status;
}

void *lth__saver_keep(lth__saver *s, void *block) {
    return keep(&s->extras, block);
}

void lth__saver_put(lth__saver *s, const char *name, lth__dtype dtype, size_t rows, size_t cols,
                    const void *data) {
    put(s, name, dtype, rows, cols, data);
}

void lth__saver_put_kernel(lth__saver *s, const char *model, const lth_kernel *kernel) {
    size_t length = lth_kernel_print(kernel, NULL, 0);
    char *expression = keep(&s->extras, lth__alloc(length + 1, 1));
    s->ok = s->ok && expression && length > 0; /* 0 = out of memory */
    if (!s->ok) return;
    s->ok = lth_kernel_print(kernel, expression, length + 1) == length &&
            lth__tensors_put_text(s->writer, "model", model) &&
            lth__tensors_put_text(s->writer, "kernel", expression) &&
            lth__tensors_put_text(s->writer, "made_by", "luthier");
}

void lth__saver_put_list(lth__saver *s, const char *key, char *const *texts, size_t count) {
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) json_array_append_new(list, json_string(texts[i]));
    char *text = list ? json_dumps(list, JSON_COMPACT) : NULL;
    json_decref(list);
    s->ok = s->ok && text && lth__tensors_put_text(s->writer, key, text);
    free(text);
}

void lth__saver_put_fields(lth__saver *s, const lth_encoder *encoder, const lth_items *items) {
    save_fields(s, encoder, items);
    save_kept(s, encoder);
}

/* ---- Loading ---- */

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

static bool is_numbered(const lth__lexicon *lexicon) {
    const lth__vectors *v = &lexicon->vectors;
    size_t symbols = lth__symbols_count(lexicon->symbols);
    if (v->symbols != symbols || v->count != symbols) return false;
    for (size_t i = 0; i < symbols; i++) {
        char name[24];
        snprintf(name, sizeof name, "%zu", i);
        const char *text = lth__symbols_text(lexicon->symbols, (lth__symbol)i, NULL);
        if (v->row_of[i] != (int32_t)i || strcmp(text, name) != 0) return false;
    }
    return true;
}

/* Whether the column had vectors instead of texts: then symbols and vectors go together. */
static lth_status load_contextual(const loader *l, size_t field, lth__lexicon *lexicon) {
    const lth__field_def *def = &l->encoder->kernel->fields[field];
    const lth__tensor *t;
    char name[64];
    snprintf(name, sizeof name, "field.%zu.contextual", field);
    if (!lth__tensors_find(l->file, name)) return LTH_OK;
    LTH_TRY(get(l, name, LTH__U8, 1, 1, 0, &t));
    bool usable = def->kind == LTH__FIELD_TEXT && def->vectors && !def->exact;
    if (*(const uint8_t *)t->data != is_contextual || !usable || !is_numbered(lexicon))
        return damaged(l, "its column of vectors");
    lexicon->contextual = true;
    return LTH_OK;
}

static lth_status load_sequences(const loader *l, size_t field, size_t vocabulary,
                                 lth__sequences *q) {
    const lth__tensor *starts, *symbols;
    size_t rows = l->rows;
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
    const lth_kernel *kernel = l->encoder->kernel;
    for (size_t f = 0; f < kernel->field_count; f++) {
        lth__sequences *q = &l->items->fields[f];
        lth__lexicon *lexicon = &l->encoder->lexicons[f];
        if (kernel->fields[f].kind == LTH__FIELD_NUMBERS) {
            const lth__tensor *t;
            LTH_TRY(get_field(l, f, "numbers", LTH__F64, 2, l->rows, LTH_NONE, &t));
            if (!fits_columns(kernel, f, t->shape[1])) return damaged(l, "its number columns");
            q->count = l->rows;
            q->width = t->shape[1];
            LTH_TRY(copy_numbers(l, t, &q->numbers));
            continue;
        }
        LTH_TRY(load_vocabulary(l, f, lexicon->symbols));
        if (lexicon->forest)
            LTH_TRY(load_trees(l, f, lexicon, q));
        else
            LTH_TRY(load_sequences(l, f, lth__symbols_count(lexicon->symbols), q));
        if (kernel->fields[f].vectors) LTH_TRY(load_vectors(l, f, lexicon));
        LTH_TRY(load_contextual(l, f, lexicon));
    }
    return LTH_OK;
}

/* Whoever keeps something checks it before use; a map that needs it and has none says so. */
static lth_status load_kept(const loader *l) {
    for (size_t n = 0; n < l->encoder->kernel->node_count; n++) {
        lth__feature_space *space = &l->encoder->spaces[n];
        const lth__tensor *t;
        char name[64];
        snprintf(name, sizeof name, "node.%zu.kept", n);
        space->restored = true;
        if (!lth__tensors_find(l->file, name)) continue;
        LTH_TRY(get(l, name, LTH__U8, 1, LTH_NONE, 0, &t));
        space->kept = lth__alloc(t->shape[0], 1);
        if (!space->kept) return lth__fail_memory(l->err, t->shape[0]);
        memcpy(space->kept, t->data, t->shape[0]);
        space->kept_size = t->shape[0];
    }
    return LTH_OK;
}

lth_status lth__loader_damaged(const lth__loader *l, const char *what) {
    return damaged(l, what);
}

lth_status lth__loader_get(const lth__loader *l, const char *name, lth__dtype dtype, size_t rank,
                           size_t rows, size_t cols, const lth__tensor **out) {
    return get(l, name, dtype, rank, rows, cols, out);
}

lth_status lth__loader_copy(const lth__loader *l, const lth__tensor *t, double **out) {
    return copy_numbers(l, t, out);
}

static lth_status copy_list(const lth__loader *l, const json_t *list, const char *what, char ***out,
                            size_t *count) {
    size_t size = json_array_size(list);
    char **texts = lth__calloc(size + 1, sizeof *texts);
    lth_status status = texts ? LTH_OK : lth__fail_memory(l->err, 0);
    for (size_t i = 0; status == LTH_OK && i < size; i++) {
        const char *text = json_string_value(json_array_get(list, i));
        if (!text)
            status = damaged(l, what);
        else if (!(texts[i] = lth__strndup(text, strlen(text))))
            status = lth__fail_memory(l->err, 0);
    }
    if (status == LTH_OK) {
        *out = texts;
        *count = size;
        return LTH_OK;
    }
    for (size_t i = 0; texts && i < size; i++) lth__free(texts[i]);
    lth__free(texts);
    return status;
}

lth_status lth__loader_list(const lth__loader *l, const char *key, size_t least, const char *what,
                            char ***out, size_t *count) {
    const char *text = lth__tensors_text(l->file, key);
    json_t *list = text ? json_loads(text, 0, NULL) : NULL;
    lth_status status = json_is_array(list) && json_array_size(list) >= least
                            ? copy_list(l, list, what, out, count)
                            : damaged(l, what);
    json_decref(list);
    return status;
}

lth_status lth__model_read(lth_ctx *ctx, const lth__model_from *from, lth__load_fn *load,
                           lth_model **out, lth_error *err) {
    lth__loader in = {.path = from->path ? from->path : "", .err = err};
    LTH_TRY(from->path ? lth__tensors_read(from->path, &in.file, err)
                       : lth__tensors_read_from(from->bytes, from->size, &in.file, err));
    lth_status status = load(ctx, &in, out);
    lth__tensors_free(in.file);
    return status;
}

lth_status lth__loader_kernel(lth__loader *l, lth_ctx *ctx, const char *model,
                              const char *otherwise, lth_kernel **kernel, lth_encoder **encoder) {
    const char *kind = lth__tensors_text(l->file, "model");
    const char *expression = lth__tensors_text(l->file, "kernel");
    if (!kind || strcmp(kind, model) != 0 || !expression) return damaged(l, otherwise);
    LTH_TRY(lth_kernel_parse(ctx, expression, kernel, l->err));
    if (lth_encoder_create(ctx, *kernel, encoder, l->err) == LTH_EARG)
        return damaged(l, "its kernel has symbols=all");
    if (!*encoder) return LTH_ENOMEM;
    l->encoder = *encoder;
    return LTH_OK;
}

lth_status lth__loader_fields(lth__loader *l, size_t rows, lth_items **out) {
    l->rows = rows;
    LTH_TRY(lth__items_create(l->encoder, rows, out, l->err));
    l->items = *out;
    LTH_TRY(load_fields(l));
    LTH_TRY(load_kept(l));
    return lth__items_features(l->items, l->err);
}

/* ---- What a file is ---- */

enum { MOST_HEADER = 100000000 };

/* The header of a file as JSON, or NULL. */
static json_t *read_header(FILE *stream) {
    unsigned char length[8];
    size_t size = 0;
    if (fread(length, 1, sizeof length, stream) != sizeof length) return NULL;
    for (size_t i = sizeof length; i-- > 0;) {
        if (size > MOST_HEADER) return NULL;
        size = size << 8 | length[i];
    }
    if (size > MOST_HEADER) return NULL;
    char *text = lth__alloc(size + 1, 1);
    size_t got = text ? fread(text, 1, size, stream) : 0;
    json_t *header = text && got == size ? json_loadb(text, size, 0, NULL) : NULL;
    lth__free(text);
    return header;
}

lth_status lth_model_kind(const char *path, char kind[16], lth_error *err) {
    FILE *stream = fopen(path, "rbe");
    if (!stream) return lth__fail_at(err, LTH_EIO, path, 0, 0, "cannot open: %s", strerror(errno));
    json_t *header = read_header(stream);
    fclose(stream);
    const json_t *texts = json_object_get(header, "__metadata__");
    const char *model = json_string_value(json_object_get(texts, "model"));
    bool known = model && strlen(model) < 16;
    if (known) strcpy(kind, model);
    json_decref(header);
    return known ? LTH_OK
                 : lth__fail_at(err, LTH_EFORMAT, path, 0, 0, "this is not a model of luthier");
}
