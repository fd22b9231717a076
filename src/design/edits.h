/* How many edits, of letters (replaced, put in, taken out), lead from one text to another. */
#ifndef LTH_EDITS_H
#define LTH_EDITS_H

#include "data/symbols.h"

/* Levenshtein's distance over UTF-8 characters, or `most` + 1 once it is known to be above `most`
 * (SIZE_MAX = no limit). LTH_NONE when memory is out. */
size_t lth__edits(const char *a, size_t a_length, const char *b, size_t b_length, size_t most);

/* The same over symbols. Time grows with the distance times the length, memory with the length. */
size_t lth__edits_symbols(const lth__symbol *a, size_t a_length, const lth__symbol *b,
                          size_t b_length, size_t most);

#endif
