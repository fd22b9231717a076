/* Fits side by side: the same bits whatever the threads, callbacks that take turns, failures,
 * cancelling, and each allocation failing in turn. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/context.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "failing_allocator.h"
#include "gp_support.h"
#include "model/common/fits.h"

/* ---- Fits of any kind ---- */

enum { FITS = 12 };

typedef struct watcher {
    pthread_t caller;
    int inside, overlaps, backwards, told, elsewhere;
    int cancel_at; /* when so many are finished; 0 = never */
    double done;
    char log[40 * FITS];
} watcher;

static int watch(void *user, const char *what, double done, double total) {
    watcher *w = user;
    w->overlaps += w->inside++;
    if (strcmp(what, "fits") == 0) {
        w->told++;
        w->backwards += done != w->done + 1 || total != FITS;
        w->done = done;
    }
    w->inside--;
    return w->cancel_at > 0 && w->told >= w->cancel_at;
}

static void take_line(void *user, lth_log_level level, const char *text) {
    watcher *w = user;
    w->overlaps += w->inside++;
    w->elsewhere += !pthread_equal(pthread_self(), w->caller);
    size_t used = strlen(w->log);
    snprintf(w->log + used, sizeof w->log - used, "%d%s;", (int)level, text);
    w->inside--;
}

typedef struct trial {
    size_t fails_from; /* fits from this one on fail */
    bool patient;      /* each goes on until it is told to stop */
    bool tells;        /* one of them says something of what is done for all */
    lth_ctx *for_all;
    double sum[FITS];
} trial;

static lth_status add(void *user, size_t index, unsigned worker, lth_error *err) {
    (void)worker, (void)err;
    double *part = user;
    part[index] = 1.0 / (double)(index + 1);
    return LTH_OK;
}

static lth_status try_it(void *user, size_t index, lth_ctx *ctx, lth_error *err) {
    trial *t = user;
    double part[50];
    nanosleep(&(struct timespec){0, (long)((index * 7) % 5) * 1000000}, NULL);
    lth__log(ctx, LTH_LOG_WARNING, "fit %zu", index);
    if (index >= t->fails_from) return lth__fail(err, LTH_ENUMERIC, "fit %zu failed", index);
    do {
        LTH_TRY(lth__parallel_for(ctx, "inside", 50, NULL, add, part, err));
    } while (t->patient && index > 0);
    for (size_t i = 0; i < 50; i++) t->sum[index] += part[i];
    if (t->tells && index == 3) lth__log(t->for_all, LTH_LOG_WARNING, "for all");
    lth__log(ctx, LTH_LOG_INFO, "end %zu", index);
    return LTH_OK;
}

static lth_status run_trial(trial *t, watcher *w, unsigned threads, unsigned workers, bool *done,
                            lth_error *err) {
    lth_ctx ctx = {.options = {.threads = threads, .progress = watch, .log = take_line, .user = w}};
    lth__fits fits = {.ctx = &ctx,
                      .what = "fits",
                      .count = FITS,
                      .workers = workers,
                      .fit = try_it,
                      .user = t,
                      .done = done};
    w->caller = pthread_self();
    t->for_all = &ctx;
    lth_status status = lth__fits_run(&fits, err);
    assert_true(ctx.options.user == w && ctx.options.progress == watch);
    assert_null(ctx.loop);
    return status;
}

static const unsigned sizes[][2] = {{1, 0}, {1, 1}, {2, 2}, {3, 0}, {3, 2}, {8, 3}, {16, 12}};
enum { SIZES = sizeof sizes / sizeof *sizes };

static void test_fits_take_turns(void **state) {
    (void)state;
    watcher first = {0};
    for (size_t s = 0; s < SIZES; s++) {
        watcher w = {0};
        trial t = {.fails_from = LTH_NONE};
        bool done[FITS] = {false};
        lth_error err = {0};
        support_ok(run_trial(&t, &w, sizes[s][0], sizes[s][1], done, &err), &err);
        assert_int_equal(w.overlaps, 0);
        assert_int_equal(w.backwards, 0);
        assert_int_equal(w.elsewhere, 0);
        assert_int_equal(w.told, FITS);
        for (size_t i = 0; i < FITS; i++) assert_true(done[i] && t.sum[i] == t.sum[0]);
        if (s == 0) first = w;
        assert_string_equal(w.log, first.log);
    }
    assert_memory_equal(first.log, "1fit 0;2end 0;1fit 1;", 20);
}

/* What is said by the context of all is told too, once, by the caller's thread. */
static void test_what_is_said_of_all(void **state) {
    (void)state;
    for (size_t s = 0; s < SIZES; s++) {
        watcher w = {0};
        trial t = {.fails_from = LTH_NONE, .tells = true};
        bool done[FITS] = {false};
        lth_error err = {0};
        support_ok(run_trial(&t, &w, sizes[s][0], sizes[s][1], done, &err), &err);
        const char *first = strstr(w.log, "1for all;");
        assert_non_null(first);
        assert_null(strstr(first + 2, "for all"));
        assert_int_equal(w.overlaps, 0);
        assert_int_equal(w.elsewhere, 0);
    }
}

