/* Gram matrices on disk against the same in memory: every window of them, in one go and in parts,
 * of one table and of two; what is told of them, and what is refused, by its exact words. */
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

#include "fixture.h"
#include "kernel/core/store.h"
#include "scratch.h"

enum { ROWS = 11, COLS = 6, TILE = 4, TILES = 3 };
static const char kernel_text[] = "ssk(text, units=chars, order=2, gap=0.3)", folder[] = "K.zarr";
static const char *const texts[] = {"abca", "b",    "",     "cabb", "aacc",  "bcb",
                                    "abc",  "caba", "bbaa", "ac",   "cbacb", "aa"};
static const lth_items *const one_table = NULL;

typedef struct world {
    fixture f;
    const lth_items *rows, *cols;
    char log[800]; /* lines that were told */
} world;

static void listen(void *user, lth_log_level level, const char *text) {
    world *w = user;
    size_t used = strlen(w->log);
    snprintf(w->log + used, sizeof w->log - used, "%d %s\n", (int)level, text);
}

static void open_world(world *w, const char *kernel, lth_ctx_options o) {
    *w = (world){0};
    o.log = listen;
    o.user = w;
    w->f = fixture_open(kernel, &o);
    w->rows = fixture_encode(&w->f, texts, ROWS);
    w->cols = fixture_encode(&w->f, texts + 3, COLS);
}

static lth_ctx_options usual(void) {
    lth_ctx_options o;
    lth_ctx_options_init(&o);
    return o;
}

static void remove_store(void) {
    static const char *const others[] = {".zarray", ".zattrs"};
    char name[64];
    for (size_t k = 0; k < 2; k++) {
        snprintf(name, sizeof name, "%s/%s", folder, others[k]);
        assert_int_equal(unlink(name), 0);
    }
    for (size_t k = 0; k < TILES * TILES; k++) {
        snprintf(name, sizeof name, "%s/%zu.%zu", folder, k / TILES, k % TILES);
        unlink(name);
    }
    assert_int_equal(rmdir(folder), 0);
}

static lth_gram_store_options with_tile(size_t tile) {
    lth_gram_store_options o;
    lth_gram_store_options_init(&o);
    o.tile = tile;
    return o;
}

static void write_store(world *w, const lth_items *cols, const lth_gram_store_options *o) {
    lth_error err = {0};
    w->log[0] = 0;
    if (lth_gram_store(w->f.kernel, w->rows, cols, folder, o, &err) != LTH_OK)
        fail_msg("%s", err.message);
}

static lth_store *open_store(void) {
    lth_store *s = NULL;
    lth_error err = {0};
    if (lth_store_open(folder, &s, &err) != LTH_OK) fail_msg("%s", err.message);
    return s;
}

/* ---- What is written is read ---- */

static void check_window(const lth_store *s, const double *K, size_t n, size_t row, size_t rows,
                         size_t col, size_t cols) {
    double got[ROWS * (ROWS + 1) + 1];
    size_t ld = cols + 1;
    for (size_t i = 0; i <= ROWS * (ROWS + 1); i++) got[i] = -7;
    assert_int_equal(lth_store_read(s, row, rows, col, cols, got, ld, NULL), LTH_OK);
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < cols; j++)
            assert_true(got[i * ld + j] == K[(row + i) * n + col + j]);
        assert_true(cols == 0 || got[i * ld + cols] == -7);
    }
    assert_true(got[cols == 0 ? 0 : rows * ld] == -7);
}

static void check_windows(const double *K, size_t m, size_t n) {
    lth_store *s = open_store();
    for (size_t row = 0; row <= m; row += 2) {
        for (size_t rows = 0; rows <= m - row; rows += rows % 4 + 1) {
            for (size_t col = 1; col <= n; col += 3) {
                for (size_t cols = 0; cols <= n - col; cols += 2)
                    check_window(s, K, n, row, rows, col, cols);
            }
        }
    }
    check_window(s, K, n, 0, m, 0, n);
    lth_store_free(s);
}

