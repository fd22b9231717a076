/* What the commands share: a context made from the common options, tables, kernels and vectors read
 * with it, messages, the progress bar, and Ctrl-C. */
#include "session.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "available.h"
#include "output.h"
#include "ranks.h"

double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- Ctrl-C ---- */

static atomic_int caught, caught_again, holding; /* any thread reads them */

/* The first signal asks the library to stop; the second does not wait for it. */
static void on_signal(int number) {
    caught_again = caught != 0;
    caught = number;
    if (caught_again && !holding) _exit(128 + number);
}

void hold_interrupts(void) {
    holding = 1;
}

void release_interrupts(void) {
    holding = 0;
    if (caught_again) _exit(128 + caught);
}

static void catch_signals(void) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i) {
        struct sigaction action = {.sa_handler = on_signal}, old;
        /* A shell starts background jobs with the signal ignored, and they keep ignoring it; what
         * `serve` does with one stays. */
        if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
            sigaction(numbers[i], &action, NULL);
    }
}

bool was_interrupted(void) {
    return caught != 0;
}

void interrupted_elsewhere(void) {
    if (!caught) caught = SIGTERM;
}

/* Told to make room, as batch systems do before a time limit, or left by the terminal: what is on
 * disk is enough. */
bool session_stops(const session *s) {
    return s->resumable && (caught == SIGTERM || caught == SIGHUP || caught == SIGUSR1);
}

/* Whether calls of the library are to end early. */
static bool cancels(const session *s) {
    if (s->gives_up && s->gives_up()) return true;
    return caught && (!s->learning || session_stops(s));
}

/* ---- The progress bar ---- */

bool session_has_terminal(void) {
    return isatty(STDERR_FILENO);
}

static void clear_bar(session *s) {
    if (s->bar.width) fprintf(stderr, "\r%*s\r", s->bar.width, "");
    s->bar.width = 0;
}

/* After a carriage return and the line's text, `printed` characters: rub out what was longer. */
static void end_line(session *s, int printed) {
    int before = s->bar.width;
    s->bar.width = printed - 1;
    if (before > s->bar.width) fprintf(stderr, "%*s", before - s->bar.width, "");
    fflush(stderr);
}

static void draw_bar(session *s, const char *what, double done, double total, double elapsed) {
    enum { CELLS = 30 };
    char cells[CELLS + 1], left[32] = "", how_far[96];
    double share = done < total ? done / total : 1;
    for (int i = 0; i < CELLS; ++i) cells[i] = i < (int)(share * CELLS) ? '#' : '.';
    cells[CELLS] = 0;
    if (share > 0.02) snprintf(left, sizeof left, " %.0f s left", elapsed / share - elapsed);
    if (s->bar.unit)
        snprintf(how_far, sizeof how_far, "%.0f of %.0f %s", done, total, s->bar.unit);
    else
        snprintf(how_far, sizeof how_far, "%3.0f%%", 100 * share);
    end_line(s, fprintf(stderr, "\r%s [%s] %s%s", what, cells, how_far, left));
}

static bool wants_bar(const session *s, double elapsed) {
    if (s->options->progress == PROGRESS_ALWAYS) return true;
    if (s->options->progress == PROGRESS_NEVER || s->options->quiet) return false;
    return elapsed > 1 && session_has_terminal();
}

static int on_progress(void *user, const char *what, double done, double total) {
    session *s = user;
    double now = seconds_now();
    if (!*what || s->options->progress == PROGRESS_NEVER)
        return cancels(s); /* there is nothing to show, and nothing is touched */
    if (s->bar.begun == 0 || done < s->bar.done) s->bar.begun = now;
    s->bar.done = done;
    if (total > 0 && now - s->bar.drawn > 1.0 / 6 && wants_bar(s, now - s->bar.begun)) {
        s->bar.drawn = now;
        draw_bar(s, what, done, total, now - s->bar.begun);
    }
    return cancels(s);
}

void session_status(session *s, const char *format, ...) {
    double now = seconds_now();
    if (now - s->bar.drawn < 1.0 / 6 || !wants_bar(s, INFINITY)) return;
    s->bar.drawn = now;
    va_list args;
    va_start(args, format);
    fputc('\r', stderr);
    end_line(s, vfprintf(stderr, format, args) + 1);
    va_end(args);
}