static void test_first_failure_counts(void **state) {
    (void)state;
    for (size_t s = 0; s < SIZES; s++) {
        watcher w = {0};
        trial t = {.fails_from = 4};
        bool done[FITS] = {false};
        lth_error err = {0};
        assert_int_equal(run_trial(&t, &w, sizes[s][0], sizes[s][1], done, &err), LTH_ENUMERIC);
        assert_string_equal(err.message, "fit 4 failed");
        for (size_t i = 0; i < FITS; i++) assert_int_equal(done[i], i < 4);
        assert_int_equal(w.overlaps, 0);
    }
}

static void test_cancelling_stops_all(void **state) {
    (void)state;
    for (size_t s = 0; s < SIZES; s++) {
        watcher w = {.cancel_at = 1};
        trial t = {.fails_from = LTH_NONE, .patient = true};
        bool done[FITS] = {false};
        assert_int_equal(run_trial(&t, &w, sizes[s][0], sizes[s][1], done, NULL), LTH_ECANCELED);
        assert_int_equal(w.told, 1);
        for (size_t i = 0; i < FITS; i++) assert_int_equal(done[i], i == 0);
    }
}

static void test_how_many(void **state) {
    (void)state;
    lth_ctx ctx = {.options = {.threads = 4}};
    assert_int_equal(lth__fits_workers(&ctx, 60, 1000, 1), 4);
    assert_int_equal(lth__fits_workers(&ctx, 3, 1000, 1), 3);
    assert_int_equal(lth__fits_workers(&ctx, 1, 1000, 1), 0);
    assert_int_equal(lth__fits_workers(&ctx, 60, 100000, 1), 0);
    assert_int_equal(lth__fits_workers(&ctx, 60, 1000, SIZE_MAX / 2), 0);
    size_t third = lth__memory_available() / 5;
    unsigned two = lth__fits_workers(&ctx, 60, 1000, third);
    assert_true(two == 2 || two == 3); /* what is free changes */
    lth__memory_divide(3);
    size_t part = lth__memory_available();
    lth__memory_divide(-3);
    assert_true(part < 2 * third);
}

/* ---- Cross-validations ---- */

enum { ROWS = 40, FOLDS = 4, MOST = 3 };

typedef struct found {
    double value[MOST * ROWS * 4], evidence[MOST * FOLDS];
} found;

static void read_target(const lth_validation *v, size_t t, found *out) {
    size_t classes = lth_validation_classes(v, t);
    for (size_t i = 0; i < ROWS; i++) {
        double *to = out->value + 4 * (t * ROWS + i);
        for (size_t k = 0; k < classes && k < 4; k++) to[k] = lth_validation_predicted(v, t, i, k);
        if (classes > 0) continue;
        to[0] = lth_validation_value(v, t, i);
        to[1] = lth_validation_sd(v, t, i);
    }
    for (size_t f = 0; f < FOLDS; f++) {
        double *to = &out->evidence[t * FOLDS + f];
        *to = classes > 0 ? lth_validation_label_metrics(v, t, f)->log_loss
                          : lth_validation_evidence(v, t, f);
        assert_true(isfinite(*to));
    }
}

typedef struct task {
    const char *kernel, *targets[MOST];
    size_t count, coregion, average;
    lth_likelihood likelihood;
    bool vectors, labels;
} task;

static const task tasks[] = {
    {.kernel = "rbf(f1..f2)", .targets = {"y", "z", "w"}, .count = 3},
    {.kernel = "rbf(scale(f1..f2))", .targets = {"y", "z"}, .count = 2},
    {.kernel = "normalize(tfidf(text))", .targets = {"y", "z"}, .count = 2},
    {.kernel = "normalize(ssk(text, order=2, rarity=0.1))", .targets = {"y"}, .count = 1},
    {.kernel = "ssk(text, order=2, sim=dot)", .targets = {"y", "z"}, .count = 2, .vectors = true},
    {.kernel = "ssk(text, order=2, sim=exp)", .targets = {"y", "w"}, .count = 2, .vectors = true},
    {.kernel = "rbf(mean(text))", .targets = {"y", "z", "w"}, .count = 3, .vectors = true},
    {.kernel = "rbf(f1..f2)", .targets = {"y", "z"}, .count = 2, .coregion = 1},
    {.kernel = "rbf(f1..f2)", .targets = {"y"}, .count = 1, .average = 3},
    {.kernel = "rbf(x)", .targets = {"two", "three"}, .count = 2, .labels = true},
    {.kernel = "rbf(x)",
     .targets = {"three"},
     .count = 1,
     .labels = true,
     .likelihood = LTH_SOFTMAX},
};
enum { TASKS = sizeof tasks / sizeof *tasks };

