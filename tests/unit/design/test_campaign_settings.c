/* Settings of campaigns: what is kept of options, on disk and off, what is refused of both; and
 * telling where rows go together, or not. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "failing_allocator.h"
#include "gp_support.h"
#include "scratch.h"

static lth_ctx *ctx;
static lth_table *pool;

static const char candidates[] = "seq\tprice\nAAA\t1\nAAC\t2\nACA\t1\nACC\t2\nCAA\t1\nCAC\t2\n";
static const char *const target = "y", *const two[] = {"y", "z"};

static void write_file(const char *path, const char *text) {
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static int open_all(void **state) {
    if (scratch_open(state) != 0) return -1;
    ctx = support_context(1);
    pool = support_table(ctx, candidates);
    write_file("pool.tsv", candidates);
    return 0;
}

static int close_all(void **state) {
    lth_table_free(pool);
    lth_ctx_free(ctx);
    unlink("pool.tsv");
    return scratch_close(state);
}

static lth_design_options options_of(const lth_propose_options *propose, const lth_gp_options *gp) {
    lth_design_options o;
    lth_design_options_init(&o);
    o.kernel = "sites(seq)";
    o.targets = &target;
    o.target_count = 1;
    o.pool = pool;
    o.propose = propose;
    o.gp = gp;
    return o;
}

static lth_design *create(const char *folder, const lth_design_options *o) {
    lth_design *d = NULL;
    lth_error err = {0};
    support_ok(lth_design_create(ctx, folder, o, &d, &err), &err);
    return d;
}

static void remove_campaign(const char *folder) {
    static const char *const names[] = {"design.tsv", "rows.tsv", "model", "lock"};
    char path[64];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    assert_int_equal(rmdir(folder), 0);
}

/* ---- Kept ---- */

static const char *const kept[][2] = {{"version", "1"},
                                      {"kernel", "sites(seq)"},
                                      {"target", "y"},
                                      {"acquisition", "ei"},
                                      {"minimize", "yes"},
                                      {"objective", "y"},
                                      {"objective-weight", "0.5"},
                                      {"feasible-least", "-1"},
                                      {"cost", "price"},
                                      {"distance", "2"},
                                      {"draws", "64"},
                                      {"evaluations", "100"},
                                      {"learn", "no"},
                                      {"noise", "0.25"},
                                      {"prior", "noise=1,2"},
                                      {"posterior", "exact"},
                                      {"likelihood", "censored"},
                                      {"upper", "7"},
                                      {"task", "regression"},
                                      {"point", "median"},
                                      {"lab", "42"}};

static void expect_kept(const lth_design *d) {
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        const char *value = lth_design_setting(d, kept[i][0]);
        if (!value || strcmp(value, kept[i][1]) != 0)
            fail_msg("%s is %s, not %s", kept[i][0], value ? value : "missing", kept[i][1]);
    }
    assert_null(lth_design_setting(d, "batch")); /* as it is without a word */
    assert_null(lth_design_setting(d, "beta"));
    assert_null(lth_design_setting(d, "space"));
    assert_string_equal(lth_design_target(d, 0), "y");
    assert_null(lth_design_target(d, 1));
}

/* Many options at once; from a file, with a folder, or from memory. */
typedef struct many {
    lth_propose_options propose;
    lth_search_options search;
    lth_gp_options gp;
    lth_design_options options;
} many;

static void fill(many *m, bool on_disk) {
    static const char *const objectives[] = {"y"}, *const priors[] = {"noise=1,2"},
                             *const own[] = {"lab=42"};
    static const double weights[] = {0.5};
    lth_propose_options_init(&m->propose);
    lth_search_options_init(&m->search);
    lth_gp_options_init(&m->gp);
    m->propose.acquisition = LTH_ACQUIRE_EI;
    m->propose.minimize = true;
    m->propose.objectives = objectives;
    m->propose.objective_count = 1;
    m->propose.weights = weights;
    m->propose.feasible_least = -1;
    m->propose.cost = "price";
    m->propose.distance = 2;
    m->propose.draws = 64;
    m->search.evaluations = 100;
    m->gp.learn = false;
    m->gp.noise = 0.25;
    m->gp.prior = priors;
    m->gp.prior_count = 1;
    m->gp.posterior = LTH_POSTERIOR_EXACT;
    m->gp.likelihood = LTH_CENSORED;
    m->gp.upper = 7;
    m->gp.task = LTH_TASK_REGRESSION;
    m->gp.point = LTH_POINT_MEDIAN;
    m->options = options_of(&m->propose, &m->gp);
    m->options.search = &m->search;
    m->options.settings = own;
    m->options.setting_count = 1;
    if (!on_disk) return;
    m->options.pool = NULL;
    m->options.candidates = "pool.tsv";
}

