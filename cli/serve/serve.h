/* luthier serve: a model behind HTTP. Connections are served by serve_loop.c, requests read by
 * serve_parse.c and serve_http.c, rows by serve_rows.c, answered by serve_routes.c and
 * serve_answer.c; the page is serve_page.c. */
#ifndef CLI_SERVE_H
#define CLI_SERVE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>

#include "model.h"

/* ---- Columns of the kernel ---- */

typedef struct serve_column {
    char *name;
    lth_column_kind kind; /* for the page: cells are checked by the library */
    char *example;        /* of a training row, or NULL                     */
} serve_column;

typedef struct serve_columns {
    serve_column *at;
    size_t count;
} serve_columns;

/* What the model's kernel reads, with ranges such as f1..f17 told apart. False = out of memory. */
bool find_columns(lth_model *m, serve_columns *out);
void free_columns(serve_columns *c);

/* ---- What went wrong with a request ---- */

typedef struct problem {
    unsigned status; /* of HTTP; 0 = nothing */
    char text[640];
} problem;

void set_problem(problem *p, unsigned status, const char *format, ...) LTH_PRINTF(3, 4);

/* ---- Rows ---- */

/* The rows of a request as a table would have them: column c of row r is text[c * count + r]. */
typedef struct serve_rows {
    size_t count;
    bool single; /* one object, not a list of them */
    const char **text;
    size_t *length;
    char (*numbers)[32]; /* numbers as text  */
    void *root;          /* what texts lie in */
} serve_rows;

/* {"text": "..."} or {"rows": [{"text": "..."}, ...]}; every column must be there, as a text or a
 * number; other keys are ignored. */
bool read_rows(const serve_columns *columns, const char *body, size_t size, serve_rows *out,
               problem *why);
void free_rows(serve_rows *rows);

/* ---- The model ---- */

/* A model that was read, with all that depends on it. Requests hold the edition that they began
 * with, so that another can take its place meanwhile; the last holder frees it. */
typedef struct edition {
    options options;
    session session; /* it was read with: the model keeps its functions */
    lth_model *model;
    serve_columns columns;
    double written, loaded; /* Unix times: of the file, of reading it */
    double seconds;         /* that reading it took */
    atomic_size_t holders;
    pthread_mutex_t report_lock;
    atomic_bool making_report, has_report;
    char *report; /* made when first asked for, and then it stays */
    size_t report_size;
} edition;

/* An exit code, after a message; `why` (NULL = not asked) is what it said. One holder. */
int edition_open(const options *o, edition **out, char why[640]);
void edition_release(edition *e);

/* ---- Who waits for an answer ---- */

typedef enum patience_end { STILL_WAITS = 0, HAS_LEFT, TOO_LATE } patience_end;

/* A client that leaves, or has waited long enough, is worth no more work. */
typedef struct patience {
    int socket;
    double until; /* by seconds_now() */
    patience_end end;
} patience;

bool patience_ends(patience *p); /* from then on it has ended */
/* Whether that of the request which this thread answers has: all requests share the session that
 * the model was read with, and none starts threads. */
bool asker_gives_up(void);

/* ---- Contexts ---- */

/* A context serves one call at a time, so there are several; the model serves all of them. */
typedef struct worker {
    options options;
    session session;
    lth_model *model;
    bool spare;          /* for brief requests alone */
    struct worker *next; /* that is free too */
} worker;

/* A request that waits for a context. */
typedef struct ticket {
    patience patience;
    atomic_bool *blocked; /* while that is so it stays in line; NULL = nothing keeps it */
    bool brief;           /* it will not take long */
    struct ticket *next;
} ticket;

typedef struct pool {
    edition *current;
    worker *at;
    size_t count, waiting;
    worker *free, *spare;
    ticket *first; /* in line */
    pthread_mutex_t lock;
} pool;

