/* What a cross-validation says: figures by fold and target, of labels also by class. */
#include "commands/cv_report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "output.h"

/* ---- Figures ---- */

enum { NUMBER_FIGURES = 15, LABEL_FIGURES = 10, MOST_FIGURES = NUMBER_FIGURES };
static const char *const of_numbers[NUMBER_FIGURES] = {
    "nlpd",     "mae",     "rmse", "r",      "r2",   "coverage",    "seconds", "evidence",
    "spearman", "kendall", "ndcg", "recall", "crps", "calibration", "qwk"};
static const char *const of_labels[LABEL_FIGURES] = {
    "accuracy", "micro_f1", "macro_f1",    "auc",   "seconds",
    "log_loss", "brier",    "calibration", "auprc", "qwk"};
/* log_loss, brier, calibration */
static const bool needs_probability[LABEL_FIGURES] = {[5] = true, [6] = true, [7] = true};

typedef struct score {
    size_t count;
    double figure[MOST_FIGURES];
} score;

static size_t figure_count(const cv_report *r) {
    return r->labels ? LABEL_FIGURES : NUMBER_FIGURES;
}

/* Support vector machines predict no probabilities here. */
static bool has_figure(const cv_report *r, size_t i) {
    return !(r->labels && r->svm && needs_probability[i]);
}

static const char *figure_name(const cv_report *r, size_t i) {
    return r->labels ? of_labels[i] : of_numbers[i];
}

static score score_of_labels(const lth_label_metrics *m, double seconds) {
    return (score){m->count,
                   {m->accuracy, m->micro_f1, m->macro_f1, m->auc, seconds, m->log_loss, m->brier,
                    m->calibration, m->auprc, m->qwk}};
}

static score score_of_numbers(const lth_metrics *m, double seconds, double evidence) {
    return (score){m->count,
                   {m->nlpd, m->mae, m->rmse, m->r, m->r2, m->coverage, seconds, evidence,
                    m->spearman, m->kendall, m->ndcg, m->recall, m->crps, m->calibration, m->qwk}};
}

/* `fold` LTH_NONE = all rows together, which have no evidence. */
static score score_of(const cv_report *r, size_t target, size_t fold) {
    const lth_validation *v = r->validation;
    double seconds = lth_validation_seconds(v, target, fold), evidence = NAN;
    if (r->labels) return score_of_labels(lth_validation_label_metrics(v, target, fold), seconds);
    if (fold != LTH_NONE) evidence = r->svm ? 0 : lth_validation_evidence(v, target, fold);
    return score_of_numbers(lth_validation_metrics(v, target, fold), seconds, evidence);
}

/* A mean over those that have the figure: r is not defined on a fold of one row. */
typedef struct average {
    double sum[MOST_FIGURES];
    size_t defined[MOST_FIGURES];
} average;

static void add_score(average *a, score s) {
    for (size_t i = 0; i < MOST_FIGURES; ++i)
        if (isfinite(s.figure[i])) a->sum[i] += s.figure[i], ++a->defined[i];
}

static score mean_of(const cv_report *r, const average *a) {
    score mean = {.count = lth_table_rows(r->table)};
    for (size_t i = 0; i < MOST_FIGURES; ++i)
        mean.figure[i] = a->sum[i] / (double)a->defined[i]; /* or nan */
    return mean;
}

static score mean_over_folds(const cv_report *r, size_t target) {
    average a = {0};
    for (size_t k = 0; k < r->folds->count; ++k) add_score(&a, score_of(r, target, k));
    score mean = mean_of(r, &a);
    mean.count = score_of(r, target, LTH_NONE).count; /* rows that have the target */
    return mean;
}

static score mean_over_targets(const cv_report *r) {
    average a = {0};
    for (size_t t = 0; t < r->targets->count; ++t) add_score(&a, mean_over_folds(r, t));
    return mean_of(r, &a);
}

/* ---- Text ---- */

