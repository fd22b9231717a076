/* Statuses, errors, the log, numbers, UTF-8, suggestions and growing strings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "base/random.h"
#include "base/text.h"

/* ---- Status ---- */

static void test_version_and_status_texts(void **state) {
    (void)state;
    char expected[32];
    snprintf(expected, sizeof expected, "%d.%d.%d", LTH_VERSION_MAJOR, LTH_VERSION_MINOR,
             LTH_VERSION_PATCH);
    assert_string_equal(lth_version(), expected);
    assert_string_equal(lth_status_text(LTH_OK), "success");
    assert_string_equal(lth_status_text(LTH_ECANCELED), "canceled");
    assert_string_equal(lth_status_text(LTH_EUNSUPPORTED), "not supported here");
    assert_string_equal(lth_status_text((lth_status)-99), "unknown status");
}

static void test_fail_fills_everything(void **state) {
    (void)state;
    lth_error err;
    memset(&err, 0x55, sizeof err);
    assert_int_equal(lth__fail_at(&err, LTH_EFORMAT, "a.tsv", 17, 3, "bad %s, %d", "field", 5),
                     LTH_EFORMAT);
    assert_int_equal(err.status, LTH_EFORMAT);
    assert_int_equal(err.line, 17);
    assert_int_equal(err.column, 3);
    assert_string_equal(err.file, "a.tsv");
    assert_string_equal(err.message, "bad field, 5");

    assert_int_equal(lth__fail(&err, LTH_EARG, "plain"), LTH_EARG);
    assert_int_equal(err.line, 0);
    assert_int_equal(err.column, 0);
    assert_string_equal(err.file, "");
    assert_string_equal(err.message, "plain");

    assert_int_equal(lth__fail(NULL, LTH_EIO, "nobody listens"), LTH_EIO);
    assert_int_equal(lth__fail_at(NULL, LTH_EIO, "f", 1, 1, "nobody"), LTH_EIO);
}

static void test_fail_may_quote_the_error_it_replaces(void **state) {
    (void)state;
    lth_error err;
    lth__fail_at(&err, LTH_EFORMAT, "x.json", 2, 0, "no number");
    lth__fail_at(&err, LTH_EFORMAT, err.file, err.line, 9, "in the header: %s", err.message);
    assert_string_equal(err.file, "x.json");
    assert_int_equal(err.line, 2);
    assert_string_equal(err.message, "in the header: no number");
}

static void test_errors_are_cut_between_characters(void **state) {
    (void)state;
    lth_error err;
    char text[801];
    for (size_t i = 0; i < 400; i++) memcpy(text + 2 * i, "\xC3\xA9", 2);
    text[800] = '\0';
    lth__fail_at(&err, LTH_EARG, text, 0, 0, "%s", text);
    assert_int_equal(strlen(err.message), 350); /* 351 would end in half a character */
    assert_int_equal(strlen(err.file), 158);
    assert_memory_equal(err.message, text, 350);

    lth__fail(&err, LTH_EARG, "x%s", text);
    assert_int_equal(strlen(err.message), 351);
}

static void test_fail_memory(void **state) {
    (void)state;
    lth_error err;
    assert_int_equal(lth__fail_memory(&err, 0), LTH_ENOMEM);
    assert_string_equal(err.message, "out of memory");
    lth__fail_memory(&err, 1234);
    assert_string_equal(err.message, "out of memory: 1234 bytes wanted");
    lth__fail_memory(&err, 12340000);
    assert_string_equal(err.message, "out of memory: 12.3 MB wanted");
}

/* ---- Log ---- */

typedef struct heard {
    int calls;
    lth_log_level level;
    char text[2048];
} heard;

static void listen(void *user, lth_log_level level, const char *text) {
    heard *h = user;
    h->calls++;
    h->level = level;
    snprintf(h->text, sizeof h->text, "%s", text);
}

static void test_log(void **state) {
    (void)state;
    heard h = {0};
    lth_ctx ctx = {.options = {.log = listen, .user = &h}};
    lth__log(&ctx, LTH_LOG_WARNING, "%d rows are empty", 3);
    assert_int_equal(h.calls, 1);
    assert_int_equal(h.level, LTH_LOG_WARNING);
    assert_string_equal(h.text, "3 rows are empty");

    char longer[1500];
    for (size_t i = 0; i < 1497; i += 3) memcpy(longer + i, "\xE2\x82\xAC", 3);
    longer[1497] = '\0';
    lth__log(&ctx, LTH_LOG_INFO, "x%s", longer);
    assert_int_equal(h.level, LTH_LOG_INFO);
    assert_int_equal(strlen(h.text), 1 + 1020); /* of 1023 bytes, the last 2 are a part */

    ctx.options.log = NULL;
    lth__log(&ctx, LTH_LOG_INFO, "unheard");
    lth__log(NULL, LTH_LOG_INFO, "unheard");
    assert_int_equal(h.calls, 2);
}

/* ---- Numbers ---- */

static bool parse(const char *text, double *value) {
    return lth__parse_double(text, strlen(text), value);
}

