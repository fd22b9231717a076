/* A vocabulary: texts interned to numbers 0, 1, 2, ... in order of first appearance, with counts.
 */
#ifndef LTH_SYMBOLS_H
#define LTH_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"

typedef uint32_t lth__symbol;
#define LTH__NO_SYMBOL UINT32_MAX

typedef struct lth__symbols lth__symbols;

lth__symbols *lth__symbols_create(void); /* NULL = out of memory */
void lth__symbols_free(lth__symbols *s);

/* The number of a text, adding it when it is new, and counting it. LTH__NO_SYMBOL = out of memory.
 */
lth__symbol lth__symbols_intern(lth__symbols *s, const char *text, size_t length);
/* The number of a text, or LTH__NO_SYMBOL when it was never interned. */
lth__symbol lth__symbols_find(const lth__symbols *s, const char *text, size_t length);

/* Forget all but the first `count`. The others keep their numbers, and how often they were seen. */
void lth__symbols_truncate(lth__symbols *s, size_t count);

size_t lth__symbols_count(const lth__symbols *s);
const char *lth__symbols_text(const lth__symbols *s, lth__symbol i,
                              size_t *length);                    /* NUL-terminated */
uint64_t lth__symbols_seen(const lth__symbols *s, lth__symbol i); /* how often it was interned */

#endif
