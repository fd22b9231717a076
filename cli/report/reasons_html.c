/* Reasons as a section of a web page, as the live page of the server shows them: the prediction,
 * the texts with their words marked, patterns, training rows, and where the doubt comes from. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"
#include "report/html.h"
#include "report/reasons.h"

/* ---- Texts ---- */

/* For each byte the weight of the smallest part that it is in: a token, or a node of a tree. */
static void spread_weights(const lth_reasons *reasons, const char *column, size_t length,
                           double *weight, size_t *size) {
    size_t parts = lth_reasons_summarise(reasons)->parts;
    for (size_t i = 0; i < length; ++i) weight[i] = 0, size[i] = LTH_NONE;
    for (size_t p = 0; p < parts; ++p) {
        const lth_reasons_part *part = lth_reasons_part_at(reasons, p);
        if (strcmp(part->column, column) != 0 || part->first == LTH_NONE || part->first > length ||
            part->length > length - part->first)
            continue;
        for (size_t i = part->first; i < part->first + part->length; ++i)
            if (part->length < size[i]) weight[i] = part->weight, size[i] = part->length;
    }
}

bool html_marked(FILE *out, const lth_reasons *reasons, const char *column, const char *text,
                 size_t length) {
    double *weight = calloc(length + 1, sizeof *weight), most = 0;
    size_t *size = calloc(length + 1, sizeof *size);
    bool made = weight && size;
    if (made) spread_weights(reasons, column, length, weight, size);
    for (size_t i = 0; i < length && made; ++i) most = fmax(most, fabs(weight[i]));
    for (size_t i = 0, end; i < length && made; i = end) {
        end = i + 1;
        while (end < length && weight[end] == weight[i] &&
               (size[end] == LTH_NONE) == (size[i] == LTH_NONE))
            ++end;
        html_mark(out, text + i, end - i, weight[i], most);
    }
    free(weight);
    free(size);
    return made;
}

/* ---- Parts ---- */

static bool has_several_columns(const lth_reasons *r) {
    size_t parts = lth_reasons_summarise(r)->parts;
    for (size_t i = 1; i < parts; ++i)
        if (strcmp(lth_reasons_part_at(r, i)->column, lth_reasons_part_at(r, 0)->column) != 0)
            return true;
    return false;
}

static const char *cell_of(const explanation *x, const char *column, size_t *length) {
    size_t found = lth_table_find(x->table, column);
    const char *cell = found == LTH_NONE ? NULL : lth_table_cell(x->table, x->row, found, length);
    return cell ? cell : "";
}

static void write_weights(FILE *out, const lth_reasons *r, size_t first, size_t last) {
    html_open_numbers(out, "part|adds#|");
    for (size_t i = first; i < last; ++i) {
        const lth_reasons_part *p = lth_reasons_part_at(r, i);
        fprintf(out, "<tr><td class=\"text\" style=\"padding-left:%zurem\">", p->depth);
        html_string(out, p->text);
        fputs("</td>", out);
        html_weight_cell(out, p->weight);
        fprintf(out, "<td>%s</td></tr>\n", p->seen ? "" : "not in training");
    }
    html_close_folded(out);
}

static size_t end_of_column(const lth_reasons *r, size_t first) {
    size_t i = first, parts = lth_reasons_summarise(r)->parts;
    const char *column = lth_reasons_part_at(r, first)->column;
    while (i < parts && strcmp(lth_reasons_part_at(r, i)->column, column) == 0) ++i;
    return i;
}

/* The columns whose parts have places: texts and trees. */
static void write_texts(explain_writer *w, const explanation *x) {
    const lth_reasons *r = x->reasons;
    size_t parts = lth_reasons_summarise(r)->parts, length = 0;
    for (size_t first = 0, last; first < parts; first = last) {
        const lth_reasons_part *p = lth_reasons_part_at(r, first);
        last = end_of_column(r, first);
        if (p->first == LTH_NONE) continue;
        if (has_several_columns(r)) {
            fputs("<h3>", w->out);
            html_string(w->out, p->column);
            fputs("</h3>\n", w->out);
        }
        const char *cell = cell_of(x, p->column, &length);
        fputs("<p class=\"text marked\" dir=\"auto\">", w->out);
        if (!html_marked(w->out, r, p->column, cell, *cell ? length : 0)) w->failed = true;
        fputs("</p>\n", w->out);
        write_weights(w->out, r, first, last);
    }
}

