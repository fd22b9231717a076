/* Rows that were chosen, as TSV or JSON. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"
#include "proposals.h"
#include "report/reasons.h"

/* ---- Rows and cells ---- */

size_t chosen_count(const chosen *c) {
    return c->proposals ? lth_proposals_count(c->proposals) : lth_table_rows(c->rows);
}

size_t chosen_row(const chosen *c, size_t i) {
    return c->proposals ? lth_proposal_at(c->proposals, i)->row : i;
}

char *chosen_cell(const chosen *c, size_t i, size_t column) {
    size_t length = 0;
    const char *cell = lth_table_cell(c->rows, chosen_row(c, i), column, &length);
    char *copy = calloc(length + 1, 1);
    if (copy && cell) memcpy(copy, cell, length);
    return copy;
}

bool chosen_shows(const chosen *c, size_t column) {
    return lth_table_find(c->rows, lth_table_column_name(c->rows, column)) == column;
}

/* ---- Figures ---- */

static bool is_of_labels(const chosen *c) {
    return chosen_count(c) > 0 && lth_proposal_at(c->proposals, 0)->label;
}

static bool has_feasible(const chosen *c) {
    return c->feasible;
}

static bool has_nearest(const chosen *c) {
    return chosen_count(c) > 0 && lth_proposal_at(c->proposals, 0)->distance != LTH_NONE;
}

static bool has_mutations(const chosen *c) {
    return chosen_count(c) > 0 && lth_proposal_at(c->proposals, 0)->mutations != LTH_NONE;
}

static void tell_acquisition(const chosen *c, const lth_proposal *p, chosen_figure *out) {
    (void)c;
    out->number = p->acquisition;
}

static void tell_label(const chosen *c, const lth_proposal *p, chosen_figure *out) {
    (void)c;
    out->text = p->label;
}

static void tell_feasible(const chosen *c, const lth_proposal *p, chosen_figure *out) {
    (void)c;
    out->number = p->feasible;
}

static void tell_nearest(const chosen *c, const lth_proposal *p, chosen_figure *out) {
    if (p->nearest != LTH_NONE) out->text = lth_model_row_text(c->models[0], p->nearest, 0);
}

static void tell_distance(const chosen *c, const lth_proposal *p, chosen_figure *out) {
    (void)c;
    out->count = p->distance;
}

static void tell_mutations(const chosen *c, const lth_proposal *p, chosen_figure *out) {
    (void)c;
    out->count = p->mutations;
}

/* Behind what is expected of the objectives. */
static const struct {
    const char *name;
    bool is_text, is_count;
    bool (*has)(const chosen *c); /* NULL = always */
    void (*tell)(const chosen *c, const lth_proposal *p, chosen_figure *out);
} figures[] = {
    {"label", true, false, is_of_labels, tell_label},
    {"acquisition", false, false, NULL, tell_acquisition},
    {"feasible", false, false, has_feasible, tell_feasible},
    {"nearest", true, false, has_nearest, tell_nearest},
    {"distance", false, true, has_nearest, tell_distance},
    {"mutations", false, true, has_mutations, tell_mutations},
};

/* A name that no column of the rows has; "proposed." is in front of one that has it. */
static void name_figure(const chosen *c, const char *objective, const char *name,
                        chosen_figure *out) {
    bool taken = !objective && lth_table_find(c->rows, name) != LTH_NONE;
    snprintf(out->name, sizeof out->name, "%s%.100s%s%s", taken ? "proposed." : "",
             objective ? objective : "", objective ? "." : "", name);
}

static size_t count_objectives(const chosen *c) {
    size_t count = 0;
    while (lth_proposals_objective(c->proposals, count, NULL)) ++count;
    return count;
}

/* Mean and sd of each objective. */
static void expected_at(const chosen *c, size_t i, size_t f, size_t objectives,
                        chosen_figure *out) {
    const char *name = lth_proposals_objective(c->proposals, f / 2, NULL);
    name_figure(c, objectives > 1 ? name : NULL, f % 2 ? "sd" : "mean", out);
    if (i == LTH_NONE) return;
    out->number = f % 2 ? lth_proposals_sd(c->proposals, i, f / 2)
                        : lth_proposals_mean(c->proposals, i, f / 2);
}

