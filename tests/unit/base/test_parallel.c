/* The job loop: every job once, failures, progress, cancelling, denormals, too few threads, forks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <float.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/parallel.h"
#include "fixture.h"

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

static lth_status count_run(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)err;
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

static lth_status note_place(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)index, (void)err;
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
static lth_status meet(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)index, (void)worker, (void)err;
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

static lth_status fail_some(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker, (void)err;
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

/* ---- Loops inside of jobs: whoever has no job left helps ---- */

typedef struct helped {
    lth_ctx *ctx;
    atomic_uint inside; /* at the same time */
    atomic_bool met;
} helped;

static lth_status meet_inside(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)index, (void)worker, (void)err;
    helped *h = user;
    if (atomic_fetch_add(&h->inside, 1) > 0) atomic_store(&h->met, true);
    pause_for(1000000);
    atomic_fetch_sub(&h->inside, 1);
    return LTH_OK;
}

static lth_status loop_until_helped(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker;
    helped *h = user;
    double began = seconds_now();
    while (index == 0 && !atomic_load(&h->met) && seconds_now() - began < 20)
        LTH_TRY(lth__parallel_for(h->ctx, "inside", 2, NULL, meet_inside, h, err));
    return LTH_OK;
}

static void test_idle_threads_help_inside(void **state) {
    (void)state;
    const unsigned cases[][2] = {{2, 2}, {2, 5}, {4, 2}, {3, 1}}; /* threads and jobs */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lth_ctx ctx = with_threads(cases[i][0]);
        helped h = {.ctx = &ctx};
        assert_int_equal(
            lth__parallel_for(&ctx, "outside", cases[i][1], NULL, loop_until_helped, &h, NULL),
            LTH_OK);
        assert_true(atomic_load(&h.met));
    }
}

typedef struct throng {
    lth_ctx *ctx;
    atomic_uint inside, most;
} throng;

static lth_status count_crowd(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)index, (void)worker, (void)err;
    throng *c = user;
    unsigned now = atomic_fetch_add(&c->inside, 1) + 1, most = atomic_load(&c->most);
    while (now > most && !atomic_compare_exchange_weak(&c->most, &most, now)) continue;
    pause_for(200000);
    atomic_fetch_sub(&c->inside, 1);
    return LTH_OK;
}

static lth_status gather_crowd(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker;
    throng *c = user;
    for (size_t i = 0; i < 10 + index; i++)
        LTH_TRY(lth__parallel_for(c->ctx, "inside", 9, NULL, count_crowd, c, err));
    return LTH_OK;
}

/* But there are never more than the context has. */
static void test_no_more_threads_than_asked_for(void **state) {
    (void)state;
    for (unsigned threads = 1; threads <= 5; threads++) {
        lth_ctx ctx = with_threads(threads);
        throng c = {.ctx = &ctx};
        assert_int_equal(lth__parallel_for(&ctx, "outside", 4, NULL, gather_crowd, &c, NULL),
                         LTH_OK);
        assert_true(atomic_load(&c.most) <= threads);
    }
}

/* Jobs from number 37 on fail and say why, except for one. */
static lth_status fail_with_reason(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker;
    size_t silent = *(size_t *)user;
    lth_error mistake; /* one that the job recovers from tells nothing */
    lth__fail(index % 3 == 0 ? err : &mistake, LTH_EIO, "of job %zu, recovered", index);
    if (index < 37) return LTH_OK;
    if (index == silent) return LTH_EFORMAT;
    return lth__fail_at(err, LTH_EFORMAT, "file", index, 3, "reason of job %zu", index);
}

typedef struct outer_job {
    lth_ctx ctx;
    size_t silent;
} outer_job;

static lth_status fail_inside(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker;
    outer_job *n = user;
    if (index < 5) return LTH_OK;
    return lth__parallel_for(&n->ctx, "inside", 100, NULL, fail_with_reason, &n->silent, err);
}

static void check_reason(const lth_error *err) {
    assert_int_equal(err->status, LTH_EFORMAT);
    assert_string_equal(err->message, "reason of job 37");
    assert_string_equal(err->file, "file");
    assert_int_equal(err->line, 37);
    assert_int_equal(err->column, 3);
}

