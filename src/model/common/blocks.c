#include "model/common/blocks.h"

#include <string.h>

#include "engine/cluster.h"

typedef struct blocks {
    lth__job_fn *job;
    void *user;
    size_t first;
} blocks;

static lth_status run_block(void *user, size_t index, unsigned worker, lth_error *err) {
    const blocks *b = user;
    return b->job(b->user, b->first + index, worker, err);
}

static lth_status share(lth_ctx *ctx, blocks *b, size_t jobs, double *out, size_t step,
                        size_t count, lth_error *err) {
    lth__cluster *c = ctx->cluster;
    size_t end = jobs * (c->at.rank + 1) / c->at.size, last = end * step;
    b->first = jobs * c->at.rank / c->at.size;
    if (last > count) last = count;
    memset(out, 0, b->first * step * sizeof *out);
    memset(out + last, 0, (count - last) * sizeof *out);
    lth_status status = lth__parallel_for(ctx, NULL, end - b->first, NULL, run_block, b, err);
    return lth__cluster_join(c, status, out, count, err);
}

lth_status lth__blocks_run(lth_ctx *ctx, lth__job_fn *job, void *user, double *out, size_t step,
                           size_t count, double operations, lth_error *err) {
    const double worthwhile = 1 << 20;
    size_t jobs = (count + step - 1) / step;
    blocks b = {.job = job, .user = user};
    if (ctx->cluster && operations > worthwhile) return share(ctx, &b, jobs, out, step, count, err);
    return lth__parallel_for(ctx, NULL, jobs, NULL, job, user, err);
}
