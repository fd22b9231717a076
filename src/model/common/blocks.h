/* Jobs that fill one array, a block each. */
#ifndef LTH_BLOCKS_H
#define LTH_BLOCKS_H

#include "base/parallel.h"

/* Job i writes `step` of the `count` numbers of `out`, from the i-th such on. Where that many
 * `operations` are worth it, the ranks of a cluster have neighbouring jobs each, and get all. */
lth_status lth__blocks_run(lth_ctx *ctx, lth__job_fn *job, void *user, double *out, size_t step,
                           size_t count, double operations, lth_error *err);

#endif
