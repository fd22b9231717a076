/* Tiles of symmetric matrices times vectors, by every instruction set and precision, against plain
 * loops. All numbers are small and whole, so sums are exact and nothing may differ. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "engine/engine.h"

enum { MOST = 41, GAP = 3 }; /* beyond any number of lanes; cells between two rows */

typedef struct tile {
    size_t rows, cols;
    float T[MOST * (MOST + GAP)];
    double x_rows[MOST], x_cols[MOST], y_rows[MOST], y_cols[MOST];
} tile;

static double whole(lth__random *random) {
    return (double)lth__random_below(random, 15) - 7;
}

static void pose(tile *t, size_t rows, size_t cols) {
    lth__random random;
    lth__random_seed(&random, rows * MOST + cols);
    t->rows = rows;
    t->cols = cols;
    for (size_t i = 0; i < MOST * (MOST + GAP); i++) t->T[i] = (float)whole(&random);
    for (size_t i = 0; i < MOST; i++) {
        t->x_rows[i] = whole(&random);
        t->x_cols[i] = whole(&random);
        t->y_rows[i] = whole(&random);
        t->y_cols[i] = whole(&random);
    }
}

static void add_plainly(tile *t) {
    for (size_t r = 0; r < t->rows; r++) {
        for (size_t c = 0; c < t->cols; c++) {
            double cell = t->T[r * (t->cols + GAP) + c];
            t->y_rows[r] += cell * t->x_cols[c];
            t->y_cols[c] += cell * t->x_rows[r];
        }
    }
}

static void check(const lth__lanes *lanes, size_t rows, size_t cols) {
    tile got, wanted;
    pose(&got, rows, cols);
    wanted = got;
    add_plainly(&wanted);
    lanes->add_symmetric(rows, cols, got.T, cols + GAP, got.x_rows, got.x_cols, got.y_rows,
                         got.y_cols);
    assert_memory_equal(got.y_rows, wanted.y_rows, sizeof got.y_rows);
    assert_memory_equal(got.y_cols, wanted.y_cols, sizeof got.y_cols);
}

static void test_tiles(void **state) {
    (void)state;
    for (size_t set = 0; lth_isa_available(set); set++) {
        const lth__engine *engine = lth__engine_find(lth_isa_available(set));
        for (int precision = LTH_F64; precision <= LTH_F32; precision++) {
            for (size_t rows = 0; rows <= MOST; rows += rows < 9 ? 1 : 8) {
                for (size_t cols = 0; cols <= MOST; cols++)
                    check(engine->lanes[precision], rows, cols);
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_tiles)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
