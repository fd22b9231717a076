#define _GNU_SOURCE 1 /* memmem */
/* Model files with something changed and a good checksum: a text, or an array's bytes, elements,
 * type or shape; an array that is left out. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <zlib.h>

#include "harness.h"
#include "model/common/tensors.h"

enum { PREFIX = 8, ROOM = 1 << 16, TEXT = 4096, MOST_RANK = 3 };

static const size_t width[] = {[LTH__U8] = 1, [LTH__U32] = 4, [LTH__U64] = 8, 4, 8};

typedef struct change {
    size_t at; /* of all texts and arrays, in their order */
    size_t done;
    unsigned seed;
    uint8_t *room; /* ROOM bytes for what is new */
} change;

static unsigned next(change *c) {
    c->seed = c->seed * 1664525u + 1013904223u;
    return c->seed >> 8;
}

static bool is_mine(change *c) {
    return c->done++ == c->at;
}

static bool put_text(lth__tensors_writer *w, change *c, const char *key, const char *text) {
    if (!is_mine(c)) return lth__tensors_put_text(w, key, text);
    size_t length = strlen(text);
    if (next(c) % 8 == 0) return true; /* left out */
    if (length >= TEXT / 2) return lth__tensors_put_text(w, key, text);
    memcpy(c->room, text, length);
    length = LLVMFuzzerMutate(c->room, length, TEXT);
    c->room[length] = 0;
    return lth__tensors_put_text(w, key, (const char *)c->room);
}

static size_t size_of(const lth__tensor *t) {
    size_t size = width[t->dtype];
    for (size_t i = 0; i < t->rank; i++) size *= t->shape[i];
    return size;
}

/* A value of that type at a place. */
static void set_value(change *c, lth__dtype dtype, uint8_t *at) {
    static const double odd[] = {0, -1, 1, 1e308, -1e-308, 1e154, INFINITY, -INFINITY, NAN, 0.5};
    static const uint64_t whole[] = {0, 1, 2, 3, UINT32_MAX, UINT64_MAX, (uint64_t)INT64_MAX, 64};
    double number = odd[next(c) % 10];
    float single = (float)number;
    uint64_t n = whole[next(c) % 8] + next(c) % 2;
    uint32_t small = (uint32_t)n;
    uint8_t byte = (uint8_t)n;
    const void *from[] = {&byte, &small, &n, &single, &number};
    memcpy(at, from[dtype], width[dtype]);
}

/* Elements in their place, by any type; of the checksum, which is a CRC of texts and descriptions
 * and then of all data, only the data's part changes. */
static bool change_data(change *c, uint8_t *data, size_t size) {
    static const char name[] = "\"checksum\":\"crc32:";
    uint64_t length;
    memcpy(&length, data, sizeof length);
    if (length > size - PREFIX || size - PREFIX - length < PREFIX) return false;
    char *sum = memmem(data + PREFIX, (size_t)length, name, sizeof name - 1), hex[9] = "";
    if (!sum) return false;
    uint8_t *from = data + PREFIX + length;
    size_t bytes = size - PREFIX - (size_t)length;
    memcpy(hex, sum + sizeof name - 1, 8);
    uint32_t crc = (uint32_t)strtoul(hex, NULL, 16) ^ (uint32_t)crc32_z(0, from, bytes);
    for (unsigned again = 1 + next(c) % 3; again > 0; again--) {
        lth__dtype dtype = (lth__dtype)(next(c) % 5);
        size_t at = next(c) % (bytes / width[dtype]) * width[dtype];
        if (next(c) % 4 == 0)
            from[at] ^= (uint8_t)(1u << next(c) % 8);
        else
            set_value(c, dtype, from + at);
    }
    snprintf(hex, sizeof hex, "%08x", crc ^ (uint32_t)crc32_z(0, from, bytes));
    memcpy(sum + sizeof name - 1, hex, 8);
    return true;
}

