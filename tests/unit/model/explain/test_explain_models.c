/* Reasons of each kind of model: rows, labels, support vectors; what does not change; mistakes. */
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

#include "explain_support.h"
#include "model/gp/gp.h"

static lth_ctx *ctx;

static int open_ctx(void **state) {
    (void)state;
    ctx = support_context(1);
    return 0;
}

static int close_ctx(void **state) {
    (void)state;
    lth_ctx_free(ctx);
    return 0;
}

/* ---- Rows ---- */

static void test_rows(void **state) {
    (void)state;
    lth_error err = {0};
    lth_gp *gp = explain_fit(ctx, "normalize(ssk(text, order=2))", "y", NULL);
    lth_table *new = support_table(ctx, "text\nnot good\n");
    lth_explain_options options;
    lth_explain_options_init(&options);
    options.rows = 2;
    options.nearest = 3;
    options.patterns = 0;
    lth_reasons *r = NULL;
    support_ok(lth_gp_explain(gp, new, 0, &options, &r, &err), &err);
    lth_reasons_summary s = *lth_reasons_summarise(r);
    assert_int_equal(s.rows, 5);
    assert_int_equal(s.patterns, 0);
    assert_true(fabs(lth_reasons_row_at(r, 0)->weight) >= fabs(lth_reasons_row_at(r, 1)->weight));
    assert_true(lth_reasons_row_at(r, 2)->similarity >= lth_reasons_row_at(r, 3)->similarity);
    bool found = false;
    for (size_t i = 0; i < 5; i++) {
        lth_reasons_row row = *lth_reasons_row_at(r, i);
        assert_null(row.label);
        assert_true(row.similarity >= 0 && row.similarity <= 1);
        if (row.row != 2) continue;
        found = true;
        support_near(row.y, 2, 1e-12);
        assert_string_equal(lth_gp_row_text(gp, 2, 0), "not good not good");
    }
    assert_true(found);
    lth_reasons_free(r);
    lth_table_free(new);
    lth_gp_free(gp);
}

static lth_reasons *explain_rows(lth_gp *gp, const lth_table *new, size_t rows, size_t nearest) {
    lth_error err = {0};
    lth_reasons *r = NULL;
    lth_explain_options options;
    lth_explain_options_init(&options);
    options.patterns = 0;
    options.rows = rows;
    options.nearest = nearest;
    support_ok(lth_gp_explain(gp, new, 0, &options, &r, &err), &err);
    return r;
}

/* A short list is the beginning of a long one, which is in order. */
static void test_lists_of_rows(void **state) {
    (void)state;
    enum { ALL = 150 };
    static const size_t counts[] = {1, 2, 5, 17, 64, 65, 100};
    lth_table *table = support_rows(ctx, 0, ALL), *new = support_rows(ctx, ALL, 1);
    lth_gp_options options = support_fixed();
    lth_gp *gp = support_fit(ctx, "normalize(ssk(text, order=2)) + rbf(f1)", table, 1, &options);
    for (int nearest = 0; nearest < 2; nearest++) {
        lth_reasons *all = explain_rows(gp, new, nearest ? 0 : ALL, nearest ? ALL : 0);
        assert_int_equal(lth_reasons_summarise(all)->rows, ALL);
        for (size_t i = 1; i < ALL; i++) {
            lth_reasons_row a = *lth_reasons_row_at(all, i - 1), b = *lth_reasons_row_at(all, i);
            double rank[] = {nearest ? a.similarity : fabs(a.weight),
                             nearest ? b.similarity : fabs(b.weight)};
            assert_true(rank[0] > rank[1] || (rank[0] == rank[1] && a.row < b.row));
        }
        for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
            lth_reasons *some =
                explain_rows(gp, new, nearest ? 0 : counts[k], nearest ? counts[k] : 0);
            assert_int_equal(lth_reasons_summarise(some)->rows, counts[k]);
            for (size_t i = 0; i < counts[k]; i++)
                assert_int_equal(lth_reasons_row_at(some, i)->row, lth_reasons_row_at(all, i)->row);
            lth_reasons_free(some);
        }
        lth_reasons_free(all);
    }
    lth_table_free(table);
    lth_table_free(new);
    lth_gp_free(gp);
}

