/* Support vector machines on a Gram matrix at hand: against LIBSVM on an ordinary problem, and
 * probabilities against small cases. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "gp_support.h"
#include "libsvm_reference.h"
#include "model/svm/svm.h"

enum { MOST = 41 };

static lth_ctx *ctx;

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

/* ---- Data ------------------------------------------------------------------------------------ */

typedef struct data {
    size_t n;
    double K[MOST][MOST], y[MOST];
    size_t class[MOST], start[MOST + 1], of[MOST];
    lth__svm_gram gram;
    lth__svm_target target;
} data;

static char *class_names[] = {"a", "b", "c", "d"};

/* Points of the plane with an RBF kernel; classes are overlapping clouds, in whose order the first
 * points come. */
static void make_data(data *d, size_t n, size_t classes, uint64_t seed) {
    lth__random random;
    lth__random_seed(&random, seed);
    double x[MOST][2];
    static size_t counts[4];
    *d = (data){.n = n};
    memset(counts, 0, sizeof counts);
    for (size_t i = 0; i < n; i++) {
        size_t c = i < classes ? i : (size_t)lth__random_below(&random, classes);
        d->class[i] = d->of[i] = c;
        d->start[i + 1] = i + 1;
        counts[c]++;
        for (int k = 0; k < 2; k++) x[i][k] = 2 * lth__random_uniform(&random);
        x[i][c % 2] += 0.8 * (double)c;
        d->y[i] = sin(x[i][0]) + x[i][1] + 0.1 * lth__random_uniform(&random);
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            double a = x[i][0] - x[j][0], b = x[i][1] - x[j][1];
            d->K[i][j] = exp(-a * a - b * b);
        }
    }
    lth_error err = {0};
    support_ok(lth__svm_gram_create(ctx, n, &d->gram, &err), &err);
    double *K = lth__svm_gram_plain(&d->gram);
    for (size_t i = 0; i < n; i++) memcpy(K + i * n, d->K[i], n * sizeof *K);
    lth__svm_gram_narrow(&d->gram);
    d->target.labels = (lth__labels){.rows = n,
                                     .class_count = classes,
                                     .name = class_names,
                                     .count = counts,
                                     .start = d->start,
                                     .of = d->of};
}

/* Whatever the size of the values: they are kept as multiples of a power of two. */
static void test_gram(void **state) {
    (void)state;
    const double sizes[] = {1, 1e-200, 3e250};
    for (size_t n = 1; n < 6; n++) {
        for (size_t k = 0; k < 3; k++) {
            data d;
            make_data(&d, n, 1, n);
            double *K = lth__svm_gram_plain(&d.gram);
            for (size_t i = 0; i < n * n; i++) K[i] = sizes[k] * d.K[i / n][i % n];
            lth__svm_gram_narrow(&d.gram);
            for (size_t i = 0; i < n * n; i++) {
                double expected = sizes[k] * d.K[i / n][i % n];
                support_near(lth__svm_gram_at(&d.gram, i / n, i % n) / expected, 1, 1e-7);
            }
            lth__svm_gram_free(&d.gram);
        }
    }
}

/* ---- Against LIBSVM -------------------------------------------------------------------------- */

#if HAS_LIBSVM
static libsvm svm;

typedef struct reference {
    struct svm_node node[MOST][MOST + 2];
    struct svm_node *x[MOST];
    double y[MOST];
    struct svm_model *model;
} reference;

/* Every `of`-th row is left out; the first one stays, so that classes come in the same order. */
static bool is_left_out(size_t row, size_t of) {
    return of > 0 && row % of == 1;
}

/* An ordinary problem. */
static void train_reference(const data *d, const lth__svm_setting *s, size_t left_out,
                            reference *r) {
    size_t count = 0;
    for (size_t i = 0; i < d->n; i++) {
        r->node[i][0] = (struct svm_node){0, (double)(i + 1)};
        for (size_t j = 0; j < d->n; j++)
            r->node[i][1 + j] = (struct svm_node){(int)j + 1, d->K[i][j]};
        r->node[i][d->n + 1].index = -1;
    }
    for (size_t i = 0; i < d->n; i++) {
        if (is_left_out(i, left_out)) continue;
        r->x[count] = r->node[i];
        r->y[count++] = s->regression ? d->y[i] : (double)d->class[i] + 1;
    }
    struct svm_problem problem = {.l = (int)count, .y = r->y, .x = r->x};
    int type = s->regression ? (s->nu_svm ? NU_SVR : EPSILON_SVR) : (s->nu_svm ? NU_SVC : C_SVC);
    struct svm_parameter parameter = {.svm_type = type,
                                      .kernel_type = PRECOMPUTED,
                                      .cache_size = 10,
                                      .eps = 1e-7,
                                      .C = s->C,
                                      .nu = s->nu,
                                      .p = s->epsilon,
                                      .shrinking = 1};
    r->model = svm.train(&problem, &parameter);
}

