/* Labelled trees, one a line, as in the Stanford sentiment treebank: (3 (2 It) (4 (3 works) (2
 * .))). The columns are "label", which is the root's, "text", the words, and "tree": there the
 * root's label is X, and so is every one that is a number, or a kernel would read the answer from
 * it. A root that only names the tree inside of it, (label (S ...)), is taken off. */
#include <math.h>

#include "base/memory.h"
#include "data/table_reader.h"
#include "data/tree_reader.h"

typedef struct reading {
    lth__symbols *labels;
    lth__tree tree;
    lth__string words, neutral;
} reading;

/* ---- The tree without its labels ------------------------------------------------------------ */

static bool is_number(const char *word, const char *end) {
    double value;
    return lth__parse_double(word, (size_t)(end - word), &value) && isfinite(value);
}

static const lth__tree_node *root_of(const lth__tree *tree) {
    return &tree->nodes[tree->count - 1];
}

/* Whether the root has nothing but one tree, which stands before it. */
static bool only_names(const lth__tree_node *root) {
    return root->children == 1 && root[-1].children > 0;
}

/* From a ( to behind the label. */
static const char *write_label(lth__string *out, const char *at, const char *end, bool root) {
    const char *label = lth__brackets_skip_space(at + 1, end);
    const char *after = lth__brackets_skip_word(label, end);
    bool is_leaf = *lth__brackets_skip_space(after, end) == ')';
    lth__string_append(out, "(", 1);
    if (!is_leaf && (root || is_number(label, after)))
        lth__string_append(out, "X", 1);
    else
        lth__string_append(out, label, (size_t)(after - label));
    return after;
}

static lth_status write_neutral(reading *r, const char *text, lth_error *err) {
    const lth__tree_node *top = root_of(&r->tree);
    bool root = !only_names(top);
    if (!root) top--;
    const char *at = text + top->first, *end = at + top->length;
    r->neutral.length = 0;
    while (at < end) {
        const char *word = at;
        if (*at == '(') {
            at = write_label(&r->neutral, at, end, root);
            root = false;
            continue;
        }
        at = lth__brackets_skip_word(word, end);
        if (at == word) at++; /* a blank or a ) */
        lth__string_append(&r->neutral, word, (size_t)(at - word));
    }
    return r->neutral.failed ? lth__fail_memory(err, 0) : LTH_OK;
}

static lth_status write_words(reading *r, lth_error *err) {
    r->words.length = 0;
    for (size_t i = 0; i < r->tree.count; i++) {
        if (r->tree.nodes[i].children > 0) continue;
        size_t length;
        const char *word = lth__symbols_text(r->labels, r->tree.nodes[i].label, &length);
        if (r->words.length > 0) lth__string_append(&r->words, " ", 1);
        lth__string_append(&r->words, word, length);
    }
    return r->words.failed ? lth__fail_memory(err, 0) : LTH_OK;
}

/* ---- Rows ----------------------------------------------------------------------------------- */

static lth_status fail_at(const lth__reader *reader, lth_status status, size_t column,
                          const char *message, lth_error *err) {
    return lth__fail_at(err, status, lth__input_name(reader->in),
                        lth__input_line_number(reader->in), column, "%s", message);
}

static lth_status read_tree(const lth__reader *reader, reading *r, const char *text, size_t length,
                            lth_error *err) {
    lth_error why;
    lth_status status =
        lth__tree_read(text, length, LTH__TREE_BRACKETS, 0, r->labels, &r->tree, &why);
    if (status == LTH_OK) return status;
    if (status == LTH_ENOMEM) return lth__fail_memory(err, 0);
    return fail_at(reader, status, why.column, why.message, err);
}

static lth_status find_label(const lth__reader *reader, const reading *r, const char *text,
                             const char **label, size_t *length, lth_error *err) {
    const lth__tree_node *root = root_of(&r->tree);
    const char *from = text + root->first, *end = from + root->length;
    size_t column = lth__utf8_count(text, root->first) + 1;
    from = lth__brackets_skip_space(from + 1, end);
    end = lth__brackets_skip_word(from, end);
    if (from == end) return fail_at(reader, LTH_EFORMAT, column, "the root has no label", err);
    if (root->children == 0)
        return fail_at(reader, LTH_EFORMAT, column, "a label without a tree", err);
    *label = from;
    *length = (size_t)(end - from);
    return LTH_OK;
}

static lth_status name_columns(lth__reader *reader, lth_error *err) {
    size_t line = lth__input_line_number(reader->in);
    lth__reader_clear(reader);
    LTH_TRY(lth__reader_add(reader, "label", 5, line, 1, err));
    LTH_TRY(lth__reader_add(reader, "text", 4, line, 1, err));
    LTH_TRY(lth__reader_add(reader, "tree", 4, line, 1, err));
    return lth__reader_header(reader, err);
}

static lth_status take_row(lth__reader *reader, reading *r, const char *text, size_t length,
                           lth_error *err) {
    const char *label = NULL;
    size_t label_length = 0, line = lth__input_line_number(reader->in);
    LTH_TRY(read_tree(reader, r, text, length, err));
    LTH_TRY(find_label(reader, r, text, &label, &label_length, err));
    LTH_TRY(write_words(r, err));
    LTH_TRY(write_neutral(r, text, err));
    if (!reader->has_header) LTH_TRY(name_columns(reader, err));
    lth__reader_clear(reader);
    LTH_TRY(lth__reader_add(reader, label, label_length, line, 2, err));
    LTH_TRY(lth__reader_add(reader, r->words.bytes, r->words.length, line, 1, err));
    LTH_TRY(lth__reader_add(reader, r->neutral.bytes, r->neutral.length, line, 1, err));
    return lth__reader_row(reader, line, line, 1, err);
}

static lth_status read_lines(lth__reader *reader, reading *r, lth_error *err) {
    while (!lth__reader_full(reader)) {
        const char *line;
        size_t length;
        LTH_TRY(lth__reader_line(reader, &line, &length, err));
        if (!line) return LTH_OK;
        const char *end = line + length;
        if (lth__brackets_skip_space(line, end) < end)
            LTH_TRY(take_row(reader, r, line, length, err));
    }
    return LTH_OK;
}

lth_status lth__read_sst(lth__reader *reader, lth_error *err) {
    reading r = {.labels = lth__symbols_create()};
    if (!r.labels) return lth__fail_memory(err, 0);
    lth_status status = read_lines(reader, &r, err);
    lth__symbols_free(r.labels);
    lth__tree_free(&r.tree);
    lth__string_free(&r.words);
    lth__string_free(&r.neutral);
    return status;
}