static void bound_shape(lth__tensor *t) {
    for (size_t i = 0; i < MOST_RANK; i++) {
        if (i >= t->rank) t->shape[i] = 1;
        if (t->shape[i] > 4096) t->shape[i] = 0;
    }
    while (size_of(t) > ROOM) t->shape[0] /= 2;
}

/* The bytes of the array are in c->room, with zeros after them. */
static void change_array(change *c, lth__tensor *t) {
    size_t size = size_of(t), count = size / width[t->dtype];
    switch (next(c) % 8) {
    case 0: t->dtype = (lth__dtype)(next(c) % 5); break;
    case 1: t->rank = next(c) % (MOST_RANK + 1); break;
    case 2: t->shape[next(c) % MOST_RANK] = next(c) % 12; break;
    case 3: t->shape[0] += next(c) % 2 ? 1 : (size_t)-1; break;
    case 4:
        if (size > 0) LLVMFuzzerMutate(c->room, size, size);
        break;
    default:
        if (count > 0) set_value(c, t->dtype, c->room + next(c) % count * width[t->dtype]);
    }
    bound_shape(t);
}

static bool put_array(lth__tensors_writer *w, change *c, const lth__tensor *t) {
    if (!is_mine(c) || size_of(t) > ROOM / 4) return lth__tensors_put(w, t);
    if (next(c) % 16 == 0) return true; /* left out */
    lth__tensor changed = *t;
    memset(c->room, 0, ROOM);
    if (size_of(t) > 0) memcpy(c->room, t->data, size_of(t));
    changed.data = c->room;
    for (unsigned again = 1 + next(c) % 3; again > 0; again--) change_array(c, &changed);
    return lth__tensors_put(w, &changed);
}

static bool is_made(const char *key) {
    return strcmp(key, "format") == 0 || strcmp(key, "version") == 0 ||
           strcmp(key, "checksum") == 0;
}

/* The writer makes offsets and checksum anew. */
static bool put_all(lth__tensors_writer *w, change *c, const lth__tensors *from, json_t *header) {
    json_t *texts = json_object_get(header, "__metadata__"), *entry;
    const char *name;
    bool ok = true;
    json_object_foreach(texts, name, entry) {
        if (!is_made(name)) ok = ok && put_text(w, c, name, json_string_value(entry));
    }
    json_object_foreach(header, name, entry) {
        if (entry != texts) ok = ok && put_array(w, c, lth__tensors_find(from, name));
    }
    return ok;
}

typedef struct sink {
    uint8_t *at;
    size_t size, most;
} sink;

static int take(void *user, const void *bytes, size_t size) {
    sink *to = user;
    if (size > to->most - to->size) return 1;
    memcpy(to->at + to->size, bytes, size);
    to->size += size;
    return 0;
}

static size_t change_file(const lth__tensors *from, uint8_t *data, size_t size, size_t most,
                          unsigned seed) {
    static uint8_t room[ROOM], made[ROOM];
    uint64_t length;
    memcpy(&length, data, sizeof length);
    json_t *header = json_loadb((const char *)data + PREFIX, (size_t)length, 0, NULL);
    json_t *texts = json_object_get(header, "__metadata__");
    size_t count = json_object_size(header) - 1 + json_object_size(texts) - 3;
    change c = {.seed = seed, .room = room};
    c.at = next(&c) % (count > 0 ? count : 1);
    sink to = {.at = made, .most = most < ROOM ? most : ROOM};
    lth__tensors_writer *w = lth__tensors_writer_create();
    if (w && put_all(w, &c, from, header) && lth__tensors_write_to(w, take, &to, NULL) == LTH_OK) {
        memcpy(data, made, to.size);
        size = to.size;
    }
    lth__tensors_writer_free(w);
    json_decref(header);
    return size;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
    lth__tensors *from;
    if (seed % 4 > 0 && size > PREFIX && change_data(&(change){.seed = seed}, data, size))
        return size;
    if (seed % 64 == 0 || lth__tensors_read_from(data, size, &from, NULL) != LTH_OK)
        return LLVMFuzzerMutate(data, size, most);
    size = change_file(from, data, size, most, seed);
    lth__tensors_free(from);
    return size;
}
