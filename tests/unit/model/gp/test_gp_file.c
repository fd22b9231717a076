/* Model files: a model comes back with every bit, and nothing is left of one that failed. */
#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/text.h"
#include "gp_support.h"
#include "hostile.h"
#include "model/gp/gp.h"

static lth_ctx *ctx;
static char folder[] = "test_gp_file.XXXXXX";

static int open_folder(void **state) {
    (void)state;
    if (!mkdtemp(folder) || chdir(folder) != 0) return -1;
    ctx = support_context(1);
    return 0;
}

static int close_folder(void **state) {
    (void)state;
    lth_ctx_free(ctx);
    return chdir("..") == 0 && rmdir(folder) == 0 ? 0 : -1; /* nothing was left behind */
}

/* ---- There and back -------------------------------------------------------------------------- */

static void compare_params(const lth_gp *a, const lth_gp *b) {
    size_t count = lth_kernel_params(lth_gp_kernel(a));
    assert_int_equal(lth_kernel_params(lth_gp_kernel(b)), count);
    for (size_t i = 0; i <= count; i++) {
        size_t at = i < count ? i : LTH_NONE;
        lth_gp_param p = *lth_gp_param_at(a, at), q = *lth_gp_param_at(b, at);
        assert_string_equal(p.path, q.path);
        assert_true(p.value == q.value && p.start == q.start);
        assert_true(p.held == q.held && p.at_bound == q.at_bound);
        assert_int_equal(p.tag == NULL, q.tag == NULL);
        if (p.tag) assert_string_equal(p.tag, q.tag);
    }
}

static void compare_reports(const lth_gp *a, const lth_gp *b) {
    lth_gp_report p = *lth_gp_reported(a), q = *lth_gp_reported(b);
    assert_true(p.rows == q.rows && p.iterations == q.iterations &&
                p.evaluations == q.evaluations && p.starts == q.starts && p.orders == q.orders);
    assert_true(p.evidence == q.evidence && p.noise == q.noise && p.jitter == q.jitter &&
                p.seconds == q.seconds);
    assert_true(p.converged == q.converged && p.interrupted == q.interrupted);
    assert_memory_equal(p.nu, q.nu, sizeof p.nu);
    assert_memory_equal(p.order_share, q.order_share, sizeof p.order_share);
    assert_true(p.loo->count == q.loo->count && p.loo->nlpd == q.loo->nlpd &&
                p.loo->mae == q.loo->mae && p.loo->rmse == q.loo->rmse && p.loo->r == q.loo->r &&
                p.loo->r2 == q.loo->r2 && p.loo->coverage == q.loo->coverage);
    assert_memory_equal(p.loo, q.loo, sizeof *p.loo);
}

static lth_gp *load(const char *path) {
    lth_error err = {0};
    lth_gp *gp = NULL;
    support_ok(lth_gp_load(ctx, path, &gp, &err), &err);
    return gp;
}

static void check_round_trip(const char *kernel, size_t targets) {
    lth_error err = {0};
    lth_table *train = support_rows(ctx, 0, 17), *test = support_rows(ctx, 30, 13),
              *odd = support_table(ctx, "text\tf1\tf2\nzig zag\t1\t2\n\t0\t0\ngood zig\t-1\t9\n");
    char *vectors = support_vectors();
    lth_gp_options options;
    lth_gp_options_init(&options);
    options.restarts = 0;
    options.max_iter = 3;
    options.vectors = vectors;
    lth_gp *gp = support_fit(ctx, kernel, train, targets, &options);
    /* Before and after it has seen other words. */
    for (int round = 0; round < 2; round++) {
        support_ok(lth_gp_save(gp, "model", &err), &err);
        lth_gp *copy = load("model");
        assert_int_equal(lth_gp_targets(copy), targets);
        for (size_t t = 0; t < targets; t++)
            assert_string_equal(lth_gp_target(copy, t), lth_gp_target(gp, t));
        compare_params(gp, copy);
        compare_reports(gp, copy);
        lth_table *const tables[] = {odd, test, train};
        for (size_t k = 0; k < 3; k++) {
            for (int latent = 0; latent < 2; latent++) {
                double *p = support_predict(gp, tables[k], latent),
                       *q = support_predict(copy, tables[k], latent);
                assert_memory_equal(p, q, 2 * targets * lth_table_rows(tables[k]) * sizeof *p);
                free(p);
                free(q);
            }
        }
        lth_gp_free(copy);
    }
    /* A copy of the copy is the same file. */
    lth_gp *copy = load("model");
    free(support_predict(copy, odd, false));
    support_ok(lth_gp_save(copy, "again", &err), &err);
    support_bytes first = support_slurp("model"), second = support_slurp("again");
    assert_int_equal(first.size, second.size);
    assert_memory_equal(first.data, second.data, first.size);
    free(first.data);
    free(second.data);
    unlink("model");
    unlink("again");
    lth_gp_free(copy);
    lth_gp_free(gp);
    support_remove(vectors);
    lth_table_free(train);
    lth_table_free(test);
    lth_table_free(odd);
}

