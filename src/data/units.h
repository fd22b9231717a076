/* Cutting a text into the units that a string kernel compares. */
#ifndef LTH_UNITS_H
#define LTH_UNITS_H

#include "base/context.h"
#include "data/symbols.h"

typedef enum lth__units {
    LTH__WORDS,  /* split at Unicode white space                                      */
    LTH__TOKENS, /* words, with each punctuation mark or symbol a unit of its own      */
    LTH__CHARS,  /* code points                                                       */
    LTH__BYTES   /* bytes                                                             */
} lth__units;

/* Cut text[0..length), valid UTF-8, into units, lower-cased if asked, and append their symbols to
 * *out (an array of *count of *capacity, grown with lth__reserve). */
lth_status lth__units_split(const char *text, size_t length, lth__units units, bool lower,
                            lth__symbols *symbols, lth__symbol **out, size_t *count,
                            size_t *capacity, lth_error *err);

/* The same of a text that may be long: `ctx` is asked whether to go on. */
lth_status lth__units_split_long(const lth_ctx *ctx, const char *text, size_t length,
                                 lth__units units, bool lower, lth__symbols *symbols,
                                 lth__symbol **out, size_t *count, size_t *capacity,
                                 lth_error *err);

/* Where a unit stands in its text. */
typedef struct lth__place {
    size_t first, length;
} lth__place;

/* The places of the units of a text; freed with lth__free(). Lower-casing does not move units, but
 * places are those of the text as it is. */
lth_status lth__units_places(const char *text, size_t length, lth__units units, lth__place **out,
                             size_t *count, lth_error *err);

#endif
