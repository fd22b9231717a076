/* Answers: what predict --json, explain --json and mutate --json print, for the rows of a request.
 */
#include <stdlib.h>
#include <string.h>

#include "prediction.h"
#include "report/mutations.h"
#include "report/reasons.h"
#include "serve/serve.h"

/* ---- Tables and failures ---- */

static bool lack_memory(problem *why) {
    set_problem(why, 503, "out of memory");
    return false;
}

static bool fail(const lth_error *err, const serve_rows *rows, problem *why) {
    char where[32] = "";
    bool theirs = err->status == LTH_EFORMAT || err->status == LTH_ENUMERIC;
    if (err->status == LTH_ENOMEM) return lack_memory(why);
    if (err->status == LTH_ECANCELED) {
        set_problem(why, 503, "it was given up");
        return false;
    }
    if (theirs && err->line > 0 && !rows->single)
        snprintf(where, sizeof where, "row %zu: ", err->line);
    set_problem(why, theirs ? 400 : 500, "%s%s", where,
                err->message[0] ? err->message : lth_status_text(err->status));
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

static bool predict(const worker *w, const lth_table *table, const serve_rows *rows,
                    prediction *out, problem *why) {
    lth_error err = {0};
    return prediction_make(w->model, table, false, out, &err) == LTH_OK || fail(&err, rows, why);
}

bool answer_predict(worker *w, const serve_columns *columns, const serve_rows *rows, FILE *out,
                    problem *why) {
    lth_table *table = NULL;
    prediction p = {0};
    bool good = rows->count == 0 ||
                (make_table(w, columns, rows, &table, why) && predict(w, table, rows, &p, why));
    json_writer json = {.to = out};
    if (good && rows->single) json_put_prediction(&json, NULL, &p, 0);
    if (good && !rows->single) {
        json_begin_object(&json, NULL);
        json_begin_list(&json, "rows");
        for (size_t i = 0; i < rows->count; ++i) json_put_prediction(&json, NULL, &p, i);
        json_end(&json);
        json_end(&json);
    }
    prediction_free(&p);
    lth_table_free(table);
    return good;
}

/* ---- Reasons ---- */

typedef struct asked {
    lth_model *model;
    const serve_rows *rows;
    const explain_query *query;
    prediction prediction;
    size_t class; /* LTH_NONE = numbers, or no class in particular */
    size_t done;
    json_writer json;
} asked;

/* The class whose reasons are given: as luthier explain chooses it. */
static bool choose_class(asked *a, problem *why) {
    const char *name = a->query->class;
    bool labels = lth_model_classes(a->model) > 0;
    a->class = LTH_NONE;
    if (labels && !name) a->class = prediction_class(&a->prediction, 0);
    if (labels && name) a->class = model_find_class(a->model, name, strlen(name));
    if (!name || a->class != LTH_NONE) return true;
    if (labels)
        set_problem(why, 400, "the model has no class \"%.100s\"", name);
    else
        set_problem(why, 400, "the model has numbers, and no classes");
    return false;
}

static bool is_wanted(const asked *a, size_t function) {
    const char *target = model_function_at(a->model, function).target, *name = a->query->target;
    if (name && strcmp(target, name) != 0) return false;
    return a->class == LTH_NONE || model_concerns(a->model, function, a->class);
}

/* The first is the answer itself, with the others in it. */
static void write_reasons(asked *a, size_t function, const lth_reasons *reasons) {
    explanation x = {.model = a->model,
                     .table = a->prediction.table,
                     .of = model_function_at(a->model, function),
                     .reasons = reasons};
    json_begin_result(&a->json, NULL);
    json_put_reasons(&a->json, &x);
    if (a->done++ > 0) {
        json_end(&a->json);
        return;
    }
    json_put_prediction(&a->json, "prediction", &a->prediction, 0);
    json_begin_list(&a->json, "more");
}

static bool explain_function(asked *a, size_t function, problem *why) {
    lth_explain_options wanted;
    lth_explain_options_init(&wanted);
    wanted.target = function;
    wanted.patterns = a->query->patterns;
    wanted.rows = a->query->rows;
    lth_error err = {0};
    lth_reasons *reasons = NULL;
    if (model_explain(a->model, a->prediction.table, 0, &wanted, &reasons, &err) != LTH_OK)
        return fail(&err, a->rows, why);
    write_reasons(a, function, reasons);
    lth_reasons_free(reasons);
    return true;
}

static bool explain_all(asked *a, problem *why) {
    bool good = choose_class(a, why);
    for (size_t i = 0; i < lth_model_functions(a->model) && good; ++i)
        if (is_wanted(a, i)) good = explain_function(a, i, why);
    if (good && a->done == 0) {
        set_problem(why, 400, "the model has no target \"%.100s\"", a->query->target);
        return false;
    }
    if (!good) return false;
    json_end(&a->json);
    json_end(&a->json);
    return true;
}

bool answer_explain(worker *w, const serve_columns *columns, const serve_rows *rows,
                    const explain_query *query, FILE *out, problem *why) {
    if (rows->count != 1) {
        set_problem(why, 400, "one row is explained at a time, not %zu", rows->count);
        return false;
    }
    lth_table *table = NULL;
    asked a = {.model = w->model, .rows = rows, .query = query, .json = {.to = out}};
    bool good = make_table(w, columns, rows, &table, why) &&
                predict(w, table, rows, &a.prediction, why) && explain_all(&a, why);
    prediction_free(&a.prediction);
    lth_table_free(table);
    return good;
}

/* ---- Mutations ---- */

/* A request may take a few seconds of one core. */
enum { MOST_MUTATIONS = 20000 };
static const double most_work = 2e10;

static bool refuse(problem *why, const char *what) {
    set_problem(why, 400, "%s", what);
    return false;
}

static bool check_mutable(worker *w, const serve_rows *rows, const char *letters, problem *why) {
    if (mutations_obstacle(w->model))
        return refuse(why, "mutations are for models of one column of sequences");
    if (rows->count != 1) return refuse(why, "one sequence is mutated at a time");
    if (letters && !mutations_are_letters(letters))
        return refuse(why, "letters wants plain letters, such as ACGT");
    bool own = lth_kernel_wild_type(lth_model_kernel(w->model)) != NULL;
    if (own || (mutations_are_letters(rows->text[0]) && strlen(rows->text[0]) == rows->length[0]))
        return true;
    return refuse(why, "a sequence has plain letters alone");
}

static bool check_work(const mutations *m, lth_model *model, problem *why) {
    if (m->rows - 1 > MOST_MUTATIONS) {
        set_problem(why, 400, "%zu sites with %zu letters each are more than %d mutations",
                    m->sites, m->letter_count, (int)MOST_MUTATIONS);
        return false;
    }
    return mutations_work(m, model) <= most_work ||
           refuse(why, "all mutations of this sequence would take too long; luthier mutate has "
                       "the time");
}

typedef struct mutating {
    const mutations *of;
    json_writer json;
} mutating;

static bool write_slice(void *user, const prediction *p, const size_t *row, size_t count) {
    mutating *to = user;
    for (size_t i = 0; i < count; ++i) json_put_mutation(&to->json, to->of, p, row[i], i);
    return true;
}

static bool write_mutations(worker *w, mutations *m, const serve_rows *rows, FILE *out,
                            problem *why) {
    lth_error err = {0};
    mutating to = {.of = m, .json = {.to = out}};
    json_begin_object(&to.json, NULL);
    json_put_text(&to.json, "target", lth_model_target(w->model, 0));
    json_put_text(&to.json, "sequence", m->wild);
    json_put_double(&to.json, "first", (double)m->first);
    json_put_text(&to.json, "letters", m->letters);
    json_begin_list(&to.json, "rows");
    if (mutations_predict(m, &w->session, w->model, false, write_slice, &to, &err) != LTH_OK)
        return fail(&err, rows, why);
    json_end(&to.json);
    json_end(&to.json);
    return true;
}

bool answer_mutate(worker *w, const serve_rows *rows, const char *letters, FILE *out,
                   problem *why) {
    mutations m = {0};
    if (!check_mutable(w, rows, letters, why)) return false;
    if (!mutations_open(&m, w->model, rows->text[0], letters)) return lack_memory(why);
    bool good = check_work(&m, w->model, why) && write_mutations(w, &m, rows, out, why);
    mutations_close(&m);
    return good;
}
