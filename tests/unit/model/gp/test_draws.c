/* Eigenvalues of a small matrix, and weights of draws. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "gp_support.h"
#include "model/gp/gp_uncertain.h"

static void eigenvalues(void **state) {
    (void)state;
    enum { N = 7 };
    double H[N * N], copy[N * N], V[N * N], value[N];
    lth__random random;
    lth__random_seed(&random, 1);
    for (size_t i = 0; i < N; i++) {
        for (size_t k = 0; k <= i; k++) H[i * N + k] = H[k * N + i] = lth__random_normal(&random);
    }
    memcpy(copy, H, sizeof H);
    lth__symmetric_eigen(N, copy, V, value);
    for (size_t i = 0; i < N; i++) {
        for (size_t k = 0; k < N; k++) {
            double sum = 0, unit = 0;
            for (size_t d = 0; d < N; d++) {
                sum += V[i * N + d] * value[d] * V[k * N + d];
                unit += V[d * N + i] * V[d * N + k];
            }
            support_near(sum, H[i * N + k], 1e-12);
            support_near(unit, i == k, 1e-12);
        }
    }
}

static void weights(void **state) {
    (void)state;
    double even[4] = {-700, -700, -700, -INFINITY}, effective;
    assert_true(lth__weights_settle(4, even, &effective));
    support_near(effective, 3, 1e-12);
    assert_true(even[3] == 0 && fabs(even[0] - 1.0 / 3) < 1e-12);
    /* One that has it all shares with the others, in their order. */
    double one[8] = {-100, -50, -60, -70, -80, -90, -95, -99};
    assert_true(lth__weights_settle(8, one, &effective));
    support_near(effective, 2, 1e-6);
    assert_true(one[1] > one[2] && one[2] > one[3] && one[0] > 0);
    double none[2] = {-INFINITY, -INFINITY};
    assert_false(lth__weights_settle(2, none, &effective));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eigenvalues),
        cmocka_unit_test(weights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
