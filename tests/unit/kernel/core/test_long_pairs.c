/* Two texts, each pair of which would take minutes or hours: whoever asks for it can change his
 * mind. Where a pair does not ask whether to go on, the test is ended by a signal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "fixture.h"

enum { PATIENCE = 60 }; /* seconds */

#ifdef __SANITIZE_ADDRESS__ /* all is slow */
enum { SHORTER = 4 };
#else
enum { SHORTER = 1 };
#endif

typedef struct asker {
    bool stops;
    size_t asked;
} asker;

static int ask(void *user, const char *what, double done, double total) {
    (void)what, (void)done, (void)total;
    asker *a = user;
    a->asked++;
    return a->stops;
}

static fixture open_asked(const char *kernel, asker *a) {
    lth_ctx_options options;
    lth_ctx_options_init(&options);
    options.threads = 1;
    options.progress = ask;
    options.user = a;
    return fixture_open(kernel, &options);
}

/* Any of the letters, by chance; "" = words of three letters. */
static char *make_text(const char *letters, size_t length, uint64_t seed) {
    lth__random random;
    lth__random_seed(&random, seed);
    length /= SHORTER;
    char *text = malloc(length + 1);
    assert_non_null(text);
    for (size_t i = 0; i < length; i++) {
        size_t any = lth__random_below(&random, *letters ? strlen(letters) : 26);
        text[i] = *letters ? letters[any] : i % 4 == 3 ? ' ' : (char)('a' + any);
    }
    text[length] = 0;
    return text;
}

/* With derivatives and k(x,x), or without: those of la would take too much memory, or no time. */
static void check_pair(const char *kernel, const char *letters, size_t length, bool all) {
    asker a = {.stops = false};
    char *texts[] = {make_text(letters, length, 1), make_text(letters, length, 2)};
    fixture f = open_asked(kernel, &a);
    const lth_items *items = fixture_encode(&f, (const char *const *)texts, 2);
    double K[4], W[4] = {1, 1, 1, 1}, *grad = calloc(lth_kernel_params(f.kernel), sizeof *grad);
    lth_error err = {0};
    a = (asker){.stops = true};
    alarm(PATIENCE);
    assert_int_equal(lth_gram(f.kernel, items, NULL, K, 2, &err), LTH_ECANCELED);
    assert_int_equal(err.status, LTH_ECANCELED);
    if (all) {
        assert_int_equal(lth_gram_pull(f.kernel, items, NULL, W, 2, grad, NULL), LTH_ECANCELED);
        assert_int_equal(lth_gram_diagonal(f.kernel, items, K, NULL), LTH_ECANCELED);
    }
    alarm(0);
    assert_true(a.asked > 0);
    fixture_close(&f);
    free(grad);
    free(texts[0]);
    free(texts[1]);
}

static void test_alignments(void **state) {
    (void)state;
    check_pair("la(text)", "ACGT", 600000, false);
}

/* Sums beyond what a vector's lanes can hold. */
static void test_high_alignments(void **state) {
    (void)state;
    check_pair("la(text, beta=5)", "W", 600000, false);
}

static void test_windows(void **state) {
    (void)state;
    check_pair("normalize(gkm(text))", "ACGT", 2000000, true);
    check_pair("normalize(gkm(text, centre=50))", "ACGT", 600000, true);
    check_pair("normalize(gkm(text, units=words))", "", 2000000, true);
    check_pair("normalize(mismatch(text, k=8, m=3, alphabet=dna))", "ACGT", 2000000, true);
}

static void test_positions(void **state) {
    (void)state;
    check_pair("normalize(oligo(text))", "ACGT", 1000000, true);
    check_pair("normalize(wd(text, order=64, shift=10000))", "A", 2000000, true);
}

/* ---- Reading the texts ---- */

static void check_encoding(const char *kernel, const char *letters, size_t length) {
    asker a = {.stops = true};
    char *text = make_text(letters, length, 1);
    const char *texts[] = {text, text}, *few[] = {"a b", "b c"};
    lth_column column = {.name = "text", .text = texts};
    lth_table *table = NULL;
    lth_items *items = NULL;
    lth_error err = {0};
    fixture f = open_asked(kernel, &a);
    assert_int_equal(lth_table_from_columns(f.ctx, &column, sizeof column, 1, 2, &table, &err),
                     LTH_OK);
    assert_int_equal(lth_encode(f.encoder, table, &items, &err), LTH_ECANCELED);
    assert_int_equal(err.status, LTH_ECANCELED);
    assert_null(items);
    lth_table_free(table);
    a.stops = false;
    free(fixture_gram(&f, fixture_encode(&f, few, 2), NULL)); /* as if nothing had been */
    fixture_close(&f);
    free(text);
}

static void test_encoding(void **state) {
    (void)state;
    check_encoding("ssk(text, units=words)", "", 60000000);
    check_encoding("linear(ngrams(text, n=[1,8]))", "ACGT", 3000000);
    check_encoding("linear(gappy(text, g=12, k=6))", "ACGT", 300000);
    check_encoding("linear(approx_ssk(text))", "ACGT", 3000000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alignments), cmocka_unit_test(test_high_alignments),
        cmocka_unit_test(test_windows),    cmocka_unit_test(test_positions),
        cmocka_unit_test(test_encoding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
