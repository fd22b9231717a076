/* Where learning starts: as large as asked, in equal or published shares, as far as rows are apart;
 * what the expression gives, or is held, stays. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fixture.h"
#include "gp_support.h"
#include "kernel/core/encode.h"
#include "kernel/core/gram.h"
#include "kernel/core/kernel.h"

static const char *const texts[] = {"ACDEACCA", "CADAC", "EEACDDA", "ACACACAC", "DCEADC"};
enum { ROWS = sizeof texts / sizeof *texts, MOST = 32 };
static const double scale = 2.5;

static fixture open_guessed(const char *kernel, const char *const *rows, size_t count) {
    lth_error err = {0};
    bool held[MOST] = {false};
    fixture f = fixture_open(kernel, NULL);
    const lth_items *items = fixture_encode(&f, rows, count);
    assert_true(f.kernel->param_count <= MOST);
    support_ok(lth__kernel_guess(f.kernel, items, held, scale, &err), &err);
    return f;
}

static double mean_self(const fixture *f) {
    double self[ROWS], mean = 0;
    size_t n = lth_items_count(f->items[0]);
    assert_int_equal(lth_gram_diagonal(f->kernel, f->items[0], self, NULL), LTH_OK);
    for (size_t i = 0; i < n; i++) mean += self[i] / (double)n;
    return mean;
}

static void test_size(void **state) {
    (void)state;
    static const char *const kernels[] = {
        "ssk(text, units=chars, order=3)",
        "ssk(text, units=chars, order=3, gap=0.3, match=0.6)",
        "wd(text, units=chars, order=4)",
        "wd(text, units=chars, order=4, shift=2)",
        "gkm(text, units=chars, l=4, k=3)",
        "coregion(text, tasks=[ACDEACCA,CADAC,EEACDDA,ACACACAC,DCEADC], rank=1)",
        "coregion(text, tasks=[ACDEACCA,CADAC,EEACDDA,ACACACAC,DCEADC], rank=0)",
        "linear(ngrams(text, units=chars))",
        "rbf(ngrams(text, units=chars))",
        "rq(ngrams(text, units=chars))",
        "arccos(ngrams(text, units=chars))",
        "arccos(ngrams(text, units=chars), degree=0)",
        "ssk(text, units=chars, order=2) + wd(text, units=chars, order=3) + linear(bow(text))",
        "rbf(bow(text)) * rbf(ngrams(text, units=chars)) * arccos(bow(text), degree=0)",
        "linear(ssk(text, units=chars, order=2))",
    };
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
        fixture f = open_guessed(kernels[k], texts, ROWS);
        if (fabs(mean_self(&f) - scale) > 1e-12 * scale)
            fail_msg("%s: %.17g is not %g", kernels[k], mean_self(&f), scale);
        fixture_close(&f);
    }
    static const char *const aligned[] = {"ACDE", "ACDA", "CADE"};
    fixture f = open_guessed("sites(text, length=4)", aligned, 3);
    assert_true(fabs(mean_self(&f) - scale) < 1e-12);
    fixture_close(&f);
}

/* What is left where all weights but one are 0. */
static double size_by_weight(const fixture *f, const char *name, size_t wanted) {
    double kept[MOST];
    size_t weight = 0;
    for (size_t p = 0; p < f->kernel->param_count; p++) {
        lth_param *param = &f->kernel->params[p];
        kept[p] = param->value;
        if (strstr(param->path, name) && weight++ != wanted) param->value = 0;
    }
    double mean = mean_self(f);
    for (size_t p = 0; p < f->kernel->param_count; p++) f->kernel->params[p].value = kept[p];
    return mean;
}

static void test_shares(void **state) {
    (void)state;
    static const char *const kernels[] = {"ssk(text, units=chars, order=3, gap=0.3, match=0.6)",
                                          "2 * ssk(text, units=chars, order=3, gap=0.3)",
                                          "gkm(text, units=chars, l=4, k=2)"};
    for (size_t k = 0; k < 3; k++) {
        fixture f = open_guessed(kernels[k], texts, ROWS);
        size_t weights = 0;
        for (size_t p = 0; p < f.kernel->param_count; p++)
            weights += strstr(f.kernel->params[p].path, "weights") != NULL;
        double all = mean_self(&f);
        for (size_t i = 0; i < weights; i++)
            support_near(size_by_weight(&f, "weights", i), all / (double)weights, 1e-12);
        fixture_close(&f);
    }
    /* (4 - d + 1) / (1 + 2 + 3 + 4), times what is the same for all. */
    fixture f = open_guessed("0.5 + wd(text, units=chars, order=4)", texts, ROWS);
    for (size_t d = 1; d < 4; d++)
        support_near(f.kernel->params[1 + d].value / f.kernel->params[1].value, (double)(4 - d) / 4,
                     1e-12);
    fixture_close(&f);
}

