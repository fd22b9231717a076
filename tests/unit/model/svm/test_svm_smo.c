/* The solver of all four kinds: the conditions of a minimum, with more rows than are taken out at
 * once, of few rows among many, from a smaller C, of values of any size; degenerate problems. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/context.h"
#include "base/parallel.h"
#include "base/random.h"
#include "gp_support.h"
#include "model/svm/svm.h"
#include "model/svm/svm_smo.h"

enum { ROWS = 900 };

static lth_ctx *ctx;

typedef struct fixture {
    lth__svm_gram gram;
    double label[ROWS], number[ROWS];
    size_t row[ROWS], count;
} fixture;

/* Points of the plane with an RBF kernel times `size`; every `step`-th row is in the problem. */
static fixture *open_fixture(double size, size_t step) {
    fixture *f = calloc(1, sizeof *f);
    lth_error err = {0};
    lth__random random;
    static double x[ROWS][2];
    assert_non_null(f);
    lth__random_seed(&random, 7);
    support_ok(lth__svm_gram_create(ctx, ROWS, &f->gram, &err), &err);
    for (size_t i = 0; i < ROWS; i++) {
        for (size_t k = 0; k < 2; k++) x[i][k] = 4 * lth__random_uniform(&random);
    }
    double *K = lth__svm_gram_plain(&f->gram);
    for (size_t i = 0; i < ROWS; i++) {
        for (size_t j = 0; j < ROWS; j++) {
            double a = x[i][0] - x[j][0], b = x[i][1] - x[j][1];
            K[i * ROWS + j] = size * exp(-a * a - b * b);
        }
    }
    lth__svm_gram_narrow(&f->gram);
    for (size_t i = ROWS; i-- > 0;) {
        if (i % step != 0) continue;
        double noise = lth__random_uniform(&random);
        f->label[f->count] = sin(3 * x[i][0]) + cos(2 * x[i][1]) + noise > 0.9 ? 1 : -1;
        f->number[f->count] = sin(x[i][0]) + x[i][1] + 0.3 * noise;
        f->row[f->count++] = i;
    }
    return f;
}

static void close_fixture(fixture *f) {
    lth__svm_gram_free(&f->gram);
    free(f);
}

/* ---- The conditions of a minimum ---- */

static double coefficient(const lth__svm_solution *s, size_t row) {
    for (size_t i = 0; i < s->count; i++) {
        if (s->row[i] == row) return s->coef[i];
    }
    return 0;
}

/* How far y f, or the error of f, is from where beta says that it is. */
static void check_C(const lth__svm_problem *p, const lth__svm_setting *s,
                    const lth__svm_solution *z, double near) {
    double sum = 0, size = 0;
    for (size_t i = 0; i < p->count; i++) {
        double beta = coefficient(z, p->row[i]), f = lth__svm_decide(z, p->gram, p->row[i]);
        double C = s->C * (s->regression ? 1 : p->weight[p->y[i] < 0]);
        double alpha = s->regression ? beta : p->y[i] * beta;
        double lacks = s->regression ? p->y[i] - f : 1 - p->y[i] * f; /* pulls alpha up */
        double low = s->regression ? s->epsilon : 0;
        sum += beta;
        size += fabs(beta);
        assert_true(fabs(alpha) <= C * (1 + 1e-6) && (s->regression || alpha >= 0));
        if (alpha == 0)
            assert_true(lacks <= low + near && (!s->regression || lacks >= -low - near));
        bool full = fabs(alpha) > C * (1 - 1e-6);
        if (alpha > 0) assert_true(lacks >= low - near && (full || lacks <= low + near));
        if (alpha < 0) assert_true(lacks <= -low + near && (full || lacks >= -low - near));
    }
    assert_true(size > 0 && fabs(sum) <= 1e-9 * size);
}

static void test_C(void **state) {
    (void)state;
    static const double sizes[] = {1, 1e-30, 1e40};
    static const size_t steps[] = {1, 3, 9};
    lth_error err = {0};
    for (size_t k = 0; k < 3; k++) {
        for (size_t step = 0; step < 3; step++) {
            fixture *f = open_fixture(sizes[k], steps[step]);
            for (int numbers = 0; numbers < 2; numbers++) {
                lth__svm_setting s[3];
                lth__svm_solution z[3], cold;
                lth__svm_problem p = {
                    &f->gram, f->row, numbers ? f->number : f->label, f->count, {2, 0.5}};
                for (size_t c = 0; c < 3; c++)
                    s[c] = (lth__svm_setting){.regression = numbers,
                                              .epsilon = numbers ? 0.05 : NAN,
                                              .C = pow(10, (double)c) / sizes[k]};
                support_ok(lth__svm_solve_all(&p, s, 3, z, &err), &err);
                for (size_t c = 0; c < 3; c++) {
                    support_ok(lth__svm_solve(&p, &s[c], &cold, &err), &err);
                    check_C(&p, &s[c], &z[c], 2e-3);
                    check_C(&p, &s[c], &cold, 2e-3);
                    assert_false(z[c].unfinished);
                    for (size_t i = 0; i < 40; i++)
                        support_near(lth__svm_decide(&z[c], &f->gram, i),
                                     lth__svm_decide(&cold, &f->gram, i), 1e-2);
                    lth__svm_solution_free(&cold);
                    lth__svm_solution_free(&z[c]);
                }
            }
            close_fixture(f);
        }
    }
}

