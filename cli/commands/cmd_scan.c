/* luthier scan: what a model expects of windows along sequences. A record is read, its windows are
 * predicted in blocks and written, so that memory holds one record and one block. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"
#include "report/mutations.h"

/* A multiple of 512, as the slices of predict: the same bits wherever a block begins. */
enum { BLOCK = 4096 };

typedef struct window {
    size_t record, start; /* of the block's records; letters before it */
} window;

typedef struct job {
    session session;
    const options *options;
    lth_model *model;
    const char *column; /* that the kernel reads */
    size_t length, step;
    bool allowed[256]; /* letters that a window may have */
    int (*fold)(int);  /* to the one case that these have; NULL = they have both */
    lth_table_stream *stream;
    char **ids; /* of the block's records */
    size_t records;
    char *letters; /* of its windows, each with a NUL */
    window *windows;
    size_t used;
    size_t scored, skipped, shorter;
    size_t value; /* column of the prediction that is drawn */
    text_file out;
} job;

/* ---- What the model knows of its training rows ---- */

static int by_size(const void *a, const void *b) {
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

/* Their median length without blanks, and which letters they have; 0 = the model keeps no texts. */
static int look_at_rows(job *j, size_t *median) {
    size_t most = lth_model_rows(j->model), count = 0;
    size_t *length = calloc(most + 1, sizeof *length);
    if (!length) return out_of_memory();
    errno = 0;
    for (const char *text; count < most && (text = lth_model_row_text(j->model, count, 0)) != NULL;
         ++count)
        for (; *text; ++text) {
            if (isspace((unsigned char)*text)) continue;
            j->allowed[(unsigned char)*text] = true;
            ++length[count];
        }
    bool lost = count < most && errno == ENOMEM;
    qsort(length, count, sizeof *length, by_size);
    *median = count > 0 ? length[count / 2] : 0;
    free(length);
    return lost ? out_of_memory() : EXIT_DONE;
}

static void choose_letters(job *j, bool known) {
    const char *given = j->options->letters;
    if (given) memset(j->allowed, 0, sizeof j->allowed);
    for (const char *c = given; c && *c; ++c) j->allowed[(unsigned char)*c] = true;
    for (int c = 33; c < 127 && !given && !known; ++c) j->allowed[c] = true;
    bool upper = false, lower = false;
    for (int c = 0; c < 128; ++c) {
        upper |= j->allowed[c] && isupper(c);
        lower |= j->allowed[c] && islower(c);
    }
    j->fold = upper && lower ? NULL : upper ? toupper : tolower;
}

static int choose_windows(job *j) {
    const options *o = j->options;
    size_t median = 0;
    int code = look_at_rows(j, &median);
    if (code) return code;
    choose_letters(j, median > 0);
    j->length = o->window != NOT_GIVEN ? (size_t)o->window : median;
    if (j->length == 0)
        return usage_error(o->command, o->window == 0
                                           ? "--window wants 1 letter at least"
                                           : "the model does not keep its training sequences; "
                                             "--window says how long a window is");
    if (o->step == 0) return usage_error(o->command, "--step wants 1 letter at least");
    j->step = o->step != NOT_GIVEN ? (size_t)o->step : (j->length + 9) / 10;
    return EXIT_DONE;
}

static int check_model(job *j) {
    const lth_kernel *kernel = lth_model_kernel(j->model);
    const char *other = mutations_obstacle(j->model);
    j->column = lth_kernel_column(kernel, 0);
    if (other)
        return usage_error(j->options->command,
                           "scan is for models of one column of sequences; this one reads %s",
                           other);
    if (lth_kernel_wild_type(kernel))
        return usage_error(j->options->command,
                           "scan is for models of sequences; this one reads mutations");
    return EXIT_DONE;
}

/* ---- Writing ---- */

/* The column to draw: as it was named, else a score, the last of two classes, or the mean. */
static int choose_value(job *j, const prediction *p) {
    const char *name = j->options->value;
    size_t count = p->column_count;
    for (j->value = 0; name && j->value < count; ++j->value)
        if (strcmp(p->columns[j->value].name, name) == 0) return EXIT_DONE;
    if (name)
        return usage_error(j->options->command, "the model predicts no \"%s\", but \"%s\"%s", name,
                           p->columns[0].name, count > 1 ? " and others" : "");
    bool one_score = p->scores == 1 && p->classes != 1;
    if (p->classes > 0 && !one_score && p->classes != 2)
        return usage_error(j->options->command,
                           "which of the classes? --value says so, such as --value '%s'",
                           p->columns[0].name);
    j->value = p->classes > 0 ? count - 1 : 0;
    return EXIT_DONE;
}

static int open_output(job *j, const prediction *p) {
    const options *o = j->options;
    int code = o->bedgraph ? choose_value(j, p) : EXIT_DONE;
    if (code) return code;
    hold_interrupts();
    code = text_open(&j->out, o->output);
    if (!j->out.output) release_interrupts();
    if (code || o->json) return code;
    if (o->bedgraph) {
        fputs("track type=bedGraph name=\"", j->out.stream);
        write_text_cell(j->out.stream, o->track ? o->track : p->columns[j->value].name);
        fputs("\"\n", j->out.stream);
        return code;
    }
    fputs("id\tstart\tend", j->out.stream);
    write_prediction_names(j->out.stream, p);
    putc('\n', j->out.stream);
    return code;
}

/* Intervals of a bedGraph do not overlap: a window stands for the step in its middle. */
static void draw_window(job *j, const prediction *p, size_t i) {
    const prediction_column *c = &p->columns[j->value];
    size_t width = j->step < j->length ? j->step : j->length;
    size_t start = j->windows[i].start + (j->length - width) / 2;
    write_text_cell(j->out.stream, j->ids[j->windows[i].record]);
    fprintf(j->out.stream, "\t%zu\t%zu\t", start, start + width);
    write_tsv_double(j->out.stream, c->at(p, c->of, i));
    putc('\n', j->out.stream);
}

static void write_window(job *j, const prediction *p, size_t i) {
    const char *id = j->ids[j->windows[i].record];
    size_t start = j->windows[i].start, end = start + j->length;
    if (j->options->bedgraph) {
        draw_window(j, p, i);
    } else if (j->options->json) {
        json_writer w = {.to = j->out.stream};
        json_begin_result(&w, NULL);
        json_put_text(&w, "id", id);
        json_put_count(&w, "start", start);
        json_put_count(&w, "end", end);
        json_put_values(&w, p, i);
        json_end(&w);
    } else {
        write_text_cell(j->out.stream, id);
        fprintf(j->out.stream, "\t%zu\t%zu", start, end);
        write_prediction(j->out.stream, p, i);
        putc('\n', j->out.stream);
    }
}

/* ---- Blocks ---- */

static int make_table(job *j, lth_table **out) {
    const char **text = calloc(j->used, sizeof *text);
    lth_error err = {0};
    if (!text) return out_of_memory();
    for (size_t i = 0; i < j->used; ++i) text[i] = j->letters + i * (j->length + 1);
    lth_status status =
        lth_table_from_texts(j->session.ctx, j->column, text, NULL, j->used, out, &err);
    free(text);
    return status == LTH_OK ? EXIT_DONE : session_fail(&j->session, &err);
}

/* Only the record in hand goes on into the next block. */
static void forget_block(job *j) {
    size_t last = j->records - 1;
    for (size_t r = 0; r < last; ++r) free(j->ids[r]);
    j->ids[0] = j->ids[last];
    j->records = 1;
    j->used = 0;
}

static int predict_block(job *j) {
    lth_table *table = NULL;
    prediction p = {0};
    lth_error err = {0};
    if (j->used == 0) return EXIT_DONE;
    int code = make_table(j, &table);
    if (!code && prediction_make(j->model, table, j->options->latent, &p, &err) != LTH_OK)
        code = session_fail_input(&j->session, &err, j->options->arguments[1]);
    if (!code) code = session_check_interrupt(&j->session);
    if (!code && !j->out.stream) code = open_output(j, &p);
    for (size_t i = 0; i < j->used && !code; ++i) write_window(j, &p, i);
    if (!code) j->scored += j->used;
    prediction_free(&p);
    lth_table_free(table);
    if (!code) forget_block(j);
    return code;
}

static int take_window(job *j, const char *text, size_t start) {
    char *to = j->letters + j->used * (j->length + 1);
    memcpy(to, text + start, j->length);
    to[j->length] = 0;
    for (char *c = to; *c && j->fold; ++c) *c = (char)j->fold((unsigned char)*c);
    j->windows[j->used++] = (window){j->records - 1, start};
    return j->used < BLOCK ? EXIT_DONE : predict_block(j);
}

/* ---- Records ---- */

static bool is_allowed(const job *j, char c) {
    return j->allowed[(unsigned char)(j->fold ? j->fold((unsigned char)c) : c)];
}

static int take_sequence(job *j, const char *text, size_t length) {
    size_t clear = 0, seen = 0; /* letters since the last strange one, of those seen */
    int code = EXIT_DONE;
    if (length < j->length) ++j->shorter;
    for (size_t start = 0; start + j->length <= length && !code; start += j->step) {
        if (seen < start) seen = start, clear = 0; /* a step over letters that no window has */
        for (; seen < start + j->length; ++seen) clear = is_allowed(j, text[seen]) ? clear + 1 : 0;
        if (clear >= j->length)
            code = take_window(j, text, start);
        else
            ++j->skipped;
    }
    return code;
}

static int name_record(job *j, const lth_table *table) {
    size_t length = 0, at = lth_table_find(table, "id");
    const char *id = at == LTH_NONE ? NULL : lth_table_cell(table, 0, at, &length);
    char number[32];
    if (length == 0) {
        length = (size_t)snprintf(number, sizeof number, "%zu", lth_table_number(table, 0));
        id = number;
    }
    char **ids = realloc(j->ids, (j->records + 1) * sizeof *ids);
    if (!ids) return out_of_memory();
    j->ids = ids;
    char *name = calloc(length + 1, 1);
    if (!name) return out_of_memory();
    ids[j->records++] = memcpy(name, id, length);
    return EXIT_DONE;
}

/* --column, or that of FASTA files, or the model's. */
static int find_column(job *j, const lth_table *table, size_t *out) {
    const char *name = j->options->column ? j->options->column : "sequence";
    *out = lth_table_find(table, name);
    if (*out == LTH_NONE && !j->options->column) *out = lth_table_find(table, j->column);
    if (*out != LTH_NONE) return EXIT_DONE;
    lth_error err = {.status = LTH_EFORMAT};
    snprintf(err.message, sizeof err.message,
             "there is no column \"%.100s\"; --column names that "
             "of the sequences",
             name);
    return session_fail_input(&j->session, &err, j->options->arguments[1]);
}

/* A record without windows in the block needs no name. */
static int take_row(job *j, const lth_table *table) {
    size_t at = 0, length = 0;
    int code = find_column(j, table, &at);
    if (!code) code = name_record(j, table);
    if (code) return code;
    const char *text = lth_table_cell(table, 0, at, &length);
    code = take_sequence(j, text, length);
    if (j->used == 0 || j->windows[j->used - 1].record + 1 < j->records) free(j->ids[--j->records]);
    return code;
}

static int take_record(job *j, bool *more) {
    lth_table *table = NULL;
    lth_error err = {0};
    if (lth_table_stream_next(j->stream, 1, &table, &err) != LTH_OK)
        return session_fail_input(&j->session, &err, j->options->arguments[1]);
    int code = session_check_interrupt(&j->session);
    *more = table != NULL;
    if (table && !code) code = take_row(j, table);
    lth_table_free(table);
    return code;
}

static int fail_empty(job *j) {
    lth_error err = {.status = LTH_EFORMAT};
    snprintf(err.message, sizeof err.message,
             "no window of %zu letters: %zu sequences are shorter, "
             "%zu windows have letters that training had not (--letters)",
             j->length, j->shorter, j->skipped);
    return session_fail_input(&j->session, &err, j->options->arguments[1]);
}

static void say_skipped(job *j) {
    if (j->skipped > 0)
        session_warn(&j->session,
                     "%zu of %zu windows have letters that training had not, and are "
                     "left out",
                     j->skipped, j->skipped + j->scored);
    if (j->shorter > 0)
        session_warn(&j->session,
                     "%zu sequences are shorter than a window of %zu letters, and are "
                     "left out",
                     j->shorter, j->length);
    session_note(&j->session, "%zu windows of %zu letters", j->scored, j->length);
}

static int scan_all(job *j) {
    int code = EXIT_DONE;
    for (bool more = true; more && !code;) code = take_record(j, &more);
    if (!code) code = predict_block(j);
    if (!code && j->scored == 0) code = fail_empty(j);
    int closed = text_close(&j->out, !code);
    release_interrupts();
    if (!code && !closed) say_skipped(j);
    return code ? code : closed;
}

static int open_input(job *j) {
    const options *o = j->options;
    lth_table_options wanted = session_table_options(&j->session);
    lth_error err = {0};
    if (lth_table_stream_open(j->session.ctx, o->arguments[1], &wanted, &j->stream, &err) != LTH_OK)
        return session_fail_input(&j->session, &err, o->arguments[1]);
    j->letters = malloc(BLOCK * (j->length + 1));
    j->windows = calloc(BLOCK, sizeof *j->windows);
    return j->letters && j->windows ? EXIT_DONE : out_of_memory();
}

static int check_usage(const options *o) {
    if (strcmp(o->arguments[0], "-") == 0 && strcmp(o->arguments[1], "-") == 0)
        return usage_error(o->command, "only one of M and SEQUENCES can be standard input");
    if (o->bedgraph && o->json) return usage_error(o->command, "--bedgraph is no JSON");
    if ((o->track || o->value) && !o->bedgraph)
        return usage_error(o->command, "--%s goes with --bedgraph", o->track ? "track" : "value");
    if (o->track && strpbrk(o->track, "\"\n"))
        return usage_error(o->command, "--track wants a name without quotes");
    return o->output ? check_output(o->output) : EXIT_DONE;
}

int run_scan(const options *o) {
    job j = {.options = o};
    int code = check_usage(o);
    if (!code) code = session_open(&j.session, o);
    if (!code) code = session_load_model(&j.session, o->arguments[0], &j.model);
    if (!code) code = check_model(&j);
    if (!code) code = choose_windows(&j);
    if (!code) code = open_input(&j);
    if (!code) code = scan_all(&j);
    for (size_t r = 0; r < j.records; ++r) free(j.ids[r]);
    free(j.ids);
    free(j.letters);
    free(j.windows);
    lth_table_stream_close(j.stream);
    free_model(j.model);
    session_close(&j.session);
    return code;
}
