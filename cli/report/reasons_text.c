/* Reasons for people: a block for each row. */
#include <math.h>
#include <string.h>

#include "output.h"
#include "report/reasons.h"

static size_t write_string(FILE *out, const char *text) {
    return write_visible(out, text, strlen(text));
}

static void pad(FILE *out, size_t from, size_t to) {
    fprintf(out, "%*s", from < to ? (int)(to - from) : 1, "");
}

/* ---- Colours and bars ---- */

static const char *colour_of(double weight, double most) {
    static const char *const up[] = {"", "\033[38;5;16;48;5;189m", "\033[38;5;16;48;5;111m",
                                     "\033[38;5;231;48;5;26m"};
    static const char *const down[] = {"", "\033[38;5;16;48;5;224m", "\033[38;5;16;48;5;210m",
                                       "\033[38;5;231;48;5;160m"};
    double strength = most > 0 ? fabs(weight) / most : 0;
    int level = strength < 0.1 ? 0 : strength < 0.35 ? 1 : strength < 0.7 ? 2 : 3;
    return weight > 0 ? up[level] : down[level];
}

/* One of them can be typed and copied anywhere. */
static void write_bar(FILE *out, double weight, double most) {
    enum { CELLS = 20 };
    long cells = most > 0 ? lround(CELLS * fabs(weight) / most) : 0;
    for (long i = 0; i < cells; ++i) putc(weight > 0 ? '+' : '-', out);
}

bool is_latent(const lth_reasons_summary *s) {
    return *s->unit != 0;
}

double heaviest_part(const lth_reasons *r) {
    double most = 0;
    for (size_t i = 0; i < lth_reasons_summarise(r)->parts; ++i)
        most = fmax(most, fabs(lth_reasons_part_at(r, i)->weight));
    return most;
}

double heaviest_pattern(const lth_reasons *r) {
    double most = 0;
    for (size_t i = 0; i < lth_reasons_summarise(r)->patterns; ++i)
        most = fmax(most, fabs(lth_reasons_pattern_at(r, i)->weight));
    return most;
}

/* ---- Parts ---- */

static size_t end_of_column(const lth_reasons *r, size_t first) {
    size_t i = first, parts = lth_reasons_summarise(r)->parts;
    const char *column = lth_reasons_part_at(r, first)->column;
    while (i < parts && strcmp(lth_reasons_part_at(r, i)->column, column) == 0) ++i;
    return i;
}

/* Tokens that stand one after the other in a cell. */
static bool are_tokens(const lth_reasons *r, size_t first, size_t last) {
    size_t end = 0;
    for (size_t i = first; i < last; ++i) {
        lth_reasons_part p = *lth_reasons_part_at(r, i);
        if (p.first == LTH_NONE || p.first < end) return false;
        end = p.first + p.length;
    }
    return true;
}

static void write_coloured(explain_writer *w, const explanation *x, size_t first, size_t last,
                           double most) {
    size_t length,
        at = 0, column = lth_table_find(x->table, lth_reasons_part_at(x->reasons, first)->column);
    const char *cell = lth_table_cell(x->table, x->row, column, &length);
    fputs("    ", w->out);
    for (size_t i = first; i < last; ++i) {
        lth_reasons_part p = *lth_reasons_part_at(x->reasons, i);
        const char *colour = colour_of(p.weight, most);
        write_visible(w->out, cell + at, p.first - at);
        fputs(colour, w->out);
        write_visible(w->out, cell + p.first, p.length);
        if (*colour) fputs("\033[0m", w->out);
        at = p.first + p.length;
    }
    write_visible(w->out, cell + at, length - at);
    putc('\n', w->out);
}

static void write_listed(explain_writer *w, const explanation *x, size_t first, size_t last,
                         double most) {
    for (size_t i = first; i < last; ++i) {
        lth_reasons_part p = *lth_reasons_part_at(x->reasons, i);
        fprintf(w->out, "    %*s", (int)(2 * p.depth), "");
        size_t width = 2 * p.depth + write_string(w->out, p.text);
        pad(w->out, width, 24);
        fprintf(w->out, "%+9.4g  ", p.weight);
        write_bar(w->out, p.weight, most);
        fputs(p.seen ? "\n" : "  (new)\n", w->out);
    }
}

static void write_parts(explain_writer *w, const explanation *x) {
    const lth_reasons *r = x->reasons;
    double most = heaviest_part(r);
    for (size_t first = 0, last; first < lth_reasons_summarise(r)->parts; first = last) {
        last = end_of_column(r, first);
        if (lth_reasons_part_at(r, first)->first != LTH_NONE || last - first > 1) {
            fputs("\n  ", w->out);
            write_string(w->out, lth_reasons_part_at(r, first)->column);
            putc('\n', w->out);
        }
        if (w->colour && are_tokens(r, first, last))
            write_coloured(w, x, first, last, most);
        else
            write_listed(w, x, first, last, most);
    }
}

