/* What a cross-validation says: figures by fold and target, of labels also by class. */
#include "commands/cv_report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "figures.h"
#include "output.h"

/* ---- Figures ---- */

/* Support vector machines predict no probabilities here. */
static figure_kind kind_of(const cv_report *r) {
    return (figure_kind){
        .labels = r->labels, .svm = r->svm, .probabilities = !r->svm, .fitted = true};
}

static bool is_done(const cv_report *r, size_t target, size_t fold) {
    return lth_validation_done(r->validation, target, fold);
}

static size_t finished_of(const cv_report *r, size_t target) {
    size_t count = 0;
    for (size_t k = 0; k < r->folds->count; ++k) count += is_done(r, target, k);
    return count;
}

bool is_partial(const cv_report *r) {
    return finished_folds(r) < r->targets->count * r->folds->count;
}

size_t finished_folds(const cv_report *r) {
    size_t count = 0;
    for (size_t t = 0; t < r->targets->count; ++t) count += finished_of(r, t);
    return count;
}

/* `fold` LTH_NONE = all rows together, which have no evidence. */
static figures score_of(const cv_report *r, size_t target, size_t fold) {
    const lth_validation *v = r->validation;
    double seconds = lth_validation_seconds(v, target, fold), evidence = NAN;
    if (r->labels) return figures_of_labels(lth_validation_label_metrics(v, target, fold), seconds);
    if (fold != LTH_NONE) evidence = r->svm ? 0 : lth_validation_evidence(v, target, fold);
    return figures_of_numbers(lth_validation_metrics(v, target, fold), seconds, evidence);
}

/* A mean over those that have the figure: ndcg is not defined on a fold of one row. One that is
 * infinite makes the mean so. */
typedef struct average {
    double sum[MOST_FIGURES];
    size_t defined[MOST_FIGURES];
} average;

static void add_score(average *a, figures s) {
    for (size_t i = 0; i < MOST_FIGURES; ++i)
        if (!isnan(s.at[i])) a->sum[i] += s.at[i], ++a->defined[i];
}

static figures mean_of(const cv_report *r, const average *a) {
    figures mean = {.count = lth_table_rows(r->table)};
    for (size_t i = 0; i < MOST_FIGURES; ++i)
        mean.at[i] = a->sum[i] / (double)a->defined[i]; /* or nan */
    return mean;
}

static figures mean_over_folds(const cv_report *r, size_t target) {
    average a = {0};
    for (size_t k = 0; k < r->folds->count; ++k)
        if (is_done(r, target, k)) add_score(&a, score_of(r, target, k));
    figures mean = mean_of(r, &a);
    mean.count = score_of(r, target, LTH_NONE).count; /* rows that have the target */
    return mean;
}

static figures mean_over_targets(const cv_report *r) {
    average a = {0};
    for (size_t t = 0; t < r->targets->count; ++t) add_score(&a, mean_over_folds(r, t));
    return mean_of(r, &a);
}

/* ---- Text ---- */

static void print_row(const cv_report *r, const char *target, const char *fold, figures s) {
    print_visible(target);
    putchar('\t');
    print_visible(fold);
    printf("\t%zu", s.count);
    print_figures(kind_of(r), &s);
    putchar('\n');
}

/* "mean", or what it is when some folds are missing. */
static void print_over_folds(const cv_report *r, size_t target, const char *what, figures s) {
    char name[64];
    snprintf(name, sizeof name, "%s of %zu/%zu", what, finished_of(r, target), r->folds->count);
    print_row(r, r->targets->at[target], is_done(r, target, LTH_NONE) ? what : name, s);
}

static void print_classes(const cv_report *r, size_t target) {
    for (size_t c = 0; c < lth_validation_classes(r->validation, target); ++c) {
        lth_class_metrics m = *lth_validation_class_metrics(r->validation, target, c);
        print_visible(r->targets->at[target]);
        putchar('\t');
        print_visible(lth_validation_class(r->validation, target, c));
        printf("\t%zu", m.support);
        print_number_cell(m.precision);
        print_number_cell(m.recall);
        print_number_cell(m.f1);
        putchar('\n');
    }
}

