/* The connections of luthier serve: a few threads take turns at those that have something to say.
 * There is one more of them than contexts, so that one can always read, refuse and tell how the
 * server is; nobody waits for a slow client. */
#define _GNU_SOURCE 1 /* accept4 */

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "serve/serve_http.h"

enum {
    FIRST_BYTES = 4 << 10, /* of the room for what a client sends */
    OTHER_FILES = 64,      /* that are open beside the connections */
    ACCEPTED_AT_ONCE = 64
};

/* ---- Waiting ---- */

/* From here on another thread may have it, and free it. */
static void wait_for(server *s, client *c, uint32_t what) {
    struct epoll_event event = {.events = what | EPOLLONESHOT, .data.ptr = c};
    epoll_ctl(s->ready, EPOLL_CTL_MOD, c->socket, &event);
}

static bool add_socket(server *s, int socket, void *who, uint32_t what) {
    struct epoll_event event = {.events = what, .data.ptr = who};
    return epoll_ctl(s->ready, EPOLL_CTL_ADD, socket, &event) == 0;
}

/* ---- Leaving ---- */

static void remove_client(server *s, client *c) {
    http_done(s, c);
    clients_remove(&s->clients, c);
}

/* To close while bytes come would take back the answer that was sent. */
static void drop_rest(server *s, client *c) {
    char bytes[16 << 10];
    ssize_t size = recv(c->socket, bytes, sizeof bytes, MSG_DONTWAIT);
    if (size > 0 || (size < 0 && errno == EAGAIN))
        wait_for(s, c, EPOLLIN);
    else
        remove_client(s, c);
}

static void leave(server *s, client *c) {
    shutdown(c->socket, SHUT_WR);
    if (clients_turn(&s->clients, c, CLIENT_LEAVING))
        drop_rest(s, c);
    else
        remove_client(s, c);
}

/* ---- Answers ---- */

typedef enum sending { SENT, SENT_PART, NOT_SENT } sending;

