/* Model files: what is written reads back, Python's layout to the byte, and every damaged or
 * hostile file is refused. */
#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "model/common/tensors.h"

static char path[64];

static int name_the_file(void **state) {
    (void)state;
    snprintf(path, sizeof path, "test_tensors_%d.model", (int)getpid());
    return 0;
}

static int remove_the_file(void **state) {
    (void)state;
    unlink(path);
    return 0;
}

/* ---- Helpers --------------------------------------------------------------------------------- */

static void write_bytes(const void *bytes, size_t size) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

static size_t read_bytes(unsigned char *bytes, size_t capacity) {
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t got = fread(bytes, 1, capacity, f);
    fclose(f);
    assert_true(got < capacity);
    return got;
}

/* A file of this header, just so, and `size` zero bytes of data. */
static void write_raw(const char *header, size_t size) {
    unsigned char bytes[4096] = {0};
    size_t length = strlen(header);
    assert_true(8 + length + size <= sizeof bytes);
    for (int i = 0; i < 8; i++) bytes[i] = (unsigned char)((uint64_t)length >> (8 * i) & 255);
    memcpy(bytes + 8, header, length);
    write_bytes(bytes, 8 + length + size);
}

/* The same with the metadata of a model and `arrays` after them, padded. */
static void write_arrays(const char *arrays, size_t size) {
    char header[2048];
    int length = snprintf(header, sizeof header,
                          "{\"__metadata__\":{\"format\":\"luthier\",\"version\":\"1\","
                          "\"checksum\":\"crc32:00000000\"}%s%s}",
                          arrays[0] != '\0' ? "," : "", arrays);
    while (length % 8 != 0) header[length++] = ' ';
    header[length] = '\0';
    write_raw(header, size);
}

static void refused(const char *message) {
    lth__tensors *t = (lth__tensors *)path;
    lth_error err = {0};
    assert_int_equal(lth__tensors_read(NULL, path, &t, &err), LTH_EFORMAT);
    assert_string_equal(err.message, message);
    assert_string_equal(err.file, path);
    assert_ptr_equal(t, path);
}

static void refused_array(const char *description, size_t size, const char *message) {
    write_arrays(description, size);
    refused(message);
}

static lth__tensors *read_back(void) {
    lth__tensors *t = NULL;
    lth_error err = {0};
    lth_status status = lth__tensors_read(NULL, path, &t, &err);
    if (status != LTH_OK) fail_msg("%s", err.message);
    return t;
}

static void check(const lth__tensors *t, const lth__tensor *wanted, size_t size) {
    const lth__tensor *got = lth__tensors_find(t, wanted->name);
    assert_non_null(got);
    assert_string_equal(got->name, wanted->name);
    assert_int_equal(got->dtype, wanted->dtype);
    assert_int_equal(got->rank, wanted->rank);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(got->shape[i], i < wanted->rank ? wanted->shape[i] : 1);
    if (size > 0) assert_memory_equal(got->data, wanted->data, size);
}

static const uint8_t bytes5[] = {1, 2, 3, 254, 255};
static const uint32_t words3[] = {7, 0xffffffff, 9};
static const uint64_t longs2[] = {1, 0xfedcba9876543210};
static const float floats4[] = {1.5f, -2, 0, 1e-40f};
static const double doubles6[] = {1, 2, 3, -4.5, 1e308, 0.1};

static const struct {
    lth__tensor tensor;
    size_t size;
} samples[] = {
    {{"u8", LTH__U8, 1, {5}, bytes5}, 5},
    {{"u32", LTH__U32, 1, {3}, words3}, 12},
    {{"f64", LTH__F64, 3, {1, 2, 3}, doubles6}, 48},
    {{"none", LTH__F32, 2, {0, 7}, NULL}, 0},
    {{"u64", LTH__U64, 1, {2}, longs2}, 16},
    {{"f32", LTH__F32, 2, {2, 2}, floats4}, 16},
    {{"scalar", LTH__F64, 0, {0}, doubles6 + 3}, 8},
    {{"", LTH__U8, 1, {1}, bytes5 + 3}, 1},
};
enum { SAMPLES = sizeof samples / sizeof samples[0] };

