/* Answers: what predict --json and explain --json print, for the rows of a request. */
#define _GNU_SOURCE 1 /* open_memstream */

#include <stdlib.h>
#include <string.h>

#include "output.h"
#include "report/reasons.h"
#include "serve/serve.h"

static const double sds_95 = 1.959964;

/* ---- Tables and failures ---- */

static bool fail(const lth_error *err, const serve_rows *rows, problem *why) {
    char where[32] = "";
    bool theirs = err->status == LTH_EFORMAT || err->status == LTH_ENUMERIC;
    if (theirs && err->line > 0 && !rows->single)
        snprintf(where, sizeof where, "row %zu: ", err->line);
    set_problem(why,
                theirs                      ? 400
                : err->status == LTH_ENOMEM ? 503
                                            : 500,
                "%s%s", where, err->message[0] ? err->message : lth_status_text(err->status));
    return false;
}

static bool lack_memory(problem *why) {
    set_problem(why, 503, "out of memory");
    return false;
}

static bool make_table(worker *w, const serve_columns *columns, const serve_rows *rows,
                       lth_table **out, problem *why) {
    lth_column *column = calloc(columns->count, sizeof *column);
    if (!column) return lack_memory(why);
    for (size_t c = 0; c < columns->count; ++c)
        column[c] = (lth_column){.name = columns->at[c].name,
                                 .text = rows->text + c * rows->count,
                                 .length = rows->length + c * rows->count};
    lth_error err = {0};
    lth_status status = lth_table_from_columns(w->session.ctx, column, sizeof *column,
                                               columns->count, rows->count, out, &err);
    free(column);
    return status == LTH_OK || fail(&err, rows, why);
}

/* ---- Predictions ---- */

typedef struct prediction {
    const model *model;
    const lth_table *table;
    size_t rows, targets, classes;
    double *mean, *sd;   /* numbers: [target * rows + row]; sd NULL = the model has none  */
    double *probability; /* labels: [row * classes + class]; NULL = the model has none    */
    bool *has;           /* likewise */
} prediction;

static void free_prediction(prediction *p) {
    free(p->mean);
    free(p->sd);
    free(p->probability);
    free(p->has);
}

static size_t most_probable(const prediction *p, size_t row) {
    const double *each = p->probability + row * p->classes;
    size_t best = 0;
    for (size_t c = 1; c < p->classes; ++c)
        if (each[c] > each[best]) best = c;
    return best;
}

/* The most probable label, or for several labels a row those that are more probable than not. */
static void decide(prediction *p) {
    bool several = lth_gp_is_multi_label(p->model->gp);
    for (size_t i = 0; i < p->rows * p->classes; ++i)
        p->has[i] = several && p->probability[i] > 0.5;
    for (size_t i = 0; i < p->rows && !several; ++i)
        p->has[i * p->classes + most_probable(p, i)] = true;
}

static bool allocate(prediction *p) {
    bool calibrated = p->model->gp || lth_svm_reported(p->model->svm)->probability;
    size_t numbers = p->rows * p->targets + 1, labels = p->rows * p->classes + 1;
    if (p->classes == 0) {
        p->mean = calloc(numbers, sizeof *p->mean);
        if (p->model->gp) p->sd = calloc(numbers, sizeof *p->sd);
        return p->mean && (p->sd || !p->model->gp);
    }
    p->has = calloc(labels, sizeof *p->has);
    if (calibrated) p->probability = calloc(labels, sizeof *p->probability);
    return p->has && (p->probability || !calibrated);
}

static lth_status ask(prediction *p, lth_error *err) {
    const model *m = p->model;
    lth_svm_prediction to = {.value = p->mean, .has = p->has, .probability = p->probability};
    if (m->svm) return lth_svm_predict(m->svm, p->table, &to, sizeof to, err);
    if (p->classes == 0) return lth_gp_predict(m->gp, p->table, false, p->mean, p->sd, err);
    lth_status status = lth_gp_classify(m->gp, p->table, p->probability, err);
    if (status == LTH_OK) decide(p);
    return status;
}

