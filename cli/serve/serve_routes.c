/* The routes of the server: what is asked for, answered by a model that the request holds. */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "json.h"
#include "report/report.h"
#include "serve/serve_http.h"

/* ---- About the server ---- */

static bool get_health(server *s, request *r, worker *w, FILE *out, problem *why) {
    (void)r, (void)w, (void)why;
    json_writer json = {.to = out};
    json_begin_object(&json, NULL);
    json_put_text(&json, "status", "ok");
    json_put_text(&json, "model", s->options.model_name);
    json_put_text(&json, "version", lth_version());
    json_end(&json);
    return true;
}

static bool get_metrics(server *s, request *r, worker *w, FILE *out, problem *why) {
    (void)w, (void)why;
    metrics_now now = {.model_name = s->options.model_name,
                       .edition = r->edition,
                       .in_flight = atomic_load(&s->requests),
                       .waiting = pool_waiting(s->options.pool),
                       .connections = clients_count(&s->clients),
                       .log_lost = log_lost(s->options.log)};
    metrics_write(&s->metrics, &now, out);
    return true;
}

/* ---- Pages ---- */

static bool make_nonce(char out[NONCE + 1]) {
    unsigned char bytes[NONCE / 2];
    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes) return false;
    for (size_t i = 0; i < sizeof bytes; ++i) sprintf(out + 2 * i, "%02x", (unsigned)bytes[i]);
    return true;
}

static bool get_page(server *s, request *r, worker *w, FILE *out, problem *why) {
    (void)w;
    if (!make_nonce(r->nonce)) {
        set_problem(why, 500, "no random numbers");
        return false;
    }
    write_live_page(out, s->options.title, &r->edition->columns, r->edition->model, r->nonce);
    return true;
}

/* Once for each edition, and to its end: whoever comes next has it at once. */
static void make_edition_report(const server *s, edition *e, worker *w) {
    worker_insist();
    atomic_store(&e->making_report, true);
    bool good = make_report(&w->session, e->model, s->options.title, NULL, NULL, &e->report,
                            &e->report_size) == EXIT_DONE;
    atomic_store(&e->has_report, good);
    atomic_store(&e->making_report, false);
}

/* It is the same for all who ask for it, and is not copied. */
static bool get_report(server *s, request *r, worker *w, FILE *out, problem *why) {
    edition *e = r->edition;
    (void)out;
    if (w) {
        pthread_mutex_lock(&e->report_lock); /* two may begin in the same moment */
        if (!atomic_load(&e->has_report)) make_edition_report(s, e, w);
        pthread_mutex_unlock(&e->report_lock);
    }
    if (!atomic_load(&e->has_report)) {
        set_problem(why, was_interrupted() ? 503 : 500, "the report could not be made");
        return false;
    }
    r->shared = e->report;
    r->shared_size = e->report_size;
    return true;
}

/* ---- Rows ---- */

typedef bool answer_rows_fn(worker *w, request *r, const serve_rows *rows, const void *query,
                            FILE *out, problem *why);

static bool answer_rows(request *r, worker *w, answer_rows_fn *answer, const void *query, FILE *out,
                        problem *why) {
    serve_rows rows;
    if (!read_rows(&r->edition->columns, r->body, r->size, &rows, why)) return false;
    r->rows = rows.count;
    bool good = answer(w, r, &rows, query, out, why);
    free_rows(&rows);
    return good;
}

static bool predict(worker *w, request *r, const serve_rows *rows, const void *query, FILE *out,
                    problem *why) {
    (void)query;
    return answer_predict(w, &r->edition->columns, rows, out, why);
}

static bool post_predict(server *s, request *r, worker *w, FILE *out, problem *why) {
    (void)s;
    return answer_rows(r, w, predict, NULL, out, why);
}

static bool take_count(const request *r, const char *name, size_t most, size_t *out, problem *why) {
    char room[HEAD_BYTES];
    const char *text = query_value(r->query, name, room);
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

static bool explain(worker *w, request *r, const serve_rows *rows, const void *query, FILE *out,
                    problem *why) {
    return answer_explain(w, &r->edition->columns, rows, query, out, why);
}

static bool post_explain(server *s, request *r, worker *w, FILE *out, problem *why) {
    (void)s;
    char target[HEAD_BYTES], class[HEAD_BYTES];
    explain_query query = {.target = query_value(r->query, "target", target),
                           .class = query_value(r->query, "class", class),
                           .patterns = 10,
                           .rows = 5};
    if (!take_count(r, "patterns", 1000, &query.patterns, why)) return false;
    if (!take_count(r, "rows", 1000000, &query.rows, why)) return false;
    return answer_rows(r, w, explain, &query, out, why);
}

static bool mutate(worker *w, request *r, const serve_rows *rows, const void *query, FILE *out,
                   problem *why) {
    (void)r;
    return answer_mutate(w, rows, query, out, why);
}

static bool post_mutate(server *s, request *r, worker *w, FILE *out, problem *why) {
    (void)s;
    char letters[HEAD_BYTES];
    return answer_rows(r, w, mutate, query_value(r->query, "letters", letters), out, why);
}

/* ---- All of them ---- */

#define STYLES "; style-src 'unsafe-inline'"
#define SCRIPT STYLES "; img-src data:; connect-src 'self'; script-src 'nonce-"
#define PAGE "text/html; charset=utf-8"
#define JSON "application/json"
#define METRICS "text/plain; version=0.0.4; charset=utf-8"

static const route routes[] = {
    {"/", "GET", PAGE, SCRIPT, NOTHING, get_page},
    {"/report", "GET", PAGE, STYLES, WHILE, get_report},
    {"/health", "GET", JSON, NULL, NOTHING, get_health},
    {"/metrics", "GET", METRICS, NULL, NOTHING, get_metrics},
    {"/predict", "POST", JSON, NULL, MOMENT, post_predict},
    {"/explain", "POST", JSON, NULL, MOMENT, post_explain},
    {"/mutate", "POST", JSON, NULL, WHILE, post_mutate},
};

/* Most rows are much shorter. */
enum { BRIEF_BODY = 16 << 10 };

static bool is_report(const request *r) {
    return r->route->answer == get_report;
}

bool route_computes(const request *r) {
    return r->route->effort != NOTHING && !(is_report(r) && atomic_load(&r->edition->has_report));
}

bool route_brief(const request *r) {
    return r->route->effort == MOMENT && r->size <= BRIEF_BODY;
}

atomic_bool *route_blocked(const request *r) {
    return is_report(r) ? &r->edition->making_report : NULL;
}

const route *route_at(const char *path) {
    for (size_t i = 0; i < sizeof routes / sizeof *routes; ++i)
        if (strcmp(routes[i].path, path) == 0) return &routes[i];
    return NULL;
}

const char *route_label(const request *r) {
    return r->route ? r->route->path : "other";
}
