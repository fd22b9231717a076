/* Whatever is asked for by number and is not there is NULL, 0, false, NaN or LTH_NONE: for each
 * kind of object, at its count and at the largest number. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "explain_support.h"

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

/* The numbers past `count` that are tried. */
enum { PAST = 2 };
static size_t past(size_t count, size_t k) {
    return k == 0 ? count : SIZE_MAX;
}

/* ---- Tables, kernels ---- */

static void test_tables(void **state) {
    (void)state;
    const char *text[] = {"a", "b"};
    const double number[] = {1, 2};
    lth_column columns[] = {{.name = "t", .text = text}, {.name = "n", .numbers = number}};
    lth_table *tables[2];
    lth_error err = {0};
    tables[0] = support_table(ctx, "t\tn\na\t1\nb\t2\n");
    support_ok(lth_table_from_columns(ctx, columns, sizeof *columns, 2, 2, &tables[1], &err), &err);
    for (size_t i = 0; i < 2 * PAST; i++) {
        const lth_table *t = tables[i / PAST];
        size_t at = past(2, i % PAST), length = 1;
        assert_null(lth_table_column_name(t, at));
        assert_null(lth_table_cell(t, 0, at, &length));
        assert_int_equal(length, 0);
        assert_null(lth_table_cell(t, at, 0, NULL));
        assert_int_equal(lth_table_line(t, at), 0);
        assert_int_equal(lth_table_number(t, at), 0);
        assert_true(lth_table_find(t, "missing") == LTH_NONE);
    }
    assert_null(lth_table_cell(tables[1], 0, 1, NULL)); /* a number has no text */
    assert_int_equal(lth_table_number(tables[1], 1), 2);
    lth_table_free(tables[0]);
    lth_table_free(tables[1]);
}

static void test_kernels(void **state) {
    (void)state;
    lth_error err = {0};
    lth_kernel *kernel;
    support_ok(lth_kernel_parse(ctx, "ssk(a) + linear(b)", &kernel, &err), &err);
    size_t params = lth_kernel_params(kernel), families = 0;
    for (size_t i = 0; i < params; i++) assert_non_null(lth_kernel_param(kernel, i)->path);
    while (lth_family_at(families)) families++;
    for (size_t k = 0; k < PAST; k++) {
        assert_null(lth_kernel_param(kernel, past(params, k)));
        assert_null(lth_kernel_column(kernel, past(2, k)));
        assert_null(lth_family_at(past(families, k)));
        assert_null(lth_isa_available(past(100, k)));
        assert_int_equal(lth_kernel_set(kernel, past(params, k), 1, NULL), LTH_EARG);
    }
    for (size_t i = 0; i < families; i++) {
        size_t arguments = 0;
        while (lth_family_argument(lth_family_at(i), arguments)) arguments++;
        assert_null(lth_family_argument(lth_family_at(i), arguments + 1));
        assert_null(lth_family_argument(lth_family_at(i), SIZE_MAX));
    }
    assert_int_equal(lth_kernel_orders(kernel), 0);
    lth_kernel_free(kernel);
}

/* ---- Reasons ---- */

static void check_reasons(lth_reasons *r) {
    const lth_reasons_summary *s = lth_reasons_summarise(r);
    for (size_t k = 0; k < PAST; k++) {
        assert_null(lth_reasons_part_at(r, past(s->parts, k)));
        assert_null(lth_reasons_pattern_at(r, past(s->patterns, k)));
        assert_null(lth_reasons_row_at(r, past(s->rows, k)));
    }
    lth_reasons_free(r);
}

/* ---- Models ---- */

