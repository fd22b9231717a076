/* Support vector machines by weights of features: the features themselves, solutions against the
 * duality gap and against LIBSVM, every kind of target, files, threads, which way is taken. */
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
#include "gp_support.h"
#include "model/common/tensors.h"
#include "model/svm/svm.h"

enum { ROWS = 60, NEW = 20, LINE = 200 };

static lth_ctx *ctx, *threaded;
static lth_table *table, *fresh; /* fresh: with words that the first one lacks */
static char folder[] = "test_svm_linear.XXXXXX";

/* ---- Data ------------------------------------------------------------------------------------ */

static const char *const classes[] = {"animal", "machine", "plant"};
static const char *const words[3][4] = {{"cat", "dog", "runs", "eats"},
                                        {"motor", "gear", "runs", "hums"},
                                        {"tree", "leaf", "grows", "eats"}};

/* Texts of which half of the words belong to the class; the third one is empty. */
static lth_table *make_table(size_t count, uint64_t seed, const char *extra) {
    lth__random random;
    lth__random_seed(&random, seed);
    char *lines = malloc((count + 1) * LINE), *end = lines;
    end += sprintf(end, "text\tkind\ttwo\tseveral\ty\n");
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
        end += sprintf(end, "%s%s\t%s\t%s\t%s%s\t%.17g\n", text, extra, classes[class],
                       class == 0 ? "yes" : "no", class == 1 ? "hard," : "",
                       strstr(text, "runs") ? "runs" : "still", y);
    }
    lth_table *out = support_table(ctx, lines);
    free(lines);
    return out;
}