bool chosen_figure_at(const chosen *c, size_t i, size_t f, chosen_figure *out) {
    *out = (chosen_figure){.number = NAN, .count = LTH_NONE};
    if (!c->proposals) return false;
    size_t objectives = count_objectives(c);
    if (f < 2 * objectives) {
        expected_at(c, i, f, objectives, out);
        return true;
    }
    f -= 2 * objectives;
    for (size_t k = 0; k < sizeof figures / sizeof *figures; ++k) {
        if (figures[k].has && !figures[k].has(c)) continue;
        if (f-- > 0) continue;
        out->is_text = figures[k].is_text;
        out->is_count = figures[k].is_count;
        name_figure(c, NULL, figures[k].name, out);
        if (i != LTH_NONE) figures[k].tell(c, lth_proposal_at(c->proposals, i), out);
        return true;
    }
    return false;
}

/* ---- Reasons ---- */

/* The function that an objective is: that of a target, of a class, or of the likeliest label. */
static bool find_function(const chosen *c, size_t i, size_t objective, chosen_reasons *out) {
    const char *name = lth_proposals_objective(c->proposals, objective, NULL);
    const char *label = lth_proposal_at(c->proposals, i)->label;
    for (size_t m = 0; m < c->model_count; ++m) {
        out->model = c->models[m];
        for (size_t f = 0; f < lth_model_functions(out->model); ++f) {
            model_function of = model_function_at(out->model, f);
            bool is_target = strcmp(of.target, name) == 0;
            bool is_class = of.class && strcmp(of.class, name) == 0;
            bool is_label = is_target && of.class && label && strcmp(of.class, label) == 0;
            out->function = f;
            if (is_class || is_label || (is_target && !of.class)) return true;
        }
    }
    return false;
}

int chosen_explain(const chosen *c, size_t i, size_t objective, bool only_parts,
                   chosen_reasons *out) {
    lth_error err = {0};
    lth_explain_options wanted;
    lth_explain_options_init(&wanted);
    *out = (chosen_reasons){0};
    if (!find_function(c, i, objective, out)) return EXIT_DONE;
    wanted.target = out->function;
    if (only_parts) wanted.patterns = wanted.rows = 0;
    lth_status status =
        model_explain(out->model, c->rows, chosen_row(c, i), &wanted, &out->reasons, &err);
    return status == LTH_OK ? session_check_interrupt(c->session) : session_fail(c->session, &err);
}

typedef struct heavy {
    size_t part;
    double weight;
} heavy;

static int by_weight(const void *a, const void *b) {
    const heavy *x = a, *y = b;
    if (fabs(x->weight) != fabs(y->weight)) return fabs(x->weight) > fabs(y->weight) ? -1 : 1;
    return x->part < y->part ? -1 : x->part > y->part;
}

/* The place of a letter in its cell, from 0; LTH_NONE = the part is no letter. */
static size_t site_of(const char *cell, size_t length, const lth_reasons_part *p) {
    size_t site = 0, letters = 0;
    if (!cell || p->first == LTH_NONE || p->first + p->length > length) return LTH_NONE;
    for (size_t b = 0; b < p->first + p->length; ++b) {
        bool begins = ((unsigned char)cell[b] & 0xC0) != 0x80;
        if (begins) ++*(b < p->first ? &site : &letters);
    }
    return letters == 1 && p->length < length ? site : LTH_NONE;
}

/* A letter of a sequence that is written as mutations of its wild type: the parts are all of its
 * letters, but the cell has others. */
static bool name_mutated(const lth_kernel *kernel, const lth_reasons *r, size_t part,
                         char out[64]) {
    const char *wild = lth_kernel_wild_type(kernel), *text = lth_reasons_part_at(r, part)->text;
    bool known = lth_reasons_summarise(r)->parts == strlen(wild);
    if (known)
        snprintf(out, 64, "%c%ld%.32s", wild[part], lth_kernel_wild_first(kernel) + (long)part,
                 text);
    else
        snprintf(out, 64, "%s", text);
    return !known || strncmp(text, wild + part, 1) != 0;
}