static void test_reason_of_the_lowest_failure_arrives(void **state) {
    (void)state;
    const unsigned threads[] = {1, 2, 8};
    for (int repeat = 0; repeat < 60; repeat++) {
        lth_error err = {0};
        outer_job n = {.ctx = with_threads(threads[repeat % 3]), .silent = LTH_NONE};
        assert_int_equal(
            lth__parallel_for(&n.ctx, "all", JOBS, NULL, fail_with_reason, &n.silent, &err),
            LTH_EFORMAT);
        check_reason(&err);
        err = (lth_error){0};
        assert_int_equal(lth__parallel_for(&n.ctx, "outside", 20, NULL, fail_inside, &n, &err),
                         LTH_EFORMAT);
        check_reason(&err);
        assert_int_equal(lth__parallel_for(&n.ctx, "outside", 20, NULL, fail_inside, &n, NULL),
                         LTH_EFORMAT);
        n.silent = 37;
        assert_int_equal(lth__parallel_for(&n.ctx, "outside", 20, NULL, fail_inside, &n, &err),
                         LTH_EFORMAT);
        assert_string_equal(err.message, "inside: malformed input");
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

static lth_status rest(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)index, (void)worker, (void)err;
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

/* ---- Asking whether to go on, without a word of progress ---- */

static lth_status rest_shortly(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)index, (void)worker, (void)err;
    atomic_fetch_add(&((watcher *)user)->jobs, 1);
    pause_for(1000000);
    return LTH_OK;
}

/* No loop takes as long as the time between two questions, but all of them do. */
static void test_many_short_loops_ask(void **state) {
    (void)state;
    for (int quiet = 0; quiet < 2; quiet++) {
        watcher w = {.cancel_at = 3};
        lth_ctx ctx = {.options = {.threads = 2, .progress = watch, .user = &w}, .quiet = quiet};
        lth_status status = LTH_OK;
        lth_error err = {0};
        double began = seconds_now();
        while (status == LTH_OK && seconds_now() - began < 20)
            status =
                lth__parallel_for(&ctx, quiet ? "rest" : NULL, 20, NULL, rest_shortly, &w, &err);
        assert_int_equal(status, LTH_ECANCELED);
        assert_string_equal(err.message, quiet ? "rest: canceled" : "canceled");
        assert_int_equal(w.calls, 3);
        assert_string_equal(w.what, "");
        assert_true(w.total == 0 && w.done == 0);
    }
}

typedef struct long_job {
    lth_ctx ctx;
    watcher watcher;
    bool nested;
} long_job;

/* Would take a minute. */
static lth_status work_long(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)index, (void)worker;
    long_job *j = user;
    for (int i = 0; i < 6000; i++) {
        pause_for(10000000);
        lth_status status = LTH_OK;
        if (j->nested)
            status = lth__parallel_for(&j->ctx, "inside", 2, NULL, rest_shortly, &j->watcher, err);
        else
            status = lth__parallel_ask(&j->ctx);
        if (status != LTH_OK) return status;
    }
    return LTH_OK;
}

static void test_cancelling_inside_a_job(void **state) {
    (void)state;
    for (unsigned threads = 1; threads <= 3; threads++) {
        for (int nested = 0; nested < 2; nested++) {
            long_job j = {.watcher = {.cancel_at = 2}, .nested = nested};
            j.ctx =
                (lth_ctx){.options = {.threads = threads, .progress = watch, .user = &j.watcher}};
            lth_error err = {0};
            double began = seconds_now();
            assert_int_equal(lth__parallel_for(&j.ctx, "outside", 3, NULL, work_long, &j, &err),
                             LTH_ECANCELED);
            assert_true(seconds_now() - began < 20);
            assert_string_equal(err.message, "outside: canceled");
            assert_string_equal(j.watcher.what, "outside");
            assert_int_equal(j.watcher.calls, 2);
            assert_int_equal(j.watcher.overlaps, 0);
            assert_null(j.ctx.loop);
        }
    }
    assert_int_equal(lth__parallel_ask(&(lth_ctx){.options.progress = watch}), LTH_OK);
}

/* Inside of an evaluation, and of a prediction; until then the fit is told nothing. */
static int refuse(void *user, const char *what, double done, double total) {
    watcher *w = user;
    w->calls++;
    w->backwards += *what || done != 0 || total != 0;
    return w->cancel_at > 0;
}

static void test_cancelling_a_model(void **state) {
    (void)state;
    enum { ROWS = 700 };
    double x[ROWS], y[ROWS], mean[ROWS];
    for (int i = 0; i < ROWS; i++) {
        x[i] = 0.01 * i;
        y[i] = (i * 7919) % 101;
    }
    lth_column columns[] = {{.name = "x", .numbers = x}, {.name = "y", .numbers = y}};
    const char *target = "y";
    watcher w = {.cancel_at = 1};
    lth_ctx_options options;
    lth_ctx_options_init(&options);
    options.progress = refuse;
    options.user = &w;
    lth_ctx *ctx = NULL;
    lth_table *table = NULL;
    lth_gp *gp = NULL;
    lth_error err = {0};
    assert_int_equal(lth_ctx_create(&options, &ctx, &err), LTH_OK);
    assert_int_equal(lth_table_from_columns(ctx, columns, sizeof *columns, 2, ROWS, &table, &err),
                     LTH_OK);
    assert_int_equal(lth_gp_fit(ctx, "rbf(x) + matern32(x)", table, &target, 1, NULL, &gp, &err),
                     LTH_ECANCELED);
    assert_int_equal(err.status, LTH_ECANCELED);
    assert_null(gp);
    assert_int_equal(w.calls, 1);
    assert_int_equal(w.backwards, 0);

    lth_gp_options gp_options;
    lth_gp_options_init(&gp_options);
    gp_options.learn = false;
    w.cancel_at = 0;
    assert_int_equal(lth_gp_fit(ctx, "rbf(x)", table, &target, 1, &gp_options, &gp, &err), LTH_OK);
    pause_for(200000000);
    w.cancel_at = 1;
    assert_int_equal(lth_gp_predict(gp, table, false, mean, NULL, &err), LTH_ECANCELED);
    w.cancel_at = 0;
    assert_int_equal(lth_gp_predict(gp, table, false, mean, NULL, &err), LTH_OK);
    assert_int_equal(w.backwards, 0);
    lth_gp_free(gp);
    lth_table_free(table);
    lth_ctx_free(ctx);
}

