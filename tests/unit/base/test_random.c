/* The random numbers are those of the published algorithms, on every machine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"

/* The first outputs of the reference implementations, which are public. */
static void test_seeding_is_splitmix64(void **state) {
    (void)state;
    lth__random r;
    lth__random_seed(&r, 0);
    assert_true(r.state[0] == 0xe220a8397b1dcdaf);
    assert_true(r.state[1] == 0x6e789e6aa1b965f4);
    assert_true(r.state[2] == 0x06c45d188009454f);
    assert_true(r.state[3] == 0xf88bb8a8724c81ec);
}

static void test_next_is_xoshiro256ss(void **state) {
    (void)state;
    const uint64_t expected[] = {
        11520, 0, 1509978240, 1215971899390074240, 1216172134540287360, 607988272756665600};
    lth__random r = {{1, 2, 3, 4}};
    for (int i = 0; i < 6; i++) assert_true(lth__random_next(&r) == expected[i]);
}

static void test_uniform(void **state) {
    (void)state;
    lth__random r = {{1, 2, 3, 4}};
    assert_true(lth__random_uniform(&r) == (double)(11520 >> 11) * 0x1p-53);
    lth__random_seed(&r, 1);
    double sum = 0;
    for (int i = 0; i < 100000; i++) {
        double x = lth__random_uniform(&r);
        assert_true(x >= 0 && x < 1);
        sum += x;
    }
    assert_true(sum > 49500 && sum < 50500); /* 5 standard deviations */
}

static void test_below(void **state) {
    (void)state;
    lth__random r;
    lth__random_seed(&r, 7);
    size_t seen[6] = {0};
    for (int i = 0; i < 60000; i++) {
        uint64_t x = lth__random_below(&r, 6);
        assert_true(x < 6);
        seen[x]++;
    }
    for (int i = 0; i < 6; i++) assert_in_range(seen[i], 9500, 10500);
    assert_true(lth__random_below(&r, 0) == 0);
    assert_true(lth__random_below(&r, 1) == 0);

    /* 2^64 mod bound = 2^63 - 1: numbers below that are refused, so 11520 and 0 are passed over. */
    const uint64_t bound = (UINT64_C(1) << 63) + 1;
    lth__random known = {{1, 2, 3, 4}};
    uint64_t x;
    lth__random copy = known;
    do x = lth__random_next(&copy);
    while (x < (UINT64_C(1) << 63) - 1);
    assert_true(lth__random_below(&known, bound) == x % bound);
    assert_memory_equal(&known, &copy, sizeof copy);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_seeding_is_splitmix64),
        cmocka_unit_test(test_next_is_xoshiro256ss),
        cmocka_unit_test(test_uniform),
        cmocka_unit_test(test_below),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
