/* The journal of a fit: cut off anywhere, the same fit goes on to the same model; of another fit,
 * or damaged, it is refused and stays as it is. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "failing_allocator.h"
#include "gp_support.h"
#include "model/gp/gp.h"

static char folder[] = "test_gp_journal.XXXXXX";
static size_t warnings, known;

static void take_log(void *user, lth_log_level level, const char *text) {
    (void)user;
    const char *number = strstr(text, ": ");
    if (level == LTH_LOG_WARNING && strstr(text, "without its journal")) warnings++;
    if (number && strstr(text, "evaluations were known")) known = strtoul(number + 2, NULL, 10);
}

static lth_ctx *open_context(uint64_t seed, const char *isa) {
    lth_ctx_options options;
    lth_ctx_options_init(&options);
    options.threads = 1;
    options.seed = seed;
    options.isa = isa;
    options.log = take_log;
    lth_ctx *ctx = NULL;
    lth_error err = {0};
    support_ok(lth_ctx_create(&options, &ctx, &err), &err);
    return ctx;
}

static int open_folder(void **state) {
    (void)state;
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int close_folder(void **state) {
    (void)state;
    return chdir("..") == 0 && rmdir(folder) == 0 ? 0 : -1; /* nothing was left behind */
}

static void spill(const char *path, const void *data, size_t size) {
    FILE *stream = fopen(path, "wb");
    assert_non_null(stream);
    assert_true(fwrite(data, 1, size, stream) == size);
    assert_int_equal(fclose(stream), 0);
}

static void check_file(const char *path, const support_bytes *wanted) {
    support_bytes found = support_slurp(path);
    assert_int_equal(found.size, wanted->size);
    assert_memory_equal(found.data, wanted->data, found.size);
    free(found.data);
}

/* ---- A fit ---- */

typedef struct fit {
    const char *kernel, *target;
    lth_gp_options options;
    lth_table *table;
    lth_ctx *ctx;
} fit;

static fit make_fit(const char *kernel, const char *target) {
    fit f = {.kernel = kernel, .target = target, .ctx = open_context(1, NULL)};
    lth_gp_options_init(&f.options);
    f.options.restarts = 1;
    f.options.max_iter = 15;
    f.options.journal = "journal";
    f.table = strcmp(target, "y") == 0 ? support_rows(f.ctx, 0, 24) : support_labels(f.ctx, 24);
    return f;
}

static void end_fit(fit *f) {
    lth_table_free(f->table);
    lth_ctx_free(f->ctx);
    unlink("journal");
}

static lth_status run(const fit *f, lth_gp **out, lth_error *err) {
    return lth_gp_fit(f->ctx, f->kernel, f->table, &f->target, 1, &f->options, out, err);
}

/* The bytes of its file, with all times 0. */
static support_bytes model_of(const fit *f) {
    lth_gp *gp = NULL;
    lth_error err = {0};
    known = 0;
    support_ok(run(f, &gp, &err), &err);
    gp->report.seconds = 0;
    for (size_t i = 0; i < gp->step_count; i++) gp->steps[i].seconds = 0;
    support_ok(lth_gp_save(gp, "model", &err), &err);
    lth_gp_free(gp);
    support_bytes bytes = support_slurp("model");
    unlink("model");
    return bytes;
}

/* Killed after every so many bytes of the journal. */
static void check_cuts(fit f, size_t evaluations_known) {
    support_bytes wanted, journal;
    f.options.journal = NULL;
    wanted = model_of(&f);
    f.options.journal = "journal";
    support_bytes first = model_of(&f);
    assert_int_equal(first.size, wanted.size);
    assert_memory_equal(first.data, wanted.data, wanted.size);
    free(first.data);
    assert_int_equal(known, 0);
    journal = support_slurp("journal");
    for (size_t i = 0; i <= 12; i++) {
        size_t cut = journal.size * i / 12;
        cut = i % 3 == 0 || cut < 5 ? cut : cut - i % 5;
        spill("journal", journal.data, cut);
        support_bytes again = model_of(&f);
        assert_int_equal(again.size, wanted.size);
        assert_memory_equal(again.data, wanted.data, wanted.size);
        free(again.data);
        check_file("journal", &journal);
        if (i == 12) assert_true(known >= evaluations_known);
    }
    free(wanted.data);
    free(journal.data);
    end_fit(&f);
}

