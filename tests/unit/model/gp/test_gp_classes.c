/* Gaussian process classification: gradients, what is learned and predicted, what is refused. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/text.h"
#include "gp_support.h"
#include "model/gp/gp_classes.h"

/* ---- Context ----------------------------------------------------------------------- */

static lth_ctx *ctx;
static char folder[] = "test_gp_classes.XXXXXX";

static int open_folder(void **state) {
    (void)state;
    if (!mkdtemp(folder) || chdir(folder) != 0) return -1;
    ctx = support_context(1);
    return 0;
}

static int close_folder(void **state) {
    (void)state;
    lth_ctx_free(ctx);
    return chdir("..") == 0 && rmdir(folder) == 0 ? 0 : -1; /* nothing was left behind */
}

static size_t best_of(const double *p, size_t count) {
    size_t best = 0;
    for (size_t i = 1; i < count; i++) best = p[i] > p[best] ? i : best;
    return best;
}

/* ---- Gradients ------------------------------------------------------------------------------- */

static double evidence_at(lth_gp *gp, double *gradient) {
    lth_error err = {0};
    lth__gram *gram = NULL;
    double evidence;
    support_ok(lth__gram_create(gp->kernel, gp->items, NULL, &gram, &err), &err);
    support_ok(lth__gp_evidence(gp, gram, &evidence, gradient, &err), &err);
    lth__gram_free(gram);
    return evidence;
}

static void check_gradient(const char *kernel, const char *target, lth_likelihood likelihood) {
    lth_table *table = support_labels(ctx, 25);
    lth_gp_options options = support_fixed();
    options.likelihood = likelihood;
    lth_gp *gp = support_classifier(ctx, kernel, table, target, &options);
    size_t params = gp->kernel->param_count;
    double gradient[16];
    assert_true(params < 16);
    gp->own[0] = 2.5;
    for (size_t p = 0; p <= params; p++) {
        double *value = lth__gp_value(gp, p), at = *value;
        double h = 1e-4 * at;
        *value = at + h;
        double up = evidence_at(gp, NULL);
        *value = at - h;
        double down = evidence_at(gp, NULL);
        *value = at;
        evidence_at(gp, gradient);
        support_near(gradient[p], (up - down) / (2 * h), 2e-6);
        assert_true(fabs(gradient[p]) > 1e-6); /* or nothing was tested */
    }
    lth_gp_free(gp);
    lth_table_free(table);
}

static void gradients(void **state) {
    (void)state;
    const char *const targets[] = {"two", "three", "several"};
    for (size_t t = 0; t < 3; t++) {
        for (int link = LTH_LOGIT; link <= LTH_PROBIT; link++) {
            check_gradient("normalize(ssk(text, order=2, gap=0.4, weights=[1,0.7])) + "
                           "rbf(x, variance=0.8, lengthscale=0.9)",
                           targets[t], (lth_likelihood)link);
        }
        if (t < 2)
            check_gradient("normalize(ssk(text, order=2, gap=0.4, weights=[1,0.7])) + "
                           "rbf(x, variance=0.8, lengthscale=0.9)",
                           targets[t], LTH_SOFTMAX);
    }
}

/* The evidence of several problems is the sum of theirs. */
static void evidences_add_up(void **state) {
    (void)state;
    lth_table *all = support_labels(ctx, 20);
    lth_gp_options options = support_fixed();
    lth_gp *gp = support_classifier(ctx, "rbf(x)", all, "three", &options);
    double sum = 0;
    for (size_t c = 0; c < 3; c++) {
        lth__string text = {0};
        lth__string_format(&text, "x\tk\n");
        for (size_t i = 0; i < 20; i++) {
            size_t xl, kl;
            const char *x = lth_table_cell(all, i, 0, &xl), *k = lth_table_cell(all, i, 3, &kl);
            bool own = strncmp(k, lth_gp_class(gp, c)->name, kl) == 0;
            lth__string_format(&text, "%.*s\t%s\n", (int)xl, x, own ? "yes" : "no");
        }
        lth_table *one = support_table(ctx, text.bytes);
        lth_gp *part = support_classifier(ctx, "rbf(x)", one, "k", &options);
        sum += lth_gp_reported(part)->evidence;
        lth_gp_free(part);
        lth_table_free(one);
        lth__string_free(&text);
    }
    support_near(lth_gp_reported(gp)->evidence, sum, 1e-10);
    lth_gp_free(gp);
    lth_table_free(all);
}

