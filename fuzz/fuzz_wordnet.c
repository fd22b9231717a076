/* Any bytes as one of the files of WordNet: read or refused, and what is read is consistent. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/wordnet.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct {
    const char *name, *text;
} files[] = {
    {"noun.exc", "mice mouse\n"},
    {"index.noun", "cat n 1 1 @ 1 0 00000200\ndog n 1 1 @ 1 0 00000300\n"},
    {"data.noun",
     "00000100 05 n 01 pet 0 000 | a\n00000200 05 n 01 cat 0 001 @ 00000100 n 0000 | b\n"
     "00000300 05 n 01 dog 0 001 @ 00000100 n 0000 | c\n"},
    {"verb.exc", "sat sit\n"},
    {"index.verb", "sit v 1 0 1 0 00000100\n"},
    {"data.verb", "00000100 05 v 01 sit 0 000 | d\n"},
};
enum { FILES = sizeof files / sizeof *files };

static void write_file(const char *folder, size_t i, const void *bytes, size_t size) {
    char path[64];
    snprintf(path, sizeof path, "%s/%s", folder, files[i].name);
    FILE *file = fopen(path, "w");
    if (!file || fwrite(bytes, 1, size, file) != size || fclose(file) != 0) abort();
}

static void remove_files(const char *folder) {
    char path[64];
    for (size_t i = 0; i < FILES; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, files[i].name);
        unlink(path);
    }
    rmdir(folder);
}

static void check(const lth__neighbours *n) {
    if (n->start[0] != 0) abort();
    for (size_t w = 0; w < n->words; w++) {
        if (n->start[w] > n->start[w + 1]) abort();
        for (uint64_t i = n->start[w]; i < n->start[w + 1]; i++) {
            if (n->word[i] >= n->words || n->word[i] == w || n->distance[i] > 3) abort();
            if (i > n->start[w] && n->word[i] <= n->word[i - 1]) abort();
        }
    }
}

static void read_folder(const char *folder) {
    static const char *const words[] = {"cat", "dogs", "mice", "sat", "pet", "", "s"};
    enum { WORDS = sizeof words / sizeof *words };
    lth__symbols *vocabulary = lth__symbols_create();
    if (!vocabulary) return;
    for (size_t i = 0; i < WORDS; i++) lth__symbols_intern(vocabulary, words[i], strlen(words[i]));
    lth__neighbours n = {0};
    lth_error err;
    if (lth__wordnet_neighbours(folder, vocabulary, WORDS, NULL, 3, &n, &err) == LTH_OK) check(&n);
    lth__neighbours_free(&n);
    lth__symbols_free(vocabulary);
}

/* The first byte says which file the others are. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char folder[] = "/tmp/fuzz_wordnet.XXXXXX";
    if (size == 0 || !mkdtemp(folder)) return 0;
    for (size_t i = 0; i < FILES; i++) {
        if (data[0] % FILES == i)
            write_file(folder, i, data + 1, size - 1);
        else
            write_file(folder, i, files[i].text, strlen(files[i].text));
    }
    read_folder(folder);
    remove_files(folder);
    return 0;
}
