/* Campaigns: asking and telling, in memory and in a folder that survives; what is wrong is refused
 * as a whole, and damaged files are told apart from lost ones. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/text.h"
#include "failing_allocator.h"
#include "gp_support.h"

static lth_ctx *ctx;

static int open_context(void **state) {
    (void)state;
    ctx = support_context(2);
    return 0;
}

static int close_context(void **state) {
    (void)state;
    lth_ctx_free(ctx);
    return 0;
}

/* ---- Candidates, and what comes out ---- */

static const char letters[] = "ACGT";
enum { LENGTH = 3, CANDIDATES = 64 };

static void write_text(size_t i, char out[LENGTH + 1]) {
    for (size_t j = 0; j < LENGTH; j++, i /= 4) out[j] = letters[i % 4];
    out[LENGTH] = 0;
}

static double truth(const char *text, size_t length) {
    double y = 0;
    for (size_t j = 0; j < length; j++)
        y += (double)(j + 1) * (double)(strchr(letters, text[j]) - letters);
    return y;
}

static char *candidate_lines(void) {
    lth__string lines = {0};
    char text[LENGTH + 1];
    lth__string_format(&lines, "id\tseq\n");
    for (size_t i = 0; i < CANDIDATES; i++) {
        write_text(i, text);
        lth__string_format(&lines, "r%zu\t%s\n", i, text);
    }
    char *out = strdup(lines.bytes);
    lth__string_free(&lines);
    return out;
}

static lth_table *candidates(void) {
    char *lines = candidate_lines();
    lth_table *table = support_table(ctx, lines);
    free(lines);
    return table;
}

static const char *const target = "y";

static lth_gp_options quick(void) {
    lth_gp_options gp;
    lth_gp_options_init(&gp);
    gp.max_iter = 5;
    gp.restarts = 0;
    return gp;
}

static lth_design *begin(const char *folder, const char *file, const lth_table *pool,
                         const lth_propose_options *propose) {
    lth_gp_options gp = quick();
    lth_design_options options;
    lth_design_options_init(&options);
    options.kernel = "sites(seq)";
    options.targets = &target;
    options.target_count = 1;
    options.candidates = file;
    options.pool = pool;
    options.propose = propose;
    options.gp = &gp;
    lth_design *d = NULL;
    lth_error err = {0};
    support_ok(lth_design_create(ctx, folder, &options, &d, &err), &err);
    return d;
}

/* The answers to what was asked, less the first `skip`, plus `more` lines. */
static lth_table *answers(const lth_table *asked, size_t skip, const char *more) {
    lth__string lines = {0};
    lth__string_format(&lines, "seq\ty\n");
    for (size_t i = 0; i < lth_table_rows(asked); i++) {
        size_t length;
        const char *text = lth_table_cell(asked, i, 0, &length);
        lth__string_format(&lines, "%.*s\t", (int)length, text);
        if (i >= skip) lth__string_format(&lines, "%g", truth(text, length));
        lth__string_format(&lines, "\n");
    }
    lth__string_format(&lines, "%s", more);
    lth_table *table = support_table(ctx, lines.bytes);
    lth__string_free(&lines);
    return table;
}

static lth_table *ask(lth_design *d, size_t count, lth_proposals **proposals) {
    lth_table *rows = NULL;
    lth_error err = {0};
    support_ok(lth_design_ask(d, count, &rows, proposals, &err), &err);
    assert_int_equal(lth_table_rows(rows), count);
    return rows;
}

static void tell(lth_design *d, const lth_table *rows, size_t skip, const char *more) {
    lth_error err = {0};
    lth_table *results = answers(rows, skip, more);
    support_ok(lth_design_tell(d, results, &err), &err);
    lth_table_free(results);
}

static void refuse(lth_design *d, const char *lines, size_t line, const char *message) {
    lth_error err = {0};
    size_t before = lth_table_rows(lth_design_rows(d)), told = lth_design_reported(d)->measured;
    lth_table *results = support_table(ctx, lines);
    assert_int_equal(lth_design_tell(d, results, &err), LTH_EFORMAT);
    assert_int_equal(err.line, line);
    if (!strstr(err.message, message)) fail_msg("\"%s\" is not in \"%s\"", message, err.message);
    assert_int_equal(lth_table_rows(lth_design_rows(d)), before);
    assert_int_equal(lth_design_reported(d)->measured, told);
    lth_table_free(results);
}