/* What both kinds have; `rows` are those that have a text. */
static void check_model(lth_model *m, const lth_table *table, size_t rows) {
    lth_error err = {0};
    lth_reasons *r;
    for (size_t i = 0; i < lth_model_classes(m); i++) assert_non_null(lth_model_class(m, i));
    for (size_t i = 0; i < lth_model_targets(m); i++) assert_non_null(lth_model_target(m, i));
    for (size_t k = 0; k < PAST; k++) {
        size_t function = past(lth_model_functions(m), k);
        lth_explain_options options;
        lth_explain_options_init(&options);
        options.target = function;
        assert_null(lth_model_class(m, past(lth_model_classes(m), k)));
        assert_null(lth_model_target(m, past(lth_model_targets(m), k)));
        assert_null(lth_model_row_text(m, past(rows, k), 0));
        assert_null(lth_model_row_line(m, past(rows, k)));
        assert_int_equal(lth_model_explain(m, table, 0, &options, &r, NULL), LTH_EARG);
        assert_int_equal(lth_model_patterns(m, function, 3, &r, NULL), LTH_EARG);
    }
    for (size_t f = 0; f < lth_model_functions(m); f++) {
        support_ok(lth_model_patterns(m, f, 3, &r, &err), &err);
        check_reasons(r);
    }
    assert_int_equal(lth_model_rows(m), lth_table_rows(table));
    assert_false(lth_model_is_multi_label(m));
    support_ok(lth_model_use_vectors(m, NULL, &err), &err);
}

static void check_gp(lth_gp *gp, const lth_table *table, size_t symbols) {
    lth_error err = {0};
    size_t params = lth_kernel_params(lth_gp_kernel(gp)), steps = 0, found = 0;
    while (lth_gp_step_at(gp, steps)) steps++;
    while (lth_gp_symbol_at(gp, found)) found++;
    assert_int_equal(found, symbols);
    for (size_t i = 0; i < params; i++) assert_non_null(lth_gp_param_at(gp, i)->path);
    assert_non_null(lth_gp_param_at(gp, LTH_NONE)->path);
    assert_ptr_equal(lth_gp_param_at(gp, params), lth_gp_param_at(gp, LTH_NONE));
    assert_null(lth_gp_param_at(gp, params + 1));
    for (size_t k = 0; k < PAST; k++) {
        assert_null(lth_gp_target(gp, past(lth_gp_targets(gp), k)));
        assert_null(lth_gp_class(gp, past(lth_gp_classes(gp), k)));
        assert_null(lth_gp_symbol_at(gp, past(symbols, k)));
        assert_null(lth_gp_step_at(gp, past(steps, k)));
        assert_null(lth_gp_row_text(gp, past(lth_gp_reported(gp)->rows, k), 0));
        assert_null(lth_gp_row_line(gp, past(lth_gp_reported(gp)->rows, k)));
        assert_null(lth_gp_row_text(gp, 0, past(1, k)));
    }
    assert_int_equal(lth_gp_reported(gp)->loo == NULL, lth_gp_classes(gp) > 0);
    lth_reasons *r;
    support_ok(lth_gp_explain(gp, table, 0, NULL, &r, &err), &err);
    check_reasons(r);
    support_ok(lth_gp_patterns(gp, 0, 3, &r, &err), &err);
    check_reasons(r);
    assert_int_not_equal(lth_gp_explain(gp, table, SIZE_MAX, NULL, &r, NULL), LTH_OK);
    assert_int_not_equal(lth_gp_patterns(gp, SIZE_MAX, 3, &r, NULL), LTH_OK);
    lth_model *m = lth_gp_model(gp);
    assert_true(lth_model_gp(m) == gp && !lth_model_svm(m));
    assert_true(lth_model_kernel(m) == lth_gp_kernel(gp));
    check_model(m, table, lth_gp_reported(gp)->rows);
    lth_model_free(m);
}