static void windows(void **state) {
    (void)state;
    world w;
    open_world(&w, kernel_text, usual());
    const lth_items *cols[] = {one_table, w.cols};
    for (size_t k = 0; k < 2; k++) {
        lth_gram_store_options o = with_tile(TILE);
        double *K = fixture_gram(&w.f, w.rows, cols[k]);
        write_store(&w, cols[k], &o);
        assert_string_equal(w.log, k ? "2 6 of 6 tiles of 4 x 4 to compute\n"
                                     : "2 9 of 9 tiles of 4 x 4 to compute\n");
        check_windows(K, ROWS, k ? COLS : ROWS);
        free(K);
        remove_store();
    }
    fixture_close(&w.f);
}

static void described(void **state) {
    (void)state;
    world w;
    lth_ctx_options in_singles = usual();
    in_singles.precision = LTH_F32;
    for (int single = 0; single < 2; single++) {
        open_world(&w, kernel_text, single ? in_singles : usual());
        lth_gram_store_options o = with_tile(5);
        o.values = single ? LTH_F32 : LTH_F64;
        write_store(&w, single ? w.cols : one_table, &o);
        lth_store *s = open_store();
        const lth_store_info *i = lth_store_described(s);
        char made_by[64];
        snprintf(made_by, sizeof made_by, "luthier %s", lth_version());
        assert_int_equal(i->rows, ROWS);
        assert_int_equal(i->cols, single ? COLS : ROWS);
        assert_int_equal(i->tile_rows, 5);
        assert_int_equal(i->tile_cols, 5);
        assert_int_equal(i->tiles, single ? 6 : 9);
        assert_int_equal(i->missing, 0);
        assert_true(i->symmetric == !single);
        assert_int_equal(i->values, single ? LTH_F32 : LTH_F64);
        assert_int_equal(i->precision, single ? LTH_F32 : LTH_F64);
        assert_string_equal(i->isa, lth_ctx_isa(w.f.ctx));
        assert_string_equal(i->made_by, made_by);
        assert_non_null(strstr(i->kernel, "gap=0.3"));
        assert_null(strstr(i->kernel, "gap=0.3!"));
        lth_store_free(s);
        remove_store();
        fixture_close(&w.f);
    }
}

/* Held or free, a value is the same; and rows of the store may be taken in any order. */
static void items_read_it(void **state) {
    (void)state;
    static const size_t picked[] = {7, 2, 2, 10, 0};
    enum { SOME = sizeof picked / sizeof *picked };
    world w;
    lth_error err = {0};
    open_world(&w, kernel_text, usual());
    double *K = fixture_gram(&w.f, w.rows, NULL);
    lth_gram_store_options o = with_tile(TILE);
    write_store(&w, one_table, &o);
    fixture_close(&w.f);
    open_world(&w, "ssk(text, units=chars, order=2, gap=0.3!)", usual());
    lth_items *items = w.f.items[0], *some = NULL;
    assert_true(lth__items_stored_bytes(items, ROWS) == 0);
    if (lth_items_use_store(items, folder, &err) != LTH_OK) fail_msg("%s", err.message);
    assert_true(lth__items_stored_bytes(items, ROWS) == TILES * (TILES + 1) / 2 * 16 * 8);
    assert_true(lth__items_stored_bytes(items, 2) == 3 * 16 * 8);
    assert_int_equal(lth__items_pick(items, picked, SOME, &some, &err), LTH_OK);
    double *all = fixture_gram(&w.f, items, NULL), *few = fixture_gram(&w.f, some, NULL);
    assert_memory_equal(all, K, sizeof *K * ROWS * ROWS);
    for (size_t i = 0; i < SOME; i++) {
        for (size_t j = 0; j < SOME; j++)
            assert_true(few[i * SOME + j] == K[picked[i] * ROWS + picked[j]]);
    }
    lth_items_free(some);
    free(all);
    free(few);
    free(K);
    fixture_close(&w.f);
    remove_store();
}

static void tiles_to_compute_with(void **state) {
    (void)state;
    world w;
    open_world(&w, kernel_text, usual());
    double *K = fixture_gram(&w.f, w.rows, NULL), tile[TILE * TILE];
    lth_gram_store_options o = with_tile(TILE);
    write_store(&w, one_table, &o);
    lth_store *s = open_store();
    for (size_t k = 0; k < TILES * TILES; k++) {
        size_t i = k / TILES, j = k % TILES;
        if (j > i) continue;
        assert_int_equal(lth__store_tile(s, i, j, tile, NULL), LTH_OK);
        for (size_t c = 0; c < TILE * TILE; c++) {
            size_t row = i * TILE + c / TILE, col = j * TILE + c % TILE;
            assert_true(tile[c] == (row < ROWS && col < ROWS ? K[row * ROWS + col] : 0));
        }
    }
    lth_store_free(s);
    free(K);
    remove_store();
    fixture_close(&w.f);
}

