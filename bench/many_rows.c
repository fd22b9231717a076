/* What many rows need.
 *
 * Row 21: the pass of a Gaussian process by inducing rows over all rows, against the Gram matrix of
 * the same pairs. A fit also chooses the rows that stand for all, from rows that differ. So it is
 * measured on a table and on the same table three times over: the difference is two passes.
 *
 * Rows 22 and 23: conjugate gradients against the exact posterior, at the same parameters.
 *
 * Row 24: a Gram matrix that is written to disk tile by tile, against the same in memory. */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "measure.h"
#include "workload.h"

enum { WORDS = 20, INDUCING = 1000, COPIES = 3, MOST_COMPARED = 10000 };
static const char expression[] = "normalize(ssk(text, order=5))";

static lth_ctx *all_threads(void) {
    lth_ctx_options options;
    lth_ctx_options_init(&options);
    options.threads = 0;
    lth_ctx *ctx;
    lth_error err = {0};
    must(lth_ctx_create(&options, &ctx, &err), &err);
    return ctx;
}

static lth_table *make_table(lth_ctx *ctx, const texts *t, size_t copies) {
    size_t rows = copies * t->count;
    const char **text = allocate(rows, sizeof *text);
    size_t *length = allocate(rows, sizeof *length);
    double *y = allocate(rows, sizeof *y);
    for (size_t i = 0; i < rows; i++) {
        text[i] = t->text[i % t->count];
        length[i] = t->length[i % t->count];
        y[i] = (double)(i * i % 97);
    }
    lth_column columns[] = {{.name = "text", .text = text, .length = length},
                            {.name = "y", .numbers = y}};
    lth_table *table;
    lth_error err = {0};
    must(lth_table_from_columns(ctx, columns, sizeof *columns, 2, rows, &table, &err), &err);
    free(text);
    free(length);
    return table; /* which borrows y until the program ends */
}

static lth_gp *fit(lth_ctx *ctx, const lth_table *table, lth_posterior posterior, double *seconds) {
    const char *target = "y";
    lth_gp_options options;
    lth_gp_options_init(&options);
    options.learn = false;
    options.posterior = posterior;
    options.inducing = INDUCING;
    lth_gp *gp;
    lth_error err = {0};
    double start = seconds_now();
    must(lth_gp_fit(ctx, expression, table, &target, 1, &options, &gp, &err), &err);
    *seconds = seconds_now() - start;
    return gp;
}

static double time_fit(lth_ctx *ctx, const lth_table *table) {
    double seconds;
    lth_gp_free(fit(ctx, table, LTH_POSTERIOR_INDUCING, &seconds));
    return seconds;
}

/* Of that many of these texts against the inducing rows. */
static double time_gram(lth_ctx *ctx, const texts *t, size_t rows) {
    lth_kernel *kernel;
    lth_encoder *encoder;
    lth_table *tables[2];
    lth_items *items[2];
    lth_error err = {0};
    must(lth_kernel_parse(ctx, expression, &kernel, &err), &err);
    must(lth_encoder_create(ctx, kernel, &encoder, &err), &err);
    for (int i = 0; i < 2; i++) {
        texts some = *t;
        some.count = i == 0 ? rows : INDUCING;
        tables[i] = make_table(ctx, &some, 1);
        must(lth_encode(encoder, tables[i], &items[i], &err), &err);
    }
    double *K = allocate(rows * INDUCING, sizeof *K), start = seconds_now();
    must(lth_gram(kernel, items[0], items[1], K, INDUCING, &err), &err);
    double seconds = seconds_now() - start;
    free(K);
    for (int i = 0; i < 2; i++) {
        lth_items_free(items[i]);
        lth_table_free(tables[i]);
    }
    lth_encoder_free(encoder);
    lth_kernel_free(kernel);
    return seconds;
}

void measure_inducing(const plan *p, report *r) {
    texts t = common_words(p->rows, WORDS, 5000);
    size_t compared = p->rows < MOST_COMPARED ? p->rows : MOST_COMPARED;
    double once = INFINITY, often = INFINITY, gram = INFINITY;
    lth_ctx *ctx = all_threads();
    lth_table *table = make_table(ctx, &t, 1), *copies = make_table(ctx, &t, COPIES);
    for (int round = 0; round < 2; round++) {
        once = fmin(once, time_fit(ctx, table));
        gram = fmin(gram, time_gram(ctx, &t, compared));
        often = fmin(often, time_fit(ctx, copies));
        gram = fmin(gram, time_gram(ctx, &t, compared));
    }
    double pass = (often - once) / (COPIES - 1);
    gram *= (double)p->rows / (double)compared;
    found(r, 21, "a pass by inducing rows, against the Gram matrix of the same pairs", AT_MOST,
          pass / gram, 1.25, "x", "%.2f and %.2f s; %zu x %d texts of %d words, %s", pass, gram,
          p->rows, INDUCING, WORDS, expression);
    lth_table_free(table);
    lth_table_free(copies);
    lth_ctx_free(ctx);
    free_texts(&t);
}

