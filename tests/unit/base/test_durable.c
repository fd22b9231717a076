/* Files that appear whole or not at all, with the permissions they should have, and what is left of
 * those that nobody finished. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/durable.h"
#include "failing_allocator.h"
#include "scratch.h"

static void put(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void expect_content(const char *path, const char *text) {
    char bytes[100];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t got = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    assert_int_equal(got, strlen(text));
    assert_memory_equal(bytes, text, got);
}

/* How many files the folder has, and the name of the last draft among them. */
static size_t count_files(char draft[256]) {
    size_t count = 0;
    DIR *here = opendir(".");
    assert_non_null(here);
    for (const struct dirent *entry; (entry = readdir(here)) != NULL;) {
        count += entry->d_name[0] != '.';
        if (draft && strstr(entry->d_name, ".tmp-")) strcpy(draft, entry->d_name);
    }
    closedir(here);
    return count;
}

static lth_output *open_output(const char *path) {
    lth_output *out = NULL;
    lth_error err = {0};
    if (lth_output_open(path, &out, &err) != LTH_OK) fail_msg("%s: %s", err.file, err.message);
    return out;
}

static void write_text(lth_output *out, const char *text) {
    lth_error err = {0};
    if (lth_output_write(out, text, strlen(text), &err) != LTH_OK) fail_msg("%s", err.message);
}

static void commit(lth_output *out) {
    lth_error err = {0};
    if (lth_output_commit(out, &err) != LTH_OK) fail_msg("%s: %s", err.file, err.message);
    lth_output_free(out);
}

static void expect_error(lth_status status, const lth_error *err, const char *file,
                         const char *message) {
    assert_int_equal(status, LTH_EIO);
    assert_int_equal(err->status, LTH_EIO);
    assert_string_equal(err->file, file);
    assert_string_equal(err->message, message);
}

static mode_t mode_of(const char *path) {
    struct stat found;
    assert_int_equal(lstat(path, &found), 0);
    return found.st_mode & 07777;
}

/* ---- Whole or not at all ---- */

static void test_appears_whole(void **state) {
    (void)state;
    char draft[256] = "";
    lth_output *out = open_output("result");
    assert_int_equal(count_files(draft), 1);
    assert_int_equal(strlen(draft), strlen("result.tmp-") + 16);
    write_text(out, "ne");
    write_text(out, "w\n");
    assert_int_equal(access("result", F_OK), -1);
    commit(out);
    expect_content("result", "new\n");
    assert_int_equal(count_files(NULL), 1);
    unlink("result");
}

static void test_replaces_or_not_at_all(void **state) {
    (void)state;
    put("result", "old");
    lth_output *out = open_output("result");
    write_text(out, "half");
    lth_output_free(out);
    expect_content("result", "old");
    assert_int_equal(count_files(NULL), 1);
    out = open_output("result");
    write_text(out, "new");
    expect_content("result", "old");
    commit(out);
    expect_content("result", "new");
    assert_int_equal(count_files(NULL), 1);
    unlink("result");
    lth_output_free(NULL);
}

static void test_a_link_is_followed(void **state) {
    (void)state;
    assert_int_equal(mkdir("folder", 0700), 0);
    put("folder/real", "old");
    assert_int_equal(symlink("folder/real", "link"), 0);
    lth_output *out = open_output("link");
    write_text(out, "new");
    commit(out);
    expect_content("folder/real", "new");
    struct stat found;
    assert_int_equal(lstat("link", &found), 0);
    assert_true(S_ISLNK(found.st_mode));
    unlink("link");
    unlink("folder/real");
    assert_int_equal(rmdir("folder"), 0);
}

static void test_what_cannot_be_opened(void **state) {
    (void)state;
    lth_output *out = NULL;
    lth_error err;
    lth_status status = lth_output_open("missing/result", &out, &err);
    expect_error(status, &err, "missing/result", "cannot write: No such file or directory");
    status = lth_output_open(".", &out, &err);
    expect_error(status, &err, ".", "cannot write: Is a directory");
    assert_null(out);           /* untouched */
    if (geteuid() == 0) return; /* root may write everything */
    put("result", "old");
    chmod("result", 0400);
    status = lth_output_open("result", &out, &err);
    expect_error(status, &err, "result", "cannot write: Permission denied");
    unlink("result");
}

static void test_a_failed_rename_leaves_nothing(void **state) {
    (void)state;
    lth_error err;
    lth_output *out = open_output("result");
    write_text(out, "x");
    assert_int_equal(mkdir("result", 0700), 0); /* a directory comes between */
    lth_status status = lth_output_commit(out, &err);
    expect_error(status, &err, "result", "cannot write: Is a directory");
    lth_output_free(out);
    assert_int_equal(rmdir("result"), 0);
    assert_int_equal(count_files(NULL), 0);
}