static void check_svm(lth_svm *svm, const lth_table *table) {
    lth_error err = {0};
    const lth_svm_report *r = lth_svm_reported(svm);
    for (size_t i = 0; i < r->classes; i++) assert_non_null(lth_svm_class_at(svm, i)->name);
    for (size_t k = 0; k < PAST; k++) {
        size_t positive = 0, negative = 0;
        assert_null(lth_svm_class_at(svm, past(r->classes, k)));
        assert_null(lth_svm_point_at(svm, past(r->points, k)));
        assert_null(lth_svm_row_text(svm, past(r->support, k), 0));
        assert_null(lth_svm_row_line(svm, past(r->support, k)));
        assert_null(lth_svm_row_text(svm, 0, past(1, k)));
        lth_svm_problem_at(svm, past(r->problems, k), &positive, &negative);
        assert_true(positive == LTH_NONE && negative == LTH_NONE);
    }
    lth_reasons *reasons;
    support_ok(lth_svm_explain(svm, table, 0, NULL, &reasons, &err), &err);
    check_reasons(reasons);
    assert_int_not_equal(lth_svm_explain(svm, table, SIZE_MAX, NULL, &reasons, NULL), LTH_OK);
    assert_int_not_equal(lth_svm_patterns(svm, SIZE_MAX, 3, &reasons, NULL), LTH_OK);
    lth_model *m = lth_svm_model(svm);
    assert_true(lth_model_svm(m) == svm && !lth_model_gp(m));
    assert_true(lth_model_kernel(m) == lth_svm_kernel(svm));
    check_model(m, table, r->support);
    lth_model_free(m);
}

static void test_models(void **state) {
    (void)state;
    lth_error err = {0};
    lth_table *table = support_table(ctx, explain_lines);
    check_gp(explain_fit(ctx, "ssk(text)", "y", NULL), table, 0);
    check_gp(explain_fit(ctx, "ssk(text)", "kind", NULL), table, 0);
    check_gp(explain_fit(ctx, "ssk(text)", "three", NULL), table, 0);
    check_gp(explain_fit(ctx, "sstk(tree, symbols=[NP])", "y", NULL), table, 1);
    static const char *const kernels[] = {"ssk(text)", "linear(bow(text))"};
    static const char *const targets[] = {"y", "kind", "three"};
    for (size_t i = 0; i < 6; i++) {
        lth_svm_options options;
        lth_svm_options_init(&options);
        if (i % 2 == 1) options.solver = LTH_SVM_LINEAR;
        lth_svm *svm;
        support_ok(lth_svm_fit(ctx, kernels[i % 2], table, targets[i / 2], &options, &svm, &err),
                   &err);
        check_svm(svm, table);
    }
    lth_table_free(table);
}

/* ---- Validations ---- */

static void check_target(const lth_validation *v, size_t t, size_t rows, size_t folds) {
    bool labels = lth_validation_has_labels(v, t);
    size_t classes = lth_validation_classes(v, t);
    assert_int_equal(lth_validation_metrics(v, t, LTH_NONE) == NULL, labels);
    assert_int_equal(lth_validation_label_metrics(v, t, 0) == NULL, !labels);
    assert_null(lth_validation_metrics(v, t, folds));
    assert_null(lth_validation_label_metrics(v, t, folds));
    assert_true(lth_validation_seconds(v, t, folds) == 0);
    for (size_t k = 0; k < PAST; k++) {
        size_t class = past(classes, k), row = past(rows, k);
        assert_true(isnan(lth_validation_evidence(v, t, past(folds, k))));
        assert_int_equal(lth_validation_done(v, t, past(folds, k)), past(folds, k) == LTH_NONE);
        assert_null(lth_validation_class(v, t, class));
        assert_null(lth_validation_class_metrics(v, t, class));
        assert_int_equal(lth_validation_confusion(v, t, class, 0), 0);
        assert_int_equal(lth_validation_confusion(v, t, 0, class), 0);
        assert_true(isnan(lth_validation_value(v, t, row)) && isnan(lth_validation_sd(v, t, row)));
        assert_false(lth_validation_predicted(v, t, row, 0) || lth_validation_true(v, t, row, 0));
        assert_false(lth_validation_predicted(v, t, 0, class));
        assert_false(lth_validation_true(v, t, 0, class));
    }
}