/* ---- Tiles ---- */

/* How large they are, where nobody says: none is computed for this. */
static void sizes_of_tiles(void **state) {
    (void)state;
    static const size_t sizes[][2] = {{1, 1},      {512, 512},  {513, 257},
                                      {1025, 342}, {8208, 513}, {20000, 1000}};
    enum { MOST = 20000 };
    const char **many = malloc(MOST * sizeof *many);
    assert_non_null(many);
    for (size_t i = 0; i < MOST; i++) many[i] = "a";
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        world w;
        open_world(&w, kernel_text, usual());
        w.rows = fixture_encode(&w.f, many, sizes[k][0]);
        lth_gram_store_options o = with_tile(0);
        o.part = o.parts = 1000;
        write_store(&w, w.cols, &o);
        lth_store *s = open_store();
        assert_int_equal(lth_store_described(s)->tile_rows, sizes[k][1]);
        assert_int_equal(lth_store_described(s)->tile_cols, COLS);
        assert_int_equal(lth_store_described(s)->missing, lth_store_described(s)->tiles);
        lth_store_free(s);
        remove_store();
        fixture_close(&w.f);
    }
    free(many);
}

static size_t missing(void) {
    lth_store *s = open_store();
    size_t count = lth_store_described(s)->missing;
    lth_store_free(s);
    return count;
}

/* Pieces 0.0, 1.0, 1.1, 2.0, 2.1, 2.2, those beside the diagonal with their mirror images, are
 * dealt out in this order. */
static void parts(void **state) {
    (void)state;
    static const size_t left[][3] = {{6, 2, 0}, {4, 2, 0}}; /* of one table, and of two */
    world w;
    double K[ROWS * ROWS];
    open_world(&w, kernel_text, usual());
    for (int two = 0; two < 2; two++) {
        const lth_items *cols = two ? w.cols : one_table;
        size_t n = two ? COLS : ROWS, tiles = two ? 6 : 9;
        lth_gram_store_options o = with_tile(TILE);
        o.parts = 2;
        write_store(&w, cols, &o);
        assert_int_equal(missing(), two ? 3 : 5);
        write_store(&w, cols, &o); /* which has been done */
        assert_int_equal(missing(), two ? 3 : 5);
        lth_store *s = open_store();
        lth_error err = {0};
        char message[400];
        snprintf(message, sizeof message,
                 "%d of %zu tiles are missing; luthier gram TABLE --kernel EXPR -o K.zarr --resume "
                 "computes them",
                 two ? 3 : 5, tiles);
        assert_int_equal(lth_store_read(s, 0, 1, 0, 1, K, n, &err), LTH_EARG);
        assert_string_equal(err.message, message);
        lth_store_free(s);
        o.part = 2;
        write_store(&w, cols, &o);
        assert_int_equal(missing(), 0);
        remove_store();
        for (o.part = 1, o.parts = 3; o.part <= 3; o.part++) {
            write_store(&w, cols, &o);
            assert_int_equal(missing(), left[two][o.part - 1]);
        }
        double *want = fixture_gram(&w.f, w.rows, cols);
        check_windows(want, ROWS, n);
        free(want);
        remove_store();
    }
    fixture_close(&w.f);
}

/* A tile and its mirror image are one piece: each comes back when it is lost. */
static void lost_tiles(void **state) {
    (void)state;
    world w;
    open_world(&w, kernel_text, usual());
    double *K = fixture_gram(&w.f, w.rows, NULL);
    lth_gram_store_options o = with_tile(TILE);
    write_store(&w, one_table, &o);
    o.resume = true;
    static const char *const lost[] = {"K.zarr/0.0", "K.zarr/1.0", "K.zarr/0.2", "K.zarr/2.2"};
    for (size_t k = 0; k < sizeof lost / sizeof *lost; k++) {
        assert_int_equal(unlink(lost[k]), 0);
        write_store(&w, one_table, &o);
        assert_string_equal(w.log, k % 3 ? "2 2 of 9 tiles of 4 x 4 to compute\n"
                                         : "2 1 of 9 tiles of 4 x 4 to compute\n");
        check_windows(K, ROWS, ROWS);
    }
    free(K);
    remove_store();
    fixture_close(&w.f);
}

