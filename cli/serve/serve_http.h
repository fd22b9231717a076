/* What requests and routes of the server share. */
#ifndef CLI_SERVE_HTTP_H
#define CLI_SERVE_HTTP_H

#include "serve/serve.h"
#include "serve/serve_clients.h"
#include "serve/serve_library.h"
#include "serve/serve_metrics.h"

enum { NONCE = 32, LONGEST_PATH = 200 };

struct server {
    server_options options;
    struct MHD_Daemon *daemon;
    int listener;
    atomic_size_t requests; /* in flight */
    atomic_bool stopping, stopped;
    pthread_t watch;
    clients clients;
    metrics metrics;
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
    client *client;                   /* NULL = out of memory */
    char path[LONGEST_PATH + 1];      /* as it was sent, or its beginning */
    char forwarded[LONGEST_PATH + 1]; /* for whom a proxy asks, likewise */
    char method[32];
    bool has_zero; /* %00 in what was asked for */
    bool begun;    /* its headers are there */
    bool unclear;  /* even where it ends: nothing is read after it */
    const route *route;
    problem problem;
    char *body;
    size_t size, room;
    edition *edition; /* of the answer */
    patience patience;
    char nonce[NONCE + 1]; /* of the script of the answer */
    unsigned status;       /* that was answered; 0 = nothing yet */
    size_t bytes, rows;
    double seconds; /* that the answer took */
};

/* NULL = there is nothing at this path. */
const route *route_at(const char *path);
/* All paths that are no route's count as one. */
const char *route_label(const request *r);

#endif
