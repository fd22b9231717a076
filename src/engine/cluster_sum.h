/* Sums over many ranks in one order: leaves, each of so many numbers, are added along a binary tree
 * that depends on their number alone. Neighbouring leaves belong to one rank, which adds what it
 * can as it goes on, so that it holds a few sums only. */
#ifndef LTH_CLUSTER_SUM_H
#define LTH_CLUSTER_SUM_H

#include "engine/cluster.h"

enum { LTH__MOST_LEAVES = 64, LTH__MOST_NODES = 16 };

/* A sum of the leaves from `from` on. */
typedef struct lth__sum_node {
    size_t from, leaves;
    double *numbers;
} lth__sum_node;

typedef struct lth__tree {
    lth__cluster *c;
    size_t leaves, count; /* leaves: a power of two; count: numbers of each */
    size_t next, end;     /* of this rank's leaves                          */
    lth__sum_node node[LTH__MOST_NODES];
    size_t nodes;
} lth__tree;

/* The number of leaves for so many jobs, the leaf of each, and whose that is. */
size_t lth__tree_leaves(size_t jobs);
size_t lth__tree_leaf_of(size_t jobs, size_t job);
unsigned lth__tree_owner(const lth__cluster *c, size_t leaves, size_t leaf);

void lth__tree_open(lth__tree *t, lth__cluster *c, size_t leaves, size_t count);
void lth__tree_close(lth__tree *t);
/* Numbers, 0 at first, for the next leaf of this rank: they are to be filled before the next call.
 */
lth_status lth__tree_leaf(lth__tree *t, double **out, lth_error *err);
/* After the last leaf, by all ranks: everybody gets the sum. */
lth_status lth__tree_sum(lth__tree *t, lth_status status, double *sum, lth_error *err);

#endif
