/* Printing: numbers that read back as they were, texts that do nothing to a terminal, messages,
 * colours, the end of standard output. */
#define _GNU_SOURCE 1 /* fopencookie, vasprintf */
#include "output.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <utf8proc.h>

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

/* ---- Texts that come from elsewhere ---- */

uint32_t read_character(const char *text, size_t length, size_t *bytes) {
    utf8proc_int32_t code;
    utf8proc_ssize_t size =
        utf8proc_iterate((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)length, &code);
    *bytes = size > 0 ? (size_t)size : 0;
    return size > 0 ? (uint32_t)code : (unsigned char)*text;
}

static bool is_control(uint32_t c) {
    return c < 0x20 || (c >= 0x7F && c < 0xA0);
}

bool is_unseen(uint32_t c) {
    return is_control(c) || c == 0x61C || (c >= 0x200B && c <= 0x200F) ||
           (c >= 0x2028 && c <= 0x202E) || (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF;
}

static bool is_strange(uint32_t c, size_t bytes) {
    return bytes == 0 || is_unseen(c);
}

static bool breaks_tsv(uint32_t c, size_t bytes) {
    return bytes > 0 && is_control(c);
}

static size_t write_without(FILE *to, const char *text, size_t length,
                            bool escapes(uint32_t c, size_t bytes)) {
    size_t width = 0, bytes;
    for (size_t i = 0; i < length; i += bytes) {
        uint32_t code = read_character(text + i, length - i, &bytes);
        bool escaped = escapes(code, bytes);
        if (escaped && bytes <= 1)
            width += (size_t)fprintf(to, "\\x%02x", (unsigned)code);
        else if (escaped)
            width += (size_t)fprintf(to, "\\u{%x}", (unsigned)code);
        else
            width++;
        if (bytes == 0) bytes = 1;
        if (!escaped) fwrite(text + i, 1, bytes, to);
    }
    return width;
}

size_t write_visible(FILE *to, const char *text, size_t length) {
    return write_without(to, text, length, is_strange);
}

void print_visible(const char *text) {
    write_visible(stdout, text, strlen(text));
}

void print_text_line(const char *name, const char *text) {
    printf("%s\t", name);
    print_visible(text);
    putchar('\n');
}

void write_columns(FILE *to, const char *text, size_t first, size_t count) {
    size_t length = strlen(text), bytes;
    for (size_t i = 0, k = 0; i < length && k < first + count; i += bytes ? bytes : 1, ++k) {
        uint32_t code = read_character(text + i, length - i, &bytes);
        if (k < first) continue;
        if (is_strange(code, bytes))
            fputc(' ', to);
        else
            fwrite(text + i, 1, bytes, to);
    }
}

static bool is_plain(const char *text, size_t length) {
    for (size_t i = 0; i < length; ++i)
        if ((unsigned char)text[i] < 0x20 || (unsigned char)text[i] > 0x7E) return false;
    return true;
}

/* Asked once, not for each cell. No other stream can be a terminal: files are written by
 * text_open(). */
static bool is_terminal(FILE *to) {
    static int known = -1;
    if (to != stdout) return false;
    if (known < 0) known = isatty(STDOUT_FILENO);
    return known;
}

void write_cell(FILE *to, const char *text, size_t length) {
    if (!text) return;
    if (is_plain(text, length))
        fwrite(text, 1, length, to);
    else
        write_without(to, text, length, is_terminal(to) ? is_strange : breaks_tsv);
}

void write_text_cell(FILE *to, const char *text) {
    if (text) write_cell(to, text, strlen(text));
}

/* In one piece: threads of a server write there too. */
void message_v(const char *before, const char *format, va_list args) {
    char *text = NULL, *line = NULL;
    size_t size = 0;
    int length = vasprintf(&text, format, args);
    FILE *to = length >= 0 ? text_stream(&line, &size) : NULL;
    if (to) {
        fputs(before, to);
        write_visible(to, text, (size_t)length);
        fputc('\n', to);
    }
    if (to && fclose(to) == 0)
        fwrite(line, 1, size, stderr);
    else
        fprintf(stderr, "%sout of memory\n", before);
    free(line);
    if (length >= 0) free(text);
}

void message(const char *format, ...) {
    va_list args;
    va_start(args, format);
    message_v("luthier: ", format, args);
    va_end(args);
}

/* ---- Lines of words ---- */

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

/* ---- The terminal, the end of standard output ---- */

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
    message("cannot write to standard output%s%s", number ? ": " : "",
            number ? strerror(number) : "");
    return EXIT_FAILED;
}

/* ---- Texts in memory ---- */

typedef struct kept_text {
    char **text;
    size_t *size, room;
    bool lost;
} kept_text;

static ssize_t keep_bytes(void *cookie, const char *bytes, size_t count) {
    kept_text *k = cookie;
    size_t size = *k->size + count, room = k->room;
    while (room <= size) room *= 2;
    char *larger = k->lost ? NULL : room == k->room ? *k->text : realloc(*k->text, room);
    k->lost = larger == NULL;
    if (k->lost) return 0;
    memcpy(larger + *k->size, bytes, count);
    larger[size] = 0;
    *k->text = larger;
    *k->size = size;
    k->room = room;
    return (ssize_t)count;
}

static int end_text(void *cookie) {
    kept_text *k = cookie;
    bool lost = k->lost;
    if (lost) {
        free(*k->text);
        *k->text = NULL;
    }
    free(k);
    return lost ? EOF : 0;
}

FILE *text_stream(char **text, size_t *size) {
    enum { FIRST_ROOM = 1 << 10 };
    kept_text *k = malloc(sizeof *k);
    char *first = calloc(1, FIRST_ROOM);
    FILE *stream =
        k && first
            ? fopencookie(k, "w", (cookie_io_functions_t){.write = keep_bytes, .close = end_text})
            : NULL;
    if (!stream) {
        free(k);
        free(first);
        return NULL;
    }
    *k = (kept_text){.text = text, .size = size, .room = FIRST_ROOM};
    *text = first;
    *size = 0;
    return stream;
}

/* ---- Files of text ---- */

/* Fewer bytes than asked for tell the stream of a failure; the output remembers which. */
static ssize_t write_output(void *cookie, const char *bytes, size_t size) {
    return lth_output_write(cookie, bytes, size, NULL) == LTH_OK ? (ssize_t)size : 0;
}

static int fail(const lth_error *err) {
    message("%s: %s", err->file, err->message);
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
    message("out of memory");
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
