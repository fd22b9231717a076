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
/* One that has all of `base` under the same numbers, and goes on from there. `base` is not changed
 * by it, nor may it change while this one lives; it extends none itself. */
lth__symbols *lth__symbols_extend(const lth__symbols *base);
void lth__symbols_free(lth__symbols *s);

/* The number of a text, adding it when it is new, and counting it. LTH__NO_SYMBOL = out of memory.
 */
lth__symbol lth__symbols_intern(lth__symbols *s, const char *text, size_t length);
/* The number of a text, or LTH__NO_SYMBOL when it was never interned. */
lth__symbol lth__symbols_find(const lth__symbols *s, const char *text, size_t length);

size_t lth__symbols_count(const lth__symbols *s);
size_t lth__symbols_first(const lth__symbols *s); /* how many of these it has from its base */
const char *lth__symbols_text(const lth__symbols *s, lth__symbol i,
                              size_t *length); /* NUL-terminated */
/* How often it was interned; what a base has is not counted any more. */
uint64_t lth__symbols_seen(const lth__symbols *s, lth__symbol i);

#endif
