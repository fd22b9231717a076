/* Gapped k-mers: values by all pairs of windows and by the k-mers themselves, both strands,
 * derivatives, what is kept, odd rows, what is refused, models and their reasons. */
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
#include "engine/engine.h"
#include "failing_allocator.h"
#include "gp_support.h"
#include "kernel/core/gram.h"
#include "kernel/core/kernel.h"
#include "problem_support.h"

enum { ROWS = 19, LONGEST = 160 };
static lth_ctx *ctx;
static char folder[] = "test_gkm.XXXXXX";

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

/* Rows of many lengths: none, too short for a window, both sides of what a vector holds. */
static void write_rows(lth__string *text, const char *alphabet) {
    static const size_t length[ROWS] = {0,  1,  3,  4,  9,  10, 11, 23, 41,     42,
                                        50, 73, 74, 75, 90, 99, 7,  20, LONGEST};
    lth__random random;
    lth__random_seed(&random, 5);
    lth__string_format(text, "y\tseq\n");
    for (size_t i = 0; i < ROWS; i++) {
        lth__string_format(text, "%zu\t", i * i % 11);
        for (size_t p = 0; p < length[i]; p++) {
            size_t letter = (size_t)(lth__random_uniform(&random) * (double)strlen(alphabet));
            lth__string_format(text, "%c", alphabet[letter]);
        }
        lth__string_format(text, "\n");
    }
}

static problem open_in(lth_ctx *in, const char *kernel, const char *alphabet) {
    lth__string text = {0};
    write_rows(&text, alphabet);
    problem p = support_problem(in, kernel, text.bytes);
    lth__string_free(&text);
    return p;
}

/* ---- By all pairs of windows ---- */

typedef struct sequence {
    char letter[LONGEST + 1];
    size_t length;
} sequence;

static sequence read_row(const problem *p, size_t row) {
    sequence s = {.length = 0};
    const char *text = lth_table_cell(p->table, row, 1, &s.length);
    assert_true(s.length <= LONGEST);
    memcpy(s.letter, text, s.length);
    for (size_t i = 0; i < s.length; i++) s.letter[i] = (char)(s.letter[i] & 0x5f); /* upper case */
    return s;
}

static sequence turn(const sequence *s) {
    static const char from[] = "ACGTN", to[] = "TGCAN";
    sequence t = {.length = s->length};
    for (size_t i = 0; i < s->length; i++)
        t.letter[s->length - 1 - i] = to[strchr(from, s->letter[i]) - from];
    return t;
}

static bool same(char a, char b, bool dna) {
    return a == b && !(dna && a == 'N');
}

static double choose(size_t n, size_t k) {
    double value = 1;
    for (size_t i = 0; i < k; i++) value *= (double)(n - i) / (double)(i + 1);
    return n < k ? 0 : round(value);
}

/* Of the window at i; 0 = they all count once. */
static double weight(size_t i, size_t length, size_t l, double half) {
    double d = fabs((double)i - (double)(length - l) / 2);
    return half == 0 ? 1 : round(4096 * (1 + 50 * pow(2, -d / half)) / 51) / 4096;
}

static double by_windows(const sequence *x, const sequence *y, size_t l, size_t k, bool dna,
                         double half) {
    double sum = 0;
    for (size_t i = 0; i + l <= x->length; i++) {
        for (size_t j = 0; j + l <= y->length; j++) {
            size_t e = 0;
            for (size_t t = 0; t < l; t++) e += same(x->letter[i + t], y->letter[j + t], dna);
            sum += choose(e, k) * weight(i, x->length, l, half) * weight(j, y->length, l, half);
        }
    }
    return sum;
}

typedef struct setting {
    const char *kernel, *alphabet;
    size_t l, least, most;
    bool dna, both;
    double half;
} setting;

static const setting settings[] = {
    {"gkm(seq)", "acgT", 10, 6, 10, false, false, 0},
    {"gkm(seq, k=6)", "ACGT", 10, 6, 6, false, false, 0},
    {"gkm(seq, l=4)", "ACGT", 4, 4, 4, false, false, 0},
    {"gkm(seq, l=1, k=1)", "ACGT", 1, 1, 1, false, false, 0},
    {"gkm(seq, l=20, k=[3,17])", "AC", 20, 3, 17, false, false, 0},
    {"gkm(seq, l=7, k=[2,5], alphabet=dna)", "acgtACGTN", 7, 2, 5, true, false, 0},
    {"gkm(seq, l=9, k=[4,6], strand=both)", "ACGTn", 9, 4, 6, true, true, 0},
    {"gkm(seq, l=5, k=[1,3])", "ARNDCEQGHILKMFPSTWYV", 5, 1, 3, false, false, 0},
    {"gkm(seq, k=6, centre=50)", "ACGT", 10, 6, 6, false, false, 50},
    {"gkm(seq, l=4, k=[1,4], centre=3, units=bytes)", "AC", 4, 1, 4, false, false, 3},
    {"gkm(seq, l=9, k=[4,6], strand=both, centre=20)", "ACGTn", 9, 4, 6, true, true, 20},
};
enum { SETTINGS = sizeof settings / sizeof *settings };

