/* What connections, requests and routes of the server share. */
#ifndef CLI_SERVE_HTTP_H
#define CLI_SERVE_HTTP_H

#include "serve/serve.h"
#include "serve/serve_clients.h"
#include "serve/serve_metrics.h"

enum { NONCE = 32, LONGEST_PATH = 200 };

struct server {
    server_options options;
    int listener, ready, end; /* the sockets with something to do; what ends the threads */
    pthread_t *threads, watch;
    size_t thread_count;
    bool watching;
    atomic_size_t requests; /* in flight */
    atomic_size_t held;     /* bytes of bodies and answers */
    atomic_bool stopping, stopped;
    clients clients;
    metrics metrics;
};

typedef struct request request;
typedef bool answer_fn(server *s, request *r, worker *w, FILE *out, problem *why);

/* What an answer takes: NOTHING to speak of, so that it needs no context; or, where the body is
 * short, a MOMENT. */
typedef enum effort { NOTHING, MOMENT, WHILE } effort;

typedef struct route {
    const char *path, *method;
    const char *type, *policy; /* of the answer */
    effort effort;
    answer_fn *answer;
} route;

struct request {
    ticket ticket; /* the first: by it the line knows the request */
    client *client;
    char path[LONGEST_PATH + 1];      /* as it was sent, or its beginning */
    char forwarded[LONGEST_PATH + 1]; /* for whom a proxy asks, likewise */
    char method[32];
    char *query;
    bool begun; /* its head is there */
    bool last;  /* nothing is read after it */
    const route *route;
    problem problem;
    bool chunked;
    chunk_reader chunks;
    double left, dropped; /* bytes of the body: that are to come, that were of no use */
    char *body;
    size_t size, room;
    edition *edition;   /* of the answer */
    char *text;         /* the answer */
    const char *shared; /* or that, of the edition; NULL = it is the text */
    size_t shared_size;
    size_t held;           /* bytes of body and text */
    char nonce[NONCE + 1]; /* of the script of the answer */
    unsigned status;       /* that was answered; 0 = nothing yet */
    size_t bytes, rows;
    double began, seconds; /* when it was whole; that the answer took */
};

/* ---- serve_http.c ---- */

/* Reads on in what has come. True = the client's request is to be answered: it is whole, or wrong.
 */
bool http_read(server *s, client *c);
/* Makes client->answer, with a context or none. */
void http_answer(server *s, request *r, worker *w);
/* The same of a request that is not whole. */
void http_refuse(server *s, request *r, unsigned status, const char *why);
/* The request is over: it is counted, logged and freed. */
void http_done(server *s, client *c);

/* ---- serve_routes.c ---- */

/* Whether a context is needed for the answer. */
bool route_computes(const request *r);
/* Whether it can be counted on not to take long. */
bool route_brief(const request *r);
/* What it has to wait for, or NULL. */
atomic_bool *route_blocked(const request *r);
/* NULL = there is nothing at this path. */
const route *route_at(const char *path);
/* All paths that are no route's count as one. */
const char *route_label(const request *r);

#endif