static void test_row_text(void **state) {
    (void)state;
    lth_gp *gp =
        explain_fit(ctx, "ssk(text, units=chars) + sstk(tree) + linear(f1..f2)", "y", NULL);
    assert_string_equal(lth_gp_row_text(gp, 6, 0), ""); /* also before any other */
    assert_string_equal(lth_gp_row_text(gp, 3, 0), "good");
    assert_string_equal(lth_gp_row_text(gp, 2, 1), "(S (A (C a)) (B b))");
    assert_string_equal(lth_gp_row_text(gp, 2, 2), "3 -1");
    assert_string_equal(lth_gp_row_text(gp, 6, 0), "");
    assert_null(lth_gp_row_text(gp, 8, 0));
    assert_null(lth_gp_row_text(gp, 0, 3));
    assert_string_equal(lth_gp_row_line(gp, 2),
                        "text: not good not good | tree: (S (A (C a)) (B b)) | f1..f2 3 -1");
    lth_gp_free(gp);
    /* Numbers come last, rounded, wherever the kernel has them; what is alone has no name. */
    gp = explain_fit(ctx, "linear(f1) + rbf(y) + ssk(text, units=tokens)", "y", NULL);
    assert_string_equal(lth_gp_row_line(gp, 3), "good | f1 2.5, y 8");
    lth_gp_free(gp);
    gp = explain_fit(ctx, "linear(f1..f2)", "y", NULL);
    assert_string_equal(lth_gp_row_line(gp, 2), "3 -1");
    lth_gp_free(gp);
}

/* The targets that a prediction is seen against. */
static void test_range(void **state) {
    (void)state;
    lth_error err = {0};
    lth_reasons *r = NULL;
    lth_gp *gp = explain_fit(ctx, "ssk(text, units=tokens)", "y", NULL);
    lth_table *new = support_table(ctx, "text\nnot good\n");
    support_ok(lth_gp_explain(gp, new, 0, NULL, &r, &err), &err);
    lth_reasons_summary s = *lth_reasons_summarise(r);
    double least = INFINITY, most = -INFINITY, y[16], mean[16], sd[16];
    support_ok(lth_gp_leave_one_out(gp, 0, y, mean, sd, &err), &err);
    for (size_t i = 0; i < lth_gp_reported(gp)->rows; i++) {
        least = fmin(least, y[i]);
        most = fmax(most, y[i]);
    }
    support_near(s.least, least, 1e-12);
    support_near(s.most, most, 1e-12);
    lth_reasons_free(r);
    lth_table_free(new);
    lth_gp_free(gp);
}

/* Patterns of an order that weighs nothing beside the others are rounding, and not listed. */
static void test_rounding(void **state) {
    (void)state;
    lth_error err = {0};
    for (int light = 0; light < 2; light++) {
        lth_reasons *r = NULL;
        lth_gp *gp = explain_fit(ctx,
                                 light ? "ssk(text, units=tokens, order=2, weights=[1e-24, 1])"
                                       : "ssk(text, units=tokens, order=2, weights=[1e-3, 1])",
                                 "y", NULL);
        support_ok(lth_gp_patterns(gp, 0, 100, &r, &err), &err);
        size_t single = 0, count = lth_reasons_summarise(r)->patterns;
        for (size_t i = 0; i < count; i++)
            single += strchr(lth_reasons_pattern_at(r, i)->text, ' ') == NULL;
        assert_true(count > single);
        assert_true(light ? single == 0 : single > 0);
        lth_reasons_free(r);
        lth_gp_free(gp);
    }
}