static void expect_cell(const lth_design *d, size_t row, const char *column, const char *text) {
    const lth_table *rows = lth_design_rows(d);
    size_t length, at = lth_table_find(rows, column);
    assert_int_not_equal(at, LTH_NONE);
    const char *cell = lth_table_cell(rows, row, at, &length);
    if (length != strlen(text) || memcmp(cell, text, length) != 0)
        fail_msg("%s of row %zu is \"%.*s\", not \"%s\"", column, row, (int)length, cell, text);
}

/* ---- In memory ---- */

static void test_rounds(void **state) {
    (void)state;
    lth_table *pool = candidates();
    lth_design *d = begin(NULL, NULL, pool, NULL);
    const lth_design_report *r = lth_design_reported(d);
    lth_proposals *proposals = (lth_proposals *)&pool; /* anything but NULL */
    assert_true(isnan(r->best));
    assert_int_equal(r->best_row, LTH_NONE);
    assert_null(lth_design_model(d));

    lth_table *first = ask(d, 6, &proposals);
    assert_null(proposals); /* there was nothing to learn from */
    assert_int_equal(r->pending, 6);
    assert_int_equal(lth_design_asked(d, 6), LTH_NONE);
    lth_table *again = ask(d, 6, NULL);
    for (size_t i = 0; i < 36; i++) { /* others than those that are pending */
        const char *a = lth_table_cell(first, i / 6, 0, NULL);
        assert_memory_not_equal(a, lth_table_cell(again, i % 6, 0, NULL), LENGTH);
    }
    lth_error err = {0};
    support_ok(lth_design_forget(d, again, &err), &err);
    assert_int_equal(r->pending, 6);

    tell(d, first, 1, "AAA\t0\n"); /* one is not back yet; one came by itself */
    assert_int_equal(r->rounds, 1);
    assert_int_equal(r->measured, 6);
    assert_int_equal(r->pending, 1);
    expect_cell(d, 0, "round", "");
    expect_cell(d, 1, "round", "1");
    expect_cell(d, 1, "asked", "1");
    expect_cell(d, 6, "seq", "AAA");
    expect_cell(d, 6, "asked", "");

    lth_table *second = ask(d, 4, &proposals);
    assert_non_null(proposals);
    assert_non_null(lth_design_model(d));
    assert_int_equal(lth_model_rows(lth_design_model(d)), 6);
    expect_cell(d, 7, "asked", "2");
    for (size_t i = 0; i < 4; i++) {
        const lth_proposal *p = lth_proposal_at(proposals, i);
        char mean[32];
        lth__print_double(p->mean, mean);
        expect_cell(d, 7 + i, "mean", mean);
        assert_int_equal(lth_design_asked(d, i), p->row);
        size_t length;
        const char *text = lth_table_cell(pool, p->row, 1, &length);
        assert_memory_equal(text, lth_table_cell(second, i, 0, NULL), length);
        assert_memory_not_equal(text, lth_table_cell(first, 0, 0, NULL), length);
    }
    const lth_model *model = lth_design_model(d);
    lth_table *third = ask(d, 2, NULL);
    assert_ptr_equal(lth_design_model(d), model); /* nothing was told: no other fit */
    tell(d, second, 0, "");
    tell(d, third, 0, "");
    assert_int_equal(r->rounds, 3);
    assert_int_equal(r->measured, 12);
    size_t length;
    const char *best = lth_table_cell(lth_design_rows(d), r->best_row, 0, &length);
    assert_true(r->best == truth(best, length));

    lth_proposals_free(proposals);
    lth_table_free(first);
    lth_table_free(again);
    lth_table_free(second);
    lth_table_free(third);
    lth_design_free(d);
    lth_table_free(pool);
}

