/* luthier cv: how well a kernel predicts, by cross-validation. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "commands/cv_folds.h"
#include "commands/cv_labels.h"
#include "learning.h"
#include "output.h"

/* One line of the results. */
typedef struct score {
    size_t count;
    double nlpd, mae, rmse, r, r2, coverage, seconds, evidence;
} score;

static const struct {
    const char *name;
    size_t offset;
} figures[] = {
    {"nlpd", offsetof(score, nlpd)},       {"mae", offsetof(score, mae)},
    {"rmse", offsetof(score, rmse)},       {"r", offsetof(score, r)},
    {"r2", offsetof(score, r2)},           {"coverage", offsetof(score, coverage)},
    {"seconds", offsetof(score, seconds)}, {"evidence", offsetof(score, evidence)},
};
enum { FIGURES = sizeof figures / sizeof *figures };

typedef struct job {
    learning l;
    const options *options;
    folds folds;
    size_t rows, targets;
    lth_validation *validation;
    bool labels;
} job;

/* ---- Scores ---- */

static double *figure(score *s, size_t i) {
    return (double *)((char *)s + figures[i].offset);
}

static score make_score(const lth_metrics *m, double seconds, double evidence) {
    return (score){m->count, m->nlpd, m->mae, m->rmse, m->r, m->r2, m->coverage, seconds, evidence};
}

static score fold_score(const job *j, size_t target, size_t fold) {
    const lth_validation *v = j->validation;
    double evidence = j->l.svm ? 0 : lth_validation_evidence(v, target, fold);
    return make_score(lth_validation_metrics(v, target, fold),
                      lth_validation_seconds(v, target, fold), evidence);
}

/* A mean over those that have the figure: r is not defined on a fold of one row. */
typedef struct average {
    score sum;
    size_t defined[FIGURES];
} average;

static void add_score(average *a, score s) {
    for (size_t i = 0; i < FIGURES; ++i) {
        double value = *figure(&s, i);
        if (isfinite(value)) *figure(&a->sum, i) += value, ++a->defined[i];
    }
}

static score mean_of(const job *j, average a) {
    for (size_t i = 0; i < FIGURES; ++i) *figure(&a.sum, i) /= (double)a.defined[i]; /* or nan */
    a.sum.count = j->rows;
    return a.sum;
}

static score mean_over_folds(const job *j, size_t target) {
    average a = {0};
    for (size_t k = 0; k < j->folds.count; ++k) add_score(&a, fold_score(j, target, k));
    return mean_of(j, a);
}

static score mean_over_targets(const job *j) {
    average a = {0};
    for (size_t t = 0; t < j->targets; ++t) add_score(&a, mean_over_folds(j, t));
    return mean_of(j, a);
}

static score pooled_score(const job *j, size_t target) {
    return make_score(lth_validation_metrics(j->validation, target, LTH_NONE),
                      lth_validation_seconds(j->validation, target, LTH_NONE), NAN);
}

/* ---- Printing ---- */

static void print_row(const char *target, const char *fold, score s, bool no_deviations) {
    printf("%s\t%s\t%zu", target, fold, s.count);
    for (size_t i = 0; i < FIGURES; ++i) {
        putchar('\t');
        if (no_deviations && isnan(*figure(&s, i)))
            putchar('-');
        else
            write_tsv_double(stdout, *figure(&s, i));
    }
    putchar('\n');
}

static void print_text(const job *j) {
    printf("target\tfold\tn");
    for (size_t i = 0; i < FIGURES; ++i) printf("\t%s", figures[i].name);
    putchar('\n');
    for (size_t t = 0; t < j->targets; ++t) {
        const char *target = j->l.targets.at[t];
        for (size_t k = 0; k < j->folds.count; ++k)
            print_row(target, j->folds.names[k], fold_score(j, t, k), j->l.svm);
        print_row(target, "mean", mean_over_folds(j, t), j->l.svm);
        print_row(target, "pooled", pooled_score(j, t), j->l.svm);
    }
    print_row("mean", "mean", mean_over_targets(j), j->l.svm);
}

static void print_json_score(score s) {
    for (size_t i = 0; i < FIGURES; ++i) {
        printf("%s\"%s\":", i ? "," : "{", figures[i].name);
        print_json_double(*figure(&s, i));
    }
    putchar('}');
}

static int print_json(const job *j) {
    char *kernel = kernel_text(j->l.kernel);
    if (!kernel) return out_of_memory();
    printf("{\"schema\":1,\"kernel\":");
    print_json_string(kernel);
    free(kernel);
    printf(",\"targets\":{");
    for (size_t t = 0; t < j->targets; ++t) {
        if (t) putchar(',');
        print_json_string(j->l.targets.at[t]);
        printf(":{\"folds\":[");
        for (size_t k = 0; k < j->folds.count; ++k) {
            if (k) putchar(',');
            print_json_score(fold_score(j, t, k));
        }
        printf("],\"mean\":");
        print_json_score(mean_over_folds(j, t));
        printf(",\"pooled\":");
        print_json_score(pooled_score(j, t));
        putchar('}');
    }
    printf("},\"mean\":");
    print_json_score(mean_over_targets(j));
    printf("}\n");
    return EXIT_DONE;
}

