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

#include "output.h"
#include "report/report.h"
#include "serve/serve.h"

typedef struct job {
    const options *options;
    pool pool;
    access_log log;
    char *title;
    int listener;
    bool is_local;                 /* only this machine can reach it */
    bool has_terminal;             /* whose end is its end */
    char address[NI_MAXHOST + 32]; /* as in a URL: "127.0.0.1:8080" */
} job;

static int check_usage(const options *o) {
    if (strcmp(o->arguments[0], "-") == 0)
        return usage_error(o->command, "the model can be read again, so that it cannot come from "
                                       "standard input");
    if (o->timeout == 0) return usage_error(o->command, "--timeout wants at least 1 second");
    if (o->max_body == 0) return usage_error(o->command, "--max-body wants at least 1 byte");
    for (size_t i = 0; i < o->allow_host.count; ++i) {
        const char *name = o->allow_host.at[i], *obstacle = host_name_obstacle(name);
        if (obstacle) return usage_error(o->command, "--allow-host \"%s\": %s", name, obstacle);
    }
    return EXIT_DONE;
}

/* ---- The socket ---- */

static int cannot_listen(const options *o, const char *why) {
    message("cannot listen on %s, port %llu: %s", o->host, (unsigned long long)o->port, why);
    return EXIT_FAILED;
}

static int listen_at(const struct addrinfo *at) {
    int yes = 1;
    int s = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol);
    if (s < 0) return -1;
    setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(s, at->ai_addr, at->ai_addrlen) == 0 && listen(s, SOMAXCONN) == 0) return s;
    int number = errno;
    close(s);
    errno = number;
    return -1;
}

/* As the system has it: with --port 0 it has chosen one, and 127.1 is an address too. */
static void name_address(job *j) {
    struct sockaddr_storage own;
    socklen_t size = sizeof own;
    char host[NI_MAXHOST] = "?", port[NI_MAXSERV] = "?";
    if (getsockname(j->listener, (struct sockaddr *)&own, &size) == 0) {
        getnameinfo((struct sockaddr *)&own, size, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV);
        j->is_local = is_loopback((struct sockaddr *)&own);
    }
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

/* ---- Signals ---- */

static volatile sig_atomic_t hung_up;

static void on_hangup(int number) {
    (void)number;
    hung_up = 1;
}

/* Also under nohup, where it is ignored at first: whoever sends it wants the model read again.
 * Whether it was. */
static bool catch_hangup(void) {
    struct sigaction action = {.sa_handler = on_hangup}, old = {.sa_handler = SIG_DFL};
    sigaction(SIGHUP, &action, &old);
    return old.sa_handler == SIG_IGN;
}

/* The terminal that it was started from was closed: nobody could stop it any more. */
static bool lost_terminal(const job *j) {
    return j->has_terminal && !isatty(STDIN_FILENO);
}

/* ---- Serving ---- */

static void warn_of_others(job *j) {
    if (j->is_local) return;
    session_warn(&j->pool.at[0].session,
                 "whoever can reach %s can use this model and read its training rows", j->address);
}

/* Signals go to this thread alone: it is the one that waits for them. */
static server *start(job *j) {
    sigset_t all, before;
    sigfillset(&all);
    const options *o = j->options;
    server_options given = {
        .model_name = o->arguments[0],
        .title = j->title,
        .names = {.any = !j->is_local && o->allow_host.count == 0, .given = o->allow_host},
        .max_body = o->max_body,
        .timeout = (double)o->timeout,
        .pool = &j->pool,
        .log = &j->log};
    pthread_sigmask(SIG_SETMASK, &all, &before);
    server *s = server_start(j->listener, &given);
    if (!s) message("cannot start the threads that answer requests: %s", strerror(errno));
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return s;
}

/* The next model takes the place of the last once it was read; until then, and if it cannot be, the
 * last one goes on. */
static void reload(job *j, server *s) {
    const char *name = j->options->arguments[0];
    char state[64], why[640] = "";
    edition *next = NULL;
    double begun = seconds_now();
    snprintf(state, sizeof state, "RELOADING=1\nMONOTONIC_USEC=%lld", (long long)(begun * 1e6));
    notify_manager(state);
    log_reopen(&j->log);
    bool good = edition_open(j->options, &next, why) == EXIT_DONE;
    if (good)
        pool_replace(&j->pool, next);
    else
        message("the model that was read before is still served");
    double seconds = seconds_now() - begun;
    if (good && !j->options->quiet) message("%s was read again, in %.3f seconds", name, seconds);
    server_reloaded(s, good);
    log_event(&j->log, "reload", name, seconds, good ? NULL : why);
    notify_manager("READY=1");
}

static void wait_for_end(job *j, server *s) {
    while (!was_interrupted()) {
        if (hung_up && lost_terminal(j)) return;
        if (hung_up) {
            hung_up = 0; /* before: what is written now is read next time */
            reload(j, s);
        }
        poll(NULL, 0, 500);
    }
}

static int serve(job *j) {
    const char *name = j->options->arguments[0];
    double begun = seconds_now();
    server *s = start(j);
    if (!s) return EXIT_FAILED;
    j->listener = -1; /* the server closes it */
    bool logs_here = j->options->log && strcmp(j->options->log, "-") == 0;
    FILE *to = logs_here ? stderr : stdout;
    fputs("serving ", to);
    write_visible(to, name, strlen(name));
    fprintf(to, " on http://%s/ (Ctrl-C stops)\n", j->address);
    fflush(stdout);
    log_event(&j->log, "start", name, j->pool.current->seconds, NULL);
    notify_manager("READY=1");
    wait_for_end(j, s);
    notify_manager("STOPPING=1");
    server_stop(s);
    log_event(&j->log, "stop", name, seconds_now() - begun, NULL);
    return EXIT_DONE;
}

static int prepare(job *j) {
    const options *o = j->options;
    edition *first = NULL;
    int code = open_socket(j);
    if (!code) code = log_open(&j->log, o->log);
    if (!code) code = edition_open(o, &first, NULL);
    if (!code) code = pool_open(&j->pool, o, first);
    if (code) return code;
    j->title = o->title ? strdup(o->title) : report_title(o->arguments[0]);
    return j->title ? EXIT_DONE : out_of_memory();
}

int run_serve(const options *o) {
    int code = check_usage(o);
    if (code) return code;
    job j = {.options = o, .listener = -1, .log = {.file = -1}};
    j.has_terminal = !catch_hangup() && isatty(STDIN_FILENO);
    code = prepare(&j);
    if (!code) warn_of_others(&j);
    if (!code) code = serve(&j);
    if (j.listener >= 0) close(j.listener);
    pool_close(&j.pool);
    log_close(&j.log);
    free(j.title);
    return code;
}
