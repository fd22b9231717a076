/* Short strings with soft matching, on every instruction set and precision: values and the
 * derivative by gap against the reference, the others against its differences. */
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
#include "reference.h"

enum { SYMBOLS = 9, SIDE = SYMBOLS + 1, MOST = 12, ORDERS = 7 };

/* Strings of one group; with QUADS all s are that of lane 0. */
typedef struct group {
    lth__match match;
    size_t order, p[LTH__MAX_LANES], q[LTH__MAX_LANES];
    uint32_t s[LTH__MAX_LANES][MOST], t[LTH__MAX_LANES][MOST];
    bool decays, weighed;
    double gap, decay, D[SIDE][SIDE], weight[SIDE], weight_slope[SIDE], nu[ORDERS];
} group;

static double uniform(lth__random *random) {
    return (double)(float)lth__random_uniform(random); /* a float holds it */
}

static group *make_group(uint64_t seed, size_t order, lth__match match, bool decays, bool weighed,
                         size_t longest) {
    group *x = test_calloc(1, sizeof *x);
    lth__random random;
    lth__random_seed(&random, seed);
    *x = (group){.match = match, .order = order, .decays = decays, .weighed = weighed};
    x->gap = uniform(&random);
    x->decay = decays ? (double)(float)(1 + 3 * uniform(&random)) : 0;
    for (size_t a = 0; a < SIDE; a++) {
        for (size_t b = 0; b <= a; b++) {
            double d = decays ? uniform(&random) : 2 * uniform(&random) - 0.5;
            x->D[a][b] = x->D[b][a] = a < SYMBOLS ? d : decays ? 1e30 : 0;
        }
        x->weight[a] = weighed ? 0.25 + uniform(&random) : 1;
        x->weight_slope[a] = weighed ? uniform(&random) : 0;
    }
    for (size_t i = 0; i < order; i++) x->nu[i] = 2 * uniform(&random) - 0.5;
    for (size_t n = 0; n < LTH__MAX_LANES; n++) {
        size_t from = match == LTH__MATCH_QUADS ? 0 : n;
        x->p[n] = from == n ? 1 + lth__random_below(&random, longest) : x->p[0];
        x->q[n] = 1 + lth__random_below(&random, longest);
        for (size_t i = 0; i < MOST; i++) {
            x->s[n][i] = from == n ? (uint32_t)lth__random_below(&random, SYMBOLS) : x->s[0][i];
            x->t[n][i] = (uint32_t)lth__random_below(&random, SYMBOLS);
        }
    }
    return x;
}

/* Orders of a pair, with decay and rarity so much further. */
static void solve(const group *x, size_t n, double decay, double rarity, double *k, double *slope,
                  double *scale) {
    double S[MOST * MOST], unused[ORDERS];
    for (size_t j = 0; j < x->p[n]; j++) {
        for (size_t c = 0; c < x->q[n]; c++) {
            size_t a = x->s[n][j], b = x->t[n][c];
            double s = x->decays ? exp(-(x->decay + decay) * x->D[a][b]) : x->D[a][b];
            double more = exp(rarity * (x->weight_slope[a] + x->weight_slope[b]));
            S[j * x->q[n] + c] = s * x->weight[a] * x->weight[b] * more;
        }
    }
    reference_pair pair = {.p = x->p[n], .q = x->q[n], .S = S, .gap = x->gap, .match = 1};
    reference_ssk(&pair, x->order, k, slope ? slope : unused);
    if (scale) reference_scale(&pair, x->order, scale, unused);
}

static double combine(const group *x, const double *k) {
    double sum = 0;
    for (size_t i = 0; i < x->order; i++) sum += x->nu[i] * k[i];
    return sum;
}

static double difference(const group *x, size_t n, double decay, double rarity) {
    double up[ORDERS], down[ORDERS];
    solve(x, n, decay, rarity, up, NULL, NULL);
    solve(x, n, -decay, -rarity, down, NULL, NULL);
    return (combine(x, up) - combine(x, down)) / (2 * (decay + rarity));
}