/* ---- What is learned and predicted ----------------------------------------------------------- */

/* Not so large that Laplace's approximation makes it doubt everything. */
static const char certain[] = "10! * rbf(x, variance=1!)";

static void two_classes(void **state) {
    (void)state;
    lth_table *table = support_labels(ctx, 40);
    lth_table *new = support_table(ctx, "x\n-2\n2\n0\n1000\n");
    for (int link = LTH_LOGIT; link <= LTH_PROBIT; link++) {
        lth_gp_options options;
        lth_gp_options_init(&options);
        options.restarts = 0;
        options.likelihood = (lth_likelihood)link;
        lth_gp *gp = support_classifier(ctx, certain, table, "two", &options);
        assert_int_equal(lth_gp_classes(gp), 2);
        assert_string_equal(lth_gp_class(gp, 0)->name, "left");
        assert_string_equal(lth_gp_class(gp, 1)->name, "right");
        assert_int_equal(lth_gp_class(gp, 0)->rows + lth_gp_class(gp, 1)->rows, 40);
        assert_false(lth_gp_is_multi_label(gp));
        assert_int_equal(lth_gp_likelihood(gp), link);
        assert_int_equal(lth_gp_targets(gp), 1);
        assert_string_equal(lth_gp_target(gp, 0), "two");
        assert_null(lth_gp_reported(gp)->loo);
        double *p = support_classify(gp, new);
        assert_true(p[0] > 0.9 && p[3] > 0.9);
        assert_true(fabs(p[4] - 0.5) < 0.05); /* on the border */
        assert_true(fabs(p[6] - 0.5) < 0.05); /* where nothing is known */
        for (size_t i = 0; i < 4; i++) support_near(p[2 * i] + p[2 * i + 1], 1, 1e-14);
        free(p);
        p = support_classify(gp, table);
        for (size_t i = 0; i < 40; i++) {
            size_t length;
            bool left = *lth_table_cell(table, i, 2, &length) == 'l';
            assert_true(p[2 * i + !left] > 0.5);
        }
        free(p);
        lth_gp_free(gp);
    }
    lth_table_free(new);
    lth_table_free(table);
}

static void three_classes(void **state) {
    (void)state;
    lth_table *table = support_labels(ctx, 40);
    lth_table *new = support_table(ctx, "x\n-2.5\n0\n2.5\n-1\n");
    lth_gp_options options;
    lth_gp_options_init(&options);
    options.restarts = 0;
    lth_gp *gp = support_classifier(ctx, certain, table, "three", &options);
    double *p = support_classify(gp, new);
    for (size_t i = 0; i < 4; i++) support_near(p[3 * i] + p[3 * i + 1] + p[3 * i + 2], 1, 1e-14);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(best_of(p + 3 * i, 3), i);
        assert_true(p[3 * i + i] > 0.75);
    }
    assert_true(fabs(p[9] - p[10]) < 0.3 && p[11] < 0.1); /* between low and mid */
    free(p);
    lth_gp_free(gp);
    lth_table_free(new);
    lth_table_free(table);
}

static void several_labels(void **state) {
    (void)state;
    lth_table *table = support_labels(ctx, 40);
    lth_table *new = support_table(ctx, "x\n-2.5\n-0.7\n0.7\n2.5\n");
    lth_gp_options options;
    lth_gp_options_init(&options);
    options.restarts = 0;
    lth_gp *gp = support_classifier(ctx, certain, table, "several", &options);
    assert_true(lth_gp_is_multi_label(gp));
    assert_int_equal(lth_gp_classes(gp), 2);
    assert_string_equal(lth_gp_class(gp, 0)->name, "far");
    double *p = support_classify(gp, new);
    const bool expected[] = {true, true, false, true, false, false, true, false};
    for (size_t i = 0; i < 8; i++) assert_true((p[i] > 0.5) == expected[i]);
    free(p);
    lth_gp_free(gp);
    lth_table_free(new);
    lth_table_free(table);
}

