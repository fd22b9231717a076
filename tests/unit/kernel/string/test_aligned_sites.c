/* Aligned sequences: matrices, values by the formula, derivatives by differences, what is refused,
 * models and their reasons. */
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
#include "kernel/core/kernel.h"
#include "kernel/string/substitution.h"
#include "problem_support.h"

enum { ROWS = 17, SITES = 6 };
static lth_ctx *ctx;
static char folder[] = "test_aligned_sites.XXXXXX";

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

/* ---- Matrices ---- */

static double far(const lth__substitution *s, char a, char b) {
    return s->distance[lth__substitution_letter(s, a) * LTH__MOST_LETTERS +
                       lth__substitution_letter(s, b)];
}

/* Every published one is a squared distance, of its other letters too. */
static void matrices(void **state) {
    (void)state;
    static const char *const names[] = {"blosum45", "blosum50", "blosum62", "blosum80", "pam250"};
    for (size_t m = 0; m < sizeof names / sizeof *names; m++) {
        lth__substitution s;
        assert_true(lth__substitution_find(names[m], &s));
        size_t n = s.count;
        assert_int_equal(n, 29);
        double G[29 * 29], value[29], U[29 * 29], mean[29] = {0}, all = 0;
        for (size_t a = 0; a < n; a++) {
            for (size_t b = 0; b < n; b++)
                mean[a] += s.distance[a * LTH__MOST_LETTERS + b] / (double)n;
            all += mean[a] / (double)n;
            assert_true(s.distance[a * LTH__MOST_LETTERS + a] == 0);
            for (size_t b = 0; b < a; b++)
                assert_true(s.distance[a * LTH__MOST_LETTERS + b] ==
                            s.distance[b * LTH__MOST_LETTERS + a]);
        }
        for (size_t i = 0; i < n * n; i++)
            G[i] = mean[i / n] + mean[i % n] - all - s.distance[i / n * LTH__MOST_LETTERS + i % n];
        lth__eigen(n, G, value, U);
        assert_true(value[n - 1] > -1e-9 * value[0]);
        assert_true(far(&s, 'B', 'N') == far(&s, 'n', 'b'));
        support_near(far(&s, 'B', 'N'), far(&s, 'N', 'D') / 4, 1e-12); /* half way, squared */
        assert_true(far(&s, '-', 'A') > 1);
        assert_true(far(&s, '-', '.') == 0 && far(&s, 'U', 'C') == 0);
        assert_true(lth__substitution_letter(&s, '1') == LTH_NONE);
    }
    lth__substitution s;
    assert_false(lth__substitution_find("blosum", &s));
    assert_true(lth__substitution_find("blosum62", &s));
    support_near(far(&s, 'W', 'A') / far(&s, 'I', 'V'), ((11 + 4) / 2.0 + 3) / (4 - 3), 1e-12);
    double sum = 0;
    for (size_t a = 0; a < 20; a++) {
        for (size_t b = 0; b < 20; b++) sum += s.distance[a * LTH__MOST_LETTERS + b];
    }
    support_near(sum / (20 * 19), 1, 1e-12);
}

/* ---- Values ---- */

static const char alphabet[] = "ACDW-";

static void write_rows(lth__string *text) {
    lth__random random;
    lth__random_seed(&random, 3);
    lth__string_format(text, "seq\ty\n");
    for (size_t i = 0; i < ROWS; i++) {
        for (size_t l = 0; l < SITES; l++) {
            size_t letter = (size_t)(lth__random_uniform(&random) * (sizeof alphabet - 1));
            lth__string_format(text, "%c", l == 2 ? 'K' : alphabet[letter]); /* one never differs */
        }
        lth__string_format(text, "\t%zu\n", i * i % 11);
    }
}

static problem open_problem(const char *kernel) {
    lth__string text = {0};
    write_rows(&text);
    problem p = support_problem(ctx, kernel, text.bytes);
    lth__string_free(&text);
    return p;
}

static double value_of(const problem *p, const char *path) {
    for (size_t i = 0; i < lth_kernel_params(p->kernel); i++) {
        const lth_param *param = lth_kernel_param(p->kernel, i);
        if (strcmp(param->path, path) == 0) return param->value;
    }
    return 0;
}

