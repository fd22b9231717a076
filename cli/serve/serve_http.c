/* The HTTP side of luthier serve, by libmicrohttpd with a thread for each connection: routes,
 * limits, headers; a request waits for a free model, and nobody else waits for a slow client. */
#define _GNU_SOURCE 1 /* open_memstream */

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "json.h"
#include "report/reasons.h"
#include "report/report.h"
#include "serve/serve.h"
#include "serve/serve_library.h"

enum {
    MOST_CONNECTIONS = 256,
    HEADER_BYTES = 32 << 10,
    /* A body that is refused is read to its end, so that the client hears why, up to this size. */
    MOST_DISCARDED = 32 << 20,
    NONCE = 32,
};

/* A client. It is slow if it neither sent a whole request nor took its answer in time. */
typedef struct client {
    int socket;
    bool working; /* now it is we who take our time */
    double since; /* when it was its turn */
    struct client *before, *after;
} client;

struct server {
    server_options options;
    struct MHD_Daemon *daemon;
    int listener;
    atomic_size_t requests; /* in flight */
    atomic_bool stopping;
    pthread_mutex_t clients_lock;
    client *clients;
    pthread_mutex_t report_lock;
    char *report; /* made when first asked for */
    size_t report_size;
};

typedef struct request request;
typedef bool answer_fn(server *s, request *r, FILE *out, problem *why);

typedef struct route {
    const char *path, *method;
    const char *type, *policy; /* of the answer */
    answer_fn *answer;
} route;

struct request {
    struct MHD_Connection *connection;
    const route *route;
    problem problem;
    char *body;
    size_t size, room;
    char nonce[NONCE + 1]; /* of the script of the answer */
};

/* ---- Clients ---- */

static void on_connection(void *user, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode what) {
    server *s = user;
    client *c = *context;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) c = calloc(1, sizeof *c);
    if (!c) return; /* then it is not watched */
    pthread_mutex_lock(&s->clients_lock);
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        c->socket =
            http.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
        c->since = seconds_now();
        c->after = s->clients;
        if (c->after) c->after->before = c;
        s->clients = c;
    } else {
        if (c->after) c->after->before = c->before;
        *(c->before ? &c->before->after : &s->clients) = c->after;
        free(c);
        c = NULL;
    }
    *context = c;
    pthread_mutex_unlock(&s->clients_lock);
}

static void set_working(server *s, struct MHD_Connection *connection, bool working) {
    const union MHD_ConnectionInfo *info =
        http.get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    client *c = info ? info->socket_context : NULL;
    if (!c) return;
    pthread_mutex_lock(&s->clients_lock);
    c->working = working;
    c->since = seconds_now();
    pthread_mutex_unlock(&s->clients_lock);
}

void server_tick(server *s) {
    double now = seconds_now();
    pthread_mutex_lock(&s->clients_lock);
    for (client *c = s->clients; c; c = c->after)
        if (!c->working && now - c->since > s->options.timeout) shutdown(c->socket, SHUT_RDWR);
    pthread_mutex_unlock(&s->clients_lock);
}

/* ---- Responses ---- */

/* Takes over the text; `more` is a header that only this response has. */
static enum MHD_Result respond(server *s, request *r, unsigned status, char *text, size_t size,
                               const char *more, const char *value) {
    const route *at = r->route;
    bool good = status == MHD_HTTP_OK;
    struct MHD_Response *response =
        http.create_response_from_buffer(size, text, MHD_RESPMEM_MUST_FREE);
    if (!response) {
        free(text);
        return MHD_NO;
    }
    char policy[256];
    snprintf(
        policy, sizeof policy,
        "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'%s%s%s",
        good && at->policy ? at->policy : "", r->nonce[0] && good ? r->nonce : "",
        r->nonce[0] && good ? "'" : "");
    http.add_response_header(response, "Content-Type", good ? at->type : "application/json");
    http.add_response_header(response, "Content-Security-Policy", policy);
    http.add_response_header(response, "X-Content-Type-Options", "nosniff");
    http.add_response_header(response, "Referrer-Policy", "no-referrer");
    http.add_response_header(response, "Cache-Control", "no-store");
    if (more) http.add_response_header(response, more, value);
    if (atomic_load(&s->stopping)) http.add_response_header(response, "Connection", "close");
    set_working(s, r->connection, false);
    enum MHD_Result result = http.queue_response(r->connection, status, response);
    http.destroy_response(response);
    return result;
}

