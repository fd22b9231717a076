/* Gram matrices on disk: the same values as in memory, by parts and again; what is not the same
 * matrix is refused. */
#define _GNU_SOURCE 1 /* nftw */
#include <ftw.h>
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
#include "scratch.h"

enum { ROWS = 7, COLS = 5, TILE = 3 };
static const char *const texts[ROWS] = {"ab", "abc", "", "bca", "caab", "b", "cc"};
static const char *const others[COLS] = {"a", "bb", "acab", "c", "ba"};

static int remove_entry(const char *path, const struct stat *found, int kind, struct FTW *at) {
    (void)found, (void)kind, (void)at;
    return remove(path);
}

static void remove_store(void) {
    nftw("K", remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static fixture open_fixture(const char *kernel, lth_precision precision) {
    lth_ctx_options options;
    lth_ctx_options_init(&options);
    options.precision = precision;
    return fixture_open(kernel, &options);
}

static const char kernel[] = "ssk(text, order=2, units=chars) + 0.5";

static lth_gram_store_options by_tiles(void) {
    lth_gram_store_options o;
    lth_gram_store_options_init(&o);
    o.tile = TILE;
    return o;
}

static lth_status store(const fixture *f, const lth_items *rows, const lth_items *cols,
                        const lth_gram_store_options *o, lth_error *err) {
    return lth_gram_store(f->kernel, rows, cols, "K", o, err);
}

static lth_store *open_store(void) {
    lth_store *s = NULL;
    lth_error err = {0};
    if (lth_store_open("K", &s, &err) != LTH_OK) fail_msg("%s", err.message);
    return s;
}

static void check(const fixture *f, const lth_items *rows, const lth_items *cols, size_t m,
                  bool narrow) {
    double *K = fixture_gram(f, rows, cols), read[ROWS * ROWS], window[4];
    lth_store *s = open_store();
    assert_int_equal(lth_store_described(s)->rows, ROWS);
    assert_int_equal(lth_store_described(s)->cols, m);
    assert_int_equal(lth_store_described(s)->missing, 0);
    assert_int_equal(lth_store_described(s)->symmetric, cols == NULL);
    assert_int_equal(lth_store_described(s)->values, narrow ? LTH_F32 : LTH_F64);
    assert_int_equal(lth_store_read(s, 0, ROWS, 0, m, read, m, NULL), LTH_OK);
    for (size_t i = 0; i < ROWS * m; i++)
        assert_true(read[i] == (narrow ? (double)(float)K[i] : K[i]));
    assert_int_equal(lth_store_read(s, 2, 2, 3, 2, window, 2, NULL), LTH_OK);
    for (size_t i = 0; i < 4; i++) assert_true(window[i] == read[(2 + i / 2) * m + 3 + i % 2]);
    assert_int_equal(lth_store_read(s, ROWS, 0, m, 0, NULL, 0, NULL), LTH_OK);
    static const size_t beyond[][5] = {{ROWS + 1, 0, 0, 0, 9},
                                       {6, 2, 0, 1, 9},
                                       {0, 1, 99, 0, 9},
                                       {0, 1, 1, 7, 9},
                                       {0, 1, 0, 2, 1}};
    for (size_t i = 0; i < 5; i++) {
        lth_error err = {0};
        const size_t *w = beyond[i];
        assert_int_equal(lth_store_read(s, w[0], w[1], w[2], w[3], read, w[4], &err), LTH_EARG);
        assert_non_null(strstr(err.message, "the matrix has 7 rows"));
    }
    lth_store_free(s);
    free(K);
}

static void test_values(void **state) {
    (void)state;
    for (int way = 0; way < 4; way++) {
        fixture f = open_fixture(kernel, LTH_F64);
        const lth_items *rows = fixture_encode(&f, texts, ROWS),
                        *cols = way % 2 ? fixture_encode(&f, others, COLS) : NULL;
        lth_gram_store_options o = by_tiles();
        o.values = way >= 2 ? LTH_F32 : LTH_F64;
        lth_error err = {0};
        assert_int_equal(store(&f, rows, cols, &o, &err), LTH_OK);
        check(&f, rows, cols, cols ? COLS : ROWS, way >= 2);
        fixture_close(&f);
        remove_store();
    }
}

/* Tiles as they come: without a word there is one of a small matrix. */
static void test_usual_tiles(void **state) {
    (void)state;
    fixture f = open_fixture(kernel, LTH_F64);
    const lth_items *rows = fixture_encode(&f, texts, ROWS);
    assert_int_equal(store(&f, rows, rows, NULL, NULL), LTH_OK);
    lth_store *s = open_store();
    assert_int_equal(lth_store_described(s)->tiles, 1);
    assert_true(lth_store_described(s)->symmetric);
    lth_store_free(s);
    fixture_close(&f);
    remove_store();
}

static void test_parts(void **state) {
    (void)state;
    fixture f = open_fixture(kernel, LTH_F64);
    const lth_items *rows = fixture_encode(&f, texts, ROWS);
    lth_items *reader = (lth_items *)rows;
    lth_gram_store_options o = by_tiles();
    o.parts = 2;
    lth_error err = {0};
    double K[ROWS * ROWS];
    for (o.part = 1; o.part <= 2; o.part++) {
        assert_int_equal(store(&f, rows, NULL, &o, &err), LTH_OK);
        if (o.part == 2) break;
        lth_store *s = open_store();
        assert_int_equal(lth_store_described(s)->tiles, 9);
        assert_int_equal(lth_store_described(s)->missing, 5);
        assert_int_equal(lth_store_read(s, 0, 1, 0, 1, K, 1, &err), LTH_EARG);
        assert_string_equal(err.message,
                            "5 of 9 tiles are missing; luthier gram TABLE --kernel EXPR -o K "
                            "--resume computes them");
        lth_store_free(s);
        assert_int_equal(lth_items_use_store(reader, "K", &err), LTH_EARG);
    }
    check(&f, rows, NULL, ROWS, false);
    /* All is there; with any tile, and of another instruction set, nothing is to be done. */
    lth_gram_store_options_init(&o);
    assert_int_equal(store(&f, rows, NULL, &o, &err), LTH_EARG);
    assert_string_equal(err.message,
                        "is there already; --resume goes on with it, nothing overwrites "
                        "it");
    o.resume = true;
    assert_int_equal(store(&f, rows, NULL, &o, &err), LTH_OK);
    assert_int_equal(lth_items_use_store(reader, "K", &err), LTH_OK);
    assert_int_equal(lth_items_use_store(reader, "K", &err),
                     LTH_OK); /* in the place of the first */
    double *read = fixture_gram(&f, reader, NULL);
    free(read);
    fixture_close(&f);
    remove_store();
}

static void refuse(const fixture *f, const lth_items *rows, const lth_items *cols,
                   lth_gram_store_options o, const char *message) {
    lth_error err = {0};
    o.resume = true;
    assert_int_equal(store(f, rows, cols, &o, &err), LTH_EARG);
    if (!strstr(err.message, message)) fail_msg("%s, not %s", err.message, message);
}

static void test_another_matrix(void **state) {
    (void)state;
    fixture f = open_fixture(kernel, LTH_F64);
    const lth_items *rows = fixture_encode(&f, texts, ROWS),
                    *cols = fixture_encode(&f, others, COLS),
                    *more = fixture_encode(&f, texts + 1, ROWS - 1);
    lth_gram_store_options o = by_tiles();
    assert_int_equal(store(&f, rows, NULL, &o, NULL), LTH_OK);
    refuse(&f, rows, cols, o, "it is of one table, not of two");
    refuse(&f, more, NULL, o, "it was made from other rows, or with other word vectors");
    o.tile = 4;
    refuse(&f, rows, NULL, o, "it has tiles of 3 x 3, not of 4 x 4");
    o.tile = 8193;
    refuse(&f, rows, NULL, o, "a tile has at most 8192 rows, not 8193");
    o = by_tiles();
    o.values = LTH_F32;
    refuse(&f, rows, NULL, o, "its values are f64, not f32");
    static const size_t parts[][2] = {{1, 0}, {0, 2}, {3, 2}};
    for (size_t i = 0; i < 3; i++) {
        char message[40];
        o.part = parts[i][0], o.parts = parts[i][1];
        snprintf(message, sizeof message, "there is no part %zu of %zu", o.part, o.parts);
        refuse(&f, rows, NULL, o, message);
    }
    refuse(&f, fixture_encode(&f, texts, 0), NULL, by_tiles(), "a Gram matrix on disk needs rows");
    fixture_close(&f);
    f = open_fixture("ssk(text, order=3, units=chars)", LTH_F64);
    refuse(&f, fixture_encode(&f, texts, ROWS), NULL, by_tiles(), "another kernel");
    fixture_close(&f);
    f = open_fixture(kernel, LTH_F32);
    refuse(&f, fixture_encode(&f, texts, ROWS), NULL, by_tiles(),
           "it was computed in f64, not in f32");
    fixture_close(&f);
    remove_store();

    f = open_fixture(kernel, LTH_F32);
    rows = fixture_encode(&f, texts, ROWS);
    cols = fixture_encode(&f, others, COLS);
    o = by_tiles();
    o.values = LTH_F32;
    assert_int_equal(store(&f, rows, cols, &o, NULL), LTH_OK);
    refuse(&f, rows, NULL, o, "it is of two tables, not of one");
    refuse(&f, rows, fixture_encode(&f, others + 1, COLS - 1), o,
           "it was made from other rows of the second table");
    o.values = LTH_F64;
    refuse(&f, rows, cols, o, "its values are f32, not f64");
    fixture_close(&f);
    f = open_fixture(kernel, LTH_F64);
    rows = fixture_encode(&f, texts, ROWS);
    refuse(&f, rows, fixture_encode(&f, others, COLS), o, "it was computed in f32, not in f64");
    fixture_close(&f);
    remove_store();
}

/* ---- Damage ---- */

static void write_file(const char *path, const char *text) {
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void refuse_texts(const char *zattrs, const char *message) {
    lth_store *s = NULL;
    lth_error err = {0};
    write_file("K/.zattrs", zattrs);
    assert_int_equal(lth_store_open("K", &s, &err), LTH_EFORMAT);
    assert_null(s);
    if (!strstr(err.message, message)) fail_msg("%s, not %s", err.message, message);
}

static void test_damaged(void **state) {
    (void)state;
    fixture f = open_fixture(kernel, LTH_F64);
    const lth_items *rows = fixture_encode(&f, texts, ROWS),
                    *cols = fixture_encode(&f, others, COLS);
    lth_gram_store_options o = by_tiles();
    assert_int_equal(store(&f, rows, cols, &o, NULL), LTH_OK);
    lth_store *s = open_store();
    FILE *tile = fopen("K/1.0", "r+");
    assert_non_null(tile);
    double infinite = INFINITY, K[ROWS * COLS];
    fwrite(&infinite, sizeof infinite, 1, tile);
    fclose(tile);
    lth_error err = {0};
    assert_int_equal(lth_store_read(s, 0, ROWS, 0, COLS, K, COLS, &err), LTH_EFORMAT);
    assert_string_equal(err.message, "the tile 1.0 has a value that is not a number, or infinite");
    write_file("K/1.0", "short");
    assert_int_equal(lth_store_read(s, 0, ROWS, 0, COLS, K, COLS, &err), LTH_EFORMAT);
    assert_non_null(strstr(err.message, "the tile has 5 bytes, not 72"));
    lth_store_free(s);
    assert_int_equal(lth_store_open("K", &s, &err), LTH_EFORMAT); /* seen at once */
    unlink("K/1.0");
    assert_int_equal(lth_store_open("none", &s, &err), LTH_EIO);
    static const char *const names[] = {"kernel", "precision", "symmetric", "isa", "made_by"};
    for (size_t lacks = 0; lacks < 5; lacks++) {
        char zattrs[200] = "{", message[64];
        for (size_t i = 0; i < 5; i++) {
            size_t used = strlen(zattrs);
            if (i != lacks)
                snprintf(zattrs + used, sizeof zattrs - used, "%s\"%s\": \"yes\"",
                         used > 1 ? ", " : "", names[i]);
        }
        strcat(zattrs, "}");
        snprintf(message, sizeof message, ".zattrs has no text \"%s\"", names[lacks]);
        refuse_texts(zattrs, message);
    }
    refuse_texts(
        "{\"kernel\": \"k\", \"precision\": \"f64\", \"symmetric\": \"yes\", \"isa\": \"\", "
        "\"made_by\": \"\"}",
        "is said to be symmetric, but is not square");
    refuse_texts("{\"kernel\": 1}", "no text \"kernel\"");
    fixture_close(&f);
    remove_store();
}

/* ---- Memory ---- */

typedef struct use {
    const fixture *f;
    lth_items *rows;
    const lth_items *cols;
    lth_precision values;
} use;

static lth_status use_all(void *user, lth_error *err) {
    const use *u = user;
    lth_gram_store_options o = by_tiles();
    o.values = u->values;
    double K[ROWS * ROWS];
    lth_store *s = NULL;
    size_t m = u->cols ? COLS : ROWS;
    lth_status status = store(u->f, u->rows, u->cols, &o, err);
    o.resume = true;
    if (status == LTH_OK) status = store(u->f, u->rows, u->cols, &o, err);
    if (status == LTH_OK) status = lth_store_open("K", &s, err);
    if (status == LTH_OK) status = lth_store_read(s, 0, ROWS, 0, m, K, m, err);
    if (status == LTH_OK && !u->cols) status = lth_items_use_store(u->rows, "K", err);
    if (status == LTH_OK) status = lth_gram(u->f->kernel, u->rows, u->cols, K, m, err);
    lth_store_free(s);
    remove_store();
    return status;
}

static void test_each_place_fails(void **state) {
    (void)state;
    fixture f = open_fixture(kernel, LTH_F64);
    lth_items *rows = (lth_items *)fixture_encode(&f, texts, ROWS);
    const lth_items *cols = fixture_encode(&f, others, COLS);
    fail_each(use_all, &(use){&f, rows, cols, LTH_F32}, true, 20);
    fail_each(use_all, &(use){&f, rows, NULL, LTH_F64}, true, 20);
    fixture_close(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),  cmocka_unit_test(test_usual_tiles),
        cmocka_unit_test(test_parts),   cmocka_unit_test(test_another_matrix),
        cmocka_unit_test(test_damaged), cmocka_unit_test(test_each_place_fails),
    };
    return cmocka_run_group_tests(tests, scratch_open, scratch_close);
}