/* A class with one row; equal texts with different labels. */
static void sparse_classes(void **state) {
    (void)state;
    lth_table *table =
        support_table(ctx, "text\tk\na b\tx\na b\ty\na c\tx\na d\tx\nd e\ty\nd f\ty\ng h\tz\n");
    lth_gp *gp = support_classifier(ctx, "normalize(ssk(text, order=1))", table, "k", NULL);
    assert_int_equal(lth_gp_class(gp, 2)->rows, 1);
    double *p = support_classify(gp, table);
    for (size_t i = 0; i < 21; i++) assert_true(p[i] > 0 && p[i] < 1);
    for (size_t i = 0; i < 3; i++) assert_true(p[i] == p[3 + i]);
    free(p);
    lth_gp_free(gp);
    lth_table_free(table);
    table = support_table(ctx, "text\tk\na\tx\na\ty\na\tx\na\ty\n");
    gp = support_classifier(ctx, "normalize(ssk(text, order=1))", table, "k", NULL);
    p = support_classify(gp, table);
    for (size_t i = 0; i < 8; i++) support_near(p[i], 0.5, 1e-6);
    free(p);
    lth_gp_free(gp);
    lth_table_free(table);
}

/* The scale is learned where the kernel has none. */
static void scale(void **state) {
    (void)state;
    const struct {
        const char *kernel;
        bool held;
    } cases[] = {{"normalize(ssk(text))", false},
                 {"2 * normalize(ssk(text))", true},
                 {"2! * normalize(ssk(text))", true},
                 {"rbf(x)", true},
                 {"ssk(text, order=2)", true},
                 {"ssk(text, order=2, weights=[1,1]!)", false},
                 {"normalize(rbf(x))", false},
                 {"rbf(x) + 1 * normalize(ssk(text))", true},
                 {"rbf(x) + normalize(ssk(text))", false},
                 {"rbf(x) * normalize(ssk(text))", true},
                 {"bow(text)", false}};
    lth_table *table = support_labels(ctx, 12);
    lth_gp_options options = support_fixed();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lth_gp *gp = support_classifier(ctx, cases[i].kernel, table, "two", &options);
        lth_gp_param own = *lth_gp_param_at(gp, LTH_NONE);
        assert_string_equal(own.path, "scale");
        assert_int_equal(own.held, cases[i].held);
        assert_true(own.value == (cases[i].held ? 1 : 5) && own.start == own.value);
        lth_gp_free(gp);
    }
    const char *const fix[] = {"scale", "ssk"}, *const prior[] = {"scale=20,0.01"};
    lth_gp_options_init(&options);
    options.restarts = 0;
    options.fix = fix;
    options.fix_count = 1;
    lth_gp *gp = support_classifier(ctx, "normalize(ssk(text))", table, "two", &options);
    assert_true(lth_gp_param_at(gp, LTH_NONE)->value == 5);
    lth_gp_free(gp);
    options.fix_count = 0;
    options.prior = prior;
    options.prior_count = 1;
    gp = support_classifier(ctx, "normalize(ssk(text))", table, "two", &options);
    support_near(lth_gp_param_at(gp, LTH_NONE)->value, 20, 0.05);
    lth_gp_free(gp);
    lth_table_free(table);
}

/* Learning makes the evidence better, and ends where the gradient is 0. */
static void learning(void **state) {
    (void)state;
    lth_table *table = support_labels(ctx, 30);
    lth_gp_options options = support_fixed();
    const char *kernel = "normalize(rbf(x, variance=1!))";
    lth_gp *before = support_classifier(ctx, kernel, table, "three", &options);
    lth_gp *after = support_classifier(ctx, kernel, table, "three", NULL);
    assert_true(lth_gp_reported(after)->evidence > lth_gp_reported(before)->evidence + 1);
    assert_true(lth_gp_reported(after)->converged);
    double gradient[4];
    support_near(evidence_at(after, gradient), lth_gp_reported(after)->evidence, 1e-9);
    assert_true(fabs(gradient[2] * after->own[0]) < 1e-2);
    lth_gp_free(before);
    lth_gp_free(after);
    lth_table_free(table);
}

