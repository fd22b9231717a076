/* The GPUs of the reference device, their handles and their memory. */
#include <execinfo.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reference_device.h"

enum { GPUS = 4, BLOCKS = 1024 };

static const size_t default_memory = (size_t)1 << 30;

/* What the handles of a GPU share. All of it is atomic and relaxed: a lock would order what two
 * handles do, and so hide a race in the library from the thread sanitizer. Whoever may use a block
 * has seen how it was made, so he sees it here. */
typedef struct block {
    atomic_uintptr_t begin, end; /* begin 0 = free */
    _Atomic(lth__device *) owner;
} block;

static struct gpu {
    block blocks[BLOCKS];
    atomic_size_t memory, used, allocations;
} gpus[GPUS];

#define READ(place) atomic_load_explicit(&(place), memory_order_relaxed)
#define WRITE(place, value) atomic_store_explicit(&(place), value, memory_order_relaxed)

/* ---- Failures ---- */

lth_status lth__ref_fail(lth_error *err, lth_status status, const char *format, ...) {
    if (!err) return status;
    *err = (lth_error){.status = status};
    va_list args;
    va_start(args, format);
    vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
    return status;
}

/* What called, what called that, and so on, is noted once it was lost. */
enum { FRAMES = 32, PLACES = 1 << 12 };
static void *noted[PLACES];
static atomic_bool loses, lost;

static bool note(void *caller) {
    size_t i = (uintptr_t)caller % PLACES;
    while (noted[i] && noted[i] != caller) i = (i + 1) % PLACES;
    bool is_new = !noted[i];
    noted[i] = caller;
    return is_new;
}

bool lth__ref_is_lost(void) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    if (!READ(loses)) return false;
    void *caller[FRAMES];
    int count = backtrace(caller, FRAMES);
    pthread_mutex_lock(&lock);
    bool is_new = false;
    for (int i = 0; i < count && !READ(lost); i++) is_new |= note(caller[i]);
    if (is_new) WRITE(lost, true);
    bool now = READ(lost);
    pthread_mutex_unlock(&lock);
    return now;
}

