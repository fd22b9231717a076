/* What the commands share: a context made from the common options, tables, kernels and vectors read
 * with it, messages, the progress bar, and Ctrl-C.
 *
 * Functions that return int return an exit code: EXIT_DONE, or another one after the reason was
 * printed. */
#ifndef CLI_SESSION_H
#define CLI_SESSION_H

#include "options.h"

typedef struct session {
    const options *options;
    lth_ctx *ctx;
    lth_error failed; /* what session_fail() told last */
    struct {
        double begun, drawn; /* seconds; when this piece of work began, when the bar was drawn */
        double done;
        int width;        /* characters now on the line */
        const char *unit; /* of what is done: how many of them are told; NULL = percent */
    } bar;
    const char *optional; /* a column to read where a table has it, or NULL */
    bool resumable;       /* the same command goes on where a signal stopped this one */
    bool learning; /* has something to lose: Ctrl-C does not cancel calls of the library, and the
                      line is session_status()'s instead of the bar's */
    bool (*gives_up)(void); /* nobody needs the result any more; NULL = that is never so */
} session;

enum { PROGRESS_AUTO = 0, PROGRESS_ALWAYS = 1, PROGRESS_NEVER = 2 }; /* --progress */

int session_open(session *s, const options *o);
void session_close(session *s);

/* EXIT_DONE, or 130 after Ctrl-C; see EXIT_AGAIN for other signals. */
int session_check_interrupt(session *s);
bool was_interrupted(void);
/* Another rank was told to stop: as if this one had been. */
void interrupted_elsewhere(void);
/* Whether that was SIGTERM or SIGUSR1, and the same command goes on later. */
bool session_stops(const session *s);
/* Between hold and release the second Ctrl-C waits, so that no temporary file is left. */
void hold_interrupts(void);
void release_interrupts(void);

/* Print an error; the exit code that goes with its status. */
int session_fail(session *s, const lth_error *err);
/* The same when an input was being read: a file that cannot be read is bad input. */
int session_fail_input(session *s, const lth_error *err, const char *path);

/* The same of a text that was given to an option, with a mark under what is wrong in it. */
int session_fail_expression(session *s, const lth_error *err, const char *flag, const char *text);

int session_fail_output(session *s, const lth_error *err, const char *path);

void session_note(session *s, const char *format, ...) LTH_PRINTF(2, 3); /* only with -v */
void session_warn(session *s, const char *format, ...) LTH_PRINTF(2, 3); /* not with -q */

void session_say(session *s, const char *format, ...) LTH_PRINTF(2, 3); /* not with -q */
/* A line that the next one replaces, in the place of the bar; at most a few times a second. */
void session_status(session *s, const char *format, ...) LTH_PRINTF(2, 3);
bool session_has_terminal(void); /* whether messages go to one */
int out_of_memory(void);         /* says so; returns EXIT_FAILED */

/* "a,b" and "c" become "a", "b", "c"; free(out->at) in any case. */
int split_names(const options *o, const char *flag, const list *from, list *out);

/* With what --wild-type, --offset and --ignore-case say. */
int session_parse_kernel(session *s, const char *expression, lth_kernel **out);
/* Whether options make the kernel another one than its expression says. */
bool fills_kernel(const options *o);
/* The same for commands that know no noise, and refuse a kernel of it. */
int session_parse_plain_kernel(session *s, const char *expression, lth_kernel **out);
/* That kernel with what --mean and --noise-kernel add to it, in the place of *kernel; both may be
 * NULL. */
int session_parse_more(session *s, const char *expression, const char *mean, const char *noise,
                       lth_kernel **kernel);

/* The parameters of the kernel that depend on the data, by the table read from `path`. */
int session_resolve_kernel(session *s, const char *path, const lth_table *table,
                           lth_kernel **kernel);

/* Those of the command's arguments that are tables, from the first-th on. */
list tables_from(const options *o, size_t first);
bool names_stdin(const list *paths);
/* The column of --label-by. */
#define FILE_COLUMN "file"

/* What the command line says of all tables: their format, how long a row may be. */
lth_table_options session_table_options(const session *s);
/* The columns that the kernel reads, and `more` (NULL = none), of one table or of several, whose
 * rows come one after the other; no rows at all are an error. */
int session_read_table(session *s, const char *path, const lth_kernel *kernel, const list *more,
                       lth_table **out);
int session_read_tables(session *s, const list *paths, const lth_kernel *kernel, const list *more,
                        lth_table **out);

/* The same tables, a slice of their rows at a time: of any number of rows in the memory of a few.
 */
typedef struct row_source {
    lth_table_stream *stream;
    const char *path; /* of the first */
    const char **columns;
    size_t rows; /* that were read */
} row_source;

/* Both: close it also when this fails. *out NULL after the last row. */
int session_open_rows(session *s, const list *paths, const lth_kernel *kernel, const list *more,
                      row_source *r);
int session_next_rows(session *s, row_source *r, size_t most, lth_table **out);
void close_rows(row_source *r);

/* Whether --vectors is there if the kernel needs them. */
int session_check_vectors(session *s, const lth_kernel *kernel);

/* The vectors of --vectors, if the kernel needs them; after everything was encoded. */
int session_read_vectors(session *s, const lth_kernel *kernel, lth_encoder *encoder);

/* As allocate_doubles(). */
int session_allocate(session *s, const char *what, size_t planes, size_t rows, size_t columns,
                     double **out);

/* Whether that is a Gram matrix in tiles, a folder K.zarr, also with a slash behind it. */
bool is_store(const char *path);
/* Whether a file can be written there, asked before long work. */
int check_output(const char *path);
/* The same for a file that is not text, which is kept from the terminal. */
int session_check_binary_output(session *s, const char *path);
int session_write_npy(session *s, const char *path, const double *data, const size_t *shape,
                      size_t rank);

/* --offset N; 0 when it is not given. */
int parse_offset(const options *o, int *out);

/* The kernel's canonical text, freed with free(); NULL = out of memory. */
char *kernel_text(const lth_kernel *kernel);

double seconds_now(void);

#endif
