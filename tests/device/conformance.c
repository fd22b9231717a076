/* A device against the CPU: every kernel, every shape, values and gradients. Needs a GPU; says so
 * where there is none.
 *
 *     conformance            checks
 *     conformance --quick    a few of them, for compute-sanitizer
 *     conformance --speed    and how fast it is
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "luthier.h"

static int checks, failures;

static void fail(const char *what, const lth_error *err) {
    printf("FAIL %s: %s\n", what, err->message);
    failures++;
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static uint64_t seed = 88172645463325252ull;
static unsigned below(unsigned n) {
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return (unsigned)((seed >> 20) % n);
}

/* ---- Data ---- */

static const char *const shapes[] = {"short", "mixed", "long", "empty"};

static unsigned length_of(const char *shape, size_t i) {
    if (!strcmp(shape, "short")) return 1 + below(15);
    if (!strcmp(shape, "empty")) return i % 3 == 0 ? 0 : below(4);
    if (!strcmp(shape, "long")) return i % 8 == 0 ? 900 + below(700) : 90 + below(40);
    return below(10) == 0 ? 150 + below(150) : 1 + below(60);
}

static void write_tree(FILE *out, unsigned depth) {
    static const char *const labels[] = {"S", "NP", "VP", "PP"};
    if (depth == 0 || below(3) == 0) {
        fprintf(out, "(%s w%u)", labels[below(4)], below(5));
        return;
    }
    fprintf(out, "(%s", labels[below(4)]);
    for (unsigned i = 0, n = 1 + below(3); i < n; i++) fputc(' ', out), write_tree(out, depth - 1);
    fputc(')', out);
}

static void write_table(const char *path, const char *shape, size_t rows) {
    FILE *out = fopen(path, "w");
    fprintf(out, "text\ttree\tf1\tf2\ty\n");
    for (size_t i = 0; i < rows; i++) {
        unsigned length = length_of(shape, i);
        for (unsigned k = 0; k < length; k++) fprintf(out, "%sw%u", k ? " " : "", below(30));
        fputc('\t', out);
        write_tree(out, 4);
        fprintf(out, "\t%.3f\t%.3f\t%.3f\n", below(1000) / 500.0 - 1, below(1000) / 500.0 - 1,
                below(1000) / 500.0 - 1);
    }
    fclose(out);
}

static void write_vectors(const char *path) {
    FILE *out = fopen(path, "w");
    for (unsigned w = 0; w < 30; w++) {
        fprintf(out, "w%u", w);
        for (int d = 0; d < 8; d++) fprintf(out, " %.3f", below(1000) / 500.0 - 1);
        fputc('\n', out);
    }
    fclose(out);
}

/* ---- One kernel on one context ---- */

typedef struct side {
    lth_ctx *ctx;
    lth_table *table, *other;
    lth_kernel *kernel;
    lth_encoder *encoder;
    lth_items *items, *others;
} side;

static bool open_side(side *s, lth_ctx *ctx, const char *expression, const char *a, const char *b,
                      const char *vectors, lth_error *err) {
    s->ctx = ctx;
    if (lth_table_read(ctx, a, NULL, &s->table, err) ||
        lth_table_read(ctx, b, NULL, &s->other, err))
        return false;
    if (lth_kernel_parse(ctx, expression, &s->kernel, err)) return false;
    if (lth_kernel_resolve(&s->kernel, s->table, err)) return false;
    if (lth_encoder_create(ctx, s->kernel, &s->encoder, err)) return false;
    if (lth_encode(s->encoder, s->table, &s->items, err) ||
        lth_encode(s->encoder, s->other, &s->others, err))
        return false;
    return !lth_kernel_needs_vectors(s->kernel) ||
           !lth_encoder_read_vectors(s->encoder, vectors, err);
}

static void close_side(side *s) {
    lth_items_free(s->items), lth_items_free(s->others);
    lth_encoder_free(s->encoder);
    lth_kernel_free(s->kernel);
    lth_table_free(s->table), lth_table_free(s->other);
}

