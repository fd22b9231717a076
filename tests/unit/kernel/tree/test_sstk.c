/* Subset tree kernels: values by enumeration of fragments, derivatives by differences, the same
 * bits whatever the threads and tiles, and trees of every shape. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "fixture.h"
#include "gp_support.h"
#include "kernel/core/encode.h"
#include "tree_reference.h"

/* ---- Known values ---- */

static void test_known_values(void **state) {
    (void)state;
    static const char *const tree[] = {"(S (A a) (B b))"};
    static const double decay[] = {1, 0.5, 2}, expected[] = {6, 4, 10};
    fixture f = fixture_open("sstk(text, symbols=[S,A,B], decay=1)", NULL);
    const lth_items *items = fixture_encode(&f, tree, 1);
    assert_string_equal(f.kernel->params[1].path, "sstk.decay[S]");
    for (size_t i = 0; i < 3; i++) {
        f.kernel->params[1].value = decay[i]; /* also beyond its bounds */
        double *K = fixture_gram(&f, items, NULL), diagonal;
        assert_int_equal(lth_gram_diagonal(f.kernel, items, &diagonal, NULL), LTH_OK);
        assert_true(K[0] == expected[i] && diagonal == expected[i]);
        free(K);
    }
    fixture_close(&f);
}

static void test_small_cases(void **state) {
    (void)state;
    static const struct {
        const char *kernel, *s, *t;
        double value;
    } cases[] = {
        /* (A a), (B b), S -> A B alone, with either child, with both */
        {"sstk(text, decay=0.5)", "(S (A a) (B b))", "(S (A a) (B b))", 1 + 0.5 * 1.5 * 1.5},
        {"sstk(text, decay=0.5)", "(S (A a) (B b))", "(S (A a) (B c))", 0.5 + 0.5 * 1.5},
        {"stk(text, decay=0.5)", "(S (A a) (B b))", "(S (A a) (B b))", 1 + 0.5 * 0.25},
        {"stk(text, decay=0.5)", "(S (A a) (B b))", "(S (A a) (B c))", 0.5},
        {"sstk(text, decay=0.5, alpha=0)", "(S (A a) (B b))", "(S (A a) (B c))", 0.5},
        {"sstk(text, decay=0.5)", "(S (A a))", "(S (B a))", 0},
        {"sstk(text, decay=0.5)", "(A a)", "(A a)", 0.5},
        {"sstk(text, decay=0.5)", "(S a (B b))", "(S a (B b))", 0.5 + 0.5 * 1.5},
        {"sstk(text, decay=0.5)", "(S a (B b))", "(S (A a) (B b))", 0.5},
        {"sstk(text, decay=0.5)", "", "(A a)", 0},
        {"sstk(text, decay=0.5)", "", "", 0},
        {"sstk(text, decay=0)", "(A a)", "(A a)", 0},
        {"sstk(text, decay=0.5, leaves=yes)", "(S (A a) (B a))", "(T (C a) (C b))", 1},
        {"sstk(text, decay=0.5, leaves=yes, symbols=[A], alpha=0.25)", "(A a)", "(A a)", 1},
        {"sstk(text, decay=0.5)", "(S (A Dog))", "(S (A dog))", 0.5},
        {"sstk(text, decay=0.5, lower=yes)", "(S (A Dog))", "(S (A dog))", 0.5 + 0.5 * 1.5},
        {"sstk(text, decay=0.5, lower=yes)", "(S (A \u00C9T\u00C9))", "(S (A \u00E9t\u00E9))",
         0.5 + 0.5 * 1.5},
        {"sstk(text, decay=0.5, lower=yes)", "(S (A a))", "(s (A a))", 0.5},
        {"sstk(text, decay=0.5)", "(S (NP-SBJ-1 a))", "(S (NP a))", 0},
        {"sstk(text, decay=0.5, strip=tags)", "(S (NP-SBJ-1 a))", "(S (NP a))", 0.5 + 0.5 * 1.5},
        {"sstk(text, decay=0.5, strip=[tags,traces])", "(S (NP-SBJ-1 a) (NP (-NONE- *)))",
         "(S (NP a))", 0.5 + 0.5 * 1.5},
        /* One symbol has its own, what is not named the shared ones. */
        {"sstk(text, symbols=[S,\",\"], decay=[0.5,0.25,1], alpha=[1,2,0])", "(S (, a) (B b))",
         "(S (, a) (B b))", 1 + 0.5 + 0.25 * (2 + 1) * (2 + 0.5)},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const pair[] = {cases[i].s, cases[i].t};
        fixture f = fixture_open(cases[i].kernel, NULL);
        const lth_items *items = fixture_encode(&f, pair, 2);
        double *K = fixture_gram(&f, items, NULL);
        if (fabs(K[1] - cases[i].value) > 1e-15) {
            fail_msg("%s of %s and %s is %.17g, not %.17g", cases[i].kernel, cases[i].s, cases[i].t,
                     K[1], cases[i].value);
        }
        assert_true(K[1] == K[2]);
        free(K);
        fixture_close(&f);
    }
}

