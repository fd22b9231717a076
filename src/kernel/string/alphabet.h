/* The argument `alphabet` of kernels that must know all letters there can be: dna, protein, the
 * letters themselves, or those of the first table, which then stand in the expression: what rows to
 * predict have changes nothing. Case does not matter. */
#ifndef LTH_ALPHABET_H
#define LTH_ALPHABET_H

#include "engine/engine.h"
#include "kernel/core/encode.h"

enum { LTH__MOST_ALPHABET = LTH__NO_ROW_LETTER };

typedef struct lth__alphabet {
    const char *name;                       /* as the expression has it; NULL = open            */
    size_t count;                           /* of letters; 0 = open until a table is seen       */
    const char *letter[LTH__MOST_ALPHABET]; /* a character each, lower case                     */
    const char *others; /* characters that may stand between letters; NULL = all others may */
    bool has_u;         /* which is t                                                       */
} lth__alphabet;

/* Into the kernel's pool; without the argument it is open. */
lth_status lth__alphabet_read(lth_kernel *kernel, lth__node *node, lth__alphabet *out,
                              lth_error *err);
/* For lth__family.resolve: the letters of a column, as a word. */
lth_status lth__alphabet_resolve(const lth__node *node, const lth__field_def *field,
                                 const lth_table *table, lth__pool *pool, lth__value *out,
                                 lth_error *err);

/* The number of a symbol among the letters, LTH__NO_LETTER for what may stand between them; false =
 * it may not. */
bool lth__alphabet_number(const lth__alphabet *a, const lth__lexicon *l, lth__symbol symbol,
                          uint8_t *out);

#endif
