/* Writing a web page that is one file: escaped text, numbers for people, head and style. */
#include "report/html.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "luthier.h"
#include "page_style.h"

/* ---- Text ---- */

enum { NOT_UTF8 = 0xFFFD };

/* The character at text[0], and how many bytes it has; NOT_UTF8 with one byte if it is none. */
static uint32_t decode(const char *text, size_t length, size_t *bytes) {
    utf8proc_int32_t c;
    utf8proc_ssize_t count =
        utf8proc_iterate((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)length, &c);
    *bytes = count > 0 ? (size_t)count : 1;
    return count > 0 ? (uint32_t)c : NOT_UTF8;
}

/* Characters that are not seen but change what is: C1 controls, marks of direction, line and
 * paragraph separators, byte order marks, noncharacters. */
static bool is_invisible(uint32_t c) {
    return (c >= 0x80 && c < 0xA0) || c == 0x61C || c == 0x200E || c == 0x200F ||
           (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069) || c == 0xFEFF ||
           (c & 0xFFFE) == 0xFFFE;
}

static void put_character(FILE *out, uint32_t c, const char *text, size_t bytes) {
    switch (c) {
    case '&': fputs("&amp;", out); return;
    case '<': fputs("&lt;", out); return;
    case '>': fputs("&gt;", out); return;
    case '"': fputs("&quot;", out); return;
    case '\'': fputs("&#39;", out); return;
    case NOT_UTF8: fputs("\xEF\xBF\xBD", out); return;
    case '\t':
    case '\n': putc((int)c, out); return;
    case 0x7F: fputs("&#x2421;", out); return;
    default: break;
    }
    if (c < 0x20)
        fprintf(out, "&#x%X;", (unsigned)(0x2400 + c));
    else if (is_invisible(c))
        fprintf(out, "[U+%04X]", (unsigned)c);
    else
        fwrite(text, 1, bytes, out);
}

/* Returns where it stopped. */
static size_t put_text(FILE *out, const char *text, size_t length, size_t most) {
    size_t at = 0, bytes;
    for (size_t i = 0; at < length && i < most; ++i, at += bytes) {
        uint32_t c = decode(text + at, length - at, &bytes);
        put_character(out, c, text + at, bytes);
    }
    return at;
}

void html_text(FILE *out, const char *text, size_t length) {
    put_text(out, text, length, length);
}

void html_string(FILE *out, const char *text) {
    html_text(out, text, strlen(text));
}

void html_short(FILE *out, const char *text, size_t most) {
    size_t length = strlen(text);
    if (put_text(out, text, length, most) < length) fputs("…", out);
}

/* ---- Numbers ---- */

const char *number_text(double value, char out[32]) {
    double size = fabs(value);
    if (isnan(value))
        snprintf(out, 32, "–");
    else if (isinf(value))
        snprintf(out, 32, value > 0 ? "∞" : "-∞");
    else
        snprintf(out, 32, size >= 1e3 && size < 1e6 ? "%.0f" : "%.4g", value);
    return out;
}

void html_number(FILE *out, double value) {
    char text[32];
    char *e = strchr(number_text(value, text), 'e');
    if (!e) {
        fputs(text, out);
        return;
    }
    *e = 0;
    fprintf(out, "%s × 10<sup>%d</sup>", text, atoi(e + 1));
}

void html_percent(FILE *out, double share) {
    if (isnan(share))
        fputs("–", out);
    else
        fprintf(out, fabs(share) < 0.1 || share > 0.9 ? "%.1f%%" : "%.0f%%", 100 * share);
}

/* ---- Pieces of a page ---- */

void html_open_section(FILE *out, const char *id, const char *title) {
    fprintf(out, "\n<section id=\"%s\" aria-labelledby=\"%s-head\">\n<h2 id=\"%s-head\">", id, id,
            id);
    html_string(out, title);
    fputs("</h2>\n", out);
}

void html_close_section(FILE *out) {
    fputs("</section>\n", out);
}

/* ---- Cards ---- */

void html_open_cards(FILE *out) {
    fputs("<ul class=\"cards\">\n", out);
}

void html_close_cards(FILE *out) {
    fputs("</ul>\n", out);
}