static lth__tensors_writer *writer_of(size_t count) {
    lth__tensors_writer *w = lth__tensors_writer_create();
    assert_non_null(w);
    for (size_t i = 0; i < count; i++) assert_true(lth__tensors_put(w, &samples[i].tensor));
    return w;
}

static void write_and_free(lth__tensors_writer *w) {
    lth_error err = {0};
    lth_status status = lth__tensors_write(w, path, &err);
    lth__tensors_writer_free(w);
    if (status != LTH_OK) fail_msg("%s", err.message);
}

static void cannot_write(lth__tensors_writer *w, const char *message) {
    lth_error err = {0};
    assert_int_equal(lth__tensors_write(w, path, &err), LTH_EARG);
    assert_string_equal(err.message, message);
    lth__tensors_writer_free(w);
    assert_int_not_equal(access(path, F_OK), 0);
}

/* ---- What is written reads back -------------------------------------------------------------- */

static void everything_reads_back(void **state) {
    (void)state;
    lth__tensors_writer *w = writer_of(SAMPLES);
    assert_true(lth__tensors_put_text(w, "kernel", "ssk(text)\t\"\\\x01 \xc3\xa9"));
    assert_true(lth__tensors_put_text(w, "a", ""));
    write_and_free(w);
    lth__tensors *t = read_back();
    for (size_t i = 0; i < SAMPLES; i++) check(t, &samples[i].tensor, samples[i].size);
    assert_string_equal(lth__tensors_text(t, "kernel"), "ssk(text)\t\"\\\x01 \xc3\xa9");
    assert_string_equal(lth__tensors_text(t, "a"), "");
    assert_string_equal(lth__tensors_text(t, "format"), "luthier");
    assert_string_equal(lth__tensors_text(t, "version"), "1");
    assert_null(lth__tensors_text(t, "b"));
    assert_null(lth__tensors_find(t, "f6"));
    assert_null(lth__tensors_find(t, "__metadata__"));
    lth__tensors_free(t);
}

static void nothing_reads_back(void **state) {
    (void)state;
    write_and_free(writer_of(0));
    lth__tensors_free(read_back());
    lth__tensors_free(NULL);
    lth__tensors_writer_free(NULL);
}

/* Names and texts are copied, so that the caller's may change. */
static void strings_are_copied(void **state) {
    (void)state;
    char name[] = "name", key[] = "key", value[] = "value";
    lth__tensors_writer *w = writer_of(0);
    assert_true(lth__tensors_put_text(w, key, value));
    assert_true(lth__tensors_put(w, &(lth__tensor){name, LTH__U8, 1, {5}, bytes5}));
    name[0] = key[0] = value[0] = '?';
    write_and_free(w);
    lth__tensors *t = read_back();
    assert_non_null(lth__tensors_find(t, "name"));
    assert_string_equal(lth__tensors_text(t, "key"), "value");
    lth__tensors_free(t);
}

static void exact_bytes(void **state) {
    (void)state;
    lth__tensors_writer *w = writer_of(3);
    assert_true(lth__tensors_put_text(w, "z", "last"));
    assert_true(lth__tensors_put_text(w, "kernel", "ssk"));
    write_and_free(w);
    unsigned char bytes[1024];
    size_t size = read_bytes(bytes, sizeof bytes);
    const char *header = "{\"__metadata__\":{\"format\":\"luthier\",\"version\":\"1\","
                         "\"checksum\":\"crc32:1eff51a3\",\"z\":\"last\",\"kernel\":\"ssk\"},"
                         "\"f64\":{\"dtype\":\"F64\",\"shape\":[1,2,3],\"data_offsets\":[0,48]},"
                         "\"u32\":{\"dtype\":\"U32\",\"shape\":[3],\"data_offsets\":[48,60]},"
                         "\"u8\":{\"dtype\":\"U8\",\"shape\":[5],\"data_offsets\":[60,65]}}";
    size_t length = (strlen(header) + 7) / 8 * 8;
    assert_true(length > strlen(header)); /* or the padding is not tested */
    assert_int_equal(bytes[0] | bytes[1] << 8, length);
    for (size_t i = 2; i < 8; i++) assert_int_equal(bytes[i], 0);
    bytes[8 + length - 1] = '\0';
    assert_string_equal(strtok((char *)bytes + 8, " "), header);
    for (size_t i = strlen(header) + 1; i < length - 1; i++) assert_int_equal(bytes[8 + i], ' ');
    const unsigned char *data = bytes + 8 + length;
    assert_memory_equal(data, doubles6, 48);
    assert_memory_equal(data + 48, words3, 12);
    assert_memory_equal(data + 60, bytes5, 5);
    assert_int_equal(size, 8 + length + 65);
}

