/* Zarr arrays: what is written, what is read back, and what is refused. */
#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/durable.h"
#include "data/zarr.h"

static char folder[64];
static const lth__zarr_shape shape = {
    .rows = 5, .cols = 3, .tile_rows = 2, .tile_cols = 2, .width = 8};
static const lth__zarr_text texts[] = {{"kernel", "ssk(\"a\")"}, {NULL, NULL}};

static int name_the_folder(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "test_zarr_%d.zarr", (int)getpid());
    return 0;
}

static int remove_the_folder(void **state) {
    (void)state;
    char name[512];
    DIR *open = opendir(folder);
    if (!open) return 0;
    for (const struct dirent *e; (e = readdir(open)) != NULL;) {
        snprintf(name, sizeof name, "%s/%s", folder, e->d_name);
        unlink(name);
    }
    closedir(open);
    return rmdir(folder);
}

static void put(const char *name, const char *bytes, size_t size) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    fwrite(bytes, 1, size, f);
    assert_int_equal(fclose(f), 0);
}

static bool has(const char *name) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

static lth__zarr *create(void) {
    lth_error err = {0};
    lth__zarr *z = NULL;
    assert_int_equal(lth__zarr_create(folder, &shape, texts, &err), LTH_OK);
    assert_int_equal(lth__zarr_open(folder, &z, &err), LTH_OK);
    return z;
}

static void comes_back(void **state) {
    (void)state;
    lth__zarr *z = create();
    const double tile[4] = {1, 0.1, -3e200, NAN};
    double back[4] = {0};
    bool there[6] = {0};
    size_t count = 9;
    assert_string_equal(lth__zarr_text_of(z, "kernel"), "ssk(\"a\")");
    assert_null(lth__zarr_text_of(z, "rows"));
    assert_memory_equal(lth__zarr_shape_of(z), &shape, sizeof shape);
    assert_int_equal(lth__zarr_write(z, 2, 1, tile, NULL), LTH_OK);
    assert_int_equal(lth__zarr_read(z, 2, 1, back, NULL), LTH_OK);
    assert_memory_equal(tile, back, sizeof tile);
    assert_int_equal(lth__zarr_list(z, there, &count, NULL), LTH_OK);
    assert_int_equal(count, 1);
    assert_true(there[5]);
    assert_false(there[0]);
    /* Names that are no tiles of this array are none of its business. */
    put("3.0", "x", 1);
    put("0.2", "x", 1);
    put("01.0", "x", 1);
    put("1.0.tmp-7-0", "x", 1);
    put("99999999999999999999.0", "x", 1);
    assert_int_equal(lth__zarr_list(z, NULL, &count, NULL), LTH_OK);
    assert_int_equal(count, 1);
    lth__zarr_close(z);
}

static void floats_are_rounded(void **state) {
    (void)state;
    lth__zarr_shape half = shape;
    half.width = 4;
    lth__zarr *z = NULL;
    lth_error err = {0};
    const double tile[4] = {1, 0.1, 1e-3, 7}, large[4] = {0, 1e200, 0, 0};
    double back[4];
    assert_int_equal(lth__zarr_create(folder, &half, texts, NULL), LTH_OK);
    assert_int_equal(lth__zarr_open(folder, &z, NULL), LTH_OK);
    assert_int_equal(lth__zarr_write(z, 0, 0, tile, NULL), LTH_OK);
    assert_int_equal(lth__zarr_read(z, 0, 0, back, NULL), LTH_OK);
    for (int i = 0; i < 4; i++) assert_true(back[i] == (float)tile[i]);
    assert_int_equal(lth__zarr_write(z, 0, 1, large, &err), LTH_ENUMERIC);
    assert_false(has("0.1"));
    lth__zarr_close(z);
}

static void a_tile_of_another_size_is_refused(void **state) {
    (void)state;
    lth__zarr *z = create();
    lth_error err = {0};
    double back[4];
    size_t count = 7;
    put("1.1", "half", 4);
    assert_int_equal(lth__zarr_list(z, NULL, &count, &err), LTH_EFORMAT);
    assert_non_null(strstr(err.file, "/1.1"));
    assert_non_null(strstr(err.message, "has 4 bytes, not 32"));
    assert_int_equal(count, 7);
    assert_int_equal(lth__zarr_read(z, 1, 1, back, &err), LTH_EFORMAT);
    assert_int_equal(lth__zarr_read(z, 0, 0, back, &err), LTH_EIO);
    lth__zarr_close(z);
}

/* The first process wins, and nothing that is there is written over. */
static void the_first_wins(void **state) {
    (void)state;
    lth__zarr *z = create();
    lth__zarr_shape other = shape;
    other.rows = 7;
    lth__zarr_close(z);
    assert_int_equal(lth__zarr_create(folder, &other, texts, NULL), LTH_OK);
    assert_int_equal(lth__zarr_open(folder, &z, NULL), LTH_OK);
    assert_int_equal(lth__zarr_shape_of(z)->rows, 5);
    lth__zarr_close(z);
}

static void a_folder_of_others_stays(void **state) {
    (void)state;
    lth_error err = {0};
    assert_int_equal(mkdir(folder, 0777), 0);
    put("thesis.tex", "x", 1);
    assert_int_equal(lth__zarr_create(folder, &shape, texts, &err), LTH_EFORMAT);
    assert_non_null(strstr(err.message, "thesis.tex"));
    assert_false(has(".zarray"));
}