static double reference(const problem *p, const setting *s, size_t i, size_t j) {
    sequence x = read_row(p, i), y = read_row(p, j);
    double sum = 0;
    for (size_t k = s->least; k <= s->most; k++) {
        double w = lth_kernel_param(p->kernel, k - s->least)->value;
        sum += w * by_windows(&x, &y, s->l, k, s->dna, s->half);
        if (!s->both) continue;
        sequence other = turn(&x);
        sum += w * by_windows(&other, &y, s->l, k, s->dna, s->half);
    }
    return sum;
}

static void set_weights(const problem *p) {
    lth_error err = {0};
    for (size_t k = 0; k < lth_kernel_params(p->kernel); k++)
        support_ok(lth_kernel_set(p->kernel, k, 1.5 / (double)(k + 2), &err), &err);
}

/* On every instruction set, and no eigenvalue below 0. */
static void values(void **state) {
    (void)state;
    const char *isa;
    for (size_t n = 0; (isa = lth_isa_available(n)); n++) {
        lth_error err = {0};
        lth_ctx *in = NULL;
        lth_ctx_options options;
        lth_ctx_options_init(&options);
        options.isa = isa;
        support_ok(lth_ctx_create(&options, &in, &err), &err);
        for (size_t k = 0; k < SETTINGS; k++) {
            problem p = open_in(in, settings[k].kernel, settings[k].alphabet);
            double K[ROWS * ROWS], self[ROWS], value[ROWS], U[ROWS * ROWS];
            assert_int_equal(lth_kernel_params(p.kernel), settings[k].most - settings[k].least + 1);
            set_weights(&p);
            problem_fill(&p, K);
            support_ok(lth_gram_diagonal(p.kernel, p.items, self, &err), &err);
            for (size_t i = 0; i < ROWS * ROWS; i++) {
                support_near(K[i], reference(&p, &settings[k], i / ROWS, i % ROWS), 1e-12);
                assert_true(K[i] == K[i % ROWS * ROWS + i / ROWS]);
            }
            for (size_t i = 0; i < ROWS; i++) assert_true(self[i] == K[i * ROWS + i]);
            assert_true(K[0] == 0); /* an empty row */
            lth__eigen(ROWS, K, value, U);
            assert_true(value[0] > 0 && value[ROWS - 1] > -1e-9 * value[0]);
            problem_close(&p);
        }
        lth_ctx_free(in);
    }
}

/* So many units that bytes cannot tell them apart; and more windows than a byte can count. */
static void wide(void **state) {
    (void)state;
    lth_error err = {0};
    lth__string text = {0};
    double K[4];
    problem p;
    lth__string_format(&text, "y\tseq\n");
    for (size_t row = 0; row < 2; row++) {
        lth__string_format(&text, "1\t");
        for (size_t i = 0; i < (row ? 300 : 600); i++) lth__string_format(&text, "w%zu ", i % 300);
        lth__string_format(&text, "\n");
    }
    support_ok(problem_try(ctx, "gkm(seq, l=4, k=3, units=words)", text.bytes, &p, &err), &err);
    support_ok(lth_gram(p.kernel, p.items, NULL, K, 2, &err), &err);
    support_near(K[3], 297 * 4, 1e-12);
    support_near(K[2], 2 * 297 * 4, 1e-12); /* no window of the short row has its end and begin */
    problem_close(&p);
    support_ok(problem_try(ctx, "gkm(seq, l=4, k=3, units=words, centre=40)", text.bytes, &p, &err),
               &err);
    support_ok(lth_gram(p.kernel, p.items, NULL, K, 2, &err), &err);
    double sum = 0;
    for (size_t i = 0; i < 297; i++)
        sum += 4 * weight(i, 300, 4, 40) * (weight(i, 600, 4, 40) + weight(i + 300, 600, 4, 40));
    support_near(K[2], sum, 1e-12);
    problem_close(&p);
    lth__string_free(&text);
    lth__string_format(&text, "y\tseq\n1\t");
    for (size_t i = 0; i < 20000; i++) lth__string_format(&text, "A");
    lth__string_format(&text, "\n2\tAAAAA\n");
    support_ok(problem_try(ctx, "gkm(seq, l=4, k=[2,4])", text.bytes, &p, &err), &err);
    support_ok(lth_gram(p.kernel, p.items, NULL, K, 2, &err), &err);
    support_near(K[1], 19997.0 * 2 * (6 + 4 + 1), 1e-12);
    support_near(K[0], 19997.0 * 19997.0 * (6 + 4 + 1), 1e-12);
    problem_close(&p);
    support_ok(problem_try(ctx, "gkm(seq, l=4, k=3)", text.bytes, &p, &err), &err);
    support_ok(lth_gram(p.kernel, p.items, NULL, K, 2, &err), &err);
    support_near(K[1], 19997.0 * 2 * 4, 1e-12);
    support_near(K[0], 19997.0 * 19997.0 * 4, 1e-12);
    problem_close(&p);
    lth__string_free(&text);
}

