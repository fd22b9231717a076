/* What a search has found: the best of all texts that were valued, those that wait to be, and what
 * was seen before.
 *
 * Every text that did not come from another one founds a family, and children are of their
 * mother's. No family gets more than its share of the archive and of the population: so the search
 * does not end on one hill, and a batch can be chosen from different ones. */
#ifndef LTH_ARCHIVE_H
#define LTH_ARCHIVE_H

#include "design/search.h"

enum { LTH__MOST_STARTS = 64 }; /* that are parents */

typedef struct lth__entry {
    lth__letter *text;
    size_t count, family;
    uint64_t hash;
    double value;
    bool climbed; /* its single edits were looked at */
} lth__entry;

typedef struct lth__archive {
    const lth__search *search;
    size_t evaluations, evaluated;
    size_t generation, most, population; /* sizes at most: of what waits, of the archive, ... */
    size_t families;

    lth__letter *slab;   /* of all entries, starts and scratch */
    size_t room;         /* letters of each */
    lth__entry *entries; /* those that are kept, best first; then those that wait */
    size_t kept, waiting;
    lth__entry *starts; /* families 0, 1, ... */
    const char **start_texts;
    size_t start_count;
    lth__letter *child, *origin; /* scratch */

    size_t *parents; /* the population: entries, best first */
    size_t parent_count;

    size_t *members; /* by family; scratch, as all that follows */
    lth__texts texts;
    const char **pointers;
    bool *valid;
    double *values;
    size_t *picked;
    lth__string text;
    lth__text_set seen;
    lth_error *err;
} lth__archive;

lth_status lth__archive_open(const lth__search *search, lth__archive *out, lth_error *err);
void lth__archive_close(lth__archive *a);

/* The middle of the trust region that is nearest to a text by replaced letters, of those of its
 * length; NULL = there is none, or no such region. */
const lth__entry *lth__archive_centre(const lth__archive *a, const lth__letter *text, size_t count);

/* How many more texts may wait now. */
size_t lth__archive_places(const lth__archive *a);
/* Let a text wait, if it is new, keeps to the rules and is in the trust region, and there is a
 * place. */
lth_status lth__archive_offer(lth__archive *a, const lth__letter *text, size_t count,
                              size_t family);
/* Value what waits, and keep the best. */
lth_status lth__archive_settle(lth__archive *a);

#endif
