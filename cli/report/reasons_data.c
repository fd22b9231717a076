/* Reasons for programs: TSV with one line for each number, JSON with one object for each row. */
#include <math.h>
#include <string.h>

#include "output.h"
#include "report/reasons.h"

/* ---- TSV ---- */

static void write_cell(FILE *out, const char *text) {
    putc('\t', out);
    if (text) write_visible(out, text, strlen(text));
}

static void write_line(explain_writer *w, const explanation *x, const char *kind,
                       const char *column, const char *text, double weight, size_t number) {
    if (x->table) fprintf(w->out, "%zu", lth_table_number(x->table, x->row));
    write_cell(w->out, x->target);
    write_cell(w->out, x->class);
    write_cell(w->out, kind);
    write_cell(w->out, column);
    write_cell(w->out, text);
    putc('\t', w->out);
    write_tsv_double(w->out, weight);
    putc('\t', w->out);
    if (number != LTH_NONE) fprintf(w->out, "%zu", number);
    putc('\n', w->out);
}

static void write_summary(explain_writer *w, const explanation *x) {
    lth_reasons_summary s = *lth_reasons_summarise(x->reasons);
    const struct {
        const char *name;
        double value;
    } figures[] = {{"mean", s.mean},
                   {"sd", s.sd},
                   {"baseline", s.baseline},
                   {"missed", s.missed},
                   {"noise", s.noise},
                   {"distance", s.distance},
                   {"probability", s.probability}};
    for (size_t i = 0; i < sizeof figures / sizeof *figures; ++i) {
        if (!isnan(figures[i].value))
            write_line(w, x, figures[i].name, NULL, NULL, figures[i].value, LTH_NONE);
    }
}

void explain_tsv(explain_writer *w, const explanation *x) {
    lth_reasons_summary s = *lth_reasons_summarise(x->reasons);
    if (!w->written++) fputs("row\ttarget\tclass\tkind\tcolumn\ttext\tweight\trows\n", w->out);
    if (x->table) write_summary(w, x);
    for (size_t i = 0; i < s.parts; ++i) {
        lth_reasons_part p = *lth_reasons_part_at(x->reasons, i);
        write_line(w, x, "token", p.column, p.text, p.weight, LTH_NONE);
    }
    for (size_t i = 0; i < s.patterns; ++i) {
        lth_reasons_pattern p = *lth_reasons_pattern_at(x->reasons, i);
        write_line(w, x, "pattern", p.column, p.text, p.weight, p.rows);
    }
    for (size_t i = 0; i < s.rows; ++i) {
        lth_reasons_row r = *lth_reasons_row_at(x->reasons, i);
        write_line(w, x, "row", NULL, explained_row_text(x, r.row), r.weight, r.row + 1);
    }
}

/* ---- JSON ---- */

static void write_key(FILE *out, const char *key) {
    fprintf(out, ",\"%s\":", key);
}

static void write_figure(FILE *out, const char *key, double value) {
    write_key(out, key);
    write_json_double(out, value);
}

static void write_name(FILE *out, const char *key, const char *value) {
    if (!value) return;
    write_key(out, key);
    write_json_string(out, value);
}

static void write_tokens(FILE *out, const lth_reasons *r) {
    fputs(",\"tokens\":[", out);
    for (size_t i = 0; i < lth_reasons_summarise(r)->parts; ++i) {
        lth_reasons_part p = *lth_reasons_part_at(r, i);
        fputs(i ? ",{\"token\":" : "{\"token\":", out);
        write_json_string(out, p.text);
        write_figure(out, "weight", p.weight);
        write_name(out, "column", p.column);
        if (p.first != LTH_NONE) fprintf(out, ",\"first\":%zu,\"length\":%zu", p.first, p.length);
        if (p.depth > 0) fprintf(out, ",\"depth\":%zu", p.depth);
        fprintf(out, ",\"seen\":%s}", p.seen ? "true" : "false");
    }
    putc(']', out);
}

static void write_patterns(FILE *out, const lth_reasons *r) {
    fputs(",\"patterns\":[", out);
    for (size_t i = 0; i < lth_reasons_summarise(r)->patterns; ++i) {
        lth_reasons_pattern p = *lth_reasons_pattern_at(r, i);
        fputs(i ? ",{\"pattern\":" : "{\"pattern\":", out);
        write_json_string(out, p.text);
        write_figure(out, "weight", p.weight);
        write_name(out, "column", p.column);
        fprintf(out, ",\"rows\":%zu", p.rows);
        if (p.example != LTH_NONE) fprintf(out, ",\"example\":%zu", p.example + 1);
        putc('}', out);
    }
    putc(']', out);
}

static void write_rows(FILE *out, const explanation *x) {
    fputs(",\"rows\":[", out);
    for (size_t i = 0; i < lth_reasons_summarise(x->reasons)->rows; ++i) {
        lth_reasons_row row = *lth_reasons_row_at(x->reasons, i);
        fprintf(out, "%s{\"row\":%zu", i ? "," : "", row.row + 1);
        write_figure(out, "weight", row.weight);
        write_figure(out, "similarity", row.similarity);
        write_figure(out, "y", row.y);
        write_name(out, "label", row.label);
        write_name(out, "text", explained_row_text(x, row.row));
        putc('}', out);
    }
    putc(']', out);
}

void explain_json(explain_writer *w, const explanation *x) {
    FILE *out = w->out;
    lth_reasons_summary s = *lth_reasons_summarise(x->reasons);
    fputs("{\"schema\":1", out);
    if (x->table) {
        fprintf(out, ",\"row\":%zu", lth_table_number(x->table, x->row));
        write_figure(out, "mean", s.mean);
        write_figure(out, "sd", s.sd);
        write_figure(out, "baseline", s.baseline);
        write_tokens(out, x->reasons);
    }
    write_patterns(out, x->reasons);
    if (x->table) {
        write_rows(out, x);
        write_figure(out, "distance", s.distance);
        write_figure(out, "noise", s.noise);
        write_figure(out, "prior", s.prior);
        write_figure(out, "missed", s.missed);
        fprintf(out, ",\"exact\":%s", s.exact ? "true" : "false");
        write_figure(out, "probability", s.probability);
    }
    write_name(out, "target", x->target);
    write_name(out, "class", x->class);
    write_name(out, "against", x->against);
    fputs("}\n", out);
    ++w->written;
}