/* ---- What is refused ---- */

static void spoil(const char *path, size_t number) {
    FILE *file = fopen(path, "r+b");
    double nan = NAN;
    assert_non_null(file);
    assert_int_equal(fseek(file, (long)(number * sizeof nan), SEEK_SET), 0);
    assert_int_equal(fwrite(&nan, sizeof nan, 1, file), 1);
    assert_int_equal(fclose(file), 0);
}

/* A tile has numbers beyond the last row, which are none; but where they count, they are seen. */
static void not_a_number(void **state) {
    (void)state;
    world w;
    double K[ROWS * ROWS], tile[TILE * TILE];
    open_world(&w, kernel_text, usual());
    lth_gram_store_options o = with_tile(TILE);
    write_store(&w, one_table, &o);
    lth_items *items = w.f.items[0];
    assert_int_equal(lth_items_use_store(items, folder, NULL), LTH_OK);
    spoil("K.zarr/2.1", 3 * TILE); /* beyond the last row */
    spoil("K.zarr/1.1", 2);        /* 4, 6: above the diagonal */
    assert_int_equal(lth_gram(w.f.kernel, items, NULL, K, ROWS, NULL), LTH_OK);
    lth_store *s = open_store();
    assert_int_equal(lth__store_tile(s, 2, 1, tile, NULL), LTH_OK);
    assert_int_equal(lth__store_tile(s, 1, 1, tile, NULL), LTH_OK);
    spoil("K.zarr/2.1", 2 * TILE + 1); /* 10, 5 */
    static const char message[] = "the tile 2.1 has a value that is not a number, or infinite";
    lth_error err[3] = {{0}};
    assert_int_equal(lth_gram(w.f.kernel, items, NULL, K, ROWS, &err[0]), LTH_EFORMAT);
    assert_int_equal(lth__store_tile(s, 2, 1, tile, &err[1]), LTH_EFORMAT);
    assert_int_equal(lth_store_read(s, 10, 1, 5, 1, K, 1, &err[2]), LTH_EFORMAT);
    for (size_t k = 0; k < 3; k++) {
        assert_string_equal(err[k].message, message);
        assert_string_equal(err[k].file, folder);
    }
    assert_int_equal(lth_store_read(s, 10, 1, 6, 5, K, 5, NULL), LTH_OK);
    assert_int_equal(lth_store_read(s, 8, 2, 4, 4, K, 4, NULL), LTH_OK);
    lth_store_free(s);
    fixture_close(&w.f);
    remove_store();
}

static void windows_outside(void **state) {
    (void)state;
    static const size_t outside[][5] = {{12, 0, 0, 0, 1}, {0, 12, 0, 1, 1}, {5, 7, 0, 1, 1},
                                        {0, 1, 7, 0, 1},  {0, 1, 3, 4, 4},  {0, 1, 0, 7, 7},
                                        {0, 1, 2, 3, 2}};
    world w;
    double K[ROWS * ROWS];
    open_world(&w, kernel_text, usual());
    lth_gram_store_options o = with_tile(TILE);
    write_store(&w, w.cols, &o);
    lth_store *s = open_store();
    for (size_t k = 0; k < sizeof outside / sizeof *outside; k++) {
        const size_t *x = outside[k];
        lth_error err = {0};
        assert_int_equal(lth_store_read(s, x[0], x[1], x[2], x[3], K, x[4], &err), LTH_EARG);
        assert_string_equal(err.message, "the matrix has 11 rows and 6 columns, not so many");
    }
    assert_int_equal(lth_store_read(s, 11, 0, 6, 0, K, 0, NULL), LTH_OK);
    lth_store_free(s);
    remove_store();
    fixture_close(&w.f);
}

static void check_refused(const world *w, const lth_items *rows, const lth_items *cols,
                          lth_gram_store_options o, const char *message) {
    lth_error err = {0};
    assert_int_equal(lth_gram_store(w->f.kernel, rows, cols, folder, &o, &err), LTH_EARG);
    assert_string_equal(err.message, message);
}

