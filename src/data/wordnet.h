/* WordNet 3.0: which words of a vocabulary are near one another by their meaning. */
#ifndef LTH_WORDNET_H
#define LTH_WORDNET_H

#include "base/file.h"
#include "data/symbols.h"

/* Word i has the neighbours start[i] .. start[i + 1] - 1, by ascending number, and their distances:
 * links on the shortest way from a meaning of the one to a meaning of the other. */
typedef struct lth__neighbours {
    size_t words;
    uint64_t *start;
    uint32_t *word;
    uint8_t *distance;
} lth__neighbours;

void lth__neighbours_free(lth__neighbours *n);

enum { LTH__WORDNET_FARTHEST = 19 };

/* Neighbours of words 0 .. words-1 of the vocabulary, no farther than `farthest` links. A link
 * leads from a noun or verb meaning to one above it (a hypernym), or back. A word has the meanings
 * of its base forms. Words with skip[i] (NULL = none), and those the dictionary lacks, have no
 * neighbours.
 *
 * `folder` has the files index.noun, data.noun, noun.exc, index.verb, data.verb, verb.exc. One that
 * is missing is LTH_EIO, a damaged one LTH_EFORMAT with its line. `relay` as in lth__input_open().
 */
lth_status lth__wordnet_neighbours(const lth__relay *relay, const char *folder,
                                   const lth__symbols *vocabulary, size_t words, const bool *skip,
                                   size_t farthest, lth__neighbours *out, lth_error *err);

/* The folder of the dictionary: WNSEARCHDIR of the environment, or where Debian puts it. */
const char *lth__wordnet_folder(void);

#endif
