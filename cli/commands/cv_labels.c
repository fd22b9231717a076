/* What a cross-validation says of predicted labels: figures by fold, by class, and confusions. */
#include <math.h>
#include <stdio.h>

#include "commands/cv_labels.h"
#include "output.h"

/* ---- Figures ---- */

enum { FIGURES = 6 };
static const char *const names[FIGURES] = {"accuracy", "micro_f1", "macro_f1",
                                           "auc",      "seconds",  "log_loss"};

typedef struct score {
    size_t count;
    double figure[FIGURES];
} score;

static size_t figure_count(const labels_report *r) {
    return r->probabilities ? FIGURES : FIGURES - 1;
}

static score score_of(const labels_report *r, size_t target, size_t fold) {
    lth_label_metrics m = *lth_validation_label_metrics(r->validation, target, fold);
    double seconds = lth_validation_seconds(r->validation, target, fold);
    return (score){m.count, {m.accuracy, m.micro_f1, m.macro_f1, m.auc, seconds, m.log_loss}};
}

/* A mean over those that have the figure. */
typedef struct average {
    score sum;
    size_t defined[FIGURES];
} average;

static void add_score(average *a, const score *s) {
    a->sum.count += s->count;
    for (size_t i = 0; i < FIGURES; ++i) {
        if (isnan(s->figure[i])) continue;
        a->sum.figure[i] += s->figure[i];
        ++a->defined[i];
    }
}

static score mean_of(average *a) {
    for (size_t i = 0; i < FIGURES; ++i) a->sum.figure[i] /= (double)a->defined[i]; /* or nan */
    return a->sum;
}

static score mean_over_folds(const labels_report *r, size_t target) {
    average a = {0};
    for (size_t k = 0; k < r->folds->count; ++k) {
        score s = score_of(r, target, k);
        add_score(&a, &s);
    }
    return mean_of(&a);
}

static score mean_over_targets(const labels_report *r) {
    average a = {0};
    for (size_t t = 0; t < r->target_count; ++t) {
        score s = mean_over_folds(r, t);
        add_score(&a, &s);
    }
    score mean = mean_of(&a);
    mean.count /= r->target_count;
    return mean;
}

/* ---- Text ---- */

static void print_cell(double value) {
    putchar('\t');
    if (isnan(value))
        putchar('-');
    else
        write_tsv_double(stdout, value);
}

static void print_row(const labels_report *r, const char *target, const char *fold, score s) {
    printf("%s\t%s\t%zu", target, fold, s.count);
    for (size_t i = 0; i < figure_count(r); ++i) print_cell(s.figure[i]);
    putchar('\n');
}

static void print_classes(const labels_report *r, size_t target) {
    for (size_t c = 0; c < lth_validation_classes(r->validation, target); ++c) {
        lth_class_metrics m = *lth_validation_class_metrics(r->validation, target, c);
        printf("%s\t%s\t%zu", r->targets[target], lth_validation_class(r->validation, target, c),
               m.support);
        print_cell(m.precision);
        print_cell(m.recall);
        print_cell(m.f1);
        putchar('\n');
    }
}

static void print_confusion(const labels_report *r, size_t target) {
    const lth_validation *v = r->validation;
    size_t classes = lth_validation_classes(v, target);
    if (!lth_validation_has_confusion(v, target)) return;
    printf("\n%s\\predicted", r->targets[target]);
    for (size_t c = 0; c < classes; ++c) printf("\t%s", lth_validation_class(v, target, c));
    putchar('\n');
    for (size_t c = 0; c < classes; ++c) {
        fputs(lth_validation_class(v, target, c), stdout);
        for (size_t p = 0; p < classes; ++p)
            printf("\t%zu", lth_validation_confusion(v, target, c, p));
        putchar('\n');
    }
}

