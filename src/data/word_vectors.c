#include "data/word_vectors.h"

#include <math.h>
#include <string.h>

enum { ZERO = 128, STEPS = 127 }; /* of a number in a byte */

/* ---- Making and freeing ---- */

static lth_status create(size_t count, size_t dimension, lth_word_vectors **out, lth_error *err) {
    lth_word_vectors *v = lth__calloc(1, sizeof *v);
    if (!v) return lth__fail_memory(err, sizeof *v);
    atomic_init(&v->references, 1);
    v->count = count;
    v->dimension = dimension;
    *out = v;
    return LTH_OK;
}

const lth_word_vectors *lth__word_vectors_keep(const lth_word_vectors *v) {
    if (v) atomic_fetch_add(&((lth_word_vectors *)v)->references, 1);
    return v;
}

void lth_word_vectors_free(lth_word_vectors *v) {
    if (!v || atomic_fetch_sub(&v->references, 1) > 1) return;
    lth__symbols_free(v->words);
    lth__free(v->values);
    lth__free(v->bytes);
    lth__free(v->scales);
    lth__free(v);
}

/* ---- From the caller's arrays ---- */

static lth_status check_sizes(size_t count, size_t dimension, lth_error *err) {
    if (count == 0 || count >= INT32_MAX)
        return lth__fail(err, LTH_EARG, "%zu word vectors, where there can be 1 to %d", count,
                         INT32_MAX - 1);
    if (dimension == 0 || dimension > LTH__MAX_DIMENSION)
        return lth__fail(err, LTH_EARG, "word vectors of %zu numbers, where they have 1 to %d",
                         dimension, LTH__MAX_DIMENSION);
    return LTH_OK;
}

static lth_status check_finite(const char *word, size_t length, const float *row, size_t dimension,
                               lth_error *err) {
    for (size_t d = 0; d < dimension; d++) {
        if (!isfinite(row[d]))
            return lth__fail(err, LTH_EFORMAT, "number %zu of the vector of '%.*s' is not finite",
                             d + 1, length > 80 ? 80 : (int)length, word);
    }
    return LTH_OK;
}

/* As of a file: a word that comes again keeps its first vector. */
static lth_status copy_words(const lth_ctx *ctx, const char *const *word, const size_t *length,
                             const float *values, size_t count, lth_word_vectors *v,
                             lth_error *err) {
    size_t repeats = 0, first_repeat = 0;
    v->count = 0;
    for (size_t i = 0; i < count; i++) {
        const float *row = values + i * v->dimension;
        if (!word[i]) return lth__fail(err, LTH_EARG, "word %zu is NULL", i + 1);
        size_t size = length ? length[i] : strlen(word[i]);
        LTH_TRY(check_finite(word[i], size, row, v->dimension, err));
        lth__symbol symbol = lth__symbols_intern(v->words, word[i], size);
        if (symbol == LTH__NO_SYMBOL) return lth__fail_memory(err, size);
        if (symbol != v->count) {
            if (repeats++ == 0) first_repeat = i;
            continue;
        }
        memcpy(v->values + v->count++ * v->dimension, row, v->dimension * sizeof *row);
    }
    if (repeats > 0)
        lth__log(ctx, LTH_LOG_WARNING,
                 "%zu word%s more than one vector, as '%.*s' does; the first one is kept", repeats,
                 repeats == 1 ? " has" : "s have",
                 length && length[first_repeat] < 80 ? (int)length[first_repeat] : 80,
                 word[first_repeat]);
    return LTH_OK;
}

lth_status lth_word_vectors_create(lth_ctx *ctx, const char *const *word, const size_t *length,
                                   size_t count, size_t dimension, const float *values,
                                   lth_word_vectors **out, lth_error *err) {
    lth_word_vectors *v = NULL;
    LTH_TRY(check_sizes(count, dimension, err));
    if (!word || !values) return lth__fail(err, LTH_EARG, "words or values are NULL");
    LTH_TRY(create(count, dimension, &v, err));
    v->words = lth__symbols_create();
    v->values =
        count > SIZE_MAX / dimension ? NULL : lth__alloc(count * dimension, sizeof *v->values);
    lth_status status = v->words && v->values
                            ? copy_words(ctx, word, length, values, count, v, err)
                            : lth__fail_memory(err, count * dimension * sizeof *v->values);
    if (status == LTH_OK)
        *out = v;
    else
        lth_word_vectors_free(v);
    return status;
}

/* ---- From a file ---- */

lth_status lth_word_vectors_read(lth_ctx *ctx, const char *path, lth_word_vectors **out,
                                 lth_error *err) {
    lth_word_vectors *v = NULL;
    LTH_TRY(create(0, 0, &v, err));
    lth__vectors read;
    v->words = lth__symbols_create();
    lth_status status = v->words ? lth__vectors_read_all(ctx, path, v->words, &read, err)
                                 : lth__fail_memory(err, 0);
    if (status == LTH_OK) {
        v->values = read.values;
        v->count = read.count;
        v->dimension = read.dimension;
        *out = v;
    } else {
        lth_word_vectors_free(v);
    }
    return status;
}

/* ---- In a byte a number ---- */

