/* Reading plain or gzipped bytes through zlib. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/memory.h"

enum { BUFFER_SIZE = 256 * 1024, READ_MOST = 1 << 30 };

/* buffer[start .. end) was read and not yet consumed. */
struct lth__input {
    const lth__relay *relay;
    gzFile gz; /* NULL where another process reads */
    char *name, *buffer;
    size_t capacity, start, end;
    const lth_ctx *ctx; /* asked whether to go on, or NULL: see lth__input_ask() */
    size_t unasked;     /* bytes that were read since it was */
    size_t line_number;
    bool at_end; /* nothing more to read into the buffer */
};

/* ---- Opening ------------------------------------------------------------------------------- */

static lth_status fail_errno(lth_error *err, const char *file, const char *what, int number) {
    return lth__fail_at(err, LTH_EIO, file, 0, 0, "%s: %s", what, strerror(number));
}

static lth_status check_regular(int file, const char *path, lth_error *err) {
    struct stat found;
    if (fstat(file, &found) != 0) return fail_errno(err, path, "cannot read", errno);
    if (S_ISREG(found.st_mode)) return LTH_OK;
    return lth__fail_at(err, LTH_EIO, path, 0, 0, "cannot read: not a regular file");
}

lth_status lth__file_open(const char *path, FILE **out, lth_error *err) {
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* for what is a pipe */
    if (file < 0) return fail_errno(err, path, "cannot open", errno);
    lth_status status = check_regular(file, path, err);
    FILE *stream = status == LTH_OK ? fdopen(file, "rb") : NULL;
    if (!stream) close(file);
    if (status == LTH_OK && !stream) return lth__fail_memory(err, 0);
    if (stream) *out = stream;
    return status;
}

/* A descriptor that is not a directory, or -1 with errno: opening one succeeds, reading fails. */
static int open_to_read(const char *path) {
    bool standard = strcmp(path, "-") == 0;
    int file =
        standard ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) : open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (file >= 0 && fstat(file, &status) == 0 && S_ISDIR(status.st_mode)) {
        close(file);
        errno = EISDIR;
        return -1;
    }
    return file;
}

static lth_status open_gz(lth__input *in, const char *path, lth_error *err) {
    int file = open_to_read(path);
    if (file < 0) return fail_errno(err, in->name, "cannot open", errno);
    in->gz = gzdopen(file, "rb");
    if (in->gz == NULL) {
        close(file);
        return lth__fail_memory(err, 0);
    }
    gzbuffer(in->gz, BUFFER_SIZE);
    return LTH_OK;
}

/* ---- Reading for others -------------------------------------------------------------------- */

lth_status lth__relay_share(const lth__relay *relay, lth_status status, void *bytes, size_t size,
                            lth_error *err) {
    return relay == NULL ? status : relay->share(relay->user, status, bytes, size, err);
}

bool lth__relay_reads(const lth__relay *relay) {
    return relay == NULL || relay->reads;
}

lth_status lth__input_open(const lth__relay *relay, const char *path, lth__input **out,
                           lth_error *err) {
    lth__input *in = lth__calloc(1, sizeof *in);
    if (in == NULL) return lth__fail_memory(err, sizeof *in);
    in->relay = relay;
    const char *name = strcmp(path, "-") == 0 ? "stdin" : path;
    in->name = lth__strndup(name, strlen(name));
    in->buffer = lth__alloc(BUFFER_SIZE, 1);
    in->capacity = BUFFER_SIZE;
    lth_status status = LTH_OK;
    if (in->name == NULL || in->buffer == NULL) status = lth__fail_memory(err, BUFFER_SIZE);
    if (status == LTH_OK && lth__relay_reads(relay)) status = open_gz(in, path, err);
    status = lth__relay_share(relay, status, NULL, 0, err);
    if (status != LTH_OK) {
        lth__input_close(in);
        return status;
    }
    *out = in;
    return LTH_OK;
}

void lth__input_close(lth__input *in) {
    if (in == NULL) return;
    if (in->gz != NULL) gzclose_r(in->gz);
    lth__free(in->name);
    lth__free(in->buffer);
    lth__free(in);
}

const char *lth__input_name(const lth__input *in) {
    return in->name;
}

size_t lth__input_line_number(const lth__input *in) {
    return in->line_number;
}