/* In whatever order they come, and however long the header is. */
static void arrays_are_aligned(void **state) {
    (void)state;
    const size_t width[] = {[LTH__U8] = 1, [LTH__U32] = 4, [LTH__U64] = 8, 4, 8};
    char text[12] = "";
    for (size_t n = 0; n < 10; n++) {
        lth__tensors_writer *w = writer_of(SAMPLES);
        assert_true(lth__tensors_put_text(w, "t", text));
        write_and_free(w);
        unsigned char bytes[2048];
        read_bytes(bytes, sizeof bytes);
        assert_int_equal(bytes[0] % 8, 0);
        lth__tensors *t = read_back();
        for (size_t i = 0; i < SAMPLES; i++) {
            const lth__tensor *got = lth__tensors_find(t, samples[i].tensor.name);
            assert_int_equal((uintptr_t)got->data % width[got->dtype], 0);
        }
        lth__tensors_free(t);
        text[n] = 'x';
    }
}

static void large_arrays_read_back(void **state) {
    (void)state;
    const size_t count = 3000001;
    double *data = malloc(count * sizeof *data);
    assert_non_null(data);
    for (size_t i = 0; i < count; i++) data[i] = (double)i;
    lth__tensors_writer *w = writer_of(1);
    lth__tensor large = {"large", LTH__F64, 2, {1, count}, data};
    assert_true(lth__tensors_put(w, &large));
    write_and_free(w);
    lth__tensors *t = read_back();
    const lth__tensor *got = lth__tensors_find(t, "large");
    assert_string_equal(lth__tensors_text(t, "checksum"), "crc32:40ebbaea"); /* as of one piece */
    assert_int_equal(memcmp(got->data, data, count * sizeof *data), 0);
    lth__tensors_free(t);
    free(data);
}

static void type_and_rank_are_checked(void **state) {
    (void)state;
    write_and_free(writer_of(SAMPLES));
    lth__tensors *t = read_back();
    const lth__tensor *got = NULL;
    lth_error err = {0};
    assert_int_equal(lth__tensors_get(t, "f32", LTH__F32, 2, &got, &err), LTH_OK);
    assert_ptr_equal(got, lth__tensors_find(t, "f32"));
    got = NULL;
    assert_int_equal(lth__tensors_get(t, "f32", LTH__F32, 1, &got, &err), LTH_EFORMAT);
    assert_string_equal(err.message, "the array \"f32\" has 2 dimensions, not 1");
    assert_string_equal(err.file, path);
    assert_int_equal(lth__tensors_get(t, "f32", LTH__U64, 2, &got, &err), LTH_EFORMAT);
    assert_string_equal(err.message, "the array \"f32\" has the type F32, not U64");
    assert_int_equal(lth__tensors_get(t, "f33", LTH__U64, 2, &got, &err), LTH_EFORMAT);
    assert_string_equal(err.message, "the array \"f33\" is missing");
    assert_null(got);
    lth__tensors_free(t);
}

/* ---- What cannot be written ------------------------------------------------------------------ */

static void wrong_arrays_are_not_written(void **state) {
    (void)state;
    const lth__tensor wrong[] = {
        {"w", LTH__U8, 4, {1, 1, 1}, bytes5},
        {"w", LTH__U8, 1, {5}, NULL},
        {"w", LTH__F64, 1, {SIZE_MAX / 8}, bytes5},
        {"w", LTH__F64, 2, {SIZE_MAX / 4, SIZE_MAX / 4}, bytes5},
        {"w", LTH__F64, 2, {0, SIZE_MAX}, bytes5},
    };
    unlink(path);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        lth__tensors_writer *w = writer_of(2);
        assert_true(lth__tensors_put(w, &wrong[i]));
        cannot_write(w, "the shape of the array \"w\" does not fit its data");
    }
}

