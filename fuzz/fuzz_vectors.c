#define _GNU_SOURCE /* memfd_create */
/* Any bytes as a file of word vectors: read or refused, and what is read is consistent. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "data/vectors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const lth__vectors *v, const lth__symbols *vocabulary) {
    if (v->symbols != lth__symbols_count(vocabulary)) abort();
    size_t rows = 0;
    for (size_t i = 0; i < v->symbols; i++) {
        if (v->row_of[i] < -1 || v->row_of[i] >= (int64_t)v->count) abort();
        rows += v->row_of[i] >= 0;
    }
    if (rows != v->count) abort();
    for (size_t i = 0; i < v->count * v->dimension; i++)
        if (!isfinite(v->values[i])) abort();
}

static void read_vectors(const char *path) {
    static const char *const words[] = {"the", "cat", "3", ". . .", ""};
    lth__symbols *vocabulary = lth__symbols_create();
    if (!vocabulary) return;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        lth__symbols_intern(vocabulary, words[i], strlen(words[i]));
    const lth_ctx ctx = {0};
    lth__vectors v = {0};
    lth_error err;
    if (lth__vectors_read(&ctx, (lth__vector_source){.path = path}, vocabulary, &v, &err) == LTH_OK)
        check(&v, vocabulary);
    lth__vectors_free(&v);
    lth__symbols_free(vocabulary);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[32];
    int fd = memfd_create("vectors", 0);
    if (fd < 0) return 0;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (write(fd, data, size) == (ssize_t)size) read_vectors(path);
    close(fd);
    return 0;
}
