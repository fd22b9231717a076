/* Reading plain and gzipped files, damaged ones too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "base/file.h"
#include "base/memory.h"

static char directory[64];

static const char *in_directory(const char *name) {
    static char path[4][128];
    static int next;
    next = (next + 1) % 4;
    snprintf(path[next], sizeof path[next], "%s/%s", directory, name);
    return path[next];
}

static int make_directory(void **state) {
    (void)state;
    snprintf(directory, sizeof directory, "/tmp/luthier-test-XXXXXX");
    return mkdtemp(directory) == NULL;
}

static int remove_directory(void **state) {
    (void)state;
    return rmdir(directory); /* fails if a test left a file */
}

static const char *write_plain(const char *name, const void *bytes, size_t count) {
    const char *path = in_directory(name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
    return path;
}

static const char *write_gz(const char *name, const void *bytes, size_t count, const char *mode) {
    const char *path = in_directory(name);
    gzFile file = gzopen(path, mode);
    assert_non_null(file);
    assert_int_equal(gzwrite(file, bytes, (unsigned)count), count);
    assert_int_equal(gzclose(file), Z_OK);
    return path;
}

static size_t read_plain(const char *path, char *bytes, size_t most) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t got = fread(bytes, 1, most, file);
    fclose(file);
    return got;
}

static lth__input *open_input(const char *path) {
    lth__input *in = NULL;
    lth_error err;
    assert_int_equal(lth__input_open(NULL, path, &in, &err), LTH_OK);
    assert_string_equal(lth__input_name(in), path);
    assert_int_equal(lth__input_line_number(in), 0);
    return in;
}

static void expect_line(lth__input *in, size_t number, const char *text, size_t length) {
    const char *line;
    size_t got;
    lth_error err;
    assert_int_equal(lth__input_line(in, &line, &got, &err), LTH_OK);
    assert_non_null(line);
    assert_int_equal(got, length);
    assert_memory_equal(line, text, length);
    assert_int_equal(lth__input_line_number(in), number);
}

static void expect_end(lth__input *in, size_t lines) {
    for (int twice = 0; twice < 2; twice++) {
        const char *line = "";
        size_t length;
        lth_error err;
        assert_int_equal(lth__input_line(in, &line, &length, &err), LTH_OK);
        assert_null(line);
        assert_int_equal(lth__input_line_number(in), lines);
    }
}

/* ---- Reading ---- */

static const char sample[] = "first\n\nthi\0rd\r\nlast";

static void check_sample(const char *path) {
    lth__input *in = open_input(path);
    expect_line(in, 1, "first", 5);
    expect_line(in, 2, "", 0);
    expect_line(in, 3, "thi\0rd\r", 7);
    expect_line(in, 4, "last", 4);
    expect_end(in, 4);
    lth__input_close(in);
    unlink(path);
}

static void test_lines(void **state) {
    (void)state;
    check_sample(write_plain("a", sample, sizeof sample - 1));
    check_sample(write_gz("a.gz", sample, sizeof sample - 1, "wb"));
}

static void test_last_newline_makes_no_line(void **state) {
    (void)state;
    const char *path = write_plain("a", "x\n", 2);
    lth__input *in = open_input(path);
    expect_line(in, 1, "x", 1);
    expect_end(in, 1);
    lth__input_close(in);

    write_plain("a", "", 0);
    in = open_input(path);
    expect_end(in, 0);
    lth__input_close(in);
    unlink(path);
    lth__input_close(NULL);
}

static void test_joined_gzip_members_are_one_file(void **state) {
    (void)state;
    write_gz("a.gz", "one\ntw", 6, "wb");
    const char *path = write_gz("a.gz", "o\n", 2, "ab");
    lth__input *in = open_input(path);
    expect_line(in, 1, "one", 3);
    expect_line(in, 2, "two", 3);
    expect_end(in, 2);
    lth__input_close(in);
    unlink(path);
}

/* As cat, tar and tape drives leave it: zeros, or anything that begins no member. */
static void test_what_follows_gzip_is_ignored(void **state) {
    (void)state;
    static const char *const more[] = {"", "\x1f", "\x1f\x1f\x8b", "\n", "more text"};
    char packed[200];
    const char *path = write_gz("a.gz", "one\n", 4, "wb");
    size_t size = read_plain(path, packed, 100);
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        strcpy(packed + size, more[i]);
        write_plain("a.gz", packed, size + strlen(more[i]));
        lth__input *in = open_input(path);
        expect_line(in, 1, "one", 3);
        expect_end(in, 1);
        lth__input_close(in);
    }
    unlink(path);
}