/* Of nu-SVC: in units of the margin, whose alphas are at most 1 / margin and sum to nu n / margin.
 * Of nu-SVR: there is an epsilon for which it is what epsilon-SVR finds. */
static void test_nu(void **state) {
    (void)state;
    static const size_t steps[] = {1, 5};
    lth_error err = {0};
    for (size_t step = 0; step < 2; step++) {
        fixture *f = open_fixture(1, steps[step]);
        lth__svm_problem p = {&f->gram, f->row, f->label, f->count, {1, 1}};
        lth__svm_setting s = {.nu_svm = true, .nu = 0.2, .C = NAN, .epsilon = NAN};
        lth__svm_solution z;
        support_ok(lth__svm_solve(&p, &s, &z, &err), &err);
        double sum = 0, most = 0;
        for (size_t i = 0; i < z.count; i++) {
            sum += fabs(z.coef[i]);
            most = fmax(most, fabs(z.coef[i]));
        }
        support_near(sum / most, s.nu * (double)f->count, 1e-6 * sum);
        lth__svm_setting same = {.C = most, .epsilon = NAN, .nu = NAN};
        check_C(&p, &same, &z, 4e-3);
        lth__svm_solution_free(&z);

        p.y = f->number;
        lth__svm_setting both[2] = {{.regression = true, .nu_svm = true, .nu = 0.3, .C = 1},
                                    {.regression = true, .nu_svm = true, .nu = 0.3, .C = 20}};
        lth__svm_solution y[2];
        support_ok(lth__svm_solve_all(&p, both, 2, y, &err), &err);
        for (size_t k = 0; k < 2; k++) {
            double total = 0, epsilon = 0, between = 0;
            for (size_t i = 0; i < y[k].count; i++) total += fabs(y[k].coef[i]);
            assert_true(total <= both[k].C * both[k].nu * (double)f->count * (1 + 1e-9));
            for (size_t i = 0; i < f->count; i++) {
                double beta = fabs(coefficient(&y[k], f->row[i]));
                if (beta == 0 || beta > both[k].C * (1 - 1e-6)) continue;
                epsilon += fabs(f->number[i] - lth__svm_decide(&y[k], &f->gram, f->row[i]));
                between++;
            }
            lth__svm_setting tube = {
                .regression = true, .C = both[k].C, .epsilon = epsilon / between};
            check_C(&p, &tube, &y[k], 4e-3);
            lth__svm_solution_free(&y[k]);
        }
        close_fixture(f);
    }
}

/* ---- What is odd ---- */

/* nu 1 of classes of the same size: every alpha is full, and the margin is where the rows end. */
static void test_full_nu(void **state) {
    (void)state;
    lth_error err = {0};
    fixture *f = open_fixture(1, 9);
    f->count = 40;
    for (size_t i = 0; i < 40; i++) f->label[i] = i % 2 ? 1 : -1;
    lth__svm_problem p = {&f->gram, f->row, f->label, f->count, {1, 1}};
    lth__svm_setting s = {.nu_svm = true, .nu = 1};
    lth__svm_solution z;
    support_ok(lth__svm_solve(&p, &s, &z, &err), &err);
    assert_int_equal(z.count, 40);
    for (size_t i = 0; i < 40; i++)
        support_near(fabs(z.coef[i]), fabs(z.coef[0]), 1e-9 * fabs(z.coef[0]));
    lth__svm_solution_free(&z);
    close_fixture(f);
}

