/* Matrices, models and folds that ranks make together, against those of a rank by itself:
 *
 *     ranks -n 3 test_model_cluster [FOLDER]
 *
 * Stores are left in the folder. The first mistake is told and ends all ranks with exit code 1.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "luthier.h"

enum { ROWS = 60, NEW = 9, TARGETS = 2, FOLDS = 3, MOST = ROWS * ROWS };

static lth_ctx *together, *alone;
static const char *at_work = "";

static void fail(const char *what) {
    unsigned ranks, rank = lth_ctx_rank(together, &ranks);
    fprintf(stderr, "test_model_cluster: rank %u of %u, %s: %s\n", rank, ranks, at_work, what);
    _Exit(1);
}

static void ok(lth_status status, const lth_error *err) {
    if (status != LTH_OK) fail(err->message);
}

static void same(const double *x, const double *want, size_t count, double tolerance) {
    char what[128];
    for (size_t i = 0; i < count; i++) {
        if (fabs(x[i] - want[i]) <= tolerance * (1 + fabs(want[i]))) continue;
        snprintf(what, sizeof what, "number %zu is %.17g, not %.17g", i, x[i], want[i]);
        fail(what);
    }
}

/* ---- Rows ---- */

static double f[ROWS + NEW][2], y[ROWS + NEW], z[ROWS + NEW];
static char text[ROWS + NEW][40];

static void make_rows(void) {
    static const char *const word[] = {"the", "cat", "dog", "runs", "sleeps", "old", "red"};
    for (size_t i = 0; i < ROWS + NEW; i++) {
        f[i][0] = (double)(i * 7919 % 1009) / 250;
        f[i][1] = (double)(i * 4099 % 997) / 240;
        for (size_t k = 0; k < 2 + i % 4; k++)
            strcat(strcat(text[i], k > 0 ? " " : ""), word[(i * (k + 2) + k) % 7]);
        y[i] = sin(f[i][0]) + 0.3 * (double)(i % 4) + 0.1 * (double)(i * 31 % 17);
        z[i] = cos(f[i][1]) - 0.2 * (double)(i % 3);
    }
}

static lth_table *table_of(lth_ctx *ctx, size_t first, size_t rows) {
    static const char *const names[] = {"low", "middle", "high"};
    static const char *label[2][ROWS + NEW], *cell[ROWS + NEW];
    for (size_t i = 0; i < ROWS + NEW; i++) {
        cell[i] = text[i];
        label[0][i] = y[i] > 1.2 ? "yes" : "no";
        label[1][i] = names[y[i] > 1.5 ? 2 : y[i] > 0.9 ? 1 : 0];
    }
    lth_error err = {0};
    lth_table *table = NULL;
    const lth_column columns[] = {{.name = "text", .text = cell + first},
                                  {.name = "f1", .numbers = &f[first][0], .stride = 2},
                                  {.name = "f2", .numbers = &f[first][1], .stride = 2},
                                  {.name = "y", .numbers = y + first},
                                  {.name = "z", .numbers = z + first},
                                  {.name = "two", .text = label[0] + first},
                                  {.name = "three", .text = label[1] + first}};
    ok(lth_table_from_columns(ctx, columns, sizeof *columns, 7, rows, &table, &err), &err);
    return table;
}

/* ---- Matrices ---- */

typedef struct matrices {
    double K[MOST], gradient[16], self[ROWS], stored[MOST];
} matrices;

static void fill(lth_ctx *ctx, const char *expression, const char *folder, matrices *out) {
    lth_error err = {0};
    lth_kernel *kernel = NULL;
    lth_encoder *encoder = NULL;
    lth_items *items = NULL;
    lth_table *table = table_of(ctx, 0, ROWS);
    static double W[MOST];
    for (size_t i = 0; i < MOST; i++) W[i] = (double)((i / ROWS + i % ROWS) * 29 % 97) / 50 - 1;
    ok(lth_kernel_parse(ctx, expression, &kernel, &err), &err);
    ok(lth_encoder_create(ctx, kernel, &encoder, &err), &err);
    ok(lth_encode(encoder, table, &items, &err), &err);
    ok(lth_gram(kernel, items, NULL, out->K, ROWS, &err), &err);
    ok(lth_gram_pull(kernel, items, NULL, W, ROWS, out->gradient, &err), &err);
    ok(lth_gram_diagonal(kernel, items, out->self, &err), &err);
    lth_gram_store_options options;
    lth_gram_store_options_init(&options);
    options.tile = 16;
    ok(lth_gram_store(kernel, items, NULL, folder, &options, &err), &err);
    lth_store *store = NULL;
    ok(lth_store_open(folder, &store, &err), &err);
    ok(lth_store_read(store, 0, ROWS, 0, ROWS, out->stored, ROWS, &err), &err);
    lth_store_free(store);
    lth_items_free(items);
    lth_encoder_free(encoder);
    lth_kernel_free(kernel);
    lth_table_free(table);
}

