/* Support vector machines by features of a few rows that stand for all: products, the dense solver
 * against the sparse one, all rows as features against the kernel machine, weights against
 * coefficients, every kind of target, files, threads, faults. */
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

#include "base/random.h"
#include "failing_allocator.h"
#include "gp_support.h"
#include "hostile.h"
#include "model/svm/svm.h"

enum { ROWS = 60, NEW = 20, LINE = 200 };

static lth_ctx *ctx, *threaded;
static lth_table *table, *fresh;
static char folder[] = "test_svm_features.XXXXXX";

/* ---- Data ------------------------------------------------------------------------------------ */

static const char *const classes[] = {"animal", "machine", "plant"};
static const char *const words[3][4] = {{"cat", "dog", "runs", "eats"},
                                        {"motor", "gear", "runs", "hums"},
                                        {"tree", "leaf", "grows", "eats"}};

/* Texts of which half of the words belong to the class; the third one is empty. With `copies` each
 * is there so many times. */
static lth_table *make_table(lth_ctx *of, size_t count, uint64_t seed, size_t copies) {
    lth__random random;
    lth__random_seed(&random, seed);
    char *lines = malloc((count * copies + 1) * LINE), *end = lines;
    end += sprintf(end, "text\tkind\ttwo\tseveral\tcoin\ty\n");
    for (size_t i = 0; i < count; i++) {
        char text[LINE] = "";
        size_t class = i < 3 ? i : (size_t)lth__random_below(&random, 3);
        double y = 0.1 * lth__random_uniform(&random);
        for (size_t left = 3 + (size_t)lth__random_below(&random, 5); left > 0; left--) {
            bool own = lth__random_below(&random, 2) == 0;
            size_t from = own ? class : (size_t)lth__random_below(&random, 3);
            const char *word = words[from][lth__random_below(&random, 4)];
            if (i != 2) sprintf(text + strlen(text), "%s%s", *text ? " " : "", word);
            y += (strcmp(word, "runs") == 0) - 0.5 * (strcmp(word, "leaf") == 0);
        }
        const char *coin = i < 2                           ? (i ? "head" : "tail")
                           : lth__random_below(&random, 2) ? "head"
                                                           : "tail";
        for (size_t k = 0; k < copies; k++)
            end += sprintf(end, "%s\t%s\t%s\t%s%s\t%s\t%.17g\n", text, classes[class],
                           class == 0 ? "yes" : "no", class == 1 ? "hard," : "",
                           strstr(text, "runs") ? "runs" : "still", coin, y);
    }
    lth_table *out = support_table(of, lines);
    free(lines);
    return out;
}

static int open_all(void **state) {
    (void)state;
    if (!mkdtemp(folder) || chdir(folder) != 0) return -1;
    ctx = support_context(1);
    threaded = support_context(3);
    table = make_table(ctx, ROWS, 1, 1);
    fresh = make_table(ctx, NEW, 2, 1);
    return 0;
}

static int close_all(void **state) {
    (void)state;
    lth_table_free(table);
    lth_table_free(fresh);
    lth_ctx_free(threaded);
    lth_ctx_free(ctx);
    return chdir("..") == 0 && rmdir(folder) == 0 ? 0 : -1; /* nothing was left behind */
}

static lth_svm_options options_with(size_t features, const double *C, size_t count) {
    lth_svm_options options;
    lth_svm_options_init(&options);
    options.features = features;
    options.C = C;
    options.C_count = count;
    options.solver = features > 0 ? LTH_SVM_AUTO : LTH_SVM_KERNEL;
    return options;
}

static lth_svm *fit(lth_ctx *of, const lth_table *from, const char *kernel, const char *target,
                    const lth_svm_options *options) {
    lth_error err = {0};
    lth_svm *svm = NULL;
    support_ok(lth_svm_fit(of, kernel, from, target, options, &svm, &err), &err);
    return svm;
}

