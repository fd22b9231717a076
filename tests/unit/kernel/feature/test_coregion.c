/* Tasks that are alike: values and derivatives by the formula, expressions, tables, what is
 * refused, model files, and what a task with few rows gains from others. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "base/text.h"
#include "gp_support.h"
#include "hostile.h"
#include "kernel/core/kernel.h"
#include "model/gp/gp.h"
#include "problem_support.h"
#include "scratch.h"

static lth_ctx *ctx;

static int open_context(void **state) {
    ctx = support_context(2);
    return scratch_open(state);
}

static int close_context(void **state) {
    lth_ctx_free(ctx);
    return scratch_close(state);
}

static lth_kernel *parse(const char *text) {
    lth_error err = {0};
    lth_kernel *kernel = NULL;
    support_ok(lth_kernel_parse(ctx, text, &kernel, &err), &err);
    return kernel;
}

static void check_print(const lth_kernel *kernel, const char *expected) {
    char text[1024];
    lth_kernel_print(kernel, text, sizeof text);
    assert_string_equal(text, expected);
}

/* ---- Values ---- */

enum { ROWS = 13 };
static const char *const task[ROWS] = {"b", "a", "c", "a", "b", "b", "c",
                                       "a", "c", "b", "a", "c", "b"};
#define FULL                                                                                       \
    "coregion(task, rank=2, tasks=[c,a,b], w=[0.5,-0.25,1,0.75,-1.5,0.125], own=[0.25,0.5,2])"
/* The same, by task: */
static const double w[3][2] = {{1, 0.75}, {-1.5, 0.125}, {0.5, -0.25}}, own[3] = {0.5, 2, 0.25};

static double reference(const char *s, const char *t) {
    const double *x = w[*s - 'a'], *y = w[*t - 'a'];
    return x[0] * y[0] + x[1] * y[1] + (*s == *t ? own[*s - 'a'] : 0);
}

static problem open_problem(const char *kernel) {
    lth__string text = {0};
    lth__string_format(&text, "text\ttask\n");
    for (size_t i = 0; i < ROWS; i++)
        lth__string_format(&text, "the %s %s\t%s\n", i % 3 ? "cat" : "dog", i % 2 ? "sat" : "ran",
                           task[i]);
    problem p = support_problem(ctx, kernel, text.bytes);
    lth__string_free(&text);
    return p;
}

static void test_values(void **state) {
    (void)state;
    lth_error err = {0};
    double K[ROWS][ROWS], product[ROWS][ROWS], texts[ROWS][ROWS], self[ROWS];
    problem p = open_problem(FULL), q = open_problem(FULL " * normalize(ssk(text, order=2))"),
            s = open_problem("normalize(ssk(text, order=2))");
    problem_fill(&p, K[0]), problem_fill(&q, product[0]), problem_fill(&s, texts[0]);
    support_ok(lth_gram_diagonal(p.kernel, p.items, self, &err), &err);
    for (size_t i = 0; i < ROWS; i++) {
        assert_true(self[i] == K[i][i]);
        for (size_t j = 0; j < ROWS; j++) {
            support_near(K[i][j], reference(task[i], task[j]), 1e-15);
            support_near(product[i][j], K[i][j] * texts[i][j], 1e-15);
            assert_true(K[i][j] == K[j][i]);
        }
    }
    problem_close(&p), problem_close(&q), problem_close(&s);
}

static void test_two_tables(void **state) {
    (void)state;
    lth_error err = {0};
    problem p = open_problem(FULL);
    lth_items *others = NULL;
    lth_table *table = support_table(ctx, "task\nc\nb\n");
    support_ok(lth_encode(p.encoder, table, &others, &err), &err);
    double K[2][ROWS];
    support_ok(lth_gram(p.kernel, others, p.items, K[0], ROWS, &err), &err);
    for (size_t j = 0; j < ROWS; j++) {
        support_near(K[0][j], reference("c", task[j]), 1e-15);
        support_near(K[1][j], reference("b", task[j]), 1e-15);
    }
    lth_items_free(others);
    lth_table_free(table);
    problem_close(&p);
}