static void test_results_are_checked(void **state) {
    (void)state;
    lth_table *pool = candidates();
    lth_design *d = begin(NULL, NULL, pool, NULL);
    lth_table *first = ask(d, 3, NULL);
    tell(d, first, 0, "");
    refuse(d, "seq\ty\nCCC\t1\nCCA\tten\n", 3, "\"ten\" in column \"y\" is not a number");
    refuse(d, "seq\ty\nCCC\tnan\n", 2, "is not a number");
    refuse(d, "seq\tz\nCCC\t1\n", 1, "no column \"y\"");
    size_t length;
    const char *text = lth_table_cell(first, 1, 0, &length);
    char lines[64];
    snprintf(lines, sizeof lines, "seq\ty\nCCA\t1\n%.*s\t%.2f\n", (int)length, text,
             truth(text, length));
    refuse(d, lines, 3, "measured already, with the same value");
    lth_error err = {0};
    lth_table *results = support_table(ctx, lines);
    lth_design_allow_repeats(d, true);
    support_ok(lth_design_tell(d, results, &err), &err);
    assert_int_equal(lth_design_reported(d)->measured, 5);
    lth_table_free(results);
    /* Another value of the same row is a repeat in any case. */
    lth_design_allow_repeats(d, false);
    snprintf(lines, sizeof lines, "seq\ty\n%.*s\t-3\n", (int)length, text);
    results = support_table(ctx, lines);
    support_ok(lth_design_tell(d, results, &err), &err);
    assert_int_equal(lth_design_reported(d)->measured, 6);
    assert_int_equal(lth_design_forget(d, results, &err), LTH_EFORMAT);
    assert_non_null(strstr(err.message, "measured already"));
    lth_table_free(results);
    lth_table_free(first);
    lth_design_free(d);
    lth_table_free(pool);
}

static void test_low_values(void **state) {
    (void)state;
    lth_table *pool = candidates();
    lth_propose_options propose;
    lth_propose_options_init(&propose);
    propose.minimize = true;
    lth_design *d = begin(NULL, NULL, pool, &propose);
    lth_table *first = ask(d, 8, NULL);
    tell(d, first, 0, "AAA\t0\n");
    assert_true(lth_design_reported(d)->best == 0);
    assert_int_equal(lth_design_reported(d)->best_row, 8);
    assert_string_equal(lth_design_setting(d, "minimize"), "yes");
    lth_table_free(first);
    lth_design_free(d);
    lth_table_free(pool);
}

static void test_all_are_asked_for(void **state) {
    (void)state;
    lth_table *pool = support_table(ctx, "seq\nAAA\nAAC\nAAA\n"), *rows = NULL;
    lth_design *d = begin(NULL, NULL, pool, NULL);
    lth_error err = {0};
    support_ok(lth_design_ask(d, 9, &rows, NULL, &err), &err);
    assert_int_equal(lth_table_rows(rows), 2); /* one of them is there twice */
    assert_int_equal(lth_design_ask(d, 1, NULL, NULL, &err), LTH_EARG);
    assert_non_null(strstr(err.message, "nothing left"));
    assert_int_equal(lth_design_ask(d, 0, NULL, NULL, &err), LTH_EARG);
    lth_table_free(rows);
    lth_design_free(d);
    lth_table_free(pool);
}

static void test_labels(void **state) {
    (void)state;
    lth_table *pool = candidates();
    lth_design *d = begin(NULL, NULL, pool, NULL);
    lth_error err = {0};
    lth_table *results = support_table(ctx, "seq\ty\nAAA\tlow\nAAC\tlow\nTTT\thigh\nTTG\thigh\n");
    support_ok(lth_design_tell(d, results, &err), &err);
    lth_table_free(results);
    assert_true(isnan(lth_design_reported(d)->best));
    lth_proposals *proposals = NULL;
    lth_table_free(ask(d, 2, &proposals));
    assert_int_equal(lth_model_classes(lth_design_model(d)), 2);
    assert_non_null(lth_proposal_at(proposals, 0)->label);
    lth_proposals_free(proposals);
    lth_design_free(d);
    lth_table_free(pool);
}

