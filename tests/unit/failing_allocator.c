#include "failing_allocator.h"

#include <execinfo.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/durable.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "base/status.h"
#include "data/table_reader.h"
#include "engine/blas.h"
#include "engine/cluster.h"
#include "kernel/device/device_eval.h"
#include "model/common/linalg.h"

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

/* ---- What may fail ----
 *
 * tests/CMakeLists.txt has the linker wrap what is WRAPPED here, which calls the REAL one.
 */

#define REAL(name) __real_##name
#define WRAPPED(type, name, ...)                                                                   \
    type REAL(name)(__VA_ARGS__);                                                                  \
    type __wrap_##name(__VA_ARGS__);                                                               \
    type __wrap_##name(__VA_ARGS__)

WRAPPED(void *, lth__alloc, size_t count, size_t size) {
    return fails() ? NULL : REAL(lth__alloc)(count, size);
}

WRAPPED(void *, lth__calloc, size_t count, size_t size) {
    return fails() ? NULL : REAL(lth__calloc)(count, size);
}

WRAPPED(void *, lth__realloc, void *old, size_t count, size_t size) {
    return fails() ? NULL : REAL(lth__realloc)(old, count, size);
}

WRAPPED(bool, lth__reserve, void **array, size_t *capacity, size_t need, size_t size) {
    if (need > *capacity && fails()) return false;
    return REAL(lth__reserve)(array, capacity, need, size);
}

WRAPPED(char *, lth__strndup, const char *text, size_t length) {
    return fails() ? NULL : REAL(lth__strndup)(text, length);
}

WRAPPED(void *, lth__pool_alloc, lth__pool *pool, size_t bytes) {
    return fails() ? NULL : REAL(lth__pool_alloc)(pool, bytes);
}

WRAPPED(char *, lth__pool_strndup, lth__pool *pool, const char *text, size_t length) {
    return fails() ? NULL : REAL(lth__pool_strndup)(pool, text, length);
}

static lth_status refusal(lth_status status, lth_error *err) {
    return refuses(status) ? lth__fail(err, status, "refused") : LTH_OK;
}

/* Its buffers take memory. */
WRAPPED(lth_status, lth__blas_get, const lth__blas **out, lth_error *err) {
    LTH_TRY(refusal(LTH_ENOMEM, err));
    return REAL(lth__blas_get)(out, err);
}

WRAPPED(lth_status, lth__memory_check, size_t bytes, const char *what, const char *advice,
        lth_error *err) {
    LTH_TRY(refusal(LTH_ENOMEM, err));
    return REAL(lth__memory_check)(bytes, what, advice, err);
}

WRAPPED(lth_status, lth__memory_check_json, const char *text, size_t length, lth_error *err) {
    LTH_TRY(refusal(LTH_ENOMEM, err));
    return REAL(lth__memory_check_json)(text, length, err);
}

WRAPPED(lth_status, lth__device_matrix, lth__device_eval *e, size_t count, double **out,
        lth_error *err) {
    LTH_TRY(refusal(LTH_ENOMEM, err));
    return REAL(lth__device_matrix)(e, count, out, err);
}

/* Loops are canceled, and jobs that ask. */
WRAPPED(lth_status, lth__parallel_ask, const lth_ctx *ctx) {
    return ctx->loop && refuses(LTH_ECANCELED) ? LTH_ECANCELED : REAL(lth__parallel_ask)(ctx);
}

WRAPPED(lth_status, lth__parallel_for, lth_ctx *ctx, const char *what, size_t count,
        const double *cost, lth__job_fn *job, void *user, lth_error *err) {
    if (count > 0 && err) LTH_TRY(refusal(LTH_ECANCELED, err)); /* else it runs through */
    return REAL(lth__parallel_for)(ctx, what, count, cost, job, user, err);
}

WRAPPED(lth_status, lth__tell, const lth_ctx *ctx, const char *what, double done, double total,
        lth_error *err) {
    LTH_TRY(refusal(LTH_ECANCELED, err));
    return REAL(lth__tell)(ctx, what, done, total, err);
}

/* Files are damaged, from anywhere in them on. */
WRAPPED(lth_status, lth__file_open, const char *path, FILE **out, lth_error *err) {
    LTH_TRY(refusal(LTH_EFORMAT, err));
    return REAL(lth__file_open)(path, out, err);
}

WRAPPED(lth_status, lth__input_open, const lth__relay *relay, const char *path, lth__input **out,
        lth_error *err) {
    LTH_TRY(refusal(LTH_EFORMAT, err));
    return REAL(lth__input_open)(relay, path, out, err);
}

