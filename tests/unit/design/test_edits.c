/* Edits against the recursion that defines them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "design/edits.h"
#include "failing_allocator.h"

static size_t slow(const char *a, size_t m, const char *b, size_t n) {
    if (m == 0 || n == 0) return m + n;
    size_t replaced = slow(a + 1, m - 1, b + 1, n - 1) + (*a != *b);
    size_t gone = slow(a + 1, m - 1, b, n) + 1, new = slow(a, m, b + 1, n - 1) + 1;
    size_t least = replaced < gone ? replaced : gone;
    return least < new ? least : new;
}

static size_t edits(const char *a, const char *b) {
    return lth__edits(a, strlen(a), b, strlen(b), SIZE_MAX);
}

static void small(void **state) {
    (void)state;
    assert_int_equal(edits("", ""), 0);
    assert_int_equal(edits("", "abc"), 3);
    assert_int_equal(edits("kitten", "sitting"), 3);
    assert_int_equal(edits("abc", "abc"), 0);
    assert_int_equal(edits("intention", "execution"), 5);
}

static void characters(void **state) {
    (void)state;
    assert_int_equal(edits("na\xc3\xafve", "naive"), 1);
    assert_int_equal(edits("\xe2\x82\xac", "\xe2\x82\xad"), 1);
    assert_int_equal(edits("\xc3\xa9\xc3\xa8", "\xc3\xa8"), 1);
}

static void every_limit(void **state) {
    (void)state;
    lth__random random;
    lth__random_seed(&random, 7);
    for (int i = 0; i < 3000; i++) {
        char a[8], b[8];
        size_t m = lth__random_below(&random, 8), n = lth__random_below(&random, 8);
        for (size_t k = 0; k < m; k++) a[k] = "abc"[lth__random_below(&random, 3)];
        for (size_t k = 0; k < n; k++) b[k] = "abc"[lth__random_below(&random, 3)];
        size_t truth = slow(a, m, b, n);
        assert_int_equal(lth__edits(a, m, b, n, SIZE_MAX), truth);
        assert_int_equal(lth__edits(b, n, a, m, SIZE_MAX - 1), truth);
        for (size_t most = 0; most < 9; most++)
            assert_int_equal(lth__edits(a, m, b, n, most), truth <= most ? truth : most + 1);
    }
}

/* A hundred thousand letters, with few edits between them: a band of them is all that is made. */
static void long_texts(void **state) {
    (void)state;
    enum { LENGTH = 100000 };
    char *a = malloc(LENGTH), *b = malloc(LENGTH);
    lth__random random;
    lth__random_seed(&random, 8);
    for (size_t i = 0; i < LENGTH; i++) a[i] = "ACGT"[lth__random_below(&random, 4)];
    memcpy(b, a, LENGTH);
    b[10] = 'x';
    b[50000] = 'x';
    memmove(b + 70001, b + 70000, LENGTH - 70001); /* one more, and one less at the end */
    b[70000] = 'x';
    b[LENGTH - 1] = 'x';
    assert_int_equal(lth__edits(a, LENGTH, b, LENGTH, SIZE_MAX), 5);
    assert_int_equal(lth__edits(a, LENGTH, b, LENGTH, 3), 4);
    fail_at = atomic_load(&calls) + 1;
    fail_after = true;
    assert_true(lth__edits(a, LENGTH, b, LENGTH, SIZE_MAX) == LTH_NONE);
    fail_at = 0;
    fail_after = false;
    free(a);
    free(b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small),
        cmocka_unit_test(characters),
        cmocka_unit_test(every_limit),
        cmocka_unit_test(long_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
