/* The vector loops of every instruction set, precision and way of matching, against the reference;
 * and the reference against enumeration. */
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

enum { PAIRS = 13, MOST_ORDERS = 64 }; /* no multiple of any number of lanes: some stay empty */

/* Pairs of strings, and what must come out for them. All are numbers that a float holds. */
typedef struct problem {
    lth__match match;
    size_t order, symbols;
    double gap;
    size_t p[PAIRS], q[PAIRS];
    uint32_t *s[PAIRS], *t[PAIRS];
    double *table;           /* symbols x symbols; NULL when exact */
    const double *direction; /* slopes are along it; NULL = by gap */
    double value[PAIRS][MOST_ORDERS], slope[PAIRS][MOST_ORDERS];
    double scale[PAIRS][MOST_ORDERS], slope_scale[PAIRS][MOST_ORDERS];
} problem;

static uint32_t *random_string(lth__random *random, size_t length, size_t symbols) {
    uint32_t *s = test_calloc(length + 1, sizeof *s);
    for (size_t i = 0; i < length; i++) s[i] = (uint32_t)lth__random_below(random, symbols);
    return s;
}

static void solve(problem *x, size_t n) {
    double *S = reference_equality(x->s[n], x->p[n], x->t[n], x->q[n]);
    for (size_t j = 0; x->table && j < x->p[n]; j++) {
        for (size_t k = 0; k < x->q[n]; k++)
            S[j * x->q[n] + k] = x->table[x->s[n][j] * x->symbols + x->t[n][k]];
    }
    reference_pair pair = {.p = x->p[n], .q = x->q[n], .S = S, .gap = x->gap, .match = 1};
    reference_ssk(&pair, x->order, x->value[n], x->slope[n]);
    reference_scale(&pair, x->order, x->scale[n], x->slope_scale[n]);
    free(S);
}

/* Lengths of s and t are drawn from 1 .. most_p and least_q .. most_q. */
static problem *pose(uint64_t seed, lth__match match, size_t order, double gap, size_t most_p,
                     size_t least_q, size_t most_q) {
    problem *x = test_calloc(1, sizeof *x);
    lth__random random;
    lth__random_seed(&random, seed);
    x->match = match;
    x->order = order;
    x->gap = (double)(float)gap;
    x->symbols = 2 + lth__random_below(&random, match == LTH__MATCH_EXACT ? 4 : 20);
    if (match != LTH__MATCH_EXACT) {
        x->table = test_calloc(x->symbols * x->symbols, sizeof *x->table);
        for (size_t i = 0; i < x->symbols * x->symbols; i++)
            x->table[i] = (float)(2 * lth__random_uniform(&random) - 1);
    }
    for (size_t n = 0; n < PAIRS; n++) {
        bool shares = match == LTH__MATCH_QUADS && n > 0;
        x->p[n] = shares ? x->p[0] : 1 + lth__random_below(&random, most_p);
        x->q[n] = least_q + lth__random_below(&random, most_q - least_q + 1);
        x->s[n] = random_string(&random, x->p[n], x->symbols);
        if (shares) memcpy(x->s[n], x->s[0], x->p[0] * sizeof *x->s[n]);
        x->t[n] = random_string(&random, x->q[n], x->symbols);
        solve(x, n);
    }
    return x;
}

static void discard(problem *x) {
    for (size_t n = 0; n < PAIRS; n++) {
        test_free(x->s[n]);
        test_free(x->t[n]);
    }
    if (x->table) test_free(x->table);
    test_free(x);
}

/* ---- Running it on an instruction set ------------------------------------------------------- */

/* The similarities with padding in the last row and column, as reals. */
static void *padded_table(const problem *x, const double *from, const lth__lanes *lanes) {
    size_t side = x->symbols + 1;
    void *table = lth__calloc(side * side, lanes->real_size);
    assert_non_null(table);
    for (size_t a = 0; a < x->symbols; a++) {
        for (size_t b = 0; b < x->symbols; b++) {
            double sim = from[a * x->symbols + b];
            if (lanes->real_size == sizeof(float))
                ((float *)table)[a * side + b] = (float)sim;
            else
                ((double *)table)[a * side + b] = sim;
        }
    }
    return table;
}