/* As many as are asked for of either sign, whichever leaf they are of. */
static void test_patterns_of_leaves(void **state) {
    (void)state;
    enum { FEW = 25 };
    lth_error err = {0};
    lth_table *table = support_rows(ctx, 0, 150);
    lth_gp_options options = support_fixed();
    lth_gp *gp =
        support_fit(ctx, "ngrams(text, n=3, units=words) + 1e-6 * ngrams(text, n=1, units=words)",
                    table, 1, &options);
    lth_reasons *few = NULL, *all = NULL;
    support_ok(lth_gp_patterns(gp, 0, FEW, &few, &err), &err);
    support_ok(lth_gp_patterns(gp, 0, 100000, &all, &err), &err);
    size_t last = lth_reasons_summarise(all)->patterns - 1;
    assert_true(last > 4 * FEW);
    assert_int_equal(lth_reasons_summarise(few)->patterns, 2 * FEW);
    for (size_t i = 0; i < FEW; i++) {
        const lth_reasons_pattern *up = lth_reasons_pattern_at(all, i);
        const lth_reasons_pattern *down = lth_reasons_pattern_at(all, last - i);
        assert_true(up->weight > 0 && down->weight < 0);
        support_near(lth_reasons_pattern_at(few, i)->weight, up->weight, 1e-12);
        support_near(lth_reasons_pattern_at(few, 2 * FEW - 1 - i)->weight, down->weight, 1e-12);
    }
    lth_reasons_free(few);
    lth_reasons_free(all);
    lth_gp_free(gp);
    lth_table_free(table);
}

/* Where no row weighs anything, no pattern does. */
static void test_no_weights(void **state) {
    (void)state;
    lth_error err = {0};
    lth_table *table = support_table(ctx, "text\ty\na b\t3\nb c\t3\nc d a\t3\n");
    lth_gp_options options = support_fixed();
    lth_gp *gp = support_fit(ctx, "bow(text)", table, 1, &options);
    lth_reasons *r = NULL;
    support_ok(lth_gp_patterns(gp, 0, 10, &r, &err), &err);
    assert_int_equal(lth_reasons_summarise(r)->patterns, 0);
    lth_reasons_free(r);
    lth_gp_free(gp);
    lth_table_free(table);
}

/* ---- Labels ---- */

/* The standard deviation of f before any row was seen. */
static void prior_of_each(const lth_gp *gp, const lth_table *table, double *prior) {
    lth_error err = {0};
    lth_encoder *encoder = NULL;
    lth_items *items = NULL;
    support_ok(lth_encoder_create(ctx, gp->kernel, &encoder, &err), &err);
    support_ok(lth_encode(encoder, table, &items, &err), &err);
    support_ok(lth_gram_diagonal(gp->kernel, items, prior, &err), &err);
    for (size_t i = 0; i < lth_items_count(items); i++)
        prior[i] = sqrt(lth__gp_scale(gp) * prior[i] + gp->mean->variance);
    lth_items_free(items);
    lth_encoder_free(encoder);
}

static void test_classes(void **state) {
    (void)state;
    lth_table *new = support_table(ctx, explain_new_lines);
    static const char *const targets[] = {"kind", "three"};
    for (size_t t = 0; t < 2; t++) {
        lth_gp *gp = explain_fit(ctx, "ssk(text, order=2)", targets[t], NULL);
        size_t classes = lth_gp_classes(gp);
        double *p = support_classify(gp, new), prior[EXPLAIN_NEW_ROWS];
        prior_of_each(gp, new, prior);
        for (size_t row = 0; row < EXPLAIN_NEW_ROWS; row++) {
            double mean[3];
            for (size_t c = 0; c < classes; c++) {
                lth_reasons *r = explain_new(gp, new, row, c);
                lth_reasons_summary s = *lth_reasons_summarise(r);
                mean[c] = s.mean;
                support_near(s.probability, p[row * classes + c], 1e-12);
                support_near(s.baseline + explain_sum(r), s.mean, 1e-9);
                assert_true(s.exact && s.distance > 0 && s.prior >= s.distance);
                assert_true(isnan(s.sd) && isnan(s.noise));
                support_near(s.prior, prior[row], 1e-12);
                if (s.rows > 0) assert_non_null(lth_reasons_row_at(r, 0)->label);
                lth_reasons_free(r);
            }
            if (classes == 2) {
                support_near(mean[0], -mean[1], 1e-12);
                assert_true((mean[1] > 0) == (p[row * 2 + 1] > 0.5));
            }
        }
        free(p);
        lth_gp_free(gp);
    }
    lth_table_free(new);
}

