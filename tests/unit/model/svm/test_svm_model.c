/* Support vector machines from tables: grids, files, threads, cross-validation, errors. */
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

#include "base/clock.h"
#include "base/random.h"
#include "gp_support.h"
#include "model/common/folds.h"
#include "model/svm/svm.h"

static lth_ctx *ctx;
static char folder[] = "test_svm_model.XXXXXX";

static int open_folder(void **state) {
    (void)state;
    if (!mkdtemp(folder) || chdir(folder) != 0) return -1;
    ctx = support_context(1);
    return 0;
}

static int close_folder(void **state) {
    (void)state;
    lth_ctx_free(ctx);
    return chdir("..") == 0 && rmdir(folder) == 0 ? 0 : -1; /* nothing was left behind */
}

/* ---- Data ------------------------------------------------------------------------------------ */

enum { ROWS = 45, LINE = 160 };

typedef struct row {
    char text[LINE];
    size_t class;
    double y;
} row;

static const char *const classes[] = {"animal", "machine", "plant"};
static const char *const words[3][4] = {{"cat", "dog", "runs", "eats"},
                                        {"motor", "gear", "runs", "hums"},
                                        {"tree", "leaf", "grows", "eats"}};

/* Texts of which half of the words belong to the class. */
static void make_rows(row *rows, size_t count, uint64_t seed) {
    lth__random random;
    lth__random_seed(&random, seed);
    for (size_t i = 0; i < count; i++) {
        row *r = &rows[i];
        *r = (row){.class = (size_t)lth__random_below(&random, 3)};
        for (size_t left = 3 + (size_t)lth__random_below(&random, 5); left > 0; left--) {
            bool own = lth__random_below(&random, 2) == 0;
            size_t from = own ? r->class : (size_t)lth__random_below(&random, 3);
            const char *word = words[from][lth__random_below(&random, 4)];
            if (r->text[0]) strcat(r->text, " ");
            strcat(r->text, word);
            r->y += (strcmp(word, "runs") == 0) - 0.5 * (strcmp(word, "leaf") == 0);
        }
        r->y += 0.1 * lth__random_uniform(&random);
    }
}

/* The rows (which `keep` marks; NULL = all) as a table with the columns text, kind, y, several. */
static lth_table *table_of(lth_ctx *of, const row *rows, size_t count, const bool *keep) {
    char *lines = malloc((count + 1) * 2 * LINE), *end = lines;
    end += sprintf(end, "text\tkind\ty\tseveral\n");
    for (size_t i = 0; i < count; i++) {
        const row *r = &rows[i];
        if (keep && !keep[i]) continue;
        const char *second = strstr(r->text, "runs") ? "runs" : "";
        end +=
            sprintf(end, "%s\t%s\t%.17g\t%s%s%s\n", r->text, classes[r->class], r->y,
                    r->class == 0 ? "" : classes[r->class], r->class && *second ? "," : "", second);
    }
    lth_table *table = support_table(of, lines);
    free(lines);
    return table;
}

static lth_svm_options defaults(void) {
    lth_svm_options options;
    lth_svm_options_init(&options);
    return options;
}

static lth_svm *fit(lth_ctx *of, const char *kernel, const lth_table *table, const char *target,
                    const lth_svm_options *options) {
    lth_error err = {0};
    lth_svm *svm = NULL;
    support_ok(lth_svm_fit(of, kernel, table, target, options, &svm, &err), &err);
    return svm;
}

/* Decision values of all rows, freed with free(). */
static double *decide(lth_svm *svm, const lth_table *table) {
    lth_error err = {0};
    double *decision = calloc(lth_table_rows(table) * lth_svm_reported(svm)->problems + 1, 8);
    support_ok(lth_svm_predict(svm, table, &(lth_svm_prediction){.decision = decision},
                               sizeof(lth_svm_prediction), &err),
               &err);
    return decision;
}

