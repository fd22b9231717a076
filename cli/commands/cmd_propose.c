/* luthier propose: which rows to measure next. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"
#include "proposals.h"
#include "report/report.h"

enum { AS_TEXT, AS_TSV, AS_JSON, AS_HTML }; /* the first two are the same */

typedef struct job {
    session session;
    const options *options;
    int as;
    lth_model **models;
    size_t model_count;
    choice choice;
    list columns;     /* that the models read */
    lth_table *from;  /* candidates, or       */
    lth_space *space; /* where they are from  */
    lth_table *found; /* there                */
    lth_proposals *proposals;
} job;

/* ---- What is asked for ---- */

static int choose_format(job *j) {
    const options *o = j->options;
    size_t length = o->output ? strlen(o->output) : 0;
    bool page = length > 5 && strcmp(o->output + length - 5, ".html") == 0;
    if (o->json && o->as >= 0 && o->as != AS_JSON)
        return usage_error(o->command, "--json and --as contradict each other");
    j->as = o->json ? AS_JSON : o->as >= 0 ? o->as : page ? AS_HTML : AS_TSV;
    if (j->as == AS_HTML && !o->output)
        return usage_error(o->command, "where to write the page? Give -o FILE");
    if (o->title && j->as != AS_HTML)
        return usage_error(o->command, "--title is the heading of a page; give -o FILE.html");
    return EXIT_DONE;
}

/* All that is read may be standard input, but only one of them. */
static int check_stdin(const options *o) {
    const char *files[] = {o->from, o->pending, o->measured, o->feasible};
    size_t count = 0;
    for (size_t i = 0; i < o->argument_count; ++i) count += strcmp(o->arguments[i], "-") == 0;
    for (size_t i = 0; i < sizeof files / sizeof *files; ++i)
        count += files[i] && strcmp(files[i], "-") == 0;
    return count < 2 ? EXIT_DONE
                     : usage_error(o->command, "only one of the files can be standard input");
}

/* ---- Models ---- */

static int load_model(job *j, const char *path) {
    session *s = &j->session;
    lth_model *model = NULL;
    int code = session_load_model(s, path, &model);
    if (code) return code;
    j->models[j->model_count++] = model;
    if (lth_model_svm(model))
        return usage_error(j->options->command,
                           "propose is for Gaussian processes, which know how sure they are; %s is "
                           "a support vector machine",
                           path);
    return session_use_vectors(s, model);
}

static int load_models(job *j) {
    const options *o = j->options;
    int code = EXIT_DONE;
    j->models = calloc(o->argument_count + 1, sizeof *j->models);
    if (!j->models) return out_of_memory();
    for (size_t i = 0; i < o->argument_count && !code; ++i) code = load_model(j, o->arguments[i]);
    return code;
}

static size_t count_targets(const job *j) {
    size_t count = 0;
    for (size_t m = 0; m < j->model_count; ++m) count += lth_model_targets(j->models[m]);
    return count;
}

/* ---- Rows ---- */

/* The names of what a model reads go to `to`, if that is not NULL; returns how many. */
static size_t list_columns(lth_model *m, const char **to) {
    const lth_kernel *kernel = lth_model_kernel(m);
    const char *room[1];
    list own = model_columns(m, room);
    size_t count = 0;
    for (const char *name; (name = lth_kernel_column(kernel, count)) != NULL; ++count)
        if (to) to[count] = name;
    for (size_t i = 0; i < own.count; ++i, ++count)
        if (to) to[count] = own.at[i];
    return count;
}

/* Of all models; behind them there is room for those of --feasible and --cost. */
static int name_columns(job *j) {
    lth_model *feasible = j->choice.feasible;
    size_t count = 2 + (feasible ? list_columns(feasible, NULL) : 0);
    for (size_t m = 0; m < j->model_count; ++m) count += list_columns(j->models[m], NULL);
    j->columns = (list){.at = calloc(count, sizeof *j->columns.at)};
    if (!j->columns.at) return out_of_memory();
    for (size_t m = 0; m < j->model_count; ++m)
        j->columns.count += list_columns(j->models[m], j->columns.at + j->columns.count);
    return EXIT_DONE;
}

static int read_candidates(job *j) {
    const options *o = j->options;
    list all = j->columns;
    if (j->choice.feasible) all.count += list_columns(j->choice.feasible, all.at + all.count);
    if (o->cost) all.at[all.count++] = o->cost;
    return session_read_table(&j->session, o->from, lth_model_kernel(j->models[0]), &all, &j->from);
}

static int read_wild(job *j) {
    const options *o = j->options;
    if (!o->wild_type) return EXIT_DONE;
    int code = mutations_check_wild(o, j->models[0]);
    if (!code) code = session_read_wild(&j->session, o->wild_type, &j->choice.wild);
    j->choice.propose.wild_type = j->choice.wild;
    return code;
}

static int read_inputs(job *j) {
    int code = load_models(j);
    if (!code) code = choice_open(&j->choice, &j->session, count_targets(j));
    if (!code) code = name_columns(j);
    if (!code) code = read_wild(j);
    if (!code && j->options->space)
        code = session_parse_space(&j->session, j->options->space, &j->space);
    if (!code) code = choice_read_rows(&j->choice, &j->columns);
    if (!code && j->options->from) code = read_candidates(j);
    return code;
}

/* ---- The choice ---- */