static void test_a_name_as_long_as_can_be(void **state) {
    (void)state;
    char name[256];
    memset(name, 'n', 255);
    name[255] = 0;
    commit(open_output(name));
    assert_int_equal(unlink(name), 0);
}

static lth_status write_all(void *user, lth_error *err) {
    lth_output *out = NULL;
    lth_status status = lth_output_open(user, &out, err);
    if (status == LTH_OK) status = lth_output_write(out, "new", 3, err);
    if (status == LTH_OK) status = lth_output_commit(out, err);
    lth_output_free(out);
    if (status != LTH_OK) assert_int_equal(count_files(NULL), 1);
    return status;
}

static void test_without_memory(void **state) {
    (void)state;
    put("result", "old");
    fail_each(write_all, "result", false, 3);
    expect_content("result", "new");
    unlink("result");
}

/* ---- Permissions ---- */

static void test_permissions(void **state) {
    (void)state;
    static const mode_t modes[] = {0600, 0640, 0644, 0666, 0755};
    char draft[256];
    mode_t mask = umask(027);
    commit(open_output("result"));
    assert_int_equal(mode_of("result"), 0640); /* a new file: what the umask leaves */
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        assert_int_equal(chmod("result", modes[i]), 0);
        lth_output *out = open_output("result");
        count_files(draft);
        assert_int_equal(mode_of(draft), modes[i]); /* before anything is in it */
        commit(out);
        assert_int_equal(mode_of("result"), modes[i]);
    }
    umask(mask);
    unlink("result");
}

/* Of a file of another's, owner and group stay where that is allowed. */
static void test_owner(void **state) {
    (void)state;
    if (geteuid() != 0) skip();
    put("result", "old");
    assert_int_equal(chown("result", 12345, 23456), 0);
    assert_int_equal(chmod("result", 0660), 0);
    commit(open_output("result"));
    struct stat found;
    assert_int_equal(stat("result", &found), 0);
    assert_int_equal(found.st_uid, 12345);
    assert_int_equal(found.st_gid, 23456);
    assert_int_equal(mode_of("result"), 0660);
    unlink("result");
}

/* Where the group cannot stay, another group is not let in. */
static void test_group_that_cannot_stay(void **state) {
    (void)state;
    if (geteuid() != 0) skip();
    assert_int_equal(mkdir("open", 0777), 0);
    assert_int_equal(chmod("open", 0777), 0);
    put("open/result", "old");
    assert_int_equal(chown("open/result", 12345, 23456), 0);
    assert_int_equal(chmod("open/result", 0664), 0);
    char here[4096];
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chmod(".", 0755), 0);
    pid_t child = fork();
    if (child == 0) {
        lth_output *out = NULL;
        _exit(setgid(34567) || setuid(12345) || lth_output_open("open/result", &out, NULL) ||
              lth_output_commit(out, NULL));
    }
    int status = -1;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    assert_int_equal(mode_of("open/result"), 0644);
    unlink("open/result");
    rmdir("open");
}

/* ---- What others put in the way, and what is left ---- */

/* A process that writes `path` and is killed before it is done. */
static void leave_half(const char *path) {
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        write_text(open_output(path), "half");
        if (write(ready[1], "", 1) != 1) _exit(1);
        for (;;) pause();
    }
    char byte;
    assert_int_equal(read(ready[0], &byte, 1), 1);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    close(ready[0]);
    close(ready[1]);
}

static void test_what_is_left_is_swept(void **state) {
    (void)state;
    leave_half("result");
    leave_half("result.txt"); /* of another file: its own business */
    assert_int_equal(count_files(NULL), 2);
    lth_output *first = open_output("result");
    assert_int_equal(count_files(NULL), 2);
    write_text(first, "first");
    lth_output *second = open_output("result"); /* at the same time: that of a living one stays */
    assert_int_equal(count_files(NULL), 3);
    write_text(second, "second");
    commit(second);
    expect_content("result", "second");
    commit(first);
    expect_content("result", "first");
    commit(open_output("result.txt"));
    assert_int_equal(count_files(NULL), 2);
    leave_half("result");
    lth__durable_sweep(".");
    assert_int_equal(count_files(NULL), 2);
    unlink("result");
    unlink("result.txt");
}

static void test_only_drafts_are_swept(void **state) {
    (void)state;
    static const char *const others[] = {
        "result.tmp-0123456789abcde", "result.tmp-0123456789abcdef0", "result.tmp-0123456789ABCDEF",
        "a.result.tmp-0123456789abcdef", "result.tmp-"};
    enum { COUNT = sizeof others / sizeof *others };
    const char *link = "result.tmp-0123456789abcdee", *pipe = "result.tmp-0123456789abcdec";
    for (size_t i = 0; i < COUNT; i++) put(others[i], "mine");
    put("victim", "mine");
    assert_int_equal(symlink("victim", link), 0);
    assert_int_equal(mkfifo(pipe, 0600), 0); /* is not waited for either */
    put("result.tmp-0123456789abcdef", "left");
    commit(open_output("result"));
    assert_int_equal(count_files(NULL), COUNT + 4);
    expect_content("victim", "mine");
    for (size_t i = 0; i < COUNT; i++) {
        expect_content(others[i], "mine");
        unlink(others[i]);
    }
    unlink(link);
    unlink(pipe);
    unlink("victim");
    unlink("result");
    assert_int_equal(count_files(NULL), 0);
}