/* ---- Grids ----------------------------------------------------------------------------------- */

/* The inner score of one kernel and C the long way: a model of its own for each fold. */
static double score_by_hand(const row *rows, const char *kernel, double C, bool regression) {
    enum { FOLDS = 3 };
    lth_error err = {0};
    size_t fold[ROWS], class[ROWS];
    double right = 0, squares = 0;
    for (size_t i = 0; i < ROWS; i++) class[i] = rows[i].class;
    support_ok(lth__folds_by_class(1, regression ? NULL : class, 3, ROWS, FOLDS, fold, &err), &err);
    for (size_t f = 0; f < FOLDS; f++) {
        bool inside[ROWS], outside[ROWS];
        for (size_t i = 0; i < ROWS; i++) outside[i] = !(inside[i] = fold[i] == f);
        lth_table *train = table_of(ctx, rows, ROWS, outside);
        lth_table *test = table_of(ctx, rows, ROWS, inside);
        lth_svm_options options = defaults();
        options.C = &C;
        lth_svm *svm = fit(ctx, kernel, train, regression ? "y" : "kind", &options);
        size_t label[ROWS], at = 0;
        double value[ROWS];
        lth_svm_prediction to = {.label = regression ? NULL : label,
                                 .value = regression ? value : NULL};
        support_ok(lth_svm_predict(svm, test, &to, sizeof to, &err), &err);
        for (size_t i = 0; i < ROWS; i++) {
            if (!inside[i]) continue;
            if (regression)
                squares += (value[at] - rows[i].y) * (value[at] - rows[i].y);
            else
                right += strcmp(lth_svm_class_at(svm, label[at])->name, classes[class[i]]) == 0;
            at++;
        }
        lth_svm_free(svm);
        lth_table_free(train);
        lth_table_free(test);
    }
    return regression ? sqrt(squares / ROWS) : right / ROWS;
}

static void check_grid(const char *kernel, bool regression) {
    const double Cs[] = {10, 0.1};
    const char *const sets[] = {"ssk.order=1,3,2", "ssk.gap=0.1,0.8"};
    row rows[ROWS];
    make_rows(rows, ROWS, 3);
    lth_table *table = table_of(ctx, rows, ROWS, NULL);
    lth_svm_options options = defaults();
    options.C = Cs;
    options.C_count = 2;
    options.set = sets;
    options.set_count = 2;
    lth_svm *svm = fit(ctx, kernel, table, regression ? "y" : "kind", &options);
    lth_svm_report r = *lth_svm_reported(svm);
    assert_int_equal(r.points, 12);
    size_t best = LTH_NONE;
    for (size_t i = 0; i < r.points; i++) {
        lth_svm_point p = *lth_svm_point_at(svm, i);
        double score = score_by_hand(rows, p.kernel, p.C, regression);
        support_near(p.score, score, 1e-6);
        if (best != LTH_NONE) {
            lth_svm_point b = *lth_svm_point_at(svm, best);
            bool better = regression ? p.score < b.score : p.score > b.score;
            if (!better && (p.score != b.score || p.C >= b.C)) continue;
        }
        best = i;
    }
    char text[256];
    lth_svm_point chosen = *lth_svm_point_at(svm, best);
    assert_true(r.C == chosen.C && r.inner == chosen.score);
    lth_kernel_print(lth_svm_kernel(svm), text, sizeof text);
    assert_string_equal(text, chosen.kernel);

    /* The chosen point alone is the same model. */
    lth_svm_options alone = defaults();
    alone.C = &r.C;
    lth_svm *again = fit(ctx, text, table, regression ? "y" : "kind", &alone);
    double *a = decide(svm, table), *b = decide(again, table);
    for (size_t i = 0; i < ROWS * r.problems; i++) support_near(a[i], b[i], 1e-6);
    free(a), free(b);
    lth_svm_free(svm);
    lth_svm_free(again);
    lth_table_free(table);
}

