/* Loops over jobs: the members of a team take them from one counter. */
#define _GNU_SOURCE 1 /* sched_getaffinity */

#include "base/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/team.h"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

enum { MOST_THREADS = 1024 };

static const double report_every = 1.0 / 6; /* seconds */

typedef struct lth__loop {
    lth_ctx *ctx;
    struct lth__loop *around; /* what it is the outermost loop in, which listens; or NULL */
    struct lth__loop *outer;  /* in one of whose jobs this loop runs, or NULL */
    bool listens;             /* it is no loop: see lth__listening()          */
    const char *what;         /* NULL = the callback is only asked            */
    lth__job_fn *job;
    void *user;
    const double *cost;
    size_t count;
    double total;

    /* Relaxed throughout: jobs are ordered by the start and the end of the team alone, and an order
     * by accident would hide a race between two jobs from ThreadSanitizer. */
    atomic_size_t next;
    atomic_bool stop;

    pthread_mutex_t lock; /* of all that follows */
    double done, reported_at;
    lth_status failure;
    size_t failed_index;
    lth_error reason; /* of that failure, if the job gave one */

    atomic_bool canceled; /* written with the lock, or without workers; read without */
} loop;

/* ---- Denormals: up to 100 times slower than other numbers, and of no use here --------------- */

#if defined(__SSE2__)
typedef unsigned float_mode;
static float_mode flush_denormals(void) {
    float_mode before = _mm_getcsr();
    _mm_setcsr(before | 0x8040); /* flush to zero, denormals are zero */
    return before;
}
static void restore_mode(float_mode mode) {
    _mm_setcsr(mode);
}
#elif defined(__aarch64__)
typedef uint64_t float_mode;
static void restore_mode(float_mode mode) {
    __asm__ volatile("msr fpcr, %0" : : "r"(mode));
}
static float_mode flush_denormals(void) {
    float_mode before;
    __asm__ volatile("mrs %0, fpcr" : "=r"(before));
    restore_mode(before | (UINT64_C(1) << 24)); /* FZ */
    return before;
}
#else
typedef int float_mode;
static float_mode flush_denormals(void) {
    return 0;
}
static void restore_mode(float_mode mode) {
    (void)mode;
}
#endif

/* ---- The loop ------------------------------------------------------------------------------ */

static bool is_canceled(const loop *l) {
    return atomic_load_explicit(&l->canceled, memory_order_relaxed);
}

/* Ask the caller whether to go on. With the lock held, or without workers. */
static void report(loop *l, double done) {
    const lth_ctx_options *options = &l->ctx->options;
    double total = l->what ? l->total : 0;
    if (options->progress(options->user, l->what ? l->what : "", done < total ? done : total,
                          total)) {
        atomic_store_explicit(&l->canceled, true, memory_order_relaxed);
        atomic_store_explicit(&l->stop, true, memory_order_relaxed);
    }
}

/* Add what a worker has done, unless another is adding: then it is kept for the next time. */
static void add_progress(loop *l, double *pending) {
    if (l->ctx->options.progress == NULL || pthread_mutex_trylock(&l->lock) != 0) return;
    l->done += *pending;
    *pending = 0;
    double now = lth__seconds();
    if (now - l->reported_at >= report_every && !is_canceled(l)) {
        report(l, l->done);
        l->reported_at = lth__seconds(); /* the callback may have taken its time */
    }
    pthread_mutex_unlock(&l->lock);
}

lth_status lth__parallel_ask(const lth_ctx *ctx) {
    loop *l = ctx->loop;
    double nothing = 0;
    if (l == NULL) return LTH_OK;
    add_progress(l, &nothing);
    return is_canceled(l) ? LTH_ECANCELED : LTH_OK;
}

static void note_failure(loop *l, size_t index, lth_status status, const lth_error *reason) {
    atomic_store_explicit(&l->stop, true, memory_order_relaxed);
    pthread_mutex_lock(&l->lock);
    if (l->failure == LTH_OK || index < l->failed_index) {
        l->failure = status;
        l->failed_index = index;
        l->reason = *reason;
    }
    pthread_mutex_unlock(&l->lock);
}

/* A job that was taken is run, stopped or not. As jobs are taken in order, the failing job with the
 * lowest index then runs whatever the number of threads, and the same failure is returned. */
static void work(void *user, unsigned worker) {
    loop *l = user;
    float_mode mode = flush_denormals();
    double pending = 0;
    while (!atomic_load_explicit(&l->stop, memory_order_relaxed)) {
        size_t index = atomic_fetch_add_explicit(&l->next, 1, memory_order_relaxed);
        if (index >= l->count) break;
        lth_error reason = {0};
        lth_status status = l->job(l->user, index, worker, &reason);
        if (status == LTH_OK && l->outer) status = lth__parallel_ask(l->ctx);
        if (status != LTH_OK) {
            note_failure(l, index, status, &reason);
            break;
        }
        pending += l->cost != NULL ? l->cost[index] : 1;
        if (!l->outer) add_progress(l, &pending);
    }
    restore_mode(mode);
}