static void test_distances(void **state) {
    (void)state;
    /* A tenth of a text, of 41 units in the mean; at least 1. */
    static const char *const lengths[] = {
        "aaaaaaaaaabbbbbbbbbbaaaaaaaaaabbbbbbbbbbaaaaaaaaaabbbbbbbbbb", "abababababababababababa"};
    fixture f = open_guessed("oligo(text, units=chars)", lengths, 2);
    support_near(f.kernel->params[0].value, (60 + 23) / 20., 1e-14);
    fixture_close(&f);
    f = open_guessed("oligo(text, units=chars)", texts, ROWS);
    assert_true(f.kernel->params[0].value == 1);
    fixture_close(&f);

    /* Two rows, 9 - 2 * 3 + 2 apart; half of the pairs are of a row with itself. */
    static const char *const two[] = {"a a a", "a b"};
    f = open_guessed("rbf(bow(text))", two, 2);
    double square = f.kernel->params[1].value * f.kernel->params[1].value;
    assert_string_equal(f.kernel->params[1].path, "rbf.lengthscale");
    assert_true(square > 2 && square < 3);
    fixture_close(&f);

    /* Three sites apart, in half of the pairs. */
    static const char *const aligned[] = {"ACDEC", "ACAAA"};
    f = open_guessed("sites(text, length=5)", aligned, 2);
    double exponent = f.kernel->params[f.kernel->param_count - 1].value;
    support_near(exponent, 1 / 1.5, 1e-12);
    fixture_close(&f);

    /* As alike as 1/e: beta by eight halvings of log 0.01 .. log 1. */
    static const char *const proteins[] = {"ACDEFGHIKLMN", "ACDEFGWWKLMN"};
    f = open_guessed("la(text)", proteins, 2);
    double K[4], wanted = -1;
    assert_int_equal(lth_gram(f.kernel, f.items[0], NULL, K, 2, NULL), LTH_OK);
    double ratio = log(K[1] / sqrt(K[0] * K[3]));
    fixture_check_near(&ratio, &wanted, 1, 0.05, 0);
    fixture_close(&f);
}

static void test_what_stays(void **state) {
    (void)state;
    lth_error err = {0};
    const char *kernel = "3 * ssk(text, units=chars, order=2, weights=[0.7,0.9]) + "
                         "linear(bow(text)) + wd(text, units=chars, order=2)";
    fixture f = fixture_open(kernel, NULL);
    const lth_items *items = fixture_encode(&f, texts, ROWS);
    bool held[MOST] = {false};
    double before[MOST];
    size_t params = f.kernel->param_count;
    held[params - 1] = true;
    for (size_t p = 0; p < params; p++) before[p] = f.kernel->params[p].value;
    lth_items *none = NULL;
    support_ok(lth__items_slice(items, 0, 0, &none, &err), &err);
    support_ok(lth__kernel_guess(f.kernel, none, held, scale, &err), &err);
    for (size_t p = 0; p < params; p++) assert_true(f.kernel->params[p].value == before[p]);
    lth_items_free(none);
    support_ok(lth__kernel_guess(f.kernel, items, held, scale, &err), &err);
    for (size_t p = 0; p < params; p++) {
        bool changes = p == params - 2 || p == params - 3; /* of wd, and of linear */
        assert_true((f.kernel->params[p].value != before[p]) == changes);
    }
    fixture_close(&f);

    /* Within its bounds. */
    f = fixture_open("linear(bow(text))", NULL);
    items = fixture_encode(&f, texts, ROWS);
    f.kernel->params[0].lo = 4;
    support_ok(lth__kernel_guess(f.kernel, items, held, scale, &err), &err);
    assert_true(f.kernel->params[0].value == 4);
    f.kernel->params[0].lo = 0;
    f.kernel->params[0].hi = 2;
    support_ok(lth__kernel_guess(f.kernel, items, held, scale, &err), &err);
    assert_true(f.kernel->params[0].value == 2);
    fixture_close(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_size),
        cmocka_unit_test(test_shares),
        cmocka_unit_test(test_distances),
        cmocka_unit_test(test_what_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
