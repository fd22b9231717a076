/* The log of requests: a line of JSON for each. A line that cannot be written is lost, and counted:
 * a full disk stops nobody. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "json.h"
#include "output.h"
#include "serve/serve.h"

/* ---- The file ---- */

static bool is_stdout(const access_log *l) {
    return strcmp(l->path, "-") == 0;
}

/* Not to wait: neither for whoever reads a pipe to come, nor for him to have read. */
static int open_file(const char *path) {
    return open(path, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0640);
}

static void complain(const access_log *l, const char *what) {
    message("%s: %s: %s", is_stdout(l) ? "standard output" : l->path, what, strerror(errno));
}

int log_open(access_log *l, const char *path) {
    *l = (access_log){.path = path, .file = -1};
    pthread_mutex_init(&l->lock, NULL);
    if (!path) return EXIT_DONE;
    l->file = is_stdout(l) ? STDOUT_FILENO : open_file(path);
    if (l->file >= 0) return EXIT_DONE;
    complain(l, "cannot write the log");
    return EXIT_FAILED;
}

bool log_reopen(access_log *l) {
    if (!l->path || is_stdout(l)) return true;
    int next = open_file(l->path);
    if (next < 0) {
        complain(l, "cannot open the log again");
        return false;
    }
    pthread_mutex_lock(&l->lock);
    int old = l->file;
    l->file = next;
    l->torn = false;
    pthread_mutex_unlock(&l->lock);
    close(old);
    return true;
}

void log_close(access_log *l) {
    if (l->file > STDERR_FILENO) close(l->file);
    pthread_mutex_destroy(&l->lock);
}

size_t log_lost(access_log *l) {
    pthread_mutex_lock(&l->lock);
    size_t lost = l->lost;
    pthread_mutex_unlock(&l->lock);
    return lost;
}

/* In one piece, so that other programs can write to the same file. */
static bool write_whole(access_log *l, const char *line, size_t length) {
    if (l->torn && write(l->file, "\n", 1) != 1) return false;
    l->torn = false;
    ssize_t written;
    do written = write(l->file, line, length);
    while (written < 0 && errno == EINTR);
    l->torn = written > 0 && (size_t)written < length;
    if (l->torn) errno = ENOSPC;
    return written >= 0 && !l->torn;
}

static void put_line(access_log *l, const char *line, size_t length) {
    pthread_mutex_lock(&l->lock);
    bool good = write_whole(l, line, length);
    if (!good && !l->failing) complain(l, "lines of the log are lost");
    l->failing = !good;
    l->lost += !good;
    pthread_mutex_unlock(&l->lock);
}

/* ---- Lines ---- */

typedef struct line {
    char *text;
    size_t length;
    json_writer json;
} line;

/* RFC 3339, to the millisecond. */
static void put_time(json_writer *w) {
    struct timespec now;
    struct tm parts;
    char text[32], whole[48];
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &parts);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(whole, sizeof whole, "%s.%03ldZ", text, now.tv_nsec / 1000000);
    json_put_text(w, "time", whole);
}

/* What a client sent may be any bytes. */
static void put_visible(json_writer *w, const char *key, const char *text) {
    char *visible = NULL;
    size_t length;
    FILE *to = text ? text_stream(&visible, &length) : NULL;
    if (to) {
        write_visible(to, text, strlen(text));
        fclose(to);
    }
    json_put_text(w, key, visible);
    free(visible);
}

static bool line_begin(line *n, const access_log *l) {
    *n = (line){0};
    if (l->path) n->json.to = text_stream(&n->text, &n->length);
    if (!n->json.to) return false;
    json_begin_object(&n->json, NULL);
    put_time(&n->json);
    return true;
}

static void line_end(line *n, access_log *l) {
    json_end(&n->json);
    if (fclose(n->json.to) == 0) put_line(l, n->text, n->length);
    free(n->text);
}

static void put_seconds(json_writer *w, double seconds) {
    json_put_double(w, "seconds", (double)(long long)(seconds * 1e6 + 0.5) / 1e6);
}

void log_request(access_log *l, const access_entry *e) {
    line n;
    if (!line_begin(&n, l)) return;
    json_put_text(&n.json, "client", e->client);
    if (e->forwarded) put_visible(&n.json, "forwarded", e->forwarded);
    put_visible(&n.json, "method", e->method);
    put_visible(&n.json, "path", e->path);
    json_put_count(&n.json, "status", e->status);
    json_put_count(&n.json, "bytes", e->bytes);
    json_put_count(&n.json, "rows", e->rows);
    put_seconds(&n.json, e->seconds);
    line_end(&n, l);
}

void log_event(access_log *l, const char *event, const char *model, double seconds,
               const char *error) {
    line n;
    if (!line_begin(&n, l)) return;
    json_put_text(&n.json, "event", event);
    put_visible(&n.json, "model", model);
    put_seconds(&n.json, seconds);
    put_visible(&n.json, "error", error);
    line_end(&n, l);
}
