/* Loading OpenBLAS: the environment is as before, and other threads may read it meanwhile; what it
 * is told of the CPU; what lacks, and room. Each test loads it in a process of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "engine/blas.h"

static const char *const names[] = {"OPENBLAS_CORETYPE", "OPENBLAS_NUM_THREADS"};
extern char **environ;

static bool is(const char *name, const char *value) {
    const char *found = getenv(name);
    return value ? found && strcmp(found, value) == 0 : !found;
}

static bool loads(void) {
    const lth__blas *blas;
    return lth__blas_get(&blas, NULL) == LTH_OK;
}

static bool leaves_environment(void) {
    char **before = environ;
    return loads() && environ == before && is(names[0], NULL) && is(names[1], NULL);
}

static bool leaves_choice(void) {
    setenv(names[0], "Haswell", 1);
    setenv(names[1], "3", 1);
    return loads() && is(names[0], "Haswell") && is(names[1], "3");
}

static bool loads_without_environment(void) {
    clearenv();
    return loads() && is(names[0], NULL);
}

static char core_seen[32];
static bool writes_meanwhile; /* stands for a thread of the host's */
static bool is_missing;       /* OpenBLAS */

void *__real_dlopen(const char *name, int flags);
void *__wrap_dlopen(const char *name, int flags);
void *__wrap_dlopen(const char *name, int flags) {
    const char *core = getenv(names[0]);
    snprintf(core_seen, sizeof core_seen, "%s", core ? core : "none");
    if (is_missing) return NULL;
    if (is(names[1], NULL)) return NULL; /* it is for this that all is done */
    if (writes_meanwhile) setenv("LTH_OLD", "new", 1);
    if (writes_meanwhile) setenv("LTH_NEW", "new", 1);
    return __real_dlopen(name, flags);
}

static bool keeps_what_is_changed_meanwhile(void) {
    setenv("LTH_OLD", "old", 1);
    writes_meanwhile = true;
    return loads() && is("LTH_OLD", "new") && is("LTH_NEW", "new") && is(names[0], NULL) &&
           is(names[1], NULL);
}

typedef struct reader {
    atomic_bool ready, stop;
    bool failed;
} reader;

static void *read_environment(void *user) {
    reader *r = user;
    while (!atomic_load(&r->stop)) {
        r->failed |= !is("LTH_OLD", "old") || !is("LTH_NONE", NULL);
        atomic_store(&r->ready, true);
    }
    return NULL;
}

static bool loads_beside_reader(void) {
    reader r = {0};
    pthread_t thread;
    setenv("LTH_OLD", "old", 1);
    if (pthread_create(&thread, NULL, read_environment, &r) != 0) return false;
    while (!atomic_load(&r.ready)) sched_yield();
    bool loaded = loads();
    atomic_store(&r.stop, true);
    pthread_join(thread, NULL);
    return loaded && !r.failed && is(names[0], NULL);
}

/* ---- Other CPUs and libraries ---- */

static bool has_avx2 = true, has_avx512 = true;

#ifdef __x86_64__
bool __wrap_lth__cpu_has_avx2(void);
bool __wrap_lth__cpu_has_avx2(void) {
    return has_avx2;
}
bool __wrap_lth__cpu_has_avx512(void);
bool __wrap_lth__cpu_has_avx512(void) {
    return has_avx512;
}

static bool asks_for_kernels_of_cpu(void) {
    is_missing = true; /* kernels of another CPU would not run */
    return !loads() && strcmp(core_seen, "SKYLAKEX") == 0;
}

static bool asks_for_kernels_of_older_cpu(void) {
    is_missing = true;
    has_avx512 = false;
    return !loads() && strcmp(core_seen, "HASWELL") == 0;
}

static bool asks_for_no_kernels(void) {
    is_missing = true;
    has_avx512 = has_avx2 = false;
    return !loads() && strcmp(core_seen, "none") == 0;
}
#endif

static const char *lacking; /* what the names begin with that OpenBLAS does not have */

void *__real_dlsym(void *library, const char *name);
void *__wrap_dlsym(void *library, const char *name);
void *__wrap_dlsym(void *library, const char *name) {
    bool lacks = lacking && strncmp(name, lacking, strlen(lacking)) == 0;
    return lacks ? NULL : __real_dlsym(library, name);
}

