/* The connections of the server. Nobody waits for a slow client, who is sent away after a while;
 * and idle ones cannot lock others out: when there are many, the longest idle has to go. */
#include "serve/serve_clients.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

void clients_open(clients *c, double timeout, size_t most) {
    *c = (clients){.timeout = timeout, .most = most};
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

/* ---- Lists; with the lock held ---- */

static void append(clients *c, client *it, client_state state) {
    client_list *to = &c->of[state];
    it->state = state;
    it->since = seconds_now();
    it->before = to->last;
    it->after = NULL;
    *(to->last ? &to->last->after : &to->first) = it;
    to->last = it;
}

static void take_out(clients *c, client *it) {
    client_list *from = &c->of[it->state];
    *(it->before ? &it->before->after : &from->first) = it->after;
    *(it->after ? &it->after->before : &from->last) = it->before;
}

/* The thread that its socket wakes tells it why, and removes it: so it can still be written to. */
static void end_client(clients *c, client *it, bool crowded) {
    bool deaf = it->state == CLIENT_TAKING || it->state == CLIENT_LEAVING;
    it->crowded = crowded;
    take_out(c, it);
    append(c, it, CLIENT_ENDED);
    shutdown(it->socket, deaf ? SHUT_RDWR : SHUT_RD);
}

static void end_first(clients *c) {
    int state = 0;
    while (state < CLIENT_SERVED && !c->of[state].first) ++state;
    if (state < CLIENT_SERVED) end_client(c, c->of[state].first, true);
}

static void end_slow(clients *c, client_state state, double seconds) {
    client *it;
    double before = seconds_now() - seconds;
    while ((it = c->of[state].first) != NULL && it->since < before) end_client(c, it, false);
}

/* ---- Coming and going ---- */

client *clients_add(clients *c, int socket, const struct sockaddr *address) {
    client *it = calloc(1, sizeof *it);
    if (!it) return NULL;
    it->socket = socket;
    write_address(address, it->address, sizeof it->address);
    pthread_mutex_lock(&c->lock);
    if (++c->count > c->most) end_first(c);
    append(c, it, CLIENT_IDLE);
    pthread_mutex_unlock(&c->lock);
    return it;
}

void clients_remove(clients *c, client *it) {
    pthread_mutex_lock(&c->lock);
    take_out(c, it);
    --c->count;
    pthread_mutex_unlock(&c->lock);
    close(it->socket);
    free(it->bytes);
    free(it);
}

bool clients_turn(clients *c, client *it, client_state state) {
    pthread_mutex_lock(&c->lock);
    bool there = it->state != CLIENT_ENDED;
    if (there) {
        take_out(c, it);
        append(c, it, state);
    }
    pthread_mutex_unlock(&c->lock);
    return there;
}

client_state clients_state(clients *c, const client *it) {
    pthread_mutex_lock(&c->lock);
    client_state state = it->state;
    pthread_mutex_unlock(&c->lock);
    return state;
}

size_t clients_count(clients *c) {
    pthread_mutex_lock(&c->lock);
    size_t count = c->count;
    pthread_mutex_unlock(&c->lock);
    return count;
}

bool clients_wait(clients *c) {
    pthread_mutex_lock(&c->lock);
    bool wait = c->of[CLIENT_SERVED].first || c->of[CLIENT_TAKING].first;
    pthread_mutex_unlock(&c->lock);
    return wait;
}

client *clients_any(clients *c) {
    for (int state = 0; state < CLIENT_STATES; ++state)
        if (c->of[state].first) return c->of[state].first;
    return NULL;
}

void clients_make_room(clients *c) {
    pthread_mutex_lock(&c->lock);
    end_first(c);
    pthread_mutex_unlock(&c->lock);
}

void clients_tick(clients *c) {
    double head = c->timeout < HEAD_SECONDS ? c->timeout : HEAD_SECONDS;
    pthread_mutex_lock(&c->lock);
    end_slow(c, CLIENT_LEAVING, LINGER_SECONDS);
    end_slow(c, CLIENT_IDLE, c->timeout);
    end_slow(c, CLIENT_HEAD, head);
    end_slow(c, CLIENT_BODY, c->timeout);
    end_slow(c, CLIENT_TAKING, c->timeout);
    pthread_mutex_unlock(&c->lock);
}
