/* Words and where they stand: wd and oligo by their definition, derivatives by differences, with a
 * memo and without, models and their reasons. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/text.h"
#include "engine/eigen.h"
#include "failing_allocator.h"
#include "fixture.h"
#include "gp_support.h"
#include "kernel/core/gram.h"

enum { ROWS = 21 };
static char folder[] = "test_positional.XXXXXX";

static int open_folder(void **state) {
    (void)state;
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int close_folder(void **state) {
    (void)state;
    return chdir("..") == 0 && rmdir(folder) == 0 ? 0 : -1; /* nothing was left behind */
}

/* Two that take more than one number of 64 bits, and have much in common three places apart. */
static void make_long(char **x, char **y) {
    enum { UNITS = 110, OFF = 3 };
    char text[UNITS + 1] = {0};
    for (size_t i = 0; i < UNITS; i++) text[i] = "abc"[i * i % 7 % 3];
    free(*x);
    free(*y);
    *x = strdup(text);
    text[70] = 'd';
    *y = strdup(text + OFF);
}

/* Of many lengths, an empty one among them, and some that are too short for a word. */
static char **make_texts(void) {
    lth__random random;
    lth__random_seed(&random, 8);
    char **texts = fixture_texts(&random, ROWS, 18, 3, false);
    static const char *const odd[] = {"", "a", "ab", "abcabcabcabc", "abcabcabcabc", "aaaaaaaaaa"};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        free(texts[i]);
        texts[i] = strdup(odd[i]);
    }
    make_long(&texts[ROWS - 2], &texts[ROWS - 1]);
    return texts;
}

static fixture open_fixture(const char *kernel, unsigned threads) {
    lth_ctx_options options;
    lth_ctx_options_init(&options);
    options.threads = threads;
    fixture f = fixture_open(kernel, &options);
    char **texts = make_texts();
    fixture_encode(&f, (const char *const *)texts, ROWS);
    fixture_free_texts(texts, ROWS);
    return f;
}

static double value_of(const fixture *f, size_t i) {
    return lth_kernel_param(f->kernel, i)->value;
}

/* ---- Values ---- */

typedef struct definition {
    const char *kernel;
    size_t order, shift; /* of wd    */
    size_t k;            /* of oligo */
} definition;

static const definition definitions[] = {
    {.kernel = "wd(text)", .order = 20},
    {.kernel = "wd(text, order=3, weights=[0.5,0,2])", .order = 3},
    {.kernel = "wd(text, order=4, shift=2)", .order = 4, .shift = 2},
    {.kernel = "wd(text, order=1, shift=100)", .order = 1, .shift = 100},
    {.kernel = "oligo(text)", .k = 3},
    {.kernel = "oligo(text, k=1, sigma=0.7)", .k = 1},
    {.kernel = "oligo(text, k=17, sigma=40)", .k = 17},
};
enum { DEFINITIONS = sizeof definitions / sizeof *definitions };

static double worth(const fixture *f, const definition *d, size_t length, double far) {
    if (d->k > 0) return exp(-far * far / (4 * value_of(f, 0) * value_of(f, 0)));
    return value_of(f, length - 1) * fmax(0, 1 - far / ((double)d->shift + 1));
}

/* Word by word, place by place. */
static double reference(const fixture *f, const definition *d, const char *x, const char *y) {
    size_t m = strlen(x), n = strlen(y);
    double sum = 0;
    for (size_t length = d->k ? d->k : 1; length <= (d->k ? d->k : d->order); length++) {
        for (size_t p = 0; p + length <= m; p++) {
            for (size_t q = 0; q + length <= n; q++) {
                if (strncmp(x + p, y + q, length) == 0)
                    sum += worth(f, d, length, fabs((double)p - (double)q));
            }
        }
    }
    return sum;
}