/* ---- Messages ---- */

static void on_log(void *user, lth_log_level level, const char *text) {
    session *s = user;
    if (level == LTH_LOG_WARNING)
        session_warn(s, "%s", text);
    else
        session_note(s, "%s", text);
}

static void print_message(session *s, const char *before, const char *format, va_list args) {
    clear_bar(s);
    message_v(before, format, args);
}

void session_note(session *s, const char *format, ...) {
    if (!s->options->verbose) return;
    va_list args;
    va_start(args, format);
    print_message(s, "luthier: ", format, args);
    va_end(args);
}

void session_warn(session *s, const char *format, ...) {
    if (s->options->quiet) return;
    va_list args;
    va_start(args, format);
    print_message(s, "luthier: warning: ", format, args);
    va_end(args);
}

void session_say(session *s, const char *format, ...) {
    if (s->options->quiet) return;
    va_list args;
    va_start(args, format);
    print_message(s, "luthier: ", format, args);
    va_end(args);
}

int out_of_memory(void) {
    message("out of memory");
    return EXIT_FAILED;
}

int session_check_interrupt(session *s) {
    if (!caught) return EXIT_DONE;
    clear_bar(s);
    if (session_stops(s)) {
        message("stopped; the same command goes on from here");
        return EXIT_AGAIN;
    }
    message("interrupted");
    return 128 + caught;
}

static int exit_code(lth_status status) {
    switch (status) {
    case LTH_OK: return EXIT_DONE;
    case LTH_EARG: return EXIT_USAGE;
    case LTH_EFORMAT: return EXIT_INPUT;
    default: return EXIT_FAILED;
    }
}

static int print_error(session *s, const lth_error *err) {
    s->failed = *err;
    clear_bar(s);
    char line[32] = "", column[32] = "";
    if (err->line) snprintf(line, sizeof line, err->file[0] ? ":%zu" : "line %zu", err->line);
    if (err->column) snprintf(column, sizeof column, ":%zu", err->column);
    message("%s%s%s%s%s", err->file, line, column, err->file[0] || *line || *column ? ": " : "",
            err->message[0] ? err->message : lth_status_text(err->status));
    return exit_code(err->status);
}

int session_fail(session *s, const lth_error *err) {
    if (err->status == LTH_ECANCELED) interrupted_elsewhere(); /* unless it was here */
    int interrupted = session_check_interrupt(s); /* whatever failed, failed because of it */
    return interrupted ? interrupted : print_error(s, err);
}

static void name_file(lth_error *err, const char *path) {
    if (!err->file[0]) snprintf(err->file, sizeof err->file, "%s", path);
}

int session_fail_input(session *s, const lth_error *err, const char *path) {
    lth_error named = *err;
    name_file(&named, strcmp(path, "-") == 0 ? "stdin" : path);
    int code = session_fail(s, &named);
    return err->status == LTH_EIO && code == EXIT_FAILED ? EXIT_INPUT : code;
}

int session_fail_output(session *s, const lth_error *err, const char *path) {
    lth_error named = *err;
    name_file(&named, strcmp(path, "-") == 0 ? "standard output" : path);
    return print_error(s, &named);
}

/* ---- The context ---- */

int session_open(session *s, const options *o) {
    *s = (session){.options = o};
    catch_signals();
    lth_ctx_options ctx;
    lth_ctx_options_init(&ctx);
    ctx.threads = (unsigned)o->threads;
    ctx.isa = o->isa;
    ctx.device = o->device;
    if (o->command && shares_work(o->command)) ctx.cluster = o->cluster ? o->cluster : "auto";
    if (o->precision >= 0) ctx.precision = (lth_precision)o->precision;
    if (o->dropping >= 0) ctx.dropping = (lth_dropping)o->dropping;
    ctx.seed = o->seed;
    ctx.log = on_log;
    ctx.progress = on_progress;
    ctx.user = s;
    lth_error err = {0};
    if (lth_ctx_create(&ctx, &s->ctx, &err) != LTH_OK) return session_fail(s, &err);
    ranks_announce(s);
    return EXIT_DONE;
}

