/* Derivatives of Gram matrices by every parameter: against differences, and the pull-back against
 * the matrices that it never makes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "engine/engine.h"
#include "fixture.h"
#include "kernel/word/words.h"

static const char vectors[] = "a 1 0 0.5\nb 0.9 0.3 -0.2\nc -1 0.5 0\nd 0 2 1\n";

static const char *const kernels[] = {
    "ssk(text, order=4)",
    "ssk(text, order=4, gap=0.9, match=0.7, weights=[0.5,1,0,2])",
    "ssk(text, order=3, gap=0, match=1.5)",
    "ssk(text, order=3, gap=1)",
    "ssk(text, order=1)",
    "ssk(text, units=chars, order=10, gap=0.3)",
    "ssk(text, order=3, sim=dot, match=0.9)",
    "ssk(text, order=4, sim=cosine, gap=0.2, weights=[1,2,3,4])",
    "ssk(text, order=3, sim=arccos, oov=zero, gap=0)",
    "ssk(text, order=3, sim=exp, temperature=0.7, gap=0.4)",
    "ssk(text, order=3, rarity=0.05, gap=0.6)",
    "ssk(text, units=chars, order=10, rarity=0.3)",
    "rq(normalize(ssk(text, order=3, sim=exp, rarity=0.1, oov=parts)), alpha=0.4)",
    "ssk(text, order=4, sim=exp, ard=3, relevance=[0.3,2,1], gap=0.4, weights=[0.5,1,0,2])",
#if !defined __SANITIZE_THREAD__ && !defined __SANITIZE_ADDRESS__ /* the same code, in minutes */
    "ssk(text, order=1, sim=exp, ard=3, relevance=[0,1,0.5], rarity=0.1, oov=zero)",
    "ssk(text, order=3, sim=cosine, ard=3, relevance=[3,1,0.2], match=0.8, rarity=0.05)",
    "ssk(text, order=3, sim=dot, ard=3, relevance=[0.3,2,1], gap=0, oov=zero)",
    "rq(normalize(ssk(text, order=3, sim=exp, rarity=0.1, oov=parts, ard=3)), alpha=0.4)",
    "normalize(ssk(text, order=2, sim=exp, ard=3)) * ssk(text, order=2, sim=dot, ard=3)",
#endif
    "matern32(ssk(text, order=2, sim=exp, match=0.8), lengthscale=3)",
    "normalize(ssk(text, order=4))",
    "normalize(ssk(text, order=3, gap=0, match=0.5))",
    "normalize(ssk(text, order=3, sim=cosine, match=1.3))",
    "2 * ssk(text, order=2) + 0.5",
    "ssk(text, order=2) + ssk(text, order=3, sim=dot) + normalize(ssk(text, units=chars))",
    "ssk(text, order=2) * ssk(text, units=chars, order=2) * ssk(text, order=2, sim=arccos)",
    "3 * normalize(ssk(text, order=2)) * (0.5 + normalize(ssk(text, units=chars, order=3)))",
    "0 * ssk(text, order=2) * ssk(text, order=2, sim=cosine)",
    "normalize(2 * ssk(text, order=2) + 0.3 * ssk(text, units=chars, order=3) + 0.1)",
    "normalize(normalize(ssk(text, order=2)) * 2 + ssk(text, order=2, sim=dot) * 0.2)",
    "ssk(text, units=chars, order=3, gap=$l=0.6, match=$l)",
    "$v=0.5 * normalize(ssk(text, order=2, gap=$v)) + ssk(text, order=2, gap=$v, weights=$w=2)",
};
enum { KERNELS = sizeof kernels / sizeof *kernels, N = 12 };

/* Random words, an empty text, a repeated one, a long one. */
static char **make_texts(size_t count) {
    lth__random random;
    lth__random_seed(&random, 9);
    char **texts = fixture_texts(&random, count, 12, 6, true);
    texts[0][0] = 0;
    free(texts[1]);
    texts[1] = strdup("a b c d e f a c b d f e c c a b d a b c f e a d b");
    free(texts[2]);
    texts[2] = strdup(texts[3]);
    return texts;
}

