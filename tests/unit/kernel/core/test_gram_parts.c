/* Parts of a Gram matrix against the whole: whatever the others are, and however many threads. */
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

#include "failing_allocator.h"
#include "fixture.h"
#include "kernel/core/gram.h"
#include "kernel/core/store.h"
#include "kernel/core/work.h"

enum { N = 150, MOST_PARAMS = 128 };

/* `exact`: no BLAS, so the values have the same bits. */
typedef struct sample {
    const char *kernel;
    bool exact, trees;
} sample;

static const sample samples[] = {
    {"ssk(text, order=4)", true, false},
    {"normalize(ssk(text, order=3, gap=0.3, match=0.9, weights=[1,0.5,2]))", true, false},
    {"ssk(text, order=2, gap=$g=0.4) + 2 * ssk(text, units=chars, order=3, gap=$g)", true, false},
    {"rq(ssk(text, order=2), lengthscale=5) * normalize(ssk(text, order=2, units=chars)) + 0.5",
     true, false},
    {"rbf(normalize(ssk(text, order=3)))", true, false},
    {"sstk(text)", true, true},
    {"normalize(sstk(text)) * rbf(sstk(text), lengthscale=3)", true, true},
    {"linear(bow(text))", false, false},
    {"rbf(tfidf(text)) * ssk(text, order=2) + linear(ngrams(text, n=[1,2]))", false, false},
    {"rbf(mean(text))", false, false},
};
enum { SAMPLES = sizeof samples / sizeof *samples };

static const char vectors[] = "a 1 0 0.5\nb 0.9 0.3 -0.2\nc -1 0.5 0\nd 0 2 1\ne 0.3 -1 0.4\n";

typedef struct session {
    fixture f;
    lth__gram *gram;
    size_t n, params;
    lth__packed K, W;
} session;

static double *room(size_t count) {
    double *x = calloc(count > 0 ? count : 1, sizeof *x);
    assert_non_null(x);
    return x;
}

/* Texts of many lengths, some empty and some the same; or trees. */
static char **make_texts(lth__random *random, size_t n, bool trees) {
    char **texts = fixture_texts(random, n, 9, 6, true);
    for (size_t i = 0; i < n && !trees; i++) {
        if (i % 13 == 7) texts[i][0] = 0;
    }
    for (size_t i = 0; i < n && trees; i++) {
        char tree[256] = "(S ";
        for (char *c = texts[i]; *c; c++) {
            if (*c == ' ') continue;
            snprintf(tree + strlen(tree), sizeof tree - strlen(tree), "(%c %c)",
                     *c < 'c' ? 'X' : 'Y', *c);
        }
        if (!texts[i][0]) strcat(tree, "(X a)");
        strcat(tree, ")");
        free(texts[i]);
        texts[i] = strdup(tree);
    }
    return texts;
}

static session open_session(const sample *s, size_t n, unsigned threads) {
    lth__random random;
    lth__random_seed(&random, 5);
    char **texts = make_texts(&random, n, s->trees);
    lth_ctx_options options;
    lth_ctx_options_init(&options);
    options.dropping = LTH_DROP_OFF;
    options.threads = threads;
    session out = {.f = fixture_open(s->kernel, &options), .n = n};
    fixture_encode(&out.f, (const char *const *)texts, n);
    fixture_free_texts(texts, n);
    if (lth_kernel_needs_vectors(out.f.kernel)) fixture_vectors(&out.f, vectors);
    assert_int_equal(lth__gram_create(out.f.kernel, out.f.items[0], NULL, &out.gram, NULL), LTH_OK);
    out.params = lth_kernel_params(out.f.kernel);
    assert_true(out.params <= MOST_PARAMS);
    out.K = out.W = lth__packed_layout(n);
    out.K.cells = room(lth__packed_count(n));
    out.W.cells = room(lth__packed_count(n));
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++)
            out.W.cells[lth__packed_row(&out.W, i) + j] = 2 * lth__random_uniform(&random) - 1;
    }
    return out;
}

static void close_session(session *s) {
    lth__gram_free(s->gram);
    free(s->K.cells);
    free(s->W.cells);
    fixture_close(&s->f);
}

/* ---- Lists of parts ---- */

typedef struct list {
    lth__gram_part *parts;
    size_t count;
} list;

static lth__gram_part make_part(size_t row, size_t rows, size_t col, size_t cols) {
    lth__gram_part p = {.row = row, .rows = rows, .col = col, .cols = cols, .ld = cols + 2};
    p.cells = room(rows * p.ld);
    for (size_t i = 0; i < rows * p.ld; i++) p.cells[i] = -7;
    return p;
}

