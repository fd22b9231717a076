/* What the readers of the tree formats share. */
#ifndef LTH_TREE_READER_H
#define LTH_TREE_READER_H

#include <stdbool.h>

#include "data/tree.h"

/* Append a node that comes after its children. */
lth_status lth__tree_add(lth__tree *tree, lth__symbols *labels, const char *text, size_t length,
                         uint32_t children, lth_error *err);

/* Refuse a text so long that its nodes might not be counted in 32 bits. */
lth_status lth__tree_check_length(size_t length, lth_error *err);

/* The length of a label up to the first of `marks` that is not its first character. */
size_t lth__label_cut(const char *text, size_t length, const char *marks);

/* Behind white space, or behind a word with its backslashes, of a tree in brackets. */
const char *lth__brackets_skip_space(const char *at, const char *end);
const char *lth__brackets_skip_word(const char *at, const char *end);

lth_status lth__tree_read_brackets(const char *text, size_t length, unsigned strip,
                                   lth__symbols *labels, lth__tree *out, lth_error *err);
lth_status lth__tree_read_conllu(const char *text, size_t length, lth__tree_format format,
                                 unsigned strip, lth__symbols *labels, lth__tree *out,
                                 lth_error *err);

/* Whether a text is a CoNLL-U sentence that makes a tree, with the place of what is wrong in it. */
lth_status lth__conllu_check(const char *text, size_t length, lth_error *err);
/* Whether a line of CoNLL-U ends a sentence. */
bool lth__conllu_blank(const char *line, size_t length);

#endif