/* ---- Enumeration ---- */

enum { TREES = 24 };

static void make_trees(uint64_t seed, char **trees) {
    lth__random random;
    lth__random_seed(&random, seed);
    for (size_t i = 0; i < TREES; i++) trees[i] = reference_tree(&random, i % 4);
    free(trees[7]);
    trees[7] = strdup("");
}

static void free_trees(char **trees) {
    for (size_t i = 0; i < TREES; i++) free(trees[i]);
}

static void check_reference(const char *kernel, const reference_weights *w, uint64_t seed) {
    char *trees[TREES];
    make_trees(seed, trees);
    fixture f = fixture_open(kernel, NULL);
    const lth_items *rows = fixture_encode(&f, (const char *const *)trees, TREES);
    const lth_items *cols = fixture_encode(&f, (const char *const *)trees + 5, 9);
    double *K = fixture_gram(&f, rows, NULL), *C = fixture_gram(&f, rows, cols), diagonal[TREES];
    assert_int_equal(lth_gram_diagonal(f.kernel, rows, diagonal, NULL), LTH_OK);
    size_t alike = 0;
    for (size_t i = 0; i < TREES; i++) {
        for (size_t j = 0; j < TREES; j++) {
            double expected = reference_sstk(trees[i], trees[j], w);
            fixture_check_near(&K[i * TREES + j], &expected, 1, 1e-13, 0);
            if (j >= 5 && j < 14) fixture_check_near(&C[i * 9 + j - 5], &expected, 1, 1e-13, 0);
            if (i == j) fixture_check_near(&diagonal[i], &expected, 1, 1e-13, 0);
            alike += i != j && expected > 0;
        }
    }
    assert_true(alike > TREES);
    free(K);
    free(C);
    fixture_close(&f);
    free_trees(trees);
}

static void test_fragments(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        check_reference(
            "sstk(text, decay=0.6, alpha=0.7)",
            &(reference_weights){.decay = {0.6, 0.6, 0.6, 0.6}, .alpha = {0.7, 0.7, 0.7, 0.7}},
            seed);
        check_reference(
            "sstk(text, symbols=[B,D], decay=[0.5,0.9,0.1], alpha=[1,0,0.3])",
            &(reference_weights){.decay = {0.5, 0.9, 0.5, 0.1}, .alpha = {1, 0, 1, 0.3}}, seed);
        check_reference(
            "stk(text, symbols=[A], decay=[0.5,1], leaves=yes)",
            &(reference_weights){.decay = {1, 0.5, 0.5, 0.5}, .leaves = true, .shared = 0.5}, seed);
    }
}

/* ---- Derivatives ---- */

static lth_table *table_of_pairs(lth_ctx *ctx, uint64_t seed) {
    char *trees[TREES];
    lth__string lines = {0};
    make_trees(seed, trees);
    lth__string_format(&lines, "text\tother\tf1\n");
    for (size_t i = 0; i < TREES; i++) {
        if (i != 7 && i != 8) /* empty rows, but for one column */
            lth__string_format(&lines, "%s\t%s\t%zu\n", trees[i], trees[TREES - 1 - i], i % 5);
    }
    lth__string_format(&lines, "\t(A a)\t1\n");
    assert_false(lines.failed);
    lth_table *table = support_table(ctx, lines.bytes);
    lth__string_free(&lines);
    free_trees(trees);
    return table;
}

typedef struct problem {
    lth_ctx *ctx;
    lth_table *table;
    lth_kernel *kernel;
    lth_encoder *encoder;
    lth_items *items;
    size_t count, params;
} problem;