static void compare(const char *what, const char *expression, const double *want, const double *got,
                    size_t count, double scale, double tolerance) {
    double worst = 0;
    for (size_t i = 0; i < count; i++) {
        double size = scale > 0 ? scale : fabs(want[i]) + (tolerance > 1e-9 ? 1e-25 : 1e-290),
               off = fabs(got[i] - want[i]) / size;
        if (!(off <= worst)) worst = off;
    }
    checks++;
    if (worst <= tolerance) return;
    failures++;
    printf("FAIL %s of %s: off by %.3g\n", what, expression, worst);
}

/* A kernel with cancellation is judged by its largest value, not pair by pair; so are sums of
 * derivatives, which cancel too: f32 leaves three digits of some. */
static double largest(const double *x, size_t count) {
    double most = 0;
    for (size_t i = 0; i < count; i++) most = fabs(x[i]) > most ? fabs(x[i]) : most;
    return most;
}

static void check_kernel(lth_ctx *cpu, lth_ctx *gpu, const char *expression, const char *a,
                         const char *b, const char *vectors, double tolerance) {
    side c = {0}, g = {0};
    lth_error err = {0};
    if (!open_side(&c, cpu, expression, a, b, vectors, &err) ||
        !open_side(&g, gpu, expression, a, b, vectors, &err)) {
        fail(expression, &err);
        return;
    }
    size_t n = lth_items_count(c.items), m = lth_items_count(c.others),
           p = lth_kernel_params(c.kernel);
    size_t o = lth_kernel_orders(c.kernel), planes = o > 1 ? o : 1,
           cells = n * (n > m ? n : m) * planes;
    double *x = malloc(cells * sizeof *x), *y = malloc(cells * sizeof *y),
           *W = malloc(n * n * sizeof *W);
    bool soft = lth_kernel_needs_vectors(c.kernel) || strstr(expression, "arccos");
    for (int against = 0; against < 2; against++) {
        size_t cols = against ? m : n;
        const lth_items *co = against ? c.others : NULL, *go = against ? g.others : NULL;
        for (size_t i = 0; i < cells; i++) y[i] = NAN;
        if (lth_gram(c.kernel, c.items, co, x, cols, &err) ||
            lth_gram(g.kernel, g.items, go, y, cols, &err))
            fail(expression, &err);
        else
            compare(against ? "values against" : "values", expression, x, y, n * cols,
                    soft ? largest(x, n * cols) : 0, tolerance);
        if (o > 0) {
            if (lth_gram_orders(c.kernel, c.items, co, x, &err) ||
                lth_gram_orders(g.kernel, g.items, go, y, &err))
                fail(expression, &err);
            else
                compare("orders", expression, x, y, o * n * cols,
                        soft ? largest(x, o * n * cols) : 0, tolerance);
        }
        for (size_t i = 0; i < n * cols && i < n * n; i++) W[i] = below(1000) / 1000.0;
        if (cols > n) continue;
        if (lth_gram_pull(c.kernel, c.items, co, W, cols, x, &err) ||
            lth_gram_pull(g.kernel, g.items, go, W, cols, y, &err))
            fail(expression, &err);
        else
            for (size_t i = 0; i < p; i++)
                compare(lth_kernel_param(c.kernel, i).path, expression, x + i, y + i, 1,
                        fabs(x[i]) + 1e-6 * largest(x, p),
                        (tolerance > 1e-9 ? 100 : 10) * tolerance);
    }
    if (lth_gram_diagonal(c.kernel, c.items, x, &err) ||
        lth_gram_diagonal(g.kernel, g.items, y, &err))
        fail(expression, &err);
    else
        compare("diagonal", expression, x, y, n, soft ? largest(x, n) : 0, tolerance);
    free(x), free(y), free(W);
    close_side(&c), close_side(&g);
}

/* ---- Models ---- */

