/* Any text, read as a tree: the first byte chooses the format and what is stripped. A tree that
 * comes out is one tree in post-order; a mistake has a place inside the text. */
#include <stdlib.h>

#include "data/tree.h"
#include "harness.h"

static void check_tree(const lth__tree *tree, const lth__symbols *labels) {
    size_t waiting = 0; /* nodes without a parent so far */
    for (size_t i = 0; i < tree->count; i++) {
        const lth__tree_node *node = &tree->nodes[i];
        if (node->label >= lth__symbols_count(labels) || node->children > waiting) abort();
        waiting += 1 - (size_t)node->children;
    }
    if (waiting != (tree->count > 0)) abort();
}

static void check_error(const lth_error *err, size_t length, lth__tree_format format) {
    if (err->status != LTH_EFORMAT || err->message[0] == '\0') abort();
    if (err->column < 1 || err->column > length + 1) abort();
    if (err->line > length || (err->line == 0) != (format == LTH__TREE_BRACKETS)) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    lth__symbols *labels = lth__symbols_create();
    if (size == 0 || !labels) {
        lth__symbols_free(labels);
        return 0;
    }
    lth__tree_format format = (lth__tree_format)(data[0] % 3);
    unsigned strip = data[0] / 3 % 4;
    lth__tree tree = {0};
    lth_error err;
    if (lth__tree_read((const char *)data + 1, size - 1, format, strip, labels, &tree, &err) ==
        LTH_OK)
        check_tree(&tree, labels);
    else
        check_error(&err, size - 1, format);
    lth__tree_free(&tree);
    lth__symbols_free(labels);
    return 0;
}
