/* What model files of every kind share: the kernel, its fields, and the tools for other arrays. See
 * docs/format.md. */
#include "model/common/model_file.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "data/json_read.h"
#include "kernel/core/field.h"
#include "kernel/core/lookup.h"

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

static void put_any(saver *s, const char *name, lth__dtype dtype, size_t rows, size_t cols,
                    const void *data) {
    lth__tensor t = {.name = name, .dtype = dtype, .rank = 1, .shape = {rows}, .data = data};
    if (cols > 0) {
        t.rank = 2;
        t.shape[1] = cols;
    }
    s->ok = s->ok && data && lth__tensors_put(s->writer, &t);
}

static bool is_finite_array(lth__dtype dtype, size_t count, const void *data) {
    const double *x = data;
    const float *single = data;
    bool finite = true;
    for (size_t i = 0; dtype == LTH__F64 && i < count; i++) finite &= isfinite(x[i]) != 0;
    for (size_t i = 0; dtype == LTH__F32 && i < count; i++) finite &= isfinite(single[i]) != 0;
    return finite;
}

/* What could not be read again is noted, and not written. */
static void put(saver *s, const char *name, lth__dtype dtype, size_t rows, size_t cols,
                const void *data) {
    put_any(s, name, dtype, rows, cols, data);
    size_t count = cols > 0 ? rows * cols : rows;
    if (s->ok && !is_finite_array(dtype, count, data)) lth__saver_damage(s, name);
}

/* A field's arrays, "field.F.PART". */
typedef struct field_saver {
    saver *s;
    size_t field;
} field_saver;

static void put_part(void *user, const char *part, lth__dtype dtype, size_t rows, size_t cols,
                     const void *data) {
    const field_saver *f = user;
    char name[64];
    snprintf(name, sizeof name, "field.%zu.%s", f->field, part);
    put(f->s, name, dtype, rows, cols, data);
}

static void *keep_part(void *user, void *block) {
    return keep(&((const field_saver *)user)->s->extras, block);
}

