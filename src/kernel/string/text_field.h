/* Columns of texts, and of vectors in their place. */
#ifndef LTH_TEXT_FIELD_H
#define LTH_TEXT_FIELD_H

#include "kernel/word/words.h"

/* Units of a field as text: "not ... good", where gap[i] says that something is skipped before the
 * i-th; NULL = nothing is. Words have blanks between them. */
void lth__units_write(const lth__lexicon *l, const lth__symbol *unit, const bool *gap, size_t count,
                      lth__string *out);

/* A letter that a kernel does not know: at a "site" or "place", and none "of DNA". */
lth_status lth__text_fail_letter(const lth__lexicon *l, lth__symbol symbol, size_t item,
                                 const char *where, size_t at, const char *of, lth_error *err);

/* Cells that are mutations of a wild type: the arguments of a family over text columns, and what
 * they say into its field. A file of it becomes part of the expression. */
#define LTH__WILD_ARGUMENTS                                                                        \
    {.name = "wild_type",                                                                          \
     .help = "cells are mutations of this sequence, such as A108D:K9R; a FASTA file has it",       \
     .initial = "",                                                                                \
     .choices = "SEQUENCE|FILE"},                                                                  \
    {                                                                                              \
        .name = "first", .help = "the number of its first letter", .initial = "1",                 \
        .choices = "-1000000..1000000"                                                             \
    }
lth_status lth__text_read_wild(lth_kernel *kernel, lth__node *node, lth__field_def *field,
                               lth_error *err);
/* The text of a cell, which may lie in `room`. */
lth_status lth__text_cell(const lth__field_def *def, const lth_table *table, size_t row,
                          size_t column, lth__string *room, const char **text, size_t *length,
                          lth_error *err);

/* A column of vectors: its units become symbols of their own (vectors_column.c). */
lth_status lth__vectors_column_encode(const lth__lexicon *l, const lth_table *table, size_t column,
                                      lth__sequences *out, lth_error *err);
/* Whether a lexicon that was read can be one of such a column. */
bool lth__vectors_column_check(const lth__lexicon *l);

#endif
