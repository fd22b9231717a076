/* Matrices that stay on disk against the same in memory: for all rows, for some in another order
 * and one of them twice, with tiles that go beyond the last row. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/memory.h"
#include "failing_allocator.h"
#include "gp_support.h"
#include "kernel/core/encode.h"
#include "model/common/matrix.h"

enum { ROWS = 40, TILE = 9, TILES = (ROWS + TILE - 1) / TILE, VECTORS = 3 };
static const char kernel_text[] = "normalize(ssk(text, units=chars, order=2))", folder[] = "stored";

typedef struct world {
    lth_ctx *ctx;
    lth_table *table;
    lth_kernel *kernel;
    lth_encoder *encoder;
    lth_items *items, *some;
} world;

static void write_store(const world *w, lth_precision values) {
    lth_gram_store_options options;
    lth_error err = {0};
    lth_gram_store_options_init(&options);
    options.tile = TILE;
    options.values = values;
    support_ok(lth_gram_store(w->kernel, w->items, NULL, folder, &options, &err), &err);
}

static void remove_store(void) {
    char name[64];
    for (size_t i = 0; i < TILES; i++) {
        for (size_t j = 0; j < TILES; j++) {
            snprintf(name, sizeof name, "%s/%zu.%zu", folder, i, j);
            unlink(name);
        }
    }
    snprintf(name, sizeof name, "%s/.zarray", folder);
    unlink(name);
    snprintf(name, sizeof name, "%s/.zattrs", folder);
    unlink(name);
    assert_int_equal(rmdir(folder), 0);
}

static world open_world(unsigned threads, lth_precision values) {
    static const size_t picked[] = {39, 3, 17, 17, 0, 26, 8, 9, 31};
    lth_error err = {0};
    world w = {.ctx = support_context(threads)};
    w.table = support_rows(w.ctx, 0, ROWS);
    support_ok(lth_kernel_parse(w.ctx, kernel_text, &w.kernel, &err), &err);
    support_ok(lth_encoder_create(w.ctx, w.kernel, &w.encoder, &err), &err);
    support_ok(lth_encode(w.encoder, w.table, &w.items, &err), &err);
    write_store(&w, values);
    support_ok(lth_items_use_store(w.items, folder, &err), &err);
    support_ok(lth__items_pick(w.items, picked, sizeof picked / sizeof *picked, &w.some, &err),
               &err);
    return w;
}

static void close_world(world *w) {
    lth_items_free(w->some);
    lth_items_free(w->items);
    lth_encoder_free(w->encoder);
    lth_kernel_free(w->kernel);
    lth_table_free(w->table);
    lth_ctx_free(w->ctx);
    remove_store();
}

/* The same things done to both. */
static void change(lth__matrix *A) {
    assert_int_equal(A->table->affine(A, 2.5, 0.25, NULL), LTH_OK);
    assert_int_equal(A->table->add_diagonal(A, 0.5, NULL), LTH_OK);
    assert_int_equal(A->table->affine(A, 0.5, -0.125, NULL), LTH_OK);
}

static void compare(const lth__matrix *stored, const lth__matrix *kept, double tolerance) {
    size_t n = kept->n;
    double X[ROWS * VECTORS], Y[ROWS * VECTORS], wanted[ROWS * VECTORS], sum, wanted_sum;
    for (size_t i = 0; i < n * VECTORS; i++) X[i] = sin((double)i);
    assert_int_equal(kept->table->multiply(kept, VECTORS, X, wanted, NULL), LTH_OK);
    assert_int_equal(stored->table->multiply(stored, VECTORS, X, Y, NULL), LTH_OK);
    for (size_t i = 0; i < n * VECTORS; i++) support_near(Y[i], wanted[i], tolerance);
    assert_int_equal(stored->table->multiply_roughly(stored, 1, X, Y, NULL), LTH_OK);
    assert_int_equal(kept->table->multiply(kept, 1, X, wanted, NULL), LTH_OK);
    for (size_t i = 0; i < n; i++) support_near(Y[i], wanted[i], tolerance);
    assert_int_equal(kept->table->diagonal(kept, wanted, NULL), LTH_OK);
    assert_int_equal(stored->table->diagonal(stored, Y, NULL), LTH_OK);
    for (size_t i = 0; i < n; i++) support_near(Y[i], wanted[i], tolerance);
    assert_int_equal(lth__matrix_trace(kept, &wanted_sum, NULL), LTH_OK);
    assert_int_equal(lth__matrix_trace(stored, &sum, NULL), LTH_OK);
    support_near(sum, wanted_sum, tolerance);
}

