/* luthier explain: what a prediction comes from, or what weighs most in a model. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "output.h"
#include "report/html.h"
#include "report/reasons.h"

enum { AS_TEXT, AS_TSV, AS_JSON, AS_HTML };
enum { COLOUR_AUTO, COLOUR_ALWAYS, COLOUR_NEVER };

typedef struct job {
    session session;
    const options *options;
    model model;
    lth_table *table; /* NULL = none was given */
    size_t *rows, row_count;
    bool *targets; /* which targets, classes or problems; NULL = by the row's own label */
    size_t target_count;
    size_t *label; /* predicted, by row; NULL for numbers */
    text_file out;
    explain_writer writer;
} job;

/* ---- What is asked for ---- */

static int as_what(const options *o) {
    return o->json ? AS_JSON : o->as >= 0 ? o->as : AS_TEXT;
}

static int check_usage(const options *o) {
    bool table = o->argument_count > 1;
    if (table && strcmp(o->arguments[0], "-") == 0 && strcmp(o->arguments[1], "-") == 0)
        return usage_error(o->command, "only one of M and TABLE can be standard input");
    if (o->json && o->as >= 0 && o->as != AS_JSON)
        return usage_error(o->command, "--json and --as contradict each other");
    if (!table && o->row.count > 0) return usage_error(o->command, "--row goes with a TABLE");
    return EXIT_DONE;
}

/* The class of that name; all targets that are about it. */
static int choose_class(job *j, const char *name) {
    const model *m = &j->model;
    if (!model_has_labels(m))
        return usage_error(j->options->command, "--class is for labels, but the model has numbers");
    size_t class = 0, classes = model_classes(m);
    while (class < classes && strcmp(model_class(m, class), name) != 0) ++class;
    if (class == classes)
        return usage_error(j->options->command, "the model has no class \"%s\"", name);
    for (size_t i = 0; i < j->target_count; ++i) j->targets[i] = model_concerns(m, i, class);
    return EXIT_DONE;
}

static int choose_target(job *j, const char *name, size_t length) {
    bool found = false;
    for (size_t i = 0; i < j->target_count; ++i) {
        const char *own = model_target(&j->model, i);
        if (strlen(own) != length || memcmp(own, name, length) != 0) continue;
        found = true;
        j->targets[i] = true;
    }
    if (found) return EXIT_DONE;
    return usage_error(j->options->command, "the model has no target \"%.*s\"", (int)length, name);
}

