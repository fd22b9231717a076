/* Any bytes as a file of word vectors, of words that are wanted or of all: read or refused, and
 * what is read is consistent. The first byte says which. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/vectors.h"
#include "harness.h"

static void check_finite(const lth__vectors *v) {
    for (size_t i = 0; i < v->count * v->dimension; i++)
        if (!isfinite(v->values[i])) abort();
}

static void check(const lth__vectors *v, const lth__symbols *vocabulary) {
    if (v->symbols != lth__symbols_count(vocabulary)) abort();
    size_t rows = 0;
    for (size_t i = 0; i < v->symbols; i++) {
        if (v->row_of[i] < -1 || v->row_of[i] >= (int64_t)v->count) abort();
        rows += v->row_of[i] >= 0;
    }
    if (rows < v->count) abort();
    check_finite(v);
}

static void read_wanted(lth__symbols *vocabulary) {
    static const char *const words[] = {"the", "cat", "3", ". . .", ""};
    lth__vectors v = {0};
    lth_error err;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        lth__symbols_intern(vocabulary, words[i], strlen(words[i]));
    lth__vector_source from = {.path = "vectors"};
    if (lth__vectors_read_parts(harness_ctx(), from, vocabulary, &v, &err) == LTH_OK)
        check(&v, vocabulary);
    lth__vectors_free(&v);
}

static void read_all(lth__symbols *words) {
    lth__vectors v = {0};
    lth_error err;
    if (lth__vectors_read_all(harness_ctx(), "vectors", words, &v, &err) != LTH_OK) return;
    if (v.count != lth__symbols_count(words)) abort();
    check_finite(&v);
    lth__vectors_free(&v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    lth__symbols *words = lth__symbols_create();
    if (size == 0 || !words) {
        lth__symbols_free(words);
        return 0;
    }
    harness_put("vectors", data + 1, size - 1);
    if (data[0] & 1)
        read_all(words);
    else
        read_wanted(words);
    lth__symbols_free(words);
    return 0;
}
