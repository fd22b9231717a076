/* The same Gram matrix for many values of the parameters: what is kept from one evaluation to the
 * next must never show. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fixture.h"
#include "kernel/core/gram.h"

enum { N = 60, LD = N + 3, ROUNDS = 4 };

static const char vectors[] = "a 1 0 0.5\nb 0.9 0.3 -0.2\nc -1 0.5 0\nd 0 2 1\ne 0.3 -1 0.4\n";

static const char *const kernels[] = {
    "ssk(text, order=4)",
    "ssk(text, order=3, gap=0.3, match=0.9, weights=[1,0.5,2])",
    "ssk(text, order=3, sim=cosine)",
    "ssk(text, order=3, sim=exp, temperature=0.7, rarity=0.1, gap=0.3)", /* three directions */
    "ssk(text, order=2, sim=dot) + normalize(ssk(text, units=chars, order=3))",
    "2 * normalize(ssk(text, order=3, sim=arccos)) + 0.5",
    "rq(normalize(ssk(text, order=3, sim=exp, rarity=0.1, ard=3)))",
    "rbf(normalize(ssk(text, order=3)))",
    "rq(ssk(text, order=2), lengthscale=5) * normalize(ssk(text, order=2, sim=cosine))",
    "ssk(text, order=2, gap=$g=0.4) + ssk(text, units=chars, order=3, gap=$g)",
    "linear(bow(text))",
    "rbf(tfidf(text)) * ssk(text, order=2) + linear(ngrams(text, n=[1,2])) + rbf(ngrams(text))",
};
enum { KERNELS = sizeof kernels / sizeof *kernels };

typedef struct session {
    fixture f;
    lth__gram *gram;
    double *K, *wanted, *W;
} session;

static double *room(size_t count) {
    double *x = calloc(count, sizeof *x);
    assert_non_null(x);
    return x;
}

/* With a long word for "f", so that what is short in words may be long in letters: then columns of
 * a kind lie apart. */
static char *lengthen(char *text) {
    char *out = calloc(strlen(text) * 12 + 1, 1), *to = out;
    assert_non_null(out);
    for (const char *at = text; *at; at++) {
        size_t times = *at == 'f' ? 12 : 1;
        memset(to, *at, times);
        to += times;
    }
    free(text);
    return out;
}

static session open_session(const char *kernel, lth_dropping dropping, unsigned threads) {
    lth__random random;
    lth__random_seed(&random, 12);
    char **texts = fixture_texts(&random, N, 7, 6, true);
    free(texts[5]);
    texts[0][0] = 0;
    texts[5] = strdup(texts[6]);
    for (size_t i = 0; i < N; i++) texts[i] = lengthen(texts[i]);
    lth_ctx_options options;
    lth_ctx_options_init(&options);
    options.dropping = dropping;
    options.threads = threads;
    session s = {.f = fixture_open(kernel, &options)};
    fixture_encode(&s.f, (const char *const *)texts, N);
    fixture_free_texts(texts, N);
    if (lth_kernel_needs_vectors(s.f.kernel)) fixture_vectors(&s.f, vectors);
    assert_int_equal(lth__gram_create(s.f.kernel, s.f.items[0], NULL, &s.gram, NULL), LTH_OK);
    s.K = room(N * LD);
    s.wanted = room(N * LD);
    s.W = room(N * LD);
    for (size_t i = 0; i < N; i++) {
        for (size_t j = 0; j <= i; j++)
            s.W[i * LD + j] = s.W[j * LD + i] = 2 * lth__random_uniform(&random) - 1;
    }
    return s;
}

static void close_session(session *s) {
    lth__gram_free(s->gram);
    free(s->K);
    free(s->wanted);
    free(s->W);
    fixture_close(&s->f);
}

/* Another value within the bounds, not far from the first. */
static void change(lth_kernel *kernel, size_t p, lth__random *random) {
    lth_param param = *lth_kernel_param(kernel, p);
    double value = fmax(param.value, 0.05) * (0.7 + 0.6 * lth__random_uniform(random));
    double hi = strstr(param.path, "gap") ? 0.95 : param.hi;
    assert_int_equal(lth_kernel_set(kernel, p, fmin(value, hi), NULL), LTH_OK);
}