void session_close(session *s) {
    clear_bar(s);
    lth_ctx_free(s->ctx);
    s->ctx = NULL;
}

/* ---- Input ---- */

static bool contains(const list *l, const char *name) {
    for (size_t i = 0; i < l->count; ++i)
        if (strcmp(l->at[i], name) == 0) return true;
    return false;
}

int split_names(const options *o, const char *flag, const list *from, list *out) {
    size_t size = 1;
    for (size_t i = 0; i < from->count; ++i) size += strlen(from->at[i]) + 1;
    *out = (list){.at = malloc(size * (sizeof *out->at + 1))}; /* a name takes a byte at least */
    if (!out->at) return out_of_memory();
    char *next = (char *)(out->at + size);
    for (size_t i = 0; i < from->count; ++i) {
        char *rest = strcpy(next, from->at[i]), *name;
        next += strlen(next) + 1;
        while ((name = strsep(&rest, ",")) != NULL) {
            if (!*name)
                return usage_error(o->command, "--%s has an empty name in \"%s\"", flag,
                                   from->at[i]);
            if (contains(out, name))
                return usage_error(o->command, "--%s names %s twice", flag, name);
            out->at[out->count++] = name;
        }
    }
    return EXIT_DONE;
}

/* The expression, or what is near, and a mark under the character at which it is wrong. */
static void point_at(const char *expression, size_t column) {
    enum { BEFORE = 60, WIDTH = 100 };
    size_t first = column > BEFORE ? column - BEFORE : 0;
    fputs("  ", stderr);
    write_columns(stderr, expression, first, WIDTH);
    fprintf(stderr, "\n  %*s^\n", (int)(column - 1 - first), "");
}

int session_fail_expression(session *s, const lth_error *why, const char *flag, const char *text) {
    lth_error err = *why;
    size_t column = err.column;
    snprintf(err.file, sizeof err.file, column ? "--%s: column %zu" : "--%s", flag, column);
    err.line = err.column = 0;
    int code = session_fail(s, &err);
    if (column) point_at(text, column);
    return code;
}

int parse_offset(const options *o, int *out) {
    char *end;
    *out = 0;
    if (!o->offset) return EXIT_DONE;
    long value = strtol(o->offset, &end, 10);
    if (end == o->offset || *end || value < -999999 || value > 999999)
        return usage_error(o->command, "--offset wants a whole number, not \"%s\"", o->offset);
    *out = (int)value;
    return EXIT_DONE;
}

bool fills_kernel(const options *o) {
    return o->wild_type || o->offset || o->fold_case || o->array.count > 0;
}

int session_parse_kernel(session *s, const char *expression, lth_kernel **out) {
    const options *o = s->options;
    lth_error err = {0};
    lth_kernel_settings settings;
    lth_kernel_settings_init(&settings);
    settings.wild_type = o->wild_type;
    settings.fold_case = o->fold_case;
    settings.arrays = o->array.at;
    settings.array_count = o->array.count;
    int code = parse_offset(o, &settings.offset);
    if (code) return code;
    const lth_kernel_settings *given = fills_kernel(o) ? &settings : NULL;
    if (lth_kernel_parse_with(s->ctx, expression, given, out, &err) == LTH_OK) return EXIT_DONE;
    if (o->array.count > 0 && *err.file) return session_fail_input(s, &err, err.file);
    return session_fail_expression(s, &err, "kernel", expression);
}

int session_parse_plain_kernel(session *s, const char *expression, lth_kernel **out) {
    int code = session_parse_kernel(s, expression, out);
    if (code || !lth_kernel_has_noise(*out)) return code;
    lth_error err = {.status = LTH_EARG};
    snprintf(err.message, sizeof err.message,
             "a kernel of the noise, after \"|\", is for Gaussian processes: leave it out here");
    return session_fail_expression(s, &err, "kernel", expression);
}

