/* luthier serve: a model behind a web page and a JSON interface. */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "report/report.h"
#include "serve/serve.h"
#include "serve/serve_library.h"

typedef struct job {
    const options *options;
    pool pool;
    serve_columns columns;
    char *title;
    int listener;
    char address[NI_MAXHOST + 32]; /* as in a URL: "127.0.0.1:8080" */
} job;

static int check_usage(const options *o) {
    if (strcmp(o->arguments[0], "-") == 0)
        return usage_error(o->command, "the model is read once for each thread, so that it cannot "
                                       "come from standard input");
    if (o->timeout == 0) return usage_error(o->command, "--timeout wants at least 1 second");
    if (o->max_body == 0) return usage_error(o->command, "--max-body wants at least 1 byte");
    return EXIT_DONE;
}

/* ---- The socket ---- */

static int cannot_listen(const options *o, const char *why) {
    fprintf(stderr, "luthier: cannot listen on %s, port %llu: %s\n", o->host,
            (unsigned long long)o->port, why);
    return EXIT_FAILED;
}

static int listen_at(const struct addrinfo *at) {
    int yes = 1;
    int s = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol);
    if (s < 0) return -1;
    setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(s, at->ai_addr, at->ai_addrlen) == 0 && listen(s, 511) == 0) return s;
    int number = errno;
    close(s);
    errno = number;
    return -1;
}

/* With --port 0 the system has chosen one. */
static void name_address(job *j) {
    struct sockaddr_storage own;
    socklen_t size = sizeof own;
    char host[NI_MAXHOST] = "?", port[NI_MAXSERV] = "?";
    if (getsockname(j->listener, (struct sockaddr *)&own, &size) == 0)
        getnameinfo((struct sockaddr *)&own, size, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV);
    bool colons = strchr(host, ':') != NULL;
    snprintf(j->address, sizeof j->address, "%s%s%s:%s", colons ? "[" : "", host, colons ? "]" : "",
             port);
}

static int open_socket(job *j) {
    const options *o = j->options;
    struct addrinfo wanted = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV | AI_PASSIVE};
    struct addrinfo *found = NULL;
    char port[16];
    snprintf(port, sizeof port, "%llu", (unsigned long long)o->port);
    int failure = getaddrinfo(o->host, port, &wanted, &found);
    if (failure) return cannot_listen(o, gai_strerror(failure));
    for (const struct addrinfo *at = found; at && j->listener < 0; at = at->ai_next)
        j->listener = listen_at(at);
    int number = errno;
    freeaddrinfo(found);
    if (j->listener < 0) return cannot_listen(o, strerror(number));
    name_address(j);
    return EXIT_DONE;
}

/* ---- Serving ---- */

static void warn_of_others(job *j) {
    if (strncmp(j->address, "127.", 4) == 0 || strncmp(j->address, "[::1]", 5) == 0) return;
    session_warn(&j->pool.at[0].session,
                 "whoever can reach %s can use this model and read its training rows", j->address);
}

/* Signals go to this thread alone: it is the one that waits for them. */
static server *start(job *j) {
    sigset_t all, before;
    sigfillset(&all);
    server_options given = {.model_name = j->options->arguments[0],
                            .title = j->title,
                            .host = j->options->host,
                            .max_body = j->options->max_body,
                            .timeout = (double)j->options->timeout,
                            .pool = &j->pool,
                            .columns = &j->columns};
    pthread_sigmask(SIG_SETMASK, &all, &before);
    server *s = server_start(j->listener, &given);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return s;
}

static int serve(job *j) {
    server *s = start(j);
    if (!s) {
        fputs("luthier: cannot start the threads that answer requests\n", stderr);
        return EXIT_FAILED;
    }
    j->listener = -1; /* the server closes it */
    printf("serving %s on http://%s/ (Ctrl-C stops)\n", j->options->arguments[0], j->address);
    fflush(stdout);
    while (!was_interrupted()) {
        poll(NULL, 0, 500);
        server_tick(s);
    }
    server_stop(s);
    return EXIT_DONE;
}

static int prepare(job *j) {
    const options *o = j->options;
    if (!http_load()) {
        fputs("luthier: libmicrohttpd (libmicrohttpd.so.12) cannot be loaded; install it (Debian: "
              "libmicrohttpd12)\n",
              stderr);
        return EXIT_FAILED;
    }
    int code = open_socket(j);
    if (!code) code = pool_open(&j->pool, o);
    if (code) return code;
    j->title = o->title ? strdup(o->title) : report_title(o->arguments[0]);
    if (!j->title || !find_columns(j->pool.model, &j->columns)) return out_of_memory();
    if (j->columns.count > 0) return EXIT_DONE;
    fputs("luthier: the kernel of this model reads no column\n", stderr);
    return EXIT_FAILED;
}

int run_serve(const options *o) {
    int code = check_usage(o);
    if (code) return code;
    job j = {.options = o, .listener = -1};
    code = prepare(&j);
    if (!code) warn_of_others(&j);
    if (!code) code = serve(&j);
    if (j.listener >= 0) close(j.listener);
    pool_close(&j.pool);
    free_columns(&j.columns);
    free(j.title);
    return code;
}