static void test_what_does_not_go_together(void **state) {
    (void)state;
    lth_table *pool = candidates();
    const char *const taken = "mean", *const read = "seq", *own = "kernel=x";
    lth_gp_options gp = quick();
    lth_design *d = NULL;
    lth_error err = {0};
    lth_design_options options;
    lth_design_options_init(&options);
    options.kernel = "sites(seq)";
    options.targets = &target;
    options.target_count = 1;
    assert_int_equal(lth_design_create(ctx, NULL, &options, &d, &err), LTH_EARG); /* from what */
    options.pool = pool;
    assert_int_equal(lth_design_create(ctx, "some-folder", &options, &d, &err), LTH_EARG);
    options.space = "alphabet=ACGT, length=3";
    assert_int_equal(lth_design_create(ctx, NULL, &options, &d, &err), LTH_EARG); /* two */
    options.space = NULL;
    options.targets = &taken;
    assert_int_equal(lth_design_create(ctx, NULL, &options, &d, &err), LTH_EARG);
    options.targets = &read;
    assert_int_equal(lth_design_create(ctx, NULL, &options, &d, &err), LTH_EARG);
    options.targets = &target;
    options.kernel = "sites(other)";
    assert_int_equal(lth_design_create(ctx, NULL, &options, &d, &err), LTH_EFORMAT);
    options.kernel = "sites(seq";
    assert_int_equal(lth_design_create(ctx, NULL, &options, &d, &err), LTH_EFORMAT);
    options.kernel = "sites(seq)";
    options.settings = &own;
    options.setting_count = 1;
    assert_int_equal(lth_design_create(ctx, NULL, &options, &d, &err), LTH_EARG);
    options.setting_count = 0;
    gp.exposure = "hours";
    options.gp = &gp;
    assert_int_equal(lth_design_create(ctx, NULL, &options, &d, &err), LTH_EARG);
    assert_null(d);
    assert_int_not_equal(access("some-folder", F_OK), 0);
    lth_table_free(pool);
}

/* ---- In a folder ---- */

/* A campaign on disk after a round, with something pending. */
typedef struct disk {
    char folder[32], candidates[32];
} disk;

static void write_file(const char *path, const char *text) {
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static disk open_disk(void) {
    disk k = {.folder = "campaign-XXXXXX"};
    assert_non_null(mkdtemp(k.folder));
    snprintf(k.candidates, sizeof k.candidates, "%s.tsv", k.folder);
    char *lines = candidate_lines();
    write_file(k.candidates, lines);
    free(lines);
    return k;
}

static void name_file(const disk *k, const char *name, char out[64]) {
    snprintf(out, 64, "%s/%s", k->folder, name);
}

static void close_disk(const disk *k) {
    static const char *const names[] = {"design.tsv", "rows.tsv", "model", "lock"};
    char path[64];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        name_file(k, names[i], path);
        unlink(path);
    }
    assert_int_equal(rmdir(k->folder), 0); /* nothing half-written is left */
    unlink(k->candidates);
}

static void play_a_round(const disk *k) {
    lth_propose_options propose;
    lth_propose_options_init(&propose);
    propose.acquisition = LTH_ACQUIRE_UCB;
    propose.beta = 0.3;
    lth_design *d = begin(k->folder, k->candidates, NULL, &propose);
    lth_table *first = ask(d, 6, NULL);
    tell(d, first, 0, "");
    lth_table_free(first);
    lth_table_free(ask(d, 3, NULL));
    lth_design_free(d);
}

static lth_design *reopen(const disk *k) {
    lth_design *d = NULL;
    lth_error err = {0};
    support_ok(lth_design_open(ctx, k->folder, &d, &err), &err);
    return d;
}

static void check_same_rows(const lth_design *a, const lth_design *b) {
    const lth_table *s = lth_design_rows(a), *t = lth_design_rows(b);
    assert_int_equal(lth_table_rows(s), lth_table_rows(t));
    assert_int_equal(lth_table_columns(s), lth_table_columns(t));
    for (size_t i = 0; i < lth_table_rows(s); i++) {
        for (size_t j = 0; j < lth_table_columns(s); j++) {
            size_t m, n;
            const char *x = lth_table_cell(s, i, j, &m), *y = lth_table_cell(t, i, j, &n);
            assert_int_equal(m, n);
            assert_memory_equal(x, y, m);
        }
    }
}

static void test_survives(void **state) {
    (void)state;
    disk k = open_disk();
    play_a_round(&k);
    lth_design *a = reopen(&k), *b = reopen(&k);
    assert_string_equal(lth_design_setting(a, "acquisition"), "ucb");
    assert_string_equal(lth_design_setting(a, "beta"), "0.3");
    assert_string_equal(lth_design_setting(a, "restarts"), "0");
    assert_int_equal(lth_design_reported(a)->measured, 6);
    assert_int_equal(lth_design_reported(a)->pending, 3);
    assert_non_null(lth_design_model(a));
    /* Two that have it open tell one after the other, and both count. */
    lth_table *one = support_table(ctx, "seq\ty\nAAA\t0.5\n"), *two = NULL;
    lth_error err = {0};
    support_ok(lth_design_tell(a, one, &err), &err);
    two = support_table(ctx, "seq\ty\nTTT\t9.5\n");
    support_ok(lth_design_tell(b, two, &err), &err);
    assert_int_equal(lth_design_reported(b)->measured, 8);
    assert_int_equal(lth_design_reported(b)->rounds, 3);
    lth_design *c = reopen(&k);
    check_same_rows(b, c);
    lth_table_free(ask(a, 2, NULL)); /* sees what the other was told */
    assert_int_equal(lth_model_rows(lth_design_model(a)), 8);
    lth_table_free(one);
    lth_table_free(two);
    lth_design_free(a);
    lth_design_free(b);
    lth_design_free(c);
    close_disk(&k);
}