/* For LTH__MATCH_QUADS, whose rows are the positions of the common s. */
static void *quads_of(const problem *x, const lth__lanes *lanes, const void *table, size_t rows) {
    size_t side = x->symbols + 1, row_bytes = side * lanes->real_size;
    char *quads = lth__alloc(rows, row_bytes);
    assert_non_null(quads);
    for (size_t j = 0; j < rows; j += LTH__ROW_STEP) {
        const void *row[LTH__ROW_STEP];
        for (size_t r = 0; r < LTH__ROW_STEP; r++) {
            size_t symbol = j + r < x->p[0] ? x->s[0][j + r] : x->symbols;
            row[r] = (const char *)table + symbol * row_bytes;
        }
        lanes->make_quads(row, side, quads + j * row_bytes);
    }
    return quads;
}

/* What padding looks like, and by how much a symbol of s is multiplied. */
typedef struct coding {
    uint32_t pad_s, pad_t, stride;
} coding;

static coding coding_of(const problem *x) {
    uint32_t side = (uint32_t)x->symbols + 1;
    if (x->match == LTH__MATCH_EXACT) return (coding){LTH__PAD_S, LTH__PAD_T, 1};
    return (coding){(side - 1) * side, side - 1, side};
}

static size_t padded(size_t rows) {
    return (rows + LTH__ROW_STEP - 1) / LTH__ROW_STEP * LTH__ROW_STEP;
}

/* The pairs from `first` on in lanes; a lane without a pair is all padding. */
static void interleave(const problem *x, size_t first, size_t lanes, const lth__ssk_job *job,
                       uint32_t *s, uint32_t *t) {
    coding c = coding_of(x);
    for (size_t lane = 0; lane < lanes; lane++) {
        size_t n = first + lane;
        for (size_t j = 0; j < padded(job->rows); j++)
            s[j * lanes + lane] = n < PAIRS && j < x->p[n] ? x->s[n][j] * c.stride : c.pad_s;
        for (size_t k = 0; k < job->cols; k++)
            t[k * lanes + lane] = n < PAIRS && k < x->q[n] ? x->t[n][k] : c.pad_t;
    }
}

static void check_near(double got, double wanted, double scale, double tolerance) {
    /* What underflows is lost: floats end at 1e-38, and the reference's slopes at 1e-130. */
    double lost = tolerance > 1e-6 ? 1e-30 : 1e-120;
    if (fabs(got - wanted) <= tolerance * scale + lost) return;
    print_error("%.17g is not %.17g within %g of %g\n", got, wanted, tolerance, scale);
    fail();
}

static void check_lanes(const problem *x, size_t first, const lth__lanes *lanes,
                        const double *value, const double *slope) {
    double tolerance = lanes->real_size == sizeof(float) ? 1e-4 : 1e-12;
    double loose = x->direction ? fmax(tolerance, 1e-6) : tolerance; /* of differences */
    for (size_t i = 0; i < x->order; i++) {
        for (size_t lane = 0; lane < lanes->lanes; lane++) {
            size_t at = i * lanes->lanes + lane, n = first + lane;
            if (n >= PAIRS) {
                assert_true(value[at] == 0 && (!slope || slope[at] == 0));
                continue;
            }
            check_near(value[at], x->value[n][i], x->scale[n][i], tolerance);
            if (slope) check_near(slope[at], x->slope[n][i], x->slope_scale[n][i], loose);
        }
    }
}

static size_t most(const size_t *length, size_t first, size_t lanes) {
    size_t longest = 0;
    for (size_t n = first; n < first + lanes && n < PAIRS; n++)
        longest = length[n] > longest ? length[n] : longest;
    return longest;
}

/* One group of lanes, in scratch of exactly the size asked for and full of rubbish. */
static void run_group(const problem *x, size_t first, const lth__lanes *lanes, lth__ssk_job job,
                      bool tangent) {
    double value[MOST_ORDERS * LTH__MAX_LANES], slope[MOST_ORDERS * LTH__MAX_LANES];
    uint32_t *s = lth__alloc(padded(job.rows) * lanes->lanes, sizeof *s);
    uint32_t *t = lth__alloc(job.cols * lanes->lanes, sizeof *t);
    size_t bytes = lanes->ssk_scratch(&job, tangent);
    job.scratch = lth__alloc(bytes, 1);
    assert_true(s && t && job.scratch);
    memset(job.scratch, 0xff, bytes);
    interleave(x, first, lanes->lanes, &job, s, t);
    job.s = s;
    job.t = t;
    assert_true(lanes->ssk(&job, value, tangent ? slope : NULL));
    check_lanes(x, first, lanes, value, tangent ? slope : NULL);
    lth__free(s);
    lth__free(t);
    lth__free(job.scratch);
}

