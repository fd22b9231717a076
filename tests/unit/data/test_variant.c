/* Mutations of a wild type: what they make of it, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "data/variant.h"

static const lth__wild_type wild = {.sequence = "MKVaG", .first = 1};
static const lth__wild_type later = {.sequence = "MKVAG", .first = -1};
static const lth__wild_type aligned = {.sequence = "MKVAG", .first = 1, .aligned = true};

static void check(const lth__wild_type *of, const char *text, const char *wanted) {
    lth__string out = {0};
    lth_error err = {0};
    if (lth__variant_write(of, text, strlen(text), &out, &err) != LTH_OK)
        fail_msg("%s: %s", text, err.message);
    lth__string_append(&out, "", 1);
    assert_string_equal(out.bytes, wanted);
    lth__string_free(&out);
}

static void check_refused(const lth__wild_type *of, const char *text, const char *message) {
    lth__string out = {0};
    lth_error err = {0};
    assert_int_equal(lth__variant_write(of, text, strlen(text), &out, &err), LTH_EFORMAT);
    if (!strstr(err.message, message)) fail_msg("%s: %s", text, err.message);
    lth__string_free(&out);
}

static void variants(void **state) {
    (void)state;
    static const char *const none[] = {"", "WT", "wt", "_wt", " wild type ", "p.="};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) check(&wild, none[i], "MKVaG");
    check(&wild, "K2R", "MRVaG");
    check(&wild, "k2r", "MRVaG");
    check(&wild, "A4W", "MKVWG"); /* letters are compared in upper case */
    check(&wild, "K2R:V3A", "MRAaG");
    check(&wild, "K2R,V3A", "MRAaG");
    check(&wild, "K2R; V3A/G5* + M1L", "LRAa*");
    check(&wild, "p.Lys2Arg", "MRVaG");
    check(&wild, "p.Gly5Ter", "MKVa*");
    check(&wild, "K2=", "MKVaG");
    check(&wild, "K2del", "MVaG");
    check(&wild, "K2_A4del", "MG");
    check(&wild, "K2_V3insGGL", "MKGGLVaG");
    check(&wild, "K2delinsGT", "MGTVaG");
    check(&wild, "K2_A4delinsW:M1C", "CWG");
    check(&later, "K0R:M-1L", "LRVAG");
    check(&aligned, "K2_V3del", "M--AG");
    check(&aligned, "K2_A4delinsWY", "MWY-G");
    check(&aligned, "K2_V3delinsWY", "MWYAG");
}

static void refused(void **state) {
    (void)state;
    check_refused(&wild, "A2R", "says A at 2, but the wild type has K there");
    check_refused(&wild, "K9R", "the wild type has the positions 1 to 5");
    check_refused(&wild, "K0R", "is at 0");
    check_refused(&wild, "K99999999999R", "is none");
    check_refused(&wild, "K2", "is none");
    check_refused(&wild, "2R", "is none");
    check_refused(&wild, "hello", "is none");
    check_refused(&wild, "K2_A4R", "is none");
    check_refused(&wild, "K2Rx", "goes on after its end");
    check_refused(&wild, "K2R:K2A", "another one changes too");
    check_refused(&wild, "K2_V3del:V3A", "another one changes too");
    check_refused(&wild, "V3_K2del", "runs backwards");
    check_refused(&wild, "M1_V3insA", "not between two neighbours");
    check_refused(&wild, "M1_K2ins", "names no letters");
    check_refused(&wild, "K2delins", "names no letters");
    check_refused(&aligned, "M1_K2insA", "no place");
    check_refused(&aligned, "K2delinsGT", "more letters than there are places");
    check_refused(&aligned, "K2delins", "names no letters");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(variants), cmocka_unit_test(refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