/* ---- By the gapped k-mers themselves: 3 places of 5, letters there, as a number ---- */

enum { PLACES = 5, CHOSEN = 3, KMERS = 32 * 64 };

static void add_kmers(const sequence *x, double weight, double *count) {
    static const char letters[] = "ACGT";
    for (size_t i = 0; i + PLACES <= x->length; i++) {
        for (unsigned mask = 0; mask < 1u << PLACES; mask++) {
            if (__builtin_popcount(mask) != CHOSEN) continue;
            size_t kmer = mask;
            bool known = true;
            for (size_t t = 0; t < PLACES; t++) {
                if (!(mask >> t & 1)) continue;
                const char *at = strchr(letters, x->letter[i + t]);
                known &= at != NULL;
                if (at) kmer = kmer * 4 + (size_t)(at - letters);
            }
            if (known) count[kmer] += weight;
        }
    }
}

static void features(void **state) {
    (void)state;
    for (int both = 0; both < 2; both++) {
        problem p = open_in(
            ctx, both ? "gkm(seq, l=5, k=3, strand=both)" : "gkm(seq, l=5, k=3, alphabet=dna)",
            "ACGTN");
        double K[ROWS * ROWS], *count = calloc((size_t)ROWS * KMERS, sizeof *count);
        problem_fill(&p, K);
        for (size_t i = 0; i < ROWS; i++) {
            sequence x = read_row(&p, i), other = turn(&x);
            add_kmers(&x, both ? sqrt(0.5) : 1, count + i * KMERS);
            if (both) add_kmers(&other, sqrt(0.5), count + i * KMERS);
        }
        for (size_t i = 0; i < ROWS * ROWS; i++) {
            double sum = 0;
            for (size_t f = 0; f < KMERS; f++)
                sum += count[i / ROWS * KMERS + f] * count[i % ROWS * KMERS + f];
            support_near(K[i], sum, 1e-12);
        }
        free(count);
        problem_close(&p);
    }
}

static double product(const lth__features *f, size_t i, size_t j) {
    double sum = 0;
    for (size_t a = f->start[i], b = f->start[j]; a < f->start[i + 1] && b < f->start[j + 1];) {
        uint32_t x = f->feature[a], y = f->feature[b];
        if (x == y) sum += f->weight[a] * f->weight[b];
        a += x <= y;
        b += y <= x;
    }
    return sum;
}

/* As sparse features: inner products are the kernel, and slices have them too. */
static void sparse(void **state) {
    (void)state;
    static const struct {
        const char *kernel, *alphabet;
    } all[] = {
        {"gkm(seq, l=5, k=3, alphabet=dna)", "ACGTN"},
        {"gkm(seq, l=5, k=[2,4], strand=both)", "ACGTN"},
        {"gkm(seq, l=6, k=4, strand=both, centre=7)", "ACGT"},
        {"gkm(seq, l=4, k=[1,4], centre=30)", "ARNDCE"},
        {"gkm(seq, l=10, k=6, strand=both)", "ACGT"},
    };
    for (size_t n = 0; n < sizeof all / sizeof *all; n++) {
        lth_error err = {0};
        problem p = open_in(ctx, all[n].kernel, all[n].alphabet);
        double K[ROWS * ROWS];
        lth_items *slice = NULL;
        set_weights(&p);
        problem_fill(&p, K);
        support_ok(lth__items_ask_features(p.items, &err), &err);
        const lth__features *f = &p.items->features[0];
        for (size_t i = 0; i < ROWS; i++) {
            for (size_t a = f->start[i] + 1; a < f->start[i + 1]; a++)
                assert_true(f->feature[a - 1] < f->feature[a]);
            for (size_t j = 0; j < ROWS; j++)
                support_near(product(f, i, j), K[i * ROWS + j], 1e-12);
        }
        lth__items_drop_features(p.items);
        assert_null(f->start);
        support_ok(lth__items_slice(p.items, 9, 4, &slice, &err), &err);
        support_ok(lth__items_ask_features(slice, &err), &err);
        support_near(product(&slice->features[0], 1, 3), K[10 * ROWS + 12], 1e-12);
        lth_items_free(slice);
        problem_close(&p);
    }
}

