/* Any bytes as one of the files of WordNet: read or refused, and what is read is consistent. The
 * first byte says which of them. */
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "data/wordnet.h"
#include "harness.h"

static const struct {
    const char *name, *text;
} files[] = {
    {"wordnet/noun.exc", "mice mouse\n"},
    {"wordnet/index.noun", "cat n 1 1 @ 1 0 00000200\ndog n 1 1 @ 1 0 00000300\n"},
    {"wordnet/data.noun",
     "00000100 05 n 01 pet 0 000 | a\n00000200 05 n 01 cat 0 001 @ 00000100 n 0000 | b\n"
     "00000300 05 n 01 dog 0 001 @ 00000100 n 0000 | c\n"},
    {"wordnet/verb.exc", "sat sit\n"},
    {"wordnet/index.verb", "sit v 1 0 1 0 00000100\n"},
    {"wordnet/data.verb", "00000100 05 v 01 sit 0 000 | d\n"},
};
enum { FILES = sizeof files / sizeof *files };

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

static void read_files(void) {
    static const char *const words[] = {"cat", "dogs", "mice", "sat", "pet", "", "s"};
    enum { WORDS = sizeof words / sizeof *words };
    lth__symbols *vocabulary = lth__symbols_create();
    if (!vocabulary) return;
    for (size_t i = 0; i < WORDS; i++) lth__symbols_intern(vocabulary, words[i], strlen(words[i]));
    lth__neighbours n = {0};
    lth_error err;
    if (lth__wordnet_neighbours(harness_ctx()->relay, "wordnet", vocabulary, WORDS, NULL, 3, &n,
                                &err) == LTH_OK)
        check(&n);
    lth__neighbours_free(&n);
    lth__symbols_free(vocabulary);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    for (size_t i = 0; i < FILES; i++) {
        bool own = data[0] % FILES == i;
        harness_put(files[i].name, own ? (const char *)data + 1 : files[i].text,
                    own ? size - 1 : strlen(files[i].text));
    }
    read_files();
    return 0;
}