/* Decision values, freed with free(). */
static double *decide(lth_svm *svm, const lth_table *of) {
    lth_error err = {0};
    double *decision = calloc(lth_table_rows(of) * lth_svm_reported(svm)->problems + 1, 8);
    support_ok(lth_svm_predict(svm, of, &(lth_svm_prediction){.decision = decision},
                               sizeof(lth_svm_prediction), &err),
               &err);
    return decision;
}

/* ---- Products -------------------------------------------------------------------------------- */

static void test_products(void **state) {
    (void)state;
    float x[3 * 19];
    lth__random random;
    lth__random_seed(&random, 5);
    for (size_t i = 0; i < 3 * 19; i++) x[i] = (float)(lth__random_uniform(&random) - 0.5);
    for (size_t width = 1; width <= 19; width++) {
        lth__svm_features f = {.rows = 3, .width = width, .dense = x};
        double w[19 + 1], before[19 + 1];
        for (size_t i = 0; i <= width; i++) before[i] = w[i] = lth__random_uniform(&random);
        for (size_t row = 0; row < 3; row++) {
            double sum = 0;
            for (size_t i = 0; i < width; i++) sum += (double)x[row * width + i] * w[i];
            support_near(lth__svm_features_dot(&f, row, w), sum, 1e-14);
        }
        lth__svm_features_add(&f, 2, -1.5, w);
        for (size_t i = 0; i < width; i++)
            support_near(w[i], before[i] - 1.5 * (double)x[2 * width + i], 1e-15);
        assert_true(w[width] == before[width]);
    }
}

/* ---- The solver ------------------------------------------------------------------------------ */

typedef struct spaces {
    lth_kernel *kernel;
    lth_encoder *encoder;
    lth_items *items;
    lth__svm_gram gram;
} spaces;

static void open_spaces(spaces *s, const char *expression, size_t basis) {
    lth_error err = {0};
    *s = (spaces){.gram = {.ctx = ctx, .rows = ROWS, .linear = true}};
    support_ok(lth_kernel_parse(ctx, expression, &s->kernel, &err), &err);
    support_ok(lth_encoder_create(ctx, s->kernel, &s->encoder, &err), &err);
    support_ok(lth_encode(s->encoder, table, &s->items, &err), &err);
    support_ok(basis ? lth__svm_dense_make(s->kernel, s->items, basis, &s->gram.features, &err)
                     : lth__svm_features_make(s->kernel, s->items, &s->gram.features, &err),
               &err);
}

static void close_spaces(spaces *s) {
    lth__svm_gram_free(&s->gram);
    lth_items_free(s->items);
    lth_encoder_free(s->encoder);
    lth_kernel_free(s->kernel);
}

typedef struct numbers {
    size_t rows[ROWS];
    double y[ROWS], label[ROWS];
} numbers;

static numbers make_numbers(void) {
    numbers n;
    lth__random random;
    lth__random_seed(&random, 11);
    for (size_t i = 0; i < ROWS; i++) {
        n.rows[i] = i;
        n.y[i] = 4 * lth__random_uniform(&random);
        n.label[i] = i % 3 ? 1 : -1;
    }
    return n;
}

