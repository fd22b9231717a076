/* The subset tree kernel as its definition reads: Delta by recursion, for every pair of nodes.
 * Productions are numbers, found before, so that a pair that differs costs one comparison. */
#include "tree_baseline.h"

#include <search.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "workload.h"

/* ---- Reading ---- */

enum { MOST_PRODUCTIONS = 1 << 20, LONGEST_PRODUCTION = 4096, DEEPEST = 1024 };

/* The number of a production, by its text; texts stay until the end of the program. */
static int number_of(const char *text) {
    static int count;
    ENTRY wanted = {.key = (char *)(uintptr_t)text}, *found = hsearch(wanted, FIND);
    if (found) return (int)(intptr_t)found->data;
    wanted = (ENTRY){.key = strdup(text), .data = (void *)(intptr_t)count};
    if (!wanted.key || !hsearch(wanted, ENTER)) die("out of memory");
    return count++;
}

/* A bracket that is open: its production so far, and its inner children. */
typedef struct open_node {
    char production[LONGEST_PRODUCTION];
    char label[128];
    int child[512], children;
} open_node;

static void append(open_node *n, const char *mark, const char *text) {
    size_t used = strlen(n->production);
    snprintf(n->production + used, sizeof n->production - used, " %s%s", mark, text);
}

static void close_node(plain_tree *t, size_t *links, const open_node *n) {
    plain_node *node = &t->nodes[t->count++];
    *node = (plain_node){.production = number_of(n->production),
                         .children = n->children,
                         .child = t->children + *links};
    memcpy(t->children + *links, n->child, (size_t)n->children * sizeof *n->child);
    *links += (size_t)n->children;
}

static plain_tree read_tree(const char *text, open_node *stack) {
    size_t most = strlen(text), depth = 0, links = 0;
    plain_tree t = {.nodes = allocate(most, sizeof *t.nodes),
                    .children = allocate(most, sizeof *t.children)};
    for (const char *c = text; *c;) {
        size_t length = strcspn(c, " ()");
        char word[128] = "";
        snprintf(word, sizeof word, "%.*s", (int)length, c);
        if (length > 0) {
            append(&stack[depth - 1], "'", word); /* a leaf */
            c += length;
        } else if (*c == '(') {
            if (depth == DEEPEST) die("a tree is too deep for the plain loop");
            length = strcspn(++c, " ()");
            open_node *n = &stack[depth++];
            n->children = 0;
            snprintf(n->label, sizeof n->label, "%.*s", (int)length, c);
            snprintf(n->production, sizeof n->production, "%s ->", n->label);
            c += length;
        } else if (*c++ == ')') {
            close_node(&t, &links, &stack[--depth]);
            if (depth == 0) break;
            append(&stack[depth - 1], "", stack[depth].label);
            stack[depth - 1].child[stack[depth - 1].children++] = (int)t.count - 1;
        }
    }
    return t;
}

plain_tree *read_plain_trees(const char *const *text, size_t count) {
    plain_tree *trees = allocate(count, sizeof *trees);
    open_node *stack = allocate(DEEPEST, sizeof *stack);
    if (!hcreate(MOST_PRODUCTIONS)) die("out of memory");
    for (size_t i = 0; i < count; i++) trees[i] = read_tree(text[i], stack);
    hdestroy();
    free(stack);
    return trees;
}

void free_plain_trees(plain_tree *trees, size_t count) {
    for (size_t i = 0; i < count; i++) {
        free(trees[i].nodes);
        free(trees[i].children);
    }
    free(trees);
}

/* ---- The kernel ---- */

static double delta(const plain_tree *a, int i, const plain_tree *b, int j, double decay,
                    double alpha) {
    const plain_node *x = &a->nodes[i], *y = &b->nodes[j];
    if (x->production != y->production) return 0;
    double product = decay;
    for (int k = 0; k < x->children; k++)
        product *= alpha + delta(a, x->child[k], b, y->child[k], decay, alpha);
    return product;
}

double plain_sstk(const plain_tree *a, const plain_tree *b, double decay, double alpha) {
    double sum = 0;
    for (size_t i = 0; i < a->count; i++) {
        for (size_t j = 0; j < b->count; j++) sum += delta(a, (int)i, b, (int)j, decay, alpha);
    }
    return sum;
}
