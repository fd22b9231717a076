/* Printing: numbers that read back as they were, colours, the end of standard output. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "luthier.h"

/* The shortest text that reads back as the same double. */
const char *double_text(double value, char out[32]);

void write_tsv_double(FILE *to, double value); /* NaN, not known, is - */

/* A tab, and the number, or - where there is none, or it is infinite (the score of what was held
 * impossible). */
void print_number_cell(double value);
void print_short_cell(double value); /* the same in four digits */

/* A file of text that appears under its name only when it is complete; `path` NULL or "-" is
 * standard output. Both return an exit code, after a message. */
typedef struct text_file {
    FILE *stream;       /* NULL = not open                                       */
    lth_output *output; /* where the stream's bytes go; NULL = standard output   */
} text_file;

int text_open(text_file *f, const char *path);
/* `keep` false, or anything that was lost: no file. A no-op when not open. */
int text_close(text_file *f, bool keep);

/* `text` cut into lines of at most `width` columns, each after the first indented. */
void print_wrapped(const char *text, size_t indent, size_t width);

/* Whether standard output may be coloured: a terminal, and NO_COLOR is not set. */
bool use_colour(void);

/* Flush standard output; EXIT_FAILED with a message if anything written to it was lost. */
int finish_stdout(void);

#endif
