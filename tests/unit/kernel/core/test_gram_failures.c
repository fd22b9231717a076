/* Gram matrices: what goes with them, what is refused, and what cannot be computed. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fixture.h"

static const char *const texts[] = {"the cat sat on the mat", "", "on the mat sat the cat", "cat",
                                    "a dog sat on a cat on a mat"};
enum { N = sizeof texts / sizeof *texts };

/* ---- Diagonals, orders, costs --------------------------------------------------------------- */

static void test_diagonal(void **state) {
    (void)state;
    static const char *const kernels[] = {
        "ssk(text)",
        "ssk(text, sim=dot)",
        "normalize(ssk(text, sim=cosine))",
        "2 * ssk(text) + 3 * normalize(ssk(text, units=chars)) * ssk(text) + 1",
    };
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
        fixture f = fixture_open(kernels[k], NULL);
        const lth_items *rows = fixture_encode(&f, texts, N);
        if (lth_kernel_needs_vectors(f.kernel)) fixture_vectors(&f, "cat 1 2\nmat 2 -1\non 1 1\n");
        double *K = fixture_gram(&f, rows, NULL), diagonal[N];
        assert_int_equal(lth_gram_diagonal(f.kernel, rows, diagonal, NULL), LTH_OK);
        for (size_t i = 0; i < N; i++) fixture_check_near(&diagonal[i], &K[i * N + i], 1, 1e-12, 0);
        free(K);
        fixture_close(&f);
    }
}

static void test_orders_add_up(void **state) {
    (void)state;
    const double weights[] = {0.5, 2, 0, 1.25};
    fixture f =
        fixture_open("ssk(text, order=4, gap=0.7, match=1.5, weights=[0.5,2,0,1.25])", NULL);
    const lth_items *rows = fixture_encode(&f, texts, N);
    const lth_items *cols = fixture_encode(&f, texts + 2, 2);
    double *K = fixture_gram(&f, rows, cols), *orders = fixture_orders(&f, rows, cols);
    for (size_t i = 0; i < 2 * N; i++) {
        double sum = 0;
        for (size_t o = 0; o < 4; o++) sum += weights[o] * orders[o * 2 * N + i];
        fixture_check_near(&sum, &K[i], 1, 1e-12, 0);
    }
    /* "cat" with itself: one match, squared. */
    assert_true(orders[3 * 2 + 1] == 1.5 * 1.5);
    free(K);
    free(orders);
    fixture_close(&f);
}

/* A matrix inside a larger one: what lies between the rows is not touched. */
static void test_leading_dimension(void **state) {
    (void)state;
    enum { LD = N + 3 };
    fixture f = fixture_open("ssk(text)", NULL);
    const lth_items *rows = fixture_encode(&f, texts, N);
    double *K = fixture_gram(&f, rows, NULL), wide[N * LD];
    for (size_t i = 0; i < N * LD; i++) wide[i] = -7;
    assert_int_equal(lth_gram(f.kernel, rows, NULL, wide, LD, NULL), LTH_OK);
    for (size_t i = 0; i < N * LD; i++)
        assert_true(wide[i] == (i % LD < N ? K[i / LD * N + i % LD] : -7));
    free(K);
    fixture_close(&f);
}

static void test_cell_orders(void **state) {
    (void)state;
    fixture f = fixture_open("ssk(text, order=3) * ssk(text, units=chars, order=2)", NULL);
    const char *const three[] = {"a b", "a", ""}, *const one[] = {"c c c"};
    const lth_items *rows = fixture_encode(&f, three, 3), *cols = fixture_encode(&f, one, 1);
    /* Words: 2, 1, 0 with 3; chars: 3, 1, 0 with 5. */
    assert_true(lth_gram_cell_orders(f.kernel, rows, cols) == 3 * (3 * 3) + 2 * (4 * 5));
    assert_true(lth_gram_cell_orders(f.kernel, rows, NULL) ==
                3 * (2 * 2 + 2 * 1 + 1 * 1) + 2 * (3 * 3 + 3 * 1 + 1 * 1));
    fixture_close(&f);
}

/* ---- Numbers that do not fit ---------------------------------------------------------------- */