/* The same numbers as sparse and as dense features: counts of words are exact in both. */
static void test_twin(void **state) {
    (void)state;
    lth_error err = {0};
    spaces s;
    open_spaces(&s, "bow(text)", 0);
    size_t width = s.gram.features.width;
    assert_int_equal(width, 10); /* words */
    lth__svm_gram dense = {.ctx = ctx, .rows = ROWS, .linear = true};
    dense.features = (lth__svm_features){.rows = ROWS, .width = width};
    dense.features.dense = lth__calloc(ROWS * width, sizeof(float));
    dense.features.square = lth__alloc(ROWS, sizeof(double));
    for (size_t i = 0; i < ROWS; i++) {
        double *row = calloc(width, sizeof *row);
        lth__svm_features_add(&s.gram.features, i, 1, row);
        for (size_t k = 0; k < width; k++) dense.features.dense[i * width + k] = (float)row[k];
        dense.features.square[i] = lth__svm_features_square(&s.gram.features, i);
        free(row);
    }
    numbers n = make_numbers();
    for (int regression = 0; regression < 2; regression++) {
        lth__svm_setting setting = {.regression = regression, .C = 0.7, .epsilon = 0.1};
        lth__svm_solution z[2];
        for (size_t k = 0; k < 2; k++) {
            lth__svm_problem p = {.gram = k ? &dense : &s.gram,
                                  .row = n.rows,
                                  .y = regression ? n.y : n.label,
                                  .count = ROWS,
                                  .weight = {1, 2}};
            support_ok(lth__svm_solve(&p, &setting, &z[k], &err), &err);
            assert_false(z[k].unfinished);
        }
        assert_int_equal(z[0].count, z[1].count);
        assert_int_equal(z[0].weight_count, z[1].weight_count);
        support_near(z[0].rho, z[1].rho, 1e-9);
        for (size_t i = 0; i < z[0].count; i++) support_near(z[0].coef[i], z[1].coef[i], 1e-9);
        for (size_t i = 0; i < z[0].weight_count; i++)
            support_near(z[0].weight[i], z[1].weight[i], 1e-9);
        lth__svm_solution_free(&z[0]);
        lth__svm_solution_free(&z[1]);
    }
    lth__svm_gram_free(&dense);
    close_spaces(&s);
}

/* Weights of features, and coefficients of the rows of the basis, are the same function. */
static void test_unfold(void **state) {
    (void)state;
    lth_error err = {0};
    spaces s;
    open_spaces(&s, "normalize(ssk(text, order=2))", 9);
    assert_int_equal(s.gram.features.width, 9);
    double K[ROWS][ROWS], decision[ROWS];
    support_ok(lth_gram(s.kernel, s.items, NULL, &K[0][0], ROWS, &err), &err);
    numbers n = make_numbers();
    lth__svm_setting setting = {.C = 3};
    lth__svm_problem p = {
        .gram = &s.gram, .row = n.rows, .y = n.label, .count = ROWS, .weight = {1, 1}};
    lth__svm_solution z;
    support_ok(lth__svm_solve(&p, &setting, &z, &err), &err);
    assert_int_equal(z.count, 9);
    assert_int_equal(lth__svm_decide_rows(&z, &s.gram, n.rows, ROWS, decision, 1), LTH_OK);
    for (size_t i = 0; i < ROWS; i++) {
        double sum = -z.rho;
        for (size_t k = 0; k < z.count; k++) sum += z.coef[k] * K[i][z.row[k]];
        support_near(decision[i], sum, 1e-5); /* features are single */
    }
    lth__svm_solution_free(&z);
    close_spaces(&s);
}

/* ---- All rows as features: the kernel machine itself, its threshold included ----------------- */

static void check_same(const char *kernel, const char *target, double C, lth_svm_solver solver,
                       double tolerance) {
    lth_svm_options options = options_with(ROWS, &C, 1);
    if (solver == LTH_SVM_ORIGIN) options.solver = solver;
    lth_svm *by_features = fit(ctx, table, kernel, target, &options);
    options.features = 0;
    options.solver = solver;
    lth_svm *by_kernel = fit(ctx, table, kernel, target, &options);
    size_t problems = lth_svm_reported(by_kernel)->problems;
    assert_int_equal(lth_svm_reported(by_features)->problems, problems);
    double *a = decide(by_features, fresh), *b = decide(by_kernel, fresh), largest = 0;
    for (size_t i = 0; i < NEW * problems; i++) largest = fmax(largest, fabs(a[i] - b[i]));
    if (largest > tolerance) fail_msg("%s, %s: %g", kernel, target, largest);
    free(a);
    free(b);
    lth_svm_free(by_features);
    lth_svm_free(by_kernel);
}

static void test_all_rows(void **state) {
    (void)state;
    const char *const kernels[] = {"normalize(ssk(text, order=2))", "rbf(normalize(bow(text)))",
                                   "5 * normalize(ssk(text, order=1))"};
    for (size_t k = 0; k < 3; k++) {
        check_same(kernels[k], "two", 1, LTH_SVM_KERNEL, 6e-2);
        check_same(kernels[k], "kind", 10, LTH_SVM_KERNEL, 6e-2);
        check_same(kernels[k], "several", 1, LTH_SVM_KERNEL, 6e-2);
        check_same(kernels[k], "y", 1, LTH_SVM_KERNEL, 6e-2);
        check_same(kernels[k], "two", 1, LTH_SVM_ORIGIN, 6e-2);
    }
}

