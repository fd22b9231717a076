/* Writing a web page that is one file: escaped text, numbers for people, head and style. */
#ifndef CLI_HTML_H
#define CLI_HTML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Text that cannot leave its place, in an element or an attribute: & < > " ' are escaped, control
 * characters become their pictures, marks that turn the direction of writing their numbers, and
 * what is no UTF-8 the replacement character. */
void html_text(FILE *out, const char *text, size_t length);
void html_string(FILE *out, const char *text);
/* The same, cut after `most` characters, with an ellipsis. */
void html_short(FILE *out, const char *text, size_t most);

/* About four significant digits: "0.1235", "12.35", "-1.2e-05"; "–" where there is no number. */
const char *number_text(double value, char out[32]);
/* The same with powers of ten written out. */
void html_number(FILE *out, double value);
/* "37%" */
void html_percent(FILE *out, double share);

/* From the doctype to the opened <body>; and its end. */
void html_open(FILE *out, const char *title);
/* The same with tags for its head instead of a policy that forbids all but styles. */
void html_open_with(FILE *out, const char *title, const char *head);
void html_close(FILE *out);

/* ---- Pieces of a page ---- */

/* A part of a page with its heading; the id is plain, the title any text. */
void html_open_section(FILE *out, const char *id, const char *title);
void html_close_section(FILE *out);

/* The numbers at the top of a page, with what each is in plain words. */
void html_open_cards(FILE *out);
void html_close_cards(FILE *out);
void html_card(FILE *out, double value, const char *what);
void html_count_card(FILE *out, size_t count, const char *what);
void html_percent_card(FILE *out, double share, const char *what);
void html_text_card(FILE *out, const char *text, const char *what);

/* A table that scrolls where it is wider than the page. Heads are separated by "|", one that ends
 * with "#" is of numbers; where names come from elsewhere, head by head. */
void html_open_table(FILE *out, const char *class, const char *heads);
void html_open_heads(FILE *out, const char *class);
void html_head(FILE *out, const char *name, bool number);
void html_close_heads(FILE *out);
void html_open_facts(FILE *out, const char *class); /* whose rows have heads alone */
void html_close_table(FILE *out);
/* The same, folded away behind plain words: "The numbers" behind a picture, or others. */
void html_open_folded(FILE *out, const char *summary, const char *heads);
void html_open_numbers(FILE *out, const char *heads);
void html_close_folded(FILE *out);

void html_row_head(FILE *out, const char *name); /* opens the row, too */
void html_number_cell(FILE *out, double value);
void html_weight_cell(FILE *out, double weight); /* with its sign */
void html_count_cell(FILE *out, size_t count);
void html_percent_cell(FILE *out, double share);
void html_text_cell(FILE *out, const char *text, size_t most);
/* A head over a bar as long as its share. */
void html_meter_head(FILE *out, const char *name, double share);
/* Text over a bar as long as its weight is in parts of the heaviest; blanks at its ends are seen.
 */
void html_meter_cell(FILE *out, const char *text, double weight, double most);

/* What the colours of a picture mean. "": a line of the first colour, "kb" of the second, dashed,
 * "kc" grey; with "kd" a dot instead; "kr" a range. */
void html_open_key(FILE *out);
void html_key(FILE *out, const char *class, const char *means);
void html_close_key(FILE *out);

/* Text that is marked by what it adds, up or down. */
void html_mark(FILE *out, const char *text, size_t length, double weight, double most);

/* A prediction and its 95% interval (NaN = none) as a bar, against the least and the largest target
 * of training; nothing where these are not known. */
typedef struct html_prediction {
    double mean, lo, hi, least, most;
} html_prediction;
void html_interval(FILE *out, const html_prediction *p);

#endif
