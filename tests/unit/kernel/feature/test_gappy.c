/* The gappy kernel: values by all tuples of all windows, one thread and several, what is refused,
 * models and their reasons. */
#include <ctype.h>
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
#include "base/text.h"
#include "engine/eigen.h"
#include "failing_allocator.h"
#include "gp_support.h"
#include "problem_support.h"

enum { ROWS = 13, LONGEST = 40, MOST_TUPLES = 1024, LETTERS = 4 };
static lth_ctx *ctx;
static char folder[] = "test_gappy.XXXXXX";

static int open_folder(void **state) {
    (void)state;
    if (!mkdtemp(folder) || chdir(folder) != 0) return -1;
    ctx = support_context(2);
    return 0;
}

static int close_folder(void **state) {
    (void)state;
    lth_ctx_free(ctx);
    return chdir("..") == 0 && rmdir(folder) == 0 ? 0 : -1; /* nothing was left behind */
}

static void write_rows(lth__string *text, const char *letters) {
    static const size_t length[ROWS] = {0, 1, 3, 4, 5, 6, 7, 12, LONGEST, 30, 2, 6, 21};
    lth__random random;
    lth__random_seed(&random, 9);
    lth__string_format(text, "y\tseq\n");
    for (size_t i = 0; i < ROWS; i++) {
        lth__string_format(text, "%zu\t", i * i % 11);
        for (size_t p = 0; p < length[i]; p++)
            lth__string_format(text, "%c", letters[lth__random_below(&random, strlen(letters))]);
        lth__string_format(text, "\n");
    }
}

static problem open_in(lth_ctx *in, const char *kernel, const char *letters) {
    lth__string text = {0};
    write_rows(&text, letters);
    problem p = support_problem(in, kernel, text.bytes);
    lth__string_free(&text);
    return p;
}

/* ---- By the definition ---- */

/* phi[t]: windows in which tuple t stands, found by all sets of places. */
static void count_windows(size_t g, size_t k, const char *text, size_t length, double *phi) {
    memset(phi, 0, MOST_TUPLES * sizeof *phi);
    for (size_t i = 0; i + g <= length; i++) {
        bool has[MOST_TUPLES] = {false};
        for (unsigned set = 0; set < 1U << g; set++) {
            if ((size_t)__builtin_popcount(set) != k) continue;
            size_t tuple = 0;
            for (size_t t = 0; t < g; t++) {
                if (set >> t & 1) tuple = tuple * LETTERS + (size_t)(toupper(text[i + t]) - 'A');
            }
            assert_true(tuple < MOST_TUPLES);
            has[tuple] = true;
        }
        for (size_t t = 0; t < MOST_TUPLES; t++) phi[t] += has[t];
    }
}

static void values(void **state) {
    (void)state;
    static const struct {
        const char *kernel;
        size_t g, k;
    } all[] = {
        {"gappy(seq)", 6, 4},           {"gappy(seq, g=4, k=4)", 4, 4},
        {"gappy(seq, g=7, k=2)", 7, 2}, {"gappy(seq, g=5, k=1)", 5, 1},
        {"gappy(seq, g=9, k=5)", 9, 5}, {"gappy(seq, g=3)", 3, 3},
    };
    double(*phi)[MOST_TUPLES] = calloc(ROWS, sizeof *phi);
    assert_non_null(phi);
    for (size_t n = 0; n < sizeof all / sizeof *all; n++) {
        problem p = open_in(ctx, all[n].kernel, "ABCDa");
        lth_error err = {0};
        double K[ROWS * ROWS], self[ROWS];
        problem_fill(&p, K);
        support_ok(lth_gram_diagonal(p.kernel, p.items, self, &err), &err);
        for (size_t i = 0; i < ROWS; i++) {
            size_t length;
            const char *text = lth_table_cell(p.table, i, 1, &length);
            count_windows(all[n].g, all[n].k, text, length, phi[i]);
        }
        for (size_t i = 0; i < ROWS; i++) {
            for (size_t j = 0; j < ROWS; j++) {
                double wanted = 0;
                for (size_t t = 0; t < MOST_TUPLES; t++) wanted += phi[i][t] * phi[j][t];
                if (K[i * ROWS + j] != wanted)
                    fail_msg("%s: %zu, %zu: %g, not %g", all[n].kernel, i, j, K[i * ROWS + j],
                             wanted);
                if (i == j) assert_true(self[i] == wanted);
            }
        }
        problem_close(&p);
    }
    free(phi);
}

