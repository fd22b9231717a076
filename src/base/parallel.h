/* One level of threads: a loop over independent jobs, taken in order from a shared queue. */
#ifndef LTH_PARALLEL_H
#define LTH_PARALLEL_H

#include "base/context.h"
#include "base/status.h"

/* Does job `index` with the scratch of worker `worker` (0 .. threads-1). `err` is never NULL, and
 * may be left alone where there is nothing to say beyond the status. */
typedef lth_status lth__job_fn(void *user, size_t index, unsigned worker, lth_error *err);

/* Runs jobs 0 .. count-1 on the context's threads, with denormals flushed to zero in each. Stops
 * early when a job fails (the failure with the lowest index is returned, and its reason: the same
 * for any number of threads) or when the progress callback cancels. `cost[i]` (NULL = all equal)
 * measures progress. `what` names the work; NULL = it is too small to be told of: then, in a quiet
 * context, and in a loop inside of another's jobs, the callback is only asked whether to go on.
 * Such a loop has the job's own thread, and those for which there are no jobs left. */
lth_status lth__parallel_for(lth_ctx *ctx, const char *what, size_t count, const double *cost,
                             lth__job_fn *job, void *user, lth_error *err);

/* The same by so many workers, whatever the context's threads: for jobs that wait for something
 * else to compute. */
lth_status lth__parallel_by(lth_ctx *ctx, size_t workers, const char *what, size_t count,
                            const double *cost, lth__job_fn *job, void *user, lth_error *err);

/* For jobs that take long: ask the callback if it is time to; LTH_ECANCELED = do not go on. It
 * stays so for all of the loop: whoever hears of it may leave what he does as it is, for nobody
 * uses it. */
lth_status lth__parallel_ask(const lth_ctx *ctx);

/* Of many small steps: asked once so much work was done. */
typedef struct lth__pace {
    const lth_ctx *ctx;
    size_t most, work;
} lth__pace;

static inline bool lth__goes_on(lth__pace *p, size_t work) {
    p->work += work;
    if (p->work < p->most) return true;
    p->work = 0;
    return lth__parallel_ask(p->ctx) == LTH_OK;
}

/* Work that takes long and is no loop: the caller's thread does it, and questions in it are heard.
 * Loops in it are as they are elsewhere. It fails where one of these was to, whatever came of it.
 */
typedef lth_status lth__alone_fn(void *user, lth_error *err);
lth_status lth__listening(lth_ctx *ctx, lth__alone_fn *act, void *user, lth_error *err);

/* Cores this process may run on, and all that the machine has. */
unsigned lth__cpu_count(void);
unsigned lth__machine_cpus(void);

#endif