/* What a problem says may be cut in the middle of a character, or hold any. */
static char *print_problem(const problem *p, size_t *size) {
    char *visible = NULL, *text = NULL;
    size_t length;
    FILE *out = open_memstream(&visible, &length);
    if (!out) return NULL;
    write_visible(out, p->text, strlen(p->text));
    fclose(out);
    out = visible ? open_memstream(&text, size) : NULL;
    if (out) {
        json_writer json = {.to = out};
        json_begin_object(&json, NULL);
        json_put_text(&json, "error", visible);
        json_end(&json);
        fclose(out);
    }
    free(visible);
    return text;
}

static enum MHD_Result refuse(server *s, request *r) {
    size_t size = 0;
    char *text = print_problem(&r->problem, &size);
    if (!text) return MHD_NO;
    switch (r->problem.status) {
    case MHD_HTTP_METHOD_NOT_ALLOWED:
        return respond(s, r, r->problem.status, text, size, "Allow",
                       strcmp(r->route->method, "GET") == 0 ? "GET, HEAD" : r->route->method);
    case MHD_HTTP_SERVICE_UNAVAILABLE:
        return respond(s, r, r->problem.status, text, size, "Retry-After", "1");
    default: return respond(s, r, r->problem.status, text, size, NULL, NULL);
    }
}

static enum MHD_Result answer(server *s, request *r) {
    char *text = NULL;
    size_t size;
    FILE *out = r->problem.status ? NULL : open_memstream(&text, &size);
    if (!out && !r->problem.status) return MHD_NO;
    if (out) {
        bool good = r->route->answer(s, r, out, &r->problem), lost = ferror(out) != 0;
        if ((fclose(out) != 0 || lost) && good) set_problem(&r->problem, 503, "out of memory");
    }
    if (!r->problem.status) return respond(s, r, MHD_HTTP_OK, text, size, NULL, NULL);
    free(text);
    return refuse(s, r);
}

/* ---- Routes ---- */

static worker *take_worker(server *s, problem *why) {
    worker *w = pool_take(s->options.pool, s->options.timeout);
    if (!w) set_problem(why, 503, "too many requests at once");
    return w;
}

static bool get_health(server *s, request *r, FILE *out, problem *why) {
    (void)r, (void)why;
    json_writer json = {.to = out};
    json_begin_object(&json, NULL);
    json_put_text(&json, "status", "ok");
    json_put_text(&json, "model", s->options.model_name);
    json_put_text(&json, "version", lth_version());
    json_end(&json);
    return true;
}

static bool make_nonce(char out[NONCE + 1]) {
    unsigned char bytes[NONCE / 2];
    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes) return false;
    for (size_t i = 0; i < sizeof bytes; ++i) sprintf(out + 2 * i, "%02x", (unsigned)bytes[i]);
    return true;
}

static bool get_page(server *s, request *r, FILE *out, problem *why) {
    if (!make_nonce(r->nonce)) {
        set_problem(why, 500, "no random numbers");
        return false;
    }
    /* What the page says of the model is the same for all of them, and never changes. */
    write_live_page(out, s->options.title, s->options.columns, s->options.pool->model, r->nonce);
    return true;
}

static bool get_report(server *s, request *r, FILE *out, problem *why) {
    (void)r;
    pthread_mutex_lock(&s->report_lock);
    if (!s->report) {
        worker *w = take_worker(s, why);
        if (w) {
            if (make_report(&w->session, w->model, s->options.title, NULL, NULL, &s->report,
                            &s->report_size))
                set_problem(why, was_interrupted() ? 503 : 500, "the report could not be made");
            pool_give(s->options.pool, w);
        }
    }
    pthread_mutex_unlock(&s->report_lock);
    if (s->report) fwrite(s->report, 1, s->report_size, out);
    return s->report != NULL;
}

static bool post_predict(server *s, request *r, FILE *out, problem *why) {
    serve_rows rows;
    if (!read_rows(s->options.columns, r->body, r->size, &rows, why)) return false;
    worker *w = take_worker(s, why);
    bool good = w && answer_predict(w, s->options.columns, &rows, out, why);
    if (w) pool_give(s->options.pool, w);
    free_rows(&rows);
    return good;
}