static void check_near(double got, double wanted, double scale, double tolerance) {
    if (fabs(got - wanted) <= tolerance * scale) return;
    print_error("%.17g is not %.17g within %g of %g\n", got, wanted, tolerance, scale);
    fail();
}

static void check_lane(const group *x, size_t n, size_t lanes, bool single, const double *value,
                       const double *slope) {
    const double step = 1e-5;
    double k[ORDERS], by_gap[ORDERS], scale[ORDERS], total = 1;
    solve(x, n, 0, 0, k, by_gap, scale);
    for (size_t i = 0; i < x->order; i++) {
        check_near(value[i * lanes + n], k[i], scale[i], single ? 1e-4 : 1e-13);
        total += scale[i] * (double)(x->p[n] + x->q[n]);
    }
    if (!slope) return;
    slope += n;
    check_near(slope[LTH__SHORT_BY_GAP * lanes], combine(x, by_gap), total, single ? 1e-4 : 1e-12);
    double tolerance = single ? 1e-4 : 1e-8;
    if (x->decays)
        check_near(slope[LTH__SHORT_BY_DECAY * lanes], difference(x, n, step, 0), total, tolerance);
    if (x->weighed)
        check_near(slope[LTH__SHORT_BY_RARITY * lanes], difference(x, n, 0, step), total,
                   tolerance);
}

/* ---- As the engine reads it ---- */

static void *allocate(size_t count, size_t size) {
    void *p = lth__alloc(count, size);
    assert_non_null(p);
    memset(p, 0xff, count * size); /* rubbish: not a number */
    return p;
}

static void put(const lth__lanes *lanes, void *reals, size_t at, double x) {
    if (lanes->real_size == sizeof(float))
        ((float *)reals)[at] = (float)x;
    else
        ((double *)reals)[at] = x;
}

static void *table_of(const group *x, const lth__lanes *lanes, size_t rows) {
    void *table = allocate(SIDE * SIDE, lanes->real_size);
    for (size_t i = 0; i < SIDE * SIDE; i++) put(lanes, table, i, x->D[i / SIDE][i % SIDE]);
    if (x->match == LTH__MATCH_TABLE) return table;
    size_t row_bytes = SIDE * lanes->real_size;
    char *quads = allocate(rows, row_bytes);
    for (size_t j = 0; j < rows; j += LTH__ROW_STEP) {
        const void *row[LTH__ROW_STEP];
        for (size_t r = 0; r < LTH__ROW_STEP; r++)
            row[r] = (char *)table + (j + r < x->p[0] ? x->s[0][j + r] : SYMBOLS) * row_bytes;
        lanes->make_quads(row, SIDE, quads + j * row_bytes);
    }
    lth__free(table);
    return quads;
}

typedef struct side {
    uint32_t *symbols;
    void *weight, *slope;
} side;

static side side_of(const group *x, const lth__lanes *lanes, size_t length, bool of_s) {
    size_t cells = length * lanes->lanes;
    side y = {allocate(cells, sizeof *y.symbols), allocate(cells, lanes->real_size),
              allocate(cells, lanes->real_size)};
    for (size_t at = 0; at < cells; at++) {
        size_t i = at / lanes->lanes, n = at % lanes->lanes;
        bool inside = i < (of_s ? x->p[n] : x->q[n]);
        uint32_t symbol = !inside ? SYMBOLS : of_s ? x->s[n][i] : x->t[n][i];
        y.symbols[at] = symbol * (of_s ? SIDE : 1);
        put(lanes, y.weight, at, x->weight[symbol]);
        put(lanes, y.slope, at, x->weight_slope[symbol]);
    }
    return y;
}

static void free_side(side *y) {
    lth__free(y->symbols);
    lth__free(y->weight);
    lth__free(y->slope);
}

static size_t longest_of(const size_t *length, size_t lanes) {
    size_t longest = 0;
    for (size_t n = 0; n < lanes; n++) longest = length[n] > longest ? length[n] : longest;
    return longest;
}

