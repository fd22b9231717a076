/* The model as it was last read, and several contexts for requests that come at the same time: as
 * many as were asked for, and a spare one, so that brief requests never wait for long ones. */
#define _GNU_SOURCE 1 /* CPU_COUNT, POLLRDHUP */

#include <malloc.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>

#include "serve/serve.h"

enum {
    /* More than that and the last ones would wait for seconds: better to say so at once. */
    MOST_WAITING = 64,
    MOST_LONG_WAITING = 48 /* there is room behind them */
};

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

static void set_free(pool *p, worker *w) {
    worker **to = w->spare ? &p->spare : &p->free;
    w->next = *to;
    *to = w;
}

static worker *take_free(pool *p, const ticket *of) {
    worker **from = p->free || !of->brief ? &p->free : &p->spare, *found = *from;
    if (found) *from = found->next;
    return found;
}

/* Blocks of large requests go back to the system when they are freed; else each thread's heap would
 * grow around those that outlive them. */
static void give_memory_back(void) {
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 256 << 10);
#endif
}

int pool_open(pool *p, const options *o, edition *first) {
    give_memory_back();
    size_t wanted = (o->threads ? (size_t)o->threads : count_cores()) + 1;
    *p = (pool){.current = first, .at = calloc(wanted, sizeof *p->at)};
    pthread_mutex_init(&p->lock, NULL);
    if (!p->at) return out_of_memory();
    while (p->count < wanted) {
        worker *w = &p->at[p->count++];
        int code = open_session(w, o);
        if (code) return code;
        w->spare = p->count == wanted;
        set_free(p, w);
    }
    return EXIT_DONE;
}

void pool_close(pool *p) {
    if (!p->current) return; /* it was never opened */
    edition_release(p->current);
    for (size_t i = 0; i < p->count; ++i) session_close(&p->at[i].session);
    free(p->at);
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

static bool is_blocked(const ticket *t) {
    return t->blocked && atomic_load(t->blocked);
}

/* With the lock held. */
static ticket *take_out(pool *p, ticket **at) {
    ticket *found = *at;
    if (!found) return NULL;
    *at = found->next;
    --p->waiting;
    return found;
}

/* Those who come are served after those who wait; a context is free only where nobody can use it.
 */
pool_turn pool_enter(pool *p, ticket *of, worker **out) {
    pthread_mutex_lock(&p->lock);
    size_t most = of->brief ? MOST_WAITING : MOST_LONG_WAITING;
    worker *w = is_blocked(of) ? NULL : take_free(p, of);
    pool_turn turn = w ? POOL_NOW : p->waiting < most ? POOL_LATER : POOL_NEVER;
    if (turn == POOL_LATER) {
        ticket **at = &p->first;
        while (*at) at = &(*at)->next;
        of->next = NULL;
        *at = of;
        ++p->waiting;
    }
    pthread_mutex_unlock(&p->lock);
    *out = w;
    return turn;
}

ticket *pool_leave(pool *p, worker *w) {
    pthread_mutex_lock(&p->lock);
    ticket **at = &p->first;
    while (*at && (is_blocked(*at) || (w->spare && !(*at)->brief))) at = &(*at)->next;
    ticket *next = take_out(p, at);
    if (!next) set_free(p, w);
    pthread_mutex_unlock(&p->lock);
    return next;
}

ticket *pool_give_up(pool *p) {
    pthread_mutex_lock(&p->lock);
    ticket **at = &p->first;
    while (*at && !patience_ends(&(*at)->patience)) at = &(*at)->next;
    ticket *late = take_out(p, at);
    pthread_mutex_unlock(&p->lock);
    return late;
}

void worker_begin(worker *w, const edition *e, patience *of) {
    w->model = e->model;
    asker = of;
}

void worker_end(worker *w) {
    w->model = NULL;
    asker = NULL;
}

void worker_insist(void) {
    asker = NULL;
}