static void check_model(lth_ctx *cpu, lth_ctx *gpu, const char *expression, const char *path,
                        const char *vectors) {
    lth_ctx *ctx[2] = {cpu, gpu};
    double evidence[2], mean[2][64] = {{0}}, sd[2][64] = {{0}};
    size_t rows = 0;
    for (int i = 0; i < 2; i++) {
        lth_error err = {0};
        lth_table *table = NULL;
        lth_gp *gp = NULL;
        lth_gp_options options;
        lth_gp_options_init(&options);
        options.restarts = 0;
        options.max_iter = 8;
        options.vectors = vectors;
        const char *target = "y";
        if (lth_table_read(ctx[i], path, NULL, &table, &err) ||
            lth_gp_fit(ctx[i], expression, table, &target, 1, &options, &gp, &err) ||
            lth_gp_predict(gp, table, false, mean[i], sd[i], &err)) {
            fail(expression, &err);
        } else {
            evidence[i] = lth_gp_reported(gp).evidence;
            rows = lth_table_rows(table);
        }
        lth_gp_free(gp);
        lth_table_free(table);
    }
    if (rows == 0) return;
    compare("evidence", expression, &evidence[0], &evidence[1], 1, 0, 1e-7);
    compare("means", expression, mean[0], mean[1], rows, 1, 1e-5);
    compare("sds", expression, sd[0], sd[1], rows, 1, 1e-5);
}

/* ---- Speed ---- */