/* Decision values of all rows, whether they were trained on or not. Ours are as exact as its
 * tolerance; the reference is exact. */
#define NEAR 5e-3
static void compare(data *d, const lth__svm_setting *setting, size_t left_out) {
    lth_error err = {0};
    static reference r;
    train_reference(d, setting, left_out, &r);
    size_t rows[MOST], count = 0;
    for (size_t i = 0; i < d->n; i++) {
        if (!is_left_out(i, left_out)) rows[count++] = i;
    }
    d->target.y = setting->regression ? d->y : NULL;
    lth__svm_machine m;
    support_ok(lth__svm_train(&d->target, &d->gram, rows, count, setting, &m, &err), &err);
    size_t classes = d->target.labels.class_count;
    assert_int_equal(m.part_count, setting->regression ? 1 : classes * (classes - 1) / 2);
    size_t support = 0;
    for (size_t i = 0; i < d->n; i++) {
        double expected[6], decision[6];
        double label = svm.predict_values(r.model, r.node[i], expected);
        for (size_t p = 0; p < m.part_count; p++) {
            decision[p] = lth__svm_decide(&m.parts[p].solution, &d->gram, i);
            support_near(decision[p], expected[p], NEAR);
        }
        bool has[4];
        size_t votes[4];
        if (!setting->regression) {
            lth__svm_classify(&m, decision, votes, has);
            bool clear = true; /* of rounding */
            for (size_t p = 0; p < m.part_count; p++) clear = clear && fabs(expected[p]) > NEAR;
            for (size_t c = 0; clear && c < classes; c++)
                assert_int_equal(has[c], label == (double)c + 1);
        }
    }
    for (size_t p = 0; p < m.part_count; p++) support += m.parts[p].solution.count;
    assert_true(support > 0);
    lth__svm_machine_free(&m);
    svm.free_model(&r.model);
}

static void test_against_libsvm(void **state) {
    (void)state;
    if (!libsvm_load(&svm)) skip();
    const lth__svm_setting settings[] = {
        {.C = 1},
        {.C = 30},
        {.nu_svm = true, .nu = 0.3},
        {.regression = true, .C = 2, .epsilon = 0.05},
        {.regression = true, .nu_svm = true, .C = 5, .nu = 0.4},
    };
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        for (size_t classes = 2; classes <= 4; classes++) {
            data d;
            make_data(&d, 40 + classes % 2, classes, 10 * i + classes);
            compare(&d, &settings[i], 0);
            if (classes == 2) compare(&d, &settings[i], 2); /* the even rows alone */
            if (classes == 2) compare(&d, &settings[i], 3);
            lth__svm_gram_free(&d.gram);
        }
    }
}

#else
static void test_against_libsvm(void **state) {
    (void)state;
    print_message("LIBSVM is not installed: nothing is compared with it\n");
    skip();
}
#endif

/* ---- Other machines -------------------------------------------------------------------------- */

static void all_rows(const data *d, size_t *rows) {
    for (size_t i = 0; i < d->n; i++) rows[i] = i;
}

/* Each class against the rest is the problem with its rows at +1. */
static void test_one_vs_rest(void **state) {
    (void)state;
    data d;
    lth_error err = {0};
    size_t rows[MOST], votes[3];
    make_data(&d, 40, 3, 5);
    all_rows(&d, rows);
    d.target.one_vs_rest = true;
    const lth__svm_setting setting = {.C = 3};
    lth__svm_machine m;
    support_ok(lth__svm_train(&d.target, &d.gram, rows, d.n, &setting, &m, &err), &err);
    assert_int_equal(m.part_count, 3);
    double decision[3][MOST];
    for (size_t c = 0; c < 3; c++) {
        double y[MOST];
        lth__svm_solution s;
        for (size_t i = 0; i < d.n; i++) y[i] = d.class[i] == c ? 1 : -1;
        lth__svm_problem p = {.gram = &d.gram, .row = rows, .y = y, .count = d.n, .weight = {1, 1}};
        support_ok(lth__svm_solve(&p, &setting, &s, &err), &err);
        assert_int_equal(m.parts[c].positive, c);
        assert_int_equal(m.parts[c].negative, LTH_NONE);
        for (size_t i = 0; i < d.n; i++) {
            decision[c][i] = lth__svm_decide(&s, &d.gram, i);
            assert_true(decision[c][i] == lth__svm_decide(&m.parts[c].solution, &d.gram, i));
        }
        lth__svm_solution_free(&s);
    }
    for (size_t i = 0; i < d.n; i++) {
        double own[3] = {decision[0][i], decision[1][i], decision[2][i]};
        bool has[3];
        size_t best = own[1] > own[0] ? 1 : 0;
        if (own[2] > own[best]) best = 2;
        lth__svm_classify(&m, own, votes, has);
        for (size_t c = 0; c < 3; c++) assert_int_equal(has[c], c == best);
    }
    lth__svm_machine_free(&m);
    lth__svm_gram_free(&d.gram);
}

