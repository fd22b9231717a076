/* luthier explain: what a prediction comes from, or what weighs most in a model. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "output.h"
#include "prediction.h"
#include "report/html.h"
#include "report/reasons.h"

enum { AS_TEXT, AS_TSV, AS_JSON, AS_HTML };
enum { COLOUR_AUTO, COLOUR_ALWAYS, COLOUR_NEVER };

typedef struct job {
    session session;
    const options *options;
    lth_model *model;
    lth_table *table; /* NULL = none was given */
    size_t *rows, row_count;
    bool *chosen; /* which of the model's functions, */
    size_t functions;
    bool by_label; /* unless it is by the label of each row */
    prediction prediction;
    text_file out;
    explain_writer writer;
} job;

/* ---- What is asked for ---- */

static int as_what(const options *o) {
    return o->json ? AS_JSON : o->as >= 0 ? o->as : AS_TEXT;
}

static int check_usage(const options *o) {
    list tables = tables_from(o, 1);
    bool table = tables.count > 0;
    if (strcmp(o->arguments[0], "-") == 0 && names_stdin(&tables))
        return usage_error(o->command, "only one of M and TABLE can be standard input");
    if (o->json && o->as >= 0 && o->as != AS_JSON)
        return usage_error(o->command, "--json and --as contradict each other");
    if (!table && o->row.count > 0) return usage_error(o->command, "--row goes with a TABLE");
    return EXIT_DONE;
}

/* All functions that are about the class of that name. */
static int choose_class(job *j, const char *name) {
    lth_model *m = j->model;
    if (lth_model_classes(m) == 0)
        return usage_error(j->options->command, "--class is for labels, but the model has numbers");
    size_t class = model_find_class(m, name, strlen(name));
    if (class == LTH_NONE)
        return usage_error(j->options->command, "the model has no class \"%s\"", name);
    for (size_t i = 0; i < j->functions; ++i) j->chosen[i] = model_concerns(m, i, class);
    return EXIT_DONE;
}

static int choose_target(job *j, const char *name, size_t length) {
    bool found = false;
    for (size_t i = 0; i < j->functions; ++i) {
        const char *own = model_function_at(j->model, i).target;
        if (strlen(own) != length || memcmp(own, name, length) != 0) continue;
        found = true;
        j->chosen[i] = true;
    }
    if (found) return EXIT_DONE;
    return usage_error(j->options->command, "the model has no target \"%.*s\"", (int)length, name);
}

static int choose_functions(job *j) {
    const options *o = j->options;
    j->functions = lth_model_functions(j->model);
    j->chosen = calloc(j->functions + 1, sizeof *j->chosen);
    if (!j->chosen) return out_of_memory();
    for (size_t i = 0; i < o->target.count; ++i) {
        for (const char *name = o->target.at[i]; *name;) {
            size_t length = strcspn(name, ",");
            int code = choose_target(j, name, length);
            if (code) return code;
            name += length + (name[length] == ',');
        }
    }
    if (o->class_name) return choose_class(j, o->class_name);
    j->by_label = lth_model_classes(j->model) > 0 && j->table;
    for (size_t i = 0; o->target.count == 0 && i < j->functions; ++i) j->chosen[i] = true;
    return EXIT_DONE;
}

static int choose_row(job *j, const char *text, size_t length) {
    char *end;
    unsigned long long number = strtoull(text, &end, 10);
    if (end != text + length || length == 0 || *text < '0' || *text > '9')
        return usage_error(j->options->command, "--row wants N[,N...], not \"%.*s\"", (int)length,
                           text);
    for (size_t i = 0; i < lth_table_rows(j->table); ++i) {
        if (lth_table_number(j->table, i) != number) continue;
        j->rows[j->row_count++] = i;
        return EXIT_DONE;
    }
    lth_error err = {.status = LTH_EFORMAT};
    snprintf(err.message, sizeof err.message, "there is no row %llu", number);
    return session_fail_input(&j->session, &err, j->options->arguments[1]);
}

static int choose_rows(job *j) {
    const list *asked = &j->options->row;
    size_t all = lth_table_rows(j->table), room = all;
    for (size_t i = 0; i < asked->count; ++i) room += strlen(asked->at[i]);
    j->rows = calloc(room + 1, sizeof *j->rows);
    if (!j->rows) return out_of_memory();
    for (size_t i = 0; i < asked->count; ++i) {
        for (const char *text = asked->at[i];;) {
            size_t length = strcspn(text, ",");
            int code = choose_row(j, text, length);
            if (code) return code;
            if (!text[length]) break;
            text += length + 1;
        }
    }
    if (asked->count > 0) return EXIT_DONE;
    for (size_t i = 0; i < all; ++i) j->rows[i] = i;
    j->row_count = all;
    return EXIT_DONE;
}

/* ---- Predictions ---- */

/* For numbers: the words of all rows are then known at once, and their vectors need be read only
 * once. */
static lth_status predict_numbers(job *j, lth_error *err) {
    size_t values = lth_table_rows(j->table) * lth_model_targets(j->model);
    model_prediction to = {.mean = calloc(values, sizeof *to.mean)};
    lth_status status = LTH_ENOMEM;
    if (to.mean) status = model_predict(j->model, j->table, true, &to, err);
    free(to.mean);
    return status;
}

