/* Printing: numbers that read back as they were, texts that do nothing to a terminal, messages,
 * colours, the end of standard output. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "luthier.h"

/* The shortest text that reads back as the same double. */
const char *double_text(double value, char out[32]);

void write_tsv_double(FILE *to, double value); /* NaN, not known, is - */

/* A tab, and the number, or - where there is none, or it is infinite (the score of what was held
 * impossible). */
void print_number_cell(double value);
void print_short_cell(double value); /* the same in four digits */

/* ---- Texts that come from elsewhere: files, models, the command line ----
 * One rule for each kind of reader. People get texts in which nothing is hidden and nothing
 * happens: control characters, marks that turn the direction of writing or take no room, and bytes
 * that are no UTF-8 are written as \xNN and \u{NNNN}. Programs that read TSV get cells as they are,
 * but for control characters, tab and newline among them, for which TSV has no way: these are \xNN;
 * on a terminal, where nobody but people reads, cells are as for people. JSON has its own escapes,
 * see json.h. */

/* The character at text[0], and its bytes; 0 bytes if it is no UTF-8. */
uint32_t read_character(const char *text, size_t length, size_t *bytes);
bool is_unseen(uint32_t character);

/* For people. Returns how many characters it took. */
size_t write_visible(FILE *to, const char *text, size_t length);
void print_visible(const char *text);                     /* to standard output */
void print_text_line(const char *name, const char *text); /* a name of ours, a tab, the text */

/* At most `count` characters from the one at `first`, each as wide as the next: a blank if it is
 * not seen. */
void write_columns(FILE *to, const char *text, size_t first, size_t count);

/* A cell of TSV; `text` NULL = nothing. */
void write_cell(FILE *to, const char *text, size_t length);
void write_text_cell(FILE *to, const char *text);

/* A message to people, on standard error: "luthier: " and a line. */
void message(const char *format, ...) LTH_PRINTF(1, 2);
void message_v(const char *before, const char *format, va_list args) LTH_PRINTF(2, 0);

/* A file of text that appears under its name only when it is complete; `path` NULL or "-" is
 * standard output. Both return an exit code, after a message. */
typedef struct text_file {
    FILE *stream;       /* NULL = not open                                       */
    lth_output *output; /* where the stream's bytes go; NULL = standard output   */
} text_file;

int text_open(text_file *f, const char *path);
/* `keep` false, or anything that was lost: no file. A no-op when not open. */
int text_close(text_file *f, bool keep);

/* A stream that makes a text, to be freed with free(). fclose() fails if any of it is lost, for
 * want of memory, and then *text is NULL: that of open_memstream() ends early without a word. */
FILE *text_stream(char **text, size_t *size);

/* `text` cut into lines of at most `width` columns, each after the first indented. */
void print_wrapped(const char *text, size_t indent, size_t width);

/* Whether standard output may be coloured: a terminal, and NO_COLOR is not set. */
bool use_colour(void);

/* Flush standard output; EXIT_FAILED with a message if anything written to it was lost. */
int finish_stdout(void);

#endif
