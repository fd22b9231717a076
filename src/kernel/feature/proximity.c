/* Blocks of neighbouring words, and their cache: one file for each dictionary, vocabulary and
 * distance in ${XDG_CACHE_HOME:-~/.cache}/luthier,
 *
 *     "lthprox1" | u64 key[2] | u64 size of the block | u64 CRC-32 of the block | the block
 *
 * which is ignored unless all of it is as it should be. */
#include "kernel/feature/proximity.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/file.h"
#include "base/text.h"
#include "data/wordnet.h"

/* ---- Blocks ---- */

static size_t head_size(size_t words) {
    return (3 + words) * sizeof(uint64_t);
}

static bool is_ordered(const lth__proximity *p, size_t entries) {
    if (p->start[0] != 0 || p->start[p->words] != entries) return false;
    for (size_t i = 0; i < p->words; i++) {
        if (p->start[i] > p->start[i + 1] || p->start[i + 1] > entries) return false;
    }
    for (size_t i = 0; i < entries; i++) {
        if (p->word[i] >= p->words || p->distance[i] > LTH__WORDNET_FARTHEST) return false;
    }
    return true;
}

bool lth__proximity_view(const uint8_t *bytes, size_t size, size_t words, lth__proximity *out) {
    uint64_t counts[2];
    size_t head = head_size(words), entry = sizeof(uint32_t) + 1;
    if (!bytes || size < head) return false;
    memcpy(counts, bytes, sizeof counts);
    if (counts[0] != words || counts[1] > (size - head) / entry ||
        size != head + (size_t)counts[1] * entry)
        return false;
    size_t entries = (size_t)counts[1];
    const uint8_t *word = bytes + head;
    *out = (lth__proximity){.words = words,
                            .start = (const uint64_t *)(const void *)(bytes + sizeof counts),
                            .word = (const uint32_t *)(const void *)word,
                            .distance = word + entries * sizeof(uint32_t)};
    return is_ordered(out, entries);
}

static lth_status pack(const lth__neighbours *n, uint8_t **bytes, size_t *size, lth_error *err) {
    uint64_t entries = n->start[n->words], counts[2] = {n->words, entries};
    size_t head = head_size(n->words), words = (size_t)entries * sizeof *n->word;
    *size = head + words + (size_t)entries;
    *bytes = lth__alloc(*size, 1);
    if (!*bytes) return lth__fail_memory(err, *size);
    memcpy(*bytes, counts, sizeof counts);
    memcpy(*bytes + sizeof counts, n->start, (n->words + 1) * sizeof *n->start);
    if (entries == 0) return LTH_OK;
    memcpy(*bytes + head, n->word, words);
    memcpy(*bytes + head + words, n->distance, (size_t)entries);
    return LTH_OK;
}

/* ---- The cache ---- */

static const char magic[8] = "lthprox1";

typedef struct cache_head {
    char magic[8];
    uint64_t key[2], size, checksum;
} cache_head;

/* Two FNV-1a sums of all that the block depends on, from different starts. */
static void mix(uint64_t key[2], const void *bytes, size_t size) {
    const uint8_t *at = bytes;
    for (size_t i = 0; i < size; i++) {
        key[0] = (key[0] ^ at[i]) * UINT64_C(0x100000001b3);
        key[1] = (key[1] ^ (uint8_t)~at[i]) * UINT64_C(0x100000001b3);
    }
}

/* Files of the dictionary by size and time: reading them takes longer than a cache should. */
static void mix_dictionary(uint64_t key[2], const char *folder) {
    static const char *const names[] = {"noun.exc", "index.noun", "data.noun",
                                        "verb.exc", "index.verb", "data.verb"};
    mix(key, folder, strlen(folder) + 1);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        lth__string path = {0};
        struct stat about = {0};
        lth__string_format(&path, "%s/%s", folder, names[i]);
        if (!path.failed && stat(path.bytes, &about) != 0) about = (struct stat){0};
        lth__string_free(&path);
        int64_t facts[] = {about.st_size, about.st_mtim.tv_sec, about.st_mtim.tv_nsec};
        mix(key, facts, sizeof facts);
    }
}