static void run_on(const problem *x, const lth__lanes *lanes) {
    size_t longest = padded(most(x->p, 0, PAIRS));
    bool exact = x->match == LTH__MATCH_EXACT, shared = x->match == LTH__MATCH_QUADS;
    void *table = exact ? NULL : padded_table(x, x->table, lanes);
    void *quads = shared ? quads_of(x, lanes, table, longest) : NULL;
    void *by = x->direction ? padded_table(x, x->direction, lanes) : NULL;
    void *by_quads = by && shared ? quads_of(x, lanes, by, longest) : NULL;
    for (size_t first = 0; first < PAIRS; first += lanes->lanes) {
        size_t p = most(x->p, first, lanes->lanes);
        lth__ssk_job job = {.order = x->order,
                            .gap = x->gap,
                            .rows = p,
                            .cols = most(x->q, first, lanes->lanes),
                            .match = x->match,
                            .table = shared ? quads : table,
                            .slope = shared ? by_quads : by,
                            .slots = x->symbols + 1};
        run_group(x, first, lanes, job, false);
        run_group(x, first, lanes, job, true);
    }
    lth__free(quads);
    lth__free(table);
    lth__free(by);
    lth__free(by_quads);
}

static bool stops_at_once(const void *user) {
    return *(const bool *)user;
}

/* Whoever is asked decides whether there is a result. */
static void check_stopping(lth__ssk_wave wave, const lth__lanes *lanes) {
    double once[MOST_ORDERS], again[MOST_ORDERS];
    bool stop = false;
    assert_true(lanes->ssk_wave(&wave, once, NULL));
    wave.stops = stops_at_once;
    wave.user = &stop;
    assert_true(lanes->ssk_wave(&wave, again, NULL));
    assert_memory_equal(once, again, wave.order * sizeof *once);
}

/* One pair alone, which all lanes share. */
static void run_wave(const problem *x, size_t n, const lth__lanes *lanes, const void *table,
                     bool tangent) {
    double value[MOST_ORDERS], slope[MOST_ORDERS];
    coding c = coding_of(x);
    uint32_t *s = lth__alloc(x->p[n], sizeof *s);
    lth__ssk_wave wave = {.order = x->order,
                          .gap = x->gap,
                          .rows = x->p[n],
                          .cols = x->q[n],
                          .s = s,
                          .t = x->t[n],
                          .pad_s = c.pad_s,
                          .pad_t = c.pad_t,
                          .table = table};
    size_t bytes = lanes->wave_scratch(&wave, tangent);
    wave.scratch = lth__alloc(bytes, 1);
    assert_true(s && wave.scratch);
    memset(wave.scratch, 0xff, bytes);
    for (size_t j = 0; j < x->p[n]; j++) s[j] = x->s[n][j] * c.stride;
    assert_true(lanes->ssk_wave(&wave, value, tangent ? slope : NULL));
    double tolerance = lanes->real_size == sizeof(float) ? 1e-4 : 1e-12;
    for (size_t i = 0; i < x->order; i++) {
        check_near(value[i], x->value[n][i], x->scale[n][i], tolerance);
        if (tangent) check_near(slope[i], x->slope[n][i], x->slope_scale[n][i], tolerance);
    }
    if (!tangent) check_stopping(wave, lanes);
    lth__free(s);
    lth__free(wave.scratch);
}

static void run_waves(const problem *x, const lth__lanes *lanes) {
    void *table = x->match == LTH__MATCH_EXACT ? NULL : padded_table(x, x->table, lanes);
    for (size_t n = 0; n < PAIRS; n++) {
        run_wave(x, n, lanes, table, false);
        run_wave(x, n, lanes, table, true);
    }
    lth__free(table);
}

static void run_everywhere(problem *x) {
    for (size_t i = 0; lth_isa_available(i); i++) {
        const lth__engine *engine = lth__engine_find(lth_isa_available(i));
        assert_non_null(engine);
        for (int precision = 0; precision < 2; precision++) {
            run_on(x, engine->lanes[precision]);
            if (x->match != LTH__MATCH_QUADS && !x->direction)
                run_waves(x, engine->lanes[precision]);
        }
    }
    discard(x);
}

/* ---- Tests ---------------------------------------------------------------------------------- */

static const lth__match matches[] = {LTH__MATCH_EXACT, LTH__MATCH_TABLE, LTH__MATCH_QUADS};
enum { MATCHES = 3 };