static fixture open_kernel(const char *kernel, const lth_ctx_options *options, char **texts,
                           size_t count) {
    fixture f = fixture_open(kernel, options);
    fixture_encode(&f, (const char *const *)texts, count);
    fixture_encode(&f, (const char *const *)texts + 1, count / 2);
    if (lth_kernel_needs_vectors(f.kernel)) fixture_vectors(&f, vectors);
    return f;
}

/* ---- Against differences -------------------------------------------------------------------- */

/* Five points around a value, or from it on where it lies at a bound; the error is h^4. */
typedef struct stencil {
    double offset[5], weight[5];
} stencil;

static const stencil central = {{-2, -1, 0, 1, 2}, {1, -8, 0, 8, -1}};
static const stencil forward = {{0, 1, 2, 3, 4}, {-25, 48, -36, 16, -3}};
static const stencil backward = {{0, -1, -2, -3, -4}, {25, -48, 36, -16, 3}};

static double *difference(const fixture *f, const lth_items *rows, const lth_items *cols, size_t p,
                          size_t cells) {
    lth_param param = *lth_kernel_param(f->kernel, p);
    double h = 1e-3 * fmax(param.value, 0.1), hi = param.tag ? 1 : param.hi; /* ties are to gaps */
    const stencil *s = param.value - 2 * h < param.lo ? &forward
                       : param.value + 2 * h > hi     ? &backward
                                                      : &central;
    double *slope = calloc(cells, sizeof *slope);
    assert_non_null(slope);
    for (size_t n = 0; n < 5; n++) {
        double value = param.value + s->offset[n] * h;
        assert_int_equal(lth_kernel_set(f->kernel, p, value, NULL), LTH_OK);
        double *K = fixture_gram(f, rows, cols);
        for (size_t i = 0; i < cells; i++) slope[i] += s->weight[n] * K[i] / (12 * h);
        free(K);
    }
    assert_int_equal(lth_kernel_set(f->kernel, p, param.value, NULL), LTH_OK);
    return slope;
}

/* Setting a tied parameter sets all of its tag: their derivatives add up. */
static void add_tied(const fixture *f, const double *G, size_t p, size_t cells, double *sum) {
    lth_param param = *lth_kernel_param(f->kernel, p);
    for (size_t q = 0; q < lth_kernel_params(f->kernel); q++) {
        lth_param other = *lth_kernel_param(f->kernel, q);
        bool tied = param.tag && other.tag && strcmp(param.tag, other.tag) == 0;
        if (q != p && !tied) continue;
        for (size_t i = 0; i < cells; i++) sum[i] += G[q * cells + i];
    }
}

static void check_differences(const fixture *f, const lth_items *rows, const lth_items *cols) {
    size_t cells = lth_items_count(rows) * lth_items_count(cols ? cols : rows);
    double *G = fixture_gradients(f, rows, cols), *K = fixture_gram(f, rows, cols);
    for (size_t p = 0; p < lth_kernel_params(f->kernel); p++) {
        double *wanted = difference(f, rows, cols, p, cells), *got = calloc(cells, sizeof *got);
        assert_non_null(got);
        add_tied(f, G, p, cells, got);
        for (size_t i = 0; i < cells; i++) {
            if (fabs(got[i] - wanted[i]) <= 1e-7 * (fabs(wanted[i]) + fabs(K[i])) + 1e-10) continue;
            print_error("%s at %zu: %.12g is not %.12g\n", lth_kernel_param(f->kernel, p)->path, i,
                        got[i], wanted[i]);
            fail();
        }
        free(wanted);
        free(got);
    }
    free(G);
    free(K);
}

static void test_differences(void **state) {
    (void)state;
    char **texts = make_texts(N);
    for (size_t k = 0; k < KERNELS; k++) {
        fixture f = open_kernel(kernels[k], NULL, texts, N);
        check_differences(&f, f.items[0], NULL);
        check_differences(&f, f.items[0], f.items[1]);
        fixture_close(&f);
    }
    fixture_free_texts(texts, N);
}

