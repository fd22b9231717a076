/* Cutting texts: each case is a text and its units, written with '|' between them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "data/units.h"

static void check_bytes(lth__units units, bool lower, const char *text, size_t length,
                        const char *expected) {
    lth__symbols *s = lth__symbols_create();
    lth__symbol *items = NULL;
    size_t count = 0, capacity = 0, used = 0;
    char joined[512] = "";
    lth_error err;
    assert_int_equal(
        lth__units_split(text, length, units, lower, s, &items, &count, &capacity, &err), LTH_OK);
    for (size_t i = 0; i < count; i++) {
        size_t size;
        const char *unit = lth__symbols_text(s, items[i], &size);
        if (i > 0) joined[used++] = '|';
        assert_true(used + size < sizeof joined);
        memcpy(joined + used, unit, size);
        used += size;
    }
    joined[used] = '\0';
    assert_string_equal(joined, expected);
    lth__free(items);
    lth__symbols_free(s);
}

static void check(lth__units units, const char *text, const char *expected) {
    check_bytes(units, false, text, strlen(text), expected);
}

static void check_lower(lth__units units, const char *text, const char *expected) {
    check_bytes(units, true, text, strlen(text), expected);
}

static void words_end_at_white_space(void **state) {
    (void)state;
    check(LTH__WORDS, "", "");
    check(LTH__WORDS, " \t\n\v\f\r ", "");
    check(LTH__WORDS, "one", "one");
    check(LTH__WORDS, "  The cat,\tsat\n", "The|cat,|sat");
    check(LTH__WORDS, "a\vb\fc\rd", "a|b|c|d");
    check(LTH__WORDS, "don't (stop) ... now!", "don't|(stop)|...|now!");
    check(LTH__WORDS,
          "a\xC2\x85"
          "b",
          "a|b");
    check(LTH__WORDS, "a\u00A0b\u2003c\u3000d", "a|b|c|d");
    check(LTH__WORDS, "a\u2028b\u2029c", "a|b|c");
    check(LTH__WORDS,
          "a\x1f"
          "b\u200Bc",
          "a\x1f"
          "b\u200Bc"); /* a control and a format character */
    check(LTH__WORDS, "na\u00EFve \u65E5\u672C", "na\u00EFve|\u65E5\u672C");
}

static void tokens_set_marks_apart(void **state) {
    (void)state;
    check(LTH__TOKENS, "", "");
    check(LTH__TOKENS, "The cat, (it) sat!", "The|cat|,|(|it|)|sat|!");
    check(LTH__TOKENS, "a+b=$5", "a|+|b|=|$|5");
    check(LTH__TOKENS, "...", ".|.|.");
    check(LTH__TOKENS, "\u00ABoui\u00BB \u20AC5\u2026", "\u00AB|oui|\u00BB|\u20AC|5|\u2026");
    check(LTH__TOKENS, "a_b/c", "a|_|b|/|c");
    check(LTH__TOKENS, "x \u2212 y", "x|\u2212|y");
}

static void tokens_keep_inner_joiners(void **state) {
    (void)state;
    check(LTH__TOKENS, "don't ex-wife 3.5 1,000 u.s", "don't|ex-wife|3.5|1,000|u.s");
    check(LTH__TOKENS, "don\u2019t na\u00EFve-\u00E9t\u00E9",
          "don\u2019t|na\u00EFve-\u00E9t\u00E9");
    check(LTH__TOKENS, "U.S. 'tis dogs' -5 5-", "U.S|.|'|tis|dogs|'|-|5|5|-");
    check(LTH__TOKENS, "a--b a-,b", "a|-|-|b|a|-|,|b");
    check(LTH__TOKENS, "a- b", "a|-|b");
    check(LTH__TOKENS, "rock-'n'-roll", "rock|-|'|n|'|-|roll");
    check(LTH__TOKENS, "state-of-the-art", "state-of-the-art");
    /* A combining accent belongs to the letter before the joiner. */
    check(LTH__TOKENS, "e\u0301-x", "e\u0301-x");
    check(LTH__TOKENS, "-", "-");
    check(LTH__TOKENS, "a.", "a|.");
}

static void chars_are_code_points(void **state) {
    (void)state;
    check(LTH__CHARS, "", "");
    check(LTH__CHARS, "a b\n", "a| |b|\n");
    check(LTH__CHARS, "\u00E9\u65E5\U0001F600.", "\u00E9|\u65E5|\U0001F600|.");
}

static void bytes_are_bytes(void **state) {
    (void)state;
    check(LTH__BYTES, "", "");
    check(LTH__BYTES, "aA \u00E9", "a|A| |\xC3|\xA9");
}

static void lower_case(void **state) {
    (void)state;
    check_lower(LTH__WORDS, "The CAT", "the|cat");
    check_lower(LTH__WORDS, "\u00C9T\u00C9 \u0391\u03A3 \u0416",
                "\u00E9t\u00E9|\u03B1\u03C3|\u0436");
    check_lower(LTH__TOKENS, "U.S. DON'T", "u.s|.|don't");
    check_lower(LTH__CHARS, "A\u00C0", "a|\u00E0");
    check_lower(LTH__BYTES, "A\u00C0Z", "a|\xC3|\x80|z"); /* ASCII alone */
    /* Two bytes that become three, and three that become two. */
    check_lower(LTH__WORDS, "\u023A\u023A\u023A", "\u2C65\u2C65\u2C65");
    check_lower(LTH__WORDS, "\u1E9E", "\u00DF");
    check(LTH__WORDS, "The CAT", "The|CAT");
}

static void symbols_are_shared_and_counted(void **state) {
    (void)state;
    static const lth__symbol expected[] = {0, 1, 0, 2, 1, 0};
    lth__symbols *s = lth__symbols_create();
    lth__symbol *items = NULL;
    size_t count = 0, capacity = 0;
    assert_int_equal(
        lth__units_split("a b a", 5, LTH__WORDS, false, s, &items, &count, &capacity, NULL),
        LTH_OK);
    assert_int_equal(count, 3);
    assert_int_equal(
        lth__units_split("c b A", 5, LTH__WORDS, true, s, &items, &count, &capacity, NULL), LTH_OK);
    assert_int_equal(count, 6);
    assert_true(capacity >= 6);
    assert_memory_equal(items, expected, sizeof expected);
    assert_int_equal(lth__symbols_seen(s, 0), 3);
    assert_int_equal(lth__symbols_seen(s, 1), 2);
    assert_int_equal(lth__symbols_seen(s, 2), 1);
    lth__free(items);
    lth__symbols_free(s);
}

static void length_rules_not_nul(void **state) {
    (void)state;
    check_bytes(LTH__WORDS, false, "ab cd", 4, "ab|c");
    check_bytes(LTH__TOKENS, false, "a-b", 2, "a|-"); /* what follows the end does not join */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_end_at_white_space),
        cmocka_unit_test(tokens_set_marks_apart),
        cmocka_unit_test(tokens_keep_inner_joiners),
        cmocka_unit_test(chars_are_code_points),
        cmocka_unit_test(bytes_are_bytes),
        cmocka_unit_test(lower_case),
        cmocka_unit_test(symbols_are_shared_and_counted),
        cmocka_unit_test(length_rules_not_nul),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
