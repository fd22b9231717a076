/* Spaces: every rule, every mistake with its column, what belongs to them, and samples. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "design/space.h"
#include "design_support.h"
#include "failing_allocator.h"
#include "gp_support.h"

static lth_ctx *ctx;

static lth_space *parse(const char *rules) {
    lth_space *space;
    lth_error err = {0};
    if (lth_space_parse(ctx, rules, &space, &err) != LTH_OK)
        fail_msg("%s: %zu: %s", rules, err.column, err.message);
    return space;
}

static void check_refused(const char *rules, lth_status status, size_t column,
                          const char *message) {
    lth_space *space = (lth_space *)&ctx;
    lth_error err = {0};
    lth_status got = lth_space_parse(ctx, rules, &space, &err);
    if (got == LTH_OK) fail_msg("%s is not refused", rules);
    if (got != status || err.column != column || !strstr(err.message, message))
        fail_msg("%s: %d, column %zu: %s", rules, got, err.column, err.message);
    assert_ptr_equal(space, &ctx);
}

static void check_has(const char *rules, const char *text, const char *reason) {
    lth_space *space = parse(rules);
    const char *why = "";
    bool has = lth_space_has(space, text, strlen(text), &why);
    if (has != (reason == NULL) || (reason && !strstr(why, reason)))
        fail_msg("%s, %s: %s", rules, text, has ? "it has it" : why);
    assert_int_equal(lth_space_has(space, text, strlen(text), NULL), has);
    lth_space_free(space);
}

/* ---- Rules ---- */

static void rules(void **state) {
    (void)state;
    check_has("alphabet=ACGT, length=4", "ACGT", NULL);
    check_has("alphabet=ACGT, length=4", "ACGU", "a letter that is not in the alphabet");
    check_has("alphabet=ACGT, length=4", "ACG", "shorter");
    check_has("alphabet=ACGT, length=4", "ACGTA", "longer");
    check_has("alphabet=ACGT length=2..3", "AC", NULL);
    check_has("alphabet=A,C,G,T length=2..3", "ACG", NULL);
    check_has("alphabet='A C', length=1", "A", NULL);
    check_has("alphabet = AC , length = 1", "C", NULL);
    check_has("alphabet=dna, length=1..9", "ACGTU", "a letter that is not");
    check_has("alphabet=rna, length=1..9", "ACGU", NULL);
    check_has("alphabet=protein, length=1..9", "WYV", NULL);
    check_has("alphabet=aöß, length=3", "öaß", NULL);
    check_has("alphabet=aöß, length=3", "öa\xc3", "UTF-8");
    check_has("alphabet=AC, length=1..3", "", "shorter");
    check_has("length=3", "x!y", NULL); /* no letters said: any */
    check_has("alphabet=AB, sites=39,40,41,54", "ABBA", NULL);
    check_has("alphabet=AB, sites=39..41, 54", "ABB", "shorter");
}

static void starts(void **state) {
    (void)state;
    check_has("from=ACGTA", "ACGTT", NULL);
    check_has("from=ACGTA", "ACGTN", "a letter that is not"); /* it looks like DNA */
    check_has("from=ACGTA", "ACGT", "shorter");
    check_has("alphabet=protein from ACGTA", "WWWWW", NULL);
    check_has("from=MKV, sites=2", "MWV", NULL);
    check_has("from=MKV, sites=2", "MKW", "outside of the sites");
    check_has("from=MKV, sites=41,42, first=40", "MWW", NULL);
    check_has("from=MKV, sites=41,42, first=40", "WKV", "outside of the sites");
    check_has("from=MKV, sites=-1..0, first=-1", "WWV", NULL);
    check_has("from=MKVLA, max-mutations=2", "MWWLA", NULL);
    check_has("from=MKVLA, max-mutations=2", "WWWLA", "more mutations");
    check_has("from=MKVLA, max-mutations=2, length=3..7", "MVLAA", NULL);
    check_has("from=MKVLA, max-mutations=2, length=3..7", "KVLA", NULL);
    check_has("from=MKVLA, max-mutations=2, length=3..7", "MLAWW", "more mutations");
}