/* Everything; all but the gaps, so that what is kept is used; one gap; nothing. */
static void change_some(lth_kernel *kernel, size_t round, lth__random *random) {
    for (size_t p = 0; p < lth_kernel_params(kernel); p++) {
        bool gap = strstr(lth_kernel_param(kernel, p)->path, "gap") != NULL;
        if (round == 1 || (round == 2 && !gap) || (round == 3 && gap)) change(kernel, p, random);
    }
}

static void check_values(session *s) {
    for (size_t i = 0; i < N * LD; i++) s->K[i] = s->wanted[i] = -7;
    assert_int_equal(lth__gram_values(s->gram, s->K, LD, NULL), LTH_OK);
    assert_int_equal(lth_gram(s->f.kernel, s->f.items[0], NULL, s->wanted, LD, NULL), LTH_OK);
    for (size_t i = 0; i < N; i++) {
        for (size_t j = 0; j < N; j++) {
            /* Soft matches cancel: the unit of rounding is the geometric mean of the
             * self-similarities. */
            double scale = sqrt(fabs(s->wanted[i * LD + i] * s->wanted[j * LD + j]));
            fixture_check_near(&s->K[i * LD + j], &s->wanted[i * LD + j], 1, 0, 1e-12 * scale);
            assert_true(s->K[i * LD + j] == s->K[j * LD + i]);
        }
        for (size_t j = N; j < LD; j++) assert_true(s->K[i * LD + j] == -7);
    }
}

/* Against the pull-back without anything kept, with the rounding of a sum of that size. */
static void check_pull(session *s) {
    double grad[32], wanted[32], *G = fixture_gradients(&s->f, s->f.items[0], NULL);
    assert_int_equal(lth__gram_pull(s->gram, s->W, LD, grad, NULL), LTH_OK);
    assert_int_equal(lth_gram_pull(s->f.kernel, s->f.items[0], NULL, s->W, LD, wanted, NULL),
                     LTH_OK);
    for (size_t p = 0; p < lth_kernel_params(s->f.kernel); p++) {
        double scale = 0;
        for (size_t i = 0; i < N * N; i++)
            scale += fabs(s->W[i / N * LD + i % N] * G[p * N * N + i]);
        assert_true(scale > 0);
        if (fabs(grad[p] - wanted[p]) <= 1e-12 * scale) continue;
        print_error("%s: %.17g is not %.17g\n", lth_kernel_param(s->f.kernel, p)->path, grad[p],
                    wanted[p]);
        fail();
    }
    free(G);
}

static void test_many_evaluations(void **state) {
    (void)state;
    for (size_t k = 0; k < KERNELS; k++) {
        for (int dropping = LTH_DROP_AUTO; dropping <= LTH_DROP_OFF; dropping++) {
            lth__random random;
            lth__random_seed(&random, k);
            session s = open_session(kernels[k], (lth_dropping)dropping, 1 + k % 2);
            for (size_t round = 0; round < ROUNDS; round++) {
                change_some(s.f.kernel, round % 4, &random);
                check_values(&s);
                check_pull(&s);
                if (round == 0) check_pull(&s);   /* twice at the same values */
                if (round == 1) check_values(&s); /* likewise */
            }
            close_session(&s);
        }
    }
}

/* ---- The lower triangle, packed ---- */

/* The same numbers as in a whole matrix, bit by bit, and nothing else in the triangle. */
static void check_packed(session *s) {
    lth__packed K = lth__packed_layout(N), single = K, W = K;
    double *cells = K.cells = room(lth__packed_count(N)), grad[32], wanted[32];
    W.cells = room(lth__packed_count(N));
    single.singles = calloc(lth__packed_count(N), sizeof *single.singles);
    for (size_t i = 0; i < lth__packed_count(N); i++) cells[i] = NAN;
    assert_int_equal(lth__gram_values(s->gram, s->K, LD, NULL), LTH_OK);
    assert_int_equal(lth__gram_values_packed(s->gram, &single, NULL), LTH_OK);
    assert_int_equal(lth__gram_values_packed(s->gram, &K, NULL), LTH_OK);
    for (size_t i = 0; i < N; i++) {
        for (size_t j = 0; j < N; j++) {
            size_t at = lth__packed_row(&K, i) + j;
            if (j > i) continue;
            assert_true(cells[at] == s->K[i * LD + j]);
            assert_true(single.singles[at] == (float)cells[at]);
            W.cells[at] = s->W[i * LD + j];
        }
    }
    assert_int_equal(lth__gram_pull_packed(s->gram, &W, grad, NULL), LTH_OK);
    assert_int_equal(lth__gram_pull(s->gram, s->W, LD, wanted, NULL), LTH_OK);
    assert_memory_equal(grad, wanted, lth_kernel_params(s->f.kernel) * sizeof *grad);
    free(cells);
    free(W.cells);
    free(single.singles);
}

