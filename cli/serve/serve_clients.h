/* The connections of the server: who is there, whose turn it is, and who has to go. */
#ifndef CLI_SERVE_CLIENTS_H
#define CLI_SERVE_CLIENTS_H

#include "serve/serve.h"

enum {
    MOST_CONNECTIONS = 256,
    /* Of which more may be on their way out, before others are turned away at the door. */
    MOST_ENDING = 256,
};

typedef enum client_state {
    CLIENT_IDLE,    /* has asked for nothing, or has its answer */
    CLIENT_SENDING, /* its request is not whole */
    CLIENT_SERVED,  /* it is we who take our time */
    CLIENT_TAKING,  /* has its answer to take */
} client_state;

typedef struct client {
    int socket;
    char address[64]; /* as text; "" = not known */
    client_state state;
    double since; /* when that began */
    bool ended;   /* its connection was shut down */
    struct client *before, *after;
} client;

typedef struct clients {
    client *first;
    size_t count;
    double timeout;
    pthread_mutex_t lock;
} clients;

void clients_open(clients *c, double timeout);
void clients_close(clients *c);
/* NULL = out of memory: it is then not looked after. May send another away, to keep some room. */
client *clients_add(clients *c, int socket, const struct sockaddr *address);
void clients_remove(clients *c, client *it);
/* `it` may be NULL. */
void clients_turn(clients *c, client *it, client_state state);
/* Whether we ended its connection; `it` may be NULL. */
bool clients_was_ended(clients *c, const client *it);
size_t clients_count(clients *c);
/* Sends those away that were too slow. */
void clients_tick(clients *c);

#endif