/* Numbers a million times as large, with a C and an epsilon to match, are the same problem. */
static void test_large_numbers(void **state) {
    (void)state;
    lth_error err = {0};
    fixture *f = open_fixture(1, 2);
    const double size[] = {1, 1e6, 1e12, 1e-6};
    lth__svm_solution z[4];
    for (size_t k = 0; k < 4; k++) {
        double y[ROWS];
        for (size_t i = 0; i < f->count; i++) y[i] = size[k] * f->number[i];
        lth__svm_problem p = {&f->gram, f->row, y, f->count, {1, 1}};
        lth__svm_setting s = {.regression = true, .C = 5 * size[k], .epsilon = 0.1 * size[k]};
        support_ok(lth__svm_solve(&p, &s, &z[k], &err), &err);
        assert_false(z[k].unfinished);
        for (size_t i = 0; i < 50; i++)
            support_near(lth__svm_decide(&z[k], &f->gram, i) / size[k],
                         lth__svm_decide(&z[0], &f->gram, i), 5e-3);
    }
    for (size_t k = 0; k < 4; k++) lth__svm_solution_free(&z[k]);
    close_fixture(f);
}

/* A kernel that is 0, or the same everywhere: nothing but a threshold. */
static void test_flat(void **state) {
    (void)state;
    lth_error err = {0};
    fixture *f = open_fixture(1, 3);
    for (int level = 0; level < 2; level++) {
        double *K = lth__svm_gram_plain(&f->gram);
        for (size_t i = 0; i < (size_t)ROWS * ROWS; i++) K[i] = level;
        lth__svm_gram_narrow(&f->gram);
        for (int numbers = 0; numbers < 2; numbers++) {
            lth__svm_problem p = {
                &f->gram, f->row, numbers ? f->number : f->label, f->count, {1, 1}};
            lth__svm_setting s = {.regression = numbers, .C = 1, .epsilon = 0.1};
            lth__svm_solution z;
            support_ok(lth__svm_solve(&p, &s, &z, &err), &err);
            assert_true(isfinite(z.rho) && !z.unfinished);
            support_near(lth__svm_decide(&z, &f->gram, 0), -z.rho, 1e-9);
            lth__svm_solution_free(&z);
        }
    }
    close_fixture(f);
}

/* Rows of very different sizes and a large C leave no digits for the tolerance: it gives up before
 * long, and says so. */
static void test_no_digits(void **state) {
    (void)state;
    enum { FEW = 20 };
    static float K[FEW * FEW];
    size_t row[FEW];
    double beta[FEW] = {0}, lo[FEW], hi[FEW], F[FEW];
    for (size_t i = 0; i < FEW; i++) {
        row[i] = i;
        lo[i] = -(hi[i] = 1e20);
        F[i] = sin((double)i);
        for (size_t j = 0; j < FEW; j++) {
            double size = pow(10, -(double)(i % 9) - (double)(j % 9));
            K[i * FEW + j] = (float)(size * (1 + (i == j) + sin((double)(i * j))));
        }
    }
    lth__smo_whole w = {
        .engine = ctx->engine, .ctx = ctx, .K = K, .all = FEW, .ld = FEW, .row = row};
    w.count = FEW, w.groups = 1, w.beta = beta, w.lo = lo, w.hi = hi, w.F = F;
    w.epsilon = w.tolerance = 1e-3;
    lth_error err = {0};
    support_ok(lth__smo_descend(&w, &err), &err);
    assert_true(w.unfinished && w.steps > 1000000 && w.steps < 20000000);
}

/* ---- Being canceled ---- */

static int stop_at_once(void *user, const char *what, double done, double total) {
    (void)user, (void)what, (void)done, (void)total;
    return 1;
}

/* Again and again, until it is asked. */
static lth_status solve_for_ever(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)index, (void)worker;
    const fixture *f = user;
    lth__svm_problem p = {&f->gram, f->row, f->label, f->count, {1, 1}};
    lth__svm_setting s = {.C = 1};
    for (;;) {
        lth__svm_solution z;
        LTH_TRY(lth__svm_solve(&p, &s, &z, err));
        lth__svm_solution_free(&z);
    }
}

static void test_cancel(void **state) {
    (void)state;
    lth_error err = {0};
    lth_ctx *other = NULL;
    lth_ctx_options options;
    lth_ctx_options_init(&options);
    options.progress = stop_at_once;
    fixture *f = open_fixture(1, 1);
    support_ok(lth_ctx_create(&options, &other, &err), &err);
    f->gram.ctx = other;
    assert_int_equal(lth__parallel_for(other, "svm", 2, NULL, solve_for_ever, f, &err),
                     LTH_ECANCELED);
    lth_ctx_free(other);
    close_fixture(f);
}

static int open_context(void **state) {
    (void)state;
    ctx = support_context(2);
    return 0;
}

static int close_context(void **state) {
    (void)state;
    lth_ctx_free(ctx);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_C),       cmocka_unit_test(test_nu),
        cmocka_unit_test(test_full_nu), cmocka_unit_test(test_large_numbers),
        cmocka_unit_test(test_flat),    cmocka_unit_test(test_no_digits),
        cmocka_unit_test(test_cancel),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