/* `wider`: columns that no string has, which must not change a bit. */
static void run(const group *x, const lth__lanes *lanes, size_t wider, bool slopes, double *value,
                double *slope) {
    size_t p = longest_of(x->p, lanes->lanes), q = longest_of(x->q, lanes->lanes) + wider;
    size_t rows = (p + LTH__ROW_STEP - 1) / LTH__ROW_STEP * LTH__ROW_STEP;
    side s = side_of(x, lanes, rows, true), t = side_of(x, lanes, q, false);
    void *table = table_of(x, lanes, rows);
    lth__ssk_short job = {.order = x->order,
                          .gap = x->gap,
                          .rows = p,
                          .cols = q,
                          .s = s.symbols,
                          .t = t.symbols,
                          .match = x->match,
                          .table = table,
                          .slots = SIDE,
                          .decays = x->decays,
                          .decay = x->decay,
                          .nu = x->nu};
    if (x->weighed) {
        job.row_weight = s.weight, job.row_slope = s.slope;
        job.col_weight = t.weight, job.col_slope = t.slope;
    }
    job.scratch = allocate(lanes->ssk_short_scratch(&job, slopes), 1);
    lanes->ssk_short(&job, value, slopes ? slope : NULL);
    lth__free(job.scratch);
    lth__free(table);
    free_side(&s);
    free_side(&t);
}

static void check_group(const group *x, const lth__lanes *lanes) {
    enum { VALUES = ORDERS * LTH__MAX_LANES, SLOPES = LTH__SHORT_SLOPES * LTH__MAX_LANES };
    double value[VALUES], alone[VALUES], slope[SLOPES] = {0}, wide[SLOPES] = {0};
    size_t count = x->order * lanes->lanes;
    bool single = lanes->real_size == sizeof(float);
    run(x, lanes, 0, true, value, slope);
    for (size_t n = 0; n < lanes->lanes; n++) check_lane(x, n, lanes->lanes, single, value, slope);
    run(x, lanes, 3, true, alone, wide);
    assert_memory_equal(alone, value, count * sizeof *value);
    assert_memory_equal(wide, slope, sizeof slope);
    run(x, lanes, 0, false, alone, NULL);
    for (size_t n = 0; n < lanes->lanes; n++) check_lane(x, n, lanes->lanes, single, alone, NULL);
}

static void test_all(void **state) {
    (void)state;
    static const lth__match matches[] = {LTH__MATCH_QUADS, LTH__MATCH_TABLE};
    for (size_t isa = 0; lth_isa_available(isa); isa++) {
        const lth__engine *engine = lth__engine_find(lth_isa_available(isa));
        for (uint64_t seed = 0; seed < ORDERS * 2 * 2 * 2 * 6; seed++) {
            size_t order = 1 + seed % ORDERS, kind = seed / ORDERS, longest = 1 + kind / 8 * 2;
            group *x = make_group(seed, order, matches[kind & 1], kind & 2, kind & 4, longest + 1);
            check_group(x, engine->lanes[LTH_F64]);
            check_group(x, engine->lanes[LTH_F32]);
            test_free(x);
        }
    }
}

/* What is similar to nothing is so exactly, whatever the decay, and what is the same fully. */
static void test_ends_of_the_exponential(void **state) {
    (void)state;
    for (size_t isa = 0; lth_isa_available(isa); isa++) {
        for (int precision = 0; precision < 2; precision++) {
            const lth__lanes *lanes = lth__engine_find(lth_isa_available(isa))->lanes[precision];
            double value[LTH__MAX_LANES];
            for (double decay = 1e-20; decay < 1e12; decay *= 1e8) {
                group *x = make_group(1, 1, LTH__MATCH_TABLE, true, false, 1);
                x->decay = decay;
                for (size_t a = 0; a < SYMBOLS; a++) {
                    for (size_t b = 0; b < SYMBOLS; b++) x->D[a][b] = a == b ? 0 : 1e30;
                }
                run(x, lanes, 0, false, value, NULL);
                for (size_t n = 0; n < lanes->lanes; n++)
                    assert_true(value[n] == (x->s[n][0] == x->t[n][0] ? 1 : 0));
                test_free(x);
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all),
                                       cmocka_unit_test(test_ends_of_the_exponential)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
