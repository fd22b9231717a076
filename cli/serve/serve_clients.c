/* The connections of the server. Nobody waits for a slow client, who is sent away after a while;
 * and idle ones cannot lock others out: when there are many, the longest idle has to go. */
#include "serve/serve_clients.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>

void clients_open(clients *c, double timeout) {
    *c = (clients){.timeout = timeout};
    pthread_mutex_init(&c->lock, NULL);
}

void clients_close(clients *c) {
    pthread_mutex_destroy(&c->lock);
}

static void write_address(const struct sockaddr *address, char *out, socklen_t size) {
    const void *at = NULL;
    if (address->sa_family == AF_INET)
        at = &((const struct sockaddr_in *)(const void *)address)->sin_addr;
    if (address->sa_family == AF_INET6)
        at = &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
    if (!at || !inet_ntop(address->sa_family, at, out, size)) out[0] = 0;
}

/* With the lock held. Its thread sees that the connection has ended, and removes it. */
static void end_client(client *it) {
    it->ended = true;
    shutdown(it->socket, SHUT_RDWR);
}

/* Whether `a` should rather go than `b`: idle ones before slow ones, the longest so first. */
static bool goes_before(const client *a, const client *b) {
    bool idle = a->state == CLIENT_IDLE, other = b->state == CLIENT_IDLE;
    return idle != other ? idle : a->since < b->since;
}

/* With the lock held. Those who are served stay in any case. */
static void make_room(clients *c) {
    client *worst = NULL;
    size_t ended = 0;
    for (client *it = c->first; it; it = it->after) {
        ended += it->ended;
        if (it->ended || it->state == CLIENT_SERVED) continue;
        if (!worst || goes_before(it, worst)) worst = it;
    }
    if (worst && c->count - ended > MOST_CONNECTIONS) end_client(worst);
}

client *clients_add(clients *c, int socket, const struct sockaddr *address) {
    client *it = calloc(1, sizeof *it);
    if (!it) return NULL;
    *it = (client){.socket = socket, .since = seconds_now()};
    write_address(address, it->address, sizeof it->address);
    pthread_mutex_lock(&c->lock);
    it->after = c->first;
    if (it->after) it->after->before = it;
    c->first = it;
    if (++c->count > MOST_CONNECTIONS) make_room(c);
    pthread_mutex_unlock(&c->lock);
    return it;
}

void clients_remove(clients *c, client *it) {
    pthread_mutex_lock(&c->lock);
    if (it->after) it->after->before = it->before;
    *(it->before ? &it->before->after : &c->first) = it->after;
    --c->count;
    pthread_mutex_unlock(&c->lock);
    free(it);
}

void clients_turn(clients *c, client *it, client_state state) {
    if (!it) return;
    pthread_mutex_lock(&c->lock);
    it->state = state;
    it->since = seconds_now();
    pthread_mutex_unlock(&c->lock);
}

bool clients_was_ended(clients *c, const client *it) {
    pthread_mutex_lock(&c->lock);
    bool ended = it && it->ended;
    pthread_mutex_unlock(&c->lock);
    return ended;
}

size_t clients_count(clients *c) {
    pthread_mutex_lock(&c->lock);
    size_t count = c->count;
    pthread_mutex_unlock(&c->lock);
    return count;
}

void clients_tick(clients *c) {
    double now = seconds_now();
    pthread_mutex_lock(&c->lock);
    for (client *it = c->first; it; it = it->after)
        if (!it->ended && it->state != CLIENT_SERVED && now - it->since > c->timeout)
            end_client(it);
    pthread_mutex_unlock(&c->lock);
}
