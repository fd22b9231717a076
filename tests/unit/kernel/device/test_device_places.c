/* Matrices and models on the reference device: as a whole, in pieces where little memory is free,
 * and shared by several GPUs. They say what the CPU says; and in each place of the source memory
 * fails, it is canceled, and the GPU is lost. */
#include <libgen.h>
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
#include "problem_support.h"

static lth_ctx *cpu;
static lth_table *table;

enum { ROWS = 10, CLASSES = 3 };
static const char lines[] = "text\ttree\tseq\tf1\tf2\ty\tz\tkind\n"
                            "ab ab ba\t(S (A a) (B b))\tACDE\t1\t0\t0.5\t1\tx\n"
                            "ba a b\t(S (B b))\tCDAA\t2\t1\t1.5\t2\ty\n"
                            "ab b\t(S (A b))\tACCA\t3\t0\t2.5\t1\tx\n"
                            "a ba ba\t(S (A a) (B a))\tEEDA\t2\t2\t0.7\t4\tz\n"
                            "b b b\t(S (B a))\tDDCA\t1\t1\t3.5\t3\ty\n"
                            "ab ba b\t(S (A a) (C c))\tACDD\t0\t1\t0.1\t2\tz\n"
                            "a a\t(S (C c))\tCCAA\t2\t3\t1.1\t0\tx\n"
                            "ba ba a\t(S (A c))\tEECA\t3\t1\t2.2\t1\ty\n"
                            "b a\t(S (C a) (B a))\tEADA\t4\t2\t0.3\t3\tx\n"
                            "ab a b\t(S (B c))\tDDEA\t1\t4\t2.9\t2\tz\n";

/* Where a matrix may be: on one GPU, on one with less memory than it takes, on three such. */
typedef struct place {
    const char *device;
    size_t memory;
} place;
enum { LITTLE = 3 * ROWS * ROWS * sizeof(double) };
static const place places[] = {{"cuda", 0}, {"cuda", LITTLE}, {"cuda:0,1,2", LITTLE}};
enum { PLACES = sizeof places / sizeof *places };

static lth_ctx *open_place(const place *p, lth_error *err) {
    lth_ctx_options options;
    lth_ctx_options_init(&options);
    options.threads = 2;
    options.device = p->device;
    options.device_memory = p->memory;
    lth_ctx *ctx = NULL;
    return lth_ctx_create(&options, &ctx, err) == LTH_OK ? ctx : NULL;
}

/* The build puts the device beside the folder of the tests. */
static int open_all(void **state) {
    (void)state;
    char path[4096], plugin[4200];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length < 0) return 1;
    path[length] = 0;
    snprintf(plugin, sizeof plugin, "%s/../device/libluthier_reference.so", dirname(path));
    setenv("LTH_CUDA_PLUGIN", plugin, 1);
    cpu = support_context(1);
    table = support_table(cpu, lines);
    return 0;
}

static int close_all(void **state) {
    (void)state;
    lth_table_free(table);
    lth_ctx_free(cpu);
    return 0;
}

/* ---- What is asked ---- */

typedef struct job {
    lth_ctx *ctx;
    const place *place; /* for `ctx` NULL: one of its own */
    lth_status (*call)(const struct job *j, double *out, lth_error *err);
    const char *kernel, *targets[2];
    lth_gp_options options;
    double rounds; /* how far the device may be off; 0 = as far as numbers are rounded */
} job;

enum { MOST_NUMBERS = 4 * ROWS * ROWS };

static lth_status call_matrices(const job *j, double *out, lth_error *err) {
    double W[ROWS * ROWS];
    problem p;
    lth_items *more = NULL;
    for (size_t i = 0; i < ROWS * ROWS; i++) W[i] = 0.01 * (double)(i % 7) - 0.02;
    lth_status status = problem_of(j->ctx, j->kernel, table, &p, err);
    if (status == LTH_OK) status = lth_encode(p.encoder, table, &more, err);
    if (status == LTH_OK) status = lth_gram(p.kernel, p.items, NULL, out, ROWS, err);
    if (status == LTH_OK) status = lth_gram(p.kernel, more, p.items, out + ROWS * ROWS, ROWS, err);
    if (status == LTH_OK)
        status = lth_gram_pull(p.kernel, p.items, NULL, W, ROWS, out + 2 * ROWS * ROWS, err);
    lth_items_free(more);
    problem_close(&p);
    return status;
}

static lth_status call_orders(const job *j, double *out, lth_error *err) {
    problem p;
    lth_status status = problem_of(j->ctx, j->kernel, table, &p, err);
    if (status == LTH_OK) status = lth_gram_orders(p.kernel, p.items, NULL, out, err);
    problem_close(&p);
    return status;
}

static lth_status call_gp(const job *j, double *out, lth_error *err) {
    lth_gp *gp = NULL;
    double y[2 * ROWS];
    lth_status status = lth_gp_fit(j->ctx, j->kernel, table, j->targets,
                                   1 + (j->targets[1] != NULL), &j->options, &gp, err);
    if (status == LTH_OK)
        status = lth_gp_classes(gp) > 0
                     ? lth_gp_classify(gp, table, out, err)
                     : lth_gp_predict(gp, table, false, out, out + 2 * ROWS, err);
    bool leaves_out = j->options.posterior != LTH_POSTERIOR_INDUCING && !j->targets[1];
    if (status == LTH_OK && lth_gp_classes(gp) == 0 && leaves_out)
        status = lth_gp_leave_one_out(gp, 0, y, out + 4 * ROWS, out + 6 * ROWS, err);
    lth_gp_free(gp);
    return status;
}

