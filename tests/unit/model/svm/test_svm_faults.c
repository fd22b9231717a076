/* Support vector machines when something fails: every allocation in turn, and damaged files. Leaks
 * are found by building this with AddressSanitizer. */
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

#include "failing_allocator.h"
#include "gp_support.h"
#include "hostile.h"

/* ---- Runs ------------------------------------------------------------------------------------ */

static lth_ctx *ctx;
static char folder[] = "test_svm_faults.XXXXXX";

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

static const char lines[] = "text\tf\tkind\tseveral\ty\n"
                            "a b c\t1\tx\tp,q\t1\n"
                            "b c\t2\ty\tq\t2\n"
                            "a c d\t3\tz\t\t0.5\n"
                            "a b d\t2\tx\tp\t1.5\n"
                            "c c b\t1\ty\tq\t3\n"
                            "d\t0\tz\tp\t2\n";

enum { ROWS = 6 };

/* A kernel without a string kernel takes the linear way. */
static lth_svm_options options_for(const char *kernel, const char *target) {
    static const double C[] = {1, 5};
    static const char *const set[] = {"ssk.order=1,2", "ssk.gap=0.3,0.6"};
    static const char *const weightings[] = {"tfidf.weighting=count,log"};
    bool linear = !strstr(kernel, "ssk(");
    lth_svm_options options;
    lth_svm_options_init(&options);
    options.C = C;
    options.C_count = 2;
    options.solver = linear ? LTH_SVM_LINEAR : LTH_SVM_KERNEL;
    if (!linear && strcmp(target, "several") == 0) options.solver = LTH_SVM_ORIGIN;
    options.set = linear ? weightings : set;
    options.set_count = linear ? 1 : 2;
    options.inner_folds = 2;
    options.probability = strcmp(target, "y") != 0;
    options.class_weights = strcmp(target, "kind") == 0 ? "x=2,y=1" : NULL;
    return options;
}

typedef struct use {
    const lth_table *table;
    const char *kernel, *target;
} use;