static void test_kept(void **state) {
    (void)state;
    many m;
    lth_error err = {0};
    fill(&m, false);
    lth_design *d = create(NULL, &m.options);
    expect_kept(d);
    assert_ptr_equal(lth_design_candidates(d), pool);
    lth_design_free(d);
    fill(&m, true);
    d = create("kept", &m.options);
    expect_kept(d);
    lth_design_free(d);
    support_ok(lth_design_open(ctx, "kept", &d, &err), &err);
    expect_kept(d);
    assert_non_null(strstr(lth_design_setting(d, "from"), "/pool.tsv"));
    assert_null(lth_design_candidates(d)); /* they were not asked for yet */
    lth_design_free(d);
    remove_campaign("kept");
}

/* ---- Refused ---- */

static void refuse(const lth_design_options *o, lth_status status, const char *message) {
    lth_design *d = NULL;
    lth_error err = {0};
    assert_int_equal(lth_design_create(ctx, NULL, o, &d, &err), status);
    assert_null(d);
    assert_string_equal(err.message, message);
}

static void test_options_are_checked(void **state) {
    (void)state;
    lth_propose_options propose;
    lth_gp_options gp;
    lth_propose_options_init(&propose);
    lth_gp_options_init(&gp);
    lth_design_options o = options_of(&propose, &gp);
    o.kernel = NULL;
    refuse(&o, LTH_EARG, "a campaign needs a kernel");
    o = options_of(&propose, &gp);
    o.target_count = 0;
    refuse(&o, LTH_EARG, "a campaign needs the setting \"target\"");
    o = options_of(&propose, &gp);
    o.pool = NULL;
    refuse(&o, LTH_EARG, "a campaign needs a space or candidates");
    o.candidates = "none.tsv";
    refuse(&o, LTH_EIO, "cannot open: No such file or directory");
    static const char *const wrong[][2] = {
        {"lab", "the setting \"lab\" is not NAME=VALUE"},
        {"=42", "the setting \"=42\" is not NAME=VALUE"},
        {"seed=1", "the setting \"seed\" is the campaign's own"},
        {"beta=1", "the setting \"beta\" is the campaign's own"},
        {"lab=4\t2", "the setting \"lab\" has a tab or a line break"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        o = options_of(&propose, &gp);
        o.settings = wrong[i];
        o.setting_count = 1;
        refuse(&o, LTH_EARG, wrong[i][1]);
    }
    o = options_of(&propose, &gp);
    propose.batch = (lth_batch)99;
    refuse(&o, LTH_EARG, "batch: there is no choice 99");
    propose.batch = (lth_batch)-1;
    refuse(&o, LTH_EARG, "batch: there is no choice -1");
    propose.batch = LTH_BATCH_AUTO;
    gp.vectors = "none.txt";
    refuse(&o, LTH_EIO, "cannot open: No such file or directory");
}

static void test_no_such_columns(void **state) {
    (void)state;
    lth_gp_options gp[6];
    static const char *const names[] = {"noise_by", "weights", "exposure",
                                        "gram",     "journal", "keep_vectors"};
    for (size_t i = 0; i < 6; i++) lth_gp_options_init(&gp[i]);
    gp[0].noise_by = gp[1].weights = gp[2].exposure = gp[3].gram = gp[4].journal = "price";
    gp[5].keep_vectors = LTH_KEEP_ALL;
    for (size_t i = 0; i < 6; i++) {
        char message[80];
        snprintf(message, sizeof message, "a campaign does not go with %s of lth_gp_options",
                 names[i]);
        lth_design_options o = options_of(NULL, &gp[i]);
        refuse(&o, LTH_EARG, message);
    }
}

static void test_sources(void **state) {
    (void)state;
    lth_propose_options propose;
    lth_propose_options_init(&propose);
    lth_design_options o = options_of(&propose, NULL);
    static const char *const same[] = {"y", "y"};
    o.targets = same;
    o.target_count = 2;
    refuse(&o, LTH_EARG, "the target \"y\" is named twice");
    o = options_of(&propose, NULL);
    o.pool = NULL;
    o.space = "alphabet=AC, length=3";
    o.kernel = "sites(seq) + linear(price)";
    refuse(&o, LTH_EARG, "a space is for kernels of one column, and this one reads 2");
    o.kernel = "sites(seq)";
    propose.cost = "price";
    refuse(&o, LTH_EARG, "costs are a column of candidates; a space has none");
}

static void refuse_file(const char *line, lth_status status, size_t at, const char *message) {
    char text[256];
    lth_design *d = NULL;
    lth_error err = {0};
    snprintf(text, sizeof text,
             "setting\tvalue\nversion\t1\nkernel\tsites(seq)\ntarget\ty\nfrom\tpool.tsv\n%s\n",
             line);
    write_file("damaged/design.tsv", text);
    assert_int_equal(lth_design_open(ctx, "damaged", &d, &err), status);
    assert_null(d);
    assert_string_equal(err.message, message);
    assert_int_equal(err.line, at);
}

static void test_files_are_checked(void **state) {
    (void)state;
    many m;
    fill(&m, true);
    lth_design_free(create("damaged", &m.options));
    static const char *const values[] = {"shortlist", "-1",   "shortlist", "many", "learn",
                                         "maybe",     "beta", "big",       "seed", "",
                                         "fitted",    "x",    "batch",     "none"};
    for (size_t i = 0; i < sizeof values / sizeof *values; i += 2) {
        char line[64], message[96];
        snprintf(line, sizeof line, "%s\t%s", values[i], values[i + 1]);
        snprintf(message, sizeof message, "the setting \"%s\" cannot be \"%s\"", values[i],
                 values[i + 1]);
        refuse_file(line, LTH_EFORMAT, 6, message);
    }
    refuse_file("objective-weight\tlow", LTH_EFORMAT, 6,
                "the setting \"objective-weight\" cannot be \"low\"");
    refuse_file("objective-weight\t1\nobjective-weight\t2", LTH_EFORMAT, 0,
                "there are 2 weights for 1 objectives");
    refuse_file("version\tlater", LTH_EUNSUPPORTED, 6, "this campaign is of a newer luthier");
    refuse_file("version\t2", LTH_EUNSUPPORTED, 6, "this campaign is of a newer luthier");
    remove_campaign("damaged");
}

/* ---- Telling ---- */

static lth_status tell(lth_design *d, const char *lines, lth_error *err) {
    lth_table *results = support_table(ctx, lines);
    lth_status status = lth_design_tell(d, results, err);
    lth_table_free(results);
    return status;
}

static void expect_cell(const lth_design *d, size_t row, const char *column, const char *text) {
    const lth_table *rows = lth_design_rows(d);
    size_t length;
    const char *cell = lth_table_cell(rows, row, lth_table_find(rows, column), &length);
    if (length != strlen(text) || memcmp(cell, text, length) != 0)
        fail_msg("%s of row %zu is \"%.*s\", not \"%s\"", column, row, (int)length, cell, text);
}

/* With coregion one target is enough; the other may come later. */
static void test_targets_come_apart(void **state) {
    (void)state;
    lth_gp_options gp;
    lth_gp_options_init(&gp);
    gp.coregion = 1;
    lth_design_options o = options_of(NULL, &gp);
    o.targets = two;
    o.target_count = 2;
    lth_design *d = create(NULL, &o);
    lth_error err = {0};
    support_ok(tell(d, "seq\ty\tz\nAAA\t 1 \t\nCAC\t\t\n", &err), &err);
    assert_int_equal(lth_design_reported(d)->measured, 1); /* nothing came of the other */
    expect_cell(d, 0, "y", "1");
    expect_cell(d, 0, "z", "");
    lth_design_free(d);
    gp.coregion = 0;
    d = create(NULL, &o);
    assert_int_equal(tell(d, "seq\ty\tz\nAAA\t1\t\n", &err), LTH_EFORMAT);
    assert_string_equal(err.message, "column \"z\" is empty, of a row that was not asked for");
    assert_int_equal(err.line, 2);
    /* Of one that was, what is there is kept until the rest comes. */
    lth_table *asked = NULL;
    support_ok(lth_design_ask(d, 6, &asked, NULL, &err), &err);
    support_ok(tell(d, "seq\ty\tz\nAAA\t1\t\n", &err), &err);
    assert_int_equal(lth_design_reported(d)->pending, 6);
    support_ok(tell(d, "seq\ty\tz\nAAA\t\t2\n", &err), &err);
    assert_int_equal(lth_design_reported(d)->pending, 5);
    assert_int_equal(lth_design_reported(d)->measured, 1);
    assert_int_equal(lth_design_forget(d, asked, &err), LTH_EFORMAT);
    assert_string_equal(err.message, "this row is not pending: it is measured already");
    lth_table_free(asked);
    asked = support_table(ctx, "seq\nTTT\n");
    assert_int_equal(lth_design_forget(d, asked, &err), LTH_EFORMAT);
    assert_string_equal(err.message, "this row is not pending");
    lth_table_free(asked);
    lth_design_free(d);
}

/* Rows that are asked for twice wait twice. */
static void test_repeats_are_told_one_by_one(void **state) {
    (void)state;
    lth_propose_options propose;
    lth_propose_options_init(&propose);
    propose.repeats = true;
    lth_gp_options gp;
    lth_gp_options_init(&gp);
    gp.learn = false;
    lth_design_options o = options_of(&propose, &gp);
    lth_table *one = support_table(ctx, "seq\nAAA\n"), *rows = NULL;
    o.pool = one;
    lth_design *d = create(NULL, &o);
    lth_error err = {0};
    support_ok(tell(d, "seq\ty\nAAA\t1\nCCC\t2\n", &err), &err);
    for (int i = 0; i < 2; i++) {
        support_ok(lth_design_ask(d, 1, &rows, NULL, &err), &err);
        lth_table_free(rows);
    }
    assert_int_equal(lth_design_reported(d)->pending, 2);
    support_ok(tell(d, "seq\ty\nAAA\t1\n", &err), &err);
    assert_int_equal(lth_design_reported(d)->pending, 1);
    support_ok(tell(d, "seq\ty\nAAA\t1.5\n", &err), &err);
    assert_int_equal(lth_design_reported(d)->pending, 0);
    support_ok(tell(d, "seq\ty\nAAA\t1\n", &err), &err); /* as set */
    assert_int_equal(lth_design_reported(d)->measured, 5);
    lth_design_free(d);
    lth_table_free(one);
}

/* Each table is right by itself. */
static void test_rows_go_together(void **state) {
    (void)state;
    lth_design_options o = options_of(NULL, NULL);
    lth_design *d = create(NULL, &o);
    lth_error err = {0};
    support_ok(tell(d, "seq\ty\nAAA\t1\nAAC\t2\n", &err), &err);
    assert_int_equal(tell(d, "seq\ty\nAACA\t1\nACCC\t1\n", &err), LTH_EFORMAT);
    assert_true(err.line > 1);
    assert_non_null(strstr(err.message, "4"));
    assert_int_equal(lth_design_reported(d)->measured, 2);
    lth_design_free(d);
}

/* ---- Memory ---- */

typedef struct use {
    const char *folder;
    const lth_table *results;
} use;

static lth_status use_all(void *user, lth_error *err) {
    const use *u = user;
    many m;
    fill(&m, u->folder != NULL);
    m.propose.distance = 1; /* there are few candidates */
    lth_gp_options fixed;
    lth_gp_options_init(&fixed);
    fixed.learn = fixed.calibrate = false;
    if (!u->folder) m.options = options_of(NULL, &fixed);
    lth_design *d = NULL;
    lth_table *rows = NULL;
    lth_status status = lth_design_create(ctx, u->folder, &m.options, &d, err);
    if (status == LTH_OK) status = lth_design_ask(d, 2, &rows, NULL, err);
    if (status == LTH_OK) status = lth_design_forget(d, rows, err);
    if (status == LTH_OK) status = lth_design_tell(d, u->results, err);
    lth_table_free(rows);
    rows = NULL;
    if (status == LTH_OK) status = lth_design_ask(d, 2, &rows, NULL, err);
    lth_table_free(rows);
    lth_design_free(d);
    if (u->folder && access(u->folder, F_OK) == 0) remove_campaign(u->folder);
    return status;
}

static void test_each_place_fails(void **state) {
    (void)state;
    lth_table *numbers = support_table(ctx, "seq\ty\nAAA\t1\nCCC\t2\nAAC\t0.5\n");
    lth_table *labels = support_table(ctx, "seq\ty\nAAA\tlow\nCCC\thigh\nAAC\tlow\n");
    fail_each(use_all, &(use){NULL, labels}, true, 50);
    fail_each(use_all, &(use){"failing", numbers}, true, 100);
    lth_table_free(numbers);
    lth_table_free(labels);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kept),
        cmocka_unit_test(test_options_are_checked),
        cmocka_unit_test(test_no_such_columns),
        cmocka_unit_test(test_sources),
        cmocka_unit_test(test_files_are_checked),
        cmocka_unit_test(test_targets_come_apart),
        cmocka_unit_test(test_repeats_are_told_one_by_one),
        cmocka_unit_test(test_rows_go_together),
        cmocka_unit_test(test_each_place_fails),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