/* Short texts are compared in a way of their own, and meet others in one tile: the values of pairs
 * are those that they have by themselves. */
static void test_short_and_long_texts(void **state) {
    (void)state;
    static const char *const soft[] = {
        "normalize(ssk(text, order=3, sim=exp, rarity=0.1))",
        "ssk(text, order=2, sim=dot, weights=[1,0.01])",
    };
    lth__random random;
    lth__random_seed(&random, 5);
    char **texts = fixture_texts(&random, N, 2 * LTH__SHORT, 4, true);
    for (size_t k = 0; k < sizeof soft / sizeof *soft; k++) {
        fixture f = open_kernel(soft[k], NULL, texts, N);
        check_differences(&f, f.items[0], NULL);
        check_differences(&f, f.items[0], f.items[1]);
        double *K = fixture_gram(&f, f.items[0], NULL);
        for (size_t i = 3; i < 5; i++) {
            const lth_items *one = fixture_encode(&f, (const char *const *)texts + i, 1);
            double *row = fixture_gram(&f, one, f.items[0]);
            fixture_check_near(row, K + i * N, N, 1e-13, 1e-13);
            free(row);
        }
        free(K);
        fixture_close(&f);
    }
    fixture_free_texts(texts, N);
}

/* ---- The pull-back -------------------------------------------------------------------------- */

static double *random_weights(uint64_t seed, size_t rows, size_t ld, bool symmetric) {
    lth__random random;
    lth__random_seed(&random, seed);
    double *W = malloc(rows * ld * sizeof *W);
    assert_non_null(W);
    for (size_t i = 0; i < rows * ld; i++) W[i] = 2 * lth__random_uniform(&random) - 1;
    for (size_t i = 0; symmetric && i < rows; i++) {
        for (size_t j = 0; j < i; j++) W[i * ld + j] = W[j * ld + i];
    }
    return W;
}

/* grad_p = sum W G_p, with the rounding of a sum of that size. */
static void check_contraction(const fixture *f, const lth_items *rows, const lth_items *cols,
                              const double *W, size_t ld, const double *grad, double tolerance) {
    size_t n = lth_items_count(rows), m = lth_items_count(cols ? cols : rows);
    double *G = fixture_gradients(f, rows, cols);
    for (size_t p = 0; p < lth_kernel_params(f->kernel); p++) {
        double sum = 0, scale = 0;
        for (size_t i = 0; i < n * m; i++) {
            double term = W[i / m * ld + i % m] * G[p * n * m + i];
            sum += term;
            scale += fabs(term);
        }
        if (fabs(grad[p] - sum) <= tolerance * scale) continue;
        print_error("%s: %.17g is not %.17g\n", lth_kernel_param(f->kernel, p)->path, grad[p], sum);
        fail();
    }
    free(G);
}

static void check_pull(const fixture *f, const lth_items *rows, const lth_items *cols,
                       bool symmetric) {
    size_t n = lth_items_count(rows), ld = lth_items_count(cols ? cols : rows) + 2;
    double grad[64], *W = random_weights(n + ld, n, ld, symmetric);
    assert_int_equal(lth_gram_pull(f->kernel, rows, cols, W, ld, grad, NULL), LTH_OK);
    check_contraction(f, rows, cols, W, ld, grad, 1e-11);
    free(W);
}

static void test_pull_is_the_contraction(void **state) {
    (void)state;
    char **texts = make_texts(N);
    for (size_t k = 0; k < KERNELS; k++) {
        for (int dropping = LTH_DROP_ON; dropping <= LTH_DROP_OFF; dropping++) {
            lth_ctx_options options;
            lth_ctx_options_init(&options);
            options.dropping = (lth_dropping)dropping;
            fixture f = open_kernel(kernels[k], &options, texts, N);
            check_pull(&f, f.items[0], NULL, true);
            check_pull(&f, f.items[0], NULL, false);
            check_pull(&f, f.items[0], f.items[1], false);
            check_pull(&f, f.items[1], f.items[0], false);
            fixture_close(&f);
        }
    }
    fixture_free_texts(texts, N);
}

