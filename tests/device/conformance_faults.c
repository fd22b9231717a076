/* What is left of a call that fails on a device, that is cancelled, or that runs beside others. The
 * sanitizers say whether memory of the host is left; the reference device, whether its own is. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conformance.h"

static const char expression[] = "normalize(ssk(text, order=2)) + rbf(f1..f2)";

/* ---- Cancelling ---- */

typedef struct asked {
    unsigned times;
    double first; /* the share that was done by then */
} asked;

static int cancel(void *user, const char *what, double done, double total) {
    asked *a = user;
    (void)what;
    if (a->times++ == 0) a->first = total > 0 ? done / total : 1;
    return 1;
}

static lth_ctx *open_to_cancel(const conformance_options *o, size_t memory, asked *a,
                               lth_error *err) {
    lth_ctx_options options;
    lth_ctx_options_init(&options);
    options.device = o->device;
    options.device_memory = memory;
    options.progress = cancel;
    options.user = a;
    lth_ctx *ctx = NULL;
    return lth_ctx_create(&options, &ctx, err) == LTH_OK ? ctx : NULL;
}

static size_t count_missing(const double *K, size_t count) {
    size_t missing = 0;
    for (size_t i = 0; i < count; i++) missing += isnan(K[i]) != 0;
    return missing;
}

/* A device may be done before it asks; one that asks in between stops there. Panels have one row.
 */
static void check_cancelling(const conformance_options *o) {
    enum { ROWS = 128, MEMORY = ROWS * 8 * sizeof(double) };
    static double K[ROWS * ROWS];
    lth_error err = {0};
    conformance_tables t;
    conformance_side s;
    asked a = {0};
    lth_ctx *ctx = open_to_cancel(o, MEMORY, &a, &err);
    if (!ctx || !conformance_tables_create(&t)) {
        conformance_fail("cancelling", &err);
        return;
    }
    conformance_tables_write(&t, 2, ROWS, 1, o->quick);
    for (size_t i = 0; i < ROWS * ROWS; i++) K[i] = NAN;
    lth_status status = conformance_side_open(&s, ctx, "ssk(text, units=chars, order=8)", &t, &err);
    if (!status) status = lth_gram(s.kernel, s.items, NULL, K, ROWS, &err);
    conformance_expect(status == LTH_ECANCELED && err.status == LTH_ECANCELED,
                       "a cancelled call gave %d: %s", (int)status, err.message);
    conformance_expect(a.times == 1, "asked %u times", a.times);
    if (a.first < 1)
        conformance_expect(count_missing(K, ROWS * ROWS) > 0, "all was done after cancelling");
    printf("cancelled when %.0f%% was done\n", 100 * a.first);
    conformance_side_close(&s);
    conformance_tables_remove(&t);
    lth_ctx_free(ctx);
}

/* ---- Without memory ---- */

enum { ROWS = 12, MEMORY = ROWS * ROWS * sizeof(double) };

static void set(const char *variable, size_t value) {
    char text[32];
    snprintf(text, sizeof text, "%zu", value);
    setenv(variable, text, 1);
}

typedef lth_status call_fn(lth_ctx *ctx, const conformance_tables *t, lth_error *err);

static lth_status call_gram(lth_ctx *ctx, const conformance_tables *t, lth_error *err) {
    double K[ROWS * ROWS];
    conformance_side s;
    lth_status status = conformance_side_open(&s, ctx, expression, t, err);
    if (!status) status = lth_gram(s.kernel, s.items, NULL, K, ROWS, err);
    conformance_side_close(&s);
    return status;
}

static lth_status call_orders(lth_ctx *ctx, const conformance_tables *t, lth_error *err) {
    double K[3 * ROWS * ROWS];
    conformance_side s;
    lth_status status = conformance_side_open(&s, ctx, "ssk(text, order=3, sim=cosine)", t, err);
    if (!status) status = lth_gram_orders(s.kernel, s.items, s.others, K, err);
    conformance_side_close(&s);
    return status;
}

static lth_status call_pull(lth_ctx *ctx, const conformance_tables *t, lth_error *err) {
    static const double W[ROWS * ROWS];
    double gradient[64];
    conformance_side s;
    lth_status status = conformance_side_open(
        &s, ctx,
        "2 * normalize(sstk(tree)) * rbf(f1..f2, ard=yes) + ssk(text, sim=exp) + la(seq) + "
        "ptk(tree, sim=cosine) + linear(bow(text))",
        t, err);
    if (!status) status = lth_gram_pull(s.kernel, s.items, NULL, W, ROWS, gradient, err);
    conformance_side_close(&s);
    return status;
}

static lth_gp_options fit_options(void) {
    lth_gp_options options;
    lth_gp_options_init(&options);
    options.restarts = 0;
    options.max_iter = 1;
    return options;
}