/* What decision values say of classes: two, each against the rest, pairs. */
static void test_scores(void **state) {
    (void)state;
    double score[3], room[24];
    lth__svm_part parts[3] = {{.positive = 0, .negative = 1},
                              {.positive = 0, .negative = 2},
                              {.positive = 1, .negative = 2}};
    lth__svm_machine m = {.classes = 2, .only = LTH_NONE, .part_count = 1, .parts = parts};
    const double decision[3] = {0.5, -2, 4};
    assert_int_equal(lth__svm_score_count(&m), 1);
    lth__svm_scores(&m, decision, score, room);
    assert_true(score[0] == -0.5);
    m.classes = m.part_count = 3;
    assert_int_equal(lth__svm_score_count(&m), 3);
    lth__svm_scores(&m, decision, score, room);
    support_near(score[0], 1 - 1.5 / (3 * 2.5), 1e-15); /* a vote each */
    support_near(score[1], 1 + 3.5 / (3 * 4.5), 1e-15);
    support_near(score[2], 1 - 2.0 / (3 * 3), 1e-15);
    for (size_t i = 0; i < 3; i++)
        parts[i] = (lth__svm_part){.positive = 2 - i, .negative = LTH_NONE};
    lth__svm_scores(&m, decision, score, room);
    for (size_t i = 0; i < 3; i++) assert_true(score[2 - i] == decision[i]);
    m = (lth__svm_machine){.classes = 2, .multi = true, .part_count = 1, .parts = parts + 1};
    assert_int_equal(lth__svm_score_count(&m), 2);
    lth__svm_scores(&m, decision, score, room);
    assert_true(score[0] == 0 && score[1] == 0.5);
}

/* Two points: f is known in closed form. With k = identity and C large, alpha = 1 for both,
 * f = y_i / 1 at each, rho = 0. */
static void test_several_labels(void **state) {
    (void)state;
    enum { N = 4 };
    lth_error err = {0};
    lth__svm_gram gram;
    size_t rows[N] = {0, 1, 2, 3};
    support_ok(lth__svm_gram_create(ctx, N, &gram, &err), &err);
    double *K = lth__svm_gram_plain(&gram);
    for (size_t i = 0; i < N; i++) {
        for (size_t j = 0; j < N; j++) K[i * N + j] = i == j;
    }
    lth__svm_gram_narrow(&gram);
    /* Row 0: a, b. Row 1: a. Row 2: none. Row 3: c, which the rows trained on do not have. */
    size_t start[] = {0, 2, 3, 3, 4}, of[] = {0, 1, 0, 2}, count[] = {2, 1, 1};
    lth__svm_target target = {.labels = {.rows = N,
                                         .class_count = 3,
                                         .multi = true,
                                         .name = class_names,
                                         .count = count,
                                         .start = start,
                                         .of = of}};
    const lth__svm_setting setting = {.C = 100};
    lth__svm_machine m;
    support_ok(lth__svm_train(&target, &gram, rows, 3, &setting, &m, &err), &err);
    assert_int_equal(m.part_count, 2);
    const bool expected[3][3] = {{1, 1, 0}, {1, 0, 0}, {0, 0, 0}};
    for (size_t i = 0; i < 3; i++) {
        double decision[2];
        bool has[3];
        for (size_t p = 0; p < 2; p++) {
            decision[p] = lth__svm_decide(&m.parts[p].solution, &gram, i);
            /* All three are on the margin. */
            support_near(decision[p], expected[i][m.parts[p].positive] ? 1 : -1, 1e-3);
        }
        lth__svm_classify(&m, decision, NULL, has);
        assert_memory_equal(has, expected[i], sizeof has);
    }
    lth__svm_machine_free(&m);

    /* A label that all rows have is always predicted. */
    support_ok(lth__svm_train(&target, &gram, rows, 2, &setting, &m, &err), &err);
    assert_true(lth__svm_decide(&m.parts[0].solution, &gram, 2) == 1);
    lth__svm_machine_free(&m);
    lth__svm_gram_free(&gram);
}

