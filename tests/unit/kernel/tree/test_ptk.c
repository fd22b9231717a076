/* Partial tree kernels: values by enumeration of the subsequences of children, derivatives by
 * differences, soft matches, odd trees. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fixture.h"
#include "gp_support.h"
#include "tree_reference.h"

/* ---- A reference that reads as the definition ---- */

enum { MOST = 400, MOST_CHILDREN = 8 };

typedef struct node {
    char label[24];
    size_t count;
    struct node *child[MOST_CHILDREN];
} node;

typedef struct forest {
    node nodes[MOST];
    size_t used;
} forest;

static const char *read_node(forest *f, const char *at, node **out) {
    node *n = &f->nodes[f->used++];
    assert_true(f->used <= MOST);
    *n = (node){0};
    *out = n;
    bool bracket = *at == '(';
    at += bracket;
    size_t length = strcspn(at, " ()");
    memcpy(n->label, at, length);
    at += length;
    while (bracket && *at != ')') {
        at += *at == ' ';
        assert_true(n->count < MOST_CHILDREN);
        at = read_node(f, at, &n->child[n->count++]);
    }
    return at + bracket;
}

typedef struct weights {
    double decay, gap;
    double (*sigma)(const node *a, const node *b);
} weights;

static double same_label(const node *a, const node *b) {
    return strcmp(a->label, b->label) == 0;
}

static double delta(const node *a, const node *b, const weights *w);

/* All pairs of subsequences that begin at or after (i, j); `gaps` is what has been skipped since
 * the last match. */
static double subsequences(const node *a, const node *b, size_t i, size_t j, bool begun,
                           const weights *w) {
    double sum = 0;
    for (size_t u = i; u < a->count; u++) {
        for (size_t v = j; v < b->count; v++) {
            double skipped = begun ? pow(w->gap, (double)(u - i + v - j)) : 1;
            double match = delta(a->child[u], b->child[v], w);
            if (match == 0) continue;
            sum += skipped * match * (1 + subsequences(a, b, u + 1, v + 1, true, w));
        }
    }
    return sum;
}

static double delta(const node *a, const node *b, const weights *w) {
    double sigma = w->sigma(a, b);
    if (sigma == 0) return 0;
    return w->decay * sigma * (w->gap * w->gap + subsequences(a, b, 0, 0, false, w));
}

static double reference(const char *s, const char *t, const weights *w) {
    static forest a, b;
    node *root;
    a.used = b.used = 0;
    if (*s) read_node(&a, s, &root);
    if (*t) read_node(&b, t, &root);
    double sum = 0;
    for (size_t i = 0; i < a.used; i++) {
        for (size_t j = 0; j < b.used; j++) sum += delta(&a.nodes[i], &b.nodes[j], w);
    }
    return sum;
}

/* ---- Values ---- */

