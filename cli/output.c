/* Printing: numbers that read back as they were, colours, the end of standard output. */
#define _GNU_SOURCE 1 /* fopencookie */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "options.h"

const char *double_text(double value, char out[32]) {
    for (int digits = 15; digits <= 17; ++digits) {
        snprintf(out, 32, "%.*g", digits, value);
        if (strtod(out, NULL) == value) break;
    }
    return out;
}

void write_tsv_double(FILE *to, double value) {
    char text[32];
    fputs(isnan(value) ? "nan" : double_text(value, text), to);
}

void print_number_cell(double value) {
    putchar('\t');
    if (isnan(value))
        putchar('-');
    else
        write_tsv_double(stdout, value);
}

static void print_line_break(size_t indent) {
    printf("\n%*s", (int)indent, "");
}

void print_wrapped(const char *text, size_t indent, size_t width) {
    size_t column = indent;
    bool line_start = true;
    while (*text) {
        if (*text == '\n') {
            print_line_break(indent);
            column = indent, line_start = true;
            ++text;
            continue;
        }
        size_t word = strcspn(text, " \n");
        if (!line_start && column + 1 + word > width) {
            print_line_break(indent);
            column = indent, line_start = true;
        }
        column += word + !line_start;
        printf("%s%.*s", line_start ? "" : " ", (int)word, text);
        line_start = false;
        text += word;
        if (*text == ' ') ++text;
    }
    putchar('\n');
}

bool use_colour(void) {
    const char *no_color = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    bool forbidden = (no_color && *no_color) || (term && strcmp(term, "dumb") == 0);
    return !forbidden && isatty(STDOUT_FILENO);
}

/* A reader that closed the pipe (head, less) has seen enough, which is nothing to complain of. */
static bool reader_left(void) {
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&out, 1, 0) == 1 && (out.revents & POLLERR);
}

/* Why writing fails, 0 when it no longer does: stdio does not keep the reason, so that it is asked
 * for again. What was written is useless anyway. */
static int ask_reason(void) {
    return write(STDOUT_FILENO, "\n", 1) < 0 ? errno : 0;
}

int finish_stdout(void) {
    bool lost = ferror(stdout) != 0;
    errno = 0;
    if (fflush(stdout) == 0 && !lost) return EXIT_DONE;
    int number = errno;
    if (reader_left()) return EXIT_FAILED;
    if (!number) number = ask_reason();
    fprintf(stderr, "luthier: cannot write to standard output%s%s\n", number ? ": " : "",
            number ? strerror(number) : "");
    return EXIT_FAILED;
}

/* ---- Files of text ---- */

/* A file under a stream that remembers why the first write failed. */
typedef struct text_sink {
    int file, reason;
} text_sink;

/* Fewer bytes than asked for tell the stream of a failure, so that a part is no end. */
static ssize_t sink_write(void *cookie, const char *bytes, size_t size) {
    text_sink *s = cookie;
    size_t done = 0;
    while (done < size) {
        ssize_t part = write(s->file, bytes + done, size - done);
        if (part < 0) {
            if (!s->reason) s->reason = errno;
            break;
        }
        done += (size_t)part;
    }
    return (ssize_t)done;
}

static int sink_close(void *cookie) {
    text_sink *s = cookie;
    int code = close(s->file);
    if (code != 0 && !s->reason) s->reason = errno;
    return code;
}

/* A stream into the file, which may have failed to open; NULL after an errno. */
static FILE *open_sink(text_file *f, int file) {
    if (file < 0) return NULL;
    f->sink = malloc(sizeof *f->sink);
    if (!f->sink) {
        close(file);
        return NULL;
    }
    *f->sink = (text_sink){.file = file};
    FILE *stream = fopencookie(f->sink, "w",
                               (cookie_io_functions_t){.write = sink_write, .close = sink_close});
    if (!stream) close(file);
    return stream;
}

static int cannot_write(const char *path, int number) {
    fprintf(stderr, "luthier: %s: cannot write: %s\n", path, strerror(number ? number : EIO));
    return EXIT_FAILED;
}

static void forget(text_file *f) {
    free(f->path);
    free(f->temporary);
    free(f->sink);
    *f = (text_file){0};
}

/* One of that name can only be left over from a process that is gone, or be a link of somebody who
 * wants another file written. */
static int create_new(const char *path, mode_t mode) {
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
    int file = open(path, flags, mode);
    if (file < 0 && errno == EEXIST && unlink(path) == 0) file = open(path, flags, mode);
    return file;
}

/* A file NAME.tmp-PID beside the one that it will replace, with the same permissions from the
 * start. */
static FILE *open_temporary(text_file *f, const struct stat *old) {
    f->path = old ? realpath(f->name, NULL) : strdup(f->name);
    if (!f->path) return NULL;
    size_t size = strlen(f->path) + 32;
    f->temporary = malloc(size);
    if (!f->temporary) return NULL;
    snprintf(f->temporary, size, "%s.tmp-%ld", f->path, (long)getpid());
    int file = create_new(f->temporary, old ? old->st_mode & 0777 : 0666);
    if (file >= 0 && old) fchmod(file, old->st_mode & 0777); /* what the umask took away */
    return open_sink(f, file);
}

int text_open(text_file *f, const char *path) {
    *f = (text_file){.name = path};
    if (!path || strcmp(path, "-") == 0) {
        f->stream = stdout;
        return EXIT_DONE;
    }
    struct stat found;
    bool exists = stat(path, &found) == 0;
    if (exists && !S_ISREG(found.st_mode))
        f->stream = open_sink(f, open(path, O_WRONLY | O_CLOEXEC)); /* is not renamed over */
    else if (!exists || access(path, W_OK) == 0)
        f->stream = open_temporary(f, exists ? &found : NULL);
    if (f->stream) return EXIT_DONE;
    int code = cannot_write(path, errno);
    forget(f);
    return code;
}

/* Everything to the system; 0 or the errno of what failed first. */
static int close_stream(text_file *f) {
    bool lost = ferror(f->stream) != 0;
    if (fclose(f->stream) != 0) lost = true;
    return f->sink->reason ? f->sink->reason : lost ? EIO : 0;
}

int text_close(text_file *f, bool keep) {
    int code = EXIT_DONE;
    if (f->stream && f->stream != stdout) {
        int number = close_stream(f);
        if (keep && !number && f->temporary && rename(f->temporary, f->path) != 0) number = errno;
        if (f->temporary && (number || !keep)) unlink(f->temporary);
        if (number && keep) code = cannot_write(f->name, number);
    }
    forget(f);
    return code;
}