/* Fit, save, load, predict. */
static lth_status use_model(void *user, lth_error *err) {
    const use *u = user;
    lth_svm_options options = options_for(u->kernel, u->target);
    lth_svm *svm = NULL, *loaded = NULL;
    double decision[ROWS * 3];
    lth_status status = lth_svm_fit(ctx, u->kernel, u->table, u->target, &options, &svm, err);
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

static lth_status use_cv(void *user, lth_error *err) {
    const size_t fold[ROWS] = {0, 1, 0, 1, 0, 1};
    const use *u = user;
    lth_svm_options options = options_for(u->kernel, u->target);
    lth_validation *v = NULL;
    lth_status status =
        lth_svm_cv(ctx, u->kernel, u->table, &u->target, 1, fold, 2, &options, &v, err);
    assert_true((status == LTH_OK) == (v != NULL));
    lth_validation_free(v);
    return status;
}

/* Planes that cannot be had are done without, so a run may also succeed. */
static void fail_everywhere(fallible_use *fallible, const char *kernel, const char *target) {
    lth_table *table = support_table(ctx, lines);
    fail_each(fallible, &(use){table, kernel, target}, true, 100);
    lth_table_free(table);
}

static void test_fit(void **state) {
    (void)state;
    fail_everywhere(use_model, "normalize(ssk(text))", "kind");
    fail_everywhere(use_model, "ssk(text) + linear(f)", "several");
    fail_everywhere(use_model, "ssk(text) + linear(tfidf(text))", "y");
}

static void test_linear(void **state) {
    (void)state;
    const char *kernel = "normalize(2 * tfidf(text) + linear(ngrams(text, n=2)))";
    fail_everywhere(use_model, kernel, "kind");
    fail_everywhere(use_model, kernel, "several");
    fail_everywhere(use_model, kernel, "y");
    fail_everywhere(use_cv, kernel, "kind");
}

static void test_cv(void **state) {
    (void)state;
    fail_everywhere(use_cv, "normalize(ssk(text))", "kind");
    fail_everywhere(use_cv, "ssk(text)", "several");
    fail_everywhere(use_cv, "ssk(text)", "y");
}

/* ---- Files ----------------------------------------------------------------------------------- */

static void save_model(const char *target, bool rest) {
    lth_error err = {0};
    lth_table *table = support_table(ctx, lines);
    lth_svm_options options;
    lth_svm_options_init(&options);
    options.probability = strcmp(target, "y") != 0;
    options.one_vs_rest = rest;
    lth_svm *svm = NULL;
    support_ok(lth_svm_fit(ctx, "ssk(text)", table, target, &options, &svm, &err), &err);
    support_ok(lth_svm_save(svm, "m", &err), &err);
    lth_svm_free(svm);
    lth_table_free(table);
}

static void spill(const char *path, const void *data, size_t size) {
    FILE *stream = fopen(path, "wb");
    assert_non_null(stream);
    assert_true(fwrite(data, 1, size, stream) == size);
    assert_int_equal(fclose(stream), 0);
}

static void test_truncated(void **state) {
    (void)state;
    save_model("kind", false);
    support_bytes b = support_slurp("m");
    char kind[16];
    for (size_t size = 0; size < b.size; size += size < 64 || size + 64 > b.size ? 1 : 17) {
        spill("cut", b.data, size);
        hostile_file(ctx, "cut", hostile_svm);
        lth_model_kind("cut", kind, NULL); /* must not crash */
    }
    assert_int_equal(lth_model_kind("missing", kind, NULL), LTH_EIO);
    spill("cut", "\377\377\377\377\377\377\377\377{}", 10);
    assert_int_equal(lth_model_kind("cut", kind, NULL), LTH_EFORMAT);
    free(b.data);
    unlink("m");
    unlink("cut");
}

static void test_hostile(void **state) {
    (void)state;
    const hostile_change changes[] = {
        {"problem.rows", .at = 0, .count = 6},
        {"problem.rows", .at = 3, .count = UINT32_MAX},
        {"problem.ends", .at = 0, .count = 1000},
        {"problem.ends", .at = 1, .count = 0},
        {"problem.classes", .at = 0, .count = 3},
        {"problem.classes", .at = 1, .count = 4},
        {"problem.classes", .at = 1, .count = UINT64_MAX}, /* one of them not a pair */
        {"problem.coefficients", .at = 0, .number = NAN},
        {"problem.constants", .at = 0, .number = INFINITY},
        {"problem.constants", .at = 4, .number = NAN},
        {"support", .at = 0, .count = 6},
        {"support", .at = 0, .count = UINT64_MAX},
        {"report", .at = 10, .number = 7},  /* items */
        {"report", .at = 10, .number = -1}, /* */
        {"report", .at = 9, .number = 1.5}, /* rows */
        {"report", .at = 13, .number = 4},  /* only class */
        {"report", .at = 0, .number = 1},   /* numbers with classes */
        {"report", .at = 2, .number = 1},   /* pairs with several labels a row */
        {"field.0.symbols", .at = 0, .count = 77},
    };
    const hostile_change mixed = {"problem.classes", .at = 1, .count = 0};
    save_model("kind", true);
    hostile_refused(ctx, "m", &mixed, hostile_svm);
    save_model("kind", false);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        hostile_refused(ctx, "m", &changes[i], hostile_svm);
    save_model("y", false);
    hostile_refused(ctx, "m", &(hostile_change){"report", .at = 13, .number = 1}, hostile_svm);
    save_model("kind", false);
    static const char *const harmless[] = {"field.0.texts", NULL};
    hostile_arrays(ctx, "m", NULL, harmless, hostile_svm);
    unlink("m");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fit),     cmocka_unit_test(test_cv),
        cmocka_unit_test(test_linear),  cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_hostile),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
