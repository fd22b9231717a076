/* Word vectors in a model's file, beside those of its training words: where they came from, and,
 * where all are kept, the whole of them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/json_read.h"
#include "kernel/core/field.h"
#include "kernel/core/lookup.h"
#include "model/common/model_file.h"

static const char *const keep_names[] = {
    [LTH_KEEP_USED] = "used", [LTH_KEEP_NONE] = "none", [LTH_KEEP_ALL] = "all"};
enum { KEEPS = sizeof keep_names / sizeof *keep_names };

static void name_part(const char *part, char name[64]) {
    snprintf(name, 64, "vectors.%s", part);
}

/* ---- Saving ---- */

static void put_part(void *user, const char *part, lth__dtype dtype, size_t rows, size_t cols,
                     const void *data) {
    char name[64];
    name_part(part, name);
    lth__saver_put(user, name, dtype, rows, cols, data);
}

static void *keep_part(void *user, void *block) {
    return lth__saver_keep(user, block);
}

static void put_origin(lth__saver *s, const lth_vectors_origin *o) {
    json_t *object =
        json_pack("{s:s, s:I, s:I, s:s}", "name", o->name, "words", (json_int_t)o->words,
                  "dimension", (json_int_t)o->dimension, "keep", keep_names[o->keep]);
    char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;
    json_decref(object);
    s->ok = s->ok && text && lth__tensors_put_text(s->writer, "vectors", text);
    free(text);
}

void lth__saver_put_vectors(lth__saver *s, const lth_encoder *encoder) {
    const lth__lookup *look = encoder->lookup;
    if (!look || !look->name) return;
    put_origin(s, &look->origin);
    s->without_vectors = look->origin.keep == LTH_KEEP_NONE;
    const lth_word_vectors *all = look->all;
    if (!all || !s->ok) return;
    lth__field_saver to = {.user = s, .put = put_part, .keep = keep_part};
    lth__symbols_put(all->words, all->count, &to);
    put_part(s, "bytes", LTH__U8, all->count, all->dimension, all->bytes);
    put_part(s, "scales", LTH__F32, all->count, 0, all->scales);
}

/* ---- Loading ---- */

static lth_status damaged(void *user, const char *what) {
    (void)what;
    return lth__loader_damaged(user, "the word vectors it keeps");
}

static lth_status get_part(void *user, const char *part, lth__dtype dtype, size_t rank, size_t rows,
                           size_t cols, const lth__tensor **out) {
    char name[64];
    name_part(part, name);
    return lth__loader_get(user, name, dtype, rank, rows, cols, out);
}

/* `words` become the table's, or are freed. */
static lth_status load_numbers(lth__loader *l, lth__symbols *words, size_t dimension,
                               lth_word_vectors **out) {
    const lth__tensor *bytes = NULL, *scales = NULL;
    size_t count = lth__symbols_count(words);
    lth_status status = get_part(l, "bytes", LTH__U8, 2, count, dimension, &bytes);
    if (status == LTH_OK) status = get_part(l, "scales", LTH__F32, 1, count, 0, &scales);
    for (size_t i = 0; status == LTH_OK && i < count; i++) {
        float scale = ((const float *)scales->data)[i];
        if (!(scale >= 0) || !isfinite(scale * 128)) status = damaged(l, "");
    }
    uint8_t *b = status == LTH_OK ? lth__alloc(count * dimension, 1) : NULL;
    float *s = status == LTH_OK ? lth__alloc(count, sizeof *s) : NULL;
    if (b && s) {
        memcpy(b, bytes->data, count * dimension);
        memcpy(s, scales->data, count * sizeof *s);
        return lth__word_vectors_of_bytes(words, dimension, b, s, out, l->err);
    }
    lth__free(b);
    lth__free(s);
    lth__symbols_free(words);
    return status == LTH_OK ? lth__fail_memory(l->err, count * dimension) : status;
}

static lth_status load_all(lth__loader *l, lth__lookup *look) {
    lth__field_loader from = {.user = l, .err = l->err, .get = get_part, .damaged = damaged};
    lth__symbols *words = lth__symbols_create();
    lth_word_vectors *all = NULL;
    lth_status status = words ? lth__symbols_get(words, &from) : lth__fail_memory(l->err, 0);
    if (status != LTH_OK) {
        lth__symbols_free(words);
        return status;
    }
    LTH_TRY(load_numbers(l, words, look->origin.dimension, &all));
    look->all = all;
    return LTH_OK;
}

static bool read_keep(const json_t *object, lth_keep_vectors *out) {
    const char *text = json_string_value(json_object_get(object, "keep"));
    for (int i = 0; text && i < KEEPS; i++) {
        if (strcmp(text, keep_names[i]) != 0) continue;
        *out = (lth_keep_vectors)i;
        return true;
    }
    return false;
}

static lth_status load_origin(lth__loader *l, const json_t *object, lth__lookup *look) {
    const char *name = json_string_value(json_object_get(object, "name"));
    json_int_t words = json_integer_value(json_object_get(object, "words"));
    json_int_t dimension = json_integer_value(json_object_get(object, "dimension"));
    if (!name || words < 1 || dimension < 1 || dimension > LTH__MAX_DIMENSION ||
        !read_keep(object, &look->origin.keep))
        return lth__loader_damaged(l, "where its word vectors are from");
    LTH_TRY(lth__lookup_set_origin(look, name, (size_t)words, (size_t)dimension, l->err));
    look->read = look->origin.keep != LTH_KEEP_NONE;
    return LTH_OK;
}

lth_status lth__loader_vectors(lth__loader *l) {
    lth__lookup *look = l->encoder->lookup;
    const char *text = lth__tensors_text(l->file, "vectors");
    if (!look || !text) return LTH_OK;
    json_t *object = NULL;
    lth_status status = lth__json_read(text, strlen(text), 0, &object, NULL, l->err);
    if (status != LTH_ENOMEM) status = load_origin(l, object, look);
    json_decref(object);
    if (status == LTH_OK && look->origin.keep == LTH_KEEP_ALL) status = load_all(l, look);
    return status;
}