static problem open_problem(const char *kernel, uint64_t seed) {
    lth_error err = {0};
    problem p = {.ctx = support_context(1)};
    p.table = table_of_pairs(p.ctx, seed);
    support_ok(lth_kernel_parse(p.ctx, kernel, &p.kernel, &err), &err);
    support_ok(lth_kernel_resolve(&p.kernel, p.table, &err), &err);
    support_ok(lth_encoder_create(p.ctx, p.kernel, &p.encoder, &err), &err);
    support_ok(lth_encode(p.encoder, p.table, &p.items, &err), &err);
    p.count = lth_items_count(p.items);
    p.params = lth_kernel_params(p.kernel);
    return p;
}

static void close_problem(problem *p) {
    lth_items_free(p->items);
    lth_encoder_free(p->encoder);
    lth_kernel_free(p->kernel);
    lth_table_free(p->table);
    lth_ctx_free(p->ctx);
}

static void fill(const problem *p, double *K) {
    lth_error err = {0};
    support_ok(lth_gram(p->kernel, p->items, NULL, K, p->count, &err), &err);
}

/* Central differences of the whole matrix by one parameter; beyond its bounds, too. */
static void differences(problem *p, size_t param, double *out, double *room) {
    static const double step = 1e-5;
    double *value = &p->kernel->params[param].value, start = *value;
    *value = start + step;
    fill(p, out);
    *value = start - step;
    fill(p, room);
    *value = start;
    for (size_t i = 0; i < p->count * p->count; i++) out[i] = (out[i] - room[i]) / (2 * step);
}

static void check_gradients(const char *kernel) {
    problem p = open_problem(kernel, 11);
    size_t cells = p.count * p.count;
    lth_error err = {0};
    double *G = malloc(p.params * cells * sizeof *G), *D = malloc(3 * cells * sizeof *D);
    double *W = D + 2 * cells, *grad = malloc(p.params * sizeof *grad);
    assert_true(G && D && grad);
    for (size_t i = 0; i < cells; i++) W[i] = (double)(i * 37 % 11) / 5 - 1;
    support_ok(lth_gram_gradients(p.kernel, p.items, NULL, G, &err), &err);
    support_ok(lth_gram_pull(p.kernel, p.items, NULL, W, p.count, grad, &err), &err);
    for (size_t k = 0; k < p.params; k++) {
        differences(&p, k, D, D + cells);
        double pulled = 0, size = 0;
        for (size_t i = 0; i < cells; i++) {
            double g = G[k * cells + i];
            if (fabs(g - D[i]) > 1e-6 * (1 + fabs(g))) {
                fail_msg("%s by %s at %zu: %.10g, by differences %.10g", kernel,
                         p.kernel->params[k].path, i, g, D[i]);
            }
            pulled += W[i] * g;
            size += fabs(W[i] * g);
        }
        if (fabs(pulled - grad[k]) > 1e-12 * size + 1e-15) { /* of numbers around 1 */
            fail_msg("%s by %s: %.17g, but the matrices say %.17g", kernel,
                     p.kernel->params[k].path, grad[k], pulled);
        }
    }
    free(G);
    free(D);
    free(grad);
    close_problem(&p);
}

static void test_gradients(void **state) {
    (void)state;
    static const char *const kernels[] = {
        "sstk(text)",
        "sstk(text, decay=0.3, alpha=0)",
        "sstk(text, symbols=all, decay=0.6, alpha=0.5)",
        "sstk(text, symbols=[A,C,X], decay=[0.5,0.2,0,0.1], alpha=[0,0.5,0,1.5])",
        "sstk(text, symbols=all, decay=0.6, alpha=0, leaves=yes)",
        "stk(text, symbols=[B])",
        "normalize(sstk(text, symbols=all, alpha=0))",
        "normalize(sstk(text, symbols=[A,B])) * normalize(sstk(other, symbols=[A,D], alpha=0))",
        "2 * normalize(sstk(text)) + 0.5 * normalize(stk(other, symbols=all)) * rbf(f1) + "
        "sstk(text, decay=0.1)",
        "rbf(normalize(sstk(text, symbols=[C])))",
    };
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) check_gradients(kernels[i]);
}