static sending send_more(client *c) {
    struct answer *a = &c->answer;
    size_t whole = a->head_size + a->size;
    while (a->sent < whole) {
        size_t head = a->sent < a->head_size ? a->head_size - a->sent : 0;
        size_t body = a->sent + head - a->head_size;
        struct iovec parts[2] = {{a->head + a->head_size - head, head},
                                 {(char *)a->text + body, a->size - body}};
        struct msghdr message = {.msg_iov = parts + (head == 0), .msg_iovlen = 1 + (head > 0)};
        ssize_t size = sendmsg(c->socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (size < 0 && errno == EINTR) continue;
        if (size < 0) return errno == EAGAIN ? SENT_PART : NOT_SENT;
        a->sent += (size_t)size;
    }
    return SENT;
}

/* A client that has its answer may have sent the next request already: it is looked at when it is
 * its turn again. */
static void begin_again(server *s, client *c) {
    if (c->filled == 0) { /* most have nothing more to say for a while */
        free(c->bytes);
        c->bytes = NULL;
        c->room = 0;
    }
    if (clients_turn(&s->clients, c, CLIENT_IDLE))
        wait_for(s, c, c->filled > 0 ? EPOLLIN | EPOLLOUT : EPOLLIN);
    else
        remove_client(s, c);
}

static void send_answer(server *s, client *c, bool first) {
    sending how = send_more(c);
    if (how == SENT_PART && (!first || clients_turn(&s->clients, c, CLIENT_TAKING))) {
        wait_for(s, c, EPOLLOUT);
        return;
    }
    bool last = c->answer.last || how != SENT;
    http_done(s, c);
    if (how != SENT)
        remove_client(s, c);
    else if (last)
        leave(s, c);
    else
        begin_again(s, c);
}

/* The client may be gone afterwards. */
static void answer(server *s, request *r, worker *w) {
    client *c = r->client;
    http_answer(s, r, w);
    send_answer(s, c, true);
}

/* Whoever has a context goes on with those who wait for one. */
static void answer_in_turn(server *s, request *r) {
    pool *p = s->options.pool;
    worker *w = NULL;
    pool_turn turn = POOL_NOW;
    if (!r->problem.status && route_computes(r)) {
        r->ticket.blocked = route_blocked(r);
        r->ticket.brief = route_brief(r);
        turn = pool_enter(p, &r->ticket, &w);
    }
    if (turn == POOL_LATER) return; /* it is somebody else's now */
    if (turn == POOL_NEVER) set_problem(&r->problem, 503, "too many requests at once");
    while (r) {
        answer(s, r, w);
        r = w ? (request *)pool_leave(p, w) : NULL;
    }
}

/* ---- Requests ---- */

/* Somebody else thought that it had been here for long enough. */
static void end_client(server *s, client *c) {
    request *r = c->request;
    if (r && !r->status) {
        if (c->crowded)
            http_refuse(s, r, 503, "there are too many connections");
        else
            http_refuse(s, r, 408, "the request did not come in time");
        send_more(c);
    }
    remove_client(s, c);
}

/* A head is short; a body may as well come in big pieces. */
static bool make_room(client *c) {
    bool body = c->request && c->request->begun;
    size_t room = c->filled < c->room ? c->room : c->room ? c->room * 2 : FIRST_BYTES;
    if (body || room > HEAD_BYTES) room = HEAD_BYTES;
    if (room == c->room) return true;
    char *bytes = realloc(c->bytes, room);
    if (!bytes) return false;
    c->bytes = bytes;
    c->room = room;
    return true;
}

/* False = the client will send nothing more. */
static bool receive(client *c) {
    if (!make_room(c)) return false;
    if (c->filled == c->room) return true;
    ssize_t size = recv(c->socket, c->bytes + c->filled, c->room - c->filled, MSG_DONTWAIT);
    if (size > 0) c->filled += (size_t)size;
    return size > 0 || (size < 0 && (errno == EAGAIN || errno == EINTR));
}

static void read_on(server *s, client *c) {
    bool sends = receive(c);
    if (http_read(s, c) && clients_turn(&s->clients, c, CLIENT_SERVED))
        answer_in_turn(s, c->request);
    else if (clients_state(&s->clients, c) == CLIENT_ENDED)
        end_client(s, c);
    else if (!sends)
        remove_client(s, c);
    else
        wait_for(s, c, EPOLLIN);
}

static void go_on(server *s, client *c) {
    switch (clients_state(&s->clients, c)) {
    case CLIENT_ENDED: end_client(s, c); break;
    case CLIENT_LEAVING: drop_rest(s, c); break;
    case CLIENT_TAKING: send_answer(s, c, false); break;
    default: read_on(s, c); break;
    }
}

/* ---- Connections ---- */

static bool accept_one(server *s) {
    struct sockaddr_storage from = {0};
    socklen_t size = sizeof from;
    int yes = 1, socket = accept4(s->listener, (struct sockaddr *)&from, &size,
                                  SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (socket < 0) return false;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    client *c = clients_add(&s->clients, socket, (struct sockaddr *)&from);
    if (!c)
        close(socket);
    else if (!add_socket(s, socket, c, EPOLLIN | EPOLLONESHOT))
        remove_client(s, c);
    return true;
}

static void accept_some(server *s) {
    int left = ACCEPTED_AT_ONCE;
    while (left > 0 && accept_one(s)) --left;
    if (atomic_load(&s->stopping)) return;
    if (left > 0 && errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
        clients_make_room(&s->clients); /* no more files, or no memory */
        usleep(1000);
    }
    struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data.ptr = &s->listener};
    epoll_ctl(s->ready, EPOLL_CTL_MOD, s->listener, &event);
}

/* ---- Threads ---- */

static void *take_turns(void *user) {
    server *s = user;
    struct epoll_event event;
    while (!atomic_load(&s->stopped)) {
        if (epoll_wait(s->ready, &event, 1, -1) < 1 || event.data.ptr == &s->end) continue;
        if (event.data.ptr == &s->listener)
            accept_some(s);
        else
            go_on(s, event.data.ptr);
    }
    return NULL;
}

static void *watch_clients(void *user) {
    server *s = user;
    while (!atomic_load(&s->stopped)) {
        ticket *late;
        usleep(100000);
        clients_tick(&s->clients);
        while ((late = pool_give_up(s->options.pool)) != NULL) answer(s, (request *)late, NULL);
    }
    return NULL;
}

/* false = errno says why. */
static bool start_thread(pthread_t *out, void *(*run)(void *), server *s) {
    int number = pthread_create(out, NULL, run, s);
    if (number != 0) errno = number;
    return number == 0;
}

static bool start_threads(server *s) {
    size_t wanted = s->options.pool->count + 1;
    s->threads = calloc(wanted, sizeof *s->threads);
    if (!s->threads || !start_thread(&s->watch, watch_clients, s)) return false;
    s->watching = true;
    while (s->thread_count < wanted && start_thread(&s->threads[s->thread_count], take_turns, s))
        ++s->thread_count;
    return s->thread_count == wanted;
}

/* ---- The server ---- */

/* As many connections as there may be files. */
static size_t most_connections(void) {
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0) return 256;
    rlim_t wanted = MOST_CONNECTIONS + 2 * OTHER_FILES;
    if (files.rlim_cur < wanted && files.rlim_cur < files.rlim_max) {
        files.rlim_cur = files.rlim_max < wanted ? files.rlim_max : wanted;
        setrlimit(RLIMIT_NOFILE, &files);
        getrlimit(RLIMIT_NOFILE, &files);
    }
    if (files.rlim_cur >= wanted) return MOST_CONNECTIONS;
    return files.rlim_cur > 2 * OTHER_FILES ? (size_t)files.rlim_cur - OTHER_FILES : OTHER_FILES;
}

