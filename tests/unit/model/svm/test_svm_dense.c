/* Features of a few rows that stand for all, and what becomes of solutions: slice by slice, what is
 * said of them, and no numbers that are not finite. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "failing_allocator.h"
#include "gp_support.h"
#include "model/svm/svm.h"

enum { ROWS = 3 * 64 + 5, WIDTH = 20 };
static const char expression[] = "normalize(ssk(text, order=2)) + 0.2 * rbf(f1)";

typedef struct spaces {
    lth_ctx *ctx;
    lth_table *table;
    lth_kernel *kernel;
    lth_encoder *encoder;
    lth_items *items;
    lth__svm_gram gram;
} spaces;

static void open_spaces(spaces *s) {
    lth_error err = {0};
    *s = (spaces){.ctx = support_context(3)};
    s->gram = (lth__svm_gram){.ctx = s->ctx, .rows = ROWS, .linear = true};
    s->table = support_rows(s->ctx, 0, ROWS);
    support_ok(lth_kernel_parse(s->ctx, expression, &s->kernel, &err), &err);
    support_ok(lth_encoder_create(s->ctx, s->kernel, &s->encoder, &err), &err);
    support_ok(lth_encode(s->encoder, s->table, &s->items, &err), &err);
    support_ok(lth__svm_dense_make(s->kernel, s->items, WIDTH, &s->gram.features, &err), &err);
}

static void close_spaces(spaces *s) {
    lth__svm_gram_free(&s->gram);
    lth_items_free(s->items);
    lth_encoder_free(s->encoder);
    lth_kernel_free(s->kernel);
    lth_table_free(s->table);
    lth_ctx_free(s->ctx);
}

/* Those of the basis, in single precision. */
static void slices(void **state) {
    (void)state;
    lth_error err = {0};
    spaces s;
    open_spaces(&s);
    const lth__svm_features *f = &s.gram.features;
    assert_true(f->rows == ROWS && f->width == WIDTH);
    double *phi = malloc(ROWS * WIDTH * sizeof *phi), x[WIDTH] = {0};
    support_ok(lth__basis_features(f->basis, s.items, phi, NULL, &err), &err);
    for (size_t i = 0; i < ROWS; i++) {
        double square = 0;
        for (size_t k = 0; k < WIDTH; k++) {
            double one = (double)f->dense[i * WIDTH + k];
            assert_true(fabs(one - phi[i * WIDTH + k]) < 1e-6);
            square += one * one;
        }
        support_near(lth__svm_features_square(f, i), square, 1e-14);
    }
    lth__svm_features_add(f, ROWS - 1, 2, x);
    support_near(lth__svm_features_dot(f, ROWS - 1, x), 2 * lth__svm_features_square(f, ROWS - 1),
                 1e-14);
    free(phi);
    close_spaces(&s);
}

static const char not_finite[] =
    "the solver found no finite weights: take a smaller C, or check the numbers in the table";

static void each_number_is_looked_at(void **state) {
    (void)state;
    lth_error err = {0};
    lth__svm_setting setting = {.C = 1};
    for (size_t bad = 0; bad < 7; bad++) {
        double x[7] = {0.5, 1, 2, 3, 4, 5, 6};
        lth__svm_solution z = {.count = 3, .coef = x, .weight_count = 3, .weight = x + 3};
        z.rho = x[6];
        assert_int_equal(lth__svm_check_solution(&z, &setting, &err), LTH_OK);
        x[bad] = bad % 2 ? NAN : -INFINITY;
        z.rho = x[6];
        assert_int_equal(lth__svm_check_solution(&z, &setting, &err), LTH_ENUMERIC);
        assert_string_equal(err.message, not_finite);
    }
}

/* And nothing is left of several solutions. */
static void infinite_features(void **state) {
    (void)state;
    lth_error err = {0};
    spaces s;
    open_spaces(&s);
    size_t rows[ROWS];
    double y[ROWS];
    for (size_t i = 0; i < ROWS; i++) rows[i] = i, y[i] = sin((double)i);
    s.gram.features.dense[3 * WIDTH + 5] = INFINITY;
    lth__svm_problem p = {.gram = &s.gram, .row = rows, .y = y, .count = ROWS, .weight = {1, 1}};
    const lth__svm_setting both[] = {{.regression = true, .C = 1, .epsilon = 0.1},
                                     {.regression = true, .C = 2, .epsilon = 0.1}};
    lth__svm_solution z[2] = {0};
    assert_int_equal(lth__svm_solve_all(&p, both, 2, z, &err), LTH_ENUMERIC);
    assert_string_equal(err.message, not_finite);
    close_spaces(&s);
}