/* A Cholesky factor exists once a little is added to the diagonal. */
static void check_semidefinite(double K[ROWS][ROWS]) {
    for (size_t k = 0; k < ROWS; k++) {
        double pivot = K[k][k] + 1e-9;
        for (size_t j = 0; j < k; j++) pivot -= K[k][j] * K[k][j];
        assert_true(pivot > 0);
        K[k][k] = sqrt(pivot);
        for (size_t i = k + 1; i < ROWS; i++) {
            for (size_t j = 0; j < k; j++) K[i][k] -= K[i][j] * K[k][j];
            K[i][k] /= K[k][k];
        }
    }
}

static void check_gradients(const char *expression) {
    static const double step = 1e-5;
    lth_error err = {0};
    problem p = open_problem(expression);
    size_t params = lth_kernel_params(p.kernel);
    enum { PAIRS = ROWS * ROWS };
    double K[ROWS][ROWS], more[PAIRS], less[PAIRS], W[PAIRS];
    double *G = malloc(params * sizeof K), *gradient = malloc(params * sizeof *gradient);
    assert_true(G && gradient);
    problem_fill(&p, K[0]);
    check_semidefinite(K);
    for (size_t i = 0; i < PAIRS; i++) W[i] = (double)(i * 37 % 11) / 5 - 1;
    support_ok(lth_gram_gradients(p.kernel, p.items, NULL, G, &err), &err);
    support_ok(lth_gram_pull(p.kernel, p.items, NULL, W, ROWS, gradient, &err), &err);
    for (size_t k = 0; k < params; k++) {
        double value = lth_kernel_param(p.kernel, k)->value, pulled = 0;
        support_ok(lth_kernel_set(p.kernel, k, value + step, &err), &err);
        problem_fill(&p, more);
        support_ok(lth_kernel_set(p.kernel, k, value - step, &err), &err);
        problem_fill(&p, less);
        support_ok(lth_kernel_set(p.kernel, k, value, &err), &err);
        for (size_t i = 0; i < PAIRS; i++) {
            double g = G[k * PAIRS + i];
            support_near(g, (more[i] - less[i]) / (2 * step), 1e-8);
            pulled += W[i] * g;
        }
        support_near(gradient[k], pulled, 1e-12);
    }
    free(G), free(gradient);
    problem_close(&p);
}

static void test_gradients(void **state) {
    (void)state;
    static const char *const kernels[] = {
        FULL,
        "coregion(task, rank=0, own=0.7)",
        "coregion(task, rank=1, w=-0.5)",
        "coregion(task, rank=8)",
        "coregion(task) * normalize(ssk(text, order=2))",
        "normalize(" FULL ")",
        FULL " * normalize(ssk(text, order=2)) + coregion(task, rank=0) + 0.5",
        "rbf(" FULL ")",
    };
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) check_gradients(kernels[i]);
}

/* ---- Expressions ---- */

static void test_printing(void **state) {
    (void)state;
    static const char *const pairs[][2] = {
        {FULL, NULL},
        {"coregion(task)", "coregion(task, tasks=all)"},
        {"coregion(task, rank=1, tasks=all, w=0.5!, own=$o)", NULL},
        {"coregion(task, rank=3, tasks=[a,b])", NULL},
        {"coregion(task, rank=0, tasks=[a,b], own=[1,2!])", NULL},
        {"coregion(task, rank=1, tasks=[a,b], w=[-1e-05,2]!)", NULL},
        {"coregion(task, rank=1, tasks=[a,b], w=3)",
         "coregion(task, rank=1, tasks=[a,b], w=[3,3])"},
        {"coregion(task, rank=1, tasks=[\"1\",\"a b\",\"\"\"\",\"x]\"], own=[$a=1,$a,$a,4])", NULL},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const char *expected = pairs[i][1] ? pairs[i][1] : pairs[i][0];
        lth_kernel *kernel = parse(pairs[i][0]), *again = parse(expected);
        if (strstr(expected, "$o"))
            expected = "coregion(task, rank=1, tasks=all, w=0.5!, own=$o=1)";
        check_print(kernel, expected);
        check_print(again, expected);
        assert_int_equal(kernel->param_count, again->param_count);
        for (size_t p = 0; p < kernel->param_count; p++)
            assert_true(kernel->params[p].value == again->params[p].value);
        lth_kernel_free(kernel), lth_kernel_free(again);
    }
}

