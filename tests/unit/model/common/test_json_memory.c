/* Reading JSON without enough memory: whichever allocation of Jansson fails, the text is read as it
 * is or not at all. And lists of a model file are written whole or not at all. */
#define _GNU_SOURCE 1 /* memmem */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "data/json_read.h"
#include "model/common/model_file.h"

static size_t calls, fail_at;

static void *allocate(size_t size) {
    if (++calls != fail_at) return malloc(size);
    errno = ENOMEM;
    return NULL;
}

static int open_allocator(void **state) {
    (void)state;
    json_set_alloc_funcs(allocate, free);
    fail_at = 0;
    return 0;
}

static int close_allocator(void **state) {
    (void)state;
    json_set_alloc_funcs(malloc, free);
    return 0;
}

static void letters_are_not_lost(void **state) {
    (void)state;
    static const char text[] =
        "{\"key\": \"some text that is longer than sixteen letters, and than thirty-two\"}";
    size_t starved = 0;
    for (size_t k = 1;; k++) {
        json_t *value = NULL;
        lth_error err = {0};
        calls = 0;
        fail_at = k;
        lth_status status = lth__json_read(text, strlen(text), 0, &value, NULL, &err);
        fail_at = 0;
        bool reached = calls >= k;
        if (status == LTH_OK)
            assert_string_equal(
                json_string_value(json_object_get(value, "key")),
                "some text that is longer than sixteen letters, and than thirty-two");
        else
            assert_int_equal(status, LTH_ENOMEM);
        assert_true((value != NULL) == (status == LTH_OK));
        starved += status == LTH_ENOMEM;
        json_decref(value);
        if (!reached) break;
    }
    assert_true(starved >= 10);
}

static void other_texts_are_told_apart(void **state) {
    (void)state;
    json_t *value = NULL;
    json_error_t why;
    assert_int_equal(lth__json_read("[1, 2", 5, 0, &value, &why, NULL), LTH_EFORMAT);
    assert_null(value);
    assert_int_equal(why.line, 1);
    assert_int_equal(lth__json_read("[1, 2]", 6, 0, &value, NULL, NULL), LTH_OK);
    assert_int_equal(json_array_size(value), 2);
    json_decref(value);
}

static int note_bytes(void *user, const void *bytes, size_t size) {
    lth__string_append(user, bytes, size);
    return 0;
}

/* A model without some of its classes would be another one. */
static void lists_are_whole(void **state) {
    (void)state;
    char *const names[] = {(char[]){"one"}, (char[]){"two"}, (char[]){"three"}};
    size_t refused = 0;
    for (size_t k = 1;; k++) {
        lth_error err = {0};
        lth__string file = {0};
        lth__saver s = lth__saver_open();
        assert_true(s.ok);
        calls = 0;
        fail_at = k;
        lth__saver_put_list(&s, "classes", names, 3);
        bool reached = calls >= k;
        fail_at = 0;
        lth_status status =
            lth__saver_close(&s, &(lth__model_to){.write = note_bytes, .user = &file}, &err);
        lth__string_append(&file, "", 1);
        if (status == LTH_OK)
            assert_non_null(
                memmem(file.bytes, file.length, "[\\\"one\\\",\\\"two\\\",\\\"three\\\"]", 25));
        else
            assert_int_equal(status, LTH_ENOMEM);
        refused += status != LTH_OK;
        lth__string_free(&file);
        if (!reached) break;
    }
    assert_true(refused >= 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(letters_are_not_lost, open_allocator, close_allocator),
        cmocka_unit_test_setup_teardown(other_texts_are_told_apart, open_allocator,
                                        close_allocator),
        cmocka_unit_test_setup_teardown(lists_are_whole, open_allocator, close_allocator),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