/* A figure that a model does not have, or that is not defined. */
static void print_cell(const cv_report *r, double value) {
    putchar('\t');
    if (isnan(value) && (r->labels || r->svm))
        putchar('-');
    else
        write_tsv_double(stdout, value);
}

static void print_row(const cv_report *r, const char *target, const char *fold, score s) {
    printf("%s\t%s\t%zu", target, fold, s.count);
    for (size_t i = 0; i < figure_count(r); ++i) {
        if (has_figure(r, i)) print_cell(r, s.figure[i]);
    }
    putchar('\n');
}

static void print_classes(const cv_report *r, size_t target) {
    for (size_t c = 0; c < lth_validation_classes(r->validation, target); ++c) {
        lth_class_metrics m = *lth_validation_class_metrics(r->validation, target, c);
        printf("%s\t%s\t%zu", r->targets->at[target],
               lth_validation_class(r->validation, target, c), m.support);
        print_cell(r, m.precision);
        print_cell(r, m.recall);
        print_cell(r, m.f1);
        putchar('\n');
    }
}

static void print_confusion(const cv_report *r, size_t target) {
    const lth_validation *v = r->validation;
    size_t classes = lth_validation_classes(v, target);
    if (!lth_validation_has_confusion(v, target)) return;
    printf("\n%s\\predicted", r->targets->at[target]);
    for (size_t c = 0; c < classes; ++c) printf("\t%s", lth_validation_class(v, target, c));
    putchar('\n');
    for (size_t c = 0; c < classes; ++c) {
        fputs(lth_validation_class(v, target, c), stdout);
        for (size_t p = 0; p < classes; ++p)
            printf("\t%zu", lth_validation_confusion(v, target, c, p));
        putchar('\n');
    }
}

int print_cv_text(const cv_report *r) {
    printf("target\tfold\tn");
    for (size_t i = 0; i < figure_count(r); ++i) {
        if (has_figure(r, i)) printf("\t%s", figure_name(r, i));
    }
    putchar('\n');
    for (size_t t = 0; t < r->targets->count; ++t) {
        const char *target = r->targets->at[t];
        for (size_t k = 0; k < r->folds->count; ++k)
            print_row(r, target, r->folds->names[k], score_of(r, t, k));
        print_row(r, target, "mean", mean_over_folds(r, t));
        print_row(r, target, "pooled", score_of(r, t, LTH_NONE));
    }
    print_row(r, "mean", "mean", mean_over_targets(r));
    if (!r->labels) return EXIT_DONE;
    printf("\ntarget\tclass\tn\tprecision\trecall\tf1\n");
    for (size_t t = 0; t < r->targets->count; ++t) print_classes(r, t);
    for (size_t t = 0; t < r->targets->count; ++t) print_confusion(r, t);
    return EXIT_DONE;
}

/* ---- JSON ---- */

static void put_score(json_writer *w, const char *key, const cv_report *r, score s) {
    json_begin_object(w, key);
    for (size_t i = 0; i < figure_count(r); ++i) {
        if (has_figure(r, i)) json_put_double(w, figure_name(r, i), s.figure[i]);
    }
    json_end(w);
}

static void put_classes(json_writer *w, const lth_validation *v, size_t target) {
    json_begin_list(w, "classes");
    for (size_t c = 0; c < lth_validation_classes(v, target); ++c) {
        lth_class_metrics m = *lth_validation_class_metrics(v, target, c);
        json_begin_object(w, NULL);
        json_put_text(w, "name", lth_validation_class(v, target, c));
        json_put_count(w, "support", m.support);
        json_put_double(w, "precision", m.precision);
        json_put_double(w, "recall", m.recall);
        json_put_double(w, "f1", m.f1);
        json_end(w);
    }
    json_end(w);
}

