/* How long each kind of shared work takes on the ranks that this was started as:
 *
 *     mpirun -n 2 luthier-bench-share 1 mpi STORE    2 ranks of one thread
 *     mpirun -n 1 luthier-bench-share 2 mpi STORE    1 rank of two threads
 *     luthier-bench-share 2 none STORE               a process of two threads
 *
 * One line for each: its name, the seconds, and the CPU time that this process had spent by then
 * since the last line. bench/cluster compares the seconds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "luthier.h"

enum { WORDS = 20, VOCABULARY = 400 };

static lth_ctx *ctx;
static lth_error error;
static uint64_t state = 88172645463325252u;

static void check(lth_status status, const char *what) {
    if (status == LTH_OK) return;
    fprintf(stderr, "%s: %s\n", what, error.message);
    exit(1);
}

static double uniform(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)(state >> 11) / 9007199254740992.0;
}

static void report(const char *name, double began) {
    static clock_t before;
    double cpu = (double)(clock() - before) / CLOCKS_PER_SEC;
    if (lth_ctx_rank(ctx, NULL) == 0) printf("%s\t%.3f\t%.3f\n", name, lth__seconds() - began, cpu);
    fflush(stdout);
    before = clock();
}

/* Texts of some twenty words, and a number that depends on some of them. */
static lth_table *make_table(size_t rows, double **numbers) {
    char **text = calloc(rows, sizeof *text);
    double *y = *numbers = calloc(rows, sizeof *y); /* the table borrows them */
    for (size_t i = 0; i < rows; i++) {
        size_t words = WORDS / 2 + (size_t)(uniform() * WORDS);
        char *at = text[i] = calloc(words + 1, 8);
        for (size_t w = 0; w < words; w++) {
            int word = (int)(VOCABULARY * uniform() * uniform());
            at += sprintf(at, "w%d ", word);
            y[i] += word < 20 ? 1 : 0;
        }
        y[i] += uniform();
    }
    lth_column columns[] = {{.name = "text", .text = (const char *const *)text},
                            {.name = "y", .numbers = y}};
    lth_table *table = NULL;
    check(lth_table_from_columns(ctx, columns, sizeof *columns, 2, rows, &table, &error), "table");
    for (size_t i = 0; i < rows; i++) free(text[i]);
    free(text);
    return table;
}

static void gram_and_pull(size_t rows, const char *store) {
    double *y;
    lth_table *table = make_table(rows, &y);
    lth_kernel *kernel = NULL;
    lth_encoder *encoder = NULL;
    lth_items *items = NULL;
    check(lth_kernel_parse(ctx, "normalize(ssk(text))", &kernel, &error), "kernel");
    check(lth_encoder_create(ctx, kernel, &encoder, &error), "encoder");
    check(lth_encode(encoder, table, &items, &error), "items");
    double *K = calloc(rows * rows, sizeof *K), gradient[64], began = lth__seconds();
    check(lth_gram_store(kernel, items, NULL, store, NULL, &error), "Gram matrix");
    report("Gram matrix, into a store", began);
    began = lth__seconds();
    check(lth_gram_pull(kernel, items, NULL, K, rows, gradient, &error), "pull-back");
    report("pull-back", began);
    free(K);
    lth_items_free(items);
    lth_encoder_free(encoder);
    lth_kernel_free(kernel);
    lth_table_free(table);
    free(y);
}

static void fit(const char *name, size_t rows, const lth_gp_options *options) {
    const char *target = "y";
    double *y;
    lth_table *table = make_table(rows, &y);
    lth_gp *gp = NULL;
    double began = lth__seconds();
    check(lth_gp_fit(ctx, "normalize(ssk(text, order=3))", table, &target, 1, options, &gp, &error),
          name);
    report(name, began);
    lth_gp_free(gp);
    lth_table_free(table);
    free(y);
}

int main(int argc, char **argv) {
    lth_ctx_options options;
    lth_gp_options model;
    if (argc != 4) return 2;
    lth_ctx_options_init(&options);
    options.threads = (unsigned)atoi(argv[1]);
    options.cluster = argv[2];
    check(lth_ctx_create(&options, &ctx, &error), "context");
    gram_and_pull(4000, argv[3]);
    lth_gp_options_init(&model);
    model.restarts = 0;
    model.max_iter = 1;
    model.posterior = LTH_POSTERIOR_EXACT;
    fit("exact, one step of learning", 3000, &model);
    model.learn = false;
    model.noise = 0.1;
    model.posterior = LTH_POSTERIOR_CG;
    fit("cg", 8000, &model);
    model.posterior = LTH_POSTERIOR_INDUCING;
    model.inducing = 500;
    fit("inducing", 40000, &model);
    lth_ctx_free(ctx);
    return 0;
}
