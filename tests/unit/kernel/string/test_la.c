/* Local alignments: sums by enumeration, derivatives by differences, sequences whose sum is beyond
 * any double, what is refused, models and their reasons. */
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
#include "kernel/string/alignment_lanes.h"
#include "problem_support.h"

enum { ROWS = 14, MOST = LTH__MOST_LETTERS };
static lth_ctx *ctx;
static char folder[] = "test_la.XXXXXX";

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

/* ---- Scores ---- */

static double score(const lth__substitution *s, char a, char b) {
    return lth__substitution_score(s, lth__substitution_letter(s, a),
                                   lth__substitution_letter(s, b));
}

/* As published; other letters are between those that they may be. */
static void scores(void **state) {
    (void)state;
    lth__substitution s;
    assert_true(lth__substitution_find("blosum62", &s));
    support_near(score(&s, 'W', 'W'), 11, 1e-12);
    support_near(score(&s, 'W', 'a'), -3, 1e-12);
    support_near(score(&s, 'I', 'V'), 3, 1e-12);
    support_near(score(&s, 'B', 'N'), (6 + 1) / 2.0, 1e-12);
    support_near(score(&s, 'B', 'B'), (6 + 1 + 1 + 6) / 4.0, 1e-12);
    support_near(score(&s, 'U', 'C'), 9, 1e-12);
    support_near(score(&s, 'O', 'R'), 2, 1e-12);
    assert_true(score(&s, 'X', 'A') < 0 && score(&s, 'X', 'A') > -2);
    assert_true(score(&s, '*', 'W') < -4 && score(&s, '-', 'A') < -4);
    static const double own[] = {7, -1, -1, 3};
    lth_error err = {0};
    support_ok(lth__substitution_make("XY", 2, own, &s, &err), &err);
    for (size_t a = 0; a < 2; a++) {
        for (size_t b = 0; b < 2; b++)
            support_near(lth__substitution_score(&s, a, b), own[a * 2 + b], 1e-12);
    }
}

/* Whoever reads one knows that no eigenvalue of its distances is negative; so does
 * lth__substitution_make(). */
static void published(void **state) {
    (void)state;
    static const char *const names[] = {"blosum45", "blosum50", "blosum62", "blosum80", "pam250"};
    enum { AMINO = 20 };
    for (size_t i = 0; i < 5; i++) {
        lth__substitution s, own;
        double all[AMINO * AMINO];
        lth_error err = {0};
        assert_true(lth__substitution_find(names[i], &s));
        for (size_t a = 0; a < AMINO; a++) {
            for (size_t b = 0; b < AMINO; b++)
                all[a * AMINO + b] = lth__substitution_score(&s, a, b);
        }
        support_ok(lth__substitution_make(s.letter, AMINO, all, &own, &err), &err);
    }
}

/* ---- Sums ---- */

#ifdef __SANITIZE_ADDRESS__
enum { LONGEST = 700 };
#else
enum { LONGEST = 2000 };
#endif
static uint32_t first[LONGEST], second[LONGEST];
static double room[LONGEST * 32];

typedef struct found {
    double sum, score, runs, skipped; /* with weights */
} found;

/* Every alignment whose last pair so far is i, j, by its score of pairs, runs and skipped letters.
 */
static void enumerate(const lth__scoring *s, size_t m, size_t n, size_t i, size_t j, double scored,
                      double runs, double skipped, found *f) {
    uint32_t a = first[i], b = second[j];
    scored += s->identity ? (a == b ? 5 : -4) : s->score[a * MOST + b];
    double weight = exp(s->beta * (scored - s->open * runs - s->extend * skipped));
    f->sum += weight;
    f->score += weight * scored;
    f->runs += weight * runs;
    f->skipped += weight * skipped;
    for (size_t k = i + 1; k < m; k++) {
        for (size_t l = j + 1; l < n; l++) {
            size_t x = k - i - 1, y = l - j - 1;
            enumerate(s, m, n, k, l, scored, runs + (x > 0) + (y > 0),
                      skipped + (double)(x > 0 ? x - 1 : 0) + (double)(y > 0 ? y - 1 : 0), f);
        }
    }
}

static void draw(lth__random *random, uint32_t *to, size_t length, size_t letters) {
    for (size_t i = 0; i < length; i++)
        to[i] = (uint32_t)(lth__random_uniform(random) * (double)letters);
}