static void round_trips(void **state) {
    (void)state;
    const char *const kernels[] = {
        "ssk(text, order=3)",
        "normalize(ssk(text, units=chars, order=3, gap=$l=0.4, match=$l))",
        "ssk(text, order=2, sim=dot)",
        "ssk(text, order=2, sim=cosine, oov=zero)",
        "normalize(ssk(text, order=2, sim=exp, oov=parts, temperature=0.5, rarity=0.01))",
        "normalize(ssk(text, order=2, sim=exp, rarity=0.1, ard=3, relevance=[0.5,2,1]))",
        "ssk(text, order=2, rarity=0.1, weights=[1!,0.5])",
        "ssk(text, order=1, sim=dot, oov=parts) + ssk(text, order=1, sim=dot, oov=zero)",
        "rbf(f1)",
        "rbf(f1..f2, ard=yes)",
        "linear(f1) + matern52(f2) * rq(f1..f2)",
        "rbf(tfidf(text))",
        "linear(ngrams(text)) + arccos(bow(text))",
        "rbf(mean(text)) + 0.5",
    };
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        check_round_trip(kernels[i], 1 + i % 3);
}

static void odd_names(void **state) {
    (void)state;
    lth_error err = {0};
    lth_table *table = support_table(ctx, "f 1\tsc\"ore\\\u00e9\n1\t2\n2\t5\n4\t4\n");
    const char *const name = "sc\"ore\\\u00e9";
    lth_gp *gp = NULL;
    support_ok(lth_gp_fit(ctx, "rbf(\"f 1\")", table, &name, 1, NULL, &gp, &err), &err);
    support_ok(lth_gp_save(gp, "model", &err), &err);
    lth_gp *copy = load("model");
    assert_string_equal(lth_gp_target(copy, 0), name);
    double *p = support_predict(gp, table, false), *q = support_predict(copy, table, false);
    assert_memory_equal(p, q, 6 * sizeof *p);
    free(p);
    free(q);
    lth_gp_free(gp);
    lth_gp_free(copy);
    lth_table_free(table);
    unlink("model");
}

/* Every text column has several arrays of its own. */
static void many_columns(void **state) {
    (void)state;
    enum { COLUMNS = 30 };
    lth_error err = {0};
    lth__string lines = {0}, kernel = {0};
    for (size_t c = 0; c < COLUMNS; c++) {
        lth__string_format(&lines, "t%zu\t", c);
        lth__string_format(&kernel, "%sssk(t%zu, order=1)", c > 0 ? " + " : "", c);
    }
    lth__string_format(&lines, "y\n");
    for (size_t r = 0; r < 3; r++) {
        for (size_t c = 0; c < COLUMNS; c++) lth__string_format(&lines, "w%zu\t", (r + c) % 4);
        lth__string_format(&lines, "%zu\n", r);
    }
    lth_table *table = support_table(ctx, lines.bytes);
    lth_gp_options options = support_fixed();
    lth_gp *gp = support_fit(ctx, kernel.bytes, table, 1, &options);
    support_ok(lth_gp_save(gp, "model", &err), &err);
    lth_gp *copy = load("model");
    double *p = support_predict(gp, table, false), *q = support_predict(copy, table, false);
    assert_memory_equal(p, q, 6 * sizeof *p);
    free(p);
    free(q);
    lth_gp_free(gp);
    lth_gp_free(copy);
    lth_table_free(table);
    lth__string_free(&lines);
    lth__string_free(&kernel);
    unlink("model");
}

