#include "failing_allocator.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"

atomic_size_t calls;
atomic_size_t fail_at;
atomic_bool fail_after;

static bool fails(void) {
    size_t call = ++calls;
    return fail_at > 0 && (call == fail_at || (fail_after && call > fail_at));
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

/* ---- One after the other ---- */

/* Whether it came to the one that fails. */
static bool fail_one(fallible_use *use, void *user, size_t k, size_t *refused) {
    lth_error err = {0};
    calls = 0;
    fail_at = k;
    lth_status status = use(user, &err);
    bool reached = calls >= k;
    fail_at = 0;
    if (status != LTH_OK && (status != LTH_ENOMEM || !reached))
        fail_msg("allocation %zu: status %d: %s", k, status, err.message);
    assert_int_equal(err.status, status);
    *refused += status == LTH_ENOMEM;
    return reached;
}

void fail_each(fallible_use *use, void *user, bool thinned, size_t least) {
    static size_t rounds = 0;
    size_t refused = 0, k = 1, dense = 41 + rounds++ % 10;
    while (fail_one(use, user, k, &refused)) k += thinned ? 1 + k / dense : 1;
    if (refused <= least) fail_msg("%zu allocations were refused, not above %zu", refused, least);
}