static void pack_row(const float *row, size_t dimension, uint8_t *bytes, float *scale) {
    float most = 0;
    for (size_t d = 0; d < dimension; d++) most = fmaxf(most, fabsf(row[d]));
    *scale = most / STEPS;
    for (size_t d = 0; d < dimension; d++) {
        float steps = *scale > 0 ? roundf(row[d] / *scale) : 0;
        bytes[d] = (uint8_t)(ZERO + (int)fminf(fmaxf(steps, -STEPS), STEPS));
    }
}

static void read_row(const lth_word_vectors *v, size_t i, float *out) {
    if (v->values) {
        memcpy(out, v->values + i * v->dimension, v->dimension * sizeof *out);
        return;
    }
    for (size_t d = 0; d < v->dimension; d++)
        out[d] = v->scales[i] * (float)(v->bytes[i * v->dimension + d] - ZERO);
}

static bool copy_symbols(const lth__symbols *from, lth__symbols *to) {
    bool ok = to != NULL;
    for (size_t i = 0; ok && i < lth__symbols_count(from); i++) {
        size_t length;
        const char *text = lth__symbols_text(from, (lth__symbol)i, &length);
        ok = lth__symbols_intern(to, text, length) == i;
    }
    return ok;
}

lth_status lth__word_vectors_pack(const lth_word_vectors *from, lth_word_vectors **out,
                                  lth_error *err) {
    lth_word_vectors *v = NULL;
    LTH_TRY(create(from->count, from->dimension, &v, err));
    size_t numbers = from->count * from->dimension;
    v->words = lth__symbols_create();
    v->bytes = lth__alloc(numbers, 1);
    v->scales = lth__alloc(from->count, sizeof *v->scales);
    float *row = lth__alloc(from->dimension, sizeof *row);
    bool ok = v->bytes && v->scales && row && copy_symbols(from->words, v->words);
    for (size_t i = 0; ok && i < from->count; i++) {
        read_row(from, i, row);
        pack_row(row, from->dimension, v->bytes + i * from->dimension, &v->scales[i]);
    }
    lth__free(row);
    if (ok) {
        *out = v;
        return LTH_OK;
    }
    lth_word_vectors_free(v);
    return lth__fail_memory(err, numbers);
}

lth_status lth__word_vectors_of_bytes(lth__symbols *words, size_t dimension, uint8_t *bytes,
                                      float *scales, lth_word_vectors **out, lth_error *err) {
    lth_word_vectors *v = NULL;
    lth_status status = create(lth__symbols_count(words), dimension, &v, err);
    if (status == LTH_OK) {
        v->words = words;
        v->bytes = bytes;
        v->scales = scales;
        *out = v;
    } else {
        lth__symbols_free(words);
        lth__free(bytes);
        lth__free(scales);
    }
    return status;
}

/* ---- Looking words up ---- */

/* Row `from` of the table for a word of the vocabulary. */
static bool take_row(const lth_word_vectors *from, size_t row, size_t word, size_t *capacity,
                     lth__vectors *v) {
    size_t used = v->count * v->dimension;
    if (!lth__reserve((void **)&v->values, capacity, used + v->dimension, sizeof *v->values))
        return false;
    read_row(from, row, v->values + used);
    v->row_of[word] = (int32_t)v->count++;
    return true;
}

/* In the order of the table, as if it were a file. */
static bool take_in_order(const lth_word_vectors *from, const lth__symbols *vocabulary,
                          lth__vectors *v) {
    size_t capacity = 0, length;
    bool ok = true;
    for (size_t i = 0; ok && i < from->count; i++) {
        const char *text = lth__symbols_text(from->words, (lth__symbol)i, &length);
        lth__symbol symbol = lth__symbols_find(vocabulary, text, length);
        if (symbol != LTH__NO_SYMBOL) ok = take_row(from, i, symbol, &capacity, v);
    }
    return ok;
}

/* Of a few new words, each is looked up. */
static bool take_new(const lth_word_vectors *from, const lth__symbols *vocabulary,
                     lth__vectors *v) {
    size_t capacity = 0, length;
    bool ok = true;
    for (size_t i = v->first; ok && i < v->symbols; i++) {
        const char *text = lth__symbols_text(vocabulary, (lth__symbol)i, &length);
        lth__symbol row = lth__symbols_find(from->words, text, length);
        if (row != LTH__NO_SYMBOL) ok = take_row(from, row, i - v->first, &capacity, v);
    }
    return ok;
}

lth_status lth__word_vectors_take(const lth_ctx *ctx, const lth_word_vectors *from,
                                  const lth__symbols *vocabulary, bool warns, lth__vectors *v,
                                  lth__vectors *out, lth_error *err) {
    v->dimension = from->dimension;
    v->offered = from->count;
    /* Who hears warnings reads for the first time. */
    if (!(warns ? take_in_order : take_new)(from, vocabulary, v)) {
        lth__vectors_free(v);
        return lth__fail_memory(err, from->dimension * sizeof *v->values);
    }
    if (v->count == 0 && warns)
        lth__log(ctx, LTH_LOG_WARNING, "no word of the data has one of the word vectors");
    *out = *v;
    return LTH_OK;
}
