/* One model, many threads: predictions and explanations at the same time, with the bits that one
 * thread gets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gp_support.h"

enum { THREADS = 8, ROWS = 24, NEW = 6, ROUNDS = 1, NUMBERS = 400 };

/* A model, and what it is asked: rows with words, labels and subtrees that training did not have.
 */
typedef struct question {
    const lth_gp *gp;
    const lth_svm *svm;
    const lth_table *rows; /* NEW of them */
} question;

/* ---- Data ---- */

static const char *const words[] = {"good", "bad", "very", "lamp", "radio", "not", "a", "the"};

static void make_text(size_t i, bool new, char *out, size_t size) {
    snprintf(out, size, "%s %s %s%zu %s lamp%zu", words[i % 8], words[(i * 3 + 1) % 8],
             new ? "new" : "w", i, words[(i / 2) % 8], i % 4);
}

static void make_tree(size_t i, bool new, char *out, size_t size) {
    snprintf(out, size, "(S (NP (D %s) (N %s%zu)) (VP%s (V sat) (NP (N mat%zu))))",
             words[6 + i % 2], new ? "new" : "cat", i % 5, new &&i % 2 ? "X" : "", i % 3);
}

static lth_table *make_rows(lth_ctx *ctx, size_t count, bool new) {
    static char text[2][ROWS][80], tree[2][ROWS][120];
    static double f[2][ROWS], y[2][ROWS];
    const char *texts[ROWS], *trees[ROWS], *label[ROWS];
    for (size_t i = 0; i < count; i++) {
        make_text(i, new, text[new][i], sizeof text[new][i]);
        make_tree(i, new, tree[new][i], sizeof tree[new][i]);
        texts[i] = text[new][i];
        trees[i] = tree[new][i];
        f[new][i] = cos((double)i) + new;
        y[new][i] = sin((double)i);
        label[i] = i % 3 == 0 ? "one" : "two";
    }
    lth_column columns[] = {{.name = "text", .text = texts},
                            {.name = "tree", .text = trees},
                            {.name = "f", .numbers = f[new]},
                            {.name = "y", .numbers = y[new]},
                            {.name = "l", .text = label}};
    lth_table *table = NULL;
    lth_error err = {0};
    support_ok(lth_table_from_columns(ctx, columns, sizeof *columns, 5, count, &table, &err), &err);
    return table;
}

/* ---- Answers ---- */

typedef struct answer {
    double number[NUMBERS];
    size_t count;
    lth_status status;
} answer;

static void add(answer *a, const double *x, size_t count) {
    for (size_t i = 0; i < count && a->count < NUMBERS; i++) a->number[a->count++] = x[i];
}

static void add_reasons(answer *a, lth_status status, lth_reasons *r) {
    if (status != LTH_OK) {
        a->status = status;
        return;
    }
    lth_reasons_summary s = *lth_reasons_summarise(r);
    double facts[] = {s.mean, s.baseline, s.sd, s.probability};
    add(a, facts, 4);
    for (size_t i = 0; i < s.parts; i++) add(a, &(double){lth_reasons_part_at(r, i)->weight}, 1);
    for (size_t i = 0; i < s.patterns; i++)
        add(a, &(double){lth_reasons_pattern_at(r, i)->weight}, 1);
    for (size_t i = 0; i < s.rows; i++) add(a, &(double){lth_reasons_row_at(r, i)->similarity}, 1);
    lth_reasons_free(r);
}

static void ask_gp(const lth_gp *gp, const lth_table *rows, answer *a) {
    double out[2 * NEW];
    lth_error err;
    lth_status status = lth_gp_classes(gp) > 0
                            ? lth_gp_classify(gp, rows, out, &err)
                            : lth_gp_predict(gp, rows, false, out, out + NEW, &err);
    if (status != LTH_OK) a->status = status;
    add(a, out, 2 * NEW);
    lth_reasons *r = NULL;
    status = lth_gp_explain(gp, rows, 1, NULL, &r, &err);
    add_reasons(a, status, r);
    status = lth_gp_patterns(gp, 0, 5, &r, &err);
    add_reasons(a, status, r);
    double loo[3 * ROWS] = {0};
    if (lth_gp_classes(gp) > 0) return;
    status = lth_gp_leave_one_out(gp, 0, loo, loo + ROWS, loo + 2 * ROWS, &err);
    if (status != LTH_OK) a->status = status;
    add(a, loo, 3 * ROWS);
}

static void ask_svm(const lth_svm *svm, const lth_table *rows, answer *a) {
    double out[NEW];
    lth_error err;
    lth_svm_prediction to = {.decision = out};
    lth_status status = lth_svm_predict(svm, rows, &to, sizeof to, &err);
    if (status != LTH_OK) a->status = status;
    add(a, out, NEW);
    lth_reasons *r = NULL;
    status = lth_svm_explain(svm, rows, 2, NULL, &r, &err);
    add_reasons(a, status, r);
    status = lth_svm_patterns(svm, 0, 5, &r, &err);
    add_reasons(a, status, r);
}