/* Two tables: rows of one against rows of the other, also in the pull-back. */
static void test_two_tables(void **state) {
    (void)state;
    char *trees[TREES];
    make_trees(21, trees);
    fixture f = fixture_open("normalize(sstk(text, symbols=[A,B], alpha=0.5))", NULL);
    const lth_items *rows = fixture_encode(&f, (const char *const *)trees, 13);
    const lth_items *cols = fixture_encode(&f, (const char *const *)trees + 9, 11);
    const lth_items *all = fixture_encode(&f, (const char *const *)trees, TREES);
    double *K = fixture_gram(&f, rows, cols), *whole = fixture_gram(&f, all, NULL);
    double *G = fixture_gradients(&f, rows, cols), W[13 * 11], grad[6];
    for (size_t i = 0; i < 13 * 11; i++) W[i] = (double)(i % 7) - 3;
    assert_int_equal(lth_gram_pull(f.kernel, rows, cols, W, 11, grad, NULL), LTH_OK);
    for (size_t i = 0; i < 13; i++)
        fixture_check_near(K + i * 11, whole + i * TREES + 9, 11, 1e-14, 0);
    for (size_t p = 0; p < 6; p++) {
        double sum = 0;
        for (size_t i = 0; i < 13 * 11; i++) sum += W[i] * G[p * 13 * 11 + i];
        fixture_check_near(&grad[p], &sum, 1, 1e-12, 1e-14);
    }
    free(K);
    free(G);
    free(whole);
    fixture_close(&f);
    free_trees(trees);
}

/* ---- The same bits ---- */

enum { MANY = 70 };

static void test_threads(void **state) {
    (void)state;
    static const char kernel[] = "normalize(sstk(text, symbols=[A,B,C,D], decay=0.7, alpha=0.3))";
    char *trees[MANY];
    double *K[3], grad[3][10], *W = malloc(MANY * MANY * sizeof *W);
    lth__random random;
    lth__random_seed(&random, 3);
    for (size_t i = 0; i < MANY; i++) trees[i] = reference_tree(&random, 4);
    for (size_t i = 0; i < MANY * MANY; i++) W[i] = lth__random_uniform(&random) - 0.5;
    for (unsigned threads = 1; threads <= 3; threads++) {
        lth_ctx_options options;
        lth_ctx_options_init(&options);
        options.threads = threads;
        fixture f = fixture_open(kernel, &options);
        const lth_items *items = fixture_encode(&f, (const char *const *)trees, MANY);
        K[threads - 1] = fixture_gram(&f, items, NULL);
        assert_int_equal(lth_gram_pull(f.kernel, items, NULL, W, MANY, grad[threads - 1], NULL),
                         LTH_OK);
        fixture_close(&f);
    }
    for (size_t k = 1; k < 3; k++) {
        assert_memory_equal(K[0], K[k], MANY * MANY * sizeof *K[0]);
        assert_memory_equal(grad[0], grad[k], sizeof grad[0]);
    }
    for (size_t k = 0; k < 3; k++) free(K[k]);
    for (size_t i = 0; i < MANY; i++) free(trees[i]);
    free(W);
}

/* A matrix of all pairs against the same pairs one by one, bit for bit. */
static void check_tiles(char *const *trees, size_t count, size_t every) {
    fixture f = fixture_open("sstk(text, symbols=[A,S], decay=[0.7,0.6,0.5], alpha=0.3)", NULL);
    const lth_items *items = fixture_encode(&f, (const char *const *)trees, count);
    double *K = fixture_gram(&f, items, NULL), *G = malloc(count * count * sizeof *G);
    assert_int_equal(lth_gram(f.kernel, items, items, G, count, NULL), LTH_OK);
    assert_memory_equal(K, G, count * count * sizeof *K);
    for (size_t i = 0; i < count; i += every) {
        for (size_t j = i; j < count; j += every) {
            lth_items *a = NULL, *b = NULL;
            double value = NAN;
            assert_int_equal(lth__items_slice(items, i, 1, &a, NULL), LTH_OK);
            assert_int_equal(lth__items_slice(items, j, 1, &b, NULL), LTH_OK);
            assert_int_equal(lth_gram(f.kernel, a, b, &value, 1, NULL), LTH_OK);
            assert_true(value == K[i * count + j]);
            lth_items_free(a);
            lth_items_free(b);
        }
    }
    free(K);
    free(G);
    fixture_close(&f);
}

static void test_tiles(void **state) {
    (void)state;
    char *trees[MANY];
    lth__random random;
    lth__random_seed(&random, 8);
    for (size_t i = 0; i < MANY; i++) trees[i] = reference_tree(&random, 4);
    check_tiles(trees, MANY, 1);
    for (size_t i = 0; i < MANY; i++) free(trees[i]);
}

