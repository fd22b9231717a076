/* Blocks, growing arrays, pools, and the memory that is left. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/memory.h"

static bool aligned(const void *p, size_t to) {
    return (uintptr_t)p % to == 0;
}

static void fill(unsigned char *bytes, size_t count) {
    for (size_t i = 0; i < count; i++) bytes[i] = (unsigned char)(i * 7 + i / 251);
}

static bool filled(const unsigned char *bytes, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (bytes[i] != (unsigned char)(i * 7 + i / 251)) return false;
    return true;
}

static void test_blocks_are_aligned_and_whole(void **state) {
    (void)state;
    for (size_t size = 0; size < 300; size++) {
        unsigned char *p = lth__alloc(size, 1), *q = lth__calloc(1, size);
        assert_non_null(p);
        assert_non_null(q);
        assert_true(aligned(p, 64) && aligned(q, 64));
        for (size_t i = 0; i < size; i++) assert_int_equal(q[i], 0);
        fill(p, size);
        fill(q, size);
        assert_true(filled(p, size) && filled(q, size));
        lth__free(p);
        lth__free(q);
    }
    lth__free(NULL);
}

static void test_realloc_keeps_bytes_and_alignment(void **state) {
    (void)state;
    const size_t sizes[] = {1,        100,     64, 5000,   4999, 1 << 20, 40 << 20, (40 << 20) + 1,
                            90 << 20, 3 << 20, 10, 100000, 0,    17};
    unsigned char *p = lth__realloc(NULL, 0, 1);
    size_t held = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t size = sizes[i];
        unsigned char *grown = lth__realloc(p, size, 1);
        assert_non_null(grown);
        p = grown;
        assert_true(aligned(p, 64));
        assert_true(filled(p, held < size ? held : size));
        fill(p, size);
        held = size;
    }
    lth__free(p);
}

static void test_realloc_between_other_blocks(void **state) {
    (void)state;
    unsigned char *p[50] = {0};
    size_t size[50] = {0};
    unsigned seed = 1;
    for (int step = 0; step < 20000; step++) {
        seed = seed * 1103515245 + 12345;
        size_t i = seed / 65536 % 50, wanted = seed / 4096 % 2000;
        p[i] = lth__realloc(p[i], wanted, 1);
        assert_non_null(p[i]);
        assert_true(aligned(p[i], 64));
        assert_true(filled(p[i], wanted < size[i] ? wanted : size[i]));
        fill(p[i], wanted);
        size[i] = wanted;
    }
    for (int i = 0; i < 50; i++) lth__free(p[i]);
}

static void test_overflow_is_refused(void **state) {
    (void)state;
    assert_null(lth__alloc(SIZE_MAX, 2));
    assert_null(lth__alloc(SIZE_MAX, 1));
    assert_null(lth__alloc((size_t)1 << 32, (size_t)1 << 32));
    assert_null(lth__calloc(SIZE_MAX / 2, 3));
    assert_null(lth__calloc(1, (size_t)PTRDIFF_MAX));
    char *p = lth__alloc(4, 1);
    strcpy(p, "abc");
    assert_null(lth__realloc(p, SIZE_MAX / 4, 8));
    assert_string_equal(p, "abc");
    lth__free(p);
    assert_null(lth__strndup("x", SIZE_MAX));
}

static void test_what_was_refused_is_named_once(void **state) {
    (void)state;
    lth_error err;
    void *array = NULL;
    size_t capacity = 0;
    assert_null(lth__alloc(SIZE_MAX / 4 * 3, 1));
    lth__fail_memory(&err, 5);
    assert_string_equal(err.message, "out of memory: 13835058055282.2 MB wanted");
    lth__fail_memory(&err, 5);
    assert_string_equal(err.message, "out of memory: 5 bytes wanted");
    assert_null(lth__calloc(SIZE_MAX / 2, 4));
    assert_int_equal(lth__memory_refused(), SIZE_MAX);
    assert_false(lth__reserve(&array, &capacity, (size_t)1 << 50, 8));
    assert_true(lth__memory_refused() >= (size_t)1 << 53);
    array = lth__alloc(1, 1);
    assert_null(lth__realloc(array, SIZE_MAX - 1, 1));
    assert_int_equal(lth__memory_refused(), SIZE_MAX - 1);
    assert_int_equal(lth__memory_refused(), 0);
    lth__free(array);
}

static void test_strndup(void **state) {
    (void)state;
    char *a = lth__strndup("hello", 3), *b = lth__strndup(NULL, 0);
    assert_string_equal(a, "hel");
    assert_string_equal(b, "");
    lth__free(a);
    lth__free(b);
}

static void test_reserve(void **state) {
    (void)state;
    double *values = NULL;
    size_t capacity = 0, moves = 0;
    assert_true(lth__reserve((void **)&values, &capacity, 0, sizeof *values));
    assert_null(values);
    for (size_t i = 0; i < 1000; i++) {
        size_t before = capacity;
        assert_true(lth__reserve((void **)&values, &capacity, i + 1, sizeof *values));
        moves += capacity != before;
        assert_true(capacity > i);
        values[i] = (double)i;
    }
    assert_int_equal(capacity, 1024);
    assert_int_equal(moves, 8);
    for (size_t i = 0; i < 1000; i++) assert_true(values[i] == (double)i);

    double *same = values;
    assert_false(lth__reserve((void **)&values, &capacity, SIZE_MAX / 4, sizeof *values));
    assert_false(lth__reserve((void **)&values, &capacity, SIZE_MAX, sizeof *values));
    assert_ptr_equal(values, same);
    assert_int_equal(capacity, 1024);
    lth__free(values);
}

/* ---- What is left ---- */