/* Weights are those of LIBSVM; only the rows of one class left make a machine that knows one. */
static void test_weights_and_missing_classes(void **state) {
    (void)state;
    data d;
    lth_error err = {0};
    size_t rows[MOST], some[MOST], count = 0, votes[3];
    make_data(&d, 40, 2, 8);
    all_rows(&d, rows);
    double weight[2] = {3, 0.5}, y[MOST], positive = 0;
    const lth__svm_setting setting = {.C = 1};
    for (size_t i = 0; i < d.n; i++) {
        y[i] = d.class[i] == 0 ? 1 : -1;
        positive += y[i] > 0;
    }
    for (int balanced = 0; balanced < 2; balanced++) {
        double n = (double)d.n;
        lth__svm_problem p = {
            .gram = &d.gram, .row = rows, .y = y, .count = d.n, .weight = {3, 0.5}};
        if (balanced) p.weight[0] = n / (2 * positive), p.weight[1] = n / (2 * (n - positive));
        d.target.weight = balanced ? NULL : weight;
        d.target.balanced = balanced;
        lth__svm_solution s;
        lth__svm_machine m;
        support_ok(lth__svm_solve(&p, &setting, &s, &err), &err);
        support_ok(lth__svm_train(&d.target, &d.gram, rows, d.n, &setting, &m, &err), &err);
        for (size_t i = 0; i < d.n; i++)
            assert_true(lth__svm_decide(&s, &d.gram, i) ==
                        lth__svm_decide(&m.parts[0].solution, &d.gram, i));
        lth__svm_solution_free(&s);
        lth__svm_machine_free(&m);
    }
    d.target.balanced = false;
    for (size_t i = 0; i < d.n; i++) {
        if (d.class[i] == 1) some[count++] = i;
    }
    lth__svm_machine m;
    bool has[2];
    support_ok(lth__svm_train(&d.target, &d.gram, some, count, &setting, &m, &err), &err);
    assert_int_equal(m.part_count, 0);
    lth__svm_classify(&m, NULL, votes, has);
    assert_true(!has[0] && has[1]);
    lth__svm_machine_free(&m);
    lth__svm_gram_free(&d.gram);
}

static void test_infeasible_nu(void **state) {
    (void)state;
    data d;
    lth_error err = {0};
    make_data(&d, 20, 2, 3);
    size_t rows[] = {0, 1, 2, 3, 4, 5, 6, 7}, positive = 0;
    for (size_t i = 0; i < 8; i++) positive += d.class[i] == 0;
    size_t smaller = positive < 4 ? positive : 8 - positive;
    lth__svm_machine m;
    lth__svm_setting setting = {.nu_svm = true, .nu = 2 * (double)smaller / 8 + 0.01};
    if (setting.nu <= 1)
        assert_int_equal(lth__svm_train(&d.target, &d.gram, rows, 8, &setting, &m, &err), LTH_EARG);
    setting.nu -= 0.02;
    support_ok(lth__svm_train(&d.target, &d.gram, rows, 8, &setting, &m, &err), &err);
    lth__svm_machine_free(&m);
    lth__svm_gram_free(&d.gram);
}

/* ---- Probabilities --------------------------------------------------------------------------- */

/* Decision values of only two kinds: the sigmoid meets the mean target of each exactly. */
static void test_sigmoid(void **state) {
    (void)state;
    /* At f = 1 three positive of four, at f = -1 one of four. Targets are 5/6 and 1/6. */
    const double f[] = {1, 1, 1, 1, -1, -1, -1, -1}, y[] = {1, 1, 1, -1, 1, -1, -1, -1};
    double room[8];
    lth__sigmoid s = lth__sigmoid_fit(f, y, 8, room);
    double there = (3 * 5 / 6.0 + 1 / 6.0) / 4;
    support_near(lth__sigmoid_at(s, 1), there, 1e-5);
    support_near(lth__sigmoid_at(s, -1), 1 - there, 1e-5);
    support_near(s.slope, -log(there / (1 - there)), 1e-4);
    support_near(s.offset, 0, 1e-5);
    /* One side only: nothing but the prior. */
    const double ones[] = {1, 1, 1};
    s = lth__sigmoid_fit(ones, ones, 3, room);
    support_near(lth__sigmoid_at(s, 1), 4 / 5.0, 1e-5);
    assert_true(lth__sigmoid_at((lth__sigmoid){-1, 0}, 1e4) == 1);
    assert_true(lth__sigmoid_at((lth__sigmoid){-1, 0}, -1e4) == 0);
}

