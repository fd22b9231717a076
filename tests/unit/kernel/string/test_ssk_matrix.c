/* The string kernel whose letters match by a matrix: values by enumeration, derivatives by
 * differences, no negative eigenvalue, what is refused, models and their reasons. */
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
#include "kernel/string/substitution.h"
#include "problem_support.h"
#include "reference.h"

enum { ROWS = 21, LONGEST = 7, ORDER = 3 };
static lth_ctx *ctx;
static char folder[] = "test_ssk_matrix.XXXXXX";

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

/* Rows of 0 to LONGEST letters, in both cases; the last one is empty. */
static void write_rows(lth__string *text, uint64_t seed) {
    static const char alphabet[] = "ACDWKivlx-*";
    lth__random random;
    lth__random_seed(&random, seed);
    lth__string_format(text, "seq\ty\n");
    for (size_t i = 0; i < ROWS; i++) {
        size_t length = i + 1 < ROWS ? 1 + lth__random_below(&random, LONGEST) : 0;
        for (size_t l = 0; l < length; l++)
            lth__string_format(text, "%c",
                               alphabet[lth__random_below(&random, sizeof alphabet - 1)]);
        lth__string_format(text, "\t%zu\n", i * i % 11);
    }
}

static problem open_problem(lth_ctx *with, const char *kernel) {
    lth__string text = {0};
    write_rows(&text, 3);
    problem p = support_problem(with, kernel, text.bytes);
    lth__string_free(&text);
    return p;
}

/* ---- Values ---- */

typedef struct parameters {
    const char *matrix; /* NULL = identity */
    double exponent, gap, match, weights[ORDER];
} parameters;

/* exp(-exponent D) of every position of x with every one of y, and all tuples of positions. */
static double reference(const parameters *a, const lth__substitution *matrix, const char *x,
                        size_t p, const char *y, size_t q) {
    double S[LONGEST * LONGEST], k[ORDER], sum = 0;
    for (size_t i = 0; i < p; i++) {
        for (size_t j = 0; j < q; j++) {
            double D = x[i] != y[j];
            if (matrix)
                D = matrix->distance[lth__substitution_letter(matrix, x[i]) * LTH__MOST_LETTERS +
                                     lth__substitution_letter(matrix, y[j])];
            S[i * q + j] = exp(-a->exponent * D);
        }
    }
    reference_brute(&(reference_pair){p, q, S, a->gap, a->match}, ORDER, k);
    for (size_t i = 0; i < ORDER; i++) sum += a->weights[i] * k[i];
    return sum;
}

static void check_values(lth_ctx *with, const parameters *a, double tolerance) {
    char kernel[256];
    lth__substitution matrix;
    lth_error err = {0};
    double K[ROWS * ROWS], self[ROWS];
    snprintf(kernel, sizeof kernel,
             "ssk(seq, order=3, sim=matrix, matrix=%s, exponent=%g, gap=%g, match=%g, "
             "weights=[%g,%g,%g])",
             a->matrix ? a->matrix : "identity", a->exponent, a->gap, a->match, a->weights[0],
             a->weights[1], a->weights[2]);
    if (a->matrix) assert_true(lth__substitution_find(a->matrix, &matrix));
    problem p = open_problem(with, kernel);
    problem_fill(&p, K);
    support_ok(lth_gram_diagonal(p.kernel, p.items, self, &err), &err);
    for (size_t i = 0; i < ROWS; i++) {
        for (size_t j = 0; j < ROWS; j++) {
            size_t x_length, y_length;
            const char *x = lth_table_cell(p.table, i, 0, &x_length);
            const char *y = lth_table_cell(p.table, j, 0, &y_length);
            double wanted = reference(a, a->matrix ? &matrix : NULL, x, x_length, y, y_length);
            support_near(K[i * ROWS + j], wanted, tolerance);
            if (i == j) support_near(self[i], wanted, tolerance);
        }
    }
    problem_close(&p);
}