static void test_parse_double(void **state) {
    (void)state;
    double v = 0;
    assert_true(parse("1.5", &v) && v == 1.5);
    assert_true(parse("-2e3", &v) && v == -2000);
    assert_true(parse("+.5", &v) && v == 0.5);
    assert_true(parse("0.1", &v) && v == 0.1);
    assert_true(parse("1e999", &v) && isinf(v));
    assert_true(parse("-inf", &v) && isinf(v) && v < 0);
    assert_true(parse("nan", &v) && isnan(v));
    assert_true(lth__parse_double("12345", 3, &v) && v == 123); /* not past the length */

    v = 7;
    const char *wrong[] = {"",    "abc", "1.5x", "1,5", "0x10", "0X1p3", "1 ",
                           "1 2", "e5",  "--1",  "1e",  ".",    "-"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) assert_false(parse(wrong[i], &v));
    assert_false(lth__parse_double("1\0002", 3, &v));
    assert_true(v == 7);
}

static void test_parse_double_takes_exact_expansions(void **state) {
    (void)state;
    char text[2048];
    double v;
    snprintf(text, sizeof text, "%.1074f", DBL_TRUE_MIN);
    assert_true(parse(text, &v) && v == DBL_TRUE_MIN);
    snprintf(text, sizeof text, "%.1074f", -DBL_MAX);
    assert_true(parse(text, &v) && v == -DBL_MAX);
}

static void check_print(double value, const char *expected) {
    char out[32];
    lth__print_double(value, out);
    assert_string_equal(out, expected);
}

static void test_print_double(void **state) {
    (void)state;
    check_print(0, "0");
    check_print(-0.0, "-0");
    check_print(0.1, "0.1");
    check_print(1.0 / 3, "0.3333333333333333");
    check_print(0.1 + 0.2, "0.30000000000000004");
    check_print(1e22, "1e+22");
    check_print(123456, "123456");
    check_print(5e-324, "5e-324");
    check_print(-DBL_MAX, "-1.7976931348623157e+308");
    check_print(-2.2250738585072014e-308, "-2.2250738585072014e-308");
    check_print((double)INFINITY, "inf");
    check_print((double)-INFINITY, "-inf");
    check_print(-(double)NAN, "nan");
}

static void test_print_double_round_trips(void **state) {
    (void)state;
    lth__random r;
    lth__random_seed(&r, 1);
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = lth__random_next(&r);
        double value, back;
        memcpy(&value, &bits, 8);
        if (!isfinite(value)) continue;
        char out[32];
        lth__print_double(value, out);
        assert_true(lth__parse_double(out, strlen(out), &back));
        assert_memory_equal(&back, &value, 8);
    }
}

static void test_numbers_ignore_the_locale(void **state) {
    (void)state;
    const char *commas[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "ru_RU.UTF-8"};
    const char *set = NULL;
    for (size_t i = 0; i < 4 && set == NULL; i++) set = setlocale(LC_NUMERIC, commas[i]);
    if (set == NULL) skip();
    double v = 0;
    bool ok = parse("1.5", &v), wrong = parse("1,5", &v);
    char out[32], local[32];
    lth__print_double(1.5, out);
    snprintf(local, sizeof local, "%.1f", 1.5);
    setlocale(LC_NUMERIC, "C");
    assert_true(ok && v == 1.5);
    assert_false(wrong);
    assert_string_equal(out, "1.5");
    assert_string_equal(local, "1,5"); /* the caller's locale came back */
}

/* ---- UTF-8 ---- */

static void check_utf8(const char *bytes, size_t length, size_t expected) {
    assert_int_equal(lth__utf8_check(bytes, length), expected);
}

static void test_utf8_check(void **state) {
    (void)state;
    check_utf8("", 0, 0);
    check_utf8("plain", 5, 5);
    check_utf8("d\xC3\xA9j\xC3\xA0 vu \xE2\x82\xAC \xF0\x9F\x8E\xBB", 18, 18);
    check_utf8("ab\xFF", 3, 2);
    check_utf8("ab\x80", 3, 2);
    check_utf8("ab\xC3", 3, 2);           /* cut */
    check_utf8("ab\xE2\x82", 4, 2);       /* cut */
    check_utf8("\xC0\x80", 2, 0);         /* overlong */
    check_utf8("\xE0\x80\xAF", 3, 0);     /* overlong */
    check_utf8("a\xED\xA0\x80", 4, 1);    /* surrogate */
    check_utf8("\xF4\x90\x80\x80", 4, 0); /* past U+10FFFF */
    check_utf8("\xF4\x8F\xBF\xBF", 4, 4); /* U+10FFFF */
    check_utf8("a\0b", 3, 1);
}

