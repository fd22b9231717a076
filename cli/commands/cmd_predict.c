/* luthier predict: mean, standard deviation and 95% interval for each row of a table, or labels; or
 * how good these are. The table is read, predicted and written a slice at a time, so it may have
 * any number of rows. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands/predict_score.h"
#include "output.h"
#include "ranks.h"

/* Multiples of 512 rows have the same bits in whatever slice. The file of word vectors is read for
 * each slice, so that there a slice is as large as the library lets it be. */
enum { SLICE = 8192, SLICE_WITH_VECTORS = 1 << 20 };

typedef struct job {
    session session;
    const options *options;
    lth_model *model;
    row_source rows;
    size_t predicted;
    text_file out;
    score score;
    list given; /* targets that the table has */
} job;

static int check_usage(const options *o) {
    list tables = tables_from(o, 1);
    if (strcmp(o->arguments[0], "-") == 0 && names_stdin(&tables))
        return usage_error(o->command, "only one of M and TABLE can be standard input");
    if (o->score && o->latent)
        return usage_error(o->command, "--score judges what is seen; it does not go with --latent");
    if (o->score && o->output && strcmp(o->output, "-") == 0)
        return usage_error(o->command,
                           "with --score, -o - would mix predictions with figures; give "
                           "a file");
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

static int check_given(const job *j) {
    const lth_gp *gp = lth_model_gp(j->model);
    if (j->given.count == 0 || (gp && lth_gp_coregion(gp) > 0)) return EXIT_DONE;
    return usage_error(j->options->command,
                       "--given is for a model that was fitted with --coregion");
}

static int open_rows(job *j) {
    const char *room[1], *columns[1 + lth_model_targets(j->model) + j->given.count];
    list own = model_columns(j->model, room), more = {columns, own.count};
    memcpy(columns, own.at, own.count * sizeof *columns);
    if (j->options->score) score_columns(j->model, &more);
    for (size_t i = 0; i < j->given.count && !j->options->score; ++i)
        columns[more.count++] = j->given.at[i];
    list tables = tables_from(j->options, 1);
    return session_open_rows(&j->session, &tables, lth_model_kernel(j->model), &more, &j->rows);
}

static int open_inputs(job *j) {
    session *s = &j->session;
    unsigned ranks;
    lth_ctx_rank(s->ctx, &ranks);
    if (ranks > 1 && strcmp(j->options->arguments[0], "-") == 0)
        return usage_error(j->options->command, "ranks cannot share a model from standard input; "
                                                "give a file, or --cluster none");
    int code = session_load_model(s, j->options->arguments[0], &j->model);
    if (!code) code = check_latent(j);
    if (!code) code = check_given(j);
    if (!code) code = session_use_vectors(s, j->model);
    if (!code) code = open_rows(j);
    j->score = (score){.session = s, .model = j->model, .path = j->options->arguments[1]};
    return code;
}

/* ---- A slice ---- */

static int predict(job *j, const lth_table *slice, prediction *p) {
    session *s = &j->session;
    lth_error err = {0};
    if (j->options->score) return score_take(&j->score, slice, p);
    lth_status status = prediction_make_given(
        j->model, slice, j->given.count > 0 ? &j->given : NULL, j->options->latent, p, &err);
    if (status == LTH_EFORMAT) return session_fail_input(s, &err, j->options->arguments[1]);
    if (status != LTH_OK) return session_fail(s, &err);
    return session_check_interrupt(s);
}

/* There is something to write. While there is a file that is not complete, a second Ctrl-C waits.
 */
static int open_output(job *j, const prediction *p) {
    hold_interrupts();
    int code = text_open(&j->out, j->options->output);
    if (!j->out.output) release_interrupts();
    if (code || j->options->json) return code;
    fputs("row", j->out.stream);
    write_prediction_names(j->out.stream, p);
    putc('\n', j->out.stream);
    return code;
}

static int write_slice(job *j, const prediction *p) {
    j->predicted += p->rows;
    if (j->options->score && !j->options->output) return EXIT_DONE;
    int code = j->out.stream ? EXIT_DONE : open_output(j, p);
    if (code) return code;
    json_writer json = {.to = j->out.stream};
    for (size_t i = 0; i < p->rows; ++i) {
        if (j->options->json) {
            json_put_prediction(&json, NULL, p, i);
            continue;
        }
        fprintf(j->out.stream, "%zu", lth_table_number(p->table, i));
        write_prediction(j->out.stream, p, i);
        putc('\n', j->out.stream);
    }
    return EXIT_DONE;
}

/* Whether what was written goes on its way: else the rest would be for nothing. */
static bool is_read(job *j) {
    if (!j->out.stream) return true;
    bool flushed =
        j->out.stream != stdout || fflush(stdout) == 0; /* closing a file tells why not */
    return flushed && !ferror(j->out.stream);
}

static int take_slice(job *j, bool *more) {
    bool vectors = j->options->vectors && lth_kernel_needs_vectors(lth_model_kernel(j->model));
    lth_table *slice = NULL;
    prediction p = {0};
    unsigned ranks; /* share a slice */
    lth_ctx_rank(j->session.ctx, &ranks);
    int code = session_next_rows(&j->session, &j->rows,
                                 vectors ? SLICE_WITH_VECTORS : SLICE * (size_t)ranks, &slice);
    *more = !code && slice;
    if (*more) code = predict(j, slice, &p);
    if (*more && !code) code = write_slice(j, &p);
    if (*more && !code) *more = is_read(j);
    prediction_free(&p);
    lth_table_free(slice);
    return code;
}

/* ---- All ---- */

static int take_all(job *j) {
    double start = seconds_now();
    int code = EXIT_DONE;
    for (bool more = true; more && !code;) code = take_slice(j, &more);
    if (!code) session_note(&j->session, "%zu rows, %.3g s", j->predicted, seconds_now() - start);
    if (code && j->out.stream == stdout)
        session_say(&j->session, "the %zu rows before were predicted", j->predicted);
    int closed = text_close(&j->out, !code);
    release_interrupts();
    if (!code) code = closed;
    return code || !j->options->score ? code : score_print(&j->score, j->options->json);
}

static int run_job(job *j) {
    int code = j->options->output ? check_output(j->options->output) : EXIT_DONE;
    if (!code) code = open_inputs(j);
    return code ? code : take_all(j);
}

int run_predict(const options *o) {
    int code = check_usage(o);
    if (code) return code;
    job j = {.options = o};
    code = split_names(o, "given", &o->given, &j.given);
    if (!code) code = session_open(&j.session, o);
    if (!code) code = run_job(&j);
    code = ranks_end(&j.session, code);
    score_free(&j.score);
    close_rows(&j.rows);
    free_model(j.model);
    session_close(&j.session);
    free(j.given.at);
    return code;
}