/* What a part is called: "V39A" or "39A" of a letter; false = the wild type has it, too. */
static bool name_part(const chosen *c, size_t i, const lth_reasons *r, size_t part, char out[64]) {
    const lth_kernel *kernel = lth_model_kernel(c->models[0]);
    if (lth_kernel_wild_type(kernel)) return name_mutated(kernel, r, part, out);
    const lth_reasons_part *p = lth_reasons_part_at(r, part);
    size_t length = 0, column = lth_table_find(c->rows, p->column);
    const char *cell =
        column == LTH_NONE ? NULL : lth_table_cell(c->rows, chosen_row(c, i), column, &length);
    size_t site = site_of(cell, length, p);
    bool mutated = site != LTH_NONE && c->wild && strlen(c->wild) == length;
    if (mutated)
        snprintf(out, 64, "%c%zu%.32s", c->wild[site], site + 1, p->text);
    else if (site != LTH_NONE)
        snprintf(out, 64, "%zu%.32s", site + 1, p->text);
    else
        snprintf(out, 64, "%s", p->text);
    return !mutated || c->wild[site] != cell[p->first];
}

void write_heaviest(FILE *to, const chosen *c, size_t i, const lth_reasons *reasons) {
    enum { MOST = 5 };
    size_t parts = lth_reasons_summarise(reasons)->parts, written = 0;
    heavy *all = calloc(parts + 1, sizeof *all);
    char name[64];
    if (!all) return; /* the reasons are short then */
    for (size_t p = 0; p < parts; ++p) all[p] = (heavy){p, lth_reasons_part_at(reasons, p)->weight};
    qsort(all, parts, sizeof *all, by_weight);
    for (size_t p = 0; p < parts && written < MOST; ++p) {
        if (!(fabs(all[p].weight) > 1e-3 * fabs(all[0].weight))) break; /* next to nothing */
        if (!name_part(c, i, reasons, all[p].part, name)) continue;
        if (written++) fputs(", ", to);
        write_text_cell(to, name);
        fprintf(to, " %+.3g", all[p].weight);
    }
    free(all);
}

/* ---- TSV ---- */

static void write_own_name(FILE *to, const chosen *c, const char *name) {
    chosen_figure figure;
    name_figure(c, NULL, name, &figure);
    write_text_cell(to, figure.name);
}

static void write_names(FILE *to, const chosen *c) {
    chosen_figure figure;
    write_own_name(to, c, "rank");
    if (c->numbered) putc('\t', to);
    if (c->numbered) write_own_name(to, c, "row");
    for (size_t column = 0; column < lth_table_columns(c->rows); ++column) {
        const char *name = lth_table_column_name(c->rows, column);
        if (!chosen_shows(c, column)) continue;
        putc('\t', to);
        write_text_cell(to, name);
    }
    for (size_t e = 0; e < c->empty.count; ++e) {
        putc('\t', to);
        write_text_cell(to, c->empty.at[e]);
    }
    for (size_t f = 0; chosen_figure_at(c, LTH_NONE, f, &figure); ++f) {
        putc('\t', to);
        write_text_cell(to, figure.name);
    }
    size_t objectives = c->explained && c->proposals ? count_objectives(c) : 0;
    for (size_t o = 0; o < objectives; ++o) {
        figure = (chosen_figure){0};
        name_figure(c, objectives > 1 ? lth_proposals_objective(c->proposals, o, NULL) : NULL,
                    "reasons", &figure);
        putc('\t', to);
        write_text_cell(to, figure.name);
    }
    putc('\n', to);
}

static void write_figure(FILE *to, const chosen_figure *figure) {
    if (figure->is_count && figure->count != LTH_NONE)
        fprintf(to, "%zu", figure->count);
    else if (figure->is_text && figure->text)
        write_text_cell(to, figure->text);
    else if (!figure->is_text && !figure->is_count)
        write_tsv_double(to, figure->number);
}

static int write_reasons(FILE *to, const chosen *c, size_t i) {
    int code = EXIT_DONE;
    for (size_t o = 0; !code && o < count_objectives(c); ++o) {
        chosen_reasons why;
        putc('\t', to);
        code = chosen_explain(c, i, o, true, &why);
        if (!code && why.reasons) write_heaviest(to, c, i, why.reasons);
        lth_reasons_free(why.reasons);
    }
    return code;
}