/* Ends the threads, and then what they had to do with. */
static void free_server(server *s) {
    client *c;
    atomic_store(&s->stopped, true);
    if (s->end >= 0) eventfd_write(s->end, 1);
    for (size_t i = 0; i < s->thread_count; ++i) pthread_join(s->threads[i], NULL);
    if (s->watching) pthread_join(s->watch, NULL);
    while ((c = clients_any(&s->clients)) != NULL) remove_client(s, c);
    clients_close(&s->clients);
    metrics_close(&s->metrics);
    if (s->end >= 0) close(s->end);
    if (s->ready >= 0) close(s->ready);
    free(s->threads);
    free(s);
}

static bool open_server(server *s) {
    s->ready = epoll_create1(EPOLL_CLOEXEC);
    s->end = eventfd(0, EFD_CLOEXEC);
    return s->ready >= 0 && s->end >= 0 && fcntl(s->listener, F_SETFL, O_NONBLOCK) == 0 &&
           add_socket(s, s->end, &s->end, EPOLLIN) &&
           add_socket(s, s->listener, &s->listener, EPOLLIN | EPOLLONESHOT) && start_threads(s);
}

server *server_start(int listener, const server_options *given) {
    server *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->options = *given;
    s->listener = listener;
    s->end = s->ready = -1;
    clients_open(&s->clients, given->timeout, most_connections());
    metrics_open(&s->metrics);
    if (open_server(s)) return s;
    int number = errno;
    free_server(s);
    errno = number;
    return NULL;
}

void server_reloaded(server *s, bool good) {
    metrics_count_reload(&s->metrics, good);
}

void server_stop(server *s) {
    int listener = s->listener;
    atomic_store(&s->stopping, true);
    shutdown(listener, SHUT_RDWR); /* whoever comes now is told that nobody is here */
    while (atomic_load(&s->requests) > 0 || clients_wait(&s->clients)) usleep(10000);
    free_server(s);
    close(listener);
}