static void make_key(const lth__symbols *vocabulary, size_t words, const bool *skip,
                     size_t farthest, const char *folder, uint64_t key[2]) {
    uint64_t numbers[] = {farthest, words};
    key[0] = key[1] = UINT64_C(0xcbf29ce484222325);
    mix_dictionary(key, folder);
    mix(key, numbers, sizeof numbers);
    for (size_t i = 0; i < words; i++) {
        size_t length;
        const char *text = lth__symbols_text(vocabulary, (lth__symbol)i, &length);
        uint64_t both = length << 1 | (skip && skip[i]);
        mix(key, &both, sizeof both);
        mix(key, text, length);
    }
}

/* The folder's path, made if `make`, or nothing. */
static lth__string cache_folder(bool make) {
    lth__string path = {0};
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (cache && *cache == '/')
        lth__string_format(&path, "%s", cache);
    else if (home && *home)
        lth__string_format(&path, "%s/.cache", home);
    if (path.length == 0) return path;
    /* Where it cannot be made, the file cannot be written either, and that is no error. */
    if (make && !path.failed) (void)mkdir(path.bytes, 0700);
    lth__string_format(&path, "/luthier");
    if (make && !path.failed) (void)mkdir(path.bytes, 0700);
    return path;
}

/* "" = there is nowhere to keep it. */
static lth__string cache_path(const uint64_t key[2], bool make) {
    lth__string path = cache_folder(make);
    if (path.length > 0)
        lth__string_format(&path, "/wordnet-%016llx%016llx", (unsigned long long)key[0],
                           (unsigned long long)key[1]);
    return path;
}

static bool read_block(lth__input *in, const uint64_t key[2], size_t words, uint8_t **bytes,
                       size_t *size) {
    cache_head head;
    lth__proximity view;
    size_t got, most = head_size(words) + words * words * (sizeof(uint32_t) + 1);
    if (lth__input_bytes(in, &head, sizeof head, &got, NULL) != LTH_OK || got != sizeof head ||
        memcmp(head.magic, magic, sizeof magic) != 0 ||
        memcmp(head.key, key, sizeof head.key) != 0 || head.size > most)
        return false;
    uint8_t *block = lth__alloc((size_t)head.size, 1);
    bool ok = block && lth__input_bytes(in, block, (size_t)head.size, &got, NULL) == LTH_OK &&
              got == head.size && crc32_z(crc32_z(0, NULL, 0), block, got) == head.checksum &&
              lth__proximity_view(block, got, words, &view);
    if (!ok) {
        lth__free(block);
        return false;
    }
    *bytes = block;
    *size = got;
    return true;
}

static bool read_cache(const uint64_t key[2], size_t words, uint8_t **bytes, size_t *size) {
    lth__string path = cache_path(key, false);
    lth__input *in = NULL;
    bool found = path.length > 0 && !path.failed &&
                 lth__input_open(NULL, path.bytes, &in, NULL) == LTH_OK &&
                 read_block(in, key, words, bytes, size);
    lth__input_close(in);
    lth__string_free(&path);
    return found;
}

static void write_cache(const uint64_t key[2], const uint8_t *bytes, size_t size) {
    lth__string path = cache_path(key, true);
    lth_output *out = NULL;
    if (path.length > 0 && !path.failed && lth_output_open(path.bytes, &out, NULL) == LTH_OK) {
        cache_head head = {.key = {key[0], key[1]},
                           .size = size,
                           .checksum = crc32_z(crc32_z(0, NULL, 0), bytes, size)};
        memcpy(head.magic, magic, sizeof magic);
        if (lth_output_write(out, &head, sizeof head, NULL) == LTH_OK &&
            lth_output_write(out, bytes, size, NULL) == LTH_OK)
            (void)lth_output_commit(out, NULL);
        lth_output_free(out);
    }
    lth__string_free(&path);
}

lth_status lth__proximity_make(const lth__symbols *vocabulary, size_t words, const bool *skip,
                               size_t farthest, uint8_t **bytes, size_t *size, lth_error *err) {
    const char *folder = lth__wordnet_folder();
    uint64_t key[2];
    make_key(vocabulary, words, skip, farthest, folder, key);
    if (read_cache(key, words, bytes, size)) return LTH_OK;
    lth__neighbours n = {0};
    LTH_TRY(lth__wordnet_neighbours(NULL, folder, vocabulary, words, skip, farthest, &n, err));
    lth_status status = pack(&n, bytes, size, err);
    lth__neighbours_free(&n);
    if (status == LTH_OK) write_cache(key, *bytes, *size);
    return status;
}