static void values(void **state) {
    (void)state;
    static const parameters all[] = {
        {"blosum62", 3, 0.5, 1, {1, 1, 1}},      {"blosum45", 0.4, 0.7, 1.1, {1, 0.5, 2}},
        {"blosum80", 20, 0.2, 0.9, {0.3, 1, 1}}, {"pam250", 1, 1, 1, {1, 2, 0.5}},
        {NULL, 1.5, 0.4, 1, {1, 1, 1}},          {"blosum50", 0, 0, 1, {1, 1, 1}},
    };
    lth_ctx_options options;
    lth_ctx_options_init(&options);
    options.precision = LTH_F32;
    lth_ctx *single = NULL;
    assert_int_equal(lth_ctx_create(&options, &single, NULL), LTH_OK);
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        check_values(ctx, &all[k], 1e-13);
        check_values(single, &all[k], 1e-5);
    }
    lth_ctx_free(single);
}

/* Equal letters match fully, so that a large exponent is exact matching; case does not matter. */
static void limits(void **state) {
    (void)state;
    double K[ROWS * ROWS], L[ROWS * ROWS];
    problem p = open_problem(ctx, "ssk(seq, sim=matrix, exponent=10000)");
    problem q = open_problem(ctx, "ssk(seq, units=chars, lower=yes)");
    problem_fill(&p, K);
    problem_fill(&q, L);
    for (size_t i = 0; i < ROWS * ROWS; i++) support_near(K[i], L[i], 1e-14);
    problem_close(&p), problem_close(&q);
}

/* A few rows, for which a table of letters does not pay, and rows with letters that the others
 * lack, have the values that they have among all. */
static void rows_against_others(void **state) {
    (void)state;
    lth_error err = {0};
    static const char all[] = "seq\nMKVAW\nACDA\nYQ\n";
    double K[9], L[2];
    problem p = support_problem(ctx, "ssk(seq, sim=matrix, order=2)", all);
    problem q = support_problem(ctx, "ssk(seq, sim=matrix, order=2)", "seq\nMKVAW\nACDA\n");
    lth_table *table = support_table(ctx, "seq\nYQ\n");
    lth_items *one = NULL;
    problem_fill(&p, K);
    support_ok(lth_encode(q.encoder, table, &one, &err), &err);
    support_ok(lth_gram(q.kernel, one, q.items, L, 2, &err), &err);
    for (size_t j = 0; j < 2; j++) support_near(L[j], K[6 + j], 1e-15);
    support_ok(lth_gram(q.kernel, one, NULL, L, 1, &err), &err);
    support_near(*L, K[8], 1e-15);
    lth_items_free(one);
    lth_table_free(table);
    problem_close(&p), problem_close(&q);
}

static void no_negative_eigenvalue(void **state) {
    (void)state;
    static const char *const kernels[] = {
        "ssk(seq, sim=matrix, exponent=0.5)", "ssk(seq, sim=matrix, matrix=pam250)",
        "normalize(ssk(seq, sim=matrix, matrix=blosum45, exponent=2, gap=0.9))",
        "ssk(seq, sim=matrix, matrix=identity, exponent=0.3)"};
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
        double K[ROWS * ROWS], value[ROWS], U[ROWS * ROWS];
        problem p = open_problem(ctx, kernels[k]);
        problem_fill(&p, K);
        lth__eigen(ROWS, K, value, U);
        assert_true(value[0] > 0 && value[ROWS - 1] > -1e-12 * value[0]);
        problem_close(&p);
    }
}

/* ---- Derivatives ---- */