static void test_paths(void **state) {
    (void)state;
    static const char *const paths[] = {
        "coregion.w[joy,1]", "coregion.w[joy,2]", "coregion.w[\",1]",   "coregion.w[\",2]",
        "coregion.own[joy]", "coregion.own[\"]",  "coregion2.own[joy]", "coregion2.own[\"]"};
    lth_kernel *kernel = parse("coregion(task, tasks=[joy,\"\"\"\"]) + "
                               "coregion(task, rank=0, tasks=[joy,\"\"\"\"])");
    assert_int_equal(lth_kernel_params(kernel), 8);
    for (size_t i = 0; i < 8; i++) {
        const lth_param *p = lth_kernel_param(kernel, i);
        assert_string_equal(p->path, paths[i]);
        assert_true(p->lo == (i < 4 ? -1e4 : 1e-6) && kernel->origins[i].linear == (i < 4));
    }
    assert_int_equal(kernel->field_count, 1); /* both read the same tasks */
    lth_kernel_free(kernel);
    kernel = parse("coregion(task, tasks=[a]) + coregion(task, tasks=[b])");
    assert_int_equal(kernel->field_count, 2);
    lth_kernel_free(kernel);
    kernel = parse("coregion(task, tasks=[a,b]) + coregion(task, tasks=[a,c])");
    assert_int_equal(kernel->field_count, 2);
    lth_kernel_free(kernel);
}

/* Ranks start apart from each other, and none at zero, whatever the number of tasks. */
static void test_starts(void **state) {
    (void)state;
    static const char *const expressions[] = {"coregion(task, rank=8, tasks=[a])",
                                              "coregion(task, rank=8, tasks=[a,b])",
                                              "coregion(task, rank=8, tasks=[a,b,c,d,e])"};
    for (size_t tasks = 1, e = 0; e < 3; tasks = e == 0 ? 2 : 5, e++) {
        lth_kernel *kernel = parse(expressions[e]);
        for (size_t r = 0; r < 8; r++) {
            double size = 0;
            for (size_t t = 0; t < tasks; t++) size += fabs(kernel->params[t * 8 + r].value);
            assert_true(size / (double)tasks > 0.01);
            for (size_t s = 0; tasks > 2 && s < r; s++) {
                bool same = true;
                for (size_t t = 0; t < tasks; t++)
                    same &= kernel->params[t * 8 + r].value == kernel->params[t * 8 + s].value;
                assert_false(same);
            }
        }
        lth_kernel_free(kernel);
    }
}

static void test_mistakes(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t column;
        const char *message;
    } cases[] = {
        {"coregion(task, rank=9)", 21, "rank of coregion is a whole number from 0 to 8"},
        {"coregion(task, rank=0.5)", 21, "rank of coregion is a whole number from 0 to 8"},
        {"coregion(task, rank=0, w=1)", 24, "w goes with a rank above 0"},
        {"coregion(task, tasks=a)", 22, "tasks of coregion is all, or a list such as [joy,fear]"},
        {"coregion(task, tasks=[])", 22, "tasks of coregion is all, or a list such as [joy,fear]"},
        {"coregion(task, tasks=[a,1])", 25,
         "tasks of coregion is all, or a list such as [joy,fear]"},
        {"coregion(task, tasks=[a,a])", 25, "the task \"a\" is given twice"},
        {"coregion(task, tasks=[a,b], w=[1,2,3])", 31, "w of coregion needs 4 numbers, but has 3"},
        {"coregion(task, w=[1,2,3,4])", 18, "coregion.w is a number, such as 1"},
        {"coregion(task, tasks=[a], own=0)", 31,
         "coregion.own[a] is 0, but must lie in [1e-06, 1e+08]"},
        {"coregion(f1..f2)", 10, "coregion works on one column, not on a range"},
        {"coregion(ssk(text))", 10,
         "coregion works on a column, not on a kernel: coregion(COLUMN, rank=2, ...), as in "
         "coregion(task) * normalize(ssk(text))"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lth_error err = {0};
        lth_kernel *kernel = NULL;
        assert_int_equal(lth_kernel_parse(ctx, cases[i].text, &kernel, &err), LTH_EFORMAT);
        assert_string_equal(err.message, cases[i].message);
        assert_int_equal(err.column, cases[i].column);
        assert_null(kernel);
    }
}