static lth_status fit_by(lth_ctx *ctx, const char *target, lth_gp_options options,
                         const conformance_tables *t, lth_error *err) {
    double mean[3 * ROWS], sd[ROWS];
    lth_table *table = NULL;
    lth_gp *gp = NULL;
    lth_status status = lth_table_read(ctx, t->a, NULL, &table, err);
    if (!status) status = lth_gp_fit(ctx, expression, table, &target, 1, &options, &gp, err);
    if (!status)
        status = lth_gp_classes(gp) ? lth_gp_classify(gp, table, mean, err)
                                    : lth_gp_predict(gp, table, false, mean, sd, err);
    lth_gp_free(gp);
    lth_table_free(table);
    return status;
}

static lth_status fit(lth_ctx *ctx, const char *target, const conformance_tables *t,
                      lth_error *err) {
    return fit_by(ctx, target, fit_options(), t, err);
}

static lth_status call_other_fits(lth_ctx *ctx, const conformance_tables *t, lth_error *err) {
    lth_gp_options options = fit_options();
    options.posterior = LTH_POSTERIOR_CG;
    options.learn_rows = ROWS / 2;
    lth_status status = fit_by(ctx, "y", options, t, err);
    options.store = LTH_F32;
    if (!status) status = fit_by(ctx, "y", options, t, err);
    options = fit_options();
    options.posterior = LTH_POSTERIOR_INDUCING;
    options.inducing = ROWS / 2;
    if (!status) status = fit_by(ctx, "y", options, t, err);
    options = fit_options();
    options.likelihood = LTH_STUDENT;
    if (!status) status = fit_by(ctx, "y", options, t, err);
    options.likelihood = LTH_SOFTMAX;
    if (!status) status = fit_by(ctx, "kind", options, t, err);
    return status;
}

static lth_status call_svm(lth_ctx *ctx, const conformance_tables *t, lth_error *err) {
    lth_table *table = NULL;
    lth_svm *svm = NULL;
    lth_svm_options options;
    lth_svm_options_init(&options);
    options.probability = true;
    double decision[3 * ROWS];
    lth_status status = lth_table_read(ctx, t->a, NULL, &table, err);
    if (!status) status = lth_svm_fit(ctx, expression, table, "kind", &options, &svm, err);
    if (!status)
        status = lth_svm_predict(svm, table, &(lth_svm_prediction){.decision = decision},
                                 sizeof(lth_svm_prediction), err);
    lth_svm_free(svm);
    lth_table_free(table);
    return status;
}

static lth_status call_fit(lth_ctx *ctx, const conformance_tables *t, lth_error *err) {
    return fit(ctx, "y", t, err);
}

static lth_status call_classify(lth_ctx *ctx, const conformance_tables *t, lth_error *err) {
    return fit(ctx, "kind", t, err);
}

/* One call on a context of its own: opening it sets the device's limits. */
static lth_status try_call(const conformance_options *o, call_fn *call, const conformance_tables *t,
                           lth_error *err) {
    lth_ctx *ctx = conformance_context(o->device, LTH_F64, MEMORY, err);
    if (!ctx) return err->status;
    lth_status status = call(ctx, t, err);
    lth_ctx_free(ctx);
    return status;
}

static bool is_about_memory(lth_status status, const lth_error *err) {
    return status == LTH_ENOMEM && strncmp(err->message, "out of GPU memory: ", 19) == 0;
}

/* Every allocation fails once, or every few where there are many; in the end none does. */
static void fail_everywhere(const conformance_options *o, const char *what, call_fn *call,
                            const conformance_tables *t) {
    lth_status status = LTH_ENOMEM;
    size_t failures = 0;
    for (size_t granted = 0; status && granted < 100000; granted += 1 + granted / 12) {
        lth_error err = {0};
        set("LTH_REFERENCE_ALLOCATIONS", granted);
        status = try_call(o, call, t, &err);
        if (!status) break;
        failures++;
        if (!conformance_expect(is_about_memory(status, &err), "%s after %zu allocations gave %s",
                                what, granted, err.message))
            break;
    }
    unsetenv("LTH_REFERENCE_ALLOCATIONS");
    conformance_expect(status == LTH_OK && failures > 3, "%s failed %zu times", what, failures);
}

/* Each call of the device that is in the source fails once, as the GPU is lost; in the end none
 * does. */
static void lose_everywhere(const conformance_options *o, const char *what, call_fn *call,
                            const conformance_tables *t) {
    size_t failures = 0, well = 0;
    set("LTH_REFERENCE_LOSES", 1);
    while (well < 2) { /* once may be a loss that did no harm */
        lth_error err = {0};
        lth_status status = try_call(o, call, t, &err);
        well = status ? 0 : well + 1;
        failures += status != LTH_OK;
        if (!conformance_expect(!status || (status == LTH_EIO && strstr(err.message, "is lost")),
                                "%s on a GPU that is lost gave %s", what, err.message))
            break;
    }
    unsetenv("LTH_REFERENCE_LOSES");
    conformance_expect(failures > 0, "%s was never lost", what);
}