/* ---- Written in place ---- */

static void test_devices(void **state) {
    (void)state;
    lth_error err;
    lth_output *out = open_output("/dev/null");
    write_text(out, "gone");
    commit(out);
    struct stat found;
    stat("/dev/null", &found);
    assert_true(S_ISCHR(found.st_mode));
    if (access("/dev/full", W_OK) != 0) skip();
    out = open_output("/dev/full");
    const char *full = "cannot write: No space left on device";
    expect_error(lth_output_write(out, "x", 1, &err), &err, "/dev/full", full);
    expect_error(lth_output_write(out, "", 0, &err), &err, "/dev/full", full);
    expect_error(lth_output_commit(out, &err), &err, "/dev/full", full);
    lth_output_free(out);
}

static void on_alarm(int number) {
    (void)number;
}

/* A reader gets it all; without one, a signal ends the wait. */
static void test_pipe(void **state) {
    (void)state;
    assert_int_equal(mkfifo("pipe", 0600), 0);
    pid_t child = fork();
    if (child == 0) {
        lth_output *out = NULL;
        if (lth_output_open("pipe", &out, NULL) == LTH_OK) lth_output_write(out, "text", 4, NULL);
        _exit(lth_output_commit(out, NULL) != LTH_OK);
    }
    expect_content("pipe", "text");
    int status = -1;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);

    struct sigaction action = {.sa_handler = on_alarm};
    sigaction(SIGALRM, &action, NULL);
    lth_error err;
    lth_output *out = NULL;
    alarm(1);
    status = lth_output_open("pipe", &out, &err);
    expect_error(status, &err, "pipe", "cannot write: Interrupted system call");
    struct stat found;
    assert_int_equal(stat("pipe", &found), 0);
    assert_true(S_ISFIFO(found.st_mode));
    unlink("pipe");
}

/* With standard output in a file, "-" and /dev/stdout go on in it. */
static void write_to_standard(const char *path, int file, lth_status out[2], lth_error *err) {
    fflush(stdout);
    int saved = dup(STDOUT_FILENO);
    dup2(file, STDOUT_FILENO);
    lth_output *output = NULL;
    fputs("before ", stdout);
    out[0] = lth_output_open(path, &output, err);
    lth_output_write(output, "result", 6, NULL);
    out[1] = lth_output_commit(output, err);
    lth_output_free(output);
    clearerr(stdout);
    dup2(saved, STDOUT_FILENO);
    close(saved);
    close(file);
}

static void test_standard_output(void **state) {
    (void)state;
    static const char *const paths[] = {"-", "/dev/stdout"};
    for (size_t i = 0; i < 2; i++) {
        lth_status status[2];
        lth_error err = {0};
        write_to_standard(paths[i], open("stdout", O_WRONLY | O_CREAT, 0600), status, &err);
        assert_int_equal(status[0], LTH_OK);
        assert_int_equal(status[1], LTH_OK);
        expect_content("stdout", "before result");
        assert_int_equal(count_files(NULL), 1);
        unlink("stdout");
    }
    int full = open("/dev/full", O_WRONLY);
    if (full < 0) skip();
    lth_status status[2];
    lth_error err = {0};
    write_to_standard("-", full, status, &err);
    assert_int_equal(status[0], LTH_OK);
    expect_error(status[1], &err, "stdout", "cannot write: No space left on device");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_appears_whole),
        cmocka_unit_test(test_replaces_or_not_at_all),
        cmocka_unit_test(test_a_link_is_followed),
        cmocka_unit_test(test_what_cannot_be_opened),
        cmocka_unit_test(test_a_failed_rename_leaves_nothing),
        cmocka_unit_test(test_a_name_as_long_as_can_be),
        cmocka_unit_test(test_without_memory),
        cmocka_unit_test(test_permissions),
        cmocka_unit_test(test_owner),
        cmocka_unit_test(test_group_that_cannot_stay),
        cmocka_unit_test(test_what_is_left_is_swept),
        cmocka_unit_test(test_only_drafts_are_swept),
        cmocka_unit_test(test_devices),
        cmocka_unit_test(test_pipe),
        cmocka_unit_test(test_standard_output),
    };
    return cmocka_run_group_tests(tests, scratch_open, scratch_close);
}