/* ---- Tables ---- */

static void test_resolve(void **state) {
    (void)state;
    lth_error err = {0};
    lth_encoder *encoder = NULL;
    lth_table *table = support_table(ctx, "task\tother\nz\tx\nB\ty\nz\tx\na b\tx\n");
    lth_kernel *kernel = parse("coregion(task, rank=1, w=0.5!, own=$o=2) * "
                               "normalize(coregion(other, rank=0)) + coregion(task, rank=0)");
    assert_int_equal(lth_encoder_create(ctx, kernel, &encoder, &err), LTH_EARG);
    assert_string_equal(err.message, "tasks=all of coregion is open until the data are known: call "
                                     "lth_kernel_resolve() with a table first");
    support_ok(lth_kernel_resolve(&kernel, table, &err), &err);
    check_print(kernel, "coregion(task, rank=1, tasks=[B,\"a b\",z], w=[0.5,0.5,0.5]!, "
                        "own=[$o=2,$o,$o]) * normalize(coregion(other, rank=0, tasks=[x,y])) + "
                        "coregion(task, rank=0, tasks=[B,\"a b\",z])");
    lth_kernel *same = kernel;
    support_ok(lth_kernel_resolve(&kernel, table, &err), &err);
    assert_ptr_equal(kernel, same);
    lth_kernel_free(kernel);
    lth_table_free(table);
}

static void check_refused(const char *lines, const char *kernel_text, size_t line,
                          const char *message) {
    lth_error err = {0};
    lth_kernel *kernel = parse(kernel_text);
    lth_table *table = support_table(ctx, lines);
    lth_encoder *encoder = NULL;
    lth_items *items = NULL;
    lth_status status = lth_kernel_resolve(&kernel, table, &err);
    if (status == LTH_OK) {
        support_ok(lth_encoder_create(ctx, kernel, &encoder, &err), &err);
        status = lth_encode(encoder, table, &items, &err);
    }
    assert_int_equal(status, LTH_EFORMAT);
    assert_string_equal(err.message, message);
    assert_int_equal(err.line, line);
    assert_string_equal(err.file, lth_table_name(table));
    assert_null(items);
    lth_encoder_free(encoder);
    lth_table_free(table);
    lth_kernel_free(kernel);
}

static void test_bad_cells(void **state) {
    (void)state;
    check_refused("task\na\n", "coregion(other)", 1, "no column \"other\"");
    check_refused("x\ttask\n1\ta\n2\t\n", "coregion(task)", 3,
                  "this row has no task: its cell of column \"task\" is empty");
    check_refused("x\ttask\n1\ta\n2\t\n", "coregion(task, tasks=[a])", 3,
                  "this row has no task: its cell of column \"task\" is empty");
    check_refused("task\n", "coregion(task)", 0,
                  "the table has no rows, so column \"task\" names no tasks");
    check_refused("task\na\nb\nx\n", "coregion(task, tasks=[b,a])", 4,
                  "unknown task \"x\"; the model knows b, a");
    check_refused("task\nz\n", "coregion(task, tasks=[a,b,c,d,e,f,g,h,i])", 2,
                  "unknown task \"z\"; the model knows a, b, c, d, e, f, g, h, ... (9 in all)");
    lth__string many = {0};
    lth__string_format(&many, "task\n");
    for (size_t i = 0; i < 1001; i++) lth__string_format(&many, "%zu\n", i);
    check_refused(many.bytes, "coregion(task)", 1002,
                  "column \"task\" has over 1000 different values: too many to be tasks");
    lth__string_free(&many);
}

