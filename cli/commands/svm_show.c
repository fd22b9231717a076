/* What a support vector machine has learned, and how: as text and as JSON. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "model.h"
#include "output.h"

/* ---- Text ---- */

static void print_figure(const char *name, double value) {
    if (isnan(value)) return;
    printf("%s\t", name);
    write_tsv_double(stdout, value);
    putchar('\n');
}

static void print_machine(const lth_svm *svm, const lth_svm_report *r) {
    printf("\nlearning\tvalue\n");
    print_text_line("target", lth_svm_target(svm));
    printf("type\t%s\n", r->type);
    print_figure("C", r->C);
    print_figure("epsilon", r->epsilon);
    print_figure("nu", r->nu);
    if (r->classes > 2 || r->multi_label)
        printf("problems\t%zu, %s\n", r->problems,
               r->multi_label   ? "one for each label"
               : r->one_vs_rest ? "each class against the rest"
                                : "in pairs");
    if (r->linear) printf("solver\tlinear\nweights\t%zu\n", r->weights);
    if (r->features > 0) puts("solver\tfeatures");
    if (!r->regression) printf("probabilities\t%s\n", r->probability ? "yes" : "no");
    printf("rows\t%zu\nsupport rows\t%zu\n", r->rows, r->support);
    if (r->points > 1) {
        printf("inner folds\t%zu\n", r->inner_folds);
        printf("inner %s\t", r->score);
        write_tsv_double(stdout, r->inner);
        putchar('\n');
    }
    printf("seconds\t%.3f\n", r->seconds);
}

static void print_classes(const lth_svm *svm, const lth_svm_report *r) {
    if (r->classes == 0) return;
    printf("\nclass\trows\tsupport\n");
    for (size_t i = 0; i < r->classes; ++i) {
        lth_svm_class c = *lth_svm_class_at(svm, i);
        print_visible(c.name);
        printf("\t%zu\t%zu\n", c.rows, c.support);
    }
}

static void print_grid(const lth_svm *svm, const lth_svm_report *r) {
    if (r->points < 2) return;
    printf("\nkernel\tC\tepsilon\tnu\t%s\n", r->score);
    for (size_t i = 0; i < r->points; ++i) {
        lth_svm_point p = *lth_svm_point_at(svm, i);
        print_visible(p.kernel);
        print_number_cell(p.C);
        print_number_cell(p.epsilon);
        print_number_cell(p.nu);
        print_number_cell(p.score);
        putchar('\n');
    }
}

void print_svm(const lth_svm *svm) {
    lth_svm_report r = *lth_svm_reported(svm);
    print_machine(svm, &r);
    print_classes(svm, &r);
    print_grid(svm, &r);
}

/* ---- JSON ---- */

static void put_classes(json_writer *w, const lth_svm *svm) {
    json_begin_list(w, "classes");
    for (size_t i = 0; i < lth_svm_reported(svm)->classes; ++i) {
        lth_svm_class c = *lth_svm_class_at(svm, i);
        json_begin_object(w, NULL);
        json_put_text(w, "name", c.name);
        json_put_count(w, "rows", c.rows);
        json_put_count(w, "support", c.support);
        json_end(w);
    }
    json_end(w);
}

static void put_grid(json_writer *w, const lth_svm *svm) {
    json_begin_list(w, "grid");
    for (size_t i = 0; i < lth_svm_reported(svm)->points; ++i) {
        lth_svm_point p = *lth_svm_point_at(svm, i);
        json_begin_object(w, NULL);
        json_put_text(w, "kernel", p.kernel);
        json_put_double(w, "C", p.C);
        json_put_double(w, "epsilon", p.epsilon);
        json_put_double(w, "nu", p.nu);
        json_put_double(w, "score", p.score);
        json_end(w);
    }
    json_end(w);
}

static void put_machine(json_writer *w, const lth_svm_report *r) {
    json_put_text(w, "type", r->type);
    json_put_double(w, "C", r->C);
    json_put_double(w, "epsilon", r->epsilon);
    json_put_double(w, "nu", r->nu);
    json_put_bool(w, "multi_label", r->multi_label);
    json_put_bool(w, "one_vs_rest", r->one_vs_rest);
    json_put_bool(w, "probability", r->probability);
    json_put_count(w, "rows", r->rows);
    json_put_count(w, "support", r->support);
    json_put_count(w, "problems", r->problems);
    const char *solver = r->linear ? "linear" : r->features > 0 ? "features" : "kernel";
    json_put_text(w, "solver", solver);
    json_put_count(w, "weights", r->weights);
}

void json_put_svm(json_writer *w, const lth_svm *svm) {
    lth_svm_report r = *lth_svm_reported(svm);
    put_machine(w, &r);
    put_classes(w, svm);
    put_grid(w, svm);
    json_put_count(w, "inner_folds", r.inner_folds);
    json_begin_object(w, "inner");
    json_put_double(w, r.score, r.inner);
    json_end(w);
    json_put_double(w, "seconds", r.seconds);
}