static void check_validation(lth_validation *v, size_t targets, size_t rows, size_t folds) {
    for (size_t t = 0; t < targets; t++) check_target(v, t, rows, folds);
    for (size_t k = 0; k < PAST; k++) { /* a target that is not there has nothing at all */
        size_t t = past(targets, k);
        assert_false(lth_validation_has_labels(v, t) || lth_validation_has_confusion(v, t));
        assert_false(lth_validation_done(v, t, 0) || lth_validation_done(v, t, LTH_NONE));
        assert_null(lth_validation_metrics(v, t, LTH_NONE));
        assert_null(lth_validation_label_metrics(v, t, LTH_NONE));
        assert_true(lth_validation_seconds(v, t, LTH_NONE) == 0);
        assert_true(isnan(lth_validation_evidence(v, t, 0)));
        assert_int_equal(lth_validation_classes(v, t), 0);
        assert_null(lth_validation_class(v, t, 0));
        assert_null(lth_validation_class_metrics(v, t, 0));
        assert_int_equal(lth_validation_confusion(v, t, 0, 0), 0);
        assert_true(isnan(lth_validation_value(v, t, 0)) && isnan(lth_validation_sd(v, t, 0)));
        assert_false(lth_validation_predicted(v, t, 0, 0) || lth_validation_true(v, t, 0, 0));
    }
    lth_validation_free(v);
}

static void test_validations(void **state) {
    (void)state;
    enum { FOLDS = 2, MOST = 64 };
    lth_error err = {0};
    lth_table *table = support_table(ctx, explain_lines);
    size_t rows = lth_table_rows(table), fold[MOST];
    for (size_t i = 0; i < rows; i++) fold[i] = i % FOLDS;
    lth_gp_options options = support_fixed();
    static const char *const targets[] = {"y", "z", "kind", "three"};
    lth_validation *v;
    for (size_t t = 0; t < 4; t += 2) { /* two of numbers, two of labels */
        support_ok(
            lth_gp_cv(ctx, "ssk(text)", table, targets + t, 2, fold, FOLDS, &options, &v, &err),
            &err);
        assert_int_equal(lth_validation_has_labels(v, 0), t == 2);
        assert_int_equal(isnan(lth_validation_sd(v, 0, 0)), t == 2);
        assert_int_equal(isnan(lth_validation_evidence(v, 1, 0)), t == 2);
        check_validation(v, 2, rows, FOLDS);
        support_ok(lth_svm_cv(ctx, "ssk(text)", table, targets + t, 2, fold, FOLDS, NULL, &v, &err),
                   &err);
        assert_true(isnan(lth_validation_sd(v, 0, 0)));
        check_validation(v, 2, rows, FOLDS);
    }
    assert_int_equal(lth_gp_cv(ctx, "ssk(text)", table, NULL, 0, fold, 2, NULL, &v, NULL),
                     LTH_EARG);
    lth_table_free(table);
}

/* ---- Structs of other versions ---- */

/* A caller whose struct is shorter, and one whose is longer, than the library's. */
static void test_sizes(void **state) {
    (void)state;
    const double y[] = {1, 2, 4}, mean[] = {1, 2, 3};
    struct {
        lth_metrics known;
        double later;
    } m = {.known = {.coverage = 7}, .later = 8};
    lth_metrics_of(y, mean, NULL, 3, &m.known, offsetof(lth_metrics, coverage));
    assert_true(m.known.count == 3 && m.known.coverage == 7);
    lth_metrics_of(y, mean, NULL, 3, &m.known, sizeof m);
    assert_true(isnan(m.known.coverage) && m.later == 8);

    struct column {
        lth_column known;
        size_t later;
    } columns[] = {{{.name = "a", .numbers = y}, 1}, {{.name = "b", .numbers = mean}, 1}};
    lth_table *table;
    lth_error err = {0};
    support_ok(lth_table_from_columns(ctx, &columns->known, sizeof *columns, 2, 3, &table, &err),
               &err);
    assert_string_equal(lth_table_column_name(table, 1), "b");
    lth_table_free(table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables), cmocka_unit_test(test_kernels),
        cmocka_unit_test(test_models), cmocka_unit_test(test_validations),
        cmocka_unit_test(test_sizes),
    };
    return cmocka_run_group_tests(tests, open_ctx, close_ctx);
}
