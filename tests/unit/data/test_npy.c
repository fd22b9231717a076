/* .npy files: exact bytes written, what is read back, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "luthier.h"

static char path[64];

static int name_the_file(void **state) {
    (void)state;
    snprintf(path, sizeof path, "test_npy_%d.npy", (int)getpid());
    return 0;
}

static int remove_the_file(void **state) {
    (void)state;
    unlink(path);
    return 0;
}

/* A file of the given version, header text and data. */
static void write_npy(int version, const char *header, const void *data, size_t size) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    size_t length = strlen(header);
    fwrite("\x93NUMPY", 1, 6, f);
    fputc(version, f);
    fputc(0, f);
    for (int i = 0; i < (version == 1 ? 2 : 4); i++) fputc((int)(length >> (8 * i) & 255), f);
    fwrite(header, 1, length, f);
    if (size > 0) fwrite(data, 1, size, f);
    assert_int_equal(fclose(f), 0);
}

static void write_bytes(const void *bytes, size_t size) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    fwrite(bytes, 1, size, f);
    assert_int_equal(fclose(f), 0);
}

static size_t read_bytes(char *bytes, size_t capacity) {
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t got = fread(bytes, 1, capacity, f);
    fclose(f);
    return got;
}

static void refused(const char *message) {
    double *data = (double *)path;
    size_t shape[3] = {7, 7, 7}, rank = 9;
    lth_error err = {0};
    assert_int_equal(lth_npy_read(path, &data, shape, &rank, &err), LTH_EFORMAT);
    assert_string_equal(err.message, message);
    assert_string_equal(err.file, path);
    assert_ptr_equal(data, path);
    assert_int_equal(shape[0], 7);
    assert_int_equal(rank, 9);
}

static void exact_bytes(void **state) {
    (void)state;
    const double data[] = {1, -2.5};
    const size_t shape[] = {2};
    lth_error err;
    char bytes[512];
    assert_int_equal(lth_npy_write(path, data, shape, 1, &err), LTH_OK);
    assert_int_equal(read_bytes(bytes, sizeof bytes), 128 + 16);
    assert_memory_equal(bytes, "\x93NUMPY\x01\x00\x76\x00", 10);
    const char *header = "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }";
    assert_memory_equal(bytes + 10, header, strlen(header));
    for (size_t i = 10 + strlen(header); i < 127; i++) assert_int_equal(bytes[i], ' ');
    assert_int_equal(bytes[127], '\n');
    assert_memory_equal(bytes + 128, data, sizeof data);
}

static void ranks_read_back(void **state) {
    (void)state;
    double data[24];
    for (int i = 0; i < 24; i++) data[i] = i / 7.0 - 1;
    const size_t shapes[4][3] = {{24, 1, 1}, {4, 6, 1}, {2, 3, 4}, {3, 0, 2}};
    for (size_t n = 0; n < 4; n++) {
        size_t rank = n < 3 ? n + 1 : 3, shape[3], back = 0;
        double *read = NULL;
        lth_error err;
        assert_int_equal(lth_npy_write(path, data, shapes[n], rank, &err), LTH_OK);
        assert_int_equal(lth_npy_read(path, &read, shape, &back, &err), LTH_OK);
        assert_int_equal(back, rank);
        for (size_t i = 0; i < 3; i++) assert_int_equal(shape[i], shapes[n][i]);
        if (n < 3) assert_memory_equal(read, data, sizeof data);
        lth_npy_free(read);
    }
}

/* More than is read at once, and more than is allocated before anything was read. */
static void large_arrays_read_back(void **state) {
    (void)state;
    const size_t shape[] = {3, 3000001};
    size_t count = shape[0] * shape[1], back[3], rank;
    double *data = malloc(count * sizeof *data), *read = NULL;
    for (size_t i = 0; i < count; i++) data[i] = (double)i;
    lth_error err;
    assert_int_equal(lth_npy_write(path, data, shape, 2, &err), LTH_OK);
    assert_int_equal(lth_npy_read(path, &read, back, &rank, &err), LTH_OK);
    assert_int_equal(rank, 2);
    assert_int_equal(memcmp(read, data, count * sizeof *data), 0);
    lth_npy_free(read);
    free(data);
}

static void other_writers_are_read(void **state) {
    (void)state;
    const float floats[] = {1.5f, -0.1f, 3e38f};
    static const char *const headers[] = {
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }   \n",
        "{\"shape\":(3,1),\"descr\":\"<f4\",\"fortran_order\":False}",
        "  { 'fortran_order' : False , 'shape' : ( 1 , 3 , 1 ) , 'descr' : '<f4' }\n",
    };
    for (int version = 1; version <= 3; version++) {
        size_t shape[3], rank;
        double *read = NULL;
        write_npy(version, headers[version - 1], floats, sizeof floats);
        assert_int_equal(lth_npy_read(path, &read, shape, &rank, NULL), LTH_OK);
        assert_int_equal(rank, version);
        for (size_t i = 0; i < 3; i++) assert_true(read[i] == (double)floats[i]);
        lth_npy_free(read);
    }
}

