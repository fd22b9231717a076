/* Files that appear whole or not at all, where the system refuses a call: what is said then, and
 * that no draft is left. The linker puts the functions below between the library and the system. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/durable.h"
#include "scratch.h"

/* ---- Calls of the system ---- */

/* The next calls of this name fail with `number`; where that is 0, they do nothing. */
typedef struct fault {
    const char *call;
    int number, times;
} fault;
static fault faults[2];

static bool fails(const char *call) {
    for (size_t i = 0; i < 2; i++) {
        fault *f = &faults[i];
        if (f->times == 0 || strcmp(f->call, call) != 0) continue;
        f->times--;
        errno = f->number;
        return true;
    }
    return false;
}

#define WRAPPED(type, name, parameters, arguments)                                                 \
    type __real_##name parameters;                                                                 \
    type __wrap_##name parameters;                                                                 \
    type __wrap_##name parameters {                                                                \
        return fails(#name) ? (errno ? -1 : 0) : __real_##name arguments;                          \
    }
WRAPPED(int, open, (const char *path, int flags, mode_t mode), (path, flags, mode))
WRAPPED(ssize_t, write, (int file, const void *bytes, size_t size), (file, bytes, size))
WRAPPED(int, fstat, (int file, struct stat *found), (file, found))
WRAPPED(int, fsync, (int file), (file))
WRAPPED(int, close, (int file), (file))
WRAPPED(int, rename, (const char *from, const char *to), (from, to))
WRAPPED(int, link, (const char *from, const char *to), (from, to))
WRAPPED(int, mkdir, (const char *path, mode_t mode), (path, mode))
WRAPPED(int, access, (const char *path, int mode), (path, mode))
WRAPPED(int, fchown, (int file, uid_t owner, gid_t group), (file, owner, group))
WRAPPED(int, statvfs, (const char *path, struct statvfs *disk), (path, disk))
WRAPPED(ssize_t, getrandom, (void *bytes, size_t size, unsigned flags), (bytes, size, flags))

/* ---- What is done ---- */

static const lth__bytes bytes = {"new", 3};

static lth_status output(const char *path, lth_error *err) {
    lth_output *out = NULL;
    lth_status status = lth_output_open(path, &out, err);
    if (status == LTH_OK) status = lth_output_write(out, bytes.data, bytes.size, err);
    if (status == LTH_OK) status = lth_output_commit(out, err);
    lth_output_free(out);
    return status;
}

static lth_status write_it(lth_error *err) {
    return lth__durable_write("f", bytes, err);
}

static lth_status create_it(lth_error *err) {
    return lth__durable_create("f", bytes, err);
}

static lth_status settle_it(lth_error *err) {
    return lth__durable_settle(".", err);
}

static lth_status make_folder(lth_error *err) {
    return lth__durable_folder("folder///", err);
}

static lth_status put_out(lth_error *err) {
    return output("f", err);
}

static lth_status replace(lth_error *err) {
    lth_status status = output("f", err);
    return status == LTH_OK ? output("f", err) : status;
}

static lth_status fill_in_place(lth_error *err) {
    return output("/dev/null", err);
}

/* ---- Checks ---- */

