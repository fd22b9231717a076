/* Sections of a report on why: the heaviest patterns of a model, and the rows that surprise it
 * most, with the words that made it predict what it did. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/html.h"
#include "report/reasons.h"
#include "report/report.h"

enum { PATTERNS = 12, MOST_FUNCTIONS = 12, MOST_SURPRISES = 8, FEW_SURPRISES = 3 };

/* ---- Patterns ---- */

static bool has_several_columns(const report *r) {
    return lth_kernel_column(lth_model_kernel(r->model), 1) != NULL;
}

static void write_pattern(report *r, const lth_reasons_pattern *p, double most) {
    fputs("<tr>", r->out);
    html_meter_cell(r->out, p->text, p->weight, most);
    if (has_several_columns(r)) html_text_cell(r->out, p->column, LTH_NONE);
    html_weight_cell(r->out, p->weight);
    html_count_cell(r->out, p->rows);
    fputs("</tr>\n", r->out);
}

/* Two classes are one problem, of the second against the first. */
static bool is_pair(const report *r) {
    return lth_model_gp(r->model) && lth_model_classes(r->model) == 2 &&
           !lth_model_is_multi_label(r->model);
}

static model_function function_of(const report *r, size_t i) {
    model_function f = model_function_at(r->model, i);
    if (is_pair(r)) f.against = lth_model_class(r->model, 1 - i);
    return f;
}

/* Where patterns of a side push to. */
static void write_side_name(report *r, const model_function *f, bool up) {
    char name[160] = "";
    if (!f->class)
        snprintf(name, sizeof name, "push %s", up ? "up" : "down");
    else if (up || f->against)
        snprintf(name, sizeof name, "towards %.100s", up ? f->class : f->against);
    else
        snprintf(name, sizeof name, "away from %.100s", f->class);
    html_open_key(r->out);
    html_key(r->out, up ? "" : "kb", name);
    html_close_key(r->out);
}

/* Those of one sign, heaviest first. */
static void write_side(report *r, const lth_reasons *reasons, const model_function *f, bool up) {
    size_t count = lth_reasons_summarise(reasons)->patterns, shown = 0;
    double most = heaviest_pattern(reasons);
    fputs("<div>\n", r->out);
    write_side_name(r, f, up);
    html_open_table(r->out, "",
                    has_several_columns(r) ? "pattern|column|weight#|rows#"
                                           : "pattern|weight#|rows#");
    for (size_t i = 0; i < count; ++i) {
        lth_reasons_pattern p = *lth_reasons_pattern_at(reasons, up ? i : count - 1 - i);
        if ((p.weight > 0) != up) continue;
        write_pattern(r, &p, most);
        ++shown;
    }
    if (shown == 0) fputs("<tr><td>none</td></tr>\n", r->out);
    html_close_table(r->out);
    fputs("</div>\n", r->out);
}

/* What cannot be told apart into patterns is no reason not to have a report. */
static int write_patterns_of(report *r, size_t target) {
    model_function f = function_of(r, target);
    lth_reasons *reasons = NULL;
    lth_error err = {0};
    lth_status status = lth_model_patterns(r->model, target, PATTERNS, &reasons, &err);
    if (status == LTH_ENOMEM || status == LTH_ECANCELED) return session_fail(r->session, &err);
    if (status != LTH_OK || lth_reasons_summarise(reasons)->patterns == 0) {
        fputs("<p class=\"note\">There are none to show", r->out);
        if (err.message[0]) {
            fputs(": ", r->out);
            html_string(r->out, err.message);
        }
        fputs(".</p>\n", r->out);
        lth_reasons_free(reasons);
        return EXIT_DONE;
    }
    fputs("<div class=\"pair\">\n", r->out);
    write_side(r, reasons, &f, true);
    write_side(r, reasons, &f, false);
    fputs("</div>\n", r->out);
    lth_reasons_free(reasons);
    return EXIT_DONE;
}

/* What a pattern pushes up. */
static void write_function_name(report *r, size_t i) {
    model_function f = function_of(r, i);
    html_string(r->out, f.class ? f.class : f.target);
    if (!f.against) return;
    fputs(" against ", r->out);
    html_string(r->out, f.against);
}

int write_patterns(report *r) {
    fputs("<p>The patterns that weigh most in this model. The weight is what a row that has the "
          "pattern once, without gaps, gains by it",
          r->out);
    fputs(has_labels(r) ? ", in the function behind the label" : "", r->out);
    fprintf(r->out, "; rows counts the %s rows that have it.</p>\n",
            lth_model_svm(r->model) ? "support" : "training");
    size_t count = lth_model_functions(r->model), shown = 0;
    int code = EXIT_DONE;
    for (size_t i = 0; i < count && shown < MOST_FUNCTIONS && !code; ++i) {
        if (is_pair(r) && i == 0) continue; /* the mirror image of the other */
        if (count > 1 || has_labels(r)) {
            fputs("<h3>", r->out);
            write_function_name(r, i);
            fputs("</h3>\n", r->out);
        }
        code = write_patterns_of(r, i);
        ++shown;
    }
    if (shown == MOST_FUNCTIONS && count > shown)
        fprintf(r->out, "<p class=\"note\">The first %d of %zu are shown.</p>\n", MOST_FUNCTIONS,
                count);
    return code;
}