static void files(void **state) {
    (void)state;
    static const char *const contents[] = {">wt a protein\nMK\nVL\n>other\nAAAA\n", "MKVL\n",
                                           "MK\r\n VL\n"};
    for (size_t i = 0; i < sizeof contents / sizeof *contents; i++) {
        char *path = support_file(contents[i], strlen(contents[i])), text[300];
        static const char *const ways[] = {"max-mutations=1 from %s", "from=%s, max-mutations=1",
                                           "from='%s' max-mutations=1"};
        for (size_t w = 0; w < 3; w++) {
            snprintf(text, sizeof text, ways[w], path);
            check_has(text, "MKVA", NULL);
            check_has(text, "MKAA", "more mutations");
        }
        support_remove(path);
    }
    char *path = support_file(">wt\n\n", 5), text[300];
    lth_space *space;
    lth_error err = {0};
    snprintf(text, sizeof text, "from=%s", path);
    assert_int_equal(lth_space_parse(ctx, text, &space, &err), LTH_EFORMAT);
    assert_non_null(strstr(err.message, "no sequence"));
    assert_string_equal(err.file, path);
    support_remove(path);
}

static void patterns(void **state) {
    (void)state;
    static const char glycan[] = "alphabet=protein, length=1..9, forbid=N[^P][ST]";
    check_has(glycan, "ANPSA", NULL);
    check_has(glycan, "ANASA", "forbidden");
    check_has("alphabet=AN length=5 forbid=N{2,3}, motif=AA", "NAANA", NULL);
    check_has("alphabet=AN length=5 forbid=N{2,3}, motif=AA", "NNAAA", "forbidden");
    check_has("alphabet=AN length=5 forbid=N{2,3}, motif=AA", "NANAN", "lacks a motif");
    check_has("motif=GA.A motif=CC alphabet=dna length=6..7", "GATACC", NULL);
    check_has("motif=GA.A motif=CC alphabet=dna length=6..7", "GATACA", "lacks a motif");
    check_has("forbid='^A, b=', alphabet='Ab=', length=1..9", "AAb", NULL);
    check_has("forbid=\"^A\" alphabet=AB, length=2", "AB", "forbidden");
    check_has("forbid=A$, alphabet=AB, length=2", "BA", "forbidden");
    /* Where a text is part of a longer one, that does not matter. */
    lth_space *space = parse("forbid=A$, alphabet=AB, length=2");
    assert_true(lth_space_has(space, "ABA", 2, NULL));
    lth_space_free(space);
}

static void pairs(void **state) {
    (void)state;
    static const char lines[] = "from\tto\nA\tB\nB\tA\nA\tA\nX\tA\n";
    char *path = support_file(lines, strlen(lines)), text[300];
    snprintf(text, sizeof text, "alphabet=AB, length=4, allow=%s", path);
    check_has(text, "ABAA", NULL);
    check_has(text, "ABBA", "beside each other");
    snprintf(text, sizeof text, "alphabet=AB, length=4, pairs=%s", path);
    check_has(text, "ABBA", "beside each other");
    support_remove(path);
}

static void molecules(void **state) {
    (void)state;
    static const char open[] = "alphabet=smiles, length=1..20";
    check_has(open, "CC(=O)Oc1ccccc1", NULL);
    check_has(open, "C[nH]Cl", NULL);
    check_has(open, "CC(=O", "not closed");
    check_has(open, "CC)C", "not closed");
    check_has(open, "c1ccccc", "not closed");
    check_has(open, "C%12CC%12", NULL);
    check_has(open, "C%12CC%13", "not closed");
    check_has(open, "C[nH", "not closed");
    check_has(open, "C()C", "not closed");
    check_has(open, "CC=", "leads nowhere");
    check_has(open, "CC=#C", "leads nowhere");
    check_has("tokens=smiles, alphabet=CO[nH]Cl, length=3", "ClC[nH]", NULL);
    check_has("tokens=smiles, alphabet=CO[nH]Cl, length=3", "ClC[n]", "a letter that is not");
    check_has("tokens=smiles, alphabet=CO[nH]Cl, length=3", "C[nH]", "shorter");
}