/* Where nothing is between, it is ngrams; words are units, too, and case may matter. */
static void relatives(void **state) {
    (void)state;
    static const struct {
        const char *one, *other, *letters;
    } all[] = {
        {"gappy(seq, g=3, k=3, lower=no)", "ngrams(seq, n=3)", "ABa"},
        {"gappy(seq, g=3, k=3, weighting=presence)",
         "ngrams(seq, n=3, lower=yes, weighting=presence)", "ABa"},
        {"gappy(seq, g=2, k=2, units=words)", "ngrams(seq, n=2, units=words)", "ab "},
    };
    for (size_t n = 0; n < sizeof all / sizeof *all; n++) {
        double K[ROWS * ROWS], L[ROWS * ROWS];
        problem p = open_in(ctx, all[n].one, all[n].letters);
        problem q = open_in(ctx, all[n].other, all[n].letters);
        problem_fill(&p, K);
        problem_fill(&q, L);
        assert_memory_equal(K, L, sizeof K);
        problem_close(&p), problem_close(&q);
    }
}

/* No negative eigenvalue, and one thread is as good as several. */
static void matrices(void **state) {
    (void)state;
    lth_ctx *one = support_context(1);
    problem p = open_in(ctx, "normalize(gappy(seq, g=5, k=3))", "ABCD");
    problem q = open_in(one, "normalize(gappy(seq, g=5, k=3))", "ABCD");
    double K[ROWS * ROWS], L[ROWS * ROWS], value[ROWS], U[ROWS * ROWS];
    problem_fill(&p, K);
    problem_fill(&q, L);
    assert_memory_equal(K, L, sizeof K);
    lth__eigen(ROWS, K, value, U);
    assert_true(value[0] > 0 && value[ROWS - 1] > -1e-12 * value[0]);
    problem_close(&p), problem_close(&q);
    lth_ctx_free(one);
}

static void refused(void **state) {
    (void)state;
    static const struct {
        const char *kernel, *message;
    } all[] = {
        {"gappy(seq, g=13)", "g of gappy is a whole number from 1 to 12"},
        {"gappy(seq, g=5, k=6)", "k of gappy is a whole number from 1 to 5"},
        {"gappy(seq, k=0)", "k of gappy is a whole number from 1 to 6"},
        {"gappy(seq, n=2)", "gappy has no argument \"n\""},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        lth_kernel *kernel = NULL;
        lth_error err = {0};
        assert_int_equal(lth_kernel_parse(ctx, all[i].kernel, &kernel, &err), LTH_EFORMAT);
        if (!strstr(err.message, all[i].message)) fail_msg("%zu: %s", i, err.message);
    }
}

/* ---- Models ---- */

/* The same from a file, and reasons that add up. */
static void models(void **state) {
    (void)state;
    lth_error err = {0};
    lth__string text = {0};
    lth_gp *loaded = NULL;
    write_rows(&text, "ABCD");
    lth_table *table = support_table(ctx, text.bytes);
    lth_gp_options options = support_fixed();
    lth_gp *gp = support_fit(ctx, "2 * normalize(gappy(seq, g=5, k=3)) + 0.1", table, 1, &options);
    support_ok(lth_gp_save(gp, "m", &err), &err);
    support_ok(lth_gp_load(ctx, "m", &loaded, &err), &err);
    unlink("m");
    double *a = support_predict(gp, table, false), *b = support_predict(loaded, table, false);
    assert_memory_equal(a, b, 2 * ROWS * sizeof *a);
    for (size_t row = 0; row < ROWS; row++) {
        lth_reasons *reasons = NULL;
        support_ok(lth_gp_explain(loaded, table, row, NULL, &reasons, &err), &err);
        support_near(lth_reasons_summarise(reasons)->missed, 0, 1e-9);
        lth_reasons_free(reasons);
    }
    free(a);
    free(b);
    lth_gp_free(gp);
    lth_gp_free(loaded);
    lth_table_free(table);
    lth__string_free(&text);
}

static lth_status use_all(void *user, lth_error *err) {
    problem p = {0};
    lth_table *table = user;
    double K[ROWS * ROWS];
    lth_status status = lth_kernel_parse(ctx, "gappy(seq, g=5, k=3)", &p.kernel, err);
    if (status == LTH_OK) status = lth_encoder_create(ctx, p.kernel, &p.encoder, err);
    if (status == LTH_OK) status = lth_encode(p.encoder, table, &p.items, err);
    if (status == LTH_OK) status = lth_gram(p.kernel, p.items, NULL, K, ROWS, err);
    problem_close(&p);
    return status;
}

static void each_allocation_fails(void **state) {
    (void)state;
    lth__string text = {0};
    write_rows(&text, "ABCD");
    lth_table *table = support_table(ctx, text.bytes);
    fail_each(use_all, table, false, 20);
    lth_table_free(table);
    lth__string_free(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values),   cmocka_unit_test(relatives),
        cmocka_unit_test(matrices), cmocka_unit_test(refused),
        cmocka_unit_test(models),   cmocka_unit_test(each_allocation_fails),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
