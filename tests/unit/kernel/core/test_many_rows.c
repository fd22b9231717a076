/* More rows than a job, a tile or a slice takes: matrices, diagonals and derivatives are those of
 * their pieces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "fixture.h"
#include "gp_support.h"
#include "kernel/core/encode.h"
#include "kernel/core/kernel.h"
#include "tree_reference.h"

enum { SOME = 150, MANY = 1100, PIECE = 37 };

static const char *const kernels[] = {
    "ssk(text, units=chars, order=3, gap=0.4)",
    "normalize(ssk(text, units=chars, order=2, match=0.6))",
    "la(text, beta=0.3)",
    "oligo(text, units=chars, k=2, sigma=0.8)",
    "wd(text, units=chars, order=3, shift=1)",
    "gkm(text, units=chars, l=4, k=3)",
    "mismatch(text, alphabet=protein, k=3, m=1)",
    "normalize(sstk(tree, decay=0.6))",
    "ptk(tree)",
    "rbf(ngrams(text, units=chars, n=2), lengthscale=2)",
    "intersection(bow(text))",
    "gappy(text, units=chars)",
    "approx_ssk(text, units=chars)",
    "rq(f1, lengthscale=0.7) * arccos(scale(f1)) + 0.5",
};
/* Of so many rows only what is cheap. */
static const char *const cheap[] = {"normalize(ngrams(text, units=chars, n=2)) + 2",
                                    "0.5 * rbf(f1, lengthscale=0.7)"};

static lth_table *make_table(lth_ctx *ctx, size_t rows) {
    lth__string lines = {0};
    lth__random random;
    lth__random_seed(&random, 21);
    lth__string_format(&lines, "text\ttree\tf1\n");
    for (size_t i = 0; i < rows; i++) {
        size_t length = lth__random_below(&random, 14);
        char *tree = reference_tree(&random, 3);
        for (size_t k = 0; k < length; k++)
            lth__string_format(&lines, "%c", "ACDE"[lth__random_below(&random, 4)]);
        lth__string_format(&lines, "\t%s\t%.4f\n", tree, lth__random_uniform(&random));
        free(tree);
    }
    assert_false(lines.failed);
    lth_table *table = support_table(ctx, lines.bytes);
    lth__string_free(&lines);
    return table;
}

static fixture open_rows(const char *kernel, size_t rows) {
    lth_error err = {0};
    fixture f = fixture_open(kernel, &(lth_ctx_options){.threads = 2});
    lth_table *table = make_table(f.ctx, rows);
    support_ok(lth_encode(f.encoder, table, &f.items[f.item_count++], &err), &err);
    lth_table_free(table);
    return f;
}

typedef struct piece {
    lth_items *items;
    size_t first, count;
} piece;

static size_t cut(const lth_items *items, piece *out) {
    lth_error err = {0};
    size_t n = lth_items_count(items), count = 0;
    for (size_t first = 0; first < n; first += PIECE) {
        piece *p = &out[count++];
        *p = (piece){.first = first, .count = n - first < PIECE ? n - first : PIECE};
        support_ok(lth__items_slice(items, first, p->count, &p->items, &err), &err);
        p->items->quiet = true;
    }
    return count;
}

static void check_diagonal(const fixture *f, const piece *pieces, size_t count) {
    size_t n = lth_items_count(f->items[0]), params = lth_kernel_params(f->kernel);
    double *whole = calloc(n, sizeof *whole), *w = calloc(n, sizeof *w), part[PIECE];
    double *grad = calloc(params + 1, sizeof *grad), *some = calloc(params + 1, sizeof *some);
    double *sum = calloc(params + 1, sizeof *sum);
    lth_error err = {0};
    for (size_t i = 0; i < n; i++) w[i] = (double)(i * 37 % 101) / 50 - 1;
    support_ok(lth_gram_diagonal(f->kernel, f->items[0], whole, &err), &err);
    support_ok(lth_gram_diagonal_pull(f->kernel, f->items[0], w, grad, &err), &err);
    for (size_t k = 0; k < count; k++) {
        const piece *p = &pieces[k];
        support_ok(lth_gram_diagonal(f->kernel, p->items, part, &err), &err);
        fixture_check_near(whole + p->first, part, p->count, 1e-12, 1e-14);
        support_ok(lth_gram_diagonal_pull(f->kernel, p->items, w + p->first, some, &err), &err);
        for (size_t q = 0; q < params; q++) sum[q] += some[q];
    }
    fixture_check_near(grad, sum, params, 1e-9, 1e-9);
    double *rooms[] = {whole, w, grad, some, sum};
    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++) free(rooms[i]);
}

static void check_matrix(const fixture *f, const piece *pieces, size_t count) {
    size_t n = lth_items_count(f->items[0]), params = lth_kernel_params(f->kernel);
    double *K = fixture_gram(f, f->items[0], NULL), *W = calloc(n * n, sizeof *W);
    double *weights = calloc(PIECE * PIECE, sizeof *weights);
    double *grad = calloc(params + 1, sizeof *grad), *some = calloc(params + 1, sizeof *some);
    double *sum = calloc(params + 1, sizeof *sum);
    lth_error err = {0};
    for (size_t i = 0; i < n * n; i++) W[i] = (double)((i / n + i % n) * 29 % 97) / 50 - 1;
    support_ok(lth_gram_pull(f->kernel, f->items[0], NULL, W, n, grad, &err), &err);
    for (size_t a = 0; a < count; a++) {
        for (size_t b = 0; b < count; b++) {
            const piece *r = &pieces[a], *c = &pieces[b];
            double *part = fixture_gram(f, r->items, c->items);
            for (size_t i = 0; i < r->count; i++) {
                size_t at = (r->first + i) * n + c->first;
                fixture_check_near(K + at, part + i * c->count, c->count, 1e-12, 1e-14);
                memcpy(weights + i * c->count, W + at, c->count * sizeof *W);
            }
            support_ok(lth_gram_pull(f->kernel, r->items, c->items, weights, c->count, some, &err),
                       &err);
            for (size_t q = 0; q < params; q++) sum[q] += some[q];
            free(part);
        }
    }
    fixture_check_near(grad, sum, params, 1e-8, 1e-8);
    double *rooms[] = {K, W, weights, grad, some, sum};
    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++) free(rooms[i]);
}

static void check(const char *kernel, size_t rows) {
    piece pieces[MANY / PIECE + 1];
    fixture f = open_rows(kernel, rows);
    size_t count = cut(f.items[0], pieces);
    check_diagonal(&f, pieces, count);
    check_matrix(&f, pieces, count);
    for (size_t k = 0; k < count; k++) lth_items_free(pieces[k].items);
    fixture_close(&f);
}

static void test_every_family(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) check(kernels[k], SOME);
}

static void test_many_rows(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof cheap / sizeof *cheap; k++) check(cheap[k], MANY);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_family),
        cmocka_unit_test(test_many_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