static void close_card(FILE *out, const char *what) {
    fprintf(out, "</b><span>%s</span></li>\n", what);
}

void html_card(FILE *out, double value, const char *what) {
    fputs("<li><b>", out);
    html_number(out, value);
    close_card(out, what);
}

void html_count_card(FILE *out, size_t count, const char *what) {
    fprintf(out, "<li><b>%zu", count);
    close_card(out, what);
}

void html_percent_card(FILE *out, double share, const char *what) {
    fputs("<li><b>", out);
    html_percent(out, share);
    close_card(out, what);
}

void html_text_card(FILE *out, const char *text, const char *what) {
    fputs("<li><b>", out);
    html_string(out, text);
    close_card(out, what);
}

/* ---- Tables ---- */

void html_open_heads(FILE *out, const char *class) {
    fprintf(out, "<div class=\"scroll tall\" tabindex=\"0\"><table%s%s%s>\n",
            *class ? " class=\"" : "", class, *class ? "\"" : "");
    fputs("<thead><tr>", out);
}

static void put_head(FILE *out, const char *name, size_t length, bool number) {
    fputs(number ? "<th scope=\"col\" class=\"n\">" : "<th scope=\"col\">", out);
    html_text(out, name, length);
    fputs("</th>", out);
}

void html_head(FILE *out, const char *name, bool number) {
    put_head(out, name, strlen(name), number);
}

void html_close_heads(FILE *out) {
    fputs("</tr></thead>\n<tbody>\n", out);
}

void html_open_table(FILE *out, const char *class, const char *heads) {
    html_open_heads(out, class);
    for (const char *head = heads; *head;) {
        size_t length = strcspn(head, "|");
        bool number = length > 0 && head[length - 1] == '#';
        put_head(out, head, length - number, number);
        head += length + (head[length] == '|');
    }
    html_close_heads(out);
}

void html_open_facts(FILE *out, const char *class) {
    fprintf(out, "<div class=\"scroll\" tabindex=\"0\"><table%s%s%s><tbody>\n",
            *class ? " class=\"" : "", class, *class ? "\"" : "");
}

void html_close_table(FILE *out) {
    fputs("</tbody></table></div>\n", out);
}

void html_open_folded(FILE *out, const char *summary, const char *heads) {
    fprintf(out, "<details><summary>%s</summary>\n", summary);
    html_open_table(out, "", heads);
}

void html_close_folded(FILE *out) {
    html_close_table(out);
    fputs("</details>\n", out);
}

void html_open_numbers(FILE *out, const char *heads) {
    html_open_folded(out, "The numbers", heads);
}

void html_row_head(FILE *out, const char *name) {
    fputs("<tr><th scope=\"row\">", out);
    html_string(out, name);
    fputs("</th>", out);
}

void html_meter_head(FILE *out, const char *name, double share) {
    fprintf(out, "<th scope=\"row\"><span class=\"meter up\" style=\"--m:%.0f%%\">",
            100 * fmax(0, fmin(1, share)));
    html_string(out, name);
    fputs("</span></th>", out);
}

void html_number_cell(FILE *out, double value) {
    fputs("<td class=\"n\">", out);
    html_number(out, value);
    fputs("</td>", out);
}

void html_weight_cell(FILE *out, double weight) {
    fputs(weight > 0 ? "<td class=\"n\">+" : "<td class=\"n\">", out);
    html_number(out, weight);
    fputs("</td>", out);
}

void html_count_cell(FILE *out, size_t count) {
    fprintf(out, "<td class=\"n\">%zu</td>", count);
}

void html_percent_cell(FILE *out, double share) {
    fputs("<td class=\"n\">", out);
    html_percent(out, share);
    fputs("</td>", out);
}

void html_text_cell(FILE *out, const char *text, size_t most) {
    fputs("<td class=\"text\">", out);
    html_short(out, text, most);
    fputs("</td>", out);
}