static bool predict(const worker *w, const lth_table *table, const serve_rows *rows,
                    prediction *out, problem *why) {
    const model *m = w->model;
    *out = (prediction){.model = m,
                        .table = table,
                        .rows = rows->count,
                        .targets = m->svm ? 1 : lth_gp_targets(m->gp),
                        .classes = model_has_labels(m) ? model_classes(m) : 0};
    if (!allocate(out)) return lack_memory(why);
    lth_error err = {0};
    return ask(out, &err) == LTH_OK || fail(&err, rows, why);
}

/* With one target "mean", otherwise "joy.mean". */
static void write_figure(FILE *out, const prediction *p, size_t target, const char *what,
                         double value) {
    const char *of = p->targets > 1 ? model_target(p->model, target) : "";
    char name[strlen(of) + strlen(what) + 2];
    snprintf(name, sizeof name, "%s%s%s", of, *of ? "." : "", what);
    putc(',', out);
    write_json_string(out, name);
    putc(':', out);
    write_json_double(out, value);
}

static void write_numbers(FILE *out, const prediction *p, size_t row) {
    for (size_t t = 0; t < p->targets; ++t) {
        double mean = p->mean[t * p->rows + row];
        write_figure(out, p, t, "mean", mean);
        if (!p->sd) continue;
        double sd = p->sd[t * p->rows + row];
        write_figure(out, p, t, "sd", sd);
        write_figure(out, p, t, "lo", mean - sds_95 * sd);
        write_figure(out, p, t, "hi", mean + sds_95 * sd);
    }
}

/* Labels have no commas of their own: that is what separates them. */
static void write_labels(FILE *out, const prediction *p, size_t row) {
    size_t size = 1;
    for (size_t c = 0; c < p->classes; ++c) size += strlen(model_class(p->model, c)) + 4;
    char text[size], *end = text;
    *end = 0;
    for (size_t c = 0; c < p->classes; ++c) {
        if (!p->has[row * p->classes + c]) continue;
        if (end > text) *end++ = ',';
        end = stpcpy(end, model_class(p->model, c));
    }
    fputs(",\"label\":", out);
    write_json_string(out, text);
    for (size_t c = 0; p->probability && c < p->classes; ++c) {
        snprintf(text, size, "p[%s]", model_class(p->model, c));
        putc(',', out);
        write_json_string(out, text);
        putc(':', out);
        write_json_double(out, p->probability[row * p->classes + c]);
    }
}

static void write_prediction(FILE *out, const prediction *p, size_t row) {
    fprintf(out, "{\"schema\":1,\"row\":%zu", lth_table_number(p->table, row));
    if (p->classes > 0)
        write_labels(out, p, row);
    else
        write_numbers(out, p, row);
    putc('}', out);
}

bool answer_predict(worker *w, const serve_columns *columns, const serve_rows *rows, FILE *out,
                    problem *why) {
    lth_table *table = NULL;
    prediction p = {0};
    bool good = rows->count == 0 ||
                (make_table(w, columns, rows, &table, why) && predict(w, table, rows, &p, why));
    if (good) {
        if (!rows->single) fputs("{\"rows\":[", out);
        for (size_t i = 0; i < rows->count; ++i) {
            if (i) putc(',', out);
            write_prediction(out, &p, i);
        }
        fputs(rows->single ? "\n" : "]}\n", out);
    }
    free_prediction(&p);
    lth_table_free(table);
    return good;
}

/* ---- Reasons ---- */

typedef struct asked {
    const serve_rows *rows;
    const explain_query *query;
    prediction prediction;
    size_t class; /* LTH_NONE = numbers, or no class in particular */
    size_t done;
    FILE *out;
} asked;

