/* Types of fields: text, numbers, trees, tasks. All that depends on what a column holds is one
 * constant table of functions for each. */
#ifndef LTH_FIELD_H
#define LTH_FIELD_H

#include "base/text.h"
#include "data/tensor.h"
#include "kernel/core/encode.h"

/* Where the arrays of a field go: named `part`, a vector, or with `cols` above 0 a matrix. */
typedef struct lth__field_saver {
    void *user;
    void (*put)(void *user, const char *part, lth__dtype dtype, size_t rows, size_t cols,
                const void *data);          /* data NULL = out of memory */
    void *(*keep)(void *user, void *block); /* frees the block when all is written; NULL likewise */
    bool without_vectors;                   /* those of words are not to be written */
} lth__field_saver;

/* Where they come from. What is read is to be checked: a file can be hostile. */
typedef struct lth__field_loader {
    void *user;
    const lth_kernel *kernel;
    size_t field, rows;
    lth_error *err;
    bool (*has)(void *user, const char *part);
    /* An array of this shape, LTH_NONE = any; all its numbers are finite. */
    lth_status (*get)(void *user, const char *part, lth__dtype dtype, size_t rank, size_t rows,
                      size_t cols, const lth__tensor **out);
    lth_status (*damaged)(void *user, const char *what);
    bool without_vectors; /* those of words were not written */
} lth__field_loader;

/* A part of a row that a prediction may owe something to. */
typedef struct lth__part {
    size_t at; /* its place among the row's parts, as kernels number them */
    const char *text;
    size_t size;
    size_t first, length; /* where it stands in its cell; first LTH_NONE = it has no place */
    size_t depth;         /* of a node in its tree                            */
    bool seen;            /* training had it                                  */
    bool is_column;       /* the text is the name of a column, which it is by itself */
} lth__part;

typedef lth_status lth__part_fn(void *user, const lth__part *part, lth_error *err);

/* A word, as often as it occurs; false = out of memory. */
typedef bool lth__word_fn(void *user, lth__symbol word, bool has_vector);

struct lth__field_type {
    lth_column_kind kind;
    bool learns; /* its values depend on what is known of all rows together */

    /* What a lexicon of this type keeps; false = out of memory. NULL = nothing. */
    bool (*open)(lth__lexicon *l);
    void (*close)(lth__lexicon *l);
    /* Where there is something: what `to` keeps while the rest is lent by `from`; what was learned
     * from rows is copied. On failure nothing is left, or what close() frees. */
    bool (*lend)(const lth__lexicon *from, lth__lexicon *to);

    /* The column of a table; `first` = of the first one. What it leaves in *out on failure is
     * freed with the items. Then, optional, what is to be known of all rows together; what is odd
     * is told `ctx`, which may be NULL. */
    lth_status (*encode)(lth__lexicon *l, const lth_table *table, bool first, lth__sequences *out,
                         lth_error *err);
    lth_status (*finish)(lth__lexicon *l, const lth__sequences *s, bool first, const lth_ctx *ctx,
                         lth_error *err);
    /* Optional: vectors of its words, with how many words there were to choose from; and each word
     * of some items that is compared by its vector. */
    lth_status (*read_vectors)(lth__lexicon *l, const lth_ctx *ctx, lth__vector_source from,
                               size_t *words, size_t *dimension, lth_error *err);
    bool (*words)(const lth__lexicon *l, const lth__sequences *s, lth__word_fn *take, void *user);

    /* The items item[0 .. count-1], copied. */
    lth_status (*pick)(const lth__sequences *from, const size_t *item, size_t count,
                       lth__sequences *to, lth_error *err);

    void (*save)(const lth__lexicon *l, const lth__sequences *s, const lth__field_saver *to);
    lth_status (*load)(lth__lexicon *l, const lth__field_loader *from, lth__sequences *out);

    /* How many parts an item has; those of the first item, encoded from the first row of `table`;
     * and an item as text again. */
    size_t (*part_count)(const lth__sequences *s, size_t item);
    lth_status (*parts)(const lth__lexicon *l, const lth__sequences *s, const lth_table *table,
                        lth__part_fn *take, void *user, lth_error *err);
    void (*write)(const lth__lexicon *l, const lth__sequences *s, size_t item, lth__string *out);
};

extern const lth__field_type lth__field_text, lth__field_numbers, lth__field_scaled,
    lth__field_tree;

/* ---- What types have in common ---- */

lth_status lth__sequences_pick(const lth__sequences *from, const size_t *item, size_t count,
                               lth__sequences *to, lth_error *err);

/* The symbols of the first table, and the sequences of the items. */
void lth__symbols_save(const lth__lexicon *l, const lth__field_saver *to);
lth_status lth__symbols_load(lth__lexicon *l, const lth__field_loader *from);
/* The same of the first `count` of any symbols, and into some that are empty. */
void lth__symbols_put(const lth__symbols *symbols, size_t count, const lth__field_saver *to);
lth_status lth__symbols_get(lth__symbols *symbols, const lth__field_loader *from);
void lth__sequences_save(const lth__sequences *s, const lth__field_saver *to);
/* Of symbols below `vocabulary`. */
lth_status lth__sequences_load(const lth__field_loader *from, size_t vocabulary,
                               lth__sequences *out);

#endif