static void test_reference_is_the_definition(void **state) {
    (void)state;
    static const double gaps[] = {0, 1e-6, 0.5, 1, 1.5};
    lth__random random;
    lth__random_seed(&random, 1);
    for (size_t round = 0; round < 60; round++) {
        size_t p = 1 + lth__random_below(&random, 7), q = 1 + lth__random_below(&random, 7);
        double S[49], brute[8], k[8], slope[8], up[8], down[8], scale[8];
        for (size_t i = 0; i < p * q; i++) S[i] = 2 * lth__random_uniform(&random) - 1;
        reference_pair x = {.p = p, .q = q, .S = S, .gap = gaps[round % 5], .match = 0.8};
        reference_ssk(&x, 8, k, slope);
        reference_scale(&x, 8, scale, NULL);
        reference_brute(&x, 8, brute);
        const double h = 1e-5;
        reference_pair above = x, below = x;
        above.gap += h;
        below.gap -= h;
        reference_brute(&above, 8, up);
        reference_brute(&below, 8, down);
        for (size_t i = 0; i < 8; i++) {
            check_near(k[i], brute[i], scale[i], 1e-13);
            assert_true(fabs(slope[i] - (up[i] - down[i]) / (2 * h)) < 1e-6 * (scale[i] + 1e-3));
        }
    }
}

/* abcab and bcaac: matches of one, two and three symbols. */
static void test_reference_has_the_known_values(void **state) {
    (void)state;
    const uint32_t s[] = {'a', 'b', 'c', 'a', 'b'}, t[] = {'b', 'c', 'a', 'a', 'c'};
    double *S = reference_equality(s, 5, t, 5), k[3];
    reference_pair x = {.p = 5, .q = 5, .S = S, .gap = 0.5, .match = 1};
    reference_brute(&x, 3, k);
    assert_true(k[0] == 8 && k[1] == 4 && k[2] == 1.5);
    reference_ssk(&x, 3, k, NULL);
    assert_true(k[0] == 8 && k[1] == 4 && k[2] == 1.5);
    free(S);
}

static void test_every_order_and_gap(void **state) {
    (void)state;
    static const size_t orders[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 16, 20};
    static const double gaps[] = {0, 1e-6, 0.5, 1};
    uint64_t seed = 100;
    for (size_t o = 0; o < sizeof orders / sizeof *orders; o++) {
        for (size_t m = 0; m < MATCHES; m++) {
            for (size_t g = 0; g < sizeof gaps / sizeof *gaps; g++)
                run_everywhere(pose(seed++, matches[m], orders[o], gaps[g], 40, 1, 40));
        }
    }
}

static void test_highest_order(void **state) {
    (void)state;
    for (size_t m = 0; m < MATCHES; m++)
        run_everywhere(pose(7 + m, matches[m], LTH__MAX_ORDER, 0.5, 80, 60, 80));
}

/* More columns than a block has, by a few and by far; some lanes end long before the others. */
static void test_many_columns(void **state) {
    (void)state;
    static const size_t orders[] = {2, 3, 5, 9, 16};
    for (size_t o = 0; o < sizeof orders / sizeof *orders; o++) {
        for (size_t m = 0; m < MATCHES; m++)
            run_everywhere(pose(900 + 10 * o + m, matches[m], orders[o], 0.7, 10, 1, 1501));
    }
    run_everywhere(pose(77, LTH__MATCH_QUADS, 2, 0.9, 5, 6200, 6203));
    run_everywhere(pose(78, LTH__MATCH_TABLE, 3, 0.9, 5, 6200, 6203));
}

#ifdef __SANITIZE_ADDRESS__
enum { ORDER_STEP = 9 };
#else
enum { ORDER_STEP = 1 };
#endif

static void test_all_orders(void **state) {
    (void)state;
    for (size_t order = 1; order <= LTH__MAX_ORDER; order += ORDER_STEP)
        run_everywhere(pose(300 + order, matches[order % MATCHES], order, 0.8, 72, 1, 72));
    for (size_t order = 9; order <= 18; order++)
        run_everywhere(pose(400 + order, matches[(order + 1) % MATCHES], order, 0.5, 40, 1, 3));
}

/* Several stripes of every vector, of pairs by themselves. */
static void test_many_rows(void **state) {
    (void)state;
    static const size_t orders[] = {1, 3, 10};
    for (size_t o = 0; o < sizeof orders / sizeof *orders; o++)
        run_everywhere(pose(40 + o, matches[o % 2], orders[o], 0.6, 1300, 1, 150));
}

