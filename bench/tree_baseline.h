/* The plain way to compute tree kernels: what the library is compared with. */
#ifndef TREE_BASELINE_H
#define TREE_BASELINE_H

#include <stdbool.h>
#include <stddef.h>

/* A tree's nodes in post-order: all, by their labels; or those that are no leaves, by their
 * productions. */
typedef struct plain_node {
    int name; /* the same number for equal labels, or productions */
    int children;
    const int *child; /* their numbers */
} plain_node;

typedef struct plain_tree {
    plain_node *nodes;
    int *children; /* of all nodes */
    size_t count;
} plain_tree;

/* Trees in brackets, with or without leaves; what is numbered is numbered over all of them. */
plain_tree *read_plain_trees(const char *const *text, size_t count, bool leaves);
void free_plain_trees(plain_tree *trees, size_t count);

/* k(a,b) by the definition, over all pairs of nodes. */
double plain_sstk(const plain_tree *a, const plain_tree *b, double decay, double alpha);
/* The same of trees with leaves. */
double plain_ptk(const plain_tree *a, const plain_tree *b, double decay, double gap);

#endif