/* The power failed: what was not on the disk is zeros, from anywhere on. */
static void test_blank_end(void **state) {
    (void)state;
    fit f = make_fit("ssk(text, order=2)", "y");
    support_bytes wanted = model_of(&f), journal = support_slurp("journal");
    char *bytes = malloc(journal.size);
    assert_non_null(bytes);
    for (size_t i = 0; i <= 24; i++) {
        size_t cut = i < 12 ? 2 * i * (i > 4) : journal.size * (i - 12) / 12;
        memcpy(bytes, journal.data, journal.size);
        memset(bytes + cut, 0, journal.size - cut);
        spill("journal", bytes, cut < 8 && cut > 0 ? cut : journal.size);
        support_bytes again = model_of(&f);
        assert_int_equal(again.size, wanted.size);
        assert_memory_equal(again.data, wanted.data, wanted.size);
        free(again.data);
        check_file("journal", &journal);
    }
    free(bytes);
    free(wanted.data);
    free(journal.data);
    end_fit(&f);
}

static void test_cut_off(void **state) {
    (void)state;
    check_cuts(make_fit("ssk(text, order=2)", "y"), 10);
    check_cuts(make_fit("normalize(ssk(text, order=2)) + rbf(f1..f2)", "y"), 10);
}

/* Laplace's search for the mode goes on where it ended. */
static void test_labels(void **state) {
    (void)state;
    check_cuts(make_fit("ssk(text, order=2)", "two"), 3);
    check_cuts(make_fit("rbf(x)", "three"), 3);
}

/* Hyperparameters from some of the rows. */
static void test_part(void **state) {
    (void)state;
    fit f = make_fit("ssk(text, order=2)", "y");
    f.options.learn_rows = 12;
    check_cuts(f, 5);
}

/* Then from all rows, by a bound: inducing rows are those of the first evaluation, and sites go on
 * where they were. */
static void test_two_searches(void **state) {
    (void)state;
    static const lth_bound bounds[] = {LTH_BOUND_FITC, LTH_BOUND_TITSIAS, LTH_BOUND_TITSIAS};
    static const char *const targets[] = {"y", "y", "two"};
    for (size_t i = 0; i < 3; i++) {
        fit f = make_fit("ssk(text, order=2)", targets[i]);
        f.options.learn_rows = 12;
        f.options.posterior = LTH_POSTERIOR_INDUCING;
        f.options.inducing = 8;
        f.options.bound = bounds[i];
        f.options.max_iter = 8;
        check_cuts(f, 5);
    }
}

/* ---- Refusals ---- */

static void check_refused(const fit *f, const char *why) {
    support_bytes before = support_slurp("journal");
    lth_error err = {0};
    lth_gp *gp = NULL;
    assert_int_equal(run(f, &gp, &err), LTH_EFORMAT);
    assert_null(gp);
    assert_string_equal(err.file, "journal");
    if (!strstr(err.message, why)) fail_msg("\"%s\" has no \"%s\"", err.message, why);
    check_file("journal", &before);
    free(before.data);
}

static void test_foreign(void **state) {
    (void)state;
    fit f = make_fit("ssk(text, order=2)", "y"), other = f;
    free(model_of(&f).data);
    other.kernel = "ssk(text, order=3)";
    check_refused(&other, "another fit: it has \"kernel ssk(text, order=2");
    other = f;
    other.options.restarts = 0;
    check_refused(&other, "it has \"restarts 1\" where this one has \"restarts 0\"");
    other = f;
    other.options.fix = (const char *const[]){"ssk.gap"};
    other.options.fix_count = 1;
    check_refused(&other, "\"fix ssk.gap\"");
    other = f;
    other.target = "z";
    check_refused(&other, "it has \"rows 24 ");
    other = f;
    other.table = support_rows(f.ctx, 1, 24);
    check_refused(&other, "it has \"rows 24 ");
    lth_table_free(other.table);
    other = f;
    other.ctx = open_context(2, NULL);
    check_refused(&other, "it has \"seed 1\" where this one has \"seed 2\"");
    lth_ctx_free(other.ctx);
    if (strcmp(lth_ctx_isa(f.ctx), "portable") != 0) {
        other.ctx = open_context(1, "portable");
        check_refused(&other, "where this one has \"instructions portable\"");
        lth_ctx_free(other.ctx);
    }
    end_fit(&f);
}