static void sums(void **state) {
    (void)state;
    lth__substitution matrix;
    lth__random random;
    lth__random_seed(&random, 5);
    assert_true(lth__substitution_find("blosum62", &matrix));
    for (size_t t = 0; t < 300; t++) {
        static lth__scoring s;
        lth__alignments a, b, plain;
        found f = {0};
        size_t m = 1 + t % 5, n = 1 + t / 5 % 5;
        lth__scoring_make(t % 3 == 0 ? NULL : &matrix, 0.05 + 0.02 * (double)(t % 40),
                          (double)(t % 7), 0.3 * (double)(t % 4), &s);
        draw(&random, first, m, t % 3 == 0 ? 2 : 20);
        draw(&random, second, n, t % 3 == 0 ? 2 : 20);
        for (size_t i = 0; i < m; i++) {
            for (size_t j = 0; j < n; j++) enumerate(&s, m, n, i, j, 0, 0, 0, &f);
        }
        lth__alignments_sum(&s, first, m, second, n, true, room, &a);
        lth__alignments_sum(&s, second, n, first, m, true, room, &b);
        lth__alignments_sum(&s, first, m, second, n, false, room, &plain);
        assert_memory_equal(&a, &b, sizeof a);
        support_near(a.log_sum, plain.log_sum, 1e-14);
        support_near(a.log_sum, log(f.sum), 1e-12);
        support_near(a.beta, (f.score - s.open * f.runs - s.extend * f.skipped) / f.sum, 1e-11);
        support_near(a.open, -s.beta * f.runs / f.sum, 1e-11);
        support_near(a.extend, -s.beta * f.skipped / f.sum, 1e-11);
    }
}

/* The same by logarithms, cell by cell. */
static double more(double a, double b) {
    double most = fmax(a, b);
    return most == -INFINITY ? most : most + log(exp(a - most) + exp(b - most));
}

static double by_logarithms(const lth__scoring *s, size_t m, size_t n) {
    double(*row)[3] = malloc((n + 1) * sizeof *row), sum = -INFINITY; /* pair, skip x, skip y */
    double open = -s->beta * s->open, extend = -s->beta * s->extend;
    for (size_t j = 0; j <= n; j++) row[j][0] = row[j][1] = row[j][2] = -INFINITY;
    for (size_t i = 0; i < m; i++) {
        double corner[3] = {-INFINITY, -INFINITY, -INFINITY};
        for (size_t j = 1; j <= n; j++) {
            double above[3] = {row[j][0], row[j][1], row[j][2]}, *left = row[j - 1];
            row[j][0] = s->beta * s->score[first[i] * MOST + second[j - 1]] +
                        more(0, more(corner[0], more(corner[1], corner[2])));
            row[j][1] = more(open + above[0], extend + above[1]);
            row[j][2] = more(open + more(left[0], left[1]), extend + left[2]);
            sum = more(sum, row[j][0]);
            memcpy(corner, above, sizeof corner);
        }
    }
    free(row);
    return sum;
}

/* Z is up to e^40000 here; halves that changed places are found wherever they are. */
static void long_sequences(void **state) {
    (void)state;
    static const struct {
        double beta, open, extend;
    } at[] = {{0.5, 11, 1}, {0.05, 11, 1}, {5, 11, 1}, {5, 50, 50}, {1, 50, 0}, {3, 0, 20}};
    lth__substitution matrix;
    lth__random random;
    static lth__scoring s;
    assert_true(lth__substitution_find("blosum62", &matrix));
    lth__random_seed(&random, 8);
    draw(&random, first, LONGEST, 20);
    for (size_t t = 0; t < 3 * sizeof at / sizeof *at; t++) {
        lth__alignments a, b;
        size_t n = t == 0 ? LONGEST : 400, half = n / 2 - 30;
        memcpy(second, first, n * sizeof *second);
        if (t % 3 == 1) {
            memcpy(second, first + n - half, half * sizeof *second);
            memcpy(second + half, first, (n - half) * sizeof *second);
        } else if (t % 3 == 2) {
            draw(&random, second + 120, 160, 20); /* alike at both ends */
        }
        lth__scoring_make(&matrix, at[t / 3].beta, at[t / 3].open, at[t / 3].extend, &s);
        lth__alignments_sum(&s, first, n, second, n, true, room, &a);
        lth__alignments_sum(&s, second, n, first, n, false, room, &b);
        assert_true(isfinite(a.log_sum));
        support_near(a.log_sum, b.log_sum, 1e-14);
        support_near(a.log_sum, by_logarithms(&s, n, n), 1e-11);
        double h = 1e-5, up, down;
        lth__scoring_make(&matrix, s.beta + h, s.open, s.extend, &s);
        lth__alignments_sum(&s, first, n, second, n, false, room, &b), up = b.log_sum;
        lth__scoring_make(&matrix, s.beta - 2 * h, s.open, s.extend, &s);
        lth__alignments_sum(&s, first, n, second, n, false, room, &b), down = b.log_sum;
        support_near(a.beta, (up - down) / (2 * h), 1e-6);
    }
}

