/* luthier predict: mean, standard deviation and 95% interval for each row of a table, or labels. */
#include <string.h>

#include "output.h"
#include "prediction.h"

typedef struct job {
    session session;
    const options *options;
    lth_model *model;
    lth_table *table;
    prediction prediction;
} job;

static int check_usage(const options *o) {
    if (strcmp(o->arguments[0], "-") == 0 && strcmp(o->arguments[1], "-") == 0)
        return usage_error(o->command, "only one of M and TABLE can be standard input");
    return EXIT_DONE;
}

static int check_latent(const job *j) {
    const command *c = j->options->command;
    if (!j->options->latent) return EXIT_DONE;
    if (lth_model_svm(j->model)) return usage_error(c, "--latent is for Gaussian processes");
    if (lth_model_classes(j->model) > 0)
        return usage_error(c, "--latent is for numbers, but the model has labels");
    return EXIT_DONE;
}

static int read_inputs(job *j) {
    session *s = &j->session;
    const char *path = j->options->arguments[1];
    int code = session_load_model(s, j->options->arguments[0], &j->model);
    if (!code) code = session_read_table(s, path, lth_model_kernel(j->model), NULL, &j->table);
    return code ? code : check_latent(j);
}

static int predict(job *j) {
    session *s = &j->session;
    lth_error err = {0};
    double start = seconds_now();
    lth_status status = lth_model_use_vectors(j->model, j->options->vectors, &err);
    if (status != LTH_OK) return session_fail(s, &err);
    status = prediction_make(j->model, j->table, j->options->latent, &j->prediction, &err);
    if (status == LTH_EFORMAT) return session_fail_input(s, &err, j->options->arguments[1]);
    if (status != LTH_OK) return session_fail(s, &err);
    session_note(s, "%zu rows, %.3g s", j->prediction.rows, seconds_now() - start);
    return session_check_interrupt(s);
}

static int write_all(job *j) {
    const prediction *p = &j->prediction;
    text_file out;
    hold_interrupts();
    int code = text_open(&out, j->options->output);
    if (!code) {
        json_writer json = {.to = out.stream};
        if (!j->options->json) write_prediction_names(out.stream, p);
        for (size_t i = 0; i < p->rows; ++i)
            j->options->json ? json_put_prediction(&json, NULL, p, i)
                             : write_prediction(out.stream, p, i);
        code = text_close(&out, true);
    }
    release_interrupts();
    return code;
}

static int run_job(job *j) {
    int code = j->options->output ? check_output(j->options->output) : EXIT_DONE;
    if (!code) code = read_inputs(j);
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
    prediction_free(&j.prediction);
    lth_table_free(j.table);
    lth_model_free(j.model);
    session_close(&j.session);
    return code;
}