/* Tiles of several rows, crossed by the diagonal: no pair may count twice. */
static void test_pull_of_many_rows(void **state) {
    (void)state;
    enum { MANY = 300 };
    lth__random random;
    lth__random_seed(&random, 10);
    char **texts = fixture_texts(&random, MANY, 7, 4, true);
    lth_ctx_options options;
    lth_ctx_options_init(&options);
    options.threads = 2;
    fixture f = open_kernel("2 * normalize(ssk(text, order=2)) + 0.5", &options, texts, MANY);
    check_pull(&f, f.items[0], NULL, false);
    check_pull(&f, f.items[0], f.items[1], false);
    fixture_close(&f);
    fixture_free_texts(texts, MANY);
}

/* Rows too long for a tile's worth of them to be summed at once; under a sanitizer few of them. */
static void test_pull_of_long_rows(void **state) {
    (void)state;
#if !defined __SANITIZE_THREAD__ && !defined __SANITIZE_ADDRESS__
    enum { MANY = 60 };
#else
    enum { MANY = 6 };
#endif
    lth__random random;
    lth__random_seed(&random, 11);
    char **texts = fixture_texts(&random, MANY, 300, 6, true);
    fixture f = open_kernel("normalize(ssk(text, order=2, sim=exp, ard=3, relevance=[0.5,2,1]))",
                            NULL, texts, MANY);
    check_pull(&f, f.items[0], NULL, false);
    check_pull(&f, f.items[0], f.items[1], false);
    fixture_close(&f);
    fixture_free_texts(texts, MANY);
}

static void test_same_bits_for_any_threads(void **state) {
    (void)state;
    enum { MANY = 40 };
    char **texts = make_texts(MANY);
    double *W = random_weights(5, MANY, MANY, false);
    for (size_t k = 0; k < KERNELS; k++) {
        double first[64], *G = NULL;
        for (unsigned threads = 1; threads <= 3; threads++) {
            lth_ctx_options options;
            lth_ctx_options_init(&options);
            options.threads = threads;
            fixture f = open_kernel(kernels[k], &options, texts, MANY);
            size_t params = lth_kernel_params(f.kernel);
            double grad[64], *each = fixture_gradients(&f, f.items[0], NULL);
            assert_int_equal(lth_gram_pull(f.kernel, f.items[0], NULL, W, MANY, grad, NULL),
                             LTH_OK);
            if (threads == 1) {
                memcpy(first, grad, sizeof first);
                G = each;
            } else {
                assert_memory_equal(grad, first, params * sizeof *grad);
                assert_memory_equal(each, G, params * MANY * MANY * sizeof *each);
                free(each);
            }
            fixture_close(&f);
        }
        free(G);
    }
    free(W);
    fixture_free_texts(texts, MANY);
}

/* ---- Every instruction set, floats, no table ------------------------------------------------ */

static void test_every_instruction_set(void **state) {
    (void)state;
    char **texts = make_texts(N);
    double *W = random_weights(6, N, N, false);
    for (size_t k = 0; k < KERNELS; k++) {
        fixture exact = open_kernel(kernels[k], NULL, texts, N);
        for (size_t i = 0; lth_isa_available(i); i++) {
            for (int precision = 0; precision < 2; precision++) {
                lth_ctx_options options;
                lth_ctx_options_init(&options);
                options.isa = lth_isa_available(i);
                options.precision = (lth_precision)precision;
                fixture f = open_kernel(kernels[k], &options, texts, N);
                double grad[64];
                assert_int_equal(lth_gram_pull(f.kernel, f.items[0], NULL, W, N, grad, NULL),
                                 LTH_OK);
                check_contraction(&exact, exact.items[0], NULL, W, N, grad,
                                  precision == LTH_F32 ? 1e-4 : 1e-11);
                fixture_close(&f);
            }
        }
        fixture_close(&exact);
    }
    free(W);
    fixture_free_texts(texts, N);
}