static size_t count_files(void) {
    size_t count = 0;
    DIR *here = opendir(".");
    assert_non_null(here);
    for (const struct dirent *entry; (entry = readdir(here)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(here);
    return count;
}

typedef lth_status action(lth_error *err);

/* `message` NULL = all goes well in spite of it; so many `files` are there in the end. */
static void check(action *act, fault first, fault second, const char *message, size_t files) {
    lth_error err = {0};
    faults[0] = first;
    faults[1] = second;
    lth_status status = act(&err);
    assert_int_equal(faults[0].times + faults[1].times, 0);
    if (status != (message ? LTH_EIO : LTH_OK) || (message && !strstr(err.message, message)))
        fail_msg("%s, error %d: status %d: %s", first.call, first.number, status, err.message);
    assert_int_equal(count_files(), files);
    unlink("f");
    rmdir("folder");
    assert_int_equal(count_files(), 0);
}

static void check_one(action *act, const char *call, int number, const char *message,
                      size_t files) {
    check(act, (fault){call, number, 1}, (fault){0}, message, files);
}

static void drafts(void **state) {
    (void)state;
    action *const acts[] = {write_it, create_it, put_out};
    for (size_t i = 0; i < 3; i++) {
        check_one(acts[i], "open", EACCES, "cannot write: Permission denied", 0);
        check_one(acts[i], "open", EEXIST, NULL, 1);
        check(acts[i], (fault){"open", EEXIST, 100}, (fault){0}, "File exists", 0);
        check_one(acts[i], "fstat", EIO, "Input/output error", 0);
        check_one(acts[i], "getrandom", EAGAIN, NULL, 1);
        check_one(acts[i], "write", ENOSPC, "No space left", 0);
        check_one(acts[i], "write", 0, "No space left", 0);
        check_one(acts[i], "write", EINTR, NULL, 1);
        check_one(acts[i], "fsync", EIO, "Input/output error", 0);
        check_one(acts[i], "fsync", EINTR, NULL, 1);
        check_one(acts[i], "fsync", EINVAL, NULL, 1);
    }
    check_one(write_it, "rename", EIO, "Input/output error", 0);
    check_one(put_out, "rename", EIO, "Input/output error", 0);
}

static void links(void **state) {
    (void)state;
    check_one(create_it, "link", EEXIST, NULL, 0); /* another was first */
    check_one(create_it, "link", ENOSPC, "No space left", 0);
    check_one(create_it, "link", EPERM, NULL, 1); /* a disk without links */
    check(create_it, (fault){"link", EPERM, 1}, (fault){"rename", EIO, 1},
          "Operation not permitted", 0);
    check(create_it, (fault){"link", EPERM, 1}, (fault){"access", 0, 1}, "Operation not permitted",
          0);
}

static void folders(void **state) {
    (void)state;
    check_one(settle_it, "open", EACCES, NULL, 0); /* may be written, not read */
    check_one(settle_it, "open", EIO, "Input/output error", 0);
    check_one(settle_it, "fsync", EIO, "Input/output error", 0);
    check_one(make_folder, "mkdir", EACCES, "Permission denied", 0);
    check_one(make_folder, "mkdir", EEXIST, NULL, 0);
    check_one(make_folder, "fsync", EIO, "Input/output error", 1);
    check_one(make_folder, "fsync", EINTR, NULL, 1);
    faults[0] = (fault){"statvfs", EIO, 1};
    assert_true(lth__durable_space(".") == SIZE_MAX);
    assert_true(lth__durable_space(".") < SIZE_MAX);
}

static void in_place(void **state) {
    (void)state;
    check_one(fill_in_place, "open", EBUSY, "Device or resource busy", 0);
    check_one(fill_in_place, "write", EINTR, "Interrupted", 0); /* whoever waits may be told */
    check_one(fill_in_place, "close", EIO, "Input/output error", 0);
}

static void replaced(void **state) {
    (void)state;
    struct stat found;
    check_one(replace, "access", EACCES, "Permission denied", 1); /* and the old file stays */
    assert_int_equal(output("f", NULL), LTH_OK);
    assert_int_equal(chmod("f", 0664), 0);
    faults[0] = (fault){"fchown", EPERM, 2}; /* its group is the old one all the same */
    assert_int_equal(output("f", NULL), LTH_OK);
    assert_int_equal(stat("f", &found), 0);
    assert_int_equal(found.st_mode & 0777, 0664);
    unlink("f");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(drafts),   cmocka_unit_test(links),    cmocka_unit_test(folders),
        cmocka_unit_test(in_place), cmocka_unit_test(replaced),
    };
    return cmocka_run_group_tests(tests, scratch_open, scratch_close);
}
