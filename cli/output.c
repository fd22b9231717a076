/* Printing: numbers that read back as they were, colours, the end of standard output. */
#define _GNU_SOURCE 1 /* fopencookie */
#include "output.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
    fputs(isnan(value) ? "-" : double_text(value, text), to);
}

void print_number_cell(double value) {
    putchar('\t');
    write_tsv_double(stdout, isfinite(value) ? value : NAN);
}

void print_short_cell(double value) {
    if (isnan(value))
        fputs("\t-", stdout);
    else
        printf("\t%.4g", value);
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

/* Fewer bytes than asked for tell the stream of a failure; the output remembers which. */
static ssize_t write_output(void *cookie, const char *bytes, size_t size) {
    return lth_output_write(cookie, bytes, size, NULL) == LTH_OK ? (ssize_t)size : 0;
}

static int fail(const lth_error *err) {
    fprintf(stderr, "luthier: %s: %s\n", err->file, err->message);
    return EXIT_FAILED;
}

int text_open(text_file *f, const char *path) {
    *f = (text_file){0};
    if (!path || strcmp(path, "-") == 0) {
        f->stream = stdout;
        return EXIT_DONE;
    }
    lth_error err = {0};
    if (lth_output_open(path, &f->output, &err) != LTH_OK) return fail(&err);
    f->stream = fopencookie(f->output, "w", (cookie_io_functions_t){.write = write_output});
    if (f->stream) return EXIT_DONE;
    lth_output_free(f->output);
    *f = (text_file){0};
    fputs("luthier: out of memory\n", stderr);
    return EXIT_FAILED;
}

int text_close(text_file *f, bool keep) {
    int code = EXIT_DONE;
    lth_error err = {0};
    if (f->output) fclose(f->stream);
    if (f->output && keep && lth_output_commit(f->output, &err) != LTH_OK) code = fail(&err);
    lth_output_free(f->output);
    *f = (text_file){0};
    return code;
}
