/* Files that are no tables, or of another kind than it seems: what they are, and what to do. */
#ifndef LTH_TABLE_HINTS_H
#define LTH_TABLE_HINTS_H

#include "base/file.h"
#include "data/symbols.h"

/* Fails with a reason where a file begins as spreadsheets, archives and other encodings do.
 * `guess`: that it is a table of the format at hand is no more than a guess. */
lth_status lth__check_is_table(lth__input *in, bool guess, lth_error *err);

/* Why a column may be missing from a header: NULL, or a text that goes on after a semicolon. */
const char *lth__hint_of_header(const lth__symbols *names, const char *wanted);

/* Whether a name of the header would rather be a cell of a row. */
bool lth__looks_like_a_cell(const char *name, size_t length);

#endif
