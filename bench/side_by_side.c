/* The rows about cross-validation: small fits side by side on two threads against one, and against
 * the same fits one by one, each on two threads. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "measure.h"
#include "workload.h"

enum { FOLDS = 10, TARGETS = 6 };

static const char expression[] = "rbf(mean(tokens))";
static const char *const targets[TARGETS] = {"anger", "disgust", "fear",
                                             "joy",   "sadness", "surprise"};

typedef struct emotions {
    lth_ctx *ctx;
    lth_table *all, *some[FOLDS]; /* without a fold */
    lth_word_vectors *vectors;
    lth_gp_options options;
    size_t *fold;
} emotions;

static lth_table *read_rows(lth_ctx *ctx, const char *path, size_t but) {
    char where[2 * FOLDS + 8] = "fold=";
    const char *const condition = where;
    lth_table_options options;
    lth_table_options_init(&options);
    size_t used = 5;
    for (size_t f = 0; f < FOLDS; f++) {
        if (f != but)
            used += (size_t)snprintf(where + used, sizeof where - used, "%s%zu",
                                     used > 5 ? "," : "", f);
    }
    options.where = &condition;
    options.where_count = 1;
    lth_table *table;
    lth_error err = {0};
    must(lth_table_read(ctx, path, &options, &table, &err), &err);
    return table;
}

static void open_emotions(const char *headlines, const char *vectors, unsigned threads,
                          emotions *e) {
    lth_ctx_options options;
    lth_error err = {0};
    size_t length;
    lth_ctx_options_init(&options);
    options.threads = threads;
    must(lth_ctx_create(&options, &e->ctx, &err), &err);
    e->all = read_rows(e->ctx, headlines, LTH_NONE);
    for (size_t f = 0; f < FOLDS; f++) e->some[f] = read_rows(e->ctx, headlines, f);
    must(lth_word_vectors_read(e->ctx, vectors, &e->vectors, &err), &err);
    lth_gp_options_init(&e->options);
    e->options.restarts = 0;
    e->options.max_iter = 4; /* all steps are alike */
    e->options.word_vectors = e->vectors;
    size_t column = lth_table_find(e->all, "fold"), rows = lth_table_rows(e->all);
    e->fold = allocate(rows, sizeof *e->fold);
    for (size_t i = 0; i < rows; i++)
        e->fold[i] = (size_t)(lth_table_cell(e->all, i, column, &length)[0] - '0');
}

static void close_emotions(emotions *e) {
    for (size_t f = 0; f < FOLDS; f++) lth_table_free(e->some[f]);
    lth_table_free(e->all);
    lth_word_vectors_free(e->vectors);
    lth_ctx_free(e->ctx);
    free(e->fold);
}

/* Seconds; `evidence` of all fits. */
static double validate(emotions *e, double *evidence) {
    lth_validation *found;
    lth_error err = {0};
    double start = seconds_now();
    must(lth_gp_cv(e->ctx, expression, e->all, targets, TARGETS, e->fold, FOLDS, &e->options,
                   &found, &err),
         &err);
    double seconds = seconds_now() - start;
    *evidence = 0;
    for (size_t i = 0; i < FOLDS * TARGETS; i++)
        *evidence += lth_validation_evidence(found, i % TARGETS, i / TARGETS);
    lth_validation_free(found);
    return seconds;
}

/* The same models, one after the other; what they predict is left out. */
static double fit_all(emotions *e, double *evidence) {
    double start = seconds_now();
    *evidence = 0;
    for (size_t i = 0; i < FOLDS * TARGETS; i++) {
        lth_gp *gp;
        lth_error err = {0};
        must(lth_gp_fit(e->ctx, expression, e->some[i / TARGETS], &targets[i % TARGETS], 1,
                        &e->options, &gp, &err),
             &err);
        *evidence += lth_gp_reported(gp)->evidence;
        lth_gp_free(gp);
    }
    return seconds_now() - start;
}

static void measure(const char *headlines, const char *vectors, report *r) {
    emotions one, two;
    double alone = INFINITY, both = INFINITY, fits = INFINITY, evidence[3];
    open_emotions(headlines, vectors, 1, &one);
    open_emotions(headlines, vectors, 2, &two);
    for (int round = 0; round < 2; round++) {
        alone = fmin(alone, validate(&one, &evidence[0]));
        both = fmin(both, validate(&two, &evidence[1]));
        fits = fmin(fits, fit_all(&two, &evidence[2]));
    }
    if (evidence[0] != evidence[1] || !(fabs(evidence[2] - evidence[0]) < 1e-3))
        die("log evidence %.17g, %.17g and %.17g", evidence[0], evidence[1], evidence[2]);
    found(r, 33, "60 fits of rbf(mean) in folds, two threads against one", AT_LEAST, alone / both,
          1.8, "x", "%.2f and %.2f s; six emotions, ten folds, four iterations", alone, both);
    found(r, 34, "the same on two threads, against the same fits one by one", AT_LEAST, fits / both,
          1, "x", "%.2f and %.2f s", fits, both);
    close_emotions(&one);
    close_emotions(&two);
}

void measure_folds(const plan *p, report *r) {
    char headlines[4096], vectors[4096];
    snprintf(headlines, sizeof headlines, "%s/semeval2007.tsv", p->data);
    snprintf(vectors, sizeof vectors, "%s/glove_subset_100d.txt.gz", p->data);
    bool there = access(headlines, R_OK) == 0 && access(vectors, R_OK) == 0;
    bool cores = sysconf(_SC_NPROCESSORS_ONLN) > 1;
    if (there && cores) {
        measure(headlines, vectors, r);
        return;
    }
    for (size_t row = 33; row <= 34; row++)
        skip(r, row,
             row == 33 ? "60 fits of rbf(mean) in folds, two threads against one"
                       : "the same on two threads, against the same fits one by one",
             "%s", there ? "there is one core" : "the headlines or their vectors are not there");
}