static void same_for_any_threads(void **state) {
    (void)state;
    double *first = NULL;
    for (unsigned threads = 1; threads <= 3; threads++) {
        lth_ctx *own = support_context(threads);
        lth_table *table = support_labels(own, 150);
        lth_gp_options options;
        lth_gp_options_init(&options);
        options.restarts = 1;
        options.max_iter = 12;
        lth_gp *gp = support_classifier(own, "normalize(ssk(text, order=2)) + rbf(x)", table,
                                        "three", &options);
        double *p = support_classify(gp, table);
        if (first) assert_memory_equal(first, p, 450 * sizeof *p);
        if (first)
            free(p);
        else
            first = p;
        lth_gp_free(gp);
        lth_table_free(table);
        lth_ctx_free(own);
    }
    free(first);
}

/* ---- What is refused ------------------------------------------------------------------------- */

static void check_fit_refused(const char *lines, const char *const *targets, size_t count,
                              const lth_gp_options *options, lth_status status, size_t line,
                              const char *message) {
    lth_error err = {0};
    lth_table *table = support_table(ctx, lines);
    lth_gp *gp = NULL;
    assert_int_equal(lth_gp_fit(ctx, "rbf(x)", table, targets, count, options, &gp, &err), status);
    assert_string_equal(err.message, message);
    assert_int_equal(err.line, line);
    assert_null(gp);
    lth_table_free(table);
}

static void bad_labels(void **state) {
    (void)state;
    const char *const k = "k", *const both[] = {"k", "j"};
    check_fit_refused("x\tk\n1\ta\n2\ta\n", &k, 1, NULL, LTH_EFORMAT, 0,
                      "all rows have the same label in column \"k\": there is nothing to tell "
                      "apart");
    check_fit_refused("x\tk\n1\ta,b\n2\tb,a\n", &k, 1, NULL, LTH_EFORMAT, 0,
                      "all rows have the same label in column \"k\": there is nothing to tell "
                      "apart");
    check_fit_refused("x\tk\n1\ta\n2\t\n3\tb\n", &k, 1, NULL, LTH_EFORMAT, 3,
                      "this row has no label in column \"k\"");
    check_fit_refused("x\tk\n1\t1\n2\tb\n", &k, 1, NULL, LTH_EFORMAT, 3,
                      "\"b\" in column \"k\" is not a number");
    check_fit_refused("x\tk\n1\t\n2\t1\n", &k, 1, NULL, LTH_EFORMAT, 2,
                      "\"\" in column \"k\" is not a number");
    check_fit_refused("x\tk\tj\n1\ta\tb\n2\tb\tc\n", both, 2, NULL, LTH_EARG, 0,
                      "\"k\" has labels: a model learns one column of labels; fit a model for "
                      "each");
    lth_gp_options options;
    lth_gp_options_init(&options);
    options.task = LTH_TASK_REGRESSION;
    check_fit_refused("x\tk\n1\ta\n2\tb\n", &k, 1, &options, LTH_EFORMAT, 2,
                      "\"a\" in column \"k\" is not a number");
    lth_gp_options_init(&options);
    options.noise = 1;
    check_fit_refused("x\tk\n1\ta\n2\tb\n", &k, 1, &options, LTH_EARG, 0,
                      "noise is for numbers, but \"k\" has labels");
}

/* Numbers as labels; and a model is asked for what it is not. */
static void wrong_kind(void **state) {
    (void)state;
    lth_error err = {0};
    lth_table *table = support_table(ctx, "x\tk\n1\t1\n2\t2\n3\t1\n");
    lth_gp_options options = support_fixed();
    double out[6];
    lth_gp *numbers = support_classifier(ctx, "rbf(x)", table, "k", &options);
    assert_int_equal(lth_gp_classes(numbers), 0);
    assert_int_equal(lth_gp_classify(numbers, table, out, &err), LTH_EARG);
    options.task = LTH_TASK_CLASSIFICATION;
    lth_gp *labels = support_classifier(ctx, "rbf(x)", table, "k", &options);
    assert_int_equal(lth_gp_classes(labels), 2);
    assert_int_equal(lth_gp_predict(labels, table, false, out, NULL, &err), LTH_EARG);
    bool has;
    support_ok(lth_gp_has_labels(table, "k", LTH_TASK_AUTO, &has, &err), &err);
    assert_false(has);
    assert_int_equal(lth_gp_has_labels(table, "j", LTH_TASK_AUTO, &has, &err), LTH_EFORMAT);
    lth_gp_free(numbers);
    lth_gp_free(labels);
    lth_table_free(table);
}

/* ---- Cross-validation ------------------------------------------------------------------------ */

