/* Loading OpenBLAS: the environment is as before, and other threads may read it meanwhile. Each
 * test loads it in a process of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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

static bool writes_meanwhile; /* stands for a thread of the host's */

void *__real_dlopen(const char *name, int flags);
void *__wrap_dlopen(const char *name, int flags);
void *__wrap_dlopen(const char *name, int flags) {
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

static void check_in_child(bool (*holds)(void)) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        for (size_t i = 0; i < 2; i++) unsetenv(names[i]);
        _exit(holds() ? 0 : 1);
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_environment),
        cmocka_unit_test(test_other_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