/* The whole triangle, in squares of `side`. */
static list cover(size_t n, size_t side) {
    size_t across = (n + side - 1) / side;
    list l = {calloc(across * across + 1, sizeof *l.parts), 0};
    assert_non_null(l.parts);
    for (size_t i = 0; i < n; i += side) {
        for (size_t j = 0; j <= i; j += side)
            l.parts[l.count++] =
                make_part(i, n - i < side ? n - i : side, j, n - j < side ? n - j : side);
    }
    return l;
}

static void free_list(list *l) {
    for (size_t i = 0; i < l->count; i++) free(l->parts[i].cells);
    free(l->parts);
}

static void put_weights(const session *s, list *l) {
    for (size_t k = 0; k < l->count; k++) {
        lth__gram_part *p = &l->parts[k];
        for (size_t i = 0; i < p->rows; i++) {
            for (size_t j = 0; j < p->cols && p->col + j <= p->row + i; j++)
                p->cells[i * p->ld + j] =
                    s->W.cells[lth__packed_row(&s->W, p->row + i) + p->col + j];
        }
    }
}

static size_t bytes_of(const lth__gram_part *p) {
    return p->rows * p->ld * sizeof *p->cells;
}

/* What is above the diagonal, or beyond the columns, is as it was. */
static void check_cells(const session *s, const lth__gram_part *p, double tolerance) {
    for (size_t i = 0; i < p->rows; i++) {
        for (size_t j = 0; j < p->ld; j++) {
            double value = p->cells[i * p->ld + j];
            if (j >= p->cols || p->col + j > p->row + i) {
                assert_true(value == -7);
                continue;
            }
            double wanted = s->K.cells[lth__packed_row(&s->K, p->row + i) + p->col + j];
            fixture_check_near(&value, &wanted, 1, tolerance, tolerance);
        }
    }
}

/* Of the sum over all parts; the sizes of the terms are those of the weights and slopes. */
static void check_pull(const session *s, const list *l, const double *partial,
                       const double *wanted) {
    double *G = fixture_gradients(&s->f, s->f.items[0], NULL);
    for (size_t p = 0; p < s->params; p++) {
        double sum = 0, scale = 0;
        for (size_t k = 0; k < l->count; k++) sum += partial[k * s->params + p];
        for (size_t i = 0; i < s->n * s->n; i++) scale += fabs(G[p * s->n * s->n + i]);
        assert_true(fabs(sum - wanted[p]) <= 1e-10 * fabs(wanted[p]) + 1e-13 * scale);
    }
    free(G);
}

static void change(lth_kernel *kernel, size_t round) {
    for (size_t p = 0; p < lth_kernel_params(kernel); p++) {
        lth_param param = *lth_kernel_param(kernel, p);
        if (round == 1 && strstr(param.path, "gap")) continue; /* what is kept is used */
        assert_int_equal(lth_kernel_set(kernel, p, fmin(param.value * 0.9, param.hi), NULL),
                         LTH_OK);
    }
}

/* ---- Against the whole ---- */

static void check_side(session *s, const sample *what, size_t side) {
    list values = cover(s->n, side), weights = cover(s->n, side);
    double wanted[MOST_PARAMS], *partial = room(values.count * s->params);
    assert_int_equal(lth__gram_values_packed(s->gram, &s->K, NULL), LTH_OK);
    assert_int_equal(lth__gram_pull_packed(s->gram, &s->W, wanted, NULL), LTH_OK);
    assert_int_equal(lth__gram_values_parts(s->gram, values.parts, values.count, NULL), LTH_OK);
    for (size_t k = 0; k < values.count; k++)
        check_cells(s, &values.parts[k], what->exact ? 0 : 1e-12);
    assert_true(!s->gram->parts.memo == !lth__memo_wanted(&s->gram->w.eval)); /* as there is room */
    put_weights(s, &weights);
    assert_int_equal(lth__gram_pull_parts(s->gram, weights.parts, weights.count, partial, NULL),
                     LTH_OK);
    check_pull(s, &weights, partial, wanted);
    free(partial);
    free_list(&values);
    free_list(&weights);
}

static void test_against_the_whole(void **state) {
    (void)state;
    static const size_t sides[] = {7, 32, 70, N};
    for (size_t k = 0; k < SAMPLES; k++) {
        session s = open_session(&samples[k], N, 1 + k % 2);
        for (size_t i = 0; i < sizeof sides / sizeof *sides; i++) {
            for (size_t round = 0; round < 3; round++) {
                check_side(&s, &samples[k], sides[i]);
                change(s.f.kernel, round);
            }
        }
        close_session(&s);
    }
}

/* ---- A part by itself ---- */

typedef struct result {
    list values;
    double *partial;
} result;