static lth_svm *fit_svm(const char *kernel, const char *target, lth_svm_solver solver) {
    lth_error err = {0};
    lth_svm *svm = NULL;
    lth_svm_options options;
    lth_svm_options_init(&options);
    options.solver = solver;
    lth_table *table = support_table(ctx, explain_lines);
    support_ok(lth_svm_fit(ctx, kernel, table, target, &options, &svm, &err), &err);
    lth_table_free(table);
    return svm;
}

static void test_svm(void **state) {
    (void)state;
    static const struct {
        const char *kernel, *target;
        lth_svm_solver solver;
    } cases[] = {{"ssk(text, order=2)", "kind", LTH_SVM_KERNEL},
                 {"normalize(sstk(tree)) + rbf(f1..f2)", "three", LTH_SVM_KERNEL},
                 {"ssk(text, order=2)", "y", LTH_SVM_KERNEL},
                 {"bow(text)", "kind", LTH_SVM_LINEAR},
                 {"normalize(tfidf(text)) + 2 * ngrams(text, n=2)", "three", LTH_SVM_LINEAR},
                 {"approx_ssk(text, n=2)", "y", LTH_SVM_LINEAR},
                 {"gkm(text, l=3, k=2)", "kind", LTH_SVM_LINEAR},
                 {"2 * gkm(text, l=2, k=[1,2], units=words) + bow(text)", "y", LTH_SVM_LINEAR}};
    lth_error err = {0};
    lth_table *new = support_table(ctx, explain_new_lines);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lth_svm *svm = fit_svm(cases[i].kernel, cases[i].target, cases[i].solver);
        size_t problems = lth_svm_reported(svm)->problems;
        double decision[EXPLAIN_NEW_ROWS * 3];
        lth_svm_prediction to = {.decision = decision};
        support_ok(lth_svm_predict(svm, new, &to, sizeof to, &err), &err);
        for (size_t k = 0; k < EXPLAIN_NEW_ROWS * problems; k++) {
            lth_explain_options options;
            lth_explain_options_init(&options);
            options.target = k % problems;
            lth_reasons *r = NULL;
            support_ok(lth_svm_explain(svm, new, k / problems, &options, &r, &err), &err);
            lth_reasons_summary s = *lth_reasons_summarise(r);
            support_near(s.mean, decision[k], 1e-9);
            support_near(s.baseline + explain_sum(r) + s.missed, s.mean, 1e-9);
            assert_true(fabs(s.missed) < (s.exact ? 1e-9 : 1e-4));
            assert_true(isnan(s.sd) && isnan(s.distance));
            if (cases[i].solver == LTH_SVM_LINEAR) assert_int_equal(s.rows, 0);
            for (size_t a = 0; a < s.rows; a++)
                assert_non_null(lth_svm_row_text(svm, lth_reasons_row_at(r, a)->row, 0));
            lth_reasons_free(r);
        }
        lth_reasons *r = NULL;
        support_ok(lth_svm_patterns(svm, 0, 3, &r, &err), &err);
        assert_true(lth_reasons_summarise(r)->patterns > 0);
        lth_reasons_free(r);
        assert_int_equal(lth_svm_patterns(svm, problems, 3, &r, &err), LTH_EARG);
        lth_svm_free(svm);
    }
    lth_table_free(new);
}

/* ---- The model stays as it was; threads make no difference ---- */