static void names_are_used_once(void **state) {
    (void)state;
    unlink(path);
    lth__tensors_writer *w = writer_of(2);
    assert_true(lth__tensors_put(w, &samples[0].tensor));
    cannot_write(w, "\"u8\" is put into the model file twice");
    w = writer_of(2);
    assert_true(lth__tensors_put(w, &(lth__tensor){"__metadata__", LTH__U8, 1, {5}, bytes5}));
    cannot_write(w, "\"__metadata__\" is put into the model file twice");
    const char *keys[] = {"format", "version", "checksum"};
    for (size_t i = 0; i < 3; i++) {
        char message[64];
        snprintf(message, sizeof message, "\"%s\" is put into the model file twice", keys[i]);
        w = writer_of(0);
        assert_true(lth__tensors_put_text(w, keys[i], "1"));
        cannot_write(w, message);
    }
}

static void strings_must_be_utf8(void **state) {
    (void)state;
    unlink(path);
    lth__tensors_writer *w = writer_of(0);
    assert_true(lth__tensors_put_text(w, "k", "\xff"));
    cannot_write(w, "the text \"k\" of a model file must be UTF-8");
    w = writer_of(0);
    assert_true(lth__tensors_put_text(w, "\xc3", "v"));
    cannot_write(w, "a name in a model file must be UTF-8");
    w = writer_of(0);
    assert_true(lth__tensors_put(w, &(lth__tensor){"\x80", LTH__U8, 1, {5}, bytes5}));
    cannot_write(w, "a name in a model file must be UTF-8");
}

/* The number of files whose names begin as the model's does, its temporary one among them. */
static size_t files_left(void) {
    size_t count = 0;
    DIR *folder = opendir(".");
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
        if (strncmp(entry->d_name, path, strlen(path)) == 0) count++;
    closedir(folder);
    return count;
}

/* As on a full disk: the write fails halfway, in the middle of a large array or at the end. */
static void failed_writes_leave_nothing(void **state) {
    (void)state;
    unlink(path);
    struct rlimit before, limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    double *data = calloc(100000, sizeof *data);
    assert_non_null(data);
    const size_t counts[] = {2, 100000};
    for (size_t i = 0; i < 2; i++) {
        lth__tensors_writer *w = writer_of(0);
        assert_true(lth__tensors_put(w, &(lth__tensor){"a", LTH__F64, 1, {counts[i]}, data}));
        limit = before;
        limit.rlim_cur = 100 + counts[i];
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
        lth_error err = {0};
        lth_status status = lth__tensors_write(w, path, &err);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        lth__tensors_writer_free(w);
        assert_int_equal(status, LTH_EIO);
        assert_string_equal(err.message, "cannot write: File too large");
        assert_string_equal(err.file, path);
        assert_int_equal(files_left(), 0);
    }
    free(data);
    signal(SIGXFSZ, handler);
}

/* ---- Damage ---------------------------------------------------------------------------------- */

static size_t small_file(unsigned char *bytes, size_t capacity) {
    lth__tensors_writer *w = writer_of(3);
    assert_true(lth__tensors_put_text(w, "kernel", "ssk(text)"));
    write_and_free(w);
    return read_bytes(bytes, capacity);
}

static lth_status read_status(void) {
    lth__tensors *t = NULL;
    lth_error err = {0};
    lth_status status = lth__tensors_read(NULL, path, &t, &err);
    if (status != LTH_OK) assert_true(err.message[0] != '\0');
    lth__tensors_free(t);
    return status;
}

static void every_truncation_is_refused(void **state) {
    (void)state;
    unsigned char bytes[1024];
    size_t size = small_file(bytes, sizeof bytes);
    for (size_t length = 0; length < size; length++) {
        write_bytes(bytes, length);
        assert_int_equal(read_status(), LTH_EFORMAT);
    }
    write_bytes(bytes, size);
    assert_int_equal(read_status(), LTH_OK);
    bytes[size] = 0;
    write_bytes(bytes, size + 1);
    refused("the file goes on after its arrays");
}