static void check_gradient(const char *kernel) {
    problem p = open_problem(ctx, kernel);
    lth_error err = {0};
    size_t params = lth_kernel_params(p.kernel);
    double W[ROWS * ROWS], K[ROWS * ROWS], gradient[16];
    double *each = calloc(params * ROWS * ROWS, sizeof *each);
    for (size_t i = 0; i < ROWS * ROWS; i++) W[i] = sin((double)i);
    support_ok(lth_gram_pull(p.kernel, p.items, NULL, W, ROWS, gradient, &err), &err);
    support_ok(lth_gram_gradients(p.kernel, p.items, NULL, each, &err), &err);
    for (size_t q = 0; q < params; q++) {
        double at = lth_kernel_param(p.kernel, q)->value, sum[2] = {0}, whole = 0;
        const double h = 1e-5;
        for (int side = 0; side < 2; side++) {
            support_ok(lth_kernel_set(p.kernel, q, side ? at + h : at - h, &err), &err);
            problem_fill(&p, K);
            for (size_t i = 0; i < ROWS * ROWS; i++) sum[side] += W[i] * K[i];
        }
        support_ok(lth_kernel_set(p.kernel, q, at, &err), &err);
        for (size_t i = 0; i < ROWS * ROWS; i++) whole += W[i] * each[q * ROWS * ROWS + i];
        support_near(gradient[q], (sum[1] - sum[0]) / (2 * h), 1e-7);
        support_near(whole, gradient[q], 1e-12);
    }
    free(each);
    problem_close(&p);
}

static void gradients(void **state) {
    (void)state;
    check_gradient("ssk(seq, order=3, sim=matrix, exponent=1.3, gap=0.4, match=0.9)");
    check_gradient("normalize(ssk(seq, order=4, sim=matrix, matrix=pam250, exponent=0.7))");
    check_gradient("2 * ssk(seq, order=2, sim=matrix, matrix=identity) + ssk(seq, sim=matrix)");
}

/* ---- Expressions ---- */

static const char own_matrix[] = "# mine\n  A C D\nA 4 0 0\nC 0 4 1\nD 0 1 4\n";
static const char own_rows[] = "seq\ty\nACD\t1\nCDDA\t2\nAA\t3\nDC\t1\nCACA\t5\n";

static void wild_types(void **state) {
    (void)state;
    double K[9], L[9];
    problem p =
        support_problem(ctx, "ssk(seq, sim=matrix, wild_type=MKVAG)", "seq\nWT\nK2R\nV3del:A4W\n");
    problem q = support_problem(ctx, "ssk(seq, sim=matrix)", "seq\nMKVAG\nMRVAG\nMKWG\n");
    problem_fill(&p, K);
    problem_fill(&q, L);
    assert_memory_equal(K, L, sizeof K);
    problem_close(&p), problem_close(&q);
}