static void values(void **state) {
    (void)state;
    char **texts = make_texts();
    for (size_t k = 0; k < DEFINITIONS; k++) {
        fixture f = open_fixture(definitions[k].kernel, 2);
        double *K = fixture_gram(&f, f.items[0], NULL), self[ROWS];
        double *other = fixture_gram(&f, f.items[0], f.items[0]);
        assert_int_equal(lth_gram_diagonal(f.kernel, f.items[0], self, NULL), LTH_OK);
        for (size_t i = 0; i < ROWS; i++) {
            for (size_t j = 0; j < ROWS; j++) {
                double wanted = reference(&f, &definitions[k], texts[i], texts[j]);
                fixture_check_near(&K[i * ROWS + j], &wanted, 1, 1e-13, 0);
                assert_true(K[i * ROWS + j] == K[j * ROWS + i]);
                assert_true(K[i * ROWS + j] == other[i * ROWS + j]);
            }
            assert_true(self[i] == K[i * ROWS + i]);
        }
        assert_true(K[0] == 0); /* an empty text */
        free(K);
        free(other);
        fixture_close(&f);
    }
    fixture_free_texts(texts, ROWS);
}

/* As published: 1 for all lengths together, the shorter the more. */
static void default_weights(void **state) {
    (void)state;
    fixture f = open_fixture("wd(text, order=5)", 1);
    char text[256];
    double sum = 0;
    assert_int_equal(lth_kernel_params(f.kernel), 5);
    for (size_t d = 0; d < 5; d++) sum += value_of(&f, d);
    support_near(sum, 1, 1e-15);
    support_near(value_of(&f, 0) / value_of(&f, 4), 5, 1e-14);
    lth_kernel_print(f.kernel, text, sizeof text);
    assert_string_equal(text, "wd(text, order=5)");
    fixture_close(&f);
}

/* No negative eigenvalue, whatever the shift and the width. */
static void semidefinite(void **state) {
    (void)state;
    static const char *const kernels[] = {
        "wd(text, order=1, shift=1)",  "wd(text, order=2, shift=3)",  "wd(text, shift=7)",
        "wd(text, order=3, shift=50)", "oligo(text, k=1, sigma=0.3)", "oligo(text, k=2, sigma=2)",
    };
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
        fixture f = open_fixture(kernels[k], 1);
        double *K = fixture_gram(&f, f.items[0], NULL), value[ROWS], U[ROWS * ROWS];
        lth__eigen(ROWS, K, value, U);
        assert_true(value[0] > 0 && value[ROWS - 1] > -1e-13 * value[0]);
        free(K);
        fixture_close(&f);
    }
}

/* ---- Derivatives ---- */

static const char *const learned[] = {
    "wd(text, order=4)",
    "wd(text, order=3, shift=2, weights=[0.3,0,1.5])",
    "oligo(text, k=2, sigma=1.3)",
    "normalize(wd(text, order=3, shift=1) + 0.1) * oligo(text, k=1, sigma=3)",
    "rbf(oligo(text, k=2))",
};
enum { LEARNED = sizeof learned / sizeof *learned };

static double weighed(const fixture *f, const double *W) {
    double *K = fixture_gram(f, f->items[0], NULL), sum = 0;
    for (size_t i = 0; i < ROWS * ROWS; i++) sum += W[i] * K[i];
    free(K);
    return sum;
}