static void every_flipped_bit_is_noticed(void **state) {
    (void)state;
    unsigned char bytes[1024];
    size_t size = small_file(bytes, sizeof bytes);
    for (size_t bit = 0; bit < 8 * size; bit++) {
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        write_bytes(bytes, size);
        assert_int_equal(read_status(), LTH_EFORMAT);
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    bytes[size - 1] ^= 1;
    write_bytes(bytes, size);
    refused("damaged: the checksum is wrong");
}

static void files_that_cannot_be_read(void **state) {
    (void)state;
    lth__tensors *t = NULL;
    lth_error err = {0};
    unlink(path);
    assert_int_equal(lth__tensors_read(NULL, path, &t, &err), LTH_EIO);
    assert_string_equal(err.message, "cannot open: No such file or directory");
    assert_string_equal(err.file, path);
    assert_int_equal(lth__tensors_read(NULL, ".", &t, &err), LTH_EIO);
    assert_string_equal(err.message, "cannot read: not a regular file");
    assert_null(t);
}

/* ---- Hostile headers ------------------------------------------------------------------------- */

static void header_lengths_are_checked(void **state) {
    (void)state;
    const char *cut = "not a luthier model, or one that was cut off";
    write_bytes("", 0);
    refused("not a luthier model");
    write_bytes("\0\0\0\0\0\0\0\0", 8);
    refused("not a luthier model");
    write_bytes("\3\0\0\0\0\0\0\0{}", 10);
    refused(cut);
    write_bytes("\xff\xff\xff\xff\xff\xff\xff\xff{}", 10);
    refused(cut);
    write_bytes("\xf8\xff\xff\xff\xff\xff\xff\xff{}", 10);
    refused(cut);
    /* Long enough, but for holes. */
    write_bytes("\1\xe1\xf5\5\0\0\0\0{}", 10);
    assert_int_equal(truncate(path, 200000000), 0);
    refused("the header is longer than 100 MB");
}

static void only_models_are_read(void **state) {
    (void)state;
    const char *other[] = {"[1, 2]",
                           " {}",
                           "{}",
                           "{\"__metadata__\":7}",
                           "{\"__metadata__\":{}}",
                           "{\"__metadata__\":{\"format\":7}}",
                           "{\"__metadata__\":{\"format\":\"pt\"}}",
                           "{\"format\":\"luthier\"}"};
    for (size_t i = 0; i < sizeof other / sizeof other[0]; i++) {
        write_raw(other[i], 0);
        refused("not a luthier model");
    }
    write_raw("{\"a\"}", 0);
    refused("the header is not JSON at its byte 5");
    write_raw("{\"__metadata__\":{},\"__metadata__\":{}}", 0);
    refused("the header is not JSON at its byte 33");
}

static void versions_are_checked(void **state) {
    (void)state;
    const struct {
        const char *version, *message;
    } cases[] = {
        {"\"7\"", "made by a newer luthier: version 7; this one reads 1"},
        {"\"10\"", "made by a newer luthier: version 10; this one reads 1"},
        {"\"0\"", "the version of the model file is not a number"},
        {"\"\"", "the version of the model file is not a number"},
        {"\"2x\"", "the version of the model file is not a number"},
        {"1", "the version of the model file is not a number"},
        {"\"1\",\"more\":2", "the metadata are not all texts"},
        {"\"1\"", "the checksum is missing"},
        {"\"1\",\"checksum\":\"\"", "damaged: the checksum is wrong"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char header[256];
        snprintf(header, sizeof header,
                 "{\"__metadata__\":{\"format\":\"luthier\",\"version\":%s}}", cases[i].version);
        write_raw(header, 0);
        refused(cases[i].message);
    }
}

static void descriptions_are_checked(void **state) {
    (void)state;
    const char *shape = "array 1: the shape is not a list of at most 3 counts";
    const char *keys = "array 1: not described by dtype, shape and data_offsets";
    const char *offsets = "array 1: the data_offsets are not two counts";
    refused_array("", 0, "damaged: the checksum is wrong");
    refused_array("\"a\":7", 0, keys);
    refused_array("\"a\":{\"dtype\":\"U8\",\"shape\":[0]}", 0, keys);
    refused_array("\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0],\"b\":1}", 0, keys);
    refused_array("\"a\":{\"dtype\":\"I8\",\"shape\":[0],\"data_offsets\":[0,0]}", 0,
                  "array 1: unknown dtype");
    refused_array("\"a\":{\"dtype\":8,\"shape\":[0],\"data_offsets\":[0,0]}", 0,
                  "array 1: unknown dtype");
    refused_array("\"a\":{\"dtype\":\"U8\",\"shape\":0,\"data_offsets\":[0,0]}", 0, shape);
    refused_array("\"a\":{\"dtype\":\"U8\",\"shape\":[-1],\"data_offsets\":[0,0]}", 0, shape);
    refused_array("\"a\":{\"dtype\":\"U8\",\"shape\":[1.0],\"data_offsets\":[0,1]}", 1, shape);
    refused_array("\"a\":{\"dtype\":\"U8\",\"shape\":[1,1,1,1],\"data_offsets\":[0,1]}", 1, shape);
    refused_array("\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0]}", 0, offsets);
    refused_array("\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0,0]}", 0, offsets);
    refused_array("\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[-1,-1]}", 0, offsets);
    refused_array("\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"offsets\":[0,0]}", 0, offsets);
}

static void sizes_are_checked(void **state) {
    (void)state;
    const char *size = "array 1: the data have not the size of the shape";
    const char *large = "array 1: too large";
    const char *end = "array 1: the data end after the file";
    refused_array("\"a\":{\"dtype\":\"U32\",\"shape\":[1],\"data_offsets\":[0,3]}", 4, size);
    refused_array("\"a\":{\"dtype\":\"U32\",\"shape\":[1],\"data_offsets\":[0,5]}", 5, size);
    refused_array("\"a\":{\"dtype\":\"U32\",\"shape\":[2],\"data_offsets\":[0,8]}", 7, end);
    refused_array("\"a\":{\"dtype\":\"U8\",\"shape\":[9223372036854775807],"
                  "\"data_offsets\":[0,9223372036854775807]}",
                  8, end);
    refused_array("\"a\":{\"dtype\":\"F64\",\"shape\":[2305843009213693952],"
                  "\"data_offsets\":[0,0]}",
                  8, large);
    refused_array("\"a\":{\"dtype\":\"U8\",\"shape\":[4294967296,4294967296],"
                  "\"data_offsets\":[0,0]}",
                  8, large);
    refused_array("\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}", 2,
                  "the file goes on after its arrays");
}

static void places_are_checked(void **state) {
    (void)state;
    const char *place = "array 2: the data do not begin where those before them end";
#define FIRST "\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},"
    refused_array(FIRST "\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[2,6]}", 8, place);
    refused_array(FIRST "\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}", 4, place);
    refused_array(FIRST "\"b\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[5,8]}", 8, place);
    refused_array(FIRST "\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[8,4]}", 8, place);
    refused_array(FIRST "\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[4,2]}", 8,
                  "array 2: the data have not the size of the shape");
    refused_array(FIRST "\"b\":{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[4,12]}", 12,
                  "array 2: the data are not aligned");
    refused_array("\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[4,8]},"
                  "\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}",
                  8, "array 1: the data do not begin where those before them end");
#undef FIRST
    /* The header alone may be at fault. */
    const char *header = "{\"__metadata__\":{\"format\":\"luthier\",\"version\":\"1\"},"
                         "\"a\":{\"dtype\":\"U32\",\"shape\":[1],\"data_offsets\":[0,4]}} ";
    assert_int_not_equal(strlen(header) % 4, 0);
    write_raw(header, 4);
    refused("array 1: the data are not aligned");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_reads_back),
        cmocka_unit_test(nothing_reads_back),
        cmocka_unit_test(strings_are_copied),
        cmocka_unit_test(exact_bytes),
        cmocka_unit_test(arrays_are_aligned),
        cmocka_unit_test(large_arrays_read_back),
        cmocka_unit_test(type_and_rank_are_checked),
        cmocka_unit_test(wrong_arrays_are_not_written),
        cmocka_unit_test(names_are_used_once),
        cmocka_unit_test(strings_must_be_utf8),
        cmocka_unit_test(failed_writes_leave_nothing),
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(every_flipped_bit_is_noticed),
        cmocka_unit_test(files_that_cannot_be_read),
        cmocka_unit_test(header_lengths_are_checked),
        cmocka_unit_test(only_models_are_read),
        cmocka_unit_test(versions_are_checked),
        cmocka_unit_test(descriptions_are_checked),
        cmocka_unit_test(sizes_are_checked),
        cmocka_unit_test(places_are_checked),
    };
    return cmocka_run_group_tests(tests, name_the_file, remove_the_file);
}