/* By the formula, site by site. */
static double reference(const problem *p, const lth__substitution *matrix, size_t i, size_t j) {
    size_t length;
    const char *x = lth_table_cell(p->table, i, 0, &length);
    const char *y = lth_table_cell(p->table, j, 0, &length);
    double sum = 0, near = 0;
    for (size_t l = 0; l < SITES; l++) {
        char path[32];
        snprintf(path, sizeof path, "sites.exponent[%zu]", l + 1);
        double D = matrix ? far(matrix, x[l], y[l]) : x[l] != y[l];
        sum += value_of(p, path) * D;
        near += exp(-value_of(p, path) * D) / SITES;
    }
    return value_of(p, "sites.variance") * exp(-sum) + value_of(p, "sites.additive") * near;
}

#define EXPONENTS "exponent=[0.3,0.9,0.5,0,1.4,0.2]"

static void values(void **state) {
    (void)state;
    static const struct {
        const char *kernel, *matrix;
    } all[] = {
        {"sites(seq, variance=1.5, " EXPONENTS ")", NULL},
        {"sites(seq, form=sum, additive=0.7, " EXPONENTS ")", NULL},
        {"sites(seq, form=both, additive=0.7, " EXPONENTS ")", NULL},
        {"sites(seq, matrix=blosum62, " EXPONENTS ")", "blosum62"},
        {"sites(seq, matrix=pam250, form=both, variance=2, " EXPONENTS ")", "pam250"},
        {"sites(seq, matrix=blosum50, form=sum, " EXPONENTS ")", "blosum50"},
    };
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        lth_error err = {0};
        lth__substitution matrix;
        double K[ROWS][ROWS], self[ROWS];
        problem p = open_problem(all[k].kernel);
        if (all[k].matrix) assert_true(lth__substitution_find(all[k].matrix, &matrix));
        problem_fill(&p, K[0]);
        support_ok(lth_gram_diagonal(p.kernel, p.items, self, &err), &err);
        for (size_t i = 0; i < ROWS; i++) {
            support_near(self[i], K[i][i], 1e-15);
            for (size_t j = 0; j < ROWS; j++) {
                support_near(K[i][j], reference(&p, all[k].matrix ? &matrix : NULL, i, j), 1e-14);
                assert_true(K[i][j] == K[j][i]);
            }
        }
        problem_close(&p);
    }
}

/* ---- Derivatives ---- */

static void gradients(void **state) {
    (void)state;
    static const char *const kernels[] = {
        "sites(seq, " EXPONENTS ")",
        "sites(seq, matrix=blosum62, form=both, additive=0.4, " EXPONENTS ")",
        "normalize(2 * sites(seq, matrix=blosum80, form=sum, " EXPONENTS "))",
        "sites(seq, matrix=blosum45, ard=no, form=both, exponent=0.6)",
    };
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
        problem p = open_problem(kernels[k]);
        lth_error err = {0};
        size_t params = lth_kernel_params(p.kernel);
        double W[ROWS * ROWS], K[ROWS * ROWS], gradient[16];
        double *each = calloc(params * ROWS * ROWS, sizeof *each);
        for (size_t i = 0; i < ROWS * ROWS; i++) W[i] = sin((double)i);
        support_ok(lth_gram_pull(p.kernel, p.items, NULL, W, ROWS, gradient, &err), &err);
        support_ok(lth_gram_gradients(p.kernel, p.items, NULL, each, &err), &err);
        for (size_t q = 0; q < params; q++) {
            double at = lth_kernel_param(p.kernel, q)->value, sum[2] = {0}, whole = 0;
            double h = at > 1e-3 ? 1e-5 : 0; /* one of them is 0, its bound */
            for (int side = 0; side < 2; side++) {
                support_ok(lth_kernel_set(p.kernel, q, side ? at + 1e-5 : at - h, &err), &err);
                problem_fill(&p, K);
                for (size_t i = 0; i < ROWS * ROWS; i++) sum[side] += W[i] * K[i];
            }
            support_ok(lth_kernel_set(p.kernel, q, at, &err), &err);
            for (size_t i = 0; i < ROWS * ROWS; i++) whole += W[i] * each[q * ROWS * ROWS + i];
            support_near(gradient[q], (sum[1] - sum[0]) / (h + 1e-5), h > 0 ? 1e-8 : 1e-4);
            support_near(whole, gradient[q], 1e-12);
        }
        free(each);
        problem_close(&p);
    }
}

/* ---- Variants of one sequence ---- */

enum { VARIANTS = 140, DIVERSE = 140, LONG = 64, ALL = VARIANTS + DIVERSE };

/* Some letters of some rows are others than most have; the first row is what most have, two are the
 * same. */