int session_parse_more(session *s, const char *expression, const char *mean, const char *noise,
                       lth_kernel **kernel) {
    lth_error err = {0};
    lth_kernel *whole = NULL, *with_mean = NULL;
    if (lth_gp_kernel_parse(s->ctx, expression, mean, &with_mean, &err) != LTH_OK)
        return session_fail_expression(s, &err, "mean", mean);
    lth_kernel_free(with_mean);
    if (lth_gp_kernel_with_noise(s->ctx, expression, mean, noise, &whole, &err) != LTH_OK)
        return session_fail_expression(s, &err, "noise-kernel", noise);
    lth_kernel_free(*kernel);
    *kernel = whole;
    return EXIT_DONE;
}

int session_resolve_kernel(session *s, const char *path, const lth_table *table,
                           lth_kernel **kernel) {
    lth_error err = {0};
    if (lth_kernel_resolve(kernel, table, &err) == LTH_OK) return EXIT_DONE;
    return session_fail_input(s, &err, path);
}

static size_t count_columns(const lth_kernel *kernel) {
    size_t count = 0;
    while (lth_kernel_column(kernel, count)) ++count;
    return count;
}

list tables_from(const options *o, size_t first) {
    return (list){o->arguments + first, o->argument_count - first};
}

bool names_stdin(const list *paths) {
    return contains(paths, "-");
}

lth_table_options session_table_options(const session *s) {
    lth_table_options wanted;
    lth_table_options_init(&wanted);
    if (s->options->format >= 0) wanted.format = (lth_table_format)(s->options->format + 1);
    wanted.max_row = s->options->max_row;
    return wanted;
}

static lth_table_options table_options(const session *s, const list *paths) {
    lth_table_options wanted = session_table_options(s);
    wanted.where = s->options->where.at;
    wanted.where_count = s->options->where.count;
    wanted.optional = s->optional;
    wanted.more = paths->at + 1;
    wanted.more_count = paths->count - 1;
    if (s->options->label_by >= 0) wanted.file_column = FILE_COLUMN;
    wanted.arrays = s->options->array.at;
    wanted.array_count = s->options->array.count;
    return wanted;
}

/* What the kernel reads, and `more`; freed with free(). */
static const char **name_columns(const lth_kernel *kernel, const list *more, size_t *count) {
    size_t own = count_columns(kernel);
    *count = own + (more ? more->count : 0);
    const char **columns = malloc((*count + 1) * sizeof *columns);
    for (size_t i = 0; columns && i < *count; ++i)
        columns[i] = i < own ? lth_kernel_column(kernel, i) : more->at[i - own];
    return columns;
}

static int fail_no_rows(session *s, const char *path) {
    lth_error err = {.status = LTH_EFORMAT};
    snprintf(err.message, sizeof err.message, "%s",
             s->options->where.count ? "no row matches --where" : "the table has no rows");
    return session_fail_input(s, &err, path);
}

int session_read_table(session *s, const char *path, const lth_kernel *kernel, const list *more,
                       lth_table **out) {
    return session_read_tables(s, &(list){&path, 1}, kernel, more, out);
}

int session_read_tables(session *s, const list *paths, const lth_kernel *kernel, const list *more,
                        lth_table **out) {
    const char *path = paths->at[0];
    lth_table_options wanted = table_options(s, paths);
    const char **columns = name_columns(kernel, more, &wanted.column_count);
    if (!columns) return out_of_memory();
    wanted.columns = columns;
    lth_error err = {0};
    lth_table *table = NULL;
    lth_status status = lth_table_read(s->ctx, path, &wanted, &table, &err);
    free(columns);
    if (status != LTH_OK) return session_fail_input(s, &err, path);
    int code = lth_table_rows(table) == 0 ? fail_no_rows(s, path) : session_check_interrupt(s);
    if (code)
        lth_table_free(table);
    else
        *out = table;
    return code;
}

int session_open_rows(session *s, const list *paths, const lth_kernel *kernel, const list *more,
                      row_source *r) {
    const char *path = paths->at[0];
    lth_table_options wanted = table_options(s, paths);
    *r = (row_source){.path = path, .columns = name_columns(kernel, more, &wanted.column_count)};
    if (!r->columns) return out_of_memory();
    wanted.columns = r->columns;
    lth_error err = {0};
    if (lth_table_stream_open(s->ctx, path, &wanted, &r->stream, &err) == LTH_OK) return EXIT_DONE;
    return session_fail_input(s, &err, path);
}