static void save_fields(saver *s, const lth_encoder *encoder, const lth_items *items) {
    for (size_t f = 0; f < encoder->kernel->field_count; f++) {
        field_saver user = {s, f};
        lth__field_saver to = {.user = &user,
                               .put = put_part,
                               .keep = keep_part,
                               .without_vectors = s->without_vectors};
        encoder->kernel->fields[f].type->save(&encoder->lexicons[f], &items->fields[f], &to);
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

static lth_status fail_damage(const lth__saver *s, lth_error *err) {
    return lth__fail(err, LTH_ENUMERIC,
                     "the model would have numbers that are not finite (%s): check the numbers in "
                     "the table, and the values that options give",
                     s->damage);
}

lth_status lth__saver_close(lth__saver *s, const lth__model_to *to, lth_error *err) {
    lth_status status = !s->ok         ? lth__fail_memory(err, 0)
                        : s->damage[0] ? fail_damage(s, err)
                                       : write_model(s->writer, to, err);
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

void lth__saver_damage(lth__saver *s, const char *name) {
    if (!s->damage[0]) snprintf(s->damage, sizeof s->damage, "%.31s", name);
}

void lth__saver_put_gaps(lth__saver *s, const char *name, size_t rows, size_t cols,
                         const double *data) {
    put_any(s, name, LTH__F64, rows, cols, data);
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
    bool whole = list != NULL;
    for (size_t i = 0; whole && i < count; i++)
        whole = json_array_append_new(list, json_string(texts[i])) == 0;
    char *text = whole ? json_dumps(list, JSON_COMPACT) : NULL;
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

static size_t count_of(const lth__tensor *t) {
    return t->shape[0] * (t->rank > 1 ? t->shape[1] : 1);
}

static lth_status get_any(const loader *l, const char *name, lth__dtype dtype, size_t rank,
                          size_t rows, size_t cols, const lth__tensor **out) {
    LTH_TRY(lth__tensors_get(l->file, name, dtype, rank, out, l->err));
    bool fits = (rows == LTH_NONE || (*out)->shape[0] == rows) &&
                (rank < 2 || cols == LTH_NONE || (*out)->shape[1] == cols);
    return fits ? LTH_OK : damaged(l, name);
}

static lth_status get(const loader *l, const char *name, lth__dtype dtype, size_t rank, size_t rows,
                      size_t cols, const lth__tensor **out) {
    LTH_TRY(get_any(l, name, dtype, rank, rows, cols, out));
    return is_finite_array(dtype, count_of(*out), (*out)->data) ? LTH_OK : damaged(l, name);
}

typedef struct field_loader {
    const loader *l;
    size_t field;
} field_loader;

static bool has_part(void *user, const char *part) {
    const field_loader *f = user;
    char name[64];
    snprintf(name, sizeof name, "field.%zu.%s", f->field, part);
    return lth__tensors_find(f->l->file, name) != NULL;
}

static lth_status get_part(void *user, const char *part, lth__dtype dtype, size_t rank, size_t rows,
                           size_t cols, const lth__tensor **out) {
    const field_loader *f = user;
    char name[64];
    snprintf(name, sizeof name, "field.%zu.%s", f->field, part);
    return get(f->l, name, dtype, rank, rows, cols, out);
}

static lth_status damaged_part(void *user, const char *what) {
    return damaged(((const field_loader *)user)->l, what);
}

static lth_status load_fields(const loader *l) {
    const lth_kernel *kernel = l->encoder->kernel;
    const lth__lookup *look = l->encoder->lookup;
    for (size_t f = 0; f < kernel->field_count; f++) {
        field_loader user = {l, f};
        lth__field_loader from = {.user = &user,
                                  .kernel = kernel,
                                  .field = f,
                                  .rows = l->rows,
                                  .err = l->err,
                                  .has = has_part,
                                  .get = get_part,
                                  .damaged = damaged_part,
                                  .without_vectors = look && look->origin.keep == LTH_KEEP_NONE};
        LTH_TRY(
            kernel->fields[f].type->load(&l->encoder->lexicons[f], &from, &l->items->fields[f]));
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

lth_status lth__loader_get_gaps(const lth__loader *l, const char *name, size_t rank, size_t rows,
                                size_t cols, const lth__tensor **out) {
    return get_any(l, name, LTH__F64, rank, rows, cols, out);
}

lth_status lth__loader_copy(const lth__loader *l, const lth__tensor *t, double **out) {
    size_t count = count_of(t);
    *out = lth__alloc(count, sizeof **out);
    if (!*out) return lth__fail_memory(l->err, count * sizeof **out);
    memcpy(*out, t->data, count * sizeof **out);
    return LTH_OK;
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
    json_t *list = NULL;
    lth_status status =
        text ? lth__json_read(text, strlen(text), 0, &list, NULL, l->err) : LTH_EFORMAT;
    if (status == LTH_OK && (!json_is_array(list) || json_array_size(list) < least))
        status = LTH_EFORMAT;
    if (status == LTH_EFORMAT)
        damaged(l, what);
    else if (status == LTH_OK)
        status = copy_list(l, list, what, out, count);
    json_decref(list);
    return status;
}

lth_status lth__model_read(lth_ctx *ctx, const lth__model_from *from, lth__load_fn *load,
                           lth_model **out, lth_error *err) {
    lth__loader in = {.path = from->path ? from->path : "", .err = err};
    LTH_TRY(from->path ? lth__tensors_read(ctx ? ctx->relay : NULL, from->path, &in.file, err)
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
    LTH_TRY(lth__kernel_parse_sealed(ctx, expression, kernel, l->err));
    const lth__node *open = lth__kernel_open_node(*kernel);
    if (open) {
        char what[64];
        snprintf(what, sizeof what, "its kernel has %s=all", open->open);
        return damaged(l, what);
    }
    LTH_TRY(lth_encoder_create(ctx, *kernel, encoder, l->err));
    l->encoder = *encoder;
    return LTH_OK;
}

lth_status lth__loader_fields(lth__loader *l, size_t rows, lth_items **out) {
    l->rows = rows;
    LTH_TRY(lth__items_create(l->encoder, rows, out, l->err));
    l->items = *out;
    LTH_TRY(lth__loader_vectors(l));
    LTH_TRY(load_fields(l));
    LTH_TRY(load_kept(l));
    return lth__items_features(l->items, l->err);
}

/* ---- What a file is ---- */

enum { MOST_HEADER = 100000000 };

/* The bytes of a file's header; LTH_EFORMAT = it has none. */
static lth_status read_text(FILE *stream, char **text, size_t *size, lth_error *err) {
    unsigned char length[8];
    *size = 0;
    if (fread(length, 1, sizeof length, stream) != sizeof length) return LTH_EFORMAT;
    for (size_t i = sizeof length; i-- > 0;) {
        if (*size > MOST_HEADER) return LTH_EFORMAT;
        *size = *size << 8 | length[i];
    }
    if (*size > MOST_HEADER) return LTH_EFORMAT;
    *text = lth__alloc(*size + 1, 1);
    if (!*text) return lth__fail_memory(err, *size);
    return fread(*text, 1, *size, stream) == *size ? LTH_OK : LTH_EFORMAT;
}

static lth_status read_header(const char *path, json_t **out, lth_error *err) {
    FILE *stream;
    char *text = NULL;
    size_t size;
    LTH_TRY(lth__file_open(path, &stream, err));
    errno = 0;
    lth_status status = read_text(stream, &text, &size, err);
    if (ferror(stream))
        status = lth__fail_at(err, LTH_EIO, path, 0, 0, "cannot read: %s", strerror(errno));
    fclose(stream);
    if (status == LTH_OK) status = lth__json_read(text, size, 0, out, NULL, err);
    lth__free(text);
    return status;
}

lth_status lth_model_kind(const char *path, char kind[16], lth_error *err) {
    json_t *header = NULL;
    lth_status status = read_header(path, &header, err);
    const json_t *texts = json_object_get(header, "__metadata__");
    const char *model = json_string_value(json_object_get(texts, "model"));
    if (status == LTH_OK && (!model || strlen(model) >= 16)) status = LTH_EFORMAT;
    if (status == LTH_OK) strcpy(kind, model);
    if (status == LTH_EFORMAT)
        lth__fail_at(err, LTH_EFORMAT, path, 0, 0, "this is not a model of luthier");
    json_decref(header);
    return status;
}