/* ---- Lanes ---- */

static void same_as_one_by_one(lth__aligner *aligner, const lth__scoring *s, lth__letters_of one,
                               const lth__letters_of *other, size_t count) {
    lth_error err = {0};
    lth__alignments out[LTH__MAX_LANES], back, plain;
    for (int swapped = 0; swapped < 2; swapped++) {
        support_ok(lth__aligner_sum(aligner, one, other, count, swapped, out, &err), &err);
        for (size_t i = 0; i < count; i++) {
            lth__alignments_sum(s, one.letter, one.length, other[i].letter, other[i].length, true,
                                room, &plain);
            support_near(out[i].log_sum, plain.log_sum, 1e-13);
            support_near(out[i].beta, plain.beta, 1e-10);
            support_near(out[i].open, plain.open, 1e-10);
            support_near(out[i].extend, plain.extend, 1e-10);
            support_ok(lth__aligner_sum(aligner, other[i], &one, 1, !swapped, &back, &err), &err);
            assert_true(back.log_sum == out[i].log_sum); /* the same bits both ways */
        }
    }
}

/* Every instruction set finds what one pair after the other does, also of sequences that are very
 * alike, of other lengths, and in lanes that are empty. */
static void lanes(void **state) {
    (void)state;
    static lth__scoring s;
    static const double betas[] = {0.05, 0.3, 0.9, 3};
    lth__substitution matrix;
    lth__random random;
    const char *isa;
    assert_true(lth__substitution_find("blosum62", &matrix));
    lth__random_seed(&random, 4);
    for (size_t k = 0; (isa = lth_isa_available(k)) != NULL; k++) {
        for (size_t t = 0; t < 24; t++) {
            uint32_t letters[LTH__MAX_LANES][300];
            lth__letters_of one = {first, t < 12 ? 1 + t : 200 + t}, other[LTH__MAX_LANES];
            lth__aligner *aligner;
            lth_error err = {0};
            lth__scoring_make(t % 5 == 0 ? NULL : &matrix, betas[t % 4], (double)(t % 3 * 6),
                              0.5 * (double)(t % 4), &s);
            size_t count = lth__engine_find(isa)->letters->lanes - t % 2;
            draw(&random, first, one.length, 20);
            for (size_t i = 0; i < count; i++) {
                other[i] = (lth__letters_of){letters[i], one.length + i * 7 % 40};
                draw(&random, letters[i], other[i].length, 20);
                if (i % 2 == 0) memcpy(letters[i], first, one.length / 2 * sizeof *first);
                if (i % 4 == 0) memcpy(letters[i], first, one.length * sizeof *first);
            }
            support_ok(lth__aligner_make(lth__engine_find(isa), &s, 25, 300, true, &aligner, &err),
                       &err);
            same_as_one_by_one(aligner, &s, one, other, count);
            lth__aligner_free(aligner);
        }
    }
}

/* ---- Rows ---- */

static void write_rows(lth__string *text, size_t shortest) {
    lth__random random;
    lth__random_seed(&random, 3);
    lth__string_format(text, "seq\ty\n");
    for (size_t i = 0; i < ROWS; i++) {
        size_t length = shortest + i * 5 % 11;
        for (size_t l = 0; l < length; l++)
            lth__string_format(text, "%c", "ACDWKV"[(int)(lth__random_uniform(&random) * 6)]);
        lth__string_format(text, "\t%zu\n", i * i % 11);
    }
}

static problem open_problem(const char *kernel, size_t shortest) {
    lth__string text = {0};
    write_rows(&text, shortest);
    problem p = support_problem(ctx, kernel, text.bytes);
    lth__string_free(&text);
    return p;
}

/* A row is 1 with itself, an empty one 0 with all; no eigenvalue is negative; rows against rows are
 * the same as one matrix, by one thread as by two. */
