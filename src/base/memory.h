/* Memory: overflow-checked, aligned to 64 bytes for the vector loops, freed with one function.
 * Every allocation of the library goes through these functions; tests make the k-th one fail. */
#ifndef LTH_MEMORY_H
#define LTH_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* count * size bytes, uninitialised or zeroed; NULL on failure or overflow. count 0 gives a
 * pointer. */
void *lth__alloc(size_t count, size_t size);
void *lth__calloc(size_t count, size_t size);
/* Grow or shrink; on failure NULL, and `old` stays valid. */
void *lth__realloc(void *old, size_t count, size_t size);
void lth__free(void *p);

/* Bytes of the last block that this thread was refused since it asked this: for
 * lth__fail_memory(). 0 = none. */
size_t lth__memory_refused(void);

char *lth__strndup(const char *text, size_t length);

/* Make room for `need` elements in a growing array: capacity doubles. false = out of memory, also
 * where much is wanted and the machine would have to take it from others. */
bool lth__reserve(void **array, size_t *capacity, size_t need, size_t element_size);

/* Addresses for so many bytes, which take memory only where they are written. NULL on failure. */
void *lth__space_alloc(size_t bytes);
void lth__space_free(void *space, size_t bytes);

/* Bytes the machine (or its container) can still give to this process, SIZE_MAX when unknown: an
 * equal part, where so many processes of the machine do one job together. */
size_t lth__memory_available(void);
void lth__memory_share(unsigned processes);
/* Tasks of this process that each count on what is available become so many more, or fewer. */
void lth__memory_divide(int more);

/* "3.2 GB" */
void lth__print_size(double bytes, char out[16]);

/* Fail early, in one line, when `bytes` for `what` cannot be had. `advice` says what to do instead.
 */
lth_status lth__memory_check(size_t bytes, const char *what, const char *advice, lth_error *err);

/* The same for JSON that is about to be parsed: "[0,0,0]" becomes tens of bytes for each value, of
 * memory that is not taken here. */
lth_status lth__memory_check_json(const char *text, size_t length, lth_error *err);

/* Copy what two versions of a struct, of these sizes, have both; the rest of `to` stays. */
void lth__copy_struct(void *to, size_t to_size, const void *from, size_t from_size);

/* A pool of small blocks, freed together; no block moves. */
typedef struct lth__pool {
    struct lth__pool_chunk *chunks;
} lth__pool;

void *lth__pool_alloc(lth__pool *pool, size_t bytes); /* 8-byte aligned; NULL on failure */
char *lth__pool_strndup(lth__pool *pool, const char *text, size_t length);
void lth__pool_free(lth__pool *pool);

#endif
