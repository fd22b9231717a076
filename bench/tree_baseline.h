/* The plain way to compute the subset tree kernel: what the library is compared with. */
#ifndef TREE_BASELINE_H
#define TREE_BASELINE_H

#include <stddef.h>

/* A tree's inner nodes, in post-order. */
typedef struct plain_node {
    int production;   /* the same number for equal productions              */
    int children;     /* those that are no leaves                           */
    const int *child; /* their numbers                                      */
} plain_node;

typedef struct plain_tree {
    plain_node *nodes;
    int *children; /* of all nodes */
    size_t count;
} plain_tree;

/* Trees in brackets; productions are numbered over all of them. */
plain_tree *read_plain_trees(const char *const *text, size_t count);
void free_plain_trees(plain_tree *trees, size_t count);

/* k(a,b) by the definition, over all pairs of nodes. */
double plain_sstk(const plain_tree *a, const plain_tree *b, double decay, double alpha);

#endif
