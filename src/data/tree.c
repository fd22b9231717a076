/* Trees from text: the choice of format, and what the formats share. */
#include "data/tree.h"

#include <string.h>

#include "base/memory.h"
#include "data/tree_reader.h"

lth_status lth__tree_add(lth__tree *tree, lth__symbols *labels, const char *text, size_t length,
                         uint32_t children, lth_error *err) {
    if (!lth__reserve((void **)&tree->nodes, &tree->capacity, tree->count + 1, sizeof *tree->nodes))
        return lth__fail_memory(err, 0);
    lth__symbol label = lth__symbols_intern(labels, text, length);
    if (label == LTH__NO_SYMBOL) return lth__fail_memory(err, 0);
    tree->nodes[tree->count++] = (lth__tree_node){.label = label, .children = children};
    return LTH_OK;
}

/* No format has a node in less than a byte. */
lth_status lth__tree_check_length(size_t length, lth_error *err) {
    if (length < UINT32_MAX) return LTH_OK;
    return lth__fail(err, LTH_EUNSUPPORTED, "a tree of %zu bytes; 4 GiB is the most", length);
}

size_t lth__label_cut(const char *text, size_t length, const char *marks) {
    for (size_t i = 1; i < length; i++)
        if (text[i] != '\0' && strchr(marks, text[i])) return i;
    return length;
}

static lth_status read_format(const char *text, size_t length, lth__tree_format format,
                              unsigned strip, lth__symbols *labels, lth__tree *out,
                              lth_error *err) {
    if (length == 0) return LTH_OK;
    LTH_TRY(lth__tree_check_length(length, err));
    if (format == LTH__TREE_BRACKETS)
        return lth__tree_read_brackets(text, length, strip, labels, out, err);
    return lth__tree_read_conllu(text, length, format, strip, labels, out, err);
}

lth_status lth__tree_read(const char *text, size_t length, lth__tree_format format, unsigned strip,
                          lth__symbols *labels, lth__tree *out, lth_error *err) {
    out->count = 0;
    lth_status status = read_format(text, length, format, strip, labels, out, err);
    if (status != LTH_OK) out->count = 0; /* no half tree */
    return status;
}

void lth__tree_free(lth__tree *tree) {
    if (!tree) return;
    lth__free(tree->nodes);
    *tree = (lth__tree){0};
}
