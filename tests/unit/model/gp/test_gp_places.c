/* Gaussian processes of many kinds, learned, written, read and asked for all that they can say,
 * where memory fails or it is canceled in each place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "failing_allocator.h"
#include "gp_support.h"

static lth_ctx *ctx;
static lth_table *table;

static const char lines[] = "text\ttree\tf\tg\ty\tz\tkind\tgrade\tcount\n"
                            "ACDE\t(S (A a) (B b))\t1\t0\t0.5\t1\tx\t0\t3\n"
                            "CDAA\t(S (B b))\t2\t1\t1.5\t2\ty\t1\t0\n"
                            "ACCA\t(S (A b))\t3\t0\t2.5\t1\tx\t2\t7\n"
                            "EEDA\t(S (A a) (B a))\t2\t2\t0.7\t4\tz\t1\t1\n"
                            "DDCA\t(S (B a))\t1\t1\t3.5\t3\ty\t0\t2\n";
enum { ROWS = 5, CLASSES = 3 };

static int open_all(void **state) {
    (void)state;
    ctx = support_context(1);
    table = support_table(ctx, lines);
    return 0;
}

static int close_all(void **state) {
    (void)state;
    lth_table_free(table);
    lth_ctx_free(ctx);
    return 0;
}

static struct {
    char bytes[1 << 16];
    size_t size;
} file;

static int append(void *user, const void *bytes, size_t size) {
    (void)user;
    if (size > sizeof file.bytes - file.size) return 1;
    memcpy(file.bytes + file.size, bytes, size);
    file.size += size;
    return 0;
}

typedef struct job {
    const char *kernel, *targets[2];
    size_t count;
    lth_gp_options options;
} job;

static lth_status explain(const lth_gp *gp, lth_error *err) {
    lth_reasons *r = NULL;
    lth_status status = lth_gp_explain(gp, table, 1, NULL, &r, err);
    lth_reasons_free(r);
    return status;
}

static lth_status find_trend(const lth_gp *gp, lth_error *err) {
    lth_trend *trend = NULL;
    lth_status status = lth_gp_trend(gp, 0, &trend, err);
    lth_trend_free(trend);
    return status;
}

/* What models of numbers say. */
static lth_status ask_numbers(const lth_gp *gp, const job *j, lth_error *err) {
    double mean[2 * ROWS], sd[2 * ROWS], median[2 * ROWS], y[2 * ROWS], cov[2 * ROWS * ROWS];
    double evidence, gradient[64];
    size_t params = 0;
    while (lth_gp_param_at(gp, params)) params++;
    const lth_gp_prediction all = {.mean = mean, .sd = sd, .median = median};
    lth_status status = lth_gp_predict_all(gp, table, &all, sizeof all, err);
    if (status == LTH_OK) status = lth_gp_left_out(gp, 0, y, &all, sizeof all, err);
    if (status == LTH_OK && j->options.average == 0)
        status = lth_gp_evidence(gp, NULL, params, &evidence, gradient, err);
    if (status == LTH_OK) status = lth_gp_predict_joint(gp, table, mean, cov, err);
    if (status == LTH_OK && j->options.mean) status = find_trend(gp, err);
    return status;
}

static lth_status use(void *user, lth_error *err) {
    const job *j = user;
    lth_gp *gp = NULL, *read = NULL;
    double probability[ROWS * CLASSES];
    file.size = 0;
    lth_status status =
        lth_gp_fit(ctx, j->kernel, table, j->targets, j->count, &j->options, &gp, err);
    if (status == LTH_OK) status = lth_gp_save_to(gp, append, NULL, err);
    if (status == LTH_OK) status = lth_gp_load_from(ctx, file.bytes, file.size, &read, err);
    if (status == LTH_OK)
        status = lth_gp_classes(read) > 0 ? lth_gp_classify(read, table, probability, err)
                                          : ask_numbers(read, j, err);
    if (status == LTH_OK) status = explain(read, err);
    lth_gp_free(gp);
    lth_gp_free(read);
    return status;
}