static bool take_count(const request *r, const char *name, size_t most, size_t *out, problem *why) {
    const char *text = http.lookup_connection_value(r->connection, MHD_GET_ARGUMENT_KIND, name);
    if (!text) return true;
    size_t length = strlen(text);
    if (length > 0 && length < 8 && strspn(text, "0123456789") == length &&
        strtoul(text, NULL, 10) <= most) {
        *out = strtoul(text, NULL, 10);
        return true;
    }
    set_problem(why, 400, "%s wants a whole number from 0 to %zu", name, most);
    return false;
}

static bool post_explain(server *s, request *r, FILE *out, problem *why) {
    explain_query query = {
        .target = http.lookup_connection_value(r->connection, MHD_GET_ARGUMENT_KIND, "target"),
        .class = http.lookup_connection_value(r->connection, MHD_GET_ARGUMENT_KIND, "class"),
        .patterns = 10,
        .rows = 5};
    serve_rows rows;
    if (!take_count(r, "patterns", 1000, &query.patterns, why)) return false;
    if (!take_count(r, "rows", 1000000, &query.rows, why)) return false;
    if (!read_rows(s->options.columns, r->body, r->size, &rows, why)) return false;
    worker *w = take_worker(s, why);
    bool good = w && answer_explain(w, s->options.columns, &rows, &query, out, why);
    if (w) pool_give(s->options.pool, w);
    free_rows(&rows);
    return good;
}

static bool post_mutate(server *s, request *r, FILE *out, problem *why) {
    const char *letters =
        http.lookup_connection_value(r->connection, MHD_GET_ARGUMENT_KIND, "letters");
    serve_rows rows;
    if (!read_rows(s->options.columns, r->body, r->size, &rows, why)) return false;
    worker *w = take_worker(s, why);
    bool good = w && answer_mutate(w, &rows, letters, out, why);
    if (w) pool_give(s->options.pool, w);
    free_rows(&rows);
    return good;
}

#define STYLES "; style-src 'unsafe-inline'"
#define SCRIPT STYLES "; img-src data:; connect-src 'self'; script-src 'nonce-"

static const route routes[] = {
    {"/", "GET", "text/html; charset=utf-8", SCRIPT, get_page},
    {"/report", "GET", "text/html; charset=utf-8", STYLES, get_report},
    {"/health", "GET", "application/json", NULL, get_health},
    {"/predict", "POST", "application/json", NULL, post_predict},
    {"/explain", "POST", "application/json", NULL, post_explain},
    {"/mutate", "POST", "application/json", NULL, post_mutate},
};

/* ---- Requests ---- */

static const char *header_of(const request *r, const char *name) {
    return http.lookup_connection_value(r->connection, MHD_HEADER_KIND, name);
}

static bool is_json(const char *type) {
    static const char json[] = "application/json";
    size_t length = strlen(json);
    return type && strncasecmp(type, json, length) == 0 && strchr("; \t", type[length]);
}

static void find_route(request *r, const char *path, const char *method) {
    for (size_t i = 0; i < sizeof routes / sizeof *routes; ++i)
        if (strcmp(routes[i].path, path) == 0) r->route = &routes[i];
    if (!r->route) {
        set_problem(&r->problem, 404, "there is nothing at %.200s", path);
        return;
    }
    bool right = strcmp(r->route->method, method) == 0 ||
                 (strcmp(method, "HEAD") == 0 && strcmp(r->route->method, "GET") == 0);
    if (!right) set_problem(&r->problem, 405, "%s wants %s", path, r->route->method);
}

/* The size of the body that was announced; 0 where it was not. */
static double announced(const request *r) {
    const char *length = header_of(r, "Content-Length");
    return length ? strtod(length, NULL) : 0;
}

static bool is_name(const char *host, size_t length, const char *name) {
    return strlen(name) == length && strncasecmp(host, name, length) == 0;
}

/* Whether the client asked for this machine by one of its own names. A page of another site, whose
 * name was made to mean this machine, asks by that name: only who listens to everybody answers it.
 */
static bool asks_for_us(const server *s, const request *r) {
    static const char *const local[] = {"localhost", "127.0.0.1", "[::1]"};
    const char *host = header_of(r, "Host"), *colon = host ? strrchr(host, ':') : NULL;
    bool is_local = strcmp(s->options.host, "::1") == 0;
    for (size_t i = 0; i < 3; ++i) is_local |= strcmp(s->options.host, local[i]) == 0;
    if (!host || !is_local) return true;
    size_t length = colon && !strchr(colon, ']') ? (size_t)(colon - host) : strlen(host);
    for (size_t i = 0; i < 3; ++i)
        if (is_name(host, length, local[i])) return true;
    return false;
}