static void refused(void **state) {
    (void)state;
    world w, other;
    lth_ctx_options singles = usual();
    singles.precision = LTH_F32;
    open_world(&w, kernel_text, usual());
    lth_gram_store_options o = with_tile(8192);
    write_store(&w, one_table, &o);
    check_refused(&w, w.rows, NULL, o,
                  "is there already; --resume goes on with it, nothing overwrites it");
    o.resume = true;
    check_refused(&w, w.rows, w.cols, o, "it is of one table, not of two");
    check_refused(&w, w.cols, NULL, o, "it was made from other rows, or with other word vectors");
    o.tile = 10;
    check_refused(&w, w.rows, NULL, o, "it has tiles of 11 x 11, not of 10 x 10");
    o.tile = 8193;
    check_refused(&w, w.rows, NULL, o, "a tile has at most 8192 rows, not 8193");
    o.tile = 0;
    o.values = LTH_F32;
    check_refused(&w, w.rows, NULL, o, "its values are f64, not f32");
    o.values = LTH_F64;
    o.parts = 0;
    check_refused(&w, w.rows, NULL, o, "there is no part 1 of 0");
    o.parts = 2, o.part = 0;
    check_refused(&w, w.rows, NULL, o, "there is no part 0 of 2");
    o.part = 3;
    check_refused(&w, w.rows, NULL, o, "there is no part 3 of 2");
    o.parts = o.part = 1;
    open_world(&other, kernel_text, singles);
    check_refused(&other, other.rows, NULL, o, "it was computed in f64, not in f32");
    fixture_close(&other.f);
    open_world(&other, "ssk(text, units=chars, order=2, gap=0.4)", usual());
    lth_error err = {0};
    assert_int_equal(lth_items_use_store(other.f.items[0], folder, &err), LTH_EARG);
    assert_int_equal(strncmp(err.message, "it was made with another kernel: ssk(", 37), 0);
    assert_non_null(strstr(err.message, "gap=0.3"));
    assert_non_null(strstr(err.message, "gap=0.4"));
    fixture_close(&other.f);
    remove_store();
    o = with_tile(TILE);
    write_store(&w, w.cols, &o);
    assert_int_equal(lth_items_use_store(w.f.items[0], folder, &err), LTH_EARG);
    assert_string_equal(err.message, "it is of two tables, not of one");
    o.resume = true;
    check_refused(&w, w.rows, fixture_encode(&w.f, texts, COLS), o,
                  "it was made from other rows of the second table");
    fixture_close(&w.f);
    remove_store();
}

/* What rounds otherwise goes on, with a word about it. */
static void other_digits(void **state) {
    (void)state;
    static const char to_do[] = "2 0 of 9 tiles of 4 x 4 to compute\n";
    world w;
    lth_ctx_options o = usual();
    lth_gram_store_options none = with_tile(TILE);
    none.part = none.parts = 1000;
    o.dropping = LTH_DROP_OFF;
    open_world(&w, kernel_text, o);
    write_store(&w, one_table, &none);
    write_store(&w, one_table, &none);
    assert_string_equal(w.log, to_do);
    fixture_close(&w.f);
    o.dropping = LTH_DROP_ON;
    open_world(&w, kernel_text, o);
    none.tile = 0; /* what it has */
    write_store(&w, one_table, &none);
    assert_string_equal(strstr(w.log, "2 "), to_do);
    *strstr(w.log, "2 ") = 0;
    assert_string_equal(w.log,
                        "1 K.zarr: its first tiles were computed with dropping off, those to "
                        "come with on: last digits may differ\n");
    fixture_close(&w.f);
    remove_store();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows),         cmocka_unit_test(described),
        cmocka_unit_test(items_read_it),   cmocka_unit_test(tiles_to_compute_with),
        cmocka_unit_test(sizes_of_tiles),  cmocka_unit_test(parts),
        cmocka_unit_test(lost_tiles),      cmocka_unit_test(not_a_number),
        cmocka_unit_test(windows_outside), cmocka_unit_test(refused),
        cmocka_unit_test(other_digits)};
    return cmocka_run_group_tests(tests, scratch_open, scratch_close);
}