/* Asking in one breath, and with a restart before each step, comes to the same. */
static void test_restarts_change_nothing(void **state) {
    (void)state;
    disk k = open_disk(), other = open_disk();
    lth_design *whole = begin(k.folder, k.candidates, NULL, NULL);
    lth_design_free(begin(other.folder, other.candidates, NULL, NULL));
    for (size_t round = 0; round < 3; round++) {
        lth_table *asked = ask(whole, 5, NULL);
        tell(whole, asked, 0, "");
        lth_table_free(asked);
        lth_design *d = reopen(&other);
        asked = ask(d, 5, NULL);
        lth_design_free(d);
        d = reopen(&other);
        tell(d, asked, 0, "");
        check_same_rows(whole, d);
        lth_design_free(d);
        lth_table_free(asked);
    }
    lth_design_free(whole);
    close_disk(&k);
    close_disk(&other);
}

static void expect_open_fails(const disk *k, lth_status status, const char *file, size_t line,
                              const char *message) {
    lth_design *d = NULL;
    lth_error err = {0};
    assert_int_equal(lth_design_open(ctx, k->folder, &d, &err), status);
    assert_null(d);
    assert_non_null(strstr(err.file, file));
    assert_int_equal(err.line, line);
    if (!strstr(err.message, message)) fail_msg("\"%s\" is not in \"%s\"", message, err.message);
}

static void test_lost_and_damaged(void **state) {
    (void)state;
    disk k = open_disk();
    char rows[64], design[64], model[64];
    name_file(&k, "rows.tsv", rows);
    name_file(&k, "design.tsv", design);
    name_file(&k, "model", model);
    play_a_round(&k);
    support_bytes whole = support_slurp(rows), settings = support_slurp(design);
    whole.data[whole.size] = settings.data[settings.size] = 0;

    /* Cut anywhere, it is read as fewer rows or refused, but nothing worse. */
    for (size_t cut = 0; cut < whole.size; cut += 7) {
        unsigned char kept = whole.data[cut];
        whole.data[cut] = 0;
        write_file(rows, (char *)whole.data);
        whole.data[cut] = kept;
        lth_design *d = NULL;
        lth_error err = {0};
        if (lth_design_open(ctx, k.folder, &d, &err) != LTH_OK)
            assert_non_null(strstr(err.file, "rows.tsv"));
        lth_design_free(d);
    }
    write_file(rows, "seq\ty\tround\tasked\tmean\tsd\tacquisition\nAAA\t1\tone\t1\t\t\t\n");
    expect_open_fails(&k, LTH_EFORMAT, "rows.tsv", 2, "\"round\" is wrong");
    write_file(rows, "seq\ty\tround\tasked\tmean\tsd\tacquisition\nAAA\t\t1\t1\t\t\t\n");
    expect_open_fails(&k, LTH_EFORMAT, "rows.tsv", 2, "\"y\" is wrong");
    unlink(rows);
    expect_open_fails(&k, LTH_EIO, "rows.tsv", 0, "what was measured is lost");
    write_file(rows, (char *)whole.data);

    write_file(model, "no model");
    lth_design *d = reopen(&k);
    assert_null(lth_design_model(d)); /* is fitted again */
    lth_table_free(ask(d, 2, NULL));
    assert_non_null(lth_design_model(d));
    lth_design_free(d);

    write_file(design, "setting\tvalue\nversion\t1\nkernel\tsites(seq)\ntarget\ty\nbeta\tbig\n");
    expect_open_fails(&k, LTH_EFORMAT, "design.tsv", 5, "\"beta\" cannot be \"big\"");
    write_file(design, "setting\tvalue\nversion\t7\n");
    expect_open_fails(&k, LTH_EUNSUPPORTED, "design.tsv", 2, "newer");
    write_file(design, "setting\tvalue\nversion\t1\nkernel\tsites(seq)\n");
    expect_open_fails(&k, LTH_EFORMAT, "design.tsv", 0, "\"target\"");
    unlink(design);
    expect_open_fails(&k, LTH_EIO, "design.tsv", 0, "no campaign was begun");
    write_file(design, (char *)settings.data);
    unlink(k.candidates);
    d = reopen(&k);
    lth_error err = {0};
    assert_int_not_equal(lth_design_ask(d, 2, NULL, NULL, &err), LTH_OK);
    assert_non_null(strstr(err.file, k.candidates));
    lth_design_free(d);
    free(whole.data);
    free(settings.data);
    close_disk(&k);
}