static void gradients(void **state) {
    (void)state;
    double W[ROWS * ROWS], grad[16];
    for (size_t i = 0; i < ROWS * ROWS; i++) W[i] = sin((double)(i / ROWS) * (double)(i % ROWS));
    for (size_t k = 0; k < LEARNED; k++) {
        fixture f = open_fixture(learned[k], 2);
        double *each = fixture_gradients(&f, f.items[0], NULL);
        assert_int_equal(lth_gram_pull(f.kernel, f.items[0], NULL, W, ROWS, grad, NULL), LTH_OK);
        for (size_t p = 0; p < lth_kernel_params(f.kernel); p++) {
            double at = value_of(&f, p), h = 1e-5, whole = 0, low = at > h ? h : 0;
            assert_int_equal(lth_kernel_set(f.kernel, p, at + h, NULL), LTH_OK);
            double up = weighed(&f, W);
            assert_int_equal(lth_kernel_set(f.kernel, p, at - low, NULL), LTH_OK);
            double down = weighed(&f, W);
            assert_int_equal(lth_kernel_set(f.kernel, p, at, NULL), LTH_OK);
            for (size_t i = 0; i < ROWS * ROWS; i++) whole += W[i] * each[p * ROWS * ROWS + i];
            support_near(grad[p], (up - down) / (h + low), 1e-6);
            support_near(whole, grad[p], 1e-11);
            assert_true(grad[p] != 0);
        }
        free(each);
        fixture_close(&f);
    }
}

/* ---- What is kept, and threads: never seen in a bit ---- */

static void evaluate(const char *kernel, unsigned threads, bool keeps, double *K, double *grad) {
    fixture f = open_fixture(kernel, threads);
    lth__gram *gram = NULL;
    double W[ROWS * ROWS];
    for (size_t i = 0; i < ROWS * ROWS; i++) W[i] = cos((double)(i / ROWS) + (double)(i % ROWS));
    assert_int_equal(lth__gram_create(f.kernel, f.items[0], NULL, &gram, NULL), LTH_OK);
    if (!keeps) lth__gram_keep_nothing(gram);
    for (size_t round = 0; round < 3; round++) { /* of other values: the memo's own never change */
        for (size_t p = 0; p < lth_kernel_params(f.kernel); p++)
            assert_int_equal(lth_kernel_set(f.kernel, p, 1.5 * value_of(&f, p), NULL), LTH_OK);
        assert_int_equal(lth__gram_values(gram, K, ROWS, NULL), LTH_OK);
        assert_int_equal(lth__gram_pull(gram, W, ROWS, grad, NULL), LTH_OK);
    }
    double *fresh = fixture_gram(&f, f.items[0], NULL);
    assert_memory_equal(fresh, K, ROWS * ROWS * sizeof *K);
    free(fresh);
    lth__gram_free(gram);
    fixture_close(&f);
}

static void same_bits(void **state) {
    (void)state;
    for (size_t k = 0; k < 3; k++) {
        double K[ROWS * ROWS], L[ROWS * ROWS], grad[16] = {0}, other[16] = {0};
        evaluate(learned[k], 1, true, K, grad);
        for (int way = 0; way < 3; way++) {
            evaluate(learned[k], way == 0 ? 1 : 3, way == 1, L, other);
            assert_memory_equal(K, L, sizeof K);
            assert_memory_equal(grad, other, sizeof grad);
        }
    }
}

/* ---- Mistakes ---- */

static void refused(void **state) {
    (void)state;
    static const struct {
        const char *kernel, *message;
    } all[] = {
        {"wd(text, order=0)", "order"},      {"wd(text, order=65)", "order"},
        {"wd(text, shift=-1)", "shift"},     {"wd(text, order=3, weights=[1,2])", "3 numbers"},
        {"wd(text, weights=-1)", "weights"}, {"oligo(text, k=0)", "k"},
        {"oligo(text, sigma=0)", "sigma"},   {"wd(text, units=letters)", "units"},
        {"wd(ssk(text))", "column"},         {"oligo(text, variance=2)", "no argument"},
    };
    lth_ctx *ctx = support_context(1);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        lth_error err = {0};
        lth_kernel *kernel = NULL;
        assert_int_equal(lth_kernel_parse(ctx, all[i].kernel, &kernel, &err), LTH_EFORMAT);
        if (!strstr(err.message, all[i].message)) fail_msg("%zu: %s", i, err.message);
    }
    lth_ctx_free(ctx);
}

/* ---- Models ---- */