/* Chains: (S (S ... (S wI))), of labels that repeat after `period`. */
static char *chain(size_t depth, size_t period, size_t word) {
    lth__string text = {0};
    for (size_t i = 0; i < depth; i++) {
        if (i % period == 0)
            lth__string_format(&text, "(S ");
        else
            lth__string_format(&text, "(S%zu ", i % period);
    }
    lth__string_format(&text, "w%zu", word);
    for (size_t i = 0; i < depth; i++) lth__string_append(&text, ")", 1);
    assert_false(text.failed);
    return text.bytes;
}

/* Tiles that are too large for one table of Delta: 30 trees with 300 subtrees of one production
 * each make 81 million pairs. */
static void test_large_tiles(void **state) {
    (void)state;
    enum { CHAINS = 30 };
    char *trees[CHAINS];
    for (size_t i = 0; i < CHAINS; i++) trees[i] = chain(300, 1, i);
    check_tiles(trees, CHAINS, 7);
    for (size_t i = 0; i < CHAINS; i++) lth__free(trees[i]);
}

/* d + d^2 + ... + d^m, and its derivative. */
static double powers(size_t m, double d, double *slope) {
    double sum = 0, power = 1;
    for (size_t k = 1; k <= m; k++) {
        *slope += (double)k * power;
        sum += power *= d;
    }
    return sum;
}

/* Delta of two chains of one label, at depths i and j above different words, is powers(m) with m =
 * min(i, j) productions, for alpha = 1. A word that is the same too adds powers(p). */
static double chains_meet(size_t p, size_t q, bool same, double d, double *slope) {
    size_t fewest = p < q ? p : q;
    double sum = 0;
    *slope = 0;
    for (size_t m = 1; m < fewest; m++) { /* for so many (i, j) the lesser one is m */
        double one = 0, times = (double)(p - m + q - m - 1);
        sum += times * powers(m, d, &one);
        *slope += times * one;
    }
    return same ? sum + powers(p, d, slope) : sum;
}

/* Pairs that are too large for a table even by themselves. */
static void test_large_pairs(void **state) {
    (void)state;
    enum { LONG = 2000 };
    char *trees[] = {chain(LONG, 1, 0), chain(LONG - 1, 1, 1)};
    fixture f = fixture_open("sstk(text, decay=0.5)", NULL);
    const lth_items *items = fixture_encode(&f, (const char *const *)trees, 2);
    double *K = fixture_gram(&f, items, NULL), *G = fixture_gradients(&f, items, NULL);
    double W[] = {1, 2, 3, 4}, grad[2], diagonal[2];
    for (size_t i = 0; i < 2; i++) {
        for (size_t j = 0; j < 2; j++) {
            double slope, value = chains_meet(LONG - i, LONG - j, i == j, 0.5, &slope);
            fixture_check_near(&K[2 * i + j], &value, 1, 1e-10, 0);
            fixture_check_near(&G[2 * i + j], &slope, 1, 1e-10, 0);
        }
    }
    assert_int_equal(lth_gram_diagonal(f.kernel, items, diagonal, NULL), LTH_OK);
    assert_true(diagonal[0] == K[0] && diagonal[1] == K[3]);
    assert_int_equal(lth_gram_pull(f.kernel, items, NULL, W, 2, grad, NULL), LTH_OK);
    for (size_t p = 0; p < 2; p++) {
        double sum = G[4 * p] + 5 * G[4 * p + 1] + 4 * G[4 * p + 3];
        fixture_check_near(&grad[p], &sum, 1, 1e-13, 0);
    }
    free(K);
    free(G);
    fixture_close(&f);
    lth__free(trees[0]);
    lth__free(trees[1]);
}

/* Goes on a few times, then no more. */
static int stop(void *user, const char *what, double done, double total) {
    (void)what, (void)done, (void)total;
    size_t *asked = user;
    return ++*asked > 2;
}

/* A pair that would take hours. */
static void test_cancel(void **state) {
    (void)state;
    enum { LARGE = 500000 };
    char *trees[] = {chain(LARGE, 1, 0), chain(LARGE, 1, 1)};
    size_t asked = 0;
    lth_ctx_options options;
    lth_ctx_options_init(&options);
    options.threads = 1;
    options.progress = stop;
    options.user = &asked;
    fixture f = fixture_open("sstk(text)", &options);
    const lth_items *items = fixture_encode(&f, (const char *const *)trees, 2);
    double K[4];
    assert_int_equal(lth_gram(f.kernel, items, NULL, K, 2, NULL), LTH_ECANCELED);
    assert_int_equal(lth_gram_diagonal(f.kernel, items, K, NULL), LTH_ECANCELED);
    fixture_close(&f);
    lth__free(trees[0]);
    lth__free(trees[1]);
}