static void ask(const question *q, answer *a) {
    memset(a, 0, sizeof *a);
    if (q->svm)
        ask_svm(q->svm, q->rows, a);
    else
        ask_gp(q->gp, q->rows, a);
}

/* ---- Threads ---- */

typedef struct asker {
    const question *q;
    answer heard;
} asker;

static void *ask_often(void *p) {
    asker *x = p;
    for (int round = 0; round < ROUNDS; round++) ask(x->q, &x->heard);
    return NULL;
}

/* Threads come first: what a model makes when it is first asked, one of them makes. */
static void check(const lth_gp *gp, const lth_svm *svm, const lth_table *rows) {
    question q = {gp, svm, rows};
    static answer wanted;
    static asker askers[THREADS];
    pthread_t thread[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        askers[i].q = &q;
        assert_int_equal(pthread_create(&thread[i], NULL, ask_often, &askers[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    ask(&q, &wanted);
    assert_int_equal(wanted.status, LTH_OK);
    assert_true(wanted.count > 10);
    for (size_t i = 0; i < THREADS; i++)
        assert_memory_equal(&askers[i].heard, &wanted, sizeof wanted);
}

/* As it was fitted, and as it is loaded. */
static void check_gp(lth_ctx *ctx, const char *kernel, const char *target, const lth_table *train,
                     const lth_table *rows, const lth_gp_options *options) {
    lth_gp *gp = NULL, *loaded = NULL;
    lth_error err = {0};
    char *path = support_file("", 0);
    support_ok(lth_gp_fit(ctx, kernel, train, &target, 1, options, &gp, &err), &err);
    support_ok(lth_gp_save(gp, path, &err), &err);
    support_ok(lth_gp_load(ctx, path, &loaded, &err), &err);
    if (options->vectors) support_ok(lth_gp_use_vectors(loaded, options->vectors, &err), &err);
    check(gp, NULL, rows);
    check(loaded, NULL, rows);
    lth_gp_free(gp);
    lth_gp_free(loaded);
    support_remove(path);
}

static void check_svm(lth_ctx *ctx, const char *kernel, lth_svm_solver solver,
                      const lth_table *train, const lth_table *rows, const char *vectors) {
    lth_svm_options options;
    lth_svm_options_init(&options);
    options.solver = solver;
    options.vectors = vectors;
    lth_svm *svm = NULL, *loaded = NULL;
    lth_error err = {0};
    char *path = support_file("", 0);
    support_ok(lth_svm_fit(ctx, kernel, train, "l", &options, &svm, &err), &err);
    support_ok(lth_svm_save(svm, path, &err), &err);
    support_ok(lth_svm_load(ctx, path, &loaded, &err), &err);
    check(NULL, svm, rows);
    check(NULL, loaded, rows);
    lth_svm_free(svm);
    lth_svm_free(loaded);
    support_remove(path);
}

static const struct {
    const char *kernel;
    bool vectors;
} kernels[] = {{"ssk(text, order=3)", false},
               {"normalize(ssk(text, order=3))", false},
               {"ssk(text, order=2, sim=cosine)", true},
               {"rbf(ssk(text, order=2, sim=exp, rarity=0.1)) + mean(text)", true},
               {"normalize(ssk(text, order=2, sim=exp, ard=3))", true},
               {"normalize(sstk(tree))", false},
               {"ptk(tree)", false},
               {"ptk(tree, sim=cosine)", true},
               {"linear(ngrams(text, n=[2,3])) + tfidf(text)", false},
               {"normalize(approx_ssk(text))", false},
               {"rbf(f)", false}};

static void test_models(void **state) {
    unsigned threads = *state ? 3 : 1;
    lth_ctx *ctx = support_context(threads);
    lth_table *train = make_rows(ctx, ROWS, false), *rows = make_rows(ctx, NEW, true);
    char *vectors = support_vectors();
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
        lth_gp_options options = support_fixed();
        if (kernels[k].vectors) options.vectors = vectors;
        check_gp(ctx, kernels[k].kernel, "y", train, rows, &options);
        check_gp(ctx, kernels[k].kernel, "l", train, rows, &options);
        check_svm(ctx, kernels[k].kernel, LTH_SVM_KERNEL, train, rows, options.vectors);
        options.learn = true;
        options.max_iter = 1;
        options.restarts = 0;
        options.average = 2;
        check_gp(ctx, kernels[k].kernel, k % 2 ? "y" : "l", train, rows, &options);
    }
    check_svm(ctx, "normalize(tfidf(text))", LTH_SVM_LINEAR, train, rows, NULL);
    support_remove(vectors);
    lth_table_free(train);
    lth_table_free(rows);
    lth_ctx_free(ctx);
}

int main(void) {
    static int several = 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_models),
        cmocka_unit_test_prestate(test_models, &several),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