/* ---- Patterns, rows ---- */

static void write_patterns(explain_writer *w, const explanation *x) {
    size_t count = lth_reasons_summarise(x->reasons)->patterns;
    if (count > 0 && x->table) fputs("\n  patterns\n", w->out);
    for (size_t i = 0; i < count; ++i) {
        lth_reasons_pattern p = *lth_reasons_pattern_at(x->reasons, i);
        fprintf(w->out, "    %+9.4g  ", p.weight);
        size_t width = write_string(w->out, p.text);
        pad(w->out, width, 32);
        fprintf(w->out, "%zu row%s\n", p.rows, p.rows == 1 ? "" : "s");
    }
}

static void write_rows(explain_writer *w, const explanation *x) {
    size_t count = lth_reasons_summarise(x->reasons)->rows;
    if (count > 0) fputs("\n  training rows: weight, similarity, target\n", w->out);
    for (size_t i = 0; i < count; ++i) {
        lth_reasons_row row = *lth_reasons_row_at(x->reasons, i);
        const char *text = lth_model_row_line(x->model, row.row);
        fprintf(w->out, "    %+9.4g  %5.2f  ", row.weight, row.similarity);
        if (row.label)
            write_string(w->out, row.label);
        else if (!isnan(row.y))
            fprintf(w->out, "%.4g", row.y);
        fputs("  ", w->out);
        if (text) write_string(w->out, text);
        fprintf(w->out, "  (row %zu)\n", row.row + 1);
    }
}

/* ---- How sure ---- */

static void write_new_words(explain_writer *w, const explanation *x) {
    size_t new = 0;
    for (size_t i = 0; i < lth_reasons_summarise(x->reasons)->parts; ++i) {
        lth_reasons_part p = *lth_reasons_part_at(x->reasons, i);
        if (p.seen) continue;
        fputs(new ++? ", " : "; not in training: ", w->out);
        write_string(w->out, p.text);
    }
}

static void write_doubt(explain_writer *w, const explanation *x) {
    lth_reasons_summary s = *lth_reasons_summarise(x->reasons);
    if (isnan(s.distance)) return;
    fprintf(w->out, "\n  unsure by %.3g:", isnan(s.sd) ? s.distance : s.sd);
    if (!isnan(s.noise)) fprintf(w->out, " noise of the target %.3g,", s.noise);
    fprintf(w->out, " distance from the training rows %.3g of at most %.3g", s.distance, s.prior);
    write_new_words(w, x);
    putc('\n', w->out);
}

/* ---- The block ---- */

static void write_names(explain_writer *w, const explanation *x) {
    write_string(w->out, x->of.target);
    if (x->of.class) {
        fputs(" = ", w->out);
        write_string(w->out, x->of.class);
    }
    if (x->of.against) {
        fputs(" against ", w->out);
        write_string(w->out, x->of.against);
    }
}

static void write_summary(explain_writer *w, const explanation *x) {
    lth_reasons_summary s = *lth_reasons_summarise(x->reasons);
    fprintf(w->out, "row %zu: ", lth_table_number(x->table, x->row));
    write_names(w, x);
    fprintf(w->out, " %.4g", is_latent(&s) ? s.predicted : s.mean);
    if (is_latent(&s))
        fprintf(w->out, ", by a latent function of %.4g, in whose units are all numbers below",
                s.mean);
    if (!isnan(s.sd))
        fprintf(w->out, ", from %.4g to %.4g (95%%)", s.mean - sds_95 * s.sd,
                s.mean + sds_95 * s.sd);
    if (!isnan(s.probability)) fprintf(w->out, ", probability %.3g", s.probability);
    fprintf(w->out, "\n  baseline %.4g, %+.4g by this row", s.baseline, s.mean - s.baseline);
    if (!isnan(s.trend)) fprintf(w->out, ", %+.4g of it by the linear mean", s.trend);
    if (!s.exact) fprintf(w->out, " (%+.2g of it not told apart)", s.missed);
    putc('\n', w->out);
}

void explain_text(explain_writer *w, const explanation *x) {
    if (w->written++) putc('\n', w->out);
    if (!x->table) {
        fputs("patterns that weigh most for ", w->out);
        write_names(w, x);
        putc('\n', w->out);
        write_patterns(w, x);
        return;
    }
    write_summary(w, x);
    write_parts(w, x);
    write_patterns(w, x);
    write_rows(w, x);
    write_doubt(w, x);
}