static void test_packed(void **state) {
    (void)state;
    for (size_t k = 0; k < KERNELS; k++) {
        session s = open_session(kernels[k], LTH_DROP_AUTO, k % 2 ? 3 : 1);
        check_packed(&s);
        check_values(&s); /* a whole one afterwards */
        check_pull(&s);
        close_session(&s);
    }
}

static void test_too_large_for_single(void **state) {
    (void)state;
    session s = open_session("1e12 * 1e12 * 1e12 * 1e3 * ssk(text, order=4)", LTH_DROP_AUTO, 2);
    lth__packed K = lth__packed_layout(N);
    lth_error err;
    K.singles = calloc(lth__packed_count(N), sizeof *K.singles);
    assert_int_equal(lth__gram_values_packed(s.gram, &K, &err), LTH_ENUMERIC);
    assert_non_null(strstr(err.message, "single precision"));
    free(K.singles);
    close_session(&s);
}

/* The pull-back is at the values of the last lth__gram_values(), even when they changed since. */
static void test_pull_is_where_the_values_were(void **state) {
    (void)state;
    session s = open_session("normalize(ssk(text, order=3))", LTH_DROP_OFF, 1);
    double before[8], after[8];
    assert_int_equal(lth__gram_values(s.gram, s.K, LD, NULL), LTH_OK);
    assert_int_equal(lth__gram_pull(s.gram, s.W, LD, before, NULL), LTH_OK);
    assert_int_equal(lth_kernel_set_path(s.f.kernel, "ssk.gap", 0.9, NULL), LTH_OK);
    assert_int_equal(lth__gram_pull(s.gram, s.W, LD, after, NULL), LTH_OK);
    assert_memory_equal(before, after, lth_kernel_params(s.f.kernel) * sizeof *before);
    close_session(&s);
}

/* There and back again gives the same bits. */
static void test_return_to_old_values(void **state) {
    (void)state;
    for (size_t k = 0; k < KERNELS; k++) {
        session s = open_session(kernels[k], LTH_DROP_AUTO, 2);
        size_t params = lth_kernel_params(s.f.kernel);
        double old[32], first[32], again[32];
        for (size_t p = 0; p < params; p++) old[p] = lth_kernel_param(s.f.kernel, p)->value;
        assert_int_equal(lth__gram_values(s.gram, s.wanted, LD, NULL), LTH_OK);
        assert_int_equal(lth__gram_pull(s.gram, s.W, LD, first, NULL), LTH_OK);
        lth__random random;
        lth__random_seed(&random, k);
        change_some(s.f.kernel, 1, &random);
        assert_int_equal(lth__gram_values(s.gram, s.K, LD, NULL), LTH_OK);
        for (size_t p = 0; p < params; p++)
            assert_int_equal(lth_kernel_set(s.f.kernel, p, old[p], NULL), LTH_OK);
        assert_int_equal(lth__gram_values(s.gram, s.K, LD, NULL), LTH_OK);
        assert_int_equal(lth__gram_pull(s.gram, s.W, LD, again, NULL), LTH_OK);
        assert_memory_equal(s.K, s.wanted, N * LD * sizeof *s.K);
        assert_memory_equal(first, again, params * sizeof *first);
        close_session(&s);
    }
}

static void test_same_bits_for_any_threads(void **state) {
    (void)state;
    for (size_t k = 0; k < KERNELS; k++) {
        double first_grad[32], grad[32], *first = room(N * LD);
        for (unsigned threads = 1; threads <= 3; threads++) {
            session s = open_session(kernels[k], LTH_DROP_OFF, threads);
            assert_int_equal(lth__gram_values(s.gram, s.K, LD, NULL), LTH_OK);
            assert_int_equal(lth__gram_pull(s.gram, s.W, LD, grad, NULL), LTH_OK);
            if (threads == 1) {
                memcpy(first, s.K, N * LD * sizeof *first);
                memcpy(first_grad, grad, sizeof grad);
            }
            assert_memory_equal(first, s.K, N * LD * sizeof *first);
            assert_memory_equal(first_grad, grad, lth_kernel_params(s.f.kernel) * sizeof *grad);
            close_session(&s);
        }
        free(first);
    }
}

