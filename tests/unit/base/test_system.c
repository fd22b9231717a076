/* What is left of memory, where the system says this or that: the linker puts files of the test's
 * in the place of those of the system. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/memory.h"
#include "luthier.h"

enum { MOST_FILES = 8 };
static struct { const char *path, *text; } files[MOST_FILES];
static size_t file_count;
static rlim_t limit_of_addresses = RLIM_INFINITY;

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...) {
    for (size_t i = 0; i < file_count; i++) {
        int ends[2];
        if (strcmp(path, files[i].path) != 0) continue;
        assert_int_equal(pipe(ends), 0);
        size_t size = strlen(files[i].text);
        assert_true(write(ends[1], files[i].text, size) == (ssize_t)size);
        close(ends[1]);
        return ends[0];
    }
    bool of_the_system = strncmp(path, "/proc/", 6) == 0 || strncmp(path, "/sys/", 5) == 0;
    return of_the_system ? -1 : __real_open(path, flags, 0666);
}

int __real_getrlimit(__rlimit_resource_t what, struct rlimit *limit);
int __wrap_getrlimit(__rlimit_resource_t what, struct rlimit *limit);
int __wrap_getrlimit(__rlimit_resource_t what, struct rlimit *limit) {
    int status = __real_getrlimit(what, limit);
    if (what == RLIMIT_AS) limit->rlim_cur = limit_of_addresses;
    return status;
}

static int begin(void **state) {
    (void)state;
    file_count = 0;
    limit_of_addresses = RLIM_INFINITY;
    return 0;
}

static void put(const char *path, const char *text) {
    assert_true(file_count < MOST_FILES);
    files[file_count].path = path;
    files[file_count++].text = text;
}

static void expect(size_t bytes) {
    if (lth__memory_available() != bytes)
        fail_msg("%zu bytes, not %zu", lth__memory_available(), bytes);
}

/* ---- The machine ---- */

static void nothing_is_known(void **state) {
    (void)state;
    lth_error err = {0};
    expect(SIZE_MAX);
    assert_int_equal(lth__memory_check(SIZE_MAX, "a matrix", NULL, &err), LTH_OK);
    put("/proc/meminfo", "MemTotal: 16 kB\n");
    expect(SIZE_MAX);
    file_count = 0;
    put("/proc/meminfo", "MemAvailable: much\n");
    expect(SIZE_MAX);
    file_count = 0;
    put("/proc/meminfo", "MemAvailable: 18446744073709551615 kB\n");
    expect(SIZE_MAX);
    file_count = 0;
    put("/proc/meminfo", "");
    expect(SIZE_MAX);
}

static void of_the_machine(void **state) {
    (void)state;
    put("/proc/meminfo", "MemTotal: 16 kB\nMemFree: 1 kB\nMemAvailable:    3000 kB\n");
    expect(3000 * 1024);
    lth__memory_share(3);
    expect(1000 * 1024);
    lth__memory_divide(1);
    expect(500 * 1024);
    lth__memory_divide(-1);
    lth__memory_share(0); /* one, that is */
    expect(3000 * 1024);
}

static void told_in_units(void **state) {
    (void)state;
    static const struct {
        const char *available, *said;
    } cases[] = {{"0", "0 bytes"},
                 {"1", "1.0 kB"},
                 {"3000", "3.1 MB"},
                 {"3000000", "3.1 GB"},
                 {"3000000000", "3.1 TB"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[64], message[96];
        lth_error err = {0};
        snprintf(text, sizeof text, "MemAvailable: %s kB\n", cases[i].available);
        file_count = 0;
        put("/proc/meminfo", text);
        assert_int_equal(lth__memory_check(SIZE_MAX, "a matrix", i % 2 ? "" : "take less", &err),
                         LTH_ENOMEM);
        snprintf(message, sizeof message, "a matrix needs 18446744.1 TB, %s are available%s",
                 cases[i].said, i % 2 ? "" : "; take less");
        assert_string_equal(err.message, message);
    }
}

/* ---- Containers ---- */

static void of_a_group(void **state) {
    (void)state;
    put("/proc/meminfo", "MemAvailable: 1000000 kB\n");
    put("/proc/self/cgroup", "0::/box/inner\n");
    put("/sys/fs/cgroup/box/inner/memory.max", "max\n"); /* its parent has one */
    put("/sys/fs/cgroup/box/memory.max", "5000\n");
    put("/sys/fs/cgroup/box/memory.current", "1500\n");
    expect(3500);
    put("/sys/fs/cgroup/box/memory.stat", "anon 7\nactive_file 100\ninactive_file 400\n");
    expect(4000);
    put("/sys/fs/cgroup/memory.max", "300\n");
    expect(300); /* of all there are the least */
}

static void of_an_old_group(void **state) {
    (void)state;
    put("/proc/self/cgroup", "7:cpu:/\nnothing\n6:\n5:cpu,memory:/box\n4:memories:/other\n");
    put("/sys/fs/cgroup/memory/box/memory.limit_in_bytes", "7000\n");
    put("/sys/fs/cgroup/memory/box/memory.usage_in_bytes", "9000\n");
    expect(0);
    put("/sys/fs/cgroup/memory/box/memory.stat", "total_active_file 2500\n");
    expect(500);
    put("/sys/fs/cgroup/memory/other/memory.limit_in_bytes", "1\n");
    expect(500);
}

static void of_a_long_name(void **state) {
    (void)state;
    static char line[5000];
    memset(line, 'x', sizeof line);
    memcpy(line, "0::/", 4);
    line[sizeof line - 2] = '\n';
    line[sizeof line - 1] = 0;
    put("/proc/self/cgroup", line);
    put("/sys/fs/cgroup/memory.max", "300\n");
    expect(SIZE_MAX);
}

/* ---- Addresses ---- */

static void of_addresses(void **state) {
    (void)state;
    limit_of_addresses = 100 * 4096;
    expect(100 * (size_t)4096);
    put("/proc/self/statm", "40 1 2 3\n");
    expect(60 * (size_t)sysconf(_SC_PAGESIZE));
    limit_of_addresses = 4096;
    expect(0);
}

static void room_is_there_or_not(void **state) {
    (void)state;
    void *space = lth__space_alloc(0);
    assert_non_null(space);
    lth__space_free(space, 0);
    lth__space_free(NULL, 5);
    assert_null(lth__space_alloc(SIZE_MAX / 2));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(nothing_is_known, begin),
        cmocka_unit_test_setup(of_the_machine, begin),
        cmocka_unit_test_setup(told_in_units, begin),
        cmocka_unit_test_setup(of_a_group, begin),
        cmocka_unit_test_setup(of_an_old_group, begin),
        cmocka_unit_test_setup(of_a_long_name, begin),
        cmocka_unit_test_setup(of_addresses, begin),
        cmocka_unit_test_setup(room_is_there_or_not, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