/* ---- Models ---------------------------------------------------------------------------------- */

/* The same bits by three threads, and from a file; classes have their probabilities. */
static void check_model(const char *kernel, const char *target, lth_svm_options options,
                        const lth_table *from) {
    lth_error err = {0};
    lth_svm *others[3] = {fit(ctx, from, kernel, target, &options),
                          fit(threaded, from, kernel, target, &options)};
    support_ok(lth_svm_save(others[0], "m", &err), &err);
    support_ok(lth_svm_load(ctx, "m", &others[2], &err), &err);
    const lth_svm_report *r = lth_svm_reported(others[0]);
    double *x = decide(others[0], fresh);
    assert_true(r->features > 0 && r->features <= options.features);
    assert_true(r->support == r->features && r->weights == 0 && !r->linear);
    for (size_t k = 1; k < 3; k++) {
        double *same = decide(others[k], fresh);
        assert_memory_equal(same, x, NEW * r->problems * sizeof *x);
        assert_int_equal(lth_svm_reported(others[k])->features, r->features);
        free(same);
    }
    if (r->probability) {
        double *p = malloc(NEW * r->classes * sizeof *p);
        support_ok(lth_svm_predict(others[2], fresh, &(lth_svm_prediction){.probability = p},
                                   sizeof(lth_svm_prediction), &err),
                   &err);
        for (size_t i = 0; i < NEW * r->classes; i++) assert_true(p[i] >= 0 && p[i] <= 1);
        free(p);
    }
    free(x);
    for (size_t k = 0; k < 3; k++) lth_svm_free(others[k]);
    unlink("m");
}

static void test_models(void **state) {
    (void)state;
    static const double C[] = {0.1, 1, 10};
    static const char *const set[] = {"ssk.order=2,1"};
    const char *kernel = "normalize(ssk(text))";
    lth_svm_options options = options_with(10, C, 3);
    options.set = set;
    options.set_count = 1;
    check_model(kernel, "y", options, table);
    options.probability = true;
    check_model(kernel, "two", options, table);
    check_model(kernel, "kind", options, table);
    options.one_vs_rest = true;
    options.class_weights = "balanced";
    check_model(kernel, "kind", options, table);
    options.set_count = 0;
    check_model("normalize(tfidf(text))", "several", options, table); /* keeps all rows */
}

/* The point that was chosen is not the last one: its machine keeps to its own basis. */
static void test_grid(void **state) {
    (void)state;
    const double C = 1;
    static const char *const set[] = {"ssk.order=2,1,3"};
    lth_svm_options options = options_with(12, &C, 1);
    options.set = set;
    options.set_count = 1;
    lth_svm *chosen = fit(ctx, table, "normalize(ssk(text))", "two", &options);
    size_t length = lth_kernel_print(lth_svm_kernel(chosen), NULL, 0);
    char *kernel = malloc(length + 1);
    lth_kernel_print(lth_svm_kernel(chosen), kernel, length + 1);
    assert_null(strstr(kernel, "order=3"));
    options.set_count = 0;
    lth_svm *alone = fit(ctx, table, kernel, "two", &options);
    double *a = decide(chosen, fresh), *b = decide(alone, fresh);
    assert_memory_equal(a, b, NEW * sizeof *a);
    free(a);
    free(b);
    free(kernel);
    lth_svm_free(chosen);
    lth_svm_free(alone);
}

/* Equal rows stand once. */
static void test_duplicates(void **state) {
    (void)state;
    const double C = 1;
    lth_table *twice = make_table(ctx, 30, 1, 2);
    lth_svm_options options = options_with(60, &C, 1);
    lth_svm *svm = fit(ctx, twice, "normalize(ssk(text, order=2))", "kind", &options);
    assert_in_range(lth_svm_reported(svm)->features, 15, 29); /* the empty one has no variance */
    lth_svm_free(svm);
    check_model("normalize(ssk(text, order=2))", "kind", options, twice);
    lth_table_free(twice);
}