/* The class whose reasons are given: as luthier explain chooses it. */
static bool choose_class(asked *a, problem *why) {
    const prediction *p = &a->prediction;
    const char *name = a->query->class;
    a->class = LTH_NONE;
    if (p->classes == 0 && name) set_problem(why, 400, "the model has numbers, and no classes");
    if (p->classes == 0) return !name;
    if (name) {
        for (size_t c = 0; c < p->classes && a->class == LTH_NONE; ++c)
            if (strcmp(model_class(p->model, c), name) == 0) a->class = c;
        if (a->class == LTH_NONE) set_problem(why, 400, "the model has no class \"%.100s\"", name);
        return a->class != LTH_NONE;
    }
    a->class = 0;
    if (p->model->gp) a->class = most_probable(p, 0);
    while (!p->model->gp && a->class + 1 < p->classes && !p->has[a->class]) ++a->class;
    if (!p->model->gp && !p->has[a->class]) a->class = 0;
    return true;
}

static bool is_wanted(const asked *a, size_t target) {
    const model *m = a->prediction.model;
    const char *name = a->query->target;
    if (name && strcmp(model_target(m, target), name) != 0) return false;
    return a->class == LTH_NONE || model_concerns(m, target, a->class);
}

/* The object as explain --json prints it, freed with free(). */
static char *print_reasons(const asked *a, size_t target, const lth_reasons *reasons,
                           size_t *size) {
    char *text = NULL;
    explain_writer writer = {.out = open_memstream(&text, size)};
    if (!writer.out) return NULL;
    explanation x = explanation_of(a->prediction.model, target);
    x.table = a->prediction.table;
    x.reasons = reasons;
    explain_json(&writer, &x);
    bool lost = ferror(writer.out) != 0;
    if (fclose(writer.out) == 0 && !lost) return text;
    free(text);
    return NULL;
}

/* The first is the answer itself, open at its end for what comes with it. */
static void write_reasons(asked *a, const char *text, size_t size) {
    static const char end[] = "}\n";
    size_t length = size - strlen(end);
    if (a->done > 1) putc(',', a->out);
    fwrite(text, 1, a->done == 0 ? length : length + 1, a->out);
    if (a->done++ > 0) return;
    fputs(",\"prediction\":", a->out);
    write_prediction(a->out, &a->prediction, 0);
    fputs(",\"more\":[", a->out);
}

static bool explain_target(asked *a, size_t target, problem *why) {
    const model *m = a->prediction.model;
    lth_explain_options how;
    lth_explain_options_init(&how);
    how.target = target;
    how.patterns = a->query->patterns;
    how.rows = a->query->rows;
    lth_error err = {0};
    lth_reasons *reasons = NULL;
    lth_status status = m->svm
                            ? lth_svm_explain(m->svm, a->prediction.table, 0, &how, &reasons, &err)
                            : lth_gp_explain(m->gp, a->prediction.table, 0, &how, &reasons, &err);
    if (status != LTH_OK) return fail(&err, a->rows, why);
    size_t size;
    char *text = print_reasons(a, target, reasons, &size);
    lth_reasons_free(reasons);
    if (!text) return lack_memory(why);
    write_reasons(a, text, size);
    free(text);
    return true;
}

static bool explain_all(asked *a, problem *why) {
    const model *m = a->prediction.model;
    bool good = choose_class(a, why);
    for (size_t i = 0; i < model_targets(m) && good; ++i)
        if (is_wanted(a, i)) good = explain_target(a, i, why);
    if (good && a->done == 0) {
        set_problem(why, 400, "the model has no target \"%.100s\"", a->query->target);
        return false;
    }
    fputs("]}\n", a->out);
    return good;
}

bool answer_explain(worker *w, const serve_columns *columns, const serve_rows *rows,
                    const explain_query *query, FILE *out, problem *why) {
    if (rows->count != 1) {
        set_problem(why, 400, "one row is explained at a time, not %zu", rows->count);
        return false;
    }
    lth_table *table = NULL;
    asked a = {.rows = rows, .query = query, .out = out};
    bool good = make_table(w, columns, rows, &table, why) &&
                predict(w, table, rows, &a.prediction, why) && explain_all(&a, why);
    free_prediction(&a.prediction);
    lth_table_free(table);
    return good;
}
