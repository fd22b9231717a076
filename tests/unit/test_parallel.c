/* The job loop: every job once, failures, progress, cancelling, denormals, too few threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <float.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/parallel.h"

enum { JOBS = 2000, WORKERS = 7 };

static void pause_for(long nanoseconds) {
    nanosleep(&(struct timespec){0, nanoseconds}, NULL);
}

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static lth_ctx with_threads(unsigned threads) {
    return (lth_ctx){.options = {.threads = threads}};
}

/* ---- Every job once ---- */

typedef struct tally {
    int runs[JOBS];       /* plain: the loop itself must order them with the caller */
    int scratch[WORKERS]; /* of each worker                                         */
    unsigned threads;
} tally;

static lth_status count_run(void *user, size_t index, unsigned worker) {
    tally *t = user;
    if (worker >= t->threads) return LTH_EARG;
    t->runs[index]++;
    t->scratch[worker]++;
    return LTH_OK;
}

static void test_every_job_runs_once(void **state) {
    (void)state;
    for (unsigned threads = 1; threads <= WORKERS; threads++) {
        lth_ctx ctx = with_threads(threads);
        const size_t counts[] = {0, 1, 2, 5, JOBS};
        for (size_t c = 0; c < 5; c++) {
            tally t = {.threads = threads};
            lth_error err;
            assert_int_equal(lth__parallel_for(&ctx, "count", counts[c], NULL, count_run, &t, &err),
                             LTH_OK);
            int total = 0;
            for (size_t i = 0; i < JOBS; i++) assert_int_equal(t.runs[i], i < counts[c]);
            for (size_t i = 0; i < WORKERS; i++) total += t.scratch[i];
            assert_int_equal(total, counts[c]);
        }
    }
}

typedef struct place {
    pthread_t caller;
    int elsewhere;
} place;

static lth_status note_place(void *user, size_t index, unsigned worker) {
    (void)index;
    place *p = user;
    p->elsewhere += !pthread_equal(pthread_self(), p->caller) || worker != 0;
    return LTH_OK;
}

static void test_small_work_stays_with_the_caller(void **state) {
    (void)state;
    place p = {.caller = pthread_self()};
    lth_ctx one = with_threads(1), many = with_threads(8);
    assert_int_equal(lth__parallel_for(&one, "place", 100, NULL, note_place, &p, NULL), LTH_OK);
    assert_int_equal(lth__parallel_for(&many, "place", 1, NULL, note_place, &p, NULL), LTH_OK);
    assert_int_equal(p.elsewhere, 0);
}

typedef struct crowd {
    atomic_uint present;
} crowd;

/* Waits for another job: needs two threads at once, or the time limit. */
static lth_status meet(void *user, size_t index, unsigned worker) {
    (void)index, (void)worker;
    crowd *c = user;
    atomic_fetch_add(&c->present, 1);
    for (int i = 0; i < 10000 && atomic_load(&c->present) < 2; i++) pause_for(1000000);
    return atomic_load(&c->present) >= 2 ? LTH_OK : LTH_EARG;
}

static void test_jobs_run_at_the_same_time(void **state) {
    (void)state;
    lth_ctx ctx = with_threads(2);
    crowd c = {0};
    assert_int_equal(lth__parallel_for(&ctx, "meet", 2, NULL, meet, &c, NULL), LTH_OK);
}

/* ---- Failures ---- */

static lth_status fail_some(void *user, size_t index, unsigned worker) {
    (void)worker;
    atomic_size_t *runs = user;
    atomic_fetch_add(runs, 1);
    if (index == 100) pause_for(2000000); /* so that 101 often fails first */
    return index == 100 ? LTH_ENUMERIC : index == 101 || index > 1000 ? LTH_EARG : LTH_OK;
}

static void test_lowest_failure_is_returned(void **state) {
    (void)state;
    for (unsigned threads = 1; threads <= 4; threads++) {
        for (int repeat = 0; repeat < 20; repeat++) {
            lth_ctx ctx = with_threads(threads);
            atomic_size_t runs = 0;
            lth_error err;
            assert_int_equal(
                lth__parallel_for(&ctx, "Gram matrix", JOBS, NULL, fail_some, &runs, &err),
                LTH_ENUMERIC);
            assert_int_equal(err.status, LTH_ENUMERIC);
            assert_string_equal(err.message, "Gram matrix: a number overflowed or is not finite");
            assert_in_range(runs, 101, JOBS - 1); /* and it stopped early */
        }
    }
}

/* ---- Progress ---- */

typedef struct watcher {
    int calls, inside, overlaps, backwards;
    int cancel_at; /* this call cancels, from 1 */
    double done, total;
    const char *what;
    atomic_size_t jobs;
} watcher;

static int watch(void *user, const char *what, double done, double total) {
    watcher *w = user;
    w->overlaps += w->inside++;
    w->calls++;
    w->backwards += done < w->done;
    w->done = done;
    w->total = total;
    w->what = what;
    w->inside--;
    return w->calls == w->cancel_at;
}

static lth_status rest(void *user, size_t index, unsigned worker) {
    (void)index, (void)worker;
    atomic_fetch_add(&((watcher *)user)->jobs, 1);
    pause_for(5000000);
    return LTH_OK;
}