static void test_cv(void **state) {
    (void)state;
    static const double C[] = {0.5, 5};
    lth_error err = {0};
    size_t fold[ROWS], right = 0;
    const char *target = "kind";
    lth_svm_options options = options_with(20, C, 2);
    lth_validation *v[2] = {0};
    for (size_t i = 0; i < ROWS; i++) fold[i] = i % 4;
    for (size_t k = 0; k < 2; k++)
        support_ok(lth_svm_cv(k ? threaded : ctx, "normalize(ssk(text, order=1))", table, &target,
                              1, fold, 4, &options, &v[k], &err),
                   &err);
    for (size_t i = 0; i < ROWS; i++) {
        bool all = true;
        for (size_t c = 0; c < 3; c++) {
            bool has = lth_validation_predicted(v[0], 0, i, c);
            assert_true(has == lth_validation_predicted(v[1], 0, i, c));
            all &= has == lth_validation_true(v[0], 0, i, c);
        }
        right += all;
    }
    assert_true(right > ROWS / 2);
    lth_validation_free(v[0]);
    lth_validation_free(v[1]);
}

/* ---- Refused --------------------------------------------------------------------------------- */

static void check_refused(const char *kernel, lth_svm_options options, const char *message) {
    lth_error err = {0};
    lth_svm *svm = NULL;
    assert_int_equal(lth_svm_fit(ctx, kernel, table, "two", &options, &svm, &err), LTH_EARG);
    assert_null(svm);
    assert_string_equal(err.message, message);
}

static void test_refused(void **state) {
    (void)state;
    const double C = 1;
    lth_svm_options options = options_with(10, &C, 1);
    check_refused(
        "ssk(text, order=9, weights=[0,0,0,0,0,0,0,0,1])", options,
        "the kernel is 0 for every row with itself: there is nothing to make features of");
    options.solver = LTH_SVM_KERNEL;
    check_refused("ssk(text)", options, "features of some rows go with the solver auto or origin");
    options.solver = LTH_SVM_LINEAR;
    check_refused("bow(text)", options, "features of some rows go with the solver auto or origin");
    options.solver = LTH_SVM_AUTO;
    options.nu_svm = true;
    check_refused("ssk(text)", options,
                  "with features of some rows there is no nu-SVC and no nu-SVR");
}

typedef struct listener {
    char first[200], last[200];
    size_t warnings, asked;
} listener;

static void listen(void *user, lth_log_level level, const char *message) {
    listener *l = user;
    if (level != LTH_LOG_WARNING) return;
    if (l->warnings++ == 0) snprintf(l->first, sizeof l->first, "%s", message);
    snprintf(l->last, sizeof l->last, "%s", message);
}

static int stop_solver(void *user, const char *what, double done, double total) {
    (void)done, (void)total;
    listener *l = user;
    if (strcmp(what, "support vectors") != 0) return 0;
    l->asked++;
    return l->asked > 1; /* not at the start of the loop */
}

static lth_ctx *listening(listener *l, bool stops) {
    lth_error err = {0};
    lth_ctx_options options;
    lth_ctx_options_init(&options);
    options.log = listen;
    if (stops) options.progress = stop_solver;
    options.user = l;
    lth_ctx *out = NULL;
    support_ok(lth_ctx_create(&options, &out, &err), &err);
    return out;
}

static void test_too_many(void **state) {
    (void)state;
    const double C = 1;
    listener heard = {0};
    lth_ctx *own = listening(&heard, false);
    lth_table *copy = make_table(own, ROWS, 1, 1);
    lth_svm_options options = options_with(1000, &C, 1);
    lth_svm_free(fit(own, copy, "normalize(ssk(text))", "two", &options));
    assert_int_equal(heard.warnings, 2); /* one of the empty row, which is last */
    assert_string_equal(heard.first, "there are 60 rows: features of all of them");
    assert_non_null(strstr(heard.last, "1 of 60 texts are empty"));
    lth_table_free(copy);
    lth_ctx_free(own);
}