void measure_cg(const plan *p, report *r) {
    enum { ROWS = 4000, NEW = 200 };
    (void)p;
    texts t = common_words(ROWS + NEW, WORDS, 5000), known = t, new = t;
    known.count = ROWS;
    new.count = NEW;
    new.text = t.text + ROWS;
    new.length = t.length + ROWS;
    lth_ctx *ctx = all_threads();
    lth_error err = {0};
    lth_table *table = make_table(ctx, &known, 1), *others = make_table(ctx, &new, 1);
    double mean[2][NEW], sd[NEW], seconds[2], off = 0;
    size_t steps = 0;
    for (int cg = 0; cg < 2; cg++) {
        lth_gp *gp = fit(ctx, table, cg ? LTH_POSTERIOR_CG : LTH_POSTERIOR_EXACT, &seconds[cg]);
        must(lth_gp_predict(gp, others, false, mean[cg], sd, &err), &err);
        steps = lth_gp_reported(gp)->cg_steps;
        lth_gp_free(gp);
    }
    for (size_t i = 0; i < NEW; i++) off = fmax(off, fabs(mean[1][i] - mean[0][i]) / 28);
    found(r, 22, "steps of conjugate gradients", AT_MOST, (double)steps, 60, "",
          "to 1e-8; %d texts of %d words, %s; fit in %.2f s, exact in %.2f s", ROWS, WORDS,
          expression, seconds[1], seconds[0]);
    found(r, 23, "means of these, off the exact ones", AT_MOST, 1e6 * off, 1, " millionths of sd",
          "the largest of %d rows", NEW);
    lth_table_free(table);
    lth_table_free(others);
    lth_ctx_free(ctx);
    free_texts(&t);
}

/* ---- On disk ---- */

static void remove_folder(const char *path) {
    DIR *folder = opendir(path);
    if (!folder) return;
    for (struct dirent *entry; (entry = readdir(folder));)
        unlinkat(dirfd(folder), entry->d_name, 0);
    closedir(folder);
    rmdir(path);
}

static double time_store(const lth_kernel *kernel, const lth_items *items, const char *path) {
    lth_gram_store_options options;
    lth_error err = {0};
    lth_gram_store_options_init(&options);
    double start = seconds_now();
    must(lth_gram_store(kernel, items, NULL, path, &options, &err), &err);
    double seconds = seconds_now() - start;
    remove_folder(path);
    return seconds;
}

static double time_memory(const lth_kernel *kernel, const lth_items *items, size_t rows) {
    lth_error err = {0};
    double start = seconds_now();
    double *K = allocate(rows * rows, sizeof *K);
    must(lth_gram(kernel, items, NULL, K, rows, &err), &err);
    double seconds = seconds_now() - start;
    free(K);
    return seconds;
}

void measure_store(const plan *p, report *r) {
    enum { ROWS = 2000, LONGER = 60 };
    (void)p;
    texts t = common_words(ROWS, LONGER, 5000);
    const char *folder = getenv("TMPDIR");
    char path[4096];
    snprintf(path, sizeof path, "%s/luthier-bench-%ld.zarr", folder ? folder : "/tmp",
             (long)getpid());
    lth_ctx *ctx = all_threads();
    lth_kernel *kernel;
    lth_encoder *encoder;
    lth_items *items;
    lth_error err = {0};
    lth_table *table = make_table(ctx, &t, 1);
    must(lth_kernel_parse(ctx, expression, &kernel, &err), &err);
    must(lth_encoder_create(ctx, kernel, &encoder, &err), &err);
    must(lth_encode(encoder, table, &items, &err), &err);
    double on_disk = INFINITY, in_memory = INFINITY;
    for (int round = 0; round < 3; round++) {
        in_memory = fmin(in_memory, time_memory(kernel, items, ROWS));
        on_disk = fmin(on_disk, time_store(kernel, items, path));
    }
    found(r, 24, "a Gram matrix written to disk tile by tile, against one in memory", AT_MOST,
          on_disk / in_memory, 1.05, "x", "%.2f and %.2f s; %d texts of %d words, %s", on_disk,
          in_memory, ROWS, LONGER, expression);
    lth_items_free(items);
    lth_encoder_free(encoder);
    lth_kernel_free(kernel);
    lth_table_free(table);
    lth_ctx_free(ctx);
    free_texts(&t);
}