/* Values, and the pull-back of the weights, at once. */
static result compute(session *s, list l, bool keeps_nothing) {
    result r = {.values = l, .partial = room(l.count * s->params)};
    list weights = {calloc(l.count, sizeof *weights.parts), l.count};
    for (size_t k = 0; k < l.count; k++)
        weights.parts[k] =
            make_part(l.parts[k].row, l.parts[k].rows, l.parts[k].col, l.parts[k].cols);
    if (keeps_nothing) lth__gram_keep_nothing(s->gram);
    assert_int_equal(lth__gram_values_parts(s->gram, l.parts, l.count, NULL), LTH_OK);
    put_weights(s, &weights);
    assert_int_equal(lth__gram_pull_parts(s->gram, weights.parts, l.count, r.partial, NULL),
                     LTH_OK);
    free_list(&weights);
    return r;
}

static void free_result(result *r) {
    free_list(&r->values);
    free(r->partial);
}

/* Threads, and whether something is kept. */
static void test_same_bits(void **state) {
    (void)state;
    for (size_t k = 0; k < SAMPLES; k++) {
        session one = open_session(&samples[k], N, 1);
        result first = compute(&one, cover(N, 40), false);
        for (unsigned threads = 1; threads <= 3; threads++) {
            session s = open_session(&samples[k], N, threads);
            result r = compute(&s, cover(N, 40), threads != 2);
            for (size_t i = 0; i < r.values.count; i++)
                assert_memory_equal(r.values.parts[i].cells, first.values.parts[i].cells,
                                    bytes_of(&r.values.parts[i]));
            assert_memory_equal(r.partial, first.partial,
                                r.values.count * s.params * sizeof *r.partial);
            free_result(&r);
            close_session(&s);
        }
        free_result(&first);
        close_session(&one);
    }
}

static void test_independent_of_the_list(void **state) {
    (void)state;
    for (size_t k = 0; k < SAMPLES; k++) {
        session s = open_session(&samples[k], N, 2);
        result all = compute(&s, cover(N, 40), false);
        for (size_t i = 0; i < all.values.count; i++) {
            const lth__gram_part *p = &all.values.parts[i];
            list l = {calloc(2, sizeof *l.parts), 2};
            l.parts[0] = make_part(100, 50, 3, 90);
            l.parts[1] = make_part(p->row, p->rows, p->col, p->cols);
            result r = compute(&s, l, false);
            assert_memory_equal(r.values.parts[1].cells, p->cells, bytes_of(p));
            assert_memory_equal(r.partial + s.params, all.partial + i * s.params,
                                s.params * sizeof *r.partial);
            free_result(&r);
        }
        free_result(&all);
        close_session(&s);
    }
}

/* The weights may be of parts that no values were asked for. */
static void test_pull_of_others(void **state) {
    (void)state;
    for (size_t k = 0; k < SAMPLES; k++) {
        session s = open_session(&samples[k], N, 1);
        double wanted[MOST_PARAMS];
        list values = cover(N, 40), weights = cover(N, 60);
        double *partial = room(weights.count * s.params);
        assert_int_equal(lth__gram_values_packed(s.gram, &s.K, NULL), LTH_OK);
        assert_int_equal(lth__gram_values_parts(s.gram, values.parts, values.count, NULL), LTH_OK);
        put_weights(&s, &weights);
        assert_int_equal(lth__gram_pull_parts(s.gram, weights.parts, weights.count, partial, NULL),
                         LTH_OK);
        assert_int_equal(lth__gram_pull_packed(s.gram, &s.W, wanted, NULL), LTH_OK);
        check_pull(&s, &weights, partial, wanted);
        free(partial);
        free_list(&values);
        free_list(&weights);
        close_session(&s);
    }
}

/* ---- Few rows, and what cannot be computed ---- */

static void test_few_rows(void **state) {
    (void)state;
    for (size_t k = 0; k < SAMPLES; k++) {
        for (size_t n = 1; n <= 2; n++) {
            session s = open_session(&samples[k], n, 2);
            check_side(&s, &samples[k], 1);
            check_side(&s, &samples[k], 2);
            assert_int_equal(lth__gram_values_parts(s.gram, NULL, 0, NULL), LTH_OK);
            assert_int_equal(lth__gram_pull_parts(s.gram, NULL, 0, s.K.cells, NULL), LTH_OK);
            close_session(&s);
        }
    }
}

