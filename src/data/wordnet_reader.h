/* The files of WordNet as arrays: meanings, the links between them, and the meanings of words. */
#ifndef LTH_WORDNET_READER_H
#define LTH_WORDNET_READER_H

#include "data/wordnet.h"

/* Numbers in pairs that grow. */
typedef struct lth__pairs {
    uint32_t (*at)[2];
    size_t count, capacity;
} lth__pairs;

typedef struct lth__wordnet {
    size_t synsets;    /* meanings: nouns, then verbs                    */
    lth__pairs links;  /* synset, and one above it                       */
    lth__pairs senses; /* word, and one of its synsets; some come twice  */
} lth__wordnet;

lth_status lth__wordnet_read(const lth__relay *relay, const char *folder,
                             const lth__symbols *vocabulary, size_t words, const bool *skip,
                             lth__wordnet *out, lth_error *err);
void lth__wordnet_free(lth__wordnet *w);

#endif
