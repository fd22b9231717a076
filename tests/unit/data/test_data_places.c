/* Arrays, matrices on disk, word vectors, mutations and units, written and read where memory fails
 * or a file is damaged in each place. A failure leaves no file behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <zlib.h>

#include "base/text.h"
#include "data/npy.h"
#include "data/units.h"
#include "data/variant.h"
#include "data/vectors.h"
#include "data/zarr.h"
#include "failing_allocator.h"
#include "gp_support.h"
#include "scratch.h"

static lth_status use_arrays(void *user, lth_error *err) {
    (void)user;
    const double data[6] = {1, 2, 3, 4, 5, 6};
    double *read = NULL;
    size_t shape[3], rank;
    lth_status status = lth_npy_write("a.npy", data, (size_t[]){2, 3}, 2, err);
    assert_int_equal(access("a.npy", F_OK) == 0, status == LTH_OK);
    if (status == LTH_OK) status = lth_npy_read("a.npy", &read, shape, &rank, err);
    if (status == LTH_OK) assert_memory_equal(read, data, sizeof data);
    lth_npy_free(read);
    unlink("a.npy");
    return status;
}

static lth_status use_matrix(void *user, lth_error *err) {
    (void)user;
    static const lth__zarr_shape shape = {
        .rows = 3, .cols = 2, .tile_rows = 2, .tile_cols = 2, .width = 8};
    static const lth__zarr_text texts[] = {{"kernel", "rbf(x)"}, {NULL, NULL}};
    const double values[4] = {1, 2, 3, 4};
    double read[4];
    bool there[2];
    size_t count;
    lth__zarr *z = NULL;
    lth_status status = lth__zarr_create("m", &shape, texts, err);
    if (status == LTH_OK) status = lth__zarr_open("m", &z, err);
    if (status == LTH_OK) status = lth__zarr_write(z, 1, 0, values, err);
    if (status == LTH_OK) status = lth__zarr_list(z, there, &count, err);
    if (status == LTH_OK) status = lth__zarr_read(z, 1, 0, read, err);
    if (status == LTH_OK) assert_memory_equal(read, values, sizeof values);
    lth__zarr_close(z);
    unlink("m/1.0");
    unlink("m/.zattrs");
    unlink("m/.zarray");
    rmdir("m");
    assert_int_equal(access("m", F_OK), -1);
    return status;
}

static lth_status use_vectors(void *user, lth_error *err) {
    lth__vectors some = {0}, parts = {0}, all = {0};
    lth__symbols *wanted = lth__symbols_create(), *words = lth__symbols_create();
    bool made = wanted && words && lth__symbols_intern(wanted, "cat", 3) != LTH__NO_SYMBOL &&
                lth__symbols_intern(wanted, "cat-dog", 7) != LTH__NO_SYMBOL;
    const lth__vector_source from = {.path = user};
    lth_status status = made ? LTH_OK : lth__fail_memory(err, 0);
    if (status == LTH_OK) status = lth__vectors_read(NULL, from, wanted, &some, err);
    if (status == LTH_OK) status = lth__vectors_read_parts(NULL, from, wanted, &parts, err);
    if (status == LTH_OK) status = lth__vectors_read_all(NULL, user, words, &all, err);
    if (status == LTH_OK) {
        assert_int_equal(some.count, 1);
        assert_int_equal(parts.count >= 2, true);
        assert_int_equal(all.count, 2);
    }
    lth__vectors_free(&some);
    lth__vectors_free(&parts);
    lth__vectors_free(&all);
    lth__symbols_free(wanted);
    lth__symbols_free(words);
    return status;
}

static lth_status use_mutations(void *user, lth_error *err) {
    const lth__wild_type wild = {.sequence = "MKVAG", .first = 1, .aligned = user != NULL};
    static const char text[] = "K2R:V3del,A4=";
    lth__string out = {0};
    lth_status status = lth__variant_write(&wild, text, sizeof text - 1, &out, err);
    if (status == LTH_OK) assert_string_equal(out.bytes, user ? "MR-AG" : "MRAG");
    lth__string_free(&out);
    return status;
}

static lth_status use_units(void *user, lth_error *err) {
    (void)user;
    static const char text[] = "It works, doesn't it";
    lth_status status = LTH_OK;
    for (lth__units units = LTH__WORDS; units <= LTH__BYTES && status == LTH_OK; units++) {
        lth__place *places = NULL;
        size_t count = 0;
        status = lth__units_places(text, sizeof text - 1, units, &places, &count, err);
        if (status == LTH_OK) {
            assert_int_equal(places[0].first, 0);
            assert_int_equal(places[count - 1].first + places[count - 1].length, sizeof text - 1);
        }
        lth__free(places);
    }
    return status;
}

static void arrays(void **state) {
    (void)state;
    fail_each(use_arrays, NULL, false, 5);
    fail_each(use_matrix, NULL, false, 5);
}

static void vectors(void **state) {
    (void)state;
    static const char plain[] = "cat 1 2\ndog 3 4\n", headed[] = "2 2\ncat 1 2\ndog 3 4\n",
                      binary[] = "2 1\ncat \0\0\200?\ndog \0\0\200?\n";
    support_write("plain", plain, sizeof plain - 1);
    support_write("headed", headed, sizeof headed - 1);
    support_write("binary", binary, sizeof binary - 1);
    gzFile packed = gzopen("packed", "wb");
    assert_int_equal(gzwrite(packed, headed, sizeof headed - 1), (int)sizeof headed - 1);
    gzclose(packed);
    static char *const names[] = {"plain", "headed", "binary", "packed"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        fail_each(use_vectors, names[i], false, 20);
        unlink(names[i]);
    }
}

static void texts(void **state) {
    (void)state;
    fail_each(use_mutations, NULL, false, 3);
    fail_each(use_mutations, (void *)(uintptr_t) "", false, 3);
    fail_each(use_units, NULL, false, 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays),
        cmocka_unit_test(vectors),
        cmocka_unit_test(texts),
    };
    return cmocka_run_group_tests(tests, scratch_open, scratch_close);
}