static double time_gram(lth_ctx *ctx, const char *expression, size_t count, unsigned length,
                        double *work) {
    char *text = malloc((size_t)length + 1);
    const char **texts = malloc(count * sizeof *texts);
    for (size_t i = 0; i < count; i++) {
        for (unsigned k = 0; k < length; k++)
            text[k] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"[below(52)];
        text[length] = 0;
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
        return fail(expression, &err), 0;
    for (int r = 0; r < 5; r++) {
        double began = seconds();
        if (lth_gram(kernel, items, NULL, K, count, &err)) fail(expression, &err);
        double took = seconds() - began;
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
    double work, best = time_gram(ctx, "ssk(text, units=chars, order=5)", count, length, &work);
    printf("%s: lth_gram of %zu strings of %u: %.1f ms, %.3g cell-orders/s\n", precision, count,
           length, 1e3 * best, work / best);
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

static void measure_fit(lth_ctx *ctx, size_t rows) {
    char path[] = "/tmp/luthier-fit-XXXXXX";
    int file = mkstemp(path);
    FILE *out = fdopen(file, "w");
    fprintf(out, "text\ty\n");
    for (size_t i = 0; i < rows; i++) {
        for (int k = 0; k < 20; k++)
            fprintf(out, "%sw%u", k ? " " : "", below(4000) * below(4000) / 4000);
        fprintf(out, "\t%.4f\n", below(10000) / 5000.0 - 1);
    }
    fclose(out);
    lth_error err = {0};
    lth_table_options table_options;
    lth_table_options_init(&table_options);
    table_options.format = LTH_TABLE_TSV;
    lth_table *table = NULL;
    lth_gp *gp = NULL;
    lth_gp_options options;
    lth_gp_options_init(&options);
    clock_of c = {0};
    options.restarts = 0, options.max_iter = 4, options.step = on_step, options.user = &c;
    const char *target = "y";
    double began = seconds();
    if (lth_table_read(ctx, path, &table_options, &table, &err) ||
        lth_gp_fit(ctx, "normalize(ssk(text))", table, &target, 1, &options, &gp, &err))
        fail("fit", &err);
    else
        printf("fit of %zu sentences of 20 words: %.2f s for each evidence with gradient, %.1f s "
               "in all for %zu\n",
               rows, (c.last - c.first) / (double)(c.evaluations - c.from), seconds() - began,
               c.evaluations);
    lth_gp_free(gp);
    lth_table_free(table);
    remove(path);
}

static lth_ctx *open_context(const char *device, lth_precision precision, size_t memory,
                             lth_error *err) {
    lth_ctx_options options;
    lth_ctx_options_init(&options);
    options.device = device;
    options.precision = precision;
    options.threads = 0;
    options.device_memory = memory;
    lth_ctx *ctx = NULL;
    return lth_ctx_create(&options, &ctx, err) == LTH_OK ? ctx : NULL;
}

static const char *const kernels[] = {
    "ssk(text, order=1)",
    "ssk(text, order=4, gap=0.7)",
    "ssk(text, units=chars, order=5, gap=0.4, match=0.9)",
    "ssk(text, order=8)",
    "ssk(text, order=13, gap=0.3)",
    "ssk(text, order=16, gap=0.2, match=0.5)",
    "ssk(text, order=20, gap=0.2, match=0.5)",
    "normalize(ssk(text, order=3))",
    "ssk(text, order=3, sim=cosine)",
    "ssk(text, order=4, sim=dot, gap=0.3)",
    "normalize(ssk(text, order=3, sim=exp, rarity=0.01))",
    "rq(normalize(ssk(text, order=3)))",
    "rbf(normalize(ssk(text, order=2, sim=arccos)))",
    "matern32(f1..f2)",
    "matern52(normalize(ssk(text)))",
    "arccos(f1..f2, degree=0) + arccos(f1..f2)",
    "rbf(f1..f2, ard=yes)",
    "rbf(mean(text))",
    "linear(bow(text)) + 0.5 * normalize(tfidf(text))",
    "normalize(sstk(tree)) * normalize(ssk(text, order=2))",
    "2 * normalize(sstk(tree, symbols=all)) + rbf(f1..f2) * normalize(ssk(text, order=3)) + 0.3",
    "normalize(ptk(tree))",
};

int main(int argc, char **argv) {
    lth_error err = {0};
    lth_ctx *gpu = open_context("cuda", LTH_F64, 0, &err);
    if (!gpu) {
        printf("skipped: %s\n", err.message);
        return 0;
    }
    printf("on %s\n", lth_ctx_device(gpu));
    lth_ctx *small = open_context("cuda", LTH_F64, 300000, &err),
            *single = open_context("cuda", LTH_F32, 0, &err);
    lth_ctx *cpu = open_context("cpu", LTH_F64, 0, &err);
    char folder[] = "/tmp/luthier-conformance-XXXXXX", a[64], b[64], vectors[64];
    if (!mkdtemp(folder)) return 1;
    snprintf(a, sizeof a, "%s/a.tsv", folder);
    snprintf(b, sizeof b, "%s/b.tsv", folder);
    snprintf(vectors, sizeof vectors, "%s/v.txt", folder);
    write_vectors(vectors);
    bool quick = argc > 1 && !strcmp(argv[1], "--quick");
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        if (quick && strcmp(shapes[s], "mixed") != 0) continue;
        write_table(a, shapes[s], quick ? 21 : 61);
        write_table(b, shapes[s], quick ? 9 : 37);
        for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
            check_kernel(cpu, gpu, kernels[k], a, b, vectors, 1e-12);
            check_kernel(cpu, small, kernels[k], a, b, vectors, 1e-12);
            /* The CPU does what a device cannot, also in f32. */
            if (!strstr(kernels[k], "order=20"))
                check_kernel(cpu, single, kernels[k], a, b, vectors, 2e-5);
        }
    }
    write_table(a, "mixed", 60);
    check_model(cpu, gpu, "normalize(ssk(text, order=3))", a, NULL);
    check_model(cpu, gpu, "rq(normalize(ssk(text, order=3, sim=cosine))) + rbf(f1..f2)", a,
                vectors);
    check_model(cpu, gpu, "1 * normalize(sstk(tree)) + linear(f1..f2)", a, NULL);
    printf("%d checks, %d failures\n", checks, failures);
    if (argc > 1 && !strcmp(argv[1], "--speed")) {
        measure(gpu, "f64", 1500, 100);
        measure(gpu, "f64", 600, 700);
        measure(single, "f32", 1500, 100);
        measure(single, "f32", 600, 700);
        measure_fit(gpu, 10000);
    }
    remove(a), remove(b), remove(vectors), remove(folder);
    lth_ctx_free(gpu), lth_ctx_free(small), lth_ctx_free(single), lth_ctx_free(cpu);
    return failures > 0;
}