static void write_variants(size_t rows, size_t diverse, lth__string *text) {
    lth__random random;
    lth__random_seed(&random, 5);
    lth__string_format(text, "seq\n");
    for (size_t i = 0; i < rows + diverse; i++) {
        size_t many = i >= rows ? LONG : i % 7;
        char letter[LONG + 1] = {0};
        for (size_t l = 0; l < LONG; l++) letter[l] = alphabet[l % 4];
        for (size_t m = 0; m < many && i != 8; m++) { /* site 9 and around it more than others */
            size_t site = m == 0 ? 9 : (size_t)(lth__random_uniform(&random) * LONG);
            letter[site] = alphabet[(size_t)(lth__random_uniform(&random) * 5)];
        }
        lth__string_format(text, "%s\n", letter);
    }
}

static problem open_variants(lth_ctx *with, const char *kernel, size_t rows, size_t diverse) {
    lth__string text = {0};
    lth_error err = {0};
    problem p;
    write_variants(rows, diverse, &text);
    support_ok(problem_try(with, kernel, text.bytes, &p, &err), &err);
    for (size_t q = 0; q < lth_kernel_params(p.kernel); q++) /* other values for all */
        support_ok(lth_kernel_set(p.kernel, q, 0.02 + 0.3 * (double)(q * 7 % 11), &err), &err);
    lth__string_free(&text);
    return p;
}

static const char *const forms[] = {
    "sites(seq)",
    "sites(seq, form=sum)",
    "sites(seq, form=both)",
    "sites(seq, matrix=blosum62)",
    "sites(seq, matrix=pam250, form=both)",
    "sites(seq, matrix=blosum45, form=both, ard=no)",
};
enum { FORMS = sizeof forms / sizeof *forms };

/* Among variants pairs go by lists; as soon as there are diverse rows too, by all sites. */
static void lists_and_all_sites(void **state) {
    (void)state;
    static double few[VARIANTS][VARIANTS], many[ALL][ALL];
    for (size_t f = 0; f < FORMS; f++) {
        problem a = open_variants(ctx, forms[f], VARIANTS, 0);
        problem b = open_variants(ctx, forms[f], VARIANTS, DIVERSE);
        problem_fill(&a, few[0]);
        problem_fill(&b, many[0]);
        for (size_t i = 0; i < VARIANTS; i++) {
            assert_memory_equal(few[i], many[i], sizeof few[i]);
            for (size_t j = 0; j < i; j++) assert_true(few[i][j] == few[j][i]);
        }
        assert_true(few[0][8] == few[0][0]);
        problem_close(&a), problem_close(&b);
    }
}

/* The same where W is 0 for all pairs with diverse rows. */
static void slopes_of_both(void **state) {
    (void)state;
    static double W[VARIANTS * VARIANTS], wide[ALL * ALL], a[LONG + 2], b[LONG + 2];
    lth_error err = {0};
    for (size_t i = 0; i < VARIANTS * VARIANTS; i++) {
        W[i] = sin((double)i);
        wide[i / VARIANTS * ALL + i % VARIANTS] = W[i];
    }
    for (size_t f = 0; f < FORMS; f++) {
        problem p = open_variants(ctx, forms[f], VARIANTS, 0);
        problem q = open_variants(ctx, forms[f], VARIANTS, DIVERSE);
        size_t params = lth_kernel_params(p.kernel), n = VARIANTS * VARIANTS;
        double *each = calloc(params * n, sizeof *each);
        support_ok(lth_gram_pull(p.kernel, p.items, NULL, W, VARIANTS, a, &err), &err);
        support_ok(lth_gram_pull(q.kernel, q.items, NULL, wide, ALL, b, &err), &err);
        support_ok(lth_gram_gradients(p.kernel, p.items, NULL, each, &err), &err);
        for (size_t k = 0; k < params; k++) {
            double whole = 0;
            for (size_t i = 0; i < n; i++) whole += W[i] * each[k * n + i];
            assert_true(fabs(a[k] - b[k]) < 1e-10);
            assert_true(fabs(a[k] - whole) < 1e-10);
        }
        free(each);
        problem_close(&p), problem_close(&q);
    }
}

static void same_for_threads(void **state) {
    (void)state;
    static double W[ALL * ALL], sum[2][LONG + 2];
    lth_error err = {0};
    lth_ctx *with[2] = {support_context(1), support_context(3)};
    for (size_t i = 0; i < ALL * ALL; i++) W[i] = sin((double)i);
    for (size_t diverse = 0; diverse <= DIVERSE; diverse += DIVERSE) {
        for (int t = 0; t < 2; t++) {
            problem p = open_variants(with[t], forms[4], ALL - diverse, diverse);
            support_ok(lth_gram_pull(p.kernel, p.items, NULL, W, ALL, sum[t], &err), &err);
            problem_close(&p);
        }
        assert_memory_equal(sum[0], sum[1], sizeof sum[0]);
    }
    lth_ctx_free(with[0]);
    lth_ctx_free(with[1]);
}