static lth_status call_svm(const job *j, double *out, lth_error *err) {
    lth_svm *svm = NULL;
    lth_svm_options options;
    lth_svm_options_init(&options);
    options.probability = strcmp(j->targets[0], "kind") == 0;
    lth_status status = lth_svm_fit(j->ctx, j->kernel, table, j->targets[0], &options, &svm, err);
    if (status == LTH_OK)
        status = lth_svm_predict(svm, table, &(lth_svm_prediction){.decision = out},
                                 sizeof(lth_svm_prediction), err);
    lth_svm_free(svm);
    return status;
}

static lth_status use(void *user, lth_error *err) {
    job j = *(const job *)user;
    double out[MOST_NUMBERS];
    lth_ctx *own = NULL;
    if (!j.ctx) j.ctx = own = open_place(j.place, err);
    lth_status status = j.ctx ? j.call(&j, out, err) : err->status;
    lth_ctx_free(own);
    return status;
}

/* Each call of the device in the source is once the one at which the GPU is lost. A loss may do no
 * harm. */
static void lose_each(job *j) {
    setenv("LTH_REFERENCE_LOSES", "1", 1);
    for (int well = 0; well < 2;) {
        lth_error err = {0};
        lth_status status = use(j, &err);
        well = status == LTH_OK ? well + 1 : 0;
        if (status != LTH_OK && (status != LTH_EIO || !strstr(err.message, "is lost")))
            fail_msg("status %d: %s", status, err.message);
    }
    unsetenv("LTH_REFERENCE_LOSES");
}

static void check(job j) {
    double want[MOST_NUMBERS] = {0}, got[MOST_NUMBERS];
    lth_error err = {0};
    j.ctx = cpu;
    support_ok(j.call(&j, want, &err), &err);
    double tolerance = j.rounds > 0 ? j.rounds : 1e-8;
    for (size_t p = 0; p < PLACES; p++) {
        memset(got, 0, sizeof got);
        j.ctx = open_place(&places[p], &err);
        if (!j.ctx) fail_msg("%s", err.message);
        support_ok(j.call(&j, got, &err), &err);
        for (size_t i = 0; i < MOST_NUMBERS; i++) support_near(got[i], want[i], tolerance);
        fail_each(use, &j, true, 5);
        lth_ctx_free(j.ctx);
        j.ctx = NULL;
        j.place = &places[p];
        lose_each(&j);
    }
}

/* ---- Jobs ---- */

static void matrices(void **state) {
    (void)state;
    check((job){.call = call_matrices, .kernel = "normalize(ssk(text, order=2)) + rbf(f1..f2)"});
    check((job){.call = call_matrices,
                .kernel = "2 * normalize(sstk(tree)) * rbf(f1..f2, ard=yes) + la(seq) + "
                          "linear(bow(text)) + wd(seq, order=2) * ptk(tree) + 3"});
    check((job){.call = call_matrices, .kernel = "ssk(text, order=2) + gkm(seq, l=2, k=1)"});
    check((job){.call = call_orders, .kernel = "ssk(text, order=3)"});
}

static job job_of(const char *kernel, const char *target) {
    job j = {.call = call_gp, .kernel = kernel, .targets = {target}};
    lth_gp_options_init(&j.options);
    j.options.max_iter = 1;
    j.options.restarts = 0;
    return j;
}

static void processes(void **state) {
    (void)state;
    static const char kernel[] = "normalize(ssk(text, order=2)) + rbf(f1..f2)";
    check(job_of(kernel, "y"));
    job j = job_of("sites(seq) + rbf(f1)", "y");
    j.options.posterior = LTH_POSTERIOR_CG;
    j.options.learn_rows = ROWS / 2;
    j.rounds = 1e-4;
    check(j);
    j.options.store = LTH_F32;
    check(j);
    j = job_of(kernel, "y");
    j.options.posterior = LTH_POSTERIOR_INDUCING;
    j.options.inducing = ROWS / 2;
    check(j);
    j = job_of(kernel, "y");
    j.options.likelihood = LTH_STUDENT;
    j.rounds = 1e-4; /* where it stops */
    check(j);
    j = job_of(kernel, "kind");
    j.rounds = 1e-4;
    check(j);
    j.options.likelihood = LTH_SOFTMAX;
    check(j);
    j = job_of(kernel, "y");
    j.targets[1] = "z";
    j.options.coregion = 1;
    check(j);
}

static void machines(void **state) {
    (void)state;
    job j = {.call = call_svm, .kernel = "rbf(f1..f2)", .targets = {"kind"}, .rounds = 1e-2};
    check(j);
    j.targets[0] = "y";
    check(j);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matrices),
        cmocka_unit_test(processes),
        cmocka_unit_test(machines),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