/* Letters that the first table has not: the length of a row is right, and all else is 0. */
static void unseen(void **state) {
    (void)state;
    lth_error err = {0};
    problem p = support_problem(ctx, "gkm(seq, l=3, k=2)", "y\tseq\n1\tABBABC\n");
    lth_table *table = support_table(ctx, "y\tseq\n1\tABXXABXX\n2\tABC\n");
    lth_items *items = NULL;
    double K[4];
    support_ok(lth_encode(p.encoder, table, &items, &err), &err);
    support_ok(lth_gram(p.kernel, items, NULL, K, 2, &err), &err);
    support_ok(lth__items_ask_features(items, &err), &err);
    const lth__features *f = &items->features[0];
    support_near(product(f, 0, 0), K[0], 1e-12);
    support_near(product(f, 0, 1), K[1], 1e-12);
    support_near(product(f, 1, 1), K[3], 1e-12);
    assert_int_equal(f->feature[f->start[1] - 1], 3 * 9); /* after all of 3 masks and 3 letters */
    lth_items_free(items);
    lth_table_free(table);
    problem_close(&p);
}

static void too_many_features(void **state) {
    (void)state;
    lth_error err = {0};
    problem p = open_in(ctx, "gkm(seq, l=12, k=[6,9])", "ARNDCEQGHILKMFPSTWYV");
    assert_int_equal(lth__items_ask_features(p.items, &err), LTH_EARG);
    assert_non_null(strstr(err.message, "l=12 and k up to 9"));
    assert_null(p.items->features[0].start);
    problem_close(&p);
}

/* A sequence and its reverse complement are the same, also as RNA; so are upper and lower case. */
static void strands(void **state) {
    (void)state;
    lth_error err = {0};
    double K[16];
    problem p;
    support_ok(problem_try(ctx, "gkm(seq, l=6, k=4, strand=both)",
                           "y\tseq\n1\tACGTTGCANNAAC\n1\tGTTNNTGCAACGT\n1\tacguugcaNRaac\n"
                           "1\tACG\n",
                           &p, &err),
               &err);
    support_ok(lth_gram(p.kernel, p.items, NULL, K, 4, &err), &err);
    assert_true(K[0] > 0 && K[0] == K[1] && K[0] == K[2] && K[0] == K[5] && K[0] == K[10]);
    assert_true(K[3] == 0 && K[15] == 0);
    problem_close(&p);
    support_ok(
        problem_try(ctx, "gkm(seq, l=3, k=3, lower=no)", "y\tseq\n1\tACG\n1\tAcg\n", &p, &err),
        &err);
    support_ok(lth_gram(p.kernel, p.items, NULL, K, 2, &err), &err);
    assert_true(K[0] == 1 && K[1] == 0 && K[3] == 1);
    problem_close(&p);
}

/* ---- Derivatives ---- */