/* ---- Expressions ---- */

static void expressions(void **state) {
    (void)state;
    char text[4096], again[4096];
    problem p = open_problem("sites(seq, form=both)");
    lth_kernel_print(p.kernel, text, sizeof text);
    assert_string_equal(text, "sites(seq, form=both, length=6)");
    assert_int_equal(lth_kernel_params(p.kernel), 2 + SITES);
    problem_close(&p);
    static const char mine[] =
        "# mine\n  A C D W K -\nA 4 0 0 0 0 0\nC 0 4 0 0 0 0\nD 0 0 4 1 0 0\n"
        "W 0 0 1 4 0 0\nK 0 0 0 0 4 0\n- 0 0 0 0 0 4\n";
    char *path = support_file(mine, strlen(mine));
    snprintf(text, sizeof text, "sites(seq, matrix=\"%s\")", path);
    p = open_problem(text);
    support_remove(path); /* the expression has it from now on */
    lth_kernel_print(p.kernel, text, sizeof text);
    assert_non_null(strstr(text, "matrix=[ACDWK-,4,0,4,0,0,4,"));
    double K[ROWS * ROWS], L[ROWS * ROWS];
    problem_fill(&p, K);
    problem_close(&p);
    p = open_problem(text);
    lth_kernel_print(p.kernel, again, sizeof again);
    assert_string_equal(text, again);
    problem_fill(&p, L);
    assert_memory_equal(K, L, sizeof K);
    problem_close(&p);
}

/* ---- Mistakes ---- */

static void refused(void **state) {
    (void)state;
    static const struct {
        const char *kernel, *rows, *message;
    } all[] = {
        {"sites(seq)", "seq\nACD\nAC\n", "this row has 2 letters"},
        {"sites(seq)", "seq\n\n\n", "0 letters a row"},
        {"sites(seq, length=4)", "seq\nACD\nACC\n", "row 1 has 3 letters"},
        {"sites(seq, matrix=blosum62)", "seq\nACD\nA1D\n", "row 2 has \"1\" at site 2"},
        {"sites(seq, matrix=nowhere)", "seq\nACD\nACC\n", "cannot open"},
        {"sites(seq, matrix=3)", "seq\nACD\nACC\n", "or a file"},
        {"sites(seq, matrix=1..3)", "seq\nACD\nACC\n", "or a file"},
        {"sites(seq, matrix=[AC,1,2])", "seq\nACD\nACC\n", "lower triangle"},
        {"sites(seq, matrix=[AC,1,5,1])", "seq\nACA\nACC\n", "eigenvalue"},
        {"sites(seq, matrix=[AA,1,0,1])", "seq\nACA\nACC\n", "twice"},
        {"sites(seq, exponent=[1,2])", "seq\nACA\nACC\n", "there are 2 sites"},
        {"sites(seq, length=0)", "seq\nACA\nACC\n", "whole number"},
        {"sites(seq, align=left, matrix=[AC,1,0,1])", "seq\nACA\nAC\n", "no letter \"-\""},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        problem p;
        lth_error err = {0};
        double K[4];
        lth_status status = problem_try(ctx, all[i].kernel, all[i].rows, &p, &err);
        if (status == LTH_OK) status = lth_gram(p.kernel, p.items, NULL, K, 2, &err);
        assert_int_equal(status == LTH_OK, 0);
        if (!strstr(err.message, all[i].message)) fail_msg("%zu: %s", i, err.message);
        problem_close(&p);
    }
}

static void files_refused(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
    } all[] = {
        {"# nothing\n", "no letters"},
        {"  AB C\n", "single letters"},
        {" A C\nA 1 0\n", "lacks a line"},
        {" A C\nA 1 0\nA 1 0\n", "has a line already"},
        {" A C\nA 1 0\nC 0\n", "fewer numbers"},
        {" A C\nA 1 0 3\n", "a number for each"},
        {" A C\nA 1 x\n", "a number for each"},
        {" A C\nD 1 0\n", "begins with one of the letters"},
        {" A C\nA 1 0\nC 1 1\n", "not symmetric"},
        {" A C\nA 1 0\nC 0 -2e100\n", "the score of C with C is -2e+100: scores end at 1e+100"},
        {" A C\nA 1e308 0\nC 0 1\n", "the score of A with A is 1e+308"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        lth_error err = {0};
        lth_kernel *kernel = NULL;
        char text[256], *path = support_file(all[i].text, strlen(all[i].text));
        snprintf(text, sizeof text, "sites(seq, matrix=\"%s\")", path);
        assert_int_equal(lth_kernel_parse(ctx, text, &kernel, &err), LTH_EFORMAT);
        if (!strstr(err.message, all[i].message)) fail_msg("%zu: %s", i, err.message);
        support_remove(path);
    }
}