static void test_utf8_check_finds_every_position(void **state) {
    (void)state;
    char text[40];
    for (size_t length = 1; length <= sizeof text; length++) {
        for (size_t at = 0; at < length; at++) {
            for (size_t kind = 0; kind < 3; kind++) {
                memset(text, kind == 2 ? 0x7F : 'a', length);
                text[at] = kind == 0 ? '\0' : '\xFE';
                check_utf8(text, length, at);
            }
        }
    }
    /* Two-byte characters at every offset. */
    for (size_t at = 0; at + 2 <= sizeof text; at++) {
        memset(text, 1, sizeof text);
        memcpy(text + at, "\xC3\xA9", 2);
        check_utf8(text, sizeof text, sizeof text);
        check_utf8(text, at + 1, at);
    }
}

static void test_utf8_count(void **state) {
    (void)state;
    assert_int_equal(lth__utf8_count("", 0), 0);
    assert_int_equal(lth__utf8_count("abc", 3), 3);
    assert_int_equal(lth__utf8_count("d\xC3\xA9j\xC3\xA0 \xE2\x82\xAC\xF0\x9F\x8E\xBB", 14), 7);
}

/* ---- Suggestions ---- */

static const char *name_at(const void *user, size_t i) {
    return ((const char *const *)user)[i];
}

static void test_nearest(void **state) {
    (void)state;
    const char *names[] = {"ssk", "sstk",     "stk",       "ptk",   "linear",
                           "rbf", "matern32", "normalize", "order", NULL};
    assert_string_equal(lth_nearest("skk", name_at, names), "ssk");
    assert_string_equal(lth_nearest("SSK", name_at, names), "ssk");
    assert_string_equal(lth_nearest("lineer", name_at, names), "linear");
    assert_string_equal(lth_nearest("lniear", name_at, names), "linear"); /* a swap is one edit */
    assert_string_equal(lth_nearest("normalise", name_at, names), "normalize");
    assert_string_equal(lth_nearest("matern23", name_at, names), "matern32");
    assert_string_equal(lth_nearest("ord", name_at, names), "order"); /* a beginning */
    assert_string_equal(lth_nearest("norm", name_at, names), "normalize");
    assert_string_equal(lth_nearest("rbf_kernel", name_at, names), "rbf");
    assert_null(lth_nearest("banana", name_at, names));
    assert_null(lth_nearest("", name_at, names));
    assert_null(lth_nearest("abc", name_at, (const char *const[]){NULL}));
    assert_null(lth_nearest("x", name_at, (const char *const[]){"y", "z", NULL}));
    assert_string_equal(lth_nearest("rfb", name_at, (const char *const[]){"rbb", "rbf", NULL}),
                        "rbb"); /* equally near: the first */
}

static void test_nearest_bears_long_names(void **state) {
    (void)state;
    char longest[128], longer[400];
    memset(longest, 'a', 127);
    longest[127] = '\0';
    memset(longer, 'a', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    const char *names[] = {longer, longest, NULL};
    assert_ptr_equal(lth_nearest(longest, name_at, names), longest);
    assert_null(lth_nearest(longer, name_at, names));
}

/* ---- Strings ---- */

static void test_string_grows(void **state) {
    (void)state;
    lth__string s = {0};
    lth__string_append(&s, NULL, 0);
    assert_string_equal(s.bytes, "");
    char expected[4001] = "";
    size_t length = 0;
    for (int i = 0; i < 500; i++) {
        lth__string_append(&s, "ab\0d", 2);
        lth__string_format(&s, "[%d]", i % 10);
        length += (size_t)sprintf(expected + length, "ab[%d]", i % 10);
    }
    assert_false(s.failed);
    assert_int_equal(s.length, length);
    assert_string_equal(s.bytes, expected);
    lth__string_free(&s);
    assert_null(s.bytes);
    assert_int_equal(s.length, 0);
    lth__string_free(&s);
}

static void test_string_failure_sticks(void **state) {
    (void)state;
    lth__string s = {0};
    lth__string_append(&s, "ok", 2);
    lth__string_append(&s, "x", SIZE_MAX - 1);
    assert_true(s.failed);
    lth__string_append(&s, "more", 4);
    lth__string_format(&s, "%d", 5);
    assert_true(s.failed);
    assert_string_equal(s.bytes, "ok");
    lth__string_free(&s);
    assert_false(s.failed);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_version_and_status_texts),
        cmocka_unit_test(test_fail_fills_everything),
        cmocka_unit_test(test_fail_may_quote_the_error_it_replaces),
        cmocka_unit_test(test_errors_are_cut_between_characters),
        cmocka_unit_test(test_fail_memory),
        cmocka_unit_test(test_log),
        cmocka_unit_test(test_parse_double),
        cmocka_unit_test(test_parse_double_takes_exact_expansions),
        cmocka_unit_test(test_print_double),
        cmocka_unit_test(test_print_double_round_trips),
        cmocka_unit_test(test_numbers_ignore_the_locale),
        cmocka_unit_test(test_utf8_check),
        cmocka_unit_test(test_utf8_check_finds_every_position),
        cmocka_unit_test(test_utf8_count),
        cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_nearest_bears_long_names),
        cmocka_unit_test(test_string_grows),
        cmocka_unit_test(test_string_failure_sticks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
