/* A table predicted in slices of a multiple of 512 rows has the bits of one predicted at once, also
 * where the rows have words, n-grams and subtrees that are new in each slice. Only sstk adds by the
 * numbers of subtrees, which for new ones depend on the rows before. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gp_support.h"

enum { TRAIN = 30, ROWS = 1700 };

/* Text, tree, number, target, label. */
static char *write_rows(size_t first, size_t count) {
    char *bytes = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&bytes, &size);
    assert_non_null(to);
    fputs("text\ttree\tf\ty\tl\n", to);
    for (size_t i = first; i < first + count; i++)
        fprintf(to,
                "good w%zu a lamp%zu the x%zu bad w%zu\t"
                "(S (NP (D the) (N n%zu)) (VP (V sat%zu) (NP (N mat) (N m%zu))))\t%g\t%g\t%s\n",
                i % 7 + i / 40, i % 3, i * 7 % 11 + i / 90, i % 5, i % 4 + i / 60, i % 3, i / 200,
                cos((double)i), sin((double)i),
                i % 3 == 0 ? "one"
                : i % 2    ? "two"
                           : "three");
    fclose(to);
    char *path = support_file(bytes, size);
    free(bytes);
    return path;
}

typedef struct model {
    lth_gp *gp;
    lth_svm *svm;
    size_t width; /* numbers of a row */
} model;

/* [row][number] */
static void predict(const model *m, const lth_table *table, double *out) {
    lth_error err = {0};
    size_t rows = lth_table_rows(table);
    if (m->svm) {
        lth_svm_prediction to = {.decision = out};
        support_ok(lth_svm_predict(m->svm, table, &to, sizeof to, &err), &err);
    } else if (lth_gp_classes(m->gp) > 0) {
        support_ok(lth_gp_classify(m->gp, table, out, &err), &err);
    } else {
        double *numbers = malloc(2 * rows * sizeof *numbers);
        support_ok(lth_gp_predict(m->gp, table, false, numbers, numbers + rows, &err), &err);
        for (size_t i = 0; i < rows; i++) {
            out[2 * i] = numbers[i];
            out[2 * i + 1] = numbers[rows + i];
        }
        free(numbers);
    }
}

static void check(const model *m, lth_ctx *ctx, const char *path, const lth_table *whole,
                  bool nearly) {
    size_t count = m->width * ROWS;
    double *wanted = malloc(count * sizeof *wanted), *found = malloc(count * sizeof *found);
    lth_error err = {0};
    predict(m, whole, wanted);
    for (size_t rows = 512; rows <= 1024; rows += 512) {
        lth_table_stream *s = NULL;
        lth_table *slice = NULL;
        size_t at = 0;
        support_ok(lth_table_stream_open(ctx, path, NULL, &s, &err), &err);
        for (;;) {
            support_ok(lth_table_stream_next(s, rows, &slice, &err), &err);
            if (!slice) break;
            predict(m, slice, found + at * m->width);
            at += lth_table_rows(slice);
            lth_table_free(slice);
        }
        lth_table_stream_close(s);
        assert_int_equal(at, ROWS);
        if (!nearly) assert_memory_equal(found, wanted, count * sizeof *found);
        for (size_t i = 0; nearly && i < count; i++) support_near(found[i], wanted[i], 1e-12);
    }
    free(wanted);
    free(found);
}

static const struct {
    const char *kernel;
    bool vectors, nearly;
} kernels[] = {{"normalize(ssk(text, order=2))", false, false},
               {"ssk(text, order=2, sim=cosine) + mean(text)", true, false},
               {"normalize(sstk(tree))", false, true},
               {"normalize(ptk(tree))", false, false},
               {"normalize(tfidf(text)) + normalize(ngrams(text, n=[1,2]))", false, false},
               {"normalize(bow(text)) * rbf(f)", false, false},
               {"normalize(approx_ssk(text))", false, false}};

static void test_slices(void **state) {
    (void)state;
    lth_ctx *ctx = support_context(2);
    lth_error err = {0};
    char *train_path = write_rows(0, TRAIN), *path = write_rows(TRAIN / 2, ROWS);
    char *vectors = support_vectors();
    lth_table *train = NULL, *whole = NULL;
    support_ok(lth_table_read(ctx, train_path, NULL, &train, &err), &err);
    support_ok(lth_table_read(ctx, path, NULL, &whole, &err), &err);
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
        const char *y = "y", *l = "l";
        lth_gp_options options = support_fixed();
        lth_svm_options machine;
        lth_svm_options_init(&machine);
        machine.vectors = options.vectors = kernels[k].vectors ? vectors : NULL;
        model m = {.width = 2};
        support_ok(lth_gp_fit(ctx, kernels[k].kernel, train, &y, 1, &options, &m.gp, &err), &err);
        support_ok(lth_gp_use_vectors(m.gp, options.vectors, &err), &err);
        check(&m, ctx, path, whole, kernels[k].nearly);
        lth_gp_free(m.gp);
        support_ok(lth_gp_fit(ctx, kernels[k].kernel, train, &l, 1, &options, &m.gp, &err), &err);
        support_ok(lth_gp_use_vectors(m.gp, options.vectors, &err), &err);
        m.width = 3;
        check(&m, ctx, path, whole, kernels[k].nearly);
        lth_gp_free(m.gp);
        m.gp = NULL;
        support_ok(lth_svm_fit(ctx, kernels[k].kernel, train, l, &machine, &m.svm, &err), &err);
        support_ok(lth_svm_use_vectors(m.svm, machine.vectors, &err), &err);
        check(&m, ctx, path, whole, kernels[k].nearly);
        lth_svm_free(m.svm);
    }
    lth_table_free(train);
    lth_table_free(whole);
    support_remove(train_path);
    support_remove(path);
    support_remove(vectors);
    lth_ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_slices)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