void lth__ref_abort(const char *format, ...) {
    va_list args;
    va_start(args, format);
    fputs("reference device: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    abort();
}

/* ---- Handles ---- */

lth__device *lth__ref_enter(lth__device *d) {
    if (atomic_exchange_explicit(&d->busy, true, memory_order_relaxed))
        lth__ref_abort("a handle of GPU %d is used by two threads at the same time", d->gpu);
    d->uses++;
    return d;
}

void lth__ref_leave(lth__device **d) {
    WRITE((*d)->busy, false);
}

static size_t from_environment(const char *name, size_t otherwise) {
    const char *text = getenv(name);
    return text && *text ? (size_t)strtoull(text, NULL, 10) : otherwise;
}

lth_status lth__ref_open(int index, lth__device **out, lth_error *err) {
    if (index < 0 || index >= GPUS)
        return lth__ref_fail(
            err, LTH_EARG, "there is no GPU %d: this machine has %d, counted from 0", index, GPUS);
    lth__device *d = calloc(1, sizeof *d);
    if (!d) return lth__ref_fail(err, LTH_ENOMEM, "out of memory");
    d->gpu = index;
    WRITE(gpus[index].memory, from_environment("LTH_REFERENCE_MEMORY", default_memory));
    WRITE(gpus[index].allocations, from_environment("LTH_REFERENCE_ALLOCATIONS", SIZE_MAX));
    WRITE(loses, from_environment("LTH_REFERENCE_LOSES", 0) > 0);
    WRITE(lost, false);
    *out = d;
    return LTH_OK;
}

void lth__ref_close(lth__device *d) {
    lth__ref_enter(d);
    for (size_t i = 0; i < BLOCKS; i++) {
        const block *b = &gpus[d->gpu].blocks[i];
        if (READ(b->begin) && READ(b->owner) == d)
            lth__ref_abort("a handle of GPU %d is closed and %zu bytes of its memory are left",
                           d->gpu, (size_t)(READ(b->end) - READ(b->begin)));
    }
    free(d);
}

static size_t free_on(const struct gpu *g) {
    size_t memory = READ(g->memory), used = READ(g->used);
    return used < memory ? memory - used : 0;
}

void lth__ref_describe(lth__device *d, char *text, size_t capacity, size_t *free_bytes,
                       size_t *total_bytes) {
    LTH__REF_USE(d);
    snprintf(text, capacity, "reference %d", d->gpu);
    *free_bytes = free_on(&gpus[d->gpu]);
    *total_bytes = READ(gpus[d->gpu].memory);
}

/* ---- Memory ---- */

static void note_block(lth__device *d, const void *memory, size_t bytes) {
    for (size_t i = 0; i < BLOCKS; i++) {
        block *b = &gpus[d->gpu].blocks[i];
        uintptr_t none = 0;
        if (!atomic_compare_exchange_strong_explicit(&b->begin, &none, (uintptr_t)memory,
                                                     memory_order_relaxed, memory_order_relaxed))
            continue;
        WRITE(b->end, (uintptr_t)memory + bytes);
        WRITE(b->owner, d);
        return;
    }
    lth__ref_abort("more than %d blocks of GPU %d are in use", BLOCKS, d->gpu);
}

static bool take_allocation(struct gpu *g) {
    size_t left = READ(g->allocations);
    while (left > 0) {
        if (atomic_compare_exchange_weak_explicit(&g->allocations, &left, left - 1,
                                                  memory_order_relaxed, memory_order_relaxed))
            return true;
    }
    return false;
}

static bool take_bytes(struct gpu *g, size_t bytes) {
    size_t used = READ(g->used), memory = READ(g->memory);
    while (used <= memory && bytes <= memory - used) {
        if (atomic_compare_exchange_weak_explicit(&g->used, &used, used + bytes,
                                                  memory_order_relaxed, memory_order_relaxed))
            return true;
    }
    return false;
}

static void return_bytes(struct gpu *g, size_t bytes) {
    atomic_fetch_sub_explicit(&g->used, bytes, memory_order_relaxed);
}

lth_status lth__ref_get(lth__device *d, size_t bytes, void **out, lth_error *err) {
    struct gpu *g = &gpus[d->gpu];
    if (bytes == 0) bytes = 1;
    bool taken = take_allocation(g) && take_bytes(g, bytes);
    void *memory = taken ? malloc(bytes) : NULL;
    if (taken && !memory) return_bytes(g, bytes);
    if (!memory)
        return lth__ref_fail(err, LTH_ENOMEM,
                             "out of GPU memory: %zu bytes are needed, %zu of %zu are free", bytes,
                             free_on(g), READ(g->memory));
    memset(memory, 0xff, bytes); /* NaN, as float and as double */
    note_block(d, memory, bytes);
    *out = memory;
    return LTH_OK;
}

lth_status lth__ref_put(lth__device *d, const void *from, size_t bytes, void **out,
                        lth_error *err) {
    lth_status status = lth__ref_get(d, bytes, out, err);
    if (status == LTH_OK && bytes > 0) memcpy(*out, from, bytes);
    return status;
}

void lth__ref_drop(lth__device *d, void *memory) {
    if (!memory) return;
    struct gpu *g = &gpus[d->gpu];
    for (size_t i = 0; i < BLOCKS; i++) {
        block *b = &g->blocks[i];
        if (READ(b->begin) != (uintptr_t)memory) continue;
        return_bytes(g, (size_t)(READ(b->end) - READ(b->begin)));
        WRITE(b->end, 0);
        WRITE(b->begin, 0);
        free(memory);
        return;
    }
    lth__ref_abort("GPU %d is to take back memory that it has not given", d->gpu);
}

/* ---- Checks ---- */

/* The GPU on which this address lies, with the bytes from there to the end of its block; or -1. */
static int find_gpu(const void *memory, int first, size_t *left) {
    uintptr_t at = (uintptr_t)memory;
    for (int n = 0; n < GPUS; n++) {
        int gpu = (first + n) % GPUS;
        for (size_t i = 0; i < BLOCKS; i++) {
            const block *b = &gpus[gpu].blocks[i];
            uintptr_t begin = READ(b->begin), end = READ(b->end);
            if (begin == 0 || at < begin || at >= end) continue;
            *left = (size_t)(end - at);
            return gpu;
        }
    }
    return -1;
}

void lth__ref_check_gpu(const lth__device *d, int gpu, const char *what) {
    if (gpu != d->gpu)
        lth__ref_abort("%s of GPU %d used through a handle of GPU %d", what, gpu, d->gpu);
}

void lth__ref_check(const lth__device *d, const void *memory, size_t bytes, const char *what) {
    size_t left = 0;
    if (!memory || bytes == 0) return;
    int gpu = find_gpu(memory, d->gpu, &left);
    if (gpu < 0) lth__ref_abort("%s is not in the memory of GPU %d", what, d->gpu);
    lth__ref_check_gpu(d, gpu, what);
    if (left < bytes)
        lth__ref_abort("%s wants %zu bytes of GPU %d, and there are %zu", what, bytes, gpu, left);
}

void lth__ref_check_numbers(const lth__device *d, const double *X, size_t count, const char *what) {
    lth__ref_check(d, X, count * sizeof *X, what);
}

void lth__ref_check_panel(const lth__device *d, const double *K, size_t ld, const lth__panel *p,
                          const char *what) {
    if (p->rows == 0 || p->cols == 0) return;
    if (ld < p->cols) lth__ref_abort("%s has rows of %zu that are %zu apart", what, p->cols, ld);
    lth__ref_check_numbers(d, K, (p->rows - 1) * ld + p->cols, what);
}

void lth__ref_check_host(const void *memory, const char *what) {
    size_t left;
    int gpu = find_gpu(memory, 0, &left);
    if (gpu >= 0) lth__ref_abort("%s is in the memory of GPU %d, not on the host", what, gpu);
}