static void refused(void **state) {
    (void)state;
    static const struct {
        const char *kernel, *message;
    } all[] = {
        {"ssk(seq, matrix=blosum62)", "matrix goes with sim=matrix"},
        {"ssk(seq, exponent=2)", "exponent goes with sim=matrix"},
        {"ssk(seq, sim=exp, matrix=blosum62)", "matrix goes with sim=matrix"},
        {"ssk(seq, sim=matrix, units=words)", "sim=matrix goes with units=chars"},
        {"ssk(seq, sim=matrix, units=bytes)", "sim=matrix goes with units=chars"},
        {"ssk(seq, sim=matrix, rarity=0.1)", "rarity goes with words"},
        {"ssk(seq, sim=matrix, oov=zero)", "oov goes with word vectors"},
        {"ssk(seq, sim=matrix, ard=3)", "ard goes with sim=exp"},
        {"ssk(seq, sim=matrix, temperature=3)", "temperature goes with sim=exp"},
        {"ssk(seq, sim=matrix, matrix=3)", "or a file"},
        {"ssk(seq, sim=matrix, matrix=nowhere)", "cannot open"},
        {"ssk(seq, sim=matrix, matrix=[AC,1,5,1])", "eigenvalue"},
        {"ssk(seq, sim=matrix)", "row 2 has \"1\" at site 3 of \"seq\""},
        {"ssk(seq, sim=matrix, matrix=[AC,1,0,1])", "row 1 has \"D\" at site 3"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        problem p;
        lth_error err = {0};
        double K[4];
        lth_status status = problem_try(ctx, all[i].kernel, "seq\nACD\nAC1\n", &p, &err);
        if (status == LTH_OK) status = lth_gram(p.kernel, p.items, NULL, K, 2, &err);
        assert_int_equal(status, LTH_EFORMAT);
        if (!strstr(err.message, all[i].message)) fail_msg("%zu: %s", i, err.message);
        problem_close(&p);
    }
}

/* ---- Models ---- */

/* A file of one's own is in the model; reasons add up. */
static void models(void **state) {
    (void)state;
    lth_error err = {0};
    lth_gp *loaded = NULL;
    lth_reasons *reasons = NULL;
    char kernel[256], *path = support_file(own_matrix, strlen(own_matrix));
    snprintf(kernel, sizeof kernel, "ssk(seq, order=3, sim=matrix, matrix=\"%s\")", path);
    lth_table *table = support_table(ctx, own_rows);
    lth_gp_options options;
    lth_gp_options_init(&options);
    options.restarts = 0;
    options.max_iter = 5;
    lth_gp *gp = support_fit(ctx, kernel, table, 1, &options);
    support_remove(path);
    assert_true(lth_kernel_param(lth_gp_kernel(gp), support_param(gp, "ssk.exponent"))->value != 3);
    support_ok(lth_gp_save(gp, "m", &err), &err);
    support_ok(lth_gp_load(ctx, "m", &loaded, &err), &err);
    unlink("m");
    double *a = support_predict(gp, table, false), *b = support_predict(loaded, table, false);
    assert_memory_equal(a, b, 2 * 5 * sizeof *a);
    support_ok(lth_gp_explain(loaded, table, 3, NULL, &reasons, &err), &err);
    support_near(lth_reasons_summarise(reasons)->missed, 0, 1e-9);
    lth_reasons_free(reasons);
    lth_table *strange = support_table(ctx, "seq\ty\nAC\t1\nAE\t1\n");
    double mean[2], sd[2];
    assert_int_equal(lth_gp_predict(loaded, strange, false, mean, sd, &err), LTH_EFORMAT);
    assert_non_null(strstr(err.message, "row 2 has \"E\" at site 2"));
    lth_table_free(strange);
    free(a);
    free(b);
    lth_gp_free(gp);
    lth_gp_free(loaded);
    lth_table_free(table);
}

static lth_status use_all(void *user, lth_error *err) {
    problem p = {0};
    lth_table *table = user;
    double K[25], W[25] = {1}, gradient[16];
    lth_status status = lth_kernel_parse(
        ctx, "ssk(seq, order=2, sim=matrix, matrix=[\"ACD\",4,0,4,0,1,4])", &p.kernel, err);
    if (status == LTH_OK) status = lth_encoder_create(ctx, p.kernel, &p.encoder, err);
    if (status == LTH_OK) status = lth_encode(p.encoder, table, &p.items, err);
    if (status == LTH_OK) status = lth_gram(p.kernel, p.items, NULL, K, 5, err);
    if (status == LTH_OK) status = lth_gram_pull(p.kernel, p.items, NULL, W, 5, gradient, err);
    problem_close(&p);
    return status;
}

static void each_allocation_fails(void **state) {
    (void)state;
    lth_table *table = support_table(ctx, own_rows);
    fail_each(use_all, table, false, 20);
    lth_table_free(table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values),
        cmocka_unit_test(limits),
        cmocka_unit_test(rows_against_others),
        cmocka_unit_test(no_negative_eigenvalue),
        cmocka_unit_test(gradients),
        cmocka_unit_test(wild_types),
        cmocka_unit_test(refused),
        cmocka_unit_test(models),
        cmocka_unit_test(each_allocation_fails),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