static void test_grid(void **state) {
    (void)state;
    check_grid("ssk(text, order=2)", false);
    check_grid("normalize(ssk(text))", false);
    check_grid("normalize(ssk(text))", true);
    check_grid("rbf(normalize(ssk(text)))", false);
}

static lth_status try_fit(const lth_table *table, const char *target,
                          const lth_svm_options *options, lth_error *err) {
    lth_svm *svm = NULL;
    *err = (lth_error){0};
    lth_status status = lth_svm_fit(ctx, "ssk(text, order=2)", table, target, options, &svm, err);
    assert_true((status == LTH_OK) == (svm != NULL));
    lth_svm_free(svm);
    return status;
}

static void test_errors(void **state) {
    (void)state;
    row rows[ROWS];
    lth_error err;
    make_rows(rows, ROWS, 3);
    lth_table *table = table_of(ctx, rows, ROWS, NULL);
    const double bad[] = {NAN, 0, -1, INFINITY};
    for (size_t i = 0; i < 4; i++) {
        lth_svm_options options = defaults();
        options.C = &bad[i];
        assert_int_equal(try_fit(table, "kind", &options, &err), LTH_EARG);
        assert_memory_equal(err.message, "C is a number above 0, not ", 27);
    }
    const char *const messages[][2] = {
        {"ssk.gpa=1", "the kernel has no parameter \"ssk.gpa\"; did you mean \"ssk.gap\"?"},
        {"ssk.ordr=1", "the kernel has no parameter \"ssk.ordr\"; did you mean \"ssk.order\"?"},
        {"ssk.order=1,0", "ssk.order=0: order of ssk is a whole number from 1 to 64"},
        {"ssk.units=chars,letters", "ssk.units=letters: units of ssk is one of "
                                    "words|tokens|chars|bytes"},
        {"ssk.gap=x", "ssk.gap: \"x\" is not a number"},
        {"ssk.gap=0.1,", "\"ssk.gap=0.1,\" is not PATH=V1,V2,..."},
        {"ssk.gap", "\"ssk.gap\" is not PATH=V1,V2,..."},
    };
    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++) {
        lth_svm_options options = defaults();
        options.set = &messages[i][0];
        options.set_count = 1;
        assert_int_equal(try_fit(table, "kind", &options, &err), LTH_EARG);
        assert_string_equal(err.message, messages[i][1]);
    }
    lth_svm_options options = defaults();
    options.class_weights = "plnt=2";
    assert_int_equal(try_fit(table, "kind", &options, &err), LTH_EARG);
    assert_string_equal(err.message,
                        "class weights: there is no class \"plnt\"; did you mean \"plant\"?");
    options.class_weights = "plant=2,animal=x";
    assert_int_equal(try_fit(table, "kind", &options, &err), LTH_EARG);
    options.class_weights = "plant=2,animal=0.5";
    assert_int_equal(try_fit(table, "kind", &options, &err), LTH_OK);
    assert_int_equal(try_fit(table, "y", &options, &err), LTH_EARG);
    options = defaults();
    options.probability = true;
    assert_int_equal(try_fit(table, "y", &options, &err), LTH_EARG);
    options = defaults();
    options.task = LTH_TASK_REGRESSION;
    assert_int_equal(try_fit(table, "kind", &options, &err), LTH_EFORMAT);
    assert_int_equal(err.line, 2);
    lth_table_free(table);

    table = support_table(ctx, "text\tc\na b\tx\nb\tx\n");
    assert_int_equal(try_fit(table, "c", NULL, &err), LTH_EFORMAT);
    assert_string_equal(err.message, "all rows have the same label in column \"c\": there is "
                                     "nothing to tell apart");
    lth_table_free(table);
    table = support_table(ctx, "text\tc\na b\tx\nb\t\n");
    assert_int_equal(try_fit(table, "c", NULL, &err), LTH_EFORMAT);
    assert_int_equal(err.line, 3);
    lth_table_free(table);
}

