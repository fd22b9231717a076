#include "model/common/fits.h"

#include <pthread.h>
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "base/text.h"
#include "engine/device.h"
#include "kernel/core/kernel.h"

/* A fit of few rows has loops that are too short for many threads: its matrices are a few blocks
 * wide, and between them one thread works alone. Side by side each has a thread, and the loops of
 * the last ones also those that are left (base/team.h). Of more rows than this a loop keeps all
 * threads busy, and what is finished early is worth having; a device and a cluster are at one fit
 * at a time. Memory is that of the fits that run: they may have half of what is free, so that there
 * is as much again for what they keep of pairs. None of it changes what comes out. */
enum { MOST_ROWS = LTH__MEMO_ROWS };

unsigned lth__fits_workers(const lth_ctx *ctx, size_t count, size_t rows, size_t bytes) {
    bool shared = ctx->cluster || (ctx->gpu && ctx->gpu->gpus > 0);
    if (shared || count < 2 || rows > MOST_ROWS) return 0;
    size_t room = lth__memory_available() / 2 / (bytes > 0 ? bytes : 1),
           most = ctx->options.threads;
    if (most > count) most = count;
    return (unsigned)(room < most ? room : most);
}

/* ---- Side by side ---- */

typedef struct group {
    const lth__fits *fits;
    lth_ctx_options told; /* the caller's way of being told */
    pthread_mutex_t lock; /* of all that follows            */
    bool canceled;
    size_t finished;
    lth__string
        *log; /* of each fit, until all before it have told theirs: by the caller's thread */
    bool *ended;
    size_t logged;
} group;

/* What a fit has in the place of the caller: its level and text for each line. */
typedef struct line {
    group *g;
    lth__string *log;
} line;

/* Fits only ask: what each is at, side by side, would tell nothing. */
static int ask(void *user, const char *what, double done, double total) {
    group *g = ((line *)user)->g;
    (void)what, (void)done, (void)total;
    pthread_mutex_lock(&g->lock);
    if (!g->canceled && g->told.progress)
        g->canceled = g->told.progress(g->told.user, "", 0, 0) != 0;
    bool canceled = g->canceled;
    pthread_mutex_unlock(&g->lock);
    return canceled;
}

static void note(void *user, lth_log_level level, const char *text) {
    line *l = user;
    char first = (char)('0' + (int)level);
    pthread_mutex_lock(&l->g->lock);
    lth__string_append(l->log, &first, 1);
    lth__string_append(l->log, text, strlen(text) + 1);
    pthread_mutex_unlock(&l->g->lock);
}

/* One that ran out of memory for its lines has none. */
static void tell_log(const group *g, lth__string *log) {
    for (size_t at = 0; !log->failed && at < log->length; at += strlen(log->bytes + at) + 1)
        g->told.log(g->told.user, (lth_log_level)(log->bytes[at] - '0'), log->bytes + at + 1);
    lth__string_free(log);
    *log = (lth__string){0};
}

/* With the lock held, by the caller's thread: of every fit before which all have ended. */
static void tell_logs(group *g) {
    for (; g->logged < g->fits->count && g->ended[g->logged]; g->logged++)
        tell_log(g, &g->log[g->logged]);
}

/* With the lock held. */
static lth_status tell_end(group *g, size_t index, lth_status status, lth_error *err) {
    g->ended[index] = true;
    if (status == LTH_OK) {
        g->fits->done[index] = true;
        g->finished++;
        if (g->canceled) return LTH_OK; /* it was finished all the same */
        lth_ctx ctx = {.options = g->told};
        status = lth__tell(&ctx, g->fits->what, (double)g->finished, (double)g->fits->count, err);
    }
    if (status == LTH_ECANCELED) g->canceled = true;
    return status;
}

static lth_status run_one(void *user, size_t index, unsigned worker, lth_error *err) {
    group *g = user;
    line own = {.g = g, .log = &g->log[index]};
    lth_ctx ctx = *g->fits->ctx;
    ctx.options.user = &own;
    lth_status status = g->fits->fit(g->fits->user, index, &ctx, err);
    pthread_mutex_lock(&g->lock);
    status = tell_end(g, index, status, err);
    if (worker == 0) tell_logs(g); /* the thread that made the call */
    pthread_mutex_unlock(&g->lock);
    return status;
}

static lth_status run_group(group *g, lth_error *err) {
    const lth__fits *f = g->fits;
    lth__string rest = {0}; /* of what is done for all */
    line all = {.g = g, .log = &rest};
    lth_ctx_options *options = &f->ctx->options;
    if (g->told.log) options->log = note;
    options->progress = ask;
    options->user = &all;
    lth__memory_divide((int)f->workers - 1);
    lth_status status = lth__parallel_by(f->ctx, f->workers, NULL, f->count, NULL, run_one, g, err);
    lth__memory_divide(1 - (int)f->workers);
    *options = g->told;
    tell_logs(g);
    tell_log(g, &rest);
    return status;
}

static lth_status side_by_side(const lth__fits *fits, lth_error *err) {
    group g = {.fits = fits, .told = fits->ctx->options, .lock = PTHREAD_MUTEX_INITIALIZER};
    g.log = lth__calloc(fits->count, sizeof *g.log);
    g.ended = lth__calloc(fits->count, sizeof *g.ended);
    lth_status status = g.log && g.ended ? run_group(&g, err) : lth__fail_memory(err, 0);
    for (size_t i = 0; g.log && i < fits->count; i++) lth__string_free(&g.log[i]);
    lth__free(g.log);
    lth__free(g.ended);
    pthread_mutex_destroy(&g.lock);
    return status;
}

/* ---- One after the other ---- */

lth_status lth__fits_run(const lth__fits *fits, lth_error *err) {
    if (fits->workers > 0) return side_by_side(fits, err);
    for (size_t i = 0; i < fits->count; i++) {
        lth_ctx ctx = *fits->ctx;
        LTH_TRY(fits->fit(fits->user, i, &ctx, err));
        fits->done[i] = true;
        LTH_TRY(lth__tell(fits->ctx, fits->what, (double)i + 1, (double)fits->count, err));
    }
    return LTH_OK;
}
