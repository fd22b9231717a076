/* What a fold judges by is no part of what it learns from: frequencies and moments are those of its
 * training rows, so that its predictions are those of a model of these rows alone. */
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

enum { ROWS = 36, FOLDS = 3, LONGEST = 64 };

/* Fold 0 has words of its own, and most of the large numbers. */
typedef struct data {
    char text[ROWS][LONGEST];
    double f1[ROWS], f2[ROWS], y[ROWS];
    size_t fold[ROWS];
} data;

static lth_ctx *ctx;
static data all;

static void make_data(void) {
    static const char *const word[] = {"the", "a", "cat", "dog", "runs", "sleeps", "old", "red"};
    for (size_t i = 0; i < ROWS; i++) {
        all.fold[i] = (i * 5 + i / 7) % FOLDS;
        size_t used = 0;
        for (size_t k = 0; k < 4 + i % 3; k++)
            used += (size_t)snprintf(all.text[i] + used, LONGEST - used, "%s ",
                                     word[(i * (k + 3) + k * k) % (all.fold[i] == 0 ? 8 : 6)]);
        all.f1[i] = (double)((i * 7) % 11) + (all.fold[i] == 0 ? 30 : 0);
        all.f2[i] = sin((double)i);
        all.y[i] = 0.2 * all.f1[i] + all.f2[i] + (strstr(all.text[i], "cat") ? 2 : 0);
    }
}

/* What a table borrows; no more than three are open at a time. */
static struct columns {
    double f1[ROWS], f2[ROWS], y[ROWS];
    const char *text[ROWS];
} open_columns[3];

/* The rows of the fold, or all others. */
static lth_table *rows_of(size_t fold, bool inside, size_t *row, size_t *count) {
    static size_t opened;
    struct columns *c = &open_columns[opened++ % 3];
    *count = 0;
    for (size_t i = 0; i < ROWS; i++) {
        if (fold != LTH_NONE && (all.fold[i] == fold) != inside) continue;
        c->text[*count] = all.text[i];
        c->f1[*count] = all.f1[i], c->f2[*count] = all.f2[i], c->y[*count] = all.y[i];
        row[(*count)++] = i;
    }
    const lth_column columns[] = {{.name = "text", .text = c->text},
                                  {.name = "f1", .numbers = c->f1},
                                  {.name = "f2", .numbers = c->f2},
                                  {.name = "y", .numbers = c->y}};
    lth_table *table = NULL;
    lth_error err = {0};
    support_ok(lth_table_from_columns(ctx, columns, sizeof *columns, 4, *count, &table, &err),
               &err);
    return table;
}

typedef struct judged {
    double value[ROWS], sd[ROWS];
} judged;

static const char *const target[] = {"y"};

static judged by_folds(const char *kernel, bool svm, const lth_gp_options *options) {
    judged out = {0};
    size_t row[ROWS], count;
    lth_error err = {0};
    lth_validation *v = NULL;
    lth_table *table = rows_of(LTH_NONE, true, row, &count);
    support_ok(svm ? lth_svm_cv(ctx, kernel, table, target, 1, all.fold, FOLDS, NULL, &v, &err)
                   : lth_gp_cv(ctx, kernel, table, target, 1, all.fold, FOLDS, options, &v, &err),
               &err);
    for (size_t i = 0; i < ROWS; i++) {
        out.value[i] = lth_validation_value(v, 0, i);
        out.sd[i] = svm ? 0 : lth_validation_sd(v, 0, i);
    }
    lth_validation_free(v);
    lth_table_free(table);
    return out;
}

static void predict_svm(const char *kernel, const lth_table *train, const lth_table *test,
                        double *value) {
    lth_error err = {0};
    lth_svm *svm = NULL;
    lth_svm_prediction to = {.value = value};
    support_ok(lth_svm_fit(ctx, kernel, train, "y", NULL, &svm, &err), &err);
    support_ok(lth_svm_predict(svm, test, &to, sizeof to, &err), &err);
    lth_svm_free(svm);
}

static judged one_by_one(const char *kernel, bool svm, const lth_gp_options *options) {
    judged out = {0};
    for (size_t f = 0; f < FOLDS; f++) {
        size_t row[ROWS], count, others;
        double value[ROWS], sd[ROWS] = {0};
        lth_table *train = rows_of(f, false, row, &others);
        lth_table *test = rows_of(f, true, row, &count);
        if (svm) {
            predict_svm(kernel, train, test, value);
        } else {
            lth_error err = {0};
            lth_gp *gp = support_fit(ctx, kernel, train, 1, options);
            support_ok(lth_gp_predict(gp, test, false, value, sd, &err), &err);
            lth_gp_free(gp);
        }
        for (size_t i = 0; i < count; i++) out.value[row[i]] = value[i], out.sd[row[i]] = sd[i];
        lth_table_free(train);
        lth_table_free(test);
    }
    return out;
}

static double distance(const judged *a, const judged *b) {
    double most = 0;
    for (size_t i = 0; i < ROWS; i++) {
        most = fmax(most, fabs(a->value[i] - b->value[i]));
        most = fmax(most, fabs(a->sd[i] - b->sd[i]));
    }
    return most;
}

