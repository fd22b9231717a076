/* Columns of trees. */
#include "kernel/tree/tree_field.h"

#include <stdio.h>
#include <string.h>
#include <utf8proc.h>

#include "base/text.h"
#include "data/table.h"

/* ---- Arguments ---- */

static lth_status unknown_strip(const lth__value *v, const lth__node *node, lth_error *err) {
    return lth__fail_at(err, LTH_EFORMAT, NULL, 0, v->column,
                        "strip of %s is none, tags, traces or [tags,traces]",
                        node->family->manual.name);
}

static lth_status add_strip(const lth__value *v, const lth__node *node, unsigned *strip,
                            lth_error *err) {
    const char *word = v->kind == LTH__VALUE_WORD ? v->word : "";
    if (strcmp(word, "tags") == 0)
        *strip |= LTH__STRIP_TAGS;
    else if (strcmp(word, "traces") == 0)
        *strip |= LTH__STRIP_TRACES;
    else
        return unknown_strip(v, node, err);
    return LTH_OK;
}

/* none, a word, or a list of words */
static lth_status read_strip(const lth__node *node, unsigned *strip, lth_error *err) {
    const lth__argument *a = lth__node_argument(node, "strip");
    *strip = 0;
    if (!a) return LTH_OK;
    const lth__value *v = &a->value;
    if (v->kind == LTH__VALUE_WORD && strcmp(v->word, "none") == 0) return LTH_OK;
    if (v->kind != LTH__VALUE_LIST) return add_strip(v, node, strip, err);
    for (size_t i = 0; i < v->count; i++) LTH_TRY(add_strip(&v->items[i], node, strip, err));
    return LTH_OK;
}

lth_status lth__tree_field(lth_kernel *kernel, lth__node *node, lth_error *err) {
    lth__field_def field = {.column = node->expr->inputs[0]->name, .type = &lth__field_tree};
    int lower;
    LTH_TRY(lth__node_choice(node, "format", LTH__TREE_BRACKETS, &field.format, err));
    LTH_TRY(read_strip(node, &field.strip, err));
    LTH_TRY(lth__node_choice(node, "lower", false, &lower, err));
    field.lower = lower;
    return lth__kernel_field(kernel, &field, &node->field, err);
}

/* ---- Reading ---- */

typedef struct reader {
    const lth__field_def *def;
    lth__symbols *labels;
    lth__symbols *raw; /* as read, when leaves are lower-cased; else the same as `labels` */
    lth__tree tree;
    lth__string text;
    lth_error *err;
} reader;

/* The text in lower case, by code points; what has none, or is no UTF-8, stays as it is. */
static void lower_text(lth__string *out, const char *text, size_t length) {
    out->length = 0;
    for (size_t i = 0; i < length;) {
        utf8proc_int32_t code;
        utf8proc_uint8_t bytes[4];
        utf8proc_ssize_t size = utf8proc_iterate((const utf8proc_uint8_t *)text + i,
                                                 (utf8proc_ssize_t)(length - i), &code);
        if (size <= 0) {
            lth__string_append(out, text + i++, 1);
            continue;
        }
        utf8proc_ssize_t lowered = utf8proc_encode_char(utf8proc_tolower(code), bytes);
        lth__string_append(out, (const char *)bytes, (size_t)lowered);
        i += (size_t)size;
    }
}

/* The number among the labels of what was read into other symbols. */
static lth_status translate(reader *r, lth__tree_node *node) {
    size_t length;
    const char *text = lth__symbols_text(r->raw, node->label, &length);
    if (node->children == 0) {
        lower_text(&r->text, text, length);
        if (r->text.failed) return lth__fail_memory(r->err, length);
        if (length > 0) text = r->text.bytes;
        length = r->text.length;
    }
    node->label = lth__symbols_intern(r->labels, text, length);
    return node->label == LTH__NO_SYMBOL ? lth__fail_memory(r->err, 0) : LTH_OK;
}

/* A mistake in a cell is reported with the line of its row; its column counts from the start of the
 * cell. */
static lth_status report_place(const reader *r, const lth_table *table, size_t row,
                               lth_status status) {
    if (status != LTH_EFORMAT || !r->err) return status;
    lth_error inner = *r->err;
    char line[48] = "";
    if (inner.line > 0) snprintf(line, sizeof line, ", line %zu of it", inner.line);
    return lth__fail_at(r->err, status, lth_table_file(table, row), lth_table_line(table, row),
                        inner.column, "%s (in a cell of column \"%s\"%s)", inner.message,
                        r->def->column, line);
}

static lth_status read_tree(reader *r, const lth_table *table, size_t row, size_t column) {
    size_t length;
    const char *text = lth_table_cell(table, row, column, &length);
    lth_status status = lth__tree_read(text, length, (lth__tree_format)r->def->format,
                                       r->def->strip, r->raw, &r->tree, r->err);
    if (status != LTH_OK) return report_place(r, table, row, status);
    for (size_t i = 0; r->def->lower && i < r->tree.count; i++)
        LTH_TRY(translate(r, &r->tree.nodes[i]));
    return LTH_OK;
}

static lth_status read_trees(reader *r, const lth_table *table, size_t column, lth__forest *forest,
                             lth__sequences *out) {
    size_t capacity = 0, used = 0;
    for (size_t i = 0; i < out->count; i++) {
        LTH_TRY(read_tree(r, table, i, column));
        if (!lth__reserve((void **)&out->symbols, &capacity, used + r->tree.count + 1,
                          sizeof *out->symbols))
            return lth__fail_memory(r->err, 0);
        LTH_TRY(lth__forest_add(forest, &r->tree, out->symbols + used, r->err));
        used += r->tree.count;
        out->start[i + 1] = used;
        if (r->tree.count > out->longest) out->longest = r->tree.count;
    }
    void *fitted = lth__realloc(out->symbols, used, sizeof *out->symbols);
    if (fitted) out->symbols = fitted;
    return LTH_OK;
}

lth_status lth__tree_field_encode(const lth__field_def *def, const lth_table *table, size_t column,
                                  lth__symbols *labels, lth__forest *forest, lth__sequences *out,
                                  lth_error *err) {
    LTH_TRY(lth__table_want(table, column, LTH__COLUMN_TEXT, "the kernel reads trees", err));
    size_t rows = lth_table_rows(table);
    reader r = {.def = def, .labels = labels, .raw = labels, .err = err};
    *out = (lth__sequences){.count = rows, .start = lth__calloc(rows + 1, sizeof *out->start)};
    if (!out->start) return lth__fail_memory(err, (rows + 1) * sizeof *out->start);
    if (def->lower) r.raw = lth__symbols_create();
    lth_status status =
        r.raw ? read_trees(&r, table, column, forest, out) : lth__fail_memory(err, 0);
    if (def->lower) lth__symbols_free(r.raw);
    lth__tree_free(&r.tree);
    lth__string_free(&r.text);
    return status;
}

void lth__tree_count_labels(const lth__forest *forest, const lth__sequences *trees, size_t *count) {
    for (size_t k = trees->start[0]; k < trees->start[trees->count]; k++) {
        const lth__subtree *s = lth__forest_subtree(forest, trees->symbols[k]);
        if (s->children > 0) count[s->label]++;
    }
}

void lth__tree_write_label(const lth__symbols *labels, lth__symbol label, lth__string *out) {
    size_t length;
    const char *text = lth__symbols_text(labels, label, &length);
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '(' || text[i] == ')' || text[i] == '\\') lth__string_append(out, "\\", 1);
        lth__string_append(out, text + i, 1);
    }
}
