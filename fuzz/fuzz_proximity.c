/* Any bytes as the block that says which words are near: what is taken has every word in range. */
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "kernel/feature/proximity.h"

enum { WORDS = 3 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint64_t *block = malloc(size + sizeof *block); /* aligned, as where it comes from */
    lth__proximity p;
    if (!block) return 0;
    if (size > 0) memcpy(block, data, size);
    if (lth__proximity_view((const uint8_t *)block, size, WORDS, &p)) {
        if (p.words != WORDS || p.start[0] != 0) abort();
        for (size_t i = 0; i < WORDS; i++) {
            if (p.start[i] > p.start[i + 1]) abort();
            for (uint64_t k = p.start[i]; k < p.start[i + 1]; k++)
                if (p.word[k] >= WORDS || p.distance[k] > 200) abort();
        }
    }
    free(block);
    return 0;
}