/* More rows than a slice: the weighted diagonals of all gradients. */
static void test_pull_of_diagonals(void **state) {
    (void)state;
    enum { ROWS = 515 };
    lth__random random;
    lth__random_seed(&random, 3);
    char **texts = fixture_texts(&random, ROWS, 5, 4, true);
    for (size_t k = 0; k < KERNELS; k++) {
        fixture f = open_kernel(kernels[k], NULL, texts, ROWS);
        double w[ROWS], grad[32], wanted[32] = {0}, scale[32] = {0};
        for (size_t i = 0; i < ROWS; i++) w[i] = 2 * lth__random_uniform(&random) - 1;
        assert_int_equal(lth_gram_diagonal_pull(f.kernel, f.items[0], w, grad, NULL), LTH_OK);
        size_t params = lth_kernel_params(f.kernel);
        for (size_t i = 0; i < ROWS; i += 5) { /* rows five by five: small matrices */
            double *G;
            lth_items *few = NULL;
            assert_int_equal(lth__items_slice(f.items[0], i, 5, &few, NULL), LTH_OK);
            G = fixture_gradients(&f, few, NULL);
            for (size_t p = 0; p < params; p++) {
                for (size_t j = 0; j < 5; j++) {
                    wanted[p] += w[i + j] * G[p * 25 + j * 6];
                    scale[p] += fabs(w[i + j] * G[p * 25 + j * 6]);
                }
            }
            free(G);
            lth_items_free(few);
        }
        for (size_t p = 0; p < params; p++)
            assert_true(fabs(grad[p] - wanted[p]) <= 1e-10 * scale[p] + 1e-13);
        fixture_close(&f);
    }
    fixture_free_texts(texts, ROWS);
}

static void check_without_a_table(const char *kernel) {
    char **texts = make_texts(N);
    fixture f = open_kernel(kernel, NULL, texts, N);
    size_t cells = lth_kernel_params(f.kernel) * N * N;
    double *G = fixture_gradients(&f, f.items[0], NULL);
    lth__similarity *s = lth__words_of(&f.encoder->lexicons[0])->similarities;
    assert_true(s && (s->table[LTH__SIM_VALUE] || s->table[LTH__SIM_BASIS]));
    lth__free(s->table[LTH__SIM_VALUE]);
    lth__free(s->table[LTH__SIM_BASIS]);
    s->table[LTH__SIM_VALUE] = s->table[LTH__SIM_BASIS] = NULL;
    double *again = fixture_gradients(&f, f.items[0], NULL);
    fixture_check_near(again, G, cells, 1e-12, 1e-12);
    check_pull(&f, f.items[0], f.items[1], false);
    free(G);
    free(again);
    fixture_close(&f);
    fixture_free_texts(texts, N);
}

static void test_without_a_table(void **state) {
    (void)state;
    check_without_a_table("normalize(ssk(text, order=3, sim=dot))");
    check_without_a_table("normalize(ssk(text, order=3, sim=exp, ard=3, relevance=[0.2,2,1]))");
}

/* cat and car: k2 = match^4 for the pair, match^4 (2 + gap^2) for each with itself. */
static void test_known_values(void **state) {
    (void)state;
    const char *const texts[] = {"cat", "car"};
    fixture f =
        fixture_open("ssk(text, units=chars, order=2, gap=0.5, match=0.5, weights=[0,1])", NULL);
    double *G = fixture_gradients(&f, fixture_encode(&f, texts, 2), NULL);
    const double wanted[] = {0.0625, 0,   0,   0.0625, 1.125,    0.5,    0.5,    1.125,
                             0.75,   0.5, 0.5, 0.75,   0.140625, 0.0625, 0.0625, 0.140625};
    fixture_check_near(G, wanted, 16, 1e-15, 0);
    free(G);
    fixture_close(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_differences),
        cmocka_unit_test(test_short_and_long_texts),
        cmocka_unit_test(test_pull_is_the_contraction),
        cmocka_unit_test(test_pull_of_many_rows),
        cmocka_unit_test(test_pull_of_long_rows),
        cmocka_unit_test(test_same_bits_for_any_threads),
        cmocka_unit_test(test_every_instruction_set),
        cmocka_unit_test(test_pull_of_diagonals),
        cmocka_unit_test(test_without_a_table),
        cmocka_unit_test(test_known_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
