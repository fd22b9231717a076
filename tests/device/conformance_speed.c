/* How fast a device is, through the library. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conformance.h"

/* Writes a text of so many parts made of `letters`. */
typedef void writer(const char *letters, unsigned length, char *out);

static void write_letters(const char *letters, unsigned length, char *out) {
    for (unsigned k = 0; k < length; k++)
        out[k] = letters[conformance_below((unsigned)strlen(letters))];
    out[length] = 0;
}

/* (S ...): a node with so many words below it. */
static char *write_node(const char *letters, unsigned words, char *out) {
    *out++ = '(';
    *out++ = letters[conformance_below((unsigned)strlen(letters))];
    *out++ = ' ';
    if (words == 1) {
        *out++ = (char)('a' + conformance_below(26));
        *out++ = (char)('a' + conformance_below(26));
    }
    for (unsigned left = words; words > 1 && left > 0;) {
        unsigned some = 1 + conformance_below(left < words ? left : words - 1);
        out = write_node(letters, some, out);
        left -= some;
    }
    *out++ = ')';
    return out;
}

static void write_tree(const char *letters, unsigned length, char *out) {
    *write_node(letters, length, out) = 0;
}

enum { BYTES_TO_A_WORD = 24 }; /* of a tree, with all that is above it: at most */

static double time_gram(lth_ctx *ctx, const char *expression, writer *write, const char *letters,
                        size_t count, unsigned length, double *work) {
    char *text = malloc(BYTES_TO_A_WORD * (size_t)length + 1);
    const char **texts = malloc(count * sizeof *texts);
    for (size_t i = 0; i < count; i++) {
        write(letters, length, text);
        texts[i] = strdup(text);
    }
    lth_error err = {0};
    lth_table *table;
    lth_kernel *kernel;
    lth_encoder *encoder;
    lth_items *items;
    double *K = malloc(count * count * sizeof *K), best = 1e9;
    if (lth_table_from_texts(ctx, "text", texts, NULL, count, &table, &err) ||
        lth_kernel_parse(ctx, expression, &kernel, &err) ||
        lth_encoder_create(ctx, kernel, &encoder, &err) || lth_encode(encoder, table, &items, &err))
        return conformance_fail(expression, &err), 0;
    for (int r = 0; r < 5; r++) {
        double began = conformance_seconds();
        if (lth_gram(kernel, items, NULL, K, count, &err)) conformance_fail(expression, &err);
        double took = conformance_seconds() - began;
        best = took < best ? took : best;
    }
    *work = lth_gram_cell_orders(kernel, items, NULL);
    lth_items_free(items), lth_encoder_free(encoder), lth_kernel_free(kernel),
        lth_table_free(table);
    for (size_t i = 0; i < count; i++) free((void *)texts[i]);
    free(texts), free(text), free(K);
    return best;
}

static void measure(lth_ctx *ctx, const char *precision, size_t count, unsigned length) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    double work, best;
    best = time_gram(ctx, "ssk(text, units=chars, order=5)", write_letters, letters, count, length,
                     &work);
    printf("%s: lth_gram of %zu strings of %u: %.1f ms, %.3g cell-orders/s\n", precision, count,
           length, 1e3 * best, work / best);
}

/* Local alignments, beside all cores of the CPU. */
static void measure_alignments(lth_ctx *gpu, unsigned length, size_t count) {
    enum { FEWER = 8, SUMS = 3 }; /* sums of a cell, each of which counts */
    static const char letters[] = "ACDEFGHIKLMNPQRSTVWY";
    lth_error err = {0};
    lth_ctx *cpu = conformance_context("cpu", LTH_F64, 0, &err);
    if (!cpu) {
        conformance_fail("speed", &err);
        return;
    }
    double work, best = time_gram(gpu, "la(text)", write_letters, letters, count, length, &work);
    double rate = work / SUMS / best;
    double slow = time_gram(cpu, "la(text)", write_letters, letters, count / FEWER, length, &work);
    printf("la: lth_gram of %zu sequences of %u: %.1f ms, %.3g cells/s, %.0f times the CPU's\n",
           count, length, 1e3 * best, rate, rate / (work / SUMS / slow));
    fflush(stdout);
    lth_ctx_free(cpu);
}

/* The same of what a CPU is fast at. */
static void measure_others(lth_ctx *gpu) {
    static const char letters[] = "ACDEFGHIKLMNPQRSTVWY";
    lth_error err = {0};
    lth_ctx *cpu = conformance_context("cpu", LTH_F64, 0, &err);
    if (!cpu) {
        conformance_fail("speed", &err);
        return;
    }
    for (int trees = 0; trees < 2; trees++) {
        const char *expression = trees ? "ptk(text)" : "linear(ngrams(text, n=[2,4]))";
        writer *write = trees ? write_tree : write_letters;
        size_t count = trees ? 2000 : 8000;
        unsigned length = trees ? 20 : 300;
        double work, best = time_gram(gpu, expression, write, letters, count, length, &work);
        double slow = time_gram(cpu, expression, write, letters, count, length, &work);
        printf("%s: lth_gram of %zu texts of %u: %.1f ms, %.2f times as fast as all cores of the "
               "CPU\n",
               expression, count, length, 1e3 * best, slow / best);
        fflush(stdout);
    }
    lth_ctx_free(cpu);
}

