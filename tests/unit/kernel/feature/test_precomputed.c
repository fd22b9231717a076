/* A Gram matrix of one's own: the same models as with the kernel that it comes from, and what is
 * refused. */
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
#include "hostile.h"

enum { ROWS = 24, NEW = 7, WIDTH = ROWS + 1 };
static const char own[] = "2 * precomputed(k1..k25)";
static lth_ctx *ctx;

/* What both tables have, and the values of the kernel as numbers. */
typedef struct data {
    char names[WIDTH][8];
    double y[ROWS], values[ROWS + NEW][WIDTH];
    const char *label[ROWS];
    lth_table *texts, *fresh, *matrix, *fresh_matrix;
} data;

static lth_table *make_table(data *d, const double (*values)[WIDTH], size_t rows) {
    lth_column columns[WIDTH + 2];
    memset(columns, 0, sizeof columns);
    lth_error err = {0};
    lth_table *table = NULL;
    for (size_t j = 0; j < WIDTH; j++) {
        snprintf(d->names[j], sizeof d->names[j], "k%zu", j + 1);
        columns[j] = (lth_column){.name = d->names[j], .numbers = values[0] + j, .stride = WIDTH};
    }
    columns[WIDTH] = (lth_column){.name = "y", .numbers = d->y};
    columns[WIDTH + 1] = (lth_column){.name = "label", .text = d->label};
    support_ok(lth_table_from_columns(ctx, columns, sizeof *columns, WIDTH + 2, rows, &table, &err),
               &err);
    return table;
}

static void make_data(data *d) {
    lth_error err = {0};
    lth_kernel *kernel = NULL;
    lth_encoder *encoder = NULL;
    lth_items *items = NULL, *fresh = NULL;
    d->texts = support_rows(ctx, 0, ROWS);
    d->fresh = support_rows(ctx, ROWS, NEW);
    support_ok(lth_kernel_parse(ctx, "normalize(ssk(text, order=2))", &kernel, &err), &err);
    support_ok(lth_encoder_create(ctx, kernel, &encoder, &err), &err);
    support_ok(lth_encode(encoder, d->texts, &items, &err), &err);
    support_ok(lth_encode(encoder, d->fresh, &fresh, &err), &err);
    support_ok(lth_gram(kernel, items, NULL, d->values[0], WIDTH, &err), &err);
    support_ok(lth_gram(kernel, fresh, items, d->values[ROWS], WIDTH, &err), &err);
    double self[ROWS];
    for (size_t side = 0; side < 2; side++) {
        support_ok(lth_gram_diagonal(kernel, side ? fresh : items, self, &err), &err);
        for (size_t i = 0; i < (side ? NEW : ROWS); i++) d->values[side * ROWS + i][ROWS] = self[i];
    }
    lth_items_free(items), lth_items_free(fresh);
    lth_encoder_free(encoder);
    lth_kernel_free(kernel);
    size_t column = lth_table_find(d->texts, "y");
    for (size_t i = 0; i < ROWS; i++) {
        size_t length;
        d->y[i] = strtod(lth_table_cell(d->texts, i, column, &length), NULL);
        d->label[i] = i % 3 == 0 ? "third" : "other";
    }
    d->matrix = make_table(d, d->values, ROWS);
    d->fresh_matrix = make_table(d, d->values + ROWS, NEW);
}

static data *open_data(void) {
    data *d = calloc(1, sizeof *d);
    assert_non_null(d);
    make_data(d);
    return d;
}

static void close_data(data *d) {
    lth_table *tables[] = {d->texts, d->fresh, d->matrix, d->fresh_matrix};
    for (size_t i = 0; i < 4; i++) lth_table_free(tables[i]);
    free(d);
}

static void same_predictions(lth_gp *a, const lth_table *of_a, lth_gp *b, const lth_table *of_b) {
    double *x = support_predict(a, of_a, false), *y = support_predict(b, of_b, false);
    for (size_t i = 0; i < 2 * lth_table_rows(of_a); i++) support_near(x[i], y[i], 1e-9);
    free(x), free(y);
}

/* Noise and variance are learned; the kernel behind the matrix is held. */
static void regression(void **state) {
    (void)state;
    data *d = open_data();
    lth_error err = {0};
    lth_gp_options options;
    lth_gp_options_init(&options);
    options.restarts = 0;
    const char *fix[] = {"ssk.gap", "ssk.weights"};
    options.fix = fix;
    lth_gp *given =
        support_fit(ctx, own, d->matrix, 1,
                    &(lth_gp_options){.size = sizeof options, .learn = true, .max_iter = 200});
    options.fix_count = 2;
    lth_gp *known = support_fit(ctx, "2 * normalize(ssk(text, order=2))", d->texts, 1, &options);
    support_near(lth_gp_reported(given)->evidence, lth_gp_reported(known)->evidence, 1e-8);
    support_near(lth_gp_reported(given)->loo->rmse, lth_gp_reported(known)->loo->rmse, 1e-6);
    same_predictions(given, d->matrix, given, d->matrix);
    lth_gp_free(known);

    /* Through a file, and at the same values. */
    support_ok(lth_gp_save(given, "test_precomputed.model", &err), &err);
    lth_gp *again = NULL;
    support_ok(lth_gp_load(ctx, "test_precomputed.model", &again, &err), &err);
    remove("test_precomputed.model");
    same_predictions(given, d->fresh_matrix, again, d->fresh_matrix);
    lth_gp_free(again);
    lth_gp_free(given);
    close_data(d);
}