/* ---- Models ---- */

enum { ITEMS = 60, FEW = 8, NEW = 40 };

/* Items are points x. Tasks "rich" and "poor" are the same function but for its sign and a little
 * of their own, "odd" is another. Of "poor" the first FEW items are known. */
static double truth(const char *name, double x) {
    double f = sin(2 * x) + 0.5 * x;
    if (*name == 'o') return cos(3 * x);
    return *name == 'r' ? f : -0.8 * f + 0.1 * cos(x);
}

static void add_rows(lth__string *text, lth__random *random, const char *name, size_t count) {
    for (size_t i = 0; i < count; i++) {
        double x = 3 * (2 * lth__random_uniform(random) - 1);
        double noise = 0.1 * (lth__random_uniform(random) + lth__random_uniform(random) - 1);
        lth__string_format(text, "%.6f\t%s\t%.6f\n", x, name, truth(name, x) + noise);
    }
}

static lth_table *long_table(uint64_t seed) {
    lth__random random;
    lth__string text = {0};
    lth__random_seed(&random, seed);
    lth__string_format(&text, "x\ttask\ty\n");
    add_rows(&text, &random, "rich", ITEMS);
    add_rows(&text, &random, "odd", ITEMS / 2);
    add_rows(&text, &random, "poor", FEW);
    lth_table *table = support_table(ctx, text.bytes);
    lth__string_free(&text);
    return table;
}

static lth_table *new_table(void) {
    lth__string text = {0};
    lth__string_format(&text, "task\tx\n");
    for (size_t i = 0; i < NEW; i++)
        lth__string_format(&text, "poor\t%.6f\n", 6 * ((double)i + 0.5) / NEW - 3);
    lth_table *table = support_table(ctx, text.bytes);
    lth__string_free(&text);
    return table;
}

static double error_of(lth_gp *gp, const lth_table *table) {
    double *out = support_predict(gp, table, true), sum = 0;
    for (size_t i = 0; i < NEW; i++) {
        double miss = out[i] - truth("poor", 6 * ((double)i + 0.5) / NEW - 3);
        sum += miss * miss / NEW;
    }
    free(out);
    return sqrt(sum);
}

static double value_of(const lth_gp *gp, const char *path) {
    return lth_kernel_param(lth_gp_kernel(gp), support_param(gp, path))->value;
}

static void test_poor_task(void **state) {
    (void)state;
    lth_gp_options options;
    lth_gp_options_init(&options);
    options.restarts = 1;
    lth_table *table = long_table(5), *fresh = new_table();
    lth_gp *alone =
        support_fit(ctx, "coregion(task, rank=0) * rbf(x, variance=1!)", table, 1, &options);
    lth_gp *joint =
        support_fit(ctx, "coregion(task, rank=2) * rbf(x, variance=1!)", table, 1, &options);
    double by_itself = error_of(alone, fresh), together = error_of(joint, fresh);
    print_message("poor task: error %.3f by itself, %.3f with the others\n", by_itself, together);
    assert_true(together < 0.4 * by_itself);
    assert_true(lth_gp_reported(joint)->evidence > lth_gp_reported(alone)->evidence + 5);
    /* The two go against each other. */
    double product = 0;
    for (size_t r = 1; r <= 2; r++) {
        char rich[32], poor[32];
        snprintf(rich, sizeof rich, "coregion.w[rich,%zu]", r);
        snprintf(poor, sizeof poor, "coregion.w[poor,%zu]", r);
        product += value_of(joint, rich) * value_of(joint, poor);
    }
    assert_true(product < 0);
    lth_gp_free(alone), lth_gp_free(joint);
    lth_table_free(table), lth_table_free(fresh);
}

