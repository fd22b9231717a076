/* Row 35: all problems of a grid of support vector machines on one Gram matrix, ten classes, three
 * C, five inner folds, against LIBSVM, which solves one after the other. Where LIBSVM is installed.
 */
#include "measure.h"

static const char what[] =
    "ten classes, three C, five folds of a Gram matrix of 2,000 rows, one core, against LIBSVM";

#if __has_include(<libsvm/svm.h>)
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <libsvm/svm.h>

#include "workload.h"

enum { ROWS = 2000, CLASSES = 10, COLUMNS = 8, FOLDS = 5, CS = 3 };
static const double C[CS] = {1, 2, 4};
static const char kernel_text[] = "rbf(x0..x7, lengthscale=1)";

typedef struct library {
    struct svm_model *(*train)(const struct svm_problem *, const struct svm_parameter *);
    void (*free_model)(struct svm_model **);
} library;

static void be_silent(const char *text) {
    (void)text;
}

static bool load(library *out) {
    void *handle = dlopen("libsvm.so.3", RTLD_NOW | RTLD_LOCAL);
    union {
        void *object[3];
        struct {
            library functions;
            void (*set_printer)(void (*)(const char *));
        } typed;
    } found_there = {.object = {NULL}};
    static const char *const names[] = {"svm_train", "svm_free_and_destroy_model",
                                        "svm_set_print_string_function"};
    for (size_t i = 0; i < 3; i++) {
        found_there.object[i] = handle ? dlsym(handle, names[i]) : NULL;
        if (!found_there.object[i]) return false;
    }
    found_there.typed.set_printer(be_silent);
    *out = found_there.typed.functions;
    return true;
}

static double random_number(unsigned *state) {
    *state = *state * 1664525 + 1013904223;
    return (*state >> 8) / 16777216.0;
}

/* Overlapping clouds. */
static void write_clouds(const char *path) {
    FILE *file = fopen(path, "w");
    unsigned state = 1;
    if (!file) die("cannot write %s", path);
    fputs("class", file);
    for (int k = 0; k < COLUMNS; k++) fprintf(file, "\tx%d", k);
    for (int i = 0; i < ROWS; i++) {
        fprintf(file, "\nc%d", i % CLASSES);
        for (int k = 0; k < COLUMNS; k++) {
            double near = (i % CLASSES * (k + 3) % 7) / 5.0;
            fprintf(file, "\t%.4f", near + 2 * random_number(&state));
        }
    }
    fputc('\n', file);
    if (fclose(file) != 0) die("cannot write %s", path);
}

/* The matrix of the rows, and how long it takes; the caller's to free. */
static double *compute_gram(lth_ctx *ctx, const lth_table *table, double *seconds) {
    lth_error err = {0};
    lth_kernel *kernel = NULL;
    lth_encoder *encoder = NULL;
    lth_items *items = NULL;
    double *K = allocate((size_t)ROWS * ROWS, sizeof *K), began = seconds_now();
    must(lth_kernel_parse(ctx, kernel_text, &kernel, &err), &err);
    must(lth_kernel_resolve(&kernel, table, &err), &err);
    must(lth_encoder_create(ctx, kernel, &encoder, &err), &err);
    must(lth_encode(encoder, table, &items, &err), &err);
    must(lth_gram(kernel, items, NULL, K, ROWS, &err), &err);
    *seconds = seconds_now() - began;
    lth_items_free(items);
    lth_encoder_free(encoder);
    lth_kernel_free(kernel);
    return K;
}

/* Each class against the rest, of every fold's other rows; fold FOLDS has none, for the last C. */
static double solve_by_libsvm(const library *svm, const double *K) {
    struct svm_node *nodes = allocate((size_t)ROWS * (ROWS + 1), sizeof *nodes);
    struct svm_node **x = allocate(ROWS, sizeof *x);
    double *y = allocate(ROWS, sizeof *y), seconds = 0;
    for (size_t i = 0; i < ROWS; i++) {
        nodes[i * (ROWS + 1)] = (struct svm_node){0, (double)(i + 1)};
        for (size_t j = 0; j < ROWS; j++)
            nodes[i * (ROWS + 1) + 1 + j] = (struct svm_node){(int)j + 1, K[i * ROWS + j]};
    }
    for (int problem = 0; problem < CLASSES * (FOLDS * CS + 1); problem++) {
        int class = problem % CLASSES, at = problem / CLASSES, fold = at / CS;
        struct svm_problem p = {.y = y, .x = x};
        for (int i = 0; i < ROWS; i++) {
            if (i / CLASSES % FOLDS == fold) continue;
            y[p.l] = i % CLASSES == class ? 1 : -1;
            x[p.l++] = nodes + (size_t)i * (ROWS + 1);
        }
        struct svm_parameter settings = {.svm_type = C_SVC,
                                         .kernel_type = PRECOMPUTED,
                                         .cache_size = 100,
                                         .eps = 1e-3,
                                         .C = C[at % CS],
                                         .shrinking = 1};
        double began = seconds_now();
        struct svm_model *model = svm->train(&p, &settings);
        seconds += seconds_now() - began;
        svm->free_model(&model);
    }
    free(nodes);
    free(x);
    free(y);
    return seconds;
}

static double fit(lth_ctx *ctx, const lth_table *table) {
    lth_error err = {0};
    lth_svm *svm = NULL;
    lth_svm_options options;
    lth_svm_options_init(&options);
    options.C = C;
    options.C_count = CS;
    options.inner_folds = FOLDS;
    options.solver = LTH_SVM_KERNEL;
    double began = seconds_now();
    must(lth_svm_fit(ctx, kernel_text, table, "class", &options, &svm, &err), &err);
    double seconds = seconds_now() - began;
    lth_svm_free(svm);
    return seconds;
}

void measure_svm_problems(const plan *p, report *r) {
    library svm;
    char path[4096];
    lth_error err = {0};
    lth_ctx *ctx;
    lth_table *table;
    lth_ctx_options one;
    if (!load(&svm)) {
        skip(r, 35, what, "LIBSVM cannot be loaded");
        return;
    }
    snprintf(path, sizeof path, "%s/clouds.tsv", p->folder);
    write_clouds(path);
    lth_ctx_options_init(&one);
    one.threads = 1;
    must(lth_ctx_create(&one, &ctx, &err), &err);
    must(lth_table_read(ctx, path, NULL, &table, &err), &err);
    double gram = INFINITY, ours = INFINITY, theirs = INFINITY, seconds;
    for (int i = 0; i < 2; i++) {
        double *K = compute_gram(ctx, table, &seconds);
        gram = fmin(gram, seconds);
        ours = fmin(ours, fit(ctx, table));
        theirs = fmin(theirs, solve_by_libsvm(&svm, K));
        free(K);
    }
    found(r, 35, what, AT_LEAST, (gram + theirs) / ours, 2, "x",
          "all of fit %.2f s, of which the matrix takes %.2f s; LIBSVM with it %.2f s", ours, gram,
          gram + theirs);
    lth_table_free(table);
    lth_ctx_free(ctx);
}
#else
void measure_svm_problems(const plan *p, report *r) {
    (void)p;
    skip(r, 35, what, "LIBSVM is not installed");
}
#endif
