/* The connections of the server: who is there, whose turn it is, and who has to go. */
#ifndef CLI_SERVE_CLIENTS_H
#define CLI_SERVE_CLIENTS_H

#include "serve/serve_parse.h"

enum {
    MOST_CONNECTIONS = 10000,
    HEAD_SECONDS = 10,  /* in which the head of a request must have come */
    LINGER_SECONDS = 2, /* in which a client should have heard why we close */
    HEAD_BYTES = 32 << 10,
};

/* In the order in which they have to go when there are too many. */
typedef enum client_state {
    CLIENT_LEAVING, /* has its last answer; what it still sends is read and dropped */
    CLIENT_IDLE,    /* has asked for nothing, or has its answer */
    CLIENT_HEAD,    /* the head of its request is not whole */
    CLIENT_BODY,    /* its body is not */
    CLIENT_TAKING,  /* has its answer to take */
    CLIENT_SERVED,  /* it is we who take our time: it stays in any case */
    CLIENT_ENDED,   /* its connection was shut down */
    CLIENT_STATES
} client_state;

struct request;

/* Held by the thread that was told that its socket is ready; by the line in which its request waits
 * for a context. Nobody else frees it. */
typedef struct client {
    int socket;
    char address[64]; /* as text; "" = not known */
    client_state state;
    double since; /* when that began */
    bool crowded; /* it was ended to make room */
    struct client *before, *after;
    struct request *request; /* NULL = none has begun */
    char *bytes;             /* that came and were not yet read: in[0 .. filled) */
    size_t filled, room, seen;
    struct answer {
        char head[768];
        size_t head_size, size, sent;
        const char *text;
        bool last; /* then the connection is closed */
    } answer;
} client;

/* Those of one state, the longest so first. */
typedef struct client_list {
    client *first, *last;
} client_list;

typedef struct clients {
    client_list of[CLIENT_STATES];
    size_t count, most;
    double timeout;
    pthread_mutex_t lock;
} clients;

void clients_open(clients *c, double timeout, size_t most);
void clients_close(clients *c);
/* Takes over the socket; NULL = out of memory. May send another away, to keep some room. */
client *clients_add(clients *c, int socket, const struct sockaddr *address);
/* Ends the connection, and frees what it has but for its request. */
void clients_remove(clients *c, client *it);
/* False = it was ended meanwhile. */
bool clients_turn(clients *c, client *it, client_state state);
client_state clients_state(clients *c, const client *it);
size_t clients_count(clients *c);
bool clients_wait(clients *c);   /* for an answer, or for the rest of one */
client *clients_any(clients *c); /* NULL = nobody is there */
/* Sends one away, unless all are served. */
void clients_make_room(clients *c);
/* Sends those away that were too slow. */
void clients_tick(clients *c);
#endif
