/* Symbols of tree kernels with parameters of their own. symbols=all is resolved by a table: a copy
 * of the kernel gets the labels it found in the place of `all`, and its text, parsed anew, is the
 * kernel with a row for each of them. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "data/table.h"
#include "kernel/tree/tree_field.h"

/* ---- The argument ---- */

static lth_status bad_symbols(const lth__node *node, const lth__value *v, lth_error *err) {
    return lth__fail_at(err, LTH_EFORMAT, NULL, 0, v->column,
                        "symbols of %s is none, all, or a list of labels such as [NP,VP,\",\"]",
                        node->family->manual.name);
}

static lth_status read_names(lth_kernel *kernel, const lth__node *node, const lth__value *v,
                             lth__tree_symbols *out, lth_error *err) {
    const char **names = lth__pool_alloc(&kernel->pool, (v->count + 1) * sizeof *names);
    if (!names) return lth__fail_memory(err, v->count * sizeof *names);
    for (size_t i = 0; i < v->count; i++) {
        const lth__value *item = &v->items[i];
        if (item->kind != LTH__VALUE_WORD) return bad_symbols(node, item, err);
        for (size_t k = 0; k < i; k++) {
            if (strcmp(names[k], item->word) == 0) {
                return lth__fail_at(err, LTH_EFORMAT, NULL, 0, item->column,
                                    "the symbol \"%s\" is given twice", item->word);
            }
        }
        names[i] = item->word;
    }
    *out = (lth__tree_symbols){names, v->count};
    return LTH_OK;
}

lth_status lth__tree_symbols_read(lth_kernel *kernel, lth__node *node, lth__tree_symbols *out,
                                  lth_error *err) {
    const lth__argument *a = lth__node_argument(node, "symbols");
    *out = (lth__tree_symbols){0};
    if (!a) return LTH_OK;
    const lth__value *v = &a->value;
    if (v->kind == LTH__VALUE_LIST) return read_names(kernel, node, v, out, err);
    const char *word = v->kind == LTH__VALUE_WORD ? v->word : "";
    node->unresolved = strcmp(word, "all") == 0;
    return node->unresolved || strcmp(word, "none") == 0 ? LTH_OK : bad_symbols(node, v, err);
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
    lth__value *items = lth__pool_alloc(pool, (used + 1) * sizeof *items);
    bool ok = items != NULL;
    for (size_t i = 0; ok && i < used; i++) {
        size_t length;
        const char *text = lth__symbols_text(labels, order[i].label, &length);
        items[i] =
            (lth__value){.kind = LTH__VALUE_WORD, .word = lth__pool_strndup(pool, text, length)};
        ok = items[i].word != NULL;
    }
    lth__free(order);
    if (!ok) return lth__fail_memory(err, used * sizeof *items);
    *out = (lth__value){.kind = LTH__VALUE_LIST, .items = items, .count = used};
    return LTH_OK;
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

static lth_status find_labels(const lth__field_def *def, const lth_table *table, lth__pool *pool,
                              lth__value *out, lth_error *err) {
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

/* ---- Kernels ---- */

static bool is_unresolved(const lth_kernel *kernel) {
    for (size_t n = 0; n < kernel->node_count; n++) {
        if (kernel->nodes[n]->unresolved) return true;
    }
    return false;
}

/* The kernel's text, parsed anew. */
static lth_status parse_again(const lth_kernel *kernel, lth_kernel **out, lth_error *err) {
    size_t length = lth_kernel_print(kernel, NULL, 0);
    char *text = lth__alloc(length + 1, 1);
    if (length == 0 || !text) {
        lth__free(text);
        return lth__fail_memory(err, length);
    }
    length = lth_kernel_print(kernel, text, length + 1);
    lth_status status =
        length > 0 ? lth_kernel_parse(kernel->ctx, text, out, err) : lth__fail_memory(err, 0);
    lth__free(text);
    return status;
}

/* Labels in the place of `all`, in the syntax tree of a kernel that nobody else has. */
static lth_status fill_in(lth_kernel *kernel, const lth_table *table, lth_error *err) {
    for (size_t n = 0; n < kernel->node_count; n++) {
        const lth__node *node = kernel->nodes[n];
        for (size_t i = 0; node->unresolved && i < node->expr->argument_count; i++) {
            lth__argument *a = &node->expr->arguments[i];
            if (strcmp(a->name, "symbols") != 0) continue;
            LTH_TRY(
                find_labels(&kernel->fields[node->field], table, &kernel->pool, &a->value, err));
        }
    }
    return LTH_OK;
}

lth_status lth_kernel_resolve(lth_kernel **kernel, const lth_table *table, lth_error *err) {
    if (!is_unresolved(*kernel)) return LTH_OK;
    lth_kernel *copy = NULL, *resolved = NULL;
    lth_status status = parse_again(*kernel, &copy, err);
    if (status == LTH_OK) status = fill_in(copy, table, err);
    if (status == LTH_OK) status = parse_again(copy, &resolved, err);
    lth_kernel_free(copy);
    if (status != LTH_OK) return status;
    lth_kernel_free(*kernel);
    *kernel = resolved;
    return LTH_OK;
}