/* ---- Denormals ---- */

static lth_status make_denormal(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker, (void)err;
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

static lth_status count_atomically(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)index, (void)worker, (void)err;
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

/* ---- Forks ---- */

/* A Gram matrix by three threads; waits for no more than a minute. */
static double *compute_gram(void) {
    alarm(60);
    lth_ctx_options options;
    lth_ctx_options_init(&options);
    options.threads = 3;
    lth__random random;
    lth__random_seed(&random, 5);
    char **texts = fixture_texts(&random, 60, 40, 5, true);
    fixture f = fixture_open("normalize(ssk(text, order=3))", &options);
    double *K = fixture_gram(&f, fixture_encode(&f, (const char *const *)texts, 60), NULL);
    fixture_close(&f);
    fixture_free_texts(texts, 60);
    alarm(0);
    return K;
}

/* Whether a child, and a child of it, gets the same matrix. exit() has leaks looked for, but what a
 * thread of the parent was using would seem to be one. */
static void check_child(const double *K, int generations, bool leaks) {
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        double *own = compute_gram();
        int code = memcmp(own, K, 60 * 60 * sizeof *K) == 0 ? 0 : 1;
        free(own);
        if (code == 0 && generations > 1) check_child(K, generations - 1, leaks);
        if (leaks) exit(code);
        _exit(code);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void skip_where_forks_lose_threads(void) {
    if (getenv("LTH_EMULATED")) skip(); /* qemu-user itself, see tools/check_arm */
#if defined(__SANITIZE_THREAD__)
    skip(); /* it allows no threads after a fork */
#endif
}

static void test_threads_after_a_fork(void **state) {
    (void)state;
    skip_where_forks_lose_threads();
    double *K = compute_gram();
    check_child(K, 3, true);
    double *again = compute_gram();
    assert_memory_equal(again, K, 60 * 60 * sizeof *K);
    free(again);
    free(K);
}

typedef struct busy {
    atomic_bool stop;
    lth_ctx ctx; /* also used by the children, in which nothing uses it */
} busy;

static void *be_busy(void *user) {
    busy *b = user;
    watcher w = {0};
    while (!atomic_load(&b->stop))
        assert_int_equal(lth__parallel_for(&b->ctx, "busy", 30, NULL, rest_shortly, &w, NULL),
                         LTH_OK);
    return NULL;
}

static void test_forks_while_a_team_is_at_work(void **state) {
    (void)state;
    skip_where_forks_lose_threads();
    double *K = compute_gram();
    busy b = {.ctx = {.options = {.threads = 4}}};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, be_busy, &b), 0);
    for (int i = 0; i < 15; i++) {
        pause_for(1700000);
        check_child(K, 1 + i % 2, false);
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) {
            watcher w = {0};
            alarm(60);
            b.ctx.options = (lth_ctx_options){.threads = 3, .progress = watch, .user = &w};
            _exit(lth__parallel_for(&b.ctx, "rest", 9, NULL, rest_shortly, &w, NULL) != LTH_OK ||
                  w.done != 9 || w.jobs != 9);
        }
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
    atomic_store(&b.stop, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    free(K);
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
        cmocka_unit_test(test_reason_of_the_lowest_failure_arrives),
        cmocka_unit_test(test_progress),
        cmocka_unit_test(test_short_work_reports_its_end),
        cmocka_unit_test(test_cancelling),
        cmocka_unit_test(test_many_short_loops_ask),
        cmocka_unit_test(test_cancelling_inside_a_job),
        cmocka_unit_test(test_idle_threads_help_inside),
        cmocka_unit_test(test_no_more_threads_than_asked_for),
        cmocka_unit_test(test_cancelling_a_model),
        cmocka_unit_test(test_denormals_are_flushed_in_jobs_only),
        cmocka_unit_test(test_threads_after_a_fork),
        cmocka_unit_test(test_forks_while_a_team_is_at_work),
        cmocka_unit_test(test_cpu_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