static size_t virtual_size(void) {
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%lu", &pages), 1);
    fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static size_t meminfo_available(void) {
    size_t kib = 0;
    char line[256];
    FILE *file = fopen("/proc/meminfo", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "MemAvailable: %zu", &kib) == 1) break;
    if (file != NULL) fclose(file);
    return kib * 1024;
}

static void test_memory_available(void **state) {
    (void)state;
    size_t now = lth__memory_available();
    assert_true(now > 0);
    /* Never more than the machine has; others may free some between the two looks. */
    size_t machine = meminfo_available();
    if (machine > 0) assert_true(now <= machine + machine / 2);
}

static void test_memory_available_heeds_the_address_space(void **state) {
    (void)state;
    if (lth__memory_available() < (size_t)128 << 20) skip();
    struct rlimit before, limit, kept;
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    limit = before;
    limit.rlim_cur = virtual_size() + (64 << 20);
    assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
    assert_int_equal(getrlimit(RLIMIT_AS, &kept), 0);
    if (kept.rlim_cur != limit.rlim_cur) skip(); /* an emulator needs memory of its own */
    size_t left = lth__memory_available();
    lth_error err;
    lth_status small = lth__memory_check(1 << 20, "the table", "cut it", &err);
    lth_status large = lth__memory_check((size_t)1 << 30, "the table", "cut it", &err);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    assert_in_range(left, 60 << 20, 64 << 20);
    assert_int_equal(small, LTH_OK);
    assert_int_equal(large, LTH_ENOMEM);
    char rest[16];
    double needed, available;
    assert_int_equal(sscanf(err.message, "the table needs %lf GB, %lf MB are available; cut %15s",
                            &needed, &available, rest),
                     3);
    assert_true(needed == 1.1);
    assert_true(available > 60 && available < 67.2);
    assert_string_equal(rest, "it");
}