static void count_warnings(void *user, lth_log_level level, const char *text) {
    *(int *)user +=
        level == LTH_LOG_WARNING && strcmp(text, "only one row has the label \"z\"") == 0;
}

static void test_class_of_one_row(void **state) {
    (void)state;
    int warnings = 0;
    lth_error err = {0};
    lth_ctx_options ctx_options;
    lth_ctx_options_init(&ctx_options);
    ctx_options.log = count_warnings;
    ctx_options.user = &warnings;
    lth_ctx *own = NULL;
    support_ok(lth_ctx_create(&ctx_options, &own, &err), &err);
    lth_table *table = support_table(own, "text\tc\na b\tx\na c\tx\nd e\ty\nd f\ty\ng\tz\n");
    lth_svm_options options = defaults();
    const double C[] = {1, 10};
    options.C = C;
    options.C_count = 2; /* so that inner folds have no row of it to learn from */
    options.probability = true;
    lth_svm *svm = fit(own, "normalize(ssk(text, order=1))", table, "c", &options);
    assert_int_equal(warnings, 1);
    size_t label[5];
    support_ok(lth_svm_predict(svm, table, &(lth_svm_prediction){.label = label},
                               sizeof(lth_svm_prediction), &err),
               &err);
    const size_t expected[] = {0, 0, 1, 1, 2};
    assert_memory_equal(label, expected, sizeof label);
    lth_svm_free(svm);
    lth_table_free(table);
    lth_ctx_free(own);
}

static int cancel(void *user, const char *what, double done, double total) {
    (void)what, (void)done, (void)total;
    return --*(int *)user <= 0;
}

static void test_cancel(void **state) {
    (void)state;
    row rows[ROWS];
    make_rows(rows, ROWS, 3);
    for (int calls = 1; calls < 4; calls++) {
        int left = calls;
        lth_error err = {0};
        lth_ctx_options ctx_options;
        lth_ctx_options_init(&ctx_options);
        ctx_options.progress = cancel;
        ctx_options.user = &left;
        lth_ctx *own = NULL;
        support_ok(lth_ctx_create(&ctx_options, &own, &err), &err);
        lth_table *table = table_of(own, rows, ROWS, NULL);
        const double C[] = {1, 10};
        lth_svm_options options = defaults();
        options.C = C;
        options.C_count = 2;
        lth_svm *svm = NULL;
        assert_int_equal(lth_svm_fit(own, "ssk(text)", table, "kind", &options, &svm, &err),
                         LTH_ECANCELED);
        assert_null(svm);
        lth_table_free(table);
        lth_ctx_free(own);
    }
}

/* ---- Files ----------------------------------------------------------------------------------- */

