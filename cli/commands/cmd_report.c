/* luthier report: a page about a model, for people. */
#include <stdlib.h>
#include <string.h>

#include "report/report.h"

typedef struct job {
    session session;
    const options *options;
    lth_model *model;
    held_out data;
    char *wild; /* the sequence of --wild-type */
} job;

static int check_usage(const options *o) {
    if (!o->output) return usage_error(o->command, "where to write the page? Give -o FILE");
    if (o->data.count == 0 && o->where.count > 0)
        return usage_error(o->command, "--where chooses rows of --data TABLE, which is not given");
    if (o->data.count == 0 && o->array.count > 0)
        return usage_error(o->command, "--array stands beside --data TABLE, which is not given");
    if (o->data.count == 0 && o->target.count > 0)
        return usage_error(o->command,
                           "--target names columns of --data TABLE, which is not given");
    if (names_stdin(&o->data) && strcmp(o->arguments[0], "-") == 0)
        return usage_error(o->command, "only one of M and TABLE can be standard input");
    return EXIT_DONE;
}

/* The columns that hold the truth: those of --target, else those that the model learned. */
static int choose_targets(job *j) {
    list *targets = &j->data.targets;
    size_t count = lth_model_targets(j->model);
    if (j->options->target.count > 0) {
        int code = split_names(j->options, "target", &j->options->target, targets);
        if (code || targets->count == count) return code;
        return usage_error(j->options->command,
                           "the model has %zu target%s, but --target names %zu", count,
                           count == 1 ? "" : "s", targets->count);
    }
    targets->at = calloc(count, sizeof *targets->at);
    if (!targets->at) return out_of_memory();
    for (size_t i = 0; i < count; ++i) targets->at[i] = lth_model_target(j->model, i);
    targets->count = count;
    return EXIT_DONE;
}

static int read_data(job *j) {
    j->data.path = j->options->data.at[0];
    int code = choose_targets(j);
    if (!code) code = session_use_vectors(&j->session, j->model);
    if (code) return code;
    const list *targets = &j->data.targets;
    const char *room[1], *columns[targets->count + 1];
    list own = model_columns(j->model, room), more = {columns, targets->count + own.count};
    memcpy(columns, targets->at, targets->count * sizeof *columns);
    memcpy(columns + targets->count, own.at, own.count * sizeof *columns);
    return session_read_tables(&j->session, &j->options->data, lth_model_kernel(j->model), &more,
                               &j->data.table);
}

char *report_title(const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    if (strcmp(path, "-") == 0) name = "from standard input";
    char *title = malloc(strlen(name) + 16);
    if (title) stpcpy(stpcpy(title, "Model "), name);
    return title;
}

static int read_wild(job *j) {
    const options *o = j->options;
    const char *other = mutations_obstacle(j->model);
    if (other)
        return usage_error(o->command,
                           "--wild-type is for models of one column of sequences; this one reads "
                           "%s",
                           other);
    int code = mutations_check_wild(o, j->model);
    return code ? code : session_read_wild(&j->session, o->wild_type, &j->wild);
}

static int run_job(job *j) {
    const options *o = j->options;
    int code = check_output(o->output);
    if (!code) code = session_load_model(&j->session, o->arguments[0], &j->model);
    bool judged = o->data.count > 0;
    if (!code && o->wild_type) code = read_wild(j);
    if (!code && judged) code = read_data(j);
    if (code) return code;
    char *title = o->title ? strdup(o->title) : report_title(o->arguments[0]);
    if (!title) return out_of_memory();
    code = write_report(&j->session, j->model, title, judged ? &j->data : NULL, j->wild, o->output);
    free(title);
    return code;
}

int run_report(const options *o) {
    int code = check_usage(o);
    if (code) return code;
    job j = {.options = o};
    code = session_open(&j.session, o);
    if (!code) code = run_job(&j);
    lth_table_free(j.data.table);
    free(j.data.targets.at);
    free(j.wild);
    free_model(j.model);
    session_close(&j.session);
    return code;
}