static char *wide(size_t children, const char *last) {
    lth__string text = {0};
    lth__string_format(&text, "(S");
    for (size_t i = 0; i + 1 < children; i++) lth__string_format(&text, " (A a)");
    lth__string_format(&text, " (A %s))", last);
    assert_false(text.failed);
    return text.bytes;
}

static void test_deep_and_wide(void **state) {
    (void)state;
    enum { SIZE = 50000 };
    char *trees[] = {chain(SIZE, 1000, 0), chain(SIZE, 1000, 1), wide(SIZE, "a"), wide(SIZE, "b"),
                     strdup("(S (A a))")};
    fixture f = fixture_open("normalize(sstk(text, decay=0.25, alpha=0.75))", NULL);
    const lth_items *items = fixture_encode(&f, (const char *const *)trees, 5);
    double *K = fixture_gram(&f, items, NULL), W[25], grad[2];
    for (size_t i = 0; i < 25; i++) W[i] = 1;
    assert_int_equal(lth_gram_pull(f.kernel, items, NULL, W, 5, grad, NULL), LTH_OK);
    assert_true(isfinite(grad[0]) && isfinite(grad[1]));
    for (size_t i = 0; i < 5; i++) assert_true(K[6 * i] == 1);
    assert_true(K[1] > 0.9 && K[1] < 1); /* all but the word */
    assert_true(K[2] == 0);
    /* (A a) is all they share: its nodes, and S with 1 = 0.75 + 0.25 at each. */
    double n = SIZE, same = n * n / 4 + 0.25, other = ((n - 1) * (n - 1) + 1) / 4 + 0.25;
    double mixed = (n - 1) * n / 4 + 0.25 * 0.75;
    support_near(K[13], mixed / sqrt(same * other), 1e-12);
    free(K);
    fixture_close(&f);
    for (size_t i = 0; i < 4; i++) lth__free(trees[i]);
    free(trees[4]);
}

/* ---- Real trees ---- */

static void test_penn_trees(void **state) {
    (void)state;
    enum { N = 200 };
    FILE *file = fopen("../shared/data/ptb_sample_trees_clean.txt", "r");
    if (!file) {
        print_message("there is no ../shared/data/ptb_sample_trees_clean.txt\n");
        skip();
    }
    char *trees[N] = {0};
    for (size_t i = 0, size = 0; i < N; i++, size = 0) {
        ssize_t length = getline(&trees[i], &size, file);
        assert_true(length > 1);
        trees[i][length - 1] = 0;
    }
    fclose(file);
    static const char *const kernels[] = {"sstk(text)", "normalize(sstk(text))"};
    for (size_t k = 0; k < 2; k++) {
        fixture f = fixture_open(kernels[k], NULL);
        const lth_items *items = fixture_encode(&f, (const char *const *)trees, N);
        double *K = fixture_gram(&f, items, NULL), sum = 0, grad[2];
        double *W = malloc(N * N * sizeof *W);
        for (size_t i = 0; i < N * N; i++) sum += K[i];
        for (size_t i = 0; i < N * N; i++) W[i] = 1;
        assert_int_equal(lth_gram_pull(f.kernel, items, NULL, W, N, grad, NULL), LTH_OK);
        if (k == 0) {
            support_near(K[0], 31.7396565, 1e-8);
            support_near(K[1], 3.92, 1e-12);
            support_near(sum, 243147.994038, 1e-11);
            support_near(grad[0], 774137.267157, 1e-11);
            support_near(grad[1], 349285.690144, 1e-11);
        } else {
            support_near(sum, 4391.8746467, 1e-10);
        }
        free(K);
        free(W);
        fixture_close(&f);
    }
    for (size_t i = 0; i < N; i++) free(trees[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_values),  cmocka_unit_test(test_small_cases),
        cmocka_unit_test(test_fragments),     cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_two_tables),    cmocka_unit_test(test_threads),
        cmocka_unit_test(test_tiles),         cmocka_unit_test(test_large_tiles),
        cmocka_unit_test(test_large_pairs),   cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_deep_and_wide), cmocka_unit_test(test_penn_trees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