static void test_damaged(void **state) {
    (void)state;
    fit f = make_fit("ssk(text, order=2)", "y");
    free(model_of(&f).data);
    support_bytes journal = support_slurp("journal");
    for (size_t i = 0; i < journal.size; i += i < 24 ? 1 : journal.size / 40) {
        journal.data[i] ^= 4;
        spill("journal", journal.data, journal.size);
        check_refused(&f, "it stays as it is");
        journal.data[i] ^= 4;
    }
    spill("journal", "hello", 5);
    check_refused(&f, "this is not a journal");
    spill("journal", "text\ty\nsome words\t1\n", 20);
    check_refused(&f, "this is not a journal");
    free(journal.data);
    end_fit(&f);
}

static void test_in_use(void **state) {
    (void)state;
    fit f = make_fit("rbf(f1)", "y");
    free(model_of(&f).data);
    FILE *other = fopen("journal", "rb");
    assert_non_null(other);
    assert_int_equal(flock(fileno(other), LOCK_EX), 0);
    check_refused(&f, "another fit is writing it");
    fclose(other);
    f.options.journal = "no/such/folder/journal";
    lth_error err = {0};
    lth_gp *gp = NULL;
    assert_int_equal(run(&f, &gp, &err), LTH_EIO);
    assert_string_equal(err.file, "no/such/folder/journal");
    end_fit(&f);
}

/* The fit goes on, and what is in the journal by then is whole. */
static void test_full_disk(void **state) {
    (void)state;
    fit f = make_fit("rbf(f1)", "y");
    support_bytes wanted = model_of(&f), journal = support_slurp("journal");
    unlink("journal");
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit old, small;
    getrlimit(RLIMIT_FSIZE, &old);
    small = old;
    small.rlim_cur = journal.size / 2;
    setrlimit(RLIMIT_FSIZE, &small);
    lth_gp *gp = NULL;
    lth_error err = {0};
    warnings = 0;
    lth_status status = run(&f, &gp, &err);
    setrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, SIG_DFL);
    support_ok(status, &err);
    assert_int_equal(warnings, 1);
    lth_gp_free(gp);
    support_bytes part = support_slurp("journal");
    assert_true(part.size > 0 && part.size <= journal.size / 2);
    assert_memory_equal(part.data, journal.data, part.size);
    support_bytes again = model_of(&f); /* with room again it goes on */
    assert_true(known > 0);
    assert_memory_equal(again.data, wanted.data, wanted.size);
    check_file("journal", &journal);
    free(part.data);
    free(again.data);
    free(wanted.data);
    free(journal.data);
    end_fit(&f);
}

/* From half of a journal; it is whole whatever fails. */
static void each_allocation_fails(void **state) {
    (void)state;
    fit f = make_fit("rbf(f1)", "y");
    f.options.restarts = 0;
    f.options.max_iter = 2;
    lth_table_free(f.table);
    f.table = support_rows(f.ctx, 0, 6);
    free(model_of(&f).data);
    support_bytes journal = support_slurp("journal");
    size_t refused = 0;
    for (size_t k = 1;; k++) {
        lth_error err = {0};
        lth_gp *gp = NULL;
        spill("journal", journal.data, journal.size - 200);
        calls = 0;
        fail_at = k;
        lth_status status = run(&f, &gp, &err);
        bool reached = calls >= k;
        fail_at = 0;
        if (status != LTH_OK && status != LTH_ENOMEM)
            fail_msg("allocation %zu: status %d: %s", k, status, err.message);
        assert_true((gp != NULL) == (status == LTH_OK));
        refused += status == LTH_ENOMEM;
        lth_gp_free(gp);
        support_bytes left = support_slurp("journal");
        assert_true(left.size <= journal.size);
        assert_memory_equal(left.data, journal.data, left.size);
        free(left.data);
        if (!reached) break;
    }
    assert_true(refused > 30);
    free(journal.data);
    end_fit(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cut_off),      cmocka_unit_test(test_blank_end),
        cmocka_unit_test(test_labels),       cmocka_unit_test(test_part),
        cmocka_unit_test(test_two_searches), cmocka_unit_test(test_foreign),
        cmocka_unit_test(test_damaged),      cmocka_unit_test(test_in_use),
        cmocka_unit_test(test_full_disk),    cmocka_unit_test(each_allocation_fails),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
