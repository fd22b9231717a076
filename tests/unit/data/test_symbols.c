/* Interning: dense numbers in order of first appearance, counts, any bytes, many texts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "data/symbols.h"

static lth__symbol intern(lth__symbols *s, const char *text) {
    return lth__symbols_intern(s, text, strlen(text));
}

static lth__symbol find(const lth__symbols *s, const char *text) {
    return lth__symbols_find(s, text, strlen(text));
}

static void empty_vocabulary(void **state) {
    (void)state;
    lth__symbols *s = lth__symbols_create();
    assert_non_null(s);
    assert_int_equal(lth__symbols_count(s), 0);
    assert_int_equal(find(s, "word"), LTH__NO_SYMBOL);
    assert_int_equal(find(s, "w"), LTH__NO_SYMBOL);
    assert_int_equal(find(s, ""), LTH__NO_SYMBOL);
    lth__symbols_free(s);
    lth__symbols_free(NULL);
}

static void numbers_follow_first_appearance(void **state) {
    (void)state;
    static const char *const texts[] = {"the", "cat", "a", "the", "a", "the", "", "category"};
    static const lth__symbol expected[] = {0, 1, 2, 0, 2, 0, 3, 4};
    static const uint64_t seen[] = {3, 1, 2, 1, 1};
    lth__symbols *s = lth__symbols_create();
    for (size_t i = 0; i < 8; i++) assert_int_equal(intern(s, texts[i]), expected[i]);
    assert_int_equal(lth__symbols_count(s), 5);
    for (lth__symbol i = 0; i < 5; i++) assert_int_equal(lth__symbols_seen(s, i), seen[i]);
    assert_int_equal(find(s, "cat"), 1);
    assert_int_equal(find(s, "a"), 2);
    assert_int_equal(find(s, ""), 3);
    assert_int_equal(find(s, "b"), LTH__NO_SYMBOL);
    assert_int_equal(find(s, "ca"), LTH__NO_SYMBOL);
    assert_int_equal(lth__symbols_seen(s, 1), 1); /* finding does not count */
    lth__symbols_free(s);
}

static void any_byte_is_text(void **state) {
    (void)state;
    lth__symbols *s = lth__symbols_create();
    for (unsigned c = 0; c < 256; c++) {
        char byte = (char)(255 - c);
        assert_int_equal(lth__symbols_intern(s, &byte, 1), c);
    }
    for (unsigned c = 0; c < 256; c++) {
        char byte = (char)(255 - c);
        size_t length = 0;
        assert_int_equal(lth__symbols_find(s, &byte, 1), c);
        const char *text = lth__symbols_text(s, c, &length);
        assert_int_equal(length, 1);
        assert_int_equal(text[0], byte);
        assert_int_equal(text[1], 0);
    }
    assert_int_equal(lth__symbols_intern(s, "a\0b", 3), 256);
    assert_int_equal(lth__symbols_intern(s, "a\0c", 3), 257);
    assert_int_equal(lth__symbols_intern(s, "a\0", 2), 258);
    assert_int_equal(lth__symbols_find(s, "a\0c", 3), 257);
    lth__symbols_free(s);
}

static void many_texts_keep_their_place(void **state) {
    (void)state;
    enum { MANY = 30000 };
    char text[64];
    lth__symbols *s = lth__symbols_create();
    intern(s, "stays");
    const char *first = lth__symbols_text(s, 0, NULL);
    for (unsigned i = 1; i < MANY; i++) {
        /* Lengths 2 to 40, alike at both ends. */
        int length = snprintf(text, sizeof text, "w%0*uw", (int)(i % 38), i);
        assert_int_equal(lth__symbols_intern(s, text, (size_t)length), i);
    }
    assert_int_equal(lth__symbols_count(s), MANY);
    for (unsigned i = 1; i < MANY; i++) {
        size_t length = 0;
        snprintf(text, sizeof text, "w%0*uw", (int)(i % 38), i);
        assert_int_equal(find(s, text), i);
        assert_string_equal(lth__symbols_text(s, i, &length), text);
        assert_int_equal(length, strlen(text));
        assert_int_equal(lth__symbols_seen(s, i), 1);
    }
    assert_ptr_equal(lth__symbols_text(s, 0, NULL), first);
    assert_string_equal(first, "stays");
    lth__symbols_free(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_vocabulary),
        cmocka_unit_test(numbers_follow_first_appearance),
        cmocka_unit_test(any_byte_is_text),
        cmocka_unit_test(many_texts_keep_their_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