static bool has_texts(const lth_reasons *r) {
    for (size_t i = 0; i < lth_reasons_summarise(r)->parts; ++i)
        if (lth_reasons_part_at(r, i)->first != LTH_NONE) return true;
    return false;
}

static void open_numbers(FILE *out, bool beside_texts) {
    if (beside_texts) fputs("<h3>Numbers</h3>\n", out);
    html_open_table(out, "whole", "column|value#|adds#");
}

/* The others: numbers, and what cannot be told apart. */
static void write_numbers(FILE *out, const explanation *x) {
    const lth_reasons *r = x->reasons;
    size_t parts = lth_reasons_summarise(r)->parts, shown = 0, length = 0;
    double most = 0;
    for (size_t i = 0; i < parts; ++i) {
        const lth_reasons_part *p = lth_reasons_part_at(r, i);
        if (p->first == LTH_NONE) most = fmax(most, fabs(p->weight));
    }
    for (size_t i = 0; i < parts; ++i) {
        const lth_reasons_part *p = lth_reasons_part_at(r, i);
        if (p->first != LTH_NONE) continue;
        if (!shown++) open_numbers(out, has_texts(r));
        const char *cell = cell_of(x, p->text, &length);
        fputs("<tr>", out);
        html_meter_cell(out, p->text, p->weight, most);
        fputs("<td class=\"n\">", out);
        html_text(out, cell, *cell ? length : 0);
        fputs("</td>", out);
        html_weight_cell(out, p->weight);
        fputs("</tr>\n", out);
    }
    if (shown) html_close_table(out);
}

/* ---- Patterns, rows ---- */

static void write_patterns(FILE *out, const explanation *x) {
    const lth_reasons *r = x->reasons;
    size_t count = lth_reasons_summarise(r)->patterns;
    if (count == 0) return;
    double most = heaviest_pattern(r);
    if (x->table) fputs("<h3>Patterns</h3>\n", out);
    html_open_table(out, "whole", "pattern|adds#|rows#");
    for (size_t i = 0; i < count; ++i) {
        const lth_reasons_pattern *p = lth_reasons_pattern_at(r, i);
        fputs("<tr>", out);
        html_meter_cell(out, p->text, p->weight, most);
        html_weight_cell(out, p->weight);
        html_count_cell(out, p->rows);
        fputs("</tr>\n", out);
    }
    html_close_table(out);
}

static void write_row(FILE *out, const explanation *x, const lth_reasons_row *row, double most) {
    const char *line = lth_model_row_line(x->model, row->row);
    fputs("<tr>", out);
    html_meter_cell(out, line ? line : "", row->weight, most);
    html_weight_cell(out, row->weight);
    fprintf(out, "<td class=\"n\">%.2f</td>", row->similarity);
    if (row->label) {
        fputs("<td class=\"n\">", out);
        html_short(out, row->label, 40);
        fputs("</td>", out);
    } else {
        html_number_cell(out, row->y);
    }
    html_count_cell(out, row->row + 1);
    fputs("</tr>\n", out);
}

static void write_rows(FILE *out, const explanation *x) {
    size_t count = lth_reasons_summarise(x->reasons)->rows;
    double most = 0;
    if (count == 0) return;
    for (size_t i = 0; i < count; ++i)
        most = fmax(most, fabs(lth_reasons_row_at(x->reasons, i)->weight));
    fputs("<h3>Training rows</h3>\n", out);
    html_open_table(out, "whole", "text|adds#|similarity#|target#|row#");
    for (size_t i = 0; i < count; ++i) write_row(out, x, lth_reasons_row_at(x->reasons, i), most);
    html_close_table(out);
}

/* ---- The prediction ---- */

static void write_name(FILE *out, const char *before, const char *name) {
    if (!name) return;
    fputs(before, out);
    fputs(name, out);
}

/* "Row 3: label = EI against IE"; freed with free(), NULL = out of memory. */
static char *heading_of(const explanation *x) {
    char *text = NULL;
    size_t size;
    FILE *out = text_stream(&text, &size);
    if (!out) return NULL;
    if (x->table) fprintf(out, "Row %zu: ", lth_table_number(x->table, x->row));
    write_name(out, "", x->of.target);
    write_name(out, " = ", x->of.class);
    write_name(out, " against ", x->of.against);
    return fclose(out) == 0 ? text : NULL;
}

