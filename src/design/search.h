/* An evolutionary search in a space, by the value of whatever is to be found. */
#ifndef LTH_SEARCH_H
#define LTH_SEARCH_H

#include "design/space.h"
#include "design/texts.h"

/* value[row], the higher the better; -INFINITY or NaN = not to be chosen. */
typedef lth_status lth__value_fn(void *user, const lth_table *rows, double *value, lth_error *err);

typedef struct lth__search {
    lth_ctx *ctx;
    const lth_space *space; /* complete */
    const char *column;     /* of the tables that are valued */
    lth__value_fn *value;
    void *user;
    const char *const *starts; /* texts that are known to be good, best first */
    size_t start_count;
    lth_search_options options;
    size_t pool; /* texts wanted */
    uint64_t seed;
} lth__search;

/* The best texts that were found, best first, at most `pool` of them. The same for any number of
 * threads. */
lth_status lth__search_run(const lth__search *search, lth__texts *out, lth_error *err);

/* Proposals of a table in which they are the only rows, in this order. */
void lth__proposals_renumber(lth_proposals *proposals);

#endif