static void gradients(void **state) {
    (void)state;
    static const char *const kernels[] = {
        "gkm(seq, l=6, k=[3,6], strand=both)",
        "normalize(2 * gkm(seq, l=6, k=[2,5]))",
        "gkm(seq, l=6, k=4) * gkm(seq, l=3, k=[2,3])",
        "gkm(seq, l=6, k=[3,5], strand=both, centre=10)",
    };
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
        problem p = open_in(ctx, kernels[k], "ACGT");
        lth_error err = {0};
        size_t params = lth_kernel_params(p.kernel);
        double W[ROWS * ROWS], K[ROWS * ROWS], gradient[16];
        double *each = calloc(params * ROWS * ROWS, sizeof *each);
        set_weights(&p);
        for (size_t i = 0; i < ROWS * ROWS; i++) W[i] = sin((double)i);
        support_ok(lth_gram_pull(p.kernel, p.items, NULL, W, ROWS, gradient, &err), &err);
        support_ok(lth_gram_gradients(p.kernel, p.items, NULL, each, &err), &err);
        for (size_t q = 0; q < params; q++) {
            double at = lth_kernel_param(p.kernel, q)->value, sum[2] = {0}, whole = 0, h = 1e-4;
            for (int side = 0; side < 2; side++) {
                support_ok(lth_kernel_set(p.kernel, q, side ? at + h : at - h, &err), &err);
                problem_fill(&p, K);
                for (size_t i = 0; i < ROWS * ROWS; i++) sum[side] += W[i] * K[i];
            }
            support_ok(lth_kernel_set(p.kernel, q, at, &err), &err);
            for (size_t i = 0; i < ROWS * ROWS; i++) whole += W[i] * each[q * ROWS * ROWS + i];
            support_near(gradient[q], (sum[1] - sum[0]) / (2 * h), 1e-6);
            support_near(whole, gradient[q], 1e-10);
        }
        free(each);
        problem_close(&p);
    }
}

/* ---- Expressions, and mistakes ---- */

static void expressions(void **state) {
    (void)state;
    static const char *const all[] = {"gkm(seq)", "gkm(seq, l=12, k=[4,8], strand=both)",
                                      "gkm(seq, k=6, weights=[2])", "gkm(seq, k=6, centre=50)"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        lth_error err = {0};
        lth_kernel *kernel = NULL;
        char text[256];
        support_ok(lth_kernel_parse(ctx, all[i], &kernel, &err), &err);
        lth_kernel_print(kernel, text, sizeof text);
        assert_string_equal(text, all[i]);
        lth_kernel_free(kernel);
    }
}

static void refused(void **state) {
    (void)state;
    static const struct {
        const char *kernel, *message;
    } all[] = {
        {"gkm(seq, l=21)", "from 1 to 20"},
        {"gkm(seq, l=0)", "from 1 to 20"},
        {"gkm(seq, l=5, k=6)", "from 1 to l, here 5"},
        {"gkm(seq, k=0)", "from 1 to l, here 10"},
        {"gkm(seq, k=2.5)", "a whole number"},
        {"gkm(seq, k=[7,6])", "least and the most"},
        {"gkm(seq, k=[5,6,7])", "least and the most"},
        {"gkm(seq, k=many)", "a whole number"},
        {"gkm(seq, k=[6,11])", "from 1 to l"},
        {"gkm(seq, strand=both, alphabet=any)", "alphabet=dna"},
        {"gkm(seq, strand=both, units=words)", "units=chars"},
        {"gkm(seq, strand=two)", "one|both"},
        {"gkm(seq, centre=0)", "from 1 to 1000000"},
        {"gkm(seq, centre=yes)", "from 1 to 1000000"},
        {"gkm(seq, l=3, k=2, strand=both)", "row 2 has \"e\" at place 2 of \"seq\""},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        problem p;
        lth_error err = {0};
        double K[4];
        lth_status status = problem_try(ctx, all[i].kernel, "y\tseq\n1\tACG\n2\tAECG\n", &p, &err);
        if (status == LTH_OK) status = lth_gram(p.kernel, p.items, NULL, K, 2, &err);
        assert_int_equal(status, LTH_EFORMAT);
        if (!strstr(err.message, all[i].message)) fail_msg("%zu: %s", i, err.message);
        problem_close(&p);
    }
}

/* ---- Models ---- */

static lth_gp *fit(lth_ctx *in, const char *kernel, lth_table *table) {
    lth_gp_options options;
    lth_gp_options_init(&options);
    options.restarts = 0;
    options.max_iter = 5;
    return support_fit(in, kernel, table, 1, &options);
}

