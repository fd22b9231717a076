/* Reading trees: Penn brackets, and CoNLL-U sentences turned into trees.
 *
 * A tree comes out as its nodes in post-order, children from left to right before their parent; the
 * root is last. A node without children is a leaf: a word.
 */
#ifndef LTH_TREE_H
#define LTH_TREE_H

#include "base/status.h"
#include "data/symbols.h"

typedef struct lth__tree_node {
    lth__symbol label;
    uint32_t children;
    uint32_t first, length; /* its place in the text, where it is one of brackets; else 0, 0 */
} lth__tree_node;

/* Nodes of one tree; reused from tree to tree, freed at the end. */
typedef struct lth__tree {
    lth__tree_node *nodes;
    size_t count, capacity;
} lth__tree;

/* How the text of a tree is written. The dependency shapes read one CoNLL-U sentence. */
typedef enum lth__tree_format {
    LTH__TREE_BRACKETS,
    LTH__TREE_GRCT, /* relations at the centre: relation > dependents and (tag > word)     */
    LTH__TREE_LCT   /* words at the centre: word > dependents, then its relation and its tag */
} lth__tree_format;

enum {
    LTH__STRIP_TAGS = 1,  /* NP-SBJ-1 and NP=2 are NP; nsubj:pass is nsubj                  */
    LTH__STRIP_TRACES = 2 /* -NONE- and what is empty without it go; empty nodes 8.1 in CoNLL-U */
};

/* Read one tree, interning its labels. An empty text is an empty tree (count 0). A mistake is
 * LTH_EFORMAT with its column in the text, from 1 (for CoNLL-U also its line there). */
lth_status lth__tree_read(const char *text, size_t length, lth__tree_format format, unsigned strip,
                          lth__symbols *labels, lth__tree *out, lth_error *err);
void lth__tree_free(lth__tree *tree);

#endif