/* k along dS, which is here the table itself in another order, by differences of the reference. */
static void check_slope(problem *x, const double *direction) {
    const double h = 1e-4;
    size_t cells = x->symbols * x->symbols;
    double *middle = test_calloc(cells, sizeof *middle);
    memcpy(middle, x->table, cells * sizeof *middle);
    for (size_t n = 0; n < PAIRS; n++) {
        double up[MOST_ORDERS];
        for (size_t i = 0; i < cells; i++) x->table[i] = middle[i] + h * direction[i];
        solve(x, n);
        memcpy(up, x->value[n], sizeof up);
        for (size_t i = 0; i < cells; i++) x->table[i] = middle[i] - h * direction[i];
        solve(x, n);
        for (size_t i = 0; i < x->order; i++) x->slope[n][i] = (up[i] - x->value[n][i]) / (2 * h);
    }
    memcpy(x->table, middle, cells * sizeof *middle);
    for (size_t n = 0; n < PAIRS; n++) {
        double by_difference[MOST_ORDERS];
        memcpy(by_difference, x->slope[n], sizeof by_difference);
        solve(x, n);
        memcpy(x->slope[n], by_difference, sizeof by_difference);
        for (size_t i = 0; i < x->order; i++)
            x->slope_scale[n][i] = (double)(i + 1) * x->scale[n][i];
    }
    test_free(middle);
}

static void test_along_a_slope(void **state) {
    (void)state;
    static const size_t orders[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 17};
    for (size_t o = 0; o < sizeof orders / sizeof *orders; o++) {
        for (size_t m = 1; m < MATCHES; m++) {
            problem *x = pose(500 + 2 * o + m, matches[m], orders[o], 0.6, 30, 1, 30);
            double *direction = test_calloc(x->symbols * x->symbols, sizeof *direction);
            for (size_t i = 0; i < x->symbols * x->symbols; i++)
                direction[i] = x->table[(i * 7 + 3) % (x->symbols * x->symbols)];
            check_slope(x, direction);
            x->direction = direction;
            run_everywhere(x);
            test_free(direction);
        }
    }
}

/* A pair has the same bits alone in its vector, and beside strings that are wider by any number. */
static void check_company(const lth__lanes *lanes, size_t order, size_t cols, bool tangent) {
    enum { ROWS = 12, WIDEST = 420, MOST = MOST_ORDERS * LTH__MAX_LANES };
    uint32_t s[ROWS * LTH__MAX_LANES], t[WIDEST * LTH__MAX_LANES];
    double value[2][MOST], slope[2][MOST];
    lth__ssk_job job = {
        .order = order, .gap = 0.7, .rows = ROWS, .match = LTH__MATCH_EXACT, .s = s, .t = t};
    for (int company = 0; company < 2; company++) {
        job.cols = company ? WIDEST : cols;
        for (size_t i = 0; i < ROWS * lanes->lanes; i++) s[i] = (uint32_t)(i / lanes->lanes % 3);
        for (size_t i = 0; i < job.cols * lanes->lanes; i++) {
            size_t k = i / lanes->lanes;
            bool inside = i % lanes->lanes == 0 ? k < cols : company;
            t[i] = inside ? (uint32_t)(k * k % 3) : LTH__PAD_T;
        }
        job.scratch = lth__alloc(lanes->ssk_scratch(&job, tangent), 1);
        assert_non_null(job.scratch);
        assert_true(lanes->ssk(&job, value[company], tangent ? slope[company] : NULL));
        lth__free(job.scratch);
    }
    for (size_t i = 0; i < order; i++) {
        assert_true(value[0][i * lanes->lanes] == value[1][i * lanes->lanes]);
        assert_true(!tangent || slope[0][i * lanes->lanes] == slope[1][i * lanes->lanes]);
    }
}

static void test_company_changes_nothing(void **state) {
    (void)state;
    static const size_t orders[] = {1, 5, 12}, cols[] = {1, 30, 63, 64, 97, 300, 419};
    for (size_t i = 0; lth_isa_available(i); i++) {
        for (size_t n = 0; n < 3 * 7 * 4; n++) {
            const lth__lanes *lanes = lth__engine_find(lth_isa_available(i))->lanes[n % 2];
            check_company(lanes, orders[n / 4 % 3], cols[n / 12], n / 2 % 2);
        }
    }
}