static job job_of(const char *kernel, const char *target) {
    job j = {.kernel = kernel, .targets = {target}, .count = 1};
    lth_gp_options_init(&j.options);
    j.options.max_iter = 1;
    j.options.restarts = 0;
    return j;
}

static void fail_job(job j) {
    fail_each(use, &j, true, 100);
}

static void test_kernels(void **state) {
    (void)state;
    fail_job(job_of("wd(text, order=2) + normalize(gkm(text, l=2, k=1)) + la(text)", "y"));
    fail_job(job_of("sites(text) * oligo(text) + rbf(mismatch(text, k=2))", "y"));
    fail_job(job_of("ptk(tree) + stk(tree) * linear(f)", "y"));
    fail_job(job_of("coregion(kind, rank=1) * rbf(f) + tfidf(text, units=words)", "y"));
}

static void test_likelihoods(void **state) {
    (void)state;
    job j = job_of("sites(text)", "grade");
    j.options.likelihood = LTH_ORDINAL;
    fail_job(j);
    j = job_of("sites(text)", "y");
    j.options.likelihood = LTH_CENSORED;
    j.options.upper = 3.5;
    fail_job(j);
    j = job_of("sites(text)", "count");
    j.options.likelihood = LTH_POISSON;
    j.options.exposure = "f";
    fail_job(j);
    j = job_of("sites(text) + linear(f)", "kind");
    j.options.likelihood = LTH_SOFTMAX;
    fail_job(j);
}

static void test_structures(void **state) {
    (void)state;
    job j = job_of("sites(text)", "y");
    j.options.mean = "f + g";
    j.options.noise_by = "f";
    fail_job(j);
    j = job_of("sites(text)", "y");
    j.options.noise_kernel = "rbf(f)";
    fail_job(j);
    j = job_of("sites(text)", "y");
    j.targets[1] = "z";
    j.count = 2;
    j.options.coregion = 1;
    fail_job(j);
}

/* ---- Before anything is learned ---- */

static lth_status plan(void *user, lth_error *err) {
    const job *j = user;
    lth_gp_plan out;
    lth_status status = lth_gp_plan_fit(ctx, j->kernel, table, j->targets, j->count, &j->options,
                                        &out, sizeof out, err);
    if (status == LTH_ENUMERIC) err->status = status; /* the matrix it times always has a factor */
    return status;
}

static lth_status sample(void *user, lth_error *err) {
    const char *noise = user;
    lth_kernel *kernel = NULL;
    lth_encoder *encoder = NULL;
    lth_items *items = NULL;
    double y[2 * ROWS];
    lth_status status = lth_gp_kernel_with_noise(ctx, "sites(text)", NULL, noise, &kernel, err);
    if (status == LTH_OK) status = lth_kernel_resolve(&kernel, table, err);
    if (status == LTH_OK) status = lth_encoder_create(ctx, kernel, &encoder, err);
    if (status == LTH_OK) status = lth_encode(encoder, table, &items, err);
    if (status == LTH_OK) status = lth_gp_sample_as(kernel, items, NULL, 2, y, err);
    lth_items_free(items);
    lth_encoder_free(encoder);
    lth_kernel_free(kernel);
    return status;
}

static void test_before(void **state) {
    (void)state;
    job j = job_of("normalize(sites(text)) + rbf(f)", "y");
    fail_each(plan, &j, true, 10);
    j.options.posterior = LTH_POSTERIOR_INDUCING;
    j.options.inducing = 2;
    fail_each(plan, &j, true, 10);
    fail_each(sample, NULL, true, 10);
    fail_each(sample, (void *)(uintptr_t) "rbf(f)", true, 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernels),
        cmocka_unit_test(test_likelihoods),
        cmocka_unit_test(test_structures),
        cmocka_unit_test(test_before),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