WRAPPED(lth_status, lth__input_line, lth__input *in, const char **line, size_t *length,
        lth_error *err) {
    LTH_TRY(refusal(LTH_EFORMAT, err));
    return REAL(lth__input_line)(in, line, length, err);
}

WRAPPED(lth_status, lth__input_peek, lth__input *in, size_t count, const char **bytes, size_t *got,
        lth_error *err) {
    LTH_TRY(refusal(LTH_EFORMAT, err));
    return REAL(lth__input_peek)(in, count, bytes, got, err);
}

WRAPPED(lth_status, lth__input_bytes, lth__input *in, void *bytes, size_t count, size_t *got,
        lth_error *err) {
    LTH_TRY(refusal(LTH_EFORMAT, err));
    return REAL(lth__input_bytes)(in, bytes, count, got, err);
}

/* Nor written; what a file keeps to itself, it says at the end. */
WRAPPED(lth_status, lth_output_open, const char *path, lth_output **out, lth_error *err) {
    LTH_TRY(refusal(LTH_EIO, err));
    return REAL(lth_output_open)(path, out, err);
}

WRAPPED(lth_status, lth_output_commit, lth_output *output, lth_error *err) {
    LTH_TRY(refusal(LTH_EIO, err));
    return REAL(lth_output_commit)(output, err);
}

WRAPPED(lth_status, lth__durable_write, const char *path, lth__bytes bytes, lth_error *err) {
    LTH_TRY(refusal(LTH_EIO, err));
    return REAL(lth__durable_write)(path, bytes, err);
}

WRAPPED(lth_status, lth__durable_create, const char *path, lth__bytes bytes, lth_error *err) {
    LTH_TRY(refusal(LTH_EIO, err));
    return REAL(lth__durable_create)(path, bytes, err);
}

WRAPPED(lth_status, lth__durable_settle, const char *folder, lth_error *err) {
    LTH_TRY(refusal(LTH_EIO, err));
    return REAL(lth__durable_settle)(folder, err);
}

WRAPPED(lth_status, lth__durable_folder, const char *path, lth_error *err) {
    LTH_TRY(refusal(LTH_EIO, err));
    return REAL(lth__durable_folder)(path, err);
}

/* Tables that are too long, as many files together may be. */
WRAPPED(lth_status, lth__reader_add, lth__reader *r, const char *text, size_t length, size_t line,
        size_t column, lth_error *err) {
    LTH_TRY(refusal(LTH_ENOMEM, err));
    return REAL(lth__reader_add)(r, text, length, line, column, err);
}

/* Another rank cannot go on. There need not be any: a cluster of this process alone is NULL. */
WRAPPED(lth_status, lth__cluster_agree, lth__cluster *c, lth_status status, lth_error *err) {
    if (status == LTH_OK) LTH_TRY(refusal(LTH_ECANCELED, err));
    return REAL(lth__cluster_agree)(c, status, err);
}

WRAPPED(lth_status, lth__cluster_share, lth__cluster *c, lth_status status, unsigned root,
        void *bytes, size_t size, lth_error *err) {
    if (status == LTH_OK) LTH_TRY(refusal(LTH_ECANCELED, err));
    return REAL(lth__cluster_share)(c, status, root, bytes, size, err);
}

WRAPPED(lth_status, lth__cluster_join, lth__cluster *c, lth_status status, double *numbers,
        size_t count, lth_error *err) {
    if (status == LTH_OK) LTH_TRY(refusal(LTH_ECANCELED, err));
    return REAL(lth__cluster_join)(c, status, numbers, count, err);
}

WRAPPED(lth_status, lth__cluster_join_bytes, lth__cluster *c, lth_status status, void *bytes,
        size_t size, lth_error *err) {
    if (status == LTH_OK) LTH_TRY(refusal(LTH_ECANCELED, err));
    return REAL(lth__cluster_join_bytes)(c, status, bytes, size, err);
}

WRAPPED(lth_status, lth__cluster_largest, lth__cluster *c, double *number, lth_error *err) {
    LTH_TRY(refusal(LTH_ECANCELED, err));
    return REAL(lth__cluster_largest)(c, number, err);
}

WRAPPED(lth_status, lth__cluster_any, lth__cluster *c, bool *flag, lth_error *err) {
    LTH_TRY(refusal(LTH_ECANCELED, err));
    return REAL(lth__cluster_any)(c, flag, err);
}

/* Not positive definite, which is told by the caller. */
WRAPPED(lth_status, lth__cholesky, lth_ctx *ctx, size_t n, double *A, lth_error *err) {
    return refuses(LTH_ENUMERIC) ? LTH_ENUMERIC : REAL(lth__cholesky)(ctx, n, A, err);
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
