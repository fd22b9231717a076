/* Printing: numbers that read back as they were, colours, the end of standard output. */
#include "output.h"

#include <errno.h>
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

int finish_stdout(void) {
    bool lost = ferror(stdout) != 0;
    errno = 0;
    if (fflush(stdout) == 0 && !lost) return EXIT_DONE;
    if (!reader_left())
        fprintf(stderr, "luthier: cannot write to standard output%s%s\n", errno ? ": " : "",
                errno ? strerror(errno) : "");
    return EXIT_FAILED;
}

/* ---- Files of text ---- */

static int cannot_write(const char *path, int number) {
    fprintf(stderr, "luthier: %s: cannot write: %s\n", path, strerror(number ? number : EIO));
    return EXIT_FAILED;
}

static void forget(text_file *f) {
    free(f->path);
    free(f->temporary);
    *f = (text_file){0};
}

/* A file NAME.tmp-PID beside the one that it will replace, with the same permissions. */
static FILE *open_temporary(text_file *f, const struct stat *old) {
    f->path = old ? realpath(f->name, NULL) : strdup(f->name);
    if (!f->path) return NULL;
    size_t size = strlen(f->path) + 32;
    f->temporary = malloc(size);
    if (!f->temporary) return NULL;
    snprintf(f->temporary, size, "%s.tmp-%ld", f->path, (long)getpid());
    FILE *stream = fopen(f->temporary, "we");
    if (stream && old) fchmod(fileno(stream), old->st_mode & 0777);
    return stream;
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
        f->stream = fopen(path, "we"); /* a device or a pipe cannot be renamed over */
    else if (!exists || access(path, W_OK) == 0)
        f->stream = open_temporary(f, exists ? &found : NULL);
    if (f->stream) return EXIT_DONE;
    int code = cannot_write(path, errno);
    forget(f);
    return code;
}

/* Everything to the system; 0 or the errno. A write that failed long ago may have left none. */
static int close_stream(FILE *stream) {
    bool lost = ferror(stream) != 0;
    errno = 0;
    if (fclose(stream) != 0) return errno;
    return lost ? EIO : 0;
}

int text_close(text_file *f, bool keep) {
    int code = EXIT_DONE;
    if (f->stream && f->stream != stdout) {
        int number = close_stream(f->stream);
        if (keep && !number && f->temporary && rename(f->temporary, f->path) != 0) number = errno;
        if (f->temporary && (number || !keep)) unlink(f->temporary);
        if (number && keep) code = cannot_write(f->name, number);
    }
    forget(f);
    return code;
}