static int write_line(FILE *to, const chosen *c, size_t i) {
    chosen_figure figure;
    fprintf(to, "%zu", i + 1);
    if (c->numbered) fprintf(to, "\t%zu", lth_table_number(c->rows, chosen_row(c, i)));
    for (size_t column = 0; column < lth_table_columns(c->rows); ++column) {
        size_t length = 0;
        const char *cell = lth_table_cell(c->rows, chosen_row(c, i), column, &length);
        if (!chosen_shows(c, column)) continue;
        putc('\t', to);
        write_cell(to, cell, length);
    }
    for (size_t e = 0; e < c->empty.count; ++e) putc('\t', to);
    for (size_t f = 0; chosen_figure_at(c, i, f, &figure); ++f) {
        putc('\t', to);
        write_figure(to, &figure);
    }
    int code = c->explained && c->proposals ? write_reasons(to, c, i) : EXIT_DONE;
    putc('\n', to);
    return code;
}

int write_chosen_tsv(FILE *to, const chosen *c) {
    int code = EXIT_DONE;
    write_names(to, c);
    for (size_t i = 0; i < chosen_count(c) && !code; ++i) code = write_line(to, c, i);
    return code;
}

/* ---- JSON ---- */

static void put_settings(json_writer *w, const lth_proposals *p) {
    const char *name;
    bool minimize;
    json_put_text(w, "acquisition", lth_acquisition_name(lth_proposals_acquisition(p), NULL));
    json_put_text(w, "batch", lth_batch_name(lth_proposals_batch(p), NULL));
    json_begin_list(w, "objectives");
    for (size_t o = 0; (name = lth_proposals_objective(p, o, &minimize)) != NULL; ++o) {
        json_begin_object(w, NULL);
        json_put_text(w, "name", name);
        json_put_bool(w, "minimize", minimize);
        json_end(w);
    }
    json_end(w);
}

static int put_cells(json_writer *w, const chosen *c, size_t i) {
    int code = EXIT_DONE;
    json_begin_object(w, "columns");
    for (size_t column = 0; column < lth_table_columns(c->rows) && !code; ++column) {
        if (!chosen_shows(c, column)) continue;
        char *cell = chosen_cell(c, i, column);
        if (cell)
            json_put_text(w, lth_table_column_name(c->rows, column), cell);
        else
            code = out_of_memory();
        free(cell);
    }
    json_end(w);
    return code;
}

static void put_figures(json_writer *w, const chosen *c, size_t i) {
    chosen_figure figure;
    for (size_t f = 0; chosen_figure_at(c, i, f, &figure); ++f) {
        if (figure.is_text || (figure.is_count && figure.count == LTH_NONE))
            json_put_text(w, figure.name, figure.is_text ? figure.text : NULL);
        else if (figure.is_count)
            json_put_count(w, figure.name, figure.count);
        else
            json_put_double(w, figure.name, figure.number);
    }
}

static int put_reasons(json_writer *w, const chosen *c, size_t i) {
    int code = EXIT_DONE;
    json_begin_list(w, "reasons");
    for (size_t o = 0; !code && o < count_objectives(c); ++o) {
        chosen_reasons why;
        code = chosen_explain(c, i, o, false, &why);
        if (!code && why.reasons) {
            explanation x = {.model = why.model,
                             .table = c->rows,
                             .row = chosen_row(c, i),
                             .of = model_function_at(why.model, why.function),
                             .reasons = why.reasons};
            json_begin_object(w, NULL);
            json_put_reasons(w, &x);
            json_end(w);
        }
        lth_reasons_free(why.reasons);
    }
    json_end(w);
    return code;
}

static int put_row(json_writer *w, const chosen *c, size_t i) {
    json_begin_object(w, NULL);
    json_put_count(w, "rank", i + 1);
    if (c->numbered) json_put_count(w, "row", lth_table_number(c->rows, chosen_row(c, i)));
    int code = put_cells(w, c, i);
    if (!code) put_figures(w, c, i);
    if (c->cost && c->proposals) json_put_double(w, "cost", lth_proposal_at(c->proposals, i)->cost);
    if (!code && c->explained && c->proposals) code = put_reasons(w, c, i);
    json_end(w);
    return code;
}

int write_chosen_json(FILE *to, const chosen *c) {
    json_writer w = {.to = to};
    int code = EXIT_DONE;
    json_begin_result(&w, NULL);
    if (c->proposals) put_settings(&w, c->proposals);
    json_begin_list(&w, "proposals");
    for (size_t i = 0; i < chosen_count(c) && !code; ++i) code = put_row(&w, c, i);
    json_end(&w);
    json_end(&w);
    return code;
}