static void test_overflow(void **state) {
    (void)state;
#define LARGE "ssk(text, units=chars, order=10, match=1000)"
    const sample what = {LARGE " * " LARGE " * " LARGE " * " LARGE " * " LARGE " * " LARGE, true,
                         false};
    session s = open_session(&what, 20, 2);
    list l = cover(20, 10);
    lth_error err = {0};
    assert_int_equal(lth__gram_values_parts(s.gram, l.parts, l.count, &err), LTH_ENUMERIC);
    assert_non_null(strstr(err.message, "too large for a number"));
    free_list(&l);
    close_session(&s);
}

static lth_status use_parts(void *user, lth_error *err) {
    session *s = user;
    list l = cover(s->n, 20);
    double *partial = room(l.count * s->params);
    lth__gram *gram = NULL;
    lth_status status = lth__gram_create(s->f.kernel, s->f.items[0], NULL, &gram, err);
    for (size_t round = 0; round < 2 && status == LTH_OK; round++) {
        status = lth__gram_values_parts(gram, l.parts, l.count - round, err);
        put_weights(s, &l);
        if (status == LTH_OK) status = lth__gram_pull_parts(gram, l.parts, l.count, partial, err);
    }
    lth__gram_free(gram);
    free(partial);
    free_list(&l);
    return status;
}

static void test_without_memory(void **state) {
    (void)state;
    for (size_t k = 1; k < SAMPLES; k += 3) {
        session s = open_session(&samples[k], 60, 1);
        fail_each(use_parts, &s, true, 10);
        close_session(&s);
    }
}

/* ---- From a store ---- */

static const char folder[] = "parts_store";

static void remove_store(size_t tiles) {
    char name[64];
    for (size_t i = 0; i < tiles * tiles; i++) {
        snprintf(name, sizeof name, "%s/%zu.%zu", folder, i / tiles, i % tiles);
        unlink(name);
    }
    snprintf(name, sizeof name, "%s/.zarray", folder);
    unlink(name);
    snprintf(name, sizeof name, "%s/.zattrs", folder);
    unlink(name);
    assert_int_equal(rmdir(folder), 0);
}

static void check_stored(session *s, const lth_items *items, size_t side) {
    lth__gram *computed = s->gram;
    size_t n = s->n;
    assert_int_equal(lth__gram_create(s->f.kernel, items, NULL, &s->gram, NULL), LTH_OK);
    s->n = items->count;
    s->K.n = items->count;
    list l = cover(s->n, side);
    double *partial = room(l.count * s->params);
    for (size_t i = 0; i < l.count * s->params; i++) partial[i] = -1;
    assert_int_equal(lth__gram_values_packed(s->gram, &s->K, NULL), LTH_OK);
    assert_int_equal(lth__gram_values_parts(s->gram, l.parts, l.count, NULL), LTH_OK);
    for (size_t k = 0; k < l.count; k++) check_cells(s, &l.parts[k], 0);
    assert_int_equal(lth__gram_pull_parts(s->gram, l.parts, l.count, partial, NULL), LTH_OK);
    for (size_t i = 0; i < l.count * s->params; i++) assert_true(partial[i] == 0);
    free(partial);
    free_list(&l);
    lth__gram_free(s->gram);
    s->gram = computed;
    s->n = s->K.n = n;
}

static void test_from_a_store(void **state) {
    (void)state;
    enum { TILE = 17, TILES = (N + TILE - 1) / TILE };
    static const size_t picked[] = {149, 3, 77, 77, 0, 26, 148, 9, 31, 110, 34, 33, 16, 17};
    session s = open_session(&samples[1], N, 2);
    lth_gram_store_options options;
    lth_items *some = NULL, *all = s.f.items[0];
    lth_gram_store_options_init(&options);
    options.tile = TILE;
    assert_int_equal(lth_gram_store(s.f.kernel, all, NULL, folder, &options, NULL), LTH_OK);
    assert_int_equal(lth_items_use_store(all, folder, NULL), LTH_OK);
    assert_int_equal(lth__items_pick(all, picked, sizeof picked / sizeof *picked, &some, NULL),
                     LTH_OK);
    for (size_t side = 3; side < 100; side *= 4) {
        check_stored(&s, all, side);
        check_stored(&s, some, side);
    }
    lth_items_free(some);
    close_session(&s);
    remove_store(TILES);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_the_whole),
        cmocka_unit_test(test_same_bits),
        cmocka_unit_test(test_independent_of_the_list),
        cmocka_unit_test(test_pull_of_others),
        cmocka_unit_test(test_few_rows),
        cmocka_unit_test(test_overflow),
        cmocka_unit_test(test_without_memory),
        cmocka_unit_test(test_from_a_store),
    };
#ifdef __SANITIZE_THREAD__
    cmocka_set_test_filter("test_same_bits"); /* by several threads; all would take a minute */
#endif
    return cmocka_run_group_tests(tests, NULL, NULL);
}
