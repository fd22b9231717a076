/* Local alignments of one sequence with many, as many at a time as a vector has lanes. */
#ifndef LTH_ALIGNMENT_LANES_H
#define LTH_ALIGNMENT_LANES_H

#include "base/context.h"
#include "engine/engine.h"
#include "kernel/string/local_alignment.h"

typedef struct lth__aligner lth__aligner;

/* For sequences of this length at most, whose letters are below `letters`. */
lth_status lth__aligner_make(const lth__engine *engine, const lth__scoring *s, size_t letters,
                             size_t longest, bool slopes, lth__aligner **out, lth_error *err);
void lth__aligner_free(lth__aligner *a);

typedef struct lth__letters_of {
    const uint32_t *letter;
    size_t length;
} lth__letters_of;

/* How many fit into the lanes. */
size_t lth__aligner_lanes(const lth__aligner *a);

/* lth__alignments_sum() of `one` with each of up to so many others, none of them empty; which of
 * the two is x is the same for all of them: see lth__aligner_swaps(). */
lth_status lth__aligner_sum(lth__aligner *a, lth__letters_of one, const lth__letters_of *other,
                            size_t count, bool swapped, lth__alignments *out, lth_error *err);

/* Whether the other one is x: so that a pair has the same bits both ways. */
bool lth__aligner_swaps(lth__letters_of one, lth__letters_of other);

#endif
