#include "failing_allocator.h"

#include <execinfo.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "base/status.h"
#include "engine/blas.h"

atomic_size_t calls;
atomic_size_t fail_at;
atomic_bool fail_after;

/* ---- Places ---- */

/* What called something that may fail, what called that, and so on: return addresses. They are
 * noted once something below them was refused. */
enum { MOST_FRAMES = 48, NOTED_BITS = 14 };
static void *noted[1 << NOTED_BITS];
static pthread_mutex_t noted_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool by_place;
static atomic_int refused_with;  /* in this run; LTH_OK = nothing yet */
static atomic_size_t asked;      /* in this run                       */
static atomic_size_t refused_at; /* of these, in the last run: what comes before is not new */

static bool note(void *caller) {
    size_t i = (size_t)((uint64_t)(uintptr_t)caller * 0x9e3779b97f4a7c15u >> (64 - NOTED_BITS));
    while (noted[i] && noted[i] != caller) i = (i + 1) % (1 << NOTED_BITS);
    bool is_new = !noted[i];
    noted[i] = caller;
    return is_new;
}

/* Whether a call is refused: one in a run, from a place that is new. */
static bool refuses(lth_status status) {
    if (!by_place || refused_with != LTH_OK) return false;
    size_t number = ++asked;
    if (number < refused_at) return false;
    void *caller[MOST_FRAMES];
    int count = backtrace(caller, MOST_FRAMES);
    bool is_new = false;
    pthread_mutex_lock(&noted_lock);
    for (int i = 0; i < count && refused_with == LTH_OK; i++) is_new |= note(caller[i]);
    if (is_new) {
        refused_with = status;
        refused_at = number;
    }
    pthread_mutex_unlock(&noted_lock);
    return is_new;
}

static bool fails(void) {
    size_t call = ++calls;
    if (by_place) return refuses(LTH_ENOMEM);
    return fail_at > 0 && (call == fail_at || (fail_after && call > fail_at));
}

/* ---- What may fail ---- */

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

/* Its buffers take memory. */
lth_status __real_lth__blas_get(const lth__blas **out, lth_error *err);
lth_status __wrap_lth__blas_get(const lth__blas **out, lth_error *err);
lth_status __wrap_lth__blas_get(const lth__blas **out, lth_error *err) {
    return refuses(LTH_ENOMEM) ? lth__fail_memory(err, 0) : __real_lth__blas_get(out, err);
}

lth_status __real_lth__memory_check(size_t bytes, const char *what, const char *advice,
                                    lth_error *err);
lth_status __wrap_lth__memory_check(size_t bytes, const char *what, const char *advice,
                                    lth_error *err);
lth_status __wrap_lth__memory_check(size_t bytes, const char *what, const char *advice,
                                    lth_error *err) {
    return refuses(LTH_ENOMEM) ? lth__fail_memory(err, bytes)
                               : __real_lth__memory_check(bytes, what, advice, err);
}

/* Loops are canceled, and jobs that ask. */
lth_status __real_lth__parallel_ask(const lth_ctx *ctx);
lth_status __wrap_lth__parallel_ask(const lth_ctx *ctx);
lth_status __wrap_lth__parallel_ask(const lth_ctx *ctx) {
    return ctx->loop && refuses(LTH_ECANCELED) ? LTH_ECANCELED : __real_lth__parallel_ask(ctx);
}

lth_status __real_lth__parallel_for(lth_ctx *ctx, const char *what, size_t count,
                                    const double *cost, lth__job_fn *job, void *user,
                                    lth_error *err);
lth_status __wrap_lth__parallel_for(lth_ctx *ctx, const char *what, size_t count,
                                    const double *cost, lth__job_fn *job, void *user,
                                    lth_error *err);
lth_status __wrap_lth__parallel_for(lth_ctx *ctx, const char *what, size_t count,
                                    const double *cost, lth__job_fn *job, void *user,
                                    lth_error *err) {
    if (count > 0 && refuses(LTH_ECANCELED)) return lth__fail(err, LTH_ECANCELED, "canceled");
    return __real_lth__parallel_for(ctx, what, count, cost, job, user, err);
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

/* Whether anything was refused. */
static bool fail_place(fallible_use *use, void *user, size_t *refused) {
    lth_error err = {0};
    refused_with = LTH_OK;
    asked = 0;
    lth_status status = use(user, &err);
    if (status != LTH_OK && status != (lth_status)refused_with)
        fail_msg("status %d, not %d: %s", status, refused_with, err.message);
    assert_int_equal(err.status, status);
    *refused += status != LTH_OK;
    return refused_with != LTH_OK;
}

/* A round that begins at the first call again finds what an earlier run had not come to. */
static size_t fail_places(fallible_use *use, void *user) {
    size_t refused = 0, found;
    memset(noted, 0, sizeof noted);
    by_place = true;
    do {
        refused_at = 0;
        for (found = 0; fail_place(use, user, &refused); found++) {
        }
    } while (found > 0);
    by_place = false;
    return refused;
}

void fail_each(fallible_use *use, void *user, bool by_places, size_t least) {
    size_t refused = fail_places(use, user), k = 1;
    if (!by_places) refused = 0;
    while (!by_places && fail_one(use, user, k, &refused)) k++;
    if (refused <= least) fail_msg("%zu were refused, not above %zu", refused, least);
}
