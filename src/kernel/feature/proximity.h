/* Which words are near one another, as one block of bytes: what the semantic kernel keeps, what a
 * model stores, and what lies in the cache.
 *
 *     u64 words | u64 entries | u64 start[words + 1] | u32 word[entries] | u8 distance[entries]
 */
#ifndef LTH_PROXIMITY_H
#define LTH_PROXIMITY_H

#include "data/symbols.h"

/* Neighbours of word i are start[i] .. start[i + 1] - 1; itself is not among them. */
typedef struct lth__proximity {
    size_t words;
    const uint64_t *start;
    const uint32_t *word;
    const uint8_t *distance;
} lth__proximity;

/* A view of a block for that many words; false if it is damaged. */
bool lth__proximity_view(const uint8_t *bytes, size_t size, size_t words, lth__proximity *out);

/* The block for words 0 .. words-1 of a vocabulary, less those with skip[i], by the dictionary of
 * the environment: from the cache, or computed, and then kept there if that can be. */
lth_status lth__proximity_make(const lth__symbols *vocabulary, size_t words, const bool *skip,
                               size_t farthest, uint8_t **bytes, size_t *size, lth_error *err);

#endif