/* A pipe gives what it has: here a byte at a time, also of the two by which gzip is known, and a
 * member's first bytes apart from the end of the one before. */
static void test_gzip_comes_in_bit_by_bit(void **state) {
    (void)state;
    char packed[200];
    write_gz("a.gz", "one\ntw", 6, "wb");
    const char *path = write_gz("a.gz", "o\n", 2, "ab");
    size_t size = read_plain(path, packed, sizeof packed);
    int ends[2], saved = dup(STDIN_FILENO);
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        for (size_t i = 0; i < size; i++) {
            if (write(ends[1], packed + i, 1) != 1) _exit(1);
            usleep(1000);
        }
        _exit(0);
    }
    close(ends[1]);
    dup2(ends[0], STDIN_FILENO);
    close(ends[0]);
    lth__input *in;
    lth_error err;
    assert_int_equal(lth__input_open(NULL, "-", &in, &err), LTH_OK);
    expect_line(in, 1, "one", 3);
    expect_line(in, 2, "two", 3);
    expect_end(in, 2);
    lth__input_close(in);
    dup2(saved, STDIN_FILENO);
    close(saved);
    int status;
    assert_true(waitpid(child, &status, 0) == child && status == 0);
    unlink(path);
}

/* ---- In memory ---- */

static void test_files_in_memory(void **state) {
    (void)state;
    char packed[200];
    const char *path = write_gz("a.gz", sample, sizeof sample - 1, "wb");
    size_t size = read_plain(path, packed, sizeof packed);
    unlink(path);
    const lth__memory_file files[] = {
        {"plain", sample, sizeof sample - 1}, {"packed", packed, size}, {"empty", NULL, 0}};
    const lth__relay relay = {.files = files, .file_count = 3};
    for (int i = 0; i < 2; i++) {
        lth__input *in;
        lth_error err;
        assert_int_equal(lth__input_open(&relay, files[i].path, &in, &err), LTH_OK);
        assert_string_equal(lth__input_name(in), files[i].path);
        const char *ahead;
        size_t got;
        assert_int_equal(lth__input_peek(in, 64, &ahead, &got, &err), LTH_OK);
        assert_int_equal(got, sizeof sample - 1);
        assert_int_equal(ahead == sample, i == 0); /* plain bytes are read where they are */
        expect_line(in, 1, "first", 5);
        expect_line(in, 2, "", 0);
        expect_line(in, 3, "thi\0rd\r", 7);
        expect_line(in, 4, "last", 4);
        expect_end(in, 4);
        lth__input_close(in);
    }
}

static void test_memory_that_is_wrong(void **state) {
    (void)state;
    const lth__memory_file files[] = {
        {"empty", NULL, 0}, {"one", "\x1f", 1}, {"two", "\x1f\x8b", 2}, {"bad", "\x1f\x8bxx", 4}};
    const lth__relay relay = {.files = files, .file_count = 4};
    static const char *const wrong[] = {NULL, NULL, "gzip data ends early", "gzip data is damaged"};
    for (size_t i = 0; i < 4; i++) {
        lth__input *in;
        lth_error err;
        const char *line;
        size_t length;
        assert_int_equal(lth__input_open(&relay, files[i].path, &in, &err), LTH_OK);
        lth_status status = lth__input_line(in, &line, &length, &err);
        assert_int_equal(status, wrong[i] ? LTH_EFORMAT : LTH_OK);
        if (wrong[i]) assert_string_equal(err.message, wrong[i]);
        if (!wrong[i]) assert_int_equal(line ? length : 0, files[i].size);
        lth__input_close(in);
    }
    lth__input *none;
    lth_error err;
    assert_int_equal(lth__input_open(&relay, in_directory("missing"), &none, &err), LTH_EIO);
}

/* Lines of many lengths, the longest several times the buffer. */
static void test_long_lines(void **state) {
    (void)state;
    const size_t lengths[] = {0, 10, 262143, 262144, 262145, 3, 1500000, 5, 600000, 0, 1};
    const size_t count = sizeof lengths / sizeof *lengths;
    char *text = malloc(4 << 20);
    assert_non_null(text);
    size_t total = 0;
    for (size_t i = 0; i < count; i++) {
        memset(text + total, 'a' + (int)i, lengths[i]);
        total += lengths[i];
        text[total++] = '\n';
    }
    for (int gz = 0; gz < 2; gz++) {
        const char *path =
            gz ? write_gz("long.gz", text, total, "wb1") : write_plain("long", text, total);
        lth__input *in = open_input(path);
        size_t at = 0;
        for (size_t i = 0; i < count; i++) {
            expect_line(in, i + 1, text + at, lengths[i]);
            at += lengths[i] + 1;
        }
        expect_end(in, count);
        lth__input_close(in);
        unlink(path);
    }
    free(text);
}