/* ---- How many threads ---------------------------------------------------------------------- */

static unsigned team_size(size_t wanted, size_t count) {
    if (wanted > count) wanted = count;
    return wanted > MOST_THREADS ? MOST_THREADS : (unsigned)wanted;
}

unsigned lth__cpu_count(void) {
    cpu_set_t cpus[16]; /* one holds 1024 and is too small for the largest machines */
    if (sched_getaffinity(0, sizeof cpus, cpus) == 0) {
        int count = CPU_COUNT_S(sizeof cpus, cpus);
        if (count > 0) return (unsigned)count;
    }
    return lth__machine_cpus();
}

unsigned lth__machine_cpus(void) {
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (unsigned)online : 1;
}

static double sum_of_costs(const double *cost, size_t count) {
    if (cost == NULL) return (double)count;
    double sum = 0;
    for (size_t i = 0; i < count; i++) sum += cost[i];
    return sum;
}

/* The loop is the outermost one of its context, or it runs inside of that one's jobs. In what only
 * listens it is an outermost one. */
static void enter(loop *l) {
    lth_ctx *ctx = l->ctx;
    double now = lth__seconds();
    if (ctx->generation != lth__team_generation()) {
        ctx->generation = lth__team_generation();
        ctx->loop = NULL; /* one of the parent process */
    }
    l->outer = ctx->loop && !ctx->loop->listens ? ctx->loop : NULL;
    if (l->outer) return;
    l->around = ctx->loop;
    ctx->loop = l;
    /* Of many short loops that tell nothing, some one must ask. */
    l->reported_at = l->what || ctx->asked_at == 0 ? now : ctx->asked_at;
}

static void leave(loop *l) {
    lth_ctx *ctx = l->ctx;
    if (l->outer) return;
    bool told = l->what != NULL && ctx->options.progress != NULL;
    if (l->failure == LTH_OK && !is_canceled(l) && told) {
        report(l, l->total);
        l->reported_at = lth__seconds();
    }
    if (l->failure == LTH_OK && is_canceled(l)) l->failure = LTH_ECANCELED;
    ctx->asked_at = l->reported_at;
    ctx->loop = l->around;
    if (l->around) l->around->reported_at = l->reported_at;
}

lth_status lth__listening(lth_ctx *ctx, lth__alone_fn *act, void *user, lth_error *err) {
    bool asks_already = ctx->loop && ctx->generation == lth__team_generation();
    if (asks_already || ctx->cluster) return act(user, err); /* ranks stop together: in loops */
    loop l = {.ctx = ctx, .listens = true, .lock = PTHREAD_MUTEX_INITIALIZER};
    enter(&l);
    lth_status status = act(user, err);
    pthread_mutex_destroy(&l.lock);
    if (status != LTH_OK && status != LTH_ECANCELED) l.failure = status; /* and its own reason */
    leave(&l);
    if (l.failure == status && status != LTH_ECANCELED) return status;
    return lth__fail(err, LTH_ECANCELED, "%s", lth_status_text(LTH_ECANCELED));
}

lth_status lth__parallel_by(lth_ctx *ctx, size_t workers, const char *what, size_t count,
                            const double *cost, lth__job_fn *job, void *user, lth_error *err) {
    if (count == 0) return LTH_OK;
    loop l = {.ctx = ctx,
              .what = ctx->quiet ? NULL : what,
              .job = job,
              .user = user,
              .cost = cost,
              .count = count,
              .total = sum_of_costs(cost, count),
              .lock = PTHREAD_MUTEX_INITIALIZER};
    unsigned members = team_size(workers, count), most = team_size(ctx->options.threads, SIZE_MAX);
    enter(&l);
    lth__team_run(members, most > members ? most - members : 0, work, &l);
    pthread_mutex_destroy(&l.lock);
    leave(&l);
    if (l.failure == LTH_OK) return LTH_OK;
    if (l.reason.status == l.failure && l.failure != LTH_ECANCELED) {
        if (err) *err = l.reason;
        return l.failure;
    }
    return lth__fail(err, l.failure, "%s%s%s", what ? what : "", what ? ": " : "",
                     lth_status_text(l.failure));
}

lth_status lth__parallel_for(lth_ctx *ctx, const char *what, size_t count, const double *cost,
                             lth__job_fn *job, void *user, lth_error *err) {
    return lth__parallel_by(ctx, ctx->options.threads, what, count, cost, job, user, err);
}
