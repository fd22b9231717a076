/* The forest: equal subtrees have one number, productions tell apart what kernels must, and no tree
 * is too deep or too wide; the index by production. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "data/forest.h"
#include "kernel/tree/tree_index.h"

typedef struct woods {
    lth__symbols *labels;
    lth__forest *forest;
    lth__tree tree;
} woods;

static woods open_woods(void) {
    woods w = {.labels = lth__symbols_create(), .forest = lth__forest_create()};
    assert_true(w.labels && w.forest);
    return w;
}

static void close_woods(woods *w) {
    lth__symbols_free(w->labels);
    lth__forest_free(w->forest);
    lth__tree_free(&w->tree);
}

/* The nodes of a tree in brackets; freed with free(). */
static uint32_t *add(woods *w, const char *text) {
    lth_error err = {0};
    assert_int_equal(
        lth__tree_read(text, strlen(text), LTH__TREE_BRACKETS, 0, w->labels, &w->tree, &err),
        LTH_OK);
    uint32_t *nodes = malloc((w->tree.count + 1) * sizeof *nodes);
    assert_non_null(nodes);
    assert_int_equal(lth__forest_add(w->forest, &w->tree, nodes, &err), LTH_OK);
    return nodes;
}

static uint32_t root(woods *w, const char *text) {
    uint32_t *nodes = add(w, text), last = nodes[w->tree.count - 1];
    free(nodes);
    return last;
}

static uint32_t production(woods *w, const char *text) {
    uint32_t number = root(w, text); /* may move the subtrees */
    return w->forest->subtrees[number].production;
}

/* ---- Subtrees ---- */

static void test_numbers(void **state) {
    (void)state;
    woods w = open_woods();
    /* a A b B (A a): equal ones get the number of the first */
    uint32_t *nodes = add(&w, "(S (A a) (B b) (A a))");
    static const uint32_t expected[] = {0, 1, 2, 3, 0, 1, 4};
    assert_int_equal(w.tree.count, 7);
    assert_memory_equal(nodes, expected, sizeof expected);
    assert_int_equal(w.forest->count, 5);
    const lth__subtree *s = &w.forest->subtrees[4];
    assert_int_equal(s->children, 3);
    static const uint32_t children[] = {1, 3, 1};
    assert_memory_equal(lth__forest_children(w.forest, 4), children, sizeof children);
    assert_string_equal(lth__symbols_text(w.labels, s->label, NULL), "S");
    assert_true(lth__forest_is_leaf(w.forest, 0) && !lth__forest_is_leaf(w.forest, 1));
    free(nodes);
    assert_int_equal(root(&w, "(S (A a) (B b) (A a))"), 4);
    assert_int_equal(w.forest->count, 5);
    /* One node more, or the children in another order, is another tree. */
    assert_int_equal(root(&w, "(S (A a) (A a) (B b))"), 5);
    assert_int_equal(root(&w, "(S (A a) (B b))"), 6);
    assert_int_equal(root(&w, "(S (S (A a) (B b)))"), 7);
    nodes = add(&w, "");
    assert_int_equal(w.tree.count, 0);
    assert_int_equal(w.forest->count, 8);
    free(nodes);
    close_woods(&w);
}

static void test_productions(void **state) {
    (void)state;
    woods w = open_woods();
    uint32_t first = production(&w, "(S (A a) (B b))");
    const lth__production *p = &w.forest->productions[first];
    assert_true(p->children == 2 && p->inner == 2);
    assert_int_equal(production(&w, "(S (A (C c)) (B b d))"), first);
    assert_int_not_equal(production(&w, "(S (B b) (A a))"), first);
    assert_int_not_equal(production(&w, "(S (A a) (B b) (B b))"), first);
    assert_int_not_equal(production(&w, "(T (A a) (B b))"), first);
    /* A leaf called A is not a node called A. */
    uint32_t mixed = production(&w, "(S A (B b))");
    assert_int_not_equal(mixed, first);
    p = &w.forest->productions[mixed];
    assert_true(p->children == 2 && p->inner == 1);
    assert_int_equal(production(&w, "(S A (B (C c)))"), mixed);
    /* Pre-terminals are as different as their words. */
    assert_int_not_equal(production(&w, "(A a)"), production(&w, "(A b)"));
    uint32_t word = production(&w, "(A a)");
    assert_int_equal(w.forest->productions[word].inner, 0);
    close_woods(&w);
}

/* Random trees as text: the same text is the same number, and no other. */
static void grow(lth__random *random, size_t depth, char *text) {
    char label[8];
    snprintf(label, sizeof label, "(%c", (char)('A' + (int)lth__random_below(random, 3)));
    strcat(text, label);
    size_t children = 1 + lth__random_below(random, 2);
    for (size_t i = 0; i < children; i++) {
        strcat(text, " ");
        if (depth > 0 && lth__random_below(random, 3) > 0)
            grow(random, depth - 1, text);
        else
            strcat(text, lth__random_below(random, 2) ? "x" : "y");
    }
    strcat(text, ")");
}