static void check_headers(const server *s, request *r) {
    problem *p = &r->problem;
    if (!p->status && !asks_for_us(s, r)) set_problem(p, 403, "this server is called localhost");
    if (atomic_load(&s->stopping)) set_problem(p, 503, "the server is stopping");
    if (p->status || strcmp(r->route->method, "POST") != 0) return;
    if (!header_of(r, "Content-Length") && !header_of(r, "Transfer-Encoding"))
        set_problem(p, 411, "how long is the body? Send Content-Length");
    else if (announced(r) > (double)s->options.max_body)
        set_problem(p, 413, "the body has more than %zu bytes", s->options.max_body);
    else if (!is_json(header_of(r, "Content-Type")))
        set_problem(p, 415, "send JSON, with Content-Type: application/json");
}

static void take_piece(const server *s, request *r, const char *piece, size_t size) {
    if (r->problem.status) return;
    if (size > s->options.max_body - r->size) {
        set_problem(&r->problem, 413, "the body has more than %zu bytes", s->options.max_body);
        return;
    }
    if (size > r->room - r->size) {
        size_t room = (r->size + size) * 2;
        char *body = realloc(r->body, room);
        if (!body) {
            set_problem(&r->problem, 503, "out of memory");
            return;
        }
        r->body = body;
        r->room = room;
    }
    memcpy(r->body + r->size, piece, size);
    r->size += size;
}

static enum MHD_Result begin(server *s, struct MHD_Connection *connection, const char *path,
                             const char *method, void **state) {
    request *r = calloc(1, sizeof *r);
    if (!r) return MHD_NO;
    *state = r;
    atomic_fetch_add(&s->requests, 1);
    r->connection = connection;
    find_route(r, path, method);
    check_headers(s, r);
    bool unsent = header_of(r, "Expect") || announced(r) > MOST_DISCARDED;
    return r->problem.status && unsent ? refuse(s, r) : MHD_YES;
}

/* Called when the headers are there, with each piece of the body, and at its end. */
static enum MHD_Result on_request(void *user, struct MHD_Connection *connection, const char *path,
                                  const char *method, const char *version, const char *piece,
                                  size_t *size, void **state) {
    (void)version;
    server *s = user;
    request *r = *state;
    if (!r) return begin(s, connection, path, method, state);
    if (*size > 0) {
        take_piece(s, r, piece, *size);
        *size = 0;
        return MHD_YES;
    }
    set_working(s, connection, true);
    return answer(s, r);
}

static void on_completed(void *user, struct MHD_Connection *connection, void **state,
                         enum MHD_RequestTerminationCode why) {
    (void)why;
    server *s = user;
    request *r = *state;
    if (!r) return;
    set_working(s, connection, false);
    free(r->body);
    free(r);
    *state = NULL;
    atomic_fetch_sub(&s->requests, 1);
}

/* ---- The server ---- */

static void ignore_log(void *user, const char *format, va_list args) {
    (void)user, (void)format, (void)args;
}

static void free_server(server *s) {
    pthread_mutex_destroy(&s->clients_lock);
    pthread_mutex_destroy(&s->report_lock);
    free(s->report);
    free(s);
}

server *server_start(int listener, const server_options *given) {
    server *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->options = *given;
    s->listener = listener;
    pthread_mutex_init(&s->clients_lock, NULL);
    pthread_mutex_init(&s->report_lock, NULL);
    s->daemon = http.start_daemon(
        MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL |
            MHD_USE_ITC | MHD_USE_ERROR_LOG,
        0, NULL, NULL, on_request, s, MHD_OPTION_EXTERNAL_LOGGER, ignore_log, NULL,
        MHD_OPTION_LISTEN_SOCKET, (MHD_socket)listener, MHD_OPTION_NOTIFY_COMPLETED, on_completed,
        s, MHD_OPTION_NOTIFY_CONNECTION, on_connection, s, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)MOST_CONNECTIONS, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEADER_BYTES,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)(given->timeout + 1), MHD_OPTION_END);
    if (s->daemon) return s;
    free_server(s);
    return NULL;
}

void server_stop(server *s) {
    atomic_store(&s->stopping, true);
    http.quiesce_daemon(s->daemon);
    close(s->listener); /* whoever comes now is told that nobody is here */
    while (atomic_load(&s->requests) > 0) {
        server_tick(s);
        usleep(10000);
    }
    http.stop_daemon(s->daemon);
    free_server(s);
}