static void check(world *w, const lth_items *items, double tolerance) {
    lth__gram *gram = NULL;
    lth_error err = {0};
    lth__matrix stored = lth__matrix_stored(w->ctx, items),
                kept = lth__matrix_store(w->ctx, items->count, LTH_F64);
    support_ok(lth__gram_create(w->kernel, items, NULL, &gram, &err), &err);
    support_ok(lth__matrix_gram(&kept, gram, &err), &err);
    for (int again = 0; again < 2; again++) { /* as a second rung of jitter does */
        support_ok(lth__matrix_gram(&stored, gram, &err), &err);
        if (again) change(&kept);
        change(&stored);
    }
    compare(&stored, &kept, tolerance);
    lth__matrix_free(&stored);
    lth__matrix_free(&kept);
    lth__gram_free(gram);
}

static void test_as_in_memory(void **state) {
    (void)state;
    for (int values = LTH_F64; values <= LTH_F32; values++) {
        world w = open_world(2, (lth_precision)values);
        lth__matrix stored = lth__matrix_stored(w.ctx, w.items);
        assert_int_equal(lth__matrix_is_single(&stored), values == LTH_F32);
        check(&w, w.items, 1e-13);
        check(&w, w.some, 1e-13);
        close_world(&w);
    }
}

static void test_any_threads(void **state) {
    (void)state;
    double X[ROWS * VECTORS], first[ROWS * VECTORS], Y[ROWS * VECTORS];
    for (size_t i = 0; i < ROWS * VECTORS; i++) X[i] = cos((double)i);
    for (unsigned threads = 1; threads <= 4; threads++) {
        world w = open_world(threads, LTH_F64);
        lth__matrix A = lth__matrix_stored(w.ctx, w.items);
        assert_int_equal(A.table->reserve(&A, NULL), LTH_OK);
        assert_int_equal(A.table->multiply(&A, VECTORS, X, threads == 1 ? first : Y, NULL), LTH_OK);
        if (threads > 1) assert_memory_equal(first, Y, sizeof Y);
        close_world(&w);
    }
}

/* A number of the tile 3.1, of which the matrix needs all. */
static void test_not_a_number(void **state) {
    (void)state;
    world w = open_world(2, LTH_F64);
    lth__matrix A = lth__matrix_stored(w.ctx, w.items);
    double X[ROWS] = {0}, Y[ROWS], bad = NAN;
    lth_error err = {0};
    FILE *tile = fopen("stored/3.1", "r+b");
    assert_non_null(tile);
    assert_int_equal(fseek(tile, 20 * sizeof bad, SEEK_SET), 0);
    assert_int_equal(fwrite(&bad, sizeof bad, 1, tile), 1);
    fclose(tile);
    assert_int_equal(A.table->reserve(&A, NULL), LTH_OK);
    assert_int_equal(A.table->multiply(&A, 1, X, Y, &err), LTH_EFORMAT);
    assert_string_equal(err.message, "the tile 3.1 has a value that is not a number, or infinite");
    close_world(&w);
}

static lth_status use(void *user, lth_error *err) {
    const world *w = user;
    lth__matrix A = lth__matrix_stored(w->ctx, w->some);
    double X[ROWS] = {1}, Y[ROWS], trace;
    lth_status status = A.table->reserve(&A, err);
    if (status == LTH_OK) status = A.table->multiply(&A, 1, X, Y, err);
    return status == LTH_OK ? lth__matrix_trace(&A, &trace, err) : status;
}

static void test_without_memory(void **state) {
    (void)state;
    world w = open_world(1, LTH_F64);
    fail_each(use, &w, false, 3);
    close_world(&w);
}

static char home[] = "matrix_stored_XXXXXX";

static int enter(void **state) {
    (void)state;
    return mkdtemp(home) && chdir(home) == 0 ? 0 : -1;
}

static int leave(void **state) {
    (void)state;
    return chdir("..") == 0 && rmdir(home) == 0 ? 0 : -1; /* nothing was left behind */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_in_memory),
        cmocka_unit_test(test_any_threads),
        cmocka_unit_test(test_not_a_number),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
