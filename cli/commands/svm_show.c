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
    printf("\nlearning\tvalue\ntarget\t%s\ntype\t%s\n", lth_svm_target(svm), r->type);
    print_figure("C", r->C);
    print_figure("epsilon", r->epsilon);
    print_figure("nu", r->nu);
    if (r->classes > 2 || r->multi_label)
        printf("problems\t%zu, %s\n", r->problems,
               r->multi_label   ? "one for each label"
               : r->one_vs_rest ? "each class against the rest"
                                : "in pairs");
    if (r->linear) printf("solver\tlinear\nweights\t%zu\n", r->weights);
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
        printf("%s\t%zu\t%zu\n", c.name, c.rows, c.support);
    }
}

static void print_cell(double value) {
    putchar('\t');
    if (isnan(value))
        putchar('-');
    else
        write_tsv_double(stdout, value);
}

static void print_grid(const lth_svm *svm, const lth_svm_report *r) {
    if (r->points < 2) return;
    printf("\nkernel\tC\tepsilon\tnu\t%s\n", r->score);
    for (size_t i = 0; i < r->points; ++i) {
        lth_svm_point p = *lth_svm_point_at(svm, i);
        fputs(p.kernel, stdout);
        print_cell(p.C);
        print_cell(p.epsilon);
        print_cell(p.nu);
        print_cell(p.score);
        putchar('\n');
    }
}

int print_svm_text(const lth_svm *svm) {
    lth_svm_report r = *lth_svm_reported(svm);
    char *kernel = kernel_text(lth_svm_kernel(svm));
    if (!kernel) return out_of_memory();
    puts(kernel);
    free(kernel);
    print_machine(svm, &r);
    print_classes(svm, &r);
    print_grid(svm, &r);
    return EXIT_DONE;
}

/* ---- JSON ---- */

static void print_json_figure(const char *name, double value) {
    printf(",\"%s\":", name);
    print_json_double(value);
}

static const char *truth(bool x) {
    return x ? "true" : "false";
}

static void print_json_lists(const lth_svm *svm, const lth_svm_report *r) {
    printf(",\"classes\":[");
    for (size_t i = 0; i < r->classes; ++i) {
        lth_svm_class c = *lth_svm_class_at(svm, i);
        printf("%s{\"name\":", i ? "," : "");
        print_json_string(c.name);
        printf(",\"rows\":%zu,\"support\":%zu}", c.rows, c.support);
    }
    printf("],\"grid\":[");
    for (size_t i = 0; i < r->points; ++i) {
        lth_svm_point p = *lth_svm_point_at(svm, i);
        printf("%s{\"kernel\":", i ? "," : "");
        print_json_string(p.kernel);
        print_json_figure("C", p.C);
        print_json_figure("epsilon", p.epsilon);
        print_json_figure("nu", p.nu);
        print_json_figure("score", p.score);
        putchar('}');
    }
    putchar(']');
}

int print_svm_json(const lth_svm *svm) {
    lth_svm_report r = *lth_svm_reported(svm);
    char *kernel = kernel_text(lth_svm_kernel(svm));
    if (!kernel) return out_of_memory();
    printf("{\"schema\":1,\"model\":\"svm\",\"kernel\":");
    print_json_string(kernel);
    free(kernel);
    printf(",\"targets\":[");
    print_json_string(lth_svm_target(svm));
    printf("],\"type\":\"%s\"", r.type);
    print_json_figure("C", r.C);
    print_json_figure("epsilon", r.epsilon);
    print_json_figure("nu", r.nu);
    printf(",\"multi_label\":%s,\"one_vs_rest\":%s,\"probability\":%s", truth(r.multi_label),
           truth(r.one_vs_rest), truth(r.probability));
    printf(",\"rows\":%zu,\"support\":%zu,\"problems\":%zu", r.rows, r.support, r.problems);
    printf(",\"solver\":\"%s\",\"weights\":%zu", r.linear ? "linear" : "kernel", r.weights);
    print_json_lists(svm, &r);
    printf(",\"inner_folds\":%zu,\"inner\":{\"%s\":", r.inner_folds, r.score);
    print_json_double(r.inner);
    putchar('}');
    print_json_figure("seconds", r.seconds);
    printf("}\n");
    return EXIT_DONE;
}