/* A matrix at once, and in panels: there the copies to the host should cost next to nothing, since
 * another panel is computed meanwhile. */
static void measure_panels(const conformance_options *o, lth_ctx *ctx) {
    enum { COUNT = 8000, LENGTH = 60 };
    lth_error err = {0};
    lth_ctx *little = conformance_context(o->device, LTH_F64, (size_t)3e8, &err);
    if (!little) {
        conformance_fail("speed", &err);
        return;
    }
    measure(ctx, "f64, at once", COUNT, LENGTH);
    measure(little, "f64, in panels of 300 MB", COUNT, LENGTH);
    lth_ctx_free(little);
}

/* One evidence with its gradient: the time between the steps of a fit. */
typedef struct clock_of {
    double first, last;
    size_t from, evaluations;
} clock_of;

static int on_step(void *user, const lth_gp_step *step) {
    clock_of *c = user;
    if (c->evaluations == 0) c->first = step->seconds, c->from = step->evaluations;
    c->last = step->seconds, c->evaluations = step->evaluations;
    return 0;
}

/* Sentences of 20 words, and something to be learned from them. */
static bool write_sentences(char *path, size_t rows) {
    int file = mkstemp(path);
    FILE *out = file >= 0 ? fdopen(file, "w") : NULL;
    if (!out) return false;
    fprintf(out, "text\ty\n");
    for (size_t i = 0; i < rows; i++) {
        double sum = conformance_below(1000) / 1000.0;
        for (int k = 0; k < 20; k++) {
            unsigned word = conformance_below(4000) * conformance_below(4000) / 4000;
            fprintf(out, "%sw%u", k ? " " : "", word);
            sum += word % 10 == 0; /* so that there are several steps */
        }
        fprintf(out, "\t%.4f\n", sum);
    }
    return fclose(out) == 0;
}

/* How long it takes to write the model. */
static double time_save(const lth_gp *gp, const char *beside) {
    char path[128];
    lth_error err = {0};
    snprintf(path, sizeof path, "%s.luthier", beside);
    double began = conformance_seconds();
    if (lth_gp_save(gp, path, &err)) conformance_fail("save", &err);
    double took = conformance_seconds() - began;
    remove(path);
    return took;
}

static void measure_fit(lth_ctx *ctx, size_t rows, size_t iterations) {
    char path[] = "/tmp/luthier-fit-XXXXXX";
    lth_error err = {0};
    lth_table_options table_options;
    lth_table_options_init(&table_options);
    table_options.format = LTH_TABLE_TSV;
    lth_table *table = NULL;
    lth_gp *gp = NULL;
    lth_gp_options options;
    lth_gp_options_init(&options);
    clock_of c = {0};
    options.restarts = 0, options.max_iter = iterations;
    options.posterior = LTH_POSTERIOR_EXACT, options.learn_rows = rows, options.step = on_step,
    options.user = &c;
    const char *target = "y";
    if (!conformance_expect(write_sentences(path, rows), "no temporary file")) return;
    double began = conformance_seconds();
    if (lth_table_read(ctx, path, &table_options, &table, &err) ||
        lth_gp_fit(ctx, "normalize(ssk(text))", table, &target, 1, &options, &gp, &err)) {
        conformance_fail("fit", &err);
    } else {
        double all = conformance_seconds() - began, search = lth_gp_reported(gp)->seconds;
        double each = c.evaluations > c.from ? (c.last - c.first) / (double)(c.evaluations - c.from)
                                             : search / (double)lth_gp_reported(gp)->evaluations;
        printf("fit of %zu sentences of 20 words: %.2f s for each evidence with gradient, search "
               "%.1f s for %zu, %.1f s in all",
               rows, each, search, lth_gp_reported(gp)->evaluations, all);
        if (rows <= 60000) printf(", saved in %.1f s", time_save(gp, path)); /* 14 GB */
        printf("\n");
        fflush(stdout);
    }
    lth_gp_free(gp);
    lth_table_free(table);
    remove(path);
}

/* Few, since a hundred thousand rows take minutes: 60,000 and 100,000 also show that no call counts
 * the cells of a matrix in 32 bits. */
static void measure_fits(lth_ctx *ctx, const conformance_options *o) {
    measure_fit(ctx, 10000, 4);
    if (!o->large) return;
    measure_fit(ctx, 40000, 10);
    measure_fit(ctx, 60000, 2);
    measure_fit(ctx, 100000, 1);
}

void conformance_speed(const conformance_options *o) {
    lth_error err = {0};
    lth_ctx *both[2] = {conformance_context(o->device, LTH_F64, 0, &err),
                        conformance_context(o->device, LTH_F32, 0, &err)};
    if (!both[0] || !both[1]) {
        conformance_fail("speed", &err);
        return;
    }
    for (int i = 0; i < 2; i++) {
        measure(both[i], i == 0 ? "f64" : "f32", 1500, 100);
        measure(both[i], i == 0 ? "f64" : "f32", 600, 700);
    }
    measure_alignments(both[0], 30, 6000);
    measure_alignments(both[0], 300, 2000);
    measure_alignments(both[0], 1000, 600);
    measure_others(both[0]);
    measure_panels(o, both[0]);
    measure_fits(both[0], o);
    lth_ctx_free(both[0]), lth_ctx_free(both[1]);
}
