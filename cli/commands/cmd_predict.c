/* luthier predict: mean, standard deviation and 95% interval for each row of a table, or labels. */
#include <stdlib.h>
#include <string.h>

#include "commands/predict_labels.h"
#include "model.h"
#include "output.h"

static const double sds_95 = 1.959964; /* half the width of the interval that holds 95% */

typedef struct job {
    session session;
    const options *options;
    model model;
    lth_gp *gp; /* of the model, if it is one */
    lth_table *table;
    size_t rows, targets;
    double *mean, *sd; /* by target, then by row */
    text_file out;
} job;

static int check_usage(const options *o) {
    if (strcmp(o->arguments[0], "-") == 0 && strcmp(o->arguments[1], "-") == 0)
        return usage_error(o->command, "only one of M and TABLE can be standard input");
    return EXIT_DONE;
}

static int read_inputs(job *j) {
    session *s = &j->session;
    const char *path = j->options->arguments[1];
    int code = session_load_model(s, j->options->arguments[0], &j->model);
    if (!code) code = session_read_table(s, path, model_kernel(&j->model), NULL, &j->table);
    if (code) return code;
    j->rows = lth_table_rows(j->table);
    j->gp = j->model.gp;
    if (j->gp) j->targets = lth_gp_targets(j->gp);
    return EXIT_DONE;
}

static int predict(job *j) {
    session *s = &j->session;
    int code = session_allocate(s, "the prediction", j->targets, j->rows, 1, &j->mean);
    if (!code) code = session_allocate(s, "the prediction", j->targets, j->rows, 1, &j->sd);
    if (code) return code;
    lth_error err = {0};
    double start = seconds_now();
    if (lth_gp_use_vectors(j->gp, j->options->vectors, &err) != LTH_OK)
        return session_fail(s, &err);
    lth_status status = lth_gp_predict(j->gp, j->table, j->options->latent, j->mean, j->sd, &err);
    if (status == LTH_EFORMAT) return session_fail_input(s, &err, j->options->arguments[1]);
    if (status != LTH_OK) return session_fail(s, &err);
    session_note(s, "%zu rows, %.3g s", j->rows, seconds_now() - start);
    return session_check_interrupt(s);
}

/* ---- Printing ---- */

/* With one target "mean", otherwise "joy.mean". */
static void write_name(const job *j, size_t target, const char *what, bool json) {
    const char *of = j->targets > 1 ? lth_gp_target(j->gp, target) : "";
    char name[strlen(of) + strlen(what) + 2];
    snprintf(name, sizeof name, "%s%s%s", of, *of ? "." : "", what);
    if (json)
        write_json_string(j->out.stream, name);
    else
        fputs(name, j->out.stream);
}

static const char *const figures[] = {"mean", "sd", "lo", "hi"};
enum { FIGURES = 4 };

static void figures_at(const job *j, size_t target, size_t row, double out[FIGURES]) {
    double mean = j->mean[target * j->rows + row], sd = j->sd[target * j->rows + row];
    out[0] = mean, out[1] = sd, out[2] = mean - sds_95 * sd, out[3] = mean + sds_95 * sd;
}

static void write_header(const job *j) {
    fputs("row", j->out.stream);
    for (size_t t = 0; t < j->targets; ++t) {
        for (size_t i = 0; i < FIGURES; ++i) {
            putc('\t', j->out.stream);
            write_name(j, t, figures[i], false);
        }
    }
    putc('\n', j->out.stream);
}

static void write_row(const job *j, size_t row) {
    double value[FIGURES];
    fprintf(j->out.stream, "%zu", lth_table_number(j->table, row));
    for (size_t t = 0; t < j->targets; ++t) {
        figures_at(j, t, row, value);
        for (size_t i = 0; i < FIGURES; ++i) {
            putc('\t', j->out.stream);
            write_tsv_double(j->out.stream, value[i]);
        }
    }
    putc('\n', j->out.stream);
}

static void write_json_row(const job *j, size_t row) {
    double value[FIGURES];
    fprintf(j->out.stream, "{\"schema\":1,\"row\":%zu", lth_table_number(j->table, row));
    for (size_t t = 0; t < j->targets; ++t) {
        figures_at(j, t, row, value);
        for (size_t i = 0; i < FIGURES; ++i) {
            putc(',', j->out.stream);
            write_name(j, t, figures[i], true);
            putc(':', j->out.stream);
            write_json_double(j->out.stream, value[i]);
        }
    }
    fputs("}\n", j->out.stream);
}

static int write_all(job *j) {
    bool json = j->options->json;
    hold_interrupts();
    int code = text_open(&j->out, j->options->output);
    if (!code) {
        if (!json) write_header(j);
        for (size_t i = 0; i < j->rows; ++i) json ? write_json_row(j, i) : write_row(j, i);
        code = text_close(&j->out, true);
    }
    release_interrupts();
    return code;
}

static int run_job(job *j) {
    int code = j->options->output ? check_output(j->options->output) : EXIT_DONE;
    if (!code) code = read_inputs(j);
    if (!code && j->model.svm) return predict_svm(&j->session, j->model.svm, j->table);
    if (!code && lth_gp_classes(j->gp) > 0) return predict_classes(&j->session, j->gp, j->table);
    if (!code) code = predict(j);
    if (!code) code = write_all(j);
    return code;
}

int run_predict(const options *o) {
    int code = check_usage(o);
    if (code) return code;
    job j = {.options = o};
    code = session_open(&j.session, o);
    if (!code) code = run_job(&j);
    free(j.mean);
    free(j.sd);
    lth_table_free(j.table);
    model_free(&j.model);
    session_close(&j.session);
    return code;
}
