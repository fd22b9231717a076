/* Moves: what they do to a text, and that repaired children keep to the rules. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "design/moves.h"
#include "gp_support.h"

enum { ROOM = 128, CHILDREN = 5000 };

static lth_ctx *ctx;
static lth__random numbers;

static lth_space *parse(const char *rules) {
    lth_space *space;
    lth_error err = {0};
    if (lth_space_parse(ctx, rules, &space, &err) != LTH_OK) fail_msg("%s", err.message);
    return space;
}

static size_t draw(const lth_space *space, lth__letter *text) {
    size_t count;
    while (!lth__space_draw(space, &numbers, text, &count)) {
    }
    return count;
}

static size_t differences(const lth__letter *a, const lth__letter *b, size_t count) {
    size_t found = 0;
    for (size_t i = 0; i < count; i++) found += a[i] != b[i];
    return found;
}

/* ---- Single moves ---- */

static void edits(void **state) {
    (void)state;
    lth_space *space = parse("alphabet=ACGT, length=3..9");
    size_t lengths[ROOM] = {0};
    for (int i = 0; i < CHILDREN; i++) {
        lth__letter a[ROOM], b[ROOM];
        size_t count = draw(space, a), after = count;
        memcpy(b, a, sizeof a);
        assert_true(lth__move_replace(space, &numbers, b, count));
        assert_int_equal(differences(a, b, count), 1);
        memcpy(b, a, sizeof a);
        assert_int_equal(lth__move_insert(space, &numbers, b, &after), count < 9);
        assert_int_equal(after, count + (count < 9));
        memcpy(b, a, sizeof a);
        after = count;
        assert_int_equal(lth__move_delete(space, &numbers, b, &after), count > 3);
        assert_int_equal(after, count - (count > 3));
        memcpy(b, a, sizeof a);
        after = count;
        lth__move_edit(space, &numbers, b, &after);
        assert_null(lth__space_refuses_letters(space, b, after));
        lengths[after]++;
    }
    for (size_t i = 3; i <= 9; i++) assert_true(lengths[i] > 0);
    lth_space_free(space);
}

/* A shift keeps the length, and all letters or all but one. */
static void shifts(void **state) {
    (void)state;
    lth_space *space = parse("alphabet=ABCDEFGH, length=8");
    size_t moved = 0;
    for (int i = 0; i < CHILDREN; i++) {
        lth__letter text[8], count[8] = {0};
        for (lth__letter k = 0; k < 8; k++) text[k] = k;
        lth__move_shift(space, &numbers, text, 8);
        size_t kept = 0;
        for (size_t k = 0; k < 8; k++) {
            moved += text[k] != k;
            kept += count[text[k]]++ == 0;
        }
        assert_true(kept >= 7);
    }
    assert_true(moved > CHILDREN);
    lth_space_free(space);
}

/* Of equal texts a cross has each letter at its place; of others it begins like the first. */
static void crosses(void **state) {
    (void)state;
    lth_space *space = parse("alphabet=AB, length=1..20");
    size_t mixed = 0;
    for (int i = 0; i < CHILDREN; i++) {
        lth__letter a[ROOM] = {0}, b[ROOM], out[ROOM];
        for (size_t k = 0; k < ROOM; k++) b[k] = 1;
        size_t count, n = 1 + lth__random_below(&numbers, 20);
        lth__move_cross(space, &numbers, a, n, b, n, out, &count);
        assert_int_equal(count, n);
        size_t from_b = 0;
        for (size_t k = 0; k < n; k++) from_b += out[k];
        mixed += from_b > 0 && from_b < n;
        lth__move_cross(space, &numbers, a, n, b, 20, out, &count);
        assert_true(count <= 20);
    }
    assert_true(mixed > CHILDREN / 4);
    lth_space_free(space);
}

/* ---- Children ---- */

static void check_children(const char *rules) {
    lth_space *space = parse(rules);
    size_t fresh = 0;
    for (int i = 0; i < CHILDREN; i++) {
        lth__letter a[ROOM], b[ROOM], child[ROOM];
        size_t a_count = draw(space, a), b_count = draw(space, b), count;
        lth__move_child(space, &numbers, a, a_count, b, b_count, child, &count);
        const char *why = lth__space_refuses_letters(space, child, count);
        if (why) fail_msg("%s: %s", rules, why);
        fresh += count != a_count || differences(a, child, count) > 0;
        lth__move_child(space, &numbers, a, a_count, NULL, 0, child, &count);
        assert_null(lth__space_refuses_letters(space, child, count));
    }
    if (fresh < CHILDREN / 2) fail_msg("%s: only %zu children differ", rules, fresh);
    lth_space_free(space);
}

static void children(void **state) {
    (void)state;
    check_children("alphabet=ACGT, length=8");
    check_children("alphabet=ACGT, length=5..12");
    check_children("alphabet=ACGT, length=1..3");
    check_children("alphabet=protein, sites=39,40,41,54");
    check_children("from=MKVLAWGHHHKL, sites=2,3,7");
    check_children("from=MKVLAWGHHHKL, max-mutations=3");
    check_children("from=MKVLAWGHHHKL, sites=1..9, max-mutations=1");
    check_children("from=MKVLAWGHHHKL, length=20..24");
    check_children("from=MKVLAWGHHHKL, length=4..6");
}

/* ---- All single edits ---- */

static void neighbours(void **state) {
    (void)state;
    static const struct {
        const char *rules;
        size_t wanted;
    } cases[] = {{"alphabet=ACG, length=4", 4 * 2},
                 {"alphabet=ACG, length=4..5", 4 * 2 + 5 * 3},
                 {"alphabet=ACG, length=3..5", 4 * 2 + 4 + 5 * 3},
                 {"from=ACGA, alphabet=ACG, sites=2,4", 2 * 2}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        lth_space *space = parse(cases[c].rules);
        const lth__letter text[4] = {0, 1, 2, 0};
        lth__letter out[ROOM];
        size_t count, found = 0;
        for (size_t i = 0; i < lth__neighbours(space, 4); i++) {
            if (!lth__neighbour(space, text, 4, i, out, &count)) continue;
            assert_null(lth__space_refuses_letters(space, out, count));
            assert_true(count != 4 || differences(text, out, 4) == 1);
            found++;
        }
        assert_int_equal(found, cases[c].wanted);
        lth_space_free(space);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(edits),    cmocka_unit_test(shifts),     cmocka_unit_test(crosses),
        cmocka_unit_test(children), cmocka_unit_test(neighbours),
    };
    ctx = support_context(1);
    lth__random_seed(&numbers, 5);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    lth_ctx_free(ctx);
    return failed;
}