static lth_status validate(const task *of, lth_ctx *ctx, const lth_table *table,
                           const char *vectors, size_t rows, lth_validation **out, lth_error *err) {
    size_t fold[ROWS];
    lth_gp_options options;
    lth_gp_options_init(&options);
    options.restarts = 1;
    options.max_iter = 3;
    options.coregion = of->coregion;
    options.average = of->average;
    options.likelihood = of->likelihood;
    options.vectors = of->vectors ? vectors : NULL;
    for (size_t i = 0; i < rows; i++) fold[i] = i % FOLDS;
    return lth_gp_cv(ctx, of->kernel, table, of->targets, of->count, fold, FOLDS, &options, out,
                     err);
}

static found validated(const task *of, unsigned threads, const char *vectors) {
    found out = {0};
    lth_error err = {0};
    lth_validation *v = NULL;
    lth_ctx *ctx = support_context(threads);
    lth_table *table = of->labels ? support_labels(ctx, ROWS) : support_rows(ctx, 0, ROWS);
    support_ok(validate(of, ctx, table, vectors, ROWS, &v, &err), &err);
    for (size_t t = 0; t < of->count; t++) read_target(v, t, &out);
    lth_validation_free(v);
    lth_table_free(table);
    lth_ctx_free(ctx);
    return out;
}

static void test_same_bits(void **state) {
    (void)state;
    char *vectors = support_vectors();
    for (size_t k = 0; k < TASKS; k++) {
        found one = validated(&tasks[k], 1, vectors);
        static const unsigned threads[] = {2, 3, 8};
        for (size_t t = 0; t < 3; t++) {
            found more = validated(&tasks[k], threads[t], vectors);
            if (memcmp(&one, &more, sizeof one) != 0)
                fail_msg("%s, task %zu, %u threads", tasks[k].kernel, k, threads[t]);
        }
    }
    support_remove(vectors);
}

/* A target is known in the rows of one fold alone, and its model knows none: the first is told. */
static void test_fold_that_fails(void **state) {
    (void)state;
    for (unsigned threads = 1; threads <= 5; threads += 2) {
        lth_error err = {0};
        lth_validation *v = NULL;
        lth_ctx *ctx = support_context(threads);
        lth_table *table = support_table(ctx, "x\tp\tq\tr\n1\t1\t\t1\n2\t2\t\t\n3\t3\t1\t\n4\t1\t\t"
                                              "\n5\t2\t\t2\n6\t0\t\t\n7\t3\t2\t\n8\t1\t\t\n");
        task t = {.kernel = "rbf(x)", .targets = {"p", "q", "r"}, .count = 3, .coregion = 1};
        assert_int_equal(validate(&t, ctx, table, NULL, 8, &v, &err), LTH_EFORMAT);
        assert_string_equal(err.message, "the target \"r\" has no number in any row");
        assert_null(v);
        lth_table_free(table);
        lth_ctx_free(ctx);
    }
}

/* ---- Too little memory ---- */

typedef struct use {
    lth_ctx *ctx;
    lth_table *table;
    const task *task;
    const char *vectors;
} use;

static lth_status validate_all(void *user, lth_error *err) {
    use *u = user;
    lth_validation *v = NULL;
    lth_status status =
        validate(u->task, u->ctx, u->table, u->vectors, lth_table_rows(u->table), &v, err);
    lth_validation_free(v);
    return status;
}

static void test_each_allocation_fails(void **state) {
    (void)state;
    char *vectors = support_vectors();
    static const task small[] = {
        {.kernel = "rbf(scale(f1..f2)) + ssk(text, order=2, sim=dot, rarity=0.1)",
         .targets = {"y", "z"},
         .count = 2,
         .vectors = true},
        {.kernel = "ssk(text, order=1, sim=exp)", .targets = {"y"}, .count = 1, .vectors = true},
    };
    for (size_t k = 0; k < 3; k++) {
        lth_ctx *ctx = support_context(k < 2 ? 3 : 1);
        lth_table *table = support_rows(ctx, 0, 8);
        fail_each(validate_all, &(use){ctx, table, &small[k % 2], vectors}, true, 50);
        lth_table_free(table);
        lth_ctx_free(ctx);
    }
    support_remove(vectors);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fits_take_turns),
        cmocka_unit_test(test_what_is_said_of_all),
        cmocka_unit_test(test_first_failure_counts),
        cmocka_unit_test(test_cancelling_stops_all),
        cmocka_unit_test(test_how_many),
        cmocka_unit_test(test_same_bits),
        cmocka_unit_test(test_fold_that_fails),
        cmocka_unit_test(test_each_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