/* Ends that are missing are gaps. */
static void shorter_rows(void **state) {
    (void)state;
    lth_error err = {0};
    static const char *const all[][2] = {
        {"seq\nACD\nAC\nA\n", "seq\nACD\nAC-\nA--\n"},
        {"seq\nACDE\nAC\nACAC\n", "seq\nACDE\nAC--\nACAC\n"}, /* the last begins behind "AC" */
        {"seq\nA\nACDE\nACDA\n", "seq\nA---\nACDE\nACDA\n"},
    };
    for (size_t i = 0; i < 3; i++) {
        double K[9], L[9];
        problem p, q;
        support_ok(problem_try(ctx, "sites(seq, align=left, matrix=blosum62)", all[i][0], &p, &err),
                   &err);
        support_ok(problem_try(ctx, "sites(seq, matrix=blosum62)", all[i][1], &q, &err), &err);
        support_ok(lth_gram(p.kernel, p.items, NULL, K, 3, &err), &err);
        support_ok(lth_gram(q.kernel, q.items, NULL, L, 3, &err), &err);
        assert_memory_equal(K, L, sizeof K);
        problem_close(&p), problem_close(&q);
    }
}

/* ---- Models ---- */

static const char model_kernel[] = "sites(seq, matrix=blosum62, form=both)";

/* The same from a file, and reasons that add up. */
static void models(void **state) {
    (void)state;
    lth_error err = {0};
    lth__string text = {0};
    lth_gp *loaded = NULL;
    lth_reasons *reasons = NULL;
    write_rows(&text);
    lth_table *table = support_table(ctx, text.bytes);
    lth_gp_options options;
    lth_gp_options_init(&options);
    options.restarts = 0;
    options.max_iter = 5;
    lth_gp *gp = support_fit(ctx, model_kernel, table, 1, &options);
    support_ok(lth_gp_save(gp, "m", &err), &err);
    support_ok(lth_gp_load(ctx, "m", &loaded, &err), &err);
    unlink("m");
    double *a = support_predict(gp, table, false), *b = support_predict(loaded, table, false);
    assert_memory_equal(a, b, 2 * ROWS * sizeof *a);
    support_ok(lth_gp_explain(loaded, table, 3, NULL, &reasons, &err), &err);
    lth_reasons_summary s = *lth_reasons_summarise(reasons);
    support_near(s.missed, 0, 1e-9);
    lth_reasons_free(reasons);
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
    double K[ROWS * ROWS], W[ROWS * ROWS] = {1}, gradient[16];
    lth_status status = lth_kernel_parse(
        ctx, "sites(seq, matrix=[\"ACDWK-\",4,0,4,0,0,4,0,0,1,4,0,0,0,0,4,0,0,0,0,0,4], form=both)",
        &p.kernel, err);
    if (status == LTH_OK) status = lth_kernel_resolve(&p.kernel, table, err);
    if (status == LTH_OK) status = lth_encoder_create(ctx, p.kernel, &p.encoder, err);
    if (status == LTH_OK) status = lth_encode(p.encoder, table, &p.items, err);
    if (status == LTH_OK) status = lth_gram(p.kernel, p.items, NULL, K, ROWS, err);
    if (status == LTH_OK) status = lth_gram_pull(p.kernel, p.items, NULL, W, ROWS, gradient, err);
    problem_close(&p);
    return status;
}

static void each_allocation_fails(void **state) {
    (void)state;
    lth__string text = {0};
    write_rows(&text);
    lth_table *table = support_table(ctx, text.bytes);
    fail_each(use_all, table, false, 20);
    lth_table_free(table);
    lth__string_free(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matrices),       cmocka_unit_test(values),
        cmocka_unit_test(gradients),      cmocka_unit_test(lists_and_all_sites),
        cmocka_unit_test(slopes_of_both), cmocka_unit_test(same_for_threads),
        cmocka_unit_test(expressions),    cmocka_unit_test(refused),
        cmocka_unit_test(files_refused),  cmocka_unit_test(shorter_rows),
        cmocka_unit_test(models),         cmocka_unit_test(each_allocation_fails),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
