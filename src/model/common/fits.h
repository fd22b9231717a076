/* Fits that know nothing of one another: side by side where they are small, one after the other
 * where each is work for all threads. What they find is the same either way. */
#ifndef LTH_FITS_H
#define LTH_FITS_H

#include "base/context.h"

/* Does fit `index`, telling `ctx` alone, from which it may copy. */
typedef lth_status lth__fit_fn(void *user, size_t index, lth_ctx *ctx, lth_error *err);

typedef struct lth__fits {
    lth_ctx *ctx; /* the caller's: nobody else may use it meanwhile */
    const char *what;
    size_t count;
    unsigned workers; /* of lth__fits_workers() */
    lth__fit_fn *fit;
    void *user;
    bool *done; /* [count], false: those that are finished */
} lth__fits;

/* How many run at a time, of so many rows and bytes each; 0 = one after the other. */
unsigned lth__fits_workers(const lth_ctx *ctx, size_t count, size_t rows, size_t bytes);

/* All of them. After each the callback is told how many are finished; it is never called by two
 * threads at once, and what fits log comes in their order, from the thread that made the call. Who
 * says no, or the `step` of a search, stops all: LTH_ECANCELED. Of failures that with the lowest
 * index is returned. */
lth_status lth__fits_run(const lth__fits *fits, lth_error *err);

#endif