static bool stops_third_time(const void *user) {
    return ++*(int *)(uintptr_t)user == 3;
}

/* Long texts of one letter: every cell matches. */
static void test_stopping(void **state) {
    (void)state;
    enum { ROWS = 2000, COLUMNS = 4000, LONG = 16000 };
    uint32_t *zeros = test_calloc(LONG * LTH__MAX_LANES, sizeof *zeros);
    double value[4 * LTH__MAX_LANES];
    for (size_t i = 0; lth_isa_available(i); i++) {
        const lth__lanes *lanes = lth__engine_find(lth_isa_available(i))->lanes[i % 2];
        int asked = 0;
        lth__ssk_job job = {.order = 2,
                            .gap = 0.5,
                            .rows = ROWS,
                            .cols = COLUMNS,
                            .s = zeros,
                            .t = zeros,
                            .match = LTH__MATCH_EXACT,
                            .stops = stops_third_time,
                            .user = &asked};
        job.scratch = lth__alloc(lanes->ssk_scratch(&job, false), 1);
        assert_false(lanes->ssk(&job, value, NULL));
        lth__free(job.scratch);
        lth__ssk_wave wave = {.order = 2,
                              .gap = 0.5,
                              .rows = LONG,
                              .cols = LONG,
                              .s = zeros,
                              .t = zeros,
                              .stops = stops_third_time,
                              .user = &asked};
        asked = 0;
        wave.scratch = lth__alloc(lanes->wave_scratch(&wave, false), 1);
        assert_false(lanes->ssk_wave(&wave, value, NULL));
        lth__free(wave.scratch);
        asked = 0;
        job.rows = job.cols = ROWS;
        job.scratch = lth__alloc(lanes->ssk_reverse_scratch(&job), 1);
        assert_false(lanes->ssk_reverse(&job, value, NULL, NULL));
        lth__free(job.scratch);
    }
    test_free(zeros);
}

static void test_nothing_to_compare(void **state) {
    (void)state;
    static const size_t shapes[][2] = {{0, 0}, {0, 5}, {4, 0}};
    for (size_t i = 0; lth_isa_available(i); i++) {
        for (int precision = 0; precision < 2; precision++) {
            const lth__lanes *lanes = lth__engine_find(lth_isa_available(i))->lanes[precision];
            for (size_t m = 0; m < MATCHES; m++) {
                for (size_t n = 0; n < sizeof shapes / sizeof *shapes; n++) {
                    problem x = {.match = matches[m], .order = 3, .symbols = 1};
                    double table[4] = {0};
                    lth__ssk_job job = {.order = 3,
                                        .gap = 0.5,
                                        .rows = shapes[n][0],
                                        .cols = shapes[n][1],
                                        .match = matches[m],
                                        .table = table,
                                        .slots = 1};
                    run_group(&x, PAIRS, lanes, job, false);
                    run_group(&x, PAIRS, lanes, job, true);
                }
            }
        }
    }
}

static void test_instruction_sets_by_name(void **state) {
    (void)state;
    assert_non_null(lth_isa_available(0));
    assert_ptr_equal(lth__engine_find(NULL), lth__engine_find(lth_isa_available(0)));
    size_t count = 0;
    for (; lth_isa_available(count); count++) {
        const lth__engine *engine = lth__engine_find(lth_isa_available(count));
        assert_string_equal(engine->name, lth_isa_available(count));
        assert_true(engine->lanes[LTH_F64]->lanes * 2 == engine->lanes[LTH_F32]->lanes);
        assert_true(engine->lanes[LTH_F32]->lanes <= LTH__MAX_LANES);
        assert_true(engine->lanes[LTH_F64]->fma_work(10) >= 120);
    }
    assert_string_equal(lth_isa_available(count - 1), "portable");
    assert_null(lth_isa_available(count + 1));
    assert_null(lth__engine_find("mmx"));
    assert_null(lth__engine_find(""));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reference_is_the_definition),
        cmocka_unit_test(test_reference_has_the_known_values),
        cmocka_unit_test(test_every_order_and_gap),
        cmocka_unit_test(test_highest_order),
        cmocka_unit_test(test_many_columns),
        cmocka_unit_test(test_all_orders),
        cmocka_unit_test(test_many_rows),
        cmocka_unit_test(test_along_a_slope),
        cmocka_unit_test(test_company_changes_nothing),
        cmocka_unit_test(test_stopping),
        cmocka_unit_test(test_nothing_to_compare),
        cmocka_unit_test(test_instruction_sets_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