static bool fails_for_want_of_it(void) {
    lth_error err = {0};
    const lth__blas *blas = NULL;
    return lth__blas_get(&blas, &err) == LTH_EUNSUPPORTED && !blas &&
           strcmp(err.message, "OpenBLAS (libopenblas.so.0) cannot be loaded; install it (Debian: "
                               "libopenblas0-pthread)") == 0;
}

static bool tells_what_is_missing(void) {
    is_missing = true;
    return fails_for_want_of_it() && fails_for_want_of_it(); /* asked again */
}

static bool refuses_half_a_library(void) {
    lacking = "dpotrf_";
    return fails_for_want_of_it();
}

static bool does_without_the_rest(void) {
    const lth__blas *blas;
    lacking = "openblas_";
    return lth__blas_get(&blas, NULL) == LTH_OK && strcmp(blas->core, "unknown") == 0;
}

/* ---- Limits ---- */

static bool is_limited, is_full;
static size_t asked; /* bytes of addresses */

int __real_getrlimit(__rlimit_resource_t what, struct rlimit *limit);
int __wrap_getrlimit(__rlimit_resource_t what, struct rlimit *limit);
int __wrap_getrlimit(__rlimit_resource_t what, struct rlimit *limit) {
    int status = __real_getrlimit(what, limit);
    if (is_limited && what == RLIMIT_DATA) limit->rlim_cur = 1 << 30;
    return status;
}

void *__real_lth__space_alloc(size_t bytes);
void *__wrap_lth__space_alloc(size_t bytes);
void *__wrap_lth__space_alloc(size_t bytes) {
    asked += bytes;
    return is_full ? NULL : __real_lth__space_alloc(bytes);
}

enum { MIB = 1 << 20 };

static bool asks_for_room_once(void) {
    is_limited = true;
    if (!loads() || asked != (48 + 129) * (size_t)MIB) return false;
    lth__blas_expect(3);
    if (!loads() || asked != (48 + 3 * 129) * (size_t)MIB) return false;
    lth__blas_expect(2);
    return loads() && asked == (48 + 3 * 129) * (size_t)MIB;
}

static bool asks_for_no_room_without_limit(void) {
    lth__blas_expect(100);
    return loads() && asked == 0;
}

static bool does_without_buffers(void) {
    is_limited = true;
    lacking = "blas_memory_free";
    return loads();
}

static bool tells_that_room_is_short(void) {
    lth_error err = {0};
    const lth__blas *blas = NULL;
    is_limited = is_full = true;
    lth__blas_expect(2);
    bool failed = lth__blas_get(&blas, &err) == LTH_ENOMEM && !blas &&
                  strcmp(err.message, "OpenBLAS needs 320.9 MB of addresses, which a limit (ulimit "
                                      "-v) does not leave; raise it, or take fewer threads") == 0;
    is_full = false;
    return failed && loads();
}

static void check_in_child(bool (*holds)(void)) {
    fflush(NULL); /* which the child does at its end */
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        for (size_t i = 0; i < 2; i++) unsetenv(names[i]);
        exit(holds() ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void test_environment(void **state) {
    (void)state;
    check_in_child(leaves_environment);
    check_in_child(leaves_choice);
    check_in_child(loads_without_environment);
}

static void test_other_threads(void **state) {
    (void)state;
    check_in_child(keeps_what_is_changed_meanwhile);
    for (int i = 0; i < 10; i++) check_in_child(loads_beside_reader);
}

static void test_cpus(void **state) {
    (void)state;
#ifdef __x86_64__
    check_in_child(asks_for_kernels_of_cpu);
    check_in_child(asks_for_kernels_of_older_cpu);
    check_in_child(asks_for_no_kernels);
#endif
}

static void test_libraries(void **state) {
    (void)state;
    check_in_child(tells_what_is_missing);
    check_in_child(refuses_half_a_library);
    check_in_child(does_without_the_rest);
}

static void test_limits(void **state) {
    (void)state;
    check_in_child(asks_for_room_once);
    check_in_child(asks_for_no_room_without_limit);
    check_in_child(does_without_buffers);
    check_in_child(tells_that_room_is_short);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_environment), cmocka_unit_test(test_other_threads),
        cmocka_unit_test(test_cpus),        cmocka_unit_test(test_libraries),
        cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
