/* Patterns of a few symbols against texts in lanes: the bits of the string kernel of the pattern
 * taken for a text, and by enumeration. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/random.h"
#include "engine/engine.h"

enum { SYMBOLS = 3, PATTERNS = 200 };

/* All places of u that go on in t, each symbol of which that is skipped before one of u costs a
 * factor. */
static double go_on(const uint32_t *u, size_t n, const uint32_t *t, size_t length, double gap) {
    double sum = 0, factor = 1;
    if (n == 0) return 1;
    for (size_t k = 0; k < length; k++, factor *= gap)
        if (t[k] == u[0]) sum += factor * go_on(u + 1, n - 1, t + k + 1, length - k - 1, gap);
    return sum;
}

/* Wherever they begin. */
static double count_places(const uint32_t *u, size_t n, const uint32_t *t, size_t length,
                           double gap) {
    double sum = 0;
    for (size_t k = 0; k < length; k++)
        if (t[k] == u[0]) sum += go_on(u + 1, n - 1, t + k + 1, length - k - 1, gap);
    return sum;
}

static int by_units(const void *a, const void *b) {
    const lth__pattern *x = a, *y = b;
    for (size_t n = 0; n < x->units && n < y->units; n++)
        if (x->unit[n] != y->unit[n]) return x->unit[n] < y->unit[n] ? -1 : 1;
    return (int)x->units - (int)y->units;
}

/* Sorted, and without any that would come twice. */
static size_t make_patterns(size_t most, lth__pattern *p) {
    lth__random random;
    lth__random_seed(&random, 7);
    size_t used = 1;
    for (size_t i = 0; i < PATTERNS; i++) {
        p[i] = (lth__pattern){.units = 1 + (uint32_t)lth__random_below(&random, most)};
        for (size_t n = 0; n < p[i].units; n++)
            p[i].unit[n] = (uint32_t)lth__random_below(&random, SYMBOLS);
    }
    qsort(p, PATTERNS, sizeof *p, by_units);
    for (size_t i = 1; i < PATTERNS; i++)
        if (by_units(&p[used - 1], &p[i]) != 0) p[used++] = p[i];
    for (size_t i = 1; i < used; i++)
        while (p[i].shared < p[i - 1].units && p[i].shared < p[i].units &&
               p[i].unit[p[i].shared] == p[i - 1].unit[p[i].shared])
            p[i].shared++;
    return used;
}

typedef struct texts {
    size_t cols, length[LTH__MAX_LANES];
    uint32_t *t;
} texts;

/* One is as long as the group is wide. */
static texts make_texts(size_t lanes, size_t cols, uint64_t seed) {
    texts x = {.cols = cols, .t = lth__alloc(cols * lanes, sizeof *x.t)};
    assert_non_null(x.t);
    lth__random random;
    lth__random_seed(&random, seed);
    for (size_t lane = 0; lane < lanes; lane++) {
        x.length[lane] = lane == 0 ? cols : lth__random_below(&random, cols + 1);
        for (size_t k = 0; k < cols; k++)
            x.t[k * lanes + lane] =
                k < x.length[lane] ? (uint32_t)lth__random_below(&random, SYMBOLS) : LTH__PAD_T;
    }
    return x;
}

/* The string kernel of the pattern, as a text, with all of them. */
static void compare(const lth__lanes *lanes, const lth__pattern_job *job, const lth__pattern *p,
                    double *value) {
    uint32_t s[LTH__ROW_STEP * LTH__MAX_LANES];
    for (size_t i = 0; i < LTH__ROW_STEP * lanes->lanes; i++)
        s[i] = i / lanes->lanes < p->units ? p->unit[i / lanes->lanes] : LTH__PAD_S;
    lth__ssk_job whole = {.order = job->order,
                          .gap = job->gap,
                          .rows = p->units,
                          .cols = job->cols,
                          .s = s,
                          .t = job->t,
                          .match = LTH__MATCH_EXACT};
    whole.scratch = lth__alloc(lanes->ssk_scratch(&whole, false), 1);
    assert_non_null(whole.scratch);
    lanes->ssk(&whole, value, NULL);
    lth__free(whole.scratch);
}

static void check_texts(const lth__lanes *lanes, size_t order, double gap, size_t cols) {
    lth__pattern pattern[PATTERNS];
    size_t most = order < LTH__MOST_UNITS ? order : LTH__MOST_UNITS, width = lanes->lanes;
    size_t count = make_patterns(most, pattern), bytes = lanes->patterns_scratch(cols);
    texts x = make_texts(width, cols, cols + order);
    double *value = lth__alloc(count * width, sizeof *value);
    lth__pattern_job job = {.pattern = pattern,
                            .count = count,
                            .order = order,
                            .gap = gap,
                            .cols = cols,
                            .t = x.t,
                            .scratch = lth__alloc(bytes, 1)};
    assert_true(value && job.scratch);
    memset(job.scratch, 0xff, bytes);
    lanes->patterns(&job, value);
    for (size_t i = 0; i < count; i++) {
        double wanted[LTH__MAX_ORDER * LTH__MAX_LANES];
        compare(lanes, &job, &pattern[i], wanted);
        assert_memory_equal(value + i * width, wanted + (pattern[i].units - 1) * width,
                            width * sizeof *value);
        for (size_t lane = 0; lane < width && cols <= 20; lane++) {
            uint32_t t[20];
            for (size_t k = 0; k < x.length[lane]; k++) t[k] = x.t[k * width + lane];
            double places = count_places(pattern[i].unit, pattern[i].units, t, x.length[lane], gap);
            double most_off = lanes->real_size == sizeof(float) ? 1e-5 : 1e-13;
            assert_true(fabs(value[i * width + lane] - places) <= most_off * places);
        }
    }
    lth__free(job.scratch);
    lth__free(value);
    lth__free(x.t);
}

/* Texts of less and of more columns than are summed at once, and than fit into a block. */
static void test_patterns(void **state) {
    (void)state;
    static const size_t cols[] = {1, 2, 5, 20, 63, 64, 100, 420};
    const char *isa;
    for (size_t e = 0; (isa = lth_isa_available(e)) != NULL; e++) {
        const lth__engine *engine = lth__engine_find(isa);
        for (int single = 0; single < 2; single++) {
            for (size_t order = 1; order <= 6; order++) {
                for (size_t c = 0; c < sizeof cols / sizeof *cols; c++) {
                    check_texts(engine->lanes[single], order, 0.625, cols[c]);
                    check_texts(engine->lanes[single], order, 0, cols[c]);
                }
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_patterns)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