void print_labels_text(const labels_report *r) {
    printf("target\tfold\tn");
    for (size_t i = 0; i < figure_count(r); ++i) printf("\t%s", names[i]);
    putchar('\n');
    for (size_t t = 0; t < r->target_count; ++t) {
        for (size_t k = 0; k < r->folds->count; ++k)
            print_row(r, r->targets[t], r->folds->names[k], score_of(r, t, k));
        print_row(r, r->targets[t], "mean", mean_over_folds(r, t));
        print_row(r, r->targets[t], "pooled", score_of(r, t, LTH_NONE));
    }
    print_row(r, "mean", "mean", mean_over_targets(r));
    printf("\ntarget\tclass\tn\tprecision\trecall\tf1\n");
    for (size_t t = 0; t < r->target_count; ++t) print_classes(r, t);
    for (size_t t = 0; t < r->target_count; ++t) print_confusion(r, t);
}

/* ---- JSON ---- */

static void print_json_score(const labels_report *r, score s) {
    for (size_t i = 0; i < figure_count(r); ++i) {
        printf("%s\"%s\":", i ? "," : "{", names[i]);
        print_json_double(s.figure[i]);
    }
    putchar('}');
}

static void print_json_classes(const labels_report *r, size_t target) {
    for (size_t c = 0; c < lth_validation_classes(r->validation, target); ++c) {
        lth_class_metrics m = *lth_validation_class_metrics(r->validation, target, c);
        printf("%s{\"name\":", c ? "," : "");
        print_json_string(lth_validation_class(r->validation, target, c));
        printf(",\"support\":%zu,\"precision\":", m.support);
        print_json_double(m.precision);
        printf(",\"recall\":");
        print_json_double(m.recall);
        printf(",\"f1\":");
        print_json_double(m.f1);
        putchar('}');
    }
}

static void print_json_confusion(const labels_report *r, size_t target) {
    size_t classes = lth_validation_classes(r->validation, target);
    if (!lth_validation_has_confusion(r->validation, target)) {
        printf("null");
        return;
    }
    putchar('[');
    for (size_t c = 0; c < classes; ++c) {
        for (size_t p = 0; p < classes; ++p)
            printf("%s%zu",
                   p   ? ","
                   : c ? ",["
                       : "[",
                   lth_validation_confusion(r->validation, target, c, p));
        putchar(']');
    }
    putchar(']');
}

static void print_json_target(const labels_report *r, size_t target) {
    print_json_string(r->targets[target]);
    printf(":{\"folds\":[");
    for (size_t k = 0; k < r->folds->count; ++k) {
        if (k) putchar(',');
        print_json_score(r, score_of(r, target, k));
    }
    printf("],\"mean\":");
    print_json_score(r, mean_over_folds(r, target));
    printf(",\"pooled\":");
    print_json_score(r, score_of(r, target, LTH_NONE));
    printf(",\"classes\":[");
    print_json_classes(r, target);
    printf("],\"confusion\":");
    print_json_confusion(r, target);
    putchar('}');
}

void print_labels_json(const labels_report *r) {
    printf("{\"schema\":1,\"model\":\"%s\",\"kernel\":", r->model);
    print_json_string(r->kernel);
    printf(",\"targets\":{");
    for (size_t t = 0; t < r->target_count; ++t) {
        if (t) putchar(',');
        print_json_target(r, t);
    }
    printf("},\"mean\":");
    print_json_score(r, mean_over_targets(r));
    printf("}\n");
}

/* ---- Predictions ---- */

void write_label_predictions(const labels_report *r, const lth_table *table, FILE *to) {
    fputs("row\ttarget\tfold\ty\tpredicted\n", to);
    for (size_t t = 0; t < r->target_count; ++t) {
        size_t classes = lth_validation_classes(r->validation, t);
        for (size_t i = 0; i < lth_table_rows(table); ++i) {
            fprintf(to, "%zu\t%s\t%s", lth_table_number(table, i), r->targets[t],
                    r->folds->names[r->folds->of_row[i]]);
            for (int predicted = 0; predicted < 2; ++predicted) {
                bool first = true;
                putc('\t', to);
                for (size_t c = 0; c < classes; ++c) {
                    bool has = predicted ? lth_validation_predicted(r->validation, t, i, c)
                                         : lth_validation_true(r->validation, t, i, c);
                    if (!has) continue;
                    fprintf(to, "%s%s", first ? "" : ",",
                            lth_validation_class(r->validation, t, c));
                    first = false;
                }
            }
            putc('\n', to);
        }
    }
}
