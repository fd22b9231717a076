#include "fixture.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void check(lth_status status, const lth_error *err) {
    if (status == LTH_OK) return;
    print_error("%s:%zu:%zu: %s\n", err->file, err->line, err->column, err->message);
    fail();
}

static double *matrix(size_t count) {
    double *m = malloc((count + 1) * sizeof *m);
    assert_non_null(m);
    for (size_t i = 0; i < count; i++) m[i] = NAN; /* so that a gap is seen */
    return m;
}

fixture fixture_open(const char *kernel, const lth_ctx_options *options) {
    fixture f = {0};
    lth_error err = {0};
    check(lth_ctx_create(options, &f.ctx, &err), &err);
    check(lth_kernel_parse(f.ctx, kernel, &f.kernel, &err), &err);
    check(lth_encoder_create(f.ctx, f.kernel, &f.encoder, &err), &err);
    return f;
}

void fixture_close(fixture *f) {
    for (size_t i = 0; i < f->item_count; i++) lth_items_free(f->items[i]);
    lth_encoder_free(f->encoder);
    lth_kernel_free(f->kernel);
    lth_ctx_free(f->ctx);
    *f = (fixture){0};
}

const lth_items *fixture_encode(fixture *f, const char *const *texts, size_t count) {
    lth_error err = {0};
    lth_table *table = NULL;
    assert_true(f->item_count < FIXTURE_MOST_ITEMS);
    lth_items **items = &f->items[f->item_count];
    check(lth_table_from_texts(f->ctx, "text", texts, NULL, count, &table, &err), &err);
    check(lth_encode(f->encoder, table, items, &err), &err);
    f->item_count++;
    lth_table_free(table);
    assert_int_equal(lth_items_count(*items), count);
    return *items;
}

void fixture_vectors(fixture *f, const char *lines) {
    char path[] = "fixture.XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_true(write(fd, lines, strlen(lines)) == (ssize_t)strlen(lines));
    close(fd);
    lth_error err = {0};
    lth_status status = lth_encoder_read_vectors(f->encoder, path, &err);
    unlink(path);
    check(status, &err);
}

static size_t cells(const lth_items *rows, const lth_items *cols) {
    return lth_items_count(rows) * lth_items_count(cols ? cols : rows);
}

double *fixture_gram(const fixture *f, const lth_items *rows, const lth_items *cols) {
    lth_error err = {0};
    double *K = matrix(cells(rows, cols));
    check(lth_gram(f->kernel, rows, cols, K, lth_items_count(cols ? cols : rows), &err), &err);
    return K;
}

double *fixture_gradients(const fixture *f, const lth_items *rows, const lth_items *cols) {
    lth_error err = {0};
    double *G = matrix(lth_kernel_params(f->kernel) * cells(rows, cols));
    check(lth_gram_gradients(f->kernel, rows, cols, G, &err), &err);
    return G;
}

double *fixture_orders(const fixture *f, const lth_items *rows, const lth_items *cols) {
    lth_error err = {0};
    double *K = matrix(lth_kernel_orders(f->kernel) * cells(rows, cols));
    check(lth_gram_orders(f->kernel, rows, cols, K, &err), &err);
    return K;
}

char **fixture_texts(lth__random *random, size_t count, size_t longest, size_t symbols,
                     bool spaced) {
    char **texts = calloc(count, sizeof *texts);
    assert_non_null(texts);
    for (size_t i = 0; i < count; i++) {
        size_t length = lth__random_below(random, longest + 1);
        char *at = texts[i] = calloc(2 * length + 1, 1);
        assert_non_null(at);
        for (size_t k = 0; k < length; k++) {
            if (spaced && k > 0) *at++ = ' ';
            *at++ = (char)('a' + (int)lth__random_below(random, symbols));
        }
    }
    return texts;
}

void fixture_free_texts(char **texts, size_t count) {
    for (size_t i = 0; i < count; i++) free(texts[i]);
    free(texts);
}

void fixture_check_near(const double *a, const double *b, size_t count, double tolerance,
                        double floor) {
    for (size_t i = 0; i < count; i++) {
        if (fabs(a[i] - b[i]) <= tolerance * (fabs(a[i]) + fabs(b[i])) / 2 + floor) continue;
        print_error("at %zu: %.17g is not %.17g\n", i, a[i], b[i]);
        fail();
    }
}
