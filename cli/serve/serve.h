/* luthier serve: a model behind HTTP. Requests are read by serve_http.c, rows by serve_rows.c,
 * answered by serve_answer.c; the page is serve_page.c. */
#ifndef CLI_SERVE_H
#define CLI_SERVE_H

#include <pthread.h>
#include <stdio.h>

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

/* A context serves one call at a time, so there are several; the model serves all of them. */
typedef struct worker {
    options options;
    session session;
    lth_model *model;
    struct worker *next; /* that is free too */
} worker;

typedef struct pool {
    lth_model *model;
    worker *at;
    size_t count, waiting;
    worker *free;
    pthread_mutex_t lock;
    pthread_cond_t given_back;
} pool;

int pool_open(pool *p, const options *o);
void pool_close(pool *p);
/* A context for this request alone; NULL when too many wait for one, or it took too long. */
worker *pool_take(pool *p, double seconds);
void pool_give(pool *p, worker *w);

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

/* ---- The server ---- */

typedef struct server server;

typedef struct server_options {
    const char *model_name, *title;
    const char *host; /* the name it listens on */
    size_t max_body;
    double timeout;
    pool *pool;
    const serve_columns *columns;
} server_options;

/* Starts threads that answer on a socket that listens; NULL = it could not be done. */
server *server_start(int listener, const server_options *given);
void server_tick(server *s); /* once a second: closes the connections of slow clients */
void server_stop(server *s); /* after the requests in flight; frees it */

#endif
