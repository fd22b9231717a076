/* Columns of texts, and of vectors in their place. */
#ifndef LTH_TEXT_FIELD_H
#define LTH_TEXT_FIELD_H

#include "kernel/word/words.h"

/* Units of a field as text: "not ... good", where gap[i] says that something is skipped before the
 * i-th; NULL = nothing is. Words have blanks between them. */
void lth__units_write(const lth__lexicon *l, const lth__symbol *unit, const bool *gap, size_t count,
                      lth__string *out);

/* A column of vectors: its units become symbols of their own (vectors_column.c). */
lth_status lth__vectors_column_encode(const lth__lexicon *l, const lth_table *table, size_t column,
                                      lth__sequences *out, lth_error *err);
/* Whether a lexicon that was read can be one of such a column. */
bool lth__vectors_column_check(const lth__lexicon *l);

#endif