/* Takes over the edition, also where it fails. */
int pool_open(pool *p, const options *o, edition *first);
void pool_close(pool *p);
edition *pool_hold(pool *p); /* the current one, until edition_release() */
void pool_replace(pool *p, edition *next);
size_t pool_waiting(pool *p); /* requests that wait for a context */

typedef enum pool_turn { POOL_NOW, POOL_LATER, POOL_NEVER } pool_turn;

/* A context for this request alone. LATER = it waits in line, and is whoever's it is who takes it
 * from there; NEVER = too many do. */
pool_turn pool_enter(pool *p, ticket *of, worker **out);
/* Gives a context back; or, where requests wait, the one that it goes on with. */
ticket *pool_leave(pool *p, worker *w);
/* Takes one out of the line that no longer waits; NULL = there is none. */
ticket *pool_give_up(pool *p);
/* This thread computes for a request, until worker_end(). */
void worker_begin(worker *w, const edition *e, patience *of);
void worker_end(worker *w);
/* What is computed now is finished, whoever leaves. */
void worker_insist(void);

/* ---- Answers ---- */

typedef struct explain_query {
    const char *target, *class; /* by name; NULL = as luthier explain chooses */
    size_t patterns, rows;
} explain_query;

bool answer_predict(worker *w, const serve_columns *columns, const serve_rows *rows, FILE *out,
                    problem *why);
bool answer_explain(worker *w, const serve_columns *columns, const serve_rows *rows,
                    const explain_query *query, FILE *out, problem *why);

/* All single mutations of the sequence that the row has, or of the model's wild type. `letters`
 * NULL = those of the alphabet. */
bool answer_mutate(worker *w, const serve_rows *rows, const char *letters, FILE *out, problem *why);

/* The live page; its script runs by `nonce` alone. */
void write_live_page(FILE *out, const char *title, const serve_columns *columns, lth_model *m,
                     const char *nonce);

/* ---- Names ---- */

/* By which hosts clients may ask for the server. */
typedef struct host_names {
    bool any;   /* it listens to others, and was told no names */
    list given; /* --allow-host */
} host_names;

/* What is wrong with a name that was given; NULL = nothing. */
const char *host_name_obstacle(const char *name);
/* Whether that is an address of the loopback interface. */
bool is_loopback(const struct sockaddr *address);
/* Whether the Host of a request, with or without a port, is one of them. */
bool host_is_ours(const host_names *names, const char *host);

/* ---- The log ---- */

/* Lines of JSON, one for each request and event, in a file that can be opened again. */
typedef struct access_log {
    const char *path; /* NULL = there is none; "-" = standard output */
    int file;
    bool torn, failing; /* the last line is not whole; it was lost */
    size_t lost;        /* lines */
    pthread_mutex_t lock;
} access_log;

/* What there is to tell of a request. */
typedef struct access_entry {
    const char *client, *forwarded; /* addresses; NULL = none */
    const char *method, *path;
    unsigned status;
    size_t bytes, rows;
    double seconds;
} access_entry;

int log_open(access_log *l, const char *path); /* an exit code, after a message */
bool log_reopen(access_log *l);                /* the old file is kept where that fails */
void log_close(access_log *l);
size_t log_lost(access_log *l);
void log_request(access_log *l, const access_entry *e);
/* Something that happened to the server: "start", "reload", "stop"; `error` NULL = it went well. */
void log_event(access_log *l, const char *event, const char *model, double seconds,
               const char *error);

/* ---- The server ---- */

typedef struct server server;

typedef struct server_options {
    const char *model_name, *title;
    host_names names;
    size_t max_body;
    double timeout;
    pool *pool;
    access_log *log;
} server_options;

/* Starts threads that answer on a socket that listens; NULL = errno says why not. */
server *server_start(int listener, const server_options *given);
void server_reloaded(server *s, bool good); /* counts it */
void server_stop(server *s);                /* after the requests in flight; frees it */

/* Tells the service manager that started this program, if one did: "READY=1". */
void notify_manager(const char *state);

#endif
