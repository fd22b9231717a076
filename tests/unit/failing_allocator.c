#include "failing_allocator.h"

#include "base/memory.h"

size_t calls, fail_at;
bool fail_after;

static bool fails(void) {
    calls++;
    return fail_at > 0 && (calls == fail_at || (fail_after && calls > fail_at));
}

void *__real_lth__alloc(size_t count, size_t size);
void *__wrap_lth__alloc(size_t count, size_t size);
void *__wrap_lth__alloc(size_t count, size_t size) {
    return fails() ? NULL : __real_lth__alloc(count, size);
}

void *__real_lth__calloc(size_t count, size_t size);
void *__wrap_lth__calloc(size_t count, size_t size);
void *__wrap_lth__calloc(size_t count, size_t size) {
    return fails() ? NULL : __real_lth__calloc(count, size);
}

void *__real_lth__realloc(void *old, size_t count, size_t size);
void *__wrap_lth__realloc(void *old, size_t count, size_t size);
void *__wrap_lth__realloc(void *old, size_t count, size_t size) {
    return fails() ? NULL : __real_lth__realloc(old, count, size);
}

bool __real_lth__reserve(void **array, size_t *capacity, size_t need, size_t size);
bool __wrap_lth__reserve(void **array, size_t *capacity, size_t need, size_t size);
bool __wrap_lth__reserve(void **array, size_t *capacity, size_t need, size_t size) {
    if (need > *capacity && fails()) return false;
    return __real_lth__reserve(array, capacity, need, size);
}

char *__real_lth__strndup(const char *text, size_t length);
char *__wrap_lth__strndup(const char *text, size_t length);
char *__wrap_lth__strndup(const char *text, size_t length) {
    return fails() ? NULL : __real_lth__strndup(text, length);
}

void *__real_lth__pool_alloc(lth__pool *pool, size_t bytes);
void *__wrap_lth__pool_alloc(lth__pool *pool, size_t bytes);
void *__wrap_lth__pool_alloc(lth__pool *pool, size_t bytes) {
    return fails() ? NULL : __real_lth__pool_alloc(pool, bytes);
}

char *__real_lth__pool_strndup(lth__pool *pool, const char *text, size_t length);
char *__wrap_lth__pool_strndup(lth__pool *pool, const char *text, size_t length);
char *__wrap_lth__pool_strndup(lth__pool *pool, const char *text, size_t length) {
    return fails() ? NULL : __real_lth__pool_strndup(pool, text, length);
}
