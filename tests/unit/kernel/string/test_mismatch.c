/* The mismatch kernel: values by counting all k-mers of the alphabet, what is no letter, new
 * letters, several threads, what is refused, models and their reasons. */
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

enum { ROWS = 17, LONGEST = 160, MOST_KMERS = 4096 };
static lth_ctx *ctx;
static char folder[] = "test_mismatch.XXXXXX";

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

/* Rows of many lengths: none, too short for a k-mer, both sides of what a vector holds. */
static void write_rows(lth__string *text, const char *letters) {
    static const size_t length[ROWS] = {0,  1,  2,  3,  4,  9,  15,      16, 17,
                                        33, 40, 64, 65, 90, 11, LONGEST, 5};
    lth__random random;
    lth__random_seed(&random, 5);
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

/* ---- By the k-mers themselves ---- */

typedef struct setting {
    const char *kernel, *letters; /* of the rows */
    const char *alphabet;         /* upper case  */
    size_t k, m;
} setting;

static const setting settings[] = {
    {"mismatch(seq, k=3, alphabet=dna)", "ACGTNacgtu-", "ACGT", 3, 1},
    {"mismatch(seq, alphabet=dna)", "ACGT", "ACGT", 5, 1},
    {"mismatch(seq, k=6, m=2, alphabet=dna)", "ACGTN", "ACGT", 6, 2},
    {"mismatch(seq, k=4, m=0, alphabet=dna)", "ACGT", "ACGT", 4, 0},
    {"mismatch(seq, k=4, m=2, alphabet=dna)", "ACGTT", "ACGT", 4, 2}, /* all places may differ */
    {"mismatch(seq, k=4, m=3, alphabet=dna)", "ACGTN", "ACGT", 4, 3},
    {"mismatch(seq, k=1, alphabet=dna)", "ACGTN", "ACGT", 1, 0},
    {"mismatch(seq, k=2, alphabet=protein)", "ACDEFGHIKLMNPQRSTVWYXBZ*-", "ACDEFGHIKLMNPQRSTVWY", 2,
     1},
    {"mismatch(seq, k=4, m=1)", "xYzW(", "(WXYZ", 4, 1},
    {"mismatch(seq, k=3, m=2, alphabet=\"aB\")", "ABCA", "AB", 3, 2},
    {"mismatch(seq, k=3, m=1)", "A", "A", 3, 1},
};

/* How many k-mers of a row are at most m places from each k-mer of the alphabet. */
static void count_neighbours(const setting *s, const char *text, size_t length, double *phi) {
    size_t A = strlen(s->alphabet), kmers = 1;
    for (size_t i = 0; i < s->k; i++) kmers *= A;
    assert_true(kmers <= MOST_KMERS);
    memset(phi, 0, MOST_KMERS * sizeof *phi);
    for (size_t i = 0; i + s->k <= length; i++) {
        size_t letter[8] = {0};
        bool whole = true;
        for (size_t t = 0; t < s->k; t++) {
            char x = (char)toupper(text[i + t]);
            if (x == 'U' && strcmp(s->alphabet, "ACGT") == 0) x = 'T';
            const char *at = strchr(s->alphabet, x);
            whole = whole && at;
            if (at) letter[t] = (size_t)(at - s->alphabet);
        }
        for (size_t b = 0; whole && b < kmers; b++) {
            size_t far = 0;
            for (size_t t = 0, rest = b; t < s->k; t++, rest /= A) far += rest % A != letter[t];
            phi[b] += far <= s->m;
        }
    }
}

static void values(void **state) {
    (void)state;
    double(*phi)[MOST_KMERS] = calloc(ROWS, sizeof *phi);
    assert_non_null(phi);
    for (size_t n = 0; n < sizeof settings / sizeof *settings; n++) {
        const setting *s = &settings[n];
        problem p = open_in(ctx, s->kernel, s->letters);
        lth_error err = {0};
        double K[ROWS * ROWS], self[ROWS];
        problem_fill(&p, K);
        support_ok(lth_gram_diagonal(p.kernel, p.items, self, &err), &err);
        for (size_t i = 0; i < ROWS; i++) {
            size_t length;
            const char *text = lth_table_cell(p.table, i, 1, &length);
            count_neighbours(s, text, length, phi[i]);
        }
        for (size_t i = 0; i < ROWS; i++) {
            for (size_t j = 0; j < ROWS; j++) {
                double wanted = 0;
                for (size_t b = 0; b < MOST_KMERS; b++) wanted += phi[i][b] * phi[j][b];
                if (K[i * ROWS + j] != wanted)
                    fail_msg("%s: %zu, %zu: %g, not %g", s->kernel, i, j, K[i * ROWS + j], wanted);
                if (i == j) assert_true(self[i] == wanted);
            }
        }
        problem_close(&p);
    }
    free(phi);
}

static void no_negative_eigenvalue(void **state) {
    (void)state;
    problem p = open_in(ctx, "mismatch(seq, k=7, m=2)", "ABCDEFGHIJ");
    double K[ROWS * ROWS], value[ROWS], U[ROWS * ROWS];
    problem_fill(&p, K);
    lth__eigen(ROWS, K, value, U);
    assert_true(value[0] > 0 && value[ROWS - 1] > -1e-12 * value[0]);
    problem_close(&p);
}

/* One thread and several, and what is kept while a variance is learned. */
static void same_bits(void **state) {
    (void)state;
    double K[ROWS * ROWS], L[ROWS * ROWS], W[ROWS * ROWS], gradient[2], again[2];
    lth_error err = {0};
    lth_ctx *one = support_context(1);
    static const char kernel[] = "3 * normalize(mismatch(seq, k=4))";
    problem p = open_in(ctx, kernel, "ACGT"), q = open_in(one, kernel, "ACGT");
    problem_fill(&p, K);
    problem_fill(&q, L);
    assert_memory_equal(K, L, sizeof K);
    for (size_t i = 0; i < ROWS * ROWS; i++) W[i] = sin((double)i);
    support_ok(lth_gram_pull(p.kernel, p.items, NULL, W, ROWS, gradient, &err), &err);
    support_ok(lth_gram_pull(q.kernel, q.items, NULL, W, ROWS, again, &err), &err);
    assert_memory_equal(gradient, again, sizeof *gradient);
    double sum = 0;
    for (size_t i = 0; i < ROWS * ROWS; i++) sum += W[i] * K[i] / 3;
    support_near(*gradient, sum, 1e-12);
    problem_close(&p), problem_close(&q);
    lth_ctx_free(one);
}

/* ---- Alphabets ---- */

static void printed(const problem *p, const char *wanted) {
    char text[256];
    lth_kernel_print(p->kernel, text, sizeof text);
    assert_string_equal(text, wanted);
}

/* The letters of the first table are part of the expression, whatever the order of its rows; a new
 * one leaves its k-mers out. */
static void letters_of_a_table(void **state) {
    (void)state;
    lth_error err = {0};
    double K[2], self;
    problem p = support_problem(ctx, "mismatch(seq, k=2)", "seq\ncab\nBA\n");
    problem q = support_problem(ctx, "mismatch(seq, k=2)", "seq\n\xc3\xa9 \"\n");
    printed(&p, "mismatch(seq, k=2, alphabet=abc)");
    printed(&q, "mismatch(seq, k=2, alphabet=\" \"\"\xc3\xa9\")");
    lth_table *table = support_table(ctx, "seq\nabzba\n");
    lth_items *new = NULL;
    support_ok(lth_encode(p.encoder, table, &new, &err), &err);
    support_ok(lth_gram(p.kernel, new, p.items, K, 2, &err), &err);
    support_ok(lth_gram(p.kernel, new, NULL, &self, 1, &err), &err);
    /* I(0) = 5, I(1) = 3, I(2) = 2 with three letters: ab and ba with ca and ab, and with ba. */
    assert_true(K[0] == 2 + 5 + 3 + 2 && K[1] == 2 + 5);
    assert_true(self == 2 * 5 + 2 * 2);
    lth_items_free(new);
    lth_table_free(table);
    problem_close(&p), problem_close(&q);
}

static void refused(void **state) {
    (void)state;
    static const struct {
        const char *kernel, *message;
    } all[] = {
        {"mismatch(seq, k=0)", "k of mismatch is a whole number from 1 to 20"},
        {"mismatch(seq, k=21)", "k of mismatch is a whole number from 1 to 20"},
        {"mismatch(seq, k=4, m=4)", "m of mismatch is a whole number from 0 to 3"},
        {"mismatch(seq, m=-1)", "m of mismatch"},
        {"mismatch(seq, alphabet=20)", "or its letters"},
        {"mismatch(seq, alphabet=[a,b])", "or its letters"},
        {"mismatch(seq, alphabet=\"\")", "these are 0"},
        {"mismatch(seq, alphabet=dna)", "row 2 has \"z\" at place 3 of \"seq\""},
        {"mismatch(seq, alphabet=protein)", "row 2 has \"1\" at place 4 of \"seq\""},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        problem p;
        lth_error err = {0};
        double K[4];
        lth_status status = problem_try(ctx, all[i].kernel, "seq\nACG\nACZ1\n", &p, &err);
        if (status == LTH_OK) status = lth_gram(p.kernel, p.items, NULL, K, 2, &err);
        assert_int_equal(status, LTH_EFORMAT);
        if (!strstr(err.message, all[i].message)) fail_msg("%zu: %s", i, err.message);
        problem_close(&p);
    }
    problem p;
    lth_error err = {0};
    assert_int_equal(problem_try(ctx, "mismatch(seq)", "seq\n\n", &p, &err), LTH_EFORMAT);
    assert_non_null(strstr(err.message, "0 different characters"));
    problem_close(&p);
}

/* ---- Models ---- */

/* The same from a file, and reasons that add up. */
static void check_model(const char *kernel) {
    lth_error err = {0};
    lth__string text = {0};
    lth_gp *loaded = NULL;
    write_rows(&text, "ACGTN");
    lth_table *table = support_table(ctx, text.bytes);
    lth_gp_options options = support_fixed();
    lth_gp *gp = support_fit(ctx, kernel, table, 1, &options);
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

static void models(void **state) {
    (void)state;
    check_model("2 * normalize(mismatch(seq, k=3, alphabet=dna)) + 0.1");
    check_model("2 * normalize(mismatch(seq, k=3, m=2)) + 0.1");
}

static lth_status use_all(void *user, lth_error *err) {
    problem p = {0};
    lth_table *table = user;
    double K[ROWS * ROWS];
    lth_status status = lth_kernel_parse(ctx, "mismatch(seq, k=3)", &p.kernel, err);
    if (status == LTH_OK) status = lth_kernel_resolve(&p.kernel, table, err);
    if (status == LTH_OK) status = lth_encoder_create(ctx, p.kernel, &p.encoder, err);
    if (status == LTH_OK) status = lth_encode(p.encoder, table, &p.items, err);
    if (status == LTH_OK) status = lth_gram(p.kernel, p.items, NULL, K, ROWS, err);
    problem_close(&p);
    return status;
}

static void each_allocation_fails(void **state) {
    (void)state;
    lth__string text = {0};
    write_rows(&text, "ACGT");
    lth_table *table = support_table(ctx, text.bytes);
    fail_each(use_all, table, false, 20);
    lth_table_free(table);
    lth__string_free(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values),
        cmocka_unit_test(no_negative_eigenvalue),
        cmocka_unit_test(same_bits),
        cmocka_unit_test(letters_of_a_table),
        cmocka_unit_test(refused),
        cmocka_unit_test(models),
        cmocka_unit_test(each_allocation_fails),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
