/* Partial tree kernels, many trees at once: the same bits whatever the tile, long lists of children
 * against a plain loop, more rows than are kept, deep pairs that can be canceled, failing
 * allocations. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/text.h"
#include "failing_allocator.h"
#include "fixture.h"
#include "tree_reference.h"

static const char vectors[] = "a 2 0\nb 3 4\nA 4 -3\nB 0 1\n";

/* ---- The same bits ---- */

/* The whole matrix, and each pair by itself. */
static void check_bits(fixture *f, const char *const *trees, size_t count) {
    const lth_items *all = fixture_encode(f, trees, count);
    size_t params = lth_kernel_params(f->kernel), cells = count * count;
    double *K = fixture_gram(f, all, NULL), *G = fixture_gradients(f, all, NULL);
    double *diagonal = calloc(count, sizeof *diagonal), sum = 0;
    assert_int_equal(lth_gram_diagonal(f->kernel, all, diagonal, NULL), LTH_OK);
    for (size_t i = 0; i < count; i++) {
        const lth_items *row = fixture_encode(f, trees + i, 1);
        double *line = fixture_gram(f, row, all), *slope = fixture_gradients(f, row, all);
        assert_true(diagonal[i] == K[i * count + i]);
        for (size_t j = i; j < count; j++) {
            sum += K[i * count + j];
            assert_true(line[j] == K[i * count + j]);
            for (size_t p = 0; p < params; p++)
                assert_true(slope[p * count + j] == G[p * cells + i * count + j]);
        }
        free(line);
        free(slope);
        lth_items_free(f->items[--f->item_count]);
    }
    assert_true(sum > 0);
    free(diagonal);
    free(K);
    free(G);
}

static void test_bits(void **state) {
    (void)state;
    enum { TREES = 30 };
    static const char *const kernels[] = {"ptk(text, decay=0.4, gap=0.3)",
                                          "ptk(text, sim=cosine, gap=0.7)",
                                          "ptk(text, sim=cosine, soft=all, gap=0.7)"};
    char *trees[TREES];
    lth__random random;
    lth__random_seed(&random, 5);
    for (size_t i = 0; i < TREES; i++) trees[i] = reference_tree(&random, i % 4);
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
        fixture f = fixture_open(kernels[k], NULL);
        fixture_encode(&f, (const char *const *)trees, TREES);
        if (k > 0) fixture_vectors(&f, vectors);
        check_bits(&f, (const char *const *)trees, TREES);
        fixture_close(&f);
    }
    for (size_t i = 0; i < TREES; i++) free(trees[i]);
}

/* (A (A ... x)) */
static char *chain(size_t depth, size_t leaf) {
    lth__string text = {0};
    for (size_t i = 0; i < depth; i++) lth__string_append(&text, "(A ", 3);
    lth__string_format(&text, "x%zu", leaf);
    for (size_t i = 0; i < depth; i++) lth__string_append(&text, ")", 1);
    assert_false(text.failed);
    return text.bytes;
}

/* Each chain is there twice, and shares nothing with the others: their rows are kept as far as
 * there is room, and computed again beyond. */
static void test_more_than_is_kept(void **state) {
    (void)state;
    enum { TREES = 60, DEEP = 150 };
    char *trees[TREES];
    for (size_t i = 0; i < TREES; i++) trees[i] = chain(DEEP, i / 2);
    fixture f = fixture_open("ptk(text, decay=0.9, gap=0.9)", NULL);
    const lth_items *items = fixture_encode(&f, (const char *const *)trees, TREES);
    double *K = fixture_gram(&f, items, NULL), *G = fixture_gradients(&f, items, NULL);
    for (size_t k = 2; k < TREES; k++) {
        assert_true(K[k] == K[2]);
        for (size_t p = 0; p < 2; p++) {
            const double *slope = G + p * TREES * TREES;
            assert_true(slope[k] == slope[2] && slope[k * TREES + k] == slope[0]);
        }
    }
    /* Of two nodes of chains without a leaf in common only the shorter depth n matters: Delta_1 =
     * c, Delta_n = decay (gap^2 + Delta_(n-1)); 2 (DEEP - n) + 1 pairs have that. */
    double expected = 0, delta = 0, c = 0.9 * 0.81;
    for (size_t n = 1; n <= DEEP; n++) {
        delta = c + 0.9 * delta;
        expected += (double)(2 * (DEEP - n) + 1) * delta;
    }
    fixture_check_near(&K[2], &expected, 1, 1e-12, 0);
    assert_true(K[0] == K[1] && K[0] > K[2]);
    free(K);
    free(G);
    fixture_close(&f);
    for (size_t i = 0; i < TREES; i++) lth__free(trees[i]);
}

/* ---- Long lists of children ---- */

static char *flat(lth__random *random, size_t children, size_t words) {
    lth__string text = {0};
    lth__string_format(&text, "(S");
    for (size_t i = 0; i < children; i++) {
        size_t word = (size_t)(lth__random_uniform(random) * (double)words);
        lth__string_format(&text, i % 3 == 0 ? " (N w%zu)" : " w%zu", word);
    }
    lth__string_append(&text, ")", 1);
    assert_false(text.failed);
    return text.bytes;
}

