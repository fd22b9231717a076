/* Columns of trees: the arguments that every kernel over trees has, and how they are encoded. */
#ifndef LTH_TREE_FIELD_H
#define LTH_TREE_FIELD_H

#include "base/text.h"
#include "kernel/tree/tree_index.h"
#include "kernel/word/words.h"

/* What a lexicon of trees keeps; its symbols are labels and words. */
typedef struct lth__trees {
    lth__words words; /* it begins with them */
    lth__forest *forest;
    lth__tree_index *own_index;   /* of what it has that its base has not; NULL = nothing */
    const lth__tree_index *index; /* of all: its own, or that of its base                 */
    size_t known;                 /* subtrees of the first table encoded                  */
} lth__trees;

static inline lth__trees *lth__trees_of(const lth_encoder *encoder, size_t field) {
    return encoder->lexicons[field].own;
}

/* For the manual of a family; they come last. */
#define LTH__TREE_ARGUMENTS                                                                        \
    {.name = "format",                                                                             \
     .help = "how a cell writes its tree: brackets, (S (NP ...) ...), or one CoNLL-U sentence as " \
             "a tree of relations (grct) or of words (lct)",                                       \
     .initial = "brackets",                                                                        \
     .choices = "brackets|grct|lct"},                                                              \
        {.name = "strip",                                                                          \
         .help = "what is left out: function tags and indices of labels (NP-SBJ-1 is NP), traces " \
                 "(-NONE-), or both: [tags,traces]",                                               \
         .initial = "none",                                                                        \
         .choices = "none|tags|traces"},                                                           \
    {                                                                                              \
        .name = "lower", .help = "lower-case the leaves", .initial = "no", .choices = "no|yes"     \
    }

/* The field of a node over a column of trees, by these arguments. */
lth_status lth__tree_field(lth_kernel *kernel, lth__node *node, lth_error *err);

/* Read every tree of a column: its nodes as subtrees of the forest, in post-order. */
lth_status lth__tree_field_encode(const lth__field_def *def, const lth_table *table, size_t column,
                                  lth__symbols *labels, lth__forest *forest, lth__sequences *out,
                                  lth_error *err);

/* count[label] += the inner nodes of these trees that have it. */
void lth__tree_count_labels(const lth__forest *forest, const lth__sequences *trees, size_t *count);

/* A label or a word as it stands in brackets, with the backslashes that it needs. */
void lth__tree_write_label(const lth__symbols *labels, lth__symbol label, lth__string *out);

/* The fragments of the partial tree kernel that weigh most (ptk_heaviest.c). */
lth_status lth__ptk_fragments(const lth__node *node, const lth__eval *eval, const double *W,
                              bool of_row, size_t count, lth__fragment_fn *take, void *user,
                              lth_error *err);

/* ---- Symbols with parameters of their own: symbols=none|all|[NP,VP] ---- */

/* The names in the argument `symbols`; for symbols=all none, and node->open is set. */
lth_status lth__tree_symbols_read(lth_kernel *kernel, lth__node *node, lth__names *out,
                                  lth_error *err);
/* All labels that a table has. */
lth_status lth__tree_symbols_resolve(const lth__node *node, const lth__field_def *field,
                                     const lth_table *table, lth__pool *pool, lth__value *out,
                                     lth_error *err);

#endif