static void test_memory_check(void **state) {
    (void)state;
    lth_error err = {.message = "untouched"};
    assert_int_equal(lth__memory_check(0, "nothing", "", &err), LTH_OK);
    assert_string_equal(err.message, "untouched");
    if (lth__memory_available() == SIZE_MAX) skip();
    assert_int_equal(lth__memory_check(SIZE_MAX, "the Gram matrix", "use fewer rows", &err),
                     LTH_ENOMEM);
    assert_int_equal(err.status, LTH_ENOMEM);
    assert_ptr_equal(strstr(err.message, "the Gram matrix needs 18446744.1 TB, "), err.message);
    assert_non_null(strstr(err.message, " are available; use fewer rows"));
    assert_int_equal(lth__memory_check(SIZE_MAX, "it", NULL, &err), LTH_ENOMEM);
    assert_null(strchr(err.message, ';'));
    assert_int_equal(lth__memory_check(SIZE_MAX, "it", NULL, NULL), LTH_ENOMEM);
}

/* ---- Pools ---- */

static void test_pool_blocks_stay(void **state) {
    (void)state;
    enum { COUNT = 5000 };
    lth__pool pool = {0};
    unsigned char *block[COUNT];
    size_t size[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        size[i] = i % 1000 == 999 ? 300000 : i * 31 % 200;
        block[i] = lth__pool_alloc(&pool, size[i]);
        assert_non_null(block[i]);
        assert_true(aligned(block[i], 8));
        memset(block[i], (int)(i % 251), size[i]);
    }
    for (size_t i = 0; i < COUNT; i++)
        for (size_t j = 0; j < size[i]; j++) assert_int_equal(block[i][j], i % 251);
    lth__pool_free(&pool);
    assert_null(pool.chunks);
    lth__pool_free(&pool);
}

static void test_pool_strings_and_limits(void **state) {
    (void)state;
    lth__pool pool = {0};
    char *a = lth__pool_strndup(&pool, "hello", 4), *b = lth__pool_strndup(&pool, NULL, 0);
    assert_string_equal(a, "hell");
    assert_string_equal(b, "");
    assert_true(a != b);
    assert_null(lth__pool_alloc(&pool, SIZE_MAX));
    assert_null(lth__pool_alloc(&pool, SIZE_MAX - 7));
    assert_null(lth__pool_alloc(&pool, SIZE_MAX - 40));
    assert_null(lth__pool_strndup(&pool, "x", SIZE_MAX));
    assert_string_equal(a, "hell");
    lth__pool_free(&pool);
}

static void test_large_arrays_grow_within_the_machine(void **state) {
    (void)state;
    size_t available = lth__memory_available(), capacity = 0;
    if (available > SIZE_MAX / 4) skip();
    char *values = NULL;
    assert_false(lth__reserve((void **)&values, &capacity, available + available / 8, 1));
    assert_null(values);
    assert_int_equal(capacity, 0);
}

static void test_memory_of_json(void **state) {
    (void)state;
    enum { LENGTH = 2 << 20 };
    char *text = malloc(LENGTH);
    assert_non_null(text);
    lth_error err = {0};
    lth__memory_divide(1 << 20); /* what is available is next to nothing */
    memset(text, 'a', LENGTH);
    assert_int_equal(lth__memory_check_json(text, 1000, &err), LTH_OK); /* small */
    memset(text, ',', LENGTH);
    assert_int_equal(lth__memory_check_json(text, LENGTH, &err), LTH_ENOMEM);
    lth__memory_divide(-(1 << 20));
    assert_int_equal(lth__memory_check_json(text, LENGTH, &err), LTH_OK);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks_are_aligned_and_whole),
        cmocka_unit_test(test_realloc_keeps_bytes_and_alignment),
        cmocka_unit_test(test_realloc_between_other_blocks),
        cmocka_unit_test(test_overflow_is_refused),
        cmocka_unit_test(test_what_was_refused_is_named_once),
        cmocka_unit_test(test_strndup),
        cmocka_unit_test(test_reserve),
        cmocka_unit_test(test_large_arrays_grow_within_the_machine),
        cmocka_unit_test(test_memory_of_json),
        cmocka_unit_test(test_memory_available),
        cmocka_unit_test(test_memory_available_heeds_the_address_space),
        cmocka_unit_test(test_memory_check),
        cmocka_unit_test(test_pool_blocks_stay),
        cmocka_unit_test(test_pool_strings_and_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
