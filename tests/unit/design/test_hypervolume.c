/* What a point adds to a hypervolume, against sums over the cells of a grid; and what it is
 * expected to add, against means over draws. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "design/acquisition.h"
#include "design/hypervolume.h"
#include "failing_allocator.h"
#include "gp_support.h"

enum { MOST = 4, SIDE = 6, LEVELS = 64 };

static bool covers(const double *p, const double *cell, size_t m) {
    for (size_t f = 0; f < m; f++) {
        if (p[f] < cell[f] + 1) return false;
    }
    return true;
}

/* Whole coordinates from 0 on: cells of the new point that no other has. */
static double count_cells(const double *points, size_t count, size_t m, const double *new) {
    double sum = 0;
    size_t cells = (size_t)pow(SIDE, (double)m);
    for (size_t c = 0; c < cells; c++) {
        double cell[MOST];
        size_t rest = c;
        for (size_t f = 0; f < m; f++, rest /= SIDE) cell[f] = (double)(rest % SIDE);
        bool open = covers(new, cell, m);
        for (size_t i = 0; i < count && open; i++) open = !covers(points + i * m, cell, m);
        sum += open;
    }
    return sum;
}

static double above(const lth__boxes *b, const double *new) {
    double part[MOST * LEVELS];
    for (size_t i = 0; i < b->functions * b->levels; i++)
        part[i] = fmax(new[i / b->levels] - b->level[i], 0);
    return lth__boxes_sum(b, part);
}

static void whole_numbers(void **state) {
    (void)state;
    lth__random random;
    lth__random_seed(&random, 3);
    for (int round = 0; round < 400; round++) {
        lth_error err = {0};
        size_t m = 1 + lth__random_below(&random, MOST), count = lth__random_below(&random, 12);
        double points[12 * MOST], new[MOST], reference[MOST] = {0};
        for (size_t i = 0; i < count * m; i++)
            points[i] = (double)lth__random_below(&random, SIDE + 1);
        lth__boxes b;
        support_ok(lth__boxes_make(points, count, m, reference, &b, &err), &err);
        for (int k = 0; k < 10; k++) {
            for (size_t f = 0; f < m; f++) new[f] = (double)lth__random_below(&random, SIDE + 1);
            support_near(above(&b, new), count_cells(points, count, m, new), 1e-12);
        }
        lth__boxes_free(&b);
    }
}

static void expected(void **state) {
    (void)state;
    enum { DRAWS = 400000 };
    const double points[] = {1, 3, 2, 2, 3, 0.5, 0.2, 0.2}, reference[] = {0, 0};
    const double mean[] = {1.8, 1.9}, sd[] = {0.8, 0.6};
    lth_error err = {0};
    lth__boxes b;
    support_ok(lth__boxes_make(points, 4, 2, reference, &b, &err), &err);
    double part[2 * LEVELS], logs[2 * LEVELS], sum = 0;
    for (size_t i = 0; i < 2 * b.levels; i++) {
        size_t f = i / b.levels;
        bool last = isinf(b.level[i]);
        part[i] = last ? 0 : lth__expected_improvement(mean[f], sd[f], b.level[i]);
        logs[i] = last ? -INFINITY : lth__log_expected_improvement(mean[f], sd[f], b.level[i]);
    }
    lth__random random;
    lth__random_seed(&random, 5);
    for (int i = 0; i < DRAWS; i++) {
        double f[2] = {mean[0] + sd[0] * lth__random_normal(&random),
                       mean[1] + sd[1] * lth__random_normal(&random)};
        sum += above(&b, f) / DRAWS;
    }
    support_near(lth__boxes_sum(&b, part), sum, 5e-3);
    support_near(lth__boxes_log_sum(&b, logs), log(lth__boxes_sum(&b, part)), 1e-12);
    lth__boxes_free(&b);
}

static lth_status use(void *user, lth_error *err) {
    (void)user;
    const double points[] = {1, 2, 3, 3, 2, 1, 2, 2, 2}, reference[] = {0, 0, 0};
    lth__boxes b;
    lth_status status = lth__boxes_make(points, 3, 3, reference, &b, err);
    lth__boxes_free(&b);
    return status;
}

static void failing(void **state) {
    (void)state;
    fail_each(use, NULL, false, 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_numbers),
        cmocka_unit_test(expected),
        cmocka_unit_test(failing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
