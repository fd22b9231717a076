/* Printing: numbers that read back as they were, JSON, colours, the end of standard output. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

/* The shortest text that reads back as the same double. */
const char *double_text(double value, char out[32]);

void print_json_string(const char *text);
void print_json_double(double value); /* null where JSON has no number for it */

/* `text` cut into lines of at most `width` columns, each after the first indented. */
void print_wrapped(const char *text, size_t indent, size_t width);

/* Whether standard output may be coloured: a terminal, and NO_COLOR is not set. */
bool use_colour(void);

/* Flush standard output; EXIT_FAILED with a message if anything written to it was lost. */
int finish_stdout(void);

#endif