/* ---- Training rows ---- */

/* The reasons of a training row, NULL where they cannot be had: the model keeps its rows by units,
 * so that only a kernel over one column can read them again. */
static int explain_row(report *r, const char *text, size_t target, lth_reasons **out) {
    const char *column = lth_kernel_column(lth_model_kernel(r->model), 0);
    *out = NULL;
    if (!column || has_several_columns(r)) return EXIT_DONE;
    lth_explain_options wanted;
    lth_explain_options_init(&wanted);
    wanted.target = target;
    wanted.patterns = wanted.rows = 0;
    lth_table *table = NULL;
    lth_error err = {0};
    lth_status status = lth_table_from_texts(r->session->ctx, column, &text, NULL, 1, &table, &err);
    if (status == LTH_OK) status = lth_model_explain(r->model, table, 0, &wanted, out, &err);
    lth_table_free(table);
    if (status == LTH_ENOMEM || status == LTH_ECANCELED) return session_fail(r->session, &err);
    return EXIT_DONE;
}

/* ---- Surprises ---- */

typedef struct surprise {
    size_t row;
    double y, mean, sd, z;
} surprise;

static int by_surprise(const void *a, const void *b) {
    const surprise *x = a, *y = b;
    if (fabs(x->z) != fabs(y->z)) return fabs(x->z) > fabs(y->z) ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

static int find_surprises(report *r, size_t target, surprise **out) {
    outcome o;
    int code = report_left_out(r, target, &o);
    if (code) return code;
    surprise *all = calloc(o.count + 1, sizeof *all);
    if (!all) return out_of_memory();
    for (size_t i = 0; i < o.count; ++i)
        all[i] =
            (surprise){o.row[i] - 1, o.y[i], o.mean[i], o.sd[i], (o.y[i] - o.mean[i]) / o.sd[i]};
    qsort(all, o.count, sizeof *all, by_surprise);
    *out = all;
    return EXIT_DONE;
}

/* Of several columns all of them, of one its text with the words marked. */
static int write_row_text(report *r, size_t row, size_t target) {
    errno = 0;
    if (has_several_columns(r)) {
        const char *line = lth_model_row_line(r->model, row);
        if (line) html_short(r->out, line, 1000);
        return line || errno != ENOMEM ? EXIT_DONE : out_of_memory();
    }
    const char *column = lth_kernel_column(lth_model_kernel(r->model), 0);
    const char *kept = lth_model_row_text(r->model, row, 0);
    char *text = kept ? strdup(kept) : NULL; /* the next call would take it away */
    if (!text) return errno == ENOMEM ? out_of_memory() : EXIT_DONE;
    lth_reasons *reasons = NULL;
    int code = explain_row(r, text, target, &reasons);
    if (!code && !reasons) html_short(r->out, text, 1000);
    if (reasons && !html_marked(r->out, reasons, column, text, strlen(text)))
        code = out_of_memory();
    lth_reasons_free(reasons);
    free(text);
    return code;
}

static int write_surprise(report *r, const surprise *s, size_t target) {
    fputs("<li>\n<p class=\"text\">", r->out);
    int code = write_row_text(r, s->row, target);
    fprintf(r->out, "</p>\n<p>Training row %zu: true ", s->row + 1);
    html_number(r->out, s->y);
    fputs(", predicted ", r->out);
    html_number(r->out, s->mean);
    fputs(" ± ", r->out);
    html_number(r->out, s->sd);
    fprintf(r->out, ", too %s by ", s->z > 0 ? "low" : "high");
    html_number(r->out, fabs(s->z));
    fputs(" standard deviations</p>\n</li>\n", r->out);
    return code;
}

static int write_surprises_of(report *r, size_t target, size_t most) {
    surprise *all = NULL;
    int code = find_surprises(r, target, &all);
    if (code) return code;
    fputs("<ol class=\"rows\">\n", r->out);
    for (size_t i = 0; i < lth_model_rows(r->model) && i < most && !code; ++i)
        code = write_surprise(r, &all[i], target);
    fputs("</ol>\n", r->out);
    free(all);
    return code;
}

int write_surprises(report *r) {
    fputs("<p>The training rows that are furthest from what the others let expect: mistakes in "
          "the data, or what the kernel does not see. Rows are shown as the model keeps them, cut "
          "into units.",
          r->out);
    if (!has_several_columns(r))
        fputs(" Marks show what pushes the finished model, which has learned from this row too, "
              "<mark class=\"up\" style=\"--w:1\">up</mark> and "
              "<mark class=\"down\" style=\"--w:1\">down</mark>.",
              r->out);
    fputs("</p>\n", r->out);
    size_t targets = lth_model_targets(r->model);
    int code = EXIT_DONE;
    for (size_t t = 0; t < targets && !code; ++t) {
        write_target_head(r, t);
        code = write_surprises_of(r, t, targets > 1 ? FEW_SURPRISES : MOST_SURPRISES);
    }
    return code;
}