static void test_folder_is_taken(void **state) {
    (void)state;
    disk k = open_disk();
    play_a_round(&k);
    lth_design_options options;
    lth_design_options_init(&options);
    options.kernel = "sites(seq)";
    options.targets = &target;
    options.target_count = 1;
    options.candidates = k.candidates;
    lth_design *d = NULL;
    lth_error err = {0};
    assert_int_equal(lth_design_create(ctx, k.folder, &options, &d, &err), LTH_EARG);
    assert_non_null(strstr(err.message, "not empty"));
    lth_design_free(reopen(&k)); /* and it is as it was */
    close_disk(&k);
}

/* ---- Memory ---- */

static lth_status use_all(void *user, lth_error *err) {
    const disk *k = user;
    lth_table *rows = NULL;
    lth_proposals *proposals = NULL;
    lth_design *d = NULL;
    lth_status status = lth_design_open(ctx, k->folder, &d, err);
    if (status == LTH_OK) status = lth_design_ask(d, 2, &rows, &proposals, err);
    if (status == LTH_OK) status = lth_design_forget(d, rows, err);
    if (status != LTH_OK && rows) assert_int_equal(lth_design_forget(d, rows, NULL), LTH_OK);
    lth_proposals_free(proposals);
    lth_table_free(rows);
    lth_design_free(d);
    return status;
}

static lth_status use_in_memory(void *user, lth_error *err) {
    static const double y[] = {1, 2, 4}; /* the table borrows them */
    const lth_table *pool = user;
    lth_gp_options gp = quick();
    gp.learn = false;
    lth_design_options options;
    lth_design_options_init(&options);
    options.kernel = "sites(seq)";
    options.targets = &target;
    options.target_count = 1;
    options.pool = pool;
    options.gp = &gp;
    lth_design *d = NULL;
    lth_table *rows = NULL, *results = NULL;
    lth_status status = lth_design_create(ctx, NULL, &options, &d, err);
    if (status == LTH_OK) status = lth_design_ask(d, 3, &rows, NULL, err);
    if (status == LTH_OK) {
        const char *texts[3];
        size_t lengths[3];
        for (size_t i = 0; i < 3; i++) texts[i] = lth_table_cell(rows, i, 0, &lengths[i]);
        lth_column columns[] = {{.name = "seq", .text = texts, .length = lengths},
                                {.name = "y", .numbers = y}};
        status = lth_table_from_columns(ctx, columns, sizeof *columns, 2, 3, &results, err);
    }
    if (status == LTH_OK) status = lth_design_tell(d, results, err);
    if (status == LTH_OK) status = lth_design_ask(d, 2, NULL, NULL, err);
    lth_table_free(rows);
    lth_table_free(results);
    lth_design_free(d);
    return status;
}

static void test_each_allocation_fails(void **state) {
    (void)state;
    lth_table *pool = candidates();
    fail_each(use_in_memory, pool, true, 30);
    lth_table_free(pool);
    disk k = open_disk();
    play_a_round(&k);
    fail_each(use_all, &k, true, 30);
    lth_design *d = reopen(&k); /* whatever failed, the rows are whole */
    assert_int_equal(lth_design_reported(d)->measured, 6);
    lth_design_free(d);
    close_disk(&k);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rounds),
        cmocka_unit_test(test_results_are_checked),
        cmocka_unit_test(test_low_values),
        cmocka_unit_test(test_all_are_asked_for),
        cmocka_unit_test(test_labels),
        cmocka_unit_test(test_what_does_not_go_together),
        cmocka_unit_test(test_survives),
        cmocka_unit_test(test_restarts_change_nothing),
        cmocka_unit_test(test_lost_and_damaged),
        cmocka_unit_test(test_folder_is_taken),
        cmocka_unit_test(test_each_allocation_fails),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
