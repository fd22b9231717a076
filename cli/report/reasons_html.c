/* Reasons as a section of a web page: the texts with their tokens marked. */
#include <math.h>
#include <string.h>

#include "report/html.h"
#include "report/reasons.h"

/* Blue pushes up, red down. */
static void open_mark(FILE *out, double weight, double most) {
    double strength = most > 0 ? 0.75 * fabs(weight) / most : 0;
    fprintf(out,
            "<span style=\"background-color:rgba(%s,%.2f);border-radius:.2em\" title=\"%+.4g\">",
            weight > 0 ? "64,128,255" : "255,80,64", strength, weight);
}

static void write_part(FILE *out, const lth_reasons_part *p, const char *text, size_t length,
                       double most) {
    open_mark(out, p->weight, most);
    html_text(out, text, length);
    fputs("</span>", out);
}

/* The cell with its tokens marked, as far as they follow each other; nodes and numbers as a list.
 */
static size_t write_cell(FILE *out, const explanation *x, size_t first, double most) {
    const lth_reasons *r = x->reasons;
    lth_reasons_part p = *lth_reasons_part_at(r, first);
    size_t column = lth_table_find(x->table, p.column), length = 0, at = 0, i = first;
    const char *cell = column == LTH_NONE ? "" : lth_table_cell(x->table, x->row, column, &length);
    size_t parts = lth_reasons_summarise(r)->parts;
    for (; i < parts; ++i) {
        lth_reasons_part next = *lth_reasons_part_at(r, i);
        if (strcmp(next.column, p.column) != 0 || next.first == LTH_NONE || next.first < at) break;
        if (next.first + next.length > length) break;
        html_text(out, cell + at, next.first - at);
        write_part(out, &next, cell + next.first, next.length, most);
        at = next.first + next.length;
    }
    if (i > first) {
        html_text(out, cell + at, length - at);
        return i;
    }
    write_part(out, &p, p.text, strlen(p.text), most);
    return first + 1;
}

static void write_parts(FILE *out, const explanation *x) {
    double most = heaviest_part(x->reasons);
    size_t parts = lth_reasons_summarise(x->reasons)->parts;
    bool nodes = false;
    for (size_t i = 0; i < parts; ++i) nodes |= lth_reasons_part_at(x->reasons, i)->depth > 0;
    fputs("<p>", out);
    for (size_t i = 0; i < parts;) {
        if (!nodes) {
            i = write_cell(out, x, i, most);
        } else {
            lth_reasons_part p = *lth_reasons_part_at(x->reasons, i++);
            write_part(out, &p, p.text, strlen(p.text), most);
        }
        putc(' ', out);
    }
    fputs("</p>\n", out);
}

static void write_patterns(FILE *out, const lth_reasons *r) {
    size_t count = lth_reasons_summarise(r)->patterns;
    if (count == 0) return;
    fputs("<table><tr><th>pattern</th><th>weight</th><th>rows</th></tr>\n", out);
    for (size_t i = 0; i < count; ++i) {
        lth_reasons_pattern p = *lth_reasons_pattern_at(r, i);
        fputs("<tr><td>", out);
        html_text(out, p.text, strlen(p.text));
        fprintf(out, "</td><td>%+.4g</td><td>%zu</td></tr>\n", p.weight, p.rows);
    }
    fputs("</table>\n", out);
}

static void write_rows(FILE *out, const explanation *x) {
    size_t count = lth_reasons_summarise(x->reasons)->rows;
    if (count == 0) return;
    fputs(
        "<table><tr><th>training row</th><th>weight</th><th>similarity</th><th>target</th></tr>\n",
        out);
    for (size_t i = 0; i < count; ++i) {
        lth_reasons_row row = *lth_reasons_row_at(x->reasons, i);
        const char *text = lth_model_row_text(x->model, row.row, 0);
        fputs("<tr><td>", out);
        if (text) html_text(out, text, strlen(text));
        fprintf(out, "</td><td>%+.4g</td><td>%.2f</td><td>", row.weight, row.similarity);
        if (row.label)
            html_text(out, row.label, strlen(row.label));
        else if (!isnan(row.y))
            fprintf(out, "%.4g", row.y);
        fputs("</td></tr>\n", out);
    }
    fputs("</table>\n", out);
}

static void write_name(FILE *out, const char *before, const char *name) {
    if (!name) return;
    fputs(before, out);
    html_text(out, name, strlen(name));
}

static void write_heading(FILE *out, const explanation *x) {
    fputs("<h2>", out);
    if (x->table) fprintf(out, "Row %zu: ", lth_table_number(x->table, x->row));
    write_name(out, "", x->of.target);
    write_name(out, " = ", x->of.class);
    write_name(out, " against ", x->of.against);
    fputs("</h2>\n", out);
}

void explain_html(explain_writer *w, const explanation *x) {
    FILE *out = w->out;
    lth_reasons_summary s = *lth_reasons_summarise(x->reasons);
    ++w->written;
    fputs("<section>\n", out);
    write_heading(out, x);
    if (x->table) {
        fprintf(out, "<p><strong>%.4g</strong>", is_latent(&s) ? s.predicted : s.mean);
        if (is_latent(&s))
            fprintf(out, ", by a latent function of %.4g, in whose units are all numbers below",
                    s.mean);
        if (!isnan(s.sd)) fprintf(out, " &plusmn; %.3g", s.sd);
        if (!isnan(s.probability)) fprintf(out, ", probability %.3g", s.probability);
        fprintf(out, "; baseline %.4g", s.baseline);
        if (!isnan(s.trend)) fprintf(out, ", %+.4g by the linear mean", s.trend);
        fputs("</p>\n", out);
        write_parts(out, x);
    }
    write_patterns(out, x->reasons);
    if (x->table) write_rows(out, x);
    fputs("</section>\n", out);
}
