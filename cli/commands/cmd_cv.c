/* luthier cv: how well a kernel predicts, by cross-validation. */
#include <string.h>

#include "commands/cv_report.h"
#include "learning.h"
#include "output.h"
#include "ranks.h"

typedef struct job {
    learning l;
    const options *options;
    folds folds;
    cv_report report;
} job;

static int check_usage(const options *o) {
    const command *c = o->command;
    if (o->fold_by && o->folds != NOT_GIVEN)
        return usage_error(c, "only one of --folds and --fold-by can be given");
    if (o->folds < 2) return usage_error(c, "--folds wants at least 2");
    if (o->predictions && strcmp(o->predictions, "-") == 0)
        return usage_error(c, "--predictions - would mix with the results on standard output; give "
                              "a file");
    return EXIT_DONE;
}

static lth_status validate_model(job *j, lth_error *err) {
    learning *l = &j->l;
    lth_ctx *ctx = l->session.ctx;
    const char *kernel = l->expression, *const *targets = l->targets.at;
    const size_t *fold = j->folds.of_row, count = j->folds.count;
    lth_validation **out = &j->report.validation;
    l->svm_options.partial = l->gp_options.partial = true;
    if (l->svm)
        return lth_svm_cv(ctx, kernel, l->table, targets, l->targets.count, fold, count,
                          &l->svm_options, out, err);
    l->gp_options.step = silent_step;
    return lth_gp_cv(ctx, kernel, l->table, targets, l->targets.count, fold, count, &l->gp_options,
                     out, err);
}

/* All targets must be of one kind. */
static int check_kinds(job *j) {
    const lth_validation *v = j->report.validation;
    bool labels = j->report.labels = lth_validation_has_labels(v, 0);
    for (size_t t = 1; t < j->l.targets.count; ++t) {
        if (lth_validation_has_labels(v, t) != labels)
            return usage_error(j->options->command,
                               "the targets %s and %s are of two kinds, labels "
                               "and numbers; validate them one by one",
                               j->l.targets.at[0], j->l.targets.at[t]);
    }
    return EXIT_DONE;
}

static int validate(job *j) {
    learning *l = &j->l;
    lth_error err = {0};
    double start = seconds_now();
    if (validate_model(j, &err) != LTH_OK) return learning_fail(l, &err);
    session_note(&l->session, "%zu rows, %zu folds, %.3g s", lth_table_rows(l->table),
                 j->folds.count, seconds_now() - start);
    return check_kinds(j);
}

/* Shuffled folds of labels, and of support vector machines, have their share of every class of the
 * first target. */
static int stratify(job *j) {
    lth_error err = {0};
    if ((!j->l.svm && !j->l.labels) || j->options->fold_by) return EXIT_DONE;
    lth_task task = j->l.svm ? j->l.svm_options.task : LTH_TASK_CLASSIFICATION;
    lth_status status = lth_folds_stratified(j->options->seed, j->l.table, j->l.targets.at[0], task,
                                             j->folds.count, j->folds.of_row, &err);
    return status == LTH_OK ? EXIT_DONE : learning_fail(&j->l, &err);
}

static int save_predictions(job *j) {
    text_file out;
    hold_interrupts();
    int code = text_open(&out, j->options->predictions);
    if (!code) {
        write_cv_predictions(&j->report, out.stream);
        code = text_close(&out, true);
    }
    release_interrupts();
    return code;
}

/* The kernel is printed with what depends on the data. */
static int print_json(job *j) {
    learning *l = &j->l;
    int code = session_resolve_kernel(&l->session, j->options->arguments[0], l->table, &l->kernel);
    return code ? code : print_cv_json(&j->report, l->kernel);
}

static int print_report(job *j) {
    return j->options->json ? print_json(j) : print_cv_text(&j->report);
}

/* Ctrl-C: the folds that are finished, marked as not all. A file of predictions would not be. */
static int print_finished(job *j) {
    session *s = &j->l.session;
    int code = print_report(j);
    interrupted_elsewhere(); /* unless it was here */
    int interrupted = session_check_interrupt(s);
    size_t finished = finished_folds(&j->report);
    session_say(s, "%zu of %zu folds are finished, and printed", finished,
                j->folds.count * j->l.targets.count);
    return code ? code : interrupted;
}

static int run_job(job *j) {
    const options *o = j->options;
    int code = o->predictions ? check_output(o->predictions) : EXIT_DONE;
    if (!code) code = learning_read(&j->l, o->fold_by);
    if (code) return code;
    j->report = (cv_report){
        .table = j->l.table, .targets = &j->l.targets, .folds = &j->folds, .svm = j->l.svm};
    code = make_folds(&j->l.session, j->l.table, &j->folds);
    if (!code) code = stratify(j);
    if (!code) code = validate(j);
    if (code) return code;
    if (is_partial(&j->report)) return print_finished(j);
    if (o->predictions) code = save_predictions(j);
    return code ? code : print_report(j);
}

int run_cv(const options *o) {
    int code = check_usage(o);
    if (code) return code;
    job j = {.options = o};
    code = learning_open(&j.l, o);
    if (!code) code = run_job(&j);
    code = ranks_end(&j.l.session, code);
    lth_validation_free(j.report.validation);
    free_folds(&j.folds);
    learning_close(&j.l);
    return code;
}
