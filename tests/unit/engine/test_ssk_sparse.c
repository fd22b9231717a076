/* One pair at a time, on the positions that can match or by its few matches, against the reference
 * on all positions. */
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

enum { LONGEST = 60, MOST_ORDERS = 12 };

typedef struct text {
    size_t length;
    uint32_t symbol[LONGEST];
} text;

/* The positions of a text that remain. */
typedef struct kept {
    size_t count;
    uint32_t position[LONGEST], symbol[LONGEST];
} kept;

static text random_text(lth__random *random, size_t symbols) {
    text x = {.length = lth__random_below(random, LONGEST + 1)};
    for (size_t i = 0; i < x.length; i++)
        x.symbol[i] = (uint32_t)lth__random_below(random, symbols);
    return x;
}

static kept drop(const text *x, const text *other) {
    kept left = {0};
    for (size_t i = 0; i < x->length; i++) {
        bool found = false;
        for (size_t k = 0; k < other->length; k++) found |= other->symbol[k] == x->symbol[i];
        if (!found) continue;
        left.position[left.count] = (uint32_t)i;
        left.symbol[left.count++] = x->symbol[i];
    }
    return left;
}

enum { DISTANCES = 2 * LONGEST };

static void fill_powers(double gap, double *power, double *slope) {
    for (size_t d = 0; d < DISTANCES; d++) {
        power[d] = pow(gap, (double)d);
        slope[d] = d == 0 ? 0 : (double)d * pow(gap, (double)d - 1);
    }
}

static void check_near(double got, double wanted) {
    if (fabs(got - wanted) <= 1e-12 * fabs(wanted) + 1e-120) return;
    print_error("%.17g is not %.17g\n", got, wanted);
    fail();
}

/* What the pair must give. */
typedef struct answer {
    size_t order;
    double k[MOST_ORDERS], slope[MOST_ORDERS];
    double power[DISTANCES], power_slope[DISTANCES];
} answer;

static answer solve(const text *s, const text *t, size_t order, double gap) {
    answer a = {.order = order};
    double *S = reference_equality(s->symbol, s->length, t->symbol, t->length);
    reference_pair pair = {.p = s->length, .q = t->length, .S = S, .gap = gap, .match = 1};
    reference_ssk(&pair, order, a.k, a.slope);
    fill_powers(gap, a.power, a.power_slope);
    free(S);
    return a;
}

static void check_answer(const answer *a, const double *value, const double *slope) {
    for (size_t i = 0; i < a->order; i++) {
        check_near(value[i], a->k[i]);
        if (slope) check_near(slope[i], a->slope[i]);
    }
}

/* In scratch of exactly the size asked for and full of rubbish. */
static void compare_sparse(const text *s, const text *t, const answer *a, bool tangent) {
    double value[MOST_ORDERS], slope[MOST_ORDERS];
    kept in_s = drop(s, t), in_t = drop(t, s);
    size_t scratch = lth__ssk_sparse_scratch(a->order, in_t.count, tangent);
    lth__sparse_pair pair = {.order = a->order,
                             .s_count = in_s.count,
                             .t_count = in_t.count,
                             .s_position = in_s.position,
                             .t_position = in_t.position,
                             .s_symbol = in_s.symbol,
                             .t_symbol = in_t.symbol,
                             .powers = {a->power, a->power_slope},
                             .scratch = lth__alloc(scratch, sizeof *pair.scratch)};
    assert_non_null(pair.scratch);
    memset(pair.scratch, 0xff, scratch * sizeof *pair.scratch);
    lth__ssk_sparse(&pair, value, tangent ? slope : NULL);
    check_answer(a, value, tangent ? slope : NULL);
    lth__free(pair.scratch);
}

/* Returns whether the pair has few enough matches. */
static bool compare_meetings(const text *s, const text *t, const answer *a, bool tangent) {
    double value[MOST_ORDERS], slope[MOST_ORDERS];
    lth__meeting meeting[LTH__MAX_MEETINGS];
    size_t count = 0;
    for (uint32_t j = 0; j < s->length; j++) {
        for (uint32_t k = 0; k < t->length; k++) {
            if (s->symbol[j] != t->symbol[k]) continue;
            if (count == LTH__MAX_MEETINGS) return false;
            meeting[count++] = (lth__meeting){j, k};
        }
    }
    lth__powers powers = {a->power, a->power_slope};
    lth__ssk_meetings(a->order, powers, meeting, count, value, tangent ? slope : NULL);
    check_answer(a, value, tangent ? slope : NULL);
    return true;
}

static bool compare(const text *s, const text *t, size_t order, double gap) {
    answer a = solve(s, t, order, gap);
    compare_sparse(s, t, &a, false);
    compare_sparse(s, t, &a, true);
    return compare_meetings(s, t, &a, false) && compare_meetings(s, t, &a, true);
}

static void test_random_texts(void **state) {
    (void)state;
    static const double gaps[] = {0, 1e-6, 0.5, 0.9, 1};
    static const size_t symbols[] = {1, 2, 5, 20, 100, 1000};
    lth__random random;
    lth__random_seed(&random, 1);
    size_t few = 0;
    for (size_t round = 0; round < 20; round++) {
        for (size_t a = 0; a < sizeof symbols / sizeof *symbols; a++) {
            for (size_t g = 0; g < sizeof gaps / sizeof *gaps; g++) {
                text s = random_text(&random, symbols[a]), t = random_text(&random, symbols[a]);
                few += compare(&s, &t, 1 + lth__random_below(&random, MOST_ORDERS), gaps[g]);
            }
        }
    }
    assert_true(few > 200);
}

static void test_empty_texts(void **state) {
    (void)state;
    text empty = {0}, one = {.length = 1, .symbol = {3}}, other = {.length = 1, .symbol = {4}};
    compare(&empty, &empty, 3, 0.5);
    compare(&empty, &one, 3, 0.5);
    compare(&one, &empty, 3, 0.5);
    compare(&one, &other, 3, 0.5);
    compare(&one, &one, 3, 0.5);
}

/* axxb and ayb: a and b are three and two positions apart, so k_2 = gap^3. */
static void test_distances_are_kept(void **state) {
    (void)state;
    const uint32_t s_position[] = {0, 3}, t_position[] = {0, 2}, symbol[] = {'a', 'b'};
    const lth__meeting meetings[] = {{0, 0}, {3, 2}};
    const double power[] = {1, 0.5, 0.25, 0.125}, power_slope[] = {0, 1, 1, 0.75};
    double scratch[2 * 3 * 4], value[3], slope[3];
    assert_true(lth__ssk_sparse_scratch(3, 2, true) <= sizeof scratch / sizeof *scratch);
    lth__sparse_pair pair = {.order = 3,
                             .s_count = 2,
                             .t_count = 2,
                             .s_position = s_position,
                             .t_position = t_position,
                             .s_symbol = symbol,
                             .t_symbol = symbol,
                             .powers = {power, power_slope},
                             .scratch = scratch};
    for (int way = 0; way < 2; way++) {
        if (way == 0)
            lth__ssk_sparse(&pair, value, slope);
        else
            lth__ssk_meetings(3, pair.powers, meetings, 2, value, slope);
        assert_true(value[0] == 2 && value[1] == 0.125 && value[2] == 0);
        assert_true(slope[0] == 0 && slope[1] == 0.75 && slope[2] == 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_texts),
        cmocka_unit_test(test_empty_texts),
        cmocka_unit_test(test_distances_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