static void check_round_trip(const char *kernel, const char *target, bool nu, bool rest) {
    row rows[ROWS], others[ROWS];
    lth_error err = {0};
    make_rows(rows, ROWS, 3);
    make_rows(others, ROWS, 4);
    strcpy(others[0].text, "unseen words only");
    lth_table *train = table_of(ctx, rows, ROWS, NULL), *test = table_of(ctx, others, ROWS, NULL);
    lth_svm_options options = defaults();
    const double C[] = {0.5, 5}, nus[] = {0.2, 0.3};
    options.C = C;
    options.C_count = 2;
    options.nu = nus;
    options.nu_count = 2;
    options.nu_svm = nu;
    options.one_vs_rest = rest;
    options.probability = strcmp(target, "y") != 0;
    lth_svm *svm = fit(ctx, kernel, train, target, &options), *loaded = NULL, *twice = NULL;
    double *before = decide(svm, test);
    support_ok(lth_svm_save(svm, "m", &err), &err);
    char kind[16];
    support_ok(lth_model_kind("m", kind, &err), &err);
    assert_string_equal(kind, "svm");
    support_ok(lth_svm_load(ctx, "m", &loaded, &err), &err);
    support_ok(lth_svm_save(loaded, "m", &err), &err);
    support_ok(lth_svm_load(ctx, "m", &twice, &err), &err);
    double *after = decide(loaded, test), *again = decide(twice, test);
    lth_svm_report p = *lth_svm_reported(svm), q = *lth_svm_reported(twice);
    assert_memory_equal(before, after, ROWS * p.problems * sizeof *before);
    assert_memory_equal(before, again, ROWS * p.problems * sizeof *before);
    assert_string_equal(p.type, q.type);
    assert_string_equal(p.score, q.score);
    assert_true(p.rows == q.rows && p.support == q.support && p.classes == q.classes &&
                p.problems == q.problems && p.points == q.points && p.inner == q.inner &&
                p.seconds == q.seconds && p.inner_folds == q.inner_folds);
    assert_true(p.multi_label == q.multi_label && p.one_vs_rest == q.one_vs_rest);
    for (size_t c = 0; c < p.classes; c++) {
        lth_svm_class a = *lth_svm_class_at(svm, c), b = *lth_svm_class_at(twice, c);
        assert_string_equal(a.name, b.name);
        assert_true(a.rows == b.rows && a.support == b.support && a.support > 0);
    }
    for (size_t i = 0; i < p.points; i++) {
        lth_svm_point a = *lth_svm_point_at(svm, i), b = *lth_svm_point_at(twice, i);
        assert_string_equal(a.kernel, b.kernel);
        assert_true(a.score == b.score);
    }
    assert_string_equal(lth_svm_target(twice), target);
    if (p.probability) {
        double one[3 * ROWS], other[3 * ROWS];
        assert_int_equal(p.classes, 3);
        support_ok(lth_svm_predict(svm, test, &(lth_svm_prediction){.probability = one},
                                   sizeof(lth_svm_prediction), &err),
                   &err);
        support_ok(lth_svm_predict(twice, test, &(lth_svm_prediction){.probability = other},
                                   sizeof(lth_svm_prediction), &err),
                   &err);
        assert_memory_equal(one, other, sizeof one);
    }
    lth_gp *gp = NULL;
    assert_int_equal(lth_gp_load(ctx, "m", &gp, &err), LTH_EFORMAT);
    free(before);
    free(after);
    free(again);
    lth_svm_free(svm);
    lth_svm_free(loaded);
    lth_svm_free(twice);
    lth_table_free(train);
    lth_table_free(test);
    unlink("m");
}

static void test_files(void **state) {
    (void)state;
    check_round_trip("normalize(ssk(text, order=2))", "kind", false, false);
    check_round_trip("normalize(ssk(text, order=2))", "kind", false, true);
    check_round_trip("normalize(ssk(text, order=2))", "kind", true, false);
    check_round_trip("normalize(ssk(text, order=2))", "several", false, false);
    check_round_trip("ssk(text, order=2, rarity=0.01)", "y", false, false);
    check_round_trip("linear(tfidf(text))", "y", true, false); /* document frequencies */
    check_round_trip("linear(tfidf(text)) + ssk(text, order=1)", "kind", false, false);
}

static void test_what_is_kept(void **state) {
    (void)state;
    row rows[ROWS];
    make_rows(rows, ROWS, 3);
    lth_table *table = table_of(ctx, rows, ROWS, NULL);
    lth_svm *svm = fit(ctx, "normalize(ssk(text, order=2))", table, "y", NULL);
    assert_true(lth_svm_reported(svm)->support < ROWS);
    assert_null(svm->items);
    lth_svm_free(svm);
    svm = fit(ctx, "linear(tfidf(text))", table, "y", NULL);
    assert_int_equal(svm->items->count, ROWS); /* all count for document frequencies */
    lth_svm_free(svm);
    lth_table_free(table);
}

/* ---- Threads --------------------------------------------------------------------------------- */

