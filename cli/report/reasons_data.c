/* Reasons for programs: TSV with one line for each number, JSON with one object for each row. */
#include <math.h>
#include <string.h>

#include "output.h"
#include "report/reasons.h"

/* ---- TSV ---- */

static void write_next(FILE *out, const char *text) {
    putc('\t', out);
    write_text_cell(out, text);
}

static void write_line(explain_writer *w, const explanation *x, const char *kind,
                       const char *column, const char *text, double weight, size_t number) {
    if (x->table) fprintf(w->out, "%zu", lth_table_number(x->table, x->row));
    write_next(w->out, x->of.target);
    write_next(w->out, x->of.class);
    write_next(w->out, kind);
    write_next(w->out, column);
    write_next(w->out, text);
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
                   {"linear", s.trend},
                   {"noise", s.noise},
                   {"distance", s.distance},
                   {"probability", s.probability},
                   {"predicted", is_latent(&s) ? s.predicted : NAN}};
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
        write_line(w, x, "row", NULL, lth_model_row_line(x->model, r.row), r.weight, r.row + 1);
    }
}

/* ---- JSON ---- */

static void put_name(json_writer *w, const char *key, const char *value) {
    if (value) json_put_text(w, key, value);
}

static void put_tokens(json_writer *w, const lth_reasons *r) {
    json_begin_list(w, "tokens");
    for (size_t i = 0; i < lth_reasons_summarise(r)->parts; ++i) {
        lth_reasons_part p = *lth_reasons_part_at(r, i);
        json_begin_object(w, NULL);
        json_put_text(w, "token", p.text);
        json_put_double(w, "weight", p.weight);
        put_name(w, "column", p.column);
        if (p.first != LTH_NONE) {
            json_put_count(w, "first", p.first);
            json_put_count(w, "length", p.length);
        }
        if (p.depth > 0) json_put_count(w, "depth", p.depth);
        json_put_bool(w, "seen", p.seen);
        json_end(w);
    }
    json_end(w);
}

static void put_patterns(json_writer *w, const lth_reasons *r) {
    json_begin_list(w, "patterns");
    for (size_t i = 0; i < lth_reasons_summarise(r)->patterns; ++i) {
        lth_reasons_pattern p = *lth_reasons_pattern_at(r, i);
        json_begin_object(w, NULL);
        json_put_text(w, "pattern", p.text);
        json_put_double(w, "weight", p.weight);
        put_name(w, "column", p.column);
        json_put_count(w, "rows", p.rows);
        if (p.example != LTH_NONE) json_put_count(w, "example", p.example + 1);
        json_end(w);
    }
    json_end(w);
}

/* The least and the largest target of training. */
static void put_range(json_writer *w, const lth_reasons_summary *s) {
    if (isnan(s->least)) return;
    json_begin_list(w, "range");
    json_put_double(w, NULL, s->least);
    json_put_double(w, NULL, s->most);
    json_end(w);
}

static void put_rows(json_writer *w, const explanation *x) {
    json_begin_list(w, "rows");
    for (size_t i = 0; i < lth_reasons_summarise(x->reasons)->rows; ++i) {
        lth_reasons_row row = *lth_reasons_row_at(x->reasons, i);
        json_begin_object(w, NULL);
        json_put_count(w, "row", row.row + 1);
        json_put_double(w, "weight", row.weight);
        json_put_double(w, "similarity", row.similarity);
        json_put_double(w, "y", row.y);
        put_name(w, "label", row.label);
        put_name(w, "text", lth_model_row_line(x->model, row.row));
        json_end(w);
    }
    json_end(w);
}

void json_put_reasons(json_writer *w, const explanation *x) {
    lth_reasons_summary s = *lth_reasons_summarise(x->reasons);
    if (x->table) {
        json_put_count(w, "row", lth_table_number(x->table, x->row));
        json_put_double(w, "mean", s.mean);
        json_put_double(w, "sd", s.sd);
        if (is_latent(&s)) {
            json_put_double(w, "predicted", s.predicted);
            json_put_text(w, "unit", s.unit);
        }
        json_put_double(w, "baseline", s.baseline);
        put_range(w, &s);
        if (!isnan(s.trend)) json_put_double(w, "linear", s.trend);
        put_tokens(w, x->reasons);
    }
    put_patterns(w, x->reasons);
    if (x->table) {
        put_rows(w, x);
        json_put_double(w, "distance", s.distance);
        json_put_double(w, "noise", s.noise);
        json_put_double(w, "prior", s.prior);
        json_put_double(w, "missed", s.missed);
        json_put_bool(w, "exact", s.exact);
        json_put_double(w, "probability", s.probability);
    }
    put_name(w, "target", x->of.target);
    put_name(w, "class", x->of.class);
    put_name(w, "against", x->of.against);
}

void explain_json(explain_writer *w, const explanation *x) {
    json_writer json = {.to = w->out};
    json_begin_result(&json, NULL);
    json_put_reasons(&json, x);
    json_end(&json);
    ++w->written;
}