static int choose_targets(job *j) {
    const options *o = j->options;
    j->target_count = model_targets(&j->model);
    j->targets = calloc(j->target_count + 1, sizeof *j->targets);
    if (!j->targets) return out_of_memory();
    for (size_t i = 0; i < o->target.count; ++i) {
        for (const char *name = o->target.at[i]; *name;) {
            size_t length = strcspn(name, ",");
            int code = choose_target(j, name, length);
            if (code) return code;
            name += length + (name[length] == ',');
        }
    }
    if (o->class_name) return choose_class(j, o->class_name);
    if (model_has_labels(&j->model) && j->table) { /* those of the predicted label */
        free(j->targets);
        j->targets = NULL;
        return EXIT_DONE;
    }
    for (size_t i = 0; o->target.count == 0 && i < j->target_count; ++i) j->targets[i] = true;
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

static lth_status predict_classes(job *j, lth_error *err) {
    size_t rows = lth_table_rows(j->table), classes = model_classes(&j->model);
    double *p = calloc(rows * classes + 1, sizeof *p);
    if (!p) return LTH_ENOMEM;
    lth_status status = lth_gp_classify(j->model.gp, j->table, p, err);
    for (size_t i = 0; status == LTH_OK && i < rows; ++i) {
        for (size_t c = 1; c < classes; ++c)
            if (p[i * classes + c] > p[i * classes + j->label[i]]) j->label[i] = c;
    }
    free(p);
    return status;
}

/* A row of several labels, or none, is explained by the first one that it has. */
static lth_status predict_labels(job *j, lth_error *err) {
    if (j->model.gp) return predict_classes(j, err);
    size_t rows = lth_table_rows(j->table), classes = model_classes(&j->model);
    bool *has = calloc(rows * classes + 1, sizeof *has);
    if (!has) return LTH_ENOMEM;
    lth_svm_prediction to = {.has = has};
    lth_status status = lth_svm_predict(j->model.svm, j->table, &to, sizeof to, err);
    for (size_t i = 0; status == LTH_OK && i < rows; ++i) {
        for (size_t c = classes; c-- > 0;)
            if (has[i * classes + c]) j->label[i] = c;
    }
    free(has);
    return status;
}

/* Labels are needed to choose what is explained. For numbers it is done as well: the words of all
 * rows are then known at once, and their vectors need be read only once. */
static int predict(job *j) {
    lth_error err = {0};
    const char *vectors = j->options->vectors;
    lth_status status = j->model.svm ? lth_svm_use_vectors(j->model.svm, vectors, &err)
                                     : lth_gp_use_vectors(j->model.gp, vectors, &err);
    size_t rows = lth_table_rows(j->table);
    if (status == LTH_OK && model_has_labels(&j->model)) {
        j->label = calloc(rows + 1, sizeof *j->label);
        if (!j->label) return out_of_memory();
        status = predict_labels(j, &err);
    } else if (status == LTH_OK) {
        size_t targets = j->model.gp ? lth_gp_targets(j->model.gp) : 1;
        double *mean = calloc(rows * targets + 1, sizeof *mean);
        if (!mean) return out_of_memory();
        lth_svm_prediction to = {.value = mean};
        status = j->model.svm ? lth_svm_predict(j->model.svm, j->table, &to, sizeof to, &err)
                              : lth_gp_predict(j->model.gp, j->table, true, mean, NULL, &err);
        free(mean);
    }
    if (status == LTH_EFORMAT)
        return session_fail_input(&j->session, &err, j->options->arguments[1]);
    return status == LTH_OK ? session_check_interrupt(&j->session)
                            : session_fail(&j->session, &err);
}

/* ---- Reasons ---- */

explanation explanation_of(const model *m, size_t target) {
    explanation x = {.model = m, .target = model_target(m, target)};
    if (m->gp && lth_gp_classes(m->gp) > 0) x.class = model_class(m, target);
    if (!m->svm || !model_has_labels(m)) return x;
    size_t positive, negative;
    lth_svm_problem_at(m->svm, target, &positive, &negative);
    x.class = model_class(m, positive);
    if (negative != LTH_NONE) x.against = model_class(m, negative);
    return x;
}

static void write_explanation(job *j, const explanation *x) {
    static void (*const writers[])(explain_writer *, const explanation *) = {
        explain_text, explain_tsv, explain_json, explain_html};
    writers[as_what(j->options)](&j->writer, x);
}

static int explain_target(job *j, size_t row, size_t target) {
    lth_error err = {0};
    lth_reasons *reasons = NULL;
    lth_explain_options how;
    lth_explain_options_init(&how);
    how.target = target;
    if (j->options->patterns != NOT_GIVEN) how.patterns = j->options->patterns;
    if (j->options->rows != NOT_GIVEN) how.rows = j->options->rows;
    lth_status status = j->model.svm
                            ? lth_svm_explain(j->model.svm, j->table, row, &how, &reasons, &err)
                            : lth_gp_explain(j->model.gp, j->table, row, &how, &reasons, &err);
    if (status == LTH_EFORMAT)
        return session_fail_input(&j->session, &err, j->options->arguments[1]);
    if (status != LTH_OK) return session_fail(&j->session, &err);
    explanation x = explanation_of(&j->model, target);
    x.table = j->table;
    x.row = row;
    x.reasons = reasons;
    write_explanation(j, &x);
    lth_reasons_free(reasons);
    return session_check_interrupt(&j->session);
}

static int explain_rows(job *j) {
    int code = EXIT_DONE;
    for (size_t i = 0; i < j->row_count && !code; ++i) {
        for (size_t t = 0; t < j->target_count && !code; ++t) {
            bool wanted =
                j->targets ? j->targets[t] : model_concerns(&j->model, t, j->label[j->rows[i]]);
            if (wanted) code = explain_target(j, j->rows[i], t);
        }
    }
    return code;
}

static int explain_model(job *j) {
    int code = EXIT_DONE;
    size_t count = j->options->patterns != NOT_GIVEN ? j->options->patterns : 10;
    for (size_t t = 0; t < j->target_count && !code; ++t) {
        lth_error err = {0};
        lth_reasons *reasons = NULL;
        if (!j->targets[t]) continue;
        lth_status status = j->model.svm ? lth_svm_patterns(j->model.svm, t, count, &reasons, &err)
                                         : lth_gp_patterns(j->model.gp, t, count, &reasons, &err);
        if (status != LTH_OK) return session_fail(&j->session, &err);
        explanation x = explanation_of(&j->model, t);
        x.reasons = reasons;
        write_explanation(j, &x);
        lth_reasons_free(reasons);
        code = session_check_interrupt(&j->session);
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
    if (page) {
        html_open(j->out.stream, "Reasons");
        fputs("<h1>Reasons</h1>\n<p class=\"note\">Blue raises the prediction, red lowers "
              "it.</p>\n",
              j->out.stream);
    }
    code = j->table ? explain_rows(j) : explain_model(j);
    if (page) html_close(j->out.stream);
    hold_interrupts();
    int closed = text_close(&j->out, !code);
    release_interrupts();
    return code ? code : closed;
}

static int run_job(job *j) {
    const options *o = j->options;
    int code = o->output ? check_output(o->output) : EXIT_DONE;
    if (!code) code = session_load_model(&j->session, o->arguments[0], &j->model);
    if (!code && o->argument_count > 1) {
        code = session_read_table(&j->session, o->arguments[1], model_kernel(&j->model), NULL,
                                  &j->table);
        if (!code) code = choose_rows(j);
    }
    if (!code) code = choose_targets(j);
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
    free(j.targets);
    free(j.label);
    lth_table_free(j.table);
    model_free(&j.model);
    session_close(&j.session);
    return code;
}