/* The longest line is read, one byte more is not, with or without its end; lines before it are. */
static void test_lines_have_a_limit(void **state) {
    (void)state;
    enum { MOST = 1 << 20 };
    char *bytes = lth__alloc(MOST + 3, 1);
    bytes[0] = '\n';
    memset(bytes + 1, 'a', MOST + 1);
    bytes[MOST + 2] = '\n';
    for (int more = 0; more < 2; more++) {
        for (int end = 0; end < 2; end++) {
            lth__input *in;
            lth_error err = {0};
            const char *line;
            size_t length;
            bytes[MOST + 1] = more ? 'a' : '\n';
            const char *path = write_gz("limit", bytes, MOST + 1 + (size_t)(more + end), "wb");
            assert_int_equal(lth__input_open(NULL, path, &in, &err), LTH_OK);
            lth__input_limit(in, MOST, ": shorten it");
            assert_int_equal(lth__input_line(in, &line, &length, &err), LTH_OK);
            assert_int_equal(length, 0);
            lth_status status = lth__input_line(in, &line, &length, &err);
            assert_int_equal(status, more ? LTH_EFORMAT : LTH_OK);
            if (more) {
                assert_string_equal(err.message, "a line of more than 1.0 MB: shorten it");
                assert_int_equal(err.line, 2);
            } else {
                assert_int_equal(length, MOST);
            }
            lth__input_close(in);
            remove(path);
        }
    }
    lth__free(bytes);
}

static void test_peek_and_bytes(void **state) {
    (void)state;
    enum { SIZE = 1000000 };
    char *text = malloc(SIZE), *copy = malloc(SIZE);
    for (size_t i = 0; i < SIZE; i++) text[i] = (char)(i * 31 + i / 1000);
    memcpy(text, "4 300\n", 6);
    const char *path = write_gz("a.gz", text, SIZE, "wb1");
    lth__input *in = open_input(path);
    lth_error err;
    const char *ahead;
    size_t got;
    assert_int_equal(lth__input_peek(in, 65536, &ahead, &got, &err), LTH_OK);
    assert_int_equal(got, 65536);
    assert_memory_equal(ahead, text, 65536);
    expect_line(in, 1, "4 300", 5);
    assert_int_equal(lth__input_bytes(in, copy, 700000, &got, &err), LTH_OK);
    assert_int_equal(got, 700000);
    assert_memory_equal(copy, text + 6, 700000);
    assert_int_equal(lth__input_peek(in, 65536, &ahead, &got, &err), LTH_OK);
    assert_int_equal(got, 65536);
    assert_memory_equal(ahead, text + 700006, 65536);
    assert_int_equal(lth__input_bytes(in, copy, SIZE - 700006 - 3, &got, &err), LTH_OK);
    assert_int_equal(got, SIZE - 700006 - 3);
    assert_memory_equal(copy, text + 700006, got);
    assert_int_equal(lth__input_peek(in, 100, &ahead, &got, &err), LTH_OK);
    assert_int_equal(got, 3);
    assert_memory_equal(ahead, text + SIZE - 3, 3);
    assert_int_equal(lth__input_bytes(in, copy, 10, &got, &err), LTH_OK);
    assert_int_equal(got, 3);
    assert_memory_equal(copy, text + SIZE - 3, 3);
    assert_int_equal(lth__input_bytes(in, copy, 10, &got, &err), LTH_OK);
    assert_int_equal(got, 0);
    lth__input_close(in);
    unlink(path);
    free(text);
    free(copy);
}

static void test_standard_input(void **state) {
    (void)state;
    const char *path = write_plain("a", "x\ny\n", 4);
    int saved = dup(STDIN_FILENO), file = open(path, O_RDONLY);
    assert_true(saved >= 0 && file >= 0);
    dup2(file, STDIN_FILENO);
    close(file);
    lth__input *in;
    lth_error err;
    assert_int_equal(lth__input_open(NULL, "-", &in, &err), LTH_OK);
    assert_string_equal(lth__input_name(in), "stdin");
    expect_line(in, 1, "x", 1);
    expect_line(in, 2, "y", 1);
    expect_end(in, 2);
    lth__input_close(in);
    assert_true(fcntl(STDIN_FILENO, F_GETFD) >= 0); /* still open */
    dup2(saved, STDIN_FILENO);
    close(saved);
    unlink(path);
}