static const char *const kernels[] = {
    "normalize(tfidf(text))",
    "normalize(ngrams(text, n=[1,2], units=words, idf=yes))",
    "rbf(bow(text, min_count=4))",
    "ssk(text, order=2, rarity=0.05)",
    "normalize(ssk(text, order=3, rarity=0.2))",
    "rbf(scale(f1..f2))",
    "linear(scale(f1)) + rbf(scale(f1..f2), ard=yes, lengthscale=[1,2]) * normalize(bow(text))",
    "normalize(approx_ssk(text, n=2, features=9, units=words))",
    "normalize(ssk(text, order=2))", /* learns nothing from rows */
};
enum { KERNELS = sizeof kernels / sizeof *kernels };

static void test_processes(void **state) {
    (void)state;
    for (size_t k = 0; k < KERNELS; k++) {
        lth_gp_options fixed = support_fixed();
        judged folds = by_folds(kernels[k], false, &fixed);
        judged wanted = one_by_one(kernels[k], false, &fixed);
        if (!(distance(&folds, &wanted) < 1e-10)) fail_msg("%s", kernels[k]);
    }
}

/* The search meets the same numbers, also where it learns from some of a fold's rows: then
 * frequencies and moments are still those of all of them. */
static void test_searches(void **state) {
    (void)state;
    for (size_t k = 0; k < KERNELS; k++) {
        lth_gp_options options;
        lth_gp_options_init(&options);
        options.restarts = 0;
        options.max_iter = 5;
        options.learn_rows = k % 2 ? 15 : 0;
        judged folds = by_folds(kernels[k], false, &options);
        judged wanted = one_by_one(kernels[k], false, &options);
        if (!(distance(&folds, &wanted) < 1e-5)) fail_msg("%s", kernels[k]);
    }
}

/* A matrix in single precision rounds otherwise where it has other rows. */
static void test_machines(void **state) {
    (void)state;
    for (size_t k = 0; k < KERNELS; k++) {
        judged folds = by_folds(kernels[k], true, NULL),
               wanted = one_by_one(kernels[k], true, NULL);
        if (!(distance(&folds, &wanted) < 1e-5)) fail_msg("%s", kernels[k]);
    }
}

/* Several kernels, whose orders come from one pass: every fold has its own. */
static void test_grid_of_orders(void **state) {
    (void)state;
    static const char *const set[] = {"ssk.order=1,2,3"};
    lth_svm_options options;
    lth_svm_options_init(&options);
    options.set = set;
    options.set_count = 1;
    for (size_t f = 0; f < FOLDS; f++) {
        size_t row[ROWS], test_row[ROWS], fold[ROWS], count, others;
        lth_error err = {0};
        lth_table *table = rows_of(LTH_NONE, true, row, &count);
        lth_table *train = rows_of(f, false, row, &others),
                  *test = rows_of(f, true, test_row, &count);
        lth_validation *v = NULL;
        lth_svm *svm = NULL;
        double value[ROWS];
        lth_svm_prediction to = {.value = value};
        memcpy(fold, all.fold, sizeof fold);
        const char *kernel = "normalize(ssk(text, rarity=0.05))";
        support_ok(lth_svm_cv(ctx, kernel, table, target, 1, fold, FOLDS, &options, &v, &err),
                   &err);
        support_ok(lth_svm_fit(ctx, kernel, train, "y", &options, &svm, &err), &err);
        support_ok(lth_svm_predict(svm, test, &to, sizeof to, &err), &err);
        for (size_t i = 0; i < count; i++)
            support_near(lth_validation_value(v, 0, test_row[i]), value[i], 1e-6);
        lth_svm_free(svm);
        lth_validation_free(v);
        lth_table_free(table), lth_table_free(train), lth_table_free(test);
    }
}

/* That the data can tell: a model that has met all rows predicts otherwise. */
static void test_data_tell(void **state) {
    (void)state;
    size_t row[ROWS], count, within;
    lth_error err = {0};
    lth_table *table = rows_of(LTH_NONE, true, row, &count);
    lth_table *train = rows_of(0, false, row, &within);
    static const char *const learning[] = {"tfidf(text)", "ssk(text, rarity=0.05)",
                                           "linear(scale(f1..f2))"};
    for (size_t k = 0; k < 3; k++) {
        double K[2];
        for (size_t whole = 0; whole < 2; whole++) {
            lth_kernel *kernel = NULL;
            lth_encoder *encoder = NULL;
            lth_items *items = NULL;
            double G[ROWS * ROWS];
            size_t n = whole ? count : within;
            support_ok(lth_kernel_parse(ctx, learning[k], &kernel, &err), &err);
            support_ok(lth_encoder_create(ctx, kernel, &encoder, &err), &err);
            support_ok(lth_encode(encoder, whole ? table : train, &items, &err), &err);
            support_ok(lth_gram(kernel, items, NULL, G, n, &err), &err);
            size_t at = whole ? row[0] : 0;
            K[whole] = G[at * n + at];
            lth_items_free(items);
            lth_encoder_free(encoder);
            lth_kernel_free(kernel);
        }
        assert_true(fabs(K[0] - K[1]) > 1e-3 * fabs(K[0]));
    }
    lth_table_free(table);
    lth_table_free(train);
}

static int open_all(void **state) {
    (void)state;
    ctx = support_context(2);
    make_data();
    return 0;
}

static int close_all(void **state) {
    (void)state;
    lth_ctx_free(ctx);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_processes), cmocka_unit_test(test_searches),
        cmocka_unit_test(test_machines),  cmocka_unit_test(test_grid_of_orders),
        cmocka_unit_test(test_data_tell),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