static void test_threads(void **state) {
    (void)state;
    row rows[ROWS];
    double *first = NULL, inner = NAN;
    make_rows(rows, ROWS, 6);
    for (unsigned threads = 1; threads <= 3; threads++) {
        lth_ctx *own = support_context(threads);
        lth_table *table = table_of(own, rows, ROWS, NULL);
        const char *const set[] = {"ssk.order=1,3", "ssk.gap=0.3,0.6"};
        const double C[] = {0.1, 1, 10};
        lth_svm_options options = defaults();
        options.C = C;
        options.C_count = 3;
        options.set = set;
        options.set_count = 2;
        options.probability = true;
        lth_svm *svm = fit(own, "normalize(ssk(text))", table, "kind", &options);
        double *decision = decide(svm, table);
        if (first) {
            assert_memory_equal(first, decision, ROWS * 3 * sizeof *first);
            assert_true(lth_svm_reported(svm)->inner == inner);
            free(decision);
        } else {
            first = decision;
            inner = lth_svm_reported(svm)->inner;
        }
        lth_svm_free(svm);
        lth_table_free(table);
        lth_ctx_free(own);
    }
    free(first);
}

/* ---- Cross-validation ------------------------------------------------------------------------ */

/* Each fold is a model of the other rows. */
static void check_cv(const char *target, bool regression) {
    enum { FOLDS = 3 };
    row rows[ROWS];
    lth_error err = {0};
    make_rows(rows, ROWS, 8);
    lth_table *table = table_of(ctx, rows, ROWS, NULL);
    size_t fold[ROWS];
    lth_folds_shuffled(5, ROWS, FOLDS, fold);
    const double C[] = {0.1, 1, 10};
    const char *const set[] = {"ssk.gap=0.3,0.6"};
    lth_svm_options options = defaults();
    options.C = C;
    options.C_count = 3;
    options.set = set;
    options.set_count = 1;
    const char *kernel = "normalize(ssk(text, order=2))";
    lth_validation *v = NULL;
    double began = lth__seconds(), seconds = 0;
    support_ok(lth_svm_cv(ctx, kernel, table, &target, 1, fold, FOLDS, &options, &v, &err), &err);
    double took = lth__seconds() - began;
    for (size_t f = 0; f < FOLDS; f++) seconds += lth_validation_seconds(v, 0, f);
    assert_true(seconds > 0 && seconds <= took); /* folds share what was done for all */
    assert_int_equal(lth_validation_has_labels(v, 0), !regression);
    double right = 0, squares = 0;
    for (size_t f = 0; f < FOLDS; f++) {
        bool inside[ROWS], outside[ROWS];
        for (size_t i = 0; i < ROWS; i++) outside[i] = !(inside[i] = fold[i] == f);
        lth_table *train = table_of(ctx, rows, ROWS, outside);
        lth_table *test = table_of(ctx, rows, ROWS, inside);
        lth_svm *svm = fit(ctx, kernel, train, target, &options);
        size_t label[ROWS], at = 0;
        double value[ROWS];
        lth_svm_prediction to = {.label = regression ? NULL : label,
                                 .value = regression ? value : NULL};
        support_ok(lth_svm_predict(svm, test, &to, sizeof to, &err), &err);
        for (size_t i = 0; i < ROWS; i++) {
            if (!inside[i]) continue;
            if (regression) {
                support_near(lth_validation_value(v, 0, i), value[at], 1e-6);
                squares += (value[at] - rows[i].y) * (value[at] - rows[i].y);
            } else {
                const char *name = lth_svm_class_at(svm, label[at])->name;
                for (size_t c = 0; c < 3; c++) {
                    assert_int_equal(lth_validation_predicted(v, 0, i, c),
                                     strcmp(lth_validation_class(v, 0, c), name) == 0);
                    assert_int_equal(lth_validation_true(v, 0, i, c), rows[i].class == c);
                }
                right += strcmp(name, classes[rows[i].class]) == 0;
            }
            at++;
        }
        assert_int_equal(regression ? lth_validation_metrics(v, 0, f)->count
                                    : lth_validation_label_metrics(v, 0, f)->count,
                         at);
        lth_svm_free(svm);
        lth_table_free(train);
        lth_table_free(test);
    }
    if (regression) {
        support_near(lth_validation_metrics(v, 0, LTH_NONE)->rmse, sqrt(squares / ROWS), 1e-6);
        assert_true(isnan(lth_validation_metrics(v, 0, LTH_NONE)->nlpd));
    } else {
        support_near(lth_validation_label_metrics(v, 0, LTH_NONE)->accuracy, right / ROWS, 1e-12);
        size_t sum = 0, diagonal = 0;
        for (size_t i = 0; i < 9; i++) sum += lth_validation_confusion(v, 0, i / 3, i % 3);
        for (size_t c = 0; c < 3; c++) diagonal += lth_validation_confusion(v, 0, c, c);
        assert_int_equal(sum, ROWS);
        assert_int_equal(diagonal, (size_t)right);
    }
    lth_validation_free(v);
    lth_table_free(table);
}