static void files_that_are_refused(void **state) {
    (void)state;
    const double one[2] = {1, 2};
    write_bytes("\x93NUMP", 5);
    refused("the file ends inside the .npy header");
    write_bytes("", 0);
    refused("the file ends inside the .npy header");
    write_bytes("text\tscore\n1\t2\n", 15);
    refused("not a .npy file");
    write_npy(4, "{}", NULL, 0);
    refused("the .npy format has version 4; 1 to 3 are read");
    write_bytes("\x93NUMPY\x01\x00\x40\x00{'descr'", 19);
    refused("the file ends inside the .npy header");
    write_bytes("\x93NUMPY\x02\x00\xff\xff\xff\xff{", 13);
    refused("the .npy header is malformed");

    write_npy(1, "{'descr': '>f8', 'fortran_order': False, 'shape': (1,), }", one, 8);
    refused("the values are of type \">f8\"; \"<f8\" or \"<f4\" is needed");
    write_npy(1, "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,), }", one, 8);
    refused("the values are of type \"\"; \"<f8\" or \"<f4\" is needed");
    write_npy(1, "{'descr': '<f8', 'fortran_order': True, 'shape': (1,), }", one, 8);
    refused("the array is in Fortran order; C order is needed");
    write_npy(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (), }", one, 8);
    refused("the array has 0 dimensions; 1 to 3 are read");
    write_npy(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1, 1, 1), }", one, 8);
    refused("the array has 4 dimensions; 1 to 3 are read");
    write_npy(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296), }",
              one, 8);
    refused("the array is too large");
    write_npy(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (1152921504606846975,), }", one,
              8);
    refused("the file ends after 1 of 1152921504606846975 values");
    write_npy(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }", one, 15);
    refused("the file ends after 1 of 2 values");
    write_npy(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }", one, 9);
    refused("the file goes on after its 1 values");
}

static void malformed_headers(void **state) {
    (void)state;
    static const char *const headers[] = {
        "",
        "{",
        "{}",
        "{'descr': '<f8', 'fortran_order': False}",
        "{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1,), 'more': 1}",
        "{'descr': '<f8', 'fortran_order': Maybe, 'shape': (1,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1,}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1,)} x",
        "{'descr': '<f8' 'fortran_order': False, 'shape': (1,)}",
        "{'descr: '<f8', 'fortran_order': False, 'shape': (1,)",
    };
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        write_npy(1, headers[i], "12345678", 8);
        refused("the .npy header is malformed");
    }
}

static void arguments_are_checked(void **state) {
    (void)state;
    const double one = 1;
    const size_t shape[4] = {1, 1, 1, 1}, huge[2] = {SIZE_MAX, 2};
    lth_error err;
    assert_int_equal(lth_npy_write(path, &one, shape, 0, &err), LTH_EARG);
    assert_int_equal(lth_npy_write(path, &one, shape, 4, &err), LTH_EARG);
    assert_int_equal(lth_npy_write(path, NULL, shape, 1, &err), LTH_EARG);
    assert_int_equal(lth_npy_write(path, &one, huge, 2, &err), LTH_EARG);
    assert_int_equal(lth_npy_write("no/such/folder/a.npy", &one, shape, 1, &err), LTH_EIO);
    double *data;
    size_t back[3], rank;
    assert_int_equal(lth_npy_read("no/such/file.npy", &data, back, &rank, &err), LTH_EIO);
    assert_int_equal(lth_npy_read(NULL, &data, back, &rank, NULL), LTH_EARG);
    assert_int_equal(lth_npy_read(path, NULL, back, &rank, NULL), LTH_EARG);
    assert_int_equal(lth_npy_read(path, &data, NULL, &rank, NULL), LTH_EARG);
    assert_int_equal(lth_npy_read(path, &data, back, NULL, NULL), LTH_EARG);
    assert_int_equal(lth_npy_write(NULL, &one, shape, 1, &err), LTH_EARG);
    assert_int_equal(lth_npy_write(path, &one, NULL, 1, &err), LTH_EARG);
    assert_int_equal(access(path, F_OK), -1); /* nothing is left behind */
    lth_npy_free(NULL);
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, name_the_file, remove_the_file)
    const struct CMUnitTest tests[] = {
        TEST(exact_bytes),
        TEST(ranks_read_back),
        TEST(large_arrays_read_back),
        TEST(other_writers_are_read),
        TEST(files_that_are_refused),
        TEST(malformed_headers),
        TEST(arguments_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
