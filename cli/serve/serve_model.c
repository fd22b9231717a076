/* Reading the model, at the start and again on SIGHUP: it is served once all of it is there. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "serve/serve.h"

/* Read once, and kept: a request with a new word must not wait for the whole file. */
static int read_vectors(edition *e) {
    const char *path = e->options.vectors;
    lth_word_vectors *vectors = NULL;
    lth_error err = {0};
    if (!path || !lth_kernel_needs_vectors(lth_model_kernel(e->model))) return EXIT_DONE;
    lth_status status = lth_word_vectors_read(e->session.ctx, path, &vectors, &err);
    if (status == LTH_OK) status = lth_model_use_word_vectors(e->model, vectors, &err);
    lth_word_vectors_free(vectors); /* the model keeps them */
    return status == LTH_OK ? EXIT_DONE : session_fail_input(&e->session, &err, path);
}

static int load(edition *e) {
    const options *o = &e->options;
    struct stat file = {0};
    stat(o->arguments[0], &file);
    e->written = (double)file.st_mtim.tv_sec + 1e-9 * (double)file.st_mtim.tv_nsec;
    int code = session_load_model(&e->session, o->arguments[0], &e->model);
    return code ? code : read_vectors(e);
}

static int fail(edition *e, const char *why) {
    lth_error err = {.status = LTH_EFORMAT};
    snprintf(err.message, sizeof err.message, "%s", why);
    return session_fail_input(&e->session, &err, e->options.arguments[0]);
}

static int read_all(edition *e) {
    int code = session_open(&e->session, &e->options);
    if (!code) code = load(e);
    if (code) return code;
    e->session.gives_up = asker_gives_up;
    e->session.learning = true; /* Ctrl-C ended the reading; it lets requests in flight finish */
    if (!find_columns(e->model, &e->columns)) return out_of_memory();
    return e->columns.count > 0 ? EXIT_DONE : fail(e, "the kernel of this model reads no column");
}

static double unix_time(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int edition_open(const options *o, edition **out, char why[640]) {
    double begun = seconds_now();
    edition *e = calloc(1, sizeof *e);
    if (!e) return out_of_memory();
    e->options = *o;
    e->options.threads = 1; /* requests go on meanwhile, and are computed by one thread each */
    e->options.progress = PROGRESS_NEVER;
    pthread_mutex_init(&e->report_lock, NULL);
    atomic_init(&e->holders, 1);
    int code = read_all(e);
    if (code) {
        const lth_error *err = &e->session.failed;
        if (why) snprintf(why, 640, "%s", err->message[0] ? err->message : "it cannot be read");
        edition_release(e);
        return code;
    }
    e->loaded = unix_time();
    e->seconds = seconds_now() - begun;
    *out = e;
    return EXIT_DONE;
}

void edition_release(edition *e) {
    if (atomic_fetch_sub(&e->holders, 1) > 1) return;
    free_model(e->model);
    free_columns(&e->columns);
    session_close(&e->session);
    free(e->report);
    pthread_mutex_destroy(&e->report_lock);
    free(e);
}
