/* Where an encoder looks for the vectors of words that its first table did not have, and which it
 * did not find. */
#ifndef LTH_LOOKUP_H
#define LTH_LOOKUP_H

#include <pthread.h>

#include "data/word_vectors.h"
#include "kernel/core/encode.h"

/* Different words, as hashes: what others send must not fill the memory. */
typedef struct lth__word_set {
    uint64_t *slots; /* open addressing; 0 = free. NULL as long as there is no word */
    size_t room, count;
} lth__word_set;

/* Words without a vector: those that the first table had, and new ones. */
typedef struct lth__tally {
    lth_words_without_vector count;
    lth__word_set known, new;
} lth__tally;

/* One for each encoder whose kernel compares words by vectors. All but the tallies stays the same
 * while calls use it. */
struct lth__lookup {
    lth_vectors_origin origin; /* of the vectors of the first table's words; its `name` is NULL as
                                  long as that is not known */
    char *name;
    bool read; /* the words of the first table have been looked up: they have what vectors there are
                */
    const lth_word_vectors *all; /* what a model keeps for new words, or NULL */
    char *path;                  /* where the caller says to look first:      */
    const lth_word_vectors *given;

    pthread_mutex_t lock; /* of what follows */
    lth__tally total, gathered;
    bool gathers;
    size_t told; /* new words that there were when this was told for many calls */
};

lth__lookup *lth__lookup_create(void); /* NULL = out of memory */
void lth__lookup_free(lth__lookup *look);

/* What is known of the source, once it was read. */
lth_status lth__lookup_set_origin(lth__lookup *look, const char *name, size_t words,
                                  size_t dimension, lth_error *err);

/* Keep all vectors of a source for new words; nothing where the kernel needs none. */
lth_status lth__encoder_keep(lth_encoder *encoder, lth__vector_source from, lth_keep_vectors keep,
                             lth_error *err);

/* From now on new words are looked for there; neither = in what is kept. */
lth_status lth__encoder_look_in(lth_encoder *encoder, lth__vector_source from, lth_error *err);

/* Of an extension: find the vectors of what it has encoded, in one of these items or in both, and
 * count the words that have none. */
lth_status lth__encoder_look_up(lth_encoder *extension, const lth_items *items,
                                const lth_items *more, lth_error *err);

/* What was counted so far, and whether it is gathered. */
void lth__encoder_missing(const lth_encoder *encoder, lth_words_without_vector *out);
void lth__encoder_gather(lth_encoder *encoder, bool gather);

#endif
