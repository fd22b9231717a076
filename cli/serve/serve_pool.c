/* The model as it was last read, and several contexts for requests that come at the same time. */
#define _GNU_SOURCE 1 /* CPU_COUNT, POLLRDHUP */

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include "serve/serve.h"

/* More than that and the last ones would wait for seconds: better to say so at once. */
enum { MOST_WAITING = 64 };

/* ---- Patience ---- */

/* A client that closed its side of the connection does not wait for an answer. */
static bool has_left(int socket) {
    struct pollfd at = {.fd = socket, .events = POLLRDHUP};
    return poll(&at, 1, 0) > 0 && (at.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

bool patience_ends(patience *p) {
    if (p->end == STILL_WAITS && has_left(p->socket)) p->end = HAS_LEFT;
    if (p->end == STILL_WAITS && seconds_now() > p->until) p->end = TOO_LATE;
    return p->end != STILL_WAITS;
}

static _Thread_local patience *asker; /* NULL = the work of this thread is finished anyway */

bool asker_gives_up(void) {
    return asker && patience_ends(asker);
}

void pool_insist(void) {
    asker = NULL;
}

/* ---- Opening ---- */

static size_t count_cores(void) {
    cpu_set_t cores;
    return sched_getaffinity(0, sizeof cores, &cores) == 0 ? (size_t)CPU_COUNT(&cores) : 1;
}

static int open_session(worker *w, const options *o) {
    w->options = *o;
    w->options.threads = 1; /* requests share the cores: one of them starts no threads */
    w->options.progress = PROGRESS_NEVER;
    int code = session_open(&w->session, &w->options);
    w->session.learning = true; /* Ctrl-C lets requests in flight finish */
    w->session.gives_up = asker_gives_up;
    return code;
}

int pool_open(pool *p, const options *o, edition *first) {
    size_t wanted = o->threads ? (size_t)o->threads : count_cores();
    *p = (pool){.current = first, .at = calloc(wanted, sizeof *p->at)};
    pthread_mutex_init(&p->lock, NULL);
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&p->given_back, &clock);
    pthread_condattr_destroy(&clock);
    if (!p->at) return out_of_memory();
    while (p->count < wanted) {
        worker *w = &p->at[p->count++];
        int code = open_session(w, o);
        if (code) return code;
        w->next = p->free;
        p->free = w;
    }
    return EXIT_DONE;
}

void pool_close(pool *p) {
    if (!p->current) return; /* it was never opened */
    edition_release(p->current);
    for (size_t i = 0; i < p->count; ++i) session_close(&p->at[i].session);
    free(p->at);
    pthread_cond_destroy(&p->given_back);
    pthread_mutex_destroy(&p->lock);
}

/* ---- The model ---- */

edition *pool_hold(pool *p) {
    pthread_mutex_lock(&p->lock);
    edition *e = p->current;
    atomic_fetch_add(&e->holders, 1);
    pthread_mutex_unlock(&p->lock);
    return e;
}

void pool_replace(pool *p, edition *next) {
    pthread_mutex_lock(&p->lock);
    edition *old = p->current;
    p->current = next;
    pthread_mutex_unlock(&p->lock);
    edition_release(old);
}

/* ---- Contexts ---- */

size_t pool_waiting(pool *p) {
    pthread_mutex_lock(&p->lock);
    size_t waiting = p->waiting;
    pthread_mutex_unlock(&p->lock);
    return waiting;
}

/* A moment from now: nobody tells us when a client leaves, so it is looked after. */
static struct timespec moment(void) {
    enum { NANOSECONDS = 100 * 1000 * 1000 };
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_nsec += NANOSECONDS;
    at.tv_sec += at.tv_nsec / 1000000000;
    at.tv_nsec %= 1000000000;
    return at;
}

worker *pool_take(pool *p, const edition *e, patience *of) {
    pthread_mutex_lock(&p->lock);
    bool late = !p->free && p->waiting >= MOST_WAITING;
    ++p->waiting;
    while (!p->free && !late) {
        struct timespec until = moment();
        pthread_cond_timedwait(&p->given_back, &p->lock, &until);
        late = patience_ends(of);
    }
    --p->waiting;
    worker *w = late ? NULL : p->free;
    if (w) p->free = w->next;
    /* Who leaves with nothing may have been the one that was woken. */
    if (!w && p->free) pthread_cond_signal(&p->given_back);
    pthread_mutex_unlock(&p->lock);
    if (!w) return NULL;
    w->model = e->model;
    asker = of;
    return w;
}

void pool_give(pool *p, worker *w) {
    w->model = NULL;
    asker = NULL;
    pthread_mutex_lock(&p->lock);
    w->next = p->free;
    p->free = w;
    pthread_cond_signal(&p->given_back);
    pthread_mutex_unlock(&p->lock);
}