/* A row that is as near to one class as to the other has the second one, as LIBSVM says. */
static void decisions_of_nothing(void **state) {
    (void)state;
    lth_error err = {0};
    lth_ctx *ctx = support_context(1);
    lth_table *table = support_table(ctx, "text\ty\na\tfirst\nb\tsecond\n");
    lth_table *new = support_table(ctx, "text\na b\na\nb\n");
    lth_svm *svm = NULL;
    support_ok(lth_svm_fit(ctx, "normalize(bow(text))", table, "y", NULL, &svm, &err), &err);
    double decision[3];
    size_t label[3];
    lth_svm_prediction to = {.decision = decision, .label = label};
    support_ok(lth_svm_predict(svm, new, &to, sizeof to, &err), &err);
    assert_true(decision[0] == 0 && decision[1] > 0 && decision[2] < 0);
    assert_true(label[0] == 1 && label[1] == 0 && label[2] == 1);
    lth_svm_free(svm);
    lth_table_free(new);
    lth_table_free(table);
    lth_ctx_free(ctx);
    /* And of three classes it is the second one's vote, beside that against the third. */
    lth__svm_part parts[] = {
        {0, 1, .solution = {0}}, {0, 2, .solution = {0}}, {1, 2, .solution = {0}}};
    lth__svm_machine m = {.classes = 3, .part_count = 3, .parts = parts};
    double pairs[] = {0, 1, 1}, score[3], room[3];
    lth__svm_scores(&m, pairs, score, room);
    support_near(score[0], 1 + 1. / 6, 1e-15);
    support_near(score[1], 2 + 1. / 6, 1e-15);
    support_near(score[2], 0 - 2. / 9, 1e-15);
}

/* What is wrong with a point of the grid is told with its name, if it has one. */
static void names_of_points(void **state) {
    (void)state;
    static const struct {
        const char *set[2], *why;
    } cases[] = {{{"ssk.gap=0.3,0.7"}, "unknown kernel \"k\"; `luthier kernels` lists them"},
                 {{"ssk.gap=0.3,0.7", "ssk.order=0"},
                  "ssk.order=0: order of ssk is a whole number from 1 to 64"}};
    lth_ctx *ctx = support_context(1);
    lth_table *table = support_table(ctx, "text\ty\na\tx\nb\ty\nc\tx\nd\ty\n");
    for (size_t i = 0; i < 2; i++) {
        lth_error err = {0};
        lth_svm *svm = NULL;
        lth_svm_options options;
        lth_svm_options_init(&options);
        options.set = cases[i].set;
        options.set_count = i + 1;
        assert_int_equal(
            lth_svm_fit(ctx, i ? "ssk(text)" : "k(text)", table, "y", &options, &svm, &err),
            i ? LTH_EARG : LTH_EFORMAT);
        assert_string_equal(err.message, cases[i].why);
    }
    lth_table_free(table);
    lth_ctx_free(ctx);
}

/* Of two solutions the second one fails, wherever it may: the first one goes, too. */
static void second_of_two_fails(void **state) {
    (void)state;
    spaces s;
    open_spaces(&s);
    size_t rows[ROWS], failed = 0;
    double y[ROWS];
    for (size_t i = 0; i < ROWS; i++) rows[i] = i, y[i] = i % 3 ? 1 : -1;
    lth__svm_problem p = {.gram = &s.gram, .row = rows, .y = y, .count = ROWS, .weight = {1, 1}};
    const lth__svm_setting both[] = {{.C = 1}, {.C = 2}};
    for (size_t k = 1;; k++) {
        lth_error err = {0};
        lth__svm_solution z[2] = {0};
        calls = 0;
        fail_at = k;
        lth_status status = lth__svm_solve_all(&p, both, 2, z, &err);
        fail_at = 0;
        if (status == LTH_OK) {
            assert_true(calls < k);
            lth__svm_solution_free(&z[0]);
            lth__svm_solution_free(&z[1]);
            break;
        }
        assert_int_equal(status, LTH_ENOMEM);
        failed++;
    }
    assert_true(failed >= 4);
    close_spaces(&s);
}

static void keep_note(void *user, lth_log_level level, const char *message) {
    if (level == LTH_LOG_INFO && strstr(message, "stand for all"))
        snprintf(user, 200, "%s", message);
}

/* Four texts that have nothing in common, of equal lengths: one of them leaves three quarters. */
static void says_what_is_left(void **state) {
    (void)state;
    char note[200] = "";
    lth_error err = {0};
    lth_ctx_options asked;
    lth_ctx_options_init(&asked);
    asked.log = keep_note;
    asked.user = note;
    lth_ctx *ctx = NULL;
    lth_svm *svm = NULL;
    support_ok(lth_ctx_create(&asked, &ctx, &err), &err);
    lth_table *table = support_table(ctx, "text\ty\na\tx\nb\ty\nc\tx\nd\ty\n");
    lth_svm_options options;
    lth_svm_options_init(&options);
    options.features = 1;
    support_ok(lth_svm_fit(ctx, "normalize(bow(text))", table, "y", &options, &svm, &err), &err);
    assert_string_equal(note, "1 of 4 rows stand for all, and leave 75% of the variance");
    lth_svm_free(svm);
    lth_table_free(table);
    lth_ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slices),
        cmocka_unit_test(each_number_is_looked_at),
        cmocka_unit_test(infinite_features),
        cmocka_unit_test(second_of_two_fails),
        cmocka_unit_test(says_what_is_left),
        cmocka_unit_test(decisions_of_nothing),
        cmocka_unit_test(names_of_points),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
