/* Printing: numbers that read back as they were, JSON, colours, the end of standard output. */
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

void print_json_string(const char *text) {
    putchar('"');
    for (const char *c = text; *c; ++c) {
        unsigned char byte = (unsigned char)*c;
        if (byte == '"' || byte == '\\')
            printf("\\%c", byte);
        else if (byte < 0x20 || byte == 0x7f)
            printf("\\u%04x", byte);
        else
            putchar(byte);
    }
    putchar('"');
}

void print_json_double(double value) {
    char text[32];
    fputs(isfinite(value) ? double_text(value, text) : "null", stdout);
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