static void check_overflow_of(const char *kernel, lth_precision precision, bool even_normalized,
                              size_t bad) {
    char text[201];
    memset(text, 'a', 200);
    text[200] = 0;
    const char *const rows_text[] = {bad == 1 ? text : "b", bad == 2 ? text : "b"};
    char wanted[200];
    snprintf(wanted, sizeof wanted,
             even_normalized ? "the self-similarity of row %zu is not finite; use f64, a lower "
                               "order or a smaller gap"
                             : "the kernel of rows %zu and %zu is too large for a number; use f64, "
                               "normalize(), a lower order or a smaller gap",
             bad, bad);
    lth_ctx_options options;
    lth_ctx_options_init(&options);
    options.precision = precision;
    options.dropping = LTH_DROP_OFF;
    fixture f = fixture_open(kernel, &options);
    const lth_items *rows = fixture_encode(&f, rows_text, 2);
    lth_error err = {0};
    double K[4], W[4] = {1, 1, 1, 1}, diagonal[2], grad[80], *G = calloc(80 * 4, sizeof *G);
    assert_true(lth_kernel_params(f.kernel) <= 80);
    assert_int_equal(lth_gram(f.kernel, rows, NULL, K, 2, &err), LTH_ENUMERIC);
    assert_int_equal(err.status, LTH_ENUMERIC);
    assert_string_equal(err.message, wanted);
    assert_int_equal(lth_gram_diagonal(f.kernel, rows, diagonal, NULL), LTH_ENUMERIC);
    assert_int_equal(lth_gram_pull(f.kernel, rows, NULL, W, 2, grad, NULL), LTH_ENUMERIC);
    assert_int_equal(lth_gram_gradients(f.kernel, rows, NULL, G, NULL), LTH_ENUMERIC);
    free(G);
    fixture_close(&f);
}

static void check_overflow(const char *kernel, lth_precision precision, bool even_normalized) {
    check_overflow_of(kernel, precision, even_normalized, 1);
    check_overflow_of(kernel, precision, even_normalized, 2);
}

static void test_overflow(void **state) {
    (void)state;
    check_overflow("ssk(text, units=chars, order=40, gap=1)", LTH_F32, false);
    check_overflow("normalize(ssk(text, units=chars, order=40, gap=1))", LTH_F32, true);
    check_overflow("ssk(text, units=chars, order=64, match=1000)", LTH_F64, false);
    check_overflow("1e12 * ssk(text, units=chars, order=50, match=500) * 1e12", LTH_F64, false);

    /* What does not fit a float fits a double. */
    char text[201];
    memset(text, 'a', 200);
    text[200] = 0;
    fixture f = fixture_open("ssk(text, units=chars, order=40, gap=1)", NULL);
    const char *const rows[] = {text};
    double *K = fixture_gram(&f, fixture_encode(&f, rows, 1), NULL);
    assert_true(K[0] > 1e80 && isfinite(K[0]));
    free(K);
    fixture_close(&f);
}

/* ---- Canceling ------------------------------------------------------------------------------ */

typedef struct listener {
    const char *cancel_at; /* what is to be canceled, NULL = nothing */
    size_t calls;
    double done, total;
    char log[512];
} listener;

static int listen(void *user, const char *what, double done, double total) {
    listener *l = user;
    l->calls++;
    l->done = done;
    l->total = total;
    return l->cancel_at && strcmp(what, l->cancel_at) == 0;
}

static void take_log(void *user, lth_log_level level, const char *text) {
    listener *l = user;
    assert_int_equal(level, LTH_LOG_WARNING);
    snprintf(l->log + strlen(l->log), sizeof l->log - strlen(l->log), "%s\n", text);
}

static void test_cancel(void **state) {
    (void)state;
    static const char *const works[] = {"Gram matrix", "self-similarities", "word similarities"};
    for (size_t i = 0; i < 3; i++) {
        listener l = {.cancel_at = works[i]};
        lth_ctx_options options;
        lth_ctx_options_init(&options);
        options.progress = listen;
        options.user = &l;
        options.threads = 2;
        fixture f = fixture_open("normalize(ssk(text, sim=dot))", &options);
        const lth_items *rows = fixture_encode(&f, texts, N);
        fixture_vectors(&f, "cat 1 2\nmat 2 -1\non 1 1\n");
        double K[N * N], grad[8];
        lth_error err = {0};
        assert_int_equal(lth_gram(f.kernel, rows, NULL, K, N, &err), LTH_ECANCELED);
        assert_int_equal(err.status, LTH_ECANCELED);
        assert_int_equal(lth_gram_pull(f.kernel, rows, NULL, K, N, grad, NULL), LTH_ECANCELED);
        assert_true(l.calls > 0);
        l = (listener){0};
        assert_int_equal(lth_gram(f.kernel, rows, NULL, K, N, &err), LTH_OK);
        assert_true(l.calls > 0 && l.done == l.total && l.total > 0);
        fixture_close(&f);
    }
}