/* Labels are needed to choose what is explained. */
static int predict(job *j) {
    lth_error err = {.status = LTH_ENOMEM};
    int code = session_use_vectors(&j->session, j->model);
    if (code) return code;
    lth_status status = lth_model_classes(j->model) > 0
                            ? prediction_make(j->model, j->table, false, &j->prediction, &err)
                            : predict_numbers(j, &err);
    tell_words(j->model); /* reasons read the rows again */
    if (status == LTH_EFORMAT)
        return session_fail_input(&j->session, &err, j->options->arguments[1]);
    return status == LTH_OK ? session_check_interrupt(&j->session)
                            : session_fail(&j->session, &err);
}

/* ---- Reasons ---- */

static void write_explanation(job *j, const explanation *x) {
    static void (*const writers[])(explain_writer *, const explanation *) = {
        explain_text, explain_tsv, explain_json, explain_html};
    writers[as_what(j->options)](&j->writer, x);
}

static int write_reasons(job *j, size_t row, size_t function, lth_reasons *reasons) {
    explanation x = {.model = j->model,
                     .table = j->table,
                     .row = row,
                     .of = model_function_at(j->model, function),
                     .reasons = reasons};
    write_explanation(j, &x);
    lth_reasons_free(reasons);
    return j->writer.failed ? out_of_memory() : session_check_interrupt(&j->session);
}

static int explain_function(job *j, size_t row, size_t function) {
    lth_error err = {0};
    lth_reasons *reasons = NULL;
    lth_explain_options wanted;
    lth_explain_options_init(&wanted);
    wanted.target = function;
    if (j->options->patterns != NOT_GIVEN) wanted.patterns = j->options->patterns;
    if (j->options->rows != NOT_GIVEN) wanted.rows = j->options->rows;
    lth_status status = model_explain(j->model, j->table, row, &wanted, &reasons, &err);
    if (status == LTH_EFORMAT)
        return session_fail_input(&j->session, &err, j->options->arguments[1]);
    if (status != LTH_OK) return session_fail(&j->session, &err);
    return write_reasons(j, row, function, reasons);
}

static bool is_wanted(const job *j, size_t row, size_t function) {
    if (!j->by_label) return j->chosen[function];
    return model_concerns(j->model, function, prediction_class(&j->prediction, row));
}

static int explain_rows(job *j) {
    int code = EXIT_DONE;
    for (size_t i = 0; i < j->row_count && !code; ++i) {
        for (size_t f = 0; f < j->functions && !code; ++f)
            if (is_wanted(j, j->rows[i], f)) code = explain_function(j, j->rows[i], f);
    }
    return code;
}

static int explain_model(job *j) {
    int code = EXIT_DONE;
    size_t count = j->options->patterns != NOT_GIVEN ? j->options->patterns : 10;
    for (size_t f = 0; f < j->functions && !code; ++f) {
        lth_error err = {0};
        lth_reasons *reasons = NULL;
        if (!j->chosen[f]) continue;
        lth_status status = lth_model_patterns(j->model, f, count, &reasons, &err);
        if (status != LTH_OK) return session_fail(&j->session, &err);
        code = write_reasons(j, 0, f, reasons);
    }
    return code;
}

/* ---- The command ---- */

static int write_all(job *j) {
    bool page = as_what(j->options) == AS_HTML;
    const options *o = j->options;
    int code = text_open(&j->out, o->output);
    if (code) return code;
    bool terminal = j->out.stream == stdout && use_colour();
    j->writer = (explain_writer){.out = j->out.stream,
                                 .colour = o->colour == COLOUR_ALWAYS ||
                                           (o->colour != COLOUR_NEVER && terminal)};
    if (page) html_open_reasons(j->out.stream, "Reasons", j->table != NULL);
    code = j->table ? explain_rows(j) : explain_model(j);
    if (page) html_close(j->out.stream);
    hold_interrupts();
    int closed = text_close(&j->out, !code);
    release_interrupts();
    return code ? code : closed;
}

static int read_rows(job *j) {
    const char *room[1];
    list more = model_columns(j->model, room);
    list tables = tables_from(j->options, 1);
    int code =
        session_read_tables(&j->session, &tables, lth_model_kernel(j->model), &more, &j->table);
    return code ? code : choose_rows(j);
}

static int run_job(job *j) {
    const options *o = j->options;
    int code = o->output ? check_output(o->output) : EXIT_DONE;
    if (!code) code = session_load_model(&j->session, o->arguments[0], &j->model);
    if (!code && o->argument_count > 1) code = read_rows(j);
    if (!code) code = choose_functions(j);
    if (!code && j->table) code = predict(j);
    if (!code) code = write_all(j);
    return code;
}

int run_explain(const options *o) {
    int code = check_usage(o);
    if (code) return code;
    job j = {.options = o};
    code = session_open(&j.session, o);
    if (!code) code = run_job(&j);
    free(j.rows);
    free(j.chosen);
    prediction_free(&j.prediction);
    lth_table_free(j.table);
    free_model(j.model);
    session_close(&j.session);
    return code;
}