static void test_model_is_left_alone(void **state) {
    (void)state;
    lth_error err = {0};
    lth_gp *gp = explain_fit(ctx, "ssk(text, order=2) + sstk(tree) + bow(text)", "y", NULL);
    lth_table *new = support_table(ctx, explain_new_lines);
    support_ok(lth_gp_save(gp, "explain_before", &err), &err);
    double *before = support_predict(gp, new, false);
    for (size_t row = 0; row < EXPLAIN_NEW_ROWS; row++)
        lth_reasons_free(explain_new(gp, new, row, 0));
    lth_reasons *r = NULL;
    support_ok(lth_gp_patterns(gp, 0, 3, &r, &err), &err);
    lth_reasons_free(r);
    support_ok(lth_gp_save(gp, "explain_after", &err), &err);
    double *after = support_predict(gp, new, false);
    assert_memory_equal(before, after, 2 * EXPLAIN_NEW_ROWS * sizeof *before);
    support_bytes a = support_slurp("explain_before"), b = support_slurp("explain_after");
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.data, b.data, a.size);
    free(a.data);
    free(b.data);
    unlink("explain_before");
    unlink("explain_after");
    free(before);
    free(after);
    lth_table_free(new);
    lth_gp_free(gp);
}

static void test_same_bits(void **state) {
    (void)state;
    double weights[2][64];
    double patterns[2][64];
    for (unsigned t = 0; t < 2; t++) {
        lth_ctx *own = support_context(t == 0 ? 1 : 3);
        lth_error err = {0};
        lth_table *rows = support_rows(own, 0, 200), *new = support_rows(own, 200, 3);
        lth_gp_options options = support_fixed();
        lth_gp *gp =
            support_fit(own, "rbf(ssk(text, order=3)) + bow(text) + linear(f1)", rows, 1, &options);
        lth_reasons *r = explain_new(gp, new, 1, 0);
        memset(weights[t], 0, sizeof weights[t]);
        memset(patterns[t], 0, sizeof patterns[t]);
        for (size_t i = 0; i < lth_reasons_summarise(r)->parts && i < 64; i++)
            weights[t][i] = lth_reasons_part_at(r, i)->weight;
        lth_reasons_free(r);
        support_ok(lth_gp_patterns(gp, 0, 10, &r, &err), &err);
        for (size_t i = 0; i < lth_reasons_summarise(r)->patterns; i++)
            patterns[t][i] = lth_reasons_pattern_at(r, i)->weight;
        lth_reasons_free(r);
        lth_table_free(rows);
        lth_table_free(new);
        lth_gp_free(gp);
        lth_ctx_free(own);
    }
    assert_memory_equal(weights[0], weights[1], sizeof weights[0]);
    assert_memory_equal(patterns[0], patterns[1], sizeof patterns[0]);
}

/* ---- Mistakes ---- */

static void test_mistakes(void **state) {
    (void)state;
    lth_error err = {0};
    lth_gp *gp = explain_fit(ctx, "ssk(text, order=2) + sstk(tree)", "y", NULL);
    lth_table *new = support_table(ctx, "text\ttree\nx\t(S a)\ny\t(S (a)\n");
    lth_reasons *r = NULL;
    assert_int_equal(lth_gp_explain(gp, new, 2, NULL, &r, &err), LTH_EARG);
    assert_string_equal(err.message, "the table has no row 3");
    lth_explain_options options;
    lth_explain_options_init(&options);
    options.target = 1;
    assert_int_equal(lth_gp_explain(gp, new, 0, &options, &r, &err), LTH_EARG);
    assert_int_equal(lth_gp_patterns(gp, 1, 3, &r, &err), LTH_EARG);
    assert_int_equal(lth_gp_explain(gp, new, 1, NULL, &r, &err), LTH_EFORMAT);
    assert_int_equal(err.line, 3);
    assert_int_equal(err.column, 1);
    assert_null(r);
    lth_table_free(new);
    lth_gp_free(gp);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_lists_of_rows),
        cmocka_unit_test(test_row_text),
        cmocka_unit_test(test_range),
        cmocka_unit_test(test_rounding),
        cmocka_unit_test(test_no_weights),
        cmocka_unit_test(test_patterns_of_leaves),
        cmocka_unit_test(test_classes),
        cmocka_unit_test(test_svm),
        cmocka_unit_test(test_model_is_left_alone),
        cmocka_unit_test(test_same_bits),
        cmocka_unit_test(test_mistakes),
    };
    return cmocka_run_group_tests(tests, open_ctx, close_ctx);
}