/* A cell that the library has read as a number before, so it is short enough. */
static double number_at(const lth_table *table, size_t row, size_t column) {
    char text[2048] = "";
    size_t length;
    const char *cell = lth_table_cell(table, row, column, &length);
    if (length < sizeof text) memcpy(text, cell, length);
    return strtod(text, NULL);
}

static void write_predictions(const job *j, FILE *to) {
    fputs("row\ttarget\tfold\ty\tmean\tsd\n", to);
    for (size_t t = 0; t < j->targets; ++t) {
        size_t column = lth_table_find(j->l.table, j->l.targets.at[t]);
        for (size_t i = 0; i < j->rows; ++i) {
            double values[] = {number_at(j->l.table, i, column),
                               lth_validation_value(j->validation, t, i),
                               lth_validation_sd(j->validation, t, i)};
            fprintf(to, "%zu\t%s\t%s", lth_table_number(j->l.table, i), j->l.targets.at[t],
                    j->folds.names[j->folds.of_row[i]]);
            for (size_t v = 0; v < 3; ++v) {
                putc('\t', to);
                write_tsv_double(to, values[v]);
            }
            putc('\n', to);
        }
    }
}

static labels_report report_labels(const job *j, const char *kernel) {
    return (labels_report){.validation = j->validation,
                           .targets = j->l.targets.at,
                           .target_count = j->targets,
                           .folds = &j->folds,
                           .kernel = kernel,
                           .model = j->l.svm ? "svm" : "gp",
                           .probabilities = !j->l.svm};
}

static int print_labels(const job *j) {
    char *kernel = kernel_text(j->l.kernel);
    if (!kernel) return out_of_memory();
    labels_report report = report_labels(j, kernel);
    if (j->options->json)
        print_labels_json(&report);
    else
        print_labels_text(&report);
    free(kernel);
    return EXIT_DONE;
}

static int save_predictions(job *j) {
    text_file out;
    hold_interrupts();
    int code = text_open(&out, j->options->predictions);
    if (!code) {
        labels_report report = report_labels(j, "");
        if (j->labels)
            write_label_predictions(&report, j->l.table, out.stream);
        else
            write_predictions(j, out.stream);
        code = text_close(&out, true);
    }
    release_interrupts();
    return code;
}

/* ---- The work ---- */

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

/* All targets must be of one kind. */
static int check_kinds(job *j) {
    const lth_validation *v = j->validation;
    j->labels = lth_validation_has_labels(v, 0);
    for (size_t t = 0; t < j->targets; ++t) {
        if (lth_validation_has_labels(v, t) != j->labels)
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
    l->how.step = silent_step;
    lth_status status = l->svm ? lth_svm_cv(l->session.ctx, j->options->kernel, l->table,
                                            l->targets.at, l->targets.count, j->folds.of_row,
                                            j->folds.count, &l->svm_how, &j->validation, &err)
                               : lth_gp_cv(l->session.ctx, j->options->kernel, l->table,
                                           l->targets.at, l->targets.count, j->folds.of_row,
                                           j->folds.count, &l->how, &j->validation, &err);
    if (status != LTH_OK) return learning_fail(l, &err);
    session_note(&l->session, "%zu rows, %zu folds, %.3g s", j->rows, j->folds.count,
                 seconds_now() - start);
    int code = session_check_interrupt(&l->session);
    return code ? code : check_kinds(j);
}

/* Shuffled folds of labels, and of support vector machines, have their share of every class of the
 * first target. */
static int stratify(job *j) {
    lth_error err = {0};
    if ((!j->l.svm && !j->l.labels) || j->options->fold_by) return EXIT_DONE;
    lth_task task = j->l.svm ? j->l.svm_how.task : LTH_TASK_CLASSIFICATION;
    lth_status status = lth_folds_stratified(j->options->seed, j->l.table, j->l.targets.at[0], task,
                                             j->folds.count, j->folds.of_row, &err);
    return status == LTH_OK ? EXIT_DONE : learning_fail(&j->l, &err);
}

static int run_job(job *j) {
    const options *o = j->options;
    int code = o->predictions ? check_output(o->predictions) : EXIT_DONE;
    if (!code) code = learning_read(&j->l, o->fold_by);
    if (code) return code;
    j->rows = lth_table_rows(j->l.table);
    j->targets = j->l.targets.count;
    code = make_folds(&j->l.session, j->l.table, &j->folds);
    if (!code) code = stratify(j);
    if (!code) code = validate(j);
    if (!code && o->predictions) code = save_predictions(j);
    if (code) return code;
    if (j->labels) return print_labels(j);
    if (o->json) return print_json(j);
    print_text(j);
    return EXIT_DONE;
}

int run_cv(const options *o) {
    int code = check_usage(o);
    if (code) return code;
    job j = {.options = o};
    code = learning_open(&j.l, o);
    if (!code) code = run_job(&j);
    lth_validation_free(j.validation);
    free_folds(&j.folds);
    learning_close(&j.l);
    return code;
}