static void check_matrices(void) {
    static const char *const kernels[] = {"normalize(ssk(text, order=2)) + 0.5 * rbf(f1..f2)",
                                          "normalize(tfidf(text)) * 2"};
    static matrices own, all;
    for (size_t k = 0; k < 2; k++) {
        char folder[2][64];
        unsigned rank = lth_ctx_rank(together, NULL);
        at_work = kernels[k];
        snprintf(folder[0], sizeof folder[0], "alone-%u-%zu", rank, k);
        snprintf(folder[1], sizeof folder[1], "together-%zu", k);
        fill(alone, kernels[k], folder[0], &own);
        fill(together, kernels[k], folder[1], &all);
        same(all.K, own.K, MOST, 1e-13);
        same(all.self, own.self, ROWS, 1e-13);
        same(all.stored, own.K, MOST, 1e-13);
        same(own.stored, own.K, MOST, 1e-13);
        same(all.gradient, own.gradient, k == 0 ? 6 : 1, 1e-10);
    }
}

/* ---- Models ---- */

typedef struct question {
    const char *kernel, *target[TARGETS];
    lth_posterior posterior;
    lth_likelihood likelihood;
    size_t inducing, average, coregion, restarts;
    double tolerance;
} question;

static const question questions[] = {
    {"normalize(ssk(text, order=2)) + rbf(f1)", {"y"}, .tolerance = 1e-6},
    {"rbf(f1..f2)", {"y", "z"}, .tolerance = 1e-6},
    {"rbf(f1..f2)", {"y"}, .restarts = 4, .tolerance = 1e-5},
    {"rbf(f1..f2)", {"y", "z"}, .coregion = 1, .tolerance = 1e-5},
    {"rbf(f1..f2)", {"y"}, .average = 4, .tolerance = 1e-5},
    {"rbf(f1..f2) | rbf(f1)", {"y"}, .tolerance = 1e-5},
    {"rbf(f1..f2)", {"y"}, .posterior = LTH_POSTERIOR_CG, .tolerance = 1e-4},
    {"normalize(ssk(text, order=2)) + rbf(f1)",
     {"y", "z"},
     .posterior = LTH_POSTERIOR_INDUCING,
     .inducing = 12,
     .tolerance = 1e-5},
    {"rbf(f1..f2)", {"y"}, .likelihood = LTH_STUDENT, .tolerance = 1e-4},
    {"rbf(f1..f2)", {"two"}, .tolerance = 1e-4},
    {"rbf(f1..f2)", {"three"}, .posterior = LTH_POSTERIOR_SITES, .tolerance = 1e-3},
    {"rbf(f1..f2)", {"three"}, .likelihood = LTH_SOFTMAX, .tolerance = 1e-4},
    {"rbf(f1..f2)",
     {"three"},
     .posterior = LTH_POSTERIOR_INDUCING,
     .inducing = 12,
     .tolerance = 1e-3},
    {"rbf(f1..f2)",
     {"three"},
     .posterior = LTH_POSTERIOR_INDUCING,
     .likelihood = LTH_SOFTMAX,
     .inducing = 12,
     .tolerance = 1e-3},
};

typedef struct answers {
    double mean[NEW * 3], sd[NEW * TARGETS], fold[ROWS * TARGETS], counts[3];
} answers;

static lth_gp_options options_of(const question *q) {
    lth_gp_options options;
    lth_gp_options_init(&options);
    options.restarts = q->restarts;
    options.max_iter = 3;
    options.posterior = q->posterior;
    options.likelihood = q->likelihood;
    options.inducing = q->inducing;
    options.average = q->average;
    options.coregion = q->coregion;
    return options;
}

