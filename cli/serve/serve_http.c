/* Requests of luthier serve: what their heads ask for, their bodies, and what they are answered. */
#include "serve/serve_http.h"
#include "output.h"

#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>

#include "json.h"
#include "output.h"

enum {
    /* A body that is refused is read to its end, so that the client hears why, up to this size. */
    MOST_DISCARDED = 32 << 20,
    /* Bodies and answers that are held at a time: so many of --max-body, and at least these bytes.
     */
    MOST_BODIES = 64,
    LEAST_HELD = 256 << 20,
    /* What other servers write into their logs for a client that left before it had its answer. */
    STATUS_LEFT = 499
};

/* ---- Memory ---- */

static bool hold(server *s, request *r, size_t bytes) {
    size_t most = MOST_BODIES * s->options.max_body;
    if (most < LEAST_HELD) most = LEAST_HELD;
    r->held += bytes;
    return atomic_fetch_add(&s->held, bytes) + bytes <= most;
}

static void let_go(server *s, request *r) {
    atomic_fetch_sub(&s->held, r->held);
    r->held = 0;
}

/* ---- Responses ---- */

static const char *reason_of(unsigned status) {
    static const struct {
        unsigned status;
        const char *reason;
    } known[] = {{200, "OK"},
                 {400, "Bad Request"},
                 {403, "Forbidden"},
                 {404, "Not Found"},
                 {405, "Method Not Allowed"},
                 {408, "Request Timeout"},
                 {411, "Length Required"},
                 {413, "Content Too Large"},
                 {414, "URI Too Long"},
                 {415, "Unsupported Media Type"},
                 {417, "Expectation Failed"},
                 {431, "Request Header Fields Too Large"},
                 {STATUS_LEFT, "Client Closed Request"},
                 {500, "Internal Server Error"},
                 {501, "Not Implemented"},
                 {503, "Service Unavailable"},
                 {505, "HTTP Version Not Supported"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; ++i)
        if (known[i].status == status) return known[i].reason;
    return "Unknown";
}

static void write_date(char out[40]) {
    time_t now = time(NULL);
    struct tm parts;
    gmtime_r(&now, &parts);
    strftime(out, 40, "%a, %d %b %Y %H:%M:%S GMT", &parts);
}

/* A header that only this answer has. */
static void write_more(const request *r, char *out, size_t size) {
    out[0] = 0;
    if (r->status == 405) {
        bool page = strcmp(r->route->method, "GET") == 0;
        snprintf(out, size, "Allow: %s\r\n", page ? "GET, HEAD" : r->route->method);
    }
    if (r->status == 503) snprintf(out, size, "Retry-After: 1\r\n");
}

static void write_policy(const request *r, char *out, size_t size) {
    bool good = r->status == 200, scripted = good && r->nonce[0];
    snprintf(
        out, size,
        "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'%s%s%s",
        good && r->route->policy ? r->route->policy : "", scripted ? r->nonce : "",
        scripted ? "'" : "");
}

static void respond(server *s, request *r, unsigned status, const char *text, size_t size) {
    char date[40], more[40], policy[256];
    struct answer *a = &r->client->answer;
    bool body = strcmp(r->method, "HEAD") != 0;
    if (atomic_load(&s->stopping)) r->last = true;
    r->status = status;
    r->bytes = body ? size : 0;
    write_date(date);
    write_more(r, more, sizeof more);
    write_policy(r, policy, sizeof policy);
    int length = snprintf(
        a->head, sizeof a->head,
        "HTTP/1.1 %u %s\r\nDate: %s\r\nConnection: %s\r\nContent-Type: %s\r\nContent-Length: "
        "%zu\r\nContent-Security-Policy: %s\r\nX-Content-Type-Options: nosniff\r\n"
        "Referrer-Policy: no-referrer\r\nCache-Control: no-store\r\n%s\r\n",
        status, reason_of(status), date, r->last ? "close" : "keep-alive",
        status == 200 ? r->route->type : "application/json", size, policy, more);
    a->head_size = (size_t)length;
    a->text = text;
    a->size = r->bytes;
    a->sent = 0;
    a->last = r->last;
}

/* What a problem says may be cut in the middle of a character, or hold any. */
static char *print_problem(const problem *p, size_t *size) {
    char *visible = NULL, *text = NULL;
    size_t length;
    FILE *out = text_stream(&visible, &length);
    if (!out) return NULL;
    write_visible(out, p->text, strlen(p->text));
    fclose(out);
    out = visible ? text_stream(&text, size) : NULL;
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

static void refuse(server *s, request *r) {
    size_t size = 0;
    free(r->text);
    r->text = print_problem(&r->problem, &size);
    respond(s, r, r->problem.status, r->text, r->text ? size : 0);
}

/* Whoever was given up has no use for a reason, but those who read the log have. */
static void note_patience(const server *s, request *r) {
    patience_end end = r->ticket.patience.end;
    if (end == STILL_WAITS) return;
    r->last = true;
    if (end == HAS_LEFT) set_problem(&r->problem, STATUS_LEFT, "the client left");
    if (end == TOO_LATE)
        set_problem(&r->problem, 503, "there was no answer within %g s", s->options.timeout);
}

static void make_answer(server *s, request *r, worker *w, size_t *size) {
    FILE *out = text_stream(&r->text, size);
    if (!out) {
        set_problem(&r->problem, 503, "out of memory");
        return;
    }
    __fsetlocking(out, FSETLOCKING_BYCALLER); /* no other thread writes to it */
    bool good = r->route->answer(s, r, w, out, &r->problem), lost = ferror(out) != 0;
    if (!good) note_patience(s, r);
    lost |= fclose(out) != 0;
    if (good && (lost || !hold(s, r, *size))) set_problem(&r->problem, 503, "out of memory");
}

/* Before the answer is sent: whoever has it finds it counted and logged. */
static void tell(server *s, const request *r) {
    const client *c = r->client;
    access_entry e = {.client = c->address[0] ? c->address : NULL,
                      .forwarded = r->forwarded[0] ? r->forwarded : NULL,
                      .method = r->begun ? r->method : NULL,
                      .path = r->path,
                      .status = r->status,
                      .bytes = r->bytes,
                      .rows = r->rows,
                      .seconds = r->seconds};
    metrics_count(&s->metrics, route_label(r), r->status, r->rows, r->seconds);
    log_request(s->options.log, &e);
    if (r->begun) atomic_fetch_sub(&s->requests, 1);
}

void http_answer(server *s, request *r, worker *w) {
    size_t size = 0;
    if (!r->problem.status) note_patience(s, r);
    if (w) worker_begin(w, r->edition, &r->ticket.patience);
    if (!r->problem.status) make_answer(s, r, w, &size);
    if (w) worker_end(w);
    r->seconds = seconds_now() - r->began;
    if (r->problem.status)
        refuse(s, r);
    else if (r->shared)
        respond(s, r, 200, r->shared, r->shared_size);
    else
        respond(s, r, 200, r->text, size);
    tell(s, r);
}

/* ---- Heads ---- */

static bool is_json(const char *type) {
    static const char json[] = "application/json";
    size_t length = strlen(json);
    return type && strncasecmp(type, json, length) == 0 && strchr("; \t", type[length]);
}

static void check_host(const server *s, request *r, const char *host) {
    if (!host || host_is_ours(&s->options.names, host)) return;
    set_problem(&r->problem, 403,
                s->options.names.given.count > 0
                    ? "this server has another name"
                    : "this server is called localhost; --allow-host gives it other names");
}

static bool is_post(const request *r) {
    return r->route && strcmp(r->route->method, "POST") == 0;
}

static void check_route(request *r, const char *target, const char *method) {
    if (!r->route) {
        set_problem(&r->problem, 404, "there is nothing at %.200s", target);
        return;
    }
    bool right = strcmp(r->route->method, method) == 0 ||
                 (strcmp(method, "HEAD") == 0 && strcmp(r->route->method, "GET") == 0);
    if (!right) set_problem(&r->problem, 405, "%s wants %s", target, r->route->method);
}

static void check_body(const server *s, request *r, const http_head *head) {
    problem *p = &r->problem;
    if (!is_post(r)) return;
    if (!head->has_length && !head->chunked)
        set_problem(p, 411, "how long is the body? Send Content-Length");
    else if (head->length > (double)s->options.max_body)
        set_problem(p, 413, "the body has more than %zu bytes", s->options.max_body);
    else if (!is_json(head->type))
        set_problem(p, 415, "send JSON, with Content-Type: application/json");
}

/* What the request keeps of its head. */
static void keep_head(request *r, const http_head *head) {
    r->begun = true;
    r->last = !head->stays;
    r->chunked = head->chunked;
    r->left = head->length;
    snprintf(r->method, sizeof r->method, "%s", head->method);
    if (head->forwarded) snprintf(r->forwarded, sizeof r->forwarded, "%s", head->forwarded);
    if (head->query && !(r->query = strdup(head->query)))
        set_problem(&r->problem, 503, "out of memory");
}

/* True = it is answered without its body. */
static bool begin(server *s, request *r, const http_head *head) {
    atomic_fetch_add(&s->requests, 1);
    keep_head(r, head);
    if (*head->target == '/') decode_percents(head->target);
    r->route = *head->target == '/' ? route_at(head->target) : NULL;
    if (!r->problem.status) check_host(s, r, head->host);
    if (!r->problem.status) check_route(r, head->target, head->method);
    if (atomic_load(&s->stopping)) set_problem(&r->problem, 503, "the server is stopping");
    if (!r->problem.status) check_body(s, r, head);
    bool unsent = r->problem.status && (head->waits || head->length > MOST_DISCARDED);
    if (unsent) r->last = true;
    if (!unsent && head->waits)
        send(r->client->socket, "HTTP/1.1 100 Continue\r\n\r\n", 25, MSG_NOSIGNAL | MSG_DONTWAIT);
    return unsent;
}

static void consume(client *c, size_t bytes) {
    c->filled -= bytes;
    c->seen = 0;
    memmove(c->bytes, c->bytes + bytes, c->filled);
}

/* For the log, where the head is no head: what stands between its first two blanks. */
static void guess_path(request *r, const char *bytes, size_t size) {
    const char *first = memchr(bytes, ' ', size);
    if (!first) return;
    size_t length = 0, most = size - (size_t)(++first - bytes);
    while (length < most && length < LONGEST_PATH && first[length] &&
           !strchr(" ?\r\n", first[length]))
        ++length;
    memcpy(r->path, first, length);
}

/* ---- Bodies ---- */

static bool make_place(server *s, request *r, size_t size) {
    if (size <= r->room - r->size) return true;
    size_t room = (r->size + size) * 2;
    if (room > s->options.max_body) room = s->options.max_body;
    if (!hold(s, r, room - r->room)) return false;
    char *body = realloc(r->body, room);
    if (!body) return false;
    r->body = body;
    r->room = room;
    return true;
}

static void take_piece(server *s, request *r, const char *piece, size_t size) {
    bool wanted = size > 0 && is_post(r) && !r->problem.status;
    if (wanted && size > s->options.max_body - r->size)
        set_problem(&r->problem, 413, "the body has more than %zu bytes", s->options.max_body);
    else if (wanted && !make_place(s, r, size))
        set_problem(&r->problem, 503, "out of memory");
    if (!wanted || r->problem.status) {
        r->dropped += (double)size;
        return;
    }
    memcpy(r->body + r->size, piece, size);
    r->size += size;
}

static bool take_chunks(server *s, client *c) {
    request *r = c->request;
    reading found = READ_MORE;
    size_t at = 0;
    while (at < c->filled && found == READ_MORE) {
        size_t used;
        body_piece piece;
        problem why;
        found = read_chunk(&r->chunks, c->bytes + at, c->filled - at, &used, &piece, &why);
        take_piece(s, r, piece.at, piece.size);
        at += used;
        if (found == READ_WRONG && !r->problem.status) r->problem = why;
    }
    consume(c, at);
    r->last |= found == READ_WRONG;
    return found != READ_MORE;
}

static bool take_body(server *s, client *c) {
    request *r = c->request;
    if (r->dropped > MOST_DISCARDED) return r->last = true;
    if (r->chunked) return take_chunks(s, c);
    size_t size = r->left < (double)c->filled ? (size_t)r->left : c->filled;
    take_piece(s, r, c->bytes, size);
    consume(c, size);
    r->left -= (double)size;
    return r->left == 0;
}

/* ---- Requests ---- */

static bool take_head(server *s, client *c) {
    request *r = c->request;
    http_head head;
    reading found = read_head(c->bytes, c->filled, &c->seen, &head, &r->problem);
    if (found == READ_MORE && c->filled == HEAD_BYTES) {
        bool in_line = !memchr(c->bytes, '\n', c->filled);
        set_problem(&r->problem, in_line ? 414 : 431, "%s has more than %d bytes",
                    in_line ? "the address" : "the head of the request", (int)HEAD_BYTES);
        found = READ_WRONG;
    }
    if (found == READ_MORE) return false;
    if (head.target)
        snprintf(r->path, sizeof r->path, "%s", head.target);
    else
        guess_path(r, c->bytes, c->filled);
    if (found == READ_WRONG) {
        r->route = route_at(r->path); /* for the counts */
        return r->last = true;
    }
    bool answered = begin(s, r, &head);
    consume(c, head.size);
    return answered || take_body(s, c);
}

/* What the edition has to do with it is settled when it is whole. */
static bool is_whole(server *s, request *r) {
    r->began = seconds_now();
    r->edition = pool_hold(s->options.pool);
    r->ticket.patience =
        (patience){.socket = r->client->socket, .until = r->began + s->options.timeout};
    return true;
}

/* Empty lines before a request are none of it. */
static bool request_comes(client *c) {
    size_t empty = 0;
    while (empty + 2 <= c->filled && memcmp(c->bytes + empty, "\r\n", 2) == 0) empty += 2;
    if (empty > 0) consume(c, empty);
    return c->filled > 1 || (c->filled == 1 && c->bytes[0] != '\r');
}

bool http_read(server *s, client *c) {
    if (!c->request && !request_comes(c)) return false;
    if (!c->request) {
        request *r = c->request = calloc(1, sizeof *r);
        if (!r) return false;
        r->client = c;
        clients_turn(&s->clients, c, CLIENT_HEAD);
    }
    bool begun = c->request->begun, done = begun ? take_body(s, c) : take_head(s, c);
    if (!done && c->request->begun != begun) clients_turn(&s->clients, c, CLIENT_BODY);
    return done && is_whole(s, c->request);
}

void http_refuse(server *s, request *r, unsigned status, const char *why) {
    set_problem(&r->problem, status, "%s", why);
    r->last = true;
    if (r->began == 0) is_whole(s, r);
    http_answer(s, r, NULL);
}

void http_done(server *s, client *c) {
    request *r = c->request;
    if (!r) return;
    if (!r->status) {
        r->status = atomic_load(&s->stopping) ? 503 : STATUS_LEFT;
        tell(s, r);
    }
    let_go(s, r);
    if (r->edition) edition_release(r->edition);
    c->request = NULL;
    free(r->query);
    free(r->body);
    free(r->text);
    free(r);
}