static void test_small_cases(void **state) {
    (void)state;
    static const struct {
        const char *s, *t;
        double value;
    } cases[] = {
        /* decay 0.5, gap 0.5: a leaf by itself is 0.125 */
        {"(A a)", "(A a)", 0.125 + 0.5 * (0.25 + 0.125)},
        {"(A a)", "(B a)", 0.125},
        {"(A a b)", "(A a b)", 2 * 0.125 + 0.5 * (0.25 + 2 * 0.125 + 0.125 * 0.125)},
        {"(A a x b)", "(A a b)", 2 * 0.125 + 0.5 * (0.25 + 2 * 0.125 + 0.5 * 0.125 * 0.125)},
        {"(A a b)", "(A b a)", 2 * 0.125 + 0.5 * (0.25 + 2 * 0.125)},
        {"", "(A a)", 0},
        {"", "", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const pair[] = {cases[i].s, cases[i].t};
        fixture f = fixture_open("ptk(text, decay=0.5, gap=0.5)", NULL);
        double *K = fixture_gram(&f, fixture_encode(&f, pair, 2), NULL);
        if (fabs(K[1] - cases[i].value) > 1e-15)
            fail_msg("%s and %s: %.17g, not %.17g", cases[i].s, cases[i].t, K[1], cases[i].value);
        assert_true(K[1] == K[2]);
        free(K);
        fixture_close(&f);
    }
}

enum { TREES = 16 };

static void make_trees(uint64_t seed, char **trees) {
    lth__random random;
    lth__random_seed(&random, seed);
    for (size_t i = 0; i < TREES; i++) trees[i] = reference_tree(&random, i % 3);
}

static void free_trees(char **trees) {
    for (size_t i = 0; i < TREES; i++) free(trees[i]);
}

static void check(const char *kernel, const char *vectors, const weights *w, uint64_t seed) {
    char *trees[TREES];
    make_trees(seed, trees);
    fixture f = fixture_open(kernel, NULL);
    const lth_items *rows = fixture_encode(&f, (const char *const *)trees, TREES);
    const lth_items *cols = fixture_encode(&f, (const char *const *)trees + 3, 5);
    if (vectors) fixture_vectors(&f, vectors);
    double *K = fixture_gram(&f, rows, NULL), *C = fixture_gram(&f, rows, cols), diagonal[TREES];
    assert_int_equal(lth_gram_diagonal(f.kernel, rows, diagonal, NULL), LTH_OK);
    size_t alike = 0;
    for (size_t i = 0; i < TREES; i++) {
        for (size_t j = 0; j < TREES; j++) {
            double expected = reference(trees[i], trees[j], w);
            fixture_check_near(&K[i * TREES + j], &expected, 1, 1e-12, 1e-14);
            if (j >= 3 && j < 8) fixture_check_near(&C[i * 5 + j - 3], &expected, 1, 1e-12, 1e-14);
            if (i == j) fixture_check_near(&diagonal[i], &expected, 1, 1e-12, 0);
            alike += i != j && expected != 0;
        }
    }
    assert_true(alike > TREES || w->gap == 0);
    free(K);
    free(C);
    fixture_close(&f);
    free_trees(trees);
}

static void test_against_enumeration(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        check("ptk(text, decay=0.4, gap=0.3)", NULL, &(weights){0.4, 0.3, same_label}, seed);
        check("ptk(text, decay=1, gap=1)", NULL, &(weights){1, 1, same_label}, seed);
        check("ptk(text, decay=0.7, gap=0)", NULL, &(weights){0.7, 0, same_label}, seed);
    }
}

/* ---- Soft matches ---- */

static const char vectors[] = "a 2 0\nb 3 4\nA 4 -3\nB 0 1\n";

static bool vector_of(const char *word, double out[2]) {
    static const struct {
        const char *word;
        double x, y;
    } known[] = {{"a", 1, 0}, {"b", 0.6, 0.8}, {"A", 0.8, -0.6}, {"B", 0, 1}};
    for (size_t i = 0; i < 4; i++) {
        if (strcmp(known[i].word, word) == 0) {
            out[0] = known[i].x, out[1] = known[i].y;
            return true;
        }
    }
    return false;
}

static double cosine(const node *a, const node *b) {
    double x[2], y[2];
    if (vector_of(a->label, x) && vector_of(b->label, y)) return x[0] * y[0] + x[1] * y[1];
    return strcmp(a->label, b->label) == 0;
}

static double soft_leaves(const node *a, const node *b) {
    if ((a->count == 0) != (b->count == 0)) return 0;
    return a->count == 0 ? cosine(a, b) : same_label(a, b);
}

static void test_soft(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        check("ptk(text, sim=cosine, decay=0.4, gap=0.3)", vectors,
              &(weights){0.4, 0.3, soft_leaves}, seed);
        check("ptk(text, sim=cosine, soft=all, decay=0.4, gap=0.3)", vectors,
              &(weights){0.4, 0.3, cosine}, seed);
    }
}

/* ---- Derivatives ---- */

static void check_gradients(const char *kernel, const char *with) {
    char *trees[TREES];
    make_trees(9, trees);
    fixture f = fixture_open(kernel, NULL);
    const lth_items *items = fixture_encode(&f, (const char *const *)trees, TREES);
    if (with) fixture_vectors(&f, with);
    double *G = fixture_gradients(&f, items, NULL);
    for (size_t p = 0; p < lth_kernel_params(f.kernel); p++) {
        lth_param param = *lth_kernel_param(f.kernel, p);
        double h = 1e-5, sum = 0;
        assert_int_equal(lth_kernel_set(f.kernel, p, param.value + h, NULL), LTH_OK);
        double *up = fixture_gram(&f, items, NULL);
        assert_int_equal(lth_kernel_set(f.kernel, p, param.value - h, NULL), LTH_OK);
        double *down = fixture_gram(&f, items, NULL);
        assert_int_equal(lth_kernel_set(f.kernel, p, param.value, NULL), LTH_OK);
        for (size_t i = 0; i < TREES * TREES; i++) {
            double slope = (up[i] - down[i]) / (2 * h);
            fixture_check_near(&G[p * TREES * TREES + i], &slope, 1, 1e-6, 1e-8);
            sum += fabs(slope);
        }
        assert_true(sum > 0);
        free(up);
        free(down);
    }
    /* The weighted sums that learning asks for. */
    double W[TREES * TREES], grad[16];
    lth__random random;
    lth__random_seed(&random, 3);
    for (size_t i = 0; i < TREES * TREES; i++) W[i] = 2 * lth__random_uniform(&random) - 1;
    assert_int_equal(lth_gram_pull(f.kernel, items, NULL, W, TREES, grad, NULL), LTH_OK);
    for (size_t p = 0; p < lth_kernel_params(f.kernel); p++) {
        double sum = 0, scale = 0;
        for (size_t i = 0; i < TREES * TREES; i++) {
            sum += W[i] * G[p * TREES * TREES + i];
            scale += fabs(W[i] * G[p * TREES * TREES + i]);
        }
        assert_true(fabs(sum - grad[p]) <= 1e-12 * scale);
    }
    free(G);
    fixture_close(&f);
    free_trees(trees);
}