static void ask(lth_ctx *ctx, const question *q, answers *out) {
    lth_error err = {0};
    lth_table *rows = table_of(ctx, 0, ROWS), *new = table_of(ctx, ROWS, NEW);
    size_t targets = q->target[1] ? 2 : 1, fold[ROWS];
    lth_gp_options options = options_of(q);
    lth_gp *gp = NULL;
    lth_validation *v = NULL;
    *out = (answers){0};
    ok(lth_gp_fit(ctx, q->kernel, rows, q->target, targets, &options, &gp, &err), &err);
    ok(lth_gp_classes(gp) > 0 ? lth_gp_classify(gp, new, out->mean, &err)
                              : lth_gp_predict(gp, new, false, out->mean, out->sd, &err),
       &err);
    bool numbers = lth_gp_classes(gp) == 0;
    const lth_gp_report *r = lth_gp_reported(gp);
    out->counts[0] = (double)r->iterations;
    out->counts[1] = (double)r->evaluations;
    out->counts[2] = (double)r->starts;
    lth_gp_free(gp);
    lth_folds_shuffled(3, ROWS, FOLDS, fold);
    ok(lth_gp_cv(ctx, q->kernel, rows, q->target, targets, fold, FOLDS, &options, &v, &err), &err);
    if (!numbers) out->fold[0] = lth_validation_label_metrics(v, 0, LTH_NONE)->log_loss;
    for (size_t i = 0; numbers && i < targets * ROWS; i++)
        out->fold[i] = lth_validation_value(v, i / ROWS, i % ROWS);
    lth_validation_free(v);
    lth_table_free(rows);
    lth_table_free(new);
}

static void check_models(void) {
    static answers own, all;
    for (size_t k = 0; k < sizeof questions / sizeof *questions; k++) {
        const question *q = &questions[k];
        char what[128];
        snprintf(what, sizeof what, "question %zu", k);
        at_work = what;
        ask(alone, q, &own);
        ask(together, q, &all);
        same(all.mean, own.mean, NEW * 3, q->tolerance);
        same(all.sd, own.sd, NEW * TARGETS, q->tolerance);
        same(all.counts, own.counts, 3, 0);
        same(all.fold, own.fold, ROWS * TARGETS, q->tolerance);
    }
}

/* ---- Machines ---- */

static void judge(lth_ctx *ctx, const char *target, size_t features, double *decision,
                  double *fold_value) {
    lth_error err = {0};
    lth_table *rows = table_of(ctx, 0, ROWS), *new = table_of(ctx, ROWS, NEW);
    static const double C[] = {0.5, 4};
    size_t fold[ROWS];
    lth_svm_options options;
    lth_svm_options_init(&options);
    options.C = C;
    options.C_count = 2;
    options.features = features;
    lth_svm *svm = NULL;
    lth_validation *v = NULL;
    lth_svm_prediction to = {.decision = decision};
    const char *kernel = "normalize(ssk(text, order=2)) + rbf(f1)";
    ok(lth_svm_fit(ctx, kernel, rows, target, &options, &svm, &err), &err);
    ok(lth_svm_predict(svm, new, &to, sizeof to, &err), &err);
    lth_folds_shuffled(3, ROWS, FOLDS, fold);
    ok(lth_svm_cv(ctx, kernel, rows, &target, 1, fold, FOLDS, &options, &v, &err), &err);
    for (size_t i = 0; i < ROWS; i++)
        fold_value[i] = lth_validation_has_labels(v, 0) ? lth_validation_predicted(v, 0, i, 1)
                                                        : lth_validation_value(v, 0, i);
    lth_validation_free(v);
    lth_svm_free(svm);
    lth_table_free(rows);
    lth_table_free(new);
}

static void check_machines(void) {
    static const char *const targets[] = {"y", "two", "three"};
    at_work = "machines";
    for (size_t k = 0; k < 6; k++) {
        double own[NEW * 3] = {0}, all[NEW * 3] = {0}, own_fold[ROWS], all_fold[ROWS];
        judge(alone, targets[k % 3], k < 3 ? 0 : 10, own, own_fold);
        judge(together, targets[k % 3], k < 3 ? 0 : 10, all, all_fold);
        same(all, own, NEW * 3, 1e-6);
        same(all_fold, own_fold, ROWS, 1e-6);
    }
}

int main(int argc, char **argv) {
    lth_error err = {0};
    if (argc > 1 && chdir(argv[1]) != 0) return 1;
    lth_ctx_options options;
    lth_ctx_options_init(&options);
    if (lth_ctx_create(&options, &alone, &err) != LTH_OK) return 1;
    options.cluster = "mpi";
    if (lth_ctx_create(&options, &together, &err) != LTH_OK) {
        fprintf(stderr, "test_model_cluster: %s\n", err.message);
        return 1;
    }
    make_rows();
    check_matrices();
    check_models();
    check_machines();
    ok(lth_ctx_leave(together, NULL, &err), &err);
    lth_ctx_free(together);
    lth_ctx_free(alone);
    return 0;
}
