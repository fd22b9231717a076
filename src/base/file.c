/* Reading plain or gzipped bytes; what is packed is unpacked by base/gunzip.h. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/gunzip.h"
#include "base/memory.h"

enum { BUFFER_SIZE = 256 * 1024, LEAST_BUFFER = 1024, READ_MOST = 1 << 30 };

/* buffer[start .. end) was read and not yet consumed. */
struct lth__input {
    const lth__relay *relay;
    int file;             /* -1 = none: in memory, or another process reads      */
    lth__gunzip *gunzip;  /* NULL = it is plain                                  */
    bool begun, borrowed; /* its first bytes were seen; `buffer` is the caller's */
    char *name, *buffer;
    size_t capacity, start, end;
    const lth_ctx *ctx; /* asked whether to go on, or NULL: see lth__input_ask() */
    size_t unasked;     /* bytes that were read since it was */
    size_t line_number;
    size_t longest;     /* bytes of a line, at most */
    const char *advice; /* to whom has longer ones  */
    bool at_end;        /* nothing more to read into the buffer */
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

/* ---- Reading for others -------------------------------------------------------------------- */

lth_status lth__relay_share(const lth__relay *relay, lth_status status, void *bytes, size_t size,
                            lth_error *err) {
    return relay == NULL || relay->share == NULL
               ? status
               : relay->share(relay->user, status, bytes, size, err);
}

bool lth__relay_reads(const lth__relay *relay) {
    return relay == NULL || relay->share == NULL || relay->reads;
}

static const lth__memory_file *find_in_memory(const lth__relay *relay, const char *path) {
    for (size_t i = 0; relay != NULL && i < relay->file_count; i++)
        if (strcmp(relay->files[i].path, path) == 0) return &relay->files[i];
    return NULL;
}

/* Plain bytes are read where they are. */
static lth_status open_memory(lth__input *in, const lth__memory_file *from, lth_error *err) {
    in->begun = true;
    if (!lth__is_gzip(from->bytes, from->size)) {
        in->buffer = from->size > 0 ? (char *)(uintptr_t)from->bytes : (char *)(uintptr_t) "";
        in->end = in->capacity = from->size;
        in->borrowed = in->at_end = true;
        return LTH_OK;
    }
    size_t guess = from->size < BUFFER_SIZE / 4 ? 4 * from->size : BUFFER_SIZE;
    in->capacity = guess < LEAST_BUFFER ? LEAST_BUFFER : guess;
    in->buffer = lth__alloc(in->capacity, 1);
    if (in->buffer == NULL) return lth__fail_memory(err, in->capacity);
    return lth__gunzip_open(-1, from->bytes, from->size, &in->gunzip, err);
}

static lth_status open_file(lth__input *in, const char *path, lth_error *err) {
    in->buffer = lth__alloc(BUFFER_SIZE, 1);
    in->capacity = BUFFER_SIZE;
    if (in->buffer == NULL) return lth__fail_memory(err, BUFFER_SIZE);
    if (!lth__relay_reads(in->relay)) return LTH_OK;
    in->file = open_to_read(path);
    return in->file < 0 ? fail_errno(err, in->name, "cannot open", errno) : LTH_OK;
}

lth_status lth__input_open(const lth__relay *relay, const char *path, lth__input **out,
                           lth_error *err) {
    lth__input *in = lth__calloc(1, sizeof *in);
    if (in == NULL) return lth__fail_memory(err, sizeof *in);
    in->relay = relay;
    in->file = -1;
    in->longest = LTH__LONGEST_LINE;
    in->advice = "";
    const char *name = strcmp(path, "-") == 0 ? "stdin" : path;
    const lth__memory_file *memory = find_in_memory(relay, path);
    in->name = lth__strndup(name, strlen(name));
    lth_status status = in->name == NULL ? lth__fail_memory(err, strlen(name) + 1)
                        : memory != NULL ? open_memory(in, memory, err)
                                         : open_file(in, path, err);
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
    lth__gunzip_close(in->gunzip);
    if (in->file >= 0) close(in->file);
    lth__free(in->name);
    if (!in->borrowed) lth__free(in->buffer);
    lth__free(in);
}

const char *lth__input_name(const lth__input *in) {
    return in->name;
}

void lth__input_limit(lth__input *in, size_t most, const char *advice) {
    in->longest = most;
    in->advice = advice;
}

size_t lth__input_line_number(const lth__input *in) {
    return in->line_number;
}

/* ---- Reading ------------------------------------------------------------------------------- */

/* What is packed is told by its first two bytes. These were read as if they were plain, and there
 * is nothing before them. */
static lth_status begin(lth__input *in, size_t *got, lth_error *err) {
    *got = 0;
    for (ssize_t more = 1; *got < 2 && more > 0; *got += (size_t)more) {
        more = read(in->file, in->buffer + *got, in->capacity - *got);
        if (more < 0) return fail_errno(err, in->name, "cannot read", errno);
    }
    in->begun = true;
    if (!lth__is_gzip(in->buffer, *got)) return LTH_OK;
    LTH_TRY(lth__gunzip_open(in->file, in->buffer, *got, &in->gunzip, err));
    return lth__gunzip_read(in->gunzip, in->name, in->buffer, in->capacity, got, err);
}

/* Behind what is in the buffer; *got is 0 at the end. */
static lth_status read_some(lth__input *in, size_t room, size_t *got, lth_error *err) {
    char *to = in->buffer + in->end;
    if (!in->begun) return begin(in, got, err);
    if (in->gunzip != NULL) return lth__gunzip_read(in->gunzip, in->name, to, room, got, err);
    ssize_t count = read(in->file, to, room < READ_MOST ? room : READ_MOST);
    if (count < 0) return fail_errno(err, in->name, "cannot read", errno);
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

static lth_status check_length(const lth__input *in, size_t length, lth_error *err) {
    if (length <= in->longest) return LTH_OK;
    char most[16];
    lth__print_size((double)in->longest, most);
    return lth__fail_at(err, LTH_EFORMAT, in->name, in->line_number + 1, 1,
                        "a line of more than %s%s", most, in->advice);
}

lth_status lth__input_line(lth__input *in, const char **line, size_t *length, lth_error *err) {
    const char *newline = NULL;
    for (size_t searched = 0;;) {
        const char *from = in->buffer + in->start + searched;
        newline = memchr(from, '\n', in->end - in->start - searched);
        if (newline != NULL || in->at_end) break;
        searched = in->end - in->start;
        LTH_TRY(check_length(in, searched, err));
        LTH_TRY(fill(in, err));
    }
    const char *begin = in->buffer + in->start;
    size_t size = newline != NULL ? (size_t)(newline - begin) : in->end - in->start;
    LTH_TRY(check_length(in, size, err));
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