static void test_progress(void **state) {
    (void)state;
    double cost[200], sum = 0;
    for (int i = 0; i < 200; i++) sum += cost[i] = 0.1 * (200 - i);
    for (unsigned threads = 1; threads <= 3; threads += 2) {
        watcher w = {0};
        lth_ctx ctx = {.options = {.threads = threads, .progress = watch, .user = &w}};
        double began = seconds_now();
        assert_int_equal(lth__parallel_for(&ctx, "rest", 200, cost, rest, &w, NULL), LTH_OK);
        double took = seconds_now() - began;
        assert_string_equal(w.what, "rest");
        assert_true(w.total == sum);
        assert_true(w.done == sum);
        assert_int_equal(w.backwards, 0);
        assert_int_equal(w.overlaps, 0);
        assert_true(w.calls >= 2);
        assert_true(w.calls <= 6 * took + 2);
    }
}

static void test_short_work_reports_its_end(void **state) {
    (void)state;
    watcher w = {0};
    tally t = {.threads = 3};
    lth_ctx ctx = {.options = {.threads = 3, .progress = watch, .user = &w}};
    assert_int_equal(lth__parallel_for(&ctx, "count", 10, NULL, count_run, &t, NULL), LTH_OK);
    assert_true(w.calls >= 1);
    assert_true(w.done == 10 && w.total == 10);
}

static void test_cancelling(void **state) {
    (void)state;
    for (unsigned threads = 1; threads <= 3; threads += 2) {
        watcher w = {.cancel_at = 1};
        lth_ctx ctx = {.options = {.threads = threads, .progress = watch, .user = &w}};
        lth_error err;
        assert_int_equal(lth__parallel_for(&ctx, "rest", JOBS, NULL, rest, &w, &err),
                         LTH_ECANCELED);
        assert_int_equal(err.status, LTH_ECANCELED);
        assert_string_equal(err.message, "rest: canceled");
        assert_int_equal(w.calls, 1); /* it is not asked again */
        assert_in_range(w.jobs, 1, JOBS - 1);
    }
    /* Also when all is done. */
    watcher w = {.cancel_at = 1};
    tally t = {.threads = 1};
    lth_ctx ctx = {.options = {.threads = 1, .progress = watch, .user = &w}};
    assert_int_equal(lth__parallel_for(&ctx, "count", 3, NULL, count_run, &t, NULL), LTH_ECANCELED);
}

/* ---- Denormals ---- */

static lth_status make_denormal(void *user, size_t index, unsigned worker) {
    (void)worker;
    volatile double smallest = DBL_MIN, denormal = DBL_TRUE_MIN;
    double *out = user;
    out[2 * index] = smallest * 0.5;
    out[2 * index + 1] = denormal * 0x1p1000;
    return LTH_OK;
}

static void test_denormals_are_flushed_in_jobs_only(void **state) {
    (void)state;
#if !defined(__SSE2__) && !defined(__aarch64__)
    skip();
#endif
    for (unsigned threads = 1; threads <= 3; threads++) {
        lth_ctx ctx = with_threads(threads);
        double out[100];
        memset(out, 0x55, sizeof out);
        assert_int_equal(lth__parallel_for(&ctx, "denormals", 50, NULL, make_denormal, out, NULL),
                         LTH_OK);
        for (int i = 0; i < 100; i++) assert_true(out[i] == 0);
        volatile double smallest = DBL_MIN;
        assert_true(smallest * 0.5 > 0);
    }
}

/* ---- Threads ---- */

static lth_status count_atomically(void *user, size_t index, unsigned worker) {
    (void)index, (void)worker;
    atomic_fetch_add((atomic_size_t *)user, 1);
    return LTH_OK;
}

/* In a child, since the limit and the threads stay. */
static void run_without_room_for_threads(void) {
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%lu", &pages) != 1) _exit(10);
    fclose(file);
    size_t most = pages * (size_t)sysconf(_SC_PAGESIZE) + ((size_t)100 << 20);
    struct rlimit stack = {8 << 20, 8 << 20}, limit = {most, most};
    if (setrlimit(RLIMIT_STACK, &stack) != 0 || setrlimit(RLIMIT_AS, &limit) != 0) _exit(11);
    lth_ctx ctx = with_threads(500);
    atomic_size_t runs = 0;
    lth_status status = lth__parallel_for(&ctx, "few", 600, NULL, count_atomically, &runs, NULL);
    _exit(status == LTH_OK && runs == 600 ? 0 : 12);
}

static void test_too_few_threads_are_enough(void **state) {
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* their own memory comes into the limit */
#endif
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) run_without_room_for_threads();
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_cpu_count(void **state) {
    (void)state;
    unsigned cpus = lth__cpu_count();
    assert_in_range(cpus, 1, (unsigned)sysconf(_SC_NPROCESSORS_CONF));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_too_few_threads_are_enough), /* first: forks before any thread */
        cmocka_unit_test(test_every_job_runs_once),
        cmocka_unit_test(test_small_work_stays_with_the_caller),
        cmocka_unit_test(test_jobs_run_at_the_same_time),
        cmocka_unit_test(test_lowest_failure_is_returned),
        cmocka_unit_test(test_progress),
        cmocka_unit_test(test_short_work_reports_its_end),
        cmocka_unit_test(test_cancelling),
        cmocka_unit_test(test_denormals_are_flushed_in_jobs_only),
        cmocka_unit_test(test_cpu_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