/* Pairs that agree with some p give that p. */
static void test_coupling(void **state) {
    (void)state;
    const double p[] = {0.5, 0.2, 0.3};
    double r[9] = {0}, found[3], room[12];
    for (size_t i = 0; i < 3; i++) {
        for (size_t j = 0; j < 3; j++) r[i * 3 + j] = p[i] / (p[i] + p[j]);
    }
    lth__couple(r, 3, found, room);
    for (size_t i = 0; i < 3; i++) support_near(found[i], p[i], 1e-7);
    /* A circle (0 beats 1 beats 2 beats 0) favours none. */
    const double circle[9] = {0, 0.9, 0.1, 0.1, 0, 0.9, 0.9, 0.1, 0};
    lth__couple(circle, 3, found, room);
    for (size_t i = 0; i < 3; i++) support_near(found[i], 1 / 3.0, 1e-9);
    /* Three that contradict one another: the minimum of sum (r_ji p_i - r_ij p_j)^2 over a grid. */
    const double odd[9] = {0, 0.6, 0.7, 0.4, 0, 0.2, 0.3, 0.8, 0};
    double least = INFINITY, best[2] = {0};
    for (double a = 0; a <= 1; a += 1e-3) {
        for (double b = 0; a + b <= 1; b += 1e-3) {
            double q[] = {a, b, 1 - a - b}, loss = 0;
            for (size_t i = 0; i < 3; i++) {
                for (size_t j = 0; j < 3; j++) {
                    double e = odd[j * 3 + i] * q[i] - odd[i * 3 + j] * q[j];
                    if (i != j) loss += e * e;
                }
            }
            if (loss < least) least = loss, best[0] = a, best[1] = b;
        }
    }
    lth__couple(odd, 3, found, room);
    assert_true(fabs(found[0] - best[0]) < 2e-3 && fabs(found[1] - best[1]) < 2e-3);
}

/* Probabilities of a whole machine: they add up, and rank as the decision values. */
static void test_probabilities(void **state) {
    (void)state;
    for (size_t classes = 2; classes <= 4; classes++) {
        for (int rest = 0; rest < 2; rest++) {
            data d;
            lth_error err = {0};
            size_t rows[MOST];
            make_data(&d, 40, classes, 20 + classes);
            all_rows(&d, rows);
            d.target.probability = true;
            d.target.one_vs_rest = rest;
            const lth__svm_setting setting = {.C = 1};
            lth__svm_machine m;
            support_ok(lth__svm_train(&d.target, &d.gram, rows, d.n, &setting, &m, &err), &err);
            double right = 0;
            for (size_t i = 0; i < d.n; i++) {
                double decision[6], p[4], room[40], sum = 0;
                for (size_t k = 0; k < m.part_count; k++) {
                    assert_true(m.parts[k].sigmoid.slope < 0);
                    decision[k] = lth__svm_decide(&m.parts[k].solution, &d.gram, i);
                }
                lth__svm_probabilities(&m, decision, p, room);
                size_t best = 0;
                for (size_t c = 0; c < classes; c++) {
                    assert_true(p[c] > 0 && p[c] < 1);
                    sum += p[c];
                    if (p[c] > p[best]) best = c;
                }
                support_near(sum, 1, 1e-12);
                right += best == d.class[i];
            }
            assert_true(right > 0.6 * (double)d.n);
            lth__svm_machine_free(&m);
            lth__svm_gram_free(&d.gram);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gram),           cmocka_unit_test(test_against_libsvm),
        cmocka_unit_test(test_one_vs_rest),    cmocka_unit_test(test_scores),
        cmocka_unit_test(test_several_labels), cmocka_unit_test(test_weights_and_missing_classes),
        cmocka_unit_test(test_infeasible_nu),  cmocka_unit_test(test_sigmoid),
        cmocka_unit_test(test_coupling),       cmocka_unit_test(test_probabilities),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