/* The words of a flat tree; those under an N get `under` added. */
static size_t words_of(const char *tree, int under, int *out) {
    size_t count = 0;
    for (const char *c = tree; (c = strchr(c, 'w')); c++)
        out[count++] = atoi(c + 1) + (c[-2] == 'N' ? under : 0);
    return count;
}

/* All pairs of nodes of two flat trees; children of the roots by the plain recursion over lists. */
static double flat_reference(const char *s, const char *t, double decay, double gap) {
    enum { MOST = 700, UNDER = 1000 };
    static int a[MOST], b[MOST];
    static double P[MOST];
    size_t m = words_of(s, UNDER, a), n = words_of(t, UNDER, b);
    double leaf = decay * gap * gap, nodes = 0, list = 0;
    memset(P, 0, sizeof P);
    for (size_t u = 0; u < m; u++) {
        double q = 0;
        for (size_t v = 0; v < n; v++) {
            bool both = a[u] >= UNDER && b[v] >= UNDER, neither = a[u] < UNDER && b[v] < UNDER;
            bool same = a[u] % UNDER == b[v] % UNDER;
            double delta = both ? decay * (gap * gap + (same ? leaf : 0)) : 0;
            if (neither && same) delta = leaf;
            nodes += (both ? delta : 0) + (same ? leaf : 0);
            double A = delta * (1 + P[v]);
            list += A;
            P[v] = gap * P[v] + q;
            q = gap * q + A;
        }
    }
    return nodes + decay * (gap * gap + list);
}

static void test_long_lists(void **state) {
    (void)state;
    static const size_t children[] = {1, 2, 3, 5, 8, 13, 30, 90, 255, 256, 300, 600};
    enum { TREES = sizeof children / sizeof *children };
    char *trees[TREES];
    lth__random random;
    lth__random_seed(&random, 8);
    for (size_t words = 2; words <= 200; words *= 10) {
        for (size_t i = 0; i < TREES; i++) trees[i] = flat(&random, children[i], words);
        fixture f = fixture_open("ptk(text, decay=0.5, gap=0.5)", NULL);
        double *K = fixture_gram(&f, fixture_encode(&f, (const char *const *)trees, TREES), NULL);
        for (size_t i = 0; i < TREES * TREES; i++) {
            double expected = flat_reference(trees[i / TREES], trees[i % TREES], 0.5, 0.5);
            fixture_check_near(&K[i], &expected, 1, 1e-12, 0);
        }
        free(K);
        fixture_close(&f);
        for (size_t i = 0; i < TREES; i++) lth__free(trees[i]);
    }
}

/* ---- Pairs that would take too long ---- */

/* Goes on a few times, then no more. */
static int stop(void *user, const char *what, double done, double total) {
    (void)what, (void)done, (void)total;
    size_t *asked = user;
    return ++*asked > 2;
}

/* Hours of work and, were all rows kept, more memory than there is. */
static void test_cancel(void **state) {
    (void)state;
    enum { LARGE = 1000000 };
    lth__string wide = {0};
    lth__string_append(&wide, "(S", 2);
    for (size_t i = 0; i < LARGE; i++) lth__string_append(&wide, i % 2 ? " a" : " b", 2);
    lth__string_append(&wide, ")", 1);
    assert_false(wide.failed);
    char *deep = chain(LARGE, 0);
    const char *const trees[] = {deep, wide.bytes};
    for (size_t k = 0; k < 2; k++) {
        size_t asked = 0;
        lth_ctx_options options;
        lth_ctx_options_init(&options);
        options.threads = 1;
        options.progress = stop;
        options.user = &asked;
        fixture f = fixture_open("ptk(text)", &options);
        const lth_items *items = fixture_encode(&f, trees + k, 1);
        double K;
        lth_error err = {0};
        assert_int_equal(lth_gram(f.kernel, items, NULL, &K, 1, &err), LTH_ECANCELED);
        assert_int_equal(lth_gram_diagonal(f.kernel, items, &K, &err), LTH_ECANCELED);
        fixture_close(&f);
    }
    lth__free(deep);
    lth__string_free(&wide);
}

/* ---- Failures ---- */

typedef struct use {
    fixture f;
    const lth_items *items;
    double K[9], grad[2];
} use;

static lth_status compute(void *user, lth_error *err) {
    use *u = user;
    static const double W[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    lth_status status = lth_gram(u->f.kernel, u->items, NULL, u->K, 3, err);
    if (status != LTH_OK) return status;
    return lth_gram_pull(u->f.kernel, u->items, NULL, W, 3, u->grad, err);
}

static void test_no_memory(void **state) {
    (void)state;
    static const char *const trees[] = {"(S (N a) (V b))", "(S (N b) (V b) (N a))", "(V (N a) b)"};
    use u = {.f = fixture_open("ptk(text, decay=0.5, gap=0.5)", NULL)};
    u.items = fixture_encode(&u.f, trees, 3);
    assert_int_equal(compute(&u, NULL), LTH_OK);
    double before[9];
    memcpy(before, u.K, sizeof before);
    fail_each(compute, &u, false, 40);
    assert_memory_equal(before, u.K, sizeof before);
    fixture_close(&u.f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bits),       cmocka_unit_test(test_more_than_is_kept),
        cmocka_unit_test(test_long_lists), cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
