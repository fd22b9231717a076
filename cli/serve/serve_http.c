/* The HTTP side of luthier serve, by libmicrohttpd with a thread for each connection: limits,
 * headers; a request waits for a free context, and nobody else waits for a slow client. */
#define _GNU_SOURCE 1 /* open_memstream */

#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "json.h"
#include "report/reasons.h"
#include "serve/serve_http.h"

enum {
    HEADER_BYTES = 32 << 10,
    /* A body that is refused is read to its end, so that the client hears why, up to this size. */
    MOST_DISCARDED = 32 << 20,
};

/* What other servers write into their logs for a client that left before it had its answer. */
enum { STATUS_LEFT = 499 };

/* ---- Connections ---- */

static void on_connection(void *user, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode what) {
    server *s = user;
    client *c = *context;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        int socket =
            http.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
        const struct sockaddr *address =
            http.get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr;
        *context = clients_add(&s->clients, socket, address);
    } else if (c) {
        clients_remove(&s->clients, c);
        *context = NULL;
    }
}

static client *client_of(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        http.get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
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
    if (r->unclear || atomic_load(&s->stopping))
        http.add_response_header(response, "Connection", "close");
    clients_turn(&s->clients, r->client, CLIENT_TAKING);
    r->status = status;
    r->bytes = strcmp(r->method, "HEAD") == 0 ? 0 : size;
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

/* Whoever was given up has no use for a reason, but those who read the log have. */
static void note_patience(const server *s, request *r) {
    if (r->patience.end == HAS_LEFT) set_problem(&r->problem, STATUS_LEFT, "the client left");
    if (r->patience.end == TOO_LATE)
        set_problem(&r->problem, 503, "there was no answer within %g s", s->options.timeout);
}

static void make_answer(server *s, request *r, char **text, size_t *size) {
    FILE *out = open_memstream(text, size);
    if (!out) {
        set_problem(&r->problem, 503, "out of memory");
        return;
    }
    __fsetlocking(out, FSETLOCKING_BYCALLER); /* no other thread writes to it */
    bool good = r->route->answer(s, r, out, &r->problem), lost = ferror(out) != 0;
    if (!good) note_patience(s, r);
    if ((fclose(out) != 0 || lost) && good) set_problem(&r->problem, 503, "out of memory");
}

static enum MHD_Result answer(server *s, request *r) {
    char *text = NULL;
    size_t size = 0;
    double begun = seconds_now();
    r->edition = pool_hold(s->options.pool);
    r->patience.socket =
        http.get_connection_info(r->connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    r->patience.until = begun + s->options.timeout;
    if (!r->problem.status) make_answer(s, r, &text, &size);
    edition_release(r->edition);
    r->seconds = seconds_now() - begun;
    if (!r->problem.status) return respond(s, r, MHD_HTTP_OK, text, size, NULL, NULL);
    free(text);
    return refuse(s, r);
}

/* ---- Headers ---- */

static const char *header_of(const request *r, const char *name) {
    return http.lookup_connection_value(r->connection, MHD_HEADER_KIND, name);
}

static bool is_json(const char *type) {
    static const char json[] = "application/json";
    size_t length = strlen(json);
    return type && strncasecmp(type, json, length) == 0 && strchr("; \t", type[length]);
}

/* The size of the body that was announced; 0 where it was not. */
static double announced(const request *r) {
    const char *length = header_of(r, "Content-Length");
    return length ? strtod(length, NULL) : 0;
}

/* How often headers are there that may be there once. */
typedef struct header_counts {
    size_t host, length, encoding;
} header_counts;

static enum MHD_Result count_header(void *user, enum MHD_ValueKind kind, const char *name,
                                    const char *value) {
    (void)kind, (void)value;
    header_counts *c = user;
    c->host += strcasecmp(name, "Host") == 0;
    c->length += strcasecmp(name, "Content-Length") == 0;
    c->encoding += strcasecmp(name, "Transfer-Encoding") == 0;
    return MHD_YES;
}

/* Whoever stands between the client and us must have read the request as we do: where it can be
 * read in two ways, it is refused. */
static void check_form(request *r, const char *version) {
    header_counts c = {0};
    problem *p = &r->problem;
    const char *encoding = header_of(r, "Transfer-Encoding");
    http.get_connection_values(r->connection, MHD_HEADER_KIND, count_header, &c);
    if (r->has_zero)
        set_problem(p, 400, "%%00 is not text");
    else if (c.host > 1)
        set_problem(p, 400, "there are %zu Host headers", c.host);
    else if (c.host == 0 && strcmp(version, "HTTP/1.0") != 0)
        set_problem(p, 400, "there is no Host header");
    else if (c.length > 1 || c.encoding > 1 || (c.length > 0 && c.encoding > 0))
        set_problem(p, 400, "how long the body is must be said once");
    else if (encoding && strcasecmp(encoding, "chunked") != 0)
        set_problem(p, 501, "send the body as it is, or chunked");
}

static void check_host(const server *s, request *r) {
    const char *host = header_of(r, "Host");
    if (!host || host_is_ours(&s->options.names, host)) return;
    set_problem(&r->problem, 403,
                s->options.names.given.count > 0
                    ? "this server has another name"
                    : "this server is called localhost; --allow-host gives it other names");
}

static void check_route(request *r, const char *path, const char *method) {
    if (!r->route) {
        set_problem(&r->problem, 404, "there is nothing at %.200s", path);
        return;
    }
    bool right = strcmp(r->route->method, method) == 0 ||
                 (strcmp(method, "HEAD") == 0 && strcmp(r->route->method, "GET") == 0);
    if (!right) set_problem(&r->problem, 405, "%s wants %s", path, r->route->method);
}

static void check_body(const server *s, request *r) {
    problem *p = &r->problem;
    if (strcmp(r->route->method, "POST") != 0) return;
    if (!header_of(r, "Content-Length") && !header_of(r, "Transfer-Encoding"))
        set_problem(p, 411, "how long is the body? Send Content-Length");
    else if (announced(r) > (double)s->options.max_body)
        set_problem(p, 413, "the body has more than %zu bytes", s->options.max_body);
    else if (!is_json(header_of(r, "Content-Type")))
        set_problem(p, 415, "send JSON, with Content-Type: application/json");
}

/* ---- Requests ---- */

/* Called with the first line of a request, which libmicrohttpd has not yet understood. */
static void *on_line(void *user, const char *line, struct MHD_Connection *connection) {
    server *s = user;
    request *r = calloc(1, sizeof *r);
    if (!r) return NULL;
    r->connection = connection;
    r->client = client_of(connection);
    r->has_zero = strstr(line, "%00") != NULL;
    snprintf(r->path, sizeof r->path, "%.*s", (int)strcspn(line, "?"), line);
    clients_turn(&s->clients, r->client, CLIENT_SENDING);
    return r;
}

static enum MHD_Result begin(server *s, request *r, const char *path, const char *method,
                             const char *version) {
    r->begun = true;
    atomic_fetch_add(&s->requests, 1);
    snprintf(r->method, sizeof r->method, "%s", method);
    r->route = route_at(path);
    const char *forwarded = header_of(r, "X-Forwarded-For");
    if (forwarded) snprintf(r->forwarded, sizeof r->forwarded, "%s", forwarded);
    check_form(r, version);
    r->unclear = r->problem.status != 0;
    if (!r->unclear) check_host(s, r);
    if (!r->problem.status) check_route(r, path, method);
    if (atomic_load(&s->stopping)) set_problem(&r->problem, 503, "the server is stopping");
    if (!r->problem.status) check_body(s, r);
    bool unsent = r->unclear || header_of(r, "Expect") || announced(r) > MOST_DISCARDED;
    return r->problem.status && unsent ? refuse(s, r) : MHD_YES;
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

/* Called when the headers are there, with each piece of the body, and at its end. */
static enum MHD_Result on_request(void *user, struct MHD_Connection *connection, const char *path,
                                  const char *method, const char *version, const char *piece,
                                  size_t *size, void **state) {
    (void)connection;
    server *s = user;
    request *r = *state;
    if (!r) return MHD_NO;
    if (!r->begun) return begin(s, r, path, method, version);
    if (*size > 0) {
        take_piece(s, r, piece, *size);
        *size = 0;
        return MHD_YES;
    }
    clients_turn(&s->clients, r->client, CLIENT_SERVED);
    return answer(s, r);
}

/* What became of a request that we did not answer. */
static unsigned status_without_answer(server *s, const request *r,
                                      enum MHD_RequestTerminationCode why) {
    if (why == MHD_REQUEST_TERMINATED_TIMEOUT_REACHED) return 408;
    if (clients_was_ended(&s->clients, r->client)) return 408;
    if (atomic_load(&s->stopping)) return 503;
    bool left =
        why == MHD_REQUEST_TERMINATED_READ_ERROR || why == MHD_REQUEST_TERMINATED_CLIENT_ABORT;
    return left ? STATUS_LEFT : 400; /* libmicrohttpd said why: it is no HTTP */
}

static void tell(server *s, const request *r) {
    access_entry e = {.client = r->client && r->client->address[0] ? r->client->address : NULL,
                      .forwarded = r->forwarded[0] ? r->forwarded : NULL,
                      .method = r->begun ? r->method : NULL,
                      .path = r->path,
                      .status = r->status,
                      .bytes = r->bytes,
                      .rows = r->rows,
                      .seconds = r->seconds};
    metrics_count(&s->metrics, route_label(r), r->status, r->rows, r->seconds);
    log_request(s->options.log, &e);
}

static void on_completed(void *user, struct MHD_Connection *connection, void **state,
                         enum MHD_RequestTerminationCode why) {
    (void)connection;
    server *s = user;
    request *r = *state;
    if (!r) return;
    if (!r->status) r->status = status_without_answer(s, r, why);
    tell(s, r);
    clients_turn(&s->clients, r->client, CLIENT_IDLE);
    if (r->begun) atomic_fetch_sub(&s->requests, 1);
    free(r->body);
    free(r);
    *state = NULL;
}

/* ---- The server ---- */

static void ignore_log(void *user, const char *format, va_list args) {
    (void)user, (void)format, (void)args;
}

static void *watch_clients(void *user) {
    server *s = user;
    while (!atomic_load(&s->stopped)) {
        usleep(100000);
        clients_tick(&s->clients);
    }
    return NULL;
}

static void free_server(server *s) {
    clients_close(&s->clients);
    metrics_close(&s->metrics);
    free(s);
}

static struct MHD_Daemon *start_daemon(server *s) {
    return http.start_daemon(
        MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL |
            MHD_USE_ITC | MHD_USE_ERROR_LOG,
        0, NULL, NULL, on_request, s, MHD_OPTION_EXTERNAL_LOGGER, ignore_log, NULL,
        MHD_OPTION_LISTEN_SOCKET, (MHD_socket)s->listener, MHD_OPTION_NOTIFY_COMPLETED,
        on_completed, s, MHD_OPTION_NOTIFY_CONNECTION, on_connection, s,
        MHD_OPTION_URI_LOG_CALLBACK, on_line, s, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)(MOST_CONNECTIONS + MOST_ENDING), MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)HEADER_BYTES, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)(s->options.timeout + 1),
        MHD_OPTION_END);
}

server *server_start(int listener, const server_options *given) {
    server *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->options = *given;
    s->listener = listener;
    clients_open(&s->clients, given->timeout);
    metrics_open(&s->metrics);
    if (pthread_create(&s->watch, NULL, watch_clients, s) != 0) {
        free_server(s);
        return NULL;
    }
    s->daemon = start_daemon(s);
    if (s->daemon) return s;
    atomic_store(&s->stopped, true);
    pthread_join(s->watch, NULL);
    free_server(s);
    return NULL;
}

void server_reloaded(server *s, bool good) {
    metrics_count_reload(&s->metrics, good);
}

void server_stop(server *s) {
    atomic_store(&s->stopping, true);
    http.quiesce_daemon(s->daemon);
    close(s->listener); /* whoever comes now is told that nobody is here */
    while (atomic_load(&s->requests) > 0) usleep(10000);
    http.stop_daemon(s->daemon);
    atomic_store(&s->stopped, true);
    pthread_join(s->watch, NULL);
    free_server(s);
}