static void test_model_file(void **state) {
    (void)state;
    lth_error err = {0};
    lth_gp_options options;
    lth_gp_options_init(&options);
    options.restarts = 0;
    options.max_iter = 5;
    lth_table *table = long_table(7), *fresh = new_table();
    lth_gp *gp = support_fit(ctx, "coregion(task) * rbf(x)", table, 1, &options), *again = NULL;
    char *path = support_file("", 0);
    support_ok(lth_gp_save(gp, path, &err), &err);
    support_ok(lth_gp_load(ctx, path, &again, &err), &err);
    double *before = support_predict(gp, fresh, false),
           *after = support_predict(again, fresh, false);
    assert_memory_equal(before, after, 2 * NEW * sizeof *before);
    free(before), free(after);
    lth_gp_free(again);

    static const hostile_change changes[] = {
        {.name = "field.0.tasks", .at = 4, .count = 3},
        {.name = "field.0.tasks", .shorter = true},
        {.name = "field.0.tasks", .drop = true},
        {.name = "kernel", .text = "coregion(task) * rbf(x)"},
        {.name = "kernel", .text = "coregion(task, tasks=[odd,poor]) * rbf(x)"},
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        hostile_refused(ctx, path, &changes[i], hostile_gp);
    remove("hostile");

    lth_table *unknown = support_table(ctx, "task\tx\npoor\t1\nnew\t2\n");
    double out[2];
    assert_int_equal(lth_gp_predict(gp, unknown, false, out, NULL, &err), LTH_EFORMAT);
    assert_string_equal(err.message, "unknown task \"new\"; the model knows odd, poor, rich");
    assert_int_equal(err.line, 3);
    lth_table_free(unknown);
    support_remove(path);
    lth_gp_free(gp);
    lth_table_free(table), lth_table_free(fresh);
}

/* Every row is in one fold or another, and every fold knows all tasks. */
static void test_cv(void **state) {
    (void)state;
    lth_error err = {0};
    lth_gp_options options = support_fixed();
    lth_table *table = long_table(8);
    size_t rows = lth_table_rows(table), fold[ITEMS + ITEMS / 2 + FEW];
    for (size_t i = 0; i < rows; i++) fold[i] = i >= ITEMS + ITEMS / 2; /* one has all of "poor" */
    const char *target = "y";
    lth_validation *v = NULL;
    support_ok(
        lth_gp_cv(ctx, "coregion(task) * rbf(x)", table, &target, 1, fold, 2, &options, &v, &err),
        &err);
    lth_validation_free(v);
    lth_table_free(table);
}

/* It has a size of its own, so a classifier learns no scale beside it; and no prior of logarithms.
 */
static void test_size_and_prior(void **state) {
    (void)state;
    lth_error err = {0};
    lth_kernel *kernel = parse("coregion(task, tasks=[a,b]) * normalize(ssk(text))");
    bool held[16] = {0};
    assert_true(lth__kernel_has_size(kernel, held));
    lth_kernel_free(kernel);
    lth_gp_options options;
    lth_gp_options_init(&options);
    const char *const prior[] = {"coregion.w=1,1"}, *const target[] = {"y"};
    options.prior = prior;
    options.prior_count = 1;
    lth_table *table = long_table(9);
    lth_gp *gp = NULL;
    assert_int_equal(
        lth_gp_fit(ctx, "coregion(task) * rbf(x)", table, target, 1, &options, &gp, &err),
        LTH_EARG);
    assert_string_equal(
        err.message,
        "prior: coregion.w[odd,1] may be negative, and a prior is one of the logarithm");
    lth_table_free(table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),         cmocka_unit_test(test_two_tables),
        cmocka_unit_test(test_gradients),      cmocka_unit_test(test_printing),
        cmocka_unit_test(test_paths),          cmocka_unit_test(test_starts),
        cmocka_unit_test(test_mistakes),       cmocka_unit_test(test_resolve),
        cmocka_unit_test(test_bad_cells),      cmocka_unit_test(test_poor_task),
        cmocka_unit_test(test_model_file),     cmocka_unit_test(test_cv),
        cmocka_unit_test(test_size_and_prior),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