int session_next_rows(session *s, row_source *r, size_t most, lth_table **out) {
    lth_error err = {0};
    lth_table *table = NULL;
    if (lth_table_stream_next(r->stream, most, &table, &err) != LTH_OK)
        return session_fail_input(s, &err, r->path);
    int code = !table && r->rows == 0 ? fail_no_rows(s, r->path) : session_check_interrupt(s);
    if (code) {
        lth_table_free(table);
        return code;
    }
    if (table) r->rows += lth_table_rows(table);
    *out = table;
    return EXIT_DONE;
}

void close_rows(row_source *r) {
    lth_table_stream_close(r->stream);
    free(r->columns);
    *r = (row_source){0};
}

int session_check_vectors(session *s, const lth_kernel *kernel) {
    const options *o = s->options;
    bool needed = lth_kernel_needs_vectors(kernel);
    if (needed && !o->vectors)
        return usage_error(o->command, "this kernel compares words by their vectors; give them "
                                       "with --vectors FILE");
    if (!needed && o->vectors)
        session_warn(s, "this kernel does not use word vectors; --vectors is ignored");
    if (!needed && o->keep_vectors > 0)
        session_warn(s, "this kernel does not use word vectors; --keep-vectors is ignored");
    return EXIT_DONE;
}

int session_read_vectors(session *s, const lth_kernel *kernel, lth_encoder *encoder) {
    const char *path = s->options->vectors;
    if (!path || !lth_kernel_needs_vectors(kernel)) return EXIT_DONE;
    lth_error err = {0};
    if (lth_encoder_read_vectors(encoder, path, &err) != LTH_OK)
        return session_fail_input(s, &err, path);
    return session_check_interrupt(s);
}

/* ---- Memory and output ---- */

int session_allocate(session *s, const char *what, size_t planes, size_t rows, size_t columns,
                     double **out) {
    lth_error err = {0};
    lth_status status = allocate_doubles(what, planes, rows, columns, out, &err);
    return status == LTH_OK ? EXIT_DONE : session_fail(s, &err);
}

int session_check_binary_output(session *s, const char *path) {
    if (strcmp(path, "-") == 0 && isatty(STDOUT_FILENO))
        return usage_error(s->options->command, "will not write binary data to the terminal");
    return check_output(path);
}

bool is_store(const char *path) {
    size_t length = path ? strlen(path) : 0;
    while (length > 1 && path[length - 1] == '/') --length;
    return length > 5 && memcmp(path + length - 5, ".zarr", 5) == 0;
}

int check_output(const char *path) {
    if (strcmp(path, "-") == 0) return EXIT_DONE;
    char folder[4096] = ".";
    const char *slash = strrchr(path, '/');
    if (slash) snprintf(folder, sizeof folder, "%.*s", (int)(slash - path) + 1, path);
    struct stat found;
    bool exists = stat(path, &found) == 0, is_folder = exists && S_ISDIR(found.st_mode);
    bool in_place = exists && !S_ISREG(found.st_mode); /* devices and pipes are not renamed over */
    if (!is_folder && access(in_place ? path : folder, W_OK) == 0) return EXIT_DONE;
    if (is_folder) errno = EISDIR;
    message("%s: cannot write: %s", path, strerror(errno));
    return EXIT_FAILED;
}

int session_write_npy(session *s, const char *path, const double *data, const size_t *shape,
                      size_t rank) {
    lth_error err = {0};
    if (lth_npy_write(path, data, shape, rank, &err) == LTH_OK) return EXIT_DONE;
    return session_fail_output(s, &err, path);
}

char *kernel_text(const lth_kernel *kernel) {
    size_t length = lth_kernel_print(kernel, NULL, 0);
    char *text = length > 0 ? malloc(length + 1) : NULL;
    if (!text || lth_kernel_print(kernel, text, length + 1) == length) return text;
    free(text);
    return NULL;
}