/* A file of before has fewer leave-one-out figures. */
static void older_figures(void **state) {
    (void)state;
    lth_error err = {0};
    lth_table *table = support_rows(ctx, 0, 12);
    lth_gp_options options = support_fixed();
    lth_gp *gp = support_fit(ctx, "rbf(f1)", table, 1, &options);
    assert_true(isfinite(lth_gp_reported(gp)->loo->kendall));
    support_ok(lth_gp_save(gp, "model", &err), &err);
    hostile_write("model", &(hostile_change){"report.left_out", .drop = true});
    lth_gp *older = load("hostile");
    const lth_metrics *m = lth_gp_reported(older)->loo;
    assert_true(m->nlpd == lth_gp_reported(gp)->loo->nlpd && isnan(m->spearman) &&
                isnan(m->kendall) && isnan(m->ndcg) && isnan(m->recall) && isnan(m->crps) &&
                isnan(m->calibration) && isnan(m->qwk));
    hostile_refused(ctx, "model", &(hostile_change){"report.left_out", .shorter = true},
                    hostile_gp);
    lth_gp_free(gp);
    lth_gp_free(older);
    lth_table_free(table);
    unlink("model");
    unlink("hostile");
}

/* ---- Files that cannot be written -------------------------------------------------------------
 */

static size_t count_files(const char *path) {
    DIR *dir = opendir(path);
    assert_non_null(dir);
    size_t count = 0;
    for (struct dirent *entry; (entry = readdir(dir));) count += entry->d_name[0] != '.';
    closedir(dir);
    return count;
}

static void unwritable(void **state) {
    (void)state;
    lth_error err = {0};
    lth_table *table = support_table(ctx, "f1\ty\n1\t2\n2\t5\n");
    lth_gp_options options = support_fixed();
    lth_gp *gp = support_fit(ctx, "rbf(f1)", table, 1, &options);
    assert_int_equal(lth_gp_save(gp, "no/such/folder", &err), LTH_EIO);
    assert_int_equal(err.status, LTH_EIO);
    assert_true(strlen(err.message) > 0);
    assert_int_equal(count_files("."), 0);
    assert_int_equal(lth_gp_save(gp, ".", &err), LTH_EIO);
    assert_int_equal(lth_gp_save(gp, "", &err), LTH_EIO);
    assert_int_equal(count_files("."), 0);
    assert_int_equal(mkdir("taken", 0700), 0);
    assert_int_equal(lth_gp_save(gp, "taken", &err), LTH_EIO);
    assert_int_equal(count_files("."), 1);
    assert_int_equal(rmdir("taken"), 0);
    lth_gp_free(gp);
    lth_table_free(table);
}

/* A model of forty rows: more than a stream's buffer. */
static lth_gp *fit_large(void) {
    lth_table *table = support_rows(ctx, 0, 40);
    lth_gp_options options = support_fixed();
    lth_gp *gp = support_fit(ctx, "rbf(f1)", table, 1, &options);
    lth_table_free(table);
    return gp;
}

static void full_device(void **state) {
    (void)state;
    if (access("/dev/full", W_OK) != 0) skip();
    lth_error err = {0};
    lth_gp *gp = fit_large();
    assert_int_equal(lth_gp_save(gp, "/dev/full", &err), LTH_EIO);
    assert_non_null(strstr(err.message, "No space left"));
    assert_int_equal(symlink("/dev/full", "link"), 0);
    assert_int_equal(lth_gp_save(gp, "link", &err), LTH_EIO);
    assert_int_equal(access("/dev/full", W_OK), 0); /* it is still what it was */
    assert_int_equal(count_files("."), 1);
    unlink("link");
    lth_gp_free(gp);
}

/* A disk that is full after a few bytes: files may not grow beyond. */
static void full_disk(void **state) {
    (void)state;
    lth_error err = {0};
    lth_gp *gp = fit_large();
    support_ok(lth_gp_save(gp, "model", &err), &err);
    support_bytes before = support_slurp("model");
    struct rlimit usual;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &usual), 0);
    signal(SIGXFSZ, SIG_IGN);
    const size_t sizes[] = {0, 100, 5000, before.size - 1};
    for (size_t i = 0; i < 4; i++) {
        const struct rlimit few = {sizes[i], usual.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &few), 0);
        lth_status old = lth_gp_save(gp, "model", &err), new = lth_gp_save(gp, "new", &err);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &usual), 0);
        assert_int_equal(old, LTH_EIO);
        assert_int_equal(new, LTH_EIO);
        assert_string_equal(err.file, "new");
        assert_int_equal(count_files("."), 1); /* the first, as it was */
        support_bytes after = support_slurp("model");
        assert_int_equal(before.size, after.size);
        assert_memory_equal(before.data, after.data, before.size);
        free(after.data);
    }
    signal(SIGXFSZ, SIG_DFL);
    free(before.data);
    lth_gp_free(gp);
    unlink("model");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trips),  cmocka_unit_test(odd_names),
        cmocka_unit_test(many_columns), cmocka_unit_test(older_figures),
        cmocka_unit_test(unwritable),   cmocka_unit_test(full_device),
        cmocka_unit_test(full_disk),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