static int open_all(void **state) {
    (void)state;
    if (!mkdtemp(folder) || chdir(folder) != 0) return -1;
    ctx = support_context(1);
    threaded = support_context(3);
    table = make_table(ROWS, 1, "");
    fresh = make_table(NEW, 2, " unheard of");
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

static lth_svm_options options_with(lth_svm_solver solver, const double *C, size_t count) {
    lth_svm_options options;
    lth_svm_options_init(&options);
    options.solver = solver;
    options.C = C;
    options.C_count = count;
    return options;
}

static lth_svm *fit(lth_ctx *of, const char *kernel, const char *target,
                    const lth_svm_options *options) {
    lth_error err = {0};
    lth_svm *svm = NULL;
    support_ok(lth_svm_fit(of, kernel, table, target, options, &svm, &err), &err);
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

/* ---- Features -------------------------------------------------------------------------------- */

static void expand(const lth__svm_features *f, size_t row, double *x) {
    memset(x, 0, f->width * sizeof *x);
    for (size_t b = 0; b < f->map_count; b++) {
        const lth__features *m = f->maps[b].features;
        for (size_t i = m->start[row]; i < m->start[row + 1]; i++)
            x[m->feature[i] * f->map_count + b] = f->maps[b].scale[row] * m->weight[i];
    }
}

/* Inner products of the features are the values of the kernel. */
static void check_features(const char *expression) {
    lth_error err = {0};
    lth_kernel *kernel = NULL;
    lth_encoder *encoder = NULL;
    lth_items *items = NULL;
    lth__svm_features f;
    support_ok(lth_kernel_parse(ctx, expression, &kernel, &err), &err);
    assert_true(lth__svm_is_linear(kernel));
    support_ok(lth_encoder_create(ctx, kernel, &encoder, &err), &err);
    support_ok(lth_encode(encoder, table, &items, &err), &err);
    double *K = malloc(sizeof(double[ROWS][ROWS]));
    support_ok(lth_gram(kernel, items, NULL, K, ROWS, &err), &err);
    support_ok(lth__svm_features_make(kernel, items, &f, &err), &err);
    double *x = malloc(2 * f.width * sizeof *x), *z = x + f.width;
    for (size_t i = 0; i < ROWS; i++) {
        expand(&f, i, x);
        support_near(lth__svm_features_square(&f, i), K[i * ROWS + i], 1e-12);
        for (size_t j = 0; j < ROWS; j++) {
            double sum = 0;
            expand(&f, j, z);
            for (size_t k = 0; k < f.width; k++) sum += x[k] * z[k];
            support_near(sum, K[i * ROWS + j], 1e-12);
        }
    }
    free(x);
    free(K);
    lth__svm_features_free(&f);
    lth_items_free(items);
    lth_encoder_free(encoder);
    lth_kernel_free(kernel);
}

static void test_features(void **state) {
    (void)state;
    check_features("bow(text)");
    check_features("linear(tfidf(text), variance=2)");
    check_features("normalize(ngrams(text, n=[2,3]))");
    check_features("3 * normalize(linear(tfidf(text, weighting=log)))");
    check_features("normalize(approx_ssk(text, n=2, features=20))");
    check_features("normalize(linear(bow(text)) + 0.5 * ngrams(text)) + 2 * 3 * tfidf(text)");
}

static void test_not_linear(void **state) {
    (void)state;
    static const char *const kernels[] = {"ssk(text)",
                                          "normalize(ssk(text))",
                                          "rbf(bow(text))",
                                          "intersection(ngrams(text))",
                                          "bow(text) * tfidf(text)",
                                          "bow(text) + 1",
                                          "linear(y)",
                                          "bow(text) + ssk(text)",
                                          "sstk(text)"};
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        lth_error err = {0};
        lth_kernel *kernel = NULL;
        support_ok(lth_kernel_parse(ctx, kernels[i], &kernel, &err), &err);
        if (lth__svm_is_linear(kernel)) fail_msg("%s", kernels[i]);
        lth_kernel_free(kernel);
    }
}

/* ---- Solutions ------------------------------------------------------------------------------- */

typedef struct spaces {
    lth_kernel *kernel;
    lth_encoder *encoder;
    lth_items *items;
    lth__svm_gram gram;
    double K[ROWS][ROWS];
} spaces;

static void open_spaces(spaces *s, const char *expression) {
    lth_error err = {0};
    *s = (spaces){.gram = {.ctx = ctx, .rows = ROWS, .linear = true}};
    support_ok(lth_kernel_parse(ctx, expression, &s->kernel, &err), &err);
    support_ok(lth_encoder_create(ctx, s->kernel, &s->encoder, &err), &err);
    support_ok(lth_encode(s->encoder, table, &s->items, &err), &err);
    support_ok(lth_gram(s->kernel, s->items, NULL, &s->K[0][0], ROWS, &err), &err);
    support_ok(lth__svm_features_make(s->kernel, s->items, &s->gram.features, &err), &err);
}

static void close_spaces(spaces *s) {
    lth__svm_gram_free(&s->gram);
    lth_items_free(s->items);
    lth_encoder_free(s->encoder);
    lth_kernel_free(s->kernel);
}

/* With beta feasible, what the primal and the dual objective differ by is how far each can be from
 * the optimum: at most C times the tolerance of the solver for each row. Both come from the Gram
 * matrix, not from features. */
static void check_gap(const spaces *s, const lth__svm_problem *p, const lth__svm_setting *setting) {
    lth_error err = {0};
    lth__svm_solution z;
    double beta[ROWS] = {0}, decision[ROWS], square = 0, primal = 0, dual = 0, sum = 0;
    double largest = 0, allowed = 0;
    size_t rows[ROWS];
    support_ok(lth__svm_solve(p, setting, &z, &err), &err);
    assert_false(z.unfinished);
    for (size_t i = 0; i < z.count; i++) beta[z.row[i]] = z.coef[i];
    for (size_t i = 0; i < ROWS; i++) rows[i] = i, sum += beta[i];
    for (size_t i = 0; i < p->count; i++) largest = fmax(largest, fabs(p->y[i]));
    assert_int_equal(lth__svm_decide_rows(&z, &s->gram, rows, ROWS, decision, 1), LTH_OK);
    support_near(-z.rho, sum, 1e-12);
    for (size_t i = 0; i < ROWS; i++) {
        double value = 0;
        for (size_t j = 0; j < ROWS; j++) value += beta[j] * (s->K[i][j] + 1);
        support_near(decision[i], value, 1e-10);
        square += beta[i] * value;
    }
    for (size_t i = 0; i < p->count; i++) {
        double b = beta[p->row[i]], f = decision[p->row[i]], y = p->y[i];
        double C = setting->C * (setting->regression ? 1 : p->weight[y < 0]);
        double loss = setting->regression ? fabs(f - y) - setting->epsilon : 1 - y * f;
        assert_true(setting->regression ? fabs(b) <= C : y * b >= 0 && y * b <= C);
        primal += C * fmax(loss, 0);
        allowed += C * (setting->regression ? 1e-4 * largest : 1e-3);
        dual += y * b - (setting->regression ? setting->epsilon * fabs(b) : 0);
    }
    primal += square / 2;
    dual -= square / 2;
    assert_true(dual > 0 && primal - dual >= -1e-9 * primal);
    assert_true(primal - dual <= allowed);
    lth__svm_solution_free(&z);
}

/* LIBSVM on all rows and on their mirror images, (-x, -y), has no offset, by symmetry; with the 1
 * added to the kernel and half of C for each of the two it solves the same problem. It stops at
 * 1e-3, which for numbers leaves more than 6e-3 of these values open, whatever we do. */
static void check_libsvm(const spaces *s, const lth__svm_problem *p,
                         const lth__svm_setting *setting) {
    lth_error err = {0};
    size_t n = p->count, row[2 * ROWS];
    double y[2 * ROWS], decision[ROWS];
    lth__svm_gram mirrored;
    support_ok(lth__svm_gram_create(ctx, 2 * n, &mirrored, &err), &err);
    double *K = lth__svm_gram_plain(&mirrored);
    for (size_t i = 0; i < 2 * n; i++) {
        row[i] = i;
        y[i] = i < n ? p->y[i] : -p->y[i - n];
        for (size_t j = 0; j < 2 * n; j++)
            K[i * 2 * n + j] =
                ((i < n) == (j < n) ? 1 : -1) * (s->K[p->row[i % n]][p->row[j % n]] + 1);
    }
    lth__svm_gram_narrow(&mirrored);
    lth__svm_problem double_problem = {&mirrored, row, y, 2 * n, {1, 1}};
    lth__svm_setting half = *setting;
    half.C /= 2;
    lth__svm_solution ours, theirs;
    support_ok(lth__svm_solve(p, setting, &ours, &err), &err);
    support_ok(lth__svm_solve(&double_problem, &half, &theirs, &err), &err);
    support_near(theirs.rho, 0, 2e-3);
    assert_int_equal(lth__svm_decide_rows(&ours, &s->gram, p->row, n, decision, 1), LTH_OK);
    for (size_t i = 0; i < n; i++)
        support_near(decision[i], lth__svm_decide(&theirs, &mirrored, i),
                     setting->regression ? 1e-2 : 2e-3);
    lth__svm_solution_free(&ours);
    lth__svm_solution_free(&theirs);
    lth__svm_gram_free(&mirrored);
}

static void test_solutions(void **state) {
    (void)state;
    static const char *const kernels[] = {"normalize(tfidf(text))",
                                          "bow(text) + 0.3 * ngrams(text, n=2)"};
    static const double Cs[] = {0.01, 1, 100};
    for (size_t k = 0; k < 2; k++) {
        spaces s;
        size_t row[ROWS];
        double y[ROWS], number[ROWS];
        open_spaces(&s, kernels[k]);
        size_t kind = lth_table_find(table, "two"), value = lth_table_find(table, "y");
        for (size_t i = 0; i < ROWS; i++) {
            row[i] = ROWS - 1 - i;
            y[i] = *lth_table_cell(table, row[i], kind, NULL) == 'y' ? 1 : -1;
            number[i] = strtod(lth_table_cell(table, row[i], value, NULL), NULL);
        }
        for (size_t c = 0; c < 3; c++) {
            lth__svm_problem p = {&s.gram, row, y, ROWS - 7, {2, 0.5}};
            lth__svm_setting labels = {.C = Cs[c]};
            lth__svm_setting numbers = {.regression = true, .C = Cs[c], .epsilon = 0.05};
            check_gap(&s, &p, &labels);
            p.weight[0] = p.weight[1] = 1;
            check_gap(&s, &p, &labels);
            check_libsvm(&s, &p, &labels);
            p.y = number;
            check_gap(&s, &p, &numbers);
            check_libsvm(&s, &p, &numbers);
            check_gap(&s, &p, &(lth__svm_setting){.regression = true, .C = Cs[c], .epsilon = 0.05});
        }
        close_spaces(&s);
    }
}

/* ---- Models ---------------------------------------------------------------------------------- */

static void check_same(const double *a, const double *b, size_t count) {
    assert_memory_equal(a, b, count * sizeof *a);
}

/* One point of a grid, trained alone, is what the grid gives when it chooses it; any number of
 * threads, a file, and a second prediction give the same bits. */
static void check_model(const char *kernel, const char *target, lth_svm_options options) {
    lth_error err = {0};
    lth_svm *one = fit(ctx, kernel, target, &options);
    lth_svm *three = fit(threaded, kernel, target, &options), *loaded = NULL;
    lth_svm_report r = *lth_svm_reported(one);
    assert_true(r.linear && r.support > 0 && r.support <= ROWS);
    options.C = &r.C;
    options.C_count = 1;
    lth_svm *alone = fit(ctx, kernel, target, &options);
    support_ok(lth_svm_save(one, "m", &err), &err);
    support_ok(lth_svm_load(threaded, "m", &loaded, &err), &err);
    lth_svm_report l = *lth_svm_reported(loaded);
    assert_true(l.linear && l.weights == r.weights && l.support == r.support);
    lth_svm *others[] = {one, three, alone, loaded};
    double *x = decide(one, fresh);
    for (size_t i = 0; i < 4; i++) {
        double *z = decide(others[i], fresh);
        check_same(x, z, NEW * r.problems);
        free(z);
    }
    if (r.probability) {
        double p[2][NEW * 3];
        for (size_t i = 0; i < 2; i++)
            support_ok(lth_svm_predict(i ? loaded : one, fresh,
                                       &(lth_svm_prediction){.probability = p[i]},
                                       sizeof(lth_svm_prediction), &err),
                       &err);
        check_same(p[0], p[1], NEW * r.classes);
        for (size_t i = 0; i < NEW && !r.multi_label && r.classes == 3; i++)
            support_near(p[0][3 * i] + p[0][3 * i + 1] + p[0][3 * i + 2], 1, 1e-9);
    }
    free(x);
    for (size_t i = 0; i < 4; i++) lth_svm_free(others[i]);
    unlink("m");
}

static void test_models(void **state) {
    (void)state;
    static const double C[] = {0.1, 1, 10};
    const char *kernel = "normalize(tfidf(text)) + 0.5 * normalize(ngrams(text, n=2))";
    lth_svm_options options = options_with(LTH_SVM_LINEAR, C, 3);
    check_model(kernel, "y", options);
    options.probability = true;
    check_model(kernel, "two", options);
    check_model(kernel, "several", options);
    check_model(kernel, "kind", options);
    options.one_vs_rest = true;
    check_model(kernel, "kind", options);
    options.class_weights = "plant=3,animal=0.5";
    check_model("bow(text)", "kind", options);
    options.class_weights = "balanced";
    check_model("approx_ssk(text, n=2)", "several", options);
}

/* Weights of classes move the border: the heavier class is predicted more often. */
static void test_class_weights(void **state) {
    (void)state;
    const double C = 0.1;
    const char *const weights[] = {"yes=0.05", "yes=20"};
    double sum[2] = {0};
    for (size_t i = 0; i < 2; i++) {
        lth_svm_options options = options_with(LTH_SVM_LINEAR, &C, 1);
        options.class_weights = weights[i];
        lth_svm *svm = fit(ctx, "normalize(bow(text))", "two", &options);
        size_t positive, negative;
        lth_svm_problem_at(svm, 0, &positive, &negative);
        assert_string_equal(lth_svm_class_at(svm, positive)->name, "no");
        double *x = decide(svm, table);
        for (size_t k = 0; k < ROWS; k++) sum[i] += x[k] < 0;
        free(x);
        lth_svm_free(svm);
    }
    assert_true(sum[0] == 0 && sum[1] > ROWS / 2);
}

static void test_cv(void **state) {
    (void)state;
    static const double C[] = {0.5, 5};
    lth_error err = {0};
    size_t fold[ROWS], right = 0;
    const char *target = "kind";
    lth_svm_options options = options_with(LTH_SVM_LINEAR, C, 2);
    lth_validation *v[2] = {0};
    for (size_t i = 0; i < ROWS; i++) fold[i] = i % 4;
    for (size_t k = 0; k < 2; k++)
        support_ok(lth_svm_cv(k ? threaded : ctx, "normalize(bow(text))", table, &target, 1, fold,
                              4, &options, &v[k], &err),
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

/* ---- Which way ------------------------------------------------------------------------------- */

static bool took_linear(const char *kernel, size_t rows, bool nu) {
    lth_error err = {0};
    lth_svm_options options;
    lth_svm_options_init(&options);
    options.nu_svm = nu;
    lth_table *many = make_table(rows, 3, "");
    lth_svm *svm = NULL;
    support_ok(lth_svm_fit(ctx, kernel, many, "two", &options, &svm, &err), &err);
    bool linear = lth_svm_reported(svm)->linear;
    lth_svm_free(svm);
    lth_table_free(many);
    return linear;
}

static void test_auto(void **state) {
    (void)state;
    assert_true(took_linear("normalize(bow(text))", 2001, false));
    assert_false(took_linear("normalize(bow(text))", 2000, false));
    assert_false(took_linear("rbf(bow(text))", 2001, false));
    assert_false(took_linear("gkm(text, l=2, k=1)", 2001, false)); /* when it is asked for alone */
    assert_false(took_linear("bow(text)", 30, true));
}

static void check_refused(const char *kernel, bool nu, const char *message) {
    lth_error err = {0};
    lth_svm_options options;
    lth_svm_options_init(&options);
    options.solver = LTH_SVM_LINEAR;
    options.nu_svm = nu;
    lth_svm *svm = NULL;
    assert_int_equal(lth_svm_fit(ctx, kernel, table, "two", &options, &svm, &err), LTH_EARG);
    assert_null(svm);
    assert_string_equal(err.message, message);
}

static void test_refused(void **state) {
    (void)state;
    check_refused("ssk(text)", false,
                  "the linear solver wants a kernel that is an inner product of sparse features "
                  "(bow, tfidf, ngrams, approx_ssk, semantic, gkm; linear(), normalize(), a number "
                  "times and sums of these)");
    check_refused("bow(text)", true, "the linear solver has no nu-SVC and no nu-SVR");
}

/* ---- Damaged files --------------------------------------------------------------------------- */

/* The file "m" again as "hostile", with one element of one array changed, or another kernel. */
static void rewrite(const char *array, size_t element, double number, const char *kernel) {
    static const char *const arrays[] = {"report",
                                         "class",
                                         "grid",
                                         "problem.classes",
                                         "problem.ends",
                                         "support",
                                         "problem.constants",
                                         "problem.features",
                                         "problem.weights",
                                         "field.0.texts",
                                         "field.0.text_ends",
                                         "field.0.starts",
                                         "field.0.symbols"};
    static const char *const texts[] = {"model", "targets", "classes", "grid"};
    lth_error err = {0};
    lth__tensors *file = NULL;
    support_ok(lth__tensors_read(NULL, "m", &file, &err), &err);
    lth__tensors_writer *writer = lth__tensors_writer_create();
    for (size_t i = 0; i < 4; i++)
        assert_true(lth__tensors_put_text(writer, texts[i], lth__tensors_text(file, texts[i])));
    assert_true(lth__tensors_put_text(writer, "kernel", kernel));
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        const lth__tensor *t = lth__tensors_find(file, arrays[i]);
        assert_non_null(t);
        if (array && strcmp(arrays[i], array) == 0) {
            double *data = (double *)(uintptr_t)t->data;
            if (t->dtype == LTH__F64) data[element] = number;
            if (t->dtype == LTH__U32) ((uint32_t *)data)[element] = (uint32_t)number;
            if (t->dtype == LTH__U64) ((uint64_t *)data)[element] = (uint64_t)number;
        }
        assert_true(lth__tensors_put(writer, t));
    }
    support_ok(lth__tensors_write(writer, "hostile", &err), &err);
    lth__tensors_writer_free(writer);
    lth__tensors_free(file);
}

static lth_status load_hostile(void) {
    lth_error err = {0};
    lth_svm *svm = NULL;
    lth_status status = lth_svm_load(ctx, "hostile", &svm, &err);
    if (status == LTH_OK) free(decide(svm, fresh)); /* must not crash */
    lth_svm_free(svm);
    return status;
}

static void test_hostile(void **state) {
    (void)state;
    lth_error err = {0};
    const double C = 1;
    lth_svm_options options = options_with(LTH_SVM_LINEAR, &C, 1);
    lth_svm *svm = fit(ctx, "bow(text)", "two", &options);
    support_ok(lth_svm_save(svm, "m", &err), &err);
    size_t last = lth_svm_reported(svm)->weights - 1;
    lth_svm_free(svm);
    rewrite(NULL, 0, 0, "bow(text)");
    assert_int_equal(load_hostile(), LTH_OK);
    rewrite("problem.features", 0, 4e9, "bow(text)"); /* out of order */
    assert_int_equal(load_hostile(), LTH_EFORMAT);
    rewrite("problem.features", last, 4e9, "bow(text)"); /* there is no such word */
    assert_int_equal(load_hostile(), LTH_OK);
    rewrite("problem.weights", 1, NAN, "bow(text)");
    assert_int_equal(load_hostile(), LTH_EFORMAT);
    rewrite("problem.ends", 0, 1000, "bow(text)");
    assert_int_equal(load_hostile(), LTH_EFORMAT);
    rewrite("support", 0, ROWS, "bow(text)");
    assert_int_equal(load_hostile(), LTH_EFORMAT);
    rewrite(NULL, 0, 0, "ssk(text)");
    assert_int_equal(load_hostile(), LTH_EFORMAT);
    unlink("m");
    unlink("hostile");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_features),      cmocka_unit_test(test_not_linear),
        cmocka_unit_test(test_solutions),     cmocka_unit_test(test_models),
        cmocka_unit_test(test_class_weights), cmocka_unit_test(test_cv),
        cmocka_unit_test(test_auto),          cmocka_unit_test(test_refused),
        cmocka_unit_test(test_hostile),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