static void test_random_trees(void **state) {
    (void)state;
    enum { TREES = 400 };
    static char text[TREES][2048];
    uint32_t number[TREES];
    lth__random random;
    lth__random_seed(&random, 5);
    woods w = open_woods();
    for (size_t i = 0; i < TREES; i++) {
        grow(&random, 3, text[i]);
        number[i] = root(&w, text[i]);
    }
    size_t equal = 0;
    for (size_t i = 0; i < TREES; i++) {
        for (size_t j = 0; j < i; j++) {
            assert_int_equal(number[i] == number[j], strcmp(text[i], text[j]) == 0);
            equal += number[i] == number[j];
        }
    }
    assert_true(equal > 100);
    for (uint32_t u = 0; u < w.forest->count; u++) {
        for (size_t k = 0; k < w.forest->subtrees[u].children; k++)
            assert_true(lth__forest_children(w.forest, u)[k] < u);
    }
    close_woods(&w);
}

static void test_check(void **state) {
    (void)state;
    woods w = open_woods();
    free(add(&w, "(S (A a) (B b))")); /* a A b B S = 0 1 2 3 4 */
    static const struct {
        uint32_t nodes[6];
        size_t count;
        bool is_tree;
    } cases[] = {
        {{0, 1, 2, 3, 4}, 5, true},
        {{0}, 0, true},
        {{0}, 1, true},
        {{0, 1}, 2, true},
        {{0, 1, 2, 3}, 4, false},
        {{0, 1, 2, 3, 4, 0}, 6, false},
        {{1}, 1, false},
        {{2, 1}, 2, false},
        {{2, 3, 0, 1, 4}, 5, false},
        {{5}, 1, false},
        {{4}, 1, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool is_tree = !cases[i].is_tree;
        lth_error err = {0};
        assert_int_equal(
            lth__forest_check(w.forest, cases[i].nodes, cases[i].count, &is_tree, &err), LTH_OK);
        assert_int_equal(is_tree, cases[i].is_tree);
    }
    close_woods(&w);
}

/* ---- Extremes ---- */

static void test_deep_and_wide(void **state) {
    (void)state;
    enum { SIZE = 50000 };
    woods w = open_woods();
    char *text = malloc(8 * SIZE), *at = text;
    assert_non_null(text);
    for (size_t i = 0; i < SIZE; i++) at += sprintf(at, "(S ");
    *at++ = 'a';
    memset(at, ')', SIZE);
    at[SIZE] = 0;
    uint32_t *nodes = add(&w, text);
    assert_int_equal(w.tree.count, SIZE + 1);
    for (uint32_t i = 0; i <= SIZE; i++) assert_int_equal(nodes[i], i);
    assert_int_equal(w.forest->production_count, 3); /* a, S -> a, S -> S */
    free(nodes);
    at = text + sprintf(text, "(S");
    for (size_t i = 0; i < SIZE; i++) at += sprintf(at, " (A a)");
    strcpy(at, ")");
    nodes = add(&w, text);
    assert_int_equal(w.tree.count, 2 * SIZE + 1);
    assert_int_equal(w.forest->count, SIZE + 3); /* A a, and the whole */
    assert_int_equal(w.forest->subtrees[nodes[2 * SIZE]].children, SIZE);
    free(nodes);
    free(text);
    close_woods(&w);
}

/* ---- The index ---- */

static void check_links(const lth__forest *f, const lth__tree_index *x, uint32_t p, size_t m) {
    size_t members = lth__tree_index_members(x, p);
    const lth__tree_link *link = x->link + x->link_start[p] + m * members;
    for (size_t k = 0; k < members; k++) {
        assert_int_equal(f->subtrees[link[k].subtree].production, p);
        size_t inner = 0, place = LTH_NONE;
        const uint32_t *children = lth__forest_children(f, link[k].subtree);
        for (size_t c = 0; c < f->subtrees[link[k].subtree].children; c++) {
            if (lth__forest_is_leaf(f, children[c])) continue;
            if (inner++ == m) place = c;
        }
        assert_int_equal(children[place], link[k].child);
        if (k == 0) continue;
        uint32_t before = f->subtrees[link[k - 1].child].production;
        uint32_t own = f->subtrees[link[k].child].production;
        assert_true(before < own || (before == own && link[k - 1].subtree < link[k].subtree));
    }
}

static void test_index(void **state) {
    (void)state;
    lth__random random;
    lth__random_seed(&random, 9);
    woods w = open_woods();
    for (size_t i = 0; i < 200; i++) {
        char text[2048] = "";
        grow(&random, 3, text);
        free(add(&w, text));
    }
    lth_error err = {0};
    lth__tree_index *x = NULL;
    const lth__forest *f = w.forest;
    assert_int_equal(lth__tree_index_create(f, NULL, &x, &err), LTH_OK);
    assert_int_equal(x->subtrees, f->count);
    assert_int_equal(x->member_start[0], 0);
    assert_int_equal(x->member_start[f->production_count], f->count);
    for (uint32_t p = 0; p < f->production_count; p++) {
        for (size_t k = x->member_start[p]; k < x->member_start[p + 1]; k++) {
            assert_int_equal(f->subtrees[x->member[k]].production, p);
            if (k > x->member_start[p]) assert_true(x->member[k - 1] < x->member[k]);
        }
        for (size_t m = 0; m < f->productions[p].inner; m++) check_links(f, x, p, m);
    }
    lth__tree_index_free(x);
    close_woods(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),       cmocka_unit_test(test_productions),
        cmocka_unit_test(test_random_trees),  cmocka_unit_test(test_check),
        cmocka_unit_test(test_deep_and_wide), cmocka_unit_test(test_index),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
