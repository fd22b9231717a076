/* Symbols of tree kernels with parameters of their own: names in the expression, or, for
 * symbols=all, the labels of a table. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/table.h"
#include "kernel/tree/tree_field.h"

/* ---- The argument ---- */

lth_status lth__tree_symbols_read(lth_kernel *kernel, lth__node *node, lth__names *out,
                                  lth_error *err) {
    const lth__argument *a = lth__node_argument(node, "symbols");
    *out = (lth__names){0};
    if (!a) return LTH_OK;
    char wish[120];
    snprintf(wish, sizeof wish,
             "symbols of %s is none, all, or a list of labels such as [NP,VP,\",\"]",
             node->family->manual.name);
    const lth__value *v = &a->value;
    if (v->kind == LTH__VALUE_LIST) return lth__names_read(kernel, v, "symbol", wish, out, err);
    const char *word = v->kind == LTH__VALUE_WORD ? v->word : "";
    node->open = strcmp(word, "all") == 0 ? a->name : NULL;
    return node->open || strcmp(word, "none") == 0
               ? LTH_OK
               : lth__fail_at(err, LTH_EFORMAT, NULL, 0, v->column, "%s", wish);
}

/* ---- Labels of a table ---- */

typedef struct counted {
    size_t count;
    lth__symbol label;
} counted;

static int by_descending_count(const void *a, const void *b) {
    const counted *x = a, *y = b;
    if (x->count != y->count) return x->count > y->count ? -1 : 1;
    return x->label < y->label ? -1 : x->label > y->label;
}

/* The labels of inner nodes as a list of words, by descending frequency; of equals the one that
 * a reader in post-order meets first. */
static lth_status list_labels(lth__pool *pool, const lth__symbols *labels, const size_t *count,
                              lth__value *out, lth_error *err) {
    size_t most = lth__symbols_count(labels), used = 0;
    counted *order = lth__alloc(most, sizeof *order);
    if (!order) return lth__fail_memory(err, most * sizeof *order);
    for (size_t i = 0; i < most; i++) {
        if (count[i] > 0) order[used++] = (counted){count[i], (lth__symbol)i};
    }
    if (used > 0) qsort(order, used, sizeof *order, by_descending_count);
    lth__symbol *label = lth__alloc(used, sizeof *label);
    for (size_t i = 0; label && i < used; i++) label[i] = order[i].label;
    lth_status status = label ? lth__names_value(pool, labels, label, used, out, err)
                              : lth__fail_memory(err, used * sizeof *label);
    lth__free(order);
    lth__free(label);
    return status;
}

static lth_status count_labels(const lth__field_def *def, const lth_table *table, size_t column,
                               lth__symbols *labels, lth__forest *forest, lth__pool *pool,
                               lth__value *out, lth_error *err) {
    lth__sequences trees = {0};
    size_t *count = NULL;
    lth_status status = lth__tree_field_encode(def, table, column, labels, forest, &trees, err);
    if (status == LTH_OK) {
        count = lth__calloc(lth__symbols_count(labels), sizeof *count);
        if (!count) status = lth__fail_memory(err, 0);
    }
    if (status == LTH_OK) {
        lth__tree_count_labels(forest, &trees, count);
        status = list_labels(pool, labels, count, out, err);
    }
    lth__free(count);
    lth__free(trees.symbols);
    lth__free(trees.start);
    return status;
}

lth_status lth__tree_symbols_resolve(const lth__node *node, const lth__field_def *def,
                                     const lth_table *table, lth__pool *pool, lth__value *out,
                                     lth_error *err) {
    (void)node;
    size_t column;
    LTH_TRY(lth__table_column_at(table, def->column, &column, err));
    lth__symbols *labels = lth__symbols_create();
    lth__forest *forest = lth__forest_create();
    lth_status status = LTH_OK;
    if (labels && forest)
        status = count_labels(def, table, column, labels, forest, pool, out, err);
    else
        status = lth__fail_memory(err, 0);
    lth__symbols_free(labels);
    lth__forest_free(forest);
    return status;
}