static void cross_validation(void **state) {
    (void)state;
    lth_error err = {0};
    lth_table *table = support_table(
        ctx, "x\tk\n-2\ta\n-1\ta\n1\tb\n2\tb\n-2.2\ta\n-1.1\ta\n1.2\tb\n2.1\tb\n0.1\tc\n");
    const size_t fold[] = {0, 0, 0, 0, 1, 1, 1, 1, 1};
    const char *const k = "k";
    lth_gp_options options = support_fixed();
    lth_validation *v = NULL;
    support_ok(lth_gp_cv(ctx, "rbf(x)", table, &k, 1, fold, 2, &options, &v, &err), &err);
    lth_label_metrics first = *lth_validation_label_metrics(v, 0, 0);
    lth_label_metrics second = *lth_validation_label_metrics(v, 0, 1);
    lth_label_metrics all = *lth_validation_label_metrics(v, 0, LTH_NONE);
    assert_true(first.accuracy == 1 && second.accuracy == 0.8); /* c was never learned there */
    support_near(all.accuracy, 8.0 / 9, 1e-15);
    assert_false(lth_validation_predicted(v, 0, 8, 2));
    assert_int_equal(lth_validation_confusion(v, 0, 2, 2), 0);
    /* By hand: a model of the first four rows, and -log 1e-15 for the class that it lacks. */
    lth_table *train = support_table(ctx, "x\tk\n-2\ta\n-1\ta\n1\tb\n2\tb\n");
    lth_table *test = support_table(ctx, "x\n-2.2\n-1.1\n1.2\n2.1\n");
    lth_gp *gp = support_classifier(ctx, "rbf(x)", train, "k", &options);
    double *p = support_classify(gp, test), loss = -log(1e-15);
    for (size_t i = 0; i < 4; i++) loss -= log(p[2 * i + (i > 1)]);
    support_near(second.log_loss, loss / 5, 1e-12);
    assert_true(first.log_loss > 0 && first.log_loss < 1.2);
    free(p);
    lth_gp_free(gp);
    lth_table_free(train);
    lth_table_free(test);
    lth_validation_free(v);

    /* Only one class to learn from. */
    const size_t apart[] = {0, 0, 1, 1, 0, 0, 1, 1, 1};
    v = NULL;
    support_ok(lth_gp_cv(ctx, "rbf(x)", table, &k, 1, apart, 2, &options, &v, &err), &err);
    assert_true(lth_validation_label_metrics(v, 0, 1)->accuracy == 0);
    assert_true(lth_validation_predicted(v, 0, 2, 0));
    lth_validation_free(v);
    const size_t wrong[] = {0, 0, 0, 0, 1, 1, 1, 1, 2};
    assert_int_equal(lth_gp_cv(ctx, "rbf(x)", table, &k, 1, wrong, 2, &options, &v, &err),
                     LTH_EARG);
    lth_table_free(table);
}

static void log_loss_of_several(void **state) {
    (void)state;
    lth_error err = {0};
    lth_table *table = support_labels(ctx, 24);
    size_t fold[24];
    const char *const name = "several";
    for (size_t i = 0; i < 24; i++) fold[i] = i % 3;
    lth_validation *v = NULL;
    lth_gp_options options = support_fixed();
    support_ok(lth_gp_cv(ctx, certain, table, &name, 1, fold, 3, &options, &v, &err), &err);
    lth_label_metrics m = *lth_validation_label_metrics(v, 0, LTH_NONE);
    assert_true(m.accuracy > 0.8 && m.log_loss > 0 && m.log_loss < 0.8 && isnan(m.auc));
    assert_false(lth_validation_has_confusion(v, 0));
    lth_validation_free(v);
    lth_table_free(table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients),
        cmocka_unit_test(evidences_add_up),
        cmocka_unit_test(two_classes),
        cmocka_unit_test(three_classes),
        cmocka_unit_test(several_labels),
        cmocka_unit_test(sparse_classes),
        cmocka_unit_test(scale),
        cmocka_unit_test(learning),
        cmocka_unit_test(same_for_any_threads),
        cmocka_unit_test(bad_labels),
        cmocka_unit_test(wrong_kind),
        cmocka_unit_test(cross_validation),
        cmocka_unit_test(log_loss_of_several),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