static void test_gradients(void **state) {
    (void)state;
    check_gradients("ptk(text, decay=0.4, gap=0.3)", NULL);
    check_gradients("2 * normalize(ptk(text, decay=0.4, gap=0.6)) + ptk(text, decay=0.2)", NULL);
    check_gradients("rbf(normalize(ptk(text))) * sstk(text)", NULL);
    check_gradients("ptk(text, sim=cosine, soft=all)", vectors);
    check_gradients("normalize(ptk(text, sim=arccos))", vectors);
}

/* ---- Shapes, threads, failures ---- */

static void test_threads(void **state) {
    (void)state;
    char *trees[TREES];
    make_trees(4, trees);
    double *first = NULL;
    for (unsigned threads = 1; threads <= 3; threads++) {
        lth_ctx_options options;
        lth_ctx_options_init(&options);
        options.threads = threads;
        fixture f = fixture_open("normalize(ptk(text))", &options);
        double *K = fixture_gram(&f, fixture_encode(&f, (const char *const *)trees, TREES), NULL);
        if (!first)
            first = K;
        else {
            assert_memory_equal(first, K, TREES * TREES * sizeof *K);
            free(K);
        }
        fixture_close(&f);
    }
    free(first);
    free_trees(trees);
}

static void test_deep_and_wide(void **state) {
    (void)state;
    enum { DEEP = 3000, WIDE = 2000 };
    char *deep = calloc(DEEP * 8, 1), *wide = calloc(WIDE * 8, 1), *end = deep;
    for (size_t i = 0; i < DEEP; i++) end += sprintf(end, "(L%zu ", i % 50);
    end += sprintf(end, "x");
    memset(end, ')', DEEP);
    end = wide + sprintf(wide, "(S");
    for (size_t i = 0; i < WIDE; i++) end += sprintf(end, " w%zu", i % 90);
    strcpy(end, ")");
    const char *const trees[] = {deep, wide};
    fixture f = fixture_open("normalize(ptk(text))", NULL);
    double *K = fixture_gram(&f, fixture_encode(&f, trees, 2), NULL);
    assert_true(K[0] == 1 && K[3] == 1 && K[1] == 0);
    free(K);
    fixture_close(&f);
    free(deep);
    free(wide);
}

static void test_arguments(void **state) {
    (void)state;
    lth_ctx *ctx = NULL;
    lth_kernel *kernel = NULL;
    lth_error err = {0};
    assert_int_equal(lth_ctx_create(NULL, &ctx, &err), LTH_OK);
    assert_int_equal(lth_kernel_parse(ctx, "ptk(tree, sim=exp)", &kernel, &err), LTH_EFORMAT);
    assert_string_equal(err.message, "sim of ptk is one of exact|dot|cosine|arccos");
    assert_int_equal(lth_kernel_parse(ctx, "ptk(tree, decay=2)", &kernel, &err), LTH_EFORMAT);
    assert_int_equal(lth_kernel_parse(ctx, "ptk(tree, sim=cosine, gap=0.2!)", &kernel, &err),
                     LTH_OK);
    char text[100];
    lth_kernel_print(kernel, text, sizeof text);
    assert_string_equal(text, "ptk(tree, sim=cosine, gap=0.2!)");
    assert_true(lth_kernel_needs_vectors(kernel));
    lth_kernel_free(kernel);
    lth_ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_cases), cmocka_unit_test(test_against_enumeration),
        cmocka_unit_test(test_soft),        cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_threads),     cmocka_unit_test(test_deep_and_wide),
        cmocka_unit_test(test_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
