/* Who waits looks for a few microseconds whether there is something to do, then sleeps: teams
 * follow closely on one another in linear algebra, where waking up would take as long as the work,
 * but a thread that waits for long must leave its core to others.
 */
#include "base/team.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/memory.h"

typedef struct team {
    lth__team_fn *fn;
    void *user;
    atomic_uint running; /* members besides the one that called                         */
    atomic_uint spare;   /* threads without work here, for teams inside of its members' */
} team;

typedef struct worker {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    _Atomic(team *) team; /* NULL = nothing to do */
    unsigned member;
    struct worker *next; /* idle, or of the same team */
    struct worker *older;
} worker;

static struct pool {
    pthread_mutex_t lock;
    pthread_cond_t finished; /* some team */
    worker *idle;
    worker *all;         /* by `older` */
    worker *ghosts;      /* their threads are in the parent process; by `older` */
    unsigned generation; /* see lth__team_generation() */
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .finished = PTHREAD_COND_INITIALIZER};

/* The one that this thread is in, or NULL. */
static _Thread_local team *inside;

enum { LOOKS = 2000 };

static void pause_a_little(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* ---- Spare threads: relaxed, so that they put nothing in order but by accident ---- */

static void give_spare(team *t, unsigned count) {
    atomic_fetch_add_explicit(&t->spare, count, memory_order_relaxed);
}

/* So many of them at most, beside the thread that calls, for a team inside. */
static unsigned take_spare(team *t, unsigned wanted) {
    unsigned spare = atomic_load_explicit(&t->spare, memory_order_relaxed), taken;
    do {
        taken = spare < wanted ? spare : wanted;
    } while (taken > 0 &&
             !atomic_compare_exchange_weak_explicit(&t->spare, &spare, spare - taken,
                                                    memory_order_relaxed, memory_order_relaxed));
    return taken;
}

/* ---- Workers ---- */

static team *wait_for_team(worker *w) {
    team *t = NULL;
    for (int i = 0; i < LOOKS && !t; i++) {
        t = atomic_load_explicit(&w->team, memory_order_acquire);
        if (!t) pause_a_little();
    }
    if (t) return t;
    pthread_mutex_lock(&w->lock);
    while ((t = atomic_load(&w->team)) == NULL) pthread_cond_wait(&w->wake, &w->lock);
    pthread_mutex_unlock(&w->lock);
    return t;
}

static void *work_for_ever(void *p) {
    worker *w = p;
    for (;;) {
        team *t = inside = wait_for_team(w);
        t->fn(t->user, w->member);
        atomic_store(&w->team, NULL);
        give_spare(t, 1);
        /* From here on the team may be gone: whoever sleeps is woken through the pool. */
        if (atomic_fetch_sub(&t->running, 1) == 1) {
            pthread_mutex_lock(&pool.lock);
            pthread_cond_broadcast(&pool.finished);
            pthread_mutex_unlock(&pool.lock);
        }
    }
    return NULL;
}

/* Signals are for the threads of the program. */
static bool start(worker *w) {
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(&thread, NULL, work_for_ever, w) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started) pthread_detach(thread);
    return started;
}

static void put(worker **list, worker *w) {
    pthread_mutex_lock(&pool.lock);
    w->older = *list;
    *list = w;
    pthread_mutex_unlock(&pool.lock);
}

/* One without a thread. */
static worker *take_ghost(void) {
    pthread_mutex_lock(&pool.lock);
    worker *w = pool.ghosts;
    if (w) pool.ghosts = w->older;
    pthread_mutex_unlock(&pool.lock);
    return w ? w : lth__alloc(1, sizeof *w);
}

static worker *new_worker(void) {
    worker *w = take_ghost();
    if (!w) return NULL;
    *w = (worker){.lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER};
    if (start(w)) {
        put(&pool.all, w);
        return w;
    }
    put(&pool.ghosts, w);
    return NULL;
}

/* ---- Forks: a child process has none of its parent's threads ---- */

/* The lists are whole while the lock is held, whatever other threads are doing. */
static void before_fork(void) {
    pthread_mutex_lock(&pool.lock);
}

static void after_fork(void) {
    pthread_mutex_unlock(&pool.lock);
}

/* Also those that are in a team of a thread that is not here. */
static void lay_threads_down(void) {
    worker **end = &pool.ghosts;
    while (*end) end = &(*end)->older;
    *end = pool.all;
    pool = (struct pool){.lock = PTHREAD_MUTEX_INITIALIZER,
                         .finished = PTHREAD_COND_INITIALIZER,
                         .ghosts = pool.ghosts,
                         .generation = pool.generation + 1};
    inside = NULL;
}

static void watch_for_forks(void) {
    pthread_atfork(before_fork, after_fork, lay_threads_down);
}

unsigned lth__team_generation(void) {
    return pool.generation;
}

/* ---- Teams ---- */

static worker *take_idle(void) {
    pthread_mutex_lock(&pool.lock);
    worker *w = pool.idle;
    if (w) pool.idle = w->next;
    pthread_mutex_unlock(&pool.lock);
    return w;
}

static void give_back(worker *members) {
    pthread_mutex_lock(&pool.lock);
    while (members) {
        worker *next = members->next;
        members->next = pool.idle;
        pool.idle = members;
        members = next;
    }
    pthread_mutex_unlock(&pool.lock);
}

static void call_up(worker *w, team *t, unsigned member) {
    w->member = member;
    pthread_mutex_lock(&w->lock);
    atomic_store(&w->team, t);
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
}

static void wait_for_members(team *t) {
    for (int i = 0; i < LOOKS; i++) {
        if (atomic_load_explicit(&t->running, memory_order_acquire) == 0) return;
        pause_a_little();
    }
    pthread_mutex_lock(&pool.lock);
    while (atomic_load(&t->running) > 0) pthread_cond_wait(&pool.finished, &pool.lock);
    pthread_mutex_unlock(&pool.lock);
}

/* Returns how many were called. */
static unsigned call(unsigned wanted, worker **called) {
    unsigned count = 0;
    for (*called = NULL; count < wanted; count++) {
        worker *w = take_idle();
        if (!w) w = new_worker();
        if (!w) break;
        w->next = *called;
        *called = w;
    }
    return count;
}

void lth__team_run(unsigned members, unsigned spare, lth__team_fn *fn, void *user) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_for_forks);
    team t = {.fn = fn, .user = user}, *outer = inside;
    worker *called;
    unsigned wanted = members > 0 ? members - 1 : 0;
    if (outer) wanted = take_spare(outer, wanted);
    unsigned count = call(wanted, &called);
    if (outer) give_spare(outer, wanted - count);
    if (!called) { /* no team: there may be one inside */
        fn(user, 0);
        return;
    }
    atomic_store(&t.running, count);
    atomic_store(&t.spare, outer ? 0 : spare); /* those of the outer one are its own */
    unsigned member = count;
    for (worker *w = called, *next; w; w = next) {
        next = w->next;
        call_up(w, &t, member--);
    }
    inside = &t;
    fn(user, 0);
    inside = outer;
    give_spare(&t, 1);
    wait_for_members(&t);
    give_back(called);
    if (outer) give_spare(outer, count);
}