static void at_fixed_values(void **state) {
    (void)state;
    data *d = open_data();
    lth_gp_options options = support_fixed();
    lth_gp *given = support_fit(ctx, own, d->matrix, 1, &options);
    lth_gp *known = support_fit(ctx, "2 * normalize(ssk(text, order=2))", d->texts, 1, &options);
    same_predictions(given, d->matrix, known, d->texts);
    same_predictions(given, d->fresh_matrix, known, d->fresh);
    lth_gp_free(given), lth_gp_free(known);
    close_data(d);
}

/* Folds and support rows are choices of rows: each still knows which one it is. */
static void folds_and_machines(void **state) {
    (void)state;
    data *d = open_data();
    lth_error err = {0};
    size_t fold[ROWS];
    const char *target = "y";
    lth_gp_options options = support_fixed();
    lth_folds_shuffled(3, ROWS, 4, fold);
    lth_validation *given = NULL, *known = NULL;
    support_ok(lth_gp_cv(ctx, own, d->matrix, &target, 1, fold, 4, &options, &given, &err), &err);
    support_ok(lth_gp_cv(ctx, "2 * normalize(ssk(text, order=2))", d->texts, &target, 1, fold, 4,
                         &options, &known, &err),
               &err);
    for (size_t i = 0; i < ROWS; i++)
        support_near(lth_validation_value(given, 0, i), lth_validation_value(known, 0, i), 1e-9);
    lth_validation_free(given), lth_validation_free(known);

    lth_svm *svm = NULL;
    double decision[NEW], direct[NEW];
    lth_svm_prediction to = {.decision = decision};
    support_ok(lth_svm_fit(ctx, own, d->matrix, "label", NULL, &svm, &err), &err);
    support_ok(lth_svm_predict(svm, d->fresh_matrix, &to, sizeof to, &err), &err);
    support_ok(lth_svm_save(svm, "test_precomputed.model", &err), &err);
    lth_svm_free(svm);
    support_ok(lth_svm_load(ctx, "test_precomputed.model", &svm, &err), &err);
    remove("test_precomputed.model");
    to.decision = direct;
    support_ok(lth_svm_predict(svm, d->fresh_matrix, &to, sizeof to, &err), &err);
    for (size_t i = 0; i < NEW; i++) assert_true(decision[i] == direct[i]);
    lth_svm_free(svm);
    close_data(d);
}

/* There are no parts to tell apart, but training rows. */
static void reasons(void **state) {
    (void)state;
    data *d = open_data();
    lth_error err = {0};
    lth_reasons *r = NULL;
    lth_gp_options options = support_fixed();
    lth_gp *gp = support_fit(ctx, own, d->matrix, 1, &options);
    support_ok(lth_gp_explain(gp, d->fresh_matrix, 2, NULL, &r, &err), &err);
    const lth_reasons_summary *s = lth_reasons_summarise(r);
    assert_int_equal(s->parts, 0);
    assert_true(s->rows > 0);
    support_near(s->mean, s->baseline + s->missed, 1e-9);
    lth_reasons_free(r);
    assert_string_equal(lth_gp_row_text(gp, 4, 0), "row 5");
    lth_gp_free(gp);
    close_data(d);
}

static void refuse(const data *d, const lth_table *table, const char *kernel, const char *reason) {
    (void)d;
    lth_error err = {0};
    lth_gp *gp = NULL;
    const char *target = "y";
    assert_int_equal(lth_gp_fit(ctx, kernel, table, &target, 1, NULL, &gp, &err), LTH_EFORMAT);
    if (!strstr(err.message, reason)) print_error("%s\n", err.message);
    assert_non_null(strstr(err.message, reason));
}

static void refused(void **state) {
    (void)state;
    data *d = open_data();
    refuse(d, d->matrix, "precomputed(k1..k24)", "wants 25 numbers in each of 24 rows");
    refuse(d, d->fresh_matrix, own, "wants 8 numbers in each of 7 rows");
    double kept = d->values[3][7];
    d->values[3][7] += 0.1;
    refuse(d, d->matrix, own, "the matrix is not symmetric: a pair has");
    d->values[3][7] = kept;
    d->values[5][ROWS] += 0.1;
    refuse(d, d->matrix, own, "with itself the row has");
    close_data(d);
}

/* Each row knows which one it is: a column of the matrix, which a file must not make up. */
static void damaged_files(void **state) {
    (void)state;
    data *d = open_data();
    lth_error err = {0};
    lth_gp_options options = support_fixed();
    lth_gp *gp = support_fit(ctx, own, d->matrix, 1, &options);
    support_ok(lth_gp_save(gp, "test_precomputed.model", &err), &err);
    lth_gp_free(gp);
    enum { INDEX = WIDTH, STRIDE = WIDTH + 1 };
    const hostile_change changes[] = {
        {"field.0.values", .at = INDEX, .number = ROWS},
        {"field.0.values", .at = INDEX, .number = -1},
        {"field.0.values", .at = INDEX, .number = 0.5},
        {"field.0.values", .at = INDEX, .number = 1e18},
        {"field.0.values", .at = 5 * STRIDE + INDEX, .number = ROWS},
        {"field.0.values", .at = 3, .number = NAN},
        {"field.0.values", .at = STRIDE, .number = INFINITY},
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        hostile_refused(ctx, "test_precomputed.model", &changes[i], hostile_gp);
    remove("hostile");
    remove("test_precomputed.model");
    close_data(d);
}

int main(void) {
    ctx = support_context(2);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(regression),
        cmocka_unit_test(at_fixed_values),
        cmocka_unit_test(folds_and_machines),
        cmocka_unit_test(reasons),
        cmocka_unit_test(refused),
        cmocka_unit_test(damaged_files),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    lth_ctx_free(ctx);
    return failed;
}