static void print_confusion(const cv_report *r, size_t target) {
    const lth_validation *v = r->validation;
    size_t classes = lth_validation_classes(v, target);
    if (!lth_validation_has_confusion(v, target)) return;
    putchar('\n');
    print_visible(r->targets->at[target]);
    printf("\\predicted");
    for (size_t c = 0; c < classes; ++c) {
        putchar('\t');
        print_visible(lth_validation_class(v, target, c));
    }
    putchar('\n');
    for (size_t c = 0; c < classes; ++c) {
        print_visible(lth_validation_class(v, target, c));
        for (size_t p = 0; p < classes; ++p)
            printf("\t%zu", lth_validation_confusion(v, target, c, p));
        putchar('\n');
    }
}

int print_cv_text(const cv_report *r) {
    printf("target\tfold\tn");
    print_figure_names(kind_of(r));
    putchar('\n');
    for (size_t t = 0; t < r->targets->count; ++t) {
        const char *target = r->targets->at[t];
        if (finished_of(r, t) == 0) continue;
        for (size_t k = 0; k < r->folds->count; ++k)
            if (is_done(r, t, k)) print_row(r, target, r->folds->names[k], score_of(r, t, k));
        print_over_folds(r, t, "mean", mean_over_folds(r, t));
        print_over_folds(r, t, "pooled", score_of(r, t, LTH_NONE));
    }
    if (!is_partial(r)) print_row(r, "mean", "mean", mean_over_targets(r));
    if (!r->labels) return EXIT_DONE;
    printf("\ntarget\tclass\tn\tprecision\trecall\tf1\n");
    for (size_t t = 0; t < r->targets->count; ++t) print_classes(r, t);
    for (size_t t = 0; t < r->targets->count; ++t) print_confusion(r, t);
    return EXIT_DONE;
}

/* ---- JSON ---- */

static void put_score(json_writer *w, const char *key, const cv_report *r, figures s) {
    json_put_figures(w, key, kind_of(r), &s);
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
    for (size_t k = 0; k < r->folds->count; ++k) {
        if (is_done(r, target, k))
            put_score(w, NULL, r, score_of(r, target, k));
        else
            json_put_text(w, NULL, NULL);
    }
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
    if (is_partial(r)) json_put_bool(&w, "interrupted", true);
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

/* Mean and sd do not say it all. */
static bool has_quantiles(const cv_report *r) {
    return !r->labels && !isnan(lth_validation_quantile(r->validation, 0, 0, 0.5));
}

static void write_numbers(const cv_report *r, size_t target, size_t row, FILE *to) {
    const lth_validation *v = r->validation;
    size_t column = lth_table_find(r->table, r->targets->at[target]);
    double values[] = {number_at(r->table, row, column),
                       lth_validation_value(v, target, row),
                       lth_validation_sd(v, target, row),
                       lth_validation_quantile(v, target, row, 0.5),
                       lth_validation_quantile(v, target, row, 0.025),
                       lth_validation_quantile(v, target, row, 0.975)};
    for (size_t i = 0; i < (has_quantiles(r) ? 6 : 3); ++i) {
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
        fputs(before, to);
        write_text_cell(to, lth_validation_class(v, target, c));
        before = ",", none = false;
    }
    if (none) putc('\t', to);
}

void write_cv_predictions(const cv_report *r, FILE *to) {
    fputs("row\ttarget\tfold\ty", to);
    fputs(r->labels          ? "\tpredicted\n"
          : has_quantiles(r) ? "\tmean\tsd\tmedian\tlo\thi\n"
                             : "\tmean\tsd\n",
          to);
    for (size_t t = 0; t < r->targets->count; ++t) {
        for (size_t i = 0; i < lth_table_rows(r->table); ++i) {
            fprintf(to, "%zu\t", lth_table_number(r->table, i));
            write_text_cell(to, r->targets->at[t]);
            putc('\t', to);
            write_text_cell(to, r->folds->names[r->folds->of_row[i]]);
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