static lth_table *make_table(lth_ctx *ctx) {
    lth__string lines = {0};
    char **texts = make_texts();
    lth__string_format(&lines, "text\ty\n");
    for (size_t i = 0; i < ROWS; i++) {
        double y = (double)(i * i % 7) + (strncmp(texts[i], "ab", 2) == 0 ? 5 : 0);
        lth__string_format(&lines, "%s\t%g\n", texts[i], y);
    }
    lth_table *table = support_table(ctx, lines.bytes);
    lth__string_free(&lines);
    fixture_free_texts(texts, ROWS);
    return table;
}

/* The same from a file; reasons add up. */
static void check_model(lth_ctx *ctx, const lth_table *table, const char *kernel) {
    lth_error err = {0};
    lth_gp *loaded = NULL;
    lth_reasons *reasons = NULL;
    lth_gp_options options;
    lth_gp_options_init(&options);
    options.restarts = 0;
    options.max_iter = 5;
    lth_gp *gp = support_fit(ctx, kernel, table, 1, &options);
    support_ok(lth_gp_save(gp, "m", &err), &err);
    support_ok(lth_gp_load(ctx, "m", &loaded, &err), &err);
    unlink("m");
    double *a = support_predict(gp, table, false), *b = support_predict(loaded, table, false);
    assert_memory_equal(a, b, 2 * ROWS * sizeof *a);
    for (size_t row = 0; row < ROWS; row++) {
        support_ok(lth_gp_explain(loaded, table, row, NULL, &reasons, &err), &err);
        support_near(lth_reasons_summarise(reasons)->missed, 0, 1e-9);
        lth_reasons_free(reasons);
    }
    free(a);
    free(b);
    lth_gp_free(gp);
    lth_gp_free(loaded);
}

static void models(void **state) {
    (void)state;
    lth_ctx *ctx = support_context(2);
    lth_table *table = make_table(ctx);
    check_model(ctx, table, "wd(text, order=4, shift=2)");
    check_model(ctx, table, "oligo(text, k=2)");
    check_model(ctx, table, "normalize(oligo(text, k=2)) + wd(text, order=3)");
    lth_table_free(table);
    lth_ctx_free(ctx);
}

static lth_status use_all(void *user, lth_error *err) {
    lth_ctx *ctx = ((void **)user)[0];
    lth_table *table = ((void **)user)[1];
    lth_kernel *kernel = NULL;
    lth_encoder *encoder = NULL;
    lth_items *items = NULL;
    lth__gram *gram = NULL;
    double K[ROWS * ROWS], W[ROWS * ROWS] = {1}, grad[16];
    lth_status status =
        lth_kernel_parse(ctx, "wd(text, order=3, shift=1) + oligo(text)", &kernel, err);
    if (status == LTH_OK) status = lth_encoder_create(ctx, kernel, &encoder, err);
    if (status == LTH_OK) status = lth_encode(encoder, table, &items, err);
    if (status == LTH_OK) status = lth_gram(kernel, items, NULL, K, ROWS, err);
    if (status == LTH_OK) status = lth_gram_diagonal(kernel, items, K, err);
    if (status == LTH_OK) status = lth_gram_pull(kernel, items, NULL, W, ROWS, grad, err);
    if (status == LTH_OK) status = lth__gram_create(kernel, items, NULL, &gram, err);
    if (status == LTH_OK) status = lth__gram_values(gram, K, ROWS, err);
    lth__gram_free(gram);
    lth_items_free(items);
    lth_encoder_free(encoder);
    lth_kernel_free(kernel);
    return status;
}

static void each_allocation_fails(void **state) {
    (void)state;
    lth_ctx *ctx = support_context(2);
    void *all[] = {ctx, make_table(ctx)};
    fail_each(use_all, all, false, 20);
    lth_table_free(all[1]);
    lth_ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values),       cmocka_unit_test(default_weights),
        cmocka_unit_test(semidefinite), cmocka_unit_test(gradients),
        cmocka_unit_test(same_bits),    cmocka_unit_test(refused),
        cmocka_unit_test(models),       cmocka_unit_test(each_allocation_fails),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