static int propose(job *j) {
    lth_error err = {0};
    const choice *c = &j->choice;
    lth_status status = j->space ? lth_search(j->models, j->model_count, j->space, &c->propose,
                                              &c->search, &j->found, &j->proposals, &err)
                                 : lth_propose(j->models, j->model_count, j->from, &c->propose,
                                               &j->proposals, &err);
    if (status == LTH_EFORMAT && j->from)
        return session_fail_input(&j->session, &err, j->options->from);
    if (status != LTH_OK) return choice_fail(&j->choice, &err);
    return session_check_interrupt(&j->session);
}

static void say_fewer(job *j) {
    size_t found = lth_proposals_count(j->proposals), wanted = j->choice.propose.count;
    if (found == 0)
        session_warn(&j->session, "there is nothing to propose: all is measured or pending, or too "
                                  "near to what is");
    else if (found < wanted)
        session_warn(&j->session, "%zu row%s to propose, not %zu", found, found == 1 ? "" : "s",
                     wanted);
}

/* ---- Writing ---- */

/* Some of the candidates, evenly from all. */
static int take_some(job *j, lth_table **out) {
    enum { MOST = 1500 };
    size_t rows = lth_table_rows(j->from), count = rows < MOST ? rows : MOST;
    size_t columns = lth_table_columns(j->from);
    const char **text = calloc(columns * count, sizeof *text);
    size_t *length = calloc(columns * count, sizeof *length);
    lth_column *made = calloc(columns, sizeof *made);
    lth_error err = {.status = LTH_ENOMEM};
    for (size_t c = 0; text && length && made && c < columns; ++c) {
        const char **of = text + c * count;
        for (size_t i = 0; i < count; ++i)
            of[i] = lth_table_cell(j->from, i * rows / count, c, &length[c * count + i]);
        made[c] = (lth_column){
            .name = lth_table_column_name(j->from, c), .text = of, .length = length + c * count};
    }
    if (text && length && made)
        lth_table_from_columns(j->session.ctx, made, sizeof *made, columns, count, out, &err);
    free(text);
    free(length);
    free(made);
    return *out ? EXIT_DONE : session_fail(&j->session, &err);
}

static int sample_space(job *j, lth_table **out) {
    enum { SOME = 500 };
    lth_error err = {0};
    const char *column = lth_kernel_column(lth_model_kernel(j->models[0]), 0);
    if (lth_space_sample(j->space, column, SOME, j->options->seed, out, &err) == LTH_OK)
        return EXIT_DONE;
    return session_fail(&j->session, &err);
}

static char *choose_title(const options *o) {
    const char *path = o->arguments[0], *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    char *title = malloc(strlen(o->title ? o->title : name) + 32);
    if (title)
        stpcpy(stpcpy(title, o->title ? "" : "What to measure next: "), o->title ? o->title : name);
    return title;
}

static int write_page(job *j, const chosen *c) {
    lth_table *some = NULL;
    char *title = choose_title(j->options);
    int code = title ? EXIT_DONE : out_of_memory();
    if (!code) code = j->space ? sample_space(j, &some) : take_some(j, &some);
    if (!code) code = write_chosen_page(c, some, title, j->options->output);
    lth_table_free(some);
    free(title);
    return code;
}

static int write_text(job *j, const chosen *c) {
    char *text = NULL;
    size_t size = 0;
    FILE *to = text_stream(&text, &size); /* what fails half-way is never seen */
    if (!to) return out_of_memory();
    int code = j->as == AS_JSON ? write_chosen_json(to, c) : write_chosen_tsv(to, c);
    bool lost = ferror(to) != 0;
    if ((fclose(to) != 0 || lost) && !code) code = out_of_memory();
    if (!code) code = write_page_file(j->options->output, text, size);
    free(text);
    return code;
}

static int write_all(job *j) {
    chosen c = {.session = &j->session,
                .models = j->models,
                .model_count = j->model_count,
                .rows = j->space ? j->found : j->from,
                .numbered = !j->space,
                .proposals = j->proposals,
                .cost = j->options->cost,
                .feasible = j->choice.feasible != NULL,
                .explained = j->options->explain,
                .wild = j->choice.wild};
    return j->as == AS_HTML ? write_page(j, &c) : write_text(j, &c);
}

/* ---- The command ---- */

static int check_usage(job *j) {
    const options *o = j->options;
    int code = choose_format(j);
    if (!code) code = choice_check(o);
    if (!code) code = check_stdin(o);
    if (!code && o->output) code = check_output(o->output);
    return code;
}

static int run_job(job *j) {
    double start = seconds_now();
    int code = read_inputs(j);
    if (!code) code = propose(j);
    if (code) return code;
    say_fewer(j);
    session_note(&j->session, "%zu rows, %.3g s", lth_proposals_count(j->proposals),
                 seconds_now() - start);
    return write_all(j);
}

int run_propose(const options *o) {
    job j = {.options = o};
    int code = check_usage(&j);
    if (!code) code = session_open(&j.session, o);
    if (!code) code = run_job(&j);
    lth_proposals_free(j.proposals);
    lth_table_free(j.found);
    lth_table_free(j.from);
    lth_space_free(j.space);
    choice_close(&j.choice);
    for (size_t m = 0; m < j.model_count; ++m) free_model(j.models[m]);
    free(j.models);
    free(j.columns.at);
    session_close(&j.session);
    return code;
}