/* The same from a file, and reasons that add up. */
static void models(void **state) {
    (void)state;
    static const char *const kernels[] = {"gkm(seq, l=6, k=[3,5], strand=both, centre=10)",
                                          "gkm(seq)",
                                          "normalize(gkm(seq, l=4, k=[2,3], alphabet=dna))"};
    lth__string text = {0};
    write_rows(&text, "ACGT");
    lth_table *table = support_table(ctx, text.bytes);
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
        lth_error err = {0};
        lth_gp *loaded = NULL, *gp = fit(ctx, kernels[k], table);
        lth_reasons *reasons = NULL;
        support_ok(lth_gp_save(gp, "m", &err), &err);
        support_ok(lth_gp_load(ctx, "m", &loaded, &err), &err);
        unlink("m");
        double *a = support_predict(gp, table, false), *b = support_predict(loaded, table, false);
        assert_memory_equal(a, b, 2 * ROWS * sizeof *a);
        for (size_t row = 0; row < ROWS; row += 6) {
            support_ok(lth_gp_explain(loaded, table, row, NULL, &reasons, &err), &err);
            lth_reasons_summary s = *lth_reasons_summarise(reasons);
            support_near(s.missed, 0, 1e-9);
            lth_reasons_free(reasons);
        }
        free(a);
        free(b);
        lth_gp_free(gp);
        lth_gp_free(loaded);
    }
    lth_table_free(table);
    lth__string_free(&text);
}

/* What is kept of a tile has no part in the values: by the second evaluation, at other weights, the
 * same bits. */
static void kept(void **state) {
    (void)state;
    problem p = open_in(ctx, "gkm(seq, l=6, k=[3,5], strand=both)", "ACGTN");
    double K[2][2][ROWS * ROWS], gradient[2][2][3];
    for (int keeps = 0; keeps < 2; keeps++) {
        lth_error err = {0};
        lth__gram *gram = NULL;
        support_ok(lth__gram_create(p.kernel, p.items, NULL, &gram, &err), &err);
        if (!keeps) lth__gram_keep_nothing(gram);
        for (int round = 0; round < 2; round++) {
            double W[ROWS * ROWS];
            for (size_t i = 0; i < ROWS * ROWS; i++) W[i] = cos((double)(i / ROWS + i % ROWS));
            support_ok(lth_kernel_set(p.kernel, 1, 0.5 + round, &err), &err);
            support_ok(lth__gram_values(gram, K[keeps][round], ROWS, &err), &err);
            support_ok(lth__gram_pull(gram, W, ROWS, gradient[keeps][round], &err), &err);
        }
        lth__gram_free(gram);
    }
    assert_memory_equal(K[0], K[1], sizeof K[0]);
    assert_memory_equal(gradient[0], gradient[1], sizeof gradient[0]);
    assert_true(K[0][0][ROWS * ROWS - 1] < K[0][1][ROWS * ROWS - 1]);
    problem_close(&p);
}

/* With any number of threads learning comes to the same bits. */
static void threads_alike(void **state) {
    (void)state;
    lth__string text = {0};
    double *first = NULL;
    write_rows(&text, "ACGT");
    for (unsigned threads = 1; threads <= 3; threads++) {
        lth_ctx *in = support_context(threads);
        lth_table *table = support_table(in, text.bytes);
        lth_gp *gp = fit(in, "gkm(seq, l=6, k=[3,5])", table);
        double *y = support_predict(gp, table, false);
        if (first) assert_memory_equal(first, y, 2 * ROWS * sizeof *y);
        if (first) free(y);
        if (!first) first = y;
        lth_gp_free(gp);
        lth_table_free(table);
        lth_ctx_free(in);
    }
    free(first);
    lth__string_free(&text);
}

static lth_status use_all(void *user, lth_error *err) {
    problem p = {0};
    lth_table *table = user;
    double K[ROWS * ROWS], W[ROWS * ROWS] = {1}, gradient[16];
    lth_status status = lth_kernel_parse(
        ctx, "normalize(gkm(seq, l=6, k=[3,5], strand=both, centre=9))", &p.kernel, err);
    if (status == LTH_OK) status = lth_encoder_create(ctx, p.kernel, &p.encoder, err);
    if (status == LTH_OK) status = lth_encode(p.encoder, table, &p.items, err);
    if (status == LTH_OK) status = lth_gram(p.kernel, p.items, NULL, K, ROWS, err);
    if (status == LTH_OK) status = lth__items_ask_features(p.items, err);
    if (status == LTH_OK) status = lth_gram_pull(p.kernel, p.items, NULL, W, ROWS, gradient, err);
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
        cmocka_unit_test(values),        cmocka_unit_test(wide),
        cmocka_unit_test(features),      cmocka_unit_test(sparse),
        cmocka_unit_test(unseen),        cmocka_unit_test(too_many_features),
        cmocka_unit_test(strands),       cmocka_unit_test(gradients),
        cmocka_unit_test(expressions),   cmocka_unit_test(refused),
        cmocka_unit_test(models),        cmocka_unit_test(kept),
        cmocka_unit_test(threads_alike), cmocka_unit_test(each_allocation_fails),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