static void write_prediction(FILE *out, const explanation *x) {
    const lth_reasons_summary *s = lth_reasons_summarise(x->reasons);
    double mean = is_latent(s) ? s->predicted : s->mean;
    html_prediction p = {mean, mean - sds_95 * s->sd, mean + sds_95 * s->sd, s->least, s->most};
    fputs("<p class=\"predicted\"><b>", out);
    if (x->of.class)
        html_string(out, x->of.class);
    else
        html_number(out, mean);
    fputs("</b><span>", out);
    html_string(out, x->of.target);
    if (!isnan(s->sd)) {
        fputs(", from ", out);
        html_number(out, p.lo);
        fputs(" to ", out);
        html_number(out, p.hi);
        fputs(" (95%)", out);
    }
    if (!isnan(s->probability)) {
        fputs(", probability ", out);
        html_percent(out, s->probability);
    } else if (x->of.class) {
        fputs(", decision value ", out);
        html_number(out, s->mean);
    }
    fputs("</span></p>\n", out);
    html_interval(out, &p);
}

static void write_summary(FILE *out, const explanation *x) {
    const lth_reasons_summary *s = lth_reasons_summarise(x->reasons);
    char a[32], b[32];
    fprintf(out, "<p class=\"note\">%s%s by this row, from a baseline of %s",
            s->mean > s->baseline ? "+" : "", number_text(s->mean - s->baseline, a),
            number_text(s->baseline, b));
    if (!isnan(s->trend))
        fprintf(out, "; %s%s of it by the linear mean", s->trend > 0 ? "+" : "",
                number_text(s->trend, a));
    if (!s->exact && fabs(s->missed) >= 1e-4 * fabs(s->mean - s->baseline))
        fprintf(out, "; %s%s of it is not told apart", s->missed > 0 ? "+" : "",
                number_text(s->missed, a));
    fputs(".", out);
    if (is_latent(s) || (x->of.class && !isnan(s->probability)))
        fprintf(out,
                " These and all weights are of the latent function, %s here, not of the target.",
                number_text(s->mean, a));
    fputs("</p>\n", out);
}

static void write_new_words(FILE *out, const lth_reasons *r) {
    enum { SHOWN = 12, SHORT = 40 };
    size_t new = 0;
    for (size_t i = 0; i < lth_reasons_summarise(r)->parts && new <= SHOWN; ++i) {
        const lth_reasons_part *p = lth_reasons_part_at(r, i);
        if (p->seen) continue;
        fputs(new ++? ", " : "; not in training: ", out);
        html_short(out, new > SHOWN ? "…" : p->text, SHORT);
    }
}

static void write_doubt(FILE *out, const explanation *x) {
    const lth_reasons_summary *s = lth_reasons_summarise(x->reasons);
    char a[32], b[32];
    if (isnan(s->distance)) return;
    fputs("<p class=\"note\">Doubt: ", out);
    if (!isnan(s->noise)) fprintf(out, "noise of the target %s; ", number_text(s->noise, a));
    fprintf(out, "distance from the training rows %s of at most %s", number_text(s->distance, a),
            number_text(s->prior, b));
    write_new_words(out, x->reasons);
    fputs(".</p>\n", out);
}

void explain_html(explain_writer *w, const explanation *x) {
    char id[32], *heading = heading_of(x);
    snprintf(id, sizeof id, "reasons-%zu", ++w->written);
    if (!heading) w->failed = true;
    html_open_section(w->out, id, heading ? heading : "");
    free(heading);
    if (x->table) {
        write_prediction(w->out, x);
        write_summary(w->out, x);
        write_texts(w, x);
        write_numbers(w->out, x);
    }
    write_patterns(w->out, x);
    if (x->table) {
        write_rows(w->out, x);
        write_doubt(w->out, x);
    }
    html_close_section(w->out);
}

void html_open_reasons(FILE *out, const char *title, bool of_rows) {
    html_open(out, title);
    fputs("<header>\n<h1>", out);
    html_string(out, title);
    fputs("</h1>\n<p class=\"lead\">", out);
    fputs(of_rows ? "What predictions come from, row by row: "
                  : "The patterns that weigh most in this model: ",
          out);
    fputs("<mark class=\"up\" style=\"--w:1\">blue</mark> raises, <mark class=\"down\" "
          "style=\"--w:1\">dotted orange</mark> lowers.</p>\n</header>\n",
          out);
}