/* ---- Reading ------------------------------------------------------------------------------- */

/* Why gzread() gave nothing: LTH_OK if that was the end. */
static lth_status end_or_failure(const lth__input *in, int system_error, lth_error *err) {
    int code = Z_OK;
    gzerror(in->gz, &code);
    switch (code) {
    case Z_OK:
    case Z_STREAM_END: return LTH_OK;
    case Z_ERRNO: return fail_errno(err, in->name, "cannot read", system_error);
    case Z_MEM_ERROR: return lth__fail_memory(err, 0);
    case Z_BUF_ERROR: return lth__fail_at(err, LTH_EFORMAT, in->name, 0, 0, "gzip data ends early");
    default: return lth__fail_at(err, LTH_EFORMAT, in->name, 0, 0, "gzip data is damaged");
    }
}

/* Behind what is in the buffer; *got stays 0 at the end. */
static lth_status read_some(lth__input *in, size_t room, size_t *got, lth_error *err) {
    errno = 0;
    int count = gzread(in->gz, in->buffer + in->end, room < READ_MOST ? (unsigned)room : READ_MOST);
    if (count <= 0) return end_or_failure(in, errno, err);
    *got = (size_t)count;
    return LTH_OK;
}

enum { BYTES_TO_ASK = 1 << 22 };

void lth__input_ask(lth__input *in, const lth_ctx *ctx) {
    in->ctx = ctx;
}

/* Read more behind what is in the buffer, making room first. */
static lth_status fill(lth__input *in, lth_error *err) {
    if (in->start > 0) {
        memmove(in->buffer, in->buffer + in->start, in->end - in->start);
        in->end -= in->start;
        in->start = 0;
    }
    size_t got = 0;
    lth_status status = LTH_OK;
    if (in->end == in->capacity &&
        !lth__reserve((void **)&in->buffer, &in->capacity, in->end + 1, 1))
        status = lth__fail_memory(err, in->capacity * 2);
    if (status == LTH_OK && lth__relay_reads(in->relay))
        status = read_some(in, in->capacity - in->end, &got, err);
    if (status == LTH_OK && in->ctx && (in->unasked += got) >= BYTES_TO_ASK) {
        in->unasked = 0;
        status = lth__tell(in->ctx, "", 0, 0, err);
    }
    LTH_TRY(lth__relay_share(in->relay, status, &got, sizeof got, err));
    LTH_TRY(lth__relay_share(in->relay, LTH_OK, in->buffer + in->end, got, err));
    in->end += got;
    in->at_end = got == 0;
    return LTH_OK;
}

lth_status lth__input_line(lth__input *in, const char **line, size_t *length, lth_error *err) {
    const char *newline = NULL;
    for (size_t searched = 0;;) {
        const char *from = in->buffer + in->start + searched;
        newline = memchr(from, '\n', in->end - in->start - searched);
        if (newline != NULL || in->at_end) break;
        searched = in->end - in->start;
        LTH_TRY(fill(in, err));
    }
    const char *begin = in->buffer + in->start;
    size_t size = newline != NULL ? (size_t)(newline - begin) : in->end - in->start;
    in->start += size + (newline != NULL);
    bool none = newline == NULL && size == 0;
    in->line_number += !none;
    *line = none ? NULL : begin;
    *length = size;
    return LTH_OK;
}

lth_status lth__input_peek(lth__input *in, size_t count, const char **bytes, size_t *got,
                           lth_error *err) {
    while (in->end - in->start < count && !in->at_end) LTH_TRY(fill(in, err));
    size_t ready = in->end - in->start;
    *bytes = in->buffer + in->start;
    *got = ready < count ? ready : count;
    return LTH_OK;
}

lth_status lth__input_bytes(lth__input *in, void *bytes, size_t count, size_t *got,
                            lth_error *err) {
    size_t copied = 0;
    while (copied < count) {
        if (in->start == in->end) {
            if (!in->at_end) LTH_TRY(fill(in, err));
            if (in->at_end) break;
        }
        size_t ready = in->end - in->start, part = ready < count - copied ? ready : count - copied;
        memcpy((char *)bytes + copied, in->buffer + in->start, part);
        in->start += part;
        copied += part;
    }
    *got = copied;
    return LTH_OK;
}