static void mistakes(void **state) {
    (void)state;
    check_refused("", LTH_EFORMAT, 1, "needs a rule");
    check_refused(" , ", LTH_EFORMAT, 1, "needs a rule");
    check_refused("lenght=8", LTH_EFORMAT, 1, "no rule \"lenght\"; did you mean \"length\"?");
    check_refused("alphabet=ACGT, lenght=8", LTH_EFORMAT, 16, "did you mean \"length\"?");
    check_refused("alphabet=öß, lenght=8", LTH_EFORMAT, 14, "did you mean \"length\"?");
    check_refused("alphabet=ACGT, xyzzy=8", LTH_EFORMAT, 16, "no rule \"xyzzy\"; rules are");
    check_refused("length", LTH_EFORMAT, 1, "length wants a value");
    check_refused("!", LTH_EFORMAT, 1, "no rule \"!\"");
    check_refused("length=", LTH_EFORMAT, 8, "length has no value");
    check_refused("alphabet=, length=3", LTH_EFORMAT, 10, "alphabet has no value");
    check_refused("length=3, length=4", LTH_EFORMAT, 11, "length is given twice");
    check_refused("allow=seen, pairs=x", LTH_EFORMAT, 13, "allow is given twice");
    check_refused("forbid='N", LTH_EFORMAT, 8, "quote is not closed");
    check_refused("forbid='N'x", LTH_EFORMAT, 11, "a comma or the end");
    check_refused("alphabet=ACCA", LTH_EFORMAT, 12, "\"C\" is twice");
    check_refused("alphabet=protien", LTH_EFORMAT, 10, "did you mean \"protein\"?");
    check_refused("alphabet=', '", LTH_EFORMAT, 11, "no letters");
    check_refused("tokens=words", LTH_EFORMAT, 8, "\"letters\" or \"smiles\"");
    check_refused("length=x", LTH_EFORMAT, 8, "expected a whole number");
    check_refused("length=0", LTH_EFORMAT, 8, "length must be from 1");
    check_refused("length=5-12", LTH_EFORMAT, 9, "a range such as 5..12");
    check_refused("length=5..", LTH_EFORMAT, 11, "a whole number");
    check_refused("length=9..8", LTH_EFORMAT, 8, "a range that goes up");
    check_refused("length=12345678901", LTH_EFORMAT, 8, "a whole number");
    check_refused("sites=1,2;3", LTH_EFORMAT, 10, "a comma or a range");
    check_refused("sites=1,x", LTH_EFORMAT, 9, "a whole number");
    check_refused("sites=1..999999999", LTH_EFORMAT, 7, "fewer numbers");
    check_refused("forbid=N[", LTH_EFORMAT, 8, "no regular expression");
    check_refused("alphabet=AC, motif=A+++++++++++++++++++++++++++++++++++", LTH_EFORMAT, 20,
                  "this pattern is too large");
    check_refused("forbid=((((A{9}){9}){9}C){9}){9}", LTH_EFORMAT, 8, "too large");
    check_refused("forbid=[^]A{9}]([[:alpha:]]{99}\\){9}){99}", LTH_EFORMAT, 8, "too large");
    check_refused("from=no/such.fa", LTH_EFORMAT, 6, "no sequence of the alphabet, and no file");
    check_refused("alphabet=AC, from=AG", LTH_EFORMAT, 19, "no sequence of the alphabet");
    check_refused("max-mutations=0, from=ACA", LTH_EFORMAT, 15, "must be from 1");
    check_refused("alphabet=\xff", LTH_EFORMAT, 10, "UTF-8");
}

/* The C library would take all its stack for brackets, or all memory for what is repeated. */
static void patterns_have_a_size(void **state) {
    (void)state;
    static const char *const too_large[] = {
        "(A{64}){64}",
        "((((A{9}){9}){9}){9})",
        "(A{99999999999999999999}){99999999999999999999}",
        "([]A-C]{3000}){2}",
        "(A|C){2001}",
    };
    char text[12100] = "alphabet=AC, length=3, forbid=";
    size_t head = strlen(text);
    for (size_t i = 0; i < sizeof too_large / sizeof *too_large; i++) {
        strcpy(text + head, too_large[i]);
        check_refused(text, LTH_EFORMAT, 31, "this pattern is too large");
    }
    memset(text + head, '(', 5000);
    text[head + 5000] = 'A';
    memset(text + head + 5001, ')', 5000);
    text[head + 10001] = '\0';
    check_refused(text, LTH_EFORMAT, 31, "this pattern is too large");
    strcpy(text + head, "(^|C)[^]A]{0,30}(A{2,3}C?){5,9}\\(\\{");
    lth_space_free(parse(text));
    strcpy(text + head, "()(A{60}){60}");
    lth_space_free(parse(text));
}