static void expect_error(const lth_error *err, lth_status status, const char *file,
                         const char *message) {
    assert_int_equal(err->status, status);
    assert_string_equal(err->file, file);
    assert_string_equal(err->message, message);
    assert_int_equal(err->line, 0);
    assert_int_equal(err->column, 0);
}

static void test_what_cannot_be_opened(void **state) {
    (void)state;
    lth__input *in = (lth__input *)directory;
    lth_error err;
    const char *path = in_directory("missing");
    assert_int_equal(lth__input_open(NULL, path, &in, &err), LTH_EIO);
    expect_error(&err, LTH_EIO, path, "cannot open: No such file or directory");
    assert_int_equal(lth__input_open(NULL, directory, &in, &err), LTH_EIO);
    expect_error(&err, LTH_EIO, directory, "cannot open: Is a directory");
    assert_ptr_equal(in, directory);
    assert_int_equal(lth__input_open(NULL, path, &in, NULL), LTH_EIO);
}

static void test_read_errors_are_noticed(void **state) {
    (void)state;
    lth__input *in;
    lth_error err;
    const char *line = NULL;
    size_t length;
    const char *path = "/proc/self/mem"; /* reading at 0 is an error */
    if (access(path, R_OK) != 0) skip();
    assert_int_equal(lth__input_open(NULL, path, &in, &err), LTH_OK);
    assert_int_equal(lth__input_line(in, &line, &length, &err), LTH_EIO);
    expect_error(&err, LTH_EIO, path, "cannot read: Input/output error");
    assert_null(line);
    lth__input_close(in);
}

/* Reads to the end and counts lines until something is wrong. */
static lth_status read_all(const char *path, size_t *lines, lth_error *err) {
    lth__input *in = open_input(path);
    const char *line = NULL;
    size_t length;
    lth_status status;
    do status = lth__input_line(in, &line, &length, err);
    while (status == LTH_OK && line != NULL);
    *lines = lth__input_line_number(in);
    lth__input_close(in);
    return status;
}

static void test_gzip_that_ends_early(void **state) {
    (void)state;
    char text[3000], packed[4000];
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)(i % 10 == 9 ? '\n' : 'a' + i * i % 23);
    const char *path = write_gz("a.gz", text, sizeof text, "wb");
    size_t size = read_plain(path, packed, sizeof packed), lines;
    lth_error err;
    assert_int_equal(read_all(path, &lines, &err), LTH_OK);
    assert_int_equal(lines, 300);
    for (size_t cut = 2; cut < size; cut++) { /* with one byte it is no gzip file */
        write_plain("a.gz", packed, cut);
        assert_int_equal(read_all(path, &lines, &err), LTH_EFORMAT);
        expect_error(&err, LTH_EFORMAT, path, "gzip data ends early");
    }
    unlink(path);
}

static void test_damaged_gzip(void **state) {
    (void)state;
    char text[3000], packed[4000];
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)(i % 10 == 9 ? '\n' : 'a' + i * i % 23);
    const char *path = write_gz("a.gz", text, sizeof text, "wb");
    size_t size = read_plain(path, packed, sizeof packed), lines;
    lth_error err;
    packed[size - 8] = (char)(packed[size - 8] ^ 1); /* the checksum */
    write_plain("a.gz", packed, size);
    assert_int_equal(read_all(path, &lines, &err), LTH_EFORMAT);
    expect_error(&err, LTH_EFORMAT, path, "gzip data is damaged");
    packed[size - 8] = (char)(packed[size - 8] ^ 1);
    for (size_t at = 10; at < size; at++) { /* any bit: an error, never other text */
        packed[at] = (char)(packed[at] ^ 4);
        write_plain("a.gz", packed, size);
        assert_int_equal(read_all(path, &lines, &err), LTH_EFORMAT);
        packed[at] = (char)(packed[at] ^ 4);
    }
    unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_last_newline_makes_no_line),
        cmocka_unit_test(test_joined_gzip_members_are_one_file),
        cmocka_unit_test(test_what_follows_gzip_is_ignored),
        cmocka_unit_test(test_gzip_comes_in_bit_by_bit),
        cmocka_unit_test(test_files_in_memory),
        cmocka_unit_test(test_memory_that_is_wrong),
        cmocka_unit_test(test_long_lines),
        cmocka_unit_test(test_lines_have_a_limit),
        cmocka_unit_test(test_peek_and_bytes),
        cmocka_unit_test(test_standard_input),
        cmocka_unit_test(test_what_cannot_be_opened),
        cmocka_unit_test(test_read_errors_are_noticed),
        cmocka_unit_test(test_gzip_that_ends_early),
        cmocka_unit_test(test_damaged_gzip),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