/* Blanks at the ends of a pattern are letters of it. */
static void put_pattern(FILE *out, const char *text, size_t most) {
    size_t first = strspn(text, " "), end = strlen(text), last = end;
    while (last > first && text[last - 1] == ' ') --last;
    for (size_t i = 0; i < first; ++i) fputs("␣", out);
    if (put_text(out, text + first, last - first, most) < last - first) fputs("…", out);
    for (size_t i = last; i < end; ++i) fputs("␣", out);
}

void html_meter_cell(FILE *out, const char *text, double weight, double most) {
    double share = most > 0 ? fmin(1, fabs(weight) / most) : 0;
    fprintf(out, "<td class=\"text w\"><span class=\"meter %s\" style=\"--m:%.0f%%\">",
            weight > 0 ? "up" : "down", 100 * share);
    put_pattern(out, text, 200);
    fputs("</span></td>", out);
}

/* ---- Keys and marks ---- */

void html_open_key(FILE *out) {
    fputs("<p class=\"key\">", out);
}

void html_key(FILE *out, const char *class, const char *means) {
    fprintf(out, "<span><i%s%s%s></i>", *class ? " class=\"" : "", class, *class ? "\"" : "");
    html_string(out, means);
    fputs("</span>", out);
}

void html_close_key(FILE *out) {
    fputs("</p>\n", out);
}

void html_mark(FILE *out, const char *text, size_t length, double weight, double most) {
    char number[32];
    double share = most > 0 ? fabs(weight) / most : 0;
    if (share < 0.05) { /* too faint to be seen */
        html_text(out, text, length);
        return;
    }
    fprintf(out, "<mark class=\"%s\" style=\"--w:%.2f\" title=\"%s%s\">",
            weight > 0 ? "up" : "down", share, weight > 0 ? "+" : "", number_text(weight, number));
    html_text(out, text, length);
    fputs("</mark>", out);
}

/* ---- A prediction ---- */

static double place(double value, double from, double to) {
    return to > from ? 100 * (value - from) / (to - from) : 50;
}

void html_interval(FILE *out, const html_prediction *p) {
    if (!isfinite(p->mean) || !(p->least <= p->most)) return;
    bool held = isfinite(p->lo) && isfinite(p->hi);
    double from = fmin(p->least, held ? p->lo : p->mean),
           to = fmax(p->most, held ? p->hi : p->mean);
    double left = place(p->least, from, to);
    char a[32], b[32], text[160];
    snprintf(text, sizeof text, "training targets, from %s to %s", number_text(p->least, a),
             number_text(p->most, b));
    fprintf(out,
            "<div class=\"interval\" role=\"img\" aria-label=\"The prediction %s%s among %s\">"
            "<i class=\"range\" style=\"left:%.2f%%;width:%.2f%%\"></i>",
            number_text(p->mean, a), held ? " and its 95% interval" : "", text, left,
            place(p->most, from, to) - left);
    if (held)
        fprintf(out, "<i class=\"held\" style=\"left:%.2f%%;width:%.2f%%\"></i>",
                place(p->lo, from, to), place(p->hi, from, to) - place(p->lo, from, to));
    fprintf(out, "<i class=\"at\" style=\"left:%.2f%%\"></i></div>\n", place(p->mean, from, to));
    html_open_key(out);
    html_key(out, "kd", "prediction");
    if (held) html_key(out, "", "95% interval");
    html_key(out, "kr", text);
    html_close_key(out);
}

/* ---- The page ---- */

void html_open(FILE *out, const char *title) {
    html_open_with(out, title,
                   "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
                   "&#39;none&#39;; style-src &#39;unsafe-inline&#39;\">\n");
}

void html_open_with(FILE *out, const char *title, const char *head) {
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta name=\"color-scheme\" content=\"light dark\">\n",
          out);
    fputs(head, out);
    fprintf(out, "<meta name=\"generator\" content=\"luthier %s\">\n<title>", lth_version());
    html_string(out, title);
    fputs("</title>\n<style>\n", out);
    fwrite(page_style, 1, sizeof page_style, out);
    fputs("</style>\n</head>\n<body>\n<main>\n", out);
}

void html_close(FILE *out) {
    fprintf(
        out,
        "<footer>Written by luthier %s. This file needs no network and no other file.</footer>\n",
        lth_version());
    fputs("</main>\n</body>\n</html>\n", out);
}
