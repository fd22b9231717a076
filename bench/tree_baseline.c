/* Tree kernels as their definitions read: Delta by recursion, for every pair of nodes. Productions
 * and labels are numbers, found before, so that a pair that differs costs one comparison. */
#include "tree_baseline.h"

#include <search.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "workload.h"

/* ---- Reading ---- */

enum { MOST_PRODUCTIONS = 1 << 20, LONGEST_PRODUCTION = 4096, DEEPEST = 1024 };
enum { MOST_CHILDREN = 512 };

/* The number of a production or a label, by its text; texts stay until the end of the program. */
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
    int child[MOST_CHILDREN], children;
} open_node;

static void append(open_node *n, const char *mark, const char *text) {
    size_t used = strlen(n->production);
    snprintf(n->production + used, sizeof n->production - used, " %s%s", mark, text);
}

static void close_node(plain_tree *t, size_t *links, const open_node *n, const char *name) {
    plain_node *node = &t->nodes[t->count++];
    *node = (plain_node){
        .name = number_of(name), .children = n->children, .child = t->children + *links};
    memcpy(t->children + *links, n->child, (size_t)n->children * sizeof *n->child);
    *links += (size_t)n->children;
}

static void add_child(open_node *n, const plain_tree *t) {
    if (n->children == MOST_CHILDREN) die("a node has too many children for the plain loop");
    n->child[n->children++] = (int)t->count - 1;
}

static plain_tree read_tree(const char *text, bool leaves, open_node *stack) {
    size_t most = strlen(text), depth = 0, links = 0;
    plain_tree t = {.nodes = allocate(most, sizeof *t.nodes),
                    .children = allocate(most, sizeof *t.children)};
    for (const char *c = text; *c;) {
        size_t length = strcspn(c, " ()");
        char word[128] = "";
        snprintf(word, sizeof word, "%.*s", (int)length, c);
        if (length > 0) {
            append(&stack[depth - 1], "'", word);
            if (leaves) {
                close_node(&t, &links, &(open_node){.children = 0}, word);
                add_child(&stack[depth - 1], &t);
            }
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
            const open_node *n = &stack[--depth];
            close_node(&t, &links, n, leaves ? n->label : n->production);
            if (depth == 0) break;
            append(&stack[depth - 1], "", n->label);
            add_child(&stack[depth - 1], &t);
        }
    }
    return t;
}

plain_tree *read_plain_trees(const char *const *text, size_t count, bool leaves) {
    plain_tree *trees = allocate(count, sizeof *trees);
    open_node *stack = allocate(DEEPEST, sizeof *stack);
    if (!hcreate(MOST_PRODUCTIONS)) die("out of memory");
    for (size_t i = 0; i < count; i++) trees[i] = read_tree(text[i], leaves, stack);
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

/* ---- The subset tree kernel ---- */

static double delta(const plain_tree *a, int i, const plain_tree *b, int j, double decay,
                    double alpha) {
    const plain_node *x = &a->nodes[i], *y = &b->nodes[j];
    if (x->name != y->name) return 0;
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

/* ---- The partial tree kernel ---- */

static double partial(const plain_tree *a, int i, const plain_tree *b, int j, double decay,
                      double gap) {
    const plain_node *x = &a->nodes[i], *y = &b->nodes[j];
    if (x->name != y->name) return 0;
    /* Of the children so far, what ended before: P in both lists, q in the row at hand. */
    double P[MOST_CHILDREN], sum = 0;
    for (int v = 0; v < y->children; v++) P[v] = 0;
    for (int u = 0; u < x->children; u++) {
        double q = 0;
        for (int v = 0; v < y->children; v++) {
            double A = partial(a, x->child[u], b, y->child[v], decay, gap) * (1 + P[v]);
            sum += A;
            P[v] = gap * P[v] + q;
            q = gap * q + A;
        }
    }
    return decay * (gap * gap + sum);
}

double plain_ptk(const plain_tree *a, const plain_tree *b, double decay, double gap) {
    double sum = 0;
    for (size_t i = 0; i < a->count; i++) {
        for (size_t j = 0; j < b->count; j++) sum += partial(a, (int)i, b, (int)j, decay, gap);
    }
    return sum;
}