static void contradictions(void **state) {
    (void)state;
    check_refused("first=3, length=2", LTH_EARG, 7, "say from=");
    check_refused("max-mutations=3, length=2", LTH_EARG, 15, "say from=");
    check_refused("from=MKV, sites=2,4", LTH_EARG, 17,
                  "site 4 is outside of from, which has 1 to 3");
    check_refused("from=MKV, sites=2, first=3", LTH_EARG, 17, "which has 3 to 5");
    check_refused("from=MKV, sites=2,1..3", LTH_EARG, 17, "site 2 is given twice");
    check_refused("from=MKV, sites=2, length=4", LTH_EARG, 27, "have 3 letters");
    check_refused("alphabet=AC, sites=2,3, length=3..4", LTH_EARG, 32, "have 2 letters");
    check_refused("from=MKV, max-mutations=1, length=9", LTH_EARG, 25,
                  "do not lead to that length");
    char *path = support_file(">wt\nMKX\n", 8), text[300];
    snprintf(text, sizeof text, "alphabet=protein from=%s", path);
    check_refused(text, LTH_EARG, 23, "letter 3 of from is \"X\"");
    support_remove(path);
}

/* ---- Samples ---- */

static int by_text(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Different texts of the space, `wanted` of them; and the same again for the same seed. */
static void check_sample(const char *rules_text, size_t count, size_t wanted) {
    lth_space *space = parse(rules_text);
    lth_table *table, *again;
    lth_error err = {0};
    if (lth_space_sample(space, "seq", count, 7, &table, &err) != LTH_OK)
        fail_msg("%s: %s", rules_text, err.message);
    assert_int_equal(lth_space_sample(space, "seq", count, 7, &again, &err), LTH_OK);
    assert_int_equal(lth_table_find(table, "seq"), 0);
    if (lth_table_rows(table) != wanted)
        fail_msg("%s: %zu, not %zu", rules_text, lth_table_rows(table), wanted);
    char **texts = malloc(wanted * sizeof *texts);
    for (size_t i = 0; i < wanted; i++) {
        size_t length, other;
        const char *text = lth_table_cell(table, i, 0, &length), *why = "";
        const char *same = lth_table_cell(again, i, 0, &other);
        if (!lth_space_has(space, text, length, &why))
            fail_msg("%s has not %.*s: %s", rules_text, (int)length, text, why);
        assert_true(length == other && memcmp(text, same, length) == 0);
        texts[i] = design_cell(table, i);
    }
    qsort(texts, wanted, sizeof *texts, by_text);
    for (size_t i = 1; i < wanted; i++) assert_string_not_equal(texts[i - 1], texts[i]);
    for (size_t i = 0; i < wanted; i++) free(texts[i]);
    free(texts);
    lth_table_free(table);
    lth_table_free(again);
    lth_space_free(space);
}

static void samples(void **state) {
    (void)state;
    check_sample("alphabet=AB, length=3", 100, 8);
    check_sample("alphabet=AB, length=3", 5, 5);
    check_sample("alphabet=AB, length=3", 0, 0);
    check_sample("alphabet=AB, length=1..3", 100, 14);
    check_sample("alphabet=AB, length=1..3, forbid=AA", 100, 2 + 3 + 5);
    check_sample("from=MKV, sites=1,3", 1000, 400);
    check_sample("from=MKV, max-mutations=1", 1000, 1 + 3 * 19);
    check_sample("from=ACG, max-mutations=2", 1000, 1 + 9 + 27);
    check_sample("alphabet=AC, from=AC, max-mutations=1, length=1..3", 100, 2 + 3 + 4);
    check_sample("alphabet=protein, length=5..60", 500, 500);
    check_sample("alphabet=protein, length=30..60, motif=WWWW, forbid=N[^P][ST]", 300, 300);
    check_sample("alphabet=dna, length=60, motif=G[AT]TA", 300, 300);
    check_sample("from=MKVLAWWWWWGGGGGHHHHH, max-mutations=3", 500, 500);
    check_sample("from=MKVLAWWWWWGGGGGHHHHH, max-mutations=3, length=18..22", 500, 500);
    check_sample("from=MKVLAWWWWWGGGGGHHHHH, length=5..8", 200, 200);
    check_sample("from=MKVLAWWWWWGGGGGHHHHH, length=30, max-mutations=12", 200, 200);
    check_sample("from=MKVLAWWWWWGGGGGHHHHH, sites=2..9", 500, 500);
    check_sample("alphabet=aöß, length=20", 500, 500);
    check_sample("tokens=smiles, alphabet='CON()=1', length=8..9", 200, 200);
    static const char lines[] = "from\tto\nA\tC\nC\tA\nC\tC\nG\tA\n";
    char *path = support_file(lines, strlen(lines)), text[300];
    snprintf(text, sizeof text, "alphabet=ACG, length=40, allow=%s", path);
    check_sample(text, 300, 300);
    snprintf(text, sizeof text, "alphabet=ACG, length=2, allow=%s", path);
    check_sample(text, 300, 4);
    support_remove(path);
}

static void no_samples(void **state) {
    (void)state;
    static const struct {
        const char *rules, *message;
    } cases[] = {{"length=3", "no letters yet"},
                 {"alphabet=smiles, length=3", "no letters yet"},
                 {"alphabet=AB", "no length yet"},
                 {"alphabet=AB, length=3, allow=seen", "there are none"},
                 {"alphabet=AB, length=3, forbid=.", "no text keeps to all rules"},
                 {"alphabet=protein, length=30, forbid=[A-Y]",
                  "no text found that keeps to the rules in 1,000,000 tries"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lth_space *space = parse(cases[i].rules);
        lth_table *table = (lth_table *)&ctx;
        lth_error err = {0};
        assert_int_equal(lth_space_sample(space, "x", 3, 1, &table, &err), LTH_EARG);
        if (!strstr(err.message, cases[i].message)) fail_msg("%s", err.message);
        assert_ptr_equal(table, &ctx);
        lth_space_free(space);
    }
}

/* ---- What comes from measured rows ---- */

static void completed(void **state) {
    (void)state;
    static const char *const texts[] = {"ABBA", "BAC", "ABAB"};
    lth_space *space = parse("allow=seen"), whole;
    lth_error err = {0};
    support_ok(lth__space_complete(space, texts, 3, &whole, &err), &err);
    assert_int_equal(lth__symbols_count(whole.alphabet), 3);
    assert_int_equal(whole.shortest, 3);
    assert_int_equal(whole.longest, 4);
    assert_true(lth_space_has(&whole, "BBAC", 4, NULL));
    assert_false(lth_space_has(&whole, "CAB", 3, NULL)); /* never C before A */
    assert_false(lth_space_has(&whole, "ABD", 3, NULL));
    assert_true(lth_space_has(space, "CABXYZ", 6, NULL)); /* that one knows nothing of them */
    lth__space_complete_free(&whole, space);
    assert_int_equal(lth__space_complete(space, texts, 0, &whole, &err), LTH_EARG);
    lth_space_free(space);
}

/* ---- Memory ---- */

static lth_status parse_and_sample(void *user, lth_error *err) {
    static const char *const texts[] = {"ABBA", "BAC", "ABAB"};
    lth_space *space, whole;
    lth_table *table;
    lth_status status = lth_space_parse(ctx, user, &space, err);
    if (status != LTH_OK) return status;
    status = lth__space_complete(space, texts, 3, &whole, err);
    if (status == LTH_OK) {
        status = lth_space_sample(&whole, "x", 20, 3, &table, err);
        if (status == LTH_OK) lth_table_free(table);
        lth__space_complete_free(&whole, space);
    }
    lth_space_free(space);
    return status;
}

static void failing(void **state) {
    (void)state;
    fail_each(parse_and_sample, "length=3..30, forbid=AA[BC], motif=BA, allow=seen", false, 20);
    fail_each(parse_and_sample, "from=MKVLA sites=2,3 first=1", false, 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules),          cmocka_unit_test(starts),
        cmocka_unit_test(files),          cmocka_unit_test(patterns),
        cmocka_unit_test(pairs),          cmocka_unit_test(molecules),
        cmocka_unit_test(mistakes),       cmocka_unit_test(patterns_have_a_size),
        cmocka_unit_test(contradictions), cmocka_unit_test(samples),
        cmocka_unit_test(no_samples),     cmocka_unit_test(completed),
        cmocka_unit_test(failing),
    };
    ctx = support_context(1);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    lth_ctx_free(ctx);
    return failed;
}
