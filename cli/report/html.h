/* Writing a web page that is one file: escaped text, numbers for people, head and style. */
#ifndef CLI_HTML_H
#define CLI_HTML_H

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

/* <td class="n">value</td>, for a number. */
void html_number_cell(FILE *out, double value);
/* A part of a page with its heading; both are plain text. */
void html_open_section(FILE *out, const char *id, const char *title);
void html_close_section(FILE *out);
/* One of the numbers at the top of a page, in a list of class "cards". */
void html_card(FILE *out, double value, const char *what);
void html_count_cell(FILE *out, size_t count);

#endif