static void test_cv(void **state) {
    (void)state;
    check_cv("kind", false);
    check_cv("y", true);
}

/* Class z is in one fold only: when that is judged, no machine knows it, and it is missed. */
static void test_label_only_in_test_rows(void **state) {
    (void)state;
    lth_error err = {0};
    lth_table *table =
        support_table(ctx, "text\tc\tm\na b\tx\tp\na c\tx\tp\nd e\ty\tq,p\nd f\ty\tq\n"
                           "a\tz\tr\nd\tz\t\n");
    const size_t fold[] = {0, 1, 0, 1, 1, 1};
    const char *const targets[] = {"c", "m"};
    lth_validation *v = NULL;
    support_ok(lth_svm_cv(ctx, "normalize(ssk(text, order=1))", table, targets, 2, fold, 2, NULL,
                          &v, &err),
               &err);
    lth_label_metrics m = *lth_validation_label_metrics(v, 0, 1);
    support_near(m.accuracy, 0.5, 1e-15);
    lth_class_metrics z = *lth_validation_class_metrics(v, 0, 2);
    assert_true(z.support == 2 && z.recall == 0);
    assert_int_equal(lth_validation_confusion(v, 0, 2, 0), 1);
    assert_int_equal(lth_validation_confusion(v, 0, 2, 1), 1);
    assert_false(lth_validation_has_confusion(v, 1));
    assert_false(lth_validation_predicted(v, 1, 4, 2));
    lth_validation_free(v);
    const size_t bad[] = {0, 1, 2, 0, 1, 0};
    assert_int_equal(lth_svm_cv(ctx, "ssk(text)", table, targets, 1, bad, 2, NULL, &v, &err),
                     LTH_EARG);
    lth_table_free(table);
}

static void test_auc(void **state) {
    (void)state;
    lth_error err = {0};
    lth_table *table =
        support_table(ctx, "text\tc\na\tx\na a\tx\na a a\tx\na\tx\nb\ty\nb b\ty\nb b b\ty\nb\ty\n");
    const size_t fold[] = {0, 0, 1, 1, 0, 0, 1, 1};
    const char *target = "c";
    lth_validation *v = NULL;
    support_ok(lth_svm_cv(ctx, "ssk(text, order=1)", table, &target, 1, fold, 2, NULL, &v, &err),
               &err);
    assert_true(lth_validation_label_metrics(v, 0, LTH_NONE)->auc == 1);
    assert_true(lth_validation_label_metrics(v, 0, 0)->auc == 1);
    lth_validation_free(v);
    lth_table_free(table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_grid),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_class_of_one_row),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_what_is_kept),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_cv),
        cmocka_unit_test(test_label_only_in_test_rows),
        cmocka_unit_test(test_auc),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