/* Less memory than a single row needs; in the end it is enough. */
static void check_bound(const conformance_options *o, const conformance_tables *t) {
    lth_status status = LTH_ENOMEM;
    size_t failures = 0;
    for (size_t bytes = 0; status && bytes < 100000; bytes += 100) {
        lth_error err = {0};
        set("LTH_REFERENCE_MEMORY", bytes);
        status = try_call(o, call_gram, t, &err);
        if (!status) break;
        failures++;
        if (!conformance_expect(is_about_memory(status, &err), "%zu bytes gave %s", bytes,
                                err.message))
            break;
    }
    unsetenv("LTH_REFERENCE_MEMORY");
    conformance_expect(status == LTH_OK && failures > 3, "too little memory failed %zu times",
                       failures);
}

static void check_memory(const conformance_options *o) {
    conformance_tables t;
    if (!conformance_expect(conformance_tables_create(&t), "no temporary files")) return;
    conformance_tables_write(&t, 1, ROWS, ROWS, true);
    fail_everywhere(o, "a Gram matrix", call_gram, &t);
    fail_everywhere(o, "orders", call_orders, &t);
    fail_everywhere(o, "a pull-back", call_pull, &t);
    fail_everywhere(o, "a fit", call_fit, &t);
    fail_everywhere(o, "a fit to labels", call_classify, &t);
    check_bound(o, &t);
    lose_everywhere(o, "a Gram matrix", call_gram, &t);
    lose_everywhere(o, "orders", call_orders, &t);
    lose_everywhere(o, "a pull-back", call_pull, &t);
    lose_everywhere(o, "a fit", call_fit, &t);
    lose_everywhere(o, "a fit to labels", call_classify, &t);
    lose_everywhere(o, "fits of other kinds", call_other_fits, &t);
    lose_everywhere(o, "a support vector machine", call_svm, &t);
    conformance_tables_remove(&t);
}

/* ---- Too large for a number ---- */

#define LARGE "ssk(text, units=chars, order=16, match=1000)" /* some 1e96 */

static lth_status call_overflow(lth_ctx *ctx, const conformance_tables *t, lth_error *err) {
    double K[ROWS * ROWS];
    conformance_side s;
    lth_status status =
        conformance_side_open(&s, ctx, LARGE " * " LARGE " * " LARGE " * " LARGE, t, err);
    if (!status) status = lth_gram(s.kernel, s.items, NULL, K, ROWS, err);
    conformance_side_close(&s);
    return status;
}

static void check_overflow(const conformance_options *o) {
    conformance_tables t;
    lth_error err = {0};
    if (!conformance_expect(conformance_tables_create(&t), "no temporary files")) return;
    conformance_tables_write(&t, 1, ROWS, 1, true);
    lth_status status = try_call(o, call_overflow, &t, &err);
    conformance_expect(status == LTH_ENUMERIC && strstr(err.message, "is too large for a number"),
                       "an overflow: %s", err.message);
    conformance_tables_remove(&t);
}

/* ---- Two contexts in two threads ---- */

typedef struct neighbour {
    const conformance_options *o;
    const conformance_tables *t;
    double K[ROWS * ROWS];
    lth_status status;
    lth_error err;
} neighbour;

static void *run_neighbour(void *user) {
    neighbour *n = user;
    conformance_side s;
    lth_ctx *ctx = conformance_context(n->o->device, LTH_F64, MEMORY, &n->err);
    n->status = ctx ? LTH_OK : n->err.status;
    if (!ctx) return NULL;
    n->status = conformance_side_open(&s, ctx, expression, n->t, &n->err);
    for (int i = 0; i < 5 && !n->status; i++)
        n->status = lth_gram(s.kernel, s.items, NULL, n->K, ROWS, &n->err);
    conformance_side_close(&s);
    lth_ctx_free(ctx);
    return NULL;
}

static void check_neighbours(const conformance_options *o) {
    conformance_tables t;
    neighbour n[2] = {{.o = o, .t = &t}, {.o = o, .t = &t}};
    pthread_t other;
    if (!conformance_expect(conformance_tables_create(&t), "no temporary files")) return;
    conformance_tables_write(&t, 1, ROWS, 1, true);
    bool two = pthread_create(&other, NULL, run_neighbour, &n[1]) == 0;
    run_neighbour(&n[0]);
    if (two) pthread_join(other, NULL);
    for (int i = 0; i < 1 + two; i++)
        conformance_expect(n[i].status == LTH_OK, "a context beside another: %s", n[i].err.message);
    if (two)
        conformance_expect(memcmp(n[0].K, n[1].K, sizeof n[0].K) == 0,
                           "two contexts give different bits");
    conformance_tables_remove(&t);
}

void conformance_faults(const conformance_options *o) {
    lth_error err = {0};
    lth_ctx *ctx = conformance_context(o->device, LTH_F64, 0, &err);
    bool is_reference = ctx && strncmp(lth_ctx_device(ctx), "reference", 9) == 0;
    lth_ctx_free(ctx);
    check_cancelling(o);
    check_overflow(o);
    check_neighbours(o);
    if (is_reference) check_memory(o);
}
