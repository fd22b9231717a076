/* One model, and several contexts for requests that come at the same time. */
#define _GNU_SOURCE 1 /* CPU_COUNT */

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include "serve/serve.h"

/* More than that and the last ones would wait for seconds: better to say so at once. */
enum { MOST_WAITING = 64 };

static size_t count_cores(void) {
    cpu_set_t cores;
    return sched_getaffinity(0, sizeof cores, &cores) == 0 ? (size_t)CPU_COUNT(&cores) : 1;
}

static int open_session(worker *w, const options *o) {
    w->options = *o;
    w->options.threads = 1; /* requests share the cores: one of them starts no threads */
    int code = session_open(&w->session, &w->options);
    w->session.learning = true; /* Ctrl-C lets requests in flight finish */
    return code;
}

static int load(session *s, const options *o, lth_model **m) {
    int code = session_load_model(s, o->arguments[0], m);
    if (code) return code;
    lth_error err = {0};
    lth_status status = lth_model_use_vectors(*m, o->vectors, &err);
    return status == LTH_OK ? EXIT_DONE : session_fail(s, &err);
}

int pool_open(pool *p, const options *o) {
    size_t wanted = o->threads ? (size_t)o->threads : count_cores();
    *p = (pool){.at = calloc(wanted, sizeof *p->at)};
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
        if (!code && p->count == 1) code = load(&w->session, o, &p->model);
        if (code) return code;
        w->model = p->model;
        w->next = p->free;
        p->free = w;
    }
    return EXIT_DONE;
}

void pool_close(pool *p) {
    if (!p->at) return;
    free_model(p->model);
    for (size_t i = 0; i < p->count; ++i) session_close(&p->at[i].session);
    free(p->at);
    pthread_cond_destroy(&p->given_back);
    pthread_mutex_destroy(&p->lock);
}

worker *pool_take(pool *p, double seconds) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)seconds;
    pthread_mutex_lock(&p->lock);
    bool late = !p->free && p->waiting >= MOST_WAITING;
    ++p->waiting;
    while (!p->free && !late)
        late = pthread_cond_timedwait(&p->given_back, &p->lock, &until) == ETIMEDOUT;
    --p->waiting;
    worker *w = p->free;
    if (w) p->free = w->next;
    pthread_mutex_unlock(&p->lock);
    return w;
}

void pool_give(pool *p, worker *w) {
    pthread_mutex_lock(&p->lock);
    w->next = p->free;
    p->free = w;
    pthread_cond_signal(&p->given_back);
    pthread_mutex_unlock(&p->lock);
}