static void refused(const char *array, const char *why) {
    lth_error err = {0};
    lth__zarr *z = (lth__zarr *)folder;
    put(".zarray", array, strlen(array));
    assert_int_equal(lth__zarr_open(folder, &z, &err), LTH_EFORMAT);
    assert_ptr_equal(z, folder);
    if (!strstr(err.message, why)) fail_msg("\"%s\" does not say \"%s\"", err.message, why);
    assert_non_null(strstr(err.file, folder));
}

#define ARRAY(format, shape, chunks, type, compressor, fill, order, filters, separator)            \
    "{\"zarr_format\": " format ", \"shape\": " shape ", \"chunks\": " chunks ", \"dtype\": " type \
    ", \"compressor\": " compressor ", \"fill_value\": " fill ", \"order\": " order                \
    ", \"filters\": " filters ", \"dimension_separator\": " separator "}"

static void hostile_arrays_are_refused(void **state) {
    (void)state;
    lth__zarr_close(create());
    refused("", "JSON");
    refused("{\"zarr_format\": 2, \"sha", "JSON");
    refused("[2]", "not a JSON object");
    refused("{}", "\"zarr_format\" is missing");
    refused(ARRAY("3", "[5,3]", "[2,2]", "\"<f8\"", "null", "\"NaN\"", "\"C\"", "null", "\".\""),
            "\"zarr_format\" is 3");
    refused(ARRAY("2", "[5,3]", "[2,2]", "\">f8\"", "null", "\"NaN\"", "\"C\"", "null", "\".\""),
            "\"dtype\" is \">f8\"");
    refused(ARRAY("2", "[5,3]", "[2,2]", "\"<i8\"", "null", "\"NaN\"", "\"C\"", "null", "\".\""),
            "\"dtype\" is");
    refused(ARRAY("2", "[5,3]", "[2,2]", "\"<f8\"", "{\"id\": \"zlib\"}", "\"NaN\"", "\"C\"",
                  "null", "\".\""),
            "\"compressor\" is {\"id\":\"zlib\"}");
    refused(ARRAY("2", "[5,3]", "[2,2]", "\"<f8\"", "null", "0", "\"C\"", "null", "\".\""),
            "\"fill_value\"");
    refused(ARRAY("2", "[5,3]", "[2,2]", "\"<f8\"", "null", "\"NaN\"", "\"F\"", "null", "\".\""),
            "\"order\"");
    refused(ARRAY("2", "[5,3]", "[2,2]", "\"<f8\"", "null", "\"NaN\"", "\"C\"", "[{\"id\":\"x\"}]",
                  "\".\""),
            "\"filters\"");
    refused(ARRAY("2", "[5,3]", "[2,2]", "\"<f8\"", "null", "\"NaN\"", "\"C\"", "null", "\"/\""),
            "\"dimension_separator\"");
    refused(ARRAY("2", "[5]", "[2,2]", "\"<f8\"", "null", "\"NaN\"", "\"C\"", "null", "\".\""),
            "\"shape\"");
    refused(ARRAY("2", "[5,-3]", "[2,2]", "\"<f8\"", "null", "\"NaN\"", "\"C\"", "null", "\".\""),
            "\"shape\"");
    refused(ARRAY("2", "[5,3]", "[0,2]", "\"<f8\"", "null", "\"NaN\"", "\"C\"", "null", "\".\""),
            "\"chunks\"");
    refused(ARRAY("2", "[5,3]", "[4000000000,4000000000]", "\"<f8\"", "null", "\"NaN\"", "\"C\"",
                  "null", "\".\""),
            "\"chunks\"");
}

static void damaged_texts_are_refused(void **state) {
    (void)state;
    lth_error err = {0};
    lth__zarr *z = NULL;
    lth__zarr_close(create());
    put(".zattrs", "{\"kernel\": \"ssk", 15);
    assert_int_equal(lth__zarr_open(folder, &z, &err), LTH_EFORMAT);
    assert_non_null(strstr(err.file, ".zattrs"));
    put(".zattrs", "{\"kernel\": 3}", 13);
    assert_int_equal(lth__zarr_open(folder, &z, &err), LTH_OK);
    assert_null(lth__zarr_text_of(z, "kernel"));
    lth__zarr_close(z);
}

/* What a process that was killed left is removed, what one writes at the moment is not. */
static void what_is_left_is_swept(void **state) {
    (void)state;
    lth__zarr_close(create());
    put("0.0.tmp-1-0", "half", 4);
    put("0.1.tmp-1-0", "half", 4);
    char path[128];
    snprintf(path, sizeof path, "%s/0.1.tmp-1-0", folder);
    FILE *busy = fopen(path, "rb");
    assert_non_null(busy);
    assert_int_equal(flock(fileno(busy), LOCK_EX), 0);
    lth__durable_sweep(folder);
    assert_false(has("0.0.tmp-1-0"));
    assert_true(has("0.1.tmp-1-0"));
    assert_true(has(".zarray"));
    fclose(busy);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(comes_back, remove_the_folder),
        cmocka_unit_test_teardown(floats_are_rounded, remove_the_folder),
        cmocka_unit_test_teardown(a_tile_of_another_size_is_refused, remove_the_folder),
        cmocka_unit_test_teardown(the_first_wins, remove_the_folder),
        cmocka_unit_test_teardown(a_folder_of_others_stays, remove_the_folder),
        cmocka_unit_test_teardown(hostile_arrays_are_refused, remove_the_folder),
        cmocka_unit_test_teardown(damaged_texts_are_refused, remove_the_folder),
        cmocka_unit_test_teardown(what_is_left_is_swept, remove_the_folder),
    };
    return cmocka_run_group_tests(tests, name_the_folder, NULL);
}
