/* Arguments that are open until the data are known, such as symbols=all. A table resolves them: in
 * a copy of the kernel they get the values that it has, and the text of that copy, parsed anew, is
 * a kernel with a row for each of its parameters. */
#include <string.h>

#include "kernel/core/kernel.h"

const lth__node *lth__kernel_open_node(const lth_kernel *kernel) {
    for (size_t n = 0; n < kernel->node_count; n++) {
        if (kernel->nodes[n]->open) return kernel->nodes[n];
    }
    return NULL;
}

/* ---- Lists of names ---- */

static lth_status check_name(const lth__value *v, size_t i, const char *what, const char *wish,
                             lth_error *err) {
    const lth__value *item = &v->items[i];
    if (item->kind != LTH__VALUE_WORD)
        return lth__fail_at(err, LTH_EFORMAT, NULL, 0, item->column, "%s", wish);
    for (size_t k = 0; k < i; k++) {
        if (strcmp(v->items[k].word, item->word) != 0) continue;
        return lth__fail_at(err, LTH_EFORMAT, NULL, 0, item->column, "the %s \"%s\" is given twice",
                            what, item->word);
    }
    return LTH_OK;
}

lth_status lth__names_read(lth_kernel *kernel, const lth__value *v, const char *what,
                           const char *wish, lth__names *out, lth_error *err) {
    const char **names = lth__pool_alloc(&kernel->pool, (v->count + 1) * sizeof *names);
    if (!names) return lth__fail_memory(err, v->count * sizeof *names);
    for (size_t i = 0; i < v->count; i++) {
        LTH_TRY(check_name(v, i, what, wish, err));
        names[i] = v->items[i].word;
    }
    *out = (lth__names){names, v->count};
    return LTH_OK;
}

lth_status lth__names_value(lth__pool *pool, const lth__symbols *texts, const lth__symbol *order,
                            size_t count, lth__value *out, lth_error *err) {
    lth__value *items = lth__pool_alloc(pool, (count + 1) * sizeof *items);
    bool ok = items != NULL;
    for (size_t i = 0; ok && i < count; i++) {
        size_t length;
        const char *text = lth__symbols_text(texts, order[i], &length);
        items[i] =
            (lth__value){.kind = LTH__VALUE_WORD, .word = lth__pool_strndup(pool, text, length)};
        ok = items[i].word != NULL;
    }
    if (!ok) return lth__fail_memory(err, count * sizeof *items);
    *out = (lth__value){.kind = LTH__VALUE_LIST, .items = items, .count = count};
    return LTH_OK;
}

/* ---- Kernels ---- */

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

lth_status lth__node_rewrite(lth_kernel *kernel, lth__node *node, const char *name,
                             lth__value value, lth_error *err) {
    size_t count = node->expr->argument_count, place = 0;
    lth__expr *expr = lth__pool_alloc(&kernel->pool, sizeof *expr);
    lth__argument *arguments = lth__pool_alloc(&kernel->pool, (count + 1) * sizeof *arguments);
    if (!expr || !arguments) return lth__fail_memory(err, (count + 1) * sizeof *arguments);
    if (count > 0) memcpy(arguments, node->expr->arguments, count * sizeof *arguments);
    while (place < count && strcmp(arguments[place].name, name) != 0) place++;
    arguments[place] = (lth__argument){.name = name, .value = value};
    *expr = *node->expr;
    expr->arguments = arguments;
    expr->argument_count = place < count ? count : count + 1;
    node->expr = expr;
    return LTH_OK;
}

/* In a kernel that nobody else has. */
static lth_status fill_in(lth_kernel *kernel, const lth_table *table, lth_error *err) {
    for (size_t n = 0; n < kernel->node_count; n++) {
        lth__node *node = kernel->nodes[n];
        if (!node->open) continue;
        lth__value value = {0};
        const lth__field_def *field = &kernel->fields[node->field];
        LTH_TRY(node->family->resolve(node, field, table, &kernel->pool, &value, err));
        LTH_TRY(lth__node_rewrite(kernel, node, node->open, value, err));
        node->open = NULL;
    }
    return LTH_OK;
}

lth_status lth_kernel_resolve(lth_kernel **kernel, const lth_table *table, lth_error *err) {
    if (!lth__kernel_open_node(*kernel)) return LTH_OK;
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