static void test_warning_of_empty_items(void **state) {
    (void)state;
    listener l = {0};
    lth_ctx_options options;
    lth_ctx_options_init(&options);
    options.log = take_log;
    options.user = &l;
    fixture f = fixture_open("normalize(ssk(text))", &options);
    free(fixture_gram(&f, fixture_encode(&f, texts, N), NULL));
    assert_string_equal(l.log, "1 of 5 texts are empty or too short to compare (the first is row "
                               "2): their normalised kernel is 0\n");
    fixture_close(&f);
}

/* ---- What is refused ------------------------------------------------------------------------ */

static void test_items_of_another_kernel(void **state) {
    (void)state;
    static const char message[] = "the items were not encoded for this kernel together";
    fixture f = fixture_open("ssk(text)", NULL), g = fixture_open("ssk(text)", NULL);
    const lth_items *own = fixture_encode(&f, texts, N), *strange = fixture_encode(&g, texts, N);
    lth_error err = {0};
    double K[5 * N * N], grad[7];
    assert_int_equal(lth_gram(f.kernel, strange, NULL, K, N, &err), LTH_EARG);
    assert_string_equal(err.message, message);
    assert_int_equal(lth_gram(f.kernel, own, strange, K, N, &err), LTH_EARG);
    assert_int_equal(lth_gram(f.kernel, strange, own, K, N, &err), LTH_EARG);
    assert_int_equal(lth_gram_diagonal(f.kernel, strange, K, &err), LTH_EARG);
    assert_int_equal(lth_gram_pull(f.kernel, strange, NULL, K, N, grad, &err), LTH_EARG);
    assert_int_equal(lth_gram_orders(f.kernel, own, strange, K, &err), LTH_EARG);
    assert_string_equal(err.message, message);
    fixture_close(&f);
    fixture_close(&g);
}

static void test_what_a_kernel_lacks(void **state) {
    (void)state;
    lth_error err = {0};
    double K[N * N];
    fixture f = fixture_open("normalize(ssk(text))", NULL);
    const lth_items *rows = fixture_encode(&f, texts, N);
    assert_int_equal(lth_gram_orders(f.kernel, rows, NULL, K, &err), LTH_EARG);
    assert_string_equal(err.message, "only a string kernel by itself, ssk(...), has orders");
    fixture_close(&f);

    f = fixture_open("ssk(text, sim=dot)", NULL);
    rows = fixture_encode(&f, texts, N);
    assert_int_equal(lth_gram(f.kernel, rows, NULL, K, N, &err), LTH_EARG);
    assert_string_equal(err.message, "this kernel matches words by vectors, but none were read");
    fixture_close(&f);

    f = fixture_open("ssk(body)", NULL);
    lth_table *table = NULL;
    lth_items *items = NULL;
    assert_int_equal(lth_table_from_texts(f.ctx, "text", texts, NULL, N, &table, &err), LTH_OK);
    assert_int_equal(lth_encode(f.encoder, table, &items, &err), LTH_EFORMAT);
    assert_null(items);
    assert_string_equal(err.message, "no column \"body\"");
    lth_table_free(table);
    fixture_close(&f);
}

static void test_contexts(void **state) {
    (void)state;
    lth_ctx_options options;
    lth_ctx_options_init(&options);
    lth_ctx *ctx = NULL;
    lth_error err = {0};
    options.isa = "mmx";
    assert_int_equal(lth_ctx_create(&options, &ctx, &err), LTH_EARG);
    assert_null(ctx);
#if defined(__x86_64__)
    assert_string_equal(err.message,
                        "unknown instruction set \"mmx\"; there are avx512, avx2 and portable");
#elif defined(__aarch64__) && defined(__linux__)
    assert_string_equal(err.message,
                        "unknown instruction set \"mmx\"; there are sve256, neon and portable");
#endif
    options.isa = "portable";
    options.threads = 0;
    assert_int_equal(lth_ctx_create(&options, &ctx, &err), LTH_OK);
    assert_string_equal(lth_ctx_isa(ctx), "portable");
    assert_true(lth_ctx_threads(ctx) >= 1);
    lth_ctx_free(ctx);
    options.precision = (lth_precision)7;
    assert_int_equal(lth_ctx_create(&options, &ctx, &err), LTH_EARG);
    lth_items_free(NULL);
    lth_encoder_free(NULL);
    lth_ctx_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_diagonal),
        cmocka_unit_test(test_orders_add_up),
        cmocka_unit_test(test_leading_dimension),
        cmocka_unit_test(test_cell_orders),
        cmocka_unit_test(test_overflow),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_warning_of_empty_items),
        cmocka_unit_test(test_items_of_another_kernel),
        cmocka_unit_test(test_what_a_kernel_lacks),
        cmocka_unit_test(test_contexts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