/* Rows against others: what is kept of a rectangle does not show either. */
static void test_rectangles(void **state) {
    (void)state;
    enum { COLS = 17 };
    for (size_t k = 0; k < KERNELS; k++) {
        lth__random random;
        lth__random_seed(&random, 100 + k);
        session s = open_session(kernels[k], LTH_DROP_AUTO, 1 + k % 2);
        char **texts = fixture_texts(&random, COLS, 7, 6, true);
        const lth_items *cols = fixture_encode(&s.f, (const char *const *)texts, COLS);
        fixture_free_texts(texts, COLS);
        if (lth_kernel_needs_vectors(s.f.kernel)) fixture_vectors(&s.f, vectors);
        lth__gram *gram = NULL;
        assert_int_equal(lth__gram_create(s.f.kernel, s.f.items[0], cols, &gram, NULL), LTH_OK);
        for (size_t round = 0; round < ROUNDS; round++) {
            double grad[32], wanted[32];
            change_some(s.f.kernel, round, &random);
            assert_int_equal(lth__gram_values(gram, s.K, LD, NULL), LTH_OK);
            assert_int_equal(lth_gram(s.f.kernel, s.f.items[0], cols, s.wanted, LD, NULL), LTH_OK);
            assert_int_equal(lth__gram_pull(gram, s.W, LD, grad, NULL), LTH_OK);
            assert_int_equal(lth_gram_pull(s.f.kernel, s.f.items[0], cols, s.W, LD, wanted, NULL),
                             LTH_OK);
            for (size_t i = 0; i < N; i++)
                fixture_check_near(s.K + i * LD, s.wanted + i * LD, COLS, 1e-11, 1e-11);
            fixture_check_near(grad, wanted, lth_kernel_params(s.f.kernel), 1e-9, 1e-9);
        }
        lth__gram_free(gram);
        close_session(&s);
    }
}

static void test_few_rows(void **state) {
    (void)state;
    const char *const texts[] = {"a b"};
    for (size_t count = 0; count < 2; count++) {
        fixture f = fixture_open("normalize(ssk(text, order=2)) + linear(bow(text))", NULL);
        lth__gram *gram = NULL;
        double K = -1, W = 2, grad[8];
        const lth_items *items = fixture_encode(&f, texts, count);
        assert_int_equal(lth__gram_create(f.kernel, items, NULL, &gram, NULL), LTH_OK);
        assert_int_equal(lth__gram_values(gram, &K, 1, NULL), LTH_OK);
        assert_int_equal(lth__gram_pull(gram, &W, 1, grad, NULL), LTH_OK);
        assert_true(K == (count == 0 ? -1 : 3));
        assert_true(grad[0] == 0); /* ssk.gap */
        assert_true(grad[lth_kernel_params(f.kernel) - 1] == (count == 0 ? 0 : 4));
        lth__gram_free(gram);
        fixture_close(&f);
    }
    lth__gram_free(NULL);
}

static void test_items_of_another_kernel(void **state) {
    (void)state;
    const char *const texts[] = {"a b"};
    fixture f = fixture_open("ssk(text)", NULL), other = fixture_open("ssk(text)", NULL);
    lth__gram *gram = NULL;
    lth_error err = {0};
    const lth_items *items = fixture_encode(&other, texts, 1);
    assert_int_equal(lth__gram_create(f.kernel, items, NULL, &gram, &err), LTH_EARG);
    assert_null(gram);
    fixture_close(&f);
    fixture_close(&other);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many_evaluations),
        cmocka_unit_test(test_packed),
        cmocka_unit_test(test_too_large_for_single),
        cmocka_unit_test(test_pull_is_where_the_values_were),
        cmocka_unit_test(test_return_to_old_values),
        cmocka_unit_test(test_same_bits_for_any_threads),
        cmocka_unit_test(test_rectangles),
        cmocka_unit_test(test_few_rows),
        cmocka_unit_test(test_items_of_another_kernel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