/* Labels that nothing explains, and a price that no pass can pay: without being stopped it goes on
 * for 20 million steps. */
static void test_cancel(void **state) {
    (void)state;
    const double C = 1e9;
    lth_error err = {0};
    listener heard = {0};
    lth_ctx *own = listening(&heard, true);
    lth_table *copy = make_table(own, ROWS, 1, 1);
    lth_svm_options options = options_with(20, &C, 1);
    lth_svm *svm = NULL;
    assert_int_equal(
        lth_svm_fit(own, "normalize(ssk(text, order=2))", copy, "coin", &options, &svm, &err),
        LTH_ECANCELED);
    assert_null(svm);
    lth_table_free(copy);
    lth_ctx_free(own);
}

/* ---- Faults ---------------------------------------------------------------------------------- */

static const char lines[] = "text\tkind\ty\n"
                            "a b c\tx\t1\n"
                            "b c\ty\t2\n"
                            "a c d\tz\t0.5\n"
                            "a b d\tx\t1.5\n"
                            "c c b\ty\t3\n"
                            "d\tz\t2\n";

typedef struct use {
    const lth_table *table;
    const char *target;
} use;

static lth_status use_model(void *user, lth_error *err) {
    const use *u = user;
    static const double C[] = {1, 5};
    static const char *const set[] = {"ssk.order=1,2"};
    lth_svm_options options = options_with(3, C, 2);
    lth_svm *svm = NULL, *loaded = NULL;
    double decision[6 * 3];
    options.set = set;
    options.set_count = 1;
    options.inner_folds = 2;
    options.probability = strcmp(u->target, "y") != 0;
    lth_status status =
        lth_svm_fit(ctx, "normalize(ssk(text))", u->table, u->target, &options, &svm, err);
    if (status == LTH_OK) status = lth_svm_save(svm, "m", err);
    if (status == LTH_OK) status = lth_svm_load(ctx, "m", &loaded, err);
    if (status == LTH_OK)
        status = lth_svm_predict(loaded, u->table, &(lth_svm_prediction){.decision = decision},
                                 sizeof(lth_svm_prediction), err);
    lth_svm_free(svm);
    lth_svm_free(loaded);
    unlink("m");
    return status;
}

static void test_memory(void **state) {
    (void)state;
    lth_table *small = support_table(ctx, lines);
    fail_each(use_model, &(use){small, "kind"}, true, 100);
    fail_each(use_model, &(use){small, "y"}, true, 100);
    lth_table_free(small);
}

static void test_hostile(void **state) {
    (void)state;
    lth_error err = {0};
    const double C = 1;
    lth_svm_options options = options_with(7, &C, 1);
    lth_svm *svm = fit(ctx, table, "normalize(ssk(text, order=1))", "two", &options);
    support_ok(lth_svm_save(svm, "m", &err), &err);
    lth_svm_free(svm);
    hostile_refused(ctx, "m", &(hostile_change){"features", .count = 8}, hostile_svm);
    hostile_refused(ctx, "m", &(hostile_change){"features", .count = 0}, hostile_svm);
    hostile_refused(ctx, "m", &(hostile_change){"features", .longer = true}, hostile_svm);
    static const char *const of_all[] = {"features", NULL}; /* machines have none */
    hostile_arrays(ctx, "m", of_all, NULL, hostile_svm);
    unlink("m");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products),   cmocka_unit_test(test_twin),
        cmocka_unit_test(test_unfold),     cmocka_unit_test(test_all_rows),
        cmocka_unit_test(test_models),     cmocka_unit_test(test_grid),
        cmocka_unit_test(test_duplicates), cmocka_unit_test(test_cv),
        cmocka_unit_test(test_refused),    cmocka_unit_test(test_too_many),
        cmocka_unit_test(test_cancel),     cmocka_unit_test(test_memory),
        cmocka_unit_test(test_hostile),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