static void values(void **state) {
    (void)state;
    static const char *const kernels[] = {
        "la(seq)",
        "la(seq, beta=0.1)",
        "la(seq, matrix=identity, beta=0.07, open=3, extend=0)",
        "la(seq, matrix=pam250, beta=0.2, open=5)",
        "la(seq, matrix=blosum45, beta=0.02, extend=0.2)",
    };
    lth_ctx *two = ctx, *one = support_context(1);
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
        lth_error err = {0};
        double K[ROWS][ROWS], L[ROWS][ROWS], self[ROWS], value[ROWS], U[ROWS * ROWS];
        for (size_t shortest = 0; shortest < 31; shortest += 15) {
            problem p = open_problem(kernels[k], shortest);
            problem_fill(&p, K[0]);
            support_ok(lth_gram_diagonal(p.kernel, p.items, self, &err), &err);
            for (size_t i = 0; i < ROWS; i++) {
                bool empty = shortest + i * 5 % 11 == 0;
                assert_true(self[i] == K[i][i] && K[i][i] == !empty);
                for (size_t j = 0; j < ROWS; j++)
                    assert_true(K[i][j] == K[j][i] && (empty ? K[i][j] == 0 : K[i][j] <= 1));
            }
            support_ok(lth_gram(p.kernel, p.items, p.items, L[0], ROWS, &err), &err);
            assert_memory_equal(K, L, sizeof K);
            problem_close(&p);
            ctx = one;
            p = open_problem(kernels[k], shortest);
            problem_fill(&p, L[0]);
            problem_close(&p);
            ctx = two;
            assert_memory_equal(K, L, sizeof K);
            lth__eigen(ROWS, K[0], value, U);
            assert_true(value[ROWS - 1] > -1e-12);
        }
    }
    lth_ctx_free(one);
}

/* What the formula says of two rows. */
static void formula(void **state) {
    (void)state;
    problem p;
    lth_error err = {0};
    double K[4];
    support_ok(problem_try(ctx,
                           "la(seq, matrix=identity, beta=0.2, open=1, extend=0.5, power=0.3!)",
                           "seq\nAB\nBA\n", &p, &err),
               &err);
    support_ok(lth_gram(p.kernel, p.items, NULL, K, 2, &err), &err);
    double same = exp(1), other = exp(-0.8);
    double apart = 2 * same + 2 * other + other * other;
    double alike = 2 * same + 2 * other + same * same;
    support_near(K[1], pow(apart / alike, 0.3), 1e-14);
    problem_close(&p);
}

static void gradients(void **state) {
    (void)state;
    static const char *const kernels[] = {
        "la(seq, beta=0.08)",
        "la(seq, matrix=identity, beta=0.1, open=2, extend=0.4, power=0.6)",
        "normalize(2 * la(seq, matrix=blosum80, beta=0.05, open=4))",
    };
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
        problem p = open_problem(kernels[k], k == 1 ? 0 : 20);
        lth_error err = {0};
        size_t params = lth_kernel_params(p.kernel);
        double W[ROWS * ROWS], K[ROWS * ROWS], gradient[16];
        double *each = calloc(params * ROWS * ROWS, sizeof *each);
        for (size_t i = 0; i < ROWS * ROWS; i++) W[i] = sin((double)i);
        support_ok(lth_gram_pull(p.kernel, p.items, NULL, W, ROWS, gradient, &err), &err);
        support_ok(lth_gram_gradients(p.kernel, p.items, NULL, each, &err), &err);
        for (size_t q = 0; q < params; q++) {
            double at = lth_kernel_param(p.kernel, q)->value, sum[2] = {0}, whole = 0;
            double h = at == 1 ? 0 : 1e-5; /* a power of 1 is at its bound */
            for (int side = 0; side < 2; side++) {
                support_ok(lth_kernel_set(p.kernel, q, side ? at + h : at - 1e-5, &err), &err);
                problem_fill(&p, K);
                for (size_t i = 0; i < ROWS * ROWS; i++) sum[side] += W[i] * K[i];
            }
            support_ok(lth_kernel_set(p.kernel, q, at, &err), &err);
            for (size_t i = 0; i < ROWS * ROWS; i++) whole += W[i] * each[q * ROWS * ROWS + i];
            support_near(gradient[q], (sum[1] - sum[0]) / (h + 1e-5), h > 0 ? 1e-7 : 1e-3);
            support_near(whole, gradient[q], 1e-11);
        }
        free(each);
        problem_close(&p);
    }
}

/* ---- Expressions and mistakes ---- */

