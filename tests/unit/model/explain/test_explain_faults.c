/* Reasons when memory fails, or they are canceled: in every place. Leaks are found by building this
 * with AddressSanitizer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "failing_allocator.h"
#include "gp_support.h"

/* ---- Runs ------------------------------------------------------------------------------------ */

static lth_ctx *ctx;

static const char lines[] = "text\ttree\tf\ty\tkind\n"
                            "a b c\t(S (A a) (B b))\t1\t1\tx\n"
                            "b c\t(S (A c))\t2\t2\ty\n"
                            "a c d\t(S (A a) (B c))\t3\t0.5\tx\n"
                            "a b d\t(S (B b))\t2\t3\ty\n";
static const char new_lines[] = "text\ttree\tf\nd a e b\t(S (A a) (B (E b)))\t1.5\n";

typedef struct job {
    lth_gp *gp;
    lth_svm *svm;
    lth_table *table;
    bool patterns;
} job;

static lth_status explain(const job *j, lth_reasons **out, lth_error *err) {
    lth_explain_options options;
    lth_explain_options_init(&options);
    options.nearest = 2;
    if (j->svm) return lth_svm_explain(j->svm, j->table, 0, &options, out, err);
    return lth_gp_explain(j->gp, j->table, 0, &options, out, err);
}

static lth_status find_patterns(const job *j, lth_reasons **out, lth_error *err) {
    if (j->svm) return lth_svm_patterns(j->svm, 0, 3, out, err);
    return lth_gp_patterns(j->gp, 0, 3, out, err);
}

static lth_status run(void *user, lth_error *err) {
    const job *j = user;
    lth_reasons *r = NULL;
    lth_status status = j->patterns ? find_patterns(j, &r, err) : explain(j, &r, err);
    assert_true((status == LTH_OK) == (r != NULL));
    lth_reasons_free(r);
    return status;
}

static void fail_all(job j, size_t least) {
    for (int patterns = 0; patterns < 2; patterns++) {
        j.patterns = patterns;
        fail_each(run, &j, true, least);
    }
}

static void run_gp(const char *kernel, const char *target) {
    lth_error err = {0};
    lth_gp_options options = support_fixed();
    lth_table *table = support_table(ctx, lines);
    job j = {.table = support_table(ctx, new_lines)};
    support_ok(lth_gp_fit(ctx, kernel, table, &target, 1, &options, &j.gp, &err), &err);
    fail_all(j, 5);
    lth_gp_free(j.gp);
    lth_table_free(j.table);
    lth_table_free(table);
}

static void test_gp(void **state) {
    (void)state;
    run_gp("normalize(ssk(text, order=2)) + 0.5 * sstk(tree) + linear(f)", "y");
    run_gp("rbf(ssk(text, order=2, rarity=0.2)) * ptk(tree) + approx_ssk(text, n=2)", "y");
    run_gp("ngrams(text, n=2) + intersection(bow(text))", "kind");
    run_gp("normalize(gkm(text, l=2, k=1, units=words)) + wd(text, order=2)", "y");
    run_gp("rbf(f) * mismatch(text, k=2) + oligo(text)", "y");
}

static void run_svm(const char *kernel, const char *target, lth_svm_solver solver) {
    lth_error err = {0};
    lth_svm_options options;
    lth_svm_options_init(&options);
    options.solver = solver;
    options.probability = strcmp(target, "y") != 0;
    lth_table *table = support_table(ctx, lines);
    job j = {.table = support_table(ctx, new_lines)};
    support_ok(lth_svm_fit(ctx, kernel, table, target, &options, &j.svm, &err), &err);
    fail_all(j, 5);
    lth_svm_free(j.svm);
    lth_table_free(j.table);
    lth_table_free(table);
}

static void test_svm(void **state) {
    (void)state;
    run_svm("ssk(text, order=2)", "kind", LTH_SVM_KERNEL);
    run_svm("ssk(text, order=2)", "y", LTH_SVM_KERNEL);
    run_svm("normalize(tfidf(text)) + bow(text)", "kind", LTH_SVM_LINEAR);
    run_svm("bow(text)", "y", LTH_SVM_LINEAR);
    run_svm("gkm(text, l=2, k=1, units=words)", "kind", LTH_SVM_LINEAR);
}

static void test_row_text(void **state) {
    (void)state;
    lth_error err = {0};
    lth_gp_options options = support_fixed();
    lth_table *table = support_table(ctx, lines);
    lth_gp *gp = NULL;
    const char *target = "y", *text = NULL;
    support_ok(lth_gp_fit(ctx, "sstk(tree)", table, &target, 1, &options, &gp, &err), &err);
    for (size_t k = 1; !text; k++) {
        calls = 0;
        fail_at = k;
        text = lth_gp_row_text(gp, 0, 0);
    }
    fail_at = 0;
    assert_string_equal(text, "(S (A a) (B b))");
    lth_gp_free(gp);
    text = NULL;
    support_ok(lth_gp_fit(ctx, "sstk(tree) + linear(y)", table, &target, 1, &options, &gp, &err),
               &err);
    for (size_t k = 1; !text; k++) {
        calls = 0;
        fail_at = k;
        text = lth_gp_row_line(gp, 0);
    }
    fail_at = 0;
    assert_non_null(strstr(text, "(S (A a) (B b)) | y "));
    lth_gp_free(gp);
    lth_table_free(table);
}

static int open_ctx(void **state) {
    (void)state;
    ctx = support_context(1);
    return 0;
}

static int close_ctx(void **state) {
    (void)state;
    lth_ctx_free(ctx);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_gp), cmocka_unit_test(test_svm),
                                       cmocka_unit_test(test_row_text)};
    return cmocka_run_group_tests(tests, open_ctx, close_ctx);
}