static void put_confusion(json_writer *w, const lth_validation *v, size_t target) {
    size_t classes = lth_validation_classes(v, target);
    if (!lth_validation_has_confusion(v, target)) {
        json_put_text(w, "confusion", NULL);
        return;
    }
    json_begin_list(w, "confusion");
    for (size_t c = 0; c < classes; ++c) {
        json_begin_list(w, NULL);
        for (size_t p = 0; p < classes; ++p)
            json_put_count(w, NULL, lth_validation_confusion(v, target, c, p));
        json_end(w);
    }
    json_end(w);
}

static void put_target(json_writer *w, const cv_report *r, size_t target) {
    json_begin_object(w, r->targets->at[target]);
    json_begin_list(w, "folds");
    for (size_t k = 0; k < r->folds->count; ++k) put_score(w, NULL, r, score_of(r, target, k));
    json_end(w);
    put_score(w, "mean", r, mean_over_folds(r, target));
    put_score(w, "pooled", r, score_of(r, target, LTH_NONE));
    if (r->labels) {
        put_classes(w, r->validation, target);
        put_confusion(w, r->validation, target);
    }
    json_end(w);
}

int print_cv_json(const cv_report *r, const lth_kernel *kernel) {
    char *text = kernel_text(kernel);
    if (!text) return out_of_memory();
    json_writer w = {.to = stdout};
    json_begin_result(&w, NULL);
    if (r->labels) json_put_text(&w, "model", r->svm ? "svm" : "gp");
    json_put_text(&w, "kernel", text);
    json_begin_object(&w, "targets");
    for (size_t t = 0; t < r->targets->count; ++t) put_target(&w, r, t);
    json_end(&w);
    put_score(&w, "mean", r, mean_over_targets(r));
    json_end(&w);
    free(text);
    return EXIT_DONE;
}

/* ---- Predictions ---- */

/* A cell that the library has read as a number before, so it is short enough; NaN where it is
 * empty, as those of --coregion may be. */
static double number_at(const lth_table *table, size_t row, size_t column) {
    char text[2048] = "", *end;
    size_t length;
    const char *cell = lth_table_cell(table, row, column, &length);
    if (length < sizeof text) memcpy(text, cell, length);
    double value = strtod(text, &end);
    return end == text ? NAN : value;
}

static void write_numbers(const cv_report *r, size_t target, size_t row, FILE *to) {
    size_t column = lth_table_find(r->table, r->targets->at[target]);
    double values[] = {number_at(r->table, row, column),
                       lth_validation_value(r->validation, target, row),
                       lth_validation_sd(r->validation, target, row)};
    for (size_t i = 0; i < 3; ++i) {
        putc('\t', to);
        if (i > 0 || !isnan(values[0])) write_tsv_double(to, values[i]); /* y may be empty */
    }
}

static void write_labels(const lth_validation *v, size_t target, size_t row, FILE *to,
                         bool has(const lth_validation *, size_t, size_t, size_t)) {
    const char *before = "\t";
    bool none = true;
    for (size_t c = 0; c < lth_validation_classes(v, target); ++c) {
        if (!has(v, target, row, c)) continue;
        fprintf(to, "%s%s", before, lth_validation_class(v, target, c));
        before = ",", none = false;
    }
    if (none) putc('\t', to);
}

void write_cv_predictions(const cv_report *r, FILE *to) {
    fputs(r->labels ? "row\ttarget\tfold\ty\tpredicted\n" : "row\ttarget\tfold\ty\tmean\tsd\n", to);
    for (size_t t = 0; t < r->targets->count; ++t) {
        for (size_t i = 0; i < lth_table_rows(r->table); ++i) {
            fprintf(to, "%zu\t%s\t%s", lth_table_number(r->table, i), r->targets->at[t],
                    r->folds->names[r->folds->of_row[i]]);
            if (r->labels) {
                write_labels(r->validation, t, i, to, lth_validation_true);
                write_labels(r->validation, t, i, to, lth_validation_predicted);
            } else {
                write_numbers(r, t, i, to);
            }
            putc('\n', to);
        }
    }
}