static void expressions(void **state) {
    (void)state;
    char text[4096], again[4096];
    problem p = open_problem("la(seq)", 3);
    lth_kernel_print(p.kernel, text, sizeof text);
    assert_string_equal(text, "la(seq)");
    assert_int_equal(lth_kernel_params(p.kernel), 4);
    assert_true(lth_kernel_param(p.kernel, 3)->held && !lth_kernel_param(p.kernel, 0)->held);
    problem_close(&p);
    static const char mine[] = "  A C D W K V\nA 4 0 0 0 0 0\nC 0 4 0 0 0 0\nD 0 0 4 1 0 0\n"
                               "W 0 0 1 4 0 0\nK 0 0 0 0 4 0\nV 0 0 0 0 0 4\n";
    char *path = support_file(mine, strlen(mine));
    snprintf(text, sizeof text, "la(seq, matrix=\"%s\", beta=0.1)", path);
    p = open_problem(text, 3);
    support_remove(path); /* the expression has it from now on */
    lth_kernel_print(p.kernel, text, sizeof text);
    assert_non_null(strstr(text, "matrix=[ACDWKV,4,0,4,0,0,4,"));
    double K[ROWS * ROWS], L[ROWS * ROWS];
    problem_fill(&p, K);
    problem_close(&p);
    p = open_problem(text, 3);
    lth_kernel_print(p.kernel, again, sizeof again);
    assert_string_equal(text, again);
    problem_fill(&p, L);
    assert_memory_equal(K, L, sizeof K);
    problem_close(&p);
}

static void refused(void **state) {
    (void)state;
    static const struct {
        const char *kernel, *rows, *message;
    } all[] = {
        {"la(seq)", "seq\nACD\nA1D\n", "row 2 has \"1\" at site 2"},
        {"la(seq, matrix=nowhere)", "seq\nACD\nACC\n", "cannot open"},
        {"la(seq, matrix=3)", "seq\nACD\nACC\n", "matrix of la is identity"},
        {"la(seq, matrix=[AC,1,5,1])", "seq\nACA\nACC\n", "eigenvalue"},
        {"la(seq, matrix=[AC,31,0,1])", "seq\nACA\nACC\n", "la wants 30 at most"},
        {"la(seq, beta=6)", "seq\nACA\nACC\n", "5"},
        {"la(seq, power=2)", "seq\nACA\nACC\n", "1"},
        {"la(seq, open=-1)", "seq\nACA\nACC\n", "50"},
        {"la(other)", "seq\nACA\nACC\n", "other"},
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

/* ---- Models ---- */

/* The same from a file, and reasons that add up. */
static void models(void **state) {
    (void)state;
    lth_error err = {0};
    lth__string text = {0};
    lth_gp *loaded = NULL;
    lth_reasons *reasons = NULL;
    write_rows(&text, 8);
    lth_table *table = support_table(ctx, text.bytes);
    lth_gp_options options;
    lth_gp_options_init(&options);
    options.restarts = 0;
    options.max_iter = 5;
    lth_gp *gp = support_fit(ctx, "2 * la(seq)", table, 1, &options);
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
    double K[ROWS * ROWS], W[ROWS * ROWS] = {1}, gradient[16];
    lth_status status = lth_kernel_parse(
        ctx, "la(seq) + la(seq, matrix=[\"ACDWKV\",4,0,4,0,0,4,0,0,1,4,0,0,0,0,4,0,0,0,0,0,4])",
        &p.kernel, err);
    if (status == LTH_OK) status = lth_encoder_create(ctx, p.kernel, &p.encoder, err);
    if (status == LTH_OK) status = lth_encode(p.encoder, user, &p.items, err);
    if (status == LTH_OK) status = lth_gram(p.kernel, p.items, p.items, K, ROWS, err);
    if (status == LTH_OK) status = lth_gram_pull(p.kernel, p.items, NULL, W, ROWS, gradient, err);
    problem_close(&p);
    return status;
}

static void each_allocation_fails(void **state) {
    (void)state;
    lth__string text = {0};
    write_rows(&text, 3);
    lth_table *table = support_table(ctx, text.bytes);
    fail_each(use_all, table, false, 20);
    lth_table_free(table);
    lth__string_free(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores),      cmocka_unit_test(published),
        cmocka_unit_test(sums),        cmocka_unit_test(long_sequences),
        cmocka_unit_test(lanes),       cmocka_unit_test(values),
        cmocka_unit_test(formula),     cmocka_unit_test(gradients),
        cmocka_unit_test(expressions), cmocka_unit_test(refused),
        cmocka_unit_test(models),      cmocka_unit_test(each_allocation_fails),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
