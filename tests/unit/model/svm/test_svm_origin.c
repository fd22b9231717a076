/* Support vector machines without a threshold: the conditions of the optimum, what they say far
 * from all rows, and where they are refused. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "gp_support.h"
#include "model/svm/svm.h"

enum { ROWS = 40, DIMENSIONS = 3 };

/* ---- One problem ---- */

typedef struct problem {
    lth__svm_gram gram;
    double K[ROWS][ROWS], y[ROWS];
    size_t row[ROWS];
} problem;

/* Inner products of random points, with labels that no plane separates. */
static void make_problem(lth_ctx *ctx, uint64_t seed, problem *p) {
    double x[ROWS][DIMENSIONS];
    lth__random random;
    lth__random_seed(&random, seed);
    for (size_t i = 0; i < ROWS; i++) {
        for (size_t d = 0; d < DIMENSIONS; d++) x[i][d] = 4 * lth__random_uniform(&random) - 2;
        p->y[i] = x[i][0] + 2 * lth__random_uniform(&random) > 1.5 ? 1 : -1;
        p->row[i] = i;
    }
    assert_int_equal(lth__svm_gram_create(ctx, ROWS, &p->gram, NULL), LTH_OK);
    double *plain = lth__svm_gram_plain(&p->gram);
    for (size_t i = 0; i < ROWS; i++) {
        for (size_t j = 0; j < ROWS; j++) {
            p->K[i][j] = 0;
            for (size_t d = 0; d < DIMENSIONS; d++) p->K[i][j] += x[i][d] * x[j][d];
            plain[i * ROWS + j] = p->K[i][j];
        }
    }
    lth__svm_gram_narrow(&p->gram);
}

/* y f is 1 inside of the bounds, at least 1 where alpha is 0, at most 1 where it is C. */
static void check_optimum(const problem *p, const lth__svm_solution *s, const double *C) {
    double alpha[ROWS] = {0};
    size_t inside = 0;
    for (size_t i = 0; i < s->count; i++) alpha[s->row[i]] = p->y[s->row[i]] * s->coef[i];
    for (size_t i = 0; i < ROWS; i++) {
        double f = 0, most = C[p->y[i] < 0];
        for (size_t j = 0; j < ROWS; j++) f += alpha[j] * p->y[j] * p->K[i][j];
        double margin = p->y[i] * f;
        assert_true(alpha[i] >= 0 && alpha[i] <= most);
        if (alpha[i] == 0) assert_true(margin >= 1 - 2e-3);
        if (alpha[i] == most) assert_true(margin <= 1 + 2e-3);
        if (alpha[i] > 0 && alpha[i] < most) {
            assert_float_equal(margin, 1, 2e-3);
            inside++;
        }
    }
    assert_true(inside > 0);
}

static void test_optimum(void **state) {
    (void)state;
    lth_ctx *ctx = NULL;
    assert_int_equal(lth_ctx_create(NULL, &ctx, NULL), LTH_OK);
    for (uint64_t seed = 1; seed <= 20; seed++) {
        problem p;
        make_problem(ctx, seed, &p);
        double C[2] = {0.5 * (double)seed, 0.25 * (double)seed};
        lth__svm_setting setting = {.origin = true, .C = 0.5 * (double)seed};
        lth__svm_problem job = {
            .gram = &p.gram, .row = p.row, .y = p.y, .count = ROWS, .weight = {1, 0.5}};
        lth__svm_solution s = {0};
        assert_int_equal(lth__svm_solve(&job, &setting, &s, NULL), LTH_OK);
        assert_true(s.rho == 0 && !s.unfinished);
        check_optimum(&p, &s, C);
        lth__svm_solution_free(&s);
        lth__svm_gram_free(&p.gram);
    }
    lth_ctx_free(ctx);
}

/* ---- Whole models ---- */

static const char lines[] = "text\tkind\ty\n"
                            "a b\tfew\t1\nc d\tmany\t2\nc e\tmany\t3\nd e\tmany\t4\n"
                            "e f\tmany\t5\nf c\tmany\t6\na a\tfew\t7\nf d\tmany\t8\n";

static lth_svm_options origin(void) {
    lth_svm_options options;
    lth_svm_options_init(&options);
    options.solver = LTH_SVM_ORIGIN;
    return options;
}

/* A text that shares nothing with the rows: the threshold would say "many". */
static void test_far_away(void **state) {
    (void)state;
    lth_ctx *ctx = NULL;
    assert_int_equal(lth_ctx_create(NULL, &ctx, NULL), LTH_OK);
    lth_table *table = support_table(ctx, lines);
    lth_table *far = support_table(ctx, "text\nx y\nb a\n");
    lth_svm_options options = origin();
    for (int with = 0; with < 2; with++) {
        lth_svm *svm = NULL;
        double decision[2];
        if (with) options.solver = LTH_SVM_KERNEL;
        assert_int_equal(
            lth_svm_fit(ctx, "normalize(bow(text))", table, "kind", &options, &svm, NULL), LTH_OK);
        assert_int_equal(lth_svm_predict(svm, far, &(lth_svm_prediction){.decision = decision},
                                         sizeof(lth_svm_prediction), NULL),
                         LTH_OK);
        if (with)
            assert_true(fabs(decision[0]) > 0.1);
        else
            assert_true(decision[0] == 0 && fabs(decision[1]) > 0.5);
        lth_svm_free(svm);
    }
    lth_table_free(far);
    lth_table_free(table);
    lth_ctx_free(ctx);
}

static void check_refused(lth_ctx *ctx, const lth_table *table, const char *target,
                          const lth_svm_options *options) {
    lth_svm *svm = NULL;
    lth_error err = {0};
    assert_int_equal(lth_svm_fit(ctx, "bow(text)", table, target, options, &svm, &err), LTH_EARG);
    assert_string_equal(err.message, "the solver without a threshold is for labels, with C");
}

static void test_refused(void **state) {
    (void)state;
    lth_ctx *ctx = NULL;
    assert_int_equal(lth_ctx_create(NULL, &ctx, NULL), LTH_OK);
    lth_table *table = support_table(ctx, lines);
    lth_svm_options options = origin();
    options.task = LTH_TASK_REGRESSION;
    check_refused(ctx, table, "y", &options);
    options = origin();
    options.nu_svm = true;
    check_refused(ctx, table, "kind", &options);
    lth_table_free(table);
    lth_ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_optimum),
        cmocka_unit_test(test_far_away),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
